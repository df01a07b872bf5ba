/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drains: links, switches and hosts that an operator takes out of service for maintenance. A drain
 * lasts, even over restarts, until an operator ends it or its time is over.
 *
 * The links of a drain (libfabmgr/health/drain.h) are entries of the list in list.c, and routes
 * begin to avoid them in the same way as isolated links: the links stay up while the tables change,
 * so that packets that follow old entries still arrive. A drain of a host has no links; it only
 * watches counters.
 *
 * At first a drain is in the state MOVING: entries that the switches hold still lead over its
 * links. Then it is in the state DRAINING, until fabricd/pm has found that the counters of its
 * ports show no more traffic.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/drain.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain.h"

/* maximum number of drains at a time */
#define DRAINS_MOST 256

const char *const sm_drain_kind_name[SM_DRAIN_KINDS] = {"link", "switch", "rack", "pod", "host"};

static const struct fab_fabric *known(const struct sm *s)
{
    return s->model.fabric ? s->model.fabric : s->model.view->fabric;
}

struct sm_drain *sm_drain_find(const struct sm *s, uint32_t id)
{
    for (uint32_t i = 0; i < s->links->drains.count; i++)
        if (s->links->drains.list[i].info.id == id)
            return &s->links->drains.list[i];
    return NULL;
}

const char *sm_drain_subject(const struct sm_drain *d, char *text, size_t len)
{
    snprintf(text, len, "%s %s", sm_drain_kind_name[d->info.kind], d->info.name);
    return text;
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool is_same(const struct sm_drain *d, const struct sm_drain_request *q)
{
    return d->info.state != SM_DRAIN_ENDING && d->info.kind == q->kind &&
           strcmp(d->info.name, q->name) == 0;
}

/* Returns the drain to which this switch or adapter belongs; NULL: there is none, or it has
 * ended. */
static struct sm_drain *drain_of_node(const struct sm *s, uint64_t guid)
{
    for (uint32_t i = 0; i < s->links->drains.count; i++) {
        struct sm_drain *d = &s->links->drains.list[i];
        for (uint32_t n = 0; d->info.state != SM_DRAIN_ENDING && n < d->nodes; n++)
            if (d->node[n] == guid)
                return d;
    }
    return NULL;
}

static int check_new(const struct sm *s, const struct sm_drain_request *q, char *why,
                     size_t why_len)
{
    char subject[SM_DRAIN_NAME_LEN + 8];
    if (q->until_us != 0 && q->until_us <= clock_unix_us()) {
        snprintf(why, why_len, "the time at which the drain would end has passed");
        return FAB_E_INVAL;
    }
    for (uint32_t i = 0; i < s->links->drains.count; i++)
        if (is_same(&s->links->drains.list[i], q)) {
            snprintf(why, why_len, "it is drained already ('fabricctl drain list')");
            return FAB_E_EXISTS;
        }
    for (uint32_t i = 0; i < q->nodes; i++) {
        const struct sm_drain *d = drain_of_node(s, q->node[i]);
        if (d) {
            snprintf(why, why_len, "it overlaps the drain of %s; end that drain first",
                     sm_drain_subject(d, subject, sizeof(subject)));
            return FAB_E_EXISTS;
        }
    }
    if (s->links->drains.count >= DRAINS_MOST) {
        snprintf(why, why_len, "there are %u drains already; end some of them", DRAINS_MOST);
        return FAB_E_LIMIT;
    }
    return FAB_OK;
}

int sm_drain_add_links(struct sm *s, const struct sm_drain *d, const uint32_t *out, uint32_t count,
                       uint32_t *ret_added)
{
    const struct fab_fabric *f = known(s);
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_port *p = fab_fabric_port(f, out[i]);
        struct sm_flap *e = sm_flap_find(s, f->nodes[p->node].guid, p->num);
        if (e && e->drain && !e->returning)
            continue;
        if (!e)
            e = sm_flap_add(s, f, &(struct sm_link){.port = out[i], .peer = p->peer});
        if (!e)
            return FAB_E_LIMIT;
        e->drain = d->info.id;
        e->reinstated = false;
        e->returning = false;
        *ret_added += 1;
    }
    return FAB_OK;
}

void sm_drain_leave_links(struct sm *s, const struct sm_drain *d)
{
    for (uint32_t i = 0; i < s->links->count; i++)
        if (sm_drain_has(&s->links->list[i], d) && !s->links->list[i].returning)
            sm_flap_leave(s, &s->links->list[i], "drain");
}

static void emit_started(struct sm *s, const struct sm_drain *d)
{
    char subject[SM_DRAIN_NAME_LEN + 8], until[80] = "";
    time_t end = (time_t)(d->info.until_us / 1000000);
    struct tm tm;
    if (d->info.until_us != 0 && gmtime_r(&end, &tm))
        strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", &tm);
    event_emit(s->in.bus, drain_started, .subject = sm_drain_subject(d, subject, sizeof(subject)),
               .by = d->info.by, .reason = d->info.reason, .until = until, .links = d->info.links,
               .hosts = d->info.hosts);
}

