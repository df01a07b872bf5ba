/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The SQL statements of the writer thread. Statements named _PUT write a row. Statements named
 * _ABSENT mark a row as no longer part of the fabric. Statements named _SEEN renew last_seen of all
 * rows that are part of the fabric. Statements named _GONE concern rows that are no longer part of
 * the fabric; a statement named _FORGET deletes those that are gone since before a time, and those
 * marked with gone_since = -1. Times are Unix seconds, except in columns whose names end with _us.
 */
#include "fabricd/store/sql.h"

#include <stdarg.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/gid.h"

static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_META_PUT] = "INSERT INTO meta(key, value) VALUES (?1, ?2) "
                     "ON CONFLICT(key) DO UPDATE SET value = excluded.value",

    [SQL_LEASE_PUT] =
        "INSERT INTO lease(port_guid, lid, lmc, first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?4) "
        "ON CONFLICT(port_guid) DO UPDATE SET lid = excluded.lid, lmc = excluded.lmc, "
        "last_seen = excluded.last_seen, current = 1",
    [SQL_LEASE_ABSENT] = "UPDATE lease SET current = 0, last_seen = ?2 WHERE port_guid = ?1",
    [SQL_LEASE_DELETE] = "DELETE FROM lease WHERE port_guid = ?1",
    [SQL_LEASE_SEEN] = "UPDATE lease SET last_seen = ?1 WHERE current = 1",

    [SQL_NODE_PUT] =
        "INSERT INTO node(guid, kind, description, ports, vendor_id, device_id, system_guid, "
        "first_seen, last_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) "
        "ON CONFLICT(guid) DO UPDATE SET kind = excluded.kind, description = excluded.description, "
        "ports = excluded.ports, vendor_id = excluded.vendor_id, device_id = excluded.device_id, "
        "system_guid = excluded.system_guid, last_seen = excluded.last_seen, current = 1",
    [SQL_NODE_ABSENT] =
        "UPDATE node SET current = 0, last_seen = ?2, gone_since = ?2 WHERE guid = ?1",
    [SQL_NODE_ALL_ABSENT] = "UPDATE node SET current = 0, gone_since = ?1 WHERE current = 1",
    [SQL_NODE_SEEN] = "UPDATE node SET last_seen = ?1 WHERE current = 1",

    [SQL_PORT_PUT] =
        "INSERT INTO port(node_guid, port, port_guid, lid, lmc, first_seen, last_seen) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT(node_guid, port) DO UPDATE SET "
        "port_guid = excluded.port_guid, lid = excluded.lid, lmc = excluded.lmc, "
        "last_seen = excluded.last_seen, current = 1",
    [SQL_PORT_ABSENT] =
        "UPDATE port SET current = 0, last_seen = ?2 WHERE node_guid = ?1 AND current = 1",
    [SQL_PORT_ALL_ABSENT] = "UPDATE port SET current = 0 WHERE current = 1",
    [SQL_PORT_SEEN] = "UPDATE port SET last_seen = ?1 WHERE current = 1",

    [SQL_LINK_PUT] = "INSERT INTO link(node_a, port_a, node_b, port_b, width, speed, first_seen, "
                     "last_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) "
                     "ON CONFLICT(node_a, port_a, node_b, port_b) DO UPDATE SET "
                     "width = excluded.width, speed = excluded.speed, "
                     "last_seen = excluded.last_seen, current = 1",
    [SQL_LINK_ABSENT] = "UPDATE link SET current = 0, last_seen = ?5, gone_since = ?5 "
                        "WHERE node_a = ?1 AND port_a = ?2 AND node_b = ?3 AND port_b = ?4",
    [SQL_LINK_ALL_ABSENT] = "UPDATE link SET current = 0, gone_since = ?1 WHERE current = 1",
    [SQL_LINK_SEEN] = "UPDATE link SET last_seen = ?1 WHERE current = 1",

    [SQL_GONE_NODES_EXCESS] =
        "UPDATE node SET gone_since = -1 WHERE current = 0 AND guid IN (SELECT guid FROM node "
        "WHERE current = 0 ORDER BY gone_since DESC, guid LIMIT -1 OFFSET ?1)",
    [SQL_GONE_LINKS_EXCESS] =
        "UPDATE link SET gone_since = -1 WHERE current = 0 AND (node_a, port_a, node_b, port_b) IN "
        "(SELECT node_a, port_a, node_b, port_b FROM link WHERE current = 0 "
        "ORDER BY gone_since DESC, node_a, port_a LIMIT -1 OFFSET ?1)",
    [SQL_GONE_NODE_MARK] = "UPDATE node SET gone_since = -1 WHERE current = 0 AND guid = ?1",
    [SQL_GONE_PORTS_FORGET] = "DELETE FROM port WHERE node_guid IN (SELECT guid FROM node "
                              "WHERE current = 0 AND gone_since < ?1)",
    [SQL_GONE_LINKS_FORGET] = "DELETE FROM link WHERE current = 0 AND (gone_since < ?1 OR "
                              "node_a IN (SELECT guid FROM node WHERE current = 0 AND "
                              "gone_since < ?1) OR node_b IN (SELECT guid FROM node "
                              "WHERE current = 0 AND gone_since < ?1))",
    [SQL_GONE_NODES_FORGET] = "DELETE FROM node WHERE current = 0 AND gone_since < ?1",

    [SQL_SNAPSHOT_PUT] =
        "INSERT OR IGNORE INTO snapshot(name, time, automatic, made_by, hash, nodes, links, size, "
        "topology) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [SQL_SNAPSHOT_DELETE] = "DELETE FROM snapshot WHERE name = ?1",
    [SQL_SNAPSHOT_LAST_HASH] =
        "SELECT hash FROM snapshot WHERE automatic ORDER BY time DESC LIMIT 1",
    [SQL_SNAPSHOT_TRIM] =
        "DELETE FROM snapshot WHERE name IN (SELECT name FROM snapshot WHERE automatic "
        "ORDER BY time DESC, name LIMIT -1 OFFSET ?1)",
    [SQL_SNAPSHOT_SHRINK] =
        "DELETE FROM snapshot WHERE automatic AND name IN (SELECT name FROM (SELECT name, "
        "sum(size) OVER (ORDER BY automatic, time DESC, name) AS total FROM snapshot) "
        "WHERE total > ?1)",

    [SQL_SET_PUT] = "INSERT OR REPLACE INTO table_set(generation, time_us, engine, duration_us, "
                    "reason, deadlock_free, unreachable_pairs, switches, hosts, links) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_SET_TRIM] = "DELETE FROM table_set WHERE generation <= ?1",
    [SQL_EVENT_PUT] = "INSERT OR REPLACE INTO event(seq, time_us, severity, type, subject, "
                      "message, guid, port, fields, places) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                      "?7, ?8, ?9, ?10)",
    [SQL_PLACES_TRIM] = "UPDATE event SET places = NULL WHERE seq IN (SELECT seq FROM (SELECT seq, "
                        "sum(length(places)) OVER (ORDER BY seq DESC) AS total FROM event "
                        "WHERE places IS NOT NULL) WHERE total > ?1)",
    [SQL_EVENT_TRIM] =
        "DELETE FROM event WHERE seq IN (SELECT seq FROM event ORDER BY seq LIMIT ?1)",
    [SQL_EVENT_COUNT] = "SELECT count(*) FROM event",
    [SQL_DISABLED_PUT] =
        "INSERT OR IGNORE INTO disabled_port(node_guid, port, since) VALUES (?1, ?2, ?3)",
    [SQL_REROUTE_PUT] = "INSERT OR REPLACE INTO reroute(generation, time_us, cause, engine, "
                        "known_us, computed_us, proved_us, first_write_us, last_write_us, entries, "
                        "blocks, switches, failed, links_lost, links_gained, nodes_lost, "
                        "nodes_gained, lost_pairs, lost_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                        "?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    [SQL_REROUTE_TRIM] = "DELETE FROM reroute WHERE generation <= ?1",
    [SQL_DISABLED_DELETE] = "DELETE FROM disabled_port WHERE node_guid = ?1 AND port = ?2",
    [SQL_EXEMPT_PUT] =
        "INSERT OR IGNORE INTO spared_link(node_guid, port, since) VALUES (?1, ?2, ?3)",
    [SQL_EXEMPT_DELETE] = "DELETE FROM spared_link WHERE node_guid = ?1 AND port = ?2",
    [SQL_ISOLATED_PUT] = "INSERT OR REPLACE INTO isolated_link(node_a, port_a, node_b, port_b, "
                         "name_a, name_b, since_us, operated, cause) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [SQL_ISOLATED_DELETE] = "DELETE FROM isolated_link WHERE node_a = ?1 AND port_a = ?2",

    [SQL_DRAIN_PUT] =
        "INSERT OR REPLACE INTO drain(id, kind, name, since_us, until_us, person, reason, "
        "force) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [SQL_DRAIN_DELETE] = "DELETE FROM drain WHERE id = ?1",
    [SQL_DRAIN_NODE_PUT] = "INSERT OR REPLACE INTO drain_node(drain, guid) VALUES (?1, ?2)",
    [SQL_DRAIN_NODES_DELETE] = "DELETE FROM drain_node WHERE drain = ?1",
    [SQL_DRAIN_LINK_PUT] = "INSERT OR REPLACE INTO drain_link(drain, node_a, port_a, node_b, "
                           "port_b, name_a, name_b) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_DRAIN_LINKS_DELETE] = "DELETE FROM drain_link WHERE drain = ?1",

    [SQL_DEVICE_PUT] =
        "INSERT OR REPLACE INTO inventory_device(node_guid, name, type, vendor_id, device_id, "
        "hw_revision, firmware, firmware_date, psid, part, serial, revision, product, read_us) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [SQL_MODULES_DELETE] = "DELETE FROM inventory_module WHERE node_guid = ?1",
    [SQL_MODULE_PUT] =
        "INSERT OR REPLACE INTO inventory_module(node_guid, port, module, identifier, medium, "
        "vendor, part, serial, date, length_cm, power_mw, alarm, warning, revision, damaged) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    [SQL_GONE_DEVICES_FORGET] = "DELETE FROM inventory_device WHERE node_guid IN (SELECT guid "
                                "FROM node WHERE current = 0 AND gone_since < ?1)",
    [SQL_GONE_MODULES_FORGET] = "DELETE FROM inventory_module WHERE node_guid IN (SELECT guid "
                                "FROM node WHERE current = 0 AND gone_since < ?1)",

    [SQL_POLICY_PUT] = "INSERT OR REPLACE INTO policy_version(version, time_us, person, reason, "
                       "hash, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_POLICY_TRIM] = "DELETE FROM policy_version WHERE version <= ?1",

    [SQL_PIN_PUT] = "INSERT OR REPLACE INTO name_pin(node_guid, name, since_us, approved_by) "
                    "VALUES (?1, ?2, ?3, ?4)",
    [SQL_PIN_DELETE] = "DELETE FROM name_pin WHERE node_guid = ?1",

    [SQL_APPROVED_PUT] = "INSERT OR REPLACE INTO approved_place(node_guid, port, port_guid, "
                         "near_guid, near_port, is_switch, name, since_us, approved_by) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [SQL_APPROVED_EMPTY] = "DELETE FROM approved_place",

    [SQL_SERVICE_PUT] = "INSERT OR REPLACE INTO service(id, gid, pkey, ends_us, owner, record) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_SERVICE_DELETE] = "DELETE FROM service WHERE id = ?1 AND gid = ?2 AND pkey = ?3",
    [SQL_SUBSCRIPTION_PUT] = "INSERT OR REPLACE INTO subscription(gid, number, trusted, record) "
                             "VALUES (?1, ?2, ?3, ?4)",
    [SQL_SUBSCRIPTION_DELETE] = "DELETE FROM subscription WHERE gid = ?1 AND number = ?2",
    [SQL_GROUP_PUT] =
        "INSERT OR REPLACE INTO multicast_group(mgid, mlid, record) VALUES (?1, ?2, ?3)",
    [SQL_GROUP_DELETE] = "DELETE FROM multicast_group WHERE mgid = ?1",
    [SQL_GROUP_EMPTY] = "DELETE FROM multicast_member WHERE mgid = ?1",
    [SQL_MEMBER_PUT] = "INSERT OR REPLACE INTO multicast_member(mgid, gid, join_state, proxy_join) "
                       "VALUES (?1, ?2, ?3, ?4)",
    [SQL_MEMBER_DELETE] = "DELETE FROM multicast_member WHERE mgid = ?1 AND gid = ?2",
    [SQL_ALIAS_PUT] =
        "INSERT OR REPLACE INTO alias_guid(port_guid, place, guid) VALUES (?1, ?2, ?3)",
    [SQL_ALIAS_DELETE] = "DELETE FROM alias_guid WHERE port_guid = ?1 AND place = ?2",

    [SQL_AUDIT_PUT] = "INSERT INTO audit(seq, kind, time_us, call, result, account, source, "
                      "method, object, value_before, value_after, reason, message, mac) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [SQL_AUDIT_TRIM] = "DELETE FROM audit WHERE seq <= ?1",
};

