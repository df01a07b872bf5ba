/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes pins: compares the description of each host and router with all patterns of the policy.
 * Switches are not pinned, because no host can change their descriptions. */
#include "libfabmgr/target/pins.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/target/selector.h"

/* ---- patterns -------------------------------------------------------------------------------- */

struct patterns {
    /* [count] the patterns of the policy, sorted, without duplicates */
    const char **text;
    size_t count;
};

static void take(const char *pattern, const char **ret, size_t *count)
{
    if (fab_target_pattern_is_any(pattern))
        return;
    if (ret != NULL)
        ret[*count] = pattern;
    ++*count;
}

/* Returns the number of patterns of the policy. Omits patterns that consist only of stars. Unless
 * ret is NULL, also stores the patterns in ret[]. */
static size_t list_patterns(const struct fab_policy *p, const char **ret)
{
    const struct fab_partitions *parts = p->partitions;
    const struct fab_classes *classes = p->classes;
    size_t count = 0;
    for (size_t i = 0; parts != NULL && i < parts->rules; i++)
        if (parts->rule[i].who.kind == FAB_SELECT_NAME)
            take(parts->rule[i].who.name, ret, &count);
    for (size_t i = 0; parts != NULL && i < parts->groups; i++)
        for (size_t k = 0; k < parts->group[i].count; k++)
            if (parts->group[i].member[k].kind == FAB_SELECT_NAME)
                take(parts->group[i].member[k].name, ret, &count);
    for (size_t i = 0; classes != NULL && i < classes->groups; i++)
        for (size_t k = 0; k < classes->group[i].count; k++)
            if (classes->group[i].member[k].kind == FAB_CLASS_NODES)
                take(classes->group[i].member[k].name, ret, &count);
    return count;
}

