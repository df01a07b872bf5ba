/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl partition list` and `partition show`.
 */
#include <stdio.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/partition.pb-c.h"

static const struct out_column columns[] = {
    {"name", "NAME", false},      {"pkey", "P_KEY", false}, {"full", "FULL", true},
    {"limited", "LIMITED", true}, {"sl", "SL", true},       {"ipoib", "IPOIB", false},
    {"groups", "GROUPS", true},
};

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__Partition *p = item;
    char pkey[16];
    snprintf(pkey, sizeof pkey, "0x%04x", p->pkey);
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, p->name);
    out_text(o, "pkey", "P_KEY", OUT_PLAIN, pkey);
    out_fields(o, &p->base, "full_members", "FULL", "limited_members", "LIMITED", "service_level",
               "SL", "ipoib", "IPOIB", "multicast_groups", "GROUPS", NULL);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list partitions = {
        .method = "ListPartitions",
        .reply = &fabric__v1__list_partitions_response__descriptor,
        .items = "partitions",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "No partitions are configured.",
    };
    Fabric__V1__ListPartitionsRequest q = FABRIC__V1__LIST_PARTITIONS_REQUEST__INIT;
    return say_list(s, &partitions, &q.base);
}

static const struct out_column member_columns[] = {
    {"port", "PORT", false}, {"guid", "GUID", false},  {"lid", "LID", true},
    {"as", "AS", false},     {"index", "INDEX", true},
};

static void say_member(struct out *o, const void *item)
{
    const Fabric__V1__PartitionMember *m = item;
    bool full = m->membership == FABRIC__V1__MEMBERSHIP__MEMBERSHIP_FULL;
    out_row(o);
    out_port_keys(o, "", m->port);
    out_port(o, "PORT", m->port);
    out_text(o, "guid", "GUID", OUT_PLAIN, m->guid);
    out_number(o, "lid", "LID", m->lid != 0 ? OUT_PLAIN : OUT_WARN, m->lid);
    out_text(o, "membership", "AS", OUT_PLAIN, full ? "full" : "limited");
    out_number(o, "index", "INDEX", OUT_PLAIN, m->index);
    out_row_end(o);
}

static int show(struct session *s)
{
    static const struct list members = {
        .method = "ListPartitionMembers",
        .reply = &fabric__v1__list_partition_members_response__descriptor,
        .items = "members",
        .columns = member_columns,
        .column_count = sizeof member_columns / sizeof member_columns[0],
        .say_row = say_member,
        .none = "No port is a member of this partition.",
    };
    Fabric__V1__ListPartitionMembersRequest q = FABRIC__V1__LIST_PARTITION_MEMBERS_REQUEST__INIT;
    q.partition = s->argv[0];
    return say_list(s, &members, &q.base);
}

const struct cmd cmd_partition_list = {
    .noun = "partition",
    .verb = "list",
    .summary = "all partitions with their numbers of members",
    .method = "fabric.v1.FabricService/ListPartitions",
    .is_list = true,
    .json = "partitions:[ name:text pkey:hex16 @Partition(full_members limited_members "
            "service_level ipoib multicast_groups) ]",
    .run = list,
};
const struct cmd cmd_partition_show = {
    .noun = "partition",
    .verb = "show",
    .args = "PARTITION",
    .summary = "the ports of a partition, by its name or P_Key",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/ListPartitionMembers",
    .is_list = true,
    .json = "members:[ =port guid:guid lid:u16 membership:'full'|'limited' index:u32 ]",
    .run = show,
};
