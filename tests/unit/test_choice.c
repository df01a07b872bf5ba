/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of how an engine was chosen, written as a sentence and as a list of reasons. Buffers
 * of every length are tested. */
#include "libfabmgr/target/choice.h"

#include <string.h>

#include "tests/unit/testing.h"

typedef void make_text(const struct fab_choice *c, char *ret, size_t len);

/* Checks the text that `make` writes. A shorter buffer gets the beginning of this text, and nothing
 * is written behind its end. */
static void assert_text(make_text *make, const struct fab_choice *c, const char *text)
{
    char got[400];
    for (size_t len = 1; len <= strlen(text) + 2; len++) {
        memset(got, '#', sizeof(got));
        make(c, got, len);
        size_t want = strlen(text) < len ? strlen(text) : len - 1;
        ck_assert_uint_eq(strlen(got), want);
        ck_assert_int_eq(memcmp(got, text, want), 0);
        for (size_t i = len; i < sizeof(got); i++)
            ck_assert_int_eq(got[i], '#');
    }
}

/* Adds the record's row of an engine that computed tables. searched: the row is about the tables
 * after local search. */
static void add_tables(struct fab_choice *c, const char *engine, bool taken, bool searched,
                       const char *why)
{
    fab_target_choice_add(c, engine, taken ? FAB_CHOICE_TAKEN : FAB_CHOICE_NOT_BETTER, why)
        ->searched = searched;
}

START_TEST(an_empty_record)
{
    struct fab_choice *c = fab_target_choice_new();
    ck_assert_uint_eq(c->count, 0);
    ck_assert_ptr_null(fab_target_choice_taken(c));
    assert_text(fab_target_choice_sentence, c, "no engine has made tables that pass the proof");
    assert_text(fab_target_choice_rejected, c, "");
    fab_target_choice_unref(c);
}
END_TEST

/* The sentence says how many engines computed tables. An engine with a second row, for its tables
 * after local search, counts once. */
START_TEST(sentences_of_chosen_tables)
{
    static const struct {
        const char *why;
        bool searched; /* true: the chosen tables are those after local search */
        unsigned others;
        const char *text;
    } cases[] = {
        {"", false, 0, ""},
        {"ranks from cables", false, 0, "ranks from cables"},
        {"", false, 1, "the best tables of 2 engines"},
        {"ranks from cables", false, 1, "ranks from cables; the best tables of 2 engines"},
        {"ranks from cables", false, 2, "ranks from cables; the best tables of 3 engines"},
        {"", true, 0, "improved by local search"},
        {"ranks from cables", true, 0, "ranks from cables; improved by local search"},
        {"", true, 1, "the best tables of 2 engines, improved by local search"},
        {"ranks from cables", true, 2,
         "ranks from cables; the best tables of 3 engines, improved by local search"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fab_choice *c = fab_target_choice_new();
        fab_target_choice_add(c, "torus", FAB_CHOICE_REFUSED, "no torus");
        add_tables(c, "fattree", !cases[i].searched, false, cases[i].why);
        if (cases[i].searched)
            add_tables(c, "fattree", true, true, cases[i].why);
        for (unsigned other = 0; other < cases[i].others; other++)
            add_tables(c, "updn", false, false, "another reason");
        fab_target_choice_add(c, "dor", FAB_CHOICE_UNPROVED, "a cycle");
        const struct fab_choice_row *taken = fab_target_choice_taken(c);
        ck_assert_ptr_eq(taken, &c->row[cases[i].searched ? 2 : 1]);
        ck_assert_str_eq(taken->engine, "fattree");
        assert_text(fab_target_choice_sentence, c, cases[i].text);
        fab_target_choice_unref(c);
    }
}
END_TEST

START_TEST(engines_without_tables_are_listed_with_reasons)
{
    struct fab_choice *c = fab_target_choice_new();
    fab_target_choice_add(c, "torus", FAB_CHOICE_REFUSED, "no torus");
    assert_text(fab_target_choice_rejected, c, "torus: no torus");
    add_tables(c, "fattree", true, false, "not listed");
    add_tables(c, "updn", false, true, "not listed either");
    fab_target_choice_add(c, "dor", FAB_CHOICE_UNPROVED, "a cycle");
    fab_target_choice_add(c, "nue", FAB_CHOICE_UNFIT, "");
    assert_text(fab_target_choice_rejected, c, "torus: no torus; dor: a cycle; nue: ");
    ck_assert_uint_eq(c->count, 5);
    fab_target_choice_unref(c);
}
END_TEST

START_TEST(rows_start_without_figures_and_names_are_cut)
{
    struct fab_choice *c = fab_target_choice_new();
    char why[400];
    memset(why, 'w', sizeof(why));
    why[sizeof(why) - 1] = '\0';
    struct fab_choice_row *row =
        fab_target_choice_add(c, "an engine with a name that is too long", FAB_CHOICE_UNFIT, why);
    ck_assert_ptr_eq(row, &c->row[0]);
    ck_assert_str_eq(row->engine, "an engine with a name t");
    ck_assert_uint_eq(strlen(row->why), sizeof(row->why) - 1);
    ck_assert(!row->searched && !row->measured && row->lanes == 0 && row->time_us == 0);
    ck_assert_int_eq(row->outcome, FAB_CHOICE_UNFIT);
    /* When the record is full, a new row replaces the last one. Nothing of the replaced row may
     * remain. */
    for (unsigned i = 1; i < FAB_CHOICE_ROWS; i++)
        row = fab_target_choice_add(c, "updn", FAB_CHOICE_NOT_BETTER, "");
    ck_assert_ptr_eq(row, &c->row[FAB_CHOICE_ROWS - 1]);
    row->lanes = 3;
    row->searched = row->measured = true;
    ck_assert_ptr_eq(fab_target_choice_add(c, "nue", FAB_CHOICE_TAKEN, "x"), row);
    ck_assert_uint_eq(c->count, FAB_CHOICE_ROWS);
    ck_assert(!row->searched && !row->measured && row->lanes == 0);
    ck_assert_str_eq(row->engine, "nue");
    ck_assert_str_eq(c->row[FAB_CHOICE_ROWS - 2].engine, "updn");
    fab_target_choice_unref(c);
}
END_TEST

START_TEST(references)
{
    struct fab_choice *c = fab_target_choice_new();
    ck_assert_ptr_eq(fab_target_choice_ref(c), c);
    ck_assert_int_eq(c->refs, 2);
    fab_target_choice_unref(c);
    ck_assert_int_eq(c->refs, 1);
    fab_target_choice_unref(c);
    ck_assert_ptr_null(fab_target_choice_ref(NULL));
    fab_target_choice_unref(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_empty_record,
        sentences_of_chosen_tables,
        engines_without_tables_are_listed_with_reasons,
        rows_start_without_figures_and_names_are_cut,
        references,
    };
    Suite *suite = suite_create("choice");
    TCase *tcase = tcase_create("record");
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
