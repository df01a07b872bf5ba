/* SPDX-License-Identifier: BSD-3-Clause */
/* Horizontal bars with their labels at the left and their values at the end. */
#include "libfabmgr/svg/frame.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define BAR 14u   /* height of a bar in pixels */
#define GAP 7u    /* distance in pixels between the bars of two labels */
#define BELOW 34u /* height in pixels of the axis and of the space below a panel */
#define LETTER 6.2
#define LABEL_MOST 300.0
#define VALUE 96.0 /* width in pixels of the space for the value of the longest bar */

struct place {
    const struct fab_svg_bar_panel *panel;
    struct fab_svg_axis axis;
    double left, right, top; /* Edges of the panel in pixels; top: upper edge of the first bar */
};

static double most_of(const struct fab_svg_bar_panel *p)
{
    double most = p->top;
    for (size_t i = 0; i < p->count && p->top <= 0; i++) {
        most = p->bars[i].limit > most ? p->bars[i].limit : most;
        for (size_t s = 0; s < p->series_count; s++)
            most = p->bars[i].value[s] > most ? p->bars[i].value[s] : most;
    }
    return most;
}

static double left_of(const struct fab_svg_bars *b)
{
    size_t longest = 0;
    for (size_t p = 0; p < b->panel_count; p++)
        for (size_t i = 0; i < b->panels[p].count; i++) {
            size_t len = strlen(b->panels[p].bars[i].label);
            longest = len > longest ? len : longest;
        }
    double width = LETTER * (double)longest;
    return 28 + (width < LABEL_MOST ? width : LABEL_MOST);
}

static unsigned rows_of(const struct fab_svg_bar_panel *p)
{
    return (unsigned)(p->count * (p->series_count * BAR + GAP));
}

static double x_of(const struct place *at, double value)
{
    value = value < 0 ? 0 : value > at->axis.top ? at->axis.top : value;
    return at->left + (at->right - at->left) * value / at->axis.top;
}

static void show_value(const struct fab_svg_unit *unit, double value, const char *note, char *text,
                       size_t len)
{
    char number[FAB_SVG_LABEL];
    if (unit->scaled || unit->whole)
        fab_svg_number(value, number);
    else
        snprintf(number, sizeof number, "%.1f", value);
    bool spaced = unit->name[0] != '\0' && strchr(number, ' ') == NULL;
    snprintf(text, len, "%s%s%s%s%s", number, spaced ? " " : "", unit->name,
             note != NULL && note[0] != '\0' ? ", " : "", note != NULL ? note : "");
}

static void draw_bar(struct fab_text *t, const struct place *at, const struct fab_svg_bar *bar,
                     size_t s, double y)
{
    char text[200];
    size_t class = at->panel->series_count > 1 ? s : bar->colour % FAB_SVG_SERIES;
    if (fab_svg_is_missing(bar->value[s])) {
        fab_svg_put(t, at->left + 5, y + BAR - 4, "start", "dim", "-");
        return;
    }
    double end = x_of(at, bar->value[s]);
    fab_base_text_addf(
        t, "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%u\"/>\n", class,
        at->left, y + 1, end - at->left > 1 ? end - at->left : 1, BAR - 2);
    show_value(&at->panel->unit, bar->value[s], s == 0 ? bar->note : NULL, text, sizeof text);
    double after = bar->limit > 0 && x_of(at, bar->limit) > end ? x_of(at, bar->limit) : end;
    fab_svg_put(t, after + 5, y + BAR - 4, "start", NULL, text);
}

static void draw_row(struct fab_text *t, const struct place *at, const struct fab_svg_bar *bar,
                     double y)
{
    double height = (double)(at->panel->series_count * BAR);
    fab_svg_put(t, at->left - 8, y + height / 2 + 4, "end", NULL, bar->label);
    for (size_t s = 0; s < at->panel->series_count; s++)
        draw_bar(t, at, bar, s, y + (double)(s * BAR));
    if (bar->limit > 0)
        fab_base_text_addf(t, "<path class=\"mark\" d=\"M%.1f %.1fv%.1f\"/>\n",
                           x_of(at, bar->limit), y - 2, height + 4);
}

static void draw_axis(struct fab_text *t, const struct place *at, double bottom)
{
    char label[FAB_SVG_LABEL];
    for (double v = 0; v <= at->axis.top * (1 + 1e-9); v += at->axis.step) {
        double x = x_of(at, v);
        fab_base_text_addf(t, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n",
                           v > 0 ? "grid" : "axis", x, at->top - 4, bottom);
        fab_svg_label(&at->axis, v, label);
        fab_svg_put(t, x, bottom + 14, "middle", "dim", label);
    }
}

static void draw_legend(struct fab_text *t, const struct place *at)
{
    const struct fab_svg_bar_panel *p = at->panel;
    struct fab_svg_legend legend = {.x = FAB_SVG_WIDTH - FAB_SVG_RIGHT, .y = at->top - 12};
    char class[] = "f0";
    if (p->limit_name != NULL)
        fab_svg_legend_add(t, &legend, "mark", p->limit_name);
    for (size_t i = p->names != NULL ? p->name_count : 0; i-- > 0;) {
        class[1] = (char)('0' + i % FAB_SVG_SERIES);
        fab_svg_legend_add(t, &legend, class, p->names[i]);
    }
}

static void draw_panel(struct fab_text *t, struct place *at)
{
    const struct fab_svg_bar_panel *p = at->panel;
    double bottom = at->top + rows_of(p);
    at->axis = fab_svg_axis(most_of(p), 5, p->unit.whole, p->unit.scaled);
    fab_svg_panel_title(t, 16, at->top - 12, p->title, at->axis.prefix, p->unit.name);
    draw_axis(t, at, bottom);
    draw_legend(t, at);
    for (size_t i = 0; i < p->count; i++)
        draw_row(t, at, &p->bars[i], at->top + (double)(i * (p->series_count * BAR + GAP)) + 2);
}

int fab_svg_write_bars(const struct fab_svg_bars *b, struct fab_text *t)
{
    struct place at = {.left = left_of(b), .right = FAB_SVG_WIDTH - FAB_SVG_RIGHT - VALUE};
    unsigned height = FAB_SVG_HEAD;
    for (size_t p = 0; p < b->panel_count; p++)
        height += FAB_SVG_TITLE + rows_of(&b->panels[p]) + BELOW;
    fab_svg_head(t, height, b->title, b->subtitle);
    double top = FAB_SVG_HEAD;
    for (size_t p = 0; p < b->panel_count; p++) {
        at.panel = &b->panels[p];
        at.top = top + FAB_SVG_TITLE;
        draw_panel(t, &at);
        top = at.top + rows_of(at.panel) + BELOW;
    }
    fab_svg_end(t);
    return t->status;
}
