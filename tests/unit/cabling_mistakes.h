/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes random mistakes in the cabling of a fabric, and records how the library must report each
 * mistake. No two mistakes touch the same port.
 */
#ifndef TESTS_UNIT_CABLING_MISTAKES_H
#define TESTS_UNIT_CABLING_MISTAKES_H

#include "libfabmgr/base/prng.h"
#include "libfabmgr/cabling/compare.h"
#include "tests/unit/fabrics.h"

enum mistake_kind {
    SWAP_AT_SWITCH, /* exchanges two cables of one switch */
    SWAP_BETWEEN,   /* exchanges two cables of any nodes */
    RING,           /* exchanges 3 to 6 cable ends in a cycle */
    WRONG_PORT,     /* moves the end of a cable to a free port of the same switch */
    WRONG_HOST,     /* the planned host is off, and an unknown host is at its port */
    SWAP_RAILS,     /* exchanges the cables of two adapters of one host */
    ABSENT_CABLE,
    EXTRA_CABLE, /* adds a cable between two free ports */
    SLOW,        /* gives a link another speed */
    MISTAKE_KINDS,
};

/* A mistake: the wrong cables, each with its two ports (node GUID and port number), and the number
 * and kind of the moves that correct the mistake. */
#define MISTAKE_CABLES 6
struct place {
    uint64_t guid;
    uint8_t port;
};
struct mistake {
    enum mistake_kind kind;
    struct place cable[MISTAKE_CABLES][2];
    unsigned cables, moves;
    enum fab_cabling_step step;
};

struct mistakes {
    struct fab_prng prng;
    /* the planned fabric; its node ids are references of the builder */
    const struct fab_fabric *plain;
    struct fab_builder *b;
    bool *used; /* [plain->port_count] ports that a mistake has changed */
    uint32_t strangers;
};

static inline void mistakes_init(struct mistakes *m, const struct fab_fabric *plain, uint64_t seed)
{
    *m = (struct mistakes){.plain = plain, .b = fab_fabric_builder_from(plain)};
    m->used = calloc(plain->port_count, sizeof *m->used);
    fab_base_prng_init(&m->prng, seed);
    ck_assert_ptr_nonnull(m->b);
}

static inline void mistakes_fini(struct mistakes *m)
{
    fab_fabric_builder_free(m->b);
    free(m->used);
}

static inline const struct fab_port *plain_port(const struct mistakes *m, uint32_t port)
{
    return fab_fabric_port(m->plain, port);
}

static inline struct place place_of(const struct mistakes *m, uint32_t port)
{
    const struct fab_port *p = plain_port(m, port);
    return (struct place){m->plain->nodes[p->node].guid, p->num};
}

static inline bool is_switch_port(const struct mistakes *m, uint32_t port)
{
    return fab_fabric_node_is_switch(m->plain, plain_port(m, port)->node);
}

/* Returns true if the port has a cable that a mistake may use: no mistake has used it yet, and it
 * does not lead to an aggregation node, whose cables are inside a switch. */
static inline bool has_cable(const struct mistakes *m, uint32_t port)
{
    const struct fab_port *p = plain_port(m, port);
    return p->num > 0 && p->peer != FAB_NONE && !m->used[port] && !m->used[p->peer] &&
           !m->plain->nodes[p->node].aggregation &&
           !m->plain->nodes[plain_port(m, p->peer)->node].aggregation;
}

static inline bool is_free(const struct mistakes *m, uint32_t port)
{
    const struct fab_port *p = plain_port(m, port);
    return p->num > 0 && p->peer == FAB_NONE && !m->used[port] && is_switch_port(m, port);
}

/* Chooses a random port for which fits() is true, and marks the port and its peer as used. node:
 * the node of the port; FAB_NONE: any node. Returns FAB_NONE if 20,000 tries find no port. */
static inline uint32_t choose(struct mistakes *m, uint32_t node,
                              bool (*fits)(const struct mistakes *, uint32_t))
{
    uint32_t first = node == FAB_NONE ? 0 : m->plain->nodes[node].first_port;
    uint32_t count = node == FAB_NONE ? m->plain->port_count : m->plain->nodes[node].num_ports + 1u;
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t port = first + (uint32_t)fab_base_prng_below(&m->prng, count);
        if (!fits(m, port))
            continue;
        m->used[port] = true;
        if (plain_port(m, port)->peer != FAB_NONE)
            m->used[plain_port(m, port)->peer] = true;
        return port;
    }
    return FAB_NONE;
}

