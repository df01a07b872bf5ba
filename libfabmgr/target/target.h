/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target: all tables that the manager wants in the devices of one fabric snapshot, as one
 * sealed value. Node and port ids are ids of that snapshot. LIDs have 32 bits in memory and 16 bits
 * on the wire.
 */
#ifndef LIBFABMGR_TARGET_TARGET_H
#define LIBFABMGR_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/pages.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/arb.h"
#include "libfabmgr/target/pkeys.h"
#include "libfabmgr/target/vls.h"

#define FAB_LFT_BLOCK 64
/* number of LFT entries in a page of struct fab_lft; a multiple of FAB_LFT_BLOCK */
#define FAB_LFT_PAGE 1024u
/* LFT entry that makes the switch drop the packet */
#define FAB_LFT_NO_ROUTE 0xff
#define FAB_LID_UNICAST_MAX 0xBFFFu

/* the LIDs of all ports */
struct fab_lids {
    uint32_t port_count; /* number of ports of the fabric */
    /* [port_count] base LID of each port; 0: the port has no LID */
    uint32_t *base;
    uint8_t *lmc; /* [port_count] LMC of each port, which owns 2^LMC LIDs */
    /* highest LID in use, LMC ranges included; 0: no LID is in use */
    uint32_t top;
    /* [top + 1] id of the port that owns each LID, or FAB_NONE */
    uint32_t *owner;
    /* private: number of structs that share the arrays; NULL: the arrays are not shared */
    int *owners;
};
int fab_target_lids_init(struct fab_lids *l, uint32_t port_count); /* returns NOMEM */
/* Computes owner[] and top from base[] and lmc[]. Returns EXISTS if the LIDs of two ports overlap,
 * or NOMEM. */
int fab_target_lids_index(struct fab_lids *l);
/* Makes *ret_other a second owner of the arrays of *l. From then on, neither owner may change the
 * arrays. Returns NOMEM. */
int fab_target_lids_share(struct fab_lids *l, struct fab_lids *ret_other);
void fab_target_lids_fini(struct fab_lids *l);

/*
 * Linear forwarding tables of all switches. Each switch has one row of entries, in the order of the
 * switch ids. An entry is the number of an output port, or FAB_LFT_NO_ROUTE.
 *
 * The rows of new tables are contiguous in memory, and engines fill them in place
 * (fab_target_lft_row). A version that was made from other tables is not contiguous: only the pages
 * in which it differs have their own memory, and it shares all other pages with those tables
 * (base/pages.h). Read tables with fab_target_lft_at, _block and _run, and change them with
 * fab_target_lft_set.
 */
struct fab_lft {
    uint32_t switch_count;
    uint32_t top; /* the highest LID */
    /* number of bytes of a switch's table: a multiple of FAB_LFT_BLOCK, greater than `top` */
    size_t stride;
    /* number of pages of a switch's table */
    uint32_t row_pages;
    /* [switch_count][stride] the entries of all switches in one block of memory. NULL: these tables
     * are a changed version of other tables, and their entries are only in `pages`. */
    uint8_t *entries;
    /* [switch_count][row_pages] the pages of the tables of all switches */
    struct fab_pages pages;
};
/* Allocates tables in which all entries are FAB_LFT_NO_ROUTE. Returns NOMEM if there is no
 * memory. */
int fab_target_lft_init(struct fab_lft *t, uint32_t switch_count, uint32_t top);
void fab_target_lft_fini(struct fab_lft *t);
/* Copies tables into new ones. Returns NOMEM. */
int fab_target_lft_copy(const struct fab_lft *t, struct fab_lft *ret_copy);
/* Copies the entries of switch `from_sw` in the tables `from` to switch `to_sw` in the tables `to`,
 * for the LIDs that both tables have. The tables `to` must be new and contiguous (to->entries is
 * not NULL). */
void fab_target_lft_copy_row(const struct fab_lft *from, uint32_t from_sw, struct fab_lft *to,
                             uint32_t to_sw);
