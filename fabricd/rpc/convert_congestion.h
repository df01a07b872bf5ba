/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that several RPCs about congestion control use. */
#ifndef FABRICD_RPC_CONVERT_CONGESTION_H
#define FABRICD_RPC_CONVERT_CONGESTION_H

#include "fabricd/cc/cc.h"
#include "fabricd/rpc/answer.h"

/* Returns true if this manager runs congestion control. Otherwise finishes the call with an
 * error, and returns false. */
bool need_congestion(struct call *c);
/* Returns the advice of congestion control: sentences about settings that do not match what
 * counters and congestion logs show. */
char **convert_advice(struct answer *a, const struct cc *cc, size_t *ret_count);

#endif
