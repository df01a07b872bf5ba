/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the MTU and rate of paths. The code follows a path through the active tables from switch to
 * switch; the MTU and rate of the path are the lowest of its links. Three measures make this fast.
 *
 * First, an array has those properties of each port that limit paths, in only 12 bytes per port.
 * Second, a cache has the result in one byte for each pair of a leaf and a destination LID, because
 * all endports of a leaf use the same path. The memory of the cache comes from calloc, so the
 * operating system provides only the pages that are used.
 *
 * Third, paths need not be followed if all ISLs have the same MTU and rate, or if all ISLs are
 * better than the links of endports. Then the ISLs limit all paths in the same way, and the
 * verification has proved that there is a path between any two endports. If only a few ISLs are
 * different, the code follows only the paths to LIDs that some switch forwards over one of these
 * ISLs.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sa/context.h"

#define CACHE_MOST ((size_t)64 << 20) /* maximum size of the cache in bytes */
#define HOPS_MOST 63
#define NO_BOUND_MTU 7
#define NO_BOUND_RANK 31
/* The byte of a path in the cache has the rank of the rate (rate.c) in its low RANK_BITS bits, and
 * the MTU in the bits above. Rank 30 means that there is no path. No path has MTU 0, so a byte of 0
 * means that the path is not in the cache. */
#define RANK_BITS 5
#define NO_PATH (NO_BOUND_MTU << RANK_BITS | (NO_BOUND_RANK - 1))
/* An ISL is unusual if its MTU or rate differs from that of most ISLs. If more than about 1 /
 * UNUSUAL_SHARE of the switches have unusual ISLs, the code follows all paths. */
#define UNUSUAL_SHARE 8

/* ---- preparing ------------------------------------------------------------------------------- */

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Returns the NeighborMTU that the manager sets for a link (libfabmgr/target). The function does
 * not use the NeighborMTU in the view, because the PortInfo there may be older than the manager's
 * Set of NeighborMTU. */
static uint8_t link_mtu(const struct fab_view *v, const struct fab_port_info *a,
                        const struct fab_port_info *b)
{
    uint8_t mtu = lesser(a->mtu_cap, b->mtu_cap);
    if (mtu == 0)
        mtu = a->neighbor_mtu;
    return v->policy.max_mtu != 0 ? lesser(mtu, v->policy.max_mtu) : mtu;
}

/* Sets the limits of port 0 of a switch, which has no link, to the MTU and the rate in its
 * PortInfo. If PortInfo does not report one of these values, there is no such limit. */
static void set_port0(const struct fab_fabric *f, uint32_t port, struct fab_sa_link *c)
{
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    c->mtu = info->mtu_cap != 0 ? info->mtu_cap : NO_BOUND_MTU;
    c->rank = fab_sa_rank(fab_wire_link_rate(info));
    if (c->rank == 0)
        c->rank = NO_BOUND_RANK;
}

static void set_link(struct fab_sa *sa, uint32_t port)
{
    const struct fab_fabric *f = sa->view->fabric;
    struct fab_sa_link *c = &sa->links[port];
    uint32_t peer = fab_fabric_port(f, port)->peer;
    *c = (struct fab_sa_link){.peer = FAB_NONE, .node = FAB_NONE};
    if (fab_fabric_port(f, port)->num == 0) {
        set_port0(f, port, c);
        return;
    }
    if (peer == FAB_NONE || !fab_fabric_port_is_up(f, port))
        return;
    const struct fab_port_info *a = &fab_fabric_port(f, port)->info,
                               *b = &fab_fabric_port(f, peer)->info;
    c->peer = peer;
    c->node = fab_fabric_port(f, peer)->node;
    c->mtu = link_mtu(sa->view, a, b);
    c->rank = lesser(fab_sa_rank(fab_wire_link_rate(a)), fab_sa_rank(fab_wire_link_rate(b)));
}

