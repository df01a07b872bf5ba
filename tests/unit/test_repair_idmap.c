/* SPDX-License-Identifier: BSD-3-Clause */
/* The id map of a repair, between the fabric of the baseline and a part of it: which nodes
 * correspond, which links are missing, and which are new. */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/session/idmap.h"
#include "tests/unit/fabrics.h"

#define ROUNDS 300

static uint32_t draw(struct fab_prng *prng, uint32_t bound)
{
    return (uint32_t)fab_base_prng_below(prng, bound);
}

static struct fab_lids lids_of(const struct fab_fabric *f, const struct fab_fabric *like,
                               const struct fab_lids *from)
{
    struct fab_lids lids;
    uint32_t next = 1;
    ck_assert_int_eq(fab_target_lids_init(&lids, f->port_count), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t was =
            like ? fab_fabric_node_by_guid(like, f->nodes[fab_fabric_port(f, p)->node].guid) : 0;
        if (fab_fabric_port_has_lid(f, p))
            lids.base[p] =
                like ? from->base[fab_fabric_port_id(like, was, fab_fabric_port(f, p)->num)]
                     : next++;
    }
    ck_assert_int_eq(fab_target_lids_index(&lids), FAB_OK);
    return lids;
}

/* Returns a copy of f without some random nodes and links. */
static struct fab_fabric *reduced(const struct fab_fabric *f, struct fab_prng *prng)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    ck_assert_ptr_nonnull(b);
    for (uint32_t i = draw(prng, 4); i > 0; i--)
        (void)fab_fabric_builder_remove_node(b, 1 + draw(prng, f->node_count - 1));
    for (uint32_t i = draw(prng, 6); i > 0; i--) {
        uint32_t port = draw(prng, f->port_count);
        if (fab_fabric_port(f, port)->peer != FAB_NONE && fab_fabric_port(f, port)->node != 0)
            (void)fab_fabric_builder_unlink(b, fab_fabric_port(f, port)->node,
                                            fab_fabric_port(f, port)->num);
    }
    return sealed(b);
}

static bool trunk_is_up(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    return node != FAB_NONE && fab_fabric_port_is_up(f, fab_fabric_port_id(f, node, num));
}

/* Counts the ISLs of f that are not up in `left`, by looking for each of them. */
static uint32_t dead_isls(const struct fab_fabric *f, const struct fab_fabric *left)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t peer = fab_fabric_port(f, p)->peer;
        if (peer == FAB_NONE || peer < p || !fab_fabric_port_is_up(f, p) ||
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) ||
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
            continue;
        count += !trunk_is_up(left, f->nodes[fab_fabric_port(f, p)->node].guid,
                              fab_fabric_port(f, p)->num);
    }
    return count;
}

static void check_ids(const struct fab_repair_idmap *c, const struct fab_fabric *f,
                      const struct fab_fabric *left)
{
    uint32_t there = 0;
    for (uint32_t n = 0; n < left->node_count; n++) {
        ck_assert_uint_eq(f->nodes[c->to_baseline[n]].guid, left->nodes[n].guid);
        ck_assert_uint_eq(c->to_current[c->to_baseline[n]], n);
    }
    for (uint32_t n = 0; n < f->node_count; n++)
        there += c->to_current[n] != FAB_NONE;
    ck_assert_uint_eq(there, left->node_count);
    ck_assert(c->same == (f->node_count == left->node_count));
}

START_TEST(what_is_left_is_covered)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("idmap", 1));
    uint32_t deads = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fab_fabric *f = random_fabric(3 + draw(&prng, 20), 4, 12, fab_base_prng_next(&prng));
        struct fab_fabric *left = reduced(f, &prng);
        struct fab_lids all = lids_of(f, NULL, NULL), some = lids_of(left, f, &all);
        struct fab_repair_baseline *baseline;
        struct fab_repair_idmap idmap;
        ck_assert_int_eq(fab_repair_baseline_new(f, &all, &baseline), FAB_OK);
        ck_assert_int_eq(fab_repair_idmap_make(baseline, left, &some, &idmap), FAB_OK);
        check_ids(&idmap, f, left);
        ck_assert_uint_eq(idmap.deads, dead_isls(f, left));
        deads += idmap.deads;
        fab_repair_idmap_fini(&idmap);
        fab_repair_baseline_free(baseline);
        fab_target_lids_fini(&all);
        fab_target_lids_fini(&some);
        fab_fabric_unref(left);
        fab_fabric_unref(f);
    }
    ck_assert_uint_gt(deads, ROUNDS / 3);
}
END_TEST

/* If the present fabric has a node that the baseline does not have, there can be no id map. */
START_TEST(what_is_new_is_not)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("idmap, new", 2));
    unsigned refused = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fab_fabric *f = random_fabric(3 + draw(&prng, 20), 4, 12, fab_base_prng_next(&prng));
        struct fab_fabric *was = reduced(f, &prng);
        struct fab_lids all = lids_of(f, NULL, NULL), some = lids_of(was, f, &all);
        struct fab_repair_baseline *baseline;
        struct fab_repair_idmap idmap;
        ck_assert_int_eq(fab_repair_baseline_new(was, &some, &baseline), FAB_OK);
        int r = fab_repair_idmap_make(baseline, f, &all, &idmap);
        bool more = f->node_count > was->node_count || f->link_count > was->link_count;
        ck_assert_int_eq(r, more ? FAB_E_NOT_FOUND : FAB_OK);
        refused += more;
        if (r == FAB_OK)
            fab_repair_idmap_fini(&idmap);
        fab_repair_baseline_free(baseline);
        fab_target_lids_fini(&all);
        fab_target_lids_fini(&some);
        fab_fabric_unref(was);
        fab_fabric_unref(f);
    }
    ck_assert_uint_gt(refused, ROUNDS / 2);
}
END_TEST

START_TEST(another_lid_is_not)
{
    struct fab_fabric *f = leaf_spine(4, 2, 3);
    struct fab_lids lids = lids_of(f, NULL, NULL);
    struct fab_repair_baseline *baseline;
    struct fab_repair_idmap idmap;
    ck_assert_int_eq(fab_repair_baseline_new(f, &lids, &baseline), FAB_OK);
    uint32_t port = lids.owner[lids.top];
    lids.base[port] += 5;
    ck_assert_int_eq(fab_repair_idmap_make(baseline, f, &lids, &idmap), FAB_E_NOT_FOUND);
    lids.base[port] -= 5;
    lids.lmc[port] = 1;
    ck_assert_int_eq(fab_repair_idmap_make(baseline, f, &lids, &idmap), FAB_E_NOT_FOUND);
    lids.lmc[port] = 0;
    ck_assert_int_eq(fab_repair_idmap_make(baseline, f, &lids, &idmap), FAB_OK);
    ck_assert(idmap.same);
    ck_assert_uint_eq(idmap.deads, 0);
    fab_repair_idmap_fini(&idmap);
    fab_repair_baseline_free(baseline);
    fab_target_lids_fini(&lids);
    fab_fabric_unref(f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("repair_idmap");
    TCase *t = tcase_create("repair_idmap");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_is_left_is_covered);
    tcase_add_test(t, what_is_new_is_not);
    tcase_add_test(t, another_lid_is_not);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
