/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of subnet administration with the real manager on a simulated fabric. Hosts send
 * requests over their own transports, which can lose MADs. The tests cover tables of any size by
 * RMPP, fairness among hosts, answers before there is a view, and requests that get no answer.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sa/sa.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/rmpp.h"
#include "libfabmgr/wire/sa.h"
#include "tests/sim/lab.h"
#include "tests/unit/rmpp_receiver.h"

#define ASKERS 64
#define SM_KEY 1

struct asker {
    uint16_t lid;
    uint64_t tid;
    struct rmpp_receiver receiver;
    bool table, begun, over;
    uint16_t status;
    uint8_t answer[FAB_MAD_SIZE];
};
struct scene {
    struct lab lab;
    struct transport wire; /* the agent's transport */
    struct sa *sa;
    struct asker askers[ASKERS];
    /* count: number of requesters. done: number of requesters that have their whole answer. The
     * first `done` elements of finished[] are the indexes of these requesters, in the order of
     * their answers. */
    unsigned count, finished[ASKERS], done;
    /* begun: number of requesters that have the first segment of a table. The first `begun`
     * elements of began[] are the indexes of these requesters, in the order in which these segments
     * arrived. */
    unsigned began[ASKERS], begun;
    struct fab_prng prng;
    double loss;
    /* The transport reports that it is busy, and refuses the next `refuse` sends. */
    unsigned refuse;
    /* LID of a host whose answers the test counts without storing them; 0: no such host. */
    uint16_t flooder;
    unsigned told_busy, told_else;
};

static const struct rmpp_receiver_config patience = {
    .window = 32, .sender = {.timeout_us = 200000, .retries = 20}, .limit = 64 << 20};
static struct scene *here;

/* ---- the wire -------------------------------------------------------------------------------- */

static void to_agent(uint16_t lid, const uint8_t *bytes)
{
    struct transport_mad mad = {.addr = {.slid = lid, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    memcpy(mad.bytes, bytes, FAB_MAD_SIZE);
    transport_hand_up(&here->wire, &mad, 1);
}

/* An answer on its way to a host. It arrives in the iteration of the event loop after the one that
 * sent it, or later. */
struct flight {
    uint16_t lid;
    uint8_t bytes[FAB_MAD_SIZE];
};

static void finish(struct asker *a)
{
    a->over = true;
    here->finished[here->done++] = (unsigned)(a - here->askers);
}

static void arrive(void *ctx)
{
    struct flight *f = ctx;
    uint8_t reply[FAB_MAD_SIZE];
    for (unsigned i = 0; i < here->count; i++) {
        struct asker *a = &here->askers[i];
        if (a->lid != f->lid || fab_base_get_be64(f->bytes + 8) != a->tid)
            continue;
        a->status = fab_base_get_be16(f->bytes + 4);
        if (!a->table || a->status != 0) {
            memcpy(a->answer, f->bytes, sizeof a->answer);
            if (!a->over)
                finish(a);
            continue;
        }
        if (!a->begun)
            here->began[here->begun++] = i;
        a->begun = true;
        if (rmpp_receiver_input(&a->receiver, clock_now_us(), f->bytes, reply) &&
            !fab_base_prng_chance(&here->prng, here->loss))
            to_agent(a->lid, reply);
        if (a->receiver.state != FAB_RMPP_GOING && !a->over)
            finish(a);
    }
    free(f);
}

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    ck_assert_uint_eq(mad->qp, 1);
    ck_assert_uint_eq(mad->addr.qpn, 1);
    if (here->refuse > 0 && here->refuse-- > 0)
        return FAB_E_BUSY;
    if (fab_base_prng_chance(&here->prng, here->loss))
        return FAB_OK;
    if (here->flooder != 0 && mad->addr.dlid == here->flooder) {
        bool busy = fab_base_get_be16(mad->bytes + 4) == FAB_SMP_BUSY;
        here->told_busy += busy;
        here->told_else += !busy;
        return FAB_OK;
    }
    struct flight *f = malloc(sizeof *f);
    f->lid = mad->addr.dlid;
    memcpy(f->bytes, mad->bytes, sizeof f->bytes);
    ck_assert_int_eq(loop_post(here->lab.loop, arrive, f), FAB_OK);
    return FAB_OK;
}

static const struct transport_ops wire_ops = {.send = wire_send};

/* ---- hosts ----------------------------------------------------------------------------------- */

static void make_request(uint8_t *mad, const struct asker *a, uint8_t method, uint16_t attr_id,
                         uint64_t key)
{
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = a->tid, .attr_id = attr_id};
    struct fab_sa_header sa = {.sm_key = key};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20),
                     FAB_OK);
}

