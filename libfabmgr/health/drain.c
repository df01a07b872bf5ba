/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides, in two steps, which ISLs routes must avoid for a drain.
 *
 * The first step chooses the switches that become stubs. A stub forwards no packets between other
 * switches, because it keeps links to one neighbour only. The other switches of the drain keep
 * their ISLs.
 *
 * The second step is a breadth-first search from the manager's switch. It visits first the switches
 * that are no stubs, then the stubs with hosts, and then the other stubs. A stub keeps links only
 * to the switch from which the search reaches the stub: all links to this switch if the stub has
 * hosts, otherwise one link. This switch is the neighbour nearest to the manager's switch. So in a
 * tree, the path from the manager to the stub does not go down and up again.
 */
#include "libfabmgr/health/drain.h"

#include <stdlib.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/hosts.h"

struct drainer {
    struct fab_arena arena; /* owns the memory of all arrays of this struct */
    const struct fab_drain_input *in;
    const struct fab_fabric *f;
    uint64_t *hosted; /* bitset of switches: the switch has hosts */
    /* bitset of switches: the switch becomes a stub, which keeps links to one neighbour only */
    uint64_t *stub;
    /* bitset of switches: a drained switch without hosts that keeps all its ISLs */
    uint64_t *needed;
    uint64_t *named; /* bitset of ports: the operator drains the link of the port */
    uint64_t *seen;  /* bitset of switches that the search has reached */
    /* [switch_count] for each stub, the port of the stub whose link the search used to reach the
     * stub; FAB_NONE: the search has not reached it */
    uint32_t *by;
    /* Queues of switches that the search has reached but not yet visited: [0] switches that are no
     * stubs, [1] stubs with hosts, [2] stubs without hosts. The search visits them in this
     * order. */
    struct {
        uint32_t *sw, head, tail;
    } queue[3];
};

static bool is_drained(const struct drainer *d, uint32_t sw)
{
    return fab_base_bits_get(d->in->switches, sw);
}

static bool is_stub(const struct drainer *d, uint32_t sw)
{
    return fab_base_bits_get(d->stub, sw);
}

static bool is_usable(const struct drainer *d, uint32_t port)
{
    return fab_fabric_isl_is_up(d->f, port) && !fab_base_bits_get(d->named, port);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

/* Returns true if the switch has an ISL to a switch that is no stub, and the operator does not
 * drain this ISL. */
static bool has_used_neighbour(const struct drainer *d, uint32_t sw)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i);
        if (is_usable(d, port) && !is_stub(d, fab_fabric_peer_node(f, port)))
            return true;
    }
    return false;
}

/* Makes the neighbours of switch `sw` that have no hosts keep all their ISLs. Call this if all
 * neighbours of `sw` are drained, because the hosts of `sw` need a path. */
static void keep_neighbours(struct drainer *d, uint32_t sw)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i), far = fab_fabric_peer_node(f, port);
        if (!is_usable(d, port) || fab_base_bits_get(d->hosted, far))
            continue;
        fab_base_bits_clear(d->stub, far);
        fab_base_bits_set(d->needed, far);
    }
}

static void choose_stubs(struct drainer *d, struct fab_drain *ret)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t hosts = is_drained(d, sw) ? fab_health_count_hosts(f, sw) : 0;
        ret->hosts += hosts;
        fab_base_bits_put(d->hosted, sw, hosts > 0);
        fab_base_bits_put(d->stub, sw,
                          is_drained(d, sw) &&
                              (hosts == 0 || fab_base_bits_get(d->in->transit, sw)));
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (fab_base_bits_get(d->hosted, sw) && !is_stub(d, sw) && !has_used_neighbour(d, sw))
            keep_neighbours(d, sw);
}

/* ---- the search ------------------------------------------------------------------------------ */

