/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of congestion control, shared by the files of this room only. */
#ifndef FABRICD_CC_PRIVATE_H
#define FABRICD_CC_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/base/events.h"
#include "fabricd/cc/cc.h"
#include "fabricd/cc/compute.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/congestion/log.h"
#include "libfabmgr/wire/gs.h"

#define CC_JOBS 32 /* devices at a time, each with one request under way */
#define CC_TRIES 3

struct cc_device { /* a switch, or a port of an adapter */
    uint64_t port_guid, node_guid;
    uint64_t want;       /* digest of what it shall have; 0: nothing */
    uint64_t stands;     /* digest of what it has; 0: not known */
    uint64_t pass;       /* the computation that saw it last */
    uint64_t due_us;     /* not before */
    uint64_t changed_us; /* when it was found to be other than it was set; 0: never */
    uint32_t port;       /* id in the fabric of the settings; of a switch: of its port 0 */
    uint8_t ports;       /* of a switch */
    uint16_t lid;
    uint8_t num; /* of the port; 0: a switch */
    uint8_t table_blocks;
    uint8_t state; /* enum cc_state */
    uint8_t tries;
    bool silent, busy;
    bool no_log; /* it is not asked for its log any more */
    uint8_t log_tries;
    uint64_t logged_us;             /* when its log was read last; 0: not yet */
    struct fab_congestion_log *log; /* owned; NULL: nothing was logged */
};
struct cc_logs {
    struct loop_timer *timer;
    uint64_t began_us; /* the pass */
    uint32_t cursor;   /* device */
    uint32_t waiting;  /* requests that were not answered yet */
    uint64_t reads, events;
};

/* What is done to a device, one request after the other. */
enum cc_step {
    CC_STEP_KEY,
    CC_STEP_INFO,
    CC_STEP_SWITCH,
    CC_STEP_PORTS,
    CC_STEP_TABLE,
    CC_STEP_CA
};
struct cc_job {
    struct cc *cc;
    uint32_t device;
    uint8_t step;  /* enum cc_step */
    uint8_t block; /* of that attribute */
    bool set;      /* the request under way is a Set */
    bool active;
    bool parked; /* the request waits for quiet */
    uint8_t gmp[FAB_GMP_DATA];
};

struct cc_waiter {
    loop_fn *fn;
    void *ctx;
};
struct cc {
    struct cc_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct loop_timer *timer;
    struct fab_map index; /* GUID of the port that owns the LID -> device */
    struct cc_device *devices;
    uint32_t device_count;
    size_t device_room;
    uint32_t cursor;  /* device to be looked at next */
    uint32_t waiting; /* devices of state WAITS */
    struct cc_job jobs[CC_JOBS];
    struct cc_logs logs;
    struct fab_congestion settings;
    struct cc_work *work;      /* that is under way; NULL: none */
    struct cc_waiter *waiters; /* for it to be over */
    size_t waiter_count, waiter_room;
    uint64_t generation, pass, computed_us, compute_us;
    uint64_t seen, seen_us; /* generation of the last view that was looked at, and since when */
    bool stale;             /* compute again, though the view is the same */
    uint64_t reads, writes;
    uint32_t written;  /* devices, since the last time that was told */
    uint32_t troubled; /* devices, when that was told last */
    uint64_t changed;  /* times that a device was found to be other than it was set */
    uint64_t advised_us, told_us[FAB_CONGESTION_ADVICES]; /* looked at; told, by kind */
};

/* ---- cc.c ---- */
void cc_tick(void *ctx);
bool cc_applies(const struct cc *cc); /* devices are set */

/* ---- advise.c ---- */
/* What does not fit is told as an event, if it is time to look. */
void cc_tell_advice(struct cc *cc, uint64_t now);

/* ---- devices.c ---- */
/* Begins to compute settings for this view, if it is not under way. NOMEM. */
int cc_begin(struct cc *cc, const struct fab_view *v);
void cc_devices_fini(struct cc *cc);

/* ---- program.c ---- */
/* Begins with some of the devices that are due, goes on with those that are parked. */
void cc_program(struct cc *cc, uint64_t now);
/* What is under way is dropped, readings of logs too. */
void cc_program_stop(struct cc *cc);
/* Of a status: the class, the method or the attribute is not known there (IBA 13.4.7). */
bool cc_says_unknown(uint16_t status);

/* ---- log.c ---- */
void cc_log_tick(void *ctx);
void cc_log_stop(struct cc *cc); /* the requests are gone */

/* ---- attrs.c: what a device shall have, attribute by attribute ---- */
/* Puts what shall stand into `data` (FAB_GS_DATA bytes), which holds what was read. True: that
 * changed it. */
bool cc_merge(const struct cc *cc, const struct cc_device *d, enum cc_step step, uint8_t block,
              uint8_t *data);
/* Blocks of the attribute of that step. */
uint8_t cc_blocks(const struct cc *cc, const struct cc_device *d, enum cc_step step);

#endif
