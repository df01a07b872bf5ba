/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the files other than opensm.conf. A file whose format fabricd can read is checked with
 * fabricd's reader, and copied. The list of root switches becomes a setting. For other files, the
 * item has only a note.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/convert.h"
#include "libfabmgr/policy/classes.h"
#include "libfabmgr/policy/lid_list.h"
#include "libfabmgr/policy/m_key_list.h"
#include "libfabmgr/policy/node_names.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/policy/routers.h"
#include "libfabmgr/policy/tables.h"

#define ROOTS_MAX 4096

const struct fab_opensm_file_kind fab_opensm_files[FAB_OPENSM_FILES] = {
    [FAB_OPENSM_PARTITIONS] = {"partitions.conf", "partition_config_file"},
    [FAB_OPENSM_QOS] = {"qos-policy.conf", "qos_policy_file"},
    [FAB_OPENSM_PREFIX_ROUTES] = {"prefix-routes.conf", "prefix_routes_file"},
    [FAB_OPENSM_NAMES] = {"node-name-map", "node_name_map_name"},
    [FAB_OPENSM_ROOTS] = {"root_guids", "root_guid_file"},
    [FAB_OPENSM_CN] = {"cn_guids", "cn_guid_file"},
    [FAB_OPENSM_IO] = {"io_guids", "io_guid_file"},
    [FAB_OPENSM_TORUS] = {"torus-2QoS.conf", "torus_config"},
    [FAB_OPENSM_LFTS] = {"opensm-lfts.dump", "lfts_file"},
    [FAB_OPENSM_SA_DB] = {"opensm-sa.dump", "sa_db_file"},
    [FAB_OPENSM_LIDS] = {"guid2lid", NULL},
    [FAB_OPENSM_M_KEYS] = {"guid2mkey", NULL},
    [FAB_OPENSM_NEIGHBORS] = {"neighbors", NULL},
};

/* a file that is being converted */
struct file {
    struct fab_opensm_convert *c;
    struct fab_opensm_item *item;
    enum fab_opensm_file kind;
    const char *text, *path;
    size_t len;
};

static void refuse(struct file *f, int status, unsigned line, const char *message)
{
    const char *why = status == FAB_E_LIMIT ? "the file is too long" : message;
    f->c->arena->failed |= status == FAB_E_NOMEM;
    fab_opensm_judge(
        f->item, FAB_OPENSM_DECIDE,
        status == FAB_E_LIMIT || line == 0
            ? fab_opensm_textf(f->c, "%s: %s. Correct the file, and import again.", f->path, why)
            : fab_opensm_textf(f->c, "%s:%u: %s. Correct the file, and import again.", f->path,
                               line, why));
}

/* Adds a copy of the file to the list of files to write. The path of the copy becomes the value of
 * fabricd's setting `setting`. */
static void copy(struct file *f, const char *setting, bool secret)
{
    fab_opensm_set(f->c, f->item, setting,
                   fab_opensm_write(f->c, fab_opensm_files[f->kind].name, f->text, f->len, secret));
}

static void take_partitions(struct file *f)
{
    struct fab_partitions *p = NULL;
    struct fab_partitions_error e = {.message = ""};
    int r = fab_policy_partitions_read(f->text, f->len, &p, &e);
    if (r != FAB_OK) {
        refuse(f, r, e.line, e.message);
        return;
    }
    copy(f, "partitions.file", false);
    if (p->notes > 0)
        f->item->note = fab_opensm_textf(
            f->c, "OpenSM and fabricd ignore %zu of its entries; the first one in line %u: %s.",
            p->notes, p->note[0].line, p->note[0].message);
    fab_policy_partitions_unref(p);
}

