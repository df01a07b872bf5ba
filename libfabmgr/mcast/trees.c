/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees.
 *
 * Each tree has a root, and all its branches lead towards it on shortest ways: a switch's branch
 * goes to one that is a hop nearer. So there is one way up from each switch, none leads in a
 * circle, and what is added meets the tree, at the latest at the root. The root itself, and what is
 * below it, belongs to the tree only if ways meet there: two members at one leaf have a tree of one
 * switch. A tree's highest switch is its top; where a branch misses it, the top grows up towards
 * the root until it meets the branch.
 *
 * Roots are the core switches in turn (ways.c), those of the fewest trees first; of several ways up
 * a branch takes the one that it had before, else the one with the fewest trees on it.
 *
 * After a change of the fabric branches stay that are still there and still shortest; members that
 * have lost theirs are attached anew. The tables follow with each branch that comes or goes.
 */
#include "libfabmgr/mcast/trees.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/mcast/ways.h"

struct spot {
    uint32_t sw;
    uint32_t up;      /* port id of the branch towards the root; FAB_NONE: the top */
    uint32_t kids;    /* branches that come up to it, and the sum of their switches' ids: */
    uint64_t kid_sum; /* of one it is that one */
    uint32_t ends;    /* members at it */
};
struct member {
    uint64_t guid;
    uint32_t receives, sends; /* how often it joined as such */
    uint32_t port;            /* its own, or FAB_NONE: it is not a part of the tree */
};
struct tree {
    uint16_t mlid;
    uint32_t root, top; /* FAB_NONE: none yet */
    struct spot *spot;  /* by switch */
    size_t spots, spot_room;
    struct member *member; /* by GUID */
    size_t members, member_room;
    size_t in; /* members that are a part of it */
};
struct fab_trees {
    struct fab_mnet *net;
    struct ways ways;
    struct tree **tree; /* [slots] by LID, from FAB_MLID_FIRST on; NULL: none */
    uint32_t slots;
    uint32_t count;
    uint32_t *load;  /* [port_count] trees on the cable, at both ends */
    uint32_t *roots; /* [switch_count] trees that have it as root */
    struct fab_blocks tables;
    uint64_t changed[FAB_TREES_GROUPS / 64];
    uint32_t room, fewest; /* fab_trees_room */
    bool broken;           /* a tree was scrapped for want of memory */
};
#define MLIDS (FAB_MLID_LAST - FAB_MLID_FIRST + 1)

/* ---- spots and members, sorted ---------------------------------------------------------------
 */

static size_t spot_index(const struct tree *t, uint32_t sw)
{
    size_t low = 0, high = t->spots;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->spot[mid].sw < sw)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct spot *spot_of(const struct tree *t, uint32_t sw)
{
    size_t i = spot_index(t, sw);
    return i < t->spots && t->spot[i].sw == sw ? &t->spot[i] : NULL;
}

static struct spot *add_spot(struct tree *t, uint32_t sw)
{
    struct spot *more = fab_grow(t->spot, sizeof(*more), t->spots + 1, &t->spot_room);
    if (more == NULL)
        return NULL;
    t->spot = more;
    size_t i = spot_index(t, sw);
    memmove(&more[i + 1], &more[i], (t->spots++ - i) * sizeof(*more));
    more[i] = (struct spot){.sw = sw, .up = FAB_NONE};
    return &more[i];
}

static void remove_spot(struct tree *t, struct spot *s)
{
    size_t i = (size_t)(s - t->spot);
    memmove(s, s + 1, (--t->spots - i) * sizeof(*s));
}

