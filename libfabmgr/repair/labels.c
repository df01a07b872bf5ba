/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels: numbers of the channels that every packet meets in ascending order.
 *
 * With an order of the switches and ways that climb and then descend, a channel up has the place
 * of its switch in the order, and one down a number above all of these, the greater the lower its
 * switch: every legal turn ascends, those that no entry takes today among them, which leaves a
 * repair all the freedom that the order does. Nobody needs to know which engine made the tables:
 * the orders that the library has are tried on all entries, and one that fits is good.
 *
 * Where none fits (other engines, files), a channel's label is the length of the longest chain of
 * dependencies up to it, lane by lane. That is a proof of the baseline as well; it leaves a repair
 * less freedom, for turns that nobody takes today may or may not ascend.
 *
 * Not done: lanes apart where they depend on the source or on classes of ports. Where it takes them
 * to be free of cycles, there are no labels (UNSUPPORTED).
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/base.h"
#include "libfabmgr/route/route.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Lanes that hang on the destination alone are apart. Where they hang on the source or on classes
 * of ports, all are taken as one: labels that ascend there do so on every lane. */
static int find_lanes(struct fab_repair_base *b, const struct fab_vls *v)
{
    if (v == NULL || !fab_vls_many(v) || v->of_lid == NULL || v->of_pair != NULL || v->classes > 1)
        return FAB_OK;
    b->lane = calloc((size_t)b->top + 1, 1);
    if (b->lane == NULL)
        return FAB_E_NOMEM;
    for (uint32_t lid = 0; lid <= b->top && lid <= v->top; lid++)
        b->lane[lid] = v->vl[0][0][v->of_lid[lid] % FAB_SLS];
    for (uint32_t lid = 0; lid <= b->top; lid++)
        b->lanes = b->lane[lid] >= b->lanes ? b->lane[lid] + 1u : b->lanes;
    return FAB_OK;
}

/* ---- all dependencies ------------------------------------------------------------------------ */

/* The channel of `sw` for `lid`, or FAB_NONE: the LID's home, or nothing. */
static uint32_t channel_to(const struct fab_repair_base *b, const struct fab_lft *t, uint32_t sw,
                           uint32_t lid)
{
    return b->home[lid] == sw || b->home[lid] == FAB_NONE
               ? FAB_NONE
               : fab_repair_channel(b, sw, fab_lft_row(t, sw)[lid]);
}

static const uint32_t *lane_of(const struct fab_repair_base *b, uint32_t lid)
{
    return b->label + (b->lane != NULL ? (size_t)b->lane[lid] * b->ports : 0);
}

/* True when all packets of the baseline meet ascending labels. */
static bool all_ascend(const struct fab_repair_base *b, const struct fab_lft *t)
{
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next = channel != FAB_NONE ? channel_to(b, t, b->hop[channel], lid) : FAB_NONE;
            const uint32_t *label = lane_of(b, lid);
            if (next != FAB_NONE && label[channel] >= label[next])
                return false;
        }
    }
    return true;
}

/* ---- by an order of the switches ------------------------------------------------------------- */

static void label_by_order(struct fab_repair_base *b, const uint32_t *order)
{
    for (uint32_t sw = 0; sw < b->n; sw++)
        b->order[sw] = (order[sw] + 1) * FAB_REPAIR_SPACE;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t port = b->first[sw]; port < b->first[sw + 1]; port++) {
            if (b->hop[port] == FAB_NONE)
                continue;
            uint32_t label = fab_repair_label(b, b->order[sw], b->order[b->hop[port]]);
            for (uint32_t lane = 0; lane < b->lanes; lane++)
                b->label[(size_t)lane * b->ports + port] = label;
        }
    }
}

typedef int find_ranks(const struct fab_fabric *f, const struct fab_policy *p,
                       struct fab_ranks *ret);

static int try_order(struct fab_repair_base *b, const struct fab_repair_input *in, find_ranks *find,
                     bool *ret_fits)
{
    struct fab_ranks ranks;
    int status = find(in->fabric, in->policy, &ranks);
    if (status != FAB_OK)
        return status;
    label_by_order(b, ranks.order);
    *ret_fits = all_ascend(b, in->lft);
    fab_ranks_fini(&ranks);
    return FAB_OK;
}

/* ---- by chains of dependencies --------------------------------------------------------------- */

struct chains {
    struct fab_repair_base *b;
    uint32_t words;
    uint64_t *next;  /* [ports][words] bit i: port i of the switch that the channel leads to */
    uint32_t *waits; /* [ports] channels before it that have no label yet */
    uint32_t *queue; /* [ports] */
};

