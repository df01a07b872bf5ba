/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults and time of the simulated fabric: what is due comes when it is due and in order, links
 * train, devices lose their power and come back, traps say what the standard wants them to and are
 * repeated, keys have leases, counters count.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/wire/gs.h"
#include "tests/support/drive.h"
#include "tests/unit/fabrics.h"

/* Two leaves, two spines, two hosts a leaf, managed; we sit on the first host as a manager. */
struct lab {
    struct fab_fabric *f, *found;
    struct drive r;
    struct fab_path *paths;
    uint32_t leaf; /* ours */
    uint8_t up;    /* its port to a spine */
    uint32_t spine;
};

static struct lab lab_new(void)
{
    struct lab x = {.f = leaf_spine(2, 2, 2)};
    struct fab_sim_mail mail;
    ck_assert_int_eq(fab_sim_new(x.f, 1, &x.r.sim), FAB_OK);
    drive_sit(&x.r);
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    ck_assert_int_eq(fab_paths_new(x.found, &x.paths), FAB_OK);
    ck_assert_int_eq(drive_program(&x.r, x.found), FAB_OK);
    x.leaf = fab_peer_node(x.f, fab_port_id(x.f, x.r.node, x.r.port));
    for (uint8_t p = 1; p <= x.f->nodes[x.leaf].num_ports; p++)
        if (fab_peer_node(x.f, fab_port_id(x.f, x.leaf, p)) < x.f->switch_count)
            x.up = p;
    x.spine = fab_peer_node(x.f, fab_port_id(x.f, x.leaf, x.up));
    ck_assert_int_eq(fab_sim_attach(x.r.sim, x.r.node, x.r.port, false), FAB_OK);
    while (fab_sim_outbox(x.r.sim, &mail)) {
    }
    return x;
}

static void lab_free(struct lab *x)
{
    free(x->paths);
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->f);
    fab_fabric_unref(x->found);
}

static uint8_t state(const struct lab *x, uint32_t node, uint8_t port)
{
    return fab_sim_port(x->r.sim, node, port)->port_state;
}

static int get(struct lab *x, uint32_t node, uint16_t attr, uint32_t mod, uint8_t *data)
{
    memset(data, 0, FAB_SMP_DATA);
    return drive_smp(&x->r, &x->paths[node], FAB_METHOD_GET, attr, mod, data);
}

/* Traps of that number that arrived; the last one in *ret, NULL: no matter. */
static unsigned traps(struct lab *x, uint16_t trap, struct fab_notice *ret,
                      struct fab_sim_mail *ret_mail)
{
    struct fab_sim_mail mail;
    struct fab_notice notice;
    unsigned count = 0;
    while (fab_sim_outbox(x->r.sim, &mail)) {
        if (mail.mad[3] != FAB_METHOD_TRAP)
            continue;
        ck_assert_int_eq(fab_attr_unpack(&fab_attr_notice, mail.mad + 64, 64, &notice), FAB_OK);
        if (notice.trap != trap)
            continue;
        count++;
        if (ret)
            *ret = notice;
        if (ret_mail)
            *ret_mail = mail;
    }
    return count;
}

static void repress(struct lab *x, struct fab_sim_mail *mail)
{
    uint8_t reply[FAB_MAD_SIZE];
    mail->mad[3] = FAB_METHOD_TRAP_REPRESS;
    ck_assert_int_eq(fab_sim_send(x->r.sim, x->r.node, x->r.port, mail->slid, mail->mad, reply), 0);
}

/* ---- time -------------------------------------------------------------------------------------
 */

static int ask(struct lab *x, uint32_t node, uint32_t tid, uint8_t *reply)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .tid = tid,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .path = x->paths[node]};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_smp_pack(&mad, NULL, bytes), FAB_OK);
    return fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply);
}

