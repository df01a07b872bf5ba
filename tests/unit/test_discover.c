/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery of the simulated fabric. It must find the fabric as it was built, with the smallest
 * possible number of requests, for any order of responses. It reports unresponsive nodes, which
 * must not delay it. Hostile devices must not keep it from ending.
 */
#include <string.h>

#include "libfabmgr/fabric/text.h"
#include "tests/unit/discover_bench.h"

static struct fab_builder *from_text(const char *text)
{
    struct fab_builder *b = NULL;
    struct fab_text_error error = {0};
    int status = fab_fabric_text_read(text, strlen(text), &b, &error);
    ck_assert_msg(status == FAB_OK, "line %u: %s", error.line, error.message);
    return b;
}

static void finds_all(struct fab_builder *b, uint64_t seed, bool shuffle)
{
    struct bench x = bench_new(b, seed);
    x.r.shuffle = shuffle;
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    same_fabric(x.expected, x.found);
    bench_free(&x);
}

START_TEST(generated_fabrics)
{
    finds_all(leaf_spine(4, 2, 6, 1), 1, false);
    /* three parallel links between a leaf and a spine; true: the order of responses is random */
    finds_all(leaf_spine(3, 2, 4, 3), 2, true);
    finds_all(leaf_spine(1, 0, 2, 1), 3, false);
    finds_all(fat_tree(8, 2), 4, true);
    finds_all(fat_tree(8, 3), 5, false);
    finds_all(fat_tree(4, 4), 6, true);
}
END_TEST

START_TEST(random_fabrics)
{
    uint64_t seed = test_seed("random fabrics", 20261120);
    for (uint64_t i = 0; i < 60; i++)
        finds_all(random_fabric(1 + (uint32_t)(i % 23), seed + i), seed + i, i % 2 == 1);
}
END_TEST

static const char looped[] = "switchguid=0x10(10)\n"
                             "Switch 8 \"S-0000000000000010\" # \"looped\"\n"
                             "[1] \"S-0000000000000010\"[2]\n"
                             "[2] \"S-0000000000000010\"[1]\n"
                             "[3] \"S-0000000000000010\"[7]\n"
                             "[7] \"S-0000000000000010\"[3]\n"
                             "[5] \"H-0000000000000020\"[1](21)\n"
                             "[6] \"H-0000000000000020\"[2](22)\n"
                             "\n"
                             "caguid=0x20\n"
                             "Ca 2 \"H-0000000000000020\" # \"twice\"\n"
                             "[1](21) \"S-0000000000000010\"[5]\n"
                             "[2](22) \"S-0000000000000010\"[6]\n";

START_TEST(cables_back_to_the_same_switch)
{
    finds_all(from_text(looped), 1, false);
    finds_all(from_text(looped), 2, true);
}
END_TEST

START_TEST(from_a_switch_port)
{
    struct fab_builder *b = leaf_spine(3, 2, 2, 1);
    struct bench x = {.builder = b};
    ck_assert_int_eq(fab_fabric_builder_seal(b, &x.built), FAB_OK);
    ck_assert_int_eq(fab_sim_new(x.built, 1, &x.r.sim), FAB_OK);
    x.expected = expect(b, x.built, &x.r); /* the manager is attached to port 0 of switch 0 */
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    same_fabric(x.expected, x.found);
    bench_free(&x);
}
END_TEST

/* ---- how many questions ---------------------------------------------------------------------- */

static void counts(uint32_t radix, uint32_t window, uint64_t spare_node_infos)
{
    struct bench x = bench_new(fat_tree(radix, 3), 1);
    x.r.window = window;
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    const struct fab_fabric *f = x.found;
    uint64_t hosts = f->node_count - f->switch_count;
    printf("# radix %u, window %u: %" PRIu64 " questions, NodeInfo %" PRIu64 " for %u cables\n",
           radix, window, x.r.asked, x.r.node_infos, f->link_count);
    ck_assert_uint_le(x.r.node_infos, 1 + f->link_count + spare_node_infos);
    ck_assert_uint_eq(x.r.node_descs, f->node_count);
    ck_assert_uint_eq(x.r.switch_infos, f->switch_count);
    ck_assert_uint_eq(x.r.port_infos, (uint64_t)f->switch_count * (radix + 1) + hosts);
    bench_free(&x);
}

START_TEST(one_node_info_a_cable)
{
    counts(8, 1, 0);
    counts(8, 64, 16);
    counts(16, 1024, 64);
}
END_TEST

START_TEST(eleven_thousand_hosts)
{
    counts(36, 256, 350); /* 350 is 1 % of the number of links */
}
END_TEST

/* ---- silence and loss ------------------------------------------------------------------------ */

static uint32_t find(const struct fab_fabric *f, uint8_t type, uint32_t nth)
{
    for (uint32_t n = f->node_count; n-- > 0;)
        if (f->nodes[n].type == type && nth-- == 0)
            return n;
    ck_abort_msg("no such node");
    return 0;
}

