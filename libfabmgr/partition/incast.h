/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the largest incast that partitions allow: the number of endports that can send to one
 * endport. This number is useful if each job has a partition of its own. Two endports can
 * communicate only if both are members of one partition, and at least one endport is a full
 * member. */
#ifndef LIBFABMGR_PARTITION_INCAST_H
#define LIBFABMGR_PARTITION_INCAST_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/pkeys.h"

/*
 * Fills ret[port_count]. For an endport of an adapter or router that is up, the element is at least
 * 1: it is the largest incast at any endport to which this endport can send. Ports of switches and
 * of aggregation nodes, and ports that are down, get 0. An element is never lower than the true
 * value. It may be higher if there are thousands of endports, each in dozens of partitions.
 *
 * A port without a table counts as a full member of the default partition, as devices are after a
 * reset. The manager's own membership in the default partition does not count, because it is for
 * management. Returns OK or NOMEM.
 */
int fab_partition_incast(const struct fab_fabric *f, const struct fab_pkeys *pkeys, uint32_t *ret);

#endif
