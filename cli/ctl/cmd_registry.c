/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl service list` and `subscription list`.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ctl/list.h"
#include "cli/ctl/show.h"
#include "fabric/v1/registration.pb-c.h"

#define ANY 0xffff

static void say_port(struct out *o, const Fabric__V1__PortRef *ref)
{
    if (ref == NULL) {
        out_text(o, NULL, "PORT", OUT_WARN, "-");
        return;
    }
    out_port_keys(o, "", ref);
    out_port(o, "PORT", ref);
}

static const struct out_column service_columns[] = {
    {"id", "ID", false},      {"name", "NAME", false}, {"port", "PORT", false},
    {"pkey", "P_KEY", false}, {"gid", "GID", false},   {"ends", "ENDS", false},
};

static void say_service(struct out *o, const void *item)
{
    const Fabric__V1__Service *x = item;
    char pkey[16], ends[SHOW_LEN] = "never";
    snprintf(pkey, sizeof pkey, "0x%04x", x->pkey);
    if (x->lease_end != NULL)
        show_time(x->lease_end, ends);
    out_row(o);
    out_fields(o, &x->base, "id", "ID", "name", "NAME", NULL);
    say_port(o, x->port);
    out_text(o, "pkey", "P_KEY", OUT_PLAIN, pkey);
    out_fields(o, &x->base, "gid", "GID", "owner", NULL, NULL);
    out_text(o, "ends", "ENDS", OUT_PLAIN, ends);
    out_row_end(o);
}

static int list_services(struct session *s)
{
    static const struct list services = {
        .method = "ListServices",
        .reply = &fabric__v1__list_services_response__descriptor,
        .items = "services",
        .columns = service_columns,
        .column_count = sizeof service_columns / sizeof service_columns[0],
        .say_row = say_service,
        .none = "No host has registered a service.",
    };
    Fabric__V1__ListServicesRequest q = FABRIC__V1__LIST_SERVICES_REQUEST__INIT;
    return say_list(s, &services, &q.base);
}

static const struct out_column subscription_columns[] = {
    {"port", "PORT", false},
    {"number", "NUMBER", true},
    {"trap", "NOTICE", false},
    {"issuer", "ISSUER", false},
    {"queue_pair", "QP", true},
    {"trusted", "TRUSTED", false},
    {"unanswered", "UNANSWERED", true},
};

static void say_subscription(struct out *o, const void *item)
{
    const Fabric__V1__Subscription *x = item;
    char trap[16] = "all", issuer[64] = "all";
    if (x->trap != ANY)
        snprintf(trap, sizeof trap, "%u", x->trap);
    if (x->issuer_gid[0] != '\0')
        snprintf(issuer, sizeof issuer, "%s", x->issuer_gid);
    else if (x->first_lid != ANY)
        snprintf(issuer, sizeof issuer, "LID %u-%u", x->first_lid, x->last_lid);
    out_row(o);
    out_text(o, "subscriber", NULL, OUT_PLAIN, x->subscriber);
    say_port(o, x->port);
    out_number(o, "number", "NUMBER", OUT_PLAIN, x->number);
    out_text(o, "notice", "NOTICE", OUT_PLAIN, trap);
    out_bool(o, "vendor", NULL, OUT_PLAIN, x->vendor);
    out_text(o, "issuer", "ISSUER", OUT_PLAIN, issuer);
    out_fields(o, &x->base, "queue_pair", "QP", "trusted", "TRUSTED", NULL);
    out_number(o, "unanswered", "UNANSWERED", x->unanswered > 0 ? OUT_WARN : OUT_PLAIN,
               x->unanswered);
    out_row_end(o);
}

static int list_subscriptions(struct session *s)
{
    static const struct list subscriptions = {
        .method = "ListSubscriptions",
        .reply = &fabric__v1__list_subscriptions_response__descriptor,
        .items = "subscriptions",
        .columns = subscription_columns,
        .column_count = sizeof subscription_columns / sizeof subscription_columns[0],
        .say_row = say_subscription,
        .none = "No host has subscribed to notices.",
    };
    Fabric__V1__ListSubscriptionsRequest q = FABRIC__V1__LIST_SUBSCRIPTIONS_REQUEST__INIT;
    return say_list(s, &subscriptions, &q.base);
}

const struct cmd cmd_service_list = {
    .noun = "service",
    .verb = "list",
    .summary = "services that hosts registered",
    .method = "fabric.v1.FabricService/ListServices",
    .is_list = true,
    .json = "services:[ @Service(id name) node&:text node_guid&:guid port&:u8 pkey:hex16 "
            "@Service(gid owner) ends:text ]",
    .run = list_services,
};
const struct cmd cmd_subscription_list = {
    .noun = "subscription",
    .verb = "list",
    .summary = "subscriptions of hosts to notices (InformInfo)",
    .method = "fabric.v1.FabricService/ListSubscriptions",
    .is_list = true,
    .json = "subscriptions:[ subscriber:text node&:text node_guid&:guid port&:u8 number:u32 "
            "notice:text vendor:bool issuer:text @Subscription(queue_pair trusted) "
            "unanswered:u32 ]",
    .run = list_subscriptions,
};
