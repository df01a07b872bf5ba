/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares digests of routing results with tests/unit/golden/routes-*.golden: the tables of all
 * engines on many small fabrics, with and without damage, and the local repairs of single faults. A
 * line of a file is for one fabric, one kind of damage and one engine. It has the status, the
 * digests of LFTs and VLs, the verdict of the proof, the quality figures, and a digest of the
 * repairs. This test shows only that tables have changed; other tests check whether tables are
 * correct. UPDATE_GOLDEN=1 rewrites the files.
 */
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/repair/repair.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/verify/verify.h"
#include "tests/support/golden.h"
#include "tests/unit/testing.h"

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
}

static uint64_t hash_text(const char *text)
{
    return golden_hash(GOLDEN_HASH, text, strlen(text));
}

static uint64_t hash_lft(const struct fab_lft *lft)
{
    uint64_t hash = hash_number(GOLDEN_HASH, lft->top);
    for (uint32_t sw = 0; sw < lft->switch_count; sw++)
        hash = golden_hash(hash, fab_target_lft_row(lft, sw), lft->top + 1);
    return hash;
}

static uint64_t hash_vls(const struct fab_vls *v)
{
    uint64_t hash = hash_number(GOLDEN_HASH, v->count);
    if (!fab_target_vls_multiple(v))
        return hash;
    hash = hash_number(hash_number(hash, v->sls), v->classes);
    hash = golden_hash(hash, v->vl, sizeof(v->vl));
    if (v->of_lid != NULL)
        hash = golden_hash(hash, v->of_lid, (size_t)v->top + 1);
    if (v->of_pair != NULL)
        hash = golden_hash(hash, v->of_pair, (size_t)v->switches * v->switches);
    if (v->port_class != NULL)
        hash = golden_hash(hash, v->port_class, v->ports);
    return hash;
}

/* ---- local repairs --------------------------------------------------------------------------- */

static uint64_t hash_delta(const struct fab_repair_delta *d)
{
    const uint64_t head[] = {d->changes, d->writes, d->blocks,  d->steps,     d->drained,
                             d->cut,     d->lost,   d->entries, d->label_set, d->relabels};
    uint64_t digest = golden_hash_numbers(GOLDEN_HASH, head, sizeof head / sizeof *head);
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        const uint64_t x[] = {c->lid, c->sw, c->was, c->now, c->stale};
        digest = golden_hash_numbers(digest, x, sizeof x / sizeof *x);
    }
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *v = &d->write[i];
        const uint64_t x[] = {v->sw,    v->block,   v->step, v->entries, v->weight,
                              v->first, v->changes, v->keep, v->drain,   v->early};
        digest = golden_hash_numbers(digest, x, sizeof x / sizeof *x);
    }
    return digest;
}

/* Digests the local repairs of each single failed ISL, and the repair after the last four ISLs have
 * failed together. */
static uint64_t hash_repairs(const struct fab_fabric *f, const struct fab_policy *p,
                             const struct fab_target *t)
{
    const struct fab_repair_input in = {
        .fabric = f, .policy = p, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls};
    struct fab_repair *r;
    struct fab_repair_delta d;
    uint32_t last[4];
    size_t count = 0;
    char why[300] = "";
    uint64_t digest = GOLDEN_HASH;
    if (fab_repair_new(&in, &r, why, sizeof why) != FAB_OK)
        return hash_text(why);
    for (uint32_t port = 0; port <= f->port_count; port++) {
        bool end = port == f->port_count;
        uint32_t peer = end ? FAB_NONE : fab_fabric_port(f, port)->peer;
        if (!end &&
            (peer == FAB_NONE || peer < port || fab_fabric_port(f, peer)->node >= f->switch_count))
            continue;
        if (!end)
            last[count++ % 4] = port;
        int status = fab_repair_plan(r, &t->lft, end ? last : &port,
                                     end ? (count < 4 ? count : 4) : 1, &d, why, sizeof why);
        digest = hash_number(digest, (uint64_t)status);
        if (status != FAB_OK)
            continue;
        ck_assert_int_eq(fab_repair_order(r, &t->lft, &d), FAB_OK);
        digest = hash_number(digest, hash_delta(&d));
        fab_repair_delta_fini(&d);
    }
    fab_repair_free(r);
    return digest;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t hash_quality(const struct fab_fabric *f, const struct fab_target *t)
{
    const struct fab_quality_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .samples = 10, .seed = 1};
    struct fab_quality q;
    char text[300];
    if (fab_study_quality_measure(&in, &q) != FAB_OK)
        return 0;
    snprintf(text, sizeof text,
             "%" PRIu64 " %" PRIu64 " %.5f %.5f %u %u %" PRIu64 " %" PRIu64
             " %u %u %u %u %u %u %.5f %.5f",
             q.all.max, q.all.bound, q.all.mean, q.all.sigma, q.all.unused, q.all.min_ends, q.pairs,
             q.lost, q.permutation_bound, q.shift.max, q.shift.worst, q.random.median, q.random.max,
             q.all.worst[0], q.bisection.mean, q.bisection.least);
    return golden_hash_numbers(hash_text(text), q.hops, sizeof q.hops / sizeof *q.hops);
}

