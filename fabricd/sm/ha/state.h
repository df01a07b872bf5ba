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
    /* True: the manager takes part in the election. */
    bool trusted;
    /* The switch port to which it is connected. */
    char place[SM_PLACE_LEN];
};
struct sm_election { /* state of election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct sm_other others[SM_MAX_OTHERS];
    uint32_t other_count;
    /* Node GUID of the last stranger asked in turn; 0: begin with the lowest GUID. */
    uint64_t last_guid;
    /* Manager's clock at the last event sm-ports-many; 0: none yet. */
    uint64_t many_us;
};
/* Control.c: the control packet that is being confirmed. */
struct sm_control {
    bool pending;
    struct transport_mad mad;
    uint32_t packet; /* enum fab_sm_control */
    struct fab_sm_info from;
    struct sm_other sender;
    /* Number of packets refused since the last event about refused packets. */
    uint64_t refused;
    /* No event about refused packets before this time. */
    uint64_t next_event_us;
    /* A HANDOVER to this manager as master causes no sweep before this time. */
    uint64_t next_sweep_us;
};
struct sm_ha {
    struct sm_election election;
    /* Managers that were not trusted when last asked. */
    struct sm_other refused[SM_REFUSED_MOST];
    uint32_t refused_count;
    /* GUIDs of nodes that sent the right M_Key in SubnGet(SMInfo). */
    struct sm_guids proved;
    /* GUIDs of nodes whose manager was trusted at its last answer. */
    struct sm_guids trusted;
    struct sm_control control;
    struct loop_timer *poll_timer;
    /* In standby: the master. path.hops is FAB_PATH_UNKNOWN if no route to the master is known. */
    struct sm_other master;
    uint64_t master_guid;
    /* ActCount of this manager's SMInfo (IBA 14.2.5.13). */
    uint32_t activity;
    /* IsSM is set on the manager's port. */
    bool announced;
};

/* Call this function after the SMInfo of all other managers was read. */
void sm_ha_elect(struct sm *s);
/* Call this function after a control packet changed the role of this manager. `before` is the state
 * before the packet. */
void sm_ha_role_changed(struct sm *s, uint8_t before);
/* Writes this manager's SMInfo. The SM_Key in it is 0 unless with_key is true. */
void sm_ha_own_info(struct sm *s, bool with_key, uint8_t data[FAB_SMP_DATA]);
/* Handles a received SubnSet(SMInfo). */
void sm_ha_control(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   const uint8_t *data, size_t len);

/* ---- trust.c --------------------------------------------------------------------------------- */

/* Returns whether an election always asks the manager at `port`: its switch port is listed in
 * subnet.managers, or it proved itself before. */
bool sm_trust_known(const struct sm *s, uint32_t port);
/* Remembers whether the manager, which has answered, is trusted. */
void sm_trust_note(struct sm *s, const struct sm_other *o);

/* Returns whether other managers must prove themselves. They must if an M_Key is configured or
 * subnet.managers lists managers. */
bool sm_trust_required(const struct sm *s);
/* Returns whether this SM_Key proves that its sender is a manager of the same operator. */
bool sm_trust_sm_key(const struct sm *s, uint64_t key);
/* Returns whether the manager that answered from `port` takes part in the election. */
bool sm_trust_answer(const struct sm *s, uint32_t port, const struct fab_sm_info *info);
/* Returns whether subnet.managers lists the manager `guid` at the switch port to which `port` is
 * connected. */
bool sm_trust_listed(const struct sm *s, uint32_t port, uint64_t guid);
/* Returns the M_Key for requests to a port that may have another manager. The M_Key is 0, which
 * authorizes nothing, unless that manager is listed or has already sent the M_Key itself. */
uint64_t sm_trust_m_key(const struct sm *s, uint32_t port);
/* Returns whether the requester may see this manager's SM_Key. If the request carried the M_Key,
 * remembers the requester as proved. */
bool sm_trust_requester(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head);
/* Returns the port that sent an SMP, or FAB_NONE if it is not known. The sender of a directed-route
 * SMP is found by the return path, which the switches wrote. The sender of any other SMP is found
 * by the source LID, which the sender can forge. */
uint32_t sm_trust_origin(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head);
/* Returns the port of a manager that the last election found; FAB_NONE if the manager left the
 * fabric. */
uint32_t sm_trust_port_of(const struct sm *s, const struct sm_other *o);

#endif
