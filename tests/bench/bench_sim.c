/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the simulated fabric: MADs a second on one core, in this process, by kind of MAD; and
 * the memory of the devices of a large fabric. Run it by hand:
 *
 *     bench_sim [LEAVES [SPINES [HOSTS]]]      MADs a second
 *     bench_sim --weigh [RADIX]                memory; a 3-level fat tree of radix 80 has 8,000
 *                                              switches and 128,000 hosts
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/support/drive.h"

#define MADS 2000000u

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static long now_mb(void)
{
    long pages = 0, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm != NULL && fscanf(statm, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (statm != NULL)
        fclose(statm);
    return resident / 256; /* `resident` is a number of pages of 4 KB */
}

struct kind {
    const char *name;
    uint16_t attr_id;
    uint8_t mgmt_class, method;
    bool of_switches;
};

/* Number of requests that are made before the measurement. They go to different nodes all over the
 * fabric. */
#define DIFFERENT 4096u
static void make(const struct fab_fabric *f, const struct fab_path *paths, const struct kind *k,
                 uint8_t (*mads)[FAB_MAD_SIZE], uint16_t *dlids)
{
    struct fab_prng prng;
    uint8_t data[FAB_SMP_DATA] = {0};
    fab_base_prng_init(&prng, 1);
    for (uint32_t i = 0; i < DIFFERENT; i++) {
        uint32_t count = k->of_switches ? f->switch_count : f->node_count;
        uint32_t node = (uint32_t)fab_base_prng_below(&prng, count);
        struct fab_mad mad = {.mgmt_class = k->mgmt_class,
                              .method = k->method,
                              .tid = i,
                              .attr_id = k->attr_id,
                              .path = paths[node]};
        dlids[i] = (uint16_t)(node + 1);
        memset(data, 0xff, sizeof data);
        (void)fab_wire_smp_pack(&mad, data, mads[i]);
    }
}

static void measure(struct drive *r, const struct fab_fabric *f, const struct fab_path *paths,
                    const struct kind *k)
{
    static uint8_t mads[DIFFERENT][FAB_MAD_SIZE];
    static uint16_t dlids[DIFFERENT];
    uint8_t reply[FAB_MAD_SIZE];
    uint32_t answered = 0;
    make(f, paths, k, mads, dlids);
    double start = seconds();
    for (uint32_t i = 0; i < MADS; i++)
        answered += fab_sim_send(r->sim, r->node, r->port, dlids[i % DIFFERENT],
                                 mads[i % DIFFERENT], reply) == 1;
    double took = seconds() - start;
    printf("%-34s %6.2f M MADs/s  %4.0f ns each, %.1f %% answered\n", k->name, MADS / took / 1e6,
           took / MADS * 1e9, 100.0 * answered / MADS);
}

static const struct kind kinds[] = {
    {"Get(NodeInfo), directed", FAB_ATTR_NODE_INFO, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET, false},
    {"Get(NodeDescription), directed", FAB_ATTR_NODE_DESC, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET,
     false},
    {"Get(PortInfo), directed", FAB_ATTR_PORT_INFO, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET, false},
    {"Get(SwitchInfo), directed", FAB_ATTR_SWITCH_INFO, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET,
     true},
    {"Get(LFT), directed", FAB_ATTR_LFT, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_GET, true},
    {"Get(NodeInfo), by LID", FAB_ATTR_NODE_INFO, FAB_CLASS_SMP_LID, FAB_METHOD_GET, false},
    {"Get(PortInfo), by LID", FAB_ATTR_PORT_INFO, FAB_CLASS_SMP_LID, FAB_METHOD_GET, false},
    {"Set(LFT), directed", FAB_ATTR_LFT, FAB_CLASS_SMP_DIRECTED, FAB_METHOD_SET, true},
};

/*
 * Measures how much memory the simulated devices of a fat tree of three levels take.
 */
static int weigh(uint32_t radix)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = 3};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    struct fab_sim *s = NULL;
    double start = seconds();
    if (fab_fabric_generate_fat_tree(&spec, &b) != 0 || fab_fabric_builder_seal(b, &f) != 0)
        return EXIT_FAILURE;
    fab_fabric_builder_free(b);
    double made = seconds();
    long peak = peak_mb(), before = now_mb();
    if (fab_sim_new(f, 1, &s) != 0)
        return EXIT_FAILURE;
    printf("%u switches, %u other nodes, %u ports\n", f->switch_count,
           f->node_count - f->switch_count, f->port_count);
    printf("cabling made in %.2f s: %ld MB, %ld MB at its peak\n", made - start, before, peak);
    printf("devices made in %.2f s: %ld MB more\n", seconds() - made, now_mb() - before);
    fab_sim_free(s);
    fab_fabric_unref(f);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--weigh") == 0)
        return weigh(argc > 2 ? (uint32_t)atoi(argv[2]) : 80);
    struct fab_leaf_spine_spec spec = {
        .leaves = argc > 1 ? (uint32_t)atoi(argv[1]) : 100,
        .spines = argc > 2 ? (uint32_t)atoi(argv[2]) : 20,
        .hosts_per_leaf = argc > 3 ? (uint32_t)atoi(argv[3]) : 20,
        .parallel = 1,
    };
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL, *found = NULL;
    struct fab_path *paths = NULL;
    struct drive r = {0};
    if (fab_fabric_generate_leaf_spine(&spec, &b) != 0 || fab_fabric_builder_seal(b, &f) != 0)
        return EXIT_FAILURE;
    fab_fabric_builder_free(b);
    long before = peak_mb();
    double start = seconds();
    if (fab_sim_new(f, 1, &r.sim) != 0)
        return EXIT_FAILURE;
    printf("%u nodes, %u ports: devices made in %.3f s, %ld MB with cabling, %ld MB more\n",
           f->node_count, f->port_count, seconds() - start, before, peak_mb() - before);
    drive_sit(&r);
    start = seconds();
    if (drive_whole(&r, &found) != 0 || fab_discover_paths(found, &paths) != 0)
        return EXIT_FAILURE;
    printf("discovered in %.3f s (%" PRIu64 " MADs)\n", seconds() - start, r.asked);
    if (drive_program(&r, found) != 0)
        return EXIT_FAILURE;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        measure(&r, f, paths, &kinds[i]);
    free(paths);
    fab_fabric_unref(found);
    fab_sim_free(r.sim);
    fab_fabric_unref(f);
    return EXIT_SUCCESS;
}
