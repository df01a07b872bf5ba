/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The proof of multicast tables: it accepts the trees of libfabmgr/mcast through all changes, finds
 * every spoiled entry, and agrees with a naive walk about the dependencies of unicast and multicast
 * packets together.
 */
#include "libfabmgr/verify/multicast.h"

#include "tests/unit/mcast_world.h"
#include "tests/unit/verify_vls.h"

struct members {
    struct fab_verify_multicast_member member[GROUPS * 400];
    struct fab_verify_multicast_lid lid[GROUPS];
};

static void list_members(const struct world *w, struct members *m)
{
    uint32_t count = 0;
    for (uint32_t group = 0; group < GROUPS; group++) {
        m->lid[group] =
            (struct fab_verify_multicast_lid){.mlid = mlid_of(group), .sls = 1, .first = count};
        for (uint32_t end = 0; end < w->ends; end++)
            if (w->member[end][group] != 0)
                m->member[count++] = (struct fab_verify_multicast_member){
                    .guid = guid_of(w, end), .receives = w->member[end][group] == 1};
        m->lid[group].count = count - m->lid[group].first;
    }
}

static struct fab_multicast_verdict verdict_of(const struct world *w, const struct members *m,
                                               const struct fab_blocks *tables,
                                               const struct fab_verify_input *unicast)
{
    struct fab_multicast_verdict v;
    struct fab_verify_channels *channels = NULL;
    if (unicast != NULL)
        ck_assert_int_eq(fab_verify_channels_new(unicast, &channels), FAB_OK);
    const struct fab_verify_multicast_input in = {.fabric = w->now,
                                                  .mft = tables,
                                                  .member = m->member,
                                                  .lid = m->lid,
                                                  .lids = GROUPS,
                                                  .unicast = channels};
    ck_assert_int_eq(fab_verify_multicast(&in, &v), FAB_OK);
    fab_verify_channels_free(channels);
    return v;
}

static void assert_proved(const struct world *w, const struct members *m)
{
    struct fab_multicast_verdict v = verdict_of(w, m, fab_mcast_trees_tables(w->trees), NULL);
    if (v.kind != FAB_OK) {
        char *text = NULL;
        ck_assert_int_eq(fab_verify_multicast_text(w->now, &v, &text), FAB_OK);
        ck_abort_msg("%s", text);
    }
    ck_assert_uint_eq(v.lids, GROUPS);
    ck_assert_uint_eq(v.failed, 0);
    ck_assert_uint_eq(v.unserved, 0);
}

/* Inverts the bit of a random port in the mask of a switch, for a random MLID. Returns false if
 * this MLID has no members. */
static bool spoil(struct world *w, const struct members *m, struct fab_blocks *t,
                  uint32_t *ret_group)
{
    uint32_t group = (uint32_t)fab_base_prng_below(&w->r, GROUPS);
    if (w->now->switch_count == 0)
        return false;
    uint32_t sw = (uint32_t)fab_base_prng_below(&w->r, w->now->switch_count);
    uint8_t num = (uint8_t)fab_base_prng_below(&w->r, w->now->nodes[sw].num_ports + 1u);
    uint16_t mlid = mlid_of(group);
    if (m->lid[group].count == 0)
        return false;
    uint16_t *entry = fab_target_blocks_edit(t, sw, fab_mft_number(mlid, num));
    entry[(mlid - FAB_MLID_FIRST) % FAB_BLOCK_ENTRIES] ^= (uint16_t)(1u << num % 16);
    *ret_group = group;
    return true;
}

static unsigned assert_spoiled_is_found(struct world *w, const struct members *m)
{
    struct fab_blocks t;
    uint32_t group;
    char *text = NULL;
    ck_assert_int_eq(fab_target_blocks_copy(fab_mcast_trees_tables(w->trees), &t), FAB_OK);
    bool spoiled = spoil(w, m, &t, &group);
    if (spoiled) {
        struct fab_multicast_verdict v = verdict_of(w, m, &t, NULL);
        ck_assert_int_ne(v.kind, FAB_OK);
        ck_assert_uint_eq(v.failed, 1);
        ck_assert_uint_eq(v.mlid, mlid_of(group));
        ck_assert(fab_base_bits_get(v.failed_groups, (v.mlid - FAB_MLID_FIRST) / 32));
        ck_assert_int_eq(fab_verify_multicast_text(w->now, &v, &text), FAB_OK);
        ck_assert_ptr_nonnull(strstr(text, "MLID 0xc0"));
        free(text);
    }
    fab_target_blocks_fini(&t);
    return spoiled;
}

