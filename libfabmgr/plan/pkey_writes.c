/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the blocks of P_Key tables to write, in two passes over all ports. The first pass removes
 * keys and turns full memberships into limited ones; the second writes everything that still
 * differs. So at any time a port holds a subset of its old table or a subset of its new table. Two
 * ports can communicate only if the old or the new tables allow this. In a single pass, a port that
 * is still a full member could communicate with a port that has just become a limited member.
 *
 * An unknown block is written once, in the second pass.
 */
#include "libfabmgr/plan/pkey_writes.h"

#include <string.h>

/* Returns the P_Key that the first pass writes to a table index whose P_Key changes from `was` to
 * `will`: the limited P_Key if both belong to one partition, otherwise 0 (no P_Key). */
static uint16_t common(uint16_t was, uint16_t will)
{
    if (was == will)
        return was;
    return fab_target_pkey_base(was) == fab_target_pkey_base(will) ? fab_target_pkey_base(was) : 0;
}

static void common_block(const uint16_t *was, uint16_t will[FAB_PKEY_BLOCK])
{
    for (unsigned i = 0; i < FAB_PKEY_BLOCK; i++)
        will[i] = common(was[i], will[i]);
}

void fab_plan_pkey_block(const struct fab_plan_input *in, const struct fab_plan_op *op,
                         uint16_t ret[FAB_PKEY_BLOCK])
{
    const uint16_t *was = in->observed != NULL
                              ? fab_target_blocks_get(&in->observed->pkeys, op->port, op->block)
                              : NULL;
    fab_target_pkeys_block(&in->target->pkeys, op->port, op->block, ret);
    if (op->removes && was != NULL)
        common_block(was, ret);
}

static bool is_needed(const struct fab_plan_input *in, const struct fab_plan_op *op)
{
    const size_t size = FAB_PKEY_BLOCK * sizeof(uint16_t);
    const uint16_t *was = in->observed != NULL
                              ? fab_target_blocks_get(&in->observed->pkeys, op->port, op->block)
                              : NULL;
    uint16_t will[FAB_PKEY_BLOCK];
    if (was == NULL)
        return !op->removes;
    fab_target_pkeys_block(&in->target->pkeys, op->port, op->block, will);
    if (memcmp(was, will, size) == 0)
        return false;
    if (op->removes)
        common_block(was, will);
    else
        return true;
    return memcmp(was, will, size) != 0;
}

/* Returns true if the block gets no new key. Then the first pass, which removes keys, already
 * writes its final contents. */
static bool is_done_by_removal(const struct fab_plan_input *in, const struct fab_plan_op *op)
{
    const struct fab_plan_op removes = {.port = op->port, .block = op->block, .removes = true};
    uint16_t removed[FAB_PKEY_BLOCK], will[FAB_PKEY_BLOCK];
    if (!is_needed(in, &removes))
        return false;
    fab_plan_pkey_block(in, &removes, removed);
    fab_target_pkeys_block(&in->target->pkeys, op->port, op->block, will);
    return memcmp(removed, will, sizeof(will)) == 0;
}

int fab_plan_pkey_writes(const struct fab_plan_input *in, uint32_t port, bool removes,
                         fab_plan_add_op *add, void *ctx)
{
    const struct fab_fabric *f = in->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    uint32_t count, blocks = fab_target_pkeys_blocks(fab_target_pkeys_capacity(f, port));
    int ret = 0;
    if (fab_target_pkeys_table(&in->target->pkeys, port, &count) == NULL)
        return ret;
    for (uint32_t block = 0; block < blocks && ret == 0; block++) {
        struct fab_plan_op op = {.node = p->node,
                                 .port = port,
                                 .attr_id = FAB_ATTR_PKEY_TABLE,
                                 .block = (uint16_t)block,
                                 .mod = block,
                                 .removes = removes};
        if (fab_fabric_node_is_switch(f, p->node))
            op.mod |= (uint32_t)p->num << 16;
        if (is_needed(in, &op) && (removes || !is_done_by_removal(in, &op)))
            ret = add(ctx, op);
    }
    return ret;
}
