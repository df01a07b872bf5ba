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

/* maximum length of a key in etcd, apart from TABLE/KEY in the keys of rows */
#define REPLICA_KEY_MAX 200
#define REPLICA_MEMBERS 16

/* A manager that shares the state (members.c). */
struct replica_member {
    uint64_t guid, instance; /* guid: port GUID of the manager. instance: number of its database */
    /* what store_wrap_check returns for its wrapping key; 0: it has no wrapping key */
    uint64_t wrapping;
    int64_t revision;
    /* number of readings since the key member/GUID of the manager last changed */
    unsigned unchanged;
};

struct replica {
    struct replica_input in;
    /* Names of keys in etcd, constant after the start. rows, members: prefixes of the keys of rows
     * and of managers. all: prefix of all keys. */
    char all[REPLICA_KEY_MAX], leader[REPLICA_KEY_MAX], beat[REPLICA_KEY_MAX],
        rows[REPLICA_KEY_MAX], members[REPLICA_KEY_MAX], format[REPLICA_KEY_MAX];
    uint64_t instance; /* number of this manager's database (store_instance) */
    pthread_t sender, receiver;
    bool has_sender, has_receiver;
    struct etcd to_send, to_receive; /* to_send belongs to the sender, to_receive to the receiver */
    struct store_pending *pending;   /* belongs to the sender */
    /* time at which replica_tell does its next work; only the sender uses it */
    uint64_t tell_at_us;
    /* Revision of the key `beat`; -1: the sender must read it first. Only the sender uses it. */
    int64_t beat_revision;

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* signalled when one of the members below has changed */
    /* The mutex protects the members from here to the next comment. */
    bool stop;
    enum replica_role role;
    bool marked;    /* true: the store has marked rows since the sender last read the marked rows */
    bool been_read; /* true: the receiver has read all rows at least once */
    bool reread;    /* true: the receiver must read all rows again */
    int64_t fence;  /* revision of the key `leader` at this manager's claim */
    /* Time in us (monotonic clock) at which this manager claimed the key `leader`, or last
     * interrupted the receiver, because the receiver had not reported the claim. */
    uint64_t claimed_us;
    unsigned answering; /* index of the etcd server that last answered the sender */
    /* All rows up to this revision are in the queue of the store. */
    int64_t received_revision;
    /* When rows of other managers arrive, the store deletes the marks of this manager's rows up to
     * this version (struct store_received). */
    uint64_t keeps_after;
    uint64_t not_before_us; /* earliest time in us of the next claim (monotonic clock) */
    uint64_t leader_instance, leader_guid;
    bool had_former;      /* true: another manager led before this manager */
    uint64_t former_guid; /* port GUID of that other manager */
    /* time in us at which the last beat of the leader arrived (monotonic clock); 0: none has
     * arrived yet */
    uint64_t heard_us;
    uint64_t heard_pending;
    uint64_t confirmed_version;
    bool quorum;
    /* time in us of the first failure since the last answer (monotonic clock); 0: there was none */
    uint64_t failed_us;
    uint64_t left, confirmed, commit_us;
    /* number of rows left to send, according to the last confirmed beat of this manager */
    uint64_t beat_left;
    int64_t confirmed_us, revision;
    char endpoint[256], reason[300];
    struct replica_member member[REPLICA_MEMBERS];
    unsigned member_count;
    /* reason why this manager cannot read the rows of the other managers; "": it can read them */
    char unsuited[300];

    /* Only the loop thread uses the members from here on. */
    struct loop_timer *timer;
    bool told_lost;
    uint64_t lost_us, told_drops, told_received;
    void (*news)(void *ctx);
    void *news_ctx;
};

/* Waits until a member changes, at most for `us` microseconds. The caller holds the mutex. */
void replica_wait(struct replica *r, uint64_t us);
/* Returns true if this manager leads and is level. The caller holds the mutex. */
bool replica_level_locked(const struct replica *r);
/* Returns true if this manager was the last leader: the key `leader` has the number of its database
 * and its port GUID. The number alone is not enough, because a copy of the database has the same
 * number. The caller holds the mutex. */
bool replica_led_last(const struct replica *r);
/* Stores the leader that `text`, the value of the key `leader`, names. If the text has another
 * form, nothing changes. The caller holds the mutex. */
void replica_note_leader(struct replica *r, const char *text);

/* ---- format.c ---- */
void replica_format_text(char *ret, size_t len); /* the value of the key `format` */
/* Notes whether this manager understands the rows, according to the value of the key `format`;
 * NULL: the key does not exist. The caller holds the mutex. */
void replica_note_format(struct replica *r, const char *text);
/* Reads the key `format` from etcd. Returns true if this manager understands the rows, and so may
 * lead. The caller does not hold the mutex. */
bool replica_suits(struct replica *r, struct etcd *e);

/* members.c: renews the key of this manager, and reads the keys of the others. Does so only once
 * every TELL_US; calls in between do nothing. fence: revision of the key `leader`. The sender calls
 * this function, without the mutex. */
void replica_tell(struct replica *r, int64_t fence);

void *replica_send(void *replica);    /* the sender */
void *replica_receive(void *replica); /* the receiver */

#endif
