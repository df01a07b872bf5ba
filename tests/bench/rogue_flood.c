/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that floods the manager: `rogue_flood NODE KIND SECONDS RATE` attaches to the node NODE of
 * a simulator, and sends RATE MADs of one kind a second. It never acknowledges an answer. It uses
 * the socket protocol directly (raw_client.h). Prints how many MADs it sent and received.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/sa.h"
#include "tests/bench/raw_client.h"

enum { DLID = 0, SLID = 4, DQP = 8, SQP = 12, LEN = 24 };
#define TICK_NS 1000000

struct host {
    struct raw_client c;
    uint16_t lid, sm_lid;
    uint64_t guid;
};
struct mad { /* one MAD of the flood */
    struct fab_mad head;
    uint64_t comp_mask;
    uint8_t data[200];
    bool sa;
};
typedef void make_fn(const struct host *h, uint64_t n, struct mad *ret);

/* ---- kinds ---- */

static void make_trap(const struct host *h, uint16_t trap, uint16_t issuer, struct mad *ret)
{
    struct fab_notice notice = {.generic = 1,
                                .type = trap < 144 ? 1 : 4,
                                .producer_type = trap == 128 ? 2 : 1,
                                .trap = trap,
                                .issuer_lid = issuer};
    (void)h;
    fab_base_put_be16(notice.details + (trap == 128 ? 0 : 2), issuer);
    ret->head = (struct fab_mad){
        .mgmt_class = FAB_CLASS_SMP_LID, .method = FAB_METHOD_TRAP, .attr_id = FAB_ATTR_NOTICE};
    fab_wire_attr_pack(&fab_wire_attr_notice, &notice, ret->data, FAB_SMP_DATA);
}

static void make_trap_64(const struct host *h, uint64_t n, struct mad *ret)
{
    make_trap(h, (uint16_t)(64 + n % 4), h->sm_lid, ret);
}

static void make_trap_128(const struct host *h, uint64_t n, struct mad *ret)
{
    /* trap 128 with the source LID of another host, which changes */
    make_trap(h, 128, (uint16_t)(1 + n % 600), ret);
}

static void make_trap_144(const struct host *h, uint64_t n, struct mad *ret)
{
    (void)n;
    make_trap(h, 144, h->lid, ret);
}

static void make_trap_256(const struct host *h, uint64_t n, struct mad *ret)
{
    make_trap(h, (uint16_t)(256 + n % 4), h->lid, ret);
}

static void make_trap_unknown(const struct host *h, uint64_t n, struct mad *ret)
{
    make_trap(h, n % 2 ? 128 : 144, (uint16_t)(0x4000 + n % 0x4000), ret);
}

static void make_sa(uint8_t method, uint16_t attr_id, struct mad *ret)
{
    ret->sa = true;
    ret->head = (struct fab_mad){.mgmt_class = FAB_CLASS_SA, .method = method, .attr_id = attr_id};
}

static void make_get(const struct host *h, uint64_t n, struct mad *ret)
{
    make_sa(FAB_METHOD_GET, FAB_SA_PATH_RECORD, ret);
    ret->comp_mask = fab_wire_rec_component(&fab_wire_path_record, "SLID") |
                     fab_wire_rec_component(&fab_wire_path_record, "DLID");
    fab_base_put_be16(ret->data + 40, h->lid);
    fab_base_put_be16(ret->data + 42, (uint16_t)(1 + n % 600));
}

static void make_table(const struct host *h, uint64_t n, struct mad *ret)
{
    (void)h;
    (void)n;
    /* SubnAdmGetTable of all NodeRecords: the response is long and needs RMPP */
    make_sa(0x12, FAB_SA_NODE_RECORD, ret);
}

