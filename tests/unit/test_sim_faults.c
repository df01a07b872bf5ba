/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults and time of the simulated fabric: events in the order of their times, links that train,
 * devices that lose power and come back, and leases of M_Keys.
 */
#include "tests/unit/sim_lab.h"

/* ---- time ------------------------------------------------------------------------------------ */

static uint8_t state(const struct lab *x, uint32_t node, uint8_t port)
{
    return fab_sim_port(x->r.sim, node, port)->port_state;
}

static int ask(struct lab *x, uint32_t node, uint32_t tid, uint8_t *reply)
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .tid = tid,
                          .attr_id = FAB_ATTR_NODE_INFO,
                          .path = x->paths[node]};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), FAB_OK);
    return fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply);
}

START_TEST(answers_take_their_time)
{
    struct lab x = lab_manager();
    struct fab_sim_timing pace = fab_sim_timing(x.r.sim);
    struct fab_sim_delivery mail;
    uint8_t reply[FAB_MAD_SIZE];
    uint32_t hops = x.paths[x.spine].hops;
    pace.hop_us = 3;
    pace.answer_us = 10;
    fab_sim_set_timing(x.r.sim, &pace);
    /* the switch answers one request after the other */
    ck_assert_int_eq(ask(&x, x.spine, 1, reply), 0);
    ck_assert_int_eq(ask(&x, x.spine, 2, reply), 0);
    ck_assert_uint_eq(fab_sim_deadline(x.r.sim), 6 * hops + 10);
    fab_sim_advance(x.r.sim, 6 * hops + 9);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    fab_sim_advance(x.r.sim, 6 * hops + 10);
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert_uint_eq(mail.mad[15], 1);
    ck_assert_uint_eq(mail.node, x.r.node);
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    fab_sim_advance(x.r.sim, 1000);
    ck_assert_uint_eq(fab_sim_now(x.r.sim), 1000);
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert_uint_eq(mail.mad[15], 2);
    fab_sim_advance(x.r.sim, 5); /* an earlier time has no effect */
    ck_assert_uint_eq(fab_sim_now(x.r.sim), 1000);
    lab_free(&x);
}
END_TEST

/* Events must take effect in the order of their times. Of events with equal times, the one that was
 * inserted first comes first. */
START_TEST(order)
{
    struct lab x = lab_manager();
    struct fab_sim_delivery mail;
    uint8_t reply[FAB_MAD_SIZE];
    struct fab_prng prng;
    uint32_t due[200], next = 0;
    fab_base_prng_init(&prng, test_seed("order", 5));
    for (uint32_t i = 0; i < 200; i++) {
        due[i] = 10 * (1 + (uint32_t)fab_base_prng_below(&prng, 20));
        ck_assert_int_eq(fab_sim_delay(x.r.sim, x.spine, due[i], 0), FAB_OK);
        ck_assert_int_eq(ask(&x, x.spine, i, reply), 0);
    }
    for (uint32_t now = 10; now <= 200; now += 10) {
        fab_sim_advance(x.r.sim, now);
        for (uint32_t last = 0; fab_sim_receive(x.r.sim, &mail); next++) {
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
    struct lab x = lab_manager();
    struct fab_sim_timing pace = fab_sim_timing(x.r.sim);
    pace.train_us = 1000;
    fab_sim_set_timing(x.r.sim, &pace);
    fab_sim_unlink(x.r.sim, x.leaf, x.up);
    fab_sim_relink(x.r.sim, x.leaf, x.up);
    ck_assert_uint_eq(fab_sim_port(x.r.sim, x.leaf, x.up)->phys_state, FAB_PHYS_TRAINING);
    fab_sim_advance(x.r.sim, 600);
    fab_sim_unlink(x.r.sim, x.leaf, x.up); /* interrupts the training, which must begin anew */
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
    struct lab x = lab_manager();
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

/* ---- power ----------------------------------------------------------------------------------- */

START_TEST(power)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA], peer;
    uint32_t top, far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, x.up))->peer;
    peer = fab_fabric_port(x.f, far)->num;
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

