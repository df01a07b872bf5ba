/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ports that a rule selects. For this folder only. */
#ifndef LIBFABMGR_PARTITION_PORT_SELECTOR_H
#define LIBFABMGR_PARTITION_PORT_SELECTOR_H

#include "libfabmgr/partition/partition.h"

/* A function of the caller, which is called with each port that the selector selects: an endport,
 * or port 0 of a switch. It may be called several times with the same port. */
typedef void fab_partition_selected(void *ctx, uint32_t port);
void fab_partition_select_ports(const struct fab_partition_input *in,
                                const struct fab_port_selector *who, fab_partition_selected *take,
                                void *ctx);

#endif
