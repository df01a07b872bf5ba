/* SPDX-License-Identifier: BSD-3-Clause */
/* The M_Keys that another subnet manager gave to ports, from a file in the format of OpenSM's
 * guid2mkey. A line of this file has a port GUID and the M_Key of this port, both in hexadecimal
 * with 0x. For a switch, the GUID is that of port 0. # begins a comment. */
#ifndef LIBFABMGR_POLICY_M_KEY_LIST_H
#define LIBFABMGR_POLICY_M_KEY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/policy/guid_lines.h"

#define FAB_M_KEY_LIST_TEXT_MAX ((size_t)8 << 20) /* maximum size of the file in bytes */
#define FAB_M_KEY_LIST_LINE_MAX 256               /* maximum length of a line in bytes */
#define FAB_M_KEY_LIST_MAX 65536                  /* maximum number of ports in the file */

struct fab_listed_m_key {
    uint64_t port_guid;
    /* M_Key of the port; 0: the other manager gave the port no key */
    uint64_t m_key;
    unsigned line; /* number of the line, from 1 */
};
struct fab_m_key_list {
    /* [count] sorted by GUID; no GUID is repeated */
    struct fab_listed_m_key *entry;
    size_t count;
    int refs; /* reference count; private, atomic */
};
/* Reads the text of the file into a new list with one reference (refs == 1). Returns FORMAT
 * (*ret_error has the line and the reason), LIMIT (the text is longer than
 * FAB_M_KEY_LIST_TEXT_MAX) or NOMEM. */
int fab_policy_m_key_list_read(const char *text, size_t len, struct fab_m_key_list **ret,
                               struct fab_line_error *ret_error);
struct fab_m_key_list *fab_policy_m_key_list_ref(struct fab_m_key_list *l); /* l may be NULL */
void fab_policy_m_key_list_unref(struct fab_m_key_list *l);
/* Returns the key listed for a port GUID; 0: the GUID is not listed, or l is NULL. */
uint64_t fab_policy_m_key_list_find(const struct fab_m_key_list *l, uint64_t port_guid);
/* Returns true if both lists have the same keys for the same ports. NULL is a list without keys. */
bool fab_policy_m_key_list_same(const struct fab_m_key_list *a, const struct fab_m_key_list *b);

#endif
