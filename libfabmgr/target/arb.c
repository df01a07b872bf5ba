/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes VL arbitration tables (IBA 7.6.9). A port cycles through its low-priority table. At each
 * entry it sends whole packets of the entry's VL until `weight` times 64 bytes are sent. The
 * high-priority table works in the same way and has precedence: while its VLs have packets, the
 * port sends them, and after each LimitOfHighPriority times 4096 bytes it may send one packet of
 * low priority.
 *
 * A port sends a whole packet as long as any weight is left. So only weights of whole packets of
 * 4096 bytes give exact shares; an entry holds at most three packets (weight 192). To find the
 * number of packets of each VL in one cycle of the table, find_round() tries all cycles of up to
 * 100 packets. Of the cycles that fit the table, it takes the one that is closest to the shares; of
 * several equally close cycles, it takes the shortest. The entries of each VL are spread evenly
 * over the table.
 *
 * VLs that no class uses also get an entry, if the table has room. Without it, packets that entered
 * such a VL before a change of the SLtoVLMappingTables would wait for ever.
 *
 * LimitOfHighPriority is the largest value with which the low-priority VLs still get their share if
 * all packets have the MTU of the link. Even with limit 0, they get only every second packet, so at
 * most half of a link can be guaranteed to them. fab_target_arb_guarantee() computes what tables
 * guarantee.
 */
#include "libfabmgr/target/arb.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/target/target.h"

#define PACKET 64 /* weight of one packet of 4096 bytes */
/* maximum number of packets of 4096 bytes for one table entry, whose weight has 8 bits */
#define ENTRY_PACKETS 3u
#define ROUND_MOST 100u
#define WHOLE 100000u /* 100 percent, as a number of thousandths of a percent */
#define BLOCK 32
#define UNBOUNDED 255

void fab_target_arb_cache_fini(struct fab_arb_cache *b)
{
    free(b->entry);
    *b = (struct fab_arb_cache){0};
}

/* ---- the share of each VL -------------------------------------------------------------------- */

uint32_t fab_target_class_share(const struct fab_classes *c, uint8_t class)
{
    uint32_t given = 0, open = 0;
    if (c == NULL)
        return WHOLE;
    for (unsigned i = 0; i < c->count; i++) {
        given += c->class[i].share * 1000u;
        open += c->class[i].share == 0;
    }
    if (c->class[class].share > 0)
        return c->class[class].share * 1000u;
    return given < WHOLE ? (WHOLE - given) / open : 0;
}

uint16_t fab_target_class_vls(const struct fab_fabric *f, const struct fab_policy *p,
                              const struct fab_vls *v, uint32_t port, uint8_t level)
{
    const unsigned out = fab_target_vls_port_class(v, port),
                   classes = v->classes > 0 ? v->classes : 1;
    const unsigned sls = v->sls > 0 ? v->sls : 1;
    uint8_t vls = fab_target_port_vls(f, p, port);
    uint16_t lanes = 0;
    if (!fab_target_vls_multiple(v))
        return 1;
    for (unsigned in = 0; in < classes; in++)
        for (unsigned e = 0; e < sls; e++) {
            uint8_t vl = v->vl[in][out][fab_target_vls_level_sl(v, level, (uint8_t)e)];
            if (vl < FAB_VLS_MAX)
                lanes |= (uint16_t)(1u << vl % vls);
        }
    return lanes;
}

struct lane {
    uint8_t vl;
    uint32_t share;
    /* number of packets in one cycle of the table */
    uint32_t packets;
};
struct lanes {
    struct lane lane[FAB_VLS_MAX];
    unsigned count;
    uint32_t share; /* sum of the shares of the VLs in lane[] */
};

static void add_lane(struct lanes *to, uint8_t vl, uint32_t share)
{
    to->lane[to->count++] = (struct lane){.vl = vl, .share = share > 0 ? share : 1};
    to->share += share > 0 ? share : 1;
}

/* Finds the VLs of high and of low priority at a port, with their shares. *ret_idle is a bitset of
 * the VLs that no traffic class uses. */
