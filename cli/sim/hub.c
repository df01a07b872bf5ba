/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the protocol between ibsim and libumad2sim, with the hub (hub.h) in the role of ibsim.
 * Only the sources of both programs document the protocol.
 *
 * Control datagrams have 80 bytes, in the byte order of the machine. The number before a field is
 * its offset in bytes:
 *
 *      0  magic    4  client id    8  type    12  length of the data    16  data (64 bytes)
 *
 * An answer is the same datagram with other data; type 0 means that the request was refused. A
 * client first sends a connect request. This request contains the process id and queue pair of the
 * client, and whether the client is an SM. It also contains the name of the node to which the
 * client wants to be attached (32 bytes of text). The answer has the client id and the id of the
 * node. Then the client sends and receives MADs in datagrams of 288 bytes, in big-endian byte
 * order:
 *
 *      0  DLID     4  SLID     8  DQPN    12  SQPN    16  status (0, or 110: lost)
 *     24  length of the MAD (8 bytes)    32  MAD (256 bytes)
 *
 * A LID has 16 bits, which are the first half of its field.
 *
 * Several clients may be attached to one port. To match an answer with its client, the hub writes
 * the client id into the highest 16 bits of the transaction ID of each request. Requests that no
 * device answers (SMInfo, SA, other classes), and traps, go to the SM among the clients at the
 * port. The hub delivers such a MAD only if the client has sent a MAD of the same class before. The
 * reason is that libumad2sim crashes its program on a MAD of a class that the program did not
 * register. The hub always delivers SMPs and MADs of the SA class.
 *
 * libumad2sim has no timers. The hub therefore returns a lost request to its client at once, with
 * status 110. If client A answers a request of client B and the answer is lost, the hub returns the
 * answer with status 110 to B. A gets no report. The hub therefore stores requests that A has
 * received or that are still in the fabric, if they expect an answer, but at most HUB_WAITS. It
 * returns such a request to B as lost if A disconnects or no answer comes in time.
 *
 * The hub trusts no data from a client. It accepts a control datagram only from the process that
 * connected. The hub itself sets the LIDs of senders, and all lengths except those of RMPP MADs of
 * the SA class (length_of).
 */
#include "cli/sim/hub.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/sa.h"

#define MAGIC 0xdeadbeefu
#define NODE_NAME_MAX 32
/* status of a lost request: errno ETIMEDOUT, which libibumad reports to the program */
#define STATUS_LOST 110
#define PKEYS_MEMBER 0xffff

enum control_offset { MAGIC_AT = 0, CLIENT_AT = 4, TYPE_AT = 8, LENGTH_AT = 12, DATA_AT = 16 };
enum connect_offset { PID_AT = 16, IS_SM_AT = 24, NODE_AT = 28 };
enum packet_offset {
    DLID_AT = 0,
    SLID_AT = 4,
    DQPN_AT = 8,
    SQPN_AT = 12,
    STATUS_AT = 16,
    MAD_LENGTH_AT = 24,
    MAD_AT = 32,
};
enum mad_offset { CLASS_AT = 1, METHOD_AT = 3, TID_AT = 8 };
#define DATA_SIZE (HUB_CONTROL_SIZE - DATA_AT)

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

void hub_init(struct hub *h, struct fab_sim *sim, uint32_t first_node,
              const struct hub_owner *owner)
{
    *h = (struct hub){.sim = sim, .first_node = first_node, .owner = *owner};
}

static const struct fab_port_info *port_info(const struct hub *h, const struct hub_client *c)
{
    return fab_sim_port(h->sim, c->at.node, c->at.port);
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->node == b->node && a->port == b->port;
}

/* ---- MADs to clients ------------------------------------------------------------------------- */

static bool deliver(struct hub *h, unsigned id, const uint8_t *packet)
{
    struct hub_client *c = &h->clients[id];
    bool given = h->owner.deliver(h->owner.context, id, packet);
    c->received += given;
    c->unread += !given;
    return given;
}

