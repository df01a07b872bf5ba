/* SPDX-License-Identifier: BSD-3-Clause */
/* Master election and standby (IBA 14.4); interface for the other folders of fabricd/sm. */
#ifndef FABRICD_SM_HA_HA_H
#define FABRICD_SM_HA_HA_H

#include "fabricd/sm/core/core.h"

int sm_ha_init(struct sm *s); /* NOMEM */
void sm_ha_fini(struct sm *s);
/* Sets IsSM (PortInfo CapabilityMask, IBA 14.2.5.6) on the manager's port, so that other managers
 * find this one. */
void sm_ha_announce(struct sm *s);
/* Handles SubnGet and SubnSet(SMInfo) from another manager. */
void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len);
uint64_t sm_ha_master_guid(const struct sm *s);
/* Returns the LID of the other manager that is master, as the last sweep found it; 0: there is
 * none. */
uint32_t sm_ha_master_lid(const struct sm *s);

extern const struct sm_phase sm_phase_sminfo;

#endif
