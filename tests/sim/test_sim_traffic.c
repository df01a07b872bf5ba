/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The background traffic of the simulated fabric. Its flows follow the tables of the manager. At
 * all times, the counters at both ends of a link must agree. During an epoch of the traffic, each
 * counter must rise evenly; a new epoch has new flows.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

#define SECOND_US UINT64_C(1000000)

static uint64_t read_words(struct lab *lab, uint32_t port, uint32_t counter)
{
    fab_sim_counters_update(lab->sim, port);
    return fab_sim_counter_read(lab->sim, port, counter);
}

/* Asserts that each port has received the words that the other end of its link has sent. Returns
 * the number of words that all ports have sent. */
static uint64_t assert_agree(struct lab *lab)
{
    const struct fab_fabric *f = lab->sim->fabric;
    uint64_t sum = 0;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE)
            continue;
        uint64_t sent = read_words(lab, port, FAB_SIM_XMIT_DATA);
        uint64_t received = read_words(lab, peer, FAB_SIM_RCV_DATA);
        ck_assert_msg(sent + 1 >= received && received + 1 >= sent,
                      "port %u sent %llu words, port %u received %llu", port,
                      (unsigned long long)sent, peer, (unsigned long long)received);
        sum += sent;
    }
    return sum;
}

/* Advances the simulated time, but does not run the manager, which would read the counters, too. */
static void advance(struct lab *lab, uint64_t us)
{
    fab_sim_advance(lab->sim, fab_sim_now(lab->sim) + us);
}

START_TEST(both_ends_of_a_link_agree)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(8, 4, 8), NULL);
    ck_assert_int_eq(fab_sim_traffic(lab.sim, 0.5, 7), FAB_OK);
    uint64_t before = assert_agree(&lab);
    /* 1000 s are at least three epochs */
    for (unsigned i = 0; i < 100; i++) {
        advance(&lab, 10 * SECOND_US);
        uint64_t now = assert_agree(&lab);
        ck_assert_uint_gt(now, before);
        before = now;
    }
    lab_close(&lab);
}
END_TEST

/* This fabric is so large that one read of a counter cannot compute all rates of a new epoch. Until
 * several reads have done this, the rates of the last epoch must stay. */
START_TEST(rates_change_only_where_an_epoch_ends)
{
    struct lab lab;
    unsigned changes = 0;
    uint64_t rise = 0;
    lab_bring_up(&lab, lab_leaf_spine(40, 20, 20), NULL);
    uint32_t port = fab_fabric_port_id(lab.sim->fabric, lab.sim->fabric->switch_count, 1);
    ck_assert_int_eq(fab_sim_traffic(lab.sim, 0.5, 7), FAB_OK);
    uint64_t before = read_words(&lab, port, FAB_SIM_XMIT_DATA);
    for (unsigned i = 0; i < 1000; i++) { /* an epoch lasts 300 s */
        advance(&lab, SECOND_US);
        uint64_t now = read_words(&lab, port, FAB_SIM_XMIT_DATA), rose = now - before;
        changes += rose > rise + 1 || rise > rose + 1;
        rise = rose;
        before = now;
    }
    ck_assert_uint_ge(changes, 1);
    ck_assert_uint_le(changes, 4);
    assert_agree(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(no_traffic_without_load)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(2, 2, 2), NULL);
    uint64_t before = assert_agree(&lab);
    ck_assert_int_eq(fab_sim_traffic(lab.sim, 0, 7), FAB_OK);
    advance(&lab, 100 * SECOND_US);
    ck_assert_uint_eq(assert_agree(&lab), before);
    ck_assert_int_eq(fab_sim_traffic(lab.sim, 1.5, 7), FAB_E_INVAL);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulated traffic");
    TCase *tcase = tcase_create("simulated traffic");
    tcase_add_test(tcase, both_ends_of_a_link_agree);
    tcase_add_test(tcase, rates_change_only_where_an_epoch_ends);
    tcase_add_test(tcase, no_traffic_without_load);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
