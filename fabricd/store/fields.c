/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the fields of an event as a JSON object, for example {"peer": "spine-1/3", "errors": 812}.
 * Operators can query the object with the JSON functions of SQLite. GUIDs are stored as text. The
 * units of numbers are given in events.def. */
#include "fabricd/store/fields.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void add_text(struct fab_text *to, const char *text)
{
    fab_base_text_add(to, "\"");
    for (const unsigned char *t = (const unsigned char *)text; *t != '\0'; t++)
        if (*t == '"' || *t == '\\')
            fab_base_text_addf(to, "\\%c", *t);
        else if (*t < 0x20)
            fab_base_text_addf(to, "\\u%04x", *t);
        else
            fab_base_text_addf(to, "%c", *t);
    fab_base_text_add(to, "\"");
}

void fields_write(const struct event *e, struct fab_text *to)
{
    fab_base_text_add(to, "{");
    for (uint32_t i = 0; i < e->field_count; i++) {
        const struct event_field *f = &e->fields[i];
        fab_base_text_add(to, i > 0 ? ", " : "");
        add_text(to, f->name);
        if (f->kind == EVENT_TEXT) {
            fab_base_text_add(to, ": ");
            add_text(to, f->text);
        } else if (f->kind == EVENT_GUID) {
            fab_base_text_addf(to, f->number != 0 ? ": \"0x%016" PRIx64 "\"" : ": \"\"", f->number);
        } else {
            fab_base_text_addf(to, ": %" PRIu64, f->number);
        }
    }
    fab_base_text_add(to, "}");
}

int fields_reader_new(sqlite3 *db, sqlite3_stmt **ret)
{
    return sqlite3_prepare_v2(db, "SELECT key, type = 'integer', atom FROM json_each(?1)", -1, ret,
                              NULL);
}

static const char *keep(struct fields *to, const unsigned char *text)
{
    size_t size = text ? strlen((const char *)text) + 1 : 0;
    if (size == 0 || size > sizeof(to->text) - to->used)
        return NULL;
    char *kept = memcpy(to->text + to->used, text, size);
    to->used += size;
    return kept;
}

uint32_t fields_read(sqlite3_stmt *reader, const char *json, struct fields *to)
{
    uint32_t count = 0;
    to->used = 0;
    sqlite3_bind_text(reader, 1, json, -1, SQLITE_STATIC);
    while (count < FIELDS_MAX && sqlite3_step(reader) == SQLITE_ROW) {
        struct event_field *f = &to->field[count];
        bool number = sqlite3_column_int(reader, 1);
        *f = (struct event_field){.name = keep(to, sqlite3_column_text(reader, 0)),
                                  .kind = number ? EVENT_COUNT : EVENT_TEXT};
        if (number)
            f->number = (uint64_t)sqlite3_column_int64(reader, 2);
        else
            f->text = keep(to, sqlite3_column_text(reader, 2));
        count += f->name != NULL && (number || f->text != NULL);
    }
    sqlite3_reset(reader);
    return count;
}
