/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates tori and meshes. After the ports for its hosts, a switch has ports for each dimension:
 * `parallel` ports to the next switch, and as many to the previous one. The port numbers are the
 * same on all switches; at the rim of a mesh, some of these ports are unused. For a dimension of
 * size 2, a switch has only the ports to one neighbour; for a dimension of size 1, it has no ports.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/lattice.h"

struct torus {
    struct maker m;
    const struct fab_torus_spec *spec;
    struct lattice l;
    /* By dimension: number of the first port that leads to switches of this dimension. */
    uint32_t base[FAB_GENERATE_DIMENSIONS];
    uint32_t ports;
};

/* Returns the number of neighbours that a switch has in a dimension of this size: 0, 1 or 2. A
 * switch has `parallel` ports for each of them. */
static uint32_t blocks(uint32_t size)
{
    return size > 2 ? 2 : size - 1;
}

static int check(struct torus *t)
{
    const struct fab_torus_spec *s = t->spec;
    if (s->parallel == 0 || s->parallel > 254)
        return FAB_E_RANGE;
    int status = fab_fabric_lattice_init(&t->l, s->dimensions, s->size, s->hosts);
    if (status != FAB_OK)
        return status;
    t->ports = s->hosts;
    for (uint32_t d = 0; d < s->dimensions; d++) {
        t->base[d] = t->ports + 1;
        t->ports += blocks(s->size[d]) * s->parallel;
    }
    return t->ports > 0 && t->ports <= 254 ? FAB_OK : FAB_E_RANGE;
}

/* Adds the links from a switch to the next switch in dimension d, if there is a next switch. */
static void connect(struct torus *t, uint32_t sw, uint32_t d)
{
    const struct fab_torus_spec *s = t->spec;
    uint32_t size = s->size[d], at = fab_fabric_lattice_at(&t->l, sw, d), next = sw + t->l.step[d];
    if (at + 1 == size && (s->mesh || size <= 2))
        return;
    if (at + 1 == size)
        next = sw - at * t->l.step[d];
    uint32_t back = t->base[d] + (blocks(size) - 1) * s->parallel;
    fab_fabric_make_links(&t->m, sw, t->base[d], next, back, s->parallel);
}

int fab_fabric_generate_torus(const struct fab_torus_spec *spec, struct fab_builder **ret)
{
    struct torus t = {.spec = spec};
    int status = check(&t);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&t.m);
    fab_fabric_lattice_switches(&t.l, &t.m, spec->mesh ? "mesh" : "torus", t.ports, spec->hosts);
    for (uint32_t sw = 0; sw < t.l.count && t.m.status == FAB_OK; sw++)
        for (uint32_t d = 0; d < spec->dimensions; d++)
            connect(&t, sw, d);
    return fab_fabric_make_finish(&t.m, ret);
}
