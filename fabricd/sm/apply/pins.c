/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "pinning names" binds the names by which a policy selects hosts to the node GUIDs of these
 * hosts (libfabmgr/policy/pins.h). The phase runs before routes and partitions are computed. A
 * worker thread compares the descriptions of all nodes with the policy.
 *
 * Pins are kept in the store, so that they survive a restart. The list of nodes that wait for an
 * approval is not stored, because the manager computes it from the pins and the fabric.
 *
 * The manager emits at most one event about a node in 10 minutes. If the name of the node changes
 * again in this time, the event about the last name follows in the first round after the 10
 * minutes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/target/selector.h"

#define TELL_EVERY_US UINT64_C(600000000)

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct job {
    struct fab_fabric *fabric;
    struct fab_policy policy;
    struct fab_pins *was, *made;
    /* when the manager first found each host; moved from struct sm_pins to here while the task
     * runs */
    struct fab_pins_arrivals arrivals;
    struct fab_pins_input in;
    int status;
};

static void set_pins(struct sm *s, struct fab_pins *pins)
{
    fab_policy_pins_unref(s->apply->pins.set);
    s->apply->pins.set = pins;
    sm_pins_attach(s);
}

void sm_pins_attach(struct sm *s)
{
    fab_policy_pins_unref(s->policy.pins);
    s->policy.pins =
        s->policy.pin_names != FAB_PIN_OFF ? fab_policy_pins_ref(s->apply->pins.set) : NULL;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Writes to `place` the name of the switch port at the other end of the host's first link.
 * *ret_port: the number of this switch port; 0: the host has no link. */
static void find_place(const struct fab_fabric *f, uint32_t node, char place[SM_PLACE_LEN],
                       uint8_t *ret_port)
{
    const struct fab_node *n = &f->nodes[node];
    snprintf(place, SM_PLACE_LEN, "an unknown port");
    *ret_port = 0;
    for (uint32_t num = 1; num <= n->num_ports; num++) {
        uint32_t peer = fab_fabric_port(f, n->first_port + num)->peer;
        if (peer == FAB_NONE)
            continue;
        sm_port_name(f, peer, place);
        *ret_port = fab_fabric_port(f, peer)->num;
        return;
    }
}

/* Returns the name that the node had before its present one: the pinned name, or, without a pin,
 * the name in the published view. "": neither is known. */
static const char *former_name(const struct sm *s, const struct fab_pin_waiting *w)
{
    const struct fab_pin *pin = fab_policy_pins_find(s->apply->pins.set, w->guid);
    const struct fab_fabric *old = s->model.view ? s->model.view->fabric : NULL;
    uint32_t node = old ? fab_fabric_node_by_guid(old, w->guid) : FAB_NONE;
    return pin != NULL ? pin->name : node != FAB_NONE ? old->nodes[node].desc : "";
}

static void emit(struct sm *s, const struct fab_pin_waiting *w, uint32_t node)
{
    char place[SM_PLACE_LEN], name[FAB_PIN_NAME_LEN], was[FAB_PIN_NAME_LEN];
    uint8_t port;
    find_place(s->model.fabric, node, place, &port);
    log_clean(w->name, name, sizeof(name));
    log_clean(former_name(s, w), was, sizeof(was));
    if (w->reason == FAB_PIN_HELD)
        event_emit(s->in.bus, node_name_held, .subject = place, .guid = w->guid, .port = port,
                   .name = name, .was = was, .holder = w->holder);
    else if (w->reason == FAB_PIN_CHANGED)
        event_emit(s->in.bus, node_name_changed, .subject = place, .guid = w->guid, .port = port,
                   .name = name, .was = was, .holder = w->guid);
    else
        event_emit(s->in.bus, node_name_new, .subject = place, .guid = w->guid, .port = port,
                   .name = name, .was = was, .holder = 0);
}

/* Returns true if an event about this node may be emitted now (at most one in 10 minutes). If so,
 * notes the time as that of the last event. */
static bool may_tell(struct sm_pins *p, uint64_t guid)
{
    uint32_t last, now = (uint32_t)(clock_now_us() / 1000000);
    if (fab_base_map_get(&p->told, guid, &last) && now - last < TELL_EVERY_US / 1000000)
        return false;
    if (p->told.count >= FAB_PINS_MAX)
        fab_base_map_fini(&p->told);
    return fab_base_map_put(&p->told, guid, now) == FAB_OK;
}

static void report(struct sm *s)
{
    struct sm_pins *p = &s->apply->pins;
    uint32_t told = 0, rest = 0;
    for (size_t i = 0; i < p->set->waiting_count; i++) {
        struct fab_pin_waiting *w = &p->set->waiting[i];
        uint32_t node = fab_fabric_node_by_guid(s->model.fabric, w->guid);
        if (w->told || node == FAB_NONE || !may_tell(p, w->guid))
            continue;
        w->told = true;
        if (told++ < SM_EVENTS_A_ROUND)
            emit(s, w, node);
        else
            rest++;
    }
    if (rest > 0)
        event_emit(s->in.bus, node_names_waiting, .subject = "fabric", .nodes = rest);
}

/* ---- the phase ------------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
    fab_fabric_unref(j->fabric);
    fab_policy_fini(&j->policy);
    fab_policy_pins_unref(j->was);
    fab_policy_pins_unref(j->made);
    fab_target_pins_arrivals_fini(&j->arrivals);
    free(j);
}

static void give_back(struct sm *s, struct job *j)
{
    s->apply->pins.arrivals = j->arrivals;
    j->arrivals = (struct fab_pins_arrivals){.began = false};
}

static void drop(struct sm *s, void *ctx)
{
    struct job *j = ctx;
    if (s)
        give_back(s, j);
    job_free(j);
}

static void work(void *ctx)
{
    struct job *j = ctx;
    j->status = fab_target_pins_update(&j->in, &j->made);
}

static int begin(struct sm *s)
{
    static const struct sm_phase_work part = {work, drop};
    struct sm_pins *p = &s->apply->pins;
    struct job *j = calloc(1, sizeof(*j));
    int r = j ? fab_policy_copy(&s->policy, &j->policy) : FAB_E_NOMEM;
    if (r != FAB_OK) {
        free(j);
        return r;
    }
    j->fabric = fab_fabric_ref(s->model.fabric);
    j->was = fab_policy_pins_ref(p->set);
    j->arrivals = p->arrivals;
    p->arrivals = (struct fab_pins_arrivals){.began = false};
    j->in = (struct fab_pins_input){.fabric = j->fabric,
                                    .policy = &j->policy,
                                    .was = j->was,
                                    .arrivals = &j->arrivals,
                                    .now_us = clock_now_us() + 1,
                                    .unix_us = clock_unix_us()};
    return sm_phase_task_begin(s, &part, j);
}

static int enter(struct sm *s)
{
    bool wanted = s->policy.pin_names != FAB_PIN_OFF &&
                  (fab_target_pins_wanted(&s->policy) || s->apply->pins.set->waiting_count > 0);
    return wanted ? begin(s) : FAB_OK;
}

static void store_new(struct sm *s, const struct fab_pins *was, const struct fab_pins *now)
{
    for (size_t i = 0; s->in.store && i < now->count; i++)
        if (fab_policy_pins_find(was, now->pin[i].guid) == NULL)
            store_put_pin(s->in.store, &now->pin[i], true);
}

static int leave(struct sm *s)
{
    struct job *j = sm_phase_task_take(s);
    struct sm_pins *p = &s->apply->pins;
    if (!j)
        return FAB_OK;
    int r = j->status;
    if (r == FAB_OK && j->was != p->set) {
        /* An operator changed the pins while the task ran, so the result is dropped, and the loop
         * thread computes it again from the changed pins. */
        fab_policy_pins_unref(j->made);
        j->made = NULL;
        j->in.was = p->set;
        r = fab_target_pins_update(&j->in, &j->made);
    }
    give_back(s, j);
    if (r == FAB_OK && !fab_target_pins_same(p->set, j->made)) {
        store_new(s, p->set, j->made);
        set_pins(s, j->made);
        j->made = NULL;
    }
    job_free(j);
    if (r == FAB_OK)
        report(s);
    return r;
}

