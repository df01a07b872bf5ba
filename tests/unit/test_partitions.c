/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file partitions.conf. The examples in OpenSM's manual must have the same meaning here. Each
 * error must have its line and column. Lines that OpenSM ignores must be ignored, with a note.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/gid.h"
#include "libfabmgr/policy/partitions.h"
#include "tests/unit/testing.h"

static struct fab_partitions *read_text(const char *text)
{
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {0};
    int status = fab_policy_partitions_read(text, strlen(text), &p, &e);
    ck_assert_msg(status == FAB_OK, "status %d at %u:%u: %s", status, e.line, e.column, e.message);
    return p;
}

static const struct fab_partition_rule *last_rule(const struct fab_partitions *p)
{
    return &p->rule[p->rules - 1];
}

START_TEST(an_empty_text_has_the_default_partition)
{
    struct fab_partitions *p = read_text("# nothing\n");
    ck_assert_uint_eq(p->partitions, 1);
    ck_assert_uint_eq(p->partition[0].pkey, 0x7fff);
    ck_assert_str_eq(p->partition[0].name, "Default");
    ck_assert(!p->partition[0].ipoib);
    ck_assert_uint_eq(p->rules, 2);
    ck_assert_int_eq(p->rule[0].who.kind, FAB_SELECT_ALL);
    ck_assert_int_eq(p->rule[0].membership, FAB_MEMBER_LIMITED);
    ck_assert_int_eq(p->rule[1].who.kind, FAB_SELECT_SELF);
    ck_assert_int_eq(p->rule[1].membership, FAB_MEMBER_FULL);
    ck_assert_uint_eq(p->mgroups, 0);
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(without_a_text_all_are_full_members)
{
    struct fab_partitions *p = NULL;
    ck_assert_int_eq(fab_policy_partitions_unrestricted(&p), FAB_OK);
    ck_assert_int_eq(p->rule[0].membership, FAB_MEMBER_FULL);
    ck_assert_uint_eq(p->mgroups, 1);
    static const uint8_t broadcast[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0,    0,
                                          0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff};
    ck_assert_mem_eq(p->mgroup[0].mgid, broadcast, 16);
    ck_assert_uint_eq(p->mgroup[0].q_key, 0xb1b);
    ck_assert_uint_eq(p->mgroup[0].rate, 3);
    ck_assert_uint_eq(p->mgroup[0].mtu, 4);
    fab_policy_partitions_unref(p);
}
END_TEST

/* the second example in OpenSM's manual */
START_TEST(members_are_rules_in_their_order)
{
    struct fab_partitions *p =
        read_text(" NewPartition , ipoib : 0x123456=full, 0x3456789034=limi, 0x2134af2306 ;\n"
                  " YetAnotherOne = 0x300 : SELF=full ;\n"
                  " YetAnotherOne = 0x300 : ALL=limited ;");
    ck_assert_uint_eq(p->partitions, 3);
    ck_assert_str_eq(p->partition[1].name, "NewPartition");
    /* the line gives no P_Key, so the partition gets the lowest free one */
    ck_assert_uint_eq(p->partition[1].pkey, 1);
    ck_assert(p->partition[1].ipoib);
    ck_assert_uint_eq(p->partition[2].pkey, 0x300);
    ck_assert_uint_eq(p->partition[2].line, 2);
    ck_assert_uint_eq(p->rules, 2 + 5);
    ck_assert_uint_eq(p->rule[2].who.guid, 0x123456);
    ck_assert_int_eq(p->rule[2].membership, FAB_MEMBER_FULL);
    ck_assert_int_eq(p->rule[3].membership, FAB_MEMBER_LIMITED);
    ck_assert_int_eq(p->rule[4].membership, FAB_MEMBER_LIMITED);
    ck_assert_uint_eq(p->rule[5].partition, 2);
    ck_assert_uint_eq(p->rule[6].partition, 2);
    ck_assert_uint_eq(p->notes, 0);
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(the_default_membership_is_of_one_definition)
{
    struct fab_partitions *p = read_text("ShareIO = 0x80 , defmember=full : 0x1, 0x2=limited;\n"
                                         "ShareIO = 0x80 : 0x3, 0x4=full;\n"
                                         "ShareIO = 0x80, defmember=both, indx0 : 0x5;\n");
    static const enum fab_membership is[] = {FAB_MEMBER_FULL, FAB_MEMBER_LIMITED,
                                             FAB_MEMBER_LIMITED, FAB_MEMBER_FULL, FAB_MEMBER_BOTH};
    ck_assert_uint_eq(p->partitions, 2);
    ck_assert_uint_eq(p->rules, 2 + 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(p->rule[2 + i].membership, is[i]);
        ck_assert_int_eq(p->rule[2 + i].index0, i == 4);
    }
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(p_keys_have_fifteen_bits)
{
    struct fab_partitions *p = read_text("a=0x8011:ALL;\n0x12:ALL;\nb=17:ALL;b:ALL;c=0:ALL;");
    ck_assert_uint_eq(p->partitions, 5);
    /* a=0x8011 and b=17 give the same partition, because bit 15 does not count */
    ck_assert_uint_eq(p->partition[1].pkey, 0x11);
    ck_assert_str_eq(p->partition[1].name, "a");
    ck_assert_uint_eq(p->partition[2].pkey, 0x12);
    ck_assert_str_eq(p->partition[2].name, "");
    /* The partition 0x11 kept the name "a", so "b:" is a new partition, and so is "c=0:". They get
     * the free P_Keys 1 and 2. */
    ck_assert_uint_eq(p->partition[3].pkey, 1);
    ck_assert_uint_eq(p->partition[4].pkey, 2);
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(multicast_groups_of_the_manual)
{
    struct fab_partitions *p =
        read_text("Default=0x7fff,ipoib:\n"
                  "        mgid=ff12:401b::0707,sl=1 # random IPv4 group\n"
                  "        mgid=ff12:601b::16    # MLDv2-capable routers\n"
                  "        mgid=ff12:401b::16    # IGMP\n"
                  "        mgid=ff12:601b::2     # All routers\n"
                  "        mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2 # random group\n"
                  "        ALL=full;\n");
    ck_assert_uint_eq(p->mgroups, 6);
    static const uint8_t ipv4[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [14] = 0x07, 0x07};
    ck_assert_mem_eq(p->mgroup[1].mgid, ipv4, 16);
    ck_assert_uint_eq(p->mgroup[1].sl, 1);
    ck_assert_uint_eq(p->mgroup[1].q_key, 0xb1b);
    ck_assert_uint_eq(p->mgroup[5].q_key, 0xdeadbeef);
    ck_assert_uint_eq(p->mgroup[5].mtu, 2);
    ck_assert_uint_eq(p->mgroup[5].scope, 2);
    ck_assert_int_eq(last_rule(p)->who.kind, FAB_SELECT_ALL);
    ck_assert_int_eq(last_rule(p)->membership, FAB_MEMBER_FULL);
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(each_scope_is_a_group)
{
    struct fab_partitions *p = read_text("jobs=0x11, ipoib, scope=2, scope=5, mtu=5, rate=7 : ALL;"
                                         "more=0x12: mgid=ff12::7, scope=14; ");
    ck_assert_uint_eq(p->mgroups, 3);
    ck_assert_uint_eq(p->mgroup[0].mgid[1], 0x12);
    ck_assert_uint_eq(p->mgroup[1].mgid[1], 0x15);
    ck_assert_uint_eq(p->mgroup[1].mgid[4], 0x80);
    ck_assert_uint_eq(p->mgroup[1].mgid[5], 0x11);
    ck_assert_uint_eq(p->mgroup[1].mtu, 5);
    ck_assert_uint_eq(p->mgroup[2].mgid[1], 0x1e);
    ck_assert_uint_eq(p->mgroup[2].partition, 2);
    fab_policy_partitions_unref(p);
}
END_TEST

START_TEST(ours_are_patterns_and_groups)
{
    struct fab_partitions *p = read_text("@storage: \"stor-*\", 0x21\n 0x22;\n"
                                         "jobs=0x11: \"node-0?, HCA-1\"=full, @storage=both;");
    ck_assert_uint_eq(p->groups, 1);
    ck_assert_str_eq(p->group[0].name, "storage");
    ck_assert_uint_eq(p->group[0].count, 3);
    ck_assert_str_eq(p->group[0].member[0].name, "stor-*");
    ck_assert_uint_eq(p->group[0].member[2].guid, 0x22);
    ck_assert_int_eq(p->rule[2].who.kind, FAB_SELECT_NAME);
    ck_assert_str_eq(p->rule[2].who.name, "node-0?, HCA-1");
    ck_assert_int_eq(p->rule[3].who.kind, FAB_SELECT_GROUP);
    ck_assert_uint_eq(p->rule[3].who.group, 0);
    fab_policy_partitions_unref(p);
}
END_TEST

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message; /* the beginning of the message */
} mistakes[] = {
    {"jobs=0x11", 1, 10, "expected ':' and members"},
    {"\n jobs=0x11\n: ALL;", 2, 11, "expected ':' and members"},
    {"jobs=0x11: ALL=full;\nx=0x1z: ALL;", 2, 3, "the P_Key is \"0x1z\""},
    {"x=0x10000: ALL;", 1, 3, "the P_Key is \"0x10000\""},
    {"x=1: 0x12, host;", 1, 12, "the member is \"host\""},
    {"x=1: 0;", 1, 6, "the member is \"0\""},
    {"x=1: 0x10000000000000000;", 1, 6, "the member is"},
    {"x=1: \"a;\n", 1, 6, "unterminated quotation mark"},
    {"x=1: \"a\" 5;", 1, 10, "expected ',' or ';'"},
    {"x=1: @g;\n@g: ALL;", 1, 6, "the port group \"g\" is not defined before"},
    {"@g: ALL;\n@g: ALL;", 2, 1, "the port group \"g\" is defined twice"},
    {"@a: ALL;\n@b: 1, @a;", 2, 8, "a port group within a port group"},
    {"@: ALL;", 1, 1, "a port group without a name"},
    {"@a: mgid=ff12::1;", 1, 10, "a multicast group within a port group"},
    {"@a: mgid;", 1, 5, "a multicast group within a port group"},
};

START_TEST(mistakes_have_their_place)
{
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        struct fab_partitions *p = NULL;
        struct fab_partitions_error e = {0};
        const char *text = mistakes[i].text;
        ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &p, &e), FAB_E_FORMAT);
        ck_assert_ptr_null(p);
        ck_assert_msg(e.line == mistakes[i].line && e.column == mistakes[i].column &&
                          strncmp(e.message, mistakes[i].message, strlen(mistakes[i].message)) == 0,
                      "%s: %u:%u: %s", text, e.line, e.column, e.message);
    }
}
END_TEST

START_TEST(a_zero_byte_is_no_text)
{
    static const char text[] = "x=1: ALL;\ny=2: \"host\0 1\";";
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {0};
    ck_assert_int_eq(fab_policy_partitions_read(text, sizeof text - 1, &p, &e), FAB_E_FORMAT);
    ck_assert_ptr_null(p);
    ck_assert_uint_eq(e.line, 2);
    ck_assert_uint_eq(e.column, 6);
    ck_assert_str_eq(e.message, "a zero byte, expected text");
}
END_TEST

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} notes[] = {
    {"x=1, whatever: ALL;", 1, 6, "the flag \"whatever\" is unknown"},
    {"x=1, sl=16: ALL;", 1, 6, "sl is \"16\", expected 0 to 15"},
    {"x=1, ipoib, mtu=big: ALL;", 1, 13, "mtu is \"big\""},
    {"x=1:\n ALL=none;", 2, 6, "the membership is \"none\""},
    {"x=1: mgid=fe80::1;", 1, 11, "\"fe80::1\" is no multicast GID"},
    {"x=1: mgid=ff12:401b:8002::1;", 1, 11, "the group has P_Key 0x8002, its partition 0x8001"},
    {"x=1: mgid=ff12:601b::1, rate=7;", 1, 11, "rate or mtu differ from those of the partition"},
    {"x=1: mgid=ff12::1, nonsense=3;", 1, 20, "the flag \"nonsense\" is unknown"},
};

