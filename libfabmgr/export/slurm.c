/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes Slurm's topology.conf, in which each switch has at most one parent switch. In a fabric a
 * switch has links to several switches above it. The file therefore has real switches only as
 * leaves, which are the switches with hosts. Their parents are groups of switches ("group-1"),
 * which the file declares as if each group were one switch.
 *
 * The level of a switch is its distance, in links, from the nearest switch with hosts. All switches
 * with hosts that are connected by switches of level 1 form a group (a pod). All these groups that
 * are connected by switches of level 2 form a larger group, and so on. In a fat tree, the groups
 * are the pods and the whole fabric. A fabric without levels has one group.
 *
 * The name of a host is the first word of its adapters' descriptions. A host with several adapters
 * appears at the switch of the adapter with the lowest id. If more than ADAPTERS_MAX adapters share
 * the first word, it is a default text of the vendor and not a host name, and these adapters appear
 * by their GUIDs. The file is small, so it is written in one piece.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/export/writer.h"

#define NAME_LEN (FAB_NODE_DESC_LEN + 1)
#define ADAPTERS_MAX 16 /* greatest number of adapters of one host */

struct host {
    char name[NAME_LEN];
    uint32_t id, sw;
    /* A name consists of its first `prefix` characters and a number of `width` digits after them;
     * width 0: the name has no number at its end. */
    uint32_t prefix, width;
    uint64_t number;
};
/* the name that the file gives to a switch with hosts */
struct label {
    char name[NAME_LEN];
    uint32_t sw;
};
struct group {
    uint32_t sw; /* one of the switches in the group */
    /* number of the line that describes the group in the file, from 1; 0: the group is a single
     * switch */
    uint32_t number;
};
struct slurm {
    struct fab_arena arena; /* memory of all arrays of this struct */
    const struct fab_fabric *f;
    struct host *hosts;
    uint32_t host_count;
    struct label *labels; /* [label_count] sorted by switch */
    uint32_t label_count;
    /* [switches] number of links to the nearest switch with hosts */
    uint32_t *level;
    /* [switches] disjoint sets (libfabmgr/base/sets.h); two switches are in the same set if
     * switches of the levels handled so far connect them */
    uint32_t *joined;
    uint32_t *queue; /* [switches] queue of breadth-first searches */
    /* [group_count] groups of switches that are not yet part of a larger group */
    struct group *groups;
    uint32_t group_count, lines;
};

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* Writes the first word of the node's description, but only up to a character that has a meaning in
 * Slurm's lists of hosts. If nothing is left, writes `letter` and the GUID instead. */
static void name_of(const struct fab_fabric *f, uint32_t node, char letter, char name[NAME_LEN])
{
    const char *desc = f->nodes[node].desc;
    size_t len = 0;
    for (desc += strspn(desc, " '\""); is_name(desc[len]) && len < NAME_LEN - 1; len++)
        name[len] = desc[len];
    name[len] = '\0';
    if (len == 0)
        snprintf(name, NAME_LEN, "%c-%016" PRIx64, letter, f->nodes[node].guid);
}

/* Splits the host's name into prefix and number. numbered: true if the digits at the end of the
 * name are to become the number; otherwise the whole name is the prefix. */
static void split_name(struct host *h, bool numbered)
{
    size_t len = strlen(h->name), digits = 0;
    while (numbered && digits < len && digits < 9 && h->name[len - digits - 1] >= '0' &&
           h->name[len - digits - 1] <= '9')
        digits++;
    h->width = (uint32_t)digits;
    h->prefix = (uint32_t)(len - digits);
    h->number = digits > 0 ? strtoull(h->name + h->prefix, NULL, 10) : 0;
}

