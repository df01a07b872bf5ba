/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes events as the JSON body of a webhook. fabricd.yaml(5) describes its members. */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/alerts/private.h"
#include "fabricd/base/events.h"
#include "libfabmgr/grpc/grpc.h"

#define TEXT_MAX 1024 /* maximum length in bytes of a text in the body; a longer text is cut */

/* Writes a JSON string. Invalid UTF-8 and control characters become U+FFFD. */
static void add_string(struct fab_text *to, const char *text)
{
    char clean[3 * TEXT_MAX];
    fab_grpc_utf8_clean(text, strnlen(text, TEXT_MAX), clean, sizeof(clean));
    fab_base_text_add(to, "\"");
    for (const char *at = clean; *at != '\0';) {
        size_t plain = strcspn(at, "\"\\");
        fab_base_text_bytes(to, at, plain);
        at += plain;
        if (*at != '\0') {
            fab_base_text_bytes(to, (const char[]){'\\', *at}, 2);
            at++;
        }
    }
    fab_base_text_add(to, "\"");
}

static void add_member(struct fab_text *to, const char *name, const char *value)
{
    fab_base_text_addf(to, ",\"%s\":", name);
    add_string(to, value);
}

static void add_time(struct fab_text *to, int64_t us)
{
    time_t s = (time_t)(us / 1000000);
    char text[32];
    struct tm tm;
    gmtime_r(&s, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    fab_base_text_addf(to, ",\"time\":\"%s.%03dZ\"", text, (int)(us / 1000 % 1000));
}

static void add_fields(struct fab_text *to, const struct event *e)
{
    fab_base_text_add(to, ",\"fields\":{");
    for (uint32_t i = 0; i < e->field_count; i++) {
        const struct event_field *f = &e->fields[i];
        fab_base_text_addf(to, "%s\"%s\":", i > 0 ? "," : "", f->name);
        if (f->kind == EVENT_TEXT)
            add_string(to, f->text);
        else if (f->kind == EVENT_GUID || f->kind == EVENT_HEX)
            fab_base_text_addf(to, "\"0x%016" PRIx64 "\"", f->number);
        else
            fab_base_text_addf(to, "%" PRIu64, f->number);
    }
    fab_base_text_add(to, "}");
}

static const char *remedy_of(const char *type)
{
    for (unsigned i = 0; i < EVENT_IDS; i++)
        if (event_rows[i].type != NULL && strcmp(event_rows[i].type, type) == 0)
            return event_rows[i].remedy;
    return "";
}

static void add_event(struct fab_text *to, const struct event *e)
{
    static const char *const severities[] = {"debug", "info", "warning", "error"};
    fab_base_text_addf(to, "{\"sequence\":%" PRIu64, e->seq);
    add_time(to, e->time_us);
    add_member(to, "severity", severities[e->severity]);
    add_member(to, "type", e->type);
    add_member(to, "subject", e->subject);
    if (e->guid != 0)
        fab_base_text_addf(to, ",\"guid\":\"0x%016" PRIx64 "\"", e->guid);
    if (e->port != 0)
        fab_base_text_addf(to, ",\"port\":%" PRIu32, e->port);
    add_member(to, "message", e->message);
    add_member(to, "remedy", remedy_of(e->type));
    add_fields(to, e);
    fab_base_text_add(to, "}");
}

void alerts_body(const struct event *const *events, size_t count, uint64_t lost,
                 struct fab_text *to)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    fab_base_text_add(to, "{\"version\":1");
    add_member(to, "manager", host);
    fab_base_text_addf(to, ",\"lost\":%" PRIu64 ",\"alerts\":[", lost);
    for (size_t i = 0; i < count; i++) {
        fab_base_text_add(to, i > 0 ? ",\n" : "\n");
        add_event(to, events[i]);
    }
    fab_base_text_add(to, "\n]}\n");
}
