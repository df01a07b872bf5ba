/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replicated table forgotten_node: nodes that an operator has forgotten ('fabricctl node
 * forget'). Each manager has its own registry, and the managers find out at different times that a
 * node is gone. Because of this table, all managers forget the node, even those that find out
 * later. For the folder fabricd/store only, on the writer thread.
 */
#ifndef FABRICD_STORE_FORGOTTEN_H
#define FABRICD_STORE_FORGOTTEN_H

#include <sqlite3.h>

#include "fabricd/store/record.h"

/* Maximum number of rows in the table. The table has the nodes that were forgotten last. */
#define FORGOTTEN_KEPT 10000

/* Adds the nodes that this request forgets to the table. Call this function before the request is
 * carried out. Returns the errors of sql_status. */
int forgotten_note(sqlite3 *db, const struct record_forget *forget);
/* Forgets nodes that are gone, and that an operator forgot after they were last seen. Returns the
 * errors of sql_status. */
int forgotten_apply(sqlite3 *db);

#endif
