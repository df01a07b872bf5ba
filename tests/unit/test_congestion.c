/* SPDX-License-Identifier: BSD-3-Clause */
/* Congestion control settings: tables, values that the operator sets, and advice. Properties that
 * hold for all fabrics are tested in test_congestion_random.c. */
#include "libfabmgr/congestion/advise.h"
#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/explain.h"

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"
#include "tests/unit/testing.h"

static struct fab_policy defaults(void)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    return p;
}

static struct fab_congestion computed(const struct fab_fabric *f, const struct fab_policy *p)
{
    struct fab_congestion_input in = {.fabric = f, .policy = p};
    struct fab_congestion c;
    ck_assert_int_eq(fab_congestion_compute(&in, &c), 0);
    return c;
}

/* ---- entries of the table -------------------------------------------------------------------- */

START_TEST(an_entry_is_never_shorter_than_asked)
{
    uint32_t last = 0;
    for (uint64_t e = 0; e < 140000; e++) {
        uint32_t delay = fab_congestion_delay(fab_congestion_entry(e));
        ck_assert(delay >= e || delay == 0x3fffu << 3);
        ck_assert(delay <= e + e / 4096 + 1);
        ck_assert_uint_ge(delay, last);
        last = delay;
    }
    ck_assert_uint_eq(fab_congestion_entry(UINT64_MAX / 2), 0x3fff);
}
END_TEST

/* ---- every setting --------------------------------------------------------------------------- */

static void check_adapter(const struct fab_congestion_adapter *a,
                          const struct fab_congestion_basis *b)
{
    ck_assert_uint_eq(a->sls, 0xffff);
    ck_assert_uint_ge(a->table.limit, 1);
    ck_assert_uint_lt(a->table.limit, b->entries);
    ck_assert_uint_eq(a->table.entry[0], fab_congestion_entry(0));
    for (uint32_t i = 1; i <= a->table.limit; i++)
        ck_assert_uint_ge(fab_congestion_delay(a->table.entry[i]),
                          fab_congestion_delay(a->table.entry[i - 1]));
    double slow = 1 + fab_congestion_delay(a->table.entry[a->table.limit]) / 8.0;
    bool longest = a->table.entry[a->table.limit] == 0x3fff;
    ck_assert_msg(longest || slow * b->slowest * 1.001 >= (double)b->rate * b->fan_in,
                  "%u senders of %u Mb/s to an end of %u (%u ends): only %.2f times slower",
                  b->fan_in, b->rate, b->slowest, b->endports, slow);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        ck_assert_uint_ge(a->sl[sl].timer, 1);
        ck_assert_uint_ge(a->sl[sl].increase, 1);
        ck_assert_uint_le(a->sl[sl].min, a->table.limit);
        ck_assert_uint_le(a->sl[sl].increase, a->table.limit);
    }
}

static void check_port(const struct fab_congestion_port *p, const struct fab_congestion_basis *b)
{
    ck_assert(p->threshold >= 1 || (b->up && b->taper <= 100));
    ck_assert_uint_le(p->threshold, 15);
    ck_assert(p->victim == b->edge);
}

