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

/* byte offset of the CC_Key in the data after the common MAD header */
#define CC_AT_KEY (FAB_CC_KEY - 24)
#define CC_AT_ATTR (FAB_CC_DATA - 24)
/* number of jobs: devices that are programmed at the same time, each with one request in flight */
#define CC_JOBS 32
#define CC_TRIES 3

/* Which CC_Key a device has, as last read. */
enum cc_key {
    /* the key was not read yet, or the device does not support congestion control */
    CC_KEY_UNREAD,
    CC_KEY_CURRENT,
    /* the device has the previous key, or may still have it */
    CC_KEY_FORMER,
    CC_KEY_FOREIGN
};

/* A device that congestion control knows: a switch, or a port of an adapter. */
struct cc_device {
    uint64_t port_guid, node_guid;
    /* digest of the settings that were computed for the device; 0: none */
    uint64_t want;
    /* digest of the settings that are programmed in the device; 0: unknown; 1: the settings are
     * being written */
    uint64_t digest;
    /* number of the last computation whose result included the device; devices that a result does
     * not include have left the fabric */
    uint64_t pass;
    /* time in us at which the manager may read the device again; UINT64_MAX: never */
    uint64_t due_us;
    /* Time in us (manager's clock) at which the manager last read settings from the device that
     * were not the ones it had written; 0: never. */
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
    /* Number of failed attempts to program the device, at most CC_TRIES. 0 again when the device is
     * programmed, and when the manager has a new reason to try: other settings, another CC_Key, or
     * a reload. */
    uint8_t tries;
    bool unresponsive, busy;
    bool counted;        /* `violations` has a value that may be compared with the next one */
    uint16_t violations; /* CC_KeyViolations when last read */
    /* true: the manager has stopped reading the congestion log of this device (see log.c) */
    bool no_log;
    uint8_t log_tries;
    /* time in us at which the congestion log was last read; 0: not yet */
    uint64_t logged_us;
    /* the last congestion log that was read from the device; freed with this struct; NULL: no log
     * with entries was read */
    struct fab_congestion_log *log;
};
struct cc_logs {
    struct loop_timer *timer;
    /* time in us at which the present pass over all devices began */
    uint64_t began_us;
    /* index of the device whose log the pass reads next */
    uint32_t cursor;
    uint32_t waiting; /* number of requests for logs that are in flight */
    /* reads: number of congestion logs that were read since the start. events: number of
     * congestion events in them. */
    uint64_t reads, events;
};

/* The steps of a job, which programs one device. Each step reads and writes one attribute, in this
 * order. A switch has no steps TABLE and CA, and an adapter has no steps SWITCH and PORTS. Without
 * CC_Keys, there is no step KEY. */
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
    /* true: the next request of the job is prepared, but will be sent only when the subnet manager
     * is idle */
    bool parked;
    /* The members from `only_key` to `lease_s` are only for CC_STEP_KEY. */
    /* true: the settings of the device need no change, so the job ends when the device has the
     * current key */
    bool only_key;
    /* true: the job has sent requests to the device with both keys in the key file (the current and
     * the previous one) */
    bool other_asked;
    /* true: the Set in flight carries a wrong key on purpose, which starts the lease of the
     * device's key */
    bool starts_lease;
    bool lease_begun;
    uint8_t key_sets;
    /* CC_KeyLeasePeriod of the device, in seconds; 0: no lease */
    uint16_t lease_s;
    /* CC_Key in the header of the next requests of this job */
    uint64_t key;
    uint8_t gmp[FAB_GMP_DATA];
};

struct cc_keys { /* state of key.c */
    struct store_m_key file;
    /* number of devices to which the manager must still give the current key; not counted: devices
     * that it has given up, that have a foreign key, or that refuse the class */
    uint32_t due;
    uint64_t counted_us; /* time in us (manager's clock) at which `due` was last counted */
    /* true: since `due` was last counted, a device has shown a key that differs from its earlier
     * one */
    bool moved;
    /* Limit for the events cc-key-violation and cc-key-exposed: both together, at most KEY_EVENTS
     * are emitted in a minute. minute_us: time (manager's clock) at which the present minute began.
     * emitted: number of these events that were emitted in this minute. left_out: number of these
     * events that were not emitted because of the limit. */
    uint64_t minute_us;
    uint32_t emitted, left_out;
    /* Members of share.c. Managers share the key through a row of the database
     * (fabricd/store/shared_key.h). proposed: the row has a new key that no majority has confirmed
     * yet. Until then, this manager does not use the new key. */
    bool proposed, told_unreadable;
    /* store_mark() of this manager's last change of the shared row; 0: no change since the start */
    uint64_t row_mark;
    uint64_t shared_state;
};

struct cc_waiter {
    loop_fn *fn;
    void *ctx;
};
struct cc {
    struct cc_input in;
    struct agent *agent;
    struct fab_mads *mads;
    /* timer: calls the tick of congestion control. take: calls cc_devices_take, which copies
     * results of `work` to `devices` in parts. */
    struct loop_timer *timer, *take;
    /* maps the GUID of the port that owns a device's LID to the index in devices[] */
    struct fab_map index;
    struct cc_device *devices;
    uint32_t device_count;
    size_t device_room;
    /* index of the device that the next timer tick examines first */
    uint32_t cursor;
    uint32_t waiting; /* number of devices of state CC_PENDING */
    struct cc_job jobs[CC_JOBS];
    struct cc_logs logs;
    struct cc_keys keys;
    /* true: the settings file was reloaded after the running or last computation began */
    bool reloaded;
    struct fab_congestion settings;
    struct cc_work *work; /* the running computation; NULL: none */
    /* true: the computation has ended, and its results are being copied to devices[] */
    bool taking;
    /* callers of cc_await that wait for the end of the computation */
    struct cc_waiter *waiters;
    size_t waiter_count, waiter_room;
    uint64_t generation, pass, computed_us, compute_us;
    /* seen: generation of the newest view that the timer has seen. seen_us: time in us at which the
     * timer first saw it. */
    uint64_t seen, seen_us;
    /* true: the computed settings are out of date, although they are for the present view */
    bool stale;
    uint64_t reads, writes;
    /* number of devices that were programmed since the last event about the outcome
     * (cc_tell_outcome) */
    uint32_t written;
    /* number of devices without the computed settings in the last event about the outcome
     * (cc_tell_outcome) */
    uint32_t troubled;
    /* Number of times that the settings of a device were not the ones that the manager had
     * written. */
    uint64_t changed;
    /* advised_us: time at which advice was last computed. told_us: time at which each kind of
     * advice was last emitted as an event. */
    uint64_t advised_us, told_us[FAB_CONGESTION_ADVICES];
};

