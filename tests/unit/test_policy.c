/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy: its defaults are valid, the error for a value out of range names the field, and
 * copies share nothing.
 */
#include "libfabmgr/policy/policy.h"

#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#include <string.h>

static void assert_refused(const struct fab_policy *p, const char *name)
{
    char why[200] = "";
    ck_assert_int_eq(fab_policy_validate(p, why, sizeof why), FAB_E_RANGE);
    ck_assert_msg(strncmp(why, name, strlen(name)) == 0 && why[strlen(name)] == ' ',
                  "\"%s\" does not name %s", why, name);
    ck_assert_ptr_nonnull(strstr(why, "expected "));
}

static void assert_valid(const struct fab_policy *p)
{
    char why[200] = "";
    int status = fab_policy_validate(p, why, sizeof why);
    ck_assert_msg(status == FAB_OK, "%d: %s", status, why);
}

START_TEST(defaults_are_valid)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    assert_valid(&p);
    ck_assert_str_eq(p.engine, "auto");
    ck_assert_uint_eq(p.subnet_prefix, UINT64_C(0xfe80000000000000));
    ck_assert_uint_eq(p.max_hops, 64);
    ck_assert_uint_eq(p.root_count, 0);
    fab_policy_fini(&p);
}
END_TEST

static const struct {
    const char *name;
    size_t offset;
    uint8_t min, max;
} domains[] = {
    {"sm_priority", offsetof(struct fab_policy, sm_priority), 0, 15},
    {"lmc", offsetof(struct fab_policy, lmc), 0, 7},
    {"max_op_vls", offsetof(struct fab_policy, max_op_vls), 1, 5},
    {"max_mtu", offsetof(struct fab_policy, max_mtu), 1, 5},
    {"packet_life_time", offsetof(struct fab_policy, packet_life_time), 0, 31},
    {"hoq_life", offsetof(struct fab_policy, hoq_life), 0, 31},
    {"leaf_hoq_life", offsetof(struct fab_policy, leaf_hoq_life), 0, 31},
    {"vl_stall_count", offsetof(struct fab_policy, vl_stall_count), 0, 7},
    {"leaf_vl_stall_count", offsetof(struct fab_policy, leaf_vl_stall_count), 0, 7},
    {"subnet_timeout", offsetof(struct fab_policy, subnet_timeout), 0, 31},
    {"phy_errors", offsetof(struct fab_policy, phy_errors), 0, 15},
    {"overrun_errors", offsetof(struct fab_policy, overrun_errors), 0, 15},
};

START_TEST(fields_are_held_to_their_domains)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    for (unsigned value = 0; value < 256; value++) {
        ((uint8_t *)&p)[domains[_i].offset] = (uint8_t)value;
        if (value >= domains[_i].min && value <= domains[_i].max)
            assert_valid(&p);
        else
            assert_refused(&p, domains[_i].name);
    }
}
END_TEST

START_TEST(engine_is_a_name)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    memset(p.engine, 0, sizeof p.engine);
    assert_refused(&p, "engine");
    strcpy(p.engine, "up/dn");
    assert_refused(&p, "engine");
    strcpy(p.engine, "torus-2qos");
    assert_valid(&p);
    memset(p.engine, 'a', sizeof p.engine); /* the text fills the array, without a NUL at the end */
    assert_refused(&p, "engine");
}
END_TEST

START_TEST(roots_are_guids_each_once)
{
    struct fab_policy p;
    uint64_t roots[] = {30, 10, 20};
    fab_policy_defaults(&p);
    p.roots = roots;
    p.root_count = 3;
    assert_valid(&p);
    roots[2] = 30;
    assert_refused(&p, "roots");
    roots[2] = 0;
    assert_refused(&p, "roots");
}
END_TEST

START_TEST(prefix_and_hops_have_domains)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.max_hops = 0;
    assert_refused(&p, "max_hops");
    p.max_hops = 1025;
    assert_refused(&p, "max_hops");
    p.max_hops = 1024;
    assert_valid(&p);
    p.subnet_prefix = 0;
    assert_refused(&p, "subnet_prefix");
    p.subnet_prefix = UINT64_C(0xff12000000000000);
    assert_refused(&p, "subnet_prefix");
}
END_TEST

START_TEST(the_sentence_is_cut_to_fit)
{
    struct fab_policy p;
    char why[8];
    memset(why, 'x', sizeof why);
    fab_policy_defaults(&p);
    p.lmc = 8;
    ck_assert_int_eq(fab_policy_validate(&p, why, sizeof why), FAB_E_RANGE);
    ck_assert_uint_eq(strlen(why), sizeof why - 1);
}
END_TEST

