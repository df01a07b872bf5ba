/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the registry of the fabric: nodes, ports with a LID, and links, each with the times when
 * it was first and last seen.
 *
 * Most views show the same fabric as the view before. The writer computes a hash over the content
 * of these tables, and writes nothing if the hash has not changed. The database also has the hash
 * (table meta, registry_hash), so that a restart on an unchanged fabric writes nothing.
 *
 * If the hash has changed, the writer compares the view with a copy of the last view and writes the
 * differences. After a start there is no copy, and the writer writes all rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- the hash ---- */

struct hash {
    uint64_t value;
};

static void mix(struct hash *h, uint64_t x)
{
    h->value = (h->value ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h->value ^= h->value >> 29;
}

static void mix_text(struct hash *h, const char *text)
{
    size_t len = strlen(text);
    mix(h, len);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = 0;
        memcpy(&word, text + i, len - i < 8 ? len - i : 8);
        mix(h, word);
    }
}

static bool is_cable(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return peer != FAB_NONE && port < peer;
}

/* Returns the base LID of a port and its LMC as one number; 0: the port has no LID. */
static uint32_t lid_and_lmc(const struct fab_lids *lids, uint32_t port)
{
    return lids->base[port] != 0 ? lids->base[port] | (uint32_t)lids->lmc[port] << 28 : 0;
}

static uint64_t hash_view(const struct fab_fabric *f, const struct fab_lids *lids)
{
    struct hash h = {f->node_count};
    for (uint32_t n = 0; n < f->node_count; n++) {
        const struct fab_node *node = &f->nodes[n];
        mix(&h, node->guid);
        mix(&h, (uint64_t)node->type << 16 | (uint64_t)node->num_ports << 8 | node->aggregation);
        mix(&h, (uint64_t)node->info.vendor_id << 16 | node->info.device_id);
        mix(&h, node->info.system_guid);
        mix_text(&h, node->name);
    }
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(f, p);
        if (lids->base[p] != 0) {
            mix(&h, port->guid);
            mix(&h, (uint64_t)p << 32 | lid_and_lmc(lids, p));
        }
        if (is_cable(f, p)) {
            mix(&h, (uint64_t)p << 32 | port->peer);
            mix(&h, fab_wire_link_rate(&port->info));
        }
    }
    return h.value != 0 ? h.value : 1;
}

/* ---- one row ---- */

static const char *kind_name(const struct fab_node *node)
{
    if (node->type == FAB_NODE_SWITCH)
        return "switch";
    if (node->type == FAB_NODE_ROUTER)
        return "router";
    return node->aggregation ? "aggregation" : "adapter";
}

static int put_node(struct sql *q, const struct fab_node *node, int64_t now)
{
    char name[4 * FAB_NODE_DESC_LEN + 1];
    log_clean(node->name, name, sizeof(name));
    return sql_run(q, SQL_NODE_PUT, "gttiiigi", node->guid, kind_name(node), name,
                   (int64_t)node->num_ports, (int64_t)node->info.vendor_id,
                   (int64_t)node->info.device_id, node->info.system_guid, now);
}

static int put_port(struct sql *q, const struct fab_view *v, uint32_t port, int64_t now)
{
    const struct fab_fabric *f = v->fabric;
    const struct fab_lids *lids = &v->target->lids;
    const struct fab_port *p = fab_fabric_port(f, port);
    return sql_run(q, SQL_PORT_PUT, "gigiii", f->nodes[p->node].guid, (int64_t)p->num, p->guid,
                   (int64_t)lids->base[port], (int64_t)lids->lmc[port], now);
}

struct cable_ends {
    uint64_t guid_a, guid_b;
    uint8_t port_a, port_b;
};

/* Orders the two ends of a link by (node GUID, port): end a is the lower one. */
static struct cable_ends order(uint64_t guid, uint8_t port, uint64_t guid_2, uint8_t port_2)
{
    if (guid < guid_2 || (guid == guid_2 && port < port_2))
        return (struct cable_ends){guid, guid_2, port, port_2};
    return (struct cable_ends){guid_2, guid, port_2, port};
}

static int put_cable(struct sql *q, const struct fab_fabric *f, uint32_t port, int64_t now)
{
    const struct fab_port *p = fab_fabric_port(f, port), *peer = fab_fabric_port(f, p->peer);
    struct cable_ends e =
        order(f->nodes[p->node].guid, p->num, f->nodes[peer->node].guid, peer->num);
    return sql_run(q, SQL_LINK_PUT, "gigiiti", e.guid_a, (int64_t)e.port_a, e.guid_b,
                   (int64_t)e.port_b, (int64_t)fab_wire_link_width(&p->info),
                   fab_wire_link_speed(&p->info), now);
}

