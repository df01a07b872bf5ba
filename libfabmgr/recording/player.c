/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replays a recording in a run: a manager sends its MADs to the player instead of a fabric. An
 * answer is due from the time when the run has sent the request until the player delivers the
 * answer. The cursor is at the next received MAD of the recording. There are three cases:
 *
 * - The MAD is unsolicited. The player delivers it at its recorded time.
 * - The MAD answers a request that the run has sent. The player delivers it with the same delay
 *   after the request as in the recording.
 * - The MAD answers a request that the run has not sent. The player waits for the request.
 *   Meanwhile it delays the answers that are due, at most for half the timeout of their requests.
 *   If no answer is due, it waits at most 30 s.
 *
 * If the player stops waiting for a request, it still delivers the answer once the request is sent.
 *
 * If the manager sends a request while no answer is due, the player aligns the time of the
 * recording with the time of the run. This is necessary for two reasons: computation took time in
 * the recording but takes none in virtual time, and light sweeps follow timers of the run.
 *
 * A recording may end in the middle of an activity, and the recorded manager may have sent further
 * MADs just after the end. So the player does not count a MAD as unexpected if the run sends it in
 * the last second of the recording or later.
 *
 * MADs of the class PerfMgt never count as unexpected or missing. A manager reads counters at times
 * that its clock determines. If a busy CPU delayed the recorded manager, it had read fewer counters
 * before an event than the replaying manager.
 */
#include "libfabmgr/recording/player.h"

#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/recording/index.h"

#define NONE FAB_RECORDING_NONE
#define AT_CLASS 1
#define AT_TID 8
/* time in us by which the player may delay the answer to a request without a timeout */
#define PATIENCE_US 10000u
#define SKIP_US 30000000u

struct fab_recording_player {
    struct fab_recording_index index;
    /* time in us on the clock of the run at which the recording started; may be negative */
    int64_t base;
    /* index of the next received MAD; all received MADs before it were delivered or skipped */
    uint32_t cursor;
    /* The list of requests whose answers are due, in the order in which the run sent the requests:
     * indexes in index.items[] of the first and the last request; NONE: the list is empty */
    uint32_t first, last;
    /* index of the received MAD that was delivered last */
    uint32_t came;
    struct fab_recording_player_stats stats;
};

int fab_recording_player_new(const uint8_t *bytes, size_t len, uint64_t now,
                             struct fab_recording_player **ret)
{
    struct fab_recording_player *p = calloc(1, sizeof(*p));
    if (!p)
        return FAB_E_NOMEM;
    p->first = p->last = NONE;
    p->base = (int64_t)now;
    int status = fab_recording_index_build(&p->index, bytes, len);
    if (status != FAB_OK) {
        free(p);
        return status;
    }
    *ret = p;
    return FAB_OK;
}

void fab_recording_player_free(struct fab_recording_player *p)
{
    if (!p)
        return;
    fab_recording_index_fini(&p->index);
    free(p);
}

const struct fab_recording_header *fab_recording_player_header(const struct fab_recording_player *p)
{
    return &p->index.header;
}

int fab_recording_player_tail(const struct fab_recording_player *p)
{
    return p->index.tail;
}

/* ---- answers that are due ---- */

static void append_due(struct fab_recording_player *p, uint32_t out)
{
    struct fab_recording_item *items = p->index.items;
    items[out].earlier = p->last;
    items[out].later = NONE;
    *(p->last != NONE ? &items[p->last].later : &p->first) = out;
    p->last = out;
}

static void remove_due(struct fab_recording_player *p, uint32_t out)
{
    struct fab_recording_item *items = p->index.items;
    uint32_t earlier = items[out].earlier, later = items[out].later;
    *(earlier != NONE ? &items[earlier].later : &p->first) = later;
    *(later != NONE ? &items[later].earlier : &p->last) = earlier;
}

/* Converts a time in us since the start of the recording to a time in us on the clock of the
 * run. */
static uint64_t run_time(const struct fab_recording_player *p, uint64_t time)
{
    int64_t at = p->base + (int64_t)time;
    return at > 0 ? (uint64_t)at : 0;
}

/* ---- sending ---- */

enum fab_recording_player_sent fab_recording_player_send(struct fab_recording_player *p,
                                                         uint64_t now,
                                                         const struct fab_recording_entry *mad)
{
    struct fab_recording_index *s = &p->index;
    uint32_t out = fab_recording_index_take(s, mad);
    if (out == NONE) {
        bool judged = mad->bytes[AT_CLASS] != FAB_CLASS_PERF && now < run_time(p, s->judged_us);
        p->stats.unexpected += judged;
        p->stats.not_judged += !judged;
        return judged ? FAB_RECORDING_PLAYER_UNEXPECTED : FAB_RECORDING_PLAYER_NOT_JUDGED;
    }
    struct fab_recording_item *item = &s->items[out];
    if (p->first == NONE)
        p->base = (int64_t)(now - item->time);
    item->asked = true;
    item->asked_us = now;
    item->tid = fab_base_get_be64(mad->bytes + AT_TID);
    item->patience_us = mad->addr.timeout_us ? mad->addr.timeout_us / 2 : PATIENCE_US;
    p->stats.asked++;
    if (item->pair != NONE)
        append_due(p, out);
    return FAB_RECORDING_PLAYER_RECORDED;
}

