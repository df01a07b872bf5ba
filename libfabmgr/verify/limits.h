/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the devices do what the tables ask for? Private to the room. */
#ifndef LIBFABMGR_VERIFY_LIMITS_H
#define LIBFABMGR_VERIFY_LIMITS_H

#include "libfabmgr/verify/walk.h"

/* After fab_walk_all. Fills beyond, and the witness if there is none yet. NOMEM. */
int fab_limits_judge(const struct fab_walk *w, struct fab_verdict *v);

#endif
