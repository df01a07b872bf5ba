/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of the LFT blocks whose writes failed or were not sent. The list begins anew when
 * a plan for the whole fabric is programmed, because such a plan repeats all missing writes.
 *
 * A local repair writes only the blocks that it changes, and is proved for the active tables. It
 * must therefore find out from this list whether the switches hold the active tables.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"

static int add(struct sm *s, const struct fab_plan_op *op, bool sent)
{
    struct sm_apply *a = s->apply;
    uint8_t data[FAB_SMP_DATA];
    uint32_t attr_mod, count = a->failed_count;
    if ((count & (count - 1)) == 0) {
        struct sm_failed_block *more = realloc(a->failed, 2 * (count + 1) * sizeof(*more));
        if (!more)
            return FAB_E_NOMEM;
        a->failed = more;
    }
    (void)fab_plan_encode(&a->program.in, op, data, &attr_mod);
    a->failed[count] = (struct sm_failed_block){.guid = s->model.fabric->nodes[op->node].guid,
                                                .block = op->block,
                                                .sent = sent,
                                                .by_repair = s->run.round->probes};
    memcpy(a->failed[count].entries, data, FAB_LFT_BLOCK);
    a->failed_count++;
    return FAB_OK;
}

void sm_failed_note(struct sm *s, const struct fab_plan_op *op, bool sent)
{
    if (add(s, op, sent) == FAB_OK)
        return;
    log_warning("sm", "no memory to note a failed table write: the next fault needs a sweep");
    sm_repair_forget(s);
}

const struct sm_failed_block *sm_failed_blocks(const struct sm *s, uint32_t *ret_count)
{
    *ret_count = s->apply->failed_count;
    return s->apply->failed;
}
