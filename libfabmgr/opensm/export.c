/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes files with which OpenSM manages the fabric as fabricd does: guid2lid, so that all ports
 * keep their LIDs; the list of root switches; a node-name-map; and an opensm.conf with the options
 * that are equivalent to settings of fabricd.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/convert.h"

struct exporting {
    const struct fab_opensm_export_input *in;
    struct fab_opensm_export *out;
    struct fab_text conf, roots, rest;
    size_t root_count;
};

/* A pair of values: if fabricd's setting has the value `ours`, OpenSM's option gets the value
 * `theirs`. */
struct pair {
    const char *setting, *ours, *option, *theirs;
};
static const struct pair pairs[] = {
    {"subnet.max_vls", "1", "max_op_vls", "1"},
    {"subnet.max_vls", "2", "max_op_vls", "2"},
    {"subnet.max_vls", "4", "max_op_vls", "3"},
    {"subnet.max_vls", "8", "max_op_vls", "4"},
    {"subnet.max_vls", "15", "max_op_vls", "5"},
    {"partitions.enforce", "both", "part_enforce", "both"},
    {"partitions.enforce", "in", "part_enforce", "in"},
    {"partitions.enforce", "out", "part_enforce", "out"},
    {"partitions.enforce", "off", "part_enforce", "off"},
    {"partitions.allow_both", "yes", "allow_both_pkeys", "TRUE"},
    {"partitions.allow_both", "no", "allow_both_pkeys", "FALSE"},
    {"multicast.share", "always", "consolidate_ipv6_snm_req", "TRUE"},
    {"congestion.apply", "yes", "congestion_control", "TRUE"},
};
/* settings and options: the value of the setting is copied unchanged to the option */
static const struct pair copies[] = {
    {.setting = "subnet.prefix", .option = "subnet_prefix"},
    {.setting = "subnet.m_key_lease", .option = "m_key_lease_period"},
    {.setting = "subnet.m_key_protection", .option = "m_key_protection_level"},
    {.setting = "counters.interval", .option = "perfmgr_sweep_time_s"},
    {.setting = "qos.sl2vl", .option = "qos_sl2vl"},
    {.setting = "qos.vlarb_high", .option = "qos_vlarb_high"},
    {.setting = "qos.vlarb_low", .option = "qos_vlarb_low"},
    {.setting = "qos.high_limit", .option = "qos_high_limit"},
};

static void put(struct exporting *x, const char *option, const char *value, size_t len)
{
    fab_base_text_addf(&x->conf, "%s ", option);
    fab_base_text_bytes(&x->conf, value, len);
    fab_base_text_add(&x->conf, "\n");
}

static bool is(const char *name, size_t len, const char *text)
{
    return text != NULL && strlen(text) == len && strncmp(name, text, len) == 0;
}

static bool put_equal(struct exporting *x, const char *name, size_t name_len, const char *value,
                      size_t len)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (is(name, name_len, pairs[i].setting) && is(value, len, pairs[i].ours)) {
            put(x, pairs[i].option, pairs[i].theirs, strlen(pairs[i].theirs));
            return true;
        }
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (is(name, name_len, copies[i].setting)) {
            put(x, copies[i].option, value, len);
            if (strncmp(copies[i].option, "qos_", 4) == 0)
                fab_base_text_add(&x->conf, "qos TRUE\n");
            return true;
        }
    for (size_t i = 0; i < fab_opensm_option_count; i++) {
        const struct fab_opensm_option *o = &fab_opensm_options[i];
        if (o->kind != FAB_OPENSM_KIND_NUMBER || !is(name, name_len, o->setting))
            continue;
        put(x, o->name, value, len);
        return true;
    }
    return false;
}

/* Writes the list of engines. Leaves out engines that OpenSM does not have. Returns true if any
 * engine is left. */
static bool put_engines(struct exporting *x, const char *value, size_t len)
{
    struct fab_text t = {0};
    for (size_t at = 0; at < len;) {
        size_t end = at;
        while (end < len && value[end] != ',' && value[end] != ' ')
            end++;
        const char *theirs = fab_opensm_engine(value + at, end - at);
        if (theirs != NULL)
            fab_base_text_addf(&t, "%s%s", t.len > 0 ? "," : "", theirs);
        at = end + 1;
    }
    if (t.len > 0)
        put(x, "routing_engine", fab_base_text_get(&t), t.len);
    bool any = t.len > 0;
    x->conf.status |= t.status;
    fab_base_text_fini(&t);
    return any;
}

/* Returns true if the setting names a file that this export writes itself. */
static bool is_file_of_ours(const struct fab_opensm_export_input *in, const char *name, size_t len)
{
    return is(name, len, "names.node_name_map") || is(name, len, "subnet.lid_file") ||
           (is(name, len, "partitions.file") && in->partitions != NULL) ||
           (is(name, len, "qos.file") && in->qos != NULL);
}

