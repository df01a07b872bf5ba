/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of fabricd/replica, for this folder only. There are three threads: the loop thread
 * (replica.c), the sender (send.c), and the receiver (receive.c).
 */
#ifndef FABRICD_REPLICA_STATE_H
#define FABRICD_REPLICA_STATE_H

#include <pthread.h>

#include "fabricd/replica/etcd.h"
#include "fabricd/replica/replica.h"
#include "fabricd/store/replicated.h"

/* maximum length of a key in etcd, without TABLE/KEY of the keys of rows */
#define REPLICA_KEY_MAX 200
#define REPLICA_MEMBERS 16
#define REPLICA_SEEN 4
/* maximum number of records of changes that wait for the loop thread */
#define REPLICA_HEARD 64

/* A reading of etcd that began at the time `us` (monotonic clock), and found etcd at this
 * revision. */
struct replica_seen {
    uint64_t us;
    int64_t revision;
};

/* The record of this manager's own changes (changes.c). */
struct replica_record {
    uint64_t first, last;
    char *text;       /* NULL: no changes, or no memory */
    uint64_t version; /* number of times that the record was replaced */
    /* The version, plus 1, of the last record that a majority has confirmed since this manager's
     * claim; 0: none. */
    uint64_t sent;
    uint64_t confirmed; /* `last` of the last record that a majority has confirmed */
};
/* A manager that shares the state (members.c). */
struct replica_member {
    uint64_t guid, instance; /* guid: port GUID of the manager. instance: number of its database */
    /* check value of its wrapping key (store_wrap_check); 0: it has none */
    uint64_t wrapping;
    int64_t revision;
    /* number of consecutive readings in which its key member/GUID had not changed */
    unsigned unchanged;
};

struct replica {
    struct replica_input in;
    /* Names of keys in etcd; they do not change. `all`: prefix of all keys. `rows`, `members`:
     * prefixes of the keys of rows and of managers. */
    char all[REPLICA_KEY_MAX], leader[REPLICA_KEY_MAX], beat[REPLICA_KEY_MAX],
        rows[REPLICA_KEY_MAX], members[REPLICA_KEY_MAX], format[REPLICA_KEY_MAX],
        order[REPLICA_KEY_MAX], changes[REPLICA_KEY_MAX];
    uint64_t instance; /* number of this manager's database (store_instance) */
    pthread_t sender, receiver;
    bool has_sender, has_receiver;
    /* etcd connections: to_send is only for the sender, to_receive only for the receiver */
    struct etcd to_send, to_receive;
    struct store_pending *pending; /* the marked rows; only for the sender */
    /* time in us of the next work of replica_tell; only for the sender */
    uint64_t tell_at_us;
    /* revision of the key `beat`; -1: not known, so that the sender must read it; only for the
     * sender */
    int64_t beat_revision;
    /* time in us (monotonic clock) at which a transaction with registrations of hosts was last
     * confirmed; 0: never; only for the sender */
    uint64_t registered_us;

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* signalled when a member that the mutex protects has changed */
    /* The mutex protects the members from here to `unsuited`. */
    bool stop;
    enum replica_role role;
    /* true: the store has marked rows since the sender last fetched the marked rows */
    bool marked;
    /* true: no host can register until the next batch of rows is read (replica_has_sent_all), so
     * its beat may say that nothing is left */
    bool final;
    bool been_read; /* true: the receiver has read all rows, and need not read them again before a
                     * claim */
    bool reread;    /* true: the receiver must read all rows again */
    int64_t fence;  /* revision of the key `leader` when this manager claimed it */
    /* Time in us (monotonic clock) of this manager's claim. If the receiver is interrupted because
     * its watch has not reported the claim, this member gets a later time, so that the next
     * interruption does not come too soon. */
    uint64_t claimed_us;
    unsigned answering; /* index of the etcd server that answered the sender last */
    /* All changes up to this revision of etcd are in the queue of the store. */
    int64_t received_revision;
    /* The version (number) of a mark. If a row of another manager arrives that is marked here, the
     * store removes the mark if the version of the mark is at most keeps_after, and otherwise keeps
     * both the mark and its own row (struct store_received). UINT64_MAX: the store removes all
     * marks of such rows. 0: it removes none, for one of two reasons: this manager led last, as far
     * as the receiver has heard, so its marks are newer than the rows in etcd; or this manager had
     * marked no row when it was elected. */
    uint64_t keeps_after;
    /* true: as far as the receiver has heard, another manager led last. (keeps_after does not tell
     * this after an election: it is 0 if this manager had marked no row.) */
    bool other_led;
    /* number of the last mark when this manager was elected master */
    uint64_t elected_version;
    /* time in us (monotonic clock) before which the sender must not claim again */
    uint64_t not_before_us;
    uint64_t leader_instance, leader_guid;
    bool had_former;      /* true: another manager led before this manager */
    uint64_t former_guid; /* port GUID of the manager that led before this one */
    /* time in us at which the last beat of another leader arrived (monotonic clock); 0: none has
     * arrived, or those that have arrived no longer count */
    uint64_t heard_us;
    uint64_t heard_pending;
    uint64_t confirmed_version;
    bool quorum;
    /* time in us of the first failure since the last answer (monotonic clock); 0: there was none */
    uint64_t failed_us;
    uint64_t left, confirmed, commit_us;
    /* number of rows that this manager had left to send, according to its last confirmed beat */
    uint64_t beat_left;
    int64_t confirmed_us, revision;
    char endpoint[256], reason[300];
    /* This manager's own announcement (announce.c), without the claim; NULL: "changing". version:
     * number of times that it was replaced. announced: the version that a majority has confirmed
     * since this manager's claim. */
    char *announce;
    uint64_t announce_version, announced;
    /* time in us (monotonic clock) after which no transaction was stored that lacks the present
     * announcement, as far as this manager knows */
    uint64_t answered_us;
    int64_t former_claim; /* revision of the key `leader` that this manager's claim replaced */
    /* the last readings of etcd by this manager as follower */
    struct replica_seen seen[REPLICA_SEEN];
    unsigned seen_count;
    /* revision of the last beat that arrived from the former leader, and a time in us (monotonic
     * clock) after which it was certainly stored; 0: none is known */
    int64_t beat_heard;
    uint64_t beat_after_us;
    /* the last value of the key `order` that arrived, and its revision; NULL: none */
    char *heard_order;
    int64_t heard_order_revision;
    struct replica_record record;
    /* [heard_count] the records of other leaders that the loop thread has not taken yet */
    struct replica_changes heard[REPLICA_HEARD];
    unsigned heard_count;
    struct replica_member member[REPLICA_MEMBERS];
    unsigned member_count;
    /* why this manager does not understand the rows of the other managers; "": it does */
    char unsuited[300];

