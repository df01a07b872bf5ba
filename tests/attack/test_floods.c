/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One host floods subnet administration or the manager with 10,000 MADs of one kind a second, in
 * virtual time. Meanwhile a link fails and returns, and another host requests paths. A reroute may
 * take at most twice as long as without the flood, and the other host must get each answer within
 * 10 ms.
 *
 *  Related tests: test_traps.c (floods of traps and the journal), test_quotas.c (limits),
 * tests/bench/rogue_floods.sh (a real process). Before there were quotas, such a flood filled the
 * tables of groups, services and subscriptions, and delayed the answers to other hosts.
 */
#include "tests/sim/sa_scene.h"

#define ROGUE 6
#define OTHER 9
#define FLOOD_S 3
#define MOST_US 10000 /* maximum time in us until a host gets its answer */

static struct lab *const lab = &scene.lab;

/* ---- what the rogue sends ---- */

static void make_sa(uint8_t method, uint16_t attr_id, uint64_t mask, uint8_t mad[FAB_MAD_SIZE])
{
    static uint64_t tid = UINT64_C(1) << 40; /* greater than all IDs of ask() */
    const struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = ++tid, .attr_id = attr_id};
    const struct fab_sa_header sa = {.comp_mask = mask};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20),
                     FAB_OK);
}

static void make_table(uint64_t n, uint8_t mad[FAB_MAD_SIZE])
{
    (void)n;
    /* The response is long and needs RMPP. The rogue never acknowledges it. */
    make_sa(0x12, FAB_SA_NODE_RECORD, 0, mad);
}

static void make_service(uint64_t n, uint8_t mad[FAB_MAD_SIZE])
{
    const struct fab_wire_service_record r = service_of(ROGUE, n + 1, UINT32_MAX);
    make_sa(FAB_METHOD_SET, FAB_SA_SERVICE_RECORD, all_of_service(), mad);
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_service_record, &r, mad + FAB_SA_DATA, 200),
                     FAB_OK);
}

static void make_subscription(uint64_t n, uint8_t mad[FAB_MAD_SIZE])
{
    const struct fab_inform_info info = all_notices((uint16_t)n);
    make_sa(FAB_METHOD_SET, FAB_ATTR_INFORM_INFO, 0, mad);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_inform_info, &info, mad + FAB_SA_DATA, 36),
                     FAB_OK);
}

static void make_sm_info(uint64_t n, uint8_t mad[FAB_MAD_SIZE])
{
    const struct fab_sm_info info = {
        .guid = 1, .sm_key = 1, .priority = 15, .state = FAB_SM_MASTER};
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                           .method = n % 2 ? FAB_METHOD_SET : FAB_METHOD_GET,
                           .tid = n + 1,
                           .attr_id = FAB_ATTR_SM_INFO,
                           .attr_mod = n % 2 ? 1 + (uint32_t)(n / 2 % 5) : 0};
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, data, sizeof data), FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, mad), FAB_OK);
}

static const struct kind {
    const char *name;
    void (*make)(uint64_t n, uint8_t mad[FAB_MAD_SIZE]);
} kinds[] = {{"tables", make_table},
             {"services", make_service},
             {"subscriptions", make_subscription},
             {"SMInfo and control packets", make_sm_info}};

struct flood {
    struct loop_timer *timer;
    const struct kind *kind;
    uint16_t lid;
    uint64_t sent;
};

static void send_ten(void *ctx)
{
    struct flood *f = ctx;
    for (int i = 0; i < 10; i++, f->sent++) {
        uint8_t mad[FAB_MAD_SIZE] = {0};
        f->kind->make(f->sent, mad);
        if (f->kind->make == make_sm_info)
            lab_receive_from(lab, f->lid, mad);
        else
            to_agent(f->lid, mad);
    }
    loop_timer_set(f->timer, 1000);
}

/* ---- measurements ---- */

static bool is_rerouted(struct lab *l)
{
    return lab_event(l, "reroute-done") != NULL;
}

static uint64_t reroute(void)
{
    lab_forget_events(lab);
    uint64_t from = clock_now_us();
    lab_unlink(lab, "leaf-004", 5);
    lab_run(lab, 5, is_rerouted, "the reroute");
    uint64_t took = clock_now_us() - from;
    lab_relink(lab, "leaf-004", 5);
    lab_run_for(lab, 0.5);
    lab_run(lab, 20, lab_is_idle, "the link's return");
    return took;
}

static uint64_t ask_for_a_path(uint64_t *tid)
{
    uint64_t mask = fab_wire_rec_component(&fab_wire_path_record, "SLID") |
                    fab_wire_rec_component(&fab_wire_path_record, "DLID"),
             from = clock_now_us();
    uint8_t mad[FAB_MAD_SIZE];
    make_sa(FAB_METHOD_GET, FAB_SA_PATH_RECORD, mask, mad);
    fab_base_put_be64(mad + 8, ++*tid);
    fab_base_put_be16(mad + FAB_SA_DATA + 40, host_lid(OTHER));
    fab_base_put_be16(mad + FAB_SA_DATA + 42, host_lid(2));
    to_agent(host_lid(OTHER), mad);
    while (fab_base_get_be64(scene.answer + 8) != *tid && clock_now_us() - from < MOST_US)
        lab_run_for(lab, 0);
    ck_assert_uint_eq(fab_base_get_be64(scene.answer + 8), *tid);
    ck_assert_uint_eq(fab_base_get_be16(scene.answer + 4), 0);
    return clock_now_us() - from;
}

START_TEST(a_flood_delays_nobody)
{
    const struct kind *k = &kinds[_i];
    uint64_t tid = UINT64_C(1) << 50, worst = 0;
    open_scene(false);
    lab->config.flapping.hold_down_s = 0;
    ck_assert_int_eq(sm_reload(lab->sm), FAB_OK);
    lab_run_for(lab, 2);
    lab_run(lab, 20, lab_is_ready, "contingencies");
    uint64_t quiet = reroute();
    scene.asker = host_lid(OTHER);
    struct flood f = {.kind = k, .lid = host_lid(ROGUE)};
    f.timer = loop_timer_new(lab->loop, send_ten, &f);
    uint64_t end = clock_now_us() + FLOOD_S * UINT64_C(1000000);
    uint64_t seq = bus_last_seq(lab->bus);
    loop_timer_set(f.timer, 0);
    while (clock_now_us() < end) {
        uint64_t took = reroute();
        ck_assert_uint_le(took, 2 * quiet + 2000);
        for (int i = 0; i < 10; i++) {
            uint64_t us = ask_for_a_path(&tid);
            worst = us > worst ? us : worst;
        }
    }
    loop_timer_free(f.timer);
    ck_assert_uint_ge(f.sent, FLOOD_S * 10000);
    ck_assert_uint_le(bus_last_seq(lab->bus) - seq, 200);
    ck_assert_uint_eq(lab_role(lab), FAB_SM_MASTER);
    printf("# %s: %lu MADs, reroutes %lu us quiet, answers within %lu us\n", k->name,
           (unsigned long)f.sent, (unsigned long)quiet, (unsigned long)worst);
    lab_run_for(lab, 3);
    lab_assert_good(lab);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attack/floods");
    TCase *t = tcase_create("floods");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_flood_delays_nobody, 0, (int)(sizeof kinds / sizeof *kinds));
    suite_add_tcase(s, t);
    return test_run(s);
}
