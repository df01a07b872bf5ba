/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which names are pinned to which nodes, and which nodes must wait for an approval.
 * tests/attack/test_identity.c shows the attacks that pins prevent.
 */
#include <string.h>

#include "libfabmgr/target/pins.h"
#include "tests/unit/routing.h"

#define SECOND UINT64_C(1000000)
#define NOW (UINT64_C(5000) * SECOND)
#define HOSTS 4

struct desk {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_pins *pins;
    struct fab_pins_arrivals arrivals;
    uint64_t now_us;
    int64_t unix_us;
    uint32_t host[HOSTS]; /* [HOSTS] node ids, in the order of GUIDs */
};

static void read_partitions(struct desk *d, const char *text)
{
    struct fab_partitions_error e;
    ck_assert_int_eq(fab_policy_partitions_read(text, strlen(text), &d->policy.partitions, &e),
                     FAB_OK);
}

static void call(struct desk *d, uint32_t node, const char *name)
{
    memset(d->f->nodes[node].desc, 0, sizeof d->f->nodes[node].desc);
    snprintf(d->f->nodes[node].desc, sizeof d->f->nodes[node].desc, "%s", name);
    fab_fabric_set_name(d->f, node, NULL);
}

/* Makes a fabric of one switch with HOSTS hosts. Their names match no pattern of the policy.
 * partitions: the text of a partitions.conf. */
static void open_desk(struct desk *d, const char *partitions)
{
    struct drawing *drawing = draw_new();
    *d = (struct desk){.now_us = NOW, .unix_us = 77};
    draw_switch(drawing, HOSTS + 1);
    draw_hosts(drawing, 0, HOSTS);
    d->f = draw_done(drawing);
    fab_policy_defaults(&d->policy);
    d->policy.pin_names = FAB_PIN_FIRST_SEEN;
    if (partitions != NULL)
        read_partitions(d, partitions);
    for (uint32_t i = 0; i < HOSTS; i++) {
        d->host[i] = d->f->switch_count + i;
        call(d, d->host[i], "other");
    }
    ck_assert_int_eq(fab_policy_pins_new(NULL, 0, NULL, 0, false, &d->pins), FAB_OK);
}

static void close_desk(struct desk *d)
{
    fab_policy_pins_unref(d->pins);
    fab_target_pins_arrivals_fini(&d->arrivals);
    fab_policy_fini(&d->policy);
    fab_fabric_unref(d->f);
}

static void update(struct desk *d)
{
    struct fab_pins *next = NULL;
    struct fab_pins_input in = {.fabric = d->f,
                                .policy = &d->policy,
                                .was = d->pins,
                                .arrivals = &d->arrivals,
                                .now_us = d->now_us,
                                .unix_us = d->unix_us};
    ck_assert_int_eq(fab_target_pins_update(&in, &next), FAB_OK);
    fab_policy_pins_unref(d->pins);
    d->pins = next;
}

static uint64_t guid(const struct desk *d, uint32_t i)
{
    return d->f->nodes[d->host[i]].guid;
}

static const char *pinned(const struct desk *d, uint32_t i)
{
    const struct fab_pin *pin = fab_policy_pins_find(d->pins, guid(d, i));
    return pin != NULL ? pin->name : "none";
}

/* Returns the reason why a host waits for an approval; -1 if it does not wait. */
static int waits(const struct desk *d, uint32_t i)
{
    const struct fab_pin_waiting *w = fab_policy_pins_waiting(d->pins, guid(d, i));
    return w != NULL ? w->reason : -1;
}

/* ---- which names are pinned ------------------------------------------------------------------ */

START_TEST(each_place_of_a_pattern_counts)
{
    struct fab_classes_error why;
    const struct fab_class class = {.name = "fast", .sl = FAB_CLASS_NO_SL};
    struct desk d;
    uint8_t number;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"rule-*\";\n");
    ck_assert(fab_target_pins_wanted(&d.policy));
    ck_assert_int_eq(fab_policy_classes_new(&d.policy.classes), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add(d.policy.classes, &class, &number, &why), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(d.policy.classes, number, "from=class-*", &why),
                     FAB_OK);
    call(&d, d.host[0], "class-1 mlx5_0");
    call(&d, d.host[1], "none-1");
    call(&d, d.host[2], "rule-1");
    call(&d, 0, "rule-2"); /* a switch's name is not pinned */
    update(&d);
    ck_assert_str_eq(pinned(&d, 0), "class-1 mlx5_0");
    ck_assert_str_eq(pinned(&d, 1), "none");
    ck_assert_str_eq(pinned(&d, 2), "rule-1");
    ck_assert_uint_eq(d.pins->count, 2);
    ck_assert_uint_eq(d.pins->waiting_count, 0);
    ck_assert(!d.pins->approved_only);
    const struct fab_pin *pin = fab_policy_pins_find(d.pins, guid(&d, 2));
    ck_assert_int_eq(pin->since_us, 77);
    ck_assert_uint_eq(pin->made_us, NOW);
    ck_assert_str_eq(pin->by, "");
    close_desk(&d);
}
END_TEST

