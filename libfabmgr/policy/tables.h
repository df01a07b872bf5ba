/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables as an operator gives them: the text that OpenSM dumps (opensm-lfts.dump), that
 * dump_fts prints and that our own export writes. A sealed, shared value; GUIDs say what switches
 * and destinations are, so that it does not matter which LIDs they had then.
 */
#ifndef LIBFABMGR_POLICY_TABLES_H
#define LIBFABMGR_POLICY_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_TABLES_TEXT_MAX (UINT32_C(1) << 30) /* bytes */
#define FAB_TABLES_LID_MAX 0xfffffu             /* more than InfiniBand has */

struct fab_tables_entry {
    uint32_t lid; /* in the text */
    uint8_t port; /* 255: drop */
};
struct fab_policy_tables_switch {
    uint64_t guid; /* of the node */
    uint32_t line;
    size_t first, count; /* of entry[], by LID */
};
struct fab_tables {
    size_t switches, entries;
    struct fab_policy_tables_switch *sw; /* by GUID */
    struct fab_tables_entry *entry;
    uint32_t top;    /* highest LID */
    uint64_t *guid;  /* [top + 1] of the port that owned the LID; 0: the text does not say */
    uint32_t *first; /* [top + 1] the lowest LID of that port; LIDs of no known port: themselves */
    int refs;        /* private, atomic */
};
struct fab_tables_error {
    uint32_t line, column; /* from 1 */
    char message[200];     /* what was found, and what was expected */
};
/* FORMAT: ret_error says where and why. LIMIT: longer than FAB_TABLES_TEXT_MAX (ret_error too).
 * NOMEM. refs == 1. */
int fab_policy_tables_read(const char *text, size_t len, struct fab_tables **ret,
                           struct fab_tables_error *ret_error);
struct fab_tables *fab_policy_tables_ref(struct fab_tables *t); /* NULL is fine */
void fab_policy_tables_unref(struct fab_tables *t);
/* NULL: the text has no paragraph for it. */
const struct fab_policy_tables_switch *fab_policy_tables_switch(const struct fab_tables *t,
                                                                uint64_t guid);

#endif