struct sm_drain *sm_drain_add(struct sm *s, const struct sm_drain_info *info, const uint64_t *node,
                              uint32_t nodes)
{
    struct sm_drains *all = &s->links->drains;
    struct sm_drain *list = reallocarray(all->list, all->count + 1u, sizeof(*list));
    uint64_t *copy = calloc(nodes + 1u, sizeof(*copy));
    if (list)
        all->list = list;
    if (!list || !copy) {
        free(copy);
        return NULL;
    }
    if (nodes > 0)
        memcpy(copy, node, nodes * sizeof(*copy));
    if (info->id > all->last)
        all->last = info->id;
    list[all->count] = (struct sm_drain){.info = *info, .node = copy, .nodes = nodes};
    return &list[all->count++];
}

void sm_drain_drop(struct sm *s, struct sm_drain *d)
{
    struct sm_drains *all = &s->links->drains;
    for (uint32_t i = 0; i < s->links->count; i++)
        if (sm_drain_has(&s->links->list[i], d))
            s->links->list[i].drain = 0;
    free(d->node);
    *d = all->list[--all->count];
}

static struct sm_drain_info info_of(const struct sm *s, const struct sm_drain_request *q,
                                    const struct fab_drain *of)
{
    struct sm_drain_info i = {.id = s->links->drains.last + 1,
                              .kind = q->kind,
                              .state = SM_DRAIN_MOVING,
                              .force = q->force,
                              .since_us = clock_unix_us(),
                              .until_us = q->until_us,
                              .links = of->out_count,
                              .used = of->out_count,
                              .hosts = of->hosts};
    snprintf(i.name, sizeof(i.name), "%s", q->name);
    snprintf(i.by, sizeof(i.by), "%s", q->by);
    snprintf(i.reason, sizeof(i.reason), "%s", q->reason);
    return i;
}

static int begin(struct sm *s, const struct sm_drain_request *q, const struct fab_drain *of,
                 uint32_t *ret_id)
{
    const struct sm_drain_info info = info_of(s, q, of);
    if (s->links->drains.count == 0)
        s->links->drains.before = sm_drain_digest(s);
    struct sm_drain *d = sm_drain_add(s, &info, q->node, q->nodes);
    if (!d)
        return FAB_E_NOMEM;
    uint32_t added = 0;
    int r = sm_drain_add_links(s, d, of->out, of->out_count, &added);
    if (r != FAB_OK) {
        sm_drain_drop(s, d);
        return r;
    }
    *ret_id = info.id;
    sm_drain_keep(s, d);
    emit_started(s, d);
    sm_drain_leave_links(s, d);
    sm_drain_arm(s);
    sm_drain_settle(s);
    sm_schedule(s);
    return FAB_OK;
}

int sm_drain_start(struct sm *s, const struct sm_drain_request *q, uint32_t *ret_id, char *why,
                   size_t why_len)
{
    struct fab_drain found = {0};
    char subject[SM_DRAIN_NAME_LEN + 8];
    snprintf(why, why_len, "%s", "");
    if (!sm_is_master(s))
        return FAB_E_DENIED;
    if (!s->model.view || !s->model.fabric)
        return FAB_E_BUSY;
    int r = check_new(s, q, why, why_len);
    if (r == FAB_OK)
        r = sm_drain_preview(s->model.view, s->model.fabric, q, &found, why, why_len);
    if (r == FAB_OK)
        r = sm_drain_refusal(s->model.fabric, &found, why, why_len);
    if (r == FAB_OK)
        r = begin(s, q, &found, ret_id);
    if (r == FAB_E_LIMIT && why[0] == '\0')
        snprintf(why, why_len, "the manager cannot exclude so many links; drain fewer switches");
    fab_health_drain_fini(&found);
    if (r != FAB_OK && why[0] != '\0') {
        snprintf(subject, sizeof(subject), "%s %s", sm_drain_kind_name[q->kind], q->name);
        event_emit(s->in.bus, drain_refused, .subject = subject, .by = q->by, .reason = why);
    }
    return r;
}

/* ---- end ------------------------------------------------------------------------------------- */

/* If the link `e` of the ended drain `from` ends at a switch of another drain, moves the link to
 * that drain, but only if no hosts are connected to the switches of that drain. Returns whether the
 * link was moved. */
static bool hand_over(struct sm *s, struct sm_flap *e, const struct sm_drain *from)
{
    for (int i = 0; i < 2; i++) {
        const struct sm_drain *d = drain_of_node(s, e->guid[i]);
        if (!d || d == from || d->info.kind == SM_DRAIN_HOST || d->info.hosts > 0)
            continue;
        e->drain = d->info.id;
        return true;
    }
    return false;
}

