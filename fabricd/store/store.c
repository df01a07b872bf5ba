/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the store, and reads from it. The functions that write pass records to the
 * writer thread.
 *
 * The store has three parts: the lock of the directory (lock.c), the writer thread with a
 * read-write connection (writer.c), and a read-only connection for the loop thread (this file). In
 * WAL mode both connections can work at the same time. The read-only connection shows all committed
 * records; records of the last 50 ms are usually not committed yet.
 */
#include "fabricd/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/store/backup.h"
#include "fabricd/store/fields.h"
#include "fabricd/store/hosts.h"
#include "fabricd/store/lock.h"
#include "fabricd/store/places.h"
#include "fabricd/store/schema.h"
#include "fabricd/store/state.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/status.h"

/* ---- opening and closing ---- */

static int open_database(struct store *s, const char *dir, char *why, size_t why_len)
{
    const char *path = s->path;
    sqlite3 *db = NULL;
    if ((size_t)snprintf(s->path, sizeof(s->path), "%s/fabricd.db", dir) >= sizeof(s->path)) {
        snprintf(why, why_len, "state directory %s: the path is too long", dir);
        return FAB_E_LIMIT;
    }
    if (store_restore_unfinished(dir, why, why_len))
        return FAB_E_BUSY;
    int status = schema_open(path, &schema_steps, &db, why, why_len);
    if (status != FAB_OK)
        return status;
    status = store_audit_start(s, dir, why, why_len);
    if (status != FAB_OK) {
        sqlite3_close(db);
        return status;
    }
    status = writer_start(db, path, &s->audit, &s->writer);
    if (status != FAB_OK) {
        snprintf(why, why_len, "%s cannot be used: %s", path, fab_base_status_text(status));
        return status;
    }
    return schema_open_reader(path, &s->reader, why, why_len);
}

int store_open(const char *dir, struct store **ret, char *why, size_t why_len)
{
    struct store *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        snprintf(why, why_len, "%s", fab_base_status_text(FAB_E_NOMEM));
        return FAB_E_NOMEM;
    }
    s->lock = s->audit.head_fd = -1;
    int status = lock_take(dir, &s->lock, why, why_len);
    if (status == FAB_OK)
        status = open_database(s, dir, why, why_len);
    if (status == FAB_OK)
        *ret = s;
    else
        store_close(s);
    return status;
}

/* Closes the store. Closes the read-only connection before the connection of the writer: the
 * connection that is closed last checkpoints the WAL, and a read-only connection cannot do this.
 * Releases the lock last. */
void store_close(struct store *s)
{
    if (s == NULL)
        return;
    sqlite3_close(s->reader);
    writer_stop(s->writer);
    if (s->audit.head_fd >= 0)
        close(s->audit.head_fd);
    lock_release(s->lock);
    free(s);
}

/* ---- writing ---- */

static void tell_no_memory(const char *what)
{
    log_error("store", "%s is not stored: %s", what, fab_base_status_text(FAB_E_NOMEM));
}

void store_put_leases(struct store *s, const struct fab_lease *leases, size_t count)
{
    struct fab_lease *copy = calloc(count > 0 ? count : 1, sizeof(*copy));
    if (copy == NULL) {
        tell_no_memory("a set of leases");
        return;
    }
    if (count > 0)
        memcpy(copy, leases, count * sizeof(*copy));
    writer_put_leases(s->writer, copy, count);
}

void store_put_view(struct store *s, const struct fab_view *view, const char *reason,
                    uint64_t duration_us)
{
    if (view->target == NULL)
        return;
    struct record *set = record_of_view(view, reason != NULL ? reason : "", duration_us);
    if (set == NULL)
        tell_no_memory("a table set");
    writer_put_view(s->writer, fab_view_ref(view), set);
}

void store_put_event(struct store *s, const struct event *e)
{
    struct record *r = record_of_event(e);
    if (r != NULL)
        writer_put_event(s->writer, r);
    else
        tell_no_memory("an event");
}

void store_put_disabled(struct store *s, uint64_t node_guid, uint8_t port, bool disabled)
{
    struct record *r = record_of_port(RECORD_DISABLED, node_guid, port, disabled);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        tell_no_memory("a disabled port");
}

