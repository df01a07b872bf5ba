/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store. Stored data can be loaded again, also after a restart. A store that cannot write fast
 * enough drops events, but never leases. test_store_harm.c tests failures.
 */
#include <sys/resource.h>

#include "fabricd/store/drains.h"
#include "fabricd/store/schema.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/state_dir.h"

/* ---- leases ---- */

START_TEST(leases_come_back)
{
    struct store *s = open_store();
    struct fab_lease set[] = {{GUID(3), 9, 0}, {GUID(1), 4, 2}, {UINT64_MAX, 12, 0}};
    struct fab_lease sorted[] = {{GUID(1), 4, 2}, {GUID(3), 9, 0}, {UINT64_MAX, 12, 0}};
    assert_leases(s, NULL, 0);
    store_put_leases(s, set, 3);
    store_flush(s);
    assert_leases(s, sorted, 3);
    s = reopen(s);
    assert_leases(s, sorted, 3);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE port_guid = '0x0002c90300000001' "
                         "AND lid = 4 AND lmc = 2 AND current AND first_seen > 1600000000"),
                     1);
}
END_TEST

START_TEST(absent_ports_keep_their_lease_until_it_is_taken)
{
    struct store *s = open_store();
    struct fab_lease all[] = {{GUID(1), 1, 0}, {GUID(2), 8, 2}, {GUID(3), 3, 0}};
    struct fab_lease some[] = {{GUID(1), 2, 0}};
    struct fab_lease after_some[] = {{GUID(1), 2, 0}, {GUID(2), 8, 2}, {GUID(3), 3, 0}};
    struct fab_lease taking[] = {{GUID(1), 2, 0}, {GUID(4), 10, 0}};
    struct fab_lease after_taking[] = {{GUID(1), 2, 0}, {GUID(3), 3, 0}, {GUID(4), 10, 0}};
    store_put_leases(s, all, 3);
    store_flush(s);
    store_put_leases(s, some, 1);
    store_flush(s);
    assert_leases(s, after_some, 3);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE current"), 1);
    store_put_leases(s, after_some, 3);
    store_flush(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE current"), 3);
    s = reopen(s);
    store_put_leases(s, taking, 2);
    store_flush(s);
    assert_leases(s, after_taking, 3);
    store_close(s);
}
END_TEST

/* A set of leases has two leases for one port. Only one is stored. The LID of the other stays with
 * the port that had it before. */
START_TEST(a_port_has_one_lease)
{
    struct store *s = open_store();
    struct fab_lease first[] = {{GUID(2), 8, 0}};
    struct fab_lease twice[] = {{GUID(1), 8, 0}, {GUID(1), 4, 0}, {GUID(3), 5, 0}};
    store_put_leases(s, first, 1);
    store_flush(s);
    store_put_leases(s, twice, 3);
    store_flush(s);
    bool has_eight = ask("SELECT lid = 8 FROM lease WHERE port_guid = '0x0002c90300000001'") != 0;
    ck_assert_int_eq(ask("SELECT count(*) FROM lease WHERE port_guid = '0x0002c90300000002'"),
                     has_eight ? 0 : 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM lease"), has_eight ? 2 : 3);
    store_close(s);
}
END_TEST

START_TEST(senseless_leases_are_left_out)
{
    struct store *s = open_store();
    struct fab_lease set[] = {{0, 5, 0},       {GUID(1), 0, 0}, {GUID(2), 5, 9},
                              {GUID(4), 7, 0}, {GUID(4), 7, 0}, {GUID(3), UINT32_MAX, 7}};
    store_put_leases(s, set, 6);
    store_flush(s);
    assert_leases(s, &set[3], 1);
    change("INSERT INTO lease VALUES ('leaf-1', 3, 0, 0, 0, 1), ('0x00000000000000zz', 3, 0, 0, 0, "
           "1), ('0x0000000000000001', 99999999999, 0, 0, 0, 1)");
    assert_leases(s, &set[3], 1);
    s = reopen(s);
    assert_leases(s, &set[3], 1);
    store_close(s);
}
END_TEST

START_TEST(the_latest_set_wins)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    for (unsigned round = 0; round < 50; round++) {
        fill_set(set, round);
        store_put_leases(s, set, SET_SIZE);
    }
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_put_leases(s, NULL, 0);
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_close(s);
}
END_TEST

/* ---- events ---- */

struct seen {
    unsigned count;
    uint64_t seq[300];
    struct event last;
    char text[200], fields[200];
};

/* Writes each field as "name=value;". */
static void list_fields(const struct event *e, char *to, size_t len)
{
    size_t used = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < e->field_count && used < len; i++) {
        const struct event_field *f = &e->fields[i];
        if (f->kind == EVENT_TEXT)
            used += (size_t)snprintf(to + used, len - used, "%s=%s;", f->name, f->text);
        else
            used += (size_t)snprintf(to + used, len - used, "%s=%llu;", f->name,
                                     (unsigned long long)f->number);
    }
}

