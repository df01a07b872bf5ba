/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the port masks of each MLID (multicast.h), and collects the channel dependencies of the
 * MLIDs that pass. The MFT blocks are sorted by MLID group, so the time is proportional to the
 * number of blocks and of ports in masks.
 */
#include "libfabmgr/verify/multicast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"

#define MASK_WORDS 4
#define PORTS (MASK_WORDS * 64)
#define GROUP_LIDS 32u

struct mask { /* bit i stands for port i */
    uint64_t word[MASK_WORDS];
};
struct check {
    const struct fab_verify_multicast_input *in;
    const struct fab_fabric *f;
    uint32_t n;
    struct fab_arena arena;
    /* [count] indices of the MFT blocks, sorted by MLID group */
    uint32_t *order;
    /* group_at[g]: index in order[] of the first block of MLID group g */
    uint32_t group_at[FAB_VERIFY_MLID_GROUPS + 1];
    /* [switches] port mask of each switch for the current MLID */
    struct mask *mask;
    /* [touches] the switches whose mask for the current MLID is not zero */
    uint32_t *touched;
    uint32_t touches;
    /* [switches] Union-find of the switches that the branches of the current MLID join. When an
     * MLID begins, each switch is its own root. */
    uint32_t *tree;
    /* [switches] the part (connected component) of the fabric to which each switch belongs, named
     * by the lowest id of its switches */
    uint32_t *part;
    /* part[] was computed without the switches whose MulticastFDBCap is lower than this number */
    uint32_t part_cap;
    uint32_t least; /* smallest MulticastFDBCap that is not 0 */
    /* [switches] Indexed by the id that names a part of the fabric (part[]): the root, in tree[],
     * of the multicast tree to which the first receiver in this part is attached. (First in the
     * list of the members of the current MLID.) FAB_NONE: the part has no receiver. */
    uint32_t *anchor;
    /* bitset of the parts of the fabric that have a switch with a non-zero mask */
    uint64_t *used;
    /* bitset of the switches to which members of the current MLID are attached */
    uint64_t *home;
    /* [port_count] 1 + index of the last MLID for which the port is a receiver; 0: none yet */
    uint32_t *receiver;
    /* channel dependencies of multicast packets; NULL: the caller does not want them */
    struct fab_verify_deps *deps;
    struct fab_multicast_verdict v;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint32_t group_of(const struct fab_block *b)
{
    return b->number % FAB_VERIFY_MLID_GROUPS;
}

static int sort_blocks(struct check *c)
{
    const struct fab_blocks *t = c->in->mft;
    c->order = fab_base_arena_alloc(&c->arena, t->count + 1, sizeof(*c->order));
    if (!c->order)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        c->group_at[group_of(&t->block[i]) + 1]++;
    for (unsigned g = 0; g < FAB_VERIFY_MLID_GROUPS; g++)
        c->group_at[g + 1] += c->group_at[g];
    uint32_t next[FAB_VERIFY_MLID_GROUPS];
    memcpy(next, c->group_at, sizeof(next));
    for (size_t i = 0; i < t->count; i++)
        c->order[next[group_of(&t->block[i])]++] = (uint32_t)i;
    return FAB_OK;
}

static bool is_zero(const struct mask *m)
{
    return (m->word[0] | m->word[1] | m->word[2] | m->word[3]) == 0;
}

static bool mask_has(const struct mask *m, uint32_t num)
{
    return (m->word[num / 64] >> (num % 64) & 1) != 0;
}

/* Reads the port masks of an MLID from the MFT blocks. Ignores blocks of switches or ports that do
 * not exist, because no switch holds them. */
static void read_masks(struct check *c, uint32_t slot)
{
    uint32_t group = slot / GROUP_LIDS;
    c->touches = 0;
    for (uint32_t i = c->group_at[group]; i < c->group_at[group + 1]; i++) {
        const struct fab_block *b = &c->in->mft->block[c->order[i]];
        uint32_t position = b->number / FAB_VERIFY_MLID_GROUPS;
        uint16_t entry = b->entry[slot % GROUP_LIDS];
        if (entry == 0 || b->id >= c->n || position >= PORTS / 16)
            continue;
        if (is_zero(&c->mask[b->id]))
            c->touched[c->touches++] = b->id;
        c->mask[b->id].word[position / 4] |= (uint64_t)entry << (position % 4 * 16);
    }
}

static void forget_masks(struct check *c)
{
    for (uint32_t i = 0; i < c->touches; i++)
        c->mask[c->touched[i]] = (struct mask){{0}};
}

/* ---- which switches links connect ------------------------------------------------------------ */

static uint32_t find(uint32_t *tree, uint32_t x)
{
    while (tree[x] != x) {
        tree[x] = tree[tree[x]];
        x = tree[x];
    }
    return x;
}

/* Returns the switch to which the working link of a port leads; FAB_NONE: none. */
static uint32_t next_switch(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, port);
    return peer != FAB_NONE && fab_fabric_node_is_switch(f, peer) && fab_fabric_port_is_up(f, port)
               ? peer
               : FAB_NONE;
}

