/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the result of a comparison of the fabric with a cabling plan. */
#ifndef CLI_CTL_SHOW_CABLING_H
#define CLI_CTL_SHOW_CABLING_H

#include "cli/ctl/output.h"
#include "libfabmgr/cabling/compare.h"

/* Prints the numbers of nodes and links, the differences, and the moves that mend them. */
void show_cabling(struct out *o, const struct fab_cabling_check *c);
/* Prints the differences and the moves. `missing`: also planned links without a cable, and nodes
 * that are not there. At most `most` of each; 0: all. */
void show_cabling_lists(struct out *o, const struct fab_cabling_check *c, bool missing,
                        size_t most);

#endif
