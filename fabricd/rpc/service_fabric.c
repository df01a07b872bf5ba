/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of methods of FabricService, and functions that several of these methods use.
 */
#include "fabricd/rpc/server.h"

#include <stdio.h>

#include "fabric/v1/fabric_service.pb-c.h"
#include "fabricd/rpc/gone.h"
#include "fabricd/rpc/request.h"
#include "libfabmgr/base/status.h"

static const struct method methods[] = {
    {.name = "GetStatus",
     .request = &fabric__v1__get_status_request__descriptor,
     .handle = get_status},
    {.name = "GetVersion",
     .request = &fabric__v1__get_version_request__descriptor,
     .handle = get_version},
    {.name = "GetManagers",
     .request = &fabric__v1__get_managers_request__descriptor,
     .handle = get_managers},
    {.name = "HandOver",
     .request = &fabric__v1__hand_over_request__descriptor,
     .handle = hand_over,
     .changes = true},
    {.name = "SetManagerPriority",
     .request = &fabric__v1__set_manager_priority_request__descriptor,
     .handle = set_manager_priority,
     .changes = true},
    {.name = "GetManagerMode",
     .request = &fabric__v1__get_manager_mode_request__descriptor,
     .handle = get_manager_mode},
    {.name = "FreezeManager",
     .request = &fabric__v1__freeze_manager_request__descriptor,
     .handle = freeze_manager,
     .changes = true},
    {.name = "ResumeManager",
     .request = &fabric__v1__resume_manager_request__descriptor,
     .handle = resume_manager,
     .changes = true},
    {.name = "WhoAmI", .request = &fabric__v1__who_am_irequest__descriptor, .handle = who_am_i},
    {.name = "ListNodes",
     .request = &fabric__v1__list_nodes_request__descriptor,
     .handle = list_nodes},
    {.name = "GetNode", .request = &fabric__v1__get_node_request__descriptor, .handle = get_node},
    {.name = "ListHosts",
     .request = &fabric__v1__list_hosts_request__descriptor,
     .handle = list_hosts},
    {.name = "GetHost", .request = &fabric__v1__get_host_request__descriptor, .handle = get_host},
    {.name = "ListRacks",
     .request = &fabric__v1__list_racks_request__descriptor,
     .handle = list_racks},
    {.name = "ListNodeInventory",
     .request = &fabric__v1__list_node_inventory_request__descriptor,
     .handle = list_node_inventory},
    {.name = "ListCableInventory",
     .request = &fabric__v1__list_cable_inventory_request__descriptor,
     .handle = list_cable_inventory},
    {.name = "ListGoneNodes",
     .request = &fabric__v1__list_gone_nodes_request__descriptor,
     .handle = list_gone_nodes},
    {.name = "ListGoneLinks",
     .request = &fabric__v1__list_gone_links_request__descriptor,
     .handle = list_gone_links},
    {.name = "ForgetNodes",
     .request = &fabric__v1__forget_nodes_request__descriptor,
     .handle = forget_nodes,
     .changes = true,
     .decides = true},
    {.name = "ListSnapshots",
     .request = &fabric__v1__list_snapshots_request__descriptor,
     .handle = list_snapshots},
    {.name = "CompareTopologies",
     .request = &fabric__v1__compare_topologies_request__descriptor,
     .handle = compare_topologies},
    {.name = "MakeSnapshot",
     .request = &fabric__v1__make_snapshot_request__descriptor,
     .handle = make_snapshot,
     .changes = true},
    {.name = "DeleteSnapshot",
     .request = &fabric__v1__delete_snapshot_request__descriptor,
     .handle = delete_snapshot,
     .changes = true},
    {.name = "ListNodePins",
     .request = &fabric__v1__list_node_pins_request__descriptor,
     .handle = list_node_pins},
    {.name = "ListBaseline",
     .request = &fabric__v1__list_baseline_request__descriptor,
     .handle = list_baseline},
    {.name = "PlanPolicy",
     .request = &fabric__v1__plan_policy_request__descriptor,
     .handle = plan_policy,
     .large = true},
    {.name = "ApplyPolicy",
     .request = &fabric__v1__apply_policy_request__descriptor,
     .handle = apply_policy,
     .changes = true,
     .decides = true,
     .large = true},
    {.name = "GetPolicy",
     .request = &fabric__v1__get_policy_request__descriptor,
     .handle = get_policy},
    {.name = "ListPolicies",
     .request = &fabric__v1__list_policies_request__descriptor,
     .handle = list_policies},
    {.name = "ComparePolicies",
     .request = &fabric__v1__compare_policies_request__descriptor,
     .handle = compare_policies},
    {.name = "ListPorts",
     .request = &fabric__v1__list_ports_request__descriptor,
     .handle = list_ports},
    {.name = "GetPort", .request = &fabric__v1__get_port_request__descriptor, .handle = get_port},
    {.name = "ListLinks",
     .request = &fabric__v1__list_links_request__descriptor,
     .handle = list_links},
    {.name = "ListClasses",
     .request = &fabric__v1__list_classes_request__descriptor,
     .handle = list_classes},
    {.name = "ListClassRules",
     .request = &fabric__v1__list_class_rules_request__descriptor,
     .handle = list_class_rules},
    {.name = "ListPartitions",
     .request = &fabric__v1__list_partitions_request__descriptor,
     .handle = list_partitions},
    {.name = "ListPartitionMembers",
     .request = &fabric__v1__list_partition_members_request__descriptor,
     .handle = list_partition_members},
    {.name = "ListServices",
     .request = &fabric__v1__list_services_request__descriptor,
     .handle = list_host_services},
    {.name = "ListSubscriptions",
     .request = &fabric__v1__list_subscriptions_request__descriptor,
     .handle = list_subscriptions},
    {.name = "ListMulticastGroups",
     .request = &fabric__v1__list_multicast_groups_request__descriptor,
     .handle = list_multicast_groups},
    {.name = "ListMulticastMembers",
     .request = &fabric__v1__list_multicast_members_request__descriptor,
     .handle = list_multicast_members},
    {.name = "ListFlappingLinks",
     .request = &fabric__v1__list_flapping_links_request__descriptor,
     .handle = list_flapping_links},
    {.name = "ListUnhealthyLinks",
     .request = &fabric__v1__list_unhealthy_links_request__descriptor,
     .handle = list_unhealthy_links},
    {.name = "ListPortCounters",
     .request = &fabric__v1__list_port_counters_request__descriptor,
     .handle = list_port_counters},
    {.name = "ListTopPorts",
     .request = &fabric__v1__list_top_ports_request__descriptor,
     .handle = list_top_ports},
    {.name = "GetPortHistory",
     .request = &fabric__v1__get_port_history_request__descriptor,
     .handle = get_port_history},
    {.name = "GetCongestion",
     .request = &fabric__v1__get_congestion_request__descriptor,
     .handle = get_congestion},
    {.name = "GetPortCongestion",
     .request = &fabric__v1__get_port_congestion_request__descriptor,
     .handle = get_port_congestion},
    {.name = "ListCongestedPorts",
     .request = &fabric__v1__list_congested_ports_request__descriptor,
     .handle = list_congested_ports},
    {.name = "ListCongestionLogs",
     .request = &fabric__v1__list_congestion_logs_request__descriptor,
     .handle = list_congestion_logs},
    {.name = "GetRoce", .request = &fabric__v1__get_roce_request__descriptor, .handle = get_roce},
    {.name = "TracePath",
     .request = &fabric__v1__trace_path_request__descriptor,
     .handle = trace_path},
    {.name = "GetForwardingTable",
     .request = &fabric__v1__get_forwarding_table_request__descriptor,
     .handle = get_forwarding_table},
    {.name = "GetVerdict",
     .request = &fabric__v1__get_verdict_request__descriptor,
     .handle = get_verdict},
    {.name = "GetRoutingChoice",
     .request = &fabric__v1__get_routing_choice_request__descriptor,
     .handle = get_routing_choice},
    {.name = "GetQuality",
     .request = &fabric__v1__get_quality_request__descriptor,
     .handle = get_quality},
    {.name = "CompareEngines",
     .request = &fabric__v1__compare_engines_request__descriptor,
     .handle = compare_engines},
    {.name = "GetAffectedJobs",
     .request = &fabric__v1__get_affected_jobs_request__descriptor,
     .handle = get_affected_jobs},
    {.name = "WhatIf", .request = &fabric__v1__what_if_request__descriptor, .handle = what_if},
    {.name = "ListContingencies",
     .request = &fabric__v1__list_contingencies_request__descriptor,
     .handle = list_contingencies},
    {.name = "GetContingency",
     .request = &fabric__v1__get_contingency_request__descriptor,
     .handle = get_contingency},
    {.name = "Export", .request = &fabric__v1__export_request__descriptor, .handle = export_file},
    {.name = "ListEvents",
     .request = &fabric__v1__list_events_request__descriptor,
     .handle = list_events},
    {.name = "WatchEvents",
     .request = &fabric__v1__watch_events_request__descriptor,
     .handle = watch_events},
    {.name = "Sweep",
     .request = &fabric__v1__sweep_request__descriptor,
     .handle = sweep,
     .changes = true},
    {.name = "Reroute",
     .request = &fabric__v1__reroute_request__descriptor,
     .handle = reroute,
     .changes = true},
    {.name = "Rebalance",
     .request = &fabric__v1__rebalance_request__descriptor,
     .handle = rebalance,
     .changes = true},
    {.name = "ListReroutes",
     .request = &fabric__v1__list_reroutes_request__descriptor,
     .handle = list_reroutes},
    {.name = "GetReroute",
     .request = &fabric__v1__get_reroute_request__descriptor,
     .handle = get_reroute},
    {.name = "ApproveNode",
     .request = &fabric__v1__approve_node_request__descriptor,
     .handle = approve_node,
     .changes = true,
     .decides = true},
    {.name = "ForgetNodePin",
     .request = &fabric__v1__forget_node_pin_request__descriptor,
     .handle = forget_node_pin,
     .changes = true,
     .decides = true},
    {.name = "ApproveBaseline",
     .request = &fabric__v1__approve_baseline_request__descriptor,
     .handle = approve_baseline,
     .changes = true,
     .decides = true},
    {.name = "DisapproveBaseline",
     .request = &fabric__v1__disapprove_baseline_request__descriptor,
     .handle = disapprove_baseline,
     .changes = true,
     .decides = true},
    {.name = "DisablePort",
     .request = &fabric__v1__disable_port_request__descriptor,
     .handle = disable_port,
     .changes = true,
     .decides = true},
    {.name = "EnablePort",
     .request = &fabric__v1__enable_port_request__descriptor,
     .handle = enable_port,
     .changes = true,
     .decides = true},
    {.name = "IsolateLink",
     .request = &fabric__v1__isolate_link_request__descriptor,
     .handle = isolate_link,
     .changes = true,
     .decides = true},
    {.name = "ReleaseLink",
     .request = &fabric__v1__release_link_request__descriptor,
     .handle = release_link,
     .changes = true,
     .decides = true},
    {.name = "ListDrains",
     .request = &fabric__v1__list_drains_request__descriptor,
     .handle = list_drains},
    {.name = "GetDrainPreview",
     .request = &fabric__v1__get_drain_preview_request__descriptor,
     .handle = get_drain_preview},
    {.name = "GetDrainPlan",
     .request = &fabric__v1__get_drain_plan_request__descriptor,
     .handle = get_drain_plan},
    {.name = "StartDrain",
     .request = &fabric__v1__start_drain_request__descriptor,
     .handle = start_drain,
     .changes = true,
     .decides = true},
    {.name = "EndDrain",
     .request = &fabric__v1__end_drain_request__descriptor,
     .handle = end_drain,
     .changes = true,
     .decides = true},
    {.name = "GetKey", .request = &fabric__v1__get_key_request__descriptor, .handle = get_key},
    {.name = "RotateKey",
     .request = &fabric__v1__rotate_key_request__descriptor,
     .handle = rotate_key,
     .changes = true,
     .decides = true},
    {.name = "ListAudit",
     .request = &fabric__v1__list_audit_request__descriptor,
     .handle = list_audit},
    {.name = "VerifyAudit",
     .request = &fabric__v1__verify_audit_request__descriptor,
     .handle = verify_audit},
    {.name = "Backup",
     .request = &fabric__v1__backup_request__descriptor,
     .handle = make_backup,
     .changes = true},
    {.name = "GetDiagnostics",
     .request = &fabric__v1__get_diagnostics_request__descriptor,
     .handle = get_diagnostics},
};

