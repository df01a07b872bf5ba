/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the option whose name is most similar to an unknown one. */
#include <string.h>

#include "libfabmgr/opensm/convert.h"

#define NAME_MAX_LEN 64u

/* Returns the edit distance (Levenshtein) of two names. */
static unsigned distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    unsigned row[NAME_MAX_LEN + 1];
    if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
        return NAME_MAX_LEN;
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0]++;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned same = diagonal + ((a[i - 1] | 32) != (b[j - 1] | 32));
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = same < other ? same : other;
        }
    }
    return row[b_len];
}

const char *fab_opensm_near(const char *name)
{
    size_t len = strlen(name);
    unsigned best = len > 12 ? 5 : len > 5 ? 3 : 2;
    const char *found = NULL;
    for (size_t i = 0; i < fab_opensm_option_count; i++) {
        unsigned d = distance(name, fab_opensm_options[i].name);
        if (d < best) {
            best = d;
            found = fab_opensm_options[i].name;
        }
    }
    return found;
}
