/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender. While this manager leads, this thread sends marked rows to etcd, in the order in
 * which they changed, in transactions of at most ETCD_OPERATIONS operations. Each transaction also
 * renews the key `beat`. The keys `leader` and `beat` fence it: the transaction has no effect if
 * one of them has changed since the thread last read or wrote it. The fence of `beat` keeps the
 * transactions in order: if a transaction seemed lost and reaches etcd after a later one, it has no
 * effect.
 *
 * If the fence of `leader` does not hold, another manager has claimed the key. The thread does not
 * decide which of the two managers is master. The receiver thread reads what the other manager
 * sent. If this manager is still master after AGAIN_US, the thread claims the key again.
 *
 * While another manager leads, the thread reads the key `leader` every second, to know whether a
 * majority of the etcd servers answers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/base/thread.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define BEAT_US 1000000
/* Time in us that the sender waits for further rows after it has sent rows. If none come, it sends
 * a beat which says that no rows are left. */
#define REST_US 50000
#define RETRY_US 200000
#define AGAIN_US 3000000
/* Time in us that the other etcd servers have to answer after one server has failed. If none of
 * them answers, the majority counts as lost. */
#define OTHERS_US 1000000
/* Besides the rows, a transaction may change the keys `beat`, `order` and `changes`. */
#define ROWS (ETCD_OPERATIONS - 3)

/* ---- results --------------------------------------------------------------------------------- */

/* Notes whether a majority of the servers has answered. The caller holds the mutex. */
static void note_answer(struct replica *r, bool answered)
{
    uint64_t now = clock_now_us();
    if (answered || (r->quorum && r->failed_us == 0))
        r->failed_us = answered ? 0 : now;
    r->quorum = answered || (r->quorum && now < r->failed_us + OTHERS_US);
    if (answered)
        r->answering = r->to_send.at;
    r->revision = r->to_send.revision;
    snprintf(r->endpoint, sizeof(r->endpoint), "%s", etcd_endpoint(&r->to_send));
    snprintf(r->reason, sizeof(r->reason), "%s", r->quorum ? "" : r->to_send.why);
}

static void note_failure(struct replica *r)
{
    pthread_mutex_lock(&r->mutex);
    note_answer(r, false);
    replica_wait(r, RETRY_US);
    pthread_mutex_unlock(&r->mutex);
}

/* ---- following ------------------------------------------------------------------------------- */

static void observe(struct replica *r)
{
    char *value = NULL;
    int64_t revision;
    uint64_t began = clock_now_us();
    if (etcd_get(&r->to_send, r->leader, &value, &revision) != FAB_OK) {
        note_failure(r);
        return;
    }
    pthread_mutex_lock(&r->mutex);
    note_answer(r, true);
    if (value != NULL)
        replica_note_leader(r, value);
    bool follows = r->role == REPLICA_FOLLOWS;
    replica_announce_seen(r, began, r->to_send.revision);
    pthread_mutex_unlock(&r->mutex);
    if (follows) /* before a claim, replica_tell is left out, because the claim must not wait */
        replica_tell(r, value != NULL ? revision : 0);
    pthread_mutex_lock(&r->mutex);
    if (r->role == REPLICA_FOLLOWS)
        replica_wait(r, BEAT_US);
    pthread_mutex_unlock(&r->mutex);
    free(value);
}

/* ---- claiming -------------------------------------------------------------------------------- */

static int put_claim(struct replica *r, int64_t revision, bool *ret_done, int64_t *ret_revision)
{
    char value[120], format[60];
    snprintf(value, sizeof(value),
             "instance 0x%016" PRIx64 " port 0x%016" PRIx64 " time_us %" PRId64, r->instance,
             r->in.port_guid, clock_unix_us());
    replica_format_text(format, sizeof(format));
    const struct etcd_change change[] = {{r->format, format}, {r->leader, value}};
    const struct etcd_fence fence = {r->leader, revision};
    return etcd_commit(&r->to_send, &fence, 1, change, 2, ret_done, ret_revision);
}

/* Marks all rows, so that the first leader of a fabric sends all that it has. This is done before
 * the claim: if the manager crashed after a claim without marks, it would be the leader and never
 * send these rows. */
static void mark_all(struct replica *r)
{
    if (store_mark_all(r->in.store) == FAB_OK)
        store_flush(r->in.store);
}

/* Notes whether another manager led until now. value: value of the key `leader`, which was last
 * changed at `revision`; NULL: no manager has led yet. Returns false if the claim must wait,
 * because the receiver has not heard of the other manager yet, and must read all rows first.
 *
 * The sender must call this before the claim. Afterwards would be too late: the receiver may report
 * the claim before etcd's answer to the claim arrives, and the answer may even get lost. */
static bool note_former(struct replica *r, const char *value, int64_t revision)
{
    bool heard = true;
    pthread_mutex_lock(&r->mutex);
    if (value != NULL)
        replica_note_leader(r, value);
    if (value != NULL && !replica_led_last(r)) {
        heard = r->had_former || r->other_led || r->keeps_after != 0;
        r->had_former = true;
        r->former_guid = r->leader_guid;
        r->former_claim = revision;
    }
    if (!heard)
        replica_drop_marks(r, r->elected_version);
    pthread_mutex_unlock(&r->mutex);
    if (!heard)
        etcd_interrupt(&r->to_receive);
    return heard;
}

