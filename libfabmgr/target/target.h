/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target: the tables that the manager wants in the devices, in one sealed value, for one fabric
 * snapshot (ids are that snapshot's). LIDs have 32 bits in memory and 16 bits on the wire.
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
#define FAB_LFT_NO_ROUTE 0xff /* a switch drops packets whose LFT entry is 255 */
#define FAB_LID_UNICAST_MAX 0xBFFFu

/* The LIDs of all ports that own one. */
struct fab_lids {
    uint32_t port_count; /* of the fabric */
    uint32_t *base;      /* [port_count] base LID, 0: none */
    uint8_t *lmc;        /* [port_count] */
    uint32_t top;        /* highest LID in use, LMC range included; 0: none */
    uint32_t *owner;     /* [top + 1] port id, or FAB_NONE */
};
int fab_target_lids_init(struct fab_lids *l, uint32_t port_count); /* NOMEM */
/* Computes owner[] and top from base[] and lmc[]. EXISTS: two ports have the same LID. NOMEM. */
int fab_target_lids_index(struct fab_lids *l);
void fab_target_lids_fini(struct fab_lids *l);

/* Linear forwarding tables of all switches, one row for each switch id. */
struct fab_lft {
    uint32_t switch_count;
    uint32_t top;     /* the highest LID */
    size_t stride;    /* bytes of a row: a multiple of FAB_LFT_BLOCK, > top */
    uint8_t *entries; /* [switch_count][stride] output port, or FAB_LFT_NO_ROUTE */
};
/* All entries are FAB_LFT_NO_ROUTE. NOMEM. */
int fab_target_lft_init(struct fab_lft *t, uint32_t switch_count, uint32_t top);
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
    char reason[1120]; /* a sentence for the user: why this engine, and why not the others */
    int refs;          /* private, atomic */
};
struct fab_target *fab_target_new(void);
struct fab_target *fab_target_ref(const struct fab_target *t);
void fab_target_unref(struct fab_target *t);
bool fab_target_is_shared(const struct fab_target *t); /* others hold references, too */
/* A copy with one reference, which may be changed. NOMEM. */
int fab_target_clone(const struct fab_target *t, struct fab_target **ret_clone);

bool fab_target_can_reregister(const struct fab_port_info *info); /* by its CapabilityMask */
/* The PortInfo to write to `port`, from what was read of it and of its peer: LID and LMC, SM LID,
 * M_Key, GID prefix, timers, NeighborMTU and OpVLs (the lowest of both ends and the policy),
 * HOQLife and VLStallCount (leaf values towards endports), error thresholds. Fields of link state
 * are "no change" (IBA 14.2.5.6). */
void fab_target_port_info(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_lids *lids, uint32_t port, uint32_t sm_lid,
                          struct fab_port_info *ret_want);
/* How many data VLs the link of `port` will have, 1..FAB_VLS_MAX, when both ports have the OpVLs of
 * fab_target_port_info; 1 if unknown. */
uint8_t fab_target_port_vls(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* The MTU of a port's link in bytes; 4096 if the devices do not report it. */
uint32_t fab_target_mtu(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* The SLtoVLMappingTable (IBA 14.2.5.8), packed by fab_target_sl2vl_pack, for packets that enter a
 * switch by port id `in` and leave by port id `out`. An adapter or router has one table, with in ==
 * out. With one VL, all SLs map to VL 0. */
uint64_t fab_target_sl2vl(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_vls *v, uint32_t in, uint32_t out);
/* The SL of packets from port id src to `lid`. fab_target_vl gives the VL on which they leave port
 * id `out` after they entered by `in`; when src sends them, in == out == src. */
uint8_t fab_target_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                      const struct fab_vls *v, uint32_t src, uint32_t lid);
/* The SL of packets of a traffic class. */
uint8_t fab_target_level_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                            const struct fab_vls *v, uint8_t level, uint32_t src, uint32_t lid);
uint8_t fab_target_vl(const struct fab_fabric *f, const struct fab_policy *p,
                      const struct fab_vls *v, uint32_t in, uint32_t out, uint8_t sl);
/* The SwitchInfo to write (IBA 14.2.5.4): LinearFDBTop, MulticastFDBTop if the switch has it,
 * LifeTimeValue, and PortStateChange cleared. */
void fab_target_switch_info(const struct fab_fabric *f, const struct fab_policy *p,
                            const struct fab_lids *lids, uint32_t sw,
                            struct fab_switch_info *ret_want);

#endif
