/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands from outside. Anyone on the machine can reach an abstract socket, so the kernel is asked
 * who it is (SO_PEERCRED). Nothing here waits: a visitor who does not read his answer is put out.
 */
#include "cli/sim/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/socket.h"

int door_open(struct door *d, const char *base, struct console *console)
{
    struct socket_name name = socket_name(base, SOCKET_COMMANDS);
    *d = (struct door){.console = console, .listening = -1};
    for (unsigned i = 0; i < DOOR_VISITORS; i++)
        d->visitors[i] = -1;
    d->packet = malloc(DOOR_PACKET_MAX);
    d->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->packet == NULL || d->listening < 0 ||
        bind(d->listening, (struct sockaddr *)&name.address, name.len) != 0 ||
        listen(d->listening, DOOR_VISITORS) != 0) {
        fprintf(stderr, "fabsim: the socket for commands of \"%s\": %s\n", base, strerror(errno));
        return -1;
    }
    return 0;
}

void door_close(struct door *d)
{
    if (d->listening >= 0)
        close(d->listening);
    for (unsigned i = 0; i < DOOR_VISITORS; i++)
        if (d->visitors[i] >= 0)
            close(d->visitors[i]);
    free(d->packet);
    d->packet = NULL;
    d->listening = -1;
}

static bool answer(int fd, int code, const char *text, size_t len)
{
    char digit = (char)('0' + code);
    if (len > DOOR_PACKET_MAX - 1)
        len = DOOR_PACKET_MAX - 1;
    struct iovec parts[2] = {{.iov_base = &digit, .iov_len = 1},
                             {.iov_base = (char *)(uintptr_t)text, .iov_len = len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void turn_away(int fd, const char *why)
{
    (void)answer(fd, CMD_FAILED, why, strlen(why));
    close(fd);
}

int door_admit(struct door *d)
{
    int place = 0, fd = accept4(d->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    while (place < DOOR_VISITORS && d->visitors[place] >= 0)
        place++;
    if (place < DOOR_VISITORS && socket_peer_trusted(fd)) {
        d->visitors[place] = fd;
        return place;
    }
    turn_away(fd, place < DOOR_VISITORS ? "only the user who runs this simulator, or root, may\n"
                                        : "too many at once\n");
    return -1;
}

bool door_serve(struct door *d, unsigned visitor)
{
    struct fab_text out = {0};
    int fd = d->visitors[visitor];
    ssize_t len = recv(fd, d->packet, DOOR_PACKET_MAX, MSG_DONTWAIT | MSG_TRUNC);
    bool stays = len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
    if (len > DOOR_PACKET_MAX) {
        turn_away(dup(fd), "that is too long\n");
        stays = false;
    } else if (len > 0) {
        int code = console_run(d->console, d->packet, (size_t)len, &out);
        stays = answer(fd, code, fab_text_get(&out), out.len);
        fab_text_fini(&out);
    }
    if (!stays) {
        close(fd);
        d->visitors[visitor] = -1;
    }
    return stays;
}

/* ---- standard input ---------------------------------------------------------------------------
 */

void door_prompt(const struct door *d)
{
    if (d->at_terminal)
        fputs("fabsim> ", stdout);
    fflush(stdout);
}

static void end_of_line(struct door *d)
{
    struct fab_text out = {0};
    (void)console_run(d->console, d->line, d->line_len, &out);
    fputs(fab_text_get(&out), stdout);
    fab_text_fini(&out);
    d->line_len = 0;
}

/* A line that is too long is kept as long as one that console_run complains about. */
static void take(struct door *d, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n')
            end_of_line(d);
        else if (d->line_len < sizeof d->line)
            d->line[d->line_len++] = bytes[i];
    }
}

bool door_read_input(struct door *d)
{
    char bytes[1024];
    ssize_t len = read(STDIN_FILENO, bytes, sizeof bytes);
    if (len < 0)
        return errno == EINTR || errno == EAGAIN;
    take(d, bytes, (size_t)len);
    if (len == 0 && d->line_len > 0)
        end_of_line(d);
    door_prompt(d);
    return len > 0;
}
