/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports (IBA 13.4.11): each notice goes to each subscription that matches, as Report(Notice),
 * again until it is answered (ReportResp) or there were tries enough. No I/O, no clock.
 *
 * Notices are in one ring with rising numbers, and each subscription is somewhere in it: what is
 * kept does not grow with how many do not answer. A subscription has one report under way at a
 * time, so that it hears of things in their order; all together have a window, in which those that
 * wait in vain soon do not count: nobody is held up by them. Who is a whole ring behind has lost
 * the oldest.
 */
#ifndef LIBFABMGR_REGISTRY_REPORTS_H
#define LIBFABMGR_REGISTRY_REPORTS_H

#include "libfabmgr/registry/subscriptions.h"

#define FAB_REPORT_RING 16384 /* notices */

struct fab_reports_config {
    uint32_t window;                      /* reports under way that count */
    uint8_t tries;                        /* in vain in a row, then a subscription is gone */
    uint64_t slow_us;                     /* after so long one does not count any more */
    uint64_t wait_least_us, wait_most_us; /* for an answer; between them RespTimeValue decides */
};
struct fab_registry_reports_stats {
    uint64_t notices;
    uint64_t sent; /* with those sent again */
    uint64_t answered;
    uint64_t lost; /* notices that a subscription did not get as it was too far behind */
};
int fab_registry_reports_init(
    struct fab_subscriptions *s); /* by fab_registry_subscriptions_new, and so on */
void fab_registry_reports_fini(struct fab_subscriptions *s);
void fab_registry_reports_join(struct fab_subscriptions *s, uint32_t slot);
void fab_registry_reports_leave(struct fab_subscriptions *s, uint32_t slot);

void fab_registry_reports_configure(struct fab_subscriptions *s,
                                    const struct fab_reports_config *config);
/* For those who are subscribed now. NOMEM: it is lost. */
int fab_registry_reports_add(struct fab_subscriptions *s, const struct fab_event_notice *notice);

/* May this subscription have this notice, for which it asks? DROP: it may be none any more. */
enum fab_report_verdict { FAB_REPORT_SEND, FAB_REPORT_PASS, FAB_REPORT_DROP };
typedef enum fab_report_verdict fab_report_judge(void *ctx, const struct fab_subscription *x,
                                                 const struct fab_event_notice *notice);
/* The next report to be sent, and to whom. NOT_FOUND: none now. BUSY: `*budget` subscriptions and
 * notices were looked at, go on later; it is counted down. DENIED: the judge said DROP of
 * *ret_slot, which the caller removes. */
int fab_registry_reports_output(struct fab_subscriptions *s, uint64_t now, uint32_t *budget,
                                fab_report_judge *judge, void *ctx, uint32_t *ret_slot,
                                uint8_t mad[FAB_MAD_SIZE]);
/* What the transaction id of a ReportResp names; NONE: nothing that is awaited. Only its low 32
 * bits count. */
uint32_t fab_registry_reports_find(const struct fab_subscriptions *s, uint64_t tid);
void fab_registry_reports_answered(struct fab_subscriptions *s, uint32_t slot);
/* Those without an answer for too long are sent again, or told to `gone`, which removes them. */
void fab_registry_reports_expire(struct fab_subscriptions *s, uint64_t now,
                                 void (*gone)(void *ctx, uint32_t slot), void *ctx);
bool fab_registry_reports_waiting(const struct fab_subscriptions *s); /* for any answer */
void fab_registry_reports_stats(const struct fab_subscriptions *s,
                                struct fab_registry_reports_stats *ret);

#endif
