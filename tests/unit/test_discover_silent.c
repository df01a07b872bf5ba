/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heavy and targeted sweeps beside switches that are known to be silent. The sweeps do not query
 * these switches. The snapshot keeps a silent switch, and nodes that only it connects, as long as a
 * neighbour reports a link to it as up.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/support/drive.h"
#include "tests/unit/testing.h"

#define LEAVES 4u
#define SPINES 3u
#define HOSTS 2u

struct bench {
    struct fab_fabric *built, *former;
    struct drive r;
    uint32_t unresponsive; /* number of unresponsive ports in the last discovery */
};

static struct bench bench_new(void)
{
    struct fab_leaf_spine_spec spec = {
        .leaves = LEAVES, .spines = SPINES, .hosts_per_leaf = HOSTS, .parallel = 1};
    struct fab_builder *b = NULL;
    struct fab_fabric *init;
    struct bench x = {0};
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &x.built), FAB_OK);
    fab_fabric_builder_free(b);
    ck_assert_int_eq(fab_sim_new(x.built, 1, &x.r.sim), FAB_OK);
    drive_sit(&x.r);
    ck_assert_int_eq(drive_whole(&x.r, &init), FAB_OK);
    ck_assert_int_eq(drive_program(&x.r, init), FAB_OK);
    fab_fabric_unref(init);
    /* now the snapshot shows all links as Active */
    ck_assert_int_eq(drive_whole(&x.r, &x.former), FAB_OK);
    return x;
}

static void bench_free(struct bench *x)
{
    fab_sim_free(x->r.sim);
    fab_fabric_unref(x->built);
    fab_fabric_unref(x->former);
}

static uint32_t named(const struct fab_fabric *f, const char *name)
{
    for (uint32_t n = 0; n < f->node_count; n++)
        if (strcmp(f->nodes[n].desc, name) == 0)
            return n;
    return FAB_NONE;
}

static uint64_t guid_of(const struct bench *x, const char *name)
{
    return x->built->nodes[named(x->built, name)].guid;
}

static void silence(struct bench *x, const char *name)
{
    ck_assert_int_eq(fab_sim_silence(x->r.sim, named(x->built, name), true), FAB_OK);
}

static struct fab_fabric *discover(struct bench *x, const struct fab_fabric *base,
                                   struct fab_silent *silent, const uint64_t *suspects,
                                   uint32_t suspect_count)
{
    const struct fab_discover_config config = {.base = base,
                                               .suspects = suspects,
                                               .suspect_count = suspect_count,
                                               .silent = silent,
                                               .former = x->former};
    struct fab_discover *d;
    struct fab_fabric *found = NULL;
    ck_assert_int_eq(fab_discover_new(&config, &d), FAB_OK);
    ck_assert_int_eq(drive(&x->r, d), FAB_OK);
    ck_assert_int_eq(fab_discover_result(d, &found), FAB_OK);
    (void)fab_discover_unresponsive(d, &x->unresponsive);
    fab_discover_free(d);
    return found;
}

static struct fab_silent *set_of(const uint64_t *guid, uint32_t count)
{
    struct fab_silent *silent = NULL;
    ck_assert_int_eq(fab_discover_silent_new(guid, count, NULL, 0, &silent), FAB_OK);
    return silent;
}

/* Makes a heavy sweep that does not query the switch `name`, because it is known to be silent. */
static struct fab_fabric *sweep_without(struct bench *x, const char *name)
{
    uint64_t guid = guid_of(x, name);
    struct fab_silent *silent = set_of(&guid, 1);
    struct fab_fabric *found = discover(x, NULL, silent, NULL, 0);
    fab_discover_silent_unref(silent);
    return found;
}

