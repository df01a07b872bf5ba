/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of links that flapped recently, are isolated, or belong to drains. This file also
 * creates and frees the state of the whole folder.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* Maximum number of links in the list. */
#define LINKS_MOST 8192

static bool ends_at(const struct sm_flap *e, uint64_t guid, uint8_t port)
{
    return (e->guid[0] == guid && e->port[0] == port) || (e->guid[1] == guid && e->port[1] == port);
}

struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port)
{
    for (uint32_t i = 0; i < s->links->count; i++)
        if (ends_at(&s->links->list[i], guid, port))
            return &s->links->list[i];
    return NULL;
}

struct sm_flap *sm_flap_at(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return sm_flap_find(s, f->nodes[fab_fabric_port(f, port)->node].guid,
                        fab_fabric_port(f, port)->num);
}

bool sm_flap_is_barred(const struct sm *s, const struct sm_flap *e)
{
    return e->isolated || (e->drain && !e->returning) ||
           (e->damping.held && e->isl && s->in.config->flapping.hold_down_s > 0);
}

static void drop_quiet(struct sm *s)
{
    struct fab_damping_rule rule = sm_flap_rule(s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        if (s->links->list[i].out || s->links->list[i].isolated || s->links->list[i].drain ||
            !fab_health_damping_is_clear(&s->links->list[i].damping, &rule, clock_now_us()))
            s->links->list[kept++] = s->links->list[i];
    s->links->count = kept;
}

/* Adds an entry to the list of links; the caller must set all its members. NULL: the list is full,
 * or memory ran out. */
struct sm_flap *sm_flap_room(struct sm *s)
{
    if (s->links->count == s->links->room)
        drop_quiet(s);
    if (s->links->count < s->links->room)
        return &s->links->list[s->links->count++];
    uint32_t more = s->links->room ? s->links->room * 2 : 16;
    struct sm_flap *list =
        more <= LINKS_MOST ? reallocarray(s->links->list, more, sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    s->links->list = list;
    s->links->room = more;
    return &list[s->links->count++];
}

struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c)
{
    const uint32_t end[2] = {c->port, c->peer};
    struct sm_flap *e = sm_flap_room(s);
    if (!e)
        return NULL;
    *e = (struct sm_flap){.isl = true};
    for (int i = 0; i < 2; i++) {
        const struct fab_port *p = fab_fabric_port(f, end[i]);
        e->guid[i] = f->nodes[p->node].guid;
        e->port[i] = p->num;
        e->isl &= fab_fabric_node_is_switch(f, p->node);
        sm_port_name(f, end[i], e->place[i]);
    }
    return e;
}

/* ---- init and fini --------------------------------------------------------------------------- */

int sm_links_load(struct sm *s)
{
    struct sm_links *l = s->links;
    struct store_port *disabled = NULL;
    size_t count = 0;
    uint32_t kept = 0;
    int r = store_load_disabled(s->in.store, &disabled, &count);
    if (r != FAB_OK)
        return r;
    free(l->disabled);
    l->disabled = disabled;
    l->disabled_count = count;
    sm_drains_forget(s);
    for (uint32_t i = 0; i < l->count; i++)
        if (!l->list[i].isolated)
            l->list[kept++] = l->list[i];
    l->count = kept;
    r = sm_isolate_load(s);
    return r == FAB_OK ? sm_drains_load(s) : r;
}

int sm_links_init(struct sm *s)
{
    s->links = calloc(1, sizeof(*s->links));
    if (!s->links)
        return FAB_E_NOMEM;
    s->links->timer = loop_timer_new(s->in.loop, sm_flap_due, s);
    int r = s->links->timer ? sm_silent_init(s) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = sm_silent_checks_init(s);
    if (r == FAB_OK)
        r = sm_silent_poll_init(s);
    if (r == FAB_OK)
        r = sm_drains_init(s);
    return r == FAB_OK && s->in.store ? sm_links_load(s) : r;
}

void sm_links_fini(struct sm *s)
{
    struct sm_links *l = s->links;
    if (!l)
        return;
    loop_timer_free(l->timer);
    sm_silent_checks_fini(s);
    loop_timer_free(l->silent_poll);
    sm_drains_fini(s);
    sm_silent_fini(s);
    free(l->silent);
    for (struct sm_port_op *op = l->waiting, *next; op; op = next) {
        next = op->next;
        free(op);
    }
    free(l->op);
    free(l->disabled);
    loop_tasks_orphan(&l->noting);
    fab_health_known_unref(l->known);
    free(l->list);
    free(l);
    s->links = NULL;
}