static void print_tables(FILE *out, const struct fab_fabric *f, const struct fab_policy *p,
                         const struct fab_target *t, bool repairs)
{
    const struct fab_verify_input verify = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .policy = p};
    struct fab_verdict v;
    ck_assert_int_eq(fab_verify(&verify, &v), FAB_OK);
    fprintf(out,
            " %016" PRIx64 " %u VLs %016" PRIx64 ", proof %d, %" PRIu64 " of %" PRIu64
            " pairs lost, %u hops, %" PRIu64 " dependencies, beyond %u, quality %016" PRIx64,
            hash_lft(&t->lft), t->vls.count, hash_vls(&t->vls), v.deadlock_free,
            v.unreachable_pairs, v.pairs, v.longest_path, v.dependencies, v.beyond,
            hash_quality(f, t));
    char *text = NULL;
    if (!fab_verify_verdict_good(&v)) {
        ck_assert_int_eq(fab_verify_witness_text(f, &v.witness, &text), FAB_OK);
        fprintf(out, ", witness %08" PRIx64, hash_text(text) >> 32);
        free(text);
    }
    if (repairs && v.deadlock_free && v.unreachable_pairs == 0)
        fprintf(out, ", repairs %016" PRIx64, hash_repairs(f, p, t));
    fab_verify_verdict_fini(&v);
}

/* Does what the manager does for the chain "auto": runs its engines up to the first one whose
 * tables pass the proof. Then fab_study_choose_engine compares these tables with those of the later
 * engines. */
static int run_auto(const struct fab_route_input *in, struct fab_target *t, char *why, size_t len)
{
    struct fab_route_chain chain;
    bool flawed = true;
    struct fab_route_input with = *in;
    with.flawed = &flawed;
    ck_assert_int_eq(fab_route_chain_parse("auto", &chain, why, len), FAB_OK);
    for (uint32_t i = 0; i < chain.count; i++) {
        struct fab_engine_choice c = {.engine = chain.engine[i]};
        if (c.engine->run(&with, &c.lft, &c.vls, c.why, sizeof c.why) != FAB_OK)
            continue;
        const struct fab_verify_input verify = {.fabric = in->fabric,
                                                .lids = in->lids,
                                                .lft = &c.lft,
                                                .vls = &c.vls,
                                                .policy = in->policy};
        ck_assert_int_eq(fab_verify(&verify, &c.verdict), FAB_OK);
        int status = fab_verify_verdict_good(&c.verdict)
                         ? fab_study_choose_engine(&with, &chain, i, &c)
                         : FAB_E_UNSUPPORTED;
        fab_verify_verdict_fini(&c.verdict);
        t->lft = c.lft;
        t->vls = c.vls;
        snprintf(why, len, "%s", c.why);
        if (status == FAB_OK)
            return FAB_OK;
        fab_target_lft_fini(&t->lft);
        fab_target_vls_fini(&t->vls);
    }
    return FAB_E_UNSUPPORTED;
}