static void return_lost(struct hub *h, unsigned id, uint8_t *packet)
{
    fab_base_put_be32(packet + STATUS_AT, STATUS_LOST);
    h->clients[id].lost++;
    (void)deliver(h, id, packet);
}

static bool is_response(const uint8_t *mad)
{
    return (mad[METHOD_AT] & FAB_METHOD_RESPONSE) != 0;
}

static void note_class(struct hub_client *c, uint8_t mgmt_class)
{
    c->classes[mgmt_class / 64] |= UINT64_C(1) << (mgmt_class % 64);
}

static bool accepts_class(const struct hub_client *c, uint8_t mgmt_class)
{
    return mgmt_class == FAB_CLASS_SMP_LID || mgmt_class == FAB_CLASS_SMP_DIRECTED ||
           mgmt_class == FAB_CLASS_SA ||
           (c->classes[mgmt_class / 64] >> (mgmt_class % 64) & 1) != 0;
}

/* Returns the client that gets this MAD, which has arrived at the port `at`; HUB_CLIENTS: none. */
static unsigned addressee(const struct hub *h, const struct place *at, const uint8_t *mad)
{
    unsigned id = fab_base_get_be16(mad + TID_AT);
    if (is_response(mad))
        return id < h->top && h->clients[id].pid != 0 && same_place(&h->clients[id].at, at)
                   ? id
                   : HUB_CLIENTS;
    for (id = 0; id < h->top; id++) {
        const struct hub_client *c = &h->clients[id];
        if (c->pid != 0 && c->is_sm && same_place(&c->at, at))
            return accepts_class(c, mad[CLASS_AT]) ? id : HUB_CLIENTS;
    }
    return HUB_CLIENTS;
}

static void address(uint8_t *packet, uint16_t dlid, uint16_t slid)
{
    memset(packet + DLID_AT, 0, 8);
    fab_base_put_be16(packet + DLID_AT, dlid);
    fab_base_put_be16(packet + SLID_AT, slid);
}

/* ---- pending requests ------------------------------------------------------------------------ */

static bool wants_answer(const uint8_t *mad)
{
    uint8_t method = mad[METHOD_AT];
    return !is_response(mad) && method != FAB_METHOD_SEND && method != FAB_METHOD_TRAP &&
           method != FAB_METHOD_TRAP_REPRESS;
}

static void add_wait(struct hub *h, unsigned client, unsigned with, const uint8_t *packet)
{
    if (h->wait_count == HUB_WAITS || !wants_answer(packet + MAD_AT))
        return;
    struct hub_wait *w = &h->waits[h->wait_count++];
    *w = (struct hub_wait){.client = client, .with = with, .since_ms = h->now_ms};
    memcpy(w->packet, packet, sizeof w->packet);
}

static void remove_wait(struct hub *h, unsigned i)
{
    h->waits[i] = h->waits[--h->wait_count];
}

static void remove_answered(struct hub *h, const uint8_t *mad)
{
    for (unsigned i = h->wait_count; i-- > 0;)
        if (memcmp(h->waits[i].packet + MAD_AT + TID_AT, mad + TID_AT, 8) == 0)
            remove_wait(h, i);
}

static void remove_client_waits(struct hub *h, unsigned client)
{
    for (unsigned i = h->wait_count; i-- > 0;)
        if (h->waits[i].client == client)
            remove_wait(h, i);
}

static void expire(struct hub *h, unsigned i)
{
    struct hub_wait w = h->waits[i];
    remove_wait(h, i);
    return_lost(h, w.client, w.packet);
}

/* Called when `client` disconnects. The requests that it has received, but not answered, are lost;
 * returns them to their senders with the status "lost". */
static void expire_at(struct hub *h, unsigned client)
{
    for (unsigned i = h->wait_count; i-- > 0;)
        if (h->waits[i].with == client)
            expire(h, i);
}

void hub_tick(struct hub *h, uint64_t now_ms)
{
    h->now_ms = now_ms;
    for (unsigned i = h->wait_count; i-- > 0;)
        if (now_ms - h->waits[i].since_ms > HUB_PATIENCE_MS)
            expire(h, i);
}

