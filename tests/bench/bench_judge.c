/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges the tables of fabricd and of other managers by the proof and the quality figures of
 * libfabmgr.
 *
 *   bench_judge damage FABRIC PER_MILLE SEED
 *       writes FABRIC without some links between switches; it stays connected
 *   bench_judge FABRIC TABLES...
 *       prints a line for each TABLES: all-to-all max/mean, worst shift, effective bisection
 *       bandwidth, "acyclic" or "cyclic" (OpenSM's tables on one VL), lost pairs of endports, ms,
 *       mean shift, bandwidth of shifts and of random permutations, lanes, engine
 *
 *   bench_judge polish FABRIC ENGINE...
 *       polishes the tables of each ENGINE as the manager does on large fabrics, and prints a line:
 *       greatest load before and after, bound, changed entries, changed blocks, all blocks, ms of
 *       engine and first proof, of the second proof, of the search and of the judgement, and the
 *       objection
 *   bench_judge orders FABRIC SEED TABLES...
 *       prints a line for each TABLES: greatest load of all-to-all, max/mean, bandwidth of random
 *       permutations, "acyclic" or "cyclic", lost pairs, lanes, and the worst shift, the mean shift
 *       and the bandwidth of shifts in five orders of the endports (by topology, name, GUID, leaf,
 *       and at random by SEED)
 *   bench_judge spanning FABRIC ENGINE...
 *       prints a line for each ENGINE: VLs, switches that the multicast spanning tree of SL 0
 *       misses, ms of the tree
 *
 * TABLES is the name of an engine, or auto, or NAME=FILE with an opensm-lfts.dump of OpenSM, whose
 * comments name the port of each LID. The files are trusted: the program exits at the first error
 * in a file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/route/local_search/polish.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/spanning/spanning.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/polish_gain.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/verify/verify.h"

#define LIDS 49152u

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void must(int status, const char *what)
{
    if (status != FAB_OK)
        die(what, fab_base_status_text(status));
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct fab_fabric *load(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 64u << 20;
    char *text = malloc(room);
    struct fab_builder *b;
    struct fab_fabric *f;
    struct fab_text_error error;
    if (file == NULL || text == NULL)
        die(path, "cannot be read");
    size_t len = fread(text, 1, room, file);
    fclose(file);
    if (fab_fabric_text_read(text, len, &b, &error) != FAB_OK)
        die(path, error.message);
    free(text);
    must(fab_fabric_builder_seal(b, &f), path);
    fab_fabric_builder_free(b);
    return f;
}

/* ---- damage ---------------------------------------------------------------------------------- */

static uint32_t find(uint32_t *parent, uint32_t x)
{
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

struct cable {
    uint32_t a, b; /* ids of the two switches */
    uint8_t num;   /* number of the port at switch a */
};

/* Removes links between switches, chosen at random: per_mille of 1000. Keeps a link if the fabric
 * would fall apart without it. Prints the fabric that is left. */
static void damage(const char *path, uint32_t per_mille, uint64_t seed)
{
    struct fab_fabric *f = load(path), *rest;
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct cable *cable = calloc(f->link_count + 1, sizeof(*cable));
    uint32_t *parent = calloc(f->switch_count + 1, sizeof(*parent)), count = 0, ref;
    struct fab_prng prng;
    char *text;
    size_t len;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        parent[sw] = sw;
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, (uint8_t)num));
            if (peer != FAB_NONE && peer > sw && fab_fabric_node_is_switch(f, peer))
                cable[count++] = (struct cable){sw, peer, (uint8_t)num};
        }
    }
    fab_base_prng_init(&prng, seed);
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)fab_base_prng_below(&prng, i);
        struct cable kept = cable[i - 1];
        cable[i - 1] = cable[j];
        cable[j] = kept;
    }
    uint32_t missing = (count * per_mille + 500) / 1000;
    missing = per_mille > 0 && missing == 0 ? 1 : missing;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = find(parent, cable[i].a), y = find(parent, cable[i].b);
        parent[x] = y;
        if (x != y || i + missing < count)
            continue;
        must(fab_fabric_builder_find_node(b, f->nodes[cable[i].a].guid, &ref), "find");
        must(fab_fabric_builder_unlink(b, ref, cable[i].num), "unlink");
    }
    must(fab_fabric_builder_seal(b, &rest), "seal");
    must(fab_fabric_text_write(rest, &text, &len), "write");
    fwrite(text, 1, len, stdout);
    free(text);
    free(cable);
    free(parent);
    fab_fabric_builder_free(b);
    fab_fabric_unref(rest);
    fab_fabric_unref(f);
}

