/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated fabric as a transport: it is asynchronous, delivers answers in batches, has queues
 * that can be full, and sends traps. */
#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

struct rig {
    struct fab_fabric *f;
    struct fab_sim *sim;
    struct loop *loop;
    struct transport *t;
    struct loop_timer *end; /* fires at a time when nothing more can arrive */
    unsigned received, batches, traps;
    bool sending;
    unsigned resend;
};

static void on_end(void *ctx)
{
    loop_stop(((struct rig *)ctx)->loop);
}

static int send_node_info(struct rig *x, uint32_t tid)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .tid = tid,
                          .attr_id = FAB_ATTR_NODE_INFO};
    struct transport_mad m = {.addr = {.dlid = 0xffff}, .len = FAB_MAD_SIZE};
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, m.bytes), FAB_OK);
    x->sending = true;
    int status = transport_send(x->t, &m);
    x->sending = false;
    return status;
}

static void on_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct rig *x = ctx;
    ck_assert(!x->sending);
    ck_assert_uint_gt(count, 0);
    x->batches++;
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(mads[i].len, FAB_MAD_SIZE);
        ck_assert_uint_eq(mads[i].qp, 0);
        ck_assert(!mads[i].failed);
        if (mads[i].bytes[3] == FAB_METHOD_TRAP)
            x->traps++;
        else
            ck_assert_uint_eq(mads[i].bytes[3], FAB_METHOD_GET_RESP);
        x->received++;
        if (x->resend > 0 && x->resend-- > 0)
            ck_assert_int_eq(send_node_info(x, x->resend), FAB_OK);
    }
    loop_timer_set(x->end, 2000);
}

static void rig_open(struct rig *x, const char *at)
{
    char why[200] = "";
    *x = (struct rig){.f = leaf_spine(2, 2, 2)};
    ck_assert_int_eq(fab_sim_new(x->f, 1, &x->sim), FAB_OK);
    x->loop = loop_new();
    ck_assert_ptr_nonnull(x->loop);
    x->end = loop_timer_new(x->loop, on_end, x);
    ck_assert_int_eq(transport_sim_open(x->loop, x->sim, at, &x->t, why, sizeof why), FAB_OK);
    transport_on_receive(x->t, on_receive, x);
}

static void rig_run(struct rig *x)
{
    loop_timer_set(x->end, 20000);
    ck_assert_int_eq(loop_run(x->loop), FAB_OK);
}

static void rig_close(struct rig *x)
{
    loop_timer_free(x->end);
    transport_close(x->t);
    loop_free(x->loop);
    fab_sim_free(x->sim);
    fab_fabric_unref(x->f);
}

START_TEST(answers_come_later_and_together)
{
    struct rig x;
    rig_open(&x, NULL);
    ck_assert_uint_ge(x.t->window_max, 1024);
    ck_assert_uint_ne(x.t->port_guid, 0);
    for (uint32_t i = 0; i < x.t->window_max; i++)
        ck_assert_int_eq(send_node_info(&x, i), FAB_OK);
    ck_assert_uint_eq(x.received, 0);
    /* until 5,000 more requests are sent, the callback for answers sends new ones, as a MAD session
     * does */
    x.resend = 5000;
    rig_run(&x);
    ck_assert_uint_eq(x.received, x.t->window_max + 5000);
    /* each iteration delivers up to 256 answers, so at least 24 are necessary */
    ck_assert_uint_lt(x.batches, 30);
    rig_close(&x);
}
END_TEST

START_TEST(full)
{
    struct rig x;
    unsigned sent = 0;
    rig_open(&x, NULL);
    while (sent < 100000 && send_node_info(&x, sent) == FAB_OK)
        sent++;
    ck_assert_uint_lt(sent, 100000);
    ck_assert_int_eq(send_node_info(&x, sent), FAB_E_BUSY);
    rig_run(&x);
    ck_assert_uint_eq(x.received, sent);
    ck_assert_int_eq(send_node_info(&x, 0), FAB_OK);
    rig_close(&x);
}
END_TEST

