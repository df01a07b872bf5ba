/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mending: the way round cables that just died, in time that depends on what they carried and not
 * on the size of the fabric.
 *
 * For tables that stand, a state is made on the worker when there is time (libfabmgr/repair). With
 * it, phase "mending" computes, proves and orders the writes here on the loop, patches fabric and
 * tables in place and publishes them; phase "rewriting" (program.c) sends the writes. Patching in
 * place is possible as long as nobody else reads them; what is being read is copied first.
 *
 * What cannot be mended so is left to a look and an engine, and the tables stay as they are until
 * then.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"
#include "libfabmgr/repair/repair.h"

/* ---- the state, made on the worker ----------------------------------------------------------- */

struct sm_repair_job {
    struct sm *s; /* NULL: it is gone */
    struct sm_sealed of;
    uint64_t tables;
    struct fab_repair_session stand;
    char why[200];
    int status;
};

static void job_free(struct sm_repair_job *j)
{
    fab_repair_session_fini(&j->stand);
    sm_sealed_fini(&j->of);
    free(j);
}

static void work(void *ctx)
{
    struct sm_repair_job *j = ctx;
    const struct fab_repair_input in = {.fabric = j->of.fabric,
                                        .policy = &j->of.policy,
                                        .lids = &j->of.target->lids,
                                        .lft = &j->of.target->lft,
                                        .vls = &j->of.target->vls};
    j->status = fab_repair_session_new(&in, &j->stand, j->why, sizeof(j->why));
}

static void take(struct sm *s, struct sm_repair_job *j)
{
    if (j->status != FAB_OK) {
        log_debug("sm", "faults lead to a full compute: %s",
                  j->why[0] ? j->why : fab_status_text(j->status));
        return;
    }
    fab_repair_session_fini(&s->mend.stand);
    s->mend.stand = j->stand;
    s->mend.tables = j->tables;
    j->stand = (struct fab_repair_session){0};
    log_debug("sm", "ready to mend labels=\"%s\" memory=%zu",
              fab_repair_label_source(s->mend.stand.state), fab_repair_memory(s->mend.stand.state));
}

static void done(void *ctx)
{
    struct sm_repair_job *j = ctx;
    struct sm *s = j->s;
    if (s) {
        loop_at(s->in.loop, "getting ready to mend");
        s->mend.job = NULL;
        if (j->tables == s->model.tables)
            take(s, j);
    }
    job_free(j);
    if (s) {
        sm_repair_prepare(s);
        sm_contingency_prepare(s);
        sm_rebalance_prepare(s);
    }
}

static int start(struct sm *s)
{
    struct sm_repair_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    int r = sm_seal(s, s->model.target, &j->of);
    if (r != FAB_OK) {
        free(j);
        return r;
    }
    j->s = s;
    j->tables = s->mend.asked = s->model.tables;
    s->mend.job = j;
    if (s->in.recorded) {
        work(j);
        done(j);
        return FAB_OK;
    }
    r = loop_work(s->in.loop, work, done, j);
    if (r != FAB_OK) {
        s->mend.job = NULL;
        job_free(j);
    }
    return r;
}

void sm_repair_prepare(struct sm *s)
{
    if (sm_run_busy(s) || !s->model.view || !s->model.target || s->mend.job ||
        s->mend.asked == s->model.tables || s->program.stopped || s->role.state != FAB_SM_MASTER)
        return;
    if (start(s) != FAB_OK)
        log_debug("sm", "no memory to get ready for faults");
}

bool sm_repair_ready(const struct sm *s)
{
    return s->mend.stand.state && s->mend.tables == s->model.tables && !s->program.stopped &&
           s->model.view && s->model.target && s->role.state == FAB_SM_MASTER;
}

void sm_repair_forget(struct sm *s)
{
    fab_repair_session_fini(&s->mend.stand);
    s->mend.asked = 0;
}

