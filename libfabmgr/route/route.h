/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unicast routing: an engine computes the forwarding tables (LFTs) and the service levels and
 * virtual lanes from a fabric, its LIDs and the policy. Engines are pure functions in a registry;
 * they never see the daemon. Equal inputs give byte-identical tables.
 */
#ifndef LIBFABMGR_ROUTE_ROUTE_H
#define LIBFABMGR_ROUTE_ROUTE_H

#include "libfabmgr/base/pool.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_route_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    const struct fab_pool *pool; /* thread pool, or NULL: compute on the caller's thread */
    /* Output, may be NULL: set to true where the topology is incomplete, irregular or unevenly
     * loaded, so that another engine may do better; otherwise left unchanged. */
    bool *flawed;
};
struct fab_route_engine {
    const char *name;
    const char *summary; /* one line for the operator */
    /* Fills *ret_lft and, if the engine needs several VLs, *ret_vls, which must be zeroed before;
     * the caller frees both with fab_target_lft_fini and fab_target_vls_fini. why[] gets a sentence
     * for the operator. UNSUPPORTED: the topology does not suit the engine, or a port has too few
     * VLs; why[] names the switch or the link. INVAL: the LIDs belong to another fabric. NOMEM. */
    int (*run)(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len);
};
const struct fab_route_engine *const *fab_route_engines(void); /* NULL-terminated */
/* Returns NULL if no engine has this name. "auto" yields the engine that takes every topology. */
const struct fab_route_engine *fab_route_engine_by_name(const char *name);

/* Engines to be tried in order: the next one runs when an engine refuses the topology or its tables
 * fail the proof. Written as names separated by commas, or as "auto": the engines that suit most
 * fabrics, best first. */
#define FAB_ROUTE_CHAIN_MAX 16
struct fab_route_chain {
    const struct fab_route_engine *engine[FAB_ROUTE_CHAIN_MAX];
    uint32_t count;
    bool automatic; /* from "auto": engines may be compared (libfabmgr/study/choose_engine.h) */
};
/* Returns NOT_FOUND if a name is unknown or missing (why[] is that name), or LIMIT if there are
 * more than FAB_ROUTE_CHAIN_MAX names. */
int fab_route_chain_parse(const char *text, struct fab_route_chain *ret, char *why, size_t why_len);

/* Returns the number of data VLs, 1..FAB_VLS_MAX, that an engine may use: those that every working
 * ISL has under the policy, divided by the number of VL sets of the traffic classes. *ret_port: a
 * port of the first ISL (lowest port id) that has no more VLs; FAB_NONE: there are no ISLs.
 * Links to endports do not count: packets leave the fabric there, so that no channel depends on
 * them, and the engine's VLs are mapped onto those that the link has. */
uint8_t fab_route_vls_available(const struct fab_fabric *f, const struct fab_policy *p,
                                uint32_t *ret_port);

/* Ranks of the switches, 0 for leaves, found from the topology or from the roots of the policy. A
 * link leads up from a to b if order[b] > order[a]. The order is total, so that links between
 * switches of the same rank have a direction, too. */
struct fab_ranks {
    uint32_t switch_count;
    uint8_t *rank;   /* [switch_count] */
    uint32_t *order; /* [switch_count] position in the total order */
    bool *leaf;      /* [switch_count] has hosts, not only aggregation nodes */
};
/* Finds the order that the engine "updn" uses. Fails only with NOMEM. */
int fab_route_ranks_find(const struct fab_fabric *f, const struct fab_policy *p,
                         struct fab_ranks *ret);
/* Finds the order that the engine "fattree" uses: from the roots of the policy or from the leaves;
 * no other order is tried. Fails only with NOMEM. */
int fab_route_ranks_of_tree(const struct fab_fabric *f, const struct fab_policy *p,
                            struct fab_ranks *ret);
void fab_route_ranks_fini(struct fab_ranks *r);

#endif
