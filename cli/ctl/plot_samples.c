/* SPDX-License-Identifier: BSD-3-Clause */
/* The pictures of `port history` and `link history`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/plot.h"
#include "cli/ctl/show.h"

#define PANELS 6
#define SERIES 4

static const struct {
    const char *title;
    struct fab_svg_unit unit;
    /* a value of a sample times this factor is a number in the unit of the panel */
    double factor;
    bool bars;
} kinds[SAMPLE_VALUES] = {
    [SAMPLE_SENT] = {"Data sent", {"B/s", false, true}, 1, false},
    [SAMPLE_RECEIVED] = {"Data received", {"B/s", false, true}, 1, false},
    [SAMPLE_SENT_PACKETS] = {"Packets sent", {"/s", false, true}, 1, false},
    [SAMPLE_RECEIVED_PACKETS] = {"Packets received", {"/s", false, true}, 1, false},
    [SAMPLE_WAIT] = {"Time without credits", {"%", false, false}, 1e-4, false},
    [SAMPLE_ERRORS] = {"Errors", {"per sample", true, true}, 1, true},
    [SAMPLE_DOWN] = {"Link down", {"s", true, false}, 1, true},
    [SAMPLE_FLAPS] = {"Flaps", {"per sample", true, false}, 1, true},
};

/* The chart that is being made. The arrays `sample`, `until` and `span` have one element for each
 * time at which a port has a sample. */
struct making {
    const struct plot_port *port;
    const Fabric__V1__PortSample **sample[2]; /* NULL: the port has no sample at this time */
    int64_t *until;
    uint32_t *span;
    size_t count;
    struct fab_svg_panel panels[PANELS];
    struct fab_svg_series series[PANELS][SERIES];
    size_t panel_count;
    /* the arrays with the values of the series, which are freed with the chart */
    double *values[PANELS * SERIES];
    size_t value_count;
    bool failed; /* true: memory ran out */
};

/* ---- times ----------------------------------------------------------------------------------- */

static size_t count_of(const struct plot_port *p, int end)
{
    return p->samples[end] != NULL ? p->samples[end]->count : 0;
}

static const Fabric__V1__PortSample *sample_at(const struct plot_port *p, int end, size_t i)
{
    return i < count_of(p, end) ? p->samples[end]->sample[i] : NULL;
}

static int64_t time_at(const struct plot_port *p, int end, size_t i)
{
    const Fabric__V1__PortSample *m = sample_at(p, end, i);
    return m != NULL && m->time != NULL ? m->time->seconds : INT64_MAX;
}

/* Fills in the arrays with the samples of both ports in the order of their times. Samples of the
 * same round have the same time. */
static void join_times(struct making *m)
{
    const struct plot_port *p = m->port;
    size_t i = 0, k = 0;
    while (i < count_of(p, 0) || k < count_of(p, 1)) {
        int64_t x = time_at(p, 0, i), y = time_at(p, 1, k);
        const Fabric__V1__PortSample *a = x <= y ? sample_at(p, 0, i) : NULL;
        const Fabric__V1__PortSample *b = y <= x ? sample_at(p, 1, k) : NULL;
        const Fabric__V1__PortSample *any = a != NULL ? a : b;
        i += x <= y;
        k += y <= x;
        if (any == NULL || any->time == NULL)
            continue;
        m->sample[0][m->count] = a;
        m->sample[1][m->count] = b;
        m->until[m->count] = plot_time(any->time);
        m->span[m->count++] = any->seconds;
    }
}

static bool begin(struct making *m)
{
    size_t most = count_of(m->port, 0) + count_of(m->port, 1) + 1;
    m->sample[0] = calloc(most, sizeof *m->sample[0]);
    m->sample[1] = calloc(most, sizeof *m->sample[1]);
    m->until = calloc(most, sizeof *m->until);
    m->span = calloc(most, sizeof *m->span);
    bool good = m->sample[0] != NULL && m->sample[1] != NULL && m->until != NULL && m->span != NULL;
    if (good)
        join_times(m);
    return good;
}

static void fini(struct making *m)
{
    for (size_t i = 0; i < m->value_count; i++)
        free(m->values[i]);
    free(m->sample[0]);
    free(m->sample[1]);
    free(m->until);
    free(m->span);
}

