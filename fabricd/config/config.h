/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the configuration from one YAML file into options of the daemon and the policy of the
 * fabric. Every key has a default; doc/fabricd.yaml.5 and etc/fabricd.yaml list the keys. If the
 * file has an error, none of its values take effect.
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
    char *text;    /* as configured: "unix:/run/fabricd/fabricd.sock", "tls:[::1]:7471" */
    char *host;    /* unix: the path; tls: host name or address without brackets, "*": all local
                      addresses */
    uint16_t port; /* tls: 1..65535 */
};

struct config_tls { /* PEM files; either all three are set or all are NULL */
    char *cert, *key, *ca;
};

struct config_sweep {
    uint32_t light_interval_s; /* time between light sweeps; 0: no light sweeps */
    uint32_t heavy_interval_s; /* time between heavy sweeps; 0: no regular heavy sweeps */
    uint32_t scrub_interval_s; /* time in which the scrub reads LFTs, PortInfo, P_Key tables and
                                  MFTs once; 0: no scrub */
    /* A single trap starts a sweep at once. If traps arrive while a round runs, the manager waits
     * this long after its end (fabricd/sm/core/rounds.c). */
    uint32_t trap_settle_ms;
};

struct config_flapping {
    uint32_t flaps; /* a link that goes down this many times in within_s is held down */
    uint32_t within_s;
    uint32_t hold_down_s;     /* first hold-down time, doubled each time; 0: no link is held down */
    uint32_t max_hold_down_s; /* the longest hold-down */
    /* Most links to exclude, in percent of a switch's uplinks, of its downlinks, or of its other
     * ISLs. */
    uint32_t max_excluded_percent;
};

enum config_on_errors {
    CONFIG_ON_ERRORS_REPORT,
    CONFIG_ON_ERRORS_ISOLATE,
    CONFIG_ON_ERRORS_DISABLE
};

struct config_counters {
    uint32_t interval_s;             /* time in which every port is read once; 0: never */
    uint32_t within_s;               /* window in which increases are summed */
    enum config_on_errors on_errors; /* what to do about an unhealthy link */
    uint32_t clear;                  /* 1: clear counters that have reached their maximum */
    uint32_t most[FAB_COUNTERS];     /* threshold of each counter's increase; 0: it is ignored */
};

/* What the manager does about a host that misbehaves. */
enum config_offence { CONFIG_OFFENCE_REPORT, CONFIG_OFFENCE_ISOLATE };
struct config_offenders {
    enum config_offence refused_manager; /* it answers as a manager that is not trusted */
    enum config_offence forged_control;  /* such a manager also sent control packets */
    uint32_t max_isolated; /* maximum number of hosts that are isolated for an offence */
};

struct config_multicast {
    uint32_t mlids; /* maximum number of MLIDs in use; 0: as many as the smallest multicast table
                       has room for */
    enum fab_mcast_share share;
    uint32_t absent_s; /* how long a port that left the fabric stays a member of its groups */
};

struct config_smp {
    uint32_t timeout_ms; /* time to wait for an answer to the first try */
    uint32_t retries;    /* retries after the first try */
    uint32_t window;     /* maximum number of requests in flight; 0: the limit of the transport */
};

struct config {
    char *state_dir;
    char *port; /* the manager's adapter port, "CA:PORT"; "": the first active one */
    struct config_listen *listen;
    size_t listen_count;
    struct config_listen metrics; /* host and port of the HTTP server; text NULL: no server */
    char *socket_group;           /* group of the Unix sockets; "": the group of the process */
    struct config_tls tls;
    enum log_level log_level;
    struct config_sweep sweep;
    struct config_flapping flapping;
    struct config_counters counters;
    struct config_multicast multicast;
    struct config_offenders offenders;
    struct config_smp smp;
    uint32_t contingency_mb; /* memory for repair plans of contingencies, MiB; 0: none */
    uint32_t rebalance_s;    /* time without faults before a rebalance; 0: never */
    uint32_t journal_keep;   /* number of events kept in the store */
    bool m_key_generated;    /* subnet.m_key is "generated": main sets policy.m_key from the file */
    struct fab_policy policy;
};

/* Sets the defaults. $STATE_DIRECTORY and $RUNTIME_DIRECTORY, which systemd sets for a unit,
 * replace /var/lib/fabricd and /run/fabricd. NOMEM: the caller has nothing to free. */
int config_defaults(struct config *ret);
/* Reads a file. On failure *ret is unchanged, and why[] has one sentence, which starts with
 * "FILE:LINE:COLUMN: " if the error has a place in the file. NOT_FOUND, DENIED, IO: this file, or
 * a file that it names, cannot be read. FORMAT: the file is not valid. RANGE, INVAL: a value is not
 * accepted. EXISTS, LIMIT, NOT_FOUND: a traffic class or another list repeats a name, is too long,
 * or refers to an unknown name. NOMEM. */
int config_load(const char *file, struct config *ret, char *why, size_t why_len);
/* Reads the text of a file, with the same errors. Messages use `name` as the file name. */
int config_load_text(const char *text, size_t len, const char *name, struct config *ret, char *why,
                     size_t why_len);
void config_fini(struct config *c);

/* Adds an address from the command line. If `replace` is true, the address replaces all earlier
 * ones; the caller sets it for the first address, so that the command line overrides the file.
 * INVAL: why[] says what is wrong with the address; NOMEM. */
int config_listen_add(struct config *c, const char *address, bool replace, char *why,
                      size_t why_len);
/* Checks what involves several keys: the TLS files for a TLS address, and the policy. config_load
 * calls this function; call it again after the command line changed the config. INVAL, RANGE: why[]
 * has the message; NOMEM. */
int config_check(const struct config *c, char *why, size_t why_len);

#endif
