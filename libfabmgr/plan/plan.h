/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan contains the writes that turn the observed state into the target, in a safe order.
 * Its ops (writes) are small and have no payload; fab_plan_encode makes the payload when a write is
 * sent.
 *
 * A plan has these stages. Each stage starts when all writes of the previous one are answered:
 *
 * SWITCH writes SwitchInfo (LinearFDBTop, life time) and PortInfo of switch port 0 (LID, SM LID).
 *
 * EARLY writes LFT blocks before links come up (lft_early.c). It writes all blocks of switches that
 * are cut off (none of their links to the rest of the fabric is Active). On other switches, old
 * entries may lead into a link that comes up. If they differ from the target, or if in->hold is
 * set, the stage makes them drop packets until the stage ROUTES. With in->restore, the stage also
 * repeats the former entries of doubtful blocks, so that stage ROUTES begins with tables that are
 * known.
 *
 * ISLS writes PortInfo of both ports of ISLs (MTU, VLs, timers), and takes ports from Init to
 * Armed.
 *
 * VLARB writes the VL arbitration tables of switch ports if there are several VLs. A VL gets its
 * share before packets use it, and keeps a share until no packet uses it any more.
 *
 * SL2VL, SL2VL_LINE and SL2VL_PAIR write SL-to-VL tables. A write of SL2VL sets the tables of all
 * pairs of ports of a switch. A write of SL2VL_LINE sets the tables of all pairs that have the same
 * in port, or the same out port. A write of SL2VL_PAIR sets the table of one pair. With one VL,
 * these stages write only tables that are known to differ from the target.
 *
 * ISLS_UP takes the ports of ISLs from Armed to Active, before any table of another switch leads
 * into their links.
 *
 * ROUTES writes the LFT blocks that differ from what the switch is known to hold, in the order of
 * lft_order.c; writes that end a packet loss come first. No write may close a loop or cut a working
 * path, in whatever order the writes that are under way take effect. Where this is not possible, or
 * was not analysed, `unordered` or `unchecked` is set (struct fab_plan).
 *
 * PKEYS_REMOVE removes P_Keys, and makes full memberships limited. PKEYS_ADD then writes everything
 * that still differs. So at any time two ports can communicate only if the old or the new tables
 * allow it.
 *
 * ENDPORTS writes PortInfo of adapters, routers and the switch ports that they are connected to
 * (LID, SM LID, P_Key enforcement), and the VL tables of adapters and routers.
 *
 * ENDPORTS_UP takes these ports from Armed to Active. All tables are written by then.
 */
#ifndef LIBFABMGR_PLAN_PLAN_H
#define LIBFABMGR_PLAN_PLAN_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* The values from which the VL tables of one port were computed. The device is known to hold these
 * tables, because it acknowledged their writes. The values of two ports of a switch determine the
 * SLtoVLMappingTable between these ports. Adapters and routers have one table per port. */
struct fab_observed_vl_port {
    /* Number of data VLs; 0: the values of this port are unknown. If port 0 of a switch has 0 here,
     * the values of all ports of the switch are unknown. */
    uint8_t vls;
    /* port class, on which the VLs of packets depend: an index of fab_observed_vls.vl[][] */
    uint8_t class;
    /* The VLArbitrationTables of the port are fab_observed_vls.arb[arbitrated - 1]. 0: unknown. */
    uint16_t arbitrated;
};
struct fab_observed_vls {
    uint32_t ports;
    /* [ports] by port id: the values from which the VL tables in the device were computed; NULL:
     * unknown for all ports */
    struct fab_observed_vl_port *port;
    /* [class of the in port][class of the out port][SL] the VL on which the switch forwards the
     * packet */
    uint8_t vl[FAB_VL_CLASSES][FAB_VL_CLASSES][FAB_SLS];
    struct fab_arb *arb;
    size_t arbs, arb_room;
};

/* The tables that devices are known to hold. The manager has read them, or has written them and the
 * device has acknowledged this. All ids are those of one snapshot. */
struct fab_observed {
    struct fab_lft lft;
    /* bitset of the LFT blocks that are known: bit sw * blocks + b stands for block b of switch
     * sw */
    uint64_t *known;
    /* Bitset of the doubtful LFT blocks, with the same bits as `known`. A block is doubtful if its
     * switch failed to acknowledge an LFT write after the manager had last read or written the
     * block. `lft` has the entries before that write. NULL: no block is doubtful. */
    uint64_t *doubtful;
    uint32_t blocks; /* number of LFT blocks per switch */
    struct fab_observed_vls vls;
    struct fab_blocks pkeys; /* P_Key blocks by port id */
};
/* Initialises *o so that no table is known. Returns NOMEM. */
int fab_plan_observed_init(struct fab_observed *o, uint32_t switch_count, uint32_t top);
void fab_plan_observed_fini(struct fab_observed *o);
void fab_plan_observed_set_block(struct fab_observed *o, uint32_t sw, uint32_t block,
                                 const uint8_t entries[FAB_LFT_BLOCK]);
