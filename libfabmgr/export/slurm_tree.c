/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the tree of slurm.h. The names of hosts come from libfabmgr/hosts; their domains are
 * removed if the names stay different, because Slurm uses short host names. A host with several
 * adapters is placed at the switch of the adapter whose name comes first. So in a rail-optimised
 * fabric the hosts of a scalable unit stay together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/cabling/levels.h"
#include "libfabmgr/export/slurm.h"
#include "libfabmgr/hosts/hosts.h"

#define NAME_LEN FAB_SLURM_NAME_LEN

/* The tree that is being made. */
struct maker {
    const struct fab_fabric *f;
    struct fab_slurm_tree *t;
    /* [switches] level of each switch, and its number of links */
    struct fab_cabling_links *links;
    /* [switches] disjoint sets (libfabmgr/base/sets.h): two switches are in the same set if they
     * are connected by switches of the levels handled so far */
    uint32_t *joined;
    /* [roots] switches and groups that have no parent yet */
    uint32_t *root, roots;
    /* [switches] for each set, by its lowest switch: index in root[] of the first root that was
     * found in the set; FAB_NONE: none */
    uint32_t *seen;
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* Writes the first word of `text` to name[], without quotes before it, and returns its length. The
 * word ends before the first character that is not a letter, a digit, '-', '_' or '.', because
 * others have a meaning in Slurm's lists of hosts. */
static size_t first_word(const char *text, char name[NAME_LEN])
{
    size_t len = 0;
    for (text += strspn(text, " '\""); is_name(text[len]) && len < NAME_LEN - 1; len++)
        name[len] = text[len];
    name[len] = '\0';
    return len;
}

/* Removes the domain from a host name: "node1.example.net" becomes "node1". An address of digits
 * and dots is left as it is. */
static void cut_domain(char *name)
{
    if (strspn(name, "0123456789.") != strlen(name))
        name[strcspn(name, ".")] = '\0';
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Returns the switch to which the host is connected. If the host has several adapters, the first
 * one with a link to a switch counts. FAB_NONE: none has such a link. */
static uint32_t switch_of(const struct fab_fabric *f, const struct fab_hosts *h,
                          const struct fab_host *host)
{
    for (uint32_t i = 0; i < host->count; i++) {
        const struct fab_node *n = &f->nodes[h->adapters[host->first + i].node];
        for (uint32_t k = 1; k <= n->num_ports; k++) {
            uint32_t sw = fab_fabric_peer_node(f, n->first_port + k);
            if (sw < f->switch_count)
                return sw;
        }
    }
    return FAB_NONE;
}

static void add_host(struct maker *m, const struct fab_hosts *h, const struct fab_host *from)
{
    struct fab_slurm_host *host = &m->t->hosts[m->t->host_count];
    host->sw = switch_of(m->f, h, from);
    if (host->sw == FAB_NONE)
        return;
    bool named = first_word(from->name, host->name) > 0 && strncmp(from->name, "0x", 2) != 0;
    if (!named)
        snprintf(host->name, NAME_LEN, "H-%016llx",
                 (unsigned long long)m->f->nodes[h->adapters[from->first].node].guid);
    m->t->nameless += !named;
    m->t->host_count++;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct fab_slurm_host *)a)->name,
                      ((const struct fab_slurm_host *)b)->name);
}

