/* SPDX-License-Identifier: BSD-3-Clause */
/* GIDs as people write them: "ff12:401b:ffff::ffff:ffff". */
#ifndef LIBFABMGR_POLICY_GID_H
#define LIBFABMGR_POLICY_GID_H

#include <stdint.h>

/* As IPv6 addresses are written (RFC 4291, 2.2), but for dotted decimals. FORMAT. */
int fab_policy_gid_parse(const char *text, uint8_t ret_gid[16]);

#endif
