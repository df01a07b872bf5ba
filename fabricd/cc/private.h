/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of congestion control. For this folder only. */
#ifndef FABRICD_CC_PRIVATE_H
#define FABRICD_CC_PRIVATE_H

#include "fabricd/agent/agent.h"
#include "fabricd/base/events.h"
#include "fabricd/cc/cc.h"
#include "fabricd/cc/compute.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/congestion/log.h"
#include "libfabmgr/wire/gs.h"

/* Byte offset of the key in the data after the common MAD header. */
#define CC_AT_KEY (FAB_CC_KEY - 24)
#define CC_AT_ATTR (FAB_CC_DATA - 24)
/* devices programmed at the same time, each with one request in flight */
#define CC_JOBS 32
#define CC_TRIES 3

/* The CC_Key of a device, as it was last read. */
enum cc_key {
    /* the key was not read, or the device does not support congestion control */
    CC_KEY_UNREAD,
    CC_KEY_CURRENT,
    /* the device has the previous key, or may have it */
    CC_KEY_FORMER,
    CC_KEY_FOREIGN
};

/* a switch, or a port of an adapter */
struct cc_device {
    uint64_t port_guid, node_guid;
    /* digest of the computed settings; 0: no settings */
    uint64_t want;
    /* Digest of the settings that the device has; 0: unknown; 1: the settings are being written. */
    uint64_t stands;
    /* number of the last computation in which the device was present */
    uint64_t pass;
    /* when the manager may next read the device; UINT64_MAX: never */
    uint64_t due_us;
    /* When the manager last read settings that differed from those it had written; 0: never. */
    uint64_t changed_us;
    /* Id of the port that owns the device's LID, in the snapshot for which the settings were
     * computed. For a switch: port 0. */
    uint32_t port;
    uint8_t ports; /* number of ports of the node */
    uint16_t lid;
    /* port number on an adapter; 0: the device is a switch */
    uint8_t num;
    uint8_t table_blocks;
    uint8_t state; /* enum cc_state */
    uint8_t key;   /* enum cc_key */
    /* number of failures since the device was last programmed */
    uint8_t tries;
    bool unresponsive, busy;
    bool counted;        /* `violations` was read */
    uint16_t violations; /* CC_KeyViolations when last read */
    /* the manager no longer reads the device's log */
    bool no_log;
    uint8_t log_tries;
    /* when the log was last read; 0: not yet */
    uint64_t logged_us;
    /* owned by this struct; NULL: the device has logged nothing */
    struct fab_congestion_log *log;
};
struct cc_logs {
    struct loop_timer *timer;
    /* when the running pass over the devices began */
    uint64_t began_us;
    /* index of the device whose log the pass reads next */
    uint32_t cursor;
    uint32_t waiting; /* requests in flight */
    /* logs read since the start, and congestion events in them */
    uint64_t reads, events;
};

/* The attributes that a job reads and writes, in this order. */
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
    uint8_t block; /* number of the block of this attribute */
    bool set;      /* the request in flight is a Set */
    bool active;
    /* the job waits until the subnet manager is idle */
    bool parked;
    /* The members below are only for CC_STEP_KEY. */
    /* The job ends when the device has the key. It does not read the settings, because they have
     * not changed. */
    bool only_key;
    /* the device was asked with the current and with the previous key */
    bool other_asked;
    /* The Set in flight carries a wrong key on purpose, to start the lease. */
    bool starts_lease;
    bool lease_begun;
    uint8_t key_sets;
    /* CC_KeyLeasePeriod of the device, in seconds; 0: no lease */
    uint16_t lease_s;
    /* CC_Key in the header of all requests of this job */
    uint64_t key;
    uint8_t gmp[FAB_GMP_DATA];
};

struct cc_keys { /* state of key.c */
    struct store_m_key file;
    /* Number of devices that still get the current key, without devices that were given up. */
    uint32_t due;
    uint64_t counted_us; /* when `due` was last counted */
    /* `key` of some device has changed since `due` was last counted */
    bool moved;
    /* When the present minute began. At most KEY_EVENTS events are emitted in a minute. */
    uint64_t told_us;
    uint32_t told, untold;
};

