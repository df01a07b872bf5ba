/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views. A view owns what it is made of, and finds nodes and ports by LID, GUID or name. If it does
 * not find exactly one, its message must say why.
 */
#include "libfabmgr/view/view.h"

#include "libfabmgr/base/status.h"
#include "libfabmgr/view/filter.h"
#include "libfabmgr/view/gone.h"
#include "tests/unit/fabrics.h"

#include <string.h>

/* Makes a fabric of leaf-001, leaf-002 and spine-001. At the leaves are host-0001 to host-0004, two
 * nodes named "twin", "dual" with two ports, and two hosts whose names could be misread: "7000" and
 * "name/2". */
static struct fab_fabric *town(void)
{
    static const char text[] =
        "switchguid=0x1001(1001)\nSwitch 8 \"S1\" # \"leaf-001\"\n"
        "[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"T1\"[1]\n[4] \"D\"[1]\n[5] \"N\"[1]\n[8] \"S3\"[1]\n"
        "switchguid=0x1002(1002)\nSwitch 8 \"S2\" # \"leaf-002\"\n"
        "[1] \"H3\"[1]\n[2] \"H4\"[1]\n[3] \"T2\"[1]\n[4] \"D\"[2]\n[5] \"L\"[1]\n[8] \"S3\"[2]\n"
        "switchguid=0x1003(1003)\nSwitch 2 \"S3\" # \"spine-001\"\n[1] \"S1\"[8]\n[2] \"S2\"[8]\n"
        "caguid=0x2000000000000010\nCa 1 \"H1\" # \"host-0001\"\n[1](2000000000000011) \"S1\"[1]\n"
        "caguid=0x2000000000000020\nCa 1 \"H2\" # \"host-0002\"\n[1](2000000000000021) \"S1\"[2]\n"
        "caguid=0x2000000000000030\nCa 1 \"H3\" # \"host-0003\"\n[1](2000000000000031) \"S2\"[1]\n"
        "caguid=0x2000000000000040\nCa 1 \"H4\" # \"host-0004\"\n[1](2000000000000041) \"S2\"[2]\n"
        "caguid=0x2000000000000050\nCa 1 \"T1\" # \"twin\"\n[1](2000000000000051) \"S1\"[3]\n"
        "caguid=0x2000000000000060\nCa 1 \"T2\" # \"twin\"\n[1](2000000000000061) \"S2\"[3]\n"
        "caguid=0x2000000000000070\nCa 2 \"D\" # \"dual\"\n"
        "[1](2000000000000071) \"S1\"[4]\n[2](2000000000000072) \"S2\"[4]\n"
        "caguid=0x2000000000000080\nCa 1 \"N\" # \"7000\"\n[1](2000000000000081) \"S1\"[5]\n"
        "caguid=0x2000000000000090\nCa 1 \"L\" # \"name/2\"\n[1](2000000000000091) \"S2\"[5]\n";
    return read_fabric(text, sizeof text - 1);
}

/* Assigns LIDs from 1 on, one for each port, in the order of port ids. */
static struct fab_target *number_all(const struct fab_fabric *f)
{
    struct fab_target *t = fab_target_new();
    uint32_t lid = 1;
    ck_assert_int_eq(fab_target_lids_init(&t->lids, f->port_count), FAB_OK);
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port_has_lid(f, p))
            t->lids.base[p] = lid++;
    ck_assert_int_eq(fab_target_lids_index(&t->lids), FAB_OK);
    return t;
}

static struct fab_view *view_of(struct fab_fabric *f, struct fab_target *t)
{
    struct fab_policy policy;
    struct fab_verdict verdict = {0};
    fab_policy_defaults(&policy);
    struct fab_view *v = fab_view_new(1, f, t, &policy, &verdict);
    ck_assert_ptr_nonnull(v);
    return v;
}

static struct fab_view *v;

static void open_town(void)
{
    struct fab_fabric *f = town();
    v = view_of(f, number_all(f));
}

static void close_town(void)
{
    fab_view_unref(v);
}

