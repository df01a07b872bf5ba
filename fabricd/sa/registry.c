/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and stops the registry (services and subscriptions of hosts), and delays answers until the
 * registration is stored.
 *
 * The manager loads the registry from the store at start, and keeps it while another manager is
 * master. An answer to a registration is sent only when the registration is committed to the
 * database, so that a crash loses no confirmed registration; without a store, it is sent at once.
 * Until the commit, usually for some tenths of a millisecond, the answer waits in a queue. While
 * the database cannot be written, hosts get the answer BUSY, and ask again.
 */
#include "fabricd/sa/registry.h"

#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

/* interval in us at which the registry checks whether the database has committed the registrations
 * for which answers wait */
#define LOOK_US 200
#define ABSENT_FIRST_US 60000000

/* ---- answers that wait for the database ------------------------------------------------------ */

/* Answers BUSY, because the registration could not be stored; the host must repeat its request. The
 * registration is already in force, and its record waits in the queue of the store until the
 * database can be written again. If the store has dropped the record because it violates the
 * schema, the repeated request stores it again (store_has_lost). */
static void refuse_unstored(struct sa *s, const struct transport_mad *request)
{
    s->stats.answered--; /* sa_refuse counts this answer, which was already counted */
    sa_refuse(s, request, FAB_SMP_BUSY);
}

static void send_held(void *ctx)
{
    struct sa *s = ctx;
    struct sa_registry *r = s->registry;
    while (r->held_count > 0) {
        const struct sa_held *h = &r->held[r->held_first];
        enum store_written state = store_written(s->in.store, h->mark);
        if (state == STORE_PENDING)
            break;
        if (state == STORE_WRITTEN)
            sa_send(s, &h->to, h->answer);
        else
            refuse_unstored(s, &h->to);
        r->held_first = (r->held_first + 1) % SA_HELD;
        r->held_count--;
    }
    if (r->held_count > 0)
        loop_timer_set(r->kept, LOOK_US);
}

/* Returns true if so many answers to this LID are waiting that other hosts might find no room in
 * the queue. */
static bool holds_too_many(const struct sa_registry *r, uint16_t lid)
{
    uint32_t own = 0;
    for (uint32_t i = 0; r->held_count > SA_HELD / 2 && i < r->held_count; i++)
        own += r->held[(r->held_first + i) % SA_HELD].to.addr.slid == lid;
    return own > SA_HELD / 8;
}

int sa_keep_ready(struct sa *s, const struct transport_mad *mad)
{
    const struct sa_registry *r = s->registry;
    bool full = r->held_count == SA_HELD || holds_too_many(r, mad->addr.slid);
    bool unstored =
        s->in.store != NULL && (store_is_behind(s->in.store) || store_is_failing(s->in.store));
    return full || unstored ? FAB_E_BUSY : FAB_OK;
}

void sa_keep_answer(struct sa *s, const struct transport_mad *mad,
                    const uint8_t answer[FAB_MAD_SIZE])
{
    struct sa_registry *r = s->registry;
    if (s->in.store == NULL) {
        sa_send(s, mad, answer);
        return;
    }
    struct sa_held *h = &r->held[(r->held_first + r->held_count++) % SA_HELD];
    h->to = *mad;
    h->mark = store_mark(s->in.store);
    memcpy(h->answer, answer, FAB_MAD_SIZE);
    if (!loop_timer_pending(r->kept))
        loop_timer_set(r->kept, LOOK_US);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static int make_timers(struct sa *s)
{
    struct sa_registry *r = s->registry;
    const struct {
        struct loop_timer **timer;
        loop_fn *fn;
    } timers[] = {
        {&r->leases, sa_services_expire}, {&r->reports, sa_report_work},
        {&r->patience, sa_report_tick},   {&r->arrivals, sa_arrivals_work},
        {&r->absent, sa_arrivals_absent}, {&r->kept, send_held},
    };
    for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++) {
        *timers[i].timer = loop_timer_new(s->in.loop, timers[i].fn, s);
        if (*timers[i].timer == NULL)
            return FAB_E_NOMEM;
    }
    return FAB_OK;
}

static int load(struct sa *s)
{
    struct sa_registry *r = s->registry;
    if (s->in.store == NULL)
        return FAB_OK;
    int status = sa_services_load(s);
    if (status == FAB_OK)
        status = sa_subscriptions_load(s);
    if (status == FAB_OK && r->services.count + r->subscriptions->count > 0)
        log_notice("sa", "loaded %zu service%s and %u subscription%s from the database",
                   r->services.count, fab_base_plural_s(r->services.count), r->subscriptions->count,
                   fab_base_plural_s(r->subscriptions->count));
    return status;
}

static void configure(struct sa *s)
{
    bool simulated = s->in.transport->rmpp == TRANSPORT_RMPP_NONE;
    const struct fab_reports_config config = {.window = simulated ? 16 : 64,
                                              .tries = 4,
                                              .slow_us = 50000,
                                              .wait_least_us = 200000,
                                              .wait_most_us = 5000000};
    fab_registry_reports_configure(s->registry->subscriptions, &config);
}

int sa_registry_start(struct sa *s)
{
    struct sa_registry *r = s->registry = calloc(1, sizeof(*r));
    if (r == NULL)
        return FAB_E_NOMEM;
    r->held = calloc(SA_HELD, sizeof(*r->held));
    int status = r->held ? fab_registry_subscriptions_new(&r->subscriptions) : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = make_timers(s);
    if (status == FAB_OK)
        status = load(s);
    if (status != FAB_OK)
        return status;
    configure(s);
    sa_services_arm(s);
    loop_timer_set(r->absent, ABSENT_FIRST_US);
    sm_on_publish(s->in.sm, sa_arrivals_published, s);
    sm_on_notice(s->in.sm, sa_arrivals_wanted, sa_arrivals_notice, s);
    sm_on_mgroup(s->in.sm, sa_arrivals_group, s);
    return FAB_OK;
}

int sa_registry_load(struct sa *s)
{
    struct sa_registry *r = s->registry;
    struct fab_subscriptions *subscriptions = NULL;
    int status = fab_registry_subscriptions_new(&subscriptions);
    if (status != FAB_OK)
        return status;
    fab_registry_subscriptions_free(r->subscriptions);
    fab_registry_services_fini(&r->services);
    r->services = (struct fab_services){0};
    r->subscriptions = subscriptions;
    configure(s);
    status = load(s);
    sa_services_arm(s);
    return status;
}

void sa_registry_stop(struct sa *s)
{
    struct sa_registry *r = s->registry;
    if (r == NULL)
        return;
    sm_on_publish(s->in.sm, NULL, NULL);
    sm_on_notice(s->in.sm, NULL, NULL, NULL);
    sm_on_mgroup(s->in.sm, NULL, NULL);
    struct loop_timer *timers[] = {r->leases,   r->reports, r->patience,
                                   r->arrivals, r->absent,  r->kept};
    for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++)
        loop_timer_free(timers[i]);
    fab_registry_services_fini(&r->services);
    fab_registry_subscriptions_free(r->subscriptions);
    free(r->ends.end);
    free(r->held);
    free(r);
    s->registry = NULL;
}