static struct asker *ask(uint16_t lid, uint8_t method, uint16_t attr_id, uint64_t key)
{
    struct asker *a = &here->askers[here->count++];
    uint8_t mad[FAB_MAD_SIZE];
    *a = (struct asker){
        .lid = lid, .tid = 1000 + here->count, .table = method == FAB_METHOD_GET_TABLE};
    rmpp_receiver_init(&a->receiver, &patience, clock_now_us());
    make_request(mad, a, method, attr_id, key);
    to_agent(lid, mad);
    return a;
}

static bool all_over(struct lab *lab)
{
    (void)lab;
    return here->done == here->count;
}

static void wait_for_all(void)
{
    lab_run(&here->lab, 20, all_over, "all answers");
}

static uint32_t records(const struct asker *a)
{
    uint32_t stride = fab_base_get_be16(a->receiver.head + 44) * 8u;
    ck_assert_int_eq(a->receiver.state, FAB_RMPP_DONE);
    ck_assert(stride == 0 ? a->receiver.len == 0 : a->receiver.len % stride == 0);
    return stride ? (uint32_t)(a->receiver.len / stride) : 0;
}

static void open_scene(struct scene *x, bool started)
{
    memset(x, 0, sizeof *x);
    here = x;
    fab_base_prng_init(&x->prng, test_seed("sa agent", 5));
    lab_open(&x->lab, lab_leaf_spine(6, 3, 8), NULL);
    x->wire.ops = &wire_ops;
    struct sa_input in = {.loop = x->lab.loop,
                          .transport = &x->wire,
                          .sm = x->lab.sm,
                          .bus = x->lab.bus,
                          .store = x->lab.store};
    ck_assert_int_eq(sa_start(&in, &x->sa), FAB_OK);
    if (!started)
        return;
    sm_start(x->lab.sm);
    lab_run(&x->lab, 20, lab_is_idle, "bring-up");
}

static void close_scene(struct scene *x)
{
    struct sa_stats stats;
    sa_get_stats(x->sa, &stats);
    ck_assert_uint_ge(stats.requests, stats.answered);
    sa_stop(x->sa);
    lab_run_for(&x->lab, 0.1); /* MADs in flight */
    for (unsigned i = 0; i < x->count; i++)
        rmpp_receiver_fini(&x->askers[i].receiver);
    lab_close(&x->lab);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static struct scene scene;

START_TEST(tables_arrive_whole)
{
    open_scene(&scene, true);
    struct asker *nodes = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    struct asker *paths = ask(3, FAB_METHOD_GET_TABLE, FAB_SA_PATH_RECORD, 0);
    struct asker *nobody = ask(3, FAB_METHOD_GET_TABLE, FAB_SA_SERVICE_RECORD, 0);
    wait_for_all();
    ck_assert_uint_eq(records(nodes), 48 + 9);
    ck_assert_uint_eq(records(paths), 57 * 57);
    ck_assert_uint_eq(records(nobody), 0);
    ck_assert_uint_eq(nodes->receiver.head[3], 0x92);
    close_scene(&scene);
}
END_TEST

START_TEST(loss_is_made_good)
{
    open_scene(&scene, true);
    scene.loss = 0.05;
    scene.refuse = 40;
    struct asker *a[6];
    for (uint16_t i = 0; i < 6; i++)
        a[i] = ask((uint16_t)(2 + i), FAB_METHOD_GET_TABLE, FAB_SA_PATH_RECORD, 0);
    wait_for_all();
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_uint_eq(records(a[i]), 57 * 57);
        ck_assert_mem_eq(a[i]->receiver.data, a[0]->receiver.data, a[0]->receiver.len);
    }
    close_scene(&scene);
}
END_TEST

