/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads from the registry the nodes and links that are gone, and queues requests to forget some of
 * them. */
#include "fabricd/store/gone.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/store/state.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"

static void bind_guid(sqlite3_stmt *stmt, int i, uint64_t guid)
{
    char text[SQL_GUID_SIZE];
    snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
    sqlite3_bind_text(stmt, i, text, -1, SQLITE_TRANSIENT);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

#define NODE_COLUMNS "guid, description, kind, ports, first_seen, last_seen, gone_since"

static enum fab_node_type type_of(const char *kind)
{
    return strcmp(kind, "switch") == 0   ? FAB_NODE_SWITCH
           : strcmp(kind, "router") == 0 ? FAB_NODE_ROUTER
                                         : FAB_NODE_CA;
}

static void hand_node(sqlite3_stmt *stmt, store_gone_node_fn *fn, void *ctx)
{
    const char *kind = sql_text(stmt, 2);
    struct store_gone_node node = {
        .name = sql_text(stmt, 1),
        .type = type_of(kind),
        .aggregation = strcmp(kind, "aggregation") == 0,
        .ports = (uint32_t)sqlite3_column_int64(stmt, 3),
        .seen = {sqlite3_column_int64(stmt, 4), sqlite3_column_int64(stmt, 5),
                 sqlite3_column_int64(stmt, 6)},
    };
    /* leave out a row that somebody edited by hand and that is not valid */
    if (sql_guid_parse(sql_text(stmt, 0), &node.guid) == FAB_OK)
        fn(ctx, &node);
}

/* Calls fn for each row of a statement whose GUID is valid, and finalizes the statement. code:
 * result of sqlite3_prepare_v2 for this statement. */
static int hand_nodes(sqlite3_stmt *stmt, int code, store_gone_node_fn *fn, void *ctx)
{
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(stmt);
        if (code == SQLITE_ROW)
            hand_node(stmt, fn, ctx);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

int store_gone_nodes(struct store *s, const struct store_gone_nodes *query, uint32_t limit,
                     store_gone_node_fn *fn, void *ctx)
{
    static const char sql[] =
        "SELECT " NODE_COLUMNS " FROM node WHERE current = 0 AND gone_since < ?2 AND "
        "(gone_since, ?4) <= (?3, guid) AND NOT (gone_since = ?3 AND guid = ?4) AND "
        "(?1 = 0 OR ?1 = CASE kind WHEN 'switch' THEN 2 WHEN 'router' THEN 3 ELSE 1 END) "
        "ORDER BY gone_since DESC, guid LIMIT ?5";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int(stmt, 1, query->type);
        sqlite3_bind_int64(stmt, 2, query->before);
        sqlite3_bind_int64(stmt, 3, query->after_since);
        bind_guid(stmt, 4, query->after_guid);
        sqlite3_bind_int64(stmt, 5, limit);
    }
    return hand_nodes(stmt, code, fn, ctx);
}

int store_gone_node(struct store *s, uint64_t guid, store_gone_node_fn *fn, void *ctx)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        s->reader, "SELECT " NODE_COLUMNS " FROM node WHERE current = 0 AND guid = ?1", -1, &stmt,
        NULL);
    if (code == SQLITE_OK)
        bind_guid(stmt, 1, guid);
    return hand_nodes(stmt, code, fn, ctx);
}

/* Reads the matches, which are sorted from best to worst. Counts those that are as good as the
 * first one, and stops at the next worse one. */
static int read_matches(sqlite3_stmt *stmt, struct store_gone_found *ret)
{
    struct store_gone_found found = {0};
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        enum store_match match = (enum store_match)sqlite3_column_int(stmt, 1);
        uint64_t guid;
        if (found.count > 0 && match != found.match)
            break;
        if (sql_guid_parse(sql_text(stmt, 0), &guid) != FAB_OK)
            continue;
        if (found.count++ == 0) {
            found.match = match;
            found.guid = guid;
        }
    }
    *ret = found;
    return sql_status(code);
}

int store_gone_find(struct store *s, const char *text, size_t len, uint64_t number, bool is_guid,
                    struct store_gone_found *ret)
{
    static const char sql[] =
        "SELECT guid, CASE WHEN guid = ?2 OR guid IN (SELECT node_guid FROM port WHERE current = 0 "
        "AND (port_guid = ?2 OR lid = ?3)) THEN 0 WHEN description = ?1 THEN 1 "
        "WHEN substr(description, 1, length(?1) + 1) = ?1 || ' ' THEN 2 "
        "WHEN length(?1) > 0 AND substr(description, 1, length(?1)) = ?1 THEN 3 END AS match "
        "FROM node WHERE current = 0 AND match IS NOT NULL ORDER BY match, gone_since DESC, guid";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL);
    int status = sql_status(code);
    if (status == FAB_OK) {
        sqlite3_bind_text(stmt, 1, text, (int)len, SQLITE_TRANSIENT);
        if (is_guid)
            bind_guid(stmt, 2, number);
        else if (number != 0 && number <= INT64_MAX)
            sqlite3_bind_int64(stmt, 3, (int64_t)number);
        status = read_matches(stmt, ret);
    }
    sqlite3_finalize(stmt);
    return status;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void hand_link(sqlite3_stmt *stmt, store_gone_link_fn *fn, void *ctx)
{
    struct store_gone_link link = {
        .width = (uint8_t)sqlite3_column_int(stmt, 8),
        .speed = sql_text(stmt, 9),
        .seen = {sqlite3_column_int64(stmt, 10), sqlite3_column_int64(stmt, 11),
                 sqlite3_column_int64(stmt, 12)},
    };
    for (int i = 0; i < 2; i++) {
        int64_t port = sqlite3_column_int64(stmt, 4 * i + 1);
        if (sql_guid_parse(sql_text(stmt, 4 * i), &link.end[i].guid) != FAB_OK || port < 1 ||
            port > 254)
            return;
        link.end[i].port = (uint8_t)port;
        link.end[i].name = sql_text(stmt, 4 * i + 2);
        link.end[i].is_switch = sqlite3_column_int(stmt, 4 * i + 3) != 0;
    }
    fn(ctx, &link);
}

