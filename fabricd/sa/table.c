/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects responses of many records. A response is collected in parts (slices), so that a long
 * response does not delay other work of the event loop. After each part, it is the turn of the host
 * with the next higher LID.
 *
 * The number of responses in progress and their memory are limited, in total and for each host.
 * Requests beyond a limit get the answer BUSY. A repetition of a request is ignored while its
 * response is being collected, or sent by this process (but not while the kernel sends it). This
 * file also handles a Get that needs a long search.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/sa/quota.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* maximum number of records examined for one part of a response, which takes up to 1 ms */
#define SLICE 4096

enum { AT_TID = 8 };

/* ---- jobs ------------------------------------------------------------------------------------ */

void sa_jobs_append(struct sa_jobs *jobs, struct sa_job *job)
{
    job->next = NULL;
    *jobs->tail = job;
    jobs->tail = &job->next;
}

void sa_jobs_remove(struct sa_jobs *jobs, struct sa_job *job)
{
    struct sa_job **at = &jobs->head;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (jobs->tail == &job->next)
        jobs->tail = at;
}

void sa_job_free(struct sa *s, struct sa_job *job)
{
    sa_jobs_remove(job->sending ? &s->sending : &s->making, job);
    s->job_count--;
    s->table_bytes -= job->room;
    sa_view_unref(job->view);
    free(job->bytes);
    free(job);
}

static bool is_same(const struct sa_job *job, const struct transport_mad *request)
{
    return job->request.addr.slid == request->addr.slid &&
           job->request.addr.qpn == request->addr.qpn &&
           fab_base_get_be64(job->request.bytes + AT_TID) ==
               fab_base_get_be64(request->bytes + AT_TID);
}

static bool is_known(const struct sa *s, const struct transport_mad *request)
{
    const struct sa_job *lists[] = {s->making.head, s->sending.head};
    for (size_t i = 0; i < 2; i++)
        for (const struct sa_job *job = lists[i]; job; job = job->next)
            if (is_same(job, request))
                return true;
    return false;
}

/* Returns the number of responses to a host that are in progress. Sets *ret_bytes to the total size
 * of their memory in bytes. */
static uint32_t jobs_of(const struct sa *s, uint32_t host, size_t *ret_bytes)
{
    const struct sa_job *lists[] = {s->making.head, s->sending.head};
    uint32_t count = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < 2; i++)
        for (const struct sa_job *job = lists[i]; job; job = job->next)
            if (job->host == host) {
                count++;
                *ret_bytes += job->room;
            }
    return count;
}

static bool may_begin(struct sa *s, const struct fab_sa_request *req)
{
    size_t bytes;
    uint32_t open = jobs_of(s, sa_quota_host(s, req), &bytes);
    return s->job_count < SA_JOBS && sa_quota_permits_transfer(s, req, open);
}

