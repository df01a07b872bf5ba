/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of locations, and how adapters are grouped to hosts, rails and racks. */
#include "libfabmgr/hosts/hosts.h"

#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

/* ---- the file of locations ----------------------------------------------------------------------
 */

static struct fab_locations *read_locations(const char *text)
{
    struct fab_locations *p = NULL;
    struct fab_locations_error e = {0};
    int rc = fab_policy_locations_read(text, strlen(text), &p, &e);
    ck_assert_msg(rc == FAB_OK, "line %u: %s", e.line, e.message);
    return p;
}

/* Checks the location of a node by the file, written as "host/rack/row/slot". */
static void check_location(const struct fab_locations *p, uint64_t guid, const char *desc,
                           const char *expected)
{
    const struct fab_location *at = fab_policy_locations_find(p, guid, desc);
    char text[200];
    snprintf(text, sizeof text, "%s/%s/%s/%s", at->host, at->rack, at->row, at->slot);
    ck_assert_msg(strcmp(text, expected) == 0, "%s: \"%s\", expected \"%s\"", desc, text, expected);
}

START_TEST(locations_are_found_by_guid_name_word_and_pattern)
{
    struct fab_locations *p = read_locations("\xef\xbb\xbf# from the DCIM\r\n"
                                             "slot, RACK ,unused,name,host,row\r\n"
                                             "1,A1,x,\"node-[001-002,7]\",,r1\r\n"
                                             "\r\n"
                                             "2,A2,x,0x0002c90300000010,big,r1\n"
                                             "3,A3,x,node-002 mlx5_1,,r1\n"
                                             "4,A4,x,node-*,,r1\n"
                                             "5,A5,x,nod?-9,,r1\n"
                                             "6,A6,x,leaf-03\n"
                                             "7,,x,*,,");
    check_location(p, 1, "node-001", "/A1/r1/1");
    check_location(p, 1, "node-002 mlx5_0", "/A1/r1/1");
    check_location(p, 1, "node-7/mlx5_0", "/A1/r1/1");
    check_location(p, 1, "node-002 mlx5_1", "/A3/r1/3");
    check_location(p, 0x0002c90300000010, "node-001", "big/A2/r1/2");
    check_location(p, 1, "node-9 mlx5_0", "/A4/r1/4");
    check_location(p, 1, "nodX-9", "/A5/r1/5");
    check_location(p, 1, "leaf-03", "/A6//6");
    check_location(p, 1, "MF0;leaf-03:MQM8700/U1", "/A6//6");
    check_location(p, 1, "", "///7");
    check_location(NULL, 1, "node-001", "///");
    ck_assert_ptr_eq(fab_policy_locations_ref(p), p);
    fab_policy_locations_unref(p);
    check_location(p, 1, "node-001", "/A1/r1/1");
    fab_policy_locations_unref(p);
    p = read_locations("");
    check_location(p, 1, "node-001", "///");
    fab_policy_locations_unref(p);
}
END_TEST

START_TEST(wrong_files_of_locations_are_refused_with_their_line)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *message; /* how the error message must begin */
    } cases[] = {
        {"node-1,A1\n", 1, "expected a row with the names of the columns"},
        {"# x\nname,location\n", 2, "expected a row with the names of the columns"},
        {"host,rack\n", 1, "expected a row with the names of the columns"},
        {"name,rack\n,A1\n", 2, "expected the name of a node"},
        {"name,rack\n\nn1,\"A1\n", 3, "expected a closing quote"},
        {"name,rack\nn1,\"A1\" x\n", 2, "expected a comma"},
        {"name,rack\nn1,A\nn2,A\nn1,B\n", 4, "\"n1\" is also in line 2"},
        {"name,rack\nn[1-3],A\nn2,A\n", 3, "\"n2\" is also in line 2"},
        {"name,rack,row\nn1,A,1\nn2,B,1\nn3,A,\nn4,A,2\n", 5,
         "rack \"A\" is in row \"2\", but in line 2 in row \"1\"; each rack needs a name of its "
         "own"},
        {"name,rack\n0x10,A\n0x0010,A\n", 3, "\"0x"},
        {"name,rack\nn[0-999999999],A\n", 2, "the file has more than 400,000 names"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fab_locations *p = NULL;
        struct fab_locations_error e = {0};
        int rc = fab_policy_locations_read(cases[i].text, strlen(cases[i].text), &p, &e);
        ck_assert_int_eq(rc, FAB_E_FORMAT);
        ck_assert_ptr_null(p);
        ck_assert_msg(e.line == cases[i].line &&
                          strncmp(e.message, cases[i].message, strlen(cases[i].message)) == 0,
                      "case %zu: line %u: %s", i, e.line, e.message);
    }
}
END_TEST

