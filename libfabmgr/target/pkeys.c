/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores P_Key tables. Most ports have only a few keys, so the wanted tables are stored one after
 * the other in one array. The tables that ports hold are stored as blocks of 64 bytes, and only
 * those blocks that were read or written. */
#include "libfabmgr/target/pkeys.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/owners.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

int fab_target_pkeys_copy(const struct fab_pkeys *p, struct fab_pkeys *ret_copy)
{
    struct fab_pkeys copy = {.ports = p->ports};
    if (p->ports == 0) {
        *ret_copy = copy;
        return FAB_OK;
    }
    size_t keys = p->first[p->ports];
    copy.first = fab_base_alloc_array((size_t)p->ports + 1, sizeof(*copy.first));
    copy.key = fab_base_alloc_array(keys, sizeof(*copy.key));
    copy.enforce = fab_base_alloc_array(p->ports, sizeof(*copy.enforce));
    if (copy.first == NULL || copy.key == NULL || copy.enforce == NULL) {
        fab_target_pkeys_fini(&copy);
        return FAB_E_NOMEM;
    }
    memcpy(copy.first, p->first, ((size_t)p->ports + 1) * sizeof(*copy.first));
    if (keys > 0)
        memcpy(copy.key, p->key, keys * sizeof(*copy.key));
    memcpy(copy.enforce, p->enforce, p->ports * sizeof(*copy.enforce));
    *ret_copy = copy;
    return FAB_OK;
}

int fab_target_pkeys_share(struct fab_pkeys *p, struct fab_pkeys *ret_other)
{
    int ret = fab_base_owners_add(&p->owners);
    if (ret == FAB_OK)
        *ret_other = *p;
    return ret;
}

void fab_target_pkeys_fini(struct fab_pkeys *p)
{
    if (fab_base_owners_remove(p->owners)) {
        free(p->first);
        free(p->key);
        free(p->enforce);
    }
    memset(p, 0, sizeof(*p));
}

const uint16_t *fab_target_pkeys_table(const struct fab_pkeys *p, uint32_t port,
                                       uint32_t *ret_count)
{
    uint32_t count = port < p->ports ? p->first[port + 1] - p->first[port] : 0;
    *ret_count = count;
    return count > 0 ? p->key + p->first[port] : NULL;
}

const uint16_t *fab_target_pkeys_table_or_default(const struct fab_pkeys *p, uint32_t port,
                                                  uint32_t *ret_count)
{
    static const uint16_t full = 0xffff;
    const uint16_t *key = fab_target_pkeys_table(p, port, ret_count);
    if (key != NULL)
        return key;
    *ret_count = 1;
    return &full;
}

bool fab_target_pkeys_has(const struct fab_pkeys *p, uint32_t port, uint16_t pkey)
{
    uint32_t count;
    const uint16_t *key = fab_target_pkeys_table_or_default(p, port, &count);
    for (uint32_t i = 0; i < count; i++)
        if (fab_target_pkey_base(key[i]) == fab_target_pkey_base(pkey) &&
            fab_target_pkey_base(pkey) != 0)
            return true;
    return false;
}

uint16_t fab_target_pkeys_common(const struct fab_pkeys *p, uint32_t a, uint32_t b, uint16_t wanted)
{
    uint32_t as, bs;
    const uint16_t *of_a = fab_target_pkeys_table_or_default(p, a, &as);
    const uint16_t *of_b = fab_target_pkeys_table_or_default(p, b, &bs);
    for (uint32_t i = 0; i < as; i++) {
        uint16_t key = of_a[i];
        if (wanted != 0 && fab_target_pkey_base(key) != fab_target_pkey_base(wanted))
            continue;
        for (uint32_t n = 0; n < bs; n++)
            if (fab_target_pkeys_match(key, of_b[n]) || (a == b && n == i && key != 0))
                return key & of_b[n];
    }
    return 0;
}

