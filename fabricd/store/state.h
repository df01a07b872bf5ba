/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the store. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_STATE_H
#define FABRICD_STORE_STATE_H

#include <limits.h>

#include "fabricd/store/writer.h"

struct store {
    int lock;
    sqlite3 *reader;
    struct writer *writer;
    char path[PATH_MAX];       /* path of the database */
    struct writer_audit audit; /* set when the store is opened, and constant from then on */
    /* number of the last call in the audit log, from which store_audit_call counts */
    uint64_t audit_call;
};

/* Defined in audit_log.c: writes a row to the daemon's log. */
void store_audit_log(const struct audit_row *row);
/* Defined in audit.c: reads the key and the head of the audit log from their files, or makes the
 * files. Must be called before the writer thread starts. */
int store_audit_start(struct store *s, const char *dir, char *why, size_t why_len);

#endif
