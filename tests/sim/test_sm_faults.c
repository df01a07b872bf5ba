/* SPDX-License-Identifier: BSD-3-Clause */
/* The manager on a simulated fabric, through the faults that occur in fabrics. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/core/core.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/repair.h"
#include "tests/sim/lab.h"

/* ---- cables ---- */

START_TEST(goes_round_a_pulled_cable_and_back)
{
    struct lab lab;
    size_t len;
    lab_bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    struct fab_census all = sm_census(lab.sm);
    ck_assert_uint_eq(all.endports, 36 * 18);
    ck_assert_uint_eq(all.active_links, 36 * 18 * 2);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-001", 20);
    ck_assert_str_eq(lab_await(&lab, 3, "link-down")->subject, "leaf-001/20");
    lab_await(&lab, 3, "reroute-done");
    lab_run(&lab, 3, lab_is_idle, "the reroute");
    lab_run_for(&lab, 0.05);
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, false);
    ck_assert_uint_eq(sm_census(lab.sm).active_links, all.active_links - 1);
    struct sm_status status;
    sm_get_status(lab.sm, &status);
    ck_assert_uint_gt(status.last_reroute_us, 0);

    lab_forget_events(&lab);
    lab_relink(&lab, "leaf-001", 20);
    lab_await(&lab, 3, "link-up");
    lab_run_for(&lab, 0.05);
    lab_run(&lab, 3, lab_is_idle, "the reroute back");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    struct fab_census back = sm_census(lab.sm);
    ck_assert_mem_eq(&back, &all, sizeof(all));
    free(before);
    lab_close(&lab);
}
END_TEST

static uint32_t counted_links; /* number of active links after the last reroute */
/* counts: number of calls of fab_fabric_count(). recounts: number of these calls that came from
 * note_links(). */
static unsigned counts, recounts;

void __real_fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret);
void __wrap_fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret);
void __wrap_fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret)
{
    counts++;
    __real_fab_fabric_count(f, ret);
}

static void note_links(void *ctx, const struct event *e)
{
    struct lab *lab = ctx;
    if (strcmp(e->type, "reroute-done") != 0)
        return;
    unsigned before = counts;
    counted_links = sm_census(lab->sm).active_links;
    recounts += counts - before;
}

/* A repair adjusts the numbers of links and hosts. It does not count all links of the fabric anew,
 * because this takes long in a large fabric; only sweeps do that. */
START_TEST(a_repair_corrects_the_numbers_of_links)
{
    const struct {
        const char *leaf;
        uint8_t port;
        bool up;
        uint32_t links;
    } step[] = {{"leaf-001", 5, false, 6 * 7 - 1},
                {"leaf-002", 6, false, 6 * 7 - 2},
                {"leaf-001", 5, true, 6 * 7 - 1},
                {"leaf-003", 7, false, 6 * 7 - 2}};
    struct lab lab;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    ck_assert_int_eq(bus_subscribe(lab.bus, note_links, &lab), FAB_OK);
    for (unsigned i = 0; i < sizeof step / sizeof *step; i++) {
        counted_links = 0;
        if (step[i].up)
            lab_relink(&lab, step[i].leaf, step[i].port);
        else
            lab_unlink(&lab, step[i].leaf, step[i].port);
        lab_run_for(&lab, 2);
        ck_assert_uint_eq(counted_links, step[i].links);
        ck_assert_uint_eq(recounts, 0);
        ck_assert_uint_eq(sm_census(lab.sm).active_links, step[i].links);
        ck_assert_uint_eq(sm_census(lab.sm).degraded_links, 0);
    }
    bus_unsubscribe(lab.bus, note_links, &lab);
    lab_close(&lab);
}
END_TEST

/* Two cables are exchanged. The nodes, ports and states stay the same, and only the peers of the
 * ports differ. A heavy sweep must notice this. Hosts keep their LIDs at their new places, so the
 * routes to them must change. */
START_TEST(finds_cables_that_changed_places)
{
    struct lab lab;
    struct sm_status before, after;
    size_t len;
    lab_open_virtual(&lab, lab_leaf_spine(6, 3, 4), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_ready, "bring-up");
    sm_get_status(lab.sm, &before);
    for (int i = 0; i < 2; i++) {
        uint8_t *tables = lab_tables(&lab, &len);
        lab_exchange(&lab, "leaf-002", 2, "leaf-005", i == 0 ? 3 : 2);
        ck_assert_int_eq(sm_sweep(lab.sm, NULL, NULL), FAB_OK);
        lab_run_for(&lab, 1);
        lab_run(&lab, 5, lab_is_idle, "the sweep");
        lab_assert_good(&lab);
        lab_assert_same_tables(&lab, tables, len, false);
        sm_get_status(lab.sm, &after);
        ck_assert_uint_eq(after.generation, before.generation + 1);
        before = after;
        free(tables);
    }
    lab_close(&lab);
}
END_TEST

