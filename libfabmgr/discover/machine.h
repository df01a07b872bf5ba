/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of discover share. Not for other rooms. */
#ifndef LIBFABMGR_DISCOVER_MACHINE_H
#define LIBFABMGR_DISCOVER_MACHINE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/discover/discover.h"

#define ALL_PORTS 0xff /* as the port of a suspect */
#define NO_PLACE UINT32_MAX

/* A node as the machine knows it; indexed by the builder's ref. */
struct place {
    struct fab_path path; /* hops FAB_PATH_UNKNOWN: no way there */
    uint32_t ref;
    uint8_t type, num_ports;
    uint8_t near_port; /* where it was first reached from */
    uint8_t failures;  /* questions that timed out */
    bool answered;     /* at least one question */
    bool walked;       /* its walk was queued: nothing of it is from the base any more */
    uint8_t reported;  /* bit of question_kind: a silent entry exists */
    uint16_t cursor;   /* next step of the walk */
    uint64_t guid, near_guid;
    uint64_t asked[4]; /* ports whose PortInfo was asked */
    uint64_t fresh[4]; /* ports whose cable was confirmed by this discovery */
};

#define FAILURES_MUTE 2
static inline bool fab_discover_node_is_unresponsive(const struct place *p)
{
    return p->failures >= FAILURES_MUTE && !p->answered;
}

enum question_kind { ASK_NODE_INFO, ASK_NODE_DESC, ASK_SWITCH_INFO, ASK_PORT_INFO };

/* Work: a NodeInfo down a port (probe), a PortInfo (read), or all of a node (walk). */
struct item {
    uint32_t place;
    uint8_t port;
};
struct queue {
    struct item *items;
    size_t head, tail, capacity;
};
int fab_discover_queue_push(struct queue *q, struct item item);
static inline bool fab_discover_queue_empty(const struct queue *q)
{
    return q->head == q->tail;
}
bool fab_discover_queue_pop(struct queue *q, struct item *ret);

/* A question on its way; its tag is its index. */
struct question {
    struct fab_path path; /* where it goes over a cable that has no place yet */
    struct item item;
    uint8_t kind;
    bool live;
    uint32_t next_free;
};

struct fab_discover {
    struct fab_builder *builder;
    struct fab_arena arena; /* places and questions: they do not move */
    struct place **places;  /* [place_capacity] by ref, NULL: not known */
    size_t place_capacity;
    struct question **questions;
    size_t question_capacity;
    uint32_t question_count, free_question, in_flight;
    struct queue probes, reads, walks;
    struct item staged; /* found by settle(), not yet asked */
    uint8_t staged_kind;
    bool is_staged;
    int status; /* NOMEM sticks */

    uint32_t node_limit, port_limit, nodes, ports;
    uint32_t self; /* place, NO_PLACE: not known */
    uint8_t self_port;
    bool root_pending; /* the first question is still to be asked */

    const struct fab_fabric *base;
    struct queue suspects; /* scoped: waiting for their wave */
    bool paths_stale;
    bool cut; /* a cable went: something may be unreachable */

    struct fab_unresponsive *silent;
    size_t silent_count, silent_capacity;
};

/* model.c: the model */
struct place *fab_discover_node_get(const struct fab_discover *d,
                                    uint32_t ref); /* NULL: not known */
int fab_discover_node_add(struct fab_discover *d, uint32_t ref, const struct fab_node_info *info,
                          struct place **ret);
int fab_discover_unresponsive_add(struct fab_discover *d, struct fab_unresponsive entry);
/* A question about a node failed: one entry for each kind of question. */
int fab_discover_node_unresponsive(struct fab_discover *d, struct place *p, uint8_t kind,
                                   int status);
bool fab_discover_port_has_link(const struct fab_discover *d, const struct place *p, uint8_t port);
/* The cable is gone: forgets it, and has the far end looked at. */
int fab_discover_link_lost(struct fab_discover *d, struct place *p, uint8_t port);
/* A cable was seen. EXISTS: it contradicts another one that was seen. */
int fab_discover_link_seen(struct fab_discover *d, struct place *a, uint8_t port_a, struct place *b,
                           uint8_t port_b);

/* answer.c */
uint16_t fab_discover_query_attr(uint8_t kind);
int fab_discover_query_failed(struct fab_discover *d, const struct question *q, int status);
int fab_discover_query_answered(struct fab_discover *d, const struct question *q,
                                const uint8_t *data);

/* targeted.c */
int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config);
/* Starts the next wave of suspects; false: there is none. */
bool fab_discover_targeted_wave(struct fab_discover *d);
/* Takes out what no way leads to any more. Adapters pass nothing on, so this is less than what
 * cables connect. */
int fab_discover_targeted_prune(struct fab_discover *d);
/* A cable went: ways are to be found anew, and the far end is looked at. */
int fab_discover_targeted_link_lost(struct fab_discover *d, const struct place *far,
                                    uint8_t far_port);
/* A node does not answer: ways lead round it, and its neighbours are looked at. */
int fab_discover_targeted_node_lost(struct fab_discover *d, const struct place *p);

#endif