/* ---- all rows ---- */

static int put_all_rows(struct sql *q, const struct fab_view *v, int64_t now)
{
    const struct fab_fabric *f = v->fabric;
    int status = FAB_OK;
    for (uint32_t n = 0; n < f->node_count && status == FAB_OK; n++)
        status = put_node(q, &f->nodes[n], now);
    for (uint32_t p = 0; p < f->port_count && status == FAB_OK; p++) {
        if (v->target->lids.base[p] != 0)
            status = put_port(q, v, p, now);
        if (status == FAB_OK && is_cable(f, p))
            status = put_cable(q, f, p, now);
    }
    return status;
}

static int put_all(struct sql *q, const struct fab_view *v, int64_t now)
{
    int status = sql_run(q, SQL_NODE_ALL_ABSENT, "i", now);
    if (status == FAB_OK)
        status = sql_run(q, SQL_LINK_ALL_ABSENT, "i", now);
    if (status == FAB_OK)
        status = sql_run(q, SQL_PORT_ALL_ABSENT, "");
    return status == FAB_OK ? put_all_rows(q, v, now) : status;
}

/* ---- differences ---- */

static int put_cable_at(struct sql *q, const struct fab_fabric *f, uint64_t guid, uint8_t port,
                        int64_t now)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node == FAB_NONE || port > f->nodes[node].num_ports)
        return FAB_OK;
    uint32_t id = fab_fabric_port_id(f, node, port);
    return fab_fabric_port(f, id)->peer != FAB_NONE ? put_cable(q, f, id, now) : FAB_OK;
}

static int put_change(struct sql *q, const struct fab_fabric *f, const struct fab_change *c,
                      int64_t now)
{
    uint32_t node = fab_fabric_node_by_guid(f, c->guid_a);
    int status = FAB_OK;
    switch (c->kind) {
    case FAB_CHANGE_NODE_ADDED:
    case FAB_CHANGE_NODE_RENAMED:
        return node != FAB_NONE ? put_node(q, &f->nodes[node], now) : FAB_OK;
    case FAB_CHANGE_NODE_REMOVED:
        status = sql_run(q, SQL_NODE_ABSENT, "gi", c->guid_a, now);
        return status == FAB_OK ? sql_run(q, SQL_PORT_ABSENT, "gi", c->guid_a, now) : status;
    case FAB_CHANGE_LINK_REMOVED: {
        struct cable_ends e = order(c->guid_a, c->port_a, c->guid_b, c->port_b);
        return sql_run(q, SQL_LINK_ABSENT, "gigii", e.guid_a, (int64_t)e.port_a, e.guid_b,
                       (int64_t)e.port_b, now);
    }
    case FAB_CHANGE_LINK_ADDED:
    case FAB_CHANGE_PORT_STATE:
        return put_cable_at(q, f, c->guid_a, c->port_a, now);
    }
    return status;
}

static bool is_same_row(const struct fab_node *x, const struct fab_node *y)
{
    return x->aggregation == y->aggregation && x->info.vendor_id == y->info.vendor_id &&
           x->info.device_id == y->info.device_id && x->info.system_guid == y->info.system_guid;
}

/* Writes the nodes that differ in a column that fab_fabric_diff does not compare. */
static int put_changed_nodes(const struct registry *r, struct sql *q, const struct fab_fabric *f,
                             int64_t now)
{
    int status = FAB_OK;
    for (uint32_t n = 0; n < f->node_count && status == FAB_OK; n++) {
        uint32_t old = fab_fabric_node_by_guid(r->fabric, f->nodes[n].guid);
        if (old != FAB_NONE && !is_same_row(&r->fabric->nodes[old], &f->nodes[n]))
            status = put_node(q, &f->nodes[n], now);
    }
    return status;
}

/* Returns true if the database has this port, and its LID, LMC and GUID have not changed. */
static bool has_port(const struct registry *r, const struct fab_view *v, uint32_t port)
{
    const struct fab_fabric *f = v->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    uint32_t node = fab_fabric_node_by_guid(r->fabric, f->nodes[p->node].guid);
    if (node == FAB_NONE || p->num > r->fabric->nodes[node].num_ports)
        return false;
    uint32_t old = fab_fabric_port_id(r->fabric, node, p->num);
    return r->lids[old] == lid_and_lmc(&v->target->lids, port) &&
           fab_fabric_port(r->fabric, old)->guid == p->guid;
}