static void silent_node(uint8_t type)
{
    struct fab_builder *b = leaf_spine(3, 3, 4, 1);
    struct bench x = bench_new(b, 1);
    struct fab_discover_config config = {0};
    struct fab_discover *d = NULL;
    uint32_t count, ref, node = find(x.built, type, 0);
    uint64_t guid = x.built->nodes[node].guid;
    fab_sim_silence(x.r.sim, node, true);
    ck_assert_int_eq(fab_fabric_builder_find_node(b, guid, &ref), FAB_OK);
    fab_fabric_builder_remove_node(b, ref);
    fab_fabric_unref(x.expected);
    x.expected = expect(b, x.built, &x.r);

    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(&x.r, d), FAB_OK);
    ck_assert(fab_discover_done(d));
    const struct fab_unresponsive *silent = fab_discover_unresponsive(d, &count);
    ck_assert_uint_ge(count, 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t near = fab_fabric_node_by_guid(x.built, silent[i].near_guid);
        uint32_t port = fab_fabric_port_id(x.built, near, silent[i].near_port);
        ck_assert_uint_eq(fab_fabric_peer_node(x.built, port), node);
        ck_assert_uint_eq(silent[i].attr_id, FAB_ATTR_NODE_INFO);
        /* the GUID is unknown, because the device did not answer NodeInfo */
        ck_assert_uint_eq(silent[i].guid, 0);
        ck_assert_int_eq(silent[i].status, FAB_E_TIMEOUT);
    }
    ck_assert_int_eq(fab_discover_result(d, &x.found), FAB_OK);
    same_fabric(x.expected, x.found);
    fab_discover_free(d);
    bench_free(&x);
}

START_TEST(silent_nodes)
{
    silent_node(FAB_NODE_CA);
    silent_node(FAB_NODE_SWITCH);
}
END_TEST

START_TEST(we_are_silent)
{
    struct bench x = bench_new(leaf_spine(1, 0, 2, 1), 1);
    fab_sim_silence(x.r.sim, x.r.node, true);
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_E_NOT_FOUND);
    bench_free(&x);
}
END_TEST

/* Loses all requests to the switch at this port of the manager's leaf, except those for
 * NodeInfo. */
static void half_dead(void *ctx, struct drive_answer *a)
{
    const uint8_t *port = ctx;
    if (a->ask.path->hops == 2 && a->ask.path->port[2] == *port &&
        a->ask.attr_id != FAB_ATTR_NODE_INFO)
        a->status = FAB_E_TIMEOUT;
}

START_TEST(a_switch_that_only_tells_its_name)
{
    struct bench x = bench_new(leaf_spine(2, 2, 2, 1), 1);
    struct fab_discover_config config = {0};
    struct fab_discover *d = NULL;
    uint32_t leaf = fab_fabric_peer_node(x.built, fab_fabric_port_id(x.built, x.r.node, x.r.port));
    uint8_t port = x.built->nodes[leaf].num_ports;
    uint32_t spine = fab_fabric_peer_node(x.built, fab_fabric_port_id(x.built, leaf, port)), count;
    ck_assert(fab_fabric_node_is_switch(x.built, spine));
    x.r.mangle = half_dead;
    x.r.ctx = &port;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(&x.r, d), FAB_OK);
    ck_assert_int_eq(fab_discover_result(d, &x.found), FAB_OK);
    ck_assert_uint_eq(x.found->node_count, x.built->node_count);
    ck_assert_uint_eq(x.found->link_count, x.built->link_count);
    const struct fab_unresponsive *silent = fab_discover_unresponsive(d, &count);
    ck_assert_uint_ge(count, 1);
    /* NodeDescription, SwitchInfo and PortInfo: each is reported at most once */
    ck_assert_uint_le(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_eq(silent[i].near_guid, x.built->nodes[leaf].guid);
        ck_assert_uint_eq(silent[i].near_port, port);
        ck_assert_uint_eq(silent[i].guid, x.built->nodes[spine].guid);
    }
    fab_discover_free(d);
    bench_free(&x);
}
END_TEST

START_TEST(losses)
{
    uint64_t seed = test_seed("losses", 7);
    for (uint64_t i = 0; i < 10; i++) {
        struct bench x = bench_new(random_fabric(12, seed + i), seed + i);
        fab_sim_loss(x.r.sim, 0.2);
        x.r.tries = 60;
        ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
        same_fabric(x.expected, x.found);
        bench_free(&x);
    }
}
END_TEST

/* ---- hostile --------------------------------------------------------------------------------- */

struct hostile {
    struct fab_prng prng;
    unsigned style;
};

static void random_bytes(struct fab_prng *p, uint8_t *data)
{
    for (size_t i = 0; i < FAB_SMP_DATA; i++)
        data[i] = (uint8_t)fab_base_prng_next(p);
}

/* Makes the valid NodeInfo of a switch that does not exist. few: chooses one of 6 GUIDs; otherwise
 * any GUID. */