/* Runs one engine and prints a line; engine NULL: the chain "auto". */
static void print_run(FILE *out, const struct fab_fabric *f, const struct fab_policy *p,
                      const struct fab_route_engine *engine, bool repairs)
{
    struct fab_target *t = fab_target_new();
    struct fab_address_note *notes = NULL;
    size_t count;
    char why[400] = "";
    ck_assert_ptr_nonnull(t);
    const struct fab_address_input address = {.fabric = f, .policy = p};
    ck_assert_int_eq(fab_address_assign(&address, &t->lids, &notes, &count), FAB_OK);
    free(notes);
    const struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids};
    int status = engine != NULL ? engine->run(&in, &t->lft, &t->vls, why, sizeof why)
                                : run_auto(&in, t, why, sizeof why);
    fprintf(out, "  %s %d %08" PRIx64, engine != NULL ? engine->name : "auto", status,
            hash_text(why) >> 32);
    if (status == FAB_OK)
        print_tables(out, f, p, t, repairs);
    fputc('\n', out);
    fab_target_unref(t);
}

/* ---- fabrics --------------------------------------------------------------------------------- */

static const struct damage {
    const char *name;
    struct fab_variation variation;
    bool switch_lost; /* true: in addition, the last switch is missing */
    /* true: the line also has a digest of local repairs */
    bool repairs;
    bool rooted; /* true: the policy names the last two switches as root switches */
    uint8_t lmc, max_op_vls;
} damages[] = {
    {.name = "whole", .repairs = true},
    {.name = "other GUIDs, roots",
     .variation = {.shuffle_guids = true, .seed = 1},
     .rooted = true,
     .lmc = 1},
    {.name = "a cable", .variation = {.missing = 1, .seed = 2}, .max_op_vls = 1},
    {.name = "8 %", .variation = {.missing_ppm = 80000, .seed = 4}, .max_op_vls = 2},
    {.name = "islands",
     .variation =
         {.missing_ppm = 250000, .allow_partitioned = true, .shuffle_guids = true, .seed = 5}},
    {.name = "a switch", .variation = {.missing = 1, .seed = 6}, .switch_lost = true},
    {.name = "aggregation", .variation = {.aggregation = true, .seed = 7}},
};

static struct fab_fabric *seal(struct fab_builder *b)
{
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

static struct fab_fabric *without_last_switch(struct fab_fabric *f)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t ref = FAB_NONE;
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[f->switch_count - 1].guid, &ref),
                     FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    fab_fabric_unref(f);
    return seal(b);
}

static void print_damaged(FILE *out, const struct fab_fabric *plain, const char *name,
                          const struct damage *d)
{
    struct fab_builder *b;
    struct fab_policy p;
    if (fab_fabric_generate_variation(plain, &d->variation, &b) != FAB_OK)
        /* the fabric has too few links: without some of them, it would not be connected */
        return;
    struct fab_fabric *f = seal(b);
    if (d->switch_lost && f->switch_count > 2)
        f = without_last_switch(f);
    fab_policy_defaults(&p);
    p.lmc = d->lmc;
    p.max_op_vls = d->max_op_vls != 0 ? d->max_op_vls : p.max_op_vls;
    if (d->rooted) {
        p.roots = calloc(2, sizeof *p.roots);
        ck_assert_ptr_nonnull(p.roots);
        p.root_count = 2;
        for (uint32_t i = 0; i < 2; i++)
            p.roots[i] = f->nodes[f->switch_count - 1 - i].guid;
    }
    fprintf(out, "%s, %s: %u switches, %u links\n", name, d->name, f->switch_count, f->link_count);
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++)
        if (strcmp((*e)->name, "file") != 0)
            print_run(out, f, &p, *e, d->repairs);
    print_run(out, f, &p, NULL, false);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

/* Prints the lines of a fabric. Takes over b. */
static void print_fabric(FILE *out, int status, struct fab_builder *b, const char *name)
{
    ck_assert_msg(status == FAB_OK, "%s: %d", name, status);
    struct fab_fabric *f = seal(b);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        print_damaged(out, f, name, &damages[i]);
    fab_fabric_unref(f);
}