START_TEST(copies_are_deep)
{
    struct fab_policy p, copy;
    fab_policy_defaults(&p);
    p.roots = malloc(2 * sizeof *p.roots);
    p.roots[0] = 1;
    p.roots[1] = 2;
    p.root_count = 2;
    ck_assert_int_eq(fab_policy_copy(&p, &copy), FAB_OK);
    ck_assert_ptr_ne(p.roots, copy.roots);
    fab_policy_fini(&p);
    ck_assert_ptr_null(p.roots);
    ck_assert_uint_eq(p.root_count, 0);
    ck_assert_uint_eq(copy.root_count, 2);
    ck_assert_uint_eq(copy.roots[1], 2);
    fab_policy_fini(&copy);
    ck_assert_int_eq(fab_policy_copy(&p, &copy), FAB_OK);
    ck_assert_ptr_null(copy.roots);
    fab_policy_fini(&copy);
}
END_TEST

START_TEST(routers_are_read)
{
    static const struct {
        const char *text;
        unsigned line; /* line of the error; 0: no error */
        size_t count;
    } cases[] = {{"", 0, 0},
                 {"\n# only\n  # words", 0, 0},
                 {"fec0000000000001 0x0002c90300000001\n* *", 0, 2},
                 {"1 2#x\r\n\t3\t4 # y", 0, 2},
                 {"1 2\n3", 2, 0},
                 {"x 2", 1, 0},
                 {"1 2 3", 1, 0},
                 {"1 0x12345678123456789", 1, 0},
                 {"0x 1", 1, 0},
                 {"** 1", 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fab_routers *r = NULL;
        struct fab_routers_error e = {0};
        int status = fab_policy_routers_read(cases[i].text, strlen(cases[i].text), &r, &e);
        ck_assert_int_eq(status, cases[i].line ? FAB_E_FORMAT : FAB_OK);
        ck_assert_uint_eq(e.line, cases[i].line);
        ck_assert_uint_eq(r ? r->count : 0, cases[i].count);
        if (r) {
            ck_assert_int_eq(r->refs, 1);
            ck_assert_ptr_eq(fab_policy_routers_ref(r), r);
            fab_policy_routers_unref(r);
            ck_assert_int_eq(r->refs, 1);
        }
        fab_policy_routers_unref(r);
    }
    ck_assert_ptr_null(fab_policy_routers_find(NULL, 1));
}
END_TEST

static int read_keys(const char *text, struct fab_m_key_list **ret, struct fab_line_error *e)
{
    *ret = NULL;
    *e = (struct fab_line_error){0};
    return fab_policy_m_key_list_read(text, strlen(text), ret, e);
}

START_TEST(m_keys_of_ports_are_read)
{
    static const struct {
        const char *text;
        unsigned line; /* line of the error; 0: no error */
        size_t count;
        const char *message;
    } cases[] = {{"", 0, 0, ""},
                 {"\n# only\n  # words", 0, 0, ""},
                 {"0x0002c90300000001 0x000000000000002a\n\n0x0002c90300000002 0x0\n\n", 0, 2, ""},
                 {"0x2 0x9#x\r\n\t0X1\t0xAb # y", 0, 2, ""},
                 {"0x1 0x2\n0x3", 2, 0, "expected the M_Key"},
                 {"0x1 0x2\n0x1 0x2", 2, 0, "the GUID is in line 1 already"},
                 {"0x2 1\n", 1, 0, "expected the M_Key"},
                 {"1 0x2", 1, 0, "expected the GUID"},
                 {"0x0 0x2", 1, 0, "expected the GUID"},
                 {"0xfffffffffffffffff 0x1", 1, 0, "expected the GUID"},
                 {"0x1 0x", 1, 0, "expected the M_Key"},
                 {"0x1 -1", 1, 0, "expected the M_Key"},
                 {"0x1 0x2 0x3", 1, 0, "expected nothing after"}};
    struct fab_m_key_list *l;
    struct fab_line_error e;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = read_keys(cases[i].text, &l, &e);
        ck_assert_int_eq(status, cases[i].line ? FAB_E_FORMAT : FAB_OK);
        ck_assert_uint_eq(e.line, cases[i].line);
        ck_assert_msg(strncmp(e.message, cases[i].message, strlen(cases[i].message)) == 0, "%s",
                      e.message);
        ck_assert_uint_eq(l ? l->count : 0, cases[i].count);
        fab_policy_m_key_list_unref(l);
    }
    ck_assert_int_eq(read_keys("0x2 0x9\n0x1 0xAb", &l, &e), FAB_OK);
    ck_assert_uint_eq(fab_policy_m_key_list_find(l, 1), 0xab);
    ck_assert_uint_eq(fab_policy_m_key_list_find(l, 2), 9);
    ck_assert_uint_eq(fab_policy_m_key_list_find(l, 3), 0);
    ck_assert_uint_eq(fab_policy_m_key_list_find(NULL, 1), 0);
    struct fab_policy p, copy;
    fab_policy_defaults(&p);
    p.listed_m_keys = l;
    ck_assert_int_eq(fab_policy_copy(&p, &copy), FAB_OK);
    fab_policy_fini(&p);
    ck_assert_int_eq(l->refs, 1);
    ck_assert_int_eq(read_keys("0x1 0xab\n0x2 0x9", &p.listed_m_keys, &e), FAB_OK);
    ck_assert(fab_policy_m_key_list_same(p.listed_m_keys, l));
    ck_assert(!fab_policy_m_key_list_same(p.listed_m_keys, NULL));
    ck_assert(fab_policy_m_key_list_same(NULL, NULL));
    fab_policy_fini(&p);
    ck_assert_int_eq(read_keys("0x1 0xac\n0x2 0x9", &p.listed_m_keys, &e), FAB_OK);
    ck_assert(!fab_policy_m_key_list_same(p.listed_m_keys, l));
    fab_policy_fini(&p);
    fab_policy_fini(&copy);
}
END_TEST

