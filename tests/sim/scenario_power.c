/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs "off" and "on" with the option "spread": the nodes lose or get power at random times
 * within this period, as when a rack or a row fails. The seed decides the order. (Without the
 * option, cli/sim/faults.h has the verbs.)
 */
#include <fnmatch.h>
#include <stdlib.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/stage.h"
#include "tests/sim/verbs.h"

/* nodes that will lose power, one after the other */
struct stage_outage {
    struct stage *stage;
    struct stage_outage *next;
    struct loop_timer *timer;
    uint32_t left;
    struct outage_node {
        uint64_t at_us;
        uint32_t node;
    } node[]; /* [left] node ids; the last one loses power next */
};

static int by_time(const void *x, const void *y)
{
    const struct outage_node *a = x, *b = y;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? 1 : -1;
    return a->node < b->node ? 1 : -1;
}

static void on_outage(void *ctx)
{
    struct stage_outage *o = ctx;
    uint64_t now = stage_now(o->stage);
    fab_sim_advance(o->stage->sim, now);
    while (o->left > 0 && o->node[o->left - 1].at_us <= now)
        (void)fab_sim_power_off(o->stage->sim, o->node[--o->left].node);
    if (o->left > 0)
        loop_timer_set(o->timer, o->node[o->left - 1].at_us - now);
    if (o->stage->below)
        transport_sim_kick(o->stage->below);
}

static struct fab_prng prng_of(const struct stage *s, const struct scenario_line *line)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, s->run.seed ^ line->number);
    return prng;
}

int stage_power_off(struct stage *s, const struct scenario_line *line, uint64_t spread_us)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    struct fab_prng prng = prng_of(s, line);
    struct stage_outage *o = calloc(1, sizeof(*o) + f->node_count * sizeof(o->node[0]));
    if (!o)
        return FAB_E_NOMEM;
    o->stage = s;
    o->next = s->outages;
    s->outages = o;
    o->timer = loop_timer_new(s->loop, on_outage, o);
    if (!o->timer)
        return FAB_E_NOMEM;
    for (uint32_t node = 0; node < f->node_count; node++)
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) == 0)
            o->node[o->left++] = (struct outage_node){
                stage_now(s) + fab_base_prng_below(&prng, spread_us + 1), node};
    qsort(o->node, o->left, sizeof(o->node[0]), by_time);
    uint32_t matched = o->left;
    loop_timer_set(o->timer, 0);
    return matched > 0 ? FAB_OK : FAB_E_NOT_FOUND;
}

int stage_power_on(struct stage *s, const struct scenario_line *line, uint64_t spread_us)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    struct fab_prng prng = prng_of(s, line);
    uint64_t boot_us = (uint64_t)scenario_number(line, "boot", 0),
             step_us = (uint64_t)scenario_number(line, "step", 0);
    int r = FAB_E_NOT_FOUND;
    for (uint32_t node = 0; node < f->node_count; node++) {
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) != 0)
            continue;
        s->lost[node] = false;
        uint64_t late_us = fab_base_prng_below(&prng, spread_us + 1);
        r = fab_sim_power_on(s->sim, node, boot_us + late_us, step_us);
        if (r != FAB_OK)
            return r;
    }
    return r;
}

void stage_outages_free(struct stage *s)
{
    for (struct stage_outage *o = s->outages, *next; o; o = next) {
        next = o->next;
        loop_timer_free(o->timer);
        free(o);
    }
    s->outages = NULL;
}