static void release_links(struct sm *s, const struct sm_drain *d)
{
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        if (!sm_drain_has(e, d) || hand_over(s, e, d))
            continue;
        e->returning = true;
        if (sm_flap_is_barred(s, e))
            continue;
        sm_cause_set(s, "end of the drain of %.64s", d->info.name);
        sm_request_target(s, e->guid[0]);
        sm_request_target(s, e->guid[1]);
        e->out = false;
    }
}

static void end(struct sm *s, struct sm_drain *d, const char *note)
{
    char subject[SM_DRAIN_NAME_LEN + 8];
    sm_drain_unkeep(s, d);
    d->info.state = SM_DRAIN_ENDING;
    d->ended_us = clock_now_us();
    release_links(s, d);
    for (uint32_t i = 0; i < s->links->drains.count; i++)
        if (s->links->drains.list[i].info.state != SM_DRAIN_ENDING)
            sm_drain_keep(s, &s->links->drains.list[i]);
    event_emit(s->in.bus, drain_ended, .subject = sm_drain_subject(d, subject, sizeof(subject)),
               .note = note, .links = d->info.links);
    sm_drain_arm(s);
    sm_drain_settle(s);
    sm_schedule(s);
}

int sm_drain_end(struct sm *s, uint32_t id, const char *by)
{
    char note[160];
    struct sm_drain *d = sm_drain_find(s, id);
    if (!sm_is_master(s))
        return FAB_E_DENIED;
    if (!d || d->info.state == SM_DRAIN_ENDING)
        return FAB_E_NOT_FOUND;
    snprintf(note, sizeof(note), " by request of %s", by);
    end(s, d, note);
    return FAB_OK;
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    const int64_t now = clock_unix_us();
    for (uint32_t i = 0; sm_is_master(s) && i < s->links->drains.count; i++) {
        struct sm_drain *d = &s->links->drains.list[i];
        if (d->info.state == SM_DRAIN_ENDING || d->info.until_us == 0 || d->info.until_us > now)
            continue;
        end(s, d, " because its time was over");
        /* end() may have moved elements of the list, so the loop begins again from the start */
        i = UINT32_MAX;
    }
    sm_drain_arm(s);
}

void sm_drain_arm(struct sm *s)
{
    const int64_t now = clock_unix_us();
    /* the end of a drain is a Unix time; somebody may set the system clock, so the clock is read at
     * least once a minute */
    int64_t wait = INT64_C(60000000);
    bool any = false;
    for (uint32_t i = 0; i < s->links->drains.count; i++) {
        const struct sm_drain *d = &s->links->drains.list[i];
        if (d->info.state == SM_DRAIN_ENDING || d->info.until_us == 0)
            continue;
        any = true;
        if (d->info.until_us - now < wait)
            wait = d->info.until_us > now ? d->info.until_us - now : 1000000;
    }
    if (any)
        loop_timer_set(s->links->drains.timer, (uint64_t)wait);
    else
        loop_timer_cancel(s->links->drains.timer);
}

void sm_drain_moved(struct sm *s, struct sm_flap *e)
{
    struct sm_drain *d = sm_drain_find(s, e->drain);
    if (!e->drain)
        return;
    e->drain = 0;
    e->returning = false;
    e->out = e->out && e->isolated;
    if (d && d->info.state != SM_DRAIN_ENDING)
        sm_drain_keep(s, d);
}

/* ---- list, init and fini --------------------------------------------------------------------- */

bool sm_drain_excludes(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    const struct sm_flap *e = sm_flap_find(s, node_guid, port);
    return e && e->drain && e->out;
}

uint32_t sm_drain_list(const struct sm *s, struct sm_drain_info *ret, uint32_t max)
{
    for (uint32_t i = 0; i < s->links->drains.count && i < max; i++)
        ret[i] = s->links->drains.list[i].info;
    return s->links->drains.count;
}

int sm_drains_init(struct sm *s)
{
    s->links->drains.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->links->drains.timer ? FAB_OK : FAB_E_NOMEM;
}

int sm_drains_load(struct sm *s)
{
    int r = sm_drain_load(s);
    if (r == FAB_OK)
        sm_drain_arm(s);
    return r;
}

void sm_drains_forget(struct sm *s)
{
    struct sm_drains *all = &s->links->drains;
    for (uint32_t i = 0; i < s->links->count; i++) {
        s->links->list[i].drain = 0;
        s->links->list[i].returning = false;
    }
    for (uint32_t i = 0; i < all->count; i++)
        free(all->list[i].node);
    free(all->list);
    all->list = NULL;
    all->count = 0;
    all->before = 0;
    loop_timer_cancel(all->timer);
}

void sm_drains_fini(struct sm *s)
{
    if (s->links->drains.timer)
        sm_drains_forget(s);
    loop_timer_free(s->links->drains.timer);
}
