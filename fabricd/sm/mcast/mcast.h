/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/mcast for the other folders of fabricd/sm: multicast groups and the MFTs
 * of switches. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"

int sm_multicast_init(struct sm *s); /* NOMEM */
void sm_multicast_fini(struct sm *s);
void sm_multicast_swept(struct sm *s);   /* the model has a new snapshot, not yet published */
void sm_multicast_changed(struct sm *s); /* a new view is published: trees follow */
/* a local repair removed links: trees follow a little later */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
void sm_multicast_forget(struct sm *s); /* another manager may have written MFTs */
/* Fills in the next MFT request. few: only if few requests are left. False: there is none. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

#endif
