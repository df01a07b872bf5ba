/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that registers with subnet administration through libibumad. It runs one command after the
 * other, and prints a line for each.
 *
 *     set ID NUMBER [KEY]     registers a service with this number in its data
 *     get ID                  prints the number, or the status
 *     delete ID [KEY]
 *     churn SECONDS           sets services 1 to 60 in turn with rising numbers, and prints each
 *                             confirmed one; ends early, with its status, if one fails
 *     subscribe TRAP, unsubscribe TRAP
 *     join NUMBER, leave NUMBER   a multicast group with this number
 *     joins NUMBER SECONDS        joins the multicast groups with this number and the following
 * ones, one after the other, with pauses of PAUSE_US; prints each alias PLACE GUID listen SECONDS
 * [deaf]   prints reports, and answers them unless "deaf"
 *
 * SIM_HOST names the port. A simulated fabric delivers unsolicited MADs only to a client that is an
 * SM. So a listening host registers as an SM, and answers SMInfo requests with the state "not
 * active".
 */
#include <fcntl.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/sa.h"

#define QP1_QKEY 0x80010000
/* Timeout of a request in ms. It is long because a repeated request may be refused: the first one
 * may have been carried out, and only its answer was late. */
#define TRY_MS 1000
#define TRIES 4
#define FOLLOW_MS 200 /* timeout in ms if the request goes to another master afterwards */
#define NO_ANSWER 0xffff
#define CHURNED 60
#define PAUSE_US 20000

static int port_id, agent, smp_agent;
/* true: requests are repeated for TRIES * TRY_MS, to the LID that the master has then, also if the
 * answer is BUSY, or that of a host without subnet administration (BAD_ATTR), where a manager has
 * died */
static bool follows_master;
static umad_port_t port;
static uint32_t tid = 1;
static _Alignas(16) uint8_t room[1024];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_port(void)
{
    long methods[16 / sizeof(long)] = {1L << FAB_METHOD_REPORT};
    umad_init();
    if (umad_get_port(NULL, 0, &port) < 0)
        die("port");
    port_id = umad_open_port(port.ca_name, port.portnum);
    agent = port_id < 0 ? -1 : umad_register(port_id, FAB_CLASS_SA, 2, 0, methods);
    if (agent < 0)
        die("open");
}

static void open_smp_agent(void)
{
    long none[16 / sizeof(long)] = {0};
    smp_agent = umad_register(port_id, FAB_CLASS_SMP_DIRECTED, 1, 0, none);
    if (smp_agent < 0)
        die("SMP agent");
}

static void seem_a_manager(void)
{
    char path[256];
    long none[16 / sizeof(long)] = {0};
    umad_register(port_id, FAB_CLASS_SMP_LID, 1, 0, none);
    open_smp_agent();
    if (umad_get_issm_path(port.ca_name, port.portnum, path, sizeof path) < 0 ||
        open(path, O_NONBLOCK) < 0)
        die("issm");
}

static void send_mad(const uint8_t mad[FAB_MAD_SIZE], uint16_t lid)
{
    memset(room, 0, sizeof room);
    memcpy(umad_get_mad(room), mad, FAB_MAD_SIZE);
    umad_set_addr(room, lid, 1, 0, (int)QP1_QKEY);
    if (umad_send(port_id, agent, room, FAB_MAD_SIZE, 0, 0) < 0)
        die("send");
}

/* Waits up to `ms` for a MAD, and returns it; NULL: none arrived. */
static const uint8_t *receive(int ms)
{
    int len = FAB_MAD_SIZE;
    memset(room, 0, sizeof room);
    return umad_recv(port_id, room, &len, ms) < 0 ? NULL : umad_get_mad(room);
}

/* Reads which LID the master has now, as the kernel of a host does when its port changes. If the
 * port does not answer, the LID stays. */