START_TEST(a_view_owns_what_it_was_given)
{
    struct fab_fabric *f = town();
    struct fab_target *t = number_all(f);
    struct fab_policy policy;
    struct fab_verdict verdict = {.pairs = 5};
    fab_policy_defaults(&policy);
    policy.roots = calloc(1, sizeof *policy.roots);
    policy.root_count = 1;
    struct fab_view *w = fab_view_new(7, f, t, &policy, &verdict);
    ck_assert_uint_eq(policy.root_count, 0);
    ck_assert_ptr_null(policy.roots);
    ck_assert_uint_eq(verdict.pairs, 0);
    ck_assert_uint_eq(w->generation, 7);
    ck_assert_uint_eq(w->verdict.pairs, 5);
    struct fab_view *held = fab_view_ref(w);
    fab_view_unref(w);
    ck_assert_ptr_eq(held->fabric, f);
    fab_view_unref(held);
    fab_view_unref(NULL);
}
END_TEST

static const struct {
    const char *what;
    uint64_t port_guid; /* GUID of the port that must be found; 0: none */
    int status;
    const char *why;
} ends[] = {
    {"1", 0x1001, FAB_OK, NULL},
    {"0x2", 0x1002, FAB_OK, NULL},
    {"4", 0x2000000000000011, FAB_OK, NULL},
    {"0x0002", 0x1002, FAB_OK, NULL},
    {"0x2000000000000031", 0x2000000000000031, FAB_OK, NULL},
    {"2000000000000031", 0x2000000000000031, FAB_OK, NULL},
    {"2000:0000:0000:0031", 0x2000000000000031, FAB_OK, NULL},
    {"0x2000000000000030", 0x2000000000000031, FAB_OK, NULL},
    {"0x0000000000001003", 0x1003, FAB_OK, NULL},
    {"leaf-001", 0x1001, FAB_OK, NULL},
    {"sp", 0x1003, FAB_OK, NULL},
    {"host-0002", 0x2000000000000021, FAB_OK, NULL},
    {"host-0002/1", 0x2000000000000021, FAB_OK, NULL},
    {"leaf-001/0", 0x1001, FAB_OK, NULL},
    {"dual/1", 0x2000000000000071, FAB_OK, NULL},
    {"dual/2", 0x2000000000000072, FAB_OK, NULL},
    {"0x2000000000000070/2", 0x2000000000000072, FAB_OK, NULL},
    /* no port has the LID 7000, so this is the node with the name "7000" */
    {"7000", 0x2000000000000081, FAB_OK, NULL},
    {"name/2", 0x2000000000000091, FAB_OK, NULL},
    {"name", 0x2000000000000091, FAB_OK, NULL},
    {"name/2/1", 0x2000000000000091, FAB_OK, NULL},
    {"dual", 0, FAB_E_EXISTS, "dual (0x2000000000000070) has 2 ports with LIDs: add /1"},
    {"dual/0", 0, FAB_E_NOT_FOUND, "port 0 of dual"},
    {"dual/3", 0, FAB_E_NOT_FOUND, "port 3 of dual"},
    {"leaf-001/3", 0, FAB_E_NOT_FOUND, "only port 0"},
    {"leaf-001/99999999999", 0, FAB_E_NOT_FOUND, "no node, GUID or LID"},
    {"twin", 0, FAB_E_EXISTS,
     "\"twin\" is ambiguous (2 matches): twin (0x2000000000000050), twin (0x"},
    {"host", 0, FAB_E_EXISTS, "\"host\" is ambiguous (4 matches): host-0001, host-0002, "},
    {"", 0, FAB_E_NOT_FOUND, "no node, GUID or LID"},
    {"/", 0, FAB_E_NOT_FOUND, "no node, GUID or LID"},
    {"/1", 0, FAB_E_NOT_FOUND, "no node, GUID or LID"},
    {"0", 0, FAB_E_NOT_FOUND, "no node, GUID or LID"},
    {"99", 0, FAB_E_NOT_FOUND, "no node, GUID or LID \"99\""},
    {"0x", 0, FAB_E_NOT_FOUND, "no node"},
    {"0x12345678901234567", 0, FAB_E_NOT_FOUND, "no node"},
    {"0x2000000000000099", 0, FAB_E_NOT_FOUND, "no node"},
    {"HOST-0001", 0x2000000000000011, FAB_OK, NULL},
    {"Host-0002/1", 0x2000000000000021, FAB_OK, NULL},
    {"HOST", 0, FAB_E_EXISTS, "\"HOST\" is ambiguous (4 matches): host-0001, host-0002, "},
    {"20:00:00:00:00:00:00:31", 0x2000000000000031, FAB_OK, NULL},
    {"20:00:00:00:00:00:00.31", 0, FAB_E_NOT_FOUND, "no node"},
    {"H-2000000000000030", 0x2000000000000031, FAB_OK, NULL},
    {"S-0000000000001003", 0x1003, FAB_OK, NULL},
    {"X-0000000000001003", 0, FAB_E_NOT_FOUND, "no node"},
    {"HOST-0O01", 0, FAB_E_NOT_FOUND, "did you mean \"host-0001\"?"},
    {"host-002", 0, FAB_E_NOT_FOUND, "did you mean \"host-0002\"?"},
    {"host-00027", 0, FAB_E_NOT_FOUND, "did you mean \"host-0002\"?"},
    {"ho5t-0O01", 0, FAB_E_NOT_FOUND, "did you mean \"host-0001\"?"},
};

