/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of settings. Each row has a key, the values that the key accepts, and the member of
 * struct config that stores the value. Lists (such as listen and routing.roots) are read by other
 * files, so their rows have only the expected values, for error messages. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/config/config.h"
#include "fabricd/config/raw.h"
#include "libfabmgr/base/status.h"

/* Types of settings: which values a setting has, and how struct config stores them. */
enum kind {
    /* unsigned integer of `size` bytes, with a value from `least` to `most` */
    KIND_NUMBER,
    /* the name of a log level, stored as enum log_level */
    KIND_LEVEL,
    /* MTU in bytes in the file; stored as the code of PortInfo */
    KIND_MTU,
    /* number of VLs in the file; stored as the code of PortInfo */
    KIND_VLS,
    /* a GUID or GID prefix, stored as uint64_t */
    KIND_GUID,
    /* a secret key, stored as uint64_t; messages never show values of KIND_SECRET, KIND_KEY and
     * KIND_M_KEY */
    KIND_SECRET,
    /* a secret key, stored as uint64_t; or the word "generated", stored as 0 */
    KIND_KEY,
    /* a secret key, stored as uint64_t; or the word "generated" or "derived", stored as 0 */
    KIND_M_KEY,
    /* stored as a bool, which is true if the value is "generated" or "derived" */
    KIND_GENERATED,
    KIND_DERIVED, /* stored as a bool, which is true if the value is "derived" */
    /* a URL, which alerts.c reads, and which messages never show */
    KIND_URL,
    /* any text, stored as a malloc'd copy */
    KIND_TEXT,
    /* any text that fits, stored as a copy in char[size] */
    KIND_NAME,
    /* a number, or the word "auto", which is stored as -1; stored as int32_t */
    KIND_AUTO,
    /* one of the words in setting.expected, stored as its position among them, from 0 */
    KIND_CHOICE,
    /* a list or mapping that another source file reads; its row has only `expected` */
    KIND_ELSEWHERE
};

/* value of a key setting that makes fabricd generate the key */
#define GENERATED "generated"
/* value of subnet.m_key that gives each port its own key */
#define DERIVED "derived"
#define A_KEY "a number of up to 64 bits such as 0x1a2b, file:PATH or credential:NAME"
#define AT_TOP SIZE_MAX

struct setting {
    const char *path;
    enum kind kind;
    /* Where struct raw has the text. group: byte offset in struct raw of the pointer to the struct
     * of the mapping, such as `subnet`. from: byte offset of the text pointer in that struct. */
    size_t group, from;
    /* to: byte offset of the member in struct config. size: size of this member in bytes. */
    size_t to, size;
    uint64_t least, most;
    /* The accepted values, for error messages. For a number: a note that comes after the range;
     * NULL: none. */
    const char *expected;
};

#define TO(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)
#define IN(group, key) offsetof(struct raw, group), offsetof(struct raw_##group, key)
#define NUMBER(group, key, member, least, most, note)                                              \
    {                                                                                              \
#group "." #key, KIND_NUMBER, IN(group, key), TO(member), least, most, note                \
    }
