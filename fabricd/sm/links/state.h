/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/links, for this folder only. */
#ifndef FABRICD_SM_LINKS_STATE_H
#define FABRICD_SM_LINKS_STATE_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/health/damping.h"
#include "libfabmgr/health/isolation.h"

#define SM_CAUSE_LEN 160

/* A link that flapped recently or is isolated. */
struct sm_flap {
    uint64_t guid[2]; /* GUIDs of the nodes at both ends */
    uint8_t port[2];
    char place[2][SM_PLACE_LEN];
    struct fab_damping damping;
    bool isl; /* the link is an ISL */
    /* The link is excluded: it is removed from the model's snapshot. */
    bool out;
    /* The link is isolated until an operator releases it. The members below are valid only if this
     * is true. */
    bool isolated;
    bool operated; /* an operator requested the isolation */
    /* The link is isolated because its host misbehaved (offenders.c). */
    bool offence;
    /* The manager has requested that a port of the link be disabled. */
    bool setting;
    int64_t isolated_us; /* Unix time of the isolation, in microseconds */
    char cause[SM_CAUSE_LEN];
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    /* The port is neither enabled nor disabled: the manager takes its link down, so that the
     * link trains again. */
    bool reset;
    /* The reason if the manager itself requests the change; NULL: an operator requested it. */
    const char *note;
    /* " by alice (uid 1000)": the operator; "" if the manager itself requests the change */
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
    struct fab_silent_link *link; /* the excluded links */
    uint32_t links;
    uint32_t relapses; /* how often it became silent again */
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
    /* The manager was without a port after its last complete sweep, and knows no flaps of that
     * time. */
    bool blind;
    struct sm_silent **silent; /* state of silent.c */
    uint32_t silents;
    /* The switches in `silent` that are silent now; NULL: none. */
    struct fab_silent *silent_set;
    struct sm_silent_checks silent_checks;
    struct loop_timer *silent_poll;
    struct sm_flap *list;
    uint32_t count, room;
    /* Fires at the end of the hold-down that ends first. */
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

/* Functions of flapping.c. */
struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
/* Adds an entry; NULL if memory ran out or the list is full. */
struct sm_flap *sm_flap_room(struct sm *s);
/* Adds a link of snapshot `f` to the list, with the names of both ends. Returns NULL if memory ran
 * out or the list is full. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Returns the id of the port at end 0 of the link if the link is up in the snapshot, else
 * FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* Stores in link[] the links that must be excluded, and in entry[] their entries; both have room
 * for the whole list of flapping links. Links that are excluded already come first. at[] has an
 * element for each entry of the list: a port of its link if the link is up and must be excluded,
 * else FAB_NONE. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count);

/* Functions of isolation.c. */
/* Loads the isolated links from the store. Returns OK, NOMEM or IO. */
int sm_isolate_load(struct sm *s);
/* Call this function after the sweep has set e->out, which says whether the link is excluded
 * from the new snapshot. It emits link-reinstated if routes use the link again although it is
 * isolated. was_out: value of e->out before the sweep. */
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
