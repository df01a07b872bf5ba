/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control tables (A10.4.3.9). With the index i the sender is slowed down to 1 / x^i of its link, so
 * that each step takes the same share of whatever rate it has, and the last step, x^limit, is the
 * fan-in to be borne. (A table of equal delays, as is common, halves the rate with its first step
 * and hardly changes it with its last.)
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

double derive_power(double x, uint32_t n)
{
    double all = 1;
    for (; n > 0; n >>= 1, x *= x)
        all *= n & 1 ? x : 1;
    return all;
}

double derive_step(double ratio, uint32_t n)
{
    double low = 1, high = ratio;
    for (int i = 0; i < 100 && low < high; i++) {
        double middle = (low + high) / 2;
        if (derive_power(middle, n) < ratio)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret)
{
    double x = derive_step(ratio, limit), slow = 1;
    *ret = (struct fab_congestion_table){.limit = limit};
    for (uint32_t i = 0; i <= limit; i++, slow *= x) {
        double eighths = 8 * (slow - 1);
        uint64_t whole = (uint64_t)eighths;
        ret->entry[i] = fab_congestion_entry(whole + ((double)whole < eighths - 1e-6));
    }
}
