/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives commands from other processes and from standard input. Any user of the machine can
 * connect to an abstract socket, so the server checks the credentials of the peer (SO_PEERCRED). No
 * function blocks: if a peer does not read its answer, the server closes the session. */
#include "cli/sim/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/socket.h"

int commands_open(struct commands *d, const char *base, struct console *console)
{
    struct socket_name name = socket_name(base, SOCKET_COMMANDS);
    *d = (struct commands){.console = console, .listening = -1};
    for (unsigned i = 0; i < COMMANDS_SESSIONS; i++)
        d->sessions[i] = -1;
    d->packet = malloc(COMMANDS_PACKET_MAX);
    d->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->packet == NULL || d->listening < 0 ||
        bind(d->listening, (struct sockaddr *)&name.address, name.len) != 0 ||
        listen(d->listening, COMMANDS_SESSIONS) != 0) {
        fprintf(stderr, "fabsim: the command socket of \"%s\": %s\n", base, strerror(errno));
        return -1;
    }
    return 0;
}

void commands_close(struct commands *d)
{
    if (d->listening >= 0)
        close(d->listening);
    for (unsigned i = 0; i < COMMANDS_SESSIONS; i++)
        if (d->sessions[i] >= 0)
            close(d->sessions[i]);
    free(d->packet);
    d->packet = NULL;
    d->listening = -1;
}

static bool answer(int fd, int code, const char *text, size_t len)
{
    char digit = (char)('0' + code);
    if (len > COMMANDS_PACKET_MAX - 1)
        len = COMMANDS_PACKET_MAX - 1;
    struct iovec parts[2] = {{.iov_base = &digit, .iov_len = 1},
                             {.iov_base = (char *)(uintptr_t)text, .iov_len = len}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void refuse(int fd, const char *why)
{
    (void)answer(fd, CMD_FAILED, why, strlen(why));
    close(fd);
}

int commands_accept(struct commands *d)
{
    int place = 0, fd = accept4(d->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    while (place < COMMANDS_SESSIONS && d->sessions[place] >= 0)
        place++;
    if (place < COMMANDS_SESSIONS && socket_peer_trusted(fd)) {
        d->sessions[place] = fd;
        return place;
    }
    refuse(fd, place < COMMANDS_SESSIONS
                   ? "refused: only the user who runs this simulator, or root, may send commands\n"
                   : "refused: too many connections\n");
    return -1;
}

bool commands_serve(struct commands *d, unsigned session)
{
    struct fab_text out = {0};
    int fd = d->sessions[session];
    ssize_t len = recv(fd, d->packet, COMMANDS_PACKET_MAX, MSG_DONTWAIT | MSG_TRUNC);
    bool stays = len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
    if (len > COMMANDS_PACKET_MAX) {
        refuse(dup(fd), "refused: the commands are too long\n");
        stays = false;
    } else if (len > 0) {
        int code = console_run(d->console, d->packet, (size_t)len, &out);
        stays = answer(fd, code, fab_base_text_get(&out), out.len);
        fab_base_text_fini(&out);
    }
    if (!stays) {
        close(fd);
        d->sessions[session] = -1;
    }
    return stays;
}

/* ---- standard input -------------------------------------------------------------------------- */

void commands_prompt(const struct commands *d)
{
    if (d->at_terminal)
        fputs("fabsim> ", stdout);
    fflush(stdout);
}

static void end_of_line(struct commands *d)
{
    struct fab_text out = {0};
    (void)console_run(d->console, d->line, d->line_len, &out);
    fputs(fab_base_text_get(&out), stdout);
    fab_base_text_fini(&out);
    d->line_len = 0;
}

/* Adds bytes to the current line of standard input. A line that is too long fills the buffer, and
 * its other bytes are dropped; console_run then refuses it. */
static void add_input(struct commands *d, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n')
            end_of_line(d);
        else if (d->line_len < sizeof d->line)
            d->line[d->line_len++] = bytes[i];
    }
}

bool commands_read_input(struct commands *d)
{
    char bytes[1024];
    ssize_t len = read(STDIN_FILENO, bytes, sizeof bytes);
    if (len < 0)
        return errno == EINTR || errno == EAGAIN;
    add_input(d, bytes, (size_t)len);
    if (len == 0 && d->line_len > 0)
        end_of_line(d);
    commands_prompt(d);
    return len > 0;
}