/* ---- receiving ---- */

struct step {
    /* index of a received MAD that the player delivers or skips; NONE: the recording has ended */
    uint32_t item;
    uint64_t due;
    /* true: the player skips this MAD, because the run has not sent the request that it answers */
    bool skip;
};

static uint64_t answer_due(const struct fab_recording_player *p, uint32_t in)
{
    const struct fab_recording_item *items = p->index.items;
    const struct fab_recording_item *request = &items[items[in].pair];
    return request->asked_us + (items[in].time - request->time);
}

/* The MAD at the cursor is a recorded response whose request the manager has not sent in this
 * replay yet. Returns the step for it: the player waits for the request until step.due, and then
 * skips the MAD. */
static struct step wait_or_skip(const struct fab_recording_player *p)
{
    const struct fab_recording_item *items = p->index.items;
    struct step step = {.item = p->cursor, .skip = true};
    if (p->first == NONE) {
        step.due = run_time(p, items[p->cursor].time + SKIP_US);
        return step;
    }
    uint64_t due = answer_due(p, items[p->first].pair);
    uint64_t patience = items[p->first].asked_us + items[p->first].patience_us;
    step.due = due > patience ? due : patience;
    return step;
}

static struct step next_step(struct fab_recording_player *p)
{
    const struct fab_recording_index *s = &p->index;
    const struct fab_recording_item *items = s->items;
    while (p->cursor < s->count && (items[p->cursor].out || items[p->cursor].done))
        p->cursor++;
    if (p->first != NONE && items[p->first].pair < p->cursor)
        return (struct step){.item = items[p->first].pair,
                             .due = answer_due(p, items[p->first].pair)};
    if (p->cursor == s->count)
        return (struct step){.item = NONE, .due = run_time(p, s->end_us)};
    const struct fab_recording_item *in = &items[p->cursor];
    if (in->pair == NONE)
        return (struct step){.item = p->cursor, .due = run_time(p, in->time)};
    if (items[in->pair].asked)
        return (struct step){.item = p->cursor, .due = answer_due(p, p->cursor)};
    return wait_or_skip(p);
}

static void deliver(struct fab_recording_player *p, uint32_t in, uint8_t mad[FAB_MAD_SIZE],
                    struct fab_recording_entry *ret)
{
    struct fab_recording_item *items = p->index.items;
    uint32_t request = items[in].pair;
    items[in].done = true;
    fab_recording_index_entry(&p->index, in, mad, ret);
    if (request != NONE) {
        fab_base_put_be64(mad + AT_TID, items[request].tid);
        if (items[request].pair == in)
            remove_due(p, request);
    }
    p->came = in;
    p->stats.delivered++;
}

bool fab_recording_player_receive(struct fab_recording_player *p, uint64_t now,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret)
{
    struct step step;
    while ((step = next_step(p)).item != NONE && step.due <= now) {
        if (!step.skip) {
            deliver(p, step.item, mad, ret);
            return true;
        }
        p->cursor++;
        p->stats.reordered++;
    }
    return false;
}

bool fab_recording_player_more(struct fab_recording_player *p, uint8_t mad[FAB_MAD_SIZE],
                               struct fab_recording_entry *ret)
{
    const struct fab_recording_item *items = p->index.items;
    uint32_t in = p->came + 1;
    if (p->stats.delivered == 0 || in >= p->index.count || items[in].out || items[in].done ||
        items[in].time != items[p->came].time)
        return false;
    if (items[in].pair != NONE && !items[items[in].pair].asked)
        return false;
    deliver(p, in, mad, ret);
    return true;
}

uint64_t fab_recording_player_deadline(struct fab_recording_player *p, uint64_t now)
{
    struct step step = next_step(p);
    return step.item == NONE && step.due <= now ? UINT64_MAX : step.due;
}

/* ---- results ---- */

/* Returns true if item i counts as missing: the recorded manager sent this MAD, and the run has
 * not. A MAD after the last received one counts only if it was sent before judged_us. MADs of the
 * class PerfMgt never count. */
static bool is_missing(const struct fab_recording_index *s, uint32_t i)
{
    const struct fab_recording_item *item = &s->items[i];
    return item->out && !item->asked && !item->perf &&
           (i < s->last_in || item->time < s->judged_us);
}

bool fab_recording_player_missing(const struct fab_recording_player *p, uint32_t *cursor,
                                  uint8_t mad[FAB_MAD_SIZE], struct fab_recording_entry *ret)
{
    const struct fab_recording_index *s = &p->index;
    while (*cursor < s->count && !is_missing(s, *cursor))
        ++*cursor;
    if (*cursor >= s->count)
        return false;
    fab_recording_index_entry(s, (*cursor)++, mad, ret);
    return true;
}

void fab_recording_player_stats(const struct fab_recording_player *p,
                                struct fab_recording_player_stats *ret)
{
    const struct fab_recording_index *s = &p->index;
    *ret = p->stats;
    ret->recorded_out = s->outs;
    ret->recorded_in = s->ins;
    for (uint32_t i = 0; i < s->count; i++)
        ret->missing += is_missing(s, i);
}