    /* The members from here on are only for the loop thread. */
    struct loop_timer *timer;
    bool told_lost;
    uint64_t lost_us, told_drops, told_received;
    void (*news)(void *ctx);
    void *news_ctx;
    void (*changed)(void *ctx);
    void *changed_ctx;
};

/* Waits until another thread has changed a member and signals it (`wake`), at most for `us`
 * microseconds. Returns at once if the replica is being stopped. The caller holds the mutex. */
void replica_wait(struct replica *r, uint64_t us);
/* Returns true if this manager leads and is level. The caller holds the mutex. */
bool replica_level_locked(const struct replica *r);
/* Returns true if this manager was the last leader: the key `leader` has the number of its database
 * and its port GUID. The number alone is not enough, because a copied database has the same number.
 * The caller holds the mutex. */
bool replica_led_last(const struct replica *r);
/* To be called when another manager has led since this manager made the marks up to the number
 * keeps_after. What these marks would send is outdated. So the receiver reads all rows again and
 * drops these marks, and only then may this manager claim the key `leader`. The caller holds the
 * mutex. */
void replica_drop_marks(struct replica *r, uint64_t keeps_after);
/* Stores the leader that the value of the key `leader` names (`text`). Does nothing if the text has
 * another form. The caller holds the mutex. */
void replica_note_leader(struct replica *r, const char *text);

/* ---- format.c ---- */
void replica_format_text(char *ret, size_t len); /* Writes the value for the key `format`. */
/* Notes whether this manager understands the rows. `text`: value of the key `format`; NULL: the key
 * does not exist. The caller holds the mutex. */
void replica_note_format(struct replica *r, const char *text);
/* Reads the key `format` from etcd. Returns true if this manager understands the rows, and so may
 * lead. The caller does not hold the mutex. */
bool replica_suits(struct replica *r, struct etcd *e);

/* ---- announce.c; the caller holds the mutex, except for replica_announce_text and
 * replica_parse_order ---- */
/* To be called when this manager's claim of the lead was confirmed. */
void replica_announce_claimed(struct replica *r);
/* Returns the value for the key `order` if this manager leads and a majority has not confirmed it
 * yet, and its version; the caller frees the value. Otherwise, or if memory ran out, returns NULL,
 * and the version is 0. */
char *replica_announce_text(struct replica *r, uint64_t *ret_version);
/* To be called when a transaction with this version of the announcement (0: with none) has ended.
 * answered: etcd has answered it. */
void replica_announce_sent(struct replica *r, uint64_t version, bool answered);
/* To be called when this manager, as follower, has read etcd. The reading began at began_us, and
 * found this revision. */
void replica_announce_seen(struct replica *r, uint64_t began_us, int64_t revision);
/* To be called when a beat of the former leader has arrived. revision: the revision of this
 * beat. */
void replica_announce_beat(struct replica *r, int64_t revision);
/* To be called when the key `order` has arrived. Takes over the text. */
void replica_announce_heard(struct replica *r, char *text, int64_t revision);
/* Reads the value of the key `order` (replica_former_order). Returns NOT_FOUND if it announces no
 * order, or does not belong to this claim; also INVAL or NOMEM. An error clears *ret. */
int replica_parse_order(const char *text, int64_t claim, struct replica_order *ret);

/* ---- changes.c; the caller holds the mutex, except for replica_record_text ---- */
/* This manager's claim of the lead was confirmed. */
void replica_record_claimed(struct replica *r);
/* Returns the value for the key `changes` if this manager leads and a majority has not confirmed it
 * yet, and its version; the caller frees it. Otherwise returns NULL, and the version is 0. */
char *replica_record_text(struct replica *r, uint64_t *ret_version);
/* A majority has confirmed a transaction with this version of the record (0: with none). */
void replica_record_sent(struct replica *r, uint64_t version);
/* The key `changes` of another leader has arrived. */
void replica_record_heard(struct replica *r, const char *value);
void replica_record_fini(struct replica *r);

/* members.c: renews this manager's own key, and reads the keys of the others, at most once every
 * TELL_US. fence: revision of the key `leader`. Only for the sender, which must not hold the
 * mutex. */
void replica_tell(struct replica *r, int64_t fence);

void *replica_send(void *replica);    /* main function of the sender thread */
void *replica_receive(void *replica); /* main function of the receiver thread */

#endif