START_TEST(answers_take_their_time)
{
    struct lab x = lab_new();
    struct fab_sim_pace pace = fab_sim_pace(x.r.sim);
    struct fab_sim_mail mail;
    uint8_t reply[FAB_MAD_SIZE];
    uint32_t hops = x.paths[x.spine].hops;
    pace.hop_us = 3;
    pace.answer_us = 10;
    fab_sim_set_pace(x.r.sim, &pace);
    ck_assert_int_eq(ask(&x, x.spine, 1, reply), 0); /* one after the other */
    ck_assert_int_eq(ask(&x, x.spine, 2, reply), 0);
    ck_assert_uint_eq(fab_sim_deadline(x.r.sim), 6 * hops + 10);
    fab_sim_advance(x.r.sim, 6 * hops + 9);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    fab_sim_advance(x.r.sim, 6 * hops + 10);
    ck_assert(fab_sim_outbox(x.r.sim, &mail));
    ck_assert_uint_eq(mail.mad[15], 1);
    ck_assert_uint_eq(mail.node, x.r.node);
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    fab_sim_advance(x.r.sim, 1000);
    ck_assert_uint_eq(fab_sim_now(x.r.sim), 1000);
    ck_assert(fab_sim_outbox(x.r.sim, &mail));
    ck_assert_uint_eq(mail.mad[15], 2);
    fab_sim_advance(x.r.sim, 5); /* it does not go back */
    ck_assert_uint_eq(fab_sim_now(x.r.sim), 1000);
    lab_free(&x);
}
END_TEST

/* Later things asked of time come in order of time, and equal ones in order of asking. */
START_TEST(order)
{
    struct lab x = lab_new();
    struct fab_sim_mail mail;
    uint8_t reply[FAB_MAD_SIZE];
    struct fab_prng prng;
    uint32_t due[200], next = 0;
    fab_prng_init(&prng, test_seed("order", 5));
    for (uint32_t i = 0; i < 200; i++) {
        due[i] = 10 * (1 + (uint32_t)fab_prng_below(&prng, 20));
        ck_assert_int_eq(fab_sim_late(x.r.sim, x.spine, due[i], 0), FAB_OK);
        ck_assert_int_eq(ask(&x, x.spine, i, reply), 0);
    }
    for (uint32_t now = 10; now <= 200; now += 10) {
        fab_sim_advance(x.r.sim, now);
        for (uint32_t last = 0; fab_sim_outbox(x.r.sim, &mail); next++) {
            ck_assert_uint_eq(due[mail.mad[15]], now);
            ck_assert(last == 0 || mail.mad[15] >= last);
            last = mail.mad[15];
        }
    }
    ck_assert_uint_eq(next, 200);
    lab_free(&x);
}
END_TEST

START_TEST(links_train)
{
    struct lab x = lab_new();
    struct fab_sim_pace pace = fab_sim_pace(x.r.sim);
    pace.train_us = 1000;
    fab_sim_set_pace(x.r.sim, &pace);
    fab_sim_unlink(x.r.sim, x.leaf, x.up);
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.leaf, x.up)->phys_state, FAB_PHYS_TRAINING);
    fab_sim_advance(x.r.sim, 600);
    fab_sim_unlink(x.r.sim, x.leaf, x.up); /* begins anew */
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    fab_sim_advance(x.r.sim, 1100);
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_DOWN);
    fab_sim_advance(x.r.sim, 1600);
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_INIT);
    lab_free(&x);
}
END_TEST

START_TEST(flapping_ends)
{
    struct lab x = lab_new();
    unsigned falls = 0;
    ck_assert_int_eq(fab_sim_flap(x.r.sim, x.leaf, x.up, 1, 1), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_flap(x.r.sim, x.leaf, x.up, 100, 7), FAB_OK);
    for (uint64_t now = 25; now < 1000; now += 50) {
        fab_sim_advance(x.r.sim, now);
        falls += state(&x, x.leaf, x.up) == FAB_STATE_DOWN;
    }
    ck_assert_uint_eq(falls, 7);
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_INIT);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, x.up, FAB_SIM_LINK_DOWNED), 7);
    lab_free(&x);
}
END_TEST

/* ---- power ------------------------------------------------------------------------------------
 */

