/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The format of the shared rows. The leader writes two numbers to the key `format`: its own format,
 * and the lowest format with which a manager understands the rows. A manager that does not
 * understand the rows does not start, does not lead and stores no rows.
 *
 * Format 1 has the tables of replicated_tables.c. Managers ignore the rows of tables that they do
 * not know. So a new table, or a new column that may be missing, needs no new format.
 * REPLICA_FORMAT rises only when the meaning of a row changes. REPLICA_READABLE_BY then becomes the
 * format before, so that an operator can go back from an upgrade by one format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define REPLICA_FORMAT 1u
#define REPLICA_READABLE_BY 1u

void replica_format_text(char *ret, size_t len)
{
    snprintf(ret, len, "format %u readable_by %u", REPLICA_FORMAT, REPLICA_READABLE_BY);
}

void replica_note_format(struct replica *r, const char *text)
{
    unsigned format, readable_by;
    r->unsuited[0] = '\0';
    if (text == NULL || sscanf(text, "format %u readable_by %u", &format, &readable_by) != 2 ||
        readable_by <= REPLICA_FORMAT)
        return;
    snprintf(r->unsuited, sizeof(r->unsuited),
             "the managers of this fabric share their state in format %u, and this fabricd knows "
             "format %u; install here the version of fabricd that the other managers have",
             format, REPLICA_FORMAT);
}

bool replica_suits(struct replica *r, struct etcd *e)
{
    char *text = NULL;
    int64_t revision;
    if (etcd_get(e, r->format, &text, &revision) != FAB_OK)
        return false;
    pthread_mutex_lock(&r->mutex);
    replica_note_format(r, text);
    bool suits = r->unsuited[0] == '\0';
    pthread_mutex_unlock(&r->mutex);
    free(text);
    return suits;
}
