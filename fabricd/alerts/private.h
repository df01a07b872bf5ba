/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the alerts. For this folder only. */
#ifndef FABRICD_ALERTS_PRIVATE_H
#define FABRICD_ALERTS_PRIVATE_H

#include <stdatomic.h>

#include "fabricd/alerts/alerts.h"
#include "libfabmgr/base/text.h"

/* ---- body.c ---- */

/* Appends the JSON body of a request with these events to `to`. `lost`: number of lost alerts that
 * no request has reported to the target yet. Any thread may call this function. */
void alerts_body(const struct event *const *events, size_t count, uint64_t lost,
                 struct fab_text *to);

/* ---- webhook.c ---- */

/* the result of a request */
enum webhook_result {
    WEBHOOK_SENT,
    /* the server cannot be reached, or its HTTP status means that it may accept the request
     * later */
    WEBHOOK_RETRY,
    WEBHOOK_REFUSED, /* the server will never accept this request */
};
struct webhook;
/* Prepares the requests to a webhook. A running request ends within about a second after another
 * thread has set *stop. Returns NULL if memory ran out. */
struct webhook *webhook_new(const struct config_alert *config, const atomic_bool *stop);
void webhook_free(struct webhook *w);
/* Sends a request, and waits at most 10 seconds for the answer. If the request fails, why[] has the
 * reason, which does not contain the URL. */
enum webhook_result webhook_send(struct webhook *w, const char *body, size_t len, char *why,
                                 size_t why_len);
/* Initializes libcurl. Call it once, before other threads are started. Returns false on failure. */
bool webhook_init(void);

#endif
