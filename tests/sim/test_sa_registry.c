/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hosts register with the agent of subnet administration, over the real manager on a simulated
 * fabric in virtual time: services with leases and keys, subscriptions, and the reports that follow
 * when cables are pulled and groups come and go, to hosts that answer, answer late, or are gone, or
 * that may not hear of it; all of it over restarts.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/sa/sa.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/wire/sa.h"
#include "tests/sim/lab.h"

#define SM_KEY 1
#define SECOND 1.0
#define REPORTS 256

struct got { /* a report that arrived */
    uint16_t lid;
    uint64_t tid;
    struct fab_notice notice;
    uint64_t issuer[2], at;
};
struct scene {
    struct lab lab;
    struct transport wire;
    struct sa *sa;
    char dir[64];
    uint64_t tid;
    uint8_t answer[FAB_MAD_SIZE]; /* the last one */
    unsigned answers;
    struct got got[REPORTS];
    unsigned reports;
    uint16_t deaf;     /* this host does not answer reports; 0: all do */
    uint64_t delay_us; /* before anyone answers */
};
static struct scene scene;

/* ---- the wire ---------------------------------------------------------------------------------
 */

struct flight {
    struct loop_timer *timer;
    uint16_t lid;
    uint8_t bytes[FAB_MAD_SIZE];
};

static void to_agent(uint16_t lid, const uint8_t *bytes)
{
    struct transport_mad mad = {.addr = {.slid = lid, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    memcpy(mad.bytes, bytes, FAB_MAD_SIZE);
    transport_hand_up(&scene.wire, &mad, 1);
}

static void answer_now(void *ctx)
{
    struct flight *f = ctx;
    f->bytes[3] = FAB_METHOD_REPORT_RESP;
    if (scene.sa != NULL)
        to_agent(f->lid, f->bytes);
    loop_timer_free(f->timer);
    free(f);
}

static void take_report(const struct flight *f)
{
    struct got *g = &scene.got[scene.reports++ % REPORTS];
    g->lid = f->lid;
    g->tid = fab_be64(f->bytes + 8);
    g->at = clock_now_us();
    ck_assert_uint_eq(f->bytes[1], FAB_CLASS_SA);
    ck_assert_uint_eq(f->bytes[2], 2);
    ck_assert_uint_eq(fab_be16(f->bytes + 16), FAB_ATTR_NOTICE);
    ck_assert_int_eq(fab_attr_unpack(&fab_attr_notice, f->bytes + FAB_SA_DATA, 64, &g->notice), 0);
    g->issuer[0] = fab_be64(f->bytes + FAB_SA_DATA + 64);
    g->issuer[1] = fab_be64(f->bytes + FAB_SA_DATA + 72);
}

static void arrive(void *ctx)
{
    struct flight *f = ctx;
    if (f->bytes[3] != FAB_METHOD_REPORT) {
        memcpy(scene.answer, f->bytes, FAB_MAD_SIZE);
        scene.answers++;
        free(f);
        return;
    }
    take_report(f);
    if (f->lid == scene.deaf) {
        free(f);
        return;
    }
    f->timer = loop_timer_new(scene.lab.loop, answer_now, f);
    loop_timer_set(f->timer, scene.delay_us);
}

static int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    struct flight *f = calloc(1, sizeof *f);
    f->lid = mad->addr.dlid;
    memcpy(f->bytes, mad->bytes, sizeof f->bytes);
    ck_assert_int_eq(loop_post(scene.lab.loop, arrive, f), FAB_OK);
    return FAB_OK;
}

static const struct transport_ops wire_ops = {.send = wire_send};

/* ---- hosts ------------------------------------------------------------------------------------
 */

static bool has_answer(struct lab *lab)
{
    (void)lab;
    return scene.answers > 0;
}

/* Status of the answer; its attribute in scene.answer. */
static uint16_t ask(uint16_t lid, uint8_t method, uint16_t attr_id, uint64_t key,
                    uint64_t comp_mask, const uint8_t *data, size_t len)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = ++scene.tid, .attr_id = attr_id};
    struct fab_sa_header sa = {.sm_key = key, .comp_mask = comp_mask};
    ck_assert_int_eq(fab_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_attr_pack(&fab_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20), FAB_OK);
    memcpy(mad + FAB_SA_DATA, data, len);
    scene.answers = 0;
    to_agent(lid, mad);
    if (scene.lab.store != NULL)
        store_flush(scene.lab.store); /* (its time is the real one) */
    lab_run(&scene.lab, 5, has_answer, "the answer");
    ck_assert_uint_eq(fab_be64(scene.answer + 8), scene.tid);
    return fab_be16(scene.answer + 4);
}