/* ---- MADs from the fabric -------------------------------------------------------------------- */

/* Copies the MAD into `packet`, whose header (LIDs, queue pairs, status) stays as it is, and
 * delivers the packet. Returns the client that received the packet; HUB_CLIENTS: none. */
static unsigned deliver_mad(struct hub *h, const struct fab_sim_delivery *m, uint8_t *packet)
{
    struct place at = {.node = m->node, .port = m->port};
    unsigned id = addressee(h, &at, m->mad);
    if (id == HUB_CLIENTS)
        return id;
    memcpy(packet + MAD_AT, m->mad, FAB_MAD_SIZE);
    return deliver(h, id, packet) ? id : HUB_CLIENTS;
}

/* Delivers a MAD that is no immediate result of a client's MAD: a trap, or a delayed answer. */
static void deliver_alone(struct hub *h, const struct fab_sim_delivery *m)
{
    uint8_t packet[HUB_PACKET_SIZE] = {0};
    uint8_t mgmt_class = m->mad[CLASS_AT];
    bool smp = mgmt_class == FAB_CLASS_SMP_LID || mgmt_class == FAB_CLASS_SMP_DIRECTED;
    address(packet, m->dlid, m->slid);
    fab_base_put_be32(packet + DQPN_AT, !smp);
    fab_base_put_be32(packet + SQPN_AT, !smp);
    fab_base_put_be64(packet + MAD_LENGTH_AT, FAB_MAD_SIZE);
    (void)deliver_mad(h, m, packet);
    if (is_response(m->mad))
        remove_answered(h, m->mad);
}

void hub_collect(struct hub *h)
{
    struct fab_sim_delivery m;
    while (fab_sim_receive(h->sim, &m))
        deliver_alone(h, &m);
}

static bool same_mad(const uint8_t *a, const uint8_t *b)
{
    return a[CLASS_AT] == b[CLASS_AT] && a[METHOD_AT] == b[METHOD_AT] &&
           memcmp(a + TID_AT, b + TID_AT, 8) == 0;
}

/* Delivers all MADs that the simulated fabric sent because of the MAD in `packet`: this MAD itself,
 * if it is for another client, and answers and traps. Returns the client that received the MAD
 * itself; HUB_CLIENTS: none. */
static unsigned deliver_all(struct hub *h, const uint8_t *packet)
{
    unsigned reached = HUB_CLIENTS;
    struct fab_sim_delivery m;
    while (fab_sim_receive(h->sim, &m)) {
        uint8_t copy[HUB_PACKET_SIZE];
        memcpy(copy, packet, sizeof copy);
        if (same_mad(m.mad, packet + MAD_AT))
            reached = deliver_mad(h, &m, copy);
        else
            deliver_alone(h, &m);
    }
    return reached;
}

/* ---- MADs from clients ----------------------------------------------------------------------- */

static void report_lost(struct hub *h, unsigned id, uint8_t *packet)
{
    const uint8_t *mad = packet + MAD_AT;
    unsigned waits = fab_base_get_be16(mad + TID_AT);
    if (mad[METHOD_AT] == FAB_METHOD_TRAP_REPRESS)
        return;
    if (!is_response(mad))
        return_lost(h, id, packet);
    else if (waits < h->top && h->clients[waits].pid != 0)
        return_lost(h, waits, packet);
}

static void swap_addresses(uint8_t *packet)
{
    uint8_t was[8];
    memcpy(was, packet + DLID_AT, 4);
    memcpy(packet + DLID_AT, packet + SLID_AT, 4);
    memcpy(packet + SLID_AT, was, 4);
    memcpy(was, packet + DQPN_AT, 4);
    memcpy(packet + DQPN_AT, packet + SQPN_AT, 4);
    memcpy(packet + SQPN_AT, was, 4);
}

/* Returns the number of bytes of the MAD that are valid. An RMPP MAD of the SA class keeps the
 * length that the client gave, if this length is possible, because it tells how many records the
 * MAD has. All other MADs have FAB_MAD_SIZE. */