START_TEST(ends_are_found)
{
    char why[200] = "";
    uint32_t port = FAB_NONE;
    int status = fab_view_find_port(v, ends[_i].what, &port, why, sizeof why);
    ck_assert_msg(status == ends[_i].status, "\"%s\": %d, %s", ends[_i].what, status, why);
    if (status == FAB_OK)
        ck_assert_msg(fab_fabric_port(v->fabric, port)->guid == ends[_i].port_guid,
                      "\"%s\": %016" PRIx64, ends[_i].what, fab_fabric_port(v->fabric, port)->guid);
    else
        ck_assert_msg(strstr(why, ends[_i].why) != NULL, "\"%s\": %s", ends[_i].what, why);
    if (status != FAB_OK)
        ck_assert_uint_eq(port, FAB_NONE);
}
END_TEST

static const struct {
    const char *what;
    uint64_t guid;
    int status;
} nodes[] = {
    {"dual", 0x2000000000000070, FAB_OK},
    {"2000:0000:0000:0072", 0x2000000000000070, FAB_OK},
    {"0x2000000000000070", 0x2000000000000070, FAB_OK},
    {"3", 0x1003, FAB_OK},
    {"spine", 0x1003, FAB_OK},
    {"leaf", 0, FAB_E_EXISTS},
    {"leaf-003", 0, FAB_E_NOT_FOUND},
    {"dual/1", 0, FAB_E_NOT_FOUND},
};

START_TEST(nodes_are_found)
{
    char why[200] = "";
    uint32_t node = FAB_NONE;
    ck_assert_int_eq(fab_view_find_node(v, nodes[_i].what, &node, why, sizeof why),
                     nodes[_i].status);
    if (nodes[_i].status == FAB_OK)
        ck_assert_uint_eq(v->fabric->nodes[node].guid, nodes[_i].guid);
    else
        ck_assert_uint_gt(strlen(why), 10);
}
END_TEST

START_TEST(many_candidates_are_counted_and_cut_to_fit)
{
    struct fab_fabric *f = leaf_spine(3, 1, 9);
    struct fab_view *w = view_of(f, number_all(f));
    char why[300], little[24];
    uint32_t port;
    ck_assert_int_eq(fab_view_find_port(w, "host-", &port, why, sizeof why), FAB_E_EXISTS);
    ck_assert_ptr_nonnull(strstr(why, "is ambiguous (27 matches): "));
    ck_assert_ptr_nonnull(strstr(why, ", ..."));
    ck_assert_int_eq(fab_view_find_port(w, "host-", &port, little, sizeof little), FAB_E_EXISTS);
    ck_assert_uint_eq(strlen(little), sizeof little - 1);
    fab_view_unref(w);
}
END_TEST

