/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the pins of a fabric (libfabmgr/policy/pins.h). */
#ifndef LIBFABMGR_TARGET_PINS_H
#define LIBFABMGR_TARGET_PINS_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"

/* In microseconds. The adapters of a host become visible one after the other. For this long after
 * the first pin of a host name, a GUID that appears for the first time may share the host name. */
#define FAB_PINS_TOGETHER_US UINT64_C(120000000)

/* When the manager first found each host. All zero: no host was found yet. */
struct fab_pins_arrivals {
    /* node GUID -> time in seconds of the manager's clock, or FAB_PINS_EARLIER */
    struct fab_map seconds;
    bool began; /* the nodes of the first fabric were recorded */
};
#define FAB_PINS_EARLIER UINT32_MAX /* found before the manager could tell the time of arrival */

struct fab_pins_input {
    const struct fab_fabric *fabric;
    /* its partitions and classes have the patterns; its member `pins` is ignored */
    const struct fab_policy *policy;
    const struct fab_pins *was;
    struct fab_pins_arrivals *arrivals; /* input and output; the function adds new hosts */
    uint64_t now_us;                    /* time of the manager's clock in us; not 0 */
    int64_t unix_us;
};
/* Makes pins for all hosts and routers whose description matches a pattern for the first time. Also
 * finds the nodes that must wait for an approval, because their pin has another name, or because
 * another GUID holds the host name. If several hosts in the same fabric show a host name that
 * nobody holds, all are pinned to it. A pattern that consists only of stars matches every name, and
 * counts as no pattern. Returns NOMEM. */
int fab_target_pins_update(const struct fab_pins_input *in, struct fab_pins **ret);
/* Returns true if both sets have the same pins and the same waiting nodes, apart from times. */
bool fab_target_pins_same(const struct fab_pins *a, const struct fab_pins *b);
/* Returns true if a pattern of the policy selects nodes by name. A pattern that consists only of
 * stars does not count. */
bool fab_target_pins_wanted(const struct fab_policy *p);
void fab_target_pins_arrivals_fini(struct fab_pins_arrivals *a);

#endif
