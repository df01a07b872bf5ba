/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of rows of tables. For the folder fabricd/store only. */
#ifndef FABRICD_STORE_SIZES_H
#define FABRICD_STORE_SIZES_H

#include <sqlite3.h>
#include <stdint.h>

/* Returns the number of rows of a table; 0 if the table cannot be read. */
int64_t sizes_count_rows(sqlite3 *db, const char *table);

#endif
