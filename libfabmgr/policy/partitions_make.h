/* SPDX-License-Identifier: BSD-3-Clause */
/* Building partitions piece by piece. Private to the room. */
#ifndef LIBFABMGR_POLICY_PARTITIONS_MAKE_H
#define LIBFABMGR_POLICY_PARTITIONS_MAKE_H

#include "libfabmgr/policy/partitions.h"

/* What IP over InfiniBand uses where nobody says otherwise: 10 Gb/s, 2048 bytes, the link's scope,
 * as in OpenSM; the Q_Key is that of RFC 4391. */
#define IPOIB_RATE 3
#define IPOIB_MTU 4
#define IPOIB_SCOPE 2
#define IPOIB_Q_KEY 0xb1b

/* The default partition and its rules, and nothing else. All of these: NOMEM. */
int fab_policy_partitions_new(enum fab_membership all, struct fab_partitions **ret);
int fab_policy_partitions_add(struct fab_partitions *p, const struct fab_partition *partition);
int fab_policy_partitions_add_rule(struct fab_partitions *p, const struct fab_partition_rule *rule);
/* Nothing happens when the MGID is there. LIMIT: too many. */
int fab_policy_partitions_add_mgroup(struct fab_partitions *p,
                                     const struct fab_partition_mgroup *mgroup);
/* The broadcast group of a partition: all but the MGID is as given. */
int fab_policy_partitions_add_broadcast(struct fab_partitions *p,
                                        const struct fab_partition_mgroup *like);
int fab_policy_partitions_add_group(struct fab_partitions *p, const struct fab_port_group *group);
int fab_policy_partitions_add_member(struct fab_port_group *group,
                                     const struct fab_port_selector *who);

#endif