static inline bool switch_with_cable(const struct mistakes *m, uint32_t port)
{
    return has_cable(m, port) && is_switch_port(m, port);
}

static inline bool leaf_with_host(const struct mistakes *m, uint32_t port)
{
    return switch_with_cable(m, port) && !is_switch_port(m, plain_port(m, port)->peer);
}

static inline void unplug(struct mistakes *m, uint32_t port)
{
    const struct fab_port *p = plain_port(m, port);
    ck_assert_int_eq(fab_fabric_builder_unlink(m->b, p->node, p->num), 0);
}

/* Connects two ports, and adds this cable to the wrong cables of the mistake. */
static inline void plug(struct mistakes *m, struct mistake *x, uint32_t a, uint32_t b)
{
    const struct fab_port *p = plain_port(m, a), *q = plain_port(m, b);
    ck_assert_int_eq(fab_fabric_builder_link(m->b, p->node, p->num, q->node, q->num), 0);
    x->cable[x->cables][0] = place_of(m, a);
    x->cable[x->cables++][1] = place_of(m, b);
}

/* Exchanges cable ends in a cycle: ports[i] is connected to the former peer of ports[i + 1], and
 * the last port to the former peer of the first one. */
static inline void rotate(struct mistakes *m, struct mistake *x, const uint32_t *ports,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        unplug(m, ports[i]);
    for (unsigned i = 0; i < count; i++)
        plug(m, x, ports[i], plain_port(m, ports[(i + 1) % count])->peer);
    x->step = FAB_CABLING_EXCHANGE;
    x->moves = count - 1;
}

static inline bool swap(struct mistakes *m, struct mistake *x, bool one_switch)
{
    uint32_t port[2];
    port[0] = choose(m, FAB_NONE, switch_with_cable);
    if (port[0] == FAB_NONE)
        return false;
    uint32_t node = one_switch ? plain_port(m, port[0])->node : FAB_NONE;
    port[1] = choose(m, node, switch_with_cable);
    if (port[1] == FAB_NONE)
        return false;
    rotate(m, x, port, 2);
    return true;
}

static inline bool ring(struct mistakes *m, struct mistake *x)
{
    unsigned count = 3 + (unsigned)fab_base_prng_below(&m->prng, MISTAKE_CABLES - 2);
    uint32_t ports[MISTAKE_CABLES];
    for (unsigned i = 0; i < count; i++)
        if ((ports[i] = choose(m, FAB_NONE, switch_with_cable)) == FAB_NONE)
            return false;
    rotate(m, x, ports, count);
    return true;
}

static inline bool wrong_port(struct mistakes *m, struct mistake *x)
{
    uint32_t port = choose(m, FAB_NONE, switch_with_cable);
    uint32_t other = port != FAB_NONE ? choose(m, plain_port(m, port)->node, is_free) : FAB_NONE;
    if (other == FAB_NONE)
        return false;
    unplug(m, port);
    plug(m, x, other, plain_port(m, port)->peer);
    x->step = FAB_CABLING_MOVE;
    x->moves = 1;
    return true;
}

static inline bool wrong_host(struct mistakes *m, struct mistake *x)
{
    uint32_t port = choose(m, FAB_NONE, leaf_with_host), ref = FAB_NONE;
    char name[40];
    if (port == FAB_NONE)
        return false;
    const struct fab_port *p = plain_port(m, port);
    const struct fab_node_info info = {.node_type = FAB_NODE_CA,
                                       .num_ports = 1,
                                       .node_guid = UINT64_C(0xfeed000000000000) + 2 * m->strangers,
                                       .port_guid =
                                           UINT64_C(0xfeed000000000001) + 2 * m->strangers};
    struct fab_port_info up = p->info;
    int len = snprintf(name, sizeof name, "stranger-%u HCA-1", m->strangers++);
    unplug(m, port);
    ck_assert_int_eq(fab_fabric_builder_add_node(m->b, &info, &ref), 0);
    ck_assert_int_eq(fab_fabric_builder_set_desc(m->b, ref, name, (size_t)len), 0);
    ck_assert_int_eq(fab_fabric_builder_set_port(m->b, ref, 1, info.port_guid, &up), 0);
    ck_assert_int_eq(fab_fabric_builder_link(m->b, p->node, p->num, ref, 1), 0);
    x->cable[0][0] = place_of(m, port);
    x->cable[x->cables++][1] = (struct place){info.node_guid, 1};
    x->step = FAB_CABLING_MOVE;
    x->moves = 1;
    return true;
}

