/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/ha. For this folder only. */
#ifndef FABRICD_SM_HA_STATE_H
#define FABRICD_SM_HA_STATE_H

#include "fabricd/sm/ha/ha.h"
#include "libfabmgr/base/status.h"

#define SM_MAX_OTHERS 64 /* most managers whose SMInfo is read */

struct sm_sminfo { /* election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct fab_sm_info infos[SM_MAX_OTHERS];
    uint32_t info_count;
    struct fab_path info_paths[SM_MAX_OTHERS];
    uint16_t info_lids[SM_MAX_OTHERS];
};
struct sm_ha {
    struct sm_sminfo sminfo;
    struct loop_timer *poll_timer;
    struct fab_path master_path; /* in standby: directed route to the master's port */
    uint64_t master_guid;
    uint32_t master_lid;
    uint32_t activity; /* ActCount of SMInfo, IBA 14.2.5.13 */
    bool announced;    /* IsSM is set */
};

void sm_ha_elect(struct sm *s); /* call it after SMInfo of the other managers was read */

#endif
