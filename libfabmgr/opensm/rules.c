/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the options for which it is not enough to copy the value to a setting. options.c names
 * the functions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "libfabmgr/opensm/convert.h"

static bool is_zero(const char *value)
{
    uint64_t n;
    return value == NULL || (fab_opensm_number(value, &n) && n == 0);
}

void fab_opensm_rule_port(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                          struct fab_opensm_item *item)
{
    (void)c;
    (void)o;
    if (is_zero(item->value))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "fabricd uses the first InfiniBand port whose link is up.");
    else
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         "Set port to the adapter port with this GUID, such as mlx5_0:1; ibstat "
                         "shows the GUIDs.");
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Adds a file that has only the key to the files to write. The path of this file becomes the value
 * of fabricd's setting `setting`. If the value is not a number, adds no file; the operator must
 * then decide. */
static void take_key(struct fab_opensm_convert *c, struct fab_opensm_item *item, const char *value,
                     const char *setting, const char *file)
{
    uint64_t key;
    item->value = "(secret)";
    if (!fab_opensm_number(value, &key)) {
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is not a number.");
        return;
    }
    const char *text = fab_opensm_textf(c, "0x%016" PRIx64 "\n", key);
    const char *path = fab_opensm_write(c, file, text, strlen(text), true);
    fab_opensm_set(c, item, setting, fab_opensm_textf(c, "'file:%s", path + 1));
    item->note = "Make the user of fabricd the owner of this file.";
}

void fab_opensm_rule_m_key(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                           struct fab_opensm_item *item)
{
    (void)o;
    if (is_zero(item->value))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else
        take_key(c, item, item->value, "subnet.m_key", "opensm-m_key");
}

void fab_opensm_rule_m_key_part(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                                struct fab_opensm_item *item)
{
    uint64_t n, most = strcmp(o->name, "m_key_lease_period") == 0 ? UINT16_MAX : 3;
    if (is_zero(fab_opensm_get(c, "m_key")))
        fab_opensm_judge(item, FAB_OPENSM_NONE, "there is no M_Key.");
    else if (!fab_opensm_number(item->value, &n) || n > most)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is out of range.");
    else
        fab_opensm_set(c, item, o->setting, fab_opensm_textf(c, "%" PRIu64, n));
}

void fab_opensm_rule_sm_key(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                            struct fab_opensm_item *item)
{
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else
        take_key(c, item, item->value, "subnet.sm_key", "opensm-sm_key");
}

void fab_opensm_rule_sa_key(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                            struct fab_opensm_item *item)
{
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "everybody knows the key 1, so fabricd makes a random one.");
    else if (is_zero(item->value))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else
        take_key(c, item, item->value, "subnet.sa_key", "opensm-sa_key");
}

void fab_opensm_rule_cc_key(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                            struct fab_opensm_item *item)
{
    (void)o;
    if (is_zero(item->value))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (fab_opensm_has(c, "congestion_control"))
        take_key(c, item, item->value, "congestion.cc_key", "opensm-cc_key");
    else {
        item->value = "(secret)";
        fab_opensm_judge(item, FAB_OPENSM_NONE, "congestion_control is FALSE.");
    }
}

/* ---- the subnet ------------------------------------------------------------------------------ */

void fab_opensm_rule_prefix(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                            struct fab_opensm_item *item)
{
    uint64_t prefix;
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (!fab_opensm_number(item->value, &prefix))
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is not a number.");
    else
        fab_opensm_set(c, item, "subnet.prefix", fab_opensm_textf(c, "0x%016" PRIx64, prefix));
}

void fab_opensm_rule_lmc_esp0(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                              struct fab_opensm_item *item)
{
    (void)o;
    if (!fab_opensm_is_true(item->value) || is_zero(fab_opensm_get(c, "lmc")))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         "fabricd gives each switch one LID. Decide whether programs use the "
                         "other LIDs of switches.");
}

void fab_opensm_rule_max_vls(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                             struct fab_opensm_item *item)
{
    static const char *const vls[] = {"1", "2", "4", "8", "15"};
    uint64_t code;
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (!fab_opensm_number(item->value, &code) || code < 1 || code > 5)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is out of range.");
    else
        fab_opensm_set(c, item, "subnet.max_vls", vls[code - 1]);
}

void fab_opensm_rule_no_enforce(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                                struct fab_opensm_item *item)
{
    (void)o;
    if (fab_opensm_is_true(item->value))
        fab_opensm_set(c, item, "partitions.enforce", "off");
    else
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
}