static void join_parts(struct check *c, uint32_t sw)
{
    const struct fab_node *node = &c->f->nodes[sw];
    for (uint32_t num = 1; num <= node->num_ports; num++) {
        uint32_t next = next_switch(c->f, node->first_port + num);
        if (next == FAB_NONE || c->f->switches[next].multicast_fdb_cap < c->part_cap)
            continue;
        uint32_t a = find(c->part, sw), b = find(c->part, next);
        c->part[a > b ? a : b] = a < b ? a : b;
    }
}

/* Finds the connected parts of the fabric, as sets of switches. Switches with a MulticastFDBCap
 * below `cap` do not count, because their MFTs have no entry for the current MLID. */
static void find_parts(struct check *c, uint32_t cap)
{
    if (c->part_cap == cap)
        return;
    c->part_cap = cap;
    for (uint32_t sw = 0; sw < c->n; sw++)
        c->part[sw] = sw;
    for (uint32_t sw = 0; sw < c->n; sw++)
        if (c->f->switches[sw].multicast_fdb_cap >= cap)
            join_parts(c, sw);
    for (uint32_t sw = 0; sw < c->n; sw++)
        c->part[sw] = find(c->part, sw);
}

static void find_parts_of(struct check *c, uint32_t slot)
{
    find_parts(c, slot < c->least ? c->least : slot + 1);
}

/* ---- one MLID -------------------------------------------------------------------------------- */

struct lid_check {
    uint16_t mlid;
    uint32_t slot, stamp;
    int kind;
    uint32_t port;
};

static void fail(struct lid_check *l, int kind, uint32_t port)
{
    if (l->kind != FAB_OK)
        return;
    l->kind = kind;
    l->port = port;
}

/* Finds the switch and port to which a member is attached. Returns false if packets cannot reach
 * the member, because it has left the fabric, or because the MFT of its switch is too small for
 * this MLID. slot: index of the MLID in the MFT. */
static bool member_place(const struct check *c, const struct fab_verify_multicast_member *m,
                         uint32_t slot, uint32_t *ret_port, uint32_t *ret_sw, uint8_t *ret_num)
{
    uint32_t port = fab_fabric_port_by_guid(c->f, m->guid);
    if (port == FAB_NONE || !fab_verify_attachment(c->f, port, ret_sw, ret_num))
        return false;
    *ret_port = port;
    return c->f->switches[*ret_sw].multicast_fdb_cap > slot;
}

static void mark_receivers(struct check *c, const struct fab_verify_multicast_lid *lid,
                           const struct lid_check *l)
{
    for (uint32_t i = 0; lid && i < lid->count; i++) {
        const struct fab_verify_multicast_member *m = &c->in->member[lid->first + i];
        uint32_t port, sw;
        uint8_t num;
        if (m->receives && member_place(c, m, l->slot, &port, &sw, &num))
            c->receiver[port] = l->stamp;
    }
}

static void check_branch(struct check *c, struct lid_check *l, uint32_t port, uint32_t next)
{
    const struct fab_port *p = fab_fabric_port(c->f, port);
    const struct fab_port *peer = fab_fabric_port(c->f, p->peer);
    if (!mask_has(&c->mask[next], peer->num)) {
        /* the link is in the mask of only one of its two switches */
        fail(l, FAB_E_UNREACHABLE, port);
        return;
    }
    if (port > p->peer)
        /* the two switches were joined when the other end of the link was examined */
        return;
    uint32_t a = find(c->tree, p->node), b = find(c->tree, next);
    if (a == b)
        fail(l, FAB_E_LOOP, port);
    c->tree[a] = b;
}

