/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records, for the standby managers, which LFT blocks and links this master has changed
 * (fabricd/replica/changes.c). A standby manager then reads only these again (behind.c).
 *
 * The blocks of a plan are recorded before its first write, so that a new master knows of them if
 * this master dies while it writes, and once more when all writes are answered, so that a standby
 * manager that has read them too early reads them again. Nothing waits for the record. If a change
 * is too large for it, the record says that everything has changed.
 *
 * The record is replaced at most every EVERY_US, and then has all changes that no majority has
 * confirmed yet. This limits what etcd stores while faults keep coming: 40 KB/s.
 *
 * The functions do nothing if the setting `replication` is not in use.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"

#define EVERY_US UINT64_C(200000)
/* maximum length of the text of a record, in bytes */
#define TEXT_MOST 8192
/* A plan with more LFT writes counts as a change of everything, without a look at the blocks. */
#define BLOCKS_MOST 50000

static void put(void *ctx)
{
    struct sm *s = ctx;
    struct sm_changed *x = &s->apply->changed;
    if (!sm_is_master(s))
        return;
    char *text = fab_plan_changes_text(&x->set, TEXT_MOST);
    replica_record_changes(s->in.replica, replica_recorded(s->in.replica) + 1, x->last,
                           text ? text : "all");
    log_debug("sm", "recorded changes last=%llu bytes=%zu", (unsigned long long)x->last,
              text ? strlen(text) : 0);
    free(text);
    x->put_us = clock_now_us();
}

/* Returns the set to which a change is added, and makes sure that it is recorded soon. */
static struct fab_lft_changes *begin_change(struct sm *s)
{
    struct sm_changed *x = &s->apply->changed;
    if (replica_recorded(s->in.replica) == x->last)
        fab_plan_changes_clear(&x->set);
    x->last++;
    fab_plan_changes_begin(&x->set, s->model.fabric);
    uint64_t now = clock_now_us(), at = x->put_us + EVERY_US;
    if (!loop_timer_pending(x->timer))
        loop_timer_set(x->timer, now >= at || x->put_us == 0 ? 0 : at - now);
    return &x->set;
}

static bool records(const struct sm *s)
{
    return s->in.replica && sm_is_master(s) && s->model.fabric;
}

void sm_changed_plan(struct sm *s)
{
    const struct fab_plan *plan = &s->apply->program.plan;
    uint32_t count = 0;
    if (!records(s))
        return;
    for (uint32_t i = 0; i < plan->stage_start[FAB_STAGE_COUNT]; i++)
        count += plan->ops[i].attr_id == FAB_ATTR_LFT;
    if (count == 0)
        return;
    struct fab_lft_changes *set = begin_change(s);
    if (count > BLOCKS_MOST) {
        fab_plan_changes_add_all(set);
        return;
    }
    for (uint32_t i = 0; i < plan->stage_start[FAB_STAGE_COUNT]; i++)
        if (plan->ops[i].attr_id == FAB_ATTR_LFT)
            fab_plan_changes_add_block(set, plan->ops[i].node, plan->ops[i].block);
}

void sm_changed_all(struct sm *s)
{
    if (records(s))
        fab_plan_changes_add_all(begin_change(s));
}

void sm_changed_repair(struct sm *s, const struct sm_link *link, uint32_t count)
{
    if (!records(s) || count == 0)
        return;
    struct fab_lft_changes *set = begin_change(s);
    for (uint32_t i = 0; i < count; i++) {
        fab_plan_changes_add_links(set, fab_fabric_port(s->model.fabric, link[i].port)->node);
        fab_plan_changes_add_links(set, fab_fabric_port(s->model.fabric, link[i].peer)->node);
        /* more links than this one have been removed from the snapshot */
        if (link[i].silent)
            fab_plan_changes_add_all(set);
    }
}

void sm_changed_fabric(struct sm *s, const struct fab_change *change, size_t count)
{
    if (!records(s) || count == 0)
        return;
    struct fab_lft_changes *set = begin_change(s);
    for (size_t i = 0; i < count; i++) {
        fab_plan_changes_add_links(set, fab_fabric_node_by_guid(s->model.fabric, change[i].guid_a));
        fab_plan_changes_add_links(set, fab_fabric_node_by_guid(s->model.fabric, change[i].guid_b));
    }
}

void sm_changed_drop(struct sm *s)
{
    fab_plan_changes_clear(&s->apply->changed.set);
    loop_timer_cancel(s->apply->changed.timer);
}

int sm_changed_init(struct sm *s)
{
    s->apply->changed.timer = loop_timer_new(s->in.loop, put, s);
    return s->apply->changed.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_changed_fini(struct sm *s)
{
    fab_plan_changes_clear(&s->apply->changed.set);
    loop_timer_free(s->apply->changed.timer);
    s->apply->changed.timer = NULL;
}
