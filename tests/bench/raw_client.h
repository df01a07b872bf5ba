/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of ibsim's socket protocol without libumad2sim, so that benchmarks measure servers and
 * managers, and not that library. IBSIM_SOCKNAME names the server. The program exits if the server
 * refuses the client. */
#ifndef TESTS_BENCH_RAW_CLIENT_H
#define TESTS_BENCH_RAW_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PACKET 288
#define PACKET_MAD 32 /* offset of the MAD in a datagram */
#define CONTROL 80

struct raw_client {
    int fd, ctl;
    uint32_t id;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void name_socket(struct sockaddr_un *a, socklen_t *len, const char *role, long number)
{
    const char *base = getenv("IBSIM_SOCKNAME");
    char digits[24] = "";
    if (number >= 0)
        snprintf(digits, sizeof digits, "%ld", number);
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%s:%s%s",
                     base != NULL ? base : "sim", role, digits);
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n + 1);
}

static int open_socket(const char *role, long number)
{
    struct sockaddr_un a;
    socklen_t len;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    name_socket(&a, &len, role, number);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0)
        die(role);
    return fd;
}

static void connect_socket(int fd, const char *role, long number)
{
    struct sockaddr_un a;
    socklen_t len;
    name_socket(&a, &len, role, number);
    if (connect(fd, (struct sockaddr *)&a, len) != 0)
        die(role);
}

/* Sends a control request of ibsim's protocol. Returns the first word of the data in the answer.
 * node: name of the node to which the client attaches; NULL: not a connect request. */
static uint32_t control(int fd, uint32_t type, uint32_t id, uint32_t pid, const char *node)
{
    uint32_t words[CONTROL / 4] = {0xdeadbeef, id, type, 44, pid};
    if (node)
        snprintf((char *)words + 28, 32, "%s", node);
    if (send(fd, words, CONTROL, 0) != CONTROL || recv(fd, words, CONTROL, 0) != CONTROL)
        die("control");
    if (words[2] != type) {
        fprintf(stderr, "refused\n");
        exit(1);
    }
    return words[4];
}

static struct raw_client raw_connect(const char *node)
{
    struct raw_client c = {.ctl = open_socket("ctl", getpid())};
    connect_socket(c.ctl, "ctl", -1);
    c.fd = open_socket("in", getpid());
    c.id = control(c.ctl, 1, 0, (uint32_t)getpid(), node);
    connect_socket(c.fd, "out", (long)c.id);
    return c;
}

static void raw_leave(const struct raw_client *c)
{
    (void)control(c->ctl, 2, c->id, 0, NULL);
}

#endif
