/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds back the results of decisions until they are confirmed. The threads of the replica cannot
 * call the loop, so a timer checks every LOOK_US which decisions are confirmed. */
#include "fabricd/rpc/majority.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/loop.h"
#include "fabricd/replica/replica.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/base/status.h"

#define LOOK_US 1000

struct majority_held {
    TAILQ_ENTRY(majority_held) entry;
    bool begins; /* true: the decision is not made yet (majority_await_others) */
    uint64_t mark, dropped, until_us;
    majority_done *done;
    void *ctx;
};
struct majority {
    struct replica *replica;
    struct sm *sm;
    struct loop_timer *look;
    TAILQ_HEAD(, majority_held) held;
};

bool majority_answers(const struct majority *m, char *why, size_t why_len)
{
    struct replica_status s;
    if (m->replica == NULL)
        return true;
    replica_get_status(m->replica, &s);
    if (!s.quorum)
        snprintf(why, why_len,
                 "refused: no majority of the etcd servers answers (%s), so a manager that takes "
                 "over would not know this decision; see 'fabricctl ha status', or decide for this "
                 "manager alone with --local",
                 s.reason[0] != '\0' ? s.reason : "not connected yet");
    return s.quorum;
}

uint64_t majority_dropped(const struct majority *m)
{
    return m->replica != NULL ? replica_dropped(m->replica) : 0;
}

bool majority_can_decide(const struct majority *m)
{
    return m->replica == NULL || !sm_lacks_decisions(m->sm);
}

/* Returns the result that is known now; LATE if the change is neither confirmed nor dropped yet. */
static enum majority_result result_of(const struct majority *m, uint64_t mark, uint64_t dropped)
{
    /* This must come before majority_dropped: a dropped change can look confirmed, but only after
     * it was counted as dropped. */
    bool confirmed = m->replica == NULL || replica_is_confirmed(m->replica, mark);
    if (majority_dropped(m) != dropped)
        return MAJORITY_DROPPED;
    return confirmed ? MAJORITY_CONFIRMED : MAJORITY_LATE;
}

static enum majority_result look(const struct majority *m, const struct majority_held *h)
{
    if (h->begins)
        return majority_can_decide(m) ? MAJORITY_CONFIRMED : MAJORITY_LATE;
    return result_of(m, h->mark, h->dropped);
}

static void on_look(void *ctx)
{
    struct majority *m = ctx;
    struct majority_held *h, *next;
    uint64_t now = clock_now_us();
    for (h = TAILQ_FIRST(&m->held); h != NULL; h = next) {
        next = TAILQ_NEXT(h, entry);
        enum majority_result result = look(m, h);
        if (result == MAJORITY_LATE && now < h->until_us)
            continue;
        TAILQ_REMOVE(&m->held, h, entry);
        if (h->done != NULL)
            h->done(h->ctx, result);
        free(h);
    }
    if (!TAILQ_EMPTY(&m->held))
        loop_timer_set(m->look, LOOK_US);
}

static struct majority_held *hold(struct majority *m, majority_done *done, void *ctx)
{
    struct majority_held *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    *h = (struct majority_held){
        .until_us = clock_now_us() + MAJORITY_MS * 1000ull, .done = done, .ctx = ctx};
    TAILQ_INSERT_TAIL(&m->held, h, entry);
    if (!loop_timer_pending(m->look))
        loop_timer_set(m->look, LOOK_US);
    return h;
}

struct majority_held *majority_wait(struct majority *m, uint64_t dropped, majority_done *done,
                                    void *ctx, enum majority_result *ret_result)
{
    uint64_t mark = m->replica != NULL ? replica_mark(m->replica) : 0;
    *ret_result = result_of(m, mark, dropped);
    struct majority_held *h = *ret_result == MAJORITY_LATE ? hold(m, done, ctx) : NULL;
    if (h != NULL) {
        h->mark = mark;
        h->dropped = dropped;
    }
    return h;
}

struct majority_held *majority_await_others(struct majority *m, majority_done *done, void *ctx)
{
    struct majority_held *h = hold(m, done, ctx);
    if (h != NULL)
        h->begins = true;
    return h;
}

void majority_forget(struct majority_held *held)
{
    held->done = NULL;
}

int majority_new(struct loop *loop, struct replica *replica, struct sm *sm, struct majority **ret)
{
    struct majority *m = calloc(1, sizeof *m);
    if (m == NULL)
        return FAB_E_NOMEM;
    TAILQ_INIT(&m->held);
    m->replica = replica;
    m->sm = sm;
    m->look = loop_timer_new(loop, on_look, m);
    if (m->look == NULL) {
        free(m);
        return FAB_E_NOMEM;
    }
    *ret = m;
    return FAB_OK;
}

void majority_free(struct majority *m)
{
    struct majority_held *h;
    if (m == NULL)
        return;
    while ((h = TAILQ_FIRST(&m->held)) != NULL) {
        TAILQ_REMOVE(&m->held, h, entry);
        free(h);
    }
    loop_timer_free(m->look);
    free(m);
}
