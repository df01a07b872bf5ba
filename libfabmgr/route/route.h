/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routing: fabric + LIDs + policy -> forwarding tables. Engines are pure functions in a registry;
 * they never see the daemon. Same inputs give byte-identical tables.
 */
#ifndef LIBFABMGR_ROUTE_ROUTE_H
#define LIBFABMGR_ROUTE_ROUTE_H

#include "libfabmgr/base/crew.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_route_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    const struct fab_lft *prev;  /* tables in force (same ids), or NULL: keep what can be kept */
    const struct fab_crew *crew; /* helping hands, or NULL */
    bool *flawed; /* out: set to true where something is missing, irregular or uneven, so that other
                     tables may be better; else left as it is. May be NULL */
};
struct fab_route_engine {
    const char *name;
    const char *summary; /* one line for people */
    /* Fills *ret_lft and, when it needs more than one lane, *ret_vls, which was zero (caller calls
     * fab_lft_fini, fab_vls_fini). UNSUPPORTED: the topology does not suit it, or the ports on the
     * way have too few VLs; why[] then holds a sentence that names the switch or cable. */
    int (*run)(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len);
};
const struct fab_route_engine *const *fab_route_engines(void); /* NULL-terminated */
/* NULL: none. "auto" is the engine that takes any topology. */
const struct fab_route_engine *fab_route_engine_by_name(const char *name);

/* Engines to be tried in order, each when the one before does not take the topology or fails its
 * proof: names with commas between, or "auto", which is those that suit most fabrics, the best
 * first. */
#define FAB_ROUTE_CHAIN_MAX 16
struct fab_route_chain {
    const struct fab_route_engine *engine[FAB_ROUTE_CHAIN_MAX];
    uint32_t count;
    bool automatic; /* from "auto": the best may be looked for (libfabmgr/choose) */
};
/* NOT_FOUND: one is not known, or there is none, named in why[]; LIMIT: too many. */
int fab_route_chain_parse(const char *text, struct fab_route_chain *ret, char *why, size_t why_len);

/* The data VLs, 1..FAB_VLS_MAX, that every working cable between switches will have under the
 * policy. *ret_port: an end of the first cable that has no more (lowest id), or FAB_NONE without
 * cables. Cables to ends do not count: there the lanes are folded, nothing waits behind them. */
uint8_t fab_route_vls_available(const struct fab_fabric *f, const struct fab_policy *p,
                                uint32_t *ret_port);

/* Ranks of switches, 0 for leaves: found from the topology (see rank.c), or from the roots of the
 * policy. A link is "up" from a to b when (rank, guid order) of b is greater: a total order, so
 * that every cable has a direction, also between switches of one rank. */
struct fab_ranks {
    uint32_t switch_count;
    uint8_t *rank;   /* [switch_count] */
    uint32_t *order; /* [switch_count] position in the total order; up = towards greater */
    bool *leaf;      /* [switch_count] has compute ends, not just aggregation nodes */
};
int fab_route_ranks_find(const struct fab_fabric *f, const struct fab_policy *p,
                         struct fab_ranks *ret);
/* From the roots or the leaves alone, as the engine fattree has them. */
int fab_route_ranks_of_tree(const struct fab_fabric *f, const struct fab_policy *p,
                            struct fab_ranks *ret);
void fab_route_ranks_fini(struct fab_ranks *r);

#endif
