/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes random joins, leaves and faults from a fixed seed. Compares digests of the multicast trees,
 * of the plans of MFT writes and of the groups with tests/unit/golden/mcast-*.golden. This test
 * shows only that a result has changed; other tests check whether results are correct.
 * UPDATE_GOLDEN=1 rewrites the files.
 */
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/plan/mft_writes.h"
#include "tests/support/golden.h"
#include "tests/unit/mcast_world.h"

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
}

static uint64_t hash_entries(uint64_t hash, const uint16_t *entry)
{
    for (unsigned i = 0; i < FAB_BLOCK_ENTRIES; i++)
        hash = hash_number(hash, entry[i]);
    return hash;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Adds the MFT blocks to a digest. Blocks without entries do not count. */
static uint64_t hash_tables(uint64_t hash, const struct world *w)
{
    const struct fab_blocks *tables = fab_mcast_trees_tables(w->trees);
    static const uint16_t zeros[FAB_BLOCK_ENTRIES];
    /* the digests of the blocks are added, so that the order of the blocks does not matter */
    uint64_t sum = 0;
    for (size_t i = 0; i < tables->count; i++)
        if (memcmp(tables->block[i].entry, zeros, sizeof zeros) != 0)
            sum += hash_entries(
                hash_number(hash_number(GOLDEN_HASH, tables->block[i].id), tables->block[i].number),
                tables->block[i].entry);
    return hash_number(hash, sum);
}

static uint64_t hash_plan(uint64_t hash, struct world *w, struct fab_blocks *held,
                          const uint64_t *unresponsive)
{
    uint64_t groups[FAB_MFT_GROUPS / 64] = {0};
    const struct fab_plan_mft_input in = {.net = fab_mcast_trees_net(w->trees),
                                          .want = fab_mcast_trees_tables(w->trees),
                                          .held = held,
                                          .unresponsive = unresponsive,
                                          .groups = groups};
    struct fab_plan_mft plan;
    fab_mcast_trees_take_changed(w->trees, groups);
    for (size_t i = 0; i < FAB_MFT_GROUPS / 64; i++)
        hash = hash_number(hash, groups[i]);
    groups[0] = UINT64_MAX;
    for (unsigned again = 0; again < 2; again++) {
        ck_assert_int_eq(fab_plan_mft_make(&in, &plan), FAB_OK);
        for (unsigned stage = 0; stage < FAB_MFT_STAGES; stage++) {
            hash = hash_number(hash, plan.stage[stage].count);
            for (size_t i = 0; i < plan.stage[stage].count; i++) {
                const struct fab_plan_mft_op *op = &plan.stage[stage].op[i];
                hash = hash_number(hash_number(hash, op->sw), op->number);
                if (stage != FAB_MFT_READ)
                    hash = hash_entries(hash, op->entry);
                ck_assert_int_eq(fab_target_blocks_put(held, op->sw, op->number, op->entry),
                                 FAB_OK);
            }
        }
        fab_plan_mft_fini(&plan);
    }
    return hash;
}

/* Prints the digests of the trees on f. Takes over f. */
static void print_trees(FILE *out, const char *name, struct fab_fabric *f)
{
    struct world w;
    uint64_t digest = GOLDEN_HASH, *unresponsive = fab_base_bits_new(f->switch_count);
    world_init(&w, f, 9);
    for (unsigned round = 0; round < 6; round++) {
        struct fab_blocks held = {0};
        for (unsigned i = 0; i < 40; i++) {
            uint32_t missing = 0;
            if (i % 10 == 9)
                (void)change_fabric(&w);
            else
                (void)change_member(&w);
            for (uint32_t group = 0; group < GROUPS; group++)
                missing += fab_mcast_trees_missing(w.trees, mlid_of(group));
            digest = hash_number(hash_tables(digest, &w), missing);
            if (i % 10 != 9 && w.now->switch_count == w.whole->switch_count)
                digest = hash_plan(digest, &w, &held, i % 3 == 0 ? unresponsive : NULL);
            else /* after a change of the snapshot, the ids in `held` would be wrong */
                fab_target_blocks_fini(&held);
        }
        fab_target_blocks_fini(&held);
        fab_base_bits_put(unresponsive, round % w.whole->switch_count, true);
        fprintf(out, "%s, round %u: %u trees, %zu blocks, digest %016" PRIx64 "\n", name, round,
                fab_mcast_trees_count(w.trees), fab_mcast_trees_tables(w.trees)->count, digest);
    }
    all_leave(&w);
    world_fini(&w);
    free(unresponsive);
}

START_TEST(trees)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct fab_builder *b;
    print_trees(out, "leaf-spine", leaf_spine(5, 4, 20));
    ck_assert_int_eq(fab_fabric_generate_fat_tree(
                         &(struct fab_fat_tree_spec){.radix = 4, .levels = 3, .taper = 1}, &b),
                     FAB_OK);
    print_trees(out, "fat tree", sealed(b));
    ck_assert_int_eq(
        fab_fabric_generate_torus(
            &(struct fab_torus_spec){.dimensions = 2, .size = {4, 5}, .hosts = 1, .parallel = 2},
            &b),
        FAB_OK);
    print_trees(out, "torus", sealed(b));
    for (uint64_t seed = 1; seed < 4; seed++)
        print_trees(out, "random", random_fabric(7, 3, 2, seed));
    fclose(out);
    golden_compare("tests/unit/golden/mcast-trees.golden", text);
    free(text);
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

struct scene {
    struct fab_fabric *f;
    struct fab_mcast_groups *g;
    struct fab_prng r;
    uint64_t heard; /* digest of all calls of the function that listens to changes of groups */
};

static uint32_t below(struct scene *s, uint32_t n)
{
    return (uint32_t)fab_base_prng_below(&s->r, n);
}

static uint64_t hash_record(uint64_t hash, const struct fab_wire_mc_member_record *r)
{
    const uint64_t x[] = {
        r->mgid[0],       r->mgid[1],      r->port_gid[0],   r->port_gid[1], r->qkey,
        r->mlid,          r->mtu_selector, r->mtu,           r->tclass,      r->pkey,
        r->rate_selector, r->rate,         r->life_selector, r->life,        r->sl,
        r->flow_label,    r->hop_limit,    r->scope,         r->join_state,  r->proxy_join};
    return golden_hash_numbers(hash, x, sizeof x / sizeof *x);
}

static void on_group(void *ctx, const struct fab_mcast_group *group, bool made)
{
    struct scene *s = ctx;
    s->heard = hash_number(hash_record(s->heard, &group->is), made);
}

static void on_member(void *ctx, const struct fab_mcast_group *group,
                      const struct fab_mcast_member *member)
{
    struct scene *s = ctx;
    const uint64_t x[] = {group->is.mlid,  member->gid[1],     member->port_guid,
                          member->charged, member->join_state, member->proxy_join};
    s->heard = golden_hash_numbers(s->heard, x, sizeof x / sizeof *x);
}

static uint64_t host(const struct scene *s, uint32_t i)
{
    return fab_fabric_port(s->f, s->f->nodes[s->f->switch_count + i].first_port + 1)->guid;
}

/* Chooses a random MGID: of an IP group, of an IPv6 solicited-node group or of another group, the
 * value 0, or a GID that is not multicast. */
static void draw_mgid(struct scene *s, uint64_t mgid[2])
{
    static const uint64_t high[] = {UINT64_C(0xff12401bffff0000),
                                    UINT64_C(0xff12601bffff0000),
                                    UINT64_C(0xff15a01b00000000),
                                    UINT64_C(0xff12401b80010000),
                                    0,
                                    UINT64_C(0xfe80000000000000)};
    uint32_t which = below(s, 20);
    which = which < 15 ? which % 3 : which - 15;
    mgid[0] = high[which];
    mgid[1] = which == 4 ? 0 : (which == 1 ? UINT64_C(0x00000001ff000000) : 0) | below(s, 6);
}

static uint64_t change(struct scene *s, uint64_t hash)
{
    struct fab_wire_mc_member_record is = {.qkey = below(s, 8) == 0 ? 7 : 0xb1b,
                                           .mtu_selector = (uint8_t)below(s, 4),
                                           .mtu = (uint8_t)(3 + below(s, 3)),
                                           .rate_selector = (uint8_t)below(s, 4),
                                           .rate = (uint8_t)(2 + below(s, 8)),
                                           .life_selector = (uint8_t)below(s, 4),
                                           .life = (uint8_t)(16 + below(s, 4)),
                                           .pkey = below(s, 6) == 0 ? 0x8001 : 0xffff,
                                           .join_state = (uint8_t)(1u << below(s, 4)),
                                           .scope = 2},
                                     ret = {0};
    uint32_t who = below(s, 8);
    draw_mgid(s, is.mgid);
    is.port_gid[0] = UINT64_C(0xfe80000000000000);
    is.port_gid[1] = host(s, who);
    uint64_t mask = 0x10003;
    if (below(s, 3) > 0)
        mask |= 0x30c4;
    if (below(s, 2) == 0)
        mask |= UINT64_C(1) << below(s, 18);
    if (below(s, 3) == 0)
        mask |= 0x38u | (below(s, 2) ? 0x300u : 0) | (below(s, 2) ? 0xc00u : 0);
    const struct fab_mcast_request ask = {.record = &is,
                                          .comp_mask = mask,
                                          .mtu = 4,
                                          .rate = 7,
                                          .life = 0x12,
                                          .proxy = below(s, 6) == 0,
                                          .from_guid =
                                              below(s, 4) == 0 ? host(s, 9) : host(s, who)};
    uint16_t status = below(s, 3) > 0 ? fab_mcast_groups_join(s->g, &ask, &ret)
                                      : fab_mcast_groups_leave(s->g, &ask, &ret);
    hash = hash_number(hash, status);
    return status == 0 ? hash_record(hash, &ret) : hash;
}

static void print_groups(FILE *out, enum fab_mcast_share share, uint16_t cap)
{
    struct scene s = {.heard = GOLDEN_HASH};
    struct fab_fabric *f = leaf_spine(3, 2, 4);
    uint64_t digest = GOLDEN_HASH;
    ck_assert_int_eq(fab_fabric_clone(f, &s.f), FAB_OK);
    fab_fabric_unref(f);
    for (uint32_t sw = 0; sw < s.f->switch_count; sw++)
        s.f->switches[sw].multicast_fdb_cap = cap;
    fab_base_prng_init(&s.r, 31 + share);
    ck_assert_int_eq(fab_mcast_groups_new(s.f, &s.g), FAB_OK);
    s.g->share = share;
    s.g->most = 6;
    s.g->listener = (struct fab_mcast_listener){&s, on_group, on_member};
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 300; i++) {
            digest = change(&s, digest);
            if (i % 50 == 49)
                fab_mcast_groups_drop_member(s.g, host(&s, below(&s, 8)));
        }
        for (uint32_t i = 0; i < 10; i++)
            digest = hash_number(hash_number(digest, fab_mcast_groups_created_by(s.g, host(&s, i))),
                                 fab_mcast_groups_joined_by(s.g, host(&s, i)) +
                                     1000u * fab_mcast_groups_has_member(s.g, host(&s, i)));
        for (size_t i = 0; i < s.g->groups; i++)
            digest = hash_number(hash_record(digest, &s.g->group[i]->is), s.g->group[i]->members);
        fprintf(out,
                "share %d, %u MLIDs, round %u: %zu groups, %zu members, answers %016" PRIx64
                ", heard %016" PRIx64 "\n",
                share, cap, round, s.g->groups, s.g->memberships, digest, s.heard);
    }
    fab_mcast_groups_free(s.g);
    fab_fabric_unref(s.f);
}

START_TEST(groups)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    print_groups(out, FAB_MCAST_SHARE_NEVER, 64);
    print_groups(out, FAB_MCAST_SHARE_SHORT, 5);
    print_groups(out, FAB_MCAST_SHARE_ALWAYS, 3);
    fclose(out);
    golden_compare("tests/unit/golden/mcast-groups.golden", text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden multicast");
    TCase *t = tcase_create("multicast");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, trees);
    tcase_add_test(t, groups);
    suite_add_tcase(s, t);
    return test_run(s);
}