static void find_lanes(const struct fab_fabric *f, const struct fab_policy *p,
                       const struct fab_vls *v, uint32_t port, struct lanes *high,
                       struct lanes *low, uint16_t *ret_idle)
{
    const struct fab_classes *c = p->classes;
    uint32_t share[FAB_VLS_MAX] = {0};
    uint16_t used = 0, urgent = 0;
    uint8_t vls = fab_target_port_vls(f, p, port);
    vls = v->count < vls ? v->count : vls;
    for (uint8_t level = 0; level < fab_target_vls_levels(v); level++) {
        uint16_t lanes = fab_target_class_vls(f, p, v, port, level);
        unsigned each = (unsigned)__builtin_popcount(lanes);
        used |= lanes;
        urgent |= c->class[level].high ? lanes : 0;
        for (unsigned vl = 0; vl < FAB_VLS_MAX; vl++)
            share[vl] += lanes >> vl & 1 ? fab_target_class_share(c, level) / each : 0;
    }
    if (urgent == used || fab_fabric_port(f, port)->info.vlarb_high_cap == 0)
        /* all VLs in use have high priority, or the port has no high-priority table; so no VL can
         * have precedence, and all VLs use the low-priority table */
        urgent = 0;
    for (uint8_t vl = 0; vl < vls; vl++)
        if (used >> vl & 1)
            add_lane(urgent >> vl & 1 ? high : low, vl, share[vl]);
    *ret_idle = (uint16_t)(((1u << vls) - 1) & ~used);
}

/* ---- a table --------------------------------------------------------------------------------- */

static uint32_t entries_of(uint32_t packets)
{
    return (packets + ENTRY_PACKETS - 1) / ENTRY_PACKETS;
}

/* Distributes the packets of one cycle of the table among the VLs, in proportion to their shares.
 * round: approximate number of packets in the cycle. Returns the greatest shortfall of a VL, in
 * millionths of its share; UINT32_MAX if the table would need more than `room` entries. */
static uint32_t try_round(struct lanes *l, uint32_t round, uint32_t room)
{
    uint32_t sum = 0, entries = 0, worst = 0;
    for (unsigned i = 0; i < l->count; i++) {
        struct lane *n = &l->lane[i];
        n->packets = (uint32_t)(((uint64_t)n->share * round + l->share / 2) / l->share);
        n->packets += n->packets == 0;
        sum += n->packets;
        entries += entries_of(n->packets);
    }
    if (entries > room)
        return UINT32_MAX;
    for (unsigned i = 0; i < l->count; i++) {
        const struct lane *n = &l->lane[i];
        uint64_t due = (uint64_t)n->share * sum, has = (uint64_t)n->packets * l->share;
        uint32_t lacks = has < due ? (uint32_t)((due - has) * 1000000 / due) : 0;
        worst = lacks > worst ? lacks : worst;
    }
    return worst;
}

/* Sets lane[].packets to the number of packets that each VL should send in one cycle of a table of
 * `room` entries. Returns false if the table has too few entries. */
static bool find_round(struct lanes *l, uint32_t room)
{
    uint32_t best = UINT32_MAX, at = 0;
    for (uint32_t round = l->count; round <= ROUND_MOST && best > 0; round++) {
        uint32_t worst = try_round(l, round, room);
        if (worst < best) {
            best = worst;
            at = round;
        }
    }
    return best != UINT32_MAX && try_round(l, at, room) != UINT32_MAX;
}

/* Returns the VL for the next entry of the table, as an index in l->lane[]; -1: the table is
 * complete. Spreads the entries of each VL evenly over the table. done[]: number of entries that
 * each VL has so far. */
static int next_lane(const struct lanes *l, const uint32_t done[FAB_VLS_MAX])
{
    int next = -1;
    uint32_t first = UINT32_MAX;
    for (unsigned i = 0; i < l->count; i++) {
        uint32_t all = entries_of(l->lane[i].packets);
        uint32_t due = done[i] < all ? (2 * done[i] + 1) * 10000 / all : UINT32_MAX;
        if (due < first) {
            first = due;
            next = (int)i;
        }
    }
    return next;
}

static uint8_t lay_out(const struct lanes *l, struct fab_arb_entry *entry)
{
    uint32_t done[FAB_VLS_MAX] = {0};
    uint8_t count = 0;
    for (int i; (i = next_lane(l, done)) >= 0; done[i]++) {
        const struct lane *n = &l->lane[i];
        uint32_t all = entries_of(n->packets);
        uint32_t packets = n->packets / all + (done[i] < n->packets % all);
        entry[count++] = (struct fab_arb_entry){n->vl, (uint8_t)(packets * PACKET)};
    }
    return count;
}

