/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery of the simulated fabric. It finds the fabric that was built, whatever the order of
 * responses, with the smallest possible number of requests. Unresponsive nodes are reported and
 * delay nothing. Hostile devices cannot prevent the end of the discovery. A targeted sweep finds
 * the same as a heavy sweep.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "tests/support/drive.h"
#include "tests/unit/testing.h"

/* ---- fabrics ----------------------------------------------------------------------------------
 */

struct bench {
    struct fab_fabric *built, *expected, *found;
    struct fab_builder *builder;
    struct drive r;
};

/* Returns the expected result. Discovery cannot find a port of an adapter that has no link. */
static struct fab_fabric *expect(struct fab_builder *b, const struct fab_fabric *built,
                                 const struct drive *r)
{
    struct fab_fabric *expected = NULL, *island = NULL;
    uint32_t ref, dropped;
    for (uint32_t p = 0; p < built->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(built, p);
        if (fab_fabric_node_is_switch(built, port->node) || port->num == 0 ||
            port->peer != FAB_NONE)
            continue;
        ck_assert_int_eq(fab_fabric_builder_find_node(b, built->nodes[port->node].guid, &ref),
                         FAB_OK);
        if (port->node != r->node || port->num != r->port)
            fab_fabric_builder_forget_port(b, ref, port->num);
    }
    ck_assert_int_eq(fab_fabric_builder_find_node(b, built->nodes[r->node].guid, &ref), FAB_OK);
    fab_fabric_builder_set_self(b, ref, r->port);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &expected), FAB_OK);
    ck_assert_int_eq(fab_fabric_reachable(expected, &island, &dropped), FAB_OK);
    fab_fabric_unref(expected);
    return island;
}

static struct bench bench_new(struct fab_builder *b, uint64_t seed)
{
    struct bench x = {.builder = b};
    ck_assert_int_eq(fab_fabric_builder_seal(b, &x.built), FAB_OK);
    ck_assert_int_eq(fab_sim_new(x.built, seed, &x.r.sim), FAB_OK);
    x.r.seed = seed;
    drive_sit(&x.r);
    x.expected = expect(b, x.built, &x.r);
    return x;
}

static void bench_free(struct bench *x)
{
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->built);
    fab_fabric_unref(x->expected);
    fab_fabric_unref(x->found);
    fab_fabric_builder_free(x->builder);
}

static struct fab_builder *leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts,
                                      uint32_t parallel)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = leaves, .spines = spines, .hosts_per_leaf = hosts, .parallel = parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    return b;
}

static struct fab_builder *fat_tree(uint32_t radix, uint32_t levels)
{
    struct fab_fat_tree_spec spec = {.radix = radix, .levels = levels, .taper = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    return b;
}

static struct fab_builder *random_fabric(uint32_t switches, uint64_t seed)
{
    struct fab_random_spec spec = {
        .switches = switches, .degree = 4, .hosts_per_switch = 2, .seed = seed};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_random(&spec, &b), FAB_OK);
    return b;
}

static struct fab_builder *from_text(const char *text)
{
    struct fab_builder *b = NULL;
    struct fab_text_error error = {0};
    int status = fab_fabric_text_read(text, strlen(text), &b, &error);
    ck_assert_msg(status == FAB_OK, "line %u: %s", error.line, error.message);
    return b;
}

/* ---- equality ---------------------------------------------------------------------------------
 */

static void same_node(const struct fab_node *a, const struct fab_node *b)
{
    const struct fab_field *field =
        fab_wire_attr_diff(&fab_wire_attr_node_info, &a->info, &b->info);
    ck_assert_uint_eq(a->guid, b->guid);
    ck_assert_uint_eq(a->first_port, b->first_port);
    ck_assert_uint_eq(a->num_ports, b->num_ports);
    ck_assert_uint_eq(a->type, b->type);
    ck_assert_uint_eq(a->aggregation, b->aggregation);
    ck_assert_str_eq(a->desc, b->desc);
    ck_assert_msg(field == NULL, "%s: NodeInfo.%s differs", a->desc, field ? field->name : "");
}

