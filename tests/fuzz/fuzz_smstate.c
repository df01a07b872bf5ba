/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the election. The input is a sequence of SMInfo answers, polls without an answer, and
 * control packets. The state machine must stay in a valid state. Each step has 12 bytes: kind of
 * step, number of the control packet, GUID (6 bytes), priority, state, two unused bytes.
 */
#include <stdint.h>
#include <stdlib.h>

#include "libfabmgr/smstate/smstate.h"

#define STEP 12
#define OTHERS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fab_sm_info read_info(const uint8_t *at)
{
    struct fab_sm_info info = {.priority = at[8] & 15, .state = at[9] & 7};
    for (unsigned i = 0; i < 6; i++)
        info.guid = info.guid << 8 | at[2 + i];
    return info;
}

static void check(const struct fab_smstate *s)
{
    if (s->state > FAB_SM_MASTER || s->passed_count > FAB_SMSTATE_PASSED || s->guid != 5 ||
        s->priority != 3 || fab_smstate_name(s->state) == NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fab_sm_info others[OTHERS];
    struct fab_smstate s;
    uint32_t count = 0;
    fab_smstate_init(&s, 5, 3);
    for (; size >= STEP; size -= STEP, data += STEP) {
        const struct fab_sm_info info = read_info(data);
        bool rediscover;
        others[count++ % OTHERS] = info;
        if (data[0] % 4 == 0)
            fab_smstate_discovered(&s, others, count < OTHERS ? count : OTHERS);
        else if (data[0] % 4 == 1 && s.state == FAB_SM_STANDBY)
            (void)fab_smstate_poll(&s, data[1] & 1 ? &info : NULL);
        else if (data[0] % 4 > 1)
            (void)fab_smstate_control(&s, data[1], &info, &rediscover);
        check(&s);
    }
    return 0;
}
