/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target: the tables that shall stand in the hardware, in one sealed value, for one fabric
 * snapshot (ids are that snapshot's). LIDs are 32-bit inside; the 16-bit limit is the wire's.
 */
#ifndef LIBFABMGR_TARGET_TARGET_H
#define LIBFABMGR_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/arb.h"
#include "libfabmgr/target/pkeys.h"
#include "libfabmgr/target/vls.h"

#define FAB_LFT_BLOCK 64
#define FAB_LFT_NO_ROUTE 0xff /* InfiniBand: 255 in an LFT entry drops the packet */
#define FAB_LID_UNICAST_MAX 0xBFFFu

/* LIDs of every port that owns one. */
struct fab_lids {
    uint32_t port_count; /* of the fabric */
    uint32_t *base;      /* [port_count] base LID, 0: none */
    uint8_t *lmc;        /* [port_count] */
    uint32_t top;        /* highest LID in use, LMC range included; 0: none */
    uint32_t *owner;     /* [top + 1] port id, or FAB_NONE */
};
int fab_target_lids_init(struct fab_lids *l, uint32_t port_count);
/* Builds owner[] and top from base[] and lmc[]. EXISTS: two ports claim one LID. */
int fab_target_lids_index(struct fab_lids *l);
void fab_target_lids_fini(struct fab_lids *l);

/* Linear forwarding tables of all switches, one row a switch id. */
struct fab_lft {
    uint32_t switch_count;
    uint32_t top;     /* highest LID that has a meaning */
    size_t stride;    /* bytes a row: a multiple of FAB_LFT_BLOCK, > top */
    uint8_t *entries; /* [switch_count][stride], FAB_LFT_NO_ROUTE where nothing */
};
int fab_target_lft_init(struct fab_lft *t, uint32_t switch_count, uint32_t top); /* all NO_ROUTE */
void fab_target_lft_fini(struct fab_lft *t);
static inline uint8_t *fab_target_lft_row(const struct fab_lft *t, uint32_t sw)
{
    return t->entries + (size_t)sw * t->stride;
}
static inline uint32_t fab_target_lft_blocks(const struct fab_lft *t)
{
    return t->top / FAB_LFT_BLOCK + 1;
}

struct fab_target {
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_pkeys pkeys;
    char engine[32];   /* the engine that made the tables */
    char reason[1120]; /* a sentence: what it saw, and which ones were passed over, why */
    int refs;          /* private, atomic */
};
struct fab_target *fab_target_new(void);
struct fab_target *fab_target_ref(const struct fab_target *t);
void fab_target_unref(struct fab_target *t);
bool fab_target_is_shared(const struct fab_target *t); /* others hold references, too */
/* A copy of its own, for changes. NOMEM. */
int fab_target_clone(const struct fab_target *t, struct fab_target **ret_clone);

bool fab_target_can_reregister(const struct fab_port_info *info); /* by its CapabilityMask */
/* The PortInfo that `port` shall have, given what was read of it and of its peer: LID and LMC,
 * SM LID, M_Key, prefix, timers, NeighborMTU (the lesser of both ends and of the policy), OpVLs
 * (likewise), HOQ and stall (leaf values towards adapters), error thresholds; link state fields
 * left at "no change". Source: IBA 14.2.5.6. */
void fab_target_port_info(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_lids *lids, uint32_t port, uint32_t sm_lid,
                          struct fab_port_info *ret_want);
/* The data VLs that the cable of `port` will have, 1..FAB_VLS_MAX, by OpVLs as above at both ends;
 * 1 where it is not known. */
uint8_t fab_target_port_vls(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* Bytes that packets over a port's cable carry at most; 4096 where devices do not say. */
uint32_t fab_target_mtu(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* The SLtoVLMappingTable, as fab_target_sl2vl_pack has it, of what comes into a switch by port id
 * `in` and leaves by port id `out`; an adapter or router has one table, in == out. With one lane:
 * all on VL 0. IBA 14.2.5.8. */
uint64_t fab_target_sl2vl(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_vls *v, uint32_t in, uint32_t out);
/* The SL of packets from port id src to `lid`, and the VL by which they leave port id `out` having
 * come in by `in` (out of src itself: in == out == src). */
uint8_t fab_target_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                      const struct fab_vls *v, uint32_t src, uint32_t lid);
/* Likewise of packets of a traffic class. */
uint8_t fab_target_level_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                            const struct fab_vls *v, uint8_t level, uint32_t src, uint32_t lid);
uint8_t fab_target_vl(const struct fab_fabric *f, const struct fab_policy *p,
                      const struct fab_vls *v, uint32_t in, uint32_t out, uint8_t sl);
/* What SwitchInfo shall say: LinearFDBTop, MulticastFDBTop where there is one, LifeTimeValue,
 * PortStateChange cleared. IBA 14.2.5.4. */
void fab_target_switch_info(const struct fab_fabric *f, const struct fab_policy *p,
                            const struct fab_lids *lids, uint32_t sw,
                            struct fab_switch_info *ret_want);

#endif
