/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/svg/axis.h"

#include <inttypes.h>
#include <stdio.h>

#define DAY INT64_C(86400)

/* ---- values ---------------------------------------------------------------------------------- */

static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

/* Returns the index in prefixes[] of the SI prefix with which the rounded value has at most three
 * digits before the decimal point. Sets *ret_unit to the factor of this prefix, such as 1000 for
 * "k". */
static size_t prefix_of(double value, double *ret_unit)
{
    size_t i = 0;
    *ret_unit = 1;
    while (value >= 999.5 && i + 1 < PREFIXES) {
        value /= 1000;
        *ret_unit *= 1000;
        i++;
    }
    return i;
}

/* Returns the smallest round number that is at least `least`. Round numbers are f * 10^n, with f =
 * 1, 2, 2.5 or 5 and an integer n. */
static double round_step(double least)
{
    static const double factors[] = {1, 2, 2.5, 5, 10};
    double power = 1;
    while (power * 10 <= least)
        power *= 10;
    while (power > least)
        power /= 10;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (factors[i] * power >= least * (1 - 1e-9))
            return factors[i] * power;
    return 10 * power;
}

struct fab_svg_axis fab_svg_axis(double most, unsigned ticks, bool whole, bool scaled)
{
    struct fab_svg_axis a = {.unit = 1, .prefix = ""};
    /* a `most` that is not a number (NaN) also becomes 1 */
    double value = most > 1e-12 ? (most < 1e18 ? most : 1e18) : 1;
    a.step = round_step(value / ticks);
    if (whole && a.step < 1)
        a.step = 1;
    if (whole && a.step > 2 && a.step < 3)
        a.step = 5;
    uint64_t count = (uint64_t)(value / a.step * (1 - 1e-9)) + 1;
    a.top = (double)count * a.step;
    if (scaled && a.top >= 10000)
        a.prefix = prefixes[prefix_of(a.top, &a.unit)];
    double shown = a.step / a.unit;
    /* counts the decimals that labels need, so that no two ticks get the same label */
    while (a.decimals < 9 && shown - (double)(uint64_t)(shown + 1e-6) > 1e-6) {
        shown *= 10;
        a.decimals++;
    }
    return a;
}

void fab_svg_label(const struct fab_svg_axis *a, double value, char text[FAB_SVG_LABEL])
{
    snprintf(text, FAB_SVG_LABEL, "%.*f", a->decimals, value / a->unit);
}

void fab_svg_number(double value, char text[FAB_SVG_LABEL])
{
    double unit, whole = (double)(uint64_t)(value > 0 && value < 1e15 ? value : 0);
    size_t prefix = prefix_of(value, &unit);
    double shown = value / unit;
    if (prefix == 0 && value - whole < 1e-9)
        snprintf(text, FAB_SVG_LABEL, "%.0f", value);
    else
        snprintf(text, FAB_SVG_LABEL, "%.*f%s%s",
                 shown < 9.995   ? 2
                 : shown < 99.95 ? 1
                                 : 0,
                 shown, prefix > 0 ? " " : "", prefixes[prefix]);
}

/* ---- time ------------------------------------------------------------------------------------ */

struct fab_svg_times fab_svg_times(int64_t from, int64_t to, unsigned ticks)
{
    static const int64_t steps[] = {
        1,       2,       5,        10,       15,       30,        60,       120,   300,
        600,     900,     1800,     3600,     7200,     10800,     21600,    43200, DAY,
        2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY, 365 * DAY};
    size_t i = 0, last = sizeof steps / sizeof *steps - 1;
    if (to <= from)
        to = from + 1;
    while (i < last && (to - from) / steps[i] > (int64_t)ticks)
        i++;
    struct fab_svg_times t = {.from = from, .to = to, .step = steps[i]};
    while ((to - from) / t.step > (int64_t)ticks)
        t.step *= 2;
    int64_t over = from % t.step;
    t.first = over == 0 ? from : from - over + (over > 0 ? t.step : 0);
    return t;
}

struct date {
    int64_t year;
    unsigned month, day; /* month: 0 to 11 */
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Returns the date of a time. A time before 1970 counts as 1970, and a time after 9999 as 9999. */
static struct date date_of(int64_t at)
{
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    struct date d = {.year = 1970};
    int64_t days = at > 0 ? at / DAY : 0;
    while (d.year < 9999 && days >= 365 + is_leap(d.year))
        days -= 365 + is_leap(d.year++);
    for (; d.month < 11; d.month++) {
        int64_t length = lengths[d.month] + (d.month == 1 && is_leap(d.year));
        if (days < length)
            break;
        days -= length;
    }
    d.day = (unsigned)(days % 31) + 1;
    return d;
}

void fab_svg_time_label(const struct fab_svg_times *t, int64_t at, char text[FAB_SVG_LABEL])
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct date d = date_of(at);
    unsigned second = (unsigned)(at > 0 ? at % DAY : 0);
    if (second == 0 || t->step >= DAY)
        snprintf(text, FAB_SVG_LABEL, "%s %u", months[d.month], d.day);
    else if (t->step >= 60)
        snprintf(text, FAB_SVG_LABEL, "%02u:%02u", second / 3600, second / 60 % 60);
    else
        snprintf(text, FAB_SVG_LABEL, "%02u:%02u:%02u", second / 3600, second / 60 % 60,
                 second % 60);
}

void fab_svg_date(int64_t at, char text[FAB_SVG_LABEL])
{
    struct date d = date_of(at);
    unsigned second = (unsigned)(at > 0 ? at % DAY : 0);
    snprintf(text, FAB_SVG_LABEL, "%04" PRId64 "-%02u-%02u %02u:%02u", d.year, d.month + 1, d.day,
             second / 3600, second / 60 % 60);
}