/* Exchanges two adapters of a host. Their names are like node-0001/mlx5_0. */
static inline bool swap_rails(struct mistakes *m, struct mistake *x)
{
    uint32_t port[2] = {choose(m, FAB_NONE, leaf_with_host), FAB_NONE};
    if (port[0] == FAB_NONE)
        return false;
    const char *desc = m->plain->nodes[plain_port(m, plain_port(m, port[0])->peer)->node].desc;
    size_t host = strcspn(desc, "/ ");
    for (uint32_t n = m->plain->switch_count; n < m->plain->node_count; n++)
        if (strncmp(m->plain->nodes[n].desc, desc, host + 1) == 0 &&
            has_cable(m, m->plain->nodes[n].first_port + 1)) {
            uint32_t adapter = choose(m, n, has_cable);
            port[1] = plain_port(m, adapter)->peer;
            rotate(m, x, port, 2);
            return true;
        }
    return false;
}

static inline bool absent_cable(struct mistakes *m, struct mistake *x)
{
    uint32_t port = choose(m, FAB_NONE, has_cable);
    if (port == FAB_NONE)
        return false;
    unplug(m, port);
    x->cable[0][0] = place_of(m, port);
    x->cable[x->cables++][1] = place_of(m, plain_port(m, port)->peer);
    x->step = FAB_CABLING_CONNECT;
    x->moves = 1;
    return true;
}

static inline bool extra_cable(struct mistakes *m, struct mistake *x)
{
    uint32_t a = choose(m, FAB_NONE, is_free);
    uint32_t b = a != FAB_NONE ? choose(m, FAB_NONE, is_free) : FAB_NONE;
    if (b == FAB_NONE)
        return false;
    plug(m, x, a, b);
    x->step = FAB_CABLING_REMOVE;
    x->moves = 1;
    return true;
}

static inline bool slow(struct mistakes *m, struct mistake *x)
{
    uint32_t port = choose(m, FAB_NONE, has_cable);
    if (port == FAB_NONE)
        return false;
    uint32_t ends[2] = {port, plain_port(m, port)->peer};
    for (unsigned i = 0; i < 2; i++) {
        const struct fab_port *p = plain_port(m, ends[i]);
        struct fab_port_info info = p->info;
        fab_fabric_text_parse_rate("4x DDR", 6, &info);
        ck_assert_int_eq(fab_fabric_builder_set_port(m->b, p->node, p->num, p->guid, &info), 0);
        x->cable[0][i] = place_of(m, ends[i]);
    }
    x->cables = 1;
    x->moves = 0;
    return true;
}

/* Makes a mistake of this kind. Returns false if the fabric has no place for it; ports may be
 * marked as used then. */
static inline bool make_mistake(struct mistakes *m, enum mistake_kind kind, struct mistake *ret)
{
    *ret = (struct mistake){.kind = kind};
    switch (kind) {
    case SWAP_AT_SWITCH:
        return swap(m, ret, true);
    case SWAP_BETWEEN:
        return swap(m, ret, false);
    case RING:
        return ring(m, ret);
    case WRONG_PORT:
        return wrong_port(m, ret);
    case WRONG_HOST:
        return wrong_host(m, ret);
    case SWAP_RAILS:
        return swap_rails(m, ret);
    case ABSENT_CABLE:
        return absent_cable(m, ret);
    case EXTRA_CABLE:
        return extra_cable(m, ret);
    default:
        return slow(m, ret);
    }
}

/* Takes down up to `count` cables that no mistake has used. Returns how many it took down. */
static inline unsigned take_down(struct mistakes *m, unsigned count)
{
    struct mistake ignored = {0};
    unsigned down = 0;
    while (down < count && absent_cable(m, &ignored)) {
        ignored.cables = 0;
        down++;
    }
    return down;
}

#endif