static bool fill(struct lanes *l, uint8_t cap, struct fab_arb_entry *entry, uint8_t *ret_count)
{
    uint32_t room = cap < FAB_ARB_ENTRIES ? cap : FAB_ARB_ENTRIES;
    if (!find_round(l, room))
        return false;
    *ret_count = lay_out(l, entry);
    return true;
}

static void add_idle(struct fab_arb *a, uint16_t idle, uint8_t cap)
{
    for (uint8_t vl = 0; vl < FAB_VLS_MAX; vl++)
        if (idle >> vl & 1 && a->lows < cap && a->lows < FAB_ARB_ENTRIES)
            a->low[a->lows++] = (struct fab_arb_entry){vl, 1};
}

/* ---- both tables ----------------------------------------------------------------------------- */

static uint8_t find_limit(const struct lanes *high, const struct lanes *low, uint32_t mtu)
{
    uint64_t limit = (uint64_t)high->share * mtu / ((uint64_t)low->share * 4096);
    return limit < UNBOUNDED ? (uint8_t)limit : UNBOUNDED - 1;
}

/* Copies a table that the operator has configured, but omits entries of VLs that the port lacks.
 * Returns the number of entries copied, at most `cap`. */
static uint8_t take_given(const struct fab_arb_entry *given, uint8_t count, uint8_t cap,
                          uint8_t vls, struct fab_arb_entry *entry)
{
    uint8_t taken = 0;
    for (uint8_t i = 0; i < count && taken < cap; i++)
        if (given[i].vl < vls)
            entry[taken++] = given[i];
    return taken;
}

static bool compute_given(const struct fab_port_info *info, const struct fab_classes *c,
                          uint8_t vls, struct fab_arb *a)
{
    a->highs = take_given(c->high, c->highs, info->vlarb_high_cap, vls, a->high);
    a->lows = take_given(c->low, c->lows, info->vlarb_low_cap, vls, a->low);
    a->limit = c->limit;
    return a->lows > 0 || a->highs > 0;
}

static bool compute(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb *a)
{
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    struct lanes high = {.count = 0}, low = {.count = 0};
    uint16_t idle;
    a->whole = true;
    if (p->classes->highs + p->classes->lows > 0)
        return compute_given(info, p->classes, fab_target_port_vls(f, p, port), a);
    find_lanes(f, p, v, port, &high, &low, &idle);
    if (!fill(&low, info->vlarb_low_cap, a->low, &a->lows))
        return false;
    if (high.count > 0 && !fill(&high, info->vlarb_high_cap, a->high, &a->highs))
        return false;
    if (high.count > 0)
        a->limit = p->classes->has_limit ? p->classes->limit
                                         : find_limit(&high, &low, fab_target_mtu(f, p, port));
    add_idle(a, idle, info->vlarb_low_cap);
    return true;
}

/* Computes tables for a policy without traffic classes: all VLs get the same share. Returns false
 * if the low-priority table has too few entries. */
static bool compute_even(const struct fab_port_info *info, uint8_t vls, struct fab_arb *a)
{
    if (info->vlarb_low_cap < vls)
        return false;
    for (a->lows = 0; a->lows < vls; a->lows++)
        a->low[a->lows] = (struct fab_arb_entry){a->lows, PACKET};
    return true;
}

/* Returns the key of a port in the cache of tables. The key contains all properties of the port on
 * which its tables depend. The fabric, the policy and `v` are the same for all entries of a
 * cache. */
static uint64_t key_of(const struct fab_fabric *f, const struct fab_policy *p,
                       const struct fab_vls *v, uint32_t port)
{
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    return (uint64_t)fab_target_mtu(f, p, port) << 32 | (uint64_t)info->vlarb_low_cap << 24 |
           (uint64_t)info->vlarb_high_cap << 16 |
           (uint64_t)fab_target_vls_port_class(v, port) << 8 | fab_target_port_vls(f, p, port);
}

static void remember(struct fab_arb_cache *b, uint64_t key, const struct fab_arb *a)
{
    struct fab_arb_cache_entry *more = b->entry;
    if (b->count == b->room)
        more = fab_base_grow(b->entry, sizeof(*more), b->count + 1, &b->room);
    if (more == NULL)
        /* If memory runs out, these tables are not cached. They are computed again for the next
         * port with this key. */
        return;
    b->entry = more;
    more[b->count++] = (struct fab_arb_cache_entry){key, *a};
}

