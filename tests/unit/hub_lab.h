/* SPDX-License-Identifier: BSD-3-Clause */
/* The hub of `fabsim serve` (cli/sim/hub.h) with a small simulated fabric and with clients, but
 * without sockets. */
#ifndef TESTS_UNIT_HUB_LAB_H
#define TESTS_UNIT_HUB_LAB_H

#include <string.h>

#include "cli/sim/console.h"
#include "cli/sim/hub.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

enum {
    CONNECT = 1,
    DISCONNECT,
    GET_PORT,
    GET_VENDOR,
    GET_GID,
    GET_GUID,
    GET_NODE,
    GET_INFO,
    SET_SM
};
#define LOST 110

/* The fabric has two leaves, two spines, and two hosts at each leaf. last[] has the last packet
 * that the hub delivered to each client. */
struct lab {
    struct fab_fabric *f;
    struct hub hub;
    struct console console;
    struct fab_text out;
    unsigned count[HUB_CLIENTS];
    uint8_t last[HUB_CLIENTS][HUB_PACKET_SIZE];
    bool full, refuses;
};

static inline bool do_open(void *context, unsigned client, uint32_t pid)
{
    struct lab *x = context;
    x->count[client] = 0;
    return pid != 0 && !x->refuses;
}

static inline void do_close(void *context, unsigned client)
{
    struct lab *x = context;
    x->count[client] = 0;
}

static inline bool do_deliver(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE])
{
    struct lab *x = context;
    if (x->full)
        return false;
    x->count[client]++;
    memcpy(x->last[client], packet, HUB_PACKET_SIZE);
    return true;
}

static inline void lab_start(struct lab *x)
{
    struct fab_sim *sim;
    struct hub_owner owner = {
        .context = x, .open = do_open, .close = do_close, .deliver = do_deliver};
    *x = (struct lab){.f = leaf_spine(2, 2, 2)};
    ck_assert_int_eq(fab_sim_new(x->f, 1, &sim), FAB_OK);
    hub_init(&x->hub, sim, 0, &owner);
    x->console = (struct console){.hub = &x->hub, .name = "lab"};
}

static inline void lab_end(struct lab *x)
{
    fab_base_text_fini(&x->out);
    fab_sim_free(x->hub.sim);
    fab_fabric_unref(x->f);
}

/* ---- clients --------------------------------------------------------------------------------- */

static inline uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Sends a control datagram. Returns the answer, whose type is 0 if the request was refused. */
static inline uint8_t *control(struct lab *x, uint32_t pid, uint32_t id, uint32_t type,
                               uint8_t d[80])
{
    uint32_t head[4] = {0xdeadbeef, id, type, 64};
    memcpy(d, head, sizeof head);
    ck_assert(hub_control(&x->hub, pid, d, HUB_CONTROL_SIZE));
    return d;
}

/* Connects a client. Returns its id, or -1 if the hub refused the client. */
static inline int come(struct lab *x, uint32_t pid, const char *node, bool is_sm)
{
    uint8_t d[80] = {0};
    uint32_t sm = is_sm;
    memcpy(d + 16, &pid, 4);
    memcpy(d + 24, &sm, 4);
    strncpy((char *)d + 28, node, 32);
    control(x, pid, 0, CONNECT, d);
    return word(d + 8) == CONNECT ? (int)word(d + 16) : -1;
}

/* Sends a MAD from the client `id` to the hub. Returns the last packet that the hub has delivered
 * to this client. */
static const uint8_t *request(struct lab *x, int id, uint16_t dlid, const struct fab_mad *mad)
{
    uint8_t packet[HUB_PACKET_SIZE] = {0};
    fab_base_put_be16(packet, dlid);
    fab_base_put_be32(packet + 12, 1);
    if (mad->mgmt_class == FAB_CLASS_SMP_LID || mad->mgmt_class == FAB_CLASS_SMP_DIRECTED)
        ck_assert_int_eq(fab_wire_smp_pack(mad, NULL, packet + 32), FAB_OK);
    else
        ck_assert_int_eq(fab_wire_gmp_pack(mad, NULL, 0, packet + 32), FAB_OK);
    hub_packet(&x->hub, (unsigned)id, packet, sizeof packet);
    return x->last[id];
}

static const struct fab_mad get_node = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                        .method = FAB_METHOD_GET,
                                        .tid = 0x1111222233334444,
                                        .attr_id = FAB_ATTR_NODE_INFO};
static const struct fab_mad get_sm = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                      .method = FAB_METHOD_GET,
                                      .tid = 7,
                                      .attr_id = FAB_ATTR_SM_INFO};

static inline uint32_t status_of(const uint8_t *packet)
{
    return fab_base_get_be32(packet + 16);
}

#endif
