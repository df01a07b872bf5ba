/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store: what is put comes back, over restarts, after kill -9 at any moment; what it cannot use
 * it refuses without touching it.
 *
 * Each test has a state directory of its own under TMPDIR.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

/* ---- a directory a test ---- */

static char dir[200], db_path[256];

static void make_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/test-store-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(db_path, sizeof(db_path), "%s/fabricd.db", dir);
    log_init((enum log_level)(LOG_LEVEL_ERROR - 1));
}

static void remove_dir(void)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct store *open_store(void)
{
    struct store *s = NULL;
    char why[600] = "";
    int rc = store_open(dir, &s, why, sizeof(why));
    ck_assert_msg(rc == FAB_OK, "%s", why);
    return s;
}

static struct store *reopen(struct store *s)
{
    store_close(s);
    return open_store();
}

/* One number from the database, read as an operator would. */
static int64_t ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

static void change(const char *sql)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* ---- leases ---- */

#define GUID(n) (UINT64_C(0x0002c90300000000) + (n))

/* Set number `round`: 200 ports, LIDs that differ in every set. */
#define SET_SIZE 200
static void fill_set(struct fab_lease *leases, unsigned round)
{
    for (unsigned i = 0; i < SET_SIZE; i++)
        leases[i] = (struct fab_lease){GUID(i + 1), 1 + (i + round * 7) % 4000, 0};
}

static void assert_leases(struct store *s, const struct fab_lease *want, size_t count)
{
    struct fab_lease *got = NULL;
    size_t got_count = 0;
    ck_assert_int_eq(store_load_leases(s, &got, &got_count), FAB_OK);
    ck_assert_uint_eq(got_count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(got[i].port_guid, want[i].port_guid);
        ck_assert_uint_eq(got[i].lid, want[i].lid);
        ck_assert_uint_eq(got[i].lmc, want[i].lmc);
    }
    free(got);
}

START_TEST(leases_come_back)
{
    struct store *s = open_store();
    struct fab_lease set[] = {{GUID(3), 9, 0}, {GUID(1), 4, 2}, {UINT64_MAX, 12, 0}};
    struct fab_lease sorted[] = {{GUID(1), 4, 2}, {GUID(3), 9, 0}, {UINT64_MAX, 12, 0}};
    assert_leases(s, NULL, 0);
    store_put_leases(s, set, 3);
    store_flush(s);
    assert_leases(s, sorted, 3);
    s = reopen(s);
    assert_leases(s, sorted, 3);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE port_guid = '0x0002c90300000001' "
                         "AND lid = 4 AND lmc = 2 AND current AND first_seen > 1600000000"),
                     1);
}
END_TEST

START_TEST(absent_ports_keep_their_lease_until_it_is_taken)
{
    struct store *s = open_store();
    struct fab_lease all[] = {{GUID(1), 1, 0}, {GUID(2), 8, 2}, {GUID(3), 3, 0}};
    struct fab_lease some[] = {{GUID(1), 2, 0}};
    struct fab_lease after_some[] = {{GUID(1), 2, 0}, {GUID(2), 8, 2}, {GUID(3), 3, 0}};
    struct fab_lease taking[] = {{GUID(1), 2, 0}, {GUID(4), 10, 0}};
    struct fab_lease after_taking[] = {{GUID(1), 2, 0}, {GUID(3), 3, 0}, {GUID(4), 10, 0}};
    store_put_leases(s, all, 3);
    store_flush(s);
    store_put_leases(s, some, 1);
    store_flush(s);
    assert_leases(s, after_some, 3);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE current"), 1);
    s = reopen(s);
    store_put_leases(s, taking, 2);
    store_flush(s);
    assert_leases(s, after_taking, 3);
    store_close(s);
}
END_TEST

