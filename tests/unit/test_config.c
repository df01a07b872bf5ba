/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: the defaults, every key, and every kind of error with its place.
 */
#include <malloc.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/config/config.h"
#include "fabricd/config/place.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static int load(const char *text, struct config *ret, char *why, size_t len)
{
    return config_load_text(text, strlen(text), "f.yaml", ret, why, len);
}

static struct config good(const char *text)
{
    struct config c;
    char why[600] = "";
    int rc = load(text, &c, why, sizeof(why));
    ck_assert_msg(rc == FAB_OK, "%s, of: %.3000s", why, text);
    return c;
}

/* ---- what is right ---- */

START_TEST(empty_files_give_the_defaults)
{
    static const char *const empty[] = {
        "",          "# only a comment\n", "---\n",        "\n\n",
        "subnet:\n", "subnet: ~\nsmp:\n",  "\xef\xbb\xbf", "--- # x\n...\n"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
        struct config c = good(empty[i]);
        ck_assert_str_eq(c.state_dir, "/var/lib/fabricd");
        ck_assert_str_eq(c.port, "");
        ck_assert_uint_eq(c.listen_count, 1);
        ck_assert_str_eq(c.listen[0].text, "unix:/run/fabricd/fabricd.sock");
        ck_assert_int_eq((int)c.listen[0].kind, CONFIG_LISTEN_UNIX);
        ck_assert_str_eq(c.listen[0].host, "/run/fabricd/fabricd.sock");
        ck_assert_str_eq(c.socket_group, "fabric");
        ck_assert_ptr_null(c.tls.cert);
        ck_assert_int_eq((int)c.log_level, LOG_LEVEL_INFO);
        ck_assert_uint_eq(c.sweep.light_interval_s, 10);
        ck_assert_uint_eq(c.sweep.scrub_interval_s, 600);
        ck_assert_uint_eq(c.smp.retries, 3);
        ck_assert_uint_eq(c.journal_keep, 100000);
        ck_assert_uint_eq(c.policy.subnet_prefix, 0xfe80000000000000);
        config_fini(&c);
    }
}
END_TEST

START_TEST(systemd_names_the_folders)
{
    setenv("STATE_DIRECTORY", "/var/lib/fabricd/plane1:/other", 1);
    setenv("RUNTIME_DIRECTORY", "/run/fabricd/plane1", 1);
    struct config c = good("");
    ck_assert_str_eq(c.state_dir, "/var/lib/fabricd/plane1");
    ck_assert_str_eq(c.listen[0].host, "/run/fabricd/plane1/fabricd.sock");
    config_fini(&c);
}
END_TEST

static const char everything[] =
    "state_dir: /srv/f\n"
    "port: mlx5_0:1\n"
    "on_device_lost: wait\n"
    "listen:\n"
    "  - unix:/tmp/a b.sock\n"
    "  - tls:fm1.example:7471\n"
    "  - 'tls:[fe80::1]:1'\n"
    "  - tls:*:65535\n"
    "socket_group: ''\n"
    "log_level: debug\n"
    "metrics: {listen: '[::1]:9471', ports: switches, names: treydock, max_series: 5}\n"
    "alerts: [{webhook: 'https://h/p', ca: /x, min_severity: error, types: ['link-*']}, "
    "{syslog: yes}]\n"
    "tls: {cert: /c, key: /k, ca: /a}\n"
    "sweep: {light_interval: 1, heavy_interval: 2, scrub_interval: 4, trap_settle_ms: 3, "
    "confirm_loss: 20}\n"
    "flapping: {flaps: 5, within: 6, hold_down: 7, max_hold_down: 8, max_excluded_percent: 9, "
    "min_capacity_percent: 10}\n"
    "counters: {interval: 7, within: 8, on_errors: disable, confirm: 3, clear: yes, symbol_errors: "
    "9, "
    "vl15_dropped: "
    "0}\n"
    "smp: {timeout_ms: 4, retries: 5, window: 6}\n"
    "subnet:\n"
    "  prefix: fec0:0000:0000:0001\n"
    "  sm_priority: 15\n"
    "  standby_poll_ms: 60\n"
    "  standby_rate: 70\n"
    "  handover_hold: 61\n"
    "  sm_key: 0xffffffffffffffff\n"
    "  sa_key: 0x5a\n"
    "  m_key: 0x1a2b\n"
    "  m_key_protection: 2\n"
    "  m_key_lease: 300\n"
    "  pin_names: approved\n"
    "  unapproved: exclude\n"
    "  quarantine_pkey: 0x666\n"
    "  lmc: 2\n"
    "  max_mtu: 2048\n"
    "  max_vls: 8\n"
    "  packet_life_time: 10\n"
    "  hoq_life: 11\n"
    "  leaf_hoq_life: 12\n"
    "  vl_stall_count: 3\n"
    "  leaf_vl_stall_count: 4\n"
    "  subnet_timeout: 17\n"
    "  phy_errors: 9\n"
    "  overrun_errors: 10\n"
    "  managers: [0x0002c90300000001 leaf-01/7, '0002:c903:0000:0002  MF0;sw:1/U1/36']\n"
    "routing:\n"
    "  engine: fattree, updn\n"
    "  roots: [0x0002c90300000001, 0002c90300000002, '0002:c903:0000:00AB']\n"
    "  max_hops: 32\n"
    "  rebalance_after: 34\n"
    "partitions: {enforce: in, allow_both: yes}\n"
    "qos:\n"
    "  high_limit: 9\n"
    "  vlarb_high: '0:4'\n"
    "  classes:\n"
    "    - {name: storage, share: 40, sl: 2, rate_limit: 100, mtu_limit: 2048, match: [pkey=1, "
    "to=a]}\n"
    "    - {name: urgent, priority: high, match: [service=0x10-0x1f]}\n"
    "multicast: {mlids: 100, share: always, absent: 8}\n"
    "contingency: {memory: 5, cpu: 7}\n"
    "offenders: {refused_manager: isolate, forged_control: isolate, max_isolated: 5}\n"
    "quotas: {groups: 1, memberships: 2, services: 3, subscriptions: 4, alias_guids: 5,\n"
    "  total_groups: 11, total_memberships: 12, total_services: 13, total_subscriptions: 14,\n"
    "  total_alias_guids: 15, transfers: 16, requests: 17, request_burst: 18}\n"
    "journal: {keep: 77}\n";

/* settings that are missing in the text `everything`, because another test reads them */
static const char the_rest[] =
    "congestion: {cc_key: generated, cc_key_lease: 60}\n"
    "tls: {cert: /c, key: /k, ca: /a, crl: /r}\n"
    "subnet: {m_key: derived, sm_key: 0x77, managers: ['0x0002c90300000001 leaf-01/7']}\n"
    "qos:\n"
    "  classes:\n"
    "  - {name: storage, share: 30, match: ['pkey=1']}\n"
    "rpc: {roles: {viewer: [{user: '7'}, {cn: a}], administrator: [{group: '0'}, {san: "
    "'DNS:b'}]}}\n"
    "audit: {max_age: 7, max_size: 8}\n"
    "offenders: {max_isolated: 1}\n";

