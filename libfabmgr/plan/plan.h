/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: observed against target, the least writes in a safe order. Ops are small (no payload);
 * the payload is encoded when the write is sent.
 *
 * Order, as stages; a stage starts when the one before is answered:
 *
 * SWITCH: SwitchInfo (LinearFDBTop, life time), switch port 0 (LID, SM LID).
 *
 * STALE: LFT blocks with entries that lead into a cable which comes up, and shall not: these drop
 * until ROUTES.
 *
 * TRUNKS: PortInfo of both ends of cables between switches: MTU, VLs, timers; Init -> Armed.
 *
 * TRUNKS_UP: Armed -> Active: no table shall lead into a cable that does not carry traffic yet.
 *
 * SHARES: with several lanes, VL arbitration of switch ports: each lane has its part before
 * packets go by it, and keeps one until they do not any more.
 *
 * LANES: SL to VL, where one write does for all pairs of ports of a switch; then, each a stage of
 * its own, LANES_LINE where it does for all pairs with one port, and LANES_PAIR what is left, pair
 * by pair. With one lane only what is known to be something else.
 *
 * ROUTES: LFT blocks that differ from what the switch is known to hold, in the order of order.c:
 * first those that end a loss, and none that would close a loop or cut a path that works, in
 * whatever mixture of old and new tables there is on the way.
 *
 * PKEYS_TAKE: P_Keys that go, and full memberships that become limited; then, as PKEYS_GIVE, all
 * that still differs. So nobody talks on the way who does neither before nor after.
 *
 * ENDS: PortInfo of adapters, routers and of the switch ports before them: LID, SM LID, whether
 * P_Keys are checked; lanes of adapters and routers.
 *
 * ENDS_UP: Armed -> Active: an end that comes up finds its routes in place.
 */
#ifndef LIBFABMGR_PLAN_PLAN_H
#define LIBFABMGR_PLAN_PLAN_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* The lanes that devices are known to hold, as they were written and acknowledged: what they come
 * from, port by port. For each two ports of a switch that are known, the SLtoVLMappingTable between
 * them follows from it; adapters and routers have one table a port. */
struct fab_observed_vl_port {
    uint8_t vls; /* data VLs of the port; 0: not known (of a switch's port 0: nothing of it is) */
    uint8_t class;
    uint16_t arbitrated; /* its VLArbitrationTables are arb[this - 1]; 0: not known */
};
struct fab_observed_vls {
    uint32_t ports;
    struct fab_observed_vl_port *port; /* [ports] by port id; NULL: nothing is known */
    uint8_t vl[FAB_VL_CLASSES][FAB_VL_CLASSES][FAB_SLS]; /* as in struct fab_vls */
    struct fab_arb *arb;
    size_t arbs, arb_room;
};

/* What the switches are known to hold, by switch id of one snapshot: read back from them, or
 * written and acknowledged. */
struct fab_observed {
    struct fab_lft lft;
    uint64_t *known; /* bitset of [switch_count][blocks of lft.stride] */
    uint32_t blocks; /* per switch */
    struct fab_observed_vls lanes;
    struct fab_blocks pkeys; /* by port id */
};
int fab_plan_observed_init(struct fab_observed *o, uint32_t switch_count, uint32_t top);
void fab_plan_observed_fini(struct fab_observed *o);
void fab_plan_observed_set_block(struct fab_observed *o, uint32_t sw, uint32_t block,
                                 const uint8_t entries[FAB_LFT_BLOCK]);
void fab_plan_observed_forget(struct fab_observed *o,
                              uint32_t sw); /* rebooted, or answered strangely */
bool fab_plan_observed_is_known(const struct fab_observed *o, uint32_t sw, uint32_t block);
void fab_plan_observed_forget_vls(struct fab_observed *o, const struct fab_fabric *f,
                                  uint32_t node);
/* Carries over to the ids of another snapshot by node GUID; unknown switches start unknown. */
int fab_plan_observed_remap(const struct fab_observed *from, const struct fab_fabric *old,
                            const struct fab_fabric *now, uint32_t top, struct fab_observed *ret);

enum fab_plan_stage {
    FAB_STAGE_SWITCH,
    FAB_STAGE_STALE,
    FAB_STAGE_ISLS,
    FAB_STAGE_ISLS_UP,
    FAB_STAGE_VLARB,
    FAB_STAGE_SL2VL,
    FAB_STAGE_SL2VL_LINE,
    FAB_STAGE_SL2VL_PAIR,
    FAB_STAGE_ROUTES,
    FAB_STAGE_PKEYS_REMOVE,
    FAB_STAGE_PKEYS_ADD,
    FAB_STAGE_ENDPORTS,
    FAB_STAGE_ENDPORTS_UP,
    FAB_STAGE_COUNT
};
struct fab_plan_op {
    uint32_t node;    /* node id to send to */
    uint32_t port;    /* port id, for PortInfo and VLARB; else one at which the node is reached */
    uint16_t attr_id; /* SWITCH_INFO, PORT_INFO, LFT, PKEY_TABLE, SL2VL, VLARB */
    uint16_t block;   /* LFT, PKEY_TABLE */
    uint8_t state;    /* PortInfo: port state to ask for, or FAB_STATE_NOP */
    union {
        uint64_t keep; /* LFT: a bit for each entry that stays as it is; a later write changes it */
        uint64_t map;  /* SL2VL: as fab_target_sl2vl_pack has it */
    };
    uint64_t drain; /* LFT: a bit for each entry that drops; a later write changes it */
    uint32_t mod;   /* SL2VL, VLARB: attribute modifier */
    bool takes;     /* PKEY_TABLE: only what goes */
    bool awaited;   /* LFT: there are later writes that must not come before this one */
    bool waits;     /* LFT: it is one of those, for some write of the same block number */
    bool barrier;   /* LFT: send it, and what follows, when all awaited ones before are answered */
};
/* Writes that no barrier parts may be under way together, and take effect in any order. */
struct fab_plan {
    struct fab_plan_op *ops; /* ordered by stage */
    uint32_t stage_start[FAB_STAGE_COUNT + 1];
    uint32_t unordered; /* table writes for which there is no good order */
    bool unchecked;     /* too much changes for the order to be looked at as a whole. With either,
                           loops and losses are possible on the way */
};
struct fab_plan_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_target *target;
    const struct fab_observed *observed;
    uint32_t sm_lid;
    bool tune; /* the policy changed: write timers and thresholds to ports that are up, too; else
                  they go along with other writes only, since some devices do not keep them */
    bool ask;  /* ends that are up are told to register again (ClientReregister), too */
    struct fab_arb_cache *book; /* private */
};
int fab_plan_make(const struct fab_plan_input *in, struct fab_plan *ret);
void fab_plan_fini(struct fab_plan *p);
/* Keeping `o` true to the lanes in the devices: before a plan is carried out, what it writes
 * becomes unknown; when it was, all hold what the target says, but for those who failed to take a
 * write: for these call fab_plan_observed_forget_vls after it. NOMEM: all are unknown. */
void fab_plan_vls_begin(const struct fab_plan_input *in, const struct fab_plan *plan,
                        struct fab_observed *o);
int fab_plan_vls_done(const struct fab_plan_input *in, struct fab_observed *o);
/* The 64 attribute bytes and the attribute modifier of an op's Set. */
int fab_plan_encode(const struct fab_plan_input *in, const struct fab_plan_op *op,
                    uint8_t data[FAB_SMP_DATA], uint32_t *ret_attr_mod);

#endif
