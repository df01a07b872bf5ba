/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The applied policy: what an operator applies with 'fabricctl apply'. fabricd-policy(5) describes
 * its keys, and doc/policy.schema.json has the same rules for other programs.
 *
 * The policy consists of sections. A section replaces the settings of fabricd.yaml that
 * fabricd-policy(5) names for it. If the policy does not have a section, the settings of
 * fabricd.yaml apply.
 */
#ifndef LIBFABMGR_POLICY_DECLARED_H
#define LIBFABMGR_POLICY_DECLARED_H

#include "libfabmgr/policy/document.h"
#include "libfabmgr/policy/policy.h"

enum fab_declared_section {
    FAB_DECLARED_PARTITIONS, /* the section of the keys `partitions` and `groups` */
    FAB_DECLARED_CLASSES,
    FAB_DECLARED_CONGESTION,
    FAB_DECLARED_NAMES,
    FAB_DECLARED_ISOLATION,
    FAB_DECLARED_APPROVALS,
    FAB_DECLARED_SECTIONS
};
/* The keys of the sections, such as "partitions". */
extern const char *const fab_policy_declared_section_name[FAB_DECLARED_SECTIONS];

/* Maximum numbers of elements. They are so low that the manager can compare each name with all
 * others. */
#define FAB_DECLARED_PARTITIONS_MAX 4096
#define FAB_DECLARED_GROUPS_MAX 256
#define FAB_DECLARED_ISOLATIONS_MAX 256
#define FAB_DECLARED_APPROVALS_MAX 4096

/* Kinds of objects to which a name or GUID in the policy can refer. */
enum fab_declared_what {
    FAB_DECLARED_NODE, /* a node name, or a pattern of node names with '*' or '?' */
    FAB_DECLARED_PORT_GUID,
    FAB_DECLARED_NODE_GUID,
    FAB_DECLARED_LINK, /* a link, as "NODE/PORT" of one of its ports */
};
#define FAB_DECLARED_PATH_LEN 96
/* A name or GUID in the policy that refers to an object of the fabric. The caller checks that the
 * object exists. */
struct fab_declared_ref {
    enum fab_declared_what what;
    const char *text; /* the name; "": the policy gives only the GUID */
    uint64_t guid;
    struct fab_doc_place at;
    /* path of the value in the policy, such as "partitions[1].full[0]" */
    char path[FAB_DECLARED_PATH_LEN];
};
/* A link that routes must avoid. */
struct fab_declared_isolation {
    /* link: a port of the link, as "NODE/PORT". reason: text of the operator; "": none */
    const char *link, *reason;
    /* fab_declared.ref[ref] is the reference to this link */
    size_t ref;
};
/* The approval of an operator that a port of an adapter or router may be connected to a certain
 * switch port. */
struct fab_declared_approval {
    uint64_t node_guid, port_guid;
    uint8_t port;
    const char *at; /* the switch port, as "NODE/PORT" */
    size_t ref;     /* fab_declared.ref[ref] is the reference to this switch port */
};
struct fab_declared {
    bool has[FAB_DECLARED_SECTIONS];
    struct fab_partitions *partitions;
    struct fab_classes *classes; /* traffic classes; NULL: all traffic is one class */
    struct fab_policy_congestion congestion;
    struct fab_node_names *names; /* names of nodes; NULL: the policy gives none */
    struct fab_declared_isolation *isolation;
    struct fab_declared_approval *approval;
    struct fab_declared_ref *ref;
    size_t isolations, approvals, refs;
    struct fab_arena arena; /* memory of all texts */
};
struct fab_declared_error {
    /* place of the error in the text; line 0: the error belongs to no single line */
    struct fab_doc_place at;
    char message[400]; /* a sentence that begins with the path of the value */
};

/* Reads all documents of `d` as one policy. Returns FORMAT (a wrong key or value), EXISTS (a name,
 * a P_Key or a mapping occurs twice), LIMIT, RANGE, NOT_FOUND (a group or partition that the policy
 * names is not defined) or NOMEM. *ret_error describes the error, except for NOMEM. */
int fab_policy_declared_read(const struct fab_doc *d, struct fab_declared *ret,
                             struct fab_declared_error *ret_error);
void fab_policy_declared_fini(struct fab_declared *d);
/* Copies the sections of *d to *p, as far as *d has them: partitions, classes, names and congestion
 * (without `key` and `key_lease_s`). struct fab_policy has no members for isolation and approvals.
 */
void fab_policy_declared_apply(const struct fab_declared *d, struct fab_policy *p);
/* Returns false if `m`, a member of a traffic class, names a partition or port group that is not in
 * `p`; otherwise returns true. p == NULL: there are no partitions and groups. */
bool fab_policy_declared_knows(const struct fab_partitions *p, const struct fab_class_member *m);

#endif