static uint64_t length_of(const uint8_t *packet)
{
    const uint8_t *mad = packet + MAD_AT;
    uint64_t said = fab_base_get_be64(packet + MAD_LENGTH_AT);
    bool rmpp = mad[CLASS_AT] == FAB_CLASS_SA && (mad[FAB_RMPP_AT + 2] & FAB_RMPP_ACTIVE) != 0;
    return rmpp && said >= FAB_SA_DATA && said < FAB_MAD_SIZE ? said : FAB_MAD_SIZE;
}

/* Overwrites what a client must not choose in its packet: the LIDs, the status, the length (except
 * that of an RMPP MAD of the SA class) and, in a request, the client id. */
static void set_trusted_fields(const struct hub *h, unsigned id, uint8_t *packet, uint16_t dlid)
{
    uint8_t *mad = packet + MAD_AT;
    bool permissive = dlid == FAB_LID_PERMISSIVE;
    address(packet, dlid, permissive ? dlid : port_info(h, &h->clients[id])->lid);
    fab_base_put_be32(packet + STATUS_AT, 0);
    fab_base_put_be64(packet + MAD_LENGTH_AT, length_of(packet));
    if (!is_response(mad))
        fab_base_put_be16(mad + TID_AT, (uint16_t)id);
}

/* Clears the bit of ClassPortInfo that says that PortCountersExtended has error counters. The last
 * of these counters are beyond the 224 bytes of a MAD that libumad2sim keeps, so a client would
 * read uninitialised memory. */
static void hide_wide_errors(uint8_t *mad)
{
    enum { ATTR_AT = 16, CAP_MASK2_AT = 64 + 4, RESP_TIME_BITS = 5 };
    if (mad[CLASS_AT] != FAB_CLASS_PERF ||
        fab_base_get_be16(mad + ATTR_AT) != FAB_ATTR_CLASS_PORT_INFO)
        return;
    uint32_t caps = fab_base_get_be32(mad + CAP_MASK2_AT);
    fab_base_put_be32(mad + CAP_MASK2_AT,
                      caps & ~((uint32_t)FAB_PERF2_ERRORS_EXT << RESP_TIME_BITS));
}

void hub_packet(struct hub *h, unsigned client, uint8_t *packet, size_t len)
{
    struct hub_client *c = client < h->top ? &h->clients[client] : NULL;
    if (c == NULL || c->pid == 0 || len != HUB_PACKET_SIZE)
        return;
    uint8_t reply[FAB_MAD_SIZE];
    uint16_t dlid = fab_base_get_be16(packet + DLID_AT);
    c->sent++;
    note_class(c, packet[MAD_AT + CLASS_AT]);
    set_trusted_fields(h, client, packet, dlid);
    int status = fab_sim_send(h->sim, c->at.node, c->at.port, dlid, packet + MAD_AT, reply);
    unsigned reached = deliver_all(h, packet);
    if (is_response(packet + MAD_AT))
        remove_answered(h, packet + MAD_AT);
    if (status == 1) {
        memcpy(packet + MAD_AT, reply, sizeof reply);
        swap_addresses(packet);
        hide_wide_errors(packet + MAD_AT);
        (void)deliver(h, client, packet);
    } else if (reached != HUB_CLIENTS || (status == 0 && fab_sim_in_flight(h->sim))) {
        add_wait(h, client, reached, packet);
    } else {
        report_lost(h, client, packet);
    }
}

/* ---- connecting and disconnecting ------------------------------------------------------------ */

/* Tells the simulated fabric whether a port has clients, and whether one of these clients is a
 * subnet manager. A port that has clients delivers its MADs to the hub. */
static void update_port(struct hub *h, const struct place *at)
{
    bool any = false, is_sm = false;
    for (unsigned id = 0; id < h->top; id++) {
        const struct hub_client *c = &h->clients[id];
        bool here = c->pid != 0 && same_place(&c->at, at);
        any |= here;
        is_sm |= here && c->is_sm;
    }
    if (any)
        (void)fab_sim_attach(h->sim, at->node, at->port, is_sm);
    else
        fab_sim_detach(h->sim, at->node, at->port);
    hub_collect(h);
}