/* After the power returns, each link trains for train_us, also those of later ports. */
START_TEST(links_train_after_power_on)
{
    struct lab x = lab_manager();
    struct fab_sim_timing pace = fab_sim_timing(x.r.sim);
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.spine, 2))->peer;
    const struct fab_port *p = fab_fabric_port(x.f, far);
    pace.train_us = 300;
    fab_sim_set_timing(x.r.sim, &pace);
    ck_assert_int_eq(fab_sim_power_off(x.r.sim, x.spine), FAB_OK);
    ck_assert_int_eq(fab_sim_power_on(x.r.sim, x.spine, 5000, 1000), FAB_OK);
    fab_sim_advance(x.r.sim, 6299);
    ck_assert_uint_eq(state(&x, p->node, p->num), FAB_STATE_DOWN);
    fab_sim_advance(x.r.sim, 6300);
    ck_assert_uint_eq(state(&x, p->node, p->num), FAB_STATE_INIT);
    lab_free(&x);
}
END_TEST

/* ---- keys ------------------------------------------------------------------------------------ */

static int with_key(struct lab *x, uint8_t method, uint16_t attr, uint64_t key,
                    uint8_t data[FAB_SMP_DATA])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = method,
                          .attr_id = attr,
                          .m_key = key,
                          .path = x->paths[x->spine]};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, data, bytes), FAB_OK);
    if (fab_sim_send(x->r.sim, x->r.node, x->r.port, 0xffff, bytes, reply) != 1)
        return -1;
    memcpy(data, reply + 64, FAB_SMP_DATA);
    return fab_base_get_be16(reply + 4) & 0x7fff;
}

static int read_key(struct lab *x, uint64_t key, uint64_t *ret_key)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    int status = with_key(x, FAB_METHOD_GET, FAB_ATTR_PORT_INFO, key, data);
    *ret_key = fab_base_get_be64(data);
    return status;
}

START_TEST(protection_levels)
{
    static const struct {
        int answers;
        uint64_t shown;
    } without[] = {{0, 42}, {0, 0}, {-1, 0}, {-1, 0}};
    for (uint8_t level = 0; level <= 3; level++) {
        struct lab x = lab_manager();
        uint8_t data[FAB_SMP_DATA] = {0};
        struct fab_notice n;
        uint64_t shown;
        ck_assert_int_eq(fab_sim_set_m_key(x.r.sim, x.spine, 42, level, 0), FAB_OK);
        ck_assert_int_eq(read_key(&x, 42, &shown), 0);
        ck_assert_uint_eq(shown, 42);
        ck_assert_int_eq(read_key(&x, 7, &shown), without[level].answers);
        ck_assert_uint_eq(shown, without[level].shown);
        unsigned before = fab_sim_port(x.r.sim, x.spine, 0)->m_key_violations;
        ck_assert_uint_eq(before, level >= 2);
        ck_assert_int_eq(with_key(&x, FAB_METHOD_SET, FAB_ATTR_LFT, 7, data), -1);
        ck_assert_uint_eq(fab_sim_port(x.r.sim, x.spine, 0)->m_key_violations, before + 1);
        ck_assert_uint_ge(traps(&x, 256, &n, NULL), 1);
        ck_assert_uint_eq(fab_base_get_be64(n.details + 14), 7);
        ck_assert_uint_eq(n.details[6], FAB_METHOD_SET);
        ck_assert_uint_eq(fab_base_get_be16(n.details + 8), FAB_ATTR_LFT);
        ck_assert_uint_eq(n.details[23], 0x80 | x.paths[x.spine].hops);
        lab_free(&x);
    }
}
END_TEST

