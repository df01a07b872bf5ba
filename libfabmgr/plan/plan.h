/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan: the fewest writes that turn the observed state into the target, in a safe order. Ops
 * are small and have no payload; the payload is encoded when the write is sent.
 *
 * The stages, in order; a stage starts when the previous one is answered:
 *
 * SWITCH: SwitchInfo (LinearFDBTop, life time), switch port 0 (LID, SM LID).
 *
 * STALE: LFT blocks with entries that lead into a link which comes up, and must not: these entries
 * drop packets until ROUTES.
 *
 * ISLS: PortInfo of both ports of links between switches: MTU, VLs, timers; Init -> Armed.
 *
 * ISLS_UP: Armed -> Active: no table may lead into a link that does not carry traffic yet.
 *
 * VLARB: with several VLs, VL arbitration of switch ports. Each VL has its share before packets
 * use it, and keeps one until no packet uses it any more.
 *
 * SL2VL: SL to VL, as far as one write serves all pairs of ports of a switch. Then, each as a
 * stage of its own, SL2VL_LINE, where one write serves all pairs with one port, and SL2VL_PAIR,
 * the remaining pairs one by one. With one VL only tables that are known to be different are
 * written.
 *
 * ROUTES: LFT blocks that differ from what the switch is known to hold, in the order of
 * lft_order.c: first those that end a loss. No write may close a loop or cut a working path,
 * whatever mixture of old and new tables exists at that moment.
 *
 * PKEYS_REMOVE: P_Keys that are removed, and full memberships that become limited; then PKEYS_ADD,
 * everything that still differs. So two ports can communicate in between only if they can before or
 * after.
 *
 * ENDPORTS: PortInfo of adapters, routers and of the switch ports in front of them: LID, SM LID,
 * whether P_Keys are checked; VL tables of adapters and routers.
 *
 * ENDPORTS_UP: Armed -> Active: an endport that comes up finds its routes in place.
 */
#ifndef LIBFABMGR_PLAN_PLAN_H
#define LIBFABMGR_PLAN_PLAN_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* The VL tables that devices are known to hold, as they were written and acknowledged. They are
 * stored as the values from which they are computed, port by port: the values of two known ports of
 * a switch determine the SLtoVLMappingTable between them. Adapters and routers have one table a
 * port. */
struct fab_observed_vl_port {
    uint8_t vls; /* data VLs of the port; 0: not known (of a switch's port 0: no port is known) */
    uint8_t class;
    uint16_t arbitrated; /* its VLArbitrationTables are arb[arbitrated - 1]; 0: not known */
};
struct fab_observed_vls {
    uint32_t ports;
    struct fab_observed_vl_port *port; /* [ports] by port id; NULL: nothing is known */
    uint8_t vl[FAB_VL_CLASSES][FAB_VL_CLASSES][FAB_SLS]; /* as in struct fab_vls */
    struct fab_arb *arb;
    size_t arbs, arb_room;
};

/* The tables that devices are known to hold, by the ids of one snapshot, either read or written and
 * acknowledged. */
struct fab_observed {
    struct fab_lft lft;
    uint64_t *known; /* bitset of [switch_count][blocks of lft.stride] */
    uint32_t blocks; /* per switch */
    struct fab_observed_vls vls;
    struct fab_blocks pkeys; /* P_Key blocks by port id */
};
/* Nothing is known at first. Returns NOMEM. */
int fab_plan_observed_init(struct fab_observed *o, uint32_t switch_count, uint32_t top);
void fab_plan_observed_fini(struct fab_observed *o);
void fab_plan_observed_set_block(struct fab_observed *o, uint32_t sw, uint32_t block,
                                 const uint8_t entries[FAB_LFT_BLOCK]);
void fab_plan_observed_forget(struct fab_observed *o,
                              uint32_t sw); /* after a reboot, or an unexpected answer */
bool fab_plan_observed_is_known(const struct fab_observed *o, uint32_t sw, uint32_t block);
void fab_plan_observed_forget_vls(struct fab_observed *o, const struct fab_fabric *f,
                                  uint32_t node);
/* Moves the known tables to the ids of another snapshot, by node GUID; the tables of other switches
 * are unknown. Returns NOMEM. */
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
    uint32_t node;    /* node id of the device */
    uint32_t port;    /* port id, for PortInfo and VLARB; else a port at which the node is
                         reached */
    uint16_t attr_id; /* SWITCH_INFO, PORT_INFO, LFT, PKEY_TABLE, SL2VL, VLARB */
    uint16_t block;   /* LFT, PKEY_TABLE */
    uint8_t state;    /* PortInfo: the port state to request, or FAB_STATE_NOP */
    union {
        uint64_t keep; /* LFT: a bit for each entry that keeps its old value; a later write
                          changes it */
        uint64_t map;  /* SL2VL: in the form of fab_target_sl2vl_pack */
    };
    uint64_t drain; /* LFT: a bit for each entry that drops packets; a later write changes it */
    uint32_t mod;   /* SL2VL, VLARB: attribute modifier */
    bool removes;   /* PKEY_TABLE: this write only removes keys */
    bool awaited;   /* LFT: later writes must not take effect before this one */
    bool
        waits; /* LFT: it must not take effect before some awaited write of the same block number */
    bool barrier; /* LFT: send it and all later writes only when all awaited writes before it are
                     answered */
};
/* Writes without a barrier between them may be in flight together and take effect in any order. */
struct fab_plan {
    struct fab_plan_op *ops; /* ordered by stage */
    uint32_t stage_start[FAB_STAGE_COUNT + 1];
    uint32_t unordered; /* LFT writes for which no safe order exists */
    bool unchecked; /* too many entries change for a complete analysis of the order. If this is set
                       or unordered is not 0, loops and losses are possible while the writes are
                       under way */
};
struct fab_plan_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_target *target;
    const struct fab_observed *observed;
    uint32_t sm_lid;
    bool tune; /* the policy changed: write timers and thresholds also to ports that are up. Else
                  they are written only along with other writes, because some devices do not keep
                  them */
    bool ask;  /* also set ClientReregister on endports that are up, so that they register again */
    struct fab_arb_cache *book; /* private */
};
/* Returns INVAL (the target belongs to another fabric) or NOMEM. */
int fab_plan_make(const struct fab_plan_input *in, struct fab_plan *ret);
void fab_plan_fini(struct fab_plan *p);
/* These keep `o` consistent with the VL tables in the devices. Call _begin before a plan is carried
 * out: the tables that the plan writes become unknown. Call _done afterwards: all devices are known
 * to hold the tables of the target. For devices that failed to take a write, call
 * fab_plan_observed_forget_vls afterwards. _done returns NOMEM: then all are unknown. */
void fab_plan_vls_begin(const struct fab_plan_input *in, const struct fab_plan *plan,
                        struct fab_observed *o);
int fab_plan_vls_done(const struct fab_plan_input *in, struct fab_observed *o);
/* Encodes the 64 attribute bytes and the attribute modifier of an op's Set. Returns INVAL for an
 * op of another attribute. */
int fab_plan_encode(const struct fab_plan_input *in, const struct fab_plan_op *op,
                    uint8_t data[FAB_SMP_DATA], uint32_t *ret_attr_mod);

#endif
