/* SPDX-License-Identifier: BSD-3-Clause */
/* From what is known to values. For this room's files only. */
#ifndef LIBFABMGR_CONGESTION_DERIVE_H
#define LIBFABMGR_CONGESTION_DERIVE_H

#include "libfabmgr/congestion/congestion.h"

void derive_port(const struct fab_congestion_basis *b, const struct fab_policy_congestion *p,
                 struct fab_congestion_port *ret);
void derive_adapter(const struct fab_congestion_basis *b, const struct fab_policy_congestion *p,
                    struct fab_congestion_adapter *ret);
/* A table of which each entry slows down by the same factor, the last by `ratio` (1..). */
void derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret);

#endif