const struct service service_fabric = {
    "fabric.v1.FabricService",
    methods,
    sizeof methods / sizeof methods[0],
};

struct fab_view *need_view(struct call *c)
{
    struct fab_view *v = sm_view_to_show(call_rpc(c)->in.sm);
    /* The subnet manager keeps its own reference until the method returns, so the reference from
     * sm_view_to_show is not needed. */
    fab_view_unref(v);
    if (v != NULL)
        return v;
    struct sm_status s;
    sm_get_status(call_rpc(c)->in.sm, &s);
    if (s.role == FAB_SM_STANDBY)
        request_refuse(c, FAB_E_UNREACHABLE, "this manager has no view of the fabric");
    else if (s.alarm[0] != '\0')
        call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "no forwarding tables yet: %s", s.alarm);
    else
        call_finish(
            c, FAB_GRPC_FAILED_PRECONDITION,
            "no view of the fabric has been published yet (the manager is %s); try again when "
            "its first sweep is done",
            s.state);
    return NULL;
}

struct fab_view *need_target(struct call *c)
{
    struct fab_view *v = need_view(c);
    struct sm_status s;
    if (v == NULL || v->target != NULL)
        return v;
    sm_get_status(call_rpc(c)->in.sm, &s);
    call_finish(c, FAB_GRPC_FAILED_PRECONDITION, "no forwarding tables yet%s%s",
                s.alarm[0] != '\0' ? ": " : "", s.alarm);
    return NULL;
}

