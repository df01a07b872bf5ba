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

/* An endport, or port 0 of a switch, that is in service. */
struct sa_end {
    uint64_t guid;
    /* the first P_Keys of the port; a 0 ends the list if it has fewer than FAB_NOTICE_KEYS */
    uint16_t key[FAB_NOTICE_KEYS];
};
struct sa_ends {
    struct sa_end *end; /* array of endports, sorted by port GUID */
    size_t count;
};
struct sa_held {
    struct transport_mad to; /* the request to which `answer` belongs */
    uint8_t answer[FAB_MAD_SIZE];
    /* mark of the write (store.h): the registration is in the database when
     * store_written(mark) is STORE_WRITTEN */
    uint64_t mark;
};

struct sa_registry {
    struct fab_services services;
    struct fab_subscriptions *subscriptions;
    /*
     * endports that were in service in the last view; they are compared with those of the next view
     */
    struct sa_ends ends;
    /* true: `ends` is valid; false: no view has been examined yet */
    bool knows_ends;
    /* slot of the next subscription to check; subscriptions of ports that have been absent for
     * long are dropped */
    uint32_t absent_at;
    /* told: number of events emitted since told_us. gone: number of subscriptions that ended since
     * told_us. */
    uint32_t told, gone;
    uint64_t told_us;
    /* The last notice that a device sent. A device repeats a trap until it gets TrapRepress, so an
     * equal notice within REPEAT_US counts as a repetition. */
    struct fab_notice last;
    uint64_t last_us;
    struct sa_held *held; /* [SA_HELD] ring buffer of the answers that wait for the database */
    uint32_t held_first, held_count;
    struct loop_timer *leases, *reports, *patience, *arrivals, *absent, *kept;
};

/* Functions of registry.c. */
/* Loads services and subscriptions from the store. Returns NOMEM, LIMIT, IO or FORMAT. */
int sa_registry_start(struct sa *s);
/* Replaces services and subscriptions by those in the store. */
int sa_registry_load(struct sa *s);
void sa_registry_stop(struct sa *s);
/* Checks whether a registration may be carried out now. Returns BUSY if the database cannot be
 * written, if too many records wait for the store's writer, or if too many answers wait for the
 * database (in total, or to the sender of this request). */
int sa_keep_ready(struct sa *s, const struct transport_mad *mad);
/* Sends the answer when the registration is committed to the database, or the answer BUSY if it
 * cannot be committed. */
void sa_keep_answer(struct sa *s, const struct transport_mad *mad,
                    const uint8_t answer[FAB_MAD_SIZE]);

/* Functions of service.c. */
/* loads the services. Returns NOMEM, LIMIT, IO or FORMAT */
int sa_services_load(struct sa *s);
void sa_services_expire(void *ctx);
/* sets the timer for the service lease that ends first */
void sa_services_arm(struct sa *s);

/* Functions of inform.c. */
/* Loads the subscriptions. Returns NOMEM, LIMIT, IO or FORMAT. */
int sa_subscriptions_load(struct sa *s);
/* Drops a subscription. `why` is the reason in the event; NULL: no event is emitted. */
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
