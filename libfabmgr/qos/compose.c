/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the SLs and VLs of all traffic classes. An engine that needs n SLs and k VLs for one
 * class gets a block of n SLs and a set of k VLs for each class:
 *
 *     SL = block * n + the engine's SL        VL = set * k + the engine's VL
 *
 * Blocks and sets are assigned in the order of the classes. If the policy gives a class an SL, the
 * class gets the block that begins with this SL. If there are too few sets, later classes share the
 * VLs of earlier classes; they share the VLs of the default class only if there is just one set. If
 * there are too few blocks, later classes share both SLs and VLs with earlier ones. SLs that belong
 * to no block use the VLs of the default class.
 *
 * This cannot cause a deadlock. For every class, a VL modulo k is the engine's VL, and an SL modulo
 * n is the engine's SL. Suppose that channel dependencies formed a cycle over the VLs of several
 * classes, or of old and new classes while tables change. If the VLs of its channels are taken
 * modulo k, this cycle becomes a cycle of channels as the engine uses them, but the engine's
 * routing has no such cycle. Nevertheless, libfabmgr/verify proves each result from the tables
 * alone.
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/qos/qos.h"

#define NONE 0xff

struct draft {
    const struct fab_classes *c;
    struct fab_vls *v;
    struct fab_qos_report *report;
    /* number of VLs (`lanes`) and of SLs that the engine needs for one class */
    uint8_t lanes, sls;
    uint8_t blocks, sets;
    uint8_t block[FAB_SLS]; /* [class] number of the block of SLs that the class has */
    /* [block of SLs] the first class that got this block; NONE: no class */
    uint8_t owner[FAB_SLS];
    /* [block of SLs] number of the set of VLs that the block uses */
    uint8_t set_of[FAB_SLS];
};

static void note(struct draft *d, enum fab_qos_kind kind, unsigned class, unsigned other)
{
    struct fab_qos_report *r = d->report;
    if (r->notes < sizeof(r->note) / sizeof(*r->note))
        r->note[r->notes++] = (struct fab_qos_note){.kind = kind,
                                                    .class = (uint8_t) class,
                                                    .other = (uint8_t)other,
                                                    .sl = (uint8_t)(d->block[class] * d->sls)};
}

/* ---- SLs ------------------------------------------------------------------------------------- */

static bool can_have_wish(const struct draft *d, unsigned class)
{
    uint8_t sl = d->c->class[class].sl;
    return sl != FAB_CLASS_NO_SL && sl % d->sls == 0 && sl / d->sls < d->blocks;
}

static void take_block(struct draft *d, unsigned class, uint8_t block)
{
    d->block[class] = block;
    if (d->owner[block] == NONE)
        d->owner[block] = (uint8_t) class;
}

/* Returns the first class before `class` to which the policy gives the same SL; NONE: no such
 * class. The default class counts as if it had SL 0. */
static uint8_t same_sl_class(const struct draft *d, unsigned class)
{
    for (unsigned i = 0; i < class; i++)
        if (d->c->class[class].sl != FAB_CLASS_NO_SL &&
            (d->c->class[i].sl == d->c->class[class].sl || (i == 0 && d->c->class[class].sl == 0)))
            return (uint8_t)i;
    return NONE;
}

static uint8_t free_block(const struct draft *d)
{
    for (uint8_t b = 0; b < d->blocks; b++)
        if (d->owner[b] == NONE)
            return b;
    return NONE;
}

static void find_block(struct draft *d, unsigned class)
{
    uint8_t same = same_sl_class(d, class), block = free_block(d);
    if (same != NONE) {
        take_block(d, class, d->block[same]);
    } else if (block != NONE) {
        take_block(d, class, block);
        if (d->c->class[class].sl != FAB_CLASS_NO_SL)
            note(d, FAB_QOS_OTHER_SL, class, class);
    } else {
        take_block(d, class, (uint8_t)(d->blocks - 1));
        note(d, FAB_QOS_SHARED_SLS, class, d->owner[d->blocks - 1]);
    }
}

static void find_blocks(struct draft *d)
{
    memset(d->owner, NONE, sizeof(d->owner));
    take_block(d, 0, 0);
    for (unsigned i = 1; i < d->c->count; i++)
        if (can_have_wish(d, i))
            take_block(d, i, (uint8_t)(d->c->class[i].sl / d->sls));
    for (unsigned i = 1; i < d->c->count; i++)
        if (!can_have_wish(d, i))
            find_block(d, i);
}

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* Assigns sets of VLs to the classes in the order of the policy. So if the operator appends a
 * class, the sets of the other classes do not change. */
static void find_sets(struct draft *d)
{
    uint8_t next = 0, most = d->sets;
    uint8_t first[FAB_SLS] = {0};
    memset(d->set_of, 0, sizeof(d->set_of));
    for (unsigned i = 0; i < d->c->count; i++) {
        uint8_t block = d->block[i];
        if (d->owner[block] != i)
            continue;
        unsigned again = most < 2 ? 0 : 1 + (next - 1u) % (most - 1u);
        uint8_t set = (uint8_t)(next < most ? next : again);
        if (next >= most)
            note(d, FAB_QOS_SHARED_VLS, i, first[set]);
        else
            first[set] = (uint8_t)i;
        d->set_of[block] = set;
        next++;
    }
    d->sets = next < most ? next : most;
}

static void map_sl(struct draft *d, const struct fab_vls *engine, uint8_t sl)
{
    uint8_t block = (uint8_t)(sl / d->sls), meant = (uint8_t)(sl % d->sls);
    uint8_t set = block < d->blocks ? d->set_of[block] : 0;
    for (unsigned in = 0; in < FAB_VL_CLASSES; in++)
        for (unsigned out = 0; out < FAB_VL_CLASSES; out++)
            d->v->vl[in][out][sl] = (uint8_t)(set * d->lanes + engine->vl[in][out][meant]);
}

