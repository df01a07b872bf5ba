/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of subnet managers (IBA 14.4.1, figure "SMInfo state transitions"):
 *
 *     DISCOVERING --no better manager found--> MASTER --a better master appears--> STANDBY
 *     DISCOVERING --a master, or a better manager--> STANDBY --it is gone--> DISCOVERING
 *     STANDBY --HANDOVER--> MASTER, --DISABLE--> NOT_ACTIVE --STANDBY--> STANDBY
 *
 * In state DISCOVERING, this manager becomes standby if it finds a master, even a master with a
 * lower priority. A master finds this manager in its own sweeps, and hands over to it if this
 * manager has precedence. This manager itself, as master, hands over only to a manager in standby
 * (fab_smstate_successor).
 */
#include "libfabmgr/smstate/smstate.h"

#include <stddef.h>
#include <string.h>

void fab_smstate_init(struct fab_smstate *s, uint64_t guid, uint8_t priority)
{
    *s = (struct fab_smstate){
        .state = FAB_SM_DISCOVERING,
        .guid = guid,
        .priority = priority,
        .polls_allowed = FAB_SMSTATE_POLLS,
        .waits_allowed = FAB_SMSTATE_WAITS,
    };
}

bool fab_smstate_beats(uint8_t prio_a, uint64_t guid_a, uint8_t prio_b, uint64_t guid_b)
{
    return prio_a != prio_b ? prio_a > prio_b : guid_a < guid_b;
}

static bool beats_us(const struct fab_smstate *s, const struct fab_sm_info *other)
{
    return fab_smstate_beats(other->priority, other->guid, s->priority, s->guid);
}

static bool is_passed_over(const struct fab_smstate *s, uint64_t guid)
{
    for (uint32_t i = 0; i < s->passed_count; i++)
        if (s->passed_over[i] == guid)
            return true;
    return false;
}

/* Adds a manager to passed_over[], so that elections ignore it. If the list is full, first removes
 * its oldest entry. */
static void pass_over(struct fab_smstate *s, uint64_t guid)
{
    if (s->passed_count == FAB_SMSTATE_PASSED)
        memmove(s->passed_over, s->passed_over + 1, sizeof(*s->passed_over) * --s->passed_count);
    s->passed_over[s->passed_count++] = guid;
}

/* Removes the manager `guid` from passed_over[], because it has become master after all. Elections
 * will consider it again. */
static void respect(struct fab_smstate *s, uint64_t guid)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->passed_count; i++)
        if (s->passed_over[i] != guid)
            s->passed_over[kept++] = s->passed_over[i];
    s->passed_count = kept;
}

/* Returns the best of the other subnet managers: the manager with precedence over all the rest
 * (fab_smstate_beats). NULL: there are none. masters: true: considers only those in state MASTER;
 * false: only those in state DISCOVERING or STANDBY that are not in passed_over[]. */
static const struct fab_sm_info *
best_of(const struct fab_smstate *s, const struct fab_sm_info *others, uint32_t count, bool masters)
{
    const struct fab_sm_info *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_sm_info *o = &others[i];
        if (o->guid == s->guid || o->state == FAB_SM_NOT_ACTIVE || o->state > FAB_SM_MASTER)
            continue;
        if ((o->state == FAB_SM_MASTER) != masters || (!masters && is_passed_over(s, o->guid)))
            continue;
        if (best == NULL || fab_smstate_beats(o->priority, o->guid, best->priority, best->guid))
            best = o;
    }
    return best;
}

static void watch(struct fab_smstate *s, uint64_t guid, bool is_master)
{
    s->state = FAB_SM_STANDBY;
    s->master_guid = guid;
    s->was_master = is_master;
    s->missed = s->waited = 0;
}

static void become(struct fab_smstate *s, uint8_t state)
{
    s->state = state;
    s->master_guid = 0;
    s->missed = s->waited = 0;
}

void fab_smstate_discovered(struct fab_smstate *s, const struct fab_sm_info *others, uint32_t count)
{
    const struct fab_sm_info *master = best_of(s, others, count, true);
    const struct fab_sm_info *rival = best_of(s, others, count, false);
    for (uint32_t i = 0; i < count; i++)
        if (others[i].state == FAB_SM_MASTER)
            respect(s, others[i].guid);
    switch (s->state) {
    case FAB_SM_DISCOVERING:
        if (master != NULL)
            watch(s, master->guid, true);
        else if (rival != NULL && beats_us(s, rival))
            watch(s, rival->guid, false);
        else
            become(s, FAB_SM_MASTER);
        break;
    case FAB_SM_MASTER:
        if (master != NULL && beats_us(s, master))
            watch(s, master->guid, true);
        break;
    case FAB_SM_STANDBY:
        if (master != NULL)
            watch(s, master->guid, true);
        break;
    default:
        break;
    }
}

