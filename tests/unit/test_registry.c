/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of subnet administration. Services are compared with a simple list under random
 * changes. Subscriptions have numbers and limits, and must match the right notices. Reports must
 * have the right order, window and repetition, even if subscribers are slow or do not answer.
 */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/registry/services.h"
#include "tests/unit/testing.h"

/* ---- services -------------------------------------------------------------------------------- */

static struct fab_service service(uint64_t id, uint64_t guid, uint16_t pkey)
{
    return (struct fab_service){.key = {id, {1, guid}, pkey}, .owner = guid, .wire = {(uint8_t)id}};
}

START_TEST(services_are_as_a_plain_list_has_them)
{
    enum { IDS = 12, GUIDS = 6, STEPS = 20000 };
    bool there[IDS][GUIDS] = {{false}};
    int64_t ends[IDS][GUIDS] = {{0}};
    struct fab_services s = {0};
    struct fab_prng p;
    fab_base_prng_init(&p, test_seed("services", 7));
    for (int64_t now = 1; now <= STEPS; now++) {
        uint64_t id = fab_base_prng_next(&p) % IDS, guid = fab_base_prng_next(&p) % GUIDS;
        struct fab_service x = service(id, guid + 1, 0xffff);
        x.ends_us =
            fab_base_prng_next(&p) % 3 ? now + 1 + (int64_t)(fab_base_prng_next(&p) % 50) : 0;
        if (fab_base_prng_next(&p) % 3) {
            ck_assert_int_eq(fab_registry_services_put(&s, &x), FAB_OK);
            there[id][guid] = true;
            ends[id][guid] = x.ends_us;
        } else {
            ck_assert(fab_registry_services_remove(&s, &x.key) == there[id][guid]);
            there[id][guid] = false;
        }
        if (s.ends_us != 0 && s.ends_us <= now)
            fab_registry_services_expire(&s, now, NULL, NULL);
        const struct fab_service *at = NULL;
        for (uint64_t i = 0; i < IDS; i++)
            for (uint64_t g = 0; g < GUIDS; g++) {
                if (there[i][g] && ends[i][g] != 0 && ends[i][g] <= now)
                    there[i][g] = false;
                x = service(i, g + 1, 0xffff);
                ck_assert((fab_registry_services_find(&s, &x.key) != NULL) == there[i][g]);
                if (!there[i][g])
                    continue;
                at = fab_registry_services_next(&s, at != NULL ? &at->key : NULL);
                ck_assert_ptr_nonnull(at);
                ck_assert_uint_eq(at->key.id, i);
                ck_assert_uint_eq(at->owner, g + 1);
            }
        ck_assert(fab_registry_services_next(&s, at != NULL ? &at->key : NULL) == NULL);
    }
    fab_registry_services_fini(&s);
}
END_TEST

/* The registry counts how many services each port has registered, so that subnet administration can
 * limit this number. */
START_TEST(services_of_a_port_are_counted)
{
    struct fab_services s = {0};
    for (uint64_t id = 0; id < 100; id++) {
        struct fab_service x = service(id, 5, 1);
        ck_assert_int_eq(fab_registry_services_put(&s, &x), FAB_OK);
        ck_assert_int_eq(fab_registry_services_put(&s, &x),
                         FAB_OK); /* a repeated registration of the same service does not count */
        ck_assert_uint_eq(fab_registry_services_of(&s, x.owner), id + 1);
    }
    struct fab_service other = service(0, 5, 1);
    uint64_t first = other.owner;
    other.owner = 6; /* another port registers the same service, and becomes its owner */
    ck_assert_int_eq(fab_registry_services_put(&s, &other), FAB_OK);
    ck_assert_uint_eq(fab_registry_services_of(&s, first), 99);
    ck_assert_uint_eq(fab_registry_services_of(&s, 6), 1);
    ck_assert(fab_registry_services_remove(&s, &other.key));
    ck_assert_uint_eq(fab_registry_services_of(&s, 6), 0);
    ck_assert_uint_eq(s.count, 99);
    fab_registry_services_fini(&s);
}
END_TEST

/* ---- subscriptions --------------------------------------------------------------------------- */