/* Writes the ports with a LID that are new, or whose LID, LMC or GUID is new. */
static int put_changed_ports(const struct registry *r, struct sql *q, const struct fab_view *v,
                             int64_t now)
{
    int status = FAB_OK;
    for (uint32_t p = 0; p < v->fabric->port_count && status == FAB_OK; p++)
        if (v->target->lids.base[p] != 0 && !has_port(r, v, p))
            status = put_port(q, v, p, now);
    return status;
}

static int put_difference(const struct registry *r, struct sql *q, const struct fab_view *v,
                          int64_t now)
{
    struct fab_change *changes = NULL;
    size_t count = 0;
    int status = fab_fabric_diff(r->fabric, v->fabric, &changes, &count);
    for (size_t i = 0; i < count && status == FAB_OK; i++)
        status = put_change(q, v->fabric, &changes[i], now);
    free(changes);
    if (status == FAB_OK)
        status = put_changed_nodes(r, q, v->fabric, now);
    return status == FAB_OK ? put_changed_ports(r, q, v, now) : status;
}

/* ---- rows that are gone ---- */

/* maximum number of gone links that are kept, for each gone node that may be kept */
#define LINKS_A_NODE 8

static int mark_excess(struct sql *q, uint32_t nodes)
{
    int status = sql_run(q, SQL_GONE_NODES_EXCESS, "i", (int64_t)nodes);
    if (status == FAB_OK)
        status = sql_run(q, SQL_GONE_LINKS_EXCESS, "i", (int64_t)nodes * LINKS_A_NODE);
    return status;
}

int registry_forget(struct sql *q, const struct record_forget *forget)
{
    /* delete the nodes last, because the rows of ports and links refer to them */
    static const enum sql_id deleting[] = {SQL_GONE_PORTS_FORGET, SQL_GONE_LINKS_FORGET,
                                           SQL_GONE_DEVICES_FORGET, SQL_GONE_MODULES_FORGET,
                                           SQL_GONE_NODES_FORGET};
    int64_t before = forget->guid != 0 ? 0 : forget->before;
    int status = forget->guid != 0 ? sql_run(q, SQL_GONE_NODE_MARK, "g", forget->guid)
                                   : mark_excess(q, forget->nodes);
    for (size_t i = 0; i < sizeof(deleting) / sizeof(*deleting) && status == FAB_OK; i++)
        status = sql_run(q, deleting[i], "i", before);
    return status;
}

/* ---- the registry ---- */

int registry_touch(struct sql *q, int64_t now)
{
    static const enum sql_id seen[] = {SQL_LEASE_SEEN, SQL_NODE_SEEN, SQL_PORT_SEEN, SQL_LINK_SEEN};
    int status = FAB_OK;
    for (size_t i = 0; i < 4 && status == FAB_OK; i++)
        status = sql_run(q, seen[i], "i", now);
    return status;
}

static int put_hash(struct sql *q, uint64_t hash)
{
    char text[24];
    snprintf(text, sizeof(text), "%016" PRIx64, hash);
    return sql_run(q, SQL_META_PUT, "tt", "registry_hash", text);
}

/* Stores a copy of the fabric and the LIDs of a view, with which the next view will be compared. */
static int take_snapshot(struct registry *r, const struct fab_view *v)
{
    r->lids = fab_base_alloc_array(v->fabric->port_count, sizeof(*r->lids));
    if (r->lids == NULL)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < v->fabric->port_count; p++)
        r->lids[p] = lid_and_lmc(&v->target->lids, p);
    r->fabric = fab_fabric_ref(v->fabric);
    return FAB_OK;
}

int registry_write(const struct registry *r, struct sql *q, const struct fab_view *view,
                   int64_t now, struct registry *ret)
{
    struct registry next = {.hash = hash_view(view->fabric, &view->target->lids), .seen = r->seen};
    int status = take_snapshot(&next, view);
    if (status == FAB_OK && next.hash != r->hash) {
        status = r->fabric != NULL ? put_difference(r, q, view, now) : put_all(q, view, now);
        if (status == FAB_OK)
            status = put_hash(q, next.hash);
    }
    if (status == FAB_OK)
        *ret = next;
    else
        registry_fini(&next);
    return status;
}

int registry_load(struct registry *r, sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'registry_hash'", -1,
                                  &stmt, NULL);
    *r = (struct registry){0};
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        r->hash = strtoull((const char *)sqlite3_column_text(stmt, 0), NULL, 16);
    sqlite3_finalize(stmt);
    return sql_status(code);
}

void registry_fini(struct registry *r)
{
    fab_fabric_unref(r->fabric);
    free(r->lids);
    *r = (struct registry){0};
}
