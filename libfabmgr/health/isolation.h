/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cables between switches may be left out of the routes, of those that somebody would rather
 * do without (they flap, they are sick, an operator says so): none without which a part of the
 * fabric cannot be reached, and of no switch more than a share of its cables in one direction, so
 * that a leaf keeps enough of its uplinks. Each answer says why.
 */
#ifndef LIBFABMGR_HEALTH_ISOLATION_H
#define LIBFABMGR_HEALTH_ISOLATION_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"

enum fab_isolation_verdict {
    FAB_ISOLATION_ALLOWED, /* it may go */
    FAB_ISOLATION_HOST,    /* one of its ends is no switch, which it would cut off */
    FAB_ISOLATION_LIMIT,   /* too many of one switch would go */
    FAB_ISOLATION_NEEDED,  /* a part of the fabric would be cut off */
};
struct fab_isolation_link {
    uint32_t port;    /* one end, up and with a peer; or FAB_NONE: it is out, and down just now */
    uint32_t node[2]; /* with FAB_NONE: the switches at its ends, or FAB_NONE */
};
struct fab_isolation {
    enum fab_isolation_verdict verdict;
    uint32_t node;        /* HOST: it; SHARE: the switch; else FAB_NONE */
    uint32_t cables, out; /* SHARE: of the switch in that direction; so many of them are out */
};

/* cable[count], those first that are to be left out rather than others. A cable that is out and
 * down counts as one that is lost to its switches. share: percent. NOMEM. */
int fab_health_isolation_choose(const struct fab_fabric *f, uint32_t share,
                                const struct fab_isolation_link *cable, size_t count,
                                struct fab_isolation *ret);
/* What a part of the fabric that is cut off without these cables (ports, each once) consists of:
 * all that is not reached from self_port. ret_first: the lowest id of it, or FAB_NONE. NOMEM, INVAL
 * (no self_port). */
int fab_health_isolation_cut_off(const struct fab_fabric *f, const uint32_t *port, size_t count,
                                 uint32_t *ret_switches, uint32_t *ret_others, uint32_t *ret_first);

#endif
