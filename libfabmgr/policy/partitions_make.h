/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that build the partitions (partitions.h) while a text is read. For this folder only. */
#ifndef LIBFABMGR_POLICY_PARTITIONS_MAKE_H
#define LIBFABMGR_POLICY_PARTITIONS_MAKE_H

#include "libfabmgr/policy/partitions.h"

/* Defaults of IP over InfiniBand, as in OpenSM: rate 10 Gb/s, MTU 2048, link-local scope, and the
 * Q_Key of RFC 4391. */
#define IPOIB_RATE 3
#define IPOIB_MTU 4
#define IPOIB_SCOPE 2
#define IPOIB_Q_KEY 0xb1b

/* Makes a set that has only the default partition, in which all ports have the membership `all`,
 * and the manager is a full member. All functions of this header can return NOMEM. */
int fab_policy_partitions_new(enum fab_membership all, struct fab_partitions **ret);
int fab_policy_partitions_add(struct fab_partitions *p, const struct fab_partition *partition);
int fab_policy_partitions_add_rule(struct fab_partitions *p, const struct fab_partition_rule *rule);
/* Adds the multicast group unless a group with its MGID exists. Returns LIMIT if there are too
 * many groups. */
int fab_policy_partitions_add_mgroup(struct fab_partitions *p,
                                     const struct fab_partition_mgroup *mgroup);
/* Adds the broadcast group of a partition, which IP over InfiniBand needs. The group gets all
 * properties of the group `like` except its MGID. Returns the errors of
 * fab_policy_partitions_add_mgroup. */
int fab_policy_partitions_add_broadcast(struct fab_partitions *p,
                                        const struct fab_partition_mgroup *like);
int fab_policy_partitions_add_group(struct fab_partitions *p, const struct fab_port_group *group);
int fab_policy_partitions_add_member(struct fab_port_group *group,
                                     const struct fab_port_selector *who);

/* The words that select members, as in OpenSM's partitions.conf. */
struct fab_member_word {
    const char *word;
    enum fab_port_select kind;
};
#define FAB_MEMBER_WORDS 5
extern const struct fab_member_word fab_policy_member_words[FAB_MEMBER_WORDS];

#endif
