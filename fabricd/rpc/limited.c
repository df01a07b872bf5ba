/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs the clients that meet a limit. */
#include "fabricd/rpc/limited.h"

#include <inttypes.h>
#include <stdio.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/rpc/limits.h"

static const char *const texts[CALL_LIMITS] = {
    [CALL_LIMIT_HANDSHAKE_TIME] = "the handshake was not complete after 10 s",
    [CALL_LIMIT_REQUEST_TIME] = "the headers of a request were not complete after 30 s",
    [CALL_LIMIT_FRAMES] = "the client sends too many HTTP/2 frames (ENHANCE_YOUR_CALM)",
    [CALL_LIMIT_HANDSHAKES] = "too many TLS handshakes are pending, most of them from its address",
    [CALL_LIMIT_CONNECTIONS] = "too many connections are open, and this client has most of them",
    [CALL_LIMIT_DESCRIPTORS] =
        "no file descriptor is left for another client; raise LimitNOFILE= of the unit",
    [CALL_LIMIT_RATE] = "its address opens too many connections a second",
    [CALL_LIMIT_CALLS] = "it has too many calls in progress",
};

void limited_note(struct limited *l, enum call_limit limit, const char *who)
{
    uint64_t now = clock_now_us(), earlier = l->of[limit].since;
    char more[64] = "";
    if (l->counts != NULL)
        l->counts->limited[limit]++;
    if (l->of[limit].told_us != 0 && now - l->of[limit].told_us < RPC_TELL_US) {
        l->of[limit].since++;
        return;
    }
    if (earlier > 0)
        snprintf(more, sizeof more, "; %" PRIu64 " more since the last such message", earlier);
    log_warning("rpc", "a %s of %s ends: %s%s", limit == CALL_LIMIT_CALLS ? "call" : "connection",
                who, texts[limit], more);
    l->of[limit].told_us = now;
    l->of[limit].since = 0;
}