/* Checks that the manager's numbers of links and hosts, which each repair adjusts, equal those of a
 * new count. */
static void assert_census(struct lab *lab)
{
    struct fab_view *v = sm_view(lab->sm);
    struct fab_census want, is = sm_census(lab->sm);
    fab_fabric_count(v->fabric, &want);
    ck_assert_uint_gt(want.active_links, 0);
    ck_assert_uint_eq(is.active_links, want.active_links);
    ck_assert_uint_eq(is.degraded_links, want.degraded_links);
    ck_assert_uint_eq(is.endports, want.endports);
    ck_assert_uint_eq(is.hosts, want.hosts);
    fab_view_unref(v);
}

static void count(void *ctx)
{
    ++*(unsigned *)ctx;
}

/* Two links fail one after the other, and a local repair follows each failure. Later both links
 * come back. */
START_TEST(mends_tables_in_place)
{
    struct lab lab;
    size_t len;
    struct sm_status before_it;
    struct reroute last;
    lab_bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    unsigned patches = 0;
    ck_assert_uint_eq(lab.sets_by_lid,
                      /* During the bring-up, the manager did not know the LFTs in the switches, so
                       * no write was LID routed. */
                      0);
    /* count the patches: changes of the active tables in place */
    sm_on_patch(lab.sm, count, &patches);
    uint8_t *before = lab_tables(&lab, &len);
    for (uint8_t port = 22; port < 24; port++) {
        lab_run(&lab, 3, lab_is_ready, "all that repairs take");
        lab_forget_events(&lab);
        sm_get_status(lab.sm, &before_it);
        lab_forget_writes(&lab);
        lab_unlink(&lab, "leaf-003", port);
        const struct lab_event *e = lab_await(&lab, 3, "reroute-done");
        lab_assert_good(&lab);
        ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
        ck_assert_uint_gt(last.blocks, 0);
        ck_assert_uint_eq(last.links_lost, 1);
        /* Most writes of the repair are LID routed. Only a switch whose path used the failed link
         * gets its writes by directed routes. */
        ck_assert_uint_ge(lab.sets_by_lid, last.blocks - last.blocks / 4);
        /* Each repair is a patch. Steps of the incremental rebalance are patches, too, so there may
         * be more. */
        ck_assert_uint_ge(patches, port - 21u);
        /* The limit for the MADs of a repair: 36 port probes at each end of the link, a read of one
         * more neighbour of each end, and the writes. A sweep would send more. */
        ck_assert_uint_le(e->smps_sent - before_it.smps_sent, 2 * 36 + 2 + last.blocks);
        assert_census(&lab);
    }
    lab_run(&lab, 3, lab_is_idle, "the sweep that checks");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    lab_assert_good(&lab);
    for (uint8_t port = 22; port < 24; port++)
        lab_relink(&lab, "leaf-003", port);
    lab_run_for(&lab, 0.05);
    lab_run(&lab, 3, lab_is_idle, "all back");
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* A link between a leaf and a spine fails, and a local repair follows. If some switches still
 * cannot reach each other, an engine computes new tables: a refinement. The status must still show
 * the repair as the last reroute, and the record of the refinement must name this repair as its
 * cause. */
START_TEST(a_follow_up_has_its_own_record)
{
    struct lab lab;
    struct sm_status status;
    struct reroute all[4];
    lab_bring_up(&lab, lab_leaf_spine(36, 18, 18), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-001", 36);
    lab_await(&lab, 1, "reroute-done");
    lab_run(&lab, 3, lab_is_idle, "whatever follows");
    lab_run_for(&lab, 0.5);
    uint32_t count = sm_reroutes(lab.sm, 0, all, 4);
    ck_assert_uint_ge(count, 1);
    const struct reroute *repair = &all[count - 1];
    ck_assert_uint_eq(repair->links_lost, 1);
    sm_get_status(lab.sm, &status);
    ck_assert_uint_eq(status.last_reroute_us, repair->last_write_us);
    ck_assert_uint_eq(status.reroutes.count, 1);
    char of[64];
    snprintf(of, sizeof(of), "refinement of reroute %" PRIu64 ",", repair->generation);
    for (uint32_t i = 0; i + 1 < count; i++)
        ck_assert_msg(strncmp(all[i].cause, of, strlen(of)) == 0, "%s", all[i].cause);
    ck_assert_int_eq(count > 1, lab_event(&lab, "reroute-refined") != NULL);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

static bool has_all_plans(struct lab *lab)
{
    struct sm_contingencies c;
    sm_get_contingencies(lab->sm, &c);
    return c.all && !c.under_way && c.all->count == c.cases && c.current == c.cases;
}

/* Lets two links fail one after the other, and returns the tables after both repairs. megabytes:
 * memory for contingency plans; 0: the repairs have no plans. */
static uint8_t *tables_after_faults(uint32_t megabytes, size_t *ret_len)
{
    struct lab lab;
    struct sm_contingencies c;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab.config.contingency_mb = megabytes;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    for (uint8_t port = 5; port < 7; port++) {
        lab_run(&lab, 5, megabytes > 0 ? has_all_plans : lab_is_ready, "all that repairs take");
        lab_forget_events(&lab);
        lab_unlink(&lab, "leaf-003", port);
        const struct lab_event *e = lab_await(&lab, 1, "reroute-done");
        ck_assert_int_eq(strstr(e->message, "by a contingency plan") != NULL, megabytes > 0);
        /* After the repair, no contingency plan fits the fabric any more. */
        sm_get_contingencies(lab.sm, &c);
        ck_assert(c.all == NULL || c.current == 0);
        lab_assert_good(&lab);
        lab_run(&lab, 3, lab_is_idle, "the sweep that checks");
    }
    uint8_t *tables = lab_tables(&lab, ret_len);
    lab_close(&lab);
    return tables;
}

START_TEST(mends_by_a_plan_at_hand)
{
    size_t len, same;
    uint8_t *with = tables_after_faults(64, &len), *without = tables_after_faults(0, &same);
    ck_assert_uint_eq(len, same);
    ck_assert_mem_eq(with, without, len);
    free(with);
    free(without);
}
END_TEST

/* Follows the path of each pair of hosts. Returns the number of paths over the busiest link in its
 * busier direction. */
static uint64_t most_paths(const struct fab_view *v)
{
    const struct fab_fabric *f = v->fabric;
    uint64_t *load = calloc(f->port_count, sizeof(*load)), most = 0;
    for (uint32_t from = f->switch_count; from < f->node_count; from++)
        for (uint32_t to = f->switch_count; to < f->node_count; to++) {
            uint32_t lid = v->target->lids.base[fab_fabric_port_id(f, to, 1)];
            uint32_t at = fab_fabric_peer_node(f, fab_fabric_port_id(f, from, 1));
            while (to != from && at < f->switch_count) {
                uint32_t out =
                    fab_fabric_port_id(f, at, fab_target_lft_at(&v->target->lft, at, lid));
                at = fab_fabric_peer_node(f, out);
                if (at < f->switch_count && ++load[out] > most)
                    most = load[out];
            }
        }
    free(load);
    return most;
}

START_TEST(has_a_plan_for_every_case)
{
    struct lab lab;
    struct sm_contingencies c;
    struct fab_repair_contingency row;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_run(&lab, 5, has_all_plans, "plans for all");
    sm_get_contingencies(lab.sm, &c);
    ck_assert_uint_eq(c.cases, 6 * 3 + 6 + 3);
    ck_assert_uint_eq(c.all->plans, c.cases);
    ck_assert(!c.rate_measured);
    ck_assert_uint_eq(c.budget, (size_t)lab.config.contingency_mb << 20);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(c.load, most_paths(v));
    uint32_t leaf = fab_fabric_node_by_guid(
        v->fabric, fab_sim_fabric(lab.sim)->nodes[lab_node(&lab, "leaf-003")].guid);
    const struct fab_repair_contingency *found = sm_contingency_of(lab.sm, true, leaf);
    ck_assert_ptr_nonnull(found);
    sm_contingency_row(lab.sm, found, &row);
    ck_assert_uint_eq(row.id, leaf);
    ck_assert_uint_eq(row.lost_ends, 4);
    ck_assert_uint_eq(row.lost_switches, 1);
    uint32_t port = fab_fabric_port_id(v->fabric, leaf, 6),
             peer = fab_fabric_port(v->fabric, port)->peer;
    found = sm_contingency_of(lab.sm, false, peer);
    ck_assert_ptr_nonnull(found);
    sm_contingency_row(lab.sm, found, &row);
    ck_assert(row.id == port || row.peer == port);
    ck_assert_uint_eq(row.lost_ends, 0);
    ck_assert_uint_gt(row.blocks, 0);
    ck_assert_ptr_null(sm_contingency_of(lab.sm, false, fab_fabric_port_id(v->fabric, leaf, 1)));
    fab_view_unref(v);
    lab_close(&lab);
}
END_TEST

/* A rebalance reports the congestion product of the old tables and of the new ones, which is lower.
 */
START_TEST(a_rebalance_tells_its_gain)
{
    static const struct {
        const char *name;
        uint8_t port;
    } pulled[] = {{"core-001", 3}, {"core-015", 3}, {"leaf-019", 7}, {"leaf-023", 8},
                  {"leaf-008", 8}, {"core-002", 5}, {"core-002", 7}, {"core-001", 8}};
    struct lab lab;
    struct fab_builder *b;
    const struct fab_fat_tree_spec spec = {.radix = 8, .levels = 3};
    uint64_t now = 0, was = 0;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    lab_open_virtual(&lab, b, NULL);
    lab.config.rebalance_s = 5;
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    for (size_t i = 0; i < sizeof pulled / sizeof *pulled; i++)
        lab_unlink(&lab, pulled[i].name, pulled[i].port);
    const char *message = lab_await(&lab, 30, "rebalance-done")->message;
    const char *figures = strstr(message, "congestion product");
    ck_assert_msg(figures && sscanf(figures, "congestion product %" SCNu64 ", before %" SCNu64,
                                    &now, &was) == 2,
                  "%s", message);
    ck_assert_msg(0 < now && now < was, "%s", message);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Fails ten links, and waits until they are repaired. */
static void fail_ten_links(struct lab *lab)
{
    static const struct {
        const char *name;
        uint8_t port;
    } pulled[] = {{"leaf-001", 7},  {"leaf-001", 8}, {"leaf-001", 9},  {"leaf-002", 8},
                  {"leaf-002", 12}, {"leaf-003", 7}, {"leaf-004", 10}, {"leaf-005", 11},
                  {"leaf-006", 7},  {"leaf-006", 9}};
    for (size_t i = 0; i < sizeof pulled / sizeof *pulled; i++)
        lab_unlink(lab, pulled[i].name, pulled[i].port);
    lab_await(lab, 3, "reroute-done");
    lab_run(lab, 3, lab_is_ready, "the repair");
}

/* After a repair, the incremental rebalance moves paths to links with less load, step by step,
 * until nothing can be improved. With rebalance_after 0, it must do nothing. */
START_TEST(steps_follow_a_repair_until_nothing_moves)
{
    for (uint32_t rebalance_s = 0; rebalance_s <= 3600; rebalance_s += 3600) {
        struct lab lab;
        struct fab_builder *b;
        const struct fab_fat_tree_spec spec = {.radix = 12, .levels = 2};
        unsigned patches = 0;
        ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
        lab_open_virtual(&lab, b, NULL);
        lab.config.rebalance_s = rebalance_s;
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_ready, "bring-up");
        fail_ten_links(&lab);
        sm_on_patch(lab.sm, count, &patches);
        lab_forget_writes(&lab);
        lab_forget_events(&lab);
        lab_run_for(&lab, 0.02);
        /* The first step must not begin earlier than 50 ms after the repair. */
        ck_assert_uint_eq(patches, 0);
        lab_run_for(&lab, 5);
        unsigned steps = patches;
        uint64_t sets = lab.sets_lft;
        ck_assert(rebalance_s > 0 ? steps >= 1 && sets >= 1 : steps == 0 && sets == 0);
        lab_run_for(&lab, 20);
        ck_assert_uint_eq(patches, steps);
        ck_assert_uint_eq(lab.sets_lft, sets);
        ck_assert_uint_eq(lab_count_events(&lab, "reroute-done"), 0);
        lab_assert_good(&lab);
        lab_close(&lab);
    }
}
END_TEST

/* What __wrap_fab_repair_rebalance() notes about the passes of the incremental rebalance. A pass
 * goes over all LIDs, in one step or several. */
static struct {
    /* maximum number of entries that a step may change; 0: the manager's own maximum */
    size_t most;
    unsigned partial; /* number of steps that ended before the last LID */
    unsigned moves;   /* number of entries changed by all steps */
    bool still;       /* true: the steps of the present pass have changed nothing so far */
    bool settled;     /* true: the last step ended a pass that changed nothing */
} passes;

int __real_fab_repair_rebalance(struct fab_repair *r, const struct fab_lft *lft, size_t most,
                                uint32_t *at, struct fab_repair_delta *ret);
int __wrap_fab_repair_rebalance(struct fab_repair *r, const struct fab_lft *lft, size_t most,
                                uint32_t *at, struct fab_repair_delta *ret);
int __wrap_fab_repair_rebalance(struct fab_repair *r, const struct fab_lft *lft, size_t most,
                                uint32_t *at, struct fab_repair_delta *ret)
{
    bool first = *at == 0;
    int status = __real_fab_repair_rebalance(r, lft, passes.most > 0 ? passes.most : most, at, ret);
    passes.still = (first || passes.still) && ret->changes == 0;
    passes.partial += *at > 0;
    passes.moves += (unsigned)ret->changes;
    passes.settled = *at == 0 && passes.still;
    return status;
}

/* A step changes at most `most` entries, so a pass over all LIDs may need several steps. A later
 * step may make a change useful for a LID that the pass has already left behind. So the rebalance
 * must go on until a whole pass has changed nothing. */
START_TEST(steps_end_with_a_pass_that_moves_nothing)
{
    static const size_t most[] = {0, 12, 5, 2};
    for (unsigned i = 0; i < sizeof most / sizeof *most; i++) {
        struct lab lab;
        struct fab_builder *b;
        const struct fab_fat_tree_spec spec = {.radix = 12, .levels = 2};
        ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
        lab_open_virtual(&lab, b, NULL);
        sm_start(lab.sm);
        lab_run(&lab, 10, lab_is_ready, "bring-up");
        memset(&passes, 0, sizeof passes);
        passes.most = most[i];
        fail_ten_links(&lab);
        lab_run_for(&lab, 30);
        ck_assert_uint_gt(passes.moves, 0);
        ck_assert(passes.partial > 0 || most[i] == 0);
        ck_assert(passes.settled);
        passes.most = 0;
        lab_assert_good(&lab);
        lab_close(&lab);
    }
}
END_TEST

static bool has_begun(struct lab *lab)
{
    struct sm_contingencies c;
    sm_get_contingencies(lab->sm, &c);
    return c.all && c.under_way && c.all->count > 0;
}

/* While the manager computes contingency plans, the status shows how many are computed and the
 * memory in use. */
START_TEST(tells_of_plans_under_way)
{
    struct lab lab;
    struct sm_contingencies c;
    lab_open_virtual(&lab, lab_leaf_spine(12, 6, 12), NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up");
    sm_get_contingencies(lab.sm, &c);
    ck_assert_ptr_null(c.all);
    ck_assert_uint_gt(c.rate, 0);
    lab_run(&lab, 10, has_begun, "the first plans");
    sm_get_contingencies(lab.sm, &c);
    ck_assert_uint_eq(c.cases, 12 * 6 + 12 + 6);
    ck_assert_uint_lt(c.all->count, c.cases);
    ck_assert_uint_gt(c.working, 0);
    ck_assert_str_eq(c.waits_for, "");
    lab_run(&lab, 60, has_all_plans, "plans for all");
    lab_close(&lab);
}
END_TEST

START_TEST(loses_and_regains_a_host)
{
    struct lab lab;
    struct reroute any;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-003", 2);
    ck_assert_str_eq(lab_await(&lab, 3, "node-removed")->subject, "host-0010");
    lab_run_for(&lab, 0.05);
    lab_relink(&lab, "leaf-003", 2);
    ck_assert_str_eq(lab_await(&lab, 3, "node-added")->subject, "host-0010");
    lab_run_for(&lab, 0.05);
    lab_assert_good(&lab);
    uint32_t count = sm_reroutes(lab.sm, 0, &any, 1);
    ck_assert_msg(count == 0, "tables were written: %s, %u blocks", any.cause, any.blocks);
    lab_close(&lab);
}
END_TEST

START_TEST(manages_its_own_island)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(6, 2, 4), NULL);
    lab_forget_events(&lab);
    lab_unlink(&lab, "leaf-004", 5);
    lab_unlink(&lab, "leaf-004", 6);
    lab_await(&lab, 3, "fabric-partitioned");
    lab_run_for(&lab, 0.05);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 7);
    ck_assert_uint_eq(v->fabric->node_count, 27);
    ck_assert(fab_verify_verdict_good(&v->verdict));
    fab_view_unref(v);
    lab_relink(&lab, "leaf-004", 6);
    lab_await(&lab, 3, "node-added");
    lab_relink(&lab, "leaf-004", 5);
    lab_repeat_traps(&lab);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(bears_a_storm_of_cables)
{
    struct lab lab;
    size_t len;
    lab_bring_up(&lab, lab_leaf_spine(8, 6, 4), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    for (uint8_t port = 5; port < 10; port++) {
        lab_unlink(&lab, "leaf-002", port);
        lab_unlink(&lab, "leaf-005", port);
        lab_run_for(&lab, 0.002);
    }
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "quiet after the storm");
    lab_assert_good(&lab);
    for (uint8_t port = 5; port < 10; port++) {
        lab_relink(&lab, "leaf-002", port);
        lab_relink(&lab, "leaf-005", port);
    }
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "quiet after all is back");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* ---- nodes that do not answer ---- */

START_TEST(skips_a_silent_node_and_names_it)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_silence(&lab, "host-0010");
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with an unresponsive host");
    ck_assert_str_eq(lab_await(&lab, 1, "node-unresponsive")->subject, "leaf-003/2");
    lab_assert_good(&lab);
    struct sm_unresponsive place;
    ck_assert_uint_eq(sm_unresponsive_ports(lab.sm, &place, 1), 1);
    ck_assert_str_eq(place.place, "leaf-003/2");
    lab_close(&lab);
}
END_TEST

/* A switch fails, and the first traps of its neighbours are lost. The neighbours repeat their
 * traps, and from these the manager must find out that the switch is off. */
START_TEST(finds_out_that_a_switch_is_off)
{
    struct lab lab;
    size_t len;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    uint8_t *before = lab_tables(&lab, &len);
    lab_silence(&lab, "spine-001");
    for (uint8_t port = 1; port <= 6; port++)
        ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, "spine-001"), port), FAB_OK);
    struct fab_sim_delivery mail;
    /* Take and drop the traps, as if the fabric had lost them. */
    while (fab_sim_receive(lab.sim, &mail))
        ;
    ck_assert_uint_eq(fab_sim_repeat_traps(lab.sim) > 0, true);
    transport_sim_kick(lab.sim_transport);
    lab_await(&lab, 3, "node-removed");
    lab_run_for(&lab, 0.05);
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 8);
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_silence(&lab, NULL);
    for (uint8_t port = 1; port <= 6; port++)
        lab_relink(&lab, "spine-001", port);
    lab_repeat_traps(&lab);
    lab_run(&lab, 5, lab_is_idle, "the spine is back");
    lab_assert_good(&lab);
    lab_assert_same_tables(&lab, before, len, true);
    free(before);
    lab_close(&lab);
}
END_TEST

