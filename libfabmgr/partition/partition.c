/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the P_Key tables of all ports. The rules of each partition tell which ports are full or
 * limited members. Each membership is stored as a pair of port and key. The pairs are sorted by
 * port, and each port's keys get their indexes (key_index.c). The time is proportional to the
 * number of members, plus the number of endports and switches for each rule that does not name a
 * port.
 *
 * The manager is always a full member of the default partition, so that limited members can ask it
 * for paths. A switch port that enforces P_Keys holds the keys of the endport at its link. If that
 * endport is both a full and a limited member of a partition, the switch port holds only the full
 * key. The full key admits all packets that the limited key admits.
 */
#include "libfabmgr/partition/partition.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/partition/key_index.h"
#include "libfabmgr/partition/port_selector.h"

/* A P_Key that a port gets. */
struct grant {
    uint32_t port;
    uint16_t key;
    bool index0;
};
struct draft {
    const struct fab_partition_input *in;
    /* [port_count] membership of each port in the partition whose rules are being applied; with the
     * flag INDEX0 if the P_Key of this partition gets index 0 of the port's table */
    uint8_t *member;
    uint32_t *touched; /* the ports whose member[] is not 0 */
    uint32_t touched_count;
    const struct fab_partition_rule *rule; /* the rule that is being applied */
    struct grant *grant;
    size_t grants, room;
    struct fab_pkeys keys;
    uint32_t key_count;
    size_t key_room;
    struct fab_partition_report report;
};
#define INDEX0 0x80

/* ---- members --------------------------------------------------------------------------------- */

static uint8_t merge(const struct draft *d, uint8_t was, uint8_t now)
{
    if (d->in->both)
        return now;
    return (was | now) & FAB_MEMBER_FULL ? FAB_MEMBER_FULL : FAB_MEMBER_LIMITED;
}

static void add_member(void *ctx, uint32_t port)
{
    struct draft *d = ctx;
    uint8_t was = d->member[port];
    if (was == 0)
        d->touched[d->touched_count++] = port;
    d->member[port] = merge(d, was & FAB_MEMBER_BOTH, (uint8_t)d->rule->membership);
    if (d->rule->index0)
        d->member[port] |= INDEX0;
}

static bool is_quarantined(const struct fab_partition_input *in, uint32_t port)
{
    uint64_t guid = fab_fabric_port(in->fabric, port)->guid;
    size_t low = 0, high = in->quarantined_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in->quarantined[middle] < guid)
            low = middle + 1;
        else
            high = middle;
    }
    return port != in->fabric->self_port && low < in->quarantined_count &&
           in->quarantined[low] == guid;
}

static int add_grant(struct draft *d, uint32_t port, uint16_t key, bool index0)
{
    struct grant *more = d->grant;
    if (d->grants == d->room)
        more = fab_base_grow(d->grant, sizeof(*more), d->grants + 1, &d->room);
    if (more == NULL)
        return FAB_E_NOMEM;
    d->grant = more;
    more[d->grants++] = (struct grant){port, key, index0};
    return FAB_OK;
}

/* Adds a grant of `pkey` for each port that is a member in member[], and clears member[]. */
static int grant_members(struct draft *d, uint16_t pkey)
{
    int r = FAB_OK;
    for (uint32_t i = 0; i < d->touched_count; i++) {
        uint32_t port = d->touched[i];
        uint8_t m = d->member[port];
        d->member[port] = 0;
        if (is_quarantined(d->in, port))
            continue;
        if (r == FAB_OK && m & FAB_MEMBER_FULL)
            r = add_grant(d, port, pkey | FAB_PKEY_FULL, m & INDEX0);
        if (r == FAB_OK && m & FAB_MEMBER_LIMITED)
            r = add_grant(d, port, pkey, m & INDEX0 && !(m & FAB_MEMBER_FULL));
    }
    d->touched_count = 0;
    return r;
}

static int grant_partition(struct draft *d, uint32_t number, const uint32_t *next)
{
    const struct fab_partitions *p = d->in->partitions;
    static const struct fab_partition_rule manager = {.membership = FAB_MEMBER_FULL,
                                                      .who = {.kind = FAB_SELECT_SELF}};
    for (uint32_t i = next[number]; i < next[number + 1]; i++) {
        d->rule = &p->rule[next[p->partitions + 1 + i]];
        fab_partition_select_ports(d->in, &d->rule->who, add_member, d);
    }
    if (number == 0) {
        d->rule = &manager;
        fab_partition_select_ports(d->in, &manager.who, add_member, d);
    }
    return grant_members(d, p->partition[number].pkey);
}

/* Sorts the rules by partition; rules of one partition keep their order. The returned array has two
 * parts. The first part has, for each partition, the position of its first rule in the second part,
 * and then the number of all rules. The second part has the indexes of the rules in the new
 * order. */
