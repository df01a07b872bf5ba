/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitions, their members, and their preconfigured multicast groups. They are read from OpenSM's
 * partitions.conf, which has two extensions here: patterns of node descriptions as members, and
 * named groups of ports. After partitions are read, they do not change, and are shared by
 * reference.
 *
 * Members are stored as rules, in the order of the text. libfabmgr/partition applies the rules to a
 * fabric.
 */
#ifndef LIBFABMGR_POLICY_PARTITIONS_H
#define LIBFABMGR_POLICY_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"

#define FAB_PARTITIONS_TEXT_MAX (UINT32_C(1) << 20) /* maximum size of partitions.conf in bytes */
/* maximum number of multicast groups: each group needs its own multicast LID */
#define FAB_PARTITION_MGROUPS_MAX 16384
#define FAB_PKEY_DEFAULT 0x7fff /* P_Key of the default partition */
/* the bit of a P_Key that means full membership, IBA 10.9.1 */
#define FAB_PKEY_FULL 0x8000
#define FAB_PARTITION_NOTES 32

enum fab_membership { FAB_MEMBER_LIMITED = 1, FAB_MEMBER_FULL = 2, FAB_MEMBER_BOTH = 3 };

enum fab_port_select {
    /* every port of adapters and routers, and port 0 of switches */
    FAB_SELECT_ALL,
    FAB_SELECT_ADAPTERS, /* all ports of channel adapters (the word ALL_CAS of partitions.conf) */
    FAB_SELECT_SWITCHES,
    FAB_SELECT_ROUTERS,
    FAB_SELECT_SELF, /* the manager's own port */
    FAB_SELECT_GUID, /* the port with a certain port GUID */
    /* all ports of the nodes whose NodeDescription, or its first word, matches a pattern */
    FAB_SELECT_NAME,
    FAB_SELECT_GROUP,
};
struct fab_port_selector {
    enum fab_port_select kind;
    uint32_t group;   /* only for FAB_SELECT_GROUP: index in fab_partitions.group */
    uint64_t guid;    /* only for FAB_SELECT_GUID: the port GUID */
    const char *name; /* only for FAB_SELECT_NAME: the pattern */
};
struct fab_port_group {
    const char *name;
    /* [count] the members of the group; no member is itself a group (FAB_SELECT_GROUP) */
    struct fab_port_selector *member;
    size_t count;
};
struct fab_partition {
    /* name of the partition; "" if it has none */
    const char *name;
    uint16_t pkey; /* P_Key without the bit for full membership, 1..0x7fff */
    bool ipoib;
    /* As encoded in PathRecord. `rate` and `mtu` apply to the multicast groups for IP over
     * InfiniBand; `sl` applies to these groups and to all paths in the partition. */
    uint8_t rate, mtu, sl;
    /* Number of the line that first defines the partition, in partitions.conf or in the YAML
     * document that declares it. 0: the partition is built in. */
    uint32_t line;
};
/* A rule of membership: the ports that the selector `who` selects are members of a partition. */
struct fab_partition_rule {
    uint32_t partition; /* index in fab_partitions.partition */
    enum fab_membership membership;
    /* true: the P_Key of this partition gets index 0 of the port's P_Key table; false: index 0 is
     * for the default partition */
    bool index0;
    struct fab_port_selector who;
};
/* A multicast group that exists even if no port has joined it. */
struct fab_partition_mgroup {
    uint32_t partition;
    uint8_t mgid[16];
    uint8_t rate, mtu, sl, tclass, scope;
    uint32_t q_key, flow_label;
};
struct fab_partitions_note {
    uint32_t line, column; /* position in partitions.conf, from 1 */
    char message[160];
};
struct fab_partitions {
    /* The partitions in the order of the text; the first one is the default partition. */
    struct fab_partition *partition;
    struct fab_partition_rule *rule;
    struct fab_partition_mgroup *mgroup;
    struct fab_port_group *group;
    size_t partitions, rules, mgroups, groups;
    /* notes on parts of partitions.conf that were ignored; only the first FAB_PARTITION_NOTES notes
     * are stored */
    struct fab_partitions_note note[FAB_PARTITION_NOTES];
    /* number of all notes, including those that are not stored in note[] */
    size_t notes;
    struct fab_arena arena; /* memory of the names */
    /* [P_Key] 1 + the index in partition[] of the partition with this P_Key; 0: there is no such
     * partition */
    uint16_t by_pkey[FAB_PKEY_FULL];
    int refs; /* reference count; private, atomic */
};
struct fab_partitions_error {
    uint32_t line, column; /* position in partitions.conf, from 1 */
    char message[200];     /* what the parser found, and what it expected */
};
/* Reads partitions.conf into a new struct with one reference (refs == 1). The first two rules of
 * the struct are those of the default partition: all ports are limited members, and the manager is
 * a full member.
 * Returns FORMAT, LIMIT (the text is longer than FAB_PARTITIONS_TEXT_MAX, or has too many
 * partitions or multicast groups) or NOMEM. After FORMAT and LIMIT, *ret_error has the position and
 * the reason. */
int fab_policy_partitions_read(const char *text, size_t len, struct fab_partitions **ret,
                               struct fab_partitions_error *ret_error);
/* Makes the partitions for a fabric without a partitions.conf: all ports are full members of the
 * default partition, which has a broadcast group for IP over InfiniBand. Returns NOMEM. */
int fab_policy_partitions_unrestricted(struct fab_partitions **ret);
struct fab_partitions *fab_policy_partitions_ref(struct fab_partitions *p); /* p may be NULL */
void fab_policy_partitions_unref(struct fab_partitions *p);
/* Returns the partition with that P_Key, whether or not the bit for full membership is set. Returns
 * NULL if there is none. */
const struct fab_partition *fab_policy_partitions_find(const struct fab_partitions *p,
                                                       uint16_t pkey);

#endif
