/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends reports of notices to subscribers. Each subscription has a slot, which is its index in an
 * array. A slot is in at most one of two lists. The list `waiting` has the slots whose report is in
 * flight. The list `ready` has the slots whose last report was answered while further notices wait,
 * and the slots whose report must be sent again.
 *
 * After each new notice, the function output_walk() visits all slots and compares the notice with
 * their subscriptions. If the caller's budget ends, a later call continues at the same slot.
 * Notices are not copied for subscriptions.
 *
 * A transaction ID has the slot in its low bits and a count of the slot's reports above them. So a
 * late response is not taken for the response to the next report.
 */
#include "libfabmgr/registry/reports.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define NONE FAB_SUBSCRIPTION_NONE
#define SLOT_BITS 20
/* unit of RespTimeValue in ns: a value n stands for 4.096 us * 2^n */
#define RESP_UNIT_NS 4096
/* maximum RespTimeValue that counts, 4.3 s; higher values of a subscriber count as this one */
#define RESP_MOST 20

_Static_assert(FAB_SUBSCRIPTIONS_MOST <= 1u << SLOT_BITS, "slots in transaction ids");

struct list {
    uint32_t first, last;
};
struct fab_report_ring {
    struct fab_reports_config config;
    /* [FAB_REPORT_RING] ring buffer of notices: notice number n is at index n % FAB_REPORT_RING;
     * NULL: no notice was added yet */
    struct fab_event_notice *notice;
    uint64_t head; /* number that the next notice will get */
    struct list ready, waiting;
    /* walk_at: the slot at which output_walk() continues; walk_left: number of slots that it has
     * not visited yet */
    uint32_t walk_at, walk_left;
    /* number of reports in flight that count against the window */
    uint32_t fresh;
    struct fab_registry_reports_stats stats;
};

int fab_registry_reports_init(struct fab_subscriptions *s)
{
    s->ring = calloc(1, sizeof *s->ring);
    if (s->ring == NULL)
        return FAB_E_NOMEM;
    s->ring->ready = s->ring->waiting = (struct list){NONE, NONE};
    s->ring->config = (struct fab_reports_config){.window = 32,
                                                  .tries = 4,
                                                  .slow_us = 50000,
                                                  .wait_least_us = 200000,
                                                  .wait_most_us = 5000000};
    return FAB_OK;
}

void fab_registry_reports_fini(struct fab_subscriptions *s)
{
    free(s->ring->notice);
    free(s->ring);
}

