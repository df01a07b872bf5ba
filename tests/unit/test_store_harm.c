/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store when something fails: the disk is full, the database was moved away, or the process is
 * killed. It must refuse a database that it cannot use, and leave its file unchanged. It must copy
 * an older database before it upgrades it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "fabricd/store/schema.h"
#include "tests/unit/state_dir.h"

#define NOBODY 65534 /* user ID of nobody, who may not write the test's files */

/* Limits the size of files, so that no file can grow. For SQLite, this is a full disk. */
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
    store_flush(s); /* must return, although the store could not write */
    assert_leases(s, NULL, 0);
    put_events(s, 11, 20);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before_it), 0);
    /* a write that began while the disk was full may fail during the first flush, so flushes
     * twice */
    store_flush(s);
    store_flush(s);
    assert_leases(s, set, SET_SIZE);
    ck_assert_uint_eq(store_last_event_seq(s), 20);
    ck_assert_uint_eq(store_dropped(s), 0);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 20);
}
END_TEST

/* a trigger in the database that refuses each new row for a port that an operator disabled */
#define REFUSAL                                                                                    \
    "CREATE TRIGGER refusal BEFORE INSERT ON disabled_port BEGIN SELECT RAISE(ABORT, 'no'); END"

/* One of several records in a transaction violates the schema. The store must lose only this
 * record. */
START_TEST(only_the_record_that_violates_the_schema_is_lost)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    fill_set(set, 3);
    change(REFUSAL);
    ck_assert(!store_has_lost(s));
    put_events(s, 1, 10);
    store_put_leases(s, set, SET_SIZE);
    store_put_disabled(s, GUID(1), 2, true);
    uint64_t mark = store_mark(s);
    put_events(s, 11, 20);
    store_flush(s);
    store_flush(s);
    ck_assert_int_eq(store_written(s, mark), STORE_FAILED);
    ck_assert(store_has_lost(s));
    ck_assert(!store_is_failing(s));
    assert_leases(s, set, SET_SIZE);
    ck_assert_uint_eq(store_last_event_seq(s), 20);
    store_put_disabled(s, GUID(1), 2, true);
    store_close(s); /* must return, although the last record is refused */
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 20);
    ck_assert_int_eq(ask("SELECT count(*) FROM disabled_port"), 0);
}
END_TEST

/* Waits until the store's writer reports that it fails (or works again), which it checks every two
 * seconds. Returns false if it does not. */
static bool is_noticed(struct store *s, bool failing)
{
    for (unsigned i = 0; i < 1000 && store_is_failing(s) != failing; i++)
        usleep(10000);
    return store_is_failing(s) == failing;
}

/* The database file is moved away. SQLite would go on to write to the moved file, so the store must
 * notice this itself. */
START_TEST(a_file_that_is_gone_is_noticed)
{
    struct store *s = open_store();
    struct store_health health;
    char moved[sizeof(db_path) + 8];
    put_events(s, 1, 10);
    store_flush(s);
    snprintf(moved, sizeof(moved), "%s.moved", db_path);
    ck_assert_int_eq(rename(db_path, moved), 0);
    ck_assert(is_noticed(s, true));
    store_get_health(s, &health);
    ck_assert_uint_ge(health.failures, 1);
    ck_assert_str_eq(health.reason, "the file was deleted, moved or replaced");
    put_events(s, 11, 20);
    uint64_t mark = store_mark(s);
    store_flush(s);
    ck_assert_int_eq(store_written(s, mark), STORE_FAILED);
    ck_assert_int_eq(rename(moved, db_path), 0);
    ck_assert(is_noticed(s, false));
    store_flush(s);
    ck_assert_int_eq(store_written(s, mark), STORE_WRITTEN);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 20);
}
END_TEST

/* ---- kill -9 ---- */

#define APPROVED(round) (50 + (round) % 7)

/* Makes a baseline of devices. The time of each approval is the number of the round, so the test
 * can tell rounds apart. */
static struct fab_baseline *baseline_of(unsigned round)
{
    struct fab_approved list[64] = {0};
    struct fab_baseline *b = NULL;
    for (unsigned i = 0; i < APPROVED(round); i++) {
        list[i].place = (struct fab_place){.guid = GUID(i + 1),
                                           .port_guid = GUID(i + 1),
                                           .near_guid = GUID(1000),
                                           .port = 1,
                                           .near_port = (uint8_t)(i + 1)};
        list[i].since_us = (int64_t)round + 1;
        snprintf(list[i].by, sizeof(list[i].by), "round %u", round);
    }
    ck_assert_int_eq(fab_discover_baseline_new(list, APPROVED(round), &b), FAB_OK);
    return b;
}