static int by_name(const void *a, const void *b)
{
    const struct host *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static int by_switch(const void *a, const void *b)
{
    const struct host *x = a, *y = b;
    if (x->sw != y->sw)
        return x->sw < y->sw ? -1 : 1;
    if (x->prefix != y->prefix || memcmp(x->name, y->name, x->prefix) != 0)
        return strcmp(x->name, y->name);
    if (x->width != y->width)
        return x->width < y->width ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void add_host(struct slurm *s, uint32_t port, uint32_t sw)
{
    struct host *h = &s->hosts[s->host_count++];
    *h = (struct host){.id = port, .sw = sw};
    name_of(s->f, fab_fabric_port(s->f, port)->node, 'H', h->name);
}

/* Makes hosts from the adapters. Adapters with the same name become one host; if more than
 * ADAPTERS_MAX have the same name, each becomes a host of its own. */
static void merge_adapters(struct slurm *s)
{
    uint32_t kept = 0;
    for (uint32_t from = 0, to; from < s->host_count; from = to) {
        for (to = from + 1;
             to < s->host_count && strcmp(s->hosts[from].name, s->hosts[to].name) == 0;)
            to++;
        bool many = to - from > ADAPTERS_MAX;
        for (uint32_t i = from; i < (many ? to : from + 1); i++) {
            struct host *h = &s->hosts[kept++];
            *h = s->hosts[i];
            if (many)
                snprintf(h->name, NAME_LEN, "H-%016" PRIx64, fab_fabric_port(s->f, h->id)->guid);
            split_name(h, !many);
        }
    }
    s->host_count = kept;
}

static int find_hosts(struct slurm *s)
{
    const struct fab_fabric *f = s->f;
    s->hosts = fab_base_arena_alloc(&s->arena, f->port_count, sizeof *s->hosts);
    if (s->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t node = fab_fabric_port(f, port)->node, sw = fab_fabric_peer_node(f, port);
        if (f->nodes[node].type == FAB_NODE_CA && sw < f->switch_count &&
            !f->nodes[node].aggregation && fab_fabric_port_is_up(f, port))
            add_host(s, port, sw);
    }
    qsort(s->hosts, s->host_count, sizeof *s->hosts, by_name);
    merge_adapters(s);
    qsort(s->hosts, s->host_count, sizeof *s->hosts, by_switch);
    return FAB_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int by_label(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->sw > y->sw) - (x->sw < y->sw);
}

static int by_labelled(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

/* Chooses the names by which the file calls the switches with hosts. If several switches have
 * the same description, such as a default text of the vendor, they get their GUIDs as names. */
static int label_switches(struct slurm *s)
{
    uint32_t count = 0;
    s->labels = fab_base_arena_alloc(&s->arena, s->f->switch_count, sizeof *s->labels);
    if (s->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < s->host_count; i++) {
        if (i > 0 && s->hosts[i].sw == s->hosts[i - 1].sw)
            continue;
        s->labels[count].sw = s->hosts[i].sw;
        name_of(s->f, s->hosts[i].sw, 'S', s->labels[count++].name);
    }
    qsort(s->labels, count, sizeof *s->labels, by_label);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcmp(s->labels[from].name, s->labels[to].name) == 0;)
            to++;
        for (uint32_t i = from; to - from > 1 && i < to; i++) {
            uint64_t guid = s->f->nodes[s->labels[i].sw].guid;
            snprintf(s->labels[i].name, NAME_LEN, "S-%016" PRIx64, guid);
        }
    }
    qsort(s->labels, count, sizeof *s->labels, by_labelled);
    s->label_count = count;
    return FAB_OK;
}

static const char *label_of(const struct slurm *s, uint32_t sw)
{
    const struct label key = {.sw = sw};
    const struct label *found =
        bsearch(&key, s->labels, s->label_count, sizeof *s->labels, by_labelled);
    return found != NULL ? found->name : "";
}

static bool goes_on(const struct host *x, const struct host *y)
{
    return x->width > 0 && x->width == y->width && x->prefix == y->prefix &&
           memcmp(x->name, y->name, x->prefix) == 0;
}

/* Writes hosts[from] to hosts[to - 1] as one list such as "n[1-3,7]". Their names have the same
 * prefix and the same width. */
static void write_family(const struct slurm *s, uint32_t from, uint32_t to, struct fab_text *t)
{
    const struct host *h = s->hosts;
    if (to - from == 1) {
        fab_base_text_add(t, h[from].name);
        return;
    }
    fab_base_text_addf(t, "%.*s[", (int)h[from].prefix, h[from].name);
    for (uint32_t i = from, end; i < to; i = end) {
        for (end = i + 1; end < to && h[end].number == h[end - 1].number + 1;)
            end++;
        fab_base_text_addf(t, "%s%s", i > from ? "," : "", h[i].name + h[i].prefix);
        if (end - i > 1)
            fab_base_text_addf(t, "-%s", h[end - 1].name + h[end - 1].prefix);
    }
    fab_base_text_add(t, "]");
}

static uint32_t write_leaf(const struct slurm *s, uint32_t from, struct fab_text *t)
{
    uint32_t to = from;
    fab_base_text_addf(t, "SwitchName=%s Nodes=", label_of(s, s->hosts[from].sw));
    while (to < s->host_count && s->hosts[to].sw == s->hosts[from].sw) {
        uint32_t start = to++;
        while (to < s->host_count && s->hosts[to].sw == s->hosts[from].sw &&
               goes_on(&s->hosts[start], &s->hosts[to]))
            to++;
        fab_base_text_add(t, start > from ? "," : "");
        write_family(s, start, to, t);
    }
    fab_base_text_add(t, "\n");
    return to;
}

static void write_group(const struct slurm *s, const struct group *g, struct fab_text *t)
{
    if (g->number > 0)
        fab_base_text_addf(t, "group-%u", g->number);
    else
        fab_base_text_add(t, label_of(s, g->sw));
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Fills level[] with the number of links from each switch to the nearest switch with hosts. Returns
 * the greatest number. */
static uint32_t find_levels(struct slurm *s)
{
    const struct fab_fabric *f = s->f;
    uint32_t done = 0, count = 0, most = 0;
    memset(s->level, 0xff, f->switch_count * sizeof *s->level);
    for (uint32_t i = 0; i < s->group_count; i++) {
        s->level[s->groups[i].sw] = 0;
        s->queue[count++] = s->groups[i].sw;
    }
    while (done < count) {
        uint32_t sw = s->queue[done++];
        most = s->level[sw];
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = f->nodes[sw].first_port + i, to = fab_fabric_peer_node(f, port);
            if (to >= f->switch_count || s->level[to] != FAB_NONE ||
                !fab_fabric_port_is_up(f, port))
                continue;
            s->level[to] = most + 1;
            s->queue[count++] = to;
        }
    }
    return most;
}

static void join(struct slurm *s, uint32_t level)
{
    const struct fab_fabric *f = s->f;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (uint32_t i = 1; s->level[sw] == level && i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = f->nodes[sw].first_port + i, to = fab_fabric_peer_node(f, port);
            if (to < f->switch_count && s->level[to] <= level && fab_fabric_port_is_up(f, port))
                fab_base_sets_join(s->joined, sw, to);
        }
    }
}

