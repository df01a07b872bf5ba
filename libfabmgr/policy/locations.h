/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the locations of nodes from a CSV file of the operator (the setting locations.file):
 *
 *     name,host,rack,row,slot
 *     node-[001-036],,A1,row-1,
 *     0x0002c903000e0b72,node-037,A2,row-1,12
 *     leaf-*,,A1,row-1,
 *
 * The first row names the columns, in any order. "name" and at least one of the other four columns
 * are needed; columns with other names are ignored. A name is a node GUID (0x and hexadecimal
 * digits), a NodeDescription, or its first word. "leaf-03" also names the switch
 * "MF0;leaf-03:MQM8700/U1". A name may have lists of numbers in brackets
 * (libfabmgr/base/host_list.h), and the wildcards * and ?. A field with commas must be in double
 * quotes. Lines that begin with # are comments.
 */
#ifndef LIBFABMGR_POLICY_LOCATIONS_H
#define LIBFABMGR_POLICY_LOCATIONS_H

#include <stddef.h>
#include <stdint.h>

#define FAB_LOCATIONS_TEXT_MAX ((size_t)16 << 20) /* maximum size of the file in bytes */
/* maximum number of names, after the lists in brackets are expanded */
#define FAB_LOCATIONS_MAX 400000u

/* Location of a node, as in the file. A text is "" if the file does not give it. */
struct fab_location {
    /* name of the host to which the adapter belongs; "": not given */
    const char *host;
    const char *rack, *row, *slot;
};
struct fab_locations;
struct fab_locations_error {
    unsigned line; /* number of the line, from 1 */
    char message[240];
};
/* Reads the text of the file into a new object with one reference. Returns FORMAT (*ret_error has
 * the line and the reason), LIMIT (the text is longer than FAB_LOCATIONS_TEXT_MAX) or NOMEM. */
int fab_policy_locations_read(const char *text, size_t len, struct fab_locations **ret,
                              struct fab_locations_error *ret_error);
struct fab_locations *fab_policy_locations_ref(struct fab_locations *p); /* p may be NULL */
void fab_policy_locations_unref(struct fab_locations *p);

/* Returns what the file says about the node with this GUID and this NodeDescription. If several
 * names of the file match, the order of precedence is: the GUID, the NodeDescription, its first
 * word, and the first name with wildcards that matches. All texts of the result are "" if no name
 * matches, or if p is NULL. The result is valid as long as p. */
const struct fab_location *fab_policy_locations_find(const struct fab_locations *p, uint64_t guid,
                                                     const char *desc);

#endif
