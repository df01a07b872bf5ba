/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts use an SL for as long as a connection lasts. If an engine's new tables could deadlock with
 * the SLs of the former ones, up/down tables with these SLs replace them. When all links are back,
 * the engine computes its former tables again, with the same SLs.
 */
#include "fabricd/sm/apply/route_job.h"

#include <stdio.h>
#include <string.h>

/* Returns true if the former tables were made for the same switches, with the same ids. Compares
 * the LIDs of the switches for this, because a switch keeps its LID. */
static bool same_switches(const struct sm_route_job *j)
{
    const struct fab_fabric *f = j->of.fabric;
    const struct fab_lids *was = &j->former->lids, *now = &j->of.target->lids;
    bool same = j->former->vls.switches == f->switch_count;
    for (uint32_t sw = 0; same && sw < f->switch_count; sw++) {
        uint32_t port = f->nodes[sw].first_port;
        same = port < was->port_count && was->base[port] == now->base[port];
    }
    return same;
}

/* Returns true if the new tables may keep the SLs of the former ones: the former tables have an
 * SL for each pair of switches, the new tables use several VLs, and the switches are the same.
 * Returns false with silent switches, with several traffic classes or classes of ports, and for
 * adopted tables. Also returns false for a rebalance, whose tables are only used if hosts may
 * keep their SLs (sm_rebalance_order). */
static bool may_keep_sls(const struct sm_route_job *j)
{
    const struct fab_target *was = j->former, *now = j->of.target;
    return was && !j->active && !j->standing.adopted && j->fixed.count == 0 &&
           fab_policy_classes_count(j->of.policy.classes) <= 1 && was->vls.of_pair &&
           was->vls.classes <= 1 && fab_target_vls_multiple(&now->vls) && same_switches(j);
}

/* Sets *ret to a copy of the new VLs and SL-to-VL tables, but with the SLs of the former tables. */
static int mix(const struct sm_route_job *j, struct fab_vls *ret)
{
    const struct fab_vls *was = &j->former->vls;
    int r = fab_target_vls_copy(&j->of.target->vls, ret);
    if (r == FAB_OK && !ret->of_pair)
        r = fab_target_vls_by_pair(ret, was->switches);
    if (r != FAB_OK)
        return r;
    memcpy(ret->of_pair, was->of_pair, (size_t)was->switches * was->switches);
    ret->sls = was->sls > ret->sls ? was->sls : ret->sls;
    return FAB_OK;
}

/* Sets *ret_safe to true if the new tables are free of deadlocks while packets have the SLs of the
 * former tables. */
static int check_former_sls(const struct sm_route_job *j, bool *ret_safe)
{
    struct fab_vls mixed = {0};
    struct fab_verdict verdict = {0};
    int r = mix(j, &mixed);
    if (r == FAB_OK)
        r = fab_verify(&(struct fab_verify_input){.fabric = j->of.fabric,
                                                  .lids = &j->of.target->lids,
                                                  .lft = &j->of.target->lft,
                                                  .vls = &mixed,
                                                  .pool = j->pool},
                       &verdict);
    *ret_safe = r == FAB_OK && verdict.deadlock_free;
    fab_verify_verdict_fini(&verdict);
    fab_target_vls_fini(&mixed);
    return r;
}

/* Computes up/down tables with the SLs of the former tables. Up/down paths form no cycle on a
 * single VL, so they form none with any SLs. Returns OK even if the result does not pass the
 * proof. */
static int route_with_former_sls(struct sm_route_job *j)
{
    static const char engine[] = "updn";
    struct fab_route_input in = sm_route_job_input(j);
    struct fab_vls unused = {0};
    char why[sizeof(j->why)];
    snprintf(j->of.target->engine, sizeof(j->of.target->engine), "%s", engine);
    int r =
        fab_route_engine_by_name(engine)->run(&in, &j->of.target->lft, &unused, why, sizeof(why));
    fab_target_vls_fini(&unused);
    if (r == FAB_OK)
        r = fab_target_vls_copy(&j->former->vls, &j->of.target->vls);
    return r == FAB_OK ? sm_route_job_prove(j) : r;
}

/* Records that up/down tables replace the tables of the engine that was taken. */
static void record_updn(struct sm_route_job *j)
{
    for (uint32_t i = 0; i < j->choice->count; i++) {
        struct fab_choice_row *row = &j->choice->row[i];
        if (row->outcome != FAB_CHOICE_TAKEN && row->outcome != FAB_CHOICE_NOT_BETTER)
            continue;
        snprintf(row->why, sizeof(row->why), "%s",
                 row->outcome == FAB_CHOICE_TAKEN
                     ? "the tables could deadlock with the service levels that hosts use now"
                     : "not compared with tables for the service levels that hosts use now");
        row->outcome = FAB_CHOICE_UNFIT;
    }
    snprintf(
        j->why, sizeof(j->why),
        "up/down paths that keep the service levels of the former tables, until links are back "
        "or an operator runs 'fabricctl reroute'");
    sm_route_job_record(j, "updn", FAB_CHOICE_TAKEN, j->why);
}

struct proven {
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_verdict verdict;
    char engine[sizeof(((struct fab_target *)NULL)->engine)];
};

/* Exchanges the tables of the job, and their verdict, with *other. */
static void exchange(struct sm_route_job *j, struct proven *other)
{
    struct fab_target *t = j->of.target;
    struct proven mine = {.lft = t->lft, .vls = t->vls, .verdict = j->verdict};
    memcpy(mine.engine, t->engine, sizeof(mine.engine));
    t->lft = other->lft;
    t->vls = other->vls;
    j->verdict = other->verdict;
    memcpy(t->engine, other->engine, sizeof(mine.engine));
    *other = mine;
}

int sm_route_job_keep_sls(struct sm_route_job *j)
{
    bool safe = true;
    int r = may_keep_sls(j) ? check_former_sls(j, &safe) : FAB_OK;
    if (r != FAB_OK || safe)
        return r;
    struct proven other = {0};
    exchange(j, &other);
    r = route_with_former_sls(j);
    if (r == FAB_OK && fab_verify_verdict_good(&j->verdict))
        record_updn(j);
    else
        exchange(j, &other);
    fab_target_lft_fini(&other.lft);
    fab_target_vls_fini(&other.vls);
    fab_verify_verdict_fini(&other.verdict);
    return r == FAB_E_UNSUPPORTED ? FAB_OK : r;
}