static size_t member_index(const struct tree *t, uint64_t guid)
{
    size_t low = 0, high = t->members;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->member[mid].guid < guid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct member *member_of(const struct tree *t, uint64_t guid)
{
    size_t i = member_index(t, guid);
    return i < t->members && t->member[i].guid == guid ? &t->member[i] : NULL;
}

static struct member *add_member(struct tree *t, uint64_t guid)
{
    struct member *more = fab_grow(t->member, sizeof(*more), t->members + 1, &t->member_room);
    if (more == NULL)
        return NULL;
    t->member = more;
    size_t i = member_index(t, guid);
    memmove(&more[i + 1], &more[i], (t->members++ - i) * sizeof(*more));
    more[i] = (struct member){.guid = guid, .port = FAB_NONE};
    return &more[i];
}

static uint32_t slot_of(const struct tree *tree)
{
    return (uint32_t)tree->mlid - FAB_MLID_FIRST;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int put_bit(struct fab_trees *t, const struct tree *tree, uint32_t port, bool value)
{
    uint8_t num = fab_mnet_num(t->net, port);
    uint16_t *entry =
        fab_blocks_at(&t->tables, t->net->node[port], fab_mft_number(tree->mlid, num));
    if (entry == NULL)
        return FAB_E_NOMEM;
    fab_bits_set(t->changed, slot_of(tree) / FAB_BLOCK_ENTRIES);
    uint16_t bit = (uint16_t)(1u << num % 16);
    entry += (tree->mlid - FAB_MLID_FIRST) % FAB_BLOCK_ENTRIES;
    *entry = (uint16_t)(value ? *entry | bit : *entry & ~bit);
    return FAB_OK;
}

/* ---- branches -------------------------------------------------------------------------------- */

static uint32_t parent(const struct fab_trees *t, const struct spot *s)
{
    return fab_mnet_across(t->net, s->up);
}

/* The branch of a spot that has none; its upper end is a spot. */
static int add_branch(struct fab_trees *t, struct tree *tree, struct spot *s, uint32_t port)
{
    uint32_t peer = t->net->peer[port];
    struct spot *above = spot_of(tree, t->net->node[peer]);
    int r = put_bit(t, tree, port, true);
    if (r == FAB_OK)
        r = put_bit(t, tree, peer, true);
    if (r != FAB_OK)
        return r;
    s->up = port;
    above->kids++;
    above->kid_sum += s->sw;
    t->load[port]++;
    t->load[peer]++;
    return FAB_OK;
}

/* (Clearing bits of blocks that are there needs no memory.) */
static void remove_branch(struct fab_trees *t, struct tree *tree, struct spot *s)
{
    uint32_t port = s->up, peer = t->net->peer[port];
    struct spot *above = spot_of(tree, t->net->node[peer]);
    (void)put_bit(t, tree, port, false);
    (void)put_bit(t, tree, peer, false);
    s->up = FAB_NONE;
    above->kids--;
    above->kid_sum -= s->sw;
    t->load[port]--;
    t->load[peer]--;
}

/* Takes away what leads to nobody, from a switch upwards. */
static void prune(struct fab_trees *t, struct tree *tree, uint32_t sw)
{
    for (;;) {
        struct spot *s = spot_of(tree, sw);
        if (s == NULL || s->kids > 0 || s->ends > 0)
            return;
        bool is_top = s->up == FAB_NONE;
        if (!is_top) {
            sw = parent(t, s);
            remove_branch(t, tree, s);
        }
        remove_spot(tree, s);
        if (is_top) {
            tree->top = FAB_NONE;
            return;
        }
    }
}

/* The top comes down to where ways meet. */
static void trim(struct fab_trees *t, struct tree *tree)
{
    while (tree->top != FAB_NONE) {
        struct spot *s = spot_of(tree, tree->top);
        if (s->kids != 1 || s->ends > 0)
            return;
        uint32_t kid = (uint32_t)s->kid_sum;
        remove_branch(t, tree, spot_of(tree, kid));
        remove_spot(tree, spot_of(tree, tree->top));
        tree->top = kid;
    }
}

/* The port that leads a switch a hop nearer to the root: `hint`, where that does, else the one
 * with the fewest trees on it, by turns for different trees. FAB_NONE: none. */
static uint32_t way_up(const struct fab_trees *t, const struct tree *tree, const uint16_t *dist,
                       uint32_t sw, uint32_t hint)
{
    const struct fab_mnet *n = t->net;
    uint32_t best = FAB_NONE, first = n->first_port[sw] + 1, count = n->first_port[sw + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = first + (i + tree->mlid) % count, above = fab_mnet_across(n, port);
        if (above == FAB_NONE || dist[above] == WAYS_FAR || dist[above] + 1 != dist[sw])
            continue;
        if (port == hint)
            return port;
        if (best == FAB_NONE || t->load[port] < t->load[best])
            best = port;
    }
    return best;
}

/* Ways by which spots of a tree led before, by switch ids of now. */
struct hints {
    const uint32_t *up; /* [switch_count] port ids, or NULL */
};

/* From a spot without a branch up to the tree `into` marks: a spot that is there already, or the
 * root. What is passed becomes part of the tree. *ret_end: where it ended. */
static int climb(struct fab_trees *t, struct tree *tree, uint32_t sw, const struct hints *hints,
                 uint32_t *ret_end)
{
    const uint16_t *dist = ways_to(&t->ways, tree->root, slot_of(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    while (sw != tree->root) {
        uint32_t port = way_up(t, tree, dist, sw, hints->up != NULL ? hints->up[sw] : FAB_NONE);
        uint32_t above = fab_mnet_across(t->net, port);
        bool meets = spot_of(tree, above) != NULL;
        if (!meets && add_spot(tree, above) == NULL)
            return FAB_E_NOMEM;
        int r = add_branch(t, tree, spot_of(tree, sw), port);
        if (r != FAB_OK)
            return r;
        sw = above;
        if (meets)
            break;
    }
    *ret_end = sw;
    return FAB_OK;
}

/* The switch becomes a spot of the tree. */
static int attach(struct fab_trees *t, struct tree *tree, uint32_t sw, const struct hints *hints)
{
    uint32_t end, top = tree->top;
    if (spot_of(tree, sw) != NULL)
        return FAB_OK;
    if (add_spot(tree, sw) == NULL)
        return FAB_E_NOMEM;
    if (top == FAB_NONE) {
        tree->top = sw;
        return FAB_OK;
    }
    int r = climb(t, tree, sw, hints, &end);
    /* It met the tree, or else the root, which is the top of two trees then: the old one climbs. */
    if (r == FAB_OK && end == tree->root && top != end && spot_of(tree, top)->up == FAB_NONE) {
        tree->top = end;
        r = climb(t, tree, top, hints, &end);
    }
    return r;
}

/* The port of a switch that a member's packets come out of: before it, or port 0 of its own.
 * FAB_NONE: it has no working cable to a switch, or is not there. */
static uint32_t outlet(const struct fab_mnet *n, uint32_t port)
{
    if (port == FAB_NONE)
        return FAB_NONE;
    if (n->node[port] < n->switches)
        return n->cap[n->node[port]] > 0 ? n->first_port[n->node[port]] : FAB_NONE;
    return n->peer[port];
}

/* Nothing is left of the tree but its members. */
static void scrap(struct fab_trees *t, struct tree *tree)
{
    for (size_t i = 0; i < tree->spots; i++)
        if (tree->spot[i].up != FAB_NONE)
            remove_branch(t, tree, &tree->spot[i]);
    for (size_t i = 0; i < tree->members; i++) {
        struct member *m = &tree->member[i];
        if (m->port != FAB_NONE)
            (void)put_bit(t, tree, outlet(t->net, m->port), false);
        m->port = FAB_NONE;
    }
    tree->spots = tree->in = 0;
    tree->top = FAB_NONE;
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* The core switch with the fewest trees that has a way to `sw`. */
static int choose_root(struct fab_trees *t, struct tree *tree, uint32_t sw)
{
    uint32_t best = sw;
    bool found = false;
    for (uint32_t i = 0; i < t->net->switches; i++) {
        uint32_t root = (i + tree->mlid) % t->net->switches;
        if (!fab_bits_get(t->ways.core, root) || (found && t->roots[root] >= t->roots[best]))
            continue;
        const uint16_t *dist = ways_to(&t->ways, root, slot_of(tree));
        if (dist == NULL)
            return FAB_E_NOMEM;
        if (dist[sw] == WAYS_FAR)
            continue;
        best = root;
        found = true;
    }
    tree->root = best;
    t->roots[best]++;
    return FAB_OK;
}

static void drop_root(struct fab_trees *t, struct tree *tree)
{
    if (tree->root != FAB_NONE)
        t->roots[tree->root]--;
    tree->root = FAB_NONE;
}

/* ---- members --------------------------------------------------------------------------------- */

/* The member is attached, if it can be. */
static int bring_in(struct fab_trees *t, struct tree *tree, struct member *m,
                    const struct hints *hints)
{
    uint32_t port = fab_mnet_port(t->net, m->guid), out = outlet(t->net, port);
    if (out == FAB_NONE)
        return FAB_OK;
    uint32_t sw = t->net->node[out];
    int r = tree->root == FAB_NONE ? choose_root(t, tree, sw) : FAB_OK;
    if (r != FAB_OK)
        return r;
    const uint16_t *dist = ways_to(&t->ways, tree->root, slot_of(tree));
    if (dist == NULL)
        return FAB_E_NOMEM;
    if (dist[sw] == WAYS_FAR)
        return FAB_OK;
    r = attach(t, tree, sw, hints);
    if (r == FAB_OK && m->receives > 0)
        r = put_bit(t, tree, out, true);
    if (r != FAB_OK) {
        scrap(t, tree);
        t->broken = true;
        return r;
    }
    spot_of(tree, sw)->ends++;
    m->port = port;
    tree->in++;
    return FAB_OK;
}

static void take_out(struct fab_trees *t, struct tree *tree, struct member *m)
{
    if (m->port == FAB_NONE)
        return;
    uint32_t out = outlet(t->net, m->port), sw = t->net->node[out];
    if (m->receives > 0)
        (void)put_bit(t, tree, out, false);
    m->port = FAB_NONE;
    tree->in--;
    spot_of(tree, sw)->ends--;
    prune(t, tree, sw);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void tree_free(struct tree *tree)
{
    if (tree == NULL)
        return;
    free(tree->spot);
    free(tree->member);
    free(tree);
}

static struct tree *tree_new(uint16_t mlid)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    if (tree != NULL)
        *tree = (struct tree){.mlid = mlid, .root = FAB_NONE, .top = FAB_NONE};
    return tree;
}

void fab_trees_free(struct fab_trees *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->slots; i++)
        tree_free(t->tree[i]);
    free(t->tree);
    if (t->ways.net != NULL)
        ways_fini(&t->ways);
    free(t->load);
    free(t->roots);
    fab_blocks_fini(&t->tables);
    fab_mnet_free(t->net);
    free(t);
}

static void find_room(struct fab_trees *t)
{
    uint32_t able = 0;
    t->room = MLIDS;
    t->fewest = FAB_NONE;
    for (uint32_t sw = 0; sw < t->net->switches; sw++) {
        able += t->net->cap[sw] > 0;
        if (t->net->cap[sw] > 0 && t->net->cap[sw] < t->room) {
            t->room = t->net->cap[sw];
            t->fewest = sw;
        }
    }
    if (t->net->switches > 0 && able == 0)
        t->room = 0;
}

/* Takes over the net, also on failure. */
static int trees_new(struct fab_mnet *net, struct fab_trees **ret)
{
    struct fab_trees *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        fab_mnet_free(net);
        return FAB_E_NOMEM;
    }
    t->net = net;
    find_room(t);
    t->load = calloc((size_t)net->ports + 1, sizeof(*t->load));
    t->roots = calloc((size_t)net->switches + 1, sizeof(*t->roots));
    int r = t->load != NULL && t->roots != NULL ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = ways_init(&t->ways, net);
    if (r == FAB_OK)
        *ret = t;
    else
        fab_trees_free(t);
    return r;
}

int fab_trees_new(const struct fab_fabric *f, struct fab_trees **ret)
{
    struct fab_mnet *net;
    int r = fab_mnet_new(f, &net);
    return r == FAB_OK ? trees_new(net, ret) : r;
}

uint32_t fab_trees_room(const struct fab_trees *t, uint32_t *ret_switch)
{
    if (ret_switch != NULL)
        *ret_switch = t->fewest;
    return t->room;
}

static struct tree *tree_of(const struct fab_trees *t, uint16_t mlid)
{
    uint32_t slot = (uint32_t)mlid - FAB_MLID_FIRST;
    return mlid >= FAB_MLID_FIRST && slot < t->slots ? t->tree[slot] : NULL;
}

/* Takes over the tree, on success. */
static int place_tree(struct fab_trees *t, struct tree *tree)
{
    uint32_t slot = (uint32_t)tree->mlid - FAB_MLID_FIRST;
    if (slot >= t->slots) {
        uint32_t slots = slot / 64 * 64 + 64;
        struct tree **more = reallocarray(t->tree, slots, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        memset(more + t->slots, 0, (slots - t->slots) * sizeof(*more));
        t->tree = more;
        t->slots = slots;
    }
    t->tree[slot] = tree;
    t->count++;
    return FAB_OK;
}

static int add_tree(struct fab_trees *t, uint16_t mlid, struct tree **ret)
{
    struct tree *tree = tree_new(mlid);
    int r = tree != NULL ? place_tree(t, tree) : FAB_E_NOMEM;
    if (r == FAB_OK)
        *ret = tree;
    else
        tree_free(tree);
    return r;
}

static int open_tree(struct fab_trees *t, uint16_t mlid, struct tree **ret)
{
    if (mlid < FAB_MLID_FIRST || mlid - FAB_MLID_FIRST >= fab_trees_room(t, NULL))
        return FAB_E_RANGE;
    *ret = tree_of(t, mlid);
    return *ret != NULL ? FAB_OK : add_tree(t, mlid, ret);
}

static void close_tree(struct fab_trees *t, struct tree *tree)
{
    if (tree->members > 0)
        return;
    drop_root(t, tree);
    t->tree[tree->mlid - FAB_MLID_FIRST] = NULL;
    t->count--;
    tree_free(tree);
}

/* What it is counts anew: it may be without a bit of its port now, or with one. */
static int count_anew(struct fab_trees *t, struct tree *tree, struct member *m, uint32_t receives,
                      uint32_t sends)
{
    static const struct hints none = {NULL};
    bool changes = m->port == FAB_NONE || (m->receives > 0) != (receives > 0);
    int r = FAB_OK;
    if (m->port != FAB_NONE && changes && (receives > 0 || sends > 0)) {
        r = put_bit(t, tree, outlet(t->net, m->port), receives > 0);
        m->receives = receives;
        m->sends = sends;
        return r;
    }
    if (receives == 0 && sends == 0)
        take_out(t, tree, m);
    m->receives = receives;
    m->sends = sends;
    if (changes && (receives > 0 || sends > 0))
        r = bring_in(t, tree, m, &none);
    trim(t, tree);
    return r;
}

int fab_trees_join(struct fab_trees *t, uint16_t mlid, uint64_t port_guid, bool receives)
{
    struct tree *tree;
    int r = open_tree(t, mlid, &tree);
    if (r != FAB_OK)
        return r;
    struct member *m = member_of(tree, port_guid);
    if (m == NULL && (m = add_member(tree, port_guid)) == NULL) {
        close_tree(t, tree);
        return FAB_E_NOMEM;
    }
    return count_anew(t, tree, m, m->receives + receives, m->sends + !receives);
}

int fab_trees_leave(struct fab_trees *t, uint16_t mlid, uint64_t port_guid, bool receives)
{
    struct tree *tree = tree_of(t, mlid);
    struct member *m = tree != NULL ? member_of(tree, port_guid) : NULL;
    if (m == NULL || (receives ? m->receives : m->sends) == 0)
        return FAB_E_NOT_FOUND;
    int r = count_anew(t, tree, m, m->receives - receives, m->sends - !receives);
    if (m->receives == 0 && m->sends == 0) {
        size_t i = (size_t)(m - tree->member);
        memmove(m, m + 1, (--tree->members - i) * sizeof(*m));
        close_tree(t, tree);
    }
    return r;
}

const struct fab_mnet *fab_trees_net(const struct fab_trees *t)
{
    return t->net;
}

const struct fab_blocks *fab_trees_tables(const struct fab_trees *t)
{
    return &t->tables;
}

void fab_trees_take_changed(struct fab_trees *t, uint64_t set[FAB_TREES_GROUPS / 64])
{
    for (size_t i = 0; i < FAB_TREES_GROUPS / 64; i++) {
        set[i] |= t->changed[i];
        t->changed[i] = 0;
    }
}

uint32_t fab_trees_count(const struct fab_trees *t)
{
    return t->count;
}

bool fab_trees_reaches(const struct fab_trees *t, uint16_t mlid, uint64_t port_guid)
{
    const struct tree *tree = tree_of(t, mlid);
    const struct member *m = tree != NULL ? member_of(tree, port_guid) : NULL;
    return m != NULL && m->port != FAB_NONE;
}

uint32_t fab_trees_missing(const struct fab_trees *t, uint16_t mlid)
{
    const struct tree *tree = tree_of(t, mlid);
    uint32_t missing = 0;
    for (size_t i = 0; tree != NULL && i < tree->members; i++)
        missing += tree->member[i].port == FAB_NONE;
    return missing;
}

/* A root that cannot be reached from where most are is none. */
static int bring_all_in(struct fab_trees *t, struct tree *tree, const struct hints *hints)
{
    int r = FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = bring_in(t, tree, &tree->member[i], hints);
    if (r != FAB_OK || tree->in > 0 || tree->root == FAB_NONE)
        return r;
    drop_root(t, tree);
    for (size_t i = 0; r == FAB_OK && i < tree->members; i++)
        r = bring_in(t, tree, &tree->member[i], hints);
    return r;
}

/* ---- other cables ----------------------------------------------------------------------------
 */

/* A branch of the tree, or a member, is at that port. */
static bool is_at(const struct fab_trees *t, const struct tree *tree, uint32_t port)
{
    const struct fab_mnet *n = t->net;
    uint32_t peer = n->peer[port];
    if (n->node[port] >= n->switches)
        return n->port_guid[port] != 0 && member_of(tree, n->port_guid[port]) != NULL;
    const struct spot *s = spot_of(tree, n->node[port]);
    const struct spot *above = peer != FAB_NONE ? spot_of(tree, n->node[peer]) : NULL;
    return (s != NULL && s->up == port) || (above != NULL && above->up == peer);
}

static bool uses(const struct fab_trees *t, const struct tree *tree, const struct fab_mnet_diff *d)
{
    bool found = tree->in < tree->members;
    for (size_t i = 0; i < d->count && !found; i++)
        found = is_at(t, tree, d->change[i].port);
    return found;
}

/* With the new cables: all its branches still lead a hop nearer to the root. */
static int is_shortest(struct fab_trees *t, const struct tree *tree, bool *ret)
{
    bool same = true;
    if (!ways_stand(&t->ways, tree->root, slot_of(tree))) {
        const uint16_t *dist = ways_to(&t->ways, tree->root, slot_of(tree));
        if (dist == NULL)
            return FAB_E_NOMEM;
        for (size_t i = 0; i < tree->spots && same; i++) {
            const struct spot *s = &tree->spot[i];
            same = dist[s->sw] != WAYS_FAR &&
                   (s->up == FAB_NONE || dist[parent(t, s)] + 1 == dist[s->sw]);
        }
    }
    *ret = same;
    return FAB_OK;
}

/* Trees that the difference touches: `d` as the fabric will be, then, in the end, as it was. */
static int find_touched(struct fab_trees *t, struct fab_mnet_diff *d, uint64_t *touched)
{
    for (uint32_t i = 0; i < t->slots; i++)
        if (t->tree[i] != NULL && uses(t, t->tree[i], d))
            fab_bits_set(touched, i);
    fab_mnet_swap(t->net, d);
    int r = ways_follow(&t->ways, d);
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++) {
        bool same = true;
        if (t->tree[i] != NULL && !fab_bits_get(touched, i))
            r = is_shortest(t, t->tree[i], &same);
        if (!same)
            fab_bits_set(touched, i);
    }
    return r;
}

/* The tree anew, on the old branches where they will do. It is taken down by the old cables. */
static int redo(struct fab_trees *t, struct tree *tree, struct fab_mnet_diff *d, uint32_t *up)
{
    const struct hints hints = {up};
    memset(up, 0xff, t->net->switches * sizeof(*up));
    for (size_t i = 0; i < tree->spots; i++)
        up[tree->spot[i].sw] = tree->spot[i].up;
    fab_mnet_swap(t->net, d);
    scrap(t, tree);
    fab_mnet_swap(t->net, d);
    int r = bring_all_in(t, tree, &hints);
    trim(t, tree);
    return r;
}

static int follow_cables(struct fab_trees *t, struct fab_mnet_diff *d)
{
    uint64_t *touched = fab_bits_new(t->slots);
    uint32_t *up = fab_alloc_array(t->net->switches, sizeof(*up));
    int r = FAB_E_NOMEM;
    if (touched != NULL && up != NULL && (r = find_touched(t, d, touched)) != FAB_OK) {
        fab_mnet_swap(t->net, d);
        t->broken = true;
    }
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++)
        if (fab_bits_get(touched, i))
            r = redo(t, t->tree[i], d, up);
    t->broken |= r != FAB_OK;
    free(touched);
    free(up);
    return r;
}

/* ---- another fabric -------------------------------------------------------------------------- */

/* Ids of the old snapshot's switches and ports in the new one; FAB_NONE: not there. */
struct move {
    const struct fab_mnet *old;
    struct fab_trees *to;
    uint32_t *sw; /* [old switch_count] */
    uint32_t *up; /* [new switch_count] hints, all FAB_NONE between trees */
};

static uint32_t moved_port(const struct move *m, uint32_t port)
{
    const struct fab_mnet *now = m->to->net;
    uint32_t sw = m->sw[m->old->node[port]], num = fab_mnet_num(m->old, port);
    return sw != FAB_NONE && now->first_port[sw] + num < now->first_port[sw + 1]
               ? now->first_port[sw] + num
               : FAB_NONE;
}

static void set_hints(const struct move *m, const struct tree *was, bool set)
{
    for (size_t i = 0; i < was->spots; i++) {
        uint32_t sw = m->sw[was->spot[i].sw];
        if (sw != FAB_NONE)
            m->up[sw] =
                set && was->spot[i].up != FAB_NONE ? moved_port(m, was->spot[i].up) : FAB_NONE;
    }
}

/* The root stays where it is, if it still is one. */
static void keep_root(const struct move *m, const struct tree *was, struct tree *tree)
{
    uint32_t root = was->root != FAB_NONE ? m->sw[was->root] : FAB_NONE;
    if (root == FAB_NONE)
        return;
    tree->root = root;
    m->to->roots[root]++;
}

static int move_tree(const struct move *m, const struct tree *was)
{
    struct tree *tree;
    int r = add_tree(m->to, was->mlid, &tree);
    if (r != FAB_OK)
        return r;
    for (size_t i = 0; i < was->members; i++) {
        struct member *member = add_member(tree, was->member[i].guid);
        if (member == NULL)
            return FAB_E_NOMEM;
        member->receives = was->member[i].receives;
        member->sends = was->member[i].sends;
    }
    keep_root(m, was, tree);
    set_hints(m, was, true);
    r = bring_all_in(m->to, tree, &(struct hints){m->up});
    set_hints(m, was, false);
    trim(m->to, tree);
    return r;
}

static int move_all(struct fab_trees *t, struct move *m, const struct fab_fabric *now)
{
    int r = FAB_OK;
    m->sw = fab_alloc_array(m->old->switches, sizeof(*m->sw));
    m->up = fab_alloc_array(now->switch_count, sizeof(*m->up));
    if (m->sw == NULL || m->up == NULL)
        return FAB_E_NOMEM;
    memset(m->up, 0xff, now->switch_count * sizeof(*m->up));
    for (uint32_t sw = 0; sw < m->old->switches; sw++) {
        uint32_t node = fab_fabric_node_by_guid(now, m->old->guid[sw]);
        m->sw[sw] = node < now->switch_count ? node : FAB_NONE;
    }
    memcpy(m->to->changed, t->changed, sizeof(t->changed));
    for (uint32_t i = 0; r == FAB_OK && i < t->slots; i++) {
        if (t->tree[i] == NULL)
            continue;
        fab_bits_set(m->to->changed, i / FAB_BLOCK_ENTRIES);
        r = move_tree(m, t->tree[i]);
    }
    return r;
}

static int follow_all(struct fab_trees *t, const struct fab_fabric *now)
{
    struct move m = {.old = t->net};
    struct fab_mnet *net;
    int r = fab_mnet_new(now, &net);
    if (r == FAB_OK)
        r = trees_new(net, &m.to);
    if (r != FAB_OK)
        return r;
    r = move_all(t, &m, now);
    free(m.sw);
    free(m.up);
    if (r == FAB_OK) {
        struct fab_trees was = *t;
        *t = *m.to;
        *m.to = was;
    }
    fab_trees_free(m.to);
    return r;
}

int fab_trees_follow(struct fab_trees *t, const struct fab_fabric *now)
{
    struct fab_mnet_diff d = {0};
    int r = t->broken ? FAB_E_EXISTS : fab_mnet_compare(t->net, now, &d);
    if (r == FAB_E_EXISTS)
        return follow_all(t, now);
    if (r == FAB_OK && d.count > 0)
        r = follow_cables(t, &d);
    fab_mnet_diff_fini(&d);
    return r;
}
