/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places switches in a picture of the fabric.
 *
 * The lowest row has the switches with hosts, and the switches without a path to a host. Every
 * other switch is one row above its lowest neighbour, but there are at most FAB_EXPORT_LEVELS rows.
 * The lowest row is sorted by racks and names. Every row above is sorted by the mean position of
 * the neighbours below (the barycentre method of Sugiyama, Tagawa and Toda, 1981), which puts a
 * spine above its leaves. If all switches have hosts, as in a torus, or none has, the picture has
 * rows of equal length (columns_of).
 */
#include "libfabmgr/export/layout.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/hosts/hosts.h"

#define PITCH 30u /* distance in pixels between the centres of neighbouring switches in a row */
/* minimum distance in pixels between two rows; it is larger in wide pictures */
#define ROW_GAP 160u
#define MANY_LINKS 64u /* if there are more ISLs than this, lines are thinner */
#define WIDE 1600u     /* in pictures wider than this (in pixels), title and legend are larger */
/* minimum width of a picture, in units of PITCH, so that the legend fits */
#define LEAST_PITCHES 28u

uint32_t fab_export_peer_switch(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_peer_node(f, port);
    return node != FAB_NONE && fab_fabric_node_is_switch(f, node) ? node : FAB_NONE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void count_hosts(const struct fab_fabric *f, struct fab_export_picture *p)
{
    for (uint32_t s = 0; s < f->switch_count; s++)
        for (uint32_t k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_fabric_peer_node(f, f->nodes[s].first_port + k);
            p->spots[s].hosts += peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
                                 !f->nodes[peer].aggregation;
        }
}

/* Finds the row of each switch, by a breadth-first search from the switches with hosts, and writes
 * the switches to p->order. Switches without a path to a host are in the lowest row. */
static void find_rows(const struct fab_fabric *f, struct fab_export_picture *p)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < f->switch_count; s++) {
        p->spots[s].level = p->spots[s].hosts > 0 ? 0 : FAB_NONE;
        if (p->spots[s].hosts > 0)
            p->order[count++] = s;
    }
    for (uint32_t head = 0; head < count; head++) {
        uint32_t s = p->order[head], next = p->spots[s].level + 1;
        for (uint32_t k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_export_peer_switch(f, f->nodes[s].first_port + k);
            if (peer == FAB_NONE || p->spots[peer].level != FAB_NONE)
                continue;
            p->spots[peer].level = next < FAB_EXPORT_LEVELS ? next : FAB_EXPORT_LEVELS - 1;
            p->order[count++] = peer;
        }
    }
    for (uint32_t s = 0; s < f->switch_count; s++)
        if (p->spots[s].level == FAB_NONE) {
            p->spots[s].level = 0;
            p->order[count++] = s;
        }
}

struct sorting {
    const struct fab_export *e;
    const struct fab_export_picture *p;
};

const char *fab_export_rack(const struct fab_export *e, uint32_t s)
{
    const struct fab_locations *l = e->in.policy != NULL ? e->in.policy->locations : NULL;
    const struct fab_node *n = &e->in.fabric->nodes[s];
    return fab_hosts_location(l, n)->rack;
}

/* Compares two switches by row. Within the lowest row, compares by rack and then by name; within
 * any other row, by wish[] and then by name. */
static int compare(const void *a, const void *b, void *ctx)
{
    const struct sorting *by = ctx;
    const struct fab_export_spot *spots = by->p->spots;
    uint32_t s = *(const uint32_t *)a, t = *(const uint32_t *)b;
    int order = 0;
    if (spots[s].level != spots[t].level)
        return spots[s].level < spots[t].level ? -1 : 1;
    if (spots[s].level > 0 && by->p->wish[s] != by->p->wish[t])
        return by->p->wish[s] < by->p->wish[t] ? -1 : 1;
    if (spots[s].level == 0)
        order = strverscmp(fab_export_rack(by->e, s), fab_export_rack(by->e, t));
    if (order == 0)
        order = strverscmp(by->e->in.fabric->nodes[s].name, by->e->in.fabric->nodes[t].name);
    return order != 0 ? order : (s > t) - (s < t);
}

