/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the configuration from one YAML file, and converts it to options of the daemon and to the
 * policy of the fabric. Every key has a default; doc/fabricd.yaml.5 and etc/fabricd.yaml list all
 * keys. If the file has an error, none of its values takes effect. */
#ifndef FABRICD_CONFIG_CONFIG_H
#define FABRICD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/health/counters.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/policy/policy.h"

enum config_listen_kind { CONFIG_LISTEN_UNIX, CONFIG_LISTEN_TLS };

struct config_listen {
    enum config_listen_kind kind;
    /* address as configured, such as "unix:/run/fabricd/fabricd.sock" or "tls:[::1]:7471" */
    char *text;
    /* The path of the socket in a "unix:" address. In a "tls:" address: the host name, or the IP
     * address without brackets; "*" means all local addresses. */
    char *host;
    uint16_t port; /* port number, 1 to 65535; only for tls */
};

/* Paths of PEM files: certificate, key and CA, which are all set or all NULL. crl: revocation lists
 * of the CA; NULL or "": certificates are not checked for revocation. */
struct config_tls {
    char *cert, *key, *ca, *crl;
};

struct config_sweep {
    /* time in s between two light sweeps; 0: no light sweeps */
    uint32_t light_interval_s;
    /* time in s between two regular heavy sweeps; 0: no regular heavy sweeps */
    uint32_t heavy_interval_s;
    /* time in s in which the scrub reads LFTs, PortInfo, P_Key tables and MFTs once; 0: no scrub */
    uint32_t scrub_interval_s;
    /* Time in ms for which the manager waits after a round, if traps arrived during the round. At
     * other times, a trap starts a sweep at once (fabricd/sm/core/rounds.c). */
    uint32_t trap_settle_ms;
    /* If a sweep finds that more than this percentage of the nodes are lost, another sweep must
     * confirm the loss; 0: no confirmation. */
    uint32_t confirm_loss_percent;
};

/* maximum number of etcd servers through which managers share their state (fabricd/replica) */
#define CONFIG_ENDPOINTS_MAX 7
struct config_replication {
    char *endpoint[CONFIG_ENDPOINTS_MAX]; /* addresses "tls:HOST:PORT" */
    unsigned endpoints;    /* number of etcd servers; 0: the state is not replicated */
    char *ca, *cert, *key; /* paths of PEM files */
    /* name that the certificates of all servers must contain; NULL: the HOST of the endpoint */
    char *server_name;
    char *prefix; /* prefix of the names of all keys in etcd; not NULL if there are etcd servers */
    /* Key with which M_Keys and CC_Keys are encrypted when they are sent to other managers
     * (replication.wrapping_key); used only if `wraps` is true. */
    uint8_t wrapping_key[32];
    bool wraps;
};

struct config_managers {
    /* time in ms between two polls of the master, while this manager is standby */
    uint32_t standby_poll_ms;
    /* Maximum number of requests per second that a standby manager sends to read the fabric and its
     * tables. 0: it does not read them. */
    uint32_t standby_rate;
    /* Time in s for which this manager does not hand over to a manager that has lost the role of
     * master repeatedly. This time doubles with each further loss. 0: no delay. */
    uint32_t handover_hold_s;
};

struct config_flapping {
    /* a link is held down if it has gone down this many times within within_s seconds */
    uint32_t flaps;
    uint32_t within_s;
    /* First hold-down time in s; it doubles each time the link is held down again. 0: no link is
     * held down. */
    uint32_t hold_down_s;
    uint32_t max_hold_down_s; /* maximum hold-down time in s */
    /* Maximum percentage of the uplinks of a switch that may be excluded; a drain may exceed it.
     * The same maximum applies to its downlinks, and to its other ISLs. */
    uint32_t max_excluded_percent;
    /* The capacity floor: minimum percentage of the uplinks of each leaf, and of each pod, that
     * must stay in use, except if an operator isolates or drains links; 0: there is no floor. */
    uint32_t min_capacity_percent;
};

enum config_on_errors {
    CONFIG_ON_ERRORS_REPORT,
    CONFIG_ON_ERRORS_ISOLATE,
    CONFIG_ON_ERRORS_DISABLE
};

struct config_counters {
    /* time in s in which the counters of every port are read once; 0: never */
    uint32_t interval_s;
    /* Length of the window in s: the manager compares the sum of the increases of a counter in this
     * time with the threshold. */
    uint32_t within_s;
    enum config_on_errors on_errors; /* what the manager does about an unhealthy link */
    /* Number of windows (of within_s seconds) in which a counter must cross its threshold before
     * the manager isolates the link. */
    uint32_t confirm;
    /* 1: the manager clears counters that have reached their maximum value; 0: it never clears
     * counters */
    uint32_t clear;
    uint32_t max_mb; /* maximum size in MiB of the history of counters; 0: no history */
    /* [counter] a link is unhealthy if the counter rises by this much within within_s seconds; 0:
     * the counter is ignored */
    uint32_t most[FAB_COUNTERS];
};

