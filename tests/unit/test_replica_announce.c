/* SPDX-License-Identifier: BSD-3-Clause */
/* The announcement of the leader (fabricd/replica/announce.c): its text, when a majority has
 * confirmed it, and when it expires. There is no etcd: the test says what was sent and received. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/loop.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#define SECOND UINT64_C(1000000)
#define BEGIN (100 * SECOND)

#define LINKS " links 000000000000001f"
static const uint64_t guids[] = {0x0002c90300000001, 0xffffffffffffffff, 0xa0b};

/* A manager, in virtual time. */
static struct replica *begin(struct loop **ret_loop)
{
    struct replica *r = calloc(1, sizeof(*r));
    ck_assert_ptr_nonnull(r);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->wake, NULL);
    *ret_loop = loop_new_virtual();
    ck_assert_ptr_nonnull(*ret_loop);
    clock_set_virtual(BEGIN);
    r->answered_us = BEGIN;
    r->been_read = true;
    r->instance = 5;
    return r;
}

static void end(struct replica *r, struct loop *loop)
{
    loop_free(loop);
    free(r->announce);
    free(r->heard_order);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->wake);
    free(r);
}

/* ---- the leader ------------------------------------------------------------------------------ */

static void claim(struct replica *r, int64_t fence)
{
    r->role = REPLICA_LEADS;
    r->fence = fence;
    r->leader_instance = r->instance;
    replica_announce_claimed(r);
}

/* Sends the present announcement, if there is a new one. Returns its text, which the caller
 * frees. */
static char *send(struct replica *r, bool answered)
{
    uint64_t version;
    char *text = replica_announce_text(r, &version);
    replica_announce_sent(r, version, answered);
    return text;
}

