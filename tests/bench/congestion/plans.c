/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scenarios: what traffic the endports send. Beside the incasts, endports send in a shift over
 * leaves: each endport sends to the endport at the same position of the leaf that is k leaves
 * further. A fat tree without faults carries this shift at full rate, so any loss of rate is due to
 * congestion. A scenario without such a shift is compared with the run "alone", which has the same
 * traffic without the incast.
 */
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "tests/bench/congestion/scene.h"

#define LINE 100.0 /* rate of a link in Gb/s */
#define PAYLOAD (4096.0 / 4122)
#define FROM (200 * US)
/* time in the traffic model at which most scenarios end */
#define AFTER (10000 * US)

/* ---- making ---------------------------------------------------------------------------------- */

static struct fab_traffic_flow *add(const struct scene *s, struct plan *p, enum role role,
                                    uint32_t from, uint32_t to)
{
    if (p->count == p->room) {
        p->room = p->room * 2 + 64;
        p->flow = reallocarray(p->flow, p->room, sizeof *p->flow);
        p->role = reallocarray(p->role, p->room, sizeof *p->role);
        if (p->flow == NULL || p->role == NULL)
            must(FAB_E_NOMEM, "flows");
    }
    p->role[p->count] = (uint8_t)role;
    p->flow[p->count] = (struct fab_traffic_flow){.from = s->end[from],
                                                  .to = s->end[to],
                                                  .sl = FAB_TRAFFIC_PATH_SL,
                                                  .end = p->end,
                                                  .bytes = FAB_TRAFFIC_FOREVER};
    return &p->flow[p->count++];
}

void plan_fini(struct plan *p)
{
    free(p->flow);
    free(p->role);
}

/* ---- roles of flows -------------------------------------------------------------------------- */

/* Returns whether the path of a flow leads over a port that an incast uses. mark: true: the flow is
 * part of an incast, so mark its ports as used. */
static bool trace(const struct scene *s, const struct fab_traffic_flow *x, bool *of_incast,
                  bool mark)
{
    const struct fab_fabric *f = s->fabric;
    uint32_t lid = s->lids.base[x->to], port = x->from;
    bool met = false;
    for (;;) {
        met |= of_incast[port];
        of_incast[port] |= mark;
        if (fab_fabric_port(f, port)->peer == x->to)
            return met;
        uint32_t sw = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node;
        port = fab_fabric_port_id(f, sw, fab_target_lft_at(&s->lft, sw, lid));
    }
}

/* Returns an array [port_count]: whether an incast uses the port. */
static bool *incast_ports(const struct scene *s, const struct plan *p)
{
    bool *of_incast = calloc(s->fabric->port_count, sizeof *of_incast);
    if (of_incast == NULL)
        must(FAB_E_NOMEM, "ports");
    for (uint32_t i = 0; i < p->count; i++)
        if (p->role[i] > FAR)
            trace(s, &p->flow[i], of_incast, true);
    return of_incast;
}

/* Sets the role of each background flow: BESIDE if it shares a link with an incast, otherwise
 * FAR. */
static void tell(const struct scene *s, struct plan *p)
{
    bool *of_incast = incast_ports(s, p);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->role[i] == BESIDE && !trace(s, &p->flow[i], of_incast, false))
            p->role[i] = FAR;
    free(of_incast);
}

/* ---- times ----------------------------------------------------------------------------------- */

static void times(struct plan *p, uint64_t us)
{
    p->from = FROM;
    p->until = FROM + us * US;
    p->end = p->until + (us * US < AFTER ? us * US : AFTER);
}

/* Returns the numbers of all endports of the fabric (0 to s->ends - 1) in random order. */
static uint32_t *shuffled(const struct scene *s, struct fab_prng *prng)
{
    uint32_t *order = fab_base_alloc_array(s->ends, sizeof *order);
    if (order == NULL)
        must(FAB_E_NOMEM, "order");
    for (uint32_t i = 0; i < s->ends; i++)
        order[i] = i;
    fab_base_prng_shuffle(prng, order, s->ends);
    return order;
}

/* Adds background flows to the incasts that the plan has already. The endports that are in neither
 * busy[] nor hot[] send in a shift over leaves. So a background flow can share links with an
 * incast, but not with another background flow. A flow that shares no link with an incast is left
 * out, unless the plan has no incast. busy: [ends] endports that take part in an incast. hot:
 * [ends] targets of incasts. */
