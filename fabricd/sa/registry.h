/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services, subscriptions, and reports to subscribers. For this folder only.
 */
#ifndef FABRICD_SA_REGISTRY_H
#define FABRICD_SA_REGISTRY_H

#include "fabricd/sa/registered.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/registry/services.h"

#define SA_HELD 1024 /* maximum number of answers that wait for the database */

/* An endport in service. */
struct sa_end {
    uint64_t guid;
    uint16_t key[FAB_NOTICE_KEYS]; /* the first P_Keys of the port; 0 ends the list */
};
struct sa_ends {
    struct sa_end *end; /* sorted by GUID */
    size_t count;
};
struct sa_held {
    struct transport_mad to; /* the request */
    uint8_t answer[FAB_MAD_SIZE];
    uint64_t mark; /* store_mark after the registration was put; see store_is_written */
};

struct sa_registry {
    struct fab_services services;
    struct fab_subscriptions *subscriptions;
    struct sa_ends ends; /* endports in service in the last view */
    bool knows_ends;     /* `ends` is valid */
    uint32_t absent_at;  /* next subscription to check for a port that left the fabric */
    uint32_t told, gone; /* events emitted, and subscriptions ended, since told_us */
    uint64_t told_us;
    struct fab_notice last; /* the last notice, to recognize repetitions: a device repeats a trap
                               until it gets TrapRepress */
    uint64_t last_us;
    struct sa_held *held; /* [SA_HELD] ring buffer of answers that wait */
    uint32_t held_first, held_count;
    struct loop_timer *leases, *reports, *patience, *arrivals, *absent, *kept;
};

/* registry.c */
/* Loads services and subscriptions from the store. NOMEM, LIMIT, IO, FORMAT. */
int sa_registry_start(struct sa *s);
void sa_registry_stop(struct sa *s);
/* Call this function before carrying out a registration. BUSY: too many answers wait for the
 * database, in all or to the sender of this request, or the writer is behind. */
int sa_keep_ready(struct sa *s, const struct transport_mad *mad);
/* Sends the answer once the registration is committed to the database. */
void sa_keep_answer(struct sa *s, const struct transport_mad *mad,
                    const uint8_t answer[FAB_MAD_SIZE]);

/* service.c */
int sa_services_load(struct sa *s); /* loads the services; NOMEM, LIMIT, IO, FORMAT */
void sa_services_expire(void *ctx);
void sa_services_arm(struct sa *s); /* sets the timer for the lease that ends first */

/* inform.c */
int sa_subscriptions_load(struct sa *s); /* loads the subscriptions; NOMEM, LIMIT, IO, FORMAT */
/* Drops a subscription. why: the reason for the event; NULL: no event is emitted. */
void sa_subscription_drop(struct sa *s, uint32_t slot, const char *why);

/* report.c */
void sa_report(struct sa *s, const struct fab_event_notice *notice);
void sa_report_answer(struct sa *s, const struct transport_mad *mad);
void sa_report_work(void *ctx);
void sa_report_tick(void *ctx);
void sa_report_gone(struct sa *s, const struct fab_subscription *x, const char *why);

/* arrivals.c */
void sa_arrivals_published(void *ctx);
void sa_arrivals_work(void *ctx);
void sa_arrivals_absent(void *ctx);
bool sa_arrivals_wanted(void *ctx); /* whether any host subscribed to notices */
void sa_arrivals_notice(void *ctx, const struct fab_notice *notice);
void sa_arrivals_group(void *ctx, const struct fab_wire_mc_member_record *group, bool made);

#endif
