/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command fabsim ctl COMMAND. It sends a command, such as a fault, to `fabsim serve`, whose
 * console.c carries it out.
 *
 * Without COMMAND, it sends all lines of standard input in one packet, so that all faults in these
 * lines happen at the same time.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/commands.h"
#include "cli/sim/socket.h"
#include "libfabmgr/base/text.h"

/* maximum time in s to wait for an answer */
#define PATIENCE_S 30

/* Connects to `fabsim serve` and returns the socket. If this fails, prints the reason and returns
 * -1. */
static int reach(const char *base)
{
    struct socket_name name = socket_name(base, SOCKET_COMMANDS);
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        connect(fd, (struct sockaddr *)&name.address, name.len) == 0) {
        if (socket_peer_trusted(fd))
            return fd;
        fprintf(stderr, "fabsim: the simulator \"%s\" belongs to another user\n", base);
    } else if (errno == ECONNREFUSED) {
        fprintf(stderr,
                "fabsim: no simulator serves as \"%s\"; start one with fabsim serve FILE --socket "
                "NAME\n",
                base);
    } else {
        fprintf(stderr, "fabsim: cannot reach \"%s\": %s\n", base, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Prints an answer of the server. Returns the exit code, which is the first character of the
 * answer. */
static int print_answer(const char *answer, size_t len)
{
    int code = answer[0] - '0';
    if (code == CMD_OK)
        fwrite(answer + 1, 1, len - 1, stdout);
    else
        fprintf(stderr, "fabsim: %.*s", (int)(len - 1), answer + 1);
    return code;
}

static int ask(int fd, const char *text, size_t len, char *answer)
{
    if (len == 0)
        return CMD_OK;
    if (len > COMMANDS_PACKET_MAX) {
        fprintf(stderr, "fabsim: the commands are too long, at most %d bytes\n",
                COMMANDS_PACKET_MAX);
        return CMD_FAILED;
    }
    ssize_t got = -1;
    if (send(fd, text, len, MSG_NOSIGNAL) >= 0 || errno == EPIPE)
        got = recv(fd, answer, COMMANDS_PACKET_MAX, 0);
    /* A server that refuses the client resets the connection. Its answer, which has the reason, can
     * still be read. */
    if (got < 0 && errno == ECONNRESET)
        got = recv(fd, answer, COMMANDS_PACKET_MAX, 0);
    if (got > 0)
        return print_answer(answer, (size_t)got);
    fprintf(stderr, "fabsim: the simulator does not answer%s%s\n", got < 0 ? ": " : "",
            got < 0 ? strerror(errno) : "");
    return CMD_FAILED;
}

static int talk(const char *base, const char *text, size_t len)
{
    char *answer = malloc(COMMANDS_PACKET_MAX);
    int fd = answer != NULL ? reach(base) : -1, result = CMD_FAILED;
    if (answer == NULL)
        fprintf(stderr, "fabsim: %s\n", strerror(ENOMEM));
    if (fd >= 0) {
        result = ask(fd, text, len, answer);
        close(fd);
    }
    free(answer);
    return result;
}

static int send_words(const char *base, int count, char **words)
{
    struct fab_text line = {0};
    for (int i = 0; i < count; i++) {
        fab_base_text_add(&line, i > 0 ? " " : "");
        fab_base_text_add(&line, words[i]);
    }
    int result = CMD_FAILED;
    if (line.status == 0)
        result = talk(base, fab_base_text_get(&line), line.len);
    else
        fprintf(stderr, "fabsim: %s\n", strerror(ENOMEM));
    fab_base_text_fini(&line);
    return result;
}

static int send_input(const char *base)
{
    char *text;
    size_t len;
    if (file_read("-", &text, &len) != 0)
        return CMD_FAILED;
    int result = talk(base, text, len);
    free(text);
    return result;
}

static void print_commands(FILE *file)
{
    struct fab_text help = {0};
    console_help(&help);
    fprintf(file, "commands:\n%s", fab_base_text_get(&help));
    fab_base_text_fini(&help);
}

static int print_usage(const struct cmd *cmd)
{
    (void)cmd_usage(cmd);
    print_commands(stderr);
    return CMD_USAGE;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    static const struct option options[] = {{"socket", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    const char *base = socket_base();
    for (int c; (c = getopt_long(argc, argv, "+s:", options, NULL)) != -1;) {
        if (c != 's')
            return cmd_usage(cmd);
        base = optarg;
    }
    if (!socket_base_check(base))
        return CMD_USAGE;
    if (optind < argc)
        return send_words(base, argc - optind, argv + optind);
    return isatty(STDIN_FILENO) ? print_usage(cmd) : send_input(base);
}

const struct cmd cmd_ctl = {
    .name = "ctl",
    .usage = "[--socket NAME] COMMAND [ARGUMENT...]\n"
             "[--socket NAME] <COMMANDS",
    .summary = "sends a command, such as a fault, to fabsim serve; without one, the lines of "
               "standard input",
    .help = print_commands,
    .run = run,
};
