/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks once a minute which TLS files expire soon or have expired. For each file, emits one event
 * when operators must be warned, and one event when the file has expired. */
#include "fabricd/rpc/expiry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "libfabmgr/base/expiry.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define LOOK_US 60000000

enum stage { STAGE_VALID, STAGE_EXPIRING, STAGE_EXPIRED };

struct expiry {
    struct bus *bus;
    struct loop_timer *timer;
    /* a copy of the expiry times for the metrics; NULL: nobody needs it */
    struct tls_expiry *shared;
    struct tls_expiry times;
    char *path[TLS_FILES];
    /* [file] the stage that the last event reported for the file; STAGE_VALID: no event was
     * emitted */
    enum stage told[TLS_FILES];
};

static const char *const settings[TLS_FILES] = {"tls.cert", "tls.ca", "tls.crl"};

static int64_t now_s(void)
{
    return clock_unix_us() / 1000000;
}

static enum stage stage_of(const struct expiry *e, enum tls_file f, int64_t now)
{
    if (e->times.file[f].at_s == 0 || now < e->times.file[f].warn_s)
        return STAGE_VALID;
    return now < e->times.file[f].at_s ? STAGE_EXPIRING : STAGE_EXPIRED;
}

/* Writes a time as "2026-12-24 18:00 UTC". */
static void time_text(int64_t at_s, char *ret, size_t len)
{
    const time_t at = (time_t)at_s;
    struct tm tm;
    if (gmtime_r(&at, &tm) == NULL || strftime(ret, len, "%F %R UTC", &tm) == 0)
        snprintf(ret, len, "an unknown time");
}

static uint64_t days_left(const struct expiry *e, enum tls_file f, int64_t now)
{
    return fab_base_days_left(now, e->times.file[f].at_s);
}

static void tell(struct expiry *e, enum tls_file f, enum stage stage, int64_t now)
{
    char at[40];
    time_text(e->times.file[f].at_s, at, sizeof at);
    if (stage == STAGE_EXPIRED)
        event_emit(e->bus, certificate_expired, .subject = "manager", .setting = settings[f],
                   .file = e->path[f], .expires = at);
    else
        event_emit(e->bus, certificate_expiring, .subject = "manager", .setting = settings[f],
                   .file = e->path[f], .expires = at, .days = days_left(e, f, now));
    e->told[f] = stage;
}

static void on_look(void *ctx)
{
    struct expiry *e = ctx;
    int64_t now = now_s();
    for (int f = 0; f < TLS_FILES; f++) {
        enum stage stage = stage_of(e, (enum tls_file)f, now);
        if (stage > e->told[f])
            tell(e, (enum tls_file)f, stage, now);
    }
    loop_timer_set(e->timer, LOOK_US);
}

void expiry_alarm(const struct expiry *e, char *ret, size_t len)
{
    int64_t now = now_s();
    size_t used = 0;
    ret[0] = '\0';
    for (int f = 0; f < TLS_FILES && used < len; f++) {
        enum stage stage = stage_of(e, (enum tls_file)f, now);
        uint64_t days = days_left(e, (enum tls_file)f, now);
        char at[40];
        time_text(e->times.file[f].at_s, at, sizeof at);
        if (stage == STAGE_EXPIRED)
            used += (size_t)snprintf(ret + used, len - used, "%s%s (%s) expired at %s",
                                     used > 0 ? "; " : "", e->path[f], settings[f], at);
        else if (stage == STAGE_EXPIRING)
            used += (size_t)snprintf(
                ret + used, len - used, "%s%s (%s) expires at %s (%" PRIu64 " day%s left)",
                used > 0 ? "; " : "", e->path[f], settings[f], at, days, fab_base_plural_s(days));
    }
}

int expiry_set(struct expiry *e, const struct tls_expiry *times, const struct config_tls *files)
{
    const char *const paths[TLS_FILES] = {files->cert, files->ca, files->crl};
    char *copies[TLS_FILES];
    bool complete = true;
    for (int f = 0; f < TLS_FILES; f++)
        complete = (copies[f] = strdup(paths[f] != NULL ? paths[f] : "")) != NULL && complete;
    for (int f = 0; f < TLS_FILES; f++) {
        if (!complete) {
            free(copies[f]);
            continue;
        }
        free(e->path[f]);
        e->path[f] = copies[f];
        if (times->file[f].at_s != e->times.file[f].at_s)
            e->told[f] = STAGE_VALID;
    }
    if (!complete)
        return FAB_E_NOMEM;
    e->times = *times;
    if (e->shared != NULL)
        *e->shared = *times;
    on_look(e);
    return FAB_OK;
}

int expiry_new(struct loop *loop, struct bus *bus, struct tls_expiry *times, struct expiry **ret)
{
    struct expiry *e = calloc(1, sizeof *e);
    struct loop_timer *timer = e != NULL ? loop_timer_new(loop, on_look, e) : NULL;
    if (timer == NULL) {
        free(e);
        return FAB_E_NOMEM;
    }
    *e = (struct expiry){.bus = bus, .timer = timer, .shared = times};
    *ret = e;
    return FAB_OK;
}

void expiry_free(struct expiry *e)
{
    if (e == NULL)
        return;
    for (int f = 0; f < TLS_FILES; f++)
        free(e->path[f]);
    loop_timer_free(e->timer);
    free(e);
}
