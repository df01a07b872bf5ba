/* SPDX-License-Identifier: BSD-3-Clause */
/* Subscriptions to event reports (InformInfo, IBA 13.4.8.3, 15.2.5.12), and the reports sent to the
 * subscribers (reports.h). A struct fab_subscriptions belongs to one thread and has no locks. */
#ifndef LIBFABMGR_REGISTRY_SUBSCRIPTIONS_H
#define LIBFABMGR_REGISTRY_SUBSCRIPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/sa.h"

#define FAB_SUBSCRIPTIONS_MOST 524288 /* maximum number of subscriptions in total */
#define FAB_SUBSCRIPTIONS_EACH 4096   /* maximum number of subscriptions of one subscriber */
#define FAB_SUBSCRIPTION_NONE UINT32_MAX

/* State of a subscription. IDLE: it has no current report. AGAIN: its report must be sent again.
 * ANSWER: its report was sent, and the ReportResp has not arrived yet. */
enum fab_report_wait { FAB_REPORT_IDLE, FAB_REPORT_AGAIN, FAB_REPORT_ANSWER };
struct fab_subscription {
    bool used;
    bool trusted; /* true: the subscriber presented the SM_Key */
    struct fab_wire_inform_info_record record;
    /* time in us at which the caller found the subscriber's port absent; 0: the port is present.
     * Only the caller uses this member. */
    uint64_t away_us;
    /* The following members are for reports.c. */
    /* number of the first notice that was not yet compared with this subscription */
    uint64_t next;
    /* number of the notice that the current report contains */
    uint64_t awaited;
    uint64_t deadline, sent_us;
    /* index of the slot before and of the slot after this one in the list `ready` or `waiting`
     * (reports.c); in a free slot, `after` is the next free slot */
    uint32_t before, after;
    /* number of reports to this subscription so far; transaction IDs contain it */
    uint32_t turn;
    uint8_t wait; /* enum fab_report_wait */
    /* true: the slot is in the list `ready` (reports.c) */
    bool queued;
    /* true: the current report counts against the window (reports.h) */
    bool fresh;
    /* number of consecutive reports of this subscription that got no response */
    uint8_t tries;
};

struct fab_report_ring;
struct fab_subscriptions {
    struct fab_subscription *slot; /* [slots] the slots; a subscription stays in its slot */
    /* slots: number of slots ever used; room: number of allocated slots; count: number of
     * subscriptions; free: first of the list of free slots */
    uint32_t slots, room, count, free;
    /* [count] the slots of all subscriptions, sorted by subscriber GID, then by the number that the
     * record gives the subscription */
    uint32_t *order;
    size_t order_room;
    struct fab_report_ring *ring; /* the ring buffer of notices (reports.c) */
};
int fab_registry_subscriptions_new(struct fab_subscriptions **ret); /* returns OK or NOMEM */
void fab_registry_subscriptions_free(struct fab_subscriptions *s);  /* s may be NULL */

/* Returns the slot of the next subscription after that of subscriber `gid` with number `number`, in
 * the order of subscriber GIDs and then of numbers. With gid == NULL, returns the slot of the first
 * one. Returns FAB_SUBSCRIPTION_NONE if there is none. */
uint32_t fab_registry_subscriptions_next(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         uint16_t number);
/* Finds the subscription of the subscriber `gid` to the events that *info selects. All fields of
 * InformInfo must be equal, except Subscribe and RespTimeValue. Returns the slot of the
 * subscription; FAB_SUBSCRIPTION_NONE: there is none. */
uint32_t fab_registry_subscriptions_find(const struct fab_subscriptions *s, const uint64_t gid[2],
                                         const struct fab_inform_info *info);
/* Adds a subscription. If the subscriber already has a subscription to the same events, renews it
 * instead. number: number of the new subscription, which must be free; negative: the lowest free
 * number. Returns OK, LIMIT (too many subscriptions of this subscriber, or of all together) or
 * NOMEM. */
int fab_registry_subscriptions_put(struct fab_subscriptions *s, const uint64_t gid[2],
                                   const struct fab_inform_info *info, bool trusted, int number,
                                   uint32_t *ret_slot);
/* Returns the number of subscriptions of a subscriber. */
uint32_t fab_registry_subscriptions_of(const struct fab_subscriptions *s, const uint64_t gid[2]);
void fab_registry_subscriptions_remove(struct fab_subscriptions *s, uint32_t slot);

/* ---- notices --------------------------------------------------------------------------------- */

#define FAB_NOTICE_KEYS 16 /* maximum number of P_Keys of a notice */
/* An event to report: a notice, and the P_Keys that allow a subscriber to receive it. */
struct fab_event_notice {
    struct fab_notice is;
    uint64_t issuer[2]; /* GID of the issuer of the notice */
    /* P_Keys of the port or group that the notice is about (traps of devices: of the port that sent
     * the trap); a subscriber must have one of them */
    uint16_t key[FAB_NOTICE_KEYS];
    uint8_t keys;
};
/* number of bytes of the Notice attribute in a report; the last 16 of them are the IssuerGID */
#define FAB_NOTICE_BYTES 80
/* Returns true if the subscription selects the notice (IBA 13.4.8.3, table of InformInfo). */
bool fab_registry_inform_matches(const struct fab_inform_info *info,
                                 const struct fab_event_notice *n);
/* Returns true if only subscribers that gave the sa_key (in the field SM_Key of the request) may
 * receive the notice. This is so for traps 256-259 (wrong M_Key, P_Key or Q_Key), because their
 * data contain keys (IBA 15.2.5.12). */
static inline bool fab_registry_notice_needs_trust(const struct fab_notice *n)
{
    return n->generic && n->trap >= 256 && n->trap <= 259;
}
/* Makes a notice that the manager itself issues. trap: 64: a GID came into service; 65: a GID went
 * out of service; 66: a multicast group was created; 67: a multicast group was deleted. */
struct fab_notice fab_registry_gid_notice(uint16_t trap, const uint64_t gid[2], uint16_t sm_lid);

#endif
