/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how well local repairs keep the routes balanced while more and more links fail.
 *
 *   bench_erosion [-s SEEDS] [-n SAMPLES] [-b STEPS] [radix,levels]...
 *
 * The defaults are 20 seeds on fat trees of 648 and of 3,456 hosts. For each seed, random links
 * between switches fail one after the other, and each failure is repaired; a link without which no
 * repair is possible does not fail. After 1, 6, 20, 100 and 200 failures, the program compares the
 * repaired tables with two sets of tables that are computed anew for the damaged fabric. One set is
 * from the first engine of the chain auto. The other set is what auto chooses after it has compared
 * engines and run local search.
 *
 * The columns of a line are, as medians over the seeds unless noted: max/mean of the link loads of
 * all-to-all traffic; the greatest ratio, over all seeds, of the repaired max/mean to the new one;
 * the effective bisection bandwidth (mean over SAMPLES random bisections, by default 100); the
 * least ratio of the bandwidths over all seeds; median and maximum of the CPU time of a repair;
 * median and maximum of the number of its writes. None of these figures depends on the order of the
 * hosts.
 *
 * With -b, up to STEPS steps of the incremental rebalance follow each repair, as long as they
 * change entries. At the end, all links come back, and the tables must equal the baseline. The
 * program is not part of `make check`.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/repair/repair.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/quality.h"
#include "tests/bench/bench.h"

#define MOST_FAULTS 200
#define MOST_SEEDS 100
static const unsigned stop_at[] = {1, 6, 20, 100, MOST_FAULTS};
#define STOPS (sizeof(stop_at) / sizeof(*stop_at))

struct world {
    struct fab_fabric *whole, *now;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft base, lft;
    struct fab_vls vls;
    struct fab_repair *repair;
    uint32_t dead[MOST_FAULTS], deads;
    unsigned samples, steps;
};

/* ---- the fabric and its tables --------------------------------------------------------------- */

static void make_fabric(struct world *w, const char *what)
{
    struct fab_fat_tree_spec spec = {0};
    struct fab_builder *b = NULL;
    struct fab_address_note *notes = NULL;
    size_t count;
    must(sscanf(what, "%u,%u", &spec.radix, &spec.levels) == 2 ? FAB_OK : FAB_E_INVAL, what);
    must(fab_fabric_generate_fat_tree(&spec, &b), what);
    must(fab_fabric_builder_seal(b, &w->whole), what);
    fab_fabric_builder_free(b);
    fab_policy_defaults(&w->policy);
    must(fab_address_assign(&(struct fab_address_input){.fabric = w->whole, .policy = &w->policy},
                            &w->lids, &notes, &count),
         "LIDs");
    free(notes);
}

/* Computes *lft for the present fabric: the tables of the first engine of the chain auto that
 * supports this fabric and whose tables pass the proof. searched: true: let auto compare further
 * engines, and run local search. */
static void run_engine(const struct world *w, bool searched, struct fab_lft *lft,
                       struct fab_vls *vls)
{
    bool flawed = false, good = false;
    char why[480] = "";
    struct fab_route_chain chain;
    struct fab_route_input in = {
        .fabric = w->now, .policy = &w->policy, .lids = &w->lids, .flawed = &flawed};
    must(fab_route_chain_parse("auto", &chain, why, sizeof(why)), "auto");
    for (uint32_t i = 0; i < chain.count; i++) {
        struct fab_engine_choice c = {.engine = chain.engine[i]};
        if (c.engine->run(&in, &c.lft, &c.vls, why, sizeof(why)) != FAB_OK)
            continue;
        struct fab_verify_input proof = {
            .fabric = w->now, .policy = &w->policy, .lids = &w->lids, .lft = &c.lft, .vls = &c.vls};
        must(fab_verify(&proof, &c.verdict), "verify");
        good = fab_verify_verdict_good(&c.verdict);
        if (good && searched)
            must(fab_study_choose_engine(&in, &chain, i, &c), "choice");
        fab_verify_verdict_fini(&c.verdict);
        *lft = c.lft;
        *vls = c.vls;
        if (good)
            break;
        fab_target_lft_fini(lft);
        fab_target_vls_fini(vls);
    }
    must(good ? FAB_OK : FAB_E_UNSUPPORTED, why);
}

