/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables exceed no limit of a device. For this folder only. */
#ifndef LIBFABMGR_VERIFY_DEVICE_LIMITS_H
#define LIBFABMGR_VERIFY_DEVICE_LIMITS_H

#include "libfabmgr/verify/walk.h"

/* Call it after fab_verify_walk_all. Fills v->beyond, and the witness if there is none yet.
 * Returns NOMEM. */
int fab_verify_device_limits(const struct fab_verify_walk *w, struct fab_verdict *v);

#endif
