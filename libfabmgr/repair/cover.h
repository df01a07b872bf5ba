/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cover: is a fabric what tables were made for, less something? Nodes that went, cables that died,
 * hosts that are away: tables in force still hold for what is left, once they are repaired, and for
 * all that comes back as it was. Something new, or somewhere else, is not covered.
 */
#ifndef LIBFABMGR_REPAIR_COVER_H
#define LIBFABMGR_REPAIR_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* What has to be remembered of a fabric to tell: 12 bytes a node, 9 a port. */
struct fab_ground;
int fab_ground_new(const struct fab_fabric *f, const struct fab_lids *lids,
                   struct fab_ground **ret); /* NOMEM */
void fab_ground_free(struct fab_ground *g);

/* How the ids of a covered fabric and those of the ground go together. */
struct fab_cover {
    bool same;            /* they are the same ids */
    uint32_t now, ground; /* nodes */
    uint32_t *to_ground;  /* [now] */
    uint32_t *to_now;     /* [ground], FAB_NONE: it is away */
    uint32_t *dead; /* ports of the ground, one of each cable between switches that is not up */
    uint32_t deads;
};
/* NOT_FOUND: something is new, or moved, or has another LID. NOMEM. */
int fab_cover_find(const struct fab_ground *g, const struct fab_fabric *f,
                   const struct fab_lids *lids, struct fab_cover *ret);
void fab_cover_fini(struct fab_cover *c);
/* The port of the ground that port id `port` of f is. */
uint32_t fab_cover_port(const struct fab_cover *c, const struct fab_ground *g,
                        const struct fab_fabric *f, uint32_t port);
/* And back; FAB_NONE: its node is away. */
uint32_t fab_cover_port_now(const struct fab_cover *c, const struct fab_ground *g,
                            const struct fab_fabric *f, uint32_t port);

#endif
