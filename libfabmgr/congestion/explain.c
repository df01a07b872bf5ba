/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains to operators why the congestion control settings of a port have their values. derive.c
 * computes the values from a basis: properties of the port and of the fabric. The explanation of a
 * value names these properties. If the operator set the value in the settings file, the explanation
 * is "set by hand". */
#include "libfabmgr/congestion/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "libfabmgr/congestion/derive.h"

struct explanation {
    const struct fab_congestion_basis *b;
    const struct fab_policy_congestion *p;
    struct fab_congestion_reason *ret;
    unsigned count;
};

__attribute__((format(printf, 4, 5))) static void explain(struct explanation *t,
                                                          enum fab_congestion_value which,
                                                          uint32_t value, const char *fmt, ...)
{
    struct fab_congestion_reason *r = &t->ret[t->count++];
    va_list args;
    r->name = fab_policy_congestion_domains[which].name;
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
        return "set by hand";
    case FAB_CONGESTION_FROM_CLASS:
        return "by its class of service";
    case FAB_CONGESTION_FROM_JOBS:
        return "from jobs (partitions)";
    default:
        return "all other endports, rounded up; at most 512 unless configured";
    }
}

static void explain_threshold(struct explanation *t, const struct fab_congestion_port *s)
{
    if (t->b->edge)
        explain(t, FAB_CONGESTION_THRESHOLD, s->threshold,
                "leads to an endport, where incasts meet: a short queue marks");
    else if (t->b->down)
        explain(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
                "leads down to a switch nearer to endports: all traffic to one of them comes by a "
                "few such links, where incasts meet");
    else if (t->b->taper > 100)
        explain(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
                "leads to a switch, from one whose endports send %u %% of what its links to "
                "switches can carry: incasts can meet here, too",
                t->b->taper);
    else if (t->b->up)
        explain(
            t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
            "leads away from endports, from a switch that can carry all that its endports send: "
            "packets that wait here are victims of other congestion and are not throttled");
    else
        explain(t, FAB_CONGESTION_SWITCH_THRESHOLD, s->threshold,
                "leads to a switch no nearer to endports: a queue here is short-lived or waits for "
                "other congestion, and only a long one marks");
}

static void explain_port(struct explanation *t, const struct fab_congestion_port *s)
{
    explain_threshold(t, s);
    if (s->marking_rate == 0)
        explain(t, FAB_CONGESTION_MARKING_RATE, 0,
                "all packets sent from too long a queue are marked, so that each of %u senders is "
                "notified once in as many packets",
                t->b->fan_in);
    else
        explain(t, FAB_CONGESTION_MARKING_RATE, s->marking_rate,
                "one packet of %u is marked while the queue is too long", s->marking_rate + 1u);
    explain(t, FAB_CONGESTION_PACKET_SIZE, s->packet_size,
            "packets below %u bytes (requests, acknowledgements) cause no congestion and are not "
            "marked",
            s->packet_size * 64u);
    explain(t, FAB_CONGESTION_VICTIM_MASK, s->victim,
            s->victim ? "an endport that returns no credits is itself the root of the congestion"
                      : "a switch port without credits waits for another port, which marks");
}

static void explain_timer(struct explanation *t, const struct fab_congestion_sl *s, uint32_t fan_in)
{
    struct fab_congestion_derive_times d;
    fab_congestion_derive_times(t->b, t->p, fan_in, &d);
    if (d.notify_ns >= d.loop_ns)
        explain(t, FAB_CONGESTION_TIMER, s->timer,
                "%.1f us: an endport receives a packet of %u bytes every %u ns (rates from %u to "
                "%u Mb/s), so that each of %u senders can be notified once in %.1f us, which slows "
                "it down by %u step%s",
                s->timer * 1.024, t->b->mtu, d.packet_ns, t->b->slowest, t->b->rate, d.senders,
                (double)d.notify_ns * s->increase / 1125, s->increase, s->increase == 1 ? "" : "s");
    else
        explain(t, FAB_CONGESTION_TIMER, s->timer,
                "%.1f us: %u times the round-trip time, %u ns over %u switches", s->timer * 1.024,
                d.loops, t->b->rtt_ns, t->b->hops);
}

static void explain_adapter(struct explanation *t, const struct fab_congestion_adapter *a,
                            uint8_t sl)
{
    const struct fab_congestion_sl *s = &a->sl[sl];
    double slow = 1 + fab_congestion_delay(a->table.entry[a->table.limit]) / 8.0;
    uint32_t one = s->increase < a->table.limit ? s->increase : a->table.limit;
    uint32_t senders = fab_congestion_derive_senders(t->b, t->b->fan_in);
    double first = 1 + fab_congestion_delay(a->table.entry[one]) / 8.0;
    explain_timer(t, s, t->b->sl_fan_in[sl]);
    explain(t, FAB_CONGESTION_INCREASE, s->increase,
            "steps for a mark, which grow with the square root of %u senders: the first mark "
            "leaves %.0f %% of the full rate; %.0f us without a mark restore it",
            fab_congestion_derive_senders(t->b, t->b->sl_fan_in[sl]), 100 / first,
            s->increase * s->timer * 1.024);
    explain(t, FAB_CONGESTION_TRIGGER_THRESHOLD, s->trigger,
            "a sender at the end of its table met an incast that is worth an entry in its log");
    explain(t, FAB_CONGESTION_MIN, s->min,
            "a sender that gets no notifications sends at the full rate");
    if (t->p->table_count > 0)
        explain(t, FAB_CONGESTION_LIMIT, a->table.limit, "the table is set by hand");
    else
        explain(t, FAB_CONGESTION_LIMIT, a->table.limit,
                "growing steps, down to 1/%.0f of %u Mb/s: two thirds of the share of each of %u "
                "senders (%s%s) to an endport at %u Mb/s, so that the queue empties; the table has "
                "%u entries",
                slow, t->b->rate, senders, fan_in_from(t->b->fan_in_from),
                senders > t->b->fan_in ? ", and as many again in reserve" : "", t->b->slowest,
                t->b->entries);
}

unsigned fab_congestion_explain(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, uint32_t port, uint8_t sl,
                                struct fab_congestion_reason ret[FAB_CONGESTION_REASONS])
{
    const struct fab_congestion_port *s = fab_congestion_of_switch(c, f, port);
    const struct fab_congestion_adapter *a = fab_congestion_of_adapter(c, f, port);
    struct explanation t = {.p = &policy->congestion, .ret = ret};
    if (policy->congestion.profile == FAB_CONGESTION_OFF || sl >= FAB_CONGESTION_SLS)
        return 0;
    if (s != NULL) {
        t.b = &c->port_basis[c->of_port[port]];
        explain_port(&t, s);
    } else if (a != NULL) {
        t.b = &c->adapter_basis[c->of_port[port]];
        explain_adapter(&t, a, sl);
    }
    return t.count;
}
