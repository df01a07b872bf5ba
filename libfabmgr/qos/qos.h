/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes on a fabric: the SLs and VLs that each has in addition to those that routing
 * needs, and the class that a path belongs to.
 */
#ifndef LIBFABMGR_QOS_QOS_H
#define LIBFABMGR_QOS_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* What an operator should know about the result. The report numbers its notes from 0. */
enum fab_qos_kind {
    FAB_QOS_SHARED_VLS, /* there are too few VLs: the class shares the VLs of another */
    FAB_QOS_SHARED_SLS, /* there are too few SLs: the class shares the SLs of another */
    FAB_QOS_OTHER_SL,   /* the class cannot have the SL that it asks for */
    FAB_QOS_NO_MAP      /* the operator's mapping of SLs to VLs is not used, because routing
                           needs VLs */
};
struct fab_qos_note {
    enum fab_qos_kind kind;
    uint8_t class, other; /* class numbers */
    uint8_t sl;           /* OTHER_SL: the first SL that it has */
};
struct fab_qos_report {
    struct fab_qos_note note[2 * FAB_CLASSES_MAX + 1];
    unsigned notes;
    uint8_t lanes; /* VLs that the engine needs */
    uint8_t sls;   /* SLs that the engine needs */
    uint8_t sets;  /* number of sets of the engine's VLs */
};
/* Extends the VLs that an engine needs (`v`, as it returned them) to those of all classes, if
 * every ISL has `vls` data VLs. Classes get VLs of their own as far as there are any, in the order
 * of the policy; the default class always keeps those that it would have alone. With the default
 * class only, nothing changes. Returns RANGE if the engine alone needs more than `vls` VLs, or v
 * is not an engine's; then nothing changes, either. */
int fab_qos_compose(const struct fab_classes *c, uint8_t vls, struct fab_vls *v,
                    struct fab_qos_report *ret_report);
/* Writes a note as a sentence. */
void fab_qos_note_text(const struct fab_classes *c, const struct fab_qos_report *r, unsigned note,
                       char *text, size_t len);
/* The share of a port's bandwidth, in per mille, that its VL arbitration guarantees to class
 * `level` if all other classes have packets of the link's MTU to send; 1000 with a single class. */
uint32_t fab_qos_guarantee(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_vls *v, uint32_t port, uint8_t level);

/* ---- the class of a path --------------------------------------------------------------------- */

/* The groups of all ports of one fabric, computed once for many queries. */
struct fab_qos_matcher {
    const struct fab_classes *classes; /* borrowed; NULL: every path is class 0 */
    uint64_t *groups;                  /* [ports] one bit a group; NULL: no rule selects ports */
    uint32_t ports;
    const struct fab_partitions *partitions; /* borrowed */
};
struct fab_qos_path {
    uint32_t src, dst; /* port ids */
    uint16_t pkey;     /* 0: none */
    bool has_service, has_class;
    uint16_t qos_class;
    uint64_t service;
};
/* pkeys: the members of each partition. Returns NOMEM. */
int fab_qos_matcher_init(struct fab_qos_matcher *m, const struct fab_fabric *f,
                         const struct fab_policy *p, const struct fab_pkeys *pkeys);
void fab_qos_matcher_fini(struct fab_qos_matcher *m);
/* The number of the class; -1: no rule applies (the path is then class 0). */
int fab_qos_match(const struct fab_qos_matcher *m, const struct fab_qos_path *path);

#endif
