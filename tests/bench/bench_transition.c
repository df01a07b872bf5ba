/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how long it takes to compute the steps of a transition between the tables of two
 * engines, in comparison with fab_verify for the new tables. The fabrics are fat trees of 648 and
 * 11,664 hosts, and a torus of 6 x 5 x 4 switches with several VLs. Prints the minimum of several
 * rounds on one thread.
 */
#include <stdio.h>
#include <time.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

#define ROUNDS 3

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct fab_fabric *seal(struct fab_builder *b)
{
    struct fab_fabric *f = NULL;
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    return f;
}

static struct fab_fabric *tree(uint32_t radix, uint32_t levels)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels, .taper = 1};
    struct fab_builder *b = NULL;
    must(fab_fabric_generate_fat_tree(&spec, &b), "tree");
    return seal(b);
}

static struct fab_fabric *torus(void)
{
    struct fab_torus_spec spec = {.dimensions = 3, .size = {6, 5, 4}, .hosts = 8, .parallel = 1};
    struct fab_builder *b = NULL;
    must(fab_fabric_generate_torus(&spec, &b), "torus");
    return seal(b);
}

struct tables {
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
};

static struct tables make_tables(const struct fab_fabric *f, const char *engine)
{
    struct tables t = {0};
    struct fab_policy p;
    char why[200] = "";
    uint32_t next = 1;
    fab_policy_defaults(&p);
    p.max_op_vls = 4;
    must(fab_target_lids_init(&t.lids, f->port_count), "LIDs");
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (fab_fabric_port_has_lid(f, port))
            t.lids.base[port] = next++;
    }
    must(fab_target_lids_index(&t.lids), "index");
    must(fab_route_engine_by_name(engine)->run(
             &(struct fab_route_input){.fabric = f, .policy = &p, .lids = &t.lids}, &t.lft, &t.vls,
             why, sizeof(why)),
         engine);
    fab_policy_fini(&p);
    return t;
}

static void tables_fini(struct tables *t)
{
    fab_target_lids_fini(&t->lids);
    fab_target_lft_fini(&t->lft);
    fab_target_vls_fini(&t->vls);
}

static double measure_verify(const struct fab_fabric *f, const struct tables *t)
{
    double least = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fab_verdict v;
        double since = now_ms();
        must(fab_verify(
                 &(struct fab_verify_input){
                     .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls},
                 &v),
             "verify");
        since = now_ms() - since;
        least = i == 0 || since < least ? since : least;
        fab_verify_verdict_fini(&v);
    }
    return least;
}

/* Returns the fabric without some of its ISLs. faults: how many to remove; they are at equal
 * distances in the list of ISLs. */
static struct fab_fabric *damage(const struct fab_fabric *f, uint32_t faults)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t isls = 0, every = faults > 0 ? f->link_count / 2 / faults + 1 : FAB_NONE;
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        if (p->num == 0 || p->peer == FAB_NONE || p->peer < port ||
            !fab_fabric_node_is_switch(f, p->node) ||
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node) || ++isls % every != 0)
            continue;
        must(fab_fabric_builder_unlink(b, p->node, p->num), "unlink");
    }
    return seal(b);
}

/* Returns the fabric without the links of a spine above the first leaf switch, which is the root of
 * the up/down order. */
static struct fab_fabric *without_spine(const struct fab_fabric *f)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t leaf = 0, spine = FAB_NONE;
    while (spine == FAB_NONE) {
        for (uint32_t i = 1; i <= f->nodes[leaf].num_ports && spine == FAB_NONE; i++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, leaf, (uint8_t)i))->peer;
            if (peer != FAB_NONE && fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
                spine = fab_fabric_port(f, peer)->node;
        }
        leaf += spine == FAB_NONE;
    }
    for (uint32_t i = 1; i <= f->nodes[spine].num_ports; i++)
        must(fab_fabric_builder_unlink(b, spine, (uint8_t)i), "unlink");
    return seal(b);
}

/* Measures one transition, from tables for the fabric `before` to tables for the fabric f. Frees
 * the fabric `before`. */
static void measure_from(struct fab_fabric *before, const char *name, const struct fab_fabric *f,
                         const char *from, const char *to)
{
    struct tables was = make_tables(before, from), is = make_tables(f, to);
    struct fab_transition_input in = {.fabric = f,
                                      .lids = &is.lids,
                                      .old_lft = &was.lft,
                                      .new_lft = &is.lft,
                                      .old_vls = &was.vls,
                                      .new_vls = &is.vls};
    struct fab_transition t = {0};
    double verify = measure_verify(f, &is), least = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double since = now_ms();
        fab_transition_fini(&t);
        must(fab_transition_make(&in, &t), "transition");
        since = now_ms() - since;
        least = i == 0 || since < least ? since : least;
    }
    printf("%-19s %-9s %-9s %-9s %5u steps %3u rounds %6u drained %9.2f ms; verify %8.2f ms; ratio "
           "%.1f\n",
           name, from, to, fab_transition_verdict_name(t.verdict), t.step_count, t.rounds,
           t.drained, least, verify, least / verify);
    fab_transition_fini(&t);
    tables_fini(&was);
    tables_fini(&is);
    fab_fabric_unref(before);
}

/* Measures one transition. faults: number of links that are absent for the old tables and present
 * for the new ones. */
static void measure(const char *name, const struct fab_fabric *f, const char *from, const char *to,
                    uint32_t faults)
{
    measure_from(damage(f, faults), name, f, from, to);
}

int main(void)
{
    struct fab_fabric *small = tree(36, 2), *large = tree(36, 3), *grid = torus();
    measure("648", small, "fattree", "fattree", 4);
    measure("648", small, "updn", "fattree", 4);
    measure("11664", large, "fattree", "fattree", 1);
    measure("11664", large, "fattree", "fattree", 4);
    measure("11664", large, "fattree", "fattree", 400);
    measure("11664", large, "updn", "fattree", 4);
    measure_from(without_spine(large), "11664, a spine back", large, "fattree", "fattree");
    measure("11664", large, "fattree", "updn", 0);
    measure("torus", grid, "torus", "torus", 4);
    measure("torus", grid, "updn", "torus", 0);
    measure("torus", grid, "updn", "updn", 4);
    measure("torus", grid, "updn", "nue", 0);
    measure("torus", grid, "nue", "nue", 4);
    fab_fabric_unref(small);
    fab_fabric_unref(large);
    fab_fabric_unref(grid);
    return 0;
}
