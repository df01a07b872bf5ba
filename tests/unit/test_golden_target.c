/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the settings that the manager wants in devices with tests/unit/golden/target.golden:
 * PortInfo, SwitchInfo, VLs, SL-to-VL and VL arbitration tables of all ports, and the guarantees of
 * traffic classes. Policies and devices are random, from a fixed seed. This test shows only that
 * values have changed; other tests check whether they are correct. UPDATE_GOLDEN=1 rewrites the
 * file.
 */
#include "tests/support/golden.h"
#include "tests/unit/qos_world.h"

#define ROUNDS 12

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    return golden_hash_numbers(hash, &number, 1);
}

static uint8_t drawn(struct fab_prng *g, uint32_t below)
{
    return (uint8_t)fab_base_prng_below(g, below);
}

static void draw_policy(struct fab_policy *p, struct fab_prng *g)
{
    p->max_op_vls = (uint8_t)(1 + drawn(g, 5));
    p->max_mtu = (uint8_t)(1 + drawn(g, 5));
    p->packet_life_time = drawn(g, 24);
    p->hoq_life = drawn(g, 20);
    p->leaf_hoq_life = drawn(g, 20);
    p->vl_stall_count = drawn(g, 8);
    p->leaf_vl_stall_count = drawn(g, 8);
    p->subnet_timeout = drawn(g, 32);
    p->phy_errors = drawn(g, 16);
    p->overrun_errors = drawn(g, 16);
    p->lmc = drawn(g, 4);
    p->m_key_protect = drawn(g, 4);
    p->m_key_lease_s = drawn(g, 100);
    p->subnet_prefix = UINT64_C(0xfe80000000000000) + drawn(g, 3);
}

static void draw_port(struct fab_port_info *i, struct fab_prng *g)
{
    i->mtu_cap = (uint8_t)(1 + drawn(g, 5));
    i->vl_cap = (uint8_t)(1 + drawn(g, 5));
    i->neighbor_mtu = (uint8_t)(1 + drawn(g, 5));
    i->op_vls = drawn(g, 6);
    i->vlarb_low_cap = drawn(g, 3) == 0 ? drawn(g, 65) : 64;
    i->vlarb_high_cap = drawn(g, 3) == 0 ? drawn(g, 65) : 64;
    i->port_state = (uint8_t)(2 + drawn(g, 3));
    i->cap_mask = drawn(g, 2) ? UINT32_MAX : i->cap_mask;
    i->lid = drawn(g, 4);
    i->local_phy_errors = drawn(g, 16);
    i->overrun_errors = drawn(g, 16);
    i->subnet_timeout = drawn(g, 32);
}

static void draw_devices(struct fab_fabric *f, struct fab_prng *g)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        f->switches[sw].enhanced_port0 = drawn(g, 2);
        f->switches[sw].multicast_fdb_cap = (uint16_t)(drawn(g, 3) * 100u);
        f->switches[sw].port_state_change = drawn(g, 2);
    }
    for (uint32_t port = 0; port < f->port_count; port++)
        if (fab_fabric_port(f, port)->present)
            draw_port(&fab_fabric_edit_port(f, port)->info, g);
}

static uint64_t hash_port_info(uint64_t hash, const struct world *w, uint32_t port)
{
    uint8_t bytes[FAB_SMP_DATA] = {0};
    struct fab_port_info want;
    fab_target_port_info(w->f, &w->p, &w->t->lids, port, 3, &want);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &want, bytes, sizeof bytes),
                     FAB_OK);
    hash = golden_hash(hash, bytes, sizeof bytes);
    hash = hash_number(hash, fab_target_port_vls(w->f, &w->p, port));
    if (fab_fabric_port(w->f, port)->peer != FAB_NONE)
        hash = hash_number(hash, fab_target_mtu(w->f, &w->p, port));
    return hash_number(hash, fab_target_can_reregister(&fab_fabric_port(w->f, port)->info));
}

static uint64_t hash_switch_info(uint64_t hash, const struct world *w, uint32_t sw)
{
    uint8_t bytes[FAB_SMP_DATA] = {0};
    struct fab_switch_info want;
    fab_target_switch_info(w->f, &w->p, &w->t->lids, sw, &want);
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_switch_info, &want, bytes, sizeof bytes),
                     FAB_OK);
    return golden_hash(hash, bytes, sizeof bytes);
}

static uint64_t hash_arb(uint64_t hash, const struct world *w, struct fab_arb_cache *cache,
                         uint32_t port)
{
    const struct fab_vls *v = &w->t->vls;
    struct fab_arb arb;
    struct fab_vlarb block;
    hash = hash_number(hash, fab_target_arb(w->f, &w->p, v, port, cache, &arb));
    const uint64_t head[] = {arb.lows, arb.highs, arb.limit, arb.whole};
    hash = golden_hash_numbers(hash, head, 4);
    for (unsigned i = 1; i <= FAB_ARB_BLOCKS; i++) {
        fab_target_arb_block(&arb, i, &block);
        for (unsigned k = 0; k < sizeof block.entry / sizeof *block.entry; k++)
            hash = hash_number(hash, block.entry[k].vl * 256u + block.entry[k].weight);
        hash = hash_number(hash,
                           fab_target_arb_has_block(&arb, &fab_fabric_port(w->f, port)->info, i));
    }
    for (uint8_t level = 0; level < w->p.classes->count; level++) {
        uint16_t mine = fab_target_class_vls(w->f, &w->p, v, port, level);
        hash = hash_number(hash, mine);
        hash = hash_number(hash, fab_target_arb_guarantee(&arb, mine, 0xff, 2048));
        hash = hash_number(hash, fab_qos_guarantee(w->f, &w->p, v, port, level));
        hash = hash_number(hash, fab_target_class_share(w->p.classes, level));
    }
    return hash;
}

