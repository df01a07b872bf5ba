/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of changes (fabricd/replica/changes.c): what the leader sends, and what a follower
 * gets. There is no etcd: the test says what was sent and received. */
#include <stdlib.h>
#include <string.h>

#include "fabricd/replica/state.h"
#include "tests/unit/testing.h"

static struct replica *begin(void)
{
    struct replica *r = calloc(1, sizeof(*r));
    ck_assert_ptr_nonnull(r);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->wake, NULL);
    return r;
}

static void end(struct replica *r)
{
    replica_record_fini(r);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->wake);
    free(r);
}

static void claim(struct replica *r, int64_t fence)
{
    r->role = REPLICA_LEADS;
    r->fence = fence;
    replica_record_claimed(r);
}

/* want NULL: nothing is to be sent. */
static void assert_sends(struct replica *r, const char *want, bool confirmed)
{
    uint64_t version;
    char *text = replica_record_text(r, &version);
    if (want == NULL)
        ck_assert_ptr_null(text);
    else
        ck_assert_str_eq(text, want);
    free(text);
    if (confirmed)
        replica_record_sent(r, version);
}

/* The record has all changes that are not confirmed. A new claim is followed by the record, also if
 * there is none yet. */
START_TEST(a_leader_sends_what_is_not_confirmed)
{
    struct replica *r = begin();
    assert_sends(r, NULL, true);
    claim(r, 17);
    assert_sends(r, "claim 17 changes 0 0 ", true);
    assert_sends(r, NULL, true);
    ck_assert_uint_eq(replica_recorded(r), 0);
    replica_record_changes(r, replica_recorded(r) + 1, 2, "a");
    assert_sends(r, "claim 17 changes 1 2 a", false);
    replica_record_changes(r, replica_recorded(r) + 1, 3, "b");
    assert_sends(r, "claim 17 changes 1 3 b", true);
    ck_assert_uint_eq(replica_recorded(r), 3);
    replica_record_changes(r, replica_recorded(r) + 1, 4, "c");
    assert_sends(r, "claim 17 changes 4 4 c", true);
    assert_sends(r, NULL, true);
    claim(r, 30);
    assert_sends(r, "claim 30 changes 4 4 c", true);
    r->role = REPLICA_FOLLOWS;
    replica_record_changes(r, replica_recorded(r) + 1, 5, "d");
    assert_sends(r, NULL, true);
    end(r);
}
END_TEST

/* A record that was replaced while it was sent does not confirm the one that replaced it. */
START_TEST(an_outdated_record_confirms_nothing_later)
{
    struct replica *r = begin();
    uint64_t version;
    claim(r, 17);
    replica_record_changes(r, 1, 1, "a");
    char *text = replica_record_text(r, &version);
    replica_record_changes(r, 1, 2, "b");
    replica_record_sent(r, version);
    ck_assert_uint_eq(replica_recorded(r), 0);
    free(text);
    assert_sends(r, "claim 17 changes 1 2 b", true);
    ck_assert_uint_eq(replica_recorded(r), 2);
    end(r);
}
END_TEST

static void assert_next(struct replica *r, int64_t of, uint64_t first, uint64_t last,
                        const char *text)
{
    struct replica_changes x;
    ck_assert(replica_next_changes(r, &x));
    ck_assert_int_eq(x.claim, of);
    if (of != 0) {
        ck_assert_uint_eq(x.first, first);
        ck_assert_uint_eq(x.last, last);
        ck_assert_str_eq(x.text, text);
    }
    free(x.text);
}

START_TEST(a_follower_gets_records_in_their_order)
{
    struct replica *r = begin();
    struct replica_changes x;
    ck_assert(!replica_next_changes(r, &x));
    replica_record_heard(r, "claim 17 changes 0 0 ");
    replica_record_heard(r, "claim 17 changes 1 3 text of changes");
    replica_record_heard(r, "claim 17 order 0002c90300000001");
    replica_record_heard(r, "");
    replica_record_heard(r, "claim 30 changes 4 4 all");
    assert_next(r, 17, 0, 0, "");
    assert_next(r, 17, 1, 3, "text of changes");
    assert_next(r, 0, 0, 0, NULL);
    assert_next(r, 0, 0, 0, NULL);
    assert_next(r, 30, 4, 4, "all");
    ck_assert(!replica_next_changes(r, &x));
    end(r);
}
END_TEST

/* If too many records wait, the oldest ones are dropped: a gap that the reader notices. */
START_TEST(a_follower_keeps_the_last_records)
{
    struct replica *r = begin();
    char value[60];
    for (unsigned i = 1; i <= 3 * REPLICA_HEARD; i++) {
        snprintf(value, sizeof(value), "claim 17 changes %u %u all", i, i);
        replica_record_heard(r, value);
    }
    for (unsigned i = 2 * REPLICA_HEARD + 1; i <= 3 * REPLICA_HEARD; i++)
        assert_next(r, 17, i, i, "all");
    struct replica_changes x;
    ck_assert(!replica_next_changes(r, &x));
    replica_record_heard(r, "claim 17 changes 1 1 all");
    end(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record of changes");
    TCase *tcase = tcase_create("record");
    tcase_add_test(tcase, a_leader_sends_what_is_not_confirmed);
    tcase_add_test(tcase, an_outdated_record_confirms_nothing_later);
    tcase_add_test(tcase, a_follower_gets_records_in_their_order);
    tcase_add_test(tcase, a_follower_keeps_the_last_records);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
