/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements WhatIf, which computes what would happen if links or whole nodes failed: the endports
 * that would be cut off, the tables that the manager would program, and the quality of these
 * tables.
 *
 * Like the manager, the study first tries a local repair of the active tables (libfabmgr/repair).
 * If no local repair is possible, or if the request names engines, it tries the engines in order.
 *
 * The worker thread, not the loop thread, looks up the names in the request, because there can be
 * 4,096 of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/rpc/convert.h"
#include "fabricd/rpc/failures.h"
#include "fabricd/rpc/limits.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/session/session.h"
#include "libfabmgr/study/choose_engine.h"
#include "libfabmgr/study/whatif.h"

struct whatif_study {
    struct study study;
    struct measure measure;
    bool repair;                  /* true: try a local repair before the engines */
    struct fab_route_chain chain; /* the engines to try, in order */
    /* names of the engines that failed before one succeeded, each with the reason */
    char passed[800];
    struct name_list failures; /* links and nodes that fail, as the request names them */
    /* [port_count] the id of one port of each link that fails */
    uint32_t *ports;
    size_t port_count, port_room;
    struct fab_whatif whatif;
    struct fab_whatif_change change;
    struct report report;
    struct fab_quality before;
};

/* ---- on the worker thread -------------------------------------------------------------------- */

static int add_cable(void *ctx, uint32_t port)
{
    struct whatif_study *w = ctx;
    uint32_t *ports = fab_base_grow(w->ports, sizeof *ports, w->port_count + 1, &w->port_room);
    if (ports == NULL)
        return FAB_E_NOMEM;
    w->ports = ports;
    w->ports[w->port_count++] = port;
    return FAB_OK;
}

bool is_port_name(const struct fab_view *v, const char *text, char node[FAB_NODE_DESC_LEN + 1],
                  uint32_t *ret_number)
{
    const char *slash = strrchr(text, '/');
    size_t digits = slash != NULL ? strspn(slash + 1, "0123456789") : 0;
    char why[200];
    uint32_t id;
    if (digits == 0 || digits > 3 || slash[1 + digits] != '\0' ||
        (size_t)(slash - text) > FAB_NODE_DESC_LEN)
        return false;
    snprintf(node, FAB_NODE_DESC_LEN + 1, "%.*s", (int)(slash - text), text);
    *ret_number = (uint32_t)strtoul(slash + 1, NULL, 10);
    return fab_view_find_node(v, node, &id, why, sizeof why) == FAB_OK;
}

static bool find_failures(struct whatif_study *w)
{
    const struct fab_view *v = w->study.view;
    struct fab_hosts hosts;
    const struct failures f = {.view = v,
                               .hosts = v->policy.locations != NULL ? &hosts : NULL,
                               .no_link = "has no link that could fail",
                               .add = add_cable,
                               .ctx = w};
    int rc = f.hosts != NULL ? fab_hosts_find(v->fabric, v->policy.locations, &hosts) : FAB_OK;
    if (rc != FAB_OK) {
        study_fail(&w->study, rc, "it could not be computed");
        return false;
    }
    bool found = failures_find(&f, &w->failures, &w->study);
    if (f.hosts != NULL)
        fab_hosts_fini(&hosts);
    return found;
}

static bool damage(struct whatif_study *w)
{
    struct study *s = &w->study;
    const struct fab_target *t = s->view->target;
    const struct fab_whatif_input in = {s->view->fabric, &t->lids, &t->lft, w->ports,
                                        (uint32_t)w->port_count};
    int rc = fab_study_whatif_make(&in, &w->whatif);
    if (rc == FAB_E_UNREACHABLE) {
        s->code = FAB_GRPC_INVALID_ARGUMENT;
        snprintf(s->why, sizeof s->why, "the manager itself would be cut off from all switches");
    } else if (rc < 0) {
        study_fail(s, rc, "it could not be computed");
    }
    return rc == FAB_OK;
}