START_TEST(long_fields_and_many_columns_are_refused)
{
    char text[1000] = "name,rack\n";
    struct fab_locations *p = NULL;
    struct fab_locations_error e = {0};
    memset(text + 10, 'x', 256);
    ck_assert_int_eq(fab_policy_locations_read(text, 265, &p, &e), FAB_OK);
    fab_policy_locations_unref(p);
    ck_assert_int_eq(fab_policy_locations_read(text, 266, &p, &e), FAB_E_FORMAT);
    ck_assert_str_eq(e.message, "a field is longer than 255 characters");
    memset(text + 10, ',', 64);
    ck_assert_int_eq(fab_policy_locations_read(text, 74, &p, &e), FAB_E_FORMAT);
    ck_assert_str_eq(e.message, "more than 64 columns");
    ck_assert_uint_eq(e.line, 2);
}
END_TEST

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Makes a fabric of 6 adapters at one switch. desc[i]: NodeDescription of adapter i. system[i]: its
 * system image GUID; 0: a GUID that no other adapter has. */
static struct fab_fabric *make_fabric(const char *const desc[6], const uint64_t system[6])
{
    const struct fab_leaf_spine_spec spec = {.leaves = 1, .hosts_per_leaf = 6, .parallel = 1};
    struct fab_builder *b;
    struct fab_fabric *f, *ret;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_fabric_clone(f, &ret), FAB_OK);
    ck_assert_uint_eq(ret->node_count, ret->switch_count + 6);
    for (uint32_t i = 0; i < 6; i++) {
        struct fab_node *n = &ret->nodes[ret->switch_count + i];
        snprintf(n->desc, sizeof n->desc, "%s", desc[i]);
        fab_fabric_set_name(ret, ret->switch_count + i, NULL);
        n->guid = n->info.node_guid = 0x10 + i;
        n->info.system_guid = system[i] != 0 ? system[i] : 0x100 + i;
    }
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    return ret;
}

/* Checks how adapters are grouped to hosts. The expected hosts are written as
 * "host:adapter@rail,adapter@rail host:...". */
static void check_hosts(const char *const desc[6], const uint64_t system[6], const char *locations,
                        const char *expected)
{
    struct fab_fabric *f = make_fabric(desc, system);
    struct fab_locations *p = locations != NULL ? read_locations(locations) : NULL;
    struct fab_hosts h;
    char text[500] = "";
    ck_assert_int_eq(fab_hosts_find(f, p, &h), FAB_OK);
    for (uint32_t i = 0; i < h.count; i++) {
        size_t len = strlen(text);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s:", i > 0 ? " " : "",
                                h.hosts[i].name);
        for (uint32_t k = 0; k < h.hosts[i].count; k++) {
            const struct fab_host_adapter *a = &h.adapters[h.hosts[i].first + k];
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s@%" PRIu32,
                                    k > 0 ? "," : "", a->name, a->rail);
            ck_assert_uint_eq(h.host_of[a->node], i);
        }
        ck_assert_uint_eq(fab_hosts_by_name(&h, h.hosts[i].name), i);
    }
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(h.adapter_count, 6);
    ck_assert_uint_eq(h.host_of[0], FAB_NONE);
    ck_assert_uint_eq(fab_hosts_by_name(&h, "nobody"), FAB_NONE);
    fab_hosts_fini(&h);
    fab_policy_locations_unref(p);
    fab_fabric_unref(f);
}

