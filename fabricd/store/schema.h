/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The database file, its schema, and the migrations. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_SCHEMA_H
#define FABRICD_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>

/* the number that identifies databases of fabricd in the header of the file; its bytes are
 * "fabd" */
#define SCHEMA_APPLICATION_ID 0x66616264

/* The migration steps of the schema. Step n (from 0) migrates the schema from version n to
 * version n + 1. Version 0 has no tables. */
struct schema_steps {
    const char *const *sql;
    int count;
};
extern const struct schema_steps schema_steps;

/* Opens or creates the database, checks it, and migrates it to the current schema. Errors: FORMAT
 * (the file is damaged or belongs to another program), UNSUPPORTED (its schema is newer than this
 * fabricd), LIMIT (the path is too long), DENIED, IO, NOMEM. why[] says what failed. A file that is
 * refused is not changed. */
int schema_open(const char *path, const struct schema_steps *steps, sqlite3 **ret, char *why,
                size_t why_len);
/* Opens a read-only connection to the database, without the checks of schema_open. Returns an error
 * of sql_status; why[] says what failed. */
int schema_open_reader(const char *path, sqlite3 **ret, char *why, size_t why_len);

#endif
