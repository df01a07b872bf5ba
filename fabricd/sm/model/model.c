/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model holds the snapshot of the fabric and the tables that the switches hold.
 *
 * Until the snapshot is published, only the model uses it. After that, readers share the snapshot,
 * and a change first makes a new version of it (sm_model_writable). The tables that switches hold
 * are stored by switch id. If a new snapshot has other ids, the tables are moved to the new ids. A
 * LID lease reserves the LIDs of an absent port until another port needs them.
 */
#include <stdlib.h>

#include "fabricd/sm/model/model.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/plan/observed_move.h"

static bool same_ids(const struct fab_fabric *a, const struct fab_fabric *b)
{
    if (!a || a->node_count != b->node_count || a->port_count != b->port_count ||
        a->switch_count != b->switch_count)
        return false;
    for (uint32_t n = 0; n < a->node_count; n++)
        if (a->nodes[n].guid != b->nodes[n].guid || a->nodes[n].num_ports != b->nodes[n].num_ports)
            return false;
    return true;
}

/* `a` and `b` have the same ids. Returns true if they also have the same links; a proof of tables
 * for one of them is then valid for the other one. */
static bool same_links(const struct fab_fabric *a, const struct fab_fabric *b)
{
    if (a->self_port != b->self_port)
        return false;
    for (uint32_t p = 0; p < a->port_count; p++) {
        const struct fab_port *x = fab_fabric_port(a, p), *y = fab_fabric_port(b, p);
        if (x->peer != y->peer || x->present != y->present ||
            fab_fabric_port_is_up(a, p) != fab_fabric_port_is_up(b, p))
            return false;
    }
    return true;
}

static void forget_pkeys(struct fab_observed *o, const struct fab_fabric *f, uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    for (uint32_t num = 0; num <= n->num_ports; num++)
        fab_target_held_pkeys_forget(&o->pkeys, n->first_port + num);
}

/* Marks the tables of some switches as unknown, because these switches may not hold what the model
 * has for them: switches that were reset (their LinearFDBTop has changed since the last sweep), and
 * silent switches that answer again (they may have missed writes). */
static void forget_rebooted(struct fab_observed *o, const struct fab_fabric *old,
                            const struct fab_fabric *now)
{
    for (uint32_t sw = 0; sw < now->switch_count; sw++) {
        uint32_t was = fab_fabric_node_by_guid(old, now->nodes[sw].guid);
        if (was >= old->switch_count)
            continue;
        if (old->switches[was].linear_fdb_top != now->switches[sw].linear_fdb_top ||
            (old->nodes[was].silent && !now->nodes[sw].silent)) {
            fab_plan_observed_forget(o, sw);
            fab_plan_observed_forget_vls(o, now, sw);
            forget_pkeys(o, now, sw);
        }
    }
}

/* Marks the P_Key tables of all endports in state Init as unknown, because such an endport may have
 * been reset and have lost its P_Keys. */
static void forget_reset_endports(struct fab_observed *o, const struct fab_fabric *now)
{
    for (uint32_t port = 0; o->pkeys.count && port < now->port_count; port++)
        if (!fab_fabric_node_is_switch(now, fab_fabric_port(now, port)->node) &&
            fab_fabric_port(now, port)->info.port_state == FAB_STATE_INIT)
            fab_target_held_pkeys_forget(&o->pkeys, port);
}

/* Moves the tables that switches hold to the switch ids of the new snapshot. */
static int move_observed(struct sm_model *m, const struct fab_fabric *now)
{
    if (m->fabric)
        return fab_plan_observed_move(&m->observed, m->fabric, now);
    fab_plan_observed_fini(&m->observed);
    return fab_plan_observed_init(&m->observed, now->switch_count, 0);
}

/* Returns whether two snapshots with the same ids have the same port GUIDs. */
static bool same_port_guids(const struct fab_fabric *a, const struct fab_fabric *b)
{
    uint32_t p = 0;
    while (p < a->port_count && fab_fabric_port(a, p)->guid == fab_fabric_port(b, p)->guid)
        p++;
    return p == a->port_count;
}

