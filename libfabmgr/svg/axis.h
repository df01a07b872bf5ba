/* SPDX-License-Identifier: BSD-3-Clause */
/* Axes of charts: round values for ticks, and their labels. For this folder only. */
#ifndef LIBFABMGR_SVG_AXIS_H
#define LIBFABMGR_SVG_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An axis of values from 0 to `top`, with a tick at each multiple of `step`. */
struct fab_svg_axis {
    double top, step;
    /* Labels show values divided by `unit`, a power of 1000. prefix: SI prefix of this power, "",
     * "k", "M", "G", "T" or "P"; it comes before the name of the unit. */
    double unit;
    const char *prefix;
    int decimals;
};
/* Returns an axis from 0 to the first tick that is not below `most`, with at most `ticks` ticks
 * above 0. whole: values are integers, so the step is an integer. scaled: labels of large values
 * have an SI prefix. */
struct fab_svg_axis fab_svg_axis(double most, unsigned ticks, bool whole, bool scaled);

#define FAB_SVG_LABEL 40
void fab_svg_label(const struct fab_svg_axis *a, double value, char text[FAB_SVG_LABEL]);

/* Writes a value with three significant digits and an SI prefix, such as "12.3 G". Integers below
 * 1000 get no decimals, and other values below 1 get two. */
void fab_svg_number(double value, char text[FAB_SVG_LABEL]);

/* An axis of time. Its ticks are at round times, such as full hours. */
struct fab_svg_times {
    /* local times in seconds. first: the time of the first tick; step: seconds between two
     * ticks. */
    int64_t from, to, first, step;
};
/* Returns an axis of time that begins at `from` and ends at `to`, with at most ticks + 1 ticks.
 * Times are local times in seconds since 1970: Unix time plus the offset of the time zone. */
struct fab_svg_times fab_svg_times(int64_t from, int64_t to, unsigned ticks);
/* Writes the time of a tick as "14:05" or "14:05:30". If the tick is at midnight, or the step is a
 * day or more, writes the day, such as "Nov 23". */
void fab_svg_time_label(const struct fab_svg_times *t, int64_t at, char text[FAB_SVG_LABEL]);
/* Writes a day and a time of day, such as "2026-11-23 14:05". */
void fab_svg_date(int64_t at, char text[FAB_SVG_LABEL]);

#endif
