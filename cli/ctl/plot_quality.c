/* SPDX-License-Identifier: BSD-3-Clause */
/* The pictures of `route quality` and `route compare`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"

#define ROWS 16

/* A panel of the picture that is being made. */
struct making {
    struct fab_svg_bar bars[ROWS];
    char labels[ROWS][2 * SHOW_LEN + 8];
    size_t count;
};

static struct fab_svg_bar *add(struct making *m, double value, double limit, const char *label)
{
    if (m->count == ROWS)
        return NULL;
    struct fab_svg_bar *bar = &m->bars[m->count];
    snprintf(m->labels[m->count], sizeof m->labels[0], "%s", label);
    *bar = (struct fab_svg_bar){.label = m->labels[m->count++], .value = {value}, .limit = limit};
    return bar;
}

static void add_bandwidths(struct making *m, const Fabric__V1__Quality *q)
{
    if (q->shifts != NULL && q->shifts->tried > 0)
        add(m, 100 * q->shifts->bandwidth, 0, "shifts");
    if (q->shift_orders != NULL && q->shift_orders->orders > 1)
        add(m, 100 * q->shift_orders->bandwidth, 0, "shifts, hosts in other orders");
    if (q->random_permutations != NULL && q->random_permutations->tried > 0)
        add(m, 100 * q->random_permutations->bandwidth, 0, "random permutations");
    if (q->bisections != NULL && q->bisections->tried > 0) {
        add(m, 100 * q->bisections->mean, 0, "random bisections");
        add(m, 100 * q->bisections->min, 0, "the worst of these bisections");
    }
}

static void add_flows(struct making *m, const Fabric__V1__Quality *q)
{
    double bound = q->shifts != NULL ? q->shifts->bound : 0;
    if (q->shifts != NULL && q->shifts->tried > 0)
        add(m, q->shifts->max, bound, "worst shift");
    if (q->random_permutations != NULL && q->random_permutations->tried > 0) {
        add(m, q->random_permutations->median, bound, "random permutations, median");
        add(m, q->random_permutations->max, bound, "random permutations, worst");
    }
}

static void add_hops(struct making *m, const Fabric__V1__Quality *q)
{
    char label[40];
    for (size_t i = 0; i < q->n_hops; i++) {
        snprintf(label, sizeof label, "%u switch%s", q->hops[i]->switches,
                 q->hops[i]->switches == 1 ? "" : "es");
        add(m, (double)q->hops[i]->pairs, 0, label);
    }
}

static void add_channels(struct making *m, const Fabric__V1__AllToAll *all)
{
    char from[SHOW_LEN], to[SHOW_LEN], label[2 * SHOW_LEN + 8];
    for (size_t i = 0; all != NULL && i < all->n_worst; i++) {
        show_port(all->worst[i]->from, from);
        show_port(all->worst[i]->to, to);
        snprintf(label, sizeof label, "%s to %s", from, to);
        add(m, (double)all->worst[i]->load, (double)all->bound, label);
    }
}

int plot_quality(const Fabric__V1__GetQualityResponse *r)
{
    const Fabric__V1__Quality *q = r->quality;
    struct making *m = calloc(4, sizeof *m);
    struct fab_text t = {0};
    char subtitle[200];
    if (m == NULL)
        return complain(EXIT_FAILED, "out of memory");
    add_bandwidths(&m[0], q);
    add_flows(&m[1], q);
    add_channels(&m[2], q->all_to_all);
    add_hops(&m[3], q);
    const struct fab_svg_bar_panel panels[] = {
        {.title = "Bandwidth of the endports", .unit = {"%", false, false}, .top = 100},
        {.title = "Flows over the most loaded channel",
         .unit = {"", true, false},
         .limit_name = "bound of every routing"},
        {.title = "All-to-all: the most loaded channels",
         .unit = {"units", true, true},
         .limit_name = "bound of every routing"},
        {.title = "Pairs of endports by the switches on their path", .unit = {"", true, true}},
    };
    struct fab_svg_bar_panel shown[4];
    size_t count = 0;
    for (size_t i = 0; i < 4; i++) {
        if (m[i].count == 0)
            continue;
        shown[count] = panels[i];
        shown[count].series_count = 1;
        shown[count].bars = m[i].bars;
        shown[count++].count = m[i].count;
    }
    snprintf(subtitle, sizeof subtitle, "%.60s, generation %" PRIu64 "; %u endports on %u leaves",
             r->engine, r->generation, q->endports, q->leaves);
    const struct fab_svg_bars bars = {.title = "Quality of the active tables",
                                      .subtitle = subtitle,
                                      .panels = shown,
                                      .panel_count = count};
    int rc = plot_put(&t, fab_svg_write_bars(&bars, &t));
    free(m);
    return rc;
}

/* Appends a name to a list that is separated by commas. */
static void add_name(char *list, size_t len, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, len - used, "%s%s", used > 0 ? ", " : "", name);
}

int plot_engines(const struct plot_engine *engines, size_t count)
{
    static const char *const names[] = {"shifts", "random permutations", "random bisections"};
    struct fab_svg_bar shares[PLOT_ENGINES] = {0}, loads[PLOT_ENGINES] = {0};
    struct fab_text t = {0};
    char without[300] = "", subtitle[400];
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const struct plot_engine *e = &engines[i];
        if (fab_svg_is_missing(e->all_to_all)) {
            add_name(without, sizeof without, e->name);
            continue;
        }
        shares[shown] = (struct fab_svg_bar){
            .label = e->name, .value = {100 * e->shifts, 100 * e->random, 100 * e->bisection}};
        loads[shown++] = (struct fab_svg_bar){
            .label = e->name, .note = e->verdict, .value = {e->all_to_all}, .limit = e->bound};
    }
    if (shown == 0)
        return complain(EXIT_UNSOUND,
                        "no engine has tables, so there is nothing to draw: %s refused", without);
    const struct fab_svg_bar_panel panels[] = {
        {.title = "Bandwidth of the endports",
         .unit = {"%", false, false},
         .top = 100,
         .names = names,
         .name_count = 3,
         .series_count = 3,
         .bars = shares,
         .count = shown},
        {.title = "All-to-all: units over the most loaded channel",
         .unit = {"", true, true},
         .series_count = 1,
         .limit_name = "bound of every routing",
         .bars = loads,
         .count = shown},
    };
    snprintf(subtitle, sizeof subtitle, "* the engine of the active tables%s%s",
             without[0] != '\0' ? "; without tables: " : "", without);
    const struct fab_svg_bars bars = {.title = "Tables of the routing engines",
                                      .subtitle = subtitle,
                                      .panels = panels,
                                      .panel_count = 2};
    return plot_put(&t, fab_svg_write_bars(&bars, &t));
}
