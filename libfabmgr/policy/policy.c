/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the defaults of a policy, checks that every field is in its valid range, and copies
 * policies.
 *
 * The ranges follow from the widths of the fields in PortInfo (IBA 14.2.5.6), SwitchInfo (14.2.5.4)
 * and SMInfo (14.2.5.13). The defaults of timers and thresholds are the same as in OpenSM, so that
 * a fabric behaves the same after a change from OpenSM. The default sm_key is 1, as in OpenSM.
 * OpenSM hands over only to a manager with the same SM_Key.
 */
#include "libfabmgr/policy/policy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_policy_defaults(struct fab_policy *p)
{
    *p = (struct fab_policy){
        .sm_key = 1,
        .m_key_protect = 1,
        .m_key_lease_s = 60,
        .subnet_prefix = UINT64_C(0xfe80000000000000),
        .max_op_vls = 5,
        .max_mtu = 5,
        .packet_life_time = 0x12,
        .hoq_life = 0x12,
        .leaf_hoq_life = 0x10,
        .vl_stall_count = 7,
        .leaf_vl_stall_count = 7,
        .subnet_timeout = 18,
        .phy_errors = 8,
        .overrun_errors = 8,
        .engine = "auto",
        .enforce = 3,
        .max_hops = 64,
        .quotas = {.each = {[FAB_QUOTA_GROUPS] = 128,
                            [FAB_QUOTA_MEMBERSHIPS] = 1024,
                            [FAB_QUOTA_SERVICES] = 128,
                            [FAB_QUOTA_SUBSCRIPTIONS] = 256,
                            [FAB_QUOTA_ALIAS_GUIDS] = 128},
                   .all = {[FAB_QUOTA_GROUPS] = 16384,
                           [FAB_QUOTA_MEMBERSHIPS] = 1048576,
                           [FAB_QUOTA_SERVICES] = 131072,
                           [FAB_QUOTA_SUBSCRIPTIONS] = 524288,
                           [FAB_QUOTA_ALIAS_GUIDS] = 1048576},
                   .transfers = 8,
                   .requests = 2000,
                   .request_burst = 10000},
    };
    fab_policy_congestion_defaults(&p->congestion);
}

/* ---- validation ------------------------------------------------------------------------------ */

static const struct domain {
    const char *name;
    size_t offset;
    uint8_t min, max;
    const char *meaning;
} domains[] = {
    {"sm_priority", offsetof(struct fab_policy, sm_priority), 0, 15,
     "the highest priority becomes master"},
    {"lmc", offsetof(struct fab_policy, lmc), 0, 7, "2^lmc LIDs for each port"},
    {"max_op_vls", offsetof(struct fab_policy, max_op_vls), 1, 5,
     "1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14"},
    {"max_mtu", offsetof(struct fab_policy, max_mtu), 1, 5, "1 256, 2 512, 3 1024, 4 2048, 5 4096"},
    {"packet_life_time", offsetof(struct fab_policy, packet_life_time), 0, 31,
     "4.096 us * 2^n, from 20 on for ever"},
    {"hoq_life", offsetof(struct fab_policy, hoq_life), 0, 31,
     "4.096 us * 2^n, from 20 on for ever"},
    {"leaf_hoq_life", offsetof(struct fab_policy, leaf_hoq_life), 0, 31,
     "4.096 us * 2^n, from 20 on for ever"},
    {"vl_stall_count", offsetof(struct fab_policy, vl_stall_count), 0, 7,
     "packets dropped in a row"},
    {"leaf_vl_stall_count", offsetof(struct fab_policy, leaf_vl_stall_count), 0, 7,
     "packets dropped in a row"},
    {"subnet_timeout", offsetof(struct fab_policy, subnet_timeout), 0, 31, "4.096 us * 2^n"},
    {"phy_errors", offsetof(struct fab_policy, phy_errors), 0, 15, "errors before a trap"},
    {"overrun_errors", offsetof(struct fab_policy, overrun_errors), 0, 15, "errors before a trap"},
};

static int check_domains(const struct fab_policy *p, char *why, size_t why_len)
{
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        const struct domain *d = &domains[i];
        uint8_t value = ((const uint8_t *)p)[d->offset];
        if (value >= d->min && value <= d->max)
            continue;
        snprintf(why, why_len, "%s is %u, expected %u to %u (%s)", d->name, value, d->min, d->max,
                 d->meaning);
        return FAB_E_RANGE;
    }
    return FAB_OK;
}

bool fab_policy_same_port_settings(const struct fab_policy *a, const struct fab_policy *b)
{
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (((const uint8_t *)a)[domains[i].offset] != ((const uint8_t *)b)[domains[i].offset])
            return false;
    return fab_policy_classes_same_limit(a->classes, b->classes);
}

#define ENGINE_NAME 31

/* Returns true if the text is a list of words that are separated by commas, such as "fattree,
 * updn". */
static bool is_chain(const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    for (;;) {
        at += strspn(at, " ");
        size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-_+");
        if (name == 0 || name > ENGINE_NAME)
            return false;
        at += name;
        at += strspn(at, " ");
        if (at == end)
            return true;
        if (*at++ != ',')
            return false;
    }
}

