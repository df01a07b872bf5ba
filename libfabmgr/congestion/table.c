/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes congestion control tables (A10.4.3.9).
 *
 * With n senders on equal links, each sender has a share of 1/n of the rate, and gets 1/n of the
 * marks. The total number of marks before the first mark takes effect does not depend on n. The
 * step from one table entry to the next determines how much a mark lowers the rate. Three simple
 * kinds of steps are not good:
 *
 * - If every step lowered the rate by the same factor, an incast of few senders would be throttled
 *   too much.
 * - Steps of equal delay, which are common, would throttle such an incast even more, because the
 *   first step halves the rate.
 * - If every step lowered the rate by the same amount, the last steps would be too coarse.
 *
 * Steps that grow with the square root of n are a compromise: index i is right for n = 1 / (1 - c *
 * i)^2 senders, where the constant c follows from the table's length and last entry. (Measured with
 * libfabmgr/traffic: doc/congestion.md.)
 */
#include "libfabmgr/congestion/derive.h"

#define DELAY_MOST 0x3fffu

uint16_t fab_congestion_entry(uint64_t eighths)
{
    uint32_t shift = 3;
    while (shift > 0 && eighths > DELAY_MOST) {
        eighths = (eighths + 1) / 2;
        shift--;
    }
    return (uint16_t)(shift << 14 | (eighths > DELAY_MOST ? DELAY_MOST : eighths));
}

/* Returns the square root of x, which must be at least 1. */
static double square_root(double x)
{
    double low = 1, high = x;
    for (int i = 0; i < 100 && low < high; i++) {
        double middle = (low + high) / 2;
        if (middle * middle < x)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void fab_congestion_derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret)
{
    double share = 1 - 1 / square_root(ratio);
    *ret = (struct fab_congestion_table){.limit = limit};
    for (uint32_t i = 0; i <= limit; i++) {
        double root = 1 - share * i / limit, eighths = 8 * (1 / (root * root) - 1);
        ret->entry[i] = fab_congestion_entry((uint64_t)(eighths + (i < limit ? 0.5 : 1 - 1e-6)));
    }
}
