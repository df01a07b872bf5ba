/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emits events. Each function stores the values of its struct as a list of named fields, and
 * formats the message from this list. All subscribers of the bus get the same list.
 */
#include "fabricd/base/events.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

#define TEXT(f) {.name = #f, .kind = EVENT_TEXT},
#define GUID(f) {.name = #f, .kind = EVENT_GUID},
#define COUNT(f) {.name = #f, .kind = EVENT_COUNT},
#define MICROSECONDS(f) {.name = #f, .kind = EVENT_MICROSECONDS},
#define PERMILLE(f) {.name = #f, .kind = EVENT_PERMILLE},
#define HEX(f) {.name = #f, .kind = EVENT_HEX},
#define NONE
#define FIELDS(id, ...) static const struct event_field fields_##id[] = {__VA_ARGS__{.name = NULL}};
#define EVENT(id, type, severity, about, fields, ...) FIELDS(id, fields)
#define FORM(id, of, severity, about, fields, message) FIELDS(id, fields)
#include "fabricd/base/events.def"
#undef EVENT
#undef FORM

#define EVENT(id, type, severity, about, fields, message, meaning, cause, remedy)                  \
    [EVENT_##id] = {type,  EVENT_##id, EVENT_##severity, about, fields_##id, message, meaning,     \
                    cause, remedy},
#define FORM(id, of, severity, about, fields, message)                                             \
    [EVENT_##                                                                                      \
        id] = {NULL, EVENT_##of, EVENT_##severity, about, fields_##id, message, NULL, NULL, NULL},
const struct event_row event_rows[EVENT_IDS] = {
#include "fabricd/base/events.def"
};
#undef EVENT
#undef FORM
#undef TEXT
#undef GUID
#undef COUNT
#undef MICROSECONDS
#undef PERMILLE
#undef HEX

/* ---- messages -------------------------------------------------------------------------------- */

#define VALUE_LEN 1024

static void format_value(const struct event_field *f, char ret[VALUE_LEN])
{
    switch (f->kind) {
    case EVENT_TEXT:
        snprintf(ret, VALUE_LEN, "%s", f->text ? f->text : "");
        break;
    case EVENT_GUID:
        snprintf(ret, VALUE_LEN, "0x%016" PRIx64, f->number);
        break;
    case EVENT_COUNT:
        snprintf(ret, VALUE_LEN, "%" PRIu64, f->number);
        break;
    case EVENT_MICROSECONDS:
        if (f->number < 10000000)
            snprintf(ret, VALUE_LEN, "%.1f ms", (double)f->number / 1e3);
        else
            snprintf(ret, VALUE_LEN, "%.1f s", (double)f->number / 1e6);
        break;
    case EVENT_PERMILLE:
        snprintf(ret, VALUE_LEN, "%" PRIu64 ".%" PRIu64 " %%", f->number / 10, f->number % 10);
        break;
    case EVENT_HEX:
        snprintf(ret, VALUE_LEN, "0x%04" PRIx64, f->number);
        break;
    }
}

/* Finds a field of an event by name. Besides its own fields, every event has the fields subject,
 * guid and port. */
static bool find_field(const struct event *e, const char *name, size_t len, struct event_field *ret)
{
    const struct event_field common[] = {
        {.name = "subject", .kind = EVENT_TEXT, .text = e->subject},
        {.name = "guid", .kind = EVENT_GUID, .number = e->guid},
        {.name = "port", .kind = EVENT_COUNT, .number = e->port},
    };
    for (size_t i = 0; i < sizeof(common) / sizeof(*common) + e->field_count; i++) {
        const size_t n = sizeof(common) / sizeof(*common);
        *ret = i < n ? common[i] : e->fields[i - n];
        if (strlen(ret->name) == len && memcmp(ret->name, name, len) == 0)
            return true;
    }
    return false;
}

static bool is_set(const struct event_field *f)
{
    return f->kind == EVENT_TEXT ? f->text && f->text[0] : f->number != 0;
}

/* The format of a message has placeholders of the forms {name}, {name:one|many} and {name?text}.
 * Writes to ret[] the text that replaces one placeholder. `at` points to the byte after the opening
 * brace. `len` is the number of bytes before the closing brace. */
static void expand(const struct event *e, const char *at, size_t len, char ret[VALUE_LEN])
{
    struct event_field f;
    size_t name = strcspn(at, ":?}"), one;
    snprintf(ret, VALUE_LEN, "{?}");
    if (name > len || !find_field(e, at, name, &f))
        return;
    const char *rest = at + name + 1;
    int rest_len = name < len ? (int)(len - name - 1) : 0;
    if (name == len) {
        format_value(&f, ret);
    } else if (at[name] == '?') {
        snprintf(ret, VALUE_LEN, "%.*s", is_set(&f) ? rest_len : 0, rest);
    } else if ((one = strcspn(rest, "|}")) < (size_t)rest_len) {
        if (f.number == 1)
            snprintf(ret, VALUE_LEN, "%.*s", (int)one, rest);
        else
            snprintf(ret, VALUE_LEN, "%.*s", rest_len - (int)one - 1, rest + one + 1);
    }
}

void event_format(const char *format, const struct event *e, char *ret, size_t len)
{
    size_t used = 0;
    char value[VALUE_LEN];
    ret[0] = '\0';
    for (const char *at = format; *at && used < len - 1;) {
        size_t plain = strcspn(at, "{");
        const char *end = at[plain] ? strchr(at + plain, '}') : NULL;
        value[0] = '\0';
        if (end)
            expand(e, at + plain + 1, (size_t)(end - at) - plain - 1, value);
        used += (size_t)snprintf(ret + used, len - used, "%.*s%s", (int)plain, at, value);
        at = end ? end + 1 : at + strlen(at);
    }
}

/* ---- emitting -------------------------------------------------------------------------------- */

static void emit(struct bus *bus, enum event_id id, struct event *e)
{
    char message[1024];
    const struct event_row *row = &event_rows[id];
    e->severity = row->severity;
    e->type = event_rows[row->of].type;
    e->subject = e->subject ? e->subject : "";
    event_format(row->message, e, message, sizeof(message));
    e->message = message;
    bus_count(bus, id);
    bus_publish(bus, e);
}

#define TEXT(f) {.name = #f, .kind = EVENT_TEXT, .text = e->f ? e->f : ""},
#define GUID(f) {.name = #f, .kind = EVENT_GUID, .number = e->f},
#define COUNT(f) {.name = #f, .kind = EVENT_COUNT, .number = e->f},
#define MICROSECONDS(f) {.name = #f, .kind = EVENT_MICROSECONDS, .number = e->f},
#define PERMILLE(f) {.name = #f, .kind = EVENT_PERMILLE, .number = e->f},
#define HEX(f) {.name = #f, .kind = EVENT_HEX, .number = e->f},
#define EMITTER(id, ...)                                                                           \
    void event_##id(struct bus *bus, const struct event_##id *e)                                   \
    {                                                                                              \
        const struct event_field field[] = {__VA_ARGS__{.name = NULL}};                            \
        emit(bus, EVENT_##id,                                                                      \
             &(struct event){.subject = e->subject,                                                \
                             .guid = e->guid,                                                      \
                             .port = e->port,                                                      \
                             .places = e->places,                                                  \
                             .place_count = e->place_count,                                        \
                             .fields = field,                                                      \
                             .field_count = sizeof(field) / sizeof(*field) - 1});                  \
    }
#define EVENT(id, type, severity, about, fields, ...) EMITTER(id, fields)
#define FORM(id, of, severity, about, fields, message) EMITTER(id, fields)
#include "fabricd/base/events.def"