static void claim(struct replica *r)
{
    char *value = NULL;
    int64_t revision = 0, at = 0;
    bool done = false;
    int status = etcd_get(&r->to_send, r->leader, &value, &revision);
    if (status == FAB_OK && !note_former(r, value, revision)) {
        free(value);
        return;
    }
    if (status == FAB_OK && !replica_suits(r, &r->to_send))
        status = FAB_E_UNSUPPORTED;
    if (status == FAB_OK && value == NULL)
        mark_all(r);
    if (status == FAB_OK)
        status = put_claim(r, revision, &done, &at);
    free(value);
    if (status != FAB_OK) {
        note_failure(r);
        return;
    }
    pthread_mutex_lock(&r->mutex);
    note_answer(r, true);
    if (done && r->role == REPLICA_CLAIMS) {
        r->role = REPLICA_LEADS;
        r->fence = at;
        r->claimed_us = clock_now_us();
        r->beat_revision = -1;
        r->beat_left = UINT64_MAX;
        r->leader_instance = r->instance;
        r->leader_guid = r->in.port_guid;
        replica_announce_claimed(r);
        replica_record_claimed(r);
        pthread_cond_broadcast(&r->wake);
    }
    pthread_mutex_unlock(&r->mutex);
}

/* ---- leading --------------------------------------------------------------------------------- */

struct batch {
    struct store_rows rows;
    /* total number of marks, and version of the last mark, when this batch was read */
    uint64_t all, version;
    uint64_t left; /* number of rows left to send (count_left) */
    char beat[60], *key[ROWS];
    char *order; /* value for the key `order`; NULL: it does not change */
    uint64_t order_version;
    char *record; /* value for the key `changes`; NULL: it does not change */
    uint64_t record_version;
    struct etcd_change change[ETCD_OPERATIONS];
    size_t changes;
};

static void batch_fini(struct batch *b)
{
    for (size_t i = 0; i < b->rows.count; i++)
        free(b->key[i]);
    store_rows_fini(&b->rows);
    free(b->order);
    free(b->record);
    free(b);
}

static uint64_t count_registrations(const struct batch *b)
{
    uint64_t count = 0;
    for (size_t i = 0; i < b->rows.count; i++)
        count += store_is_registration(&b->rows.row[i]);
    return count;
}

/* Returns the time in us for which beats must still not say that no rows are left, because the last
 * registrations were sent less than REST_US ago. */
static uint64_t rest_of_pause(const struct replica *r)
{
    uint64_t now = clock_now_us();
    return r->registered_us != 0 && now < r->registered_us + REST_US
               ? r->registered_us + REST_US - now
               : 0;
}

/* Returns the number of rows that the beat of this batch reports as left to send. Registrations in
 * this batch count as left, because hosts may have registered more since the batch was read. For
 * the same reason, a batch without registrations that is read within REST_US after the last one
 * with registrations, for example because of a record of changes, reports one row. If this is the
 * last transaction of a master, the next master must then ask the hosts to register again. final:
 * no host can register now. */
static uint64_t count_left(const struct replica *r, const struct batch *b, bool final)
{
    uint64_t count = b->all - b->rows.count + count_registrations(b);
    return count == 0 && !final && rest_of_pause(r) > 0 ? 1 : count;
}

static int batch_new(struct replica *r, bool final, struct batch **ret)
{
    struct batch *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return FAB_E_NOMEM;
    b->version = store_marked_version(r->in.store);
    int status = store_pending_read(r->pending, ROWS, &b->rows, &b->all);
    for (size_t i = 0; status == FAB_OK && i < b->rows.count; i++) {
        const struct store_row *row = &b->rows.row[i];
        if (asprintf(&b->key[i], "%s%s/%s", r->rows, row->table, row->key) < 0) {
            b->key[i] = NULL;
            status = FAB_E_NOMEM;
        }
        b->change[b->changes++] = (struct etcd_change){b->key[i], row->value};
    }
    b->left = count_left(r, b, final);
    snprintf(b->beat, sizeof(b->beat), "pending %" PRIu64, b->left);
    b->change[b->changes++] = (struct etcd_change){r->beat, b->beat};
    b->order = replica_announce_text(r, &b->order_version);
    if (b->order != NULL)
        b->change[b->changes++] = (struct etcd_change){r->order, b->order};
    b->record = replica_record_text(r, &b->record_version);
    if (b->record != NULL)
        b->change[b->changes++] = (struct etcd_change){r->changes, b->record};
    if (status == FAB_OK)
        *ret = b;
    else
        batch_fini(b);
    return status;
}

/* Handles a failed fence: another manager has claimed the key `leader`. */
static void fenced(struct replica *r)
{
    log_notice("replica", "another manager leads the replication");
    pthread_mutex_lock(&r->mutex);
    note_answer(r, true);
    if (r->role == REPLICA_LEADS)
        r->role = REPLICA_CLAIMS;
    replica_drop_marks(r, UINT64_MAX);
    r->heard_us = 0; /* the beats that have arrived so far are not those of the new leader */
    r->not_before_us = clock_now_us() + AGAIN_US;
    pthread_mutex_unlock(&r->mutex);
}

