/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the tree of switches (slurm.h) in the formats of Slurm: topology.conf for topology/tree or
 * topology/block (topology.conf(5)), and topology.yaml with both topologies (topology.yaml(5), from
 * Slurm 25.05). In topology/block, each switch with hosts is a block. The base block size is the
 * number of hosts of the switch with the fewest hosts. The next block size is the base block size
 * times a power of two: the greatest one that is not above the number of switches with hosts in the
 * smallest pod. The largest block size follows in the same way from the number of switches with
 * hosts in the fabric.
 *
 * The file is small, so its whole text is made when the export begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/host_list.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/export/slurm.h"
#include "libfabmgr/export/writer.h"

#define SIZES_MAX 3

struct writing {
    const struct fab_slurm_tree *tree;
    struct fab_text *t;
    const char **names; /* scratch memory for the names of a list */
};

/* ---- lists ----------------------------------------------------------------------------------- */

static void add_hosts(struct writing *w, const struct fab_slurm_switch *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        w->names[i] = w->tree->hosts[s->first + i].name;
    fab_base_host_list_fold(w->names, s->count, w->t);
}

static void add_children(struct writing *w, uint32_t group)
{
    size_t count = 0;
    for (uint32_t i = 0; i < w->tree->count; i++)
        if (w->tree->switches[i].parent == group)
            w->names[count++] = w->tree->switches[i].name;
    fab_base_host_list_fold(w->names, count, w->t);
}