START_TEST(power)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA], peer;
    uint32_t top, far = x.f->ports[fab_port_id(x.f, x.leaf, x.up)].peer;
    peer = x.f->ports[far].num;
    ck_assert_int_eq(fab_sim_power_off(x.r.sim, 999), FAB_E_NOT_FOUND);
    memset(data, 0x11, sizeof data);
    ck_assert_int_eq(drive_smp(&x.r, &x.paths[x.spine], FAB_METHOD_SET, FAB_ATTR_MFT, 0, data), 0);
    ck_assert_int_eq(fab_sim_power_off(x.r.sim, x.spine), FAB_OK);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data), -1);
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_DOWN);
    ck_assert_int_eq(fab_sim_power_on(x.r.sim, x.spine, 5000, 1000), FAB_OK);
    fab_sim_advance(x.r.sim, 4999);
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_DOWN);
    fab_sim_advance(x.r.sim, 5000 + 1000u * (peer - 1u));
    ck_assert_uint_eq(state(&x, x.leaf, x.up), FAB_STATE_INIT);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_MFT, 0, data), 0);
    ck_assert_uint_eq(data[0], 0);
    ck_assert_ptr_null(fab_sim_lft(x.r.sim, x.spine, &top));
    ck_assert_uint_eq(top, 0);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.spine, 0)->lid, 0);
    lab_free(&x);
}
END_TEST

/* ---- traps ------------------------------------------------------------------------------------
 */

START_TEST(repeated_until_repressed)
{
    struct lab x = lab_new();
    struct fab_sim_mail mail;
    uint8_t data[FAB_SMP_DATA];
    struct fab_notice notice;
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    fab_sim_trap(x.r.sim, x.leaf, x.up, 130);
    ck_assert_uint_eq(traps(&x, 130, NULL, &mail), 1);
    fab_sim_advance(x.r.sim, 3500000); /* once a second */
    ck_assert_uint_eq(traps(&x, 130, NULL, &mail), 3);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NOTICE, 0, data), 0);
    fab_attr_unpack(&fab_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 130);
    repress(&x, &mail);
    fab_sim_advance(x.r.sim, 9000000);
    ck_assert_uint_eq(traps(&x, 130, NULL, NULL), 0);
    ck_assert_uint_eq(fab_sim_deadline(x.r.sim), UINT64_MAX);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NOTICE, 0, data), 0);
    fab_attr_unpack(&fab_attr_notice, data, sizeof data, &notice);
    ck_assert_uint_eq(notice.trap, 0);
    lab_free(&x);
}
END_TEST

START_TEST(what_traps_say)
{
    struct lab x = lab_new();
    static const uint16_t all[] = {128, 129, 130, 131, 144, 145, 256, 257, 258, 259};
    uint16_t lid = fab_sim_port(x.r.sim, x.leaf, 0)->lid;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct fab_notice n;
        ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, x.up, all[i]), FAB_OK);
        ck_assert_uint_eq(traps(&x, all[i], &n, NULL), 1);
        ck_assert(n.generic);
        ck_assert_uint_eq(n.producer_type, FAB_NODE_SWITCH);
        ck_assert_uint_eq(n.issuer_lid, lid);
        if (all[i] <= 145)
            ck_assert_uint_eq(fab_notice_lid(&n), lid);
        if (all[i] >= 129 && all[i] <= 131)
            ck_assert_uint_eq(n.details[4], x.up);
        if (all[i] == 259) {
            ck_assert_uint_eq(fab_be16(n.details + 48), lid);
            ck_assert_uint_eq(n.details[50], x.up);
        }
    }
    ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, x.up, 64), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_trap(x.r.sim, x.leaf, 250, 128), FAB_E_NOT_FOUND);
    lab_free(&x);
}
END_TEST

START_TEST(storms_end)
{
    struct lab x = lab_new();
    ck_assert_int_eq(fab_sim_storm(x.r.sim, x.leaf, 128, 0, 5), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_storm(x.r.sim, x.leaf, 128, 1000, 5), FAB_OK);
    fab_sim_advance(x.r.sim, 100000);
    ck_assert_uint_eq(traps(&x, 128, NULL, NULL), 5);
    lab_free(&x);
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------
 */

static int with_key(struct lab *x, uint8_t method, uint16_t attr, uint64_t key,
                    uint8_t data[FAB_SMP_DATA])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = method,
                          .attr_id = attr,
                          .m_key = key,
                          .path = x->paths[x->spine]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_smp_pack(&mad, data, bytes), FAB_OK);
    if (fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply) != 1)
        return -1;
    memcpy(data, reply + 64, FAB_SMP_DATA);
    return fab_be16(reply + 4) & 0x7fff;
}

