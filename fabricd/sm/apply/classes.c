/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns the VLs of the engine to the traffic classes after routing (libfabmgr/qos). Emits events
 * about classes that must share VLs, and about classes whose guaranteed share of a link is lower
 * than the configured one.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/apply/state.h"
#include "libfabmgr/route/route.h"

#define PORTS_LOOKED_AT 1024

bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v)
{
    return fab_target_vls_levels(v) == fab_policy_classes_count(p->classes);
}

/* Finds the share of the bandwidth of a port that its VLArbitration table guarantees to each
 * traffic class, in per mille. Examines up to PORTS_LOOKED_AT ports; ret->guaranteed[] receives the
 * lowest share of each class. */
static void find_guarantees(const struct sm_sealed *of, struct sm_classes *ret)
{
    const struct fab_fabric *f = of->fabric;
    const struct fab_vls *v = &of->target->vls;
    uint32_t looked = 0;
    for (uint8_t i = 0; i < v->levels; i++)
        ret->guaranteed[i] = 1000;
    for (uint32_t port = 0; port < f->port_count && looked < PORTS_LOOKED_AT; port++) {
        if (fab_fabric_port(f, port)->num == 0 || !fab_fabric_port_is_up(f, port) ||
            fab_target_port_vls(f, &of->policy, port) < v->count)
            continue; /* ports with fewer VLs than the tables use are left out */
        looked++;
        for (uint8_t i = 0; i < v->levels; i++) {
            uint32_t has = fab_qos_guarantee(f, &of->policy, v, port, i);
            if (has < ret->guaranteed[i])
                ret->guaranteed[i] = (uint16_t)has;
        }
    }
}

int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret)
{
    /* only a shallow copy: the memory that its pointers refer to belongs to of->policy */
    struct fab_policy whole = of->policy;
    uint32_t weakest;
    *ret = (struct sm_classes){.report = {.notes = 0}};
    if (fab_policy_classes_count(of->policy.classes) < 2)
        return FAB_OK;
    whole.lane_sets = 0;
    uint8_t vls = fab_route_vls_available(of->fabric, &whole, &weakest);
    int r = fab_qos_compose(of->policy.classes, vls, &of->target->vls, &ret->report);
    if (r == FAB_OK)
        find_guarantees(of, ret);
    return r;
}

static void emit_guarantees(struct sm *s, const struct sm_classes *now)
{
    const struct fab_classes *c = s->policy.classes;
    for (uint8_t i = 0; i < c->count; i++) {
        uint32_t due = fab_target_class_share(c, i) / 100;
        if (c->class[i].share == 0 || now->guaranteed[i] + 10u >= due)
            /* Weights of VLArbitration tables are coarse, so a share that is only 1 percentage
             * point too low is not reported. */
            continue;
        event_emit(s->in.bus, class_share_missed, .subject = c->class[i].name,
                   .guaranteed = now->guaranteed[i], .share = c->class[i].share);
    }
}

static const char *const note_kinds[] = {
    [FAB_QOS_SHARED_VLS] = "shared-vls",
    [FAB_QOS_SHARED_SLS] = "shared-sls",
    [FAB_QOS_OTHER_SL] = "other-sl",
    [FAB_QOS_NO_MAP] = "no-sl2vl",
};

void sm_classes_report(struct sm *s, const struct sm_classes *now)
{
    const struct fab_classes *c = s->policy.classes;
    char text[400];
    /* memcmp also compares padding bytes. In the worst case, the same report is emitted twice. */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    bool same = memcmp(now, &s->apply->classes, sizeof(*now)) == 0;
    s->apply->classes = *now;
    if (same || fab_policy_classes_count(c) < 2)
        return;
    for (unsigned i = 0; i < now->report.notes; i++) {
        fab_qos_note_text(c, &now->report, i, text, sizeof(text));
        const struct fab_qos_note *note = &now->report.note[i];
        event_emit(s->in.bus, class_adjusted, .subject = c->class[note->class].name,
                   .kind = note_kinds[note->kind], .detail = text);
    }
    emit_guarantees(s, now);
}
