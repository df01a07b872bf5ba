/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports. The test writes each format for a small fabric, in pieces and as a whole, with names
 * that could break the formats. tests/integration/test_exports.sh tests that other programs can
 * read them.
 */
#include "libfabmgr/export/export.h"

#include "tests/unit/routing.h"

/* Numbers the channels by the port id of their sending port. The caller frees the arrays. */
static struct fab_verify_numbers numbers_of(const struct fab_fabric *f)
{
    struct fab_verify_numbers n = {1, calloc(f->port_count, sizeof(uint32_t))};
    ck_assert_ptr_nonnull(n.number);
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_peer_node(f, port);
        if (fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) && peer != FAB_NONE &&
            fab_fabric_node_is_switch(f, peer))
            n.number[port] = port;
    }
    return n;
}

static char *exported(const struct fab_fabric *f, const struct fab_target *t,
                      enum fab_export_format format)
{
    struct fab_verify_numbers numbers = numbers_of(f);
    struct fab_export_input in = {
        f, &t->lids, &t->lft, "updn", 7, .vls = &t->vls, .numbers = &numbers};
    struct fab_export *e = NULL;
    struct fab_text all = {0};
    char *text = NULL;
    size_t len;
    bool done = false;
    ck_assert_int_eq(fab_export_new(&in, format, &e), FAB_OK);
    while (!done) {
        struct fab_text piece = {0};
        ck_assert_int_eq(fab_export_next(e, &piece, &done), FAB_OK);
        ck_assert_uint_le(piece.len, 4 * FAB_EXPORT_PIECE);
        fab_base_text_bytes(&all, fab_base_text_get(&piece), piece.len);
        fab_base_text_fini(&piece);
    }
    fab_export_free(e);
    free(numbers.number);
    ck_assert_int_eq(fab_base_text_take(&all, &text, &len), FAB_OK);
    ck_assert_uint_eq(strlen(text), len);
    return text;
}

static unsigned lines_with(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

static void assert_has(const char *text, const char *what)
{
    ck_assert_msg(strstr(text, what) != NULL, "'%s' is not in:\n%.2000s", what, text);
}

START_TEST(each_format)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(3, 2, 4);
    struct fab_target *t = routed(f, &p);
    char *text[FAB_EXPORT_COUNT];
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
        text[i] = exported(f, t, i);
    struct fab_fabric *again =
        read_fabric(text[FAB_EXPORT_IBNETDISCOVER], strlen(text[FAB_EXPORT_IBNETDISCOVER]));
    ck_assert_uint_eq(again->node_count, f->node_count);
    ck_assert_uint_eq(again->link_count, f->link_count);
    assert_has(text[FAB_EXPORT_IBNETDISCOVER], "\" lid 1 4x");
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_DOT], " -- "), f->link_count);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_DOT], "shape=box"), f->switch_count);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_JSON], "{\"a\": "), f->link_count);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_JSON], "\"type\": \"adapter\""), 12);
    assert_has(text[FAB_EXPORT_JSON], "\"generation\": 7,\n  \"engine\": \"updn\"");
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_OPENSM_LST], "PHY=4x LOG=INI SPD=25\n"),
                      2 * f->link_count);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_OPENSM_FDBS], "Switch 0x"), 5);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_OPENSM_FDBS], ": yes\n"), 5 * 17);
    assert_has(text[FAB_EXPORT_OPENSM_FDBS], "0x0001 : 001  : 01   : yes\n");
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_OPENSM_LFTS], " portguid 0x"), 5 * 17);
    assert_has(text[FAB_EXPORT_OPENSM_LFTS], "Unicast lids [0-17] of switch Lid 13 guid 0x");
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_OPENSM_SL2VL], "base LID "), 17);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_PATH_SLS], " : 0\n"), 17 * 17);
    assert_has(text[FAB_EXPORT_CERTIFICATE], "certificate 1\n");
    assert_has(text[FAB_EXPORT_CERTIFICATE], "\nvls 1\n0x");
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_CERTIFICATE], "\n0x"), 2 * 3 * 2);
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
        free(text[i]);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    fab_fabric_unref(again);
}
END_TEST

/* Makes tables with three VLs: the SL of a packet depends on its destination, and a packet that
 * enters a switch by an ISL continues on another VL. The link of one host has only two VLs. */