const struct sm_phase sm_phase_pins = {
    .name = "pinning names", .enter = enter, .finished = sm_phase_task_over, .leave = leave};

/* ---- operators ------------------------------------------------------------------------------- */

const struct fab_pins *sm_pins(const struct sm *s)
{
    return s->apply->pins.set;
}

bool sm_pins_are_on(const struct sm *s)
{
    return s->policy.pin_names != FAB_PIN_OFF;
}

/* Returns whether pins can be changed now; each change is followed by a reroute (apply_pins). */
static int check_ready(const struct sm *s)
{
    if (!sm_is_master(s) || sm_wait_check(s, SM_ROUND_REROUTE) != FAB_OK)
        return FAB_E_DENIED;
    return s->model.fabric && s->policy.pin_names != FAB_PIN_OFF ? FAB_OK : FAB_E_BUSY;
}

/* Requests a reroute. It computes partitions and traffic classes again, because they depend on the
 * pinned names. */
static int apply_pins(struct sm *s, sm_done *done, void *ctx)
{
    int r = sm_wait(s, SM_ROUND_REROUTE, done, ctx);
    if (r != FAB_OK)
        return r;
    sm_request(s, SM_REQUEST_REROUTE);
    sm_schedule(s);
    return FAB_OK;
}

static int approve(struct sm *s, uint64_t guid, const char *name, const char *by)
{
    struct fab_pin pin = {.guid = guid, .since_us = clock_unix_us()};
    struct fab_pins *now;
    snprintf(pin.name, sizeof(pin.name), "%s", name);
    snprintf(pin.by, sizeof(pin.by), "%s", by);
    int r = fab_policy_pins_with(s->apply->pins.set, &pin, &now);
    if (r != FAB_OK)
        return r;
    if (s->in.store)
        store_put_pin(s->in.store, &pin, true);
    set_pins(s, now);
    char clean[FAB_PIN_NAME_LEN];
    log_clean(name, clean, sizeof(clean));
    event_emit(s->in.bus, node_name_approved, .subject = clean, .guid = guid, .by = pin.by);
    return FAB_OK;
}

