/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager (IBA 14): it discovers the fabric, assigns LIDs, computes and proves tables,
 * writes them to the switches and publishes a view of all this.
 *
 *   discover -> model -> compute -> verify -> plan -> program -> publish
 *
 * This is the only header of fabricd/sm for other rooms; its folders are the inside. All functions
 * are for the loop thread.
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
    bool recorded; /* a recording is made or replayed. A replay has no worker: what decides about
                      later requests is computed at once, on the loop thread */
};
/* NOMEM. IO: the store cannot be read. */
int sm_new(const struct sm_input *in, struct sm **ret);
void sm_start(struct sm *s); /* begins the first sweep */
void sm_free(struct sm *s);
/* The policy of the config changed: copies it and computes anew. NOMEM: the old one stays. */
int sm_reload(struct sm *s);

#define SM_REROUTE_BOUNDS 14
extern const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS]; /* rising */
struct sm_reroute_times { /* of reroutes that wrote tables, since the start */
    uint64_t count, sum_us;
    uint64_t within[SM_REROUTE_BOUNDS]; /* took at most that, and more than the one before */
};
struct sm_status {
    uint8_t role;                            /* enum fab_sm_state */
    const char *state;                       /* "discovering", "routing", ..., "idle", "standby" */
    uint64_t generation;                     /* of the published view, 0: none yet */
    uint64_t sweeps;                         /* heavy ones, since the start */
    uint64_t last_sweep_us, last_reroute_us; /* durations; 0: none yet */
    uint64_t smps_sent, smps_retried, smps_timed_out;
    uint32_t window, in_flight;
    uint32_t silent; /* ports behind which nothing answers */
    uint32_t master_lid;
    uint64_t master_guid;
    char alarm[1280]; /* why no new tables are written, or "" */
    uint64_t uptime_us;
    uint32_t links_held;               /* sm_flapping */
    uint32_t links_isolated;           /* sm_isolations */
    uint64_t links_lost, links_gained; /* since the start */
    struct sm_reroute_times reroutes;
    bool ready;               /* a link that fails now is repaired locally */
    uint64_t repaired;        /* table entries that a local repair made and not the engine */
    bool rebalance_due;       /* an engine will be asked for better tables */
    uint64_t rebalance_in_us; /* if nothing changes until then */
};
void sm_get_status(const struct sm *s, struct sm_status *ret);
/* What the fabric of the view consists of; all 0: no view yet. Counted once a view. */
struct fab_census sm_census(struct sm *s);
struct fab_view *sm_view(const struct sm *s); /* a reference for the caller; NULL: none yet */
/* fn is called before tables are patched in place. A listener that drops its view then spares the
 * repair a copy of fabric and tables. One listener; fn NULL: none. */
void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* fn is called after a view was published, except that of a local repair: no endport appears or
 * disappears with one, and nothing may delay its writes. One listener, which defers its work; fn
 * NULL: none. */
void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* fn is called for each notice (IBA 13.4.8.2) that a device sends while this manager is master. One
 * listener; fn NULL: none. */
typedef void sm_notice(void *ctx, const struct fab_notice *notice);
void sm_on_notice(struct sm *s, sm_notice *fn, void *ctx);

/* SMInfo of other active managers, as they last answered (IBA 14.2.5.13). Returns how many there
 * are; ret has at most `max` of them. */
uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max);

/* Writes a block of a port's GUIDInfo (IBA 14.2.5.5). done is called as mads.h says, unless
 * sm_guids_cancel came first. NOMEM, LIMIT. */
int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag);
void sm_guids_cancel(struct sm *s, void *ctx);

/* The last reroutes (at most 256 are kept in memory) of generations before `before` (0: no bound),
 * newest first. store_reroutes has older ones. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max);

/* N-1 contingencies: what would happen if one link or switch failed next, as far as computed. */
struct sm_contingencies {
    const struct fab_repair_contingencies
        *all;               /* until the caller returns to the loop; NULL: none yet */
    uint32_t cases;         /* when all are computed */
    bool under_way;         /* more are being computed */
    size_t budget, working; /* bytes allowed for plans (0: off), and in use to compute them */
    uint64_t load;          /* the worst link load, of the active tables */
    uint32_t rate;          /* table blocks written a second */
    bool rate_measured;     /* by the reroutes in memory; else assumed */
};
void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret);
/* Copies a row with the ids of the view; FAB_NONE: it is not there any more. The plan itself stays
 * in the original. */
