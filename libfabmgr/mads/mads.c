/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session of MAD transactions: sends requests, matches responses, and retries.
 *
 * Each request is in a slot (slots.h). The slot moves through these lists:
 *
 *     free -> ready (submitted) -> outstanding[try] -> free (response, or last time-out)
 *                 source ----------^   |  |
 *                          retry <-----+  |       lost: sent again as soon as the window allows
 *                          backoff <------+       BUSY: sent again after config.timeout_us
 *
 * The time-out doubles with each try, so there is one outstanding list for each try. All requests
 * in a list have the same time-out. The list is therefore sorted by deadline, and the next deadline
 * of the session is the earliest deadline among the list heads. The cost of a step does not depend
 * on the number of requests in flight.
 *
 * All tries of a request carry the same TID, so that a late response to the first try ends the
 * request, too. If the responses to two tries arrive, no request has this TID any more when the
 * second one arrives, and the session ignores it. The session chooses only the low 32 bits of a
 * TID; the kernel and simulators use the high bits (allowed by IBA 13.4.6.4).
 *
 * A response must also have the path or source LID that belongs to the request, and the same
 * attribute. Any host can send a response, so the TIDs cannot be guessed (slots.c).
 *
 * A request without a response after a few round trips, long before its deadline, is called late:
 * it is most likely lost. A late request still waits for its response, but does not count against
 * the window, so that loss and unresponsive devices do not delay other requests. At most window_max
 * requests are in flight, including the late ones.
 *
 * A response with status BUSY (IBA 13.4.7) asks the requester to repeat the request. This uses up a
 * try, but does not count as loss.
 */
#include "libfabmgr/mads/mads.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/mads/slots.h"
#include "libfabmgr/mads/window.h"

#define TIMEOUT_CLASSES 8
#define GSI_QKEY 0x80010000
#define LATE_ROUND_TRIPS 8
#define LATE_LEAST_US 4000

struct fab_mads {
    struct fab_mads_config config;
    struct fab_slots slots;
    struct fab_slot_list ready, retry, backoff, outstanding[TIMEOUT_CLASSES], late[TIMEOUT_CLASSES];
    struct fab_window window;
    /* number of requests in flight, and number of late ones among them */
    uint32_t in_flight, late_count;
    /* smoothed round-trip time in us; 0: not known yet */
    uint64_t round_trip;
    fab_mads_next *next;
    void *next_ctx;
    /* true: the source had no request when the session last called it */
    bool source_dry;
    struct fab_mads_stats stats;
};

struct fab_mads *fab_mads_new(const struct fab_mads_config *config)
{
    struct fab_mads *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->config = *config;
    fab_mads_slots_init(&m->slots, config->tid_key);
    fab_mads_window_init(&m->window, config->window_start, config->window_max);
    if (fab_mads_slots_reserve(&m->slots, m->window.size) != FAB_OK) {
        fab_mads_free(m);
        return NULL;
    }
    return m;
}

