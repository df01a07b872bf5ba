/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes settings for thousands of random fabrics: trees of any taper, tori, dragonflies and
 * random graphs. Rates, table sizes and profiles are random, and the fan-in comes from the
 * settings, from classes or from partitions. Every value must fit into its field. No delay may
 * become shorter if an endport is slower, a fan-in larger or a path longer. A small change of the
 * fabric must change few settings.
 */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/explain.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

/* Fails the test if x is false. The library Check would write each successful assertion to a file,
 * which would take longer than the tests. */
#define HOLDS(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            ck_abort_msg("%s", #x);                                                                \
    } while (0)

/* ---- scenes ---------------------------------------------------------------------------------- */

struct scene { /* all owned by this struct */
    struct fab_fabric *f;
    struct fab_policy policy;
    uint8_t *blocks;
    uint32_t *port_fan_in;
    uint32_t fan_in[FAB_CONGESTION_SLS];
    uint32_t hops;
};
#define KINDS 5
static const char *const rates[] = {"12x HDR", "4x NDR", "4x HDR", "4x EDR", "4x FDR",
                                    "4x QDR",  "1x EDR", "4x DDR", "4x SDR", "1x SDR"};
#define RATES (sizeof rates / sizeof *rates)

static uint32_t up_to(struct fab_prng *r, uint32_t most)
{
    return 1 + (uint32_t)fab_base_prng_below(r, most);
}

static struct fab_builder *build(struct fab_prng *r, unsigned kind)
{
    struct fab_builder *b = NULL;
    const struct fab_leaf_spine_spec tree = {.leaves = up_to(r, 10),
                                             .spines = up_to(r, 6),
                                             .hosts_per_leaf = up_to(r, 24),
                                             .parallel = up_to(r, 2)};
    const struct fab_fat_tree_spec fat = {.radix = 4 + 2 * (uint32_t)fab_base_prng_below(r, 3),
                                          .levels = 2 + (uint32_t)fab_base_prng_below(r, 2),
                                          .taper = (uint32_t)fab_base_prng_below(r, 4)};
    const struct fab_torus_spec torus = {.dimensions = 2,
                                         .size = {2 + up_to(r, 4), 2 + up_to(r, 4)},
                                         .hosts = up_to(r, 4),
                                         .parallel = 1,
                                         .mesh = fab_base_prng_chance(r, 0.3)};
    const struct fab_dragonfly_spec fly = {
        .group_size = 1 + up_to(r, 3), .global = up_to(r, 2), .hosts = up_to(r, 4), .parallel = 1};
    const struct fab_random_spec any = {up_to(r, 30), 1 + up_to(r, 6), up_to(r, 12),
                                        fab_base_prng_next(r)};
    int status = kind == 0   ? fab_fabric_generate_leaf_spine(&tree, &b)
                 : kind == 1 ? fab_fabric_generate_fat_tree(&fat, &b)
                 : kind == 2 ? fab_fabric_generate_torus(&torus, &b)
                 : kind == 3 ? fab_fabric_generate_dragonfly(&fly, &b)
                             : fab_fabric_generate_random(&any, &b);
    HOLDS(status == 0);
    return b;
}

static void set_rate(struct fab_fabric *f, uint32_t port, const char *rate)
{
    ck_assert_int_eq(
        fab_fabric_text_parse_rate(rate, strlen(rate), &fab_fabric_edit_port(f, port)->info), 0);
    if (fab_fabric_port(f, port)->peer != FAB_NONE)
        ck_assert_int_eq(
            fab_fabric_text_parse_rate(
                rate, strlen(rate), &fab_fabric_edit_port(f, fab_fabric_port(f, port)->peer)->info),
            0);
}

static bool is_end(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    return n->type != FAB_NODE_SWITCH && !n->aggregation && fab_fabric_port_is_up(f, port);
}

static void mix_rates(struct fab_fabric *f, struct fab_prng *r)
{
    double share = fab_base_prng_chance(r, 0.5) ? 0 : 0.3;
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->num > 0 && fab_fabric_port_is_up(f, p) &&
            fab_base_prng_chance(r, share))
            set_rate(f, p, rates[fab_base_prng_below(r, RATES)]);
}