static void see(void *ctx, const struct event *e)
{
    struct seen *seen = ctx;
    ck_assert_uint_lt(seen->count, 300);
    seen->seq[seen->count++] = e->seq;
    seen->last = *e;
    snprintf(seen->text, sizeof(seen->text), "%s|%s|%s", e->type, e->subject, e->message);
    list_fields(e, seen->fields, sizeof(seen->fields));
}

START_TEST(events_come_back_in_pages)
{
    struct store *s = open_store();
    struct seen seen = {0};
    put_events(s, 1, 100);
    store_flush(s);
    ck_assert_int_eq(store_events(s, 10, 0, false, 5, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 5);
    ck_assert_uint_eq(seen.seq[0], 11);
    ck_assert_uint_eq(seen.seq[4], 15);
    ck_assert_str_eq(seen.text, "link-down|leaf-3/12|a 'quote' and \"two\"");
    ck_assert_int_eq((int)seen.last.severity, EVENT_WARNING);
    ck_assert_int_eq(seen.last.time_us, 15000000);
    ck_assert_uint_eq(seen.last.guid, UINT64_MAX);
    ck_assert_uint_eq(seen.last.port, 12);
    seen.count = 0;
    ck_assert_int_eq(store_events(s, 0, 4, true, 10, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.seq[0], 3);
    seen.count = 0;
    ck_assert_int_eq(store_events(s, UINT64_MAX, UINT64_MAX, true, 10, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 0);
    ck_assert_uint_eq(store_last_event_seq(s), 100);
    s = reopen(s);
    ck_assert_uint_eq(store_last_event_seq(s), 100);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM journal WHERE time = '1970-01-01T00:01:40.000Z'"),
                     1);
}
END_TEST

static void assert_fields(struct store *s, uint64_t seq, const char *want)
{
    struct seen seen = {0};
    ck_assert_int_eq(store_events(s, seq - 1, seq + 1, false, 1, see, &seen), FAB_OK);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_str_eq(seen.fields, want);
}

#define FIELDS                                                                                     \
    "peer=a \"b\"\\\n\t\xc3\xa9;peer_guid=0x0000000000000007;errors=812;"                          \
    "span_us=9223372036854775807;"

START_TEST(events_keep_their_fields)
{
    struct store *s = open_store();
    put_events(s, 1, 5);
    s = reopen(s);
    assert_fields(s, 1, FIELDS);
    store_close(s);
    ck_assert_int_eq(ask("SELECT sum(json_extract(fields, '$.errors')) FROM journal"), 5 * 812);
    change("UPDATE event SET fields = 'spoilt' WHERE seq = 1");
    change("UPDATE event SET fields = '' WHERE seq = 2");
    change("UPDATE event SET fields = '{\"a\": [1, {\"b\": 2}], \"c\": null, \"d\": 4}' "
           "WHERE seq = 3");
    change("UPDATE event SET fields = '{\"a\": \"' || hex(zeroblob(9000)) || '\", \"b\": 1}' "
           "WHERE seq = 4");
    s = open_store();
    assert_fields(s, 1, "");
    assert_fields(s, 2, "");
    assert_fields(s, 3, "d=4;");
    assert_fields(s, 4, "b=1;");
    assert_fields(s, 5, FIELDS);
    store_close(s);
}
END_TEST

/* before schema version 6, the journal had no fields of events */
START_TEST(events_of_an_older_journal_have_no_fields)
{
    const struct schema_steps before = {schema_steps.sql, 5};
    char why[600] = "";
    sqlite3 *db = NULL;
    ck_assert_int_eq(schema_open(db_path, &before, &db, why, sizeof(why)), FAB_OK);
    sqlite3_close(db);
    change("INSERT INTO event VALUES (1, 1000000, 'info', 'link-up', 'a/1', 'up', NULL, 1)");
    struct store *s = open_store();
    put_events(s, 2, 2);
    s = reopen(s);
    assert_fields(s, 1, "");
    assert_fields(s, 2, FIELDS);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM journal WHERE seq = 1 AND fields = '{}'"), 1);
}
END_TEST

/* What a handler saw of the places of one event. */
struct seen_places {
    uint32_t count;
    struct event_place first, last;
};

static void see_places(void *ctx, const struct event *e)
{
    struct seen_places *seen = ctx;
    *seen = (struct seen_places){.count = e->place_count};
    if (e->place_count > 0) {
        seen->first = e->places[0];
        seen->last = e->places[e->place_count - 1];
    }
}

static struct seen_places places_of(struct store *s, uint64_t seq)
{
    struct seen_places seen = {UINT32_MAX, {0}, {0}};
    ck_assert_int_eq(store_events(s, seq - 1, seq + 1, false, 1, see_places, &seen), FAB_OK);
    return seen;
}

static void put_summary(struct store *s, uint64_t seq, uint32_t count)
{
    struct event_place *places = calloc(count, sizeof(*places));
    for (uint32_t i = 0; i < count; i++)
        places[i] = (struct event_place){GUID(i), (uint8_t)(i % 251)};
    store_put_event(s, &(struct event){.seq = seq,
                                       .severity = EVENT_WARNING,
                                       .type = "node-removed",
                                       .subject = "fabric",
                                       .message = "many",
                                       .places = places,
                                       .place_count = count});
    store_flush(s);
    free(places);
}

/* The store keeps the places of the newest events, at most 16 MiB of 9 bytes each. */
START_TEST(summary_events_keep_their_places)
{
    enum { MANY = 500000 };
    struct store *s = open_store();
    put_summary(s, 1, 3);
    put_events(s, 2, 2);
    s = reopen(s);
    struct seen_places seen = places_of(s, 1);
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_uint_eq(seen.first.guid, GUID(0));
    ck_assert_uint_eq(seen.last.guid, GUID(2));
    ck_assert_uint_eq(seen.last.port, 2);
    ck_assert_uint_eq(places_of(s, 2).count, 0);
    for (uint64_t seq = 3; seq <= 6; seq++)
        put_summary(s, seq, MANY);
    ck_assert_uint_eq(places_of(s, 1).count, 0);
    ck_assert_uint_eq(places_of(s, 3).count, 0);
    for (uint64_t seq = 4; seq <= 6; seq++)
        ck_assert_uint_eq(places_of(s, seq).count, MANY);
    ck_assert_uint_eq(places_of(s, 6).last.port, (MANY - 1) % 251);
    change("UPDATE event SET places = x'0102' WHERE seq = 4");
    change("UPDATE event SET places = x'01020304050607080910' WHERE seq = 5");
    ck_assert_uint_eq(places_of(s, 4).count, 0);
    ck_assert_uint_eq(places_of(s, 5).count, 1);
    ck_assert_uint_eq(places_of(s, 5).first.guid, UINT64_C(0x0102030405060708));
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 6);
}
END_TEST

START_TEST(the_journal_is_trimmed)
{
    struct store *s = open_store();
    store_journal_keep(s, 100);
    for (unsigned i = 0; i < 10; i++) {
        put_events(s, 1 + i * 300, (i + 1) * 300);
        store_flush(s);
    }
    store_close(s);
    ck_assert_int_eq(ask("SELECT max(seq) FROM event"), 3000);
    int64_t left = ask("SELECT count(*) FROM event");
    ck_assert_int_ge(left, 100);
    ck_assert_int_le(left, 100 + 600);
}
END_TEST

/* Debug events take sequence numbers, but are not stored. Gaps in the numbers must not make the
 * store delete old events. (In an earlier version, 104,000 debug events emptied the journal.) */
START_TEST(gaps_between_numbers_do_not_trim_the_journal)
{
    struct store *s = open_store();
    store_journal_keep(s, 100);
    put_events(s, 1, 50);
    store_flush(s);
    put_events(s, 104000, 104010);
    s = reopen(s);
    store_journal_keep(s, 100);
    put_events(s, 300000, 300010);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 50 + 11 + 11);
    ck_assert_int_eq(ask("SELECT min(seq) FROM event"), 1);
}
END_TEST

