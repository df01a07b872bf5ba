/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes as an operator wants them: a name, a guaranteed share of every cable, high or low
 * priority, limits of paths; and rules that say which paths belong to which class. From our own
 * words (fabricd.yaml), from OpenSM's qos-policy.conf, or from both. A sealed, shared value.
 *
 * Which SLs and VLs a class gets is found for a fabric and its routing by libfabmgr/qos.
 */
#ifndef LIBFABMGR_POLICY_CLASSES_H
#define LIBFABMGR_POLICY_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"

#define FAB_CLASSES_MAX 16 /* as there are SLs; number 0 is what no rule takes */
#define FAB_CLASS_GROUPS_MAX 64
#define FAB_CLASS_RULES_MAX 4096
#define FAB_CLASS_NOTES 16
#define FAB_CLASSES_TEXT_MAX (UINT32_C(1) << 20) /* bytes of a qos-policy.conf */
#define FAB_CLASS_NO_SL 0xff
#define FAB_ARB_ENTRIES 64 /* of a VL arbitration table at most, IBA 7.6.9.2 */

struct fab_class {
    const char *name;
    uint8_t share;      /* percent of a cable that it is guaranteed, 1..100; 0: what is left */
    bool high;          /* its packets go before those of low priority (IBA 7.6.9) */
    uint8_t sl;         /* that it shall have, or FAB_CLASS_NO_SL: any. Classes of one SL are one */
    uint8_t mtu;        /* at most, as PathRecord numbers it; 0: as the way has it */
    uint8_t rate;       /* likewise */
    uint32_t rate_mbps; /* the same as Mb/s; 0: `rate` says it */
    bool has_life;
    uint8_t life;  /* packet lifetime, if has_life */
    uint16_t pkey; /* of its paths, 1..0x7fff; 0: any */
};
enum fab_class_member_kind {
    FAB_CLASS_GUIDS, /* ports first..last by GUID */
    FAB_CLASS_PKEYS, /* members of partitions first..last */
    FAB_CLASS_PARTITION,
    FAB_CLASS_NODES,     /* description, or its first word, by a pattern of * and ? */
    FAB_CLASS_OF_OTHERS, /* a named group of partitions.conf */
    FAB_CLASS_TYPES,     /* nodes of these types, bits */
    FAB_CLASS_SELF       /* the manager's own port */
};
struct fab_class_member {
    enum fab_class_member_kind kind;
    uint64_t first, last; /* GUIDS, PKEYS; TYPES: first has a bit 1 << enum fab_node_type */
    const char *name;     /* PARTITION, NODES, OF_OTHERS */
    uint8_t port;         /* NODES: of the adapter; 0: any */
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
    size_t count; /* 0: it does not matter */
};
/* All that it names must be so. A path that is not asked for with a service id, QoS class or
 * P_Key meets no rule that names one. */
struct fab_class_rule {
    uint8_t class;
    uint64_t from, to, either; /* groups, a bit each; 0: any. either: source or destination */
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
    uint8_t count; /* 1.. */
    struct fab_class_group group[FAB_CLASS_GROUPS_MAX];
    size_t groups;
    struct fab_class_rule *rule; /* the first that fits */
    size_t rules;
    /* Tables as the operator wants them instead of computed ones, as OpenSM's options have them. */
    bool has_map;
    uint8_t map[16]; /* VL by SL, 15: dropped */
    struct fab_arb_entry high[FAB_ARB_ENTRIES], low[FAB_ARB_ENTRIES];
    uint8_t highs, lows; /* 0 both: computed */
    bool has_limit;
    uint8_t limit; /* LimitOfHighPriority */
    struct fab_class_note note[FAB_CLASS_NOTES];
    size_t notes; /* of them all; what was passed over */
    struct fab_arena arena;
    int refs; /* private, atomic */
};
struct fab_classes_error {
    uint32_t line;     /* from 1; 0: of the whole */
    char message[200]; /* what was found, and what was expected */
};

/* Only class 0, named "default". NOMEM. refs == 1. Until it is shared it may be added to: */
int fab_policy_classes_new(struct fab_classes **ret);
/* A class; the name is copied. "default" changes class 0. EXISTS: the name is there; LIMIT: too
 * many; RANGE: a value is out of its domain. ret_error says so. NOMEM. */
int fab_policy_classes_add(struct fab_classes *c, const struct fab_class *class,
                           uint8_t *ret_number, struct fab_classes_error *ret_error);
/* A rule for a class in our own words: KEY=VALUE with blanks between; from, to (@GROUP of
 * partitions.conf, a GUID, or a pattern of node descriptions), partition (a name), pkey, service,
 * qos_class (numbers and ranges with commas between). FORMAT, LIMIT: ret_error. NOMEM. */
int fab_policy_classes_add_rule(struct fab_classes *c, uint8_t class, const char *text,
                                struct fab_classes_error *ret_error);
/* Adds what a qos-policy.conf says: its levels are classes, its rules come after those there are.
 * FORMAT, LIMIT: ret_error. NOMEM. */
int fab_policy_classes_read(struct fab_classes *c, const char *text, size_t len,
                            struct fab_classes_error *ret_error);
/* OpenSM's qos_sl2vl, qos_vlarb_high, qos_vlarb_low: "0,1,2" and "0:64,1:192". FORMAT. */
int fab_policy_classes_set_map(struct fab_classes *c, const char *text);
int fab_policy_classes_set_arb(struct fab_classes *c, bool high, const char *text);
/* What only the whole can show: shares of no more than 100 percent. RANGE: ret_error. */
int fab_policy_classes_check(const struct fab_classes *c, struct fab_classes_error *ret_error);
struct fab_classes *fab_policy_classes_ref(struct fab_classes *c); /* NULL is fine */
void fab_policy_classes_unref(struct fab_classes *c);
/* LimitOfHighPriority of ports is the same by both. NULL is fine. */
bool fab_policy_classes_same_limit(const struct fab_classes *a, const struct fab_classes *b);
/* By name; -1: none. */
int fab_policy_classes_find(const struct fab_classes *c, const char *name);

static inline uint8_t fab_policy_classes_count(const struct fab_classes *c) /* NULL: 1 */
{
    return c != NULL ? c->count : 1;
}

#endif