/* Makes the options for the quality after the failure: the list of endports without those that the
 * failure cuts off. Returns false if memory ran out. */
static bool left_over(const struct whatif_study *w, struct measure *ret)
{
    *ret = (struct measure){.samples = w->measure.samples, .seed = w->measure.seed};
    if (w->measure.ends == NULL)
        return true;
    ret->ends = fab_base_alloc_array(w->measure.end_count, sizeof *ret->ends);
    for (uint32_t i = 0; ret->ends != NULL && i < w->measure.end_count; i++) {
        uint32_t now = w->whatif.port_now[w->measure.ends[i]];
        if (now != FAB_NONE && fab_fabric_port_is_up(w->whatif.fabric, now))
            ret->ends[ret->end_count++] = now;
    }
    return ret->ends != NULL;
}

static bool try_engine(struct whatif_study *w, const struct measure *m,
                       const struct fab_route_engine *engine, uint8_t lane_sets)
{
    report_fini(&w->report);
    w->report.engine = engine;
    w->report.lane_sets = lane_sets;
    return report_make(&w->report, &w->study, m, w->whatif.fabric, &w->whatif.lids);
}

/* Appends the name of an engine that failed, and the reason, to w->passed, such as "fattree:
 * irregular: ...". */
static void pass_over(struct whatif_study *w)
{
    size_t len = strlen(w->passed);
    snprintf(w->passed + len, sizeof w->passed - len, "%s%s: %s", len > 0 ? "; " : "",
             w->report.engine->name,
             w->report.status == FAB_OK ? "failed its proof" : w->report.why);
}

/* Looks for better tables than those of the engine with index `taken` in w->chain, which are in the
 * report. If the configured engine is "auto" and the topology lacks links, runs the later engines
 * in w->chain, too, and puts the best tables into the report. Returns false if the study has failed
 * or was stopped. */
static bool choose_best(struct whatif_study *w, const struct measure *m, uint32_t taken)
{
    struct report *r = &w->report;
    /* `policy` must not be freed, because its pointers are those of the policy of the view */
    struct fab_policy policy = w->study.view->policy;
    const struct fab_route_input in = {.fabric = w->whatif.fabric,
                                       .policy = &policy,
                                       .lids = &w->whatif.lids,
                                       .flawed = &r->flawed};
    struct fab_choice record = {0};
    struct fab_engine_choice c = {.engine = r->engine,
                                  .lft = r->lft,
                                  .vls = r->vls,
                                  .verdict = r->verdict,
                                  .record = &record};
    policy.lane_sets = r->lane_sets;
    const uint8_t *first = r->lft.entries;
    snprintf(c.why, sizeof c.why, "%s", r->why);
    uint64_t start = clock_now_us();
    int rc = fab_study_choose_engine(&in, &w->chain, taken, &c);
    r->engine = c.engine;
    r->lft = c.lft;
    r->vls = c.vls;
    r->verdict = c.verdict;
    fab_target_choice_sentence(&record, r->why, sizeof r->why);
    r->route_us += clock_now_us() - start;
    if (rc < 0)
        study_fail(&w->study, rc, "engines could not be compared");
    if (rc < 0 || c.lft.entries == first)
        return rc == FAB_OK;
    fab_verify_verdict_fini(&r->verdict);
    return report_judge(r, &w->study, m, w->whatif.fabric, &w->whatif.lids);
}

static bool try_chain(struct whatif_study *w, const struct measure *m, uint8_t lane_sets)
{
    w->passed[0] = '\0';
    for (uint32_t i = 0; i < w->chain.count; i++) {
        if (i > 0)
            pass_over(w);
        if (!try_engine(w, m, w->chain.engine[i], lane_sets))
            return false;
        if (report_good(&w->report))
            return choose_best(w, m, i);
    }
    return true;
}

