/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a device: linear and multicast forwarding, P_Keys, SL to VL, VL arbitration, GUIDs
 * (IBA 14.2.5.5, 7-11).
 *
 * An LFT is an array that grows when a manager writes higher LIDs. The blocks of all other tables,
 * 64 bytes each, are in one map; the key consists of table, port and block number. A block that was
 * never written is not in the map; a Get then returns the value that the block has after power-on.
 */
#include <stdlib.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

enum table { TABLE_MFT, TABLE_PKEYS, TABLE_SL2VL, TABLE_VLARB, TABLE_GUIDS, TABLE_GS, TABLE_LED };
/* maximum number of blocks that all devices together may store (256 MB) */
#define BLOCKS_MAX (1u << 22)
/* entries per block of an MFT, P_Key table or VL arbitration table */
#define ENTRIES_PER_BLOCK 32
#define GUIDS_PER_BLOCK 8
#define MFT_POSITIONS 16
#define DEFAULT_PKEY 0xffff

/* ---- linear forwarding ----------------------------------------------------------------------- */

int fab_sim_lft_reserve(struct sim_switch *sw, uint32_t entries)
{
    uint32_t room = (entries + LFT_BLOCK - 1) / LFT_BLOCK * LFT_BLOCK;
    if (room <= sw->lft_room)
        return FAB_OK;
    uint8_t *grown = realloc(sw->lft, room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    memset(grown + sw->lft_room, DROPPED_PORT, room - sw->lft_room);
    sw->lft = grown;
    sw->lft_room = room;
    return FAB_OK;
}

static uint16_t set_lft(struct sim_switch *sw, uint32_t first, const uint8_t *data)
{
    uint32_t entries = first + LFT_BLOCK;
    if (entries < sw->info.linear_fdb_top + 1u)
        entries = sw->info.linear_fdb_top + 1u;
    if (fab_sim_lft_reserve(sw, entries) != FAB_OK)
        return FAB_SMP_BUSY;
    memcpy(sw->lft + first, data, LFT_BLOCK);
    return 0;
}

uint16_t fab_sim_handle_lft(struct request *r)
{
    if (!is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    struct sim_switch *sw = &r->sim->switches[r->at.node];
    uint64_t first = (uint64_t)r->mod * LFT_BLOCK;
    if (first >= sw->info.linear_fdb_cap)
        return FAB_SMP_BAD_VALUE;
    if (r->set) {
        fab_sim_traffic_rerouted(r->sim);
        return set_lft(sw, (uint32_t)first, r->data);
    }
    if (first < sw->lft_room)
        memcpy(r->data, sw->lft + first, LFT_BLOCK);
    else
        memset(r->data, DROPPED_PORT, LFT_BLOCK);
    return 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint64_t block_key(enum table table, uint32_t port, uint32_t block)
{
    return (uint64_t)table << 56 | (uint64_t)port << 24 | block;
}

static bool block_put(struct fab_sim *s, uint32_t node, uint64_t key, const uint8_t *data)
{
    struct sim_block *b = fab_sim_items_find(&s->blocks, sizeof *b, key);
    uint32_t i;
    if (b == NULL) {
        if (s->blocks.count >= BLOCKS_MAX ||
            fab_sim_items_add(&s->blocks, sizeof *b, key, &i) != FAB_OK)
            return false;
        b = (struct sim_block *)s->blocks.items + i;
    }
    b->power_cycle = s->nodes[node].power_cycles;
    memcpy(b->bytes, data, FAB_SMP_DATA);
    return true;
}

static bool block_get(const struct fab_sim *s, uint32_t node, uint64_t key, uint8_t *data)
{
    const struct sim_block *b = fab_sim_items_find(&s->blocks, sizeof *b, key);
    if (b == NULL || b->power_cycle != s->nodes[node].power_cycles)
        return false;
    memcpy(data, b->bytes, FAB_SMP_DATA);
    return true;
}

/* Returns the key of a piece of 64 bytes. A block of a general service has 192 bytes, and is stored
 * in three such pieces. */
static uint64_t piece_key(uint32_t port, uint16_t attr_id, uint32_t block, uint32_t piece)
{
    return block_key(TABLE_GS, port,
                     (uint32_t)(attr_id & 0xff) << 16 | (block & 0xfff) << 4 | piece);
}

bool fab_sim_table_read(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                        uint8_t data[FAB_GS_DATA])
{
    bool there = true;
    for (uint32_t i = 0; i < FAB_GS_DATA / FAB_SMP_DATA; i++)
        there = there && block_get(s, fab_fabric_port(s->fabric, port)->node,
                                   piece_key(port, attr_id, block, i), data + i * FAB_SMP_DATA);
    return there;
}

bool fab_sim_table_write(struct fab_sim *s, uint32_t port, uint16_t attr_id, uint32_t block,
                         const uint8_t data[FAB_GS_DATA])
{
    bool done = true;
    for (uint32_t i = 0; i < FAB_GS_DATA / FAB_SMP_DATA; i++)
        done = done && block_put(s, fab_fabric_port(s->fabric, port)->node,
                                 piece_key(port, attr_id, block, i), data + i * FAB_SMP_DATA);
    return done;
}

/* For a Set, writes the block; for a Get, reads it. Returns false if a Get reads a block that was
 * never written; its data are then zeros. The device implements only the first `used` bytes of the
 * block; a Set stores zeros in place of the others. */
static bool access_block(struct request *r, uint64_t key, size_t used, uint16_t *ret_status)
{
    *ret_status = 0;
    if (r->set) {
        if (used < FAB_SMP_DATA)
            memset(r->data + used, 0, FAB_SMP_DATA - used);
        *ret_status = block_put(r->sim, r->at.node, key, r->data) ? 0 : FAB_SMP_BUSY;
        return true;
    }
    bool written = block_get(r->sim, r->at.node, key, r->data);
    if (!written)
        memset(r->data, 0, FAB_SMP_DATA);
    return written;
}

/* Finds the port to which the table in the request belongs. At a switch, this is port `num` (from
 * the attribute modifier); at an adapter, the port by which the request arrived. Returns false if
 * there is no such port. */
static bool find_port(const struct request *r, uint32_t num, uint32_t *ret_port)
{
    if (!is_switch(r->sim, r->at.node))
        num = r->at.port;
    if (num > r->sim->fabric->nodes[r->at.node].num_ports)
        return false;
    *ret_port = port_id(r->sim, r->at.node, (uint8_t)num);
    return true;
}

/* Handles MulticastForwardingTable, and returns the status of the answer. In the attribute
 * modifier, bits 0-8 are the block and bits 28-31 the position of the port mask. */
uint16_t fab_sim_handle_mft(struct request *r)
{
    uint32_t block = r->mod & 0x1ff, position = r->mod >> 28;
    uint16_t status;
    if (!is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    const struct fab_switch_info *info = &r->sim->switches[r->at.node].info;
    if ((r->mod & 0x0ffffe00) != 0 || block * ENTRIES_PER_BLOCK >= info->multicast_fdb_cap ||
        position * 16u > r->sim->fabric->nodes[r->at.node].num_ports)
        return FAB_SMP_BAD_VALUE;
    uint32_t port = port_id(r->sim, r->at.node, 0);
    access_block(r, block_key(TABLE_MFT, port, block * MFT_POSITIONS + position), FAB_SMP_DATA,
                 &status);
    return status;
}

uint16_t fab_sim_mft(const struct fab_sim *s, uint32_t sw, uint16_t mlid, unsigned position)
{
    uint8_t data[FAB_SMP_DATA];
    uint32_t entry = mlid - LID_MULTICAST, block = entry / ENTRIES_PER_BLOCK;
    uint64_t key = block_key(TABLE_MFT, port_id(s, sw, 0), block * MFT_POSITIONS + position);
    return block_get(s, sw, key, data) ? fab_base_get_be16(data + entry % ENTRIES_PER_BLOCK * 2)
                                       : 0;
}

/* Handles P_KeyTable, and returns the status of the answer. In the attribute modifier, bits 0-15
 * are the block and bits 16-31 the port. */
uint16_t fab_sim_handle_pkeys(struct request *r)
{
    uint32_t block = r->mod & 0xffff, num = r->mod >> 16, port;
    uint16_t status;
    if (!find_port(r, num, &port))
        return FAB_SMP_BAD_VALUE;
    bool external = is_switch(r->sim, r->at.node) && num > 0;
    uint32_t cap = external ? r->sim->switches[r->at.node].info.partition_enforcement_cap
                            : r->sim->fabric->nodes[r->at.node].info.partition_cap;
    if (block * ENTRIES_PER_BLOCK >= cap)
        return FAB_SMP_BAD_VALUE;
    size_t used = (cap - block * ENTRIES_PER_BLOCK) * sizeof(uint16_t);
    if (!access_block(r, block_key(TABLE_PKEYS, port, block), used, &status) && block == 0)
        fab_base_put_be16(r->data, DEFAULT_PKEY);
    return status;
}

static void default_sl2vl(const struct fab_sim *s, uint32_t port, uint8_t *data)
{
    struct fab_sl2vl map;
    unsigned vls = fab_wire_op_vls_count(s->ports[port].info.vl_cap);
    for (unsigned sl = 0; sl < 16; sl++)
        map.vl[sl] = (uint8_t)(vls > 0 ? sl % vls : 0);
    (void)fab_wire_attr_pack(&fab_wire_attr_sl2vl, &map, data, FAB_SMP_DATA);
}

/* Each Set of SLtoVLMappingTable is stored as a block with a sequence number. Flags in the key of
 * the block say that the Set applies to all output ports (ALL_OUT) or to all input ports (ALL_IN).
 * If several Sets apply to the same pair of ports, the one with the highest number is valid. */
enum { ALL_OUT = 0x100, ALL_IN = 0x200, SL2VL_SIZE = 8 };

static uint64_t sl2vl_key(const struct fab_sim *s, uint32_t node, uint32_t wide, uint32_t in,
                          uint32_t out)
{
    uint32_t port = port_id(s, node, (uint8_t)(wide & ALL_OUT ? 0 : out));
    return block_key(TABLE_SL2VL, port, wide | (wide & ALL_IN ? 0 : in));
}

static void sl2vl_get(const struct fab_sim *s, uint32_t node, uint32_t in, uint32_t out,
                      uint8_t data[FAB_SMP_DATA])
{
    static const uint32_t wide[] = {0, ALL_IN, ALL_OUT, ALL_IN | ALL_OUT};
    uint8_t found[FAB_SMP_DATA];
    uint64_t last = 0;
    memset(data, 0, FAB_SMP_DATA);
    default_sl2vl(s, port_id(s, node, (uint8_t)out), data);
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
        if (!block_get(s, node, sl2vl_key(s, node, wide[i], in, out), found) ||
            fab_base_get_be64(found + SL2VL_SIZE) <= last)
            continue;
        last = fab_base_get_be64(found + SL2VL_SIZE);
        memcpy(data, found, SL2VL_SIZE);
    }
}

uint64_t fab_sim_sl2vl(const struct fab_sim *s, uint32_t node, uint8_t in, uint8_t out)
{
    uint8_t data[FAB_SMP_DATA];
    sl2vl_get(s, node, is_switch(s, node) ? in : 0, out, data);
    return fab_base_get_be64(data);
}

static uint16_t sl2vl_set(struct request *r, uint64_t key)
{
    uint8_t block[FAB_SMP_DATA] = {0};
    memcpy(block, r->data, SL2VL_SIZE);
    fab_base_put_be64(block + SL2VL_SIZE, ++r->sim->sl2vl_writes);
    return block_put(r->sim, r->at.node, key, block) ? 0 : FAB_SMP_BUSY;
}

/* Handles SLtoVLMappingTable, and returns the status of the answer. At a switch, bits 0-7 of the
 * attribute modifier are the output port and bits 8-15 the input port. A Set may also use bit 16
 * (all output ports) and bit 17 (all input ports) if SwitchInfo announces these options. */
uint16_t fab_sim_handle_sl2vl(struct request *r)
{
    bool sw = is_switch(r->sim, r->at.node);
    uint32_t out = r->mod & 0xff, in = sw ? r->mod >> 8 & 0xff : 0, port;
    uint32_t wide = sw ? r->mod >> 8 & (ALL_OUT | ALL_IN) : 0;
    bool offered = sw && (r->sim->switches[r->at.node].info.optimized_sl2vl & 1) != 0;
    if (!find_port(r, wide & ALL_OUT ? 0 : out, &port) ||
        (!(wide & ALL_IN) && in > r->sim->fabric->nodes[r->at.node].num_ports) ||
        (wide != 0 && !(offered && r->set)))
        return FAB_SMP_BAD_VALUE;
    out = fab_fabric_port(r->sim->fabric, port)->num;
    if (r->set)
        return sl2vl_set(r, sl2vl_key(r->sim, r->at.node, wide, in, out));
    sl2vl_get(r->sim, r->at.node, in, out, r->data);
    return 0;
}

/* Handles VLArbitrationTable, and returns the status of the answer. In the attribute modifier, bits
 * 0-15 are the port and bits 16-31 the part of the table: 1 and 2 for low priority, 3 and 4 for
 * high priority. */
uint16_t fab_sim_handle_vlarb(struct request *r)
{
    uint32_t num = r->mod & 0xffff, quarter = r->mod >> 16, port;
    uint16_t status;
    if (!find_port(r, num, &port) || quarter < 1 || quarter > 4)
        return FAB_SMP_BAD_VALUE;
    const struct fab_port_info *info = &r->sim->ports[port].info;
    uint32_t cap = quarter <= 2 ? info->vlarb_low_cap : info->vlarb_high_cap;
    uint32_t first = (quarter - 1) % 2 * ENTRIES_PER_BLOCK;
    if (first >= cap)
        return FAB_SMP_BAD_VALUE;
    size_t used = (cap - first) * sizeof(uint16_t);
    access_block(r, block_key(TABLE_VLARB, port, quarter), used, &status);
    return status;
}

/* Handles GUIDInfo, and returns the status of the answer. Entry 0 of block 0 is the port's own
 * GUID, which a Set cannot change. */
uint16_t fab_sim_handle_guids(struct request *r)
{
    uint32_t port;
    uint16_t status;
    if (!find_port(r, 0, &port) || r->mod * (uint64_t)GUIDS_PER_BLOCK >=
                                       (uint64_t)r->sim->ports[port].info.guid_cap + (r->mod == 0))
        return FAB_SMP_BAD_VALUE;
    uint64_t guid = fab_fabric_port(r->sim->fabric, port)->guid;
    size_t used = (r->sim->ports[port].info.guid_cap - r->mod * GUIDS_PER_BLOCK) * sizeof guid;
    access_block(r, block_key(TABLE_GUIDS, port, r->mod), used, &status);
    if (r->mod == 0)
        fab_base_put_be64(r->data, guid);
    return status;
}

/* Handles LedInfo, and returns the status of the answer. The device must have IsLEDInfoSupported in
 * CapabilityMask. The attribute modifier is the port. */
uint16_t fab_sim_handle_led(struct request *r)
{
    uint32_t port;
    uint16_t status;
    if (!(r->sim->ports[lid_port(r->sim, r->at)].info.cap_mask & CAP_LED_INFO))
        return FAB_SMP_BAD_ATTR;
    if (!find_port(r, r->mod, &port))
        return FAB_SMP_BAD_VALUE;
    r->data[0] &= 0x80;
    access_block(r, block_key(TABLE_LED, port, 0), 1, &status);
    return status;
}

/* Makes all table blocks of a node that has lost power invalid: a block is valid only if its
 * power_cycle equals the node's power_cycles. Also frees the LFT of a switch. */
void fab_sim_tables_forget(struct fab_sim *s, uint32_t node)
{
    s->nodes[node].power_cycles++;
    if (!is_switch(s, node))
        return;
    free(s->switches[node].lft);
    s->switches[node].lft = NULL;
    s->switches[node].lft_room = 0;
    fab_sim_switch_start(s, node);
}
