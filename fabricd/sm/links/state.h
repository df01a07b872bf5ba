/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/links, for this folder only. */
#ifndef FABRICD_SM_LINKS_STATE_H
#define FABRICD_SM_LINKS_STATE_H

#include "fabricd/loop/task.h"
#include "fabricd/sm/links/links.h"
#include "libfabmgr/health/damping.h"
#include "libfabmgr/health/isolation.h"
#include "libfabmgr/health/known.h"

#define SM_CAUSE_LEN 160

/* A link that flapped recently, is isolated, or belongs to a drain. */
struct sm_flap {
    uint64_t guid[2]; /* GUIDs of the nodes at both ends */
    uint8_t port[2];
    char place[2][SM_PLACE_LEN];
    struct fab_damping damping;
    bool isl; /* the link is an ISL */
    /* The link is excluded, that is, not in the model's snapshot. (The link of a misbehaving host
     * stays in the snapshot although `out` is true.) */
    bool out;
    /* The link is isolated until an operator releases it. Only while this is true are the members
     * operated, offence, setting, isolated_us and cause valid. */
    bool isolated;
    bool operated; /* an operator requested the isolation */
    /* The link is isolated because its host misbehaved (offenders.c). */
    bool offence;
    /* the link is isolated or drained, but routes have used it since the last sweep, because it
     * must stay in use (libfabmgr/health/isolation.h) */
    bool reinstated;
    /* the manager has requested that a port of this isolated link be disabled */
    bool setting;
    int64_t isolated_us; /* Unix time of the isolation, in microseconds */
    char cause[SM_CAUSE_LEN];
    /* drain: number of the drain to which the link belongs; 0: none. returning: this drain has
     * ended, but the link is not back in the snapshot yet. */
    uint32_t drain;
    bool returning;
};
/* A drain of one link, of switches or of a host (drain.c). */
struct sm_drain {
    struct sm_drain_info info;
    uint64_t *node; /* [nodes] GUIDs of the switches or of the adapters */
    uint32_t nodes;
    uint64_t ended_us; /* time (manager's clock) at which the drain ended; 0: it has not ended */
};
struct sm_drains { /* state of drain.c */
    struct sm_drain *list;
    uint32_t count;
    uint32_t last; /* highest number that a drain has had */
    /* digest of the active LFTs before the first of the present drains; 0: not known */
    uint64_t before;
    struct loop_timer *timer; /* fires when a drain must end because its time is over */
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    /* true: the port is reset, that is, its link goes down once and trains again */
    bool reset;
    /* If the manager itself requests the change: the reason, as the end of a sentence. NULL: an
     * operator requests the change. */
    const char *note;
    /* who requests the change, such as " by alice (uid 1000)"; "": the manager itself */
    char by[128];
    sm_done *done;
    void *ctx;
};
/* A switch that is silent, or was silent recently. */
struct sm_silent {
    struct sm *s;
    uint64_t guid;
    /* Time (manager's clock) at which the switch was found to be silent. */
    uint64_t since_us;
    /* time (manager's clock) at which the switch answered again; routes may use it since then. 0:
     * it is silent */
    uint64_t released_us;
    /* the switch answers again, but the published view still has the fabric without its links */
    bool returning;
    /* the links of the switch are excluded, so that routes avoid it */
    bool avoided;
    struct fab_silent_link *link; /* [links] the excluded links of the switch */
    uint32_t links;
    /* number of times that the switch became silent again while it was in the list */
    uint32_t relapses;
    /* number of polls in a row, up to the last poll, that the switch has answered */
    uint32_t answers;
    bool heard; /* the switch answered the last poll */
    /* number of unanswered requests of the last poll */
    uint32_t asked;
    struct fab_path path[2];
};
struct sm_check;
struct sm_silent_checks { /* state of silent_check.c */
    struct sm_check **check;
    uint32_t checks;
    /* lost: switches that have probably failed (sm_silent_failed). lost_us: time (manager's clock)
     * at which the last of these switches was added. */
    struct sm_guids lost;
    /* those switches in `lost` that were checked themselves */
    struct sm_guids judged;
    uint64_t lost_us;
    struct loop_timer *begin, *verdict, *schedule;
};
struct sm_links {
    /* The manager lost its port, and has made no complete sweep since then. So it does not know
     * which links flapped. */
    bool blind;
    /* [silents] the list of silent switches; it also has switches that answer again (silent.c) */
    struct sm_silent **silent;
    uint32_t silents;
    /* the silent switches, without those that answer again; discoveries use this set; NULL: none */
    struct fab_silent *silent_set;
    struct sm_silent_checks silent_checks;
    struct sm_drains drains;
    struct loop_timer *silent_poll;
    /* the ISLs that have been up since the manager started (known.c); NULL: none */
    struct fab_known *known;
    struct loop_tasks noting;
    /* the snapshot changed while the task was running (known.c), so it must run again */
    bool note_again;
    struct sm_flap *list;
    uint32_t count, room;
    /* fires when the next hold-down ends */
    struct loop_timer *timer;
    uint32_t reported; /* number of links that were found flapping since the time reported_us */
    uint64_t reported_us;

    /* queue of ports that must be enabled, disabled or reset */
    struct sm_port_op *waiting;
    /* the request that the running round carries out: it enables, disables or resets one port;
     * NULL: no such round runs */
    struct sm_port_op *op;
    struct fab_path op_path; /* directed route to the port of `op` */
    uint32_t op_port;        /* id of the port of `op` */
    bool op_sent;
    int op_status;
    /* time (manager's clock) of the last event offender-not-isolated; 0: none yet. */
    uint64_t spared_us;
    struct store_port *disabled; /* the ports that operators disabled */
    size_t disabled_count;
};

