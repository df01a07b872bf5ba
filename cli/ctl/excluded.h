/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds to an exported fabric the links that it lacks because they are isolated or held down. */
#ifndef CLI_CTL_EXCLUDED_H
#define CLI_CTL_EXCLUDED_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/fabric/fabric.h"

/* Adds to an exported fabric the links that are up, but isolated or held down, because the export
 * does not have them. Returns the exit code; after a failure, *ret_error has the reason. */
int add_excluded_links(struct session *s, struct fab_builder *b,
                       struct fab_client_error *ret_error);

#endif
