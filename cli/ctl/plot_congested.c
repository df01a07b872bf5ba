/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture of `cc congested`. */
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"

#define ROWS 40

struct row {
    char label[SHOW_LEN], marks[SHOW_LEN];
};

static const char *const kinds[] = {"congested", "throttled", "waiting"};

static unsigned kind_of(const Fabric__V1__CongestedPort *p)
{
    for (unsigned k = 0; k < 3; k++)
        if (strcmp(p->kind, kinds[k]) == 0)
            return k;
    return 2;
}

static void show_marks(const Fabric__V1__CongestedPort *p, char text[SHOW_LEN])
{
    text[0] = '\0';
    if (p->fecn + p->becn + p->events > 0)
        snprintf(text, SHOW_LEN, "%u FECN, %u BECN, %u events", p->fecn, p->becn, p->events);
}

int plot_congested(const Fabric__V1__ListCongestedPortsResponse *r)
{
    static struct row rows[ROWS];
    struct fab_svg_bar waits[ROWS] = {0}, data[ROWS] = {0};
    size_t count = r->n_ports < ROWS ? r->n_ports : ROWS;
    struct fab_text t = {0};
    char subtitle[120];
    if (count == 0)
        return complain(EXIT_NOT_FOUND, "no port is congested, so there is nothing to draw");
    for (size_t i = 0; i < count; i++) {
        const Fabric__V1__CongestedPort *p = r->ports[i];
        show_port(p->port, rows[i].label);
        show_marks(p, rows[i].marks);
        waits[i] = data[i] =
            (struct fab_svg_bar){.label = rows[i].label, .colour = kind_of(p), .note = ""};
        waits[i].value[0] = p->credit_wait_permille / 10.0;
        waits[i].note = rows[i].marks;
        data[i].value[0] = p->mbps * 1e6;
    }
    const struct fab_svg_bar_panel panels[] = {
        {.title = "Time without credits",
         .unit = {"%", false, false},
         .top = 100,
         .names = kinds,
         .name_count = 3,
         .series_count = 1,
         .bars = waits,
         .count = count},
        {.title = "Data sent",
         .unit = {"b/s", false, true},
         .series_count = 1,
         .bars = data,
         .count = count},
    };
    snprintf(subtitle, sizeof subtitle, "%zu of %u ports, by their last two reads of the counters",
             count, r->total);
    const struct fab_svg_bars bars = {
        .title = "Congested ports", .subtitle = subtitle, .panels = panels, .panel_count = 2};
    return plot_put(&t, fab_svg_write_bars(&bars, &t));
}
