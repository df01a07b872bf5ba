/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the configuration from one YAML file, and converts it to options of the daemon and to the
 * policy of the fabric. Every key has a default; doc/fabricd.yaml.5 and etc/fabricd.yaml list all
 * keys. If the file has an error, no value in the file takes effect.
 */
#ifndef FABRICD_CONFIG_CONFIG_H
#define FABRICD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/log.h"
#include "libfabmgr/health/counters.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/policy/policy.h"

enum config_listen_kind { CONFIG_LISTEN_UNIX, CONFIG_LISTEN_TLS };

struct config_listen {
    enum config_listen_kind kind;
    /* address as configured: "unix:/run/fabricd/fabricd.sock", "tls:[::1]:7471" */
    char *text;
    /* unix: the path of the socket. tls: host name or IP address without brackets; "*": all local
     * addresses. */
    char *host;
    uint16_t port; /* only for tls: 1 to 65535 */
};

/* paths of PEM files; either all three are set or all are NULL */
struct config_tls {
    char *cert, *key, *ca;
};

struct config_sweep {
    /* time between light sweeps; 0: no light sweeps */
    uint32_t light_interval_s;
    /* time between heavy sweeps; 0: no regular heavy sweeps */
    uint32_t heavy_interval_s;
    /* Time in which the scrub reads LFTs, PortInfo, P_Key tables and MFTs once; 0: no scrub. */
    uint32_t scrub_interval_s;
    /* How long the manager waits after the end of a round if traps arrived while this round ran. A
     * single trap starts a sweep at once (fabricd/sm/core/rounds.c). */
    uint32_t trap_settle_ms;
};

struct config_flapping {
    /* a link that goes down this many times in within_s is held down */
    uint32_t flaps;
    uint32_t within_s;
    /* First hold-down time; it doubles each time the link flaps too often again. 0: no link is held
     * down. */
    uint32_t hold_down_s;
    uint32_t max_hold_down_s; /* maximum hold-down time */
    /* Maximum number of links to exclude, in percent of a switch's uplinks, of its downlinks, and
     * of its other ISLs. */
    uint32_t max_excluded_percent;
};

enum config_on_errors {
    CONFIG_ON_ERRORS_REPORT,
    CONFIG_ON_ERRORS_ISOLATE,
    CONFIG_ON_ERRORS_DISABLE
};

struct config_counters {
    /* time in which every port is read once; 0: never */
    uint32_t interval_s;
    /* Time window in which the increases of a counter are added up. */
    uint32_t within_s;
    enum config_on_errors on_errors; /* what to do about an unhealthy link */
    /* 1: the manager clears counters that have reached their maximum. */
    uint32_t clear;
    /* By counter: threshold of the increase within within_s; 0: the counter is ignored. */
    uint32_t most[FAB_COUNTERS];
};

/* What the manager does about a host that misbehaves. */
enum config_offence { CONFIG_OFFENCE_REPORT, CONFIG_OFFENCE_ISOLATE };
struct config_offenders {
    /* What to do if a host answers as a manager that is not trusted. */
    enum config_offence refused_manager;
    /* what to do if such a host also sends control packets */
    enum config_offence forged_control;
    /* maximum number of hosts isolated at the same time */
    uint32_t max_isolated;
};

struct config_multicast {
    /* Maximum number of MLIDs in use; 0: the number of entries in the smallest MFT. */
    uint32_t mlids;
    enum fab_mcast_share share;
    /* time for which a port that left the fabric stays a member of its groups */
    uint32_t absent_s;
};

struct config_smp {
    /* time to wait for an answer to the first try */
    uint32_t timeout_ms;
    /* maximum number of retries after the first try */
    uint32_t retries;
    /* maximum number of requests in flight; 0: the limit of the transport */
    uint32_t window;
};

/* What happens to devices that are not in the baseline. */
enum config_unapproved { CONFIG_ALLOW, CONFIG_QUARANTINE, CONFIG_EXCLUDE };
struct config {
    char *state_dir;
    /* adapter port of the manager, as "CA:PORT"; "": the first active port */
    char *port;
    struct config_listen *listen;
    size_t listen_count;
    /* address of the HTTP server for metrics; text NULL: no server */
    struct config_listen metrics;
    /* Group that owns the Unix sockets; "": the group of the process. */
    char *socket_group;
    struct config_tls tls;
    enum log_level log_level;
    uint8_t unapproved;       /* enum config_unapproved */
    uint16_t quarantine_pkey; /* P_Key of the quarantine partition */
    struct config_sweep sweep;
    struct config_flapping flapping;
    struct config_counters counters;
    struct config_multicast multicast;
    struct config_offenders offenders;
    struct config_smp smp;
    /* share of one core for contingencies, in percent */
    uint32_t contingency_cpu;
    /* maximum memory of contingency plans in MiB; 0: no contingencies */
    uint32_t contingency_mb;
    /* Time without changes or traps before a rebalance; 0: no rebalances. */
    uint32_t rebalance_s;
    uint32_t journal_keep; /* number of events kept in the store */
    /* True: fabricd makes the M_Key (subnet.m_key is "generated"), and main sets policy.m_keys from
     * the key file. */
    bool m_key_generated;
    /* True: each port gets an M_Key of its own (subnet.m_key is "derived"). The member
     * m_key_generated is then true, too. */
    bool m_key_derived;
    /* True: fabricd makes the CC_Key (congestion.cc_key), and main sets policy.congestion.key from
     * the key file. */
    bool cc_key_generated;
    struct fab_policy policy;
};

/* Sets the default of every setting. $STATE_DIRECTORY and $RUNTIME_DIRECTORY, which systemd sets
 * for a unit, replace /var/lib/fabricd and /run/fabricd. Returns NOMEM; the caller then has nothing
 * to free. */
int config_defaults(struct config *ret);
/* Reads a configuration file. On an error *ret stays unchanged, and why[] has one sentence. If
 * the error has a place in the file, the sentence begins with "FILE:LINE:COLUMN: ".
 *
 * Returns NOT_FOUND, DENIED or IO if this file, or a file named in it, cannot be read. Returns
 * FORMAT if the file is not valid. Returns RANGE or INVAL if a value is not accepted. For a
 * list, returns EXISTS if it repeats a name, LIMIT if it is too long, and NOT_FOUND if it refers
 * to an unknown name. Returns NOMEM if memory ran out. */
int config_load(const char *file, struct config *ret, char *why, size_t why_len);
/* Like config_load, but for the text of a configuration file. Messages use `name` as the file
 * name. */
int config_load_text(const char *text, size_t len, const char *name, struct config *ret, char *why,
                     size_t why_len);
void config_fini(struct config *c);

/* Adds a listen address from the command line. If `replace` is true, the address replaces all
 * earlier addresses. The caller sets `replace` for the first address, so that the command line
 * overrides the file. Returns NOMEM or INVAL; for INVAL, why[] says what is wrong with the
 * address. */
int config_listen_add(struct config *c, const char *address, bool replace, char *why,
                      size_t why_len);
/* Checks what concerns several keys: the TLS files for a TLS address, and the policy. config_load
 * calls this function. Call it again after the command line changed the config. Returns NOMEM,
 * INVAL or RANGE; for INVAL and RANGE, why[] has the message. */
int config_check(const struct config *c, char *why, size_t why_len);

#endif
