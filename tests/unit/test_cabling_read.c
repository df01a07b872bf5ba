/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers of cabling plans: the meaning of each format, the positions of errors, the spellings
 * of names, and how a node of the plan is found in the fabric.
 */
#include "libfabmgr/cabling/compare.h"
#include "libfabmgr/cabling/name.h"
#include "tests/unit/fabrics.h"

#include <string.h>

#include "libfabmgr/base/status.h"

static struct fab_cabling_plan *read_plan(const char *text)
{
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_text_error e = {0};
    int rc = fab_cabling_plan_read(p, text, strlen(text), &e);
    ck_assert_msg(rc == 0, "%u:%u: %s", e.line, e.column, e.message);
    return p;
}

/* Writes the links of a plan, one per line, such as "leaf-1/3 host-1/mlx5_0/1 4x HDR". */
static void describe(const struct fab_cabling_plan *p, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < p->link_count && len < size; i++) {
        const struct fab_cabling_link *l = &p->links[i];
        len += (size_t)snprintf(text + len, size - len, "%s/%u %s/%u", p->nodes[l->node[0]].key,
                                l->port[0], p->nodes[l->node[1]].key, l->port[1]);
        if (l->rate.widths != 0)
            len += (size_t)snprintf(text + len, size - len, " %ux",
                                    fab_wire_best_lanes(l->rate.widths));
        if (l->rate.speeds != 0)
            len += (size_t)snprintf(text + len, size - len, " %s",
                                    fab_wire_best_speed(l->rate.speeds));
        len += (size_t)snprintf(text + len, size - len, "\n");
    }
}

/* ---- formats --------------------------------------------------------------------------------- */

static const struct {
    const char *format, *text, *links;
} plans[] = {
    {"CSV", "node_a,port_a,node_b,port_b\nleaf-1,3,spine-1,P4\n", "leaf-1/3 spine-1/4\n"},
    {"CSV",
     "\n# a plan, by hand\n Port_B , NODE_B,port a,Node A,remark\n\"1\",leaf-2,2,leaf-1,\"x, y\"\n",
     "leaf-1/2 leaf-2/1\n"},
    {"CSV",
     "node_a,port_a,node_b,port_b,rate\nleaf,1,host-1,mlx5_0,4x HDR\nleaf,2,host-1,mlx5_1/2,NDR\n"
     "leaf,3,host-2,host-2 HCA-1,100000\r\nleaf,4,host-3,HCA-1/P2,",
     "leaf/1 host-1/mlx5_0/1 4x HDR\nleaf/2 host-1/mlx5_1/2 NDR\nleaf/3 host-2/hca-1/1 4x EDR\n"
     "leaf/4 host-3/hca-1/2\n"},
    /* the same link from both ends */
    {"CSV", "node_a,port_a,node_b,port_b,rate\na,1,b,2,\nb,2,A,1,1x SDR\n", "a/1 b/2 1x SDR\n"},
    /* NDT files of UFM */
    {"CSV",
     "#StartDevice,StartPort,EndDevice,EndPort,LinkType\n"
     "SAT-20IB0,Port 21,SAT-01IB1-A,Blade 16_Port 2/20,Data\n"
     "SAT-53,SAT-53 ibp11s0f0,SAT-20IB0,Port 1, Data\nSAT-53,BMC,SW,Port 1,Mgmt\n",
     "sat-20ib0/21 sat-01ib1-a/l16/u2/20\nsat-53/ibp11s0f0/1 sat-20ib0/1\n"},
    {"CSV",
     ",rack #,U "
     "height,StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,EndDeviceLocation,"
     "U height,LinkType,Speed,,Cable Length\n"
     "row,X13,U3,host-1,mlx5_0,U3,leaf-1,Port 1,R26,U41,Data,200000,200G HDR cable,40\n",
     "host-1/mlx5_0/1 leaf-1/1 4x HDR\n"},
    {"CSV",
     ",rack #,#Fields:StartDevice,StartPort,EndDevice,EndPort\n,R1,leaf-1,Port 2,spine-1,Blade "
     "1_Port 1/9\n",
     "leaf-1/2 spine-1/l01/u1/9\n"},
    /* only the word "blade" makes a port of a blade */
    {"CSV", "#StartDevice,StartPort,EndDevice,EndPort\nleaf-1,Port 2,host-1,Board 16_Port 2/20\n",
     "leaf-1/2 host-1/board/16_port/2/20\n"},
    {".topo",
     "# a comment, with a comma\n\nMQM8700 leaf-1\n  P1 -4x-50G-> HCA host-1 HCA-1/P1\n"
     "\tP21 -> MQM8700 spine-1 P1 # up\n  P22 -4x-> CS8500 core-1 L16/U2/P20\n\n"
     "MQM8700 spine-1\n  P1 -4x-HDR-> MQM8700 leaf-1 P21\n",
     "leaf-1/1 host-1/hca-1/1 4x HDR\nleaf-1/21 spine-1/1 4x HDR\nleaf-1/22 core-1/l16/u2/20 4x\n"},
    {"ibnetdiscover",
     "#\n# Topology file, of today\n\nvendid=0x2c9\nSwitch 2 \"S-1\" # \"MF0;leaf-1:MQM8700/U1\"\n"
     "[1] \"H-1\"[1] # \"host-1 HCA-1\" 4xEDR\n\nCa 1 \"H-1\" # \"host-1 HCA-1\"\n"
     "[1] \"S-1\"[1] # lid 1 lmc 0 \"leaf-1\" lid 2 4xEDR\n",
     "leaf-1/1 host-1/hca-1/1 4x EDR\n"},
    {"ibnetdiscover", "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n\nHca 1 \"H-1\"\n[1] \"S-1\"[1]\n",
     "s-1/1 h-1/1\n"},
};

