/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies traffic classes to a fabric: computes the SLs and VLs of each class from those that
 * routing needs, and finds the class of a path. */
#ifndef LIBFABMGR_QOS_QOS_H
#define LIBFABMGR_QOS_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* Kinds of notes. A note tells the operator that a traffic class does not get what the policy
 * demands. */
enum fab_qos_kind {
    /* there are too few VLs, so the class shares those of the class `other` */
    FAB_QOS_SHARED_VLS,
    /* there are too few SLs, so the class shares those of the class `other` */
    FAB_QOS_SHARED_SLS,
    /* the class cannot have the SL that the policy gives to it */
    FAB_QOS_OTHER_SL,
    /* the operator's mapping qos.sl2vl is not used, because routing needs several VLs or SLs, or
     * because the mapping drops the packets of a class */
    FAB_QOS_NO_MAP
};
struct fab_qos_note {
    enum fab_qos_kind kind;
    /* class: number of the class that the note is about. other: number of the class with which it
     * shares VLs or SLs */
    uint8_t class, other;
    /* only for OTHER_SL: the first SL that the class gets instead */
    uint8_t sl;
};
struct fab_qos_report {
    struct fab_qos_note note[2 * FAB_CLASSES_MAX + 1];
    unsigned notes;
    /* number of VLs that the engine needs for one class */
    uint8_t lanes;
    /* number of SLs that the engine needs for one class */
    uint8_t sls;
    /* number of sets of VLs that the classes use; a set has `lanes` VLs */
    uint8_t sets;
};
/* Extends *v from one class to all classes. Before the call, *v has the SLs and VLs that an engine
 * needs for one class. `vls` is the number of data VLs that every ISL has. Classes get VLs of their
 * own in the order of the policy, as long as VLs are left. The default class always keeps the VLs
 * that it would have alone. If the policy has a mapping of SLs to VLs (qos.sl2vl) that can be used,
 * this mapping decides the VLs of all classes instead. If there is only the default class, *v does
 * not change. Returns OK, or RANGE (with *v unchanged) if the engine needs more than `vls` VLs or
 * more than 16 SLs, or if *v was extended already. */
int fab_qos_compose(const struct fab_classes *c, uint8_t vls, struct fab_vls *v,
                    struct fab_qos_report *ret_report);
/* Writes a note of the report, number `note` from 0, as a sentence for the operator. */
void fab_qos_note_text(const struct fab_classes *c, const struct fab_qos_report *r, unsigned note,
                       char *text, size_t len);
/* Returns the share of a port's bandwidth, in per mille, that VL arbitration guarantees to class
 * number `level`. The share is computed for the worst case, in which all other classes send packets
 * of the link's MTU. Returns 1000 if there is only one class, and 0 if the manager sets no VL
 * arbitration tables at the port (fab_target_arb), for example because several classes share its
 * only VL. */
uint32_t fab_qos_guarantee(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_vls *v, uint32_t port, uint8_t level);

/* ---- the class of a path --------------------------------------------------------------------- */

/* Stores, for each port of a fabric, the groups of the policy to which the port belongs. They are
 * computed once for many queries (fab_qos_match). */
struct fab_qos_matcher {
    const struct fab_classes *classes; /* borrowed; NULL: every path belongs to class 0 */
    /* [ports] bitset of the groups to which the port belongs; NULL: the policy has no groups */
    uint64_t *groups;
    uint32_t ports;
    const struct fab_partitions *partitions; /* borrowed */
};
struct fab_qos_path {
    uint32_t src, dst; /* port ids */
    /* P_Key in the request for the path; 0: none */
    uint16_t pkey;
    bool has_service, has_class;
    uint16_t qos_class;
    uint64_t service;
};
/* Finds for each port the groups of the policy to which it belongs. pkeys: the P_Key tables of all
 * ports. Returns OK or NOMEM. */
int fab_qos_matcher_init(struct fab_qos_matcher *m, const struct fab_fabric *f,
                         const struct fab_policy *p, const struct fab_pkeys *pkeys);
void fab_qos_matcher_fini(struct fab_qos_matcher *m);
/* Returns the number of the path's class. Returns -1 if neither a rule nor the SL of the partition
 * (match.c) selects a class; the path then belongs to class 0. */
int fab_qos_match(const struct fab_qos_matcher *m, const struct fab_qos_path *path);

#endif