/* Runs in a child process until it is killed. Stores set after set of leases, and writes the number
 * of each next set to the pipe. */
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
        struct fab_baseline *approved = baseline_of(round);
        store_put_baseline(s, round % 5 == 4 ? NULL : approved);
        fab_discover_baseline_unref(approved);
        put_events(s, round * 3 + 1, round * 3 + 3);
        if (round % 4 == 0)
            store_flush(s);
        fab_view_unref(v);
        usleep(500);
    }
}

/* Checks that the database has either no leases, or all leases of one of the sets 0 to `last` and
 * no others. */
static void assert_one_whole_set(struct store *s, unsigned last)
{
    struct fab_lease *got = NULL, want[SET_SIZE];
    size_t count = 0;
    ck_assert_int_eq(store_load_leases(s, &got, &count), FAB_OK);
    if (count == 0) {
        /* the child was killed before it stored a set */
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

/* Checks that the database has either no baseline, or the complete baseline of one round. */
static void assert_one_whole_baseline(struct store *s)
{
    struct fab_baseline *b = NULL;
    size_t count;
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    const struct fab_approved *a = fab_discover_baseline_list(b, &count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(a[i].since_us, a[0].since_us);
        ck_assert_str_eq(a[i].by, a[0].by);
    }
    if (b != NULL)
        ck_assert_uint_eq(count, APPROVED((unsigned)a[0].since_us - 1));
    fab_discover_baseline_unref(b);
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
        struct store *s = open_store(); /* opening also checks the integrity of the database */
        assert_one_whole_set(s, last);
        assert_one_whole_baseline(s);
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
        ck_assert_int_eq(ask("PRAGMA user_version"), schema_steps.count);
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

/* Tries twice to open the database. Both times, it must be refused with this message, and its file
 * must stay unchanged. */
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
    /* without the refused file, the store makes a new database and works */
    char aside[300];
    snprintf(aside, sizeof(aside), "%s.damaged", db_path);
    ck_assert_int_eq(rename(db_path, aside), 0);
    store_close(open_store());
}
END_TEST

START_TEST(a_newer_schema_is_refused)
{
    char words[120];
    snprintf(words, sizeof(words),
             "has schema version 77, this fabricd knows versions up to %d; nothing was changed",
             schema_steps.count);
    fill_store();
    change("PRAGMA user_version = 77");
    assert_refused(FAB_E_UNSUPPORTED, words);
}
END_TEST

/* A newer schema version is only in the write-ahead log; the header of the database file has the
 * old version. The store must see the newer one. */
START_TEST(a_newer_schema_in_the_log_is_refused)
{
    char wal[300], copy[300], command[1200];
    fill_store();
    snprintf(wal, sizeof(wal), "%s-wal", db_path);
    snprintf(copy, sizeof(copy), "%s/copy", dir);
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    snprintf(command, sizeof(command), "mkdir '%s' && cp '%s' '%s' '%s'", copy, db_path, wal, copy);
    ck_assert_int_eq(system(command), 0);
    sqlite3_close(db);
    snprintf(command, sizeof(command), "mv '%s'/* '%s'", copy, dir);
    ck_assert_int_eq(system(command), 0);
    assert_refused(FAB_E_UNSUPPORTED, "has schema version 99");
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
    /* as if somebody had moved the database away, but not its log */
    ck_assert_int_eq(unlink(db_path), 0);
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
}
END_TEST

/* Root may write to every file, so the test continues as the user nobody. Returns the user ID from
 * before. */
static uid_t become_somebody(void)
{
    uid_t was = geteuid();
    if (was == 0) {
        ck_assert_int_eq(chown(dir, NOBODY, (gid_t)-1), 0);
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    return was;
}

static void assert_denied(const char *says)
{
    struct store *s = NULL;
    char why[600] = "", user[40];
    snprintf(user, sizeof(user), "for user %u", (unsigned)geteuid());
    ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_E_DENIED);
    ck_assert_msg(strstr(why, says) != NULL && strstr(why, user) != NULL, "%s", why);
    ck_assert_ptr_null(s);
}

START_TEST(what_may_not_be_written_is_refused)
{
    uid_t was = become_somebody();
    ck_assert_int_eq(chmod(dir, 0500), 0);
    assert_denied("make it writable");
    ck_assert_int_eq(chmod(dir, 0700), 0);
    fill_store();
    ck_assert_int_eq(chmod(db_path, 0440), 0);
    assert_denied("is not writable");
    ck_assert_int_eq(chmod(db_path, 0640), 0);
    store_close(open_store());
    ck_assert_int_eq(unlink(db_path), 0);
    /* the lock file exists and can be locked, but no new file can be made in the directory */
    ck_assert_int_eq(chmod(dir, 0500), 0);
    struct store *s = NULL;
    char why[600] = "";
    ck_assert_int_ne(store_open(dir, &s, why, sizeof(why)), FAB_OK);
    ck_assert_str_ne(why, "");
    ck_assert_int_ne(access(db_path, F_OK), 0);
    ck_assert_int_eq(chmod(dir, 0700), 0);
    store_close(open_store());
    ck_assert_int_eq(seteuid(was), 0);
}
END_TEST

/* A directory has the name of the temporary file in which a new database is made. This is no matter
 * of permissions, so the administrator must not be sent to look for some. */
START_TEST(a_file_that_cannot_be_made_for_other_reasons_is_not_denied)
{
    struct store *s = NULL;
    char why[600] = "", taken[300];
    snprintf(taken, sizeof(taken), "%s.new", db_path);
    ck_assert_int_eq(mkdir(taken, 0700), 0);
    ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_E_IO);
    ck_assert_str_ne(why, "");
    ck_assert_ptr_null(s);
    ck_assert_int_eq(rmdir(taken), 0);
    store_close(open_store());
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

/* ---- migrations ---- */

START_TEST(an_older_schema_is_brought_up_after_a_copy)
{
    enum { STEPS_MOST = 32 };
    const int now = schema_steps.count;
    const char *sql[STEPS_MOST] = {NULL};
    ck_assert_int_le(now + 2, STEPS_MOST);
    memcpy(sql, schema_steps.sql, (size_t)now * sizeof(*sql));
    sql[now] = "ALTER TABLE lease ADD COLUMN note TEXT; UPDATE lease SET note = 'x'";
    sql[now + 1] = "CREATE TABLE a(b); CREATE TABLE a(b)";
    struct schema_steps good = {sql, now + 1}, broken = {sql, now + 2};
    char why[600] = "", command[700], words[100];
    sqlite3 *db = NULL;
    fill_store();
    ck_assert_int_eq(schema_open(db_path, &good, &db, why, sizeof(why)), FAB_OK);
    sqlite3_close(db);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE note = 'x'"), SET_SIZE);
    ck_assert_int_eq(ask("PRAGMA user_version"), now + 1);
    snprintf(
        command, sizeof(command),
        "set -- '%s'.v%d-*; test $# = 1 && test \"$(sqlite3 \"$1\" 'PRAGMA user_version; SELECT "
        "count(*) FROM lease' | tr '\\n' ' ')\" = '%d 200 '",
        db_path, now, now);
    snprintf(words, sizeof(words), "could not be brought from schema version %d to %d", now + 1,
             now + 2);
    if (system("command -v sqlite3 >/dev/null") == 0)
        ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(schema_open(db_path, &broken, &db, why, sizeof(why)) != FAB_OK, 1);
    ck_assert_msg(strstr(why, words) != NULL, "%s", why);
    ck_assert_int_eq(ask("PRAGMA user_version"), now + 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'a'"), 0);
}
END_TEST

/* fabricd is killed while it makes a backup before an upgrade, and starts again within the same
 * second. The name of the backup has the time in seconds, so the incomplete file must be
 * replaced. */
START_TEST(a_backup_that_was_cut_off_is_replaced)
{
    enum { STEPS_MOST = 32, SECONDS = 10 };
    const int now = schema_steps.count;
    const char *sql[STEPS_MOST] = {NULL};
    const struct schema_steps more = {sql, now + 1};
    char why[600] = "", path[400], stamp[32];
    sqlite3 *db = NULL;
    memcpy(sql, schema_steps.sql, (size_t)now * sizeof(*sql));
    sql[now] = "CREATE TABLE a(b)";
    fill_store();
    for (time_t t = time(NULL), end = t + SECONDS; t < end; t++) {
        struct tm utc;
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&t, &utc));
        snprintf(path, sizeof(path), "%s.v%d-%s", db_path, now, stamp);
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        ck_assert_int_gt(fprintf(f, "SQLite format 3"), 0);
        ck_assert_int_eq(fclose(f), 0);
    }
    ck_assert_msg(schema_open(db_path, &more, &db, why, sizeof(why)) == FAB_OK, "%s", why);
    sqlite3_close(db);
    ck_assert_int_eq(ask("PRAGMA user_version"), now + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_harm");
    TCase *tcase = tcase_create("crashes");
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_full_disk_loses_nothing_but_time);
    tcase_add_test(tcase, only_the_record_that_violates_the_schema_is_lost);
    tcase_add_test(tcase, a_file_that_is_gone_is_noticed);
    tcase_add_test(tcase, kill_at_any_moment_leaves_one_whole_set);
    tcase_add_test(tcase, kill_while_it_is_made_leaves_all_or_nothing);
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
    tcase_add_test(tcase, what_may_not_be_written_is_refused);
    tcase_add_test(tcase, a_file_that_cannot_be_made_for_other_reasons_is_not_denied);
    tcase_add_test(tcase, the_directory_is_made);
    tcase_add_test(tcase, an_older_schema_is_brought_up_after_a_copy);
    tcase_add_test(tcase, a_backup_that_was_cut_off_is_replaced);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