static void put_setting(struct exporting *x, const char *name, size_t name_len, const char *value,
                        size_t len)
{
    static const char roots[] = "routing.roots[";
    if (name_len > sizeof roots - 1 && strncmp(name, roots, sizeof roots - 1) == 0) {
        fab_base_text_bytes(&x->roots, value, len);
        fab_base_text_add(&x->roots, "\n");
        x->root_count++;
        return;
    }
    if (is_file_of_ours(x->in, name, name_len))
        return;
    bool done = is(name, name_len, "routing.engine") ? put_engines(x, value, len)
                                                     : put_equal(x, name, name_len, value, len);
    if (!done)
        fab_base_text_addf(&x->rest, "%.*s\n", (int)(name_len < 200 ? name_len : 200), name);
}

/* Reads the settings, which are lines "path: value". A setting becomes an option or a root switch.
 * If OpenSM has no equivalent option, the path of the setting is appended to x->rest. */
static void put_settings(struct exporting *x)
{
    for (const char *at = x->in->settings; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        const char *colon = memchr(at, ':', len);
        if (*at != '#' && colon != NULL && colon + 2 <= at + len)
            put_setting(x, at, (size_t)(colon - at), colon + 2, len - (size_t)(colon + 2 - at));
        at += len + (at[len] == '\n');
    }
}

/* ---- lists of the fabric --------------------------------------------------------------------- */

static void put_lids(const struct fab_opensm_export_input *in, struct fab_text *t,
                     size_t *ret_count)
{
    *ret_count = 0;
    for (size_t i = 0; i < in->port_count; i++) {
        const struct fab_opensm_port *p = &in->port[i];
        if (p->guid == 0 || p->lid == 0)
            continue;
        fab_base_text_addf(t, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", p->guid, p->lid,
                           p->lid + (1u << (p->lmc & 7)) - 1);
        ++*ret_count;
    }
}

static void put_names(const struct fab_opensm_export_input *in, struct fab_text *t)
{
    for (size_t i = 0; i < in->port_count; i++) {
        const struct fab_opensm_port *p = &in->port[i];
        bool again = i > 0 && p[-1].node_guid == p->node_guid;
        if (again || p->node_name[0] == '\0' || strpbrk(p->node_name, "\"\n") != NULL)
            continue;
        fab_base_text_addf(t, "0x%016" PRIx64 " \"%s\"\n", p->node_guid, p->node_name);
    }
}

static void add_output(struct exporting *x, const char *name, struct fab_text *t)
{
    struct fab_opensm_export *out = x->out;
    out->output[out->outputs++] = (struct fab_opensm_output){
        .name = name,
        .text = fab_base_arena_text(&out->arena, fab_base_text_get(t), t->len),
        .len = t->len};
    out->arena.failed |= t->status != FAB_OK;
    fab_base_text_fini(t);
}

static void add_copy(struct exporting *x, enum fab_opensm_file kind, const char *text, size_t len)
{
    const struct fab_opensm_file_kind *file = &fab_opensm_files[kind];
    if (text == NULL)
        return;
    fab_base_text_addf(&x->conf, "%s %s/%s\n", file->option, x->in->folder, file->name);
    x->out->output[x->out->outputs++] = (struct fab_opensm_output){
        .name = file->name, .text = fab_base_arena_text(&x->out->arena, text, len), .len = len};
}

int fab_opensm_export(const struct fab_opensm_export_input *in, struct fab_opensm_export *ret)
{
    struct fab_opensm_export out = {.outputs = 1};
    struct exporting x = {.in = in, .out = &out};
    struct fab_text lids = {0}, names = {0};
    fab_base_text_add(&x.conf,
                      "# fabricctl export opensm made this file from the settings of fabricd.\n"
                      "honor_guid2lid_file TRUE\n");
    put_settings(&x);
    put_lids(in, &lids, &out.ports);
    put_names(in, &names);
    add_output(&x, "guid2lid", &lids);
    add_output(&x, "node-name-map", &names);
    fab_base_text_addf(&x.conf, "node_name_map_name %s/node-name-map\n", in->folder);
    if (x.root_count > 0) {
        add_output(&x, "root_guids", &x.roots);
        fab_base_text_addf(&x.conf, "root_guid_file %s/root_guids\n", in->folder);
    }
    add_copy(&x, FAB_OPENSM_PARTITIONS, in->partitions, in->partitions_len);
    add_copy(&x, FAB_OPENSM_QOS, in->qos, in->qos_len);
    if (in->qos != NULL)
        fab_base_text_add(&x.conf, "qos TRUE\n");
    out.rest = fab_base_arena_text(&out.arena, fab_base_text_get(&x.rest), x.rest.len);
    out.arena.failed |= x.rest.status != FAB_OK;
    size_t others = out.outputs;
    out.outputs = 0;
    add_output(&x, "opensm.conf", &x.conf);
    out.outputs = others;
    fab_base_text_fini(&x.roots);
    fab_base_text_fini(&x.rest);
    if (out.arena.failed) {
        fab_base_arena_fini(&out.arena);
        return FAB_E_NOMEM;
    }
    *ret = out;
    return FAB_OK;
}

void fab_opensm_export_fini(struct fab_opensm_export *e)
{
    fab_base_arena_fini(&e->arena);
    *e = (struct fab_opensm_export){0};
}
