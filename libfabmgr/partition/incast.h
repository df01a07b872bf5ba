/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many may crowd one end, as partitions allow: a job is a partition here, and an end gets
 * packets only from those that share a partition with it, both limited members excepted.
 */
#ifndef LIBFABMGR_PARTITION_INCAST_H
#define LIBFABMGR_PARTITION_INCAST_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/pkeys.h"

/* For each port that is an end (of an adapter or router, with a cable): the greatest number of ends
 * that can send to one of those to which this one can, at least 1; 0 for other ports.
 * Never too few; too many at most where thousands of ends are each in dozens of partitions with
 * others. A port without a table is a full member of the default partition, as devices are from
 * the start. What the manager's own port has of the default partition (all others reach it there)
 * is for management, and does not count. ret: [port_count]. NOMEM. */
int fab_partition_incast(const struct fab_fabric *f, const struct fab_pkeys *pkeys, uint32_t *ret);

#endif
