/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what a policy says about partitions, classes, congestion and names as lines of the form
 * "PATH: VALUE", and compares two such texts. */
#ifndef LIBFABMGR_POLICY_LINES_H
#define LIBFABMGR_POLICY_LINES_H

#include "libfabmgr/base/text.h"
#include "libfabmgr/policy/declared.h"

/* Appends the policy as lines to the text. The values may come from fabricd.yaml or from an applied
 * policy. */
void fab_policy_lines(const struct fab_policy *p, struct fab_text *to);
/* Appends the isolated links and the approvals of an applied policy as lines to the text. */
void fab_policy_lines_decisions(const struct fab_declared *d, struct fab_text *to);

struct fab_policy_change {
    const char *path;
    const char *before, *after; /* before NULL: the line is new; after NULL: the line was removed */
};
typedef void fab_policy_change_fn(void *ctx, const struct fab_policy_change *c);
/* Calls `fn` for each path that has different values in the two texts or is in only one of them.
 * The paths ascend in the order of strcmp. Returns NOMEM. */
int fab_policy_lines_compare(const char *before, const char *after, fab_policy_change_fn *fn,
                             void *ctx);

#endif
