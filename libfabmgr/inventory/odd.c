/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/inventory/odd.h"

#include <stdlib.h>
#include <string.h>

/* minimum number of devices of a model; with fewer, no version counts as usual */
#define LEAST_PEERS 3

static int by_model_and_version(const void *x, const void *y)
{
    const struct fab_firmware *a = x, *b = y;
    int order = strcmp(a->model, b->model);
    return order != 0 ? order : strcmp(a->version, b->version);
}

/* Returns the version that more than half of the devices have; NULL: there is none. The devices all
 * have the same model and are sorted by version, so such a version must be in the middle. */
static const char *usual_version(const struct fab_firmware *all, size_t count)
{
    const char *middle = all[count / 2].version;
    size_t same = 0;
    if (count < LEAST_PEERS || all->model[0] == '\0' || middle[0] == '\0')
        return NULL;
    for (size_t i = 0; i < count; i++)
        same += strcmp(all[i].version, middle) == 0;
    return 2 * same > count ? middle : NULL;
}

void fab_inventory_find_odd(struct fab_firmware *all, size_t count)
{
    size_t end;
    if (count > 0)
        qsort(all, count, sizeof *all, by_model_and_version);
    for (size_t first = 0; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(all[end].model, all[first].model) == 0;)
            end++;
        const char *usual = usual_version(all + first, end - first);
        for (size_t i = first; i < end; i++) {
            all[i].usual = usual;
            all[i].odd =
                usual != NULL && all[i].version[0] != '\0' && strcmp(all[i].version, usual) != 0;
        }
    }
}