#define AUTO(key, which, least, most)                                                              \
    {                                                                                              \
        "congestion." #key, KIND_AUTO, IN(congestion, key),                                        \
            TO(policy.congestion.value[FAB_CONGESTION_##which]), least, most, "or auto"            \
    }
#define OTHER(kind, group, key, member, expected)                                                  \
    {                                                                                              \
#group "." #key, kind, IN(group, key), TO(member), 0, 0, expected                          \
    }
#define TOP(kind, key, member, expected)                                                           \
    {                                                                                              \
#key, kind, AT_TOP, offsetof(struct raw, key), TO(member), 0, 0, expected                  \
    }
#define ELSEWHERE(path, expected)                                                                  \
    {                                                                                              \
        path, KIND_ELSEWHERE, 0, 0, 0, 0, 0, 0, expected                                           \
    }
#define ROLE(name)                                                                                 \
    ELSEWHERE("rpc.roles." name, "a list such as [{user: alice}, {group: fabric-admins}]"),        \
        ELSEWHERE("rpc.roles." name ".user", "the name of a user, or a uid"),                      \
        ELSEWHERE("rpc.roles." name ".group", "the name of a group, or a gid"),                    \
        ELSEWHERE("rpc.roles." name ".cn", "the common name of a certificate"),                    \
        ELSEWHERE("rpc.roles." name ".san",                                                        \
                  "a subject alternative name, such as 'DNS:ci.example.com'")
#define GROUP(key) ELSEWHERE(#key, "keys below it, indented")

static const struct setting settings[] = {
    TOP(KIND_TEXT, state_dir, state_dir, "the path of a folder"),
    TOP(KIND_TEXT, port, port, "an adapter port, CA:PORT"),
    TOP(KIND_CHOICE, on_device_lost, on_device_lost, "exit or wait"),
    TOP(KIND_TEXT, socket_group, socket_group, "the name of a group"),
    TOP(KIND_LEVEL, log_level, log_level, "error, warning, notice, info or debug"),
    ELSEWHERE("metrics", "keys below it, indented, such as 'listen: 127.0.0.1:9471'"),
    ELSEWHERE("metrics.listen", "HOST:PORT, such as 127.0.0.1:9471"),
    OTHER(KIND_CHOICE, metrics, ports, metrics.ports,
          "none, errors, switch-links, switches or all"),
    OTHER(KIND_CHOICE, metrics, names, metrics.names, "own, treydock or guilbaults"),
    NUMBER(metrics, max_series, metrics.max_series, 0, 10000000, NULL),
    ELSEWHERE("listen", "a list of at most 16 addresses, each unix:PATH or tls:HOST:PORT"),
    GROUP(tls),
    OTHER(KIND_TEXT, tls, cert, tls.cert, "the path of a PEM file"),
    OTHER(KIND_TEXT, tls, key, tls.key, "the path of a PEM file"),
    OTHER(KIND_TEXT, tls, ca, tls.ca, "the path of a PEM file"),
    OTHER(KIND_TEXT, tls, crl, tls.crl, "the path of a PEM file"),
    GROUP(sweep),
    NUMBER(sweep, light_interval, sweep.light_interval_s, 0, 86400, "seconds, 0: never"),
    NUMBER(sweep, scrub_interval, sweep.scrub_interval_s, 0, 86400, "seconds, 0: never"),
    NUMBER(sweep, heavy_interval, sweep.heavy_interval_s, 0, 2592000, "seconds, 0: never"),
    NUMBER(sweep, trap_settle_ms, sweep.trap_settle_ms, 0, 60000, "milliseconds"),
    NUMBER(sweep, confirm_loss, sweep.confirm_loss_percent, 0, 100, "percent, 0: never"),
    GROUP(flapping),
    NUMBER(flapping, flaps, flapping.flaps, 2, 16, NULL),
    NUMBER(flapping, within, flapping.within_s, 1, 86400, "seconds"),
    NUMBER(flapping, hold_down, flapping.hold_down_s, 0, 86400, "seconds, 0: never"),
    NUMBER(flapping, max_hold_down, flapping.max_hold_down_s, 1, 604800, "seconds"),
    NUMBER(flapping, max_excluded_percent, flapping.max_excluded_percent, 0, 100, "percent"),
    NUMBER(flapping, min_capacity_percent, flapping.min_capacity_percent, 0, 100,
           "percent, 0: no floor"),
    GROUP(inventory),
    OTHER(KIND_CHOICE, inventory, read, inventory.read, "no or yes"),
    NUMBER(inventory, interval, inventory.interval_s, 60, 2592000, "seconds"),
    NUMBER(inventory, temperature_interval, inventory.temperature_interval_s, 0, 86400,
           "seconds, 0: never"),
    NUMBER(inventory, requests, inventory.requests, 1, 10000, "per second"),
    GROUP(counters),
    NUMBER(counters, interval, counters.interval_s, 0, 86400, "seconds, 0: never"),
    NUMBER(counters, within, counters.within_s, 1, 86400, "seconds"),
    OTHER(KIND_CHOICE, counters, on_errors, counters.on_errors, "report, isolate or disable"),
    NUMBER(counters, confirm, counters.confirm, 1, 60, "windows"),
    OTHER(KIND_CHOICE, counters, clear, counters.clear, "no or yes"),
    NUMBER(counters, max_size, counters.max_mb, 0, 1048576, "MiB, 0: no history"),
    NUMBER(counters, symbol_errors, counters.most[FAB_SYMBOL_ERRORS], 0, UINT32_MAX, "0: never"),
    NUMBER(counters, link_error_recovery, counters.most[FAB_LINK_ERROR_RECOVERY], 0, UINT32_MAX,
           "0: never"),
    NUMBER(counters, link_downed, counters.most[FAB_LINK_DOWNED], 0, UINT32_MAX, "0: never"),
    NUMBER(counters, rcv_errors, counters.most[FAB_RCV_ERRORS], 0, UINT32_MAX, "0: never"),
    NUMBER(counters, rcv_remote_physical_errors, counters.most[FAB_RCV_REMOTE_PHYSICAL_ERRORS], 0,
           UINT32_MAX, "0: never"),
    NUMBER(counters, rcv_switch_relay_errors, counters.most[FAB_RCV_SWITCH_RELAY_ERRORS], 0,
           UINT32_MAX, "0: never"),
    NUMBER(counters, xmit_discards, counters.most[FAB_XMIT_DISCARDS], 0, UINT32_MAX, "0: never"),
    NUMBER(counters, xmit_constraint_errors, counters.most[FAB_XMIT_CONSTRAINT_ERRORS], 0,
           UINT32_MAX, "0: never"),
    NUMBER(counters, rcv_constraint_errors, counters.most[FAB_RCV_CONSTRAINT_ERRORS], 0, UINT32_MAX,
           "0: never"),
    NUMBER(counters, local_link_integrity_errors, counters.most[FAB_LOCAL_LINK_INTEGRITY_ERRORS], 0,
           UINT32_MAX, "0: never"),
    NUMBER(counters, excessive_buffer_overrun_errors,
           counters.most[FAB_EXCESSIVE_BUFFER_OVERRUN_ERRORS], 0, UINT32_MAX, "0: never"),
    NUMBER(counters, vl15_dropped, counters.most[FAB_VL15_DROPPED], 0, UINT32_MAX, "0: never"),
    GROUP(smp),
    NUMBER(smp, timeout_ms, smp.timeout_ms, 1, 60000, "milliseconds"),
    NUMBER(smp, retries, smp.retries, 0, 20, NULL),
    NUMBER(smp, window, smp.window, 0, 65535, "0: the largest possible number"),
    GROUP(subnet),
    OTHER(KIND_GUID, subnet, prefix, policy.subnet_prefix,
          "16 hex digits, such as 0xfe80000000000000"),
    NUMBER(subnet, sm_priority, policy.sm_priority, 0, 15, NULL),
    NUMBER(subnet, standby_poll_ms, managers.standby_poll_ms, 50, 10000, "milliseconds"),
    NUMBER(subnet, standby_rate, managers.standby_rate, 0, 1000000, "requests a second, 0: none"),
    NUMBER(subnet, handover_hold, managers.handover_hold_s, 0, 3600, "seconds, 0: never"),
    OTHER(KIND_SECRET, subnet, sm_key, policy.sm_key, A_KEY),
    OTHER(KIND_SECRET, subnet, sa_key, policy.sa_key, A_KEY),
    OTHER(KIND_M_KEY, subnet, m_key, policy.m_keys.number, "generated, derived, " A_KEY),
    OTHER(KIND_GENERATED, subnet, m_key, m_key_generated, ""),
    OTHER(KIND_DERIVED, subnet, m_key, m_key_derived, ""),
    NUMBER(subnet, m_key_protection, policy.m_key_protect, 0, 3, "1: only Sets need the key"),
    NUMBER(subnet, m_key_lease, policy.m_key_lease_s, 0, 65535, "seconds, 0: for ever"),
    ELSEWHERE("subnet.lid_file", "the path of a file as OpenSM's guid2lid"),
    ELSEWHERE("subnet.m_key_file", "the path of a file as OpenSM's guid2mkey"),
    ELSEWHERE("subnet.pin_names", "first-seen, approved or off"),
    ELSEWHERE("subnet.unapproved", "allow, quarantine or exclude"),
    NUMBER(subnet, quarantine_pkey, quarantine_pkey, 1, 0x7ffe, NULL),
    NUMBER(subnet, lmc, policy.lmc, 0, 7, NULL),
    OTHER(KIND_MTU, subnet, max_mtu, policy.max_mtu, "256, 512, 1024, 2048 or 4096"),
    OTHER(KIND_VLS, subnet, max_vls, policy.max_op_vls, "1, 2, 4, 8 or 15"),
    NUMBER(subnet, packet_life_time, policy.packet_life_time, 0, 31, NULL),
    NUMBER(subnet, hoq_life, policy.hoq_life, 0, 31, NULL),
    NUMBER(subnet, leaf_hoq_life, policy.leaf_hoq_life, 0, 31, NULL),
    NUMBER(subnet, vl_stall_count, policy.vl_stall_count, 0, 7, NULL),
    NUMBER(subnet, leaf_vl_stall_count, policy.leaf_vl_stall_count, 0, 7, NULL),
    NUMBER(subnet, subnet_timeout, policy.subnet_timeout, 0, 31, NULL),
    NUMBER(subnet, phy_errors, policy.phy_errors, 0, 15, NULL),
    NUMBER(subnet, overrun_errors, policy.overrun_errors, 0, 15, NULL),
    ELSEWHERE("subnet.managers",
              "a list of trusted managers, such as ['0x0002c90300000001 leaf-01/7']"),
    ELSEWHERE("subnet.prefix_routes", "the path of a file as OpenSM's prefix-routes.conf"),
    GROUP(routing),
    OTHER(KIND_NAME, routing, engine, policy.engine, "names of routing engines, or auto"),
    ELSEWHERE("routing.file", "the path of a file with forwarding tables"),
    ELSEWHERE("routing.roots",
              "a list of switch GUIDs, such as [0x0002c90300000001, 0x0002c90300000002]"),
    NUMBER(routing, max_hops, policy.max_hops, 1, 1024, NULL),
    NUMBER(routing, rebalance_after, rebalance_s, 0, 86400, "seconds, 0: never"),
    GROUP(partitions),
    ELSEWHERE("partitions.file", "the path of a file as OpenSM's partitions.conf"),
    ELSEWHERE("partitions.enforce", "off, in, out or both"),
    ELSEWHERE("partitions.allow_both", "yes or no"),
    GROUP(multicast),
    NUMBER(multicast, mlids, multicast.mlids, 0, 16383, "0: as many as the smallest table has"),
    OTHER(KIND_CHOICE, multicast, share, multicast.share, "never, short or always"),
    NUMBER(multicast, absent, multicast.absent_s, 0, 86400, "seconds"),
    GROUP(congestion),
    OTHER(KIND_CHOICE, congestion, apply, policy.congestion.apply, "no or yes"),
    OTHER(KIND_CHOICE, congestion, profile, policy.congestion.profile,
          "off, balanced, incast or collective"),
    OTHER(KIND_KEY, congestion, cc_key, policy.congestion.key, "generated, " A_KEY),
    OTHER(KIND_GENERATED, congestion, cc_key, cc_key_generated, ""),
    NUMBER(congestion, cc_key_lease, policy.congestion.key_lease_s, 0, 65535,
           "seconds, 0: for ever"),
    NUMBER(congestion, fan_in, policy.congestion.fan_in, 0, FAB_CONGESTION_FAN_IN_MOST,
           "senders to one end, 0: from the fabric"),
    NUMBER(congestion, hop_ns, policy.congestion.hop_ns, 0, 1000000, "nanoseconds"),
    NUMBER(congestion, adapter_ns, policy.congestion.adapter_ns, 0, 1000000, "nanoseconds"),
    NUMBER(congestion, cable_m, policy.congestion.cable_m, 0, 100000, "metres"),
    NUMBER(congestion, queue_kb, policy.congestion.queue_kb, 1, 65536, "KiB"),
    AUTO(threshold, THRESHOLD, 0, 15),
    AUTO(switch_threshold, SWITCH_THRESHOLD, 0, 15),
    AUTO(marking_rate, MARKING_RATE, 0, 65535),
    AUTO(packet_size, PACKET_SIZE, 0, 255),
    AUTO(victim_mask, VICTIM_MASK, 0, 1),
    AUTO(timer, TIMER, 1, 65535),
    AUTO(increase, INCREASE, 1, 255),
    AUTO(trigger_threshold, TRIGGER_THRESHOLD, 0, 255),
    AUTO(min, MIN, 0, 255),
    AUTO(limit, LIMIT, 1, 255),
    ELSEWHERE("congestion.table", "a list of at most 256 entries of 16 bits, such as [0, 0xc008]"),
    GROUP(qos),
    ELSEWHERE("qos.file", "the path of a file as OpenSM's qos-policy.conf"),
    ELSEWHERE("qos.high_limit", "a number from 0 to 255"),
    ELSEWHERE("qos.vlarb_high", "VL:WEIGHT with commas between, such as 0:64,1:192"),
    ELSEWHERE("qos.vlarb_low", "VL:WEIGHT with commas between, such as 0:64,1:192"),
    ELSEWHERE("qos.sl2vl", "16 VLs with commas between"),
    ELSEWHERE("qos.classes", "a list of at most 15 classes, each with a name"),
    ELSEWHERE("qos.classes.name", "a name of at most 63 bytes"),
    ELSEWHERE("qos.classes.share", "a number from 1 to 100 (percent)"),
    ELSEWHERE("qos.classes.priority", "high or low"),
    ELSEWHERE("qos.classes.sl", "a number from 0 to 15"),
    ELSEWHERE("qos.classes.rate_limit", "a number from 1 to 100000 (Gb/s)"),
    ELSEWHERE("qos.classes.mtu_limit", "256, 512, 1024, 2048 or 4096"),
    ELSEWHERE("qos.classes.match", "a list of rules, such as [pkey=1]"),
    GROUP(contingency),
    NUMBER(contingency, memory, contingency_mb, 0, 65536, "MiB, 0: none are made"),
    NUMBER(contingency, cpu, contingency_cpu, 1, 100, "percent of one core"),
    GROUP(quotas),
    NUMBER(quotas, groups, policy.quotas.each[FAB_QUOTA_GROUPS], 0, 1048576, "0: no limit"),
    NUMBER(quotas, memberships, policy.quotas.each[FAB_QUOTA_MEMBERSHIPS], 0, 1048576,
           "0: no limit"),
    NUMBER(quotas, services, policy.quotas.each[FAB_QUOTA_SERVICES], 0, 131072, "0: no limit"),
    NUMBER(quotas, subscriptions, policy.quotas.each[FAB_QUOTA_SUBSCRIPTIONS], 0, 4096, "0: 4096"),
    NUMBER(quotas, alias_guids, policy.quotas.each[FAB_QUOTA_ALIAS_GUIDS], 0, 1048576,
           "0: no limit"),
    NUMBER(quotas, total_groups, policy.quotas.all[FAB_QUOTA_GROUPS], 0, 1048576, "0: no limit"),
    NUMBER(quotas, total_memberships, policy.quotas.all[FAB_QUOTA_MEMBERSHIPS], 0, 1048576,
           "0: no limit"),
    NUMBER(quotas, total_services, policy.quotas.all[FAB_QUOTA_SERVICES], 0, 131072, "0: no limit"),
    NUMBER(quotas, total_subscriptions, policy.quotas.all[FAB_QUOTA_SUBSCRIPTIONS], 0, 524288,
           "0: no limit"),
    NUMBER(quotas, total_alias_guids, policy.quotas.all[FAB_QUOTA_ALIAS_GUIDS], 0, 1048576,
           "0: no limit"),
    NUMBER(quotas, transfers, policy.quotas.transfers, 1, 256, NULL),
    NUMBER(quotas, requests, policy.quotas.requests, 0, 1000000, "a second, 0: no limit"),
    NUMBER(quotas, request_burst, policy.quotas.request_burst, 1, 10000000, NULL),
    GROUP(offenders),
    OTHER(KIND_CHOICE, offenders, refused_manager, offenders.refused_manager, "report or isolate"),
    OTHER(KIND_CHOICE, offenders, forged_control, offenders.forged_control, "report or isolate"),
    NUMBER(offenders, max_isolated, offenders.max_isolated, 0, 64, "0: none"),
    GROUP(locations),
    ELSEWHERE("locations.file", "the path of a CSV file with racks and hosts"),
    GROUP(names),
    ELSEWHERE("names.node_name_map", "the path of a node-name-map, as OpenSM's"),
    GROUP(gone),
    NUMBER(gone, max_age, gone_days, 1, 36500, "days"),
    NUMBER(gone, max_nodes, gone_nodes, 1, 1000000, NULL),
    GROUP(snapshots),
    NUMBER(snapshots, keep, snapshots_keep, 0, 1000, "0: none"),
    NUMBER(snapshots, max_size, snapshots_mb, 1, 65536, "MiB"),
    GROUP(journal),
    NUMBER(journal, keep, journal_keep, 1, 10000000, "events"),
    ELSEWHERE("alerts", "a list of at most 8 entries such as {webhook: 'https://HOST/PATH'}"),
    {"alerts.webhook", KIND_URL, 0, 0, 0, 0, 0, 0, "a URL"},
    ELSEWHERE("alerts.ca", "the path of a PEM file"),
    ELSEWHERE("alerts.syslog", "yes or no"),
    ELSEWHERE("alerts.min_severity", "info, warning or error"),
    ELSEWHERE("alerts.types", "a list of at most 64 event types or patterns, such as ['link-*']"),
    GROUP(rpc),
    ELSEWHERE("rpc.roles", "keys below it, indented: tenant, viewer, operator or administrator"),
    ROLE("tenant"),
    ROLE("viewer"),
    ROLE("operator"),
    ROLE("administrator"),
    GROUP(audit),
    NUMBER(audit, max_age, audit_days, 1, 36500, "days"),
    NUMBER(audit, max_size, audit_mb, 1, 65536, "MiB"),
    GROUP(replication),
    ELSEWHERE("replication.endpoints",
              "a list of at most 7 etcd servers, each tls:HOST:PORT, such as [tls:node-1:2379]"),
    OTHER(KIND_TEXT, replication, ca, replication.ca, "the path of a PEM file"),
    OTHER(KIND_TEXT, replication, cert, replication.cert, "the path of a PEM file"),
    OTHER(KIND_TEXT, replication, key, replication.key, "the path of a PEM file"),
    OTHER(KIND_TEXT, replication, server_name, replication.server_name,
          "a name in the certificates of the etcd servers"),
    OTHER(KIND_TEXT, replication, prefix, replication.prefix, "a name of at most 63 bytes"),
    ELSEWHERE("replication.wrapping_key", "file:PATH or credential:NAME"),
};

/* ---- expected values ---- */

static bool is_key(const struct setting *s)
{
    return s->kind == KIND_SECRET || s->kind == KIND_KEY || s->kind == KIND_M_KEY ||
           s->kind == KIND_URL;
}

const char *setting_expected(const char *path, char *buffer, size_t len)
{
    const struct setting *s = settings, *end = settings + sizeof(settings) / sizeof(*settings);
    size_t path_len = strcspn(path, "[");
    while (s < end && (strncmp(s->path, path, path_len) != 0 || s->path[path_len] != '\0'))
        s++;
    if (s == end)
        return "another value";
    if (s->kind != KIND_NUMBER && s->kind != KIND_AUTO)
        return s->expected;
    snprintf(buffer, len, "a number from %" PRIu64 " to %" PRIu64 "%s%s%s", s->least, s->most,
             s->expected != NULL ? " (" : "", s->expected != NULL ? s->expected : "",
             s->expected != NULL ? ")" : "");
    return buffer;
}

/* Returns true if `path`, of `len` bytes, is the path of the setting. Ignores an index such as
 * "[0]" in `path`. */
static bool is_path_of(const struct setting *s, const char *path, size_t len)
{
    const char *at = s->path, *end = path + len;
    while (path < end) {
        if (*path == '[')
            while (path < end && *path++ != ']')
                ;
        else if (*at == '\0' || *at++ != *path++)
            return false;
    }
    return *at == '\0';
}

bool setting_is_secret(const char *path, size_t len)
{
    bool known = false;
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        if (!is_path_of(&settings[i], path, len))
            continue;
        if (is_key(&settings[i]))
            return true;
        known = true;
    }
    return !known;
}

const char *setting_path(const char *sentence)
{
    size_t len = strcspn(sentence, " ");
    if (len == strlen("subnet_prefix") && strncmp(sentence, "subnet_prefix", len) == 0)
        return "subnet.prefix";
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const char *dot = strrchr(settings[i].path, '.');
        const char *last = dot != NULL ? dot + 1 : settings[i].path;
        if (strncmp(last, sentence, len) == 0 && last[len] == '\0')
            return settings[i].path;
    }
    return NULL;
}

