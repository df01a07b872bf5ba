/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the rails and planes of a plan, and classifies wrong cables.
 *
 * The planned ports of a host are numbered from 1, in the order of the adapters' names; numbers in
 * names are compared by value (ibp11s0f0 before ibp139s0f0). Port number r is on rail r. A switch
 * belongs to a rail if all ports of hosts that are planned for it are on this rail. A host with
 * only one planned port has no rail.
 *
 * A plane is a set of at least two switches that are connected, directly or over others, by planned
 * links between switches.
 */
#include <stdlib.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/name.h"

#define RAILS_MAX 254u
#define MIXED 255u

/* ---- rails ----------------------------------------------------------------------------------- */

/* Numbers the planned ports of all adapters of one host. sites[count] are the sites of the host. */
static void number_host(struct fab_cabling_check *c, const uint32_t *sites, uint32_t count)
{
    unsigned rail = 0;
    uint32_t only = FAB_NONE;
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 1; k < c->sites[sites[i]].ports; k++) {
            uint32_t port = c->sites[sites[i]].first_port + k;
            if (c->sites[sites[i]].is_switch || c->planned[port] == FAB_NONE || rail == RAILS_MAX)
                continue;
            c->rail[port] = (uint8_t)++rail;
            only = port;
        }
    if (rail == 1)
        c->rail[only] = 0;
}

static void number_hosts(struct fab_cabling_check *c)
{
    for (uint32_t i = 0, count; i < c->site_count; i += count) {
        count = fab_cabling_system_size(c, i);
        number_host(c, c->by_name + i, count);
    }
}

/* Sets the rail of each switch: the rail of the host ports that are planned for this switch, if all
 * of them are on the same rail; otherwise 0. The rail of a switch is stored in the element of
 * c->rail for its port 0. */
static void number_switches(struct fab_cabling_check *c)
{
    for (uint32_t p = 0; p < c->port_count; p++) {
        const struct fab_cabling_site *s = fab_cabling_site_of(c, p);
        uint32_t host = c->planned[p];
        if (!s->is_switch || host == FAB_NONE || fab_cabling_site_of(c, host)->is_switch)
            continue;
        uint8_t *rail = &c->rail[s->first_port], other = c->rail[host];
        if (other == 0 || (*rail != 0 && *rail != other))
            *rail = MIXED;
        else
            *rail = other;
    }
    for (uint32_t i = 0; i < c->site_count; i++)
        if (c->sites[i].is_switch && c->rail[c->sites[i].first_port] == MIXED)
            c->rail[c->sites[i].first_port] = 0;
}

/* ---- planes ---------------------------------------------------------------------------------- */

static void find_planes(struct fab_cabling_check *c)
{
    fab_base_sets_init(c->plane, c->site_count);
    for (uint32_t p = 0; p < c->port_count; p++)
        if (c->planned[p] != FAB_NONE && fab_cabling_site_of(c, p)->is_switch &&
            fab_cabling_site_of(c, c->planned[p])->is_switch)
            fab_base_sets_join(c->plane, c->port_site[p], c->port_site[c->planned[p]]);
    for (uint32_t i = 0; i < c->site_count; i++)
        fab_base_sets_find(c->plane, i);
}

int fab_cabling_find_rails(struct fab_cabling_check *c)
{
    c->rail = calloc(c->port_count + 1u, sizeof *c->rail);
    c->plane = fab_base_alloc_array(c->site_count, sizeof *c->plane);
    if (c->rail == NULL || c->plane == NULL)
        return FAB_E_NOMEM;
    number_hosts(c);
    number_switches(c);
    find_planes(c);
    return FAB_OK;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Returns true if the switch of port `leaf` and the adapter port `host` are on different rails. */
static bool is_wrong_rail(const struct fab_cabling_check *c, uint32_t leaf, uint32_t host)
{
    uint8_t rail = c->rail[fab_cabling_site_of(c, leaf)->first_port];
    return rail != 0 && c->rail[host] != 0 && rail != c->rail[host];
}

static bool has_plane(const struct fab_cabling_check *c, uint32_t switch_port)
{
    const struct fab_cabling_site *s = fab_cabling_site_of(c, switch_port);
    for (unsigned k = 1; k < s->ports; k++) {
        uint32_t peer = c->planned[s->first_port + k];
        if (peer != FAB_NONE && fab_cabling_site_of(c, peer)->is_switch)
            return true;
    }
    return false;
}

/* Returns true if both ports belong to switches, and the two switches are in different planes. */
static bool is_wrong_plane(const struct fab_cabling_check *c, uint32_t a, uint32_t b)
{
    return fab_cabling_site_of(c, a)->is_switch && fab_cabling_site_of(c, b)->is_switch &&
           c->plane[c->port_site[a]] != c->plane[c->port_site[b]] && has_plane(c, a) &&
           has_plane(c, b);
}

enum fab_cabling_kind fab_cabling_classify(const struct fab_cabling_check *c, uint32_t a,
                                           uint32_t b)
{
    uint32_t pa = c->planned[a], pb = c->planned[b];
    bool host = !fab_cabling_site_of(c, b)->is_switch;
    if (pa == FAB_NONE && pb == FAB_NONE)
        return FAB_CABLING_EXTRA;
    if (host && is_wrong_rail(c, a, b))
        return FAB_CABLING_WRONG_RAIL;
    if (host ? pb != FAB_NONE && is_wrong_plane(c, a, pb) : is_wrong_plane(c, a, b))
        return FAB_CABLING_WRONG_PLANE;
    if (pa != FAB_NONE && pb != FAB_NONE && c->actual[pa] == pb)
        return FAB_CABLING_SWAPPED;
    if (host && pa != FAB_NONE && !fab_cabling_site_of(c, pa)->is_switch &&
        !fab_cabling_is_same_system(fab_cabling_site_of(c, pa)->key,
                                    fab_cabling_site_of(c, b)->key))
        return FAB_CABLING_WRONG_HOST;
    return FAB_CABLING_WRONG_PORT;
}
