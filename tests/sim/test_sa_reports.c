/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subscriptions to reports: links that go down, multicast groups that are created or deleted. Some
 * subscribers answer late or not at all, and some may not get the report. Services and
 * subscriptions survive restarts of the manager.
 */
#include "tests/sim/sa_scene.h"
#include "tests/unit/same_service.h"

/* ---- subscriptions --------------------------------------------------------------------------- */

static uint16_t inform_record(uint16_t lid, uint64_t key, unsigned host, uint16_t number,
                              struct fab_wire_inform_info_record *ret)
{
    uint8_t data[FAB_REC_MAX];
    struct fab_wire_inform_info_record r = {
        .subscriber_gid = {UINT64_C(0xfe80) << 48, host_guid(host)}, .number = number};
    uint64_t mask = fab_wire_rec_component(&fab_wire_inform_info_record, "SubscriberGID") |
                    fab_wire_rec_component(&fab_wire_inform_info_record, "Enum");
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_inform_info_record, &r, data, sizeof data),
                     FAB_OK);
    uint16_t status = ask(lid, FAB_METHOD_GET, FAB_SA_INFORM_INFO_RECORD, key, mask, data, 80);
    if (status == 0)
        ck_assert_int_eq(
            fab_wire_rec_unpack(&fab_wire_inform_info_record, scene.answer + FAB_SA_DATA, 200, ret),
            FAB_OK);
    return status;
}

START_TEST(subscriptions_are_listed_and_ended)
{
    open_scene(false);
    struct fab_inform_info a = all_notices(64), b = all_notices(65), odd = a;
    struct fab_wire_inform_info_record got;
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0);
    ck_assert_uint_eq(scene.answer[FAB_SA_DATA + 23], 1);
    /* a repeated subscription does not become a second one */
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0);
    ck_assert_uint_eq(inform(host_lid(1), 0, &b), 0);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    ck_assert_uint_eq(inform_record(host_lid(2), 0, 1, 1, &got), 0);
    ck_assert_uint_eq(got.info.trap, 65);
    /* Hosts without the sa_key do not see the QPN. */
    ck_assert_uint_eq(got.info.qpn, 0);
    ck_assert_uint_eq(inform_record(host_lid(2), SM_KEY, 1, 1, &got), 0);
    ck_assert_uint_eq(got.info.qpn, 1);
    ck_assert_uint_eq(inform_record(host_lid(2), 0, 1, 2, &got), FAB_SA_NO_RECORDS);
    odd.subscribe = 2;
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(scene.answer[FAB_SA_DATA + 23], 0);
    ck_assert_uint_eq(inform(300, 0, &a), FAB_SA_REQ_INVALID);
    odd = all_notices(257);
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd),
                      /* only hosts with a key may subscribe to this trap, because its notice
                       * contains keys */
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(inform(host_lid(1), SM_KEY, &odd), 0);
    odd = all_notices(128);
    odd.lid_begin = 4000;
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd), FAB_SA_REQ_INVALID);
    a.subscribe = 0;
    /* this host has no subscription */
    ck_assert_uint_eq(inform(host_lid(2), 0, &a), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0);
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    close_scene();
}
END_TEST

/* A host leaves the fabric and comes back. A subscriber gets one report of trap 65 (out of
 * service), and later one report of trap 64 (in service). */
START_TEST(subscribers_hear_who_comes_and_goes)
{
    open_scene(false);
    struct fab_inform_info gone = all_notices(65), here = all_notices(64), trap = all_notices(128);
    uint16_t lid = host_lid(1);
    uint64_t guid = host_guid(4), sm = host_guid(0);
    ck_assert_uint_eq(inform(lid, 0, &gone), 0);
    ck_assert_uint_eq(inform(lid, 0, &here), 0);
    ck_assert_uint_eq(inform(host_lid(2), 0, &trap), 0);
    lab_unlink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 3);
    ck_assert_uint_eq(reports_of(lid, 65), 1);
    ck_assert_uint_eq(reports_of(lid, 64), 0);
    ck_assert_uint_ge(reports_of(host_lid(2), 128), 1);
    for (unsigned i = 0; i < scene.reports; i++) {
        const struct got *g = &scene.got[i];
        if (g->notice.trap != 65)
            continue;
        ck_assert_uint_eq(g->notice.type, 3);
        ck_assert_uint_eq(g->notice.producer_type, 4);
        ck_assert_uint_eq(g->notice.issuer_lid, host_lid(0));
        ck_assert_uint_eq(g->issuer[1], sm);
        ck_assert_uint_eq(fab_base_get_be64(g->notice.details + 14), guid);
    }
    lab_relink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 3);
    ck_assert_uint_eq(reports_of(lid, 65), 1);
    ck_assert_uint_eq(reports_of(lid, 64), 1);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.reports, scene.reports);
    ck_assert_uint_eq(stats.reports_answered, scene.reports);
    ck_assert_uint_eq(stats.reports_lost, 0);
    ck_assert_uint_gt(stats.notices, 0);
    close_scene();
}
END_TEST

