/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores alias GUIDs in an array of blocks, which never change their positions in the array. Two
 * maps find a block by port GUID and by alias GUID. aliases.h explains alias GUIDs. */
#include "libfabmgr/sa/aliases.h"

#include <stdlib.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define NO_ROW UINT32_MAX
/* Bit of an EUI-64 that marks a locally administered identifier */
#define LOCAL (UINT64_C(0x02) << 56)
#define TRIES 64

void fab_sa_aliases_fini(struct fab_sa_aliases *a)
{
    free(a->row);
    fab_base_map_fini(&a->ports);
    fab_base_map_fini(&a->guids);
    *a = (struct fab_sa_aliases){0};
}

struct fab_sa_alias_block *fab_sa_aliases_block(const struct fab_sa_aliases *a, uint64_t port_guid,
                                                uint32_t block)
{
    uint32_t row;
    if (!fab_base_map_get(&a->ports, port_guid, &row))
        return NULL;
    while (row != NO_ROW && a->row[row].block != block)
        row = a->row[row].next;
    return row != NO_ROW ? &a->row[row] : NULL;
}

static int add_block(struct fab_sa_aliases *a, uint64_t port_guid, uint32_t block,
                     struct fab_sa_alias_block **ret)
{
    uint32_t first = NO_ROW;
    struct fab_sa_alias_block *row = a->row;
    if (a->count == a->room)
        row = fab_base_grow(a->row, sizeof *a->row, a->count + 1, &a->room);
    if (row == NULL)
        return FAB_E_NOMEM;
    a->row = row;
    (void)fab_base_map_get(&a->ports, port_guid, &first);
    if (fab_base_map_put(&a->ports, port_guid, (uint32_t)a->count) != FAB_OK)
        return FAB_E_NOMEM;
    *ret = &a->row[a->count++];
    **ret =
        (struct fab_sa_alias_block){.port_guid = port_guid, .block = (uint8_t)block, .next = first};
    return FAB_OK;
}

int fab_sa_aliases_set(struct fab_sa_aliases *a, uint64_t port_guid, uint32_t index, uint64_t guid)
{
    uint32_t in_block = index % FAB_SA_ALIAS_BLOCK;
    struct fab_sa_alias_block *b = fab_sa_aliases_block(a, port_guid, index / FAB_SA_ALIAS_BLOCK);
    if (index == 0 || index >= FAB_SA_ALIAS_INDEXES)
        return FAB_E_RANGE;
    uint64_t old = b != NULL ? b->guid[in_block] : 0;
    if (old == guid)
        return FAB_OK;
    int r = guid != 0 && fab_base_map_has(&a->guids, guid) ? FAB_E_EXISTS : FAB_OK;
    if (r == FAB_OK && b == NULL)
        r = add_block(a, port_guid, index / FAB_SA_ALIAS_BLOCK, &b);
    if (r == FAB_OK && guid != 0)
        r = fab_base_map_add(&a->guids, guid, (uint32_t)(b - a->row));
    if (r != FAB_OK)
        return r;
    if (old != 0)
        fab_base_map_remove(&a->guids, old);
    b->guid[in_block] = guid;
    b->dirty = true;
    return FAB_OK;
}

uint32_t fab_sa_aliases_of(const struct fab_sa_aliases *a, uint64_t port_guid)
{
    uint32_t row = NO_ROW, count = 0;
    (void)fab_base_map_get(&a->ports, port_guid, &row);
    for (; row != NO_ROW; row = a->row[row].next)
        for (unsigned i = 0; i < FAB_SA_ALIAS_BLOCK; i++)
            count += a->row[row].guid[i] != 0;
    return count;
}

uint64_t fab_sa_aliases_port(const struct fab_sa_aliases *a, uint64_t guid)
{
    uint32_t row;
    return guid != 0 && fab_base_map_get(&a->guids, guid, &row) ? a->row[row].port_guid : 0;
}

uint64_t fab_sa_aliases_generate(const struct fab_sa_aliases *a, uint64_t port_guid, uint32_t index,
                                 bool (*taken)(const void *ctx, uint64_t guid), const void *ctx)
{
    for (uint64_t n = 0; n < TRIES; n++) {
        uint64_t guid =
            LOCAL | (fab_base_mix64(fab_base_mix64(port_guid) + n * FAB_SA_ALIAS_INDEXES + index) &
                     (LOCAL / 2 - 1));
        if (!fab_base_map_has(&a->guids, guid) && !taken(ctx, guid))
            return guid;
    }
    return 0;
}
