/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how many faults a local repair solves without an engine, on fabrics that need several
 * VLs.
 *
 * bench_in_place [-l] [-f family] [-s seed] [engine]...
 *
 * The defaults are the engines dfsssp and nue, on fabrics of 30 to 120 switches; with -l, on
 * fabrics of 120 to 500 switches, of which a sample of the links fails; with -f, on those whose
 * name contains this text. Each ISL fails alone and comes back. Then, SEQUENCES times, FAULTS links
 * fail one after the other, chosen by the seed; if a fault is not repaired, this link counts as
 * alive again. All links then come back at once. Prints the share of the faults after which all
 * paths work again, and the median and the maximum of the CPU time of a repair (plan, proof, order
 * of the writes, commit) or of its refusal. The program checks that the tables are restored, and
 * nothing else: tests/unit/test_repair_lanes proves the tables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/repair/repair.h"
#include "libfabmgr/route/route.h"
#include "tests/bench/bench.h"

#define SEQUENCES 20
#define FAULTS 10
#define SINGLES 400 /* maximum number of links that fail alone */

/* ---- fabrics --------------------------------------------------------------------------------- */

static int torus(struct fab_builder **ret)
{
    return fab_fabric_generate_torus(
        &(struct fab_torus_spec){.dimensions = 3, .size = {6, 5, 4}, .hosts = 2, .parallel = 1},
        ret);
}

static int mesh(struct fab_builder **ret)
{
    return fab_fabric_generate_torus(
        &(struct fab_torus_spec){
            .dimensions = 2, .size = {6, 5}, .hosts = 4, .parallel = 1, .mesh = true},
        ret);
}

static int hyperx(struct fab_builder **ret)
{
    return fab_fabric_generate_hyperx(
        &(struct fab_hyperx_spec){.dimensions = 2, .size = {6, 5}, .hosts = 4, .parallel = 1}, ret);
}

static int dragonfly(struct fab_builder **ret)
{
    return fab_fabric_generate_dragonfly(
        &(struct fab_dragonfly_spec){
            .groups = 9, .group_size = 4, .global = 2, .hosts = 4, .parallel = 1},
        ret);
}

static int dragonfly_plus(struct fab_builder **ret)
{
    return fab_fabric_generate_dragonfly_plus(
        &(struct fab_dragonfly_plus_spec){
            .groups = 9, .leaves = 4, .spines = 4, .global = 4, .hosts = 4, .parallel = 1},
        ret);
}

static int random_60(struct fab_builder **ret)
{
    return fab_fabric_generate_random(
        &(struct fab_random_spec){.switches = 60, .degree = 5, .hosts_per_switch = 4, .seed = 1},
        ret);
}

static int large_torus(struct fab_builder **ret)
{
    return fab_fabric_generate_torus(
        &(struct fab_torus_spec){.dimensions = 3, .size = {8, 7, 6}, .hosts = 2, .parallel = 1},
        ret);
}

static int large_mesh(struct fab_builder **ret)
{
    return fab_fabric_generate_torus(
        &(struct fab_torus_spec){
            .dimensions = 2, .size = {12, 10}, .hosts = 4, .parallel = 1, .mesh = true},
        ret);
}

static int large_dragonfly(struct fab_builder **ret)
{
    return fab_fabric_generate_dragonfly(
        &(struct fab_dragonfly_spec){
            .groups = 33, .group_size = 8, .global = 4, .hosts = 4, .parallel = 1},
        ret);
}

static int random_200(struct fab_builder **ret)
{
    return fab_fabric_generate_random(
        &(struct fab_random_spec){.switches = 200, .degree = 8, .hosts_per_switch = 4, .seed = 1},
        ret);
}

static int random_500(struct fab_builder **ret)
{
    return fab_fabric_generate_random(
        &(struct fab_random_spec){.switches = 500, .degree = 10, .hosts_per_switch = 4, .seed = 1},
        ret);
}

struct family {
    const char *name;
    int (*generate)(struct fab_builder **ret);
    bool large;
};

static const struct family families[] = {{"HyperX 6x5", hyperx, false},
                                         {"mesh 6x5", mesh, false},
                                         {"dragonfly 9x4", dragonfly, false},
                                         {"dragonfly+ 9x(4+4)", dragonfly_plus, false},
                                         {"random 60", random_60, false},
                                         {"torus 6x5x4", torus, false},
                                         {"mesh 12x10", large_mesh, true},
                                         {"random 200", random_200, true},
                                         {"dragonfly 33x8", large_dragonfly, true},
                                         {"torus 8x7x6", large_torus, true},
                                         {"random 500", random_500, true}};

/* ---- a fabric with tables -------------------------------------------------------------------- */

struct world {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_repair *repair;
    uint32_t *link; /* [links] one port of each ISL */
    uint32_t links;
};

static void list_links(struct world *w)
{
    const struct fab_fabric *f = w->f;
    w->link = calloc(f->port_count, sizeof(*w->link));
    if (w->link == NULL)
        exit(1);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer != FAB_NONE && peer > port && fab_fabric_isl_is_up(f, port) &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
            w->link[w->links++] = port;
    }
}

static void world_free(struct world *w)
{
    fab_repair_free(w->repair);
    fab_target_lft_fini(&w->lft);
    fab_target_vls_fini(&w->vls);
    fab_target_lids_fini(&w->lids);
    fab_policy_fini(&w->policy);
    fab_fabric_unref(w->f);
    free(w->link);
}

