/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proof from the tables alone, apart from every engine: each end reaches each end and each switch,
 * in no more than max_hops, without a loop and without entering a dead port, and the channel
 * dependency graph is acyclic (Dally & Seitz 1987), lane by lane where there are several,
 * switch-destined traffic included; and the devices can do what the tables ask for. A failure
 * carries a witness that a person can follow cable by cable.
 */
#ifndef LIBFABMGR_VERIFY_VERIFY_H
#define LIBFABMGR_VERIFY_VERIFY_H

#include <stdbool.h>

#include "libfabmgr/base/pool.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_witness {
    int kind;          /* FAB_OK (none), FAB_E_UNREACHABLE, FAB_E_LOOP, FAB_E_CYCLE, FAB_E_LIMIT,
                          FAB_E_INVAL (an entry leads into a dead or missing port) */
    uint32_t src, dst; /* port ids of the ends (CYCLE: FAB_NONE) */
    uint32_t lid;      /* destination LID */
    uint32_t *ports;   /* out ports in order, as port ids; CYCLE: the channels of the cycle */
    uint32_t port_count;
    uint8_t *vls; /* CYCLE with several lanes: [port_count] the VL of each channel, or NULL */
    uint32_t need, have; /* LIMIT with src FAB_NONE: what a device cannot do. ports[0] is a port
                            that needs more data VLs than it has, or port 0 of a switch whose
                            forwarding table has fewer entries than LIDs are in use */
};
struct fab_verdict {
    bool deadlock_free;
    uint64_t
        unreachable_pairs; /* ordered pairs (end or switch LID owner -> LID owner), base LIDs */
    uint64_t pairs;        /* all ordered pairs checked */
    uint32_t longest_path; /* switches on the longest path */
    uint64_t dependencies; /* edges of the channel dependency graph */
    uint32_t beyond;       /* switch ports and switches that cannot do what the tables ask for */
    struct fab_witness witness; /* the first failure found, in a fixed order */
};
struct fab_verify_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    uint32_t max_hops;
    const struct fab_vls *vls;       /* NULL: one lane */
    const struct fab_policy *policy; /* NULL: what devices can do is not looked at */
    const struct fab_pool *pool;     /* helping hands, or NULL */
};
/* OK: the verdict is filled, good or bad. NOMEM. INVAL: tables of another fabric, or SLs, VLs and
 * classes out of range. Ends count as connected when cables join them: only connected pairs are
 * expected to reach each other. */
int fab_verify(const struct fab_verify_input *in, struct fab_verdict *ret);
/* deadlock_free, no unreachable pair, nothing beyond what devices can do */
bool fab_verify_verdict_good(const struct fab_verdict *v);
void fab_verify_verdict_fini(struct fab_verdict *v);
/* The witness as lines of text, one a hop: node name, port, name of the next. malloc'd. */
int fab_verify_witness_text(const struct fab_fabric *f, const struct fab_witness *w,
                            char **ret_text);

/* One path by the tables, from the port that owns src to destination LID. ret_ports: out port ids
 * in order, first the port of the source itself. UNREACHABLE, LOOP: *ret holds how far it came. */
struct fab_verify_trace {
    uint32_t *ports;
    uint32_t count;
};
int fab_verify_trace(const struct fab_verify_input *in, uint32_t src_port, uint32_t dlid,
                     struct fab_verify_trace *ret);
void fab_verify_trace_fini(struct fab_verify_trace *t);

#endif
