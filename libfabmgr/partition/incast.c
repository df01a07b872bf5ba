/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes a value for each endport: the largest incast that the partitions permit at any endport
 * to which this endport can send.
 *
 * Endports with the same P_Keys form one group and are handled together. If each of 1,000 jobs on
 * 11,664 endports has a partition of its own, there are about 1,000 groups. The senders of a group
 * are the endports that may send to it. From a partition in which the group has full membership,
 * these are all members; from one in which it has limited membership, only the full members. An
 * endport in several of these partitions counts once. The result for a group is the largest number
 * of senders of any group that it can send to.
 *
 * The exact number of senders requires the union of the members of a group's partitions. Unions are
 * computed until STEPS_MOST steps are used up. For each remaining group, the sum of the members of
 * its partitions is used instead, which is never lower than the size of the union.
 */
#include "libfabmgr/partition/incast.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/partitions.h"

#define BASES 0x8000u
#define STEPS_MOST (UINT64_C(1) << 24)
#define KEYS_MOST ((size_t)FAB_PKEY_BLOCKS_MAX * FAB_PKEY_BLOCK)

struct group {
    /* The group's P_Keys are incast.key[first] to incast.key[first + count - 1], sorted by
     * partition. There is one P_Key for each partition. */
    uint32_t first, count;
    uint32_t endports; /* number of endports in the group */
    /* number of endports that can send to an endport of the group */
    uint32_t senders;
    /* n + 1: union_of has already counted this group among the senders of group n, so it does not
     * count the group again */
    uint32_t seen;
};
/* The group with the most senders in one partition. group: its index in group[]. senders: how many
 * senders it has. other: how many senders the group with the second most senders has. */
struct best {
    uint32_t senders, group, other;
};
/* Numbers of endports and of groups among the members of a partition. Each partition has one struct
 * side for all its members, and one for its full members only. */
struct side {
    uint32_t endports;
    uint32_t groups;
    struct best best;
};
struct partition {
    /* index in member[] of struct incast at which the groups of this partition begin. Groups of
     * full members come before groups of limited members. */
    uint32_t first;
    struct side all, full;
};
struct incast {
    const struct fab_fabric *f;
    const struct fab_pkeys *pkeys;
    /* [port_count] index in group[] of the port's group; FAB_NONE: the port is in no group */
    uint32_t *group_of;
    struct fab_map by_hash;
    struct group *group;
    size_t groups, group_room;
    /* [keys] the P_Keys of group 0, then those of group 1, and so on */
    uint16_t *key;
    size_t keys, key_room;
    struct partition *partition; /* [BASES] the partitions, by the base of their P_Key */
    /* [keys] the groups in each partition, as indexes into group[], one partition after the other
     */
    uint32_t *member;
    uint32_t endports; /* number of all endports */
    /* number of groups that union_of has visited so far; when this number reaches STEPS_MOST,
     * union_of is not called any more */
    uint64_t steps;
};

/* ---- groups ---------------------------------------------------------------------------------- */

static bool is_endport(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    return n->type != FAB_NODE_SWITCH && !n->aggregation && fab_fabric_port_is_up(f, port);
}

/* Compares two P_Keys by partition. In one partition, the key of a full member comes before the key
 * of a limited member. */
static int compare_keys(const void *x, const void *y)
{
    uint16_t a = *(const uint16_t *)x, b = *(const uint16_t *)y;
    if (fab_target_pkey_base(a) != fab_target_pkey_base(b))
        return fab_target_pkey_base(a) < fab_target_pkey_base(b) ? -1 : 1;
    return fab_target_pkey_is_full(b) - fab_target_pkey_is_full(a);
}

/* Lists the P_Keys of a port, sorted by partition. If the port has a full and a limited key of a
 * partition, lists only the full key. Leaves out invalid P_Keys (base 0). For the port of the
 * manager, also leaves out the default P_Key: this membership is for management, so it does not
 * make the manager a sender. Returns the number of keys. */