static void add_comment(struct writing *w, const char *file)
{
    const struct fab_slurm_tree *tree = w->tree;
    fab_base_text_addf(w->t, "# Slurm %s: %u hosts at %u switches\n", file, tree->host_count,
                       tree->leaf_count);
    if (tree->nameless > 0)
        fab_base_text_addf(w->t,
                           "# %u hosts have GUIDs as names: their NodeDescriptions are not "
                           "host names\n",
                           tree->nameless);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Returns the largest power of two that is not greater than n; n > 0. */
static uint32_t power_below(uint32_t n)
{
    uint32_t power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

/* Writes the block sizes to sizes[SIZES_MAX], ascending, and returns their number. */
static unsigned block_sizes(const struct fab_slurm_tree *tree, uint32_t *sizes)
{
    uint32_t base = UINT32_MAX, pod = UINT32_MAX;
    unsigned count = 0;
    for (uint32_t i = 0; i < tree->leaf_count; i++) {
        const struct fab_slurm_switch *s = &tree->switches[i];
        base = s->count < base ? s->count : base;
        uint32_t leaves = s->parent != FAB_NONE ? tree->switches[s->parent].leaves : 1;
        pod = leaves < pod ? leaves : pod;
    }
    if (tree->leaf_count == 0)
        return 0;
    const uint32_t all[SIZES_MAX] = {base, base * power_below(pod),
                                     base * power_below(tree->leaf_count)};
    for (unsigned i = 0; i < SIZES_MAX; i++)
        if (count == 0 || all[i] > sizes[count - 1])
            sizes[count++] = all[i];
    return count;
}

/* Calls the function `write` for each switch with hosts in a group (FAB_NONE: in the fabric). The
 * switches of a pod come one after the other. */
static void each_block(struct writing *w, uint32_t group,
                       void (*write)(struct writing *, const struct fab_slurm_switch *))
{
    for (uint32_t i = 0; i < w->tree->count; i++) {
        const struct fab_slurm_switch *s = &w->tree->switches[i];
        if (s->parent == group && s->count > 0)
            write(w, s);
        else if (s->parent == group)
            each_block(w, i, write);
    }
}

/* ---- topology.conf --------------------------------------------------------------------------- */

static void write_conf_tree(struct writing *w)
{
    add_comment(w, "topology.conf for TopologyPlugin=topology/tree");
    for (uint32_t i = 0; i < w->tree->count; i++) {
        const struct fab_slurm_switch *s = &w->tree->switches[i];
        fab_base_text_addf(w->t, "SwitchName=%s %s=", s->name, s->count > 0 ? "Nodes" : "Switches");
        if (s->count > 0)
            add_hosts(w, s);
        else
            add_children(w, i);
        fab_base_text_add(w->t, "\n");
    }
}

static void write_conf_line(struct writing *w, const struct fab_slurm_switch *s)
{
    fab_base_text_addf(w->t, "BlockName=%s Nodes=", s->name);
    add_hosts(w, s);
    fab_base_text_add(w->t, "\n");
}

static void write_conf_block(struct writing *w)
{
    uint32_t sizes[SIZES_MAX];
    unsigned count = block_sizes(w->tree, sizes);
    add_comment(w, "topology.conf for TopologyPlugin=topology/block");
    each_block(w, FAB_NONE, write_conf_line);
    for (unsigned i = 0; i < count; i++)
        fab_base_text_addf(w->t, "%s%u", i == 0 ? "BlockSizes=" : ",", sizes[i]);
    fab_base_text_add(w->t, count > 0 ? "\n" : "");
}

/* ---- topology.yaml --------------------------------------------------------------------------- */

/* Appends a switch or group. The names need no escapes, because they contain neither quotes nor
 * backslashes. */
static void write_yaml_switch(struct writing *w, uint32_t i)
{
    const struct fab_slurm_switch *s = &w->tree->switches[i];
    fab_base_text_addf(w->t, "      - switch: \"%s\"\n        %s: \"", s->name,
                       s->count > 0 ? "nodes" : "children");
    if (s->count > 0)
        add_hosts(w, s);
    else
        add_children(w, i);
    fab_base_text_add(w->t, "\"\n");
}

static void write_yaml_block(struct writing *w, const struct fab_slurm_switch *s)
{
    fab_base_text_addf(w->t, "      - block: \"%s\"\n        nodes: \"", s->name);
    add_hosts(w, s);
    fab_base_text_add(w->t, "\"\n");
}

static void write_yaml(struct writing *w)
{
    uint32_t sizes[SIZES_MAX];
    unsigned count = block_sizes(w->tree, sizes);
    add_comment(w, "topology.yaml (Slurm 25.05 or newer)");
    fab_base_text_add(w->t, "---\n");
    if (count == 0) {
        fab_base_text_add(w->t, "- topology: flat\n  cluster_default: true\n  flat: true\n");
        return;
    }
    fab_base_text_add(w->t, "- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n");
    for (uint32_t i = 0; i < w->tree->count; i++)
        write_yaml_switch(w, i);
    fab_base_text_add(w->t, "- topology: block\n  cluster_default: false\n  block:\n"
                            "    block_sizes:\n");
    for (unsigned i = 0; i < count; i++)
        fab_base_text_addf(w->t, "      - %u\n", sizes[i]);
    fab_base_text_add(w->t, "    blocks:\n");
    each_block(w, FAB_NONE, write_yaml_block);
}

/* ---- the formats ----------------------------------------------------------------------------- */

static int make(struct fab_export *e, const struct fab_slurm_tree *tree,
                void (*write)(struct writing *))
{
    struct fab_text t = {0};
    size_t most = tree->count > tree->host_count ? tree->count : tree->host_count;
    struct writing w = {tree, &t, fab_base_alloc_array(most + 1, sizeof *w.names)};
    if (w.names == NULL)
        return FAB_E_NOMEM;
    write(&w);
    int rc = t.status;
    if (rc == FAB_OK)
        rc = fab_base_text_take(&t, &e->whole, &e->whole_len);
    fab_base_text_fini(&t);
    free(w.names);
    return rc;
}

static int open_slurm(struct fab_export *e, void (*write)(struct writing *))
{
    const struct fab_locations *locations = e->in.policy != NULL ? e->in.policy->locations : NULL;
    struct fab_slurm_tree tree;
    int rc = fab_export_slurm_tree(e->in.fabric, locations, &tree);
    if (rc == FAB_OK)
        rc = make(e, &tree, write);
    fab_export_slurm_tree_fini(&tree);
    return rc;
}

static int open_tree(struct fab_export *e)
{
    return open_slurm(e, write_conf_tree);
}

static int open_block(struct fab_export *e)
{
    return open_slurm(e, write_conf_block);
}

static int open_yaml(struct fab_export *e)
{
    return open_slurm(e, write_yaml);
}

static bool write_slurm(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    size_t at = row * 4096, left = e->whole_len > at ? e->whole_len - at : 0;
    fab_base_text_bytes(t, e->whole + (left > 0 ? at : 0), left < 4096 ? left : 4096);
    return left > 0;
}

const struct fab_export_writer fab_export_write_slurm = {.open = open_tree, .write = write_slurm};
const struct fab_export_writer fab_export_write_slurm_block = {.open = open_block,
                                                               .write = write_slurm};
const struct fab_export_writer fab_export_write_slurm_yaml = {.open = open_yaml,
                                                              .write = write_slurm};
