/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/infer.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/check.h"
#include "libfabmgr/cabling/levels.h"
#include "libfabmgr/cabling/name.h"
#include "libfabmgr/cabling/pattern.h"

/* ---- levels ---------------------------------------------------------------------------------- */

/* Histogram of a property, such as the number of ports: count[n] is the number of switches, hosts
 * or adapters for which this property is n. */
struct histogram {
    uint32_t count[256];
};

static uint8_t mode_of(const struct histogram *h)
{
    unsigned best = 0;
    for (unsigned i = 1; i < 256; i++)
        if (h->count[i] > h->count[best])
            best = i;
    return (uint8_t)best;
}

/* Histograms of the switches of one level: numbers of ports, of hosts, and of links that lead down,
 * up and to the side. */
struct survey {
    struct histogram ports, hosts, down, up, side;
};

static void describe_level(const struct fab_fabric *f, const struct fab_cabling_links *links,
                           unsigned level, struct fab_cabling_level *ret)
{
    struct survey s = {0};
    for (uint32_t i = 0; i < f->switch_count; i++) {
        const struct fab_cabling_links *l = &links[i];
        if (l->level != level)
            continue;
        ret->switches++;
        s.ports.count[f->nodes[i].num_ports]++;
        s.hosts.count[l->hosts]++;
        s.down.count[l->down]++;
        s.up.count[l->up]++;
        s.side.count[l->side]++;
    }
    ret->ports = mode_of(&s.ports);
    ret->hosts = mode_of(&s.hosts);
    ret->down = mode_of(&s.down);
    ret->up = mode_of(&s.up);
    ret->side = mode_of(&s.side);
}

static bool is_odd(const struct fab_cabling_links *l, const struct fab_cabling_level *level)
{
    return l->down != level->down || l->up != level->up || l->side != level->side;
}

static int find_odd_switches(struct fab_cabling_shape *s, const struct fab_fabric *f,
                             const struct fab_cabling_links *links)
{
    s->switches = fab_base_alloc_array(f->switch_count, sizeof *s->switches);
    if (s->switches == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < f->switch_count; i++) {
        const struct fab_cabling_links *l = &links[i];
        if (l->level == 0 || l->level > s->level_count || !is_odd(l, &s->levels[l->level - 1]))
            continue;
        s->levels[l->level - 1].odd++;
        s->switches[s->switch_count++] = (struct fab_cabling_odd_switch){
            .node = i, .level = l->level, .down = l->down, .up = l->up, .side = l->side};
    }
    return FAB_OK;
}

static int describe_levels(struct fab_cabling_shape *s, const struct fab_fabric *f,
                           const struct fab_cabling_links *links)
{
    uint32_t sides = 0; /* number of links to the side; each link is counted at both ends */
    for (uint32_t i = 0; i < f->switch_count; i++) {
        if (links[i].level > s->level_count && links[i].level <= FAB_CABLING_LEVELS)
            s->level_count = links[i].level;
        s->links += links[i].up;
        sides += links[i].side;
    }
    s->links += sides / 2;
    for (unsigned i = 0; i < s->level_count; i++)
        describe_level(f, links, i + 1, &s->levels[i]);
    return find_odd_switches(s, f, links);
}

/* ---- rails ----------------------------------------------------------------------------------- */

/* Returns the rail of the majority of the adapters at a switch: more than two thirds, and at least
 * FAB_CABLING_VOTES. Adapters without a rail do not count. Returns 0 if no rail has this majority.
 */
static uint8_t majority_rail(const struct fab_cabling_check *c, const struct fab_cabling_site *s)
{
    struct histogram rails = {0};
    uint32_t count = 0;
    for (unsigned k = 1; k < s->ports; k++) {
        uint32_t host = c->actual[s->first_port + k];
        if (host == FAB_NONE || c->rail[host] == 0)
            continue;
        rails.count[c->rail[host]]++;
        count++;
    }
    uint8_t rail = mode_of(&rails);
    uint32_t votes = rails.count[rail];
    return count > 0 && votes >= FAB_CABLING_VOTES && votes * 3 > count * 2 ? rail : 0;
}

/* Adds to the result those adapters at a switch whose rail differs from that of most adapters at
 * this switch. Also raises s->rails to the rail of most adapters, if this is higher. */
static void find_odd_rails(struct fab_cabling_shape *s, const struct fab_cabling_site *site)
{
    const struct fab_cabling_check *c = s->check;
    uint8_t rail = majority_rail(c, site);
    if (rail == 0)
        return;
    s->rails = rail > s->rails ? rail : s->rails;
    for (unsigned k = 1; k < site->ports; k++) {
        uint32_t host = c->actual[site->first_port + k];
        if (host != FAB_NONE && c->rail[host] != 0 && c->rail[host] != rail)
            s->adapter_rails[s->adapter_count++] =
                (struct fab_cabling_odd_rail){host, c->rail[host], rail};
    }
}

