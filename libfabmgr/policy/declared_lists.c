/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the keys `congestion`, `names`, `isolation` and `approvals` of an applied policy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/policy/append.h"
#include "libfabmgr/policy/declared_fields.h"

#define PLACE_MAX_LEN 127
#define REASON_MAX_LEN 120

/* ---- congestion ------------------------------------------------------------------------------ */

enum {
    APPLY,
    PROFILE,
    FAN_IN,
    HOP_NS,
    ADAPTER_NS,
    CABLE_M,
    QUEUE_KB,
    TABLE,
    /* Here begin the keys for the values of enum fab_congestion_value, in the order of that enum.
     */
    VALUES,
    CONGESTION_KEYS = VALUES + FAB_CONGESTION_VALUES
};
_Static_assert(CONGESTION_KEYS <= FIELDS_MAX, "the array of values has room for all keys");

static const struct field congestion_fields[VALUES] = {
    [APPLY] = {"apply", FIELD_BOOL, false, 0, 0, NULL},
    [PROFILE] = {"profile", FIELD_WORD, false, 0, 0, "off balanced incast collective"},
    [FAN_IN] = {"fan_in", FIELD_NUMBER, false, 0, FAB_CONGESTION_FAN_IN_MOST, NULL},
    [HOP_NS] = {"hop_ns", FIELD_NUMBER, false, 0, 1000000, NULL},
    [ADAPTER_NS] = {"adapter_ns", FIELD_NUMBER, false, 0, 1000000, NULL},
    [CABLE_M] = {"cable_m", FIELD_NUMBER, false, 0, 100000, NULL},
    [QUEUE_KB] = {"queue_kb", FIELD_NUMBER, false, 1, 65536, NULL},
    [TABLE] = {"table", FIELD_NUMBERS, false, 0, UINT16_MAX, NULL},
};

static int read_table(struct declared_reader *r, uint32_t list)
{
    struct fab_policy_congestion *to = &r->to->congestion;
    uint64_t value;
    int rc = FAB_OK;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next) {
        snprintf(r->path, sizeof(r->path), "congestion.table[%u]", to->table_count);
        if (to->table_count == FAB_CONGESTION_TABLE_MOST)
            return fab_policy_wrong(r, i, "is one entry too many, expected at most %d",
                                    FAB_CONGESTION_TABLE_MOST);
        rc = fab_policy_field_number(r, i, 0, UINT16_MAX, " (shift << 14 | multiplier)", &value);
        if (rc == FAB_OK)
            to->table[to->table_count++] = (uint16_t)value;
    }
    return rc;
}

static void take_numbers(const struct field_value v[FIELDS_MAX], struct fab_policy_congestion *to)
{
    uint32_t *const number[] = {&to->fan_in, &to->hop_ns, &to->adapter_ns, &to->cable_m,
                                &to->queue_kb};
    for (int i = FAN_IN; i <= QUEUE_KB; i++)
        if (v[i].node != 0)
            *number[i - FAN_IN] = (uint32_t)v[i].number;
    for (int i = 0; i < FAB_CONGESTION_VALUES; i++)
        if (v[VALUES + i].node != 0 && !v[VALUES + i].automatic)
            to->value[i] = (int32_t)v[VALUES + i].number;
}

