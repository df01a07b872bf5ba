/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the daemon says if it cannot use something: an address on which the RPC should listen, or a
 * state directory that it cannot lock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabricd/rpc/listen.h"
#include "fabricd/store/lock.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static char folder[] = "/tmp/test-listen-XXXXXX";
static struct loop *loop;
static struct conn_set *conns;

static void begin(void)
{
    static const struct service *const none[] = {NULL};
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    loop = loop_new();
    ck_assert_int_eq(conn_set_new(&(struct conn_set_input){.loop = loop, .services = none}, &conns),
                     FAB_OK);
}

static void end(void)
{
    conn_set_free(conns);
    loop_free(loop);
    ck_assert_int_eq(chdir("/"), 0);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static int open_at(enum config_listen_kind kind, const char *host, uint16_t port, const char *group,
                   struct listener **ret, char *why, size_t len)
{
    char text[300];
    snprintf(text, sizeof text, kind == CONFIG_LISTEN_UNIX ? "unix:%s" : "tls:%s:%u", host, port);
    const struct config_listen at = {
        .kind = kind, .host = (char *)(uintptr_t)host, .port = port, .text = text};
    const struct listen_input in = {.loop = loop, .conns = conns, .group = group};
    *ret = NULL;
    why[0] = '\0';
    return listen_open(&in, &at, ret, why, len);
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* ---- Unix sockets ---------------------------------------------------------------------------- */

#define PATH_107                                                                                   \
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012" \
    "345678901234567"

static void make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* Makes a socket file. listens: a program accepts connections at it; otherwise the program is
 * gone. */
static int make_socket(const char *path, bool listens)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    if (listens)
        ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

START_TEST(unix_sockets_are_refused_with_the_reason)
{
    static const struct {
        const char *path;
        int status;
        const char *why;
    } cases[] = {
        {"", FAB_E_INVAL, "unix:: a path of 1 to 107 bytes is expected"},
        {PATH_107 "8", FAB_E_INVAL, "unix:" PATH_107 "8: a path of 1 to 107 bytes is expected"},
        {"file", FAB_E_EXISTS,
         "unix:file: there is a file that is no socket; remove it, or listen elsewhere"},
        {"live", FAB_E_EXISTS,
         "unix:live: another program answers there; is fabricd running already?"},
        {"a/b/s", FAB_E_IO,
         "unix:a/b/s: No such file or directory; make its folder, or listen elsewhere (--listen)"},
        {"file/s", FAB_E_IO, "unix:file/s: Not a directory"},
    };
    struct listener *l;
    char why[400];
    make_file("file");
    int live = make_socket("live", true), before = descriptors();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = open_at(CONFIG_LISTEN_UNIX, cases[i].path, 0, NULL, &l, why, sizeof why);
        ck_assert_str_eq(why, cases[i].why);
        ck_assert_int_eq(status, cases[i].status);
        ck_assert_ptr_null(l);
        ck_assert_int_eq(descriptors(), before);
    }
    /* the daemon must not remove files that other programs made */
    ck_assert_int_eq(access("file", F_OK), 0);
    ck_assert_int_eq(access("live", F_OK), 0);
    close(live);
}
END_TEST

START_TEST(unix_sockets_are_made_and_removed)
{
    static const char *const paths[] = {PATH_107, "made/s", "stale", "./s"};
    struct listener *l;
    struct stat st;
    char why[400];
    close(make_socket("stale", false));
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int before = descriptors();
        ck_assert_int_eq(open_at(CONFIG_LISTEN_UNIX, paths[i], 0, i % 2 ? "" : "no such group", &l,
                                 why, sizeof why),
                         FAB_OK);
        ck_assert_str_eq(why, "");
        ck_assert_int_eq(lstat(paths[i], &st), 0);
        ck_assert_uint_eq(st.st_mode, S_IFSOCK | 0660);
        listen_close(l);
        ck_assert_int_eq(access(paths[i], F_OK), -1);
        ck_assert_int_eq(descriptors(), before);
    }
    ck_assert_int_eq(lstat("made", &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0755);
    listen_close(NULL);
}
END_TEST

START_TEST(a_socket_of_another_process_stays)
{
    struct listener *l;
    char why[400];
    ck_assert_int_eq(open_at(CONFIG_LISTEN_UNIX, "s", 0, NULL, &l, why, sizeof why), FAB_OK);
    ck_assert_int_eq(unlink("s"), 0);
    close(make_socket("s", false));
    listen_close(l);
    ck_assert_int_eq(access("s", F_OK), 0);
}
END_TEST

/* ---- connections ----------------------------------------------------------------------------- */

static int client(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void pass(void *ctx)
{
    (void)ctx;
    loop_stop(loop);
}

static void run_for(uint64_t us)
{
    struct loop_timer *t = loop_timer_new(loop, pass, NULL);
    loop_timer_set(t, us);
    ck_assert_int_eq(loop_run(loop), FAB_OK);
    loop_timer_free(t);
}

/* Returns whether the server accepted the client. The server sends an HTTP/2 SETTINGS frame to a
 * client that it accepted. */
static bool is_served(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK) == 1;
}

/* While the process has no file descriptor left, the listener tries to accept clients only once a
 * second. */
START_TEST(clients_wait_while_no_descriptor_is_left)
{
    struct listener *l;
    char why[400];
    ck_assert_int_eq(open_at(CONFIG_LISTEN_UNIX, "s", 0, NULL, &l, why, sizeof why), FAB_OK);
    int first = client("s");
    run_for(20000);
    ck_assert(is_served(first));
    int second = client("s");
    struct rlimit was, none;
    getrlimit(RLIMIT_NOFILE, &was);
    none = (struct rlimit){0, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    run_for(20000);
    setrlimit(RLIMIT_NOFILE, &was);
    run_for(20000);
    ck_assert(!is_served(second)); /* a descriptor is free now, but the second is not over */
    run_for(1000000);
    ck_assert(is_served(second));
    close(first);
    close(second);
    listen_close(l);
}
END_TEST

/* ---- TLS addresses --------------------------------------------------------------------------- */

START_TEST(tls_addresses_are_refused_with_the_reason)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    struct listener *l;
    char why[400], expected[400];
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(taken, (const struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(taken, 1), 0);
    ck_assert_int_eq(getsockname(taken, (struct sockaddr *)&at, &len), 0);
    uint16_t port = ntohs(at.sin_port);
    int before = descriptors();

    ck_assert_int_eq(open_at(CONFIG_LISTEN_TLS, "127.0.0.1", port, NULL, &l, why, sizeof why),
                     FAB_E_IO);
    snprintf(expected, sizeof expected, "tls:127.0.0.1:%u: %s", port, strerror(EADDRINUSE));
    ck_assert_str_eq(why, expected);
    ck_assert_int_eq(open_at(CONFIG_LISTEN_TLS, "192.0.2.1", 1, NULL, &l, why, sizeof why),
                     FAB_E_IO);
    snprintf(expected, sizeof expected, "tls:192.0.2.1:1: %s", strerror(EADDRNOTAVAIL));
    ck_assert_str_eq(why, expected);
    ck_assert_int_eq(open_at(CONFIG_LISTEN_TLS, "256.0.0.1.", 1, NULL, &l, why, sizeof why),
                     FAB_E_INVAL);
    ck_assert_int_eq(strncmp(why, "tls:256.0.0.1.:1: ", 18), 0);
    ck_assert_uint_gt(strlen(why), 18);
    ck_assert_ptr_null(l);
    ck_assert_int_eq(descriptors(), before);

    close(taken);
    ck_assert_int_eq(open_at(CONFIG_LISTEN_TLS, "127.0.0.1", port, NULL, &l, why, sizeof why),
                     FAB_OK);
    listen_close(l);
    ck_assert_int_eq(descriptors(), before - 1);
}
END_TEST

/* ---- the lock of the state directory --------------------------------------------------------- */

static void expect_no_lock(const char *dir, int status, const char *why)
{
    char text[5000] = "";
    int fd = -7, before = descriptors();
    ck_assert_int_eq(lock_take(dir, &fd, text, sizeof text), status);
    ck_assert_str_eq(text, why);
    ck_assert_int_eq(fd, -7);
    ck_assert_int_eq(descriptors(), before);
}

static off_t size_of(const char *path)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_size;
}

START_TEST(a_directory_is_locked_once)
{
    char why[400], expected[400];
    struct stat st;
    int fd = -1;
    ck_assert_int_eq(lock_take("state", &fd, why, sizeof why), FAB_OK);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(stat("state", &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0750);
    snprintf(expected, sizeof expected, "%ld\n", (long)getpid());
    ck_assert_int_eq(size_of("state/lock"), (off_t)strlen(expected));
    snprintf(expected, sizeof expected, "state directory state is in use by fabricd pid %ld",
             (long)getpid());
    expect_no_lock("state", FAB_E_BUSY, expected);
    /* a process holds the lock, but has not yet written its process ID into the file */
    ck_assert_int_eq(truncate("state/lock", 0), 0);
    expect_no_lock("state", FAB_E_BUSY, "state directory state is in use by another fabricd");
    lock_release(fd);
    lock_release(-1);
    ck_assert_int_eq(lock_take("state", &fd, why, sizeof why), FAB_OK);
    lock_release(fd);
    ck_assert_int_eq(size_of("state/lock"), 0);
}
END_TEST

#define OTHER "; name a directory that can be written with --state-dir"

START_TEST(directories_are_refused_with_the_reason)
{
    char expected[5000], path[4092] = "", why[5000];
    int fd = -1;
    make_file("file");
    ck_assert_int_eq(mkdir("link", 0700), 0);
    ck_assert_int_eq(symlink("/dev/null", "link/lock"), 0);
    expect_no_lock("a/b", FAB_E_NOT_FOUND,
                   "state directory a/b cannot be made: No such file or directory" OTHER);
    expect_no_lock("file", FAB_E_NOT_FOUND,
                   "state directory file cannot be written: Not a directory" OTHER);
    expect_no_lock(
        "link", FAB_E_IO,
        "state directory link cannot be written: Too many levels of symbolic links" OTHER);
    /* makes a path of the lock file with PATH_MAX - 1 bytes, which works, and then one with a byte
     * more, which is refused */
    for (size_t i = 0; i < 4090; i++)
        path[i] = i % 2 == 0 ? '.' : '/';
    ck_assert_int_eq(lock_take(path, &fd, why, sizeof why), FAB_OK);
    lock_release(fd);
    path[4090] = '.';
    snprintf(expected, sizeof expected,
             "state directory %s cannot be used: File name too long" OTHER, path);
    expect_no_lock(path, FAB_E_IO, expected);
}
END_TEST

/* If the test runs as root, it first becomes another user, because root may write to any
 * directory. */
START_TEST(a_directory_of_another_user_is_refused)
{
    const uid_t was = geteuid(), user = was == 0 ? 65534 : was;
    char expected[400];
    ck_assert_int_eq(chmod(".", 0), 0);
    ck_assert_int_eq(seteuid(user), 0);
    snprintf(expected, sizeof expected,
             "state directory state cannot be made: Permission denied; make it writable for user "
             "%u, or name another with --state-dir",
             (unsigned)user);
    expect_no_lock("state", FAB_E_DENIED, expected);
    ck_assert_int_eq(seteuid(was), 0);
    ck_assert_int_eq(chmod(folder, 0700), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *tcase = tcase_create("places");
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, unix_sockets_are_refused_with_the_reason);
    tcase_add_test(tcase, unix_sockets_are_made_and_removed);
    tcase_add_test(tcase, a_socket_of_another_process_stays);
    tcase_add_test(tcase, clients_wait_while_no_descriptor_is_left);
    tcase_add_test(tcase, tls_addresses_are_refused_with_the_reason);
    tcase_add_test(tcase, a_directory_is_locked_once);
    tcase_add_test(tcase, directories_are_refused_with_the_reason);
    tcase_add_test(tcase, a_directory_of_another_user_is_refused);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
