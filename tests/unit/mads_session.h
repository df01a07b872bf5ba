/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for tests of the MAD session (libfabmgr/mads/mads.h). They make requests, record the
 * results, and answer as a device. */
#ifndef TESTS_UNIT_MADS_SESSION_H
#define TESTS_UNIT_MADS_SESSION_H

#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/mads.h"
#include "tests/unit/testing.h"

#define TIMEOUT 1000

static const struct fab_path path = {.hops = 2, .port = {0, 3, 4}};

struct outcome {
    uint32_t calls;
    int status;
    uint16_t smp_status;
    uint64_t tag, rtt;
    size_t len;
    uint8_t first; /* first byte of the attribute data in the answer */
};

static inline void keep(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct outcome *o = ctx;
    *o = (struct outcome){.calls = o->calls + 1,
                          .status = a->status,
                          .smp_status = a->smp_status,
                          .tag = tag,
                          .rtt = a->rtt_us,
                          .len = a->len,
                          .first = a->data != NULL ? a->data[0] : 0};
}

static inline struct fab_mads_request get(struct outcome *o, uint64_t tag)
{
    return (struct fab_mads_request){.mgmt_class = FAB_CLASS_SMP_DIRECTED,
                                     .method = FAB_METHOD_GET,
                                     .attr_id = FAB_ATTR_NODE_INFO,
                                     .path = &path,
                                     .done = o != NULL ? keep : NULL,
                                     .ctx = o,
                                     .tag = tag};
}

static inline struct fab_mads *session(uint32_t window, uint32_t retries)
{
    struct fab_mads_config config = {.window_start = window,
                                     .window_max = window,
                                     .timeout_us = TIMEOUT,
                                     .retries = retries,
                                     .tid_key = {77}};
    return fab_mads_new(&config);
}

/* Turns a request into its response: sets the method GetResp, and changes the high 32 bits of the
 * TID, as kernels do. */
static inline void answer(uint8_t mad[FAB_MAD_SIZE], uint16_t status, uint8_t first)
{
    uint8_t data[FAB_SMP_DATA] = {first};
    ck_assert_int_eq(fab_wire_smp_answer(mad, status, data, mad), FAB_OK);
    memcpy(mad + 8, "\xde\xad\xbe\xef", 4);
}

static inline struct fab_mads_stats stats_of(const struct fab_mads *m)
{
    struct fab_mads_stats s;
    fab_mads_stats(m, &s);
    return s;
}

static inline bool endless(void *ctx, struct fab_mads_request *ret)
{
    uint64_t *count = ctx;
    *ret = get(NULL, (*count)++);
    return true;
}

#endif
