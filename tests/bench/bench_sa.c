/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how many path requests subnet administration answers in a second on one core.
 *
 *   bench_sa [radix [levels]]
 *
 * The default is the fat tree of 11,664 hosts. Each measured step reads a whole MAD and writes a
 * whole MAD. The requests are GetTable requests, and Get(PathRecord) requests by two GIDs, as
 * rdma_cm sends them. The latter are measured with random pairs of GIDs, and with all pairs in
 * order of their source (as an MPI job starts).
 *
 * All this is measured three times: with equal links, with one slower link, and with so many slower
 * links that the agent must follow each path. The program is not part of `make check`, and checks
 * nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/sa/sa.h"
#include "libfabmgr/verify/verify.h"
#include "tests/bench/bench.h"

#define ASKED 1000000u

enum cables { ALIKE, ONE_SLOWER, HALF_SLOWER };

static void slow_down(struct fab_fabric *f, uint32_t port)
{
    fab_fabric_edit_port(f, port)->info.width_active = 1;
    fab_fabric_edit_port(f, fab_fabric_port(f, port)->peer)->info.width_active = 1;
}

/* Makes links between switches slower: one of them, or every second one. With every second one,
 * subnet administration must follow each path to find its rate. */
static void spoil(struct fab_fabric *f, enum cables cables)
{
    uint32_t seen = 0;
    for (uint32_t port = 0; port < f->nodes[f->switch_count].first_port; port++)
        if (fab_fabric_peer_node(f, port) < f->switch_count &&
            fab_fabric_port(f, port)->peer > port && seen++ % 2 == 0) {
            slow_down(f, port);
            if (cables == ONE_SLOWER)
                break;
        }
}

static struct fab_view *make_view(uint32_t radix, uint32_t levels, enum cables cables)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels};
    struct fab_builder *b;
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_verdict verdict = {0};
    struct fab_address_note *notes = NULL;
    size_t count;
    char why[200];
    must(fab_fabric_generate_fat_tree(&spec, &b), "fabric");
    must(fab_fabric_builder_seal(b, &f), "seal");
    fab_fabric_builder_free(b);
    fab_policy_defaults(&policy);
    struct fab_target *t = fab_target_new();
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = &policy}, &t->lids,
                            &notes, &count),
         "address");
    free(notes);
    must(fab_route_engine_by_name("fattree")->run(
             &(struct fab_route_input){.fabric = f, .policy = &policy, .lids = &t->lids}, &t->lft,
             &t->vls, why, sizeof(why)),
         "route");
    if (cables != ALIKE)
        spoil(f, cables); /* after routing, so that the paths stay the same */
    must(fab_verify(&(struct fab_verify_input){.fabric = f,
                                               .lids = &t->lids,
                                               .lft = &t->lft,
                                               .max_hops = policy.max_hops,
                                               .vls = &t->vls,
                                               .policy = &policy},
                    &verdict),
         "proof");
    return fab_view_new(1, f, t, &policy, &verdict);
}

struct asking {
    struct fab_view *view;
    uint32_t *hosts, host_count; /* hosts: port ids of the endports */
    struct fab_prng prng;
    uint8_t request[FAB_MAD_SIZE], answer[FAB_MAD_SIZE];
};

static void find_hosts(struct asking *a)
{
    const struct fab_fabric *f = a->view->fabric;
    a->hosts = calloc(f->port_count, sizeof *a->hosts);
    for (uint32_t p = f->nodes[f->switch_count].first_port; a->hosts && p < f->port_count; p++)
        if (fab_fabric_port_has_lid(f, p))
            a->hosts[a->host_count++] = p;
}

static void make_request(struct asking *a)
{
    static const char *const names[] = {"DGID", "SGID", "Reversible", "NumbPath", "P_Key"};
    struct fab_mad mad = {
        .mgmt_class = FAB_CLASS_SA, .method = FAB_METHOD_GET, .attr_id = FAB_SA_PATH_RECORD};
    struct fab_sa_header head = {0};
    struct fab_wire_path_record path = {.reversible = 1, .paths = 1, .pkey = 0xffff};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        head.comp_mask |= fab_wire_rec_component(&fab_wire_path_record, names[i]);
    path.dgid[0] = path.sgid[0] = a->view->policy.subnet_prefix;
    must(fab_wire_gmp_pack(&mad, NULL, 0, a->request), "request");
    must(fab_wire_attr_pack(&fab_wire_attr_sa_header, &head, a->request + FAB_SA_HEADER, 20),
         "header");
    must(fab_wire_rec_pack(&fab_wire_path_record, &path, a->request + FAB_SA_DATA, 200), "path");
}

