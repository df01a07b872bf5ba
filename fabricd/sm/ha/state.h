/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/ha, for this folder only. */
#ifndef FABRICD_SM_HA_STATE_H
#define FABRICD_SM_HA_STATE_H

#include "fabricd/sm/ha/ha.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/holds.h"

/* Maximum number of managers whose SMInfo is read in a sweep. */
#define SM_MAX_OTHERS 64
/* Maximum number of refused managers that are remembered. */
#define SM_REFUSED_MOST 256
/* maximum number of managers that may hang, and that this manager still asks (watch.c) */
#define SM_MISSING_MOST 8

/* Another manager: its last SMInfo and its place in the fabric. */
struct sm_other {
    struct fab_sm_info info;
    struct fab_path path; /* directed route to the manager's port */
    uint64_t node_guid;
    uint8_t port_num;
    uint16_t lid;
    /* true: the manager is trusted, so it takes part in the election */
    bool trusted;
    /* true: ActCount in the manager's last SMInfo is not the one in the SMInfo before, so the
     * manager is running */
    bool advancing;
    /* clock of this manager when the other manager last sent SMInfo */
    uint64_t answered_us;
    /* time (clock of this manager) since which all answers of the other manager have shown the
     * state standby; 0: its last answer showed another state */
    uint64_t standby_us;
    /* Name of the switch port to which the manager is connected. */
    char place[SM_PLACE_LEN];
};
struct sm_election { /* state of election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct sm_other others[SM_MAX_OTHERS];
    uint32_t other_count;
    /* the managers that the previous election found */
    struct sm_other former[SM_MAX_OTHERS];
    uint32_t former_count;
    /* node GUID of the stranger (election.c) that got the last request for its SMInfo. The next
     * sweep continues with the stranger that has the next higher GUID. 0: the next sweep begins
     * with the lowest GUID */
    uint64_t last_guid;
    /* Time (manager's clock) of the last event sm-ports-many; 0: none yet. */
    uint64_t many_us;
};
/* The polls of the master by a standby manager (poll.c). */
struct sm_poll {
    /* The manager. The context of the polls is this struct and not struct sm, because the end of a
     * round cancels all requests whose context is struct sm. */
    struct sm *s;
    struct loop_timer *timer;
    bool unanswered; /* the last poll was sent, and not answered yet */
    /* The last master that stopped answering the polls. lost_node: GUID of its node; 0: none.
     * lost_us: time (manager's clock) at which this master counted as lost. In the next election,
     * requests to this node are sent only once. */
    uint64_t lost_node, lost_us;
};
/* The reads of the SMInfo of other managers between elections (watch.c). */
struct sm_watch {
    /* The manager. The context of these reads is this struct and not struct sm, because the end of
     * a round cancels all requests whose context is struct sm. */
    struct sm *s;
    struct loop_timer *timer;
    struct fab_path paths[SM_MAX_OTHERS]; /* directed routes of the requests in flight */
    /* A manager that no election has found yet, but that has asked this manager for SMInfo. This
     * manager therefore asks that manager for its SMInfo, too. Only its place in the fabric is
     * known. If the request must go to a manager of missing[] instead, this member is a copy of
     * that element. path.hops 0: no request must be sent. */
    struct sm_other stranger;
    bool stranger_asked; /* the request to `stranger` was sent */
    /* Trusted managers whose port has IsSM, but which did not answer in the last election: their
     * process may hang. Requests go to one after the other. */
    struct sm_other missing[SM_MISSING_MOST];
    uint32_t missing_count, next_missing;
    /* number of timer ticks since the last election; at each tick, all managers are read */
    uint32_t ticks;
    /* port GUID of the second master about which the last event sm-two-masters was emitted; 0:
     * there is no second master now, or no such event since this manager became master */
    uint64_t second_guid;
    uint64_t master_us; /* time (manager's clock) at which it last became master */
};
/* The hand-over that this manager, as master, has begun (handover.c). */
struct sm_handover {
    /* The manager. The context of the request is this struct and not struct sm, because the end of
     * a round cancels all requests whose context is struct sm. */
    struct sm *s;
    struct loop_timer *timer; /* fires when the manager must check whether HANDOVER can be sent */
    bool pending;
    bool sent; /* HANDOVER was sent */
    /* time (manager's clock) until which this manager waits for a suitable moment to send
     * HANDOVER */
    uint64_t until_us;
    struct sm_other to;
    /* former_priority: priority of this manager before the hand-over. priority: its priority in
     * HANDOVER, and afterwards. */
    uint8_t former_priority, priority;
    bool by_command;
    sm_done *done; /* callback of the caller that waits; NULL: no caller waits */
    void *ctx;
    /* time (manager's clock) before which this manager begins no hand-over, except by command */
    uint64_t not_before_us;
    struct fab_smstate_holds holds;
};
/* A control packet that another manager has sent. It may be forged, so fabricd first asks the
 * sender for its SMInfo (control.c). */