void fab_registry_reports_configure(struct fab_subscriptions *s,
                                    const struct fab_reports_config *config)
{
    s->ring->config = *config;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void append(struct fab_subscriptions *s, struct list *l, uint32_t slot)
{
    struct fab_subscription *x = &s->slot[slot];
    x->before = l->last;
    x->after = NONE;
    if (l->last != NONE)
        s->slot[l->last].after = slot;
    else
        l->first = slot;
    l->last = slot;
}

static void take_out(struct fab_subscriptions *s, struct list *l, uint32_t slot)
{
    const struct fab_subscription *x = &s->slot[slot];
    if (x->before != NONE)
        s->slot[x->before].after = x->after;
    else
        l->first = x->after;
    if (x->after != NONE)
        s->slot[x->after].before = x->before;
    else
        l->last = x->before;
}

static void make_ready(struct fab_subscriptions *s, uint32_t slot)
{
    append(s, &s->ring->ready, slot);
    s->slot[slot].queued = true;
}

static void not_ready(struct fab_subscriptions *s, uint32_t slot)
{
    take_out(s, &s->ring->ready, slot);
    s->slot[slot].queued = false;
}

static void not_fresh(struct fab_subscriptions *s, struct fab_subscription *x)
{
    s->ring->fresh -= x->fresh;
    x->fresh = false;
}

/* Ends the current report of the slot: the slot no longer waits for a response, and the report does
 * not count against the window any more. */
static void settle(struct fab_subscriptions *s, uint32_t slot)
{
    struct fab_subscription *x = &s->slot[slot];
    if (x->wait == FAB_REPORT_ANSWER)
        take_out(s, &s->ring->waiting, slot);
    not_fresh(s, x);
    x->wait = FAB_REPORT_IDLE;
}

/* ---- subscriptions and notices --------------------------------------------------------------- */

void fab_registry_reports_join(struct fab_subscriptions *s, uint32_t slot)
{
    s->slot[slot].next = s->ring->head;
}

void fab_registry_reports_leave(struct fab_subscriptions *s, uint32_t slot)
{
    settle(s, slot);
    if (s->slot[slot].queued)
        not_ready(s, slot);
}

int fab_registry_reports_add(struct fab_subscriptions *s, const struct fab_event_notice *notice)
{
    struct fab_report_ring *r = s->ring;
    r->stats.notices++;
    if (s->count == 0)
        return FAB_OK;
    if (r->notice == NULL)
        r->notice = calloc(FAB_REPORT_RING, sizeof *r->notice);
    if (r->notice == NULL)
        return FAB_E_NOMEM;
    r->notice[r->head++ % FAB_REPORT_RING] = *notice;
    r->walk_left = s->slots;
    return FAB_OK;
}

static uint64_t oldest(const struct fab_report_ring *r)
{
    return r->head > FAB_REPORT_RING ? r->head - FAB_REPORT_RING : 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint64_t report_timeout(const struct fab_reports_config *c,
                               const struct fab_inform_info *info)
{
    unsigned n = info->resp_time < RESP_MOST ? info->resp_time : RESP_MOST;
    uint64_t us = c->wait_least_us + ((uint64_t)RESP_UNIT_NS << n) / 1000;
    return us < c->wait_most_us ? us : c->wait_most_us;
}

static uint32_t tid_of(const struct fab_subscription *x, uint32_t slot)
{
    return x->turn << SLOT_BITS | slot;
}

static void make_mad(const struct fab_subscription *x, uint32_t slot,
                     const struct fab_event_notice *n, uint8_t mad[FAB_MAD_SIZE])
{
    const struct fab_mad head = {.mgmt_class = FAB_CLASS_SA,
                                 .method = FAB_METHOD_REPORT,
                                 .tid = tid_of(x, slot),
                                 .attr_id = FAB_ATTR_NOTICE};
    (void)fab_wire_gmp_pack(&head, NULL, 0, mad);
    (void)fab_wire_attr_pack(&fab_wire_attr_notice, &n->is, mad + FAB_SA_DATA,
                             FAB_NOTICE_BYTES - 16);
    fab_base_put_be64(mad + FAB_SA_DATA + FAB_NOTICE_BYTES - 16, n->issuer[0]);
    fab_base_put_be64(mad + FAB_SA_DATA + FAB_NOTICE_BYTES - 8, n->issuer[1]);
}

static void send_report(struct fab_subscriptions *s, uint32_t slot, uint64_t now,
                        uint8_t mad[FAB_MAD_SIZE])
{
    struct fab_report_ring *r = s->ring;
    struct fab_subscription *x = &s->slot[slot];
    x->wait = FAB_REPORT_ANSWER;
    x->sent_us = now;
    x->deadline = now + report_timeout(&r->config, &x->record.info);
    append(s, &r->waiting, slot);
    r->stats.sent++;
    make_mad(x, slot, &r->notice[x->awaited % FAB_REPORT_RING], mad);
}

/* Moves the subscription to the next notice that it selects and that the subscriber may receive.
 * Returns OK, NOT_FOUND (there is no such notice), or BUSY or DENIED as
 * fab_registry_reports_output. */
static int advance(struct fab_subscriptions *s, uint32_t slot, uint32_t *budget,
                   fab_report_judge *judge, void *ctx)
{
    struct fab_report_ring *r = s->ring;
    struct fab_subscription *x = &s->slot[slot];
    if (x->next < oldest(r)) {
        r->stats.lost += oldest(r) - x->next;
        x->next = oldest(r);
    }
    for (; x->next < r->head; x->next++, (*budget)--) {
        const struct fab_event_notice *n = &r->notice[x->next % FAB_REPORT_RING];
        if (*budget == 0)
            return FAB_E_BUSY;
        if (!fab_registry_inform_matches(&x->record.info, n))
            continue;
        enum fab_report_verdict verdict = judge(ctx, x, n);
        if (verdict == FAB_REPORT_DROP)
            return FAB_E_DENIED;
        if (verdict == FAB_REPORT_SEND) {
            x->awaited = x->next++;
            x->turn++;
            x->fresh = true;
            r->fresh++;
            return FAB_OK;
        }
    }
    return FAB_E_NOT_FOUND;
}

/* Returns true if the slot's report must be sent again. If the ring buffer does not have its notice
 * any more, gives up the report, counts the notice as lost, and returns false. */
static bool again(struct fab_subscriptions *s, uint32_t slot)
{
    struct fab_subscription *x = &s->slot[slot];
    if (x->wait != FAB_REPORT_AGAIN)
        return false;
    if (x->awaited >= oldest(s->ring))
        return true;
    s->ring->stats.lost++;
    x->wait = FAB_REPORT_IDLE;
    return false;
}

static bool is_full(const struct fab_report_ring *r)
{
    return r->fresh >= r->config.window;
}

/* Finds the next report to send among the slots in the list `ready`. Returns OK, or an error of
 * fab_registry_reports_output. */
static int output_ready(struct fab_subscriptions *s, uint32_t *budget, fab_report_judge *judge,
                        void *ctx, uint32_t *ret_slot)
{
    int r = FAB_E_NOT_FOUND;
    for (uint32_t slot = s->ring->ready.first, next; slot != NONE && r == FAB_E_NOT_FOUND;
         slot = next) {
        next = s->slot[slot].after;
        bool repeat = again(s, slot);
        if (!repeat && is_full(s->ring))
            /* the window is full, so only repetitions may be sent: they do not count against the
             * window */
            continue;
        if (*budget == 0)
            return FAB_E_BUSY;
        (*budget)--;
        r = repeat ? FAB_OK : advance(s, slot, budget, judge, ctx);
        if (r != FAB_E_BUSY)
            not_ready(s, slot);
        *ret_slot = slot;
    }
    return r;
}

/* Finds the next report to send among the slots that are neither in `ready` nor in `waiting`:
 * visits one slot after the other, until a subscription selects a notice. Returns OK, or an error
 * of fab_registry_reports_output. */
static int output_walk(struct fab_subscriptions *s, uint32_t *budget, fab_report_judge *judge,
                       void *ctx, uint32_t *ret_slot)
{
    struct fab_report_ring *ring = s->ring;
    while (ring->walk_left > 0 && !is_full(ring)) {
        uint32_t slot = ring->walk_at < s->slots ? ring->walk_at : 0;
        const struct fab_subscription *x = &s->slot[slot];
        if (*budget == 0)
            return FAB_E_BUSY;
        (*budget)--;
        int r = FAB_E_NOT_FOUND;
        if (x->used && x->wait == FAB_REPORT_IDLE && !x->queued)
            r = advance(s, slot, budget, judge, ctx);
        *ret_slot = slot;
        if (r == FAB_E_BUSY)
            return r;
        ring->walk_at = slot + 1;
        ring->walk_left--;
        if (r != FAB_E_NOT_FOUND)
            return r;
    }
    return FAB_E_NOT_FOUND;
}

int fab_registry_reports_output(struct fab_subscriptions *s, uint64_t now, uint32_t *budget,
                                fab_report_judge *judge, void *ctx, uint32_t *ret_slot,
                                uint8_t mad[FAB_MAD_SIZE])
{
    uint32_t slot = NONE;
    int r = output_ready(s, budget, judge, ctx, &slot);
    if (r == FAB_E_NOT_FOUND)
        r = output_walk(s, budget, judge, ctx, &slot);
    if (r == FAB_OK)
        send_report(s, slot, now, mad);
    if (r == FAB_OK || r == FAB_E_DENIED)
        *ret_slot = slot;
    return r;
}

/* ---- responses ------------------------------------------------------------------------------- */

uint32_t fab_registry_reports_find(const struct fab_subscriptions *s, uint64_t tid)
{
    uint32_t slot = (uint32_t)tid & ((1u << SLOT_BITS) - 1);
    if (slot >= s->slots || !s->slot[slot].used || s->slot[slot].wait == FAB_REPORT_IDLE)
        return NONE;
    return tid_of(&s->slot[slot], slot) == (uint32_t)tid ? slot : NONE;
}

void fab_registry_reports_answered(struct fab_subscriptions *s, uint32_t slot)
{
    struct fab_subscription *x = &s->slot[slot];
    settle(s, slot);
    s->ring->stats.answered++;
    x->tries = 0;
    if (!x->queued && x->next < s->ring->head)
        make_ready(s, slot);
}

void fab_registry_reports_expire(struct fab_subscriptions *s, uint64_t now,
                                 void (*gone)(void *ctx, uint32_t slot), void *ctx)
{
    const struct fab_reports_config *c = &s->ring->config;
    for (uint32_t slot = s->ring->waiting.first, next; slot != NONE; slot = next) {
        struct fab_subscription *x = &s->slot[slot];
        next = x->after;
        if (now >= x->sent_us + c->slow_us)
            not_fresh(s, x);
        if (now < x->deadline)
            continue;
        settle(s, slot);
        if (++x->tries >= c->tries) {
            gone(ctx, slot);
            continue;
        }
        x->wait = FAB_REPORT_AGAIN;
        make_ready(s, slot);
    }
}

bool fab_registry_reports_waiting(const struct fab_subscriptions *s)
{
    return s->ring->waiting.first != NONE;
}

void fab_registry_reports_stats(const struct fab_subscriptions *s,
                                struct fab_registry_reports_stats *ret)
{
    *ret = s->ring->stats;
}
