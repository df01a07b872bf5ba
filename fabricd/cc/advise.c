/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes advice for operators once in each counter interval (counters.interval). The settings of
 * congestion control assume, for example, a number of senders; the advice compares these
 * assumptions with what counters, congestion logs and devices report. At most one event of each
 * kind of advice is emitted in an hour.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/cc/private.h"

#define TELL_US UINT64_C(3600000000)

static uint32_t logged_fan_in(const struct cc *cc)
{
    uint32_t lids = FAB_LID_UNICAST_MAX + 1u, most = 0;
    uint16_t *senders = calloc(lids, sizeof *senders);
    if (!senders)
        return 0;
    cc_count_senders(cc, senders, lids);
    for (uint32_t lid = 0; lid < lids; lid++)
        most = senders[lid] > most ? senders[lid] : most;
    free(senders);
    return most;
}

static unsigned advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN],
                       uint32_t *ret_kinds)
{
    struct fab_congestion_observed seen = {0};
    struct cc_status s;
    cc_get_status(cc, &s);
    if (cc->in.seen)
        cc->in.seen(cc->in.seen_ctx, &seen);
    seen.logged_fan_in = s.log_events > 0 ? logged_fan_in(cc) : 0;
    struct fab_congestion_configured assumed = {
        .apply = s.apply,
        .off = s.profile == FAB_CONGESTION_OFF,
        .fan_in = s.fan_in,
        .unsupported = s.devices[CC_UNSUPPORTED],
        .changed = s.changed_recently,
    };
    for (int i = 0; i < CC_STATES; i++)
        assumed.devices += s.devices[i];
    return fab_congestion_advise(&seen, &assumed, ret, ret_kinds);
}

unsigned cc_advise(const struct cc *cc, char ret[][FAB_CONGESTION_ADVICE_LEN])
{
    return advise(cc, ret, NULL);
}

void cc_report_advice(struct cc *cc, uint64_t now)
{
    /* [n] the sentence for the n-th of the bits that are set in `kinds`, counted from the lowest
     * bit */
    char text[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN];
    uint64_t interval = cc->in.config->counters.interval_s * UINT64_C(1000000);
    uint32_t kinds, n = 0;
    if (interval == 0 || cc->generation == 0 || now - cc->advised_us < interval)
        return;
    cc->advised_us = now;
    (void)advise(cc, text, &kinds);
    for (unsigned kind = 0; kind < FAB_CONGESTION_ADVICES; kind++) {
        uint64_t *told = &cc->told_us[kind];
        if (!(kinds >> kind & 1))
            continue;
        if (*told == 0 || now - *told >= TELL_US) {
            event_emit(cc->in.bus, congestion_advice, .subject = "fabric", .advice = text[n]);
            *told = now;
        }
        n++;
    }
}