static void find_master(void)
{
    uint8_t mad[FAB_MAD_SIZE];
    const struct fab_path own = {.hops = 0};
    struct fab_port_info info;
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                           .method = FAB_METHOD_GET,
                           .tid = ++tid,
                           .attr_id = FAB_ATTR_PORT_INFO,
                           .attr_mod = (uint32_t)port.portnum,
                           .path = own};
    (void)fab_wire_smp_pack(&head, NULL, mad);
    memset(room, 0, sizeof room);
    memcpy(umad_get_mad(room), mad, sizeof mad);
    umad_set_addr(room, 0xffff, 0, 0, 0);
    if (umad_send(port_id, smp_agent, room, sizeof mad, 0, 0) < 0)
        die("send");
    for (double until = now() + 0.2; now() < until;) {
        const uint8_t *got = receive(20);
        if (got != NULL && got[1] == FAB_CLASS_SMP_DIRECTED && got[3] == FAB_METHOD_GET_RESP &&
            fab_base_get_be32(got + 12) == tid &&
            fab_wire_attr_unpack(&fab_wire_attr_port_info, got + 64, 64, &info) == 0) {
            port.sm_lid = info.sm_lid;
            return;
        }
    }
}

/* Sends a request to subnet administration, and returns the status of the answer. `data` has the
 * attribute to send, and then the attribute in the answer. */
static unsigned ask(uint8_t method, uint16_t attr_id, uint64_t mask, uint8_t data[FAB_SA_DATA_LEN])
{
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_mad head = {
        .mgmt_class = FAB_CLASS_SA, .method = method, .tid = ++tid, .attr_id = attr_id};
    uint32_t asked = tid;
    struct fab_sa_header sa = {.comp_mask = mask};
    (void)fab_wire_gmp_pack(&head, NULL, 0, mad);
    (void)fab_wire_attr_pack(&fab_wire_attr_sa_header, &sa, mad + FAB_SA_HEADER, 20);
    memcpy(mad + FAB_SA_DATA, data, FAB_SA_DATA_LEN);
    unsigned refused = 0;
    double end = now() + TRIES * TRY_MS / 1e3;
    for (int i = 0; follows_master ? now() < end : i < TRIES; i++) {
        double until = now() + (follows_master ? FOLLOW_MS : TRY_MS) / 1e3;
        refused = 0;
        if (follows_master && i > 0)
            find_master();
        send_mad(mad, (uint16_t)port.sm_lid);
        while (now() < until) {
            const uint8_t *got = receive(20);
            if (got == NULL || (got[3] & FAB_METHOD_RESPONSE) == 0 ||
                fab_base_get_be32(got + 12) != asked)
                continue;
            unsigned status = fab_base_get_be16(got + 4);
            if (status == FAB_SMP_BUSY || (follows_master && status == FAB_SMP_BAD_ATTR)) {
                usleep(50000);
                refused = status;
                break;
            }
            memcpy(data, got + FAB_SA_DATA, FAB_SA_DATA_LEN);
            return status;
        }
    }
    return refused != 0 ? refused : NO_ANSWER;
}

/* ---- services ---- */

static uint64_t service_mask(void)
{
    static const char *const names[] = {"ServiceID",    "ServiceGID", "ServiceP_Key",
                                        "ServiceLease", "ServiceKey", "ServiceData64"};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_wire_rec_component(&fab_wire_service_record, names[i]);
    return mask;
}

static unsigned service(uint8_t method, uint64_t id, uint64_t key, uint64_t *number)
{
    uint8_t data[FAB_SA_DATA_LEN] = {0};
    struct fab_wire_service_record r = {.id = id,
                                        .gid = {be64toh(port.gid_prefix), be64toh(port.port_guid)},
                                        .pkey = 0xffff,
                                        .lease = UINT32_MAX,
                                        .key = {0, key},
                                        .data64 = {*number}};
    uint64_t mask = method == FAB_METHOD_GET
                        ? fab_wire_rec_component(&fab_wire_service_record, "ServiceID") |
                              fab_wire_rec_component(&fab_wire_service_record, "ServiceGID")
                        : service_mask();
    (void)fab_wire_rec_pack(&fab_wire_service_record, &r, data, sizeof data);
    unsigned status = ask(method, FAB_SA_SERVICE_RECORD, mask, data);
    (void)fab_wire_rec_unpack(&fab_wire_service_record, data, sizeof data, &r);
    *number = r.data64[0];
    return status;
}