struct sm_control {
    /* The manager. The context of the request is this struct and not struct sm, because the end of
     * a round cancels all requests whose context is struct sm. */
    struct sm *s;
    bool pending;
    struct transport_mad mad;
    uint32_t packet; /* enum fab_sm_control */
    struct fab_sm_info from;
    struct sm_other sender;
    /* Number of control packets refused since the last event about them. */
    uint64_t refused;
    /* Time (manager's clock) before which no event about refused control packets may be emitted. */
    uint64_t next_event_us;
    /* Time (manager's clock) from which a HANDOVER may cause a sweep again if this manager is
     * already master; before this time, such a HANDOVER has no effect. */
    uint64_t next_sweep_us;
};
struct sm_ha {
    struct sm_election election;
    /* managers that were not trusted when a sweep last read their SMInfo */
    struct sm_other refused[SM_REFUSED_MOST];
    uint32_t refused_count;
    /* nodes that have sent a SubnGet(SMInfo) with the right M_Key, which proves that they belong to
     * the operator */
    struct sm_guids proved;
    /* node GUIDs of the managers that were trusted when they last answered */
    struct sm_guids trusted;
    struct sm_control control;
    struct sm_poll poll;
    struct sm_watch watch;
    struct sm_handover handover;
    /* This manager's own priority: subnet.sm_priority, or what an operator has set. After a
     * hand-over by command, role.priority is lower, until this manager is master again. */
    uint8_t priority;
    int64_t since_us; /* Unix time in us at which the state last changed */
    char why[200];    /* why the state last changed, as a clause for operators */
    /* In standby: the manager that is master. path.hops is FAB_PATH_UNKNOWN if no directed route to
     * it is known. */
    struct sm_other master;
    uint64_t master_guid;
    /* the manager that was master immediately before this one */
    struct sm_other former_master;
    /* ActCount of this manager's SMInfo (IBA 14.2.5.13). */
    uint32_t activity;
    /* true: this standby manager sweeps, because its snapshot is outdated (sm_ha_rediscover) */
    bool rediscovers;
    /* IsSM is set on the manager's port. */
    bool announced;
};

/* Elects the master. Call this function when the SMInfo of all other managers has been read. */
void sm_ha_elect(struct sm *s);
/* A control packet has changed the state of this manager. Begins the work of the new state. before:
 * the state before the packet (enum fab_sm_state). */
void sm_ha_role_changed(struct sm *s, uint8_t before);
/* Writes this manager's SMInfo to `data`. with_key: with the SM_Key; otherwise this field is 0. */
void sm_ha_own_info(struct sm *s, bool with_key, uint8_t data[FAB_SMP_DATA]);
/* Handles a received SubnSet(SMInfo). */
void sm_ha_control(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   const uint8_t *data, size_t len);
/* Forgets the control packet that waits for a confirmation. */
void sm_ha_control_forget(struct sm *s);