static void invented_node(struct fab_prng *p, uint8_t *data, bool few)
{
    uint64_t guid = few ? 1 + fab_base_prng_below(p, 6) : fab_base_prng_next(p) | 1;
    uint8_t ports = (uint8_t)(few ? 8 : 1 + fab_base_prng_below(p, 254));
    struct fab_node_info info = {.base_version = 1,
                                 .class_version = 1,
                                 .node_type = FAB_NODE_SWITCH,
                                 .num_ports = ports,
                                 .node_guid = guid,
                                 .port_guid = guid,
                                 .local_port = (uint8_t)(1 + fab_base_prng_below(p, ports))};
    fab_wire_attr_pack(&fab_wire_attr_node_info, &info, data, FAB_SMP_DATA);
}

static void linked_port(uint8_t *data)
{
    struct fab_port_info info = {.port_state = FAB_STATE_INIT, .phys_state = FAB_PHYS_LINKUP};
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, FAB_SMP_DATA);
}

static void hostile_answer(void *ctx, struct drive_answer *a)
{
    struct hostile *h = ctx;
    struct fab_prng *p = &h->prng;
    a->status = FAB_OK;
    if (h->style == 0 || (h->style == 1 && fab_base_prng_below(p, 4) == 0))
        random_bytes(p, a->data);
    else if (h->style == 1 && fab_base_prng_below(p, 2) == 0)
        a->data[fab_base_prng_below(p, FAB_SMP_DATA)] ^= (uint8_t)(1u << fab_base_prng_below(p, 8));
    else if (h->style >= 2 && a->ask.attr_id == FAB_ATTR_NODE_INFO)
        invented_node(p, a->data, h->style == 3);
    else if (h->style >= 2 && a->ask.attr_id == FAB_ATTR_PORT_INFO)
        linked_port(a->data);
    if (fab_base_prng_below(p, 20) == 0)
        a->status = FAB_E_TIMEOUT;
}

static void check_sane(const struct fab_fabric *f)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_port(f, p)->peer;
        if (peer == FAB_NONE)
            continue;
        ck_assert_uint_lt(peer, f->port_count);
        ck_assert_uint_eq(fab_fabric_port(f, peer)->peer, p);
        ck_assert_uint_gt(fab_fabric_port(f, p)->num, 0);
    }
}

static void survive(uint64_t seed)
{
    struct bench x = bench_new(leaf_spine(2, 1, 2, 1), seed);
    struct hostile h = {.style = (unsigned)(seed % 4)};
    struct fab_discover_config config = {.node_limit = 60, .port_limit = 2000};
    struct fab_discover *d = NULL;
    uint32_t count;
    fab_base_prng_init(&h.prng, seed);
    x.r.mangle = hostile_answer;
    x.r.ctx = &h;
    x.r.window = 1 + (uint32_t)(seed % 100);
    x.r.shuffle = seed % 3 == 0;
    x.r.limit = 3 * 60 + 3 * 2000;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(&x.r, d), FAB_OK);
    ck_assert(fab_discover_done(d));
    (void)fab_discover_unresponsive(d, &count);
    int status = fab_discover_result(d, &x.found);
    ck_assert(status == FAB_OK || status == FAB_E_NOT_FOUND);
    if (status == FAB_OK) {
        ck_assert_uint_le(x.found->node_count, 60);
        check_sane(x.found);
    }
    fab_discover_free(d);
    bench_free(&x);
}

START_TEST(hostile_answers)
{
    uint64_t seed = test_seed("hostile answers", 4242);
    for (uint64_t i = 0; i < test_rounds(4000); i++)
        survive(seed + i);
}
END_TEST

START_TEST(answers_that_nobody_asked_for)
{
    struct fab_discover_config config = {0};
    struct fab_discover *d = NULL;
    struct fab_discover_ask ask;
    uint8_t data[FAB_SMP_DATA] = {0};
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert(!fab_discover_done(d));
    ck_assert_int_eq(fab_discover_answer(d, 17, FAB_OK, data), FAB_OK);
    ck_assert(fab_discover_next(d, &ask));
    ck_assert_uint_eq(ask.attr_id, FAB_ATTR_NODE_INFO);
    ck_assert_uint_eq(ask.path->hops, 0);
    ck_assert_int_eq(fab_discover_answer(d, ask.tag, FAB_E_TIMEOUT, NULL), FAB_OK);
    ck_assert_int_eq(fab_discover_answer(d, ask.tag, FAB_OK, data), FAB_OK);
    ck_assert(fab_discover_done(d));
    fab_discover_free(d);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("discover");
    TCase *c = tcase_create("discover");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, generated_fabrics);
    tcase_add_test(c, random_fabrics);
    tcase_add_test(c, cables_back_to_the_same_switch);
    tcase_add_test(c, from_a_switch_port);
    tcase_add_test(c, one_node_info_a_cable);
    tcase_add_test(c, eleven_thousand_hosts);
    tcase_add_test(c, silent_nodes);
    tcase_add_test(c, we_are_silent);
    tcase_add_test(c, a_switch_that_only_tells_its_name);
    tcase_add_test(c, losses);
    tcase_add_test(c, hostile_answers);
    tcase_add_test(c, answers_that_nobody_asked_for);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
