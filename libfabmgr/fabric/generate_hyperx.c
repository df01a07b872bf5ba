/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates HyperX fabrics. After the ports for its hosts, a switch has `parallel` ports to each
 * other switch of its row in the first dimension, in the order of the coordinates. The ports to its
 * row in the second dimension follow, and so on. */
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/lattice.h"

struct hyperx {
    struct maker m;
    const struct fab_hyperx_spec *spec;
    struct lattice l;
    /* By dimension: number of the first port that leads to switches of this dimension. */
    uint32_t base[FAB_GENERATE_DIMENSIONS];
    uint32_t ports;
};

static int check(struct hyperx *x)
{
    const struct fab_hyperx_spec *s = x->spec;
    if (s->parallel == 0 || s->parallel > 254)
        return FAB_E_RANGE;
    int status = fab_fabric_lattice_init(&x->l, s->dimensions, s->size, s->hosts);
    if (status != FAB_OK)
        return status;
    x->ports = s->hosts;
    for (uint32_t d = 0; d < s->dimensions; d++) {
        x->base[d] = x->ports + 1;
        if (s->size[d] > 254)
            return FAB_E_RANGE;
        x->ports += (s->size[d] - 1) * s->parallel;
    }
    return x->ports > 0 && x->ports <= 254 ? FAB_OK : FAB_E_RANGE;
}

/* Adds the links from `sw` to the switches with a higher coordinate in dimension d. The port number
 * at the other switch follows from the coordinate of `sw`. */
static void connect(struct hyperx *x, uint32_t sw, uint32_t d)
{
    uint32_t at = fab_fabric_lattice_at(&x->l, sw, d), parallel = x->spec->parallel;
    for (uint32_t to = at + 1; to < x->spec->size[d]; to++)
        fab_fabric_make_links(&x->m, sw, x->base[d] + (to - 1) * parallel,
                              sw + (to - at) * x->l.step[d], x->base[d] + at * parallel, parallel);
}

int fab_fabric_generate_hyperx(const struct fab_hyperx_spec *spec, struct fab_builder **ret)
{
    struct hyperx x = {.spec = spec};
    int status = check(&x);
    if (status != FAB_OK)
        return status;
    fab_fabric_make_init(&x.m);
    fab_fabric_lattice_switches(&x.l, &x.m, "hyperx", x.ports, spec->hosts);
    for (uint32_t sw = 0; sw < x.l.count && x.m.status == FAB_OK; sw++)
        for (uint32_t d = 0; d < spec->dimensions; d++)
            connect(&x, sw, d);
    return fab_fabric_make_finish(&x.m, ret);
}
