/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the state of the simulated devices with the cabling, and proves their tables with
 * libfabmgr/verify, without asking the manager. Leaves out nodes that cannot be managed (they do
 * not answer, give wrong answers, or have a foreign key), and nodes behind them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/verify.h"
#include "tests/sim/stage.h"

static void cut_off(struct fab_fabric *f, uint32_t node)
{
    for (unsigned i = 0; i <= f->nodes[node].num_ports; i++) {
        struct fab_port *port = fab_fabric_edit_port(f, fab_fabric_port_id(f, node, (uint8_t)i));
        port->info.phys_state = FAB_PHYS_POLLING;
        port->present = false;
        if (port->peer != FAB_NONE)
            fab_fabric_edit_port(f, port->peer)->info.phys_state = FAB_PHYS_POLLING;
    }
}

static bool cable_up(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->num > 0 && fab_fabric_port(f, port)->peer != FAB_NONE &&
           fab_fabric_port_is_up(f, port) &&
           fab_fabric_port_is_up(f, fab_fabric_port(f, port)->peer);
}

static uint32_t seat_node(struct stage *s, const struct fab_fabric *f)
{
    uint32_t port = fab_fabric_port_by_guid(f, s->below->port_guid);
    return port != FAB_NONE ? fab_fabric_port(f, port)->node : 0;
}

/* Removes nodes that cannot be managed, and nodes that can only be reached through them. Returns
 * false if memory runs out. */
static bool keep_island(struct stage *s, struct fab_fabric *f)
{
    uint32_t *queue = calloc(f->node_count + 1u, sizeof(*queue)), head = 0, tail = 0;
    bool *seen = calloc(f->node_count + 1u, sizeof(*seen));
    bool good = queue && seen;
    if (good) {
        queue[tail++] = seat_node(s, f);
        seen[queue[0]] = true;
    }
    for (; good && head < tail; head++) {
        uint32_t node = queue[head], first = f->nodes[node].first_port;
        if (!fab_fabric_node_is_switch(f, node) && head > 0)
            continue;
        for (uint32_t p = first + 1; p <= first + f->nodes[node].num_ports; p++) {
            uint32_t far = cable_up(f, p) ? fab_fabric_peer_node(f, p) : FAB_NONE;
            if (far == FAB_NONE || seen[far] || s->lost[far])
                continue;
            seen[far] = true;
            queue[tail++] = far;
        }
    }
    for (uint32_t node = 0; good && node < f->node_count; node++)
        if (!seen[node])
            cut_off(f, node);
    free(queue);
    free(seen);
    return good;
}

static void take_out(struct fab_fabric *f, uint64_t guid, uint8_t port)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node != FAB_NONE)
        fab_fabric_edit_port(f, fab_fabric_port_id(f, node, port))->info.phys_state =
            FAB_PHYS_POLLING;
}

/* Takes down the links that need not work: those that are held down, and those that are isolated
 * and not reinstated. */
static void take_held_out(struct stage *s, struct fab_fabric *f)
{
    struct sm_flapping flaps[64];
    struct sm_isolation isolated[64];
    uint32_t count = s->sm ? sm_flapping(s->sm, flaps, 64) : 0;
    for (uint32_t i = 0; i < count && i < 64; i++)
        if (flaps[i].held_down)
            take_out(f, flaps[i].guid[0], flaps[i].port[0]);
    count = s->sm ? sm_isolations(s->sm, isolated, 64) : 0;
    for (uint32_t i = 0; i < count && i < 64; i++)
        if (isolated[i].out)
            take_out(f, isolated[i].guid[0], isolated[i].port[0]);
}

/* Returns the fabric with the present cabling and the port states of the devices; NULL: no memory.
 */
static struct fab_fabric *devices(struct stage *s)
{
    struct fab_fabric *f;
    if (fab_fabric_clone(fab_sim_fabric(s->sim), &f) != FAB_OK)
        return NULL;
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port_info *info =
            fab_sim_port(s->sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
        if (info)
            fab_fabric_edit_port(f, p)->info = *info;
    }
    take_held_out(s, f);
    if (keep_island(s, f))
        return f;
    fab_fabric_unref(f);
    return NULL;
}

