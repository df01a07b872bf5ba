/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of `fabsim serve`. It handles the sockets, batches of datagrams, and the clock of
 * the simulation. The hub interprets the datagrams.
 *
 * When a client connects, the server creates a socket "@BASE:outN@" for this client, and connects
 * it to the client's "@BASE:inPID@". One epoll instance watches all sockets. In one pass, the loop
 * reads at most one batch from each socket, so that a busy client does not starve the others.
 * Answers go into the ring of the client that gets them; the server sends them in batches at the
 * end of the pass. If a client does not read, its ring fills up and the client loses MADs; the
 * server never waits for a client.
 *
 * If the process of a client has ended, the next send to the client fails, and the server removes
 * the client. But the server may have nothing to send to this client. Therefore, in each regular
 * tick, the server also tries to connect a spare socket to the socket name of each client. The
 * kernel refuses this if the process has ended.
 */
#include "cli/sim/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/commands.h"
#include "cli/sim/hub.h"
#include "cli/sim/ring.h"
#include "cli/sim/socket.h"

#define BATCH 64
#define EVENTS 64
#define TICK_NS 250000000l

enum what { CONTROL, PEER, SIGNALS, TICK, ALARM, CONNECTION, SESSION, INPUT };

struct peer {
    int fd;
    uint32_t pid; /* process of the client */
    /* true: the client has unsent datagrams, so it is listed in server.dirty */
    bool dirty;
    /* true: the client's socket accepts no more data; epoll reports when it does again */
    bool blocked;
    struct ring ring;
};
struct server {
    const struct server_settings *settings;
    struct fab_sim *sim;
    int epoll, control, signals, timer, alarm;
    /* began_us: real time at which the server started, in us. alarm_us: simulated time at which the
     * timer `alarm` is set to fire, in us. */
    uint64_t began_us, alarm_us;
    struct hub hub;
    struct console console;
    struct commands commands;
    struct peer peers[HUB_CLIENTS];
    unsigned dirty[HUB_CLIENTS], dirty_count;
    uint8_t batch[BATCH][HUB_PACKET_SIZE];
    struct iovec parts[BATCH];
    struct mmsghdr messages[BATCH];
};

static int watch(const struct server *s, int operation, int fd, uint32_t events, enum what what,
                 unsigned which)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)what << 32 | which};
    return epoll_ctl(s->epoll, operation, fd, &event);
}

static int print_error(const char *what)
{
    fprintf(stderr, "fabsim: %s: %s\n", what, strerror(errno));
    return -1;
}

/* ---- callbacks of the hub -------------------------------------------------------------------- */

/* Returns a non-blocking socket that is bound to the name. Returns -1 with errno on an error. */
static int bound_socket(const struct socket_name *name)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&name->address, name->len) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void report(const struct server *s, unsigned client, const char *what)
{
    if (s->settings->verbose)
        fprintf(stderr, "fabsim: client %u (pid %u) %s\n", client, s->peers[client].pid, what);
}

static bool open_peer(void *context, unsigned client, uint32_t pid)
{
    struct server *s = context;
    struct socket_name ours = socket_name_numbered(s->settings->base, "out", client);
    struct socket_name theirs = socket_name_numbered(s->settings->base, "in", pid);
    int fd = bound_socket(&ours);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&theirs.address, theirs.len) != 0 ||
        watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, PEER, client) != 0) {
        close(fd);
        return false;
    }
    s->peers[client].fd = fd;
    s->peers[client].blocked = false;
    s->peers[client].pid = pid;
    report(s, client, "is connected");
    return true;
}

static void close_peer(void *context, unsigned client)
{
    struct server *s = context;
    close(s->peers[client].fd);
    s->peers[client].fd = -1;
    ring_fini(&s->peers[client].ring);
    report(s, client, "is disconnected");
}