static void check_port(struct check *c, struct lid_check *l, uint32_t sw, uint32_t num)
{
    const struct fab_node *node = &c->f->nodes[sw];
    uint32_t port = node->first_port + num;
    if (num > node->num_ports) {
        fail(l, FAB_E_INVAL, node->first_port);
        return;
    }
    uint32_t peer = num == 0 ? port : fab_fabric_port(c->f, port)->peer;
    if (num != 0 && (peer == FAB_NONE || !fab_fabric_port_is_up(c->f, port)))
        fail(l, FAB_E_INVAL, port);
    else if (num != 0 && fab_fabric_node_is_switch(c->f, fab_fabric_port(c->f, peer)->node))
        check_branch(c, l, port, fab_fabric_port(c->f, peer)->node);
    else if (c->receiver[peer] != l->stamp)
        fail(l, FAB_E_DENIED, port);
}

static void check_masks(struct check *c, struct lid_check *l)
{
    for (uint32_t i = 0; i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        if (l->slot >= c->f->switches[sw].multicast_fdb_cap)
            fail(l, FAB_E_LIMIT, c->f->nodes[sw].first_port);
        for (unsigned w = 0; w < MASK_WORDS; w++)
            for (uint64_t left = c->mask[sw].word[w]; left != 0; left &= left - 1)
                check_port(c, l, sw, w * 64 + (uint32_t)__builtin_ctzll(left));
        fab_base_bits_set(c->used, c->part[sw]);
    }
}

/* Fails the MLID if it has no members, but a mask that is not zero. */
static void check_unused(const struct check *c, struct lid_check *l,
                         const struct fab_verify_multicast_lid *lid)
{
    if (lid || c->touches == 0)
        return;
    uint32_t sw = c->touched[0], w = 0;
    while (c->mask[sw].word[w] == 0)
        w++;
    fail(l, FAB_E_DENIED,
         c->f->nodes[sw].first_port + w * 64 + (uint32_t)__builtin_ctzll(c->mask[sw].word[w]));
}

/* Checks that a member is in the multicast tree of its part of the fabric. */
static void check_member(struct check *c, struct lid_check *l,
                         const struct fab_verify_multicast_member *m)
{
    uint32_t port, sw;
    uint8_t num;
    if (!member_place(c, m, l->slot, &port, &sw, &num))
        return;
    uint32_t part = c->part[sw];
    c->v.members++;
    fab_base_bits_set(c->home, sw);
    if (c->anchor[part] == FAB_NONE)
        /* no receiver is in this part of the fabric */
        return;
    if (c->touches > 0 && !fab_base_bits_get(c->used, part)) {
        c->v.unserved++;
        return;
    }
    if (find(c->tree, sw) != c->anchor[part] || (m->receives && !mask_has(&c->mask[sw], num)))
        fail(l, FAB_E_UNREACHABLE, port);
}

/* If `set` is true, sets anchor[] of each part of the fabric to the multicast tree with the first
 * receiver in this part. If `set` is false, clears these elements of anchor[]. */
static void anchor(struct check *c, const struct lid_check *l,
                   const struct fab_verify_multicast_lid *lid, bool set)
{
    for (uint32_t i = 0; lid && i < lid->count; i++) {
        const struct fab_verify_multicast_member *m = &c->in->member[lid->first + i];
        uint32_t port, sw;
        uint8_t num;
        if (!m->receives || !member_place(c, m, l->slot, &port, &sw, &num))
            continue;
        if (!set)
            c->anchor[c->part[sw]] = FAB_NONE;
        else if (c->anchor[c->part[sw]] == FAB_NONE)
            c->anchor[c->part[sw]] = find(c->tree, sw);
    }
}

static void forget_homes(struct check *c, const struct lid_check *l,
                         const struct fab_verify_multicast_lid *lid)
{
    for (uint32_t i = 0; lid && i < lid->count; i++) {
        uint32_t port, sw;
        uint8_t num;
        if (member_place(c, &c->in->member[lid->first + i], l->slot, &port, &sw, &num))
            fab_base_bits_clear(c->home, sw);
    }
}

/* ---- dependencies ---------------------------------------------------------------------------- */

static const struct fab_vls *vls_of(const struct check *c)
{
    return c->in->unicast->in.vls;
}

