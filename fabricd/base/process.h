/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about this process, for reports about faults. */
#ifndef FABRICD_BASE_PROCESS_H
#define FABRICD_BASE_PROCESS_H

#include <stdint.h>

#include "libfabmgr/base/text.h"

/* Appends a description of this process to *to: resource limits, resource usage, memory, number of
 * open files, threads, and shared libraries with their versions. Any thread may call this function.
 */
void process_describe(struct fab_text *to);

/* What this process uses. A value that cannot be read is 0. */
struct process_use {
    uint64_t cpu_us;         /* CPU time of all threads since the start */
    uint64_t resident_bytes; /* resident memory now */
};
void process_get_use(struct process_use *ret);

#endif
