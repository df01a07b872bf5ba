/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Families of generated fabrics: their names, their limits, and the counts that generate.h
 * documents (nodes, links, degrees, diameter). For each family, an engine routes a fabric of about
 * 500 hosts, and the tables must pass the proof.
 */
#include "tests/unit/routing.h"

#include <string.h>

/* ---- counts of a fabric ---------------------------------------------------------------------- */

struct measure {
    uint32_t hosts, switches, trunks;
    uint32_t least, most; /* smallest and greatest number of ISLs of a switch */
    /* maximum over all pairs of hosts of the number of ISLs on a shortest path */
    uint32_t diameter;
};

static uint32_t trunks_of(const struct fab_fabric *f, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
        count += peer != FAB_NONE && fab_fabric_node_is_switch(f, peer);
    }
    return count;
}

static bool has_host(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
        if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) && !f->nodes[peer].aggregation)
            return true;
    }
    return false;
}

/* Returns the number of ISLs between the switch `from` and the farthest switch with a host. All
 * switches must be reachable. */
static uint32_t eccentricity(const struct fab_fabric *f, uint32_t from, uint32_t *far,
                             uint32_t *queue)
{
    uint32_t head = 0, tail = 1, most = 0;
    memset(far, 0xff, f->switch_count * sizeof *far);
    far[from] = 0;
    queue[0] = from;
    while (head < tail) {
        uint32_t sw = queue[head++];
        most = has_host(f, sw) ? far[sw] : most;
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
            if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer) || far[peer] != FAB_NONE)
                continue;
            far[peer] = far[sw] + 1;
            queue[tail++] = peer;
        }
    }
    ck_assert_uint_eq(tail, f->switch_count);
    return most;
}

static struct measure measured(const struct fab_fabric *f)
{
    struct measure m = {.switches = f->switch_count, .least = UINT32_MAX};
    uint32_t *far = calloc(f->switch_count, sizeof *far), *queue = calloc(f->switch_count, 4);
    for (uint32_t n = f->switch_count; n < f->node_count; n++)
        m.hosts += !f->nodes[n].aggregation;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t trunks = trunks_of(f, sw),
                 e = has_host(f, sw) || sw == 0 ? eccentricity(f, sw, far, queue) : 0;
        m.trunks += trunks;
        m.least = trunks < m.least ? trunks : m.least;
        m.most = trunks > m.most ? trunks : m.most;
        m.diameter = e > m.diameter && has_host(f, sw) ? e : m.diameter;
    }
    m.trunks /= 2;
    free(far);
    free(queue);
    return m;
}

static void assert_measure(const struct fab_fabric *f, const struct measure *want)
{
    struct measure m = measured(f);
    assert_sound(f);
    ck_assert_uint_eq(m.hosts, want->hosts);
    ck_assert_uint_eq(m.switches, want->switches);
    ck_assert_uint_eq(m.trunks, want->trunks);
    ck_assert_uint_eq(m.least, want->least);
    ck_assert_uint_eq(m.most, want->most);
    ck_assert_uint_eq(m.diameter, want->diameter);
    ck_assert_uint_eq(f->node_count, want->hosts + want->switches);
}

static uint32_t by_name(const struct fab_fabric *f, const char *name)
{
    uint32_t found = FAB_NONE;
    for (uint32_t n = 0; n < f->node_count; n++)
        if (strcmp(f->nodes[n].desc, name) == 0) {
            ck_assert_msg(found == FAB_NONE, "two nodes are named %s", name);
            found = n;
        }
    ck_assert_msg(found != FAB_NONE, "no node is named %s", name);
    return found;
}

static void assert_cable(const struct fab_fabric *f, const char *a, uint8_t port_a, const char *b,
                         uint8_t port_b)
{
    uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, by_name(f, a), port_a))->peer;
    ck_assert_msg(peer != FAB_NONE, "%s[%u] has no cable", a, port_a);
    ck_assert_str_eq(f->nodes[fab_fabric_port(f, peer)->node].desc, b);
    ck_assert_uint_eq(fab_fabric_port(f, peer)->num, port_b);
}