/* ---- cc.c ---- */
void cc_tick(void *ctx);
bool cc_applies(const struct cc *cc); /* returns whether congestion.apply is set */
/* Emits an event with the number of devices in each state. Emits nothing while a device is still
 * pending. Also emits nothing if, since the last event, no device was programmed and the number of
 * devices without the computed settings has not changed. */
void cc_tell_outcome(struct cc *cc);

/* ---- advise.c ---- */
/* Computes advice once in each counter interval, and emits it as events, at most one event of each
 * kind in an hour. */
void cc_report_advice(struct cc *cc, uint64_t now);

/* ---- devices.c ---- */
/* Starts a computation of settings for this view, unless a computation is running. Returns
 * NOMEM. */
int cc_begin(struct cc *cc, const struct fab_view *v);
/* copies the results for some devices to devices[]; called by the timer `take` */
void cc_devices_take(void *ctx);
void cc_devices_fini(struct cc *cc);

/* ---- program.c ---- */
/* Starts jobs for a few devices that must be read or programmed. Continues the jobs that were
 * waiting until the subnet manager is idle. */
void cc_program(struct cc *cc, uint64_t now);
/* Cancels all requests and jobs, and stops reading logs. */
void cc_program_stop(struct cc *cc);
/* Returns true if this MAD status says that the device does not know the class, the method or the
 * attribute (IBA 13.4.7). */
bool cc_says_unknown(uint16_t status);
/* These functions of program.c are used by key_info.c. All except cc_job_device send the next
 * request of the job or end the job. */
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
/* Reads the key file. If the settings file has another CC_Key, that key becomes the current key,
 * and the key in the key file becomes the previous key. Returns NOMEM, IO, DENIED or FORMAT. */
int cc_keys_init(struct cc *cc);
void cc_keys_fini(struct cc *cc);
void cc_keys_reload(struct cc *cc);
/* Counts the devices that do not have the current key yet. If there are none, ends the rotation. If
 * events about key violations were left out, also emits an event with their number, at most once a
 * minute. */
void cc_keys_tick(struct cc *cc, uint64_t now);
/* Returns the CC_Key that requests to this device must carry. */
uint64_t cc_key_of(const struct cc *cc, const struct cc_device *d);
/* Returns true if the key file has a current or a previous key. */
bool cc_has_keys(const struct cc *cc);
void cc_key_is(struct cc *cc, struct cc_device *d, enum cc_key key);
/* Emits an event if the CongestionKeyInfo of a device shows new key violations, or shows that the
 * device does not protect the current key. */
void cc_key_watch(struct cc *cc, struct cc_device *d, const struct fab_cc_key_info *info);

bool cc_is_master(const struct cc *cc);
/* Uses the keys in `file` from now on: cancels all requests, and makes the manager read the keys of
 * all devices again. The caller must have written these keys to the key file before. Returns OK,
 * after taking over `file`; or NOMEM, with the reason in why[]. */
int cc_keys_use(struct cc *cc, struct store_m_key *file, char *why, size_t why_len);

/* ---- share.c: the CC_Key that managers share ---- */
bool cc_keys_shared(const struct cc *cc); /* this manager shares its CC_Key */
/* Returns true if all other managers in the fabric, and all managers in subnet.managers, share the
 * CC_Key with this manager. */
bool cc_keys_shared_with_others(const struct cc *cc);
/* Copies the key file to the row of the database through which managers share the key. Does nothing
 * if this manager is not master, or if a new key is proposed. Call this function after the key file
 * has changed. */
void cc_keys_tell(struct cc *cc);
/* Proposes the new key in `file`: writes it to the row of the database through which managers share
 * the key. When a majority has confirmed the row, cc_share_tick uses the key. Returns OK, or an
 * error of store_put_shared_key with the reason in why[]. */
int cc_keys_propose(struct cc *cc, const struct store_m_key *file, char *why, size_t why_len);
/* Uses the CC_Key that the managers share, if it has changed. */
void cc_share_tick(struct cc *cc);

/* ---- log.c ---- */
void cc_log_tick(void *ctx);
/* Call this function after all requests were cancelled. Sets the number of requests for logs in
 * flight to 0. */
void cc_log_stop(struct cc *cc);

/* ---- attrs.c: the value that each attribute of a device must have ---- */
/* Sets the computed values in `data`, which is an attribute as read from the device (FAB_GS_DATA
 * bytes). Returns true if a value was different; `data` must then be written to the device. */
bool cc_merge(const struct cc *cc, const struct cc_device *d, enum cc_step step, uint8_t block,
              uint8_t *data);
/* Returns the number of blocks of the attribute that a step of a job reads and writes. */
uint8_t cc_blocks(const struct cc *cc, const struct cc_device *d, enum cc_step step);

#endif
