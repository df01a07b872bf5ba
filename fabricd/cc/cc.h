/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control (IBA annex A10). A worker computes settings for each new view. If
 * congestion.apply is set, they are written into switches and adapters that support them: each
 * device is read first, and only differences are written. A few devices are handled at a time,
 * and only while the subnet manager is idle. Loop thread only.
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
    const struct config *config; /* must outlive the cc */
    /* Returns what the port counters show, for advice; may be NULL. */
    void (*seen)(void *ctx, struct fab_congestion_observed *ret);
    void *seen_ctx;
};
int cc_new(const struct cc_input *in, struct cc **ret);
void cc_free(struct cc *cc);
void cc_reload(struct cc *cc); /* after the configuration changed */

enum cc_state {
    CC_PENDING,     /* not read yet */
    CC_PROGRAMMED,  /* has the computed settings */
    CC_UNSUPPORTED, /* refuses the class, or never answered */
    CC_FOREIGN_KEY, /* has a CC_Key other than the configured one */
    CC_FAILED,      /* refused the settings */
    CC_STATES
};
/* "pending", "programmed", "unsupported", "foreign-key", "failed" */
const char *cc_state_name(enum cc_state state);

struct cc_status {
    bool apply;
    uint8_t profile;             /* enum fab_congestion_profile */
    uint64_t generation;         /* of the view that the settings were computed for; 0: none yet */
    uint32_t settings;           /* distinct settings */
    uint32_t devices[CC_STATES]; /* switches, and ports of adapters */
    uint32_t fan_in;             /* the assumed number of senders to one endport */
    uint64_t compute_us;         /* of the last computation */
    uint64_t reads, writes;      /* answered, since the start */
    uint64_t log_reads, log_events; /* congestion logs read, and events in them */
    uint32_t without_log;      /* devices without a congestion log, UNSUPPORTED ones not counted */
    uint64_t changed;          /* how often a device had other settings than were written */
    uint32_t changed_recently; /* devices that had other settings within the last hour */
};
void cc_get_status(const struct cc *cc, struct cc_status *ret);

/* Devices without the computed settings: states UNSUPPORTED, FOREIGN_KEY and FAILED. Returns how
 * many there are and fills in at most `max` of them. */
struct cc_device_status {
    uint64_t guid; /* of the node */
    uint8_t port;  /* 0: a switch */
    enum cc_state state;
    bool silent; /* UNSUPPORTED: no answer, else it refused */
    uint8_t tries;
    bool gives_up; /* not retried until it leaves the fabric and comes back */
};
uint32_t cc_not_programmed(const struct cc *cc, struct cc_device_status *ret, uint32_t max);
/* The state of the device that owns a port; false if the device is not known. */
bool cc_device_of(const struct cc *cc, const struct fab_fabric *f, uint32_t port,
                  struct cc_device_status *ret);

/* Congestion logs of the devices of one node, or (node_guid 0) of all devices that logged
 * anything or have no log. Returns how many there are and fills in at most `max`. Logs are read
 * only if congestion.apply is set and counters are read. */
struct cc_log_status {
    uint64_t guid;                        /* of the node */
    uint8_t port;                         /* 0: a switch */
    bool none;                            /* it has no log */
    int64_t read_us;                      /* Unix time; 0: not yet */
    const struct fab_congestion_log *log; /* until the return to the loop; NULL: it is empty */
};
uint32_t cc_logs(const struct cc *cc, uint64_t node_guid, struct cc_log_status *ret, uint32_t max);
/* Adds, for each LID below `lids`, the number of adapters that were throttled on their way to
 * it, according to congestion logs of the last two readings or of the last minute. */
void cc_count_senders(const struct cc *cc, uint16_t *senders, uint32_t lids);

/* Advice as sentences, at most FAB_CONGESTION_ADVICES; returns how many. */
unsigned cc_advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN]);

/* The settings for a view, valid until the caller returns to the loop. BUSY: the settings at
 * hand belong to another view or configuration. */
int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret);
/* Computes the settings for that view unless a computation is running, and calls fn once when
 * the computation ends. The settings may then belong to a later view, or be missing after an
 * error. NOMEM: fn will not be called. */
int cc_await(struct cc *cc, const struct fab_view *v, loop_fn *fn, void *ctx);

#endif