/* Notes why the state of this manager changes now. */
void sm_ha_because(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* This manager stops being master, and is a standby of the manager `to`. Ends the running round and
 * all requests of operators. */
void sm_ha_step_down(struct sm *s, const struct sm_other *to);

/* ---- election.c ------------------------------------------------------------------------------ */

/* Adds the manager at `port` to the list of this election, with the SMInfo that it sent. Returns
 * NULL if it is this manager itself, if it is not active, or if SM_MAX_OTHERS managers are in the
 * list. */
struct sm_other *sm_election_note(struct sm *s, uint32_t port, const struct fab_sm_info *info);
/* Returns whether the manager answered a short time ago. */
bool sm_other_is_fresh(const struct sm_other *o);
/* Returns whether this port of the snapshot announces a subnet manager (IsSM) and can be
 * reached. */
bool sm_election_is_manager_port(const struct sm *s, uint32_t port);
/* Updates what is known of `o` after it sent its SMInfo again. */
void sm_other_answered(struct sm *s, struct sm_other *o, const struct fab_sm_info *info);

/* ---- watch.c --------------------------------------------------------------------------------- */

int sm_watch_init(struct sm *s); /* returns OK or NOMEM */
void sm_watch_fini(struct sm *s);
void sm_watch_begin(struct sm *s); /* begins to read the SMInfo of the other managers regularly */
/* Cancels the reads in flight, because their tags are indices of the list of other managers. Call
 * this function before this list changes. */
void sm_watch_cancel(struct sm *s);
/* Call this function when each request of an election has been answered or has timed out. Notes the
 * trusted managers that have not answered: they may hang. */
void sm_watch_note_missing(struct sm *s);
/* If this manager is master, emits an event for each other manager that the election has found as
 * master, unless the last such event was about the same manager. */
void sm_watch_report_masters(struct sm *s);
/* The manager at `port` has asked this manager for SMInfo. If no election has found that manager
 * yet, asks it for its own SMInfo. */
void sm_watch_heard(struct sm *s, uint32_t port);

/* ---- handover.c ------------------------------------------------------------------------------ */

int sm_handover_init(struct sm *s); /* returns OK or NOMEM */
void sm_handover_fini(struct sm *s);
/* If this manager is master, and another manager with precedence (IBA 14.4.1) can take over now,
 * begins to hand over to it. If there are several, chooses the best one. */
void sm_handover_consider(struct sm *s);
/* Of two masters, this manager has no precedence. Sends HANDOVER to the other one, and does not
 * wait for an answer. That one then sweeps the part of the subnet that this manager managed. */
void sm_handover_tell(struct sm *s, const struct sm_other *master);
/* An ACKNOWLEDGE has come from another manager. Returns true if it ends the hand-over that is under
 * way. */
bool sm_handover_acknowledged(struct sm *s, const struct fab_sm_info *from);
/* Ends the hand-over that is under way, without success. If HANDOVER was sent, this manager has its
 * former priority again. */
void sm_handover_forget(struct sm *s);
/* If a manager repeatedly lost the role of master, it gets no hand-over for some time. Returns the
 * end of this time for the manager with this port GUID (manager's clock); 0: it may get one now. */
uint64_t sm_handover_held_until(const struct sm *s, uint64_t guid);

/* ---- poll.c ---------------------------------------------------------------------------------- */

int sm_poll_init(struct sm *s); /* returns OK or NOMEM */
void sm_poll_fini(struct sm *s);
/* Begin and end the polls of s->ha->master. */
void sm_poll_begin(struct sm *s);
void sm_poll_end(struct sm *s);

/* ---- trust.c --------------------------------------------------------------------------------- */

/* Returns true if each election must request SMInfo from the manager at this port: subnet.managers
 * lists the switch port to which it is connected, or the manager has proved itself before. */
bool sm_trust_known(const struct sm *s, uint32_t port);
/* `o`, another manager, has answered. Notes whether it was trusted. */
void sm_trust_note(struct sm *s, const struct sm_other *o);

/* Returns true if another manager must prove that it belongs to the operator, because the settings
 * have an M_Key or a list of managers (subnet.managers). */
bool sm_trust_required(const struct sm *s);
/* Returns whether this SM_Key proves that its sender is a manager of the same operator. */
bool sm_trust_sm_key(const struct sm *s, uint64_t key);
/* Call this function when the manager at `port` has answered with this SMInfo. Returns true if that
 * manager is trusted; only then it takes part in the election. */
bool sm_trust_answer(const struct sm *s, uint32_t port, const struct fab_sm_info *info);
/* Returns whether subnet.managers lists the manager `guid` at the switch port to which `port` is
 * connected. */
bool sm_trust_listed(const struct sm *s, uint32_t port, uint64_t guid);
/* Returns the M_Key for SMInfo requests to the manager that may be at this port: the M_Key of the
 * port if subnet.managers lists this manager, or if its node has proved that it knows the key;
 * otherwise 0, which tells an attacker nothing. */
uint64_t sm_trust_m_key(const struct sm *s, uint32_t port);
/* A SubnGet(SMInfo) has come from another manager. Returns true if the answer may have the SM_Key.
 * If the request had the right M_Key, notes that its sender has proved itself. */
bool sm_trust_requester(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head);
/* Returns the id of the port that sent an SMP; FAB_NONE: not known. For a directed-route SMP, this
 * is the end of the return path, which switches have written. For other SMPs it is the owner of the
 * source LID, which the sender can forge. */
uint32_t sm_trust_origin(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head);
/* `o` is a manager that the last election found. Returns the id of its port; FAB_NONE: it has left
 * the fabric. */
uint32_t sm_trust_port_of(const struct sm *s, const struct sm_other *o);

#endif
