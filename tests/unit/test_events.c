/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of events. Every row must be complete, and every format may name only fields of its
 * row. An emitted event must have the severity, type, message and fields of its row, even if it
 * waited in the queue of the bus.
 */
#include <stdbool.h>
#include <string.h>

#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

/* Fills an event with values for all fields that its row of the table names, so that a message can
 * be made from them. */
static void make_event(const struct event_row *row, uint64_t number, const char *text,
                       struct event_field field[16], struct event *ret)
{
    uint32_t count = 0;
    for (const struct event_field *f = row->fields; f->name; f++) {
        ck_assert_uint_lt(count, 16);
        field[count] = *f;
        field[count].text = text;
        field[count++].number = number;
    }
    *ret = (struct event){
        .subject = "leaf-1/3", .guid = 1, .port = 3, .fields = field, .field_count = count};
}

START_TEST(every_format_names_its_fields)
{
    static const char *const texts[] = {"text", ""};
    struct event_field field[16];
    struct event e;
    char message[2048];
    const struct event_row *row = &event_rows[_i];
    for (uint64_t number = 0; number < 3; number++)
        for (int t = 0; t < 2; t++) {
            make_event(row, number, texts[t], field, &e);
            event_format(row->message, &e, message, sizeof(message));
            ck_assert_msg(!strpbrk(message, "{}?|"), "%s: %s", event_rows[row->of].type, message);
        }
}
END_TEST

START_TEST(every_row_is_complete)
{
    static const char *const about[] = {"link",   "port",      "sender", "node",   "switch",
                                        "fabric", "manager",   "policy", "target", "class",
                                        "engine", "transport", "drain"};
    const struct event_row *row = &event_rows[_i];
    const struct event_row *of = &event_rows[row->of];
    bool known = false;
    for (size_t i = 0; i < sizeof(about) / sizeof(*about); i++)
        known |= strcmp(row->about, about[i]) == 0;
    ck_assert_msg(known, "%s: about %s", of->type, row->about);
    ck_assert_ptr_nonnull(of->type);
    ck_assert_uint_eq(strspn(of->type, "abcdefghijklmnopqrstuvwxyz-"), strlen(of->type));
    ck_assert_uint_gt(strlen(of->meaning), 10);
    ck_assert_uint_gt(strlen(of->cause), 10);
    ck_assert_uint_ge(strlen(of->remedy), strlen("Nothing."));
    ck_assert_int_eq(of->meaning[strlen(of->meaning) - 1], '.');
    ck_assert_int_eq(of->cause[strlen(of->cause) - 1], '.');
    ck_assert_int_eq(of->remedy[strlen(of->remedy) - 1], '.');
    for (int i = 0; i < _i; i++)
        ck_assert(row->of != (enum event_id)_i || event_rows[i].of != (enum event_id)i ||
                  strcmp(row->type, event_rows[i].type) != 0);
    bool bad = row->severity >= EVENT_WARNING;
    ck_assert_msg(!bad || strcmp(of->remedy, "Nothing.") != 0 || row->of == EVENT_duplicate_lid ||
                      row->of == EVENT_invalid_lid,
                  "%s: a warning without a remedy", of->type);
}
END_TEST

/* The type of each event must equal the id of its EVENT row, with hyphens in place of
 * underscores. */
START_TEST(types_are_their_ids)
{
#define EVENT(id, type, ...) {#id, type},
#define FORM(id, ...)
    static const struct {
        const char *id, *type;
    } names[] = {
#include "fabricd/base/events.def"
    };
#undef EVENT
#undef FORM
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char word[64];
        snprintf(word, sizeof(word), "%s", names[i].id);
        for (char *at = word; (at = strchr(at, '_')) != NULL;)
            *at = '-';
        ck_assert_str_eq(word, names[i].type);
    }
}
END_TEST

/* ---- emitting -------------------------------------------------------------------------------- */

struct last {
    struct bus *bus;
    struct event event;
    char message[300];
    unsigned count;
    bool again;
};

static void keep(void *ctx, const struct event *e)
{
    struct last *l = ctx;
    l->count++;
    l->event = *e;
    snprintf(l->message, sizeof(l->message), "%s", e->message);
    ck_assert_uint_eq(e->field_count, 8);
    ck_assert_str_eq(e->fields[0].name, "peer");
    ck_assert_str_eq(e->fields[0].text, "spine-1/3");
    ck_assert_str_eq(e->fields[3].name, "counter");
    ck_assert_str_eq(e->fields[3].text, "SymbolErrorCounter");
    ck_assert_str_eq(e->fields[4].name, "errors");
    ck_assert_uint_eq(e->fields[4].number, 812);
}