START_TEST(formats_are_read)
{
    char links[1000];
    struct fab_cabling_plan *p = read_plan(plans[_i].text);
    describe(p, links, sizeof links);
    ck_assert_str_eq(links, plans[_i].links);
    ck_assert_str_eq(p->format, plans[_i].format);
    fab_cabling_plan_free(p);
}
END_TEST

START_TEST(racks_are_read)
{
    struct fab_cabling_plan *p = read_plan(plans[5].text);
    ck_assert_str_eq(p->nodes[0].rack, "X13");
    ck_assert_str_eq(p->nodes[1].rack, "R26");
    fab_cabling_plan_free(p);
}
END_TEST

#define HEAD "node_a,port_a,node_b,port_b,rate\n"
static const struct {
    const char *text;
    unsigned line;
    const char *message;
} errors[] = {
    {"", 1, "has no link"},
    {"leaf-1,3,spine-1,4\n", 1, "expected a row with the names"},
    {"hello\n", 1, "expected a row with the names"},
    {HEAD, 1, "has no link"},
    {HEAD "a,1,b\n", 2, "expected a port of b"},
    {HEAD "a,,b,1\n", 2, "expected a port of a"},
    {HEAD ",1,b,1\n", 2, "expected the name of a node"},
    {HEAD "a,1,b,x/0\n", 2, "expected the number of a port"},
    {HEAD "a,1,b,x/255\n", 2, "expected the number of a port"},
    {HEAD "a,1,a,1\n", 2, "both ends are a/1"},
    {HEAD "a,1,b,1\nb,2,a,1\n", 3, "planned already: a/1 to b/1"},
    {HEAD "a,1,b,1,4x FAST\n", 2, "expected a rate"},
    {HEAD "\"a,1,b,1\n", 2, "expected a closing quote"},
    {HEAD "\"a\"x,1,b,1\n", 2, "expected a comma"},
    {"  P1 -> T a P1\n", 1, "expected a system before"},
    {"T a\n P1 -> T b\n", 2, "expected a port such as P1"},
    {"T a\n P1 -> T\n", 2, "expected the type"},
    {"T a\n P0 -> T b P1\n", 2, "expected a port such as P1"},
    {"T a\n P1 -9x-> T b P1\n", 2, "expected a width"},
    {"T a\n P1 -4x-25G T b P1 ->\n", 2, "expected an arrow"},
    {"T a\n P1 -> T b P1 x\n", 2, "expected a comment or the end"},
    {"T\n P1 -> T b P1\n", 1, "expected the name of the system"},
    {"Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n", 2, ""},
};

START_TEST(errors_have_their_line)
{
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_text_error e = {0};
    int rc = fab_cabling_plan_read(p, errors[_i].text, strlen(errors[_i].text), &e);
    ck_assert_int_eq(rc, FAB_E_FORMAT);
    ck_assert_msg(strstr(e.message, errors[_i].message) != NULL, "%s", e.message);
    ck_assert_uint_eq(e.line, errors[_i].line);
    fab_cabling_plan_free(p);
}
END_TEST

/* A column name that contains a NUL byte is not recognized as the name before the NUL. */
START_TEST(a_name_with_nul_is_no_column)
{
    static const char text[] = "node_a\0b,port_a,node_b,port_b\nleaf-1,1,host-1,HCA-1\n";
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_text_error e;
    ck_assert_int_ne(fab_cabling_plan_read(p, text, sizeof text - 1, &e), 0);
    fab_cabling_plan_free(p);
}
END_TEST