START_TEST(a_heavy_sweep_keeps_a_silent_leaf_with_its_hosts)
{
    struct bench x = bench_new();
    silence(&x, "leaf-003");
    struct fab_fabric *f = sweep_without(&x, "leaf-003");
    uint32_t leaf = named(f, "leaf-003");
    ck_assert_uint_eq(x.unresponsive, 0); /* discovery sent no request to the silent switch */
    ck_assert_uint_eq(f->node_count, x.former->node_count);
    ck_assert_uint_eq(f->link_count, x.former->link_count);
    for (uint32_t n = 0; n < f->node_count; n++)
        ck_assert_int_eq(f->nodes[n].silent, n == leaf);
    for (uint32_t p = 0; p < f->port_count; p++)
        ck_assert_uint_eq(fab_fabric_port(f, p)->peer, fab_fabric_port(x.former, p)->peer);
    struct fab_path *paths;
    ck_assert_int_eq(fab_discover_paths(f, &paths), FAB_OK);
    ck_assert_uint_eq(paths[leaf].hops, FAB_PATH_UNKNOWN);
    ck_assert_uint_ne(paths[named(f, "host-0005")].hops,
                      /* the only route to this host leads through the silent leaf */
                      FAB_PATH_UNKNOWN);
    free(paths);
    fab_fabric_unref(f);
    bench_free(&x);
}
END_TEST

START_TEST(links_that_neighbours_see_down_are_gone)
{
    struct bench x = bench_new();
    uint32_t spine = named(x.built, "spine-002");
    silence(&x, "spine-002");
    for (uint8_t port = 1; port <= LEAVES; port++) {
        ck_assert_int_eq(fab_sim_unlink(x.r.sim, spine, port), FAB_OK);
        struct fab_fabric *f = sweep_without(&x, "spine-002");
        ck_assert_uint_eq(f->link_count, x.former->link_count - port);
        ck_assert_int_eq(named(f, "spine-002") != FAB_NONE, port < LEAVES);
        ck_assert_uint_eq(x.unresponsive, 0);
        fab_fabric_unref(f);
    }
    bench_free(&x);
}
END_TEST

/* One leaf is silent, and a spine has lost power. The silent leaf cannot report that its link to
 * the spine is down, but the other leaves report their links as down. So the snapshot must not keep
 * the spine. */
START_TEST(a_switch_behind_is_kept_only_if_nobody_else_knew_it)
{
    struct bench x = bench_new();
    silence(&x, "leaf-003");
    for (uint8_t port = 1; port <= LEAVES; port++)
        ck_assert_int_eq(fab_sim_unlink(x.r.sim, named(x.built, "spine-001"), port), FAB_OK);
    struct fab_fabric *f = sweep_without(&x, "leaf-003");
    ck_assert_uint_eq(named(f, "spine-001"), FAB_NONE);
    ck_assert_uint_ne(named(f, "host-0006"), FAB_NONE);
    ck_assert_uint_eq(f->link_count, x.former->link_count - LEAVES);
    fab_fabric_unref(f);
    bench_free(&x);
}
END_TEST

/* All spines are silent. All leaves and hosts that are reached through the spines must stay. */
START_TEST(keeps_all_that_is_behind_silent_switches)
{
    struct bench x = bench_new();
    uint64_t guid[SPINES];
    char name[16];
    for (uint32_t i = 0; i < SPINES; i++) {
        snprintf(name, sizeof(name), "spine-%03u", i + 1);
        silence(&x, name);
        guid[i] = guid_of(&x, name);
    }
    struct fab_silent *silent = set_of(guid, SPINES);
    for (int scoped = 0; scoped < 2; scoped++) {
        struct fab_fabric *f = discover(&x, scoped ? x.former : NULL, silent, guid, SPINES);
        ck_assert_uint_eq(f->node_count, x.former->node_count);
        ck_assert_uint_eq(f->link_count, x.former->link_count);
        ck_assert(f->nodes[named(f, "spine-003")].silent);
        ck_assert(!f->nodes[named(f, "leaf-003")].silent);
        fab_fabric_unref(f);
    }
    fab_discover_silent_unref(silent);
    bench_free(&x);
}
END_TEST

/* leaf-003 and spine-001 are silent, and the only cable of leaf-003 leads to spine-001. No switch
 * that answers shows this cable. Discovery takes spine-001 from the former snapshot, and then finds
 * leaf-003 by this cable. The order in which silent switches are listed must not matter. */