START_TEST(what_is_ignored_is_noted)
{
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
        struct fab_partitions *p = read_text(notes[i].text);
        const struct fab_partitions_note *n = &p->note[0];
        ck_assert_uint_eq(p->notes, 1);
        ck_assert_msg(n->line == notes[i].line && n->column == notes[i].column &&
                          strncmp(n->message, notes[i].message, strlen(notes[i].message)) == 0,
                      "%s: %u:%u: %s", notes[i].text, n->line, n->column, n->message);
        fab_policy_partitions_unref(p);
    }
}
END_TEST

START_TEST(limits)
{
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e;
    char *text = calloc(FAB_PARTITIONS_TEXT_MAX + 1, 1);
    memset(text, ' ', FAB_PARTITIONS_TEXT_MAX + 1);
    ck_assert_int_eq(fab_policy_partitions_read(text, FAB_PARTITIONS_TEXT_MAX + 1, &p, &e),
                     FAB_E_LIMIT);
    size_t len = 0;
    for (unsigned i = 0; i < 0x7fff; i++) /* 0x7fff lines, one more than there are free P_Keys */
        len += (size_t)sprintf(text + len, ":ALL;\n");
    ck_assert_int_eq(fab_policy_partitions_read(text, len, &p, &e), FAB_E_LIMIT);
    ck_assert_uint_eq(e.line, 0x7fff);
    free(text);
}
END_TEST