START_TEST(senseless_leases_are_left_out)
{
    struct store *s = open_store();
    struct fab_lease set[] = {{0, 5, 0},       {GUID(1), 0, 0}, {GUID(2), 5, 9},
                              {GUID(4), 7, 0}, {GUID(4), 7, 0}, {GUID(3), UINT32_MAX, 7}};
    store_put_leases(s, set, 6);
    store_flush(s);
    assert_leases(s, &set[3], 1);
    change("INSERT INTO lease VALUES ('leaf-1', 3, 0, 0, 0, 1), ('0x00000000000000zz', 3, 0, 0, 0, "
           "1), ('0x0000000000000001', 99999999999, 0, 0, 0, 1)");
    assert_leases(s, &set[3], 1);
    s = reopen(s);
    assert_leases(s, &set[3], 1);
    store_close(s);
}
END_TEST

START_TEST(the_latest_set_wins)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    for (unsigned round = 0; round < 50; round++) {
        fill_set(set, round);
        store_put_leases(s, set, SET_SIZE);
    }
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_put_leases(s, NULL, 0);
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_close(s);
}
END_TEST

/* ---- events ---- */

struct seen {
    unsigned count;
    uint64_t seq[300];
    struct event last;
    char text[200];
};

static void see(void *ctx, const struct event *e)
{
    struct seen *seen = ctx;
    ck_assert_uint_lt(seen->count, 300);
    seen->seq[seen->count++] = e->seq;
    seen->last = *e;
    snprintf(seen->text, sizeof(seen->text), "%s|%s|%s", e->type, e->subject, e->message);
}

static void put_events(struct store *s, uint64_t from, uint64_t to)
{
    for (uint64_t seq = from; seq <= to; seq++)
        store_put_event(s, &(struct event){.seq = seq,
                                           .time_us = (int64_t)seq * 1000000,
                                           .severity = EVENT_WARNING,
                                           .type = "link-down",
                                           .subject = "leaf-3/12",
                                           .message = "a 'quote' and \"two\"",
                                           .guid = seq % 2 ? UINT64_MAX : 0,
                                           .port = 12});
}