static void emit(struct bus *b)
{
    char peer[] = "spine-1/3", counter[] = "SymbolErrorCounter";
    event_emit(b, link_unhealthy, .subject = "leaf-1/5", .guid = 7, .port = 5, .peer = peer,
               .peer_guid = 8, .peer_port = 3, .counter = counter, .errors = 812,
               .span_us = 60000000, .threshold = 10, .within_s = 60);
    memset(peer, 'x', sizeof(peer) - 1);
    memset(counter, 'x', sizeof(counter) - 1);
}

static void emit_once_more(void *ctx, const struct event *e)
{
    struct last *l = ctx;
    (void)e;
    if (!l->again)
        return;
    l->again = false;
    emit(l->bus);
}

START_TEST(an_event_has_what_its_row_says)
{
    struct bus *b = bus_new(0);
    struct last last = {.bus = b, .again = true};
    ck_assert_int_eq(bus_subscribe(b, emit_once_more, &last), FAB_OK);
    ck_assert_int_eq(bus_subscribe(b, keep, &last), FAB_OK);
    emit(b);
    /* The second event waited in the queue: a handler published it while the first event was
     * delivered. */
    ck_assert_uint_eq(last.count, 2);
    ck_assert_str_eq(event_rows[EVENT_link_unhealthy].type, "link-unhealthy");
    ck_assert_int_eq((int)last.event.severity, EVENT_WARNING);
    ck_assert_uint_eq(last.event.guid, 7);
    ck_assert_uint_eq(last.event.port, 5);
    ck_assert_str_eq(last.message,
                     "link leaf-1/5 - spine-1/3 is unhealthy: SymbolErrorCounter at leaf-1/5 rose "
                     "by 812 in 60.0 s (threshold 10 in 60 s); see 'fabricctl link unhealthy "
                     "leaf-1/5'");
    ck_assert_uint_eq(bus_counted(b, EVENT_link_unhealthy), 2);
    ck_assert_uint_eq(bus_counted(b, EVENT_link_down), 0);
    bus_free(b);
}
END_TEST

START_TEST(formats)
{
    static const struct {
        const char *format, *want;
    } cases[] = {
        {"plain", "plain"},
        {"{subject} {guid} {port}", "leaf-1/3 0x0000000000000001 3"},
        {"{one} {one:node|nodes}", "1 node"},
        {"{many} {many:node|nodes}", "12 nodes"},
        {"{none:is|are}", "are"},
        {"a{none?b}c{one?d}e{text?f}g{empty?h}i", "acdefgi"},
        {"{time} {long}", "1.5 ms 20.0 s"},
        {"{share} {status}", "12.3 % 0x001c"},
        {"{unknown} {", "{?} "},
        {"{one:x} {one", "{?} "},
    };
    const struct event_field fields[] = {
        {.name = "one", .kind = EVENT_COUNT, .number = 1},
        {.name = "many", .kind = EVENT_COUNT, .number = 12},
        {.name = "none", .kind = EVENT_COUNT},
        {.name = "text", .kind = EVENT_TEXT, .text = "x"},
        {.name = "empty", .kind = EVENT_TEXT, .text = ""},
        {.name = "time", .kind = EVENT_MICROSECONDS, .number = 1500},
        {.name = "long", .kind = EVENT_MICROSECONDS, .number = 20000000},
        {.name = "share", .kind = EVENT_PERMILLE, .number = 123},
        {.name = "status", .kind = EVENT_HEX, .number = 0x1c},
    };
    const struct event e = {.subject = "leaf-1/3",
                            .guid = 1,
                            .port = 3,
                            .fields = fields,
                            .field_count = sizeof(fields) / sizeof(*fields)};
    char text[100];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        event_format(cases[i].format, &e, text, sizeof(text));
        ck_assert_str_eq(text, cases[i].want);
        for (size_t len = 1; len < 30; len++) {
            char cut[30];
            event_format(cases[i].format, &e, cut, len);
            ck_assert_uint_lt(strlen(cut), len);
            ck_assert_int_eq(strncmp(cut, text, strlen(cut)), 0);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/events");
    TCase *tcase = tcase_create("events");
    tcase_add_loop_test(tcase, every_row_is_complete, 0, EVENT_IDS);
    tcase_add_loop_test(tcase, every_format_names_its_fields, 0, EVENT_IDS);
    tcase_add_test(tcase, types_are_their_ids);
    tcase_add_test(tcase, an_event_has_what_its_row_says);
    tcase_add_test(tcase, formats);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