static unsigned live(struct fab_fabric *f, uint64_t seed)
{
    struct world w;
    static struct members m;
    unsigned spoiled = 0;
    world_init(&w, f, seed);
    for (unsigned i = 0; i < 60; i++) {
        if (i % 6 == 5)
            change_fabric(&w);
        else
            change_member(&w);
        list_members(&w, &m);
        assert_proved(&w, &m);
        for (unsigned k = 0; k < 4; k++)
            spoiled += assert_spoiled_is_found(&w, &m);
    }
    world_fini(&w);
    return spoiled;
}

static struct fab_fabric *some_fabric(unsigned i, struct fab_prng *prng)
{
    static const uint32_t size[3] = {4, 3, 1};
    switch (i % 4) {
    case 0:
        return random_fabric(2 + (uint32_t)fab_base_prng_below(prng, 10), 3, 1 + i % 2,
                             fab_base_prng_next(prng));
    case 1:
        return leaf_spine(4, 2, 3);
    case 2:
        return grid(size, false, 1);
    default:
        return grid(size, true, 1);
    }
}

START_TEST(trees_are_proved_and_spoiled_entries_found)
{
    struct fab_prng prng;
    unsigned spoiled = 0;
    fab_base_prng_init(&prng, test_seed("multicast", 31));
    for (unsigned i = 0; i < 24; i++) {
        struct fab_fabric *f = some_fabric(i, &prng);
        spoiled += live(f, fab_base_prng_next(&prng));
    }
    printf("# %u spoiled entries found\n", spoiled);
    ck_assert_uint_gt(spoiled, 2000);
}
END_TEST

/* ---- dependencies ---------------------------------------------------------------------------- */

/* Follows a packet that entered the switch by port `in` to all other ports of the mask, and records
 * its channel dependencies. last: the channel by which it came; SIZE_MAX if an endport sent it. */
static void flood(struct naive_vls *n, const struct walk *walk, uint32_t sw, uint32_t in,
                  size_t last, uint8_t sl)
{
    const struct fab_vls *v = &n->t->vls;
    for (uint32_t num = 1; num <= n->f->nodes[sw].num_ports; num++) {
        uint32_t out = fab_fabric_port_id(n->f, sw, (uint8_t)num);
        if (out == in || !walk->named[out] || !naive_is_channel(n->f, out))
            continue;
        uint8_t from = last != SIZE_MAX && v->port_class ? v->port_class[in] : 0;
        uint8_t to = v->port_class ? v->port_class[out] : 0;
        uint8_t vl = v->count > 1 ? (uint8_t)(v->vl[from][to][sl] % v->count) : 0;
        size_t channel = out * 16u + vl;
        if (last != SIZE_MAX)
            n->depends[last * n->size + channel] = true;
        uint32_t there = fab_fabric_port(n->f, out)->peer;
        flood(n, walk, fab_fabric_port(n->f, there)->node, there, channel, sl);
    }
}

static bool is_cyclic_again(struct naive_vls *n)
{
    n->cyclic = false;
    memset(n->colour, 0, n->size);
    for (size_t channel = 0; channel < n->size; channel++)
        if (n->colour[channel] == 0)
            naive_lanes_visit(n, channel);
    return n->cyclic;
}

static void add_multicast(struct naive_vls *n, const struct world *w, const struct members *m)
{
    struct walk walk = walk_of(w->now, fab_mcast_trees_tables(w->trees));
    for (uint32_t group = 0; group < GROUPS; group++) {
        walk_take(&walk, mlid_of(group));
        for (uint32_t i = 0; i < m->lid[group].count; i++) {
            uint32_t port =
                fab_fabric_port_by_guid(w->now, m->member[m->lid[group].first + i].guid);
            uint32_t sw = switch_of(w, port);
            for (uint8_t sl = 0; sl < FAB_SLS && sw != FAB_NONE; sl++)
                if (m->lid[group].sls >> sl & 1)
                    flood(n, &walk, sw, fab_fabric_port(w->now, port)->peer, SIZE_MAX, sl);
        }
    }
    walk_fini(&walk);
}

