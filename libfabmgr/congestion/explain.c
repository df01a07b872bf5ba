/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sentences for the values that derive.c makes, from the same basis. What an operator set by hand
 * says so.
 */
#include "libfabmgr/congestion/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "libfabmgr/congestion/derive.h"

struct telling {
    const struct fab_congestion_basis *b;
    const struct fab_policy_congestion *p;
    struct fab_congestion_reason *ret;
    unsigned count;
};

__attribute__((format(printf, 4, 5))) static void
tell(struct telling *t, enum fab_congestion_value which, uint32_t value, const char *fmt, ...)
{
    struct fab_congestion_reason *r = &t->ret[t->count++];
    va_list args;
    r->name = fab_congestion_domains[which].name;
    r->value = value;
    if (t->p->value[which] != FAB_CONGESTION_AUTO) {
        snprintf(r->why, sizeof r->why, "set by hand");
        return;
    }
    va_start(args, fmt);
    vsnprintf(r->why, sizeof r->why, fmt, args);
    va_end(args);
}

static const char *fan_in_from(uint8_t from)
{
    switch (from) {
    case FAB_CONGESTION_FROM_POLICY:
        return "as set by hand";
    case FAB_CONGESTION_FROM_CLASS:
        return "by its class of service";
    case FAB_CONGESTION_FROM_JOBS:
        return "from jobs (partitions)";
    default:
        return "all other ends, rounded up, at most 512 unless told";
    }
}

static void tell_threshold(struct telling *t, const struct fab_congestion_port *s)
{
    if (t->b->edge)
        tell(t, FAB_CONGESTION_THRESHOLD, s->threshold,
             "leads to an end, where crowds meet: a short queue marks");
    else if (t->b->down)
        tell(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
             "leads down to a switch nearer to ends: all that is for one of them comes by few such "
             "cables, where crowds meet");
    else if (t->b->taper > 100)
        tell(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
             "leads to a switch, of one whose ends bring in %u %% of what its cables to switches "
             "bear: crowds can meet here, too",
             t->b->taper);
    else if (t->b->up)
        tell(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
             "leads away from ends, of a switch that bears all that its ends bring in: what waits "
             "here waits for others' crowds, and is not slowed down");
    else
        tell(
            t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
            "leads to a switch no nearer to ends: a queue passes, or waits for others' crowds, and "
            "only a long one marks");
}

static void tell_port(struct telling *t, const struct fab_congestion_port *s)
{
    tell_threshold(t, s);
    if (s->marking_rate == 0)
        tell(t, FAB_CONGESTION_MARKING_RATE, 0,
             "all packets that are sent from too long a queue are marked, so that each of %u "
             "senders is told once in as many packets",
             t->b->fan_in);
    else
        tell(t, FAB_CONGESTION_MARKING_RATE, s->marking_rate,
             "one packet of %u is marked while the queue is too long", s->marking_rate + 1u);
    tell(t, FAB_CONGESTION_PACKET_SIZE, s->packet_size,
         "packets below %u bytes (requests, acknowledgements) crowd nobody and are not marked",
         s->packet_size * 64u);
    tell(t, FAB_CONGESTION_VICTIM_MASK, s->victim,
         s->victim ? "an end that gives no credits is itself where the crowd is"
                   : "a switch port without credits waits for another one, which marks");
}

static void tell_timer(struct telling *t, const struct fab_congestion_sl *s, uint32_t fan_in)
{
    struct fab_congestion_derive_times d;
    fab_congestion_derive_times(t->b, t->p, fan_in, &d);
    if (d.told_ns >= d.loop_ns)
        tell(
            t, FAB_CONGESTION_TIMER, s->timer,
            "%.1f us: an end gets a packet of %u bytes each %u ns (rates from %u to %u Mb/s), so "
            "that each of %u senders can be told once in %.1f us, which slows it down by %u step%s",
            s->timer * 1.024, t->b->mtu, d.packet_ns, t->b->slowest, t->b->rate, d.crowd,
            (double)d.told_ns * s->increase / 1125, s->increase, s->increase == 1 ? "" : "s");
    else
        tell(t, FAB_CONGESTION_TIMER, s->timer,
             "%.1f us: %u times the way there and back, %u ns over %u switches", s->timer * 1.024,
             d.loops, t->b->rtt_ns, t->b->hops);
}

static void tell_adapter(struct telling *t, const struct fab_congestion_adapter *a, uint8_t sl)
{
    const struct fab_congestion_sl *s = &a->sl[sl];
    double slow = 1 + fab_congestion_delay(a->table.entry[a->table.limit]) / 8.0;
    uint32_t one = s->increase < a->table.limit ? s->increase : a->table.limit;
    uint32_t crowd = fab_congestion_derive_senders(t->b, t->b->fan_in);
    double first = 1 + fab_congestion_delay(a->table.entry[one]) / 8.0;
    tell_timer(t, s, t->b->sl_fan_in[sl]);
    tell(
        t, FAB_CONGESTION_INCREASE, s->increase,
        "steps for a mark, which grow with the root of %u senders: the first one leaves %.0f %% of "
        "the full rate; %.0f us without a mark make it good",
        fab_congestion_derive_senders(t->b, t->b->sl_fan_in[sl]), 100 / first,
        s->increase * s->timer * 1.024);
    tell(t, FAB_CONGESTION_TRIGGER_THRESHOLD, s->trigger,
         "a sender at the end of its table has met a crowd that is worth an entry in its log");
    tell(t, FAB_CONGESTION_MIN, s->min, "who is not told of a crowd sends at the full rate");
    if (t->p->table_count > 0)
        tell(t, FAB_CONGESTION_LIMIT, a->table.limit, "the table is set by hand");
    else
        tell(t, FAB_CONGESTION_LIMIT, a->table.limit,
             "steps that grow, down to 1/%.0f of %u Mb/s: two thirds of what %u senders (%s%s) to "
             "an end at %u Mb/s could have, so that what waits goes; the table has %u entries",
             slow, t->b->rate, crowd, fan_in_from(t->b->fan_in_from),
             crowd > t->b->fan_in ? ", and as many again to spare" : "", t->b->slowest,
             t->b->entries);
}

unsigned fab_congestion_explain(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, uint32_t port, uint8_t sl,
                                struct fab_congestion_reason ret[FAB_CONGESTION_REASONS])
{
    const struct fab_congestion_port *s = fab_congestion_of_switch(c, f, port);
    const struct fab_congestion_adapter *a = fab_congestion_of_adapter(c, f, port);
    struct telling t = {.p = &policy->congestion, .ret = ret};
    if (policy->congestion.profile == FAB_CONGESTION_OFF || sl >= FAB_CONGESTION_SLS)
        return 0;
    if (s != NULL) {
        t.b = &c->port_basis[c->of_port[port]];
        tell_port(&t, s);
    } else if (a != NULL) {
        t.b = &c->adapter_basis[c->of_port[port]];
        tell_adapter(&t, a, sl);
    }
    return t.count;
}
