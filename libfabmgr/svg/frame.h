/* SPDX-License-Identifier: BSD-3-Clause */
/* What all charts have in common: heads, legends and the time axis. For this folder only. */
#ifndef LIBFABMGR_SVG_FRAME_H
#define LIBFABMGR_SVG_FRAME_H

#include "libfabmgr/svg/axis.h"
#include "libfabmgr/svg/chart.h"

#define FAB_SVG_WIDTH 860u /* width of a chart in pixels */
#define FAB_SVG_HEAD 52u   /* height in pixels of the title and the subtitle */
#define FAB_SVG_RIGHT 24u  /* empty space at the right edge, in pixels */
#define FAB_SVG_FOOT 40u   /* height in pixels of the time axis below the last panel */
#define FAB_SVG_TITLE 26u  /* height in pixels of the title of a panel */

/* Begins a chart: writes the title and, below it in a dim colour, the subtitle. */
void fab_svg_head(struct fab_text *t, unsigned height, const char *title, const char *subtitle);
/* Appends a text at position (x, y). anchor: "start", "middle" or "end". class: name of a class;
 * NULL: none. */
void fab_svg_put(struct fab_text *t, double x, double y, const char *anchor, const char *class,
                 const char *text);
/* Appends the title of a panel with its unit. */
void fab_svg_panel_title(struct fab_text *t, double x, double y, const char *title,
                         const char *prefix, const char *unit);

/* A legend. The first entry is at its right end, and each further entry to the left of the one
 * before. */
struct fab_svg_legend {
    double x, y; /* x: right end of the next entry */
};
/* Adds an entry to the legend. Its symbol is a dashed line for the class "limit", a tick for the
 * class "mark", and a small box for any other class. */
void fab_svg_legend_add(struct fab_text *t, struct fab_svg_legend *l, const char *class,
                        const char *name);

/* The time axis of a chart. left, right: x coordinates of the first and the last time on the
 * axis */
struct fab_svg_scale {
    struct fab_svg_times times;
    double left, right;
};
double fab_svg_x(const struct fab_svg_scale *s, int64_t at);
/* Appends the vertical grid lines from y coordinate `top` to `bottom`. labels: true: also writes
 * the times below the lines, and the name of the time zone. */
void fab_svg_time_axis(struct fab_text *t, const struct fab_svg_scale *s, double top, double bottom,
                       const char *zone, bool labels);

#endif