/* Marks all LFT blocks of switch sw as unknown. */
void fab_plan_observed_forget(struct fab_observed *o, uint32_t sw);
/* Makes the known LFT blocks of switch sw doubtful, because sw did not acknowledge an LFT write.
 * Doubtful blocks count as unknown until fab_plan_observed_presume is called. */
void fab_plan_observed_doubt(struct fab_observed *o, uint32_t sw);
/* Makes all blocks that are still doubtful count as known, with their former entries. Call this
 * function before a plan is made, after the manager has tried to read these blocks. */
void fab_plan_observed_presume(struct fab_observed *o);
bool fab_plan_observed_is_doubtful(const struct fab_observed *o, uint32_t sw, uint32_t block);
bool fab_plan_observed_is_known(const struct fab_observed *o, uint32_t sw, uint32_t block);
/* Returns the number of the first LFT block of a switch that is unknown or doubtful. Searches from
 * block number `from` up to, but not including, block number `end`. Returns `end` if there is no
 * such block. */
uint32_t fab_plan_observed_next_unknown(const struct fab_observed *o, uint32_t sw, uint32_t from,
                                        uint32_t end);
void fab_plan_observed_forget_vls(struct fab_observed *o, const struct fab_fabric *f,
                                  uint32_t node);
/* Copies the known tables from the snapshot `old` to the ids of the snapshot `now`. Node GUIDs tell
 * which nodes are the same. The tables of switches that are only in `now` are unknown. top: the
 * highest LID in the LFTs of *ret. Returns NOMEM. */
int fab_plan_observed_remap(const struct fab_observed *from, const struct fab_fabric *old,
                            const struct fab_fabric *now, uint32_t top, struct fab_observed *ret);

/* Returns true if data packets may pass an ISL: one of its ports is Active, and the other port is
 * Active or Armed. A port in state Armed also receives data packets, and the first data packet
 * makes it Active (IBA 7.2.7). */
bool fab_plan_isl_carries(const struct fab_fabric *f, uint32_t port);

enum fab_plan_stage {
    FAB_STAGE_SWITCH,
    FAB_STAGE_EARLY,
    FAB_STAGE_ISLS,
    FAB_STAGE_VLARB,
    FAB_STAGE_SL2VL,
    FAB_STAGE_SL2VL_LINE,
    FAB_STAGE_SL2VL_PAIR,
    FAB_STAGE_ISLS_UP,
    FAB_STAGE_ROUTES,
    FAB_STAGE_PKEYS_REMOVE,
    FAB_STAGE_PKEYS_ADD,
    FAB_STAGE_ENDPORTS,
    FAB_STAGE_ENDPORTS_UP,
    FAB_STAGE_COUNT
};
struct fab_plan_op {
    uint32_t node; /* node id of the device */
    /* id of the port that has the attribute. For SWITCH_INFO, LFT and SL2VL of a switch, this is
     * port 0 of the switch. */
    uint32_t port;
    /* the attribute to write: SWITCH_INFO, PORT_INFO, LFT, PKEY_TABLE, SL2VL or VLARB */
    uint16_t attr_id;
    uint16_t block; /* LFT, PKEY_TABLE: block number */
    /* PortInfo: the port state to request, or FAB_STATE_NOP */
    uint8_t state;
    union {
        /* LFT: a bitset of entries that keep their old values in this write; a later write changes
         * them */
        uint64_t keep;
        uint64_t map; /* SL2VL: the table, as fab_target_sl2vl_pack packs it */
    };
    /* LFT: bitset of the entries that this write sets to NO_ROUTE (drop packets); a later write
     * sets their new values */
    uint64_t drain;
    uint32_t mod; /* SL2VL, VLARB, PKEY_TABLE: attribute modifier */
    bool removes; /* PKEY_TABLE: this write only removes keys */
    /* LFT: true if another write of this plan must take effect after this write */
    bool awaited;
    /* LFT: true if this write must take effect only after `awaited` writes: those of the same block
     * number or, if the plan is `stepwise`, those of any block number */
    bool waits;
    /* LFT: true if this write, and all later ones, may be sent only when all `awaited` writes
     * before it are answered */
    bool barrier;
    /* LFT: like `barrier`; in addition, packets that were sent before must have left the fabric */
    bool settle;
    /* LFT: true if this write of stage EARLY sets a doubtful block to its former entries, or makes
     * stale entries drop packets because the proof of the new tables assumes this. If the write
     * fails, no LFT write of a later stage may be sent, and no link may become Active. */
    bool restores;
};
/* The writes of a plan, in order. Writes without a barrier between them may be in flight at the
 * same time, and take effect in any order. */
