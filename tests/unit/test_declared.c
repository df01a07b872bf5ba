/* SPDX-License-Identifier: BSD-3-Clause */
/* Applied policies: what they mean, which place each error names, and how two policies differ. */
#include <string.h>

#include "fabricd/config/document.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/lines.h"
#include "tests/unit/testing.h"

#include "tests/unit/failing_alloc.h"

static const char example[] = "groups:\n"
                              "  - name: stores\n"
                              "    members: ['stor-*', 0x0002c90300000021]\n"
                              "partitions:\n"
                              "  - name: Default\n"
                              "    pkey: 0xffff\n"
                              "    ipoib: yes\n"
                              "    limited: [ALL_CAS]\n"
                              "  - name: jobs\n"
                              "    pkey: 0x8011\n"
                              "    index0: true\n"
                              "    full: [host-1, '@stores']\n"
                              "    both: [SELF]\n"
                              "classes:\n"
                              "  - name: storage\n"
                              "    share: 30\n"
                              "    priority: high\n"
                              "    sl: 3\n"
                              "    rate_limit: 100\n"
                              "    mtu_limit: 2048\n"
                              "    match: ['to=@stores', partition=jobs]\n"
                              "congestion:\n"
                              "  apply: no\n"
                              "  profile: incast\n"
                              "  fan_in: 64\n"
                              "  threshold: 12\n"
                              "  timer: auto\n"
                              "  table: [0, 0xc008]\n"
                              "names:\n"
                              "  - guid: 0x0002c90300000002\n"
                              "    name: leaf 1\n"
                              "isolation:\n"
                              "  - link: leaf-1/5\n"
                              "    reason: dirty\n"
                              "approvals:\n"
                              "  - node: 0x0002c90300000031\n"
                              "    port_guid: 0x0002c90300000032\n"
                              "    at: leaf-1/7\n";

static int read_files(const struct document_file *files, size_t count, struct fab_declared *ret,
                      char *why, size_t len)
{
    struct fab_doc doc;
    int rc = document_read(files, count, &doc, ret, why, len);
    if (rc == FAB_OK)
        fab_policy_doc_fini(&doc);
    return rc;
}

static int read_text(const char *text, struct fab_declared *ret, char *why, size_t len)
{
    const struct document_file file = {"p.yaml", text, strlen(text)};
    return read_files(&file, 1, ret, why, len);
}

static void must_read(const char *text, struct fab_declared *ret)
{
    char why[600] = "";
    int rc = read_text(text, ret, why, sizeof why);
    ck_assert_msg(rc == FAB_OK, "%s", why);
}

START_TEST(every_section_is_read)
{
    struct fab_declared d;
    must_read(example, &d);
    for (int i = 0; i < FAB_DECLARED_SECTIONS; i++)
        ck_assert(d.has[i]);
    const struct fab_partitions *p = d.partitions;
    ck_assert_uint_eq(p->partitions, 2);
    ck_assert_uint_eq(p->partition[0].pkey, FAB_PKEY_DEFAULT);
    ck_assert(p->partition[0].ipoib && p->mgroups == 1);
    ck_assert_uint_eq(p->partition[1].pkey, 0x11);
    /* 2 built-in rules, 1 rule of the partition Default, 3 rules of the partition jobs */
    ck_assert_uint_eq(p->rules, 6);
    ck_assert_int_eq(p->rule[4].who.kind, FAB_SELECT_GROUP);
    ck_assert(p->rule[4].index0 && p->rule[4].membership == FAB_MEMBER_FULL);
    ck_assert_int_eq(p->rule[5].membership, FAB_MEMBER_BOTH);
    ck_assert_uint_eq(d.classes->count, 2);
    ck_assert_uint_eq(d.classes->class[1].rate_mbps, 100000);
    ck_assert_uint_eq(d.classes->class[1].mtu, 4);
    ck_assert_uint_eq(d.classes->class[1].sl, 3);
    ck_assert_uint_eq(d.classes->rules, 2);
    ck_assert(!d.congestion.apply && d.congestion.profile == FAB_CONGESTION_INCAST);
    ck_assert_int_eq(d.congestion.value[FAB_CONGESTION_THRESHOLD], 12);
    ck_assert_int_eq(d.congestion.value[FAB_CONGESTION_TIMER], FAB_CONGESTION_AUTO);
    ck_assert_uint_eq(d.congestion.table_count, 2);
    ck_assert_str_eq(fab_policy_node_names_find(d.names, UINT64_C(0x0002c90300000002)), "leaf 1");
    ck_assert_str_eq(d.isolation[0].link, "leaf-1/5");
    ck_assert_uint_eq(d.approval[0].port, 1);
    /* names and GUIDs in the policy that must exist in the fabric */
    ck_assert_uint_eq(d.refs, 6);
    fab_policy_declared_fini(&d);
}
END_TEST

