/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control (IBA annex A10): computes settings for each new view, and where policy says so
 * puts them into switches and adapters that do it: a device is read first, and only what differs is
 * written. It works only while the subnet manager is quiet, a few devices at a time. Loop thread
 * only.
 */
#ifndef FABRICD_CC_CC_H
#define FABRICD_CC_CC_H

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/congestion/congestion.h"

struct transport;
struct cc;
struct cc_input {
    struct loop *loop;
    struct transport *transport;
    struct sm *sm;
    struct bus *bus;
    const struct config *config; /* lives as long as the cc */
};
int cc_new(const struct cc_input *in, struct cc **ret);
void cc_free(struct cc *cc);
void cc_reload(struct cc *cc); /* the config changed */

enum cc_state {
    CC_WAITS,       /* to be looked at */
    CC_STANDS,      /* has what it shall have */
    CC_UNSUPPORTED, /* says that it cannot, or never answered */
    CC_FOREIGN_KEY, /* has a CC_Key that is not ours */
    CC_FAILED,      /* did not take what was written */
    CC_STATES
};
/* "waits", "stands", "unsupported", "foreign-key", "failed" */
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

/* The settings for a view, computed now where they are another view's. Borrowed until the return to
 * the loop. NOMEM, LIMIT. */
int cc_settings(struct cc *cc, const struct fab_view *v, const struct fab_congestion **ret);

#endif