START_TEST(events_come_back_in_pages)
{
    struct store *s = open_store();
    struct seen seen = {0};
    put_events(s, 1, 100);
    store_flush(s);
    ck_assert_int_eq(store_events(s, 10, 0, false, 5, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 5);
    ck_assert_uint_eq(seen.seq[0], 11);
    ck_assert_uint_eq(seen.seq[4], 15);
    ck_assert_str_eq(seen.text, "link-down|leaf-3/12|a 'quote' and \"two\"");
    ck_assert_int_eq((int)seen.last.severity, EVENT_WARNING);
    ck_assert_int_eq(seen.last.time_us, 15000000);
    ck_assert_uint_eq(seen.last.guid, UINT64_MAX);
    ck_assert_uint_eq(seen.last.port, 12);
    seen.count = 0;
    ck_assert_int_eq(store_events(s, 0, 4, true, 10, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.seq[0], 3);
    seen.count = 0;
    ck_assert_int_eq(store_events(s, UINT64_MAX, UINT64_MAX, true, 10, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 0);
    ck_assert_uint_eq(store_last_event_seq(s), 100);
    s = reopen(s);
    ck_assert_uint_eq(store_last_event_seq(s), 100);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM journal WHERE time = '1970-01-01T00:01:40.000Z'"),
                     1);
}
END_TEST

START_TEST(the_journal_is_trimmed)
{
    struct store *s = open_store();
    store_journal_keep(s, 100);
    for (unsigned i = 0; i < 10; i++) {
        put_events(s, 1 + i * 300, (i + 1) * 300);
        store_flush(s);
    }
    store_close(s);
    ck_assert_int_eq(ask("SELECT max(seq) FROM event"), 3000);
    int64_t left = ask("SELECT count(*) FROM event");
    ck_assert_int_ge(left, 100);
    ck_assert_int_le(left, 100 + 600);
}
END_TEST

/* ---- disabled ports ---- */

START_TEST(disabled_ports_come_back)
{
    struct store *s = open_store();
    struct store_disabled *rows = NULL;
    size_t count = 7;
    ck_assert_int_eq(store_load_disabled(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    store_put_disabled(s, GUID(2), 36, true);
    store_put_disabled(s, GUID(1), 254, true);
    store_put_disabled(s, GUID(1), 254, true);
    store_put_disabled(s, GUID(1), 7, true);
    store_put_disabled(s, GUID(1), 7, false);
    s = reopen(s);
    ck_assert_int_eq(store_load_disabled(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rows[0].node_guid, GUID(1));
    ck_assert_uint_eq(rows[0].port, 254);
    ck_assert_uint_eq(rows[1].node_guid, GUID(2));
    ck_assert_uint_eq(rows[1].port, 36);
    free(rows);
    store_close(s);
}
END_TEST

/* ---- the registry ---- */

static struct fab_builder *leaf_spine(void)
{
    struct fab_builder *b = NULL;
    struct fab_leaf_spine_spec spec = {
        .leaves = 4, .spines = 2, .hosts_per_leaf = 6, .parallel = 1};
    ck_assert_int_eq(fab_generate_leaf_spine(&spec, &b), FAB_OK);
    return b;
}

/* A view of what the builder holds, LIDs in order of port id. */
static struct fab_view *make_view(const struct fab_builder *b, uint64_t generation, uint32_t lid)
{
    struct fab_fabric *f = NULL;
    struct fab_policy policy;
    struct fab_verdict verdict = {.deadlock_free = true, .unreachable_pairs = 3};
    struct fab_target *t = fab_target_new();
    fab_policy_defaults(&policy);
    ck_assert_int_eq(fab_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_lids_init(&t->lids, f->port_count), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_port_has_lid(f, p))
            t->lids.base[p] = lid++;
    ck_assert_int_eq(fab_lids_index(&t->lids), FAB_OK);
    snprintf(t->engine, sizeof(t->engine), "updn");
    return fab_view_new(generation, f, t, &policy, &verdict);
}

static void put_view(struct store *s, const struct fab_builder *b, uint64_t generation,
                     uint32_t lid)
{
    struct fab_view *v = make_view(b, generation, lid);
    store_put_view(s, v, "first sweep", 1234);
    fab_view_unref(v);
    store_flush(s);
}

START_TEST(the_registry_shows_the_fabric)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    put_view(s, b, 7, 1);
    ck_assert_uint_eq(store_last_generation(s), 7);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE kind = 'switch' AND current"), 6);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE kind = 'adapter' AND current"), 24);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE (node_a, port_a) < (node_b, port_b)"),
                     24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM cable"), 24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set WHERE generation = 7 AND engine = 'updn' "
                         "AND duration_us = 1234 AND reason = 'first sweep' AND deadlock_free AND "
                         "unreachable_pairs = 3 AND switches = 6 AND hosts = 24 AND links = 32"),
                     1);
    ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    fab_builder_free(b);
    store_close(s);
}
END_TEST

static void remove_one_of_each(struct fab_builder *b, uint64_t *ret_node)
{
    struct fab_fabric *f = NULL;
    uint32_t ref;
    ck_assert_int_eq(fab_builder_seal(b, &f), FAB_OK);
    /* A host goes; a cable between two switches is pulled; a switch gets a name. */
    *ret_node = f->nodes[f->switch_count].guid;
    ck_assert_int_eq(fab_builder_find(b, *ret_node, &ref), FAB_OK);
    ck_assert_int_eq(fab_builder_remove(b, ref), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_peer_node(f, p);
        if (peer != FAB_NONE && f->ports[p].node < f->switch_count && peer < f->switch_count) {
            ck_assert_int_eq(fab_builder_find(b, f->nodes[f->ports[p].node].guid, &ref), FAB_OK);
            ck_assert_int_eq(fab_builder_unlink(b, ref, f->ports[p].num), FAB_OK);
            break;
        }
    }
    ck_assert_int_eq(fab_builder_find(b, f->nodes[0].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_builder_desc(b, ref, "new\x1b name", 9), FAB_OK);
    fab_fabric_unref(f);
}

/* By difference, and after a restart (as a whole): the same tables. */
START_TEST(what_goes_away_is_kept_and_marked)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine(), *less = leaf_spine();
    uint64_t gone;
    put_view(s, b, 1, 1);
    remove_one_of_each(less, &gone);
    if (_i == 1)
        s = reopen(s);
    put_view(s, less, 2, 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current"), 29);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current"), 29);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 32 - 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE description = 'new\\x1b name'"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current = 0 AND kind = 'adapter'"), 1);
    if (_i == 1)
        s = reopen(s);
    put_view(s, b, 3, 100); /* all is back; other LIDs */
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 32);
    ck_assert_int_eq(ask("SELECT count(*) FROM link"), 32);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current AND lid >= 100"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set"), 3);
    fab_builder_free(b);
    fab_builder_free(less);
    store_close(s);
}
END_TEST

