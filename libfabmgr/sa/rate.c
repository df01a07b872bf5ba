/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of paths (IBA 15.2.5.16). The encodings are not in the order of the rates, because later
 * versions of the specification added rates. So rates are compared by their rank, which is the
 * index in the table below. Combinations of width and speed that have the same rate share an
 * encoding. */
#include "libfabmgr/sa/context.h"

static const struct {
    uint32_t mbps;
    uint8_t number;
} rates[] = {{0, 0},       {2500, 2},    {5000, 5},    {10000, 3},   {14000, 11},  {20000, 6},
             {25000, 15},  {28000, 19},  {30000, 4},   {40000, 7},   {50000, 20},  {56000, 12},
             {60000, 8},   {80000, 9},   {100000, 16}, {112000, 13}, {120000, 10}, {168000, 14},
             {200000, 17}, {300000, 18}, {400000, 21}, {600000, 22}, {800000, 23}, {1200000, 24}};
#define RATES (sizeof rates / sizeof rates[0])

uint8_t fab_sa_rank(uint32_t mbps)
{
    size_t rank = RATES - 1;
    while (rates[rank].mbps > mbps)
        rank--;
    return (uint8_t)rank;
}

uint8_t fab_sa_rank_of_rate(uint8_t rate)
{
    for (size_t rank = RATES - 1; rank > 0; rank--)
        if (rates[rank].number == rate)
            return (uint8_t)rank;
    return 0;
}

uint8_t fab_sa_rate_of_rank(uint8_t rank)
{
    return rates[rank].number;
}

uint8_t fab_sa_rate(uint32_t mbps)
{
    return rates[fab_sa_rank(mbps)].number;
}

uint32_t fab_sa_rate_mbps(uint8_t rate)
{
    return rates[fab_sa_rank_of_rate(rate)].mbps;
}