/* Host 1 does not answer a report. The manager sends the report again a few times, and then deletes
 * the subscription of host 1. Hosts 2 and 3 get the report only once and without delay. */
START_TEST(who_does_not_answer_is_dropped)
{
    open_scene(false);
    struct fab_inform_info gone = all_notices(65);
    scene.deaf = host_lid(1);
    for (unsigned host = 1; host < 4; host++)
        ck_assert_uint_eq(inform(host_lid(host), 0, &gone), 0);
    uint64_t from = clock_now_us();
    lab_unlink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 0.5);
    ck_assert_uint_eq(reports_of(host_lid(2), 65), 1);
    ck_assert_uint_eq(reports_of(host_lid(3), 65), 1);
    ck_assert_uint_ge(reports_of(scene.deaf, 65), 1);
    lab_run_for(&scene.lab, 10);
    ck_assert_uint_eq(reports_of(scene.deaf, 65), 4);
    ck_assert_uint_eq(reports_of(host_lid(2), 65), 1);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    ck_assert_ptr_nonnull(lab_event(&scene.lab, "subscription-ended"));
    for (unsigned i = 0; i < scene.reports; i++)
        if (scene.got[i].lid != scene.deaf)
            ck_assert_uint_lt(scene.got[i].at, from + 500000);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.subscriptions_ended, 1);
    close_scene();
}
END_TEST

/* The answer to a report comes after its repetition. It must acknowledge only this report, and not
 * the next one. */
START_TEST(late_answers_do_no_harm)
{
    open_scene(false);
    struct fab_inform_info gone = all_notices(65);
    /* the host answers 0.35 s after a report, when the manager has already sent the report again */
    scene.delay_us = 350000;
    ck_assert_uint_eq(inform(host_lid(1), 0, &gone), 0);
    lab_unlink(&scene.lab, "leaf-002", 1);
    lab_unlink(&scene.lab, "leaf-002", 2);
    lab_run_for(&scene.lab, 10);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 1);
    /* two hosts left; the manager sent each of the two reports twice */
    ck_assert_uint_eq(reports_of(host_lid(1), 65), 4);
    ck_assert_uint_eq(scene.got[0].tid, scene.got[1].tid);
    ck_assert_uint_ne(scene.got[1].tid, scene.got[2].tid);
    close_scene();
}
END_TEST

START_TEST(a_port_that_stays_away_is_dropped)
{
    open_scene(false);
    struct fab_inform_info gone = all_notices(65);
    uint16_t lid = host_lid(5);
    ck_assert_uint_eq(inform(lid, 0, &gone), 0);
    lab_unlink(&scene.lab, "leaf-002", 2);
    lab_run_for(&scene.lab, 100);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 1);
    lab_run_for(&scene.lab, 400);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 0);
    ck_assert_uint_eq(reports_of(lid, 65), 0);
    close_scene();
}
END_TEST

/* ---- groups and partitions ------------------------------------------------------------------- */

#define MGID_HIGH UINT64_C(0xff12a01b00000000)

static uint16_t member(unsigned host, uint8_t method, uint16_t pkey, uint64_t mgid_low)
{
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    uint8_t data[FAB_REC_MAX];
    struct fab_wire_mc_member_record r = {.mgid = {MGID_HIGH, mgid_low},
                                          .port_gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                          .qkey = 0xb1b,
                                          .pkey = pkey,
                                          .join_state = FAB_JOIN_FULL};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_wire_rec_component(&fab_wire_mc_member_record, names[i]);
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_mc_member_record, &r, data, sizeof data), FAB_OK);
    return ask(host_lid(host), method, FAB_SA_MC_MEMBER_RECORD, 0, mask, data, 52);
}

/* Puts hosts 1 and 4 into one partition, and host 2 into another. All hosts are limited members of
 * the default partition. */
static void make_partitions(void)
{
    char text[400];
    struct fab_partitions_error e;
    struct fab_partitions *p;
    snprintf(text, sizeof text,
             "Default=0x7fff, defmember=limited: ALL, SELF=full;\n"
             "Blue=0x11, defmember=full: 0x%" PRIx64 ", 0x%" PRIx64 ";\n"
             "Red=0x12, defmember=full: 0x%" PRIx64 ";\n",
             host_guid(1), host_guid(4), host_guid(2));
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_OK);
    scene.lab.config.policy.partitions = p;
    ck_assert_int_eq(sm_reload(scene.lab.sm), FAB_OK);
    lab_run_for(&scene.lab, 2);
    lab_run(&scene.lab, 20, lab_is_idle, "the partitions");
}

