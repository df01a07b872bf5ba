/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves the metrics over HTTP/1.1 on the loop: one GET or HEAD request for each connection, with
 * at most HEADERS_MOST bytes of headers. The server closes a connection if the client sends or
 * receives nothing for TIMEOUT_S. At most CLIENTS_MOST clients are connected. If one more connects,
 * the oldest connection is closed, because a client that reads the page needs it only for
 * milliseconds. (libevent's own HTTP server does not limit connections.)
 *
 * Each request makes a new page (a few KiB), in time proportional to the number of ports in the
 * fabric.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/metrics/metrics.h"
#include "libfabmgr/base/status.h"

#define HEADERS_MOST 8192
#define TIMEOUT_S 5
#define CLIENTS_MOST 32
#define REST_US 1000000

struct client {
    TAILQ_ENTRY(client) entry;
    struct metrics *metrics;
    struct bufferevent *bev;
    bool answered; /* true: the request was answered; further bytes of the client are ignored */
};

struct metrics {
    struct metrics_input in;
    struct evconnlistener *listener;
    struct loop_timer *rest;
    TAILQ_HEAD(, client) clients; /* oldest first */
    unsigned client_count;
};

/* ---- requests -------------------------------------------------------------------------------- */

enum answer { ANSWER_PAGE, ANSWER_NOT_FOUND, ANSWER_NO_METHOD, ANSWER_MALFORMED, ANSWER_NO_MEMORY };
static const struct {
    const char *status, *body;
} answers[] = {
    [ANSWER_PAGE] = {"200 OK", NULL},
    [ANSWER_NOT_FOUND] = {"404 Not Found", "not found: the metrics are at /metrics\n"},
    [ANSWER_NO_METHOD] = {"501 Not Implemented", "not supported: use GET or HEAD\n"},
    [ANSWER_MALFORMED] = {"400 Bad Request", "the request is not HTTP/1.1, or it is too long\n"},
    [ANSWER_NO_MEMORY] = {"500 Internal Server Error", "the manager is out of memory\n"},
};

/* Reads the request line, "GET /metrics HTTP/1.1". */
static enum answer choose(const char *line, bool *ret_head)
{
    char method[16], target[256], version[16];
    int end = 0;
    if (line == NULL || sscanf(line, "%15s %255s %15s%n", method, target, version, &end) != 3 ||
        line[end] != '\0' || strncmp(version, "HTTP/1.", 7) != 0)
        return ANSWER_MALFORMED;
    *ret_head = strcmp(method, "HEAD") == 0;
    if (!*ret_head && strcmp(method, "GET") != 0)
        return ANSWER_NO_METHOD;
    target[strcspn(target, "?")] = '\0';
    return strcmp(target, "/metrics") == 0 ? ANSWER_PAGE : ANSWER_NOT_FOUND;
}

static void send_answer(struct client *c, enum answer a, const char *type, const char *body,
                        size_t len, bool head)
{
    struct evbuffer *out = bufferevent_get_output(c->bev);
    evbuffer_add_printf(out,
                        "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n",
                        answers[a].status, type, len);
    if (!head)
        evbuffer_add(out, body, len);
}

static void answer(struct client *c, enum answer a, bool head)
{
    struct fab_text page = {0};
    c->answered = true;
    if (a == ANSWER_PAGE) {
        metrics_page(&c->metrics->in, &page);
        a = page.status == FAB_OK ? ANSWER_PAGE : ANSWER_NO_MEMORY;
    }
    if (a == ANSWER_PAGE)
        send_answer(c, a, "application/openmetrics-text; version=1.0.0", fab_base_text_get(&page),
                    page.len, head);
    else
        send_answer(c, a, "text/plain", answers[a].body, strlen(answers[a].body), head);
    fab_base_text_fini(&page);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void client_close(struct client *c)
{
    TAILQ_REMOVE(&c->metrics->clients, c, entry);
    c->metrics->client_count--;
    bufferevent_free(c->bev);
    free(c);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
    struct client *c = ctx;
    struct evbuffer *in = bufferevent_get_input(bev);
    bool head = false;
    loop_at(c->metrics->in.loop, "metrics");
    bool complete = evbuffer_search(in, "\r\n\r\n", 4, NULL).pos >= 0;
    if (!c->answered && (complete || evbuffer_get_length(in) >= HEADERS_MOST)) {
        char *line = complete ? evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF) : NULL;
        enum answer a = choose(line, &head);
        free(line);
        answer(c, a, head);
    }
    if (c->answered)
        evbuffer_drain(in, evbuffer_get_length(in));
}

/* All bytes are sent. The server waits until the client closes the connection: if the server closed
 * it while bytes of the client are on their way, the answer could be lost. */
static void on_write(struct bufferevent *bev, void *ctx)
{
    const struct client *c = ctx;
    if (c->answered)
        shutdown(bufferevent_getfd(bev), SHUT_WR);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
    (void)bev, (void)what;
    client_close(ctx);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int len, void *ctx)
{
    (void)from, (void)len;
    static const struct timeval timeout = {TIMEOUT_S, 0};
    struct metrics *m = ctx;
    if (m->client_count >= CLIENTS_MOST)
        client_close(TAILQ_FIRST(&m->clients));
    struct client *c = calloc(1, sizeof(*c));
    struct bufferevent *bev =
        c ? bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE)
          : NULL;
    if (!bev) {
        free(c);
        close(fd);
        return;
    }
    *c = (struct client){.metrics = m, .bev = bev};
    TAILQ_INSERT_TAIL(&m->clients, c, entry);
    m->client_count++;
    bufferevent_setcb(bev, on_read, on_write, on_event, c);
    bufferevent_setwatermark(bev, EV_READ, 0, HEADERS_MOST);
    bufferevent_set_timeouts(bev, &timeout, &timeout);
    if (bufferevent_enable(bev, EV_READ | EV_WRITE) < 0)
        client_close(c);
}