int fab_policy_read_congestion(struct declared_reader *r, uint32_t map)
{
    struct fab_policy_congestion *to = &r->to->congestion;
    struct field fields[CONGESTION_KEYS];
    struct field_value v[FIELDS_MAX];
    char why[200];
    memcpy(fields, congestion_fields, sizeof(congestion_fields));
    for (int i = 0; i < FAB_CONGESTION_VALUES; i++) {
        const struct fab_congestion_domain *d = &fab_policy_congestion_domains[i];
        fields[VALUES + i] = (struct field){d->name, FIELD_AUTO, false, d->least, d->most, NULL};
    }
    snprintf(r->path, sizeof(r->path), "congestion");
    fab_policy_congestion_defaults(to);
    int rc = fab_policy_fields_read(r, map, fields, CONGESTION_KEYS, v);
    if (rc != FAB_OK)
        return rc;
    if (v[APPLY].node != 0)
        to->apply = v[APPLY].number != 0;
    if (v[PROFILE].node != 0)
        to->profile = (uint8_t)v[PROFILE].number;
    take_numbers(v, to);
    rc = v[TABLE].node != 0 ? read_table(r, v[TABLE].node) : FAB_OK;
    if (rc != FAB_OK)
        return rc;
    rc = fab_policy_congestion_validate(to, why, sizeof(why));
    snprintf(r->path, sizeof(r->path), "congestion");
    if (rc != FAB_OK)
        (void)fab_policy_wrong(r, v[TABLE].node != 0 ? v[TABLE].node : map, "is not accepted: %s",
                               why);
    return rc;
}

/* ---- links and places ------------------------------------------------------------------------ */

/* Checks that a text has the form NODE/PORT. */
static int check_place(struct declared_reader *r, uint32_t node, const char *text)
{
    const char *slash = strrchr(text, '/');
    size_t digits = slash != NULL ? strspn(slash + 1, "0123456789") : 0;
    if (slash == NULL || slash == text || digits == 0 || digits > 3 || slash[1 + digits] != '\0' ||
        atoi(slash + 1) < 1 || atoi(slash + 1) > 254)
        return fab_policy_wrong(r, node, "is '%.60s', expected NODE/PORT such as leaf-01/7", text);
    return FAB_OK;
}

static int read_isolated(struct declared_reader *r, uint32_t node, size_t index)
{
    static const struct field fields[] = {
        {"link", FIELD_TEXT, true, 1, PLACE_MAX_LEN, NULL},
        {"reason", FIELD_TEXT, false, 1, REASON_MAX_LEN, NULL},
    };
    struct field_value v[FIELDS_MAX];
    fab_policy_path_of(r, "isolation", index, NULL);
    if (r->to->isolations == FAB_DECLARED_ISOLATIONS_MAX) {
        (void)fab_policy_wrong(r, node, "is one link too many, expected at most %d",
                               FAB_DECLARED_ISOLATIONS_MAX);
        return FAB_E_LIMIT;
    }
    int rc = fab_policy_fields_read(r, node, fields, 2, v);
    if (rc != FAB_OK)
        return rc;
    fab_policy_path_of(r, "isolation", index, "link");
    const struct fab_declared_isolation one = {
        .link = fab_policy_keep(r, v[0].text),
        .reason = fab_policy_keep(r, v[1].text != NULL ? v[1].text : ""),
        .ref = r->to->refs};
    if (one.link == NULL || one.reason == NULL)
        return FAB_E_NOMEM;
    rc = check_place(r, v[0].node, one.link);
    if (rc == FAB_OK)
        rc = fab_policy_add_ref(r, v[0].node, FAB_DECLARED_LINK, one.link, 0);
    return rc == FAB_OK ? APPEND(r->to->isolation, r->to->isolations, &one) : rc;
}

int fab_policy_read_isolation(struct declared_reader *r, uint32_t list)
{
    int rc = FAB_OK;
    size_t index = 0;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = read_isolated(r, i, index++);
    return rc;
}

static int check_new(struct declared_reader *r, uint32_t node,
                     const struct fab_declared_approval *one)
{
    for (size_t i = 0; i < r->to->approvals; i++) {
        const struct fab_declared_approval *a = &r->to->approval[i];
        if (a->node_guid != one->node_guid || a->port != one->port)
            continue;
        (void)fab_policy_wrong(r, node, "is port %u of a node that has an approval already",
                               one->port);
        return FAB_E_EXISTS;
    }
    return FAB_OK;
}

