/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares results of pure functions of libfabmgr with golden files in tests/unit/golden: tables of
 * all engines, plans of writes, local repairs with their orders, contingencies, quality figures,
 * exports and congestion settings. UPDATE_GOLDEN=1 rewrites the files. Other tests check what must
 * hold for any such result; this test notices that a result has changed.
 */
#include <string.h>

#include "libfabmgr/address/address.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/congestion/explain.h"
#include "libfabmgr/export/export.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/study/whatif.h"
#include "tests/support/golden.h"
#include "tests/unit/testing.h"

/* ---- a fabric and its tables ----------------------------------------------------------------- */

struct world {
    FILE *out;
    struct fab_fabric *f;
    struct fab_policy policy;
    /* the tables of the first engine that supports f without faults */
    struct fab_target *whole;
    /* digests of the LFTs whose repairs and plans the test has printed, so that it prints none
     * twice */
    uint64_t seen[16];
    unsigned seen_count;
};

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
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

/* Returns the tables of an engine; NULL: it does not support the fabric. */
static struct fab_target *tables_of(struct world *w, const struct fab_fabric *f,
                                    const struct fab_route_engine *engine, char *why, size_t len)
{
    struct fab_target *t = fab_target_new();
    struct fab_address_note *notes = NULL;
    size_t count;
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(
        fab_address_assign(&(struct fab_address_input){.fabric = f, .policy = &w->policy}, &t->lids,
                           &notes, &count),
        FAB_OK);
    free(notes);
    const struct fab_route_input in = {.fabric = f, .policy = &w->policy, .lids = &t->lids};
    if (engine->run(&in, &t->lft, &t->vls, why, len) == FAB_OK)
        return t;
    fab_target_unref(t);
    return NULL;
}

static const char *place(const struct fab_fabric *f, uint32_t port)
{
    static char text[4][100];
    static unsigned next;
    char *to = text[next++ % 4];
    if (port == FAB_NONE)
        return "-";
    snprintf(to, sizeof text[0], "%s/%u", f->nodes[fab_fabric_port(f, port)->node].desc,
             fab_fabric_port(f, port)->num);
    return to;
}

static bool is_isl(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return fab_fabric_port(f, port)->node < f->switch_count && peer != FAB_NONE && peer > port &&
           fab_fabric_port(f, peer)->node < f->switch_count;
}

/* ---- figures and exports --------------------------------------------------------------------- */

static void print_quality(struct world *w, const struct fab_target *t)
{
    const struct fab_quality_input in = {
        .fabric = w->f, .lids = &t->lids, .lft = &t->lft, .samples = 30, .seed = 5};
    struct fab_quality q;
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    fprintf(w->out,
            "    endports %u, leaves %u, channels %u, pairs %" PRIu64 ", lost %" PRIu64
            ", all-to-all max %" PRIu64 " of bound %" PRIu64
            " mean %.3f sigma %.3f unused %u\n    permutation bound %u, shift max %u worst %u, "
            "random median %u max %u, bisection mean %.3f least %.3f, hops",
            q.ends, q.leaves, q.channels, q.pairs, q.lost, q.all.max, q.all.bound, q.all.mean,
            q.all.sigma, q.all.unused, q.permutation_bound, q.shift.max, q.shift.worst,
            q.random.median, q.random.max, q.bisection.mean, q.bisection.least);
    for (unsigned i = 0; i < FAB_QUALITY_HOPS; i++)
        if (q.hops[i] > 0)
            fprintf(w->out, " %u:%" PRIu64, i, q.hops[i]);
    fputc('\n', w->out);
}

static void print_exports(struct world *w, const struct fab_target *t, const char *engine)
{
    const struct fab_verify_input tables = {
        .fabric = w->f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .policy = &w->policy};
    struct fab_verify_numbers numbers = {0};
    bool numbered = fab_verify_number(&tables, &numbers) == FAB_OK;
    for (int format = 0; format < FAB_EXPORT_COUNT; format++) {
        const struct fab_export_input in = {.fabric = w->f,
                                            .lids = &t->lids,
                                            .lft = &t->lft,
                                            .vls = &t->vls,
                                            .policy = &w->policy,
                                            .engine = engine,
                                            .generation = 3,
                                            .numbers = numbered ? &numbers : NULL};
        struct fab_export *e;
        struct fab_text text = {0};
        bool done = false;
        if (format == FAB_EXPORT_CERTIFICATE && !numbered) {
            fprintf(w->out, "export %d: the tables are not deadlock-free\n", format);
            continue;
        }
        ck_assert_int_eq(fab_export_new(&in, (enum fab_export_format)format, &e), FAB_OK);
        while (!done)
            ck_assert_int_eq(fab_export_next(e, &text, &done), FAB_OK);
        const char *s = fab_base_text_get(&text);
        fprintf(w->out, "export %d: %zu bytes, digest %016" PRIx64 "\n", format, strlen(s),
                golden_hash(GOLDEN_HASH, s, strlen(s)));
        for (unsigned line = 0; line < 3 && *s != '\0'; line++) {
            size_t len = strcspn(s, "\n");
            fprintf(w->out, "    %.*s\n", (int)(len < 110 ? len : 110), s);
            s += len + (s[len] == '\n');
        }
        fab_base_text_fini(&text);
        fab_export_free(e);
    }
    fab_verify_numbers_fini(&numbers);
}

