/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes, and the rules that assign paths to them. A class has a name, a guaranteed share
 * of the bandwidth of every link, a high or low priority, and limits for its paths. Classes come
 * from fabricd.yaml, from OpenSM's qos-policy.conf, or from both. After the classes are read, they
 * do not change, and are shared by reference.
 *
 * libfabmgr/qos assigns SLs and VLs to the classes, for a fabric and its routing.
 */
#ifndef LIBFABMGR_POLICY_CLASSES_H
#define LIBFABMGR_POLICY_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"

/* maximum number of classes, one for each SL; class 0 is for paths that no rule matches */
#define FAB_CLASSES_MAX 16
#define FAB_CLASS_GROUPS_MAX 64
#define FAB_CLASS_RULES_MAX 4096
#define FAB_CLASS_NOTES 16
#define FAB_CLASSES_TEXT_MAX (UINT32_C(1) << 20) /* maximum size of a qos-policy.conf in bytes */
#define FAB_CLASS_NO_SL 0xff
/* maximum number of entries of one VL arbitration table, IBA 7.6.9.2 */
#define FAB_ARB_ENTRIES 64

struct fab_class {
    const char *name;
    /* Guaranteed percentage of a link's bandwidth, 1..100. 0: no guarantee; the classes without a
     * guarantee divide the rest of the bandwidth equally among themselves. */
    uint8_t share;
    /* true: packets of the class are in the high-priority table of VL arbitration (IBA 7.6.9) */
    bool high;
    /* SL that the class must have; FAB_CLASS_NO_SL: the manager chooses the SL. Classes with the
     * same SL share VLs. */
    uint8_t sl;
    /* the highest MTU of the class's paths, as encoded in PathRecord; 0: not limited */
    uint8_t mtu;
    /* the highest rate of the class's paths, as encoded in PathRecord; 0: not limited */
    uint8_t rate;
    /* highest rate of the class's paths in Mb/s; 0: only the member `rate` limits the rate */
    uint32_t rate_mbps;
    bool has_life;
    /* PacketLifeTime of the class's paths; valid if has_life is set */
    uint8_t life;
    /* P_Key that the class's paths must have, 1..0x7fff; 0: any P_Key */
    uint16_t pkey;
};
enum fab_class_member_kind {
    FAB_CLASS_GUIDS, /* ports with GUIDs first..last */
    /* members of the partitions with P_Keys first..last */
    FAB_CLASS_PKEYS,
    FAB_CLASS_PARTITION, /* members of the partition `name` */
    /* nodes whose NodeDescription, or its first word, matches the pattern `name` */
    FAB_CLASS_NODES,
    FAB_CLASS_OF_OTHERS, /* members of the port group `name` of partitions.conf */
    FAB_CLASS_TYPES,     /* nodes of certain node types */
    FAB_CLASS_SELF       /* the manager's own port */
};
struct fab_class_member {
    enum fab_class_member_kind kind;
    /* kinds GUIDS and PKEYS: first and last value of the range. Kind TYPES: `first` is a bitset
     * with bit 1 << type for each node type (enum fab_node_type). */
    uint64_t first, last;
    /* name of the partition (kind PARTITION), pattern of node descriptions (NODES), or name of
     * the group (OF_OTHERS) */
    const char *name;
    /* kind NODES: only the port with this number is a member; 0: all ports of the node are members
     */
    uint8_t port;
};
struct fab_class_group {
    const char *name;
    struct fab_class_member *member;
    size_t count;
};
struct fab_range {
    uint64_t first, last;
};
struct fab_ranges {
    struct fab_range *range;
    size_t count; /* number of ranges; 0: there is no condition, so every value matches */
};
/* A rule matches a path if all its conditions match. A condition on the service ID, QoS class or
 * P_Key matches only if the path record request contains this component. */
