/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "setting a port" disables, enables or resets one port, for an operator or for the manager
 * itself. Each round sets one port.
 *
 * The manager refuses to disable or reset a port of the link that connects the manager itself, and
 * a port of the last link to a switch. It also refuses a port to which no directed route would be
 * left, because it could not enable the port again.
 *
 * The store keeps the list of ports that operators disabled. If the manager finds such a port
 * enabled, it disables the port again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

static const char disabled_before[] = ", as an operator had disabled it before";

/* ---- which ports may be disabled ---- */

/* Returns true if the port is disabled, as its PortInfo says. (If the port was disabled after the
 * last sweep, the snapshot still has the link of the port.) */
static bool is_disabled(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.phys_state == FAB_PHYS_DISABLED;
}

/* Does one step of a breadth-first search: adds to queue[] those neighbours of `node` that the
 * search has not reached before. The search starts at the manager's node, and does not use the link
 * of port `without`. came[] has, for each node, the id of the port over whose link the search
 * reached the node (a port of the node before it); FAB_NONE: the search has not reached the node,
 * or it is the manager's own node. */
static void spread(const struct fab_fabric *f, uint32_t node, uint32_t without, uint32_t *came,
                   uint32_t *queue, uint32_t *tail)
{
    uint32_t self = fab_fabric_port(f, f->self_port)->node;
    for (uint32_t i = 0; i <= f->nodes[node].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, node, (uint8_t)i),
                 peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE || port == without || peer == without || is_disabled(f, port) ||
            is_disabled(f, peer))
            continue;
        uint32_t far = fab_fabric_port(f, peer)->node;
        if (far != self && came[far] == FAB_NONE) {
            came[far] = port;
            queue[(*tail)++] = far;
        }
    }
}

static bool spread_all(const struct fab_fabric *f, uint32_t without, uint32_t *came,
                       uint32_t *queue)
{
    uint32_t self = fab_fabric_port(f, f->self_port)->node, head = 0, tail = 0;
    if (!came || !queue)
        return false;
    for (uint32_t node = 0; node < f->node_count; node++)
        came[node] = FAB_NONE;
    queue[tail++] = self;
    while (head < tail) {
        uint32_t at = queue[head++];
        /* the search continues only from the manager's own node and from switches: other adapters
         * and routers do not forward packets */
        if (at == self || fab_fabric_node_is_switch(f, at))
            spread(f, at, without, came, queue, &tail);
    }
    return true;
}

/* Makes the directed route to a node from the result of the search. Returns false if it has too
 * many hops. */
static bool follow_back(const struct fab_fabric *f, uint32_t node, const uint32_t *came,
                        struct fab_path *ret)
{
    struct fab_path path = {0};
    uint32_t hops = 0;
    for (uint32_t at = node; came[at] != FAB_NONE; at = fab_fabric_port(f, came[at])->node)
        hops++;
    if (hops > FAB_MAX_HOPS)
        return false;
    path.hops = (uint8_t)hops;
    for (uint32_t at = node; came[at] != FAB_NONE; at = fab_fabric_port(f, came[at])->node)
        path.port[hops--] = fab_fabric_port(f, came[at])->num;
    *ret = path;
    return true;
}

/* Returns true if the directed route ends at this node and does not use the link of port
 * `without`. */
static bool leads_around(const struct fab_fabric *f, const struct fab_path *path, uint32_t node,
                         uint32_t without)
{
    uint32_t at = fab_fabric_port(f, f->self_port)->node;
    for (uint32_t hop = 1; hop <= path->hops; hop++) {
        if (path->port[hop] > f->nodes[at].num_ports)
            return false;
        uint32_t port = fab_fabric_port_id(f, at, path->port[hop]);
        uint32_t peer = fab_fabric_port(f, port)->peer;
        if (peer == FAB_NONE || port == without || peer == without || is_disabled(f, port) ||
            is_disabled(f, peer))
            return false;
        at = fab_fabric_port(f, peer)->node;
    }
    return at == node;
}

/* Finds a directed route to the node that does not use the link of port `without`. Returns false if
 * there is none with at most as many hops as a directed route can have, or if there is no memory.
 * If the known route uses this link, searches the whole fabric, which takes milliseconds in a large
 * fabric. */