static void set_links(struct fab_sa *sa)
{
    const struct fab_fabric *f = sa->view->fabric;
    const struct fab_lids *lids = &sa->view->target->lids;
    for (uint32_t port = 0; port < f->port_count; port++) {
        set_link(sa, port);
        if (lids->base[port] == 0)
            continue;
        sa->endports[sa->endport_count++] = port;
        if (lids->lmc[port] > sa->max_lmc)
            sa->max_lmc = lids->lmc[port];
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        sa->first_port[sw] = f->nodes[sw].first_port;
    sa->first_port[f->switch_count] =
        f->switch_count < f->node_count ? f->nodes[f->switch_count].first_port : f->port_count;
}

/* Assigns a row of the path cache to each switch that has endports, and allocates the cache, unless
 * it would be too large. */
static void assign_rows(struct fab_sa *sa)
{
    const struct fab_fabric *f = sa->view->fabric;
    size_t rows = 0, size;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        bool has_endport = false;
        for (uint32_t port = sa->first_port[sw] + 1; port < sa->first_port[sw + 1]; port++)
            has_endport |=
                sa->links[port].node != FAB_NONE && sa->links[port].node >= f->switch_count;
        sa->row[sw] = has_endport ? (uint32_t)rows++ : FAB_NONE;
    }
    if (fab_base_size_mul(rows, (size_t)sa->view->target->lids.top + 1, &size) &&
        size <= CACHE_MOST / sizeof *sa->cache)
        /* if there is no memory, there is no cache */
        sa->cache = calloc(size > 0 ? size : 1, sizeof *sa->cache);
}

static bool is_switch_port(const struct fab_sa *sa, uint32_t port)
{
    return port < sa->first_port[sa->view->fabric->switch_count];
}

static bool between_switches(const struct fab_sa *sa, uint32_t port)
{
    return sa->links[port].node < sa->view->fabric->switch_count;
}

/* Returns the highest MTU and the highest rank of a rate that any link of an endport has. */
static struct fab_sa_link best_of_ends(const struct fab_sa *sa)
{
    struct fab_sa_link best = {0};
    for (uint32_t i = 0; i < sa->endport_count; i++) {
        const struct fab_sa_link *c = &sa->links[sa->endports[i]];
        if (c->peer == FAB_NONE)
            continue;
        best.mtu = c->mtu > best.mtu ? c->mtu : best.mtu;
        best.rank = c->rank > best.rank ? c->rank : best.rank;
    }
    return best;
}

/* Returns the MTU and the rank of the rate of a link, packed into one byte. Values above those in
 * *best, the highest of the links of endports, are replaced by them, because no path can use
 * more. */
static uint8_t use_of(const struct fab_sa_link *c, const struct fab_sa_link *best)
{
    return (uint8_t)(lesser(c->mtu, best->mtu) << RANK_BITS | lesser(c->rank, best->rank));
}

/* Returns the value of use_of() that most ISLs have. ISLs with another value are called unusual. */
static uint8_t most_common_use(const struct fab_sa *sa, const struct fab_sa_link *best)
{
    uint32_t count[256] = {0};
    uint8_t most = 0;
    for (uint32_t port = 0; port < sa->first_port[sa->view->fabric->switch_count]; port++)
        if (between_switches(sa, port)) {
            uint8_t use = use_of(&sa->links[port], best);
            if (++count[use] > count[most])
                most = use;
        }
    return most;
}

/* Sets the bits in sa->unusual of the LIDs that switch `sw` forwards over an unusual ISL. Returns
 * false if the switch has no unusual ISL. most: the value of use_of() that most ISLs have. */
static bool mark_unusual(struct fab_sa *sa, uint32_t sw, uint8_t most,
                         const struct fab_sa_link *best)
{
    const struct fab_lft *lft = &sa->view->target->lft;
    bool unusual[256] = {0}, any = false;
    for (uint32_t port = sa->first_port[sw] + 1; port < sa->first_port[sw + 1]; port++)
        if (between_switches(sa, port) && use_of(&sa->links[port], best) != most)
            any = unusual[port - sa->first_port[sw]] = true;
    for (uint32_t lid = 0; any && lid <= lft->top; lid++)
        if (unusual[fab_target_lft_at(lft, sw, lid)])
            sa->unusual[lid / 64] |= UINT64_C(1) << lid % 64;
    return any;
}

