/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/ha, for this folder only. */
#ifndef FABRICD_SM_HA_STATE_H
#define FABRICD_SM_HA_STATE_H

#include "fabricd/sm/ha/ha.h"
#include "libfabmgr/base/status.h"

/* Maximum number of managers whose SMInfo is read in a sweep. */
#define SM_MAX_OTHERS 64
/* Maximum number of refused managers that are remembered. */
#define SM_REFUSED_MOST 256

/* Another manager: its last SMInfo and its place in the fabric. */
struct sm_other {
    struct fab_sm_info info;
    struct fab_path path; /* directed route to its port */
    uint64_t node_guid;
    uint8_t port_num;
    uint16_t lid;
    /* The manager is trusted, and takes part in the election. */
    bool trusted;
    /* Name of the switch port to which the manager is connected. */
    char place[SM_PLACE_LEN];
};
struct sm_election { /* state of election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct sm_other others[SM_MAX_OTHERS];
    uint32_t other_count;
    /* Node GUID of the last stranger (election.c) that a sweep asked; 0: begin with the lowest
     * GUID. */
    uint64_t last_guid;
    /* Manager's clock at the last event sm-ports-many; 0: none yet. */
    uint64_t many_us;
};
/* The polls of the master by a standby manager (poll.c). */
struct sm_poll {
    /* The poll has this struct, not the manager, as its context, so that the end of a round does
     * not cancel it. */
    struct sm *s;
    struct loop_timer *timer;
    bool unanswered; /* the last poll was sent, and not answered yet */
    /* Node GUID of the master that stopped answering the polls; 0: none. The next election waits
     * only a short time for its answer. */
    uint64_t lost_node;
};
/* A control packet from another manager. Before fabricd obeys it, fabricd asks the sender for its
 * SMInfo, to confirm that the packet is not forged (control.c). */
struct sm_control {
    /* The request for SMInfo has this struct, not the manager, as its context, so that the end of a
     * round does not cancel it. */
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
    /* The master while this manager is in standby. path.hops is FAB_PATH_UNKNOWN if no route to the
     * master is known. */
    struct sm_other master;
    uint64_t master_guid;
    /* ActCount of this manager's SMInfo (IBA 14.2.5.13). */
    uint32_t activity;
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

/* ---- poll.c ---------------------------------------------------------------------------------- */

int sm_poll_init(struct sm *s); /* returns OK or NOMEM */
void sm_poll_fini(struct sm *s);
/* Begin and end the polls of s->ha->master. */
void sm_poll_begin(struct sm *s);
void sm_poll_end(struct sm *s);

/* ---- trust.c --------------------------------------------------------------------------------- */

/* Returns whether each election asks the manager at this port, because subnet.managers lists its
 * switch port or the manager has proved itself before. */
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
/* Returns the M_Key for requests to a port that may have another manager. This is 0, which
 * authorizes nothing, unless subnet.managers lists that manager or it has already sent the M_Key
 * itself. */
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
