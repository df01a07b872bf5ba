/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control (IBA annex A10). A worker task computes congestion control settings for each
 * new view.
 *
 * If congestion.apply is set, the manager programs the switches and adapters that support
 * congestion control. The manager first reads a device, and then writes only attributes that
 * differ. It programs a few devices at a time, and only while the subnet manager is idle. All
 * functions must be called on the loop thread.
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
struct store;
struct replica;
struct cc;
struct cc_input {
    struct loop *loop;
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    const struct config *config; /* must outlive the cc */
    /* Folder of the key file cc_key (fabricd/store/m_key.h); NULL: keys are only kept in memory. */
    const char *keys_dir;
    /* Called for the advice: fills in what the port counters show about congestion. NULL: the
     * advice is computed without counters. */
    void (*seen)(void *ctx, struct fab_congestion_observed *ret);
    void *seen_ctx;
    /* The store and the replication through which managers share the CC_Key; NULL: managers do not
     * share it. */
    struct store *store;
    struct replica *replica;
};
/* Starts congestion control. Returns NOMEM, LIMIT if there are too many agents, or IO, DENIED or
 * FORMAT if the key file cannot be read or written. */
int cc_new(const struct cc_input *in, struct cc **ret);
void cc_free(struct cc *cc);
/* Call this function after the configuration has changed. It adopts a changed CC_Key. All settings
 * are then computed again, and devices that did not answer are tried again. */
void cc_reload(struct cc *cc);

enum cc_state {
    CC_PENDING, /* congestion control must still read the device, and write settings that differ */
    CC_PROGRAMMED, /* the device has the computed settings */
    /* the device does not support congestion control, or has never answered */
    CC_UNSUPPORTED,
    /* the device has a CC_Key that the manager does not know */
    CC_FOREIGN_KEY,
    /* the device did not accept the settings, or stopped answering */
    CC_FAILED,
    CC_STATES
};
/*
 * Returns the name of a state: "pending", "programmed", "unsupported", "foreign-key" or "failed".
 */
const char *cc_state_name(enum cc_state state);

struct cc_status {
    bool apply;
    uint8_t profile; /* enum fab_congestion_profile */
    /* generation of the view for which the settings were computed; 0: no settings yet */
    uint64_t generation;
    /* number of distinct settings; equal settings of several devices count once */
    uint32_t settings;
    /* number of switches and adapter ports in each state */
    uint32_t devices[CC_STATES];
    /* largest number of senders to one endport that the settings assume */
    uint32_t fan_in;
    uint64_t compute_us;    /* duration of the last computation */
    uint64_t reads, writes; /* answered Gets and Sets since the start */
    /* log_reads: number of congestion logs that were read since the start. log_events: number of
     * congestion events in them. */
    uint64_t log_reads, log_events;
    /* number of devices whose congestion log the manager has stopped reading (log.c) */
    uint32_t without_log;
    /*
     * Number of times since the start that the manager found settings in a device that were not the
     * ones that it had written.
     */
    uint64_t changed;
    /* Number of devices in which the manager found, in the last hour, settings that were not the
     * ones that it had written. */
    uint32_t changed_recently;
};
void cc_get_status(const struct cc *cc, struct cc_status *ret);

/* The state of a device. cc_not_programmed writes the first `max` devices in the states
 * UNSUPPORTED, FOREIGN_KEY and FAILED to ret[], and returns the number of all devices in these
 * states. */