static unsigned count_lines_with(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

START_TEST(only_secrets_are_not_shown)
{
    struct config c = good(everything);
    struct fab_text text = {0};
    config_show(&c, &text);
    const char *shown = fab_base_text_get(&text);
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.sm_key: (not shown)\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.sa_key: (not shown)\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.m_key: (not shown)\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.m_key_lease: 300\n"));
    ck_assert_uint_eq(count_lines_with(shown, "(not shown)"), 4);
    fab_base_text_fini(&text);
    config_fini(&c);
    c = good(the_rest);
    config_show(&c, &text);
    shown = fab_base_text_get(&text);
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.m_key: derived\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\ntls.key: /k\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nrpc.roles.administrator[1].san: DNS:b\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nqos.classes[0].match[0]: pkey=1\n"));
    ck_assert_ptr_nonnull(strstr(shown, "\nsubnet.sm_key: (not shown)\n"));
    ck_assert_uint_eq(count_lines_with(shown, "(not shown)"), 1);
    fab_base_text_fini(&text);
    config_fini(&c);
}
END_TEST

START_TEST(every_key_arrives)
{
    struct config c = good(everything);
    const struct fab_policy *p = &c.policy;
    ck_assert_str_eq(c.state_dir, "/srv/f");
    ck_assert_str_eq(c.port, "mlx5_0:1");
    ck_assert_uint_eq(c.listen_count, 4);
    ck_assert_str_eq(c.listen[0].host, "/tmp/a b.sock");
    ck_assert_str_eq(c.listen[1].host, "fm1.example");
    ck_assert_int_eq((int)c.listen[1].kind, CONFIG_LISTEN_TLS);
    ck_assert_uint_eq(c.listen[1].port, 7471);
    ck_assert_str_eq(c.listen[2].host, "fe80::1");
    ck_assert_uint_eq(c.listen[2].port, 1);
    ck_assert_str_eq(c.listen[3].host, "*");
    ck_assert_str_eq(c.socket_group, "");
    ck_assert_str_eq(c.metrics.listen.host, "::1");
    ck_assert_uint_eq(c.metrics.listen.port, 9471);
    ck_assert_uint_eq(c.metrics.ports, CONFIG_METRICS_SWITCHES);
    ck_assert_uint_eq(c.metrics.names, CONFIG_METRICS_TREYDOCK);
    ck_assert_uint_eq(c.metrics.max_series, 5);
    ck_assert_uint_eq(c.alerts.count, 2);
    ck_assert_str_eq(c.alerts.alert[0].url, "https://h/p");
    ck_assert_str_eq(c.alerts.alert[0].ca, "/x");
    ck_assert_uint_eq(c.alerts.alert[0].min_severity, EVENT_ERROR);
    ck_assert_str_eq(c.alerts.alert[0].types[0], "link-*");
    ck_assert_ptr_null(c.alerts.alert[1].url);
    ck_assert_uint_eq(c.alerts.alert[1].min_severity, EVENT_WARNING);
    ck_assert_int_eq((int)c.log_level, LOG_LEVEL_DEBUG);
    ck_assert_str_eq(c.tls.cert, "/c");
    ck_assert_str_eq(c.tls.key, "/k");
    ck_assert_str_eq(c.tls.ca, "/a");
    ck_assert_uint_eq(c.sweep.light_interval_s, 1);
    ck_assert_uint_eq(c.sweep.scrub_interval_s, 4);
    ck_assert_uint_eq(c.sweep.heavy_interval_s, 2);
    ck_assert_uint_eq(c.sweep.trap_settle_ms, 3);
    ck_assert_uint_eq(c.sweep.confirm_loss_percent, 20);
    ck_assert_uint_eq(c.flapping.flaps, 5);
    ck_assert_uint_eq(c.flapping.within_s, 6);
    ck_assert_uint_eq(c.flapping.hold_down_s, 7);
    ck_assert_uint_eq(c.flapping.max_hold_down_s, 8);
    ck_assert_uint_eq(c.flapping.max_excluded_percent, 9);
    ck_assert_uint_eq(c.flapping.min_capacity_percent, 10);
    ck_assert_uint_eq(c.counters.confirm, 3);
    ck_assert_uint_eq(c.counters.interval_s, 7);
    ck_assert_uint_eq(c.counters.within_s, 8);
    ck_assert_int_eq((int)c.counters.on_errors, CONFIG_ON_ERRORS_DISABLE);
    ck_assert_uint_eq(c.counters.clear, 1);
    ck_assert_uint_eq(c.counters.most[FAB_SYMBOL_ERRORS], 9);
    ck_assert_uint_eq(c.counters.most[FAB_LINK_DOWNED], 10);
    ck_assert_uint_eq(c.counters.most[FAB_VL15_DROPPED], 0);
    ck_assert_uint_eq(c.smp.timeout_ms, 4);
    ck_assert_uint_eq(c.smp.retries, 5);
    ck_assert_uint_eq(c.smp.window, 6);
    ck_assert_uint_eq(c.multicast.mlids, 100);
    ck_assert_uint_eq(c.multicast.share, FAB_MCAST_SHARE_ALWAYS);
    ck_assert_uint_eq(c.multicast.absent_s, 8);
    ck_assert_uint_eq(c.contingency_mb, 5);
    ck_assert_uint_eq(c.contingency_cpu, 7);
    ck_assert_uint_eq(c.rebalance_s, 34);
    ck_assert_uint_eq(p->subnet_prefix, 0xfec0000000000001);
    ck_assert_uint_eq(p->sm_priority, 15);
    ck_assert_uint_eq(c.managers.standby_poll_ms, 60);
    ck_assert_uint_eq(c.managers.standby_rate, 70);
    ck_assert_uint_eq(c.managers.handover_hold_s, 61);
    ck_assert_uint_eq(p->sm_key, UINT64_MAX);
    ck_assert_uint_eq(p->sa_key, 0x5a);
    ck_assert_uint_eq(p->m_keys.number, 0x1a2b);
    ck_assert_uint_eq(p->m_key_protect, 2);
    ck_assert_uint_eq(p->m_key_lease_s, 300);
    ck_assert_uint_eq(p->pin_names, FAB_PIN_APPROVED);
    ck_assert_uint_eq(c.unapproved, CONFIG_EXCLUDE);
    ck_assert_uint_eq(c.quarantine_pkey, 0x666);
    ck_assert_uint_eq(p->lmc, 2);
    ck_assert_uint_eq(p->max_mtu, 4);
    ck_assert_uint_eq(p->max_op_vls, 4);
    ck_assert_uint_eq(p->packet_life_time, 10);
    ck_assert_uint_eq(p->hoq_life, 11);
    ck_assert_uint_eq(p->leaf_hoq_life, 12);
    ck_assert_uint_eq(p->vl_stall_count, 3);
    ck_assert_uint_eq(p->leaf_vl_stall_count, 4);
    ck_assert_uint_eq(p->subnet_timeout, 17);
    ck_assert_uint_eq(p->phy_errors, 9);
    ck_assert_uint_eq(p->overrun_errors, 10);
    ck_assert_uint_eq(p->manager_count, 2);
    ck_assert_uint_eq(p->managers[0].guid, 0x0002c90300000001);
    ck_assert_str_eq(p->managers[0].switch_name, "leaf-01");
    ck_assert_uint_eq(p->managers[0].switch_port, 7);
    ck_assert_uint_eq(p->managers[1].guid, 0x0002c90300000002);
    ck_assert_str_eq(p->managers[1].switch_name, "MF0;sw:1/U1");
    ck_assert_uint_eq(p->managers[1].switch_port, 36);
    ck_assert_str_eq(p->engine, "fattree, updn");
    ck_assert_uint_eq(p->root_count, 3);
    ck_assert_uint_eq(p->roots[0], 0x0002c90300000001);
    ck_assert_uint_eq(p->roots[1], 0x0002c90300000002);
    ck_assert_uint_eq(p->roots[2], 0x0002c903000000ab);
    ck_assert_uint_eq(p->max_hops, 32);
    ck_assert_uint_eq(p->enforce, 1);
    ck_assert(p->both_pkeys);
    ck_assert_ptr_null(p->partitions);
    ck_assert_ptr_nonnull(p->classes);
    ck_assert_uint_eq(p->classes->count, 3);
    const struct fab_class *k = &p->classes->class[1];
    ck_assert_str_eq(k->name, "storage");
    ck_assert_uint_eq(k->share, 40);
    ck_assert_uint_eq(k->sl, 2);
    ck_assert_uint_eq(k->rate_mbps, 100000);
    ck_assert_uint_eq(k->mtu, 4);
    ck_assert(!k->high && k[1].high);
    ck_assert_uint_eq(k[1].sl, FAB_CLASS_NO_SL);
    ck_assert_uint_eq(p->classes->rules, 3);
    ck_assert_uint_eq(p->classes->rule[2].class, 2);
    ck_assert(p->classes->has_limit);
    ck_assert_uint_eq(p->classes->limit, 9);
    ck_assert_uint_eq(p->classes->highs, 1);
    for (unsigned i = 0; i < FAB_QUOTAS; i++) {
        ck_assert_uint_eq(p->quotas.each[i], 1 + i);
        ck_assert_uint_eq(p->quotas.all[i], 11 + i);
    }
    ck_assert_int_eq((int)c.offenders.refused_manager, CONFIG_OFFENCE_ISOLATE);
    ck_assert_int_eq((int)c.offenders.forged_control, CONFIG_OFFENCE_ISOLATE);
    ck_assert_uint_eq(c.offenders.max_isolated, 5);
    ck_assert_uint_eq(p->quotas.transfers, 16);
    ck_assert_uint_eq(p->quotas.requests, 17);
    ck_assert_uint_eq(p->quotas.request_burst, 18);
    ck_assert_uint_eq(c.journal_keep, 77);
    config_fini(&c);
}
END_TEST

START_TEST(an_empty_listen_list_serves_nobody)
{
    struct config c = good("listen: []\n");
    ck_assert_uint_eq(c.listen_count, 0);
    config_fini(&c);
}
END_TEST

/* ---- what is wrong ---- */

static const struct {
    const char *text, *why;
} mistakes[] = {
    /* unknown keys */
    {"foo: 1\n",
     "f.yaml:1:1: unknown key 'foo', expected one of: state_dir, port, on_device_lost, "
     "listen, socket_group, log_level, metrics, tls, sweep, flapping, counters, inventory, smp, "
     "subnet, "
     "routing, "
     "partitions, multicast, congestion, qos, contingency, quotas, offenders, locations, names, "
     "gone, snapshots, "
     "journal, rpc, "
     "audit, replication, alerts"},
    {"qos: {classes: [{nam: a}]}\n",
     "f.yaml:1:17: unknown key 'nam' in qos.classes, expected one of: name, share, priority, sl, "
     "rate_limit, mtu_limit, match"},
    {"qos: {classes: [{share: 4}]}\n", "f.yaml:1:17: a class without a name, expected name: WORD"},
    {"qos:\n  classes:\n    - {name: a, share: 0}\n",
     "f.yaml:3:24: qos.classes[0].share is '0', expected a number from 1 to 100 (percent)"},
    {"qos: {classes: [{name: a, priority: medium}]}\n",
     "f.yaml:1:37: qos.classes[0].priority is 'medium', expected high or low"},
    {"qos: {classes: [{name: a, mtu_limit: 1000}]}\n",
     "f.yaml:1:38: qos.classes[0].mtu_limit is '1000', expected 256, 512, 1024, 2048 or 4096"},
    {"qos: {classes: [{name: a}, {name: a}]}\n", "f.yaml:1:28: class a is defined twice"},
    {"qos: {classes: [{name: a, match: [x=1]}]}\n",
     "f.yaml:1:35: 'x' is unknown, expected from=, to=, partition=, pkey=, service= or "
     "qos_class="},
    {"qos: {classes: [{name: a, match: "
     "[kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk=1]}]}\n",
     "f.yaml:1:35: 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk' is unknown, "
     "expected from=, to=, partition=, pkey=, service= or qos_class="},
    {"qos: {classes: [{name: a, match: [to=@x]}]}\n",
     "f.yaml:1:35: there is no group 'x' in partitions.file"},
    {"qos: {classes: [{name: a, match: [qos_class=1, partition=x]}]}\n",
     "f.yaml:1:48: there is no partition 'x' in partitions.file"},
    {"qos: {sl2vl: '1,2'}\n",
     "f.yaml:1:14: qos.sl2vl is '1,2', expected 16 VLs with commas between"},
    {"qos: {file: /nowhere/qos-policy.conf}\n",
     "f.yaml:1:7: /nowhere/qos-policy.conf: cannot be read: No such file or directory"},
    {"qos: {classes: [{name: a, share: 60}, {name: b, share: 50}]}\n",
     "f.yaml:1:1: the shares of all classes add up to 110 percent, and a class has no share, "
     "expected "
     "less than 100, so that something is left for that class (without a share, the class default "
     "gets what is left)"},
    {"counters: {on_errors: isol}\n",
     "f.yaml:1:23: counters.on_errors is 'isol', expected report, isolate or disable"},
    {"counters: {clear: or}\n", "f.yaml:1:19: counters.clear is 'or', expected no or yes"},
    {"congestion: {table: [0, 65536]}\n",
     "f.yaml:1:25: congestion.table[1] is '65536', expected shift << 14 | multiplier, such as "
     "0xc008"},
    {"congestion: {table: [x]}\n",
     "f.yaml:1:22: congestion.table[0] is 'x', expected shift << 14..."},
    {"congestion: {table: [0, 0x8002, 0xc001]}\n",
     "f.yaml:1:21: congestion.table has a shorter delay at index 2 than at the index before"},
    {"smp:\n  retries: 1\n  retrys: 2\n", "f.yaml:3:3: unknown key 'retrys' in smp, expected one "
                                          "of: timeout_ms, retries, window"},
    {"smp: {retries: 1, \"a\\eb\": 2}\n", "f.yaml:1:19: unknown key 'a\\x1bb' in smp, expected one "
                                          "of: timeout_ms, retries, window"},
    {"smp:\n  retries: 1\n  retries: 2\n",
     "f.yaml:3:3: the key 'retries' is here a second time, expected it once"},
    {"[a]: 1\n", "f.yaml:1:1: a key is not a word, expected KEY: VALUE"},
    /* wrong types */
    {"- a\n", "f.yaml:1:1: this is not a mapping, expected lines of KEY: VALUE"},
    {"hello\n", "f.yaml:1:1: this is not a mapping, expected lines of KEY: VALUE"},
    {"subnet: 3\n", "f.yaml:1:9: subnet is '3', expected keys below it, indented"},
    {"subnet: [1]\n", "f.yaml:1:9: subnet is a list, expected keys below it, indented"},
    {"state_dir: [1]\n", "f.yaml:1:12: state_dir is a list, expected the path of a folder"},
    {"state_dir: ''\n", "f.yaml:1:12: state_dir is empty, expected the path of a folder"},
    {"listen: unix:/a\n", "f.yaml:1:9: listen is 'unix:/a', expected a list of at most 16 "
                          "addresses, each unix:PATH or tls:HOST:PORT"},
    {"listen:\n  - unix:/a\n  - b: 1\n", "f.yaml:3:5: listen is a mapping, expected a list of at "
                                         "most 16 addresses, each unix:PATH or tls:HOST:PORT"},
    {"log_level: loud\n",
     "f.yaml:1:12: log_level is 'loud', expected error, warning, notice, info or debug"},
    {"log_level: 4\n",
     "f.yaml:1:12: log_level is '4', expected error, warning, notice, info or debug"},
    /* wrong numbers */
    {"subnet:\n  lmc: 9\n", "f.yaml:2:8: subnet.lmc is '9', expected a number from 0 to 7"},
    {"subnet:\n  lmc: abc\n", "f.yaml:2:8: subnet.lmc is 'abc', expected a number from 0 to 7"},
    {"subnet:\n  lmc: 1.5\n", "f.yaml:2:8: subnet.lmc is '1.5', expected a number from 0 to 7"},
    {"subnet:\n  lmc: 7x\n", "f.yaml:2:8: subnet.lmc is '7x', expected a number from 0 to 7"},
    {"subnet:\n  lmc: 007\n", "f.yaml:2:8: subnet.lmc is '007', expected a number from 0 to 7"},
    {"subnet:\n  lmc: -1\n", "f.yaml:2:8: subnet.lmc is '-1', expected a number from 0 to 7"},
    {"subnet:\n  lmc:\n", "f.yaml:2:7: subnet.lmc is empty, expected a number from 0 to 7"},
    {"subnet:\n  lmc: 99999999999999999999999\n",
     "f.yaml:2:8: subnet.lmc is '99999999999999999999999', expected a number from 0 to 7"},
    {"subnet:\n  lmc:\n    a: 1\n",
     "f.yaml:3:5: subnet.lmc is a mapping, expected a number from 0 to 7"},
    {"subnet: {sm_priority: 16}\n",
     "f.yaml:1:23: subnet.sm_priority is '16', expected a number from 0 to 15"},
    {"replication: {endpoints: ['node-1:2379']}\n",
     "f.yaml:1:27: replication.endpoints[0] is 'node-1:2379', expected an etcd server, "
     "tls:HOST:PORT, such as tls:node-1:2379 (etcd holds the decisions of operators, so it is used "
     "only with TLS)"},
    {"replication: {endpoints: ['tls:*:2379']}\n",
     "f.yaml:1:27: replication.endpoints[0] is 'tls:*:2379', expected an etcd server, "
     "tls:HOST:PORT, such as tls:node-1:2379 (etcd holds the decisions of operators, so it is used "
     "only with TLS)"},
    {"replication: {endpoints: ['tls:a:2379'], ca: x, cert: y}\n",
     "f.yaml:1:1: replication.key is not set, expected replication.ca, "
     "replication.cert and replication.key for TLS with etcd"},
    {"replication: {endpoints: ['tls:a:2379'], ca: x, cert: y, key: z, wrapping_key: 5ec2e7}\n",
     "f.yaml:1:80: replication.wrapping_key must be file:PATH or credential:NAME: the key must not "
     "be in this file"},
    {"replication: {endpoints: ['tls:a:2379'], ca: x, cert: y, key: z, wrapping_key: "
     "'file:/no/such/file'}\n",
     "f.yaml:1:66: replication.wrapping_key: /no/such/file: cannot be read: No such file or "
     "directory"},
    {"subnet: {standby_poll_ms: 49}\n",
     "f.yaml:1:27: subnet.standby_poll_ms is '49', expected a number from 50 to 10000 "
     "(milliseconds)"},
    {"subnet: {standby_rate: 1000001}\n",
     "f.yaml:1:24: subnet.standby_rate is '1000001', expected a number from 0 to 1000000 "
     "(requests a second, 0: none)"},
    {"subnet: {m_key: 0x10000000000000000}\n",
     "f.yaml:1:10: subnet.m_key: expected generated, derived, a number of up to 64 bits such as "
     "0x1a2b, file:PATH or credential:NAME"},
    {"subnet: {sm_key: generated}\n",
     "f.yaml:1:10: subnet.sm_key: expected a number of up to 64 bits such as 0x1a2b, file:PATH or "
     "credential:NAME"},
    {"subnet: {max_mtu: 1500}\n",
     "f.yaml:1:19: subnet.max_mtu is '1500', expected 256, 512, 1024, 2048 or 4096"},
    {"subnet: {max_vls: 3}\n", "f.yaml:1:19: subnet.max_vls is '3', expected 1, 2, 4, 8 or 15"},
    {"smp: {timeout_ms: 0}\n", "f.yaml:1:19: smp.timeout_ms is '0', expected a number from 1 to "
                               "60000 (milliseconds)"},
    {"quotas: {requests: 1000001}\n",
     "f.yaml:1:20: quotas.requests is '1000001', expected a number from 0 to 1000000 (a second, 0: "
     "no limit)"},
    {"rpc: {roles: {owner: []}}\n",
     "f.yaml:1:15: unknown key 'owner' in rpc.roles, expected one of: tenant, viewer, operator, "
     "administrator"},
    {"rpc: {roles: {operator: alice}}\n",
     "f.yaml:1:25: rpc.roles.operator is 'alice', expected a list such as [{user: alice}, {group: "
     "fabric-admins}]"},
    {"rpc:\n  roles:\n    operator:\n      - {user: 0}\n      - {}\n",
     "f.yaml:5:9: rpc.roles.operator[1]: expected exactly one of user, group, cn or san in each "
     "entry, such as {user: alice}"},
    {"rpc: {roles: {operator: [{user: root, cn: a}]}}\n",
     "f.yaml:1:26: rpc.roles.operator[0]: expected exactly one of user, group, cn or san in each "
     "entry, such as {user: alice}"},
    {"rpc: {roles: {viewer: [{user: root}], operator: [{user: 0}]}}\n",
     "f.yaml:1:50: rpc.roles.operator[0]: user '0' is also in rpc.roles.viewer, expected one role "
     "for each"},
    {"rpc: {roles: {tenant: [{san: ci.example.com}]}}\n",
     "f.yaml:1:24: rpc.roles.tenant[0]: san is 'ci.example.com', expected 'DNS:', 'email:', 'URI:' "
     "or 'IP:' and the name, such as 'DNS:ci.example.com'"},
    {"journal: {keep: 0}\n",
     "f.yaml:1:17: journal.keep is '0', expected a number from 1 to 10000000 (events)"},
    /* wrong GUIDs */
    {"subnet: {prefix: fe80}\n", "f.yaml:1:18: subnet.prefix is 'fe80', expected 16 hex digits, "
                                 "such as 0xfe80000000000000"},
    {"routing:\n  roots:\n    - 0x0002c90300000001\n    - leaf-1\n",
     "f.yaml:4:7: routing.roots[1] is 'leaf-1', expected a switch GUID of 16 hex digits, such as "
     "0x0002c90300000001"},
    {"routing: {roots: [0x00000000000000000]}\n",
     "f.yaml:1:19: routing.roots[0] is '0x00000000000000000', expected a switch GUID of 16 hex "
     "digits, such as 0x0002c90300000001"},
    {"routing: {engine: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}\n",
     "f.yaml:1:19: routing.engine is \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", expected "
     "\"auto\" "
     "or names of "
     "engines separated by commas, each of 1 to 31 characters of a-z, 0-9, -, + and _"},
    {"routing:\n  engine: A B\n",
     "f.yaml:2:11: routing.engine is \"A B\", expected \"auto\" or names of "
     "engines separated by commas, each of 1 to 31 characters of a-z, 0-9, -, + and _"},
    {"routing:\n  engine: fattree, , updn\n",
     "f.yaml:2:11: routing.engine is \"fattree, , updn\", expected \"auto\" or names of "
     "engines separated by commas, each of 1 to 31 characters of a-z, 0-9, -, + and _"},
    {"routing:\n  engine: fattree, minhopp, updn\n",
     "f.yaml:2:11: routing.engine is 'minhopp', expected auto, fattree, ..."},
    {"routing:\n  engine: updn, auto\n",
     "f.yaml:2:11: routing.engine has auto among others, expected it alone"},
    {"routing:\n  max_hops: 9\n  engine: ftree\n",
     "f.yaml:3:11: routing.engine is 'ftree', expected auto, fattree, ..."},
    {"routing:\n  engine: updn, file\n",
     "f.yaml:2:11: routing.engine names file, expected its tables in routing.file"},
    {"routing:\n  file: /nowhere/tables\n",
     "f.yaml:2:3: /nowhere/tables: cannot be read: No such file or directory"},
    {"routing:\n  file: /dev/null\n",
     "f.yaml:2:3: /dev/null:1:1: no tables, expected at least one switch: Unicast lids ... guid "
     "0x..."},
    {"routing:\n  roots: [0002c90300000001, 0002c90300000001]\n",
     "f.yaml:2:10: routing.roots contains 0x0002c90300000001 twice, expected each GUID once"},
    {"subnet: {lmc: 1, prefix: ff00000000000000}\n",
     "f.yaml:1:26: subnet.prefix is 0xff00000000000000, expected any but 0 and 0xff... "
     "(multicast)"},
    /* wrong addresses */
    {"listen: [tcp:0.0.0.0:80]\n",
     "f.yaml:1:10: listen[0] is 'tcp:0.0.0.0:80', expected unix:PATH or tls:HOST:PORT (plain TCP "
     "is "
     "never served: whoever reaches the port would command the fabric)"},
    {"listen: [unix:/a, 'localhost:80']\n",
     "f.yaml:1:19: listen[1] is 'localhost:80', expected unix:PATH or tls:HOST:PORT (plain TCP is "
     "never served: whoever reaches the port would command the fabric)"},
    {"listen: [/run/x]\n", "f.yaml:1:10: listen[0] is '/run/x', expected unix: before the path"},
    {"listen: [abc]\n", "f.yaml:1:10: listen[0] is 'abc', expected unix:PATH or tls:HOST:PORT"},
    {"listen: [unix:run/x]\n", "f.yaml:1:10: listen[0] is 'unix:run/x', expected unix:PATH with a "
                               "path that starts with /"},
    {"listen: [tls:a:0]\n",
     "f.yaml:1:10: listen[0] is 'tls:a:0', expected a port from 1 to 65535 at its end"},
    {"listen: [tls:a:99999]\n",
     "f.yaml:1:10: listen[0] is 'tls:a:99999', expected a port from 1 to 65535 at its end"},
    {"listen: [tls:a]\n",
     "f.yaml:1:10: listen[0] is 'tls:a', expected tls:HOST:PORT, where HOST is a name, an address, "
     "an IPv6 address in brackets, or * for every address"},
    {"listen: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]\n",
     "f.yaml:1:42: listen is 'q', expected a list of at most 16 addresses, each unix:PATH or "
     "tls:HOST:PORT"},
    /* wrong TLS settings */
    {"listen:\n  - tls:a:1\n",
     "f.yaml:2:5: listen[0]: tls.cert is not set, expected tls.cert, tls.key and tls.ca for TLS "
     "with client certificates"},
    {"listen:\n  - tls:a:1\ntls: {cert: /c, key: /k}\n",
     "f.yaml:2:5: listen[0]: tls.ca is not set, expected tls.cert, tls.key and tls.ca for TLS with "
     "client certificates"},
    {"tls: {cert: /c}\n", "f.yaml:1:1: tls: tls.key is not set, expected tls.cert, tls.key and "
                          "tls.ca for TLS with client certificates"},
    /* invalid YAML */
    {"subnet:\n\tlmc: 1\n", "f.yaml:2:1: a tab, expected blanks: YAML is not indented with tabs"},
    {"# caf\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\nsubnet:\n\tlmc: 1\n",
     "f.yaml:3:1: a tab, expected blanks: YAML is not indented with tabs"},
    {"port: \"a\n", "f.yaml:2:1: this is not YAML: found unexpected end of stream while scanning a "
                    "quoted scalar"},
    {"port: a\n---\nport: b\n", "f.yaml:3:1: a second document begins, expected only one"},
    {"port: &x a\nstate_dir: *x\n", "f.yaml:2:1: state_dir: an alias, expected the value itself"},
    {"port: \"a\\0b\"\n", "f.yaml:1:7: a NUL character in the text, expected none"},
    {"port: a\nsmp: \xff\n",
     "f.yaml:2:6: this is not text: invalid leading UTF-8 octet, expected YAML in UTF-8"},
    {"port: a\x01\n",
     "f.yaml:1:8: this is not text: control characters are not allowed, expected YAML in UTF-8"},
};

/* Returns how many characters of `want` a message must equal. If `want` ends with "...", only its
 * beginning must be equal; otherwise the whole message. */
static size_t compared(const char *want)
{
    size_t len = strlen(want);
    return len > 3 && strcmp(want + len - 3, "...") == 0 ? len - 3 : len + 1;
}

START_TEST(each_mistake_has_a_sentence_and_a_place)
{
    struct config untouched = {.journal_keep = 4711}, c = untouched;
    char why[600] = "";
    int rc = load(mistakes[_i].text, &c, why, sizeof(why));
    ck_assert_msg(strncmp(why, mistakes[_i].why, compared(mistakes[_i].why)) == 0, "%s, not %s",
                  why, mistakes[_i].why);
    ck_assert_int_lt(rc, 0);
    ck_assert_mem_eq(&c, &untouched, sizeof(c));
}
END_TEST

/* ---- other files that the settings name ---- */

/* Writes `text` to a file, and a settings file with `settings` that names this file. Returns the
 * path of the settings file. */
static const char *beside(const char *text, const char *settings, char *yaml, size_t len)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/test-config-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    snprintf(yaml, len, settings, path);
    return path;
}

