/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes GUIDInfo (IBA 14.2.5.5), the table of alias GUIDs of a port. Subnet administration decides
 * which GUIDs are in it, but only the subnet manager can send SMPs.
 */
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/status.h"

int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag)
{
    struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_LID,
                                   .method = FAB_METHOD_SET,
                                   .attr_id = FAB_ATTR_GUID_INFO,
                                   .attr_mod = block,
                                   .dlid = lid,
                                   .done = done,
                                   .ctx = ctx,
                                   .tag = tag};
    sm_m_key_fill(s, &req);
    bool alone = sm_run_busy(s) && s->run.round->alone;
    int r = alone || sm_is_frozen(s) ? FAB_E_BUSY : FAB_OK;
    if (r == FAB_OK)
        r = fab_wire_attr_pack(&fab_wire_attr_guid_block, guids, req.data, sizeof(req.data));
    if (r == FAB_OK)
        r = fab_mads_submit(s->mads, &req);
    if (r == FAB_OK)
        agent_pump(s->agent);
    return r;
}

void sm_guids_cancel(struct sm *s, void *ctx)
{
    fab_mads_cancel(s->mads, ctx);
}
