/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/rpc/lost.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/store/gone.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct reading {
    struct fab_lost *lost;
    size_t node_room, cable_room;
    int status;
};

static void add_node(void *ctx, const struct store_gone_node *n)
{
    struct reading *r = ctx;
    struct fab_lost *l = r->lost;
    struct fab_lost_node *nodes =
        fab_base_grow(l->nodes, sizeof *nodes, l->node_count + 1, &r->node_room);
    if (nodes == NULL) {
        r->status = FAB_E_NOMEM;
        return;
    }
    l->nodes = nodes;
    struct fab_lost_node *to = &nodes[l->node_count++];
    *to = (struct fab_lost_node){.guid = n->guid,
                                 .type = n->type,
                                 .aggregation = n->aggregation,
                                 .num_ports = n->ports <= 254 ? (uint8_t)n->ports : 0};
    snprintf(to->name, sizeof to->name, "%s", n->name);
}

static void add_cable(void *ctx, const struct store_gone_link *link)
{
    struct reading *r = ctx;
    struct fab_lost *l = r->lost;
    struct fab_lost_cable *cables =
        fab_base_grow(l->cables, sizeof *cables, l->cable_count + 1, &r->cable_room);
    if (cables == NULL) {
        r->status = FAB_E_NOMEM;
        return;
    }
    l->cables = cables;
    cables[l->cable_count++] =
        (struct fab_lost_cable){.guid = {link->end[0].guid, link->end[1].guid},
                                .port = {link->end[0].port, link->end[1].port}};
}

int lost_read(struct store *store, struct fab_lost *ret)
{
    const struct store_gone_nodes nodes = {.before = INT64_MAX, .after_since = INT64_MAX};
    const struct store_gone_links links = {.after_since = INT64_MAX};
    struct reading r = {.lost = ret};
    *ret = (struct fab_lost){0};
    if (store == NULL)
        return FAB_OK;
    int rc = store_gone_nodes(store, &nodes, INT32_MAX, add_node, &r);
    if (rc == FAB_OK)
        rc = store_gone_links(store, &links, INT32_MAX, add_cable, &r);
    if (rc == FAB_OK)
        rc = r.status;
    if (rc != FAB_OK)
        fab_fabric_lost_fini(ret);
    return rc;
}
