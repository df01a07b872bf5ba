/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of the configuration file as text, as libcyaml reads them. A member is NULL if the
 * file does not have the key. For this folder only.
 */
#ifndef FABRICD_CONFIG_RAW_H
#define FABRICD_CONFIG_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "fabricd/config/place.h"

struct raw_tls {
    char *cert, *key, *ca, *crl;
};

struct raw_metrics {
    char *listen, *ports, *names, *max_series;
};

struct raw_sweep {
    char *light_interval, *heavy_interval, *scrub_interval, *trap_settle_ms, *confirm_loss;
};

struct raw_flapping {
    char *flaps, *within, *hold_down, *max_hold_down, *max_excluded_percent, *min_capacity_percent;
};

struct raw_counters {
    char *interval, *within, *on_errors, *confirm, *clear, *max_size;
    char *symbol_errors, *link_error_recovery, *link_downed, *rcv_errors,
        *rcv_remote_physical_errors, *rcv_switch_relay_errors, *xmit_discards,
        *xmit_constraint_errors, *rcv_constraint_errors, *local_link_integrity_errors,
        *excessive_buffer_overrun_errors, *vl15_dropped;
};

struct raw_inventory {
    char *read, *interval, *temperature_interval, *requests;
};

struct raw_smp {
    char *timeout_ms, *retries, *window;
};

struct raw_subnet {
    char *prefix;
    char *sm_priority, *sm_key, *sa_key, *m_key, *m_key_protection, *m_key_lease, *m_key_file,
        *lid_file, *pin_names, *unapproved, *quarantine_pkey, *lmc, *max_mtu, *max_vls;
    char *standby_poll_ms, *standby_rate, *handover_hold;
    char *packet_life_time, *hoq_life, *leaf_hoq_life, *vl_stall_count, *leaf_vl_stall_count;
    char *subnet_timeout, *phy_errors, *overrun_errors, *prefix_routes;
    char **managers;
    unsigned managers_count;
};

struct raw_routing {
    char *engine, *file;
    char **roots;
    unsigned roots_count;
    char *max_hops, *rebalance_after;
};

struct raw_partitions {
    char *file, *enforce, *allow_both;
};

struct raw_multicast {
    char *mlids, *share, *absent;
};

struct raw_congestion {
    char *apply, *profile, *cc_key, *cc_key_lease, *fan_in, *hop_ns, *adapter_ns, *cable_m,
        *queue_kb;
    char *threshold, *switch_threshold, *marking_rate, *packet_size, *victim_mask;
    char *timer, *increase, *trigger_threshold, *min, *limit;
    char **table;
    unsigned table_count;
};

struct raw_class {
    char *name, *share, *priority, *sl, *rate_limit, *mtu_limit;
    char **match;
    unsigned match_count;
};

struct raw_qos {
    char *file, *high_limit, *vlarb_high, *vlarb_low, *sl2vl;
    struct raw_class *classes;
    unsigned classes_count;
};

struct raw_contingency {
    char *memory, *cpu;
};

struct raw_quotas {
    char *groups, *memberships, *services, *subscriptions, *alias_guids;
    char *total_groups, *total_memberships, *total_services, *total_subscriptions;
    char *total_alias_guids, *transfers, *requests, *request_burst;
};

struct raw_offenders {
    char *refused_manager, *forged_control, *max_isolated;
};

struct raw_locations {
    char *file;
};

struct raw_names {
    char *node_name_map;
};

struct raw_gone {
    char *max_age, *max_nodes;
};

struct raw_snapshots {
    char *keep, *max_size;
};

struct raw_journal {
    char *keep;
};

struct raw_role_entry {
    char *user, *group, *cn, *san;
};

struct raw_roles {
    struct raw_role_entry *tenant, *viewer, *operator, * administrator;
    unsigned tenant_count, viewer_count, operator_count, administrator_count;
};

struct raw_rpc {
    struct raw_roles *roles;
};

struct raw_alert {
    char *webhook, *ca, *syslog, *min_severity;
    char **types;
    unsigned types_count;
};

struct raw_audit {
    char *max_age, *max_size;
};

struct raw_replication {
    char *ca, *cert, *key, *server_name, *prefix, *wrapping_key;
    char **endpoints;
    unsigned endpoints_count;
};

struct raw {
    char *state_dir, *port, *on_device_lost, *socket_group, *log_level;
    char **listen;
    unsigned listen_count;
    struct raw_metrics *metrics;
    struct raw_tls *tls;
    struct raw_sweep *sweep;
    struct raw_flapping *flapping;
    struct raw_counters *counters;
    struct raw_inventory *inventory;
    struct raw_smp *smp;
    struct raw_subnet *subnet;
    struct raw_routing *routing;
    struct raw_partitions *partitions;
    struct raw_multicast *multicast;
    struct raw_congestion *congestion;
    struct raw_qos *qos;
    struct raw_contingency *contingency;
    struct raw_quotas *quotas;
    struct raw_offenders *offenders;
    struct raw_locations *locations;
    struct raw_names *names;
    struct raw_gone *gone;
    struct raw_snapshots *snapshots;
    struct raw_journal *journal;
    struct raw_rpc *rpc;
    struct raw_audit *audit;
    struct raw_replication *replication;
    struct raw_alert *alerts;
    unsigned alerts_count;
};

