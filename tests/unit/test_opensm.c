/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion of OpenSM's configuration: what each option, each further file and each unknown
 * option becomes. tests/integration/test_import.sh converts OpenSM's own template. */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/convert.h"
#include "tests/unit/testing.h"

static struct fab_opensm_conf conf;
static struct fab_opensm_input in;
static struct fab_opensm_import out;

static void setup(void)
{
    in = (struct fab_opensm_input){.conf = &conf, .folder = "/d"};
}

static void teardown(void)
{
    fab_opensm_import_fini(&out);
    fab_opensm_conf_fini(&conf);
}

static void give(enum fab_opensm_file kind, const char *text)
{
    in.file[kind].text = text;
    in.file[kind].path = "/o/file";
    in.file[kind].len = strlen(text);
}

static void import(const char *text)
{
    ck_assert_int_eq(fab_opensm_conf_read(text, strlen(text), &conf), FAB_OK);
    ck_assert_int_eq(fab_opensm_import(&in, &out), FAB_OK);
}

static const struct fab_opensm_item *item(const char *name)
{
    for (size_t i = 0; i < out.count; i++)
        if (strcmp(out.item[i].name, name) == 0)
            return &out.item[i];
    ck_abort_msg("no item %s", name);
    return NULL;
}

static void is(const char *name, enum fab_opensm_fate fate, const char *setting)
{
    const struct fab_opensm_item *i = item(name);
    ck_assert_msg(i->fate == fate && strcmp(i->setting, setting) == 0, "%s is %s, %s", name,
                  fab_opensm_fate_name(i->fate), i->setting);
}

static void has_line(const char *line)
{
    char text[300];
    snprintf(text, sizeof text, "\n%s\n", line);
    ck_assert_msg(strstr(out.output[0].text, text) != NULL, "%s is not in:\n%s", line,
                  out.output[0].text);
}

START_TEST(opensm_defaults_need_no_setting)
{
    import("");
    for (size_t i = 0; i < out.count; i++) {
        ck_assert_msg(out.item[i].fate == FAB_OPENSM_DEFAULT ||
                          (out.item[i].fate == FAB_OPENSM_NONE && out.item[i].note[0] != '\0'),
                      "%s", out.item[i].name);
        ck_assert_str_eq(out.item[i].setting, "");
    }
    ck_assert_uint_eq(out.outputs, 1);
    ck_assert_ptr_null(strchr(out.output[0].text, ':'));
}
END_TEST

START_TEST(numbers_become_settings)
{
    import("lmc 2\n# lmc 3\nsweep_interval\t30 \nhead_of_queue_lifetime 0x13\r\n"
           "max_op_vls 3\nsm_priority 0xf\ntransaction_timeout 400\nsubnet_timeout 99\n"
           "packet_life_time 18\nsweep_interval 40");
    is("lmc", FAB_OPENSM_TAKEN, "subnet.lmc: 2");
    is("sweep_interval", FAB_OPENSM_TAKEN, "sweep.light_interval: 40");
    ck_assert_uint_eq(item("sweep_interval")->line, 10);
    is("head_of_queue_lifetime", FAB_OPENSM_TAKEN, "subnet.hoq_life: 19");
    is("max_op_vls", FAB_OPENSM_TAKEN, "subnet.max_vls: 4");
    is("sm_priority", FAB_OPENSM_TAKEN, "subnet.sm_priority: 15");
    is("transaction_timeout", FAB_OPENSM_TAKEN, "smp.timeout_ms: 400");
    is("subnet_timeout", FAB_OPENSM_DECIDE, "");
    is("packet_life_time", FAB_OPENSM_DEFAULT, "");
    has_line("  lmc: 2");
    has_line("  light_interval: 40");
}
END_TEST