static void take_qos(struct file *f)
{
    struct fab_classes *p = NULL;
    struct fab_classes_error e = {.line = 0};
    if (!fab_opensm_has(f->c, "qos")) {
        fab_opensm_judge(f->item, FAB_OPENSM_NONE, "qos is FALSE.");
        return;
    }
    int r = fab_policy_classes_new(&p);
    if (r == FAB_OK)
        r = fab_policy_classes_read(p, f->text, f->len, &e);
    if (r != FAB_OK)
        refuse(f, r, e.line, e.message);
    else
        copy(f, "qos.file", false);
    fab_policy_classes_unref(p);
}

static void take_prefix_routes(struct file *f)
{
    struct fab_routers *p = NULL;
    struct fab_routers_error e = {.line = 0};
    int r = fab_policy_routers_read(f->text, f->len, &p, &e);
    if (r != FAB_OK)
        refuse(f, r, e.line, e.message);
    else
        copy(f, "subnet.prefix_routes", false);
    fab_policy_routers_unref(p);
}

static void take_names(struct file *f)
{
    struct fab_node_names *p = NULL;
    struct fab_node_names_error e = {.line = 0};
    int r = fab_policy_node_names_read(f->text, f->len, &p, &e);
    if (r != FAB_OK)
        refuse(f, r, e.line, e.message);
    else
        copy(f, "names.node_name_map", false);
    fab_policy_node_names_unref(p);
}

static void take_lfts(struct file *f)
{
    struct fab_tables *p = NULL;
    struct fab_tables_error e = {.line = 0};
    const char *engines = fab_opensm_get(f->c, "routing_engine");
    if (engines == NULL || strstr(engines, "file") == NULL) {
        fab_opensm_judge(f->item, FAB_OPENSM_NONE, "routing_engine does not name the engine file.");
        return;
    }
    int r = fab_policy_tables_read(f->text, f->len, &p, &e);
    if (r != FAB_OK)
        refuse(f, r, e.line, e.message);
    else
        copy(f, "routing.file", false);
    fab_policy_tables_unref(p);
}

/* ---- lists of GUIDs -------------------------------------------------------------------------- */

/* Finds the next line of a list that is neither empty nor a comment. It must begin with a GUID;
 * blanks before the GUID and text after it are ignored. Sets *ret to the GUID, and *line to the
 * number of the line. Returns false at the end of the list (then *ret is 1), and if the line does
 * not begin with a GUID (then *ret is 0). */
static bool next_guid(const char **at, const char *end, unsigned *line, uint64_t *ret)
{
    while (*at < end) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        const char *word = *at, *last = stop != NULL ? stop : end;
        char text[24];
        (*line)++;
        *at = stop != NULL ? stop + 1 : end;
        while (word < last && (*word == ' ' || *word == '\t' || *word == '\r'))
            word++;
        size_t len = 0;
        while (word + len < last && word[len] > ' ' && word[len] != '#')
            len++;
        if (len == 0)
            continue;
        snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text), word);
        *ret = 0;
        return len < sizeof text && fab_opensm_number(text, ret) && *ret != 0;
    }
    *ret = 1;
    return false;
}

/* Reads a list of GUIDs, counts them, and writes them to `to` (which may be NULL) as a YAML list
 * without the closing bracket. Returns false if the list has an error, which the note of the item
 * then describes. */
static bool read_guids(struct file *f, struct fab_text *to, size_t *ret_count)
{
    const char *at = f->text, *end = f->text + f->len;
    unsigned line = 0;
    uint64_t guid;
    *ret_count = 0;
    while (next_guid(&at, end, &line, &guid)) {
        if (to != NULL)
            fab_base_text_addf(to, "%s0x%016" PRIx64, *ret_count > 0 ? ", " : "[", guid);
        ++*ret_count;
    }
    if (guid != 0)
        return true;
    refuse(f, FAB_E_FORMAT, line, "expected a GUID in the line, such as 0x0002c90300000001");
    return false;
}