static uint64_t hash_lanes(uint64_t hash, const struct world *w, uint32_t port)
{
    const struct fab_vls *v = &w->t->vls;
    const struct fab_node *n = &w->f->nodes[fab_fabric_port(w->f, port)->node];
    for (uint32_t num = 0; num <= n->num_ports; num++) {
        uint32_t out = n->first_port + num;
        if (!fab_fabric_node_is_switch(w->f, fab_fabric_port(w->f, port)->node) && out != port)
            continue;
        hash = hash_number(hash, fab_target_sl2vl(w->f, &w->p, v, port, out));
        for (uint8_t sl = 0; sl < 16; sl += 3)
            hash = hash_number(hash, fab_target_vl(w->f, &w->p, v, port, out, sl));
    }
    for (uint32_t lid = 1; lid <= w->t->lids.top; lid++) {
        hash = hash_number(hash, fab_target_sl(w->f, &w->t->lids, v, port, lid));
        for (uint8_t level = 0; level < w->p.classes->count; level++)
            hash = hash_number(hash, fab_target_level_sl(w->f, &w->t->lids, v, level, port, lid));
    }
    return hash;
}

static void print_round(FILE *out, const char *name, struct world *w)
{
    uint64_t ports = GOLDEN_HASH, switches = GOLDEN_HASH, arb = GOLDEN_HASH, lanes = GOLDEN_HASH;
    struct fab_arb_cache cache = {0};
    for (uint32_t port = 0; port < w->f->port_count; port++)
        if (fab_fabric_port(w->f, port)->present) {
            ports = hash_port_info(ports, w, port);
            if (fab_fabric_port(w->f, port)->peer != FAB_NONE)
                arb = hash_arb(arb, w, &cache, port);
            if (fab_fabric_port_has_lid(w->f, port) || port % 5 == 0)
                lanes = hash_lanes(lanes, w, port);
        }
    for (uint32_t sw = 0; sw < w->f->switch_count; sw++)
        switches = hash_switch_info(switches, w, sw);
    fprintf(out,
            "%s, %u classes: ports %016" PRIx64 ", switches %016" PRIx64 ", arbitration %016" PRIx64
            ", lanes %016" PRIx64 "\n",
            name, w->p.classes->count, ports, switches, arb, lanes);
    for (unsigned i = 0; i < w->report.notes; i++) {
        char text[300];
        fab_qos_note_text(w->p.classes, &w->report, i, text, sizeof text);
        fprintf(out, "    %s\n", text);
    }
    fab_target_arb_cache_fini(&cache);
}

/* Prints the settings for a policy whose traffic classes differ in share, priority and SL. Takes
 * ownership of f. */
static void print_world(FILE *out, const char *name, struct fab_fabric *f, const char *engine,
                        unsigned classes)
{
    struct fab_fabric *own;
    struct fab_prng g;
    ck_assert_int_eq(fab_fabric_clone(f, &own), FAB_OK);
    fab_fabric_unref(f);
    struct world w = world_of(own, 0);
    fab_base_prng_init(&g, 40 + classes);
    for (unsigned i = 0; i < classes; i++) {
        char class_name[8] = {(char)('a' + i), '\0'};
        add_class(w.p.classes, class_name, i % 3 == 0 ? 0 : (uint8_t)(5 + 3 * i), i % 4 == 1,
                  i % 5 == 2 ? (uint8_t)(i + 1) : FAB_CLASS_NO_SL);
    }
    int status = route(&w, engine);
    fprintf(out, "%s, %s: %d\n", name, engine, status);
    for (unsigned i = 0; status == FAB_OK && i < ROUNDS; i++) {
        if (i > 0)
            draw_policy(&w.p, &g);
        if (i % 3 == 1)
            draw_devices(w.f, &g);
        print_round(out, name, &w);
        w.report.notes = 0; /* so the next round does not print the same notes again */
    }
    world_fini(&w);
}

START_TEST(wanted)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    for (unsigned classes = 0; classes < 12; classes += 3) {
        print_world(out, "leaf-spine", leaf_spine(3, 2, 3), "updn", classes);
        print_world(out, "torus", grid((const uint32_t[3]){3, 4, 1}, true, 1), "torus", classes);
        print_world(out, "random", random_fabric(6, 3, 2, 3), "dfsssp", classes);
    }
    fclose(out);
    golden_compare("tests/unit/golden/target.golden", text);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("golden targets");
    TCase *t = tcase_create("target");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, wanted);
    suite_add_tcase(s, t);
    return test_run(s);
}
