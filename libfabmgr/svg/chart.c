/* SPDX-License-Identifier: BSD-3-Clause */
/* Values over time. Each value holds for a period, so a line has steps, and a period without a
 * value is a gap. */
#include "libfabmgr/svg/frame.h"

#include "libfabmgr/base/status.h"

#define LEFT 58u
#define PANEL 120u /* height of a panel in pixels */
#define PITCH (FAB_SVG_TITLE + PANEL + 16u)

/* Position and scales of a panel: where its values are drawn. */
struct place {
    const struct fab_svg_chart *chart;
    const struct fab_svg_panel *panel;
    struct fab_svg_axis axis;
    struct fab_svg_scale scale;
    double top, bottom;
};

static double most_of(const struct fab_svg_chart *c, const struct fab_svg_panel *p)
{
    double most = p->limit;
    for (size_t s = 0; s < p->series_count; s++)
        for (size_t i = 0; i < c->count; i++)
            most = p->series[s].value[i] > most ? p->series[s].value[i] : most;
    return most;
}

static double y_of(const struct place *at, double value)
{
    value = value < 0 ? 0 : value > at->axis.top ? at->axis.top : value;
    return at->bottom - (at->bottom - at->top) * value / at->axis.top;
}

static void draw_axis(struct fab_text *t, const struct place *at, bool last)
{
    char label[FAB_SVG_LABEL];
    fab_svg_panel_title(t, LEFT, at->top - 10, at->panel->title, at->axis.prefix,
                        at->panel->unit.name);
    fab_svg_time_axis(t, &at->scale, at->top, at->bottom, at->chart->zone, last);
    for (double v = 0; v <= at->axis.top * (1 + 1e-9); v += at->axis.step) {
        double y = y_of(at, v);
        fab_base_text_addf(t, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n",
                           v > 0 ? "grid" : "axis", at->scale.left, y, at->scale.right);
        fab_svg_label(&at->axis, v, label);
        fab_svg_put(t, at->scale.left - 6, y + 4, "end", NULL, label);
    }
    if (at->panel->limit > 0)
        fab_base_text_addf(t, "<path class=\"limit\" d=\"M%.1f %.1fH%.1f\"/>\n", at->scale.left,
                           y_of(at, at->panel->limit), at->scale.right);
}

static void draw_legend(struct fab_text *t, const struct place *at)
{
    struct fab_svg_legend legend = {.x = at->scale.right, .y = at->top - 10};
    char class[] = "f0";
    if (at->panel->limit > 0)
        fab_svg_legend_add(t, &legend, "limit", at->panel->limit_name);
    for (size_t s = at->panel->series_count; s-- > 0 && at->panel->series_count > 1;) {
        class[1] = (char)('0' + s);
        fab_svg_legend_add(t, &legend, class, at->panel->series[s].name);
    }
}

/* Draws the line of one series. */
static void draw_steps(struct fab_text *t, const struct place *at, size_t s)
{
    const double *value = at->panel->series[s].value;
    const struct fab_svg_chart *c = at->chart;
    bool pen = false; /* true: the previous value was drawn, so the line may continue from it */
    /* the line of the first series is wider, so that it stays visible where another line covers it
     */
    fab_base_text_addf(t, "<path class=\"line%s s%zu\" d=\"",
                       s == 0 && at->panel->series_count > 1 ? " wide" : "", s);
    for (size_t i = 0; i < c->count; i++) {
        if (fab_svg_is_missing(value[i])) {
            pen = false;
            continue;
        }
        int64_t from = c->until[i] - c->span[i];
        /* The periods of two samples may leave a gap of some seconds, because their ends vary. So
         * the line continues over a gap of up to half a period. */
        bool joined = pen && from - c->until[i - 1] <= (int64_t)c->span[i] / 2;
        double y = y_of(at, value[i]);
        if (joined)
            fab_base_text_addf(t, "V%.1f", y);
        else
            fab_base_text_addf(t, "M%.1f %.1f", fab_svg_x(&at->scale, from), y);
        fab_base_text_addf(t, "H%.1f", fab_svg_x(&at->scale, c->until[i]));
        pen = true;
    }
    fab_base_text_add(t, "\"/>\n");
}

/* Draws the bars of one series, beside those of the other series. */
static void draw_bars(struct fab_text *t, const struct place *at, size_t s)
{
    const struct fab_svg_chart *c = at->chart;
    double share = 1.0 / (double)at->panel->series_count;
    for (size_t i = 0; i < c->count; i++) {
        double value = at->panel->series[s].value[i];
        if (!(value > 0))
            continue;
        double from = fab_svg_x(&at->scale, c->until[i] - c->span[i]);
        double width = (fab_svg_x(&at->scale, c->until[i]) - from) * share;
        double y = y_of(at, value);
        /* a bar is at least 1.5 pixels high, so that readers see a small value beside large ones */
        y = y > at->bottom - 1.5 ? at->bottom - 1.5 : y;
        fab_base_text_addf(t,
                           "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                           "height=\"%.1f\"/>\n",
                           s, from + (double)s * width, y, width > 2 ? width - 0.5 : 1.5,
                           at->bottom - y);
    }
}

static void draw_panel(struct fab_text *t, struct place *at, size_t number)
{
    at->panel = &at->chart->panels[number];
    at->top = FAB_SVG_HEAD + (double)(number * PITCH) + FAB_SVG_TITLE;
    at->bottom = at->top + PANEL;
    at->axis = fab_svg_axis(most_of(at->chart, at->panel), 4, at->panel->unit.whole,
                            at->panel->unit.scaled);
    draw_axis(t, at, number + 1 == at->chart->panel_count);
    draw_legend(t, at);
    for (size_t s = 0; s < at->panel->series_count; s++)
        if (at->panel->bars)
            draw_bars(t, at, s);
        else
            draw_steps(t, at, s);
}

int fab_svg_write_chart(const struct fab_svg_chart *c, struct fab_text *t)
{
    struct place at = {.chart = c, .scale = {.left = LEFT, .right = FAB_SVG_WIDTH - FAB_SVG_RIGHT}};
    unsigned height = FAB_SVG_HEAD + (unsigned)c->panel_count * PITCH - 16 + FAB_SVG_FOOT;
    int64_t from = c->count > 0 ? c->until[0] - c->span[0] : 0;
    at.scale.times = fab_svg_times(from, c->count > 0 ? c->until[c->count - 1] : 0, 10);
    fab_svg_head(t, height, c->title, c->subtitle);
    for (size_t p = 0; p < c->panel_count; p++)
        draw_panel(t, &at, p);
    fab_svg_end(t);
    return t->status;
}