void fab_opensm_rule_enforce(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                             struct fab_opensm_item *item)
{
    static const char *const words[] = {"in", "out", "off"};
    if (fab_opensm_has(c, "no_partition_enforcement")) {
        fab_opensm_judge(item, FAB_OPENSM_NONE, "no_partition_enforcement is TRUE.");
        return;
    }
    if (strcasecmp(item->value, o->preset) == 0) {
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(item->value, words[i]) == 0) {
            fab_opensm_set(c, item, "partitions.enforce", words[i]);
            return;
        }
    fab_opensm_judge(item, FAB_OPENSM_DECIDE, "Expected both, in, out or off.");
}

/* ---- routing --------------------------------------------------------------------------------- */

static const struct {
    const char *theirs, *ours;
} engines[] = {
    {"minhop", "minhop"}, {"updn", "updn"},        {"ftree", "fattree"},
    {"dor", "dor"},       {"torus-2QoS", "torus"}, {"nue", "nue"},
    {"dfsssp", "dfsssp"}, {"sssp", "sssp"},        {"file", "file"},
};

static const char *engine_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strlen(engines[i].theirs) == len && strncmp(engines[i].theirs, name, len) == 0)
            return engines[i].ours;
    return NULL;
}

const char *fab_opensm_engine(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strlen(engines[i].ours) == len && strncmp(engines[i].ours, name, len) == 0)
            return engines[i].theirs;
    return NULL;
}

/* Returns true if the name is in the list, whose names are separated by ", ". */
static bool has_name(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; *at != '\0'; at += strspn(at, ", ")) {
        size_t next = strcspn(at, ", ");
        if (next == len && strncmp(at, name, len) == 0)
            return true;
        at += next;
    }
    return false;
}

static void add_engine(struct fab_text *t, const char *name)
{
    if (!has_name(fab_base_text_get(t), name))
        fab_base_text_addf(t, "%s%s", t->len > 0 ? ", " : "", name);
}

/* Converts the list of engines. If no_fallback is not in the list, OpenSM falls back to minhop; the
 * converted list, unless it is empty, then ends with updn instead, because updn supports every
 * topology. tables: true: there is a file of tables, which the engine "file" needs. *ret_missing
 * becomes true if fabricd lacks an engine of the list, or has no tables for "file". */
static void convert_engines(const char *list, bool tables, struct fab_text *t, bool *ret_missing)
{
    bool fallback = true;
    *ret_missing = false;
    for (const char *at = list; *at != '\0'; at += strspn(at, ", \t")) {
        size_t len = strcspn(at, ", \t");
        const char *ours = engine_of(at, len);
        if (len == strlen("no_fallback") && strncmp(at, "no_fallback", len) == 0)
            fallback = false;
        else if (ours != NULL && (strcmp(ours, "file") != 0 || tables))
            add_engine(t, ours);
        else if (len > 0)
            *ret_missing = true;
        at += len;
    }
    if (fallback && t->len > 0)
        add_engine(t, "updn");
}

void fab_opensm_rule_engine(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                            struct fab_opensm_item *item)
{
    struct fab_text t = {0};
    bool missing;
    (void)o;
    if (item->value[0] == '\0' || strcmp(item->value, "(null)") == 0) {
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "fabricd tries several engines (routing.engine: auto), and proves that "
                         "the tables have no deadlock.");
        return;
    }
    convert_engines(item->value, c->in->file[FAB_OPENSM_LFTS].text != NULL, &t, &missing);
    const char *list = fab_opensm_textf(c, "%s", fab_base_text_get(&t));
    c->arena->failed |= t.status != 0;
    fab_base_text_fini(&t);
    if (list != NULL && list[0] != '\0')
        fab_opensm_set(c, item, "routing.engine", list);
    if (!missing && list != NULL && list[0] == '\0')
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "The list names no engine. fabricd tries several engines "
                         "(routing.engine: auto).");
    else if (missing)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         "fabricd does not have all these engines. Decide whether the others "
                         "suffice; fabricctl route explain shows the choice, route compare the "
                         "engines.");
    else
        item->note = "fabricd proves that the tables have no deadlock, and otherwise tries the "
                     "next engine. updn is OpenSM's fallback without its deadlocks.";
}

/* ---- sweeps, counters, logs ------------------------------------------------------------------ */

