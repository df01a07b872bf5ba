/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports. The test writes a small fabric in each format, in pieces and as a whole, with names that
 * could break the format. tests/integration/test_exports.sh shows that other programs can read the
 * files.
 */
#include "libfabmgr/export/export.h"

#include "libfabmgr/fabric/restore.h"
#include "tests/unit/routing.h"

/* The number of a channel is the id of the port that sends to it. The caller frees the arrays. */
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
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_SVG], "<line "), 3 * 2);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_SVG], "<rect class=\"switch\""), 5);
    ck_assert_uint_eq(lines_with(text[FAB_EXPORT_SVG], ">4</text>"), 3);
    for (unsigned i = 0; i < FAB_EXPORT_COUNT; i++)
        free(text[i]);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    fab_fabric_unref(again);
}
END_TEST

/* Reads the x and y of a switch in the picture. The rectangle of a switch follows its title. */
static void place_of(const char *svg, const char *name, unsigned *ret_x, unsigned *ret_y)
{
    char title[80];
    snprintf(title, sizeof title, "<g><title>%s (", name);
    const char *at = strstr(svg, title);
    ck_assert_msg(at != NULL, "no %s", name);
    at = strstr(at, " x=\"");
    ck_assert_int_eq(sscanf(at, " x=\"%u\" y=\"%u\"", ret_x, ret_y), 2);
}

/* Pictures of a tree. Spines are above leaves. A name with tags must not end its SVG element. A
 * line that stands for several links shows the worst state of these links. */
START_TEST(pictures)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = leaf_spine(3, 2, 4);
    struct fab_target *t = routed(f, &p);
    unsigned x[3], y[3];
    char *svg = exported(f, t, FAB_EXPORT_SVG);
    place_of(svg, "leaf-001", &x[0], &y[0]);
    place_of(svg, "leaf-003", &x[1], &y[1]);
    place_of(svg, "spine-001", &x[2], &y[2]);
    ck_assert_uint_eq(y[0], y[1]);
    ck_assert_uint_lt(x[0], x[1]);
    ck_assert_uint_lt(y[2], y[0]);
    ck_assert_ptr_null(strstr(svg, "class=\"down\""));
    free(svg);
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_peer_node(f, port) == 0)
            fab_fabric_edit_port(f, port)->info.phys_state = FAB_PHYS_POLLING;
    strcpy(f->nodes[0].name, "<b>&\"\xff");
    svg = exported(f, t, FAB_EXPORT_SVG);
    ck_assert_ptr_null(strstr(svg, "<b>"));
    assert_has(svg, "&lt;b&gt;&amp;\"\xef\xbf\xbd (0x");
    ck_assert_uint_eq(lines_with(svg, "class=\"down\""), 2);
    free(svg);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

/* A torus has no levels. So switches that are neighbours in its last dimension are drawn below each
 * other. */
START_TEST(pictures_of_lattices)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_fabric *f = grid((const uint32_t[3]){3, 3, 4}, true, 1);
    struct fab_target *t = routed(f, &p);
    unsigned x[3], y[3];
    char *svg = exported(f, t, FAB_EXPORT_SVG);
    place_of(svg, f->nodes[0].desc, &x[0], &y[0]);
    place_of(svg, f->nodes[9].desc, &x[1], &y[1]);
    place_of(svg, f->nodes[1].desc, &x[2], &y[2]);
    ck_assert_uint_eq(x[0], x[1]);
    ck_assert_uint_lt(y[0], y[1]);
    ck_assert_uint_eq(y[0], y[2]);
    free(svg);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}
END_TEST