START_TEST(one_record_at_once)
{
    open_scene(&scene, true);
    struct asker *info = ask(2, FAB_METHOD_GET, FAB_ATTR_CLASS_PORT_INFO, 0);
    struct asker *many = ask(2, FAB_METHOD_GET, FAB_SA_NODE_RECORD, 0);
    struct asker *set = ask(2, FAB_METHOD_SET, FAB_SA_SERVICE_RECORD, 0);
    struct asker *what = ask(2, 0x77, FAB_SA_NODE_RECORD, 0);
    struct asker *random = ask(2, FAB_METHOD_GET, FAB_SA_RFT_RECORD, 0);
    struct asker *vendors = ask(2, FAB_METHOD_GET_TABLE, 0xff22, 0);
    struct asker *keys = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_PKEY_TABLE_RECORD, 0);
    struct asker *trusted = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_PKEY_TABLE_RECORD, SM_KEY);
    wait_for_all();
    ck_assert_uint_eq(info->status, 0);
    ck_assert_uint_eq(info->answer[FAB_SA_DATA + 1], 2);
    ck_assert_uint_eq(many->status, FAB_SA_TOO_MANY_RECORDS);
    ck_assert_uint_eq(set->status, FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(set->answer[3], FAB_METHOD_GET_RESP);
    ck_assert_uint_eq(what->status, FAB_SMP_BAD_METHOD);
    ck_assert_uint_eq(random->status, FAB_SMP_BAD_ATTR);
    ck_assert_uint_eq(vendors->status, FAB_SMP_BAD_ATTR);
    ck_assert_uint_eq(keys->status, FAB_SA_REQ_INVALID);
    ck_assert_uint_gt(records(trusted), 57);
    close_scene(&scene);
}
END_TEST

/* Requests with a wrong key and invalid requests get no answer. While this manager is not master,
 * no request gets an answer. */
START_TEST(some_are_not_answered)
{
    uint8_t mad[FAB_MAD_SIZE];
    open_scene(&scene, false);
    ask(2, FAB_METHOD_GET, FAB_ATTR_CLASS_PORT_INFO, 0);
    lab_run_for(&scene.lab, 0.01);
    ck_assert_uint_eq(scene.done, 0);
    sm_start(scene.lab.sm);
    lab_run(&scene.lab, 20, lab_is_idle, "bring-up");
    struct asker *wrong = ask(2, FAB_METHOD_GET, FAB_ATTR_CLASS_PORT_INFO, SM_KEY + 1);
    make_request(mad, wrong, FAB_METHOD_GET, FAB_ATTR_CLASS_PORT_INFO, 0);
    mad[2] = 1; /* a ClassVersion that the agent does not support */
    to_agent(2, mad);
    mad[2] = 2;
    mad[3] = 0x92; /* an RMPP ACK without a transfer to which it could belong */
    to_agent(2, mad);
    lab_run_for(&scene.lab, 0.5);
    ck_assert_uint_eq(scene.done, 0);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.requests, 3);
    ck_assert_uint_eq(stats.dropped, 3);
    close_scene(&scene);
}
END_TEST

/* One host sends as many requests as it can, and gets BUSY for most of them. Another host is still
 * answered. */
