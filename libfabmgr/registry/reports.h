/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event forwarding (IBA 13.4.11). Each notice is sent as Report(Notice) to each subscriber that
 * selects it. A report is sent again until the subscriber responds (ReportResp) or all tries are
 * used. The functions do no I/O and read no clock.
 *
 * Notices are in one ring buffer with ascending numbers, and each subscription stores its position
 * in the ring. So memory does not grow with the number of unresponsive subscribers. A subscription
 * has at most one report in flight, so that it receives notices in order. A subscription that is
 * behind by the whole length of the ring loses the oldest notices.
 *
 * The total number of reports in flight is limited (the window). A report that got no response
 * within slow_us does not count any more, so that unresponsive subscribers do not delay other
 * subscribers.
 */
#ifndef LIBFABMGR_REGISTRY_REPORTS_H
#define LIBFABMGR_REGISTRY_REPORTS_H

#include "libfabmgr/registry/subscriptions.h"

#define FAB_REPORT_RING 16384 /* number of notices in the ring buffer */

struct fab_reports_config {
    /* the window: maximum number of reports in flight; reports that were sent more than slow_us ago
     * do not count */
    uint32_t window;
    /* number of consecutive reports without a response after which a subscription is removed;
     * repetitions of a report count, too */
    uint8_t tries;
    /* time in us after which a report in flight no longer counts against the window */
    uint64_t slow_us;
    /* Times in us. A report without a response is sent again after wait_least_us plus the time that
     * the RespTimeValue of the subscription stands for, but at the latest after wait_most_us. */
    uint64_t wait_least_us, wait_most_us;
};
struct fab_registry_reports_stats {
    uint64_t notices;
    uint64_t sent; /* number of reports sent, repetitions included */
    uint64_t answered;
    /* number of notices that were overwritten in the ring buffer before a subscription received
     * them; counted once for each such subscription */
    uint64_t lost;
};
/* Only subscriptions.c calls the next four functions. fab_registry_reports_init allocates s->ring,
 * and returns OK or NOMEM; fab_registry_reports_fini frees it. fab_registry_reports_join is called
 * for a new subscription, and fab_registry_reports_leave before a subscription is removed. */
int fab_registry_reports_init(struct fab_subscriptions *s);
void fab_registry_reports_fini(struct fab_subscriptions *s);
void fab_registry_reports_join(struct fab_subscriptions *s, uint32_t slot);
void fab_registry_reports_leave(struct fab_subscriptions *s, uint32_t slot);

void fab_registry_reports_configure(struct fab_subscriptions *s,
                                    const struct fab_reports_config *config);
/* Adds a notice. Reports of it are sent only to subscriptions that exist now. Returns OK, or NOMEM;
 * the notice is then lost. */
int fab_registry_reports_add(struct fab_subscriptions *s, const struct fab_event_notice *notice);

/* What the caller decides about a notice that a subscription selects. SEND: the subscriber may
 * receive it. PASS: the subscriber must not receive it, so this subscription skips the notice.
 * DROP: the whole subscription must be removed. */
enum fab_report_verdict { FAB_REPORT_SEND, FAB_REPORT_PASS, FAB_REPORT_DROP };
typedef enum fab_report_verdict fab_report_judge(void *ctx, const struct fab_subscription *x,
                                                 const struct fab_event_notice *notice);
/* Writes the next report into mad[], and the slot of its subscription into *ret_slot. *budget is
 * the number of subscriptions and notices that may be examined; each of them lowers *budget by 1.
 * Returns OK, NOT_FOUND (there is no report to send now), BUSY (the budget is used up; call again
 * later) or DENIED (judge() returned DROP for the subscription *ret_slot, which the caller must
 * remove). */
int fab_registry_reports_output(struct fab_subscriptions *s, uint64_t now, uint32_t *budget,
                                fab_report_judge *judge, void *ctx, uint32_t *ret_slot,
                                uint8_t mad[FAB_MAD_SIZE]);
/* Returns the slot of the subscription whose report has this transaction ID; FAB_SUBSCRIPTION_NONE:
 * no such report waits for a response or to be sent again. Only the low 32 bits of the ID count. */
uint32_t fab_registry_reports_find(const struct fab_subscriptions *s, uint64_t tid);
void fab_registry_reports_answered(struct fab_subscriptions *s, uint32_t slot);
/* Queues the reports that got no response in time, so that they are sent again. If a subscription
 * has no tries left, calls gone() with its slot; this function must remove the subscription. */
void fab_registry_reports_expire(struct fab_subscriptions *s, uint64_t now,
                                 void (*gone)(void *ctx, uint32_t slot), void *ctx);
/* returns true if any report waits for its response */
bool fab_registry_reports_waiting(const struct fab_subscriptions *s);
void fab_registry_reports_stats(const struct fab_subscriptions *s,
                                struct fab_registry_reports_stats *ret);

#endif