void store_put_exempt(struct store *s, uint64_t node_guid, uint8_t port, bool spared)
{
    struct record *r = record_of_port(RECORD_EXEMPT, node_guid, port, spared);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        tell_no_memory("a spared link");
}

void store_put_isolated(struct store *s, const struct store_isolated *link, bool isolated)
{
    struct record *r = record_of_isolated(link, isolated);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        tell_no_memory("an isolated link");
}

void store_put_pin(struct store *s, const struct fab_pin *pin, bool there)
{
    struct record *r = record_of_pin(pin, there);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        tell_no_memory("a pinned name");
}

void store_put_baseline(struct store *s, struct fab_baseline *baseline)
{
    struct record *r = record_of_baseline(baseline);
    if (r != NULL)
        writer_put_urgent(s->writer, r);
    else
        tell_no_memory("the baseline");
}

static void put_hosts(struct store *s, const struct record_hosts *hosts)
{
    struct record *r = record_of_hosts(hosts);
    if (r != NULL)
        writer_put_urgent(s->writer, r);
    else
        tell_no_memory("what a host registered");
}

void store_put_service(struct store *s, const struct store_service *service, bool there)
{
    put_hosts(s, &(struct record_hosts){HOSTS_SERVICE, there, .service = *service});
}

void store_put_subscription(struct store *s, const struct store_subscription *subscription,
                            bool there)
{
    put_hosts(s, &(struct record_hosts){HOSTS_SUBSCRIPTION, there, .subscription = *subscription});
}

void store_put_group(struct store *s, const struct fab_wire_mc_member_record *group, bool there)
{
    put_hosts(s, &(struct record_hosts){HOSTS_GROUP, there, .group = *group});
}

void store_put_member(struct store *s, const struct store_member *member, bool there)
{
    put_hosts(s, &(struct record_hosts){HOSTS_MEMBER, there, .member = *member});
}

void store_put_alias(struct store *s, const struct store_alias *alias, bool there)
{
    put_hosts(s, &(struct record_hosts){HOSTS_ALIAS, there, .alias = *alias});
}

void store_put_asked(struct store *s)
{
    put_hosts(s, &(struct record_hosts){HOSTS_ASKED, true, .alias = {0}});
}

void store_put_freeze(struct store *s, const char *text)
{
    struct record *r = record_of_meta("freeze", text);
    if (r != NULL)
        writer_put_urgent(s->writer, r);
    else
        tell_no_memory("that the manager is frozen");
}

uint64_t store_mark(struct store *s)
{
    return writer_mark(s->writer);
}

enum store_written store_written(struct store *s, uint64_t mark)
{
    return writer_written(s->writer, mark);
}

bool store_has_lost(struct store *s)
{
    return writer_has_lost(s->writer);
}

bool store_is_failing(struct store *s)
{
    struct store_health health;
    writer_get_health(s->writer, &health);
    return health.failing;
}

void store_get_health(struct store *s, struct store_health *ret)
{
    writer_get_health(s->writer, ret);
}

bool store_is_behind(struct store *s)
{
    return writer_is_behind(s->writer);
}

void store_put_reroute(struct store *s, const struct reroute *reroute)
{
    struct record *r = record_of_reroute(reroute);
    if (r != NULL)
        writer_put_event(s->writer, r);
    else
        tell_no_memory("a reroute");
}

void store_journal_keep(struct store *s, uint32_t events)
{
    writer_keep(s->writer, events);
}

void store_flush(struct store *s)
{
    writer_flush(s->writer);
}

uint64_t store_dropped(struct store *s)
{
    return writer_dropped(s->writer);
}

/* ---- reading ---- */

int store_load_leases(struct store *s, struct fab_lease **ret, size_t *ret_count)
{
    struct lease_table table = {0};
    int status = lease_table_load(s->reader, &table);
    if (status != FAB_OK)
        return status;
    struct fab_lease *leases = calloc(table.count > 0 ? table.count : 1, sizeof(*leases));
    for (size_t i = 0; leases != NULL && i < table.count; i++)
        leases[i] = table.rows[i].lease;
    if (leases != NULL) {
        *ret = leases;
        *ret_count = table.count;
    }
    lease_table_fini(&table);
    return leases != NULL ? FAB_OK : FAB_E_NOMEM;
}

/* Reads one end of a link (end: 0 or 1) as a struct fab_place. Returns false if the row is not
 * valid because somebody edited it by hand. */
