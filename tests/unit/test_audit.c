/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The audit log. A verification finds every change that somebody makes in the table of the log, and
 * accepts that the manager prunes old rows. After kill -9, the chain of rows is complete, and each
 * stored change has its row.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fabricd/store/audit.h"
#include "tests/unit/state_dir.h"

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static struct audit_verdict verify(struct store *s)
{
    struct audit_verdict v = {0};
    store_flush(s);
    ck_assert_int_eq(store_audit_verify(s, never, NULL, &v), FAB_OK);
    return v;
}

static void assert_good(struct store *s, uint64_t rows)
{
    struct audit_verdict v = verify(s);
    ck_assert_msg(v.bad == 0, "row %lu: %s", (unsigned long)v.bad, v.problem);
    ck_assert_uint_eq(v.rows, rows);
}

static void put(struct store *s, unsigned from, unsigned to)
{
    static const char *const accounts[] = {"alice", "bob", "carol", "dan", "eve"};
    for (unsigned i = from; i <= to; i++) {
        char object[40];
        snprintf(object, sizeof(object), "leaf-%u/%u", i % 20, i);
        const struct audit_row row = {.time_us = 1000000 * (int64_t)i,
                                      .kind = AUDIT_END,
                                      .call = i,
                                      .result = i % 3,
                                      .text = {[AUDIT_ACCOUNT] = accounts[i % 5],
                                               [AUDIT_METHOD] = "DisablePort",
                                               [AUDIT_OBJECT] = object,
                                               [AUDIT_REASON] = "a 'reason' \xc3\xa9"}};
        ck_assert_int_eq(store_put_audit(s, &row), FAB_OK);
        if (i % 7 == 0)
            store_flush(s);
    }
    store_flush(s);
}

/* ---- tampering ---- */

/* Attacks: SQL statements that change an audit log of 20 rows while the manager runs. bad: number
 * of the first row that the verification must report. problem: the beginning of the verification's
 * message; "": the verification must accept the log. */