/* ---- tables of OpenSM ------------------------------------------------------------------------ */

/* Reads a line such as "0x0001 012 : (Channel Adapter portguid 0x...: 'name')". */
static bool read_entry(const char *line, uint32_t *lid, unsigned *num, uint64_t *guid)
{
    const char *mark = strstr(line, "portguid ");
    return sscanf(line, "0x%" SCNx32 " %u", lid, num) == 2 && *lid < LIDS && mark != NULL &&
           sscanf(mark, "portguid 0x%" SCNx64, guid) == 1;
}

static FILE *open_dump(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        die(path, "cannot be read");
    return file;
}

static void read_lids(const char *path, const struct fab_fabric *f, struct fab_lids *ret)
{
    FILE *file = open_dump(path);
    char line[1024];
    uint32_t lid;
    unsigned num;
    uint64_t guid;
    must(fab_target_lids_init(ret, f->port_count), "LIDs");
    while (fgets(line, sizeof(line), file) != NULL) {
        if (!read_entry(line, &lid, &num, &guid))
            continue;
        uint32_t port = fab_fabric_port_by_guid(f, guid), node = fab_fabric_node_by_guid(f, guid);
        if (node != FAB_NONE && fab_fabric_node_is_switch(f, node))
            port = fab_fabric_port_id(f, node, 0);
        if (port == FAB_NONE)
            die(path, line);
        ret->base[port] = lid;
    }
    fclose(file);
    must(fab_target_lids_index(ret), path);
}

static void read_tables(const char *path, const struct fab_fabric *f, struct fab_target *t)
{
    char line[1024];
    uint32_t sw = FAB_NONE, lid;
    unsigned num;
    uint64_t guid;
    read_lids(path, f, &t->lids);
    must(fab_target_lft_init(&t->lft, f->switch_count, t->lids.top), "tables");
    FILE *file = open_dump(path);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *mark = strstr(line, "guid 0x");
        if (strncmp(line, "Unicast lids", 12) == 0 && mark != NULL &&
            sscanf(mark, "guid 0x%" SCNx64, &guid) == 1)
            sw = fab_fabric_node_by_guid(f, guid);
        else if (sw != FAB_NONE && read_entry(line, &lid, &num, &guid) && num < 255)
            fab_target_lft_row(&t->lft, sw)[lid] = (uint8_t)num;
    }
    fclose(file);
}

/* ---- judging --------------------------------------------------------------------------------- */

static void print(const struct fab_fabric *f, const struct fab_target *t, const char *name,
                  double ms)
{
    struct fab_verdict v;
    struct fab_quality q;
    must(fab_verify(
             &(struct fab_verify_input){
                 .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls},
             &v),
         "verify");
    must(fab_study_quality_measure(
             &(struct fab_quality_input){
                 .fabric = f, .lids = &t->lids, .lft = &t->lft, .samples = 200, .seed = 1},
             &q),
         "quality");
    printf("%s %.4f %u %.4f %s %" PRIu64 " %.1f %.3f %.4f %.4f %u %s\n", name,
           fab_study_quality_imbalance(&q), q.shift.max, q.bisection.mean,
           v.deadlock_free ? "acyclic" : "cyclic", q.lost, ms, q.shift.mean, q.shift.bandwidth,
           q.random.bandwidth, fab_target_vls_count(&t->vls),
           t->engine[0] != '\0' ? t->engine : "-");
    fab_verify_verdict_fini(&v);
}

static void assign(const struct fab_fabric *f, const struct fab_policy *p, struct fab_target *t)
{
    struct fab_address_note *notes;
    size_t count;
    must(fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = p}, &t->lids, &notes,
                            &count),
         "LIDs");
    free(notes);
}

