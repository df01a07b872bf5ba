/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the CPU times of repairs.
 *
 * bench_repair [-p | -a] [-e engine] [radix | radix,levels | file]...
 *
 * The defaults are fat trees of 648 and 11,664 hosts; `bench_repair 64 80` uses 65,536 and 128,000.
 * With -p, measures only contingency plans. With -a, measures the failure of each single link (or
 * of a sample, chosen by a fixed seed), and counts the failures that are repaired in place.
 *
 * The faults are one link between the lowest ranks, one link between the highest ranks, all links
 * of a top switch, and one link upwards, or all links, of a switch next to the root of the up/down
 * order. (In a tree, this root is the first leaf.) Prints the median and the maximum over a sample
 * that is chosen by a fixed seed. The program is not part of `make check`. It checks only that the
 * tables are restored when the links come back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/route/route.h"
#include "tests/bench/bench.h"

#define FAULTS 21

/* ---- a fabric with tables ------------------------------------------------------------------- */

struct world {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_ranks ranks;
    struct fab_repair *repair;
};

static struct fab_fabric *made(const char *what)
{
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    unsigned radix = 0, levels = 3;
    if (sscanf(what, "%u,%u", &radix, &levels) >= 1) {
        struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels};
        must_why(fab_fabric_generate_fat_tree(&spec, &b), what, "");
    } else {
        static char text[64 << 20];
        FILE *file = fopen(what, "r");
        struct fab_text_error e = {0};
        size_t len = file != NULL ? fread(text, 1, sizeof(text), file) : 0;
        if (file != NULL)
            fclose(file);
        must_why(fab_fabric_text_read(text, len, &b, &e), what, e.message);
    }
    must_why(fab_fabric_builder_seal(b, &f), "seal", "");
    fab_fabric_builder_free(b);
    return f;
}

/* Assigns LIDs to all ports, even beyond the last unicast LID of InfiniBand, where
 * libfabmgr/address stops. The rest of the library has no such limit. */
static void assign_beyond(const struct fab_fabric *f, struct fab_lids *lids)
{
    uint32_t next = 1;
    must_why(fab_target_lids_init(lids, f->port_count), "LIDs", "");
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
            if (peer != FAB_NONE && fab_fabric_port(f, peer)->node >= f->switch_count)
                lids->base[peer] = next++;
        }
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        lids->base[fab_fabric_port_id(f, sw, 0)] = next++;
    must_why(fab_target_lids_index(lids), "index", "");
}

static void assign(struct world *w)
{
    struct fab_address_note *notes = NULL;
    size_t count;
    struct fab_address_input in = {.fabric = w->f, .policy = &w->policy};
    int status = fab_address_assign(&in, &w->lids, &notes, &count);
    if (status == FAB_E_LIMIT)
        assign_beyond(w->f, &w->lids);
    else
        must_why(status, "address", "");
    free(notes);
}

static void prepare(struct world *w, const char *what, const char *engine)
{
    char why[480] = "";
    fab_policy_defaults(&w->policy);
    w->f = made(what);
    assign(w);
    struct fab_route_input in = {.fabric = w->f, .policy = &w->policy, .lids = &w->lids};
    const struct fab_route_engine *e = fab_route_engine_by_name(engine);
    if (e == NULL)
        must_why(FAB_E_NOT_FOUND, engine, "");
    double start = cpu_us();
    must_why(e->run(&in, &w->lft, &w->vls, why, sizeof(why)), engine, why);
    double routed = cpu_us();
    printf("%s: %u switches, %u LIDs, %u links; %s: %s\n", what, w->f->switch_count, w->lids.top,
           w->f->link_count, engine, why);
    must_why(fab_route_ranks_of_tree(w->f, &w->policy, &w->ranks), "ranks", "");
    struct fab_repair_input base = {
        .fabric = w->f, .policy = &w->policy, .lids = &w->lids, .lft = &w->lft, .vls = &w->vls};
    double ready = cpu_us();
    must_why(fab_repair_new(&base, &w->repair, why, sizeof(why)), "repair", why);
    printf("  engine %.1f ms, repair prepared in %.1f ms, %.1f MB beside %.1f MB of tables; %s\n",
           (routed - start) / 1e3, (cpu_us() - ready) / 1e3,
           (double)fab_repair_memory(w->repair) / 1e6,
           (double)w->lft.stride * w->lft.switch_count / 1e6, fab_repair_label_source(w->repair));
}

/* ---- faults ---------------------------------------------------------------------------------- */

