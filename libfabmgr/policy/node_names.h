/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the node-name-map of OpenSM and infiniband-diags (the setting names.node_name_map):
 *
 *     # GUID of a node, and its name
 *     0x0002c902400111aa "spine-01"
 *     0x0002c902400111ab leaf-01    # a name of one word needs no quotes
 *
 * A line has a node GUID and a name. A name is in double quotes, or ends at the next blank or '#'.
 * The rest of the line is ignored. Each GUID and each name can occur only once.
 */
#ifndef LIBFABMGR_POLICY_NODE_NAMES_H
#define LIBFABMGR_POLICY_NODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_NODE_NAMES_TEXT_MAX ((size_t)16 << 20) /* maximum size of the file in bytes */
#define FAB_NODE_NAMES_MAX 131072u                 /* maximum number of names */
/* maximum length of a name in bytes with the NUL, as for NodeDescription */
#define FAB_NODE_NAME_LEN 65

struct fab_node_names;
struct fab_node_names_error {
    unsigned line; /* number of the line, from 1 */
    char message[200];
};
/* Reads the text of the file into a new object with one reference. Returns FORMAT (*ret_error has
 * the line and the reason), LIMIT (the text is longer than FAB_NODE_NAMES_TEXT_MAX) or NOMEM. */
int fab_policy_node_names_read(const char *text, size_t len, struct fab_node_names **ret,
                               struct fab_node_names_error *ret_error);
struct fab_node_names *fab_policy_node_names_ref(struct fab_node_names *n); /* n may be NULL */
void fab_policy_node_names_unref(struct fab_node_names *n);

/* Returns the name that the file gives to the node with this node GUID. Returns NULL if the file
 * gives none, or if n is NULL. */
const char *fab_policy_node_names_find(const struct fab_node_names *n, uint64_t guid);
/* Returns the number of names; 0 if n is NULL. */
size_t fab_policy_node_names_count(const struct fab_node_names *n);
/* Returns the name with this index; *ret_guid is the node GUID. Names have the indexes 0, 1, ... in
 * the order of the text; `index` must be less than the number of names. */
const char *fab_policy_node_names_at(const struct fab_node_names *n, size_t index,
                                     uint64_t *ret_guid);
/* Returns true if both objects give the same names to the same nodes. Both may be NULL. */
bool fab_policy_node_names_same(const struct fab_node_names *a, const struct fab_node_names *b);

#endif
