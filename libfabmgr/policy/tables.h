/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding tables from a file in the format of OpenSM's opensm-lfts.dump, of dump_fts, and of
 * `fabricctl route export`. The GUIDs in the file identify switches and destinations, so the LIDs
 * in the file may differ from the LIDs of the fabric. After the tables are read, they do not
 * change, and are shared by reference. */
#ifndef LIBFABMGR_POLICY_TABLES_H
#define LIBFABMGR_POLICY_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_TABLES_TEXT_MAX (UINT32_C(1) << 30) /* maximum size of the file in bytes */
#define FAB_TABLES_LID_MAX 0xfffffu             /* the highest LID accepted */

struct fab_tables_entry {
    /* LID of the destination in the file; the port may have another LID now */
    uint32_t lid;
    uint8_t port; /* output port; 255: packets are dropped */
};
struct fab_policy_tables_switch {
    uint64_t guid; /* node GUID */
    /* number of the line, from 1, where the table of the switch begins */
    uint32_t line;
    /* the table of the switch consists of the elements entry[first] to entry[first + count - 1] of
     * struct fab_tables, sorted by LID */
    size_t first, count;
};
struct fab_tables {
    size_t switches, entries;
    struct fab_policy_tables_switch *sw; /* sorted by GUID */
    struct fab_tables_entry *entry;
    uint32_t top; /* highest LID in the file */
    /* [top + 1] GUID of the port that has this LID in the file; 0: the file does not give the GUID
     */
    uint64_t *guid;
    /* [top + 1] base LID of the port that has this LID in the file: the lowest of its LIDs; if
     * guid[] is 0, the LID itself */
    uint32_t *first;
    int refs; /* reference count; private, atomic */
};
struct fab_tables_error {
    uint32_t line, column; /* position in the file, from 1 */
    char message[200];     /* what the parser found, and what it expected */
};
/* Reads the text of the file into a new struct with one reference (refs == 1). Returns FORMAT,
 * LIMIT (the text is longer than FAB_TABLES_TEXT_MAX) or NOMEM. After FORMAT and LIMIT,
 * *ret_error has the position and the reason. */
int fab_policy_tables_read(const char *text, size_t len, struct fab_tables **ret,
                           struct fab_tables_error *ret_error);
struct fab_tables *fab_policy_tables_ref(struct fab_tables *t); /* t may be NULL */
void fab_policy_tables_unref(struct fab_tables *t);
/* Returns the table of the switch with this node GUID; NULL: the file has no table of this switch.
 */
const struct fab_policy_tables_switch *fab_policy_tables_switch(const struct fab_tables *t,
                                                                uint64_t guid);

#endif
