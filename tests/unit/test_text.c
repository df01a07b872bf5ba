/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topology files: the variants of the format, and the positions of errors. Wherever a file is cut,
 * the reader must not take the rest for a whole fabric. A fabric that is written and read again
 * must be the same.
 */
#include "libfabmgr/fabric/text.h"

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

#include <string.h>

/* a file of ibnetdiscover that was copied from a terminal, with a shell prompt and other text */
static const char field[] =
    "admin@host:~$ ibnetdiscover -g\n"
    "[root@host ~]# cat topo\n"
    "#\n"
    "# Topology file: generated on Tue Jun 15 19:06:08 2021\n"
    "#\n"
    "# Initiated from node 0002c90300000010 port 0002c90300000012\n"
    "\n"
    "Chassis 1 (guid 0x8f10500200b51)\n"
    "# Spine Nodes\n"
    "vendid=0x2c9\r\n"
    "devid=0xcf08\r\n"
    "sysimgguid=0x2c90300000003\t\t# Chassis 1\r\n"
    "switchguid=0x2c90300000003(2c90300000004)\t# ISR9024 line 1\r\n"
    "Switch\t41 \"S-0002c90300000003\"\t\t# \"MF0;leaf \"1\" # x:MQM8700/U1\" enhanced port 0 lid "
    "7 "
    "lmc 0\r\n"
    "[1][ext 5]\t\"H-0002c90300000010\"[1](2c90300000011) \t\t# \"node 1: HCA-1\" lid 65535 "
    "4xHDR\r\n"
    "[2]\"H-0002c90300000010\"[2](2c90300000012)# \"node 1: HCA-1\" lid 8 2xNDR s=4 w=2 v=4\r\n"
    " [41]  \"Agg\"[1](aa01)  # \"Mellanox Technologies Aggregation Node\" lid 9 4xHDR\r\n"
    "\n"
    "# between\n"
    "[5]\t\"R-0000000000000077\"[1][ext 2] (78)\t\t# \"router\" lid 4 12xQDR\n"
    "\n"
    "Non-Chassis Nodes\n"
    "vendid=0x2c9\n"
    "devid=0xcf09\n"
    "caguid=0xaa00\n"
    "Ca1\"Agg\"# Mellanox Technologies Aggregation Node lid 9 lmc 0\n"
    "[1](aa01)\t\"S-0002c90300000003\"[41]\t\t# lid 9 lmc 0 \"leaf\" lid 7 4xHDR\n"
    "\n"
    "caguid=0x2c90300000010\n"
    "Hca\t2 \"H-0002c90300000010\"\t\t# \"node 1: HCA-1\"\n"
    "[1](2c90300000011) \t\"S-0002c90300000003\"[1]\t\t# lid 65535 lmc 0 \"leaf\" lid 7 4xHDR\n"
    "[2](2c90300000012) \t\"S-0002c90300000003\"[2]\t\t# lid 8 lmc 0 \"leaf\" lid 7 2xNDR\n"
    "\n"
    "rtguid=0x77\n"
    "Rt\t2 \"R-0000000000000077\"\t\t# \"router\"\n"
    "[1](78) \t\"S-0002c90300000003\"[5]\t\t# lid 4 lmc 0 \"leaf\" lid 7 12xQDR\n"
    "\n"
    "sat11-0101-0902-02ufm [ mgmt-ha-active ] (config) # ";

static const struct fab_port *port_of(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    ck_assert_uint_ne(node, FAB_NONE);
    return fab_fabric_port(f, fab_fabric_port_id(f, node, num));
}

