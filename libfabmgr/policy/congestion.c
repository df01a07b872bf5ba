/* SPDX-License-Identifier: BSD-3-Clause */
/* The defaults of the congestion control policy, and the ranges of its values (IBA A10.4.3). The
 * default latencies are typical of current hardware: 0.25 us for a switch, 0.6 us for an
 * adapter. */
#include "libfabmgr/policy/congestion.h"

#include <stdio.h>

#include "libfabmgr/base/status.h"

const struct fab_congestion_domain fab_policy_congestion_domains[FAB_CONGESTION_VALUES] = {
    [FAB_CONGESTION_THRESHOLD] = {"threshold", 0, 15},
    [FAB_CONGESTION_SWITCH_THRESHOLD] = {"switch_threshold", 0, 15},
    [FAB_CONGESTION_MARKING_RATE] = {"marking_rate", 0, UINT16_MAX},
    [FAB_CONGESTION_PACKET_SIZE] = {"packet_size", 0, UINT8_MAX},
    [FAB_CONGESTION_VICTIM_MASK] = {"victim_mask", 0, 1},
    [FAB_CONGESTION_TIMER] = {"timer", 1, UINT16_MAX},
    [FAB_CONGESTION_INCREASE] = {"increase", 1, UINT8_MAX},
    [FAB_CONGESTION_TRIGGER_THRESHOLD] = {"trigger_threshold", 0, UINT8_MAX},
    [FAB_CONGESTION_MIN] = {"min", 0, UINT8_MAX},
    [FAB_CONGESTION_LIMIT] = {"limit", 1, FAB_CONGESTION_TABLE_MOST - 1},
};

const char *fab_policy_congestion_profile_name(uint8_t profile)
{
    static const char *const names[FAB_CONGESTION_PROFILES] = {"off", "balanced", "incast",
                                                               "collective"};
    return profile < FAB_CONGESTION_PROFILES ? names[profile] : "?";
}

void fab_policy_congestion_defaults(struct fab_policy_congestion *p)
{
    *p = (struct fab_policy_congestion){
        .profile = FAB_CONGESTION_BALANCED,
        .key_lease_s = 300,
        .hop_ns = 250,
        .adapter_ns = 600,
        .cable_m = 10,
        .queue_kb = 64,
    };
    for (int i = 0; i < FAB_CONGESTION_VALUES; i++)
        p->value[i] = FAB_CONGESTION_AUTO;
}

/* Checks fan_in and the congestion control table. The delays in the table must not decrease with
 * the index: an adapter raises the index of a flow when it receives a BECN for this flow, and must
 * then send more slowly (IBA annex A10). */
static int check_rest(const struct fab_policy_congestion *p, char *why, size_t why_len)
{
    uint32_t last = 0;
    if (p->fan_in > FAB_CONGESTION_FAN_IN_MOST) {
        snprintf(why, why_len, "fan_in is %u, expected at most %u", p->fan_in,
                 FAB_CONGESTION_FAN_IN_MOST);
        return FAB_E_RANGE;
    }
    if (p->table_count > FAB_CONGESTION_TABLE_MOST) {
        snprintf(why, why_len, "table has %u entries, expected at most %u", p->table_count,
                 FAB_CONGESTION_TABLE_MOST);
        return FAB_E_RANGE;
    }
    for (uint32_t i = 0; i < p->table_count; i++) {
        uint32_t delay = (uint32_t)(p->table[i] & 0x3fff) << (3 - (p->table[i] >> 14));
        if (delay < last) {
            snprintf(why, why_len, "table has a shorter delay at index %u than at the index before",
                     i);
            return FAB_E_RANGE;
        }
        last = delay;
    }
    return FAB_OK;
}

int fab_policy_congestion_validate(const struct fab_policy_congestion *p, char *why, size_t why_len)
{
    if (p->profile >= FAB_CONGESTION_PROFILES) {
        snprintf(why, why_len, "profile is %u, expected 0 to %u", p->profile,
                 FAB_CONGESTION_PROFILES - 1);
        return FAB_E_RANGE;
    }
    for (unsigned i = 0; i < FAB_CONGESTION_VALUES; i++) {
        const struct fab_congestion_domain *d = &fab_policy_congestion_domains[i];
        if (p->value[i] == FAB_CONGESTION_AUTO ||
            (p->value[i] >= d->least && p->value[i] <= d->most))
            continue;
        snprintf(why, why_len, "%s is %d, expected %u to %u", d->name, p->value[i], d->least,
                 d->most);
        return FAB_E_RANGE;
    }
    return check_rest(p, why, why_len);
}
