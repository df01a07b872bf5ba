/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/ha. For this folder only. */
#ifndef FABRICD_SM_HA_STATE_H
#define FABRICD_SM_HA_STATE_H

#include "fabricd/sm/ha/ha.h"
#include "libfabmgr/base/status.h"

#define SM_MAX_OTHERS 64    /* maximum number of managers whose SMInfo is read in a sweep */
#define SM_REFUSED_MOST 256 /* maximum number of refused managers that are remembered */

/* Another manager: what it answered, and where it is. */
struct sm_other {
    struct fab_sm_info info;
    struct fab_path path; /* directed route to its port */
    uint64_t node_guid;
    uint8_t port_num;
    uint16_t lid;
    bool trusted;             /* false: the election ignores it */
    char place[SM_PLACE_LEN]; /* the switch port to which it is connected */
};
struct sm_election { /* election.c */
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct sm_other others[SM_MAX_OTHERS];
    uint32_t other_count;
    uint64_t last_guid; /* of the last stranger that was asked in its turn; 0: begin anew */
    uint64_t many_us;   /* time of the last event sm-ports-many; 0: none */
};
struct sm_control { /* control.c: the control packet that waits for its confirmation */
    bool pending;
    struct transport_mad mad;
    uint32_t packet; /* enum fab_sm_control */
    struct fab_sm_info from;
    struct sm_other sender;
    uint64_t refused;       /* packets refused since the last event about them */
    uint64_t next_event_us; /* no event about a refusal is emitted before this time */
    uint64_t next_sweep_us; /* no HANDOVER to the master causes a sweep before this time */
};
struct sm_ha {
    struct sm_election election;
    struct sm_other refused[SM_REFUSED_MOST]; /* not trusted when they were last asked */
    uint32_t refused_count;
    struct sm_guids proved;  /* GUIDs of nodes that sent our M_Key in a SubnGet(SMInfo) */
    struct sm_guids trusted; /* GUIDs of nodes whose manager was trusted when it last answered */
    struct sm_control control;
    struct loop_timer *poll_timer;
    struct sm_other master; /* in standby: the master; path.hops FAB_PATH_UNKNOWN: no route to it */
    uint64_t master_guid;
    uint32_t activity; /* ActCount of SMInfo, IBA 14.2.5.13 */
    bool announced;    /* IsSM is set */
};

void sm_ha_elect(struct sm *s); /* call it after SMInfo of the other managers was read */
/* To be called after a control packet changed the role. before: the state before the packet. */
void sm_ha_role_changed(struct sm *s, uint8_t before);
/* Writes our own SMInfo. The SM_Key is 0 unless with_key. */
void sm_ha_own_info(struct sm *s, bool with_key, uint8_t data[FAB_SMP_DATA]);
/* Handles SubnSet(SMInfo). */
void sm_ha_control(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                   const uint8_t *data, size_t len);

/* ---- trust.c --------------------------------------------------------------------------------- */

/* Whether the switch port of this manager is listed, or it proved itself before: it is asked in
 * each sweep.
 */
bool sm_trust_known(const struct sm *s, uint32_t port);
/* Remembers whether a manager that answered is trusted. */
void sm_trust_note(struct sm *s, const struct sm_other *o);

/* Returns whether managers must prove themselves: an M_Key is configured, or managers are listed.
 */
bool sm_trust_required(const struct sm *s);
/* Returns whether this SM_Key proves that its sender is a manager of ours. */
bool sm_trust_sm_key(const struct sm *s, uint64_t key);
/* Returns whether a manager that answered from `port` counts in the election. */
bool sm_trust_answer(const struct sm *s, uint32_t port, const struct fab_sm_info *info);
/* Returns whether the manager `guid` at `port` is in subnet.managers. */
bool sm_trust_listed(const struct sm *s, uint32_t port, uint64_t guid);
/* Returns the M_Key for requests to a port behind which a manager may be. The M_Key is 0, which
 * authorizes nothing, unless that manager is listed, or has shown that it knows the key. */
uint64_t sm_trust_m_key(const struct sm *s, uint32_t port);
/* Returns whether the requester may see our SM_Key. Remembers a requester that gave our M_Key. */
bool sm_trust_requester(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head);
/* Returns the port that sent an SMP, or FAB_NONE if it is not known. The sender of a directed-route
 * SMP is found by the return path, which the switches wrote; the sender of another SMP is found by
 * the source LID, which the sender chose. */
uint32_t sm_trust_origin(const struct sm *s, const struct transport_mad *mad,
                         const struct fab_mad *head);
/* Returns the port of a manager that the last election found. FAB_NONE: it left the fabric. */
uint32_t sm_trust_port_of(const struct sm *s, const struct sm_other *o);

#endif