static bool path_around(const struct sm *s, uint32_t node, uint32_t without, struct fab_path *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_path *known = &s->model.paths[node];
    if (known->hops != FAB_PATH_UNKNOWN && leads_around(f, known, node, without)) {
        *ret = *known;
        return true;
    }
    uint32_t *came = calloc(f->node_count, sizeof(*came));
    uint32_t *queue = calloc(f->node_count, sizeof(*queue));
    bool found = spread_all(f, without, came, queue) &&
                 (node == fab_fabric_port(f, f->self_port)->node || came[node] != FAB_NONE) &&
                 follow_back(f, node, came, ret);
    free(came);
    free(queue);
    return found;
}

static bool stays_reachable(const struct sm *s, uint32_t node, uint32_t without_port)
{
    struct fab_path path;
    return path_around(s, node, without_port, &path);
}

/* Returns why the port must not be disabled or reset, as a sentence for operators; NULL: it may
 * be. */
static const char *objection(const struct sm *s, uint32_t node, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t peer = fab_fabric_port(f, port)->peer;
    uint32_t far = peer == FAB_NONE ? FAB_NONE : fab_fabric_port(f, peer)->node;
    if (port == f->self_port || peer == f->self_port)
        return "this is the cable that the subnet manager itself uses";
    if (!stays_reachable(s, node, port))
        return "the port could not be reached to enable it again; disable the other end of its "
               "cable instead";
    if (far != FAB_NONE && fab_fabric_node_is_switch(f, far) && !stays_reachable(s, far, port))
        return "this is the last cable to a part of the fabric";
    return NULL;
}

/* ---- the list of disabled ports ---- */

static struct store_port *find_disabled(const struct sm *s, uint64_t guid, uint8_t port)
{
    for (size_t i = 0; i < s->links->disabled_count; i++)
        if (s->links->disabled[i].node_guid == guid && s->links->disabled[i].port == port)
            return &s->links->disabled[i];
    return NULL;
}

static void keep(struct sm *s, uint64_t guid, uint8_t port, bool disabled)
{
    struct store_port *at = find_disabled(s, guid, port);
    if (at && !disabled)
        *at = s->links->disabled[--s->links->disabled_count];
    if (!at && disabled) {
        struct store_port *more =
            realloc(s->links->disabled, (s->links->disabled_count + 1) * sizeof(*more));
        if (more) {
            s->links->disabled = more;
            more[s->links->disabled_count++] = (struct store_port){guid, port};
        }
    }
    if (s->in.store)
        store_put_disabled(s->in.store, guid, port, disabled);
}

bool sm_port_is_operators(const struct sm *s, uint64_t guid, uint8_t port)
{
    return find_disabled(s, guid, port) != NULL;
}

static void enqueue(struct sm *s, struct sm_port_op *op)
{
    struct sm_port_op **at = &s->links->waiting;
    while (*at)
        at = &(*at)->next;
    *at = op;
}

static int request(struct sm *s, const struct sm_port_op *from)
{
    struct sm_port_op *op = malloc(sizeof(*op));
    if (!op)
        return FAB_E_NOMEM;
    *op = *from;
    enqueue(s, op);
    return FAB_OK;
}

int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note)
{
    const struct sm_port_op op = {
        .node_guid = node_guid, .port = port, .enable = enable, .note = note};
    return request(s, &op);
}

int sm_port_request_reset(struct sm *s, uint64_t node_guid, uint8_t port, const char *note)
{
    const struct sm_port_op op = {
        .node_guid = node_guid, .port = port, .reset = true, .note = note};
    return request(s, &op);
}

static bool is_up_again(const struct fab_fabric *f, const struct store_port *d)
{
    uint32_t node = fab_fabric_node_by_guid(f, d->node_guid);
    if (node == FAB_NONE || d->port > f->nodes[node].num_ports)
        return false;
    const struct fab_port *port = fab_fabric_port(f, fab_fabric_port_id(f, node, d->port));
    return port->present && port->info.phys_state != FAB_PHYS_DISABLED;
}