struct fab_class_rule {
    uint8_t class;
    /* Bit i of a bitset stands for group[i] of struct fab_classes. The source of the path must be
     * in a group of `from`, the destination in a group of `to`, and at least one of the two in a
     * group of `either`. A bitset that is 0 sets no condition. */
    uint64_t from, to, either;
    struct fab_ranges service, qos_class, pkey;
};
struct fab_class_note {
    uint32_t line;
    char message[160];
};
struct fab_arb_entry {
    uint8_t vl, weight;
};
struct fab_classes {
    struct fab_class class[FAB_CLASSES_MAX];
    uint8_t count; /* number of classes, at least 1 */
    struct fab_class_group group[FAB_CLASS_GROUPS_MAX];
    size_t groups;
    struct fab_class_rule *rule; /* rules in order; the first rule that matches a path applies */
    size_t rules;
    /* SL2VL and VLArb tables that the operator sets in fabricd.yaml, as with OpenSM's options. The
     * manager then does not compute these tables. */
    bool has_map;
    /* map[SL] is the VL of this SL; 15: packets of this SL are dropped */
    uint8_t map[16];
    struct fab_arb_entry high[FAB_ARB_ENTRIES], low[FAB_ARB_ENTRIES];
    /* numbers of entries of high[] and low[]; if both are 0, the manager computes the VLArb
     * tables */
    uint8_t highs, lows;
    bool has_limit;
    uint8_t limit; /* LimitOfHighPriority, in units of 4096 bytes */
    struct fab_class_note note[FAB_CLASS_NOTES];
    /* number of lines of qos-policy.conf that were ignored; note[] describes the first ones */
    size_t notes;
    struct fab_arena arena;
    int refs; /* reference count; private, atomic */
};
struct fab_classes_error {
    /* number of the line with the error, from 1; 0: the error belongs to no single line */
    uint32_t line;
    char message[200]; /* what the parser found, and what it expected */
};

/* Makes a set of classes that contains only class 0, named "default", with one reference (refs ==
 * 1). Until the caller shares the set, it may change the set with the functions below. Returns
 * NOMEM. */
int fab_policy_classes_new(struct fab_classes **ret);
/* Adds a class, and copies its name. A class named "default" replaces class 0. *ret_number is the
 * number of the class. Returns EXISTS (another class has the name), LIMIT (too many classes), RANGE
 * (a value is not allowed) or NOMEM. Except for NOMEM, *ret_error then has a text. */
int fab_policy_classes_add(struct fab_classes *c, const struct fab_class *class,
                           uint8_t *ret_number, struct fab_classes_error *ret_error);
/* Adds a rule for a class. The text consists of conditions KEY=VALUE, separated by blanks. The
 * value of "from" or "to" is a @GROUP of partitions.conf, a GUID, or a pattern of node
 * descriptions. The value of "partition" is a name. The value of "pkey", "service" and "qos_class"
 * is a list of numbers and ranges, separated by commas. Returns FORMAT or LIMIT with a text in
 * *ret_error, or NOMEM. */
int fab_policy_classes_add_rule(struct fab_classes *c, uint8_t class, const char *text,
                                struct fab_classes_error *ret_error);
/* Adds the classes and rules of a qos-policy.conf: its qos-levels become classes, and its rules are
 * appended to the existing rules. Returns FORMAT or LIMIT with a text in *ret_error, or NOMEM. */
int fab_policy_classes_read(struct fab_classes *c, const char *text, size_t len,
                            struct fab_classes_error *ret_error);
/* The next two functions read a table from the text of an OpenSM option. fab_policy_classes_set_map
 * reads qos_sl2vl ("0,1,2,.."); fab_policy_classes_set_arb reads qos_vlarb_high or qos_vlarb_low
 * ("0:64,1:192"). Both return FORMAT if the text is malformed. */
int fab_policy_classes_set_map(struct fab_classes *c, const char *text);
int fab_policy_classes_set_arb(struct fab_classes *c, bool high, const char *text);
/* Checks all classes together. Returns RANGE, with a text in *ret_error, if the shares add up to
 * more than 100 percent, or if they add up to 100 percent and a class has no share. */
int fab_policy_classes_check(const struct fab_classes *c, struct fab_classes_error *ret_error);
struct fab_classes *fab_policy_classes_ref(struct fab_classes *c); /* c may be NULL */
void fab_policy_classes_unref(struct fab_classes *c);
/* Returns true if it is certain that both sets of classes result in the same LimitOfHighPriority of
 * ports. `a` and `b` may be NULL. */
bool fab_policy_classes_same_limit(const struct fab_classes *a, const struct fab_classes *b);
/* Returns the number of the class with that name; -1: there is no such class. */
int fab_policy_classes_find(const struct fab_classes *c, const char *name);

/* Returns the number of classes. Without a set (c == NULL), there is one class. */
static inline uint8_t fab_policy_classes_count(const struct fab_classes *c)
{
    return c != NULL ? c->count : 1;
}

#endif
