/* SPDX-License-Identifier: BSD-3-Clause */
/* See drive.h. */
#include "tests/support/drive.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

static void count(struct drive *r, uint16_t attr_id)
{
    r->asked++;
    r->node_infos += attr_id == FAB_ATTR_NODE_INFO;
    r->node_descs += attr_id == FAB_ATTR_NODE_DESC;
    r->switch_infos += attr_id == FAB_ATTR_SWITCH_INFO;
    r->port_infos += attr_id == FAB_ATTR_PORT_INFO;
}

int drive_smp(struct drive *r, const struct fab_path *path, uint8_t method, uint16_t attr_id,
              uint32_t attr_mod, uint8_t data[FAB_SMP_DATA])
{
    struct fab_mad header = {.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                             .method = method,
                             .tid = r->asked,
                             .attr_id = attr_id,
                             .attr_mod = attr_mod,
                             .directed = true,
                             .path = *path};
    uint8_t mad[FAB_MAD_SIZE], reply[FAB_MAD_SIZE];
    const uint8_t *at;
    size_t len;
    if (fab_wire_smp_pack(&header, data, mad) != FAB_OK)
        return -1;
    for (uint32_t try = 0; try == 0 || try < r->tries; try++) {
        if (fab_sim_send(r->sim, r->node, r->port, 0xffff, mad, reply) != 1)
            continue;
        if (fab_wire_mad_unpack(reply, sizeof reply, &header, &at, &len) != FAB_OK)
            return -1;
        memcpy(data, at, FAB_SMP_DATA);
        return header.status;
    }
    return -1;
}

static void answer(struct drive *r, const struct fab_discover_ask *ask, struct drive_answer *a)
{
    memset(a->data, 0, sizeof a->data);
    a->ask = *ask;
    int status = drive_smp(r, ask->path, FAB_METHOD_GET, ask->attr_id, ask->attr_mod, a->data);
    a->status = status == 0 ? FAB_OK : status < 0 ? FAB_E_TIMEOUT : FAB_E_REFUSED;
    if (r->mangle != NULL)
        r->mangle(r->ctx, a);
}

int drive(struct drive *r, struct fab_discover *d)
{
    uint32_t window = r->window ? r->window : 64, waiting = 0, head = 0;
    struct drive_answer *answers = calloc(window, sizeof *answers), one;
    struct fab_prng prng;
    struct fab_discover_ask ask;
    int status = answers != NULL ? FAB_OK : FAB_E_NOMEM;
    fab_base_prng_init(&prng, r->seed);
    while (status == FAB_OK) {
        while (waiting < window && fab_discover_next(d, &ask)) {
            count(r, ask.attr_id);
            answer(r, &ask, &answers[(head + waiting++) % window]);
        }
        if (waiting == 0 || (r->limit != 0 && r->asked > r->limit))
            break;
        uint32_t pick = r->shuffle ? (uint32_t)fab_base_prng_below(&prng, waiting) : 0;
        one = answers[(head + pick) % window];
        answers[(head + pick) % window] = answers[head];
        head = (head + 1) % window;
        waiting--;
        status = fab_discover_answer(d, one.ask.tag, one.status, one.data);
    }
    free(answers);
    return status != FAB_OK ? status : waiting > 0 ? FAB_E_LIMIT : FAB_OK;
}

int drive_whole(struct drive *r, struct fab_fabric **ret_fabric)
{
    struct fab_discover_config config = {0};
    struct fab_discover *d = NULL;
    int status = fab_discover_new(&config, &d);
    if (status == FAB_OK)
        status = drive(r, d);
    if (status == FAB_OK)
        status = fab_discover_done(d) ? fab_discover_result(d, ret_fabric) : FAB_E_BUSY;
    fab_discover_free(d);
    return status;
}

void drive_sit(struct drive *r)
{
    const struct fab_fabric *f = fab_sim_fabric(r->sim);
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) &&
            fab_fabric_port(f, p)->peer != FAB_NONE) {
            r->node = fab_fabric_port(f, p)->node;
            r->port = fab_fabric_port(f, p)->num;
            return;
        }
    }
    r->node = 0;
    r->port = 0;
}

/* ---- programming ----------------------------------------------------------------------------- */

struct programming {
    struct drive *r;
    const struct fab_fabric *f;
    struct fab_path *paths;
    uint16_t sm_lid;
    int status; /* status of the first write that failed */
};

/* Returns the directed route by which the manager writes to a port. For a port of a switch, it ends
 * at the switch. */
static struct fab_path path_to(const struct programming *p, uint32_t port)
{
    const struct fab_port *at = fab_fabric_port(p->f, port);
    struct fab_path path = p->paths[at->node];
    if (!fab_fabric_node_is_switch(p->f, at->node) && port != p->f->self_port) {
        const struct fab_port *far = fab_fabric_port(p->f, at->peer);
        path = p->paths[far->node];
        path.port[++path.hops] = far->num;
    }
    return path;
}