struct store *need_store(struct call *c)
{
    struct store *store = call_rpc(c)->in.store;
    if (store == NULL)
        call_finish(c, FAB_GRPC_UNIMPLEMENTED, "this manager has no database");
    return store;
}

static int refuse_name(int status, const char *what, const char *why, struct refusal *ret)
{
    ret->code = status == FAB_E_EXISTS ? FAB_GRPC_INVALID_ARGUMENT : fab_grpc_code_of(status);
    if (what[0] == '\0') {
        ret->code = FAB_GRPC_INVALID_ARGUMENT;
        snprintf(ret->why, sizeof ret->why, "no node is named; a name, GUID or LID is expected");
    } else if (why[0] != '\0') {
        snprintf(ret->why, sizeof ret->why, "%s", why);
    } else {
        snprintf(ret->why, sizeof ret->why, "\"%s\": %s", what, fab_base_status_text(status));
    }
    return status;
}

int look_up_node(const struct fab_view *v, const char *what, uint32_t *ret_node,
                 struct refusal *ret_refusal)
{
    char why[512] = "";
    int rc = what[0] == '\0' ? FAB_E_INVAL : fab_view_find_node(v, what, ret_node, why, sizeof why);
    return rc < 0 ? refuse_name(rc, what, why, ret_refusal) : FAB_OK;
}

