/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which differences between present and wanted attributes cause a write.
 *
 * Some devices (and ibsim) answer a Set with success but keep their own SubnetTimeout, error
 * thresholds or VLStallCount. If a difference in these fields alone justified a write, every sweep
 * of an unchanged fabric would write to every port again. So there are two kinds of fields:
 *
 *   - Fields that traffic depends on are written whenever they differ.
 *   - Tuning fields are written when a field of the first kind is written, and when a port is
 *     brought up. A difference in tuning fields alone causes a write only if the policy changed
 *     (fab_plan_input.tune).
 */
#include "libfabmgr/plan/attr_diff.h"

bool fab_plan_port_differs(const struct fab_port_info *now, const struct fab_port_info *want,
                           bool is_port0)
{
    if (now->lid != want->lid || now->lmc != want->lmc || now->sm_lid != want->sm_lid)
        return true;
    if (now->m_key_protect != want->m_key_protect || now->m_key_lease != want->m_key_lease)
        return true;
    if (now->m_key != want->m_key || now->gid_prefix != want->gid_prefix)
        return true;
    if (is_port0)
        return false;
    if (now->part_enforce_in != want->part_enforce_in ||
        now->part_enforce_out != want->part_enforce_out)
        return true;
    return now->neighbor_mtu != want->neighbor_mtu || now->op_vls != want->op_vls;
}

bool fab_plan_tuning_differs(const struct fab_port_info *now, const struct fab_port_info *want)
{
    return now->subnet_timeout != want->subnet_timeout || now->hoq_life != want->hoq_life ||
           now->vl_stall_count != want->vl_stall_count ||
           now->local_phy_errors != want->local_phy_errors ||
           now->overrun_errors != want->overrun_errors ||
           now->vl_high_limit != want->vl_high_limit || now->neighbor_mtu != want->neighbor_mtu;
}

/* Returns true if SwitchInfo must be written, because a field differs or PortStateChange is set.
 * Writing 1 to PortStateChange clears this bit (IBA 14.2.5.4). */
bool fab_plan_switch_differs(const struct fab_switch_info *now, const struct fab_switch_info *want)
{
    return now->linear_fdb_top != want->linear_fdb_top || now->life_time != want->life_time ||
           now->multicast_fdb_top != want->multicast_fdb_top ||
           now->default_port != want->default_port ||
           now->default_mcast_primary_port != want->default_mcast_primary_port ||
           now->default_mcast_not_primary_port != want->default_mcast_not_primary_port ||
           now->port_state_change != 0;
}
