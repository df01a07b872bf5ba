/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy: how the operator wants the fabric to be managed. All values have defaults. After a
 * policy was validated, libfabmgr does not change it; fabricd replaces parts of it when settings or
 * keys change. */
#ifndef LIBFABMGR_POLICY_POLICY_H
#define LIBFABMGR_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/policy/classes.h"
#include "libfabmgr/policy/congestion.h"
#include "libfabmgr/policy/lid_list.h"
#include "libfabmgr/policy/locations.h"
#include "libfabmgr/policy/m_key_list.h"
#include "libfabmgr/policy/m_keys.h"
#include "libfabmgr/policy/node_names.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/policy/pins.h"
#include "libfabmgr/policy/routers.h"
#include "libfabmgr/policy/tables.h"

#define FAB_MANAGER_SWITCH_LEN 72 /* size in bytes of the name of a switch, with the NUL */

/* Another subnet manager that the operator trusts: its port GUID, and the switch port to which it
 * is connected. A host can claim any GUID, but cannot choose the switch port to which it is
 * connected. */
struct fab_manager {
    uint64_t guid;
    /* name of the switch: its NodeDescription, or its node GUID in hexadecimal */
    char switch_name[FAB_MANAGER_SWITCH_LEN];
    uint8_t switch_port;
};
#define FAB_MANAGERS_MAX 16

/* Kinds of SA objects whose number is limited, both for each port and for all ports together.
 * Requests with the sa_key are not limited. */
enum fab_quota {
    FAB_QUOTA_GROUPS,      /* multicast groups that a port has created */
    FAB_QUOTA_MEMBERSHIPS, /* multicast memberships that a port has requested */
    FAB_QUOTA_SERVICES,
    FAB_QUOTA_SUBSCRIPTIONS,
    FAB_QUOTA_ALIAS_GUIDS,
    FAB_QUOTAS
};
struct fab_policy_quotas {
    /* limits by enum fab_quota: each[] for every single port, all[] for the sum over all ports; 0:
     * no limit */
    uint32_t each[FAB_QUOTAS], all[FAB_QUOTAS];
    /* maximum number of multi-MAD responses (RMPP) that may be in progress to one port at the same
     * time, at least 1 */
    uint32_t transfers;
    /* rate limit: maximum average number of SA requests of a port per second; 0: no limit */
    uint32_t requests;
    /* burst of the rate limit: maximum number of SA requests of a port that may arrive at once, at
     * least 1 */
    uint32_t request_burst;
};

struct fab_policy {
    uint8_t sm_priority; /* priority of this subnet manager, 0..15 */
    uint64_t sm_key;
    /* SM_Key that marks an SA request as trusted; 0: no SA request is trusted */
    uint64_t sa_key;
    struct fab_m_keys m_keys; /* M_Keys that the manager writes to ports */
    /* M_Keys that ports may still have from another manager, by port GUID. Copies of the policy
     * share this list. NULL: none */
    struct fab_m_key_list *listed_m_keys;
    /* LIDs that another manager assigned to ports, by port GUID; for a port with a LID lease, the
     * lease takes precedence. Copies of the policy share this list. NULL: none */
    struct fab_lid_list *listed_lids;
    /* M_KeyProtectBits, 0..3 (IBA 14.2.4.1) */
    uint8_t m_key_protect;
    uint16_t m_key_lease_s; /* M_KeyLeasePeriod, seconds; 0: the protection never ends */
    /* other subnet managers that the operator trusts */
    struct fab_manager managers[FAB_MANAGERS_MAX];
    uint32_t manager_count;
    uint64_t subnet_prefix; /* GID prefix of the subnet; default 0xfe80000000000000 */
    /* LMC of adapter and router ports, 0..7 */
    uint8_t lmc;
    /* maximum number of data VLs, as encoded in PortInfo: 1 = VL0, 2 = VL0-1, 3 = VL0-3, 4 = VL0-7,
     * 5 = VL0-14 */
    uint8_t max_op_vls;
    /* maximum MTU, as encoded in PortInfo: 1 = 256 bytes .. 5 = 4096 bytes */
    uint8_t max_mtu;
    uint8_t packet_life_time; /* LifeTimeValue of SwitchInfo */
    /* HOQLife of PortInfo. leaf_hoq_life and leaf_vl_stall_count apply to switch ports that lead to
     * adapters and routers, hoq_life and vl_stall_count to other ports. */
    uint8_t hoq_life, leaf_hoq_life;
    uint8_t vl_stall_count, leaf_vl_stall_count;
    /* SubnetTimeOut of PortInfo: a value n means 4.096 us * 2^n */
    uint8_t subnet_timeout;
    uint8_t phy_errors, overrun_errors; /* LocalPhyErrors and OverrunErrors of PortInfo */
    /* names of routing engines in order of preference, such as "fattree, updn", or "auto" */
    char engine[128];
    /* [root_count] node GUIDs of root switches; if root_count is 0, the engines find root switches
     * from the topology */
    uint64_t *roots;
    size_t root_count;
    /* forwarding tables, read from a file, for the routing engine "file"; shared; NULL: none */
    struct fab_tables *tables;
    /* partitions and their members; shared; NULL: the manager does not manage P_Keys */
    struct fab_partitions *partitions;
    /* routers to other subnets; shared; NULL: none are configured */
    struct fab_routers *routers;
    /* host, rack, row and slot of each node; shared; NULL: not configured */
    struct fab_locations *locations;
    /* names that the operator gives to nodes in place of their NodeDescriptions; shared; NULL:
     * none */
    struct fab_node_names *node_names;
    uint8_t pin_names; /* enum fab_pin_mode */
    /* pinned names of nodes; shared; NULL: patterns are compared with the names that nodes show
     * now */
    struct fab_pins *pins;
    /* true: a port that is both a full and a limited member of a partition gets both P_Keys */
    bool both_pkeys;
    /* directions in which switches enforce P_Keys: 1 inbound, 2 outbound, 3 both, 0 none */
    uint8_t enforce;
    /* maximum number of switches on a path that verification accepts; default 64 */
    uint16_t max_hops;
    struct fab_policy_congestion congestion;
    struct fab_policy_quotas quotas;
    struct fab_classes *classes; /* traffic classes; shared; NULL: all traffic is one class */
    /* number of traffic classes that have VLs of their own; with n such classes, a routing engine
     * may use only 1/n of the VLs; 0 means 1 */
    uint8_t lane_sets;
};

void fab_policy_defaults(struct fab_policy *p);
/* Checks all values of a policy. Returns NOMEM, or RANGE if a value is outside its range. After
 * RANGE, why[] has a sentence with the name of the setting. */
int fab_policy_validate(const struct fab_policy *p, char *why, size_t why_len);
/* Returns true if both policies set the same timers, thresholds and limits in PortInfo. */
bool fab_policy_same_port_settings(const struct fab_policy *a, const struct fab_policy *b);
int fab_policy_copy(const struct fab_policy *p, struct fab_policy *ret_copy); /* returns NOMEM */
void fab_policy_fini(struct fab_policy *p);

#endif