static struct fab_inform_info all(uint16_t trap)
{
    return (struct fab_inform_info){
        .lid_begin = 0xffff, .generic = 1, .type = 0xffff, .trap = trap, .producer = 0xffffff};
}

static uint32_t subscribe(struct fab_subscriptions *s, uint64_t guid, uint16_t trap)
{
    const uint64_t gid[2] = {1, guid};
    struct fab_inform_info info = all(trap);
    uint32_t slot = 77777;
    ck_assert_int_eq(fab_registry_subscriptions_put(s, gid, &info, false, -1, &slot), FAB_OK);
    return slot;
}

static uint16_t number_of(const struct fab_subscriptions *s, uint32_t slot)
{
    return s->slot[slot].record.number;
}

START_TEST(numbers_of_a_subscriber_are_used_again)
{
    struct fab_subscriptions *s = NULL;
    ck_assert_int_eq(fab_registry_subscriptions_new(&s), FAB_OK);
    for (uint16_t i = 0; i < FAB_SUBSCRIPTIONS_EACH; i++)
        ck_assert_uint_eq(number_of(s, subscribe(s, 9, i)), i);
    const uint64_t gid[2] = {1, 9}, neighbour[2] = {1, 10};
    ck_assert_uint_eq(fab_registry_subscriptions_of(s, gid), FAB_SUBSCRIPTIONS_EACH);
    ck_assert_uint_eq(fab_registry_subscriptions_of(s, neighbour), 0);
    struct fab_inform_info more = all(5000);
    uint32_t slot;
    ck_assert_int_eq(fab_registry_subscriptions_put(s, gid, &more, false, -1, &slot), FAB_E_LIMIT);
    subscribe(s, 8, 5000);
    more = all(17);
    slot = fab_registry_subscriptions_find(s, gid, &more);
    ck_assert_uint_ne(slot, FAB_SUBSCRIPTION_NONE);
    fab_registry_subscriptions_remove(s, slot);
    ck_assert_uint_eq(number_of(s, subscribe(s, 9, 5000)), 17);
    unsigned count = 0;
    const struct fab_wire_inform_info_record *r = NULL;
    for (slot = fab_registry_subscriptions_next(s, NULL, 0); slot != FAB_SUBSCRIPTION_NONE;
         count++) {
        r = &s->slot[slot].record;
        ck_assert_uint_eq(r->subscriber_gid[1], count == 0 ? 8 : 9);
        ck_assert_uint_eq(r->number, count == 0 ? 0 : count - 1);
        slot = fab_registry_subscriptions_next(s, r->subscriber_gid, r->number);
    }
    ck_assert_uint_eq(count, FAB_SUBSCRIPTIONS_EACH + 1);
    fab_registry_subscriptions_free(s);
}
END_TEST

START_TEST(each_part_of_a_subscription_counts)
{
    const struct fab_event_notice n = {
        .is = {.generic = 1, .type = 1, .producer_type = 2, .trap = 128, .issuer_lid = 20},
        .issuer = {1, 2}};
    struct fab_inform_info i = all(0xffff);
    ck_assert(fab_registry_inform_matches(&i, &n));
    i.generic = 0;
    ck_assert(!fab_registry_inform_matches(&i, &n));
    i = all(129);
    ck_assert(!fab_registry_inform_matches(&i, &n));
    i = all(128);
    i.type = 0;
    ck_assert(!fab_registry_inform_matches(&i, &n));
    i = all(128);
    i.producer = 1;
    ck_assert(!fab_registry_inform_matches(&i, &n));
    i = all(128);
    i.lid_begin = 20;
    ck_assert(fab_registry_inform_matches(&i, &n));
    i.lid_begin = 19;
    ck_assert(
        /* without lid_end the range is LID 19 alone, and the notice is from LID 20 */
        !fab_registry_inform_matches(&i, &n));
    i.lid_end = 20;
    ck_assert(fab_registry_inform_matches(&i, &n));
    /* if a subscription names a GID, its range of LIDs does not matter */
    i.gid[1] = 3;
    ck_assert(!fab_registry_inform_matches(&i, &n));
    i.gid[0] = 1;
    i.gid[1] = 2;
    i.lid_begin = 1;
    i.lid_end = 2;
    ck_assert(fab_registry_inform_matches(&i, &n));
}
END_TEST