int sm_pin_approve(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx)
{
    const struct fab_pins *set = s->apply->pins.set;
    int r = check_ready(s);
    if (r != FAB_OK)
        return r;
    uint32_t node = fab_fabric_node_by_guid(s->model.fabric, guid);
    const struct fab_pin *pin = fab_policy_pins_find(set, guid);
    if (node == FAB_NONE)
        return FAB_E_NOT_FOUND;
    const char *name = s->model.fabric->nodes[node].desc;
    bool other = pin != NULL && strcmp(pin->name, name) != 0;
    if (fab_policy_pins_waiting(set, guid) == NULL && !other)
        return FAB_E_EXISTS;
    r = approve(s, guid, name, by);
    return r == FAB_OK ? apply_pins(s, done, ctx) : r;
}

int sm_pin_approve_all(struct sm *s, const char *by, uint32_t *ret_count, sm_done *done, void *ctx)
{
    const struct fab_pins *first = s->apply->pins.set;
    int r = check_ready(s);
    *ret_count = 0;
    if (r != FAB_OK)
        return r;
    if (first->waiting_count == 0)
        return FAB_E_EXISTS;
    struct fab_pins *was = fab_policy_pins_ref(s->apply->pins.set);
    for (size_t i = 0; r == FAB_OK && i < was->waiting_count; i++) {
        r = approve(s, was->waiting[i].guid, was->waiting[i].name, by);
        *ret_count += r == FAB_OK;
    }
    fab_policy_pins_unref(was);
    return r == FAB_OK ? apply_pins(s, done, ctx) : r;
}

int sm_pin_forget(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx)
{
    const struct fab_pin gone = {.guid = guid};
    struct fab_pins *now;
    char name[FAB_PIN_NAME_LEN];
    int r = check_ready(s);
    if (r != FAB_OK)
        return r;
    const struct fab_pin *pin = fab_policy_pins_find(s->apply->pins.set, guid);
    log_clean(pin ? pin->name : "", name, sizeof(name));
    r = fab_policy_pins_without(s->apply->pins.set, guid, &now);
    if (r != FAB_OK)
        return r;
    if (s->in.store)
        store_put_pin(s->in.store, &gone, false);
    set_pins(s, now);
    event_emit(s->in.bus, node_name_forgotten, .subject = name, .guid = guid, .by = by);
    return apply_pins(s, done, ctx);
}

/* ---- start and end --------------------------------------------------------------------------- */

int sm_pins_load(struct sm *s)
{
    struct fab_pin *rows = NULL;
    struct fab_pins *pins = NULL;
    size_t count = 0;
    int r = s->in.store ? store_load_pins(s->in.store, &rows, &count) : FAB_OK;
    if (r == FAB_OK)
        r = fab_policy_pins_new(rows, count, NULL, 0, s->policy.pin_names == FAB_PIN_APPROVED,
                                &pins);
    free(rows);
    if (r == FAB_OK)
        set_pins(s, pins);
    return r;
}

int sm_pins_init(struct sm *s)
{
    return sm_pins_load(s);
}

void sm_pins_fini(struct sm *s)
{
    fab_policy_pins_unref(s->apply->pins.set);
    fab_target_pins_arrivals_fini(&s->apply->pins.arrivals);
    fab_base_map_fini(&s->apply->pins.told);
}
