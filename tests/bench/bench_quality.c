/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the quality figures of each engine, and how long they take to compute.
 *
 *     bench_quality [-n SAMPLES] [-t TABLES] [-v VLS] [radix | file]...
 *
 * A radix is a fat tree of three levels; the defaults are 648 and 11,664 hosts. TABLES is a dump of
 * forwarding tables (such as opensm-lfts.dump) for the engine "file". VLS is the maximum number of
 * VLs in the encoding of OperationalVLs (1: one VL, 2: two, 3: four, 4: eight). It is not part of
 * `make check`, and checks nothing. The columns are the figures that were also measured with
 * OpenSM's engines: all-to-all (max, its bound, max/mean, endports), worst shift, median of random
 * permutations, and effective bisection bandwidth.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

static void print(const char *engine, const struct fab_quality *q)
{
    printf("%-10s %9" PRIu64 " %9" PRIu64 " %8.2f %5u %5u/%-5u %4u%c %4u %6u %6.3f", engine,
           q->all.max, q->all.bound, fab_study_quality_imbalance(q), q->all.min_ends, q->all.unused,
           q->channels, q->shift.max, q->shift.every ? ' ' : '~', q->permutation_bound,
           q->random.median, q->bisection.mean);
}

/* Verifies the tables, and returns the result as one word. */
static const char *judge(const struct fab_fabric *f, const struct fab_lids *lids,
                         const struct fab_lft *lft, const struct fab_vls *vls)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = f, .lids = lids, .lft = lft, .max_hops = 64, .vls = vls};
    must(fab_verify(&in, &v), "verify");
    const char *word = fab_verify_verdict_good(&v) ? "proven"
                       : v.unreachable_pairs > 0   ? "UNREACHABLE"
                                                   : "CYCLE";
    fab_verify_verdict_fini(&v);
    return word;
}

static void bench_engine(const struct fab_route_engine *engine, const struct fab_fabric *f,
                         const struct fab_policy *p, const struct fab_lids *lids, uint32_t samples)
{
    struct fab_lft lft;
    struct fab_vls vls = {0};
    struct fab_quality q;
    char why[200] = "";
    double start = cpu_ms();
    int rc = engine->run(&(struct fab_route_input){.fabric = f, .policy = p, .lids = lids}, &lft,
                         &vls, why, sizeof why);
    double routed = cpu_ms() - start;
    if (rc != FAB_OK) {
        printf("%-10s %s\n", engine->name, why);
        return;
    }
    struct fab_quality_input in = {.fabric = f, .lids = lids, .lft = &lft, .samples = samples};
    start = cpu_ms();
    must(fab_study_quality_measure(&in, &q), "quality");
    double whole = cpu_ms() - start;
    print(engine->name, &q);
    printf("   %s on %u, %.1f ms route, %.0f ms quality\n", judge(f, lids, &lft, &vls),
           vls.count > 1 ? vls.count : 1, routed, whole);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&vls);
}

struct given {
    uint32_t samples;
    uint8_t vls; /* maximum number of VLs, as OperationalVLs encodes it; 0: the default */
    struct fab_tables *tables;
};

static void bench(const char *name, struct fab_builder *b, const struct given *given)
{
    struct fab_fabric *f;
    struct fab_policy p;
    struct fab_lids lids;
    struct fab_address_note *notes = NULL;
    size_t count;
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    fab_policy_defaults(&p);
    p.tables = fab_policy_tables_ref(given->tables);
    p.max_op_vls = given->vls != 0 ? given->vls : p.max_op_vls;
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = &p}, &lids, &notes,
                            &count),
         "address");
    free(notes);
    printf("%s: %u ends, %u switches, %u cables; %u samples\n", name,
           f->node_count - f->switch_count, f->switch_count, f->link_count, given->samples);
    printf("%-10s %9s %9s %8s %5s %5s/%-5s %5s %4s %6s %6s\n", "engine", "a2a max", "bound",
           "max/mean", "ends", "dark", "all", "shift", ">=", "random", "ebb");
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++)
        bench_engine(*e, f, &p, &lids, given->samples);
    fab_target_lids_fini(&lids);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

static void bench_tree(uint32_t radix, uint32_t levels, const struct given *given)
{
    struct fab_builder *b;
    char name[64];
    snprintf(name, sizeof name, "fat tree, radix %u, %u levels", radix, levels);
    must(fab_fabric_generate_fat_tree(
             &(struct fab_fat_tree_spec){.radix = radix, .levels = levels, .taper = 1}, &b),
         "generate");
    bench(name, b, given);
}

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    size_t room = 512u << 20;
    char *text = malloc(room);
    if (file == NULL || text == NULL) {
        perror(path);
        exit(1);
    }
    *ret_len = fread(text, 1, room, file);
    fclose(file);
    return text;
}

static struct fab_tables *read_tables(const char *path)
{
    struct fab_tables *tables;
    struct fab_tables_error error;
    size_t len;
    char *text = read_file(path, &len);
    if (fab_policy_tables_read(text, len, &tables, &error) != FAB_OK) {
        fprintf(stderr, "%s:%u:%u: %s\n", path, error.line, error.column, error.message);
        exit(1);
    }
    free(text);
    return tables;
}

static void bench_file(const char *path, const struct given *given)
{
    struct fab_builder *b;
    struct fab_text_error error;
    size_t len;
    char *text = read_file(path, &len);
    if (fab_fabric_text_read(text, len, &b, &error) != FAB_OK) {
        fprintf(stderr, "%s:%u:%u: %s\n", path, error.line, error.column, error.message);
        exit(1);
    }
    free(text);
    bench(path, b, given);
}

int main(int argc, char **argv)
{
    struct given given = {.samples = FAB_QUALITY_SAMPLES};
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (argv[first][1] == 'n')
            given.samples = (uint32_t)atoi(argv[first + 1]);
        else if (argv[first][1] == 'v')
            given.vls = (uint8_t)atoi(argv[first + 1]);
        else
            given.tables = read_tables(argv[first + 1]);
    }
    for (int i = first; i < argc; i++) {
        if (atoi(argv[i]) > 0)
            bench_tree((uint32_t)atoi(argv[i]), 3, &given);
        else
            bench_file(argv[i], &given);
    }
    if (argc == first) {
        bench_tree(36, 2, &given);
        bench_tree(36, 3, &given);
    }
    fab_policy_tables_unref(given.tables);
    return 0;
}
