/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and stops the replica, changes its role, and reports its state. Only the loop thread may
 * emit events, so a timer on this thread emits them.
 */
#include "fabricd/replica/replica.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/base/thread.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define LOOK_US 100000
/* time in us after which a follower that has received no beat of the leader connects again,
 * possibly to another server */
#define SILENT_US 5000000
/* Time in us within which the watch of a new leader must report the leader's own claim. If it does
 * not, the watched server may be cut off from the other servers. The leader then reads all rows
 * from the server that accepted the claim. */
#define CLAIM_US 50000
/* maximum time in us that an orderly stop waits for the last rows to be sent */
#define LAST_US 300000
/* time in us without an answer of a majority, or with rows that this manager does not understand,
 * after which the event replication-lost is emitted */
#define LOST_US 2000000

void replica_wait(struct replica *r, uint64_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + us % 1000000 * 1000;
    until.tv_sec += (time_t)(us / 1000000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    if (!r->stop)
        pthread_cond_timedwait(&r->wake, &r->mutex, &until);
}

bool replica_level_locked(const struct replica *r)
{
    return r->role == REPLICA_LEADS && r->received_revision >= r->fence;
}

bool replica_led_last(const struct replica *r)
{
    return r->leader_instance == r->instance && r->leader_guid == r->in.port_guid;
}

void replica_drop_marks(struct replica *r, uint64_t keeps_after)
{
    r->keeps_after = keeps_after;
    r->reread = true;
    r->been_read = false;
    pthread_cond_broadcast(&r->wake);
}

void replica_note_leader(struct replica *r, const char *text)
{
    uint64_t instance, guid;
    if (sscanf(text, "instance 0x%" SCNx64 " port 0x%" SCNx64, &instance, &guid) != 2)
        return;
    r->leader_instance = instance;
    r->leader_guid = guid;
}

/* Notes that the store has marked rows, and wakes the sender. Called on the writer thread of the
 * store. */
static void on_marked(void *ctx)
{
    struct replica *r = ctx;
    pthread_mutex_lock(&r->mutex);
    r->marked = true;
    if (r->role == REPLICA_LEADS)
        pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

/* ---- the loop thread ------------------------------------------------------------------------- */

void replica_lead(struct replica *r)
{
    uint64_t version = store_marked_version(r->in.store);
    pthread_mutex_lock(&r->mutex);
    if (r->role == REPLICA_FOLLOWS) {
        r->role = REPLICA_CLAIMS;
        r->had_former = false;
        r->former_guid = 0;
        r->former_claim = 0;
        r->elected_version = version;
        r->other_led = r->keeps_after != 0;
        if (r->other_led)
            r->keeps_after = version;
    }
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

void replica_follow(struct replica *r)
{
    pthread_mutex_lock(&r->mutex);
    if (r->role != REPLICA_FOLLOWS) {
        r->role = REPLICA_FOLLOWS;
        r->heard_us = 0;
        r->left = 0;
    }
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

bool replica_is_level(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    bool level = replica_level_locked(r);
    pthread_mutex_unlock(&r->mutex);
    return level;
}

int64_t replica_level_claim(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    int64_t claim = replica_level_locked(r) ? r->fence : 0;
    pthread_mutex_unlock(&r->mutex);
    return claim;
}

uint64_t replica_changes(const struct replica *r)
{
    return store_received_changes(r->in.store);
}

uint64_t replica_former_guid(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    uint64_t guid = r->former_guid;
    pthread_mutex_unlock(&r->mutex);
    return guid;
}

bool replica_former_was_level(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    bool level = !r->had_former || (r->heard_us != 0 && r->heard_pending == 0);
    pthread_mutex_unlock(&r->mutex);
    return level;
}

/* Like replica_has_sent_all, but considers only rows that the store marked up to this version. The
 * caller holds the mutex. */
static bool has_sent(struct replica *r, uint64_t version)
{
    if (r->role != REPLICA_LEADS || !r->quorum ||
        (r->confirmed_version >= version && r->beat_left == 0))
        return true;
    r->marked = r->final = true; /* makes the sender continue without its usual pause */
    pthread_cond_broadcast(&r->wake);
    return false;
}

bool replica_has_sent_all(struct replica *r)
{
    uint64_t version = store_marked_version(r->in.store);
    pthread_mutex_lock(&r->mutex);
    bool sent = has_sent(r, version);
    pthread_mutex_unlock(&r->mutex);
    return sent;
}

bool replica_await_rows(struct replica *r, uint64_t us)
{
    uint64_t until = clock_now_us() + us;
    pthread_mutex_lock(&r->mutex);
    while (!r->been_read && r->unsuited[0] == '\0' && clock_now_us() < until)
        replica_wait(r, 5000);
    bool read = r->been_read;
    pthread_mutex_unlock(&r->mutex);
    return read;
}

bool replica_understands(const struct replica *replica, char *why, size_t why_len)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    bool understands = r->unsuited[0] == '\0';
    snprintf(why, why_len, "%s", r->unsuited);
    pthread_mutex_unlock(&r->mutex);
    return understands;
}

void replica_on_news(struct replica *r, void (*fn)(void *ctx), void *ctx)
{
    r->news = fn;
    r->news_ctx = ctx;
}

void replica_on_changes(struct replica *r, void (*fn)(void *ctx), void *ctx)
{
    r->changed = fn;
    r->changed_ctx = ctx;
}

void replica_get_status(const struct replica *replica, struct replica_status *ret)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    uint64_t now = clock_now_us();
    pthread_mutex_lock(&r->mutex);
    *ret = (struct replica_status){
        .role = r->role,
        .quorum = r->quorum,
        .leader_guid = r->leader_guid,
        .level = replica_level_locked(r),
        .pending = r->left,
        .confirmed = r->confirmed,
        .received = store_received_changes(r->in.store),
        .dropped = store_received_drops(r->in.store),
        .confirmed_us = r->confirmed_us,
        .commit_us = r->commit_us,
        .lag_us = r->role == REPLICA_FOLLOWS && r->heard_us != 0 ? now - r->heard_us : 0,
        .revision = r->revision,
        .lost_us = r->quorum || r->lost_us == 0 ? 0 : now - r->lost_us,
    };
    memcpy(ret->endpoint, r->endpoint, sizeof(ret->endpoint));
    memcpy(ret->reason, r->reason, sizeof(ret->reason));
    if (r->unsuited[0] != '\0') {
        /* If this manager does not understand the rows, that is as bad as no majority: decisions of
         * operators do not reach the other managers. */
        ret->quorum = false;
        memcpy(ret->reason, r->unsuited, sizeof(ret->reason));
    }
    pthread_mutex_unlock(&r->mutex);
}

uint64_t replica_mark(struct replica *r)
{
    return store_marked_version(r->in.store);
}

uint64_t replica_dropped(const struct replica *r)
{
    return store_received_drops(r->in.store);
}

bool replica_is_confirmed(const struct replica *replica, uint64_t mark)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    bool confirmed = r->confirmed_version >= mark;
    pthread_mutex_unlock(&r->mutex);
    return confirmed;
}

static void report_quorum(struct replica *r, const struct replica_status *s)
{
    if (s->quorum && r->told_lost)
        event_emit(r->in.bus, replication_restored, .subject = "manager", .endpoint = s->endpoint,
                   .seconds = (clock_now_us() - r->lost_us) / 1000000);
    if (s->quorum) {
        r->lost_us = 0;
        r->told_lost = false;
        return;
    }
    if (r->lost_us == 0)
        r->lost_us = clock_now_us();
    if (r->told_lost || clock_now_us() < r->lost_us + LOST_US)
        return;
    r->told_lost = true;
    event_emit(r->in.bus, replication_lost, .subject = "manager", .pending = s->pending,
               .reason = s->reason);
}

static void report_drops(struct replica *r, const struct replica_status *s)
{
    if (s->dropped == r->told_drops)
        return;
    event_emit(r->in.bus, replication_dropped, .subject = "manager",
               .changes = s->dropped - r->told_drops, .guid = s->leader_guid);
    r->told_drops = s->dropped;
}

/* Interrupts the receiver, so that it connects again, in two cases. First, a follower has received
 * no beat of the leader for SILENT_US: its etcd server may be down although the connection is still
 * open. It is not interrupted again before the next beat. Second, the watch of a new leader has not
 * reported the leader's own claim within CLAIM_US. */
static void look_at_watch(struct replica *r, const struct replica_status *s)
{
    uint64_t now = clock_now_us();
    pthread_mutex_lock(&r->mutex);
    bool silent = s->role == REPLICA_FOLLOWS && s->lag_us >= SILENT_US;
    bool blind = s->role == REPLICA_LEADS && !s->level && now > r->claimed_us + CLAIM_US;
    if (silent)
        r->heard_us = 0;
    /* The interrupted receiver reads all rows again. For SILENT_US, it is not interrupted again, so
     * that it has time for this. */
    if (blind)
        r->claimed_us = now + SILENT_US;
    pthread_mutex_unlock(&r->mutex);
    if (silent || blind)
        etcd_interrupt(&r->to_receive);
}

static bool has_records(struct replica *r)
{
    pthread_mutex_lock(&r->mutex);
    bool has = r->heard_count > 0;
    pthread_mutex_unlock(&r->mutex);
    return has;
}

static void on_look(void *ctx)
{
    struct replica *r = ctx;
    struct replica_status s;
    replica_get_status(r, &s);
    report_quorum(r, &s);
    report_drops(r, &s);
    look_at_watch(r, &s);
    bool has_news = s.received != r->told_received && (s.role == REPLICA_FOLLOWS || s.level);
    if (has_news)
        r->told_received = s.received;
    if (has_news && r->news != NULL)
        r->news(r->news_ctx);
    if (r->changed != NULL && has_records(r))
        r->changed(r->changed_ctx);
    loop_timer_set(r->timer, LOOK_US);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static void name_keys(struct replica *r)
{
    snprintf(r->all, sizeof(r->all), "%.100s/%016" PRIx64 "/", r->in.config->prefix,
             r->in.subnet_prefix);
    snprintf(r->leader, sizeof(r->leader), "%.150sleader", r->all);
    snprintf(r->beat, sizeof(r->beat), "%.150sbeat", r->all);
    snprintf(r->format, sizeof(r->format), "%.150sformat", r->all);
    snprintf(r->order, sizeof(r->order), "%.150sorder", r->all);
    snprintf(r->changes, sizeof(r->changes), "%.150schanges", r->all);
    snprintf(r->members, sizeof(r->members), "%.150smember/", r->all);
    snprintf(r->rows, sizeof(r->rows), "%.150srow/", r->all);
}

static void init(struct replica *r, const struct replica_input *in)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&r->mutex, NULL);
    r->in = *in;
    r->keeps_after = UINT64_MAX;
    r->answered_us = clock_now_us();
    etcd_init(&r->to_send, in->config);
    etcd_init(&r->to_receive, in->config);
    name_keys(r);
}