/* ---- reports --------------------------------------------------------------------------------- */

#define PEOPLE 200
/* number of the last notice that each subscriber received */
static uint16_t heard[PEOPLE];
static unsigned gone_count;

static enum fab_report_verdict yes(void *ctx, const struct fab_subscription *x,
                                   const struct fab_event_notice *n)
{
    (void)ctx, (void)x, (void)n;
    return FAB_REPORT_SEND;
}

static void gone(void *ctx, uint32_t slot)
{
    fab_registry_subscriptions_remove(ctx, slot);
    gone_count++;
}

static struct fab_event_notice numbered(uint16_t n)
{
    return (struct fab_event_notice){.is = {.generic = 1, .trap = 64, .count = n}};
}

static struct fab_notice read_report(const uint8_t *mad)
{
    struct fab_notice n;
    ck_assert_uint_eq(mad[3], FAB_METHOD_REPORT);
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_notice, mad + FAB_SA_DATA, 64, &n),
                     FAB_OK);
    return n;
}

/* Of 200 subscribers, every fifth never answers, and the others answer most reports. New notices
 * arrive all the time. Each subscriber that answers must get all notices in order. */
START_TEST(all_who_answer_hear_all_in_order)
{
    struct fab_subscriptions *s = NULL;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_prng p;
    uint64_t now = 1;
    uint16_t told = 0;
    fab_base_prng_init(&p, test_seed("reports", 9));
    memset(heard, 0, sizeof heard);
    gone_count = 0;
    ck_assert_int_eq(fab_registry_subscriptions_new(&s), FAB_OK);
    for (uint64_t i = 0; i < PEOPLE; i++)
        ck_assert_uint_eq(subscribe(s, i + 1, 64), i);
    for (; now < 20000000; now += 1000) {
        uint32_t budget = 1 + (uint32_t)(fab_base_prng_next(&p) % 300), slot;
        if (told < 300 && fab_base_prng_next(&p) % 8 == 0) {
            struct fab_event_notice n = numbered(++told);
            ck_assert_int_eq(fab_registry_reports_add(s, &n), FAB_OK);
        }
        while (fab_registry_reports_output(s, now, &budget, yes, NULL, &slot, mad) == FAB_OK) {
            uint16_t number = read_report(mad).count;
            bool deaf = slot % 5 == 0;
            ck_assert_uint_le(number, heard[slot] + 1u);
            if (deaf || fab_base_prng_next(&p) % 100 == 0)
                continue; /* the subscriber does not get the report, or does not answer */
            ck_assert_uint_eq(fab_registry_reports_find(s, fab_base_get_be64(mad + 8)), slot);
            if (number == heard[slot] + 1)
                heard[slot] = number;
            fab_registry_reports_answered(s, slot);
            ck_assert_uint_eq(fab_registry_reports_find(s, fab_base_get_be64(mad + 8)),
                              FAB_SUBSCRIPTION_NONE);
        }
        fab_registry_reports_expire(s, now, gone, s);
    }
    ck_assert_uint_eq(told, 300);
    ck_assert_uint_eq(gone_count, PEOPLE / 5);
    ck_assert_uint_eq(s->count, PEOPLE - PEOPLE / 5);
    for (unsigned i = 0; i < PEOPLE; i++)
        ck_assert_uint_eq(heard[i], i % 5 == 0 ? 0 : 300);
    ck_assert(!fab_registry_reports_waiting(s));
    fab_registry_subscriptions_free(s);
}
END_TEST

/* Twenty of 60 subscribers do not answer, and only 8 reports may be in flight. Even so, all other
 * subscribers must get the report within 50 ms. */
