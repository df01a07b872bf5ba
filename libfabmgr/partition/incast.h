/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The largest incast that partitions allow: a job is a partition here, and an endport gets packets
 * only from endports that share a partition with it in which not both are limited members.
 */
#ifndef LIBFABMGR_PARTITION_INCAST_H
#define LIBFABMGR_PARTITION_INCAST_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/pkeys.h"

/* For each endport with a link (of an adapter or router): the greatest number of endports that can
 * send to one of the endports that this one can send to, at least 1; 0 for other ports. It is
 * never too low; it may be too high where thousands of endports are each in dozens of partitions
 * with others. A port without a table is a full member of the default partition, as devices are
 * after a reset. The manager's own membership in the default partition, through which all others
 * reach it, is for management and does not count. ret: [port_count]. Returns NOMEM. */
int fab_partition_incast(const struct fab_fabric *f, const struct fab_pkeys *pkeys, uint32_t *ret);

#endif