/* Tables with three VLs: the SL depends on the destination, and packets that enter a switch by an
 * ISL change to another VL. The link of one host has only two VLs. */
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
    /* Lines of the SL-to-VL maps. A switch has a line for each input port (or port 0) and output
     * port: 2 spines have 3 ports, and 3 leaves have 6. Each of 12 hosts has one line, and each of
     * 17 nodes a heading. */
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
    assert_has(text, "SwitchName=leaf-001 Nodes=host-[0001-0002]\n");
    assert_has(text, "SwitchName=pod-1 Switches=leaf-[001-002]\n");
    assert_has(text, "SwitchName=fabric Switches=pod-[1-4]\n");
    free(text);
    text = exported(f, t, FAB_EXPORT_SLURM_BLOCK);
    ck_assert_uint_eq(lines_with(text, "BlockName="), 8);
    assert_has(text, "BlockName=leaf-001 Nodes=host-[0001-0002]\n");
    assert_has(text, "\nBlockSizes=2,4,16\n");
    free(text);
    text = exported(f, t, FAB_EXPORT_SLURM_YAML);
    assert_has(text, "---\n- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n"
                     "      - switch: \"leaf-001\"\n        nodes: \"host-[0001-0002]\"\n");
    assert_has(text, "      - switch: \"fabric\"\n        children: \"pod-[1-4]\"\n"
                     "- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n"
                     "      - 2\n      - 4\n      - 16\n    blocks:\n"
                     "      - block: \"leaf-001\"\n        nodes: \"host-[0001-0002]\"\n");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    f = grid((uint32_t[3]){3, 3, 1}, true, 2);
    t = routed(f, &p);
    text = exported(f, t, FAB_EXPORT_SLURM);
    ck_assert_uint_eq(lines_with(text, "Nodes="), 9);
    ck_assert_uint_eq(lines_with(text, "Switches="), 1);
    assert_has(text, "SwitchName=fabric Switches=");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

/* A host with two adapters, adapters without a name, and names with characters that have a meaning
 * in the formats. */
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

/* Names that differ only in a number at the end are written as one range if their numbers have the
 * same width. All other names are listed one by one. */
START_TEST(slurm_names)
{
    static const char *const descs[] = {"gpu8",    "gpu9.example.net", "gpu10", "gpu011",
                                        "login-a", "login-b",          "n2x3",  "n2x4",
                                        "77",      "cpu1234567890",    "cpu1",  "login-c"};
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
    assert_has(text, "SwitchName=leaf-001 Nodes=77,cpu1,cpu1234567890,gpu011,gpu[8-10],"
                     "login-a,login-b,login-c,n2x[3-4]\n");
    free(text);
    fab_target_unref(t);
    fab_fabric_unref(f);
    fab_policy_fini(&p);
}
END_TEST

static char *slurm_file(const struct fab_fabric *f)
{
    const struct fab_export_input in = {.fabric = f};
    struct fab_export *e = NULL;
    struct fab_text all = {0};
    char *text = NULL;
    size_t len;
    bool done = false;
    ck_assert_int_eq(fab_export_new(&in, FAB_EXPORT_SLURM, &e), FAB_OK);
    while (!done)
        ck_assert_int_eq(fab_export_next(e, &all, &done), FAB_OK);
    fab_export_free(e);
    ck_assert_int_eq(fab_base_text_take(&all, &text, &len), FAB_OK);
    return text;
}

/* Removes the links of `count` ports of a node, from port `first` on, from the builder, and adds
 * them to the lost links. */
static void lose_links(const struct fab_fabric *f, struct fab_builder *b, struct fab_lost *lost,
                       uint32_t first, uint32_t count)
{
    for (uint32_t port = first; port < first + count; port++) {
        const struct fab_port *p = fab_fabric_port(f, port);
        if (p->peer == FAB_NONE)
            continue;
        const struct fab_port *q = fab_fabric_port(f, p->peer);
        lost->cables[lost->cable_count++] = (struct fab_lost_cable){
            {f->nodes[p->node].guid, f->nodes[q->node].guid}, {p->num, q->num}};
        ck_assert_int_eq(fab_fabric_builder_unlink(b, p->node, p->num), FAB_OK);
    }
}

static void lose_node(const struct fab_fabric *f, struct fab_builder *b, struct fab_lost *lost,
                      uint32_t node)
{
    const struct fab_node *n = &f->nodes[node];
    struct fab_lost_node *to = &lost->nodes[lost->node_count++];
    *to = (struct fab_lost_node){.guid = n->guid, .type = n->type, .num_ports = n->num_ports};
    strcpy(to->name, n->desc);
    lose_links(f, b, lost, n->first_port, n->num_ports + 1u);
    ck_assert_int_eq(fab_fabric_builder_remove_node(b, node), FAB_OK);
}

/* Removes the node `node` (FAB_NONE: the link of `port`), and restores the fabric from what was
 * lost. Slurm's file of the restored fabric must equal `before`. Returns true if the file of the
 * unrestored fabric does not. */