struct fab_plan {
    struct fab_plan_op *ops; /* ordered by stage */
    uint32_t stage_start[FAB_STAGE_COUNT + 1];
    /* number of LFT writes that are sent before another write that should precede them, because no
     * safe order exists */
    uint32_t unordered;
    /* true: the order of some LFT writes was not analysed, because too many entries change. If
     * `unchecked` is true or `unordered` is not 0, the writes may cause loops and packet losses;
     * libfabmgr/transition can prove that they do not. */
    bool unchecked;
    /* true: after an `awaited` LFT write has failed, no LFT write that waits may be sent, whatever
     * its block number */
    bool stepwise;
    /* Some pairs that have a path before and after the plan have none for a time. This time begins
     * when ops[lossy_first] is sent, and ends when ops[lossy_end] is sent or the plan ends. If both
     * are 0, no pair loses its path. */
    uint32_t lossy_first, lossy_end;
    /* true: stage EARLY changes tables of switches that Active links connect with each other; only
     * libfabmgr/transition puts these writes into a safe order */
    bool early_mixes;
    /* true: stage EARLY has writes with `restores` */
    bool restores;
};
/* An LFT write that was not acknowledged. The switch may hold the entries of this write. */
struct fab_plan_lost {
    uint32_t sw, block;
    uint8_t entries[FAB_LFT_BLOCK];
};
struct fab_plan_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_target *target;
    const struct fab_observed *observed;
    uint32_t sm_lid;
    /* true: a port is written even if only its timers or thresholds differ, as after a change of
     * the policy. false: timers and thresholds are written only together with other fields, because
     * some devices do not keep them (attr_diff.c). */
    bool tune;
    /* true: the plan also sets ClientReregister on endports that are up, so that hosts repeat their
     * registrations */
    bool ask;
    /* LID of the former master, if the store has what hosts registered with it; 0: there was no
     * former master, or the store has nothing of it. If an endport that is up still has this LID as
     * MasterSMLID, the plan writes the new MasterSMLID without ClientReregister. */
    uint32_t former_sm_lid;
    /* fab_plan_make calls this function at intervals. If the function returns true, fab_plan_make
     * stops and returns BUSY. NULL: fab_plan_make never stops early. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
    /* true: an entry that leads into a link that is about to become Active drops packets until
     * stage ROUTES, even if the entry does not change (lft_early.c) */
    bool hold;
    /* true: stage EARLY restores doubtful blocks by writing their former entries again
     * (fab_plan_op.restores) */
    bool restore;
    /* [lost_count] the unacknowledged writes because of which blocks are doubtful */
    const struct fab_plan_lost *lost;
    uint32_t lost_count;
    struct fab_arb_cache *book; /* private */
};
/* Makes the plan. Returns INVAL if the target belongs to another fabric, BUSY if in->stopped()
 * returned true, or NOMEM. */
int fab_plan_make(const struct fab_plan_input *in, struct fab_plan *ret);
/* Makes a plan that brings up single ISLs and writes nothing else: the stages ISLS, VLARB, SL2VL
 * to SL2VL_PAIR and ISLS_UP of a plan by fab_plan_make. port[count] has the ports at both ends of
 * each link. Returns NOMEM. */
int fab_plan_make_links(const struct fab_plan_input *in, const uint32_t *port, size_t count,
                        struct fab_plan *ret);
/* Returns the PortInfo that a port of an ISL will report after the writes of a plan have brought
 * its link up. */
void fab_plan_port_when_up(const struct fab_plan_input *in, uint32_t port,
                           struct fab_port_info *ret);
void fab_plan_fini(struct fab_plan *p);
/* These functions keep `o` consistent with the VL tables in the devices. Before the caller carries
 * out a plan, it calls fab_plan_vls_begin, which marks as unknown the VL tables that the plan
 * writes. After the plan it calls fab_plan_vls_done, which records that all devices hold the tables
 * of the target (if the target has one VL: that all VL tables are unknown). Then it calls
 * fab_plan_observed_forget_vls for each device that did not accept a write. fab_plan_vls_done may
 * return NOMEM; then all VL tables count as unknown. */
void fab_plan_vls_begin(const struct fab_plan_input *in, const struct fab_plan *plan,
                        struct fab_observed *o);
int fab_plan_vls_done(const struct fab_plan_input *in, struct fab_observed *o);
/* Records, like fab_plan_vls_done, that the device `node` holds the VL tables of the target.
 * Returns NOMEM; then its VL tables count as unknown. Does nothing if the mapping of SLs to VLs has
 * changed since the last fab_plan_vls_done; tables that fab_plan_vls_begin marked as unknown then
 * stay unknown. */
int fab_plan_vls_done_at(const struct fab_plan_input *in, struct fab_observed *o, uint32_t node);
/* Encodes a write: the 64 bytes of the attribute, and the attribute modifier. Returns INVAL if
 * op->attr_id is not one of the attributes that struct fab_plan_op lists. */
int fab_plan_encode(const struct fab_plan_input *in, const struct fab_plan_op *op,
                    uint8_t data[FAB_SMP_DATA], uint32_t *ret_attr_mod);

#endif
