/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dry run of a reroute or of a rebalance. The background thread runs the same task as the phase
 * "routing" (route_job.c), with the fabric, the LIDs and the active tables of the published view,
 * and compares the new tables with the active ones. The result is a sentence, and nothing else
 * changes.
 *
 * The task holds references to the fabric and to the tables of the view. A local repair that begins
 * meanwhile therefore does not change these tables, but makes a new version. One dry run runs at a
 * time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/sm/apply/route_job.h"
#include "libfabmgr/base/plural.h"

struct sm_dry_run {
    struct sm_route_job *job;
    struct fab_target *active; /* the active tables, with which the new tables are compared */
    bool if_better;            /* the dry run of a rebalance */
    sm_done *done;             /* NULL: no caller waits */
    void *ctx;
    /* numbers of LFT entries, of LFT blocks and of switches that differ */
    uint32_t entries, blocks, switches;
};

static void dry_run_free(struct sm_dry_run *x)
{
    if (!x)
        return;
    fab_target_unref(x->active);
    sm_route_job_free(x->job);
    free(x);
}

/* ---- on the worker thread -------------------------------------------------------------------- */

static uint32_t count_block(const uint8_t *was, const uint8_t *now)
{
    uint32_t count = 0;
    if (memcmp(was, now, FAB_LFT_BLOCK) == 0)
        return 0;
    for (int i = 0; i < FAB_LFT_BLOCK; i++)
        count += was[i] != now[i];
    return count;
}

/* Counts the LFT entries, blocks and switches that differ. Both tables have the same switches and
 * LIDs. */
static void count_writes(struct sm_dry_run *x, const struct fab_lft *was, const struct fab_lft *now)
{
    for (uint32_t sw = 0; sw < now->switch_count; sw++) {
        uint32_t before = x->blocks;
        for (uint32_t block = 0; block < fab_target_lft_blocks(now); block++) {
            uint32_t entries = count_block(fab_target_lft_block(was, sw, block),
                                           fab_target_lft_block(now, sw, block));
            x->entries += entries;
            x->blocks += entries > 0;
        }
        x->switches += x->blocks > before;
    }
}

static void work(void *ctx, struct loop_task *task)
{
    struct sm_dry_run *x = ctx;
    struct sm_route_job *j = x->job;
    sm_route_job_work(j, task);
    if (j->status == FAB_OK && sm_route_job_is_good(j))
        count_writes(x, &x->active->lft, &j->of.target->lft);
}

/* ---- text about the result ------------------------------------------------------------------- */

static void describe_writes(const struct sm_dry_run *x, char *ret, size_t len)
{
    const struct sm_route_job *j = x->job;
    char gain[100] = "";
    if (x->if_better)
        snprintf(gain, sizeof(gain), "; congestion product %" PRIu64 ", now %" PRIu64, j->gain.now,
                 j->gain.was);
    snprintf(ret, len,
             "would write %u entr%s in %u block%s on %u switch%s (engine %s, proved in %.1f ms%s)",
             x->entries, fab_base_plural(x->entries, "y", "ies"), x->blocks,
             fab_base_plural_s(x->blocks), x->switches, fab_base_plural_es(x->switches),
             j->of.target->engine, (double)(j->route_us + j->verify_us) / 1e3, gain);
}

/* Writes the result as a sentence to ret[], and returns the status for the caller. */
static int conclude(const struct sm_dry_run *x, char *ret, size_t len)
{
    const struct sm_route_job *j = x->job;
    const char *round = x->if_better ? "a rebalance" : "a reroute";
    char text[SM_OBJECTION_LEN];
    if (j->status != FAB_OK && j->status != FAB_E_UNSUPPORTED) {
        snprintf(ret, len, "the tables could not be computed: %s", fab_base_status_text(j->status));
        return j->status;
    }
    bool good = j->status == FAB_OK && sm_route_job_is_good(j);
    if (x->if_better && (!good || !sm_gains(&j->gain))) {
        sm_rebalance_objection(&j->gain, good ? NULL : j->passed, text);
        snprintf(ret, len, "a rebalance would be skipped: %s", text);
        return FAB_OK;
    }
    if (!good) {
        snprintf(ret, len, "%s would keep the active tables: %s%s%s", round,
                 j->status == FAB_OK ? fab_verify_verdict_failure(&j->verdict)
                                     : "no engine has tables for this fabric",
                 j->passed[0] ? "; passed over " : "", j->passed);
        return FAB_E_REFUSED;
    }
    describe_writes(x, text, sizeof(text));
    if (x->blocks > 0)
        snprintf(ret, len, "%s %s", round, text);
    else
        snprintf(ret, len, "%s would write no LFT block: the tables are already those of engine %s",
                 round, j->of.target->engine);
    return FAB_OK;
}