void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret);
/* The row of the link of a port, or of a switch, by the ids of the view; NULL: none yet. */
const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id);

/* Ports behind which nothing answered in the last sweep, for people. */
struct sm_unresponsive {
    char place[128];
    int status;
};
uint32_t sm_unresponsive_ports(const struct sm *s, struct sm_unresponsive *ret, uint32_t max);

/* Links that went down recently. The times are Unix time, microseconds. */
struct sm_flapping {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    char place[2][128];
    uint64_t falls;   /* flaps since it is watched */
    bool flapping;    /* more flaps than the configuration allows */
    bool held;        /* held down: not in the routes. A flapping link of a host, or one that a part
                         of the fabric needs, is not held down */
    bool up;          /* now */
    uint64_t hold_us; /* how long it must stay up; 0: it does not flap */
    int64_t due_us;   /* when that time is over; 0: not known */
    int64_t fall_us[FAB_DAMPING_FLAPS]; /* the newest first */
    uint32_t fall_count;
};
/* Returns how many there are; ret has at most `max` of them. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max);
/* Ends the hold-down or the isolation of a link, named by one of its ports, and resets its flap
 * count. NOT_FOUND: it is neither held down nor isolated. DENIED: another manager is master. */
int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port);

/* Excludes a link between switches, named by one of its ports, from the routes until
 * sm_link_release, over restarts too. cause: for people; operated: an operator requested it.
 * Refused, with a sentence in why[]: UNREACHABLE: a node would be cut off. LIMIT: one of its
 * switches would have more links excluded than flapping.max_excluded_percent. NOT_FOUND: there is
 * no link between switches that is up. EXISTS: it is isolated already. DENIED: another manager is
 * master. BUSY: no fabric is known yet. NOMEM. */
int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len);
struct sm_isolation {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    char place[2][128];
    bool out;         /* excluded from the routes; if not, a part of the fabric needs it now */
    bool up;          /* now */
    bool operated;    /* by an operator */
    int64_t since_us; /* Unix time */
    char cause[160];
};
/* Returns how many there are; ret has at most `max` of them. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max);
/* This manager is master and no round runs: there is time for what is not urgent. */
bool sm_is_quiet(const struct sm *s);

/* Joins and leaves change the multicast groups at once; the switches' tables follow without a
 * sweep. Statuses are those of fab_mcast_groups_join and _leave; FAB_SMP_BUSY: no fabric is known
 * yet, or another manager is master. */
uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret);
uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret);
/* Valid until the caller returns to the loop; NULL: none are known yet. */
const struct fab_mcast_groups *sm_mgroups(const struct sm *s);
/* fn is called when a group was created, or before it is deleted; the fields of group that concern
 * a member are 0. One listener; fn NULL: none. */
typedef void sm_mgroup_fn(void *ctx, const struct fab_wire_mc_member_record *group, bool made);
void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx);
/* What a switch is known to hold, by its id in fab_mcast_trees_net and fab_mft_number: 32 port
 * masks; NULL: not known. */
const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number);
struct sm_multicast_status {
    uint32_t groups, mlids;
    uint64_t members;
    uint32_t room;     /* multicast LIDs for which the smallest table has entries */
    uint64_t smallest; /* node GUID of the switch with that table; 0: all are large enough */
    uint32_t absent;   /* members whose port is not in the fabric */
    uint32_t silent;   /* switches that did not take their tables */
    bool pending;      /* tables are being written, or will be */
    uint64_t writes;   /* blocks, since the start */
};
void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret);

/* Requests; they return at once, and `done` (which may be NULL) is called with the outcome, a
 * status and a sentence. DENIED: another manager is master. NOMEM. sm_forget drops the callbacks of
 * a ctx that is about to be freed. */
typedef void sm_done(void *ctx, int status, const char *message);
int sm_sweep(struct sm *s, sm_done *done, void *ctx);   /* a heavy sweep, after a running one */
int sm_reroute(struct sm *s, sm_done *done, void *ctx); /* compute anew from the fabric as known */
/* Compute anew; the active tables stay unless the new ones spread load better. */
int sm_rebalance(struct sm *s, sm_done *done, void *ctx);
/* Disables or enables a port (PortPhysicalState, IBA 14.2.5.6). `done` gets DENIED if the manager
 * could not reach the port afterwards. BUSY: no fabric is known yet. */
int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, sm_done *done,
                void *ctx);
void sm_forget(struct sm *s, void *ctx);

#endif