static bool read_place(sqlite3_stmt *stmt, int end, struct fab_place *ret)
{
    const char *guid = (const char *)sqlite3_column_text(stmt, 4 * end);
    const char *near = (const char *)sqlite3_column_text(stmt, 4 * !end);
    const char *port_guid = (const char *)sqlite3_column_text(stmt, 4 * end + 2);
    int64_t port = sqlite3_column_int64(stmt, 4 * end + 1);
    int64_t near_port = sqlite3_column_int64(stmt, 4 * !end + 1);
    *ret = (struct fab_place){.port = (uint8_t)port,
                              .near_port = (uint8_t)near_port,
                              .is_switch = sqlite3_column_int(stmt, 4 * end + 3) != 0};
    if (port_guid != NULL && sql_guid_parse(port_guid, &ret->port_guid) != FAB_OK)
        return false;
    return sql_guid_parse(guid, &ret->guid) == FAB_OK &&
           sql_guid_parse(near, &ret->near_guid) == FAB_OK && port >= 1 && port <= 254 &&
           near_port >= 1 && near_port <= 254;
}

static int read_places(sqlite3_stmt *stmt, struct fab_place **ret, size_t *ret_count)
{
    size_t room = 0;
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (*ret_count + 2 > room) {
            room = room > 0 ? 2 * room : 1024;
            struct fab_place *more = reallocarray(*ret, room, sizeof(*more));
            if (more == NULL)
                return FAB_E_NOMEM;
            *ret = more;
        }
        for (int end = 0; end < 2; end++)
            *ret_count += read_place(stmt, end, &(*ret)[*ret_count]);
    }
    return sql_status(code);
}