static void same_port(const struct fab_fabric *f, const struct fab_port *a,
                      const struct fab_port *b)
{
    const char *name = f->nodes[a->node].desc;
    const struct fab_field *field =
        fab_wire_attr_diff(&fab_wire_attr_port_info, &a->info, &b->info);
    ck_assert_uint_eq(a->node, b->node);
    ck_assert_uint_eq(a->num, b->num);
    ck_assert_msg(a->peer == b->peer, "%s port %u: peers %u and %u", name, a->num, a->peer,
                  b->peer);
    ck_assert_msg(a->present == b->present, "%s port %u: present %d and %d", name, a->num,
                  a->present, b->present);
    ck_assert_msg(a->guid == b->guid, "%s port %u: GUIDs differ", name, a->num);
    ck_assert_msg(field == NULL, "%s port %u: PortInfo.%s differs", name, a->num,
                  field ? field->name : "");
}

static void same_fabric(const struct fab_fabric *a, const struct fab_fabric *b)
{
    ck_assert_uint_eq(a->node_count, b->node_count);
    ck_assert_uint_eq(a->switch_count, b->switch_count);
    ck_assert_uint_eq(a->port_count, b->port_count);
    ck_assert_uint_eq(a->link_count, b->link_count);
    ck_assert_uint_eq(a->self_port, b->self_port);
    for (uint32_t n = 0; n < a->node_count; n++)
        same_node(&a->nodes[n], &b->nodes[n]);
    for (uint32_t p = 0; p < a->port_count; p++)
        same_port(a, fab_fabric_port(a, p), fab_fabric_port(b, p));
    for (uint32_t s = 0; s < a->switch_count; s++)
        ck_assert_ptr_null(
            fab_wire_attr_diff(&fab_wire_attr_switch_info, &a->switches[s], &b->switches[s]));
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
    finds_all(leaf_spine(3, 2, 4, 3), 2, true); /* parallel links */
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
    x.expected = expect(b, x.built, &x.r); /* node 0 is a switch, port 0 */
    ck_assert_int_eq(drive_whole(&x.r, &x.found), FAB_OK);
    same_fabric(x.expected, x.found);
    bench_free(&x);
}
END_TEST

/* ---- how many questions -----------------------------------------------------------------------
 */

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
    counts(36, 256, 350); /* 1 % of the links */
}
END_TEST

/* ---- silence and loss -------------------------------------------------------------------------
 */

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
        ck_assert_uint_eq(silent[i].guid, 0); /* it did not respond to NodeInfo */
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

/* Loses all SMPs to one switch, except NodeInfo. */
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
    ck_assert_uint_le(count, 3); /* one for each attribute */
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

/* ---- hostile ----------------------------------------------------------------------------------
 */

struct hostile {
    struct fab_prng prng;
    unsigned style;
};

static void random_bytes(struct fab_prng *p, uint8_t *data)
{
    for (size_t i = 0; i < FAB_SMP_DATA; i++)
        data[i] = (uint8_t)fab_base_prng_next(p);
}

/* Makes a valid NodeInfo of a device that does not exist. */
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

/* ---- the scoped look --------------------------------------------------------------------------
 */

static void move_port(struct drive *r, const struct fab_path *path, uint8_t num, uint8_t state)
{
    uint8_t data[FAB_SMP_DATA] = {0};
    struct fab_port_info info;
    ck_assert_int_eq(drive_smp(r, path, FAB_METHOD_GET, FAB_ATTR_PORT_INFO, num, data), 0);
    fab_wire_attr_unpack(&fab_wire_attr_port_info, data, sizeof data, &info);
    info.port_state = state;
    info.phys_state = FAB_PHYS_NOP;
    fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof data);
    ck_assert_int_eq(drive_smp(r, path, FAB_METHOD_SET, FAB_ATTR_PORT_INFO, num, data), 0);
}

/* Sets all links to Active, as a manager does. */
static void activate(struct drive *r, const struct fab_fabric *f)
{
    struct fab_path *paths = NULL, path;
    ck_assert_int_eq(fab_discover_paths(f, &paths), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port *port = fab_fabric_port(f, p);
        if (port->peer == FAB_NONE || paths[port->node].hops == FAB_PATH_UNKNOWN)
            continue;
        path = paths[port->node];
        if (!fab_fabric_node_is_switch(f, port->node) && p != f->self_port) {
            const struct fab_port *far = fab_fabric_port(f, port->peer);
            path = paths[far->node];
            path.port[++path.hops] = far->num;
        }
        if (port->info.port_state == FAB_STATE_INIT)
            move_port(r, &path, port->num, FAB_STATE_ARMED);
        if (port->info.port_state != FAB_STATE_ACTIVE)
            move_port(r, &path, port->num, FAB_STATE_ACTIVE);
    }
    free(paths);
}

static struct fab_fabric *look(struct drive *r)
{
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(drive_whole(r, &f), FAB_OK);
    return f;
}

