/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager (IBA 14). It discovers the fabric, assigns LIDs, computes and proves tables,
 * writes them to the switches and publishes a view of fabric and tables.
 *
 *   discover -> model -> compute -> verify -> plan -> program -> publish
 *
 * This is the only header of fabricd/sm that other folders include; its folders are private. All
 * functions are for the loop thread.
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
    struct store *store;         /* NULL: nothing is stored */
    const struct config *config; /* lives as long as the sm */
    const char *keys_dir; /* the folder with the file m_key (fabricd/store/m_key.h); NULL: keys are
                             kept in memory only */
    bool recorded;        /* true while a recording is made or replayed: computations on which later
                             requests depend then run on the loop thread, because a replay has no worker;
                             and nothing is scrubbed, because scrubbing follows the real time */
};
/* Creates the subnet manager. NOMEM. IO: the store or the key file cannot be read. DENIED, FORMAT:
 * of the key file. */
int sm_new(const struct sm_input *in, struct sm **ret);
void sm_start(struct sm *s); /* begins the first sweep */
void sm_free(struct sm *s);
/* Adopts the changed policy of the configuration and requests new tables. NOMEM: the old policy
 * stays. */
int sm_reload(struct sm *s);

#define SM_REROUTE_BOUNDS 14
extern const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS]; /* ascending */
struct sm_reroute_times { /* durations of reroutes that wrote tables, since the start */
    uint64_t count, sum_us;
    uint64_t within[SM_REROUTE_BOUNDS]; /* [i]: number of reroutes longer than the bound before i
                                           and at most as long as bound i */
};
enum sm_key { SM_KEY_M, SM_KEY_P, SM_KEY_Q, SM_KEYS }; /* M_Key, P_Key, Q_Key */
struct sm_trap_counts { /* traps since the start, while this manager was master */
    uint64_t received;
    uint64_t repressed;              /* traps beyond the limit of their source, without effect */
    uint64_t refused;                /* notices that their sender cannot issue */
    uint64_t unconfirmed;            /* not forwarded, because the device did not answer */
    uint64_t sweeps;                 /* heavy sweeps because of unknown source LIDs */
    uint64_t violations[SM_KEYS];    /* packets with a wrong key that devices counted */
    uint64_t violations_unconfirmed; /* traps 256 to 259 without a rise of the counter */
};
struct sm_status {
    uint8_t role;        /* enum fab_sm_state */
    const char *state;   /* name of the running phase, or "idle", "standby" and the like */
    uint64_t generation; /* generation of the published view; 0: there is none yet */
    uint64_t sweeps;     /* heavy sweeps since the start */
    uint64_t last_sweep_us, last_reroute_us; /* durations; 0: none yet */
    uint64_t smps_sent, smps_retried, smps_timed_out;
    uint32_t window, in_flight;
    uint32_t unresponsive; /* ports whose peer does not answer */
    uint32_t master_lid;
    uint64_t master_guid;
    char alarm[1280]; /* why no new tables are written, or "" */
    uint64_t uptime_us;
    uint32_t links_held;               /* number of links held down */
    uint32_t links_isolated;           /* number of isolated links */
    uint64_t links_lost, links_gained; /* since the start */
    struct sm_reroute_times reroutes;
    bool ready;         /* true: a local repair would answer the failure of a link now */
    uint64_t repaired;  /* number of active LFT entries that local repairs changed since an engine
                           computed the tables */
    bool rebalance_due; /* a rebalance is due */
    uint64_t rebalance_in_us; /* time until the rebalance starts if nothing changes */
    struct sm_trap_counts traps;
    /* The scrub reads back what the manager wrote: complete turns, attributes read in the last one,
     * attributes that differed, and nodes whose settings differ still. */
    uint64_t scrub_turns, scrub_reads, settings_changed;
    uint32_t settings_not_restored;
};
void sm_get_status(const struct sm *s, struct sm_status *ret);
/* Returns the numbers of nodes, ports and links in the view's fabric, counted once per view. All
 * are 0 if there is no view yet. */
struct fab_census sm_census(struct sm *s);
/* Returns a reference that the caller owns, or NULL if no view is published yet. */
struct fab_view *sm_view(const struct sm *s);
/* Sets the listener that is called before a local repair changes the tables in place. If the
 * listener then drops its view, the repair need not copy fabric and tables. There is one listener;
 * fn NULL: none. */