/* Chooses tables as the manager does. At first, each traffic class has its own set of VLs. If no
 * engine can route with the VLs of one set, halves the number of sets (classes then share larger
 * sets), and tries all engines again. */
static bool choose(struct whatif_study *w, const struct measure *m)
{
    uint8_t lane_sets = fab_policy_classes_count(w->study.view->policy.classes);
    while (try_chain(w, m, lane_sets)) {
        if (report_good(&w->report))
            return report_compose(&w->report, &w->study, w->whatif.fabric, &w->whatif.lids);
        if (lane_sets <= 1)
            return true;
        lane_sets /= 2;
    }
    return false;
}

/* Makes a local repair of the active tables, for the fabric without the failed links and nodes.
 * Returns false if no local repair is possible, or if it leaves out paths. */
static bool repaired(struct whatif_study *w, struct fab_target *target)
{
    const struct fab_view *v = w->study.view;
    const struct fab_repair_input in = {v->fabric, &v->policy, &v->target->lids, &v->target->lft,
                                        &v->target->vls};
    struct fab_repair_session stand = {0};
    /* The repaired tables would share pages with the tables of the view (libfabmgr/base/pages.h).
     * Only the loop thread may do that, so repair a copy. */
    struct fab_target *copy = NULL;
    char why[200];
    int rc = fab_repair_session_new(&in, &stand, why, sizeof why);
    if (rc == FAB_OK)
        rc = fab_target_clone(v->target, &copy);
    if (rc == FAB_OK)
        rc = fab_repair_session_update(&stand, copy, w->whatif.fabric, target);
    /* If a repair leaves out paths, the manager runs an engine to find them. So the study does the
     * same. */
    bool whole = rc == FAB_OK && !stand.leaves_out;
    fab_repair_session_fini(&stand);
    fab_target_unref(copy);
    return whole;
}

/* Repairs the active tables, and makes the report from them. Returns false if no local repair is
 * possible. The new target borrows the LIDs in w->whatif, so the function does not free them
 * together with the target. */
static bool try_repair(struct whatif_study *w)
{
    struct report *r = &w->report;
    struct fab_target *target = fab_target_new();
    uint64_t start = clock_now_us();
    if (target == NULL)
        return false;
    target->lids = w->whatif.lids;
    bool done = repaired(w, target);
    target->lids = (struct fab_lids){0};
    if (done) {
        r->engine = fab_route_engine_by_name(target->engine);
        snprintf(r->why, sizeof r->why, "the active tables, repaired locally");
        r->route_us = clock_now_us() - start;
        r->lft = target->lft;
        r->vls = target->vls;
        target->lft = (struct fab_lft){0};
        target->vls = (struct fab_vls){0};
    }
    fab_target_unref(target);
    return done && r->engine != NULL;
}

static bool foretell(struct whatif_study *w, const struct measure *m)
{
    if (!w->repair || !try_repair(w))
        return choose(w, m);
    return report_judge(&w->report, &w->study, m, w->whatif.fabric, &w->whatif.lids);
}

static void work(struct study *s)
{
    struct whatif_study *w = (struct whatif_study *)s;
    const struct fab_target *t = s->view->target;
    struct measure left;
    if (!find_failures(w) || !measure_resolve(&w->measure, s) || !damage(w) ||
        !measure_quality(&w->measure, s, s->view->fabric, &t->lids, &t->lft, &w->before))
        return;
    if (!left_over(w, &left))
        study_fail(s, FAB_E_NOMEM, "it could not be computed");
    else if (foretell(w, &left) && w->report.status == FAB_OK)
        fab_study_whatif_compare(&w->whatif.kept, &w->report.lft, &w->change);
    measure_fini(&left);
}

/* ---- on the loop thread ---------------------------------------------------------------------- */