/* ---- conversions ---- */

int setting_parse_guid(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    int digits = 0;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    for (; *text != '\0'; text++) {
        static const char hex[] = "0123456789abcdef";
        const char *at = strchr(hex, *text | 0x20);
        if (*text == ':' && digits > 0 && digits % 4 == 0 && text[1] != '\0')
            continue;
        if (at == NULL || *text < '0' || ++digits > 16)
            return FAB_E_INVAL;
        value = value << 4 | (uint64_t)(at - hex);
    }
    if (digits != 16)
        return FAB_E_INVAL;
    *ret = value;
    return FAB_OK;
}

int setting_parse_number(const char *text, uint64_t *ret)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = text + (hex ? 2 : 0);
    size_t count = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (count == 0 || digits[count] != '\0' || (!hex && digits[0] == '0' && count > 1))
        return FAB_E_INVAL;
    errno = 0;
    unsigned long long value = strtoull(digits, NULL, hex ? 16 : 10);
    if (errno != 0)
        return FAB_E_RANGE;
    *ret = value;
    return FAB_OK;
}

/* Returns the code (1 to 5) by which PortInfo represents a value; 0: there is none. meaning()
 * returns the value that a code represents. */
static uint64_t find_enum(unsigned (*meaning)(uint8_t), uint64_t value)
{
    for (uint8_t i = 1; i <= 5; i++)
        if (meaning(i) == value)
            return i;
    return 0;
}

