/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences of two topologies, written as texts (libfabmgr/view/topology_diff.h). */
#include "libfabmgr/view/topology_diff.h"

#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"
#include "tests/unit/fabrics.h"

/* The words of a topology: sNAME.GUID is a switch, hNAME.GUID a host with one port, and
 * GUID.PORT-GUID.PORT.LANES a link between two ports. */
#define SWITCHES "sleaf-1.1 sleaf-2.2 sspine.3 "
#define LEAVES "sleaf-1.1 sleaf-2.2 "
#define HOSTS "ha.11 hb.12 "

static const struct {
    const char *before, *after, *changes;
} cases[] = {
    {SWITCHES HOSTS "1.1-11.1.4", SWITCHES HOSTS "1.1-11.1.4", ""},
    {SWITCHES HOSTS "1.1-11.1.4", SWITCHES HOSTS "1.2-11.1.4", "moved a/1: leaf-1/1 to leaf-1/2;"},
    {SWITCHES HOSTS "1.1-11.1.4", SWITCHES HOSTS "2.1-11.1.4", "moved a/1: leaf-1/1 to leaf-2/1;"},
    {SWITCHES "ha.11 1.1-11.1.4", SWITCHES "hz.11 1.1-11.1.1", "renamed a to z;rate leaf-1/1;"},
    {SWITCHES "ha.11 1.1-11.1.4", SWITCHES "ha.19 1.1-19.1.4", "removed a;added a;"},
    {SWITCHES "ha.11 1.1-11.1.4", SWITCHES "ha.11", "lost a/1;"},
    /* two hosts at the same leaf have changed places */
    {SWITCHES HOSTS "1.1-11.1.4 1.2-12.1.4", SWITCHES HOSTS "1.2-11.1.4 1.1-12.1.4",
     "moved a/1: leaf-1/1 to leaf-1/2;moved b/1: leaf-1/2 to leaf-1/1;"},
    /* differences in links between switches */
    {SWITCHES "1.5-3.1.4 1.6-3.2.4", SWITCHES "1.5-3.1.4", "lost leaf-1/6;"},
    {SWITCHES "1.5-3.1.4", SWITCHES "1.5-3.1.4 1.6-3.2.4", "new leaf-1/6;"},
    {SWITCHES "1.5-3.1.4", SWITCHES "1.5-3.3.4", "moved leaf-1/5: spine/1 to spine/3;"},
    {SWITCHES "1.5-3.1.4", SWITCHES "2.5-3.1.4", "moved spine/1: leaf-1/5 to leaf-2/5;"},
    {SWITCHES "1.5-3.1.4 2.5-3.2.4", SWITCHES "1.5-3.2.4 2.5-3.1.4",
     "moved leaf-1/5: spine/1 to spine/2;moved leaf-2/5: spine/2 to spine/1;"},
    /* a switch that was added or removed is one difference, without one for each of its links */
    {LEAVES HOSTS "1.1-11.1.4", SWITCHES HOSTS "1.1-11.1.4 1.5-3.1.4", "added spine;"},
    {SWITCHES HOSTS "1.1-11.1.4 1.5-3.1.4", LEAVES HOSTS "1.1-11.1.4", "removed spine;"},
};

static void add_node(struct fab_builder *b, const char *name, unsigned guid, bool is_switch)
{
    struct fab_node_info info = {.node_type = is_switch ? FAB_NODE_SWITCH : FAB_NODE_CA,
                                 .num_ports = is_switch ? 8 : 1,
                                 .node_guid = guid};
    uint32_t ref;
    ck_assert_int_eq(fab_fabric_builder_add_node(b, &info, &ref), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, ref, name, strlen(name)), FAB_OK);
}