int look_up_port(const struct fab_view *v, const char *node, uint32_t number, uint32_t *ret_port,
                 struct refusal *ret_refusal)
{
    uint32_t id;
    int rc = look_up_node(v, node, &id, ret_refusal);
    if (rc < 0)
        return rc;
    const struct fab_node *n = &v->fabric->nodes[id];
    uint32_t lowest = fab_fabric_node_is_switch(v->fabric, id) ? 0 : 1;
    if (number < lowest || number > n->num_ports) {
        ret_refusal->code = FAB_GRPC_NOT_FOUND;
        snprintf(ret_refusal->why, sizeof ret_refusal->why,
                 "\"%s\" has no port %u; its ports are %u to %u", n->name, number, lowest,
                 n->num_ports);
        return FAB_E_NOT_FOUND;
    }
    *ret_port = fab_fabric_port_id(v->fabric, id, (uint8_t)number);
    return FAB_OK;
}

/* If `rc`, the result of a look-up, is an error, finishes the call with `refusal`. Returns `rc`. */
static int found(struct call *c, int rc, const struct refusal *refusal)
{
    if (rc < 0)
        call_finish(c, refusal->code, "%s", refusal->why);
    return rc;
}

/* Does the same as `found` for a node or endport that the client named. If a node that is gone
 * matches this name better, the message describes that node. */