/* With `unknown_guids: yes`, a partition may list GUIDs that are not in the fabric, so the manager
 * does not look for them. It does look for the names in this partition, and for GUIDs in other
 * partitions. */
START_TEST(guids_may_be_unknown)
{
    struct fab_declared d;
    must_read(
        "partitions:\n"
        "  - {name: a, pkey: 1, unknown_guids: yes, full: [0x21, '0x22'], limited: [node-1]}\n"
        "  - {name: b, pkey: 2, full: [0x23]}\n"
        "  - {name: c, pkey: 3, unknown_guids: no, full: [0x24]}\n",
        &d);
    ck_assert_uint_eq(d.refs, 3);
    ck_assert_int_eq(d.ref[0].what, FAB_DECLARED_NODE);
    ck_assert_uint_eq(d.ref[1].guid, 0x23);
    ck_assert_uint_eq(d.ref[2].guid, 0x24);
    /* 2 built-in rules, and 1 rule for each of the 5 members */
    ck_assert_uint_eq(d.partitions->rules, 7);
    fab_policy_declared_fini(&d);
}
END_TEST

START_TEST(a_section_replaces_only_itself)
{
    struct fab_policy p;
    struct fab_declared d;
    fab_policy_defaults(&p);
    p.congestion.key = 17;
    p.congestion.fan_in = 5;
    ck_assert_int_eq(fab_policy_partitions_unrestricted(&p.partitions), FAB_OK);
    const struct fab_partitions *old = p.partitions;
    must_read("congestion: {profile: 'off'}\n", &d);
    fab_policy_declared_apply(&d, &p);
    ck_assert_ptr_eq(p.partitions, old);
    ck_assert_uint_eq(p.congestion.key, 17);
    ck_assert_uint_eq(p.congestion.fan_in, 0);
    ck_assert_uint_eq(p.congestion.profile, FAB_CONGESTION_OFF);
    fab_policy_declared_fini(&d);
    must_read("partitions: []\nclasses: []\n", &d);
    fab_policy_declared_apply(&d, &p);
    ck_assert_uint_eq(p.partitions->partitions, 1);
    ck_assert_ptr_null(p.classes);
    fab_policy_declared_fini(&d);
    must_read("# nothing\n", &d);
    for (int i = 0; i < FAB_DECLARED_SECTIONS; i++)
        ck_assert(!d.has[i]);
    fab_policy_declared_fini(&d);
    fab_policy_fini(&p);
}
END_TEST

START_TEST(files_and_documents_are_joined)
{
#define FILE_OF(name, text)                                                                        \
    {                                                                                              \
        name, text, sizeof(text) - 1                                                               \
    }
    static const struct document_file files[] = {
        FILE_OF("a.yaml", "partitions: [{name: a, pkey: 1}]\n"
                          "---\n"
                          "partitions: [{name: b, pkey: 2}]\n"),
        FILE_OF("b.yaml", "--- # only comments\n"),
        FILE_OF("c.yaml", "classes: [{name: c, match: [partition=b]}]"),
    };
    static const struct document_file other = FILE_OF("d.yaml", "partitions: [{name: a, pkey: 3}]");
    struct fab_declared d;
    char why[600];
    ck_assert_msg(read_files(files, 3, &d, why, sizeof why) == FAB_OK, "%s", why);
    ck_assert_uint_eq(d.partitions->partitions, 3);
    ck_assert_uint_eq(d.classes->count, 2);
    fab_policy_declared_fini(&d);
    const struct document_file twice[] = {files[0], other};
    ck_assert_int_eq(read_files(twice, 2, &d, why, sizeof why), FAB_E_EXISTS);
    ck_assert_str_eq(why, "d.yaml:1:21: partitions[0] has the name of the partition \"a\" (0x1), "
                          "expected another one");
}
END_TEST

