/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subscriptions to reports (InformInfo, IBA 13.4.8.3, 15.2.5.12), and the reports that go to them
 * (reports.h). A mutable value, for one owner.
 */
#ifndef LIBFABMGR_REGISTRY_SUBSCRIPTIONS_H
#define LIBFABMGR_REGISTRY_SUBSCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/sa.h"

#define FAB_SUBSCRIPTIONS_MOST 524288 /* and not more than this many of one port: */
#define FAB_SUBSCRIPTIONS_EACH 64
#define FAB_SUBSCRIPTION_NONE UINT32_MAX

/* What it waits for. */
enum fab_report_wait { FAB_REPORT_IDLE, FAB_REPORT_AGAIN, FAB_REPORT_ANSWER };
struct fab_subscription {
    bool used;
    bool trusted; /* by one who knew the SM_Key */
    struct fab_wire_inform_info_record record;
    uint64_t away_us; /* the caller's; 0 at first */
    /* of reports.c: */
    uint64_t next;    /* the number of the notice that is looked at next */
    uint64_t awaited; /* that of the report without an answer */
    uint64_t deadline, sent_us;
    uint32_t before, after; /* in the list of its kind */
    uint32_t turn;          /* counts reports: a part of their transaction id */
    uint8_t wait;           /* enum fab_report_wait */
    bool queued;            /* in the list of those that may go on */
    bool fresh;             /* it counts as one under way */
    uint8_t tries;          /* in vain, in a row */
};

struct fab_report_ring;
struct fab_subscriptions {
    struct fab_subscription *slot;     /* they stay where they are */
    uint32_t slots, room, count, free; /* free: a list by `after` */
    uint32_t *order;                   /* [count] slots, by subscriber and number */
    size_t order_room;
    struct fab_report_ring *ring; /* reports.c */
};
int fab_registry_subscriptions_new(struct fab_subscriptions **ret); /* NOMEM */
void fab_registry_subscriptions_free(struct fab_subscriptions *s);  /* NULL is fine */

/* The slot of the next one in the order of subscribers and their numbers; gid NULL: of the first.
 * NONE: there is no more. */
uint32_t fab_registry_subscriptions_next(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         uint16_t number);
/* That of this subscriber which is for the same (all but Subscribe and RespTimeValue), or NONE. */
uint32_t fab_registry_subscriptions_find(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         const struct fab_inform_info *info);
/* Subscribes: the one for the same is renewed, or there is a new one with the least number that is
 * free; or, number >= 0, with that one, which is free. LIMIT: too many, of this subscriber or
 * together. NOMEM. */
int fab_registry_subscriptions_put(struct fab_subscriptions *s, const uint64_t gid[2],
                                   const struct fab_inform_info *info, bool trusted, int number,
                                   uint32_t *ret_slot);
void fab_registry_subscriptions_remove(struct fab_subscriptions *s, uint32_t slot);

/* ---- what matches ----------------------------------------------------------------------------
 */

/* A notice, and who it is for. */
#define FAB_NOTICE_KEYS 16
struct fab_event_notice {
    struct fab_notice is;
    uint64_t issuer[2];            /* GID */
    uint16_t key[FAB_NOTICE_KEYS]; /* P_Keys of what it is about: subscribers need a common one */
    uint8_t keys;
};
#define FAB_NOTICE_BYTES 80 /* in a report: the notice, and IssuerGID behind it */
/* Whether a subscription asks for it (13.4.8.3, table of InformInfo). */
bool fab_registry_inform_matches(const struct fab_inform_info *info,
                                 const struct fab_event_notice *n);
/* Notices 256-259, which tell of keys: for the trusted only (15.2.5.12). */
static inline bool fab_registry_notice_needs_trust(const struct fab_notice *n)
{
    return n->generic && n->trap >= 256 && n->trap <= 259;
}
/* Notice 64-67: a GID (or multicast GID) is, or is no more, in service; issued by the manager. */
struct fab_notice fab_registry_gid_notice(uint16_t trap, const uint64_t gid[2], uint16_t sm_lid);

#endif