/* settings for reading the inventory (fabricd/inventory) */
struct config_inventory {
    uint32_t read; /* 1: the manager reads vendor attributes for the inventory; 0: it does not */
    /* time in s in which the inventory of every device is read once */
    uint32_t interval_s;
    /* time in s in which the temperatures of every device are read once; 0: never */
    uint32_t temperature_interval_s;
    uint32_t requests; /* maximum number of inventory requests per second */
};

/* what the manager does about a host that misbehaves */
enum config_offence { CONFIG_OFFENCE_REPORT, CONFIG_OFFENCE_ISOLATE };
struct config_offenders {
    /* what the manager does about a host that answers SMInfo, but is not trusted as a manager */
    enum config_offence refused_manager;
    /* what the manager does about a host that sends control packets, SubnSet(SMInfo), but is not
     * trusted as a manager */
    enum config_offence forged_control;
    /* maximum number of hosts that may be isolated for misbehaviour at the same time */
    uint32_t max_isolated;
};

struct config_multicast {
    /* maximum number of MLIDs in use; 0: as many as the smallest MFT has entries */
    uint32_t mlids;
    enum fab_mcast_share share;
    /* time in s for which a port that has left the fabric stays a member of its multicast groups */
    uint32_t absent_s;
};

struct config_smp {
    /* time in ms for which the manager waits for the answer to the first try of a request */
    uint32_t timeout_ms;
    /* maximum number of retries after the first try */
    uint32_t retries;
    /* maximum number of requests in flight; 0: the limit of the transport */
    uint32_t window;
};

/* what the manager does if its own adapter or port is missing */
enum config_device_lost { CONFIG_DEVICE_LOST_EXIT, CONFIG_DEVICE_LOST_WAIT };
/* what the manager does about devices that are not in the baseline */
enum config_unapproved { CONFIG_ALLOW, CONFIG_QUARANTINE, CONFIG_EXCLUDE };
/* Roles of clients of the RPC, with the numbers that enum Role in access.proto has. A role has all
 * permissions of the roles with lower numbers. */
enum config_role {
    CONFIG_ROLE_NONE,
    CONFIG_ROLE_TENANT,
    CONFIG_ROLE_VIEWER,
    CONFIG_ROLE_OPERATOR,
    CONFIG_ROLE_ADMINISTRATOR
};
#define CONFIG_ROLES 5
/* Returns the name of a role, such as "viewer"; "none" for CONFIG_ROLE_NONE and unknown numbers. */
const char *config_role_name(unsigned role);

/* What an entry of rpc.roles compares with a client. */
enum config_subject {
    CONFIG_SUBJECT_USER,
    CONFIG_SUBJECT_GROUP,
    CONFIG_SUBJECT_CN,
    CONFIG_SUBJECT_SAN
};
/* Returns the key in the settings file: "user", "group", "cn" or "san". */
const char *config_subject_name(enum config_subject subject);

struct config_role_entry {
    enum config_role role;
    enum config_subject subject;
    char *name; /* name of the user or group, or name in the certificate, as configured */
    /* uid or gid of `name`; only for users and groups. config_load looks it up, so that RPC calls
     * need not wait for the name service. */
    uint32_t id;
    /* true: the system has the user or group `name`; false: the entry matches no client */
    bool known;
};
struct config_roles {
    struct config_role_entry *entry; /* [count] entries of all roles */
    size_t count;
};

/* which ports have their own time series in the metrics */
enum config_metrics_ports {
    CONFIG_METRICS_NONE,
    CONFIG_METRICS_ERRORS,       /* the ports of links with recent errors */
    CONFIG_METRICS_SWITCH_LINKS, /* the ports of links between switches */
    CONFIG_METRICS_SWITCHES,     /* all ports of switches */
    CONFIG_METRICS_ALL
};
/* Which names the metrics of ports have: our own, or those of treydock/infiniband_exporter or
 * guilbaults/infiniband-exporter. */
enum config_metrics_names {
    CONFIG_METRICS_OWN,
    CONFIG_METRICS_TREYDOCK,
    CONFIG_METRICS_GUILBAULTS
};
struct config_metrics {
    /* address of the HTTP server for metrics; text == NULL: there is none */
    struct config_listen listen;
    enum config_metrics_ports ports;
    /* names of the metrics of ports in a page, unless the request asks for other names */
    enum config_metrics_names names;
    uint32_t max_series; /* maximum number of time series of ports in one page */
};

/* A target of alerts. It gets the events whose types match its patterns. */
struct config_alert {
    char *url; /* URL of the webhook, which may contain a secret; NULL: the target is syslog */
    /* PEM file of the certificate authorities for the webhook; NULL: those that the host trusts */
    char *ca;
    enum event_severity min_severity;
    char **types; /* [type_count] patterns of event types; if there are none, all types match */
    size_t type_count;
};
struct config_alerts {
    struct config_alert *alert; /* [count] the targets of alerts */
    size_t count;
};
/* Returns true if the target gets this event. */
bool config_alert_wants(const struct config_alert *a, const struct event *e);