static const struct tampering {
    const char *name, *sql;
    uint64_t bad;
    const char *problem;
} tamperings[] = {
    {"nothing", "SELECT 1", 0, ""},
    {"other tables", "INSERT INTO meta VALUES('x', 'y')", 0, ""},
    {"first row removed", "DELETE FROM audit WHERE seq = 1", 1, "row 1 is missing"},
    {"row removed", "DELETE FROM audit WHERE seq = 9", 9, "row 9 is missing"},
    {"rows removed", "DELETE FROM audit WHERE seq BETWEEN 9 AND 11", 9, "rows 9 to 11 are missing"},
    {"row removed, others renumbered",
     "DELETE FROM audit WHERE seq = 9; UPDATE audit SET seq = seq - 1 WHERE seq > 9", 9,
     "row 9 does not fit the chain"},
    {"last row removed", "DELETE FROM audit WHERE seq = 20", 20, "rows 20 to 20 at the end"},
    {"tail removed", "DELETE FROM audit WHERE seq > 5", 6, "rows 6 to 20 at the end"},
    {"all removed", "DELETE FROM audit", 1, "rows 1 to 20 at the end"},
    {"account changed", "UPDATE audit SET account = 'mallory' WHERE seq = 4", 4, "row 4 does not"},
    {"object changed", "UPDATE audit SET object = 'leaf-9/9' WHERE seq = 20", 20, "row 20 does"},
    {"time changed", "UPDATE audit SET time_us = time_us + 1 WHERE seq = 1", 1, "row 1 does not"},
    {"result changed", "UPDATE audit SET result = 0 WHERE seq = 2", 2, "row 2 does not"},
    {"reason changed", "UPDATE audit SET reason = '' WHERE seq = 3", 3, "row 3 does not"},
    {"method, before and after changed",
     "UPDATE audit SET method = 'Sweep', value_before = 'a', value_after = 'b' WHERE seq = 3", 3,
     "row 3 does not"},
    {"text moved to the next column",
     "UPDATE audit SET object = '', value_before = object WHERE seq = 3", 3, "row 3 does not"},
    {"kind changed", "UPDATE audit SET kind = 3 WHERE seq = 3", 3, "row 3 does not"},
    {"number of the call changed", "UPDATE audit SET call = 1 WHERE seq = 3", 3, "row 3 does not"},
    {"MAC changed", "UPDATE audit SET mac = zeroblob(32) WHERE seq = 7", 7, "row 7 does not"},
    {"MAC cut", "UPDATE audit SET mac = x'00' WHERE seq = 7", 7, "row 7 does not"},
    {"text after a NUL", "UPDATE audit SET account = account || char(0) || 'x' WHERE seq = 7", 7,
     "row 7 does not"},
    {"text as a blob", "UPDATE audit SET account = CAST(account AS BLOB) WHERE seq = 7", 7,
     "row 7 does not"},
    {"two rows exchanged",
     "UPDATE audit SET seq = -1 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 12; "
     "UPDATE audit SET seq = 12 WHERE seq = -1",
     5, "row 5 does not"},
    {"row inserted at the end",
     "INSERT INTO audit SELECT 21, kind, time_us, call, result, account, source, method, object, "
     "value_before, value_after, reason, message, mac FROM audit WHERE seq = 20",
     21, "row 21 does not"},
    {"row inserted before the first",
     "INSERT INTO audit SELECT 0, kind, time_us, call, result, account, source, method, object, "
     "value_before, value_after, reason, message, mac FROM audit WHERE seq = 20",
     0, "row 0 was inserted"},
    {"row inserted, others renumbered",
     "UPDATE audit SET seq = -seq - 1 WHERE seq > 9; UPDATE audit SET seq = -seq WHERE seq < 0; "
     "INSERT INTO audit SELECT 10, kind, time_us, call, result, account, source, method, object, "
     "value_before, value_after, reason, message, mac FROM audit WHERE seq = 9",
     10, "row 10 does not"},
    {"pruned with a forged checkpoint",
     "DELETE FROM audit WHERE seq <= 9; INSERT INTO audit SELECT 21, 4, time_us, 9, 0, 'fabricd', "
     "'', 'prune', 'audit log', '', lower(hex(mac)), '', '', mac FROM audit WHERE seq = 20",
     10, "row 10 does not"},
};

START_TEST(tampering_is_found)
{
    const struct tampering *t = &tamperings[_i];
    struct store *s = open_store();
    put(s, 1, 20);
    change(t->sql);
    struct audit_verdict v = verify(s);
    ck_assert_msg(v.bad == t->bad && strncmp(v.problem, t->problem, strlen(t->problem)) == 0 &&
                      (v.problem[0] == '\0') == (t->problem[0] == '\0'),
                  "%s: row %lu, %s", t->name, (unsigned long)v.bad, v.problem);
    /* After a restart and after further rows of the manager, the verification must report the same.
     * Forged rows at the end of the table must not become part of the chain. */
    s = reopen(s);
    put(s, 21, 22);
    v = verify(s);
    ck_assert_msg((v.problem[0] == '\0') == (t->problem[0] == '\0') && v.bad <= t->bad,
                  "%s, after a restart: row %lu, %s", t->name, (unsigned long)v.bad, v.problem);
    store_close(s);
}
END_TEST

/* While the manager is stopped, somebody deletes the last rows. Then only the file audit_head shows
 * that there were more rows. */
START_TEST(a_cut_between_two_runs_is_found)
{
    struct store *s = open_store();
    put(s, 1, 20);
    store_close(s);
    change("DELETE FROM audit WHERE seq > 15");
    s = open_store();
    struct audit_verdict v = verify(s);
    ck_assert_uint_eq(v.bad, 16);
    put(s, 21, 25); /* further rows do not hide the missing ones */
    v = verify(s);
    ck_assert_uint_eq(v.bad, 16);
    ck_assert_str_eq(v.problem, "rows 16 to 20 are missing");
    store_close(s);
}
END_TEST