static uint16_t host_lid(unsigned host)
{
    struct fab_view *v = sm_view(scene.lab.sm);
    uint32_t node = v->fabric->switch_count + host;
    uint16_t lid = (uint16_t)v->target->lids.base[fab_port_id(v->fabric, node, 1)];
    fab_view_unref(v);
    return lid;
}

static uint64_t host_guid(unsigned host)
{
    struct fab_view *v = sm_view(scene.lab.sm);
    uint32_t node = v->fabric->switch_count + host;
    uint64_t guid = v->fabric->ports[fab_port_id(v->fabric, node, 1)].guid;
    fab_view_unref(v);
    return guid;
}

static uint64_t service_component(const char *name)
{
    return fab_rec_component(&fab_service_record, name);
}

static uint64_t all_of_service(void)
{
    return service_component("ServiceID") | service_component("ServiceGID") |
           service_component("ServiceP_Key") | service_component("ServiceLease") |
           service_component("ServiceKey") | service_component("ServiceName") |
           service_component("ServiceData64");
}

static struct fab_service_record service_of(unsigned host, uint64_t id, uint32_t lease)
{
    struct fab_service_record r = {.id = id,
                                   .gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                   .pkey = 0xffff,
                                   .lease = lease,
                                   .name = "storage",
                                   .data64 = {7, id}};
    return r;
}

static uint16_t service(uint16_t lid, uint8_t method, uint64_t key, uint64_t mask,
                        const struct fab_service_record *r, struct fab_service_record *ret)
{
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_rec_pack(&fab_service_record, r, data, sizeof data), FAB_OK);
    uint16_t status = ask(lid, method, FAB_SA_SERVICE_RECORD, key, mask, data, 176);
    if (status == 0 && ret != NULL)
        ck_assert_int_eq(fab_rec_unpack(&fab_service_record, scene.answer + FAB_SA_DATA, 200, ret),
                         FAB_OK);
    return status;
}

static uint16_t inform(uint16_t lid, uint64_t key, const struct fab_inform_info *info)
{
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_attr_pack(&fab_attr_inform_info, info, data, 36), FAB_OK);
    return ask(lid, FAB_METHOD_SET, FAB_ATTR_INFORM_INFO, key, 0, data, 36);
}

static struct fab_inform_info all_notices(uint16_t trap)
{
    return (struct fab_inform_info){.lid_begin = 0xffff,
                                    .generic = 1,
                                    .subscribe = 1,
                                    .type = 0xffff,
                                    .trap = trap,
                                    .qpn = 1,
                                    .resp_time = 8,
                                    .producer = 0xffffff};
}

/* How many reports of that number arrived at a host. */
static unsigned reports_of(uint16_t lid, uint16_t trap)
{
    unsigned count = 0;
    for (unsigned i = 0; i < scene.reports && i < REPORTS; i++)
        count += scene.got[i].lid == lid && scene.got[i].notice.trap == trap;
    return count;
}

/* ---- the scene --------------------------------------------------------------------------------
 */

static void start_agent(void)
{
    struct sa_input in = {.loop = scene.lab.loop,
                          .transport = &scene.wire,
                          .sm = scene.lab.sm,
                          .bus = scene.lab.bus,
                          .store = scene.lab.store};
    ck_assert_int_eq(sa_start(&in, &scene.sa), FAB_OK);
    sm_start(scene.lab.sm);
    lab_run(&scene.lab, 20, lab_is_idle, "bring-up");
    lab_run_for(&scene.lab, 0.01);
}

static void stop_agent(void)
{
    sa_stop(scene.sa);
    scene.sa = NULL;
    lab_run_for(&scene.lab, 0.1); /* what is in the air */
}