static bool deliver(void *context, unsigned client, const uint8_t packet[HUB_PACKET_SIZE])
{
    struct server *s = context;
    struct peer *p = &s->peers[client];
    if (!ring_put(&p->ring, packet))
        return false;
    if (!p->dirty && !p->blocked) {
        p->dirty = true;
        s->dirty[s->dirty_count++] = client;
    }
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_to(struct server *s, unsigned client)
{
    struct peer *p = &s->peers[client];
    if (p->fd < 0)
        return;
    enum ring_state state = ring_send(&p->ring, p->fd);
    if (state == RING_DEAD) {
        hub_detach(&s->hub, client);
        return;
    }
    bool blocked = state == RING_BLOCKED;
    if (blocked != p->blocked)
        (void)watch(s, EPOLL_CTL_MOD, p->fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, PEER, client);
    p->blocked = blocked;
}

/* Sends the datagrams of all clients, as far as their sockets accept them. This may take several
 * turns: if the process of a client has ended, the server removes the client, which may cause traps
 * for other clients. */
static void send_all(struct server *s)
{
    while (s->dirty_count > 0) {
        unsigned client = s->dirty[--s->dirty_count];
        s->peers[client].dirty = false;
        send_to(s, client);
    }
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void prepare_batch(struct server *s)
{
    for (unsigned i = 0; i < BATCH; i++) {
        s->parts[i] = (struct iovec){.iov_base = s->batch[i], .iov_len = HUB_PACKET_SIZE};
        s->messages[i].msg_hdr = (struct msghdr){.msg_iov = &s->parts[i], .msg_iovlen = 1};
    }
}

static void read_peer(struct server *s, unsigned client)
{
    int fd = s->peers[client].fd;
    int n = fd >= 0 ? recvmmsg(fd, s->messages, BATCH, MSG_DONTWAIT, NULL) : 0;
    for (int i = 0; i < n; i++) {
        bool whole = (s->messages[i].msg_hdr.msg_flags & MSG_TRUNC) == 0;
        hub_packet(&s->hub, client, s->batch[i], whole ? s->messages[i].msg_len : 0);
    }
}

/* Reads at most BATCH control datagrams, so that a flood of them does not delay MADs. */
static void read_control(struct server *s)
{
    for (unsigned i = 0; i < BATCH; i++) {
        uint8_t datagram[HUB_CONTROL_SIZE + 1];
        struct sockaddr_un from;
        socklen_t from_len = sizeof from;
        ssize_t len = recvfrom(s->control, datagram, sizeof datagram, MSG_DONTWAIT,
                               (struct sockaddr *)&from, &from_len);
        if (len < 0)
            return;
        uint32_t pid = socket_name_number(&from, from_len, s->settings->base, "ctl");
        if (pid != 0 && hub_control(&s->hub, pid, datagram, (size_t)len))
            (void)sendto(s->control, datagram, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL,
                         (struct sockaddr *)&from, from_len);
    }
}

/* ---- the clock ------------------------------------------------------------------------------- */

static bool is_dead(const struct server *s, int probe, uint32_t pid)
{
    struct socket_name name = socket_name_numbered(s->settings->base, "in", pid);
    return connect(probe, (struct sockaddr *)&name.address, name.len) != 0 && errno == ECONNREFUSED;
}

static void detach_dead(struct server *s)
{
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    for (unsigned id = 0; probe >= 0 && id < s->hub.top; id++)
        if (s->hub.clients[id].pid != 0 && is_dead(s, probe, s->hub.clients[id].pid))
            hub_detach(&s->hub, id);
    if (probe >= 0)
        close(probe);
}

static void tick(struct server *s)
{
    uint64_t expirations;
    if (read(s->timer, &expirations, sizeof expirations) < 0)
        return;
    detach_dead(s);
    hub_tick(&s->hub, fab_sim_now(s->sim) / 1000);
}

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* Advances the simulation to the present time, and delivers what devices have sent since the last
 * call. */
static void advance(struct server *s)
{
    fab_sim_advance(s->sim, clock_us() - s->began_us);
    hub_collect(&s->hub);
}

/* Sets the timer s->alarm to the time of the next event in the simulation. */
static void set_alarm(struct server *s)
{
    uint64_t due = fab_sim_deadline(s->sim), at = due + s->began_us;
    struct itimerspec when = {0};
    if (due == s->alarm_us)
        return;
    s->alarm_us = due;
    if (due != UINT64_MAX) {
        when.it_value.tv_sec = (time_t)(at / 1000000u);
        when.it_value.tv_nsec = (long)(at % 1000000u) * 1000;
    }
    (void)timerfd_settime(s->alarm, TFD_TIMER_ABSTIME, &when, NULL);
}

static void clear_alarm(struct server *s)
{
    uint64_t expirations;
    if (read(s->alarm, &expirations, sizeof expirations) > 0)
        s->alarm_us = UINT64_MAX;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void accept_session(struct server *s)
{
    int session = commands_accept(&s->commands);
    if (session >= 0)
        (void)watch(s, EPOLL_CTL_ADD, s->commands.sessions[session], EPOLLIN, SESSION,
                    (unsigned)session);
}

static void handle(struct server *s, const struct epoll_event *event)
{
    unsigned which = (unsigned)(event->data.u64 & UINT32_MAX);
    switch ((enum what)(event->data.u64 >> 32)) {
    case CONTROL:
        read_control(s);
        break;
    case PEER:
        if (event->events & EPOLLOUT)
            send_to(s, which);
        if (event->events & ~(uint32_t)EPOLLOUT)
            read_peer(s, which);
        break;
    case SIGNALS:
        s->console.stop = true;
        break;
    case TICK:
        tick(s);
        break;
    case ALARM:
        clear_alarm(s);
        break;
    case CONNECTION:
        accept_session(s);
        break;
    case SESSION:
        if (s->commands.sessions[which] >= 0)
            (void)commands_serve(&s->commands, which);
        break;
    case INPUT:
        if (!commands_read_input(&s->commands))
            (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
        break;
    }
}

static int loop(struct server *s)
{
    struct epoll_event events[EVENTS];
    while (!s->console.stop) {
        int n = epoll_wait(s->epoll, events, EVENTS, -1);
        if (n < 0 && errno != EINTR) {
            print_error("waiting");
            return CMD_FAILED;
        }
        advance(s);
        for (int i = 0; i < n; i++)
            handle(s, &events[i]);
        send_all(s);
        set_alarm(s);
    }
    return CMD_OK;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int open_control(struct server *s)
{
    struct socket_name name = socket_name(s->settings->base, "ctl");
    s->control = bound_socket(&name);
    if (s->control >= 0)
        return watch(s, EPOLL_CTL_ADD, s->control, EPOLLIN, CONTROL, 0);
    if (errno == EADDRINUSE) {
        fprintf(stderr,
                "fabsim: a simulator serves as \"%s\" already; choose another name with --socket\n",
                s->settings->base);
        return -1;
    }
    return print_error("the socket for clients");
}

static int open_signals(struct server *s)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return print_error("signals");
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0 || watch(s, EPOLL_CTL_ADD, s->signals, EPOLLIN, SIGNALS, 0) != 0)
        return print_error("signals");
    return 0;
}

static int open_timer(struct server *s)
{
    struct itimerspec every = {.it_interval.tv_nsec = TICK_NS, .it_value.tv_nsec = TICK_NS};
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->timer < 0 || timerfd_settime(s->timer, 0, &every, NULL) != 0 ||
        watch(s, EPOLL_CTL_ADD, s->timer, EPOLLIN, TICK, 0) != 0)
        return print_error("the clock");
    s->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->alarm < 0 || watch(s, EPOLL_CTL_ADD, s->alarm, EPOLLIN, ALARM, 0) != 0)
        return print_error("the clock");
    s->began_us = clock_us();
    s->alarm_us = UINT64_MAX;
    return 0;
}

/* Opens standard input for commands. If it is a regular file, which epoll cannot watch, reads all
 * of it before the loop starts. */
static int open_input(struct server *s)
{
    if (!s->settings->console)
        return 0;
    s->commands.at_terminal = isatty(STDIN_FILENO);
    if (watch(s, EPOLL_CTL_ADD, STDIN_FILENO, EPOLLIN, INPUT, 0) == 0)
        return 0;
    if (errno != EPERM)
        return print_error("standard input");
    while (commands_read_input(&s->commands)) {
    }
    return 0;
}

static int open_all(struct server *s)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0)
        return print_error("epoll");
    if (open_control(s) != 0 || open_signals(s) != 0 || open_timer(s) != 0 ||
        commands_open(&s->commands, s->settings->base, &s->console) != 0)
        return -1;
    if (watch(s, EPOLL_CTL_ADD, s->commands.listening, EPOLLIN, CONNECTION, 0) != 0)
        return print_error("the socket for commands");
    return open_input(s);
}