static unsigned mtu_bytes(uint8_t mtu)
{
    return 128u << mtu;
}

static unsigned vl_count(uint8_t vls)
{
    return vls == 5 ? 15 : 1u << (vls - 1);
}

static void store_number(void *to, size_t size, uint64_t value)
{
    if (size == 1)
        *(uint8_t *)to = (uint8_t)value;
    else if (size == 2)
        *(uint16_t *)to = (uint16_t)value;
    else if (size == 4)
        *(uint32_t *)to = (uint32_t)value;
    else
        *(uint64_t *)to = value;
}

static int apply_number(const struct setting *s, const char *text, void *to)
{
    uint64_t value;
    int rc = setting_parse_number(text, &value);
    if (rc == FAB_OK && (value < s->least || value > s->most))
        rc = FAB_E_RANGE;
    if (rc == FAB_OK)
        store_number(to, s->size, value);
    return rc;
}

bool setting_is_made(const char *text)
{
    return strcmp(text, GENERATED) == 0 || strcmp(text, DERIVED) == 0;
}

static int apply_key(const struct setting *s, const char *text, void *to)
{
    uint64_t key = 0;
    bool made = s->kind == KIND_M_KEY ? setting_is_made(text)
                                      : s->kind == KIND_KEY && strcmp(text, GENERATED) == 0;
    int rc = made ? FAB_OK : setting_parse_number(text, &key);
    if (rc == FAB_OK)
        store_number(to, s->size, key);
    return rc;
}

