/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs of tables in which the VL depends on the pair of source and destination switch: the
 * graphs of channel dependencies, and random faults with all checks. */
#include "tests/unit/repair_world.h"

/* ---- the graphs of dependencies -------------------------------------------------------------- */

/* Returns true if dependencies between living channels lead from one channel to another. Visits the
 * channels one by one, without labels. */
static bool leads_to(const struct fab_repair *r, uint32_t vl, uint32_t from, uint32_t to)
{
    const struct fab_repair_network *b = r->network;
    uint32_t *stack = calloc(b->ports, sizeof(*stack)), count = 0;
    bool *seen = calloc(b->ports, 1);
    stack[count++] = from;
    seen[from] = true;
    while (count > 0) {
        uint32_t channel = stack[--count], sw = b->peer_sw[channel];
        const uint64_t *next = r->graph.next + ((size_t)vl * b->ports + channel) * b->words;
        for (uint32_t port = b->first[sw]; port < b->first[sw + 1]; port++) {
            if (!fab_base_bits_get(next, port - b->first[sw]) || seen[port] ||
                fab_base_bits_get(r->is_dead, port))
                continue;
            seen[port] = true;
            stack[count++] = port;
        }
    }
    bool found = seen[to];
    free(stack);
    free(seen);
    return found;
}

/* Chooses a channel at random, and one on which packets may continue. Both links are alive. Returns
 * false if there is none. */
static bool choose_turn(const struct fab_repair *r, struct fab_prng *prng, uint32_t *from,
                        uint32_t *to)
{
    const struct fab_repair_network *b = r->network;
    *from = (uint32_t)fab_base_prng_below(prng, b->ports);
    if (b->peer_sw[*from] == FAB_NONE || fab_base_bits_get(r->is_dead, *from))
        return false;
    uint32_t sw = b->peer_sw[*from], ports = b->first[sw + 1] - b->first[sw];
    *to = b->first[sw] + (uint32_t)fab_base_prng_below(prng, ports);
    return b->peer_sw[*to] != FAB_NONE && *to != fab_repair_peer_port(b, *from) &&
           !fab_base_bits_get(r->is_dead, *to);
}

static uint64_t hash_of_graph(const struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    uint64_t hash = 0;
    for (size_t i = 0; i < (size_t)b->vl_count * b->ports * b->words; i++)
        hash = (hash ^ r->graph.next[i]) * 0x9e3779b97f4a7c15u + r->graph.previous[i];
    for (size_t i = 0; i < (size_t)b->vl_count * b->ports; i++)
        hash = (hash ^ r->graph.label[i]) * 0x9e3779b97f4a7c15u;
    return hash;
}

/* Returns a world whose VL depends on the pair of switches; NULL: this fabric needs no VLs. */
static struct world *lanes_world(struct fab_fabric *f, const char *name, const char *engine)
{
    struct world *w = world_new(name, f, engine);
    if (w != NULL && w->repair->network->pair_vl == NULL) {
        world_free(w);
        return NULL;
    }
    return w;
}

/* Adds dependencies at random. Each must be refused if and only if it closes a cycle, and labels
 * must ascend along all others. Undoing them restores the graphs and the labels. */
START_TEST(only_cycles_are_refused)
{
    struct fab_prng prng;
    unsigned refused = 0, added = 0;
    fab_base_prng_init(&prng, test_seed("only cycles are refused", 21));
    for (unsigned i = 0; i < 60; i++) {
        struct world *w = lanes_world(random_fabric(24, 5, 1, fab_base_prng_next(&prng)),
                                      "dependencies", "dfsssp");
        if (w == NULL)
            continue;
        struct fab_repair *r = w->repair;
        for (unsigned k = 0; k < i % 4; k++) {
            uint32_t port = w->cables[fab_base_prng_below(&prng, w->count)];
            fab_base_bits_set(r->is_dead, port);
            fab_base_bits_set(r->is_dead, fab_repair_peer_port(r->network, port));
        }
        ck_assert_int_eq(fab_repair_dependencies_reset(r), FAB_OK);
        uint64_t first = hash_of_graph(r), middle = first;
        size_t mark = 0;
        for (unsigned k = 0; k < 600; k++) {
            uint32_t from, to, vl = (uint32_t)fab_base_prng_below(&prng, r->network->vl_count);
            if (!choose_turn(r, &prng, &from, &to))
                continue;
            bool closes = leads_to(r, vl, to, from);
            ck_assert_int_eq(fab_repair_dependencies_add(r, vl, from, to), !closes);
            ck_assert(fab_repair_dependencies_ascend(r));
            refused += closes;
            added += !closes;
            if (k == 300) {
                middle = hash_of_graph(r);
                mark = r->graph.undos;
            }
        }
        if (mark > 0) {
            fab_repair_dependencies_undo(r, mark);
            ck_assert_uint_eq(hash_of_graph(r), middle);
        }
        ck_assert_int_eq(fab_repair_dependencies_reset(r), FAB_OK);
        ck_assert_uint_eq(hash_of_graph(r), first);
        memset(r->is_dead, 0, fab_base_bits_words(r->network->ports) * sizeof(*r->is_dead));
        world_free(w);
    }
    printf("# dependencies: %u added, %u refused\n", added, refused);
    ck_assert_uint_gt(added, 1000);
    ck_assert_uint_gt(refused, 300);
}
END_TEST

