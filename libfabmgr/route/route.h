/* SPDX-License-Identifier: BSD-3-Clause */
/* Unicast routing. An engine computes the LFTs, and the use of service levels and virtual lanes,
 * from a fabric, its LIDs and the policy. Engines are pure functions in a registry, and do not
 * depend on the daemon. Equal inputs give byte-identical tables. */
#ifndef LIBFABMGR_ROUTE_ROUTE_H
#define LIBFABMGR_ROUTE_ROUTE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/pool.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_route_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    /* thread pool; NULL: the caller's thread does all the work */
    const struct fab_pool *pool;
    /* An engine sets *flawed to true if the topology is incomplete, irregular or unevenly loaded,
     * so another engine may make better tables. Otherwise *flawed stays unchanged. `flawed` may be
     * NULL. */
    bool *flawed;
};
struct fab_route_engine {
    const char *name;
    const char *summary; /* one line for the operator */
    /* Computes *ret_lft and, if the engine needs several VLs, *ret_vls. Before the call, the caller
     * must set all bytes of *ret_vls to zero. The caller frees both with fab_target_lft_fini and
     * fab_target_vls_fini. Returns OK and describes the tables in why[], in a sentence for the
     * operator. Returns UNSUPPORTED, with the reason in why[], if the engine cannot route the
     * topology, or if a port has too few VLs. Returns INVAL if the LIDs belong to another fabric,
     * or NOMEM. The engine fattree can also return LIMIT (fab_route_dmodk_make). */
    int (*run)(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len);
    /* true: a fault may change the SLs of paths that do not use the failed link or switch */
    bool moves_sls;
};
const struct fab_route_engine *const *fab_route_engines(void); /* returns a NULL-terminated array */
/* Returns the engine with this name; NULL: there is none. If the name is "auto", returns the engine
 * that accepts every topology (nue). */
const struct fab_route_engine *fab_route_engine_by_name(const char *name);

#define FAB_ROUTE_CHAIN_MAX 16
/* A chain of engines, which the manager tries one after another: if an engine refuses the topology,
 * or if its tables fail the proof, the next engine of the chain runs. The text of a chain is a list
 * of names separated by commas, or "auto", which stands for the engines that suit most fabrics,
 * best first. */
struct fab_route_chain {
    const struct fab_route_engine *engine[FAB_ROUTE_CHAIN_MAX];
    uint32_t count;
    /* true: the chain was made from "auto"; the manager may then compare the tables of several
     * engines (libfabmgr/study/choose_engine.h) */
    bool automatic;
};
/* Parses the text of a chain. Returns OK, NOT_FOUND if the name of an engine is unknown or empty
 * (why[] then contains only this name), or LIMIT if there are more than FAB_ROUTE_CHAIN_MAX
 * names. */
int fab_route_chain_parse(const char *text, struct fab_route_chain *ret, char *why, size_t why_len);

/* Returns the number of data VLs, 1..FAB_VLS_MAX, that an engine may use: the smallest number that
 * the policy permits on any working ISL, divided by the number of VL sets that the traffic classes
 * need and rounded down, but at least 1. *ret_port is the port with the lowest id among the ports
 * of ISLs with the smallest number; FAB_NONE: there are no ISLs. Links to endports do not limit the
 * number: packets leave the fabric there, so these links cannot be part of a cycle of channel
 * dependencies. The SLtoVLMappingTable of such a link maps the engine's VLs to the VLs that the
 * link has. */
uint8_t fab_route_vls_available(const struct fab_fabric *f, const struct fab_policy *p,
                                uint32_t *ret_port);

/* Ranks of the switches, computed from the topology or from the root switches of the policy. A link
 * leads up from switch a to switch b if order[b] > order[a]. The order is total, so links between
 * switches of the same rank have a direction, too. */
struct fab_ranks {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t switch_count;
    /* [switch_count] 0 for the lowest switches; for all leaves, if the ranks follow from the
     * leaves */
    uint8_t *rank;
    uint32_t *order; /* [switch_count] position in the total order */
    /* [switch_count] true: the switch is a leaf. It has hosts (aggregation nodes do not count), and
     * is not a spine that has only a few hosts (updown/switch_order.c) */
    bool *leaf;
};
/* Computes the ranks and the order that the engine "updn" uses. Returns NOMEM if there is no
 * memory. */
int fab_route_ranks_find(const struct fab_fabric *f, const struct fab_policy *p,
                         struct fab_ranks *ret);
/* Computes the order that the engine "fattree" uses. It starts from the root switches of the policy
 * or, if there are none, from the leaves. Returns NOMEM if there is no memory. */
int fab_route_ranks_of_tree(const struct fab_fabric *f, const struct fab_policy *p,
                            struct fab_ranks *ret);
void fab_route_ranks_fini(struct fab_ranks *r);

#define FAB_ROUTE_ESCAPES_MAX 4
/* Finds the reserved channels: from each switch, the channels to at most `parents` of its
 * neighbours that are later in the order of fab_route_ranks_find, those nearest to the root. All
 * switches of a component reach each other over reserved channels, up and then down, and if
 * `parents` is at least 2, they do so without any one link to a switch that has two such
 * neighbours. *ret_up is a bitset of the ids of the ports from which the channels lead up; the
 * caller frees it. parents: at most FAB_ROUTE_ESCAPES_MAX. Returns OK or NOMEM. */
int fab_route_escapes_find(const struct fab_fabric *f, const struct fab_policy *p, uint32_t parents,
                           uint64_t **ret_up);

#endif
