/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how well routes use a leaf with slow uplinks.
 *
 *   bench_slow [-e ENGINES] [-k LINKS] [-n TRIALS] [radix,levels[,taper[,parallel]]]...
 *
 * In each trial, LINKS uplinks of one leaf of the fat tree run at 1x instead of 4x; the default is
 * an eighth of the uplinks (3 of 24). The number of the trial is the seed that selects the leaf and
 * the links; the default is 4 trials. ENGINES is a chain of engines, by default "auto"; the program
 * computes and chooses tables as the manager does.
 *
 * Prints two ratios for each trial. The best possible routes have 1 in both.
 *
 *   - Worst shift: a bound, divided by the greatest load of a link in any shift. The load of a link
 *     is its number of flows times its slowness. The bound is the greater one of two loads: the
 *     greatest load in the tree without slow links, and the least load with which the uplinks of
 *     the leaf can carry one flow of each host. The hosts are in topological order. The values in
 *     parentheses are the greatest loads with slow links and without them, as means over five
 *     orders of the hosts (libfabmgr/study/quality.h).
 *   - Bandwidth: the data that the flows of the leaf deliver in the traffic model, divided by a
 *     bound. The traffic is eight shifts of random distance and four random permutations. The bound
 *     is the data that the flows deliver without slow links, times the part of the capacity of the
 *     uplinks that is left (as if a flow could be divided among uplinks). If the hosts need no more
 *     than this part, the bound is all data without slow links.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/traffic/traffic.h"
#include "tests/bench/bench.h"

#define SHIFTS 8
#define PATTERNS (SHIFTS + 4)
#define BEGIN (20 * FAB_TRAFFIC_US)
#define END (120 * FAB_TRAFFIC_US)
#define SLOWNESS 4

struct routed {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    const char *engine;
    struct fab_quality q;
    double delivered[2]; /* bytes that flows deliver: [0] in shifts, [1] in permutations */
};
struct leaf {
    uint32_t sw, hosts, up;
    uint8_t uplink[256];
};

/* ---- routing --------------------------------------------------------------------------------- */

/* Computes and chooses tables as the manager does. */
static void route(struct routed *r, const char *engines)
{
    struct fab_address_note *notes = NULL;
    size_t count;
    bool flawed = false, good = false;
    char why[480] = "";
    struct fab_route_chain chain;
    fab_policy_defaults(&r->policy);
    must(fab_address_assign(&(struct fab_address_input){.fabric = r->f, .policy = &r->policy},
                            &r->lids, &notes, &count),
         "LIDs");
    free(notes);
    must(fab_route_chain_parse(engines, &chain, why, sizeof(why)), engines);
    struct fab_route_input in = {
        .fabric = r->f, .policy = &r->policy, .lids = &r->lids, .flawed = &flawed};
    for (uint32_t i = 0; i < chain.count && !good; i++) {
        struct fab_engine_choice c = {.engine = chain.engine[i]};
        if (c.engine->run(&in, &c.lft, &c.vls, why, sizeof(why)) != FAB_OK)
            continue;
        struct fab_verify_input proof = {
            .fabric = r->f, .policy = &r->policy, .lids = &r->lids, .lft = &c.lft, .vls = &c.vls};
        must(fab_verify(&proof, &c.verdict), "verify");
        good = fab_verify_verdict_good(&c.verdict);
        if (good)
            must(fab_study_choose_engine(&in, &chain, i, &c), "choice");
        fab_verify_verdict_fini(&c.verdict);
        r->lft = c.lft;
        r->vls = c.vls;
        r->engine = c.engine->name;
        if (!good) {
            fab_target_lft_fini(&r->lft);
            fab_target_vls_fini(&r->vls);
        }
    }
    must(good ? FAB_OK : FAB_E_UNSUPPORTED, why);
}

