/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "comparing with the baseline" finds devices that no operator has approved at their place
 * (libfabmgr/discover/baseline.h). A worker thread compares the fabric with the baseline. If there
 * is no baseline, the list of unapproved devices is empty.
 *
 * The baseline is kept in the store, so that it survives a restart. The list of devices that are
 * not approved is not stored, because it follows from the baseline and the fabric.
 *
 * In each period of TELL_EVERY_US, the manager emits at most one event about each switch port, and
 * at most TELL_MOST events in total. A summary event gives the number of further devices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/prng.h"

#define TELL_EVERY_US UINT64_C(600000000)
#define TELL_MOST 64
#define SUMMARY_EVERY_US UINT64_C(60000000)
/* Maximum number of switch ports for which the manager remembers the time of the last event. */
#define TOLD_MOST 65536

/* ---- what is not approved -------------------------------------------------------------------- */

static int compare_places(const struct fab_place *a, const struct fab_place *b)
{
    if (a->guid != b->guid)
        return a->guid < b->guid ? -1 : 1;
    if (a->port != b->port)
        return a->port - b->port;
    if (a->near_guid != b->near_guid)
        return a->near_guid < b->near_guid ? -1 : 1;
    return a->near_port - b->near_port;
}

static int compare(const void *x, const void *y)
{
    const struct sm_unapproved *a = x, *b = y;
    return compare_places(&a->what.place, &b->what.place);
}

/* For each device that was unapproved before and still is, at the same place and for the same
 * reason, copies three members from the previous list: since_us (when the device was found), told
 * (its event was emitted) and reset (its link was reset). Both lists are sorted by place. */
static void carry_over(struct sm_baseline_job *j)
{
    for (uint32_t i = 0, k = 0; i < j->count; i++) {
        struct sm_unapproved *u = &j->made[i];
        while (k < j->was_count && compare(&j->was[k], u) < 0)
            k++;
        if (k == j->was_count || compare(&j->was[k], u) != 0 || j->was[k].what.why != u->what.why)
            continue;
        u->told = j->was[k].told;
        u->reset = j->was[k].reset;
        u->since_us = j->was[k].since_us;
    }
}

/* Returns what the manager does with an unapproved device at place `p` that the sweep has read:
 * quarantine or admit it. Switches and the own port of the manager are always admitted. (The third
 * effect, exclusion, is for devices that sweeps do not read.) */
static enum sm_unapproved_effect effect_of(const struct sm_baseline_job *j,
                                           const struct fab_place *p)
{
    const struct fab_fabric *f = j->fabric;
    const struct fab_port *self = fab_fabric_port(f, f->self_port);
    bool own = p->guid == f->nodes[self->node].guid && p->port == self->num;
    return j->mode == CONFIG_QUARANTINE && !p->is_switch && !own ? SM_QUARANTINED : SM_ADMITTED;
}

static void append(struct sm_baseline_job *j, const struct fab_unapproved *u,
                   enum sm_unapproved_effect effect)
{
    j->made[j->count++] =
        (struct sm_unapproved){.what = *u, .effect = (uint8_t)effect, .since_us = j->unix_us};
}

/* Sorts the list by place, and removes duplicates: discovery can find a link from both ends, and
 * then lists its place twice. */
static void sort(struct sm_baseline_job *j)
{
    uint32_t kept = 0;
    if (j->count > 1)
        qsort(j->made, j->count, sizeof(*j->made), compare);
    for (uint32_t i = 0; i < j->count; i++)
        if (kept == 0 || compare(&j->made[kept - 1], &j->made[i]) != 0)
            j->made[kept++] = j->made[i];
    j->count = kept;
}

void sm_baseline_job_run(struct sm_baseline_job *j)
{
    struct fab_unapproved *list = NULL;
    size_t count = 0;
    j->status = fab_discover_baseline_compare(j->set, j->fabric, &list, &count);
    if (j->status == FAB_OK)
        j->made = calloc(count + j->left_out_count + 1, sizeof(*j->made));
    if (j->status == FAB_OK && !j->made)
        j->status = FAB_E_NOMEM;
    for (size_t i = 0; j->made && i < count; i++)
        append(j, &list[i], effect_of(j, &list[i].place));
    for (uint32_t i = 0; j->made && i < j->left_out_count; i++)
        append(j, &j->left_out[i], SM_EXCLUDED);
    free(list);
    sort(j);
    carry_over(j);
}

