/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the running daemon. main.c starts and stops them, and reload.c changes their
 * settings. */
#ifndef FABRICD_DAEMON_H
#define FABRICD_DAEMON_H

#include "fabricd/config/config.h"
#include "fabricd/loop/task.h"
#include "fabricd/options.h"
#include "fabricd/recording.h"
#include "fabricd/rpc/rpc.h"
#include "libfabmgr/grpc/grpc.h"

#define WHY_LEN                                                                                    \
    512 /* size of the array `why` of each function, which gets the reason of an error */

struct daemon {
    struct options options;
    struct config config;
    bool has_config;
    struct loop *loop;
    struct store *store;
    struct bus *bus;
    struct fab_sim *sim;
    struct transport *transport;
    bool lost; /* the device of the transport is gone */
    /* records the MADs of sm and pm; NULL: no recording is made */
    struct transport *recorder;
    struct recording recording; /* the recording that --replay plays */
    struct sm *sm;
    struct counters *history; /* history of counters; NULL: fabricd keeps none */
    struct pm *pm;
    struct cc *cc;
    struct sa *sa;
    struct rpc *rpc;
    struct metrics *metrics;
    struct store_watch *store_watch;
    struct upkeep *upkeep;
    struct device_watch *device_watch;
    struct call_counts calls;
    struct tls_expiry tls_expiry;
    struct loop_timer *watchdog;
    uint64_t watchdog_us;
    struct loop_tasks reloads;
};

/* Gives the store the settings that limit the journal and the audit log. */
void daemon_keep(struct daemon *d);
/* Records in the audit log what the manager itself did, for example that it reloaded its settings:
 * the result, the method, its object, what holds afterwards, and a message. */
void daemon_note(struct daemon *d, enum fab_grpc_code result, const char *method,
                 const char *object, const char *after, const char *message);

/* Functions of reload.c. */
/* Reads or makes the keys for which the settings say "generated". Logs a warning for keys that are
 * publicly known. Returns OK, or an error and why[]. */
int daemon_take_keys(struct daemon *d, struct config *c, char *why);
/* Reads the settings again (SIGHUP), on a worker thread: `rpc.roles` has names of users, and the
 * directory server that knows them may take long to answer. ctx: the daemon. */
void daemon_reload(void *ctx);

#endif
