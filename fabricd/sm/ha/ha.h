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
/* sm_ha_lose_port ends the role of this manager, because its port is gone. sm_ha_find_port changes
 * its state to discovering, because the port is back. */
void sm_ha_lose_port(struct sm *s);
void sm_ha_find_port(struct sm *s);
/* Makes this manager discover the fabric and elect again. The manager is in standby, and its
 * snapshot is outdated. */
void sm_ha_rediscover(struct sm *s);
/* Handles SubnGet and SubnSet(SMInfo) from another manager. */
void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len);
/* Call this function after the policy was replaced. If subnet.sm_priority differs from
 * former_priority, it takes effect now. */
void sm_ha_reload(struct sm *s, uint8_t former_priority);
/* Returns the priority that sm_ha_set_priority or the settings gave this manager. */
uint8_t sm_ha_priority(const struct sm *s);
void sm_ha_set_priority(struct sm *s, uint8_t priority);
/* Forgets the caller of sm_hand_over with this ctx. The hand-over continues. */
void sm_handover_drop(struct sm *s, const void *ctx);
uint64_t sm_ha_master_guid(const struct sm *s);
/* Returns the LID of the master if it is another manager, as found by the last sweep; 0: no other
 * manager is master. */
uint32_t sm_ha_master_lid(const struct sm *s);
/* Return the LID and the port GUID of the trusted manager that was master immediately before this
 * one; 0: there was none. */
uint32_t sm_ha_former_master_lid(const struct sm *s);
uint64_t sm_ha_former_master_guid(const struct sm *s);

extern const struct sm_phase sm_phase_sminfo;

#endif