static int read_key(struct lab *x, uint64_t key, uint64_t *ret_key)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    int status = with_key(x, FAB_METHOD_GET, FAB_ATTR_PORT_INFO, key, data);
    *ret_key = fab_be64(data);
    return status;
}

START_TEST(protection_levels)
{
    static const struct {
        int answers;
        uint64_t shown;
    } without[] = {{0, 42}, {0, 0}, {-1, 0}, {-1, 0}};
    for (uint8_t level = 0; level <= 3; level++) {
        struct lab x = lab_new();
        uint8_t data[FAB_SMP_DATA] = {0};
        struct fab_notice n;
        uint64_t shown;
        ck_assert_int_eq(fab_sim_key(x.r.sim, x.spine, 42, level, 0), FAB_OK);
        ck_assert_int_eq(read_key(&x, 42, &shown), 0);
        ck_assert_uint_eq(shown, 42);
        ck_assert_int_eq(read_key(&x, 7, &shown), without[level].answers);
        ck_assert_uint_eq(shown, without[level].shown);
        unsigned before = fab_sim_port(x.r.sim, x.spine, 0)->m_key_violations;
        ck_assert_uint_eq(before, level >= 2);
        ck_assert_int_eq(with_key(&x, FAB_METHOD_SET, FAB_ATTR_LFT, 7, data), -1);
        ck_assert_uint_eq(fab_sim_port(x.r.sim, x.spine, 0)->m_key_violations, before + 1);
        ck_assert_uint_ge(traps(&x, 256, &n, NULL), 1);
        ck_assert_uint_eq(fab_be64(n.details + 14), 7);
        ck_assert_uint_eq(n.details[6], FAB_METHOD_SET);
        ck_assert_uint_eq(fab_be16(n.details + 8), FAB_ATTR_LFT);
        ck_assert_uint_eq(n.details[23], 0x80 | x.paths[x.spine].hops);
        lab_free(&x);
    }
}
END_TEST

START_TEST(leases)
{
    struct lab x = lab_new();
    uint64_t shown;
    fab_sim_key(x.r.sim, x.spine, 42, 2, 10);
    fab_sim_advance(x.r.sim, 20000000); /* nobody asked in vain: it does not run */
    ck_assert_int_eq(read_key(&x, 7, &shown), -1);
    fab_sim_advance(x.r.sim, 29000000);
    ck_assert_int_eq(read_key(&x, 42, &shown), 0); /* renewed */
    fab_sim_advance(x.r.sim, 31000000);
    ck_assert_int_eq(read_key(&x, 7, &shown), -1);
    fab_sim_advance(x.r.sim, 40999999);
    ck_assert_int_eq(read_key(&x, 7, &shown), -1);
    fab_sim_advance(x.r.sim, 41000000);
    ck_assert_int_eq(read_key(&x, 7, &shown), 0);
    ck_assert_uint_eq(shown, 42);
    lab_free(&x);
}
END_TEST

/* ---- weather and lies -------------------------------------------------------------------------
 */

START_TEST(weather)
{
    struct lab x = lab_new();
    struct fab_sim_weather weather = {.duplicate = 1};
    struct fab_sim_mail mail;
    uint8_t reply[FAB_MAD_SIZE];
    unsigned late = 0;
    fab_sim_set_weather(x.r.sim, &weather);
    ck_assert_int_eq(ask(&x, x.spine, 1, reply), 1);
    fab_sim_advance(x.r.sim, 1);
    ck_assert(fab_sim_outbox(x.r.sim, &mail)); /* the second one's */
    ck_assert(!fab_sim_outbox(x.r.sim, &mail));
    weather = (struct fab_sim_weather){.delay = 0.5, .delay_us = 100, .spread_us = 50};
    fab_sim_set_weather(x.r.sim, &weather);
    for (unsigned i = 0; i < 1000; i++)
        late += ask(&x, x.spine, i, reply) == 0;
    ck_assert_uint_gt(late, 650); /* either way, or both */
    ck_assert_uint_lt(late, 850);
    ck_assert_uint_ge(fab_sim_deadline(x.r.sim), 101);
    fab_sim_advance(x.r.sim, 1000);
    for (; fab_sim_outbox(x.r.sim, &mail); late--) {
    }
    ck_assert_uint_eq(late, 0);
    lab_free(&x);
}
END_TEST

