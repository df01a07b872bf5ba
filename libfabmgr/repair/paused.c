/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the pairs of source and destination that have no path while some entries drop packets.
 *
 * A switch whose entry drops packets receives packets from all switches whose old or new entries
 * lead to it. All endports at these switches are counted, even endports whose path ends in a dead
 * link. So the result is an upper limit.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* Maximum number of ports to examine; this takes some milliseconds of CPU time. Beyond this
 * maximum, all endports count as senders for each remaining entry that drops packets. */
#define VISITS_MOST 2000000u

struct counting {
    const struct fab_repair_network *b;
    const struct fab_lft *lft;
    const struct fab_repair_delta *d;
    uint32_t *stack; /* [switches] */
    /* [switches] the new entry for the LID, if the entry changes; otherwise NO_ROUTE */
    uint8_t *now;
    /* bitset of the switches whose endports are already counted */
    uint64_t *counted;
    uint64_t visits, endports;
};

/* Sets now[] to the new entries for a LID. If `loads` is false, sets the same elements back to
 * NO_ROUTE. */
static void load(struct counting *x, uint32_t lid, bool loads)
{
    const struct fab_repair_delta *d = x->d;
    size_t low = 0, high = d->changes;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (d->change[mid].lid < lid)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < d->changes && d->change[low].lid == lid; low++)
        x->now[d->change[low].sw] = loads ? d->change[low].now : FAB_LFT_NO_ROUTE;
}

/* Returns the number of endports whose packets to the LID may pass the switch. */
static uint64_t count_senders(struct counting *x, uint32_t sw, uint32_t lid)
{
    const struct fab_repair_network *b = x->b;
    uint64_t senders = 0;
    uint32_t count = 1;
    load(x, lid, true);
    fab_base_bits_zero(x->counted, b->n);
    fab_base_bits_set(x->counted, sw);
    x->stack[0] = sw;
    while (count > 0) {
        uint32_t at = x->stack[--count];
        senders += b->attached[at];
        for (uint32_t port = b->first[at] + 1; port < b->first[at + 1]; port++) {
            uint32_t from = b->peer_sw[port];
            if (from != FAB_NONE &&
                (fab_target_lft_at(x->lft, from, lid) == b->peer_num[port] ||
                 x->now[from] == b->peer_num[port]) &&
                fab_base_bits_add(x->counted, from))
                x->stack[count++] = from;
        }
        x->visits += b->first[at + 1] - b->first[at];
    }
    load(x, lid, false);
    return senders;
}

/* Returns true if packets that are forwarded by the old entry of this change may reach the LID. */
static bool works(const struct fab_repair *r, const struct fab_lft *lft,
                  const struct fab_repair_change *c)
{
    const struct fab_repair_network *b = r->network;
    uint8_t num = fab_target_lft_at(lft, c->sw, c->lid);
    uint32_t port = b->first[c->sw] + num;
    return num != FAB_LFT_NO_ROUTE && port < b->first[c->sw + 1] && !fab_repair_was_dead(r, port);
}

static void count(struct counting *x, const struct fab_repair *r, uint64_t *ret_pairs)
{
    const struct fab_repair_delta *d = x->d;
    for (uint32_t sw = 0; sw < x->b->n; sw++)
        x->endports += x->b->attached[sw];
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *w = &d->write[i];
        for (uint32_t k = 0; k < w->changes; k++) {
            const struct fab_repair_change *c = &d->change[d->by_write[w->first + k]];
            if ((w->drain >> c->lid % FAB_LFT_BLOCK & 1) != 0 && works(r, x->lft, c))
                *ret_pairs +=
                    x->visits < VISITS_MOST ? count_senders(x, c->sw, c->lid) : x->endports;
        }
    }
}

int fab_repair_count_paused(const struct fab_repair *r, const struct fab_lft *lft,
                            const struct fab_repair_delta *d, uint64_t *ret_pairs)
{
    const struct fab_repair_network *b = r->network;
    struct counting x = {.b = b, .lft = lft, .d = d};
    *ret_pairs = 0;
    if (d->drained == 0)
        return FAB_OK;
    x.stack = fab_base_alloc_array((size_t)b->n + 1, sizeof(*x.stack));
    x.now = malloc((size_t)b->n + 1);
    x.counted = fab_base_bits_new((size_t)b->n + 1);
    int status = x.stack != NULL && x.now != NULL && x.counted != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        memset(x.now, FAB_LFT_NO_ROUTE, b->n);
        count(&x, r, ret_pairs);
    }
    free(x.stack);
    free(x.now);
    free(x.counted);
    return status;
}
