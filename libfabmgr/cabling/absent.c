/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds planned nodes that are not in the fabric. If a whole host is absent, with all its adapters,
 * one difference stands for all its links. The same holds for a whole modular switch. If some parts
 * of a host or modular switch are in the fabric, each absent part is a difference of its own. An
 * absent node with only one link is not reported, because its link is reported as missing. */
#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/name.h"

uint32_t fab_cabling_system_size(const struct fab_cabling_check *c, uint32_t first)
{
    const char *key = c->sites[c->by_name[first]].key;
    uint32_t count = 1;
    while (first + count < c->site_count &&
           fab_cabling_is_same_system(key, c->sites[c->by_name[first + count]].key))
        count++;
    return count;
}

/* Returns the number of planned links of a site that is absent from the fabric; 0 if the site is in
 * the fabric. */
static uint32_t absent_links(const struct fab_cabling_check *c, uint32_t site)
{
    const struct fab_cabling_site *s = &c->sites[site];
    uint32_t count = 0;
    for (unsigned k = 1; k < s->ports && s->observed == FAB_NONE; k++)
        count += c->planned[s->first_port + k] != FAB_NONE;
    return count;
}

/* Marks the sites in sites[count] as absent, and adds one difference for all of them. They are all
 * nodes, or one node, of a host or modular switch, and have `links` planned links in total. Does
 * nothing if `links` is less than 2. */
static int add_absent(struct fab_cabling_check *c, const uint32_t *sites, uint32_t count,
                      uint32_t links)
{
    if (links < 2)
        return FAB_OK;
    for (uint32_t i = 0; i < count; i++)
        c->absent[sites[i]] = true;
    return fab_cabling_add_site(c, FAB_CABLING_ABSENT, sites[0], links, count);
}

static int check_system(struct fab_cabling_check *c, const uint32_t *sites, uint32_t count)
{
    uint32_t links = 0, present = 0;
    int rc = FAB_OK;
    for (uint32_t i = 0; i < count; i++) {
        links += absent_links(c, sites[i]);
        present += c->sites[sites[i]].observed != FAB_NONE;
    }
    if (present == 0)
        return add_absent(c, sites, count, links);
    for (uint32_t i = 0; i < count && rc == FAB_OK; i++)
        rc = add_absent(c, &sites[i], 1, absent_links(c, sites[i]));
    return rc;
}

int fab_cabling_find_absent(struct fab_cabling_check *c)
{
    int rc = FAB_OK;
    c->absent = calloc(c->site_count + 1u, sizeof *c->absent);
    if (c->absent == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0, count; i < c->site_count && rc == FAB_OK; i += count) {
        count = fab_cabling_system_size(c, i);
        rc = check_system(c, c->by_name + i, count);
    }
    return rc;
}