/* ---- series ---------------------------------------------------------------------------------- */

/* What a line or a bar shows. */
struct source {
    int end;
    enum sample_value value;
    bool peak;           /* true: show the peak of a roll-up; false: show its mean */
    const char *counter; /* the error counter to show; NULL: show `value` */
    const char *name;
};

static uint64_t peak_of(const Fabric__V1__PortSample *m, enum sample_value value)
{
    uint64_t peak = value == SAMPLE_SENT       ? m->peak_sent_bytes_per_second
                    : value == SAMPLE_RECEIVED ? m->peak_received_bytes_per_second
                    : value == SAMPLE_WAIT     ? m->peak_wait_ppm
                                               : 0;
    return peak > 0 ? peak : SPARKLINE_NONE;
}

static double value_of(const Fabric__V1__PortSample *m, const struct source *s)
{
    uint64_t value = m == NULL            ? SPARKLINE_NONE
                     : s->counter != NULL ? sample_counter(m, s->counter)
                     : s->peak            ? peak_of(m, s->value)
                                          : sample_value(m, s->value);
    return value == SPARKLINE_NONE ? FAB_SVG_MISSING : (double)value * kinds[s->value].factor;
}

/* Returns true if a series has a value above 0. */
static bool has_any(const struct making *m, const struct source *s)
{
    for (size_t i = 0; i < m->count; i++)
        if (value_of(m->sample[s->end][i], s) > 0)
            return true;
    return false;
}

static void add_series(struct making *m, struct fab_svg_panel *p, const struct source *s)
{
    double *values = calloc(m->count + 1, sizeof *values);
    size_t panel = (size_t)(p - m->panels);
    if (values == NULL) {
        m->failed = true;
        return;
    }
    m->values[m->value_count++] = values;
    for (size_t i = 0; i < m->count; i++)
        values[i] = value_of(m->sample[s->end][i], s);
    m->series[panel][p->series_count++] = (struct fab_svg_series){s->name, values};
    p->series = m->series[panel];
}

/* Adds a panel with the series of `sources`. If `always` is false and no series has a value above
 * 0, adds no panel. Leaves out a series of peaks that has no value above 0. */
static void add_panel(struct making *m, const char *title, const struct source *sources,
                      size_t count, bool always)
{
    bool any = always;
    for (size_t i = 0; i < count; i++)
        any = any || has_any(m, &sources[i]);
    if (!any || m->panel_count == PANELS)
        return;
    struct fab_svg_panel *p = &m->panels[m->panel_count++];
    *p = (struct fab_svg_panel){
        .title = title, .unit = kinds[sources[0].value].unit, .bars = kinds[sources[0].value].bars};
    for (size_t i = 0; i < count; i++)
        if (!sources[i].peak || has_any(m, &sources[i]))
            add_series(m, p, &sources[i]);
}
#define PANEL(m, title, always, ...)                                                               \
    add_panel(m, title, (const struct source[]){__VA_ARGS__},                                      \
              sizeof((const struct source[]){__VA_ARGS__}) / sizeof(struct source), always)

/* ---- pictures -------------------------------------------------------------------------------- */

static void add_one(struct making *m)
{
    const struct plot_port *p = m->port;
    const char *title = p->counter != NULL ? p->counter : kinds[p->value].title;
    enum sample_value value = p->counter != NULL ? SAMPLE_ERRORS : p->value;
    PANEL(m, title, true, {.value = value, .counter = p->counter, .name = "mean"},
          {.value = value, .peak = true, .name = "peak"});
}

static void add_port(struct making *m)
{
    PANEL(m, "Data", true, {.value = SAMPLE_SENT, .name = "sent"},
          {.value = SAMPLE_RECEIVED, .name = "received"},
          {.value = SAMPLE_SENT, .peak = true, .name = "sent, peak"},
          {.value = SAMPLE_RECEIVED, .peak = true, .name = "received, peak"});
    PANEL(m, kinds[SAMPLE_WAIT].title, false, {.value = SAMPLE_WAIT, .name = "mean"},
          {.value = SAMPLE_WAIT, .peak = true, .name = "peak"});
    PANEL(m, kinds[SAMPLE_ERRORS].title, false, {.value = SAMPLE_ERRORS, .name = "errors"});
    PANEL(m, kinds[SAMPLE_DOWN].title, false, {.value = SAMPLE_DOWN, .name = "down"});
}