START_TEST(an_unchanged_fabric_writes_no_row)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    put_view(s, b, 1, 1);
    /* What is written again would lose these marks. */
    change("UPDATE node SET ports = 77; UPDATE link SET width = 77; UPDATE port SET lmc = 7");
    put_view(s, b, 2, 1);
    s = reopen(s);
    put_view(s, b, 3, 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE ports <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE width <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE lmc <> 7"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set"), 3);
    fab_builder_free(b);
    store_close(s);
}
END_TEST

/* ---- overflow, failure ---- */

START_TEST(behind_it_drops_events_and_never_leases)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    sqlite3 *db = NULL;
    fill_set(set, 1);
    /* Somebody holds the database. */
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    put_events(s, 1, 9000);
    store_put_leases(s, set, SET_SIZE);
    store_put_disabled(s, GUID(1), 3, true);
    ck_assert_uint_gt(store_dropped(s), 0);
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    uint64_t dropped = store_dropped(s);
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM disabled_port"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 9000 - (int64_t)dropped);
}
END_TEST

/* Files may not grow: to SQLite that is a disk without space. */
START_TEST(a_full_disk_loses_nothing_but_time)
{
    struct rlimit before_it, none = {0};
    struct fab_lease set[SET_SIZE];
    struct store *s = open_store();
    fill_set(set, 3);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before_it), 0);
    none.rlim_max = before_it.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    store_put_leases(s, set, SET_SIZE);
    put_events(s, 1, 10);
    store_flush(s); /* comes back although nothing could be written */
    assert_leases(s, NULL, 0);
    put_events(s, 11, 20);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before_it), 0);
    store_flush(s);
    assert_leases(s, set, SET_SIZE);
    ck_assert_uint_eq(store_last_event_seq(s), 20);
    ck_assert_uint_eq(store_dropped(s), 0);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 20);
}
END_TEST

/* ---- kill -9 ---- */

/* Writes set after set until it is killed; says in the pipe which it is about to put. */
static void write_for_ever(int pipe_fd, unsigned from)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    struct fab_builder *b = leaf_spine();
    for (unsigned round = from;; round++) {
        struct fab_view *v = make_view(b, round + 1, 1 + round % 50);
        fill_set(set, round);
        if (write(pipe_fd, &round, sizeof(round)) != sizeof(round))
            _exit(1);
        store_put_leases(s, set, SET_SIZE);
        store_put_view(s, v, "again", 1);
        put_events(s, round * 3 + 1, round * 3 + 3);
        if (round % 4 == 0)
            store_flush(s);
        fab_view_unref(v);
        usleep(500);
    }
}

