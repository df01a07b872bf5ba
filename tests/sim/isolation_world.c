/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/sim/isolation_world.h"

#include <math.h>
#include <string.h>

#include "libfabmgr/base/status.h"

const struct noise world_noise = {.symbols_per_min = 1.5, .warming = 0.3, .burst_min = 60};

/* ---- errors ---------------------------------------------------------------------------------- */

/* Returns a random number of a Poisson distribution (Knuth). */
static uint32_t poisson(struct world *w, double mean)
{
    double limit = exp(-mean), product = 1;
    uint32_t n = 0;
    for (;;) {
        product *= (double)(fab_base_prng_next(&w->prng) >> 11) / 9007199254740992.0;
        if (product <= limit)
            return n;
        n++;
    }
}

static uint64_t *sum_of(struct isl *l, enum fab_sim_counter counter, int end)
{
    return counter == FAB_SIM_SYMBOL_ERRORS ? &l->symbols[end]
           : counter == FAB_SIM_LINK_DOWNED ? &l->downs[end]
           : counter == FAB_SIM_RCV_ERRORS  ? &l->receive[end]
                                            : NULL;
}

/* Adds errors to a counter at one end of a link, and to the total that the test keeps for this end.
 * end: 0: at the leaf; 1: at the spine. */
static void add_at(struct world *w, struct isl *l, int end, enum fab_sim_counter counter,
                   uint32_t errors)
{
    uint64_t *sum = sum_of(l, counter, end);
    if (errors == 0)
        return;
    if (sum)
        *sum += errors;
    ck_assert_int_eq(fab_sim_counter_add(w->lab.sim, end == 0 ? l->leaf : l->spine,
                                         end == 0 ? l->leaf_port : l->spine_port, counter, errors),
                     FAB_OK);
}

static void add(struct world *w, struct isl *l, enum fab_sim_counter counter, uint32_t errors)
{
    if (errors > 0)
        add_at(w, l, (int)fab_base_prng_below(&w->prng, 2), counter, errors);
}

static bool by_chance(struct world *w, double one_in)
{
    return one_in >= 1 && fab_base_prng_below(&w->prng, (uint64_t)one_in) == 0;
}

static void add_noise(struct world *w, const struct noise *n, struct isl *l, double minute)
{
    double rate = n->symbols_per_min + (l->manner == WARM && minute > 0 ? minute * n->warming : 0);
    add(w, l, FAB_SIM_SYMBOL_ERRORS, poisson(w, rate * STEP_S / 60));
    if (!by_chance(w, n->burst_min * 60 / STEP_S))
        return;
    uint32_t burst = 10u << fab_base_prng_below(&w->prng, 8);
    w->above++;
    add(w, l, FAB_SIM_SYMBOL_ERRORS, burst);
    if (by_chance(w, 2))
        add(w, l, FAB_SIM_LINK_ERROR_RECOVERY, 12);
}

/* Adds the errors of the next STEP_S seconds to a bad link, at its spine. minute: how long the link
 * has been bad. */
static void add_bad(struct world *w, struct isl *l, double minute)
{
    static const struct {
        enum fab_sim_counter counter;
        /* mean: errors per minute at first; rise: by how much this grows each minute */
        double mean, rise;
    } manners[] = {[STEADY] = {FAB_SIM_SYMBOL_ERRORS, 30, 0},
                   [ON_AND_OFF] = {FAB_SIM_SYMBOL_ERRORS, 60, 0},
                   [DRIFT] = {FAB_SIM_SYMBOL_ERRORS, 2, 4},
                   [RECOVERIES] = {FAB_SIM_LINK_ERROR_RECOVERY, 25, 0},
                   [RECEIVES] = {FAB_SIM_RCV_ERRORS, 25, 0}};
    double mean = manners[l->manner].mean + manners[l->manner].rise * minute;
    if (l->manner == ON_AND_OFF && (int)minute % 2)
        mean = 0;
    add_at(w, l, 1, manners[l->manner].counter, poisson(w, mean * STEP_S / 60));
}

void world_add_errors(struct world *w, const struct noise *n, double minute)
{
    for (uint32_t i = 0; i < LINKS; i++)
        if (w->isl[i].manner <= WARM)
            add_noise(w, n, &w->isl[i], minute);
        else
            add_bad(w, &w->isl[i], minute);
}

