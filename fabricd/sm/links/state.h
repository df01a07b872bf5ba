/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/links, for the files of this folder only. */
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
    bool isl;            /* between switches */
    bool out;            /* excluded from the model's fabric */
    bool isolated;       /* until it is released by command; then what follows is set */
    bool operated;       /* by an operator */
    bool setting;        /* one of its ports is being set */
    int64_t isolated_us; /* Unix time */
    char cause[SM_CAUSE_LEN];
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    const char *note; /* why the manager does it on its own; NULL: an operator requested it */
    sm_done *done;
    void *ctx;
};
struct sm_links {
    struct sm_flap *list;
    uint32_t count, room;
    struct loop_timer *timer; /* of links that are held down */
    uint32_t reported;        /* events since reported_us */
    uint64_t reported_us;

    struct sm_port_op *waiting; /* ports to be set */
    struct sm_port_op *op;      /* the one being set */
    struct fab_path op_path;    /* to its port */
    uint32_t op_port;           /* id of the port */
    bool op_sent;
    int op_status;
    struct store_port *disabled; /* by operators */
    size_t disabled_count;
};

/* flapping.c */
struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
struct sm_flap *sm_flap_room(struct sm *s); /* NULL: no memory, or too many */
/* With the names of both ends. NULL: no memory, or too many. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Its port in the snapshot if the link is up there, else FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* All links that are to be excluded, those first that are excluded already. at[]: by entry of the
 * list, its port if the link is up and to be excluded, or FAB_NONE. link, entry: room for the
 * whole list. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count);

/* isolation.c */
int sm_isolate_load(struct sm *s); /* what was isolated before the restart */
/* A snapshot was judged: the link is excluded or not, as it was or was not before. */
void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out);
void sm_isolate_moved(struct sm *s, struct sm_flap *e); /* other links are at its ports */
void sm_isolate_end(struct sm *s, struct sm_flap *e);   /* by command */

/* port_setting.c */
/* On the manager's own account. note: why, as the end of a sentence; a constant. NOMEM. */
int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note);
bool sm_port_is_operators(const struct sm *s, uint64_t guid, uint8_t port); /* disabled by one */

#endif