/* Checks only the form of the engine names. libfabmgr/route knows the engines, but this folder must
 * not include its headers (tests/layers.sh). */
static int check_engine(const struct fab_policy *p, char *why, size_t why_len)
{
    size_t len = strnlen(p->engine, sizeof p->engine);
    if (len > 0 && len < sizeof p->engine && is_chain(p->engine, len))
        return FAB_OK;
    snprintf(why, why_len,
             "engine is \"%.*s\", expected \"auto\" or names of engines separated by commas, each "
             "of 1 to %d characters of a-z, 0-9, -, + and _",
             (int)len, p->engine, ENGINE_NAME);
    return FAB_E_RANGE;
}

static int compare_guids(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static int check_sorted_roots(const uint64_t *roots, size_t count, char *why, size_t why_len)
{
    if (roots[0] == 0) {
        snprintf(why, why_len, "roots contains the GUID 0, expected GUIDs of switches");
        return FAB_E_RANGE;
    }
    for (size_t i = 1; i < count; i++)
        if (roots[i] == roots[i - 1]) {
            snprintf(why, why_len, "roots contains 0x%016" PRIx64 " twice, expected each GUID once",
                     roots[i]);
            return FAB_E_RANGE;
        }
    return FAB_OK;
}

static int check_roots(const struct fab_policy *p, char *why, size_t why_len)
{
    if (p->root_count == 0)
        return FAB_OK;
    uint64_t *sorted = fab_base_alloc_array(p->root_count, sizeof *sorted);
    if (sorted == NULL)
        return FAB_E_NOMEM;
    memcpy(sorted, p->roots, p->root_count * sizeof *sorted);
    qsort(sorted, p->root_count, sizeof *sorted, compare_guids);
    int status = check_sorted_roots(sorted, p->root_count, why, why_len);
    free(sorted);
    return status;
}

/* Checks subnet_prefix and max_hops. A prefix that begins with 0xff is refused, because it would
 * make every GID a multicast GID (IBA 4.1.1). */
static int check_rest(const struct fab_policy *p, char *why, size_t why_len)
{
    if (p->subnet_prefix == 0 || p->subnet_prefix >> 56 == 0xff) {
        snprintf(why, why_len,
                 "subnet_prefix is 0x%016" PRIx64 ", expected any but 0 and 0xff... (multicast)",
                 p->subnet_prefix);
        return FAB_E_RANGE;
    }
    if (p->max_hops == 0 || p->max_hops > 1024) {
        snprintf(why, why_len, "max_hops is %u, expected 1 to 1024 (switches on a path)",
                 p->max_hops);
        return FAB_E_RANGE;
    }
    return FAB_OK;
}

int fab_policy_validate(const struct fab_policy *p, char *why, size_t why_len)
{
    int status = check_domains(p, why, why_len);
    if (status == FAB_OK)
        status = check_engine(p, why, why_len);
    if (status == FAB_OK)
        status = check_roots(p, why, why_len);
    if (status == FAB_OK)
        status = check_rest(p, why, why_len);
    if (status == FAB_OK)
        status = fab_policy_congestion_validate(&p->congestion, why, why_len);
    return status;
}

/* ---- copies ---------------------------------------------------------------------------------- */

int fab_policy_copy(const struct fab_policy *p, struct fab_policy *ret_copy)
{
    struct fab_policy copy = *p;
    copy.roots = NULL;
    if (p->root_count > 0) {
        copy.roots = fab_base_alloc_array(p->root_count, sizeof *copy.roots);
        if (copy.roots == NULL)
            return FAB_E_NOMEM;
        memcpy(copy.roots, p->roots, p->root_count * sizeof *copy.roots);
    }
    fab_policy_m_key_list_ref(copy.listed_m_keys);
    fab_policy_lid_list_ref(copy.listed_lids);
    fab_policy_tables_ref(copy.tables);
    fab_policy_partitions_ref(copy.partitions);
    fab_policy_pins_ref(copy.pins);
    fab_policy_routers_ref(copy.routers);
    fab_policy_locations_ref(copy.locations);
    fab_policy_node_names_ref(copy.node_names);
    fab_policy_classes_ref(copy.classes);
    *ret_copy = copy;
    return FAB_OK;
}

void fab_policy_fini(struct fab_policy *p)
{
    free(p->roots);
    fab_policy_m_key_list_unref(p->listed_m_keys);
    fab_policy_lid_list_unref(p->listed_lids);
    fab_policy_tables_unref(p->tables);
    fab_policy_partitions_unref(p->partitions);
    fab_policy_pins_unref(p->pins);
    fab_policy_routers_unref(p->routers);
    fab_policy_locations_unref(p->locations);
    fab_policy_node_names_unref(p->node_names);
    fab_policy_classes_unref(p->classes);
    p->classes = NULL;
    p->listed_m_keys = NULL;
    p->listed_lids = NULL;
    p->tables = NULL;
    p->partitions = NULL;
    p->pins = NULL;
    p->routers = NULL;
    p->locations = NULL;
    p->node_names = NULL;
    p->roots = NULL;
    p->root_count = 0;
}