START_TEST(several_files_are_one_plan)
{
    static const char more[] = "T leaf-1\n  P2 -> T spine-1 P1\n";
    struct fab_cabling_plan *p = read_plan(HEAD "leaf-1,1,host-1,HCA-1\n");
    struct fab_text_error e;
    char links[200];
    ck_assert_int_eq(fab_cabling_plan_read(p, more, strlen(more), &e), 0);
    describe(p, links, sizeof links);
    ck_assert_str_eq(links, "leaf-1/1 host-1/hca-1/1\nleaf-1/2 spine-1/1\n");
    ck_assert_uint_eq(p->node_count, 3);
    fab_cabling_plan_free(p);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name, *key;
} names[] = {
    {"leaf-03", "leaf-03"},
    {"LEAF-03", "leaf-03"},
    {"MF0;leaf-03:MQM8700/U1", "leaf-03"},
    {"MF0;core-1:CS8500/L16/U2", "core-1/l16/u2"},
    {"MF0;core-1:CS8500/S03/U1", "core-1/s03/u1"},
    {"MF0;odd", "mf0;odd"},
    {"node-7 HCA-1", "node-7/hca-1"},
    {"node-7/mlx5_0", "node-7/mlx5_0"},
    {"", ""},
};

START_TEST(names_have_keys)
{
    char key[FAB_CABLING_KEY], longest[300];
    fab_cabling_key(names[_i].name, strlen(names[_i].name), key);
    ck_assert_str_eq(key, names[_i].key);
    memset(longest, 'x', sizeof longest);
    fab_cabling_key(longest, sizeof longest, key);
    ck_assert_uint_eq(strlen(key), FAB_CABLING_NAME_MAX);
}
END_TEST

/* ---- matching -------------------------------------------------------------------------------- */

/* A fabric of two leaves with two hosts each, and a spine. The test fills in the names. */
static const char net[] =
    "switchguid=0x11\nSwitch 4 \"S-1\" # \"%s\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n"
    "[3] \"S-3\"[1]\n\n"
    "switchguid=0x12\nSwitch 4 \"S-2\" # \"%s\"\n[1] \"H-3\"[1]\n[2] \"H-4\"[1]\n"
    "[3] \"S-3\"[2]\n\n"
    "switchguid=0x13\nSwitch 4 \"S-3\" # \"%s\"\n[1] \"S-1\"[3]\n[2] \"S-2\"[3]\n\n"
    "caguid=0x21\nCa 1 \"H-1\" # \"%s\"\n[1] \"S-1\"[1]\n\n"
    "caguid=0x23\nCa 1 \"H-2\" # \"%s\"\n[1] \"S-1\"[2]\n\n"
    "caguid=0x25\nCa 1 \"H-3\" # \"%s\"\n[1] \"S-2\"[1]\n\n"
    "caguid=0x27\nCa 1 \"H-4\" # \"%s\"\n[1] \"S-2\"[2]\n";
static const char plan_text[] = HEAD "leaf-1,1,host-1,HCA-1\nleaf-1,2,host-2,HCA-1\n"
                                     "leaf-2,1,host-3,HCA-1\nleaf-2,2,host-4,HCA-1\n"
                                     "leaf-1,3,spine,1\nleaf-2,3,spine,2\n";

#define FACTORY "Quantum Mellanox Technologies"
static const struct {
    const char *name[7];
    unsigned by_name, by_place, differences;
    const char *kinds; /* the kinds of all differences, in the order of the report */
} fabrics[] = {
    {{"leaf-1", "leaf-2", "spine", "host-1 HCA-1", "host-2 HCA-1", "host-3 HCA-1", "host-4 HCA-1"},
     7,
     0,
     0,
     ""},
    /* hosts are found even if the NodeDescription does not name the adapter */
    {{"MF0;leaf-1:M/U1", "LEAF-2", "spine", "host-1", "HOST-2", "host-3", "host-4/HCA-1"},
     7,
     0,
     0,
     ""},
    /* Switches that still have factory names are found by their hosts (leaves) or by their leaves
     * (spine). */
    {{FACTORY, FACTORY, FACTORY, "host-1 HCA-1", "host-2 HCA-1", "host-3 HCA-1", "host-4 HCA-1"},
     4,
     3,
     0,
     ""},
    /* Two hosts have the name host-1. The one at the planned place counts as host-1. */
    {{"leaf-1", "leaf-2", "spine", "host-1 HCA-1", "host-1 HCA-1", "host-3 HCA-1", "host-4 HCA-1"},
     6,
     0,
     2,
     "duplicate-name wrong-host "},
};