struct cc_waiter {
    loop_fn *fn;
    void *ctx;
};
struct cc {
    struct cc_input in;
    struct agent *agent;
    struct fab_mads *mads;
    /* take: copies the results of `work` to `devices` */
    struct loop_timer *timer, *take;
    /* GUID of the port that owns a device's LID -> index in `devices` */
    struct fab_map index;
    struct cc_device *devices;
    uint32_t device_count;
    size_t device_room;
    /* index of the device to be checked next */
    uint32_t cursor;
    uint32_t waiting; /* number of devices of state CC_PENDING */
    struct cc_job jobs[CC_JOBS];
    struct cc_logs logs;
    struct cc_keys keys;
    /* the settings file was read again since the last computation began */
    bool reloaded;
    struct fab_congestion settings;
    struct cc_work *work; /* the running computation; NULL: none */
    /* the computation has ended, and its results are being copied to `devices` */
    bool taking;
    /* callers that wait for the end of the computation */
    struct cc_waiter *waiters;
    size_t waiter_count, waiter_room;
    uint64_t generation, pass, computed_us, compute_us;
    /* Generation of the last view, and the time at which the timer first saw this view. */
    uint64_t seen, seen_us;
    /* the settings must be computed again, even for the same view */
    bool stale;
    uint64_t reads, writes;
    /* devices programmed since the last event about programming */
    uint32_t written;
    /* devices without the computed settings when the last event was emitted */
    uint32_t troubled;
    /* How often a device was found with other settings than the manager had written. */
    uint64_t changed;
    /* When advice was last computed, and when each kind of advice was last emitted as an event. */
    uint64_t advised_us, told_us[FAB_CONGESTION_ADVICES];
};

/* ---- cc.c ---- */
void cc_tick(void *ctx);
bool cc_applies(const struct cc *cc); /* returns whether congestion.apply is set */
/* Emits an event with the number of devices in each state. This happens when no device is pending,
 * if the manager has programmed devices or if the number of devices without settings has changed.
 */
void cc_tell_outcome(struct cc *cc);

/* ---- advise.c ---- */
/* Emits advice as events, once in each counter interval. */
void cc_report_advice(struct cc *cc, uint64_t now);

/* ---- devices.c ---- */
/* Starts a computation of settings for this view, unless a computation is running. Returns
 * NOMEM. */
int cc_begin(struct cc *cc, const struct fab_view *v);
/* copies a part of the results to the list of devices; for the timer `take` */
void cc_devices_take(void *ctx);
void cc_devices_fini(struct cc *cc);

/* ---- program.c ---- */
/* Starts jobs for a few devices that are due, and continues jobs that waited for the subnet
 * manager. */
void cc_program(struct cc *cc, uint64_t now);
/* Cancels all requests and jobs, and stops reading logs. */
void cc_program_stop(struct cc *cc);
/* Returns whether a MAD status means that the device does not support the class, method or
 * attribute (IBA 13.4.7). */
bool cc_says_unknown(uint16_t status);
/* These functions are for key_info.c. Each sends the next request of the job, or ends the job. */
struct cc_device *cc_job_device(struct cc_job *j);
/* Sends a Get of this attribute. */
void cc_job_ask(struct cc_job *j, enum cc_step step, uint8_t block);
/* sends a Set of the attribute in j->gmp */
void cc_job_tell(struct cc_job *j);
void cc_job_go_on(struct cc_job *j);
void cc_job_finish(struct cc_job *j, enum cc_state state, bool unresponsive);

/* ---- key_info.c: the step CC_STEP_KEY ---- */
void cc_key_begin(struct cc_job *j);
/* Handles the answer to a Get or Set of CongestionKeyInfo. */
void cc_key_answered(struct cc_job *j, const uint8_t *attr);
void cc_key_failed(struct cc_job *j, const struct fab_mads_answer *a);

/* ---- key.c: the key file, and the rotation ---- */
/* Reads the key file. If the settings have another key, that key becomes the current one. Returns
 * NOMEM, IO, DENIED or FORMAT. */
int cc_keys_init(struct cc *cc);
void cc_keys_fini(struct cc *cc);
void cc_keys_reload(struct cc *cc);
/* Counts the devices that still get the current key. Ends the rotation if there are none. */
void cc_keys_tick(struct cc *cc, uint64_t now);
/* Returns the CC_Key of a device, for the header of requests. */
uint64_t cc_key_of(const struct cc *cc, const struct cc_device *d);
/* Returns whether the key file has a current or previous key. */
bool cc_has_keys(const struct cc *cc);
void cc_key_is(struct cc *cc, struct cc_device *d, enum cc_key key);
/* Emits events about changes in the CongestionKeyInfo that a device has shown. */
void cc_key_watch(struct cc *cc, struct cc_device *d, const struct fab_cc_key_info *info);

/* ---- log.c ---- */
void cc_log_tick(void *ctx);
void cc_log_stop(struct cc *cc); /* call after the requests were cancelled */

/* ---- attrs.c: the wanted value of each attribute of a device ---- */
/* Changes the attribute in `data` (FAB_GS_DATA bytes, as read from the device) to the computed
 * value. Returns whether the value was different. */
bool cc_merge(const struct cc *cc, const struct cc_device *d, enum cc_step step, uint8_t block,
              uint8_t *data);
/* Returns the number of blocks of the attribute that this step handles. */
uint8_t cc_blocks(const struct cc *cc, const struct cc_device *d, enum cc_step step);

#endif