static void add_link(struct fab_builder *b, const unsigned guid[2], const unsigned port[2],
                     unsigned lanes)
{
    uint32_t ref[2];
    for (int i = 0; i < 2; i++) {
        struct fab_port_info info = {.port_state = FAB_STATE_INIT, .phys_state = FAB_PHYS_LINKUP};
        ck_assert_int_eq(fab_fabric_text_parse_rate(lanes == 1 ? "1xEDR" : "4xEDR", 5, &info),
                         FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_find_node(b, guid[i], &ref[i]), FAB_OK);
        ck_assert_int_eq(
            fab_fabric_builder_set_port(b, ref[i], (uint8_t)port[i], guid[i] + 0x100, &info),
            FAB_OK);
    }
    ck_assert_int_eq(fab_fabric_builder_link(b, ref[0], (uint8_t)port[0], ref[1], (uint8_t)port[1]),
                     FAB_OK);
}

static struct fab_fabric *fabric_of(const char *text)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_fabric *f = NULL;
    char name[20];
    unsigned guid[2], port[2], lanes;
    int used = 0;
    for (; *text != '\0'; text += used + (text[used] == ' ')) {
        char kind = *text;
        if (kind == 's' || kind == 'h') {
            ck_assert_int_eq(sscanf(text + 1, "%19[^.].%x%n", name, &guid[0], &used), 2);
            add_node(b, name, guid[0], kind == 's');
            used++;
        } else {
            ck_assert_int_eq(sscanf(text, "%x.%u-%x.%u.%u%n", &guid[0], &port[0], &guid[1],
                                    &port[1], &lanes, &used),
                             5);
            add_link(b, guid, port, lanes);
        }
    }
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

static void place(const struct fab_fabric *f, uint32_t port, char text[80])
{
    const struct fab_port *p = fab_fabric_port(f, port);
    snprintf(text, 80, "%s/%u", f->nodes[p->node].desc, p->num);
}

static void write_change(const struct fab_fabric *before, const struct fab_fabric *after,
                         const struct fab_topology_change *c, char *to, size_t len)
{
    static const char *const words[] = {"removed", "added", "renamed", "moved",
                                        "lost",    "new",   "rate"};
    char x[80] = "", was[80] = "", is[80] = "";
    if (c->kind == FAB_TOPOLOGY_NODE_RENAMED) {
        snprintf(to, len, "renamed %s to %s;", before->nodes[c->before].desc,
                 after->nodes[c->after].desc);
    } else if (c->kind < FAB_TOPOLOGY_NODE_RENAMED) {
        snprintf(to, len, "%s %s;", words[c->kind],
                 c->kind == FAB_TOPOLOGY_NODE_REMOVED ? before->nodes[c->before].desc
                                                      : after->nodes[c->after].desc);
    } else {
        place(c->after != FAB_NONE ? after : before, c->after != FAB_NONE ? c->after : c->before,
              x);
        if (c->kind == FAB_TOPOLOGY_LINK_MOVED) {
            place(before, fab_fabric_port(before, c->before)->peer, was);
            place(after, fab_fabric_port(after, c->after)->peer, is);
            snprintf(to, len, "moved %s: %s to %s;", x, was, is);
        } else {
            snprintf(to, len, "%s %s;", words[c->kind], x);
        }
    }
}

START_TEST(changes_are_found)
{
    struct fab_fabric *before = fabric_of(cases[_i].before), *after = fabric_of(cases[_i].after);
    struct fab_topology_change *changes = NULL;
    size_t count = 0, len = 0;
    char text[400] = "";
    ck_assert_int_eq(fab_view_topology_diff(before, after, &changes, &count), FAB_OK);
    for (size_t i = 0; i < count; i++) {
        write_change(before, after, &changes[i], text + len, sizeof text - len);
        len = strlen(text);
    }
    ck_assert_str_eq(text, cases[_i].changes);
    free(changes);
    fab_fabric_unref(before);
    fab_fabric_unref(after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology_diff");
    TCase *tc = tcase_create("topology_diff");
    tcase_add_loop_test(tc, changes_are_found, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