static void make_join(const struct host *h, uint64_t n, struct mad *ret)
{
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    const struct fab_wire_mc_member_record r = {.mgid = {UINT64_C(0xff12a01b00000000), n},
                                                .port_gid = {UINT64_C(0xfe80) << 48, h->guid},
                                                .qkey = 0xb1b,
                                                .pkey = 0xffff,
                                                .join_state = 1};
    make_sa(FAB_METHOD_SET, FAB_SA_MC_MEMBER_RECORD, ret);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ret->comp_mask |= fab_wire_rec_component(&fab_wire_mc_member_record, names[i]);
    fab_wire_rec_pack(&fab_wire_mc_member_record, &r, ret->data, sizeof ret->data);
}

static void make_service(const struct host *h, uint64_t n, struct mad *ret)
{
    static const char *const names[] = {"ServiceID", "ServiceGID", "ServiceP_Key", "ServiceLease",
                                        "ServiceName"};
    const struct fab_wire_service_record r = {.id = n + 1,
                                              .gid = {UINT64_C(0xfe80) << 48, h->guid},
                                              .pkey = 0xffff,
                                              .lease = UINT32_MAX,
                                              .name = "rogue"};
    make_sa(FAB_METHOD_SET, FAB_SA_SERVICE_RECORD, ret);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ret->comp_mask |= fab_wire_rec_component(&fab_wire_service_record, names[i]);
    fab_wire_rec_pack(&fab_wire_service_record, &r, ret->data, sizeof ret->data);
}

static void make_subscription(const struct host *h, uint64_t n, struct mad *ret)
{
    const struct fab_inform_info info = {.lid_begin = (uint16_t)(1 + n % 0xbfff),
                                         .lid_end = (uint16_t)(1 + n % 0xbfff),
                                         .generic = 1,
                                         .subscribe = 1,
                                         .type = 0xffff,
                                         .trap = (uint16_t)n,
                                         .qpn = 1,
                                         .resp_time = 8,
                                         .producer = 0xffffff};
    (void)h;
    make_sa(FAB_METHOD_SET, FAB_ATTR_INFORM_INFO, ret);
    fab_wire_attr_pack(&fab_wire_attr_inform_info, &info, ret->data, 36);
}

static void make_sm_info(uint8_t method, uint32_t mod, struct mad *ret)
{
    const struct fab_sm_info info = {.guid = 1, .sm_key = 1, .priority = 15, .state = 3};
    ret->head = (struct fab_mad){.mgmt_class = FAB_CLASS_SMP_LID,
                                 .method = method,
                                 .attr_id = FAB_ATTR_SM_INFO,
                                 .attr_mod = mod};
    fab_wire_attr_pack(&fab_wire_attr_sm_info, &info, ret->data, FAB_SMP_DATA);
}

static void make_sm_get(const struct host *h, uint64_t n, struct mad *ret)
{
    (void)h;
    (void)n;
    make_sm_info(FAB_METHOD_GET, 0, ret);
}

static void make_control(const struct host *h, uint64_t n, struct mad *ret)
{
    (void)h;
    make_sm_info(FAB_METHOD_SET, (uint32_t)(1 + n % 5), ret); /* 1 (HANDOVER) to 5 (DISCOVER) */
}

static const struct kind {
    const char *name;
    make_fn *make;
} kinds[] = {
    {"trap64", make_trap_64},       {"trap128", make_trap_128},
    {"trap144", make_trap_144},     {"trap256", make_trap_256},
    {"unknown", make_trap_unknown}, {"get", make_get},
    {"table", make_table},          {"join", make_join},
    {"service", make_service},      {"subscribe", make_subscription},
    {"sminfo", make_sm_get},        {"control", make_control},
};

/* ---- sending ---- */