/* A switch stops answering, but its links stay up. A trap of a neighbour causes requests to the
 * switch, so the manager notices its silence. Routes must avoid the switch, but it stays in the
 * view. */
START_TEST(does_without_a_switch_that_hangs)
{
    struct lab lab;
    lab_bring_up(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_silence(&lab, "spine-001");
    lab_unlink(&lab, "leaf-001", 5);
    lab_await(&lab, 5, "switch-silent");
    lab_run_for(&lab, 0.3);
    lab_run(&lab, 5, lab_is_idle, "without the spine");
    ck_assert_ptr_null(lab_event(&lab, "node-removed"));
    ck_assert_ptr_null(lab_event(&lab, "node-unresponsive"));
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 9);
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

static void bring_up_virtual(struct lab *lab, struct fab_builder *builder)
{
    lab_open_virtual(lab, builder, NULL);
    const struct fab_sim_timing timing = {.hop_us = 1, .answer_us = 10, .trap_us = 1000000};
    fab_sim_set_timing(lab->sim, &timing);
    sm_start(lab->sm);
    lab_run(lab, 10, lab_is_ready, "bring-up");
    lab_forget_events(lab);
}

/* Makes a switch silent and takes all its links down, as a power failure would. */
static void lose_switch(struct lab *lab, const char *name)
{
    uint32_t node = lab_node(lab, name);
    lab_silence(lab, name);
    for (uint32_t num = 1; num <= fab_sim_fabric(lab->sim)->nodes[node].num_ports; num++)
        ck_assert_int_eq(fab_sim_unlink(lab->sim, node, (uint8_t)num), FAB_OK);
}

/* Drops all traps in the fabric. Then acts as if the traps of leaf-`first` to leaf-`last` had
 * arrived in the same instant. */
static void deliver_traps_of_leaves(struct lab *lab, unsigned first, unsigned last)
{
    struct fab_sim_delivery mail;
    char name[16];
    while (fab_sim_receive(lab->sim, &mail))
        ;
    for (unsigned i = first; i <= last; i++) {
        snprintf(name, sizeof(name), "leaf-%03u", i);
        sm_request_after_trap(lab->sm, lab_node_guid(lab, name), true);
    }
    sm_schedule(lab->sm);
}

/* A spine with 36 leaves fails, and the traps of 36, 7 or 1 leaves arrive. The manager may read all
 * ports of at most three leaves. At each of the other leaves, it reads only the port to the
 * spine. */
START_TEST(asks_neighbours_of_a_lost_switch_only_for_their_links_to_it)
{
    static const unsigned traps[] = {36, 7, 1};
    struct lab lab;
    struct sm_status before_it;
    struct reroute last;
    bring_up_virtual(&lab, lab_leaf_spine(36, 18, 18));
    sm_get_status(lab.sm, &before_it);
    lose_switch(&lab, "spine-018");
    deliver_traps_of_leaves(&lab, 1, traps[_i]);
    const struct lab_event *e = lab_await(&lab, 3, "reroute-done");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    ck_assert_uint_eq(last.links_lost, 36);
    ck_assert_uint_le(e->smps_sent - before_it.smps_sent, 3 * 36 + 36 + 36 + last.blocks);
    lab_run(&lab, 5, lab_is_idle, "without the spine");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* All known directed routes to the other leaves lead over the spine that fails. The manager finds a
 * failed link at its own leaf. After that, it must read the other leaves over other spines. */
START_TEST(reads_neighbours_over_other_switches_than_the_lost_one)
{
    struct lab lab;
    struct reroute last;
    bring_up_virtual(&lab, lab_leaf_spine(36, 18, 18));
    lose_switch(&lab, "spine-001");
    deliver_traps_of_leaves(&lab, 1, 36);
    lab_await(&lab, 3, "reroute-done");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    ck_assert_uint_eq(last.links_lost, 36);
    lab_run(&lab, 5, lab_is_idle, "without the spine");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* A spine fails. In the same instant, each of three leaves loses one more link, and no trap tells
 * of the other end. The sweep that checks the repair must find these three failures, too. */
START_TEST(finds_what_else_failed_with_a_switch)
{
    struct lab lab;
    bring_up_virtual(&lab, lab_leaf_spine(12, 6, 4));
    lose_switch(&lab, "spine-006");
    ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, "leaf-009"), 6), FAB_OK);
    ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, "leaf-011"), 9), FAB_OK);
    ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, "leaf-010"), 2), FAB_OK);
    deliver_traps_of_leaves(&lab, 1, 12);
    lab_await(&lab, 3, "reroute-done");
    lab_await(&lab, 3, "node-removed");
    lab_run_for(&lab, 0.3);
    lab_run(&lab, 5, lab_is_idle, "without them");
    struct fab_view *v = sm_view(lab.sm);
    ck_assert_uint_eq(v->fabric->switch_count, 17);
    ck_assert_uint_eq(v->fabric->node_count, 12 + 5 + 12 * 4 - 1);
    fab_view_unref(v);
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* Two links of a spine fail and its own trap is lost, so the spine seems to have failed. Three
 * other leaves lost links to another spine. Their links to the first spine are up, so the manager
 * must read all their ports. */