void sa_table_begin(struct sa *s, const struct transport_mad *request,
                    const struct fab_sa_request *req)
{
    if (is_known(s, request))
        return;
    struct sa_job *job = NULL;
    if (may_begin(s, req))
        job = calloc(1, sizeof(*job));
    if (!job) {
        sa_refuse(s, request, FAB_SMP_BUSY);
        return;
    }
    job->request = *request;
    job->host = sa_quota_host(s, req);
    struct fab_sa_request own = *req;
    own.data = job->request.bytes + FAB_SA_DATA;
    uint16_t status = fab_sa_begin(s->view->sa, &own, &job->query);
    if (status != 0) {
        free(job);
        sa_refuse(s, request, status);
        return;
    }
    job->len = FAB_SA_DATA;
    job->view = s->view;
    job->view->refs++;
    s->job_count++;
    sa_jobs_append(&s->making, job);
    if (!loop_timer_pending(s->work))
        loop_timer_set(s->work, 0);
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* Returns true if the limits allow the memory of the response to grow to 2 * need bytes. The factor
 * of 2 is a margin, because fab_base_grow may reserve more memory than needed. */
static bool may_grow(const struct sa *s, const struct sa_job *job, size_t need)
{
    size_t own;
    (void)jobs_of(s, job->host, &own);
    return s->table_bytes - job->room + 2 * need <= SA_TABLE_MOST &&
           (job->query.trusted || own - job->room + 2 * need <= SA_TABLE_EACH);
}

/* Makes room in a response for one more record of `need` bytes. Returns OK, NOMEM, or BUSY if all
 * responses together would exceed SA_TABLE_MOST, or those to this host SA_TABLE_EACH. The limit of
 * the host does not apply to a request with the sa_key. */
static int make_room(struct sa *s, struct sa_job *job, size_t need)
{
    size_t room = job->room;
    if (job->len + need <= room)
        return FAB_OK;
    if (!may_grow(s, job, job->len + need))
        return FAB_E_BUSY;
    uint8_t *more = fab_base_grow(job->bytes, 1, job->len + need, &room);
    if (!more)
        return FAB_E_NOMEM;
    s->table_bytes += room - job->room;
    job->bytes = more;
    job->room = room;
    return FAB_OK;
}

/* Returns true if no more records need to be collected. A Get fails if two records match, so two
 * are enough. Without RMPP, only the first MAD is sent, so its records are enough. */
static bool is_enough(const struct sa *s, const struct sa_job *job)
{
    return job->query.method == FAB_METHOD_GET
               ? job->records > 1
               : s->in.transport->rmpp == TRANSPORT_RMPP_NONE && job->len >= FAB_MAD_SIZE;
}

/* Collects the next part of a response's records. Returns OK if the response is complete, BUSY
 * if more parts must follow, LIMIT if the responses in progress use too much memory, or NOMEM. */
static int go_on(struct sa *s, struct sa_job *job)
{
    uint32_t budget = SLICE;
    uint16_t stride = fab_wire_rec_stride(job->query.rec);
    int r = make_room(s, job, stride);
    while (r == FAB_OK && !is_enough(s, job)) {
        r = fab_sa_next(&job->query, &budget, job->bytes + job->len);
        if (r != FAB_OK)
            return r == FAB_E_NOT_FOUND ? FAB_OK : r;
        job->len += stride;
        job->records++;
        r = make_room(s, job, stride);
    }
    return r == FAB_E_BUSY ? FAB_E_LIMIT : r;
}

/* Answers a Get whose search was so long that it had to be done in parts. */
static void finish_get(struct sa *s, struct sa_job *job)
{
    uint8_t answer[FAB_MAD_SIZE];
    if (job->records != 1) {
        sa_refuse(s, &job->request,
                  job->records == 0 ? FAB_SA_NO_RECORDS : FAB_SA_TOO_MANY_RECORDS);
    } else {
        fab_sa_answer_header(job->request.bytes, 0, 0, answer);
        memcpy(answer + FAB_SA_DATA, job->bytes + FAB_SA_DATA, job->len - FAB_SA_DATA);
        s->stats.answered++;
        sa_send(s, &job->request, answer);
    }
    sa_job_free(s, job);
}

static void finish(struct sa *s, struct sa_job *job, int result)
{
    uint8_t head[FAB_MAD_SIZE];
    if (result != FAB_OK) {
        sa_refuse(s, &job->request, result == FAB_E_LIMIT ? FAB_SMP_BUSY : FAB_SA_NO_RESOURCES);
        sa_job_free(s, job);
        return;
    }
    if (job->query.method == FAB_METHOD_GET) {
        finish_get(s, job);
        return;
    }
    fab_sa_answer_header(job->request.bytes, 0,
                         job->records ? fab_wire_rec_stride(job->query.rec) : 0, head);
    memcpy(job->bytes, head, FAB_SA_DATA);
    s->stats.answered++;
    s->stats.tables++;
    s->stats.records += job->records;
    sa_transfer_begin(s, job);
}

/* Returns the response for which the next part is collected: the oldest response to the host with
 * the next LID above s->last_host. After the highest LID comes the lowest. NULL: there is no
 * response to collect. */
static struct sa_job *next_turn(struct sa *s)
{
    struct sa_job *best = NULL;
    uint32_t least = UINT32_MAX;
    for (struct sa_job *job = s->making.head; job; job = job->next) {
        uint32_t distance = job->host - s->last_host - 1;
        if (!best || distance < least) {
            best = job;
            least = distance;
        }
    }
    return best;
}

void sa_table_work(void *ctx)
{
    struct sa *s = ctx;
    struct sa_job *job = next_turn(s);
    if (!job)
        return;
    s->last_host = job->host;
    int r = go_on(s, job);
    if (r != FAB_E_BUSY)
        finish(s, job, r);
    if (s->making.head)
        loop_timer_set(s->work, 0);
}