static struct scene scene(struct fab_prng *r, unsigned kind)
{
    struct fab_fabric *whole = sealed(build(r, kind));
    struct scene s = {.hops = (uint32_t)fab_base_prng_below(r, 12)};
    ck_assert_int_eq(fab_fabric_clone(whole, &s.f), 0);
    fab_fabric_unref(whole);
    mix_rates(s.f, r);
    fab_policy_defaults(&s.policy);
    struct fab_policy_congestion *p = &s.policy.congestion;
    p->profile = (uint8_t)(1 + fab_base_prng_below(r, FAB_CONGESTION_PROFILES - 1));
    if (fab_base_prng_chance(r, 0.2))
        p->fan_in = up_to(r, FAB_CONGESTION_FAN_IN_MOST);
    if (fab_base_prng_chance(r, 0.3)) {
        p->hop_ns = (uint32_t)fab_base_prng_below(r, 5000);
        p->adapter_ns = (uint32_t)fab_base_prng_below(r, 5000);
        p->cable_m = (uint32_t)fab_base_prng_below(r, 500);
        p->queue_kb = up_to(r, 4096);
    }
    s.blocks = calloc(s.f->node_count, 1);
    s.port_fan_in = calloc(s.f->port_count, sizeof *s.port_fan_in);
    for (uint32_t n = 0; n < s.f->node_count; n++)
        s.blocks[n] = fab_base_prng_chance(r, 0.7) ? 0 : (uint8_t)fab_base_prng_next(r);
    bool jobs = fab_base_prng_chance(r, 0.5);
    for (uint32_t q = 0; jobs && q < s.f->port_count; q++)
        s.port_fan_in[q] = is_end(s.f, q) ? up_to(r, fab_base_prng_chance(r, 0.8) ? 40 : 20000) : 0;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        s.fan_in[sl] = fab_base_prng_chance(r, 0.7) ? 0 : up_to(r, 300);
    return s;
}

static struct scene copied(const struct scene *s)
{
    struct scene c = *s;
    ck_assert_int_eq(fab_fabric_clone(s->f, &c.f), 0);
    c.blocks = malloc(s->f->node_count);
    c.port_fan_in = malloc(s->f->port_count * sizeof *c.port_fan_in);
    memcpy(c.blocks, s->blocks, s->f->node_count);
    memcpy(c.port_fan_in, s->port_fan_in, s->f->port_count * sizeof *c.port_fan_in);
    return c;
}

static void scene_fini(struct scene *s)
{
    fab_fabric_unref(s->f);
    free(s->blocks);
    free(s->port_fan_in);
}

static struct fab_congestion computed(const struct scene *s)
{
    struct fab_congestion_input in = {.fabric = s->f,
                                      .policy = &s->policy,
                                      .hops = s->hops,
                                      .table_blocks = s->blocks,
                                      .fan_in = s->fan_in,
                                      .port_fan_in = s->port_fan_in};
    struct fab_congestion c;
    ck_assert_int_eq(fab_congestion_compute(&in, &c), 0);
    return c;
}

static uint32_t any_end(const struct fab_fabric *f, struct fab_prng *r)
{
    for (int i = 0; i < 10000; i++) {
        uint32_t p = (uint32_t)fab_base_prng_below(r, f->port_count);
        if (is_end(f, p))
            return p;
    }
    return FAB_NONE;
}

/* ---- range ----------------------------------------------------------------------------------- */

static void in_domain(enum fab_congestion_value which, uint32_t value)
{
    const struct fab_congestion_domain *d = &fab_policy_congestion_domains[which];
    if (value < d->least || value > d->most)
        ck_abort_msg("%s is %u", d->name, value);
}

static void check_port(const struct fab_congestion_port *p, const struct fab_congestion_basis *b)
{
    in_domain(FAB_CONGESTION_THRESHOLD, p->threshold);
    in_domain(FAB_CONGESTION_MARKING_RATE, p->marking_rate);
    in_domain(FAB_CONGESTION_PACKET_SIZE, p->packet_size);
    HOLDS(p->threshold >= 1 || (b->up && b->taper <= 100));
    HOLDS(p->victim == b->edge);
    HOLDS(b->edge + b->up + b->down <= 1);
    HOLDS(b->taper >= 100 && b->taper <= 1000);
}

