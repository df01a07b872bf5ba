/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables that an operator gives in a file. Each error in the file is reported with its
 * line and column. A file that was exported is read back unchanged. The engine "file" says what is
 * missing in the file.
 */
#include "libfabmgr/export/export.h"
#include "tests/unit/naive.h"

/* ---- the text -------------------------------------------------------------------------------- */

#define SWITCH "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0002c90300000001 ('a'):\n"

static const char good[] = "# a comment\n"
                           "\n" SWITCH "  Lid  Out   Destination\n"
                           "       Port     Info \n"
                           "0x0000 255 : (illegal port)\n"
                           "0x0001 000 : (Switch portguid 0x0002c90300000001: 'a')\r\n"
                           "0x0002 005 : (Channel Adapter portguid 0x0002c90300000011: 'host')\n"
                           "0x0003 255 unknown node and type\n"
                           "3 valid lids dumped \n"
                           "Unicast lids [0-3] of switch Lid 4 guid 0x2 ('b'):\n"
                           "0x0003 007 # Channel Adapter portguid 0x0002c90300000011: 'host'\n"
                           "3 lids dumped";

static int read_text(const char *text, struct fab_tables **ret, struct fab_tables_error *error)
{
    return fab_policy_tables_read(text, strlen(text), ret, error);
}

START_TEST(a_dump_is_read)
{
    struct fab_tables *t = NULL;
    struct fab_tables_error error;
    ck_assert_int_eq(read_text(good, &t, &error), FAB_OK);
    ck_assert_uint_eq(t->switches, 2);
    ck_assert_uint_eq(t->top, 3);
    const struct fab_policy_tables_switch *a =
        fab_policy_tables_switch(t, UINT64_C(0x0002c90300000001));
    const struct fab_policy_tables_switch *b = fab_policy_tables_switch(t, 2);
    ck_assert_ptr_null(fab_policy_tables_switch(t, 3));
    ck_assert_uint_eq(a->count, 3);
    ck_assert_uint_eq(b->count, 1);
    ck_assert_uint_eq(a->line, 3);
    ck_assert_uint_eq(t->entry[a->first + 1].lid, 2);
    ck_assert_uint_eq(t->entry[a->first + 1].port, 5);
    ck_assert_uint_eq(t->entry[b->first].port, 7);
    ck_assert_uint_eq(t->guid[3], UINT64_C(0x0002c90300000011));
    ck_assert_uint_eq(t->first[3], 2);
    ck_assert_ptr_eq(fab_policy_tables_ref(t), t);
    fab_policy_tables_unref(t);
    fab_policy_tables_unref(t);
    fab_policy_tables_unref(NULL);
}
END_TEST

/* A file may give a port several LIDs with gaps between them, although IBA does not permit this.
 * The reader must accept the file, and find the first LID of each port. */