static void reach(struct drainer *d, uint32_t sw)
{
    int q = !is_stub(d, sw) ? 0 : fab_base_bits_get(d->hosted, sw) ? 1 : 2;
    fab_base_bits_set(d->seen, sw);
    d->queue[q].sw[d->queue[q].tail++] = sw;
}

/* Puts the neighbours of a switch that the search has not reached before into the queues. From a
 * stub, the search reaches only other stubs. */
static void expand(struct drainer *d, uint32_t sw)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i);
        uint32_t far = is_usable(d, port) ? fab_fabric_peer_node(f, port) : FAB_NONE;
        if (far == FAB_NONE || (is_stub(d, sw) && !is_stub(d, far)) ||
            fab_base_bits_get(d->seen, far))
            continue;
        reach(d, far);
        if (is_stub(d, far))
            d->by[far] = fab_fabric_port(f, port)->peer;
    }
}

/* Returns the switch to which the manager is connected, or the manager's node if this is a switch.
 * If the manager's adapter has no link to a switch, returns the adapter. If the fabric has no
 * self_port, returns the first switch. */
static uint32_t own_switch(const struct fab_fabric *f)
{
    if (f->self_port == FAB_NONE)
        return 0;
    uint32_t self = fab_fabric_port(f, f->self_port)->node;
    for (uint32_t i = 0; i <= f->nodes[self].num_ports && !fab_fabric_node_is_switch(f, self);
         i++) {
        uint32_t far = fab_fabric_peer_node(f, fab_fabric_port_id(f, self, (uint8_t)i));
        if (far != FAB_NONE && fab_fabric_node_is_switch(f, far))
            return far;
    }
    return self;
}

/* Returns the switch at which the search begins. If the manager's own switch is a stub, the search
 * begins at a neighbour of it that is no stub, if there is one, and reaches the own switch from
 * there. */
static uint32_t search_start(struct drainer *d, uint32_t own)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t i = 1; is_stub(d, own) && i <= f->nodes[own].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, own, (uint8_t)i);
        if (is_usable(d, port) && !is_stub(d, fab_fabric_peer_node(f, port)))
            return fab_fabric_peer_node(f, port);
    }
    return own;
}

static void search(struct drainer *d)
{
    uint32_t start = search_start(d, own_switch(d->f));
    if (d->f->switch_count == 0 || !fab_fabric_node_is_switch(d->f, start))
        return;
    fab_base_bits_zero(d->seen, d->f->switch_count);
    for (uint32_t i = 0; i < d->f->switch_count; i++)
        d->by[i] = FAB_NONE;
    for (int q = 0; q < 3; q++)
        d->queue[q].head = d->queue[q].tail = 0;
    reach(d, start);
    for (int q = 0; q < 3;) {
        if (d->queue[q].head == d->queue[q].tail) {
            q++;
            continue;
        }
        expand(d, d->queue[q].sw[d->queue[q].head++]);
        q = 0;
    }
}

/* If the search reached a stub with hosts from a stub without hosts, the stub without hosts would
 * have to forward the packets of these hosts. This function makes it a switch that keeps its ISLs
 * and is no stub. Returns true if there was such a case; the search must then be repeated. */