static unsigned churn(double seconds)
{
    double until = now() + seconds;
    unsigned status = 0;
    for (uint64_t n = 1; now() < until && status == 0; n++) {
        uint64_t number = n;
        status = service(FAB_METHOD_SET, n % CHURNED + 1, 0, &number);
        if (status == 0)
            printf("confirmed %" PRIu64 " %" PRIu64 "\n", n % CHURNED + 1, n);
        fflush(stdout);
    }
    return status;
}

/* ---- subscriptions, groups, aliases ---- */

static unsigned inform(bool subscribe, uint16_t trap)
{
    uint8_t data[FAB_SA_DATA_LEN] = {0};
    struct fab_inform_info info = {.lid_begin = 0xffff,
                                   .generic = 1,
                                   .subscribe = subscribe,
                                   .type = 0xffff,
                                   .trap = trap,
                                   .qpn = 1,
                                   .resp_time = 14,
                                   .producer = 0xffffff};
    (void)fab_wire_attr_pack(&fab_wire_attr_inform_info, &info, data, sizeof data);
    return ask(FAB_METHOD_SET, FAB_ATTR_INFORM_INFO, 0, data);
}

static unsigned member(uint8_t method, uint64_t number)
{
    static const char *const names[] = {"MGID", "PortGID",   "Q_Key",  "P_Key",
                                        "SL",   "FlowLabel", "TClass", "JoinState"};
    uint8_t data[FAB_SA_DATA_LEN] = {0};
    struct fab_wire_mc_member_record r = {
        .mgid = {UINT64_C(0xff12401bffff0000), number},
        .port_gid = {be64toh(port.gid_prefix), be64toh(port.port_guid)},
        .qkey = 0xb1b,
        .pkey = 0xffff,
        .join_state = 1};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mask |= fab_wire_rec_component(&fab_wire_mc_member_record, names[i]);
    (void)fab_wire_rec_pack(&fab_wire_mc_member_record, &r, data, sizeof data);
    return ask(method, FAB_SA_MC_MEMBER_RECORD, mask, data);
}

static void joins(uint64_t number, double seconds)
{
    open_smp_agent();
    follows_master = true;
    for (double until = now() + seconds; now() < until; number++) {
        double begun = now();
        unsigned status = member(FAB_METHOD_SET, number);
        printf("join %" PRIu64 ": 0x%04x by %u after %.3f s\n", number, status, port.sm_lid,
               now() - begun);
        fflush(stdout);
        usleep(PAUSE_US);
    }
    follows_master = false;
}

static unsigned alias(unsigned place, uint64_t guid)
{
    uint8_t data[FAB_SA_DATA_LEN] = {0};
    struct fab_wire_guid_info_record r = {.lid = (uint16_t)port.base_lid,
                                          .block = (uint8_t)(place / 8)};
    uint64_t mask = fab_wire_rec_component(&fab_wire_guid_info_record, "LID") |
                    fab_wire_rec_component(&fab_wire_guid_info_record, "BlockNum") |
                    /* the alias GUIDs of a block are the components 4 to 11 of the record */
                    UINT64_C(1) << (4 + place % 8);
    r.table.guid[place % 8] = guid;
    (void)fab_wire_rec_pack(&fab_wire_guid_info_record, &r, data, sizeof data);
    return ask(FAB_METHOD_SET, FAB_SA_GUID_INFO_RECORD, mask, data);
}