static uint32_t keys_of(const struct incast *c, uint32_t port, uint16_t ret[KEYS_MOST])
{
    uint32_t has, count = 0, kept = 0;
    const uint16_t *key = fab_target_pkeys_table_or_default(c->pkeys, port, &has);
    for (uint32_t i = 0; i < has && count < KEYS_MOST; i++)
        if (fab_target_pkey_base(key[i]) != 0 &&
            (port != c->f->self_port || fab_target_pkey_base(key[i]) != FAB_PKEY_DEFAULT))
            ret[count++] = key[i];
    if (count > 1)
        qsort(ret, count, sizeof *ret, compare_keys);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || fab_target_pkey_base(ret[kept - 1]) != fab_target_pkey_base(ret[i]))
            ret[kept++] = ret[i];
    return kept;
}

static int add_group(struct incast *c, const uint16_t *key, uint32_t count)
{
    struct group *groups = c->group;
    uint16_t *keys = c->key;
    if (c->groups == c->group_room)
        groups = fab_base_grow(c->group, sizeof *groups, c->groups + 1, &c->group_room);
    if (groups == NULL)
        return FAB_E_NOMEM;
    c->group = groups;
    if (c->keys + count > c->key_room)
        keys = fab_base_grow(c->key, sizeof *keys, c->keys + count, &c->key_room);
    if (c->keys + count > 0 && keys == NULL)
        return FAB_E_NOMEM;
    c->key = keys;
    if (count > 0)
        memcpy(keys + c->keys, key, count * sizeof *key);
    groups[c->groups++] = (struct group){.first = (uint32_t)c->keys, .count = count};
    c->keys += count;
    return FAB_OK;
}

static bool has_keys(const struct incast *c, uint32_t group, const uint16_t *key, uint32_t count)
{
    const struct group *g = &c->group[group];
    return g->count == count &&
           (count == 0 || memcmp(c->key + g->first, key, count * sizeof *key) == 0);
}

static int find_group(struct incast *c, const uint16_t *key, uint32_t count, uint32_t *ret)
{
    uint64_t hash = count;
    uint32_t group;
    for (uint32_t i = 0; i < count; i++)
        hash = fab_base_mix64(hash * UINT64_C(0x9e3779b97f4a7c15) + key[i]);
    for (; fab_base_map_get(&c->by_hash, hash, &group); hash++)
        if (has_keys(c, group, key, count)) {
            *ret = group;
            return FAB_OK;
        }
    *ret = (uint32_t)c->groups;
    int r = fab_base_map_put(&c->by_hash, hash, *ret);
    return r == FAB_OK ? add_group(c, key, count) : r;
}

static int group_endports(struct incast *c)
{
    uint16_t *key = fab_base_alloc_array(KEYS_MOST, sizeof *key);
    int r = key != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t port = 0; r == FAB_OK && port < c->f->port_count; port++) {
        c->group_of[port] = FAB_NONE;
        if (!is_endport(c->f, port))
            continue;
        r = find_group(c, key, keys_of(c, port, key), &c->group_of[port]);
        if (r == FAB_OK)
            c->group[c->group_of[port]].endports++;
        c->endports++;
    }
    free(key);
    return r;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static struct partition *of_key(const struct incast *c, uint16_t key)
{
    return &c->partition[fab_target_pkey_base(key)];
}

/* Returns the members of the key's partition with which a port that has this key can
 * communicate: all members for a full key, the full members for a limited key. */
static struct side *reachable(const struct incast *c, uint16_t key)
{
    return fab_target_pkey_is_full(key) ? &of_key(c, key)->all : &of_key(c, key)->full;
}

static void count_members(struct incast *c)
{
    uint32_t at = 0;
    for (uint32_t g = 0; g < c->groups; g++)
        for (uint32_t i = 0; i < c->group[g].count; i++) {
            uint16_t key = c->key[c->group[g].first + i];
            struct partition *p = of_key(c, key);
            p->all.endports += c->group[g].endports;
            p->all.groups++;
            p->full.endports += fab_target_pkey_is_full(key) ? c->group[g].endports : 0;
            p->full.groups += fab_target_pkey_is_full(key);
        }
    for (uint32_t base = 0; base < BASES; base++) {
        c->partition[base].first = at;
        at += c->partition[base].all.groups;
    }
}

