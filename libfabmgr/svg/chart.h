/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts as SVG: values over time, bars, and marks on a time line. The functions append the chart
 * to *t, and return NOMEM if memory ran out. Texts in a chart may have any bytes.
 */
#ifndef LIBFABMGR_SVG_CHART_H
#define LIBFABMGR_SVG_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/svg/svg.h"

/* A missing value. Comparisons with it are always false, so use fab_svg_is_missing. */
#define FAB_SVG_MISSING __builtin_nan("")
static inline bool fab_svg_is_missing(double value)
{
    return __builtin_isnan(value);
}

/* The unit of the values of an axis, and the form of its labels. */
struct fab_svg_unit {
    const char *name; /* name of the unit, such as "B/s"; "": the values have no unit */
    bool whole;       /* the values are integers */
    bool scaled;      /* large values are shown with an SI prefix */
};

/* ---- values over time ------------------------------------------------------------------------ */

struct fab_svg_series {
    const char *name;
    const double *value; /* [count of struct fab_svg_chart] */
};
/* A part of a chart: the series that share an axis of values. The panels of a chart are drawn one
 * below the other. */
struct fab_svg_panel {
    const char *title;
    struct fab_svg_unit unit;
    bool bars; /* true: values are drawn as bars, for counts; false: as lines, for rates */
    /* [series_count] the series of the panel; at most FAB_SVG_SERIES */
    const struct fab_svg_series *series;
    size_t series_count;
    double limit;           /* a value at which a dashed line is drawn; 0: none */
    const char *limit_name; /* name of `limit` in the legend */
};
/* Times are local times in seconds since 1970; `zone` is the name of the time zone. */
struct fab_svg_chart {
    const char *title, *subtitle, *zone;
    const int64_t *until; /* [count] end of the period of each value, in ascending order */
    const uint32_t *span; /* [count] duration of the period of each value, in seconds */
    size_t count;
    const struct fab_svg_panel *panels; /* [panel_count] the panels, the uppermost first */
    size_t panel_count;
};
int fab_svg_write_chart(const struct fab_svg_chart *c, struct fab_text *t);

/* ---- bars ------------------------------------------------------------------------------------ */

struct fab_svg_bar {
    const char *label;
    const char *note; /* text that is shown after the value; NULL: none */
    /* value of each series; FAB_SVG_MISSING: the series has no bar at this label */
    double value[FAB_SVG_SERIES];
    double limit; /* a value at which a tick crosses the bar; 0: none */
    /* only if the panel has one series: number of the colour of the bar, 0 to FAB_SVG_SERIES - 1 */
    unsigned colour;
};
struct fab_svg_bar_panel {
    const char *title;
    struct fab_svg_unit unit;
    double top; /* value at the end of the axis; 0: computed from the greatest value */
    /* [name_count] texts of the legend: the names of the series; if there is only one series, what
     * each colour of the bars means. NULL: no legend. */
    const char *const *names;
    size_t name_count;
    size_t series_count;
    const char *limit_name;         /* name of `limit` in the legend; NULL: no bar has a limit */
    const struct fab_svg_bar *bars; /* [count] the bars, the uppermost first */
    size_t count;
};
struct fab_svg_bars {
    const char *title, *subtitle;
    const struct fab_svg_bar_panel *panels; /* [panel_count] the panels, the uppermost first */
    size_t panel_count;
};
int fab_svg_write_bars(const struct fab_svg_bars *b, struct fab_text *t);

/* ---- marks on a time line -------------------------------------------------------------------- */

struct fab_svg_mark {
    /* time of the mark: Unix time in seconds, plus the offset of the local time zone */
    int64_t at;
    uint32_t lane;    /* index of the mark's lane in lanes[] */
    uint32_t kind;    /* index of the mark's kind in kinds[] */
    const char *note; /* text that viewers show under the mouse pointer */
};
struct fab_svg_timeline {
    const char *title, *subtitle, *zone;
    const char *const *lanes; /* [lane_count] names of the lanes */
    size_t lane_count;
    /* [kind_count] for each kind: its name in the legend, and the class of its marks, such as
     * "warn" or "f0" */
    const char *const *kinds, *const *classes;
    size_t kind_count;
    const struct fab_svg_mark *marks; /* [count] the marks, in the order of time */
    size_t count;
};
int fab_svg_write_timeline(const struct fab_svg_timeline *l, struct fab_text *t);

#endif