START_TEST(lies)
{
    struct lab x = lab_new();
    uint8_t truth[FAB_SMP_DATA], data[FAB_SMP_DATA];
    struct fab_node_info info;
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, truth), 0);
    for (int lie = FAB_SIM_BUSY; lie <= FAB_SIM_STRANGE; lie++) {
        ck_assert_int_eq(fab_sim_lie(x.r.sim, x.spine, (enum fab_sim_lie)lie, 1), FAB_OK);
        int status = get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data);
        ck_assert_int_eq(status, lie == FAB_SIM_BUSY      ? FAB_SMP_BUSY
                                 : lie == FAB_SIM_REFUSES ? FAB_SMP_BAD_ATTR
                                                          : 0);
        if (lie >= FAB_SIM_GARBAGE && lie <= FAB_SIM_SHORT)
            ck_assert_mem_ne(truth, data, sizeof data);
        if (lie == FAB_SIM_TWIN && x.spine != 0) {
            fab_attr_unpack(&fab_attr_node_info, data, sizeof data, &info);
            ck_assert_uint_eq(info.node_guid, x.f->nodes[0].guid);
        }
    }
    ck_assert_int_eq(fab_sim_lie(x.r.sim, x.spine, FAB_SIM_HONEST, 0), FAB_OK);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data), 0);
    ck_assert_mem_eq(truth, data, sizeof data);
    ck_assert_int_eq(fab_sim_lie(x.r.sim, x.spine, FAB_SIM_BUSY, 2), FAB_E_INVAL);
    lab_free(&x);
}
END_TEST

START_TEST(degraded)
{
    struct lab x = lab_new();
    const struct fab_port_info *info = fab_sim_port(x.r.sim, x.leaf, x.up);
    const struct fab_port *far = &x.f->ports[x.f->ports[fab_port_id(x.f, x.leaf, x.up)].peer];
    uint32_t rate = fab_link_rate(info);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 1, "QDR"), FAB_OK);
    ck_assert_uint_eq(fab_link_rate(info), 10000);
    ck_assert_uint_eq(fab_link_rate(fab_sim_port(x.r.sim, far->node, far->num)), 10000);
    ck_assert_uint_eq(info->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 3, NULL), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 0, "ODR"), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 0, NULL), FAB_OK);
    ck_assert_uint_eq(fab_link_rate(info), rate);
    lab_free(&x);
}
END_TEST

/* ---- general services -------------------------------------------------------------------------
 */

/* data: FAB_GS_DATA bytes from offset 64, in and out. The status, -1: no answer. */
static int gs(struct lab *x, uint32_t node, uint8_t mgmt_class, uint8_t method, uint16_t attr,
              uint32_t mod, uint64_t key, uint8_t *data)
{
    struct fab_mad mad = {.mgmt_class = mgmt_class,
                          .class_version = mgmt_class == FAB_CLASS_CC ? 2 : 1,
                          .method = method,
                          .attr_id = attr,
                          .attr_mod = mod};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], payload[FAB_GMP_DATA] = {0};
    fab_put_be64(payload, key);
    memcpy(payload + 40, data, FAB_GS_DATA);
    ck_assert_int_eq(fab_gmp_pack(&mad, payload, sizeof payload, bytes), FAB_OK);
    if (fab_sim_send(x->r.sim, x->r.node, x->r.port, (uint16_t)(node + 1), bytes, reply) != 1)
        return -1;
    ck_assert_uint_eq(reply[3], FAB_METHOD_GET_RESP);
    memcpy(data, reply + 64, FAB_GS_DATA);
    return fab_be16(reply + 4);
}