static void take_roots(struct file *f)
{
    struct fab_text t = {0};
    size_t count;
    if (read_guids(f, &t, &count) && count > 0 && count <= ROOTS_MAX) {
        fab_base_text_add(&t, "]");
        const char *list = fab_base_arena_text(f->c->arena, fab_base_text_get(&t), t.len);
        if (list != NULL)
            fab_opensm_set(f->c, f->item, "routing.roots", list);
        f->item->setting = fab_opensm_textf(f->c, "routing.roots: %zu GUIDs", count);
    } else if (f->item->fate == FAB_OPENSM_NONE) {
        fab_opensm_judge(f->item, FAB_OPENSM_DECIDE, "The list has no GUID, or more than 4096.");
    }
    f->c->arena->failed |= t.status != FAB_OK;
    fab_base_text_fini(&t);
}

static void take_nodes(struct file *f)
{
    size_t count;
    if (read_guids(f, NULL, &count))
        fab_opensm_judge(
            f->item, FAB_OPENSM_NONE,
            fab_opensm_textf(f->c,
                             "fattree spreads the routes to all endports evenly, so these %zu "
                             "GUIDs are not needed; fabricctl route quality shows the balance.",
                             count));
}

/* ---- files that only OpenSM needs ------------------------------------------------------------ */

static void take_torus(struct file *f)
{
    const char *engines = fab_opensm_get(f->c, "routing_engine");
    char text[512], kind[8];
    unsigned x, y, z;
    if (engines == NULL || strstr(engines, "torus-2QoS") == NULL) {
        fab_opensm_judge(f->item, FAB_OPENSM_NONE, "routing_engine does not name torus-2QoS.");
        return;
    }
    fab_opensm_judge(f->item, FAB_OPENSM_NONE,
                     "the engine torus finds the dimensions from the topology; fabricctl route "
                     "explain shows them.");
    for (const char *at = f->text, *end = f->text + f->len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = stop != NULL ? (size_t)(stop - at) : (size_t)(end - at);
        snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), at);
        if (sscanf(text, " %7[a-z] %u%*[mMtT] %u%*[mMtT] %u", kind, &x, &y, &z) == 4 &&
            (strcmp(kind, "torus") == 0 || strcmp(kind, "mesh") == 0))
            f->item->note =
                fab_opensm_textf(f->c,
                                 "the file has a %s of %u x %u x %u; the engine torus finds the "
                                 "dimensions from the topology (fabricctl route explain).",
                                 kind, x, y, z);
        at += len + 1;
    }
}

static void take_lids(struct file *f)
{
    struct fab_lid_list *p = NULL;
    struct fab_line_error e = {.line = 0};
    int r = fab_policy_lid_list_read(f->text, f->len, &p, &e);
    if (r != FAB_OK) {
        refuse(f, r, e.line, e.message);
    } else if (fab_opensm_has(f->c, "reassign_lids")) {
        fab_opensm_judge(f->item, FAB_OPENSM_DECIDE,
                         "reassign_lids is TRUE. Set subnet.lid_file if the LIDs are to stay.");
    } else {
        copy(f, "subnet.lid_file", false);
        f->item->note = fab_opensm_textf(f->c, "%zu ports keep their LIDs.", p->count);
    }
    fab_policy_lid_list_unref(p);
}

static void take_m_keys(struct file *f)
{
    struct fab_m_key_list *p = NULL;
    struct fab_line_error e = {.line = 0};
    bool any = false;
    int r = fab_policy_m_key_list_read(f->text, f->len, &p, &e);
    for (size_t i = 0; r == FAB_OK && i < p->count; i++)
        any = any || p->entry[i].m_key != 0;
    if (r != FAB_OK)
        refuse(f, r, e.line, e.message);
    else if (!any)
        fab_opensm_judge(f->item, FAB_OPENSM_NONE, "no port of this file has an M_Key.");
    else {
        copy(f, "subnet.m_key_file", true);
        f->item->note = "Make the user of fabricd the owner of this file. If "
                        "m_key_protection_level is 2 or 3, first set it to 1 in OpenSM "
                        "(fabricd.yaml(5)).";
    }
    fab_policy_m_key_list_unref(p);
}

