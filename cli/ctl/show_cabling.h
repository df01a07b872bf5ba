/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the result of a comparison of the fabric with a cabling plan. */
#ifndef CLI_CTL_SHOW_CABLING_H
#define CLI_CTL_SHOW_CABLING_H

#include "cli/ctl/output.h"
#include "libfabmgr/cabling/compare.h"

#define SHOW_CABLING_PORT 160
/* Writes a port such as "leaf-03/17", and returns the text. */
const char *show_cabling_port(const struct fab_cabling_check *c, uint32_t port,
                              char text[SHOW_CABLING_PORT]);
/* Prints the whole result: how many nodes, links, differences and moves there are, and the lists of
 * the differences and moves (show_cabling_lists). */
void show_cabling(struct out *o, const struct fab_cabling_check *c);
/* Prints only the lists of at most `most` differences and at most `most` moves; 0: all. missing:
 * also lists planned links without a cable, and nodes that are not in the fabric. */
void show_cabling_lists(struct out *o, const struct fab_cabling_check *c, bool missing,
                        size_t most);

#endif