START_TEST(errors_name_their_place)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"partition: []", "p.yaml:1:1: has the unknown key 'partition', expected partitions"},
        {"- a", "p.yaml:1:1: the document is no mapping"},
        {"partitions: {}", "p.yaml:1:13: partitions is a mapping, expected a list of mappings"},
        {"partitions:\n", "partitions is empty, expected a list of mappings; [] is an empty one"},
        {"partitions: [{name: a}]", "p.yaml:1:14: partitions[0] has no key pkey"},
        {"partitions: [{name: a, pkey: 0}]", "pkey is '0', expected a number from 1 to 65535"},
        {"partitions: [{name: a, pkey: 0x8000}]", "has the P_Key 0x8000"},
        {"partitions: [{name: a, pkey: '1'}]", "pkey is '1', expected a number"},
        {"partitions: [{name: a, pkey: 010}]", "pkey is '010', expected a number"},
        {"partitions: [{name: 17, pkey: 1}]", "name is '17', expected a text; put it in quotes"},
        {"partitions: [{name: yes, pkey: 1}]", "name is 'yes', expected a text; put it in quotes"},
        {"partitions: [{name: a, pkey: 1, ipoib: 1}]", "ipoib is '1', expected yes or no"},
        {"partitions: [{name: a, pkey: 1, full: ['@g']}]", "names the group 'g'"},
        {"partitions: [{name: a, pkey: 1, full: [{}]}]", "full is a mapping, expected a text"},
        {"partitions: [{name: a, pkey: 1, full: ['a\"b']}]", "has a quotation mark"},
        {"partitions: [{name: a, pkey: 1}, {name: b, pkey: 0x8001}]", "the P_Key of the partition"},
        {"partitions: []\npartitions: []", "p.yaml:2:1: the key 'partitions' is here a second"},
        {"groups: [{name: g, members: []}]", "groups has no effect without partitions"},
        {"partitions: []\ngroups: [{name: g, members: ['@g']}]", "is the group 'g'"},
        {"classes: [{name: a, share: 101}]", "share is '101', expected a number from 1 to 100"},
        {"classes: [{name: a, priority: highest}]", "expected one of the words: low high"},
        {"classes: [{name: a, mtu_limit: 1500}]", "is no MTU"},
        {"classes: [{name: a, match: [to]}]", "'to' has no value"},
        {"classes: [{name: a, share: 60}, {name: b, share: 60}]", "add up to 120 percent"},
        {"partitions: []\nclasses: [{name: a, match: [partition=x]}]", "names the partition 'x'"},
        {"congestion: {profile: fast}", "expected one of the words: off balanced incast"},
        {"congestion: {threshold: 16}", "expected a number from 0 to 15, or auto"},
        {"congestion: {table: [3, 0]}", "shorter delay at index 1"},
        {"congestion: {cc_key: 1}", "has the unknown key 'cc_key'"},
        {"congestion: {}\n---\ncongestion: {}", "congestion is in two documents"},
        {"names: [{guid: '1', name: a}]", "guid is '1', expected a GUID"},
        {"names: [{guid: 0x1, name: a}, {guid: 0x1, name: b}]", "has a name already"},
        {"isolation: [{link: leaf-1}]", "expected NODE/PORT"},
        {"isolation: [{link: leaf-1/0}]", "expected NODE/PORT"},
        {"isolation: [{link: leaf-1/5, reason: \"a\\nb\"}]", "without control characters"},
        {"approvals: [{node: 0x1, at: l/1}]", "has no key port_guid"},
        {"approvals: [{node: 0x1, port_guid: 0x2, at: l/1}, {node: 0x1, port_guid: 0x2, at: l/2}]",
         "has an approval already"},
        {"partitions: &a []\nclasses: *a", "p.yaml:1:13: an anchor or a tag"},
        {"partitions: !x []", "an anchor or a tag"},
        {"partitions: [", "p.yaml:"},
        {"? {a: b}\n: c", "a key is no word"},
        {"a: [[[[[[[[[[[]]]]]]]]]]]", "too many levels"},
        {"\xff\xfe", "expected YAML in UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fab_declared d;
        char why[600] = "";
        ck_assert_msg(read_text(bad[i].text, &d, why, sizeof why) != FAB_OK, "%s", bad[i].text);
        ck_assert_msg(strstr(why, bad[i].message) != NULL, "%s: %s", bad[i].text, why);
    }
}
END_TEST

