/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares with the other managers of the fabric, by etcd, what a manager that takes over must know:
 * LID leases, decisions of operators, and what hosts registered (fabricd/store/replicated.h).
 *
 * The manager that the fabric elected leads: its sender thread sends each changed row to etcd. All
 * other managers follow: their receiver threads store the rows in their own databases. This room
 * does not decide which manager is master, and the master continues to work if etcd cannot be
 * reached. These are the keys in etcd:
 *
 *     PREFIX/SUBNET/leader        who leads; the revision of this key fences each transaction
 *     PREFIX/SUBNET/beat          when the leader last sent, and how many rows it had left to send
 *     PREFIX/SUBNET/row/TABLE/KEY the rows
 *     PREFIX/SUBNET/format        format of the rows (format.c)
 *     PREFIX/SUBNET/member/GUID   the managers that share the state
 *
 * All functions must be called on the loop thread.
 */
#ifndef FABRICD_REPLICA_REPLICA_H
#define FABRICD_REPLICA_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/store/store.h"

struct replica;
struct replica_input {
    struct loop *loop;
    struct bus *bus;
    struct store *store;
    const struct config_replication *config; /* must outlive the replica */
    uint64_t subnet_prefix;
    uint64_t port_guid;      /* of this manager */
    uint64_t wrapping_check; /* store_wrap_check of the wrapping key; 0: there is none */
};
/* Begins to mark changes in the store, and to follow. Returns OK, NOMEM, or IO with a sentence in
 * why[]. It does not wait for etcd. */
int replica_start(const struct replica_input *in, struct replica **ret, char *why, size_t why_len);
void replica_stop(struct replica *r); /* r may be NULL */

/* Call this function when the fabric has elected this manager. The manager claims the key `leader`,
 * and then stores all that other managers sent before the claim. */
void replica_lead(struct replica *r);
void replica_follow(struct replica *r); /* another manager is master */
/* Returns whether this manager is level: it has stored all that was sent before its claim. */
bool replica_is_level(const struct replica *r);
/* Returns how many rows of other managers this manager has stored since the start. */
uint64_t replica_changes(const struct replica *r);
/* Returns the port GUID of the manager that led before this one claimed the lead; 0: none, or not
 * known yet. */
uint64_t replica_former_guid(const struct replica *r);
/* Returns whether the last leader, according to its last beat, had sent all its rows, and no host
 * had registered anything for some time before. */
bool replica_former_was_level(const struct replica *r);
/* Returns whether a manager that took over now would know everything that this manager has stored:
 * a majority has confirmed all rows, and the last beat says that no row is left to send. If not,
 * the sender sends the rest without the usual pause before a beat. Also returns true if waiting
 * would be of no use, because this manager does not lead or no majority answers. */
bool replica_has_sent_all(struct replica *r);
/* Returns whether the manager of this port shares the state now, and has the same wrapping key. */
bool replica_shares_keys_with(const struct replica *r, uint64_t port_guid);
/* At the start, waits at most this time until the rows of the other managers were read. Returns
 * whether they were. */
bool replica_await_rows(struct replica *r, uint64_t us);
/* Returns whether this manager understands the rows of the others, as far as it has heard of them.
 * Otherwise why[] has a sentence. */
bool replica_understands(const struct replica *r, char *why, size_t why_len);
/* Sets the only listener, which is called after rows of other managers were stored, with a short
 * delay. */
void replica_on_news(struct replica *r, void (*fn)(void *ctx), void *ctx);

enum replica_role { REPLICA_FOLLOWS, REPLICA_CLAIMS, REPLICA_LEADS };
struct replica_status {
    enum replica_role role;
    bool quorum;          /* a majority of the etcd servers answers */
    uint64_t leader_guid; /* port GUID of the leader; 0: none, or not known */
    bool level;
    uint64_t pending;   /* rows of this manager that are not confirmed */
    uint64_t confirmed; /* rows that were confirmed since the start */
    uint64_t received;  /* rows of others that were stored since the start */
    uint64_t dropped;   /* unconfirmed changes of this manager that were dropped since the start */
    /* Unix time in microseconds at which a majority confirmed the last transaction of this manager
     * as leader; 0: none. */
    int64_t confirmed_us;
    uint64_t commit_us; /* duration of the last transaction */
    uint64_t lag_us;    /* for a follower: time since the last beat of the leader; 0: not known */
    int64_t revision;   /* revision of etcd in its last answer */
    uint64_t lost_us;   /* time since the majority was lost; 0: a majority answers */
    char endpoint[256]; /* the etcd server that is used */
    char reason[300];   /* why no majority answers; "": a majority answers */
};
void replica_get_status(const struct replica *r, struct replica_status *ret);
/* replica_mark returns a number. replica_is_confirmed returns true if a majority has confirmed all
 * decisions of operators that were stored before this number was returned. */
uint64_t replica_mark(struct replica *r);
bool replica_is_confirmed(const struct replica *r, uint64_t mark);

#endif
