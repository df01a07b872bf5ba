/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ports may talk to each other: partitions, who is in them, and the multicast groups that
 * they have from the start. Read from the text of OpenSM's partitions.conf, with two additions:
 * ports by patterns of node descriptions, and named groups of ports. A sealed, shared value.
 *
 * Members are rules in the order of the text, for one fabric or the next: libfabmgr/partition
 * applies them.
 */
#ifndef LIBFABMGR_POLICY_PARTITIONS_H
#define LIBFABMGR_POLICY_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"

#define FAB_PARTITIONS_TEXT_MAX (UINT32_C(1) << 20) /* bytes */
#define FAB_PARTITION_MGROUPS_MAX 16384             /* as there are multicast LIDs */
#define FAB_PKEY_DEFAULT 0x7fff                     /* the partition that everybody knows */
#define FAB_PKEY_FULL 0x8000                        /* of a P_Key: full membership, IBA 10.9.1 */
#define FAB_PARTITION_NOTES 32

enum fab_membership { FAB_MEMBER_LIMITED = 1, FAB_MEMBER_FULL = 2, FAB_MEMBER_BOTH = 3 };

enum fab_port_select {
    FAB_SELECT_ALL,      /* every end port: of adapters and routers, and port 0 of switches */
    FAB_SELECT_ADAPTERS, /* ALL_CAS */
    FAB_SELECT_SWITCHES,
    FAB_SELECT_ROUTERS,
    FAB_SELECT_SELF, /* the manager's own port */
    FAB_SELECT_GUID, /* of the port */
    FAB_SELECT_NAME, /* the node description, or its first word, by a pattern of * and ? */
    FAB_SELECT_GROUP,
};
struct fab_port_selector {
    enum fab_port_select kind;
    uint32_t group; /* GROUP: number of it */
    uint64_t guid;  /* GUID */
    const char *name;
};
struct fab_port_group {
    const char *name;
    struct fab_port_selector *member; /* none of these is a GROUP */
    size_t count;
};
struct fab_partition {
    const char *name; /* "" if it has none */
    uint16_t pkey;    /* 1..0x7fff */
    bool ipoib;
    uint8_t rate, mtu, sl; /* as in PortInfo; for IP over InfiniBand, and sl for paths */
    uint32_t line;         /* of its first definition, 0: it is there without one */
};
/* Says who is a member of what. */
struct fab_partition_rule {
    uint32_t partition; /* number of it */
    enum fab_membership membership;
    bool index0; /* this P_Key at index 0 instead of the default one */
    struct fab_port_selector who;
};
/* A multicast group that is there without anyone who joined. */
struct fab_partition_mgroup {
    uint32_t partition;
    uint8_t mgid[16];
    uint8_t rate, mtu, sl, tclass, scope;
    uint32_t q_key, flow_label;
};
struct fab_partitions_note {
    uint32_t line, column; /* from 1 */
    char message[160];
};
struct fab_partitions {
    struct fab_partition *partition; /* in the order of the text; the first is the default one */
    struct fab_partition_rule *rule;
    struct fab_partition_mgroup *mgroup;
    struct fab_port_group *group;
    size_t partitions, rules, mgroups, groups;
    struct fab_partitions_note note[FAB_PARTITION_NOTES]; /* what was passed over */
    size_t notes;                                         /* of them all; the first ones are kept */
    struct fab_arena arena;                               /* of the names */
    uint16_t by_pkey[FAB_PKEY_FULL];                      /* number + 1 */
    int refs;                                             /* private, atomic */
};
struct fab_partitions_error {
    uint32_t line, column; /* from 1 */
    char message[200];     /* what was found, and what was expected */
};
/* FORMAT: ret_error says where and why. LIMIT: longer than FAB_PARTITIONS_TEXT_MAX, or too many
 * partitions (ret_error too). NOMEM. refs == 1. Rules for the default partition stand first: all
 * ports limited, the manager full. */
int fab_policy_partitions_read(const char *text, size_t len, struct fab_partitions **ret,
                               struct fab_partitions_error *ret_error);
/* What stands where nothing is configured: all ports full members of the default partition, which
 * has IP over InfiniBand. NOMEM. */
int fab_policy_partitions_unrestricted(struct fab_partitions **ret);
struct fab_partitions *fab_policy_partitions_ref(struct fab_partitions *p); /* NULL is fine */
void fab_policy_partitions_unref(struct fab_partitions *p);
/* By P_Key (the membership bit does not count); NULL: none. */
const struct fab_partition *fab_policy_partitions_find(const struct fab_partitions *p,
                                                       uint16_t pkey);

#endif