/* Compares the tables in `t` with those of later engines of the chain, as the manager does, and
 * puts the better ones into `t`. Takes over *v. */
static int choose(const struct fab_route_input *in, const struct fab_route_chain *chain,
                  uint32_t taken, struct fab_target *t, struct fab_verdict *v)
{
    struct fab_engine_choice c = {
        .engine = chain->engine[taken], .lft = t->lft, .vls = t->vls, .verdict = *v};
    int status = fab_study_choose_engine(in, chain, taken, &c);
    snprintf(t->engine, sizeof(t->engine), "%s", c.engine->name);
    t->lft = c.lft;
    t->vls = c.vls;
    fab_verify_verdict_fini(&c.verdict);
    return status;
}

/* Computes the tables as the manager does: runs the engines of the chain in order until the tables
 * of one engine pass the proof, then compares these tables with those of later engines. */
static int route(const struct fab_fabric *f, const struct fab_policy *p,
                 const struct fab_route_chain *chain, struct fab_target *t, char *why, size_t len)
{
    int status = FAB_E_UNSUPPORTED;
    bool flawed = false;
    for (uint32_t i = 0; i < chain->count; i++) {
        struct fab_verdict v;
        struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids, .flawed = &flawed};
        status = chain->engine[i]->run(&in, &t->lft, &t->vls, why, len);
        if (status != FAB_OK)
            continue;
        must(fab_verify(
                 &(struct fab_verify_input){
                     .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .policy = p},
                 &v),
             "verify");
        if (fab_verify_verdict_good(&v))
            return choose(&in, chain, i, t, &v);
        fab_verify_verdict_fini(&v);
        if (i + 1 == chain->count) {
            snprintf(t->engine, sizeof(t->engine), "%s", chain->engine[i]->name);
            return FAB_OK;
        }
        fab_target_lft_fini(&t->lft);
        fab_target_vls_fini(&t->vls);
    }
    return status;
}

/* Computes the tables that `what` names, or reads them from a file. name[64]: receives their name.
 * Returns UNSUPPORTED if the engine refuses the fabric; why[300] has the reason. */
static int make(const struct fab_fabric *f, const char *what, struct fab_target *t, char *name,
                char *why, double *ret_ms)
{
    const char *file = strchr(what, '=');
    struct fab_policy p;
    struct fab_route_chain chain;
    *ret_ms = 0;
    why[0] = '\0';
    snprintf(name, 64, "%.*s", file != NULL ? (int)(file - what) : 63, what);
    if (file != NULL) {
        read_tables(file + 1, f, t);
        return FAB_OK;
    }
    if (fab_route_chain_parse(name, &chain, why, 300) != FAB_OK)
        die(name, "no such engine");
    fab_policy_defaults(&p);
    assign(f, &p, t);
    *ret_ms = now_ms();
    int status = route(f, &p, &chain, t, why, 300);
    *ret_ms = now_ms() - *ret_ms;
    fab_policy_fini(&p);
    return status;
}

static void judge(const struct fab_fabric *f, const char *what)
{
    struct fab_target *t = fab_target_new();
    char name[64], why[300];
    double ms;
    if (make(f, what, t, name, why, &ms) == FAB_OK)
        print(f, t, name, ms);
    else
        printf("%s refused: %s\n", name, why);
    fab_target_unref(t);
}

/* ---- several orders -------------------------------------------------------------------------- */

#define ORDERS 5

struct end {
    const struct fab_fabric *f;
    uint32_t port;
};

static const struct fab_node *node_of(const struct end *e)
{
    return &e->f->nodes[fab_fabric_port(e->f, e->port)->node];
}

static int by_guid(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    uint64_t p = node_of(x)->guid, q = node_of(y)->guid;
    return p != q ? (p > q) - (p < q) : (x->port > y->port) - (x->port < y->port);
}

static int by_name(const void *a, const void *b)
{
    int names = strcmp(node_of(a)->desc, node_of(b)->desc);
    return names != 0 ? names : by_guid(a, b);
}

static int by_leaf(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    uint64_t p = x->f->nodes[fab_fabric_peer_node(x->f, x->port)].guid,
             q = y->f->nodes[fab_fabric_peer_node(y->f, y->port)].guid;
    return p != q ? (p > q) - (p < q) : by_name(a, b);
}

