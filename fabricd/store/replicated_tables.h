/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of replicated tables, and the SQL statements for their rows. For the folder
 * fabricd/store only. */
#ifndef FABRICD_STORE_REPLICATED_TABLES_H
#define FABRICD_STORE_REPLICATED_TABLES_H

#include "libfabmgr/base/text.h"

#define REPLICATED_COLUMNS 10
struct replicated_table {
    const char *name;
    /* Names of the columns, those of the primary key first. '~' before a name: if only this column
     * changes, the row is not sent. '#' before a name: the column has bytes, which JSON shows as
     * hexadecimal digits. */
    const char *column[REPLICATED_COLUMNS];
    int keys;
    /* SQL condition that is true for the replicated rows; each %s stands for "NEW", "OLD" or the
     * name of the table. NULL: all rows are replicated. */
    const char *only;
};
#define REPLICATED_TABLES 18
extern const struct replicated_table replicated_tables[REPLICATED_TABLES];

/* Returns the table with this name; NULL: no replicated table has it. */
const struct replicated_table *replicated_table(const char *name);

/* These functions append an SQL statement to `to`. In the statement, ?1 is the key of a row, and ?2
 * its value. */
/* Selects the value of the row. */
void replicated_select(struct fab_text *to, const struct replicated_table *t);
void replicated_put(struct fab_text *to, const struct replicated_table *t);
void replicated_delete(struct fab_text *to, const struct replicated_table *t);
/* Creates the triggers that mark changes. */
void replicated_triggers(struct fab_text *to, const struct replicated_table *t);
/* Marks all rows. */
void replicated_mark_all(struct fab_text *to, const struct replicated_table *t);
/* Deletes all rows that are not in the table replica_seen and have no mark. */
void replicated_delete_unseen(struct fab_text *to, const struct replicated_table *t);

#endif
