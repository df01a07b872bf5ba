/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic classes from three sources: rules in fabricd.yaml, OpenSM's qos-policy.conf, and QoS
 * tables in OpenSM's options. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/classes.h"
#include "tests/unit/testing.h"

static struct fab_classes *fresh(void)
{
    struct fab_classes *c;
    ck_assert_int_eq(fab_policy_classes_new(&c), FAB_OK);
    return c;
}

static int add(struct fab_classes *c, const char *name, uint8_t share, uint8_t *ret)
{
    struct fab_classes_error error;
    return fab_policy_classes_add(
        c, &(struct fab_class){.name = name, .share = share, .sl = FAB_CLASS_NO_SL}, ret, &error);
}

static int read_text(struct fab_classes *c, const char *text, struct fab_classes_error *error)
{
    return fab_policy_classes_read(c, text, strlen(text), error);
}

START_TEST(classes_have_names_and_shares)
{
    struct fab_classes *c = fresh();
    struct fab_classes_error error;
    uint8_t n;
    ck_assert_int_eq(add(c, "storage", 40, &n), FAB_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(add(c, "storage", 1, &n), FAB_E_EXISTS);
    ck_assert_int_eq(add(c, "", 1, &n), FAB_E_RANGE);
    ck_assert_int_eq(add(c, "much", 101, &n), FAB_E_RANGE);
    ck_assert_int_eq(add(c, "default", 10, &n), FAB_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(fab_policy_classes_check(c, &error), FAB_OK);
    ck_assert_int_eq(add(c, "training", 60, &n), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_check(c, &error), FAB_E_RANGE);
    ck_assert_ptr_nonnull(strstr(error.message, "110 percent"));
    while (add(c, (char[]){'x', (char)('a' + c->count), 0}, 0, &n) == FAB_OK)
        ;
    ck_assert_uint_eq(c->count, FAB_CLASSES_MAX);
    fab_policy_classes_unref(c);
}
END_TEST

START_TEST(rules_in_our_words)
{
    struct fab_classes *c = fresh();
    struct fab_classes_error error;
    uint8_t n;
    ck_assert_int_eq(add(c, "storage", 40, &n), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(c, n,
                                                 "from=@jobs to=\"stor 0*\" service=0x10-0x1f,7 "
                                                 "qos_class=3 pkey=0x8011",
                                                 &error),
                     FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(c, n, "to=0x0002c90300000001 partition=a", &error),
                     FAB_OK);
    ck_assert_uint_eq(c->rules, 2);
    const struct fab_class_rule *r = &c->rule[0];
    ck_assert_uint_eq(r->from, 1);
    ck_assert_uint_eq(r->to, 2);
    ck_assert_uint_eq(r->service.count, 2);
    ck_assert_uint_eq(r->service.range[0].last, 0x1f);
    ck_assert_uint_eq(r->qos_class.range[0].first, 3);
    ck_assert_str_eq(c->group[0].member[0].name, "jobs");
    ck_assert_str_eq(c->group[1].member[0].name, "stor 0*");
    ck_assert_uint_eq(c->group[2].member[0].first, UINT64_C(0x0002c90300000001));
    fab_policy_classes_unref(c);
}
END_TEST

START_TEST(wrong_rules_are_told)
{
    static const char *const rules[] = {"",           "  ",         "from",     "from=",
                                        "who=x",      "pkey=x",     "pkey=5-3", "qos_class=65536",
                                        "from=\"abc", "service=1,", "to=0xzz"};
    struct fab_classes *c = fresh();
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        struct fab_classes_error error = {.message = ""};
        ck_assert_msg(fab_policy_classes_add_rule(c, 0, rules[i], &error) == FAB_E_FORMAT, "%s",
                      rules[i]);
        ck_assert_uint_gt(strlen(error.message), 0);
    }
    ck_assert_uint_eq(c->rules, 0);
    fab_policy_classes_unref(c);
}
END_TEST

static const char full[] =
    "# as in the field\n"
    "qos-match-rules\n"
    "  qos-match-rule\n"
    "    use: by QoS class\n"
    "    qos-class: 7-9,11\n"
    "    qos-level-name: WholeSet\n"
    "  end-qos-match-rule\n"
    "  qos-match-rule\n"
    "    source: Storage\n    destination: CAs and SM # here\n"
    "    service-id: 0x10000000000001, 0x10000000000008-0x10000000000FFF\n"
    "    pkey: 0x0F00-0x0FFF\n"
    "    qos-level-name: DEFAULT\n"
    "  end-qos-match-rule\n"
    "end-qos-match-rules\n"
    "port-groups\n"
    "  port-group\n    name: Storage\n    use: SRP Targets\n"
    "    port-guid: 0x10000000000001, 0x10000000000005-0x1000000000FFFA\n"
    "    port-name: vs1 HCA-1/P1, vs2 HCA-1/P2\n    pkey: 0x1234\n    partition: Part1\n"
    "  end-port-group\n"
    "  port-group\n    name: CAs and SM\n    node-type: CA, SELF\n  end-port-group\n"
    "end-port-groups\n"
    "qos-setup\n  vlarb-tables\n    anything\n  end-vlarb-tables\nend-qos-setup\n"
    "qos-levels\n"
    "  qos-level\n    name: DEFAULT\n    sl: 0\n  end-qos-level\n"
    "  qos-level\n    name: WholeSet\n    sl: 1\n    mtu-limit: 4\n    rate-limit: 5\n"
    "    pkey: 0x1234\n    packet-life: 8\n  end-qos-level\n"
    "end-qos-levels\n"
    "qos-ulps\n"
    "  default : 3\n"
    "  sdp, port-num 30000 : 0\n  sdp : 1\n  rds : 2\n  iser, port-num 900 : 0\n  iser : 3\n"
    "  ipoib, pkey 0x0001 : 0\n  ipoib : 4\n  any, service-id 0x6234 : 6\n"
    "  any, source-target-port-guid 0x9abcd-0x9abcf : 8\n"
    "end-qos-ulps\n";

START_TEST(qos_policy_of_opensm)
{
    struct fab_classes *c = fresh();
    struct fab_classes_error error = {.message = ""};
    ck_assert_msg(read_text(c, full, &error) == FAB_OK, "%u: %s", error.line, error.message);
    int whole = fab_policy_classes_find(c, "WholeSet");
    ck_assert_int_eq(whole, 1);
    const struct fab_class *k = &c->class[whole];
    ck_assert_uint_eq(k->sl, 1);
    ck_assert_uint_eq(k->mtu, 4);
    ck_assert_uint_eq(k->rate, 5);
    ck_assert_uint_eq(k->pkey, 0x1234);
    ck_assert(k->has_life);
    ck_assert_uint_eq(k->life, 8);
    ck_assert_uint_eq(c->rules, 2 + 9 + 1);
    ck_assert_uint_eq(c->rule[0].class, 1);
    ck_assert_uint_eq(c->rule[0].qos_class.count, 2);
    ck_assert_uint_eq(c->rule[1].class, 0);
    ck_assert_uint_eq(c->rule[1].from, 1);
    ck_assert_uint_eq(c->rule[1].to, 2);
    ck_assert_uint_eq(c->group[0].count, 6);
    ck_assert_uint_eq(c->group[0].member[2].port, 1);
    ck_assert_str_eq(c->group[0].member[2].name, "vs1 HCA-1");
    ck_assert_uint_eq(c->rule[2].service.range[0].first, 0x10000 + 30000);
    ck_assert_uint_eq(c->rule[3].service.range[0].last, 0x1ffff);
    ck_assert_uint_eq(c->rule[4].service.range[0].first, 0x10648ca);
    ck_assert_uint_eq(c->rule[6].service.range[0].first, 0x1060cbc);
    ck_assert_uint_eq(c->rule[8].pkey.range[0].first, 0x7fff);
    ck_assert_uint_ne(c->rule[10].either, 0);
    /* the last rule, which matches all remaining paths */
    const struct fab_class_rule *rest = &c->rule[11];
    ck_assert_uint_eq(c->class[rest->class].sl, 3);
    ck_assert_uint_eq(rest->from | rest->to | rest->service.count | rest->pkey.count, 0);
    ck_assert_uint_eq(c->notes, 0);
    fab_policy_classes_unref(c);
}
END_TEST

START_TEST(a_default_level_of_another_sl)
{
    struct fab_classes *c = fresh();
    struct fab_classes_error error;
    ck_assert_int_eq(read_text(c,
                               "qos-levels\nqos-level\nname: DEFAULT\nsl: 2\nend-qos-level\n"
                               "end-qos-levels\n",
                               &error),
                     FAB_OK);
    ck_assert_uint_eq(c->count, 2);
    ck_assert_uint_eq(c->class[1].sl, 2);
    ck_assert_uint_eq(c->rules, 1);
    ck_assert_uint_eq(c->rule[0].class, 1);
    fab_policy_classes_unref(c);
}
END_TEST

START_TEST(wrong_policies_are_told_with_the_line)
{
    static const struct {
        const char *text;
        uint32_t line;
    } wrong[] = {
        {"nonsense\n", 1},
        {"qos-levels\nqos-level\nname: a\nsl: 16\nend-qos-level\nend-qos-levels\n", 4},
        {"qos-levels\nqos-level\nsl: 1\nend-qos-level\nend-qos-levels\n", 4},
        {"qos-levels\n", 2},
        {"port-groups\nport-group\nport-guid: x\nend-port-group\nend-port-groups\n", 3},
        {"port-groups\nport-group\nnode-type: TOASTER\nend-port-group\nend-port-groups\n", 3},
        {"qos-match-rules\nqos-match-rule\nsource: "
         "nobody\nend-qos-match-rule\nend-qos-match-rules\n",
         3},
        {"qos-match-rules\nqos-match-rule\nqos-class: 1\nend-qos-match-rule\nend-qos-match-rules\n",
         4},
        {"qos-match-rules\nqos-match-rule\nqos-level-name: "
         "x\nend-qos-match-rule\nend-qos-match-rules\n",
         3},
        {"qos-ulps\nsdp : 16\nend-qos-ulps\n", 2},
        {"qos-ulps\nsdp, hello 5 : 1\nend-qos-ulps\n", 2},
        {"qos-ulps\nsrp : 1\nend-qos-ulps\n", 2},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct fab_classes *c = fresh();
        struct fab_classes_error error = {.line = 99};
        ck_assert_msg(read_text(c, wrong[i].text, &error) == FAB_E_FORMAT, "%s", wrong[i].text);
        ck_assert_msg(error.line == wrong[i].line, "%s: line %u: %s", wrong[i].text, error.line,
                      error.message);
        fab_policy_classes_unref(c);
    }
}
END_TEST

START_TEST(tables_of_options)
{
    struct fab_classes *c = fresh();
    ck_assert_int_eq(fab_policy_classes_set_map(c, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"),
                     FAB_OK);
    ck_assert(c->has_map);
    ck_assert_uint_eq(c->map[15], 15);
    ck_assert_int_eq(fab_policy_classes_set_map(c, "0,1"), FAB_E_FORMAT);
    ck_assert_int_eq(fab_policy_classes_set_map(c, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0"),
                     FAB_E_FORMAT);
    ck_assert_int_eq(fab_policy_classes_set_map(c, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16"),
                     FAB_E_FORMAT);
    ck_assert_int_eq(fab_policy_classes_set_arb(c, true, "0:4"), FAB_OK);
    /* 14 is the highest data VL, so it is accepted */
    ck_assert_int_eq(fab_policy_classes_set_arb(c, false, "14:1"), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_set_arb(c, false, "0:0,1:64,2:255"), FAB_OK);
    ck_assert_uint_eq(c->highs, 1);
    ck_assert_uint_eq(c->lows, 3);
    ck_assert_uint_eq(c->low[2].weight, 255);
    static const char *const wrong[] = {"", "0", "0:", "15:1", "0:256", "0:1,", "0:1,1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        ck_assert_msg(fab_policy_classes_set_arb(c, false, wrong[i]) == FAB_E_FORMAT, "%s",
                      wrong[i]);
    fab_policy_classes_unref(c);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("classes");
    Suite *suite = suite_create("classes");
    tcase_add_test(cases, classes_have_names_and_shares);
    tcase_add_test(cases, rules_in_our_words);
    tcase_add_test(cases, wrong_rules_are_told);
    tcase_add_test(cases, qos_policy_of_opensm);
    tcase_add_test(cases, a_default_level_of_another_sl);
    tcase_add_test(cases, wrong_policies_are_told_with_the_line);
    tcase_add_test(cases, tables_of_options);
    suite_add_tcase(suite, cases);
    return test_run(suite);
}
