/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of the switches in a picture of the fabric. For this folder only. */
#ifndef LIBFABMGR_EXPORT_LAYOUT_H
#define LIBFABMGR_EXPORT_LAYOUT_H

#include "libfabmgr/export/writer.h"

#define FAB_EXPORT_MARGIN 60u /* width of the empty border of the picture, in pixels */
/* Heights in pixels of the two strips above the highest row. NAMES: the lower strip, for the names
 * of the switches in this row. HEAD: the upper strip, for title and legend; larger in wide
 * pictures. */
#define FAB_EXPORT_NAMES 60u
#define FAB_EXPORT_HEAD 70u
#define FAB_EXPORT_LEVELS 16u

struct fab_export_spot {
    uint32_t x, y; /* centre of the switch, in pixels */
    uint32_t hosts, level;
};

struct fab_export_picture {
    struct fab_export_spot *spots; /* [switch_count] position of each switch */
    /* [switch_count] ids of the switches, row by row from the lowest one */
    uint32_t *order;
    /* [switch_count] for each switch, the mean x of its neighbours in the row below */
    double *wish;
    /* Row l has the switches order[first[l]] to order[first[l + 1] - 1]. levels: number of rows */
    uint32_t first[FAB_EXPORT_LEVELS + 1], levels;
    /* width, height: size of the picture; gap: distance between two rows; all in pixels */
    uint32_t width, height, gap;
    double scale; /* factor for the size of title and legend */
    /* factor for the widths of lines; less than 1 if there are many lines */
    double thin;
};

/* Places the switches, and sets e->picture to the layout. Returns OK or NOMEM. The caller calls
 * fab_export_picture_free even after an error, which may leave an incomplete e->picture. */
int fab_export_picture_new(struct fab_export *e);
void fab_export_picture_free(struct fab_export *e);
/* Returns the switch at the other end of a port's link; FAB_NONE: there is none. */
uint32_t fab_export_peer_switch(const struct fab_fabric *f, uint32_t port);
/* Returns the name of the rack of a switch; "": it is not known. */
const char *fab_export_rack(const struct fab_export *e, uint32_t s);

#endif