/* Merges the groups whose switches are now in the same set of joined[]. Writes a line of the
 * file for each merged group. */
static void merge(struct slurm *s, struct fab_text *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->group_count; i++) {
        if (s->groups[i].sw == FAB_NONE)
            continue;
        uint32_t root = fab_base_sets_find(s->joined, s->groups[i].sw), members = 0;
        struct group whole = s->groups[i];
        for (uint32_t j = i; j < s->group_count; j++) {
            if (s->groups[j].sw == FAB_NONE ||
                fab_base_sets_find(s->joined, s->groups[j].sw) != root)
                continue;
            if (j > i && members == 1) {
                fab_base_text_addf(t, "SwitchName=group-%u Switches=", whole.number = ++s->lines);
                write_group(s, &s->groups[i], t);
            }
            if (j > i) {
                fab_base_text_add(t, ",");
                write_group(s, &s->groups[j], t);
                s->groups[j].sw = FAB_NONE;
            }
            members++;
        }
        fab_base_text_add(t, members > 1 ? "\n" : "");
        s->groups[kept++] = whole;
    }
    s->group_count = kept;
}

static int write_all(struct slurm *s, struct fab_text *t)
{
    uint32_t n = s->f->switch_count;
    s->level = fab_base_arena_alloc(&s->arena, n, sizeof *s->level);
    s->joined = fab_base_arena_alloc(&s->arena, n, sizeof *s->joined);
    s->queue = fab_base_arena_alloc(&s->arena, n, sizeof *s->queue);
    s->groups = fab_base_arena_alloc(&s->arena, n, sizeof *s->groups);
    if (s->arena.failed)
        return FAB_E_NOMEM;
    fab_base_sets_init(s->joined, n);
    fab_base_text_addf(t, "# Slurm topology.conf, for TopologyPlugin=topology/tree: %u hosts\n",
                       s->host_count);
    for (uint32_t i = 0; i < s->host_count;) {
        s->groups[s->group_count++] = (struct group){.sw = s->hosts[i].sw};
        i = write_leaf(s, i, t);
    }
    uint32_t most = find_levels(s);
    for (uint32_t level = 0; level <= most; level++) {
        join(s, level);
        merge(s, t);
    }
    return t->status;
}

static int open_slurm(struct fab_export *e)
{
    struct slurm s = {.f = e->in.fabric};
    struct fab_text t = {0};
    int rc = find_hosts(&s);
    if (rc == FAB_OK)
        rc = label_switches(&s);
    if (rc == FAB_OK)
        rc = write_all(&s, &t);
    if (rc == FAB_OK)
        rc = fab_base_text_take(&t, &e->whole, &e->whole_len);
    fab_base_text_fini(&t);
    fab_base_arena_fini(&s.arena);
    return rc;
}

static bool write_slurm(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    size_t at = row * 4096, left = e->whole_len > at ? e->whole_len - at : 0;
    fab_base_text_bytes(t, e->whole + (left > 0 ? at : 0), left < 4096 ? left : 4096);
    return left > 0;
}

const struct fab_export_writer fab_export_write_slurm = {.open = open_slurm, .write = write_slurm};