static void note(struct programming *p, int smp_status)
{
    if (p->status == FAB_OK && smp_status != 0)
        p->status = smp_status < 0 ? FAB_E_TIMEOUT : FAB_E_REFUSED;
}

static void set_port(struct programming *p, uint32_t port, uint16_t lid, uint8_t state)
{
    uint8_t data[FAB_SMP_DATA];
    struct fab_path path = path_to(p, port);
    struct fab_port_info info = fab_fabric_port(p->f, port)->info;
    info.lid = lid;
    info.sm_lid = p->sm_lid;
    info.port_state = state;
    info.phys_state = FAB_PHYS_NOP;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    note(p, drive_smp(p->r, &path, FAB_METHOD_SET, FAB_ATTR_PORT_INFO,
                      fab_fabric_port(p->f, port)->num, data));
}

/* Returns the id of the port that has the node's LID, or FAB_NONE. */
static uint32_t lid_owner(const struct fab_fabric *f, uint32_t node)
{
    uint32_t first = f->nodes[node].first_port;
    if (fab_fabric_node_is_switch(f, node))
        return first;
    for (uint32_t port = first + 1; port <= first + f->nodes[node].num_ports; port++)
        if (fab_fabric_port(f, port)->peer != FAB_NONE)
            return port;
    return FAB_NONE;
}

static void set_ports(struct programming *p, uint8_t state)
{
    const struct fab_fabric *f = p->f;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t node = fab_fabric_port(f, port)->node;
        bool owner = port == lid_owner(f, node);
        if (fab_fabric_port(f, port)->peer != FAB_NONE || owner)
            set_port(p, port, owner ? (uint16_t)(node + 1) : 0,
                     fab_fabric_port(f, port)->num == 0 ? FAB_STATE_NOP : state);
    }
}

/* Finds the LFT entries of all switches for the LID of one node. All paths are shortest paths, from
 * a breadth-first search that begins at this node. */
static void routes_to(const struct fab_fabric *f, uint32_t node, uint8_t *lfts, size_t stride)
{
    uint32_t *queue = calloc(f->node_count, sizeof *queue), head = 0, tail = 0;
    bool *seen = calloc(f->node_count, sizeof *seen);
    uint32_t owner = lid_owner(f, node);
    for (queue[tail++] = node, seen[node] = true; head < tail; head++) {
        uint32_t first = f->nodes[queue[head]].first_port;
        for (uint32_t i = 1; i <= f->nodes[queue[head]].num_ports; i++) {
            uint32_t far = fab_fabric_peer_node(f, first + i);
            if (far >= f->switch_count || seen[far] ||
                (queue[head] == node && !fab_fabric_node_is_switch(f, node) && first + i != owner))
                continue;
            lfts[far * stride + node + 1] =
                fab_fabric_port(f, fab_fabric_port(f, first + i)->peer)->num;
            seen[far] = true;
            queue[tail++] = far;
        }
    }
    if (fab_fabric_node_is_switch(f, node))
        lfts[node * stride + node + 1] = 0;
    free(seen);
    free(queue);
}

static void write_lft(struct programming *p, uint32_t sw, const uint8_t *row, uint32_t blocks)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    struct fab_switch_info info = p->f->switches[sw];
    info.linear_fdb_top = (uint16_t)(p->f->node_count);
    fab_wire_attr_pack(&fab_wire_attr_switch_info, &info, data, sizeof data);
    note(p, drive_smp(p->r, &p->paths[sw], FAB_METHOD_SET, FAB_ATTR_SWITCH_INFO, 0, data));
    for (uint32_t block = 0; block < blocks; block++) {
        memcpy(data, row + block * FAB_SMP_DATA, FAB_SMP_DATA);
        note(p, drive_smp(p->r, &p->paths[sw], FAB_METHOD_SET, FAB_ATTR_LFT, block, data));
    }
}

static void set_routes(struct programming *p)
{
    uint32_t blocks = p->f->node_count / FAB_SMP_DATA + 1;
    size_t stride = (size_t)blocks * FAB_SMP_DATA;
    uint8_t *lfts = malloc(stride * (p->f->switch_count + 1u));
    if (lfts == NULL) {
        p->status = FAB_E_NOMEM;
        return;
    }
    memset(lfts, 0xff, stride * p->f->switch_count);
    for (uint32_t node = 0; node < p->f->node_count; node++)
        routes_to(p->f, node, lfts, stride);
    for (uint32_t sw = 0; sw < p->f->switch_count; sw++)
        write_lft(p, sw, lfts + sw * stride, blocks);
    free(lfts);
}

int drive_program(struct drive *r, const struct fab_fabric *f)
{
    struct programming p = {.r = r, .f = f};
    p.status = fab_discover_paths(f, &p.paths);
    if (p.status != FAB_OK)
        return p.status;
    p.sm_lid = (uint16_t)(fab_fabric_port(f, f->self_port)->node + 1);
    set_routes(&p);
    set_ports(&p, FAB_STATE_ARMED);
    set_ports(&p, FAB_STATE_ACTIVE);
    free(p.paths);
    return p.status;
}