/* Finds the LIDs that some switch forwards over an unusual ISL; only paths to these LIDs must be
 * followed. If memory runs out, or too many switches have unusual ISLs, sa->unusual stays NULL, so
 * all paths must be followed. */
static void find_unusual(struct fab_sa *sa)
{
    const struct fab_view *v = sa->view;
    uint32_t lids =
        v->target->lids.top > v->target->lft.top ? v->target->lids.top : v->target->lft.top;
    uint32_t left = v->fabric->switch_count / UNUSUAL_SHARE + 2;
    const struct fab_sa_link best = best_of_ends(sa);
    uint8_t most = most_common_use(sa, &best);
    sa->unusual = calloc(lids / 64u + 1, sizeof *sa->unusual);
    sa->between =
        (struct fab_sa_link){.mtu = most >> RANK_BITS, .rank = most & ((1u << RANK_BITS) - 1)};
    for (uint32_t sw = 0; sa->unusual != NULL && sw < v->fabric->switch_count; sw++)
        if (mark_unusual(sa, sw, most, &best) && left-- == 0) {
            free(sa->unusual);
            sa->unusual = NULL;
        }
}

/* Returns true if all endports are in one connected component of the fabric. Returns false if they
 * are not, or if memory ran out. */
static bool all_connected(const struct fab_sa *sa)
{
    const struct fab_fabric *f = sa->view->fabric;
    uint32_t *sets = fab_base_alloc_array(f->node_count, sizeof *sets);
    bool joined = sets != NULL;
    if (sets != NULL)
        fab_base_sets_init(sets, f->node_count);
    for (uint32_t port = 0; sets != NULL && port < f->port_count; port++)
        if (sa->links[port].peer != FAB_NONE)
            fab_base_sets_join(sets, fab_fabric_port(f, port)->node, sa->links[port].node);
    for (uint32_t i = 1; joined && i < sa->endport_count; i++)
        joined = fab_base_sets_find(sets, fab_fabric_port(f, sa->endports[i])->node) ==
                 fab_base_sets_find(sets, fab_fabric_port(f, sa->endports[0])->node);
    free(sets);
    return joined;
}

int fab_sa_new(const struct fab_view *v, struct fab_sa **ret)
{
    const struct fab_fabric *f = v->fabric;
    if (v->target == NULL)
        return FAB_E_INVAL;
    struct fab_sa *sa = calloc(1, sizeof *sa);
    if (sa == NULL)
        return FAB_E_NOMEM;
    sa->view = fab_view_ref(v);
    sa->endports = fab_base_arena_alloc(&sa->arena, f->port_count, sizeof *sa->endports);
    sa->links = fab_base_arena_alloc(&sa->arena, f->port_count, sizeof *sa->links);
    sa->first_port =
        fab_base_arena_alloc(&sa->arena, (size_t)f->switch_count + 1, sizeof *sa->first_port);
    sa->row = fab_base_arena_alloc(&sa->arena, f->switch_count, sizeof *sa->row);
    if (sa->arena.failed ||
        fab_qos_matcher_init(&sa->matcher, f, &v->policy, &v->target->pkeys) != FAB_OK) {
        fab_sa_free(sa);
        return FAB_E_NOMEM;
    }
    set_links(sa);
    assign_rows(sa);
    sa->proved = sa->max_lmc == 0 && v->verdict.pairs > 0 && fab_verify_verdict_good(&v->verdict);
    if (sa->proved && all_connected(sa))
        find_unusual(sa);
    *ret = sa;
    return FAB_OK;
}

void fab_sa_free(struct fab_sa *sa)
{
    if (sa == NULL)
        return;
    fab_qos_matcher_fini(&sa->matcher);
    fab_view_unref(sa->view);
    fab_base_arena_fini(&sa->arena);
    free(sa->cache);
    free(sa->unusual);
    free(sa);
}

