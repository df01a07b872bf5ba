/* SPDX-License-Identifier: BSD-3-Clause */
/* The store keeps the manager's persistent data in a SQLite database with a write-ahead log. Each
 * function that writes puts a copy of the record into a queue and returns at once. The writer
 * thread writes the queue to the database, so that no sweep and no repair waits for the disk.
 * Functions that read the database wait for SQLite, but not for the writer thread; only the start
 * of the manager and RPCs call them. */
#ifndef FABRICD_STORE_STORE_H
#define FABRICD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/reroute.h"
#include "libfabmgr/address/address.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/discover/baseline.h"
#include "libfabmgr/discover/places.h"
#include "libfabmgr/policy/pins.h"
#include "libfabmgr/view/view.h"
#include "libfabmgr/wire/sa.h"

struct store;
/* Opens or creates DIR/fabricd.db and locks the directory. If an error is returned, the database
 * is not changed, and why[] says what to do.
 *
 * BUSY: another manager uses the directory, or a restore of a backup was interrupted. FORMAT: the
 * database is damaged, or belongs to another program. UNSUPPORTED: the schema is newer than this
 * fabricd. LIMIT: the path is too long. DENIED, NOT_FOUND, IO: the directory or the file cannot be
 * used. Also returns NOMEM. */
int store_open(const char *dir, struct store **ret, char *why, size_t why_len);
/* writes all queued records, and then closes the store; `s` may be NULL */
void store_close(struct store *s);

/* Loads the LID leases. *ret is an array from malloc. Returns OK, NOMEM, or an error of sql_status
 * (sql.h). */
int store_load_leases(struct store *s, struct fab_lease **ret, size_t *ret_count);
/* Loads the places at which ports were seen: both ends of each stored link. First come the links of
 * the last published fabric, then links that are gone, beginning with those that were seen last. A
 * port that was moved therefore has several places. *ret is an array from malloc, or NULL if no
 * place is stored. Returns OK, NOMEM, or an error of sql_status (sql.h). */
int store_load_places(struct store *s, struct fab_place **ret, size_t *ret_count);
uint64_t store_last_event_seq(struct store *s);
uint64_t store_last_generation(struct store *s);

/* The following functions put a copy of a record, or a reference to it, into the queue of the
 * writer thread. If memory runs out, they drop the record and log a message. A set of leases
 * replaces the earlier set. The lease of a port that is not in the new set stays reserved until
 * another port gets its LIDs. If a view has the same nodes, ports and links as the view before, the
 * writer only computes a hash over them (1-2 ms for 13,000 nodes). */
void store_put_leases(struct store *s, const struct fab_lease *leases, size_t count);
/* Stores the fabric of the view in the registry, and adds a row about its tables to table_set. Does
 * nothing if the view has no tables. */
void store_put_view(struct store *s, const struct fab_view *view, const char *reason,
                    uint64_t duration_us);
void store_put_event(struct store *s, const struct event *e);
/* Stores a reroute. The database keeps the last 10,000 of them. */
void store_put_reroute(struct store *s, const struct reroute *r);
void store_journal_keep(struct store *s, uint32_t events);
/* Ports that an operator disabled; they stay disabled after a restart. store_load_disabled and the
 * load functions below set *ret to an array from malloc, or to NULL if there are no rows. They
 * return OK, NOMEM, or an error of sql_status (sql.h). */
void store_put_disabled(struct store *s, uint64_t node_guid, uint8_t port, bool disabled);
struct store_port {
    uint64_t node_guid;
    uint8_t port;
};
int store_load_disabled(struct store *s, struct store_port **ret, size_t *ret_count);
/* Links that must not be isolated automatically, because an operator released them. node_guid and
 * port identify one end of the link. The exemption survives a restart. */
void store_put_exempt(struct store *s, uint64_t node_guid, uint8_t port, bool spared);
int store_load_exempt(struct store *s, struct store_port **ret, size_t *ret_count);
/* An isolated link; it stays isolated after a restart. The first end, guid[0] and port[0],
 * identifies the link. */
struct store_isolated {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
    bool operated; /* true: an operator requested the isolation */
    bool offence;  /* true: the link was isolated because its host misbehaved */
    int64_t since_us;
    char name[2][128], cause[160];
};
void store_put_isolated(struct store *s, const struct store_isolated *link, bool isolated);
int store_load_isolated(struct store *s, struct store_isolated **ret, size_t *ret_count);
/* Stores a pin (libfabmgr/policy/pins.h) under its node GUID; the member made_us is not stored. If
 * `there` is false, deletes the pin with this GUID. */
void store_put_pin(struct store *s, const struct fab_pin *pin, bool there);
int store_load_pins(struct store *s, struct fab_pin **ret, size_t *ret_count);
/* The baseline of approved devices (libfabmgr/discover/baseline.h); NULL: there is no baseline. A
 * new baseline replaces the earlier one in a single transaction, which is committed at once. */
void store_put_baseline(struct store *s, struct fab_baseline *baseline);
int store_load_baseline(struct store *s, struct fab_baseline **ret);

/* ---- what hosts registered at the subnet administrator --------------------------------------- */

/*
 * Registrations of hosts. They survive restarts and crashes, because the writer commits each of
 * them at once (see store_written).
 *
 * A put function replaces the row with the same key. If `there` is false, the function deletes this
 * row, and only the key in its argument matters. A load function returns an array from malloc, in
 * the order of keys, without rows that are not valid. It returns OK, NOMEM, or an error of
 * sql_status (sql.h).
 */