static void routed_fini(struct routed *r)
{
    fab_target_lft_fini(&r->lft);
    fab_target_vls_fini(&r->vls);
    fab_target_lids_fini(&r->lids);
    fab_policy_fini(&r->policy);
    fab_fabric_unref(r->f);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool at_leaf(const struct routed *r, const struct leaf *leaf, uint32_t port)
{
    return fab_fabric_peer_node(r->f, port) == leaf->sw;
}

/* Returns the bytes that the flows of the leaf, in both directions, deliver if endport ends[i]
 * sends to endport to[i]. */
static double deliver(const struct routed *r, const struct leaf *leaf, const uint32_t *ends,
                      const uint32_t *to, uint32_t count)
{
    struct fab_traffic_flow *flows = calloc(count + 1, sizeof(*flows));
    struct fab_traffic_flow_stats s;
    struct fab_traffic *t = NULL;
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; flows != NULL && i < count; i++) {
        if (ends[i] != to[i])
            flows[n++] = (struct fab_traffic_flow){.from = ends[i],
                                                   .to = to[i],
                                                   .sl = FAB_TRAFFIC_PATH_SL,
                                                   .end = END,
                                                   .bytes = FAB_TRAFFIC_FOREVER};
    }
    must(fab_traffic_new(
             &(struct fab_traffic_input){
                 .fabric = r->f, .lids = &r->lids, .lft = &r->lft, .vls = &r->vls, .seed = 1},
             flows, n, &t),
         "model");
    for (unsigned step = 0; step < 2; step++) {
        must(fab_traffic_run(t, step == 0 ? BEGIN : END), "run");
        for (uint32_t i = 0; i < n; i++) {
            fab_traffic_flow_stats(t, i, &s);
            if (at_leaf(r, leaf, flows[i].from) != at_leaf(r, leaf, flows[i].to))
                sum += step == 0 ? -(double)s.delivered : (double)s.delivered;
        }
    }
    fab_traffic_free(t);
    free(flows);
    return sum;
}

static void measure(struct routed *r, const struct leaf *leaf, uint64_t seed)
{
    struct fab_quality_input in = {
        .fabric = r->f, .lids = &r->lids, .lft = &r->lft, .samples = 20, .seed = 1};
    struct fab_prng prng;
    uint32_t *ends, count;
    must(fab_study_quality_measure(&in, &r->q), "quality");
    must(fab_study_quality_endports(&in, &ends, &count), "endports");
    uint32_t *to = calloc(count + 1, sizeof(*to));
    must(to != NULL ? FAB_OK : FAB_E_NOMEM, "endports");
    fab_base_prng_init(&prng, seed);
    r->delivered[0] = r->delivered[1] = 0;
    for (unsigned p = 0; p < PATTERNS; p++) {
        uint32_t shift = 1 + (uint32_t)fab_base_prng_below(&prng, count - 1);
        for (uint32_t i = 0; i < count; i++)
            to[i] = ends[p < SHIFTS ? (i + shift) % count : i];
        if (p >= SHIFTS)
            fab_base_prng_shuffle(&prng, to, count);
        r->delivered[p >= SHIFTS] += deliver(r, leaf, ends, to, count);
    }
    free(ends);
    free(to);
}

/* ---- trials ---------------------------------------------------------------------------------- */

static struct fab_fabric *make(const char *what)
{
    struct fab_fat_tree_spec spec = {0};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    must(sscanf(what, "%u,%u,%u,%u", &spec.radix, &spec.levels, &spec.taper, &spec.parallel) >= 2
             ? FAB_OK
             : FAB_E_INVAL,
         what);
    must(fab_fabric_generate_fat_tree(&spec, &b), what);
    must(fab_fabric_builder_seal(b, &f), what);
    fab_fabric_builder_free(b);
    return f;
}

static struct leaf leaf_of(const struct fab_fabric *f, uint32_t sw)
{
    struct leaf l = {.sw = sw};
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
        if (peer == FAB_NONE)
            continue;
        if (fab_fabric_node_is_switch(f, peer))
            l.uplink[l.up++] = (uint8_t)num;
        else
            l.hosts++;
    }
    return l;
}

static struct leaf draw_leaf(const struct fab_fabric *f, struct fab_prng *prng)
{
    struct leaf l = {0};
    while (l.hosts == 0)
        l = leaf_of(f, (uint32_t)fab_base_prng_below(prng, f->switch_count));
    for (uint32_t i = l.up; i > 1; i--) {
        uint32_t j = (uint32_t)fab_base_prng_below(prng, i);
        uint8_t kept = l.uplink[i - 1];
        l.uplink[i - 1] = l.uplink[j];
        l.uplink[j] = kept;
    }
    return l;
}