static void work(void *ctx)
{
    sm_baseline_job_run(ctx);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void describe(const struct sm *s, const struct fab_unapproved *u, char *ret, size_t len)
{
    char first[SM_PLACE_LEN];
    sm_place_name(s->model.fabric, u->first_guid, u->first_port, first);
    if (u->why == FAB_UNAPPROVED_MOVED)
        snprintf(ret, len, "is approved at %s", first);
    else if (u->holder != 0)
        snprintf(ret, len, "is not approved; 0x%016" PRIx64 " is approved there", u->holder);
    else if (u->why == FAB_UNAPPROVED_PORT)
        snprintf(ret, len, "is approved, but not with this port");
    else
        snprintf(ret, len, "is not approved");
}

static const char *effect_text(uint8_t effect)
{
    static const char *const texts[] = {
        [SM_ADMITTED] = "it is used like an approved one",
        [SM_QUARANTINED] = "it is only in the quarantine partition",
        [SM_EXCLUDED] = "it gets no LID and no routes",
    };
    return texts[effect];
}

static void emit(struct sm *s, const struct sm_unapproved *unapproved)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_unapproved *u = &unapproved->what;
    const char *effect = effect_text(unapproved->effect);
    const struct fab_place *p = &u->place;
    char place[SM_PLACE_LEN], other[SM_PLACE_LEN] = "", name[FAB_NODE_DESC_LEN + 1] = "",
                              why[SM_PLACE_LEN + 80];
    uint32_t node = fab_fabric_node_by_guid(f, p->guid);
    sm_place_name(f, p->near_guid, p->near_port, place);
    if (node != FAB_NONE)
        log_clean(f->nodes[node].name, name, sizeof(name));
    describe(s, u, why, sizeof(why));
    if (u->why == FAB_UNAPPROVED_LINK)
        sm_place_name(f, p->guid, p->port, other);
    else if (u->first_guid != 0)
        sm_place_name(f, u->first_guid, u->first_port, other);
    if (u->why == FAB_UNAPPROVED_LINK)
        event_emit(s->in.bus, link_unapproved, .subject = place, .guid = p->guid,
                   .port = p->near_port, .name = name, .problem = why, .other_place = other,
                   .holder = u->holder, .effect = effect);
    else
        event_emit(s->in.bus, node_unapproved, .subject = place, .guid = p->guid,
                   .port = p->near_port, .name = name, .problem = why, .other_place = other,
                   .holder = u->holder, .effect = effect);
}

/* Decides whether the device at this switch port may be reported now. Returns false if an event
 * about this port was emitted within TELL_EVERY_US, or if there is no memory. Otherwise returns
 * true. Usually it also notes the time, and the caller emits an event. But if TELL_MOST events were
 * already emitted in this period, it counts the device in b->untold instead: the device is then
 * part of the summary event, and the caller emits none. */
static bool may_tell(struct sm_baseline *b, const struct fab_place *p)
{
    uint64_t now_us = clock_now_us(), key = fab_base_mix64(p->near_guid) + p->near_port;
    uint32_t last, now = (uint32_t)(now_us / 1000000);
    if (fab_base_map_get(&b->told, key, &last) && now - last < TELL_EVERY_US / 1000000)
        return false;
    if (b->window_us == 0 || now_us - b->window_us >= TELL_EVERY_US) {
        b->window_us = now_us;
        b->window_told = 0;
    }
    if (b->window_told >= TELL_MOST) {
        b->untold++;
        return true;
    }
    if (b->told.count >= TOLD_MOST)
        fab_base_map_fini(&b->told);
    b->window_told++;
    return fab_base_map_put(&b->told, key, now) == FAB_OK;
}

