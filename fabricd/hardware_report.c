/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabricd/hardware_report.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/hardware/hardware.h"
#include "libfabmgr/base/status.h"

static void end(void *ctx)
{
    struct daemon *d = ctx;
    hardware_print(d->hardware, strcmp(d->options.hardware_report, "json") == 0);
    d->report_good = fflush(stdout) == 0;
    loop_stop(d->loop);
}

void hardware_report_begin(void *ctx, const struct sm_rehearsal *r)
{
    struct daemon *d = ctx;
    struct hardware_input in = {.loop = d->loop,
                                .transport = d->readonly,
                                .timeout_us = (uint64_t)d->config.smp.timeout_ms * 1000,
                                .retries = d->config.smp.retries,
                                .done = end,
                                .ctx = d};
    int status = r->fabric != NULL ? FAB_OK : r->status != FAB_OK ? r->status : FAB_E_NOT_FOUND;
    if (status == FAB_OK) {
        in.fabric = d->found = fab_fabric_ref(r->fabric);
        status = hardware_start(&in, &d->hardware);
    }
    if (status != FAB_OK) {
        fprintf(stderr, "fabricd: the fabric cannot be read: %s\n",
                r->alarm[0] != '\0' ? r->alarm : fab_base_status_text(status));
        loop_stop(d->loop);
    }
}