/* Returns the number of ports of a host that have a link; 0: the host has fewer than two such
 * ports, or the sites belong to a switch. The adapters of the host are the `count` sites from
 * c->by_name[first] on. */
static uint8_t count_rails(const struct fab_cabling_check *c, uint32_t first, uint32_t count)
{
    uint8_t most = 0;
    for (uint32_t i = first; i < first + count; i++) {
        const struct fab_cabling_site *s = &c->sites[c->by_name[i]];
        for (unsigned k = 1; k < s->ports && !s->is_switch; k++)
            most = c->rail[s->first_port + k] > most ? c->rail[s->first_port + k] : most;
    }
    return most;
}

static void clear_rails(struct fab_cabling_check *c, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const struct fab_cabling_site *s = &c->sites[c->by_name[i]];
        memset(&c->rail[s->first_port], 0, s->ports);
    }
}

/* Clears the rails of hosts that have more or fewer ports with a link than most hosts: if a host
 * lacks a link, it is not known to which rail this link belonged. */
static void forget_incomplete_hosts(struct fab_cabling_check *c)
{
    struct histogram sizes = {0};
    for (uint32_t i = 0, count; i < c->site_count; i += count) {
        count = fab_cabling_system_size(c, i);
        sizes.count[count_rails(c, i, count)]++;
    }
    sizes.count[0] = 0;
    uint8_t usual = mode_of(&sizes);
    for (uint32_t i = 0, count; i < c->site_count; i += count) {
        count = fab_cabling_system_size(c, i);
        uint8_t rails = count_rails(c, i, count);
        if (rails != 0 && rails != usual)
            clear_rails(c, i, count);
    }
}

/* Finds the rails of the fabric, and the adapters whose rail differs from that of most adapters at
 * their switch. The fabric has rails only if, at some switch, most adapters are on a rail other
 * than rail 1. */
static int find_rails(struct fab_cabling_shape *s)
{
    struct fab_cabling_check *c = s->check;
    s->adapter_rails = fab_base_alloc_array(s->adapters, sizeof *s->adapter_rails);
    if (s->adapter_rails == NULL)
        return FAB_E_NOMEM;
    forget_incomplete_hosts(c);
    for (uint32_t i = 0; i < c->site_count; i++)
        if (c->sites[i].is_switch)
            find_odd_rails(s, &c->sites[i]);
    s->rails = s->rails == 1 ? 0 : s->rails;
    return FAB_OK;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Counts the hosts, and the ports of adapters that have a link. Adapters belong to the same host if
 * the first parts of their names are equal. */
static int count_hosts(struct fab_cabling_shape *s)
{
    const struct fab_cabling_check *c = s->check;
    const char **keys = fab_base_alloc_array(c->site_count, sizeof *keys);
    size_t count = 0;
    if (keys == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->site_count; i++) {
        const struct fab_cabling_site *site = &c->sites[i];
        if (site->is_switch || c->fabric->nodes[i].aggregation)
            continue;
        for (unsigned k = 1; k < site->ports; k++)
            s->adapters += c->actual[site->first_port + k] != FAB_NONE;
        keys[count++] = site->key;
    }
    if (count > 1)
        qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++)
        s->hosts += i == 0 || !fab_cabling_is_same_system(keys[i - 1], keys[i]);
    free(keys);
    return FAB_OK;
}

/* ---- the whole inference --------------------------------------------------------------------- */

static int infer(struct fab_cabling_shape *s, const struct fab_fabric *f,
                 struct fab_cabling_links *links)
{
    s->plan = fab_cabling_plan_new();
    int rc = s->plan != NULL ? fab_cabling_find_levels(f, links) : FAB_E_NOMEM;
    if (rc == FAB_OK)
        rc = describe_levels(s, f, links);
    if (rc == FAB_OK)
        rc = fab_cabling_find_pattern(f, links, s->plan, &s->links_in_pattern);
    if (rc == FAB_OK)
        rc = fab_cabling_compare(s->plan, f, &s->check);
    if (rc == FAB_OK)
        rc = count_hosts(s);
    return rc == FAB_OK ? find_rails(s) : rc;
}

int fab_cabling_infer(const struct fab_fabric *f, struct fab_cabling_shape **ret_shape)
{
    struct fab_cabling_shape *s = calloc(1, sizeof *s);
    struct fab_cabling_links *links = calloc(f->switch_count + 1u, sizeof *links);
    int rc = s != NULL && links != NULL ? infer(s, f, links) : FAB_E_NOMEM;
    free(links);
    if (rc == FAB_OK)
        *ret_shape = s;
    else
        fab_cabling_shape_free(s);
    return rc;
}

void fab_cabling_shape_free(struct fab_cabling_shape *s)
{
    if (s == NULL)
        return;
    fab_cabling_check_free(s->check);
    fab_cabling_plan_free(s->plan);
    free(s->switches);
    free(s->adapter_rails);
    free(s);
}
