/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of an event, as the column event.fields stores them. For this folder only. */
#ifndef FABRICD_STORE_FIELDS_H
#define FABRICD_STORE_FIELDS_H

#include <sqlite3.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "libfabmgr/base/text.h"

/* Appends the fields of an event to the text, as a JSON object. */
void fields_write(const struct event *e, struct fab_text *to);

#define FIELDS_MAX 24
struct fields {
    struct event_field field[FIELDS_MAX];
    /* memory of the texts of all fields */
    char text[8192];
    size_t used;
};
/* Prepares the SQL statement that fields_read uses. The caller finalizes it. Returns a result
 * code of SQLite. */
int fields_reader_new(sqlite3 *db, sqlite3_stmt **ret);
/* Reads the fields from a JSON object and returns their number. Fields for which *to has no room
 * are left out. Returns 0 if the object is not valid, for example after somebody edited it by
 * hand. */
uint32_t fields_read(sqlite3_stmt *reader, const char *json, struct fields *to);

#endif
