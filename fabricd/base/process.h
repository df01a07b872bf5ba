/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about this process, for reports about faults. */
#ifndef FABRICD_BASE_PROCESS_H
#define FABRICD_BASE_PROCESS_H

#include "libfabmgr/base/text.h"

/* Appends to the text the resource limits, the resource usage, the threads, and the shared
 * libraries with their versions. Any thread may call this function. */
void process_describe(struct fab_text *to);

#endif