/* Functions of list.c. */
struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
/* Returns the entry of the link at this port of the model's snapshot; NULL: there is none. */
struct sm_flap *sm_flap_at(const struct sm *s, uint32_t port);
/* Adds an entry to the list of links; the caller must set all its members. May remove entries that
 * are no longer needed, and moves the others. NULL: memory ran out, or the list is full. */
struct sm_flap *sm_flap_room(struct sm *s);
/* Adds a link of snapshot `f` to the list, with the names of both ends. Returns NULL if memory ran
 * out or the list is full. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Returns whether routes must avoid the link, even while it is up. */
bool sm_flap_is_barred(const struct sm *s, const struct sm_flap *e);

/* Functions of rule.c. */
/* The rules that decide which links may be excluded now. `lost` owns the memory to which rule.lost
 * points. */
struct sm_rule {
    struct fab_isolation_rule rule;
    struct fab_lost_link *lost;
};
/* Makes the rules for snapshot f. Returns NOMEM. */
int sm_rule_init(struct sm *s, const struct fab_fabric *f, struct sm_rule *ret);
void sm_rule_fini(struct sm_rule *r);

/* Functions of exclude.c. */
/* Returns the id of the port at end 0 of this link, if the link is up in the snapshot; otherwise
 * FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* Writes the links that must be excluded to link[], and the indices of their entries to entry[].
 * Links that are excluded already come first; the links of misbehaving hosts are left out. Both
 * arrays have room for all entries of the list. at[], an input, has an element for each entry: the
 * id of a port of the link if the link is up and must be excluded; otherwise FAB_NONE. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count);
/* Requests a targeted sweep of the two nodes of this link. */
void sm_flap_suspect_ends(struct sm *s, const struct sm_flap *e);

/* Functions of flapping.c. */
struct fab_damping_rule sm_flap_rule(const struct sm *s);
/* Counts a flap of a link of the list. */
void sm_flap_fell(struct sm *s, struct sm_flap *e);
/* Ends the hold-downs that are over. ctx: the manager. */
void sm_flap_due(void *ctx);
/* Call this function when the isolation or the hold-down of this link has ended. If routes avoid
 * the link (e->out), it requests a port probe or a targeted sweep of the nodes at both ends, so
 * that routes use the link again. */
void sm_flap_read_ends(struct sm *s, const struct sm_flap *e);
/* Call this function when routes must begin to avoid this link of the list. It requests a port
 * probe or a targeted sweep, unless routes avoid the link already. cause: why, for the record of
 * the reroute, such as "isolation". */
void sm_flap_leave(struct sm *s, const struct sm_flap *e, const char *cause);

/* Functions of drain.c. */
int sm_drains_init(struct sm *s); /* returns OK or NOMEM */
/* Loads the drains from the store. Returns OK, NOMEM, IO or FORMAT. */
int sm_drains_load(struct sm *s);
void sm_drains_forget(struct sm *s); /* forgets all drains, before they are loaded again */
void sm_drains_fini(struct sm *s);
/* Call this function when the sweep has decided whether the drained link is excluded (e->out). If
 * routes use the link again, the function emits drain-suspended. was_out: value of e->out before
 * the sweep. */
void sm_drain_taken(struct sm *s, const struct sm_flap *e, bool was_out);
/* Removes from its drain a link that no longer exists, because one of its ports is now connected to
 * another port. */
void sm_drain_moved(struct sm *s, struct sm_flap *e);

/* Functions of isolation.c. */
/* Loads the isolated links from the store. Returns OK, NOMEM, IO or FORMAT. If the list of links is
 * full, logs an error and returns OK; routes then use the remaining isolated links. */
int sm_isolate_load(struct sm *s);
/* Call this function when the sweep has decided whether the isolated link is excluded (e->out). If
 * routes use the link again, the function emits link-reinstated. was_out: value of e->out before
 * the sweep. */
void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out);
/* Ends the isolation of a link that no longer exists, because one of its ports is now connected to
 * another port. */
void sm_isolate_moved(struct sm *s, struct sm_flap *e);
void sm_isolate_end(struct sm *s, struct sm_flap *e); /* ends the isolation of a released link */

/* Marks a link of the list as isolated, and stores this. cause: why, as a phrase for operators. The
 * caller must then call sm_flap_leave, or, for the link of a misbehaving host,
 * sm_isolate_settle. */
void sm_isolate_begin(struct sm *s, struct sm_flap *e, const char *cause);

/* Functions of silent.c, silent_check.c and silent_poll.c. */
int sm_silent_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_fini(struct sm *s);
int sm_silent_checks_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_checks_fini(struct sm *s);
struct sm_silent *sm_silent_find(const struct sm *s, uint64_t guid);
/* Adds a silent switch to the list, or notes that a switch of the list is silent again. NULL: the
 * list is full, or memory ran out. */
struct sm_silent *sm_silent_add(struct sm *s, uint64_t guid);
/* Sends a SubnGet over a directed route. */
void sm_silent_ask(struct sm *s, const struct fab_path *path, uint16_t attr_id, uint32_t attr_mod,
                   fab_mads_done *done, void *ctx, uint64_t tag, bool once);
/* Makes a directed route that is one hop longer than `near`: it leaves the node at the end of
 * `near` by this port. Returns false if the route would have too many hops. */
bool sm_silent_extend(const struct fab_path *near, uint8_t port, struct fab_path *ret);
int sm_silent_poll_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_poll(struct sm *s);     /* starts the periodic polls of silent switches */
/* Call this function when a silent switch answers again. Lets routes use the switch. */
void sm_silent_release(struct sm *s, struct sm_silent *e);

/* Functions of port_setting.c. */
/* Returns whether an operator disabled the port. */
bool sm_port_is_operators(const struct sm *s, uint64_t guid, uint8_t port);

#endif
