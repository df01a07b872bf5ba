/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof that tables are correct. It uses the tables alone and is independent of every engine.
 * It checks that
 *   - each endport and each switch reaches all others of its connected component, over at most
 *     max_hops switches, without a loop, and without using a port whose link is down;
 *   - the channel dependency graph, including traffic to switches, is acyclic (Dally & Seitz 1987);
 *     with several VLs, a link has one channel for each VL;
 *   - the tables exceed no limit of a device.
 *
 * If the proof fails, the verdict has a witness that a person can follow hop by hop.
 */
#ifndef LIBFABMGR_VERIFY_VERIFY_H
#define LIBFABMGR_VERIFY_VERIFY_H

#include <stdbool.h>

#include "libfabmgr/base/pool.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_witness {
    /* FAB_OK (none), FAB_E_UNREACHABLE, FAB_E_LOOP, FAB_E_CYCLE, FAB_E_LIMIT, or FAB_E_INVAL (an
     * entry names a port without a working link, or a port that does not exist) */
    int kind;
    /* port ids of source and destination; FAB_NONE if the witness is a cycle, or a device whose
     * limit is exceeded */
    uint32_t src, dst;
    uint32_t lid; /* destination LID */
    /* port ids: the ports by which the packet leaves the nodes of the path; if kind is FAB_E_CYCLE,
     * the sending ports of the channels of the cycle */
    uint32_t *ports;
    uint32_t port_count;
    /* if kind is FAB_E_CYCLE and there are several VLs: [port_count] the VL of each channel;
     * otherwise NULL */
    uint8_t *vls;
    /* Only if kind is FAB_E_LIMIT and src is FAB_NONE: the number of VLs or table entries that a
     * device needs, and the number that it has. ports[0] is a port that needs more data VLs than it
     * has, or port 0 of a switch whose forwarding table is too small. (If src is not FAB_NONE,
     * FAB_E_LIMIT means that a path is too long.) */
    uint32_t need, have;
};
struct fab_verdict {
    bool deadlock_free;
    /* Number of pairs (source, destination LID) that were checked, and number of pairs without a
     * path. A source is an endport or a switch; it counts once, even if it has several LIDs. */
    uint64_t pairs, unreachable_pairs;
    /* number of unreachable pairs in which neither the source nor the destination is a switch */
    uint64_t unreachable_host_pairs;
    uint32_t longest_path; /* number of switches on the longest path */
    /* number of edges of the channel dependency graph */
    uint64_t dependencies;
    /* number of switches whose forwarding tables are too small, plus number of switch ports that
     * have fewer VLs than the verified tables need */
    uint32_t beyond;
    /* The first failure of the checks, which are made in this order: paths, cycles of channel
     * dependencies, limits of devices. kind is FAB_OK if there is no failure. */
    struct fab_witness witness;
};
struct fab_verify_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* maximum number of switches on a path; 0: no limit */
    uint32_t max_hops;
    const struct fab_vls *vls; /* NULL: one VL */
    /* the policy, which limits the VLs of the links; NULL: the limits of the devices are not
     * checked */
    const struct fab_policy *policy;
    /* thread pool; NULL: the calling thread does all the work */
    const struct fab_pool *pool;
};
/* Proves that the tables are correct, or finds a witness against them. Pairs in different connected
 * components of the fabric need not reach each other. Returns OK if it could make the proof; *ret
 * is the verdict, good or not. Returns NOMEM, or INVAL if the tables belong to another fabric, or
 * if SLs, VLs or port classes are out of range. */
int fab_verify(const struct fab_verify_input *in, struct fab_verdict *ret);
/* The numbers of channels. Tables are deadlock-free if and only if the channels can be numbered
 * such that each packet passes channels with ascending numbers (Dally & Seitz 1987). So a program
 * that has such numbers can check the tables path by path, without looking for cycles. */
struct fab_verify_numbers {
    uint32_t vl_count; /* number of VLs, at least 1 */
    /* [port_count][vl_count] the number of each channel, at least 1. The indices are the id of the
     * sending port and the VL. Ports without a link to another switch have the number 0. */
    uint32_t *number;
};
/* Numbers the channels of the tables. Returns NOMEM, INVAL under the same conditions as fab_verify,
 * CYCLE if the tables are not deadlock-free, or UNREACHABLE if some pair has no path. */
int fab_verify_number(const struct fab_verify_input *in, struct fab_verify_numbers *ret);
void fab_verify_numbers_fini(struct fab_verify_numbers *n);
/* Returns true if the tables are deadlock-free, no pair is unreachable, and no device limit is
 * exceeded. */
bool fab_verify_verdict_good(const struct fab_verdict *v);
/* Returns a phrase for operators that says which part of the proof failed. Precondition: the
 * verdict is not good. */
const char *fab_verify_verdict_failure(const struct fab_verdict *v);
/* Like fab_verify_verdict_good, but paths to and from switches may be missing. Local repairs leave
 * out such paths if their labels allow none (fab_repair_delta.lost). */
bool fab_verify_verdict_good_for_hosts(const struct fab_verdict *v);
void fab_verify_verdict_fini(struct fab_verdict *v);
/* Writes the witness as text, one line for each hop: node name, port, name of the next node. The
 * caller frees the text. Returns NOMEM if there is no memory. */
int fab_verify_witness_text(const struct fab_fabric *f, const struct fab_witness *w,
                            char **ret_text);

/* A path: the ids of the ports by which a packet leaves its nodes, in order, the source port first.
 */
struct fab_verify_trace {
    uint32_t *ports;
    uint32_t count;
};
/* Follows the path from the port with id `src_port` to the destination LID `dlid` through the LFTs.
 * Returns OK, NOMEM, UNREACHABLE or LOOP. After UNREACHABLE and LOOP, *ret has the path up to the
 * failure. */
int fab_verify_trace(const struct fab_verify_input *in, uint32_t src_port, uint32_t dlid,
                     struct fab_verify_trace *ret);
void fab_verify_trace_fini(struct fab_verify_trace *t);

#endif
