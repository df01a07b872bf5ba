/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of changes: which LFT blocks the leader has changed. A standby manager reads these
 * again, instead of all blocks (fabricd/sm/apply/changed_blocks.c, behind.c).
 *
 * The leader writes its record to the key `changes`, in the transactions that send rows. Each value
 * is "claim CLAIM changes FIRST LAST TEXT". The leader numbers its changes from 1 on. FIRST is the
 * number after the last change that a majority had confirmed; so a value that no follower has seen,
 * because a later one has replaced it, leaves a gap only if it was confirmed. A follower that finds
 * a gap, or another claim, does not know what was changed, and reads all tables again.
 *
 * Nothing waits for the record. Whether a new master may repair routes does not depend on it
 * either: it reads again all blocks on which the proof of the repair relies, and needs the
 * announced order (announce.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/replica/state.h"

/* ---- the leader ------------------------------------------------------------------------------ */

void replica_record_changes(struct replica *r, uint64_t first, uint64_t last, const char *text)
{
    char *copy = strdup(text);
    pthread_mutex_lock(&r->mutex);
    free(r->record.text);
    /* without memory, the value has a gap: it says that the changes before `last` are not known */
    r->record = (struct replica_record){.first = copy != NULL ? first : last + 1,
                                        .last = last,
                                        .text = copy,
                                        .version = r->record.version + 1,
                                        .confirmed = r->record.confirmed};
    r->marked = true;
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->mutex);
}

uint64_t replica_recorded(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    uint64_t last = r->record.confirmed;
    pthread_mutex_unlock(&r->mutex);
    return last;
}

void replica_record_claimed(struct replica *r)
{
    r->record.sent = 0;
}

char *replica_record_text(struct replica *r, uint64_t *ret_version)
{
    char *text = NULL;
    pthread_mutex_lock(&r->mutex);
    const struct replica_record *x = &r->record;
    if (r->role == REPLICA_LEADS && x->sent != x->version + 1 &&
        asprintf(&text, "claim %" PRId64 " changes %" PRIu64 " %" PRIu64 " %s", r->fence, x->first,
                 x->last, x->text != NULL ? x->text : "") < 0)
        text = NULL;
    /* 1 is added, because a leader without changes sends its record, too */
    *ret_version = text != NULL ? x->version + 1 : 0;
    pthread_mutex_unlock(&r->mutex);
    return text;
}

void replica_record_sent(struct replica *r, uint64_t version)
{
    if (version == 0 || r->role != REPLICA_LEADS)
        return;
    r->record.sent = version;
    if (version == r->record.version + 1)
        r->record.confirmed = r->record.last;
}

/* ---- followers ------------------------------------------------------------------------------- */

/* Forgets the oldest record. What it named is then a gap. */
static void drop_first(struct replica *r)
{
    free(r->heard[0].text);
    r->heard_count--;
    memmove(r->heard, r->heard + 1, r->heard_count * sizeof(*r->heard));
}

void replica_record_heard(struct replica *r, const char *value)
{
    struct replica_changes x = {0};
    int len = 0;
    /* a value of another form is a gap, too: the manager behaves as if another leader had begun */
    if (sscanf(value, "claim %" SCNd64 " changes %" SCNu64 " %" SCNu64 " %n", &x.claim, &x.first,
               &x.last, &len) != 3 ||
        len == 0)
        x = (struct replica_changes){0};
    x.text = strdup(value + len);
    if (x.text == NULL)
        x.claim = 0;
    if (r->heard_count == REPLICA_HEARD)
        drop_first(r);
    r->heard[r->heard_count++] = x;
}

bool replica_next_changes(struct replica *r, struct replica_changes *ret)
{
    pthread_mutex_lock(&r->mutex);
    bool any = r->heard_count > 0;
    if (any) {
        *ret = r->heard[0];
        r->heard[0].text = NULL;
        drop_first(r);
    }
    pthread_mutex_unlock(&r->mutex);
    return any;
}

void replica_record_fini(struct replica *r)
{
    free(r->record.text);
    while (r->heard_count > 0)
        drop_first(r);
}
