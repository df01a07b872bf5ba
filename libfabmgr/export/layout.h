/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of the switches in a picture of the fabric. For this folder only. */
#ifndef LIBFABMGR_EXPORT_LAYOUT_H
#define LIBFABMGR_EXPORT_LAYOUT_H

#include "libfabmgr/export/writer.h"

#define FAB_EXPORT_MARGIN 60u /* around the picture, in pixels */
/* Heights in pixels of two strips above the highest row: NAMES for the names of its switches, and
 * above it HEAD for title and legend, which are larger in wide pictures. */
#define FAB_EXPORT_NAMES 60u
#define FAB_EXPORT_HEAD 70u
#define FAB_EXPORT_LEVELS 16u

struct fab_export_spot {
    uint32_t x, y; /* centre of the switch, in pixels */
    uint32_t hosts, level;
};

struct fab_export_picture {
    struct fab_export_spot *spots; /* [switch_count] */
    uint32_t *order;               /* [switch_count] switches, row by row from the lowest one */
    double *wish;                  /* [switch_count] mean x of the neighbours in the row below */
    /* row l has the switches order[first[l]] to order[first[l + 1] - 1] */
    uint32_t first[FAB_EXPORT_LEVELS + 1], levels;
    uint32_t width, height, gap; /* gap: distance of two rows */
    double scale;                /* factor of the size of title and legend */
    double thin;                 /* factor of the widths of lines, below 1 if there are many */
};

/* Places the switches and sets e->picture. Returns NOMEM; e->picture may then be set. */
int fab_export_picture_new(struct fab_export *e);
void fab_export_picture_free(struct fab_export *e);
/* Returns the switch at the other end of a port's link; FAB_NONE: there is none. */
uint32_t fab_export_peer_switch(const struct fab_fabric *f, uint32_t port);
/* Returns the name of the rack of a switch; "": it is not known. */
const char *fab_export_rack(const struct fab_export *e, uint32_t s);

#endif
