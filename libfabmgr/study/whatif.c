/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what remains of a fabric after links have failed. The code copies the fabric into a
 * builder, and removes the links from this copy. The part that the manager's own port then reaches
 * is the fabric that discovery would find. GUIDs tell which of its nodes are which nodes of the old
 * fabric; port numbers stay the same. */
#include "libfabmgr/study/whatif.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static int remove_link(struct fab_builder *b, const struct fab_fabric *f, uint32_t port,
                       bool *ret_was)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint32_t ref;
    uint8_t num;
    if (p->peer == FAB_NONE)
        return FAB_E_NOT_FOUND;
    /* p->node is also a reference, because the builder was made from the snapshot */
    *ret_was = fab_fabric_builder_peer(b, p->node, p->num, &ref, &num) == FAB_OK;
    return *ret_was ? fab_fabric_builder_unlink(b, p->node, p->num) : FAB_OK;
}

static int remove_links(const struct fab_whatif_input *in, struct fab_whatif *w)
{
    const struct fab_fabric *f = in->fabric;
    struct fab_fabric *all = NULL;
    struct fab_builder *b = fab_fabric_builder_from(f);
    int rc = b != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < in->port_count && rc == FAB_OK; i++) {
        bool was = false;
        rc = in->ports[i] < f->port_count ? remove_link(b, f, in->ports[i], &was) : FAB_E_NOT_FOUND;
        w->cables += was;
    }
    uint32_t dropped;
    if (rc == FAB_OK)
        rc = fab_fabric_builder_seal(b, &all);
    if (rc == FAB_OK)
        rc = fab_fabric_reachable(all, &w->fabric, &dropped);
    if (rc == FAB_OK && w->fabric->switch_count == 0 && f->switch_count > 0)
        rc = FAB_E_UNREACHABLE;
    fab_fabric_unref(all);
    fab_fabric_builder_free(b);
    return rc;
}

static int map_ports(const struct fab_whatif_input *in, struct fab_whatif *w)
{
    const struct fab_fabric *f = in->fabric;
    w->port_now = fab_base_alloc_array(f->port_count, sizeof *w->port_now);
    w->lost = fab_base_alloc_array(f->port_count, sizeof *w->lost);
    if (w->port_now == NULL || w->lost == NULL)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        uint32_t node = fab_fabric_node_by_guid(w->fabric, f->nodes[p->node].guid);
        w->port_now[port] =
            node != FAB_NONE ? fab_fabric_port_id(w->fabric, node, p->num) : FAB_NONE;
    }
    return FAB_OK;
}

/* Returns true if an endport is lost: its adapter is unreachable, or the endport itself has no
 * working link, even if the adapter is reachable through another port. now: id of the endport in
 * the new fabric; FAB_NONE: its adapter is unreachable. */
static bool is_lost(const struct fab_whatif *w, uint32_t now)
{
    return now == FAB_NONE || !fab_fabric_port_is_up(w->fabric, now);
}

static void find_lost(const struct fab_whatif_input *in, struct fab_whatif *w)
{
    const struct fab_fabric *f = in->fabric;
    for (uint32_t port = 0; port < f->port_count; port++) {
        bool is_switch = fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
        if (in->lids->base[port] == 0)
            continue;
        if (is_switch)
            w->lost_switches += w->port_now[port] == FAB_NONE;
        else if (is_lost(w, w->port_now[port]) && fab_fabric_port_is_up(f, port))
            w->lost[w->lost_count++] = port;
    }
}

static int keep_lids(const struct fab_whatif_input *in, struct fab_whatif *w)
{
    int rc = fab_target_lids_init(&w->lids, w->fabric->port_count);
    for (uint32_t port = 0; rc == FAB_OK && port < in->fabric->port_count; port++) {
        uint32_t now = w->port_now[port];
        if (now == FAB_NONE)
            continue;
        w->lids.base[now] = in->lids->base[port];
        w->lids.lmc[now] = in->lids->lmc[port];
    }
    return rc == FAB_OK ? fab_target_lids_index(&w->lids) : rc;
}

static int keep_tables(const struct fab_whatif_input *in, struct fab_whatif *w)
{
    int rc = fab_target_lft_init(&w->kept, w->fabric->switch_count, in->lft->top);
    for (uint32_t sw = 0; rc == FAB_OK && sw < in->fabric->switch_count; sw++) {
        uint32_t port = w->port_now[in->fabric->nodes[sw].first_port];
        if (port != FAB_NONE)
            fab_target_lft_copy_row(in->lft, sw, &w->kept, fab_fabric_port(w->fabric, port)->node);
    }
    return rc;
}

int fab_study_whatif_make(const struct fab_whatif_input *in, struct fab_whatif *ret)
{
    struct fab_whatif w = {0};
    int rc = remove_links(in, &w);
    if (rc == FAB_OK)
        rc = map_ports(in, &w);
    if (rc == FAB_OK)
        rc = keep_lids(in, &w);
    if (rc == FAB_OK)
        rc = keep_tables(in, &w);
    if (rc == FAB_OK) {
        find_lost(in, &w);
        *ret = w;
    } else {
        fab_study_whatif_fini(&w);
    }
    return rc;
}

void fab_study_whatif_fini(struct fab_whatif *w)
{
    fab_fabric_unref(w->fabric);
    fab_target_lids_fini(&w->lids);
    fab_target_lft_fini(&w->kept);
    free(w->lost);
    free(w->port_now);
    *w = (struct fab_whatif){0};
}

static uint32_t count_different(const uint8_t *x, const uint8_t *y, size_t count)
{
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += x[i] != y[i];
    return n;
}

void fab_study_whatif_compare(const struct fab_lft *before, const struct fab_lft *now,
                              struct fab_whatif_change *ret)
{
    struct fab_whatif_change c = {0};
    size_t end = (size_t)fab_target_lft_blocks(now) * FAB_LFT_BLOCK;
    size_t known = end < before->stride ? end : before->stride;
    for (uint32_t sw = 0; sw < now->switch_count && sw < before->switch_count; sw++) {
        uint64_t blocks = c.blocks;
        for (size_t at = 0; at < end; at += FAB_LFT_BLOCK) {
            uint32_t n = at < known
                             ? count_different(fab_target_lft_entry(before, sw, at),
                                               fab_target_lft_entry(now, sw, at), FAB_LFT_BLOCK)
                             : FAB_LFT_BLOCK;
            c.entries += n;
            c.blocks += n > 0;
        }
        c.switches += c.blocks > blocks;
        c.all_blocks += end / FAB_LFT_BLOCK;
    }
    *ret = c;
}
