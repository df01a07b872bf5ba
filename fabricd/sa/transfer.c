/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a complete response of many records by RMPP (IBA 13.6). On real adapters the kernel
 * implements RMPP; for the simulated fabric in this process, libfabmgr/mads does. A port of ibsim
 * has no RMPP, so only the first MAD is sent.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/sa/quota.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"

#define TIMEOUT_US 200000
#define RETRIES 10

enum { AT_TID = 8 };

static const struct fab_rmpp_config config = {.timeout_us = TIMEOUT_US, .retries = RETRIES};

static void send_one_mad(struct sa *s, struct sa_job *job)
{
    uint8_t mad[FAB_MAD_SIZE] = {0};
    struct fab_rmpp h = {.version = 1,
                         .type = FAB_RMPP_DATA_TYPE,
                         .resp_time = 31,
                         .flags = FAB_RMPP_ACTIVE | FAB_RMPP_FIRST | FAB_RMPP_LAST,
                         .segment = 1};
    size_t len = job->len < FAB_MAD_SIZE ? job->len : FAB_MAD_SIZE;
    memcpy(mad, job->bytes, len);
    h.length = (uint32_t)(len - FAB_RMPP_DATA);
    (void)fab_wire_attr_pack(&fab_wire_attr_rmpp, &h, mad + FAB_RMPP_AT,
                             FAB_RMPP_DATA - FAB_RMPP_AT);
    sa_send_len(s, &job->request, mad, len);
    sa_job_free(s, job);
}

static void send_by_kernel(struct sa *s, struct sa_job *job)
{
    struct fab_mad_addr to = {.dlid = job->request.addr.slid,
                              .sl = job->request.addr.sl,
                              .qpn = job->request.addr.qpn,
                              .timeout_us = TIMEOUT_US};
    struct fab_rmpp h = {.version = 1, .type = FAB_RMPP_DATA_TYPE, .flags = FAB_RMPP_ACTIVE};
    (void)fab_wire_attr_pack(&fab_wire_attr_rmpp, &h, job->bytes + FAB_RMPP_AT,
                             FAB_RMPP_DATA - FAB_RMPP_AT);
    if (s->in.transport->ops->send_long(s->in.transport, &to, job->bytes, job->len) != FAB_OK)
        s->stats.dropped++;
    else
        sa_quota_sent(s, job->host, job->len);
    sa_job_free(s, job);
}

/* Sends the RMPP segments of a response, as many as the window permits. When the transfer has
 * ended, frees the response. */
static void pump(struct sa *s, struct sa_job *job, uint64_t now)
{
    uint8_t mad[FAB_MAD_SIZE];
    while (fab_mads_rmpp_sender_output(&job->rmpp, now, mad))
        sa_send(s, &job->request, mad);
    if (job->rmpp.state != FAB_RMPP_GOING)
        sa_job_free(s, job);
    else if (!loop_timer_pending(s->patience))
        loop_timer_set(s->patience, TIMEOUT_US / 4);
}

void sa_transfer_begin(struct sa *s, struct sa_job *job)
{
    uint64_t now = clock_now_us();
    if (s->in.transport->rmpp == TRANSPORT_RMPP_NONE) {
        send_one_mad(s, job);
    } else if (s->in.transport->rmpp == TRANSPORT_RMPP_KERNEL) {
        send_by_kernel(s, job);
    } else if (fab_mads_rmpp_sender_init(&job->rmpp, job->bytes, job->bytes + FAB_SA_DATA,
                                         job->len - FAB_SA_DATA, &config, now) != FAB_OK) {
        sa_refuse(s, &job->request, FAB_SA_NO_RESOURCES);
        sa_job_free(s, job);
    } else {
        sa_jobs_remove(&s->making, job);
        sa_view_unref(job->view);
        job->view = NULL;
        job->sending = true;
        sa_jobs_append(&s->sending, job);
        pump(s, job, now);
    }
}

void sa_transfer_input(struct sa *s, const struct transport_mad *mad)
{
    uint64_t now = clock_now_us();
    for (struct sa_job *job = s->sending.head; job; job = job->next) {
        if (job->request.addr.slid != mad->addr.slid ||
            fab_base_get_be64(job->request.bytes + AT_TID) !=
                fab_base_get_be64(mad->bytes + AT_TID))
            continue;
        fab_mads_rmpp_sender_input(&job->rmpp, now, mad->bytes);
        pump(s, job, now);
        return;
    }
}

void sa_transfer_tick(void *ctx)
{
    struct sa *s = ctx;
    uint64_t now = clock_now_us();
    for (struct sa_job *job = s->sending.head, *next; job; job = next) {
        next = job->next;
        fab_mads_rmpp_sender_expire(&job->rmpp, now);
        pump(s, job, now);
    }
}
