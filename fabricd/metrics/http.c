/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves the metrics with libevent's HTTP server on the loop. The server accepts GET and HEAD
 * requests with at most HEADERS_MOST bytes of headers and no body. It closes a connection if the
 * client sends or receives nothing for TIMEOUT_S.
 *
 * Each request makes a new page (a few KiB), in time proportional to the number of ports in the
 * fabric.
 */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/metrics/metrics.h"
#include "libfabmgr/base/status.h"

#define HEADERS_MOST 8192
#define TIMEOUT_S 5
#define CONTENT "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct metrics {
    struct evhttp *http;
    struct metrics_input in;
};

static void answer(struct evhttp_request *request, const struct fab_text *text)
{
    struct evbuffer *body = evbuffer_new();
    if (!body || text->status != FAB_OK ||
        evbuffer_add(body, fab_base_text_get(text), text->len) != 0) {
        evhttp_send_error(request, HTTP_INTERNAL, NULL);
    } else {
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", CONTENT);
        evhttp_send_reply(request, HTTP_OK, "OK", body);
    }
    if (body)
        evbuffer_free(body);
}

static void on_metrics(struct evhttp_request *request, void *ctx)
{
    const struct metrics *m = ctx;
    struct fab_text text = {0};
    loop_at(m->in.loop, "metrics");
    metrics_page(&m->in, &text);
    answer(request, &text);
    fab_base_text_fini(&text);
}

static int listen_at(struct metrics *m, const struct config_listen *at, char *why, size_t why_len)
{
    const char *host = at->host[0] == '*' ? "::" : at->host;
    if (evhttp_bind_socket_with_handle(m->http, host, at->port))
        return FAB_OK;
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
    struct metrics *m = calloc(1, sizeof(*m));
    if (m)
        m->http = evhttp_new(loop_base(in->loop));
    if (!m || !m->http) {
        snprintf(why, why_len, "out of memory");
        free(m);
        return FAB_E_NOMEM;
    }
    m->in = *in;
    evhttp_set_allowed_methods(m->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(m->http, HEADERS_MOST);
    evhttp_set_max_body_size(m->http, 0);
    evhttp_set_timeout(m->http, TIMEOUT_S);
    int r = evhttp_set_cb(m->http, "/metrics", on_metrics, m) == 0
                ? listen_at(m, &config->metrics, why, why_len)
                : FAB_E_NOMEM;
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
    evhttp_free(m->http);
    free(m);
}
