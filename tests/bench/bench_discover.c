/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the cost of discovery and of the simulated fabric, without sessions and sockets. It is
 * not part of `make check`; run it by hand:
 *
 *     tests/bench/bench_discover [RADIX [WINDOW]]
 *
 * The fabric is a 3-level fat tree of radix RADIX (default 36). WINDOW (256) is the maximum number
 * of requests in flight.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libfabmgr/fabric/generate.h"
#include "tests/bench/bench.h"
#include "tests/support/drive.h"

static void print_counts(const struct drive *r, const struct fab_fabric *f)
{
    printf("hosts %u switches %u cables %u\n", f->node_count - f->switch_count, f->switch_count,
           f->link_count);
    printf("questions %" PRIu64 ": NodeInfo %" PRIu64 " NodeDescription %" PRIu64
           " SwitchInfo %" PRIu64 " PortInfo %" PRIu64 "\n",
           r->asked, r->node_infos, r->node_descs, r->switch_infos, r->port_infos);
}

static void print_time(const char *what, double seconds, uint64_t count)
{
    printf("%-28s %8.1f ms %8.0f ns each of %" PRIu64 "\n", what, seconds * 1e3,
           seconds / (double)count * 1e9, count);
}

static int measure_whole(struct drive *r, struct fab_fabric **ret_found)
{
    double from = cpu_s();
    int status = drive_whole(r, ret_found);
    if (status != 0)
        return status;
    print_counts(r, *ret_found);
    print_time("discovery and sim", cpu_s() - from, r->asked);
    return 0;
}

/* Measures the simulator alone, without discovery: repeats a Get of PortInfo to a node three hops
 * away, and then Sets of all its LFT blocks. */
static void measure_sim(struct drive *r, const struct fab_path *path)
{
    enum { TIMES = 300000 };
    uint8_t data[FAB_SMP_DATA];
    double from = cpu_s();
    for (unsigned i = 0; i < TIMES; i++)
        drive_smp(r, path, FAB_METHOD_GET, FAB_ATTR_PORT_INFO, 1, data);
    print_time("sim: PortInfo Get", cpu_s() - from, TIMES);
    from = cpu_s();
    for (unsigned i = 0; i < TIMES; i++)
        drive_smp(r, path, FAB_METHOD_SET, FAB_ATTR_LFT, i % 180, data);
    print_time("sim: LFT Set", cpu_s() - from, TIMES);
}

/* Measures a targeted discovery after a fault: a cable between a leaf and the level above is pulled
 * out, and both switches send a trap. */
static int measure_scoped(struct drive *r, const struct fab_fabric *base, uint32_t node,
                          uint8_t port)
{
    uint32_t far = fab_fabric_peer_node(base, fab_fabric_port_id(base, node, port));
    uint64_t suspects[2] = {base->nodes[node].guid, base->nodes[far].guid};
    struct fab_discover_config config = {.base = base, .suspects = suspects, .suspect_count = 2};
    struct fab_discover *d = NULL;
    struct fab_fabric *found = NULL;
    fab_sim_unlink(r->sim, node, port);
    r->asked = 0;
    double from = cpu_s();
    int status = fab_discover_new(&config, &d);
    if (status == 0)
        status = drive(r, d);
    if (status == 0)
        status = fab_discover_result(d, &found);
    if (status == 0)
        print_time("scoped look, one cable", cpu_s() - from, r->asked);
    fab_discover_free(d);
    fab_fabric_unref(found);
    return status;
}

/* Brings all links to Active. Discovery would treat a link in another state as a link that has just
 * come up. */
static int activate(struct drive *r, struct fab_fabric **fabric)
{
    int status = drive_program(r, *fabric);
    fab_fabric_unref(*fabric);
    *fabric = NULL;
    return status == 0 ? drive_whole(r, fabric) : status;
}

static int run(struct fab_builder *b, uint32_t window)
{
    struct fab_fabric *built = NULL, *found = NULL;
    struct fab_path *paths = NULL;
    struct drive r = {.window = window};
    int status = fab_fabric_builder_seal(b, &built);
    if (status == 0)
        status = fab_sim_new(built, 1, &r.sim);
    if (status == 0) {
        drive_sit(&r);
        status = measure_whole(&r, &found);
    }
    if (status == 0)
        status = fab_discover_paths(found, &paths);
    if (status == 0) {
        uint32_t leaf = fab_fabric_peer_node(found, found->self_port);
        measure_sim(&r, &paths[0]);
        status = activate(&r, &found);
        if (status == 0)
            status = measure_scoped(&r, found, leaf, found->nodes[leaf].num_ports);
    }
    free(paths);
    fab_sim_free(r.sim);
    fab_fabric_unref(found);
    fab_fabric_unref(built);
    return status;
}

int main(int argc, char **argv)
{
    struct fab_fat_tree_spec spec = {.radix = 36, .levels = 3, .taper = 1};
    struct fab_builder *b = NULL;
    if (argc > 1)
        spec.radix = (uint32_t)strtoul(argv[1], NULL, 10);
    int status = fab_fabric_generate_fat_tree(&spec, &b);
    if (status == 0)
        status = run(b, argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 256);
    fab_fabric_builder_free(b);
    if (status != 0)
        fprintf(stderr, "bench_discover: status %d\n", status);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