static void assert_sent(struct replica *r, const char *want)
{
    char *text = send(r, true);
    if (want == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(a_claim_announces_that_tables_change)
{
    struct loop *loop;
    struct replica *r = begin(&loop);
    claim(r, 17);
    ck_assert(replica_is_announced(r, BEGIN));
    assert_sent(r, NULL);
    replica_announce(r, guids, 3, 0x1f);
    ck_assert(!replica_is_announced(r, BEGIN));
    assert_sent(r, "claim 17 order 0002c90300000001 ffffffffffffffff 0000000000000a0b" LINKS);
    ck_assert(replica_is_announced(r, BEGIN));
    assert_sent(r, NULL);
    replica_announce(r, NULL, 0, 0);
    ck_assert(!replica_is_announced(r, BEGIN));
    replica_announce(r, NULL, 0, 0);
    assert_sent(r, "claim 17 changing");
    ck_assert(replica_is_announced(r, BEGIN));
    end(r, loop);
}
END_TEST

/* The text that a claim invalidated is sent again, with the new claim. */
START_TEST(each_claim_needs_its_own_announcement)
{
    struct loop *loop;
    struct replica *r = begin(&loop);
    claim(r, 17);
    replica_announce(r, guids, 1, 0x1f);
    assert_sent(r, "claim 17 order 0002c90300000001" LINKS);
    r->role = REPLICA_CLAIMS;
    assert_sent(r, NULL);
    claim(r, 30);
    ck_assert(!replica_is_announced(r, BEGIN));
    assert_sent(r, "claim 30 order 0002c90300000001" LINKS);
    end(r, loop);
}
END_TEST

/* The hash of the links may be missing: an earlier version of fabricd has announced the order. */
START_TEST(an_announcement_without_links_is_understood)
{
    struct replica_order order;
    ck_assert_int_eq(replica_parse_order("claim 17 order 0002c90300000001", 17, &order), FAB_OK);
    ck_assert_uint_eq(order.count, 1);
    ck_assert_uint_eq(order.links, 0);
    free(order.guid);
}
END_TEST

/* Without answers, the former announcement expires 6 s after the last transaction that may lack
 * the new one, and at least 0.3 s after the wait began. */
START_TEST(without_a_majority_it_expires)
{
    struct loop *loop;
    struct replica *r = begin(&loop);
    claim(r, 17);
    replica_announce(r, guids, 1, 0x1f);
    assert_sent(r, "claim 17 order 0002c90300000001" LINKS);
    clock_set_virtual(BEGIN + SECOND);
    free(send(r, false)); /* a beat without the new announcement, which etcd may still store */
    replica_announce(r, NULL, 0, 0);
    clock_set_virtual(BEGIN + 2 * SECOND);
    free(send(r, false));
    clock_set_virtual(BEGIN + 7 * SECOND - 1);
    ck_assert(!replica_is_announced(r, BEGIN + SECOND));
    clock_set_virtual(BEGIN + 7 * SECOND);
    ck_assert(replica_is_announced(r, BEGIN + SECOND));
    ck_assert(!replica_is_announced(r, BEGIN + 7 * SECOND - 1));
    end(r, loop);
}
END_TEST

/* If another manager led last, nobody takes its announcement for one of this manager. */
START_TEST(another_leader_need_not_be_awaited)
{
    struct loop *loop;
    struct replica *r = begin(&loop);
    r->role = REPLICA_CLAIMS;
    r->leader_instance = 6;
    ck_assert(replica_is_announced(r, BEGIN));
    r->leader_instance = r->instance;
    ck_assert(!replica_is_announced(r, BEGIN));
    r->been_read = false;
    r->leader_instance = 6;
    ck_assert(!replica_is_announced(r, BEGIN));
    end(r, loop);
}
END_TEST

/* ---- the next leader ------------------------------------------------------------------------- */

static int former(struct replica *r, uint32_t *ret_count)
{
    struct replica_order order;
    int status = replica_former_order(r, &order);
    if (status == FAB_OK) {
        ck_assert_int_eq(order.revision, 21);
        ck_assert_mem_eq(order.guid, guids, sizeof(guids));
        ck_assert_uint_eq(order.links, 0x1f);
        *ret_count = order.count;
    }
    free(order.guid);
    return status;
}

/* The former leader claimed at revision 17, announced at 21, and sent a beat at 40. */
static struct replica *take_over(struct loop **ret_loop)
{
    struct replica *r = begin(ret_loop);
    replica_announce_heard(
        r, strdup("claim 17 order 0002c90300000001 ffffffffffffffff 0000000000000a0b" LINKS), 21);
    replica_announce_seen(r, BEGIN - 2 * SECOND, 30);
    replica_announce_seen(r, BEGIN - SECOND, 39);
    replica_announce_seen(r, BEGIN, 40);
    replica_announce_beat(r, 40);
    r->had_former = true;
    r->former_claim = 17;
    r->role = REPLICA_LEADS;
    r->fence = r->received_revision = 41;
    return r;
}

START_TEST(the_next_leader_reads_the_order)
{
    struct loop *loop;
    struct replica *r = take_over(&loop);
    uint32_t count = 0;
    ck_assert_int_eq(replica_order_revision(r), 21);
    ck_assert_int_eq(former(r, &count), FAB_OK);
    ck_assert_uint_eq(count, 3);
    /* the beat was stored after BEGIN - 1 s */
    clock_set_virtual(BEGIN + 3 * SECOND - 1);
    ck_assert_int_eq(former(r, &count), FAB_OK);
    clock_set_virtual(BEGIN + 3 * SECOND);
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    end(r, loop);
}
END_TEST

START_TEST(the_next_leader_doubts)
{
    struct loop *loop;
    struct replica *r = take_over(&loop);
    uint32_t count = 0;
    r->received_revision = 40; /* not level */
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    r->received_revision = 41;
    r->former_claim = 18; /* another leader announced the order */
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    r->former_claim = 17;
    r->had_former = false;
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    r->had_former = true;
    replica_announce_beat(r, 16); /* a beat of an earlier leader */
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    replica_announce_beat(r, 25); /* stored before all readings of etcd */
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    replica_announce_beat(r, 40);
    ck_assert_int_eq(former(r, &count), FAB_OK);
    replica_announce_heard(r, strdup("claim 17 changing"), 22);
    ck_assert_int_eq(former(r, &count), FAB_E_NOT_FOUND);
    end(r, loop);
}
END_TEST

static const char *const hostile[] = {
    "",
    "claim",
    "claim 17",
    "claim 17 ",
    "claim 17 changing",
    "claim 18 order",
    "claim 017 order",
    "claim 17 orders",
    "claim 17 order 1",
    "claim 17 order 000000000000000",
    "claim 17 order 000000000000000g",
    "claim 17 order 0000000000000000 ",
    "claim 17 order 00000000000000000",
    "claim 17 order  000000000000000",
    "claim 17 order -000000000000001",
    "claim 17 order 0000000000000000\n0000000000000000",
    "claim 17 order 0002C90300000001",
    "claim 17 order links",
    "claim 17 order 0002c90300000001 links ",
    "claim 17 order 0002c90300000001 links 000000000000001",
    "claim 17 order 0002c90300000001 links 000000000000001f0",
    "claim 17 order 0002c90300000001 links 000000000000001g",
    "claim 17 order 0002c90300000001 links 000000000000001f links 000000000000001f",
    "claim 17 order 0002c9030000000 links 000000000000001f",
};

START_TEST(hostile_texts_are_refused)
{
    struct replica_order order = {.count = 9};
    int status = replica_parse_order(hostile[_i], 17, &order);
    ck_assert(status == FAB_E_NOT_FOUND || status == FAB_E_INVAL);
    ck_assert_ptr_null(order.guid);
    ck_assert_uint_eq(order.count, 0);
}
END_TEST

START_TEST(too_many_switches_are_refused)
{
    const uint32_t most = 20000;
    struct loop *loop;
    struct replica *r = begin(&loop);
    uint64_t *many = calloc(most + 1, sizeof(*many)), version;
    struct replica_order order;
    claim(r, 17);
    replica_announce(r, many, most + 1, 1);
    ck_assert(replica_is_announced(r, BEGIN)); /* "changing", as before */
    replica_announce(r, many, most, 1);
    char *text = replica_announce_text(r, &version);
    ck_assert_int_eq(replica_parse_order(text, 17, &order), FAB_OK);
    ck_assert_uint_eq(order.count, most);
    free(order.guid);
    size_t len = strlen(text), begin_len = strlen("claim 17 order");
    char *more = calloc(len + 18, 1);
    memcpy(more, text, begin_len);
    memcpy(more + begin_len, " 0123456789abcdef", 17);
    memcpy(more + begin_len + 17, text + begin_len, len - begin_len);
    ck_assert_int_eq(replica_parse_order(more, 17, &order), FAB_E_INVAL);
    free(more);
    free(text);
    free(many);
    end(r, loop);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replica announce");
    TCase *t = tcase_create("announcement");
    tcase_add_test(t, a_claim_announces_that_tables_change);
    tcase_add_test(t, each_claim_needs_its_own_announcement);
    tcase_add_test(t, an_announcement_without_links_is_understood);
    tcase_add_test(t, without_a_majority_it_expires);
    tcase_add_test(t, another_leader_need_not_be_awaited);
    tcase_add_test(t, the_next_leader_reads_the_order);
    tcase_add_test(t, the_next_leader_doubts);
    tcase_add_loop_test(t, hostile_texts_are_refused, 0, sizeof(hostile) / sizeof(*hostile));
    tcase_add_test(t, too_many_switches_are_refused);
    suite_add_tcase(s, t);
    return test_run(s);
}
