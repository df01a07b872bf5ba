/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the CPU times and the balance of addressing, routing, proof and plan for each engine.
 *
 *     bench_route [-e NAME | -q NAME] [radix | file]...
 *
 * The defaults are fat trees of 648 and 11,664 hosts; `bench_route -e fattree 64 80` uses 65,536
 * and 128,000. With -e, runs only one engine; with -q, the same and prints only its times. With
 * DAMAGE=n in the environment, n of 1000 links fail first. It is not part of `make check`, and
 * checks nothing. bench_quality prints all quality figures (libfabmgr/study/quality.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/study/whatif.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

#define ROUNDS 5

static void print_quality(const struct fab_fabric *f, const struct fab_lids *lids,
                          const struct fab_lft *lft)
{
    struct fab_quality q;
    must(fab_study_quality_measure(
             &(struct fab_quality_input){.fabric = f, .lids = lids, .lft = lft}, &q),
         "quality");
    printf("  all-to-all: max %" PRIu64 " (bound %" PRIu64
           "), max/mean %.2f, %u of %u channels dark; "
           "worst of %u shifts: %u (bound %u)\n",
           q.all.max, q.all.bound, fab_study_quality_imbalance(&q), q.all.unused, q.channels,
           q.shift.tried, q.shift.max, q.permutation_bound);
}

struct times {
    double address, route, verify, plan;
};
static void keep_least(double *least, double ms)
{
    if (*least == 0 || ms < *least)
        *least = ms;
}

/* Assigns LIDs to all ports, even beyond the last unicast LID of InfiniBand, where
 * libfabmgr/address stops. The engines have no such limit. */
static void assign_beyond(const struct fab_fabric *f, struct fab_lids *lids)
{
    uint32_t next = 1;
    must(fab_target_lids_init(lids, f->port_count), "LIDs");
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
            if (peer != FAB_NONE && fab_fabric_port(f, peer)->node >= f->switch_count)
                lids->base[peer] = next++;
        }
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        lids->base[fab_fabric_port_id(f, sw, 0)] = next++;
    must(fab_target_lids_index(lids), "index");
}

static void assign(const struct fab_fabric *f, const struct fab_policy *p, struct fab_lids *lids)
{
    struct fab_address_note *notes = NULL;
    size_t count;
    int status = fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = p}, lids,
                                    &notes, &count);
    if (status == FAB_E_LIMIT)
        assign_beyond(f, lids);
    else
        must(status, "address");
    free(notes);
}

static int route_once(const struct fab_route_engine *engine, const struct fab_fabric *f,
                      const struct fab_policy *p, struct fab_target *target, char *why,
                      size_t why_len)
{
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = &target->lids};
    int status = engine->run(&in, &target->lft, &target->vls, why, why_len);
    if (status != FAB_E_UNSUPPORTED)
        must(status, "route");
    return status;
}

static void time_plan(const struct fab_fabric *f, const struct fab_policy *p,
                      struct fab_target *target, struct times *t, bool print)
{
    struct fab_observed observed;
    struct fab_plan plan;
    must(fab_plan_observed_init(&observed, f->switch_count, target->lids.top), "observed");
    double start = cpu_ms();
    must(fab_plan_make(
             &(struct fab_plan_input){
                 .fabric = f, .policy = p, .target = target, .observed = &observed, .sm_lid = 1},
             &plan),
         "plan");
    keep_least(&t->plan, cpu_ms() - start);
    if (print)
        printf("  plan: %u writes\n", plan.stage_start[FAB_STAGE_COUNT]);
    fab_plan_fini(&plan);
    fab_plan_observed_fini(&observed);
}