/* Makes the list of the places of all ports (struct fab_places) for a new snapshot. same: the new
 * snapshot has the ids and the links of the present one. If the port GUIDs are also the same, the
 * list does not change, and *ret is another reference to m->places. */
static int find_places(const struct sm_model *m, const struct fab_fabric *fabric, bool same,
                       struct fab_places **ret)
{
    if (!same || !same_port_guids(m->fabric, fabric))
        return fab_discover_places_of(fabric, m->places, ret);
    *ret = fab_discover_places_ref(m->places);
    return FAB_OK;
}

int sm_model_load_leases(struct sm_model *m, struct store *store)
{
    struct fab_lease *leases = NULL;
    size_t count = 0;
    int r = store_load_leases(store, &leases, &count);
    if (r != FAB_OK)
        return r;
    free(m->leases);
    m->leases = leases;
    m->lease_count = count;
    return FAB_OK;
}

int sm_model_load_places(struct sm_model *m, struct store *store)
{
    struct fab_place *list = NULL;
    size_t count = 0;
    int r = store_load_places(store, &list, &count);
    if (r == FAB_OK)
        r = fab_discover_places_new(list, count, &m->places);
    free(list);
    return r;
}

/* Returns whether a switch that was silent answers again. */
static bool silent_switch_answers(const struct fab_fabric *old, const struct fab_fabric *now)
{
    uint32_t i = 0;
    while (i < now->node_count && (!old->nodes[i].silent || now->nodes[i].silent))
        i++;
    return i < now->node_count;
}

int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool flawed,
                   const atomic_bool *stop, bool *ret_same)
{
    struct fab_path *paths = NULL;
    struct fab_places *places = NULL;
    bool same = same_ids(m->fabric, fabric), linked = same && same_links(m->fabric, fabric);
    int r = atomic_load(stop) ? FAB_E_BUSY : fab_discover_paths(fabric, &paths);
    if (r == FAB_OK)
        r = find_places(m, fabric, linked, &places);
    if (r == FAB_OK && atomic_load(stop))
        r = FAB_E_BUSY;
    if (r == FAB_OK && !same)
        r = move_observed(m, fabric);
    if (r != FAB_OK) {
        free(paths);
        fab_discover_places_unref(places);
        fab_fabric_unref(fabric);
        return r;
    }
    if (m->fabric)
        forget_rebooted(&m->observed, m->fabric, fabric);
    forget_reset_endports(&m->observed, fabric);
    *ret_same = linked && !(flawed && silent_switch_answers(m->fabric, fabric));
    free(m->paths);
    fab_discover_places_unref(m->places);
    fab_fabric_unref(m->fabric);
    m->paths = paths;
    m->places = places;
    m->fabric = fabric;
    return sm_model_find_port_paths(m);
}

void sm_model_take_target(struct sm_model *m, struct fab_target *target)
{
    if (m->target || target) {
        fab_target_unref(m->former);
        m->former = target ? NULL : m->target;
    }
    if (target)
        fab_target_unref(m->target);
    m->target = target;
    if (target)
        m->tables = ++m->tables_made;
}

void sm_model_restore_target(struct sm_model *m, struct fab_target *target, uint64_t tables)
{
    fab_target_unref(m->target);
    m->target = target;
    m->tables = tables;
}

void sm_model_lend(struct sm_model *m, struct sm_model *ret)
{
    *ret = (struct sm_model){.fabric = m->fabric ? fab_fabric_ref(m->fabric) : NULL,
                             .places = fab_discover_places_ref(m->places),
                             .observed = m->observed,
                             .leases = m->leases,
                             .lease_count = m->lease_count};
    m->observed = (struct fab_observed){0};
    m->leases = NULL;
    m->lease_count = 0;
    m->lent = true;
}