static void check_host(const struct fab_view *w, const char *what, uint32_t adapters)
{
    struct fab_view_filter filter;
    char why[200];
    uint32_t nodes = 0;
    int rc = fab_view_filter_read(&filter, w, NULL, what, why, sizeof why);
    ck_assert_int_eq(rc, adapters > 0 ? FAB_OK : FAB_E_EXISTS);
    for (uint32_t n = 0; rc == FAB_OK && n < w->fabric->node_count; n++)
        nodes += fab_view_filter_node(&filter, n);
    ck_assert_msg(nodes == adapters, "\"%s\": %u nodes", what, nodes);
}

/* The names of adapters have the form "HOST DEVICE". The first word alone must find the host. */
START_TEST(a_host_is_found_by_the_first_word_of_its_name)
{
    static const char text[] = "Switch 8 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1]\n[3] \"c\"[1]\n"
                               "[4] \"d\"[1]\n[5] \"e\"[1]\n[6] \"f\"[1]\n[7] \"g\"[1]\n"
                               "[8] \"h\"[1]\n"
                               "caguid=0x10\nCa 1 \"a\" # \"gpu-1 mlx5_0\"\n[1](11) \"s\"[1]\n"
                               "caguid=0x20\nCa 1 \"b\" # \"gpu-10 mlx5_0\"\n[1](21) \"s\"[2]\n"
                               "caguid=0x30\nCa 1 \"c\" # \"gpu-2 mlx5_0\"\n[1](31) \"s\"[3]\n"
                               "caguid=0x40\nCa 1 \"d\" # \"gpu-2 mlx5_1\"\n[1](41) \"s\"[4]\n"
                               "caguid=0x50\nCa 1 \"e\" # \"gpu-2\"\n[1](51) \"s\"[5]\n"
                               "caguid=0x60\nCa 1 \"f\" # \"gpu-3/mlx5_0\"\n[1](61) \"s\"[6]\n"
                               "caguid=0x70\nCa 1 \"g\" # \"MT4123\"\n[1](71) \"s\"[7]\n"
                               "caguid=0x80\nCa 1 \"h\" # \"gpu-3/mlx5_1\"\n[1](81) \"s\"[8]\n";
    static const char locations[] = "name,host\n0x70,big\n0x10,two\n0x20,two\n";
    struct fab_locations_error error;
    static const struct {
        const char *what;
        uint64_t guid; /* 0: not found */
        const char *why;
    } table[] = {
        {"gpu-1", 0x10, NULL},
        {"gpu-10", 0x20, NULL},
        {"gpu-2", 0x50, NULL},
        {"gpu-2 mlx5_0", 0x30, NULL},
        {"gpu-1 m", 0x10, NULL},
        {"gpu-2/mlx5_1", 0x40, NULL},
        {"gpu-3", 0, "is ambiguous (2 matches): gpu-3/mlx5_0, gpu-3/mlx5_1"},
        {"big", 0x70, NULL},
        {"bi", 0, "no node, GUID or LID \"bi\""},
        {"two", 0, "is ambiguous (2 matches): gpu-1 mlx5_0, gpu-10 mlx5_0"},
        {"gpu-", 0, "is ambiguous (7 matches)"},
        {"gpu-2 ", 0, "is ambiguous (2 matches): gpu-2 mlx5_0, gpu-2 mlx5_1"},
    };
    struct fab_fabric *f = read_fabric(text, sizeof text - 1);
    struct fab_view *w = view_of(f, number_all(f));
    ck_assert_int_eq(
        fab_policy_locations_read(locations, sizeof locations - 1, &w->policy.locations, &error),
        FAB_OK);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char why[200] = "";
        uint32_t node = FAB_NONE;
        int status = fab_view_find_node(w, table[i].what, &node, why, sizeof why);
        ck_assert_msg((status == FAB_OK) == (table[i].guid != 0), "\"%s\": %s", table[i].what, why);
        if (status == FAB_OK)
            ck_assert_uint_eq(f->nodes[node].guid, table[i].guid);
        else
            ck_assert_msg(strstr(why, table[i].why) != NULL, "\"%s\": %s", table[i].what, why);
    }
    check_host(w, "two", 2); /* the name of a host selects all its adapters */
    check_host(w, "gpu-3", 2);
    check_host(w, "GPU-3", 2);
    check_host(w, "gpu-2", 1); /* this adapter has only one word in its name */
    check_host(w, "gpu-", 0);
    fab_view_unref(w);
}
END_TEST

