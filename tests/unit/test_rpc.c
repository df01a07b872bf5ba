/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the RPC server that need no connection: page tokens while the fabric changes, the ring
 * of events, the order in which studies run, and gRPC descriptors.
 */
#include <string.h>

#include "fabricd/rpc/journal.h"
#include "fabricd/rpc/limits.h"
#include "fabricd/rpc/page.h"
#include "fabricd/rpc/study.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/grpc/descriptor.h"
#include "proto/descriptors.h"
#include "tests/unit/testing.h"

/* ---- pages ----------------------------------------------------------------------------------- */

static struct fab_fabric *make_fabric(uint64_t seed)
{
    const struct fab_random_spec spec = {
        .switches = 6, .degree = 3, .hosts_per_switch = 3, .seed = seed};
    struct fab_builder *b = NULL;
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

START_TEST(every_key_leads_to_the_next_row)
{
    struct fab_fabric *f = make_fabric(test_seed("pages", 3));
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct page_key k = page_key_of_node(f, i);
        bool same;
        ck_assert_uint_eq(page_node(f, &k, &same), i);
        ck_assert(same);
        k.number++;
        uint32_t next = page_node(f, &k, &same);
        ck_assert_uint_eq(next, i + 1);
    }
    for (uint32_t i = 0; i < f->port_count; i++) {
        struct page_key k = page_key_of_port(f, i, 'p');
        ck_assert_uint_eq(page_port(f, &k), i + 1);
        /* another number, as if the node of the token were not in the fabric any more */
        k.number++;
        bool same;
        if (page_node(f, &k, &same), same)
            continue; /* another node has this number, so this case cannot be tested */
        uint32_t next = page_port(f, &k);
        ck_assert_uint_eq(next, f->nodes[fab_fabric_port(f, i)->node].first_port +
                                    f->nodes[fab_fabric_port(f, i)->node].num_ports + 1u);
    }
    fab_fabric_unref(f);
}
END_TEST

START_TEST(tokens_are_read_as_written)
{
    static const char *const bad[] = {"n",
                                      "p0-1-2",
                                      "n0-0000000000000001",
                                      "n2-0000000000000001-0",
                                      "n0-0000000000000001-00",
                                      "n0-000000000000000g-1",
                                      "n0-0000000000000001-1 ",
                                      " n0-0000000000000001-1"};
    const struct page_key key = {'n', true, 0xfedcba9876543210, 254, 0};
    struct answer a = {0};
    struct page_key again;
    bool given;
    char *token = page_token(&a, &key);
    ck_assert_int_eq(page_parse('n', token, &again, &given), FAB_OK);
    ck_assert(given);
    ck_assert_uint_eq(again.number, key.number);
    ck_assert_uint_eq(again.port, key.port);
    ck_assert(again.behind);
    ck_assert_int_eq(page_parse('p', token, &again, &given), FAB_E_FORMAT);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(page_parse('n', bad[i], &again, &given), FAB_E_FORMAT);
    ck_assert_int_eq(page_parse('n', "", &again, &given), FAB_OK);
    ck_assert(!given);
    fab_base_arena_fini(&a.arena);
}
END_TEST

START_TEST(page_sizes_have_bounds)
{
    ck_assert_uint_eq(page_size(0), RPC_PAGE_DEFAULT);
    ck_assert_uint_eq(page_size(1), 1);
    ck_assert_uint_eq(page_size(UINT32_MAX), RPC_PAGE_MAX);
}
END_TEST

/* ---- events ---------------------------------------------------------------------------------- */

static void count(void *ctx)
{
    (*(unsigned *)ctx)++;
}

static void publish_numbered(struct bus *b, unsigned i)
{
    char message[32];
    snprintf(message, sizeof(message), "event %u", i);
    bus_publish(b, &(struct event){.severity = EVENT_INFO, .type = "trap", .message = message});
}

START_TEST(the_ring_keeps_the_newest)
{
    struct journal *j = NULL;
    unsigned told = 0;
    struct bus *b = bus_new(1000);
    ck_assert_int_eq(journal_new(b, count, &told, &j), FAB_OK);
    ck_assert_uint_eq(journal_newest(j), 1000);
    ck_assert_uint_eq(journal_oldest(j), 1001);
    ck_assert_ptr_null(journal_at(j, 1001));
    for (unsigned i = 0; i < RPC_EVENTS_KEPT + 10; i++)
        publish_numbered(b, i);
    ck_assert_uint_eq(told, RPC_EVENTS_KEPT + 10);
    ck_assert_uint_eq(journal_newest(j), 1000 + RPC_EVENTS_KEPT + 10);
    ck_assert_uint_eq(journal_oldest(j), 1011);
    ck_assert_ptr_null(journal_at(j, 1010));
    ck_assert_str_eq(journal_at(j, 1011)->message, "event 10");
    ck_assert_str_eq(journal_at(j, journal_newest(j))->type, "trap");
    journal_free(j);
    bus_publish(b, &(struct event){.severity = EVENT_INFO, .type = "trap"});
    ck_assert_uint_eq(told, RPC_EVENTS_KEPT + 10);
    bus_free(b);
}
END_TEST

/* Debug events, however many, must not displace other events in the ring, and must not use up
 * sequence numbers. */
