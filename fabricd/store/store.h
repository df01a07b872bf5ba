/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store: SQLite (WAL, foreign keys, migrations), one writer thread with batches. Writes are
 * enqueued as values and never wait; reads for start-up and for the RPC go through their own
 * connection. Nothing on the path of a sweep waits for it.
 */
#ifndef FABRICD_STORE_STORE_H
#define FABRICD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/reroute.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/view/view.h"
#include "libfabmgr/wire/sa.h"

struct store;
/* Opens or creates DIR/fabricd.db and takes the lock of the directory (two managers on one state
 * directory: BUSY). Refuses, and changes nothing: corrupt or not ours (FORMAT), newer schema
 * (UNSUPPORTED), not writable (DENIED, NOT_FOUND, IO); why[] says what to do. */
int store_open(const char *dir, struct store **ret, char *why, size_t why_len);
void store_close(struct store *s); /* writes what is queued, then closes; NULL is fine */

int store_load_leases(struct store *s, struct fab_lease **ret, size_t *ret_count); /* malloc'd */
uint64_t store_last_event_seq(struct store *s);
uint64_t store_last_generation(struct store *s);

/* Enqueue; they copy or take a reference. Loss of memory is logged and drops the record. A set of
 * leases replaces the earlier one: ports that are not in it are away, and their leases stay until
 * their LIDs go to another port. A view of a fabric that did not change costs a hash (1-2 ms of the
 * writer at 13,000 nodes). */
void store_put_leases(struct store *s, const struct fab_lease *leases, size_t count);
void store_put_view(struct store *s, const struct fab_view *view, const char *reason,
                    uint64_t duration_us); /* registry of nodes/ports/links, table set record */
void store_put_event(struct store *s, const struct event *e);
void store_put_reroute(struct store *s,
                       const struct reroute *r); /* those of the last 10,000 generations are kept */
void store_journal_keep(struct store *s, uint32_t events);
/* Ports that an operator disabled: kept over restarts. */
void store_put_disabled(struct store *s, uint64_t node_guid, uint8_t port, bool disabled);
struct store_port {
    uint64_t node_guid;
    uint8_t port;
};
int store_load_disabled(struct store *s, struct store_port **ret, size_t *ret_count);
/* Likewise an end of each sick cable that is not isolated again, as an operator released it. */
void store_put_spared(struct store *s, uint64_t node_guid, uint8_t port, bool spared);
int store_load_spared(struct store *s, struct store_port **ret, size_t *ret_count);
/* Cables that routes keep away from: kept over restarts, by the end that is named first. */
struct store_isolated {
    uint64_t guid[2]; /* node GUIDs of both ends */
    uint8_t port[2];
    bool operated; /* by an operator */
    int64_t since_us;
    char name[2][128], cause[160];
};
void store_put_isolated(struct store *s, const struct store_isolated *link, bool isolated);
int store_load_isolated(struct store *s, struct store_isolated **ret, size_t *ret_count);

/* ---- what hosts registered at the subnet administrator ---------------------------------------
 */

/* Kept over restarts and crashes, and written at once, not gathered: see store_is_written. Each put
 * replaces what has the same key, or takes it away (`there` false: only the key counts). Loads give
 * malloc'd arrays, in the order of keys; rows that somebody spoilt by hand are left out. NOMEM, IO,
 * FORMAT. */
struct store_service { /* key: record.id, gid, pkey */
    struct fab_wire_service_record record;
    int64_t ends_us; /* Unix; 0: never */
    uint64_t owner;  /* GUID of the port that registered it */
};
void store_put_service(struct store *s, const struct store_service *service, bool there);
int store_load_services(struct store *s, struct store_service **ret, size_t *ret_count);

struct store_subscription { /* key: record.subscriber_gid, number */
    struct fab_wire_inform_info_record record;
    bool trusted; /* by one who knew the SM_Key */
};
void store_put_subscription(struct store *s, const struct store_subscription *subscription,
                            bool there);
int store_load_subscriptions(struct store *s, struct store_subscription **ret, size_t *ret_count);

/* A group that a join made; key: mgid. Members go with it, and are not written here. */
void store_put_group(struct store *s, const struct fab_wire_mc_member_record *group, bool there);
int store_load_groups(struct store *s, struct fab_wire_mc_member_record **ret, size_t *ret_count);
struct store_member { /* key: mgid, port_gid */
    uint64_t mgid[2], port_gid[2];
    uint8_t join_state, proxy_join;
};
void store_put_member(struct store *s, const struct store_member *member, bool there);
int store_load_members(struct store *s, struct store_member **ret, size_t *ret_count);

struct store_alias { /* key: port_guid, place */
    uint64_t port_guid, guid;
    uint16_t place; /* index in the port's GUIDInfo, 1.. */
};
void store_put_alias(struct store *s, const struct store_alias *alias, bool there);
int store_load_aliases(struct store *s, struct store_alias **ret, size_t *ret_count);

/* Whether all hosts were asked to register, since the database was made or had no such tables: if
 * not, what they registered before is not here. */
void store_put_asked(struct store *s);
bool store_was_asked(struct store *s);

/* How many records were put until now; and whether so many are in the database, so that a crash
 * takes none away. An answer to a host that registers waits for that. While the database cannot be
 * written all count as written: who waits would wait for long. */
uint64_t store_mark(struct store *s);
bool store_is_written(struct store *s, uint64_t mark);
/* The database is so far behind that no more should be put that can be refused. */
bool store_is_behind(struct store *s);

/* Records (events, table sets) that were lost because the database was behind. */
uint64_t store_dropped(struct store *s);
void store_flush(struct store *s); /* waits until all is written; tests and shutdown only */

/* Events with after < seq < before (0: no bound), at most limit, oldest or newest first; fn gets
 * each, and may not call the store. Events of the last 50 ms may not be there yet. */
int store_events(struct store *s, uint64_t after, uint64_t before, bool newest_first,
                 uint32_t limit, bus_handler *fn, void *ctx);
/* Reroutes of generations before `before` (0: no bound), newest first; likewise. */
int store_reroutes(struct store *s, uint64_t before, uint32_t limit, reroute_handler *fn,
                   void *ctx);

#endif