static uint8_t class_of(const struct check *c, uint32_t port)
{
    return c->deps->vl_count > 1 ? fab_target_vls_port_class(vls_of(c), port) : 0;
}

/* Returns the VL on which a packet of SL `sl` leaves by port `out` if it entered the switch by a
 * port of class `in`; vl_count if the switch drops it. */
static uint32_t vl_of(const struct check *c, uint8_t in, uint32_t out, uint8_t sl)
{
    uint32_t count = c->deps->vl_count;
    if (count == 1)
        return 0;
    uint8_t vl = vls_of(c)->vl[in][class_of(c, out)][sl];
    return vl == FAB_VLS_MAX ? count : vl % count;
}

/* Returns the bitset of the VLs on which packets of SL `sl` may leave switch `sw` by `port`. */
static uint32_t vls_into(const struct check *c, uint32_t sw, uint32_t port, uint8_t sl)
{
    const uint32_t count = c->deps->vl_count;
    if (count == 1)
        return 1;
    /* the VLs of packets of the members at this switch; the next lines add the VLs of packets from
     * other switches of the tree */
    uint32_t set = fab_base_bits_get(c->home, sw) ? UINT32_C(1) << vl_of(c, 0, port, sl) : 0;
    for (uint32_t num = 1; num <= c->f->nodes[sw].num_ports; num++) {
        uint32_t in = c->f->nodes[sw].first_port + num;
        if (in != port && mask_has(&c->mask[sw], num) && next_switch(c->f, in) != FAB_NONE)
            set |= UINT32_C(1) << vl_of(c, class_of(c, in), port, sl);
    }
    return set & ((UINT32_C(1) << count) - 1);
}

/* Records the dependencies of packets that enter the switch by port `in`, and leave the switch by
 * all other ports of its mask. */
static void note_from(struct check *c, uint32_t sw, uint32_t in, uint8_t sl)
{
    const struct fab_node *node = &c->f->nodes[sw];
    const uint32_t from = fab_fabric_port(c->f, in)->peer;
    const uint32_t vls = vls_into(c, fab_fabric_port(c->f, from)->node, from, sl);
    const uint8_t in_class = class_of(c, in);
    for (unsigned w = 0; w < MASK_WORDS; w++)
        for (uint64_t left = c->mask[sw].word[w]; left != 0; left &= left - 1) {
            uint32_t num = w * 64 + (uint32_t)__builtin_ctzll(left), out = node->first_port + num;
            if (num == 0 || out == in || next_switch(c->f, out) == FAB_NONE)
                continue;
            uint32_t vl = vl_of(c, in_class, out, sl);
            for (uint32_t on = 0; on < c->deps->vl_count && vl < c->deps->vl_count; on++)
                if (vls >> on & 1)
                    fab_verify_deps_add_vl(c->deps, from * c->deps->vl_count + on, (uint8_t)num,
                                           (uint8_t)vl);
        }
}

static void note_dependencies(struct check *c, const struct fab_verify_multicast_lid *lid)
{
    uint32_t sls = lid && lid->sls != 0 ? lid->sls : 1;
    sls = c->deps->vl_count == 1 ? 1 : sls;
    for (uint32_t i = 0; i < c->touches; i++) {
        uint32_t sw = c->touched[i];
        for (uint32_t num = 1; num <= c->f->nodes[sw].num_ports; num++) {
            uint32_t in = c->f->nodes[sw].first_port + num;
            if (!mask_has(&c->mask[sw], num) || next_switch(c->f, in) == FAB_NONE)
                continue;
            for (uint8_t sl = 0; sl < FAB_SLS; sl++)
                if (sls >> sl & 1)
                    note_from(c, sw, in, sl);
        }
    }
}

static void take_verdict(struct check *c, const struct lid_check *l)
{
    c->v.lids++;
    if (l->kind == FAB_OK)
        return;
    c->v.failed++;
    fab_base_bits_set(c->v.failed_groups, l->slot / GROUP_LIDS);
    if (c->v.kind != FAB_OK)
        return;
    c->v.kind = l->kind;
    c->v.mlid = l->mlid;
    c->v.port = l->port;
}