/* If the file audit_head was changed without the key, its content is ignored. */
START_TEST(a_forged_head_is_not_believed)
{
    char path[300];
    struct store *s = open_store();
    put(s, 1, 5);
    store_close(s);
    snprintf(path, sizeof(path), "%s/audit_head", dir);
    FILE *f = fopen(path, "r+");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%020d", 99);
    fclose(f);
    s = open_store();
    assert_good(s, 5);
    store_close(s);
}
END_TEST

/* If the key file is replaced, the verification refuses the old rows. */
START_TEST(rows_of_another_key_are_refused)
{
    char path[300];
    struct store *s = open_store();
    put(s, 1, 5);
    store_close(s);
    snprintf(path, sizeof(path), "%s/audit_key", dir);
    ck_assert_int_eq(unlink(path), 0);
    s = open_store();
    struct audit_verdict v = verify(s);
    ck_assert_uint_eq(v.bad, 1);
    store_close(s);
}
END_TEST

START_TEST(the_key_is_secret)
{
    char path[300], why[600];
    struct store *s = open_store();
    store_close(s);
    snprintf(path, sizeof(path), "%s/audit_key", dir);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_E_DENIED);
    ck_assert_ptr_nonnull(strstr(why, "chmod 600"));
}
END_TEST

/* ---- pruning ---- */

START_TEST(pruned_rows_are_accepted)
{
    struct store *s = open_store();
    store_audit_keep(s, UINT32_MAX, 8000);
    put(s, 1, 500);
    int64_t first = ask("SELECT min(seq) FROM audit"), rows = ask("SELECT count(*) FROM audit");
    ck_assert_int_gt(first, 400);
    ck_assert_int_gt(rows, 30);
    ck_assert_int_gt(ask("SELECT count(*) FROM audit WHERE kind = 4"), 0);
    ck_assert_int_le(ask("SELECT sum(100 + length(account) + length(object) + length(reason) + "
                         "length(method) + length(message) + length(value_after)) FROM audit"),
                     8400);
    assert_good(s, (uint64_t)rows);
    s = reopen(s);
    assert_good(s, (uint64_t)rows);
    /* after pruning, a deletion of a remaining row is still found */
    change("DELETE FROM audit WHERE seq = (SELECT min(seq) FROM audit)");
    struct audit_verdict v = verify(s);
    ck_assert_uint_eq(v.bad, (uint64_t)first);
    store_close(s);
}
END_TEST

START_TEST(old_rows_are_pruned)
{
    struct store *s = open_store();
    put(s, 1, 10); /* rows 1 to 10 have times in 1970, so they are due for pruning */
    store_audit_keep(s, 1000, 1 << 20);
    put(s, 11, 11);
    ck_assert_int_eq(ask("SELECT min(seq) FROM audit"), 11);
    ck_assert_int_eq(ask("SELECT count(*) FROM audit"), 2);
    assert_good(s, 2);
    store_close(s);
}
END_TEST

/* If a row is wrong, the manager prunes nothing, because the rows are evidence. */
START_TEST(damaged_rows_are_not_pruned)
{
    struct store *s = open_store();
    put(s, 1, 10);
    change("UPDATE audit SET account = 'mallory' WHERE seq = 3");
    store_audit_keep(s, 1000, 1 << 20);
    put(s, 11, 20);
    ck_assert_int_eq(ask("SELECT count(*) FROM audit"), 20);
    struct audit_verdict v = verify(s);
    ck_assert_uint_eq(v.bad, 3);
    store_close(s);
}
END_TEST

START_TEST(an_inserted_row_0_is_not_pruned)
{
    struct store *s = open_store();
    put(s, 1, 10);
    change("INSERT INTO audit SELECT 0, kind, time_us, call, result, account, source, method, "
           "object, value_before, value_after, reason, message, mac FROM audit WHERE seq = 1");
    store_audit_keep(s, 1000, 1 << 20);
    put(s, 11, 20);
    ck_assert_int_eq(ask("SELECT count(*) FROM audit"), 21);
    ck_assert_str_eq(verify(s).problem, "row 0 was inserted");
    store_close(s);
}
END_TEST

/* ---- kill -9 ---- */

