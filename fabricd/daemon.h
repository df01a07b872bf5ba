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

/* Size in bytes of the array `why`, in which the functions below return the reason for an error. */
#define WHY_LEN 512

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
    /* the transport of a rehearsal or hardware report; NULL: this process makes neither */
    struct transport *readonly;
    char rehearsal_dir[64];   /* path of the copy of the state directory; "": there is no copy */
    bool report_good;         /* true: the rehearsal or the hardware report succeeded */
    struct fab_fabric *found; /* the fabric of the hardware report; NULL: there is none */
    struct hardware *hardware;
    struct recording recording; /* the recording that --replay plays */
    struct replica *replica;    /* NULL: the state is not replicated */
    /* [enum store_key_of] true: the key file existed before this start, or could not be read */
    bool had_keys[2];
    struct sm *sm;
    struct counters *history; /* history of counters; NULL: fabricd keeps none */
    struct pm *pm;
    struct inventory *inventory;
    struct cc *cc;
    struct sa *sa;
    struct rpc *rpc;
    struct metrics *metrics;
    struct alerts *alerts; /* NULL: no targets of alerts are configured */
    struct policy *policy; /* the applied policy */
    struct store_watch *store_watch;
    struct upkeep *upkeep;
    struct device_watch *device_watch;
    struct call_counts calls;
    struct tls_expiry tls_expiry;
    struct loop_timer *watchdog;
    uint64_t watchdog_us;
    struct loop_tasks reloads;
};

/* Passes the limits of the journal and of the audit log from the settings to the store. */
void daemon_keep(struct daemon *d);
/* Records an action of the manager itself in the audit log, for example a reload of its settings.
 * `object` is the object of the action, and `after` the value of the object after the action. */
void daemon_note(struct daemon *d, enum fab_grpc_code result, const char *method,
                 const char *object, const char *after, const char *message);

/* Functions of reload.c. */
/* Creates d->policy. From now on, the sections of the applied policy in the store replace those of
 * the settings. Returns the errors of policy_new, with the reason in why[]. */
int daemon_start_policy(struct daemon *d, char *why);
/* Some keys are in key files and not in the settings: the M_Key if it is "generated" or "derived",
 * the CC_Key if it is "generated", and the sa_key if it is not set. Reads these keys from their
 * files, and makes those that are missing. Logs a warning if a key is publicly known. Returns OK,
 * or an error with the reason in why[]. */
int daemon_take_keys(struct daemon *d, struct config *c, char *why);
/* Functions of shared_keys.c. daemon_note_keys notes which key files exist. Call this function
 * before daemon_take_keys, which makes missing files. */
void daemon_note_keys(struct daemon *d);
/* Takes over the keys that the managers share; does nothing if the state is not replicated. Called
 * once, at the start. Returns UNSUPPORTED if this manager does not understand the shared state, the
 * errors of daemon_take_keys, or an error of a key file, with the reason in why[]. */
int daemon_adopt_keys(struct daemon *d, char *why);
/* Reads the settings again (SIGHUP); without a settings file, only logs that there is none. A
 * worker thread reads them, because the name service, which looks up the names of users in
 * rpc.roles, may take a long time to answer. `ctx` is the daemon. */
void daemon_reload(void *ctx);

#endif
