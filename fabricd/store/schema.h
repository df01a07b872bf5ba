/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For this folder only: the database file, its schema, and the migrations.
 */
#ifndef FABRICD_STORE_SCHEMA_H
#define FABRICD_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>

#define SCHEMA_APPLICATION_ID 0x66616264 /* "fabd", in the header of the file */

/* Step n (from 0) migrates from version n to version n + 1; version 0 has no tables. */
struct schema_steps {
    const char *const *sql;
    int count;
};
extern const struct schema_steps schema_steps;

/* Opens the database, or creates it, checks it, and migrates it to the current schema. FORMAT: the
 * file is damaged, or belongs to another program. UNSUPPORTED: its schema is newer than this
 * fabricd. LIMIT: the path is too long. DENIED, IO, NOMEM. why[] says what failed. A file that is
 * refused is not changed. */
int schema_open(const char *path, const struct schema_steps *steps, sqlite3 **ret, char *why,
                size_t why_len);
/* Opens a read-only connection. Errors as schema_open. */
int schema_open_reader(const char *path, sqlite3 **ret, char *why, size_t why_len);

#endif