int store_load_places(struct store *s, struct fab_place **ret, size_t *ret_count)
{
    struct fab_place *places = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(
        s->reader,
        "SELECT node_a, port_a, (SELECT port_guid FROM port WHERE node_guid = node_a AND "
        "port = CASE a.kind WHEN 'switch' THEN 0 ELSE port_a END), a.kind = 'switch', "
        "node_b, port_b, (SELECT port_guid FROM port WHERE node_guid = node_b AND "
        "port = CASE b.kind WHEN 'switch' THEN 0 ELSE port_b END), b.kind = 'switch' "
        "FROM link JOIN node a ON a.guid = node_a JOIN node b ON b.guid = node_b "
        "ORDER BY link.current DESC, link.last_seen DESC, node_a, port_a",
        -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_places(stmt, &places, &count);
    sqlite3_finalize(stmt);
    if (status == FAB_OK) {
        *ret = places;
        *ret_count = count;
    } else {
        free(places);
    }
    return status;
}

static uint64_t read_number(struct store *s, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;
    if (sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number > 0 ? (uint64_t)number : 0;
}

uint64_t store_last_event_seq(struct store *s)
{
    return read_number(s, "SELECT max(seq) FROM event");
}

uint64_t store_last_generation(struct store *s)
{
    return read_number(s, "SELECT max(generation) FROM table_set");
}

static int read_ports(sqlite3_stmt *stmt, struct store_port **ret, size_t *ret_count)
{
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct store_port row;
        int64_t port = sqlite3_column_int64(stmt, 1);
        const char *guid = (const char *)sqlite3_column_text(stmt, 0);
        /* leave out a row that somebody edited by hand and that is not valid */
        if (sql_guid_parse(guid, &row.node_guid) != FAB_OK || port < 1 || port > 254)
            continue;
        struct store_port *more = reallocarray(*ret, *ret_count + 1, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        row.port = (uint8_t)port;
        more[(*ret_count)++] = row;
        *ret = more;
    }
    return sql_status(code);
}

static int load_ports(struct store *s, const char *sql, struct store_port **ret, size_t *ret_count)
{
    struct store_port *rows = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_ports(stmt, &rows, &count);
    sqlite3_finalize(stmt);
    if (status == FAB_OK) {
        *ret = rows;
        *ret_count = count;
    } else {
        free(rows);
    }
    return status;
}

int store_load_disabled(struct store *s, struct store_port **ret, size_t *ret_count)
{
    return load_ports(s, "SELECT node_guid, port FROM disabled_port ORDER BY node_guid, port", ret,
                      ret_count);
}

int store_load_exempt(struct store *s, struct store_port **ret, size_t *ret_count)
{
    return load_ports(s, "SELECT node_guid, port FROM spared_link ORDER BY node_guid, port", ret,
                      ret_count);
}

static void read_text(sqlite3_stmt *stmt, int column, char *to, size_t len)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    snprintf(to, len, "%s", text != NULL ? text : "");
}

/* Reads a row of table isolated_link. Returns false if the row is not valid because somebody edited
 * it by hand. */
static bool read_isolated_row(sqlite3_stmt *stmt, struct store_isolated *ret)
{
    *ret = (struct store_isolated){.since_us = sqlite3_column_int64(stmt, 6),
                                   .operated = sqlite3_column_int(stmt, 7) == 1,
                                   .offence = sqlite3_column_int(stmt, 7) == 2};
    for (int i = 0; i < 2; i++) {
        int64_t port = sqlite3_column_int64(stmt, 2 * i + 1);
        const char *guid = (const char *)sqlite3_column_text(stmt, 2 * i);
        if (sql_guid_parse(guid, &ret->guid[i]) != FAB_OK || port < 1 || port > 254)
            return false;
        ret->port[i] = (uint8_t)port;
        read_text(stmt, 4 + i, ret->name[i], sizeof(ret->name[i]));
    }
    read_text(stmt, 8, ret->cause, sizeof(ret->cause));
    return true;
}

static int read_isolated(sqlite3_stmt *stmt, struct store_isolated **ret, size_t *ret_count)
{
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct store_isolated row;
        if (!read_isolated_row(stmt, &row))
            continue;
        struct store_isolated *more = reallocarray(*ret, *ret_count + 1, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        more[(*ret_count)++] = row;
        *ret = more;
    }
    return sql_status(code);
}

int store_load_isolated(struct store *s, struct store_isolated **ret, size_t *ret_count)
{
    struct store_isolated *rows = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(
        s->reader,
        "SELECT node_a, port_a, node_b, port_b, name_a, name_b, since_us, operated, cause "
        "FROM isolated_link ORDER BY since_us, node_a, port_a",
        -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_isolated(stmt, &rows, &count);
    sqlite3_finalize(stmt);
    if (status == FAB_OK) {
        *ret = rows;
        *ret_count = count;
    } else {
        free(rows);
    }
    return status;
}

static int read_pins(sqlite3_stmt *stmt, struct fab_pin **ret, size_t *ret_count)
{
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct fab_pin row = {.since_us = sqlite3_column_int64(stmt, 2)};
        const char *guid = (const char *)sqlite3_column_text(stmt, 0);
        /* leave out a row that somebody edited by hand and that is not valid */
        if (sql_guid_parse(guid, &row.guid) != FAB_OK)
            continue;
        read_text(stmt, 1, row.name, sizeof(row.name));
        read_text(stmt, 3, row.by, sizeof(row.by));
        struct fab_pin *more = reallocarray(*ret, *ret_count + 1, sizeof(*more));
        if (more == NULL)
            return FAB_E_NOMEM;
        more[(*ret_count)++] = row;
        *ret = more;
    }
    return sql_status(code);
}

int store_load_pins(struct store *s, struct fab_pin **ret, size_t *ret_count)
{
    struct fab_pin *rows = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(
        s->reader, "SELECT node_guid, name, since_us, approved_by FROM name_pin ORDER BY node_guid",
        -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_pins(stmt, &rows, &count);
    sqlite3_finalize(stmt);
    if (status == FAB_OK) {
        *ret = rows;
        *ret_count = count;
    } else {
        free(rows);
    }
    return status;
}

/* Reads a row of table approved_place. Returns false if the row is not valid because somebody
 * edited it by hand. */
static bool read_approved(sqlite3_stmt *stmt, struct fab_approved *ret)
{
    int64_t port = sqlite3_column_int64(stmt, 1), near_port = sqlite3_column_int64(stmt, 4);
    *ret = (struct fab_approved){.since_us = sqlite3_column_int64(stmt, 7)};
    ret->place.port = (uint8_t)port;
    ret->place.near_port = (uint8_t)near_port;
    ret->place.is_switch = sqlite3_column_int(stmt, 5) != 0;
    read_text(stmt, 6, ret->name, sizeof(ret->name));
    read_text(stmt, 8, ret->by, sizeof(ret->by));
    return sql_guid_parse((const char *)sqlite3_column_text(stmt, 0), &ret->place.guid) == FAB_OK &&
           sql_guid_parse((const char *)sqlite3_column_text(stmt, 2), &ret->place.port_guid) ==
               FAB_OK &&
           sql_guid_parse((const char *)sqlite3_column_text(stmt, 3), &ret->place.near_guid) ==
               FAB_OK &&
           port >= 1 && port <= 254 && near_port >= 1 && near_port <= 254;
}

static int read_baseline(sqlite3_stmt *stmt, struct fab_approved **ret, size_t *ret_count)
{
    size_t room = 0;
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        if (*ret_count == room) {
            room = room > 0 ? 2 * room : 1024;
            struct fab_approved *more = reallocarray(*ret, room, sizeof(*more));
            if (more == NULL)
                return FAB_E_NOMEM;
            *ret = more;
        }
        *ret_count += read_approved(stmt, &(*ret)[*ret_count]);
    }
    return sql_status(code);
}

int store_load_baseline(struct store *s, struct fab_baseline **ret)
{
    struct fab_approved *list = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = NULL;
    *ret = NULL;
    if (read_number(s, "SELECT value FROM meta WHERE key = 'baseline'") == 0)
        return FAB_OK;
    int status = sql_status(sqlite3_prepare_v2(
        s->reader,
        "SELECT node_guid, port, port_guid, near_guid, near_port, is_switch, name, since_us, "
        "approved_by FROM approved_place ORDER BY node_guid, port",
        -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_baseline(stmt, &list, &count);
    sqlite3_finalize(stmt);
    if (status == FAB_OK)
        status = fab_discover_baseline_new(list, count, ret);
    free(list);
    return status;
}

bool store_was_asked(struct store *s)
{
    return read_number(s, "SELECT count(*) FROM meta WHERE key = 'hosts_asked'") > 0;
}

void store_last_engine(struct store *s, char *ret, size_t len)
{
    sqlite3_stmt *stmt = NULL;
    ret[0] = '\0';
    if (sqlite3_prepare_v2(s->reader,
                           "SELECT engine FROM table_set ORDER BY generation DESC LIMIT 1", -1,
                           &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0) != NULL)
        snprintf(ret, len, "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

bool store_get_freeze(struct store *s, char *ret, size_t len)
{
    sqlite3_stmt *stmt = NULL;
    const char *text = NULL;
    if (sqlite3_prepare_v2(s->reader, "SELECT value FROM meta WHERE key = 'freeze'", -1, &stmt,
                           NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(stmt, 0);
    bool found = text != NULL && text[0] != '\0' && strlen(text) < len;
    if (found)
        memcpy(ret, text, strlen(text) + 1);
    sqlite3_finalize(stmt);
    return found;
}

/* ---- what hosts registered ---- */

int store_load_services(struct store *s, struct store_service **ret, size_t *ret_count)
{
    return hosts_load(s->reader, HOSTS_SERVICE, ret, ret_count);
}

int store_load_subscriptions(struct store *s, struct store_subscription **ret, size_t *ret_count)
{
    return hosts_load(s->reader, HOSTS_SUBSCRIPTION, ret, ret_count);
}

int store_load_groups(struct store *s, struct fab_wire_mc_member_record **ret, size_t *ret_count)
{
    return hosts_load(s->reader, HOSTS_GROUP, ret, ret_count);
}

int store_load_members(struct store *s, struct store_member **ret, size_t *ret_count)
{
    return hosts_load(s->reader, HOSTS_MEMBER, ret, ret_count);
}

int store_load_aliases(struct store *s, struct store_alias **ret, size_t *ret_count)
{
    return hosts_load(s->reader, HOSTS_ALIAS, ret, ret_count);
}

/* ---- events ---- */

static enum event_severity severity_of(const char *name)
{
    static const char *const names[] = {"debug", "info", "warning"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum event_severity)i;
    return EVENT_ERROR;
}

/* Returns OK or NOMEM. */
static int hand_row(sqlite3_stmt *stmt, sqlite3_stmt *fields_reader, bus_handler *fn, void *ctx)
{
    struct fields fields;
    struct event_place *places = NULL;
    struct event e = {
        .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
        .time_us = sqlite3_column_int64(stmt, 1),
        .severity = severity_of(sql_text(stmt, 2)),
        .type = sql_text(stmt, 3),
        .subject = sql_text(stmt, 4),
        .message = sql_text(stmt, 5),
        .port = (uint32_t)sqlite3_column_int64(stmt, 7),
        .field_count = fields_read(fields_reader, sql_text(stmt, 8), &fields),
        .fields = fields.field,
    };
    if (sql_guid_parse(sql_text(stmt, 6), &e.guid) != FAB_OK)
        e.guid = 0;
    const void *packed = sqlite3_column_blob(stmt, 9);
    int rc = places_unpack(packed, (size_t)sqlite3_column_bytes(stmt, 9), &places, &e.place_count);
    e.places = places;
    if (rc == FAB_OK)
        fn(ctx, &e);
    free(places);
    return rc;
}

static int64_t clamp(uint64_t seq)
{
    return seq > INT64_MAX ? INT64_MAX : (int64_t)seq;
}

int store_events(struct store *s, uint64_t after, uint64_t before, bool newest_first,
                 uint32_t limit, bus_handler *fn, void *ctx)
{
    static const char *const sql[] = {
        "SELECT seq, time_us, severity, type, subject, message, guid, port, fields, places FROM "
        "event "
        "WHERE seq > ?1 AND seq < ?2 ORDER BY seq LIMIT ?3",
        "SELECT seq, time_us, severity, type, subject, message, guid, port, fields, places FROM "
        "event "
        "WHERE seq > ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3",
    };
    sqlite3_stmt *stmt = NULL, *fields_reader = NULL;
    int rc = FAB_OK, code = sqlite3_prepare_v2(s->reader, sql[newest_first], -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = fields_reader_new(s->reader, &fields_reader);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, clamp(after));
        sqlite3_bind_int64(stmt, 2, before == 0 ? INT64_MAX : clamp(before));
        sqlite3_bind_int64(stmt, 3, limit);
        while (rc == FAB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
            rc = hand_row(stmt, fields_reader, fn, ctx);
    }
    sqlite3_finalize(fields_reader);
    sqlite3_finalize(stmt);
    return rc == FAB_OK ? sql_status(code) : rc;
}

/* ---- reroutes ---- */

static void hand_reroute(sqlite3_stmt *stmt, reroute_handler *fn, void *ctx)
{
    struct reroute r = {
        .generation = (uint64_t)sqlite3_column_int64(stmt, 0),
        .time_us = sqlite3_column_int64(stmt, 1),
    };
    uint64_t *const times[] = {&r.known_us, &r.computed_us, &r.proved_us, &r.first_write_us,
                               &r.last_write_us};
    uint32_t *const counts[] = {&r.entries,    &r.blocks,       &r.switches,   &r.failed,
                                &r.links_lost, &r.links_gained, &r.nodes_lost, &r.nodes_gained};
    snprintf(r.cause, sizeof(r.cause), "%s", sql_text(stmt, 2));
    snprintf(r.engine, sizeof(r.engine), "%s", sql_text(stmt, 3));
    for (int i = 0; i < 5; i++)
        *times[i] = (uint64_t)sqlite3_column_int64(stmt, 4 + i);
    for (int i = 0; i < 8; i++)
        *counts[i] = (uint32_t)sqlite3_column_int64(stmt, 9 + i);
    r.lost_pairs = (uint64_t)sqlite3_column_int64(stmt, 17);
    r.lost_us = (uint64_t)sqlite3_column_int64(stmt, 18);
    fn(ctx, &r);
}

int store_reroutes(struct store *s, uint64_t before, uint32_t limit, reroute_handler *fn, void *ctx)
{
    static const char sql[] =
        "SELECT generation, time_us, cause, engine, known_us, computed_us, proved_us, "
        "first_write_us, last_write_us, entries, blocks, switches, failed, links_lost, "
        "links_gained, nodes_lost, nodes_gained, lost_pairs, lost_us FROM reroute "
        "WHERE generation < ?1 ORDER BY generation DESC LIMIT ?2";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, before == 0 ? INT64_MAX : clamp(before));
        sqlite3_bind_int64(stmt, 2, limit);
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
            hand_reroute(stmt, fn, ctx);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}
