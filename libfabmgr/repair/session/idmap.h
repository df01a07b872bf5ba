/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cover: is a fabric what tables were made for, less something? Nodes that went, cables that died,
 * hosts that are away: tables in force still hold for what is left, once they are repaired, and for
 * all that comes back as it was. Something new, or somewhere else, is not covered.
 */
#ifndef LIBFABMGR_REPAIR_SESSION_IDMAP_H
#define LIBFABMGR_REPAIR_SESSION_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* What has to be remembered of a fabric to tell: 12 bytes a node, 9 a port. */
struct fab_repair_baseline;
int fab_repair_baseline_new(const struct fab_fabric *f, const struct fab_lids *lids,
                            struct fab_repair_baseline **ret); /* NOMEM */
void fab_repair_baseline_free(struct fab_repair_baseline *g);

/* How the ids of a covered fabric and those of the baseline go together. */
struct fab_repair_idmap {
    bool same;              /* they are the same ids */
    uint32_t now, baseline; /* nodes */
    uint32_t *to_baseline;  /* [now] */
    uint32_t *to_current;   /* [baseline], FAB_NONE: it is away */
    uint32_t *dead; /* ports of the baseline, one of each cable between switches that is not up */
    uint32_t deads;
};
/* NOT_FOUND: something is new, or moved, or has another LID. NOMEM. */
int fab_repair_idmap_make(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                          const struct fab_lids *lids, struct fab_repair_idmap *ret);
void fab_repair_idmap_fini(struct fab_repair_idmap *c);
/* The port of the baseline that port id `port` of f is. */
uint32_t fab_repair_idmap_to_baseline(const struct fab_repair_idmap *c,
                                      const struct fab_repair_baseline *g,
                                      const struct fab_fabric *f, uint32_t port);
/* And back; FAB_NONE: its node is away. */
uint32_t fab_repair_idmap_to_current(const struct fab_repair_idmap *c,
                                     const struct fab_repair_baseline *g,
                                     const struct fab_fabric *f, uint32_t port);

#endif