static uint32_t *sort_rules(const struct fab_partitions *p)
{
    size_t heads = p->partitions + 1;
    uint32_t *next = calloc(heads + p->rules + 1, sizeof(*next));
    if (next == NULL)
        return NULL;
    for (size_t i = 0; i < p->rules; i++)
        next[p->rule[i].partition + 1]++;
    for (size_t n = 1; n < heads; n++)
        next[n] += next[n - 1];
    for (size_t i = 0; i < p->rules; i++)
        next[heads + next[p->rule[i].partition]++] = (uint32_t)i;
    for (size_t n = heads - 1; n > 0; n--)
        next[n] = next[n - 1];
    next[0] = 0;
    return next;
}

/* Returns true if a port other than the manager's is a full member of the default partition. */
static bool has_full_members(const struct draft *d)
{
    for (size_t i = 0; i < d->grants; i++)
        if (d->grant[i].key == (FAB_PKEY_DEFAULT | FAB_PKEY_FULL) &&
            d->grant[i].port != d->in->fabric->self_port)
            return true;
    return false;
}

static int grant_quarantine(struct draft *d)
{
    const struct fab_fabric *f = d->in->fabric;
    bool only = has_full_members(d);
    int r = FAB_OK;
    if (d->in->quarantined_count == 0)
        return FAB_OK;
    if (f->self_port != FAB_NONE)
        r = add_grant(d, f->self_port, d->in->quarantine_pkey | FAB_PKEY_FULL, false);
    for (uint32_t port = 0; r == FAB_OK && port < f->port_count; port++) {
        if (!fab_fabric_port_has_lid(f, port) || !is_quarantined(d->in, port))
            continue;
        r = add_grant(d, port, d->in->quarantine_pkey, false);
        if (r == FAB_OK && !only)
            r = add_grant(d, port, FAB_PKEY_DEFAULT, false);
    }
    return r;
}

static int grant_all(struct draft *d)
{
    uint32_t *next = sort_rules(d->in->partitions);
    int r = next != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t n = 0; r == FAB_OK && n < d->in->partitions->partitions; n++)
        r = grant_partition(d, n, next);
    free(next);
    return r == FAB_OK ? grant_quarantine(d) : r;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Compares two grants: first by port, then by key. Keys with the flag index0 come first, then the
 * key of the default partition, then the others in ascending order. Of one partition, the full key
 * comes before the limited key. */
static int compare_grants(const void *x, const void *y)
{
    const struct grant *a = x, *b = y;
    bool first_a = fab_target_pkey_base(a->key) == FAB_PKEY_DEFAULT,
         full_a = fab_target_pkey_is_full(a->key);
    bool first_b = fab_target_pkey_base(b->key) == FAB_PKEY_DEFAULT,
         full_b = fab_target_pkey_is_full(b->key);
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    if (a->index0 != b->index0)
        return b->index0 - a->index0;
    if (first_a != first_b)
        return first_b - first_a;
    if (fab_target_pkey_base(a->key) != fab_target_pkey_base(b->key))
        return fab_target_pkey_base(a->key) < fab_target_pkey_base(b->key) ? -1 : 1;
    return full_b - full_a;
}

static void note_overflow(struct draft *d, uint32_t port, uint32_t wanted, uint32_t room)
{
    if (d->report.overflows++ < FAB_PARTITION_OVERFLOWS)
        d->report.overflow[d->report.overflows - 1] =
            (struct fab_partition_overflow){port, wanted, room};
}

/* Appends the table of a port. The caller processes the ports in ascending order. */
static int add_table(struct draft *d, uint32_t port, const uint16_t *key, uint32_t count,
                     uint32_t room)
{
    uint16_t *more = d->keys.key;
    if (d->key_count + (size_t)room > d->key_room)
        more = fab_base_grow(d->keys.key, sizeof(*more), d->key_count + (size_t)room, &d->key_room);
    if (more == NULL)
        return FAB_E_NOMEM;
    d->keys.key = more;
    d->key_count +=
        fab_partition_assign_indexes(d->in->held, port, key, count, more + d->key_count, room);
    return FAB_OK;
}

static uint32_t room_of(const struct draft *d, uint32_t port)
{
    const uint32_t most = FAB_PKEY_BLOCKS_MAX * FAB_PKEY_BLOCK;
    uint32_t room = fab_target_pkeys_capacity(d->in->fabric, port);
    return room < most ? room : most;
}

static int table_of_endport(struct draft *d, uint32_t port, const uint16_t *key, uint32_t count)
{
    uint32_t room = room_of(d, port);
    if (room == 0)
        return FAB_OK;
    if (count > room)
        note_overflow(d, port, count, room);
    return add_table(d, port, key, count < room ? count : room, room);
}