static void open_scene(bool kept)
{
    memset(&scene, 0, sizeof scene);
    scene.wire.ops = &wire_ops;
    if (kept) {
        snprintf(scene.dir, sizeof scene.dir, "/tmp/test-sa-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(scene.dir));
    }
    lab_open_virtual(&scene.lab, lab_leaf_spine(4, 2, 4), kept ? scene.dir : NULL);
    start_agent();
}

static void close_scene(void)
{
    char command[100];
    stop_agent();
    lab_close(&scene.lab);
    snprintf(command, sizeof command, "rm -rf '%s'", scene.dir);
    if (scene.dir[0] != '\0')
        ck_assert_int_eq(system(command), 0);
}

static void start_again(void)
{
    stop_agent();
    lab_stop(&scene.lab);
    lab_begin(&scene.lab, scene.dir);
    start_agent();
}

/* ---- services ---------------------------------------------------------------------------------
 */

START_TEST(a_service_is_found_until_it_is_taken_back)
{
    open_scene(false);
    struct fab_service_record a = service_of(1, 0x1234, UINT32_MAX),
                              b = service_of(2, 9, UINT32_MAX), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_GET_RESP);
    ck_assert_mem_eq(&got, &a, sizeof a);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_mem_eq(&got, &a, sizeof a);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, 0, &a, NULL),
                      FAB_SA_TOO_MANY_RECORDS);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_GET, 0, service_component("ServiceData64"), &b, &got), 0);
    ck_assert_uint_eq(got.id, 9);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* it is another's */
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(scene.answer[3], FAB_METHOD_DELETE | FAB_METHOD_RESPONSE);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL),
                      FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 1);
    close_scene();
}
END_TEST

START_TEST(keys_are_asked_for_and_not_told)
{
    open_scene(false);
    struct fab_service_record a = service_of(1, 5, UINT32_MAX), wrong, got;
    uint64_t by_id = service_component("ServiceID");
    a.key[1] = 77;
    wrong = a;
    wrong.key[0] = 1;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 0);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, SM_KEY, by_id, &a, &got), 0);
    ck_assert_uint_eq(got.key[1], 77);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_DELETE, 0, all_of_service(), &wrong, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(3), FAB_METHOD_DELETE, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(
        service(host_lid(3), FAB_METHOD_DELETE, SM_KEY, all_of_service(), &wrong, NULL), 0);
    close_scene();
}
END_TEST

START_TEST(leases_run_out)
{
    open_scene(true);
    struct fab_service_record a = service_of(1, 1, 10), b = service_of(1, 2, 100), got;
    uint64_t by_id = service_component("ServiceID");
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &b, NULL), 0);
    lab_run_for(&scene.lab, 5);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, &got), 0);
    ck_assert_uint_le(got.lease, 5);
    lab_run_for(&scene.lab, 6);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &a, NULL), FAB_SA_NO_RECORDS);
    start_again();
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_GET, 0, by_id, &b, &got), 0);
    ck_assert_uint_le(got.lease, 89);
    ck_assert_uint_gt(got.lease, 10);
    lab_run_for(&scene.lab, 95);
    ck_assert_uint_eq(sa_services(scene.sa)->count, 0);
    close_scene();
}
END_TEST

START_TEST(senseless_services_are_refused)
{
    open_scene(false);
    struct fab_service_record a = service_of(1, 1, UINT32_MAX), foreign = a, got;
    uint64_t no_gid = all_of_service() & ~service_component("ServiceGID");
    uint64_t no_key = all_of_service() & ~service_component("ServiceP_Key");
    foreign.gid[1] = 0x123456;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_gid, &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &foreign, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(200, FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID); /* nobody has that LID */
    a.pkey = 0x1234;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL),
                      FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, &got), 0);
    ck_assert_uint_eq(got.pkey, 0xffff);
    for (uint64_t id = 100; id < 100 + FAB_SERVICES_EACH - 1; id++) {
        a.id = id;
        ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    }
    a.id = 99;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, no_key, &a, NULL),
                      FAB_SA_NO_RESOURCES);
    a = service_of(2, 99, 1);
    ck_assert_uint_eq(service(host_lid(2), FAB_METHOD_SET, 0, no_key, &a, NULL), 0);
    close_scene();
}
END_TEST