static void all_subscribe(uint16_t trap)
{
    const struct fab_inform_info info = all_notices(trap);
    for (unsigned host = 1; host < 5; host++)
        ck_assert_uint_eq(inform(host_lid(host), 0, &info), 0);
}

/* Checks how many reports of the trap about this GID the hosts 1 to 4 got. times[i]: expected
 * number for host i + 1. */
static void assert_heard(uint16_t trap, const unsigned times[4], uint64_t high, uint64_t low)
{
    for (unsigned host = 1; host < 5; host++)
        ck_assert_msg(reports_of(host_lid(host), trap) == times[host - 1],
                      "host %u heard notice %u %u times", host, trap,
                      reports_of(host_lid(host), trap));
    for (unsigned i = 0; i < scene.reports && i < REPORTS; i++) {
        const struct got *g = &scene.got[i];
        if (g->notice.trap != trap)
            continue;
        ck_assert_uint_eq(fab_base_get_be64(g->notice.details + 6), high);
        ck_assert_uint_eq(fab_base_get_be64(g->notice.details + 14), low);
        ck_assert_uint_eq(g->issuer[1], host_guid(0));
        ck_assert_uint_eq(g->notice.issuer_lid, host_lid(0));
    }
}

/* Trap 66 reports that the first member created a multicast group, and trap 67 that the last member
 * deleted it. Other joins and leaves cause no reports. */
START_TEST(groups_are_told_when_made_and_gone)
{
    const unsigned all[4] = {1, 1, 1, 1}, none[4] = {0};
    open_scene(false);
    all_subscribe(66);
    all_subscribe(67);
    ck_assert_uint_eq(member(1, FAB_METHOD_SET, 0xffff, 5), 0);
    lab_run_for(&scene.lab, 1);
    assert_heard(66, all, MGID_HIGH, 5);
    ck_assert_uint_eq(member(2, FAB_METHOD_SET, 0xffff, 5), 0);
    ck_assert_uint_eq(member(1, FAB_METHOD_DELETE, 0xffff, 5), 0);
    lab_run_for(&scene.lab, 1);
    assert_heard(66, all, MGID_HIGH, 5);
    assert_heard(67, none, 0, 0);
    ck_assert_uint_eq(member(2, FAB_METHOD_DELETE, 0xffff, 5), 0);
    lab_run_for(&scene.lab, 1);
    assert_heard(66, all, MGID_HIGH, 5);
    assert_heard(67, all, MGID_HIGH, 5);
    close_scene();
}
END_TEST

START_TEST(groups_of_others_are_not_told)
{
    const unsigned blue[4] = {1, 0, 0, 1};
    open_scene(false);
    make_partitions();
    all_subscribe(66);
    all_subscribe(67);
    ck_assert_uint_eq(member(2, FAB_METHOD_SET, 0x8011, 5), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(member(1, FAB_METHOD_SET, 0x8011, 5), 0);
    ck_assert_uint_eq(member(1, FAB_METHOD_DELETE, 0x8011, 5), 0);
    lab_run_for(&scene.lab, 1);
    assert_heard(66, blue, MGID_HIGH, 5);
    assert_heard(67, blue, MGID_HIGH, 5);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 8);
    close_scene();
}
END_TEST

/* Host 4 leaves and comes back. Only host 1, which shares a P_Key with host 4, gets the reports.
 * Two hosts that are limited members of the same partition do not share a P_Key. */
START_TEST(ends_of_others_are_not_told)
{
    const unsigned blue[4] = {1, 0, 0, 0};
    open_scene(false);
    make_partitions();
    uint64_t guid = host_guid(4);
    all_subscribe(64);
    all_subscribe(65);
    scene.reports = 0;
    lab_unlink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 3);
    for (unsigned host = 1; host < 4; host++)
        ck_assert_uint_eq(reports_of(host_lid(host), 65), blue[host - 1]);
    lab_relink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 3);
    for (unsigned host = 1; host < 4; host++) {
        ck_assert_uint_eq(reports_of(host_lid(host), 64), blue[host - 1]);
        ck_assert_uint_eq(reports_of(host_lid(host), 65), blue[host - 1]);
    }
    ck_assert_uint_gt(scene.reports, 0);
    for (unsigned i = 0; i < scene.reports && i < REPORTS; i++)
        ck_assert_uint_eq(fab_base_get_be64(scene.got[i].notice.details + 14), guid);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 8);
    close_scene();
}
END_TEST