static int read_approval(struct declared_reader *r, uint32_t node, size_t index)
{
    static const struct field fields[] = {
        {"node", FIELD_GUID, true, 0, 0, NULL},
        {"port_guid", FIELD_GUID, true, 0, 0, NULL},
        {"port", FIELD_NUMBER, false, 1, 254, NULL},
        {"at", FIELD_TEXT, true, 1, PLACE_MAX_LEN, NULL},
    };
    struct field_value v[FIELDS_MAX];
    fab_policy_path_of(r, "approvals", index, NULL);
    if (r->to->approvals == FAB_DECLARED_APPROVALS_MAX) {
        (void)fab_policy_wrong(r, node, "is one approval too many, expected at most %d",
                               FAB_DECLARED_APPROVALS_MAX);
        return FAB_E_LIMIT;
    }
    int rc = fab_policy_fields_read(r, node, fields, 4, v);
    if (rc != FAB_OK)
        return rc;
    const struct fab_declared_approval one = {.node_guid = v[0].number,
                                              .port_guid = v[1].number,
                                              .port = v[2].node != 0 ? (uint8_t)v[2].number : 1,
                                              .at = fab_policy_keep(r, v[3].text),
                                              .ref = r->to->refs};
    rc = one.at != NULL ? check_new(r, node, &one) : FAB_E_NOMEM;
    fab_policy_path_of(r, "approvals", index, "at");
    if (rc == FAB_OK)
        rc = check_place(r, v[3].node, one.at);
    if (rc == FAB_OK)
        rc = fab_policy_add_ref(r, v[3].node, FAB_DECLARED_LINK, one.at, 0);
    return rc == FAB_OK ? APPEND(r->to->approval, r->to->approvals, &one) : rc;
}

int fab_policy_read_approvals(struct declared_reader *r, uint32_t list)
{
    int rc = FAB_OK;
    size_t index = 0;
    for (uint32_t i = r->doc->node[list].first; rc == FAB_OK && i != 0; i = r->doc->node[i].next)
        rc = read_approval(r, i, index++);
    return rc;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Reads the name of a node, and appends it to `map` as a line of a node-name-map. */
static int read_name(struct declared_reader *r, uint32_t node, size_t index, struct fab_text *map)
{
    static const struct field fields[] = {
        {"guid", FIELD_GUID, true, 0, 0, NULL},
        {"name", FIELD_TEXT, true, 1, FAB_NODE_NAME_LEN - 1, NULL},
    };
    struct field_value v[FIELDS_MAX];
    fab_policy_path_of(r, "names", index, NULL);
    int rc = fab_policy_fields_read(r, node, fields, 2, v);
    if (rc != FAB_OK)
        return rc;
    fab_policy_path_of(r, "names", index, "name");
    if (strchr(v[1].text, '"') != NULL || v[1].text[0] == ' ' ||
        v[1].text[strlen(v[1].text) - 1] == ' ')
        return fab_policy_wrong(r, v[1].node,
                                "has a quotation mark, or a blank at its end, expected neither");
    fab_base_text_addf(map, "0x%016" PRIx64 " \"%s\"\n", v[0].number, v[1].text);
    fab_policy_path_of(r, "names", index, "guid");
    return fab_policy_add_ref(r, v[0].node, FAB_DECLARED_NODE_GUID, "", v[0].number);
}

int fab_policy_read_names(struct declared_reader *r, const uint32_t *list, size_t count)
{
    struct fab_text map = {0};
    struct fab_node_names_error e;
    uint32_t node = 0;
    size_t index = 0;
    int rc = FAB_OK;
    for (size_t l = 0; l < count; l++) {
        index = 0;
        for (uint32_t i = r->doc->node[list[l]].first; rc == FAB_OK && i != 0;
             i = r->doc->node[i].next) {
            node = i;
            rc = read_name(r, i, index++, &map);
        }
    }
    if (rc == FAB_OK && map.status != FAB_OK)
        rc = map.status;
    if (rc == FAB_OK && map.len > 0) {
        rc = fab_policy_node_names_read(map.s, map.len, &r->to->names, &e);
        snprintf(r->path, sizeof(r->path), "names");
        if (rc == FAB_E_FORMAT)
            (void)fab_policy_wrong(r, node, "are not accepted: at name %u, %s", e.line, e.message);
    }
    fab_base_text_fini(&map);
    return rc;
}
