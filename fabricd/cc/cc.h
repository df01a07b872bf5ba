/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control (IBA annex A10): computes settings for each new view, on the worker, and where
 * policy says so puts them into switches and adapters that do it: a device is read first, and only
 * what differs is written. It works only while the subnet manager is quiet, a few devices at a
 * time. Loop thread only.
 */
#ifndef FABRICD_CC_CC_H
#define FABRICD_CC_CC_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/congestion/advise.h"
#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/log.h"

struct transport;
struct cc;
struct cc_input {
    struct loop *loop;
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    const struct config *config; /* lives as long as the cc */
    /* What counters say, for advice; or NULL. */
    void (*seen)(void *ctx, struct fab_congestion_observed *ret);
    void *seen_ctx;
};
int cc_new(const struct cc_input *in, struct cc **ret);
void cc_free(struct cc *cc);
void cc_reload(struct cc *cc); /* the config changed */

enum cc_state {
    CC_PENDING,     /* not read yet */
    CC_PROGRAMMED,  /* has the computed settings */
    CC_UNSUPPORTED, /* says that it cannot, or never answered */
    CC_FOREIGN_KEY, /* has a CC_Key that is not ours */
    CC_FAILED,      /* did not take what was written */
    CC_STATES
};
/* "pending", "programmed", "unsupported", "foreign-key", "failed" */
const char *cc_state_name(enum cc_state state);

struct cc_status {
    bool apply;
    uint8_t profile;             /* enum fab_congestion_profile */
    uint64_t generation;         /* of the view that the settings were computed for; 0: none yet */
    uint32_t settings;           /* different ones */
    uint32_t devices[CC_STATES]; /* switches, and ports of adapters */
    uint32_t fan_in;             /* that is counted on */
    uint64_t compute_us;         /* of the last computation */
    uint64_t reads, writes;      /* answered, since the start */
    uint64_t log_reads, log_events; /* likewise: logs; events that they told of */
    uint32_t without_log;           /* devices, but for those of UNSUPPORTED */
    uint64_t changed;               /* times that a device was found to be other than it was set */
    uint32_t changed_of_late;       /* devices of which that is so, in the last hour */
};
void cc_get_status(const struct cc *cc, struct cc_status *ret);

/* Those that are not in force: of states UNSUPPORTED, FOREIGN_KEY and FAILED. Returns how many
 * there are, at most `max` of which are in ret. */
struct cc_device_status {
    uint64_t guid; /* of the node */
    uint8_t port;  /* 0: a switch */
    enum cc_state state;
    bool silent; /* UNSUPPORTED: no answer, else it refused */
    uint8_t tries;
    bool gives_up; /* not asked again before it comes anew */
};
uint32_t cc_troubled(const struct cc *cc, struct cc_device_status *ret, uint32_t max);
/* Of the device that owns a port; false: not known. */
bool cc_device_of(const struct cc *cc, const struct fab_fabric *f, uint32_t port,
                  struct cc_device_status *ret);

/* Congestion logs, of the devices of a node, or (node_guid 0) of all that logged anything or have
 * none. Returns how many there are, at most `max` of which are in ret. Only where devices are set,
 * and counters are read. */
struct cc_log_status {
    uint64_t guid;                        /* of the node */
    uint8_t port;                         /* 0: a switch */
    bool none;                            /* it has no log */
    int64_t read_us;                      /* Unix time; 0: not yet */
    const struct fab_congestion_log *log; /* until the return to the loop; NULL: it is empty */
};
uint32_t cc_logs(const struct cc *cc, uint64_t node_guid, struct cc_log_status *ret, uint32_t max);
/* Adds for each LID below `lids` the adapters whose logs say that they were slowed down on the way
 * to it, in the last two readings or the last minute. */
void cc_crowds(const struct cc *cc, uint16_t *senders, uint32_t lids);

/* What no longer fits, as sentences, FAB_CONGESTION_ADVICES of them at most; returns how many. */
unsigned cc_advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN]);

/* The settings for a view. Borrowed until the return to the loop. BUSY: they are another view's, or
 * of other wishes. */
int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret);
/* Computes them for that view if nothing is being computed, and tells, once, when that is over;
 * then settings may be those of a later view all the same, or none could be computed. NOMEM: it
 * will not be told. */
int cc_await(struct cc *cc, const struct fab_view *v, loop_fn *fn, void *ctx);

#endif