static void fill_lost(struct answer *a, const struct whatif_study *w, Fabric__V1__WhatIfResponse *m)
{
    const struct fab_view *v = w->study.view;
    uint32_t count = w->whatif.lost_count < RPC_LOST_SHOWN ? w->whatif.lost_count : RPC_LOST_SHOWN;
    m->lost_switches = w->whatif.lost_switches;
    m->lost_endport_count = w->whatif.lost_count;
    m->lost_endports = answer_alloc(a, count, sizeof *m->lost_endports);
    for (uint32_t i = 0; m->lost_endports != NULL && i < count; i++) {
        Fabric__V1__LostEndport *e =
            ANSWER_NEW(a, Fabric__V1__LostEndport, fabric__v1__lost_endport);
        if (e == NULL)
            return;
        e->endport = convert_port_ref(a, v, w->whatif.lost[i]);
        e->lid = v->target->lids.base[w->whatif.lost[i]];
        m->lost_endports[m->n_lost_endports++] = e;
    }
}

static bool tell(struct study *s)
{
    const struct whatif_study *w = (const struct whatif_study *)s;
    const struct fab_view then = {.fabric = w->whatif.fabric, .policy = s->view->policy};
    Fabric__V1__WhatIfResponse m = FABRIC__V1__WHAT_IF_RESPONSE__INIT;
    struct answer a = {0};
    m.generation = s->view->generation;
    m.links = w->whatif.cables;
    fill_lost(&a, w, &m);
    m.report = convert_report(&a, &then, &w->report);
    if (m.report != NULL)
        m.report->active = strcmp(w->report.engine->name, s->view->target->engine) == 0;
    m.rejected_engines = answer_text(&a, w->passed);
    m.entries_changed = w->change.entries;
    m.blocks_changed = w->change.blocks;
    m.switches_changed = w->change.switches;
    m.blocks = w->change.all_blocks;
    m.quality_before = convert_quality(&a, s->view, &w->before);
    answer_reply(&a, s->call, &m.base);
    return false;
}

static void whatif_free(struct study *s)
{
    struct whatif_study *w = (struct whatif_study *)s;
    report_fini(&w->report);
    fab_study_whatif_fini(&w->whatif);
    measure_fini(&w->measure);
    name_list_fini(&w->failures);
    free(w->ports);
    free(w);
}

/* ---- the request ----------------------------------------------------------------------------- */

static int read_request(struct whatif_study *w, struct call *c, const struct fab_view *v,
                        const Fabric__V1__WhatIfRequest *q)
{
    int rc = measure_init(&w->measure, c, q->options);
    if (rc < 0)
        return rc;
    if (q->n_failures == 0 || q->n_failures > RPC_FAILURES_MAX) {
        call_finish(c, FAB_GRPC_INVALID_ARGUMENT, "%zu failures are named; 1 to %u are accepted",
                    q->n_failures, RPC_FAILURES_MAX);
        return FAB_E_INVAL;
    }
    char why[200] = "";
    w->repair = q->engine[0] == '\0';
    rc = fab_route_chain_parse(q->engine[0] != '\0' ? q->engine : v->policy.engine, &w->chain, why,
                               sizeof why);
    if (rc < 0) {
        call_finish(c, fab_grpc_code_of(rc),
                    rc == FAB_E_NOT_FOUND
                        ? "no routing engine \"%s\"; 'fabricctl route compare' lists all"
                        : "%s",
                    why);
        return rc;
    }
    rc = name_list_copy(&w->failures, q->failures, q->n_failures);
    if (rc < 0)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    return rc;
}

void what_if(struct call *c, const void *request)
{
    static const struct study_kind kind = {work, tell, whatif_free,
                                           "fewer samples, fewer endports, or a single engine"};
    struct fab_view *v = need_target(c);
    if (v == NULL)
        return;
    struct whatif_study *w = calloc(1, sizeof *w);
    if (w == NULL)
        call_finish(c, FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory");
    else if (read_request(w, c, v, request) == FAB_OK)
        study_start(c, v, &kind, &w->study);
    else
        whatif_free(&w->study);
}
