/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of ended RPC calls. The RPC server counts, and the metrics show the counts. */
#ifndef FABRICD_BASE_CALL_COUNTS_H
#define FABRICD_BASE_CALL_COUNTS_H

#include <stdint.h>

#define CALL_COUNTS_ROLES 5
#define CALL_COUNTS_CODES 17
struct call_counts {
    /* [role of the caller][gRPC status code] number of ended calls. The role is an enum
     * config_role; 0: not known. */
    uint64_t ended[CALL_COUNTS_ROLES][CALL_COUNTS_CODES];
};

#endif
