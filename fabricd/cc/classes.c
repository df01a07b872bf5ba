/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the largest incast that each traffic class permits: the number of endports that may send
 * in the class. All endports may send in three kinds of classes: the default class (paths that no
 * rule matches), a class without rules, and a class with a rule that does not restrict the sender.
 */
#include "fabricd/cc/compute.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/qos/qos.h"

/* Returns the bitset of the groups (struct fab_classes) whose members may send in a class; 0: all
 * endports may send. */
static uint64_t sending_groups(const struct fab_classes *c, uint8_t class)
{
    uint64_t groups = 0;
    for (size_t i = 0; i < c->rules; i++) {
        if (c->rule[i].class != class)
            continue;
        if (c->rule[i].from == 0)
            return 0;
        groups |= c->rule[i].from;
    }
    return groups;
}

/* Returns the number of endports that may send in a class; 0: all endports may send, or no endport
 * is in the groups of the class. */
static uint32_t senders(const struct fab_fabric *f, const struct fab_qos_matcher *m, uint8_t class)
{
    uint64_t groups = sending_groups(m->classes, class);
    uint32_t count = 0;
    for (uint32_t p = 0; groups != 0 && m->groups && p < m->ports; p++)
        count += f->nodes[fab_fabric_port(f, p)->node].type != FAB_NODE_SWITCH &&
                 (m->groups[p] & groups) != 0;
    return count;
}

void cc_note_classes(const struct fab_vls *vls, struct cc_work *w)
{
    const struct fab_classes *c = w->policy.classes;
    uint8_t levels = c ? fab_target_vls_levels(vls) : 1;
    w->levels = levels > 1 ? levels : 0;
    for (uint8_t level = 0; level < w->levels && level < FAB_CLASSES_MAX; level++)
        for (int e = 0; e < FAB_SLS && (e == 0 || e < vls->sls); e++)
            w->sls[level] |= (uint16_t)(1u << (vls->sl[level][e] & 15));
}

int cc_class_fan_in(const struct cc_work *w, uint32_t ret[FAB_CONGESTION_SLS])
{
    const struct fab_classes *c = w->policy.classes;
    /* bitset of SLs; a bit is set if all endports may send in a class with this SL */
    uint16_t open = 0;
    struct fab_qos_matcher m;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        ret[sl] = 0;
    if (w->levels == 0)
        return FAB_OK;
    int r = fab_qos_matcher_init(&m, w->fabric, &w->policy, &w->pkeys);
    for (uint8_t level = 0; r == FAB_OK && level < w->levels && level < c->count; level++) {
        uint32_t count = level > 0 ? senders(w->fabric, &m, level) : 0;
        open |= count == 0 ? w->sls[level] : 0;
        for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
            ret[sl] = w->sls[level] >> sl & 1 && count > ret[sl] ? count : ret[sl];
    }
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        ret[sl] = open >> sl & 1 ? 0 : ret[sl];
    if (r == FAB_OK)
        fab_qos_matcher_fini(&m);
    return r;
}
