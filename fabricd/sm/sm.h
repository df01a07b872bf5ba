/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager: the controller that turns what is observed into what is wanted.
 *
 *   observe -> model -> compute -> verify -> plan -> apply -> publish
 *
 * Its phases are a table (phase.h); each is a state that says which requests to send next and what
 * to do when all are answered. Loop thread only.
 */
#ifndef FABRICD_SM_SM_H
#define FABRICD_SM_SM_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/agent/agent.h"
#include "fabricd/base/bus.h"
#include "fabricd/base/reroute.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/store/store.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/health/damping.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/view/view.h"

struct sm;
struct sm_input {
    struct loop *loop;
    struct transport *transport;
    struct bus *bus;
    struct store *store;         /* may be NULL: nothing is kept */
    const struct config *config; /* lives as long as the sm */
    bool recorded; /* as a replay, which has no worker, will find it: what is made in idle time
                      and decides what is sent is made at once */
};
int sm_new(const struct sm_input *in, struct sm **ret);
void sm_start(struct sm *s); /* first sweep */
void sm_free(struct sm *s);
/* The policy of the config changed: takes a copy of it, and computes anew. */
int sm_reload(struct sm *s);

#define SM_REROUTE_BOUNDS 14
extern const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS]; /* rising */
struct sm_reroute_times { /* of reroutes that wrote tables, since the start */
    uint64_t count, sum_us;
    uint64_t within[SM_REROUTE_BOUNDS]; /* took at most that, and more than the one before */
};
struct sm_status {
    uint8_t role;        /* enum fab_sm_state */
    const char *state;   /* "discovering", "routing", ..., "idle", "standby" */
    uint64_t generation; /* of the published view, 0: none yet */
    uint64_t sweeps, last_sweep_us, last_reroute_us; /* durations of the last of each, 0: none */
    uint64_t smps_sent, smps_retried, smps_timed_out;
    uint32_t window, in_flight;
    uint32_t silent; /* places that did not answer */
    uint32_t master_lid;
    uint64_t master_guid;
    char alarm[1280]; /* the last failed verdict in force, or "" */
    uint64_t uptime_us;
    uint32_t links_held;               /* sm_flapping */
    uint32_t links_isolated;           /* sm_isolations */
    uint64_t links_lost, links_gained; /* cables, since the start */
    struct sm_reroute_times reroutes;
    bool ready;               /* a cable that fails now is mended in place */
    uint64_t repaired;        /* table entries that are a repair's and not the engine's */
    bool rebalance_due;       /* an engine will be asked for better ones */
    uint64_t rebalance_in_us; /* if all stays quiet */
};
void sm_get_status(const struct sm *s, struct sm_status *ret);
/* Of the fabric of the view, counted once for each; all 0: none yet. */
struct fab_census sm_census(struct sm *s);
struct fab_view *sm_view(const struct sm *s); /* a reference for the caller, or NULL: none yet */
/* Told before tables are patched in place: who keeps a view and lets go of it now spares the repair
 * a copy of fabric and tables. One listener; fn NULL: none. */
void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Told after a view was published, but not of a repair's: nobody comes or goes with one, and its
 * writes wait for nothing. One listener, who does its work later; fn NULL: none. */
void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Told of notices that devices send, while we are master, each time they send them; likewise. */
typedef void sm_notice(void *ctx, const struct fab_notice *notice);
void sm_on_notice(struct sm *s, sm_notice *fn, void *ctx);

/* What other managers that are active said of themselves, when they were last asked. Returns how
 * many there are, at most `max` of which are in ret. */
uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max);

/* Writes a block of a port's GUIDInfo, beside all else; done is told as by mads.h, until these are
 * cancelled. NOMEM, LIMIT. */
int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag);
void sm_guids_cancel(struct sm *s, void *ctx);

/* The reroutes in memory (some hundred) of generations before `before` (0: no bound), newest
 * first. Older ones: store_reroutes. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max);

/* What would happen if one cable or switch failed next, as far as it is computed. */
struct sm_contingencies {
    const struct fab_repair_contingencies
        *all;               /* until the caller returns to the loop; NULL: none yet */
    uint32_t cases;         /* that there will be */
    bool under_way;         /* more are being computed */
    size_t budget, working; /* bytes: allowed for plans (0: off), to compute them */
    uint64_t load;          /* the worst, of the tables in force */
    uint32_t rate;          /* table blocks a second */
    bool rate_measured;     /* by the reroutes in memory; else assumed */
};
void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret);
/* A row with the ids of the view; FAB_NONE: that is away. The plan stays where it is. */
void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret);
/* The row of the cable of a port, or of a switch, by the ids of the view; NULL: none yet. */
const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id);

