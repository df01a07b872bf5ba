/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the VL tables of the simulated devices. Each pair of ports in service must have the
 * SL-to-VL table of the target. The SLs of paths are in no device, because hosts get them from the
 * manager. So they are taken from the published view.
 */
#include <inttypes.h>
#include <stdio.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/target/target.h"
#include "tests/sim/stage.h"

/* Returns the id of a node in the view; FAB_NONE: the view does not have it. node: its id in f, the
 * fabric as it is cabled. */
static uint32_t node_in(const struct fab_view *v, const struct fab_fabric *f, uint32_t node)
{
    return fab_fabric_node_by_guid(v->fabric, f->nodes[node].guid);
}

static bool in_service(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->present && fab_fabric_port(f, port)->num > 0 &&
           fab_fabric_port_is_up(f, port) &&
           fab_fabric_port_is_up(f, fab_fabric_port(f, port)->peer);
}

static bool holds(struct stage *s, const struct fab_view *v, const struct fab_fabric *f,
                  uint32_t in, uint32_t out, char why[512])
{
    uint32_t node = fab_fabric_port(f, out)->node, there = node_in(v, f, node);
    if (there == FAB_NONE)
        return true;
    uint32_t first = v->fabric->nodes[there].first_port;
    uint64_t want =
        fab_target_sl2vl(v->fabric, &v->policy, &v->target->vls,
                         first + fab_fabric_port(f, in)->num, first + fab_fabric_port(f, out)->num);
    uint64_t held =
        fab_sim_sl2vl(s->sim, node, fab_fabric_port(f, in)->num, fab_fabric_port(f, out)->num);
    if (held != want)
        snprintf(why, 512,
                 "%s, from port %u to port %u: SL to VL is %016" PRIx64 ", not %016" PRIx64,
                 f->nodes[node].desc, fab_fabric_port(f, in)->num, fab_fabric_port(f, out)->num,
                 held, want);
    return held == want;
}

static bool all_hold(struct stage *s, const struct fab_view *v, const struct fab_fabric *f,
                     char why[512])
{
    for (uint32_t out = 0; out < f->port_count; out++) {
        uint32_t node = fab_fabric_port(f, out)->node, first = f->nodes[node].first_port;
        bool sw = fab_fabric_node_is_switch(f, node);
        for (uint32_t in = first; in_service(f, out) && in <= first + f->nodes[node].num_ports;
             in++) {
            bool meant = sw ? in == first || in_service(f, in) : in == out;
            if (meant && !holds(s, v, f, in, out, why))
                return false;
        }
    }
    return true;
}

static void translate_pairs(const struct fab_view *v, const struct fab_fabric *f,
                            struct fab_vls *to)
{
    for (uint32_t a = 0; a < f->switch_count; a++) {
        for (uint32_t b = 0; b < f->switch_count; b++) {
            uint32_t x = node_in(v, f, a), y = node_in(v, f, b);
            if (x != FAB_NONE && y != FAB_NONE)
                to->of_pair[(size_t)a * f->switch_count + b] =
                    v->target->vls.of_pair[(size_t)x * v->target->vls.switches + y];
        }
    }
}

static void translate_classes(const struct fab_view *v, const struct fab_fabric *f,
                              struct fab_vls *to)
{
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t there = node_in(v, f, fab_fabric_port(f, port)->node);
        if (there != FAB_NONE)
            to->port_class[port] = v->target->vls.port_class[fab_fabric_port_id(
                v->fabric, there, fab_fabric_port(f, port)->num)];
    }
}

static int translate(const struct fab_view *v, const struct fab_fabric *f, struct fab_vls *ret)
{
    const struct fab_vls *from = &v->target->vls;
    struct fab_vls to;
    int r = fab_target_vls_copy(from, &to);
    if (r == FAB_OK && from->of_pair &&
        (r = fab_target_vls_by_pair(&to, f->switch_count)) == FAB_OK)
        translate_pairs(v, f, &to);
    if (r == FAB_OK && from->port_class &&
        (r = fab_target_vls_by_class(&to, f->port_count)) == FAB_OK)
        translate_classes(v, f, &to);
    if (r == FAB_OK)
        *ret = to;
    return r;
}

bool stage_lanes(struct stage *s, const struct fab_fabric *f, struct fab_vls *ret, char why[512])
{
    struct fab_view *v = s->sm ? sm_view(s->sm) : NULL;
    bool good = true;
    if (v && v->target && fab_target_vls_multiple(&v->target->vls))
        good = all_hold(s, v, f, why) && translate(v, f, ret) == FAB_OK;
    fab_view_unref(v);
    return good;
}