static struct fab_port_counters counters(struct lab *x, uint8_t method, uint8_t port,
                                         struct fab_port_counters want)
{
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_port_counters n;
    want.port_select = port;
    ck_assert_int_eq(fab_attr_pack(&fab_attr_port_counters, &want, data, sizeof data), FAB_OK);
    ck_assert_int_eq(gs(x, x->leaf, FAB_CLASS_PERF, method, FAB_PERF_PORT_COUNTERS, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_port_counters, data, sizeof data, &n);
    return n;
}

START_TEST(port_counters)
{
    struct lab x = lab_new();
    const struct fab_port_counters none = {0};
    struct fab_port_counters clear = {.counter_select = 0x0001};
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_port_counters_ext wide;
    struct fab_class_port_info cpi;
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, 1, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_class_port_info, data, sizeof data, &cpi);
    ck_assert_uint_eq(cpi.cap_mask & 0x1300, 0x1300);
    fab_sim_count(x.r.sim, x.leaf, 1, FAB_SIM_SYMBOL_ERRORS, 70000);
    fab_sim_count(x.r.sim, x.leaf, 2, FAB_SIM_SYMBOL_ERRORS, 5);
    fab_sim_rise(x.r.sim, x.leaf, 1, FAB_SIM_XMIT_WAIT, 2.5);
    fab_sim_advance(x.r.sim, 3000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).symbol_errors, 65535); /* its end */
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 7);
    fab_sim_advance(x.r.sim, 4000000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 10);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 0xff, none).xmit_wait, 10); /* all ports */
    memset(data, 0, sizeof data);
    data[1] = 1;
    ck_assert_int_eq(
        gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, FAB_PERF_PORT_COUNTERS_EXT, 0, 0, data), 0);
    fab_attr_unpack(&fab_attr_port_counters_ext, data, sizeof data, &wide);
    ck_assert_uint_eq(wide.symbol_errors, 70000);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_SET, 1, clear).symbol_errors, 0);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 1, none).xmit_wait, 10); /* was not selected */
    clear = (struct fab_port_counters){.counter_select2 = 1};
    ck_assert_uint_eq(counters(&x, FAB_METHOD_SET, 0xff, clear).xmit_wait, 0);
    ck_assert_uint_eq(counters(&x, FAB_METHOD_GET, 2, none).symbol_errors, 5);
    data[1] = 200;
    ck_assert_int_eq(
        gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, FAB_PERF_PORT_COUNTERS, 0, 0, data),
        FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(gs(&x, x.leaf, FAB_CLASS_PERF, FAB_METHOD_GET, 0x77, 0, 0, data),
                     FAB_SMP_BAD_ATTR);
    lab_free(&x);
}
END_TEST

START_TEST(noise_is_counted)
{
    struct lab x = lab_new();
    uint8_t data[FAB_SMP_DATA];
    unsigned lost = 0, far_port;
    uint8_t near = x.paths[x.spine].port[x.paths[x.spine].hops];
    uint32_t far = x.f->ports[fab_port_id(x.f, x.leaf, near)].peer;
    far_port = x.f->ports[far].num;
    ck_assert_int_eq(fab_sim_noise(x.r.sim, x.leaf, near, 0.2), FAB_OK);
    for (unsigned i = 0; i < 1000; i++)
        lost += get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data) != 0;
    ck_assert_uint_gt(lost, 280); /* 36 %: both ways */
    ck_assert_uint_lt(lost, 440);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, near, FAB_SIM_RCV_ERRORS) +
                          fab_sim_counter(x.r.sim, x.spine, (uint8_t)far_port, FAB_SIM_RCV_ERRORS),
                      lost);
    lab_free(&x);
}
END_TEST

static int cc(struct lab *x, uint32_t node, uint8_t method, uint16_t attr, uint32_t mod,
              uint8_t *data)
{
    return gs(x, node, FAB_CLASS_CC, method, attr, mod, 0, data);
}