bool fab_target_pins_wanted(const struct fab_policy *p)
{
    return list_patterns(p, NULL) > 0;
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static int find_patterns(const struct fab_policy *p, struct patterns *ret)
{
    size_t count = list_patterns(p, NULL);
    ret->text = fab_base_alloc_array(count + 1, sizeof *ret->text);
    if (ret->text == NULL)
        return FAB_E_NOMEM;
    list_patterns(p, ret->text);
    if (count > 1)
        qsort(ret->text, count, sizeof *ret->text, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (ret->count == 0 || strcmp(ret->text[ret->count - 1], ret->text[i]) != 0)
            ret->text[ret->count++] = ret->text[i];
    return FAB_OK;
}

/* Returns true if a pattern of the policy matches the name `desc` but does not match the name
 * `but`. If `but` is NULL, returns true if any pattern matches `desc`. */
static bool gains(const struct patterns *p, const char *desc, const char *but)
{
    for (size_t i = 0; i < p->count; i++)
        if (fab_target_name_matches(desc, p->text[i]) &&
            (but == NULL || !fab_target_name_matches(but, p->text[i])))
            return true;
    return false;
}

/* ---- arrivals -------------------------------------------------------------------------------- */

static bool is_host(const struct fab_node *n)
{
    return n->type != FAB_NODE_SWITCH;
}

static int note_arrivals(const struct fab_pins_input *in)
{
    struct fab_pins_arrivals *a = in->arrivals;
    uint32_t now = a->began ? (uint32_t)(in->now_us / 1000000) : FAB_PINS_EARLIER;
    for (uint32_t i = 0; i < in->fabric->node_count; i++) {
        const struct fab_node *n = &in->fabric->nodes[i];
        if (!is_host(n) || a->seconds.count >= FAB_PINS_MAX)
            continue;
        int r = fab_base_map_add(&a->seconds, n->guid, now);
        if (r != FAB_OK && r != FAB_E_EXISTS)
            return r;
    }
    a->began = true;
    return FAB_OK;
}

static bool is_recent(const struct fab_pins_input *in, uint64_t us)
{
    return us != 0 && in->now_us <= us + FAB_PINS_TOGETHER_US;
}

static bool arrived_recently(const struct fab_pins_input *in, uint64_t guid)
{
    uint32_t seconds;
    return fab_base_map_get(&in->arrivals->seconds, guid, &seconds) &&
           seconds != FAB_PINS_EARLIER && is_recent(in, seconds * UINT64_C(1000000) + 1);
}

void fab_target_pins_arrivals_fini(struct fab_pins_arrivals *a)
{
    fab_base_map_fini(&a->seconds);
    *a = (struct fab_pins_arrivals){.began = false};
}

/* ---- pins ------------------------------------------------------------------------------------ */

struct draft {
    const struct fab_pins_input *in;
    struct patterns patterns;
    /* the pins that existed before, followed by the new pins */
    struct fab_pin *pin;
    size_t pins;
    struct fab_pin_waiting *waiting;
    size_t waits;
};

static void wait_for_approval(struct draft *d, const struct fab_node *n, enum fab_pin_reason reason,
                              const struct fab_pin *holder)
{
    const struct fab_pin_waiting *before = fab_policy_pins_waiting(d->in->was, n->guid);
    struct fab_pin_waiting *w = &d->waiting[d->waits++];
    *w = (struct fab_pin_waiting){.guid = n->guid,
                                  .reason = (uint8_t)reason,
                                  .holder = holder != NULL ? holder->guid : 0,
                                  .since_us = d->in->unix_us};
    memcpy(w->name, n->desc, sizeof w->name);
    if (before != NULL && before->reason == w->reason && strcmp(before->name, w->name) == 0) {
        w->since_us = before->since_us;
        w->told = before->told;
    }
}

/* Pins a node to the name that the node shows. with: a pin of another adapter of this host; NULL:
 * there is none. */
static void add_pin(struct draft *d, const struct fab_node *n, const struct fab_pin *with)
{
    struct fab_pin *pin = &d->pin[d->pins++];
    *pin = (struct fab_pin){.guid = n->guid,
                            .since_us = d->in->unix_us,
                            .made_us = with != NULL ? with->made_us : d->in->now_us};
    memcpy(pin->name, n->desc, sizeof pin->name);
}

static void judge_unpinned(struct draft *d, const struct fab_node *n)
{
    const struct fab_pin *holder = fab_policy_pins_holder(d->in->was, n->desc);
    if (!gains(&d->patterns, n->desc, NULL))
        return;
    if (d->in->policy->pin_names == FAB_PIN_APPROVED)
        wait_for_approval(d, n, FAB_PIN_NEW, holder);
    else if (holder != NULL &&
             !(is_recent(d->in, holder->made_us) && arrived_recently(d->in, n->guid)))
        wait_for_approval(d, n, FAB_PIN_HELD, holder);
    else if (d->pins >= FAB_PINS_MAX)
        wait_for_approval(d, n, FAB_PIN_FULL, NULL);
    else
        add_pin(d, n, holder);
}

static void judge(struct draft *d, const struct fab_node *n)
{
    const struct fab_pin *pin = fab_policy_pins_find(d->in->was, n->guid);
    if (pin == NULL)
        judge_unpinned(d, n);
    else if (strcmp(pin->name, n->desc) != 0 && gains(&d->patterns, n->desc, pin->name))
        wait_for_approval(d, n, FAB_PIN_CHANGED, NULL);
}

static int compare_waiting(const void *x, const void *y)
{
    const struct fab_pin_waiting *a = x, *b = y;
    return (a->guid > b->guid) - (a->guid < b->guid);
}

static int judge_all(struct draft *d)
{
    const struct fab_fabric *f = d->in->fabric;
    const struct fab_pins *was = d->in->was;
    d->pin = fab_base_alloc_array(was->count + f->node_count + 1, sizeof *d->pin);
    d->waiting = fab_base_alloc_array((size_t)f->node_count + 1, sizeof *d->waiting);
    if (d->pin == NULL || d->waiting == NULL)
        return FAB_E_NOMEM;
    if (was->count > 0)
        memcpy(d->pin, was->pin, was->count * sizeof *d->pin);
    d->pins = was->count;
    for (uint32_t i = 0; i < f->node_count; i++)
        if (is_host(&f->nodes[i]))
            judge(d, &f->nodes[i]);
    if (d->waits > 1)
        qsort(d->waiting, d->waits, sizeof *d->waiting, compare_waiting);
    return FAB_OK;
}

int fab_target_pins_update(const struct fab_pins_input *in, struct fab_pins **ret)
{
    struct draft d = {.in = in};
    struct fab_pins *made = NULL;
    int r = note_arrivals(in);
    if (r == FAB_OK)
        r = find_patterns(in->policy, &d.patterns);
    if (r == FAB_OK)
        r = judge_all(&d);
    if (r == FAB_OK)
        r = fab_policy_pins_new(d.pin, d.pins, d.waiting, d.waits,
                                in->policy->pin_names == FAB_PIN_APPROVED, &made);
    free(d.patterns.text);
    free(d.pin);
    free(d.waiting);
    if (r == FAB_OK)
        *ret = made;
    return r;
}

bool fab_target_pins_same(const struct fab_pins *a, const struct fab_pins *b)
{
    bool same = a->count == b->count && a->waiting_count == b->waiting_count &&
                a->approved_only == b->approved_only;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->pin[i].guid == b->pin[i].guid && strcmp(a->pin[i].name, b->pin[i].name) == 0 &&
               strcmp(a->pin[i].by, b->pin[i].by) == 0;
    for (size_t i = 0; same && i < a->waiting_count; i++)
        same = a->waiting[i].guid == b->waiting[i].guid &&
               a->waiting[i].reason == b->waiting[i].reason &&
               a->waiting[i].told == b->waiting[i].told &&
               strcmp(a->waiting[i].name, b->waiting[i].name) == 0;
    return same;
}
