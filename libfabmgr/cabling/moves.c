/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/cabling/moves.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/fabric.h"

struct work {
    const struct fab_cabling_ports *ports;
    struct fab_cabling_moves *result;
    /* [ports.count] for each port, the port at the other end of its cable after the moves so far;
     * FAB_NONE: no cable */
    uint32_t *cable;
    /* [member_count] ports of the group, in the order in which walk() found them */
    uint32_t *members;
    uint32_t member_count;
    int status; /* the first failure, or OK */
};

static void add(struct work *w, enum fab_cabling_step step, uint32_t a, uint32_t b, uint32_t other)
{
    struct fab_cabling_moves *r = w->result;
    if (w->status != FAB_OK)
        return;
    if (r->count == r->room) {
        void *bigger = fab_base_grow(r->moves, sizeof *r->moves, r->count + 1, &r->room);
        if (bigger == NULL) {
            w->status = FAB_E_NOMEM;
            return;
        }
        r->moves = bigger;
    }
    r->moves[r->count++] = (struct fab_cabling_move){step, a, b, other, r->groups};
}

static void connect(struct work *w, uint32_t a, uint32_t b)
{
    w->cable[a] = b;
    w->cable[b] = a;
}

static unsigned distance(const struct work *w, uint32_t a, uint32_t b)
{
    return w->ports->distance(w->ports->ctx, a, b);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Exchanges two cable ends, so that port p gets its planned partner x. Let port q be at the other
 * end of p's cable, and port y at the other end of x's cable. An exchange of the cable ends in x
 * and q has the same effect as an exchange of those in p and y, so the function chooses the pair of
 * ports that are nearer to each other. Does nothing if p has its planned partner already, or if in
 * both pairs the distance of the ports exceeds `limit`. */
static void exchange(struct work *w, uint32_t p, unsigned limit)
{
    uint32_t x = w->ports->planned[p], q = w->cable[p], y = w->cable[x];
    if (q == x)
        return;
    unsigned far = distance(w, q, x), near = distance(w, p, y);
    if (far > limit && near > limit)
        return;
    if (near <= far)
        add(w, FAB_CABLING_EXCHANGE, p, y, FAB_NONE);
    else
        add(w, FAB_CABLING_EXCHANGE, x, q, FAB_NONE);
    connect(w, p, x);
    connect(w, q, y);
}

static void settle_cycle(struct work *w)
{
    for (unsigned limit = 0; limit <= FAB_CABLING_FARTHEST; limit++)
        for (uint32_t i = 0; i < w->member_count; i++)
            exchange(w, w->members[i], limit);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns the port whose cable end must move to port p: the other end of the cable in p's planned
 * partner. FAB_NONE: p has no planned partner, or the partner has no cable. */
static uint32_t wanted(const struct work *w, uint32_t p)
{
    uint32_t x = w->ports->planned[p];
    return x == FAB_NONE ? FAB_NONE : w->cable[x];
}

/* Returns the distance over which a cable end must move to the free port p; if no cable end belongs
 * there, a value above all distances (moves.h). */
static unsigned filling_distance(const struct work *w, uint32_t p)
{
    uint32_t from = wanted(w, p);
    return from == FAB_NONE ? FAB_CABLING_FARTHEST + 1 : distance(w, from, p);
}

/* Removes the cable at one end of the path. No link is planned at either end. */
static void remove_one(struct work *w, uint32_t end[2])
{
    uint32_t far[2] = {w->cable[end[0]], w->cable[end[1]]};
    /* The next move fills the port that becomes free at the other end of the removed cable. So this
     * code removes the one of the two cables for which the next move is shorter. */
    unsigned i = filling_distance(w, far[1]) < filling_distance(w, far[0]) ? 1 : 0;
    add(w, FAB_CABLING_REMOVE, end[i], far[i], FAB_NONE);
    w->cable[end[i]] = w->cable[far[i]] = FAB_NONE;
    end[i] = far[i];
    end[1 - i] = FAB_NONE;
}

/* Fills the free port *hole with the cable end that belongs there. *hole becomes the port from
 * which the cable end was moved; FAB_NONE: no link is planned at that port. */
static void fill(struct work *w, uint32_t *hole)
{
    uint32_t to = *hole, from = wanted(w, to), other = w->ports->planned[to];
    add(w, FAB_CABLING_MOVE, from, to, other);
    w->cable[from] = FAB_NONE;
    connect(w, other, to);
    *hole = w->ports->planned[from] != FAB_NONE ? from : FAB_NONE;
}

static void settle_path(struct work *w)
{
    uint32_t end[2] = {w->members[0], w->members[w->member_count - 1]};
    if (w->ports->planned[end[0]] == FAB_NONE && w->ports->planned[end[1]] == FAB_NONE)
        remove_one(w, end);
    for (;;) {
        unsigned d[2];
        for (unsigned i = 0; i < 2; i++) {
            bool hole = end[i] != FAB_NONE && w->cable[end[i]] == FAB_NONE;
            d[i] = hole ? filling_distance(w, end[i]) : FAB_CABLING_FARTHEST + 1;
        }
        unsigned i = d[1] < d[0] ? 1 : 0;
        if (d[i] > FAB_CABLING_FARTHEST)
            break;
        fill(w, &end[i]);
    }
    if (end[0] != FAB_NONE && end[1] != FAB_NONE && w->ports->planned[end[0]] == end[1] &&
        w->cable[end[0]] == FAB_NONE)
        add(w, FAB_CABLING_CONNECT, end[0], end[1], FAB_NONE);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Collects the ports of the group of `start`: walks along planned links and cables in turn. If
 * `planned` is true, the first step is along a planned link, otherwise along a cable. The walk ends
 * when it returns to the start, or at a port without the next link or cable. */
static void walk(struct work *w, uint32_t start, bool planned)
{
    w->member_count = 0;
    for (uint32_t p = start; p != FAB_NONE && w->result->group[p] == FAB_NONE; planned = !planned) {
        w->members[w->member_count++] = p;
        w->result->group[p] = w->result->groups;
        p = planned ? w->ports->planned[p] : w->ports->actual[p];
    }
}

static void settle_paths(struct work *w)
{
    for (uint32_t p = 0; p < w->ports->count; p++) {
        bool planned = w->ports->planned[p] != FAB_NONE, actual = w->ports->actual[p] != FAB_NONE;
        if (planned == actual || w->result->group[p] != FAB_NONE)
            continue;
        walk(w, p, planned);
        settle_path(w);
        w->result->groups++;
    }
}

static void settle_cycles(struct work *w)
{
    for (uint32_t p = 0; p < w->ports->count; p++) {
        if (w->ports->planned[p] == w->ports->actual[p] || w->result->group[p] != FAB_NONE)
            continue;
        walk(w, p, true);
        settle_cycle(w);
        w->result->groups++;
    }
}

int fab_cabling_moves_find(const struct fab_cabling_ports *ports, struct fab_cabling_moves *ret)
{
    struct fab_cabling_moves result = {0};
    struct work w = {.ports = ports, .result = &result};
    size_t size = ports->count * sizeof(uint32_t);
    w.cable = fab_base_alloc_array(ports->count, sizeof *w.cable);
    w.members = fab_base_alloc_array(ports->count, sizeof *w.members);
    result.group = fab_base_alloc_array(ports->count, sizeof *result.group);
    w.status = FAB_E_NOMEM;
    if (w.cable != NULL && w.members != NULL && result.group != NULL) {
        w.status = FAB_OK;
        memcpy(w.cable, ports->actual, size);
        memset(result.group, 0xff, size); /* sets all elements to FAB_NONE */
        settle_paths(&w);
        settle_cycles(&w);
    }
    free(w.cable);
    free(w.members);
    if (w.status == FAB_OK)
        *ret = result;
    else
        fab_cabling_moves_fini(&result);
    return w.status;
}

void fab_cabling_moves_fini(struct fab_cabling_moves *m)
{
    free(m->moves);
    free(m->group);
    *m = (struct fab_cabling_moves){0};
}
