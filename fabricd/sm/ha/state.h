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
/* maximum number of managers that no longer answer and that this manager still asks (watch.c) */
#define SM_MISSING_MOST 8

/* Another manager: its last SMInfo and its place in the fabric. */
struct sm_other {
    struct fab_sm_info info;
    struct fab_path path; /* directed route to the manager's port */
    uint64_t node_guid;
    uint8_t port_num;
    uint16_t lid;
    /* The manager is trusted, and takes part in the election. */
    bool trusted;
    /* The ActCount in the last SMInfo of the manager differed from the one before. */
    bool advancing;
    /* this manager's clock when the other manager last answered with SMInfo */
    uint64_t answered_us;
    /* Name of the switch port to which the manager is connected. */
    char place[SM_PLACE_LEN];
};
struct sm_election { /* state of election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct sm_other others[SM_MAX_OTHERS];
    uint32_t other_count;
    /* The managers that the election before the last one found. */
    struct sm_other former[SM_MAX_OTHERS];
    uint32_t former_count;
    /* Node GUID of the last stranger (election.c) that a sweep asked; 0: begin with the lowest
     * GUID. */
    uint64_t last_guid;
    /* Manager's clock at the last event sm-ports-many; 0: none yet. */
    uint64_t many_us;
};
/* The polls of the master by a standby manager (poll.c). */
struct sm_poll {
    /* The context of a poll is this struct and not struct sm, so that the end of a round does not
     * cancel the poll. */
    struct sm *s;
    struct loop_timer *timer;
    bool unanswered; /* the last poll was sent, and not answered yet */
    /* Node GUID of the master that stopped answering the polls, and manager's clock at this time;
     * 0: none. The next election in a sweep sends this node only one try of a request. */
    uint64_t lost_node, lost_us;
};
/* Reads the SMInfo of the other managers between elections (watch.c). */
struct sm_watch {
    /* The context of the reads is this struct and not struct sm, so that the end of a round does
     * not cancel the reads. */
    struct sm *s;
    struct loop_timer *timer;
    struct fab_path paths[SM_MAX_OTHERS]; /* directed routes of the requests in flight */
    /* A manager that no election has found yet, and that this manager asks for its SMInfo. Only the
     * members for its place in the fabric are set. path.hops 0: no such manager is asked. */
    struct sm_other stranger;
    bool stranger_asked; /* the request to `stranger` was sent */
    /* Trusted managers that did not answer in an election, although their ports have IsSM set.
     * Their processes may hang. The manager asks them in turn. */
    struct sm_other missing[SM_MISSING_MOST];
    uint32_t missing_count, next_missing;
    uint32_t ticks; /* number of timer ticks (reads of all managers) since the last election */
    /* The other master that the last event sm-two-masters named; 0: there was none since this
     * manager became master. */
    uint64_t second_guid;
    uint64_t master_us; /* manager's clock when it last became master */
};
/* The hand-over that this manager, as master, has begun (handover.c). */
struct sm_handover {
    /* The context of the request is this struct and not struct sm, so that the end of a round does
     * not cancel the request. */
    struct sm *s;
    struct loop_timer *timer; /* fires when the manager must check whether HANDOVER can be sent */
    bool pending;
    bool sent; /* HANDOVER was sent */
    /* manager's clock at which the wait for a suitable time to send HANDOVER ends */
    uint64_t until_us;
    struct sm_other to;
    /* this manager's priority before the hand-over, and in HANDOVER */
    uint8_t former_priority, priority;
    bool by_command;
    sm_done *done; /* callback of the caller that waits; NULL: no caller waits */
    void *ctx;
    /* Manager's clock before which no further hand-over begins without a command. */
    uint64_t not_before_us;
    struct fab_smstate_holds holds;
};
/* A control packet from another manager. Before fabricd obeys it, fabricd asks the sender for its
 * SMInfo, to confirm that the packet is not forged (control.c). */
struct sm_control {
    /* The context of the request for SMInfo is this struct and not struct sm, so that the end of a
     * round does not cancel the request. */
    struct sm *s;
    bool pending;
    struct transport_mad mad;
    uint32_t packet; /* enum fab_sm_control */
    struct fab_sm_info from;
    struct sm_other sender;
    /* Number of control packets refused since the last event about them. */
    uint64_t refused;
    /* Manager's clock before which no event about refused control packets may be emitted. */
    uint64_t next_event_us;
    /* While this manager is master, a HANDOVER before this time (manager's clock) causes no
     * sweep. */
    uint64_t next_sweep_us;
};
struct sm_ha {
    struct sm_election election;
    /* Managers that sent no proof when a sweep last asked them. */
    struct sm_other refused[SM_REFUSED_MOST];
    uint32_t refused_count;
    /* Nodes that proved themselves: they sent the right M_Key in SubnGet(SMInfo). */
    struct sm_guids proved;
    /* GUIDs of nodes whose manager was trusted at its last answer. */
    struct sm_guids trusted;
    struct sm_control control;
    struct sm_poll poll;
    struct sm_watch watch;
    struct sm_handover handover;
    /* The priority of this manager: subnet.sm_priority, or what an operator set. role.priority is
     * lower after a hand-over by command, until this manager is master again. */
    uint8_t priority;
    int64_t since_us; /* Unix time at which the state of this manager last changed */
    char why[200];    /* why the state last changed, as a clause for operators */
    /* The master while this manager is in standby. path.hops is FAB_PATH_UNKNOWN if no route to the
     * master is known. */
    struct sm_other master;
    uint64_t master_guid;
    /* The value of `master` when this manager became master: the former master. */
    struct sm_other former_master;
    /* ActCount of this manager's SMInfo (IBA 14.2.5.13). */
    uint32_t activity;
    /* This manager was in standby and sweeps because its snapshot is outdated
     * (sm_ha_rediscover). */
    bool rediscovers;
    /* IsSM is set on the manager's port. */
    bool announced;
};

