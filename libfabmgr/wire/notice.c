/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the DataDetails of notices (IBA 14.2.5.1). The specification defines their layout only for
 * generic notices. */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/wire/wire.h"

uint16_t fab_wire_notice_lid(const struct fab_notice *n)
{
    if (!n->generic)
        return 0;
    switch (n->trap) {
    /* trap 128: the link state of a port of a switch changed */
    case 128:
        return fab_base_get_be16(n->details);
    /* trap 129: a port counted local link integrity errors */
    case 129:
    case 130: /* trap 130: a port counted excessive buffer overruns */
    /* trap 131: the flow control watchdog of a port expired */
    case 131:
    case 144: /* trap 144: capabilities, description or priority of a node changed */
    case 145: /* trap 145: the system image GUID of a node changed */
        return fab_base_get_be16(n->details + 2);
    default:
        return 0;
    }
}

/* Reads the details of trap 256 (wrong M_Key). A hop count that exceeds the length of the return
 * path is invalid; v->hops then becomes 0. */
static void read_request(const uint8_t *d, struct fab_violation *v)
{
    uint8_t hops = d[23] & 0x3f;
    v->slid = fab_base_get_be16(d + 2);
    v->dr_slid = fab_base_get_be16(d + 4);
    v->method = d[6];
    v->attr_id = fab_base_get_be16(d + 8);
    v->attr_mod = fab_base_get_be32(d + 10);
    v->directed = (d[23] & 0x80) != 0;
    v->truncated = (d[23] & 0x40) != 0 || hops > FAB_VIOLATION_HOPS;
    v->hops = v->directed && hops <= FAB_VIOLATION_HOPS ? hops : 0;
    for (uint8_t i = 0; i < v->hops; i++)
        v->return_path[i] = d[24 + i];
}

static void read_packet(const struct fab_notice *n, struct fab_violation *v)
{
    const uint8_t *d = n->details;
    v->slid = fab_base_get_be16(d + 2);
    v->dlid = fab_base_get_be16(d + 4);
    if (n->trap == 257)
        v->p_key = (uint16_t)fab_base_get_be32(d + 6);
    if (n->trap == 259) {
        v->p_key = fab_base_get_be16(d + 6);
        v->port = d[50];
        return;
    }
    v->qp[0] = fab_base_get_be32(d + 10) & 0xffffff;
    v->qp[1] = fab_base_get_be32(d + 14) & 0xffffff;
}

bool fab_wire_notice_violation(const struct fab_notice *n, struct fab_violation *ret)
{
    if (!n->generic || n->trap < 256 || n->trap > 259)
        return false;
    *ret = (struct fab_violation){0};
    if (n->trap == 256)
        read_request(n->details, ret);
    else
        read_packet(n, ret);
    return true;
}