START_TEST(debug_events_have_a_ring_of_their_own)
{
    struct journal *j = NULL;
    unsigned told = 0;
    uint64_t after = 0;
    struct bus *b = bus_new(1000);
    ck_assert_int_eq(journal_new(b, count, &told, &j), FAB_OK);
    publish_numbered(b, 0);
    for (unsigned i = 0; i < 2 * RPC_EVENTS_KEPT; i++)
        bus_publish(b, &(struct event){.severity = EVENT_DEBUG, .type = "debug"});
    publish_numbered(b, 1);
    ck_assert_uint_eq(journal_oldest(j), 1001);
    ck_assert_uint_eq(journal_newest(j), 1002);
    ck_assert_str_eq(journal_at(j, 1001)->message, "event 0");
    ck_assert_str_eq(journal_at(j, 1002)->message, "event 1");
    ck_assert_uint_eq(journal_debug_count(j), 2 * RPC_EVENTS_KEPT);
    ck_assert_ptr_null(journal_debug_at(j, 2 * RPC_EVENTS_KEPT - RPC_DEBUG_KEPT, &after));
    ck_assert_ptr_null(journal_debug_at(j, 2 * RPC_EVENTS_KEPT + 1, &after));
    const struct event *e = journal_debug_at(j, 2 * RPC_EVENTS_KEPT, &after);
    ck_assert_ptr_nonnull(e);
    ck_assert_str_eq(e->type, "debug");
    ck_assert_uint_eq(after, 1001);
    journal_free(j);
    bus_free(b);
}
END_TEST

/* ---- studies --------------------------------------------------------------------------------- */

START_TEST(clients_take_turns)
{
    static const struct {
        struct study_client clients[3];
        size_t next;
    } table[] = {
        /* no client has a study waiting: the result is the number of clients */
        {{{0}}, 3},
        {{{.turn = 7}, {.queued = 4, .turn = 9}, {0}}, 1}, /* only client 1 has studies waiting */
        {{{.queued = 4, .turn = 7}, {.queued = 1, .turn = 6}, {0}},
         1}, /* client 1 has the lower turn number, so it has waited longer */
        {{{.queued = 4, .turn = 7}, {.queued = 1, .turn = 8}, {0}},
         0}, /* client 0 has the lower turn number, so it has waited longer */
        {{{.queued = 1, .turn = 9}, {.turn = 1}, {.queued = 1, .turn = 8}},
         2}, /* client 1 has the lowest turn number, but no study waiting */
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        ck_assert_uint_eq(study_next(table[i].clients, 3), table[i].next);
}
END_TEST

/* ---- descriptors ----------------------------------------------------------------------------- */

START_TEST(symbols_lead_to_their_files)
{
    static const char *const known[] = {"fabric.v1.FabricService",
                                        "fabric.v1.FabricService.GetStatus",
                                        "fabric.v1.Node",
                                        "fabric.v1.PortState",
                                        "google.protobuf.Timestamp",
                                        "grpc.health.v1.Health",
                                        "grpc.health.v1.HealthCheckResponse.ServingStatus"};
    static const char *const unknown[] = {"",
                                          ".",
                                          "fabric",
                                          "fabric.v1",
                                          "fabric.v1.",
                                          "Node",
                                          "fabric.v1.Nod",
                                          "fabric.v1.Nodes",
                                          "fabricXv1.Node"};
    struct fab_grpc_descriptor_file file;
    const uint8_t *set = fabric_descriptors;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_int_eq(
            fab_grpc_descriptor_by_symbol(set, fabric_descriptors_len, known[i], &file), FAB_OK);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        ck_assert_int_eq(
            fab_grpc_descriptor_by_symbol(set, fabric_descriptors_len, unknown[i], &file),
            FAB_E_NOT_FOUND);
    ck_assert_int_eq(
        fab_grpc_descriptor_by_name(set, fabric_descriptors_len, "fabric/v1/node.proto", &file),
        FAB_OK);
    ck_assert(file.bytes > set && file.bytes + file.len <= set + fabric_descriptors_len);
    ck_assert_int_eq(fab_grpc_descriptor_by_name(set, fabric_descriptors_len, "node.proto", &file),
                     FAB_E_NOT_FOUND);
}
END_TEST

START_TEST(cut_descriptors_are_seen)
{
    struct fab_grpc_descriptor_file file;
    for (size_t len = 0; len < 300; len++) {
        int rc = fab_grpc_descriptor_by_symbol(fabric_descriptors, len, "no.such.Thing", &file);
        ck_assert(rc == FAB_E_NOT_FOUND || rc == FAB_E_FORMAT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rpc");
    TCase *tcase = tcase_create("rpc");
    tcase_add_test(tcase, every_key_leads_to_the_next_row);
    tcase_add_test(tcase, tokens_are_read_as_written);
    tcase_add_test(tcase, page_sizes_have_bounds);
    tcase_add_test(tcase, the_ring_keeps_the_newest);
    tcase_add_test(tcase, debug_events_have_a_ring_of_their_own);
    tcase_add_test(tcase, clients_take_turns);
    tcase_add_test(tcase, symbols_lead_to_their_files);
    tcase_add_test(tcase, cut_descriptors_are_seen);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