const struct fab_sm_info *fab_smstate_successor(const struct fab_smstate *s,
                                                const struct fab_sm_info *others, uint32_t count)
{
    const struct fab_sm_info *best = NULL;
    for (uint32_t i = 0; i < count && s->state == FAB_SM_MASTER; i++) {
        const struct fab_sm_info *o = &others[i];
        if (o->guid != s->guid && o->state == FAB_SM_STANDBY && beats_us(s, o) &&
            !is_passed_over(s, o->guid) &&
            (best == NULL || fab_smstate_beats(o->priority, o->guid, best->priority, best->guid)))
            best = o;
    }
    return best;
}

int fab_smstate_priority_below(uint8_t priority, uint64_t guid, const struct fab_sm_info *other)
{
    int p = priority;
    while (p >= 0 && fab_smstate_beats((uint8_t)p, guid, other->priority, other->guid))
        p--;
    return p;
}

void fab_smstate_step_down(struct fab_smstate *s, uint64_t guid)
{
    watch(s, guid, true);
}

/* Returns true if the polled manager is master, or is about to become master because it beats this
 * manager. If the polled manager was master before but is not master now, it has handed over, or it
 * was restarted and now waits for a master itself. */
static bool is_alive(const struct fab_smstate *s, const struct fab_sm_info *answer)
{
    switch (answer->state) {
    case FAB_SM_MASTER:
        return answer->guid != s->guid;
    /* the polled manager has beaten this manager, and is about to become master */
    case FAB_SM_STANDBY:
    case FAB_SM_DISCOVERING:
        return answer->guid == s->master_guid && !s->was_master && beats_us(s, answer);
    default:
        return false;
    }
}

void fab_smstate_rediscover(struct fab_smstate *s)
{
    if (s->state == FAB_SM_STANDBY)
        become(s, FAB_SM_DISCOVERING);
}

enum fab_smstate_poll fab_smstate_poll(struct fab_smstate *s, const struct fab_sm_info *answer)
{
    if (s->state != FAB_SM_STANDBY)
        return FAB_SMSTATE_STAYS;
    if (answer == NULL || !is_alive(s, answer)) {
        if (++s->missed < s->polls_allowed)
            return FAB_SMSTATE_STAYS;
        become(s, FAB_SM_DISCOVERING);
        return FAB_SMSTATE_GONE;
    }
    uint32_t waited = answer->state == FAB_SM_MASTER ? 0 : s->waited + 1;
    if (waited > s->waits_allowed) {
        pass_over(s, answer->guid);
        become(s, FAB_SM_DISCOVERING);
        return FAB_SMSTATE_PASSED_OVER;
    }
    watch(s, answer->guid, answer->state == FAB_SM_MASTER);
    s->waited = waited;
    return FAB_SMSTATE_STAYS;
}

/* The control packets that IBA allows. control: enum fab_sm_control; sender: state of the sender;
 * ours, then: states of this manager before and after the packet; rediscover: true: this manager
 * must begin a heavy sweep. */
static const struct transition {
    uint8_t control, sender, ours, then;
    bool rediscover;
} transitions[] = {
    {FAB_SM_HANDOVER, FAB_SM_MASTER, FAB_SM_DISCOVERING, FAB_SM_DISCOVERING, true},
    {FAB_SM_HANDOVER, FAB_SM_MASTER, FAB_SM_STANDBY, FAB_SM_MASTER, true},
    {FAB_SM_HANDOVER, FAB_SM_MASTER, FAB_SM_MASTER, FAB_SM_MASTER, true},
    {FAB_SM_ACKNOWLEDGE, FAB_SM_STANDBY, FAB_SM_STANDBY, FAB_SM_STANDBY, false},
    {FAB_SM_DISABLE, FAB_SM_MASTER, FAB_SM_STANDBY, FAB_SM_NOT_ACTIVE, false},
    {FAB_SM_GO_STANDBY, FAB_SM_MASTER, FAB_SM_NOT_ACTIVE, FAB_SM_STANDBY, false},
    {FAB_SM_DISCOVER, FAB_SM_MASTER, FAB_SM_STANDBY, FAB_SM_DISCOVERING, true},
};

static const struct transition *transition_of(const struct fab_smstate *s, uint32_t control,
                                              uint8_t sender)
{
    for (size_t i = 0; i < sizeof transitions / sizeof transitions[0]; i++) {
        const struct transition *t = &transitions[i];
        if (t->control == control && t->sender == sender && t->ours == s->state)
            return t;
    }
    return NULL;
}

uint16_t fab_smstate_control(struct fab_smstate *s, uint32_t attr_mod,
                             const struct fab_sm_info *from, bool *ret_rediscover)
{
    const struct transition *t = transition_of(s, attr_mod, from->state);
    *ret_rediscover = t != NULL && t->rediscover;
    if (t == NULL)
        return FAB_SMP_BAD_VALUE;
    if (attr_mod == FAB_SM_GO_STANDBY)
        watch(s, from->guid, true);
    else if (t->then != s->state)
        become(s, t->then);
    return 0;
}

const char *fab_smstate_name(uint8_t state)
{
    static const char *const names[] = {"not-active", "discovering", "standby", "master"};
    return state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}