static void close_all(struct server *s)
{
    for (unsigned id = HUB_CLIENTS; id-- > 0;)
        hub_detach(&s->hub, id);
    commands_close(&s->commands);
    int fds[] = {s->timer, s->alarm, s->signals, s->control, s->epoll};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void start(struct server *s, struct fab_sim *sim, const struct server_settings *settings)
{
    struct hub_owner owner = {
        .context = s, .open = open_peer, .close = close_peer, .deliver = deliver};
    s->settings = settings;
    s->sim = sim;
    s->epoll = s->control = s->signals = s->timer = s->alarm = s->commands.listening = -1;
    for (unsigned i = 0; i < COMMANDS_SESSIONS; i++)
        s->commands.sessions[i] = -1;
    for (unsigned id = 0; id < HUB_CLIENTS; id++)
        s->peers[id].fd = -1;
    s->console = (struct console){.hub = &s->hub, .name = settings->name};
    hub_init(&s->hub, sim, settings->first_node, &owner);
    prepare_batch(s);
}

int server_run(struct fab_sim *sim, const struct server_settings *settings)
{
    struct server *s = calloc(1, sizeof *s);
    if (s == NULL) {
        print_error("the server");
        return CMD_FAILED;
    }
    start(s, sim, settings);
    int result = CMD_FAILED;
    if (open_all(s) == 0) {
        printf("serving %s as \"%s\"\n", settings->name, settings->base);
        commands_prompt(&s->commands);
        result = loop(s);
    }
    close_all(s);
    free(s);
    return result;
}