/* Makes a second owner of the tables, and returns the struct for this owner. Both owners share the
 * memory. From then on, neither of them may write rows in place (fab_target_lft_row). */
struct fab_lft fab_target_lft_share(const struct fab_lft *t);
/* An owner changes an entry by three functions. fab_target_lft_unshare makes a separate version of
 * the tables for this owner, if they have other owners or newer versions; usually this version
 * still shares all pages (base/pages.h). fab_target_lft_own copies the page that has the entry, if
 * another version shares this page. fab_target_lft_set changes the entry. The first two functions
 * return OK or NOMEM. */
int fab_target_lft_unshare(struct fab_lft *t);
/* Allocates memory in advance, so that the next call of fab_target_lft_unshare takes less time. If
 * there is no memory, does nothing; fab_target_lft_unshare then takes longer. */
void fab_target_lft_prepare(const struct fab_lft *t);
int fab_target_lft_own(struct fab_lft *t, uint32_t sw, uint32_t lid);
void fab_target_lft_set(struct fab_lft *t, uint32_t sw, uint32_t lid, uint8_t port);
/* Returns the table of a switch, as an array indexed by LID. The tables must be new and contiguous
 * (t->entries is not NULL). */
static inline uint8_t *fab_target_lft_row(const struct fab_lft *t, uint32_t sw)
{
    return t->entries + (size_t)sw * t->stride;
}
/* Returns the address of the entry of a switch for a LID. The entries for the following LIDs are at
 * the following addresses, up to the end of the page. */
static inline const uint8_t *fab_target_lft_entry(const struct fab_lft *t, uint32_t sw, size_t lid)
{
    return t->pages.page[(size_t)sw * t->row_pages + lid / FAB_LFT_PAGE] + lid % FAB_LFT_PAGE;
}
/* Returns the entry of a switch for a LID below `stride`. */
static inline uint8_t fab_target_lft_at(const struct fab_lft *t, uint32_t sw, size_t lid)
{
    return *fab_target_lft_entry(t, sw, lid);
}
/* Returns the 64 entries of an LFT block. */
static inline const uint8_t *fab_target_lft_block(const struct fab_lft *t, uint32_t sw,
                                                  size_t block)
{
    return fab_target_lft_entry(t, sw, block * FAB_LFT_BLOCK);
}
/* Returns the address of the entry for `lid`. Sets *ret_count to the number of entries that can be
 * read from this address on: up to the end of the page, or up to the LID `top`. */
static inline const uint8_t *fab_target_lft_run(const struct fab_lft *t, uint32_t sw, uint32_t lid,
                                                uint32_t *ret_count)
{
    uint32_t page = FAB_LFT_PAGE - lid % FAB_LFT_PAGE, rest = t->top - lid + 1;
    *ret_count = page < rest ? page : rest;
    return fab_target_lft_entry(t, sw, lid);
}
/* Returns true if both tables have the same number of switches, the same `top` and the same
 * entries. */
bool fab_target_lft_same(const struct fab_lft *a, const struct fab_lft *b);
static inline uint32_t fab_target_lft_blocks(const struct fab_lft *t)
{
    return t->top / FAB_LFT_BLOCK + 1;
}

struct fab_choice;
struct fab_target {
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
    struct fab_pkeys pkeys;
    /* name of the engine that made the tables */
    char engine[32];
    /* a sentence for operators about the tables and the choice of the engine */
    char reason[400];
    /* How the engine was chosen (libfabmgr/target/choice.h); NULL: not recorded. The target owns
     * one reference to it. */
    struct fab_choice *choice;
    int refs; /* number of references; private, atomic */
};
struct fab_target *fab_target_new(void);
struct fab_target *fab_target_ref(const struct fab_target *t);
void fab_target_unref(struct fab_target *t);
/* Returns true if the target has several references, and therefore must not be changed. */
bool fab_target_is_shared(const struct fab_target *t);
/* Makes a target with one reference, which shares its memory with `t`. The caller may change only
 * the forwarding tables of the new target (fab_target_lft_unshare). Only one thread at a time may
 * call this function for targets that share memory (base/pages.h). Returns NOMEM. */
