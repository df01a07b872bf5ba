/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the devices that an operator names in a request about the baseline. */
#include "libfabmgr/discover/baseline_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

static bool is_name_of(const struct fab_fabric *f, uint64_t guid, const char *text)
{
    char *end;
    bool hex = strncmp(text, "0x", 2) == 0 && strtoull(text, &end, 16) == guid && *end == '\0';
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    const char *name = node != FAB_NONE ? f->nodes[node].name : "";
    size_t len = strcspn(name, " \t");
    return hex || (*name != '\0' && (strcmp(text, name) == 0 ||
                                     (strlen(text) == len && strncmp(text, name, len) == 0)));
}

static bool is_place_of(const struct fab_fabric *f, uint64_t guid, uint8_t port, const char *text)
{
    char number[8], head[FAB_NODE_DESC_LEN + 8];
    const char *slash = strrchr(text, '/');
    snprintf(number, sizeof(number), "%u", port);
    if (slash == NULL || strcmp(slash + 1, number) != 0 || slash - text >= (int)sizeof(head))
        return false;
    snprintf(head, sizeof(head), "%.*s", (int)(slash - text), text);
    return is_name_of(f, guid, head);
}

/* Returns true if the text names the device or link at place p. The text is the name of a node, or
 * of a switch port ("NODE/PORT"). */
static bool names(const struct fab_fabric *f, const struct fab_place *p, const char *text)
{
    return is_name_of(f, p->guid, text) || is_place_of(f, p->near_guid, p->near_port, text) ||
           (p->is_switch &&
            (is_name_of(f, p->near_guid, text) || is_place_of(f, p->guid, p->port, text)));
}

static uint64_t hash_text(const char *text, size_t len)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < len; i++)
        hash = fab_base_mix64(hash + (uint8_t)text[i]);
    return hash;
}

static uint64_t hash_guid(uint64_t guid)
{
    return fab_base_mix64(guid ^ UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns a hash for a port: the hash of its node's name combined with the port number. Port number
 * 0 stands for the node itself. */
static uint64_t hash_at(uint64_t node, unsigned port)
{
    return fab_base_mix64(node + port);
}

/* Adds text[index] to the map as the name of a node (port 0), or of a port of this node. The name
 * of the node is the first `len` bytes of the text. */
static int want_node(struct fab_baseline_names *w, uint32_t index, size_t len, unsigned port)
{
    const char *text = w->text[index];
    char head[FAB_NODE_DESC_LEN + 8], *end;
    int r = fab_base_map_put(&w->map, hash_at(hash_text(text, len), port), index);
    if (r != FAB_OK || strncmp(text, "0x", 2) != 0 || len >= sizeof(head))
        return r;
    snprintf(head, sizeof(head), "%.*s", (int)len, text);
    uint64_t guid = strtoull(head, &end, 16);
    return *end == '\0' ? fab_base_map_put(&w->map, hash_at(hash_guid(guid), port), index) : r;
}

int fab_discover_names_init(char *const *text, size_t count, struct fab_baseline_names *w)
{
    int r = FAB_OK;
    *w = (struct fab_baseline_names){.text = text, .count = count};
    w->found = calloc(count + 1, sizeof(*w->found));
    if (w->found == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = (uint32_t)count; i-- > 0 && r == FAB_OK;) {
        const char *slash = strrchr(text[i], '/');
        unsigned long port = slash != NULL ? strtoul(slash + 1, NULL, 10) : 0;
        r = want_node(w, i, strlen(text[i]), 0);
        if (r == FAB_OK && port > 0 && port < 256)
            r = want_node(w, i, (size_t)(slash - text[i]), (unsigned)port);
    }
    return r;
}

void fab_discover_names_fini(struct fab_baseline_names *w)
{
    fab_base_map_fini(&w->map);
    free(w->found);
}

/* Appends to list[] the indexes of the texts whose hash is that of the node `name` (port 0) or of
 * port number `port` of this node. The caller must still compare the texts, because different texts
 * may have the same hash. */
static void look_up_name(const struct fab_baseline_names *w, const char *name, unsigned port,
                         uint32_t *list, uint32_t *count)
{
    size_t len = strlen(name), word = strcspn(name, " \t");
    uint32_t i;
    if (len == 0)
        return;
    if (fab_base_map_get(&w->map, hash_at(hash_text(name, len), port), &i))
        list[(*count)++] = i;
    if (word < len && fab_base_map_get(&w->map, hash_at(hash_text(name, word), port), &i))
        list[(*count)++] = i;
}

static void look_up_node(const struct fab_baseline_names *w, const struct fab_fabric *f,
                         uint64_t guid, unsigned port, uint32_t *list, uint32_t *count)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid), i;
    if (fab_base_map_get(&w->map, hash_at(hash_guid(guid), port), &i))
        list[(*count)++] = i;
    if (node != FAB_NONE)
        look_up_name(w, f->nodes[node].name, port, list, count);
}

