/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints quality figures. Some figures have a theoretical lower bound. Such a figure is shown as
 * good if it equals the bound, and as a warning if it exceeds twice the bound. */
#include "cli/ctl/show_quality.h"

#include <inttypes.h>
#include <string.h>

#include "cli/ctl/show.h"
#include "libfabmgr/base/plural.h"

static const Fabric__V1__AllToAll no_all = FABRIC__V1__ALL_TO_ALL__INIT;
static const Fabric__V1__Shifts no_shifts = FABRIC__V1__SHIFTS__INIT;
static const Fabric__V1__ShiftOrders no_orders = FABRIC__V1__SHIFT_ORDERS__INIT;
static const Fabric__V1__RandomPermutations no_random = FABRIC__V1__RANDOM_PERMUTATIONS__INIT;
static const Fabric__V1__Bisections no_bisections = FABRIC__V1__BISECTIONS__INIT;

static const Fabric__V1__AllToAll *all_of(const Fabric__V1__Quality *q)
{
    return q->all_to_all != NULL ? q->all_to_all : &no_all;
}
static const Fabric__V1__Shifts *shifts_of(const Fabric__V1__Quality *q)
{
    return q->shifts != NULL ? q->shifts : &no_shifts;
}
static const Fabric__V1__ShiftOrders *orders_of(const Fabric__V1__Quality *q)
{
    return q->shift_orders != NULL ? q->shift_orders : &no_orders;
}
static const Fabric__V1__RandomPermutations *random_of(const Fabric__V1__Quality *q)
{
    return q->random_permutations != NULL ? q->random_permutations : &no_random;
}
static const Fabric__V1__Bisections *bisections_of(const Fabric__V1__Quality *q)
{
    return q->bisections != NULL ? q->bisections : &no_bisections;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void out_quality_keys(struct out *o, const char *prefix, const Fabric__V1__Quality *q)
{
    const Fabric__V1__AllToAll *all = all_of(q);
    const Fabric__V1__Shifts *shifts = shifts_of(q);
    const Fabric__V1__ShiftOrders *orders = orders_of(q);
    const Fabric__V1__RandomPermutations *random = random_of(q);
    const Fabric__V1__Bisections *bisections = bisections_of(q);
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"endports", q->endports},
        {"leaves", q->leaves},
        {"channels", q->channels},
        {"pairs", q->pairs},
        {"unreachable_pairs", q->unreachable_pairs},
        {"all_to_all_max", all->max},
        {"all_to_all_bound", all->bound},
        {"all_to_all_max_min_endports", all->max_min_endports},
        {"unused_channels", all->unused_channels},
        {"shift_max", shifts->max},
        {"permutation_bound", shifts->bound},
        {"shift_worst", shifts->worst_shift},
        {"shifts_tried", shifts->tried},
        {"shift_orders", orders->orders},
        {"random_median", random->median},
        {"random_max", random->max},
        {"random_tried", random->tried},
        {"bisections_tried", bisections->tried},
    };
    const struct {
        const char *key;
        double value;
    } reals[] = {
        {"all_to_all_mean", all->mean},
        {"all_to_all_sigma", all->sigma},
        {"max_over_mean", all->max_over_mean},
        {"bisection_mean", bisections->mean},
        {"bisection_min", bisections->min},
        {"all_to_all_squares", all->squares},
        {"shift_mean", shifts->mean},
        {"shift_bandwidth", shifts->bandwidth},
        {"orders_shift_max", orders->max},
        {"orders_shift_mean", orders->mean},
        {"orders_shift_bandwidth", orders->bandwidth},
        {"random_bandwidth", random->bandwidth},
    };
    char key[64];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, numbers[i].key);
        out_number(o, key, NULL, OUT_PLAIN, numbers[i].value);
    }
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, reals[i].key);
        out_real(o, key, NULL, OUT_PLAIN, reals[i].value, 6);
    }
    snprintf(key, sizeof key, "%sshifts_every", prefix);
    out_bool(o, key, NULL, OUT_PLAIN, shifts->exhaustive);
}

static void out_hops(struct out *o, const Fabric__V1__Quality *q)
{
    out_table(o, "hops", NULL, 0, false);
    for (size_t i = 0; i < q->n_hops; i++) {
        out_row(o);
        out_number(o, "switches", NULL, OUT_PLAIN, q->hops[i]->switches);
        out_number(o, "pairs", NULL, OUT_PLAIN, q->hops[i]->pairs);
        out_row_end(o);
    }
    out_table_end(o);
}

/* ---- text ------------------------------------------------------------------------------------ */

static enum out_tone tone_of(uint64_t value, uint64_t bound)
{
    return value <= bound ? OUT_GOOD : value > 2 * bound ? OUT_WARN : OUT_PLAIN;
}

static void say_all(struct out *o, const Fabric__V1__Quality *q)
{
    const Fabric__V1__AllToAll *all = all_of(q);
    out_textf(o, "All-to-all", tone_of(all->max, all->bound),
              "at most %" PRIu64 " unit%s over a channel; lower bound of every routing: %" PRIu64,
              all->max, fab_base_plural_s(all->max), all->bound);
    out_textf(o, "Balance", OUT_PLAIN,
              "max/mean %.2f, mean %.1f, sigma %.1f, squares %.3f; %u channel%s unused",
              all->max_over_mean, all->mean, all->sigma, all->squares, all->unused_channels,
              fab_base_plural_s(all->unused_channels));
}