static struct fab_fabric *activate_and_look(struct drive *r, struct fab_fabric *f)
{
    activate(r, f);
    fab_fabric_unref(f);
    return look(r);
}

static struct fab_fabric *look_scoped(struct drive *r, const struct fab_fabric *base,
                                      const uint64_t *suspects, uint32_t count)
{
    struct fab_discover_config config = {
        .base = base, .suspects = suspects, .suspect_count = count};
    struct fab_discover *d = NULL;
    struct fab_fabric *f = NULL;
    r->asked = 0;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(r, d), FAB_OK);
    ck_assert(fab_discover_done(d));
    ck_assert_int_eq(fab_discover_result(d, &f), FAB_OK);
    fab_discover_free(d);
    return f;
}

struct faults {
    uint64_t suspects[64];
    uint32_t count;
};

static void suspect(struct faults *x, const struct fab_fabric *f, uint32_t node)
{
    if (fab_fabric_node_is_switch(f, node) && x->count < 64)
        x->suspects[x->count++] = f->nodes[node].guid;
}

static void change_cable(struct bench *x, struct faults *faults, uint32_t port)
{
    const struct fab_fabric *f = x->built;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (fab_sim_port(x->r.sim, p->node, p->num)->phys_state == FAB_PHYS_LINKUP)
        fab_sim_unlink(x->r.sim, p->node, p->num);
    else
        fab_sim_relink(x->r.sim, p->node, p->num);
    suspect(faults, f, p->node);
    suspect(faults, f, fab_fabric_port(f, p->peer)->node);
}

static uint32_t any_cable(const struct bench *x, struct fab_prng *prng)
{
    const struct fab_fabric *f = x->built;
    uint32_t self = fab_fabric_port_id(f, x->r.node, x->r.port);
    for (;;) {
        uint32_t p = (uint32_t)fab_base_prng_below(prng, f->port_count);
        if (fab_fabric_port(f, p)->peer != FAB_NONE && p != self &&
            fab_fabric_port(f, p)->peer != self)
            return p;
    }
}

static void faults_by_seed(uint64_t seed)
{
    struct bench x = bench_new(random_fabric(2 + (uint32_t)(seed % 15), seed), seed);
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    for (unsigned round = 0; round < 8; round++) {
        struct faults faults = {0};
        for (uint64_t i = 1 + fab_base_prng_below(&prng, 3); i > 0; i--)
            change_cable(&x, &faults, any_cable(&x, &prng));
        x.r.shuffle = fab_base_prng_below(&prng, 2) == 0;
        struct fab_fabric *scoped = look_scoped(&x.r, base, faults.suspects, faults.count);
        x.found = look(&x.r);
        same_fabric(x.found, scoped);
        fab_fabric_unref(x.found);
        x.found = NULL;
        fab_fabric_unref(base);
        base = scoped;
        if (round % 3 == 2)
            base = activate_and_look(&x.r, base);
    }
    fab_fabric_unref(base);
    bench_free(&x);
}

START_TEST(scoped_sees_what_whole_sees)
{
    uint64_t seed = test_seed("scoped", 99);
    for (uint64_t i = 0; i < test_rounds(300); i++)
        faults_by_seed(seed + i);
}
END_TEST

/* Swaps pairs of cables: p-q and r-s become p-s and r-q. */
static struct fab_fabric *swap_cables(const struct bench *x, struct fab_prng *prng,
                                      struct faults *faults, uint32_t moved[2])
{
    const struct fab_fabric *f = x->built;
    uint32_t p = any_cable(x, prng), r = any_cable(x, prng);
    uint32_t q = fab_fabric_port(f, p)->peer, s = fab_fabric_port(f, r)->peer;
    uint32_t ends[4] = {p, q, r, s};
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *swapped = NULL;
    ck_assert_ptr_nonnull(b);
    if (p != r && p != s) {
        fab_fabric_builder_unlink(b, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
        fab_fabric_builder_unlink(b, fab_fabric_port(f, r)->node, fab_fabric_port(f, r)->num);
        ck_assert_int_eq(
            fab_fabric_builder_link(b, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num,
                                    fab_fabric_port(f, s)->node, fab_fabric_port(f, s)->num),
            FAB_OK);
        ck_assert_int_eq(
            fab_fabric_builder_link(b, fab_fabric_port(f, r)->node, fab_fabric_port(f, r)->num,
                                    fab_fabric_port(f, q)->node, fab_fabric_port(f, q)->num),
            FAB_OK);
    }
    for (unsigned i = 0; i < 4; i++)
        suspect(faults, f, fab_fabric_port(f, ends[i])->node);
    moved[0] = p;
    moved[1] = r;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &swapped), FAB_OK);
    fab_fabric_builder_free(b);
    return swapped;
}