struct findings {
    unsigned cyclic; /* fabrics with a cycle */
    /* fabrics in which multicast packets alone have a cycle */
    unsigned alone;
    unsigned vls; /* fabrics whose paths use several VLs */
};

/* Compares the proof with a walk of all packets. Returns whether the dependencies of unicast and
 * multicast packets together have a cycle. */
static bool compare(struct world *w, const char *engine, struct findings *ret)
{
    static struct members m;
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_target *t = routed_by(w->now, &p, engine);
    list_members(w, &m);
    for (uint32_t group = 0; group < GROUPS; group++)
        m.lid[group].sls = (uint16_t)(1u << fab_base_prng_below(&w->r, 3));
    struct naive_vls n = naive_vls(w->now, t, &p);
    struct naive_vls alone = n;
    alone.depends = calloc(n.size, n.size);
    add_multicast(&n, w, &m);
    add_multicast(&alone, w, &m);
    const struct fab_verify_input unicast = proof_input(w->now, t, 64);
    struct fab_multicast_verdict v = verdict_of(w, &m, fab_mcast_trees_tables(w->trees), &unicast);
    uint64_t dependencies = 0;
    for (size_t i = 0; i < alone.size * alone.size; i++)
        dependencies += alone.depends[i];
    bool cyclic = is_cyclic_again(&n), cyclic_alone = is_cyclic_again(&alone);
    ck_assert_uint_eq(v.dependencies, dependencies);
    ck_assert_int_eq(v.alone, !cyclic_alone);
    ck_assert_int_eq(v.together, !cyclic);
    ck_assert_int_eq(v.cycle.kind == FAB_E_CYCLE, cyclic);
    for (uint32_t i = 0; i < v.cycle.port_count; i++) {
        const struct naive_vls *of = cyclic_alone ? &alone : &n;
        uint32_t k = (i + 1) % v.cycle.port_count;
        size_t from = v.cycle.ports[i] * 16u + (v.cycle.vls ? v.cycle.vls[i] : 0);
        size_t to = v.cycle.ports[k] * 16u + (v.cycle.vls ? v.cycle.vls[k] : 0);
        ck_assert(of->depends[from * of->size + to]);
    }
    ret->cyclic += cyclic;
    ret->alone += cyclic_alone;
    ret->vls += t->vls.count > 1;
    free(alone.depends);
    naive_vls_fini(&n);
    fab_verify_multicast_fini(&v);
    fab_target_unref(t);
    return cyclic;
}

/* Removes the switches from all groups, because packets to a switch that is a member go down and up
 * again. */
static void switches_leave(struct world *w)
{
    for (uint32_t end = 0; end < w->ends; end++)
        for (uint32_t group = 0; group < GROUPS; group++)
            if (w->member[end][group] != 0 &&
                fab_fabric_node_is_switch(w->whole, fab_fabric_port(w->whole, w->end[end])->node))
                leave(w, end, group);
}

START_TEST(agrees_about_dependencies)
{
    struct fab_prng prng;
    struct findings one = {0}, several = {0};
    const unsigned cases = 48;
    fab_base_prng_init(&prng, test_seed("multicast dependencies", 32));
    for (unsigned i = 0; i < cases; i++) {
        struct world w;
        struct fab_fabric *f = some_fabric(i, &prng);
        world_init(&w, f, fab_base_prng_next(&prng));
        for (unsigned k = 0; k < 20; k++)
            change_member(&w);
        if (i % 8 != 5)
            switches_leave(&w);
        bool cycle = compare(&w, "updn", &one);
        /* a fat tree has no cycle if only hosts are members */
        ck_assert(i % 8 != 1 || !cycle);
        if (i % 3 == 0)
            compare(&w, "dfsssp", &several);
        world_fini(&w);
    }
    printf("# %u of %u have a cycle, %u with multicast packets alone; %u use several VLs\n",
           one.cyclic, cases, one.alone, several.vls);
    ck_assert_uint_gt(one.cyclic, 0);
    ck_assert_uint_lt(one.cyclic, cases);
    ck_assert_uint_gt(several.vls, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify_multicast");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, trees_are_proved_and_spoiled_entries_found);
    tcase_add_test(t, agrees_about_dependencies);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
