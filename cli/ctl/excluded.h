/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds links to a fabric that the manager exported: the export lacks the links that are isolated,
 * held down or drained. */
#ifndef CLI_CTL_EXCLUDED_H
#define CLI_CTL_EXCLUDED_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/fabric/fabric.h"

/* Adds to `b`, an exported fabric, the links that are up, but are isolated, held down or drained.
 * Returns the exit code; after a failure, *ret_error has the reason. */
int add_excluded_links(struct session *s, struct fab_builder *b,
                       struct fab_client_error *ret_error);

#endif
