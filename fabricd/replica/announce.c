/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The announcement: which order of the switches the active tables of the master follow
 * (fabricd/sm/apply/announce.c). A new master needs it before it has read all tables.
 *
 * The leader writes the announcement to the key `order`, in the transactions that send rows. The
 * text names the revision of the leader's claim. Each new claim therefore invalidates the
 * announcement of the leader before.
 *
 * A leader that gets no answer from etcd cannot replace its announcement. Announcements therefore
 * expire. A new leader uses the announcement of the former one only if a beat of the former leader
 * was stored within the last TRUST_US. The former leader waits EXPIRY_US after the last answer of
 * etcd, and then does what it could not announce. Both measure by their monotonic clocks. The
 * difference between the two times covers a transaction that etcd stores late.
 *
 * A follower cannot see when a beat was stored: the watch may have delivered it late. But it reads
 * the key `leader` all the time (send.c), and each answer has the revision of etcd. If the revision
 * of the beat is higher, the beat was stored after this read began.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/replica/state.h"
#include "libfabmgr/base/status.h"

#define TRUST_US 4000000
#define EXPIRY_US 6000000
/* Maximum number of switches in an announcement, which has 17 bytes for each. etcd accepts 1.5 MiB
 * in a transaction. */
#define SWITCHES_MAX 20000
/* Time in us for which a leader waits at least before it relies on the expiry. It may have been
 * stopped for a long time (SIGSTOP), and another manager may lead now. */
#define LEAST_US 300000
#define CHANGING "changing"
/* The word between the list of switches and the hash of the links. Managers of earlier versions
 * announce no hash. They do not understand an announcement that has one, and so do not rely on it.
 */
#define LINKS " links "
#define LINKS_LEN (sizeof(LINKS) - 1 + 16)

/* ---- the leader ------------------------------------------------------------------------------ */

/* Returns the text of an announcement without the claim. NULL: no memory. */
static char *text_of(const uint64_t *guid, uint32_t count, uint64_t links)
{
    if (guid == NULL || count > SWITCHES_MAX)
        return strdup(CHANGING);
    size_t room = 17 * (size_t)count + sizeof("order") + LINKS_LEN, at = sizeof("order") - 1;
    char *text = malloc(room);
    if (text == NULL)
        return NULL;
    memcpy(text, "order", sizeof("order"));
    for (uint32_t i = 0; i < count; i++, at += 17)
        snprintf(text + at, room - at, " %016" PRIx64, guid[i]);
    snprintf(text + at, room - at, LINKS "%016" PRIx64, links);
    return text;
}

void replica_announce(struct replica *r, const uint64_t *guid, uint32_t count, uint64_t links)
{
    char *text = text_of(guid, count, links);
    pthread_mutex_lock(&r->mutex);
    const char *was = r->announce != NULL ? r->announce : CHANGING;
    if (text == NULL || strcmp(text, was) != 0) {
        free(r->announce);
        r->announce = text; /* NULL: "changing", which needs no memory */
        r->announce_version++;
        r->marked = true;
        pthread_cond_broadcast(&r->wake);
    } else
        free(text);
    pthread_mutex_unlock(&r->mutex);
}

/* Returns true if the announcement of this manager is "changing", which is also what every new
 * claim implies. The caller holds the mutex. */
static bool is_changing(const struct replica *r)
{
    return r->announce == NULL || strcmp(r->announce, CHANGING) == 0;
}

void replica_announce_claimed(struct replica *r)
{
    r->announced = is_changing(r) ? r->announce_version : 0;
    r->answered_us = clock_now_us();
}

char *replica_announce_text(struct replica *r, uint64_t *ret_version)
{
    char *text = NULL;
    pthread_mutex_lock(&r->mutex);
    if (r->role == REPLICA_LEADS && r->announced != r->announce_version &&
        asprintf(&text, "claim %" PRId64 " %s", r->fence,
                 r->announce != NULL ? r->announce : CHANGING) < 0)
        text = NULL;
    *ret_version = text != NULL ? r->announce_version : 0;
    pthread_mutex_unlock(&r->mutex);
    return text;
}

void replica_announce_sent(struct replica *r, uint64_t version, bool answered)
{
    if (answered && version != 0 && r->role == REPLICA_LEADS)
        r->announced = version;
    /* A transaction without answer may still be stored. It matters only if it lacks the present
     * announcement. */
    if (answered || version != r->announce_version)
        r->answered_us = clock_now_us();
}

bool replica_is_announced(const struct replica *replica, uint64_t since_us)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    uint64_t now = clock_now_us();
    pthread_mutex_lock(&r->mutex);
    bool confirmed = r->role == REPLICA_LEADS && r->announced == r->announce_version;
    /* The announcement of another leader says nothing about this manager. */
    bool other_led = r->been_read && r->role != REPLICA_LEADS && !replica_led_last(r);
    bool expired = now >= r->answered_us + EXPIRY_US && now >= since_us + LEAST_US;
    pthread_mutex_unlock(&r->mutex);
    return confirmed || other_led || expired;
}

