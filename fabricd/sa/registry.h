/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: services, subscriptions, and reports to subscribers. For this folder only.
 */
#ifndef FABRICD_SA_REGISTRY_H
#define FABRICD_SA_REGISTRY_H

#include "fabricd/sa/registered.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/registry/services.h"

/* maximum number of answers that wait for the database */
#define SA_HELD 1024

/* An endport in service, or port 0 of a switch. */
struct sa_end {
    uint64_t guid;
    /* the first P_Keys of the port; if there are fewer than FAB_NOTICE_KEYS, a 0 comes after the
     * last one */
    uint16_t key[FAB_NOTICE_KEYS];
};
struct sa_ends {
    /* the endports in service and the ports 0 of switches, sorted by port GUID */
    struct sa_end *end;
    size_t count;
};
struct sa_held {
    struct transport_mad to; /* the request that is answered */
    uint8_t answer[FAB_MAD_SIZE];
    /* mark of the write (store.h): if store_written(mark) is STORE_WRITTEN, the registration is in
     * the database */
    uint64_t mark;
};

struct sa_registry {
    struct fab_services services;
    struct fab_subscriptions *subscriptions;
    /* endports in service in the last view; the next view is compared with them */
    struct sa_ends ends;
    /* true: `ends` is valid; false: no view has been examined yet */
    bool knows_ends;
    /* Slot of the subscription that is checked next. A check drops the subscription if its port has
     * been absent for a long time. */
    uint32_t absent_at;
    /* For events about ended subscriptions (report.c). told_us: time in us at which the present
     * interval of TELL_AGAIN_US began; 0: no subscription has ended yet. told, gone: in this
     * interval, number of events emitted and number of subscriptions that have ended. */
    uint32_t told, gone;
    uint64_t told_us;
    /* The last notice that a device sent. An equal notice within REPEAT_US counts as a repetition,
     * because a device repeats a trap until it gets TrapRepress. */
    struct fab_notice last;
    uint64_t last_us;
    struct sa_held *held; /* [SA_HELD] ring buffer of the answers that wait for the database */
    uint32_t held_first, held_count;
    struct loop_timer *leases, *reports, *patience, *arrivals, *absent, *kept;
};

/* Functions of registry.c. */
/* Loads services and subscriptions from the store. Returns OK, NOMEM, LIMIT, or an error of
 * sql_status (fabricd/store/sql.h). */
int sa_registry_start(struct sa *s);
/* Discards services and subscriptions, and loads those in the store instead. Returns as
 * sa_registry_start. */
int sa_registry_load(struct sa *s);
void sa_registry_stop(struct sa *s);
/* Returns OK if a registration may be carried out now. Returns BUSY in three cases: the database
 * cannot be written; too many records wait for the store's writer; or too many answers (in all, or
 * to the sender of `mad`) wait for the database. */
int sa_keep_ready(struct sa *s, const struct transport_mad *mad);
/* Sends the answer when the registration is committed to the database. If it cannot be committed,
 * answers BUSY. The caller must have called sa_keep_ready for this request, with the result OK. */
void sa_keep_answer(struct sa *s, const struct transport_mad *mad,
                    const uint8_t answer[FAB_MAD_SIZE]);

/* Functions of service.c. */
/* Loads the services from the store. Returns as sa_registry_start. */
int sa_services_load(struct sa *s);
void sa_services_expire(void *ctx);
/* Sets the timer to the time at which the next lease of a service ends. */
void sa_services_arm(struct sa *s);

/* Functions of inform.c. */
/* Loads the subscriptions from the store. Returns as sa_registry_start. */
int sa_subscriptions_load(struct sa *s);
/* Drops a subscription. `why`: the reason that the event gives; NULL: no event is emitted. */
void sa_subscription_drop(struct sa *s, uint32_t slot, const char *why);

/* Functions of report.c. */
void sa_report(struct sa *s, const struct fab_event_notice *notice);
void sa_report_answer(struct sa *s, const struct transport_mad *mad);
void sa_report_work(void *ctx);
void sa_report_tick(void *ctx);
void sa_report_gone(struct sa *s, const struct fab_subscription *x, const char *why);

/* Functions of arrivals.c. */
void sa_arrivals_published(void *ctx);
void sa_arrivals_work(void *ctx);
void sa_arrivals_absent(void *ctx);
/* returns true if any host has subscribed to notices */
bool sa_arrivals_wanted(void *ctx);
void sa_arrivals_notice(void *ctx, const struct fab_notice *notice);
void sa_arrivals_group(void *ctx, const struct fab_wire_mc_member_record *group, bool made);

#endif
