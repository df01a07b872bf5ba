/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the pairs of source and destination that have no path while some entries drop packets.
 *
 * An entry drops packets from the step of the write that drains it to the step of the write that
 * sets its new value. In each of these steps, its switch receives packets from all switches from
 * which a path leads to it: over old entries that no earlier step replaces, and new ones that no
 * later step writes. All endports at these switches are counted, even endports whose path ends in a
 * dead link. So the result is an upper limit. Pairs with a switch do not count: only the manager
 * and monitoring send packets to switches, and they repeat a request that is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* Maximum number of ports to examine; this takes about 30 ms of CPU time. Beyond this
 * maximum, all endports count as senders for each remaining entry that drops packets. */
#define VISITS_MOST 8000000u

struct counting {
    const struct fab_repair_network *b;
    const struct fab_lft *lft;
    const struct fab_repair_delta *d;
    uint32_t *stack; /* [switches] */
    /* [changes] step of the write that sets the new value of each change */
    uint32_t *step;
    /* [switches] index in the delta's change[] of the change of each switch's entry for the LID;
     * FAB_NONE: the entry does not change */
    uint32_t *change_of;
    /* bitset of the switches whose endports are already counted */
    uint64_t *counted;
    /* bitset of the switches whose packets reach the dropping entry in the present step */
    uint64_t *reached;
    uint64_t visits, endports;
};

/* Sets change_of[] for a LID. If `loads` is false, sets the same elements back to FAB_NONE. */
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
        x->change_of[d->change[low].sw] = loads ? (uint32_t)low : FAB_NONE;
}

static void find_steps(struct counting *x)
{
    const struct fab_repair_delta *d = x->d;
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *w = &d->write[i];
        for (uint32_t k = w->first; k < w->first + w->changes; k++) {
            uint32_t which = d->by_write[k];
            if (((w->keep | w->drain) >> d->change[which].lid % FAB_LFT_BLOCK & 1) == 0)
                x->step[which] = w->step;
        }
    }
}

/* Returns true if the switch `from` may send packets for the LID by its port `num` in this step. */
static bool may_send(const struct counting *x, uint32_t from, uint8_t num, uint32_t lid,
                     uint32_t step)
{
    uint32_t which = x->change_of[from];
    bool by_old = fab_target_lft_at(x->lft, from, lid) == num;
    if (which == FAB_NONE)
        return by_old;
    return (by_old && x->step[which] >= step) ||
           (x->d->change[which].now == num && x->step[which] <= step);
}

/* Returns the number of endports whose packets to the LID may pass the switch `sw` in this step.
 * Omits endports that were counted in earlier steps. */
static uint64_t count_in_step(struct counting *x, uint32_t sw, uint32_t lid, uint32_t step)
{
    const struct fab_repair_network *b = x->b;
    uint64_t senders = 0;
    uint32_t count = 1;
    fab_base_bits_zero(x->reached, b->n);
    fab_base_bits_set(x->reached, sw);
    x->stack[0] = sw;
    while (count > 0) {
        uint32_t at = x->stack[--count];
        senders += fab_base_bits_add(x->counted, at) ? b->attached[at] : 0;
        for (uint32_t port = b->first[at] + 1; port < b->first[at + 1]; port++) {
            uint32_t from = b->peer_sw[port];
            if (from != FAB_NONE && may_send(x, from, b->peer_num[port], lid, step) &&
                fab_base_bits_add(x->reached, from))
                x->stack[count++] = from;
        }
        x->visits += b->first[at + 1] - b->first[at];
    }
    return senders;
}

/* Returns the number of endports whose packets to the LID may pass the switch in the steps from
 * `first` to `last`, both included. */
static uint64_t count_senders(struct counting *x, uint32_t sw, uint32_t lid, uint32_t first,
                              uint32_t last)
{
    uint64_t senders = 0;
    load(x, lid, true);
    fab_base_bits_zero(x->counted, x->b->n);
    for (uint32_t step = first; step <= last; step++)
        senders += count_in_step(x, sw, lid, step);
    load(x, lid, false);
    return senders;
}

/* Returns true if the LID is that of an endport, and packets that are forwarded by the old entry of
 * this change may reach it. */
static bool works(const struct fab_repair *r, const struct fab_lft *lft,
                  const struct fab_repair_change *c)
{
    const struct fab_repair_network *b = r->network;
    uint8_t num = fab_target_lft_at(lft, c->sw, c->lid);
    uint32_t port = b->first[c->sw] + num;
    return fab_base_bits_get(b->is_endport, c->lid) && num != FAB_LFT_NO_ROUTE &&
           port < b->first[c->sw + 1] && !fab_repair_was_dead(r, port);
}

static void count(struct counting *x, const struct fab_repair *r, uint64_t *ret_pairs)
{
    const struct fab_repair_delta *d = x->d;
    for (uint32_t sw = 0; sw < x->b->n; sw++)
        x->endports += x->b->attached[sw];
    for (size_t i = 0; i < d->writes; i++) {
        const struct fab_repair_write *w = &d->write[i];
        for (uint32_t k = 0; k < w->changes; k++) {
            uint32_t which = d->by_write[w->first + k];
            const struct fab_repair_change *c = &d->change[which];
            if ((w->drain >> c->lid % FAB_LFT_BLOCK & 1) != 0 && works(r, x->lft, c))
                *ret_pairs += x->visits < VISITS_MOST
                                  ? count_senders(x, c->sw, c->lid, w->step, x->step[which])
                                  : x->endports;
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
    x.step = calloc(d->changes + 1, sizeof(*x.step));
    x.change_of = fab_base_alloc_array((size_t)b->n + 1, sizeof(*x.change_of));
    x.counted = fab_base_bits_new((size_t)b->n + 1);
    x.reached = fab_base_bits_new((size_t)b->n + 1);
    int status = x.stack && x.step && x.change_of && x.counted && x.reached ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        memset(x.change_of, 0xff, b->n * sizeof(*x.change_of));
        find_steps(&x);
        count(&x, r, ret_pairs);
    }
    free(x.stack);
    free(x.step);
    free(x.change_of);
    free(x.counted);
    free(x.reached);
    return status;
}