void sm_repair_lend(struct sm *s, struct fab_repair_session *ret)
{
    bool good = s->model.former && s->mend.tables == s->model.tables;
    *ret = good ? s->mend.stand : (struct fab_repair_session){0};
    if (good)
        s->mend.stand = (struct fab_repair_session){0};
}

void sm_repair_give_back(struct sm *s, struct fab_repair_session *t)
{
    if (!t->state)
        return;
    fab_repair_session_fini(&s->mend.stand);
    s->mend.stand = *t;
    s->mend.tables = s->mend.asked = s->model.tables;
    *t = (struct fab_repair_session){0};
}

void sm_repair_fini(struct sm *s)
{
    if (s->mend.job)
        s->mend.job->s = NULL;
    fab_repair_session_fini(&s->mend.stand);
    sm_probe_fini(&s->cut);
}

/* ---- the writes ------------------------------------------------------------------------------ */

static struct fab_plan_op op_of(const struct sm *s, const struct fab_repair_delta *d, size_t i)
{
    const struct fab_repair_write *w = &d->write[i];
    uint32_t sw = s->mend.stand.idmap.to_current[w->sw];
    return (struct fab_plan_op){
        .node = sw,
        .port = fab_port_id(s->model.fabric, sw, 0),
        .attr_id = FAB_ATTR_LFT,
        .block = (uint16_t)w->block,
        .keep = w->keep,
        .drain = w->drain,
        .awaited = w->step + 1 < d->steps,
        .waits = w->step > 0,
        .barrier = i > 0 && w->step > d->write[i - 1].step,
    };
}

static int plan_of(const struct sm *s, const struct fab_repair_delta *d, struct fab_plan *ret)
{
    struct fab_plan plan = {.ops = calloc(d->writes + 1, sizeof(*plan.ops))};
    if (!plan.ops)
        return FAB_E_NOMEM;
    uint32_t count = 0;
    for (size_t i = 0; i < d->writes; i++)
        if (s->mend.stand.idmap.to_current[d->write[i].sw] != FAB_NONE)
            plan.ops[count++] = op_of(s, d, i);
    for (int stage = FAB_STAGE_ROUTES; stage < FAB_STAGE_COUNT; stage++)
        plan.stage_start[stage + 1] = count;
    *ret = plan;
    return FAB_OK;
}

/* ---- the phase ------------------------------------------------------------------------------- */

struct dead {
    uint32_t *port; /* by the ids of the baseline */
    uint32_t count;
};

/* All that is dead now. */
static int all_dead(const struct sm *s, struct dead *ret)
{
    const struct fab_repair_session *t = &s->mend.stand;
    uint32_t before = t->idmap.deads;
    uint32_t *port = calloc((size_t)before + s->cut.count + 1, sizeof(*port));
    if (!port)
        return FAB_E_NOMEM;
    memcpy(port, t->idmap.dead, before * sizeof(*port));
    for (uint32_t i = 0; i < s->cut.count; i++)
        port[before + i] = fab_repair_session_port(t, s->model.fabric, s->cut.cable[i].port);
    *ret = (struct dead){port, before + s->cut.count};
    return FAB_OK;
}

static const struct fab_lft *tables(struct sm *s)
{
    return fab_repair_session_tables(&s->mend.stand, s->model.target);
}

static int compute(struct sm *s, const struct dead *dead, struct fab_repair_delta *ret, char *why,
                   size_t why_len)
{
    int r =
        fab_repair_plan(s->mend.stand.state, tables(s), dead->port, dead->count, ret, why, why_len);
    s->run.computed_us = clock_now_us();
    return r;
}

static int prove(struct sm *s, const struct fab_repair_delta *d)
{
    struct fab_repair_change at = {0};
    int r = fab_repair_prove(s->mend.stand.state, tables(s), d, &at);
    s->run.proved_us = clock_now_us();
    if (r != FAB_OK && r != FAB_E_NOMEM)
        log_error("sm", "a repair failed its proof (%s, switch %u, LID %u): not written",
                  fab_status_text(r), at.sw, at.lid);
    return r;
}