/* Stores changes as an RPC service does: first the BEGIN row, then the change, then the END row.
 * Writes the number of each confirmed change to the pipe. */
static void work_until_killed(int to)
{
    struct store *s = open_store();
    for (unsigned i = 1;; i++) {
        struct audit_row row = {
            .time_us = 1,
            .kind = AUDIT_BEGIN,
            .call = i,
            .text = {[AUDIT_ACCOUNT] = "alice", [AUDIT_METHOD] = "DisablePort"}};
        store_put_audit(s, &row);
        store_put_disabled(s, i, 1, true);
        row.kind = AUDIT_END;
        store_put_audit(s, &row);
        uint64_t mark = store_mark(s);
        while (store_written(s, mark) == STORE_PENDING)
            usleep(100);
        if (store_written(s, mark) == STORE_WRITTEN && write(to, &i, sizeof(i)) != sizeof(i))
            break;
    }
    _exit(1);
}

START_TEST(kill_loses_nothing_that_was_confirmed)
{
    int pipes[2];
    unsigned confirmed = 0;
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0)
        work_until_killed(pipes[1]);
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &confirmed, sizeof(confirmed)), sizeof(confirmed));
    usleep(1700 * (unsigned)_i);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    while (read(pipes[0], &confirmed, sizeof(confirmed)) == sizeof(confirmed)) {
    }
    close(pipes[0]);
    struct store *s = open_store();
    int64_t begun = ask("SELECT count(*) FROM audit WHERE kind = 1");
    int64_t ended = ask("SELECT count(*) FROM audit WHERE kind = 2");
    int64_t changed = ask("SELECT count(*) FROM disabled_port");
    ck_assert_int_gt(confirmed, 0);
    ck_assert_int_ge(ended, confirmed);
    ck_assert_int_ge(changed, ended);
    ck_assert_int_ge(begun, changed);
    assert_good(s, (uint64_t)(begun + ended));
    store_close(s);
}
END_TEST

/* ---- reading ---- */

struct seen {
    unsigned rows, unfinished;
    uint64_t last;
};

static bool count(void *ctx, const struct audit_row *row)
{
    struct seen *seen = ctx;
    ck_assert(seen->last == 0 || row->seq == seen->last - 1);
    seen->last = row->seq;
    seen->rows++;
    seen->unfinished += row->kind == AUDIT_BEGIN && !row->ended;
    return true;
}

START_TEST(rows_are_listed_newest_first)
{
    struct store *s = open_store();
    struct seen seen = {0};
    struct audit_row row = {.kind = AUDIT_BEGIN, .call = 3};
    put(s, 1, 10);
    store_put_audit(s, &row); /* the BEGIN row of call 3, which has an END row */
    row.call = 99;
    store_put_audit(s, &row);
    store_flush(s);
    ck_assert_int_eq(store_audit_list(s, 0, 5, count, &seen), FAB_OK);
    ck_assert_uint_eq(seen.last, 8);
    ck_assert_int_eq(store_audit_list(s, 8, 100, count, &seen), FAB_OK);
    ck_assert_uint_eq(seen.last, 1);
    ck_assert_uint_eq(seen.rows, 12);
    ck_assert_uint_eq(seen.unfinished, 1);
    store_close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("audit");
    TCase *t = tcase_create("audit");
    tcase_add_checked_fixture(t, make_dir, remove_dir);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, tampering_is_found, 0, sizeof(tamperings) / sizeof(*tamperings));
    tcase_add_test(t, a_cut_between_two_runs_is_found);
    tcase_add_test(t, a_forged_head_is_not_believed);
    tcase_add_test(t, rows_of_another_key_are_refused);
    tcase_add_test(t, the_key_is_secret);
    tcase_add_test(t, pruned_rows_are_accepted);
    tcase_add_test(t, old_rows_are_pruned);
    tcase_add_test(t, damaged_rows_are_not_pruned);
    tcase_add_test(t, an_inserted_row_0_is_not_pruned);
    tcase_add_loop_test(t, kill_loses_nothing_that_was_confirmed, 0, 10);
    tcase_add_test(t, rows_are_listed_newest_first);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