static void make_repair(struct world *w)
{
    char why[200] = "";
    struct fab_repair_input in = {.fabric = w->whole,
                                  .policy = &w->policy,
                                  .lids = &w->lids,
                                  .lft = &w->base,
                                  .vls = &w->vls};
    must(fab_repair_new(&in, &w->repair, why, sizeof(why)), why);
    must(fab_target_lft_copy(&w->base, &w->lft), "copy");
    w->now = fab_fabric_ref(w->whole);
    w->deads = 0;
}

static void drop_repair(struct world *w)
{
    fab_repair_free(w->repair);
    fab_target_lft_fini(&w->lft);
    fab_fabric_unref(w->now);
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct cost {
    double us, writes;
};

static bool repair(struct world *w, struct cost *ret)
{
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[200];
    double start = cpu_s();
    int status = fab_repair_plan(w->repair, &w->lft, w->dead, w->deads, &d, why, sizeof(why));
    if (status == FAB_E_UNSUPPORTED)
        return false;
    must(status, "plan");
    must(fab_repair_prove(w->repair, &w->lft, &d, &at), "proof");
    must(fab_repair_order(w->repair, &w->lft, &d), "order");
    must(fab_repair_prepare_commit(&d, NULL, &w->lft), "commit");
    fab_repair_commit(w->repair, &w->lft, &d);
    *ret = (struct cost){(cpu_s() - start) * 1e6, (double)d.writes};
    fab_repair_delta_fini(&d);
    return true;
}

/* Maximum number of entries that one step of the incremental rebalance changes. */
#define STEP_ENTRIES 64

static void rebalance(struct world *w)
{
    uint32_t at = 0;
    size_t changes = 0;
    for (unsigned step = 0; step < w->steps; step++) {
        struct fab_repair_delta d;
        struct fab_repair_change bad;
        must(fab_repair_rebalance(w->repair, &w->lft, STEP_ENTRIES, &at, &d), "rebalance");
        must(fab_repair_prove(w->repair, &w->lft, &d, &bad), "proof");
        must(fab_repair_order(w->repair, &w->lft, &d), "order");
        must(fab_repair_prepare_commit(&d, NULL, &w->lft), "commit");
        fab_repair_commit(w->repair, &w->lft, &d);
        changes += d.changes;
        fab_repair_delta_fini(&d);
        if (at == 0 && changes == 0)
            return;
        changes = at == 0 ? 0 : changes;
    }
}

static void fail_link(struct world *w, const uint32_t *link, uint32_t *next, struct cost *ret)
{
    struct fab_fabric *f;
    do
        w->dead[w->deads] = link[(*next)++];
    while (w->deads++, !repair(w, ret) && w->deads--);
    rebalance(w);
    must(fab_fabric_next(w->now, &f), "next fabric");
    must(fab_fabric_remove_link(f, w->dead[w->deads - 1]), "link");
    fab_fabric_unref(w->now);
    w->now = f;
}

static uint32_t list_links(const struct fab_fabric *f, uint32_t *ret)
{
    uint32_t count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
            uint32_t peer = fab_fabric_peer_node(f, port);
            if (peer != FAB_NONE && peer > sw && fab_fabric_node_is_switch(f, peer))
                ret[count++] = port;
        }
    }
    return count;
}

/* ---- figures --------------------------------------------------------------------------------- */

enum figure { BALANCE, FRESH, SEARCHED, RATIO, BAND, FRESH_BAND, BAND_RATIO, US, WRITES, FIGURES };

static struct fab_quality measure(const struct world *w, const struct fab_lft *lft)
{
    struct fab_quality q;
    struct fab_quality_input in = {
        .fabric = w->now, .lids = &w->lids, .lft = lft, .samples = w->samples, .seed = 1};
    must(fab_study_quality_measure(&in, &q), "quality");
    return q;
}

static double balance_of_engine(const struct world *w, bool searched, double *ret_band)
{
    struct fab_lft lft;
    struct fab_vls vls = {0};
    run_engine(w, searched, &lft, &vls);
    struct fab_quality q = measure(w, &lft);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&vls);
    *ret_band = q.bisection.mean;
    return fab_study_quality_imbalance(&q);
}