START_TEST(leases)
{
    struct lab x = lab_manager();
    uint64_t shown;
    fab_sim_set_m_key(x.r.sim, x.spine, 42, 2, 10);
    /* the lease runs only after a request with a wrong M_Key, and there was none yet */
    fab_sim_advance(x.r.sim, 20000000);
    ck_assert_int_eq(read_key(&x, 7, &shown), -1);
    fab_sim_advance(x.r.sim, 29000000);
    /* a request with the right M_Key stops the lease */
    ck_assert_int_eq(read_key(&x, 42, &shown), 0);
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

/* ---- silence, loss and false identities ---------------------------------------------------- */

START_TEST(silence_and_loss)
{
    struct lab x = lab_managed();
    uint32_t spine = fab_fabric_peer_node(x.f, uplink(&x));
    uint8_t data[FAB_SMP_DATA];
    uint64_t guid;
    ck_assert_int_eq(fab_sim_silence(x.r.sim, 999, true), FAB_E_NOT_FOUND);
    fab_sim_silence(x.r.sim, x.leaf, true);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NODE_INFO, 0, data), -1);
    /* a silent switch still forwards packets */
    ck_assert_int_eq(ask_lid(&x, (uint16_t)(spine + 1), &guid), 1);
    fab_sim_silence(x.r.sim, x.leaf, false);
    ck_assert_int_eq(get(&x, x.leaf, FAB_ATTR_NODE_INFO, 0, data), 0);
    fab_sim_loss(x.r.sim, 0.5);
    unsigned answered = 0;
    for (unsigned i = 0; i < 1000; i++)
        answered += get(&x, spine, FAB_ATTR_NODE_INFO, 0, data) == 0;
    /* half of the requests and half of the answers are lost, so about 250 of 1,000 are answered */
    ck_assert_uint_gt(answered, 150);
    ck_assert_uint_lt(answered, 350);
    lab_free(&x);
}
END_TEST

START_TEST(weather)
{
    struct lab x = lab_manager();
    struct fab_sim_impairments weather = {.duplicate = 1};
    struct fab_sim_delivery mail;
    uint8_t reply[FAB_MAD_SIZE];
    unsigned late = 0;
    fab_sim_set_impairments(x.r.sim, &weather);
    ck_assert_int_eq(ask(&x, x.spine, 1, reply), 1);
    fab_sim_advance(x.r.sim, 1);
    /* the request was duplicated; this is the answer to the copy */
    ck_assert(fab_sim_receive(x.r.sim, &mail));
    ck_assert(!fab_sim_receive(x.r.sim, &mail));
    weather = (struct fab_sim_impairments){.delay = 0.5, .delay_us = 100, .spread_us = 50};
    fab_sim_set_impairments(x.r.sim, &weather);
    for (unsigned i = 0; i < 1000; i++)
        late += ask(&x, x.spine, i, reply) == 0;
    ck_assert_uint_gt(late, 650); /* request, answer or both are delayed: about 75 % */
    ck_assert_uint_lt(late, 850);
    ck_assert_uint_ge(fab_sim_deadline(x.r.sim), 101);
    fab_sim_advance(x.r.sim, 1000);
    for (; fab_sim_receive(x.r.sim, &mail); late--) {
    }
    ck_assert_uint_eq(late, 0);
    lab_free(&x);
}
END_TEST

START_TEST(lies)
{
    struct lab x = lab_manager();
    uint8_t truth[FAB_SMP_DATA], data[FAB_SMP_DATA];
    struct fab_node_info info;
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, truth), 0);
    for (int lie = FAB_SIM_CORRUPT_BUSY; lie <= FAB_SIM_CORRUPT_WRONG_TID; lie++) {
        ck_assert_int_eq(fab_sim_corrupt(x.r.sim, x.spine, (enum fab_sim_corruption)lie, 1),
                         FAB_OK);
        int status = get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data);
        ck_assert_int_eq(status, lie == FAB_SIM_CORRUPT_BUSY          ? FAB_SMP_BUSY
                                 : lie == FAB_SIM_CORRUPT_UNSUPPORTED ? FAB_SMP_BAD_ATTR
                                                                      : 0);
        if (lie >= FAB_SIM_CORRUPT_RANDOM && lie <= FAB_SIM_CORRUPT_ZEROS)
            ck_assert_mem_ne(truth, data, sizeof data);
        if (lie == FAB_SIM_CORRUPT_DUPLICATE_GUID && x.spine != 0) {
            fab_wire_attr_unpack(&fab_wire_attr_node_info, data, sizeof data, &info);
            ck_assert_uint_eq(info.node_guid, x.f->nodes[0].guid);
        }
    }
    ck_assert_int_eq(fab_sim_corrupt(x.r.sim, x.spine, FAB_SIM_CORRUPT_NONE, 0), FAB_OK);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data), 0);
    ck_assert_mem_eq(truth, data, sizeof data);
    ck_assert_int_eq(fab_sim_corrupt(x.r.sim, x.spine, FAB_SIM_CORRUPT_BUSY, 2), FAB_E_INVAL);
    lab_free(&x);
}
END_TEST