START_TEST(losses_say_nothing)
{
    struct rig x;
    rig_open(&x, NULL);
    fab_sim_loss(x.sim, 1.0);
    for (uint32_t i = 0; i < 5000; i++)
        ck_assert_int_eq(send_node_info(&x, i), FAB_OK);
    rig_run(&x);
    ck_assert_uint_eq(x.received, 0);
    rig_close(&x);
}
END_TEST

/* Sets the LID and the SM LID of a port. A switch can send traps to the manager only if its port 0
 * and the manager's port have LIDs. */
static void set_lid(struct rig *x, const struct fab_path *path, uint8_t num, uint16_t lid)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_PORT_INFO,
                          .attr_mod = num,
                          .path = *path};
    struct fab_port_info info = {.lid = lid, .sm_lid = 1};
    struct transport_mad m = {.addr = {.dlid = 0xffff}, .len = FAB_MAD_SIZE};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data),
                     FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, m.bytes), FAB_OK);
    ck_assert_int_eq(transport_send(x->t, &m), FAB_OK);
}

static void set_route(struct rig *x, const struct fab_path *path, uint8_t port)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_SET,
                          .attr_id = FAB_ATTR_LFT,
                          .path = *path};
    struct fab_switch_info info = {.linear_fdb_top = 2};
    struct transport_mad m = {.addr = {.dlid = 0xffff}, .len = FAB_MAD_SIZE};
    uint8_t data[FAB_SMP_DATA] = {0xff, port};
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, m.bytes), FAB_OK);
    ck_assert_int_eq(transport_send(x->t, &m), FAB_OK);
    mad.attr_id = FAB_ATTR_SWITCH_INFO;
    fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data);
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, m.bytes), FAB_OK);
    ck_assert_int_eq(transport_send(x->t, &m), FAB_OK);
}

START_TEST(traps_arrive)
{
    struct rig x;
    rig_open(&x, "host-0001");
    uint32_t node, port, leaf;
    ck_assert_int_eq(fab_sim_find(x.sim, "host-0001", &node), FAB_OK);
    port = fab_fabric_port_id(x.f, node, 1);
    leaf = fab_fabric_peer_node(x.f, port);
    struct fab_path here = {0}, there = {.hops = 1, .port = {0, 1}};
    set_lid(&x, &here, 1, 1);
    set_lid(&x, &there, 0, 2);
    set_route(&x, &there, fab_fabric_port(x.f, fab_fabric_port(x.f, port)->peer)->num);
    ck_assert_int_eq(x.t->ops->set_is_sm(x.t, true), FAB_OK);
    rig_run(&x);
    /* leaves out trap 144, which set_is_sm has caused */
    x.traps = 0;
    ck_assert_int_eq(fab_sim_unlink(x.sim, leaf, x.f->nodes[leaf].num_ports), FAB_OK);
    transport_sim_kick(x.t);
    rig_run(&x);
    ck_assert_uint_eq(x.traps, 1);
    rig_close(&x);
}
END_TEST

START_TEST(no_such_place)
{
    struct rig x;
    struct transport *t = NULL;
    char why[200] = "";
    rig_open(&x, NULL);
    ck_assert_int_eq(transport_sim_open(x.loop, x.sim, "nobody", &t, why, sizeof why),
                     FAB_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why, "nobody"));
    ck_assert_ptr_null(t);
    rig_close(&x);
    transport_close(NULL);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("transport_sim");
    TCase *c = tcase_create("transport_sim");
    tcase_add_test(c, answers_come_later_and_together);
    tcase_add_test(c, full);
    tcase_add_test(c, losses_say_nothing);
    tcase_add_test(c, traps_arrive);
    tcase_add_test(c, no_such_place);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
