/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/study/link_use.h"

static uint64_t entries(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t n = 0;
    if (p->node >= lft->switch_count || p->node >= f->switch_count)
        return 0;
    for (uint32_t lid = 1, run; lid <= lft->top; lid += run) {
        const uint8_t *entry = fab_target_lft_run(lft, p->node, lid, &run);
        for (uint32_t i = 0; i < run; i++)
            n += entry[i] == p->num;
    }
    return n;
}

uint64_t fab_study_link_use(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return peer == FAB_NONE ? 0 : entries(f, lft, port) + entries(f, lft, peer);
}
