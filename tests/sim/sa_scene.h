/* SPDX-License-Identifier: BSD-3-Clause */
/* A scene for tests of subnet administration: its agent, the real manager on a simulated fabric in
 * virtual time, and hosts that send requests. The hosts answer reports at once, late, or never. */
#ifndef TESTS_SIM_SA_SCENE_H
#define TESTS_SIM_SA_SCENE_H

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

struct got { /* a report that a host got */
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
    uint8_t answer[FAB_MAD_SIZE]; /* the last answer */
    unsigned answers;
    /* not 0: only answers to this LID are stored in `answer` */
    uint16_t asker;
    struct got got[REPORTS];
    unsigned reports;
    /* LID of a host that does not answer reports; 0: none */
    uint16_t deaf;
    uint64_t delay_us; /* how long a host waits before it answers a report, in us */
};
static struct scene scene;

/* ---- the wire -------------------------------------------------------------------------------- */

struct flight {
    struct loop_timer *timer;
    uint16_t lid;
    uint8_t bytes[FAB_MAD_SIZE];
};

static inline void to_agent(uint16_t lid, const uint8_t *bytes)
{
    struct transport_mad mad = {.addr = {.slid = lid, .qpn = 1}, .qp = 1, .len = FAB_MAD_SIZE};
    memcpy(mad.bytes, bytes, FAB_MAD_SIZE);
    transport_hand_up(&scene.wire, &mad, 1);
}

static inline void answer_now(void *ctx)
{
    struct flight *f = ctx;
    f->bytes[3] = FAB_METHOD_REPORT_RESP;
    if (scene.sa != NULL)
        to_agent(f->lid, f->bytes);
    loop_timer_free(f->timer);
    free(f);
}

static inline void take_report(const struct flight *f)
{
    struct got *g = &scene.got[scene.reports++ % REPORTS];
    g->lid = f->lid;
    g->tid = fab_base_get_be64(f->bytes + 8);
    g->at = clock_now_us();
    ck_assert_uint_eq(f->bytes[1], FAB_CLASS_SA);
    ck_assert_uint_eq(f->bytes[2], 2);
    ck_assert_uint_eq(fab_base_get_be16(f->bytes + 16), FAB_ATTR_NOTICE);
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_notice, f->bytes + FAB_SA_DATA, 64, &g->notice), 0);
    g->issuer[0] = fab_base_get_be64(f->bytes + FAB_SA_DATA + 64);
    g->issuer[1] = fab_base_get_be64(f->bytes + FAB_SA_DATA + 72);
}

static inline void arrive(void *ctx)
{
    struct flight *f = ctx;
    if (f->bytes[3] != FAB_METHOD_REPORT && scene.asker != 0 && f->lid != scene.asker) {
        free(f);
        return;
    }
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

static inline int wire_send(struct transport *t, const struct transport_mad *mad)
{
    (void)t;
    struct flight *f = calloc(1, sizeof *f);
    f->lid = mad->addr.dlid;
    memcpy(f->bytes, mad->bytes, sizeof f->bytes);
    ck_assert_int_eq(loop_post(scene.lab.loop, arrive, f), FAB_OK);
    return FAB_OK;
}

static const struct transport_ops wire_ops = {.send = wire_send};

/* ---- hosts ----------------------------------------------------------------------------------- */

static inline bool has_answer(struct lab *lab)
{
    (void)lab;
    return scene.answers > 0;
}

/* Sends a request from the host with this LID. */
static inline void send_request(uint16_t lid, uint8_t method, uint16_t attr_id, uint64_t key,
                                uint64_t comp_mask, const uint8_t *data, size_t len)
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = ++scene.tid, .attr_id = attr_id};
    struct fab_sa_header sa = {.sm_key = key, .comp_mask = comp_mask};
    ck_assert_int_eq(fab_wire_gmp_pack(&head, NULL, 0, mad), FAB_OK);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20),
                     FAB_OK);
    memcpy(mad + FAB_SA_DATA, data, len);
    scene.answers = 0;
    to_agent(lid, mad);
}

/* Sends a request from the host with this LID, and waits for the answer. Returns its status.
 * scene.answer gets the whole answer. */
static inline uint16_t ask(uint16_t lid, uint8_t method, uint16_t attr_id, uint64_t key,
                           uint64_t comp_mask, const uint8_t *data, size_t len)
{
    send_request(lid, method, attr_id, key, comp_mask, data, len);
    if (scene.lab.store != NULL)
        /* The thread that writes the database works in real time. Virtual time must wait for it. */
        store_flush(scene.lab.store);
    lab_run(&scene.lab, 5, has_answer, "the answer");
    ck_assert_uint_eq(fab_base_get_be64(scene.answer + 8), scene.tid);
    return fab_base_get_be16(scene.answer + 4);
}

