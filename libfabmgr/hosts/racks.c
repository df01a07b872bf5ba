/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the nodes and hosts in each rack. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/base/glob.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/hosts/hosts.h"

static int order_racks(const void *a, const void *b)
{
    const struct fab_rack *x = a, *y = b;
    int order = strverscmp(x->name, y->name);
    /* among entries with the same name, those with a row come first */
    return order != 0 ? order : strcmp(y->row, x->row);
}

/* Merges adjacent entries with the same name, and adds up their counts. Returns the number of
 * racks. */
static uint32_t merge(struct fab_rack *racks, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct fab_rack *last = kept > 0 ? &racks[kept - 1] : NULL;
        if (last == NULL || strcmp(last->name, racks[i].name) != 0) {
            racks[kept++] = racks[i];
            continue;
        }
        last->switches += racks[i].switches;
        last->hosts += racks[i].hosts;
        last->adapters += racks[i].adapters;
    }
    return kept;
}

const struct fab_location *fab_hosts_location_of(const struct fab_hosts *h,
                                                 const struct fab_fabric *f,
                                                 const struct fab_locations *locations,
                                                 uint32_t node)
{
    if (h->host_of[node] != FAB_NONE)
        return h->hosts[h->host_of[node]].location;
    return fab_hosts_location(locations, &f->nodes[node]);
}

bool fab_hosts_is_rack(const char *rack, const char *wanted)
{
    if (rack[0] == '\0')
        return false;
    return strcasecmp(rack, wanted) == 0 ||
           (fab_base_is_glob(wanted) &&
            fab_base_glob_matches(wanted, strlen(wanted), rack, strlen(rack)));
}

int fab_hosts_racks(const struct fab_fabric *f, const struct fab_locations *locations,
                    const struct fab_hosts *h, struct fab_rack **ret_racks, uint32_t *ret_count)
{
    uint32_t count = 0;
    struct fab_rack *racks =
        fab_base_alloc_array((size_t)f->switch_count + h->count, sizeof *racks);
    if (racks == NULL)
        return FAB_E_NOMEM;
    for (uint32_t n = 0; n < f->switch_count; n++) {
        const struct fab_location *p = fab_hosts_location(locations, &f->nodes[n]);
        if (p->rack[0] != '\0')
            racks[count++] = (struct fab_rack){.name = p->rack, .row = p->row, .switches = 1};
    }
    for (uint32_t i = 0; i < h->count; i++) {
        const struct fab_location *p = h->hosts[i].location;
        if (p->rack[0] != '\0')
            racks[count++] = (struct fab_rack){p->rack, p->row, 0, 1, h->hosts[i].count};
    }
    if (count > 1)
        qsort(racks, count, sizeof *racks, order_racks);
    *ret_count = merge(racks, count);
    *ret_racks = racks;
    return FAB_OK;
}