#define NEW(name)                                                                                  \
    static struct fab_fabric *new_##name(const struct fab_##name##_spec *spec)                     \
    {                                                                                              \
        struct fab_builder *b = NULL;                                                              \
        int status = fab_fabric_generate_##name(spec, &b);                                         \
        ck_assert_msg(status == FAB_OK, "%s", fab_base_status_text(status));                       \
        return sealed(b);                                                                          \
    }
/* Defines two tests for a family. The first compares fabrics with their expected counts of nodes
 * and links, their degrees and diameter. The second checks that parameters beyond the limits are
 * refused. */
#define FAMILY(name)                                                                               \
    NEW(name)                                                                                      \
    START_TEST(name##_has_its_counts)                                                              \
    {                                                                                              \
        struct fab_fabric *f = new_##name(&name##_counts[_i].spec);                                \
        assert_measure(f, &name##_counts[_i].measure);                                             \
        fab_fabric_unref(f);                                                                       \
    }                                                                                              \
    END_TEST                                                                                       \
    START_TEST(name##_has_limits)                                                                  \
    {                                                                                              \
        struct fab_builder *b = NULL;                                                              \
        ck_assert_int_eq(fab_fabric_generate_##name(&no_##name[_i], &b), FAB_E_RANGE);             \
        ck_assert_ptr_null(b);                                                                     \
    }                                                                                              \
    END_TEST

/* The counts of these two families are tested in test_generate.c, so they need only the function
 * that makes a fabric. */
NEW(leaf_spine)
NEW(fat_tree)

#define MANY UINT32_MAX

/* ---- trees ----------------------------------------------------------------------------------- */

static const struct {
    struct fab_pgft_spec spec;
    struct measure measure;
} pgft_counts[] = {
    {{1, {24}, {1}, {1}, 0}, {24, 1, 0, 0, 0, 0}},
    {{2, {4, 6}, {1, 3}, {1, 1}, 0}, {24, 9, 18, 3, 6, 2}},
    {{2, {4, 6}, {1, 3}, {1, 2}, 0}, {24, 9, 36, 6, 12, 2}},
    {{3, {4, 3, 5}, {1, 2, 3}, {1, 2, 1}, 40}, {60, 15 + 10 + 6, 60 + 30, 4, 9, 4}},
    {{4, {2, 2, 2, 2}, {1, 2, 2, 2}, {1, 1, 1, 1}, 0}, {16, 8 * 4, 3 * 16, 2, 4, 6}},
};

static const struct fab_pgft_spec no_pgft[] = {
    {0, {1}, {1}, {1}, 0},
    {7, {1}, {1}, {1}, 0},
    {2, {4, 0}, {1, 1}, {1, 1}, 0},
    {2, {4, 1}, {0, 1}, {1, 1}, 0},
    {2, {4, 1}, {1, 1}, {1, 0}, 0},
    {2, {4, 6}, {4, 1}, {1, 1}, 0},
    {2, {200, 2}, {1, 55}, {1, 1}, 0},
    {2, {2, 2}, {1, 2}, {1, 2}, 5},
    {2, {2, 2}, {1, 2}, {1, 2}, 255},
    {3, {127, 127, 127}, {1, 1, 1}, {1, 1, 1}, 0},
    {6, {1, 1, 1, 1, 1, 1}, {1, 127, 127, 127, 1, 1}, {1, 1, 1, 1, 1, 1}, 0},
    {2, {MANY, MANY}, {MANY, MANY}, {MANY, MANY}, MANY},
};

FAMILY(pgft)

START_TEST(pgft_is_cabled_as_it_says)
{
    struct fab_pgft_spec spec = {3, {2, 2, 3}, {1, 2, 2}, {1, 2, 1}, 0};
    struct fab_fabric *f = new_pgft(&spec);
    assert_cable(f, "leaf-002", 3, "spine-001", 3);
    assert_cable(f, "leaf-002", 6, "spine-002", 4);
    assert_cable(f, "leaf-003", 3, "spine-003", 1);
    assert_cable(f, "spine-004", 5, "core-002", 2);
    assert_cable(f, "spine-004", 6, "core-004", 2);
    assert_cable(f, "host-0004", 1, "leaf-002", 2);
    fab_fabric_unref(f);
}
END_TEST

/* In a PGFT whose hosts have two parents, each host has two ports, and each port is connected to
 * another leaf. */
START_TEST(pgft_hosts_may_have_more_ports)
{
    struct fab_pgft_spec spec = {2, {2, 2}, {2, 1}, {1, 1}, 0};
    struct fab_fabric *f = new_pgft(&spec);
    assert_cable(f, "host-0003", 1, "leaf-003", 1);
    assert_cable(f, "host-0003", 2, "leaf-004", 1);
    fab_fabric_unref(f);
}
END_TEST

/* ---- rails ----------------------------------------------------------------------------------- */

static const struct {
    struct fab_rail_spec spec;
    struct measure measure;
} rail_counts[] = {
    {{8, 1, 8, 0, 1, 0, 0}, {8, 1, 0, 0, 0, 0}},
    {{64, 8, 32, 16, 2, 0, 0}, {512, 16 + 16, 16 * 32, 32, 32, 2}},
    {{70, 8, 32, 4, 1, 0, 0}, {560, 24 + 4, 96, 4, 24, 2}},
    {{64, 8, 16, 4, 2, 2, 1}, {512, 32 + 32 + 8, 32 * 8 + 64, 8, 10, 4}},
    {{5, 2, 2, 1, 1, 1, 3}, {10, 6 + 2 + 1, 6 + 6, 1, 6, 4}},
};

static const struct fab_rail_spec no_rail[] = {
    {0, 8, 32, 4, 1, 0, 0},
    {64, 0, 32, 4, 1, 0, 0},
    {64, 8, 0, 4, 1, 0, 0},
    {64, 8, 32, 0, 1, 0, 0},
    {64, 8, 32, 4, 0, 0, 0},
    {64, 8, 32, 4, 1, 1, 0},
    {64, 8, 32, 223, 1, 0, 0},
    {1024, 8, 32, 4, 1, 0, 0},
    {64, 8, 32, 4, 1, 1, 32},
    {64, 8, 32, 4, 1, 253, 1},
    {1u << 20, 254, 1, 1, 254, 0, 0},
    {1u << 20, 254, 1, 1, 254, 1, 1},
    {MANY, MANY, MANY, MANY, MANY, MANY, MANY},
};

FAMILY(rail)

START_TEST(rail_is_cabled_as_it_says)
{
    struct fab_rail_spec two = {40, 4, 16, 3, 2, 0, 0}, three = {40, 4, 16, 3, 2, 2, 2};
    struct fab_fabric *f = new_rail(&two), *g = new_rail(&three);
    assert_cable(f, "node-0001/mlx5_0", 1, "su01-leaf-1", 1);
    assert_cable(f, "node-0001/mlx5_3", 1, "su01-leaf-4", 1);
    assert_cable(f, "node-0018/mlx5_2", 1, "su02-leaf-3", 2);
    assert_cable(f, "su02-leaf-3", 20, "spine-002", 14);
    assert_cable(g, "node-0018/mlx5_2", 1, "su02-leaf-3", 2);
    assert_cable(g, "su02-leaf-3", 20, "rail3-spine-02", 4);
    assert_cable(g, "rail3-spine-02", 7, "core-003", 5);
    assert_cable(g, "rail3-spine-02", 10, "core-004", 6);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

/* ---- dragonflies ----------------------------------------------------------------------------- */

static const struct {
    struct fab_dragonfly_spec spec;
    struct measure measure;
} dragonfly_counts[] = {
    {{0, 4, 2, 2, 1}, {72, 36, 9 * 6 + 36, 5, 5, 3}},
    {{0, 8, 2, 4, 1}, {17 * 32, 136, 17 * 28 + 136, 9, 9, 3}},
    {{5, 4, 2, 2, 1}, {40, 20, 5 * 6 + 20, 5, 5, 3}},
    {{6, 4, 2, 2, 2}, {48, 24, 6 * 12 + 15, 7, 8, 3}},
    {{1, 4, 0, 2, 1}, {8, 4, 6, 3, 3, 1}},
    {{4, 1, 3, 2, 1}, {8, 4, 6, 3, 3, 1}},
    {{2, 3, 3, 1, 1}, {6, 6, 2 * 3 + 9, 5, 5, 2}},
};

static const struct fab_dragonfly_spec no_dragonfly[] = {
    {0, 0, 2, 2, 1},   {10, 4, 2, 2, 1},
    {2, 4, 0, 2, 1},   {0, 4, 2, 2, 0},
    {0, 4, 2, 250, 1}, {0, 4, 252, 1, 1},
    {0, 200, 2, 1, 2}, {0, 120, 120, 10, 1},
    {1, 1, 0, 0, 1},   {MANY, MANY, MANY, MANY, MANY},
};

FAMILY(dragonfly)

/* Each pair of groups has the same number of links, and these are spread over as many switches as
 * possible. */
START_TEST(groups_are_connected_evenly)
{
    struct fab_dragonfly_spec spec = {9, 4, 4, 1, 1};
    struct fab_fabric *f = new_dragonfly(&spec);
    uint32_t cables[9][9] = {{0}}, doubled = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t last = FAB_NONE;
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t peer = fab_fabric_peer_node(f, f->nodes[sw].first_port + i);
            ck_assert_uint_ne(peer, FAB_NONE);
            if (fab_fabric_node_is_switch(f, peer) && peer / 4 != sw / 4)
                cables[sw / 4][peer / 4]++;
            doubled += peer == last;
            last = peer;
        }
    }
    for (uint32_t a = 0; a < 9; a++)
        for (uint32_t b = 0; b < 9; b++)
            ck_assert_uint_eq(cables[a][b], a == b ? 0 : 2);
    ck_assert_uint_eq(doubled, 0);
    assert_cable(f, "group01-switch-01", 1, "host-0001", 1);
    assert_cable(f, "group01-switch-01", 2, "group01-switch-02", 2);
    assert_cable(f, "group01-switch-01", 5, "group02-switch-04", 6);
    fab_fabric_unref(f);
}
END_TEST

static const struct {
    struct fab_dragonfly_plus_spec spec;
    struct measure measure;
} dragonfly_plus_counts[] = {
    {{0, 4, 4, 2, 4, 1}, {9 * 16, 72, 9 * 16 + 36, 4, 6, 3}},
    {{9, 8, 8, 1, 8, 1}, {9 * 64, 9 * 16, 9 * 64 + 36, 8, 9, 3}},
    {{5, 4, 4, 2, 4, 2}, {80, 40, 5 * 32 + 20, 8, 10, 3}},
    {{1, 4, 2, 0, 4, 1}, {16, 6, 8, 2, 4, 2}},
};

static const struct fab_dragonfly_plus_spec no_dragonfly_plus[] = {
    {0, 0, 4, 2, 4, 1},   {0, 4, 0, 2, 4, 1},      {10, 4, 4, 2, 4, 1},
    {0, 4, 4, 2, 251, 1}, {0, 4, 4, 2, 4, 0},      {0, 200, 4, 55, 4, 1},
    {0, 4, 200, 2, 4, 2}, {0, 250, 100, 4, 20, 1}, {MANY, MANY, MANY, MANY, MANY, MANY},
};

FAMILY(dragonfly_plus)

START_TEST(dragonfly_plus_is_cabled_as_it_says)
{
    struct fab_dragonfly_plus_spec spec = {0, 3, 2, 1, 4, 1};
    struct fab_fabric *f = new_dragonfly_plus(&spec);
    assert_cable(f, "group02-leaf-03", 6, "group02-spine-02", 3);
    assert_cable(f, "group01-spine-01", 4, "group02-spine-02", 4);
    assert_cable(f, "group01-spine-02", 4, "group03-spine-01", 4);
    assert_cable(f, "group02-spine-01", 4, "group03-spine-02", 4);
    fab_fabric_unref(f);
}
END_TEST

/* ---- grids ----------------------------------------------------------------------------------- */

static const struct {
    struct fab_torus_spec spec;
    struct measure measure;
} torus_counts[] = {
    {{1, {5}, 2, 1, false}, {10, 5, 5, 2, 2, 2}},
    {{2, {4, 6}, 2, 1, false}, {48, 24, 48, 4, 4, 5}},
    {{2, {4, 6}, 2, 3, false}, {48, 24, 144, 12, 12, 5}},
    {{3, {4, 4, 8}, 4, 1, false}, {512, 128, 384, 6, 6, 8}},
    {{3, {3, 2, 1}, 1, 1, false}, {6, 6, 6 + 3, 3, 3, 2}},
    {{2, {2, 2}, 1, 2, false}, {4, 4, 8, 4, 4, 2}},
    {{2, {4, 6}, 2, 1, true}, {48, 24, 18 + 20, 2, 4, 8}},
    {{3, {3, 4, 5}, 8, 2, true}, {480, 60, 2 * (40 + 45 + 48), 6, 12, 9}},
    {{6, {1, 1, 1, 1, 1, 1}, 3, 1, true}, {3, 1, 0, 0, 0, 0}},
};

static const struct fab_torus_spec no_torus[] = {
    {0, {1}, 1, 1, false},
    {7, {1, 1, 1, 1, 1, 1}, 1, 1, false},
    {2, {4, 0}, 1, 1, false},
    {2, {4, 4}, 1, 0, false},
    {2, {4, 4}, 251, 1, false},
    {2, {4, 4}, 4, 63, true},
    {1, {1}, 0, 1, false},
    {3, {100, 100, 100}, 1, 1, false},
    {6, {MANY, MANY, MANY, MANY, MANY, MANY}, MANY, MANY, true},
    {1, {MANY}, 0, 254, true},
};

FAMILY(torus)

START_TEST(torus_is_cabled_as_it_says)
{
    struct fab_torus_spec spec = {2, {3, 12}, 2, 2, false};
    struct fab_fabric *f = new_torus(&spec);
    assert_cable(f, "torus-1-02", 3, "torus-2-02", 5);
    assert_cable(f, "torus-2-02", 4, "torus-0-02", 6);
    assert_cable(f, "torus-1-02", 8, "torus-1-03", 10);
    assert_cable(f, "torus-1-11", 7, "torus-1-00", 9);
    assert_cable(f, "torus-0-01", 2, "host-0004", 1);
    fab_fabric_unref(f);
}
END_TEST

static const struct {
    struct fab_hypercube_spec spec;
    struct measure measure;
} hypercube_counts[] = {
    {{0, 4, 1}, {4, 1, 0, 0, 0, 0}},       {{1, 2, 1}, {4, 2, 1, 1, 1, 1}},
    {{4, 2, 1}, {32, 16, 32, 4, 4, 4}},    {{3, 2, 2}, {16, 8, 24, 6, 6, 3}},
    {{7, 4, 1}, {512, 128, 448, 7, 7, 7}},
};

static const struct fab_hypercube_spec no_hypercube[] = {
    {0, 0, 1}, {17, 1, 1}, {4, 251, 1}, {4, 1, 0}, {4, 1, 64}, {16, 16, 1}, {MANY, MANY, MANY},
};

FAMILY(hypercube)

static const struct {
    struct fab_hyperx_spec spec;
    struct measure measure;
} hyperx_counts[] = {
    {{1, {6}, 3, 1}, {18, 6, 15, 5, 5, 1}},
    {{2, {4, 6}, 3, 1}, {72, 24, 24 * 3 / 2 + 24 * 5 / 2, 8, 8, 2}},
    {{3, {4, 4, 4}, 8, 2}, {512, 64, 2 * 3 * 96, 18, 18, 3}},
    {{3, {4, 1, 2}, 1, 1}, {8, 8, 12 + 4, 4, 4, 2}},
};

static const struct fab_hyperx_spec no_hyperx[] = {
    {0, {1}, 1, 1},
    {7, {1}, 1, 1},
    {2, {4, 0}, 1, 1},
    {2, {4, 4}, 1, 0},
    {2, {4, 4}, 249, 1},
    {1, {255}, 1, 1},
    {1, {300}, 1, 1},
    {1, {128}, 1, 2},
    {1, {1}, 0, 1},
    {3, {80, 80, 80}, 8, 1},
    {6, {MANY, MANY}, MANY, MANY},
};

FAMILY(hyperx)

START_TEST(cubes_are_cabled_as_they_say)
{
    struct fab_hypercube_spec cube = {3, 2, 2};
    struct fab_hyperx_spec x = {2, {3, 4}, 2, 2};
    struct fab_fabric *f = new_hypercube(&cube), *g = new_hyperx(&x);
    assert_cable(f, "cube-010", 3, "cube-011", 3);
    assert_cable(f, "cube-010", 8, "cube-110", 8);
    assert_cable(g, "hyperx-0-2", 4, "hyperx-1-2", 4);
    assert_cable(g, "hyperx-0-2", 5, "hyperx-2-2", 3);
    assert_cable(g, "hyperx-1-1", 9, "hyperx-1-2", 9);
    assert_cable(g, "hyperx-1-1", 12, "hyperx-1-3", 10);
    assert_cable(g, "hyperx-1-1", 7, "hyperx-1-0", 7);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

/* ---- routes ---------------------------------------------------------------------------------- */

static struct fab_fabric *big_one(int i)
{
    switch (i) {
    case 0:
        return new_leaf_spine(&(struct fab_leaf_spine_spec){32, 8, 16, 2, 0});
    case 1:
        return new_fat_tree(&(struct fab_fat_tree_spec){16, 3, 1, 2});
    case 2:
        return new_pgft(&(struct fab_pgft_spec){3, {8, 8, 8}, {1, 4, 3}, {1, 2, 1}, 0});
    case 3:
        return new_rail(&rail_counts[1].spec);
    case 4:
        return new_rail(&rail_counts[3].spec);
    case 5:
        return new_dragonfly(&dragonfly_counts[1].spec);
    case 6:
        return new_dragonfly_plus(&dragonfly_plus_counts[1].spec);
    case 7:
        return new_torus(&torus_counts[3].spec);
    case 8:
        return new_torus(&torus_counts[7].spec);
    case 9:
        return new_hypercube(&hypercube_counts[4].spec);
    case 10:
        return new_hyperx(&hyperx_counts[2].spec);
    default:
        return random_fabric(80, 8, 6, 7);
    }
}

START_TEST(families_are_routed_with_proof)
{
    struct fab_policy policy;
    fab_policy_defaults(&policy);
    struct fab_fabric *f = big_one(_i);
    struct fab_target *t = routed(f, &policy);
    struct fab_verdict v = proven(f, t, 63);
    ck_assert_uint_ge(f->node_count - f->switch_count, 250);
    assert_good(f, &v, f->nodes[0].desc);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_policy_fini(&policy);
    fab_fabric_unref(f);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define ADD(tc, name)                                                                              \
    tcase_add_loop_test(tc, name##_has_its_counts, 0, COUNT(name##_counts));                       \
    tcase_add_loop_test(tc, name##_has_limits, 0, COUNT(no_##name))

int main(void)
{
    Suite *suite = suite_create("fabric/families");
    TCase *tc = tcase_create("families"), *routes = tcase_create("routes");
    ADD(tc, pgft);
    ADD(tc, rail);
    ADD(tc, dragonfly);
    ADD(tc, dragonfly_plus);
    ADD(tc, torus);
    ADD(tc, hypercube);
    ADD(tc, hyperx);
    tcase_add_test(tc, pgft_is_cabled_as_it_says);
    tcase_add_test(tc, pgft_hosts_may_have_more_ports);
    tcase_add_test(tc, rail_is_cabled_as_it_says);
    tcase_add_test(tc, groups_are_connected_evenly);
    tcase_add_test(tc, dragonfly_plus_is_cabled_as_it_says);
    tcase_add_test(tc, torus_is_cabled_as_it_says);
    tcase_add_test(tc, cubes_are_cabled_as_they_say);
    tcase_add_loop_test(routes, families_are_routed_with_proof, 0, 12);
    tcase_set_timeout(tc, 60);
    tcase_set_timeout(routes, 60);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, routes);
    return test_run(suite);
}