/* Sets distance[] to the number of links from each switch to switch 0. */
static void find_distances(const struct fab_repair_network *b, uint32_t *distance)
{
    uint32_t *queue = calloc(b->n, sizeof(*queue)), head = 0, tail = 1;
    memset(distance, 0xff, b->n * sizeof(*distance));
    distance[0] = 0;
    for (; head < tail; head++) {
        for (uint32_t port = b->first[queue[head]]; port < b->first[queue[head] + 1]; port++) {
            uint32_t to = b->peer_sw[port];
            if (to == FAB_NONE || distance[to] != FAB_NONE)
                continue;
            distance[to] = distance[queue[head]] + 1;
            queue[tail++] = to;
        }
    }
    free(queue);
}

static bool has_previous(const struct fab_repair_network *b, uint32_t vl, uint32_t channel)
{
    const uint64_t *row = b->previous + ((size_t)vl * b->ports + channel) * b->words;
    for (uint32_t word = 0; word < b->words; word++)
        if (row[word] != 0)
            return true;
    return false;
}

/* As far as the dependencies allow it, labels ascend along paths that first go up to switch 0, and
 * then down: each channel towards this switch that depends on no other channel has a lower label
 * than all channels away from it. */
START_TEST(labels_prefer_up_and_down)
{
    struct fab_prng prng;
    unsigned compared = 0;
    fab_base_prng_init(&prng, test_seed("labels prefer up and down", 22));
    for (unsigned i = 0; i < 20; i++) {
        struct world *w = lanes_world(random_fabric(24, 5, 1, fab_base_prng_next(&prng)),
                                      "up and down", "dfsssp");
        if (w == NULL)
            continue;
        const struct fab_repair_network *b = w->repair->network;
        uint32_t *distance = calloc(b->n, sizeof(*distance));
        find_distances(b, distance);
        for (uint32_t vl = 0; vl < b->vl_count; vl++) {
            const uint32_t *label = b->label + (size_t)vl * b->ports;
            uint32_t up = 0, down = UINT32_MAX;
            for (uint32_t channel = 0; channel < b->ports; channel++) {
                uint32_t to = b->peer_sw[channel];
                if (to == FAB_NONE)
                    continue;
                uint32_t from = fab_repair_switch_of(b, channel);
                if (distance[to] < distance[from] && !has_previous(b, vl, channel)) {
                    up = label[channel] > up ? label[channel] : up;
                    compared++;
                }
                if (distance[to] > distance[from] && label[channel] < down)
                    down = label[channel];
            }
            ck_assert_uint_lt(up, down);
        }
        free(distance);
        world_free(w);
    }
    ck_assert_uint_gt(compared, 100);
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

/* Lets links fail and return at random, with all checks of change_to(). In the end all links are
 * back, and the tables must be those of the engine. */
static void fail_and_return(struct world *w, struct fab_prng *prng, unsigned steps)
{
    bool *next = calloc(w->count + 1, sizeof(*next));
    for (unsigned i = 0; i < steps; i++) {
        memcpy(next, w->dead, w->count * sizeof(*next));
        for (unsigned k = 0; k <= fab_base_prng_below(prng, 2); k++)
            toggle(w, next, prng, fab_base_prng_below(prng, 3) == 0);
        if (!change_to(w, next, prng))
            continue;
        memcpy(w->dead, next, w->count * sizeof(*next));
        if (fab_base_prng_below(prng, 4) == 0)
            rebalance(w, prng, 2);
    }
    memset(next, 0, w->count * sizeof(*next));
    ck_assert(change_to(w, next, prng));
    ck_assert(memcmp(w->lft.entries, w->base->lft.entries,
                     (size_t)w->lft.switch_count * w->lft.stride) == 0);
    ck_assert_uint_eq(fab_repair_overlay_size(w->repair), 0);
    free(next);
}

static struct fab_fabric *draw_fabric(struct fab_prng *prng, const char **ret_name)
{
    static const uint32_t torus[3] = {4, 3, 1}, mesh[3] = {4, 4, 1}, ring[3] = {3, 3, 2};
    uint64_t kind = fab_base_prng_below(prng, 8);
    *ret_name = "random";
    if (kind > 3)
        return random_fabric(8 + (uint32_t)fab_base_prng_below(prng, 14),
                             3 + (uint32_t)fab_base_prng_below(prng, 3), 1,
                             fab_base_prng_next(prng));
    *ret_name = kind == 0 ? "torus" : kind == 1 ? "mesh" : kind == 2 ? "ring" : "dragonfly";
    return kind == 3 ? dragonfly()
                     : grid(kind == 0   ? torus
                            : kind == 1 ? mesh
                                        : ring,
                            kind != 1, 1);
}

/* REPAIR_FABRICS: number of fabrics in the environment */
START_TEST(faults_on_several_lanes)
{
    static const char *engines[] = {"dfsssp", "nue"};
    const char *wanted = getenv("REPAIR_FABRICS");
    unsigned fabrics = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 0) : 60;
    struct fab_prng prng;
    struct tally all = {0};
    unsigned worlds = 0, drained = 0, stepped = 0, lost = 0, rebalanced = 0;
    fab_base_prng_init(&prng, test_seed("faults on several lanes", 22));
    for (unsigned i = 0; worlds < fabrics && i < 40 * fabrics; i++) {
        const char *name;
        struct fab_fabric *f = draw_fabric(&prng, &name);
        struct world *w = lanes_world(f, name, engines[i % 2]);
        if (w == NULL)
            continue;
        w->looked_at = true;
        w->spoiled = worlds++ % 3 == 0;
        fail_and_return(w, &prng, steps_wanted(8));
        all.done += w->done;
        all.refused += w->refused;
        all.unsafe += w->unsafe;
        all.caught += w->caught;
        all.paused += w->paused;
        drained += w->drained;
        stepped += w->stepped;
        lost += w->lost;
        rebalanced += w->rebalanced;
        world_free(w);
    }
    printf(
        "# %u fabrics: %u repairs, %u refused, %u with losses; in steps %u (unsafe without: %u), "
        "drained %u, paused %u; %u damaged deltas caught; %u steps of a rebalance\n",
        worlds, all.done, all.refused, lost, stepped, all.unsafe, drained, all.paused, all.caught,
        rebalanced);
    ck_assert_uint_eq(worlds, fabrics);
    ck_assert_uint_gt(all.done, 6 * fabrics);
    ck_assert_uint_gt(all.caught, 30 * fabrics / 10);
}
END_TEST

