/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the dependencies that a walk through the unicast tables finds. */
#include "libfabmgr/verify/channels.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/vl_walk.h"

static bool has_several_vls(const struct fab_vls *vls)
{
    return vls != NULL && fab_target_vls_multiple(vls);
}

/* Computes the dependencies of unicast packets. With several VLs, each VL of a link is a channel of
 * its own. */
static int walk_unicast(const struct fab_verify_graph *graph, struct fab_verify_walk *w)
{
    int status = fab_verify_walk_init(w, graph);
    if (status != FAB_OK)
        return status;
    /* Multicast packets may use VLs that unicast packets do not use. So the walk with VLs
     * (vl_walk.c) is needed even if each unicast packet keeps one VL from end to end. */
    if (has_several_vls(graph->in->vls) && w->vl_walk == NULL)
        status = fab_verify_vl_walk_new(graph, &w->vl_walk);
    if (status == FAB_OK)
        status = fab_verify_walk_all(w);
    if (status != FAB_OK)
        fab_verify_walk_fini(w);
    return status;
}

static int find_dependencies(struct fab_verify_channels *c)
{
    struct fab_verify_walk walk;
    int status = walk_unicast(&c->graph, &walk);
    if (status != FAB_OK)
        return status;
    struct fab_verify_deps *found = walk.vl_walk != NULL ? &walk.vl_walk->deps : &walk.deps;
    c->unicast = *found;
    *found = (struct fab_verify_deps){0};
    fab_verify_walk_fini(&walk);
    fab_verify_deps_prune(&c->unicast);
    return fab_verify_deps_init(&c->trees, &c->graph, c->unicast.vl_count);
}

int fab_verify_channels_new(const struct fab_verify_input *in, struct fab_verify_channels **ret)
{
    struct fab_verify_channels *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return FAB_E_NOMEM;
    c->in = *in;
    int status = fab_verify_graph_make(&c->in, &c->graph);
    if (status == FAB_OK)
        status = find_dependencies(c);
    if (status == FAB_OK)
        *ret = c;
    else
        fab_verify_channels_free(c);
    return status;
}

void fab_verify_channels_free(struct fab_verify_channels *c)
{
    if (c == NULL)
        return;
    fab_verify_deps_fini(&c->unicast);
    fab_verify_deps_fini(&c->trees);
    fab_verify_graph_fini(&c->graph);
    free(c);
}

void fab_verify_channels_forget_trees(struct fab_verify_channels *c)
{
    memset(c->trees.bits, 0, fab_verify_deps_size(&c->trees));
}
