/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links that come up below their best width or speed, in a tree of 648 hosts. The manager must find
 * each of them after its trap, and emit an event that names it. In a fabric without such links,
 * there must be no event. Links, widths and speeds are random.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

#define LINKS 20

struct limit {
    uint32_t port; /* id of the port at one end of the link, in the simulated fabric */
    unsigned lanes;
    const char *speed;
    char place[2][80]; /* names of the two ports of the link */
};

/* ---- helpers --------------------------------------------------------------------------------- */

static void name_port(const struct fab_fabric *f, uint32_t port, char name[80])
{
    const struct fab_port *p = fab_fabric_port(f, port);
    snprintf(name, 80, "%s/%u", f->nodes[p->node].desc, p->num);
}

/* Chooses random links, of hosts and between switches. Each gets a maximum width (below 4x), a
 * maximum speed (below EDR), or both. */
static void choose(struct lab *lab, struct fab_prng *prng, struct limit limit[LINKS])
{
    static const unsigned lanes[] = {0, 1, 1, 0};
    static const char *const speeds[] = {"SDR", "DDR", "QDR", "FDR"};
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    for (uint32_t i = 0; i < LINKS;) {
        uint32_t port = (uint32_t)fab_base_prng_below(prng, f->port_count), taken = 0;
        uint32_t peer = fab_fabric_port(f, port)->peer;
        for (uint32_t j = 0; j < i; j++)
            taken += limit[j].port == port || limit[j].port == peer;
        if (peer == FAB_NONE || taken > 0)
            continue;
        unsigned kind = 1 + (unsigned)fab_base_prng_below(prng, 3);
        limit[i].port = port;
        limit[i].lanes = lanes[kind];
        limit[i].speed = kind > 1 ? speeds[fab_base_prng_below(prng, 4)] : NULL;
        name_port(f, port, limit[i].place[0]);
        name_port(f, peer, limit[i].place[1]);
        i++;
    }
}

static void apply(struct lab *lab, const struct limit *l, bool on)
{
    const struct fab_port *p = fab_fabric_port(fab_sim_fabric(lab->sim), l->port);
    ck_assert_int_eq(
        fab_sim_degrade(lab->sim, p->node, p->num, on ? l->lanes : 0, on ? l->speed : NULL),
        FAB_OK);
    transport_sim_kick(lab->sim_transport);
}

static void settle(struct lab *lab)
{
    lab_run_for(lab, 3);
    lab_run(lab, 10, lab_is_ready, "the manager is idle");
}

/* Returns the id of the port in the manager's snapshot. */
static uint32_t seen_port(struct lab *lab, const struct fab_fabric *seen, const struct limit *l)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    const struct fab_port *p = fab_fabric_port(f, l->port);
    uint32_t node = fab_fabric_node_by_guid(seen, f->nodes[p->node].guid);
    ck_assert_uint_ne(node, FAB_NONE);
    return fab_fabric_port_id(seen, node, p->num);
}

/* Checks whether the manager knows three things about a limited link: what both ports support, what
 * both have enabled, and at which width and speed the link runs. */
static void assert_found(struct lab *lab, const struct limit *l)
{
    struct fab_view *v = sm_view(lab->sm);
    const struct fab_fabric *f = v->fabric;
    uint32_t port = seen_port(lab, f, l);
    ck_assert_msg(fab_fabric_link_is_degraded(f, port), "%s", l->place[0]);
    const uint32_t end[2] = {port, fab_fabric_port(f, port)->peer};
    for (int i = 0; i < 2; i++) {
        const struct fab_port_info *info = &fab_fabric_port(f, end[i])->info;
        struct fab_link_modes supported = fab_wire_link_modes(info, FAB_LINK_SUPPORTED),
                              enabled = fab_wire_link_modes(info, FAB_LINK_ENABLED);
        ck_assert_uint_eq(fab_wire_best_lanes(supported.widths), 4);
        ck_assert_str_eq(fab_wire_best_speed(supported.speeds), "EDR");
        ck_assert_mem_eq(&supported, &enabled, sizeof supported);
        ck_assert_uint_eq(fab_wire_link_width(info), l->lanes != 0 ? l->lanes : 4);
        ck_assert_str_eq(fab_wire_link_speed(info), l->speed != NULL ? l->speed : "EDR");
    }
    fab_view_unref(v);
}