static void report(struct sm *s)
{
    struct sm_baseline *b = &s->apply->baseline;
    uint64_t now = clock_now_us();
    for (uint32_t i = 0; i < b->count; i++) {
        struct sm_unapproved *u = &b->list[i];
        uint32_t untold = b->untold;
        if (u->told || !may_tell(b, &u->what.place))
            continue;
        u->told = true;
        if (b->untold == untold)
            emit(s, u);
    }
    if (b->untold == 0 || (b->summary_us != 0 && now - b->summary_us < SUMMARY_EVERY_US))
        return;
    event_emit(s->in.bus, nodes_unapproved, .subject = "fabric", .nodes = b->untold);
    b->untold = 0;
    b->summary_us = now;
}

/* ---- the phase ------------------------------------------------------------------------------- */

void sm_baseline_job_free(struct sm_baseline_job *j)
{
    if (!j)
        return;
    fab_fabric_unref(j->fabric);
    fab_discover_baseline_unref(j->set);
    free(j->was);
    free(j->made);
    free(j->left_out);
    free(j);
}

static void drop(struct sm *s, void *ctx)
{
    (void)s;
    sm_baseline_job_free(ctx);
}

static void list_left_out(const struct sm *s, struct sm_baseline_job *j)
{
    for (uint32_t i = 0; i < s->model.unresponsive_count; i++)
        if (s->model.unresponsive[i].status == FAB_E_DENIED)
            j->left_out[j->left_out_count++] = s->model.unresponsive[i].unapproved;
}

int sm_baseline_job_new(const struct sm *s, struct fab_fabric *f, struct fab_baseline *set,
                        struct sm_baseline_job **ret)
{
    const struct sm_baseline *b = &s->apply->baseline;
    struct sm_baseline_job *j = calloc(1, sizeof(*j));
    if (!j)
        return FAB_E_NOMEM;
    j->was = calloc(b->count + 1u, sizeof(*j->was));
    j->left_out = calloc(s->model.unresponsive_count + 1u, sizeof(*j->left_out));
    if (!j->was || !j->left_out) {
        free(j->was);
        free(j->left_out);
        free(j);
        return FAB_E_NOMEM;
    }
    if (b->count > 0)
        memcpy(j->was, b->list, b->count * sizeof(*j->was));
    j->was_count = b->count;
    list_left_out(s, j);
    j->fabric = fab_fabric_ref(f);
    j->set = fab_discover_baseline_ref(set);
    j->mode = s->in.config->unapproved;
    j->unix_us = clock_unix_us();
    *ret = j;
    return FAB_OK;
}

/* Counts the quarantined ports. Returns true if the set of quarantined ports has changed since the
 * last call; new P_Key tables are then needed. */
static bool count_quarantined(struct sm_baseline *b)
{
    uint64_t was = b->quarantine, hash = 0;
    b->quarantined = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->list[i].effect != SM_QUARANTINED)
            continue;
        b->quarantined++;
        hash = fab_base_mix64(hash + 1) ^ fab_base_mix64(b->list[i].what.place.port_guid);
    }
    b->quarantine = b->quarantined > 0 && hash == 0 ? 1 : hash;
    return b->quarantine != was;
}

bool sm_baseline_take_list(struct sm *s, struct sm_baseline_job *j)
{
    struct sm_baseline *b = &s->apply->baseline;
    free(b->list);
    b->list = j ? j->made : NULL;
    b->count = j ? j->count : 0;
    b->version++;
    if (j)
        j->made = NULL;
    return count_quarantined(b);
}

/* Requests a round that computes new P_Key tables, unless no tables are active, or the running
 * round will compute all tables anyway. */
static void request_p_keys(struct sm *s)
{
    if (s->model.target && s->run.round->engine != SM_ENGINE_ANEW)
        sm_request(s, SM_REQUEST_REROUTE);
}

/* Resets the links of devices that the sweep left out. Such a link may still be Active from an
 * earlier time, so the device could send packets. After the reset, the manager leaves the link in
 * state Init. */
static void reset_links(struct sm *s)
{
    static const char note[] = ", as the device at it is not approved";
    const struct fab_fabric *f = s->model.fabric;
    for (uint32_t i = 0; i < s->apply->baseline.count; i++) {
        struct sm_unapproved *u = &s->apply->baseline.list[i];
        const struct fab_place *p = &u->what.place;
        uint32_t node = fab_fabric_node_by_guid(f, p->near_guid);
        if (u->effect != SM_EXCLUDED || u->reset || node == FAB_NONE ||
            p->near_port > f->nodes[node].num_ports)
            continue;
        const struct fab_port *port = fab_fabric_port(f, fab_fabric_port_id(f, node, p->near_port));
        if (!port->present || port->info.port_state <= FAB_STATE_INIT)
            continue;
        u->reset = sm_port_request_reset(s, p->near_guid, p->near_port, note) == FAB_OK;
    }
}

