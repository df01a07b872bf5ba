/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the pins of a fabric (libfabmgr/policy/pins.h). */
#ifndef LIBFABMGR_TARGET_PINS_H
#define LIBFABMGR_TARGET_PINS_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"

/* Time in us after the first GUID is pinned to a host name. Other adapters of this host may not
 * have been discovered yet, so further GUIDs that arrive within this time and show the same name
 * are pinned to it, too. */
#define FAB_PINS_TOGETHER_US UINT64_C(120000000)

/* The times at which the manager first found each host. If all bytes are zero, no host was found
 * yet. */
struct fab_pins_arrivals {
    /* maps the node GUID of a host to the time at which the manager first found it, in seconds of
     * the manager's clock, or to FAB_PINS_EARLIER */
    struct fab_map seconds;
    /* true: the nodes of the first fabric were recorded */
    bool began;
};
/* value in `seconds` for hosts that were in the fabric before the manager first read it */
#define FAB_PINS_EARLIER UINT32_MAX

struct fab_pins_input {
    const struct fab_fabric *fabric;
    /* fab_target_pins_update uses only the patterns of the policy's partitions and traffic classes,
     * not its member `pins`. */
    const struct fab_policy *policy;
    const struct fab_pins *was;
    /* fab_target_pins_update reads these arrivals, and adds the hosts that are new */
    struct fab_pins_arrivals *arrivals;
    /* time of the manager's clock in us; not 0 */
    uint64_t now_us;
    int64_t unix_us;
};
/* Keeps all present pins. Makes pins for those adapters and routers that have no pin and whose
 * description matches a pattern. If no GUID is pinned to a host name yet, pins all nodes of this
 * fabric that show this name to it. A pattern that consists only of stars matches every name, and
 * counts as no pattern. Also finds the nodes that wait until an operator approves their pin. There
 * are four such cases: the description matches a pattern that the pin of the node does not match;
 * the host name is pinned to another GUID, and FAB_PINS_TOGETHER_US does not apply; the policy
 * demands an approval for every pin; FAB_PINS_MAX pins exist already. Returns NOMEM. */
int fab_target_pins_update(const struct fab_pins_input *in, struct fab_pins **ret);
/* Returns true if both sets have the same pins and the same waiting nodes, and both or neither
 * demand an approval for every pin. Times are not compared. */
bool fab_target_pins_same(const struct fab_pins *a, const struct fab_pins *b);
/* Returns true if a pattern of the policy selects nodes by name. A pattern that consists only of
 * stars does not count. */
bool fab_target_pins_wanted(const struct fab_policy *p);
void fab_target_pins_arrivals_fini(struct fab_pins_arrivals *a);

#endif
