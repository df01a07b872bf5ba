/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The baseline: the devices that an operator has approved, each at its place. A place is a link,
 * given by its two ports: a port of an adapter or router and the switch port to which it is
 * connected, or the ports of a link between two switches.
 *
 * Any device can claim any GUID, but no host can change the switch port at which a directed route
 * ends. A device is therefore approved only if the baseline has its node GUID and its port GUID at
 * this switch port.
 *
 * A baseline is sealed; the functions below make changed copies.
 */
#ifndef LIBFABMGR_DISCOVER_BASELINE_H
#define LIBFABMGR_DISCOVER_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/discover/places.h"
#include "libfabmgr/fabric/fabric.h"

#define FAB_APPROVED_BY_LEN 96

struct fab_approved {
    /* The approved place. For a link between switches, the switch with the lower GUID is the
     * device. */
    struct fab_place place;
    /* NodeDescription of the device when it was approved; "": not known. */
    char name[FAB_NODE_DESC_LEN + 1];
    /* Name of the operator who approved `place`. */
    char by[FAB_APPROVED_BY_LEN];
    int64_t since_us; /* Unix time of the approval, in microseconds */
};
/* All approved places. The struct is sealed, so any thread may read it. */
struct fab_baseline;

enum fab_unapproved_why {
    FAB_APPROVED_HERE, /* the device is approved at this place */
    /* The baseline does not have this node GUID. */
    FAB_UNAPPROVED_NEW,
    /* This device is approved, but only at another place. */
    FAB_UNAPPROVED_MOVED,
    /* The node is approved, but this port of the node is not approved, or only with another port
     * GUID. */
    FAB_UNAPPROVED_PORT,
    /* The device is a switch that is not in the baseline. */
    FAB_UNAPPROVED_SWITCH,
    /* The link between two switches is not in the baseline, but both switches are. */
    FAB_UNAPPROVED_LINK,
};
/* A device or a link between switches that is not approved at its place. */
struct fab_unapproved {
    struct fab_place place;
    uint8_t why; /* enum fab_unapproved_why */
    /* With FAB_UNAPPROVED_MOVED: node GUID and port number of the switch port at which this device
     * is approved. Otherwise first_guid is 0. */
    uint64_t first_guid;
    uint8_t first_port;
    /* GUID of another node that is approved at this place; 0: none. */
    uint64_t holder;
};

/* Makes a baseline from copies of the entries. If several entries have a port (node GUID and port
 * number) in common, keeps only the first of them. Returns OK or NOMEM. */
int fab_discover_baseline_new(const struct fab_approved *list, size_t count,
                              struct fab_baseline **ret);
struct fab_baseline *fab_discover_baseline_ref(struct fab_baseline *b); /* b may be NULL */
void fab_discover_baseline_unref(struct fab_baseline *b);
/* Returns all approved places, sorted by node GUID and port number. */
const struct fab_approved *fab_discover_baseline_list(const struct fab_baseline *b,
                                                      size_t *ret_count);
/* Returns the approved place of the link that has this port at one of its two ends; NULL: the
 * baseline has no such link. */
const struct fab_approved *fab_discover_baseline_at(const struct fab_baseline *b, uint64_t guid,
                                                    uint8_t port);
/* Returns true if the baseline has a link with this node at one of its two ends. */
bool fab_discover_baseline_knows(const struct fab_baseline *b, uint64_t guid);
/* Returns true if this is the GUID of a node in the baseline, or the approved GUID of a port of an
 * adapter or router. */
bool fab_discover_baseline_has_guid(const struct fab_baseline *b, uint64_t guid);

/* Makes a copy of b with the additional places more[count]. A new place replaces old places with
 * which it shares a port. b == NULL: there is no baseline yet. Returns OK or NOMEM. */
int fab_discover_baseline_with(const struct fab_baseline *b, const struct fab_approved *more,
                               size_t count, struct fab_baseline **ret);
/* Makes a copy of b that lacks each place with one of the nodes guid[count] at one of its two ends.
 * So if a node is a switch, the copy also lacks the places of the hosts at this switch. Returns OK;
 * NOT_FOUND if a node has no place in the baseline; or NOMEM. */
int fab_discover_baseline_without(const struct fab_baseline *b, const uint64_t *guid, size_t count,
                                  struct fab_baseline **ret);

/* Judges whether a device is approved at a place. Returns FAB_APPROVED_HERE; or fills *ret and
 * returns the reason why the device is not approved there. */
enum fab_unapproved_why fab_discover_baseline_judge(const struct fab_baseline *b,
                                                    const struct fab_place *place,
                                                    struct fab_unapproved *ret);
/* Lists all devices and links of a fabric that are not approved, in the order of port ids. The
 * manager's own port is listed, too, if it is not approved at its place. The caller frees
 * *ret_list. Returns OK or NOMEM. */
int fab_discover_baseline_compare(const struct fab_baseline *b, const struct fab_fabric *f,
                                  struct fab_unapproved **ret_list, size_t *ret_count);
/* Finds the place of a port that has a link. For a port of an adapter or router, this is the port
 * at the other end, usually of a switch. A link between switches is found only from its end with
 * the lower GUID. Returns false if the port has no place. */
bool fab_discover_baseline_place(const struct fab_fabric *f, uint32_t port, struct fab_place *ret);

#endif
