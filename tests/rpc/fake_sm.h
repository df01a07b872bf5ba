/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake subnet manager for tests of the RPC server. */
#ifndef TESTS_RPC_FAKE_SM_H
#define TESTS_RPC_FAKE_SM_H

#include "fabricd/sm/sm.h"

struct fake_sm {
    uint32_t leaves, spines, hosts_per_leaf; /* leaves 0: no view is published */
    /* time in us that the fake takes for each request */
    uint64_t delay_us;
};
int fake_sm_new(const struct sm_input *in, const struct fake_sm *how, struct sm **ret);

#endif