/* The set that stands in the database, told by the LID of its first port, whole. */
static void assert_one_whole_set(struct store *s, unsigned last)
{
    struct fab_lease *got = NULL, want[SET_SIZE];
    size_t count = 0;
    ck_assert_int_eq(store_load_leases(s, &got, &count), FAB_OK);
    if (count == 0) { /* killed before the first */
        free(got);
        return;
    }
    ck_assert_uint_eq(count, SET_SIZE);
    bool found = false;
    for (unsigned round = 0; round <= last && !found; round++) {
        fill_set(want, round);
        found = true;
        for (unsigned i = 0; i < SET_SIZE && found; i++)
            found = got[i].port_guid == want[i].port_guid && got[i].lid == want[i].lid;
    }
    ck_assert_msg(found, "the leases are of no set that was put");
    free(got);
}

START_TEST(kill_at_any_moment_leaves_one_whole_set)
{
    uint64_t seed = test_seed("store kill", (uint64_t)time(NULL));
    unsigned last = 0, next = 0;
    srandom((unsigned)seed);
    for (unsigned kill_round = 0; kill_round < 40; kill_round++) {
        int ends[2];
        ck_assert_int_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            write_for_ever(ends[1], next);
        }
        close(ends[1]);
        usleep((useconds_t)(random() % 60000));
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        while (read(ends[0], &last, sizeof(last)) == sizeof(last))
            next = last + 1;
        close(ends[0]);
        struct store *s = open_store(); /* (checks the integrity) */
        assert_one_whole_set(s, last);
        store_close(s);
        ck_assert_int_eq(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
        ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    }
}
END_TEST

START_TEST(kill_while_it_is_made_leaves_all_or_nothing)
{
    char command[300];
    srandom((unsigned)test_seed("store make", (uint64_t)time(NULL)));
    snprintf(command, sizeof(command), "rm -f '%s'/*", dir);
    for (unsigned kill_round = 0; kill_round < 60; kill_round++) {
        pid_t child = fork();
        if (child == 0) {
            open_store();
            _exit(0);
        }
        usleep((useconds_t)(random() % 15000));
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        store_close(open_store());
        ck_assert_int_eq(ask("PRAGMA user_version"), 2);
        if (kill_round % 3 != 2)
            ck_assert_int_eq(system(command), 0);
    }
}
END_TEST

/* ---- refusals ---- */

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static size_t read_file(const char *path, char *bytes, size_t len)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t n = fread(bytes, 1, len, file);
    fclose(file);
    return n;
}

static char before[4 << 20], after[4 << 20];

/* Refused with these words; the file is as it was, and so it is the second time. */
static void assert_refused(int status, const char *words)
{
    struct store *s = NULL;
    char why[600];
    size_t len = read_file(db_path, before, sizeof(before));
    for (int i = 0; i < 2; i++) {
        why[0] = '\0';
        ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), status);
        ck_assert_msg(strstr(why, words) != NULL, "%s", why);
        ck_assert_msg(strstr(why, db_path) != NULL, "%s", why);
        ck_assert_ptr_null(s);
        ck_assert_uint_eq(read_file(db_path, after, sizeof(after)), len);
        ck_assert_mem_eq(before, after, len);
    }
}

static void fill_store(void)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    fill_set(set, 0);
    store_put_leases(s, set, SET_SIZE);
    put_events(s, 1, 500);
    store_close(s);
}

START_TEST(what_is_not_a_database_is_refused)
{
    char junk[5000];
    memset(junk, 'x', sizeof(junk));
    write_file(db_path, junk, sizeof(junk));
    assert_refused(FAB_E_FORMAT, "is damaged (it is not a database); nothing was changed. Move it");
    write_file(db_path, junk, 0);
    assert_refused(FAB_E_FORMAT, "it is empty");
    write_file(db_path, "SQLite format 3", 16);
    assert_refused(FAB_E_FORMAT, "it is cut");
}
END_TEST

START_TEST(a_cut_database_is_refused)
{
    fill_store();
    struct stat st;
    ck_assert_int_eq(stat(db_path, &st), 0);
    ck_assert_int_eq(truncate(db_path, st.st_size / 2), 0);
    assert_refused(FAB_E_FORMAT, "LIDs are then taken from the devices");
}
END_TEST

