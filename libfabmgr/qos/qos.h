/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes on a fabric: which SLs and lanes each has, beside those that routing needs; and
 * which class a path belongs to.
 */
#ifndef LIBFABMGR_QOS_QOS_H
#define LIBFABMGR_QOS_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

/* What an operator should know of it, with a number from 0 on. */
enum fab_qos_kind {
    FAB_QOS_SHARED_VLS, /* there are too few VLs: the class goes by the lanes of another */
    FAB_QOS_SHARED_SLS, /* too few SLs: the class is one with another */
    FAB_QOS_OTHER_SL,   /* it cannot have the SL that was asked for */
    FAB_QOS_NO_MAP      /* the operator's mapping of SLs was not used: routing needs lanes */
};
struct fab_qos_note {
    enum fab_qos_kind kind;
    uint8_t class, other; /* numbers of classes */
    uint8_t sl;           /* OTHER_SL: the first it has */
};
struct fab_qos_report {
    struct fab_qos_note note[2 * FAB_CLASSES_MAX + 1];
    unsigned notes;
    uint8_t lanes; /* the engine's, */
    uint8_t sls;   /* its SLs, */
    uint8_t sets;  /* and how many times its lanes are there */
};
/* Makes of the lanes that an engine needs (`v`, as it returned them) those of all classes, where
 * there are `vls` data VLs on every cable between switches. Classes have lanes of their own as far
 * as there are any, in the order of the policy, and the default class always those that it would
 * have alone. With no more classes than the default one nothing happens. RANGE: more lanes than
 * `vls` are needed by the engine alone, or v is none of an engine; then nothing happens, too. */
int fab_qos_compose(const struct fab_classes *c, uint8_t vls, struct fab_vls *v,
                    struct fab_qos_report *ret_report);
/* A note as a sentence. */
void fab_qos_note_text(const struct fab_classes *c, const struct fab_qos_report *r, unsigned note,
                       char *text, size_t len);
/* What class `level` is guaranteed of the cable of a port by its tables, per mille, when all others
 * have packets of the cable's MTU to send; 1000 with no others. */
uint32_t fab_qos_guarantee(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_vls *v, uint32_t port, uint8_t level);

/* ---- whose path ------------------------------------------------------------------------------ */

/* Who is in which group, of one fabric: for many questions. */
struct fab_qos_matcher {
    const struct fab_classes *classes; /* borrowed; NULL: all is class 0 */
    uint64_t *groups;                  /* [ports] a bit each; NULL: no rule is about ends */
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
/* pkeys: who is in which partition. NOMEM. */
int fab_qos_matcher_init(struct fab_qos_matcher *m, const struct fab_fabric *f,
                         const struct fab_policy *p, const struct fab_pkeys *pkeys);
void fab_qos_matcher_fini(struct fab_qos_matcher *m);
/* The number of the class; -1: nobody said anything about it (it is class 0 then). */
int fab_qos_match(const struct fab_qos_matcher *m, const struct fab_qos_path *path);

#endif