START_TEST(names_are_found_before_there_are_lids)
{
    struct fab_view *w = view_of(town(), NULL);
    char why[200];
    uint32_t port;
    ck_assert_int_eq(fab_view_find_port(w, "host-0001", &port, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(fab_fabric_port(w->fabric, port)->guid, 0x2000000000000011);
    ck_assert_int_eq(fab_view_find_port(w, "4", &port, why, sizeof why), FAB_E_NOT_FOUND);
    fab_view_unref(w);
}
END_TEST

START_TEST(a_guid_of_node_and_port_means_the_port)
{
    static const char text[] = "Switch 4 \"s\"\n[1] \"h\"[1]\n[2] \"h\"[2]\n"
                               "caguid=0x50000\nCa 2 \"h\"\n[1](50000) \"s\"[1]\n[2] \"s\"[2]\n";
    struct fab_fabric *f = read_fabric(text, sizeof text - 1);
    struct fab_view *w = view_of(f, number_all(f));
    char why[200];
    uint32_t port;
    ck_assert_int_eq(fab_view_find_port(w, "0x50000", &port, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(fab_fabric_port(w->fabric, port)->num, 1);
    fab_view_unref(w);
}
END_TEST

/* Patterns, and how many nodes and ports each of them selects. Port 0 of a switch counts as a
 * port. */
static const struct {
    const char *what;
    int status;
    uint32_t nodes, ports;
    const char *why;
} filters[] = {
    {"", FAB_OK, 12, 31, NULL},
    {"leaf-001", FAB_OK, 1, 9, NULL},
    {"LEAF-*", FAB_OK, 2, 18, NULL},
    {"leaf-00[1-2]", FAB_OK, 2, 18, NULL},
    {"leaf-00[2-9]", FAB_OK, 1, 9, NULL},
    {"leaf-001/3", FAB_OK, 1, 1, NULL},
    {"0x00001001/[3-9]", FAB_OK, 1, 6, NULL},
    {"leaf-*/[1-2]", FAB_OK, 2, 4, NULL},
    {"*/2", FAB_OK, 5, 5, NULL}, /* port 2 of four nodes, and the only port of the node "name/2" */
    {"host-000[1-3]", FAB_OK, 3, 3, NULL},
    {"twin/*", FAB_OK, 2, 2, NULL},
    {"twin*", FAB_OK, 2, 2, NULL},
    {"name/2", FAB_OK, 1, 1, NULL},
    {"S-0000000000001003", FAB_OK, 1, 3, NULL},
    {"s-0000000000001003", FAB_OK, 1, 3, NULL},
    {"fe80:0000:0000:0000:0000:0000:0000:1003", FAB_OK, 1, 3, NULL},
    {"twin", FAB_E_EXISTS, 0, 0, "is ambiguous"},
    {"twin/1", FAB_E_EXISTS, 0, 0, "is ambiguous"},
    {"x*", FAB_E_NOT_FOUND, 0, 0, "no node matches \"x*\""},
    {"leaf-*/[20-30]", FAB_E_NOT_FOUND, 0, 0, "no port matches"},
    {"leaf-001/99", FAB_E_NOT_FOUND, 0, 0, "has no port 99; its ports are 1 to 8"},
    {"leaf-003/1", FAB_E_NOT_FOUND, 0, 0, "no node, GUID or LID \"leaf-003\""},
    {"leaf-003", FAB_E_NOT_FOUND, 0, 0, "no node, GUID or LID"},
    {"/*", FAB_E_NOT_FOUND, 0, 0, "no node"},
};

START_TEST(filters_select_nodes_and_ports)
{
    char why[200] = "";
    struct fab_view_filter f;
    uint32_t n = 0, p = 0;
    int status = fab_view_filter_read(&f, v, NULL, filters[_i].what, why, sizeof why);
    ck_assert_msg(status == filters[_i].status, "\"%s\": %d, %s", filters[_i].what, status, why);
    for (uint32_t i = 0; status == FAB_OK && i < v->fabric->node_count; i++)
        n += fab_view_filter_node(&f, i);
    for (uint32_t i = 0; status == FAB_OK && i < v->fabric->port_count; i++) {
        const struct fab_port *port = fab_fabric_port(v->fabric, i);
        p += (port->num > 0 || fab_fabric_node_is_switch(v->fabric, port->node)) &&
             fab_view_filter_port(&f, i);
    }
    ck_assert_msg(n == filters[_i].nodes && p == filters[_i].ports, "\"%s\": %u nodes, %u ports",
                  filters[_i].what, n, p);
    if (status != FAB_OK)
        ck_assert_msg(strstr(why, filters[_i].why) != NULL, "\"%s\": %s", filters[_i].what, why);
}
END_TEST

static const struct {
    const char *what;
    uint32_t nodes;
    bool names_rack;
} racks[] = {
    {"A1", 3, true},
    {"a1", 3, true},
    {"rack:A1", 3, true},
    {"rack:a*", 4, true},
    {"A2", 1, true},
    {"leaf-001", 1, false}, /* also the name of a rack */
    {"rack:leaf-001", 1, true},
    {"rack:B", 0, true},
    {"A3", 0, true},
    {"A*", 0, false}, /* a pattern without "rack:" is for nodes */
};

START_TEST(racks_select_nodes)
{
    static const char text[] = "name,rack\nleaf-001,A1\nhost-000[1-2],A1\nhost-0003,A2\n"
                               "spine-001,leaf-001\n";
    struct fab_locations_error error;
    struct fab_fabric *f = leaf_spine(2, 1, 2);
    struct fab_view *w = view_of(f, number_all(f));
    struct fab_view_filter filter;
    struct fab_hosts hosts;
    char why[200];
    uint32_t nodes = 0;
    ck_assert_int_eq(fab_policy_locations_read(text, sizeof text - 1, &w->policy.locations, &error),
                     FAB_OK);
    ck_assert_int_eq(fab_hosts_find(f, w->policy.locations, &hosts), FAB_OK);
    int rc = fab_view_filter_read(&filter, w, &hosts, racks[_i].what, why, sizeof why);
    ck_assert_int_eq(rc, racks[_i].nodes > 0 ? FAB_OK : FAB_E_NOT_FOUND);
    for (uint32_t n = 0; rc == FAB_OK && n < f->node_count; n++) {
        bool has = fab_view_filter_node(&filter, n);
        nodes += has;
        ck_assert(fab_view_filter_port(&filter, f->nodes[n].first_port + 1) == has);
    }
    ck_assert_msg(nodes == racks[_i].nodes, "\"%s\": %u nodes", racks[_i].what, nodes);
    ck_assert(rc != FAB_OK || (filter.rack != NULL) == racks[_i].names_rack);
    /* without the hosts of the view, no text names a rack */
    rc = fab_view_filter_read(&filter, w, NULL, racks[_i].what, why, sizeof why);
    ck_assert_int_eq(rc, racks[_i].names_rack || racks[_i].nodes == 0 ? FAB_E_NOT_FOUND : FAB_OK);
    fab_hosts_fini(&hosts);
    fab_view_unref(w);
}
END_TEST

START_TEST(a_filter_has_a_longest_text)
{
    char text[FAB_FILTER_TEXT_MAX + 2], why[200];
    struct fab_view_filter f;
    memset(text, '*', sizeof text);
    text[FAB_FILTER_TEXT_MAX] = '\0';
    ck_assert_int_eq(fab_view_filter_read(&f, v, NULL, text, why, sizeof why), FAB_OK);
    text[FAB_FILTER_TEXT_MAX] = '*';
    text[FAB_FILTER_TEXT_MAX + 1] = '\0';
    ck_assert_int_eq(fab_view_filter_read(&f, v, NULL, text, why, sizeof why), FAB_E_INVAL);
    ck_assert_ptr_nonnull(strstr(why, "at most 1024 characters"));
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- links that are gone --------------------------------------------------------------------- */

static void set_state(struct fab_fabric *f, uint64_t guid, uint8_t num, uint8_t state, uint8_t phys)
{
    uint32_t port = fab_fabric_port_id(f, fab_fabric_node_by_guid(f, guid), num);
    struct fab_port_info info = fab_fabric_port(f, port)->info;
    info.port_state = state;
    info.phys_state = phys;
    ck_assert_int_eq(fab_fabric_set_port_info(f, port, &info), FAB_OK);
}

static void assert_why(const struct fab_fabric *f, struct fab_gone_link link,
                       enum fab_gone_cause cause, uint64_t guid)
{
    const struct fab_gone_link other = {{link.guid[1], link.guid[0]}, {link.port[1], link.port[0]}};
    const struct fab_gone_link *const both[] = {&link, &other};
    for (int i = 0; i < 2; i++) {
        struct fab_gone_why why = fab_view_why_gone(f, both[i]);
        ck_assert_int_eq(why.cause, cause);
        if (guid == 0)
            ck_assert_uint_eq(why.port, FAB_NONE);
        else
            ck_assert_uint_eq(f->nodes[fab_fabric_port(f, why.port)->node].guid, guid);
    }
}

/* Why a link is missing in a fabric: a node is gone, or a port is down. leaf-001/6 and leaf-002/6
 * have no links. */
START_TEST(why_a_link_is_gone)
{
    const uint64_t leaf = 0x1001, other = 0x1002, unknown = 0x99;
    struct fab_fabric *f = NULL;
    ck_assert_int_eq(fab_fabric_next(v->fabric, &f), FAB_OK);
    const struct fab_gone_link to_unknown = {{leaf, unknown}, {6, 1}};
    const struct fab_gone_link between = {{leaf, other}, {6, 6}};
    assert_why(f, (struct fab_gone_link){{0x98, unknown}, {1, 1}}, FAB_GONE_NODES, 0);
    assert_why(f, (struct fab_gone_link){{leaf, unknown}, {200, 1}}, FAB_GONE_NODES, 0);
    set_state(f, leaf, 6, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    set_state(f, other, 6, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
    assert_why(f, to_unknown, FAB_GONE_DOWN, leaf);
    assert_why(f, between, FAB_GONE_DOWN, leaf);
    set_state(f, leaf, 6, FAB_STATE_ACTIVE, FAB_PHYS_LINKUP);
    assert_why(f, to_unknown, FAB_GONE_UP, leaf);
    set_state(f, other, 6, FAB_STATE_DOWN, FAB_PHYS_DISABLED);
    assert_why(f, between, FAB_GONE_DISABLED, other);
    assert_why(f, (struct fab_gone_link){{other, leaf}, {6, 1}}, FAB_GONE_REPLACED, leaf);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(whole_names_and_first_words_are_names)
{
    static const struct {
        const char *name;
        bool has;
    } names[] = {{"host-0001", true}, {"host-000", false}, {"twin", true}, {"twi", false},
                 {"name/2", true},    {"name", false},     {"", false}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_int_eq(fab_view_has_name(v, names[i].name, strlen(names[i].name)), names[i].has);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("view");
    TCase *own = tcase_create("own"), *find = tcase_create("find");
    tcase_add_test(own, a_view_owns_what_it_was_given);
    tcase_add_test(own, many_candidates_are_counted_and_cut_to_fit);
    tcase_add_test(own, a_host_is_found_by_the_first_word_of_its_name);
    tcase_add_test(own, names_are_found_before_there_are_lids);
    tcase_add_test(own, a_guid_of_node_and_port_means_the_port);
    tcase_add_checked_fixture(find, open_town, close_town);
    tcase_add_loop_test(find, ends_are_found, 0, COUNT(ends));
    tcase_add_test(find, why_a_link_is_gone);
    tcase_add_test(find, whole_names_and_first_words_are_names);
    tcase_add_loop_test(find, filters_select_nodes_and_ports, 0, COUNT(filters));
    tcase_add_loop_test(find, racks_select_nodes, 0, COUNT(racks));
    tcase_add_test(find, a_filter_has_a_longest_text);
    tcase_add_loop_test(find, nodes_are_found, 0, COUNT(nodes));
    suite_add_tcase(suite, own);
    suite_add_tcase(suite, find);
    return test_run(suite);
}