/* ---- disabled ports ---- */

START_TEST(disabled_ports_come_back)
{
    struct store *s = open_store();
    struct store_port *rows = NULL;
    size_t count = 7;
    ck_assert_int_eq(store_load_disabled(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    store_put_disabled(s, GUID(2), 36, true);
    store_put_disabled(s, GUID(1), 254, true);
    store_put_disabled(s, GUID(1), 254, true);
    store_put_disabled(s, GUID(1), 7, true);
    store_put_disabled(s, GUID(1), 7, false);
    s = reopen(s);
    ck_assert_int_eq(store_load_disabled(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rows[0].node_guid, GUID(1));
    ck_assert_uint_eq(rows[0].port, 254);
    ck_assert_uint_eq(rows[1].node_guid, GUID(2));
    ck_assert_uint_eq(rows[1].port, 36);
    free(rows);
    store_close(s);
}
END_TEST

START_TEST(spared_links_come_back)
{
    struct store *s = open_store();
    struct store_port *rows = NULL;
    size_t count = 7;
    store_put_exempt(s, GUID(2), 36, true);
    store_put_exempt(s, GUID(1), 7, true);
    store_put_disabled(s, GUID(1), 8, true); /* a disabled port, which is in another table */
    s = reopen(s);
    store_put_exempt(s, GUID(1), 7, false);
    s = reopen(s);
    ck_assert_int_eq(store_load_exempt(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(rows[0].node_guid, GUID(2));
    ck_assert_uint_eq(rows[0].port, 36);
    free(rows);
    store_close(s);
}
END_TEST

START_TEST(drains_come_back)
{
    struct store *s = open_store();
    struct store_drain *rows = NULL;
    size_t count = 9;
    uint64_t nodes[2] = {GUID(7), GUID(8)};
    struct store_drain_link links[2] = {{{GUID(7), GUID(9)}, {1, 254}, {"spine/1", "leaf/254"}},
                                        {{GUID(7), GUID(10)}, {2, 3}, {"spine/2", "leaf-'2/3"}}};
    struct store_drain a = {.id = 3,
                            .kind = 2,
                            .force = true,
                            .since_us = 12,
                            .until_us = 99,
                            .name = "rack 'A'",
                            .by = "alice (uid 1000)",
                            .reason = "new fan",
                            .node = nodes,
                            .nodes = 2,
                            .link = links,
                            .links = 2};
    struct store_drain b = {.id = 1, .kind = 4, .name = "host-1", .node = nodes, .nodes = 1};
    ck_assert_int_eq(store_load_drains(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    store_put_drain(s, &a, true);
    store_put_drain(s, &b, true);
    a.links = 1; /* a drain with fewer links must replace all links of the former one */
    store_put_drain(s, &a, true);
    store_close(s);
    s = open_store();
    ck_assert_int_eq(store_load_drains(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rows[0].id, 1);
    ck_assert(!rows[0].force && rows[0].nodes == 1 && rows[0].links == 0);
    ck_assert_uint_eq(rows[1].kind, 2);
    ck_assert(rows[1].force && rows[1].since_us == 12 && rows[1].until_us == 99);
    ck_assert_str_eq(rows[1].name, a.name);
    ck_assert_str_eq(rows[1].by, a.by);
    ck_assert_str_eq(rows[1].reason, a.reason);
    ck_assert_uint_eq(rows[1].nodes, 2);
    ck_assert_mem_eq(rows[1].node, nodes, sizeof(nodes));
    ck_assert_uint_eq(rows[1].links, 1);
    ck_assert_uint_eq(rows[1].link[0].guid[1], GUID(9));
    ck_assert_mem_eq(rows[1].link[0].port, links[0].port, sizeof(links[0].port));
    ck_assert_str_eq(rows[1].link[0].name[1], "leaf/254");
    store_drains_free(rows, count);
    store_put_drain(s, &a, false);
    store_flush(s);
    ck_assert_int_eq(store_load_drains(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(rows[0].id, 1);
    store_drains_free(rows, count);
    store_close(s);
}
END_TEST

START_TEST(isolated_links_come_back)
{
    struct store *s = open_store();
    struct store_isolated *rows = NULL;
    size_t count = 9;
    struct store_isolated a = {.guid = {GUID(1), GUID(2)},
                               .port = {3, 254},
                               .operated = true,
                               .since_us = 12,
                               .name = {"leaf-'1/3", "spine/254"},
                               .cause = "by uid 0"};
    struct store_isolated b = {.guid = {GUID(4), GUID(2)}, .port = {1, 2}, .since_us = 7};
    ck_assert_int_eq(store_load_isolated(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    store_put_isolated(s, &a, true);
    store_put_isolated(s, &b, true);
    store_put_isolated(s, &a, true);
    store_close(s);
    s = open_store();
    ck_assert_int_eq(store_load_isolated(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(rows[0].guid[0], GUID(4)); /* the list is in the order of isolation */
    ck_assert_uint_eq(rows[1].guid[0], a.guid[0]);
    ck_assert_uint_eq(rows[1].guid[1], a.guid[1]);
    ck_assert_mem_eq(rows[1].port, a.port, sizeof(a.port));
    ck_assert(rows[1].operated && !rows[0].operated);
    ck_assert_str_eq(rows[1].name[0], a.name[0]);
    ck_assert_str_eq(rows[1].name[1], a.name[1]);
    ck_assert_str_eq(rows[1].cause, a.cause);
    free(rows);
    store_put_isolated(s, &b, false);
    store_flush(s);
    ck_assert_int_eq(store_load_isolated(s, &rows, &count), FAB_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(rows[0].guid[0], a.guid[0]);
    free(rows);
    store_close(s);
}
END_TEST

/* ---- the registry ---- */

static void put_view(struct store *s, const struct fab_builder *b, uint64_t generation,
                     uint32_t lid)
{
    struct fab_view *v = make_view(b, generation, lid);
    store_put_view(s, v, "first sweep", 1234);
    fab_view_unref(v);
    store_flush(s);
}

/* A row for a link has the places of both ports. So the place of a host is still known when the
 * host has left. */
START_TEST(places_come_back)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    struct fab_fabric *f = NULL;
    struct fab_places *places = NULL;
    struct fab_place *list = NULL;
    size_t count = 0;
    ck_assert_int_eq(store_load_places(s, &list, &count), FAB_OK);
    ck_assert_uint_eq(count, 0);
    put_view(s, b, 7, 1);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, f->node_count - 1), FAB_OK);
    put_view(s, b, 8, 1);
    ck_assert_int_eq(store_load_places(s, &list, &count), FAB_OK);
    ck_assert_uint_eq(count, 2 * (24 + 8));
    ck_assert_int_eq(fab_discover_places_new(list, count, &places), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(f, p);
        if (port->peer == FAB_NONE)
            continue;
        const struct fab_port *peer = fab_fabric_port(f, port->peer);
        const struct fab_place *place =
            fab_discover_place(places, f->nodes[port->node].guid, port->num);
        ck_assert_ptr_nonnull(place);
        ck_assert_uint_eq(place->near_guid, f->nodes[peer->node].guid);
        ck_assert_uint_eq(place->near_port, peer->num);
        ck_assert_uint_eq(place->is_switch, fab_fabric_node_is_switch(f, port->node));
        if (!place->is_switch)
            ck_assert_ptr_eq(fab_discover_place_of_port_guid(places, port->guid), place);
    }
    fab_discover_places_unref(places);
    free(list);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    store_close(s);
}
END_TEST

START_TEST(the_registry_shows_the_fabric)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    put_view(s, b, 7, 1);
    ck_assert_uint_eq(store_last_generation(s), 7);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE kind = 'switch' AND current"), 6);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE kind = 'adapter' AND current"), 24);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE (node_a, port_a) < (node_b, port_b)"),
                     24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM cable"), 24 + 8);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set WHERE generation = 7 AND engine = 'updn' "
                         "AND duration_us = 1234 AND reason = 'first sweep' AND deadlock_free AND "
                         "unreachable_pairs = 3 AND switches = 6 AND hosts = 24 AND links = 32"),
                     1);
    ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    fab_fabric_builder_free(b);
    store_close(s);
}
END_TEST

/* Removes a host, removes the link between two switches, and renames a switch. *ret_node: GUID of
 * the host. */
static void remove_one_of_each(struct fab_builder *b, uint64_t *ret_node)
{
    struct fab_fabric *f = NULL;
    uint32_t ref;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    *ret_node = f->nodes[f->switch_count].guid;
    ck_assert_int_eq(fab_fabric_builder_find_node(b, *ret_node, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_peer_node(f, p);
        if (peer != FAB_NONE && fab_fabric_port(f, p)->node < f->switch_count &&
            peer < f->switch_count) {
            ck_assert_int_eq(
                fab_fabric_builder_find_node(b, f->nodes[fab_fabric_port(f, p)->node].guid, &ref),
                FAB_OK);
            ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, p)->num), FAB_OK);
            break;
        }
    }
    ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[0].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, ref, "new\x1b name", 9), FAB_OK);
    fab_fabric_unref(f);
}

/* After a change of the fabric, the running store writes only the difference. After a restart, it
 * writes the whole fabric. The database must have the same contents in both cases. */
START_TEST(what_goes_away_is_kept_and_marked)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine(), *less = leaf_spine();
    uint64_t gone;
    put_view(s, b, 1, 1);
    remove_one_of_each(less, &gone);
    if (_i == 1)
        s = reopen(s);
    put_view(s, less, 2, 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current"), 29);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current"), 29);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 32 - 2);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE description = 'new\\x1b name'"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current = 0 AND kind = 'adapter'"), 1);
    if (_i == 1)
        s = reopen(s);
    put_view(s, b, 3, 100); /* the host and the link are back, and all LIDs are others */
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE current"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current"), 32);
    ck_assert_int_eq(ask("SELECT count(*) FROM link"), 32);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current AND lid >= 100"), 30);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set"), 3);
    fab_fabric_builder_free(b);
    fab_fabric_builder_free(less);
    store_close(s);
}
END_TEST