static void answer_sminfo(const uint8_t *request)
{
    uint8_t mad[FAB_MAD_SIZE];
    memcpy(mad, request, sizeof mad);
    mad[3] = FAB_METHOD_GET_RESP;
    mad[4] |= 0x80; /* the D bit: the SMP returns to its sender */
    memset(mad + 64, 0, 64);
    memset(room, 0, sizeof room);
    memcpy(umad_get_mad(room), mad, sizeof mad);
    umad_set_addr(room, 0xffff, 0, 0, 0);
    (void)umad_send(port_id, smp_agent, room, sizeof mad, 0, 0);
}

static void listen_for(double seconds, bool deaf)
{
    double until = now() + seconds;
    uint8_t mad[FAB_MAD_SIZE];
    struct fab_notice n;
    while (now() < until) {
        const uint8_t *got = receive(20);
        if (got != NULL && got[1] == FAB_CLASS_SMP_DIRECTED && got[3] == FAB_METHOD_GET)
            answer_sminfo(got);
        if (got == NULL || got[1] != FAB_CLASS_SA || got[3] != FAB_METHOD_REPORT ||
            fab_wire_attr_unpack(&fab_wire_attr_notice, got + FAB_SA_DATA, 64, &n) != 0)
            continue;
        printf("report %u 0x%016" PRIx64 "\n", n.trap, fab_base_get_be64(n.details + 14));
        fflush(stdout);
        if (deaf)
            continue;
        memcpy(mad, got, sizeof mad);
        mad[3] = FAB_METHOD_REPORT_RESP;
        send_mad(mad, (uint16_t)port.sm_lid);
    }
}

/* ---- commands ---- */

static uint64_t number_of(const char *text)
{
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

static bool is_number(const char *text)
{
    return text != NULL && text[0] >= '0' && text[0] <= '9';
}

/* Runs the command argv[0] with its arguments. Returns how many elements of argv the command and
 * its arguments are. */
static int run(char **argv)
{
    const char *what = argv[0];
    uint64_t a = number_of(argv[1]), b = argv[1] != NULL ? number_of(argv[2]) : 0, c = 0;
    bool three = argv[1] != NULL && argv[2] != NULL && is_number(argv[3]);
    int words = 2;
    unsigned status = 0;
    if (strcmp(what, "set") == 0) {
        c = three ? number_of(argv[3]) : 0;
        words = three ? 4 : 3;
        status = service(FAB_METHOD_SET, a, c, &b);
    } else if (strcmp(what, "get") == 0) {
        c = 0;
        status = service(FAB_METHOD_GET, a, 0, &c);
        if (status == 0)
            printf("number %" PRIu64 "\n", c);
    } else if (strcmp(what, "delete") == 0) {
        c = b;
        words = argv[1] != NULL && is_number(argv[2]) ? 3 : 2;
        status = service(FAB_METHOD_DELETE, a, c, &c);
    } else if (strcmp(what, "churn") == 0) {
        status = churn((double)a);
    } else if (strcmp(what, "listen") == 0) {
        bool deaf = argv[1] != NULL && argv[2] != NULL && strcmp(argv[2], "deaf") == 0;
        words = deaf ? 3 : 2;
        listen_for((double)a, deaf);
    } else if (strcmp(what, "subscribe") == 0 || strcmp(what, "unsubscribe") == 0) {
        status = inform(what[0] == 's', (uint16_t)a);
    } else if (strcmp(what, "join") == 0 || strcmp(what, "leave") == 0) {
        status = member(what[0] == 'j' ? FAB_METHOD_SET : FAB_METHOD_DELETE, a);
    } else if (strcmp(what, "joins") == 0) {
        words = 3;
        joins(a, (double)b);
    } else if (strcmp(what, "alias") == 0) {
        words = 3;
        status = alias((unsigned)a, b);
    } else {
        fprintf(stderr, "what is %s?\n", what);
        exit(2);
    }
    printf("%s %s: 0x%04x\n", what, argv[1] != NULL ? argv[1] : "", status);
    fflush(stdout);
    return words;
}

int main(int argc, char **argv)
{
    open_port();
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "listen") == 0)
            seem_a_manager();
    for (int i = 1; i < argc;)
        i += run(argv + i);
    umad_close_port(port_id);
    return 0;
}