static bool has_sm(const struct hub *h, const struct place *at)
{
    for (unsigned id = 0; id < h->top; id++)
        if (h->clients[id].pid != 0 && h->clients[id].is_sm && same_place(&h->clients[id].at, at))
            return true;
    return false;
}

/* Finds the port to which a new client is attached. At a switch: port 0. At another node: the port
 * in the name that the client gave; without a port in the name, port 1. If the name is empty, the
 * node is first_node. Returns false if there is no such port. */
static bool find_port(const struct hub *h, const uint8_t *name_at, struct place *ret)
{
    char name[NODE_NAME_MAX + 1] = {0};
    struct place place = {.node = h->first_node};
    memcpy(name, name_at, NODE_NAME_MAX);
    if (name[0] != '\0' && place_find(h->sim, name, &place) != FAB_OK)
        return false;
    if (fab_fabric_node_is_switch(fab_sim_fabric(h->sim), place.node))
        place.port = 0;
    else if (place.port == 0)
        place.port = 1;
    *ret = place;
    return true;
}

static void write_node_id(const struct hub *h, uint32_t node, uint8_t *text)
{
    const struct fab_node *n = &fab_sim_fabric(h->sim)->nodes[node];
    char id[NODE_NAME_MAX];
    snprintf(id, sizeof id, "%c-%016llx",
             n->type == FAB_NODE_SWITCH   ? 'S'
             : n->type == FAB_NODE_ROUTER ? 'R'
                                          : 'H',
             (unsigned long long)n->guid);
    memset(text, 0, NODE_NAME_MAX);
    memcpy(text, id, strlen(id));
}

static unsigned free_id(const struct hub *h)
{
    unsigned id = 0;
    while (id < HUB_CLIENTS && h->clients[id].pid != 0)
        id++;
    return id;
}

static bool do_connect(struct hub *h, uint32_t pid, uint8_t *datagram)
{
    struct hub_client c = {.pid = pid, .is_sm = get32(datagram + IS_SM_AT) != 0};
    unsigned id = free_id(h);
    if (pid == 0 || get32(datagram + PID_AT) != pid || id == HUB_CLIENTS ||
        !find_port(h, datagram + NODE_AT, &c.at) || (c.is_sm && has_sm(h, &c.at)) ||
        !h->owner.open(h->owner.context, id, pid))
        return false;
    h->clients[id] = c;
    if (id >= h->top)
        h->top = id + 1;
    update_port(h, &c.at);
    put32(datagram + PID_AT, id);
    write_node_id(h, c.at.node, datagram + NODE_AT);
    return true;
}

void hub_detach(struct hub *h, unsigned client)
{
    if (client >= h->top || h->clients[client].pid == 0)
        return;
    struct place at = h->clients[client].at;
    h->clients[client] = (struct hub_client){0};
    while (h->top > 0 && h->clients[h->top - 1].pid == 0)
        h->top--;
    h->owner.close(h->owner.context, client);
    remove_client_waits(h, client);
    expire_at(h, client);
    update_port(h, &at);
}

/* ---- control requests of clients ------------------------------------------------------------- */

typedef bool answer_function(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE]);

static bool get_port(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    const struct fab_port_info *info = port_info(h, c);
    memcpy(data, &info->lid, sizeof info->lid);
    data[2] = info->port_state;
    return true;
}

static bool get_vendor(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    const struct fab_node_info *info = &fab_sim_fabric(h->sim)->nodes[c->at.node].info;
    uint64_t firmware = 1;
    put32(data, info->vendor_id);
    put32(data + 4, info->device_id);
    put32(data + 8, info->revision);
    memcpy(data + 16, &firmware, sizeof firmware);
    return true;
}

static uint64_t port_guid(const struct hub *h, const struct hub_client *c)
{
    const struct fab_fabric *f = fab_sim_fabric(h->sim);
    uint64_t guid = fab_fabric_port(f, fab_fabric_port_id(f, c->at.node, c->at.port))->guid;
    return guid != 0 ? guid : f->nodes[c->at.node].guid + c->at.port;
}

