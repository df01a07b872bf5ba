/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a request of a webhook with libcurl, on the thread of its target. Redirects are not
 * followed, so that alerts only go to the configured host. The message about a failure never
 * contains the URL, because the URL may contain a secret; the messages of libcurl contain only
 * names of hosts.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/alerts/private.h"
#include "libfabmgr/base/version.h"

#define CONNECT_MS 5000L
#define REQUEST_MS 10000L
/* number of bytes of an answer after which the request ends */
#define ANSWER_MOST 65536

struct webhook {
    const struct config_alert *config;
    const atomic_bool *stop;
    CURL *curl;
    struct curl_slist *headers;
    size_t answered; /* number of bytes of the answer that were read */
};

bool webhook_init(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* Counts the bytes of the answer, which nobody needs, and drops them. An answer that is too long
 * ends the request. */
static size_t on_answer(char *bytes, size_t size, size_t count, void *ctx)
{
    struct webhook *w = ctx;
    (void)bytes;
    w->answered += size * count;
    return w->answered <= ANSWER_MOST ? size * count : 0;
}

/* libcurl calls this function about once a second. It ends the request if another thread has set
 * *stop. */
static int on_progress(void *ctx, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    const struct webhook *w = ctx;
    (void)down_all, (void)down, (void)up_all, (void)up;
    return atomic_load(w->stop);
}

static void set_options(struct webhook *w)
{
    CURL *c = w->curl;
    curl_easy_setopt(c, CURLOPT_URL, w->config->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, REQUEST_MS);
    curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (w->config->ca)
        curl_easy_setopt(c, CURLOPT_CAINFO, w->config->ca);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, w->headers);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, w);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, w);
}

static bool add_header(struct webhook *w, const char *line)
{
    struct curl_slist *longer = curl_slist_append(w->headers, line);
    if (longer)
        w->headers = longer;
    return longer != NULL;
}

struct webhook *webhook_new(const struct config_alert *config, const atomic_bool *stop)
{
    char agent[64];
    struct webhook *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    *w = (struct webhook){.config = config, .stop = stop, .curl = curl_easy_init()};
    snprintf(agent, sizeof(agent), "User-Agent: fabricd/%s", fab_base_version());
    if (!w->curl || !add_header(w, "Content-Type: application/json") || !add_header(w, agent) ||
        !add_header(w, "Expect:")) {
        webhook_free(w);
        return NULL;
    }
    set_options(w);
    return w;
}

void webhook_free(struct webhook *w)
{
    if (!w)
        return;
    curl_easy_cleanup(w->curl);
    curl_slist_free_all(w->headers);
    free(w);
}

static enum webhook_result judge(long status, char *why, size_t why_len)
{
    if (status >= 200 && status < 300)
        return WEBHOOK_SENT;
    snprintf(why, why_len, "the server answered with the HTTP status %ld", status);
    bool refused = status >= 400 && status < 500 && status != 401 && status != 403 &&
                   status != 404 && status != 408 && status != 429;
    return refused ? WEBHOOK_REFUSED : WEBHOOK_RETRY;
}

enum webhook_result webhook_send(struct webhook *w, const char *body, size_t len, char *why,
                                 size_t why_len)
{
    long status = 0;
    w->answered = 0;
    curl_easy_setopt(w->curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(w->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    CURLcode code = curl_easy_perform(w->curl);
    curl_easy_getinfo(w->curl, CURLINFO_RESPONSE_CODE, &status);
    /* The HTTP status counts even if the request ended because the answer was too long. */
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status != 0))
        return judge(status, why, why_len);
    snprintf(why, why_len, "%s", curl_easy_strerror(code));
    return WEBHOOK_RETRY;
}
