/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects `count` groups of `members` switches with global links.
 *
 * A group numbers its global links j = 0, 1, 2, and so on. Every count - 1 consecutive links form a
 * round, which has one link to each other group. Within a round, the links have the numbers o = 1
 * to count - 1. Link o of group g leads to group h = (g + o) modulo count, where the same link has
 * the number count - o.
 *
 * Link j of a group starts at switch j % members of the group. So the numbers of global links of
 * the switches of a group differ by at most one. If count - 1 is a multiple of members, this rule
 * would let all links between two groups connect the same two switches. In this case, each round
 * begins one switch later than the round before.
 */
#include "libfabmgr/fabric/groups.h"

#include "libfabmgr/base/status.h"

int fab_fabric_groups_init(struct groups *g)
{
    if (g->members == 0 || g->members > 254 || g->global > 254)
        return FAB_E_RANGE;
    uint32_t cables = g->members * g->global;
    if (g->count == 0)
        g->count = cables + 1;
    if (g->count - 1 > cables)
        return FAB_E_RANGE;
    g->rounds = g->count > 1 ? cables / (g->count - 1) : 0;
    return FAB_OK;
}

struct end {
    /* member: number of the switch in its group, from 0; port: number of one of its global ports,
     * from 0 */
    uint32_t member, port;
};

static struct end end_of(const struct groups *g, uint32_t round, uint32_t offset)
{
    uint32_t j = round * (g->count - 1) + offset - 1;
    uint32_t shift = (g->count - 1) % g->members == 0 ? round : 0;
    return (struct end){(j + shift) % g->members, j / g->members};
}

void fab_fabric_groups_connect(const struct groups *g, struct maker *m, uint32_t first,
                               uint32_t stride, uint32_t first_port)
{
    for (uint32_t a = 0; a < g->count && m->status == FAB_OK; a++)
        for (uint32_t b = a + 1; b < g->count; b++)
            for (uint32_t round = 0; round < g->rounds; round++) {
                struct end x = end_of(g, round, b - a), y = end_of(g, round, g->count - (b - a));
                fab_fabric_make_link(m, first + a * stride + x.member, first_port + x.port,
                                     first + b * stride + y.member, first_port + y.port);
            }
}
