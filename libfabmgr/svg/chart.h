/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts as SVG: values over time, bars, and marks on a time line. All functions return NOMEM if
 * the text could not be written. Texts may have any bytes.
 */
#ifndef LIBFABMGR_SVG_CHART_H
#define LIBFABMGR_SVG_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/svg/svg.h"

/* A value that is missing. Comparisons with it are false; test for it with fab_svg_is_missing. */
#define FAB_SVG_MISSING __builtin_nan("")
static inline bool fab_svg_is_missing(double value)
{
    return __builtin_isnan(value);
}

/* The unit of the values of an axis, and the form of its labels. */
struct fab_svg_unit {
    const char *name; /* name of the unit, such as "B/s"; "": the values have no unit */
    bool whole;       /* the values are integers */
    bool scaled;      /* large values are shown with a prefix of the SI */
};

/* ---- values over time ------------------------------------------------------------------------ */

struct fab_svg_series {
    const char *name;
    const double *value; /* [count of the chart] */
};
/* The values of one axis; the panels of a chart stand one below the other. */
struct fab_svg_panel {
    const char *title;
    struct fab_svg_unit unit;
    bool bars; /* true: bars from 0, for counts; false: lines, for rates */
    const struct fab_svg_series *series; /* [series_count], at most FAB_SVG_SERIES */
    size_t series_count;
    double limit;           /* a value that is shown as a dashed line; 0: none */
    const char *limit_name; /* name of the limit in the legend */
};
/* Times are local times in seconds since 1970; `zone` is the name of the time zone. */
struct fab_svg_chart {
    const char *title, *subtitle, *zone;
    const int64_t *until; /* [count] end of the period of each value; ascending */
    const uint32_t *span; /* [count] duration of this period in seconds */
    size_t count;
    const struct fab_svg_panel *panels; /* [panel_count] */
    size_t panel_count;
};
int fab_svg_write_chart(const struct fab_svg_chart *c, struct fab_text *t);

/* ---- bars ------------------------------------------------------------------------------------ */

struct fab_svg_bar {
    const char *label;
    const char *note;             /* a text that follows the value; NULL: none */
    double value[FAB_SVG_SERIES]; /* one value for each series; FAB_SVG_MISSING: no bar */
    double limit;                 /* a value that is shown as a tick across the bar; 0: none */
    unsigned colour; /* with one series only: the class of the bar, 0 to FAB_SVG_SERIES - 1 */
};
struct fab_svg_bar_panel {
    const char *title;
    struct fab_svg_unit unit;
    double top; /* the value at the end of the axis; 0: the greatest value of the bars decides */
    /* Names for the legend, of the series or, with one series, of the colours; NULL: no legend. */
    const char *const *names;
    size_t name_count;
    size_t series_count;
    const char *limit_name;         /* name of the limit in the legend; NULL: bars have no limit */
    const struct fab_svg_bar *bars; /* [count] */
    size_t count;
};
struct fab_svg_bars {
    const char *title, *subtitle;
    const struct fab_svg_bar_panel *panels; /* [panel_count] */
    size_t panel_count;
};
int fab_svg_write_bars(const struct fab_svg_bars *b, struct fab_text *t);

/* ---- marks on a time line -------------------------------------------------------------------- */

struct fab_svg_mark {
    int64_t at;       /* local time in seconds */
    uint32_t lane;    /* index in `lanes` */
    uint32_t kind;    /* index in `kinds` */
    const char *note; /* what viewers show under the mouse pointer */
};
struct fab_svg_timeline {
    const char *title, *subtitle, *zone;
    const char *const *lanes; /* [lane_count] */
    size_t lane_count;
    /* [kind_count] names for the legend, and the classes of the marks, such as "warn" or "f0" */
    const char *const *kinds, *const *classes;
    size_t kind_count;
    const struct fab_svg_mark *marks; /* [count] in the order of time */
    size_t count;
};
int fab_svg_write_timeline(const struct fab_svg_timeline *l, struct fab_text *t);

#endif
