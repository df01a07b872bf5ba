/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out whether routes avoid a link because it is isolated, held down or drained. */
#include "fabricd/rpc/excluded.h"

bool excluded_read(struct answer *a, const struct sm *sm, struct excluded *ret)
{
    ret->sm = sm;
    ret->isolated_count = sm_isolations(sm, NULL, 0);
    ret->flapping_count = sm_flapping(sm, NULL, 0);
    ret->isolated = answer_alloc(a, ret->isolated_count, sizeof *ret->isolated);
    ret->flapping = answer_alloc(a, ret->flapping_count, sizeof *ret->flapping);
    if (ret->isolated == NULL || ret->flapping == NULL)
        return false;
    sm_isolations(sm, ret->isolated, ret->isolated_count);
    sm_flapping(sm, ret->flapping, ret->flapping_count);
    return true;
}

static bool has_end(const uint64_t guid[2], const uint8_t port[2], uint64_t node, uint8_t num)
{
    return (guid[0] == node && port[0] == num) || (guid[1] == node && port[1] == num);
}

const char *excluded_why(const struct excluded *x, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    uint64_t guid = f->nodes[p->node].guid;
    if (!p->present || p->peer != FAB_NONE || p->info.port_state < FAB_STATE_INIT)
        return "";
    for (uint32_t i = 0; i < x->isolated_count; i++)
        if (x->isolated[i].out && has_end(x->isolated[i].guid, x->isolated[i].port, guid, p->num))
            return "isolated";
    for (uint32_t i = 0; i < x->flapping_count; i++)
        if (x->flapping[i].held_down &&
            has_end(x->flapping[i].guid, x->flapping[i].port, guid, p->num))
            return "held down";
    return sm_drain_excludes(x->sm, guid, p->num) ? "in maintenance" : "";
}
