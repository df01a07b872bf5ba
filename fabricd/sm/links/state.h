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
    /* The link is excluded: it is removed from the model's snapshot, except the link of a
     * misbehaving host. */
    bool out;
    /* The link is isolated until an operator releases it. The members below are valid only for an
     * isolated link. */
    bool isolated;
    bool operated; /* an operator requested the isolation */
    /* The link is isolated because its host misbehaved (offenders.c). */
    bool offence;
    /* The last sweep left the link in the routes although it is isolated or drained, because nodes
     * would be unreachable without it. */
    bool reinstated;
    /* The manager has requested that a port of the link be disabled. */
    bool setting;
    int64_t isolated_us; /* Unix time of the isolation, in microseconds */
    char cause[SM_CAUSE_LEN];
    /* Number of the drain to which the link belongs; 0: none. returning: the drain has ended, but
     * the snapshot does not have the link yet. */
    uint32_t drain;
    bool returning;
};
/* A link, switches or a host that an operator drains (drain.c). */
struct sm_drain {
    struct sm_drain_info info;
    uint64_t *node; /* [nodes] GUIDs of the switches or of the adapters */
    uint32_t nodes;
    uint64_t ended_us; /* manager's clock when the drain ended; 0: it has not ended */
};
struct sm_drains { /* state of drain.c */
    struct sm_drain *list;
    uint32_t count;
    uint32_t last; /* the highest number that any drain had */
    /* Digest of the active LFTs before the first drain began; 0: not known. */
    uint64_t before;
    struct loop_timer *timer; /* fires when the time limit of a drain is over */
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    /* The operation is a reset: the manager takes the link of the port down, so that the link
     * trains again. */
    bool reset;
    /* The reason if the manager itself requests the change; NULL: an operator requested it. */
    const char *note;
    /* the operator, such as " by alice (uid 1000)"; "" if the manager itself requests the change */
    char by[128];
    sm_done *done;
    void *ctx;
};
/* A switch that is silent, or was silent recently. */
struct sm_silent {
    struct sm *s;
    uint64_t guid;
    /* Manager's clock when the switch was found to be silent. */
    uint64_t since_us;
    /* Manager's clock when routes were allowed to use the switch again; 0: the switch is silent. */
    uint64_t released_us;
    /* Routes may use the switch again, but no view has been published since. */
    bool returning;
    /* The links of the switch are excluded from the snapshot. */
    bool avoided;
    struct fab_silent_link *link; /* [links] the excluded links of the switch */
    uint32_t links;
    uint32_t relapses; /* how often the switch became silent again */
    /* Number of polls in a row that the switch answered. */
    uint32_t answers;
    bool heard; /* the switch answered the last poll */
    /* Number of requests of the last poll that are not answered. */
    uint32_t asked;
    struct fab_path path[2];
};
struct sm_check;
struct sm_silent_checks { /* state of silent_check.c */
    struct sm_check **check;
    uint32_t checks;
    /* Switches that recently answered no request of a check. lost_us: manager's clock when the last
     * of them was added. */
    struct sm_guids lost;
    struct sm_guids judged; /* switches in `lost` that were checked themselves */
    uint64_t lost_us;
    struct loop_timer *begin, *verdict, *schedule;
};
struct sm_links {
    /* The manager lost its port after its last complete sweep, so it does not know the flaps since
     * that sweep. */
    bool blind;
    struct sm_silent **silent; /* state of silent.c */
    uint32_t silents;
    /* The switches in `silent` that are silent now; NULL: none. */
    struct fab_silent *silent_set;
    struct sm_silent_checks silent_checks;
    struct sm_drains drains;
    struct loop_timer *silent_poll;
    /* the links between switches that were up; NULL: none */
    struct fab_known *known;
    struct loop_tasks noting;
    bool note_again; /* the snapshot changed while a task noted links */
    struct sm_flap *list;
    uint32_t count, room;
    /* Fires when the next hold-down ends. */
    struct loop_timer *timer;
    uint32_t reported; /* number of flapping links reported since reported_us */
    uint64_t reported_us;

    /* List of ports that wait to be enabled or disabled. */
    struct sm_port_op *waiting;
    /* The operation that the running round carries out: it enables, disables or resets one port.
     * NULL: none. */
    struct sm_port_op *op;
    struct fab_path op_path; /* directed route to the port of `op` */
    uint32_t op_port;        /* id of the port of `op` */
    bool op_sent;
    int op_status;
    /* manager's clock at the last event offender-not-isolated; 0: none yet. */
    uint64_t spared_us;
    struct store_port *disabled; /* the ports that operators disabled */
    size_t disabled_count;
};

/* Functions of list.c. */
struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
/* Returns the entry of the link at this port of the model's snapshot; NULL: there is none. */
struct sm_flap *sm_flap_at(const struct sm *s, uint32_t port);
/* Adds an entry; NULL if memory ran out or the list is full. */
struct sm_flap *sm_flap_room(struct sm *s);
/* Adds a link of snapshot `f` to the list, with the names of both ends. Returns NULL if memory ran
 * out or the list is full. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Returns whether routes must avoid the link, even while it is up. */