static bool keep_forwarders(struct drainer *d)
{
    bool any = false;
    for (uint32_t sw = 0; sw < d->f->switch_count; sw++) {
        uint32_t parent =
            is_stub(d, sw) && fab_base_bits_get(d->hosted, sw) && d->by[sw] != FAB_NONE
                ? fab_fabric_peer_node(d->f, d->by[sw])
                : FAB_NONE;
        if (parent == FAB_NONE || !is_stub(d, parent) || fab_base_bits_get(d->hosted, parent))
            continue;
        fab_base_bits_clear(d->stub, parent);
        fab_base_bits_set(d->needed, parent);
        any = true;
    }
    return any;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Returns true if the stub `sw` keeps the ISL at its port `port` (see the beginning of this file).
 * Routes may still use this ISL. */
static bool keeps(const struct drainer *d, uint32_t sw, uint32_t port)
{
    uint32_t by = d->by[sw];
    return by != FAB_NONE &&
           (port == by || (fab_base_bits_get(d->hosted, sw) &&
                           fab_fabric_peer_node(d->f, port) == fab_fabric_peer_node(d->f, by)));
}

/* Returns true if routes must avoid the ISL at this port. */
static bool is_out(const struct drainer *d, uint32_t port)
{
    uint32_t peer = fab_fabric_port(d->f, port)->peer;
    uint32_t a = fab_fabric_port(d->f, port)->node, b = fab_fabric_port(d->f, peer)->node;
    if (fab_base_bits_get(d->named, port))
        return true;
    return (is_stub(d, a) || is_stub(d, b)) && !(is_stub(d, a) && keeps(d, a, port)) &&
           !(is_stub(d, b) && keeps(d, b, peer));
}

static bool is_of_bare_stub(const struct drainer *d, uint32_t port)
{
    uint32_t sw = fab_fabric_port(d->f, port)->node;
    return is_stub(d, sw) && !fab_base_bits_get(d->hosted, sw);
}

static int collect(const struct drainer *d, struct fab_drain *ret)
{
    const struct fab_fabric *f = d->f;
    ret->out = calloc(f->port_count + 1u, sizeof(*ret->out));
    ret->kept = calloc(f->port_count + 1u, sizeof(*ret->kept));
    if (!ret->out || !ret->kept)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_isl_is_up(f, p) || fab_fabric_port(f, p)->peer < p)
            continue;
        if (is_out(d, p))
            ret->out[ret->out_count++] = p;
        else if (is_of_bare_stub(d, p) || is_of_bare_stub(d, fab_fabric_port(f, p)->peer))
            ret->kept[ret->kept_count++] = p;
    }
    return FAB_OK;
}

/* Counts the switches that the search has not reached, and the endports connected to them. A stub
 * that the search reached from another stub is not counted, because it keeps its link to that
 * stub. */
static void count_cut(const struct drainer *d, struct fab_drain *ret)
{
    const struct fab_fabric *f = d->f;
    ret->first_cut = FAB_NONE;
    for (uint32_t n = f->switch_count; n-- > 0;) {
        if (fab_base_bits_get(d->seen, n))
            continue;
        ret->first_cut = n;
        ret->cut_switches++;
        ret->cut_others += fab_health_count_hosts(f, n);
    }
}

static int decide(struct drainer *d, struct fab_drain *ret)
{
    for (size_t i = 0; i < d->in->link_count; i++) {
        if (!fab_fabric_isl_is_up(d->f, d->in->link[i]))
            return FAB_E_INVAL;
        fab_base_bits_set(d->named, d->in->link[i]);
        fab_base_bits_set(d->named, fab_fabric_port(d->f, d->in->link[i])->peer);
    }
    choose_stubs(d, ret);
    do
        search(d);
    while (keep_forwarders(d));
    ret->needed = (uint32_t)fab_base_bits_count(d->needed, d->f->switch_count);
    count_cut(d, ret);
    return collect(d, ret);
}

int fab_health_drain(const struct fab_drain_input *in, struct fab_drain *ret)
{
    const struct fab_fabric *f = in->fabric;
    size_t words = fab_base_bits_words(f->switch_count) + 1, n = f->switch_count + 1u;
    struct drainer d = {.in = in, .f = f};
    struct fab_drain got = {0};
    d.hosted = fab_base_arena_alloc(&d.arena, words, sizeof(*d.hosted));
    d.stub = fab_base_arena_alloc(&d.arena, words, sizeof(*d.stub));
    d.needed = fab_base_arena_alloc(&d.arena, words, sizeof(*d.needed));
    d.seen = fab_base_arena_alloc(&d.arena, words, sizeof(*d.seen));
    d.named =
        fab_base_arena_alloc(&d.arena, fab_base_bits_words(f->port_count) + 1, sizeof(*d.named));
    d.by = fab_base_arena_alloc(&d.arena, n, sizeof(*d.by));
    for (int q = 0; q < 3; q++)
        d.queue[q].sw = fab_base_arena_alloc(&d.arena, n, sizeof(*d.queue[q].sw));
    int r = d.arena.failed ? FAB_E_NOMEM : decide(&d, &got);
    fab_base_arena_fini(&d.arena);
    if (r == FAB_OK)
        *ret = got;
    else
        fab_health_drain_fini(&got);
    return r;
}