START_TEST(bit_errors)
{
    struct lab x = lab_manager();
    uint8_t data[FAB_SMP_DATA];
    uint8_t near = x.paths[x.spine].port[x.paths[x.spine].hops];
    uint32_t far = fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, near))->peer;
    unsigned lost = 0;
    ck_assert_int_eq(fab_sim_bit_errors(x.r.sim, x.leaf, near, 1e-9), FAB_OK);
    /* 100 Gb/s * 1e-9 errors per bit = 100 errors in this second */
    fab_sim_advance(x.r.sim, 1000000);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, x.leaf, near, FAB_SIM_SYMBOL_ERRORS), 100);
    ck_assert_uint_eq(fab_sim_counter(x.r.sim, fab_fabric_port(x.f, far)->node,
                                      fab_fabric_port(x.f, far)->num, FAB_SIM_SYMBOL_ERRORS),
                      100);
    ck_assert_int_eq(fab_sim_bit_errors(x.r.sim, x.leaf, near, 1e-4), FAB_OK);
    for (unsigned i = 0; i < 1000; i++)
        lost += get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data) != 0;
    /* A request and its answer have 2,288 bits each. With 1e-4 errors per bit, 37 % of the requests
     * remain without an answer. */
    ck_assert_uint_gt(lost, 310);
    ck_assert_uint_lt(lost, 430);
    ck_assert_int_eq(fab_sim_bit_errors(x.r.sim, x.leaf, near, 0), FAB_OK);
    ck_assert_int_eq(get(&x, x.spine, FAB_ATTR_NODE_INFO, 0, data), 0);
    ck_assert_int_eq(fab_sim_bit_errors(x.r.sim, x.leaf, near, 2), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_bit_errors(x.r.sim, x.leaf, 0, 0), FAB_E_NOT_FOUND);
    lab_free(&x);
}
END_TEST

START_TEST(degraded)
{
    struct lab x = lab_manager();
    const struct fab_port_info *info = fab_sim_port(x.r.sim, x.leaf, x.up);
    const struct fab_port *far =
        fab_fabric_port(x.f, fab_fabric_port(x.f, fab_fabric_port_id(x.f, x.leaf, x.up))->peer);
    uint32_t rate = fab_wire_link_rate(info);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 1, "QDR"), FAB_OK);
    ck_assert_uint_eq(fab_wire_link_rate(info), 10000);
    ck_assert_uint_eq(fab_wire_link_rate(fab_sim_port(x.r.sim, far->node, far->num)), 10000);
    ck_assert_uint_eq(info->port_state, FAB_STATE_INIT);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 3, NULL), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 0, "ODR"), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_degrade(x.r.sim, x.leaf, x.up, 0, NULL), FAB_OK);
    ck_assert_uint_eq(fab_wire_link_rate(info), rate);
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
    tcase_add_test(c, links_train_after_power_on);
    tcase_add_test(c, protection_levels);
    tcase_add_test(c, leases);
    tcase_add_test(c, silence_and_loss);
    tcase_add_test(c, weather);
    tcase_add_test(c, lies);
    tcase_add_test(c, bit_errors);
    tcase_add_test(c, degraded);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
