/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves the metrics over HTTP/1.1 on the loop. A connection carries one GET or HEAD request with
 * at most HEADERS_MOST bytes of headers. The server closes a connection on which no byte was sent
 * or received for TIMEOUT_S, or for PAGE_TIMEOUT_S once the request was read. At most CLIENTS_MOST
 * clients are connected. If one more client connects, the server closes the oldest connection,
 * because a client that reads the page needs its connection only for a short time. (libevent's own
 * HTTP server does not limit connections.)
 *
 * maker.c makes the pages. Clients that asked for a page at the same time share one copy in memory.
 * At most PAGES_MOST finished pages are in memory. When one more page is finished, the server
 * closes the connections of the clients that read the oldest page.
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
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/metrics/private.h"
#include "libfabmgr/base/status.h"

#define HEADERS_MOST 8192
#define TIMEOUT_S 5
#define PAGE_TIMEOUT_S 30
#define CLIENTS_MOST 32
#define REST_US 1000000
#define PAGES_MOST 4

struct client {
    TAILQ_ENTRY(client) entry;
    struct metrics *metrics;
    struct bufferevent *bev;
    bool asked;    /* true: the request has been read; later bytes from the client are dropped */
    bool answered; /* true: the answer is in the output buffer */
    bool head;     /* true: the method is HEAD, so the answer has no body */
    /* number of the job (page_maker_want) that makes, or has made, the page of this client; 0: none
     */
    uint64_t job;
};

struct metrics {
    struct metrics_input in;
    struct evconnlistener *listener;
    struct page_maker *maker;
    struct loop_timer *rest;
    TAILQ_HEAD(, client) clients; /* the connected clients, oldest first */
    unsigned client_count;
};

/* ---- requests -------------------------------------------------------------------------------- */

enum answer {
    ANSWER_PAGE,
    ANSWER_NOT_FOUND,
    ANSWER_NO_METHOD,
    ANSWER_MALFORMED,
    ANSWER_BAD_QUERY,
    ANSWER_NOT_ACCEPTABLE,
    ANSWER_NO_MEMORY
};
static const struct {
    const char *status, *body;
} answers[] = {
    [ANSWER_PAGE] = {"200 OK", NULL},
    [ANSWER_NOT_FOUND] = {"404 Not Found", "not found: the metrics are at /metrics\n"},
    [ANSWER_NO_METHOD] = {"501 Not Implemented", "not supported: use GET or HEAD\n"},
    [ANSWER_MALFORMED] = {"400 Bad Request", "the request is not HTTP/1.1, or it is too long\n"},
    [ANSWER_BAD_QUERY] = {"400 Bad Request",
                          "the parameters are names=own, treydock or guilbaults, and "
                          "collect[]=manager or ports\n"},
    [ANSWER_NOT_ACCEPTABLE] = {"406 Not Acceptable",
                               "the metrics have the types application/openmetrics-text;"
                               "version=1.0.0 and text/plain;version=0.0.4\n"},
    [ANSWER_NO_MEMORY] = {"500 Internal Server Error", "the manager is out of memory\n"},
};

/* a request line, "GET /metrics?names=own HTTP/1.1" */
struct request_line {
    char method[16], target[512], version[16];
};

/* Reads the request line. *ret_query is the part of the target after "?", or "". */
static enum answer read_line(const char *line, struct request_line *ret, const char **ret_query,
                             bool *ret_head)
{
    int end = 0;
    if (line == NULL ||
        sscanf(line, "%15s %511s %15s%n", ret->method, ret->target, ret->version, &end) != 3 ||
        line[end] != '\0' || strncmp(ret->version, "HTTP/1.", 7) != 0)
        return ANSWER_MALFORMED;
    *ret_head = strcmp(ret->method, "HEAD") == 0;
    if (!*ret_head && strcmp(ret->method, "GET") != 0)
        return ANSWER_NO_METHOD;
    char *query = strchr(ret->target, '?');
    if (query != NULL)
        *query++ = '\0';
    *ret_query = query != NULL ? query : "";
    return strcmp(ret->target, "/metrics") == 0 ? ANSWER_PAGE : ANSWER_NOT_FOUND;
}

/* Reads the header lines. Joins the values of all Accept headers with commas. */
static void read_accept(struct evbuffer *in, struct fab_text *ret)
{
    char *line;
    while ((line = evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF)) != NULL && line[0] != '\0') {
        if (strncasecmp(line, "accept:", 7) == 0)
            fab_base_text_addf(ret, "%s%s", ret->len > 0 ? "," : "", line + 7);
        free(line);
    }
    free(line);
}

/* Reads the request. complete: true: the empty line that ends the headers was received. */
static enum answer read_request(struct client *c, bool complete, struct metrics_form *ret)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    char *line = complete ? evbuffer_readln(in, NULL, EVBUFFER_EOL_CRLF) : NULL;
    const char *query = "";
    struct request_line request;
    struct fab_text accept = {0};
    enum answer a = read_line(line, &request, &query, &c->head);
    if (a == ANSWER_PAGE) {
        read_accept(in, &accept);
        enum metrics_choice choice = metrics_form_choose(query, fab_base_text_get(&accept),
                                                         c->metrics->in.config->metrics.names, ret);
        a = choice == METRICS_BAD_QUERY        ? ANSWER_BAD_QUERY
            : choice == METRICS_NOT_ACCEPTABLE ? ANSWER_NOT_ACCEPTABLE
                                               : ANSWER_PAGE;
    }
    fab_base_text_fini(&accept);
    free(line);
    return a;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void send_head(const struct client *c, enum answer a, const char *type, size_t len)
{
    evbuffer_add_printf(bufferevent_get_output(c->bev),
                        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "Vary: Accept\r\nConnection: close\r\n\r\n",
                        answers[a].status, type, len);
}