static void beside(const struct scene *s, struct plan *p, const bool *busy, const bool *hot,
                   struct fab_prng *prng)
{
    uint32_t leaves = s->ends / s->leaf;
    uint32_t shift = s->leaf * (1 + (uint32_t)fab_base_prng_below(prng, leaves - 1));
    bool *of_incast = incast_ports(s, p), any = p->count > 0;
    for (uint32_t i = 0; i < s->ends; i++) {
        uint32_t to = (i + shift) % s->ends;
        if (!busy[i] && !hot[to] && !trace(s, add(s, p, BESIDE, i, to), of_incast, false) && any)
            p->count--;
    }
    free(of_incast);
}

static void sender_flow(const struct scene *s, struct plan *p, uint32_t from, uint32_t to,
                        bool last)
{
    struct fab_traffic_flow *x = add(s, p, last ? LAST : SENDER, from, to);
    x->start = p->from;
    x->end = last ? p->end : p->until;
}

static bool *flags(const struct scene *s)
{
    bool *set = calloc(s->ends, sizeof *set);
    if (set == NULL)
        must(FAB_E_NOMEM, "flags");
    return set;
}

/* ---- incasts --------------------------------------------------------------------------------- */

/* Adds an incast of `size` senders to one endport. When the incast ends, one of the senders goes on
 * sending. */
static void incast(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    uint32_t *order = shuffled(s, prng);
    bool *busy = flags(s), *hot = flags(s);
    times(p, size > 200 ? 25000 : size > 40 ? 6000 : 4000);
    p->hot_gbps = LINE * PAYLOAD;
    hot[order[0]] = true;
    for (uint32_t i = 1; i <= size; i++) {
        busy[order[i]] = true;
        sender_flow(s, p, order[i], order[0], i == 1);
    }
    beside(s, p, busy, hot, prng);
    free(order);
    free(busy);
    free(hot);
}

/* Adds two incasts with the same leaf. Half of the senders send to one endport of the leaf, a
 * quarter to another endport, and a quarter to both. The second incast starts later. */
static void two_roots(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    uint32_t *order = shuffled(s, prng), a = order[0],
             b = a / s->leaf * s->leaf + (a + 1) % s->leaf;
    bool *busy = flags(s), *hot = flags(s);
    times(p, 5000);
    p->hot_gbps = 2 * LINE * PAYLOAD;
    hot[a] = hot[b] = true;
    for (uint32_t i = 1, made = 0; made < size; i++) {
        if (order[i] == b)
            continue;
        busy[order[i]] = true;
        if (made % 4 != 3)
            sender_flow(s, p, order[i], a, made == 0);
        if (made % 4 >= 2) {
            sender_flow(s, p, order[i], b, false);
            p->flow[p->count - 1].start += 1000 * US;
        }
        made++;
    }
    beside(s, p, busy, hot, prng);
    free(order);
    free(busy);
    free(hot);
}

/* Adds an incast that moves to another endport every 700 us. */
static void moving(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    enum { SPOTS = 6, STAY = 700 };
    uint32_t *order = shuffled(s, prng);
    bool *busy = flags(s), *hot = flags(s);
    times(p, SPOTS * STAY);
    p->hot_gbps = LINE * PAYLOAD;
    for (uint32_t i = 0; i < SPOTS; i++)
        hot[order[i]] = true;
    for (uint32_t i = SPOTS; i < SPOTS + size; i++) {
        busy[order[i]] = true;
        for (uint32_t k = 0; k < SPOTS; k++) {
            struct fab_traffic_flow *x = add(s, p, SENDER, order[i], order[k]);
            x->start = p->from + k * STAY * US;
            x->end = x->start + STAY * US;
        }
    }
    beside(s, p, busy, hot, prng);
    free(order);
    free(busy);
    free(hot);
}

/* Adds incasts to slow endports: for each endport of the first leaf, which are slow, a few senders
 * at other leaves. */
static void mixed_rates(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    uint32_t *order = shuffled(s, prng);
    bool *busy = flags(s), *hot = flags(s);
    times(p, 4000);
    p->hot_gbps = s->leaf * 14.0 * PAYLOAD;
    for (uint32_t i = 0; i < s->leaf; i++)
        hot[i] = busy[i] = true;
    for (uint32_t i = 0, made = 0; made < size; i++) {
        if (order[i] < s->leaf)
            continue;
        busy[order[i]] = true;
        sender_flow(s, p, order[i], made % s->leaf, made == 0);
        made++;
    }
    beside(s, p, busy, hot, prng);
    free(order);
    free(busy);
    free(hot);
}