void world_flap_one(struct world *w)
{
    struct isl *l = &w->isl[fab_base_prng_below(&w->prng, LINKS)];
    const char *name = fab_sim_fabric(w->lab.sim)->nodes[l->leaf].desc;
    if (l->manner > WARM)
        return;
    lab_unlink(&w->lab, name, l->leaf_port);
    lab_run_for(&w->lab, 1);
    lab_relink(&w->lab, name, l->leaf_port);
    add(w, l, FAB_SIM_SYMBOL_ERRORS, 500);
    add_at(w, l, 0, FAB_SIM_LINK_DOWNED, 1);
    add_at(w, l, 1, FAB_SIM_LINK_DOWNED, 1);
    w->flaps++;
}

/* ---- the fabric ------------------------------------------------------------------------------ */

static void find_isls(struct world *w)
{
    const struct fab_fabric *f = fab_sim_fabric(w->lab.sim);
    uint32_t n = 0;
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port *near = fab_fabric_port(f, p);
        if (!fab_fabric_isl_is_up(f, p) || strncmp(f->nodes[near->node].desc, "leaf", 4) != 0)
            continue;
        const struct fab_port *far = fab_fabric_port(f, near->peer);
        ck_assert_uint_lt(n, LINKS);
        w->isl[n++] = (struct isl){
            .leaf = near->node, .spine = far->node, .leaf_port = near->num, .spine_port = far->num};
    }
    ck_assert_uint_eq(n, LINKS);
}

void world_begin(struct world *w, uint64_t seed)
{
    struct lab *lab = &w->lab;
    memset(w->isl, 0, sizeof(w->isl));
    w->above = w->flaps = 0;
    fab_base_prng_init(&w->prng, seed);
    lab_open_virtual(lab, lab_leaf_spine(LEAVES, SPINES, 1), NULL);
    lab->config.counters.on_errors = CONFIG_ON_ERRORS_ISOLATE;
    sm_start(lab->sm);
    lab_run(lab, 60, lab_is_ready, "bring-up");
    const struct pm_input in = {.loop = lab->loop,
                                .transport = lab->sim_transport,
                                .sm = lab->sm,
                                .bus = lab->bus,
                                .config = &lab->config};
    ck_assert_int_eq(pm_new(&in, &w->pm), FAB_OK);
    find_isls(w);
    /* time for the performance manager to read all counters once */
    lab_run_for(lab, 120);
}

void world_end(struct world *w)
{
    pm_free(w->pm);
    lab_close(&w->lab);
}

void world_make_bad(struct world *w, bool at_one_leaf)
{
    uint32_t warm = (uint32_t)fab_base_prng_below(&w->prng, LEAVES);
    for (uint32_t i = 0; i < LINKS; i++)
        if (w->isl[i].leaf == w->isl[warm * SPINES].leaf)
            w->isl[i].manner = WARM;
    uint32_t leaf = (uint32_t)fab_base_prng_below(&w->prng, LEAVES);
    for (uint32_t n = 0; n < BAD;) {
        uint32_t i = at_one_leaf ? leaf * SPINES + (uint32_t)fab_base_prng_below(&w->prng, SPINES)
                                 : (uint32_t)fab_base_prng_below(&w->prng, LINKS);
        if (w->isl[i].manner > WARM)
            continue;
        w->isl[i].manner = (enum manner)(STEADY + n++ % 5);
    }
}

/* ---- links ----------------------------------------------------------------------------------- */

static bool is_end(const struct world *w, const struct isl *l, uint64_t guid, uint8_t port)
{
    const struct fab_fabric *f = fab_sim_fabric(w->lab.sim);
    return (f->nodes[l->leaf].guid == guid && l->leaf_port == port) ||
           (f->nodes[l->spine].guid == guid && l->spine_port == port);
}

struct isl *world_isl(struct world *w, uint64_t guid, uint8_t port)
{
    for (uint32_t i = 0; i < LINKS; i++)
        if (is_end(w, &w->isl[i], guid, port))
            return &w->isl[i];
    ck_abort_msg("no such link");
    return NULL;
}

uint32_t world_note_kept(struct world *w, double minute)
{
    static struct pm_link list[1024];
    uint32_t count = pm_links(w->pm, list, 1024), kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!strstr(list[i].skipped, "min_capacity_percent"))
            continue;
        struct isl *l = world_isl(w, list[i].end[0].guid, list[i].end[0].port);
        ck_assert_uint_gt(l->manner, WARM);
        if (l->found_min == 0)
            l->found_min = minute;
        kept++;
    }
    return kept;
}