struct config {
    char *state_dir;
    /* port that the manager uses, as "CA:PORT"; "": the first active port */
    char *port;
    enum config_device_lost on_device_lost;
    struct config_listen *listen;
    size_t listen_count;
    struct config_metrics metrics;
    struct config_alerts alerts;
    /* name of the group that owns the Unix sockets; "": the primary group of the process */
    char *socket_group;
    struct config_tls tls;
    struct config_roles roles; /* the setting rpc.roles */
    enum log_level log_level;
    uint8_t unapproved;       /* enum config_unapproved */
    uint16_t quarantine_pkey; /* P_Key of the quarantine partition */
    struct config_sweep sweep;
    struct config_managers managers;
    struct config_replication replication;
    struct config_flapping flapping;
    struct config_counters counters;
    struct config_inventory inventory;
    struct config_multicast multicast;
    struct config_offenders offenders;
    struct config_smp smp;
    /* maximum share of one CPU core for the computation of contingencies, in percent */
    uint32_t contingency_cpu;
    /* maximum memory for contingencies, in MiB; 0: no contingencies */
    uint32_t contingency_mb;
    /* time in s that must pass without changes and traps before the manager tries a rebalance; 0:
     * no rebalances */
    uint32_t rebalance_s;
    /* gone_days: time in days after which nodes and links that are gone are forgotten. gone_nodes:
     * maximum number of gone nodes that are kept. */
    uint32_t gone_days, gone_nodes;
    /* snapshots_keep: number of automatic snapshots of the topology. snapshots_mb: maximum size of
     * all snapshots in MiB. */
    uint32_t snapshots_keep, snapshots_mb;
    uint32_t journal_keep; /* number of events kept in the store */
    /* audit_days: time in days for which rows of the audit log are kept. audit_mb: maximum size of
     * the audit log in MiB. */
    uint32_t audit_days, audit_mb;
    /* true: fabricd generates the M_Key (subnet.m_key is "generated"); main() then reads
     * policy.m_keys from the key file */
    bool m_key_generated;
    /* true: each port has its own M_Key (subnet.m_key is "derived"); m_key_generated is then true,
     * too */
    bool m_key_derived;
    /* path of the first setting, such as "subnet.m_key", whose secret key is in the configuration
     * file itself; NULL: there is none */
    const char *key_in_file;
    /* true: fabricd generates the CC_Key (congestion.cc_key is "generated"); main() then reads
     * policy.congestion.key from the key file */
    bool cc_key_generated;
    struct fab_policy policy;
    /* The settings of the file as lines "path: value", for config_difference. The text contains
     * secret keys, so nobody may show it. NULL: the file sets nothing. */
    char *text;
};

/* Sets every setting to its default. The variables $STATE_DIRECTORY and $RUNTIME_DIRECTORY, which
 * systemd sets, replace /var/lib/fabricd and /run/fabricd. Returns OK or NOMEM; after NOMEM, the
 * caller has nothing to free. */
int config_defaults(struct config *ret);
/*
 * Reads a configuration file. After an error, *ret is unchanged, and why[] has the reason, which
 * begins with "FILE:LINE:COLUMN: " if the position of the error is known.
 *
 * Returns NOT_FOUND, DENIED or IO if this file, or a file named in it, cannot be read. Also returns
 * DENIED if other users have access to a file with a secret key. Returns FORMAT if the file is not
 * valid, and RANGE or INVAL if a value is not accepted. Returns EXISTS if a list repeats a name,
 * LIMIT if a list is too long, and NOT_FOUND if a list refers to an unknown name. Also returns
 * NOMEM.
 */
int config_load(const char *file, struct config *ret, char *why, size_t why_len);
/* Like config_load, but reads the text of a configuration file from memory. Messages use `name` as
 * the file name. */
int config_load_text(const char *text, size_t len, const char *name, struct config *ret, char *why,
                     size_t why_len);
void config_fini(struct config *c);

/* Writes to ret[] the settings in which two configurations differ, such as "log_level: info ->
 * debug; subnet.m_key: changed"; "": there is no difference. The values of secret keys are not
 * shown. If the text does not fit into ret[], it ends with "...". The contents of files that the
 * settings name are not compared. Returns NOMEM. */
int config_difference(const struct config *old, const struct config *now, char *ret, size_t len);
/* Appends the settings of the configuration file to the text, as lines "path: value". The value of
 * a secret key is shown only if it says where the key comes from ("generated", "derived",
 * "file:PATH" or "credential:NAME"); otherwise the line says "(not shown)". This also applies to
 * settings that are not in the schema. */
void config_show(const struct config *c, struct fab_text *to);
/* Adds a listen address from the command line. If `replace` is true, the address replaces all
 * earlier ones; the first address on the command line needs this, because it overrides the file.
 * Returns OK, or NOMEM or INVAL with the reason in why[]; after an error, the earlier addresses
 * stay. */
int config_listen_add(struct config *c, const char *address, bool replace, char *why,
                      size_t why_len);
/* Checks conditions on several keys: the TLS files for a TLS address, the policy, the P_Key of
 * quarantine and the list of engines. config_load calls this function. Call it again after the
 * command line has changed the configuration. Returns OK, NOMEM, or INVAL or RANGE with a message
 * in why[]. */
int config_check(const struct config *c, char *why, size_t why_len);

#endif
