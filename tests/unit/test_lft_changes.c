/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of changed LFT blocks (libfabmgr/plan/lft_changes.h): what is added comes back from the
 * text, and damaged texts count as a change of everything. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/lft_changes.h"
#include "tests/unit/routing.h"

static uint32_t draw(struct fab_prng *prng, uint32_t bound)
{
    return (uint32_t)fab_base_prng_below(prng, bound);
}

static bool same(const struct fab_lft_changes *a, const struct fab_lft_changes *b)
{
    bool same = a->all == b->all && a->switches == b->switches;
    for (uint32_t sw = 0; same && sw < a->switches; sw++) {
        same = fab_base_bits_get(a->linked, sw) == fab_base_bits_get(b->linked, sw);
        for (uint32_t block = 0; same && block < FAB_LFT_CHANGES_BLOCKS; block++)
            same = fab_plan_changes_has_block(a, sw, block) ==
                   fab_plan_changes_has_block(b, sw, block);
    }
    return same;
}

/* Adds changes as a fault makes them: some blocks at many switches. */
static void add_fault(struct fab_lft_changes *c, const struct fab_fabric *f, struct fab_prng *prng)
{
    uint32_t first = draw(prng, FAB_LFT_CHANGES_BLOCKS), count = 1 + draw(prng, 4);
    fab_plan_changes_begin(c, f);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t i = 0; i < count && draw(prng, 8) > 0; i++)
            fab_plan_changes_add_block(c, sw, first + 3 * i);
    fab_plan_changes_add_links(c, draw(prng, f->switch_count));
}

static void assert_read(const struct fab_lft_changes *c, const struct fab_fabric *f)
{
    struct fab_lft_changes read = {0};
    char *text = fab_plan_changes_text(c, 100000);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(fab_plan_changes_read(&read, f, text), FAB_OK);
    ck_assert_msg(same(c, &read), "%s", text);
    free(text);
    fab_plan_changes_clear(&read);
}

START_TEST(a_text_names_what_was_added)
{
    struct fab_prng prng;
    struct fab_fabric *f = leaf_spine(30, 6, 1);
    fab_base_prng_init(&prng, test_seed("changes", 71));
    for (unsigned i = 0; i < test_rounds(200); i++) {
        struct fab_lft_changes c = {0};
        for (uint32_t faults = 1 + draw(&prng, 3); faults > 0; faults--)
            add_fault(&c, f, &prng);
        ck_assert(!c.all && fab_plan_changes_any(&c));
        assert_read(&c, f);
        fab_plan_changes_clear(&c);
        ck_assert(!fab_plan_changes_any(&c));
    }
    fab_fabric_unref(f);
}
END_TEST

/* One or two blocks at every second of 720 switches. */
START_TEST(a_text_is_short)
{
    struct fab_fabric *f = fat_tree(24, 3, 1);
    struct fab_lft_changes c = {0};
    fab_plan_changes_begin(&c, f);
    for (uint32_t sw = 0; sw < f->switch_count / 2; sw++)
        for (uint32_t block = 100; block < 101 + (sw % 4 == 0); block++)
            fab_plan_changes_add_block(&c, 2 * sw, block);
    char *text = fab_plan_changes_text(&c, 100000);
    ck_assert_uint_lt(strlen(text), 1200);
    free(text);
    text = fab_plan_changes_text(&c, 500);
    ck_assert_str_eq(text, "all");
    free(text);
    fab_plan_changes_clear(&c);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(ids_of_another_fabric_count_as_everything)
{
    struct fab_fabric *f = leaf_spine(6, 3, 1), *g = leaf_spine(7, 3, 1);
    struct fab_lft_changes c = {0}, read = {0}, more = {0};
    fab_plan_changes_begin(&c, f);
    fab_plan_changes_add_block(&c, 2, 5);
    fab_plan_changes_add_block(&c, 9, 5);                      /* no switch */
    fab_plan_changes_add_block(&c, 2, FAB_LFT_CHANGES_BLOCKS); /* no block */
    char *text = fab_plan_changes_text(&c, 1000);
    ck_assert_int_eq(fab_plan_changes_read(&read, g, text), FAB_E_INVAL);
    ck_assert(read.all && fab_plan_changes_any(&read));
    ck_assert(fab_plan_changes_has_block(&read, 1, 1));
    fab_plan_changes_begin(&more, f);
    fab_plan_changes_add(&more, &c);
    ck_assert(same(&more, &c));
    fab_plan_changes_add(&more, &read);
    ck_assert(more.all);
    fab_plan_changes_begin(&c, g);
    ck_assert(c.all);
    free(text);
    text = fab_plan_changes_text(&c, 1000);
    ck_assert_str_eq(text, "all");
    free(text);
    fab_plan_changes_clear(&c);
    fab_plan_changes_clear(&read);
    fab_plan_changes_clear(&more);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

/* A damaged text is refused, or names other changes; it never makes the reader fail. */
START_TEST(damaged_texts)
{
    struct fab_prng prng;
    struct fab_fabric *f = leaf_spine(30, 6, 1);
    unsigned refused = 0, rounds = test_rounds(2000);
    fab_base_prng_init(&prng, test_seed("damaged changes", 72));
    for (unsigned i = 0; i < rounds; i++) {
        struct fab_lft_changes c = {0}, read = {0};
        add_fault(&c, f, &prng);
        char *text = fab_plan_changes_text(&c, 100000);
        size_t len = strlen(text);
        text[draw(&prng, (uint32_t)len)] = (char)(33 + draw(&prng, 90));
        text[draw(&prng, 4) == 0 ? draw(&prng, (uint32_t)len) : len] = '\0';
        int status = fab_plan_changes_read(&read, f, text);
        ck_assert(status == FAB_OK || (status == FAB_E_INVAL && read.all));
        refused += status != FAB_OK;
        free(text);
        fab_plan_changes_clear(&c);
        fab_plan_changes_clear(&read);
    }
    ck_assert_uint_gt(refused, rounds / 10);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("changed blocks");
    TCase *tcase = tcase_create("texts");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_text_names_what_was_added);
    tcase_add_test(tcase, a_text_is_short);
    tcase_add_test(tcase, ids_of_another_fabric_count_as_everything);
    tcase_add_test(tcase, damaged_texts);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