static void check_adapter(const struct fab_congestion_adapter *a,
                          const struct fab_congestion_basis *b)
{
    in_domain(FAB_CONGESTION_LIMIT, a->table.limit);
    HOLDS(a->table.limit < b->entries);
    HOLDS(b->entries <= FAB_CONGESTION_TABLE_MOST);
    HOLDS(fab_congestion_delay(a->table.entry[0]) == 0);
    for (uint32_t i = 1; i <= a->table.limit; i++)
        HOLDS(fab_congestion_delay(a->table.entry[i]) >=
              fab_congestion_delay(a->table.entry[i - 1]));
    uint16_t last = a->table.entry[a->table.limit];
    double slow = 1 + fab_congestion_delay(last) / 8.0;
    double slower = b->slowest < b->rate ? (double)b->rate / b->slowest : 1;
    HOLDS(last == 0x3fff || slow * slow * 1.01 >= 2.25 * b->fan_in * b->fan_in * slower);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        in_domain(FAB_CONGESTION_TIMER, a->sl[sl].timer);
        in_domain(FAB_CONGESTION_INCREASE, a->sl[sl].increase);
        in_domain(FAB_CONGESTION_TRIGGER_THRESHOLD, a->sl[sl].trigger);
        HOLDS(a->sl[sl].trigger <= a->table.limit);
        HOLDS(a->sl[sl].min <= a->table.limit);
        HOLDS(b->sl_fan_in[sl] <= b->fan_in);
    }
}

/* Checks the fan-in of each SL. A fan-in from the operator must be used unchanged. Any other is
 * rounded up to at most 1.5 times the limits that are known for the port and for the class. */
static void check_fan_in(const struct scene *s, uint32_t port, const struct fab_congestion_basis *b)
{
    uint32_t by_hand = s->policy.congestion.fan_in, port_fan_in = s->port_fan_in[port];
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        uint32_t is = b->sl_fan_in[sl], of_class = s->fan_in[sl];
        HOLDS(by_hand == 0 || is == by_hand);
        HOLDS(by_hand > 0 || port_fan_in == 0 || is <= 2 || is <= port_fan_in + port_fan_in / 2);
        HOLDS(by_hand > 0 || of_class == 0 || is <= 2 || is <= of_class + of_class / 2);
    }
    HOLDS((b->fan_in_from == FAB_CONGESTION_FROM_POLICY) == (by_hand > 0));
    HOLDS(b->fan_in_from != FAB_CONGESTION_FROM_JOBS || port_fan_in > 0);
}

static void check_all(const struct scene *s, const struct fab_congestion *c)
{
    struct fab_congestion_reason why[FAB_CONGESTION_REASONS];
    for (uint32_t p = 0; p < s->f->port_count; p++) {
        const struct fab_congestion_port *port = fab_congestion_of_switch(c, s->f, p);
        const struct fab_congestion_adapter *a = fab_congestion_of_adapter(c, s->f, p);
        bool is_switch = fab_fabric_node_is_switch(s->f, fab_fabric_port(s->f, p)->node);
        HOLDS((a != NULL) == is_end(s->f, p));
        HOLDS((port != NULL) ==
              (is_switch && fab_fabric_port(s->f, p)->num > 0 && fab_fabric_port_is_up(s->f, p)));
        if (a != NULL)
            check_fan_in(s, p, &c->adapter_basis[c->of_port[p]]);
        unsigned reasons = port != NULL ? 4 : a != NULL ? 5 : 0;
        HOLDS(fab_congestion_explain(c, s->f, &s->policy, p, 3, why) == reasons);
    }
    for (uint32_t i = 0; i < c->port_count; i++)
        check_port(&c->port[i], &c->port_basis[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        check_adapter(&c->adapter[i], &c->adapter_basis[i]);
}

START_TEST(every_value_is_in_range)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("ranges", 31));
    for (unsigned i = 0; i < test_rounds(5000); i++) {
        struct scene s = scene(&r, i % KINDS);
        struct fab_congestion c = computed(&s);
        check_all(&s, &c);
        fab_congestion_fini(&c);
        scene_fini(&s);
    }
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

static void no_faster(const struct fab_congestion_adapter *was,
                      const struct fab_congestion_adapter *now)
{
    HOLDS(was->table.limit == now->table.limit);
    for (uint32_t i = 0; i <= was->table.limit; i++)
        HOLDS(fab_congestion_delay(now->table.entry[i]) >=
              fab_congestion_delay(was->table.entry[i]));
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        HOLDS(now->sl[sl].timer >= was->sl[sl].timer);
}

static bool same_port(const struct fab_congestion_port *a, const struct fab_congestion_port *b)
{
    return a->threshold == b->threshold && a->packet_size == b->packet_size &&
           a->victim == b->victim && a->marking_rate == b->marking_rate;
}

static bool same_adapter(const struct fab_congestion_adapter *a,
                         const struct fab_congestion_adapter *b)
{
    bool same = a->sls == b->sls && a->table.limit == b->table.limit;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
        same &= a->sl[sl].timer == b->sl[sl].timer && a->sl[sl].increase == b->sl[sl].increase &&
                a->sl[sl].trigger == b->sl[sl].trigger && a->sl[sl].min == b->sl[sl].min;
    for (uint32_t i = 0; same && i <= a->table.limit; i++)
        same = a->table.entry[i] == b->table.entry[i];
    return same;
}

/* For a larger fan-in, CCTI_Increase may be larger and CCTI_Timer shorter. Checks that their
 * product, the delay after a congestion notification, is not shorter by more than one tick of the
 * timer. */
static void held_no_shorter(const struct fab_congestion_adapter *was,
                            const struct fab_congestion_adapter *now)
{
    HOLDS(was->table.limit == now->table.limit);
    for (uint32_t i = 0; i <= was->table.limit; i++)
        HOLDS(fab_congestion_delay(now->table.entry[i]) >=
              fab_congestion_delay(was->table.entry[i]));
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        HOLDS(now->sl[sl].increase >= was->sl[sl].increase);
        HOLDS(now->sl[sl].timer * now->sl[sl].increase >=
              (was->sl[sl].timer - 1u) * was->sl[sl].increase);
    }
}