START_TEST(the_first_word_names_the_host)
{
    static const uint64_t own[6];
    static const char *const hosts[6] = {"n10 mlx5_0", "n2 mlx5_10", "n2/mlx5_9",
                                         "n2  mlx5_0", "n10 mlx5_9", "login"};
    check_hosts(hosts, own, NULL, "login:@0 n2:mlx5_0@1,mlx5_9@2,mlx5_10@3 n10:mlx5_0@1,mlx5_9@2");
    static const char *const lost[6] = {"a mlx5_0", "a mlx5_1", "a mlx5_2",
                                        "b mlx5_0", "b mlx5_2", "c mlx5_1"};
    check_hosts(lost, own, NULL, "a:mlx5_0@1,mlx5_1@2,mlx5_2@3 b:mlx5_0@1,mlx5_2@3 c:mlx5_1@2");
}
END_TEST

START_TEST(default_texts_of_vendors_name_no_host)
{
    static const uint64_t systems[6] = {0, 7, 7, 0, 0, 0};
    static const char *const desc[6] = {
        "MT4123 ConnectX6", "MT4123 ConnectX6", "MT4123 ConnectX6", "", "n1 HCA-1", ""};
    check_hosts(desc, systems, NULL,
                "0x0000000000000010:ConnectX6@1 0x0000000000000011:ConnectX6@1,ConnectX6@2 "
                "0x0000000000000013:@0 0x0000000000000015:@0 n1:HCA-1@0");
}
END_TEST

START_TEST(the_operator_names_hosts)
{
    static const uint64_t own[6];
    static const char *const desc[6] = {"MT4123 ConnectX6", "MT4123 ConnectX6", "n1 HCA-1",
                                        "n1 HCA-2",         "n2 HCA-1",         "n3 HCA-1"};
    check_hosts(desc, own, "name,host\n0x10,big\n0x11,big\nn2,n1\n",
                "big:ConnectX6@1,ConnectX6@2 n1:HCA-1@1,HCA-1@2,HCA-2@3 n3:HCA-1@1");
}
END_TEST

START_TEST(at_most_16_adapters_share_a_first_word)
{
    for (uint32_t adapters = 16; adapters <= 17; adapters++) {
        const struct fab_rail_spec spec = {
            .servers = 3, .adapters = adapters, .group_size = 3, .spines = 1, .parallel = 1};
        struct fab_builder *b;
        struct fab_fabric *f;
        struct fab_hosts h;
        ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
        ck_assert_int_eq(fab_hosts_find(f, NULL, &h), FAB_OK);
        ck_assert_uint_eq(h.count, adapters == 16 ? 3 : 3 * 17);
        ck_assert_uint_eq(h.rails, adapters == 16 ? 16 : 0);
        fab_hosts_fini(&h);
        fab_fabric_unref(f);
        fab_fabric_builder_free(b);
    }
}
END_TEST

/* If all adapters at a leaf belong to one rail (a rail-optimised cluster), each adapter must be in
 * the rail of its leaf. */
/* The hosts fit another snapshot with the same nodes, and no other. */
START_TEST(hosts_fit_as_long_as_the_nodes_are_the_same)
{
    static const uint64_t own[6];
    static const char *const desc[6] = {"a 0", "a 1", "b 0", "b 1", "c 0", "c 1"};
    struct fab_fabric *f = make_fabric(desc, own), *next;
    struct fab_hosts h;
    ck_assert_int_eq(fab_hosts_find(f, NULL, &h), FAB_OK);
    for (int change = 0; change < 8; change++) {
        ck_assert_int_eq(fab_fabric_clone(f, &next), FAB_OK);
        ck_assert(fab_hosts_fit(&h, next));
        struct fab_node *n = &next->nodes[next->switch_count + 5];
        switch (change) {
        case 0:
            ck_assert_int_eq(fab_fabric_remove_link(next, n->first_port + 1), FAB_OK);
            break;
        case 1:
            n->guid++;
            break;
        case 2:
            n->info.system_guid++;
            break;
        case 3:
            n->type = FAB_NODE_ROUTER;
            break;
        case 4:
            n->aggregation = true;
            break;
        case 5:
            fab_fabric_set_name(next, next->switch_count + 5, "c 2");
            break;
        case 6:
            n->desc[2] = '2';
            break;
        default:
            next->node_count--;
        }
        ck_assert_msg(fab_hosts_fit(&h, next) == (change == 0), "change %d", change);
        next->node_count = f->node_count;
        fab_fabric_unref(next);
    }
    fab_hosts_fini(&h);
    ck_assert(!fab_hosts_fit(&h, f));
    fab_fabric_unref(f);
}
END_TEST