static int by_switch(const void *a, const void *b)
{
    const struct fab_slurm_host *x = a, *y = b;
    return x->sw != y->sw ? (x->sw > y->sw) - (x->sw < y->sw) : by_name(a, b);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Returns true if all host names stay different when their domains are removed. */
static bool can_cut(struct maker *m)
{
    char(*names)[NAME_LEN] = fab_base_arena_alloc(&m->t->arena, m->t->host_count, NAME_LEN);
    for (uint32_t i = 0; names != NULL && i < m->t->host_count; i++) {
        memcpy(names[i], m->t->hosts[i].name, NAME_LEN);
        cut_domain(names[i]);
    }
    if (names == NULL)
        return false;
    qsort(names, m->t->host_count, NAME_LEN, by_text);
    for (uint32_t i = 1; i < m->t->host_count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return false;
    return true;
}

static int find_hosts(struct maker *m, const struct fab_locations *locations)
{
    struct fab_slurm_tree *t = m->t;
    struct fab_hosts h;
    int rc = fab_hosts_find(m->f, locations, &h);
    if (rc != FAB_OK)
        return rc;
    t->hosts = fab_base_arena_alloc(&t->arena, h.count, sizeof *t->hosts);
    for (uint32_t i = 0; t->hosts != NULL && i < h.count; i++)
        add_host(m, &h, &h.hosts[i]);
    fab_hosts_fini(&h);
    if (t->host_count > 0 && can_cut(m))
        for (uint32_t i = 0; i < t->host_count; i++)
            cut_domain(t->hosts[i].name);
    if (t->host_count > 1)
        qsort(t->hosts, t->host_count, sizeof *t->hosts, by_switch);
    return t->arena.failed ? FAB_E_NOMEM : FAB_OK;
}

/* ---- switches with hosts --------------------------------------------------------------------- */

static int by_label(const void *a, const void *b)
{
    const struct fab_slurm_switch *x = a, *y = b;
    int order = strverscmp(x->name, y->name);
    return order != 0 ? order : (x->sw > y->sw) - (x->sw < y->sw);
}

/* Names switches by their GUIDs if several have the same name, such as the vendor's default text.
 */
static void separate_names(struct maker *m)
{
    struct fab_slurm_switch *s = m->t->switches;
    uint32_t count = m->t->leaf_count;
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcmp(s[from].name, s[to].name) == 0;)
            to++;
        for (uint32_t i = from; to - from > 1 && i < to; i++)
            snprintf(s[i].name, NAME_LEN, "S-%016llx",
                     (unsigned long long)m->f->nodes[s[i].sw].guid);
    }
}

/* Names a switch by the first word of its name; if it has no name, by its GUID. Dots are replaced,
 * because they separate switches in Slurm's SLURM_TOPOLOGY_ADDR. */
static void name_switch(const struct fab_fabric *f, struct fab_slurm_switch *s)
{
    if (first_word(f->nodes[s->sw].name, s->name) == 0)
        snprintf(s->name, NAME_LEN, "S-%016llx", (unsigned long long)f->nodes[s->sw].guid);
    for (char *c = s->name; *c != '\0'; c++)
        if (*c == '.')
            *c = '_';
}

static int find_leaves(struct maker *m)
{
    struct fab_slurm_tree *t = m->t;
    /* Each group has at least two members, so there are fewer groups than switches. */
    t->switches =
        fab_base_arena_alloc(&t->arena, 2 * (size_t)m->f->switch_count + 1, sizeof *t->switches);
    if (t->switches == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0, to; i < t->host_count; i = to) {
        struct fab_slurm_switch *s = &t->switches[t->leaf_count++];
        for (to = i + 1; to < t->host_count && t->hosts[to].sw == t->hosts[i].sw;)
            to++;
        *s = (struct fab_slurm_switch){
            .parent = FAB_NONE, .sw = t->hosts[i].sw, .first = i, .count = to - i, .leaves = 1};
        name_switch(m->f, s);
    }
    t->count = t->leaf_count;
    if (t->leaf_count > 1)
        qsort(t->switches, t->leaf_count, sizeof *t->switches, by_label);
    separate_names(m);
    return FAB_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void join_level(struct maker *m, uint32_t level)
{
    const struct fab_fabric *f = m->f;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        for (uint32_t i = 1; m->links[sw].level == level && i <= f->nodes[sw].num_ports; i++) {
            uint32_t to = fab_cabling_peer_switch(f, f->nodes[sw].first_port + i);
            if (to != FAB_NONE && m->links[to].level <= level)
                fab_base_sets_join(m->joined, sw, to);
        }
}

/* Returns true if a switch or group other than `own` has the name `name`. */
static bool is_taken(const struct fab_slurm_tree *t, const struct fab_slurm_switch *own,
                     const char *name)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (&t->switches[i] != own && strcmp(t->switches[i].name, name) == 0)
            return true;
    return false;
}

/* Names a group. The groups of tier 1 are pods; names of groups of higher tiers contain the number
 * of the tier. (Tier n is the n-th level of switches at which groups were made.) */
