/* SPDX-License-Identifier: BSD-3-Clause */
/* For this folder only: the fields of an event, as the column event.fields holds them. */
#ifndef FABRICD_STORE_FIELDS_H
#define FABRICD_STORE_FIELDS_H

#include <sqlite3.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "libfabmgr/base/text.h"

/* Appends the fields as a JSON object. */
void fields_write(const struct event *e, struct fab_text *to);

#define FIELDS_MAX 24
struct fields {
    struct event_field field[FIELDS_MAX];
    char text[8192]; /* texts that the fields point to */
    size_t used;
};
/* Prepares the statement that fields_read uses; the caller finalizes it. Returns a result code of
 * SQLite. */
int fields_reader_new(sqlite3 *db, sqlite3_stmt **ret);
/* Reads a JSON object. Returns the number of fields: 0 if somebody damaged the object by hand.
 * Fields that do not fit are left out. */
uint32_t fields_read(sqlite3_stmt *reader, const char *json, struct fields *to);

#endif
