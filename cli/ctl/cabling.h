/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the input of the commands about cabling: plans from files, and the fabric from the
 * manager. */
#ifndef CLI_CTL_CABLING_H
#define CLI_CTL_CABLING_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/cabling/compare.h"

/* Reads the files in the arguments of the command into one plan. Returns the exit code. If this
 * fails, prints the reason. */
int read_plan(struct session *s, struct fab_cabling_plan **ret_plan);
/* Gets the fabric from the manager. Returns the exit code. If this fails, *ret_error has the
 * reason. */
int fetch_fabric(struct session *s, struct fab_fabric **ret_fabric,
                 struct fab_client_error *ret_error);

struct compared {
    struct fab_fabric *fabric;
    struct fab_cabling_check *check;
};
/* Gets the fabric from the manager and compares it with the plan. Returns the exit code. If this
 * fails, prints the reason, for example that the plan belongs to another fabric. The caller must
 * call compared_fini, even after a failure. */
int compare_fabric(struct session *s, const struct fab_cabling_plan *plan, struct compared *ret);
void compared_fini(struct compared *x);

#endif