#define LINKS                                                                                      \
    "SELECT node_a, port_a, a.description, a.kind = 'switch', node_b, port_b, b.description, "     \
    "b.kind = 'switch', width, speed, link.first_seen, link.last_seen, link.gone_since FROM link " \
    "JOIN node a ON a.guid = node_a JOIN node b ON b.guid = node_b WHERE link.current = 0 AND "    \
    "link.gone_since <= ?1 AND NOT (link.gone_since = ?1 AND (node_a, port_a) <= (?2, ?3)) AND "
#define IN_ORDER " ORDER BY link.gone_since DESC, node_a, port_a LIMIT ?6"
#define LISTED "IN (SELECT value FROM json_each(?4))"

/* Returns the SQL statement for a query. Parameter 4 of the statement is the GUID of a node, or a
 * JSON array of GUIDs; parameter 5 is the port number, or 0. */
static const char *links_sql(const struct store_gone_links *query)
{
    if (query->node == 0 && query->node_count == 0)
        return LINKS "1" IN_ORDER;
    if (query->node == 0)
        return LINKS "((node_a " LISTED " AND ?5 IN (0, port_a)) OR (node_b " LISTED
                     " AND ?5 IN (0, port_b)))" IN_ORDER;
    if (query->port == 0)
        return LINKS "(node_a = ?4 OR node_b = ?4)" IN_ORDER;
    return LINKS "((node_a = ?4 AND port_a = ?5) OR (node_b = ?4 AND port_b = ?5))" IN_ORDER;
}

static void bind_guids(sqlite3_stmt *stmt, int i, const uint64_t *guids, size_t count,
                       struct fab_text *text)
{
    for (size_t g = 0; g < count; g++)
        fab_base_text_addf(text, "%s\"0x%016" PRIx64 "\"", g == 0 ? "[" : ",", guids[g]);
    fab_base_text_add(text, "]");
    sqlite3_bind_text(stmt, i, fab_base_text_get(text), -1, SQLITE_STATIC);
}

static void bind_links(sqlite3_stmt *stmt, const struct store_gone_links *query, uint32_t limit,
                       struct fab_text *text)
{
    sqlite3_bind_int64(stmt, 1, query->after_since);
    bind_guid(stmt, 2, query->after_guid);
    sqlite3_bind_int(stmt, 3, query->after_port);
    if (query->node != 0)
        bind_guid(stmt, 4, query->node);
    else if (query->node_count > 0)
        bind_guids(stmt, 4, query->nodes, query->node_count, text);
    sqlite3_bind_int(stmt, 5, query->port);
    sqlite3_bind_int64(stmt, 6, limit);
}

int store_gone_links(struct store *s, const struct store_gone_links *query, uint32_t limit,
                     store_gone_link_fn *fn, void *ctx)
{
    struct fab_text text = {0};
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader, links_sql(query), -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        bind_links(stmt, query, limit, &text);
        if (text.status != FAB_OK)
            code = SQLITE_NOMEM;
        while (text.status == FAB_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
            hand_link(stmt, fn, ctx);
    }
    sqlite3_finalize(stmt);
    fab_base_text_fini(&text);
    return sql_status(code);
}

int store_gone_count(struct store *s, int64_t from, int64_t before, struct store_gone_count *ret)
{
    static const char sql[] =
        "SELECT count(*) FILTER (WHERE kind = 'adapter'), count(*) FILTER (WHERE kind = 'switch'), "
        "count(*), (SELECT count(*) FROM link WHERE current = 0 AND gone_since >= ?1 AND "
        "gone_since < ?2) FROM node WHERE current = 0 AND gone_since >= ?1 AND gone_since < ?2";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->reader, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, from);
        sqlite3_bind_int64(stmt, 2, before);
        code = sqlite3_step(stmt);
    }
    if (code == SQLITE_ROW) {
        ret->hosts = (uint32_t)sqlite3_column_int64(stmt, 0);
        ret->switches = (uint32_t)sqlite3_column_int64(stmt, 1);
        ret->others = (uint32_t)sqlite3_column_int64(stmt, 2) - ret->hosts - ret->switches;
        ret->links = (uint32_t)sqlite3_column_int64(stmt, 3);
    }
    sqlite3_finalize(stmt);
    return sql_status(code);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static void put(struct store *s, const struct record_forget *forget)
{
    struct record *r = record_of_forget(forget);
    if (r != NULL)
        writer_put_lasting(s->writer, r);
    else
        log_error("store", "out of memory: nodes that are gone are not forgotten");
}

void store_forget_node(struct store *s, uint64_t guid)
{
    put(s, &(struct record_forget){.decided = true, .guid = guid});
}

void store_forget_older(struct store *s, int64_t before)
{
    put(s, &(struct record_forget){.decided = true, .before = before, .nodes = UINT32_MAX});
}

void store_forget_gone(struct store *s, int64_t before, uint32_t nodes)
{
    put(s, &(struct record_forget){.before = before, .nodes = nodes});
}