void fab_health_drain_fini(struct fab_drain *d)
{
    free(d->out);
    free(d->kept);
    *d = (struct fab_drain){0};
}

/* ---- pods ------------------------------------------------------------------------------------ */

/* Sets level[] to the number of hops of each switch to the nearest switch with hosts; FAB_NONE:
 * there is no path. Returns the highest level. */
static uint32_t find_levels(const struct fab_fabric *f, uint32_t *level, uint32_t *queue)
{
    uint32_t head = 0, tail = 0, top = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        level[sw] = fab_health_count_hosts(f, sw) > 0 ? 0 : FAB_NONE;
        if (level[sw] == 0)
            queue[tail++] = sw;
    }
    while (head < tail) {
        uint32_t sw = queue[head++];
        top = level[sw];
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i),
                     far = fab_fabric_peer_node(f, port);
            if (!fab_fabric_isl_is_up(f, port) || level[far] != FAB_NONE)
                continue;
            level[far] = level[sw] + 1;
            queue[tail++] = far;
        }
    }
    return top;
}

/* Sets pod[] to `sw` for switch `sw`, and for all switches that can be reached from `sw` without
 * passing through a switch of level `top`. */
static void flood(const struct fab_fabric *f, const uint32_t *level, uint32_t top, uint32_t sw,
                  uint32_t *pod, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    pod[sw] = sw;
    queue[tail++] = sw;
    while (head < tail) {
        uint32_t at = queue[head++];
        for (uint32_t i = 1; i <= f->nodes[at].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, at, (uint8_t)i),
                     far = fab_fabric_peer_node(f, port);
            if (!fab_fabric_isl_is_up(f, port) || level[far] == top || pod[far] != FAB_NONE)
                continue;
            pod[far] = sw;
            queue[tail++] = far;
        }
    }
}

int fab_health_drain_pods(const struct fab_fabric *f, uint32_t *ret_pod)
{
    uint32_t *level = calloc(f->switch_count + 1u, sizeof(*level));
    uint32_t *queue = calloc(f->switch_count + 1u, sizeof(*queue));
    int r = level && queue ? FAB_OK : FAB_E_NOMEM;
    uint32_t top = r == FAB_OK ? find_levels(f, level, queue) : 0;
    for (uint32_t sw = 0; r == FAB_OK && sw < f->switch_count; sw++)
        ret_pod[sw] = FAB_NONE;
    for (uint32_t sw = 0; r == FAB_OK && sw < f->switch_count; sw++)
        if (level[sw] != top && ret_pod[sw] == FAB_NONE)
            flood(f, level, top, sw, ret_pod, queue);
    free(level);
    free(queue);
    return r;
}

int fab_health_drain_pod(const struct fab_fabric *f, uint32_t sw, uint64_t *ret)
{
    uint32_t *pod = calloc(f->switch_count + 1u, sizeof(*pod));
    int r = pod ? fab_health_drain_pods(f, pod) : FAB_E_NOMEM;
    if (r == FAB_OK && pod[sw] == FAB_NONE)
        r = FAB_E_NOT_FOUND;
    for (uint32_t i = 0; r == FAB_OK && i < f->switch_count; i++)
        if (pod[i] == pod[sw])
            fab_base_bits_set(ret, i);
    free(pod);
    return r;
}