void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Sets the listener that is called after a sweep or reroute published a view. It is not called
 * after a local repair, which neither adds nor removes an endport and whose writes must not be
 * delayed. There is one listener, which must defer its work; fn NULL: none. */
void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Sets the listener that is called for each notice (IBA 13.4.8.2) of a device while this manager is
 * master. The manager first checks that the device can issue the notice, and reads the device,
 * unless `wanted` returns false. There is one listener; fn NULL: none. */
typedef void sm_notice(void *ctx, const struct fab_notice *notice);
typedef bool sm_notice_wanted(void *ctx);
void sm_on_notice(struct sm *s, sm_notice_wanted *wanted, sm_notice *fn, void *ctx);

/* Fills in SMInfo (IBA 14.2.5.13) of the other managers that are not in the state not-active, from
 * their last answers. Returns their number; ret gets at most `max`. */
uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max);

/* Writes a block of a port's GUIDInfo (IBA 14.2.5.5). `done` is called as mads.h says, unless
 * sm_guids_cancel was called before. NOMEM, LIMIT. BUSY: M_Keys are being changed. */
int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag);
void sm_guids_cancel(struct sm *s, void *ctx);

/* Fills in the last reroutes, newest first, with generations below `before` (0: no bound). Returns
 * how many it filled in. Memory keeps 256 of them; store_reroutes has older ones. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max);

/* N-1 contingencies: the effects of the failure of any single link or switch, as far as computed.
 */
struct sm_contingencies {
    /* valid until the caller returns to the loop; NULL: none yet */
    const struct fab_repair_contingencies *all;
    uint32_t cases; /* number of rows when all are computed */
    bool under_way; /* the computation is not complete */
    /* bytes of memory: the most that plans may use (0: contingencies are off), and what the running
     * computation uses */
    size_t budget, working;
    uint64_t load; /* number of endport pairs whose paths use the most loaded channel of the active
                      tables */
    uint32_t rate; /* table blocks written per second */
    bool rate_measured; /* the rate was measured from reroutes; else it is an assumption */
};
void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret);
/* Copies a row and converts its ids to those of the view. An id becomes FAB_NONE if the node or
 * port is not in the fabric any more. The copy refers to the plan of the original. */
void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret);
/* Returns the row for the failure of a switch, or of the link of a port. id: the view's id of that
 * switch or port. NULL: the row is not computed yet. */
const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id);

/* Ports whose peer did not answer in the last sweep, with their names. */
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
    uint64_t flaps; /* flaps counted so far */
    bool flapping;  /* the link flapped more often than the configuration allows */
    bool held; /* held down, that is excluded from the routes. A flapping link is not held down if
                  it is a host's link or a part of the fabric needs it */
    bool up;   /* the link is up now */
    uint64_t hold_us; /* time for which the link must stay up; 0: it is not flapping */
    int64_t due_us;   /* when that time ends; 0: not known */
    int64_t flap_us[FAB_DAMPING_FLAPS]; /* times of the last flaps, newest first */
    uint32_t fall_count;
};
/* Returns how many such links there are; ret has at most `max` of them. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max);
/* Releases a link, named by one of its ports, from hold-down or isolation, and resets its flap
 * count. NOT_FOUND: it is neither held down nor isolated. DENIED: another manager is master. */
int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port);

/* Excludes an ISL, named by one of its ports, from the routes until sm_link_release, also over
 * restarts. cause: a text for operators; operated: an operator requested it. Errors: UNREACHABLE (a
 * node would be cut off), LIMIT (a switch would have more than flapping.max_excluded_percent of its
 * links excluded), NOT_FOUND (the port has no link that is up) and EXISTS (isolated already), each
 * with a sentence in why[]; DENIED (another manager is master), BUSY (no fabric is known yet),
 * NOMEM. */
int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len);
struct sm_isolation {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    char place[2][128];
    bool out;         /* excluded from the routes; false while a part of the fabric needs it */
    bool up;          /* the link is up now */
    bool operated;    /* an operator isolated it */
    int64_t since_us; /* Unix time */
    char cause[160];
};
/* Returns how many such links there are; ret has at most `max` of them. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max);
/* Returns true if this manager is master, no round runs and no fault is pending, so that
 * low-priority work may start. */
bool sm_is_quiet(const struct sm *s);

/* These functions join and leave multicast groups. The groups change at once; the MFTs are written
 * soon after, without a sweep. The functions return the MAD statuses of fab_mcast_groups_join and
 * _leave, or FAB_SMP_BUSY: no fabric is known yet, or another manager is master. */
uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret);
uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret);
/* Returns the multicast groups, valid until the caller returns to the loop; NULL: none are known
 * yet. */
const struct fab_mcast_groups *sm_mgroups(const struct sm *s);
/* Sets the listener that is called after a group was created and before it is deleted; the member
 * fields of `group` are 0. There is one listener; fn NULL: none. */
typedef void sm_mgroup_fn(void *ctx, const struct fab_wire_mc_member_record *group, bool made);
void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx);
/* Returns the known contents of a block of a switch's MFT, 32 port masks, or NULL if they are not
 * known. sw: the switch's id in fab_mcast_trees_net. number: the block's number, from
 * fab_mft_number. */
const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number);
struct sm_multicast_status {
    uint32_t groups, mlids;
    uint64_t members;
    uint32_t room; /* number of MLIDs for which the smallest MFT has entries */
    /* node GUID of the switch with the smallest MFT; 0: all MFTs are large enough */
    uint64_t smallest;
    uint32_t absent;       /* member ports that are not in the fabric */
    uint32_t unresponsive; /* switches that did not answer MFT requests */
    bool pending;          /* MFTs are being written, or will be */
    uint64_t writes;       /* MFT blocks written since the start */
};
void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret);

/* These functions request a round and return at once. `done` (may be NULL) is called later with a
 * status and a sentence. Errors: DENIED (another manager is master), NOMEM. sm_forget drops the
 * callbacks of a ctx that is about to be freed. */
typedef void sm_done(void *ctx, int status, const char *message);
int sm_sweep(struct sm *s, sm_done *done, void *ctx);   /* a heavy sweep */
int sm_reroute(struct sm *s, sm_done *done, void *ctx); /* computes new tables without a sweep */
/* Computes new tables, which replace the active ones only if they spread load better. */
int sm_rebalance(struct sm *s, sm_done *done, void *ctx);
/* Disables or enables a port (PortPhysicalState, IBA 14.2.5.6). It also returns BUSY if no fabric
 * is known yet. `done` gets DENIED if disabling would cut off the manager, the port or a part of
 * the fabric. */
int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, sm_done *done,
                void *ctx);
/* Pins of node descriptions (libfabmgr/policy/pins.h) and the nodes that wait for an approval;
 * valid until the caller returns to the loop. */
const struct fab_pins *sm_pins(const struct sm *s);
bool sm_pins_are_on(const struct sm *s); /* false: subnet.pin_names is off */
/* sm_pin_approve pins a node to the name that it shows, sm_pin_approve_all all nodes that wait, and
 * sm_pin_forget drops the pin of a GUID, which need not be in the fabric. New tables are computed
 * afterwards; `done` is called as above. by: the operator. Errors: NOT_FOUND (no such node or pin),
 * EXISTS (nothing waits), BUSY (no fabric is known yet, or names are not pinned), DENIED, NOMEM. */
int sm_pin_approve(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);
int sm_pin_approve_all(struct sm *s, const char *by, uint32_t *ret_count, sm_done *done, void *ctx);
int sm_pin_forget(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);
void sm_forget(struct sm *s, void *ctx);

/* The M_Key of this manager, without the key itself. */
struct sm_key_status {
    bool set, generated;          /* ports have an M_Key; fabricd made it */
    bool rotating;                /* the ports are being given the current key */
    uint64_t generation, since_s; /* number of the key, and since when it is used (Unix time) */
    bool has_previous;            /* the key before it is kept, for ports that return with it */
    uint32_t ports;               /* in the fabric that have an M_Key field */
    uint32_t current;             /* of these: have the current key */
    uint32_t previous;            /* have another key that is known: they get the current one */
    uint32_t unknown; /* have a key that is not known, or did not answer when it was changed */
    uint32_t absent;  /* ports outside of the fabric that may still have the previous key */
    char names[256];  /* of some ports that are not done */
};
void sm_get_key_status(const struct sm *s, struct sm_key_status *ret);
/* Makes a new random M_Key, keeps both keys in the file, and begins to give the new one to all
 * ports. give_up: ports that may still have the key before the current one are given up. Errors,
 * each with a sentence in why[]: UNSUPPORTED (the key is not generated), DENIED (another manager is
 * master, or would not learn the key), BUSY (no fabric is known yet, a sweep is under way, or the
 * last rotation is not complete), EXISTS (ports would be given up), IO, NOMEM. */
int sm_key_rotate(struct sm *s, bool give_up, char *why, size_t why_len);

#endif