int replica_start(const struct replica_input *in, struct replica **ret, char *why, size_t why_len)
{
    struct replica *r = calloc(1, sizeof(*r));
    snprintf(why, why_len, "%s", fab_base_status_text(FAB_E_NOMEM));
    if (r == NULL)
        return FAB_E_NOMEM;
    init(r, in);
    int status = store_replicate(in->store, on_marked, r);
    if (status == FAB_OK)
        r->instance = store_instance(in->store);
    if (status == FAB_OK && r->instance == 0)
        status = FAB_E_IO;
    if (status != FAB_OK)
        snprintf(why, why_len, "replication cannot start: the database cannot be written");
    if (status == FAB_OK)
        status = store_pending_open(in->store, &r->pending, why, why_len);
    r->timer = loop_timer_new(in->loop, on_look, r);
    if (status == FAB_OK && r->timer == NULL)
        status = FAB_E_NOMEM;
    if (status == FAB_OK)
        r->has_receiver = thread_start(&r->receiver, replica_receive, r) == 0;
    if (r->has_receiver)
        r->has_sender = thread_start(&r->sender, replica_send, r) == 0;
    if (status == FAB_OK && !r->has_sender)
        status = FAB_E_NOMEM;
    if (status == FAB_OK) {
        loop_timer_set(r->timer, LOOK_US);
        *ret = r;
    } else {
        replica_stop(r);
    }
    return status;
}

/* Before an orderly stop, waits a short time, so that the sender can send the last changes. */
static void send_last(struct replica *r)
{
    uint64_t mark = r->has_sender ? store_marked_version(r->in.store) : 0;
    uint64_t until = clock_now_us() + LAST_US;
    pthread_mutex_lock(&r->mutex);
    while (mark != 0 && !has_sent(r, mark) && clock_now_us() < until)
        replica_wait(r, 5000);
    pthread_mutex_unlock(&r->mutex);
}

void replica_stop(struct replica *r)
{
    if (r == NULL)
        return;
    send_last(r);
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    etcd_end(&r->to_send);
    etcd_end(&r->to_receive);
    if (r->has_sender)
        pthread_join(r->sender, NULL);
    if (r->has_receiver)
        pthread_join(r->receiver, NULL);
    store_stop_marked(r->in.store);
    store_pending_close(r->pending);
    etcd_fini(&r->to_send);
    etcd_fini(&r->to_receive);
    loop_timer_free(r->timer);
    free(r->announce);
    free(r->heard_order);
    replica_record_fini(r);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}