START_TEST(the_first_lid_of_each_port_is_found)
{
    static const uint32_t first[] = {0, 1, 2, 1, 4, 2, 1, 7};
    struct fab_tables *t = NULL;
    struct fab_tables_error error;
    ck_assert_int_eq(read_text(SWITCH "0x0001 1 portguid 0x7:\n"
                                      "0x0002 2 portguid 0x5:\n"
                                      "0x0003 1 portguid 0x7:\n"
                                      "0x0004 3 portguid 0x6:\n"
                                      "0x0005 2 portguid 0x5:\n"
                                      "0x0006 1 portguid 0x7:\n"
                                      "0x0007 4 unknown\n",
                               &t, &error),
                     FAB_OK);
    ck_assert_uint_eq(t->top, 7);
    for (uint32_t lid = 1; lid <= 7; lid++)
        ck_assert_uint_eq(t->first[lid], first[lid]);
    fab_policy_tables_unref(t);
}
END_TEST

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} mistakes[] = {
    {"", 1, 1, "no tables, expected at least one switch"},
    {"# nothing\n\n", 2, 1, "no tables, expected at least one switch"},
    {"0x0001 001 x\n", 1, 3, "an entry before the first switch"},
    {"Unicast lids of switch Lid 1\n", 1, 13, "expected the switch's GUID"},
    {"Unicast lids of switch guid 0xz\n", 1, 31, "expected the switch's GUID"},
    {"Unicast lids of switch guid 0x0 \n", 1, 32, "expected the switch's GUID"},
    {"Unicast lids of switch guid 0x12345678123456789\n", 1, 31, "expected the switch's GUID"},
    {SWITCH "0xz 001 x\n", 2, 3, "expected a LID from 0x0000 to 0xfffff"},
    {SWITCH "0x100000 001 x\n", 2, 3, "expected a LID from 0x0000 to 0xfffff"},
    {SWITCH "0x0001\n", 2, 7, "expected a port from 0 to 255"},
    {SWITCH "0x0001 256\n", 2, 8, "expected a port from 0 to 255"},
    {SWITCH "0x0001 1x\n", 2, 9, "expected a blank after the port"},
    {SWITCH "0x0002 1\n0x0001 1\n", 3, 9, "LID 1 after LID 2, expected each LID once"},
    {SWITCH "0x0002 1\n0x0002 1\n", 3, 9, "LID 2 after LID 2, expected each LID once"},
    {SWITCH "0x0002 1 portguid 0xx\n", 2, 21, "expected the GUID of a port"},
    {SWITCH "0x0002 1 portguid 0x5:\nUnicast lids guid 0x2\n0x0002 1 portguid 0x6:\n", 4, 22,
     "LID 2 belongs to port 0x0000000000000006 here, and to port 0x0000000000000005 in an earlier "
     "line"},
    {SWITCH "0x0002 1\n" SWITCH, 3, 1, "switch 0x0002c90300000001 occurs twice, first in line 1"},
    {SWITCH "  nonsense\n", 2, 3, "expected a line as in opensm-lfts.dump"},
    {SWITCH "22 things\n", 2, 1, "expected a line as in opensm-lfts.dump"},
    {"Multicast mlids [0xc000-0xc001] of switch guid 0x1\n", 1, 16, "multicast tables"},
};

START_TEST(mistakes_have_line_and_column)
{
    struct fab_tables *t = NULL;
    struct fab_tables_error error;
    ck_assert_int_eq(read_text(mistakes[_i].text, &t, &error), FAB_E_FORMAT);
    ck_assert_ptr_null(t);
    ck_assert_msg(strncmp(error.message, mistakes[_i].message, strlen(mistakes[_i].message)) == 0,
                  "%u:%u: %s", error.line, error.column, error.message);
    ck_assert_uint_eq(error.line, mistakes[_i].line);
    ck_assert_uint_eq(error.column, mistakes[_i].column);
}
END_TEST

/* ---- export, and back ------------------------------------------------------------------------ */

static char *exported(const struct fab_fabric *f, const struct fab_target *t)
{
    struct fab_export_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft, .engine = "updn"};
    struct fab_export *e = NULL;
    struct fab_text all = {0};
    char *text = NULL;
    size_t len;
    bool done = false;
    ck_assert_int_eq(fab_export_new(&in, FAB_EXPORT_OPENSM_LFTS, &e), FAB_OK);
    while (!done)
        ck_assert_int_eq(fab_export_next(e, &all, &done), FAB_OK);
    fab_export_free(e);
    ck_assert_int_eq(fab_base_text_take(&all, &text, &len), FAB_OK);
    return text;
}

static int run_file(const struct fab_fabric *f, const struct fab_policy *p,
                    const struct fab_lids *lids, struct fab_lft *ret_lft, char why[200])
{
    struct fab_vls vls = {0};
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = lids};
    why[0] = '\0';
    int status = fab_route_engine_by_name("file")->run(&in, ret_lft, &vls, why, 200);
    ck_assert_str_ne(why, "");
    return status;
}

static void give(struct fab_policy *p, const char *text)
{
    struct fab_tables_error error = {.line = 0};
    fab_policy_tables_unref(p->tables);
    p->tables = NULL;
    int status = read_text(text, &p->tables, &error);
    ck_assert_msg(status == FAB_OK, "%u:%u: %s", error.line, error.column, error.message);
}

