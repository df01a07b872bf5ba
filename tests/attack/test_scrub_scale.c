/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The random changes of test_scrub.c with 648 hosts, one at a time and several at once. The scrub
 * must find each change within one turn over the changed table, report it, and restore the value,
 * and the manager must write nothing else. The test counts the writes of each attribute, and
 * compares all attributes of all devices before the changes and after them.
 *
 *  Changes that are made at once are all at different devices. Otherwise, the manager could restore
 * one change when it restores another one of the same device, and the scrub would not report it.
 */
#include "tests/attack/tamper.h"
#include "tests/sim/golden_devices.h"

#define INTERVAL_S 60
#define CHANGES 100
#define BATCH_MOST 8
/* A turn pauses for the sweeps that restore settings, so it may take longer than usual by this
 * factor. */
#define SLACK 1.05

struct change {
    const struct kind *kind;
    struct target at;
    uint8_t before[FAB_SMP_DATA];
};
struct batch {
    struct change change[BATCH_MOST];
    unsigned count;
};
static struct batch batch;

/* ---- the changes ---- */

static bool has_node(const struct batch *b, uint32_t node)
{
    for (unsigned i = 0; i < b->count; i++)
        if (b->change[i].at.node == node)
            return true;
    return false;
}

/* Makes a random change of kind `k`. Returns false if the device did not accept it, or if the batch
 * already has a change of this device. */
static bool add_change(struct lab *lab, struct batch *b, const struct kind *k)
{
    struct change *c = &b->change[b->count];
    uint8_t wrong[FAB_SMP_DATA];
    c->kind = k;
    c->at = k->change(lab, wrong);
    if (has_node(b, c->at.node))
        return false;
    get(lab, &c->at, c->before);
    set(lab, &c->at, wrong);
    get(lab, &c->at, wrong);
    if (memcmp(c->before, wrong, sizeof wrong) == 0)
        return false;
    b->count++;
    return true;
}

/* ---- writes of the manager ---- */

static const struct lab_event *find_event(struct lab *lab, const struct change *c)
{
    uint64_t guid = fab_sim_fabric(lab->sim)->nodes[c->at.node].guid;
    for (unsigned i = 0; i < lab->event_count; i++) {
        const struct lab_event *e = &lab->events[i];
        if (strcmp(e->type, "settings-changed") == 0 && e->guid == guid &&
            strstr(e->message, c->kind->attribute))
            return e;
    }
    return NULL;
}

static bool all_found(struct lab *lab, unsigned turns)
{
    for (unsigned i = 0; i < batch.count; i++)
        if (batch.change[i].kind->turns <= turns && !find_event(lab, &batch.change[i]))
            return false;
    return true;
}

static bool tables_found(struct lab *lab)
{
    return all_found(lab, 1);
}

static bool lanes_found(struct lab *lab)
{
    return all_found(lab, 6);
}

static unsigned of_attribute(const struct batch *b, uint16_t attr_id)
{
    unsigned n = 0;
    for (unsigned i = 0; i < b->count; i++)
        n += b->change[i].at.attr_id == attr_id;
    return n;
}

/* Checks that the manager wrote no more than necessary. Each change costs one write, except these:
 * a P_Key costs up to two; an SL-to-VL table costs the tables of all pairs of ports with the same
 * port; an arbitration table costs all arbitration tables of its port. */
static void assert_few_writes(const struct lab *lab, const struct batch *b)
{
    unsigned sl2vl = of_attribute(b, FAB_ATTR_SL2VL), vlarb = of_attribute(b, FAB_ATTR_VLARB);
    unsigned pkeys = of_attribute(b, FAB_ATTR_PKEY_TABLE), others = b->count - sl2vl - vlarb;
    ck_assert_uint_eq(lab->sets_lft, of_attribute(b, FAB_ATTR_LFT));
    ck_assert_uint_eq(lab->sets_mft, of_attribute(b, FAB_ATTR_MFT));
    ck_assert_uint_ge(lab->sets_pkeys, pkeys);
    ck_assert_uint_le(lab->sets_pkeys, 2 * pkeys);
    ck_assert_uint_eq(lab->sets_port_info, of_attribute(b, FAB_ATTR_PORT_INFO));
    ck_assert_uint_eq(lab->sets_switch_info, of_attribute(b, FAB_ATTR_SWITCH_INFO));
    ck_assert_uint_ge(lab->sets, b->count);
    ck_assert_uint_le(lab->sets, others + pkeys + 4 * vlarb + 110 * sl2vl);
}

