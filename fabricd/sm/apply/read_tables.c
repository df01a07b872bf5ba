/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "reading tables" reads all unknown LFT blocks, up to LinearFDBTop of each switch. After a
 * restart of the manager, all blocks of all switches are unknown. After this phase, the plan has to
 * write only blocks that change.
 *
 * In standby, the phase reads all blocks again and again (standby.c), or only those that the master
 * has changed (behind.c). After a take-over with tables
 * that were read in standby, it reads them all once more.
 *
 * A switch that was just powered on has LinearFDBTop 0, so no block of it is read. A block whose
 * read failed stays unknown, and the plan writes it.
 */
#include "fabricd/sm/apply/state.h"

static uint32_t top_of(const struct sm *s, uint32_t sw)
{
    if (s->model.paths[sw].hops == FAB_PATH_UNKNOWN)
        return 0;
    uint32_t top = s->model.fabric->switches[sw].linear_fdb_top;
    return top > FAB_LID_UNICAST_MAX ? FAB_LID_UNICAST_MAX : top;
}

static int enter(struct sm *s)
{
    uint32_t top = 0;
    for (uint32_t sw = 0; sw < s->model.fabric->switch_count; sw++)
        if (top_of(s, sw) > top)
            top = top_of(s, sw);
    s->apply->scan = (struct sm_scan){0};
    sm_standby_read_again(s);
    return top ? sm_model_reserve(&s->model, top) : FAB_OK;
}

/* Moves `block` to the next block of the switch that must be read, below `end`. Returns false if
 * there is none. */
static bool next_of(struct sm *s, uint32_t sw, uint32_t end, uint32_t *block)
{
    if (s->run.round->catches)
        return sm_behind_next(s, sw, end, block);
    *block = fab_plan_observed_next_unknown(&s->model.observed, sw, *block, end);
    return *block < end;
}

/* Moves s->apply->scan to the next LFT block that must be read, at a switch to which a directed
 * route is known. Returns false if there is no further one. */
static bool find_block(struct sm *s)
{
    struct sm_scan *at = &s->apply->scan;
    const struct fab_fabric *f = s->model.fabric;
    for (; at->index < f->switch_count; at->index++, at->block = 0) {
        uint32_t top = top_of(s, at->index), end = top ? top / FAB_LFT_BLOCK + 1 : 0;
        if (next_of(s, at->index, end, &at->block))
            return true;
    }
    return false;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    if (!find_block(s))
        return false;
    ret->path = &s->model.paths[s->apply->scan.index];
    ret->attr_id = FAB_ATTR_LFT;
    ret->attr_mod = s->apply->scan.block;
    ret->tag = (uint64_t)s->apply->scan.index << 32 | s->apply->scan.block;
    s->apply->scan.block++;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    bool good = a->status == FAB_OK && a->len >= FAB_LFT_BLOCK;
    if (s->run.round->catches)
        sm_behind_answer(s, (uint32_t)(tag >> 32), (uint32_t)tag, good ? a->data : NULL);
    if (!good)
        return;
    sm_standby_compare(s, (uint32_t)(tag >> 32), (uint32_t)tag, a->data);
    fab_plan_observed_set_block(&s->model.observed, (uint32_t)(tag >> 32), (uint32_t)tag, a->data);
    for (unsigned i = 0; i < FAB_LFT_BLOCK && !s->apply->routes_read; i++)
        s->apply->routes_read = a->data[i] != FAB_LFT_NO_ROUTE;
}

static bool finished(const struct sm *s)
{
    return s->apply->scan.index >= s->model.fabric->switch_count;
}

const struct sm_phase sm_phase_read_tables = {.name = "reading tables",
                                              .enter = enter,
                                              .next = next,
                                              .answer = answer,
                                              .finished = finished,
                                              .leave = sm_standby_compared,
                                              .yields = SM_YIELDS};
