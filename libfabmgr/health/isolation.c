/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which links may be excluded, by three rules.
 *
 * The first rule is the limit. A link of a switch has one of three directions: away from the hosts
 * (uplink), towards the hosts (downlink), or neither. The direction follows from the distances of
 * the two switches to the nearest switch with hosts. In each direction, at most max_percent of a
 * switch's links may be excluded. The second rule is the capacity floor (floor.c). Links that come
 * first in the caller's list are excluded first.
 *
 * The third rule is connectivity. Union-find joins the switches over all links that stay. Then the
 * search visits the links that the other rules permit to exclude, in reverse order. If such a link
 * connects two sets of switches, it is needed: it is not excluded, and the two sets are joined.
 *
 * A needed link is not excluded, so limit and floor may allow another link to be excluded in its
 * place. The rules are therefore applied again, with the first needed link no longer among the
 * candidates, until a pass finds no further needed link. The result of pass number PASSES is final:
 * all links that it found to be needed are refused at once. Such a result complies with all rules,
 * but a link after the first needed one may be refused without need.
 */
#include "libfabmgr/health/isolation.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

/* maximum number of passes over the links */
#define PASSES 32

enum { UP, DOWN, LEVEL, DIRECTIONS };
struct share {
    uint32_t links, out;
};
struct chooser {
    struct fab_arena arena; /* memory of all arrays in this struct */
    const struct fab_fabric *f;
    const struct fab_isolation_rule *rule;
    struct fab_floor floor; /* uplinks of leaves and pods, and the level of each switch */
    uint32_t *level;        /* the same array as floor.level */
    uint32_t *sets;
    struct share (*share)[DIRECTIONS];
    /* bitset of port ids: the link at this port is excluded */
    uint64_t *out;
};

/* ---- directions ------------------------------------------------------------------------------ */

/* Returns two counts of links of switch `from`: all links, and the excluded links. They are for one
 * direction (up, down or neither), the direction of a link to switch `to`. */
static struct share *share_of(const struct chooser *c, uint32_t from, uint32_t to)
{
    uint32_t a = c->level[from], b = c->level[to];
    return &c->share[from][a < b ? UP : a > b ? DOWN : LEVEL];
}

/* ---- the rules ------------------------------------------------------------------------------- */

static void count_links(struct chooser *c, const struct fab_isolation_link *link, size_t count)
{
    const struct fab_fabric *f = c->f;
    memset(c->share, 0, f->switch_count * sizeof(*c->share));
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_isl_is_up(f, p))
            share_of(c, fab_fabric_port(f, p)->node, fab_fabric_peer_node(f, p))->links++;
    fab_health_floor_count(&c->floor, c->rule->lost, c->rule->lost_count);
    for (size_t i = 0; i < count; i++) {
        uint32_t a = link[i].node[0], b = link[i].node[1];
        if (link[i].port != FAB_NONE || a >= f->switch_count || b >= f->switch_count)
            continue;
        struct share *ends[2] = {share_of(c, a, b), share_of(c, b, a)};
        for (int e = 0; e < 2; e++) {
            ends[e]->links++;
            ends[e]->out++;
        }
        fab_health_floor_lost(&c->floor, link[i].node[0], link[i].node[1]);
    }
}

static bool may_lose(const struct chooser *c, const struct share *s)
{
    return (uint64_t)(s->out + 1) * 100 <= (uint64_t)c->rule->max_percent * s->links;
}

static struct fab_isolation refuse(enum fab_isolation_verdict verdict, uint32_t node,
                                   const struct share *s)
{
    return (struct fab_isolation){verdict, node, s ? s->links : 0, s ? s->out : 0, 0};
}

/* Returns ALLOWED if limit and floor permit to exclude a link between the switches `near` and
 * `far`; otherwise the reason why not. operated: true: the floor is not applied. */
