/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The targeted sweep of the simulated fabric, after links failed, came back or were moved. It must
 * find the same as a heavy sweep, but read only the suspects and the nodes to which their links
 * lead.
 */
#include <string.h>

#include "tests/unit/discover_bench.h"

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

/* Exchanges ends of two random links: the links p-q and r-s become p-s and r-q. */
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
    /* the states of the new links are as if somebody had just plugged in their cables */
    for (unsigned i = 0; i < 2; i++) {
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

/* A link of a fat tree fails. Then the sweep reads only the two switches of this link. */
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

    /* Now only one of the two switches is a suspect. The sweep reads all its ports, but at the
     * other switch only the port of the failed link. */
    scoped = look_scoped(&x.r, base, faults.suspects, 1);
    ck_assert_uint_eq(x.r.asked, (8 + 1 + 2) + 1);
    x.found = look(&x.r);
    ck_assert_uint_eq(x.found->link_count, scoped->link_count);
    fab_fabric_unref(scoped);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* Finds a switch whose directed route has `hops` hops. Returns the port by which this route enters
 * the switch. */
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

/* A leaf and a spine are suspects. The directed route to the leaf leads over the spine, which does
 * not answer, and the link from this spine to the leaf is down. */
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

/* The directed route to a leaf leads over a spine, and the caller knows that this spine does not
 * answer. The sweep must read the leaf over another spine, and send nothing through this one. */
START_TEST(scoped_avoids_who_has_failed)
{
    struct bench x = bench_new(leaf_spine(4, 2, 2, 1), 1);
    struct fab_fabric *base = activate_and_look(&x.r, look(&x.r));
    uint32_t port = last_cable(base, 3), spine = fab_fabric_peer_node(base, port);
    const uint64_t leaf = base->nodes[fab_fabric_port(base, port)->node].guid;
    const struct fab_discover_config config = {.base = base,
                                               .suspects = &leaf,
                                               .suspect_count = 1,
                                               .failed = &base->nodes[spine].guid,
                                               .failed_count = 1};
    struct fab_discover *d = NULL;
    uint32_t count;
    fab_sim_silence(x.r.sim, fab_fabric_node_by_guid(x.built, base->nodes[spine].guid), true);
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(&x.r, d), FAB_OK);
    (void)fab_discover_unresponsive(d, &count);
    ck_assert_uint_eq(count, 0);
    fab_discover_free(d);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* The only suspect is a switch that is off. The sweep learns this from the neighbours of the
 * switch. */
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

/* A sweep that has suspects is not done before its first query. The MAD session may have no room
 * for this query for a while. */
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
    Suite *s = suite_create("discover targeted");
    TCase *c = tcase_create("discover targeted");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, scoped_sees_what_whole_sees);
    tcase_add_test(c, scoped_sees_cables_that_moved);
    tcase_add_test(c, scoped_asks_little);
    tcase_add_test(c, scoped_goes_round_who_is_silent);
    tcase_add_test(c, scoped_asks_around_who_is_silent);
    tcase_add_test(c, scoped_avoids_who_has_failed);
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