/* True when the directed route to one end of the cable went over it. */
static bool leads_over(const struct sm_model *m, uint32_t from, uint32_t to)
{
    const struct fab_port *near = &m->fabric->ports[from];
    const struct fab_path *a = &m->paths[near->node], *b = &m->paths[m->fabric->ports[to].node];
    return a->hops != FAB_PATH_UNKNOWN && b->hops == a->hops + 1 && b->port[b->hops] == near->num &&
           memcmp(a->port, b->port, (size_t)a->hops + 1) == 0;
}

static int cut_cables(struct sm *s)
{
    struct sm_model *m = &s->model;
    struct fab_path *paths = NULL;
    bool detour = false;
    for (uint32_t i = 0; i < s->cut.count; i++) {
        const struct sm_link *c = &s->cut.cable[i];
        detour |= leads_over(m, c->port, c->peer) || leads_over(m, c->peer, c->port);
        if (c->isolated)
            sm_link_exclude(m->fabric, c->port);
        else
            fab_fabric_cut(m->fabric, c->port);
    }
    int r = detour ? fab_paths_new(m->fabric, &paths) : FAB_OK;
    if (r != FAB_OK || !detour)
        return r;
    free(m->paths);
    m->paths = paths;
    return sm_model_find_port_paths(m);
}

static void keep_dead(struct fab_repair_idmap *c, struct dead *dead)
{
    free(c->dead);
    c->dead = dead->port;
    c->deads = dead->count;
    *dead = (struct dead){0};
}

/* From here on nothing is to be refused any more but for want of memory. */
static int carry_out(struct sm *s, struct fab_repair_delta *d, struct dead *dead)
{
    struct fab_plan plan = {0};
    int r = plan_of(s, d, &plan);
    if (s->on_patch)
        s->on_patch(s->on_patch_ctx);
    if (r == FAB_OK)
        r = sm_model_own(&s->model);
    if (r == FAB_OK)
        r = cut_cables(s);
    if (r == FAB_OK) {
        fab_repair_session_commit(&s->mend.stand, s->model.target, d);
        keep_dead(&s->mend.stand.idmap, dead);
        r = sm_publish(s);
    }
    if (r == FAB_OK)
        r = sm_program_take(s, &plan);
    fab_plan_fini(&plan);
    if (r != FAB_OK)
        sm_repair_forget(s);
    return r;
}

/* Computed and proved now, or before. */
static int find_repair(struct sm *s, const struct dead *dead, struct fab_repair_delta *ret,
                       char *why, size_t why_len)
{
    int r = sm_contingency_find(s, dead->port, dead->count, ret);
    s->run.at_hand = r == FAB_OK;
    s->run.computed_us = s->run.proved_us = clock_now_us();
    if (r != FAB_E_NOT_FOUND)
        return r;
    r = compute(s, dead, ret, why, why_len);
    if (r == FAB_OK)
        r = prove(s, ret);
    return r == FAB_OK ? fab_repair_order(s->mend.stand.state, tables(s), ret) : r;
}

static int enter(struct sm *s)
{
    struct fab_repair_delta d = {0};
    char why[200] = "";
    struct dead dead = {0};
    int r = all_dead(s, &dead);
    if (r == FAB_OK)
        r = find_repair(s, &dead, &d, why, sizeof(why));
    if (r == FAB_OK) {
        s->run.computed = true;
        s->run.changed.links_lost = s->cut.count;
        s->cut.more |= d.cut > 0;
        r = carry_out(s, &d, &dead);
        if (d.lost > 0)
            s->left_out = s->generation;
        s->want.reroute |= s->left_out > 0;
    } else {
        log_info("sm", "not mended in place, looking at all of it: %s",
                 why[0] ? why : fab_status_text(r));
        s->cut.more = true;
        r = SM_ROUND_OVER;
    }
    free(dead.port);
    fab_repair_delta_fini(&d);
    return r;
}

const struct sm_phase sm_phase_repair = {"mending", enter, NULL, NULL, NULL, NULL};