/* Checks the port masks of one MLID. lid: the members of the MLID; NULL if it has none. */
static void check_lid(struct check *c, uint16_t mlid, const struct fab_verify_multicast_lid *lid)
{
    uint32_t slot = mlid - FAB_VERIFY_MLID_FIRST;
    struct lid_check l = {.mlid = mlid, .slot = slot, .stamp = slot + 1, .port = FAB_NONE};
    read_masks(c, slot);
    if (c->touches == 0 && !lid)
        return;
    find_parts_of(c, slot);
    mark_receivers(c, lid, &l);
    check_masks(c, &l);
    check_unused(c, &l, lid);
    anchor(c, &l, lid, true);
    for (uint32_t i = 0; lid && i < lid->count; i++)
        check_member(c, &l, &c->in->member[lid->first + i]);
    anchor(c, &l, lid, false);
    if (c->deps && l.kind == FAB_OK)
        note_dependencies(c, lid);
    for (uint32_t i = 0; i < c->touches; i++) {
        fab_base_bits_clear(c->used, c->part[c->touched[i]]);
        /* resets tree[]; only switches with a mask were joined, because a branch to a switch
         * without a mask is an error */
        c->tree[c->touched[i]] = c->touched[i];
    }
    forget_homes(c, &l, lid);
    take_verdict(c, &l);
    forget_masks(c);
}

/* ---- all MLIDs ------------------------------------------------------------------------------- */

static void check_lids(struct check *c)
{
    uint32_t at = 0;
    for (uint32_t slot = 0; slot < FAB_VERIFY_MLIDS; slot++) {
        const struct fab_verify_multicast_lid *lid = c->in->lid;
        uint16_t mlid = (uint16_t)(FAB_VERIFY_MLID_FIRST + slot);
        uint32_t group = slot / GROUP_LIDS;
        while (at < c->in->lids && lid[at].mlid < mlid)
            at++;
        bool has = at < c->in->lids && lid[at].mlid == mlid;
        if ((c->in->groups && !fab_base_bits_get(c->in->groups, group)) ||
            (!has && c->group_at[group] == c->group_at[group + 1]))
            continue;
        check_lid(c, mlid, has ? &lid[at] : NULL);
    }
}

static int open_check(struct check *c, const struct fab_verify_multicast_input *in)
{
    *c = (struct check){.in = in, .f = in->fabric, .n = in->fabric->switch_count};
    size_t n = (size_t)c->n + 1;
    c->mask = fab_base_arena_alloc(&c->arena, n, sizeof(*c->mask));
    c->touched = fab_base_arena_alloc(&c->arena, n, sizeof(*c->touched));
    c->tree = fab_base_arena_alloc(&c->arena, n, sizeof(*c->tree));
    c->part = fab_base_arena_alloc(&c->arena, n, sizeof(*c->part));
    c->anchor = fab_base_arena_alloc(&c->arena, n, sizeof(*c->anchor));
    c->used = fab_base_arena_alloc(&c->arena, fab_base_bits_words(n), sizeof(*c->used));
    c->home = fab_base_arena_alloc(&c->arena, fab_base_bits_words(n), sizeof(*c->home));
    c->receiver =
        fab_base_arena_alloc(&c->arena, (size_t)c->f->port_count + 1, sizeof(*c->receiver));
    if (c->arena.failed)
        return FAB_E_NOMEM;
    c->least = UINT32_MAX;
    for (uint32_t sw = 0; sw < c->n; sw++) {
        uint32_t cap = c->f->switches[sw].multicast_fdb_cap;
        c->tree[sw] = sw;
        c->anchor[sw] = FAB_NONE;
        c->least = cap > 0 && cap < c->least ? cap : c->least;
    }
    return sort_blocks(c);
}

/* Looks for a cycle of the dependencies. If there is one, stores it in v->cycle, unless v->cycle
 * already has a cycle. Sets *ret_free to true if there is no cycle. Returns OK or NOMEM. */