START_TEST(a_damaged_database_is_refused)
{
    fill_store();
    size_t len = read_file(db_path, before, sizeof(before));
    memset(before + 4096 * 3, 0xa5, len - 4096 * 3);
    write_file(db_path, before, len);
    assert_refused(FAB_E_FORMAT, "is damaged");
    /* Moved aside, all is well again. */
    char aside[300];
    snprintf(aside, sizeof(aside), "%s.damaged", db_path);
    ck_assert_int_eq(rename(db_path, aside), 0);
    store_close(open_store());
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    fill_store();
    change("PRAGMA user_version = 7");
    assert_refused(
        FAB_E_UNSUPPORTED,
        "has schema version 7, this fabricd knows versions up to 2; nothing was changed");
}
END_TEST

/* The version stands in the log only, the header of the file still says 2. */
START_TEST(a_newer_schema_in_the_log_is_refused)
{
    char wal[300], copy[300], command[1200];
    fill_store();
    snprintf(wal, sizeof(wal), "%s-wal", db_path);
    snprintf(copy, sizeof(copy), "%s/copy", dir);
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version = 9", NULL, NULL, NULL), SQLITE_OK);
    snprintf(command, sizeof(command), "mkdir '%s' && cp '%s' '%s' '%s'", copy, db_path, wal, copy);
    ck_assert_int_eq(system(command), 0);
    sqlite3_close(db);
    snprintf(command, sizeof(command), "mv '%s'/* '%s'", copy, dir);
    ck_assert_int_eq(system(command), 0);
    assert_refused(FAB_E_UNSUPPORTED, "has schema version 9");
    ck_assert_int_eq(access(wal, F_OK), 0);
}
END_TEST

START_TEST(a_foreign_database_is_refused)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(db_path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t(a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_refused(FAB_E_FORMAT, "is not a database of fabricd");
}
END_TEST

START_TEST(a_log_without_its_database_is_not_played_into_a_new_one)
{
    char wal[300];
    fill_store();
    struct store *s = open_store();
    put_events(s, 1000, 1200);
    store_flush(s);
    ck_assert_int_eq(unlink(db_path), 0); /* as if moved aside without its log */
    store_close(s);
    snprintf(wal, sizeof(wal), "%s-wal", db_path);
    if (access(wal, F_OK) != 0)
        write_file(wal, "junk", 4);
    s = open_store();
    ck_assert_uint_eq(store_last_event_seq(s), 0);
    store_close(s);
}
END_TEST

START_TEST(one_manager_a_directory)
{
    struct store *s = open_store(), *second = NULL;
    char why[600] = "", want[300];
    snprintf(want, sizeof(want), "state directory %s is in use by fabricd pid %ld", dir,
             (long)getpid());
    ck_assert_int_eq(store_open(dir, &second, why, sizeof(why)), FAB_E_BUSY);
    ck_assert_str_eq(why, want);
    s = reopen(s);
    store_close(s);
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_says_why)
{
    struct store *s = NULL;
    char why[600] = "", file[300], below[400];
    snprintf(file, sizeof(file), "%s/file", dir);
    snprintf(below, sizeof(below), "%s/state", file);
    write_file(file, "x", 1);
    ck_assert_int_eq(store_open(below, &s, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why, "cannot be made: Not a directory"));
    ck_assert_ptr_nonnull(strstr(why, "--state-dir"));
    ck_assert_int_eq(store_open(file, &s, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_open("/proc/self", &s, why, sizeof(why)) != FAB_OK, 1);
    if (geteuid() != 0) {
        ck_assert_int_eq(chmod(dir, 0500), 0);
        ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_E_DENIED);
        ck_assert_ptr_nonnull(strstr(why, "make it writable for user"));
        ck_assert_int_eq(chmod(dir, 0700), 0);
        fill_store();
        ck_assert_int_eq(chmod(db_path, 0440), 0);
        ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_E_DENIED);
        ck_assert_ptr_nonnull(strstr(why, "is not writable"));
    }
}
END_TEST

