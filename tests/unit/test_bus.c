/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bus numbers events, passes them to all subscribers in order, and keeps this order if a
 * handler publishes an event.
 */
#include <string.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

struct record {
    struct bus *bus;
    unsigned count;
    uint64_t seq[64];
    char type[64][16];
    struct event last;
    char message[64];
};

static void remember(void *ctx, const struct event *e)
{
    struct record *r = ctx;
    ck_assert_uint_lt(r->count, 64);
    r->seq[r->count] = e->seq;
    snprintf(r->type[r->count], sizeof(r->type[0]), "%s", e->type);
    r->count++;
    r->last = *e;
    snprintf(r->message, sizeof(r->message), "%s", e->message);
}

static void publish(struct bus *b, const char *type, const char *message)
{
    bus_publish(b, &(struct event){.severity = EVENT_INFO, .type = type, .message = message});
}

/* A handler that publishes two more events when it gets the first event "outer". It keeps the type
 * of these events in a local variable, so the bus must copy the type. */
static void publish_in_turn(void *ctx, const struct event *e)
{
    struct record *r = ctx;
    char type[16] = "inner";
    remember(ctx, e);
    if (strcmp(e->type, "outer") != 0)
        return;
    for (int i = 0; i < 2; i++)
        publish(r->bus, type, "inner");
    memset(type, 'z', sizeof(type) - 1);
}

START_TEST(numbers_rise_from_where_they_stood)
{
    struct bus *b = bus_new(41);
    struct record r = {.bus = b};
    ck_assert_int_eq(bus_subscribe(b, remember, &r), FAB_OK);
    int64_t before = clock_unix_us();
    event_emit(b, link_down, .subject = "leaf-3/12", .guid = 0x0002c90300000001, .port = 12,
               .peer = "spine-1/3");
    ck_assert_uint_eq(r.last.seq, 42);
    ck_assert_int_ge(r.last.time_us, before);
    ck_assert_int_le(r.last.time_us, clock_unix_us());
    ck_assert_int_eq((int)r.last.severity, EVENT_WARNING);
    ck_assert_uint_eq(r.last.guid, 0x0002c90300000001);
    ck_assert_uint_eq(r.last.port, 12);
    ck_assert_str_eq(r.message, "link leaf-3/12 - spine-1/3 is down");
    bus_publish(b, &(struct event){.severity = EVENT_INFO});
    ck_assert_uint_eq(r.last.seq, 43);
    ck_assert_str_eq(r.last.subject, "");
    bus_free(b);
}
END_TEST

START_TEST(all_subscribers_see_one_order)
{
    struct bus *b = bus_new(0);
    struct record first = {.bus = b}, second = {.bus = b};
    bus_subscribe(b, publish_in_turn, &first);
    bus_subscribe(b, remember, &second);
    publish(b, "outer", "o");
    publish(b, "last", "l");
    static const char *const types[] = {"outer", "inner", "inner", "last"};
    ck_assert_uint_eq(first.count, 4);
    ck_assert_uint_eq(second.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_uint_eq(first.seq[i], i + 1);
        ck_assert_uint_eq(second.seq[i], i + 1);
        ck_assert_str_eq(first.type[i], types[i]);
        ck_assert_str_eq(second.type[i], types[i]);
    }
    bus_free(b);
}
END_TEST

/* Debug events, however many, must not use up the sequence numbers of the journal. */
START_TEST(debug_events_take_no_numbers)
{
    struct bus *b = bus_new(41);
    struct record r = {.bus = b};
    ck_assert_int_eq(bus_subscribe(b, remember, &r), FAB_OK);
    publish(b, "a", "");
    for (int i = 0; i < 10; i++)
        bus_publish(b, &(struct event){.severity = EVENT_DEBUG, .type = "trap"});
    publish(b, "b", "");
    ck_assert_uint_eq(r.count, 12);
    ck_assert_uint_eq(r.seq[0], 42);
    ck_assert_uint_eq(r.seq[5], 0);
    ck_assert_uint_eq(r.seq[11], 43);
    ck_assert_uint_eq(bus_last_seq(b), 43);
    bus_free(b);
}
END_TEST

static void subscribe_another(void *ctx, const struct event *e)
{
    struct record *r = ctx;
    if (e->seq == 1)
        ck_assert_int_eq(bus_subscribe(r->bus, remember, r), FAB_OK);
}

START_TEST(who_subscribes_meanwhile_starts_with_the_next)
{
    struct bus *b = bus_new(0);
    struct record r = {.bus = b};
    bus_subscribe(b, subscribe_another, &r);
    publish(b, "a", "a");
    ck_assert_uint_eq(r.count, 0);
    publish(b, "b", "b");
    ck_assert_uint_eq(r.count, 1);
    bus_free(b);
}
END_TEST

START_TEST(who_unsubscribes_hears_no_more)
{
    struct bus *b = bus_new(0);
    struct record gone = {.bus = b}, stays = {.bus = b};
    bus_subscribe(b, remember, &gone);
    bus_subscribe(b, remember, &stays);
    bus_unsubscribe(b, remember, &gone);
    publish(b, "a", "a");
    ck_assert_uint_eq(gone.count, 0);
    ck_assert_uint_eq(stays.count, 1);
    bus_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/bus");
    TCase *tcase = tcase_create("bus");
    tcase_add_test(tcase, numbers_rise_from_where_they_stood);
    tcase_add_test(tcase, all_subscribers_see_one_order);
    tcase_add_test(tcase, debug_events_take_no_numbers);
    tcase_add_test(tcase, who_subscribes_meanwhile_starts_with_the_next);
    tcase_add_test(tcase, who_unsubscribes_hears_no_more);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