static void check_all(const struct fab_fabric *f, const struct fab_congestion *c)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_congestion_port *s = fab_congestion_of_switch(c, f, p);
        const struct fab_congestion_adapter *a = fab_congestion_of_adapter(c, f, p);
        bool has = fab_fabric_port(f, p)->num > 0 && fab_fabric_port_is_up(f, p) &&
                   !f->nodes[fab_fabric_port(f, p)->node].aggregation;
        ck_assert(has == (s != NULL || a != NULL));
        ck_assert(!(s != NULL && a != NULL));
    }
    for (uint32_t i = 0; i < c->port_count; i++)
        check_port(&c->port[i], &c->port_basis[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        check_adapter(&c->adapter[i], &c->adapter_basis[i]);
}

static const struct fab_congestion_adapter *any_adapter(const struct fab_congestion *c)
{
    ck_assert_uint_gt(c->adapter_count, 0);
    return &c->adapter[0];
}

/* For an assumed fan-in of n, the settings must be able to throttle 2 n senders (fewer in a fabric
 * with fewer endports). If all these senders use the delay at the last entry of the table, they
 * fill two thirds of a link. Notifications of congestion must raise CCTI faster than the timer
 * lowers it. For a larger n, neither CCTI_Increase nor the delay at the last entry may be
 * smaller. */
START_TEST(twice_as_many_are_held_as_are_counted_on)
{
    struct fab_fabric *f = leaf_spine(16, 8, 16);
    struct fab_policy p = defaults();
    double slow = 0;
    uint8_t increase = 0;
    for (uint32_t n = 1; n <= 300; n++) {
        p.congestion.fan_in = n;
        struct fab_congestion c = computed(f, &p);
        const struct fab_congestion_adapter *a = any_adapter(&c);
        const struct fab_congestion_basis *b = &c.adapter_basis[0];
        uint32_t held = 2 * n < 256 ? 2 * n : n > 256 ? n : 256;
        double end = 1 + fab_congestion_delay(a->table.entry[a->table.limit]) / 8.0;
        ck_assert_double_eq_tol(end, 1.5 * held, 0.02 * end + 0.1);
        ck_assert_uint_eq(b->fan_in, n);
        ck_assert_double_ge(a->sl[0].timer * 1024.0 * a->sl[0].increase,
                            held * (b->mtu * 8000.0 / b->rate));
        ck_assert_uint_ge(a->sl[0].increase, increase);
        ck_assert_double_ge(end, slow);
        increase = a->sl[0].increase;
        slow = end;
        fab_congestion_fini(&c);
    }
    ck_assert_uint_eq(increase, 4);
    fab_fabric_unref(f);
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

/* The message has the refused number first, then the limit. */
START_TEST(too_much_is_refused)
{
    struct fab_policy_congestion c;
    char why[200];
    fab_policy_congestion_defaults(&c);
    c.fan_in = FAB_CONGESTION_FAN_IN_MOST;
    c.table_count = FAB_CONGESTION_TABLE_MOST;
    ck_assert_int_eq(fab_policy_congestion_validate(&c, why, sizeof why), FAB_OK);
    c.table_count = FAB_CONGESTION_TABLE_MOST + 1;
    ck_assert_int_eq(fab_policy_congestion_validate(&c, why, sizeof why), FAB_E_RANGE);
    ck_assert_str_eq(why, "table has 257 entries, expected at most 256");
    c.table_count = 0;
    c.fan_in = FAB_CONGESTION_FAN_IN_MOST + 1;
    ck_assert_int_eq(fab_policy_congestion_validate(&c, why, sizeof why), FAB_E_RANGE);
    ck_assert_str_eq(why, "fan_in is 16385, expected at most 16384");
}
END_TEST

START_TEST(what_is_set_by_hand_stands)
{
    struct fab_fabric *f = leaf_spine(2, 2, 3);
    for (int end = 0; end < 2; end++) {
        struct fab_policy p = defaults();
        int32_t *v = p.congestion.value;
        char why[200];
        for (int i = 0; i < FAB_CONGESTION_VALUES; i++)
            v[i] = end ? fab_policy_congestion_domains[i].most
                       : fab_policy_congestion_domains[i].least;
        ck_assert_int_eq(fab_policy_validate(&p, why, sizeof why), 0);
        struct fab_congestion c = computed(f, &p);
        uint32_t leaf = 0, host = f->switch_count;
        const struct fab_congestion_port *s =
            fab_congestion_of_switch(&c, f, fab_fabric_port_id(f, leaf, 1));
        const struct fab_congestion_adapter *a =
            fab_congestion_of_adapter(&c, f, fab_fabric_port_id(f, host, 1));
        ck_assert_int_eq(s->threshold, v[FAB_CONGESTION_THRESHOLD]);
        ck_assert_int_eq(s->marking_rate, v[FAB_CONGESTION_MARKING_RATE]);
        ck_assert_int_eq(s->packet_size, v[FAB_CONGESTION_PACKET_SIZE]);
        ck_assert_int_eq(s->victim, v[FAB_CONGESTION_VICTIM_MASK]);
        ck_assert_int_eq(a->sl[3].timer, v[FAB_CONGESTION_TIMER]);
        ck_assert_int_eq(a->sl[3].increase, v[FAB_CONGESTION_INCREASE]);
        ck_assert_int_eq(a->sl[3].trigger, v[FAB_CONGESTION_TRIGGER_THRESHOLD]);
        ck_assert_int_eq(a->sl[3].min, v[FAB_CONGESTION_MIN]);
        /* The operator's CCTI_Limit exceeds the device's table, so it becomes the last entry of the
         * table. */
        ck_assert_int_eq(a->table.limit, end ? 127 : 1);
        fab_congestion_fini(&c);
    }
    fab_fabric_unref(f);
}
END_TEST

START_TEST(a_table_by_hand_is_taken_as_it_is)
{
    struct fab_fabric *f = leaf_spine(2, 2, 3);
    struct fab_policy p = defaults();
    char why[200];
    p.congestion.table_count = 3;
    p.congestion.table[1] = fab_congestion_entry(8);
    p.congestion.table[2] = fab_congestion_entry(80);
    ck_assert_int_eq(fab_policy_validate(&p, why, sizeof why), 0);
    struct fab_congestion c = computed(f, &p);
    const struct fab_congestion_table *t = &c.adapter[0].table;
    ck_assert_uint_eq(t->limit, 2);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(t->entry[i], p.congestion.table[i]);
    p.congestion.table[2] = fab_congestion_entry(7);
    ck_assert_int_lt(fab_policy_validate(&p, why, sizeof why), 0);
    ck_assert_msg(strncmp(why, "table ", 6) == 0, "%s", why);
    fab_congestion_fini(&c);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(off_is_off)
{
    struct fab_fabric *f = leaf_spine(2, 2, 3);
    struct fab_policy p = defaults();
    p.congestion.profile = FAB_CONGESTION_OFF;
    struct fab_congestion c = computed(f, &p);
    for (uint32_t i = 0; i < c.port_count; i++)
        ck_assert(c.port[i].threshold == 0 && !c.port[i].victim);
    for (uint32_t i = 0; i < c.adapter_count; i++)
        ck_assert(c.adapter[i].sls == 0 && c.adapter[i].table.limit == 0);
    fab_congestion_fini(&c);
    fab_fabric_unref(f);
}
END_TEST

/* A device with few table blocks gets a table with fewer entries. Its last entry must throttle as
 * much as that of a long table. */
START_TEST(short_tables_reach_as_far)
{
    struct fab_fabric *f = leaf_spine(4, 4, 8);
    struct fab_policy p = defaults();
    uint8_t *blocks = calloc(f->node_count, 1);
    memset(blocks, 1, f->node_count);
    struct fab_congestion_input in = {.fabric = f, .policy = &p, .table_blocks = blocks};
    struct fab_congestion c;
    ck_assert_int_eq(fab_congestion_compute(&in, &c), 0);
    check_all(f, &c);
    ck_assert_uint_eq(c.adapter[0].table.limit, 63);
    fab_congestion_fini(&c);
    free(blocks);
    fab_fabric_unref(f);
}
END_TEST

/* ---- advice ---------------------------------------------------------------------------------- */

static uint32_t reason(const struct fab_congestion_reason *all, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0) {
            ck_assert_uint_gt(strlen(all[i].why), 8);
            return all[i].value;
        }
    ck_abort_msg("no reason for %s", name);
    return 0;
}

START_TEST(each_value_has_its_reason)
{
    struct fab_fabric *f = leaf_spine(4, 2, 8);
    struct fab_policy p = defaults();
    struct fab_congestion_reason all[FAB_CONGESTION_REASONS];
    p.congestion.value[FAB_CONGESTION_TIMER] = 77;
    struct fab_congestion c = computed(f, &p);
    for (uint32_t port = 0; port < f->port_count; port++) {
        const struct fab_congestion_port *s = fab_congestion_of_switch(&c, f, port);
        const struct fab_congestion_adapter *a = fab_congestion_of_adapter(&c, f, port);
        unsigned n = fab_congestion_explain(&c, f, &p, port, 5, all);
        ck_assert_uint_eq(n, s != NULL ? 4 : a != NULL ? 5 : 0);
        if (s != NULL)
            ck_assert_uint_eq(reason(all, n, "marking_rate"), s->marking_rate);
        if (a == NULL)
            continue;
        ck_assert_uint_eq(reason(all, n, "timer"), 77);
        ck_assert_str_eq(all[0].why, "set by hand");
        ck_assert_uint_eq(reason(all, n, "limit"), a->table.limit);
        ck_assert_uint_eq(reason(all, n, "increase"), a->sl[5].increase);
    }
    fab_congestion_fini(&c);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(advice_follows_what_is_seen)
{
    char text[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN];
    struct fab_congestion_observed seen = {.congested_endports = 2, .slowed = 100};
    struct fab_congestion_configured assumed = {.apply = true, .fan_in = 64, .devices = 100};
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, NULL), 0);
    assumed.fan_in = 32;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, NULL), 1);
    ck_assert_ptr_nonnull(strstr(text[0], "congestion.fan_in to 50"));
    seen.slowed = 0;
    assumed.unsupported = 11;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, NULL), 2);
    uint32_t kinds;
    /* The congestion logs show a fan-in of 70, above the configured 64. So the advice is to raise
     * congestion.fan_in to 70. */
    seen = (struct fab_congestion_observed){
        .congested_endports = 4, .slowed = 100, .logged_fan_in = 70};
    assumed = (struct fab_congestion_configured){.apply = true, .fan_in = 64, .devices = 100};
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 1);
    ck_assert_ptr_nonnull(strstr(text[0], "congestion.fan_in to 70"));
    uint32_t fan_in = kinds;
    /* An incast that persists causes advice only if it makes other traffic wait. */
    seen = (struct fab_congestion_observed){
        .congested_endports = 1, .persistent_endports = 1, .slowed = 9};
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 0);
    ck_assert_uint_eq(kinds, 0);
    seen.max_wait_permille = 400;
    seen.waiting = 5;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 1);
    ck_assert_ptr_nonnull(strstr(text[0], "not held back"));
    ck_assert_uint_ne(kinds, fan_in);
    seen.persistent_endports = 0; /* now no incast persists */
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 0);
    /* another program changed the settings of devices */
    assumed.changed = 2;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 1);
    ck_assert_ptr_nonnull(strstr(text[0], "2 devices had other settings"));
    /* the buffer has room for all kinds of advice together */
    seen = (struct fab_congestion_observed){.congested_endports = 1,
                                            .persistent_endports = 1,
                                            .slowed = 65,
                                            .max_wait_permille = 999,
                                            .logged_fan_in = UINT32_MAX,
                                            .waiting = UINT32_MAX};
    assumed.unsupported = assumed.changed = UINT32_MAX / 10;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 4);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_lt(strlen(text[i]), FAB_CONGESTION_ADVICE_LEN - 1);
    /* with the profile "off", the only advice is to apply congestion control at all */
    assumed.off = true;
    seen.max_wait_permille = 0;
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, &kinds), 0);
    seen = (struct fab_congestion_observed){.waiting = 3, .max_wait_permille = 300};
    assumed = (struct fab_congestion_configured){.fan_in = 32, .devices = 100};
    ck_assert_uint_eq(fab_congestion_advise(&seen, &assumed, text, NULL), 1);
    ck_assert_ptr_nonnull(strstr(text[0], "congestion.apply"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("congestion");
    TCase *t = tcase_create("values");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, an_entry_is_never_shorter_than_asked);
    tcase_add_test(t, twice_as_many_are_held_as_are_counted_on);
    tcase_add_test(t, what_is_set_by_hand_stands);
    tcase_add_test(t, too_much_is_refused);
    tcase_add_test(t, a_table_by_hand_is_taken_as_it_is);
    tcase_add_test(t, off_is_off);
    tcase_add_test(t, short_tables_reach_as_far);
    tcase_add_test(t, each_value_has_its_reason);
    tcase_add_test(t, advice_follows_what_is_seen);
    return s;
}

int main(void)
{
    return test_run(suite());
}
