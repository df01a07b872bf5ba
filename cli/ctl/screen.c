/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* ENTER changes to the alternate screen and hides the cursor; LEAVE undoes both */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t is_open, resized;

static void put(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR)
            return; /* a terminal that is gone is reported by the next read of a key */
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* Changes to the alternate screen, and lets single keys be read. A signal handler calls this
 * function, so it calls only functions that are safe in signal handlers. */
static void enter(void)
{
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put(ENTER, sizeof ENTER - 1);
}

static void leave(void)
{
    put(LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void on_resize(int signal)
{
    (void)signal;
    resized = 1;
}

/* Handles a signal that ends the program: restores the terminal, and raises the signal again
 * without a handler. */
static void on_end(int number)
{
    if (is_open)
        leave();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_suspend(int number)
{
    int error = errno;
    (void)number;
    if (is_open)
        leave();
    raise(SIGSTOP);
    if (is_open)
        enter(); /* the user has continued the program */
    resized = 1;
    errno = error;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler};
    sigemptyset(&a.sa_mask);
    sigaction(number, &a, NULL);
}

bool screen_is_possible(void)
{
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != NULL && term[0] != '\0' &&
           strcmp(term, "dumb") != 0;
}

bool screen_open(void)
{
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return false;
    handle(SIGWINCH, on_resize);
    handle(SIGTSTP, on_suspend);
    handle(SIGINT, on_end);
    handle(SIGTERM, on_end);
    handle(SIGHUP, on_end);
    is_open = 1;
    enter();
    return true;
}

void screen_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    leave();
}

void screen_size(unsigned *ret_width, unsigned *ret_height)
{
    struct winsize size = {0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_width = size.ws_col > 0 ? size.ws_col : 80;
    *ret_height = size.ws_row > 0 ? size.ws_row : 24;
}

void screen_show(const char *text, size_t len)
{
    put("\033[H", 3);
    put(text, len);
    put("\033[J", 3);
}

int screen_key(int timeout_ms)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned char key;
    int ready = resized ? -1 : poll(&p, 1, timeout_ms);
    if (resized) {
        resized = 0;
        return SCREEN_RESIZED;
    }
    if (ready <= 0)
        return SCREEN_TIMEOUT;
    ssize_t n = read(STDIN_FILENO, &key, 1);
    return n == 1 ? key : n < 0 && errno == EINTR ? SCREEN_TIMEOUT : SCREEN_ENDED;
}
