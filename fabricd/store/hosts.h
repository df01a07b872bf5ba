/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the room: rows of what hosts registered. */
#ifndef FABRICD_STORE_HOSTS_H
#define FABRICD_STORE_HOSTS_H

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"

/* Into the open transaction. */
int hosts_write(struct sql *q, const struct record_hosts *r);

/* All rows of a kind, in the order of their keys: an array of the kind's struct (see the union of
 * struct record_hosts), malloc'd; NULL where there is none. `ret` points to the pointer to these.
 */
int hosts_load(sqlite3 *db, enum hosts_kind kind, void *ret, size_t *ret_count);

#endif
