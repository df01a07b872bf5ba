/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema for libcyaml (keys and types), and the conversion of libcyaml's errors to messages.
 *
 * libcyaml 1.3 reports an error through its log. The first line in the log has the error. The
 * further lines are a backtrace that begins with the innermost key, for example "in mapping field
 * 'lmc' (line: 2, column: 8)". The names in the backtrace form a path ("subnet.lmc"). The table in
 * settings.c tells which value each path accepts.
 *
 * Every key is optional, so all values are pointers. The schema declares numbers as text, and
 * settings.c parses them, because libcyaml 1.3 accepts "7abc" and "1.5" as numbers and reads 010 as
 * eight.
 */
#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/congestion.h"
#include "libfabmgr/policy/policy.h"

#define LISTEN_MAX 16
#define ROOTS_MAX 4096
/* maximum number of traffic classes, including the default class */
#define CLASSES_MAX 16
#define MATCH_MAX 1024
#define ALERTS_MAX 8
#define TYPES_MAX 64   /* maximum number of patterns of event types of an alert */
#define ROLES_MAX 1024 /* maximum number of entries of one role */
#define TEXT_MAX 4096  /* maximum length of a value in bytes */

#define MAYBE (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(group, key, least, most)                                                              \
    CYAML_FIELD_STRING_PTR(#key, MAYBE, struct group, key, least, most)
#define WORD(group, key) TEXT(group, key, 1, TEXT_MAX)
#define LIST(group, key, most)                                                                     \
    CYAML_FIELD_SEQUENCE(#key, MAYBE, struct group, key, &entry_schema, 0, most)
/* Defines a mapping of keys. Its value may also be null: this is the value that YAML gives to a
 * mapping if all its keys are commented out. */
#define GROUP(key)                                                                                 \
    CYAML_FIELD_MAPPING_PTR(#key, CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL, struct raw,   \
                            key, key##_fields)

static const cyaml_schema_value_t entry_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, TEXT_MAX),
};

static const cyaml_schema_field_t tls_fields[] = {
    WORD(raw_tls, cert), WORD(raw_tls, key), WORD(raw_tls, ca), TEXT(raw_tls, crl, 0, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t metrics_fields[] = {
    TEXT(raw_metrics, listen, 0, TEXT_MAX), WORD(raw_metrics, ports), WORD(raw_metrics, names),
    WORD(raw_metrics, max_series),          CYAML_FIELD_END,
};

static const cyaml_schema_field_t sweep_fields[] = {
    WORD(raw_sweep, light_interval), WORD(raw_sweep, scrub_interval),
    WORD(raw_sweep, heavy_interval), WORD(raw_sweep, trap_settle_ms),
    WORD(raw_sweep, confirm_loss),   CYAML_FIELD_END,
};

static const cyaml_schema_field_t flapping_fields[] = {
    WORD(raw_flapping, flaps),
    WORD(raw_flapping, within),
    WORD(raw_flapping, hold_down),
    WORD(raw_flapping, max_hold_down),
    WORD(raw_flapping, max_excluded_percent),
    WORD(raw_flapping, min_capacity_percent),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t inventory_fields[] = {
    WORD(raw_inventory, read),
    WORD(raw_inventory, interval),
    WORD(raw_inventory, temperature_interval),
    WORD(raw_inventory, requests),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t counters_fields[] = {
    WORD(raw_counters, interval),
    WORD(raw_counters, within),
    WORD(raw_counters, on_errors),
    WORD(raw_counters, confirm),
    WORD(raw_counters, clear),
    WORD(raw_counters, max_size),
    WORD(raw_counters, symbol_errors),
    WORD(raw_counters, link_error_recovery),
    WORD(raw_counters, link_downed),
    WORD(raw_counters, rcv_errors),
    WORD(raw_counters, rcv_remote_physical_errors),
    WORD(raw_counters, rcv_switch_relay_errors),
    WORD(raw_counters, xmit_discards),
    WORD(raw_counters, xmit_constraint_errors),
    WORD(raw_counters, rcv_constraint_errors),
    WORD(raw_counters, local_link_integrity_errors),
    WORD(raw_counters, excessive_buffer_overrun_errors),
    WORD(raw_counters, vl15_dropped),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t smp_fields[] = {
    WORD(raw_smp, timeout_ms),
    WORD(raw_smp, retries),
    WORD(raw_smp, window),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t subnet_fields[] = {
    WORD(raw_subnet, prefix),
    WORD(raw_subnet, sm_priority),
    WORD(raw_subnet, standby_poll_ms),
    WORD(raw_subnet, standby_rate),
    WORD(raw_subnet, handover_hold),
    WORD(raw_subnet, sm_key),
    WORD(raw_subnet, sa_key),
    WORD(raw_subnet, m_key),
    WORD(raw_subnet, m_key_protection),
    WORD(raw_subnet, m_key_lease),
    TEXT(raw_subnet, m_key_file, 0, TEXT_MAX),
    TEXT(raw_subnet, lid_file, 0, TEXT_MAX),
    WORD(raw_subnet, pin_names),
    WORD(raw_subnet, unapproved),
    WORD(raw_subnet, quarantine_pkey),
    WORD(raw_subnet, lmc),
    WORD(raw_subnet, max_mtu),
    WORD(raw_subnet, max_vls),
    WORD(raw_subnet, packet_life_time),
    WORD(raw_subnet, hoq_life),
    WORD(raw_subnet, leaf_hoq_life),
    WORD(raw_subnet, vl_stall_count),
    WORD(raw_subnet, leaf_vl_stall_count),
    WORD(raw_subnet, subnet_timeout),
    WORD(raw_subnet, phy_errors),
    WORD(raw_subnet, overrun_errors),
    TEXT(raw_subnet, prefix_routes, 0, TEXT_MAX),
    LIST(raw_subnet, managers, FAB_MANAGERS_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t routing_fields[] = {
    WORD(raw_routing, engine),           TEXT(raw_routing, file, 0, TEXT_MAX),
    LIST(raw_routing, roots, ROOTS_MAX), WORD(raw_routing, max_hops),
    WORD(raw_routing, rebalance_after),  CYAML_FIELD_END,
};

static const cyaml_schema_field_t partitions_fields[] = {
    TEXT(raw_partitions, file, 0, TEXT_MAX),
    WORD(raw_partitions, enforce),
    WORD(raw_partitions, allow_both),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t multicast_fields[] = {
    WORD(raw_multicast, mlids),
    WORD(raw_multicast, share),
    WORD(raw_multicast, absent),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t congestion_fields[] = {
    WORD(raw_congestion, apply),
    WORD(raw_congestion, profile),
    WORD(raw_congestion, cc_key),
    WORD(raw_congestion, cc_key_lease),
    WORD(raw_congestion, fan_in),
    WORD(raw_congestion, hop_ns),
    WORD(raw_congestion, adapter_ns),
    WORD(raw_congestion, cable_m),
    WORD(raw_congestion, queue_kb),
    WORD(raw_congestion, threshold),
    WORD(raw_congestion, switch_threshold),
    WORD(raw_congestion, marking_rate),
    WORD(raw_congestion, packet_size),
    WORD(raw_congestion, victim_mask),
    WORD(raw_congestion, timer),
    WORD(raw_congestion, increase),
    WORD(raw_congestion, trigger_threshold),
    WORD(raw_congestion, min),
    WORD(raw_congestion, limit),
    LIST(raw_congestion, table, FAB_CONGESTION_TABLE_MOST),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t class_fields[] = {
    TEXT(raw_class, name, 1, 63),      WORD(raw_class, share),
    WORD(raw_class, priority),         WORD(raw_class, sl),
    WORD(raw_class, rate_limit),       WORD(raw_class, mtu_limit),
    LIST(raw_class, match, MATCH_MAX), CYAML_FIELD_END,
};

static const cyaml_schema_value_t class_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_class, class_fields),
};

static const cyaml_schema_field_t qos_fields[] = {
    TEXT(raw_qos, file, 0, TEXT_MAX),
    WORD(raw_qos, high_limit),
    TEXT(raw_qos, vlarb_high, 0, TEXT_MAX),
    TEXT(raw_qos, vlarb_low, 0, TEXT_MAX),
    TEXT(raw_qos, sl2vl, 0, TEXT_MAX),
    CYAML_FIELD_SEQUENCE("classes", MAYBE, struct raw_qos, classes, &class_schema, 0, CLASSES_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t contingency_fields[] = {
    WORD(raw_contingency, memory),
    WORD(raw_contingency, cpu),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t quotas_fields[] = {
    WORD(raw_quotas, groups),
    WORD(raw_quotas, memberships),
    WORD(raw_quotas, services),
    WORD(raw_quotas, subscriptions),
    WORD(raw_quotas, alias_guids),
    WORD(raw_quotas, total_groups),
    WORD(raw_quotas, total_memberships),
    WORD(raw_quotas, total_services),
    WORD(raw_quotas, total_subscriptions),
    WORD(raw_quotas, total_alias_guids),
    WORD(raw_quotas, transfers),
    WORD(raw_quotas, requests),
    WORD(raw_quotas, request_burst),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t offenders_fields[] = {
    WORD(raw_offenders, refused_manager),
    WORD(raw_offenders, forged_control),
    WORD(raw_offenders, max_isolated),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t locations_fields[] = {
    TEXT(raw_locations, file, 0, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t names_fields[] = {
    TEXT(raw_names, node_name_map, 0, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t gone_fields[] = {
    WORD(raw_gone, max_age),
    WORD(raw_gone, max_nodes),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t snapshots_fields[] = {
    WORD(raw_snapshots, keep),
    WORD(raw_snapshots, max_size),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t journal_fields[] = {
    WORD(raw_journal, keep),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t role_entry_fields[] = {
    WORD(raw_role_entry, user),
    WORD(raw_role_entry, group),
    WORD(raw_role_entry, cn),
    WORD(raw_role_entry, san),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t role_entry_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_role_entry, role_entry_fields),
};

#define ROLE(name)                                                                                 \
    CYAML_FIELD_SEQUENCE(#name, MAYBE, struct raw_roles, name, &role_entry_schema, 0, ROLES_MAX)

static const cyaml_schema_field_t roles_fields[] = {
    ROLE(tenant), ROLE(viewer), ROLE(operator), ROLE(administrator), CYAML_FIELD_END,
};

static const cyaml_schema_field_t rpc_fields[] = {
    CYAML_FIELD_MAPPING_PTR("roles", CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL,
                            struct raw_rpc, roles, roles_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t audit_fields[] = {
    WORD(raw_audit, max_age),
    WORD(raw_audit, max_size),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t replication_fields[] = {
    LIST(raw_replication, endpoints, CONFIG_ENDPOINTS_MAX),
    TEXT(raw_replication, ca, 0, TEXT_MAX),
    TEXT(raw_replication, cert, 0, TEXT_MAX),
    TEXT(raw_replication, key, 0, TEXT_MAX),
    TEXT(raw_replication, server_name, 0, 255),
    TEXT(raw_replication, prefix, 0, 63),
    TEXT(raw_replication, wrapping_key, 0, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t alert_fields[] = {
    WORD(raw_alert, webhook),          WORD(raw_alert, ca),
    WORD(raw_alert, syslog),           WORD(raw_alert, min_severity),
    LIST(raw_alert, types, TYPES_MAX), CYAML_FIELD_END,
};

static const cyaml_schema_value_t alert_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_alert, alert_fields),
};

static const cyaml_schema_field_t top_fields[] = {
    WORD(raw, state_dir),
    TEXT(raw, port, 0, 63),
    WORD(raw, on_device_lost),
    LIST(raw, listen, LISTEN_MAX),
    TEXT(raw, socket_group, 0, 255),
    WORD(raw, log_level),
    GROUP(metrics),
    GROUP(tls),
    GROUP(sweep),
    GROUP(flapping),
    GROUP(counters),
    GROUP(inventory),
    GROUP(smp),
    GROUP(subnet),
    GROUP(routing),
    GROUP(partitions),
    GROUP(multicast),
    GROUP(congestion),
    GROUP(qos),
    GROUP(contingency),
    GROUP(quotas),
    GROUP(offenders),
    GROUP(locations),
    GROUP(names),
    GROUP(gone),
    GROUP(snapshots),
    GROUP(journal),
    GROUP(rpc),
    GROUP(audit),
    GROUP(replication),
    CYAML_FIELD_SEQUENCE("alerts", MAYBE, struct raw, alerts, &alert_schema, 0, ALERTS_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t top_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, top_fields),
};

/* ---- errors ---- */

struct complaint {
    /* name of an unknown key, if this is the error; otherwise "" */
    char unknown_key[64];
    /* path of the key with the error, such as "subnet.lmc" */
    char path[128];
    /* line and column of the innermost value, from 1; 0: not known */
    size_t line, column;
};

/* Puts a name in front of the path. The backtrace lists the innermost name first. */
static void prepend(struct complaint *c, const char *name)
{
    char path[sizeof(c->path)];
    int len = snprintf(path, sizeof(path), "%s%s%s", name, c->path[0] != '\0' ? "." : "", c->path);
    if (len >= 0 && (size_t)len < sizeof(path))
        memcpy(c->path, path, (size_t)len + 1);
}

static void take_place(struct complaint *c, size_t line, size_t column)
{
    if (c->line == 0) {
        c->line = line;
        c->column = column;
    }
}

static void listen_to_cyaml(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct complaint *c = ctx;
    char text[512], name[64];
    size_t line, column;
    (void)level;
    vsnprintf(text, sizeof(text), fmt, args);
    if (sscanf(text, " in mapping field '%63[^']' (line: %zu, column: %zu", name, &line, &column) ==
        3) {
        prepend(c, name);
        take_place(c, line, column);
    } else if (sscanf(text, " in sequence entry '%*u' (line: %zu, column: %zu", &line, &column) ==
                   2 ||
               sscanf(text, " in mapping (line: %zu, column: %zu", &line, &column) == 2) {
        take_place(c, line, column);
    } else {
        sscanf(text, "Load: Unexpected key: %63[^\n]", c->unknown_key);
    }
}

/* If the value of `f` is a mapping or a list of mappings, returns the schema of the keys in these
 * mappings. Otherwise returns NULL. */
static const cyaml_schema_field_t *fields_below(const cyaml_schema_field_t *f)
{
    if (f->value.type == CYAML_MAPPING)
        return f->value.mapping.fields;
    if (f->value.type == CYAML_SEQUENCE && f->value.sequence.entry->type == CYAML_MAPPING)
        return f->value.sequence.entry->mapping.fields;
    return NULL;
}

static const cyaml_schema_field_t *fields_at(const char *path)
{
    const cyaml_schema_field_t *fields = top_fields;
    while (*path != '\0' && fields != NULL) {
        size_t len = strcspn(path, ".");
        const cyaml_schema_field_t *f = fields;
        while (f->key != NULL && (strncmp(f->key, path, len) != 0 || f->key[len] != '\0'))
            f++;
        fields = f->key != NULL ? fields_below(f) : NULL;
        path += len;
        path += *path == '.';
    }
    return fields;
}

static int report_unknown_key(struct report *r, const struct complaint *c)
{
    char path[sizeof(c->path) + sizeof(c->unknown_key)], key[80], known[400] = "";
    size_t used = 0;
    snprintf(path, sizeof(path), "%s%s%s", c->path, c->path[0] != '\0' ? "." : "", c->unknown_key);
    log_clean(c->unknown_key, key, sizeof(key));
    for (const cyaml_schema_field_t *f = fields_at(c->path); f != NULL && f->key != NULL; f++)
        if (used < sizeof(known))
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                     used > 0 ? ", " : "", f->key);
    const char *in = c->path[0] != '\0' ? " in " : "";
    /* The path does not say in which element of a list the key is, so place.c cannot find it. In
     * this case the message has the line and column that libcyaml reported. */
    if (!place_has(r, path))
        return report_at(r, c->line, c->column, "unknown key '%s'%s%s, expected one of: %s", key,
                         in, c->path, known);
    return report_key(r, path, "unknown key '%s'%s%s, expected one of: %s", key, in, c->path,
                      known);
}

static int report_complaint(struct report *r, const struct complaint *c, cyaml_err_t err)
{
    char expected[200];
    if (err == CYAML_ERR_OOM)
        return FAB_E_NOMEM;
    if (err == CYAML_ERR_INVALID_KEY)
        return report_unknown_key(r, c);
    if (err == CYAML_ERR_ALIAS)
        return report_at(r, c->line, c->column, "%s%san alias, expected the value itself", c->path,
                         c->path[0] != '\0' ? ": " : "");
    if (c->path[0] == '\0')
        return report_at(r, 1, 1, "this is not a mapping, expected lines of KEY: VALUE");
    return report_node_at(r, c->line, c->column, c->path,
                          setting_expected(c->path, expected, sizeof(expected)));
}

/* ---- loading ---- */

static cyaml_config_t configure(struct complaint *complaint)
{
    return (cyaml_config_t){
        .log_fn = complaint != NULL ? listen_to_cyaml : NULL,
        .log_ctx = complaint,
        .log_level = CYAML_LOG_WARNING,
        .mem_fn = cyaml_mem,
        .flags = CYAML_CFG_NO_ALIAS,
    };
}

int raw_load(const char *text, size_t len, struct report *report, struct raw **ret)
{
    struct complaint complaint = {0};
    cyaml_config_t config = configure(&complaint);
    cyaml_data_t *data = NULL;
    if (place_is_empty(report)) {
        *ret = NULL;
        return FAB_OK;
    }
    cyaml_err_t err =
        cyaml_load_data((const uint8_t *)text, len, &config, &top_schema, &data, NULL);
    if (err != CYAML_OK)
        return report_complaint(report, &complaint, err);
    *ret = data;
    return FAB_OK;
}

void raw_free(struct raw *raw)
{
    cyaml_config_t config = configure(NULL);
    if (raw != NULL)
        cyaml_free(&config, &top_schema, raw, 0);
}