/* Uses the operator's mapping of SLs to VLs (qos.sl2vl); of a VL that the links do not have, it
 * takes the number modulo `vls`. This mapping cannot cause a deadlock, because the caller has
 * checked that routing needs only one VL. */
static void map_given(struct draft *d, uint8_t vls)
{
    uint8_t most = 0;
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        unsigned given = d->c->map[sl];
        uint8_t vl = (uint8_t)(given < FAB_VLS_MAX ? given % vls : FAB_VLS_MAX);
        for (unsigned in = 0; in < FAB_VL_CLASSES; in++)
            for (unsigned out = 0; out < FAB_VL_CLASSES; out++)
                d->v->vl[in][out][sl] = vl;
        most = vl < FAB_VLS_MAX && vl > most ? vl : most;
    }
    d->v->count = (uint8_t)(most + 1);
    for (unsigned i = 0; i < d->c->count; i++)
        d->v->lane_set[i] = d->v->vl[0][0][d->v->sl[i][0]];
}

/* Returns true if the operator's mapping of SLs to VLs (qos.sl2vl) can be used: it does not drop
 * the packets of any class, and routing needs only one VL and one SL. */
static bool fits_given(const struct draft *d)
{
    for (unsigned i = 0; i < d->c->count; i++)
        if (d->c->map[d->v->sl[i][0]] >= FAB_VLS_MAX)
            return false;
    return d->lanes == 1 && d->sls == 1;
}

static void fill(struct draft *d, uint8_t vls)
{
    const struct fab_vls engine = *d->v;
    struct fab_vls *v = d->v;
    v->levels = d->c->count;
    v->lanes = d->lanes;
    v->sls = d->sls;
    v->count = (uint8_t)(d->sets * d->lanes);
    v->classes = engine.classes > 0 ? engine.classes : 1;
    memset(v->sl, 0, sizeof(v->sl));
    for (unsigned i = 0; i < d->c->count; i++) {
        v->lane_set[i] = d->set_of[d->block[i]];
        for (unsigned e = 0; e < d->sls; e++)
            v->sl[i][e] = (uint8_t)(d->block[i] * d->sls + e);
    }
    for (uint8_t sl = 0; sl < FAB_SLS; sl++)
        map_sl(d, &engine, sl);
    if (d->c->has_map && fits_given(d))
        map_given(d, vls);
    else if (d->c->has_map)
        note(d, FAB_QOS_NO_MAP, 0, 0);
}

int fab_qos_compose(const struct fab_classes *c, uint8_t vls, struct fab_vls *v,
                    struct fab_qos_report *ret_report)
{
    struct fab_qos_report report = {.notes = 0};
    struct draft d = {.c = c, .v = v, .report = &report};
    d.lanes = fab_target_vls_count(v);
    d.sls = fab_target_vls_multiple(v) ? v->sls : 1;
    if (v->levels > 1 || d.lanes > vls || d.sls == 0 || d.sls > FAB_SLS)
        return FAB_E_RANGE;
    report.lanes = d.lanes;
    report.sls = d.sls;
    report.sets = 1;
    if (fab_policy_classes_count(c) > 1) {
        d.blocks = (uint8_t)(FAB_SLS / d.sls);
        d.sets = (uint8_t)(vls / d.lanes);
        find_blocks(&d);
        find_sets(&d);
        fill(&d, vls);
        report.sets = d.sets;
    }
    *ret_report = report;
    return FAB_OK;
}

void fab_qos_note_text(const struct fab_classes *c, const struct fab_qos_report *r, unsigned note,
                       char *text, size_t len)
{
    const struct fab_qos_note *n = &r->note[note];
    const char *name = c->class[n->class].name, *other = c->class[n->other].name;
    switch (n->kind) {
    case FAB_QOS_SHARED_VLS:
        snprintf(
            text, len,
            "class %s shares the VLs of class %s: routing needs %u VLs for each class, and the "
            "links have VLs for %u classes; use fewer classes, raise subnet.max_vls if the "
            "devices have more VLs, or choose an engine that needs fewer",
            name, other, r->lanes, r->sets);
        return;
    case FAB_QOS_SHARED_SLS:
        snprintf(text, len,
                 "class %s shares the SLs of class %s: routing needs %u SLs for each class, and "
                 "there are 16; use fewer classes, or choose an engine that needs fewer SLs",
                 name, other, r->sls);
        return;
    case FAB_QOS_OTHER_SL:
        snprintf(text, len,
                 "class %s has SLs from %u on instead of %u: routing needs %u SLs for each class, "
                 "so the first must be a multiple of that",
                 name, n->sl, c->class[n->class].sl, r->sls);
        return;
    case FAB_QOS_NO_MAP:
        snprintf(text, len,
                 "qos.sl2vl is not used: routing needs %u VLs and %u SLs and maps them itself, or "
                 "qos.sl2vl would drop an SL of a class",
                 r->lanes, r->sls);
        return;
    }
}

uint32_t fab_qos_guarantee(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_vls *v, uint32_t port, uint8_t level)
{
    uint16_t mine = fab_target_class_vls(f, p, v, port, level), others = 0;
    struct fab_arb arb;
    if (v->levels < 2)
        return 1000;
    for (uint8_t i = 0; i < v->levels; i++)
        others |= fab_target_class_vls(f, p, v, port, i);
    if (!fab_target_arb(f, p, v, port, NULL, &arb))
        return 0; /* there is no arbitration if there is only one VL */
    return fab_target_arb_guarantee(&arb, mine, others, fab_target_mtu(f, p, port));
}