START_TEST(lanes)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(3, 2, 4);
    struct fab_target *t = routed(f, &p);
    struct fab_vls *v = &t->vls;
    fab_target_vls_init(v, 3);
    v->classes = 2;
    ck_assert_int_eq(fab_target_vls_by_lid(v, t->lids.top), FAB_OK);
    ck_assert_int_eq(fab_target_vls_by_class(v, f->port_count), FAB_OK);
    v->of_lid[3] = 2;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = fab_fabric_peer_node(f, port);
        v->port_class[port] = fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) &&
                              peer != FAB_NONE && fab_fabric_node_is_switch(f, peer);
    }
    for (unsigned sl = 0; sl < FAB_SLS; sl++)
        v->vl[1][0][sl] = v->vl[1][1][sl] = (uint8_t)((sl + 1) % 3);
    fab_fabric_edit_port(f, t->lids.owner[3])->info.vl_cap = 2;
    char *maps = exported(f, t, FAB_EXPORT_OPENSM_SL2VL),
         *sls = exported(f, t, FAB_EXPORT_PATH_SLS);
    /* Lines of SL-to-VL maps. Each switch has a line for each pair of an input port (or port 0) and
     * an output port: 2 spines with 3 ports, and 3 leaves with 6 ports. Each of the 12 hosts has
     * one line. Each of the 17 nodes also has a heading. */
    ck_assert_uint_eq(lines_with(maps, " :"), 2 * 3 * 4 + 3 * 6 * 7 + 12 + 17);
    assert_has(maps, ", base LID 13, \"leaf-001\"\n#in out : 0  1  2");
    assert_has(maps, "\n0   1   : 0  1  2  0  1  2  0  1  2  0  1  2  0  1  2  0 \n");
    assert_has(maps, "\n5   1   : 1  2  0  1  2  0  1  2  0  1  2  0  1  2  0  1 \n");
    assert_has(maps, "\n0   0   : 0  1  0  0  1  0  0  1  0  0  1  0  0  1  0  0 \n");
    assert_has(maps, "Channel Adapter 0x");
    ck_assert_uint_eq(lines_with(sls, " : 2\n"), 17);
    ck_assert_uint_eq(lines_with(sls, "0x0003 : 2\n"), 17);
    free(maps);
    free(sls);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(slurm_groups)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = fat_tree(4, 3, 1);
    struct fab_target *t = routed(f, &p);
    char *text = exported(f, t, FAB_EXPORT_SLURM);
    ck_assert_uint_eq(lines_with(text, "Nodes="), 8);
    ck_assert_uint_eq(lines_with(text, "Switches="), 5);
    assert_has(text, "SwitchName=group-5 Switches=group-1,group-2,group-3,group-4\n");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    f = grid((uint32_t[3]){3, 3, 1}, true, 2);
    t = routed(f, &p);
    text = exported(f, t, FAB_EXPORT_SLURM);
    ck_assert_uint_eq(lines_with(text, "Nodes="), 9);
    ck_assert_uint_eq(lines_with(text, "Switches="), 1);
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

/* The fabric has a host with two adapters, adapters without a name, and names with characters that
 * have a meaning in the exported formats. */