static void take_neighbors(struct file *f)
{
    fab_opensm_judge(f->item, FAB_OPENSM_NONE,
                     "fabricd learns the links from the devices, and finds the keys of ports by "
                     "their GUIDs; the file may be older than the cabling.");
}

static void take_sa_db(struct file *f)
{
    fab_opensm_judge(f->item, FAB_OPENSM_NONE,
                     "fabricd asks the hosts to register again (ClientReregister), so that only "
                     "present members are in its groups.");
}

/* ---- all ------------------------------------------------------------------------------------- */

static void take_missing(struct file *f)
{
    static const char *const without[FAB_OPENSM_FILES] = {
        [FAB_OPENSM_PARTITIONS] = ("there is no such file: all ports are full members of the "
                                   "default partition."),
        [FAB_OPENSM_QOS] = "there is no such file: all traffic is one class.",
        [FAB_OPENSM_PREFIX_ROUTES] = "there is no such file.",
        [FAB_OPENSM_TORUS] = "there is no such file; the engine torus needs none.",
        [FAB_OPENSM_LIDS] =
            ("there is no such file. Ports keep the LIDs that they have; ports that "
             "are off can get others. Look for it in /var/cache/opensm (--cache)."),
        [FAB_OPENSM_M_KEYS] = "there is no such file.",
        [FAB_OPENSM_NEIGHBORS] = "fabricd learns the links from the devices.",
    };
    if (f->item->value[0] == '\0' || f->item->preset || strcmp(f->item->value, "(null)") == 0)
        fab_opensm_judge(f->item, FAB_OPENSM_DEFAULT,
                         without[f->kind] != NULL ? without[f->kind] : "");
    else
        fab_opensm_judge(f->item, FAB_OPENSM_DECIDE,
                         "there is no such file. Copy it beside opensm.conf, and import again, or "
                         "do without it.");
}

void fab_opensm_file_rule(struct fab_opensm_convert *c, enum fab_opensm_file kind,
                          struct fab_opensm_item *item)
{
    static void (*const take[FAB_OPENSM_FILES])(struct file *) = {
        [FAB_OPENSM_PARTITIONS] = take_partitions,
        [FAB_OPENSM_QOS] = take_qos,
        [FAB_OPENSM_PREFIX_ROUTES] = take_prefix_routes,
        [FAB_OPENSM_NAMES] = take_names,
        [FAB_OPENSM_ROOTS] = take_roots,
        [FAB_OPENSM_CN] = take_nodes,
        [FAB_OPENSM_IO] = take_nodes,
        [FAB_OPENSM_TORUS] = take_torus,
        [FAB_OPENSM_LFTS] = take_lfts,
        [FAB_OPENSM_SA_DB] = take_sa_db,
        [FAB_OPENSM_LIDS] = take_lids,
        [FAB_OPENSM_M_KEYS] = take_m_keys,
        [FAB_OPENSM_NEIGHBORS] = take_neighbors,
    };
    struct file f = {.c = c,
                     .item = item,
                     .kind = kind,
                     .text = c->in->file[kind].text,
                     .path = c->in->file[kind].path,
                     .len = c->in->file[kind].len};
    item->fate = FAB_OPENSM_NONE;
    if (f.text == NULL)
        take_missing(&f);
    else
        take[kind](&f);
}

void fab_opensm_rule_file(struct fab_opensm_convert *c, const struct fab_opensm_option *o,
                          struct fab_opensm_item *item)
{
    for (unsigned kind = 0; kind < FAB_OPENSM_FILES; kind++)
        if (fab_opensm_files[kind].option != NULL &&
            strcmp(fab_opensm_files[kind].option, o->name) == 0)
            fab_opensm_file_rule(c, (enum fab_opensm_file)kind, item);
}