START_TEST(groups_of_ports_have_patterns)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: ALL_CAS;\n");
    ck_assert(!fab_target_pins_wanted(&d.policy));
    struct fab_port_selector members[] = {{.kind = FAB_SELECT_ALL},
                                          {.kind = FAB_SELECT_NAME, .name = "*"},
                                          {.kind = FAB_SELECT_NAME, .name = "grp-*"}};
    struct fab_port_group group = {.name = "g", .member = members, .count = 2};
    struct fab_partitions *p = d.policy.partitions, whole = *p;
    p->group = &group;
    p->groups = 1;
    /* a pattern that matches every name needs no pins */
    ck_assert(!fab_target_pins_wanted(&d.policy));
    group.count = 3;
    ck_assert(fab_target_pins_wanted(&d.policy));
    call(&d, d.host[1], "grp-1");
    update(&d);
    ck_assert_str_eq(pinned(&d, 1), "grp-1");
    ck_assert_uint_eq(d.pins->count, 1);
    p->group = whole.group;
    p->groups = whole.groups;
    close_desk(&d);
}
END_TEST

START_TEST(a_new_name_waits_only_if_it_gains_something)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"a-*\", \"b-*\";\nTwo=0x2: \"a-*\", \"?-1\";\n");
    call(&d, d.host[0], "a-1");
    update(&d);
    /* b-* matches the new name, but not the pinned one, so the host would gain a partition */
    call(&d, d.host[0], "b-1");
    update(&d);
    ck_assert_int_eq(waits(&d, 0), FAB_PIN_CHANGED);
    ck_assert_str_eq(pinned(&d, 0), "a-1");
    /* The new name gains nothing: a-* matches both names, and ?-1 only the pinned one. */
    call(&d, d.host[0], "a-22");
    update(&d);
    ck_assert_int_eq(waits(&d, 0), -1);
    call(&d, d.host[0], "c-1");
    update(&d);
    ck_assert_int_eq(waits(&d, 0), -1);
    ck_assert_str_eq(pinned(&d, 0), "a-1");
    close_desk(&d);
}
END_TEST

/* ---- nodes that wait ------------------------------------------------------------------------- */

START_TEST(waiting_nodes_keep_their_time_while_they_wait_for_the_same)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"a-*\";\n");
    d.policy.pin_names = FAB_PIN_APPROVED;
    call(&d, d.host[0], "a-1");
    call(&d, d.host[1], "a-2");
    update(&d);
    ck_assert(d.pins->approved_only);
    ck_assert_uint_eq(d.pins->count, 0);
    ck_assert_uint_eq(d.pins->waiting_count, 2);
    ck_assert_uint_lt(d.pins->waiting[0].guid, d.pins->waiting[1].guid);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(d.pins->waiting[i].reason, FAB_PIN_NEW);
        ck_assert_int_eq(d.pins->waiting[i].since_us, 77);
        ck_assert(!d.pins->waiting[i].told);
        d.pins->waiting[i].told = true;
    }
    d.unix_us = 99;
    call(&d, d.host[1], "a-3");
    update(&d);
    const struct fab_pin_waiting *same = fab_policy_pins_waiting(d.pins, guid(&d, 0));
    const struct fab_pin_waiting *other = fab_policy_pins_waiting(d.pins, guid(&d, 1));
    ck_assert(same->told && same->since_us == 77);
    ck_assert(!other->told && other->since_us == 99);
    ck_assert_str_eq(other->name, "a-3");
    close_desk(&d);
}
END_TEST

/* Hosts may have several adapters with the same first word in their names. An adapter that arrives
 * at most two minutes after the first one gets this name, too. If the arrival time of an adapter is
 * unknown, because it was there before the manager, it must wait for an approval. */
START_TEST(only_a_newcomer_shares_a_host_name)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"a-*\";\n");
    uint64_t hidden = guid(&d, 3), late = guid(&d, 2);
    /* as switches, adapters 2 and 3 cannot be pinned; later in the test they become adapters */
    d.f->nodes[d.host[3]].type = FAB_NODE_SWITCH;
    d.f->nodes[d.host[2]].type = FAB_NODE_SWITCH;
    update(&d);
    call(&d, d.host[0], "a-1 mlx5_0");
    update(&d);
    ck_assert_str_eq(pinned(&d, 0), "a-1 mlx5_0");
    call(&d, d.host[1], "a-1 mlx5_1"); /* this adapter was there before, so it must wait */
    d.f->nodes[d.host[3]].type = FAB_NODE_CA;
    call(&d, d.host[3], "a-1 mlx5_2"); /* this adapter has arrived just now, so it gets the name */
    d.now_us += 100 * SECOND;
    update(&d);
    ck_assert_int_eq(waits(&d, 1), FAB_PIN_HELD);
    ck_assert_uint_eq(fab_policy_pins_waiting(d.pins, guid(&d, 1))->holder, guid(&d, 0));
    ck_assert_str_eq(pinned(&d, 3), "a-1 mlx5_2");
    /* the second adapter's pin has the time of the first one, so the two minutes do not begin
     * anew */
    ck_assert_uint_eq(fab_policy_pins_find(d.pins, hidden)->made_us, NOW);
    d.f->nodes[d.host[2]].type = FAB_NODE_CA;
    call(&d, d.host[2], "a-1 mlx5_3");
    d.now_us = NOW + FAB_PINS_TOGETHER_US + 1;
    update(&d);
    ck_assert_int_eq(waits(&d, 2), FAB_PIN_HELD);
    ck_assert_ptr_null(fab_policy_pins_find(d.pins, late));
    close_desk(&d);
}
END_TEST

