/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/mcast for the other folders of fabricd/sm: multicast groups and the MFTs
 * of switches. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"

int sm_multicast_init(struct sm *s); /* NOMEM */
void sm_multicast_fini(struct sm *s);
void sm_multicast_swept(struct sm *s);   /* call it when the model has a new snapshot */
void sm_multicast_changed(struct sm *s); /* call it after a view was published */
/* Call it when a local repair removed links: updates the trees 20 ms later. */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
void sm_multicast_forget(struct sm *s); /* call it when another manager may have written MFTs */
/* Fills in the next MFT request; false: there is none. few: fills it in only if at most 64 requests
 * are left. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

#endif
