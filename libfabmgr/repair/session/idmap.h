/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The id map: is a fabric a part of the one that tables were made for? Nodes may have left, links
 * may have died, hosts may be away: the active tables, once repaired, hold for what is left and
 * for everything that comes back as it was. A new node, link or LID, or one that moved, is not
 * covered.
 */
#ifndef LIBFABMGR_REPAIR_SESSION_IDMAP_H
#define LIBFABMGR_REPAIR_SESSION_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* What is remembered of the fabric that tables were made for: 12 bytes a node, 9 a port. */
struct fab_repair_baseline;
int fab_repair_baseline_new(const struct fab_fabric *f, const struct fab_lids *lids,
                            struct fab_repair_baseline **ret); /* NOMEM */
void fab_repair_baseline_free(struct fab_repair_baseline *g);

/* How the ids of a present fabric and those of the baseline correspond. */
struct fab_repair_idmap {
    bool same;              /* both have the same ids */
    uint32_t now, baseline; /* numbers of nodes */
    uint32_t *to_baseline;  /* [now] */
    uint32_t *to_current;   /* [baseline] or FAB_NONE: the node is absent */
    uint32_t *dead;         /* baseline's port ids, one for each ISL that is not up */
    uint32_t deads;
};
/* Returns NOT_FOUND (something is new, moved, or has another LID) or NOMEM. */
int fab_repair_idmap_make(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                          const struct fab_lids *lids, struct fab_repair_idmap *ret);
void fab_repair_idmap_fini(struct fab_repair_idmap *c);
/* The baseline's id of the present fabric's port `port`. */
uint32_t fab_repair_idmap_to_baseline(const struct fab_repair_idmap *c,
                                      const struct fab_repair_baseline *g,
                                      const struct fab_fabric *f, uint32_t port);
/* The present id of the baseline's port `port`, or FAB_NONE: its node is absent. */
uint32_t fab_repair_idmap_to_current(const struct fab_repair_idmap *c,
                                     const struct fab_repair_baseline *g,
                                     const struct fab_fabric *f, uint32_t port);

#endif