static int apply_auto(const struct setting *s, const char *text, void *to)
{
    if (strcmp(text, "auto") != 0)
        return apply_number(s, text, to);
    store_number(to, s->size, (uint64_t)FAB_CONGESTION_AUTO);
    return FAB_OK;
}

static int apply_enum(const struct setting *s, const char *text, void *to)
{
    uint64_t value;
    int rc = setting_parse_number(text, &value);
    if (rc == FAB_OK && (value = find_enum(s->kind == KIND_MTU ? mtu_bytes : vl_count, value)) == 0)
        rc = FAB_E_RANGE;
    if (rc == FAB_OK)
        store_number(to, s->size, value);
    return rc;
}

static int apply_level(const char *text, enum log_level *to)
{
    static const char *const words[] = {"error", "warning", "notice", "info", "debug"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(text, words[i]) == 0) {
            *to = (enum log_level)(LOG_LEVEL_ERROR + i);
            return FAB_OK;
        }
    }
    return FAB_E_INVAL;
}

static int apply_name(const struct setting *s, const char *text, char *to)
{
    if (strlen(text) >= s->size)
        return FAB_E_RANGE;
    strcpy(to, text);
    return FAB_OK;
}

/* Stores the position of the text among the words in s->expected, from 0. These words have the form
 * "one, another or a third". Returns INVAL if the text is none of them. */
