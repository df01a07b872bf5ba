/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/ha for the other folders of fabricd/sm: master election and standby (IBA
 * 14.4). */
#ifndef FABRICD_SM_HA_HA_H
#define FABRICD_SM_HA_HA_H

#include "fabricd/sm/core/core.h"

int sm_ha_init(struct sm *s); /* returns OK or NOMEM */
void sm_ha_fini(struct sm *s);
/* Sets IsSM (PortInfo CapabilityMask, IBA 14.2.5.6) on the manager's own port. Other managers find
 * this manager by this bit. */
void sm_ha_announce(struct sm *s);
/* Call sm_ha_lose_port when the port of this manager is gone: the manager is then neither master
 * nor standby. Call sm_ha_find_port when the port is back: the manager is then in state
 * discovering. */
void sm_ha_lose_port(struct sm *s);
void sm_ha_find_port(struct sm *s);
/* Call this function if the snapshot of a standby manager is outdated. The manager then discovers
 * the fabric, and the master is elected again. */
void sm_ha_rediscover(struct sm *s);
/* Handles SubnGet and SubnSet(SMInfo) from another manager. */
void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len);
/* Call this function after the policy was replaced. Puts subnet.sm_priority into use if it differs
 * from former_priority, its value in the policy before. */
void sm_ha_reload(struct sm *s, uint8_t former_priority);
/* Returns the priority of this manager: the one that sm_ha_set_priority has set, or else that of
 * the settings. */
uint8_t sm_ha_priority(const struct sm *s);
void sm_ha_set_priority(struct sm *s, uint8_t priority);
/* Call this function before `ctx` is freed. The callback that was passed to sm_hand_over with this
 * ctx is not called any more; the hand-over itself continues. */
void sm_handover_drop(struct sm *s, const void *ctx);
uint64_t sm_ha_master_guid(const struct sm *s);
/* Returns the LID of the other manager that is master, as the last sweep has found it; 0: there is
 * none, or this manager is master. */
uint32_t sm_ha_master_lid(const struct sm *s);
/* If a trusted manager was master immediately before this one, these functions return its LID and
 * its port GUID; 0: there was none. */
uint32_t sm_ha_former_master_lid(const struct sm *s);
uint64_t sm_ha_former_master_guid(const struct sm *s);
/* Returns the directed route by which this manager, as standby, polled the former master. */
const struct fab_path *sm_ha_former_master_path(const struct sm *s);
/* Returns the id of the former master's port; FAB_NONE: there was no former master, or the snapshot
 * does not have the port. */
uint32_t sm_ha_former_master_port(const struct sm *s);
/* Replaces the directed routes to the other managers by those of a new snapshot. */
void sm_ha_renew_paths(struct sm *s);

extern const struct sm_phase sm_phase_sminfo;

#endif