void fab_target_pkeys_block(const struct fab_pkeys *p, uint32_t port, uint32_t block,
                            uint16_t ret[FAB_PKEY_BLOCK])
{
    uint32_t count, at = block * FAB_PKEY_BLOCK;
    const uint16_t *key = fab_target_pkeys_table(p, port, &count);
    memset(ret, 0, FAB_PKEY_BLOCK * sizeof(*ret));
    if (at < count)
        memcpy(ret, key + at,
               (count - at < FAB_PKEY_BLOCK ? count - at : FAB_PKEY_BLOCK) * sizeof(*ret));
}

/* For an external port of a switch, the number of entries is PartitionEnforcementCap of SwitchInfo.
 * For any other port, it is PartitionCap of NodeInfo, or 0 if the port cannot have a LID. */
uint32_t fab_target_pkeys_capacity(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    bool is_switch = fab_fabric_node_is_switch(f, p->node);
    if (is_switch && p->num != 0)
        return f->switches[p->node].partition_enforcement_cap;
    return fab_fabric_port_has_lid(f, port) ? f->nodes[p->node].info.partition_cap : 0;
}

/* ---- what ports hold ------------------------------------------------------------------------- */

/* Number of the block that describes the partition enforcement of a port; P_Key blocks have lower
 * numbers. Entry SET is the enforcement that the manager last set. Entry SEEN is 1 if the port has
 * reported this enforcement since then. */
#define ENFORCE_BLOCK FAB_PKEY_BLOCKS_MAX
enum { SET, SEEN };

void fab_target_held_pkeys_forget(struct fab_blocks *h, uint32_t port)
{
    for (uint32_t block = 0; h->count > 0 && block <= ENFORCE_BLOCK; block++)
        fab_target_blocks_forget(h, port, block);
}

int fab_target_held_pkeys_set_enforce(struct fab_blocks *h, uint32_t port, uint8_t enforce)
{
    const uint16_t set[FAB_PKEY_BLOCK] = {[SET] = enforce};
    return fab_target_blocks_put(h, port, ENFORCE_BLOCK, set);
}

bool fab_target_held_pkeys_refused_enforce(const struct fab_blocks *h, uint32_t port,
                                           uint8_t enforce)
{
    const uint16_t *set = fab_target_blocks_get(h, port, ENFORCE_BLOCK);
    return set != NULL && set[SET] == enforce;
}

bool fab_target_held_pkeys_lost_enforce(struct fab_blocks *h, uint32_t port, uint8_t reported)
{
    const uint16_t *set = fab_target_blocks_get(h, port, ENFORCE_BLOCK);
    if (set == NULL || (set[SET] == reported) == (set[SEEN] != 0))
        return false;
    if (set[SEEN] == 0) {
        const uint16_t seen[FAB_PKEY_BLOCK] = {[SET] = reported, [SEEN] = 1};
        /* The block exists already, so the call cannot fail. */
        (void)fab_target_blocks_put(h, port, ENFORCE_BLOCK, seen);
        return false;
    }
    fab_target_blocks_forget(h, port, ENFORCE_BLOCK);
    return true;
}

/* Returns the id of the same port (by node GUID and port number) in the snapshot `now`; FAB_NONE:
 * `now` does not have the port. */
static uint32_t same_port(const struct fab_fabric *old, uint32_t port, const struct fab_fabric *now)
{
    if (port >= old->port_count)
        return FAB_NONE;
    const struct fab_port *was = fab_fabric_port(old, port);
    uint32_t node = fab_fabric_node_by_guid(now, old->nodes[was->node].guid);
    if (node == FAB_NONE || now->nodes[node].num_ports < was->num)
        return FAB_NONE;
    return fab_fabric_port_id(now, node, was->num);
}

int fab_target_held_pkeys_remap(const struct fab_blocks *h, const struct fab_fabric *old,
                                const struct fab_fabric *now, struct fab_blocks *ret)
{
    struct fab_blocks to = {0};
    int r = FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < h->count; i++) {
        const struct fab_block *b = &h->block[i];
        uint32_t port = b->known ? same_port(old, b->id, now) : FAB_NONE;
        if (port != FAB_NONE)
            r = fab_target_blocks_put(&to, port, b->number, b->entry);
    }
    if (r == FAB_OK)
        *ret = to;
    else
        fab_target_blocks_fini(&to);
    return r;
}
