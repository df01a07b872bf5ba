/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "discovering": asks what libfabmgr/discover wants asked, the whole fabric or the suspects,
 * and takes the snapshot over into the model.
 *
 * A scoped look that ends oddly (we ourselves are not in it, or it lost half of the fabric) is not
 * believed: the whole fabric is looked at instead.
 */
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"

static int enter(struct sm *s)
{
    bool scoped = s->run.kind == SM_ROUND_SCOPED;
    struct fab_discover_config config = {
        .base = scoped ? s->model.fabric : NULL,
        .suspects = scoped ? s->suspects.guid : NULL,
        .suspect_count = scoped ? s->suspects.count : 0,
        .m_key = s->policy.m_key,
    };
    fab_discover_free(s->discover);
    s->discover = NULL;
    return fab_discover_new(&config, &s->discover);
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct fab_discover_ask ask;
    if (!fab_discover_next(s->discover, &ask))
        return false;
    ret->path = ask.path;
    ret->attr_id = ask.attr_id;
    ret->attr_mod = ask.attr_mod;
    ret->tag = ask.tag;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    bool good = a->status == FAB_OK && a->len >= FAB_SMP_DATA;
    int status = good || a->status != FAB_OK ? a->status : FAB_E_FORMAT;
    if (fab_discover_answer(s->discover, tag, status, good ? a->data : NULL) != FAB_OK)
        log_error("sm", "out of memory during discovery; a part of the fabric is missed");
}

static bool finished(const struct sm *s)
{
    return fab_discover_done(s->discover);
}

static bool odd(const struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    return now->self_port == FAB_NONE || (was && now->node_count < was->node_count / 2);
}

static int leave(struct sm *s)
{
    bool scoped = s->run.kind == SM_ROUND_SCOPED;
    struct fab_fabric *fabric;
    int r = fab_discover_result(s->discover, &fabric);
    if (r != FAB_OK)
        return r;
    if (scoped && odd(s, fabric)) {
        fab_fabric_unref(fabric);
        log_notice("sm", "the scoped look contradicts what was known; looking at everything");
        sm_want_full(s);
        return SM_ROUND_OVER;
    }
    if (fabric->self_port == FAB_NONE) {
        fab_fabric_unref(fabric);
        return FAB_E_UNREACHABLE;
    }
    r = sm_model_adopt(&s->model, fabric, &s->run.same);
    if (r != FAB_OK)
        return r;
    uint32_t count;
    const struct fab_silent *silent = fab_discover_silent(s->discover, &count);
    r = sm_silent_update(s, silent, count, scoped);
    fab_discover_free(s->discover);
    s->discover = NULL;
    return r;
}

const struct sm_phase sm_phase_discover = {"discovering", enter, next, answer, finished, leave};