typedef void comparison(const struct fab_congestion_adapter *was,
                        const struct fab_congestion_adapter *now);
/* Calls compare() with the settings of each adapter port in a and in b. except: a port that is left
 * out; FAB_NONE: none. */
static void each(const struct scene *s, const struct fab_congestion *a,
                 const struct fab_congestion *b, uint32_t except, comparison *compare)
{
    for (uint32_t p = 0; p < s->f->port_count; p++) {
        const struct fab_congestion_adapter *was = fab_congestion_of_adapter(a, s->f, p);
        if (was != NULL && p != except)
            compare(was, fab_congestion_of_adapter(b, s->f, p));
    }
}

START_TEST(a_slower_end_makes_no_delay_shorter)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("slower ends", 32));
    for (unsigned i = 0; i < test_rounds(2500); i++) {
        struct scene s = scene(&r, i % KINDS);
        uint32_t end = any_end(s.f, &r), at = (uint32_t)fab_base_prng_below(&r, RATES - 1);
        if (end != FAB_NONE) {
            set_rate(s.f, end, rates[at]);
            struct scene slower = copied(&s);
            set_rate(slower.f, end, rates[at + up_to(&r, (uint32_t)(RATES - 1 - at))]);
            struct fab_congestion a = computed(&s), b = computed(&slower);
            each(&s, &a, &b, end, no_faster);
            fab_congestion_fini(&a);
            fab_congestion_fini(&b);
            scene_fini(&slower);
        }
        scene_fini(&s);
    }
}
END_TEST

/* If the partition of one endport grows, only the settings of this endport change. */
START_TEST(a_larger_job_slows_down_its_own)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("larger jobs", 33));
    for (unsigned i = 0; i < test_rounds(2500); i++) {
        struct scene s = scene(&r, i % KINDS);
        uint32_t end = any_end(s.f, &r);
        if (end != FAB_NONE) {
            s.port_fan_in[end] = up_to(&r, 1000);
            struct scene larger = copied(&s);
            larger.port_fan_in[end] += up_to(&r, 1000);
            struct fab_congestion a = computed(&s), b = computed(&larger);
            each(&s, &a, &b, FAB_NONE, held_no_shorter);
            for (uint32_t p = 0; p < s.f->port_count; p++) {
                const struct fab_congestion_adapter *x = fab_congestion_of_adapter(&a, s.f, p);
                const struct fab_congestion_port *y = fab_congestion_of_switch(&a, s.f, p);
                HOLDS(x == NULL || p == end ||
                      same_adapter(x, fab_congestion_of_adapter(&b, s.f, p)));
                HOLDS(y == NULL || same_port(y, fab_congestion_of_switch(&b, s.f, p)));
            }
            fab_congestion_fini(&a);
            fab_congestion_fini(&b);
            scene_fini(&larger);
        }
        scene_fini(&s);
    }
}
END_TEST

START_TEST(the_same_scene_gives_the_same_settings)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("the same again", 13));
    for (unsigned i = 0; i < test_rounds(500); i++) {
        struct scene s = scene(&r, i % KINDS), again = copied(&s);
        struct fab_congestion a = computed(&s), b = computed(&again);
        HOLDS(a.port_count == b.port_count && a.adapter_count == b.adapter_count);
        HOLDS(memcmp(a.of_port, b.of_port, a.ports * sizeof *a.of_port) == 0);
        for (uint32_t k = 0; k < a.port_count; k++)
            HOLDS(same_port(&a.port[k], &b.port[k]));
        for (uint32_t k = 0; k < a.adapter_count; k++)
            HOLDS(same_adapter(&a.adapter[k], &b.adapter[k]));
        fab_congestion_fini(&a);
        fab_congestion_fini(&b);
        scene_fini(&again);
        scene_fini(&s);
    }
}
END_TEST

