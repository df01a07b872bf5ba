/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups and the switches' multicast tables, for the other folders of fabricd/sm. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"

int sm_multicast_init(struct sm *s); /* NOMEM */
void sm_multicast_fini(struct sm *s);
void sm_multicast_swept(struct sm *s);    /* the model has another fabric; not published yet */
void sm_multicast_changed(struct sm *s);  /* it is published */
void sm_multicast_repaired(struct sm *s); /* links were cut in place: trees follow after a while */
void sm_multicast_reload(struct sm *s);
void sm_multicast_forget(struct sm *s); /* another manager may write */
/* Fills in the next request. few: only if few are left. False: none. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

#endif