/* Returns false if the engine or the repair does not support this fabric. */
static bool prepare(struct world *w, const struct family *family, const char *engine)
{
    struct fab_builder *b = NULL;
    struct fab_address_note *notes = NULL;
    size_t count;
    char why[480] = "";
    fab_policy_defaults(&w->policy);
    must_why(family->generate(&b), family->name, "");
    must_why(fab_fabric_builder_seal(b, &w->f), "seal", "");
    fab_fabric_builder_free(b);
    must_why(fab_address_assign(&(struct fab_address_input){.fabric = w->f, .policy = &w->policy},
                                &w->lids, &notes, &count),
             "address", "");
    free(notes);
    list_links(w);
    struct fab_route_input in = {.fabric = w->f, .policy = &w->policy, .lids = &w->lids};
    const struct fab_route_engine *e = fab_route_engine_by_name(engine);
    must_why(e != NULL ? FAB_OK : FAB_E_NOT_FOUND, engine, "");
    int status = e->run(&in, &w->lft, &w->vls, why, sizeof(why));
    if (status == FAB_OK)
        status = fab_repair_new(&(struct fab_repair_input){.fabric = w->f,
                                                           .policy = &w->policy,
                                                           .lids = &w->lids,
                                                           .lft = &w->lft,
                                                           .vls = &w->vls},
                                &w->repair, why, sizeof(why));
    if (status != FAB_OK)
        printf("%-18s %-7s %s\n", family->name, engine, why);
    return status == FAB_OK;
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct tally {
    double *us; /* [count] CPU time of each repair */
    size_t count, in_place, drained;
};

/* Repairs the tables after these links have failed. Returns true if all paths work again. */
static bool repair(struct world *w, const uint32_t *dead, size_t count, struct tally *t)
{
    struct fab_repair_delta d = {0};
    struct fab_repair_change at;
    char why[200] = "";
    double start = cpu_us();
    int status = fab_repair_plan(w->repair, &w->lft, dead, count, &d, why, sizeof(why));
    bool good = status == FAB_OK && d.lost == 0;
    if (good) {
        must_why(fab_repair_prove(w->repair, &w->lft, &d, &at), "proof", "");
        must_why(fab_repair_order(w->repair, &w->lft, &d), "order", "");
        t->drained += d.drained > 0;
        fab_repair_commit(w->repair, &w->lft, &d);
    } else if (status != FAB_OK && status != FAB_E_UNSUPPORTED) {
        must_why(status, "plan", why);
    } else if (getenv("BENCH_WHY") != NULL) {
        printf("  %zu links: %s, %zu lost\n", count, why, status == FAB_OK ? d.lost : 0);
    }
    t->us[t->count++] = cpu_us() - start;
    t->in_place += good;
    fab_repair_delta_fini(&d);
    return good;
}

static void restore(struct world *w, struct tally *back)
{
    if (!repair(w, NULL, 0, back))
        must_why(FAB_E_INVAL, "restore", "");
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_tally(const char *what, struct tally *t, size_t of)
{
    qsort(t->us, t->count, sizeof(*t->us), by_number);
    printf("%s %5.1f %% of %4zu, %6.2f ms, worst %7.2f", what,
           of > 0 ? 100.0 * (double)t->in_place / (double)of : 0, of,
           t->count > 0 ? t->us[t->count / 2] / 1e3 : 0,
           t->count > 0 ? t->us[t->count - 1] / 1e3 : 0);
}

static struct tally tally_new(size_t most)
{
    struct tally t = {.us = calloc(most + 1, sizeof(*t.us))};
    if (t.us == NULL)
        exit(1);
    return t;
}

static void run(const struct family *family, const char *engine, uint64_t seed)
{
    struct world w = {0};
    struct fab_lft before = {0};
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    if (!prepare(&w, family, engine)) {
        world_free(&w);
        return;
    }
    must_why(fab_target_lft_copy(&w.lft, &before), "copy", "");
    fab_base_prng_shuffle(&prng, w.link, w.links);
    struct tally single = tally_new(w.links), many = tally_new(SEQUENCES * FAULTS),
                 back = tally_new(w.links + SEQUENCES);
    for (uint32_t i = 0; i < w.links && i < SINGLES; i++) {
        if (repair(&w, &w.link[i], 1, &single))
            restore(&w, &back);
    }
    for (unsigned s = 0; s < SEQUENCES; s++) {
        size_t deads = 0;
        fab_base_prng_shuffle(&prng, w.link, w.links);
        for (uint32_t i = 0; i < FAULTS && i < w.links; i++) {
            uint32_t next = w.link[i];
            w.link[i] = w.link[deads];
            w.link[deads] = next;
            deads += repair(&w, w.link, deads + 1, &many);
        }
        restore(&w, &back);
    }
    printf("%-18s %-7s %u VLs", family->name, engine, (unsigned)w.vls.count);
    print_tally("; single", &single, single.count);
    print_tally("; sequences", &many, many.count);
    print_tally("; back", &back, back.count);
    printf("; %zu + %zu drained%s\n", single.drained + many.drained, back.drained,
           fab_target_lft_same(&before, &w.lft) ? "" : "; NOT RESTORED");
    fflush(stdout);
    free(single.us);
    free(many.us);
    free(back.us);
    fab_target_lft_fini(&before);
    world_free(&w);
}

int main(int argc, char **argv)
{
    static const char *usual[] = {"dfsssp", "nue"};
    const char **engine = usual;
    int engines = 2, i = 1;
    const char *only = "";
    bool large = false;
    uint64_t seed = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-l") == 0)
            large = true;
        else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
    }
    if (i < argc) {
        engine = (const char **)argv + i;
        engines = argc - i;
    }
    printf("seed %" PRIu64 "\n", seed);
    for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
        bool wanted = families[f].large == large && strstr(families[f].name, only) != NULL;
        for (int e = 0; wanted && e < engines; e++)
            run(&families[f], engine[e], seed);
    }
    return 0;
}
