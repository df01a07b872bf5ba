/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the traffic classes (classes.h) while a text is read. For this folder only. */
#ifndef LIBFABMGR_POLICY_CLASSES_MAKE_H
#define LIBFABMGR_POLICY_CLASSES_MAKE_H

#include "libfabmgr/policy/classes.h"

/* The next four functions add a group, a member of a group, a rule, or a range. They return NOMEM,
 * or LIMIT if there are too many groups or rules. */
int fab_policy_classes_add_group(struct fab_classes *c, const char *name, size_t len,
                                 uint32_t *ret_number);
int fab_policy_classes_add_member(struct fab_class_group *g, const struct fab_class_member *m);
int fab_policy_classes_append_rule(struct fab_classes *c, const struct fab_class_rule *rule);
int fab_policy_classes_add_range(struct fab_ranges *r, struct fab_range range);
void fab_policy_classes_rule_fini(struct fab_class_rule *rule);

/* Parses a list of numbers and ranges such as "1-3, 0x10", adds `offset` to each number, and
 * appends the ranges to *ret. Returns NOMEM, or FORMAT if the text is not such a list or a number
 * exceeds `most`. */
int fab_policy_classes_read_ranges(const char *text, size_t len, uint64_t most, uint64_t offset,
                                   struct fab_ranges *ret);
/* Reads a number: decimal, or hexadecimal after 0x. Blanks around the number are skipped.
 * Returns false if the text is anything else. */
bool fab_policy_classes_read_number(const char *text, size_t len, uint64_t *ret);

#endif