static void say_permutations(struct out *o, const Fabric__V1__Quality *q)
{
    const Fabric__V1__Shifts *s = shifts_of(q);
    const Fabric__V1__ShiftOrders *orders = orders_of(q);
    const Fabric__V1__RandomPermutations *r = random_of(q);
    const Fabric__V1__Bisections *b = bisections_of(q);
    if (s->tried > 0)
        out_textf(o, "Shifts", tone_of(s->max, s->bound),
                  "at most %u flow%s over a channel (bound %u), mean %.2f, bandwidth %.1f %%; "
                  "%s%u tried",
                  s->max, fab_base_plural_s(s->max), s->bound, s->mean, 100 * s->bandwidth,
                  s->exhaustive ? "all " : "", s->tried);
    if (orders->orders > 1)
        out_textf(o, "Orders", OUT_PLAIN,
                  "shifts in %u orders of the hosts: at most %.1f flows, mean %.2f, bandwidth "
                  "%.1f %%",
                  orders->orders, orders->max, orders->mean, 100 * orders->bandwidth);
    if (r->tried > 0)
        out_textf(o, "Random", OUT_PLAIN,
                  "median %u, at most %u flow%s over a channel, bandwidth %.1f %%; %u permutations",
                  r->median, r->max, fab_base_plural_s(r->max), 100 * r->bandwidth, r->tried);
    if (b->tried > 0)
        out_textf(o, "Bisection", OUT_PLAIN,
                  "%.1f %% of the bandwidth of the endports (worst: %.1f %%); %u random bisections",
                  100 * b->mean, 100 * b->min, b->tried);
}

static void say_hops(struct out *o, const Fabric__V1__Quality *q)
{
    char text[200] = "";
    uint64_t sum = 0, pairs = 0;
    for (size_t i = 0; i < q->n_hops; i++) {
        size_t len = strlen(text);
        sum += q->hops[i]->switches * q->hops[i]->pairs;
        pairs += q->hops[i]->pairs;
        snprintf(text + len, sizeof text - len, "%s%u: %" PRIu64, i > 0 ? ", " : "",
                 q->hops[i]->switches, q->hops[i]->pairs);
    }
    if (pairs > 0)
        out_textf(o, "Switches", OUT_PLAIN, "%.2f on a path; pairs by number of switches: %s",
                  (double)sum / (double)pairs, text);
}

static void say_worst(struct out *o, const Fabric__V1__AllToAll *all)
{
    static const struct out_column columns[] = {
        {"load", "LOAD", true}, {"from", "FROM", false}, {"to", "TO", false}};
    out_table(o, "worst", columns, sizeof columns / sizeof columns[0], false);
    for (size_t i = 0; i < all->n_worst; i++) {
        out_row(o);
        out_number(o, "load", "LOAD", OUT_PLAIN, all->worst[i]->load);
        out_port(o, "FROM", all->worst[i]->from);
        out_port_keys(o, "from_", all->worst[i]->from);
        out_port(o, "TO", all->worst[i]->to);
        out_port_keys(o, "to_", all->worst[i]->to);
        out_row_end(o);
    }
    out_table_end(o);
}

void out_quality(struct out *o, const Fabric__V1__Quality *q)
{
    out_textf(o, "Endports", OUT_PLAIN, "%u on %u lea%s; the fabric has %u channels", q->endports,
              q->leaves, fab_base_plural(q->leaves, "f", "ves"), q->channels);
    if (q->unreachable_pairs > 0)
        out_textf(o, "Lost", OUT_BAD, "%" PRIu64 " of %" PRIu64 " pairs do not reach each other",
                  q->unreachable_pairs, q->unreachable_pairs + q->pairs);
    say_all(o, q);
    say_permutations(o, q);
    say_hops(o, q);
    out_quality_keys(o, "", q);
    out_hops(o, q);
    say_worst(o, all_of(q));
}

const char *show_verdict(const Fabric__V1__Verdict *v)
{
    if (v == NULL)
        return "-";
    if (!v->deadlock_free)
        return "DEADLOCK";
    return v->unreachable_pairs > 0 ? "UNREACHABLE" : v->passed ? "sound" : "NOT SOUND";
}

enum out_tone tone_verdict(const Fabric__V1__Verdict *v)
{
    return v != NULL && v->passed ? OUT_GOOD : OUT_BAD;
}

void out_class_notes(struct out *o, const char *label, const Fabric__V1__EngineReport *r)
{
    char lines[8192] = "";
    size_t used = 0;
    for (size_t i = 0; i < r->n_class_notes && used < sizeof lines; i++) {
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%s", i > 0 ? "\n" : "",
                                 r->class_notes[i]);
        if (label != NULL && i == 0)
            out_textf(o, label, OUT_WARN, "%s", r->class_notes[i]);
        else if (label != NULL)
            out_note(o, OUT_WARN, "%14s%s", "", r->class_notes[i]);
    }
    out_lines(o, "class_notes", lines);
}
