/* SPDX-License-Identifier: BSD-3-Clause */
/* The LIDs that another subnet manager assigned to ports, from a file in the format of OpenSM's
 * guid2lid. Each line of this file has a port GUID (for a switch, that of port 0), and the first
 * and the last LID of this port, as hexadecimal numbers with 0x. "#" begins a comment. */
#ifndef LIBFABMGR_POLICY_LID_LIST_H
#define LIBFABMGR_POLICY_LID_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/policy/guid_lines.h"

#define FAB_LID_LIST_TEXT_MAX ((size_t)8 << 20) /* maximum size of the file in bytes */
#define FAB_LID_LIST_LID_MAX 0xbfff             /* highest unicast LID */

struct fab_listed_lid {
    uint64_t port_guid;
    uint16_t lid; /* base LID */
    uint8_t lmc;
    unsigned line; /* number of the line, from 1 */
};
struct fab_lid_list {
    /* [count] sorted by GUID; each GUID is listed once, and no LID belongs to two ports */
    struct fab_listed_lid *entry;
    size_t count;
    int refs; /* reference count; private, atomic */
};
/* Reads the text of the file into a new list with one reference (refs == 1). Returns FORMAT
 * (*ret_error has the line and the reason), LIMIT (the text is longer than FAB_LID_LIST_TEXT_MAX)
 * or NOMEM. */
int fab_policy_lid_list_read(const char *text, size_t len, struct fab_lid_list **ret,
                             struct fab_line_error *ret_error);
struct fab_lid_list *fab_policy_lid_list_ref(struct fab_lid_list *l); /* l may be NULL */
void fab_policy_lid_list_unref(struct fab_lid_list *l);
/* Returns the entry of a port GUID; NULL: the GUID is not listed, or l is NULL. */
const struct fab_listed_lid *fab_policy_lid_list_find(const struct fab_lid_list *l,
                                                      uint64_t port_guid);
/* Returns true if both lists have the same LIDs for the same ports. NULL counts as an empty
 * list. */
bool fab_policy_lid_list_same(const struct fab_lid_list *a, const struct fab_lid_list *b);

#endif