START_TEST(who_is_silent_holds_nobody_up)
{
    struct fab_subscriptions *s = NULL;
    const struct fab_reports_config config = {.window = 8,
                                              .tries = 4,
                                              .slow_us = 10000,
                                              .wait_least_us = 1000000,
                                              .wait_most_us = 5000000};
    uint8_t mad[FAB_MAD_SIZE];
    unsigned answered = 0;
    ck_assert_int_eq(fab_registry_subscriptions_new(&s), FAB_OK);
    fab_registry_reports_configure(s, &config);
    for (uint64_t i = 0; i < 60; i++)
        subscribe(s, i + 1, 64);
    struct fab_event_notice n = numbered(1);
    ck_assert_int_eq(fab_registry_reports_add(s, &n), FAB_OK);
    for (uint64_t now = 0; now <= 50000; now += 1000) {
        uint32_t budget = 1000, slot, sent = 0;
        while (fab_registry_reports_output(s, now, &budget, yes, NULL, &slot, mad) == FAB_OK) {
            ck_assert_uint_le(++sent, 60);
            if (slot < 20)
                continue;
            fab_registry_reports_answered(s, slot);
            answered++;
        }
        fab_registry_reports_expire(s, now, gone, s);
    }
    ck_assert_uint_eq(answered, 40);
    fab_registry_subscriptions_free(s);
}
END_TEST

/* No subscriber answers. One call after the last time-out must end all subscriptions, and not only
 * the first of them. */
START_TEST(all_who_are_late_go_at_once)
{
    struct fab_subscriptions *s = NULL;
    const struct fab_reports_config config = {.window = 20,
                                              .tries = 1,
                                              .slow_us = 10000,
                                              .wait_least_us = 1000000,
                                              .wait_most_us = 5000000};
    uint8_t mad[FAB_MAD_SIZE];
    uint32_t budget = 20, slot, sent = 0;
    gone_count = 0;
    ck_assert_int_eq(fab_registry_subscriptions_new(&s), FAB_OK);
    fab_registry_reports_configure(s, &config);
    for (uint64_t i = 0; i < 12; i++)
        subscribe(s, i + 1, 64);
    struct fab_event_notice n = numbered(1);
    ck_assert_int_eq(fab_registry_reports_add(s, &n), FAB_OK);
    while (fab_registry_reports_output(s, 1, &budget, yes, NULL, &slot, mad) == FAB_OK)
        sent++;
    ck_assert_uint_eq(sent, 12);
    fab_registry_reports_expire(s, 1000000, gone, s);
    ck_assert_uint_eq(gone_count, 0);
    fab_registry_reports_expire(s, 5000001, gone, s);
    ck_assert_uint_eq(gone_count, 12);
    ck_assert_uint_eq(s->count, 0);
    fab_registry_subscriptions_free(s);
}
END_TEST

START_TEST(who_is_a_ring_behind_has_lost_the_oldest)
{
    struct fab_subscriptions *s = NULL;
    struct fab_registry_reports_stats stats;
    uint8_t mad[FAB_MAD_SIZE];
    uint32_t budget = UINT32_MAX, slot, got = 0;
    ck_assert_int_eq(fab_registry_subscriptions_new(&s), FAB_OK);
    subscribe(s, 1, 64);
    for (unsigned i = 1; i <= FAB_REPORT_RING + 10; i++) {
        struct fab_event_notice n = numbered((uint16_t)(i % 32768));
        ck_assert_int_eq(fab_registry_reports_add(s, &n), FAB_OK);
    }
    while (fab_registry_reports_output(s, 1, &budget, yes, NULL, &slot, mad) == FAB_OK) {
        ck_assert_uint_eq(read_report(mad).count, 11 + got++);
        fab_registry_reports_answered(s, slot);
    }
    fab_registry_reports_stats(s, &stats);
    ck_assert_uint_eq(got, FAB_REPORT_RING);
    ck_assert_uint_eq(stats.lost, 10);
    fab_registry_subscriptions_free(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("registry");
    TCase *tcase = tcase_create("registry");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, services_are_as_a_plain_list_has_them);
    tcase_add_test(tcase, services_of_a_port_are_counted);
    tcase_add_test(tcase, numbers_of_a_subscriber_are_used_again);
    tcase_add_test(tcase, each_part_of_a_subscription_counts);
    tcase_add_test(tcase, all_who_answer_hear_all_in_order);
    tcase_add_test(tcase, who_is_silent_holds_nobody_up);
    tcase_add_test(tcase, all_who_are_late_go_at_once);
    tcase_add_test(tcase, who_is_a_ring_behind_has_lost_the_oldest);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
