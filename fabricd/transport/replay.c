/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replay transport. libfabmgr/recording/player.h decides which MAD arrives at which time; this
 * file provides the loop's time and a timer. The receivers get the MADs in the same batches as in
 * the recorded run. After each batch, the loop runs one iteration.
 */
#include "fabricd/transport/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"

/* maximum number of differences between the recorded run and the replay that are logged, for each
 * kind of difference */
#define SHOWN 10
#define WINDOW 64
/* maximum number of MADs that are passed on together; a larger batch is divided */
#define BATCH 2048

struct replay {
    struct transport base;
    struct loop_timer *timer;
    uint64_t timer_at;
    struct fab_recording_player *player;
    /* function to call at the end of the recording; NULL: it was called already */
    loop_fn *done;
    void *done_ctx;
    uint32_t shown;
    /* [BATCH] the MADs that are passed on together */
    struct transport_mad *batch;
};

static void arm(struct replay *r)
{
    uint64_t now = clock_now_us(), at = fab_recording_player_deadline(r->player, now);
    /* UINT64_MAX: the player has reached the end of the recording. The timer then fires at once,
     * and calls `done`. */
    if (at == UINT64_MAX)
        at = now;
    if (loop_timer_pending(r->timer) && r->timer_at <= at)
        return;
    r->timer_at = at;
    loop_timer_set(r->timer, at > now ? at - now : 0);
}

static void keep(struct transport_mad *to, const struct fab_recording_entry *e)
{
    to->addr = e->addr;
    to->qp = e->qp;
    to->failed = e->failed;
    to->len = e->len;
    memcpy(to->bytes, e->bytes, FAB_MAD_SIZE);
}

/* Collects in r->batch the MADs that are due now and that the recorded manager received in one
 * batch. Returns their number. */
static size_t receive(struct replay *r)
{
    uint8_t bytes[FAB_MAD_SIZE];
    struct fab_recording_entry e;
    size_t count = 0;
    bool got = fab_recording_player_receive(r->player, clock_now_us(), bytes, &e);
    while (got) {
        keep(&r->batch[count++], &e);
        got = count < BATCH && fab_recording_player_more(r->player, bytes, &e);
    }
    return count;
}

static void on_timer(void *ctx)
{
    struct replay *r = ctx;
    size_t count = receive(r);
    transport_hand_up(&r->base, r->batch, count);
    if (fab_recording_player_deadline(r->player, clock_now_us()) != UINT64_MAX) {
        arm(r);
    } else if (r->done) {
        loop_fn *done = r->done;
        r->done = NULL;
        done(r->done_ctx);
    }
}

static void show(const char *what, const struct fab_recording_entry *e)
{
    char text[400];
    fab_recording_describe(e->bytes, e->addr.dlid, text, sizeof(text));
    log_warning("replay", "%s: %s", what, text);
}

static int replay_send(struct transport *base, const struct transport_mad *mad)
{
    struct replay *r = (struct replay *)base;
    const struct fab_recording_entry e = {.kind = FAB_RECORDING_OUT,
                                          .addr = mad->addr,
                                          .qp = mad->qp,
                                          .len = mad->len,
                                          .bytes = mad->bytes};
    if (fab_recording_player_send(r->player, clock_now_us(), &e) ==
            FAB_RECORDING_PLAYER_UNEXPECTED &&
        r->shown++ < SHOWN)
        show("sent now, but not in the recording", &e);
    arm(r);
    return FAB_OK;
}

static int replay_set_is_sm(struct transport *base, bool is_sm)
{
    (void)base;
    (void)is_sm;
    return FAB_OK;
}

static void replay_close(struct transport *base)
{
    struct replay *r = (struct replay *)base;
    loop_timer_free(r->timer);
    fab_recording_player_free(r->player);
    free(r->batch);
    free(r);
}

static const struct transport_ops replay_ops = {
    .send = replay_send, .set_is_sm = replay_set_is_sm, .close = replay_close};

static void describe(struct replay *r)
{
    const struct fab_recording_header *h = fab_recording_player_header(r->player);
    r->base.ops = &replay_ops;
    r->base.port_guid = h->port_guid;
    r->base.window_max = h->window ? h->window : WINDOW;
    log_clean(h->name, r->base.name, sizeof(r->base.name));
}

static void tell_tail(const struct replay *r)
{
    int tail = fab_recording_player_tail(r->player);
    if (tail == FAB_E_TRUNCATED)
        log_warning("replay", "the recording is incomplete; its beginning is replayed");
    else if (tail != FAB_OK)
        log_warning("replay", "the recording is damaged; it is replayed up to the damage");
}

int transport_replay_open(struct loop *l, const uint8_t *bytes, size_t len, loop_fn *done,
                          void *ctx, struct transport **ret, char *why, size_t why_len)
{
    struct replay *r = calloc(1, sizeof(*r));
    int status = FAB_E_NOMEM;
    if (r) {
        *r = (struct replay){.done = done, .done_ctx = ctx};
        r->timer = loop_timer_new(l, on_timer, r);
        r->batch = calloc(BATCH, sizeof(*r->batch));
        status = fab_recording_player_new(bytes, len, clock_now_us(), &r->player);
    }
    if (status != FAB_OK || !r->timer || !r->batch) {
        snprintf(why, why_len, "%s",
                 status == FAB_E_FORMAT        ? "this is not a recording of fabricd"
                 : status == FAB_E_UNSUPPORTED ? "this recording is of a later version of fabricd"
                                               : fab_base_status_text(status));
        if (r)
            replay_close(&r->base);
        return status != FAB_OK ? status : FAB_E_NOMEM;
    }
    describe(r);
    tell_tail(r);
    arm(r);
    *ret = &r->base;
    return FAB_OK;
}

void transport_replay_stats(struct transport *t, struct fab_recording_player_stats *ret)
{
    fab_recording_player_stats(((struct replay *)t)->player, ret);
}

void transport_replay_log_missing(struct transport *t)
{
    uint8_t bytes[FAB_MAD_SIZE];
    struct fab_recording_entry e;
    uint32_t cursor = 0;
    for (int i = 0; i < SHOWN; i++)
        if (fab_recording_player_missing(((struct replay *)t)->player, &cursor, bytes, &e))
            show("sent in the recording, but not now", &e);
}