bool stage_active(struct stage *s, char why[512])
{
    struct fab_fabric *f = devices(s);
    uint32_t up = 0, bad = 0, example = 0;
    for (uint32_t p = 0; f && p < f->port_count; p++) {
        if (!cable_up(f, p))
            continue;
        up++;
        if (fab_fabric_port(f, p)->info.port_state != FAB_STATE_ACTIVE && bad++ == 0)
            example = p;
    }
    if (!f || up == 0)
        snprintf(why, 512, "no cable is up");
    else if (bad > 0)
        snprintf(why, 512, "%u of %u ports with a cable are not Active, for example %s/%u (%s)",
                 bad, up, f->nodes[fab_fabric_port(f, example)->node].desc,
                 fab_fabric_port(f, example)->num,
                 fab_wire_port_state_name(fab_fabric_port(f, example)->info.port_state));
    fab_fabric_unref(f);
    return up > 0 && bad == 0;
}

/* Returns whether port p must have a LID: it is port 0 of a switch, or it is a port that can have a
 * LID and its link is up. */
static bool wants_lid(const struct fab_fabric *f, uint32_t p)
{
    return fab_fabric_port_has_lid(f, p) && fab_fabric_port(f, p)->present &&
           (fab_fabric_port(f, p)->num == 0 || cable_up(f, p));
}

/* Returns the LID of a port in the published view; 0: it has none. */
static uint32_t given(struct stage *s, const struct fab_fabric *f, uint32_t port)
{
    struct fab_view *v = s->sm ? sm_view(s->sm) : NULL;
    uint32_t node =
        v ? fab_fabric_node_by_guid(v->fabric, f->nodes[fab_fabric_port(f, port)->node].guid)
          : FAB_NONE;
    uint32_t lid =
        node == FAB_NONE
            ? 0
            : v->target->lids
                  .base[fab_fabric_port_id(v->fabric, node, fab_fabric_port(f, port)->num)];
    if (v)
        fab_view_unref(v);
    return lid;
}

static void tell_twins(struct stage *s, const struct fab_fabric *f, const struct fab_lids *lids,
                       char why[512])
{
    snprintf(why, 512, "the LIDs in the devices contradict each other");
    for (uint32_t p = 0; p < f->port_count; p++)
        for (uint32_t q = p + 1; lids->base[p] != 0 && q < f->port_count; q++)
            if (lids->base[p] == lids->base[q])
                snprintf(why, 512,
                         "%s/%u and %s/%u both have LID %u; the manager gave them %u and %u",
                         f->nodes[fab_fabric_port(f, p)->node].desc, fab_fabric_port(f, p)->num,
                         f->nodes[fab_fabric_port(f, q)->node].desc, fab_fabric_port(f, q)->num,
                         lids->base[p], given(s, f, p), given(s, f, q));
}

static int read_lids(struct stage *s, const struct fab_fabric *f, struct fab_lids *lids,
                     char why[512])
{
    int r = fab_target_lids_init(lids, f->port_count);
    for (uint32_t p = 0; r == FAB_OK && p < f->port_count; p++) {
        if (!wants_lid(f, p))
            continue;
        lids->base[p] = fab_fabric_port(f, p)->info.lid;
        lids->lmc[p] = fab_fabric_port(f, p)->info.lmc;
        if (lids->base[p] != 0)
            continue;
        snprintf(why, 512, "%s has no LID", f->nodes[fab_fabric_port(f, p)->node].desc);
        return FAB_E_NOT_FOUND;
    }
    if (r == FAB_OK && (r = fab_target_lids_index(lids)) != FAB_OK)
        tell_twins(s, f, lids, why);
    return r;
}

static int read_lft(struct stage *s, uint32_t switches, uint32_t top, struct fab_lft *lft)
{
    int r = fab_target_lft_init(lft, switches, top);
    for (uint32_t sw = 0; r == FAB_OK && sw < switches; sw++) {
        uint32_t has;
        const uint8_t *row = fab_sim_lft(s->sim, sw, &has);
        if (row)
            memcpy(fab_target_lft_row(lft, sw), row, (has < top ? has : top) + 1u);
    }
    return r;
}

