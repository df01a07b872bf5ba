/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the devices that an operator names in a request about the baseline. A text names a node by
 * its GUID ("0x0002c90300000001"), by its name or by the first word of its name. The text
 * "NODE/PORT" names the device at a switch port. */
#ifndef LIBFABMGR_DISCOVER_BASELINE_NAMES_H
#define LIBFABMGR_DISCOVER_BASELINE_NAMES_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/discover/baseline.h"

/* Map from the hashes of names to the texts of a request. A request may have a thousand texts for
 * ten thousand devices, so to compare each text with each device would be too slow. A host chooses
 * its own name and could cause equal hashes; so each lookup also compares the names. */
struct fab_baseline_names {
    char *const *text;
    size_t count;
    struct fab_map map; /* hash of a text -> its index in text[] */
    /* [count] for each text, the number of devices that it names */
    uint32_t *found;
};

/* Makes the map for the texts of a request. The texts must exist as long as *ret. Returns OK or
 * NOMEM. The caller must call fab_discover_names_fini in both cases. */
int fab_discover_names_init(char *const *text, size_t count, struct fab_baseline_names *ret);
void fab_discover_names_fini(struct fab_baseline_names *w);
/* Returns true if at least one text names the device or link at place *p. Increments the element of
 * found[] of each of these texts. */
bool fab_discover_names_has(struct fab_baseline_names *w, const struct fab_fabric *f,
                            const struct fab_place *p);
/* Returns the index of a text that named no device; FAB_NONE: each text named a device. */
uint32_t fab_discover_names_missing(const struct fab_baseline_names *w);

/* Finds the nodes of the baseline that the texts name: guid[i] becomes the GUID of the node that
 * text[i] names. A text may be the present name of a node, or its name when it was approved.
 * Returns NOT_FOUND if text[*ret_wrong] names no node of the baseline, EXISTS if it names several,
 * or NOMEM. */
int fab_discover_names_find(const struct fab_baseline *b, const struct fab_fabric *f,
                            char *const *text, size_t count, uint64_t *guid, size_t *ret_wrong);

#endif