/* Elects the master. Call this function after the SMInfo of all other managers was read. */
void sm_ha_elect(struct sm *s);
/* Call this function after a control packet has changed the state of this manager. It begins the
 * work of a master or a standby. before: the state before the packet (enum fab_sm_state). */
void sm_ha_role_changed(struct sm *s, uint8_t before);
/* Writes this manager's SMInfo to `data`. with_key: include the SM_Key; otherwise it is 0. */
void sm_ha_own_info(struct sm *s, bool with_key, uint8_t data[FAB_SMP_DATA]);
/* Handles a received SubnSet(SMInfo). */
void sm_ha_control(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   const uint8_t *data, size_t len);
/* Forgets the control packet that waits for a confirmation. */
void sm_ha_control_forget(struct sm *s);

/* Notes why the state of this manager changes now. */
void sm_ha_because(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Makes this manager, which is master, a standby of the manager `to`. Ends the running round and
 * all requests of operators. */
void sm_ha_step_down(struct sm *s, const struct sm_other *to);

/* ---- election.c ------------------------------------------------------------------------------ */

/* Notes the SMInfo that the manager at `port` sent. Returns the manager; NULL: it is this manager,
 * it is not active, or SM_MAX_OTHERS managers are known already. */
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
/* Drops the requests in flight. Call this function before the list of other managers changes. */
void sm_watch_cancel(struct sm *s);
/* Call this function when the answers of an election have arrived. It notes the trusted managers
 * that did not answer. */
void sm_watch_note_missing(struct sm *s);
/* Reports the other masters of an election, if this manager is master. */
void sm_watch_report_masters(struct sm *s);
/* Call this function after a request for SMInfo by the manager at `port`. If the manager is not
 * known, asks it for its own SMInfo. */
void sm_watch_heard(struct sm *s, uint32_t port);

/* ---- handover.c ------------------------------------------------------------------------------ */

int sm_handover_init(struct sm *s); /* returns OK or NOMEM */
void sm_handover_fini(struct sm *s);
/* Hands over if IBA 14.4.1 demands it. Call this function if this manager is master and the SMInfo
 * of another manager came. */
void sm_handover_consider(struct sm *s);
/* Sends HANDOVER to another master that has precedence over this manager, and does not wait for an
 * answer. The other master then sweeps the part of the subnet that this manager managed. */
void sm_handover_tell(struct sm *s, const struct sm_other *master);
/* Returns true if the ACKNOWLEDGE of this manager ends the hand-over that is under way. */
bool sm_handover_acknowledged(struct sm *s, const struct fab_sm_info *from);
/* Drops the hand-over that is under way. If HANDOVER was sent, restores the former priority. */
void sm_handover_forget(struct sm *s);
/* Returns the time (manager's clock) until which this manager does not hand over to the manager
 * with this port GUID; 0: a hand-over is permitted now. */
uint64_t sm_handover_held_until(const struct sm *s, uint64_t guid);

/* ---- poll.c ---------------------------------------------------------------------------------- */

int sm_poll_init(struct sm *s); /* returns OK or NOMEM */
void sm_poll_fini(struct sm *s);
/* Begin and end the polls of s->ha->master. */
void sm_poll_begin(struct sm *s);
void sm_poll_end(struct sm *s);

/* ---- trust.c --------------------------------------------------------------------------------- */

/* Returns whether each election reads SMInfo from the manager at this port. This is so if
 * subnet.managers lists the switch port to which the manager is connected, or if the manager has
 * proved itself before. */
bool sm_trust_known(const struct sm *s, uint32_t port);
/* Notes whether `o`, another manager, was trusted at its last answer. */
void sm_trust_note(struct sm *s, const struct sm_other *o);

/* Returns whether other managers must prove that they belong to the same operator. They must if the
 * configuration has an M_Key or lists managers (subnet.managers). */
bool sm_trust_required(const struct sm *s);
/* Returns whether this SM_Key proves that its sender is a manager of the same operator. */
bool sm_trust_sm_key(const struct sm *s, uint64_t key);
/* Returns whether the manager at `port` is trusted, and takes part in the election, after it
 * answered with this SMInfo. */
bool sm_trust_answer(const struct sm *s, uint32_t port, const struct fab_sm_info *info);
/* Returns whether subnet.managers lists the manager `guid` at the switch port to which `port` is
 * connected. */
bool sm_trust_listed(const struct sm *s, uint32_t port, uint64_t guid);
/* Returns the M_Key for requests to a port that may have another manager. This is the M_Key of the
 * port if subnet.managers lists that manager, or if the manager has proved that it knows the M_Key.
 * Otherwise it is 0, which authorizes nothing. */
uint64_t sm_trust_m_key(const struct sm *s, uint32_t port);
/* Returns whether the sender of this request may see this manager's SM_Key. If the request carried
 * the M_Key, notes that the sender has proved itself. */
bool sm_trust_requester(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head);
/* Returns the id of the port that sent an SMP; FAB_NONE: not known. The return path shows the
 * sender of a directed-route SMP, because the switches wrote this path. Otherwise the source LID
 * shows the sender, but the sender can forge it. */
uint32_t sm_trust_origin(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head);
/* Returns the id of the port of a manager that the last election found; FAB_NONE: the manager has
 * left the fabric. */
uint32_t sm_trust_port_of(const struct sm *s, const struct sm_other *o);

#endif