/* Measures one run of an engine. Returns false if the engine does not support the fabric. */
static bool run_once(const struct fab_route_engine *engine, const struct fab_fabric *f,
                     const struct fab_policy *p, struct times *t, bool print, bool quick)
{
    struct fab_target *target = fab_target_new();
    struct fab_verdict verdict;
    char why[200] = "", *text = NULL;
    double start = cpu_ms();
    assign(f, p, &target->lids);
    keep_least(&t->address, cpu_ms() - start);
    start = cpu_ms();
    int status = route_once(engine, f, p, target, why, sizeof(why));
    keep_least(&t->route, cpu_ms() - start);
    if (print)
        printf(" %s: %s\n", engine->name, why);
    if (status != FAB_OK) {
        fab_target_unref(target);
        return false;
    }
    start = cpu_ms();
    const struct fab_verify_input in = {.fabric = f,
                                        .lids = &target->lids,
                                        .lft = &target->lft,
                                        .vls = &target->vls,
                                        .max_hops = p->max_hops};
    must(fab_verify(&in, &verdict), "verify");
    keep_least(&t->verify, cpu_ms() - start);
    if (print) {
        must(fab_verify_witness_text(f, &verdict.witness, &text), "witness");
        printf("  verdict: %s, %" PRIu64 " pairs, %" PRIu64
               " unreachable, longest path %u, %" PRIu64 " dependencies; %s",
               fab_verify_verdict_good(&verdict) ? "good" : "BAD", verdict.pairs,
               verdict.unreachable_pairs, verdict.longest_path, verdict.dependencies, text);
        free(text);
        if (!quick)
            print_quality(f, &target->lids, &target->lft);
    }
    if (target->lids.top <= FAB_LID_UNICAST_MAX)
        time_plan(f, p, target, t, print);
    fab_verify_verdict_fini(&verdict);
    fab_target_unref(target);
    return true;
}

/* Removes the link of a port, computes all tables again, and counts the entries and blocks that
 * differ. */
static void pull(const struct fab_route_engine *engine, const struct fab_fabric *f,
                 const struct fab_policy *p, uint32_t port)
{
    struct fab_target *before = fab_target_new(), *after = fab_target_new();
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *now;
    char why[200] = "";
    struct fab_whatif_change change;
    uint32_t ref;
    must(fab_fabric_builder_find_node(b, f->nodes[fab_fabric_port(f, port)->node].guid, &ref),
         "find");
    must(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, port)->num), "unlink");
    must(fab_fabric_builder_seal(b, &now), "seal");
    assign(f, p, &before->lids);
    assign(now, p, &after->lids);
    must(route_once(engine, f, p, before, why, sizeof(why)), "route");
    if (route_once(engine, now, p, after, why, sizeof(why)) != FAB_OK) {
        printf("  pull %s port %u: %s\n", f->nodes[fab_fabric_port(f, port)->node].desc,
               fab_fabric_port(f, port)->num, why);
        goto out;
    }
    fab_study_whatif_compare(&before->lft, &after->lft, &change);
    printf("  pull %s port %u (to %s): %" PRIu64 " entries, %" PRIu64 " blocks on %u switches\n",
           f->nodes[fab_fabric_port(f, port)->node].desc, fab_fabric_port(f, port)->num,
           f->nodes[fab_fabric_peer_node(f, port)].desc, change.entries, change.blocks,
           change.switches);
    print_quality(now, &after->lids, &after->lft);
out:
    fab_target_unref(before);
    fab_target_unref(after);
    fab_fabric_builder_free(b);
    fab_fabric_unref(now);
}

/* Returns a port of the switch `sw` that leads to a switch with a greater id (in generated trees:
 * up); FAB_NONE: there is none. which: 0 for the first such port, 1 for the second, and so on.
 * *ret_hosts: whether the switch has hosts. */
static uint32_t cable_up(const struct fab_fabric *f, uint32_t sw, uint32_t which, bool *ret_hosts)
{
    uint32_t cable = FAB_NONE;
    *ret_hosts = false;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                 peer = fab_fabric_peer_node(f, port);
        if (peer == FAB_NONE || !fab_fabric_port_is_up(f, port))
            continue;
        if (!fab_fabric_node_is_switch(f, peer))
            *ret_hosts = *ret_hosts || !f->nodes[peer].aggregation;
        else if (peer > sw && (cable == FAB_NONE || which-- > 0))
            cable = port;
    }
    return cable;
}

/* Measures two faults: removes one link of a switch with hosts, and one link of a switch without
 * hosts. */
static void pull_some(const struct fab_route_engine *engine, const struct fab_fabric *f,
                      const struct fab_policy *p)
{
    bool done[2] = {false, false}, hosts;
    for (uint32_t i = 0; i < f->switch_count; i++) {
        uint32_t sw = (f->switch_count / 3 + i * 97) % f->switch_count;
        uint32_t cable = cable_up(f, sw, 4, &hosts);
        if (cable == FAB_NONE || done[hosts])
            continue;
        done[hosts] = true;
        pull(engine, f, p, cable);
    }
}