static void sent(struct replica *r, struct batch *b, uint64_t took_us)
{
    size_t count = b->rows.count;
    if (count_registrations(b) > 0)
        r->registered_us = clock_now_us();
    uint64_t version = count < b->all ? b->rows.row[count - 1].version : b->version;
    bool more = count < b->all;
    if (count > 0 && store_put_confirmed(r->in.store, &b->rows) == FAB_OK)
        store_flush(r->in.store);
    /* the store now owns the rows, so batch_fini must not free them */
    for (size_t i = 0; i < count; i++)
        free(b->key[i]);
    pthread_mutex_lock(&r->mutex);
    note_answer(r, true);
    replica_announce_sent(r, b->order_version, true);
    replica_record_sent(r, b->record_version);
    if (r->role != REPLICA_FOLLOWS)
        r->left = b->all - count;
    r->beat_left = b->left;
    r->confirmed += count;
    r->commit_us = took_us;
    r->confirmed_us = clock_unix_us() - (int64_t)took_us;
    if (version > r->confirmed_version)
        r->confirmed_version = version;
    uint64_t rest = count > 0 ? REST_US : rest_of_pause(r);
    if (!more && !r->marked && r->role == REPLICA_LEADS)
        replica_wait(r, rest > 0 ? rest : BEAT_US);
    pthread_mutex_unlock(&r->mutex);
}

/* Reads the revision of the key `beat` from etcd, if it is not known. */
static int know_beat(struct replica *r)
{
    char *value = NULL;
    int status =
        r->beat_revision < 0 ? etcd_get(&r->to_send, r->beat, &value, &r->beat_revision) : FAB_OK;
    free(value);
    return status;
}

/* Handles a transaction whose fences did not hold. Either another manager has claimed the key
 * `leader`. Or an earlier transaction of this manager, which seemed lost, has reached etcd after
 * all; then the sender sends the rows again. */
static int refused(struct replica *r, int64_t fence)
{
    char *value = NULL;
    int64_t revision = 0;
    int status = etcd_get(&r->to_send, r->leader, &value, &revision);
    free(value);
    if (status == FAB_OK && revision != fence)
        fenced(r);
    return status;
}

static int commit(struct replica *r, struct batch *b, int64_t fence)
{
    bool done = false;
    int64_t revision = -1;
    uint64_t before = clock_now_us();
    int status = know_beat(r);
    const struct etcd_fence fences[] = {{r->leader, fence}, {r->beat, r->beat_revision}};
    if (status == FAB_OK)
        status = etcd_commit(&r->to_send, fences, 2, b->change, b->changes, &done, &revision);
    r->beat_revision = status == FAB_OK && done ? revision : -1;
    if (status == FAB_OK && !done)
        status = refused(r, fence);
    else if (status == FAB_OK) {
        sent(r, b, clock_now_us() - before);
        replica_tell(r, fence);
    }
    return status;
}

static void send_batch(struct replica *r, int64_t fence)
{
    struct batch *b = NULL;
    pthread_mutex_lock(&r->mutex);
    r->marked = false;
    bool final = r->final;
    r->final = false;
    pthread_mutex_unlock(&r->mutex);
    int status = batch_new(r, final, &b);
    if (status != FAB_OK) {
        snprintf(r->to_send.why, sizeof(r->to_send.why), "marked rows cannot be read: %s",
                 fab_base_status_text(status));
        note_failure(r);
        return;
    }
    uint64_t all = b->all;
    if (commit(r, b, fence) != FAB_OK) {
        pthread_mutex_lock(&r->mutex);
        if (r->role != REPLICA_FOLLOWS)
            r->left = all;
        replica_announce_sent(r, b->order_version, false);
        pthread_mutex_unlock(&r->mutex);
        note_failure(r);
    }
    batch_fini(b);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Returns true if this manager may claim the key now: the receiver has read the rows of the other
 * managers, and not_before_us has passed. If not, waits up to RETRY_US, and returns false. The
 * caller holds the mutex. */
static bool may_claim(struct replica *r)
{
    uint64_t now = clock_now_us();
    if (!r->been_read || now < r->not_before_us)
        replica_wait(r, RETRY_US);
    return r->been_read && now >= r->not_before_us;
}

void *replica_send(void *replica)
{
    struct replica *r = replica;
    thread_set_name("fabricd-replica");
    pthread_mutex_lock(&r->mutex);
    while (!r->stop) {
        enum replica_role role = r->role;
        int64_t fence = r->fence;
        bool claims = role == REPLICA_CLAIMS && may_claim(r);
        if (role == REPLICA_CLAIMS && !claims && r->quorum)
            continue;
        pthread_mutex_unlock(&r->mutex);
        if (role == REPLICA_LEADS)
            send_batch(r, fence);
        else if (claims)
            claim(r);
        else
            observe(r);
        pthread_mutex_lock(&r->mutex);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}