const struct fab_view *fab_sa_view(const struct fab_sa *sa)
{
    return sa->view;
}

void fab_sa_set_aliases(struct fab_sa *sa, const struct fab_sa_aliases *aliases)
{
    sa->aliases = aliases;
}

int fab_sa_set_managers(struct fab_sa *sa, const struct fab_sm_info *info, uint32_t count)
{
    if (count > FAB_SA_MANAGERS)
        return FAB_E_LIMIT;
    memcpy(sa->manager, info, count * sizeof *info);
    sa->manager_count = count;
    return FAB_OK;
}

uint32_t fab_sa_port_of_guid(const struct fab_sa *sa, uint64_t guid)
{
    uint32_t port = fab_fabric_port_by_guid(sa->view->fabric, guid);
    if (port == FAB_NONE && sa->aliases != NULL) {
        uint64_t own = fab_sa_aliases_port(sa->aliases, guid);
        port = own != 0 ? fab_fabric_port_by_guid(sa->view->fabric, own) : FAB_NONE;
    }
    return port != FAB_NONE && sa->view->target->lids.base[port] != 0 ? port : FAB_NONE;
}

/* ---- following paths ------------------------------------------------------------------------- */

struct limits {
    unsigned mtu, rank, hops;
};

static void lower(struct limits *w, const struct fab_sa_link *c)
{
    w->mtu = c->mtu < w->mtu ? c->mtu : w->mtu;
    w->rank = c->rank < w->rank ? c->rank : w->rank;
}

/* Follows the active tables from switch `sw` to a LID, and finds the limits of this path. Returns
 * false if there is no path. */
static bool follow(const struct fab_sa *sa, uint32_t sw, uint32_t lid, struct limits *ret)
{
    const struct fab_view *v = sa->view;
    uint32_t owner = v->target->lids.owner[lid];
    struct limits w = {.mtu = NO_BOUND_MTU, .rank = NO_BOUND_RANK, .hops = 1};
    for (; w.hops <= HOPS_MOST; w.hops++) {
        uint32_t out = fab_sa_out_port(sa, sw, lid);
        if (out == FAB_NONE)
            return false;
        const struct fab_sa_link *c = &sa->links[out];
        lower(&w, c);
        *ret = w;
        /* the path ends here if the LID belongs to port 0 of this switch */
        if (out == sa->first_port[sw])
            return owner == out;
        if (c->peer == FAB_NONE)
            return false;
        if (c->node >= v->fabric->switch_count)
            return c->peer == owner;
        sw = c->node;
    }
    return false;
}

/* Finds the limits of the path from switch `sw` to a LID in the cache. If they are not in the
 * cache, follows the path and stores them there. The cache does not have the number of hops.
 * Returns false if there is no path. */
static bool follow_cached(struct fab_sa *sa, uint32_t sw, uint32_t lid, struct limits *ret)
{
    if (sa->cache == NULL || sa->row[sw] == FAB_NONE)
        return follow(sa, sw, lid, ret);
    uint8_t *cache = &sa->cache[(size_t)sa->row[sw] * (sa->view->target->lids.top + 1) + lid];
    if (*cache == 0)
        *cache = follow(sa, sw, lid, ret) ? (uint8_t)(ret->mtu << RANK_BITS | ret->rank) : NO_PATH;
    ret->mtu = *cache >> RANK_BITS;
    ret->rank = *cache & ((1u << RANK_BITS) - 1);
    return *cache != NO_PATH;
}

/* Finds the limits of the path from a port to a LID. hops: true if the caller needs the number of
 * hops, which the cache does not have. Returns UNREACHABLE if there is no path. */