START_TEST(reads_a_neighbour_whole_if_its_link_to_the_lost_switch_is_up)
{
    struct lab lab;
    struct reroute last;
    bring_up_virtual(&lab, lab_leaf_spine(12, 6, 4));
    const char *const leaf[5] = {"leaf-001", "leaf-002", "leaf-003", "leaf-004", "leaf-005"};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(fab_sim_unlink(lab.sim, lab_node(&lab, leaf[i]), i < 2 ? 6 : 8), FAB_OK);
    deliver_traps_of_leaves(&lab, 1, 5);
    lab_await(&lab, 3, "reroute-done");
    ck_assert_uint_eq(sm_reroutes(lab.sm, 0, &last, 1), 1);
    ck_assert_uint_eq(last.links_lost, 5);
    lab_run(&lab, 5, lab_is_idle, "without the links");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

START_TEST(asks_a_silent_node_again)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(&lab);
    lab.config.sweep.light_interval_s = 1;
    lab_silence(&lab, "leaf-004");
    lab_begin(&lab, NULL);
    sm_start(lab.sm);
    lab_run(&lab, 10, lab_is_idle, "bring-up with an unresponsive leaf");
    ck_assert_ptr_nonnull(lab_event(&lab, "node-unresponsive"));
    lab_forget_events(&lab);
    lab_silence(&lab, NULL);
    lab_await(&lab, 5, "node-added");
    lab_run_for(&lab, 0.1);
    lab_run(&lab, 5, lab_is_idle, "the leaf is taken in");
    lab_assert_good(&lab);
    lab_close(&lab);
}
END_TEST