void fab_mads_free(struct fab_mads *m)
{
    if (m == NULL)
        return;
    fab_mads_slots_fini(&m->slots);
    free(m);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_valid(const struct fab_mads_request *req)
{
    if (req->mgmt_class == FAB_CLASS_SMP_DIRECTED && req->path == NULL)
        return false;
    return req->path == NULL || req->path->hops <= FAB_MAX_HOPS;
}

int fab_mads_submit(struct fab_mads *m, const struct fab_mads_request *req)
{
    struct fab_slot *s;
    if (!is_valid(req))
        return FAB_E_INVAL;
    int status = fab_mads_slots_take(&m->slots, &s);
    if (status != FAB_OK)
        return status;
    s->req = *req;
    fab_mads_slot_list_append(&m->ready, s);
    return FAB_OK;
}

void fab_mads_source(struct fab_mads *m, fab_mads_next *next, void *ctx)
{
    m->next = next;
    m->next_ctx = ctx;
    m->source_dry = false;
}

/* Ends the request of a slot, which must be in no list: calls done() of the request. done() may
 * call any function of the session except fab_mads_free. */
static void finish(struct fab_mads *m, struct fab_slot *s, const struct fab_mads_answer *answer)
{
    fab_mads_done *done = s->req.done;
    void *ctx = s->req.ctx;
    uint64_t tag = s->req.tag;
    fab_mads_slots_release(&m->slots, s);
    m->source_dry = false;
    if (done != NULL)
        done(ctx, tag, answer);
}

/* Takes the next request from the source and returns its slot; NULL: there is no source, the source
 * has no request now, or no slot could be allocated. */
static struct fab_slot *take_from_source(struct fab_mads *m)
{
    struct fab_slot *s;
    while (m->next != NULL && fab_mads_slots_take(&m->slots, &s) == FAB_OK) {
        if (!m->next(m->next_ctx, &s->req)) {
            fab_mads_slots_return_unused(&m->slots, s);
            m->source_dry = true;
            return NULL;
        }
        if (is_valid(&s->req))
            return s;
        finish(m, s, &(struct fab_mads_answer){.status = FAB_E_INVAL});
    }
    return NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint32_t timeout_class(const struct fab_slot *s)
{
    uint32_t retry = s->tries - 1; /* tries is already 1 after the first transmission */
    return retry < TIMEOUT_CLASSES ? retry : TIMEOUT_CLASSES - 1;
}

static bool is_smp(const struct fab_mads_request *req)
{
    return req->mgmt_class == FAB_CLASS_SMP_LID || req->mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

/* Returns how many keys the request has in m_key_last[]. */
static uint32_t last_keys(const struct fab_mads_request *req)
{
    uint32_t count = 0;
    while (count < FAB_MADS_LAST_KEYS && req->m_key_last[count] != 0)
        count++;
    return count;
}

static uint32_t retries_of(const struct fab_mads *m, const struct fab_slot *s)
{
    uint32_t least = last_keys(&s->req);
    if (s->req.once)
        return 0;
    return m->config.retries > least ? m->config.retries : least;
}

/* Returns the M_Key for the next try of the request. tries: number of tries so far. */
static uint64_t m_key_of(const struct fab_mads *m, const struct fab_slot *s, uint32_t tries)
{
    uint32_t retries = retries_of(m, s), keys = last_keys(&s->req);
    if (tries > retries)
        tries = retries;
    uint32_t left = retries - tries; /* number of tries that may follow this one */
    return tries > 0 && left < keys ? s->req.m_key_last[keys - 1 - left] : s->req.m_key;
}

static void encode(const struct fab_mads *m, const struct fab_slot *s, uint8_t bytes[FAB_MAD_SIZE])
{
    const struct fab_mads_request *req = &s->req;
    struct fab_mad mad = {
        .mgmt_class = req->mgmt_class,
        .method = req->method,
        .tid = s->tid,
        .attr_id = req->attr_id,
        .attr_mod = req->attr_mod,
        .m_key = m_key_of(m, s, s->tries),
    };
    if (req->mgmt_class == FAB_CLASS_SMP_DIRECTED)
        mad.path = *req->path;
    if (is_smp(req))
        /* this call cannot fail, because is_valid has checked the request */
        (void)fab_wire_smp_pack(&mad, req->data, bytes);
    else if (req->gmp != NULL)
        (void)fab_wire_gmp_pack(&mad, req->gmp, FAB_GMP_DATA, bytes);
    else
        (void)fab_wire_gmp_pack(&mad, req->data, sizeof req->data, bytes);
}

static struct fab_mad_addr address(const struct fab_mads_request *req)
{
    bool smp = is_smp(req);
    return (struct fab_mad_addr){
        .dlid = req->mgmt_class == FAB_CLASS_SMP_DIRECTED ? FAB_LID_PERMISSIVE : req->dlid,
        .qpn = smp ? 0 : 1,
        .qkey = smp ? 0 : GSI_QKEY,
    };
}

/* Makes the next try use the directed route, if the request has one. This is called when a try of a
 * LID-routed SMP was lost. */
static void use_directed_route(struct fab_slot *s)
{
    if (s->req.mgmt_class == FAB_CLASS_SMP_LID && s->req.path != NULL)
        s->req.mgmt_class = FAB_CLASS_SMP_DIRECTED;
}

static struct fab_slot *take_next(struct fab_mads *m)
{
    struct fab_slot *s = fab_mads_slot_list_pop(&m->retry);
    if (s != NULL)
        use_directed_route(s);
    else
        s = fab_mads_slot_list_pop(&m->ready);
    return s != NULL ? s : take_from_source(m);
}

/* Returns the time-out of the current try, in us. */
static uint64_t try_timeout(const struct fab_mads *m, const struct fab_slot *s)
{
    return m->config.timeout_us << timeout_class(s);
}

/* Returns the time in us that the transport waits for a response: three quarters of the time-out of
 * the try. The kernel refuses a MAD while it waits for a response with the same TID. So its wait
 * must end before the session retries. */
static uint32_t transport_timeout(const struct fab_mads *m, const struct fab_slot *s)
{
    uint64_t us = try_timeout(m, s) - try_timeout(m, s) / 4;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

/* Returns the number of requests in flight that count against the window: all except the late ones.
 * Exception: if window_max requests are in flight, the late ones count, too. */
static uint32_t counted(const struct fab_mads *m)
{
    return m->in_flight < m->window.ceiling ? m->in_flight - m->late_count : m->in_flight;
}

bool fab_mads_output(struct fab_mads *m, uint64_t now, uint8_t mad[FAB_MAD_SIZE],
                     struct fab_mad_addr *ret_to)
{
    if (!fab_mads_window_room(&m->window, counted(m)))
        return false;
    struct fab_slot *s = take_next(m);
    if (s == NULL)
        return false;
    if (s->tries == 0)
        fab_mads_slots_draw_tid(&m->slots, s);
    encode(m, s, mad);
    m->stats.sent++;
    m->stats.retried += s->tries > 0;
    s->tries++;
    s->sent_at = now;
    s->deadline = now + try_timeout(m, s);
    s->state = FAB_SLOT_OUTSTANDING;
    m->in_flight++;
    fab_mads_slot_list_append(&m->outstanding[timeout_class(s)], s);
    *ret_to = address(&s->req);
    ret_to->timeout_us = transport_timeout(m, s);
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void remove_outstanding(struct fab_mads *m, struct fab_slot *s)
{
    fab_mads_slot_list_remove(
        s->late ? &m->late[timeout_class(s)] : &m->outstanding[timeout_class(s)], s);
    m->in_flight--;
    m->late_count -= s->late;
    s->late = false;
}

/* Updates the smoothed round-trip time. Ignores requests that were retried, because nobody knows to
 * which of the tries the response belongs. */
static void learn_round_trip(struct fab_mads *m, const struct fab_slot *s, uint64_t now)
{
    uint64_t took = now - s->sent_at;
    if (s->tries == 1)
        m->round_trip = m->round_trip == 0 ? took : (7 * m->round_trip + took) / 8;
}

static bool may_try_again(const struct fab_mads *m, const struct fab_slot *s)
{
    return s->tries <= retries_of(m, s);
}

/* Handles the time-out of a request: the request is sent again or, if no try is left, ends with
 * TIMEOUT. */
static void lost(struct fab_mads *m, struct fab_slot *s, uint64_t now)
{
    remove_outstanding(m, s);
    fab_mads_window_loss(&m->window, s->sent_at, now);
    if (may_try_again(m, s)) {
        s->state = FAB_SLOT_RETRY;
        fab_mads_slot_list_append(&m->retry, s);
        return;
    }
    m->stats.timed_out++;
    finish(m, s, &(struct fab_mads_answer){.status = FAB_E_TIMEOUT, .rtt_us = now - s->sent_at});
}

static void back_off(struct fab_mads *m, struct fab_slot *s, uint64_t now)
{
    s->state = FAB_SLOT_BACKOFF;
    s->deadline = now + m->config.timeout_us;
    fab_mads_slot_list_append(&m->backoff, s);
}

/* Removes the slot of an answered request from its list: an outstanding list or, if the response
 * came after the time-out, the retry list. */
static void remove_answered(struct fab_mads *m, struct fab_slot *s)
{
    if (s->state == FAB_SLOT_RETRY) {
        fab_mads_slot_list_remove(&m->retry, s);
        return;
    }
    fab_mads_window_answer(&m->window);
    remove_outstanding(m, s);
}

static void answered(struct fab_mads *m, struct fab_slot *s, uint64_t now,
                     struct fab_mads_answer *answer)
{
    learn_round_trip(m, s, now);
    remove_answered(m, s);
    if ((answer->smp_status & FAB_SMP_BUSY) && may_try_again(m, s)) {
        back_off(m, s, now);
        return;
    }
    m->stats.answered++;
    if (answer->smp_status != 0) {
        m->stats.refused++;
        answer->status = FAB_E_REFUSED;
    }
    answer->rtt_us = now - s->sent_at;
    answer->path = s->req.path;
    answer->m_key = m_key_of(m, s, s->tries - 1);
    finish(m, s, answer);
}

static uint8_t method_of_response(uint8_t method)
{
    return method == FAB_METHOD_SET ? FAB_METHOD_GET_RESP : method | FAB_METHOD_RESPONSE;
}

static bool is_same_path(const struct fab_path *a, const struct fab_path *b)
{
    return a->hops == b->hops && memcmp(a->port + 1, b->port + 1, a->hops) == 0;
}

/* Returns true if a response comes from the destination of the request. The response to a
 * directed-route SMP contains the path of the request (IBA 14.2.2). */
static bool comes_from(const struct fab_mads_request *req, uint16_t slid, const struct fab_mad *mad)
{
    if (req->mgmt_class != FAB_CLASS_SMP_DIRECTED)
        return slid == req->dlid;
    return mad->returning && mad->dr_slid == FAB_LID_PERMISSIVE &&
           mad->dr_dlid == FAB_LID_PERMISSIVE && is_same_path(&mad->path, req->path);
}

/* Returns true if the MAD answers the request `req`. failed: the MAD is not an answer, but a
 * request that the transport returned as undelivered; in this case, returns true if the MAD is
 * `req`. */
static bool fits(const struct fab_mads_request *req, uint16_t slid, const struct fab_mad *mad,
                 bool failed)
{
    if (req->mgmt_class != mad->mgmt_class || req->attr_id != mad->attr_id ||
        req->attr_mod != mad->attr_mod)
        return false;
    if (failed)
        return req->method == mad->method;
    return mad->method == method_of_response(req->method) && comes_from(req, slid, mad);
}

/* Returns the slot of the request that the MAD answers. failed: the MAD is not an answer, but a
 * request that the transport returned as undelivered; then returns the slot of this request. NULL:
 * no request that waits for a response matches the MAD. */
static struct fab_slot *match(struct fab_mads *m, uint16_t slid, const struct fab_mad *mad,
                              bool failed)
{
    struct fab_slot *s = fab_mads_slots_find(&m->slots, (uint32_t)mad->tid);
    if (s == NULL)
        return NULL;
    if (!fits(&s->req, slid, mad, failed)) {
        m->stats.mismatched++;
        return NULL;
    }
    bool waits = s->state == FAB_SLOT_OUTSTANDING || (s->state == FAB_SLOT_RETRY && !failed);
    return waits ? s : NULL;
}

bool fab_mads_input(struct fab_mads *m, uint64_t now, uint16_t slid, const uint8_t *bytes,
                    size_t len, bool failed)
{
    struct fab_mad mad;
    struct fab_mads_answer answer = {0};
    int status = fab_wire_mad_unpack(bytes, len, &mad, &answer.data, &answer.len);
    if (status == FAB_OK && !failed && (mad.method & FAB_METHOD_RESPONSE) == 0)
        return false;
    struct fab_slot *s = status == FAB_OK ? match(m, slid, &mad, failed) : NULL;
    if (s == NULL) {
        m->stats.unmatched++;
    } else if (failed) {
        lost(m, s, now);
    } else {
        answer.smp_status = mad.status;
        answered(m, s, now, &answer);
    }
    return true;
}

void fab_mads_refuse(struct fab_mads *m, const uint8_t bytes[FAB_MAD_SIZE])
{
    struct fab_mad mad;
    const uint8_t *data;
    size_t len;
    int status = fab_wire_mad_unpack(bytes, FAB_MAD_SIZE, &mad, &data, &len);
    struct fab_slot *s = status == FAB_OK ? match(m, 0, &mad, true) : NULL;
    if (s == NULL)
        return;
    m->stats.sent--;
    m->stats.retried -= s->tries > 1;
    remove_outstanding(m, s);
    finish(m, s, &(struct fab_mads_answer){.status = FAB_E_DENIED});
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static bool is_due(const struct fab_slot_list *l, uint64_t now)
{
    return l->head != NULL && l->head->deadline <= now;
}

static uint64_t late_after(const struct fab_mads *m)
{
    uint64_t us = LATE_ROUND_TRIPS * m->round_trip, most = m->config.timeout_us / 2;
    if (us < LATE_LEAST_US)
        us = LATE_LEAST_US;
    return m->round_trip == 0 || us > most ? most : us;
}

static void find_late(struct fab_mads *m, size_t class, uint64_t now)
{
    struct fab_slot *s;
    while ((s = m->outstanding[class].head) != NULL && s->sent_at + late_after(m) <= now) {
        fab_mads_slot_list_remove(&m->outstanding[class], s);
        fab_mads_slot_list_append(&m->late[class], s);
        s->late = true;
        m->late_count++;
    }
}

void fab_mads_expire(struct fab_mads *m, uint64_t now)
{
    while (is_due(&m->backoff, now)) {
        struct fab_slot *s = fab_mads_slot_list_pop(&m->backoff);
        s->state = FAB_SLOT_RETRY;
        fab_mads_slot_list_append(&m->retry, s);
    }
    for (size_t i = 0; i < TIMEOUT_CLASSES; i++) {
        find_late(m, i, now);
        while (is_due(&m->late[i], now))
            lost(m, m->late[i].head, now);
    }
}

static uint64_t earlier(uint64_t deadline, const struct fab_slot_list *l)
{
    return l->head != NULL && l->head->deadline < deadline ? l->head->deadline : deadline;
}

uint64_t fab_mads_deadline(const struct fab_mads *m)
{
    uint64_t deadline = earlier(UINT64_MAX, &m->backoff), after = late_after(m);
    bool held_back = m->window.full && m->in_flight < m->window.ceiling;
    for (size_t i = 0; i < TIMEOUT_CLASSES; i++) {
        const struct fab_slot *s = m->outstanding[i].head;
        deadline = earlier(earlier(deadline, &m->late[i]), &m->outstanding[i]);
        if (held_back && s != NULL && s->sent_at + after < deadline)
            deadline = s->sent_at + after;
    }
    return deadline;
}

bool fab_mads_idle(const struct fab_mads *m)
{
    return m->in_flight == 0 && m->ready.head == NULL && m->retry.head == NULL &&
           m->backoff.head == NULL && (m->next == NULL || m->source_dry);
}

static void drop_all(struct fab_mads *m, struct fab_slot_list *l)
{
    struct fab_slot *s;
    while ((s = fab_mads_slot_list_pop(l)) != NULL)
        fab_mads_slots_release(&m->slots, s);
}

void fab_mads_cancel_all(struct fab_mads *m)
{
    drop_all(m, &m->ready);
    drop_all(m, &m->retry);
    drop_all(m, &m->backoff);
    for (size_t i = 0; i < TIMEOUT_CLASSES; i++) {
        drop_all(m, &m->outstanding[i]);
        drop_all(m, &m->late[i]);
    }
    m->in_flight = m->late_count = 0;
}

/* Selects the requests to drop: those with this `ctx` for which matches() returns true. */
struct selection {
    const void *ctx;
    fab_mads_match *matches;
    void *arg;
};

/* Drops the requests in the list that match the selection. Returns their number. */
static uint32_t drop_selected(struct fab_mads *m, struct fab_slot_list *l,
                              const struct selection *which)
{
    uint32_t count = 0;
    for (struct fab_slot *s = l->head, *next; s != NULL; s = next) {
        next = s->next;
        if (s->req.ctx != which->ctx || !which->matches(which->arg, s->req.tag, s->req.path))
            continue;
        fab_mads_slot_list_remove(l, s);
        fab_mads_slots_release(&m->slots, s);
        count++;
    }
    return count;
}

uint32_t fab_mads_cancel_if(struct fab_mads *m, const void *ctx, fab_mads_match *matches, void *arg)
{
    const struct selection which = {ctx, matches, arg};
    uint32_t sent = 0, others = drop_selected(m, &m->ready, &which) +
                                drop_selected(m, &m->retry, &which) +
                                drop_selected(m, &m->backoff, &which);
    for (size_t i = 0; i < TIMEOUT_CLASSES; i++) {
        uint32_t late = drop_selected(m, &m->late[i], &which);
        sent += drop_selected(m, &m->outstanding[i], &which) + late;
        m->late_count -= late;
    }
    m->in_flight -= sent;
    return others + sent;
}

static bool any(void *arg, uint64_t tag, const struct fab_path *path)
{
    (void)arg, (void)tag, (void)path;
    return true;
}

void fab_mads_cancel(struct fab_mads *m, const void *ctx)
{
    (void)fab_mads_cancel_if(m, ctx, any, NULL);
}

void fab_mads_stats(const struct fab_mads *m, struct fab_mads_stats *ret)
{
    *ret = m->stats;
    ret->window = m->window.size;
    ret->in_flight = m->in_flight;
}