static void compare(const struct world *w, double *ret)
{
    double ignored;
    struct fab_quality q = measure(w, &w->lft);
    ret[BALANCE] = fab_study_quality_imbalance(&q);
    ret[BAND] = q.bisection.mean;
    ret[FRESH] = balance_of_engine(w, false, &ret[FRESH_BAND]);
    ret[SEARCHED] = balance_of_engine(w, true, &ignored);
    ret[RATIO] = ret[BALANCE] / ret[FRESH];
    ret[BAND_RATIO] = ret[BAND] / ret[FRESH_BAND];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the values of the figure k of all seeds, and returns the quantile `at` (0 to 1) of them. */
static double quantile(double (*all)[FIGURES], unsigned seeds, enum figure k, double at)
{
    double sorted[MOST_SEEDS];
    for (unsigned i = 0; i < seeds; i++)
        sorted[i] = all[i][k];
    qsort(sorted, seeds, sizeof(*sorted), by_value);
    return sorted[(unsigned)(at * (seeds - 1) + 0.5)];
}

static void print(unsigned faults, double (*all)[FIGURES], unsigned seeds)
{
    printf("  %3u faults: max/mean %.2f, fresh %.2f, searched %.2f, worst ratio %.2f; "
           "bandwidth %.3f, fresh %.3f, worst ratio %.3f; repair %.0f us, worst %.0f, writes %.0f, "
           "worst %.0f\n",
           faults, quantile(all, seeds, BALANCE, .5), quantile(all, seeds, FRESH, .5),
           quantile(all, seeds, SEARCHED, .5), quantile(all, seeds, RATIO, 1),
           quantile(all, seeds, BAND, .5), quantile(all, seeds, FRESH_BAND, .5),
           quantile(all, seeds, BAND_RATIO, 0), quantile(all, seeds, US, .5),
           quantile(all, seeds, US, 1), quantile(all, seeds, WRITES, .5),
           quantile(all, seeds, WRITES, 1));
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void run_seed(struct world *w, uint64_t seed, double (*ret)[MOST_SEEDS][FIGURES])
{
    uint32_t *link = calloc(w->whole->port_count, sizeof(*link)), next = 0;
    struct fab_prng prng;
    struct cost cost = {0};
    fab_base_prng_init(&prng, seed);
    fab_base_prng_shuffle(&prng, link, list_links(w->whole, link));
    make_repair(w);
    for (size_t s = 0; s < STOPS; s++) {
        while (w->deads < stop_at[s])
            fail_link(w, link, &next, &cost);
        compare(w, ret[s][seed - 1]);
        ret[s][seed - 1][US] = cost.us;
        ret[s][seed - 1][WRITES] = cost.writes;
    }
    w->deads = 0;
    must(repair(w, &cost) ? FAB_OK : FAB_E_UNSUPPORTED, "restore");
    must(fab_target_lft_same(&w->lft, &w->base) ? FAB_OK : FAB_E_INVAL, "restored tables");
    drop_repair(w);
    free(link);
}

static void run(const char *what, unsigned seeds, unsigned samples, unsigned steps)
{
    static double figure[STOPS][MOST_SEEDS][FIGURES];
    struct world w = {.samples = samples, .steps = steps};
    make_fabric(&w, what);
    w.now = w.whole;
    run_engine(&w, false, &w.base, &w.vls);
    printf("%s: %u switches, %u LIDs, %u seeds\n", what, w.whole->switch_count, w.lids.top, seeds);
    for (unsigned seed = 1; seed <= seeds; seed++)
        run_seed(&w, seed, figure);
    for (size_t s = 0; s < STOPS; s++)
        print(stop_at[s], figure[s], seeds);
    fab_target_lft_fini(&w.base);
    fab_target_vls_fini(&w.vls);
    fab_target_lids_fini(&w.lids);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(w.whole);
}

int main(int argc, char **argv)
{
    unsigned seeds = 20, samples = 100, steps = 0;
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        unsigned value = (unsigned)strtoul(argv[i + 1], NULL, 0);
        *(argv[i][1] == 's' ? &seeds : argv[i][1] == 'b' ? &steps : &samples) = value;
    }
    seeds = seeds < 1 ? 1 : seeds > MOST_SEEDS ? MOST_SEEDS : seeds;
    if (i == argc) {
        run("36,2", seeds, samples, steps);
        run("24,3", seeds, samples, steps);
    }
    for (; i < argc; i++)
        run(argv[i], seeds, samples, steps);
    return 0;
}
