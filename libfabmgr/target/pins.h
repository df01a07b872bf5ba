/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the pins of a fabric (libfabmgr/policy/pins.h). */
#ifndef LIBFABMGR_TARGET_PINS_H
#define LIBFABMGR_TARGET_PINS_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"

/* The adapters of a host become visible one after the other. A GUID that appears for the first time
 * may share a host name for this long after its first pin. */
#define FAB_PINS_TOGETHER_US UINT64_C(120000000)

/* When the manager first found each host; all zero: none yet. */
struct fab_pins_arrivals {
    struct fab_map seconds; /* node GUID to seconds of the manager's clock, or FAB_PINS_EARLIER */
    bool began;             /* the nodes of the first fabric are noted */
};
#define FAB_PINS_EARLIER UINT32_MAX /* before the manager could tell */

struct fab_pins_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy; /* its partitions and classes have the patterns, and its pins
                                        are ignored */
    const struct fab_pins *was;
    struct fab_pins_arrivals *arrivals; /* updated */
    uint64_t now_us;                    /* the manager's clock, not 0 */
    int64_t unix_us;
};
/* Makes pins for all hosts and routers whose description matches a pattern for the first time, and
 * finds those that wait for an approval: its pin has another name, or another GUID holds the host
 * name. Hosts that show a host name that nobody holds in the same fabric are all pinned to it.
 * Patterns of stars only match everything, and count as no pattern. Returns NOMEM. */
int fab_target_pins_update(const struct fab_pins_input *in, struct fab_pins **ret);
/* True if the pins of both, and the nodes that wait, are the same but for times. */
bool fab_target_pins_same(const struct fab_pins *a, const struct fab_pins *b);
/* True if a pattern of the policy other than stars selects nodes by name. */
bool fab_target_pins_wanted(const struct fab_policy *p);
void fab_target_pins_arrivals_fini(struct fab_pins_arrivals *a);

#endif
