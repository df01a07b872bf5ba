/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that the manager keeps out of its routes. */
#ifndef CLI_CTL_EXCLUDED_H
#define CLI_CTL_EXCLUDED_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/fabric/fabric.h"

/* Adds the links that are up, but isolated or held down, to an exported fabric, which has only the
 * links that routes may use. On failure, *ret_error says why. Returns the exit code. */
int add_excluded_links(struct session *s, struct fab_builder *b,
                       struct fab_client_error *ret_error);

#endif
