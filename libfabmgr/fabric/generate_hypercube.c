/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates hypercubes. The name of switch i shows i as a binary number ("cube-0110"). After the
 * ports of its hosts, a switch has `parallel` ports for each bit, which lead to the switch whose
 * number differs in this bit. The ports for the lowest bit come first. */
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/make.h"

#define MAX_DIMENSIONS 16

static int check(const struct fab_hypercube_spec *s)
{
    if (s->dimensions > MAX_DIMENSIONS || s->hosts > 254 || s->parallel == 0 || s->parallel > 254 ||
        s->hosts + s->dimensions * s->parallel == 0 ||
        s->hosts + s->dimensions * s->parallel > 254 ||
        (s->hosts + 1) << s->dimensions > MAKE_NODE_LIMIT)
        return FAB_E_RANGE;
    return FAB_OK;
}

static void make_one(struct maker *m, const struct fab_hypercube_spec *s)
{
    char bits[MAX_DIMENSIONS + 1] = "0", desc[FAB_NODE_DESC_LEN + 1];
    for (uint32_t d = 0; d < s->dimensions; d++)
        bits[s->dimensions - 1 - d] = "01"[m->switches >> d & 1];
    snprintf(desc, sizeof desc, "cube-%s", bits);
    fab_fabric_make_switch_named(m, s->hosts + s->dimensions * s->parallel, desc);
}

static void connect(struct maker *m, const struct fab_hypercube_spec *s, uint32_t sw)
{
    fab_fabric_make_hosts(m, sw, s->hosts, (uint64_t)s->hosts << s->dimensions);
    for (uint32_t d = 0; d < s->dimensions; d++)
        if ((sw >> d & 1) == 0)
            fab_fabric_make_links(m, sw, s->hosts + d * s->parallel + 1, sw | 1u << d,
                                  s->hosts + d * s->parallel + 1, s->parallel);
}

int fab_fabric_generate_hypercube(const struct fab_hypercube_spec *spec, struct fab_builder **ret)
{
    struct maker m;
    int status = check(spec);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&m);
    for (uint32_t i = 0; i < 1u << spec->dimensions && m.status == FAB_OK; i++)
        make_one(&m, spec);
    for (uint32_t i = 0; i < 1u << spec->dimensions && m.status == FAB_OK; i++)
        connect(&m, spec, i);
    return fab_fabric_make_finish(&m, ret);
}