static void moved_by_seed(uint64_t seed)
{
    struct bench x = bench_new(random_fabric(2 + (uint32_t)(seed % 12), seed), seed);
    struct drive after = x.r;
    struct faults faults = {0};
    struct fab_prng prng;
    uint32_t moved[2];
    fab_base_prng_init(&prng, seed);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    struct fab_fabric *swapped = swap_cables(&x, &prng, &faults, moved);
    ck_assert_int_eq(fab_sim_new(swapped, seed, &after.sim), FAB_OK);
    fab_fabric_unref(activate_and_look(&after, look(&after)));
    for (unsigned i = 0; i < 2; i++) { /* the new links were trained just before */
        const struct fab_port *port = fab_fabric_port(swapped, moved[i]);
        fab_sim_unlink(after.sim, port->node, port->num);
        fab_sim_relink(after.sim, port->node, port->num);
    }
    struct fab_fabric *scoped = look_scoped(&after, base, faults.suspects, faults.count);
    x.found = look(&after);
    same_fabric(x.found, scoped);
    fab_fabric_unref(scoped);
    fab_fabric_unref(swapped);
    fab_fabric_unref(base);
    fab_sim_free(after.sim);
    bench_free(&x);
}

START_TEST(scoped_sees_cables_that_moved)
{
    uint64_t seed = test_seed("moved cables", 77);
    for (uint64_t i = 0; i < test_rounds(400); i++)
        moved_by_seed(seed + i);
}
END_TEST