START_TEST(congestion_settings)
{
    struct lab x = lab_new();
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_table t = {.limit = 127};
    struct fab_cc_switch_port_setting p = {.port[3] = {1, 0, 9, 4, 77}};
    for (unsigned i = 0; i < 64; i++)
        t.entry[i].multiplier = (uint16_t)i;
    fab_attr_pack(&fab_attr_cc_table, &t, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_SET, FAB_CC_TABLE, 1, data), 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_table, data, sizeof data, &t);
    ck_assert_uint_eq(t.limit, 127); /* one for all blocks */
    ck_assert_uint_eq(t.entry[63].multiplier, 0);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 1, data), 0);
    fab_attr_unpack(&fab_attr_cc_table, data, sizeof data, &t);
    ck_assert_uint_eq(t.entry[63].multiplier, 63);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_TABLE, 2, data), FAB_SMP_BAD_VALUE);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_TABLE, 0, data), FAB_SMP_BAD_ATTR);
    ck_assert_int_eq(cc(&x, x.r.node, FAB_METHOD_GET, FAB_CC_SWITCH_SETTING, 0, data),
                     FAB_SMP_BAD_ATTR);
    fab_attr_pack(&fab_attr_cc_switch_port_setting, &p, data, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_SET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    memset(data, 0, sizeof data);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_switch_port_setting, data, sizeof data, &p);
    ck_assert_uint_eq(p.port[3].marking_rate, 77);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_SWITCH_PORT_SETTING, 9, data),
                     FAB_SMP_BAD_VALUE);
    fab_sim_power_off(x.r.sim, x.leaf); /* forgets */
    lab_free(&x);
}
END_TEST

START_TEST(congestion_is_logged)
{
    struct lab x = lab_new();
    uint8_t data[FAB_GS_DATA] = {0};
    struct fab_cc_time_stamp stamp;
    const struct fab_sim_congestion what = {.slid = 3, .dlid = 5, .sl = 2};
    fab_sim_advance(x.r.sim, 1024000);
    ck_assert_int_eq(cc(&x, x.leaf, FAB_METHOD_GET, FAB_CC_TIME_STAMP, 0, data), 0);
    fab_attr_unpack(&fab_attr_cc_time_stamp, data, sizeof data, &stamp);
    ck_assert_uint_eq(stamp.value, 1000000);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, x.up, &what), FAB_OK);
    ck_assert_int_eq(fab_sim_congest(x.r.sim, x.leaf, 250, &what), FAB_E_NOT_FOUND);
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_CC, .class_version = 2, .method = 1, .attr_id = FAB_CC_LOG};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    struct fab_cc_log log;
    fab_gmp_pack(&mad, NULL, 0, bytes);
    ck_assert_int_eq(
        fab_sim_send(x.r.sim, x.r.node, x.r.port, (uint16_t)(x.leaf + 1), bytes, reply), 1);
    fab_attr_unpack(&fab_attr_cc_log, reply + FAB_CC_LOG_DATA, 224, &log);
    ck_assert_uint_eq(log.type, 1);
    ck_assert_uint_eq(log.count, 1);
    ck_assert_uint_eq(log.port_map[31], 1u << x.up);
    ck_assert_uint_eq(log.entry[0].slid, 3);
    ck_assert_uint_eq(log.entry[0].dlid, 5);
    ck_assert_uint_eq(log.entry[0].time_stamp, 1000000);
    lab_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sim_faults");
    TCase *c = tcase_create("sim_faults");
    tcase_add_test(c, answers_take_their_time);
    tcase_add_test(c, order);
    tcase_add_test(c, links_train);
    tcase_add_test(c, flapping_ends);
    tcase_add_test(c, power);
    tcase_add_test(c, repeated_until_repressed);
    tcase_add_test(c, what_traps_say);
    tcase_add_test(c, storms_end);
    tcase_add_test(c, protection_levels);
    tcase_add_test(c, leases);
    tcase_add_test(c, weather);
    tcase_add_test(c, lies);
    tcase_add_test(c, degraded);
    tcase_add_test(c, port_counters);
    tcase_add_test(c, noise_is_counted);
    tcase_add_test(c, congestion_settings);
    tcase_add_test(c, congestion_is_logged);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