/* Computes wish[] for each switch of a row: the mean x of its neighbours in the row below. */
static void wish_places(const struct fab_fabric *f, struct fab_export_picture *p, uint32_t level)
{
    for (uint32_t i = p->first[level]; i < p->first[level + 1]; i++) {
        uint32_t s = p->order[i], count = 0;
        double sum = 0;
        for (uint32_t k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_export_peer_switch(f, f->nodes[s].first_port + k);
            if (peer == FAB_NONE || p->spots[peer].level + 1 != level)
                continue;
            sum += p->spots[peer].x;
            count++;
        }
        p->wish[s] = count > 0 ? sum / count : 0;
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Returns the y coordinate of the highest row. */
static uint32_t top_of(const struct fab_export_picture *p)
{
    return (uint32_t)(FAB_EXPORT_HEAD * p->scale) + FAB_EXPORT_NAMES;
}

/* Sets the width of the picture, and the values that depend on it. */
static void set_width(struct fab_export_picture *p, uint32_t width)
{
    p->width = width;
    p->scale = width > WIDE ? (double)width / WIDE : 1;
}

static void place_row(struct fab_export_picture *p, uint32_t level)
{
    uint32_t count = p->first[level + 1] - p->first[level];
    double pitch = (double)(p->width - 2 * FAB_EXPORT_MARGIN) / (count > 0 ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        struct fab_export_spot *spot = &p->spots[p->order[p->first[level] + i]];
        spot->x = FAB_EXPORT_MARGIN + (uint32_t)((i + 0.5) * pitch);
        spot->y = top_of(p) + (p->levels - 1 - level) * p->gap;
    }
}

/* Returns the number of columns for a fabric in which all switches have hosts. place[] receives the
 * position of each switch in the sorted order; seen[d] counts the links between switches whose
 * positions differ by d. If the switches of a torus or mesh are numbered by their coordinates, this
 * difference is constant for each dimension. Let `side` be the side of the smallest square that has
 * room for all switches. The result is the largest d, from 2 to 4 * side, for which seen[d] is at
 * least a quarter of the number of switches. If there is none, the result is `side`. */
static uint32_t columns_of(const struct fab_fabric *f, const struct fab_export_picture *p,
                           uint32_t *place, uint32_t *seen)
{
    uint32_t side = 1, columns = 0;
    while (side * side < f->switch_count)
        side++;
    for (uint32_t i = 0; i < f->switch_count; i++)
        place[p->order[i]] = i;
    for (uint32_t i = 0; i < f->switch_count; i++)
        for (uint32_t s = p->order[i], k = 1; k <= f->nodes[s].num_ports; k++) {
            uint32_t peer = fab_export_peer_switch(f, f->nodes[s].first_port + k);
            if (peer != FAB_NONE && place[peer] > i)
                seen[place[peer] - i]++;
        }
    for (uint32_t d = 2; d <= 4 * side && d < f->switch_count; d++)
        if (seen[d] >= f->switch_count / 4)
            columns = d;
    return columns > 0 ? columns : side;
}

/* Places the switches of a fabric in which all switches have hosts, such as a torus. */
static int place_lattice(const struct fab_fabric *f, struct fab_export_picture *p)
{
    uint32_t *place = fab_base_alloc_array(2 * (size_t)f->switch_count, sizeof *place);
    if (place == NULL)
        return FAB_E_NOMEM;
    memset(place, 0, 2 * (size_t)f->switch_count * sizeof *place);
    uint32_t columns = columns_of(f, p, place, place + f->switch_count);
    free(place);
    uint32_t rows = (f->switch_count + columns - 1) / columns;
    for (uint32_t i = 0; i < f->switch_count; i++) {
        p->spots[p->order[i]].x = FAB_EXPORT_MARGIN + (i % columns) * 3 * PITCH;
        p->spots[p->order[i]].y = top_of(p) + (i / columns) * 3 * PITCH;
    }
    columns = columns > LEAST_PITCHES / 3 ? columns : LEAST_PITCHES / 3 + 1;
    set_width(p, 2 * FAB_EXPORT_MARGIN + (columns - 1) * 3 * PITCH);
    p->height = top_of(p) + FAB_EXPORT_MARGIN + (rows > 0 ? rows - 1 : 0) * 3 * PITCH;
    return FAB_OK;
}

static void find_first(const struct fab_fabric *f, struct fab_export_picture *p)
{
    uint32_t widest = 0;
    for (uint32_t i = 0; i < f->switch_count; i++) {
        uint32_t level = p->spots[p->order[i]].level;
        p->first[level + 1] = i + 1;
        p->levels = level + 1;
    }
    for (uint32_t l = 0; l < p->levels; l++) {
        if (p->first[l + 1] < p->first[l])
            p->first[l + 1] = p->first[l];
        uint32_t count = p->first[l + 1] - p->first[l];
        widest = count > widest ? count : widest;
    }
    set_width(p, 2 * FAB_EXPORT_MARGIN + (widest > LEAST_PITCHES ? widest : LEAST_PITCHES) * PITCH);
    p->gap = p->width / 8 > ROW_GAP ? p->width / 8 : ROW_GAP;
    p->height = top_of(p) + FAB_EXPORT_MARGIN + (p->levels > 0 ? p->levels - 1 : 0) * p->gap;
}

/* Returns the factor for the widths of lines; it is smaller if there are many ISLs. */
static double thin_of(const struct fab_fabric *f)
{
    uint32_t ends = 0;
    for (uint32_t s = 0; s < f->switch_count; s++)
        for (uint32_t k = 1; k <= f->nodes[s].num_ports; k++)
            ends += fab_export_peer_switch(f, f->nodes[s].first_port + k) != FAB_NONE;
    uint32_t links = ends / 2 + 1;
    double factor = f->switch_count > 0 ? MANY_LINKS * 2.0 / links + 0.22 : 1;
    return factor < 1 ? factor : 1;
}

static int arrange(const struct fab_export *e, struct fab_export_picture *p)
{
    const struct fab_fabric *f = e->in.fabric;
    struct sorting by = {e, p};
    p->thin = thin_of(f);
    count_hosts(f, p);
    find_rows(f, p);
    qsort_r(p->order, f->switch_count, sizeof *p->order, compare, &by);
    find_first(f, p);
    if (p->levels <= 1)
        return place_lattice(f, p);
    place_row(p, 0);
    for (uint32_t l = 1; l < p->levels; l++) {
        wish_places(f, p, l);
        qsort_r(p->order + p->first[l], p->first[l + 1] - p->first[l], sizeof *p->order, compare,
                &by);
        place_row(p, l);
    }
    return FAB_OK;
}

void fab_export_picture_free(struct fab_export *e)
{
    if (e->picture == NULL)
        return;
    free(e->picture->spots);
    free(e->picture->order);
    free(e->picture->wish);
    free(e->picture);
}

int fab_export_picture_new(struct fab_export *e)
{
    size_t count = e->in.fabric->switch_count;
    struct fab_export_picture *p = e->picture = calloc(1, sizeof *p);
    if (p == NULL)
        return FAB_E_NOMEM;
    p->spots = fab_base_alloc_array(count, sizeof *p->spots);
    p->order = fab_base_alloc_array(count, sizeof *p->order);
    p->wish = fab_base_alloc_array(count, sizeof *p->wish);
    if (p->spots == NULL || p->order == NULL || p->wish == NULL)
        return FAB_E_NOMEM;
    memset(p->spots, 0, count * sizeof *p->spots);
    memset(p->wish, 0, count * sizeof *p->wish);
    return arrange(e, p);
}
