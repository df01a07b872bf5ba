/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees together with unicast routes, on families of fabrics with and without damage.
 * Multicast trees of shortest paths often close a cycle of channel dependencies. Trees that follow
 * a spanning tree (libfabmgr/spanning) must not.
 *
 * SPANNING_ROUNDS=300 in the environment sets the number of fabrics of each family.
 */
#include "libfabmgr/mcast/trees.h"
#include "libfabmgr/spanning/spanning.h"
#include "libfabmgr/verify/multicast.h"
#include "tests/unit/route_families.h"

#define GROUPS 4
#define MEMBERS 400

struct tally {
    /* fabrics: number of all fabrics. several: number of those whose routes use several VLs. */
    unsigned fabrics, several;
    /* Number of fabrics with a cycle. before: multicast trees have shortest paths. after: they
     * follow a spanning tree. */
    unsigned before, after;
};
struct scene {
    struct fab_fabric *f;
    struct fab_target *t;
    struct fab_mcast_trees *trees;
    struct fab_verify_channels *channels;
    struct fab_verify_multicast_member member[GROUPS * MEMBERS];
    struct fab_verify_multicast_lid lid[GROUPS];
};

/* Makes all hosts members of group 0, and random hosts members of the other groups. */
static void join_all(struct scene *s, struct fab_prng *prng)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint16_t mlid = (uint16_t)(FAB_MLID_FIRST + g);
        s->lid[g] = (struct fab_verify_multicast_lid){.mlid = mlid, .sls = 1, .first = count};
        for (uint32_t port = 0; port < s->f->port_count; port++) {
            uint64_t guid = fab_fabric_port(s->f, port)->guid;
            if (fab_fabric_node_is_switch(s->f, fab_fabric_port(s->f, port)->node) ||
                !fab_fabric_port_has_lid(s->f, port) || (g > 0 && !fab_base_prng_chance(prng, 0.3)))
                continue;
            ck_assert_int_eq(fab_mcast_trees_join(s->trees, mlid, guid, true), FAB_OK);
            s->member[count++] = (struct fab_verify_multicast_member){guid, true};
        }
        s->lid[g].count = count - s->lid[g].first;
    }
}

/* Proves the multicast tables together with the unicast tables. Returns true if there is no cycle
 * of channel dependencies. */
static bool are_free(struct scene *s)
{
    struct fab_multicast_verdict v;
    const struct fab_verify_multicast_input in = {.fabric = s->f,
                                                  .mft = fab_mcast_trees_tables(s->trees),
                                                  .member = s->member,
                                                  .lid = s->lid,
                                                  .lids = GROUPS,
                                                  .unicast = s->channels};
    ck_assert_int_eq(fab_verify_multicast(&in, &v), FAB_OK);
    char *text = NULL;
    ck_assert_int_eq(fab_verify_multicast_text(s->f, &v, &text), FAB_OK);
    ck_assert_msg(v.kind == FAB_OK, "%s", text);
    free(text);
    bool free_of_cycles = v.together;
    fab_verify_multicast_fini(&v);
    return free_of_cycles;
}

/* Routes the fabric by this engine. Returns false if the engine refuses the fabric, or if its
 * tables fail the proof. */
static bool route(struct scene *s, const char *engine)
{
    struct fab_policy p;
    char why[200];
    fab_policy_defaults(&p);
    s->t = fab_target_new();
    assigned(s->f, &p, &s->t->lids);
    const struct fab_route_input in = {.fabric = s->f, .policy = &p, .lids = &s->t->lids};
    int status =
        fab_route_engine_by_name(engine)->run(&in, &s->t->lft, &s->t->vls, why, sizeof(why));
    fab_policy_fini(&p);
    if (status != FAB_OK)
        return false;
    struct fab_verdict v = proven(s->f, s->t, 0);
    bool good = fab_verify_verdict_good(&v);
    fab_verify_verdict_fini(&v);
    return good;
}

static void compare(struct scene *s, struct fab_prng *prng, struct tally *tally)
{
    struct fab_mcast_guide guide;
    const struct fab_verify_input in = proof_input(s->f, s->t, 0);
    ck_assert_int_eq(fab_verify_channels_new(&in, &s->channels), FAB_OK);
    ck_assert_int_eq(fab_mcast_trees_new(s->f, &s->trees), FAB_OK);
    join_all(s, prng);
    tally->fabrics++;
    tally->several += s->t->vls.count > 1;
    tally->before += !are_free(s);
    ck_assert_int_eq(fab_spanning_make(s->channels, 1, &guide), FAB_OK);
    bool spans = guide.missed == 0;
    ck_assert_int_eq(fab_mcast_trees_follow(s->trees, &guide), FAB_OK);
    bool good = spans && are_free(s);
    tally->after += !good;
    ck_assert(good || !spans);
    fab_mcast_trees_free(s->trees);
    fab_verify_channels_free(s->channels);
}

