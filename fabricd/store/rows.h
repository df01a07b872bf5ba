/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes records as rows of the database. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_ROWS_H
#define FABRICD_STORE_ROWS_H

#include "fabricd/store/record.h"
#include "fabricd/store/sql.h"

/* Writes a record in the open transaction. The kinds RECORD_AUDIT and RECORD_REPLICA have functions
 * of their own; for them, returns INVAL. Returns the errors of sql_status, and NOMEM. */
int rows_write(struct sql *q, const struct record *r);

#endif
