/* SPDX-License-Identifier: BSD-3-Clause */
/* What the services of congestion control share. */
#ifndef FABRICD_RPC_CONVERT_CONGESTION_H
#define FABRICD_RPC_CONVERT_CONGESTION_H

#include "fabricd/cc/cc.h"
#include "fabricd/rpc/answer.h"

/* False: there is none in this manager, and the call is finished with an error. */
bool need_congestion(struct call *c);
/* Sentences: what no longer fits. */
char **convert_advice(struct answer *a, const struct cc *cc, size_t *ret_count);

#endif
