/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/links. For this folder only. */
#ifndef FABRICD_SM_LINKS_STATE_H
#define FABRICD_SM_LINKS_STATE_H

#include "fabricd/sm/links/links.h"
#include "libfabmgr/health/damping.h"
#include "libfabmgr/health/isolation.h"

#define SM_CAUSE_LEN 160

struct sm_flap {      /* a link that went down recently, or is isolated */
    uint64_t guid[2]; /* nodes at both ends */
    uint8_t port[2];
    char place[2][SM_PLACE_LEN];
    struct fab_damping damping;
    bool isl; /* the link is an ISL */
    bool out; /* excluded from the model's fabric */
    /* isolated until an operator releases it; the fields below are valid only then */
    bool isolated;
    bool operated;       /* an operator isolated it */
    bool offence;        /* the link of a host that misbehaved (offenders.c) */
    bool setting;        /* disabling one of its ports was requested */
    int64_t isolated_us; /* Unix time */
    char cause[SM_CAUSE_LEN];
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    /* why the manager itself requests the change; NULL: an operator requested it */
    const char *note;
    sm_done *done;
    void *ctx;
};
struct sm_links {
    struct sm_flap *list;
    uint32_t count, room;
    struct loop_timer *timer; /* for the next release of a held-down link */
    uint32_t reported;        /* flapping links reported since reported_us */
    uint64_t reported_us;

    struct sm_port_op *waiting; /* ports to be set */
    struct sm_port_op *op;      /* the port that the running round sets, or NULL */
    struct fab_path op_path;    /* directed route to that port */
    uint32_t op_port;           /* id of the port */
    bool op_sent;
    int op_status;
    uint64_t spared_us;          /* time of the last event offender-not-isolated; 0: none */
    struct store_port *disabled; /* ports that operators disabled */
    size_t disabled_count;
};

/* flapping.c */
struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
struct sm_flap *sm_flap_room(struct sm *s); /* adds an entry; NULL: no memory, or too many */
/* Adds a link of snapshot f, with the names of both ends. NULL: no memory, or too many. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Returns the id of the link's first port if the link is up in the snapshot, else FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* Lists the links to be excluded, first those that are excluded already. at[]: for each entry of
 * the list, a port of the link if it is up and to be excluded, else FAB_NONE. link and entry have
 * room for the whole list. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count);

/* isolation.c */
int sm_isolate_load(struct sm *s); /* loads the isolated links from the store. NOMEM, IO */
/* Call it after e->out was set for a new snapshot: emits link-reinstated if the link is not
 * excluded any more. */
void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out);
/* Ends the isolation of a link whose ports have other peers now. */
void sm_isolate_moved(struct sm *s, struct sm_flap *e);
void sm_isolate_end(struct sm *s, struct sm_flap *e); /* ends the isolation of a released link */

/* Isolates a link of the list, whose end 0 is to be disabled if its host misbehaved. */
void sm_isolate_begin(struct sm *s, struct sm_flap *e, const char *cause);

/* port_setting.c */
/* Requests for the manager itself that a port be enabled or disabled. note: the reason, as the end
 * of a sentence; a string constant. NOMEM. */
int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note);
/* Returns true if an operator disabled the port. */
bool sm_port_is_operators(const struct sm *s, uint64_t guid, uint8_t port);

#endif