int sql_status(int code)
{
    /* the lowest 8 bits of an extended result code are the primary result code */
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return FAB_OK;
    case SQLITE_NOMEM:
        return FAB_E_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return FAB_E_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return FAB_E_FORMAT;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return FAB_E_DENIED;
    case SQLITE_CONSTRAINT:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_MISUSE:
        return FAB_E_INVAL;
    default:
        return FAB_E_IO;
    }
}

int sql_init(struct sql *q, sqlite3 *db)
{
    *q = (struct sql){.db = db};
    for (int i = 0; i < SQL_COUNT; i++) {
        int code = sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                      &q->statements[i], NULL);
        if (code != SQLITE_OK) {
            sql_fini(q);
            return sql_status(code);
        }
    }
    return FAB_OK;
}

void sql_fini(struct sql *q)
{
    for (int i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(q->statements[i]);
    *q = (struct sql){0};
}

static int bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    return text == NULL ? sqlite3_bind_null(stmt, at)
                        : sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

/* The texts of GUIDs and GIDs that are parameters of a statement. They must stay valid until SQLite
 * has run the statement. */
struct words {
    char text[4][SQL_GID_SIZE];
    unsigned used;
};

static void guid_text(uint64_t guid, char text[SQL_GUID_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    text[0] = '0';
    text[1] = 'x';
    for (int i = 0; i < 16; i++)
        text[2 + i] = hex[guid >> (60 - 4 * i) & 15];
    text[18] = '\0';
}

static void bind_guid(sqlite3_stmt *stmt, int at, uint64_t guid, struct words *w)
{
    guid_text(guid, w->text[w->used]);
    sqlite3_bind_text(stmt, at, w->text[w->used++], SQL_GUID_SIZE - 1, SQLITE_STATIC);
}

static void gid_text(const uint64_t gid[2], char text[SQL_GID_SIZE])
{
    char digits[SQL_GUID_SIZE];
    for (int half = 0; half < 2; half++) {
        guid_text(gid[half], digits);
        for (int group = 0; group < 4; group++, text += 5) {
            memcpy(text, digits + 2 + 4 * group, 4);
            text[4] = half == 1 && group == 3 ? '\0' : ':';
        }
    }
}

static void bind_gid(sqlite3_stmt *stmt, int at, const uint64_t *gid, struct words *w)
{
    gid_text(gid, w->text[w->used]);
    sqlite3_bind_text(stmt, at, w->text[w->used++], SQL_GID_SIZE - 1, SQLITE_STATIC);
}

/* Binds the next parameter of a statement. Type b (bytes) takes two arguments: a pointer, and the
 * number of bytes. */
static void bind_next(sqlite3_stmt *stmt, int at, char type, va_list *args, struct words *w)
{
    uint64_t guid;
    const void *bytes;
    switch (type) {
    case 'i':
        sqlite3_bind_int64(stmt, at, va_arg(*args, int64_t));
        break;
    case 't':
        bind_text(stmt, at, va_arg(*args, const char *));
        break;
    case 'b':
        bytes = va_arg(*args, const void *);
        sqlite3_bind_blob(stmt, at, bytes, va_arg(*args, int), SQLITE_STATIC);
        break;
    case 'G':
        bind_gid(stmt, at, va_arg(*args, const uint64_t *), w);
        break;
    default:
        guid = va_arg(*args, uint64_t);
        if (guid == 0 && type == 'g')
            sqlite3_bind_null(stmt, at);
        else
            bind_guid(stmt, at, guid, w);
    }
}

int sql_run(struct sql *q, enum sql_id id, const char *types, ...)
{
    struct words words = {.used = 0};
    sqlite3_stmt *stmt = q->statements[id];
    va_list args;
    va_start(args, types);
    for (int i = 0; types[i] != '\0'; i++)
        bind_next(stmt, i + 1, types[i], &args, &words);
    va_end(args);
    int code = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    return sql_status(code);
}

const char *sql_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text != NULL ? text : "";
}

int sql_number(struct sql *q, enum sql_id id, uint64_t *ret)
{
    sqlite3_stmt *stmt = q->statements[id];
    int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *ret = (uint64_t)sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return sql_status(code);
}

int sql_guid_parse(const char *text, uint64_t *ret)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t value = 0;
    if (text == NULL || strlen(text) != SQL_GUID_SIZE - 1 || text[0] != '0' || text[1] != 'x')
        return FAB_E_FORMAT;
    for (int i = 2; i < SQL_GUID_SIZE - 1; i++) {
        const char *at = strchr(hex, text[i]);
        if (at == NULL)
            return FAB_E_FORMAT;
        value = value << 4 | (uint64_t)(at - hex);
    }
    *ret = value;
    return FAB_OK;
}

int sql_gid_parse(const char *text, uint64_t ret[2])
{
    uint8_t bytes[16];
    int status = text != NULL ? fab_policy_gid_parse(text, bytes) : FAB_E_FORMAT;
    if (status == FAB_OK) {
        ret[0] = fab_base_get_be64(bytes);
        ret[1] = fab_base_get_be64(bytes + 8);
    }
    return status;
}