static void print_reasons(struct world *w, const struct fab_congestion *c, uint32_t port)
{
    struct fab_congestion_reason reason[FAB_CONGESTION_REASONS];
    unsigned count = fab_congestion_explain(c, w->f, &w->policy, port, 0, reason);
    fprintf(w->out, "  %s\n", place(w->f, port));
    for (unsigned i = 0; i < count; i++)
        fprintf(w->out, "    %s %u: %s\n", reason[i].name, reason[i].value, reason[i].why);
}

static void print_table(struct world *w, const struct fab_congestion_table *t)
{
    uint64_t digest = GOLDEN_HASH;
    for (uint32_t i = 0; i <= t->limit; i++)
        digest = hash_number(digest, t->entry[i]);
    fprintf(w->out, "    table of %u entries, digest %016" PRIx64 "\n", t->limit + 1u, digest);
}

/* Prints the explanation of each congestion control setting, as it is for the first port with this
 * setting. */
static void print_congestion(struct world *w)
{
    static const char *const names[] = {"off", "balanced", "incast", "collective"};
    for (uint8_t profile = 1; profile < 4; profile++) {
        struct fab_congestion c;
        bool seen[2][256] = {{0}};
        w->policy.congestion.profile = profile;
        const struct fab_congestion_input in = {.fabric = w->f, .policy = &w->policy};
        ck_assert_int_eq(fab_congestion_compute(&in, &c), FAB_OK);
        fprintf(w->out, "congestion settings, profile %s\n", names[profile]);
        for (uint32_t port = 0; port < c.ports; port++) {
            bool of_switch = fab_fabric_port(w->f, port)->node < w->f->switch_count;
            uint16_t i = c.of_port[port];
            if (i >= 256 || seen[of_switch][i])
                continue;
            seen[of_switch][i] = true;
            print_reasons(w, &c, port);
            if (!of_switch)
                print_table(w, &c.adapter[i].table);
        }
        fab_congestion_fini(&c);
    }
}

static void print_whatif(struct world *w, uint32_t port)
{
    const struct fab_whatif_input in = {.fabric = w->f,
                                        .lids = &w->whole->lids,
                                        .lft = &w->whole->lft,
                                        .ports = &port,
                                        .port_count = 1};
    struct fab_whatif x;
    struct fab_whatif_change change;
    char why[400];
    int status = fab_study_whatif_make(&in, &x);
    fprintf(w->out, "what if %s fails: ", place(w->f, port));
    if (status != FAB_OK) {
        fprintf(w->out, "status %d\n", status);
        return;
    }
    const struct fab_route_input route = {
        .fabric = x.fabric, .policy = &w->policy, .lids = &x.lids};
    struct fab_lft lft = {0};
    struct fab_vls vls = {0};
    fprintf(w->out, "%u cables, %u switches lost, %u endports lost", x.cables, x.lost_switches,
            x.lost_count);
    if (fab_route_engine_by_name("updn")->run(&route, &lft, &vls, why, sizeof why) == FAB_OK) {
        fab_study_whatif_compare(&x.kept, &lft, &change);
        fprintf(w->out, "; %" PRIu64 " entries, %" PRIu64 " of %" PRIu64 " blocks, %u switches",
                change.entries, change.blocks, change.all_blocks, change.switches);
        fab_target_lft_fini(&lft);
        fab_target_vls_fini(&vls);
    }
    fputc('\n', w->out);
    fab_study_whatif_fini(&x);
}

/* ---- plans of writes ------------------------------------------------------------------------- */

