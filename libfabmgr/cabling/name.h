/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of nodes, as plans and NodeDescriptions spell them. */
#ifndef LIBFABMGR_CABLING_NAME_H
#define LIBFABMGR_CABLING_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define FAB_CABLING_NAME_MAX 127u /* maximum length of a name in a plan, in bytes */
#define FAB_CABLING_KEY (FAB_CABLING_NAME_MAX + 1)

/*
 * Writes the key of a name. Names with equal keys mean the same node:
 *
 *     leaf-03, LEAF-03, MF0;leaf-03:MQM8700/U1     leaf-03
 *     MF0;core-1:CS8500/L16/U2                     core-1/l16/u2
 *     node-7 HCA-1, node-7/HCA-1                   node-7/hca-1
 *
 * "MF0;" begins the NodeDescription that the operating system of managed switches sets from the
 * host name of the switch; L16/U2 is switch 2 of blade 16.
 */
void fab_cabling_key(const char *name, size_t len, char key[FAB_CABLING_KEY]);

/* Returns the length of the first part of a key, before the first '/'. This part names a system: a
 * host such as "node-7", or a modular switch such as "core-1". */
size_t fab_cabling_system_len(const char *key);
/* Returns true if two keys belong to the same host or to the same modular switch. */
bool fab_cabling_is_same_system(const char *a, const char *b);

#endif