static void pack(const struct host *h, const struct mad *m, uint8_t packet[PACKET])
{
    const struct fab_sa_header sa = {.comp_mask = m->comp_mask};
    uint8_t *mad = packet + PACKET_MAD;
    memset(packet, 0, PACKET);
    fab_base_put_be16(packet + DLID, h->sm_lid);
    fab_base_put_be16(packet + SLID, h->lid);
    fab_base_put_be32(packet + DQP, m->sa);
    fab_base_put_be32(packet + SQP, m->sa);
    fab_base_put_be64(packet + LEN, FAB_MAD_SIZE);
    if (!m->sa) {
        fab_wire_smp_pack(&m->head, m->data, mad);
        return;
    }
    fab_wire_gmp_pack(&m->head, NULL, 0, mad);
    fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20);
    memcpy(mad + FAB_SA_DATA, m->data, sizeof m->data);
}

/* Reads an attribute of the host's own port. */
static bool read_own(const struct host *h, uint16_t attr_id, uint8_t data[FAB_SMP_DATA])
{
    uint8_t packet[PACKET] = {0xff, 0xff, 0, 0, 0xff, 0xff};
    const struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                .method = FAB_METHOD_GET,
                                .tid = 1,
                                .attr_id = attr_id};
    fab_base_put_be64(packet + LEN, FAB_MAD_SIZE);
    fab_wire_smp_pack(&mad, NULL, packet + PACKET_MAD);
    if (send(h->c.fd, packet, PACKET, 0) != PACKET || recv(h->c.fd, packet, PACKET, 0) != PACKET)
        return false;
    memcpy(data, packet + PACKET_MAD + 64, FAB_SMP_DATA);
    return true;
}

static bool learn(struct host *h)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_port_info port;
    struct fab_node_info node;
    if (!read_own(h, FAB_ATTR_PORT_INFO, data) ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &port) != FAB_OK ||
        !read_own(h, FAB_ATTR_NODE_INFO, data) ||
        fab_wire_attr_unpack(&fab_wire_attr_node_info, data, FAB_SMP_DATA, &node) != FAB_OK)
        return false;
    h->lid = port.lid;
    h->sm_lid = port.sm_lid;
    h->guid = node.port_guid;
    return h->lid != 0 && h->sm_lid != 0;
}

static uint64_t drain(int fd)
{
    uint8_t packet[PACKET];
    uint64_t n = 0;
    while (recv(fd, packet, PACKET, MSG_DONTWAIT) > 0)
        n++;
    return n;
}

static void flood(const struct host *h, const struct kind *k, uint64_t seconds, uint64_t rate)
{
    uint64_t sent = 0, back = 0, failed = 0;
    struct timespec tick;
    clock_gettime(CLOCK_MONOTONIC, &tick);
    for (uint64_t i = 0; i < seconds * 1000; i++) {
        for (; sent < (i + 1) * rate / 1000; sent++) {
            struct mad m = {.comp_mask = 0};
            uint8_t packet[PACKET];
            k->make(h, sent, &m);
            m.head.tid = sent + 1;
            pack(h, &m, packet);
            failed += send(h->c.fd, packet, PACKET, 0) != PACKET;
        }
        back += drain(h->c.fd);
        tick.tv_nsec += TICK_NS;
        if (tick.tv_nsec >= 1000000000) {
            tick.tv_nsec -= 1000000000;
            tick.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &tick, NULL);
    }
    printf("%s: %llu sent, %llu not sent, %llu came back\n", k->name, (unsigned long long)sent,
           (unsigned long long)failed, (unsigned long long)back);
}

int main(int argc, char **argv)
{
    const size_t count = sizeof kinds / sizeof *kinds;
    struct host h;
    size_t i = 0;
    while (argc == 5 && i < count && strcmp(kinds[i].name, argv[2]) != 0)
        i++;
    if (argc != 5 || i == count) {
        fprintf(stderr, "usage: rogue_flood NODE KIND SECONDS RATE\nkinds:");
        for (i = 0; i < count; i++)
            fprintf(stderr, " %s", kinds[i].name);
        fprintf(stderr, "\n");
        return 1;
    }
    h.c = raw_connect(argv[1]);
    if (!learn(&h))
        return 1;
    flood(&h, &kinds[i], strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
    raw_leave(&h.c);
    return 0;
}