/* ---- faults during sweeps ---- */

static uint64_t times_in(struct lab *lab, const char *round, const char *phase)
{
    struct sm_phase_time times[SM_PHASE_TIMES_MAX];
    uint32_t count = sm_phase_times(lab->sm, times);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(times[i].round, round) == 0 && strcmp(times[i].phase, phase) == 0)
            return times[i].count;
    return 0;
}

/* The longest run of a phase took at least the mean of all its runs, and at most their sum. */
static void assert_longest_times(struct lab *lab)
{
    struct sm_phase_time times[SM_PHASE_TIMES_MAX];
    uint32_t count = sm_phase_times(lab->sm, times);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_ge(times[i].longest_us * times[i].count, times[i].wall_us);
        ck_assert_uint_le(times[i].longest_us, times[i].wall_us);
        sum += times[i].wall_us;
    }
    ck_assert_uint_gt(sum, 0);
}

/* A test that takes a link down as soon as a sweep is in phase "adopting". */
struct pull {
    struct lab *lab;
    /* Calls pull() in each iteration of the event loop, until the sweep is in this phase. */
    struct loop_timer *timer;
    const char *node;
    uint8_t port;
    bool done;
    /* Number of sweeps that had written tables: when the link was taken down, and at the event
     * link-down of the repair. */
    uint64_t written, written_at_repair;
};

