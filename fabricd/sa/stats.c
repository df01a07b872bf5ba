/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of the subnet administration agent, and the lists of services and subscriptions, for
 * the RPC and the metrics. */
#include "fabricd/sa/registry.h"

void sa_get_stats(const struct sa *s, struct sa_stats *ret)
{
    struct fab_registry_reports_stats reports;
    fab_registry_reports_stats(s->registry->subscriptions, &reports);
    *ret = s->stats;
    ret->notices = reports.notices;
    ret->reports = reports.sent;
    ret->reports_answered = reports.answered;
    ret->reports_lost = reports.lost;
}

const struct fab_services *sa_services(const struct sa *s)
{
    return &s->registry->services;
}

const struct fab_subscriptions *sa_subscriptions(const struct sa *s)
{
    return s->registry->subscriptions;
}
