/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a decision that a majority of the etcd servers must confirm. The replica and the
 * manager are fakes: the functions below stand in for those of fabricd/replica and fabricd/sm. */
#include <string.h>

#include "fabricd/loop/loop.h"
#include "fabricd/replica/replica.h"
#include "fabricd/rpc/majority.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

/* version of the last change that is stored, of the last change that is confirmed, and the number
 * of dropped changes */
static uint64_t stored, confirmed, dropped;
static bool quorum, lacks;

uint64_t replica_mark(struct replica *r)
{
    (void)r;
    return stored;
}

bool replica_is_confirmed(const struct replica *r, uint64_t mark)
{
    (void)r;
    return confirmed >= mark;
}

uint64_t replica_dropped(const struct replica *r)
{
    (void)r;
    return dropped;
}

void replica_get_status(const struct replica *r, struct replica_status *ret)
{
    (void)r;
    *ret = (struct replica_status){.quorum = quorum};
}

bool sm_lacks_decisions(struct sm *s)
{
    (void)s;
    return lacks;
}

struct world {
    struct loop *loop;
    struct majority *majority;
    unsigned calls;
    enum majority_result result;
};

static void on_result(void *ctx, enum majority_result result)
{
    struct world *w = ctx;
    w->calls++;
    w->result = result;
    loop_stop(w->loop);
}

static struct world enter(void)
{
    struct world w = {0};
    static char replica;
    stored = confirmed = dropped = 0;
    quorum = true;
    lacks = false;
    w.loop = loop_new_virtual();
    ck_assert_ptr_nonnull(w.loop);
    ck_assert_int_eq(majority_new(w.loop, (struct replica *)(void *)&replica, NULL, &w.majority),
                     FAB_OK);
    return w;
}

static void leave(struct world *w)
{
    majority_free(w->majority);
    loop_free(w->loop);
}

static void confirm_later(void *ctx)
{
    (void)ctx;
    confirmed = stored;
}

/* Another manager led meanwhile: this manager dropped its change, and has nothing left to send. */
static void drop_later(void *ctx)
{
    (void)ctx;
    dropped++;
    confirmed = stored;
}

/* Waits for a change whose result must be known at once. Returns the result. */
static enum majority_result wait_at_once(struct world *w, struct majority *m, uint64_t before)
{
    enum majority_result result;
    ck_assert_ptr_null(majority_wait(m, before, on_result, w, &result));
    ck_assert_uint_eq(w->calls, 0);
    return result;
}

static void wait_with(struct world *w, void (*later)(void *ctx))
{
    enum majority_result result;
    uint64_t before = majority_dropped(w->majority);
    struct loop_timer *timer = loop_timer_new(w->loop, later, w);
    stored++;
    ck_assert_ptr_nonnull(majority_wait(w->majority, before, on_result, w, &result));
    ck_assert_int_eq(result, MAJORITY_LATE);
    loop_timer_set(timer, 5000);
    ck_assert_int_eq(loop_run(w->loop), FAB_OK);
    ck_assert_uint_eq(w->calls, 1);
    loop_timer_free(timer);
}

START_TEST(a_confirmed_change_is_confirmed)
{
    struct world w = enter();
    wait_with(&w, confirm_later);
    ck_assert_int_eq(w.result, MAJORITY_CONFIRMED);
    leave(&w);
}
END_TEST

START_TEST(a_dropped_change_is_not_confirmed)
{
    struct world w = enter();
    wait_with(&w, drop_later);
    ck_assert_int_eq(w.result, MAJORITY_DROPPED);
    leave(&w);
}
END_TEST

/* The change was dropped before the call began to wait for the majority. */
START_TEST(a_change_dropped_at_once_is_not_confirmed)
{
    struct world w = enter();
    uint64_t before = majority_dropped(w.majority);
    stored++;
    drop_later(&w);
    ck_assert_int_eq(wait_at_once(&w, w.majority, before), MAJORITY_DROPPED);
    leave(&w);
}
END_TEST

static void nothing(void *ctx)
{
    (void)ctx;
}

START_TEST(without_a_majority_the_result_is_late)
{
    struct world w = enter();
    wait_with(&w, nothing);
    ck_assert_int_eq(w.result, MAJORITY_LATE);
    leave(&w);
}
END_TEST

static void load_later(void *ctx)
{
    (void)ctx;
    lacks = false;
}

/* A new master has not loaded the decisions of the former one. A new decision waits for them. */
static void begin_with(struct world *w, void (*later)(void *ctx))
{
    struct loop_timer *timer = loop_timer_new(w->loop, later, w);
    lacks = true;
    ck_assert(!majority_can_decide(w->majority));
    ck_assert_ptr_nonnull(majority_await_others(w->majority, on_result, w));
    loop_timer_set(timer, 5000);
    ck_assert_int_eq(loop_run(w->loop), FAB_OK);
    ck_assert_uint_eq(w->calls, 1);
    loop_timer_free(timer);
}

START_TEST(a_new_master_decides_when_it_knows_the_decisions_of_others)
{
    struct world w = enter();
    ck_assert(majority_can_decide(w.majority));
    begin_with(&w, load_later);
    ck_assert_int_eq(w.result, MAJORITY_CONFIRMED);
    leave(&w);
}
END_TEST

START_TEST(a_new_master_without_the_decisions_of_others_decides_nothing)
{
    struct world w = enter();
    begin_with(&w, nothing);
    ck_assert_int_eq(w.result, MAJORITY_LATE);
    leave(&w);
}
END_TEST

START_TEST(without_a_replica_nothing_waits)
{
    struct world w = enter();
    struct majority *alone;
    ck_assert_int_eq(majority_new(w.loop, NULL, NULL, &alone), FAB_OK);
    ck_assert_int_eq(wait_at_once(&w, alone, majority_dropped(alone)), MAJORITY_CONFIRMED);
    lacks = true;
    ck_assert(majority_can_decide(alone));
    majority_free(alone);
    leave(&w);
}
END_TEST

int main(void)
{
    Suite *all = suite_create("rpc/majority");
    TCase *t = tcase_create("decisions");
    tcase_add_test(t, a_confirmed_change_is_confirmed);
    tcase_add_test(t, a_dropped_change_is_not_confirmed);
    tcase_add_test(t, a_change_dropped_at_once_is_not_confirmed);
    tcase_add_test(t, without_a_majority_the_result_is_late);
    tcase_add_test(t, a_new_master_decides_when_it_knows_the_decisions_of_others);
    tcase_add_test(t, a_new_master_without_the_decisions_of_others_decides_nothing);
    tcase_add_test(t, without_a_replica_nothing_waits);
    suite_add_tcase(all, t);
    return test_run(all);
}