static void take_snapshot(struct sm_model *m, struct sm_model *lent)
{
    fab_fabric_unref(m->fabric);
    m->fabric = lent->fabric;
    lent->fabric = NULL;
    if (!lent->paths)
        return;
    free(m->paths);
    free(m->port_paths);
    fab_discover_places_unref(m->places);
    m->places = lent->places;
    lent->places = NULL;
    m->paths = lent->paths;
    m->port_paths = lent->port_paths;
    m->port_path_count = lent->port_path_count;
    lent->paths = NULL;
    lent->port_paths = NULL;
}

void sm_model_take_back(struct sm_model *m, struct sm_model *lent)
{
    m->observed = lent->observed;
    m->leases = lent->leases;
    m->lease_count = lent->lease_count;
    lent->observed = (struct fab_observed){0};
    lent->leases = NULL;
    take_snapshot(m, lent);
    m->lent = false;
    if (m->forgotten)
        sm_model_forget(m);
    sm_model_fini(lent);
}

static int own_fabric(struct sm_model *m)
{
    struct fab_fabric *own;
    if (!fab_fabric_is_shared(m->fabric))
        return FAB_OK;
    int r = fab_fabric_next(m->fabric, &own);
    if (r != FAB_OK)
        return r;
    fab_fabric_unref(m->fabric);
    m->fabric = own;
    return FAB_OK;
}

static int own_target(struct sm_model *m)
{
    struct fab_target *own;
    if (!fab_target_is_shared(m->target))
        return FAB_OK;
    int r = fab_target_next(m->target, &own);
    if (r != FAB_OK)
        return r;
    fab_target_unref(m->target);
    m->target = own;
    return FAB_OK;
}

int sm_model_own(struct sm_model *m)
{
    fab_view_unref(m->view);
    m->view = NULL;
    int r = own_fabric(m);
    return r == FAB_OK ? own_target(m) : r;
}

int sm_model_reserve(struct sm_model *m, uint32_t top)
{
    if (top <= m->observed.lft.top)
        return FAB_OK;
    struct fab_observed wider;
    int r = fab_plan_observed_remap(&m->observed, m->fabric, m->fabric, top, &wider);
    if (r != FAB_OK)
        return r;
    fab_plan_observed_fini(&m->observed);
    m->observed = wider;
    return FAB_OK;
}

int sm_model_writable(struct sm_model *m, bool in_use)
{
    if (!in_use && !(m->view && m->view->fabric == m->fabric))
        return FAB_OK;
    struct fab_fabric *next;
    int r = fab_fabric_next(m->fabric, &next);
    if (r != FAB_OK)
        return r;
    fab_fabric_unref(m->fabric);
    m->fabric = next;
    return FAB_OK;
}

