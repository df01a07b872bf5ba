/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: one YAML file -> options of the daemon and the policy of the fabric. Every key
 * has a default; doc/fabricd.yaml.5 and etc/fabricd.yaml list them. A bad file changes nothing.
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
    char *text;    /* as written: "unix:/run/fabricd/fabricd.sock", "tls:[::1]:7471" */
    char *host;    /* unix: the path; tls: host name or address without brackets, "*": every one */
    uint16_t port; /* tls: 1..65535 */
};

struct config_tls { /* PEM files; all three or none (NULL) */
    char *cert, *key, *ca;
};

struct config_sweep {
    uint32_t light_interval_s; /* light look; 0: never */
    uint32_t heavy_interval_s; /* whole discovery without a cause; 0: never */
    uint32_t trap_settle_ms;   /* after a trap, wait so long for more of them */
};

struct config_flapping {
    uint32_t flaps;                /* of a cable that lead to a hold */
    uint32_t within_s;             /* as long as that they count */
    uint32_t hold_down_s;          /* the first hold; it doubles; 0: nothing is held */
    uint32_t max_hold_down_s;      /* the longest */
    uint32_t max_excluded_percent; /* of a switch's links to switches, in one direction */
};

enum config_on_errors {
    CONFIG_ON_ERRORS_REPORT,
    CONFIG_ON_ERRORS_ISOLATE,
    CONFIG_ON_ERRORS_DISABLE
};

struct config_counters {
    uint32_t interval_s;             /* every port is read once in so long; 0: never */
    uint32_t within_s;               /* as long as that a rise counts */
    enum config_on_errors on_errors; /* what is done about a cable whose errors rise too fast */
    uint32_t clear;                  /* 1: counters that are full are cleared; 0: none ever is */
    uint32_t most[FAB_COUNTERS];     /* a rise by as much is too much; 0: never */
};

struct config_multicast {
    uint32_t mlids; /* the most that are used; 0: as many as the smallest table has */
    enum fab_mcast_share share;
    uint32_t absent_s; /* how long a port that is gone stays a member */
};

struct config_smp {
    uint32_t timeout_ms; /* of the first try */
    uint32_t retries;    /* tries after the first */
    uint32_t window;     /* most requests in flight; 0: what the transport bears */
};

struct config {
    char *state_dir;
    char *port; /* the adapter port we sit on, "CA:PORT"; "": the first active one */
    struct config_listen *listen;
    size_t listen_count;
    struct config_listen metrics; /* host and port of plain HTTP; text NULL: none */
    char *socket_group;           /* of Unix sockets; "": leave it */
    struct config_tls tls;
    enum log_level log_level;
    struct config_sweep sweep;
    struct config_flapping flapping;
    struct config_counters counters;
    struct config_multicast multicast;
    struct config_smp smp;
    uint32_t contingency_mb; /* memory for plans of faults to come; 0: none are made */
    uint32_t rebalance_s;    /* quiet after which repaired tables are computed anew; 0: never */
    uint32_t journal_keep;   /* events kept in the store */
    struct fab_policy policy;
};

/* The defaults. $STATE_DIRECTORY and $RUNTIME_DIRECTORY, which systemd sets for a unit, stand for
 * /var/lib/fabricd and /run/fabricd. NOMEM: nothing to free. */
int config_defaults(struct config *ret);
/* Reads a file. On failure *ret is untouched and why[] holds one sentence that starts with
 * "FILE:LINE:COLUMN: " where a place in the file is at fault. NOT_FOUND, DENIED, IO: the file
 * cannot be read; FORMAT: it is not of the form; RANGE, INVAL: a value is outside its domain. */
int config_load(const char *file, struct config *ret, char *why, size_t why_len);
/* The same from memory; name stands for the file in sentences. */
int config_load_text(const char *text, size_t len, const char *name, struct config *ret, char *why,
                     size_t why_len);
void config_fini(struct config *c);

/* For the command line, which overrides the file: an address instead of those of the config
 * (the first call) or in addition (later ones: replace == false). why[] says what is wrong. */
int config_listen_add(struct config *c, const char *address, bool replace, char *why,
                      size_t why_len);
/* What only the whole can show: TLS files for a TLS address, the policy. config_load calls it; call
 * it again after the command line changed something. */
int config_check(const struct config *c, char *why, size_t why_len);

#endif
