/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl multicast list` and `multicast show`.
 */
#include <stdio.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/multicast.pb-c.h"

static const struct out_column columns[] = {
    {"mgid", "MGID", false},      {"mlid", "MLID", false}, {"pkey", "P_KEY", false},
    {"members", "MEMBERS", true}, {"lost", "LOST", true},  {"mtu", "MTU", true},
    {"rate", "GBPS", true},       {"sl", "SL", true},      {"configured", "FIXED", false},
};

static void say_row(struct out *o, const void *item)
{
    const Fabric__V1__MulticastGroup *g = item;
    char mlid[16], pkey[16], rate[32];
    snprintf(mlid, sizeof mlid, "0x%04x", g->mlid);
    snprintf(pkey, sizeof pkey, "0x%04x", g->pkey);
    snprintf(rate, sizeof rate, "%g", (double)g->rate_mbps / 1000);
    out_row(o);
    out_text(o, "mgid", "MGID", OUT_PLAIN, g->mgid);
    out_text(o, "mlid", "MLID", OUT_PLAIN, mlid);
    out_text(o, "pkey", "P_KEY", OUT_PLAIN, pkey);
    out_number(o, "members", "MEMBERS", OUT_PLAIN, g->members);
    out_number(o, "unreached", "LOST", g->unreached ? OUT_WARN : OUT_PLAIN, g->unreached);
    out_fields(o, &g->base, "mtu", "MTU", "rate_mbps", NULL, NULL);
    out_text(o, NULL, "GBPS", OUT_PLAIN, rate);
    out_fields(o, &g->base, "service_level", "SL", "configured", "FIXED", NULL);
    out_row_end(o);
}

static int list(struct session *s)
{
    static const struct list groups = {
        .method = "ListMulticastGroups",
        .reply = &fabric__v1__list_multicast_groups_response__descriptor,
        .items = "groups",
        .columns = columns,
        .column_count = sizeof columns / sizeof columns[0],
        .say_row = say_row,
        .none = "There are no multicast groups.",
    };
    Fabric__V1__ListMulticastGroupsRequest q = FABRIC__V1__LIST_MULTICAST_GROUPS_REQUEST__INIT;
    return say_list(s, &groups, &q.base);
}

static const struct out_column member_columns[] = {
    {"port", "PORT", false}, {"guid", "GUID", false},   {"lid", "LID", true},
    {"as", "AS", false},     {"proxy", "PROXY", false}, {"reached", "REACHED", false},
};

static const char *join_text(const Fabric__V1__MulticastMember *m)
{
    return m->full && m->send_only ? "full send-only"
           : m->full               ? "full"
           : m->non_member         ? "non-member"
                                   : "send-only";
}

static void say_member(struct out *o, const void *item)
{
    const Fabric__V1__MulticastMember *m = item;
    char port[SHOW_LEN] = "-";
    if (m->port != NULL)
        show_port(m->port, port);
    out_row(o);
    if (m->port != NULL)
        out_port_keys(o, "", m->port);
    out_text(o, NULL, "PORT", OUT_PLAIN, port);
    out_text(o, "guid", "GUID", OUT_PLAIN, m->guid);
    out_number(o, "lid", "LID", m->lid != 0 ? OUT_PLAIN : OUT_WARN, m->lid);
    out_text(o, "join", "AS", OUT_PLAIN, join_text(m));
    out_bool(o, "proxy", "PROXY", OUT_PLAIN, m->proxy);
    out_bool(o, "reached", "REACHED", m->reached ? OUT_PLAIN : OUT_WARN, m->reached);
    out_row_end(o);
}

static int show(struct session *s)
{
    static const struct list members = {
        .method = "ListMulticastMembers",
        .reply = &fabric__v1__list_multicast_members_response__descriptor,
        .items = "members",
        .columns = member_columns,
        .column_count = sizeof member_columns / sizeof member_columns[0],
        .say_row = say_member,
        .none = "The group has no members.",
    };
    Fabric__V1__ListMulticastMembersRequest q = FABRIC__V1__LIST_MULTICAST_MEMBERS_REQUEST__INIT;
    q.group = s->argv[0];
    return say_list(s, &members, &q.base);
}

const struct cmd cmd_multicast_list = {
    .noun = "multicast",
    .verb = "list",
    .summary = "all multicast groups with their numbers of members",
    .method = "fabric.v1.FabricService/ListMulticastGroups",
    .is_list = true,
    .json = "groups:[ mgid:text mlid:hex16 pkey:hex16 members:u32 unreached:u32 "
            "@MulticastGroup(mtu rate_mbps service_level configured) ]",
    .run = list,
};
const struct cmd cmd_multicast_show = {
    .noun = "multicast",
    .verb = "show",
    .args = "GROUP",
    .summary = "the members of a group, by its MGID or MLID",
    .min_args = 1,
    .max_args = 1,
    .method = "fabric.v1.FabricService/ListMulticastMembers",
    .is_list = true,
    .json = "members:[ node?:text node_guid?:guid port?:u8 guid:guid lid:u16 join:'full "
            "send-only'|'full'|'non-member'|'send-only' proxy:bool reached:bool ]",
    .run = show,
};