void sm_port_recheck(struct sm *s)
{
    for (size_t i = 0; i < s->links->disabled_count; i++) {
        const struct store_port *d = &s->links->disabled[i];
        if (is_up_again(s->model.fabric, d) &&
            sm_port_request(s, d->node_guid, d->port, false, disabled_before) != FAB_OK)
            log_error("sm", "out of memory: a disabled port stays enabled");
    }
}

/* ---- the request and its phase ---- */

static void call_back(const struct sm_port_op *op, int status, const char *text)
{
    if (op->done)
        op->done(op->ctx, status, text);
}

static void finish(struct sm *s, int status, const char *text)
{
    struct sm_port_op *op = s->links->op;
    s->links->op = NULL;
    call_back(op, status, text);
    free(op);
}

static void abort_op(struct sm *s)
{
    if (s->links->op)
        finish(s, FAB_E_BUSY, "the request was interrupted; try again");
}

static bool find_port(const struct fab_fabric *f, uint64_t guid, uint8_t num, uint32_t *ret)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node == FAB_NONE || num == 0 || num > f->nodes[node].num_ports)
        return false;
    *ret = fab_fabric_port_id(f, node, num);
    return fab_fabric_port(f, *ret)->present;
}

/* Checks whether the port of this request exists and may be enabled, disabled or reset. If not,
 * ends the request with an error, and returns SM_ROUND_OVER; otherwise returns OK. */
static int check(struct sm *s, const struct sm_port_op *op, uint32_t *ret_port)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port;
    if (!find_port(f, op->node_guid, op->port, &port)) {
        finish(s, FAB_E_NOT_FOUND, "there is no such port in the fabric");
        return SM_ROUND_OVER;
    }
    const char *why = op->enable ? NULL : objection(s, fab_fabric_port(f, port)->node, port);
    if (why) {
        char name[SM_PLACE_LEN];
        sm_port_name(f, port, name);
        if (op->note)
            log_warning("sm", "%s stays enabled%s: %s", name, op->note, why);
        finish(s, FAB_E_DENIED, why);
        return SM_ROUND_OVER;
    }
    *ret_port = port;
    return FAB_OK;
}

static int enter(struct sm *s)
{
    uint32_t port;
    s->links->op = s->links->waiting;
    s->links->waiting = s->links->op->next;
    s->links->op_sent = false;
    int r = check(s, s->links->op, &port);
    if (r == FAB_OK)
        s->links->op_port = port;
    return r;
}

/* Finds the directed route for the write. For a switch, prefers a route that does not use the
 * link which the write takes down, because the answer would be lost on this link. */
static bool find_path(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = s->links->op_port, node = fab_fabric_port(f, port)->node;
    const struct fab_path *usual = sm_model_path(&s->model, port);
    if (fab_fabric_node_is_switch(f, node) && path_around(s, node, port, &s->links->op_path))
        return true;
    if (usual)
        s->links->op_path = *usual;
    return usual != NULL;
}

/* Sets the states in PortInfo that the write requests. A reset requests PortState Down and
 * PortPhysicalState Polling, so that the link goes down and trains again. Other writes request only
 * a PortPhysicalState. */
static void set_state(const struct sm_port_op *op, struct fab_port_info *want)
{
    want->port_state = op->reset ? FAB_STATE_DOWN : FAB_STATE_NOP;
    want->phys_state = op->enable || op->reset ? FAB_PHYS_POLLING : FAB_PHYS_DISABLED;
}

/* Fills in the write of PortInfo. All fields except the two states have the values that the port
 * must have anyway or, if there are no active tables, the values that it has. */
static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_port *port = fab_fabric_port(f, s->links->op_port);
    struct fab_port_info want = port->info;
    if (s->links->op_sent)
        return false;
    s->links->op_sent = true;
    if (!find_path(s))
        return false;
    if (s->model.target) {
        const struct fab_lids *lids = &s->model.target->lids;
        fab_target_port_info(f, &s->policy, lids, s->links->op_port, lids->base[f->self_port],
                             &want);
    }
    set_state(s->links->op, &want);
    memset(ret->data, 0, sizeof(ret->data));
    if (fab_wire_attr_pack(&fab_wire_attr_port_info, &want, ret->data, sizeof(ret->data)) != FAB_OK)
        return false;
    ret->path = &s->links->op_path;
    ret->method = FAB_METHOD_SET;
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->attr_mod = port->num;
    ret->tag = 0;
    s->links->op_status = FAB_E_TIMEOUT;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    (void)tag;
    s->links->op_status = a->status;
}

