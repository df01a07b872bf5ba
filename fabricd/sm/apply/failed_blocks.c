/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of the LFT blocks whose writes failed or were not sent. A block is doubtful if its
 * switch may hold the entries of a failed write (libfabmgr/plan/observed.c). A plan for the whole
 * fabric repeats all missing writes. From then on, the list needs to have only the doubtful blocks.
 *
 * A local repair writes only the blocks that it changes, and its proof assumes that the switches
 * hold the active tables. The list shows where they do not.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"

/* Returns whether the list has this write. The same write can fail several times: in each round,
 * the manager repeats the write of a doubtful block until the switch answers. */
static bool is_listed(const struct sm_apply *a, const struct sm_failed_block *b)
{
    uint32_t i = 0;
    while (i < a->failed_count && (a->failed[i].guid != b->guid || a->failed[i].block != b->block ||
                                   a->failed[i].sent != b->sent ||
                                   memcmp(a->failed[i].entries, b->entries, FAB_LFT_BLOCK) != 0))
        i++;
    return i < a->failed_count;
}

static int add(struct sm *s, const struct fab_plan_op *op, bool sent)
{
    struct sm_apply *a = s->apply;
    struct sm_failed_block b = {.guid = s->model.fabric->nodes[op->node].guid,
                                .block = op->block,
                                .sent = sent,
                                .by_repair = s->run.round->probes};
    uint8_t data[FAB_SMP_DATA];
    uint32_t attr_mod, count = a->failed_count;
    (void)fab_plan_encode(&a->program.in, op, data, &attr_mod);
    memcpy(b.entries, data, FAB_LFT_BLOCK);
    if (op->restores && is_listed(a, &b))
        return FAB_OK;
    if ((count & (count - 1)) == 0) {
        struct sm_failed_block *more = realloc(a->failed, 2 * (count + 1) * sizeof(*more));
        if (!more)
            return FAB_E_NOMEM;
        a->failed = more;
    }
    a->failed[count] = b;
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

static bool is_doubtful(const struct sm *s, const struct sm_failed_block *b)
{
    uint32_t sw = fab_fabric_node_by_guid(s->model.fabric, b->guid);
    return b->sent && sw != FAB_NONE &&
           fab_plan_observed_is_doubtful(&s->model.observed, sw, b->block);
}

struct fab_plan_lost *sm_failed_lost(const struct sm *s, uint32_t *ret_count)
{
    const struct sm_apply *a = s->apply;
    struct fab_plan_lost *ret = calloc(a->failed_count + 1u, sizeof(*ret));
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->failed_count && ret; i++) {
        if (!is_doubtful(s, &a->failed[i]) ||
            a->failed[i].block >= fab_target_lft_blocks(&s->model.target->lft))
            continue;
        ret[count].sw = fab_fabric_node_by_guid(s->model.fabric, a->failed[i].guid);
        ret[count].block = a->failed[i].block;
        memcpy(ret[count++].entries, a->failed[i].entries, FAB_LFT_BLOCK);
    }
    *ret_count = count;
    return ret;
}

void sm_failed_begin(struct sm *s)
{
    struct sm_apply *a = s->apply;
    uint32_t count = a->failed_count;
    a->failed_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_doubtful(s, &a->failed[i]))
            a->failed[a->failed_count++] = a->failed[i];
}

void sm_failed_prune(struct sm *s)
{
    struct sm_apply *a = s->apply;
    uint32_t count = a->failed_count;
    a->failed_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!a->failed[i].sent || is_doubtful(s, &a->failed[i]))
            a->failed[a->failed_count++] = a->failed[i];
}

const struct sm_failed_block *sm_failed_blocks(const struct sm *s, uint32_t *ret_count)
{
    *ret_count = s->apply->failed_count;
    return s->apply->failed;
}
