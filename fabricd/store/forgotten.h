/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replicated table forgotten_node: nodes that an operator has forgotten ('fabricctl node
 * forget'). Each manager has its own registry, and the managers find out at different times that a
 * node is gone. Because of this table, all managers forget the node, even those that find out
 * later. For the folder fabricd/store and its writer thread only.
 */
#ifndef FABRICD_STORE_FORGOTTEN_H
#define FABRICD_STORE_FORGOTTEN_H

#include <sqlite3.h>

#include "fabricd/store/record.h"

/* Maximum number of rows. If there are more, the rows of the nodes that were forgotten first are
 * deleted. */
#define FORGOTTEN_KEPT 10000

/* Adds to the table the nodes that the request `forget` will forget. Does nothing if no operator
 * decided the request (forget->decided). Must be called before the request is carried out, because
 * that deletes these nodes from the registry. Returns the errors of sql_status. */
int forgotten_note(sqlite3 *db, const struct record_forget *forget);
/* Forgets each node that is gone and that is in the table, if the operator forgot it after this
 * manager last saw it. Returns the errors of sql_status. */
int forgotten_apply(sqlite3 *db);

#endif