static void send_text(struct client *c, enum answer a)
{
    c->answered = true;
    c->job = 0;
    send_head(c, a, "text/plain; charset=utf-8", strlen(answers[a].body));
    if (!c->head)
        evbuffer_add(bufferevent_get_output(c->bev), answers[a].body, strlen(answers[a].body));
}

static void on_sent(const void *data, size_t len, void *ctx)
{
    (void)data, (void)len;
    page_buffer_unref(ctx);
}

static void send_page(struct client *c, struct page_buffer *page)
{
    c->answered = true;
    send_head(c, ANSWER_PAGE, metrics_content_type(page->format), page->text.len);
    if (c->head)
        return;
    page->refs++;
    if (evbuffer_add_reference(bufferevent_get_output(c->bev), fab_base_text_get(&page->text),
                               page->text.len, on_sent, page) < 0)
        page_buffer_unref(page);
}

static void answer(struct client *c, bool complete)
{
    static const struct timeval timeout = {PAGE_TIMEOUT_S, 0};
    struct metrics_form form;
    enum answer a = read_request(c, complete, &form);
    c->asked = true;
    bufferevent_set_timeouts(c->bev, &timeout, &timeout);
    if (a == ANSWER_PAGE)
        c->job = page_maker_want(c->metrics->maker, &form);
    if (a == ANSWER_PAGE && c->job == 0)
        a = ANSWER_NO_MEMORY;
    if (a != ANSWER_PAGE)
        send_text(c, a);
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
    loop_at(c->metrics->in.loop, "metrics");
    bool complete = evbuffer_search(in, "\r\n\r\n", 4, NULL).pos >= 0;
    if (!c->asked && (complete || evbuffer_get_length(in) >= HEADERS_MOST))
        answer(c, complete);
    if (c->asked)
        evbuffer_drain(in, evbuffer_get_length(in));
}

/* Returns true if the server is sending a page to the client. */
static bool is_reading(const struct client *c)
{
    return c->answered && !c->head && c->job != 0;
}

/* Returns true if an earlier client in the list is reading the same page. If so, the page is
 * counted already. */
static bool is_shared_before(const struct metrics *m, const struct client *c)
{
    const struct client *o;
    TAILQ_FOREACH (o, &m->clients, entry) {
        if (o == c)
            return false;
        if (is_reading(o) && o->job == c->job)
            return true;
    }
    return false;
}

/* If PAGES_MOST pages are being read, closes the connections of all clients that read the oldest of
 * these pages. */
static void close_oldest(struct metrics *m)
{
    struct client *c, *next;
    uint64_t oldest = UINT64_MAX;
    unsigned pages = 0;
    TAILQ_FOREACH (c, &m->clients, entry) {
        if (!is_reading(c) || is_shared_before(m, c))
            continue;
        oldest = c->job < oldest ? c->job : oldest;
        pages++;
    }
    for (c = TAILQ_FIRST(&m->clients); pages >= PAGES_MOST && c; c = next) {
        next = TAILQ_NEXT(c, entry);
        if (is_reading(c) && c->job == oldest)
            client_close(c);
    }
}

/* Called when a page is finished, or when there was not enough memory for it (page == NULL).
 * Answers the clients that wait for this page. */
static void on_page(void *ctx, uint64_t job, struct page_buffer *page)
{
    struct metrics *m = ctx;
    struct client *c;
    close_oldest(m);
    TAILQ_FOREACH (c, &m->clients, entry) {
        if (c->answered || c->job != job)
            continue;
        if (page)
            send_page(c, page);
        else
            send_text(c, ANSWER_NO_MEMORY);
    }
}

/* Called when all bytes of the answer are sent. Closes only the server's direction of the
 * connection; the connection ends when the client closes it. If the server closed both directions
 * while bytes of the client are on their way, the client could lose the answer. */
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
    if (!config->metrics.listen.text)
        return FAB_OK;
    snprintf(why, why_len, "out of memory");
    struct metrics *m = calloc(1, sizeof(*m));
    if (!m)
        return FAB_E_NOMEM;
    m->in = *in;
    TAILQ_INIT(&m->clients);
    m->rest = loop_timer_new(in->loop, on_rested, m);
    m->maker = page_maker_new(in, on_page, m);
    int r =
        !m->rest || !m->maker ? FAB_E_NOMEM : listen_at(m, &config->metrics.listen, why, why_len);
    if (r != FAB_OK) {
        metrics_stop(m);
        return r;
    }
    log_info("metrics", "serving http://%s/metrics", config->metrics.listen.text);
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
    page_maker_free(m->maker);
    loop_timer_free(m->rest);
    free(m);
}
