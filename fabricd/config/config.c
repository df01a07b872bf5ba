/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the text of the configuration file to struct config, in four steps:
 *
 *   1. place.c parses the YAML, to find the line and column of every value.
 *   2. schema.c checks keys and types with libcyaml, and makes a struct raw.
 *   3. settings.c checks the range of every single value, and stores it in struct config.
 *   4. This file reads the lists and the files that settings name, and checks conditions on several
 *      keys.
 *
 * The functions fill in a new struct config, which the caller gets only if all values are valid.
 */
#include "fabricd/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fabricd/config/files.h"
#include "fabricd/config/raw.h"
#include "fabricd/config/secret.h"
#include "fabricd/config/slurp.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/route.h"

/* maximum size of a configuration file in bytes */
#define FILE_MAX (1u << 20)

/* ---- defaults ---- */

/* Returns the path of a directory followed by `rest`. The directory is the first one in the
 * environment variable `variable`, which systemd sets. If the variable is not set, or has no
 * absolute path, the directory is `otherwise`. */
static char *folder(const char *variable, const char *otherwise, const char *rest)
{
    const char *given = getenv(variable);
    char *path = NULL;
    if (given == NULL || given[0] != '/')
        given = otherwise;
    if (asprintf(&path, "%.*s%s", (int)strcspn(given, ":"), given, rest) < 0)
        return NULL;
    return path;
}

int config_defaults(struct config *ret)
{
    struct config c = {
        .state_dir = folder("STATE_DIRECTORY", "/var/lib/fabricd", ""),
        .port = strdup(""),
        .socket_group = strdup("fabric"),
        .log_level = LOG_LEVEL_INFO,
        .quarantine_pkey = 0x7ffe,
        .sweep = {.light_interval_s = 10,
                  .heavy_interval_s = 600,
                  .scrub_interval_s = 600,
                  .trap_settle_ms = 10,
                  .confirm_loss_percent = 10},
        .managers = {.standby_poll_ms = 250, .standby_rate = 4000, .handover_hold_s = 60},
        .flapping = {.flaps = 4,
                     .within_s = 60,
                     .hold_down_s = 10,
                     .max_hold_down_s = 600,
                     .max_excluded_percent = 50,
                     .min_capacity_percent = 75},
        .inventory = {.interval_s = 21600, .temperature_interval_s = 300, .requests = 200},
        .counters = {.interval_s = 60, .within_s = 60, .confirm = 5, .max_mb = 4096},
        .metrics = {.ports = CONFIG_METRICS_ALL, .max_series = 200000},
        .multicast = {.share = FAB_MCAST_SHARE_SHORT, .absent_s = 60},
        .smp = {.timeout_ms = 200, .retries = 3, .window = 0},
        .contingency_mb = 64,
        .contingency_cpu = 25,
        .rebalance_s = 60,
        .gone_days = 30,
        .gone_nodes = 10000,
        .snapshots_keep = 30,
        .snapshots_mb = 256,
        .journal_keep = 100000,
        .audit_days = 400,
        .audit_mb = 256,
        .offenders = {.max_isolated = 4},
    };
    char why[200];
    char *address = folder("RUNTIME_DIRECTORY", "/run/fabricd", "/fabricd.sock");
    char *listen = NULL;
    int rc = FAB_E_NOMEM;
    for (int i = 0; i < FAB_COUNTERS; i++)
        c.counters.most[i] = fab_health_counter_kinds[i].threshold;
    fab_policy_defaults(&c.policy);
    if (address == NULL || asprintf(&listen, "unix:%s", address) < 0)
        listen = NULL;
    if (listen != NULL && c.state_dir != NULL && c.port != NULL && c.socket_group != NULL)
        rc = config_listen_add(&c, listen, true, why, sizeof(why));
    /* INVAL means that the path of the default socket is too long for the system. This is no
     * failure: there is then no default address, and the operator must configure one. */
    if (rc == FAB_E_INVAL)
        rc = FAB_OK;
    free(listen);
    free(address);
    if (rc == FAB_OK)
        *ret = c;
    else
        config_fini(&c);
    return rc;
}

static void drop_listen(struct config *c)
{
    for (size_t i = 0; i < c->listen_count; i++)
        listen_fini(&c->listen[i]);
    free(c->listen);
    c->listen = NULL;
    c->listen_count = 0;
}

