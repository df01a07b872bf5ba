/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/base/near.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

unsigned fab_base_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned most)
{
    unsigned row[FAB_BASE_NEAR_LEN + 1], least = 0;
    if (a_len > b_len + most || b_len > a_len + most || b_len > FAB_BASE_NEAR_LEN)
        return most + 1;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j <= most ? (unsigned)j : most + 1;
    for (size_t i = 1; i <= a_len && least <= most; i++) {
        size_t first = i > most ? i - most : 1, last = i + most < b_len ? i + most : b_len;
        unsigned diagonal = row[first - 1];
        row[first - 1] = first == 1 && i <= most ? (unsigned)i : most + 1;
        least = row[first - 1];
        for (size_t j = first; j <= last; j++) {
            unsigned same = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = same < other ? same : other;
            least = row[j] < least ? row[j] : least;
        }
    }
    return least <= most && row[b_len] <= most ? row[b_len] : most + 1;
}

unsigned fab_base_near_most(size_t len)
{
    return len > 4 ? 2 : len > 2;
}