START_TEST(reads_what_is_found_in_the_field)
{
    struct fab_fabric *f = read_fabric(field, sizeof field - 1);
    assert_sound(f);
    ck_assert_uint_eq(f->node_count, 4);
    ck_assert_uint_eq(f->switch_count, 1);
    ck_assert_uint_eq(f->link_count, 4);
    const struct fab_node *sw = &f->nodes[0];
    ck_assert_uint_eq(sw->guid, 0x2c90300000003);
    ck_assert_uint_eq(sw->num_ports, 41);
    ck_assert_str_eq(sw->desc, "MF0;leaf \"1\" # x:MQM8700/U1");
    ck_assert_uint_eq(sw->info.vendor_id, 0x2c9);
    ck_assert_uint_eq(sw->info.device_id, 0xcf08);
    ck_assert_uint_eq(sw->info.system_guid, 0x2c90300000003);
    ck_assert_uint_eq(fab_fabric_port(f, 0)->guid, 0x2c90300000004);
    ck_assert_uint_eq(f->switches[0].enhanced_port0, 1);
    ck_assert_uint_eq(fab_fabric_port(f, 0)->info.lid, 0);
    ck_assert_uint_eq(fab_fabric_port(f, f->self_port)->guid, 0x2c90300000012);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(reads_ends_of_every_kind)
{
    struct fab_fabric *f = read_fabric(field, sizeof field - 1);
    const struct fab_port *agg = port_of(f, 0xaa00, 1), *host = port_of(f, 0x2c90300000010, 2),
                          *router = port_of(f, 0x77, 1);
    ck_assert(f->nodes[agg->node].aggregation);
    ck_assert_str_eq(f->nodes[agg->node].desc, "Mellanox Technologies Aggregation Node");
    ck_assert(!f->nodes[host->node].aggregation);
    ck_assert_str_eq(f->nodes[host->node].desc, "node 1: HCA-1");
    ck_assert_uint_eq(f->nodes[router->node].type, FAB_NODE_ROUTER);
    ck_assert_uint_eq(fab_fabric_port(f, host->peer)->num, 2);
    ck_assert_uint_eq(host->info.port_state, FAB_STATE_INIT);
    ck_assert_uint_eq(host->info.phys_state, FAB_PHYS_LINKUP);
    ck_assert_uint_eq(host->info.lid, 0);
    ck_assert_uint_eq(fab_wire_link_rate(&host->info), 200000);
    ck_assert_uint_eq(fab_wire_link_width(&fab_fabric_port(f, router->peer)->info), 12);
    const struct fab_port *bare = port_of(f, 0x77, 2);
    ck_assert(bare->present);
    ck_assert_uint_eq(bare->guid, 0x79);
    ck_assert_uint_eq(bare->info.port_state, FAB_STATE_DOWN);
    fab_fabric_unref(f);
}
END_TEST

/* Each case is a file with one switch and one adapter, written in another variant of the format.
 * H() writes the adapter. */
#define H(text)                                                                                    \
    "Ca\t1 \"H-2\"\t# \"host\"\n[1](2) \t\"S-1\"[" text "]\t# lid 2 lmc 0 \"s\" lid 1 4xEDR\n"

static const struct {
    const char *what, *text;
    /* ports: number of ports of the switch. port: the switch port with the link to the adapter. */
    uint8_t ports, port;
    const char *desc; /* NodeDescription of the adapter */
} ways[] = {
    {"tabs",
     "Switch\t40 \"S-1\"\t\t# \"s\" base port 0 lid 1 lmc 0\n"
     "[3]\t\"H-2\"[1](3) \t\t# \"host\" lid 2 4xEDR\n" H("3"),
     40, 3, "host"},
    {"blanks for tabs",
     "Switch 40 \"S-1\" # \"s\" base port 0 lid 1 lmc 0\n"
     "[3] \"H-2\"[1](3) # \"host\" lid 2 4xEDR\n"
     "Ca 1 \"H-2\" # \"host\"\n[1](2) \"S-1\"[3] # lid 2 lmc 0 \"s\" lid 1 4xEDR\n",
     40, 3, "host"},
    {"neither",
     "Switch40\"S-1\"# \"s\" base port 0 lid 1 lmc 0\n[3]\"H-2\"[1](3)# \"host\" lid 2 4xEDR\n"
     "Ca1\"H-2\"# \"host\"\n[1](2)\"S-1\"[3]# lid 2 lmc 0 \"s\" lid 1 4xEDR\n",
     40, 3, "host"},
    {"Hca", "Switch 40 \"S-1\"\n[3] \"H-2\"[1]\nHca\t1 \"H-2\"\t# \"host\"\n[1] \"S-1\"[3]\n", 40,
     3, "host"},
    {"Rt", "Switch 40 \"S-1\"\n[3] \"R-2\"[1]\nRt\t1 \"R-2\"\t# \"router\"\n[1] \"S-1\"[3]\n", 40,
     3, "router"},
    {"external ports",
     "Switch 40 \"S-1\"\n[3][ext 17]\t\"H-2\"[1](3)\n"
     "Ca 1 \"H-2\" # \"host\"\n[1](2) \"S-1\"[3][ext 17]\n",
     40, 3, "host"},
    {"no LID yet",
     "Switch 40 \"S-1\" # \"s\" base port 0 lid 65535 lmc 0\n"
     "[3] \"H-2\"[1](3) # \"host\" lid 65535 4xEDR\n"
     "Ca 1 \"H-2\" # \"host\"\n[1](2) \"S-1\"[3] # lid 65535 lmc 0 \"s\" lid 65535 4xEDR\n",
     40, 3, "host"},
    {"64 cages and one port inside", "Switch 65 \"S-1\"\n[65] \"H-2\"[1](3)\n" H("65"), 65, 65,
     "host"},
    {"128 cages and one port inside", "Switch 129 \"S-1\"\n[129] \"H-2\"[1](3)\n" H("129"), 129,
     129, "host"},
    {"as many as can be", "Switch 254 \"S-1\"\n[254] \"H-2\"[1](3)\n" H("254"), 254, 254, "host"},
    {"quotes in a name",
     "Switch 40 \"S-1\"\n[3] \"H-2\"[1] # \"a \"b\" c\" lid 2 4xEDR\n"
     "Ca 1 \"H-2\" # \"a \"b\" c\"\n[1] \"S-1\"[3]\n",
     40, 3, "a \"b\" c"},
    {"colons in a name",
     "Switch 40 \"S-1\"\n[3] \"H-2\"[1]\n"
     "Ca 1 \"H-2\" # \"MF0;rack:7:U1 HCA-1\"\n[1] \"S-1\"[3]\n",
     40, 3, "MF0;rack:7:U1 HCA-1"},
    {"lines as Windows ends them",
     "Switch 40 \"S-1\"\r\n[3] \"H-2\"[1]\r\n"
     "Ca 1 \"H-2\" # \"host\"\r\n[1] \"S-1\"[3]\r\n",
     40, 3, "host"},
};

START_TEST(each_way_of_writing_is_read)
{
    struct fab_fabric *f = read_fabric(ways[_i].text, strlen(ways[_i].text));
    assert_sound(f);
    ck_assert_uint_eq(f->switch_count, 1);
    ck_assert_uint_eq(f->node_count, 2);
    ck_assert_uint_eq(f->link_count, 1);
    ck_assert_uint_eq(f->nodes[0].num_ports, ways[_i].ports);
    ck_assert_uint_eq(fab_fabric_peer_node(f, fab_fabric_port_id(f, 0, ways[_i].port)), 1);
    ck_assert_uint_eq(fab_fabric_port(f, fab_fabric_port_id(f, 0, ways[_i].port))->info.lid, 0);
    ck_assert_msg(strcmp(f->nodes[1].desc, ways[_i].desc) == 0, "%s: \"%s\"", ways[_i].what,
                  f->nodes[1].desc);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(guids_that_are_not_said_are_those_of_ibsim)
{
    static const char text[] = "Switch 8 \"Switch1\"\n"
                               "[1] \"Hca1\"[1]\n"
                               "[2] \"Hca2\"\n"
                               "switchguid=0x500\n"
                               "Switch 8 \"Switch2\"\n"
                               "Switch 8 \"Switch3\"\n"
                               "Hca 2 \"Hca1\"\n"
                               "[1] \"Switch1\" [1] w=2 s=1\n"
                               "Hca 2 \"Hca2\" # \"named\"\n"
                               "[1] \"Switch1\"[2]\n";
    struct fab_fabric *f = read_fabric(text, sizeof text - 1);
    ck_assert_uint_eq(f->nodes[0].guid, 0x500);
    ck_assert_uint_eq(f->nodes[1].guid, 0x501);
    ck_assert_uint_eq(f->nodes[2].guid, 0x200000);
    ck_assert_uint_eq(f->nodes[3].guid, 0x100000);
    ck_assert_str_eq(f->nodes[3].desc, "Hca1");
    ck_assert_uint_eq(f->nodes[4].guid, 0x100003);
    ck_assert_str_eq(f->nodes[4].desc, "named");
    ck_assert_uint_eq(f->self_port, FAB_NONE);
    const struct fab_port *slow = port_of(f, 0x100000, 1), *fast = port_of(f, 0x100003, 1);
    ck_assert_uint_eq(slow->guid, 0x100001);
    ck_assert_uint_eq(fab_wire_link_rate(&slow->info), 10000);
    /* the file gives the rate of this link at one port only, and the reader uses it for both */
    ck_assert_uint_eq(fab_wire_link_rate(&fab_fabric_port(f, slow->peer)->info), 10000);
    /* the file does not give the rate of this link at all, so the reader assumes 4x EDR */
    ck_assert_uint_eq(fab_wire_link_rate(&fast->info), 100000);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(the_far_end_may_name_the_port_guid)
{
    static const char text[] = "Switch 8 \"s\"\n[1] \"h\"[1](abc)\nCa 1 \"h\"\n[1] \"s\"[1]\n";
    struct fab_fabric *f = read_fabric(text, sizeof text - 1);
    ck_assert_uint_eq(fab_fabric_port(f, fab_fabric_port_id(f, 1, 1))->guid, 0xabc);
    fab_fabric_unref(f);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

#define S "Switch 8 \"s\"\n"
#define PAIR S "[1] \"h\"[1]\nCa 1 \"h\"\n"

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} mistakes[] = {
    {"", 1, 1, "expected a Switch, Ca or Rt line"},
    {"hello\n", 1, 1, "expected a Switch, Ca or Rt line"},
    {"Switch \"s\"\n", 1, 8, "the number of ports"},
    {"Switch\n", 1, 7, "the number of ports"},
    {"Switch 0 \"s\"\n", 1, 7, "1 to 254"},
    {"Switch 255 \"s\"\n", 1, 8, "at most 254"},
    {"Switch 8 s\n", 1, 10, "id in quotes"},
    {"Switch 8 \"s\n", 1, 10, "closing quote"},
    {"Switch 8 \"s\" x\n", 1, 14, "a comment or the end"},
    {"Switch 8 \"s\" # \"x\n", 1, 16, "closing quote"},
    {S S, 2, 11, "already on line 1"},
    {"caguid=0x1\nCa 1 \"a\"\ncaguid=0x1\nCa 1 \"b\"\n", 4, 1, "belongs to another node"},
    {"[1] \"h\"[1]\n", 1, 1, "a Switch, Ca or Rt line before"},
    {S "[0] \"h\"[1]\n", 2, 2, "port 0"},
    {S "[9] \"h\"[1]\n", 2, 2, "at most 8"},
    {S "[1 \"h\"[1]\n", 2, 4, "']'"},
    {S "[1] h[1]\n", 2, 5, "in quotes"},
    {S "[1] \"h\"[x]\n", 2, 9, "a port number"},
    {S "[1] \"h\"[1](xyz)\n", 2, 12, "a port GUID"},
    {S "[1] \"h\"[1](12\n", 2, 14, "')'"},
    {S "[1] \"h\"[1] junk\n", 2, 12, "a comment or the end"},
    {S "[1] \"h\"[1] w=99\n", 2, 12, "w="},
    {S "[1][ext 5 \"h\"\n", 2, 4, "']'"},
    {S "[1] \"h\"[1]\n", 2, 2, "a node of this file"},
    {PAIR, 2, 2, "a line for the other end"},
    {PAIR "[1] \"s\"[2]\n", 2, 2, "leads elsewhere on line 4"},
    {S "[1] \"h\"[2]\nCa 1 \"h\"\n", 2, 2, "expected at most 1"},
    {PAIR "[1] \"s\"[1]\n[1] \"s\"[1]\n", 5, 2, "already on line 4"},
    {S "[1] \"s\"[1]\n", 2, 2, "to itself"},
    {"vendid=0x1000000\n", 1, 8, "too large"},
    {"vendid=\n", 1, 8, "a number"},
    {"vendid\n", 1, 7, "'='"},
    {"devid=0x1 x\n", 1, 11, "a comment or the end"},
    {"caguid=0x10000000000000000\n", 1, 8, "too large"},
    {"caguid=0\n", 1, 1, "cannot be 0"},
    {"caguid=0x1\n", 1, 1, "no node follows"},
    {S "caguid=0x1\n", 2, 1, "no node follows"},
    {"caguid=0x1\n\n" S "# end\n", 1, 1, "no node follows"},
    {S "switchguid=0x1\n\n\n", 2, 1, "no node follows"},
    {"rtguid=0x1\n# a comment\n", 1, 1, "no node follows"},
    {"\n# nothing\n\n", 3, 1, "expected a Switch, Ca or Rt line, found none"},
    {"speed=9\n" S, 1, 1, "the mask"},
    {"include \"x\"\n", 1, 1, "not supported"},
    {S "@[1] \"alias\"\n", 2, 1, "alias"},
    {"Switch 8 \"s\"", 1, 13, "the file ends within this line"},
    {S "[1] \"h\"[1] # 4xE", 2, 17, "the file ends within this line"},
    {S "swi", 2, 4, "the file ends within this line"},
    {S "\xff\xfe[1]\n", 0, 0, NULL}, /* a line that is no text is ignored */
    {S "[root@host ~]# \n", 0, 0, NULL},
    {S "Cable plan:\nSwitches\nSwitch-1>\ndo-it$\n", 0, 0, NULL},
};

START_TEST(mistakes_are_told_with_their_place)
{
    struct fab_builder *b = NULL;
    struct fab_text_error e = {0};
    int status = fab_fabric_text_read(mistakes[_i].text, strlen(mistakes[_i].text), &b, &e);
    if (mistakes[_i].message == NULL) {
        ck_assert_msg(status == FAB_OK, "%s", e.message);
        fab_fabric_builder_free(b);
        return;
    }
    ck_assert_int_eq(status, FAB_E_FORMAT);
    ck_assert_ptr_null(b);
    ck_assert_msg(e.line == mistakes[_i].line && e.column == mistakes[_i].column &&
                      strstr(e.message, mistakes[_i].message) != NULL,
                  "%d: found %u:%u: %s", _i, e.line, e.column, e.message);
}
END_TEST

START_TEST(too_many_ports_are_refused)
{
    size_t count = (4u << 20) / 255 + 2, len = 0;
    char *text = malloc(count * 32);
    struct fab_builder *b = NULL;
    struct fab_text_error e;
    for (size_t i = 0; i < count; i++)
        len += (size_t)sprintf(text + len, "Ca 254 \"%zu\"\n", i);
    ck_assert_int_eq(fab_fabric_text_read(text, len, &b, &e), FAB_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.message, "more than 4194304 ports"));
    free(text);
}
END_TEST

/* ---- round trips ----------------------------------------------------------------------------- */

static char *written(const struct fab_fabric *f, size_t *ret_len)
{
    char *text = NULL;
    ck_assert_int_eq(fab_fabric_text_write(f, &text, ret_len), FAB_OK);
    ck_assert_uint_eq(strlen(text), *ret_len);
    return text;
}

static void assert_round_trip(const struct fab_fabric *f)
{
    size_t len, again_len;
    char *text = written(f, &len);
    struct fab_fabric *g = read_fabric(text, len);
    char *again = written(g, &again_len);
    assert_sound(g);
    assert_same_fabric(f, g);
    ck_assert_str_eq(text, again);
    fab_fabric_unref(g);
    free(text);
    free(again);
}

START_TEST(random_fabrics_come_back)
{
    uint64_t seed = test_seed("round trip", 100 + (uint64_t)_i);
    struct fab_fabric *f = random_fabric(1 + (uint32_t)_i * 3, 5, 3, seed), *g;
    struct fab_builder *b = fab_fabric_builder_from(f);
    fab_fabric_builder_set_self(b, f->node_count - 1, 1);
    g = sealed(b);
    assert_round_trip(f);
    assert_round_trip(g);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

START_TEST(the_field_comes_back)
{
    struct fab_fabric *f = read_fabric(field, sizeof field - 1);
    assert_round_trip(f);
    fab_fabric_unref(f);
}
END_TEST

static const char *const names[] = {
    "",
    "plain",
    "a \"quoted\" name",
    "\"",
    "ends with a quote\"",
    "# hash ; semicolon : colon",
    "lid 5 lmc 3 enhanced port 0",
    "[1] \"S-1\"[2] 4xSDR",
    "\xc3\xa4\xff latin and utf-8",
    "0123456789012345678901234567890123456789012345678901234567890123"};

START_TEST(names_come_back)
{
    struct fab_fabric *f = leaf_spine(2, 1, 1);
    struct fab_builder *b = fab_fabric_builder_from(f);
    fab_fabric_builder_set_desc(b, 0, names[_i], strlen(names[_i]));
    fab_fabric_builder_set_desc(b, 3, names[_i], strlen(names[_i]));
    struct fab_fabric *named = sealed(b);
    assert_round_trip(named);
    fab_fabric_unref(named);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(control_characters_become_blanks)
{
    struct fab_fabric *f = leaf_spine(1, 0, 1), *g;
    struct fab_builder *b = fab_fabric_builder_from(f);
    size_t len;
    fab_fabric_builder_set_desc(b, 0, "a\nb\tc\x7f", 6);
    g = sealed(b);
    char *text = written(g, &len);
    struct fab_fabric *back = read_fabric(text, len);
    ck_assert_str_eq(back->nodes[0].desc, "a b c ");
    free(text);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
    fab_fabric_unref(back);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

/* Reads len bytes from a buffer of exactly that size, so that a sanitizer detects an overrun. */
static struct fab_fabric *try_read(const char *text, size_t len)
{
    struct fab_builder *b = NULL;
    struct fab_text_error e;
    char *exact = malloc(len > 0 ? len : 1);
    memcpy(exact, text, len);
    int status = fab_fabric_text_read(exact, len, &b, &e);
    free(exact);
    ck_assert(status == FAB_OK || status == FAB_E_FORMAT);
    return status == FAB_OK ? sealed(b) : NULL;
}

/* A truncated file was read as the fabric f. Checks that this is the whole fabric g. A single node
 * without links may be complete even in a truncated file. */
static void assert_whole(const struct fab_fabric *f, const struct fab_fabric *g)
{
    if (g != NULL && (g->node_count != 1 || g->link_count != 0))
        assert_same_fabric(f, g);
}

START_TEST(a_text_cut_anywhere_is_never_half_a_fabric)
{
    struct fab_fabric *f = random_fabric(4, 3, 3, 1 + (uint64_t)_i);
    size_t len;
    char *text = written(f, &len);
    for (size_t cut = 0; cut < len; cut++) {
        struct fab_fabric *g = try_read(text, cut);
        assert_whole(f, g);
        fab_fabric_unref(g);
    }
    free(text);
    fab_fabric_unref(f);
}
END_TEST

/* Certain words begin a block, such as Switch, Ca and vendid. If the file ends with the first
 * letters of such a word, it was truncated. Other text at the end, or such letters with more text
 * behind them, are no sign of this. */
START_TEST(the_beginning_of_a_word_is_a_cut)
{
    static const char *const ends[] = {"S", "s", "Sw", "Switc", "C", "c", "Rt", "v", "vend"};
    static const char *const others[] = {"X", "Sx", "S\n", "S ", "Rx", "1", "Switches"};
    struct fab_fabric *f = random_fabric(4, 3, 3, 1);
    size_t len;
    char *text = written(f, &len), longer[20000];
    ck_assert_uint_lt(len, sizeof longer - 20);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(longer, sizeof longer, "%s%s", text, ends[i]);
        ck_assert_msg(try_read(longer, strlen(longer)) == NULL, "'%s' at the end", ends[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(longer, sizeof longer, "%s%s", text, others[i]);
        struct fab_fabric *g = try_read(longer, strlen(longer));
        ck_assert_msg(g != NULL, "'%s' at the end", others[i]);
        assert_same_fabric(f, g);
        fab_fabric_unref(g);
    }
    free(text);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(the_field_cut_anywhere_is_never_half_a_fabric)
{
    struct fab_fabric *f = read_fabric(field, sizeof field - 1);
    for (size_t cut = 0; cut < sizeof field - 1; cut++) {
        struct fab_fabric *g = try_read(field, cut);
        assert_whole(f, g);
        fab_fabric_unref(g);
    }
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_damaged_text_is_refused_or_read_soundly)
{
    uint64_t seed = test_seed("damage", 7 + (uint64_t)_i);
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    for (unsigned round = 0; round < 400; round++) {
        char text[sizeof field];
        memcpy(text, field, sizeof text);
        for (unsigned i = 0; i <= round % 4; i++)
            text[fab_base_prng_below(&prng, sizeof field - 1)] = (char)fab_base_prng_next(&prng);
        struct fab_fabric *g = try_read(text, sizeof field - 1);
        if (g != NULL)
            assert_sound(g);
        fab_fabric_unref(g);
    }
}
END_TEST

/* ---- rates ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    unsigned width;
    uint32_t mbps; /* 0: the text must be refused */
    const char *speed;
} rates[] = {
    {"4x EDR", 4, 100000, "EDR"},
    {"4xEDR", 4, 100000, "EDR"},
    {"1xSDR", 1, 2500, "SDR"},
    {"4xDDR", 4, 20000, "DDR"},
    {"4xQDR", 4, 40000, "QDR"},
    {"4xFDR10", 4, 40000, "QDR"},
    {"4xFDR", 4, 56000, "FDR"},
    {"2xHDR", 2, 100000, "HDR"},
    {"4xHDR", 4, 200000, "HDR"},
    {"4xNDR", 4, 400000, "NDR"},
    {"2xNDR", 2, 200000, "NDR"},
    {"4xXDR", 4, 800000, "XDR"},
    {"12xEDR", 12, 300000, "EDR"},
    {"8xEDR", 8, 200000, "EDR"},
    {"", 0, 0, NULL},
    {"4x", 0, 0, NULL},
    {"xEDR", 0, 0, NULL},
    {"3xEDR", 0, 0, NULL},
    {"4xEDRR", 0, 0, NULL},
    {"4xED", 0, 0, NULL},
    {"4EDR", 0, 0, NULL},
    {"4x???", 0, 0, NULL},
};

START_TEST(rates_are_read)
{
    struct fab_port_info info = {0};
    int status = fab_fabric_text_parse_rate(rates[_i].text, strlen(rates[_i].text), &info);
    ck_assert_int_eq(status, rates[_i].mbps != 0 ? FAB_OK : FAB_E_FORMAT);
    ck_assert_uint_eq(fab_wire_link_width(&info), rates[_i].width);
    if (status != FAB_OK)
        return;
    ck_assert_str_eq(fab_wire_link_speed(&info), rates[_i].speed);
    ck_assert_uint_eq(fab_wire_link_rate(&info), rates[_i].mbps);
    ck_assert_uint_ne(info.width_enabled & info.width_active, 0);
    ck_assert_uint_ne(info.speed_enabled & info.speed_active, 0);
    ck_assert_uint_eq(info.speed_ext_enabled & info.speed_ext_active, info.speed_ext_active);
}
END_TEST

/* ---- files of real fabrics and of other programs -----------------------------------------------
 */

static const struct {
    const char *path;
    uint32_t switches, nodes, links;
} files[] = {
    {"sat11-hdr-2021/sat11.repaired.ibnetdiscover", 400, 2728, 8723},
    {"psmn-x5-qdr-2020/X5.ibnetdiscover", 11, 100, 159},
    {"k4n3-fattree-synthetic/k-4-n-3-Full.ibsim", 80, 208, 384},
    {"ibsim-net-examples/net", 2, 4, 4},
    {"ibsim-net-examples/net.1", 1, 3, 2},
    {"ibsim-net-examples/net.2sw2path", 2, 4, 4},
    {"ibsim-net-examples/net.2sw2path4hca", 2, 6, 6},
    {"ibsim-net-examples/net.2sw2path4hca2port", 2, 4, 6},
};

static char *load(const char *folder, const char *name, size_t *ret_len)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    char *text = malloc(4u << 20);
    *ret_len = fread(text, 1, 4u << 20, file);
    fclose(file);
    return text;
}

START_TEST(real_fabrics_are_read)
{
    const char *folder = getenv("FABRICD_TOPOLOGIES");
    size_t len;
    if (folder == NULL) {
        printf("# SKIP %s: FABRICD_TOPOLOGIES is not set\n", files[_i].path);
        return;
    }
    char *text = load(folder, files[_i].path, &len);
    struct fab_fabric *f = read_fabric(text, len);
    assert_sound(f);
    ck_assert_uint_eq(f->switch_count, files[_i].switches);
    ck_assert_uint_eq(f->node_count, files[_i].nodes);
    ck_assert_uint_eq(f->link_count, files[_i].links);
    assert_round_trip(f);
    fab_fabric_unref(f);
    free(text);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fabric/text");
    TCase *reading = tcase_create("reading"), *trips = tcase_create("round trips"),
          *damage = tcase_create("damage"), *real = tcase_create("real");
    tcase_add_test(reading, reads_what_is_found_in_the_field);
    tcase_add_test(reading, reads_ends_of_every_kind);
    tcase_add_loop_test(reading, each_way_of_writing_is_read, 0, COUNT(ways));
    tcase_add_test(reading, guids_that_are_not_said_are_those_of_ibsim);
    tcase_add_test(reading, the_far_end_may_name_the_port_guid);
    tcase_add_loop_test(reading, mistakes_are_told_with_their_place, 0, COUNT(mistakes));
    tcase_add_test(reading, too_many_ports_are_refused);
    tcase_add_loop_test(reading, rates_are_read, 0, COUNT(rates));
    tcase_add_loop_test(trips, random_fabrics_come_back, 0, 10);
    tcase_add_test(trips, the_field_comes_back);
    tcase_add_loop_test(trips, names_come_back, 0, COUNT(names));
    tcase_add_test(trips, control_characters_become_blanks);
    tcase_add_loop_test(damage, a_text_cut_anywhere_is_never_half_a_fabric, 0, 4);
    tcase_add_test(damage, the_field_cut_anywhere_is_never_half_a_fabric);
    tcase_add_test(damage, the_beginning_of_a_word_is_a_cut);
    tcase_add_loop_test(damage, a_damaged_text_is_refused_or_read_soundly, 0, 4);
    tcase_add_loop_test(real, real_fabrics_are_read, 0, COUNT(files));
    tcase_set_timeout(reading, 60);
    tcase_set_timeout(damage, 60);
    tcase_set_timeout(real, 60);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, trips);
    suite_add_tcase(suite, damage);
    suite_add_tcase(suite, real);
    return test_run(suite);
}