static void assert_restored(struct lab *lab, const struct batch *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        const struct change *c = &b->change[i];
        const struct lab_event *e = find_event(lab, c);
        uint8_t now[FAB_SMP_DATA];
        ck_assert_ptr_nonnull(strstr(e->message, "author unknown"));
        get(lab, &c->at, now);
        ck_assert_msg(memcmp(c->before, now, sizeof now) == 0, "%s: not restored: %s",
                      c->kind->attribute, e->message);
    }
    struct sm_status s = status(lab);
    ck_assert_uint_eq(s.settings_not_restored, 0);
}

static void find_and_restore(struct lab *lab)
{
    uint64_t before = status(lab).settings_changed;
    lab_forget_events(lab);
    lab_forget_writes(lab);
    lab_run(lab, INTERVAL_S * SLACK, tables_found, "a turn over the tables");
    lab_run(lab, 6 * INTERVAL_S * SLACK, lanes_found, "a turn over the VL tables");
    lab_run_for(lab, 2);
    lab_run(lab, 10, lab_is_idle, "the restoration");
    ck_assert_uint_eq(status(lab).settings_changed - before, batch.count);
    assert_restored(lab, &batch);
    assert_few_writes(lab, &batch);
}

/* ---- the test ---- */

/* Makes a batch of random changes. If `lanes` is true, all of them are in VL tables, which a long
 * turn of the scrub reads; otherwise, all are in tables that a short turn reads. */
static void make_batch(struct lab *lab, bool lanes, unsigned size)
{
    batch = (struct batch){.count = 0};
    while (batch.count < size) {
        const struct kind *k = &kinds[lab_random(lab) % KINDS];
        if ((k->turns > 1) == lanes)
            (void)add_change(lab, &batch, k);
    }
}

static void assert_same_devices(struct lab *lab, const struct golden_items *before)
{
    struct golden_items now = {0};
    golden_items_read(&now, lab->sim);
    ck_assert_uint_eq(now.count, before->count);
    for (size_t i = 0; i < now.count; i++)
        ck_assert_msg(strcmp(now.item[i].text, before->item[i].text) == 0,
                      "%s of node %u port %d was\n%s\nand is\n%s", now.item[i].attr,
                      now.item[i].node, now.item[i].port, before->item[i].text, now.item[i].text);
    golden_items_free(&now);
}

START_TEST(changes_at_648_hosts_are_found_and_nothing_else_is_written)
{
    struct lab lab;
    struct golden_items before = {0};
    unsigned made = 0, found_at_once = 0;
    bring_up_fabric(&lab, lab_leaf_spine(36, 18, 18), INTERVAL_S);
    lab.prng = test_seed("scrub", 648);
    golden_items_read(&before, lab.sim);
    for (unsigned round = 0; made < CHANGES; round++) {
        bool lanes = round % 5 == 4;
        unsigned size = round % 2 ? 1 + (unsigned)(lab_random(&lab) % BATCH_MOST) : 1;
        size = lanes ? BATCH_MOST : size;
        make_batch(&lab, lanes, size < CHANGES - made ? size : CHANGES - made);
        find_and_restore(&lab);
        made += batch.count;
        found_at_once += batch.count > 1 ? batch.count : 0;
    }
    printf("# %u changes, %u of them at once with others; a turn reads %lu attributes\n", made,
           found_at_once, (unsigned long)status(&lab).scrub_reads);
    lab_assert_good(&lab);
    assert_same_devices(&lab, &before);
    golden_items_free(&before);
    lab_close(&lab);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tampering at scale");
    TCase *t = tcase_create("648 hosts");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, changes_at_648_hosts_are_found_and_nothing_else_is_written);
    suite_add_tcase(s, t);
    return test_run(s);
}
