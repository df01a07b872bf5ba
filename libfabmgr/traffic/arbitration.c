/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates VL arbitration (IBA 7.6.9): weighted round robin over two tables. VLs of the
 * high-priority table send first, until they have sent as many bytes as its limit allows. */
#include "libfabmgr/traffic/model.h"

/* unit of the limit of the high-priority table, in bytes */
#define LIMIT_UNIT 4096
#define UNLIMITED 255

struct table {
    const uint8_t (*entry)[2]; /* table entries: [0] is the VL, [1] its weight */
    uint16_t count;
};

/* Returns the VL of the next table entry whose VL is in the bitset `mask`, and sets *turn to this
 * entry; -1: the table has no such entry. If the current entry qualifies and has weight left, it is
 * the next entry. Skips entries with weight 0. */
static int find(const struct table *table, struct traffic_arbiter *turn, uint32_t mask)
{
    for (uint32_t tried = 0; tried <= table->count && table->count > 0; tried++) {
        uint8_t vl = table->entry[turn->at][0];
        if (turn->left > 0 && (mask >> vl & 1) != 0)
            return vl;
        turn->at = (uint16_t)((turn->at + 1u) % table->count);
        turn->left = table->entry[turn->at][1];
    }
    return -1;
}

static struct table high_of(const struct fab_traffic *t)
{
    return (struct table){(const void *)t->in.arbitration->high, t->in.arbitration->high_count};
}
static struct table low_of(const struct fab_traffic *t)
{
    return (struct table){(const void *)t->in.arbitration->low, t->in.arbitration->low_count};
}

static bool has(const struct table *table, uint8_t vl)
{
    for (uint16_t i = 0; i < table->count; i++)
        if (table->entry[i][0] == vl && table->entry[i][1] > 0)
            return true;
    return false;
}

static uint8_t arbitrate_tables(struct fab_traffic *t, struct traffic_port *p, uint32_t mask)
{
    struct table high = high_of(t), low = low_of(t);
    int vl = p->high_left > 0 || t->in.arbitration->high_limit == UNLIMITED
                 ? find(&high, &p->high, mask)
                 : -1;
    if (vl < 0)
        vl = find(&low, &p->low, mask);
    if (vl < 0)
        vl = find(&high, &p->high, mask);
    return (uint8_t)(vl >= 0 ? vl : __builtin_ctz(mask));
}

uint8_t fab_traffic_arbitrate(struct fab_traffic *t, struct traffic_port *p, uint32_t mask)
{
    if ((mask & (mask - 1)) == 0)
        return (uint8_t)__builtin_ctz(mask);
    if (t->in.arbitration != NULL)
        return arbitrate_tables(t, p, mask);
    uint32_t after = mask & ~((2u << p->low.at) - 1);
    return (uint8_t)__builtin_ctz(after != 0 ? after : mask);
}

/* If the current entry of the table is for `vl`, subtracts the bytes that this VL sends from the
 * remaining weight of the entry. The entry may be for another VL, because fab_traffic_arbitrate
 * does not use the tables if only one VL can send. Also updates p->high_left. Without tables, only
 * notes which VL has sent, for the round robin. */
void fab_traffic_arbitration_charge(struct fab_traffic *t, struct traffic_port *p, uint8_t vl,
                                    uint32_t bytes)
{
    if (t->in.arbitration == NULL) {
        p->low.at = vl;
        return;
    }
    struct table high = high_of(t), low = low_of(t);
    bool is_high = has(&high, vl);
    struct table *table = is_high ? &high : &low;
    struct traffic_arbiter *turn = is_high ? &p->high : &p->low;
    if (table->count > 0 && table->entry[turn->at][0] == vl)
        turn->left -= (int32_t)traffic_blocks(bytes);
    if (is_high)
        p->high_left -= bytes;
    else
        p->high_left = (int64_t)t->in.arbitration->high_limit * LIMIT_UNIT + 1;
}
