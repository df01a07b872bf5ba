/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace that distinguishes dead ports from missing entries. Only this folder uses this header. */
#ifndef LIBFABMGR_VERIFY_TRACE_H
#define LIBFABMGR_VERIFY_TRACE_H

#include "libfabmgr/verify/verify.h"

/* Follows a path as fab_verify_trace does. The only difference: if an LFT entry on the path is a
 * port that does not exist, or a port without a working link, returns INVAL, not UNREACHABLE. */
int fab_verify_trace_strict(const struct fab_verify_input *in, uint32_t src_port, uint32_t dlid,
                            struct fab_verify_trace *ret);

#endif