static uint16_t subscribe_to(unsigned host, uint16_t from, uint16_t to)
{
    struct fab_inform_info info = all_notices(128);
    info.lid_begin = from;
    info.lid_end = to;
    return inform(host_lid(host), 0, &info);
}

/* Subscriptions to a range of LIDs (IBA 13.4.8.3). LIDRangeEnd 0 stands for the single LID
 * LIDRangeBegin. The subscriber must share a partition with each port in the range. */
START_TEST(ranges_of_lids_are_checked)
{
    open_scene(false);
    struct fab_view *v = sm_view(scene.lab.sm);
    uint16_t top = (uint16_t)v->target->lids.top, of[5];
    fab_view_unref(v);
    for (unsigned host = 0; host < 5; host++)
        of[host] = host_lid(host);
    /* the ranges below assume that hosts 1 and 2 have consecutive LIDs */
    ck_assert_uint_eq(of[2], of[1] + 1);
    ck_assert_uint_eq(subscribe_to(1, top, 0), 0);
    /* accepted: the manager ignores the LIDs above `top`, which no port has */
    ck_assert_uint_eq(subscribe_to(1, top, 0xbfff), 0);
    ck_assert_uint_eq(subscribe_to(1, (uint16_t)(top + 1), 0), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(subscribe_to(1, 1, top), 0);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 3);
    make_partitions();
    ck_assert_uint_eq(subscribe_to(1, of[1], 0), 0);
    ck_assert_uint_eq(subscribe_to(1, of[1], of[1]), 0);
    /* accepted: host 4 shares a partition with host 1 */
    ck_assert_uint_eq(subscribe_to(1, of[4], of[4]), 0);
    /* accepted: host 0 is the manager's host, which is a full member of each partition */
    ck_assert_uint_eq(subscribe_to(1, of[0], of[1]), 0);
    ck_assert_uint_eq(subscribe_to(1, of[2], 0), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(subscribe_to(1, of[1], of[2]),
                      /* refused: host 2, at the end of the range, shares no partition with host
                       * 1 */
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(subscribe_to(1, of[2], of[4]),
                      /* refused: host 2, at the start of the range, shares no partition with host
                       * 1 */
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(subscribe_to(1, 1, top), FAB_SA_REQ_INVALID);
    /* LIDRangeBegin 0xffff: reports about all ports with which the host shares a partition */
    ck_assert_uint_eq(subscribe_to(1, 0xffff, 0), 0);
    close_scene();
}
END_TEST

/* The agent and its manager are killed without a last write to the store, and started again. */
START_TEST(all_is_there_after_a_restart)
{
    open_scene(true);
    struct fab_inform_info gone = all_notices(65);
    struct fab_wire_service_record a = service_of(1, 5, UINT32_MAX), got;
    struct fab_wire_inform_info_record record;
    a.key[0] = 3;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(inform(host_lid(2), 0, &gone), 0);
    ck_assert_uint_eq(inform(host_lid(3), SM_KEY, &gone), 0);
    start_again();
    ck_assert_uint_eq(sa_services(scene.sa)->count, 1);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    ck_assert_uint_eq(
        service(host_lid(1), FAB_METHOD_GET, SM_KEY, service_component("ServiceID"), &a, &got), 0);
    assert_same_service(&got, &a);
    ck_assert_uint_eq(inform_record(host_lid(1), SM_KEY, 3, 0, &record), 0);
    ck_assert_uint_eq(record.info.trap, 65);
    ck_assert_uint_eq(record.info.qpn, 1);
    lab_unlink(&scene.lab, "leaf-002", 2);
    lab_run_for(&scene.lab, 3);
    ck_assert_uint_eq(reports_of(host_lid(2), 65), 1);
    gone.subscribe = 0;
    ck_assert_uint_eq(inform(host_lid(2), 0, &gone), 0);
    start_again();
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 1);
    close_scene();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sa reports");
    TCase *tcase = tcase_create("reports");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, subscriptions_are_listed_and_ended);
    tcase_add_test(tcase, subscribers_hear_who_comes_and_goes);
    tcase_add_test(tcase, who_does_not_answer_is_dropped);
    tcase_add_test(tcase, late_answers_do_no_harm);
    tcase_add_test(tcase, a_port_that_stays_away_is_dropped);
    tcase_add_test(tcase, groups_are_told_when_made_and_gone);
    tcase_add_test(tcase, groups_of_others_are_not_told);
    tcase_add_test(tcase, ends_of_others_are_not_told);
    tcase_add_test(tcase, ranges_of_lids_are_checked);
    tcase_add_test(tcase, all_is_there_after_a_restart);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
