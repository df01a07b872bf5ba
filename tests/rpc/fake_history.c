/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/rpc/fake_history.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define LEAF 0x0002c90100000001
#define SPINE 0x0002c90100000005
#define PORTS 4u

static void put(struct counters_round *r, unsigned column, uint32_t at, uint64_t value)
{
    if (r->code[column] == NULL)
        r->code[column] = calloc(r->room, sizeof *r->code[column]);
    if (r->code[column] != NULL)
        r->code[column][at] = fab_counters_encode_value(column, value);
}

static struct counters_round *make_round(unsigned minute)
{
    struct counters_round *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    const uint32_t leaf = 3, spine = PORTS + 1 + 1;
    r->time = (struct fab_counters_time){FAKE_HISTORY_BEGIN + 60 * (int64_t)minute, 60};
    r->ports = r->room = 2 * (PORTS + 1);
    r->nodes = calloc(2, sizeof *r->nodes);
    r->peer = malloc(r->room * sizeof *r->peer);
    if (r->nodes == NULL || r->peer == NULL) {
        counters_round_free(r);
        return NULL;
    }
    memset(r->peer, 0xff, r->room * sizeof *r->peer);
    r->node_count = 2;
    r->nodes[0] = (struct counters_node){.guid = LEAF, .ports = PORTS};
    r->nodes[1] = (struct counters_node){.guid = SPINE, .first = PORTS + 1, .ports = PORTS};
    r->peer[leaf] = spine;
    r->peer[spine] = leaf;
    uint64_t sent = 1000000 * (uint64_t)minute;
    put(r, FAB_COLUMN_XMIT_DATA, leaf, sent);
    put(r, FAB_COLUMN_XMIT_PKTS, leaf, sent / 2000);
    put(r, FAB_COLUMN_RCV_DATA, leaf, 5000000);
    put(r, FAB_COLUMN_XMIT_WAIT, leaf, 2500 * minute);
    put(r, FAB_COLUMN_VL_WAIT + 1, leaf, 2000 * minute);
    put(r, FAB_COLUMN_RCV_DATA, spine, minute < 30 ? sent : sent - sent / 5);
    put(r, FAB_COLUMN_XMIT_DATA, spine, 5000000);
    put(r, FAB_COLUMN_ERRORS + FAB_SYMBOL_ERRORS, leaf, minute % 5);
    put(r, FAB_COLUMN_ERRORS + FAB_LINK_DOWNED, leaf, minute == 20);
    put(r, FAB_COLUMN_DOWN, leaf, minute == 20 ? 7 : 0);
    put(r, FAB_COLUMN_DOWN, spine, minute == 20 ? 7 : 0);
    return r;
}

int fake_history_new(const char *dir, struct counters **ret)
{
    struct counters *c = NULL;
    int rc = counters_start(dir, UINT64_C(1) << 26, &c);
    for (unsigned minute = 1; rc == FAB_OK && minute <= FAKE_HISTORY_ROUNDS; minute++) {
        struct counters_round *r = make_round(minute);
        if (r == NULL)
            rc = FAB_E_NOMEM;
        else
            counters_put(c, r);
        counters_flush(c);
    }
    if (rc == FAB_OK)
        *ret = c;
    else
        counters_stop(c);
    return rc;
}
