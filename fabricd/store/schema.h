/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the room: the file, its schema, and the way from an old schema to the present one.
 */
#ifndef FABRICD_STORE_SCHEMA_H
#define FABRICD_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>

#define SCHEMA_APPLICATION_ID 0x66616264 /* "fabd", in the header of the file */

/* Step n (from 0) leads from version n to version n + 1; version 0 has no table. */
struct schema_steps {
    const char *const *sql;
    int count;
};
extern const struct schema_steps schema_steps;

/* Opens the database, or makes a new one if there is none, checks it, and brings it to the present
 * schema. FORMAT: damaged, or not a database of ours; UNSUPPORTED: of a newer schema; DENIED, IO,
 * NOMEM. why[] says what to do. Nothing of a file that is refused is changed. */
int schema_open(const char *path, const struct schema_steps *steps, sqlite3 **ret, char *why,
                size_t why_len);
/* A read-only connection to it. */
int schema_open_reader(const char *path, sqlite3 **ret, char *why, size_t why_len);

#endif
