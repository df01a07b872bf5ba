/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libfabmgr/base/status.h"

/* 9999-12-31 in seconds since 1970; only a faulty manager sends later times */
#define LATEST INT64_C(253402300799)

int plot_put(struct fab_text *t, int status)
{
    int rc = status == FAB_OK ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
    if (rc == EXIT_OK)
        fwrite(fab_base_text_get(t), 1, t->len, stdout);
    fab_base_text_fini(t);
    return rc;
}

static long offset_at(time_t at)
{
    struct tm tm;
    return localtime_r(&at, &tm) != NULL ? tm.tm_gmtoff : 0;
}

static time_t seconds_of(const Google__Protobuf__Timestamp *t)
{
    int64_t at = t != NULL ? t->seconds : 0;
    return at < 0 ? 0 : at > LATEST ? LATEST : at;
}

int64_t plot_time(const Google__Protobuf__Timestamp *t)
{
    time_t at = seconds_of(t);
    return at + offset_at(at);
}

void plot_zone(const Google__Protobuf__Timestamp *t, char text[SAMPLE_LEN])
{
    long offset = offset_at(seconds_of(t)), minutes = labs(offset) / 60;
    if (offset == 0)
        snprintf(text, SAMPLE_LEN, "UTC");
    else
        snprintf(text, SAMPLE_LEN, "UTC%c%02ld:%02ld", offset < 0 ? '-' : '+', minutes / 60,
                 minutes % 60);
}
