/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services and subscriptions, and the reports that go to subscribers. For the files of this room.
 */
#ifndef FABRICD_SA_REGISTRY_H
#define FABRICD_SA_REGISTRY_H

#include "fabricd/sa/registered.h"
#include "libfabmgr/registry/reports.h"
#include "libfabmgr/registry/services.h"

#define SA_HELD 1024 /* answers that wait for the database */

/* An end that is in service. */
struct sa_end {
    uint64_t guid;
    uint16_t key[FAB_NOTICE_KEYS]; /* the first of its P_Keys; 0: no more */
};
struct sa_ends {
    struct sa_end *end; /* by GUID */
    size_t count;
};
struct sa_held {
    struct transport_mad to; /* as it came in, and the answer */
    uint8_t answer[FAB_MAD_SIZE];
    uint64_t mark; /* store_mark */
};

struct sa_registry {
    struct fab_services services;
    struct fab_subscriptions *subscriptions;
    struct sa_ends ends; /* of the view that was looked at last */
    bool knows_ends;     /* there was one */
    uint32_t absent_at;  /* slot: of the walk over those whose port is away */
    uint32_t told, gone; /* subscribers that went, since told_us: told, all */
    uint64_t told_us;
    struct fab_notice
        last; /* that a device sent, and when: it may send it again before it hears us */
    uint64_t last_us;
    struct sa_held *held; /* [SA_HELD] a ring */
    uint32_t held_first, held_count;
    struct loop_timer *leases, *reports, *patience, *arrivals, *absent, *kept;
};

/* registry.c */
int sa_registry_start(struct sa *s); /* with what the store has */
void sa_registry_stop(struct sa *s);
/* The answer to a request that registers something goes when that is in the database. BUSY, before
 * it is carried out: too many wait, or the database is behind. */
int sa_keep_ready(struct sa *s);
void sa_keep_answer(struct sa *s, const struct transport_mad *mad,
                    const uint8_t answer[FAB_MAD_SIZE]);

/* service.c */
int sa_services_load(struct sa *s);
void sa_services_expire(void *ctx);
void sa_services_arm(struct sa *s); /* the timer of the lease that ends first */

/* inform.c */
int sa_subscriptions_load(struct sa *s);
/* It goes; why: the end of a sentence, or NULL where nothing is told. */
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
void sa_arrivals_notice(void *ctx, const struct fab_notice *notice);
void sa_arrivals_group(void *ctx, const struct fab_wire_mc_member_record *group, bool made);

#endif