START_TEST(engines_are_renamed_and_get_the_fallback)
{
    static const struct {
        const char *theirs, *ours;
        enum fab_opensm_fate fate;
    } rows[] = {
        {"minhop", "routing.engine: minhop, updn", FAB_OPENSM_TAKEN},
        {"ftree,updn", "routing.engine: fattree, updn", FAB_OPENSM_TAKEN},
        {"torus-2QoS,no_fallback", "routing.engine: torus", FAB_OPENSM_TAKEN},
        {"dfsssp, nue", "routing.engine: dfsssp, nue, updn", FAB_OPENSM_TAKEN},
        {"dfsssp, sssp, dfsssp", "routing.engine: dfsssp, sssp, updn", FAB_OPENSM_TAKEN},
        {"lash,updn", "routing.engine: updn", FAB_OPENSM_DECIDE},
        {"lash", "", FAB_OPENSM_DECIDE},
        {"file", "", FAB_OPENSM_DECIDE},
        {"(null)", "", FAB_OPENSM_DEFAULT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[100];
        snprintf(text, sizeof text, "routing_engine %s\n", rows[i].theirs);
        import(text);
        is("routing_engine", rows[i].fate, rows[i].ours);
        teardown();
    }
    import("");
}
END_TEST

START_TEST(keys_go_to_files_of_their_own)
{
    import("m_key 0xdeadbeef\nm_key_lease_period 30\nm_key_protection_level 1\nsm_key 7\n");
    is("m_key", FAB_OPENSM_TAKEN, "subnet.m_key: 'file:/d/opensm-m_key'");
    is("m_key_lease_period", FAB_OPENSM_TAKEN, "subnet.m_key_lease: 30");
    is("sm_key", FAB_OPENSM_TAKEN, "subnet.sm_key: 'file:/d/opensm-sm_key'");
    ck_assert_uint_eq(out.outputs, 3);
    ck_assert(out.output[1].secret && !out.output[0].secret);
    ck_assert_str_eq(out.output[1].text, "0x00000000deadbeef\n");
    ck_assert_ptr_null(strstr(out.output[0].text, "dead"));
    for (size_t i = 0; i < out.count; i++)
        ck_assert_ptr_null(strstr(out.item[i].value, "dead"));
}
END_TEST

START_TEST(options_of_qos_count_only_with_qos)
{
    const char *text = "qos_sl2vl 0,1,2\nqos_ca_vlarb_low 0:4\nqos_high_limit 10\n";
    import(text);
    is("qos_sl2vl", FAB_OPENSM_NONE, "");
    is("qos_ca_vlarb_low", FAB_OPENSM_NONE, "");
    teardown();
    char with[200];
    snprintf(with, sizeof with, "qos TRUE\n%s", text);
    import(with);
    is("qos_sl2vl", FAB_OPENSM_DECIDE, "qos.sl2vl: '0,1,2'");
    is("qos_high_limit", FAB_OPENSM_DECIDE, "qos.high_limit: 10");
    is("qos_ca_vlarb_low", FAB_OPENSM_DECIDE, "");
}
END_TEST

START_TEST(unknown_options_have_line_and_near_miss)
{
    import("lmc 0\nsweep_intervall 3\nfrobnicate TRUE\n");
    const struct fab_opensm_item *i = item("sweep_intervall");
    ck_assert_int_eq(i->fate, FAB_OPENSM_UNKNOWN);
    ck_assert_uint_eq(i->line, 2);
    ck_assert_ptr_nonnull(strstr(i->note, "did you mean sweep_interval?"));
    ck_assert_uint_eq(item("frobnicate")->line, 3);
    ck_assert_ptr_null(strstr(item("frobnicate")->note, "did you mean"));
}
END_TEST

START_TEST(files_are_copied_or_refused_with_their_line)
{
    give(FAB_OPENSM_LIDS, "0x1 0x4 0x7\n\n");
    give(FAB_OPENSM_ROOTS, "0x2\n# none\n 0x3 switch\n");
    give(FAB_OPENSM_NAMES, "0x1 \"a\"\n0x2 \"a\"\n");
    give(FAB_OPENSM_PARTITIONS, "Default=0x7fff, ipoib : ALL=full ;\n");
    give(FAB_OPENSM_M_KEYS, "0x1 0x77\n");
    give(FAB_OPENSM_IO, "0x5\n0x6\n");
    give(FAB_OPENSM_CN, "0x5\nswitch\n");
    give(FAB_OPENSM_TORUS, "# t\ntorus 3T 4T 5\n");
    import("root_guid_file /r\nnode_name_map_name /n\nio_guid_file /i\ncn_guid_file /c\n"
           "routing_engine torus-2QoS\n");
    is("guid2lid", FAB_OPENSM_TAKEN, "subnet.lid_file: '/d/guid2lid'");
    is("root_guid_file", FAB_OPENSM_TAKEN, "routing.roots: 2 GUIDs");
    has_line("  roots: [0x0000000000000002, 0x0000000000000003]");
    is("partition_config_file", FAB_OPENSM_TAKEN, "partitions.file: '/d/partitions.conf'");
    is("guid2mkey", FAB_OPENSM_TAKEN, "subnet.m_key_file: '/d/guid2mkey'");
    is("node_name_map_name", FAB_OPENSM_DECIDE, "");
    ck_assert_ptr_nonnull(strstr(item("node_name_map_name")->note, "/o/file:2: the name is that"));
    is("io_guid_file", FAB_OPENSM_NONE, "");
    is("cn_guid_file", FAB_OPENSM_DECIDE, "");
    ck_assert_ptr_nonnull(strstr(item("cn_guid_file")->note, "/o/file:2: expected a GUID"));
    ck_assert_ptr_nonnull(strstr(item("torus_config")->note, "torus of 3 x 4 x 5"));
    for (size_t i = 0; i < out.outputs; i++)
        ck_assert(out.output[i].secret == (strcmp(out.output[i].name, "guid2mkey") == 0));
}
END_TEST

START_TEST(missing_files_are_told_if_they_were_named)
{
    import("root_guid_file /r\n");
    is("root_guid_file", FAB_OPENSM_DECIDE, "");
    is("cn_guid_file", FAB_OPENSM_DEFAULT, "");
    is("partition_config_file", FAB_OPENSM_DEFAULT, "");
}
END_TEST

START_TEST(limits_are_kept)
{
    static char text[FAB_OPENSM_CONF_MAX + 2];
    memset(text, '#', sizeof text - 1);
    ck_assert_int_eq(fab_opensm_conf_read(text, sizeof text - 1, &conf), FAB_E_LIMIT);
    memset(text, 'a', sizeof text - 1);
    ck_assert_int_eq(fab_opensm_conf_read(text, 70000, &conf), FAB_E_LIMIT);
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "a\n", 2);
    ck_assert_int_eq(fab_opensm_conf_read(text, 2 * FAB_OPENSM_LINES_MAX, &conf), FAB_OK);
    fab_opensm_conf_fini(&conf);
    ck_assert_int_eq(fab_opensm_conf_read(text, 2 * FAB_OPENSM_LINES_MAX + 2, &conf), FAB_E_LIMIT);
    import("log_prefix 'it''s'\nqos TRUE\nqos_vlarb_low a'b\n");
    has_line("  vlarb_low: 'a''b'");
}
END_TEST