/* The silent places of the last sweep, for people. */
struct sm_unresponsive {
    char place[128];
    int status;
};
uint32_t sm_unresponsive_ports(const struct sm *s, struct sm_unresponsive *ret, uint32_t max);

/* Cables that fell of late. The times are Unix time, microseconds. */
struct sm_flapping {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    char place[2][128];
    uint64_t falls;   /* since it is watched */
    bool flapping;    /* it falls too often */
    bool held;        /* and routes keep away from it; if not, it is a host's, or is needed */
    bool up;          /* just now */
    uint64_t hold_us; /* how long it must stay up, 0: it does not flap */
    int64_t due_us;   /* when that is over, 0: not known */
    int64_t fall_us[FAB_DAMPING_FLAPS]; /* the newest first */
    uint32_t fall_count;
};
/* Returns how many there are, at most `max` of which are in ret. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max);
/* Ends the hold or the isolation of a cable, named by one of its ends, and forgives its falls.
 * NOT_FOUND: it is neither held nor isolated. DENIED: we are not master. */
int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port);

/* Routes keep away from a cable between switches, named by one of its ends, until it is released by
 * sm_link_release; it survives a restart. cause: why; operated: by an operator. Refused with a
 * sentence in why[] where it would cut somebody off (UNREACHABLE), or leave one of its switches
 * less than the share of flapping.max_excluded_percent (LIMIT), or is none of a cable between
 * switches that is up (NOT_FOUND); EXISTS: it is isolated already. DENIED: we are not master. BUSY:
 * nothing is known yet. */
int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len);
struct sm_isolation {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    char place[2][128];
    bool out;         /* of the routes; if not, a part of the fabric needs it just now */
    bool up;          /* just now */
    bool operated;    /* by an operator */
    int64_t since_us; /* Unix time */
    char cause[160];
};
/* Returns how many there are, at most `max` of which are in ret. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max);
/* We are master, and nothing is under way: time for what is not urgent. */
bool sm_is_quiet(const struct sm *s);

/* Multicast groups: joins and leaves change them at once; the switches' tables follow, without a
 * sweep. Statuses as those of fab_mcast_groups_join and _leave; FAB_SMP_BUSY: nothing is known yet,
 * or we are not master. */
uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret);
uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret);
/* Until the caller returns to the loop; NULL: none are known yet. */
const struct fab_mcast_groups *sm_mgroups(const struct sm *s);
/* Told when a group was made, or goes: of what it is, members' fields 0. One listener; fn NULL:
 * none. */
typedef void sm_mgroup_fn(void *ctx, const struct fab_wire_mc_member_record *group, bool made);
void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx);
/* What a switch is known to hold, by its id in fab_mcast_trees_net and fab_mft_number: 32 port
 * masks; NULL: nobody asked. */
const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number);
struct sm_multicast_status {
    uint32_t groups, mlids;
    uint64_t members;
    uint32_t room;     /* multicast LIDs that the smallest table has entries for */
    uint64_t smallest; /* node GUID of a switch that has it; 0: none is smaller than need be */
    uint32_t absent;   /* members whose port is not there, by GUID */
    uint32_t silent;   /* switches that did not take their tables */
    bool pending;      /* tables are being written, or will be */
    uint64_t writes;   /* blocks, since the start */
};
void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret);

/* Requests; they return at once. The outcome is told by `done` (status, a sentence) on the loop
 * thread; done may be NULL. DENIED: we are not master. BUSY: nothing is known yet. sm_forget drops
 * callbacks of a ctx that goes away. */
typedef void sm_done(void *ctx, int status, const char *message);
int sm_sweep(struct sm *s, sm_done *done, void *ctx);   /* full sweep now, after a running one */
int sm_reroute(struct sm *s, sm_done *done, void *ctx); /* compute anew from the fabric as known */
/* Likewise, but the tables in force stay unless the new ones spread better. */
int sm_rebalance(struct sm *s, sm_done *done, void *ctx);
/* Physical disable/enable of the port; refuses (DENIED) where it would cut us off from it. */
int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, sm_done *done,
                void *ctx);
void sm_forget(struct sm *s, void *ctx);

#endif