struct times {
    double plan, prove, order, bytes, total, mend;
    size_t changes, blocks, writes, lost, drained;
    uint32_t steps;
};

static int by_total(const void *a, const void *b)
{
    const struct times *x = a, *y = b;
    return x->total < y->total ? -1 : x->total > y->total;
}

/* Repairs the tables for this set of dead links. Measures the parts: plan, proof, order of writes,
 * encoding and commit. */
static int step(struct world *w, const uint32_t *dead, size_t count, struct times *ret)
{
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[200] = "";
    uint8_t bytes[FAB_LFT_BLOCK];
    unsigned sum = 0;
    double start = cpu_us();
    int status = fab_repair_plan(w->repair, &w->lft, dead, count, &d, why, sizeof(why));
    if (status == FAB_E_UNSUPPORTED) {
        return status;
    }
    must_why(status, "plan", why);
    double planned = cpu_us();
    must_why(fab_repair_prove(w->repair, &w->lft, &d, &at), "proof", "");
    double proven = cpu_us();
    must_why(fab_repair_order(w->repair, &w->lft, &d), "order", "");
    double ordered = cpu_us();
    for (size_t i = 0; i < d.writes; i++) {
        fab_repair_write_bytes(&w->lft, &d, &d.write[i], bytes);
        sum += bytes[i % FAB_LFT_BLOCK];
    }
    fab_repair_commit(w->repair, &w->lft, &d);
    double end = cpu_us();
    *ret = (struct times){.plan = planned - start,
                          .prove = proven - planned,
                          .order = ordered - proven,
                          .bytes = end - ordered + (sum == 1 ? 1e-9 : 0),
                          .total = end - start,
                          .changes = d.changes,
                          .blocks = d.blocks,
                          .writes = d.writes,
                          .lost = d.lost,
                          .drained = d.drained,
                          .steps = d.steps};
    fab_repair_delta_fini(&d);
    return FAB_OK;
}

static void print_times(const char *what, struct times *t, size_t count, size_t refused)
{
    qsort(t, count, sizeof(*t), by_total);
    for (size_t k = 0; k < 2 && count > 0; k++) {
        const struct times *m = &t[k == 0 ? count / 2 : count - 1];
        printf("  %-12s %-6s %8.0f us = plan %.0f + prove %.0f + order %.0f + bytes %.0f; restore "
               "%.0f; %zu entries, %zu blocks, %zu writes, %u steps\n",
               k == 0 ? what : "", k == 0 ? "median" : "worst", m->total, m->plan, m->prove,
               m->order, m->bytes, m->mend, m->changes, m->blocks, m->writes, m->steps);
    }
    if (refused > 0)
        printf("  %-12s refused %zu of %zu\n", what, refused, refused + count);
}

/* Writes the ids of the links that fail to ret[], and returns their number. If `all` is true, these
 * are all links of the switch with the port `fault`; otherwise, only the link of this port. */
static size_t links_of(const struct world *w, uint32_t fault, bool all, uint32_t ret[256])
{
    uint32_t sw = fab_fabric_port(w->f, fault)->node;
    size_t count = 0;
    ret[0] = fault;
    if (!all)
        return 1;
    for (unsigned num = 1; num <= w->f->nodes[sw].num_ports; num++)
        ret[count++] = fab_fabric_port_id(w->f, sw, (uint8_t)num);
    return count;
}

/* For each port in fault[]: its link fails and comes back, and the repairs are measured. Prints the
 * times. all: all other links of the switch of this port fail, too. */
static void run_faults(struct world *w, const char *what, uint32_t *fault, size_t count, bool all)
{
    struct times t[FAULTS], back;
    size_t done = 0, refused = 0;
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    fab_base_prng_shuffle(&prng, fault, count);
    for (size_t i = 0; i < count && done + refused < FAULTS; i++) {
        uint32_t dead[256];
        size_t deads = links_of(w, fault[i], all, dead);
        if (step(w, dead, deads, &t[done]) != FAB_OK) {
            refused++;
            continue;
        }
        must_why(step(w, NULL, 0, &back), "restore", "");
        t[done++].mend = back.total;
    }
    print_times(what, t, done, refused);
}

#define EACH 4000

/* Measures the repairs of single link failures: how long they take, and in how many cases every
 * entry still has a path. */