/* Returns the enum fab_enforce bits of a switch port: the directions in which it must enforce
 * P_Keys. */
static uint8_t enforcement_at(const struct draft *d, uint32_t port)
{
    uint32_t peer = fab_fabric_port(d->in->fabric, port)->peer;
    return peer != FAB_NONE && is_quarantined(d->in, peer) ? FAB_ENFORCE_IN | FAB_ENFORCE_OUT
                                                           : d->in->enforce;
}

/* Makes the table of a switch port that enforces P_Keys from the keys of the endport at its link.
 * Leaves out a limited key if the endport also has the full key of the same partition. */
static int table_of_enforcing_port(struct draft *d, uint32_t port, uint16_t *key, uint32_t count)
{
    uint32_t room = room_of(d, port), kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || key[kept - 1] != (key[i] | FAB_PKEY_FULL))
            key[kept++] = key[i];
    if (room == 0)
        return FAB_OK;
    if (kept > room) {
        note_overflow(d, port, kept, room);
        return FAB_OK;
    }
    d->keys.enforce[port] = enforcement_at(d, port);
    return add_table(d, port, key, kept, room);
}

/* Returns the port whose P_Keys the table of `port` must have: the port itself or, for a switch
 * port that enforces P_Keys, the endport at the other end of its link. FAB_NONE: `port` needs no
 * table. */
static uint32_t owner_of(const struct draft *d, uint32_t port)
{
    const struct fab_fabric *f = d->in->fabric;
    if (fab_fabric_port_has_lid(f, port))
        return port;
    uint32_t peer = fab_fabric_port(f, port)->peer;
    bool enforces = fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
                    peer != FAB_NONE &&
                    !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node) &&
                    enforcement_at(d, port) != 0;
    return enforces && fab_fabric_port_has_lid(f, peer) ? peer : FAB_NONE;
}

/* Makes the table of one port. The grants of port p are grant[begin[p]] to grant[begin[p + 1] - 1];
 * no two of them have the same key, because no two partitions have the same P_Key. */
static int table_of(struct draft *d, uint32_t port, const size_t *begin, uint16_t *key)
{
    uint32_t owner = owner_of(d, port), count = 0;
    if (owner == FAB_NONE)
        return FAB_OK;
    for (size_t i = begin[owner]; i < begin[owner + 1]; i++)
        key[count++] = d->grant[i].key;
    return owner == port ? table_of_endport(d, port, key, count)
                         : table_of_enforcing_port(d, port, key, count);
}

static int make_tables(struct draft *d)
{
    uint32_t ports = d->in->fabric->port_count;
    size_t *begin = calloc((size_t)ports + 1, sizeof(*begin));
    uint16_t *key = fab_base_alloc_array(2 * d->in->partitions->partitions + 2, sizeof(*key));
    int r = begin != NULL && key != NULL ? FAB_OK : FAB_E_NOMEM;
    size_t at = 0;
    for (uint32_t port = 0; r == FAB_OK && port <= ports; port++) {
        while (at < d->grants && d->grant[at].port < port)
            at++;
        begin[port] = at;
    }
    for (uint32_t port = 0; r == FAB_OK && port < ports; port++) {
        d->keys.first[port] = d->key_count;
        r = table_of(d, port, begin, key);
    }
    if (r == FAB_OK)
        d->keys.first[ports] = d->key_count;
    free(begin);
    free(key);
    return r;
}

static int prepare(struct draft *d)
{
    uint32_t ports = d->in->fabric->port_count;
    d->keys.ports = ports;
    d->member = calloc((size_t)ports + 1, sizeof(*d->member));
    d->touched = fab_base_alloc_array((size_t)ports + 1, sizeof(*d->touched));
    d->keys.first = fab_base_alloc_array((size_t)ports + 1, sizeof(*d->keys.first));
    d->keys.enforce = calloc((size_t)ports + 1, sizeof(*d->keys.enforce));
    bool all =
        d->member != NULL && d->touched != NULL && d->keys.first != NULL && d->keys.enforce != NULL;
    return all ? FAB_OK : FAB_E_NOMEM;
}

int fab_partition_tables(const struct fab_partition_input *in, struct fab_pkeys *ret,
                         struct fab_partition_report *ret_report)
{
    struct draft d = {.in = in};
    int r = prepare(&d);
    if (r == FAB_OK)
        r = grant_all(&d);
    if (r == FAB_OK && d.grants > 0)
        qsort(d.grant, d.grants, sizeof(*d.grant), compare_grants);
    if (r == FAB_OK)
        r = make_tables(&d);
    if (r == FAB_OK) {
        *ret = d.keys;
        *ret_report = d.report;
    } else {
        fab_target_pkeys_fini(&d.keys);
    }
    free(d.member);
    free(d.touched);
    free(d.grant);
    return r;
}
