/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a recording: its contents, its mode, and the errors of the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/transport/tape.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#define PIECES 40u
#define PIECE 60000u

static char path[200];
/* errno of the next close(2), which fails; 0: it does not fail. A file system such as NFS may
 * report only then that the disk is full. */
static int close_fails;

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int error = close_fails, rc = __real_close(fd);
    close_fails = 0;
    if (error == 0)
        return rc;
    errno = error;
    return -1;
}

static void make_path(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/test-tape-XXXXXX", tmp != NULL ? tmp : "/tmp");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, 0644), 0);
    __real_close(fd);
}

static void remove_path(void)
{
    unlink(path);
}

static struct tape *opened(const char *name)
{
    struct tape *t = NULL;
    char why[300] = "";
    int status = tape_open(name, &t, why, sizeof(why));
    ck_assert_msg(status == FAB_OK, "%s", why);
    return t;
}

static void append(struct tape *t, uint8_t value, size_t n)
{
    uint8_t *room = tape_room(t, n);
    ck_assert_ptr_nonnull(room);
    memset(room, value, n);
    tape_advance(t, n);
}

START_TEST(bytes_are_written_in_order)
{
    static uint8_t got[PIECE], want[PIECE];
    struct tape *t = opened(path);
    struct stat st;
    for (unsigned i = 0; i < PIECES; i++)
        append(t, (uint8_t)i, PIECE);
    ck_assert_int_eq(tape_error(t), 0);
    ck_assert_int_eq(tape_close(t), 0);
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600); /* the file that others could read was replaced */
    ck_assert_int_eq(st.st_size, PIECES * PIECE);
    for (unsigned i = 0; i < PIECES; i++) {
        memset(want, (int)i, sizeof(want));
        ck_assert_int_eq(read(fd, got, PIECE), PIECE);
        ck_assert_mem_eq(got, want, PIECE);
    }
    __real_close(fd);
}
END_TEST

START_TEST(a_failed_write_is_told)
{
    struct tape *t = opened("/dev/full");
    append(t, 1, 10);
    close_fails = EIO; /* the first error counts */
    ck_assert_int_eq(tape_close(t), ENOSPC);
}
END_TEST

START_TEST(a_failed_close_is_told)
{
    struct tape *t = opened(path);
    append(t, 1, 10);
    close_fails = EDQUOT;
    ck_assert_int_eq(tape_close(t), EDQUOT);
    ck_assert_int_eq(tape_close(NULL), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tape");
    TCase *t = tcase_create("tape");
    tcase_add_checked_fixture(t, make_path, remove_path);
    tcase_add_test(t, bytes_are_written_in_order);
    tcase_add_test(t, a_failed_write_is_told);
    tcase_add_test(t, a_failed_close_is_told);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