void config_fini(struct config *c)
{
    drop_listen(c);
    listen_fini(&c->metrics.listen);
    free(c->state_dir);
    free(c->text);
    free(c->port);
    free(c->socket_group);
    free(c->tls.cert);
    free(c->tls.key);
    free(c->tls.ca);
    free(c->tls.crl);
    replication_fini(&c->replication);
    roles_fini(&c->roles);
    alerts_fini(&c->alerts);
    fab_policy_fini(&c->policy);
    *c = (struct config){0};
}

/* ---- lists ---- */

static int append_listen(struct config *c, const struct config_listen *l)
{
    struct config_listen *more = reallocarray(c->listen, c->listen_count + 1, sizeof(*more));
    if (more == NULL)
        return FAB_E_NOMEM;
    more[c->listen_count++] = *l;
    c->listen = more;
    return FAB_OK;
}

/* Adds a listen address. Returns NOMEM, or INVAL with a text in expected[] that says which
 * addresses are accepted. */
static int add_listen(struct config *c, const char *address, char *expected, size_t len)
{
    struct config_listen l;
    int rc = listen_parse(address, &l, expected, len);
    if (rc == FAB_OK && (rc = append_listen(c, &l)) != FAB_OK)
        listen_fini(&l);
    return rc;
}

int config_listen_add(struct config *c, const char *address, bool replace, char *why,
                      size_t why_len)
{
    char expected[200], clean[120];
    struct config kept = *c;
    if (replace) {
        c->listen = NULL;
        c->listen_count = 0;
    }
    int rc = add_listen(c, address, expected, sizeof(expected));
    if (rc == FAB_OK && replace)
        drop_listen(&kept);
    else if (replace)
        *c = kept; /* after an error, the earlier addresses stay */
    log_clean(address, clean, sizeof(clean));
    if (rc == FAB_E_INVAL)
        snprintf(why, why_len, "the address is '%s', expected %s", clean, expected);
    else if (rc != FAB_OK)
        snprintf(why, why_len, "%s", fab_base_status_text(rc));
    return rc;
}

static int take_listen(const struct raw *raw, struct report *report, struct config *c)
{
    char expected[200], path[32];
    /* raw->listen is NULL both if the file does not have the key and if the list is empty. An empty
     * list drops the default address; without the key, the default stays. */
    if (!place_has(report, "listen"))
        return FAB_OK;
    drop_listen(c);
    for (unsigned i = 0; i < raw->listen_count; i++) {
        int rc = add_listen(c, raw->listen[i], expected, sizeof(expected));
        snprintf(path, sizeof(path), "listen[%u]", i);
        if (rc == FAB_E_INVAL)
            report_value(report, path, expected);
        if (rc != FAB_OK)
            return rc;
    }
    return FAB_OK;
}

static int take_metrics(const struct raw *raw, struct report *report, struct config *c)
{
    char expected[200];
    const char *listen = raw->metrics != NULL ? raw->metrics->listen : NULL;
    if (listen == NULL || listen[0] == '\0')
        return FAB_OK;
    int rc = listen_parse_metrics(listen, &c->metrics.listen, expected, sizeof(expected));
    if (rc == FAB_E_INVAL)
        report_value(report, "metrics.listen", expected);
    return rc;
}

static int take_roots(const struct raw *raw, struct report *report, struct config *c)
{
    char path[32];
    const struct raw_routing *routing = raw->routing;
    if (routing == NULL || routing->roots_count == 0)
        return FAB_OK;
    uint64_t *roots = calloc(routing->roots_count, sizeof(*roots));
    if (roots == NULL)
        return FAB_E_NOMEM;
    free(c->policy.roots);
    c->policy.roots = roots;
    c->policy.root_count = routing->roots_count;
    for (unsigned i = 0; i < routing->roots_count; i++) {
        int rc = setting_parse_guid(routing->roots[i], &roots[i]);
        snprintf(path, sizeof(path), "routing.roots[%u]", i);
        if (rc == FAB_OK && roots[i] == 0)
            rc = FAB_E_INVAL;
        if (rc != FAB_OK) {
            report_value(report, path,
                         "a switch GUID of 16 hex digits, such as 0x0002c90300000001");
            return rc;
        }
    }
    return FAB_OK;
}

