/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The id map translates between the ids of the present fabric and the ids of the baseline's fabric.
 * It exists if the present fabric is a part of the baseline's. Nodes and links may be missing, and
 * may return unchanged later. The baseline can then be repaired for the nodes and links that
 * remain. If a node, link or LID is new or has moved, there is no map.
 */
#ifndef LIBFABMGR_REPAIR_SESSION_IDMAP_H
#define LIBFABMGR_REPAIR_SESSION_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* The nodes, links and LIDs of the baseline's fabric, in 12 bytes per node and 9 per port. */
struct fab_repair_baseline;
int fab_repair_baseline_new(const struct fab_fabric *f, const struct fab_lids *lids,
                            struct fab_repair_baseline **ret); /* returns OK or NOMEM */
void fab_repair_baseline_free(struct fab_repair_baseline *g);
/* Returns the port at the other end of the link that this port had in the baseline; FAB_NONE: it
 * had no link that was up. Both ports are named by their ids in the baseline. */
uint32_t fab_repair_baseline_peer(const struct fab_repair_baseline *g, uint32_t port);

/* maps node and port ids of the present fabric to ids of the baseline's fabric, and back */
struct fab_repair_idmap {
    bool same; /* true: both fabrics have the same ids */
    /* number of nodes in the present fabric, and in the fabric of the baseline */
    uint32_t now, baseline;
    /* [now] the baseline's id of each present node */
    uint32_t *to_baseline;
    /* [baseline] the present id of each node of the baseline; FAB_NONE: the node is absent */
    uint32_t *to_current;
    /* [deads] one port id (of the baseline) for each ISL of the baseline that is not up now */
    uint32_t *dead;
    uint32_t deads;
};
/* Makes the id map. Returns OK, NOMEM, or NOT_FOUND if a node or link is new or has moved, or if
 * the LID of a port differs from that in the baseline. */
int fab_repair_idmap_make(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                          const struct fab_lids *lids, struct fab_repair_idmap *ret);
void fab_repair_idmap_fini(struct fab_repair_idmap *c);
/* Translates a port id of the present fabric to the id of the same port in the baseline's
 * fabric. */
uint32_t fab_repair_idmap_to_baseline(const struct fab_repair_idmap *c,
                                      const struct fab_repair_baseline *g,
                                      const struct fab_fabric *f, uint32_t port);
/* Translates a port id of the baseline's fabric to the present id of the same port; FAB_NONE: its
 * node is absent. */
uint32_t fab_repair_idmap_to_current(const struct fab_repair_idmap *c,
                                     const struct fab_repair_baseline *g,
                                     const struct fab_fabric *f, uint32_t port);

#endif
