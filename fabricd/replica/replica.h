/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares state with the other managers of the fabric through etcd. The state is what a manager must
 * know to take over: LID leases, decisions of operators, and what hosts registered
 * (fabricd/store/replicated.h).
 *
 * The manager that was elected master leads: its sender thread sends each changed row to etcd. All
 * other managers follow: their receiver threads store the rows in their own databases. The code in
 * this folder does not decide which manager is master, and the master continues to work if etcd
 * cannot be reached. These are the keys in etcd:
 *
 *     PREFIX/SUBNET/leader        who leads; the revision of this key fences each transaction
 *     PREFIX/SUBNET/beat          when the leader last sent, and how many rows it had left to send
 *     PREFIX/SUBNET/row/TABLE/KEY the rows
 *     PREFIX/SUBNET/order         the up/down order that all active paths follow (announce.c)
 *     PREFIX/SUBNET/changes       the LFT blocks that the leader has changed (changes.c)
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
    /* configuration; it must exist as long as the replica */
    const struct config_replication *config;
    uint64_t subnet_prefix;
    uint64_t port_guid; /* port GUID of this manager */
    /* check value of the wrapping key (store_wrap_check); 0: there is no wrapping key */
    uint64_t wrapping_check;
};
/* Starts the replica, as a follower. From now on, the store marks changed rows. Returns OK; or
 * NOMEM, IO or an error of sql_status (fabricd/store/sql.h), with a sentence in why[]. The function
 * does not wait for etcd. */
int replica_start(const struct replica_input *in, struct replica **ret, char *why, size_t why_len);
void replica_stop(struct replica *r); /* r may be NULL */

/* To be called when this manager was elected master. It then claims the key `leader`, and stores
 * all rows that other managers sent before the claim. */
void replica_lead(struct replica *r);
/* To be called when another manager is master. This manager gives up its lead or its claim. */
void replica_follow(struct replica *r);
/* Returns true if this manager is level: it has stored all rows that others sent before its
 * claim. */
bool replica_is_level(const struct replica *r);
/* Returns a number that identifies this manager's claim, if this manager is level; 0: it is not
 * level. */
int64_t replica_level_claim(const struct replica *r);
/* Returns how many rows of other managers this manager has stored since the replica started. */
uint64_t replica_changes(const struct replica *r);
/* Returns the port GUID of the leader before this manager; 0: none, or not known yet. */
uint64_t replica_former_guid(const struct replica *r);
/* Returns true if this manager has everything that the former leader had: in its last beat, the
 * former leader had no rows left to send, and no host had registered anything for some time. Also
 * returns true if there was no former leader. */
bool replica_former_was_level(const struct replica *r);
/* Returns true if another manager could take over now without losing anything: a majority has
 * confirmed all rows, and the last beat says that none is left. If not, the sender sends the rest
 * without its usual pause before a beat; while the caller waits for this, hosts must not be able to
 * register. Also returns true if waiting would not help: this manager
 * does not lead, or no majority answers. */
bool replica_has_sent_all(struct replica *r);
/* Returns true if the manager with this port GUID shares the state at present, and its wrapping key
 * is that of this manager. */
bool replica_shares_keys_with(const struct replica *r, uint64_t port_guid);
/* Waits, at most for `us` microseconds, until the receiver has read the rows of the other managers,
 * or has found that this manager does not understand them. Returns true if it has read them. */
bool replica_await_rows(struct replica *r, uint64_t us);
/* Returns true if this manager understands the rows of the other managers, or their format is not
 * known yet. Otherwise, why[] has a sentence. */
bool replica_understands(const struct replica *r, char *why, size_t why_len);
/* Sets the only listener fn. It is called on the loop thread, shortly after rows of other managers
 * were stored, while this manager follows or is level. */
void replica_on_news(struct replica *r, void (*fn)(void *ctx), void *ctx);

/* ---- the announcement of the leader: the order of the switches that the active tables follow ----
 *
 * If another manager takes over, it may rely on the order that the leader has announced last. After
 * a claim, a leader has announced none. */

/* Announces the order guid[count]: node GUIDs of switches. links: a hash of the links that paths
 * may use. guid NULL: the tables are changing, and follow no order. Does not wait. */