/* Parses a trusted manager, "GUID SWITCH/PORT". Returns INVAL if the text has another form. */
static int parse_manager(const char *text, struct fab_manager *ret)
{
    char guid[24];
    uint64_t port;
    size_t len = strcspn(text, " ");
    const char *place = text + len + strspn(text + len, " "), *slash = strrchr(place, '/');
    if (len >= sizeof(guid) || slash == NULL || slash == place ||
        (size_t)(slash - place) >= sizeof(ret->switch_name))
        return FAB_E_INVAL;
    snprintf(guid, sizeof(guid), "%.*s", (int)len, text);
    if (setting_parse_guid(guid, &ret->guid) != FAB_OK || ret->guid == 0 ||
        setting_parse_number(slash + 1, &port) != FAB_OK || port < 1 || port > 254)
        return FAB_E_INVAL;
    snprintf(ret->switch_name, sizeof(ret->switch_name), "%.*s", (int)(slash - place), place);
    ret->switch_port = (uint8_t)port;
    return FAB_OK;
}

static int take_managers(const struct raw *raw, struct report *report, struct config *c)
{
    char path[32];
    unsigned count = raw->subnet != NULL ? raw->subnet->managers_count : 0;
    for (unsigned i = 0; i < count; i++) {
        if (parse_manager(raw->subnet->managers[i], &c->policy.managers[i]) == FAB_OK)
            continue;
        snprintf(path, sizeof(path), "subnet.managers[%u]", i);
        return report_value(report, path,
                            "the GUID of a manager's port and its switch port, such as "
                            "'0x0002c90300000001 leaf-01/7'");
    }
    c->policy.manager_count = count;
    return FAB_OK;
}

static int take_control_table(const struct raw *raw, struct report *report, struct config *c)
{
    struct fab_policy_congestion *to = &c->policy.congestion;
    unsigned count = raw->congestion != NULL ? raw->congestion->table_count : 0;
    char path[32];
    for (unsigned i = 0; i < count; i++) {
        uint64_t value;
        int rc = setting_parse_number(raw->congestion->table[i], &value);
        if (rc == FAB_OK && value > UINT16_MAX)
            rc = FAB_E_RANGE;
        snprintf(path, sizeof(path), "congestion.table[%u]", i);
        if (rc != FAB_OK) {
            report_value(report, path, "shift << 14 | multiplier, such as 0xc008");
            return rc;
        }
        to->table[i] = (uint16_t)value;
    }
    to->table_count = (uint16_t)count;
    return FAB_OK;
}

/* Reads the forwarding tables for the engine "file". */
static int take_tables(const struct raw *raw, struct report *report, struct config *c)
{
    const char *file = raw->routing != NULL ? raw->routing->file : NULL;
    struct fab_tables_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    if (file == NULL || file[0] == '\0')
        return FAB_OK;
    int rc = slurp(file, FAB_TABLES_TEXT_MAX, "forwarding tables", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, "routing.file", "%s", why);
        return rc;
    }
    rc = fab_policy_tables_read(text, len, &c->policy.tables, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, "routing.file", "%s:%u:%u: %s", file, error.line, error.column,
                   error.message);
    free(text);
    return rc;
}

/* ---- partitions ---- */

/* Sets *ret to the index of `word` in a NULL-terminated list of words. word == NULL: the file does
 * not have the key, so *ret stays unchanged. Returns RANGE if the list does not have the word. */
static int take_word(struct report *report, const char *path, const char *word,
                     const char *const *words, uint8_t *ret)
{
    char expected[200];
    for (uint8_t i = 0; word != NULL && words[i] != NULL; i++)
        if (strcmp(word, words[i]) == 0) {
            *ret = i;
            return FAB_OK;
        }
    if (word == NULL)
        return FAB_OK;
    report_value(report, path, setting_expected(path, expected, sizeof(expected)));
    return FAB_E_RANGE;
}

static int take_pin_names(const struct raw *raw, struct report *report, struct config *c)
{
    static const char *const modes[] = {[FAB_PIN_FIRST_SEEN] = "first-seen",
                                        [FAB_PIN_APPROVED] = "approved",
                                        [FAB_PIN_OFF] = "off",
                                        NULL};
    return raw->subnet != NULL ? take_word(report, "subnet.pin_names", raw->subnet->pin_names,
                                           modes, &c->policy.pin_names)
                               : FAB_OK;
}