/* ---- room on all VLs ------------------------------------------------------------------------- */

static struct fab_fabric *mesh_6x5(void)
{
    struct fab_torus_spec spec = {
        .dimensions = 2, .size = {6, 5}, .hosts = 4, .parallel = 1, .mesh = true};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *hyperx_6x5(void)
{
    struct fab_hyperx_spec spec = {.dimensions = 2, .size = {6, 5}, .hosts = 4, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_hyperx(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *dragonfly_9x4(void)
{
    struct fab_dragonfly_spec spec = {
        .groups = 9, .group_size = 4, .global = 2, .hosts = 4, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&spec, &b), FAB_OK);
    return sealed(b);
}

/* Returns how many percent of the ISLs may fail alone without an engine. */
static unsigned percent_repaired(struct fab_fabric *f, const char *name)
{
    struct world *w = lanes_world(f, name, "dfsssp");
    struct fab_prng prng;
    unsigned good = 0;
    ck_assert_ptr_nonnull(w);
    bool *one = calloc(w->count + 1, sizeof(*one));
    fab_base_prng_init(&prng, 1);
    for (uint32_t i = 0; i < w->count; i++) {
        unsigned lost = w->lost;
        one[i] = true;
        bool repaired = change_to(w, one, &prng);
        good += repaired && w->lost == lost;
        one[i] = false;
        if (repaired)
            ck_assert(change_to(w, one, &prng));
    }
    unsigned percent = 100 * good / w->count;
    printf("# %s: %u of %u faults repaired\n", name, good, w->count);
    free(one);
    world_free(w);
    return percent;
}

/* dfsssp leaves room for repairs on all of its VLs: the escape tree (mesh), and few dependencies on
 * each VL (dragonfly). */
START_TEST(single_faults_need_no_engine)
{
    ck_assert_uint_eq(percent_repaired(mesh_6x5(), "mesh"), 100);
    ck_assert_uint_eq(percent_repaired(hyperx_6x5(), "HyperX"), 100);
    ck_assert_uint_ge(percent_repaired(dragonfly_9x4(), "dragonfly"), 95);
}
END_TEST

/* The VLs of dfsssp have about the same number of channel dependencies. */
START_TEST(vls_are_equally_full)
{
    struct world *w = lanes_world(hyperx_6x5(), "HyperX", "dfsssp");
    ck_assert_ptr_nonnull(w);
    const struct fab_repair_network *b = w->repair->network;
    size_t bits = (size_t)b->ports * b->words * 64, least = SIZE_MAX, most = 0;
    for (uint32_t vl = 0; vl < b->vl_count; vl++) {
        size_t count = fab_base_bits_count(b->next + vl * (bits / 64), bits);
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    printf("# HyperX: %zu to %zu dependencies on %u VLs\n", least, most, b->vl_count);
    ck_assert_uint_ge(b->vl_count, 2);
    ck_assert_uint_le(most * 3, least * 4);
    world_free(w);
}
END_TEST

int main(void)
{
    const struct repair_case all[] = {{"dependencies", only_cycles_are_refused},
                                      {"room", single_faults_need_no_engine},
                                      {"equal VLs", vls_are_equally_full},
                                      {"up and down", labels_prefer_up_and_down},
                                      {"faults", faults_on_several_lanes}};
    return test_run(repair_suite("repair lanes", all, sizeof(all) / sizeof(*all)));
}