START_TEST(keeps_a_silent_switch_that_only_a_silent_switch_sees)
{
    struct bench x = bench_new();
    uint64_t guid[2] = {guid_of(&x, _i == 0 ? "leaf-003" : "spine-001"),
                        guid_of(&x, _i == 0 ? "spine-001" : "leaf-003")};
    silence(&x, "leaf-003");
    silence(&x, "spine-001");
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, named(x.built, "spine-002"), 3), FAB_OK);
    ck_assert_int_eq(fab_sim_unlink(x.r.sim, named(x.built, "spine-003"), 3), FAB_OK);
    struct fab_silent *silent = set_of(guid, 2);
    struct fab_fabric *f = discover(&x, NULL, silent, NULL, 0);
    ck_assert_uint_eq(f->node_count, x.former->node_count);
    ck_assert_uint_eq(f->link_count, x.former->link_count - 2);
    ck_assert(f->nodes[named(f, "leaf-003")].silent && f->nodes[named(f, "spine-001")].silent);
    ck_assert_uint_ne(named(f, "host-0006"), FAB_NONE); /* a host at leaf-003 */
    fab_discover_silent_unref(silent);
    fab_fabric_unref(f);
    bench_free(&x);
}
END_TEST

/* Routes avoid some links, so the snapshot from which a targeted sweep starts lacks them. The
 * result must have them again. */
START_TEST(a_targeted_sweep_restores_excluded_links)
{
    struct bench x = bench_new();
    struct fab_silent_link link[LEAVES];
    struct fab_fabric *base;
    struct fab_silent *silent;
    uint32_t spine = named(x.former, "spine-002");
    uint64_t guid = guid_of(&x, "spine-002");
    ck_assert_int_eq(fab_fabric_clone(x.former, &base), FAB_OK);
    for (uint8_t port = 1; port <= LEAVES; port++) {
        uint32_t near = fab_fabric_port_id(base, spine, port);
        uint32_t far = fab_fabric_port(base, near)->peer;
        const struct fab_port_info info = fab_fabric_port(base, near)->info;
        link[port - 1] =
            (struct fab_silent_link){{guid, base->nodes[fab_fabric_port(base, far)->node].guid},
                                     {port, fab_fabric_port(base, far)->num}};
        fab_fabric_remove_link(base, near);
        fab_fabric_edit_port(base, near)->info = info;
        fab_fabric_edit_port(base, far)->info = info;
    }
    silence(&x, "spine-002");
    ck_assert_int_eq(fab_discover_silent_new(&guid, 1, link, LEAVES, &silent), FAB_OK);
    for (int scoped = 0; scoped < 2; scoped++) {
        /* the former snapshot lacks the links of spine-002, too */
        fab_fabric_unref(x.former);
        x.former = fab_fabric_ref(base);
        struct fab_fabric *f = discover(&x, scoped ? base : NULL, silent, &link[0].guid[1], 1);
        ck_assert_uint_eq(x.unresponsive, 0);
        ck_assert_uint_eq(f->link_count, base->link_count + LEAVES);
        ck_assert(f->nodes[named(f, "spine-002")].silent);
        fab_fabric_unref(f);
    }
    fab_discover_silent_unref(silent);
    fab_fabric_unref(base);
    bench_free(&x);
}
END_TEST

/* A switch that answers again is no longer silent, even if the manager still lists it as silent. */
START_TEST(a_switch_that_answers_is_not_marked)
{
    struct bench x = bench_new();
    struct fab_fabric *f = discover(&x, NULL, NULL, NULL, 0);
    for (uint32_t n = 0; n < f->node_count; n++)
        ck_assert(!f->nodes[n].silent);
    fab_fabric_unref(f);
    bench_free(&x);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("silent switches in discoveries");
    TCase *t = tcase_create("discover");
    tcase_add_test(t, a_heavy_sweep_keeps_a_silent_leaf_with_its_hosts);
    tcase_add_test(t, links_that_neighbours_see_down_are_gone);
    tcase_add_test(t, a_switch_behind_is_kept_only_if_nobody_else_knew_it);
    tcase_add_test(t, keeps_all_that_is_behind_silent_switches);
    tcase_add_loop_test(t, keeps_a_silent_switch_that_only_a_silent_switch_sees, 0, 2);
    tcase_add_test(t, a_targeted_sweep_restores_excluded_links);
    tcase_add_test(t, a_switch_that_answers_is_not_marked);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