static const struct {
    const char *text;
    uint8_t gid[16];
} gids[] = {
    {"::", {0}},
    {"::1", {[15] = 1}},
    {"ff12::", {0xff, 0x12}},
    {"1:2:3:4:5:6:7:8", {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8}},
    {"FF12:401B:ffff::ffff:ffff", {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 255, 255, 255, 255}},
    {"1:2:3:4:5:6::8", {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, [15] = 8}},
};
static const char *const no_gids[] = {
    "",   ":",  "1",       "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", ":::",
    "1:", ":1", "12345::", "g::",           "1:2:3:4:5:6:7:8::", "::1 ",  "1::2:",
};

START_TEST(gids_are_read)
{
    uint8_t gid[16];
    for (size_t i = 0; i < sizeof(gids) / sizeof(*gids); i++) {
        ck_assert_msg(fab_policy_gid_parse(gids[i].text, gid) == FAB_OK, "%s", gids[i].text);
        ck_assert_msg(memcmp(gid, gids[i].gid, 16) == 0, "%s", gids[i].text);
    }
    for (size_t i = 0; i < sizeof(no_gids) / sizeof(*no_gids); i++)
        ck_assert_msg(fab_policy_gid_parse(no_gids[i], gid) == FAB_E_FORMAT, "%s", no_gids[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partitions");
    TCase *c = tcase_create("text");
    tcase_add_test(c, an_empty_text_has_the_default_partition);
    tcase_add_test(c, without_a_text_all_are_full_members);
    tcase_add_test(c, members_are_rules_in_their_order);
    tcase_add_test(c, the_default_membership_is_of_one_definition);
    tcase_add_test(c, p_keys_have_fifteen_bits);
    tcase_add_test(c, multicast_groups_of_the_manual);
    tcase_add_test(c, each_scope_is_a_group);
    tcase_add_test(c, ours_are_patterns_and_groups);
    tcase_add_test(c, mistakes_have_their_place);
    tcase_add_test(c, a_zero_byte_is_no_text);
    tcase_add_test(c, what_is_ignored_is_noted);
    tcase_add_test(c, limits);
    tcase_add_test(c, gids_are_read);
    suite_add_tcase(suite, c);
    return test_run(suite);
}