void replica_announce(struct replica *r, const uint64_t *guid, uint32_t count, uint64_t links);
/* Returns true if no other manager relies any more on an earlier announcement of this manager. The
 * caller has waited for this since the time since_us (monotonic clock). If no majority confirms the
 * present announcement, the function returns true 6 s (EXPIRY_US) after the last answer of etcd. */
bool replica_is_announced(const struct replica *r, uint64_t since_us);
/* Returns a number that identifies the last announcement that arrived from any leader; 0: none
 * has arrived. */
int64_t replica_order_revision(const struct replica *r);
/* An announced order. */
struct replica_order {
    int64_t revision; /* number of the announcement (replica_order_revision) */
    uint64_t *guid;   /* [count] node GUIDs of the switches, in their order */
    uint32_t count;
    uint64_t links; /* hash of the links that paths may use; 0: not announced */
};
/* Returns the number of the last announcement that arrived. *ret_claim: number of the claim that it
 * belongs to; 0: none. *ret_links: the hash of its links; 0: it announced no order, or no links. */
int64_t replica_order_links(const struct replica *r, int64_t *ret_claim, uint64_t *ret_links);
/* Returns the order that the former leader had announced last. Returns NOT_FOUND if it had
 * announced none, if it may have changed the tables since, or if this manager is not level. Also
 * returns INVAL or NOMEM. An error, too, changes *ret: only ret->revision is then valid. The caller
 * frees ret->guid. */
int replica_former_order(const struct replica *r, struct replica_order *ret);

/* ---- the record of changes: what the leader has changed in the tables of the switches ---- */

/* Records the changes with the numbers first to last, which the text names. first: the number after
 * replica_recorded; a call replaces the record before. Does not wait. */
void replica_record_changes(struct replica *r, uint64_t first, uint64_t last, const char *text);
/* Returns the number of the last change in a record that a majority has confirmed; 0: none. */
uint64_t replica_recorded(const struct replica *r);
/* A record that has arrived. claim: number of the leader's claim; 0: the record cannot be read.
 * first, last: the numbers of the changes that `text` names. If there are none, the text is "". */
struct replica_changes {
    int64_t claim;
    uint64_t first, last;
    char *text;
};
/* Takes the next record that has arrived from another leader; the caller frees ret->text. Returns
 * false if there is none. */
bool replica_next_changes(struct replica *r, struct replica_changes *ret);
/* Sets the only listener fn. It is called on the loop thread, shortly after records arrived. */
void replica_on_changes(struct replica *r, void (*fn)(void *ctx), void *ctx);

enum replica_role { REPLICA_FOLLOWS, REPLICA_CLAIMS, REPLICA_LEADS };
struct replica_status {
    enum replica_role role;
    /* true: a majority of the etcd servers answers, and this manager understands the format of the
     * rows that the other managers have stored there (replica_understands) */
    bool quorum;
    uint64_t leader_guid; /* port GUID of the leader; 0: none, or not known */
    bool level;
    uint64_t pending;   /* number of rows of this manager that no majority has confirmed yet */
    uint64_t confirmed; /* number of rows that a majority has confirmed since the replica started */
    /* number of rows of other managers that this manager has stored since the replica started */
    uint64_t received;
    /* number of this manager's unconfirmed changes that were dropped since the replica started */
    uint64_t dropped;
    /* Unix time in us at which this manager, as leader, began the last transaction that a majority
     * has confirmed; 0: none. At this time, this manager still led. */
    int64_t confirmed_us;
    uint64_t commit_us; /* duration of the last transaction in us */
    /* for a follower: time in us since the last beat of the leader; 0: not known */
    uint64_t lag_us;
    int64_t revision;   /* revision of etcd in the last answer of a server */
    uint64_t lost_us;   /* time in us for which no majority has answered; 0: a majority answers */
    char endpoint[256]; /* address of the etcd server that the sender uses */
    char reason[300];   /* reason why `quorum` is false; "": it is true */
};
void replica_get_status(const struct replica *r, struct replica_status *ret);
/* replica_mark returns a number. replica_is_confirmed returns true if a majority has confirmed all
 * decisions of operators that were stored before replica_mark returned this number. */
uint64_t replica_mark(struct replica *r);
bool replica_is_confirmed(const struct replica *r, uint64_t mark);
/* Returns the number of this manager's unconfirmed changes that were dropped since the replica
 * started. After a drop, replica_is_confirmed can return true for a change that was dropped. */
uint64_t replica_dropped(const struct replica *r);

#endif