static bool differs_after(const struct fab_fabric *f, const char *before, uint32_t node,
                          uint32_t port)
{
    struct fab_lost_node nodes[1];
    struct fab_lost_cable cables[256];
    struct fab_lost lost = {.nodes = nodes, .cables = cables};
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *left = NULL, *whole = NULL;
    if (node != FAB_NONE)
        lose_node(f, b, &lost, node);
    else
        lose_links(f, b, &lost, port, 1);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &left), FAB_OK);
    fab_fabric_builder_free(b);
    ck_assert_int_eq(fab_fabric_restore(left, &lost, &whole), FAB_OK);
    ck_assert_uint_eq(whole->node_count, f->node_count);
    ck_assert_uint_eq(whole->link_count, f->link_count);
    char *now = slurm_file(left), *after = slurm_file(whole);
    ck_assert_str_eq(after, before);
    bool differs = strcmp(now, before) != 0;
    free(now);
    free(after);
    fab_fabric_unref(left);
    fab_fabric_unref(whole);
    return differs;
}

/* Slurm's file stays the same if any single node or link fails. */
START_TEST(slurm_is_stable)
{
    struct fab_fabric *f = fat_tree(4, 3, 1);
    char *before = slurm_file(f);
    unsigned different = 0;
    for (uint32_t node = 0; node < f->node_count; node++)
        different += differs_after(f, before, node, FAB_NONE);
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_port(f, port)->peer != FAB_NONE)
            different += differs_after(f, before, FAB_NONE, port);
    /* Failures that would change the file if the fabric were not restored: 16 hosts, 8 leaves, and
     * the link of each host. The loop removes a link twice, once by each port. */
    ck_assert_uint_eq(different, 16 + 8 + 2 * 16);
    free(before);
    fab_fabric_unref(f);
}
END_TEST

/* A lost link is not restored if one of its ports has another link now. A lost node is not restored
 * if it is back. */
START_TEST(slurm_moves)
{
    struct fab_fabric *f = leaf_spine(2, 1, 1), *whole = NULL;
    uint32_t leaf = 0, host = f->switch_count;
    while (strcmp(f->nodes[leaf].name, "leaf-002") != 0)
        leaf++;
    struct fab_lost_node nodes[] = {
        {.guid = f->nodes[host].guid,
         .type = FAB_NODE_CA,
         .num_ports = f->nodes[host].num_ports,
         .name = "old-name"},
        {.guid = 77, .type = FAB_NODE_CA, .num_ports = 1, .name = "away"}};
    struct fab_lost_cable cables[] = {
        {{f->nodes[host].guid, f->nodes[leaf].guid}, {1, 30}},
        {{77, f->nodes[leaf].guid}, {1, 31}},
        {{77, f->nodes[0].guid}, {1, 32}},
        {{77, 78}, {1, 1}},
    };
    struct fab_lost lost = {nodes, cables, 2, 4};
    ck_assert_int_eq(fab_fabric_restore(f, &lost, &whole), FAB_OK);
    ck_assert_uint_eq(whole->node_count, f->node_count + 1);
    char *before = slurm_file(f), *after = slurm_file(whole);
    ck_assert_ptr_null(strstr(after, "old-name"));
    ck_assert_uint_eq(whole->link_count, f->link_count + (f->nodes[leaf].num_ports >= 31));
    free(before);
    free(after);
    fab_fabric_unref(f);
    fab_fabric_unref(whole);
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

/* Counts lines without strstr(), which under AddressSanitizer would read the whole text in each
 * call. */
static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Exports damaged tables. Formats without tables are the same as before, and dumps of tables show
 * the damage. No export may grow by more than one line for each table entry and each pair of
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

/* Tables with cycles and dead ends can be exported, too. Afterwards, exports of the correct tables
 * are byte for byte the same as before. */
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
    tcase_add_test(t, pictures);
    tcase_add_test(t, pictures_of_lattices);
    tcase_add_test(t, lanes);
    tcase_add_test(t, slurm_groups);
    tcase_add_test(t, names);
    tcase_add_test(t, slurm_names);
    tcase_add_test(t, slurm_is_stable);
    tcase_add_test(t, slurm_moves);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, broken_tables);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
