/* SPDX-License-Identifier: BSD-3-Clause */
/* GIDs in text form: "ff12:401b:ffff::ffff:ffff". */
#ifndef LIBFABMGR_POLICY_GID_H
#define LIBFABMGR_POLICY_GID_H

#include <stdint.h>

/* Reads a GID in the form of IPv6 addresses (RFC 4291, 2.2), but without dotted decimals.
 * Returns FORMAT if the text is not a GID. */
int fab_policy_gid_parse(const char *text, uint8_t ret_gid[16]);

#endif