static int find_cycle(const struct fab_verify_deps *deps, struct fab_multicast_verdict *v,
                      bool *ret_free)
{
    uint32_t *cycle = NULL, count = 0;
    int status = fab_verify_deps_cycle(deps, &cycle, &count);
    *ret_free = status == FAB_OK;
    if (status != FAB_E_CYCLE || v->cycle.kind != FAB_OK) {
        free(cycle);
        return status == FAB_E_CYCLE ? FAB_OK : status;
    }
    uint8_t *vls = deps->vl_count > 1 ? malloc(count) : NULL;
    if (deps->vl_count > 1 && vls == NULL) {
        free(cycle);
        return FAB_E_NOMEM;
    }
    for (uint32_t i = 0; i < count && vls != NULL; i++) {
        vls[i] = (uint8_t)(cycle[i] % deps->vl_count);
        cycle[i] /= deps->vl_count;
    }
    v->cycle = (struct fab_witness){.kind = FAB_E_CYCLE,
                                    .src = FAB_NONE,
                                    .dst = FAB_NONE,
                                    .ports = cycle,
                                    .port_count = count,
                                    .vls = vls};
    return FAB_OK;
}

/* Looks for a cycle of the dependencies of unicast packets and of all multicast packets. */
static int judge_together(struct check *c)
{
    struct fab_verify_channels *with = c->in->unicast;
    struct fab_verify_deps all;
    int status = fab_verify_deps_init(&all, &with->graph, with->unicast.vl_count);
    if (status != FAB_OK)
        return status;
    fab_verify_deps_merge(&all, &with->unicast);
    fab_verify_deps_merge(&all, &with->trees);
    fab_verify_deps_merge(&all, c->deps);
    status = find_cycle(&all, &c->v, &c->v.together);
    fab_verify_deps_fini(&all);
    if (status == FAB_OK && c->v.together && c->in->keep)
        fab_verify_deps_merge(&with->trees, c->deps);
    return status;
}

static int check_with_unicast(struct check *c)
{
    const struct fab_verify_channels *with = c->in->unicast;
    struct fab_verify_deps deps;
    int status = fab_verify_deps_init(&deps, &with->graph, with->unicast.vl_count);
    if (status != FAB_OK)
        return status;
    c->deps = &deps;
    check_lids(c);
    c->v.with_unicast = true;
    c->v.dependencies = fab_verify_deps_prune(&deps);
    status = find_cycle(&deps, &c->v, &c->v.alone);
    if (status == FAB_OK)
        status = judge_together(c);
    c->deps = NULL;
    fab_verify_deps_fini(&deps);
    return status;
}

int fab_verify_multicast(const struct fab_verify_multicast_input *in,
                         struct fab_multicast_verdict *ret)
{
    struct check c;
    int status = open_check(&c, in);
    if (status == FAB_OK && in->unicast)
        status = check_with_unicast(&c);
    else if (status == FAB_OK)
        check_lids(&c);
    fab_base_arena_fini(&c.arena);
    if (status == FAB_OK)
        *ret = c.v;
    else
        fab_verify_multicast_fini(&c.v);
    return status;
}

void fab_verify_multicast_fini(struct fab_multicast_verdict *v)
{
    free(v->cycle.ports);
    free(v->cycle.vls);
    memset(v, 0, sizeof(*v));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_name(struct fab_text *t, const struct fab_fabric *f, uint32_t node)
{
    const char *desc = f->nodes[node].name;
    for (size_t i = 0; i < FAB_NODE_DESC_LEN && desc[i] != '\0'; i++)
        fab_base_text_addf(t, "%c", desc[i] >= 0x20 && desc[i] < 0x7f ? desc[i] : '.');
    fab_base_text_addf(t, " (0x%016" PRIx64 ")", f->nodes[node].guid);
}

static const char *failure(int kind)
{
    switch (kind) {
    case FAB_E_UNREACHABLE:
        return "does not get or forward the packets of all members";
    case FAB_E_LOOP:
        return "closes a loop of branches";
    case FAB_E_DENIED:
        return "forwards packets to a port that is no receiving member";
    case FAB_E_INVAL:
        return "has no working link, or does not exist";
    default:
        return "has no multicast table entry for this MLID";
    }
}

int fab_verify_multicast_text(const struct fab_fabric *f, const struct fab_multicast_verdict *v,
                              char **ret_text)
{
    struct fab_text t;
    size_t len;
    if (v->kind == FAB_OK)
        return fab_verify_witness_text(f, &v->cycle, ret_text);
    fab_base_text_init(&t);
    fab_base_text_addf(&t, "MLID 0x%04x: ", v->mlid);
    add_name(&t, f, fab_fabric_port(f, v->port)->node);
    fab_base_text_addf(&t, " port %u %s\n", fab_fabric_port(f, v->port)->num, failure(v->kind));
    return fab_base_text_take(&t, ret_text, &len);
}