static int apply_choice(const struct setting *s, const char *text, void *to)
{
    const char *at = s->expected;
    for (uint64_t i = 0; *at != '\0'; i++) {
        size_t len = strcspn(at, ", ");
        if (strlen(text) == len && strncmp(at, text, len) == 0) {
            store_number(to, s->size, i);
            return FAB_OK;
        }
        at += len;
        at += strspn(at, ", ");
        at += strncmp(at, "or ", 3) == 0 ? 3 : 0;
    }
    return FAB_E_INVAL;
}

static int apply_text(const char *text, char **to)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return FAB_E_NOMEM;
    free(*to);
    *to = copy;
    return FAB_OK;
}

static int apply_value(const struct setting *s, const char *text, void *to)
{
    switch (s->kind) {
    case KIND_NUMBER:
        return apply_number(s, text, to);
    case KIND_AUTO:
        return apply_auto(s, text, to);
    case KIND_LEVEL:
        return apply_level(text, to);
    case KIND_MTU:
    case KIND_VLS:
        return apply_enum(s, text, to);
    case KIND_GUID:
        return setting_parse_guid(text, to);
    case KIND_NAME:
        return apply_name(s, text, to);
    case KIND_SECRET:
    case KIND_KEY:
    case KIND_M_KEY:
        return apply_key(s, text, to);
    case KIND_GENERATED:
        *(bool *)to = setting_is_made(text);
        return FAB_OK;
    case KIND_DERIVED:
        *(bool *)to = strcmp(text, DERIVED) == 0;
        return FAB_OK;
    case KIND_CHOICE:
        return apply_choice(s, text, to);
    default:
        return apply_text(text, to);
    }
}

