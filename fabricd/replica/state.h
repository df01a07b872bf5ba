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

#define REPLICA_KEY_MAX 200 /* maximum length of a key without TABLE/KEY */
#define REPLICA_MEMBERS 16

/* A manager that shares the state (members.c). */
struct replica_member {
    uint64_t guid, instance; /* guid: of its port */
    uint64_t wrapping;       /* store_wrap_check of its wrapping key; 0: it has none */
    int64_t revision;
    unsigned unchanged; /* how often the record was read since it changed */
};

struct replica {
    struct replica_input in;
    /* Constant after the start. rows: the prefix of the keys of rows; all: the prefix of all
     * keys. */
    char all[REPLICA_KEY_MAX], leader[REPLICA_KEY_MAX], beat[REPLICA_KEY_MAX],
        rows[REPLICA_KEY_MAX], members[REPLICA_KEY_MAX], format[REPLICA_KEY_MAX];
    uint64_t instance; /* store_instance */
    pthread_t sender, receiver;
    bool has_sender, has_receiver;
    struct etcd to_send, to_receive; /* to_send belongs to the sender, to_receive to the receiver */
    struct store_pending *pending;   /* belongs to the sender */
    uint64_t tell_at_us;             /* when replica_tell works again; for the sender */
    /* Revision of the key `beat`, for the sender; -1: it must be read first. */
    int64_t beat_revision;

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* signalled when a member below has changed */
    /* The mutex protects the members from here to the next comment. */
    bool stop;
    enum replica_role role;
    bool marked;    /* rows were marked since the sender last read the marks */
    bool been_read; /* the receiver has read all rows at least once */
    bool reread;    /* the receiver must read all rows again */
    int64_t fence;  /* revision of this manager's claim */
    /* When this manager claimed the key, or the receiver was last interrupted because it did not
     * report the claim (monotonic clock). */
    uint64_t claimed_us;
    unsigned answering; /* index of the server that last answered the sender */
    /* All rows up to this revision are in the queue of the store. */
    int64_t received_revision;
    /* When rows of other managers arrive, marks up to this version are deleted (struct
     * store_received). */
    uint64_t keeps_after;
    uint64_t not_before_us; /* earliest time of the next claim (monotonic clock) */
    uint64_t leader_instance, leader_guid;
    bool had_former;      /* another manager led before this one */
    uint64_t former_guid; /* its port GUID */
    uint64_t heard_us; /* when the last beat of the leader arrived (monotonic clock); 0: not yet */
    uint64_t heard_pending;
    uint64_t confirmed_version;
    bool quorum;
    uint64_t failed_us; /* first failure since the last answer (monotonic clock); 0: none */
    uint64_t left, confirmed, commit_us;
    uint64_t beat_left; /* number in the last beat of this manager that was confirmed */
    int64_t confirmed_us, revision;
    char endpoint[256], reason[300];
    struct replica_member member[REPLICA_MEMBERS];
    unsigned member_count;
    char unsuited[300]; /* why this manager cannot read the rows of the others; "": it can */

    /* Only the loop thread uses the members from here on. */
    struct loop_timer *timer;
    bool told_lost;
    uint64_t lost_us, told_drops, told_received;
    void (*news)(void *ctx);
    void *news_ctx;
};

/* Waits until the state changes, at most for this time. The caller holds the mutex. */
void replica_wait(struct replica *r, uint64_t us);
/* Returns whether this manager leads and is level. The caller holds the mutex. */
bool replica_level_locked(const struct replica *r);
/* Returns whether this manager was the last leader, by the number of its database and its port
 * GUID. The number alone is not enough, because a copy of the database has the same one. The caller
 * holds the mutex. */
bool replica_led_last(const struct replica *r);
/* Notes the leader that the value of the key `leader` names. If the value has another format,
 * nothing changes. The caller holds the mutex. */
void replica_note_leader(struct replica *r, const char *text);

/* ---- format.c ---- */
void replica_format_text(char *ret, size_t len); /* the value of the key `format` */
/* Notes the value of the key; NULL: there is none. The caller holds the mutex. */
void replica_note_format(struct replica *r, const char *text);
/* Reads the key. Returns whether this manager may lead. Called without the mutex. */
bool replica_suits(struct replica *r, struct etcd *e);

/* members.c: from time to time, renews the record of this manager, and reads those of the others.
 * fence: revision of the key `leader`. Called by the sender, without the mutex. */
void replica_tell(struct replica *r, int64_t fence);

void *replica_send(void *replica);    /* the sender */
void *replica_receive(void *replica); /* the receiver */

#endif