START_TEST(exported_tables_are_read_back)
{
    struct fab_prng prng;
    char why[200];
    fab_base_prng_init(&prng, test_seed("round trips", 1));
    for (unsigned i = 0; i < 100; i++) {
        struct fab_fabric *f =
            i % 4 == 0 ? modern_tree(4, 2, 3, 1, 2)
                       : random_fabric(1 + i % 25, 2 + i % 5, 1 + i % 3, fab_base_prng_next(&prng));
        struct fab_policy p;
        struct fab_lft lft;
        fab_policy_defaults(&p);
        p.lmc = (uint8_t)(i % 3);
        struct fab_target *t = routed(f, &p);
        char *text = exported(f, t);
        give(&p, text);
        int status = run_file(f, &p, &t->lids, &lft, why);
        ck_assert_msg(status == FAB_OK, "round %u: %s", i, why);
        ck_assert_uint_eq(lft.stride, t->lft.stride);
        ck_assert_mem_eq(lft.entries, t->lft.entries, lft.stride * lft.switch_count);
        fab_target_lft_fini(&lft);
        fab_target_unref(t);
        fab_policy_fini(&p);
        fab_fabric_unref(f);
        free(text);
    }
}
END_TEST

/* Assigns other LIDs to the endports of the same fabric: in the opposite order. */
static void other_lids(const struct fab_fabric *f, uint8_t lmc, struct fab_lids *ret)
{
    uint32_t next = 1u << lmc;
    ck_assert_int_eq(fab_target_lids_init(ret, f->port_count), FAB_OK);
    for (uint32_t port = f->port_count; port-- > 0;) {
        if (!fab_fabric_port_has_lid(f, port))
            continue;
        bool end = !fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node);
        ret->base[port] = next;
        ret->lmc[port] = end ? lmc : 0;
        next += 1u << lmc;
    }
    ck_assert_int_eq(fab_target_lids_index(ret), FAB_OK);
}