START_TEST(an_unchanged_fabric_writes_no_row)
{
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    put_view(s, b, 1, 1);
    /* Marks all rows of the database by wrong values. The store corrects these values in each row
     * that it writes, so the test sees which rows it wrote. */
    change("UPDATE node SET ports = 77; UPDATE link SET width = 77; UPDATE port SET lmc = 7");
    put_view(s, b, 2, 1);
    s = reopen(s);
    put_view(s, b, 3, 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE ports <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE width <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE lmc <> 7"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM table_set"), 3);
    fab_fabric_builder_free(b);
    store_close(s);
}
END_TEST

/* If the fabric changes, the store must write only the rows that change. */
START_TEST(a_change_writes_its_rows_only)
{
    static const char *const mark =
        "UPDATE node SET ports = 77; UPDATE link SET width = 77; UPDATE port SET lmc = 7";
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine(), *less = leaf_spine();
    struct fab_fabric *f = NULL;
    uint32_t ref;
    put_view(s, b, 1, 1);
    change(mark);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_find_node(less, f->nodes[0].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_set_desc(less, ref, "another", 7), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_unlink(less, ref, f->nodes[0].num_ports), FAB_OK);
    put_view(s, less, 2, 1); /* in this fabric, a node has another name and a link is missing */
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE ports <> 77"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE width <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE current = 0"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE lmc <> 7"), 0);
    change(mark);
    put_view(s, less, 3, 100); /* other LIDs for all ports */
    ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE ports <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM link WHERE width <> 77"), 0);
    ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE lmc <> 7"), 30);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    fab_fabric_builder_free(less);
    store_close(s);
}
END_TEST