static int take_unapproved(const struct raw *raw, struct report *report, struct config *c)
{
    static const char *const modes[] = {[CONFIG_ALLOW] = "allow",
                                        [CONFIG_QUARANTINE] = "quarantine",
                                        [CONFIG_EXCLUDE] = "exclude",
                                        NULL};
    return raw->subnet != NULL ? take_word(report, "subnet.unapproved", raw->subnet->unapproved,
                                           modes, &c->unapproved)
                               : FAB_OK;
}

static void tell_notes(const char *file, const struct fab_partitions *p)
{
    for (size_t i = 0; i < p->notes && i < FAB_PARTITION_NOTES; i++)
        log_warning("config", "%s:%u:%u: %s", file, p->note[i].line, p->note[i].column,
                    p->note[i].message);
    if (p->notes > FAB_PARTITION_NOTES)
        log_warning("config", "%s: %zu more of these", file, p->notes - FAB_PARTITION_NOTES);
}

static int take_partition_file(const char *file, struct report *report, struct fab_policy *policy)
{
    struct fab_partitions_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    int rc = slurp(file, FAB_PARTITIONS_TEXT_MAX, "partitions", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, "partitions.file", "%s", why);
        return rc;
    }
    rc = fab_policy_partitions_read(text, len, &policy->partitions, &error);
    if (rc == FAB_OK)
        tell_notes(file, policy->partitions);
    else if (rc != FAB_E_NOMEM)
        report_key(report, "partitions.file", "%s:%u:%u: %s", file, error.line, error.column,
                   error.message);
    free(text);
    return rc;
}

static int take_partitions(const struct raw *raw, struct report *report, struct config *c)
{
    static const char *const where[] = {"off", "in", "out", "both", NULL};
    static const char *const yes_no[] = {"no", "yes", NULL};
    const struct raw_partitions *p = raw->partitions;
    uint8_t both = c->policy.both_pkeys;
    if (p == NULL)
        return FAB_OK;
    int rc = take_word(report, "partitions.enforce", p->enforce, where, &c->policy.enforce);
    if (rc == FAB_OK)
        rc = take_word(report, "partitions.allow_both", p->allow_both, yes_no, &both);
    c->policy.both_pkeys = both != 0;
    if (rc == FAB_OK && p->file != NULL && p->file[0] != '\0')
        rc = take_partition_file(p->file, report, &c->policy);
    return rc;
}