static void slow_down(struct fab_builder *b, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    struct fab_port_info info = p->info;
    uint32_t ref;
    must(fab_fabric_text_parse_rate("1xEDR", 5, &info), "rate");
    must(fab_fabric_builder_find_node(b, f->nodes[p->node].guid, &ref), "find");
    must(fab_fabric_builder_set_port(b, ref, p->num, 0, &info), "port");
}

static struct fab_fabric *slowed(const struct fab_fabric *f, const struct leaf *l, uint32_t links)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *slow = NULL;
    for (uint32_t i = 0; i < links && i < l->up; i++) {
        uint32_t port = fab_fabric_port_id(f, l->sw, l->uplink[i]);
        slow_down(b, f, port);
        slow_down(b, f, fab_fabric_port(f, port)->peer);
    }
    must(fab_fabric_builder_seal(b, &slow), "seal");
    fab_fabric_builder_free(b);
    return slow;
}

/* Returns the greatest load of an uplink (flows times slowness) if each host of the leaf sends one
 * flow and the flows are divided in the best way. links: number of slow uplinks. */
static uint32_t least_load(const struct leaf *l, uint32_t links)
{
    uint32_t load = 1;
    while ((l->up - links) * load + links * (load / SLOWNESS) < l->hosts)
        load++;
    return load;
}

static double at_most_one(double x)
{
    return x < 1 ? x : 1;
}

static double ratio(double bound, double whole, double value)
{
    return (bound > whole ? bound : whole) / value;
}

static bool run(const char *what, const char *engines, uint32_t links, uint64_t seed)
{
    struct fab_prng prng;
    struct routed whole = {.f = make(what)}, slow = {0};
    fab_base_prng_init(&prng, seed);
    struct leaf l = draw_leaf(whole.f, &prng);
    if (links == 0)
        links = l.up >= 8 ? l.up / 8 : 1;
    slow.f = slowed(whole.f, &l, links);
    route(&whole, engines);
    double since = cpu_ms();
    route(&slow, engines);
    since = cpu_ms() - since;
    measure(&whole, &l, seed);
    measure(&slow, &l, seed);
    double up = at_most_one(l.up / (double)l.hosts),
           left = at_most_one((l.up - links + links / (double)SLOWNESS) / l.hosts) / up;
    double worst = ratio(least_load(&l, links), whole.q.shift.max, slow.q.shift.max),
           shifts = slow.delivered[0] / (whole.delivered[0] * left),
           random = slow.delivered[1] / (whole.delivered[1] * left);
    printf("%-10s leaf %-4" PRIu32 " %-8s worst shift %" PRIu32
           " %.2f (five orders %.1f, whole %.1f)"
           "  bandwidth: shifts %.3f permutations %.3f  max/mean %.2f  %.0f ms%s\n",
           what, l.sw, slow.engine, slow.q.shift.max, worst, slow.q.orders.max, whole.q.orders.max,
           shifts, random, fab_study_quality_imbalance(&slow.q), since,
           worst < .95 || shifts < .95 ? "  BELOW 0.95" : "");
    fflush(stdout);
    routed_fini(&whole);
    routed_fini(&slow);
    return worst >= .95 && shifts >= .95;
}

int main(int argc, char **argv)
{
    static char *trees[] = {"48,2", "36,2", "24,2", "12,3", "16,3", "48,2,2", "48,2,0,2"};
    const char *engines = "auto";
    uint32_t links = 0, trials = 4, bad = 0;
    for (int opt; (opt = getopt(argc, argv, "e:k:n:")) != -1;) {
        if (opt == 'e')
            engines = optarg;
        else if (opt == 'k')
            links = (uint32_t)atoi(optarg);
        else if (opt == 'n')
            trials = (uint32_t)atoi(optarg);
        else
            return 2;
    }
    bool named = optind < argc;
    int count = named ? argc - optind : (int)(sizeof(trees) / sizeof(*trees));
    for (int i = 0; i < count; i++) {
        for (uint64_t seed = 1; seed <= trials; seed++)
            bad += !run(named ? argv[optind + i] : trees[i], engines, links, seed);
    }
    printf("%u trials below 0.95\n", bad);
    return bad > 0;
}