static void print_trees(FILE *out)
{
    struct fab_builder *b;
    int status = fab_fabric_generate_leaf_spine(&(struct fab_leaf_spine_spec){6, 4, 3, 2, 0}, &b);
    print_fabric(out, status, b, "leaf-spine");
    status = fab_fabric_generate_fat_tree(&(struct fab_fat_tree_spec){.radix = 4, .levels = 3}, &b);
    print_fabric(out, status, b, "fat tree of 3 levels");
    status = fab_fabric_generate_fat_tree(
        &(struct fab_fat_tree_spec){.radix = 6, .levels = 2, .taper = 2, .parallel = 1}, &b);
    print_fabric(out, status, b, "tapered fat tree");
    status = fab_fabric_generate_pgft(
        &(struct fab_pgft_spec){.levels = 3, .m = {2, 3, 2}, .w = {1, 2, 2}, .p = {1, 2, 1}}, &b);
    print_fabric(out, status, b, "pgft");
    status = fab_fabric_generate_rail(&(struct fab_rail_spec){8, 4, 2, 3, 2, 0, 0}, &b);
    print_fabric(out, status, b, "rail");
    status = fab_fabric_generate_rail(&(struct fab_rail_spec){8, 2, 2, 2, 1, 2, 1}, &b);
    print_fabric(out, status, b, "rail with cores");
}

static struct fab_torus_spec grid(uint32_t x, uint32_t y, uint32_t z, uint32_t hosts, bool mesh)
{
    return (struct fab_torus_spec){.dimensions = z > 0 ? 3 : 2,
                                   .size = {x, y, z},
                                   .hosts = hosts,
                                   .parallel = mesh ? 2 : 1,
                                   .mesh = mesh};
}

static void print_grids(FILE *out)
{
    struct fab_builder *b;
    struct fab_torus_spec spec = grid(4, 4, 0, 1, false);
    int status = fab_fabric_generate_torus(&spec, &b);
    print_fabric(out, status, b, "torus 4x4");
    spec = grid(6, 3, 0, 2, false);
    status = fab_fabric_generate_torus(&spec, &b);
    print_fabric(out, status, b, "torus 6x3");
    spec = grid(3, 2, 4, 1, false);
    status = fab_fabric_generate_torus(&spec, &b);
    print_fabric(out, status, b, "torus 3x2x4");
    spec = grid(4, 3, 0, 2, true);
    status = fab_fabric_generate_torus(&spec, &b);
    print_fabric(out, status, b, "mesh 4x3");
    status = fab_fabric_generate_hypercube(
        &(struct fab_hypercube_spec){.dimensions = 4, .hosts = 1, .parallel = 1}, &b);
    print_fabric(out, status, b, "hypercube");
    status = fab_fabric_generate_hyperx(
        &(struct fab_hyperx_spec){.dimensions = 2, .size = {3, 4}, .hosts = 2, .parallel = 1}, &b);
    print_fabric(out, status, b, "hyperx");
}

static void print_others(FILE *out)
{
    struct fab_builder *b;
    int status = fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){5, 4, 1, 1, 1}, &b);
    print_fabric(out, status, b, "dragonfly");
    status = fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){3, 4, 2, 2, 2}, &b);
    print_fabric(out, status, b, "dragonfly of 3 groups");
    status =
        fab_fabric_generate_dragonfly_plus(&(struct fab_dragonfly_plus_spec){4, 2, 2, 3, 2, 1}, &b);
    print_fabric(out, status, b, "dragonfly+");
    for (uint32_t seed = 1; seed <= 5; seed++) {
        char name[32];
        const struct fab_random_spec spec = {6 + 4 * seed, 2 + seed % 4, 2, seed};
        snprintf(name, sizeof name, "random %u", seed);
        status = fab_fabric_generate_random(&spec, &b);
        print_fabric(out, status, b, name);
    }
}

static void compare(const char *file, void (*print)(FILE *out))
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    print(out);
    fclose(out);
    golden_compare(file, text);
    free(text);
}

START_TEST(trees)
{
    compare("tests/unit/golden/routes-trees.golden", print_trees);
}
END_TEST

START_TEST(grids)
{
    compare("tests/unit/golden/routes-grids.golden", print_grids);
}
END_TEST

START_TEST(others)
{
    compare("tests/unit/golden/routes-others.golden", print_others);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden routes");
    TCase *t = tcase_create("fabrics");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, trees);
    tcase_add_test(t, grids);
    tcase_add_test(t, others);
    suite_add_tcase(s, t);
    return test_run(s);
}
