/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/rpc/failures.h"

#include <stdio.h>

#include "libfabmgr/base/status.h"

/* Calls f->add for each port of the node that has a link and that the filter selects. Adds the
 * number of these calls to *links. */
static int add_ports(const struct failures *f, struct fab_view_filter *filter, uint32_t node,
                     uint32_t *links)
{
    const struct fab_fabric *fabric = f->view->fabric;
    const struct fab_node *n = &fabric->nodes[node];
    int rc = FAB_OK;
    for (uint32_t i = 1; i <= n->num_ports && rc == FAB_OK; i++) {
        uint32_t port = n->first_port + i;
        if (fab_fabric_port(fabric, port)->peer == FAB_NONE || !fab_view_filter_port(filter, port))
            continue;
        rc = f->add(f->ctx, port);
        ++*links;
    }
    return rc;
}

static int add_failure(const struct failures *f, const char *text, struct refusal *refusal)
{
    struct fab_view_filter filter;
    uint32_t links = 0;
    int rc = text[0] != '\0' ? look_up_filter(f->view, f->hosts, text, &filter, refusal)
                             : look_up_node(f->view, text, &(uint32_t){0}, refusal);
    if (rc != FAB_OK)
        return rc;
    bool one = filter.node != FAB_NONE && !filter.pattern;
    uint32_t first = one ? filter.node : 0, end = one ? first + 1 : f->view->fabric->node_count;
    for (uint32_t n = first; n < end && rc == FAB_OK; n++)
        if (fab_view_filter_node(&filter, n))
            rc = add_ports(f, &filter, n, &links);
    if (rc == FAB_OK && links == 0 && filter.has_port) {
        refusal->code = FAB_GRPC_INVALID_ARGUMENT;
        snprintf(refusal->why, sizeof refusal->why, "\"%.200s\" %s", text, f->no_link);
        rc = FAB_E_INVAL;
    }
    return rc;
}

bool failures_find(const struct failures *f, const struct name_list *names, struct study *s)
{
    struct refusal refusal = {FAB_GRPC_RESOURCE_EXHAUSTED, "the manager is out of memory"};
    for (size_t i = 0; i < names->count; i++) {
        if (study_stopped(s))
            return false;
        if (add_failure(f, names->name[i], &refusal) == FAB_OK)
            continue;
        s->code = refusal.code;
        snprintf(s->missing, sizeof s->missing, "%s", names->name[i]);
        snprintf(s->why, sizeof s->why, "%s", refusal.why);
        return false;
    }
    return true;
}
