/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derives the settings from the basis. Assume that n senders send to one endport, and that a packet
 * takes the time t on the link of the endport. n is twice the assumed fan-in, or the number of
 * endports if that is less. If n were only the assumed fan-in, an incast would be throttled only if
 * every packet were marked, and would delay other traffic many times longer (doc/congestion.md).
 *
 * - Table: each sender has to slow down to 1/n of the endport's rate, and to less until the queue
 *   is empty. The last delay of the table therefore leaves a sender two thirds of this share.
 * - Timer: the endport's switch port can mark at most all its packets, 1/t in a second, so each
 *   sender is notified once in n * t. Meanwhile its timer raises its rate by one step each `timer`.
 *   With an increase of k steps for each mark, the sender stays throttled only if timer > n * t /
 *   k. The timer is an eighth longer than n * t / k. It is not made even longer, because a sender
 *   that was throttled too much would then recover more slowly.
 * - Different rates of endports: t is then not the packet time on the slowest endport's link, but
 *   lies between this and the packet time on the sender's own link, nearer to the latter. The last
 *   entry of the table is computed for the geometric mean of the rates of these two links. The
 *   slowest rate is not used, because incasts to slow endports usually have fewer senders than n:
 *   if each of them were throttled to 1/n of the slow rate, the endport would be idle for
 *   milliseconds. Incasts of the assumed fan-in are still throttled at endports that are three
 *   times slower than the senders.
 * - Control loop: the timer is also longer than the control loop, which is a number of round-trip
 *   times. Otherwise a sender would speed up again before it could be notified, and its rate would
 *   never settle. (The queueing delay is not counted, because the queue exceeds the threshold
 *   early.)
 * - Increase: the larger the increase, the sooner an incast is throttled, and the more rates
 *   oscillate afterwards. Slow throttling costs time in proportion to n / k, and oscillation costs
 *   rate in proportion to k, so the sum is least if k grows as the square root of n. In experiments
 *   with 64 to 2,000 endports, k = sqrt(n) / 4 cost least (doc/congestion.md). An increase of more
 *   than an eighth of the table was not tried.
 * - Thresholds: the packets of an incast queue at switch ports to endports. These ports mark early,
 *   and also when they have no credits, since a slow endport returns few credits. They do not mark
 *   as soon as a single packet waits, since the link would then become idle while senders are
 *   delayed. In a tree, ports down to a leaf also mark early, because all traffic to an endport
 *   comes down one link or few. Upward ports can carry all that the endports send, so packets that
 *   wait there are victims and must not be marked. In a tapered tree, upward ports cannot carry all
 *   this traffic, so congestion can begin there, and they mark, too.
 */
#include "libfabmgr/congestion/derive.h"

#define TICK_NS 1024u
#define INCREASE_MOST 16
/* BELOW: at the last table entry, all senders to an endport together send at 1 / BELOW (two thirds)
 * of the endport's rate. */
#define BELOW 1.5
#define ALL_SLS 0xffffu

/* the constants of each profile */
static const struct tuning {
    /* Thresholds of switch ports (0..15; 0: mark no packets). edge: ports to endports. down,
     * across, up: ports to other switches, by direction. tapered: used instead of `up` and `across`
     * if the ISLs of the switch cannot carry all that its endports send. */
    uint8_t edge, down, across, up, tapered;
    uint8_t marking_rate;
    uint8_t packet_size;
    /* increase of CCTI for each notification, in eighths of the square root of the number of
     * senders */
    uint8_t gain;
    /* minimum of the timer period (CCTI_Timer), in round-trip times */
    uint8_t loops;
    /* highest index (CCTI_Limit); a device with a shorter table has a lower one */
    uint16_t limit;
} tunings[FAB_CONGESTION_PROFILES] = {
    [FAB_CONGESTION_BALANCED] = {13, 13, 8, 0, 8, 0, 8, 2, 2, 127},
    [FAB_CONGESTION_INCAST] = {13, 13, 8, 0, 8, 0, 8, 4, 2, 127},
    [FAB_CONGESTION_COLLECTIVE] = {12, 12, 4, 0, 4, 0, 8, 1, 2, 127},
};

static uint16_t chosen(const struct fab_policy_congestion *p, enum fab_congestion_value which,
                       uint32_t computed)
{
    uint32_t most = fab_policy_congestion_domains[which].most,
             least = fab_policy_congestion_domains[which].least;
    if (p->value[which] != FAB_CONGESTION_AUTO)
        return (uint16_t)p->value[which];
    return (uint16_t)(computed > most ? most : computed < least ? least : computed);
}

void fab_congestion_derive_port(const struct fab_congestion_basis *b,
                                const struct fab_policy_congestion *p,
                                struct fab_congestion_port *ret)
{
    const struct tuning *t = &tunings[b->profile];
    *ret = (struct fab_congestion_port){0};
    if (b->profile == FAB_CONGESTION_OFF)
        return;
    uint8_t threshold = b->edge          ? t->edge
                        : b->down        ? t->down
                        : b->taper > 100 ? t->tapered
                        : b->up          ? t->up
                                         : t->across;
    ret->threshold = (uint8_t)chosen(
        p, b->edge ? FAB_CONGESTION_THRESHOLD : FAB_CONGESTION_SWITCH_THRESHOLD, threshold);
    ret->packet_size = (uint8_t)chosen(p, FAB_CONGESTION_PACKET_SIZE, t->packet_size);
    ret->marking_rate = chosen(p, FAB_CONGESTION_MARKING_RATE, t->marking_rate);
    ret->victim = b->edge && chosen(p, FAB_CONGESTION_VICTIM_MASK, 1);
}