static void print_plan(struct world *w, const char *what, const struct fab_fabric *f,
                       const struct fab_target *before, const struct fab_target *now)
{
    static const char *const stages[] = {"switch",     "early",          "ISLs",         "VLArb",
                                         "SL2VL",      "SL2VL line",     "SL2VL pair",   "ISLs up",
                                         "routes",     "P_Keys removed", "P_Keys added", "endports",
                                         "endports up"};
    struct fab_observed at;
    struct fab_plan plan;
    const struct fab_plan_input in = {
        .fabric = f, .policy = &w->policy, .target = now, .observed = &at, .sm_lid = 1};
    ck_assert_int_eq(fab_plan_observed_init(&at, f->switch_count, now->lids.top), FAB_OK);
    for (uint32_t sw = 0; before != NULL && sw < f->switch_count; sw++)
        for (uint32_t block = 0; block < at.blocks; block++)
            fab_plan_observed_set_block(&at, sw, block,
                                        fab_target_lft_row(&before->lft, sw) +
                                            (size_t)block * FAB_LFT_BLOCK);
    ck_assert_int_eq(fab_plan_make(&in, &plan), FAB_OK);
    fprintf(w->out, "plan %s: unordered %u, unchecked %d\n", what, plan.unordered, plan.unchecked);
    for (unsigned stage = 0; stage < FAB_STAGE_COUNT; stage++) {
        uint32_t waits = 0, awaited = 0, barriers = 0, parts = 0;
        uint64_t digest = GOLDEN_HASH;
        for (uint32_t i = plan.stage_start[stage]; i < plan.stage_start[stage + 1]; i++) {
            const struct fab_plan_op *op = &plan.ops[i];
            uint8_t data[FAB_SMP_DATA];
            uint32_t mod;
            ck_assert_int_eq(fab_plan_encode(&in, op, data, &mod), FAB_OK);
            const uint64_t head[] = {
                op->node, op->port,  op->attr_id, op->state,
                mod,      op->drain, op->awaited, op->waits | op->barrier * 2u};
            digest = golden_hash(golden_hash_numbers(digest, head, sizeof head / sizeof *head),
                                 data, sizeof data);
            waits += op->waits;
            awaited += op->awaited;
            barriers += op->barrier;
            parts += op->attr_id == FAB_ATTR_LFT && op->keep != 0;
        }
        if (plan.stage_start[stage + 1] > plan.stage_start[stage])
            fprintf(w->out,
                    "    %s: %u writes, %u wait, %u awaited, %u barriers, %u in parts, digest "
                    "%016" PRIx64 "\n",
                    stages[stage], plan.stage_start[stage + 1] - plan.stage_start[stage], waits,
                    awaited, barriers, parts, digest);
    }
    fab_plan_fini(&plan);
    fab_plan_observed_fini(&at);
}

/* ---- repairs --------------------------------------------------------------------------------- */

static uint64_t hash_delta(const struct fab_lft *lft, const struct fab_repair_delta *d)
{
    uint64_t digest = GOLDEN_HASH;
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        const uint64_t x[] = {c->lid, c->sw, c->was, c->now, c->stale};
        digest = golden_hash_numbers(digest, x, sizeof x / sizeof *x);
    }
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *v = &d->write[i];
        uint8_t bytes[FAB_LFT_BLOCK];
        const uint64_t x[] = {v->sw,    v->block,   v->step, v->entries, v->weight,
                              v->first, v->changes, v->keep, v->drain,   v->early};
        fab_repair_write_bytes(lft, d, v, bytes);
        digest =
            golden_hash(golden_hash_numbers(digest, x, sizeof x / sizeof *x), bytes, sizeof bytes);
    }
    return digest;
}

static void print_repair(struct world *w, struct fab_repair *r, struct fab_lft *lft,
                         const uint32_t *dead, size_t count)
{
    struct fab_repair_delta d;
    struct fab_repair_change at;
    char why[300] = "";
    fputs("    dead", w->out);
    for (size_t i = 0; i < count; i++)
        fprintf(w->out, " %s", place(w->f, dead[i]));
    int status = fab_repair_plan(r, lft, dead, count, &d, why, sizeof why);
    if (status != FAB_OK) {
        fprintf(w->out, ": status %d, %s\n", status, why);
        return;
    }
    ck_assert_int_eq(fab_repair_prove(r, lft, &d, &at), FAB_OK);
    ck_assert_int_eq(fab_repair_order(r, lft, &d), FAB_OK);
    fprintf(w->out,
            ": %zu changes, %zu writes of %zu blocks in %u steps, %zu drained, %zu cut, %zu lost, "
            "%zu differ, label set %u, %zu relabelled, digest %016" PRIx64 "\n",
            d.changes, d.writes, d.blocks, d.steps, d.drained, d.cut, d.lost, d.entries,
            d.label_set, d.relabels, hash_delta(lft, &d));
    fab_repair_commit(r, lft, &d);
    fab_repair_delta_fini(&d);
}