static int list_members(struct incast *c)
{
    uint32_t *next = fab_base_alloc_array(2 * (size_t)BASES, sizeof *next);
    c->partition = calloc(BASES, sizeof *c->partition);
    c->member = fab_base_alloc_array(c->keys, sizeof *c->member);
    if (next == NULL || c->partition == NULL || c->member == NULL) {
        free(next);
        return FAB_E_NOMEM;
    }
    count_members(c);
    for (uint32_t base = 0; base < BASES; base++) {
        next[2 * base] = c->partition[base].first;
        next[2 * base + 1] = c->partition[base].first + c->partition[base].full.groups;
    }
    for (uint32_t g = 0; g < c->groups; g++)
        for (uint32_t i = 0; i < c->group[g].count; i++) {
            uint16_t key = c->key[c->group[g].first + i];
            c->member[next[2u * fab_target_pkey_base(key) + !fab_target_pkey_is_full(key)]++] = g;
        }
    free(next);
    return FAB_OK;
}

/* ---- senders --------------------------------------------------------------------------------- */

/* Returns an upper bound for the number of endports that can send to an endport of the group: the
 * members of the group's partitions, added up, but at most the number of all other endports. An
 * endport counts once for each partition that it shares with the group. */
static uint32_t sum_of(const struct incast *c, const struct group *g)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint16_t key = c->key[g->first + i];
        sum += reachable(c, key)->endports - fab_target_pkey_is_full(key);
    }
    return sum < c->endports ? (uint32_t)sum : c->endports - 1;
}

static uint32_t union_of(struct incast *c, uint32_t group)
{
    const struct group *g = &c->group[group];
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        uint16_t key = c->key[g->first + i];
        const struct side *side = reachable(c, key);
        const uint32_t *member = c->member + of_key(c, key)->first;
        c->steps += side->groups;
        for (uint32_t k = 0; k < side->groups; k++) {
            struct group *h = &c->group[member[k]];
            count += h->seen != group + 1 ? h->endports : 0;
            h->seen = group + 1;
        }
    }
    return count - (g->seen == group + 1);
}

static void find_senders(struct incast *c)
{
    for (uint32_t i = 0; i < c->groups; i++) {
        struct group *g = &c->group[i];
        uint32_t sum = sum_of(c, g);
        bool all = false;
        for (uint32_t k = 0; k < g->count; k++)
            all |= reachable(c, c->key[g->first + k])->endports == c->endports;
        g->senders = all                                     ? c->endports - 1
                     : g->count > 1 && c->steps < STEPS_MOST ? union_of(c, i)
                                                             : sum;
    }
}

static void note_best(struct best *b, uint32_t group, uint32_t senders)
{
    if (senders > b->senders) {
        b->other = b->senders;
        b->senders = senders;
        b->group = group;
    } else if (senders > b->other) {
        b->other = senders;
    }
}

static void find_best(struct incast *c)
{
    for (uint32_t g = 0; g < c->groups; g++)
        for (uint32_t i = 0; i < c->group[g].count; i++) {
            uint16_t key = c->key[c->group[g].first + i];
            note_best(&of_key(c, key)->all.best, g, c->group[g].senders);
            if (fab_target_pkey_is_full(key))
                note_best(&of_key(c, key)->full.best, g, c->group[g].senders);
        }
}

/* Returns the largest incast at any endport to which an endport of the group can send. The group
 * itself counts only if it has two or more endports, because an endport sends no packets to
 * itself. */
static uint32_t greatest_incast(const struct incast *c, uint32_t group)
{
    const struct group *g = &c->group[group];
    uint32_t most = 1;
    for (uint32_t i = 0; i < g->count; i++) {
        const struct best *b = &reachable(c, c->key[g->first + i])->best;
        uint32_t senders = b->group == group && g->endports == 1 ? b->other : b->senders;
        most = senders > most ? senders : most;
    }
    return most;
}

int fab_partition_incast(const struct fab_fabric *f, const struct fab_pkeys *pkeys, uint32_t *ret)
{
    struct incast c = {.f = f, .pkeys = pkeys};
    c.group_of = fab_base_alloc_array(f->port_count, sizeof *c.group_of);
    int r = c.group_of != NULL ? group_endports(&c) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = list_members(&c);
    if (r == FAB_OK) {
        find_senders(&c);
        find_best(&c);
        for (uint32_t port = 0; port < f->port_count; port++)
            ret[port] = c.group_of[port] != FAB_NONE ? greatest_incast(&c, c.group_of[port]) : 0;
    }
    fab_base_map_fini(&c.by_hash);
    free(c.group_of);
    free(c.group);
    free(c.key);
    free(c.partition);
    free(c.member);
    return r;
}