START_TEST(names)
{
    static const char *const descs[] = {"node1 mlx5_0", "node1 mlx5_1", "node2 mlx5_0",
                                        "node3",        "a{b}\"c\\d'",  "\xff\x01[1-3]"};
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *plain = leaf_spine(2, 1, 12), *f = NULL;
    struct fab_builder *b = fab_fabric_builder_from(plain);
    for (uint32_t i = 0; i < 24; i++) {
        const char *desc = i < 6 ? descs[i] : "MT4123 ConnectX6 Mellanox Technologies";
        fab_fabric_builder_set_desc(b, 3 + i, desc, strlen(desc));
    }
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    fab_fabric_unref(plain);
    struct fab_target *t = routed(f, &p);
    char *text = exported(f, t, FAB_EXPORT_SLURM);
    assert_has(text, "SwitchName=leaf-001 Nodes=");
    assert_has(text, "node[1-3]");
    ck_assert_uint_eq(lines_with(text, "MT4123"), 0);
    ck_assert_uint_eq(lines_with(text, "Nodes="), 2);
    assert_has(text, "\nSwitchName=leaf-002 Nodes=H-");
    free(text);
    text = exported(f, t, FAB_EXPORT_OPENSM_LST);
    assert_has(text, "{a(b)\"c\\d'}");
    assert_has(text, "{?\?[1-3]}");
    free(text);
    text = exported(f, t, FAB_EXPORT_JSON);
    assert_has(text, "\"a{b}\\\"c\\\\d'\"");
    assert_has(text, "\"\xef\xbf\xbd\xef\xbf\xbd[1-3]\"");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

/* Names that differ only in a number at their end are joined to a range, if the numbers have the
 * same width. Other names are listed one by one. */
START_TEST(slurm_names)
{
    static const char *const descs[] = {"gpu8",    "gpu9",          "gpu10", "gpu011",
                                        "login-a", "login-b",       "n2x3",  "n2x4",
                                        "77",      "cpu1234567890", "cpu1",  "login-c"};
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *plain = leaf_spine(1, 0, 12), *f = NULL;
    struct fab_builder *b = fab_fabric_builder_from(plain);
    for (uint32_t i = 0; i < 12; i++)
        fab_fabric_builder_set_desc(b, 1 + i, descs[i], strlen(descs[i]));
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    fab_fabric_unref(plain);
    struct fab_target *t = routed(f, &p);
    char *text = exported(f, t, FAB_EXPORT_SLURM);
    assert_has(text, "SwitchName=leaf-001 Nodes=77,cpu1,cpu1234567890,gpu[8-9],gpu10,gpu011,"
                     "login-a,login-b,login-c,n2x[3-4]\n");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

START_TEST(what_is_refused)
{
    struct fab_fabric *f = leaf_spine(2, 1, 1);
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_target *t = routed(f, &p);
    struct fab_export_input in = {.fabric = f, .lids = &t->lids};
    struct fab_export *e = NULL;
    ck_assert_int_eq(fab_export_new(&in, FAB_EXPORT_COUNT, &e), FAB_E_INVAL);
    ck_assert_int_eq(fab_export_new(&in, FAB_EXPORT_OPENSM_FDBS, &e), FAB_E_INVAL);
    ck_assert_int_eq(fab_export_new(&in, FAB_EXPORT_CERTIFICATE, &e), FAB_E_INVAL);
    ck_assert_int_eq(fab_export_new(&in, (enum fab_export_format) - 1, &e), FAB_E_INVAL);
    ck_assert_ptr_null(e);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

/* Counts lines without strstr, because AddressSanitizer makes strstr read the whole text in each
 * call. */
static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Checks exports of damaged tables. Parts that do not depend on the tables are unchanged. Dumps of
 * tables show the damage. No export grows by more than a line for each table entry and each pair of
 * LIDs. */
static void assert_bounds(const struct fab_fabric *f, const struct fab_target *t, char *const *good,
                          char *const *bad)
{
    uint64_t lids = t->lids.top + 1u;
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++) {
        size_t len = strlen(bad[i]);
        ck_assert_uint_gt(len, 0);
        ck_assert_int_eq(bad[i][len - 1], '\n');
        ck_assert_uint_le(lines(bad[i]), lines(good[i]) + (lids + f->switch_count) * lids);
        if (i != FAB_EXPORT_OPENSM_FDBS && i != FAB_EXPORT_OPENSM_LFTS && i != FAB_EXPORT_PATH_SLS)
            ck_assert_str_eq(bad[i], good[i]);
    }
    ck_assert_str_ne(bad[FAB_EXPORT_OPENSM_FDBS], good[FAB_EXPORT_OPENSM_FDBS]);
    ck_assert_str_ne(bad[FAB_EXPORT_OPENSM_LFTS], good[FAB_EXPORT_OPENSM_LFTS]);
    ck_assert_uint_eq(lines_with(bad[FAB_EXPORT_OPENSM_FDBS], "Switch 0x"), f->switch_count);
}

static void export_all(const struct fab_fabric *f, const struct fab_target *t, char **ret)
{
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
        ret[i] = exported(f, t, i);
}

static void free_all(char **text)
{
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
        free(text[i]);
}

/* Tables with cycles and dead ends are exported as they are. With the correct tables, the exports
 * are the same as before, byte for byte. */
START_TEST(broken_tables)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("broken_tables", 9));
    struct fab_policy p;
    fab_policy_defaults(&p);
    for (unsigned round = 0; round < 20; round++) {
        struct fab_fabric *f = random_fabric(12, 3, 30, round);
        struct fab_target *t = routed(f, &p);
        char *good[FAB_EXPORT_COUNT], *bad[FAB_EXPORT_COUNT], *again[FAB_EXPORT_COUNT];
        size_t size = t->lft.stride * t->lft.switch_count;
        uint8_t *entries = malloc(size);
        ck_assert_ptr_nonnull(entries);
        memcpy(entries, t->lft.entries, size);
        export_all(f, t, good);
        for (unsigned i = 0; i < 200; i++)
            fab_target_lft_row(
                &t->lft, (uint32_t)fab_base_prng_below(
                             &prng, f->switch_count))[fab_base_prng_below(&prng, t->lft.top + 1)] =
                (uint8_t)fab_base_prng_below(&prng, 256);
        export_all(f, t, bad);
        assert_bounds(f, t, good, bad);
        memcpy(t->lft.entries, entries, size);
        export_all(f, t, again);
        for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
            ck_assert_str_eq(again[i], good[i]);
        free_all(good);
        free_all(bad);
        free_all(again);
        free(entries);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
    fab_policy_fini(&p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("export");
    TCase *t = tcase_create("export");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_format);
    tcase_add_test(t, lanes);
    tcase_add_test(t, slurm_groups);
    tcase_add_test(t, names);
    tcase_add_test(t, slurm_names);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, broken_tables);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