int fab_target_next(struct fab_target *t, struct fab_target **ret_next);
/* Makes a copy with one reference, which shares no memory with `t` except the record `choice`.
 * Returns NOMEM. */
int fab_target_clone(const struct fab_target *t, struct fab_target **ret_clone);

/* Returns true if the CapabilityMask of the port contains client reregistration. */
bool fab_target_can_reregister(const struct fab_port_info *info);
/* Computes the PortInfo that the manager writes to `port`, from the PortInfo that it read from the
 * port and its peer. NeighborMTU and OpVLs are the lowest values of both ends and the policy.
 * HOQLife and VLStallCount of a port that leads to an endport get the values that the policy has
 * for such ports. Fields of the link state get the value "no change" (IBA 14.2.5.6). LID and LMC,
 * SM LID, GID prefix, timers and error thresholds get the manager's values. So does the M_Key if
 * the port has none; otherwise it stays. */
void fab_target_port_info(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_lids *lids, uint32_t port, uint32_t sm_lid,
                          struct fab_port_info *ret_want);
/* Returns the number of data VLs (1..FAB_VLS_MAX) that the link of `port` has when both its ports
 * have the OpVLs that fab_target_port_info computes; 1 if the number is unknown. */
uint8_t fab_target_port_vls(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* Returns the MTU of a port's link in bytes; 4096 if the devices do not report it. */
uint32_t fab_target_mtu(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port);
/* Returns the SLtoVLMappingTable (IBA 14.2.5.8), packed by fab_target_sl2vl_pack, for packets that
 * enter a switch by port id `in` and leave by port id `out`. An adapter or router has one table,
 * with in == out. With one VL, all SLs map to VL 0. */
uint64_t fab_target_sl2vl(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_vls *v, uint32_t in, uint32_t out);
/* Returns the SL that the engine chose for the path from port id `src` to `lid`; 0 if there is no
 * such path or only one VL. With traffic classes, packets use the SL that fab_target_level_sl
 * returns. */
uint8_t fab_target_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                      const struct fab_vls *v, uint32_t src, uint32_t lid);
/* fab_target_level_sl returns the SL of packets of traffic class `level` from port id `src` to
 * `lid`. fab_target_vl returns the VL on which packets of SL `sl` leave a switch by port id `out`
 * after they entered it by port id `in`. For the endport that sends the packets, `in` and `out` are
 * the same port. */
uint8_t fab_target_level_sl(const struct fab_fabric *f, const struct fab_lids *lids,
                            const struct fab_vls *v, uint8_t level, uint32_t src, uint32_t lid);
uint8_t fab_target_vl(const struct fab_fabric *f, const struct fab_policy *p,
                      const struct fab_vls *v, uint32_t in, uint32_t out, uint8_t sl);
/* Copies `v`, with the ids of the snapshot `old` replaced by those of `now`: in the SLs, the
 * classes of ports and the tree `branch`. Switches and ports are recognised by node GUID and port
 * number. New switches, and new LIDs up to `top`, get SL 0. New ports get class 0. New switches are
 * not in the tree. Returns NOMEM. */
int fab_target_vls_remap(const struct fab_vls *v, const struct fab_fabric *old,
                         const struct fab_fabric *now, uint32_t top, struct fab_vls *ret);
/* Computes the SwitchInfo that the manager writes to switch `sw` (IBA 14.2.5.4), from the
 * SwitchInfo that was read. LinearFDBTop and LifeTimeValue get the manager's values, and so does
 * MulticastFDBTop if the switch supports it. Default ports that are external ports of the switch
 * are replaced by port numbers at which it drops packets. PortStateChange keeps the value that was
 * read: if the bit was set, the write clears it. */
void fab_target_switch_info(const struct fab_fabric *f, const struct fab_policy *p,
                            const struct fab_lids *lids, uint32_t sw,
                            struct fab_switch_info *ret_want);

#endif