static int path_to(struct fab_sa *sa, uint32_t src, uint32_t lid, bool hops, struct limits *ret)
{
    const struct fab_view *v = sa->view;
    const struct fab_sa_link *c = &sa->links[src];
    bool from_switch = is_switch_port(sa, src);
    uint32_t sw = from_switch ? fab_fabric_port(v->fabric, src)->node : c->node;
    struct limits w = {.mtu = NO_BOUND_MTU, .rank = NO_BOUND_RANK};
    lower(&w, c);
    if (!from_switch && (c->peer == FAB_NONE ||
                         (sw >= v->fabric->switch_count && c->peer != v->target->lids.owner[lid])))
        return FAB_E_UNREACHABLE;
    if (sw < v->fabric->switch_count) {
        struct limits rest = {0};
        if (!(hops ? follow(sa, sw, lid, &rest) : follow_cached(sa, sw, lid, &rest)))
            return FAB_E_UNREACHABLE;
        lower(&w, &(struct fab_sa_link){.rank = (uint8_t)rest.rank, .mtu = (uint8_t)rest.mtu});
        w.hops = rest.hops;
    }
    *ret = w;
    return FAB_OK;
}

/* Computes MTU and rate of a path between two adapters or routers without following the path, from
 * their links and from the MTU and rate of usual ISLs. Returns false if the path must be
 * followed. */
static bool skip_following(const struct fab_sa *sa, uint32_t src, uint32_t lid, struct limits *ret)
{
    if (sa->unusual == NULL || (sa->unusual[lid / 64] >> lid % 64 & 1) != 0)
        return false;
    uint32_t dst = sa->view->target->lids.owner[lid];
    const struct fab_sa_link *a = &sa->links[src], *b = &sa->links[dst];
    uint32_t switches = sa->view->fabric->switch_count;
    /* the function handles only ports of adapters and routers whose links lead to switches; member
     * `node` is the node at the other end of the link, or FAB_NONE */
    if (is_switch_port(sa, src) || is_switch_port(sa, dst) || a->node >= switches ||
        b->node >= switches)
        return false;
    *ret = (struct limits){.mtu = a->mtu, .rank = a->rank};
    lower(ret, b);
    if (a->node != b->node)
        lower(ret, &sa->between);
    return true;
}

/* Returns MTU and rate of the path from a port to itself. Since this path uses no link, they depend
 * only on the port. */
static struct limits loopback(const struct fab_sa *sa, uint32_t port)
{
    const struct fab_port_info *info = &fab_fabric_port(sa->view->fabric, port)->info;
    return (struct limits){.mtu = info->mtu_cap, .rank = fab_sa_rank(fab_wire_link_rate(info))};
}

/* Finds MTU and rate of the path from a port to a LID. hops: true if the caller also needs the
 * number of hops. Returns UNREACHABLE if there is no path. */
static int find_limits(struct fab_sa *sa, uint32_t src, uint32_t lid, bool hops, struct limits *ret)
{
    const struct fab_lids *lids = &sa->view->target->lids;
    if (lid == 0 || lid > lids->top || lids->owner[lid] == FAB_NONE)
        return FAB_E_UNREACHABLE;
    if (lids->owner[lid] == src) {
        *ret = loopback(sa, src);
        return FAB_OK;
    }
    if (!hops && skip_following(sa, src, lid, ret))
        return FAB_OK;
    return path_to(sa, src, lid, hops, ret);
}

int fab_sa_path_limits(struct fab_sa *sa, uint32_t src_port, uint32_t lid, uint8_t *ret_mtu,
                       uint8_t *ret_rank)
{
    struct limits w;
    int r = find_limits(sa, src_port, lid, false, &w);
    if (r != FAB_OK)
        return r;
    *ret_mtu = (uint8_t)w.mtu;
    *ret_rank = (uint8_t)w.rank;
    return FAB_OK;
}

int fab_sa_path(struct fab_sa *sa, uint32_t src_port, uint32_t lid, struct fab_sa_path *ret)
{
    struct limits w;
    int r = find_limits(sa, src_port, lid, true, &w);
    if (r == FAB_OK)
        *ret = (struct fab_sa_path){.mtu = (uint8_t)w.mtu,
                                    .rate = fab_sa_rate_of_rank((uint8_t)w.rank),
                                    .hops = (uint8_t)w.hops};
    return r;
}