static void add_link(struct making *m)
{
    const char *a = m->port->name[0], *b = m->port->name[1];
    PANEL(m, "Data from A to B", true, {.end = 0, .value = SAMPLE_SENT, .name = "A sent"},
          {.end = 1, .value = SAMPLE_RECEIVED, .name = "B received"});
    PANEL(m, "Data from B to A", true, {.end = 1, .value = SAMPLE_SENT, .name = "B sent"},
          {.end = 0, .value = SAMPLE_RECEIVED, .name = "A received"});
    PANEL(m, kinds[SAMPLE_WAIT].title, false, {.end = 0, .value = SAMPLE_WAIT, .name = a},
          {.end = 1, .value = SAMPLE_WAIT, .name = b});
    PANEL(m, kinds[SAMPLE_ERRORS].title, false, {.end = 0, .value = SAMPLE_ERRORS, .name = a},
          {.end = 1, .value = SAMPLE_ERRORS, .name = b});
    PANEL(m, kinds[SAMPLE_DOWN].title, false, {.end = 0, .value = SAMPLE_DOWN, .name = a},
          {.end = 1, .value = SAMPLE_DOWN, .name = b});
}

/* Writes the number of the samples, and their shortest and longest duration, such as "96 samples of
 * 60 s to 15 min". */
static void show_spans(const struct making *m, char text[3 * SAMPLE_LEN])
{
    uint32_t least = UINT32_MAX, most = 0;
    char from[SAMPLE_LEN], to[SAMPLE_LEN];
    for (size_t i = 0; i < m->count; i++) {
        least = m->span[i] < least ? m->span[i] : least;
        most = m->span[i] > most ? m->span[i] : most;
    }
    show_sample_time(m->count > 0 ? least : 0, from);
    show_sample_time(most, to);
    bool same = strcmp(from, to) == 0;
    snprintf(text, 3 * SAMPLE_LEN, "%zu samples of %s%s%s", m->count, from, same ? "" : " to ",
             same ? "" : to);
}

static int draw(struct making *m)
{
    const struct plot_port *p = m->port;
    char title[2 * SHOW_LEN + 20], spans[3 * SAMPLE_LEN], zone[SAMPLE_LEN];
    const Fabric__V1__PortSample *first =
        m->sample[0][0] != NULL ? m->sample[0][0] : m->sample[1][0];
    struct fab_text t = {0};
    if (p->name[1] != NULL)
        snprintf(title, sizeof title, "Link of A %s and B %s", p->name[0], p->name[1]);
    else
        snprintf(title, sizeof title, "Port %s", p->name[0]);
    show_spans(m, spans);
    plot_zone(first->time, zone);
    const struct fab_svg_chart chart = {.title = title,
                                        .subtitle = spans,
                                        .zone = zone,
                                        .until = m->until,
                                        .span = m->span,
                                        .count = m->count,
                                        .panels = m->panels,
                                        .panel_count = m->panel_count};
    return plot_put(&t, fab_svg_write_chart(&chart, &t));
}

int plot_samples(const struct plot_port *p)
{
    struct making m = {.port = p};
    int rc = EXIT_OK;
    bool good = begin(&m);
    if (good && m.count == 0)
        rc = complain(EXIT_NOT_FOUND,
                      "there are no samples of %s in this time, so there is "
                      "nothing to draw; see --since and --until",
                      p->name[0]);
    if (good && rc == EXIT_OK && (p->counter != NULL || p->value != SAMPLE_VALUES))
        add_one(&m);
    else if (good && rc == EXIT_OK && p->name[1] != NULL)
        add_link(&m);
    else if (good && rc == EXIT_OK)
        add_port(&m);
    if (!good || m.failed)
        rc = complain(EXIT_FAILED, "out of memory");
    else if (rc == EXIT_OK)
        rc = draw(&m);
    fini(&m);
    return rc;
}
