/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts how much tables use a link. */
#ifndef LIBFABMGR_STUDY_LINK_USE_H
#define LIBFABMGR_STUDY_LINK_USE_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

/* Returns the number of LFT entries that lead over a link, in the two switches at its ends. port:
 * id of either port of the link. */
uint64_t fab_study_link_use(const struct fab_fabric *f, const struct fab_lft *lft, uint32_t port);

#endif