static int by_guid(const void *a, const void *b)
{
    const struct fab_lease *x = a, *y = b;
    return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

/* Returns true if no port of the fabric has a LID that the lease reserves. */
static bool range_is_free(const struct fab_lease *lease, const struct fab_lids *lids)
{
    uint32_t end = lease->lid + (1u << lease->lmc);
    for (uint32_t lid = lease->lid; lid < end && lid <= lids->top; lid++)
        if (lids->owner[lid] != FAB_NONE)
            return false;
    return true;
}

static size_t add_present(const struct sm_model *m, const struct fab_lids *lids,
                          struct fab_lease *to)
{
    size_t count = 0;
    for (uint32_t p = 0; p < m->fabric->port_count; p++)
        if (lids->base[p])
            to[count++] = (struct fab_lease){fab_fabric_port(m->fabric, p)->guid, lids->base[p],
                                             lids->lmc[p]};
    return count;
}

bool sm_model_knows_port_guid(const struct sm_model *m, uint64_t guid)
{
    const struct fab_lease key = {.port_guid = guid};
    return (m->fabric != NULL && fab_fabric_port_by_guid(m->fabric, guid) != FAB_NONE) ||
           fab_discover_place_of_port_guid(m->places, guid) != NULL ||
           (m->lease_count > 0 &&
            bsearch(&key, m->leases, m->lease_count, sizeof(key), by_guid) != NULL);
}

static uint64_t *leased_lids(const struct sm_model *m)
{
    uint64_t *lids = fab_base_bits_new(UINT16_MAX + 1u);
    for (size_t i = 0; lids && i < m->lease_count; i++)
        for (uint32_t k = 0; k < 1u << m->leases[i].lmc; k++)
            if (m->leases[i].lid + k <= UINT16_MAX)
                fab_base_bits_set(lids, m->leases[i].lid + k);
    return lids;
}

static bool is_leased(const struct sm_model *m, const uint64_t *lids, const struct fab_lease *l)
{
    bool any =
        m->lease_count > 0 && bsearch(l, m->leases, m->lease_count, sizeof(*l), by_guid) != NULL;
    for (uint32_t k = 0; k < 1u << l->lmc; k++)
        any = any || fab_base_bits_get(lids, l->lid + k);
    return any;
}

int sm_model_add_leases(struct sm_model *m, const struct fab_lid_list *listed)
{
    size_t count = m->lease_count;
    if (!listed || listed->count == 0)
        return FAB_OK;
    struct fab_lease *all = calloc(count + listed->count, sizeof(*all));
    uint64_t *lids = leased_lids(m);
    if (!all || !lids) {
        free(all);
        free(lids);
        return FAB_E_NOMEM;
    }
    if (count > 0)
        memcpy(all, m->leases, count * sizeof(*all));
    for (size_t i = 0; i < listed->count; i++) {
        const struct fab_listed_lid *l = &listed->entry[i];
        const struct fab_lease lease = {l->port_guid, l->lid, l->lmc};
        if (!is_leased(m, lids, &lease))
            all[count++] = lease;
    }
    free(lids);
    qsort(all, count, sizeof(*all), by_guid);
    free(m->leases);
    m->leases = all;
    m->lease_count = count;
    return FAB_OK;
}

int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids)
{
    struct fab_lease *all = calloc(m->fabric->port_count + m->lease_count + 1, sizeof(*all));
    if (!all)
        return FAB_E_NOMEM;
    size_t count = add_present(m, lids, all), present = count;
    qsort(all, count, sizeof(*all), by_guid);
    for (size_t i = 0; i < m->lease_count; i++)
        if (!bsearch(&m->leases[i], all, present, sizeof(*all), by_guid) &&
            range_is_free(&m->leases[i], lids))
            all[count++] = m->leases[i];
    qsort(all, count, sizeof(*all), by_guid);
    free(m->leases);
    m->leases = all;
    m->lease_count = count;
    return FAB_OK;
}

uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid)
{
    const struct fab_view *v = m->view;
    if (!v || !v->target || lid == 0 || lid > v->target->lids.top)
        return 0;
    uint32_t port = v->target->lids.owner[lid];
    return port == FAB_NONE ? 0 : v->fabric->nodes[fab_fabric_port(v->fabric, port)->node].guid;
}

void sm_model_forget(struct sm_model *m)
{
    m->forgotten = m->lent;
    if (m->lent)
        return;
    for (uint32_t node = 0; m->fabric && node < m->fabric->node_count; node++) {
        fab_plan_observed_forget(&m->observed, node);
        fab_plan_observed_forget_vls(&m->observed, m->fabric, node);
        forget_pkeys(&m->observed, m->fabric, node);
    }
}

void sm_model_fini(struct sm_model *m)
{
    fab_view_unref(m->view);
    fab_target_unref(m->target);
    fab_target_unref(m->former);
    fab_plan_observed_fini(&m->observed);
    fab_fabric_unref(m->fabric);
    fab_discover_places_unref(m->places);
    free(m->paths);
    free(m->port_paths);
    free(m->leases);
    free(m->unresponsive);
}

int sm_seal(const struct sm_model *m, const struct fab_policy *policy,
            const struct fab_target *target, struct sm_sealed *ret)
{
    int r = fab_policy_copy(policy, &ret->policy);
    if (r != FAB_OK)
        return r;
    ret->fabric = fab_fabric_ref(m->fabric);
    ret->target = fab_target_ref(target);
    return FAB_OK;
}

void sm_sealed_fini(struct sm_sealed *x)
{
    fab_policy_fini(&x->policy);
    fab_target_unref(x->target);
    fab_fabric_unref(x->fabric);
}
