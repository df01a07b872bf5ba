/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of the commands that fabricd itself has (--rehearse, --hardware-report). */
#ifndef FABRICD_BASE_REPORT_H
#define FABRICD_BASE_REPORT_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"

/* Prints a text to standard output as a JSON string. Bytes outside ASCII are printed as the
 * characters U+0080 to U+00FF, because names from the fabric may contain any bytes. */
void report_put_string(const char *text);
/* Copies the name of a node to ret[], cleaned by log_clean. If the node has no name, writes its
 * GUID instead. */
void report_node_name(const struct fab_fabric *f, uint32_t node, char *ret, size_t len);

#endif