/* Fills as many bytes as the LFTs have with memset, as a measure of the speed of the memory. */
static double time_memset(uint32_t switches, uint32_t lids)
{
    struct fab_lft lft;
    must(fab_target_lft_init(&lft, switches, lids), "tables");
    double start = cpu_ms();
    memset(lft.entries, (int)lids, lft.stride * switches);
    __asm__ volatile("" : : "r"(lft.entries) : "memory");
    double ms = cpu_ms() - start;
    fab_target_lft_fini(&lft);
    return ms;
}

static void bench_engine(const struct fab_route_engine *engine, const struct fab_fabric *f,
                         const struct fab_policy *p, bool quick)
{
    struct times t = {0};
    struct rusage usage;
    unsigned rounds = f->switch_count > 4000 ? 2 : ROUNDS;
    for (unsigned round = 0; round < rounds; round++) {
        if (!run_once(engine, f, p, &t, round == 0, quick))
            return;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "  ms: address %.1f, route %.1f, verify %.1f, plan %.1f; memset of the tables %.1f; peak "
        "memory %ld MB\n",
        t.address, t.route, t.verify, t.plan, time_memset(f->switch_count, f->node_count),
        usage.ru_maxrss / 1024);
    if (f->switch_count <= 4000 && !quick)
        pull_some(engine, f, p);
}

/* Returns the fabric without n of 1000 links between switches, and frees f. */
static struct fab_fabric *damage(struct fab_fabric *f, uint32_t per_mille, uint64_t seed)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_prng prng;
    struct fab_fabric *rest;
    fab_base_prng_init(&prng, seed);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t ref;
        must(fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref), "find");
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
            if (peer != FAB_NONE && peer > sw && fab_fabric_node_is_switch(f, peer) &&
                fab_base_prng_below(&prng, 1000) < per_mille)
                must(fab_fabric_builder_unlink(b, ref, (uint8_t)num), "unlink");
        }
    }
    must(fab_fabric_builder_seal(b, &rest), "seal");
    fab_fabric_builder_free(b);
    fab_fabric_unref(f);
    return rest;
}

static void bench(const char *name, struct fab_builder *b, const char *only, bool quick)
{
    struct fab_fabric *f;
    struct fab_policy p;
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    fab_policy_defaults(&p);
    if (getenv("DAMAGE") != NULL)
        f = damage(f, (uint32_t)atoi(getenv("DAMAGE")), 1);
    printf("%s: %u ends, %u switches, %u cables\n", name, f->node_count - f->switch_count,
           f->switch_count, f->link_count);
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++) {
        if (only == NULL || strcmp(only, (*e)->name) == 0)
            bench_engine(*e, f, &p, quick);
    }
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

static void bench_tree(uint32_t radix, uint32_t levels, const char *only, bool quick)
{
    struct fab_builder *b;
    char name[64];
    snprintf(name, sizeof(name), "fat tree, radix %u, %u levels", radix, levels);
    must(fab_fabric_generate_fat_tree(
             &(struct fab_fat_tree_spec){.radix = radix, .levels = levels, .taper = 1}, &b),
         "generate");
    bench(name, b, only, quick);
}

static void bench_file(const char *path, const char *only, bool quick)
{
    FILE *file = fopen(path, "rb");
    size_t room = 64u << 20, len;
    char *text = malloc(room);
    struct fab_builder *b;
    struct fab_text_error error;
    if (file == NULL || text == NULL) {
        perror(path);
        exit(1);
    }
    len = fread(text, 1, room, file);
    fclose(file);
    int status = fab_fabric_text_read(text, len, &b, &error);
    if (status != FAB_OK) {
        fprintf(stderr, "%s:%u:%u: %s\n", path, error.line, error.column, error.message);
        exit(1);
    }
    free(text);
    bench(path, b, only, quick);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int first = 1;
    bool quick = argc > 2 && strcmp(argv[1], "-q") == 0;
    if (argc > 2 && (quick || strcmp(argv[1], "-e") == 0)) {
        only = argv[2];
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        if (atoi(argv[i]) > 0)
            bench_tree((uint32_t)atoi(argv[i]), 3, only, quick);
        else
            bench_file(argv[i], only, quick);
    }
    if (argc == first) {
        bench_tree(36, 2, only, quick);
        bench_tree(36, 3, only, quick);
    }
    return 0;
}