START_TEST(sizes_are_limited)
{
    struct fab_text keys = {0}, groups = {0};
    struct fab_declared d;
    char why[600];
    for (int i = 0; i < 65; i++)
        fab_base_text_addf(&keys, "k%d: 1\n", i);
    fab_base_text_add(&groups, "partitions: []\ngroups:\n");
    for (int i = 0; i < FAB_DECLARED_GROUPS_MAX + 1; i++)
        fab_base_text_addf(&groups, "  - {name: g%d, members: []}\n", i);
    ck_assert_int_eq(read_text(keys.s, &d, why, sizeof why), FAB_E_FORMAT);
    ck_assert_str_eq(why, "p.yaml:65:1: too many keys, expected at most 64");
    ck_assert_int_eq(read_text(groups.s, &d, why, sizeof why), FAB_E_LIMIT);
    ck_assert_msg(strstr(why, "groups[256] is one group too many") != NULL, "%s", why);
    fab_base_text_fini(&keys);
    fab_base_text_fini(&groups);
}
END_TEST

struct found {
    char text[2000];
};

static void note(void *ctx, const struct fab_policy_change *c)
{
    struct found *f = ctx;
    size_t used = strlen(f->text);
    snprintf(f->text + used, sizeof f->text - used, "%s: %s -> %s\n", c->path,
             c->before != NULL ? c->before : "", c->after != NULL ? c->after : "");
}

static void lines_of(const char *text, struct fab_text *to)
{
    struct fab_policy p;
    struct fab_declared d;
    fab_policy_defaults(&p);
    must_read(text, &d);
    fab_policy_declared_apply(&d, &p);
    fab_policy_lines(&p, to);
    fab_policy_lines_decisions(&d, to);
    fab_policy_declared_fini(&d);
    fab_policy_fini(&p);
}

START_TEST(differences_are_found)
{
    struct fab_text before = {0}, after = {0}, same = {0};
    struct found f = {""}, none = {""};
    lines_of("partitions: [{name: a, pkey: 1, full: [h1, h2]}]\n"
             "isolation: [{link: l/1}]\n",
             &before);
    lines_of("partitions: [{name: a, pkey: 2, full: [h2], limited: [h3]}]\n"
             "congestion: {fan_in: 9}\n",
             &after);
    ck_assert_int_eq(fab_policy_lines_compare(before.s, after.s, note, &f), FAB_OK);
    ck_assert_str_eq(f.text, "congestion.fan_in: 0 -> 9\n"
                             "isolation.l/1: isolated -> \n"
                             "partitions.a: pkey 0x1, rate 3, mtu 4, sl 0 -> pkey 0x2, rate 3, mtu "
                             "4, sl 0\n"
                             "partitions.a.h1: full member -> \n"
                             "partitions.a.h3:  -> limited member\n");
    lines_of(example, &same);
    ck_assert_int_eq(fab_policy_lines_compare(same.s, same.s, note, &none), FAB_OK);
    ck_assert_str_eq(none.text, "");
    fab_base_text_fini(&before);
    fab_base_text_fini(&after);
    fab_base_text_fini(&same);
}
END_TEST

static int read_example(void)
{
    struct fab_declared d;
    char why[600];
    int rc = read_text(example, &d, why, sizeof why);
    if (rc == FAB_OK)
        fab_policy_declared_fini(&d);
    return rc;
}

START_TEST(memory_may_run_out)
{
    ck_assert_uint_gt(fail_each_allocation(read_example, FAB_E_NOMEM), 30);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("declared");
    TCase *t = tcase_create("declared");
    tcase_add_test(t, every_section_is_read);
    tcase_add_test(t, guids_may_be_unknown);
    tcase_add_test(t, a_section_replaces_only_itself);
    tcase_add_test(t, files_and_documents_are_joined);
    tcase_add_test(t, errors_name_their_place);
    tcase_add_test(t, sizes_are_limited);
    tcase_add_test(t, differences_are_found);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    return test_run(s);
}