void fab_opensm_rule_heavy(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                           struct fab_opensm_item *item)
{
    uint64_t seconds;
    const char *interval = fab_opensm_get(c, "sweep_interval");
    (void)o;
    if (!fab_opensm_is_true(item->value))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "fabricd makes heavy sweeps in the background (sweep.heavy_interval).");
    else if (interval == NULL || !fab_opensm_number(interval, &seconds) || seconds > 2592000)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "sweep_interval is out of range.");
    else
        fab_opensm_set(c, item, "sweep.heavy_interval", fab_opensm_textf(c, "%" PRIu64, seconds));
}

void fab_opensm_rule_perfmgr_time(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                                  struct fab_opensm_item *item)
{
    uint64_t seconds;
    (void)o;
    if (!fab_opensm_has(c, "perfmgr"))
        fab_opensm_judge(item, FAB_OPENSM_NONE,
                         "perfmgr is FALSE; fabricd reads the counters every 60 s "
                         "(counters.interval).");
    else if (!fab_opensm_number(item->value, &seconds) || seconds < 1 || seconds > 86400)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is out of range.");
    else
        fab_opensm_set(c, item, "counters.interval", fab_opensm_textf(c, "%" PRIu64, seconds));
}

void fab_opensm_rule_log(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                         struct fab_opensm_item *item)
{
    uint64_t flags;
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (!fab_opensm_number(item->value, &flags))
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is not a number.");
    else
        fab_opensm_set(c, item, "log_level",
                       (flags & 0xfc) != 0 ? "debug"
                       : (flags & 2) != 0  ? "info"
                                           : "error");
}

/* ---- QoS and congestion control ---------------------------------------------------------------
 */

static void take_high_limit(struct fab_opensm_convert *c, struct fab_opensm_item *item)
{
    uint64_t n;
    if (!fab_opensm_number(item->value, &n) || n > 255)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE, "The value is out of range.");
    else
        fab_opensm_set(c, item, "qos.high_limit", fab_opensm_textf(c, "%" PRIu64, n));
}

/* converts qos and the options qos_... */
void fab_opensm_rule_qos(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                         struct fab_opensm_item *item)
{
    const char *part = strchr(o->name, '_');
    bool all = part != NULL && (strcmp(part, "_high_limit") == 0 || strcmp(part, "_sl2vl") == 0 ||
                                strncmp(part, "_vlarb_", 7) == 0);
    if (part == NULL)
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT,
                         "fabricd makes the tables for the configured classes; without classes "
                         "and qos.sl2vl, all traffic is one class.");
    else if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (!fab_opensm_has(c, "qos"))
        fab_opensm_judge(item, FAB_OPENSM_NONE, "qos is FALSE.");
    else if (!all)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         "fabricd has the same tables at all ports. Decide whether qos.sl2vl, "
                         "qos.vlarb_high, qos.vlarb_low or the shares of classes suffice.");
    else if (strcmp(part, "_high_limit") == 0)
        take_high_limit(c, item);
    else
        fab_opensm_set(c, item, fab_opensm_textf(c, "qos.%s", part + 1),
                       fab_opensm_quote(c, item->value));
    if (item->fate == FAB_OPENSM_TAKEN && c->in->file[FAB_OPENSM_QOS].text == NULL)
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         "The setting takes effect only with traffic classes. Add a class for each "
                         "SL that hosts use (qos.classes), or remove the setting.");
}

/* converts congestion_control and the options cc_..., except cc_key */
void fab_opensm_rule_cc(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                        struct fab_opensm_item *item)
{
    if (fab_opensm_same_value(item->value, o->preset))
        fab_opensm_judge(item, FAB_OPENSM_DEFAULT, "");
    else if (strcmp(o->name, "congestion_control") == 0) {
        fab_opensm_set(c, item, o->setting, "yes");
        item->note = "fabricd computes the settings from the fabric; fabricctl cc show shows them.";
    } else if (!fab_opensm_has(c, "congestion_control"))
        fab_opensm_judge(item, FAB_OPENSM_NONE, "congestion_control is FALSE.");
    else if (o->setting == NULL)
        fab_opensm_judge(item, FAB_OPENSM_NONE, "fabricd computes this value from the fabric.");
    else
        fab_opensm_judge(item, FAB_OPENSM_DECIDE,
                         fab_opensm_textf(c,
                                          "fabricd computes this value from the fabric. Decide "
                                          "whether to fix it with %s.",
                                          o->setting));
}
