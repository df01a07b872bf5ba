/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints hashes of what every engine computes, so that two versions of the code can be compared:
 *
 *   bench_digest [FABRIC...]
 *
 * There is a line for each fabric, kind of damage and engine. It has the status, and hashes of the
 * forwarding tables, of the virtual lanes and of the quality figures. The hashes do not cover the
 * texts of the engines (reasons and warnings). FABRIC: topology files, in addition to the generated
 * fabrics.
 *
 * With the engine "auto", the program computes tables as the manager does: it tries the engines of
 * the chain, chooses the best one, and improves its tables by local search.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

/* ---- hashes ---------------------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *byte = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return hash_bytes(hash, &number, sizeof(number));
}

static uint64_t hash_lft(const struct fab_lft *lft)
{
    uint64_t hash = hash_number(hash_number(0, lft->switch_count), lft->top);
    for (uint32_t sw = 0; sw < lft->switch_count; sw++)
        hash = hash_bytes(hash, fab_target_lft_row(lft, sw), lft->top + 1);
    return hash;
}

static uint64_t hash_vls(const struct fab_vls *v)
{
    uint64_t hash = hash_number(0, v->count);
    if (!fab_target_vls_multiple(v))
        return hash;
    hash = hash_number(hash_number(hash, v->sls), v->classes);
    hash = hash_bytes(hash, v->vl, sizeof(v->vl));
    if (v->of_lid != NULL)
        hash = hash_bytes(hash, v->of_lid, (size_t)v->top + 1);
    if (v->of_pair != NULL)
        hash = hash_bytes(hash, v->of_pair, (size_t)v->switches * v->switches);
    if (v->port_class != NULL)
        hash = hash_bytes(hash, v->port_class, v->ports);
    return hash;
}

static uint64_t hash_quality(const struct fab_fabric *f, const struct fab_target *t)
{
    const struct fab_quality_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .samples = 20, .seed = 1};
    struct fab_quality q;
    char text[256];
    if (fab_study_quality_measure(&in, &q) != FAB_OK)
        return 0;
    int len =
        snprintf(text, sizeof(text),
                 "%" PRIu64 " %" PRIu64 " %.9g %.9g %u %u %" PRIu64 " %" PRIu64
                 " %u %u %u %u %u %u %.9g %.9g",
                 q.all.max, q.all.bound, q.all.mean, q.all.sigma, q.all.unused, q.all.min_ends,
                 q.pairs, q.lost, q.permutation_bound, q.shift.max, q.shift.worst, q.random.median,
                 q.random.max, q.all.worst[0], q.bisection.mean, q.bisection.least);
    return hash_bytes(hash_bytes(0, text, (size_t)len), q.hops, sizeof(q.hops));
}

/* ---- one run --------------------------------------------------------------------------------- */

static void assign(const struct fab_fabric *f, const struct fab_policy *p, struct fab_lids *ret)
{
    struct fab_address_note *notes = NULL;
    size_t count = 0;
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = p}, ret, &notes,
                            &count),
         "LIDs");
    free(notes);
}

/* Computes the tables as the manager does: runs the engines of the chain in order until the tables
 * of one engine pass the proof, then compares these tables with those of later engines. */
static int route_auto(const struct fab_fabric *f, const struct fab_policy *p, struct fab_target *t)
{
    struct fab_route_chain chain;
    bool flawed = false;
    int status = FAB_E_UNSUPPORTED;
    char why[300] = "";
    must(fab_route_chain_parse("auto", &chain, why, sizeof(why)), "chain");
    for (uint32_t i = 0; i < chain.count; i++) {
        const struct fab_route_input in = {
            .fabric = f, .policy = p, .lids = &t->lids, .flawed = &flawed};
        struct fab_engine_choice c = {.engine = chain.engine[i]};
        status = c.engine->run(&in, &c.lft, &c.vls, why, sizeof(why));
        if (status != FAB_OK)
            continue;
        must(fab_verify(
                 &(struct fab_verify_input){
                     .fabric = f, .lids = &t->lids, .lft = &c.lft, .vls = &c.vls, .policy = p},
                 &c.verdict),
             "verify");
        if (fab_verify_verdict_good(&c.verdict))
            status = fab_study_choose_engine(&in, &chain, i, &c);
        else
            status = FAB_E_UNSUPPORTED;
        t->lft = c.lft;
        t->vls = c.vls;
        fab_verify_verdict_fini(&c.verdict);
        if (status == FAB_OK)
            return FAB_OK;
        fab_target_lft_fini(&t->lft);
        fab_target_vls_fini(&t->vls);
    }
    return status;
}