static void print_contingencies(struct world *w, const struct fab_repair *r,
                                const struct fab_lft *lft)
{
    struct fab_repair_contingency_maker *m;
    struct fab_repair_contingency c;
    ck_assert_int_eq(fab_repair_contingency_begin(r, &m), FAB_OK);
    fab_repair_contingency_set_tables(m, lft);
    while (fab_repair_contingency_prepare(m))
        ;
    fprintf(w->out, "  contingencies: %u cases, load %" PRIu64 "\n",
            fab_repair_contingency_cases(m), fab_repair_contingency_load(m));
    uint64_t digest = GOLDEN_HASH;
    for (unsigned i = 0; fab_repair_contingency_next(m, true, &c) == FAB_OK; i++) {
        const uint64_t x[] = {c.is_switch, c.outcome,       c.id,      c.peer,
                              c.lost_ends, c.lost_switches, c.entries, c.blocks,
                              c.switches,  c.steps,         c.load,    c.busiest};
        digest = golden_hash_numbers(digest, x, sizeof x / sizeof *x);
        digest = golden_hash(digest, c.plan != NULL ? c.plan->bytes : NULL, c.plan_len);
        if (i % 6 == 0)
            fprintf(w->out,
                    "    %s: outcome %u, lost %u endports %u switches, %u entries %u blocks %u "
                    "switches %u steps, load %" PRIu64 " at %s, plan of %u bytes\n",
                    c.is_switch ? w->f->nodes[c.id].desc : place(w->f, c.id), c.outcome,
                    c.lost_ends, c.lost_switches, c.entries, c.blocks, c.switches, c.steps, c.load,
                    c.outcome == FAB_CONTINGENCY_PLAN ? place(w->f, c.busiest) : "-", c.plan_len);
        fab_repair_stored_plan_unref(c.plan);
    }
    fprintf(w->out, "    all: digest %016" PRIx64 "\n", digest);
    fab_repair_contingency_end(m);
}

static void print_repairs(struct world *w, const struct fab_target *t)
{
    const struct fab_repair_input in = {
        .fabric = w->f, .policy = &w->policy, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls};
    struct fab_repair *r;
    struct fab_lft lft;
    char why[300] = "";
    uint32_t dead[3] = {0};
    size_t isls = 0, of_switch = 0;
    uint32_t all[64];
    int status = fab_repair_new(&in, &r, why, sizeof why);
    if (status != FAB_OK) {
        fprintf(w->out, "  no repair: %s\n", why);
        return;
    }
    ck_assert_int_eq(fab_target_lft_init(&lft, t->lft.switch_count, t->lft.top), FAB_OK);
    memcpy(lft.entries, t->lft.entries, t->lft.stride * t->lft.switch_count);
    fprintf(w->out, "  repairs, labels by %s\n", fab_repair_label_source(r));
    print_contingencies(w, r, &lft);
    for (uint32_t port = 0; port < w->f->port_count; port++) {
        /* Prints a repair for every eighth ISL port. The dead links are the link of this port and,
         * if there are any, those of the last two repairs. */
        if (is_isl(w->f, port) && isls++ % 8 == 0) {
            dead[2] = dead[1];
            dead[1] = dead[0];
            dead[0] = port;
            print_repair(w, r, &lft, dead, isls > 16 ? 3 : isls > 8 ? 2 : 1);
        }
    }
    print_repair(w, r, &lft, dead, 1);
    print_repair(w, r, &lft, dead, 0);
    for (uint32_t port = 0; port < w->f->port_count && of_switch < 64; port++)
        if (fab_fabric_port(w->f, port)->node == w->f->switch_count - 1 &&
            fab_fabric_port(w->f, port)->peer != FAB_NONE)
            all[of_switch++] = port;
    print_repair(w, r, &lft, all, of_switch);
    print_repair(w, r, &lft, all, 0);
    ck_assert_mem_eq(lft.entries, t->lft.entries, t->lft.stride * t->lft.switch_count);
    fab_target_lft_fini(&lft);
    fab_repair_free(r);
}

/* ---- one fabric ------------------------------------------------------------------------------ */

static struct fab_fabric *without(const struct fab_fabric *f, uint32_t port)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *ret;
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(
        fab_fabric_builder_unlink(b, fab_fabric_port(f, port)->node, fab_fabric_port(f, port)->num),
        FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &ret), FAB_OK);
    fab_fabric_builder_free(b);
    return ret;
}