static struct fab_isolation apply_limit(const struct chooser *c, uint32_t near, uint32_t far,
                                        bool operated)
{
    const struct share *a = share_of(c, near, far), *b = share_of(c, far, near);
    struct fab_floor_group group;
    if (!may_lose(c, a))
        return refuse(FAB_ISOLATION_LIMIT, near, a);
    if (!may_lose(c, b))
        return refuse(FAB_ISOLATION_LIMIT, far, b);
    if (operated || fab_health_floor_permits(&c->floor, near, far, &group))
        return refuse(FAB_ISOLATION_ALLOWED, FAB_NONE, NULL);
    return (struct fab_isolation){.verdict = group.pod ? FAB_ISOLATION_POD_FLOOR
                                                       : FAB_ISOLATION_LEAF_FLOOR,
                                  .node = group.node,
                                  .links = group.links,
                                  .out = group.lost,
                                  .least = group.least};
}

static struct fab_isolation consider(struct chooser *c, const struct fab_isolation_link *link)
{
    const struct fab_fabric *f = c->f;
    uint32_t port = link->port;
    if (port == FAB_NONE)
        return refuse(FAB_ISOLATION_ALLOWED, FAB_NONE, NULL);
    uint32_t near = fab_fabric_port(f, port)->node, far = fab_fabric_peer_node(f, port);
    if (!fab_fabric_isl_is_up(f, port))
        return refuse(FAB_ISOLATION_HOST, fab_fabric_node_is_switch(f, near) ? far : near, NULL);
    struct fab_isolation got = link->drained ? refuse(FAB_ISOLATION_ALLOWED, FAB_NONE, NULL)
                                             : apply_limit(c, near, far, link->operated);
    if (got.verdict != FAB_ISOLATION_ALLOWED)
        return got;
    share_of(c, near, far)->out++;
    share_of(c, far, near)->out++;
    fab_health_floor_exclude(&c->floor, near, far);
    fab_base_bits_set(c->out, port);
    fab_base_bits_set(c->out, fab_fabric_port(f, port)->peer);
    return got;
}

static bool joins(struct chooser *c, uint32_t port)
{
    return fab_base_sets_join(c->sets, fab_fabric_port(c->f, port)->node,
                              fab_fabric_peer_node(c->f, port));
}

/* Marks links as NEEDED if switches would be cut off without them. Returns the index of the first
 * such link; `count`: there is none. */
static size_t apply_connectivity(struct chooser *c, const struct fab_isolation_link *link,
                                 size_t count, struct fab_isolation *ret)
{
    size_t first = count;
    fab_base_sets_init(c->sets, c->f->switch_count);
    for (uint32_t p = 0; p < c->f->port_count; p++)
        if (!fab_base_bits_get(c->out, p) && fab_fabric_isl_is_up(c->f, p))
            (void)joins(c, p);
    for (size_t i = count; i-- > 0;)
        if (link[i].port != FAB_NONE && ret[i].verdict == FAB_ISOLATION_ALLOWED &&
            joins(c, link[i].port)) {
            ret[i] = refuse(FAB_ISOLATION_NEEDED, FAB_NONE, NULL);
            first = i;
        }
    return first;
}

/* Makes one pass over the candidates. needed[i]: an earlier pass found that link i is needed.
 * Returns the index of the first link that this pass found to be needed; `count`: there is none. */
static size_t pass(struct chooser *c, const struct fab_isolation_link *link, size_t count,
                   const uint64_t *needed, struct fab_isolation *ret)
{
    memset(c->out, 0, fab_base_bits_words(c->f->port_count) * sizeof(*c->out));
    count_links(c, link, count);
    for (size_t i = 0; i < count; i++)
        ret[i] = fab_base_bits_get(needed, (uint32_t)i)
                     ? refuse(FAB_ISOLATION_NEEDED, FAB_NONE, NULL)
                     : consider(c, &link[i]);
    return apply_connectivity(c, link, count, ret);
}

