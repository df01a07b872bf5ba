/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "electing" reads SMInfo from every port that reports a subnet manager (IsSM). The state
 * machine of libfabmgr/smstate then decides which manager is master (IBA 14.4.1).
 */
#include "fabricd/sm/ha/state.h"

#define CAP_IS_SM 0x2u /* PortInfo CapabilityMask, IBA 14.2.5.6 */

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_sminfo *x = &s->ha->sminfo;
    x->count = x->asked = x->info_count = 0;
    for (uint32_t p = 0; p < f->port_count && x->count < SM_MAX_OTHERS; p++) {
        const struct fab_port *port = &f->ports[p];
        if (port->present && p != f->self_port && (port->info.cap_mask & CAP_IS_SM) &&
            fab_fabric_port_has_lid(f, p) && sm_model_path(&s->model, p))
            x->ports[x->count++] = p;
    }
    return FAB_OK;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_sminfo *x = &s->ha->sminfo;
    if (x->asked == x->count)
        return false;
    ret->path = sm_model_path(&s->model, x->ports[x->asked]);
    ret->attr_id = FAB_ATTR_SM_INFO;
    ret->attr_mod = 0;
    ret->tag = x->asked++;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_sminfo *x = &s->ha->sminfo;
    struct fab_sm_info info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) != FAB_OK)
        return;
    if (info.guid == s->role.guid || info.state == FAB_SM_NOT_ACTIVE)
        return;
    x->infos[x->info_count] = info;
    x->info_paths[x->info_count] = *sm_model_path(&s->model, x->ports[tag]);
    x->info_lids[x->info_count++] = s->model.fabric->ports[x->ports[tag]].info.lid;
}

static bool finished(const struct sm *s)
{
    return s->ha->sminfo.asked == s->ha->sminfo.count;
}

static int leave(struct sm *s)
{
    sm_ha_elect(s);
    return sm_is_master(s) ? FAB_OK : SM_ROUND_OVER;
}

uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max)
{
    const struct sm_sminfo *x = &s->ha->sminfo;
    for (uint32_t i = 0; i < x->info_count && i < max; i++)
        ret[i] = x->infos[i];
    return x->info_count;
}

const struct sm_phase sm_phase_sminfo = {.name = "electing",
                                         .enter = enter,
                                         .next = next,
                                         .answer = answer,
                                         .finished = finished,
                                         .leave = leave};
