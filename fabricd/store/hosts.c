/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of the registrations of hosts at subnet administration (IBA chapter 15): services,
 * subscriptions, multicast groups, members of groups, and alias GUIDs. The fields of the primary
 * key have their own columns, so that people can read them. Services, subscriptions and groups also
 * have a column with the whole record in wire format.
 *
 * The tables have no foreign keys, for two reasons. A row that violates a foreign key would make
 * the whole transaction fail. And members may belong to a group that only the configuration
 * defines, which has no row.
 */
#include "fabricd/store/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* ---- writing ---- */

static int write_service(struct sql *q, const struct store_service *s, bool there)
{
    const struct fab_wire_service_record *r = &s->record;
    uint8_t bytes[FAB_REC_MAX];
    if (!there)
        return sql_run(q, SQL_SERVICE_DELETE, "xGi", r->id, r->gid, (int64_t)r->pkey);
    int status = fab_wire_rec_pack(&fab_wire_service_record, r, bytes, sizeof(bytes));
    if (status == FAB_OK)
        status = sql_run(q, SQL_SERVICE_PUT, "xGiixb", r->id, r->gid, (int64_t)r->pkey, s->ends_us,
                         s->owner, bytes, (int)fab_wire_service_record.wire_size);
    return status;
}

static int write_subscription(struct sql *q, const struct store_subscription *s, bool there)
{
    const struct fab_wire_inform_info_record *r = &s->record;
    uint8_t bytes[FAB_REC_MAX];
    if (!there)
        return sql_run(q, SQL_SUBSCRIPTION_DELETE, "Gi", r->subscriber_gid, (int64_t)r->number);
    int status = fab_wire_rec_pack(&fab_wire_inform_info_record, r, bytes, sizeof(bytes));
    if (status == FAB_OK)
        status = sql_run(q, SQL_SUBSCRIPTION_PUT, "Giib", r->subscriber_gid, (int64_t)r->number,
                         (int64_t)s->trusted, bytes, (int)fab_wire_inform_info_record.wire_size);
    return status;
}

static int write_group(struct sql *q, const struct fab_wire_mc_member_record *r, bool there)
{
    uint8_t bytes[FAB_REC_MAX];
    if (!there) {
        int status = sql_run(q, SQL_GROUP_DELETE, "G", r->mgid);
        return status == FAB_OK ? sql_run(q, SQL_GROUP_EMPTY, "G", r->mgid) : status;
    }
    int status = fab_wire_rec_pack(&fab_wire_mc_member_record, r, bytes, sizeof(bytes));
    if (status == FAB_OK)
        status = sql_run(q, SQL_GROUP_PUT, "Gib", r->mgid, (int64_t)r->mlid, bytes,
                         (int)fab_wire_mc_member_record.wire_size);
    return status;
}

static int write_member(struct sql *q, const struct store_member *m, bool there)
{
    if (!there)
        return sql_run(q, SQL_MEMBER_DELETE, "GG", m->mgid, m->port_gid);
    return sql_run(q, SQL_MEMBER_PUT, "GGii", m->mgid, m->port_gid, (int64_t)m->join_state,
                   (int64_t)m->proxy_join);
}

static int write_alias(struct sql *q, const struct store_alias *a, bool there)
{
    if (!there)
        return sql_run(q, SQL_ALIAS_DELETE, "xi", a->port_guid, (int64_t)a->place);
    return sql_run(q, SQL_ALIAS_PUT, "xix", a->port_guid, (int64_t)a->place, a->guid);
}

int hosts_write(struct sql *q, const struct record_hosts *r)
{
    switch (r->kind) {
    case HOSTS_SERVICE:
        return write_service(q, &r->service, r->there);
    case HOSTS_SUBSCRIPTION:
        return write_subscription(q, &r->subscription, r->there);
    case HOSTS_GROUP:
        return write_group(q, &r->group, r->there);
    case HOSTS_MEMBER:
        return write_member(q, &r->member, r->there);
    case HOSTS_ALIAS:
        return write_alias(q, &r->alias, r->there);
    case HOSTS_ASKED:
        return sql_run(q, SQL_META_PUT, "tt", "hosts_asked", "1");
    }
    return FAB_E_INVAL;
}

/* ---- reading ---- */

static int read_record(sqlite3_stmt *stmt, int column, const struct fab_rec *rec, void *ret)
{
    const void *bytes = sqlite3_column_blob(stmt, column);
    int len = sqlite3_column_bytes(stmt, column);
    return bytes != NULL && len > 0 ? fab_wire_rec_unpack(rec, bytes, (size_t)len, ret)
                                    : FAB_E_FORMAT;
}