static bool finished(const struct sm *s)
{
    return s->links->op_sent;
}

/* Stores the new state of the port in the snapshot, because a further request for this port may
 * come before the next sweep. */
static int note_state(struct sm *s, bool enabled)
{
    int r = sm_model_writable(&s->model, loop_tasks_any(&s->model.readers));
    sm_node_touched(s, s->links->op->node_guid);
    struct fab_port *port =
        r == FAB_OK ? fab_fabric_edit_port(s->model.fabric, s->links->op_port) : NULL;
    if (port == NULL)
        return FAB_E_NOMEM;
    port->info.phys_state = enabled ? FAB_PHYS_POLLING : FAB_PHYS_DISABLED;
    return FAB_OK;
}

static int leave(struct sm *s)
{
    const struct sm_port_op *op = s->links->op;
    char name[SM_PLACE_LEN], text[SM_PLACE_LEN + 80];
    sm_port_name(s->model.fabric, s->links->op_port, name);
    const char *note = op->note ? op->note : op->by;
    bool good = s->links->op_status == FAB_OK;
    snprintf(text, sizeof(text), "%s %s%s", name, good ? "" : "could not be ",
             op->reset    ? "reset"
             : op->enable ? "enabled"
                          : "disabled");
    if (good && !op->note)
        keep(s, op->node_guid, op->port, !op->enable);
    if (good && op->reset)
        event_emit(s->in.bus, link_reset, .subject = name, .guid = op->node_guid, .port = op->port,
                   .note = note);
    else if (good && op->enable)
        event_emit(s->in.bus, port_enabled, .subject = name, .guid = op->node_guid,
                   .port = op->port, .note = note);
    else if (good)
        event_emit(s->in.bus, port_disabled, .subject = name, .guid = op->node_guid,
                   .port = op->port, .note = note);
    sm_request_target(s, op->node_guid);
    int r = good ? note_state(s, op->enable || op->reset) : FAB_OK;
    finish(s, s->links->op_status, text);
    return r;
}

bool sm_port_is_disabled(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    return find_disabled(s, node_guid, port) != NULL;
}

/* Returns OK if the manager can enable and disable ports now; otherwise DENIED or BUSY. */
static int check_manager(const struct sm *s)
{
    if (sm_is_standby(s) || sm_is_frozen(s))
        return FAB_E_DENIED;
    if (!s->model.view)
        return FAB_E_BUSY;
    return sm_is_master(s) ? FAB_OK : FAB_E_DENIED;
}

int sm_port_check(const struct sm *s, uint64_t node_guid, uint8_t port, bool enable,
                  const char **ret_why)
{
    uint32_t id;
    int r = check_manager(s);
    *ret_why = "";
    if (r != FAB_OK)
        return r;
    if (!find_port(s->model.fabric, node_guid, port, &id))
        return FAB_E_NOT_FOUND;
    const char *why = enable ? NULL : objection(s, fab_fabric_port(s->model.fabric, id)->node, id);
    *ret_why = why ? why : "";
    return why ? FAB_E_DENIED : FAB_OK;
}

int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *by,
                sm_done *done, void *ctx)
{
    struct sm_port_op op = {
        .node_guid = node_guid, .port = port, .enable = enable, .done = done, .ctx = ctx};
    snprintf(op.by, sizeof(op.by), " by %s", by);
    int r = check_manager(s);
    if (r != FAB_OK)
        return r;
    r = request(s, &op);
    sm_schedule(s);
    return r;
}

bool sm_port_waits(const struct sm *s)
{
    return s->links->waiting != NULL;
}

void sm_port_forget(struct sm *s, void *ctx)
{
    for (struct sm_port_op *op = s->links->waiting; op; op = op->next)
        if (op->ctx == ctx)
            op->done = NULL;
    if (s->links->op && s->links->op->ctx == ctx)
        s->links->op->done = NULL;
}

const struct sm_phase sm_phase_port = {.name = "setting a port",
                                       .enter = enter,
                                       .next = next,
                                       .answer = answer,
                                       .finished = finished,
                                       .leave = leave,
                                       .abort = abort_op};
