/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A preload library, to be listed before libumad2sim. It makes a simulator that was killed and
 * started again look like an adapter that was removed and plugged in again. Without it, libumad2sim
 * connects to the simulator only once in the life of a process. With it, each time that the program
 * opens the umad device again, the sockets of libumad2sim are connected again. If there is no
 * simulator, the open fails with ENODEV.
 *
 * The structs are laid out as in libumad2sim 0.10 (struct sim_client, struct sim_ctl).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct sim_client {
    int id, in, out, ctl;
};
#define MAGIC 0xdeadbeef
#define CONNECT 1
#define CONTROL_SIZE 80

static struct sim_client *client;
static int fresh; /* 1: libumad2sim has just connected to the simulator itself */

/* A function of libumad2sim, which it calls once. */
int sim_client_init(struct sim_client *c);
int sim_client_init(struct sim_client *c)
{
    int (*real)(struct sim_client *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "sim_client_init");
    int r = real(c);
    client = c;
    fresh = 1;
    return r;
}

static int connect_to(int fd, const char *role, const char *number)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s:%s%s", getenv("IBSIM_SOCKNAME"),
                     role, number);
    return connect(fd, (struct sockaddr *)&a,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)n));
}

static int reconnect(struct sim_client *c)
{
    uint32_t words[CONTROL_SIZE / 4] = {MAGIC, 0, CONNECT, 44, (uint32_t)getpid()};
    const char *host = getenv("SIM_HOST");
    char number[16];
    snprintf((char *)words + 28, 32, "%s", host != NULL ? host : "");
    if (connect_to(c->ctl, "ctl", "") != 0 || send(c->ctl, words, sizeof words, 0) < 0 ||
        recv(c->ctl, words, sizeof words, 0) < 0 || words[2] != CONNECT)
        return -1;
    c->id = (int)words[4];
    snprintf(number, sizeof number, "%d", c->id);
    return connect_to(c->in, "out", number);
}

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (client != NULL && strstr(path, "/umad") != NULL && strncmp(path, "/dev/", 5) == 0) {
        if (!fresh && reconnect(client) != 0) {
            errno = ENODEV;
            return -1;
        }
        fresh = 0;
    }
    return real(path, flags, mode);
}
