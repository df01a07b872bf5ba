/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The prepared SQL statements of the writer thread. For the folder fabricd/store only.
 */
#ifndef FABRICD_STORE_SQL_H
#define FABRICD_STORE_SQL_H

#include <sqlite3.h>
#include <stdint.h>

enum sql_id {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_META_PUT,
    SQL_LEASE_PUT,
    SQL_LEASE_ABSENT,
    SQL_LEASE_DELETE,
    SQL_LEASE_SEEN,
    SQL_NODE_PUT,
    SQL_NODE_ABSENT,
    SQL_NODE_ALL_ABSENT,
    SQL_NODE_SEEN,
    SQL_PORT_PUT,
    SQL_PORT_ABSENT,
    SQL_PORT_ALL_ABSENT,
    SQL_PORT_SEEN,
    SQL_LINK_PUT,
    SQL_LINK_ABSENT,
    SQL_LINK_ALL_ABSENT,
    SQL_LINK_SEEN,
    SQL_GONE_NODES_EXCESS,
    SQL_GONE_LINKS_EXCESS,
    SQL_GONE_NODE_MARK,
    SQL_GONE_PORTS_FORGET,
    SQL_GONE_LINKS_FORGET,
    SQL_GONE_NODES_FORGET,
    SQL_SNAPSHOT_PUT,
    SQL_SNAPSHOT_DELETE,
    SQL_SNAPSHOT_LAST_HASH,
    SQL_SNAPSHOT_TRIM,
    SQL_SNAPSHOT_SHRINK,
    SQL_SET_PUT,
    SQL_SET_TRIM,
    SQL_EVENT_PUT,
    SQL_PLACES_TRIM,
    SQL_EVENT_TRIM,
    SQL_EVENT_COUNT,
    SQL_DISABLED_PUT,
    SQL_DISABLED_DELETE,
    SQL_EXEMPT_PUT,
    SQL_EXEMPT_DELETE,
    SQL_ISOLATED_PUT,
    SQL_ISOLATED_DELETE,
    SQL_DRAIN_PUT,
    SQL_DRAIN_DELETE,
    SQL_DRAIN_NODE_PUT,
    SQL_DRAIN_NODES_DELETE,
    SQL_DRAIN_LINK_PUT,
    SQL_DRAIN_LINKS_DELETE,
    SQL_DEVICE_PUT,
    SQL_MODULES_DELETE,
    SQL_MODULE_PUT,
    SQL_GONE_DEVICES_FORGET,
    SQL_GONE_MODULES_FORGET,
    SQL_POLICY_PUT,
    SQL_POLICY_TRIM,
    SQL_PIN_PUT,
    SQL_PIN_DELETE,
    SQL_APPROVED_PUT,
    SQL_APPROVED_EMPTY,
    SQL_REROUTE_PUT,
    SQL_REROUTE_TRIM,
    SQL_SERVICE_PUT,
    SQL_SERVICE_DELETE,
    SQL_SUBSCRIPTION_PUT,
    SQL_SUBSCRIPTION_DELETE,
    SQL_GROUP_PUT,
    SQL_GROUP_DELETE,
    SQL_GROUP_EMPTY,
    SQL_MEMBER_PUT,
    SQL_MEMBER_DELETE,
    SQL_ALIAS_PUT,
    SQL_ALIAS_DELETE,
    SQL_AUDIT_PUT,
    SQL_AUDIT_TRIM,
    SQL_COUNT
};

struct sql {
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_COUNT];
};

/* Prepares all statements. Returns the errors of sql_status. */
int sql_init(struct sql *q, sqlite3 *db);
/* finalizes all statements; the caller closes the connection */
void sql_fini(struct sql *q);

/* Runs a statement that returns no rows. `types` has one letter for each parameter. i: int64_t. t:
 * a text; NULL is stored as NULL. g, x: uint64_t, a GUID; 0 is stored as NULL (g) or as 0 (x). G:
 * const uint64_t[2], a GID. b: two arguments, const void * and an int with the number of bytes.
 * Returns the errors of sql_status. */
int sql_run(struct sql *q, enum sql_id id, const char *types, ...);
/* Runs a statement without parameters that returns one number. Returns the errors of sql_status. */
int sql_number(struct sql *q, enum sql_id id, uint64_t *ret);

/* Returns the text in a column. Returns "" if the value is NULL, or if memory ran out. */
const char *sql_text(sqlite3_stmt *stmt, int column);

/* Converts a result code of SQLite to a status. After BUSY, IO, NOMEM and DENIED the caller may try
 * again. FORMAT: the file is damaged or not a database. INVAL: the statement violates the schema,
 * which is a bug in fabricd. */
int sql_status(int sqlite_code);

/* size in bytes of a GUID as text: "0x", 16 hexadecimal digits and the NUL */
#define SQL_GUID_SIZE 19
int sql_guid_parse(const char *text, uint64_t *ret); /* parses a GUID; returns OK or FORMAT */
/* size in bytes of a GID as text: eight groups of four hexadecimal digits, seven colons and the
 * NUL */
#define SQL_GID_SIZE 40
int sql_gid_parse(const char *text, uint64_t ret[2]); /* parses a GID; returns OK or FORMAT */

#endif
