/* SPDX-License-Identifier: BSD-3-Clause */
/* For this folder only: rows of what hosts registered. */
#ifndef FABRICD_STORE_HOSTS_H
#define FABRICD_STORE_HOSTS_H

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"

/* Writes into the open transaction. */
int hosts_write(struct sql *q, const struct record_hosts *r);

/* Loads all rows of a kind, in the order of their keys, as a malloc'd array of the kind's struct
 * (a member of the union in struct record_hosts); NULL if there are none. `ret` points to the
 * pointer that gets the array. */
int hosts_load(sqlite3 *db, enum hosts_kind kind, void *ret, size_t *ret_count);

#endif