static struct fab_fabric *named_fabric(const char *const name[7])
{
    char text[2000];
    int len = snprintf(text, sizeof text, net, name[0], name[1], name[2], name[3], name[4], name[5],
                       name[6]);
    return read_fabric(text, (size_t)len);
}

START_TEST(nodes_are_found)
{
    struct fab_fabric *f = named_fabric(fabrics[_i].name);
    struct fab_cabling_plan *p = read_plan(plan_text);
    struct fab_cabling_check *c = NULL;
    char kinds[200] = "";
    ck_assert_int_eq(fab_cabling_compare(p, f, &c), 0);
    ck_assert_uint_eq(c->matched[FAB_CABLING_BY_NAME], fabrics[_i].by_name);
    ck_assert_uint_eq(c->matched[FAB_CABLING_BY_PLACE], fabrics[_i].by_place);
    for (size_t i = 0; i < c->difference_count; i++) {
        strcat(kinds, fab_cabling_kind_name(c->differences[i].kind));
        strcat(kinds, " ");
    }
    ck_assert_str_eq(kinds, fabrics[_i].kinds);
    ck_assert_uint_eq(c->difference_count, fabrics[_i].differences);
    ck_assert(!fab_cabling_is_foreign(c));
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    fab_fabric_unref(f);
}
END_TEST

/* If a plan has GUIDs, nodes without useful names are found by GUID. A replaced adapter has another
 * GUID, and is found by its name. */
START_TEST(guids_find_what_names_do_not)
{
    static const char *const all[7] = {FACTORY,     FACTORY,     FACTORY, "localhost",
                                       "localhost", "localhost", "host-4"};
    struct fab_fabric *f = named_fabric(all);
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    struct fab_cabling_check *c = NULL;
    ck_assert_int_eq(fab_cabling_plan_add_fabric(p, f, true), 0);
    p->nodes[6].guid = 0x99;
    ck_assert_int_eq(fab_cabling_compare(p, f, &c), 0);
    ck_assert_uint_eq(c->matched[FAB_CABLING_BY_NAME], 1);
    ck_assert_uint_eq(c->matched[FAB_CABLING_BY_GUID], 6);
    ck_assert_uint_eq(c->difference_count, 0);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_plan_of_another_fabric_is_foreign)
{
    static const char *const all[7] = {"a", "b", "c", "d", "e", "f", "g"};
    struct fab_fabric *f = named_fabric(all);
    struct fab_cabling_plan *p = read_plan(plan_text);
    struct fab_cabling_check *c = NULL;
    ck_assert_int_eq(fab_cabling_compare(p, f, &c), 0);
    ck_assert(fab_cabling_is_foreign(c));
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    fab_fabric_unref(f);
}
END_TEST

/* A plan may cover only links between switches, or only links of hosts. The comparison ignores all
 * other links. */
START_TEST(a_plan_may_cover_a_part)
{
    static const char *const parts[] = {HEAD "leaf-1,3,spine,1\nleaf-2,3,spine,2\n",
                                        HEAD "leaf-1,1,host-1,HCA-1\nleaf-1,2,host-2,HCA-1\n"
                                             "leaf-2,1,host-3,HCA-1\nleaf-2,2,host-4,HCA-1\n"};
    struct fab_fabric *f = named_fabric(fabrics[0].name);
    struct fab_cabling_plan *p = read_plan(parts[_i]);
    struct fab_cabling_check *c = NULL;
    ck_assert_int_eq(fab_cabling_compare(p, f, &c), 0);
    ck_assert_uint_eq(c->difference_count, 0);
    ck_assert_uint_eq(c->correct, p->link_count);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(p);
    fab_fabric_unref(f);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("cabling/read");
    TCase *reading = tcase_create("reading"), *matching = tcase_create("matching");
    tcase_add_loop_test(reading, formats_are_read, 0, COUNT(plans));
    tcase_add_test(reading, racks_are_read);
    tcase_add_loop_test(reading, errors_have_their_line, 0, COUNT(errors));
    tcase_add_test(reading, a_name_with_nul_is_no_column);
    tcase_add_test(reading, several_files_are_one_plan);
    tcase_add_loop_test(reading, names_have_keys, 0, COUNT(names));
    tcase_add_loop_test(matching, nodes_are_found, 0, COUNT(fabrics));
    tcase_add_test(matching, guids_find_what_names_do_not);
    tcase_add_test(matching, a_plan_of_another_fabric_is_foreign);
    tcase_add_loop_test(matching, a_plan_may_cover_a_part, 0, 2);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, matching);
    return test_run(suite);
}