/* ---- subscriptions ----------------------------------------------------------------------------
 */

static uint16_t inform_record(uint16_t lid, uint64_t key, unsigned host, uint16_t number,
                              struct fab_inform_info_record *ret)
{
    uint8_t data[FAB_REC_MAX];
    struct fab_inform_info_record r = {.subscriber_gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                       .number = number};
    uint64_t mask = fab_rec_component(&fab_inform_info_record, "SubscriberGID") |
                    fab_rec_component(&fab_inform_info_record, "Enum");
    ck_assert_int_eq(fab_rec_pack(&fab_inform_info_record, &r, data, sizeof data), FAB_OK);
    uint16_t status = ask(lid, FAB_METHOD_GET, FAB_SA_INFORM_INFO_RECORD, key, mask, data, 80);
    if (status == 0)
        ck_assert_int_eq(
            fab_rec_unpack(&fab_inform_info_record, scene.answer + FAB_SA_DATA, 200, ret), FAB_OK);
    return status;
}

START_TEST(subscriptions_are_listed_and_ended)
{
    open_scene(false);
    struct fab_inform_info a = all_notices(64), b = all_notices(65), odd = a;
    struct fab_inform_info_record got;
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0);
    ck_assert_uint_eq(scene.answer[FAB_SA_DATA + 23], 1);
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0); /* once more is once */
    ck_assert_uint_eq(inform(host_lid(1), 0, &b), 0);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    ck_assert_uint_eq(inform_record(host_lid(2), 0, 1, 1, &got), 0);
    ck_assert_uint_eq(got.info.trap, 65);
    ck_assert_uint_eq(got.info.qpn, 0); /* not for everyone */
    ck_assert_uint_eq(inform_record(host_lid(2), SM_KEY, 1, 1, &got), 0);
    ck_assert_uint_eq(got.info.qpn, 1);
    ck_assert_uint_eq(inform_record(host_lid(2), 0, 1, 2, &got), FAB_SA_NO_RECORDS);
    odd.subscribe = 2;
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(scene.answer[FAB_SA_DATA + 23], 0);
    ck_assert_uint_eq(inform(300, 0, &a), FAB_SA_REQ_INVALID);
    odd = all_notices(257);
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd), FAB_SA_REQ_INVALID); /* it tells of keys */
    ck_assert_uint_eq(inform(host_lid(1), SM_KEY, &odd), 0);
    odd = all_notices(128);
    odd.lid_begin = 4000;
    ck_assert_uint_eq(inform(host_lid(1), 0, &odd), FAB_SA_REQ_INVALID);
    a.subscribe = 0;
    ck_assert_uint_eq(inform(host_lid(2), 0, &a), FAB_SA_REQ_INVALID); /* it has none */
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), 0);
    ck_assert_uint_eq(inform(host_lid(1), 0, &a), FAB_SA_REQ_INVALID);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    close_scene();
}
END_TEST

/* A host goes and comes; another is told, in order, once each. */
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
        ck_assert_uint_eq(fab_be64(g->notice.details + 14), guid);
    }
    lab_relink(&scene.lab, "leaf-002", 1);
    lab_run_for(&scene.lab, 3);
    ck_assert_uint_eq(reports_of(lid, 65), 1);
    ck_assert_uint_eq(reports_of(lid, 64), 1);
    close_scene();
}
END_TEST

/* One does not answer: it hears again, then it is dropped; others hear at once, and once. */
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
    ck_assert_ptr_nonnull(lab_event(&scene.lab, "subscriber-gone"));
    for (unsigned i = 0; i < scene.reports; i++)
        if (scene.got[i].lid != scene.deaf)
            ck_assert_uint_lt(scene.got[i].at, from + 500000);
    struct sa_stats stats;
    sa_get_stats(scene.sa, &stats);
    ck_assert_uint_eq(stats.subscribers_gone, 1);
    close_scene();
}
END_TEST