static void run_each(struct world *w, uint32_t *fault)
{
    struct times *t = calloc(EACH, sizeof(*t)), back;
    const struct fab_fabric *f = w->f;
    size_t count = 0, done = 0, refused = 0, losses = 0, drained = 0;
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer != FAB_NONE && peer > port &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
            fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node) &&
            fab_fabric_port_is_up(f, port))
            fault[count++] = port;
    }
    /* Only a sample of the links is measured if there are many: always the first 300, and others at
     * random. In a tree, some of the first links belong to the root of the up/down order, and their
     * repairs take longer. */
    if (count > EACH) {
        fab_base_prng_shuffle(&prng, fault + 300, count - 300);
        count = EACH;
    }
    for (size_t i = 0; i < count; i++) {
        if (step(w, &fault[i], 1, &t[done]) != FAB_OK) {
            refused++;
            continue;
        }
        losses += t[done].lost > 0;
        must_why(step(w, NULL, 0, &back), "restore", "");
        drained += back.drained > 0;
        t[done++].mend = back.total;
    }
    print_times("each link", t, done, refused);
    printf("  of %zu links %zu repaired in place (%.1f %%), %zu with paths left out, %zu refused; "
           "drained when restored: %zu\n",
           count, done - losses, count > 0 ? 100.0 * (double)(done - losses) / (double)count : 0,
           losses, refused, drained);
    free(t);
}

static uint8_t highest_rank(const struct world *w)
{
    uint8_t highest = 0;
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++)
        highest = w->ranks.rank[sw] > highest ? w->ranks.rank[sw] : highest;
    return highest;
}

/* Writes to ret[] the ports of switches of this rank that lead to a higher rank. */
static size_t links_up(const struct world *w, uint8_t rank, uint32_t *ret)
{
    const struct fab_fabric *f = w->f;
    size_t count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; w->ranks.rank[sw] == rank && num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                     peer = fab_fabric_peer_node(f, port);
            if (peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) &&
                fab_fabric_port_is_up(f, port) && w->ranks.rank[peer] > rank)
                ret[count++] = port;
        }
    }
    return count;
}

static size_t switches_of(const struct world *w, uint8_t rank, uint32_t *ret)
{
    size_t count = 0;
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++) {
        if (w->ranks.rank[sw] == rank)
            ret[count++] = fab_fabric_port_id(w->f, sw, 1);
    }
    return count;
}

/* Writes to ret[] the neighbours of the root of the up/down order. All paths of other switches to
 * the root lead through them. */
static size_t switches_by_root(const struct world *w, uint32_t *ret)
{
    const struct fab_fabric *f = w->f;
    uint32_t root = 0;
    size_t count = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        root = w->ranks.order[sw] > w->ranks.order[root] ? sw : root;
    for (unsigned num = 1; num <= f->nodes[root].num_ports; num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, root, (uint8_t)num));
        if (peer != FAB_NONE && fab_fabric_node_is_switch(f, peer))
            ret[count++] = fab_fabric_port_id(f, peer, 1);
    }
    return count;
}

/* Writes to ret[] the ports of these neighbours that lead to a higher rank. For a switch of this
 * rank, such a link may be the only one that leads up in the up/down order. */
static size_t links_by_root(const struct world *w, uint32_t *ret)
{
    const struct fab_fabric *f = w->f;
    uint32_t near[256];
    size_t nears = switches_by_root(w, near), count = 0;
    for (size_t i = 0; i < nears; i++) {
        uint32_t sw = fab_fabric_port(f, near[i])->node;
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                     peer = fab_fabric_peer_node(f, port);
            if (peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) &&
                w->ranks.rank[peer] > w->ranks.rank[sw])
                ret[count++] = port;
        }
    }
    return count;
}

/* ---- with a stored plan ---------------------------------------------------------------------- */

/* Overwrites the CPU caches, as other work of the daemon between two repairs would do. */
static void evict_caches(void)
{
    static uint8_t other[48 << 20];
    for (size_t i = 0; i < sizeof(other); i += 64)
        other[i]++;
}

/* Carries out a stored contingency plan. Returns the time in us from the moment when the failed
 * link is known until the writes of the plan are encoded and the plan is committed. */
