/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the fabrics of the scenarios: fat trees without taper and with 4x EDR links. LIDs are
 * assigned leaf by leaf, and the engine that "auto" selects computes the tables. */
#include <string.h>

#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/route/route.h"
#include "tests/bench/congestion/scene.h"

#define SLOW "1x FDR" /* 14 Gb/s */

static struct fab_builder *generate(const char *name)
{
    struct fab_builder *b = NULL;
    struct fab_leaf_spine_spec two = {.leaves = 8, .spines = 4, .hosts_per_leaf = 8, .parallel = 2};
    struct fab_fat_tree_spec three = {.radix = 20, .levels = 3};
    if (strcmp(name, "324") == 0)
        two = (struct fab_leaf_spine_spec){
            .leaves = 18, .spines = 9, .hosts_per_leaf = 18, .parallel = 2};
    if (strcmp(name, "648") == 0)
        two = (struct fab_leaf_spine_spec){
            .leaves = 36, .spines = 18, .hosts_per_leaf = 18, .parallel = 1};
    if (strcmp(name, "2000") == 0)
        must(fab_fabric_generate_fat_tree(&three, &b), name);
    else if (strcmp(name, "64") != 0 && two.leaves == 8)
        must(FAB_E_NOT_FOUND, name);
    else
        must(fab_fabric_generate_leaf_spine(&two, &b), name);
    return b;
}

static void assign(struct scene *s)
{
    const struct fab_fabric *f = s->fabric;
    uint32_t next = 1;
    must(fab_target_lids_init(&s->lids, f->port_count), "LIDs");
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer;
            if (peer == FAB_NONE || fab_fabric_port(f, peer)->node < f->switch_count)
                continue;
            s->end[s->ends++] = peer;
            s->lids.base[peer] = next++;
        }
        if (s->leaf == 0)
            s->leaf = s->ends;
    }
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        s->lids.base[fab_fabric_port_id(f, sw, 0)] = next++;
    must(fab_target_lids_index(&s->lids), "index");
}

static void slow_down(struct scene *s)
{
    for (uint32_t i = 0; i < s->leaf; i++) {
        struct fab_port *p = fab_fabric_port(s->fabric, s->end[i]);
        must(fab_fabric_text_parse_rate(SLOW, strlen(SLOW), &p->info), SLOW);
        must(fab_fabric_text_parse_rate(SLOW, strlen(SLOW),
                                        &fab_fabric_port(s->fabric, p->peer)->info),
             SLOW);
    }
}

void scene_init(struct scene *s, const char *name, bool slow)
{
    struct fab_builder *b = generate(name);
    struct fab_fabric *sealed = NULL;
    char why[200] = "";
    *s = (struct scene){.name = name};
    must(fab_fabric_builder_seal(b, &sealed), "seal");
    must(fab_fabric_clone(sealed, &s->fabric), "clone");
    fab_fabric_unref(sealed);
    fab_fabric_builder_free(b);
    fab_policy_defaults(&s->policy);
    s->end = calloc(s->fabric->node_count, sizeof *s->end);
    if (s->end == NULL)
        must(FAB_E_NOMEM, "ends");
    assign(s);
    if (slow)
        slow_down(s);
    struct fab_route_input in = {.fabric = s->fabric, .policy = &s->policy, .lids = &s->lids};
    must(fab_route_engine_by_name("fattree")->run(&in, &s->lft, &s->vls, why, sizeof why), why);
}

void scene_fini(struct scene *s)
{
    free(s->end);
    fab_target_lids_fini(&s->lids);
    fab_target_lft_fini(&s->lft);
    fab_target_vls_fini(&s->vls);
    fab_policy_fini(&s->policy);
    fab_fabric_unref(s->fabric);
}