START_TEST(longer_ways_and_larger_classes_make_no_delay_shorter)
{
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("longer ways", 34));
    for (unsigned i = 0; i < test_rounds(2500); i++) {
        struct scene s = scene(&r, i % KINDS);
        s.hops = up_to(&r, 20);
        bool larger = fab_base_prng_chance(&r, 0.5);
        struct scene longer = copied(&s);
        struct fab_policy_congestion *p = &longer.policy.congestion;
        longer.hops += (uint32_t)fab_base_prng_below(&r, 5);
        p->hop_ns += (uint32_t)fab_base_prng_below(&r, 1000);
        p->adapter_ns += (uint32_t)fab_base_prng_below(&r, 1000);
        p->cable_m += (uint32_t)fab_base_prng_below(&r, 100);
        p->fan_in += larger && p->fan_in > 0 ? (uint32_t)fab_base_prng_below(&r, 100) : 0;
        for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++)
            longer.fan_in[sl] +=
                larger && s.fan_in[sl] > 0 ? (uint32_t)fab_base_prng_below(&r, 100) : 0;
        struct fab_congestion a = computed(&s), b = computed(&longer);
        each(&s, &a, &b, FAB_NONE, larger ? held_no_shorter : no_faster);
        fab_congestion_fini(&a);
        fab_congestion_fini(&b);
        scene_fini(&longer);
        scene_fini(&s);
    }
}
END_TEST

/* ---- steadiness ------------------------------------------------------------------------------ */

static uint32_t any_cable(const struct fab_fabric *f, struct fab_prng *r)
{
    for (int i = 0; i < 10000; i++) {
        uint32_t p = (uint32_t)fab_base_prng_below(r, f->port_count);
        if (fab_fabric_port(f, p)->num > 0 && fab_fabric_port_is_up(f, p))
            return p;
    }
    return FAB_NONE;
}

static void compare(const struct scene *s, const struct fab_congestion *a,
                    const struct fab_congestion *b, uint32_t *all, uint32_t *other)
{
    for (uint32_t p = 0; p < s->f->port_count; p++) {
        const struct fab_congestion_port *x = fab_congestion_of_switch(a, s->f, p),
                                         *y = fab_congestion_of_switch(b, s->f, p);
        const struct fab_congestion_adapter *u = fab_congestion_of_adapter(a, s->f, p),
                                            *v = fab_congestion_of_adapter(b, s->f, p);
        *all += (x != NULL && y != NULL) || (u != NULL && v != NULL);
        *other += (x != NULL && y != NULL && !same_port(x, y)) ||
                  (u != NULL && v != NULL && !same_adapter(u, v));
    }
}

/* Without a link, a rounded value (number of hops, number of endports, slowest rate) may change,
 * and with it many settings of one fabric. But of all fabrics of a kind together, fewer than 2 % of
 * the settings may change. */
START_TEST(a_cable_less_changes_few_settings)
{
    static const char *const names[KINDS] = {"leaf-spine", "fat trees", "tori", "dragonflies",
                                             "random fabrics"};
    struct fab_prng r;
    fab_base_prng_init(&r, test_seed("a cable less", 35));
    for (unsigned kind = 0; kind < KINDS; kind++) {
        uint32_t all = 0, other = 0;
        for (unsigned i = 0; i < test_rounds(300); i++) {
            struct scene s = scene(&r, kind), less = copied(&s);
            uint32_t cable = any_cable(s.f, &r);
            if (cable != FAB_NONE)
                fab_fabric_remove_link(less.f, cable);
            struct fab_congestion a = computed(&s), b = computed(&less);
            compare(&s, &a, &b, &all, &other);
            fab_congestion_fini(&a);
            fab_congestion_fini(&b);
            scene_fini(&less);
            scene_fini(&s);
        }
        double share = all > 0 ? (double)other / all : 0;
        printf("# %s: %.2f %% of the settings change with a cable\n", names[kind], 100 * share);
        HOLDS(share < 0.02);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("congestion at random");
    TCase *t = tcase_create("properties");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_value_is_in_range);
    tcase_add_test(t, a_slower_end_makes_no_delay_shorter);
    tcase_add_test(t, a_larger_job_slows_down_its_own);
    tcase_add_test(t, longer_ways_and_larger_classes_make_no_delay_shorter);
    tcase_add_test(t, the_same_scene_gives_the_same_settings);
    tcase_add_test(t, a_cable_less_changes_few_settings);
    return test_run(s);
}