static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
    struct metrics *m = ctx;
    log_warning("metrics", "no client can be accepted: %s; trying again in a second",
                strerror(errno));
    evconnlistener_disable(listener);
    loop_timer_set(m->rest, REST_US);
}

static void on_rested(void *ctx)
{
    const struct metrics *m = ctx;
    evconnlistener_enable(m->listener);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static struct evconnlistener *listen_first(struct metrics *m, const struct addrinfo *list)
{
    struct evconnlistener *l = NULL;
    for (const struct addrinfo *a = list; a && !l; a = a->ai_next)
        l = evconnlistener_new_bind(loop_base(m->in.loop), on_accept, m,
                                    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC |
                                        LEV_OPT_REUSEABLE,
                                    128, a->ai_addr, (int)a->ai_addrlen);
    return l;
}

static int listen_at(struct metrics *m, const struct config_listen *at, char *why, size_t why_len)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    char port[8];
    snprintf(port, sizeof(port), "%u", at->port);
    if (getaddrinfo(at->host[0] == '*' ? "::" : at->host, port, &hints, &list) == 0) {
        m->listener = listen_first(m, list);
        freeaddrinfo(list);
    }
    if (m->listener) {
        evconnlistener_set_error_cb(m->listener, on_accept_error);
        return FAB_OK;
    }
    snprintf(why, why_len,
             "metrics: cannot listen at %.200s; is it an address of this host, and free?",
             at->text);
    return FAB_E_IO;
}

int metrics_start(const struct metrics_input *in, struct metrics **ret, char *why, size_t why_len)
{
    const struct config *config = in->config;
    *ret = NULL;
    if (!config->metrics.text)
        return FAB_OK;
    snprintf(why, why_len, "out of memory");
    struct metrics *m = calloc(1, sizeof(*m));
    if (!m)
        return FAB_E_NOMEM;
    m->in = *in;
    TAILQ_INIT(&m->clients);
    m->rest = loop_timer_new(in->loop, on_rested, m);
    int r = !m->rest ? FAB_E_NOMEM : listen_at(m, &config->metrics, why, why_len);
    if (r != FAB_OK) {
        metrics_stop(m);
        return r;
    }
    log_info("metrics", "serving http://%s/metrics", config->metrics.text);
    *ret = m;
    return FAB_OK;
}

void metrics_stop(struct metrics *m)
{
    if (!m)
        return;
    while (!TAILQ_EMPTY(&m->clients))
        client_close(TAILQ_FIRST(&m->clients));
    if (m->listener)
        evconnlistener_free(m->listener);
    loop_timer_free(m->rest);
    free(m);
}