/* Puts the endports of the topological order ends[count] into order number `which`. */
static void reorder(const struct fab_fabric *f, unsigned which, uint64_t seed, uint32_t *ends,
                    uint32_t count)
{
    static int (*const compare[])(const void *a, const void *b) = {NULL, by_name, by_guid, by_leaf};
    struct fab_prng prng;
    struct end *sorted = calloc(count + 1, sizeof(*sorted));
    fab_base_prng_init(&prng, seed);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (struct end){f, ends[i]};
    if (which == ORDERS - 1)
        fab_base_prng_shuffle(&prng, ends, count);
    else if (which > 0)
        qsort(sorted, count, sizeof(*sorted), compare[which]);
    for (uint32_t i = 0; which < ORDERS - 1 && i < count; i++)
        ends[i] = sorted[i].port;
    free(sorted);
}

/* Lists the endports in the order of our own LIDs, so that the order is the same for all tables. */
static uint32_t *topological_order(const struct fab_fabric *f, uint32_t *ret_count)
{
    struct fab_target *t = fab_target_new();
    struct fab_policy p;
    uint32_t *ends;
    fab_policy_defaults(&p);
    assign(f, &p, t);
    must(fab_target_lft_init(&t->lft, f->switch_count, t->lids.top), "tables");
    must(fab_study_quality_endports(
             &(struct fab_quality_input){.fabric = f, .lids = &t->lids, .lft = &t->lft}, &ends,
             ret_count),
         "endports");
    fab_policy_fini(&p);
    fab_target_unref(t);
    return ends;
}

static void print_orders(const struct fab_fabric *f, const struct fab_target *t, const char *name,
                         uint64_t seed)
{
    struct fab_verdict v;
    struct fab_quality q;
    struct fab_quality_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .samples = 200, .seed = seed};
    uint32_t count, *ends = topological_order(f, &count);
    must(fab_verify(
             &(struct fab_verify_input){
                 .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls},
             &v),
         "verify");
    for (unsigned i = 0; i < ORDERS; i++) {
        reorder(f, i, seed, ends, count);
        in.ends = ends;
        in.end_count = count;
        must(fab_study_quality_measure(&in, &q), "quality");
        if (i == 0)
            printf("%s %" PRIu64 " %.4f %.4f %s %" PRIu64 " %u", name, q.all.max,
                   fab_study_quality_imbalance(&q), q.random.bandwidth,
                   v.deadlock_free ? "acyclic" : "cyclic", q.lost, fab_target_vls_count(&t->vls));
        printf(" %u %.3f %.4f", q.shift.max, q.shift.mean, q.shift.bandwidth);
        in.samples = 0;
    }
    printf("\n");
    free(ends);
    fab_verify_verdict_fini(&v);
}

static void judge_orders(const struct fab_fabric *f, uint64_t seed, const char *what)
{
    struct fab_target *t = fab_target_new();
    char name[64], why[300];
    double ms;
    if (make(f, what, t, name, why, &ms) == FAB_OK)
        print_orders(f, t, name, seed);
    else
        printf("%s refused: %s\n", name, why);
    fab_target_unref(t);
}

/* ---- polish ---------------------------------------------------------------------------------- */

static void search(const struct fab_fabric *f, const struct fab_target *t, struct fab_lft *ret,
                   struct fab_polish_progress *ret_progress)
{
    const struct fab_quality_input measured = {.fabric = f, .lids = &t->lids, .lft = &t->lft};
    struct fab_policy p;
    struct fab_polish *s;
    uint32_t *ends;
    fab_policy_defaults(&p);
    struct fab_local_search_input in = {
        .fabric = f, .policy = &p, .lids = &t->lids, .vls = &t->vls};
    must(fab_study_quality_endports(&measured, &ends, &in.end_count), "endports");
    in.ends = ends;
    must(fab_route_polish_new(&in, &t->lft, &s), "polish");
    while (!fab_route_polish_slice(s, UINT64_C(1) << 26)) {
        fab_route_polish_get(s, ret_progress);
        fprintf(stderr, "work %" PRIu64 " load %" PRIu64 " of %" PRIu64 ", bound %" PRIu64 "\n",
                ret_progress->work, ret_progress->load, ret_progress->before, ret_progress->bound);
    }
    fab_route_polish_get(s, ret_progress);
    must(fab_route_polish_take(s, ret), "polish");
    fab_route_polish_free(s);
    free(ends);
    fab_policy_fini(&p);
}

