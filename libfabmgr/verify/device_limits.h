/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables exceed no limit of a device. Only this folder uses this header. */
#ifndef LIBFABMGR_VERIFY_DEVICE_LIMITS_H
#define LIBFABMGR_VERIFY_DEVICE_LIMITS_H

#include "libfabmgr/verify/walk.h"

/* Adds to v->beyond the number of switches and switch ports whose limits the tables exceed. Sets
 * v->witness to the first of them, unless the verdict has a witness already. The caller must have
 * called fab_verify_walk_all, which finds the VLs in use. Returns NOMEM if there is no memory. */
int fab_verify_device_limits(const struct fab_verify_walk *w, struct fab_verdict *v);

#endif
