/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the tables exceed no limit of a device. Only this folder uses this header. */
#ifndef LIBFABMGR_VERIFY_DEVICE_LIMITS_H
#define LIBFABMGR_VERIFY_DEVICE_LIMITS_H

#include "libfabmgr/verify/walk.h"

/* Counts in v->beyond how many switches and ports cannot hold or carry what the tables need. Sets
 * v->witness to the first of them, if there is no other witness yet. The caller must have called
 * fab_verify_walk_all, which finds the VLs in use. Returns NOMEM if there is no memory. */
int fab_verify_device_limits(const struct fab_verify_walk *w, struct fab_verdict *v);

#endif