static double take_plan(struct world *w, const struct fab_repair_contingencies *all, uint32_t port)
{
    struct fab_repair_delta d;
    uint8_t bytes[FAB_LFT_BLOCK];
    unsigned sum = 0;
    double start = cpu_us();
    must_why(fab_repair_contingencies_find(all, w->repair, &w->lft, &port, 1, &d), "stored plan",
             "");
    for (size_t i = 0; i < d.writes; i++) {
        fab_repair_write_bytes(&w->lft, &d, &d.write[i], bytes);
        sum += bytes[i % FAB_LFT_BLOCK];
    }
    fab_repair_commit(w->repair, &w->lft, &d);
    double took = cpu_us() - start + (sum == 1 ? 1e-9 : 0);
    fab_repair_delta_fini(&d);
    return took;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Number of stored plans that are measured. After each of them, the tables are restored, because a
 * commit makes all other plans invalid. */
#define PLANS 32

/* Marks some links of each level as likely to fail, so that their contingencies are computed
 * first. */
static void put_links_first(const struct world *w, struct fab_repair_contingency_maker *m)
{
    uint32_t *link = malloc(w->f->port_count * sizeof(*link)), likely[2 * PLANS];
    size_t count = 0;
    if (link == NULL)
        exit(1);
    for (uint8_t rank = 0; rank < highest_rank(w); rank++)
        count += links_up(w, rank, link + count);
    for (size_t i = 0; i < 2 * PLANS; i++)
        likely[i] = link[i * count / (2 * PLANS)];
    must_why(fab_repair_contingency_set_likely(m, likely, 2 * PLANS), "likely links", "");
    free(link);
}

static void run_plans(struct world *w)
{
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_contingency c;
    double took[PLANS], made = 0;
    size_t plans = 0, cases = 0, bytes = 0, entries = 0;
    must_why(fab_repair_contingency_begin(w->repair, &m), "contingencies", "");
    fab_repair_contingency_set_tables(m, &w->lft);
    put_links_first(w, m);
    while (w->lids.top < 50000 && fab_repair_contingency_prepare(m))
        ;
    double ready = cpu_us();
    while (plans < PLANS && fab_repair_contingency_next(m, true, &c) == FAB_OK && !c.is_switch) {
        struct fab_repair_contingencies one;
        struct times back;
        /* In a tree, the first leaf is the root of the up/down order. Repairs of its links take
         * twice as long, so only a few of them are measured. */
        if (fab_fabric_port(w->f, c.id)->node == 0 && cases++ > PLANS / 8) {
            fab_repair_stored_plan_unref(c.plan);
            ready = cpu_us();
            continue;
        }
        made += cpu_us() - ready;
        must_why(fab_repair_contingencies_init(&one, w->repair), "contingency", "");
        /* The tables are those for which the plan was made, because all links are back. The plan
         * only lacks the present number of commits. */
        c.commits = one.commits;
        fab_repair_contingencies_add(&one, &c);
        bytes += c.plan_len;
        entries += c.entries;
        evict_caches();
        took[plans++] = take_plan(w, &one, c.id);
        must_why(step(w, NULL, 0, &back), "restore", "");
        fab_repair_contingencies_fini(&one);
        ready = cpu_us();
    }
    if (plans > 0) {
        qsort(took, plans, sizeof(*took), by_number);
        printf("  stored plan median %8.0f us, 90th %.0f us, worst %.0f us of %zu links; %zu "
               "entries, %zu bytes "
               "a plan; made in %.1f ms each; %u cases; %.1f MB while they are made\n",
               took[plans / 2], took[plans * 9 / 10], took[plans - 1], plans, entries / plans,
               bytes / plans, made / (double)plans / 1e3, fab_repair_contingency_cases(m),
               (double)fab_repair_contingency_memory(m) / 1e6);
    }
    fab_repair_contingency_end(m);
}

enum what_to_run { FAULTS_AND_PLANS, PLANS_ALONE, EACH_CABLE };

/* ---- versions that readers keep -------------------------------------------------------------- */

#define READERS 10

/* Makes the next snapshot of the fabric and the next version of the tables after a link has failed.
 * Returns the time for this in us. The plan, its proof and the order of its writes are not
 * included. */
static double next_version(struct world *w, struct fab_fabric **f, const uint32_t *dead,
                           size_t count)
{
    struct fab_repair_delta d;
    struct fab_fabric *next;
    char why[200] = "";
    must_why(fab_repair_plan(w->repair, &w->lft, dead, count, &d, why, sizeof(why)), "plan", why);
    fab_target_lft_prepare(&w->lft); /* the manager does this after each repair */
    double start = cpu_us();
    must_why(fab_fabric_next(*f, &next), "next", "");
    if (count > 0)
        must_why(fab_fabric_remove_link(next, dead[count - 1]), "link", "");
    must_why(fab_repair_prepare_commit(&d, NULL, &w->lft), "prepare", "");
    fab_repair_commit(w->repair, &w->lft, &d);
    double took = cpu_us() - start;
    fab_repair_delta_fini(&d);
    fab_fabric_unref(*f);
    *f = next;
    return took;
}

/* Measures how long new versions take while older ones are in use. Ten links fail one after the
 * other. Before each failure, a reader takes a reference to the snapshot and to the tables, and
 * keeps it until `readers` more links have failed. Prints the times, and the memory at the end. */
static void run_versions(struct world *w, const uint32_t *port, size_t ports, uint32_t readers)
{
    struct fab_lft lft[READERS] = {{0}};
    struct fab_fabric *f = fab_fabric_ref(w->f), *kept[READERS] = {NULL};
    uint32_t dead[READERS];
    double worst = 0, sum = 0;
    for (uint32_t i = 0; i < READERS; i++) {
        dead[i] = port[i * (ports / READERS)];
        fab_target_lft_fini(&lft[i % readers]);
        fab_fabric_unref(kept[i % readers]);
        lft[i % readers] = fab_target_lft_share(&w->lft);
        kept[i % readers] = fab_fabric_ref(f);
        double took = next_version(w, &f, dead, i + 1);
        worst = took > worst ? took : worst;
        sum += took;
    }
    double one = (double)w->lft.stride * w->lft.switch_count +
                 (double)f->port_count * sizeof(struct fab_port);
    double more = (double)(fab_base_pages_memory(&w->lft.pages) + fab_base_pages_memory(&f->ports));
    printf("  versions     mean %10.0f us, worst %.0f us; %u reader%s of old versions: %.1f MB and "
           "%.1f MB more, %.2f times one\n",
           sum / READERS, worst, readers, readers > 1 ? "s" : "", one / 1e6, more / 1e6,
           1 + more / one);
    for (uint32_t i = 0; i < readers; i++) {
        fab_target_lft_fini(&lft[i]);
        fab_fabric_unref(kept[i]);
    }
    (void)next_version(w, &f, NULL, 0);
    fab_fabric_unref(f);
}

static void run(const char *what, const char *engine, enum what_to_run mode)
{
    bool faults = mode == FAULTS_AND_PLANS;
    struct world w = {0};
    prepare(&w, what, engine);
    struct fab_lft before;
    uint8_t highest = highest_rank(&w);
    uint32_t *fault = malloc(w.f->port_count * sizeof(*fault));
    if (fault == NULL)
        exit(1);
    must_why(fab_target_lft_copy(&w.lft, &before), "copy", "");
    for (uint8_t rank = 0; faults && rank < highest; rank++)
        run_faults(&w,
                   rank == 0             ? "leaf link"
                   : rank + 1 == highest ? "core link"
                                         : "mid link",
                   fault, links_up(&w, rank, fault), false);
    if (faults && highest > 1)
        run_faults(&w, "core by root", fault, links_by_root(&w, fault), false);
    if (faults && highest > 1)
        run_faults(&w, "mid switch", fault, switches_of(&w, 1, fault), true);
    if (faults)
        run_faults(&w, "by the root", fault, switches_by_root(&w, fault), true);
    if (faults)
        run_faults(&w, "top switch", fault, switches_of(&w, highest, fault), true);
    if (faults)
        run_versions(&w, fault, links_up(&w, 0, fault), 1);
    if (faults)
        run_versions(&w, fault, links_up(&w, 0, fault), READERS);
    if (mode == EACH_CABLE)
        run_each(&w, fault);
    else
        run_plans(&w);
    printf("  restoring the links %s the tables\n",
           fab_target_lft_same(&before, &w.lft) ? "restored" : "DID NOT RESTORE");
    fab_target_lft_fini(&before);
    free(fault);
    fab_repair_free(w.repair);
    fab_route_ranks_fini(&w.ranks);
    fab_target_lft_fini(&w.lft);
    fab_target_vls_fini(&w.vls);
    fab_target_lids_fini(&w.lids);
    fab_policy_fini(&w.policy);
    fab_fabric_unref(w.f);
}

int main(int argc, char **argv)
{
    const char *engine = "fattree";
    int first = 1;
    enum what_to_run mode = FAULTS_AND_PLANS;
    if (argc > 1 && (strcmp(argv[1], "-p") == 0 || strcmp(argv[1], "-a") == 0)) {
        mode = argv[1][1] == 'p' ? PLANS_ALONE : EACH_CABLE;
        first = 2;
    }
    if (argc > first + 1 && strcmp(argv[first], "-e") == 0) {
        engine = argv[first + 1];
        first += 2;
    }
    if (first == argc) {
        run("36,2", engine, mode);
        run("36,3", engine, mode);
    }
    for (int i = first; i < argc; i++)
        run(argv[i], engine, mode);
    return 0;
}
