/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the devices do what the tables ask for? Private to the room. */
#ifndef LIBFABMGR_VERIFY_DEVICE_LIMITS_H
#define LIBFABMGR_VERIFY_DEVICE_LIMITS_H

#include "libfabmgr/verify/walk.h"

/* After fab_verify_walk_all. Fills beyond, and the witness if there is none yet. NOMEM. */
int fab_verify_device_limits(const struct fab_verify_walk *w, struct fab_verdict *v);

#endif