static void on_done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_dry_run *x = ctx;
    char text[1200];
    s->apply->dry_run = NULL;
    int status = conclude(x, text, sizeof(text));
    if (x->done)
        x->done(x->ctx, status, text);
    dry_run_free(x);
}

static void on_dropped(void *owner, void *ctx)
{
    struct sm *s = owner;
    if (s && s->apply && s->apply->dry_run == ctx)
        s->apply->dry_run = NULL;
    dry_run_free(ctx);
}

void sm_dry_run_forget(struct sm *s, const void *ctx)
{
    struct sm_dry_run *x = s->apply->dry_run;
    if (x && x->ctx == ctx)
        x->done = NULL;
}

void sm_dry_run_fini(struct sm *s)
{
    /* sm_apply_fini calls loop_tasks_orphan, which cancels the task; on_dropped then frees the dry
     * run */
    s->apply->dry_run = NULL;
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Makes the input of the routing task from the view. Returns OK or NOMEM. */
static int make_job(struct sm *s, struct fab_view *v, bool if_better, struct sm_route_job **ret)
{
    struct sm_route_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    int r = fab_policy_copy(&s->policy, &j->of.policy);
    if (r == FAB_OK) {
        j->of.fabric = fab_fabric_ref(v->fabric);
        j->of.target = fab_target_new();
        r = j->of.target ? fab_target_lids_share(&v->target->lids, &j->of.target->lids)
                         : FAB_E_NOMEM;
    }
    if (r == FAB_OK)
        r = sm_fixed_take(s, &j->fixed);
    if (r != FAB_OK) {
        sm_route_job_free(j);
        return r;
    }
    j->may_leave_out = j->fixed.count == 0;
    if (if_better)
        j->active = fab_target_ref(v->target);
    *ret = j;
    return FAB_OK;
}

/* Returns true if two snapshots have the same nodes, and so the same ids. The dry run has ids of
 * the view, but sm_fixed_take uses ids of the model. Both are the same after writes of ports and
 * after a sweep that found no change, but perhaps not after an aborted sweep. */
static bool has_same_nodes(const struct fab_fabric *a, const struct fab_fabric *b)
{
    bool same = a->node_count == b->node_count && a->switch_count == b->switch_count;
    for (uint32_t i = 0; same && a->nodes != b->nodes && i < a->node_count; i++)
        same =
            a->nodes[i].guid == b->nodes[i].guid && a->nodes[i].num_ports == b->nodes[i].num_ports;
    return same;
}

static int check(const struct sm *s)
{
    const struct fab_view *v = s->model.view;
    int r = sm_wait_check(s, SM_ROUND_REROUTE);
    if (r != FAB_OK)
        return r;
    if (!v || !v->target || sm_run_busy(s) || s->apply->dry_run)
        return FAB_E_BUSY;
    return has_same_nodes(s->model.fabric, v->fabric) ? FAB_OK : FAB_E_BUSY;
}

int sm_reroute_dry_run(struct sm *s, bool if_better, sm_done *done, void *ctx)
{
    static const struct loop_task_ops ops = {"dry run", work, on_done, on_dropped};
    int r = check(s);
    if (r != FAB_OK)
        return r;
    struct sm_dry_run *x = calloc(1, sizeof(*x));
    if (!x)
        return FAB_E_NOMEM;
    x->if_better = if_better;
    x->active = fab_target_ref(s->model.view->target);
    r = make_job(s, s->model.view, if_better, &x->job);
    if (r != FAB_OK) {
        dry_run_free(x);
        return r;
    }
    x->done = done;
    x->ctx = ctx;
    s->apply->dry_run = x;
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &s->apply->tasks,
                                            .owner = s,
                                            .ctx = x,
                                            .place = LOOP_TASK_BACKGROUND};
    return loop_task_start(s->in.loop, &config, NULL); /* on an error, on_dropped frees x */
}