/* Changes one attribute after the other. The store must write each change. _i is 0: it runs
 * meanwhile, and must write no other row. _i is 1: it is stopped during the change. */
START_TEST(each_attribute_is_written_when_it_changes)
{
    static const char *const queries[] = {
        "SELECT count(*) FROM node WHERE vendor_id = 77",
        "SELECT count(*) FROM node WHERE device_id = 77",
        "SELECT count(*) FROM node WHERE system_guid = '0x0000000000000077'",
        "SELECT count(*) FROM port WHERE lid = 77",
        "SELECT count(*) FROM port WHERE lmc = 3",
        "SELECT count(*) FROM port WHERE port_guid = '0x0000000000000077'"};
    struct store *s = open_store();
    struct fab_builder *b = leaf_spine();
    for (unsigned i = 0; i < sizeof queries / sizeof *queries; i++) {
        put_view(s, b, 2 * i + 1, 100);
        ck_assert_int_eq(ask(queries[i]), 0);
        if (_i == 0)
            change("UPDATE node SET ports = 88; UPDATE port SET current = 2");
        else
            s = reopen(s);
        struct fab_view *v = make_view(b, 2 * i + 2, 100);
        struct fab_fabric *f = (struct fab_fabric *)(uintptr_t)v->fabric;
        struct fab_lids *lids = (struct fab_lids *)(uintptr_t)&v->target->lids;
        struct fab_node_info *info = &f->nodes[2].info;
        uint32_t port = f->nodes[2].first_port; /* port 0 of the switch */
        info->vendor_id = i == 0 ? 77 : info->vendor_id;
        info->device_id = i == 1 ? 77 : info->device_id;
        info->system_guid = i == 2 ? 0x77 : info->system_guid;
        lids->base[port] = i == 3 ? 77 : lids->base[port];
        lids->lmc[port] = i == 4 ? 3 : lids->lmc[port];
        if (i == 5)
            fab_fabric_edit_port(f, port)->guid = 0x77;
        store_put_view(s, v, "first sweep", 1234);
        fab_view_unref(v);
        store_flush(s);
        ck_assert_msg(ask(queries[i]) == 1, "%s", queries[i]);
        if (_i == 0) {
            ck_assert_int_eq(ask("SELECT count(*) FROM node WHERE ports <> 88"), i < 3);
            ck_assert_int_eq(ask("SELECT count(*) FROM port WHERE current <> 2"), i >= 3);
        }
    }
    fab_fabric_builder_free(b);
    store_close(s);
}
END_TEST