static bool is_seen(struct world *w, uint64_t digest)
{
    for (unsigned i = 0; i < w->seen_count; i++)
        if (w->seen[i] == digest)
            return true;
    ck_assert_uint_lt(w->seen_count, 16);
    w->seen[w->seen_count++] = digest;
    return false;
}

static void print_engine(struct world *w, const struct fab_route_engine *engine,
                         const struct fab_fabric *damaged)
{
    char why[400] = "";
    struct fab_target *t = tables_of(w, w->f, engine, why, sizeof why);
    fprintf(w->out, "engine %s: %s\n", engine->name, why);
    if (t == NULL)
        return;
    fprintf(w->out, "    LIDs to %u, LFTs %016" PRIx64 ", %u VLs %016" PRIx64 "\n", t->lids.top,
            hash_lft(&t->lft), t->vls.count, hash_vls(&t->vls));
    if (is_seen(w, hash_lft(&t->lft) + hash_vls(&t->vls))) {
        fputs("    the same tables as those of another engine\n", w->out);
        fab_target_unref(t);
        return;
    }
    print_quality(w, t);
    print_repairs(w, t);
    print_plan(w, "for all", w->f, NULL, t);
    if (w->whole != NULL)
        print_plan(w, "for another engine", w->f, w->whole, t);
    struct fab_target *during = tables_of(w, damaged, engine, why, sizeof why);
    if (during != NULL) {
        fprintf(w->out, "  damaged: LFTs %016" PRIx64 "\n", hash_lft(&during->lft));
        print_plan(w, "after a fault", damaged, t, during);
        print_plan(w, "after its repair", w->f, during, t);
        fab_target_unref(during);
    }
    if (w->whole == NULL)
        w->whole = fab_target_ref(t);
    fab_target_unref(t);
}

static void compare(const char *name, struct fab_builder *b, uint8_t lmc)
{
    struct world w = {0};
    char *text, file[100];
    size_t len;
    uint32_t isl = 0;
    w.out = open_memstream(&text, &len);
    fab_policy_defaults(&w.policy);
    w.policy.lmc = lmc;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &w.f), FAB_OK);
    fab_fabric_builder_free(b);
    while (!is_isl(w.f, isl))
        isl++;
    struct fab_fabric *damaged = without(w.f, isl);
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++)
        if (strcmp((*e)->name, "file") != 0)
            print_engine(&w, *e, damaged);
    print_exports(&w, w.whole, "some");
    print_congestion(&w);
    for (uint32_t port = 0, n = 0; port < w.f->port_count; port++)
        if (fab_fabric_port(w.f, port)->peer != FAB_NONE && n++ % 17 == 0)
            print_whatif(&w, port);
    fab_target_unref(w.whole);
    fab_fabric_unref(damaged);
    fab_fabric_unref(w.f);
    fab_policy_fini(&w.policy);
    fclose(w.out);
    snprintf(file, sizeof file, "tests/unit/golden/%s.golden", name);
    golden_compare(file, text);
    free(text);
}

START_TEST(leaf_spine)
{
    struct fab_builder *b;
    ck_assert_int_eq(
        fab_fabric_generate_leaf_spine(&(struct fab_leaf_spine_spec){5, 3, 3, 2, 0}, &b), FAB_OK);
    compare("leaf-spine", b, 1);
}
END_TEST

START_TEST(fat_tree)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(
                         &(struct fab_fat_tree_spec){.radix = 4, .levels = 3, .taper = 1}, &b),
                     FAB_OK);
    compare("fat-tree", b, 0);
}
END_TEST

START_TEST(torus)
{
    struct fab_builder *b;
    ck_assert_int_eq(
        fab_fabric_generate_torus(
            &(struct fab_torus_spec){.dimensions = 2, .size = {5, 4}, .hosts = 2, .parallel = 1},
            &b),
        FAB_OK);
    compare("torus", b, 0);
}
END_TEST

START_TEST(dragonfly)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&(struct fab_dragonfly_spec){5, 4, 1, 2, 1}, &b),
                     FAB_OK);
    compare("dragonfly", b, 0);
}
END_TEST

START_TEST(irregular)
{
    struct fab_builder *b;
    ck_assert_int_eq(fab_fabric_generate_random(&(struct fab_random_spec){18, 4, 3, 11}, &b),
                     FAB_OK);
    compare("random", b, 2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden results");
    TCase *t = tcase_create("fabrics");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, leaf_spine);
    tcase_add_test(t, fat_tree);
    tcase_add_test(t, torus);
    tcase_add_test(t, dragonfly);
    tcase_add_test(t, irregular);
    suite_add_tcase(s, t);
    return test_run(s);
}