/* After the loss of one link of a fat tree, only the two switches of this link are read. */
START_TEST(scoped_asks_little)
{
    struct bench x = bench_new(fat_tree(8, 3), 1);
    struct faults faults = {0};
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    uint32_t port = 0;
    while (fab_fabric_port(base, port)->peer == FAB_NONE ||
           fab_fabric_peer_node(base, port) >= base->switch_count)
        port++;
    change_cable(&x, &faults, port);
    struct fab_fabric *scoped = look_scoped(&x.r, base, faults.suspects, faults.count);
    ck_assert_uint_eq(x.r.asked, 2 * (8 + 1 + 2));
    ck_assert_uint_eq(scoped->link_count, base->link_count - 1);
    fab_fabric_unref(scoped);

    /* only one of the two switches is a suspect; of the other switch, only the port of this link is
     * read */
    scoped = look_scoped(&x.r, base, faults.suspects, 1);
    ck_assert_uint_eq(x.r.asked, (8 + 1 + 2) + 1);
    x.found = look(&x.r);
    ck_assert_uint_eq(x.found->link_count, scoped->link_count);
    fab_fabric_unref(scoped);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* Returns the port of a switch by which the route to this switch enters. */
static uint32_t last_cable(const struct fab_fabric *f, uint8_t hops)
{
    struct fab_path *paths = NULL;
    uint32_t found = FAB_NONE;
    ck_assert_int_eq(fab_discover_paths(f, &paths), FAB_OK);
    for (uint32_t port = 0; port < f->port_count && found == FAB_NONE; port++) {
        uint32_t node = fab_fabric_port(f, port)->node, near = fab_fabric_peer_node(f, port);
        if (near != FAB_NONE && fab_fabric_node_is_switch(f, node) && paths[node].hops == hops &&
            paths[near].hops + 1 == hops &&
            memcmp(paths[near].port, paths[node].port, (size_t)paths[near].hops + 1) == 0 &&
            paths[node].port[hops] == fab_fabric_port(f, fab_fabric_port(f, port)->peer)->num)
            found = port;
    }
    free(paths);
    ck_assert_uint_ne(found, FAB_NONE);
    return found;
}

/* The route to a leaf uses an unresponsive spine, and the leaf has also lost its link to this
 * spine. */
START_TEST(scoped_goes_round_who_is_silent)
{
    struct bench x = bench_new(leaf_spine(4, 2, 2, 1), 1);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    struct faults faults = {0};
    uint32_t port = last_cable(base, 3), spine = fab_fabric_peer_node(base, port);
    const struct fab_port *p = fab_fabric_port(base, port);
    suspect(&faults, base, spine);
    suspect(&faults, base, p->node);
    fab_sim_silence(x.r.sim, fab_fabric_node_by_guid(x.built, base->nodes[spine].guid), true);
    fab_sim_unlink(x.r.sim, fab_fabric_node_by_guid(x.built, base->nodes[p->node].guid), p->num);
    struct fab_fabric *scoped = look_scoped(&x.r, base, faults.suspects, faults.count);
    ck_assert_uint_eq(scoped->node_count, base->node_count);
    ck_assert_uint_eq(scoped->link_count, base->link_count - 1);
    fab_fabric_unref(scoped);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* A switch is off, and it is the only suspect. Its neighbours show that it is off. */
START_TEST(scoped_asks_around_who_is_silent)
{
    struct bench x = bench_new(leaf_spine(4, 2, 2, 1), 1);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    uint32_t spine = fab_fabric_peer_node(base, last_cable(base, 3));
    const struct fab_node *n = &base->nodes[spine];
    uint32_t at = fab_fabric_node_by_guid(x.built, n->guid);
    for (unsigned num = 1; num <= n->num_ports; num++)
        fab_sim_unlink(x.r.sim, at, (uint8_t)num);
    struct fab_fabric *scoped = look_scoped(&x.r, base, &n->guid, 1);
    x.found = look(&x.r);
    ck_assert_uint_eq(scoped->node_count, base->node_count - 1);
    ck_assert_uint_eq(scoped->node_count, x.found->node_count);
    ck_assert_uint_eq(scoped->link_count, x.found->link_count);
    fab_fabric_unref(scoped);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

START_TEST(scoped_when_our_own_cable_goes)
{
    struct bench x = bench_new(leaf_spine(2, 2, 2, 1), 1);
    struct fab_fabric *base = look(&x.r);
    uint64_t self = x.built->nodes[x.r.node].guid;
    fab_sim_unlink(x.r.sim, x.r.node, x.r.port);
    struct fab_fabric *scoped = look_scoped(&x.r, base, &self, 1);
    ck_assert_uint_eq(scoped->node_count, 1);
    ck_assert_uint_ne(scoped->self_port, FAB_NONE);
    x.found = look(&x.r);
    same_fabric(x.found, scoped);
    fab_fabric_unref(scoped);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* The MAD session may have no room for the first query for a while. */
START_TEST(scoped_is_not_done_before_its_first_query)
{
    struct bench x = bench_new(fat_tree(4, 2), 1);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    struct fab_discover_config config = {.base = base};
    struct fab_discover *d;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert(fab_discover_done(d));
    fab_discover_free(d);
    config.suspects = &base->nodes[0].guid;
    config.suspect_count = 1;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert(!fab_discover_done(d));
    fab_discover_free(d);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

START_TEST(scoped_needs_a_self)
{
    struct bench x = bench_new(leaf_spine(1, 0, 1, 1), 1);
    struct fab_discover_config config = {.base = x.built};
    struct fab_discover *d = NULL;
    ck_assert_uint_eq(x.built->self_port, FAB_NONE);
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_E_INVAL);
    bench_free(&x);
}
END_TEST

START_TEST(paths_lead_there)
{
    struct bench x = bench_new(random_fabric(20, 3), 3);
    struct fab_path *paths = NULL;
    x.found = look(&x.r);
    ck_assert_int_eq(fab_discover_paths(x.found, &paths), FAB_OK);
    for (uint32_t n = 0; n < x.found->node_count; n++) {
        uint8_t data[FAB_SMP_DATA] = {0};
        struct fab_node_info info;
        ck_assert_uint_ne(paths[n].hops, FAB_PATH_UNKNOWN);
        ck_assert_int_eq(drive_smp(&x.r, &paths[n], FAB_METHOD_GET, FAB_ATTR_NODE_INFO, 0, data),
                         0);
        fab_wire_attr_unpack(&fab_wire_attr_node_info, data, sizeof data, &info);
        ck_assert_uint_eq(info.node_guid, x.found->nodes[n].guid);
    }
    free(paths);
    bench_free(&x);
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
    tcase_add_test(c, scoped_sees_what_whole_sees);
    tcase_add_test(c, scoped_sees_cables_that_moved);
    tcase_add_test(c, scoped_asks_little);
    tcase_add_test(c, scoped_goes_round_who_is_silent);
    tcase_add_test(c, scoped_asks_around_who_is_silent);
    tcase_add_test(c, scoped_when_our_own_cable_goes);
    tcase_add_test(c, scoped_is_not_done_before_its_first_query);
    tcase_add_test(c, scoped_needs_a_self);
    tcase_add_test(c, paths_lead_there);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
