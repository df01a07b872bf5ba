/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the times to generate, write, read, seal, copy and compare fabrics. The fabrics are
 * three-level fat trees with the given radixes (default: 36, which is 11,664 hosts). Prints the
 * best of several rounds, in ms.
 *
 *     tests/bench/bench_fabric [RADIX...]
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"

#define ROUNDS 5

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

enum step { GENERATE, SEAL, WRITE, READ, FROM, RESEAL, CLONE, ISLAND, DIFF, STEPS };
static const char *const names[STEPS] = {
    "generate", "seal",  "write text", "read text",    "builder from snapshot",
    "seal it",  "clone", "island",     "diff, 1 cable"};

struct round {
    double start, best[STEPS];
};

static void lap(struct round *r, enum step step)
{
    double t = now_ms();
    if (r->best[step] <= 0 || t - r->start < r->best[step])
        r->best[step] = t - r->start;
    r->start = now_ms();
}

static void must(int status)
{
    if (status != 0)
        exit(EXIT_FAILURE);
}

/* Measures the copy of a snapshot without one link, as a targeted discovery makes it: the times to
 * make, seal, copy, search and compare the new snapshot. */
static void run_change(struct round *r, const struct fab_fabric *f)
{
    struct fab_fabric *next = NULL, *clone = NULL, *island = NULL;
    struct fab_change *changes = NULL;
    size_t count;
    uint32_t dropped;
    r->start = now_ms();
    struct fab_builder *b = fab_fabric_builder_from(f);
    lap(r, FROM);
    must(fab_fabric_builder_unlink(b, 0, f->nodes[0].num_ports));
    fab_fabric_builder_set_self(b, f->switch_count, 1);
    r->start = now_ms();
    must(fab_fabric_builder_seal(b, &next));
    lap(r, RESEAL);
    must(fab_fabric_clone(next, &clone));
    lap(r, CLONE);
    must(fab_fabric_reachable(next, &island, &dropped));
    lap(r, ISLAND);
    must(fab_fabric_diff(f, next, &changes, &count));
    lap(r, DIFF);
    free(changes);
    fab_fabric_unref(next);
    fab_fabric_unref(clone);
    fab_fabric_unref(island);
    fab_fabric_builder_free(b);
}

static struct fab_fabric *run(struct round *r, const struct fab_fat_tree_spec *spec,
                              size_t *ret_text_len)
{
    struct fab_builder *b = NULL, *back = NULL;
    struct fab_fabric *f = NULL;
    struct fab_text_error error;
    char *text = NULL;
    r->start = now_ms();
    must(fab_fabric_generate_fat_tree(spec, &b));
    lap(r, GENERATE);
    must(fab_fabric_builder_seal(b, &f));
    lap(r, SEAL);
    must(fab_fabric_text_write(f, &text, ret_text_len));
    lap(r, WRITE);
    must(fab_fabric_text_read(text, *ret_text_len, &back, &error));
    lap(r, READ);
    run_change(r, f);
    free(text);
    fab_fabric_builder_free(b);
    fab_fabric_builder_free(back);
    return f;
}

static void bench(uint32_t radix)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3, .taper = 1};
    struct round r = {0};
    size_t len = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fab_fabric *f = run(&r, &spec, &len);
        if (i == 0)
            printf("radix %u: %u nodes (%u switches), %u ports, %u cables\n", radix, f->node_count,
                   f->switch_count, f->port_count, f->link_count);
        if (i == 0)
            printf("  %-22s %8.1f MB\n  %-22s %8.1f MB\n", "snapshot",
                   (double)(f->port_count * sizeof(struct fab_port) +
                            f->node_count * sizeof *f->nodes +
                            f->switch_count * sizeof *f->switches) /
                       1e6,
                   "text", (double)len / 1e6);
        fab_fabric_unref(f);
    }
    for (unsigned s = 0; s < STEPS; s++)
        printf("  %-22s %8.2f ms\n", names[s], r.best[s]);
}

int main(int argc, char **argv)
{
    /* keep freed memory in the process, as a long-running daemon does */
    if (getenv("BENCH_KEEP_MEMORY") != NULL) {
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    }
    if (argc < 2)
        bench(36);
    for (int i = 1; i < argc; i++)
        bench((uint32_t)strtoul(argv[i], NULL, 0));
    return EXIT_SUCCESS;
}