START_TEST(pins_of_an_earlier_start_are_shared_with_nobody)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"a-*\";\n");
    struct fab_pin old = {.guid = 1, .name = "a-1 mlx5_0"};
    fab_policy_pins_unref(d.pins);
    ck_assert_int_eq(fab_policy_pins_new(&old, 1, NULL, 0, false, &d.pins), FAB_OK);
    d.f->nodes[d.host[1]].type = FAB_NODE_SWITCH;
    update(&d);
    d.f->nodes[d.host[1]].type = FAB_NODE_CA;
    call(&d, d.host[1], "a-1 mlx5_1");
    update(&d);
    ck_assert_int_eq(waits(&d, 1), FAB_PIN_HELD);
    ck_assert_uint_eq(fab_policy_pins_waiting(d.pins, guid(&d, 1))->holder, 1);
    ck_assert_str_eq(fab_policy_pins_find(d.pins, 1)->name, "a-1 mlx5_0");
    close_desk(&d);
}
END_TEST

/* Even if hosts change their names all the time, the set of pins has a maximum size. */
START_TEST(a_full_set_pins_no_more)
{
    struct desk d;
    open_desk(&d, "Default=0x7fff: ALL;\nOne=0x1: \"a-*\";\n");
    struct fab_pin *many = calloc(FAB_PINS_MAX, sizeof *many);
    ck_assert_ptr_nonnull(many);
    for (uint32_t i = 0; i < FAB_PINS_MAX; i++) {
        many[i].guid = UINT64_C(0xffff000000000000) + i;
        snprintf(many[i].name, sizeof many[i].name, "b-%u", i);
    }
    call(&d, d.host[0], "a-1");
    for (uint32_t missing = 1; missing < 2; missing--) {
        fab_policy_pins_unref(d.pins);
        ck_assert_int_eq(fab_policy_pins_new(many, FAB_PINS_MAX - missing, NULL, 0, false, &d.pins),
                         FAB_OK);
        update(&d);
        ck_assert_uint_eq(d.pins->count, FAB_PINS_MAX);
        ck_assert_int_eq(waits(&d, 0), missing ? -1 : FAB_PIN_FULL);
    }
    free(many);
    close_desk(&d);
}
END_TEST

/* ---- comparison ------------------------------------------------------------------------------ */

START_TEST(sets_differ_by_names_approvals_and_reasons_not_by_times)
{
    struct fab_pin pin[2] = {{.guid = 1, .name = "a"}, {.guid = 2, .name = "b"}};
    struct fab_pin_waiting waiting[2] = {{.guid = 1, .name = "x"}, {.guid = 2, .name = "y"}};
    struct fab_pins *a, *b;
    ck_assert_int_eq(fab_policy_pins_new(pin, 2, waiting, 2, false, &a), FAB_OK);
    for (int change = 0; change < 11; change++) {
        struct fab_pin p[2] = {pin[0], pin[1]};
        struct fab_pin_waiting w[2] = {waiting[0], waiting[1]};
        size_t pins = 2, waits = 2;
        switch (change) {
        case 0:
            p[1].since_us = 9;
            p[1].made_us = 9;
            w[1].since_us = 9;
            break;
        case 1:
            p[1].guid = 3;
            break;
        case 2:
            p[1].name[0] = 'c';
            break;
        case 3:
            strcpy(p[1].by, "me");
            break;
        case 4:
            pins = 1;
            break;
        case 5:
            w[1].guid = 3;
            break;
        case 6:
            w[1].name[0] = 'c';
            break;
        case 7:
            w[1].reason = FAB_PIN_FULL;
            break;
        case 8:
            w[1].told = true;
            break;
        case 9:
            waits = 1;
            break;
        default:
            break;
        }
        ck_assert_int_eq(fab_policy_pins_new(p, pins, w, waits, change == 10, &b), FAB_OK);
        ck_assert_msg(fab_target_pins_same(a, b) == (change == 0), "change %d", change);
        fab_policy_pins_unref(b);
    }
    fab_policy_pins_unref(a);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        each_place_of_a_pattern_counts,
        groups_of_ports_have_patterns,
        a_new_name_waits_only_if_it_gains_something,
        waiting_nodes_keep_their_time_while_they_wait_for_the_same,
        only_a_newcomer_shares_a_host_name,
        pins_of_an_earlier_start_are_shared_with_nobody,
        a_full_set_pins_no_more,
        sets_differ_by_names_approvals_and_reasons_not_by_times,
    };
    Suite *suite = suite_create("pins");
    TCase *tcase = tcase_create("pins");
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        tcase_add_test(tcase, tests[i]);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
