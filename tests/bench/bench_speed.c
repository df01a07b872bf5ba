/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures full routing and its proof, on one thread and on two threads, in comparison with memset
 * of the same tables.
 *
 *   bench_speed [radix...]
 *
 * The fabrics are fat trees of three levels (36: 11,664 hosts, 64: 65,536, 80: 128,000). Prints the
 * minimum of several rounds, as elapsed time and as CPU time of all threads; other programs may use
 * the machine. Columns: "cold" is memset of pages that the process uses for the first time. "fill"
 * is the part of routing that writes the tables (fill.h), without the preparations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "fabricd/loop/thread_pool.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/route/fattree/fill.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

#define HANDS 2

static double read_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct watch {
    double wall, cpu;
};
static struct watch start(void)
{
    return (struct watch){read_ms(CLOCK_MONOTONIC), read_ms(CLOCK_PROCESS_CPUTIME_ID)};
}
static void stop(struct watch since, struct watch *least)
{
    struct watch now = start();
    now.wall -= since.wall;
    now.cpu -= since.cpu;
    if (least->wall == 0 || now.wall < least->wall)
        least->wall = now.wall;
    if (least->cpu == 0 || now.cpu < least->cpu)
        least->cpu = now.cpu;
}

/* Assigns LIDs leaf by leaf, and does not stop at the last unicast LID of InfiniBand. */
static void assign(const struct fab_fabric *f, struct fab_lids *ret)
{
    uint32_t next = 1;
    must(fab_target_lids_init(ret, f->port_count), "LIDs");
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
            if (peer != FAB_NONE && fab_fabric_port(f, peer)->node >= f->switch_count)
                ret->base[peer] = next++;
        }
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        ret->base[fab_fabric_port_id(f, sw, 0)] = next++;
    must(fab_target_lids_index(ret), "index");
}

/* ---- what is measured ------------------------------------------------------------------------ */

struct figures {
    struct watch route, prove, fill, cold, warm;
};

static void measure_memset(const struct fab_fabric *f, const struct fab_lids *lids,
                           struct figures *fig)
{
    struct fab_lft lft;
    struct watch since = start();
    /* sets all bytes of new tables */
    must(fab_target_lft_init(&lft, f->switch_count, lids->top), "tables");
    stop(since, &fig->cold);
    since = start();
    memset(lft.entries, (int)lids->top, lft.stride * lft.switch_count);
    __asm__ volatile("" : : "r"(lft.entries) : "memory");
    stop(since, &fig->warm);
    fab_target_lft_fini(&lft);
}

static void measure_fill(const struct fab_fabric *f, const struct fab_policy *p,
                         const struct fab_lids *lids, const struct fab_pool *pool,
                         struct figures *fig)
{
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown slopes;
    struct fab_tree tree;
    struct fab_dmodk lanes;
    struct fab_lft lft;
    must(fab_route_graph_make(f, &graph), "graph");
    must(fab_route_order_ranked(&graph, f, p, &order), "order");
    must(fab_route_updown_make(&graph, &order, &slopes), "slopes");
    must(fab_route_tree_make(f, &graph, &order, &slopes, &tree), "tree");
    must(fab_route_dmodk_make(&tree, lids, &lanes), "lanes");
    must(fab_target_lft_init(&lft, f->switch_count, lids->top), "tables");
    struct watch since = start();
    must(fab_route_tree_fill(&tree, &lanes, pool, &lft), "fill");
    stop(since, &fig->fill);
    fab_target_lft_fini(&lft);
    fab_route_dmodk_fini(&lanes);
    fab_route_tree_fini(&tree);
    fab_route_updown_fini(&slopes);
    fab_route_order_fini(&order);
    fab_route_graph_fini(&graph);
}

static void measure_engine(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_lids *lids, const struct fab_pool *pool,
                           struct figures *fig)
{
    struct fab_lft lft;
    struct fab_vls vls = {0};
    struct fab_verdict verdict;
    char why[200] = "";
    struct watch since = start();
    must(fab_route_engine_by_name("fattree")->run(
             &(struct fab_route_input){.fabric = f, .policy = p, .lids = lids, .pool = pool}, &lft,
             &vls, why, sizeof(why)),
         "fattree");
    stop(since, &fig->route);
    since = start();
    must(fab_verify(
             &(struct fab_verify_input){
                 .fabric = f, .lids = lids, .lft = &lft, .max_hops = p->max_hops, .pool = pool},
             &verdict),
         "verify");
    stop(since, &fig->prove);
    if (!fab_verify_verdict_good(&verdict))
        must(FAB_E_CYCLE, "the proof failed");
    fab_verify_verdict_fini(&verdict);
    fab_target_vls_fini(&vls);
    fab_target_lft_fini(&lft);
}

static struct watch sum(struct watch a, struct watch b)
{
    return (struct watch){a.wall + b.wall, a.cpu + b.cpu};
}

static void print_row(const char *what, struct watch alone, struct watch together)
{
    printf("  %-8s %8.2f %8.2f; %8.2f %8.2f; %.2f\n", what, alone.wall, alone.cpu, together.wall,
           together.cpu, together.wall / alone.wall);
}

static void bench_radix(uint32_t radix, const struct fab_pool *pool)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3, .taper = 1};
    struct fab_builder *b;
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_lids lids;
    struct figures alone = {0}, together = {0};
    struct rusage usage;
    must(fab_fabric_generate_fat_tree(&spec, &b), "generate");
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    fab_policy_defaults(&p);
    assign(f, &lids);
    for (unsigned round = 0; round < (radix > 40 ? 3 : 9); round++) {
        measure_memset(f, &lids, &alone);
        measure_fill(f, &p, &lids, NULL, &alone);
        measure_engine(f, &p, &lids, NULL, &alone);
        measure_fill(f, &p, &lids, pool, &together);
        measure_engine(f, &p, &lids, pool, &together);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%u ends, %u switches: peak memory %ld MB\n", f->node_count - f->switch_count,
           f->switch_count, usage.ru_maxrss / 1024);
    printf("  ms        alone: wall, CPU; %d threads: wall, CPU; wall of alone\n", HANDS);
    print_row("fattree", alone.route, together.route);
    print_row("proof", alone.prove, together.prove);
    print_row("both", sum(alone.route, alone.prove), sum(together.route, together.prove));
    print_row("fill", alone.fill, together.fill);
    printf("  memset, warm %.2f, cold %.2f: of the fill's CPU time %.2f; cold, of cold and fill "
           "%.2f\n",
           alone.warm.cpu, alone.cold.cpu, alone.warm.cpu / alone.fill.cpu,
           alone.cold.cpu / (alone.cold.cpu + alone.fill.cpu));
    fab_target_lids_fini(&lids);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

int main(int argc, char **argv)
{
    struct pool *pool = thread_pool_new(HANDS);
    for (int i = 1; i < argc; i++)
        bench_radix((uint32_t)atoi(argv[i]), thread_pool_lend(pool));
    if (argc == 1)
        bench_radix(36, thread_pool_lend(pool));
    thread_pool_free(pool);
    return 0;
}