static void polish(const struct fab_fabric *f, const char *what)
{
    struct fab_target *t = fab_target_new();
    struct fab_polish_progress x;
    struct fab_polish_gain g;
    struct fab_lft lft;
    struct fab_verdict v;
    char name[64], why[300];
    double ms, proof_ms, search_ms, judge_ms;
    if (make(f, what, t, name, why, &ms) != FAB_OK)
        die(what, why);
    search_ms = now_ms();
    search(f, t, &lft, &x);
    judge_ms = now_ms();
    must(fab_study_polish_gain(
             &(struct fab_polish_gain_input){
                 .fabric = f, .lids = &t->lids, .before = &t->lft, .after = &lft},
             &g),
         "gain");
    proof_ms = now_ms();
    fab_target_lft_fini(&t->lft);
    t->lft = lft;
    must(fab_verify(
             &(struct fab_verify_input){
                 .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls},
             &v),
         "verify");
    if (!fab_verify_verdict_good(&v))
        die(what, "the polished tables do not pass the proof");
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %.0f %.0f %.0f %.0f %s\n",
           name, x.before, x.load, x.bound, g.entries, g.blocks, g.all_blocks, ms,
           now_ms() - proof_ms, judge_ms - search_ms, proof_ms - judge_ms,
           g.objection != NULL ? g.objection : "-");
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
}

/* Makes the spanning tree of multicast packets, as the manager does. */
static void span(const struct fab_fabric *f, const char *name)
{
    struct fab_target *t = fab_target_new();
    struct fab_policy p;
    char why[300] = "";
    const struct fab_route_engine *engine = fab_route_engine_by_name(name);
    if (engine == NULL)
        die(name, "no such engine");
    fab_policy_defaults(&p);
    assign(f, &p, t);
    const struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
    if (engine->run(&in, &t->lft, &t->vls, why, sizeof(why)) != FAB_OK) {
        printf("%s refused: %s\n", name, why);
    } else {
        struct fab_verify_channels *channels;
        struct fab_mcast_guide guide;
        const struct fab_verify_input proof = {
            .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .policy = &p};
        must(fab_verify_channels_new(&proof, &channels), "channels");
        double ms = now_ms();
        must(fab_spanning_make(channels, 1, &guide), "spanning tree");
        printf("%s %u %u %.1f\n", name, fab_target_vls_count(&t->vls), guide.missed, now_ms() - ms);
        fab_mcast_guide_fini(&guide);
        fab_verify_channels_free(channels);
    }
    fab_policy_fini(&p);
    fab_target_unref(t);
}

int main(int argc, char **argv)
{
    bool spanning = argc > 3 && strcmp(argv[1], "spanning") == 0;
    bool polishes = argc > 3 && strcmp(argv[1], "polish") == 0;
    bool orders = argc > 4 && strcmp(argv[1], "orders") == 0;
    if (argc == 5 && strcmp(argv[1], "damage") == 0) {
        damage(argv[2], (uint32_t)atoi(argv[3]), strtoull(argv[4], NULL, 0));
        return 0;
    }
    if (argc < 3)
        die(argv[0], "FABRIC TABLES... | spanning FABRIC ENGINE... | polish FABRIC ENGINE... | "
                     "orders FABRIC SEED TABLES... | damage FABRIC PER_MILLE SEED");
    bool word = spanning || polishes || orders;
    struct fab_fabric *f = load(argv[word ? 2 : 1]);
    for (int i = orders ? 4 : word ? 3 : 2; i < argc; i++) {
        if (spanning)
            span(f, argv[i]);
        else if (polishes)
            polish(f, argv[i]);
        else if (orders)
            judge_orders(f, strtoull(argv[3], NULL, 0), argv[i]);
        else
            judge(f, argv[i]);
    }
    fab_fabric_unref(f);
    return 0;
}