static int read_service(sqlite3_stmt *stmt, void *ret)
{
    struct store_service *s = ret;
    s->ends_us = sqlite3_column_int64(stmt, 1);
    int status = sql_guid_parse((const char *)sqlite3_column_text(stmt, 2), &s->owner);
    return status == FAB_OK ? read_record(stmt, 0, &fab_wire_service_record, &s->record) : status;
}

static int read_subscription(sqlite3_stmt *stmt, void *ret)
{
    struct store_subscription *s = ret;
    s->trusted = sqlite3_column_int(stmt, 1) != 0;
    return read_record(stmt, 0, &fab_wire_inform_info_record, &s->record);
}

static int read_group(sqlite3_stmt *stmt, void *ret)
{
    return read_record(stmt, 0, &fab_wire_mc_member_record, ret);
}

static int read_member(sqlite3_stmt *stmt, void *ret)
{
    struct store_member *m = ret;
    int status = sql_gid_parse((const char *)sqlite3_column_text(stmt, 0), m->mgid);
    if (status == FAB_OK)
        status = sql_gid_parse((const char *)sqlite3_column_text(stmt, 1), m->port_gid);
    m->join_state = sqlite3_column_int(stmt, 2) & 0xf;
    m->proxy_join = sqlite3_column_int(stmt, 3) & 1;
    return status;
}

static int read_alias(sqlite3_stmt *stmt, void *ret)
{
    struct store_alias *a = ret;
    int64_t place = sqlite3_column_int64(stmt, 1);
    int status = sql_guid_parse((const char *)sqlite3_column_text(stmt, 0), &a->port_guid);
    if (status == FAB_OK)
        status = sql_guid_parse((const char *)sqlite3_column_text(stmt, 2), &a->guid);
    a->place = (uint16_t)place;
    return place >= 0 && place <= UINT16_MAX ? status : FAB_E_FORMAT;
}

struct table {
    const char *sql;
    size_t size; /* size in bytes of the struct that `read` fills in */
    /* Converts a row of the table to its struct. Returns FORMAT if the row is not valid because
     * somebody edited it by hand. */
    int (*read)(sqlite3_stmt *stmt, void *ret);
};
static const struct table tables[] = {
    [HOSTS_SERVICE] = {"SELECT record, ends_us, owner FROM service ORDER BY id, gid, pkey",
                       sizeof(struct store_service), read_service},
    [HOSTS_SUBSCRIPTION] = {"SELECT record, trusted FROM subscription ORDER BY gid, number",
                            sizeof(struct store_subscription), read_subscription},
    [HOSTS_GROUP] = {"SELECT record FROM multicast_group ORDER BY mgid",
                     sizeof(struct fab_wire_mc_member_record), read_group},
    [HOSTS_MEMBER] = {"SELECT mgid, gid, join_state, proxy_join FROM multicast_member "
                      "ORDER BY mgid, gid",
                      sizeof(struct store_member), read_member},
    [HOSTS_ALIAS] = {"SELECT port_guid, place, guid FROM alias_guid ORDER BY port_guid, place",
                     sizeof(struct store_alias), read_alias},
};

struct rows {
    uint8_t *bytes;
    size_t count, room;
};

/* Returns the address of a new zeroed element at the end of the array in `r`; NULL: memory ran out.
 * The caller increments r->count when the element is filled in. */
static void *next_row(struct rows *r, size_t size)
{
    if (r->count == r->room) {
        size_t room = r->room > 0 ? 2 * r->room : 64;
        uint8_t *more = reallocarray(r->bytes, room, size);
        if (more == NULL)
            return NULL;
        r->bytes = more;
        r->room = room;
    }
    return memset(r->bytes + r->count * size, 0, size);
}

static int read_rows(sqlite3_stmt *stmt, const struct table *t, struct rows *r)
{
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        void *row = next_row(r, t->size);
        if (row == NULL)
            return FAB_E_NOMEM;
        r->count += t->read(stmt, row) == FAB_OK;
    }
    return sql_status(code);
}

int hosts_load(sqlite3 *db, enum hosts_kind kind, void *ret, size_t *ret_count)
{
    struct rows rows = {0};
    sqlite3_stmt *stmt = NULL;
    int status = sql_status(sqlite3_prepare_v2(db, tables[kind].sql, -1, &stmt, NULL));
    if (status == FAB_OK)
        status = read_rows(stmt, &tables[kind], &rows);
    sqlite3_finalize(stmt);
    if (status == FAB_OK) {
        memcpy(ret, &rows.bytes, sizeof(rows.bytes));
        *ret_count = rows.count;
    } else {
        free(rows.bytes);
    }
    return status;
}