/* Maximum number of texts that can name one place. A node has three names: the GUID, the name that
 * people read, and the first word of this name. A port has the same three names of its node, with
 * "/PORT" after them. A link between switches has two nodes and two ports. */
#define CANDIDATES 12

bool fab_discover_names_has(struct fab_baseline_names *w, const struct fab_fabric *f,
                            const struct fab_place *p)
{
    uint32_t list[CANDIDATES], count = 0;
    bool named = false;
    look_up_node(w, f, p->guid, 0, list, &count);
    look_up_node(w, f, p->near_guid, p->near_port, list, &count);
    if (p->is_switch) {
        look_up_node(w, f, p->near_guid, 0, list, &count);
        look_up_node(w, f, p->guid, p->port, list, &count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!names(f, p, w->text[list[i]]))
            continue;
        named = true;
        w->found[list[i]]++;
    }
    return named;
}

/* Returns the index of the first text that equals text i; this may be i itself. */
static uint32_t first_same(const struct fab_baseline_names *w, uint32_t i)
{
    uint32_t same = i;
    (void)fab_base_map_get(&w->map, hash_at(hash_text(w->text[i], strlen(w->text[i])), 0), &same);
    return strcmp(w->text[i], w->text[same]) == 0 ? same : i;
}

/* Returns the index of a text that named no device; FAB_NONE: each text named a device. If several
 * texts are equal, only the first of them is in the map, and only the element of found[] of this
 * one was incremented. So the function also looks at that element. */
uint32_t fab_discover_names_missing(const struct fab_baseline_names *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->found[i] == 0 && w->found[first_same(w, i)] == 0)
            return i;
    return FAB_NONE;
}

/* Returns the GUID of the node that the text names at an approved place; 0: it names none. The text
 * names the device if it is the device's GUID, its present name or its name when it was approved.
 * The text names the node near_guid if it is the GUID or the present name of this node. */
static uint64_t named_guid(const struct fab_approved *a, const struct fab_fabric *f,
                           const char *text)
{
    size_t len = strcspn(a->name, " \t");
    bool was = strcmp(a->name, text) == 0 ||
               (len > 0 && strlen(text) == len && strncmp(a->name, text, len) == 0);
    return was || is_name_of(f, a->place.guid, text) ? a->place.guid
           : is_name_of(f, a->place.near_guid, text) ? a->place.near_guid
                                                     : 0;
}

/* Finds the texts that name a node at an approved place. For each such text i, sets guid[i] to the
 * GUID of this node, and increments w->found[i], unless guid[i] is this GUID already: a node may
 * have several places, one after the other in the list. */
static void note_approved(struct fab_baseline_names *w, const struct fab_fabric *f,
                          const struct fab_approved *a, uint64_t *guid)
{
    uint32_t list[CANDIDATES], count = 0;
    look_up_node(w, f, a->place.guid, 0, list, &count);
    look_up_node(w, f, a->place.near_guid, 0, list, &count);
    look_up_name(w, a->name, 0, list, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = named_guid(a, f, w->text[list[i]]);
        if (at == 0 || at == guid[list[i]])
            continue;
        guid[list[i]] = at;
        w->found[list[i]]++;
    }
}

static int check_found(const struct fab_baseline_names *w, uint64_t *guid, size_t *ret_wrong)
{
    for (uint32_t i = 0; i < w->count; i++) {
        *ret_wrong = i;
        if (w->found[i] > 1)
            return FAB_E_EXISTS;
        if (w->found[i] == 0)
            guid[i] = guid[first_same(w, i)];
        if (guid[i] == 0)
            return FAB_E_NOT_FOUND;
    }
    return FAB_OK;
}

int fab_discover_names_find(const struct fab_baseline *b, const struct fab_fabric *f,
                            char *const *text, size_t count, uint64_t *guid, size_t *ret_wrong)
{
    struct fab_baseline_names w;
    size_t places;
    const struct fab_approved *list = fab_discover_baseline_list(b, &places);
    int r = fab_discover_names_init(text, count, &w);
    memset(guid, 0, count * sizeof(*guid));
    for (size_t i = 0; r == FAB_OK && i < places; i++)
        note_approved(&w, f, &list[i], guid);
    if (r == FAB_OK)
        r = check_found(&w, guid, ret_wrong);
    fab_discover_names_fini(&w);
    return r;
}
