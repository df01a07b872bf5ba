/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of alerts, and the JSON body of an alert. tests/rpc/test_alerts.py tests the delivery
 * to webhooks. */
#include <string.h>

#include "fabricd/alerts/private.h"
#include "fabricd/base/events.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

/* ---- the body ---- */

START_TEST(the_body_is_json)
{
    static const struct event_field fields[] = {{"peer", EVENT_TEXT, "a\"b\\c\n", 0},
                                                {"peer_guid", EVENT_GUID, NULL, 0x12},
                                                {"peer_port", EVENT_COUNT, NULL, 7}};
    const struct event link = {.seq = 5,
                               .time_us = 1000000 * INT64_C(86400) + 1234,
                               .severity = EVENT_WARNING,
                               .type = "link-down",
                               .subject = "leaf-1/2",
                               .message = "bad \xff byte",
                               .guid = 0xabc,
                               .port = 2,
                               .field_count = 3,
                               .fields = fields};
    const struct event other = {
        .seq = 6, .severity = EVENT_ERROR, .type = "of-later", .subject = "", .message = "m"};
    const struct event *const both[] = {&link, &other};
    struct fab_text body = {0};
    alerts_body(both, 2, 3, &body);
    const char *text = fab_base_text_get(&body);
    ck_assert_ptr_nonnull(strstr(text, "\"lost\":3,\"alerts\":[\n{\"sequence\":5,\"time\":"
                                       "\"1970-01-02T00:00:00.001Z\",\"severity\":\"warning\","
                                       "\"type\":\"link-down\",\"subject\":\"leaf-1/2\",\"guid\":"
                                       "\"0x0000000000000abc\",\"port\":2,\"message\":"
                                       "\"bad \xef\xbf\xbd byte\",\"remedy\":\""));
    ck_assert_ptr_nonnull(strstr(text, ",\"fields\":{\"peer\":\"a\\\"b\\\\c\xef\xbf\xbd\","
                                       "\"peer_guid\":\"0x0000000000000012\",\"peer_port\":7}},\n"
                                       "{\"sequence\":6,"));
    ck_assert_ptr_nonnull(strstr(text, "\"message\":\"m\",\"remedy\":\"\",\"fields\":{}}\n]}\n"));
    fab_base_text_fini(&body);
}
END_TEST

/* ---- which events a target gets ---- */

START_TEST(a_target_gets_what_it_wants)
{
    char *types[] = {"link-*", "proof-failed"};
    struct config_alert a = {.min_severity = EVENT_WARNING, .types = types, .type_count = 2};
    struct event e = {.severity = EVENT_WARNING, .type = "link-down"};
    ck_assert(config_alert_wants(&a, &e));
    e.severity = EVENT_INFO;
    ck_assert(!config_alert_wants(&a, &e));
    e = (struct event){.severity = EVENT_ERROR, .type = "proof-failed"};
    ck_assert(config_alert_wants(&a, &e));
    e.type = "reproof-failed";
    ck_assert(!config_alert_wants(&a, &e));
    a.type_count = 0;
    ck_assert(config_alert_wants(&a, &e));
}
END_TEST

/* ---- queues ---- */

static struct {
    struct loop *loop;
    struct bus *bus;
    struct alerts *alerts;
    struct loop_timer *end;
    unsigned lost_events, failing_events;
} t;

static void on_event(void *ctx, const struct event *e)
{
    (void)ctx;
    t.lost_events += strcmp(e->type, "alerts-lost") == 0;
    t.failing_events += strcmp(e->type, "alerts-failing") == 0;
}

static void end(void *ctx)
{
    (void)ctx;
    loop_stop(t.loop);
}

static void run_for(uint64_t us)
{
    loop_timer_set(t.end, us);
    ck_assert_int_eq(loop_run(t.loop), FAB_OK);
}

static void publish(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        event_emit(t.bus, link_down, .subject = "leaf-1/1", .peer = "spine-1/1");
}

START_TEST(a_full_queue_drops_new_alerts)
{
    struct config_alert targets[] = {
        {.url = "http://127.0.0.1:1/secret", .min_severity = EVENT_WARNING},
        {.url = "http://127.0.0.1:1/", .min_severity = EVENT_ERROR}};
    const struct config_alerts config = {targets, 2};
    struct alerts_status s;
    t.loop = loop_new();
    t.bus = bus_new(0);
    t.end = loop_timer_new(t.loop, end, NULL);
    ck_assert_int_eq(bus_subscribe(t.bus, on_event, NULL), FAB_OK);
    ck_assert_int_eq(alerts_start(t.loop, t.bus, &config, &t.alerts), FAB_OK);
    ck_assert_uint_eq(alerts_count(t.alerts), 2);
    publish(1500);
    alerts_get_status(t.alerts, 0, &s);
    ck_assert_uint_eq(s.queued, 1000);
    ck_assert_uint_eq(s.lost, 500);
    ck_assert_str_eq(s.target, "alerts[0]");
    run_for(400000); /* the first try fails, because no server listens at port 1 */
    alerts_get_status(t.alerts, 0, &s);
    ck_assert(s.failing);
    ck_assert_uint_eq(s.queued, 1000);
    ck_assert_uint_eq(s.sent, 0);
    ck_assert_uint_eq(t.lost_events, 1);
    ck_assert_uint_eq(t.failing_events, 0);
    run_for(7000000); /* time for three tries with pauses of 2 s and 4 s between them */
    ck_assert_uint_eq(t.failing_events, 1);
    alerts_get_status(t.alerts, 1, &s);
    ck_assert(!s.failing);
    ck_assert_uint_eq(s.queued, 0);
    alerts_stop(t.alerts);
    loop_timer_free(t.end);
    bus_free(t.bus);
    loop_free(t.loop);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("alerts");
    TCase *c = tcase_create("alerts");
    tcase_add_test(c, the_body_is_json);
    tcase_add_test(c, a_target_gets_what_it_wants);
    tcase_add_test(c, a_full_queue_drops_new_alerts);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return test_run(s);
}