/* ---- to OpenSM ------------------------------------------------------------------------------- */

static const char *output_of(const struct fab_opensm_export *e, const char *name)
{
    for (size_t i = 0; i < e->outputs; i++)
        if (strcmp(e->output[i].name, name) == 0)
            return e->output[i].text;
    return "";
}

START_TEST(settings_become_options_again)
{
    const struct fab_opensm_port port[] = {
        {.guid = 0x11, .node_guid = 0x10, .lid = 4, .lmc = 1, .node_name = "host 1"},
        {.guid = 0x12, .node_guid = 0x10, .lid = 6, .lmc = 1, .node_name = "host 1"},
        {.guid = 0x20, .node_guid = 0x20, .lid = 1, .node_name = "leaf\"1"},
        {.guid = 0x30, .node_guid = 0x30, .lid = 0, .node_name = "spine"},
    };
    const struct fab_opensm_export_input x = {
        .port = port,
        .port_count = 4,
        .settings = "# settings\nrouting.engine: fattree, dragonfly, updn\nrouting.roots[0]: 0x30\n"
                    "subnet.lmc: 1\nsubnet.max_vls: 8\npartitions.enforce: out\n"
                    "partitions.file: /p\nsubnet.m_key: (not shown)\nsweep.light_interval: 20\n"
                    "congestion.profile: incast\n",
        .partitions = "jobs=0x11 : ALL ;\n",
        .partitions_len = 18,
        .folder = "/d",
    };
    struct fab_opensm_export e;
    ck_assert_int_eq(fab_opensm_export(&x, &e), FAB_OK);
    ck_assert_str_eq(e.output[0].name, "opensm.conf");
    ck_assert_str_eq(output_of(&e, "guid2lid"), "0x0000000000000011 0x0004 0x0005\n\n"
                                                "0x0000000000000012 0x0006 0x0007\n\n"
                                                "0x0000000000000020 0x0001 0x0001\n\n");
    ck_assert_str_eq(output_of(&e, "node-name-map"),
                     "0x0000000000000010 \"host 1\"\n0x0000000000000030 \"spine\"\n");
    ck_assert_str_eq(output_of(&e, "root_guids"), "0x30\n");
    ck_assert_str_eq(output_of(&e, "partitions.conf"), "jobs=0x11 : ALL ;\n");
    ck_assert_uint_eq(e.ports, 3);
    /* converting the output back gives the same settings */
    import(output_of(&e, "opensm.conf"));
    is("lmc", FAB_OPENSM_TAKEN, "subnet.lmc: 1");
    is("max_op_vls", FAB_OPENSM_TAKEN, "subnet.max_vls: 8");
    is("part_enforce", FAB_OPENSM_TAKEN, "partitions.enforce: out");
    is("routing_engine", FAB_OPENSM_TAKEN, "routing.engine: fattree, updn");
    is("sweep_interval", FAB_OPENSM_TAKEN, "sweep.light_interval: 20");
    ck_assert_str_eq(item("root_guid_file")->value, "/d/root_guids");
    for (size_t i = 0; i < out.count; i++)
        ck_assert_int_ne(out.item[i].fate, FAB_OPENSM_UNKNOWN);
    ck_assert_str_eq(e.rest, "subnet.m_key\ncongestion.profile\n");
    fab_opensm_export_fini(&e);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        opensm_defaults_need_no_setting,
        numbers_become_settings,
        engines_are_renamed_and_get_the_fallback,
        keys_go_to_files_of_their_own,
        options_of_qos_count_only_with_qos,
        unknown_options_have_line_and_near_miss,
        files_are_copied_or_refused_with_their_line,
        missing_files_are_told_if_they_were_named,
        limits_are_kept,
        settings_become_options_again,
    };
    Suite *s = suite_create("opensm");
    TCase *t = tcase_create("import");
    tcase_add_checked_fixture(t, setup, teardown);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(t, tests[i]);
    suite_add_tcase(s, t);
    return test_run(s);
}