START_TEST(hosts_take_turns)
{
    open_scene(&scene, true);
    unsigned busy = 0;
    for (unsigned i = 0; i < 40; i++)
        ask(2, FAB_METHOD_GET_TABLE, FAB_SA_PATH_RECORD, 0);
    struct asker *modest = ask(9, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    unsigned self = (unsigned)(modest - scene.askers);
    wait_for_all();
    for (unsigned i = 0; i < 40; i++)
        busy += scene.askers[i].status == FAB_SMP_BUSY;
    /* the agent permits a host eight tables at a time, so the other 32 requests get BUSY */
    ck_assert_uint_eq(busy, 32);
    ck_assert_uint_eq(records(modest), 57);
    unsigned place = 0;
    while (place < scene.begun && scene.began[place] != self)
        place++;
    ck_assert_uint_eq(scene.begun, 9);
    /* The modest host sent its request after the 40 requests of the other host. Even so, its table
     * is among the first three that the agent began to send. */
    ck_assert_uint_le(place, 2);
    for (unsigned i = 0, tables = 0; i < scene.done; i++) {
        if (scene.finished[i] == self)
            break;
        tables += scene.askers[scene.finished[i]].status == 0;
        /* Before the modest host got its table, the other host got at most one of the eight tables
         * that the agent permits it at a time. */
        ck_assert_uint_le(tables, 1);
    }
    close_scene(&scene);
}
END_TEST

/* One host sends 2,000 requests that take the agent much time. Meanwhile, 20 other hosts send one
 * request each. The agent must not let the 20 hosts wait for the answers to the 2,000 requests. */
START_TEST(floods_starve_nobody)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_sa_header all_of_it = {.comp_mask = 0xffff};
    struct asker flood = {.tid = 1 << 20};
    open_scene(&scene, true);
    scene.flooder = 2;
    for (unsigned i = 0; i < 2000; i++, flood.tid++) {
        make_request(mad, &flood, FAB_METHOD_GET, FAB_SA_SL2VL_RECORD, 0);
        fab_wire_attr_pack(&fab_wire_attr_sa_header, &all_of_it, mad + FAB_SA_HEADER, 20);
        fab_base_put_be16(mad + FAB_SA_DATA + 2,
                          /* No port has the LIDs in this request. To find this out, the agent must
                           * examine all records, which is slow. */
                          0xfffe);
        fab_base_put_be16(mad + FAB_SA_HEADER + 18, 0xfffe);
        to_agent(scene.flooder, mad);
        if (i % 100 == 99)
            ask((uint16_t)(3 + i / 100), i % 200 == 99 ? FAB_METHOD_GET : FAB_METHOD_GET_TABLE,
                i % 200 == 99 ? FAB_ATTR_CLASS_PORT_INFO : FAB_SA_NODE_RECORD, 0);
    }
    wait_for_all();
    printf("# of the flood: %u told to come again, %u answered meanwhile\n", scene.told_busy,
           scene.told_else);
    for (unsigned i = 0; i < scene.count; i++)
        ck_assert_uint_eq(scene.askers[i].status, 0);
    ck_assert_uint_ge(scene.told_busy, 2000 - 8 - 8);
    ck_assert_uint_le(scene.told_else, 16);
    lab_run_for(&scene.lab, 0.2);
    ck_assert_uint_eq(scene.told_busy + scene.told_else, 2000); /* every request got an answer */
    close_scene(&scene);
}
END_TEST

START_TEST(asked_twice_is_asked_once)
{
    uint8_t mad[FAB_MAD_SIZE];
    open_scene(&scene, true);
    struct asker *a = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_PATH_RECORD, 0);
    make_request(mad, a, FAB_METHOD_GET_TABLE, FAB_SA_PATH_RECORD, 0);
    for (unsigned i = 0; i < 20; i++)
        to_agent(2, mad);
    wait_for_all();
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.tables, 1);
    ck_assert_uint_eq(stats.busy, 0);
    ck_assert_uint_eq(records(a), 57 * 57);
    close_scene(&scene);
}
END_TEST

/* The fabric changes during the transfer of a table. The host still gets the complete table of the
 * fabric before the change. */
START_TEST(sweeps_and_answers_go_on_together)
{
    open_scene(&scene, true);
    struct fab_view *before = sm_view(scene.lab.sm);
    struct asker *a = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_LINK_RECORD, 0);
    lab_unlink(&scene.lab, "leaf-001", 9);
    wait_for_all();
    ck_assert_uint_eq(records(a), 2 * before->fabric->link_count);
    lab_run(&scene.lab, 20, lab_is_idle, "the sweep");
    struct asker *b = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_LINK_RECORD, 0);
    wait_for_all();
    ck_assert_uint_eq(records(b), 2 * before->fabric->link_count - 2);
    fab_view_unref(before);
    close_scene(&scene);
}
END_TEST

/* Random MADs of the class of subnet administration are sent to the agent. Afterwards it still
 * answers. */
START_TEST(noise_does_no_harm)
{
    static const uint8_t methods[] = {1, 2, 0x12, 0x13, 0x14, 0x15, 0x92, 0x81};
    static const uint16_t attrs[] = {1,    3,    0x30, 0x38, 0x11, 0x12, 0x13,
                                     0x15, 0x20, 0x31, 0x35, 0x36, 0x3a, 0xf3};
    open_scene(&scene, true);
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t mad[FAB_MAD_SIZE];
        for (size_t k = 0; k < sizeof mad; k++)
            mad[k] = (uint8_t)fab_base_prng_next(&scene.prng);
        mad[0] = 1;
        mad[1] = FAB_CLASS_SA;
        mad[2] = 2;
        mad[3] = methods[fab_base_prng_next(&scene.prng) % sizeof methods];
        fab_base_put_be16(mad + 16, attrs[fab_base_prng_next(&scene.prng) % (sizeof attrs / 2)]);
        mad[FAB_RMPP_AT] = fab_base_prng_next(&scene.prng) % 2;
        if (fab_base_prng_next(&scene.prng) % 2)
            fab_base_put_be64(mad + FAB_SA_HEADER, SM_KEY);
        to_agent((uint16_t)(fab_base_prng_next(&scene.prng) % 60), mad);
        if (i % 100 == 0)
            lab_run_for(&scene.lab, 0.01);
    }
    /* by this time, the agent has ended its transfers to hosts that do not answer */
    lab_run_for(&scene.lab, 30);
    struct asker *a = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    wait_for_all();
    ck_assert_uint_eq(records(a), 57);
    close_scene(&scene);
}
END_TEST