static int enter(struct sm *s)
{
    static const struct sm_phase_work part = {work, drop};
    struct sm_baseline_job *j;
    if (!s->apply->baseline.set) {
        if (sm_baseline_take_list(s, NULL))
            request_p_keys(s);
        return FAB_OK;
    }
    int r = sm_baseline_job_new(s, s->model.fabric, s->apply->baseline.set, &j);
    return r == FAB_OK ? sm_phase_task_begin(s, &part, j) : r;
}

static int leave(struct sm *s)
{
    struct sm_baseline_job *j = sm_phase_task_take(s);
    if (!j)
        return FAB_OK;
    int r = j->status;
    /* If an operator has changed the baseline since the task began, the result is dropped. In this
     * case baseline_edit.c has already compared the fabric with the new baseline. */
    if (r == FAB_OK && j->set == s->apply->baseline.set) {
        if (sm_baseline_take_list(s, j))
            request_p_keys(s);
        reset_links(s);
        report(s);
    }
    sm_baseline_job_free(j);
    return r;
}

const struct sm_phase sm_phase_baseline = {.name = "comparing with the baseline",
                                           .enter = enter,
                                           .finished = sm_phase_task_over,
                                           .leave = leave};

/* ---- for operators --------------------------------------------------------------------------- */

const struct fab_baseline *sm_baseline(const struct sm *s)
{
    return s->apply->baseline.set;
}

const struct sm_unapproved *sm_unapproved(const struct sm *s, uint32_t *ret_count)
{
    *ret_count = s->apply->baseline.count;
    return s->apply->baseline.list;
}

/* ---- sweeps, partitions and settings --------------------------------------------------------- */

struct fab_baseline *sm_baseline_barrier(const struct sm *s)
{
    return s->in.config->unapproved == CONFIG_EXCLUDE ? s->apply->baseline.set : NULL;
}

static int compare_guids(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

int sm_baseline_quarantined(const struct sm *s, uint64_t **ret, size_t *ret_count)
{
    const struct sm_baseline *b = &s->apply->baseline;
    size_t count = 0;
    uint64_t *guid = calloc(b->quarantined + 1u, sizeof(*guid));
    if (!guid)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->list[i].effect == SM_QUARANTINED)
            guid[count++] = b->list[i].what.place.port_guid;
    if (count > 1)
        qsort(guid, count, sizeof(*guid), compare_guids);
    *ret = guid;
    *ret_count = count;
    return FAB_OK;
}

void sm_baseline_reload(struct sm *s)
{
    struct sm_baseline *b = &s->apply->baseline;
    uint8_t mode = s->in.config->unapproved;
    bool excludes = mode == CONFIG_EXCLUDE || b->mode == CONFIG_EXCLUDE;
    if (b->set && mode != b->mode && excludes)
        sm_request_heavy(s);
    b->mode = mode;
}

/* ---- start and end --------------------------------------------------------------------------- */

int sm_baseline_load(struct sm *s)
{
    struct fab_baseline *set = NULL;
    int r = store_load_baseline(s->in.store, &set);
    if (r != FAB_OK)
        return r;
    fab_discover_baseline_unref(s->apply->baseline.set);
    s->apply->baseline.set = set;
    return FAB_OK;
}

int sm_baseline_init(struct sm *s)
{
    s->apply->baseline.mode = s->in.config->unapproved;
    int r = s->in.store ? store_load_baseline(s->in.store, &s->apply->baseline.set) : FAB_OK;
    return r == FAB_OK ? sm_baseline_edit_init(s) : r;
}

void sm_baseline_fini(struct sm *s)
{
    sm_baseline_take_list(s, NULL);
    fab_discover_baseline_unref(s->apply->baseline.set);
    fab_base_map_fini(&s->apply->baseline.told);
}