static uint64_t sweeps_that_wrote(struct lab *lab)
{
    return times_in(lab, "targeted sweep", "programming") +
           times_in(lab, "heavy sweep", "programming");
}

static void pull(void *ctx)
{
    struct pull *p = ctx;
    struct sm_status status;
    sm_get_status(p->lab->sm, &status);
    if (strcmp(status.state, "adopting") != 0) {
        loop_timer_set(p->timer, 0);
        return;
    }
    p->written = sweeps_that_wrote(p->lab);
    lab_forget_events(p->lab);
    lab_unlink(p->lab, p->node, p->port);
    p->done = true;
}

static void note_repair(void *ctx, const struct event *e)
{
    struct pull *p = ctx;
    if (p->done && strcmp(e->type, "link-down") == 0)
        p->written_at_repair = sweeps_that_wrote(p->lab);
}

static void end_of_sweep(void *ctx, int status, const char *text)
{
    (void)text;
    ck_assert_int_eq(status, FAB_OK);
    *(bool *)ctx = true;
}

static bool swept;
static bool is_swept(struct lab *lab)
{
    (void)lab;
    return swept;
}

/* A link fails while a sweep adopts what it has read, before it writes. The repair must come before
 * the end of the sweep. The sweep must run again, and its caller must get the result of the second
 * run. */
