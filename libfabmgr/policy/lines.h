/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows what a policy says about partitions, classes, congestion and names as lines "PATH: VALUE",
 * and compares two such texts. */
#ifndef LIBFABMGR_POLICY_LINES_H
#define LIBFABMGR_POLICY_LINES_H

#include "libfabmgr/base/text.h"
#include "libfabmgr/policy/declared.h"

/* Appends the lines of a policy, whether its values come from fabricd.yaml or were applied. */
void fab_policy_lines(const struct fab_policy *p, struct fab_text *to);
/* Appends the lines of the isolated links and approvals of an applied policy. */
void fab_policy_lines_decisions(const struct fab_declared *d, struct fab_text *to);

struct fab_policy_change {
    const char *path;
    const char *before, *after; /* before NULL: the line is new; after NULL: the line was removed */
};
typedef void fab_policy_change_fn(void *ctx, const struct fab_policy_change *c);
/* Calls fn for each line that differs, in the order of paths. Returns NOMEM. */
int fab_policy_lines_compare(const char *before, const char *after, fab_policy_change_fn *fn,
                             void *ctx);

#endif