static int chains_init(struct chains *c, struct fab_repair_base *b)
{
    uint32_t widest = 0;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        uint32_t ports = b->first[sw + 1] - b->first[sw];
        widest = ports > widest ? ports : widest;
    }
    *c = (struct chains){.b = b, .words = (uint32_t)fab_bits_words(widest)};
    c->next = calloc((size_t)b->ports * c->words + 1, sizeof(*c->next));
    c->waits = calloc((size_t)b->ports + 1, sizeof(*c->waits));
    c->queue = calloc((size_t)b->ports + 1, sizeof(*c->queue));
    return c->next && c->waits && c->queue ? FAB_OK : FAB_E_NOMEM;
}

static void chains_fini(struct chains *c)
{
    free(c->next);
    free(c->waits);
    free(c->queue);
}

static void collect(struct chains *c, const struct fab_lft *t, uint32_t lane)
{
    const struct fab_repair_base *b = c->b;
    memset(c->next, 0, (size_t)b->ports * c->words * sizeof(*c->next));
    memset(c->waits, 0, b->ports * sizeof(*c->waits));
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            if (b->lane != NULL && b->lane[lid] != lane)
                continue;
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next = channel != FAB_NONE ? channel_to(b, t, b->hop[channel], lid) : FAB_NONE;
            if (next != FAB_NONE && fab_bits_take(c->next + (size_t)channel * c->words,
                                                  next - b->first[b->hop[channel]]))
                c->waits[next]++;
        }
    }
}

/* Kahn's algorithm; false: a cycle. */
static bool label_by_chains(struct chains *c, uint32_t *label)
{
    const struct fab_repair_base *b = c->b;
    uint32_t head = 0, tail = 0, channels = 0;
    for (uint32_t port = 0; port < b->ports; port++) {
        if (b->hop[port] == FAB_NONE)
            continue;
        channels++;
        label[port] = 1;
        if (c->waits[port] == 0)
            c->queue[tail++] = port;
    }
    while (head < tail) {
        uint32_t channel = c->queue[head++], first = b->first[b->hop[channel]];
        const uint64_t *next = c->next + (size_t)channel * c->words;
        size_t bits = (size_t)c->words * 64;
        for (size_t i = fab_bits_next(next, bits, 0); i < bits;
             i = fab_bits_next(next, bits, i + 1)) {
            uint32_t to = first + (uint32_t)i;
            label[to] = label[channel] >= label[to] ? label[channel] + 1 : label[to];
            if (--c->waits[to] == 0)
                c->queue[tail++] = to;
        }
    }
    return tail == channels;
}

static int try_chains(struct fab_repair_base *b, const struct fab_lft *t, bool *ret_fits)
{
    struct chains c;
    bool fits = true;
    int status = chains_init(&c, b);
    for (uint32_t lane = 0; status == FAB_OK && fits && lane < b->lanes; lane++) {
        collect(&c, t, lane);
        fits = label_by_chains(&c, b->label + (size_t)lane * b->ports);
    }
    chains_fini(&c);
    if (status == FAB_OK)
        *ret_fits = fits;
    return status;
}

/* ---- the best that fits ---------------------------------------------------------------------- */

int fab_repair_labels_find(struct fab_repair_base *b, const struct fab_repair_input *in, char *why,
                           size_t why_len)
{
    bool fits = false;
    int status = find_lanes(b, in->vls);
    if (status != FAB_OK)
        return status;
    b->label = calloc((size_t)b->lanes * b->ports + 1, sizeof(*b->label));
    b->order = calloc((size_t)b->n + 1, sizeof(*b->order));
    if (b->label == NULL || b->order == NULL)
        return FAB_E_NOMEM;
    b->labels = "order of the ranks";
    status = try_order(b, in, fab_ranks_plain, &fits);
    if (status == FAB_OK && !fits) {
        b->labels = "order of the shortest ways";
        status = try_order(b, in, fab_ranks_find, &fits);
    }
    if (status == FAB_OK && !fits) {
        b->labels = "chains of dependencies";
        free(b->order);
        b->order = NULL;
        status = try_chains(b, in->lft, &fits);
    }
    if (status == FAB_OK && !fits) {
        snprintf(
            why, why_len,
            "the channel dependency graph has a cycle, but for lanes that are not kept apart here");
        status = FAB_E_UNSUPPORTED;
    }
    return status;
}