static void print_run(const struct fab_fabric *f, const struct fab_policy *p, const char *what,
                      const struct fab_route_engine *engine)
{
    struct fab_target *t = fab_target_new();
    char why[300] = "";
    must(t != NULL ? FAB_OK : FAB_E_NOMEM, "target");
    assign(f, p, &t->lids);
    const struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids};
    int status =
        engine != NULL ? engine->run(&in, &t->lft, &t->vls, why, sizeof(why)) : route_auto(f, p, t);
    printf("%s %s %d", what, engine != NULL ? engine->name : "auto", status);
    if (status == FAB_OK)
        printf(" %016" PRIx64 " %016" PRIx64 " %016" PRIx64, hash_lft(&t->lft), hash_vls(&t->vls),
               hash_quality(f, t));
    printf("\n");
    fflush(stdout);
    fab_target_unref(t);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

/* The kinds of damage. Each changes the fabric, and may also set the LMC and the maximum number of
 * VLs. */
static const struct damage {
    const char *name;
    struct fab_variation variation;
    bool switch_lost; /* the last switch is removed, too */
    /* true: large fabrics get this damage, too; false: only small ones */
    bool large;
    uint8_t lmc, max_op_vls;
} damages[] = {
    {.name = "whole", .large = true},
    {.name = "guids", .variation = {.shuffle_guids = true, .seed = 1}, .lmc = 1},
    {.name = "one", .variation = {.missing = 1, .seed = 2}, .large = true},
    {.name = "3%", .variation = {.missing_ppm = 30000, .shuffle_guids = true, .seed = 3}},
    {.name = "8%", .variation = {.missing_ppm = 80000, .seed = 4}, .max_op_vls = 2},
    {.name = "islands",
     .variation =
         {.missing_ppm = 250000, .allow_partitioned = true, .shuffle_guids = true, .seed = 5}},
    {.name = "switch", .variation = {.missing = 2, .seed = 6}, .switch_lost = true},
    {.name = "aggregation", .variation = {.aggregation = true, .missing = 3, .seed = 7}},
};

static struct fab_fabric *seal(struct fab_builder *b)
{
    struct fab_fabric *f;
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    return f;
}

static struct fab_fabric *without_last_switch(struct fab_fabric *f)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t ref = FAB_NONE;
    must(b != NULL ? FAB_OK : FAB_E_NOMEM, "builder");
    must(fab_fabric_builder_find_node(b, f->nodes[f->switch_count - 1].guid, &ref), "find");
    must(fab_fabric_builder_remove_node(b, ref), "remove");
    fab_fabric_unref(f);
    return seal(b);
}

static void print_damaged(const struct fab_fabric *plain, const char *name, const struct damage *d)
{
    struct fab_builder *b;
    struct fab_policy p;
    char what[80];
    /* it fails if the fabric has too few links for this damage */
    if (fab_fabric_generate_variation(plain, &d->variation, &b) != FAB_OK)
        return;
    struct fab_fabric *f = seal(b);
    if (d->switch_lost && f->switch_count > 2)
        f = without_last_switch(f);
    fab_policy_defaults(&p);
    p.lmc = d->lmc;
    if (d->max_op_vls != 0)
        p.max_op_vls = d->max_op_vls;
    snprintf(what, sizeof(what), "%s %s", name, d->name);
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++) {
        if (strcmp((*e)->name, "file") != 0)
            print_run(f, &p, what, *e);
    }
    print_run(f, &p, what, NULL);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

/* Prints the lines of one fabric. Takes over b. */
static void print_fabric(struct fab_builder *b, const char *name)
{
    struct fab_fabric *f = seal(b);
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        if (damages[i].large || f->switch_count < 200)
            print_damaged(f, name, &damages[i]);
    }
    fab_fabric_unref(f);
}