START_TEST(repairs_a_link_before_a_sweep_ends)
{
    struct lab lab;
    lab_open(&lab, lab_leaf_spine(6, 3, 4), NULL);
    sm_start(lab.sm);
    for (unsigned i = 0; i < 2; i++) {
        struct pull p = {.lab = &lab, .node = "leaf-002", .port = (uint8_t)(5 + i)};
        lab_run_for(&lab, 0.3);
        lab_run(&lab, 10, lab_is_ready, "the manager is idle");
        swept = i == 0;
        if (i == 0) {
            lab_unlink(&lab, "leaf-004", 6); /* this failure causes a repair and a targeted sweep */
            lab_await(&lab, 3, "link-down");
        } else
            ck_assert_int_eq(sm_sweep(lab.sm, end_of_sweep, &swept), FAB_OK);
        p.timer = loop_timer_new(lab.loop, pull, &p);
        ck_assert_int_eq(bus_subscribe(lab.bus, note_repair, &p), FAB_OK);
        loop_timer_set(p.timer, 0);
        lab_run_for(&lab, 0.3);
        ck_assert(p.done);
        lab_await(&lab, 3, "link-down");
        bus_unsubscribe(lab.bus, note_repair, &p);
        ck_assert_uint_eq(p.written_at_repair, p.written);
        lab_run(&lab, 20, is_swept, "the end of the sweep");
        lab_run_for(&lab, 0.3);
        lab_run(&lab, 10, lab_is_ready, "the manager is idle");
        lab_assert_good(&lab);
        loop_timer_free(p.timer);
    }
    assert_longest_times(&lab);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sm faults");
    TCase *t = tcase_create("scenarios");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, goes_round_a_pulled_cable_and_back);
    tcase_add_test(t, repairs_a_link_before_a_sweep_ends);
    tcase_add_test(t, a_repair_corrects_the_numbers_of_links);
    tcase_add_test(t, finds_cables_that_changed_places);
    tcase_add_test(t, mends_tables_in_place);
    tcase_add_test(t, a_follow_up_has_its_own_record);
    tcase_add_test(t, mends_by_a_plan_at_hand);
    tcase_add_test(t, has_a_plan_for_every_case);
    tcase_add_test(t, tells_of_plans_under_way);
    tcase_add_test(t, a_rebalance_tells_its_gain);
    tcase_add_test(t, steps_follow_a_repair_until_nothing_moves);
    tcase_add_test(t, steps_end_with_a_pass_that_moves_nothing);
    tcase_add_test(t, loses_and_regains_a_host);
    tcase_add_test(t, manages_its_own_island);
    tcase_add_test(t, bears_a_storm_of_cables);
    tcase_add_test(t, skips_a_silent_node_and_names_it);
    tcase_add_test(t, finds_out_that_a_switch_is_off);
    tcase_add_test(t, does_without_a_switch_that_hangs);
    tcase_add_loop_test(t, asks_neighbours_of_a_lost_switch_only_for_their_links_to_it, 0, 3);
    tcase_add_test(t, reads_neighbours_over_other_switches_than_the_lost_one);
    tcase_add_test(t, finds_what_else_failed_with_a_switch);
    tcase_add_test(t, reads_a_neighbour_whole_if_its_link_to_the_lost_switch_is_up);
    tcase_add_test(t, asks_a_silent_node_again);
    suite_add_tcase(s, t);
    return test_run(s);
}
