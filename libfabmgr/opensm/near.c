/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the option whose name is most similar to an unknown one. */
#include <string.h>

#include "libfabmgr/base/near.h"
#include "libfabmgr/opensm/convert.h"

const char *fab_opensm_near(const char *name)
{
    size_t len = strlen(name);
    unsigned best = len > 12 ? 5 : len > 5 ? 3 : 2;
    const char *found = NULL;
    for (size_t i = 0; i < fab_opensm_option_count; i++) {
        const char *option = fab_opensm_options[i].name;
        unsigned d = fab_base_distance(name, len, option, strlen(option), best);
        if (d < best) {
            best = d;
            found = option;
        }
    }
    return found;
}
