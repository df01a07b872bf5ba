/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the links of a topology file. The file has two lines for each link, one for each end. If the
 * two lines do not agree, the file is truncated or has a mistake, and is rejected. If only one line
 * has a rate, this rate applies to both ports. */
#include <stdio.h>
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/builder.h"
#include "libfabmgr/fabric/device.h"
#include "libfabmgr/fabric/text_read.h"

#define NO_CABLE UINT32_MAX

/* The port lines of the file. of_port: [port index in the builder] index in r->cables of the line
 * of this port; NO_CABLE: the file has no line for this port. */
struct lines {
    struct text_reader *r;
    uint32_t *of_port;
};

/* Sets the error message, with the position of the port number in the port line `c`. The value of
 * the expression is FAB_E_FORMAT. */
#define fail(r, c, ...)                                                                            \
    ((r)->scan.error->line = (c)->line, (r)->scan.error->column = (c)->column,                     \
     snprintf((r)->scan.error->message, sizeof(r)->scan.error->message, __VA_ARGS__),              \
     FAB_E_FORMAT)

static uint32_t port_index(const struct text_reader *r, uint32_t ref, uint8_t port)
{
    return fab_fabric_builder_node_at(r->b, ref)->node.first_port + port;
}

static int note_lines(struct lines *l)
{
    for (uint32_t i = 0; i < l->r->b->port_count; i++)
        l->of_port[i] = NO_CABLE;
    for (uint32_t i = 0; i < l->r->cable_count; i++) {
        const struct text_cable *c = &l->r->cables[i];
        uint32_t *line = &l->of_port[port_index(l->r, c->ref, c->port)];
        if (*line != NO_CABLE)
            return fail(l->r, c, "port %u is already on line %u", c->port,
                        l->r->cables[*line].line);
        *line = i;
    }
    return FAB_OK;
}

/* Finds the port line of the other end of the link: `c` is the line of one end. Returns FORMAT if
 * the file has no such line, or if that line does not name the port of `c` as its other end. */
static int find_other(struct lines *l, const struct text_cable *c, const struct text_cable **ret)
{
    const struct text_node *peer;
    uint64_t key;
    if (!fab_fabric_text_find_node(l->r, c->peer, &key, &peer))
        return fail(l->r, c, "the other end is \"%.*s\", expected a node of this file",
                    (int)c->peer.len, c->peer.s);
    if (c->peer_port > fab_fabric_builder_node_at(l->r->b, peer->ref)->node.num_ports)
        return fail(l->r, c, "the other end is port %u of \"%.*s\", expected at most %u",
                    c->peer_port, (int)c->peer.len, c->peer.s,
                    fab_fabric_builder_node_at(l->r->b, peer->ref)->node.num_ports);
    uint32_t line = l->of_port[port_index(l->r, peer->ref, c->peer_port)];
    if (line == NO_CABLE)
        return fail(l->r, c, "expected a line for the other end too, \"%.*s\"[%u] has none",
                    (int)c->peer.len, c->peer.s, c->peer_port);
    const struct text_cable *other = &l->r->cables[line];
    const struct text_node *back;
    if (!fab_fabric_text_find_node(l->r, other->peer, &key, &back) || back->ref != c->ref ||
        other->peer_port != c->port)
        return fail(l->r, c, "\"%.*s\"[%u] leads elsewhere on line %u, expected back to here",
                    (int)c->peer.len, c->peer.s, c->peer_port, other->line);
    *ret = other;
    return FAB_OK;
}

/* Takes the rate or the GUID of a port from the line of the other end, if the port's own line lacks
 * it. */
static int complete(struct text_reader *r, const struct text_cable *c,
                    const struct text_cable *other)
{
    bool end = fab_fabric_builder_node_at(r->b, c->ref)->node.type != FAB_NODE_SWITCH;
    uint64_t guid = end && c->guid == 0 ? other->peer_guid : 0;
    const struct text_cable *rated = !c->rated && other->rated ? other : c;
    if (guid == 0 && rated == c)
        return FAB_OK;
    return fab_fabric_device_plug(r->b, c->ref, c->port, guid,
                                  fab_fabric_builder_get_port_info(r->b, rated->ref, rated->port));
}

static int join(struct lines *l)
{
    for (size_t i = 0; i < l->r->cable_count; i++) {
        const struct text_cable *c = &l->r->cables[i], *other;
        int status = find_other(l, c, &other);
        if (status == FAB_OK && c == other)
            return fail(l->r, c, "the cable leads from the port to itself");
        if (status == FAB_OK)
            status = fab_fabric_builder_link(l->r->b, c->ref, c->port, other->ref, other->port);
        if (status != FAB_OK)
            return status;
        status = complete(l->r, c, other);
        if (status != FAB_OK)
            return status;
    }
    return FAB_OK;
}

/* Sets the manager's port from the comment "Initiated from", if the file has this comment. */
static void set_self(struct text_reader *r)
{
    uint32_t ref;
    if (r->self_guid == 0 || fab_fabric_builder_find_node(r->b, r->self_guid, &ref) != FAB_OK)
        return;
    const struct fab_node *n = &fab_fabric_builder_node_at(r->b, ref)->node;
    for (unsigned i = 0; i <= n->num_ports; i++)
        if (fab_fabric_builder_port_at(r->b, n->first_port + i)->guid == r->self_port_guid) {
            fab_fabric_builder_set_self(r->b, ref, (uint8_t)i);
            return;
        }
}

int fab_fabric_text_join(struct text_reader *r)
{
    struct lines l = {.r = r, .of_port = fab_base_alloc_array(r->b->port_count, sizeof *l.of_port)};
    if (l.of_port == NULL)
        return FAB_E_NOMEM;
    int status = note_lines(&l);
    if (status == FAB_OK)
        status = join(&l);
    if (status == FAB_OK)
        set_self(r);
    free(l.of_port);
    return status;
}