/* Loads the settings. Returns the messages that this logs. why[]: the error; "" if the settings are
 * accepted. */
static char *logged(const char *yaml, struct config *ret, char *why, size_t len)
{
    static char text[16384];
    char path[] = "/tmp/test-config-log-XXXXXX";
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    ck_assert_int_ge(file, 0);
    why[0] = '\0';
    dup2(file, STDERR_FILENO);
    int rc = load(yaml, ret, why, len);
    dup2(kept, STDERR_FILENO);
    ck_assert_int_eq(rc == FAB_OK, why[0] == '\0');
    ssize_t n = pread(file, text, sizeof(text) - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    close(file);
    close(kept);
    unlink(path);
    return text;
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

/* An error about a key without a value has no value to show. The parser must not show what the
 * memory after the last value contains: zeros, which look like a value at line 1, column 1. */
START_TEST(a_place_without_a_value_is_named_alone)
{
    static const char text[] = "# a comment\na: 1\n";
    char why[200] = "";
    struct report r = {.name = "f.yaml", .why = why, .why_len = sizeof why};
    /* malloc() fills new memory with the complement of this byte: zeros */
    (void)mallopt(M_PERTURB, 0xff);
    ck_assert_int_eq(place_open(text, sizeof text - 1, &r), FAB_OK);
    ck_assert_int_eq(report_node_at(&r, 2, 4, "a", "2"), FAB_E_FORMAT);
    ck_assert_str_eq(why, "f.yaml:2:4: a is '1', expected 2");
    ck_assert_int_eq(report_node_at(&r, 1, 1, "a", "2"), FAB_E_FORMAT);
    ck_assert_str_eq(why, "f.yaml:1:1: a: expected 2");
    ck_assert_int_eq(report_node_at(&r, 2, 3, "a", "2"), FAB_E_FORMAT);
    ck_assert_str_eq(why, "f.yaml:2:3: a: expected 2");
    place_close(&r);
}
END_TEST

/* The first ignored lines of a partitions or QoS file are logged one by one, the others as a
 * number. */
START_TEST(what_is_ignored_is_logged)
{
    static const struct {
        const char *settings, *line, *first;
        unsigned named;
    } files[] = {
        {"partitions: {file: %s}\n", "P%u=0x%x, whatever: ALL;\n", ":1:9: the flag \"whatever\"",
         FAB_PARTITION_NOTES},
        {"qos: {file: %s}\n", NULL, ":5: ", FAB_CLASS_NOTES},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        for (unsigned more = 0; more < 3; more++) {
            static char text[8192];
            char yaml[200], why[600], expected[64];
            struct config c;
            size_t len = 0, count = files[i].named + more;
            if (files[i].line == NULL)
                len +=
                    (size_t)snprintf(text, sizeof(text), "qos-levels\nqos-level\nname: a\nsl: 0\n");
            for (unsigned n = 1; n <= count; n++)
                len +=
                    (size_t)(files[i].line != NULL
                                 ? snprintf(text + len, sizeof(text) - len, files[i].line, n, n)
                                 : snprintf(text + len, sizeof(text) - len, "whatever: %u\n", n));
            if (files[i].line == NULL)
                snprintf(text + len, sizeof(text) - len, "end-qos-level\nend-qos-levels\n");
            const char *path = beside(text, files[i].settings, yaml, sizeof(yaml));
            const char *log = logged(yaml, &c, why, sizeof(why));
            ck_assert_msg(why[0] == '\0', "%s", why);
            ck_assert_ptr_nonnull(strstr(log, path));
            ck_assert_ptr_nonnull(strstr(log, files[i].first));
            ck_assert_uint_eq(lines(log), files[i].named + (more > 0));
            snprintf(expected, sizeof(expected), "%s: %u more of these\n", path, more);
            ck_assert_int_eq(strstr(log, expected) != NULL, more > 0);
            config_fini(&c);
            unlink(path);
        }
}
END_TEST

/* An error in a file that the settings name is reported with the key, the name of the file and the
 * place in the file. */
static const struct {
    const char *settings, *text, *why;
} wrong_files[] = {
    {"partitions: {file: %s}\n", "x=1: ALL;\ny=;\n", ":2:3: expected ':' and members"},
    {"subnet: {prefix_routes: %s}\n", "fec0::/64 x\n", ":1: expected a subnet prefix"},
    {"locations: {file: %s}\n", "name,rack\nn1,A1\nn1,A2\n", ":3: \"n1\" is also in line 2"},
    {"subnet: {m_key_file: %s}\n", "# ours\n0x0002c90300000001 0x2a\n0x0002c90300000002\n",
     ":3: expected the M_Key of the port after its GUID"},
    {"qos: {file: %s}\n", "qos-levels\n", ":2: the text ends within qos-levels"},
    {"routing: {engine: file, file: %s}\n", "no tables\n",
     ":1:1: expected a line as in opensm-lfts.dump"},
};

START_TEST(a_mistake_in_another_file_has_its_place)
{
    char yaml[200], why[600], expected[300];
    struct config untouched = {.journal_keep = 4711}, c = untouched;
    const char *path = beside(wrong_files[_i].text, wrong_files[_i].settings, yaml, sizeof(yaml));
    ck_assert_int_lt(load(yaml, &c, why, sizeof(why)), 0);
    snprintf(expected, sizeof(expected), "%s%s", path, wrong_files[_i].why);
    ck_assert_msg(strstr(why, expected) != NULL, "%s", why);
    ck_assert_mem_eq(&c, &untouched, sizeof(c));
    unlink(path);
    ck_assert_int_eq(load(yaml, &c, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    ck_assert_ptr_nonnull(strstr(why, path));
}
END_TEST

START_TEST(other_files_arrive)
{
    char yaml[200];
    const char *path = beside("0xfec0000000000007 0x0002c90300000001\n",
                              "subnet: {prefix_routes: %s}\n", yaml, sizeof(yaml));
    struct config c = good(yaml);
    ck_assert_ptr_nonnull(c.policy.routers);
    config_fini(&c);
    unlink(path);
    path = beside("name,rack\nn1,A1\n", "locations: {file: %s}\n", yaml, sizeof(yaml));
    c = good(yaml);
    ck_assert_str_eq(fab_policy_locations_find(c.policy.locations, 1, "n1 mlx5_0")->rack, "A1");
    config_fini(&c);
    unlink(path);
    path = beside("x=1: ALL;\n", "partitions: {file: %s}\n", yaml, sizeof(yaml));
    c = good(yaml);
    ck_assert_ptr_nonnull(c.policy.partitions);
    ck_assert_uint_eq(c.policy.partitions->partitions, 2);
    config_fini(&c);
    unlink(path);
}
END_TEST

/* A file with keys is refused if other users can read it. The settings before stay in force. */
START_TEST(a_file_with_keys_must_be_private)
{
    static const mode_t open_modes[] = {0640, 0604, 0660, 0606};
    struct config untouched = {.journal_keep = 4711}, c = untouched;
    char yaml[200], why[600];
    const char *path =
        beside("0x0002c90300000001 0x2a\n", "subnet: {m_key_file: %s}\n", yaml, sizeof(yaml));
    for (size_t i = 0; i < sizeof(open_modes) / sizeof(*open_modes); i++) {
        ck_assert_int_eq(chmod(path, open_modes[i]), 0);
        ck_assert_int_eq(load(yaml, &c, why, sizeof(why)), FAB_E_DENIED);
        ck_assert_msg(strncmp(why, "f.yaml:1:10: /", 14) == 0, "%s", why);
        ck_assert_ptr_nonnull(strstr(why, path));
        ck_assert_ptr_nonnull(strstr(why, "run 'chmod 600' on it"));
        ck_assert_mem_eq(&c, &untouched, sizeof(c));
    }
    ck_assert_int_eq(chmod(path, 0400), 0);
    c = good(yaml);
    ck_assert_uint_eq(fab_policy_m_key_list_find(c.policy.listed_m_keys, 0x0002c90300000001), 0x2a);
    config_fini(&c);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(load(yaml, &c, why, sizeof(why)), FAB_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(why, "not a file, expected M_Keys of ports"));
    unlink(path);
    c = good("subnet: {m_key_file: ''}\n");
    ck_assert_ptr_null(c.policy.listed_m_keys);
    config_fini(&c);
}
END_TEST

/* An entry of congestion.table is shift << 14 | multiplier. The delays of consecutive entries must
 * not decrease. */
START_TEST(a_congestion_table_arrives)
{
    struct config c =
        good("congestion: {table: [0, 49153, 0x8002, 0x4003], fan_in: 7, cc_key: 0x99, "
             "cc_key_lease: 60, apply: yes, threshold: 5, timer: auto, profile: incast}\n");
    const struct fab_policy_congestion *p = &c.policy.congestion;
    static const uint16_t table[] = {0, 0xc001, 0x8002, 0x4003};
    ck_assert_uint_eq(p->table_count, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(p->table[i], table[i]);
    ck_assert_uint_eq(p->fan_in, 7);
    ck_assert_uint_eq(p->key, 0x99);
    ck_assert(p->apply);
    ck_assert_int_eq(p->value[FAB_CONGESTION_THRESHOLD], 5);
    ck_assert_int_eq(p->value[FAB_CONGESTION_TIMER], FAB_CONGESTION_AUTO);
    config_fini(&c);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_says_why)
{
    struct config c;
    char why[300];
    ck_assert_int_eq(config_load("/nowhere/f.yaml", &c, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_str_eq(why, "/nowhere/f.yaml: cannot be read: No such file or directory");
    ck_assert_int_eq(config_load("/tmp", &c, why, sizeof(why)), FAB_E_IO);
    ck_assert_str_eq(why, "/tmp: cannot be read: Is a directory");
    ck_assert_int_eq(config_load("/dev/zero", &c, why, sizeof(why)), FAB_E_FORMAT);
    ck_assert_str_eq(why, "/dev/zero: larger than 1048576 bytes, expected a configuration file");
}
END_TEST

START_TEST(roles_arrive)
{
    struct config c =
        good("rpc: {roles: {operator: [{user: root}, {group: 77}, {user: no-such-user}], "
             "administrator: [{cn: a b}, {san: 'DNS:x'}]}}\n");
    static const struct config_role_entry expected[] = {
        {CONFIG_ROLE_OPERATOR, CONFIG_SUBJECT_USER, "root", 0, true},
        {CONFIG_ROLE_OPERATOR, CONFIG_SUBJECT_GROUP, "77", 77, true},
        {CONFIG_ROLE_OPERATOR, CONFIG_SUBJECT_USER, "no-such-user", 0, false},
        {CONFIG_ROLE_ADMINISTRATOR, CONFIG_SUBJECT_CN, "a b", 0, false},
        {CONFIG_ROLE_ADMINISTRATOR, CONFIG_SUBJECT_SAN, "DNS:x", 0, false},
    };
    ck_assert_uint_eq(c.roles.count, 5);
    for (size_t i = 0; i < c.roles.count; i++) {
        const struct config_role_entry *e = &c.roles.entry[i], *w = &expected[i];
        ck_assert_int_eq(e->role, w->role);
        ck_assert_int_eq(e->subject, w->subject);
        ck_assert_str_eq(e->name, w->name);
        ck_assert_uint_eq(e->id, w->id);
        ck_assert(e->known == w->known);
    }
    config_fini(&c);
}
END_TEST

START_TEST(the_shipped_example_sets_nothing_but_is_complete)
{
    struct config c, defaults;
    char why[300] = "", path[4096], *text = NULL;
    const char *top = getenv("abs_top_srcdir");
    snprintf(path, sizeof(path), "%s/etc/fabricd.yaml", top != NULL ? top : ".");
    ck_assert_msg(config_load(path, &c, why, sizeof(why)) == FAB_OK, "%s", why);
    config_fini(&c);
    /* In the example file, settings are commented out. Without the #, they must be the defaults. */
    size_t used = 0, room = 0;
    char *line = NULL;
    FILE *file = fopen(path, "r");
    text = calloc(1, 65536);
    while (getline(&line, &room, file) > 0) {
        bool prose = line[0] != '#' || line[1] == '\n' || (line[1] == ' ' && line[2] != ' ');
        const char *from = line + (prose ? 0 : 1);
        used += (size_t)snprintf(text + used, 65536 - used, "%s", from);
    }
    c = good(text);
    ck_assert_ptr_nonnull(strstr(text, "\n  roots:"));
    ck_assert_int_eq(config_defaults(&defaults), FAB_OK);
    ck_assert_str_eq(c.state_dir, defaults.state_dir);
    ck_assert_str_eq(c.port, defaults.port);
    ck_assert_int_eq(c.on_device_lost, defaults.on_device_lost);
    ck_assert_str_eq(c.listen[0].text, defaults.listen[0].text);
    ck_assert_uint_eq(c.listen_count, defaults.listen_count);
    ck_assert_str_eq(c.socket_group, defaults.socket_group);
    ck_assert_mem_eq(&c.sweep, &defaults.sweep, sizeof(c.sweep));
    ck_assert_mem_eq(&c.flapping, &defaults.flapping, sizeof(c.flapping));
    ck_assert_mem_eq(&c.counters, &defaults.counters, sizeof(c.counters));
    ck_assert_mem_eq(&c.smp, &defaults.smp, sizeof(c.smp));
    ck_assert_uint_eq(c.journal_keep, defaults.journal_keep);
    ck_assert_mem_eq(&c.policy, &defaults.policy, sizeof(c.policy));
    free(line);
    free(text);
    fclose(file);
    config_fini(&c);
    config_fini(&defaults);
}
END_TEST

/* ---- the command line ---- */

START_TEST(addresses_of_the_command_line)
{
    struct config c = good("");
    char why[300] = "";
    ck_assert_int_eq(config_listen_add(&c, "unix:/a", true, why, sizeof(why)), FAB_OK);
    ck_assert_int_eq(config_listen_add(&c, "unix:/b", false, why, sizeof(why)), FAB_OK);
    ck_assert_uint_eq(c.listen_count, 2);
    ck_assert_str_eq(c.listen[0].host, "/a");
    ck_assert_str_eq(c.listen[1].host, "/b");
    ck_assert_int_eq(config_listen_add(&c, "1.2.3.4:5", true, why, sizeof(why)), FAB_E_INVAL);
    ck_assert_uint_eq(c.listen_count, 2);
    ck_assert_ptr_nonnull(strstr(why, "plain TCP is never served"));
    ck_assert_int_eq(config_check(&c, why, sizeof(why)), FAB_OK);
    ck_assert_int_eq(config_listen_add(&c, "tls:*:7471", false, why, sizeof(why)), FAB_OK);
    ck_assert_int_eq(config_check(&c, why, sizeof(why)), FAB_E_INVAL);
    ck_assert_ptr_nonnull(strstr(why, "tls.cert is not set"));
    config_fini(&c);
}
END_TEST

/* ---- differences ---- */

static void assert_difference(const char *old_text, const char *now_text, size_t len,
                              const char *want)
{
    struct config old = good(old_text), now = good(now_text);
    char text[1500];
    ck_assert_int_eq(config_difference(&old, &now, text, len), FAB_OK);
    ck_assert_str_eq(text, want);
    config_fini(&old);
    config_fini(&now);
}

/* The audit log gets the settings that differ after a reload. Secrets must not be in it. */
START_TEST(differences_name_each_setting)
{
    static const char four[] =
        "state_dir: /b\nsmp: {retries: 4, timeout_ms: 300}\njournal: {keep: 5}\n";
    const size_t whole = 1500;
    assert_difference(four, four, whole, "");
    assert_difference("", "", whole, "");
    assert_difference("", "smp: {retries: 4}\n", whole, "smp.retries: not set -> 4");
    assert_difference("smp: {retries: 4}\n", "", whole, "smp.retries: 4 -> not set");
    assert_difference("smp: {retries: 4}\n", "smp: {retries: 5}\n", whole, "smp.retries: 4 -> 5");
    assert_difference("smp: {retries: 4, timeout_ms: 300}\n", four, whole,
                      "journal.keep: not set -> 5; state_dir: not set -> /b");
    assert_difference(four, "smp: {timeout_ms: 300}\n", whole,
                      "journal.keep: 5 -> not set; smp.retries: 4 -> not set; "
                      "state_dir: /b -> not set");
    /* The changed setting m_key is a prefix of the name m_key_lease, and must not be confused with
     * it. */
    assert_difference("subnet: {sm_key: 5, m_key: derived}\n",
                      "subnet: {sm_key: 6, m_key_lease: 70}\n", whole,
                      "subnet.m_key: removed; subnet.m_key_lease: not set -> 70; "
                      "subnet.sm_key: changed");
    assert_difference("", "subnet: {sm_key: 6}\n", whole, "subnet.sm_key: added");
    assert_difference(four, "", sizeof("journal.keep: 5 -> not set..."),
                      "journal.keep: 5 -> not set...");
    assert_difference(four, "",
                      sizeof("journal.keep: 5 -> not set..."
                             "; smp.retries: 4 -> not set") -
                          1,
                      "journal.keep: 5 -> not set...");
    assert_difference(four, "", 5, "...");
    assert_difference(four, "", 3, "");
}
END_TEST

int main(void)
{
    unsetenv("STATE_DIRECTORY");
    unsetenv("RUNTIME_DIRECTORY");
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("right");
    tcase_add_test(tcase, empty_files_give_the_defaults);
    tcase_add_test(tcase, systemd_names_the_folders);
    tcase_add_test(tcase, every_key_arrives);
    tcase_add_test(tcase, only_secrets_are_not_shown);
    tcase_add_test(tcase, roles_arrive);
    tcase_add_test(tcase, differences_name_each_setting);
    tcase_add_test(tcase, an_empty_listen_list_serves_nobody);
    tcase_add_test(tcase, the_shipped_example_sets_nothing_but_is_complete);
    tcase_add_test(tcase, addresses_of_the_command_line);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("wrong");
    tcase_add_loop_test(tcase, each_mistake_has_a_sentence_and_a_place, 0,
                        (int)(sizeof(mistakes) / sizeof(*mistakes)));
    tcase_add_test(tcase, a_file_that_cannot_be_read_says_why);
    tcase_add_test(tcase, a_place_without_a_value_is_named_alone);
    tcase_add_test(tcase, what_is_ignored_is_logged);
    tcase_add_loop_test(tcase, a_mistake_in_another_file_has_its_place, 0,
                        (int)(sizeof(wrong_files) / sizeof(*wrong_files)));
    tcase_add_test(tcase, other_files_arrive);
    tcase_add_test(tcase, a_file_with_keys_must_be_private);
    tcase_add_test(tcase, a_congestion_table_arrives);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