START_TEST(rails_are_those_of_the_cluster)
{
    const struct fab_rail_spec spec = {
        .servers = 40, .adapters = 8, .group_size = 10, .spines = 4, .parallel = 1};
    struct fab_builder *b;
    struct fab_fabric *f;
    struct fab_hosts h;
    ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    ck_assert_int_eq(fab_hosts_find(f, NULL, &h), FAB_OK);
    ck_assert_uint_eq(h.count, 40);
    ck_assert_uint_eq(h.rails, 8);
    for (uint32_t i = 0; i < h.adapter_count; i++) {
        uint32_t leaf = fab_fabric_peer_node(f, f->nodes[h.adapters[i].node].first_port + 1);
        unsigned group, rail;
        ck_assert_int_eq(sscanf(f->nodes[leaf].desc, "su%u-leaf-%u", &group, &rail), 2);
        ck_assert_uint_eq(h.adapters[i].rail, rail);
    }
    fab_hosts_fini(&h);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
}
END_TEST

START_TEST(racks_are_counted)
{
    static const char *const desc[6] = {"n1 a", "n1 b", "n2 a", "n2 b", "n3 a", "n4 a"};
    static const uint64_t own[6];
    struct fab_fabric *f = make_fabric(desc, own);
    struct fab_locations *p =
        read_locations("name,rack,row\n*,R10,\nn[1-2],R2,row-2\nn3,R10,row-1\n"
                       "n4,,row-9\n");
    struct fab_hosts h;
    struct fab_rack *racks;
    uint32_t count;
    ck_assert_int_eq(fab_hosts_find(f, p, &h), FAB_OK);
    ck_assert_int_eq(fab_hosts_racks(f, p, &h, &racks, &count), FAB_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(racks[0].name, "R2");
    ck_assert_str_eq(racks[0].row, "row-2");
    ck_assert_uint_eq(racks[0].switches, 0);
    ck_assert_uint_eq(racks[0].hosts, 2);
    ck_assert_uint_eq(racks[0].adapters, 4);
    ck_assert_str_eq(racks[1].name, "R10");
    ck_assert_str_eq(racks[1].row, "row-1");
    ck_assert_uint_eq(racks[1].switches, 1);
    ck_assert_uint_eq(racks[1].hosts, 1);
    ck_assert_uint_eq(racks[1].adapters, 1);
    free(racks);
    fab_hosts_fini(&h);
    fab_policy_locations_unref(p);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hosts");
    TCase *tc = tcase_create("hosts");
    tcase_add_test(tc, locations_are_found_by_guid_name_word_and_pattern);
    tcase_add_test(tc, wrong_files_of_locations_are_refused_with_their_line);
    tcase_add_test(tc, long_fields_and_many_columns_are_refused);
    tcase_add_test(tc, the_first_word_names_the_host);
    tcase_add_test(tc, default_texts_of_vendors_name_no_host);
    tcase_add_test(tc, the_operator_names_hosts);
    tcase_add_test(tc, at_most_16_adapters_share_a_first_word);
    tcase_add_test(tc, hosts_fit_as_long_as_the_nodes_are_the_same);
    tcase_add_test(tc, rails_are_those_of_the_cluster);
    tcase_add_test(tc, racks_are_counted);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