START_TEST(the_directory_is_made)
{
    struct store *s = NULL;
    char why[600] = "", below[300];
    struct stat st;
    snprintf(below, sizeof(below), "%s/state", dir);
    ck_assert_int_eq(store_open(below, &s, why, sizeof(why)), FAB_OK);
    store_close(s);
    snprintf(below, sizeof(below), "%s/state/fabricd.db", dir);
    ck_assert_int_eq(stat(below, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0007, 0);
}
END_TEST

/* ---- reroutes ---- */

static void keep_reroute(void *ctx, const struct reroute *r)
{
    struct reroute *last = ctx;
    *last = *r;
}

START_TEST(reroutes_are_kept_newest_first)
{
    char why[600] = "";
    struct store *s = NULL;
    ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_OK);
    struct reroute r = {.time_us = 1795179476000000,
                        .cause = "trap 128 from leaf-3",
                        .engine = "fattree",
                        .known_us = 1,
                        .computed_us = 2,
                        .proved_us = 3,
                        .first_write_us = 4,
                        .last_write_us = 5,
                        .entries = 6,
                        .blocks = 7,
                        .switches = 8,
                        .failed = 9,
                        .links_lost = 10,
                        .links_gained = 11,
                        .nodes_lost = 12,
                        .nodes_gained = 13};
    struct reroute got = {0};
    for (r.generation = 1; r.generation <= 5; r.generation++)
        store_put_reroute(s, &r);
    store_flush(s);
    ck_assert_int_eq(store_reroutes(s, 0, 1, keep_reroute, &got), FAB_OK);
    r.generation = 5;
    ck_assert_mem_eq(&got, &r, sizeof(r));
    ck_assert_int_eq(store_reroutes(s, 4, 2, keep_reroute, &got), FAB_OK);
    ck_assert_uint_eq(got.generation, 2);
    r.generation = 10003; /* those of long ago make room */
    store_put_reroute(s, &r);
    store_flush(s);
    ck_assert_int_eq(store_reroutes(s, 10003, 9, keep_reroute, &got), FAB_OK);
    ck_assert_uint_eq(got.generation, 4);
    store_close(s);
}
END_TEST

/* ---- migrations ---- */

