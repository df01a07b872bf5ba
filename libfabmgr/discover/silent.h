/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set of silent switches, for discovery. The agent of a silent switch does not answer, although
 * neighbours report links to the switch as up. Such a switch still forwards packets as its tables
 * say.
 *
 * Snapshots lack the links that the manager has excluded. So the set also has the excluded links of
 * the silent switches. A set does not change after it was made. Any thread may read it, and it is
 * freed with its last reference.
 */
#ifndef LIBFABMGR_DISCOVER_SILENT_H
#define LIBFABMGR_DISCOVER_SILENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_silent_link {
    uint64_t guid[2]; /* node GUIDs of the two ends of the link */
    uint8_t port[2];
};
struct fab_silent;

/* Makes a set with one reference (refs == 1) from copies of the list of switches and of the list of
 * their excluded links. Returns OK or NOMEM. */
int fab_discover_silent_new(const uint64_t *guid, uint32_t count,
                            const struct fab_silent_link *link, uint32_t links,
                            struct fab_silent **ret);
struct fab_silent *fab_discover_silent_ref(struct fab_silent *x); /* x may be NULL */
void fab_discover_silent_unref(struct fab_silent *x);             /* x may be NULL */
/* The functions below treat NULL as an empty set. */
uint32_t fab_discover_silent_count(const struct fab_silent *x);
uint64_t fab_discover_silent_guid(const struct fab_silent *x, uint32_t i);
bool fab_discover_silent_has(const struct fab_silent *x, uint64_t guid);
/* Returns the excluded links of the silent switches in the set. *ret_count is their number. */
const struct fab_silent_link *fab_discover_silent_links(const struct fab_silent *x,
                                                        uint32_t *ret_count);

#endif
