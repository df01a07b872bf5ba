/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for the tests of the store. Each test has a state directory in TMPDIR, and sets of
 * leases, events and views. */
#ifndef TESTS_UNIT_STATE_DIR_H
#define TESTS_UNIT_STATE_DIR_H

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

static char dir[200], db_path[256];

static inline void make_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/test-store-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(db_path, sizeof(db_path), "%s/fabricd.db", dir);
    log_init((enum log_level)(LOG_LEVEL_ERROR - 1));
}

static inline void remove_dir(void)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static inline struct store *open_store(void)
{
    struct store *s = NULL;
    char why[600] = "";
    int rc = store_open(dir, &s, why, sizeof(why));
    ck_assert_msg(rc == FAB_OK, "%s", why);
    return s;
}

static inline struct store *reopen(struct store *s)
{
    store_close(s);
    return open_store();
}

/* Runs an SQL query on the database file, as an operator might. Returns the number that the query
 * gives. */
static inline int64_t ask(const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return number;
}

static inline void change(const char *sql)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

#define GUID(n) (UINT64_C(0x0002c90300000000) + (n))

/* Fills leases[] with a lease for each of 200 ports. The LIDs depend on `round`. */
#define SET_SIZE 200
static inline void fill_set(struct fab_lease *leases, unsigned round)
{
    for (unsigned i = 0; i < SET_SIZE; i++)
        leases[i] = (struct fab_lease){GUID(i + 1), 1 + (i + round * 7) % 4000, 0};
}

static inline void assert_leases(struct store *s, const struct fab_lease *want, size_t count)
{
    struct fab_lease *got = NULL;
    size_t got_count = 0;
    ck_assert_int_eq(store_load_leases(s, &got, &got_count), FAB_OK);
    ck_assert_uint_eq(got_count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(got[i].port_guid, want[i].port_guid);
        ck_assert_uint_eq(got[i].lid, want[i].lid);
        ck_assert_uint_eq(got[i].lmc, want[i].lmc);
    }
    free(got);
}

static inline void put_events(struct store *s, uint64_t from, uint64_t to)
{
    static const struct event_field fields[] = {
        {.name = "peer", .kind = EVENT_TEXT, .text = "a \"b\"\\\n\t\xc3\xa9"},
        {.name = "peer_guid", .kind = EVENT_GUID, .number = 7},
        {.name = "errors", .kind = EVENT_COUNT, .number = 812},
        {.name = "span_us", .kind = EVENT_MICROSECONDS, .number = INT64_MAX}};
    for (uint64_t seq = from; seq <= to; seq++)
        store_put_event(s, &(struct event){.seq = seq,
                                           .time_us = (int64_t)seq * 1000000,
                                           .severity = EVENT_WARNING,
                                           .type = "link-down",
                                           .subject = "leaf-3/12",
                                           .message = "a 'quote' and \"two\"",
                                           .guid = seq % 2 ? UINT64_MAX : 0,
                                           .port = 12,
                                           .fields = fields,
                                           .field_count = 4});
}

static inline struct fab_builder *leaf_spine(void)
{
    struct fab_builder *b = NULL;
    struct fab_leaf_spine_spec spec = {
        .leaves = 4, .spines = 2, .hosts_per_leaf = 6, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    return b;
}

/* Makes a view of the fabric in the builder. LIDs are in the order of port ids; the first is
 * `lid`. */
static inline struct fab_view *make_view(const struct fab_builder *b, uint64_t generation,
                                         uint32_t lid)
{
    struct fab_fabric *f = NULL;
    struct fab_policy policy;
    struct fab_verdict verdict = {.deadlock_free = true, .unreachable_pairs = 3};
    struct fab_target *t = fab_target_new();
    fab_policy_defaults(&policy);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_target_lids_init(&t->lids, f->port_count), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port_has_lid(f, p))
            t->lids.base[p] = lid++;
    ck_assert_int_eq(fab_target_lids_index(&t->lids), FAB_OK);
    snprintf(t->engine, sizeof(t->engine), "updn");
    return fab_view_new(generation, f, t, &policy, &verdict);
}

#endif
