/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema for libcyaml: which keys there are and of which type; and its complaints turned into
 * sentences. libcyaml 1.3 reports through its log: one line that says what is wrong, then a
 * backtrace, innermost first, of "in mapping field 'lmc' (line: 2, column: 8)". The names in it are
 * those of the schema, so that they can be put together to a path ("subnet.lmc"), and the path has
 * its expected value in the table of settings.c.
 *
 * Every key is optional, so that all values are pointers. Numbers are texts to libcyaml, because
 * 1.3 takes "7abc" and "1.5" for numbers, and 010 for eight; settings.c reads them.
 */
#include <cyaml/cyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/congestion.h"

#define LISTEN_MAX 16
#define ROOTS_MAX 4096
#define CLASSES_MAX 16 /* the default one included */
#define MATCH_MAX 1024
#define TEXT_MAX 4096 /* bytes of one value */

/* ---- the schema ---- */

#define MAYBE (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(group, key, least, most)                                                              \
    CYAML_FIELD_STRING_PTR(#key, MAYBE, struct group, key, least, most)
#define LIST(group, key, most)                                                                     \
    CYAML_FIELD_SEQUENCE(#key, MAYBE, struct group, key, &entry_schema, 0, most)
/* A group may be empty: all its keys are comments. */
#define GROUP(key)                                                                                 \
    CYAML_FIELD_MAPPING_PTR(#key, CYAML_FLAG_POINTER_NULL_STR | CYAML_FLAG_OPTIONAL, struct raw,   \
                            key, key##_fields)

static const cyaml_schema_value_t entry_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 1, TEXT_MAX),
};

static const cyaml_schema_field_t tls_fields[] = {
    TEXT(raw_tls, cert, 1, TEXT_MAX),
    TEXT(raw_tls, key, 1, TEXT_MAX),
    TEXT(raw_tls, ca, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t sweep_fields[] = {
    TEXT(raw_sweep, light_interval, 1, TEXT_MAX),
    TEXT(raw_sweep, full_interval, 1, TEXT_MAX),
    TEXT(raw_sweep, trap_settle_ms, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t flapping_fields[] = {
    TEXT(raw_flapping, falls, 1, TEXT_MAX), TEXT(raw_flapping, within, 1, TEXT_MAX),
    TEXT(raw_flapping, hold, 1, TEXT_MAX),  TEXT(raw_flapping, hold_most, 1, TEXT_MAX),
    TEXT(raw_flapping, share, 1, TEXT_MAX), CYAML_FIELD_END,
};

static const cyaml_schema_field_t counters_fields[] = {
    TEXT(raw_counters, interval, 1, TEXT_MAX),
    TEXT(raw_counters, within, 1, TEXT_MAX),
    TEXT(raw_counters, sick, 1, TEXT_MAX),
    TEXT(raw_counters, clear, 1, TEXT_MAX),
    TEXT(raw_counters, symbol_errors, 1, TEXT_MAX),
    TEXT(raw_counters, link_error_recovery, 1, TEXT_MAX),
    TEXT(raw_counters, link_downed, 1, TEXT_MAX),
    TEXT(raw_counters, rcv_errors, 1, TEXT_MAX),
    TEXT(raw_counters, rcv_remote_physical_errors, 1, TEXT_MAX),
    TEXT(raw_counters, rcv_switch_relay_errors, 1, TEXT_MAX),
    TEXT(raw_counters, xmit_discards, 1, TEXT_MAX),
    TEXT(raw_counters, xmit_constraint_errors, 1, TEXT_MAX),
    TEXT(raw_counters, rcv_constraint_errors, 1, TEXT_MAX),
    TEXT(raw_counters, local_link_integrity_errors, 1, TEXT_MAX),
    TEXT(raw_counters, excessive_buffer_overrun_errors, 1, TEXT_MAX),
    TEXT(raw_counters, vl15_dropped, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t smp_fields[] = {
    TEXT(raw_smp, timeout_ms, 1, TEXT_MAX),
    TEXT(raw_smp, retries, 1, TEXT_MAX),
    TEXT(raw_smp, window, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t subnet_fields[] = {
    TEXT(raw_subnet, prefix, 1, TEXT_MAX),
    TEXT(raw_subnet, sm_priority, 1, TEXT_MAX),
    TEXT(raw_subnet, sm_key, 1, TEXT_MAX),
    TEXT(raw_subnet, m_key, 1, TEXT_MAX),
    TEXT(raw_subnet, lmc, 1, TEXT_MAX),
    TEXT(raw_subnet, max_mtu, 1, TEXT_MAX),
    TEXT(raw_subnet, max_vls, 1, TEXT_MAX),
    TEXT(raw_subnet, packet_life_time, 1, TEXT_MAX),
    TEXT(raw_subnet, hoq_life, 1, TEXT_MAX),
    TEXT(raw_subnet, leaf_hoq_life, 1, TEXT_MAX),
    TEXT(raw_subnet, vl_stall_count, 1, TEXT_MAX),
    TEXT(raw_subnet, leaf_vl_stall_count, 1, TEXT_MAX),
    TEXT(raw_subnet, subnet_timeout, 1, TEXT_MAX),
    TEXT(raw_subnet, phy_errors, 1, TEXT_MAX),
    TEXT(raw_subnet, overrun_errors, 1, TEXT_MAX),
    TEXT(raw_subnet, prefix_routes, 0, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t routing_fields[] = {
    TEXT(raw_routing, engine, 1, TEXT_MAX),
    TEXT(raw_routing, file, 0, TEXT_MAX),
    LIST(raw_routing, roots, ROOTS_MAX),
    TEXT(raw_routing, max_hops, 1, TEXT_MAX),
    TEXT(raw_routing, rebalance_after, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t partitions_fields[] = {
    TEXT(raw_partitions, file, 0, TEXT_MAX),
    TEXT(raw_partitions, enforce, 1, TEXT_MAX),
    TEXT(raw_partitions, allow_both, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t multicast_fields[] = {
    TEXT(raw_multicast, mlids, 1, TEXT_MAX),
    TEXT(raw_multicast, share, 1, TEXT_MAX),
    TEXT(raw_multicast, absent, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t congestion_fields[] = {
    TEXT(raw_congestion, apply, 1, TEXT_MAX),
    TEXT(raw_congestion, profile, 1, TEXT_MAX),
    TEXT(raw_congestion, cc_key, 1, TEXT_MAX),
    TEXT(raw_congestion, fan_in, 1, TEXT_MAX),
    TEXT(raw_congestion, hop_ns, 1, TEXT_MAX),
    TEXT(raw_congestion, end_ns, 1, TEXT_MAX),
    TEXT(raw_congestion, cable_m, 1, TEXT_MAX),
    TEXT(raw_congestion, queue_kb, 1, TEXT_MAX),
    TEXT(raw_congestion, threshold, 1, TEXT_MAX),
    TEXT(raw_congestion, switch_threshold, 1, TEXT_MAX),
    TEXT(raw_congestion, marking_rate, 1, TEXT_MAX),
    TEXT(raw_congestion, packet_size, 1, TEXT_MAX),
    TEXT(raw_congestion, victim_mask, 1, TEXT_MAX),
    TEXT(raw_congestion, timer, 1, TEXT_MAX),
    TEXT(raw_congestion, increase, 1, TEXT_MAX),
    TEXT(raw_congestion, trigger_threshold, 1, TEXT_MAX),
    TEXT(raw_congestion, min, 1, TEXT_MAX),
    TEXT(raw_congestion, limit, 1, TEXT_MAX),
    LIST(raw_congestion, table, FAB_CONGESTION_TABLE_MOST),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t class_fields[] = {
    TEXT(raw_class, name, 1, 63),
    TEXT(raw_class, share, 1, TEXT_MAX),
    TEXT(raw_class, priority, 1, TEXT_MAX),
    TEXT(raw_class, sl, 1, TEXT_MAX),
    TEXT(raw_class, rate_limit, 1, TEXT_MAX),
    TEXT(raw_class, mtu_limit, 1, TEXT_MAX),
    LIST(raw_class, match, MATCH_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t class_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_class, class_fields),
};

static const cyaml_schema_field_t qos_fields[] = {
    TEXT(raw_qos, file, 0, TEXT_MAX),
    TEXT(raw_qos, high_limit, 1, TEXT_MAX),
    TEXT(raw_qos, vlarb_high, 0, TEXT_MAX),
    TEXT(raw_qos, vlarb_low, 0, TEXT_MAX),
    TEXT(raw_qos, sl2vl, 0, TEXT_MAX),
    CYAML_FIELD_SEQUENCE("classes", MAYBE, struct raw_qos, classes, &class_schema, 0, CLASSES_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t contingency_fields[] = {
    TEXT(raw_contingency, memory, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t journal_fields[] = {
    TEXT(raw_journal, keep, 1, TEXT_MAX),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t top_fields[] = {
    TEXT(raw, state_dir, 1, TEXT_MAX),
    TEXT(raw, port, 0, 63),
    LIST(raw, listen, LISTEN_MAX),
    TEXT(raw, socket_group, 0, 255),
    TEXT(raw, log_level, 1, TEXT_MAX),
    TEXT(raw, metrics, 0, TEXT_MAX),
    GROUP(tls),
    GROUP(sweep),
    GROUP(flapping),
    GROUP(counters),
    GROUP(smp),
    GROUP(subnet),
    GROUP(routing),
    GROUP(partitions),
    GROUP(multicast),
    GROUP(congestion),
    GROUP(qos),
    GROUP(contingency),
    GROUP(journal),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t top_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw, top_fields),
};

/* ---- complaints ---- */

struct complaint {
    char unknown_key[64]; /* or "" */
    char path[128];       /* outermost first */
    size_t line, column;  /* of the innermost value; 0: not told */
};

/* Puts a name before the path: the backtrace comes from the inside. */
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

/* The fields of what stands at a key: of a mapping, or of each mapping of a list. */
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
    if (!place_has(r, path)) /* within a list, which the path does not name an entry of */
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