START_TEST(lids_may_have_changed)
{
    struct fab_fabric *f = modern_tree(4, 2, 3, 1, 2);
    struct fab_policy p;
    struct fab_lids lids;
    struct fab_lft lft;
    char why[200];
    fab_policy_defaults(&p);
    p.lmc = 1;
    struct fab_target *t = routed(f, &p);
    char *text = exported(f, t);
    give(&p, text);
    other_lids(f, 1, &lids);
    ck_assert_int_eq(run_file(f, &p, &lids, &lft, why), FAB_OK);
    for (uint32_t port = 0; port < f->port_count; port++) {
        for (uint32_t offset = 0; lids.base[port] != 0 && offset >> lids.lmc[port] == 0; offset++) {
            for (uint32_t s = 0; s < f->switch_count; s++)
                ck_assert_uint_eq(fab_target_lft_at(&lft, s, lids.base[port] + offset),
                                  fab_target_lft_at(&t->lft, s, t->lids.base[port] + offset));
        }
    }
    fab_target_lft_fini(&lft);
    fab_target_lids_fini(&lids);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    free(text);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

/* Removes the section of the switch with this name. */
static void cut_paragraph(char *text, const char *name)
{
    char head[80];
    snprintf(head, sizeof(head), "('%s'):", name);
    char *at = strstr(text, head), *begin = at, *end;
    ck_assert_ptr_nonnull(at);
    while (begin > text && strncmp(begin, "Unicast", 7) != 0)
        begin--;
    end = strstr(at, "lids dumped\n");
    ck_assert_ptr_nonnull(end);
    end += strlen("lids dumped\n");
    memmove(begin, end, strlen(end) + 1);
}

/* Removes the first line that contains `what`. */
static void cut_line(char *text, const char *what)
{
    char *begin = strstr(text, what), *end;
    ck_assert_ptr_nonnull(begin);
    while (begin > text && begin[-1] != '\n')
        begin--;
    end = strchr(begin, '\n') + 1;
    memmove(begin, end, strlen(end) + 1);
}

static void assert_refused(const struct fab_fabric *f, struct fab_policy *p,
                           const struct fab_lids *lids, const char *text, const char *sentence)
{
    struct fab_lft lft;
    char why[200];
    give(p, text);
    ck_assert_msg(run_file(f, p, lids, &lft, why) == FAB_E_UNSUPPORTED, "%s: %s", sentence, why);
    ck_assert_msg(strstr(why, sentence) != NULL, "%s", why);
}

START_TEST(missing_entries_are_named)
{
    struct fab_fabric *f = modern_tree(3, 2, 2, 0, 1);
    struct fab_policy p;
    struct fab_lft lft;
    char why[200], sentence[160];
    fab_policy_defaults(&p);
    struct fab_target *t = routed(f, &p);
    ck_assert_int_eq(run_file(f, &p, &t->lids, &lft, why), FAB_E_UNSUPPORTED);
    ck_assert_str_eq(why, "no tables given: set routing.file");
    char *text = exported(f, t), *without = strdup(text);
    snprintf(sentence, sizeof(sentence), "switch %s (0x%016" PRIx64 ") is not in the file",
             f->nodes[0].desc, f->nodes[0].guid);
    cut_paragraph(without, f->nodes[0].desc);
    assert_refused(f, &p, &t->lids, without, sentence);
    strcpy(without, text);
    cut_line(without, "0x0002 ");
    assert_refused(f, &p, &t->lids, without, "has no entry in the file; LID 2 (");
    strcpy(without, text);
    char *entry = strstr(without, "\n0x0003 ");
    ck_assert_ptr_nonnull(entry);
    memcpy(entry + 8, "201", 3);
    assert_refused(f, &p, &t->lids, without, "sends by port 201, which has no link");
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    free(text);
    free(without);
}
END_TEST

/* The file has no section for switch 2. This alone is no error, because the switch has no endports,
 * so no path uses its entries. But the other switches need entries for its LID. */
START_TEST(unused_entries_may_be_missing)
{
    struct drawing *d = draw_new();
    for (unsigned i = 0; i < 3; i++)
        draw_switch(d, 8);
    draw_cable(d, 0, 1);
    draw_cable(d, 1, 2);
    draw_hosts(d, 0, 1);
    draw_hosts(d, 1, 1);
    struct fab_fabric *f = draw_done(d);
    struct fab_policy p;
    struct fab_lft lft;
    char why[200];
    fab_policy_defaults(&p);
    struct fab_target *t = routed(f, &p);
    uint32_t lonely = 2, lid = t->lids.base[fab_fabric_port_id(f, lonely, 0)];
    char *text = exported(f, t);
    cut_paragraph(text, f->nodes[lonely].desc);
    assert_refused(f, &p, &t->lids, text, "is not in the file");
    t->lids.base[fab_fabric_port_id(f, lonely, 0)] =
        0; /* now switch 2 has no LID, so nobody needs entries for it */
    t->lids.owner[lid] = FAB_NONE;
    ck_assert_msg(run_file(f, &p, &t->lids, &lft, why) == FAB_OK, "%s", why);
    fab_target_lft_fini(&lft);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    free(text);
}
END_TEST

/* Copies of a policy share the tables of the setting routing.file. */
START_TEST(copies_share_them)
{
    struct fab_policy p, copy;
    fab_policy_defaults(&p);
    give(&p, good);
    ck_assert_int_eq(fab_policy_copy(&p, &copy), FAB_OK);
    ck_assert_ptr_eq(p.tables, copy.tables);
    fab_policy_fini(&p);
    ck_assert_uint_eq(copy.tables->switches, 2);
    fab_policy_fini(&copy);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_dump_is_read,        the_first_lid_of_each_port_is_found, exported_tables_are_read_back,
        lids_may_have_changed, missing_entries_are_named,           unused_entries_may_be_missing,
        copies_share_them,
    };
    Suite *suite = suite_create("tables");
    TCase *tcase = tcase_create("tables");
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_add_loop_test(tcase, mistakes_have_line_and_column, 0,
                        sizeof(mistakes) / sizeof(mistakes[0]));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