/* Checks the text of the file against the schema (keys and types) and returns its values. *ret is
 * NULL if the file sets nothing. Returns OK, NOMEM, or FORMAT with a message in the report. */
int raw_load(const char *text, size_t len, struct report *report, struct raw **ret);
void raw_free(struct raw *raw);

/* ---- settings.c ---- */

struct config;
/* Returns a text that says which values a setting such as "subnet.lmc" accepts, for example "a
 * number from 0 to 7". The text is a constant, or is in buffer[]. */
const char *setting_expected(const char *path, char *buffer, size_t len);
/* Returns true if the value of the setting with this path, such as "rpc.roles.viewer[0].user", is a
 * secret. Also returns true if the schema has no such setting. The name of a file with keys is no
 * secret. */
bool setting_is_secret(const char *path, size_t len);
/* Returns true if the value of a secret setting is the word "generated" or "derived". The manager
 * then makes the key itself, so the value is no secret. */
bool setting_is_made(const char *value);
/* Checks all keys except those that other files of this folder read (lists and the URLs of alerts),
 * and stores their values in *c. Returns OK, NOMEM, or RANGE or INVAL with a message in the report.
 */
int settings_apply(const struct raw *raw, struct report *report, struct config *c);
/* Finds the setting that a message of fab_policy_validate is about, by the first word of the
 * message. For "lmc is ...", returns the path "subnet.lmc"; for "subnet_prefix ...",
 * "subnet.prefix". Returns NULL if this word is neither "subnet_prefix" nor the key of a setting.
 */
const char *setting_path(const char *sentence);
/* Parses a GUID or a GID prefix: 16 hexadecimal digits, with or without 0x before them, and with or
 * without a colon after each four digits, such as "0x0002c90300000001" or "0002:c903:0000:0001".
 * Returns INVAL if the text has another form. */
int setting_parse_guid(const char *text, uint64_t *ret);

/* Parses a decimal number, or a hexadecimal number after 0x. Returns RANGE if the number is too
 * large, or INVAL if the text is no number. A leading zero is INVAL, too, because other programs
 * read such a number as octal. */
int setting_parse_number(const char *text, uint64_t *ret);

/* ---- classes.c ---- */

/* Reads the traffic classes into c->policy. Errors: FORMAT, RANGE, EXISTS (two classes have the
 * same name), LIMIT (too many classes or rules), NOT_FOUND (a rule names an unknown group or
 * partition), NOMEM, and the errors of slurp(). */
int classes_take(const struct raw_qos *raw, struct report *report, struct config *c);

/* ---- replication.c ---- */

struct config_replication;
/* Reads the list of etcd servers and the wrapping key, checks that the settings for TLS are
 * complete, and sets the default of the prefix. Does nothing if there are no servers. Returns OK or
 * NOMEM; or INVAL, FORMAT or an error of secret_read, with a message in the report. */
int replication_take(const struct raw_replication *raw, struct report *report, struct config *c);
void replication_fini(struct config_replication *r);

/* ---- roles.c ---- */

struct config_roles;
/* Reads rpc.roles. An unknown user or group causes a warning in the log and no error, because a
 * directory server may not answer yet when the machine starts. Errors: FORMAT (an entry does not
 * have exactly one key, or has a wrong value), EXISTS (an entry is in two roles), NOMEM. */
int roles_take(const struct raw_rpc *raw, struct report *report, struct config_roles *ret);
void roles_fini(struct config_roles *roles);

/* ---- alerts.c ---- */

struct config_alerts;
/* Reads the list `alerts`. Errors: FORMAT (an entry has no target or two targets, or a wrong URL),
 * INVAL (another wrong value), those of slurp_secret, NOMEM. The caller must call alerts_fini even
 * after an error. */
int alerts_take(const struct raw *raw, struct report *report, struct config_alerts *ret);
void alerts_fini(struct config_alerts *alerts);

/* ---- listen.c ---- */

struct config_listen;
/* Parses a listen address. Returns NOMEM, or INVAL with a text in expected[] that says which
 * addresses are accepted. */
int listen_parse(const char *text, struct config_listen *ret, char *expected, size_t len);
/* Parses the address of the metrics server, HOST:PORT. Returns the errors of listen_parse. */
int listen_parse_metrics(const char *text, struct config_listen *ret, char *expected, size_t len);
void listen_fini(struct config_listen *l);

#endif
