/* SPDX-License-Identifier: BSD-3-Clause */
/* For this folder only: the fields of an event in the column event.fields. */
#ifndef FABRICD_STORE_FIELDS_H
#define FABRICD_STORE_FIELDS_H

#include <sqlite3.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "libfabmgr/base/text.h"

void fields_write(const struct event *e, struct fab_text *to);

#define FIELDS_MAX 24
struct fields {
    struct event_field field[FIELDS_MAX];
    char text[8192]; /* texts that the fields point to */
    size_t used;
};
/* The statement that fields_read uses; the caller finalizes it. A result code of SQLite. */
int fields_reader_new(sqlite3 *db, sqlite3_stmt **ret);
/* Returns the number of fields. It is 0 if the object was damaged by hand; fields that do not
 * fit are left out. */
uint32_t fields_read(sqlite3_stmt *reader, const char *json, struct fields *to);

#endif
