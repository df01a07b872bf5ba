/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and loads the tables of the registrations of hosts. For this folder only. */
#ifndef FABRICD_STORE_HOSTS_H
#define FABRICD_STORE_HOSTS_H

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"

/* Writes the row of the registration `r` in the open transaction; if r->there is false, deletes
 * this row instead. For HOSTS_ASKED, writes a row of the table meta. Returns an error of sql_run or
 * fab_wire_rec_pack, or INVAL if r->kind is unknown. */
int hosts_write(struct sql *q, const struct record_hosts *r);

/* Loads all rows of a kind, in the order of their keys. `ret` is the address of a pointer to the
 * struct of this kind (see the union in struct record_hosts). The function sets this pointer to an
 * array from malloc, or to NULL if there are no rows. Rows that are not valid, because somebody
 * edited them by hand, are left out. Returns NOMEM or the errors of sql_status. */
int hosts_load(sqlite3 *db, enum hosts_kind kind, void *ret, size_t *ret_count);

#endif
