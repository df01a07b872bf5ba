/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake of congestion control for tests of the RPC server. */
#ifndef TESTS_RPC_FAKE_CC_H
#define TESTS_RPC_FAKE_CC_H

#include "fabricd/cc/cc.h"

/* Creates the fake, which computes the congestion control settings for this configuration. Returns
 * NOMEM. */
int fake_cc_new(struct loop *loop, const struct config *config, struct cc **ret);
void fake_cc_free(struct cc *cc); /* cc may be NULL */

#endif