struct cc_device_status {
    uint64_t guid; /* GUID of the node */
    /* port number on an adapter; 0: the device is a switch */
    uint8_t port;
    enum cc_state state;
    /* true: the device did not answer the last request; false: it answered, perhaps with a
     * refusal */
    bool unresponsive;
    uint8_t tries;
    /* true: the manager has given up the device. It tries again when
     *   - the device leaves the fabric and comes back;
     *   - other settings are computed for it, unless the state is UNSUPPORTED;
     *   - the settings file is reloaded, if `unresponsive` is true;
     *   - the CC_Key changes, unless the device refused the class (the state is UNSUPPORTED, and
     *     `unresponsive` is false). */
    bool gives_up;
};
uint32_t cc_not_programmed(const struct cc *cc, struct cc_device_status *ret, uint32_t max);
/* Fills in the state of the device that has this port. Returns false if the device is not known. */
bool cc_device_of(const struct cc *cc, const struct fab_fabric *f, uint32_t port,
                  struct cc_device_status *ret);

/* Fills in what operators may see about the CC_Key: the generation, the origin and the rotation,
 * but not the key. The struct is also used for the M_Key, where some members count ports; here they
 * count switches and adapter ports that support congestion control. */
void cc_get_key_status(const struct cc *cc, struct sm_key_status *ret);
/* Starts a rotation of the CC_Key: makes a new random key, writes the new and the present key to
 * the key file, and begins to change the key of all devices. If give_up is true, devices that may
 * still have the previous key do not prevent the rotation. If managers share the key and `local` is
 * false, the rotation begins only when a majority has confirmed the new key; otherwise it begins at
 * once.
 *
 * On an error, why[] has the reason. Returns UNSUPPORTED if fabricd did not generate the key or
 * congestion.apply is not set. Returns DENIED if another manager is master, or if another manager
 * would not learn the new key. Returns BUSY if devices are being programmed, or the last rotation
 * is not complete. Returns EXISTS if give_up is false and some devices may still have the previous
 * key; the manager would lose access to them. Also returns IO or NOMEM. */
int cc_key_rotate(struct cc *cc, bool give_up, bool local, char *why, size_t why_len);
/* Checks whether cc_key_rotate would begin a rotation now, but makes no key. Returns OK, or the
 * error with which cc_key_rotate would refuse, with the reason in why[]. */
int cc_key_rotate_check(const struct cc *cc, bool give_up, char *why, size_t why_len);

/* The congestion log of a device. cc_logs lists the logs of all devices of one node. With node_guid
 * 0, it lists all devices that have logged something, and all devices whose log cannot be read. It
 * writes the first `max` logs to ret[], and returns the number of all logs. The manager reads logs
 * only if congestion.apply is set and counters.interval is not 0. */
struct cc_log_status {
    uint64_t guid; /* GUID of the node */
    /* port number on an adapter; 0: the device is a switch */
    uint8_t port;
    bool none; /* the device does not support logs, or reading its log has failed too often */
    /* Unix time in us at which the log was last read; 0: not read yet */
    int64_t read_us;
    /* The log, valid until the caller returns to the event loop; NULL: the log is empty. */
    const struct fab_congestion_log *log;
};
uint32_t cc_logs(const struct cc *cc, uint64_t node_guid, struct cc_log_status *ret, uint32_t max);
/* Counts the senders to each LID in the recent entries of the congestion logs. senders[lid], for
 * each LID below `lids`, is raised by the number of adapters that were recently throttled on paths
 * to this LID. Recent means the last minute, or the last two counter intervals if these are
 * longer. */
void cc_count_senders(const struct cc *cc, uint16_t *senders, uint32_t lids);

/* Writes the present advice as sentences into ret[]. Returns the number of sentences, at most
 * FAB_CONGESTION_ADVICES. */
unsigned cc_advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN]);

/* Sets *ret to the settings that were computed for view `v`; they are valid until the caller
 * returns to the event loop. Returns BUSY if the settings for `v` and the present configuration are
 * not computed yet; the caller can wait for them with cc_await. */
int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret);
/* Starts a computation of the settings for view `v`, or waits for a computation that is running.
 * When it ends, fn is called once and must call cc_settings again. That call may still return BUSY,
 * if the computation failed or was for another view. Returns NOMEM; fn is then not called. */
int cc_await(struct cc *cc, const struct fab_view *v, loop_fn *fn, void *ctx);

#endif