static void print_trees(void)
{
    struct fab_builder *b;
    must(fab_fabric_generate_leaf_spine(&(struct fab_leaf_spine_spec){12, 6, 8, 2, 0}, &b),
         "leaf-spine");
    print_fabric(b, "leaf-spine");
    must(fab_fabric_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = 8, .levels = 3}, &b),
         "tree");
    print_fabric(b, "fat-tree-8-3");
    must(fab_fabric_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = 4, .levels = 4}, &b),
         "tree");
    print_fabric(b, "fat-tree-4-4");
    must(fab_fabric_generate_fat_tree(
             &(struct fab_fat_tree_spec){.radix = 12, .levels = 2, .taper = 2, .parallel = 1}, &b),
         "tree");
    print_fabric(b, "fat-tree-tapered");
    must(fab_fabric_generate_fat_tree(
             &(struct fab_fat_tree_spec){.radix = 8, .levels = 3, .parallel = 2}, &b),
         "tree");
    print_fabric(b, "fat-tree-parallel");
    must(fab_fabric_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = 16, .levels = 3}, &b),
         "tree");
    print_fabric(b, "fat-tree-16-3");
    must(fab_fabric_generate_pgft(
             &(struct fab_pgft_spec){.levels = 3, .m = {4, 3, 5}, .w = {1, 2, 2}, .p = {1, 2, 1}},
             &b),
         "pgft");
    print_fabric(b, "pgft");
    must(fab_fabric_generate_rail(&(struct fab_rail_spec){24, 4, 6, 3, 2, 0, 0}, &b), "rail");
    print_fabric(b, "rail");
    must(fab_fabric_generate_rail(&(struct fab_rail_spec){24, 4, 8, 4, 1, 2, 1}, &b), "rail");
    print_fabric(b, "rail-cores");
}

static void print_lattices(void)
{
    struct fab_builder *b;
    must(fab_fabric_generate_torus(
             &(struct fab_torus_spec){.dimensions = 2, .size = {5, 6}, .hosts = 2, .parallel = 1},
             &b),
         "torus");
    print_fabric(b, "torus-5-6");
    must(
        fab_fabric_generate_torus(
            &(struct fab_torus_spec){.dimensions = 3, .size = {5, 3, 4}, .hosts = 1, .parallel = 1},
            &b),
        "torus");
    print_fabric(b, "torus-5-3-4");
    must(fab_fabric_generate_torus(
             &(struct fab_torus_spec){
                 .dimensions = 2, .size = {4, 6}, .hosts = 3, .parallel = 2, .mesh = true},
             &b),
         "mesh");
    print_fabric(b, "mesh-4-6");
    must(fab_fabric_generate_hypercube(
             &(struct fab_hypercube_spec){.dimensions = 5, .hosts = 2, .parallel = 1}, &b),
         "hypercube");
    print_fabric(b, "hypercube-5");
    must(fab_fabric_generate_hyperx(
             &(struct fab_hyperx_spec){.dimensions = 2, .size = {5, 6}, .hosts = 3, .parallel = 1},
             &b),
         "hyperx");
    print_fabric(b, "hyperx-5-6");
}

static void print_others(void)
{
    struct fab_builder *b;
    must(fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){9, 4, 2, 2, 1}, &b),
         "dragonfly");
    print_fabric(b, "dragonfly-9");
    must(fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){5, 6, 2, 3, 2}, &b),
         "dragonfly");
    print_fabric(b, "dragonfly-5");
    must(
        fab_fabric_generate_dragonfly_plus(&(struct fab_dragonfly_plus_spec){6, 4, 4, 5, 3, 1}, &b),
        "dragonfly+");
    print_fabric(b, "dragonfly+");
    for (uint32_t seed = 1; seed <= 12; seed++) {
        char name[32];
        must(fab_fabric_generate_random(
                 &(struct fab_random_spec){10 + 5 * seed, 2 + seed % 5, 3, seed}, &b),
             "random");
        snprintf(name, sizeof(name), "random-%" PRIu32, seed);
        print_fabric(b, name);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void print_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 64u << 20;
    char *text = malloc(room);
    const char *slash = strrchr(path, '/');
    struct fab_text_error error;
    struct fab_builder *b;
    must(file != NULL && text != NULL ? FAB_OK : FAB_E_NOT_FOUND, path);
    size_t len = fread(text, 1, room, file);
    fclose(file);
    must(fab_fabric_text_read(text, len, &b, &error), path);
    free(text);
    print_fabric(b, slash != NULL ? slash + 1 : path);
}

int main(int argc, char **argv)
{
    print_trees();
    print_lattices();
    print_others();
    for (int i = 1; i < argc; i++)
        print_file(argv[i]);
    return 0;
}