/* Returns true if an event of this type names both ports of the link. */
static bool is_named(const struct lab *lab, const char *type, const struct limit *l)
{
    for (unsigned i = 0; i < lab->event_count; i++)
        if (strcmp(lab->events[i].type, type) == 0 &&
            strstr(lab->events[i].message, l->place[0]) != NULL &&
            strstr(lab->events[i].message, l->place[1]) != NULL)
            return true;
    return false;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void bring_up(struct lab *lab)
{
    lab_open_virtual(lab, lab_leaf_spine(36, 18, 18), NULL);
    /* When the simulation limits a link, the link goes down and trains again. Without hold-downs,
     * the manager uses it again at once. */
    lab->config.flapping.hold_down_s = 0;
    sm_start(lab->sm);
    lab_run(lab, 60, lab_is_ready, "bring-up");
    ck_assert_uint_eq(sm_census(lab->sm).degraded_links, 0);
    ck_assert_uint_eq(lab_count_events(lab, "link-degraded"), 0);
    lab_forget_events(lab);
}

START_TEST(each_degraded_link_is_found_after_its_trap)
{
    struct lab lab;
    struct fab_prng prng;
    struct limit limit[LINKS];
    fab_base_prng_init(&prng, test_seed("degraded links", 20));
    bring_up(&lab);
    choose(&lab, &prng, limit);
    for (uint32_t i = 0; i < LINKS; i++) {
        uint64_t sweeps;
        struct sm_status status;
        sm_get_status(lab.sm, &status);
        sweeps = status.sweeps;
        lab_forget_events(&lab);
        apply(&lab, &limit[i], true);
        settle(&lab);
        assert_found(&lab, &limit[i]);
        ck_assert_msg(is_named(&lab, "link-degraded", &limit[i]), "%s", limit[i].place[0]);
        ck_assert_uint_eq(lab_count_events(&lab, "link-degraded"), 1);
        ck_assert_uint_eq(sm_census(lab.sm).degraded_links, i + 1);
        sm_get_status(lab.sm, &status);
        /* the manager found the link without a heavy sweep */
        ck_assert_uint_eq(status.sweeps, sweeps);
    }
    for (uint32_t i = 0; i < LINKS; i++) {
        lab_forget_events(&lab);
        apply(&lab, &limit[i], false);
        settle(&lab);
        ck_assert_msg(is_named(&lab, "link-restored", &limit[i]), "%s", limit[i].place[0]);
        ck_assert_uint_eq(sm_census(lab.sm).degraded_links, LINKS - i - 1);
        ck_assert_uint_eq(lab_count_events(&lab, "link-degraded"), 0);
    }
    lab_close(&lab);
}
END_TEST

/* Many links become degraded at once. The manager must find all of them, and name them in at most
 * eight events. */
START_TEST(many_degraded_links_get_one_event)
{
    struct lab lab;
    struct fab_prng prng;
    struct limit limit[LINKS];
    fab_base_prng_init(&prng, test_seed("degraded links", 21));
    bring_up(&lab);
    choose(&lab, &prng, limit);
    for (uint32_t i = 0; i < LINKS; i++)
        apply(&lab, &limit[i], true);
    settle(&lab);
    ck_assert_uint_eq(sm_census(lab.sm).degraded_links, LINKS);
    for (uint32_t i = 0; i < LINKS; i++)
        assert_found(&lab, &limit[i]);
    ck_assert_uint_ge(lab_count_events(&lab, "link-degraded"), 1);
    ck_assert_uint_le(lab_count_events(&lab, "link-degraded"), 8);
    ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
    lab_forget_events(&lab);
    settle(&lab);
    ck_assert_uint_eq(lab_count_events(&lab, "link-degraded"),
                      0); /* a link that is still degraded is not reported again */
    for (uint32_t i = 0; i < LINKS; i++)
        apply(&lab, &limit[i], false);
    settle(&lab);
    ck_assert_uint_eq(sm_census(lab.sm).degraded_links, 0);
    ck_assert_uint_ge(lab_count_events(&lab, "link-restored"), 1);
    ck_assert_uint_le(lab_count_events(&lab, "link-restored"), 8);
    lab_close(&lab);
}
END_TEST

/* A link comes back with only one of four lanes. A local repair must use it again, and the manager
 * must count and report it as degraded, without a sweep. Then the link goes down once more, and
 * comes back with all lanes. The manager must report it as restored. */
START_TEST(a_link_comes_back_slower_and_then_whole)
{
    struct lab lab;
    bring_up(&lab);
    uint32_t node = lab_node(&lab, "leaf-003");
    lab_unlink(&lab, "leaf-003", 20);
    settle(&lab);
    ck_assert_int_eq(fab_sim_degrade(lab.sim, node, 20, 1, NULL), FAB_OK);
    lab_forget_events(&lab);
    lab_relink(&lab, "leaf-003", 20);
    ck_assert_str_eq(lab_await(&lab, 3, "link-degraded")->subject, "leaf-003/20");
    ck_assert_uint_eq(lab_count_events(&lab, "link-up"), 1);
    ck_assert_uint_eq(sm_census(lab.sm).degraded_links, 1);
    settle(&lab);
    ck_assert_uint_eq(sm_census(lab.sm).degraded_links, 1);
    ck_assert_uint_eq(lab_count_events(&lab, "link-degraded"), 1);

    lab_unlink(&lab, "leaf-003", 20);
    settle(&lab);
    ck_assert_uint_eq(sm_census(lab.sm).degraded_links, 0);
    ck_assert_uint_eq(lab_count_events(&lab, "link-restored"), 0);
    ck_assert_int_eq(fab_sim_degrade(lab.sim, node, 20, 0, NULL), FAB_OK);
    lab_relink(&lab, "leaf-003", 20);
    ck_assert_str_eq(lab_await(&lab, 3, "link-restored")->subject, "leaf-003/20");
    settle(&lab);
    ck_assert_uint_eq(lab_count_events(&lab, "link-restored"), 1);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("degraded links");
    TCase *c = tcase_create("degraded");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, each_degraded_link_is_found_after_its_trap);
    tcase_add_test(c, many_degraded_links_get_one_event);
    tcase_add_test(c, a_link_comes_back_slower_and_then_whole);
    suite_add_tcase(suite, c);
    return test_run(suite);
}