START_TEST(no_cycles_with_unicast)
{
    const struct family *fam = &families[_i];
    struct fab_prng prng;
    const char *wanted = getenv("SPANNING_ROUNDS");
    unsigned rounds = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 0) : test_rounds(20);
    static struct scene s;
    fab_base_prng_init(&prng, test_seed(fam->name, 51 + (uint64_t)_i));
    for (unsigned e = 0; fam->engines[e] != NULL; e++) {
        struct tally t = {0};
        for (unsigned i = 0; i < rounds; i++) {
            struct fab_fabric *whole = fam->draw(&prng);
            s.f = i % 2 == 0 ? fab_fabric_ref(whole) : damaged_copy(whole, &prng);
            if (route(&s, fam->engines[e]))
                compare(&s, &prng, &t);
            fab_target_unref(s.t);
            fab_fabric_unref(s.f);
            fab_fabric_unref(whole);
        }
        printf("# %s, %s: %u fabrics (%u with several VLs), %u with a cycle before, %u after\n",
               fam->name, fam->engines[e], t.fabrics, t.several, t.before, t.after);
        /* Multicast packets use the first VL, which dfsssp fills with as many paths as possible, so
         * a cycle may remain. With all other engines, none may remain. */
        if (strcmp(fam->engines[e], "dfsssp") != 0)
            ck_assert_uint_eq(t.after, 0);
        ck_assert_uint_le(t.after, t.several);
    }
}
END_TEST

/* Returns a torus or mesh without `percent` percent of its links between switches. Frees f. */
static struct fab_fabric *lattice(const uint32_t size[3], uint32_t hosts, bool mesh,
                                  unsigned percent, struct fab_prng *prng)
{
    struct fab_torus_spec spec = {.dimensions = size[2] > 0 ? 3 : 2,
                                  .size = {size[0], size[1], size[2]},
                                  .hosts = hosts,
                                  .parallel = 1,
                                  .mesh = mesh};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    struct fab_fabric *f = sealed(b);
    uint32_t links = 0;
    for (uint32_t port = 0; port < f->port_count; port++)
        links += naive_is_channel(f, port);
    for (uint32_t left = links / 2 * percent / 100; left > 0;) {
        uint32_t port = (uint32_t)fab_base_prng_below(prng, f->port_count);
        if (!naive_is_channel(f, port))
            continue;
        b = fab_fabric_builder_from(f);
        const struct fab_port *p = fab_fabric_port(f, port);
        ck_assert_int_eq(fab_fabric_builder_unlink(b, p->node, p->num), FAB_OK);
        fab_fabric_unref(f);
        f = sealed(b);
        left--;
    }
    return f;
}

/* Without a reserved tree, the detours of these lattices leave no room for a spanning tree in 93 of
 * 120 rounds (TEST_SEED 60 to 63). */
START_TEST(detours_leave_room_for_a_spanning_tree)
{
    static const struct {
        uint32_t size[3], hosts;
        bool mesh;
    } kinds[] = {{{12, 12, 0}, 2, false},
                 {{7, 6, 5}, 1, false},
                 {{12, 12, 0}, 2, true},
                 {{5, 5, 6}, 2, true}};
    struct fab_prng prng;
    static struct scene s;
    fab_base_prng_init(&prng, test_seed("damaged lattices", 60 + (uint64_t)_i));
    unsigned rounds = test_rounds(30), missed = 0, reserved = 0;
    for (unsigned i = 0; i < rounds; i++) {
        struct fab_mcast_guide guide;
        s.f = lattice(kinds[_i].size, kinds[_i].hosts, kinds[_i].mesh, 1 + i % 2, &prng);
        ck_assert(route(&s, kinds[_i].mesh ? "dor" : "torus"));
        const struct fab_verify_input in = proof_input(s.f, s.t, 0);
        ck_assert_int_eq(fab_verify_channels_new(&in, &s.channels), FAB_OK);
        ck_assert_int_eq(fab_spanning_make(s.channels, 1, &guide), FAB_OK);
        missed += guide.missed > 0;
        reserved += s.t->vls.branch != NULL;
        /* a tree that the engine reserved is free of cycles */
        ck_assert(s.t->vls.branch == NULL || guide.missed == 0);
        fab_mcast_guide_fini(&guide);
        fab_verify_channels_free(s.channels);
        fab_target_unref(s.t);
        fab_fabric_unref(s.f);
    }
    printf("# %ux%ux%u%s: %u fabrics, %u with a reserved tree, %u without a spanning tree\n",
           kinds[_i].size[0], kinds[_i].size[1], kinds[_i].size[2],
           kinds[_i].mesh ? " mesh" : " torus", rounds, reserved, missed);
    ck_assert_uint_le(missed, rounds / 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spanning");
    TCase *tcase = tcase_create("families");
    tcase_set_timeout(tcase, 600);
    tcase_add_loop_test(tcase, no_cycles_with_unicast, 0, (int)FAMILIES);
    tcase_add_loop_test(tcase, detours_leave_room_for_a_spanning_tree, 0, 4);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