static int take_routers(const struct raw *raw, struct report *report, struct config *c)
{
    const char *file = raw->subnet != NULL ? raw->subnet->prefix_routes : NULL;
    struct fab_routers_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    if (file == NULL || file[0] == '\0')
        return FAB_OK;
    int rc = slurp(file, FAB_ROUTERS_TEXT_MAX, "prefix routes", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, "subnet.prefix_routes", "%s", why);
        return rc;
    }
    rc = fab_policy_routers_read(text, len, &c->policy.routers, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, "subnet.prefix_routes", "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

/* ---- locations ---- */

static int take_locations(const struct raw *raw, struct report *report, struct config *c)
{
    const char *file = raw->locations != NULL ? raw->locations->file : NULL;
    struct fab_locations_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    if (file == NULL || file[0] == '\0')
        return FAB_OK;
    int rc = slurp(file, FAB_LOCATIONS_TEXT_MAX, "locations", &text, &len, why, sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, "locations.file", "%s", why);
        return rc;
    }
    rc = fab_policy_locations_read(text, len, &c->policy.locations, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, "locations.file", "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

/* ---- M_Keys of other managers ---- */

static int take_m_key_file(const struct raw *raw, struct report *report, struct config *c)
{
    const char *file = raw->subnet != NULL ? raw->subnet->m_key_file : NULL;
    struct fab_line_error error;
    char why[300], *text = NULL;
    size_t len = 0;
    if (file == NULL || file[0] == '\0')
        return FAB_OK;
    int rc = slurp_secret(file, FAB_M_KEY_LIST_TEXT_MAX, "M_Keys of ports", &text, &len, why,
                          sizeof(why));
    if (rc != FAB_OK) {
        report_key(report, "subnet.m_key_file", "%s", why);
        return rc;
    }
    rc = fab_policy_m_key_list_read(text, len, &c->policy.listed_m_keys, &error);
    if (rc == FAB_E_FORMAT)
        report_key(report, "subnet.m_key_file", "%s:%u: %s", file, error.line, error.message);
    free(text);
    return rc;
}

/* ---- checks of the whole config ---- */

static const char *missing_tls(const struct config_tls *tls)
{
    return tls->cert == NULL ? "cert" : tls->key == NULL ? "key" : tls->ca == NULL ? "ca" : NULL;
}

/* TLS needs three files. Returns true if not all three are set, although there is a TLS address or
 * one of the files is set. path[] then has the path of the setting that needs the missing file,
 * such as "listen[1]". *ret_missing is the name of the first missing file, "cert", "key" or "ca",
 * also if TLS is not used at all; NULL: no file is missing. */
static bool tls_incomplete(const struct config *c, char *path, size_t len, const char **ret_missing)
{
    *ret_missing = missing_tls(&c->tls);
    if (*ret_missing == NULL)
        return false;
    for (size_t i = 0; i < c->listen_count; i++) {
        if (c->listen[i].kind == CONFIG_LISTEN_TLS) {
            snprintf(path, len, "listen[%zu]", i);
            return true;
        }
    }
    snprintf(path, len, "tls");
    return c->tls.cert != NULL || c->tls.key != NULL || c->tls.ca != NULL;
}

/* Checks the list of engines: all of them exist, there are not too many, "auto" stands alone, and
 * the engine "file" has tables. fab_policy_validate checks only the form of the names. */
static int check_engine(const struct fab_policy *p, char *why, size_t why_len)
{
    struct fab_route_chain chain;
    char unknown[80] = "";
    int rc = fab_route_chain_parse(p->engine, &chain, unknown, sizeof(unknown));
    for (uint32_t i = 0; rc == FAB_OK && i < chain.count; i++) {
        if (strcmp(chain.engine[i]->name, "file") != 0 || p->tables != NULL)
            continue;
        snprintf(why, why_len, "engine names file, expected its tables in routing.file");
        return FAB_E_INVAL;
    }
    if (rc == FAB_E_LIMIT)
        snprintf(why, why_len, "engine names more than %d engines", FAB_ROUTE_CHAIN_MAX);
    if (rc != FAB_E_NOT_FOUND)
        return rc == FAB_OK ? FAB_OK : FAB_E_INVAL;
    if (strcmp(unknown, "auto") == 0) {
        snprintf(why, why_len, "engine has auto among others, expected it alone");
        return FAB_E_INVAL;
    }
    size_t used = (size_t)snprintf(why, why_len, "engine is '%s', expected auto", unknown);
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++)
        if (used < why_len)
            used += (size_t)snprintf(why + used, why_len - used, "%s%s",
                                     e[1] != NULL ? ", " : " or ", (*e)->name);
    return FAB_E_INVAL;
}

/* If subnet.unapproved is "quarantine", checks that no configured partition has the P_Key of
 * quarantined hosts, because the members of such a partition could reach quarantined hosts. */
static int check_quarantine(const struct config *c, char *why, size_t why_len)
{
    const struct fab_partitions *p = c->policy.partitions;
    for (size_t i = 0; c->unapproved == CONFIG_QUARANTINE && p != NULL && i < p->partitions; i++)
        if (p->partition[i].pkey == c->quarantine_pkey) {
            snprintf(
                why, why_len,
                "quarantine_pkey is 0x%x, the P_Key of partition \"%s\", expected a P_Key that "
                "no partition has",
                c->quarantine_pkey, p->partition[i].name);
            return FAB_E_RANGE;
        }
    return FAB_OK;
}

int config_check(const struct config *c, char *why, size_t why_len)
{
    char path[32];
    const char *missing;
    if (!tls_incomplete(c, path, sizeof(path), &missing)) {
        int rc = fab_policy_validate(&c->policy, why, why_len);
        if (rc == FAB_OK)
            rc = check_quarantine(c, why, why_len);
        return rc == FAB_OK ? check_engine(&c->policy, why, why_len) : rc;
    }
    snprintf(why, why_len,
             "%s: tls.%s is not set, expected tls.cert, tls.key and tls.ca for TLS with client "
             "certificates",
             path, missing);
    return FAB_E_INVAL;
}

/* Calls config_check, and reports its error with a line and column in the file. If the message
 * begins with the name of a field of the policy, such as "engine", the report has the path of the
 * setting instead ("routing.engine"). */
static int check_whole(const struct config *c, struct report *report)
{
    char path[32], why[300];
    const char *missing;
    int rc = config_check(c, why, sizeof(why));
    if (rc == FAB_OK)
        return FAB_OK;
    bool of_tls = tls_incomplete(c, path, sizeof(path), &missing);
    const char *setting = of_tls ? NULL : setting_path(why);
    if (setting != NULL)
        report_sentence(report, setting, why + strcspn(why, " ") + (strchr(why, ' ') != NULL));
    else
        report_key(report, of_tls ? path : "", "%s", why);
    return rc;
}

static int fill(struct raw *raw, struct report *report, struct config *c)
{
    int rc = secrets_take(raw, report, c);
    if (rc == FAB_OK)
        rc = settings_apply(raw, report, c);
    if (rc == FAB_OK)
        rc = take_listen(raw, report, c);
    if (rc == FAB_OK)
        rc = take_metrics(raw, report, c);
    if (rc == FAB_OK)
        rc = take_roots(raw, report, c);
    if (rc == FAB_OK)
        rc = take_managers(raw, report, c);
    if (rc == FAB_OK)
        rc = take_pin_names(raw, report, c);
    if (rc == FAB_OK)
        rc = take_unapproved(raw, report, c);
    if (rc == FAB_OK)
        rc = take_control_table(raw, report, c);
    if (rc == FAB_OK)
        rc = take_tables(raw, report, c);
    if (rc == FAB_OK)
        rc = take_partitions(raw, report, c);
    if (rc == FAB_OK)
        rc = take_routers(raw, report, c);
    if (rc == FAB_OK)
        rc = take_locations(raw, report, c);
    if (rc == FAB_OK)
        rc = files_take(raw, report, &c->policy);
    if (rc == FAB_OK)
        rc = take_m_key_file(raw, report, c);
    if (rc == FAB_OK)
        rc = classes_take(raw->qos, report, c);
    if (rc == FAB_OK)
        rc = roles_take(raw->rpc, report, &c->roles);
    if (rc == FAB_OK)
        rc = replication_take(raw->replication, report, c);
    if (rc == FAB_OK)
        rc = alerts_take(raw, report, &c->alerts);
    if (rc == FAB_OK)
        rc = check_whole(c, report);
    return rc;
}

static int load_text(const char *text, size_t len, struct report *report, struct config *c)
{
    struct raw *raw = NULL;
    int rc = place_open(text, len, report);
    if (rc == FAB_OK)
        rc = place_flatten(report, &c->text);
    if (rc == FAB_OK)
        rc = raw_load(text, len, report, &raw);
    if (rc == FAB_OK && raw != NULL)
        rc = fill(raw, report, c);
    raw_free(raw);
    place_close(report);
    return rc;
}

int config_load_text(const char *text, size_t len, const char *name, struct config *ret, char *why,
                     size_t why_len)
{
    struct report report = {.name = name, .why = why, .why_len = why_len};
    struct config c;
    int rc = config_defaults(&c);
    if (rc == FAB_OK && (rc = load_text(text, len, &report, &c)) != FAB_OK)
        config_fini(&c);
    if (rc == FAB_OK)
        *ret = c;
    else if (rc == FAB_E_NOMEM)
        snprintf(why, why_len, "%s: %s", name, fab_base_status_text(rc));
    return rc;
}

/* ---- the file ---- */

/* Returns DENIED, with a message in why[], if the configuration file contains a secret key and its
 * mode gives other users access. */
static int check_mode(const char *file, const struct config *c, char *why, size_t why_len)
{
    struct stat st;
    if (c->key_in_file == NULL || stat(file, &st) != 0 || !S_ISREG(st.st_mode) ||
        (st.st_mode & S_IRWXO) == 0)
        return FAB_OK;
    snprintf(why, why_len,
             "%s: every user can read or write this file, which has the key %s; run 'chmod o= %s', "
             "or write the key to a file of its own and set %s to file:PATH",
             file, c->key_in_file, file, c->key_in_file);
    return FAB_E_DENIED;
}

int config_load(const char *file, struct config *ret, char *why, size_t why_len)
{
    char *text = NULL;
    size_t len = 0;
    struct config c;
    int rc = slurp(file, FILE_MAX, "a configuration file", &text, &len, why, why_len);
    if (rc == FAB_OK)
        rc = config_load_text(text, len, file, &c, why, why_len);
    free(text);
    if (rc != FAB_OK)
        return rc;
    rc = check_mode(file, &c, why, why_len);
    if (rc == FAB_OK)
        *ret = c;
    else
        config_fini(&c);
    return rc;
}