static int found_named(struct call *c, const struct fab_view *v, const char *what, int rc,
                       struct refusal *refusal)
{
    if (what[0] == '\0' || !gone_is_better(call_rpc(c), v, what, rc) ||
        !gone_explain(call_rpc(c), v, what, refusal->why, sizeof refusal->why))
        return found(c, rc, refusal);
    refusal->code = FAB_GRPC_NOT_FOUND;
    return found(c, FAB_E_NOT_FOUND, refusal);
}

int find_node(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_node)
{
    struct refusal refusal;
    return found_named(c, v, what, look_up_node(v, what, ret_node, &refusal), &refusal);
}

int look_up_filter(const struct fab_view *v, const struct fab_hosts *hosts, const char *what,
                   struct fab_view_filter *ret, struct refusal *ret_refusal)
{
    char why[512] = "";
    int rc = fab_view_filter_read(ret, v, hosts, what, why, sizeof why);
    return rc < 0 ? refuse_name(rc, what, why, ret_refusal) : FAB_OK;
}

int find_filter(struct call *c, const struct fab_view *v, const char *what,
                struct fab_view_filter *ret)
{
    const struct fab_hosts *h = v->policy.locations != NULL ? need_hosts(c, v) : NULL;
    struct refusal refusal;
    if (v->policy.locations != NULL && h == NULL)
        return FAB_E_NOMEM;
    return found_named(c, v, what, look_up_filter(v, h, what, ret, &refusal), &refusal);
}

int find_end(struct call *c, const struct fab_view *v, const char *what, uint32_t *ret_port)
{
    char why[512] = "";
    struct refusal refusal;
    int rc = what[0] == '\0' ? FAB_E_INVAL : fab_view_find_port(v, what, ret_port, why, sizeof why);
    if (rc < 0)
        refuse_name(rc, what, why, &refusal);
    return found_named(c, v, what, rc, &refusal);
}

int find_port(struct call *c, const struct fab_view *v, const char *node, uint32_t number,
              uint32_t *ret_port)
{
    struct refusal refusal;
    uint32_t id;
    int rc = find_node(c, v, node, &id);
    return rc == FAB_OK ? found(c, look_up_port(v, node, number, ret_port, &refusal), &refusal)
                        : rc;
}

void refuse_token(struct call *c, const char *token)
{
    call_finish(c, FAB_GRPC_INVALID_ARGUMENT,
                "page_token \"%s\" is not from this list; leave it empty for the first page",
                token);
}

bool read_page(struct call *c, char list, const char *token, uint32_t size, struct page *ret)
{
    struct page page = {.want = page_size(size)};
    if (page_parse(list, token, &page.key, &page.given) < 0) {
        refuse_token(c, token);
        return false;
    }
    *ret = page;
    return true;
}