bool fab_target_arb(const struct fab_fabric *f, const struct fab_policy *p, const struct fab_vls *v,
                    uint32_t port, struct fab_arb_cache *cache, struct fab_arb *ret)
{
    uint8_t vls = fab_target_port_vls(f, p, port);
    *ret = (struct fab_arb){0};
    vls = v->count < vls ? v->count : vls;
    if (vls < 2)
        return false;
    if (p->classes == NULL || v->levels < 2)
        return compute_even(&fab_fabric_port(f, port)->info, vls, ret);
    uint64_t key = key_of(f, p, v, port);
    for (size_t i = 0; cache != NULL && i < cache->count; i++)
        if (cache->entry[i].key == key) {
            *ret = cache->entry[i].arb;
            return ret->lows + ret->highs > 0;
        }
    if (!compute(f, p, v, port, ret))
        *ret = (struct fab_arb){0};
    if (cache != NULL)
        remember(cache, key, ret);
    return ret->lows + ret->highs > 0;
}

void fab_target_arb_block(const struct fab_arb *a, unsigned block, struct fab_vlarb *ret)
{
    const struct fab_arb_entry *entry = block <= 2 ? a->low : a->high;
    const unsigned count = block <= 2 ? a->lows : a->highs, at = block % 2 ? 0 : BLOCK;
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < BLOCK && at + i < count; i++) {
        ret->entry[i].vl = entry[at + i].vl;
        ret->entry[i].weight = entry[at + i].weight;
    }
}

bool fab_target_arb_has_block(const struct fab_arb *a, const struct fab_port_info *info,
                              unsigned block)
{
    unsigned cap = block <= 2 ? info->vlarb_low_cap : info->vlarb_high_cap;
    return cap > (block % 2 ? 0u : BLOCK) && (a->whole || block == 1);
}

/* ---- guarantees ------------------------------------------------------------------------------ */

/* Returns the number of packets of `mtu` bytes that the VLs in the bitset `lanes` may send together
 * in one cycle of the table. Sets *ret_least to the number of packets of the VL with the fewest
 * packets, among those that have an entry. */
static uint32_t packets_of(const struct fab_arb_entry *entry, uint8_t count, uint16_t lanes,
                           uint32_t mtu, uint32_t *ret_least)
{
    const uint32_t unit = mtu / 64;
    uint32_t by_vl[16] = {0}, sum = 0, least = UINT32_MAX;
    for (uint8_t i = 0; i < count; i++)
        by_vl[entry[i].vl & 15] += (entry[i].weight + unit - 1) / unit;
    for (unsigned vl = 0; vl < 16; vl++) {
        if (!(lanes >> vl & 1) || by_vl[vl] == 0)
            continue;
        sum += by_vl[vl];
        least = by_vl[vl] < least ? by_vl[vl] : least;
    }
    *ret_least = sum > 0 ? least : 0;
    return sum;
}

static bool waits(const struct fab_arb_entry *entry, uint8_t count, uint16_t lanes)
{
    for (uint8_t i = 0; i < count; i++)
        if (entry[i].weight > 0 && lanes >> entry[i].vl & 1)
            return true;
    return false;
}

uint32_t fab_target_arb_guarantee(const struct fab_arb *a, uint16_t mine, uint16_t others,
                                  uint32_t mtu)
{
    bool high = waits(a->high, a->highs, mine);
    const struct fab_arb_entry *table = high ? a->high : a->low;
    uint8_t count = high ? a->highs : a->lows;
    uint32_t low_part = 1000, least, unused;
    uint16_t urgent = high ? mine | others : others;
    others &= (uint16_t)~mine;
    if (waits(a->high, a->highs, urgent) && waits(a->low, a->lows, high ? others : mine))
        low_part = a->limit == UNBOUNDED ? 0
                   : a->limit == 0       ? 500
                                         : mtu * 1000 / (a->limit * 4096u + mtu);
    else if (high)
        low_part = 0;
    (void)packets_of(table, count, mine, mtu, &least);
    uint32_t rest = packets_of(table, count, others, mtu, &unused);
    return least == 0 ? 0 : (high ? 1000 - low_part : low_part) * least / (least + rest);
}