static inline uint16_t host_lid(unsigned host)
{
    struct fab_view *v = sm_view(scene.lab.sm);
    uint32_t node = v->fabric->switch_count + host;
    uint16_t lid = (uint16_t)v->target->lids.base[fab_fabric_port_id(v->fabric, node, 1)];
    fab_view_unref(v);
    return lid;
}

static inline uint64_t host_guid(unsigned host)
{
    struct fab_view *v = sm_view(scene.lab.sm);
    uint32_t node = v->fabric->switch_count + host;
    uint64_t guid = fab_fabric_port(v->fabric, fab_fabric_port_id(v->fabric, node, 1))->guid;
    fab_view_unref(v);
    return guid;
}

static inline uint64_t service_component(const char *name)
{
    return fab_wire_rec_component(&fab_wire_service_record, name);
}

static inline uint64_t all_of_service(void)
{
    return service_component("ServiceID") | service_component("ServiceGID") |
           service_component("ServiceP_Key") | service_component("ServiceLease") |
           service_component("ServiceKey") | service_component("ServiceName") |
           service_component("ServiceData64");
}

static inline struct fab_wire_service_record service_of(unsigned host, uint64_t id, uint32_t lease)
{
    struct fab_wire_service_record r = {.id = id,
                                        .gid = {UINT64_C(0xfe80) << 48, host_guid(host)},
                                        .pkey = 0xffff,
                                        .lease = lease,
                                        .name = "storage",
                                        .data64 = {7, id}};
    return r;
}

static inline uint16_t service(uint16_t lid, uint8_t method, uint64_t key, uint64_t mask,
                               const struct fab_wire_service_record *r,
                               struct fab_wire_service_record *ret)
{
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_wire_rec_pack(&fab_wire_service_record, r, data, sizeof data), FAB_OK);
    uint16_t status = ask(lid, method, FAB_SA_SERVICE_RECORD, key, mask, data, 176);
    if (status == 0 && ret != NULL)
        ck_assert_int_eq(
            fab_wire_rec_unpack(&fab_wire_service_record, scene.answer + FAB_SA_DATA, 200, ret),
            FAB_OK);
    return status;
}

static inline uint16_t inform(uint16_t lid, uint64_t key, const struct fab_inform_info *info)
{
    uint8_t data[FAB_REC_MAX];
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_inform_info, info, data, 36), FAB_OK);
    return ask(lid, FAB_METHOD_SET, FAB_ATTR_INFORM_INFO, key, 0, data, 36);
}

static inline struct fab_inform_info all_notices(uint16_t trap)
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

/* Returns the number of reports of this trap that arrived at a host. */
static inline unsigned reports_of(uint16_t lid, uint16_t trap)
{
    unsigned count = 0;
    for (unsigned i = 0; i < scene.reports && i < REPORTS; i++)
        count += scene.got[i].lid == lid && scene.got[i].notice.trap == trap;
    return count;
}

/* ---- the scene ------------------------------------------------------------------------------- */

static inline void begin_agent(void)
{
    struct sa_input in = {.loop = scene.lab.loop,
                          .transport = &scene.wire,
                          .sm = scene.lab.sm,
                          .bus = scene.lab.bus,
                          .store = scene.lab.store};
    ck_assert_int_eq(sa_start(&in, &scene.sa), FAB_OK);
    sm_start(scene.lab.sm);
}

static inline void start_agent(void)
{
    begin_agent();
    lab_run(&scene.lab, 20, lab_is_idle, "bring-up");
    lab_run_for(&scene.lab, 0.01);
}

static inline void stop_agent(void)
{
    sa_stop(scene.sa);
    scene.sa = NULL;
    lab_run_for(&scene.lab, 0.1); /* let the MADs in flight arrive */
}

static inline void open_scene(bool kept)
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

static inline void close_scene(void)
{
    char command[100];
    stop_agent();
    lab_close(&scene.lab);
    snprintf(command, sizeof command, "rm -rf '%s'", scene.dir);
    if (scene.dir[0] != '\0')
        ck_assert_int_eq(system(command), 0);
}

static inline void start_again(void)
{
    stop_agent();
    lab_stop(&scene.lab);
    lab_begin(&scene.lab, scene.dir);
    start_agent();
}

#endif
