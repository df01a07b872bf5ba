/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs: random sequences of faults on every topology family, with every engine. */
#include "tests/unit/repair_world.h"

START_TEST(sequences_over_every_family)
{
    static const uint32_t torus[3] = {4, 4, 1}, mesh[3] = {3, 3, 2};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("sequences over every family", 1));
    struct {
        const char *name, *engine;
        struct fab_fabric *f;
    } all[] = {{"fat tree of 2 levels", "fattree", fat_tree(8, 2, 1)},
               {"fat tree of 3 levels", "fattree", fat_tree(4, 3, 1)},
               {"fat tree of 3 levels, updn", "updn", fat_tree(6, 3, 1)},
               {"fat tree of 3 levels, more", "fattree", fat_tree(6, 3, 1)},
               {"leaves and spines", "fattree", leaf_spine(6, 3, 4)},
               {"modern tree", "updn", modern_tree(6, 3, 3, 1, 2)},
               {"torus", "updn", grid(torus, true, 2)},
               {"mesh", "updn", grid(mesh, false, 1)},
               {"HyperX", "updn", hyperx()},
               {"dragonfly", "updn", dragonfly()}};
    unsigned unsafe = 0, caught = 0, paused = 0;
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct world *w = world_new(all[i].name, all[i].f, all[i].engine);
        w->looked_at = w->spoiled = true;
        struct tally t = run_sequence(w, &prng, steps_wanted(30));
        unsafe += t.unsafe;
        caught += t.caught;
        paused += t.paused;
    }
    /* the checks must have failed for enough unsafe orders of writes, and the proof for enough
     * damaged entries; enough writes must have paused paths */
    ck_assert_uint_gt(unsafe, 20);
    ck_assert_uint_gt(caught, 500);
    ck_assert_uint_gt(paused, 5);
}
END_TEST

/* Repairs the tables of every engine. */
START_TEST(every_engine)
{
    static const uint32_t torus[3] = {4, 3, 1};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("every engine", 4));
    for (size_t i = 0; fab_route_engines()[i] != NULL; i++) {
        const char *engine = fab_route_engines()[i]->name;
        struct fab_fabric *all[] = {fat_tree(6, 3, 1), grid(torus, true, 2), hyperx(), dragonfly(),
                                    random_fabric(12, 4, 2, i + 1)};
        for (unsigned k = 0; k < sizeof(all) / sizeof(*all); k++) {
            struct world *w = world_new(engine, all[k], engine);
            if (w == NULL)
                continue;
            w->looked_at = w->spoiled = w->sets_compared = true;
            run_sequence(w, &prng, steps_wanted(8));
        }
    }
}
END_TEST

START_TEST(sequences_over_random_fabrics)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("sequences over random fabrics", 2));
    for (unsigned i = 0; i < 40; i++) {
        struct world *w = world_new("random",
                                    random_fabric(3 + (uint32_t)fab_base_prng_below(&prng, 20), 4,
                                                  2, fab_base_prng_next(&prng)),
                                    "updn");
        w->looked_at = i % 2 == 0;
        run_sequence(w, &prng, steps_wanted(12));
    }
}
END_TEST

/* Two rings without a link between them. Each of them must be repaired. */
START_TEST(parts_without_a_link_are_repaired_each)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("parts", 8));
    struct drawing *drawing = draw_new();
    for (uint32_t i = 0; i < 12; i++)
        draw_switch(drawing, 8);
    for (uint32_t part = 0; part < 12; part += 6)
        for (uint32_t i = 0; i < 6; i++)
            draw_cable(drawing, part + i, part + (i + 1) % 6);
    for (uint32_t i = 0; i < 12; i++)
        draw_hosts(drawing, i, 1);
    struct world *w = world_new("two rings", draw_done(drawing), "dfsssp");
    ck_assert_ptr_nonnull(w);
    w->looked_at = w->sets_compared = true;
    struct tally t = run_sequence(w, &prng, steps_wanted(10));
    ck_assert_uint_gt(t.done, 1);
}
END_TEST

/* The last hosts get the LIDs up to `top`. These LIDs are at the ends of LFT blocks (64 entries)
 * and of pages (1024 entries). */
START_TEST(lids_at_the_edges_of_pages)
{
    static const uint32_t tops[] = {63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("edges of pages", 9));
    for (unsigned i = 0; i < sizeof(tops) / sizeof(*tops); i++) {
        struct fab_fabric *f = leaf_spine(4, 3, 2);
        struct fab_lease leases[3];
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t port = fab_fabric_port_id(f, f->node_count - 1 - k, 1);
            leases[k] =
                (struct fab_lease){.port_guid = fab_fabric_port(f, port)->guid, .lid = tops[i] - k};
        }
        struct world *w = world_leased("edges", f, "updn", leases, 3);
        ck_assert_ptr_nonnull(w);
        ck_assert_uint_eq(w->base->lids.top, tops[i]);
        w->looked_at = true;
        struct tally t = run_sequence(w, &prng, steps_wanted(8));
        ck_assert_uint_gt(t.done, 1);
    }
}
END_TEST

/* Makes a ring of 6 switches with one host each. The first link of each switch is at port
 * `first`. */
static struct fab_fabric *ring(uint32_t first)
{
    struct drawing *d = draw_new();
    for (uint32_t i = 0; i < 6; i++)
        draw_switch(d, 140);
    for (uint32_t i = 0; i < 6; i++)
        d->used[i] = first - 1;
    for (uint32_t i = 0; i < 6; i++)
        draw_cable(d, i, (i + 1) % 6);
    for (uint32_t i = 0; i < 6; i++)
        draw_hosts(d, i, 1);
    return draw_done(d);
}

/* The labels of channels, on several VLs, must not depend on the port numbers of the links. */
START_TEST(labels_do_not_depend_on_port_numbers)
{
    static const uint32_t first[] = {1, 62, 63, 64, 65, 126, 127, 128, 130};
    struct world *low = world_new("ring", ring(1), "dfsssp");
    const struct fab_repair_network *a = low->repair->network;
    ck_assert_uint_eq(a->vl_count, 2);
    ck_assert_ptr_null(a->order);
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++) {
        struct world *high = world_new("ring", ring(first[i]), "dfsssp");
        const struct fab_repair_network *b = high->repair->network;
        ck_assert_uint_eq(b->sets, a->sets);
        ck_assert_uint_eq(b->vl_count, a->vl_count);
        /* only the first 9 sets of labels are compared, because the others are random and depend on
         * port ids */
        for (uint32_t set = 0; set < 9 && set < a->sets; set++)
            for (uint32_t vl = 0; vl < a->vl_count; vl++)
                for (uint32_t sw = 0; sw < a->n; sw++)
                    for (uint32_t num = 1; num <= 2; num++) {
                        size_t row = ((size_t)set * a->vl_count + vl) * a->ports + a->first[sw];
                        ck_assert_uint_gt(a->label[row + num], 0);
                        ck_assert_uint_eq(b->label[row + first[i] - 1 + num], a->label[row + num]);
                    }
        world_free(high);
    }
    world_free(low);
}
END_TEST

int main(void)
{
    const struct repair_case all[] = {{"families", sequences_over_every_family},
                                      {"engines", every_engine},
                                      {"pages", lids_at_the_edges_of_pages},
                                      {"labels", labels_do_not_depend_on_port_numbers},
                                      {"parts", parts_without_a_link_are_repaired_each},
                                      {"random fabrics", sequences_over_random_fabrics}};
    return test_run(repair_suite("repair", all, sizeof(all) / sizeof(*all)));
}
