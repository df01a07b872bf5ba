/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether the sender of a notice can have issued it (IBA 13.4.8.2, 14.2.5.1). Only the
 * subnet manager issues notices 64 to 69, and only switches issue traps 128 and 259. All notices of
 * devices are about their sender: IssuerLID and the LID in DataDetails must belong to the node
 * whose LID is the source LID of the packet.
 *
 * These checks save work but prove nothing. The root user of a host can give its port any LID, and
 * switches do not check source LIDs. The manager therefore reads the device before it acts on a
 * notice or forwards it.
 */
#include <stdio.h>

#include "fabricd/sm/core/trap.h"

uint32_t sm_trap_owner(const struct sm *s, uint32_t lid)
{
    const struct fab_view *v = s->model.view;
    if (!v || !v->target || lid == 0 || lid > v->target->lids.top)
        return FAB_NONE;
    return v->target->lids.owner[lid];
}

/* Returns whether `lid`, a LID in the notice, belongs to the node that sent the notice. A notice
 * with LID 0 names no device; this is accepted. */
static bool is_of_sender(const struct sm *s, const struct sm_trap *t, uint16_t lid)
{
    return lid == 0 || sm_model_guid_of_lid(&s->model, lid) == t->guid;
}

static const char *doubt_of_known(const struct sm *s, const struct sm_trap *t)
{
    const struct fab_notice *n = &t->notice;
    const struct fab_fabric *f = s->model.view->fabric;
    uint16_t lid = fab_wire_notice_lid(n);
    bool of_switch = n->generic && (n->trap == TRAP_LINK_STATE || n->trap == TRAP_BAD_SWITCH_P_KEY);
    if (!is_of_sender(s, t, n->issuer_lid))
        return "its issuer is another device";
    if (!is_of_sender(s, t, lid))
        return "it is about another device";
    if (of_switch && !fab_fabric_node_is_switch(f, fab_fabric_port(f, t->port)->node))
        return "only switches send it";
    return NULL;
}

const char *sm_trap_doubt(const struct sm *s, const struct sm_trap *t)
{
    const struct fab_notice *n = &t->notice;
    if (n->generic && n->trap >= TRAP_GID_IN_SERVICE && n->trap <= TRAP_PATH_VALID)
        return "only the subnet manager issues it";
    return t->port != FAB_NONE ? doubt_of_known(s, t) : NULL;
}

void sm_trap_place(const struct sm *s, uint32_t port, char place[SM_PLACE_LEN])
{
    const struct fab_fabric *f = s->model.view ? s->model.view->fabric : NULL;
    snprintf(place, SM_PLACE_LEN, "an unknown port");
    if (!f || port == FAB_NONE)
        return;
    if (fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node))
        sm_node_name(f, fab_fabric_port(f, port)->node, place);
    else
        sm_port_name(
            f, fab_fabric_port(f, port)->peer != FAB_NONE ? fab_fabric_port(f, port)->peer : port,
            place);
}