/* Returns the text of a setting's value. Returns NULL if the configuration file does not have the
 * key, or if another file of this folder reads the value. */
static const char *find_value(const struct setting *s, const struct raw *raw)
{
    const char *group = (const char *)raw;
    if (s->kind == KIND_ELSEWHERE || s->kind == KIND_URL)
        return NULL;
    if (s->group != AT_TOP)
        group = *(const char *const *)(const void *)((const char *)raw + s->group);
    return group != NULL ? *(const char *const *)(const void *)(group + s->from) : NULL;
}

static void report_wrong(struct report *report, const struct setting *s, const char *expected)
{
    if (is_key(s))
        report_key(report, s->path, "%s: expected %s", s->path, expected);
    else
        report_value(report, s->path, expected);
}

int settings_apply(const struct raw *raw, struct report *report, struct config *c)
{
    char expected[200];
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const struct setting *s = &settings[i];
        const char *value = find_value(s, raw);
        int rc = value != NULL ? apply_value(s, value, (char *)c + s->to) : FAB_OK;
        if (rc == FAB_E_RANGE || rc == FAB_E_INVAL)
            report_wrong(report, s, setting_expected(s->path, expected, sizeof(expected)));
        if (rc != FAB_OK)
            return rc;
    }
    return FAB_OK;
}