START_TEST(an_older_schema_is_brought_up_after_a_copy)
{
    const char *three[] = {schema_steps.sql[0], schema_steps.sql[1],
                           "ALTER TABLE lease ADD COLUMN note TEXT; UPDATE lease SET note = 'x'"};
    const char *broken[] = {three[0], three[1], three[2], "CREATE TABLE a(b); CREATE TABLE a(b)"};
    struct schema_steps to_three = {three, 3}, to_four = {broken, 4};
    char why[600] = "", command[700];
    sqlite3 *db = NULL;
    fill_store();
    ck_assert_int_eq(schema_open(db_path, &to_three, &db, why, sizeof(why)), FAB_OK);
    sqlite3_close(db);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE note = 'x'"), SET_SIZE);
    ck_assert_int_eq(ask("PRAGMA user_version"), 3);
    snprintf(
        command, sizeof(command),
        "set -- '%s'.v2-*; test $# = 1 && test \"$(sqlite3 \"$1\" 'PRAGMA user_version; SELECT "
        "count(*) FROM lease' | tr '\\n' ' ')\" = '2 200 '",
        db_path);
    if (system("command -v sqlite3 >/dev/null") == 0)
        ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(schema_open(db_path, &to_four, &db, why, sizeof(why)) != FAB_OK, 1);
    ck_assert_msg(strstr(why, "could not be brought from schema version 3 to 4") != NULL, "%s",
                  why);
    ck_assert_int_eq(ask("PRAGMA user_version"), 3);
    ck_assert_int_eq(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'a'"), 0);
}
END_TEST

/* ---- cost ---- */

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static size_t leases_of(const struct fab_view *v, struct fab_lease *leases)
{
    size_t count = 0;
    for (uint32_t p = 0; p < v->fabric->port_count; p++)
        if (v->target->lids.base[p] != 0)
            leases[count++] =
                (struct fab_lease){v->fabric->ports[p].guid, v->target->lids.base[p], 0};
    return count;
}

/* Prints figures; the bounds are loose, since the machine may be busy or instrumented. */
START_TEST(large_fabrics_are_written_cheaply)
{
    struct fab_builder *b = NULL;
    struct fab_fat_tree_spec spec = {.radix = 36, .levels = 3, .taper = 1};
    ck_assert_int_eq(fab_generate_fat_tree(&spec, &b), FAB_OK);
    struct fab_view *v = make_view(b, 1, 1);
    struct fab_lease *leases = calloc(v->fabric->port_count, sizeof(*leases));
    size_t count = leases_of(v, leases);
    struct store *s = open_store();
    double t[4] = {cpu_ms()};
    store_put_leases(s, leases, count);
    store_put_view(s, v, "first sweep", 1);
    store_flush(s);
    t[1] = cpu_ms();
    store_put_leases(s, leases, count);
    store_put_view(s, v, "again", 1);
    store_flush(s);
    t[2] = cpu_ms();
    s = reopen(s);
    store_put_leases(s, leases, count);
    store_put_view(s, v, "restart", 1);
    store_flush(s);
    t[3] = cpu_ms();
    store_close(s);
    printf("# %u nodes, %u links: first write %.0f ms CPU, unchanged %.1f ms, restart %.0f ms\n",
           v->fabric->node_count, v->fabric->link_count, t[1] - t[0], t[2] - t[1], t[3] - t[2]);
    ck_assert_int_eq(ask("SELECT count(*) FROM node"), 11664 + 1620);
    ck_assert_int_eq(ask("SELECT count(*) FROM link"), v->fabric->link_count);
    ck_assert_double_lt(t[2] - t[1], (t[1] - t[0]) / 2);
    free(leases);
    fab_view_unref(v);
    fab_builder_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("round trips");
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, leases_come_back);
    tcase_add_test(tcase, absent_ports_keep_their_lease_until_it_is_taken);
    tcase_add_test(tcase, senseless_leases_are_left_out);
    tcase_add_test(tcase, the_latest_set_wins);
    tcase_add_test(tcase, events_come_back_in_pages);
    tcase_add_test(tcase, the_journal_is_trimmed);
    tcase_add_test(tcase, disabled_ports_come_back);
    tcase_add_test(tcase, reroutes_are_kept_newest_first);
    tcase_add_test(tcase, the_registry_shows_the_fabric);
    tcase_add_loop_test(tcase, what_goes_away_is_kept_and_marked, 0, 2);
    tcase_add_test(tcase, an_unchanged_fabric_writes_no_row);
    tcase_add_test(tcase, behind_it_drops_events_and_never_leases);
    tcase_add_test(tcase, a_full_disk_loses_nothing_but_time);
    tcase_add_test(tcase, kill_at_any_moment_leaves_one_whole_set);
    tcase_add_test(tcase, kill_while_it_is_made_leaves_all_or_nothing);
    tcase_add_test(tcase, large_fabrics_are_written_cheaply);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("refusals");
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_is_not_a_database_is_refused);
    tcase_add_test(tcase, a_cut_database_is_refused);
    tcase_add_test(tcase, a_damaged_database_is_refused);
    tcase_add_test(tcase, a_newer_schema_is_refused);
    tcase_add_test(tcase, a_newer_schema_in_the_log_is_refused);
    tcase_add_test(tcase, a_foreign_database_is_refused);
    tcase_add_test(tcase, a_log_without_its_database_is_not_played_into_a_new_one);
    tcase_add_test(tcase, one_manager_a_directory);
    tcase_add_test(tcase, a_directory_that_cannot_be_written_says_why);
    tcase_add_test(tcase, the_directory_is_made);
    tcase_add_test(tcase, an_older_schema_is_brought_up_after_a_copy);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