static void name_group(const struct maker *m, struct fab_slurm_switch *g, uint32_t tier,
                       uint32_t number)
{
    if (tier == 1)
        snprintf(g->name, NAME_LEN, "pod-%u", number);
    else
        snprintf(g->name, NAME_LEN, "pods-%u-%u", tier, number);
    for (size_t len; is_taken(m->t, g, g->name) && (len = strlen(g->name)) < NAME_LEN - 1;)
        memcpy(g->name + len, "_", 2);
}

/* Puts root[place] and `other`, two roots whose switches are in the same set, into one group. If
 * root[place] is a group that was made at this level, `other` becomes a member of it. Otherwise a
 * new group with both members replaces root[place]. base: number of switches and groups before this
 * level. */
static void unite(struct maker *m, uint32_t place, uint32_t other, uint32_t base)
{
    struct fab_slurm_tree *t = m->t;
    uint32_t group = m->root[place];
    if (group < base) {
        group = t->count++;
        t->switches[group] = t->switches[m->root[place]];
        t->switches[group].count = 0;
        t->switches[group].name[0] = '\0';
        t->switches[m->root[place]].parent = group;
        m->root[place] = group;
    }
    t->switches[other].parent = group;
    t->switches[group].leaves += t->switches[other].leaves;
}

/* Makes a group of the roots in each set that has several roots. Returns the number of new groups.
 */
static uint32_t merge(struct maker *m)
{
    uint32_t kept = 0, base = m->t->count;
    memset(m->seen, 0xff, m->f->switch_count * sizeof *m->seen);
    for (uint32_t i = 0; i < m->roots; i++) {
        uint32_t set = fab_base_sets_find(m->joined, m->t->switches[m->root[i]].sw);
        if (m->seen[set] != FAB_NONE) {
            unite(m, m->seen[set], m->root[i], base);
            continue;
        }
        m->seen[set] = kept;
        m->root[kept++] = m->root[i];
    }
    m->roots = kept;
    return m->t->count - base;
}

/* Names the `made` new groups of a tier, and numbers them in the order of root[]. A new group that
 * is the only root is called "fabric", unless this name is taken. */
static void name_groups(struct maker *m, uint32_t made, uint32_t tier)
{
    struct fab_slurm_tree *t = m->t;
    uint32_t number = 0;
    for (uint32_t i = 0; i < m->roots; i++) {
        struct fab_slurm_switch *g = &t->switches[m->root[i]];
        if (g->name[0] == '\0')
            name_group(m, g, tier, ++number);
    }
    struct fab_slurm_switch *last = &t->switches[t->count - 1];
    if (made == 1 && m->roots == 1 && !is_taken(t, last, "fabric"))
        snprintf(last->name, NAME_LEN, "fabric");
}

static int find_groups(struct maker *m)
{
    struct fab_slurm_tree *t = m->t;
    uint32_t n = m->f->switch_count, most = 0, tier = 1;
    m->links = fab_base_arena_alloc(&t->arena, n, sizeof *m->links);
    m->joined = fab_base_arena_alloc(&t->arena, n, sizeof *m->joined);
    m->root = fab_base_arena_alloc(&t->arena, n, sizeof *m->root);
    m->seen = fab_base_arena_alloc(&t->arena, n, sizeof *m->seen);
    if (t->arena.failed || fab_cabling_find_levels(m->f, m->links) != FAB_OK)
        return FAB_E_NOMEM;
    fab_base_sets_init(m->joined, n);
    for (uint32_t i = 0; i < n; i++)
        most = m->links[i].level > most ? m->links[i].level : most;
    for (uint32_t i = 0; i < t->leaf_count; i++)
        m->root[m->roots++] = i;
    for (uint32_t level = 1; level <= most; level++) {
        join_level(m, level);
        uint32_t made = merge(m);
        if (made > 0)
            name_groups(m, made, tier++);
    }
    return FAB_OK;
}

int fab_export_slurm_tree(const struct fab_fabric *f, const struct fab_locations *locations,
                          struct fab_slurm_tree *ret)
{
    *ret = (struct fab_slurm_tree){0};
    struct maker m = {.f = f, .t = ret};
    int rc = find_hosts(&m, locations);
    if (rc == FAB_OK)
        rc = find_leaves(&m);
    return rc == FAB_OK ? find_groups(&m) : rc;
}

void fab_export_slurm_tree_fini(struct fab_slurm_tree *t)
{
    fab_base_arena_fini(&t->arena);
    *t = (struct fab_slurm_tree){0};
}