/* An answer that comes late is that of its report and of no other. */
START_TEST(late_answers_do_no_harm)
{
    open_scene(false);
    struct fab_inform_info gone = all_notices(65);
    scene.delay_us = 350000; /* after the second try */
    ck_assert_uint_eq(inform(host_lid(1), 0, &gone), 0);
    lab_unlink(&scene.lab, "leaf-002", 1);
    lab_unlink(&scene.lab, "leaf-002", 2);
    lab_run_for(&scene.lab, 10);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 1);
    ck_assert_uint_eq(reports_of(host_lid(1), 65), 4); /* two, each twice */
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

/* ---- groups and partitions --------------------------------------------------------------------
 */

#define MGID_HIGH UINT64_C(0xff12401b80110000)

static uint16_t member(unsigned host, uint8_t method, uint16_t pkey, uint64_t mgid_low)
{
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    uint8_t data[FAB_REC_MAX];
    struct fab_mc_member_record r = {.mgid = {MGID_HIGH, mgid_low},
                                     .port_gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                     .qkey = 0xb1b,
                                     .pkey = pkey,
                                     .join_state = FAB_JOIN_FULL};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_rec_component(&fab_mc_member_record, names[i]);
    ck_assert_int_eq(fab_rec_pack(&fab_mc_member_record, &r, data, sizeof data), FAB_OK);
    return ask(host_lid(host), method, FAB_SA_MC_MEMBER_RECORD, 0, mask, data, 52);
}

/* Hosts 1 and 4 are in one partition, host 2 in another; in the default one all are limited. */
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
    ck_assert_int_eq(fab_partitions_read(text, strlen(text), &p, &e), FAB_OK);
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

/* Hosts 1, 2, 3 and 4 have heard it so often, and of that GID. */
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
        ck_assert_uint_eq(fab_be64(g->notice.details + 6), high);
        ck_assert_uint_eq(fab_be64(g->notice.details + 14), low);
        ck_assert_uint_eq(g->issuer[1], host_guid(0));
        ck_assert_uint_eq(g->notice.issuer_lid, host_lid(0));
    }
}

/* The first member makes a group, the last one takes it along; others in between are no news. */
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

/* Host 4 goes and comes: host 1 hears of it; those that share no P_Key do not, two limited members
 * do not share theirs. */
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
        ck_assert_uint_eq(fab_be64(scene.got[i].notice.details + 14), guid);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 8);
    close_scene();
}
END_TEST

/* The agent and its manager go, without a word more to the store, and come again. */
START_TEST(all_is_there_after_a_restart)
{
    open_scene(true);
    struct fab_inform_info gone = all_notices(65);
    struct fab_service_record a = service_of(1, 5, UINT32_MAX), got;
    struct fab_inform_info_record record;
    a.key[0] = 3;
    ck_assert_uint_eq(service(host_lid(1), FAB_METHOD_SET, 0, all_of_service(), &a, NULL), 0);
    ck_assert_uint_eq(inform(host_lid(2), 0, &gone), 0);
    ck_assert_uint_eq(inform(host_lid(3), SM_KEY, &gone), 0);
    start_again();
    ck_assert_uint_eq(sa_services(scene.sa)->count, 1);
    ck_assert_uint_eq(sa_subscriptions(scene.sa)->count, 2);
    ck_assert_uint_eq(
        service(host_lid(1), FAB_METHOD_GET, SM_KEY, service_component("ServiceID"), &a, &got), 0);
    ck_assert_mem_eq(&got, &a, sizeof a);
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
    Suite *suite = suite_create("sa registry");
    TCase *tcase = tcase_create("registry");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_service_is_found_until_it_is_taken_back);
    tcase_add_test(tcase, keys_are_asked_for_and_not_told);
    tcase_add_test(tcase, leases_run_out);
    tcase_add_test(tcase, senseless_services_are_refused);
    tcase_add_test(tcase, subscriptions_are_listed_and_ended);
    tcase_add_test(tcase, subscribers_hear_who_comes_and_goes);
    tcase_add_test(tcase, who_does_not_answer_is_dropped);
    tcase_add_test(tcase, late_answers_do_no_harm);
    tcase_add_test(tcase, a_port_that_stays_away_is_dropped);
    tcase_add_test(tcase, groups_are_told_when_made_and_gone);
    tcase_add_test(tcase, groups_of_others_are_not_told);
    tcase_add_test(tcase, ends_of_others_are_not_told);
    tcase_add_test(tcase, all_is_there_after_a_restart);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
