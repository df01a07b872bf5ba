/* SPDX-License-Identifier: BSD-3-Clause */
/* For this folder only: writes and loads the tables of what hosts registered. */
#ifndef FABRICD_STORE_HOSTS_H
#define FABRICD_STORE_HOSTS_H

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"

/* Writes or deletes a row in the open transaction. Errors as sql_run, and those of packing a
 * record. */
int hosts_write(struct sql *q, const struct record_hosts *r);

/* Loads all rows of a kind, in the order of their keys, as a malloc'd array of the kind's struct (a
 * member of the union in struct record_hosts); NULL if there are none. Rows that were edited by
 * hand and are not valid are left out. NOMEM, and errors of sql_status. `ret` points to the pointer
 * that gets the array. */
int hosts_load(sqlite3 *db, enum hosts_kind kind, void *ret, size_t *ret_count);

#endif