static void ask(struct asking *a, struct fab_sa *sa, uint32_t src, uint32_t dst)
{
    struct fab_sa_request req;
    uint64_t key;
    fab_base_put_be64(a->request + FAB_SA_DATA + 16, fab_fabric_port(a->view->fabric, dst)->guid);
    fab_base_put_be64(a->request + FAB_SA_DATA + 32, fab_fabric_port(a->view->fabric, src)->guid);
    must(fab_sa_request_read(a->request, FAB_MAD_SIZE, &req, &key), "read");
    req.from = FAB_SA_ANYBODY;
    if (fab_sa_get(sa, a->request, &req, 100, a->answer) != 0)
        must(FAB_E_NOT_FOUND, "path");
}

static uint32_t random_host(struct asking *a)
{
    return a->hosts[fab_base_prng_next(&a->prng) % a->host_count];
}

static void say(const char *what, uint64_t count, double seconds)
{
    printf("%-36s %9" PRIu64 " in %7.3f s: %8.0f /s\n", what, count, seconds,
           (double)count / seconds);
}

static void time_random(struct asking *a, struct fab_sa *sa, const char *what)
{
    double start = cpu_s();
    for (uint32_t i = 0; i < ASKED; i++)
        ask(a, sa, random_host(a), random_host(a));
    say(what, ASKED, cpu_s() - start);
}

static void time_by_source(struct asking *a, struct fab_sa *sa)
{
    uint32_t n = 0;
    double start = cpu_s();
    for (uint32_t s = 0; n < ASKED; s++)
        for (uint32_t d = 0; d < a->host_count && n < ASKED; d++, n++)
            ask(a, sa, a->hosts[s % a->host_count], a->hosts[d]);
    say("all pairs by source", ASKED, cpu_s() - start);
}

static void time_table(struct fab_sa *sa, uint16_t attr_id, const char *what, uint64_t most)
{
    static const uint8_t nothing[FAB_SA_DATA_LEN];
    struct fab_sa_request req = {
        .method = FAB_METHOD_GET_TABLE, .attr_id = attr_id, .data = nothing};
    struct fab_sa_query q;
    uint8_t record[FAB_REC_MAX];
    uint32_t budget = UINT32_MAX;
    uint64_t count = 0;
    double start = cpu_s();
    if (fab_sa_begin(sa, &req, &q) != 0)
        must(FAB_E_REFUSED, what);
    while (count < most && fab_sa_next(&q, &budget, record) == FAB_OK)
        count++;
    say(what, count, cpu_s() - start);
}

static void time_all(struct asking *a)
{
    struct fab_sa *sa;
    find_hosts(a);
    make_request(a);
    double start = cpu_s();
    must(fab_sa_new(a->view, &sa), "prepare");
    printf("%u hosts, %u switches; prepared in %.2f ms\n", a->host_count,
           a->view->fabric->switch_count, (cpu_s() - start) * 1e3);
    time_random(a, sa, "random pairs, the first million");
    for (int i = 0; i < 8; i++)
        time_random(a, sa, "random pairs");
    time_by_source(a, sa);
    time_table(sa, FAB_SA_NODE_RECORD, "table of NodeRecord", UINT64_MAX);
    time_table(sa, FAB_SA_PORT_INFO_RECORD, "table of PortInfoRecord", UINT64_MAX);
    time_table(sa, FAB_SA_LINK_RECORD, "table of LinkRecord", UINT64_MAX);
    time_table(sa, FAB_SA_LFT_RECORD, "table of LinearForwardingTableRecord", UINT64_MAX);
    time_table(sa, FAB_SA_PATH_RECORD, "table of PathRecord, all pairs", 5 * ASKED);
    fab_sa_free(sa);
    fab_view_unref(a->view);
    free(a->hosts);
}

int main(int argc, char **argv)
{
    uint32_t radix = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 36;
    uint32_t levels = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 3;
    static const char *const names[] = {"all cables alike", "one cable is slower",
                                        "every other cable is slower"};
    for (enum cables cables = ALIKE; cables <= HALF_SLOWER; cables++) {
        struct asking a = {.view = make_view(radix, levels, cables)};
        printf("%s\n", names[cables]);
        fab_base_prng_init(&a.prng, 1);
        time_all(&a);
    }
    return 0;
}
