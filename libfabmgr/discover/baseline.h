/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline: the devices that an operator approved, each at its place. A place is approved as a
 * link: a port of an adapter or router at a switch port, or two switch ports. A GUID is only a
 * claim, but no host can change the switch port at which a directed route ends. A device is
 * therefore approved only if both its GUIDs and its switch port are those of the baseline.
 *
 * A baseline does not change; the functions below make changed copies.
 */
#ifndef LIBFABMGR_DISCOVER_BASELINE_H
#define LIBFABMGR_DISCOVER_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/discover/places.h"
#include "libfabmgr/fabric/fabric.h"

#define FAB_APPROVED_BY_LEN 64

struct fab_approved {
    struct fab_place place; /* of a link between switches: that of the end with the lower GUID */
    char name[FAB_NODE_DESC_LEN + 1]; /* NodeDescription when it was approved; "": not known */
    char by[FAB_APPROVED_BY_LEN];     /* the operator */
    int64_t since_us;                 /* Unix time */
};
struct fab_baseline; /* sealed; any thread may read it */

enum fab_unapproved_why {
    FAB_APPROVED_HERE,     /* nothing is wrong */
    FAB_UNAPPROVED_NEW,    /* the baseline does not have this GUID */
    FAB_UNAPPROVED_MOVED,  /* the GUID is approved at another place */
    FAB_UNAPPROVED_PORT,   /* the node is approved, but not this port, or with another port GUID */
    FAB_UNAPPROVED_SWITCH, /* a switch that the baseline does not have */
    FAB_UNAPPROVED_LINK,   /* a link between two switches of the baseline */
};
/* A device, or a link between switches, that is not approved. */
struct fab_unapproved {
    struct fab_place place;
    uint8_t why;         /* enum fab_unapproved_why */
    uint64_t first_guid; /* MOVED: the approved place; 0: none */
    uint8_t first_port;
    uint64_t holder; /* the node GUID that is approved at this place instead; 0: none */
};

/* Makes a baseline of copies. Of places that have an end (node GUID and port) in common, the first
 * one counts. NOMEM. */
int fab_discover_baseline_new(const struct fab_approved *list, size_t count,
                              struct fab_baseline **ret);
struct fab_baseline *fab_discover_baseline_ref(struct fab_baseline *b); /* NULL is fine */
void fab_discover_baseline_unref(struct fab_baseline *b);
/* All approved places, sorted by GUID and port. */
const struct fab_approved *fab_discover_baseline_list(const struct fab_baseline *b,
                                                      size_t *ret_count);
/* Returns the approved link that has this end, or NULL. */
const struct fab_approved *fab_discover_baseline_at(const struct fab_baseline *b, uint64_t guid,
                                                    uint8_t port);
/* Returns whether a node is in the baseline, also as the far end of a link. */
bool fab_discover_baseline_knows(const struct fab_baseline *b, uint64_t guid);

/* Makes a baseline that has these places too, in place of those that have an end in common with
 * them. b NULL: there was none. NOMEM. */
int fab_discover_baseline_with(const struct fab_baseline *b, const struct fab_approved *more,
                               size_t count, struct fab_baseline **ret);
/* Makes a baseline without the places of a node; for a switch, also without those of the hosts at
 * it. NOT_FOUND: it has none. NOMEM. */
int fab_discover_baseline_without(const struct fab_baseline *b, uint64_t guid,
                                  struct fab_baseline **ret);

/* Judges a device at a place. Fills *ret, unless the result is FAB_APPROVED_HERE. */
enum fab_unapproved_why fab_discover_baseline_judge(const struct fab_baseline *b,
                                                    const struct fab_place *place,
                                                    struct fab_unapproved *ret);
/* Lists all devices and links of a fabric that are not approved, in the order of its ports. The
 * manager's own port is among them if it is at another place than approved. The caller frees
 * *ret_list. NOMEM. */
int fab_discover_baseline_compare(const struct fab_baseline *b, const struct fab_fabric *f,
                                  struct fab_unapproved **ret_list, size_t *ret_count);
/* Returns the place of a port with a link; of a link between switches, only that of the end with
 * the lower GUID. False: the port has none. */
bool fab_discover_baseline_place(const struct fab_fabric *f, uint32_t port, struct fab_place *ret);

#endif