/* A file of M_Keys is refused if the file is too long, a line is too long, or there are too many
 * ports. */
START_TEST(m_keys_of_ports_have_limits)
{
    struct fab_m_key_list *l = NULL;
    struct fab_line_error e = {0};
    char *text = malloc(FAB_M_KEY_LIST_TEXT_MAX + 1);
    size_t len = 0, room = FAB_M_KEY_LIST_TEXT_MAX;
    ck_assert_ptr_nonnull(text);
    for (unsigned i = 1; i <= FAB_M_KEY_LIST_MAX; i++)
        len += (size_t)snprintf(text + len, room - len, "0x%016x 0x%016x\n\n", i, i);
    ck_assert_int_eq(fab_policy_m_key_list_read(text, len, &l, &e), FAB_OK);
    ck_assert_uint_eq(l->count, FAB_M_KEY_LIST_MAX);
    ck_assert_uint_eq(fab_policy_m_key_list_find(l, FAB_M_KEY_LIST_MAX), FAB_M_KEY_LIST_MAX);
    fab_policy_m_key_list_unref(l);
    len += (size_t)snprintf(text + len, room - len, "0x10001 0x1\n");
    ck_assert_int_eq(fab_policy_m_key_list_read(text, len, &l, &e), FAB_E_FORMAT);
    ck_assert_uint_eq(e.line, 2 * FAB_M_KEY_LIST_MAX + 1);
    ck_assert_str_eq(e.message, "expected at most 65536 ports");
    memset(text, ' ', FAB_M_KEY_LIST_TEXT_MAX + 1);
    ck_assert_int_eq(fab_policy_m_key_list_read(text, FAB_M_KEY_LIST_TEXT_MAX + 1, &l, &e),
                     FAB_E_LIMIT);
    ck_assert_int_eq(fab_policy_m_key_list_read(text, FAB_M_KEY_LIST_LINE_MAX + 1, &l, &e),
                     FAB_E_FORMAT);
    ck_assert_uint_eq(e.line, 1);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tcase = tcase_create("policy");
    tcase_add_test(tcase, defaults_are_valid);
    tcase_add_loop_test(tcase, fields_are_held_to_their_domains, 0,
                        sizeof domains / sizeof *domains);
    tcase_add_test(tcase, engine_is_a_name);
    tcase_add_test(tcase, roots_are_guids_each_once);
    tcase_add_test(tcase, prefix_and_hops_have_domains);
    tcase_add_test(tcase, the_sentence_is_cut_to_fit);
    tcase_add_test(tcase, copies_are_deep);
    tcase_add_test(tcase, routers_are_read);
    tcase_add_test(tcase, m_keys_of_ports_are_read);
    tcase_add_test(tcase, m_keys_of_ports_have_limits);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