bool sm_flap_is_barred(const struct sm *s, const struct sm_flap *e);

/* Functions of rule.c. */
/* The rules by which links may be excluded now. rule.lost points to the memory `lost`. */
struct sm_rule {
    struct fab_isolation_rule rule;
    struct fab_lost_link *lost;
};
/* Makes the rules for snapshot f. Returns NOMEM. */
int sm_rule_init(struct sm *s, const struct fab_fabric *f, struct sm_rule *ret);
void sm_rule_fini(struct sm_rule *r);

/* Functions of exclude.c. */
/* Returns the id of the port at end 0 of the link if the link is up in the snapshot, else
 * FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* Stores in link[] the links that must be excluded, and in entry[] their entries; both have room
 * for the whole list of flapping links. Links that are excluded already come first. at[] has an
 * element for each entry of the list: a port of the entry's link if this link is up and must be
 * excluded, else FAB_NONE. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count);
/* Requests a targeted sweep of the nodes at both ends of the link. */
void sm_flap_suspect_ends(struct sm *s, const struct sm_flap *e);

/* Functions of flapping.c. */
struct fab_damping_rule sm_flap_rule(const struct sm *s);
/* Counts a flap of a link of the list. */
void sm_flap_fell(struct sm *s, struct sm_flap *e);
/* Ends the hold-downs that are over. ctx: the manager. */
void sm_flap_due(void *ctx);
/* Requests a port probe or a targeted sweep of both ends of a link whose isolation, drain or
 * hold-down has ended. */
void sm_flap_read_ends(struct sm *s, const struct sm_flap *e);
/* Requests that routes avoid a link of the list. cause: the text for the record of the reroute. */
void sm_flap_leave(struct sm *s, const struct sm_flap *e, const char *cause);

/* Functions of drain.c. */
int sm_drains_init(struct sm *s);    /* returns OK or NOMEM */
int sm_drains_load(struct sm *s);    /* loads the drains from the store; returns OK, NOMEM or IO */
void sm_drains_forget(struct sm *s); /* forgets all drains, before they are loaded again */
void sm_drains_fini(struct sm *s);
/* Emits drain-suspended if routes use a drained link again. Call this function after the sweep has
 * set e->out of the link. was_out: the value of e->out before the sweep. */
void sm_drain_taken(struct sm *s, const struct sm_flap *e, bool was_out);
/* Removes a link from its drain. Call this function if a port of the link is now connected to
 * another port. */
void sm_drain_moved(struct sm *s, struct sm_flap *e);

/* Functions of isolation.c. */
/* Loads the isolated links from the store. Returns OK, NOMEM or IO. */
int sm_isolate_load(struct sm *s);
/* Call this function after the sweep has set e->out, which says whether the link is excluded from
 * the new snapshot. If routes use the isolated link again, the function emits link-reinstated.
 * was_out: value of e->out before the sweep. */
void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out);
/* Ends the isolation of a link if a port of it is now connected to another port. */
void sm_isolate_moved(struct sm *s, struct sm_flap *e);
void sm_isolate_end(struct sm *s, struct sm_flap *e); /* ends the isolation of a released link */

/* Isolates a link of the list. cause: a phrase for operators. For a misbehaving host, the port at
 * end 0 will be disabled. */
void sm_isolate_begin(struct sm *s, struct sm_flap *e, const char *cause);

/* Functions of silent.c, silent_check.c and silent_poll.c. */
int sm_silent_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_fini(struct sm *s);
int sm_silent_checks_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_checks_fini(struct sm *s);
struct sm_silent *sm_silent_find(const struct sm *s, uint64_t guid);
/* Adds a silent switch to the list. NULL: the list is full, or memory ran out. */
struct sm_silent *sm_silent_add(struct sm *s, uint64_t guid);
/* Sends a SubnGet over a directed route. */
void sm_silent_ask(struct sm *s, const struct fab_path *path, uint16_t attr_id, uint32_t attr_mod,
                   fab_mads_done *done, void *ctx, uint64_t tag, bool once);
/* Makes a directed route that is one hop longer than `near`: it leaves the node at the end of
 * `near` by this port. Returns false if the route would have too many hops. */
bool sm_silent_extend(const struct fab_path *near, uint8_t port, struct fab_path *ret);
int sm_silent_poll_init(struct sm *s); /* returns OK or NOMEM */
void sm_silent_poll(struct sm *s);     /* starts the periodic polls of silent switches */
/* Notes that a silent switch answers again. */
void sm_silent_release(struct sm *s, struct sm_silent *e);

/* Functions of port_setting.c. */
/* Returns whether an operator disabled the port. */
bool sm_port_is_operators(const struct sm *s, uint64_t guid, uint8_t port);

#endif