/* ---- overflow, failure ---- */

START_TEST(behind_it_drops_events_and_never_leases)
{
    struct store *s = open_store();
    struct fab_lease set[SET_SIZE];
    sqlite3 *db = NULL;
    fill_set(set, 1);
    /* another program locks the database, so the store cannot write */
    ck_assert_int_eq(sqlite3_open_v2(db_path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    put_events(s, 1, 9000);
    store_put_leases(s, set, SET_SIZE);
    store_put_disabled(s, GUID(1), 3, true);
    ck_assert_uint_gt(store_dropped(s), 0);
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    uint64_t dropped = store_dropped(s);
    s = reopen(s);
    assert_leases(s, set, SET_SIZE);
    store_close(s);
    ck_assert_int_eq(ask("SELECT count(*) FROM disabled_port"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM event"), 9000 - (int64_t)dropped);
}
END_TEST

/* ---- reroutes ---- */

static void keep_reroute(void *ctx, const struct reroute *r)
{
    struct reroute *last = ctx;
    *last = *r;
}

START_TEST(reroutes_are_kept_newest_first)
{
    char why[600] = "";
    struct store *s = NULL;
    ck_assert_int_eq(store_open(dir, &s, why, sizeof(why)), FAB_OK);
    struct reroute r = {.time_us = 1795179476000000,
                        .cause = "trap 128 from leaf-3",
                        .engine = "fattree",
                        .known_us = 1,
                        .computed_us = 2,
                        .proved_us = 3,
                        .first_write_us = 4,
                        .last_write_us = 5,
                        .entries = 6,
                        .blocks = 7,
                        .switches = 8,
                        .failed = 9,
                        .links_lost = 10,
                        .links_gained = 11,
                        .nodes_lost = 12,
                        .nodes_gained = 13,
                        .lost_pairs = 14,
                        .lost_us = 15};
    struct reroute got = {0};
    for (r.generation = 1; r.generation <= 5; r.generation++)
        store_put_reroute(s, &r);
    store_flush(s);
    ck_assert_int_eq(store_reroutes(s, 0, 1, keep_reroute, &got), FAB_OK);
    r.generation = 5;
    ck_assert_mem_eq(&got, &r, sizeof(r));
    ck_assert_int_eq(store_reroutes(s, 4, 2, keep_reroute, &got), FAB_OK);
    ck_assert_uint_eq(got.generation, 2);
    r.generation = 10003; /* further reroutes displace the oldest ones */
    store_put_reroute(s, &r);
    store_flush(s);
    ck_assert_int_eq(store_reroutes(s, 10003, 9, keep_reroute, &got), FAB_OK);
    ck_assert_uint_eq(got.generation, 4);
    store_close(s);
}
END_TEST

/* ---- cost ---- */

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static size_t leases_of(const struct fab_view *v, struct fab_lease *leases)
{
    size_t count = 0;
    for (uint32_t p = 0; p < v->fabric->port_count; p++)
        if (v->target->lids.base[p] != 0)
            leases[count++] =
                (struct fab_lease){fab_fabric_port(v->fabric, p)->guid, v->target->lids.base[p], 0};
    return count;
}

/* Prints times and sizes. The limits are loose, because the machine may be busy, and sanitizers
 * make the test slow. */
START_TEST(large_fabrics_are_written_cheaply)
{
    struct fab_builder *b = NULL;
    struct fab_fat_tree_spec spec = {.radix = 36, .levels = 3, .taper = 1};
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    struct fab_view *v = make_view(b, 1, 1);
    struct fab_lease *leases = calloc(v->fabric->port_count, sizeof(*leases));
    size_t count = leases_of(v, leases);
    struct store *s = open_store();
    double t[4] = {cpu_ms()};
    store_put_leases(s, leases, count);
    store_put_view(s, v, "first sweep", 1);
    store_flush(s);
    t[1] = cpu_ms();
    store_put_leases(s, leases, count);
    store_put_view(s, v, "again", 1);
    store_flush(s);
    t[2] = cpu_ms();
    s = reopen(s);
    store_put_leases(s, leases, count);
    store_put_view(s, v, "restart", 1);
    store_flush(s);
    t[3] = cpu_ms();
    store_close(s);
    printf("# %u nodes, %u links: first write %.0f ms CPU, unchanged %.1f ms, restart %.0f ms\n",
           v->fabric->node_count, v->fabric->link_count, t[1] - t[0], t[2] - t[1], t[3] - t[2]);
    ck_assert_int_eq(ask("SELECT count(*) FROM node"), 11664 + 1620);
    ck_assert_int_eq(ask("SELECT count(*) FROM link"), v->fabric->link_count);
    ck_assert_double_lt(t[2] - t[1], (t[1] - t[0]) / 2);
    free(leases);
    fab_view_unref(v);
    fab_fabric_builder_free(b);
}
END_TEST

START_TEST(a_baseline_replaces_the_earlier_one)
{
    struct store *s = open_store();
    const struct fab_approved list[] = {
        {.place = {GUID(1), GUID(2), GUID(3), 1, 7, false},
         .name = "host",
         .by = "me",
         .since_us = 5},
        {.place = {GUID(3), GUID(3), GUID(4), 1, 2, true}, .since_us = 6}};
    struct fab_baseline *b = NULL;
    size_t count = 9;
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    ck_assert_ptr_null(b);
    ck_assert_int_eq(fab_discover_baseline_new(list, 2, &b), FAB_OK);
    store_put_baseline(s, b);
    fab_discover_baseline_unref(b);
    store_flush(s);
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    const struct fab_approved *got = fab_discover_baseline_list(b, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_mem_eq(&got[0].place, &list[0].place, sizeof(struct fab_place));
    ck_assert_str_eq(got[0].name, "host");
    ck_assert_str_eq(got[0].by, "me");
    ck_assert_int_eq(got[1].since_us, 6);
    fab_discover_baseline_unref(b);
    /* an empty baseline, which is not the same as no baseline */
    ck_assert_int_eq(fab_discover_baseline_new(list, 0, &b), FAB_OK);
    store_put_baseline(s, b);
    fab_discover_baseline_unref(b);
    store_close(s);
    s = open_store();
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    ck_assert_ptr_nonnull(b);
    (void)fab_discover_baseline_list(b, &count);
    ck_assert_uint_eq(count, 0);
    fab_discover_baseline_unref(b);
    store_put_baseline(s, NULL);
    store_flush(s);
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    ck_assert_ptr_null(b);
    store_close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store");
    TCase *tcase = tcase_create("round trips");
    tcase_add_checked_fixture(tcase, make_dir, remove_dir);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, leases_come_back);
    tcase_add_test(tcase, a_baseline_replaces_the_earlier_one);
    tcase_add_test(tcase, absent_ports_keep_their_lease_until_it_is_taken);
    tcase_add_test(tcase, a_port_has_one_lease);
    tcase_add_test(tcase, senseless_leases_are_left_out);
    tcase_add_test(tcase, the_latest_set_wins);
    tcase_add_test(tcase, events_come_back_in_pages);
    tcase_add_test(tcase, events_keep_their_fields);
    tcase_add_test(tcase, events_of_an_older_journal_have_no_fields);
    tcase_add_test(tcase, summary_events_keep_their_places);
    tcase_add_test(tcase, the_journal_is_trimmed);
    tcase_add_test(tcase, gaps_between_numbers_do_not_trim_the_journal);
    tcase_add_test(tcase, disabled_ports_come_back);
    tcase_add_test(tcase, spared_links_come_back);
    tcase_add_test(tcase, isolated_links_come_back);
    tcase_add_test(tcase, drains_come_back);
    tcase_add_test(tcase, reroutes_are_kept_newest_first);
    tcase_add_test(tcase, places_come_back);
    tcase_add_test(tcase, the_registry_shows_the_fabric);
    tcase_add_loop_test(tcase, what_goes_away_is_kept_and_marked, 0, 2);
    tcase_add_test(tcase, an_unchanged_fabric_writes_no_row);
    tcase_add_test(tcase, a_change_writes_its_rows_only);
    tcase_add_loop_test(tcase, each_attribute_is_written_when_it_changes, 0, 2);
    tcase_add_test(tcase, behind_it_drops_events_and_never_leases);
    tcase_add_test(tcase, large_fabrics_are_written_cheaply);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
