/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the order of the switches from which the labels of a session follow, and compares it with
 * the order of another manager.
 *
 * With such labels, a path is legal if it first leads up in the order and then down
 * (labels/labels.c). So two orders permit the same paths if each link leads up in both, or down in
 * both; the positions themselves do not matter.
 */
#include <stdlib.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/session/session.h"

/* a switch of the present fabric, and its position in an order */
struct place {
    uint64_t guid;
    uint32_t position;
};

static int by_position(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->position > y->position) - (x->position < y->position);
}

int fab_repair_session_order(const struct fab_repair_session *t, const struct fab_fabric *f,
                             uint64_t **ret_guid, uint32_t *ret_count)
{
    const uint32_t *position = fab_repair_positions(t->state);
    if (position == NULL)
        return FAB_E_UNSUPPORTED;
    struct place *place = calloc((size_t)f->switch_count + 1, sizeof(*place));
    uint64_t *guid = calloc((size_t)f->switch_count + 1, sizeof(*guid));
    if (place == NULL || guid == NULL) {
        free(place);
        free(guid);
        return FAB_E_NOMEM;
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        place[sw] = (struct place){f->nodes[sw].guid, position[t->idmap.to_baseline[sw]]};
    qsort(place, f->switch_count, sizeof(*place), by_position);
    for (uint32_t i = 0; i < f->switch_count; i++)
        guid[i] = place[i].guid;
    free(place);
    *ret_guid = guid;
    *ret_count = f->switch_count;
    return FAB_OK;
}

/* Sets other[sw] to the position of each switch of f in the order guid[count]. Returns OK, NOMEM,
 * NOT_FOUND if a switch is not in this order, or EXISTS if the order has a switch twice. */
static int find_positions(const struct fab_fabric *f, const uint64_t *guid, uint32_t count,
                          uint32_t *other)
{
    struct fab_map map = {0};
    int r = fab_base_map_reserve(&map, count);
    for (uint32_t i = 0; r == FAB_OK && i < count; i++)
        r = fab_base_map_add(&map, guid[i], i);
    for (uint32_t sw = 0; r == FAB_OK && sw < f->switch_count; sw++)
        if (!fab_base_map_get(&map, f->nodes[sw].guid, &other[sw]))
            r = FAB_E_NOT_FOUND;
    fab_base_map_fini(&map);
    return r;
}

/* Returns whether each ISL of the baseline leads up in both orders, or down in both. other[]: the
 * positions of the switches of f in the other order. */
static bool same_directions(const struct fab_repair_session *t, const struct fab_fabric *f,
                            const uint32_t *position, const uint32_t *other)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t own = position[t->idmap.to_baseline[sw]];
        for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_repair_session_peer(t, f, fab_fabric_port_id(f, sw, (uint8_t)num));
            uint32_t peer = port != FAB_NONE ? fab_fabric_port(f, port)->node : FAB_NONE;
            if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer) || peer == sw)
                continue;
            bool up = position[t->idmap.to_baseline[peer]] > own;
            if (up != (other[peer] > other[sw]))
                return false;
        }
    }
    return true;
}

int fab_repair_session_agrees(const struct fab_repair_session *t, const struct fab_fabric *f,
                              const uint64_t *guid, uint32_t count, bool *ret)
{
    const uint32_t *position = fab_repair_positions(t->state);
    if (position == NULL)
        return FAB_E_UNSUPPORTED;
    uint32_t *other = calloc((size_t)f->switch_count + 1, sizeof(*other));
    int r = other != NULL ? find_positions(f, guid, count, other) : FAB_E_NOMEM;
    bool agrees = r == FAB_OK && same_directions(t, f, position, other);
    free(other);
    if (r == FAB_E_NOMEM)
        return r;
    *ret = agrees;
    return FAB_OK;
}
