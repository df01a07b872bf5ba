/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which notices a subscription selects (IBA 13.4.8.3). A subscription states the issuer (a
 * GID or a range of LIDs), type, trap number and producer of the notices. Each of these can have
 * the value "any". */
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/registry/subscriptions.h"

#define ANY 0xffff
#define ANY_PRODUCER 0xffffff
#define CLASS_MANAGER 4
#define SUBNET_MANAGEMENT 3 /* value of Notice.Type: subnet management */

/* offset in bytes of the GID in the DataDetails of traps 64-67 (IBA 14.2.5.1) */
enum { AT_GID = 6 };

static bool issuer_matches(const struct fab_inform_info *info, const struct fab_event_notice *n)
{
    if (info->gid[0] != 0 || info->gid[1] != 0)
        return info->gid[0] == n->issuer[0] && info->gid[1] == n->issuer[1];
    if (info->lid_begin == ANY)
        return true;
    uint16_t end = info->lid_end != 0 ? info->lid_end : info->lid_begin;
    return n->is.issuer_lid >= info->lid_begin && n->is.issuer_lid <= end;
}

bool fab_registry_inform_matches(const struct fab_inform_info *info,
                                 const struct fab_event_notice *n)
{
    return (info->generic != 0) == (n->is.generic != 0) &&
           (info->type == ANY || info->type == n->is.type) &&
           (info->trap == ANY || info->trap == n->is.trap) &&
           (info->producer == ANY_PRODUCER || info->producer == n->is.producer_type) &&
           issuer_matches(info, n);
}

struct fab_notice fab_registry_gid_notice(uint16_t trap, const uint64_t gid[2], uint16_t sm_lid)
{
    struct fab_notice n = {.generic = 1,
                           .type = SUBNET_MANAGEMENT,
                           .producer_type = CLASS_MANAGER,
                           .trap = trap,
                           .issuer_lid = sm_lid};
    fab_base_put_be64(n.details + AT_GID, gid[0]);
    fab_base_put_be64(n.details + AT_GID + 8, gid[1]);
    return n;
}