/* Adds all-to-all traffic among half of the endports, beside an incast of the other half. */
static void all_to_all(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    uint32_t *order = shuffled(s, prng), half = s->ends / 2 < 64 ? s->ends / 2 : 64;
    times(p, 4000);
    p->hot_gbps = LINE * PAYLOAD;
    for (uint32_t i = 0; i < half; i++)
        for (uint32_t k = 1; k < half; k++)
            add(s, p, BESIDE, order[i], order[(i + k) % half]);
    for (uint32_t i = 0; i < size; i++)
        sender_flow(s, p, order[half + 1 + i], order[half], i == 0);
    tell(s, p);
    free(order);
}

/* Adds the traffic of applications that write checkpoints. The endports of the first eighth of the
 * leaves are storage. Each other endport sends to an endport of the next leaf all the time, and
 * sends `size` KiB to a storage endport every millisecond. Each storage endport receives from about
 * seven others. */
static void checkpoint(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    enum { BURSTS = 4 };
    uint32_t stores = s->ends / s->leaf / 8 * s->leaf, others = s->ends - stores;
    uint32_t *order = shuffled(s, prng);
    times(p, BURSTS * 1000);
    p->burst_us = (double)others / stores * size * 1024 * 8 / (LINE * PAYLOAD * 1000);
    for (uint32_t i = 0, made = 0; i < s->ends; i++) {
        uint32_t from = order[i];
        if (from < stores)
            continue;
        add(s, p, BESIDE, from, stores + (from - stores + s->leaf) % others);
        for (uint32_t k = 0; k < BURSTS; k++) {
            struct fab_traffic_flow *x = add(s, p, SENDER, from, made % stores);
            x->start = p->from + k * 1000 * US + fab_base_prng_below(prng, 5 * US);
            x->bytes = (uint64_t)size * 1024;
        }
        made++;
    }
    tell(s, p);
    free(order);
}

/* ---- no congestion --------------------------------------------------------------------------- */

static void full_shift(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    bool *none = flags(s);
    (void)size;
    times(p, s->ends > 1000 ? 300 : 1500);
    beside(s, p, none, none, prng);
    free(none);
}

/* Adds light traffic: each endport sends `size` flows of 10 Gb/s, and receives as many. */
static void light_load(const struct scene *s, uint32_t size, struct fab_prng *prng, struct plan *p)
{
    times(p, s->ends > 1000 ? 300 : 1500);
    for (uint32_t k = 0; k < size; k++) {
        uint32_t *order = shuffled(s, prng);
        for (uint32_t i = 0; i < s->ends; i++) {
            struct fab_traffic_flow *x = add(s, p, BESIDE, order[i], order[(i + 1) % s->ends]);
            x->rate = 10000;
            x->start = fab_base_prng_below(prng, 4 * US);
        }
        free(order);
    }
}

const struct scenario scenarios[] = {
    {"incast", "64", incast, 8, true, false},
    {"incast", "64", incast, 32, true, false},
    {"incast", "324", incast, 64, true, false},
    {"incast", "324", incast, 256, true, false},
    {"incast", "648", incast, 256, true, false},
    {"incast", "2000", incast, 64, true, false},
    {"incast", "2000", incast, 512, true, false},
    {"two roots", "64", two_roots, 24, false, false},
    {"two roots", "324", two_roots, 96, false, false},
    {"two roots", "2000", two_roots, 384, false, false},
    {"moving", "64", moving, 24, false, false},
    {"moving", "324", moving, 64, false, false},
    {"moving", "2000", moving, 128, false, false},
    {"mixed rates", "64", mixed_rates, 16, false, true},
    {"mixed rates", "324", mixed_rates, 36, false, true},
    {"mixed rates", "2000", mixed_rates, 20, false, true},
    {"all-to-all", "64", all_to_all, 16, false, false},
    {"all-to-all", "324", all_to_all, 64, false, false},
    {"checkpoint", "64", checkpoint, 256, false, false},
    {"checkpoint", "324", checkpoint, 256, false, false},
    {"full shift", "64", full_shift, 0, false, false},
    {"full shift", "324", full_shift, 0, false, false},
    {"full shift", "2000", full_shift, 0, false, false},
    {"light load", "64", light_load, 4, false, false},
    {"light load", "324", light_load, 4, false, false},
    {"light load", "2000", light_load, 4, false, false},
    {NULL, NULL, NULL, 0, false, false},
};