/* ---- other managers -------------------------------------------------------------------------- */

void replica_announce_seen(struct replica *r, uint64_t began_us, int64_t revision)
{
    r->seen[r->seen_count++ % REPLICA_SEEN] = (struct replica_seen){began_us, revision};
}

/* Returns a time after which the change with this revision was certainly stored; 0: none is
 * known. */
static uint64_t stored_after(const struct replica *r, int64_t revision)
{
    uint64_t after = 0;
    for (size_t i = 0; i < REPLICA_SEEN; i++)
        if (r->seen[i].revision < revision && r->seen[i].us > after)
            after = r->seen[i].us;
    return after;
}

void replica_announce_beat(struct replica *r, int64_t revision)
{
    r->beat_heard = revision;
    r->beat_after_us = stored_after(r, revision);
}

void replica_announce_heard(struct replica *r, char *text, int64_t revision)
{
    free(r->heard_order);
    r->heard_order = text;
    r->heard_order_revision = revision;
}

int64_t replica_order_revision(const struct replica *replica)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    pthread_mutex_lock(&r->mutex);
    int64_t revision = r->heard_order != NULL ? r->heard_order_revision : 0;
    pthread_mutex_unlock(&r->mutex);
    return revision;
}

/* Reads 16 hexadecimal digits. Returns false if one of the 16 characters is no such digit. */
static bool read_guid(const char *at, uint64_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t guid = 0;
    for (size_t i = 0; i < 16; i++) {
        const char *digit = at[i] != '\0' ? strchr(digits, at[i]) : NULL;
        if (digit == NULL)
            return false;
        guid = guid << 4 | (uint64_t)(digit - digits);
    }
    *ret = guid;
    return true;
}

int64_t replica_order_links(const struct replica *replica, int64_t *ret_claim, uint64_t *ret_links)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    *ret_claim = 0;
    *ret_links = 0;
    pthread_mutex_lock(&r->mutex);
    const char *links = r->heard_order != NULL ? strstr(r->heard_order, LINKS) : NULL;
    if (links != NULL && !read_guid(links + sizeof(LINKS) - 1, ret_links))
        *ret_links = 0;
    if (r->heard_order != NULL && sscanf(r->heard_order, "claim %" SCNd64, ret_claim) != 1)
        *ret_claim = 0;
    int64_t revision = r->heard_order != NULL ? r->heard_order_revision : 0;
    pthread_mutex_unlock(&r->mutex);
    return revision;
}

/* Reads the list of switches and the hash of the links. Returns OK, NOMEM, or INVAL. */
static int read_order(const char *text, struct replica_order *ret)
{
    const char *links = strstr(text, LINKS);
    size_t len = links != NULL ? (size_t)(links - text) : strlen(text), count = len / 17;
    if (len % 17 != 0 || count > SWITCHES_MAX ||
        (links != NULL &&
         (strlen(links) != LINKS_LEN || !read_guid(links + sizeof(LINKS) - 1, &ret->links))))
        return FAB_E_INVAL;
    uint64_t *guid = calloc(count + 1, sizeof(*guid));
    if (guid == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (text[17 * i] != ' ' || !read_guid(text + 17 * i + 1, &guid[i])) {
            free(guid);
            return FAB_E_INVAL;
        }
    }
    ret->guid = guid;
    ret->count = (uint32_t)count;
    return FAB_OK;
}

int replica_parse_order(const char *text, int64_t claim, struct replica_order *ret)
{
    char begin[60];
    int len = snprintf(begin, sizeof(begin), "claim %" PRId64 " order", claim);
    *ret = (struct replica_order){0};
    if (strncmp(text, begin, (size_t)len) != 0)
        return FAB_E_NOT_FOUND;
    return read_order(text + len, ret);
}

int replica_former_order(const struct replica *replica, struct replica_order *ret)
{
    struct replica *r = (struct replica *)(uintptr_t)replica;
    uint64_t now = clock_now_us();
    *ret = (struct replica_order){0};
    pthread_mutex_lock(&r->mutex);
    bool recent = r->beat_heard > r->former_claim && r->beat_after_us != 0 &&
                  now < r->beat_after_us + TRUST_US;
    int status = replica_level_locked(r) && r->had_former && recent && r->heard_order != NULL
                     ? replica_parse_order(r->heard_order, r->former_claim, ret)
                     : FAB_E_NOT_FOUND;
    ret->revision = r->heard_order_revision;
    pthread_mutex_unlock(&r->mutex);
    return status;
}