/* the key of the row is record.id, gid and pkey */
struct store_service {
    struct fab_wire_service_record record;
    /* Unix time in microseconds at which the registration ends; 0: it does not end */
    int64_t ends_us;
    /* GUID of the port that registered the service */
    uint64_t owner;
};
void store_put_service(struct store *s, const struct store_service *service, bool there);
int store_load_services(struct store *s, struct store_service **ret, size_t *ret_count);

/* the key of the row is record.subscriber_gid and number */
struct store_subscription {
    struct fab_wire_inform_info_record record;
    bool trusted; /* true: the subscriber's request carried the sa_key */
};
void store_put_subscription(struct store *s, const struct store_subscription *subscription,
                            bool there);
int store_load_subscriptions(struct store *s, struct store_subscription **ret, size_t *ret_count);

/* A multicast group that a host created by a join. The key of the row is mgid. If a group is
 * deleted, its members are deleted too. */
void store_put_group(struct store *s, const struct fab_wire_mc_member_record *group, bool there);
int store_load_groups(struct store *s, struct fab_wire_mc_member_record **ret, size_t *ret_count);
struct store_member { /* key of the row: mgid and port_gid */
    uint64_t mgid[2], port_gid[2];
    uint8_t join_state, proxy_join;
};
void store_put_member(struct store *s, const struct store_member *member, bool there);
int store_load_members(struct store *s, struct store_member **ret, size_t *ret_count);

struct store_alias { /* key of the row: port_guid and place */
    uint64_t port_guid, guid;
    /* index of the alias GUID in GUIDInfo of the port, from 1 */
    uint16_t place;
};
void store_put_alias(struct store *s, const struct store_alias *alias, bool there);
int store_load_aliases(struct store *s, struct store_alias **ret, size_t *ret_count);

/* store_put_asked stores that the manager has asked all hosts to register again (ClientReregister).
 * store_was_asked returns true if this was stored in this database. If it returns false, the
 * database may lack registrations of hosts. */
void store_put_asked(struct store *s);
bool store_was_asked(struct store *s);

/* Writes the name of the engine that computed the newest stored forwarding tables; "": no tables
 * are stored. */
void store_last_engine(struct store *s, char *ret, size_t len);

/* store_put_freeze stores the mode in which the manager is frozen; "": it is not frozen.
 * store_get_freeze reads this text. It returns false if the manager is not frozen, or if the text
 * does not fit into ret[]. */
void store_put_freeze(struct store *s, const char *text);
bool store_get_freeze(struct store *s, char *ret, size_t len);

/* store_mark returns how many records have entered the queue so far. A caller that has put a record
 * can later pass this number to store_written, to learn whether the record is committed.
 * STORE_FAILED: the last transaction failed, and will perhaps be repeated; or the record was in a
 * batch that lost records because they violate the schema. */
enum store_written { STORE_PENDING, STORE_WRITTEN, STORE_FAILED };
uint64_t store_mark(struct store *s);
enum store_written store_written(struct store *s, uint64_t mark);
/* Returns true if the writer has dropped a record since the start, because the record violates the
 * schema. The database may then lack records of earlier calls. The caller must therefore store a
 * registration again when a host repeats it, even if the registration has not changed. */
bool store_has_lost(struct store *s);
/* Returns true if the last transaction failed, or if the file of the database was deleted, moved or
 * replaced. A change that is stored now would probably be lost. */
bool store_is_failing(struct store *s);
struct store_health {
    bool failing; /* see store_is_failing */
    /* number of failures since the start; a failure counts even if a retry succeeds within
     * milliseconds */
    uint64_t failures;
    char reason[200]; /* reason of the last failure; "": there was none */
};
void store_get_health(struct store *s, struct store_health *ret);
/* Returns true if so many records are queued that the caller must refuse new registrations. */
bool store_is_behind(struct store *s);

/* Returns the number of records that were dropped because the writer was behind. Only events,
 * reroutes and records of published tables (store_put_view) can be dropped. */
uint64_t store_dropped(struct store *s);
/* Appends to the text the size of the database, and the rows and bytes of each table and index.
 * Uses a connection of its own. Reads the whole database, so call it on a worker thread. Calls
 * stopped() from time to time, and ends early if stopped() returns true; the text is then
 * incomplete. Returns OK or an error of sql_status (sql.h). */
int store_describe(const struct store *s, bool (*stopped)(void *ctx), void *ctx,
                   struct fab_text *to);
/* Waits until all queued records are written or a write fails. For tests and shutdown. */
void store_flush(struct store *s);

/* Calls fn for at most `limit` events, oldest or newest first. Their sequence numbers are above
 * `after` and below `before` (0: no upper limit). fn must not call the store. Events of the last 50
 * ms may be missing. Returns OK, NOMEM, or an error of sql_status (sql.h). */
int store_events(struct store *s, uint64_t after, uint64_t before, bool newest_first,
                 uint32_t limit, bus_handler *fn, void *ctx);
/* Calls fn for at most `limit` reroutes, newest first. Their generations are below `before` (0: no
 * limit). Returns OK or an error of sql_status (sql.h). */
int store_reroutes(struct store *s, uint64_t before, uint32_t limit, reroute_handler *fn,
                   void *ctx);

#endif