static bool judge(const struct fab_fabric *f, const struct fab_lids *lids,
                  const struct fab_lft *lft, const struct fab_vls *vls, char why[512])
{
    struct fab_verify_input in = {
        .fabric = f, .lids = lids, .lft = lft, .vls = vls, .max_hops = 64};
    struct fab_verdict verdict;
    if (fab_verify(&in, &verdict) != FAB_OK)
        return false;
    bool good = fab_verify_verdict_good(&verdict) && verdict.pairs > 0;
    char *text = NULL;
    if (!good)
        (void)fab_verify_witness_text(f, &verdict.witness, &text);
    if (!good)
        snprintf(why, 512, "the tables in the devices: %llu of %llu pairs unreachable%s: %.300s",
                 (unsigned long long)verdict.unreachable_pairs, (unsigned long long)verdict.pairs,
                 verdict.deadlock_free ? "" : ", could deadlock", text ? text : "?");
    free(text);
    fab_verify_verdict_fini(&verdict);
    return good;
}

bool stage_good(struct stage *s, char why[512])
{
    struct fab_fabric *f = devices(s);
    struct fab_lids lids = {0};
    struct fab_lft lft = {0};
    struct fab_vls vls = {0};
    snprintf(why, 512, "no memory");
    bool good = f && read_lids(s, f, &lids, why) == FAB_OK &&
                read_lft(s, f->switch_count, lids.top, &lft) == FAB_OK &&
                stage_lanes(s, f, &vls, why) && judge(f, &lids, &lft, &vls, why);
    fab_target_vls_fini(&vls);
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
    return good;
}

/* Returns the first switch of the view whose device holds other LFT entries than the view;
 * FAB_NONE: all devices hold those of the view. */
static uint32_t first_unwritten(struct stage *s, const struct fab_view *v)
{
    const struct fab_lft *want = &v->target->lft;
    for (uint32_t sw = 0; sw < want->switch_count; sw++) {
        uint32_t top,
            node = fab_fabric_node_by_guid(fab_sim_fabric(s->sim), v->fabric->nodes[sw].guid);
        const uint8_t *row = node != FAB_NONE ? fab_sim_lft(s->sim, node, &top) : NULL;
        for (uint32_t lid = 1; lid <= want->top; lid++)
            if (!row ||
                (lid <= top ? row[lid] : FAB_LFT_NO_ROUTE) != fab_target_lft_at(want, sw, lid))
                return sw;
    }
    return FAB_NONE;
}

/* Proves the tables of the view. Returns whether the view has the same verdict. */
static bool is_verdict_true(const struct fab_view *v)
{
    struct fab_verify_input in = fab_view_verify_input(v);
    struct fab_verdict verdict;
    if (fab_verify(&in, &verdict) != FAB_OK)
        return false;
    bool same = verdict.deadlock_free == v->verdict.deadlock_free &&
                verdict.unreachable_pairs == v->verdict.unreachable_pairs &&
                verdict.unreachable_host_pairs == v->verdict.unreachable_host_pairs &&
                verdict.beyond == v->verdict.beyond;
    fab_verify_verdict_fini(&verdict);
    return same;
}

bool stage_written(struct stage *s, char why[512])
{
    struct fab_view *v = s->sm ? sm_view(s->sm) : NULL;
    bool known = v && v->target;
    uint32_t sw = known ? first_unwritten(s, v) : FAB_NONE;
    bool good = known && sw == FAB_NONE && is_verdict_true(v);
    if (!known)
        snprintf(why, 512, "no tables are published");
    else if (sw != FAB_NONE)
        snprintf(why, 512, "%s has other entries than published", v->fabric->nodes[sw].desc);
    else if (!good)
        snprintf(why, 512, "the published verdict is not that of the published tables");
    fab_view_unref(v);
    return good;
}

uint8_t *stage_tables(struct stage *s, size_t *ret_len)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    struct fab_lft lft = {0};
    uint8_t *bytes = NULL;
    if (read_lft(s, f->switch_count, FAB_LID_UNICAST_MAX, &lft) != FAB_OK)
        return NULL;
    size_t rows = lft.stride * lft.switch_count;
    bytes = malloc(rows + 2u * f->port_count + 1);
    for (uint32_t p = 0; bytes && p < f->port_count; p++) {
        const struct fab_port_info *info =
            fab_sim_port(s->sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
        bytes[rows + 2 * p] = (uint8_t)(info->lid >> 8);
        bytes[rows + 2 * p + 1] = (uint8_t)info->lid;
    }
    if (bytes)
        memcpy(bytes, lft.entries, rows);
    *ret_len = rows + 2u * f->port_count;
    fab_target_lft_fini(&lft);
    return bytes;
}
