/* SPDX-License-Identifier: BSD-3-Clause */
/* The routers to other subnets, from OpenSM's prefix-routes.conf. A line of this file has the
 * prefix of a subnet and the GUID of a router's port, both in hexadecimal. An asterisk in place of
 * the prefix or the GUID means any value. The first matching line applies. # begins a comment. */
#ifndef LIBFABMGR_POLICY_ROUTERS_H
#define LIBFABMGR_POLICY_ROUTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAB_ROUTERS_TEXT_MAX ((size_t)1 << 20) /* maximum size of the file in bytes */

struct fab_prefix_route {
    /* prefix 0: the route is for every prefix. port_guid 0: any router port is possible */
    uint64_t prefix, port_guid;
};
struct fab_routers {
    struct fab_prefix_route *route;
    size_t count;
    int refs; /* reference count; private, atomic */
};
struct fab_routers_error {
    unsigned line; /* number of the line, from 1 */
    char message[80];
};
/* Reads the text of the file into a new struct with one reference (refs == 1). Returns FORMAT
 * (*ret_error has the line and the reason), LIMIT (the text is longer than FAB_ROUTERS_TEXT_MAX)
 * or NOMEM. */
int fab_policy_routers_read(const char *text, size_t len, struct fab_routers **ret,
                            struct fab_routers_error *ret_error);
struct fab_routers *fab_policy_routers_ref(struct fab_routers *r); /* r may be NULL */
void fab_policy_routers_unref(struct fab_routers *r);
/* Returns the route for a prefix; NULL: no route matches, or r is NULL. */
const struct fab_prefix_route *fab_policy_routers_find(const struct fab_routers *r,
                                                       uint64_t prefix);

#endif