static void choose(struct chooser *c, const struct fab_isolation_link *link, size_t count,
                   uint64_t *needed, struct fab_isolation *ret)
{
    size_t first = 0;
    for (int i = 0; i < PASSES && first < count; i++) {
        first = pass(c, link, count, needed, ret);
        if (first < count)
            fab_base_bits_set(needed, (uint32_t)first);
    }
}

int fab_health_isolation_choose(const struct fab_fabric *f, const struct fab_isolation_rule *rule,
                                const struct fab_isolation_link *link, size_t count,
                                struct fab_isolation *ret)
{
    size_t n = f->switch_count + 1u;
    struct chooser c = {.f = f, .rule = rule};
    int status = fab_health_floor_init(&c.floor, f, rule->min_percent);
    if (status != FAB_OK)
        return status;
    c.level = c.floor.level;
    c.sets = fab_base_arena_alloc(&c.arena, n, sizeof(*c.sets));
    c.share = fab_base_arena_alloc(&c.arena, n, sizeof(*c.share));
    c.out = fab_base_arena_alloc(&c.arena, fab_base_bits_words(f->port_count), sizeof(*c.out));
    uint64_t *needed =
        fab_base_arena_alloc(&c.arena, fab_base_bits_words((uint32_t)count), sizeof(*needed));
    status = c.arena.failed ? FAB_E_NOMEM : FAB_OK;
    if (status == FAB_OK)
        choose(&c, link, count, needed, ret);
    fab_base_arena_fini(&c.arena);
    fab_health_floor_fini(&c.floor);
    return status;
}

/* ---- what would be cut off ------------------------------------------------------------------- */

/* Sets in `seen` the bits of the nodes that the manager's node can reach over links that are not
 * excluded. The search continues only at switches, because other nodes forward no packets. */
static void reach(const struct fab_fabric *f, const uint64_t *out, uint64_t *seen, uint32_t *queue)
{
    uint32_t self = fab_fabric_port(f, f->self_port)->node, head = 0, tail = 0;
    fab_base_bits_set(seen, self);
    queue[tail++] = self;
    while (head < tail) {
        uint32_t node = queue[head++];
        if (node != self && !fab_fabric_node_is_switch(f, node))
            continue;
        for (uint32_t i = 0; i <= f->nodes[node].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, node, (uint8_t)i),
                     far = fab_fabric_peer_node(f, port);
            if (far != FAB_NONE && !fab_base_bits_get(out, port) && fab_base_bits_add(seen, far))
                queue[tail++] = far;
        }
    }
}

int fab_health_isolation_cut_off(const struct fab_fabric *f, const uint32_t *port, size_t count,
                                 uint32_t *ret_switches, uint32_t *ret_others, uint32_t *ret_first)
{
    if (f->self_port == FAB_NONE)
        return FAB_E_INVAL;
    uint64_t *out = fab_base_bits_new(f->port_count), *seen = fab_base_bits_new(f->node_count);
    uint32_t *queue = calloc(f->node_count + 1u, sizeof(*queue));
    bool good = out && seen && queue;
    for (size_t i = 0; good && i < count; i++) {
        fab_base_bits_set(out, port[i]);
        if (fab_fabric_port(f, port[i])->peer != FAB_NONE)
            fab_base_bits_set(out, fab_fabric_port(f, port[i])->peer);
    }
    if (good) {
        reach(f, out, seen, queue);
        *ret_switches = *ret_others = 0;
        *ret_first = FAB_NONE;
        for (uint32_t n = f->node_count; n-- > 0;) {
            if (fab_base_bits_get(seen, n))
                continue;
            *ret_first = n;
            *(fab_fabric_node_is_switch(f, n) ? ret_switches : ret_others) += 1;
        }
    }
    free(out);
    free(seen);
    free(queue);
    return good ? FAB_OK : FAB_E_NOMEM;
}