static bool get_gid(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    fab_base_put_be64(data, port_info(h, c)->gid_prefix);
    fab_base_put_be64(data + 8, port_guid(h, c));
    return true;
}

static bool get_guid(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    fab_base_put_be64(data, fab_sim_fabric(h->sim)->nodes[c->at.node].guid);
    return true;
}

static bool get_node_info(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    struct fab_node_info info = fab_sim_fabric(h->sim)->nodes[c->at.node].info;
    info.local_port = c->at.port;
    info.port_guid = port_guid(h, c);
    return fab_wire_attr_pack(&fab_wire_attr_node_info, &info, data, DATA_SIZE) == FAB_OK;
}

/* Answers a control request with PortInfo of a port. The first byte of the request is the port
 * number. For 0, and for the number of a port that the node does not have, the answer is PortInfo
 * of the client's own port. Returns true if `data` has the answer. */
static bool get_port_info(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    uint8_t wanted = data[0];
    bool own = wanted == 0 || wanted > fab_sim_fabric(h->sim)->nodes[c->at.node].num_ports;
    const struct fab_port_info *info = fab_sim_port(h->sim, c->at.node, own ? c->at.port : wanted);
    return fab_wire_attr_pack(&fab_wire_attr_port_info, info, data, DATA_SIZE) == FAB_OK;
}

static bool set_is_sm(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    struct place at = c->at;
    c->is_sm = get32(data) != 0;
    update_port(h, &at);
    return true;
}

/* Answers a control request with the first block of the device's P_Key table, or with the default
 * table if the device does not answer or answers with an error. Always returns true. */
static bool get_pkeys(struct hub *h, struct hub_client *c, uint8_t data[DATA_SIZE])
{
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                          .method = FAB_METHOD_GET,
                          .attr_id = FAB_ATTR_PKEY_TABLE,
                          .m_key = port_info(h, c)->m_key};
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    const uint8_t *found;
    size_t len;
    memset(data, 0, DATA_SIZE);
    fab_base_put_be16(data, PKEYS_MEMBER);
    if (fab_wire_smp_pack(&mad, NULL, bytes) == FAB_OK &&
        fab_sim_send(h->sim, c->at.node, c->at.port, FAB_LID_PERMISSIVE, bytes, reply) == 1 &&
        fab_wire_mad_unpack(reply, sizeof reply, &mad, &found, &len) == FAB_OK && mad.status == 0)
        memcpy(data, found, DATA_SIZE);
    return true;
}

enum control_type { REFUSED = 0, CONNECT = 1, DISCONNECT = 2 };

static answer_function *const answers[] = {
    [3] = get_port,      [4] = get_vendor,    [5] = get_gid,   [6] = get_guid,
    [7] = get_node_info, [8] = get_port_info, [9] = set_is_sm, [10] = get_pkeys,
};

/* Carries out a control request, and writes the result into the datagram. Returns false if the
 * request is refused. */
static bool perform(struct hub *h, uint32_t pid, uint8_t *datagram)
{
    uint32_t type = get32(datagram + TYPE_AT), id = get32(datagram + CLIENT_AT);
    if (type == CONNECT)
        return do_connect(h, pid, datagram);
    if (id >= h->top || h->clients[id].pid == 0 || h->clients[id].pid != pid)
        /* The hub has removed this client already. So a request to disconnect succeeds, and any
         * other request fails. */
        return type == DISCONNECT;
    if (type == DISCONNECT) {
        hub_detach(h, id);
        return true;
    }
    return type < sizeof answers / sizeof *answers && answers[type] != NULL &&
           answers[type](h, &h->clients[id], datagram + DATA_AT);
}

bool hub_control(struct hub *h, uint32_t pid, uint8_t *datagram, size_t len)
{
    if (len != HUB_CONTROL_SIZE || get32(datagram + MAGIC_AT) != MAGIC)
        return false;
    if (!perform(h, pid, datagram))
        put32(datagram + TYPE_AT, REFUSED);
    return true;
}
