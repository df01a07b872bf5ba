/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves that multicast forwarding tables are correct. The proof uses the fabric, the MFT blocks
 * and the members alone, and is independent of the code that makes the trees (libfabmgr/mcast).
 *
 * A switch forwards a multicast packet by all ports in the port mask of its MLID, except the port
 * by which the packet came in (IBA 18.2.4.3.3). Let the masks of an MLID form a tree, and let each
 * branch be in the masks of both its ends. Then a packet of any sender passes each switch of the
 * tree once. So the proof checks for each MLID that
 *   - each port in a mask leads to a receiving member, or over a working link to a switch whose
 *     mask has the port at the other end;
 *   - these branches form no cycle;
 *   - all members in the same connected component of the fabric are at switches of one tree, and
 *     the mask of each such switch has the ports of its receivers.
 *
 * A packet waits in the input buffer of a switch until each of its copies has room in the next
 * buffer. So each input channel depends on each output channel of the mask. Unicast and multicast
 * packets together are free of deadlocks if the graph of all dependencies has no cycle (Dally &
 * Seitz 1987). This is enough, because a switch sends a packet only if there are credits for the
 * whole packet (IBA 7.9): a copy that is being sent never waits for another copy. (In wormhole
 * networks it can wait, and multicast needs further rules: Lin, McKinley, Ni, Deadlock-free
 * multicast wormhole routing in 2-D mesh multicomputers, IEEE TPDS 5, 1994.)
 */
#ifndef LIBFABMGR_VERIFY_MULTICAST_H
#define LIBFABMGR_VERIFY_MULTICAST_H

#include "libfabmgr/target/blocks.h"
#include "libfabmgr/verify/channels.h"
#include "libfabmgr/verify/verify.h"

#define FAB_VERIFY_MLID_FIRST 0xc000u
#define FAB_VERIFY_MLIDS 0x3fffu
/* number of MLID groups (32 MLIDs each) */
#define FAB_VERIFY_MLID_GROUPS 512

struct fab_verify_multicast_member {
    /* GUID of the port; members whose port is absent or down do not count */
    uint64_t guid;
    /* true: the member receives packets and may send; false: it only sends */
    bool receives;
};
struct fab_verify_multicast_lid {
    uint16_t mlid;
    /* bitset of the SLs of packets to this MLID */
    uint16_t sls;
    /* the members of this MLID are member[first] to member[first + count - 1]; a port may occur
     * several times */
    uint32_t first, count;
};
struct fab_verify_multicast_input {
    const struct fab_fabric *fabric;
    /* The MFT blocks, by switch id. A block has the entries of one MLID group for 16 ports. Its
     * number is the index of the MLID group + 512 * the index of the 16 ports (IBA 14.2.5.12). In
     * absent blocks, all port masks count as zero. */
    const struct fab_blocks *mft;
    const struct fab_verify_multicast_member *member;
    /* [lids] the MLIDs to check, ascending, each of them once. The port masks of all other MLIDs
     * must be zero. */
    const struct fab_verify_multicast_lid *lid;
    uint32_t lids;
    /* bitset of the MLID groups to check; NULL: all groups */
    const uint64_t *groups;
    /* The dependencies of the unicast tables of the same fabric, and of the multicast trees of
     * earlier proofs with `keep`. The new trees must close no cycle with them. NULL: the proof does
     * not check dependencies. */
    struct fab_verify_channels *unicast;
    /* true: if the proof finds no cycle, it adds the dependencies of the checked trees to
     * `unicast`, for later proofs */
    bool keep;
};
struct fab_multicast_verdict {
    /* number of MLIDs that were checked, and number of MLIDs that fail */
    uint32_t lids, failed;
    uint64_t members; /* number of members checked */
    /* number of members that get no packets, because no links connect them with the tree */
    uint64_t unserved;
    uint64_t failed_groups[FAB_VERIFY_MLID_GROUPS / 64]; /* bitset of groups with failures */
    /* The first failure:
     *   FAB_OK             there is none
     *   FAB_E_UNREACHABLE  a member gets no packets, or none from some members
     *   FAB_E_LOOP         the branches of the MLID form a cycle
     *   FAB_E_DENIED       a mask contains a port to an endport that is no receiver, or any port
     *                      although the MLID is not in `lid`
     *   FAB_E_INVAL        a mask contains a port that has no working link or does not exist
     *   FAB_E_LIMIT        the MFT of a switch is too small to have an entry for the MLID */
    int kind;
    uint16_t mlid; /* MLID of the first failure */
    /* Port id at the first failure. FAB_E_UNREACHABLE: the port of the member, or a switch port of
     * a link that is in the port mask of only one of its two switches. FAB_E_LOOP, DENIED, INVAL:
     * the switch port in the port mask, or port 0 of the switch if the port does not exist.
     * FAB_E_LIMIT (the MFT is too small): port 0 of the switch. */
    uint32_t port;
    /* true: dependencies were checked, because in->unicast was set; false: the members below are
     * undefined */
    bool with_unicast;
    /* `alone` is true if multicast packets alone cannot deadlock, and `together` if multicast and
     * unicast packets together cannot deadlock. If one of them is false, `cycle` is a cycle of
     * dependencies; if both are, it is a cycle of multicast packets alone. Without a cycle,
     * cycle.kind is FAB_OK. */
    bool alone, together;
    uint64_t dependencies; /* number of dependencies of multicast packets */
    struct fab_witness cycle;
};
/* Proves that the MFTs are correct, or finds a witness. Returns OK if *ret is filled, whether the
 * proof succeeded or not, or NOMEM. */
int fab_verify_multicast(const struct fab_verify_multicast_input *in,
                         struct fab_multicast_verdict *ret);
void fab_verify_multicast_fini(struct fab_multicast_verdict *v);
/* Writes the first failure as text, or the cycle if all masks are correct. The caller frees the
 * text. Returns NOMEM if there is no memory. */
int fab_verify_multicast_text(const struct fab_fabric *f, const struct fab_multicast_verdict *v,
                              char **ret_text);

#endif