/* ---- other transports ---- */

static struct {
    unsigned count;
    size_t len;
    struct fab_mad_addr to;
    uint8_t bytes[64 << 10];
    int status;
} whole;

static int send_whole(struct transport *t, const struct fab_mad_addr *to, const uint8_t *bytes,
                      size_t len)
{
    (void)t;
    ck_assert_uint_le(len, sizeof whole.bytes);
    whole.count++;
    whole.len = len;
    whole.to = *to;
    memcpy(whole.bytes, bytes, len);
    return whole.status;
}

static const struct transport_ops kernel_ops = {.send = wire_send, .send_long = send_whole};

/* With TRANSPORT_RMPP_KERNEL, the agent hands the transport a response of several segments in one
 * call. With TRANSPORT_RMPP_NONE, it sends only the first segment. */
START_TEST(responses_go_as_the_transport_wants_them)
{
    struct sa_stats before, after;
    struct fab_rmpp h;
    open_scene(&scene, true);
    scene.wire.ops = &kernel_ops;
    scene.wire.rmpp = TRANSPORT_RMPP_KERNEL;
    (void)ask(3, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    lab_run_for(&scene.lab, 0.3);
    ck_assert_uint_eq(whole.count, 1);
    ck_assert_uint_eq(whole.to.dlid, 3);
    ck_assert_uint_eq(whole.to.qpn, 1);
    ck_assert_uint_gt(whole.to.timeout_us, 0);
    size_t stride = fab_base_get_be16(whole.bytes + 44) * 8u;
    ck_assert_uint_eq(whole.len, FAB_SA_DATA + (48 + 9) * stride);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_rmpp, whole.bytes + FAB_RMPP_AT,
                                          FAB_RMPP_DATA - FAB_RMPP_AT, &h),
                     FAB_OK);
    ck_assert_uint_eq(h.version, 1);
    ck_assert_uint_eq(h.type, FAB_RMPP_DATA_TYPE);
    ck_assert_uint_eq(h.flags, FAB_RMPP_ACTIVE);
    sa_get_stats(scene.sa, &before);
    /* the transport cannot send the answer; the agent counts it in `dropped` */
    whole.status = FAB_E_IO;
    (void)ask(4, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    lab_run_for(&scene.lab, 0.3);
    sa_get_stats(scene.sa, &after);
    ck_assert_uint_eq(whole.count, 2);
    ck_assert_uint_eq(after.dropped, before.dropped + 1);
    scene.wire.rmpp = TRANSPORT_RMPP_NONE;
    /* the first two requesters got no answer from the simulated wire, so wait_for_all() must not
     * wait for them */
    scene.done = 2;
    struct asker *nodes = ask(2, FAB_METHOD_GET_TABLE, FAB_SA_NODE_RECORD, 0);
    wait_for_all();
    ck_assert_int_eq(nodes->receiver.state, FAB_RMPP_DONE);
    ck_assert_uint_eq(nodes->receiver.len, FAB_MAD_SIZE - FAB_SA_DATA);
    ck_assert_mem_eq(nodes->receiver.data, whole.bytes + FAB_SA_DATA, FAB_MAD_SIZE - FAB_SA_DATA);
    ck_assert_uint_eq(whole.count, 2);
    close_scene(&scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa agent");
    TCase *tcase = tcase_create("agent");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, tables_arrive_whole);
    tcase_add_test(tcase, loss_is_made_good);
    tcase_add_test(tcase, one_record_at_once);
    tcase_add_test(tcase, responses_go_as_the_transport_wants_them);
    tcase_add_test(tcase, some_are_not_answered);
    tcase_add_test(tcase, hosts_take_turns);
    tcase_add_test(tcase, floods_starve_nobody);
    tcase_add_test(tcase, asked_twice_is_asked_once);
    tcase_add_test(tcase, sweeps_and_answers_go_on_together);
    tcase_add_test(tcase, noise_does_no_harm);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