/* Returns the square root of x, rounded down. */
static uint32_t integer_root(uint64_t x)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= x)
            root += bit;
    return (uint32_t)root;
}

/* Returns the increase of CCTI for each notification. It is the value that the operator has set, or
 * else gain * sqrt(senders) / 8, rounded, from 1 to INCREASE_MOST. */
static uint8_t increase_of(const struct fab_congestion_basis *b,
                           const struct fab_policy_congestion *p, uint32_t senders)
{
    uint64_t gain = tunings[b->profile].gain;
    uint32_t computed = (integer_root(16 * gain * gain * senders) + 16) / 32;
    computed = computed < 1 ? 1 : computed;
    return (uint8_t)chosen(p, FAB_CONGESTION_INCREASE,
                           computed < INCREASE_MOST ? computed : INCREASE_MOST);
}

/* Returns the packet time in ns for which the timer is computed: the geometric mean of the packet
 * time on the sender's own link (with weight 3) and that on the slowest endport's link (with weight
 * 1). */
static uint32_t typical_packet_ns(const struct fab_congestion_basis *b)
{
    uint64_t fast = b->rate > 0 ? b->mtu * 8000u / b->rate : 0;
    uint64_t slow = b->slowest > 0 ? b->mtu * 8000u / b->slowest : fast;
    return slow > fast ? integer_root(fast * integer_root(fast * slow)) : (uint32_t)slow;
}

/* Returns the additional factor by which the table must slow down a sender, because endports may be
 * slower than the sender; 1: no endport is slower. The factor is the geometric mean of the sender's
 * own rate and the slowest endport's rate, divided by the slowest endport's rate. */
static double typical_ratio(const struct fab_congestion_basis *b)
{
    if (b->slowest == 0 || b->slowest >= b->rate)
        return 1;
    return (double)integer_root((uint64_t)b->rate * b->slowest) / b->slowest;
}

uint32_t fab_congestion_derive_senders(const struct fab_congestion_basis *b, uint32_t fan_in)
{
    uint32_t twice = fan_in <= b->endports / 2 ? 2 * fan_in : b->endports;
    return twice > fan_in ? twice : fan_in;
}

void fab_congestion_derive_times(const struct fab_congestion_basis *b,
                                 const struct fab_policy_congestion *p, uint32_t fan_in,
                                 struct fab_congestion_derive_times *ret)
{
    const struct tuning *t = &tunings[b->profile];
    uint64_t marked = 1u + chosen(p, FAB_CONGESTION_MARKING_RATE, t->marking_rate);
    *ret = (struct fab_congestion_derive_times){.senders = fab_congestion_derive_senders(b, fan_in),
                                                .loops = t->loops};
    ret->packet_ns = typical_packet_ns(b);
    ret->notify_ns = ret->senders * marked * ret->packet_ns / increase_of(b, p, ret->senders);
    ret->notify_ns += ret->notify_ns / 8;
    ret->loop_ns = (uint64_t)t->loops * b->rtt_ns;
}

static void derive_sl(const struct fab_congestion_basis *b, const struct fab_policy_congestion *p,
                      uint32_t fan_in, uint16_t limit, struct fab_congestion_sl *ret)
{
    struct fab_congestion_derive_times d;
    fab_congestion_derive_times(b, p, fan_in, &d);
    uint64_t ns = d.notify_ns > d.loop_ns ? d.notify_ns : d.loop_ns;
    uint64_t ticks = (ns + TICK_NS - 1) / TICK_NS;
    ret->timer = chosen(p, FAB_CONGESTION_TIMER, ticks > UINT16_MAX ? UINT16_MAX : (uint32_t)ticks);
    ret->increase = increase_of(b, p, d.senders);
    ret->trigger = (uint8_t)chosen(p, FAB_CONGESTION_TRIGGER_THRESHOLD, limit);
    ret->min = (uint8_t)chosen(p, FAB_CONGESTION_MIN, 0);
}

static uint16_t limit_of(const struct fab_congestion_basis *b,
                         const struct fab_policy_congestion *p)
{
    uint32_t limit = chosen(p, FAB_CONGESTION_LIMIT, tunings[b->profile].limit);
    uint32_t last = p->table_count > 0 ? p->table_count - 1u : FAB_CONGESTION_TABLE_MOST - 1;
    limit = limit > last ? last : limit;
    return (uint16_t)(limit >= b->entries ? b->entries - 1u : limit);
}

static void table_of(const struct fab_congestion_basis *b, const struct fab_policy_congestion *p,
                     uint16_t limit, struct fab_congestion_table *ret)
{
    double ratio = BELOW * fab_congestion_derive_senders(b, b->fan_in) * typical_ratio(b);
    if (p->table_count == 0) {
        fab_congestion_derive_table(ratio > 1 ? ratio : 1, limit, ret);
        return;
    }
    *ret = (struct fab_congestion_table){.limit = limit};
    for (uint32_t i = 0; i <= limit; i++)
        ret->entry[i] = p->table[i];
}

void fab_congestion_derive_adapter(const struct fab_congestion_basis *b,
                                   const struct fab_policy_congestion *p,
                                   struct fab_congestion_adapter *ret)
{
    *ret = (struct fab_congestion_adapter){0};
    if (b->profile == FAB_CONGESTION_OFF)
        return;
    uint16_t limit = limit_of(b, p);
    ret->sls = ALL_SLS;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        derive_sl(b, p, b->sl_fan_in[sl], limit, &ret->sl[sl]);
    table_of(b, p, limit, &ret->table);
}
