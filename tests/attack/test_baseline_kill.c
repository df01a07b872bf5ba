/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of the baseline, and of the setting subnet.unapproved, while the manager is killed (kill
 * -9).
 *
 *  The test makes each change once without a kill, and counts the MADs that the manager sends
 * because of it. Then the test makes the change again, and kills the manager after a part of these
 * MADs. The database keeps what was committed until then, and the devices keep their state. After
 * the restart, the baseline must be the one from before the change or the one from after it, and
 * the state of the devices must agree with it.
 *
 *  The environment variable TEST_KILLS is the number of kills for each change. If it is at least
 * the number of MADs, the manager is killed once after each MAD.
 *
 *  The fabric is that of test_baseline.c. host-0024 (leaf-006/4) is not approved; host-0020 is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"
#include "tests/unit/state_dir.h"

#define NEWCOMER "host-0024"
#define NEW_LEAF "leaf-006"
#define NEW_PORT 4
#define VICTIM "host-0020"
#define QUARANTINE 0x7ffe
#define KILLS 3 /* default number of kills for each change */

enum change { APPROVE, DISAPPROVE, CLEAR, TAKE, SET_MODE };
struct row {
    const char *name;
    uint8_t mode; /* value of subnet.unapproved (enum config_unapproved) before the change */
    uint8_t change, next_mode;
};
static const struct row rows[] = {
    {"approve, exclude", CONFIG_EXCLUDE, APPROVE, CONFIG_EXCLUDE},
    {"disapprove, exclude", CONFIG_EXCLUDE, DISAPPROVE, CONFIG_EXCLUDE},
    {"clear, exclude", CONFIG_EXCLUDE, CLEAR, CONFIG_EXCLUDE},
    {"approve, quarantine", CONFIG_QUARANTINE, APPROVE, CONFIG_QUARANTINE},
    {"disapprove, quarantine", CONFIG_QUARANTINE, DISAPPROVE, CONFIG_QUARANTINE},
    {"clear, quarantine", CONFIG_QUARANTINE, CLEAR, CONFIG_QUARANTINE},
    {"take, exclude", CONFIG_EXCLUDE, TAKE, CONFIG_EXCLUDE},
    {"allow to exclude", CONFIG_ALLOW, SET_MODE, CONFIG_EXCLUDE},
    {"exclude to allow", CONFIG_EXCLUDE, SET_MODE, CONFIG_ALLOW},
    {"allow to quarantine", CONFIG_ALLOW, SET_MODE, CONFIG_QUARANTINE},
    {"quarantine to allow", CONFIG_QUARANTINE, SET_MODE, CONFIG_ALLOW},
    {"exclude to quarantine", CONFIG_EXCLUDE, SET_MODE, CONFIG_QUARANTINE},
    {"quarantine to exclude", CONFIG_QUARANTINE, SET_MODE, CONFIG_EXCLUDE},
};
#define ROWS ((int)(sizeof rows / sizeof *rows))

/* ---- changes of the baseline ----------------------------------------------------------------- */

static bool made; /* the last change of the baseline has ended */
static int made_status;

static void on_made(void *ctx, int status, const char *message)
{
    (void)ctx;
    (void)message;
    made = true;
    made_status = status;
}

/* Runs the loop until the requested change of the baseline has ended. The change waits for the
 * database, which works in real time; the lab runs in virtual time. So this function waits for the
 * database by store_flush. */
static void run_until_made(struct lab *lab)
{
    for (int i = 0; i < 1000 && !made; i++) {
        lab_run_for(lab, 0.01);
        if (lab->store)
            store_flush(lab->store);
    }
    ck_assert(made);
}

/* ---- the lab --------------------------------------------------------------------------------- */

static void settle(struct lab *lab)
{
    lab_run_for(lab, 4);
    lab_run(lab, 60, lab_is_idle, "idle");
}

static void start(struct lab *lab)
{
    sm_start(lab->sm);
    lab_run(lab, 30, lab_is_idle, "bring-up");
}

/* Opens a lab with a baseline that does not have host-0024, and connects host-0024. */
static void open_lab(struct lab *lab, const struct row *row)
{
    make_dir();
    lab_open_virtual(lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(lab);
    lab->config.unapproved = row->mode;
    lab_begin(lab, dir);
    start(lab);
    lab_unlink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
    made = false;
    if (row->change != TAKE) {
        ck_assert_int_eq(sm_baseline_take(lab->sm, "tester", on_made, lab), FAB_OK);
        run_until_made(lab);
    }
    lab_relink(lab, NEW_LEAF, NEW_PORT);
    settle(lab);
    store_flush(lab->store);
}

static void close_lab(struct lab *lab)
{
    lab_close(lab);
    remove_dir();
}

static void apply(struct lab *lab, const struct row *row)
{
    char name[] = VICTIM, *victim = name;
    uint32_t count;
    const struct sm_unapproved *list = sm_unapproved(lab->sm, &count);
    int r = FAB_E_INVAL;
    made = row->change == SET_MODE;
    switch (row->change) {
    case APPROVE:
        ck_assert_uint_eq(count, 1);
        r = sm_baseline_approve(lab->sm, &list->what.place, 1, "tester", on_made, lab);
        break;
    case DISAPPROVE:
        r = sm_baseline_disapprove(lab->sm, &victim, 1, "tester", on_made, lab);
        break;
    case CLEAR:
        r = sm_baseline_clear(lab->sm, "tester", on_made, lab);
        break;
    case TAKE:
        r = sm_baseline_take(lab->sm, "tester", on_made, lab);
        break;
    case SET_MODE:
        lab->config.unapproved = row->next_mode;
        r = sm_reload(lab->sm);
        break;
    }
    ck_assert_int_eq(r, FAB_OK);
}

/* ---- state of the devices -------------------------------------------------------------------- */

/* Returns whether the host has a LID, its link is active, and the LFTs of all switches lead to it.
 */
static bool is_served(struct lab *lab, const char *name)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    uint32_t node = lab_node(lab, name), lid = fab_sim_port(lab->sim, node, 1)->lid;
    if (lid == 0 || fab_sim_port(lab->sim, node, 1)->port_state != FAB_STATE_ACTIVE)
        return false;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t at = sw;
        for (int hops = 0; at < f->switch_count && hops < 64; hops++) {
            uint32_t top = 0;
            const uint8_t *lft = fab_sim_lft(lab->sim, at, &top);
            if (lft == NULL || lid > top || lft[lid] == 0 || lft[lid] > f->nodes[at].num_ports)
                return false;
            at = fab_fabric_peer_node(f, fab_fabric_port_id(f, at, lft[lid]));
        }
        if (at != node)
            return false;
    }
    return true;
}

/* Returns the first P_Key in the P_Key table of the host. */
static uint16_t p_key_of(struct lab *lab, const char *name)
{
    struct fab_pkey_block block;
    struct position at = {.node = lab_node(lab, name), .port = 1};
    struct fab_mad mad = {.mgmt_class = FAB_CLASS_SMP_LID,
                          .method = FAB_METHOD_GET,
                          .tid = 1,
                          .attr_id = FAB_ATTR_PKEY_TABLE};
    uint8_t bytes[FAB_MAD_SIZE];
    ck_assert_int_eq(fab_wire_smp_pack(&mad, NULL, bytes), 0);
    ck_assert(fab_sim_sma_answer(lab->sim, at, 0, &mad, bytes));
    ck_assert_int_eq(
        fab_wire_attr_unpack(&fab_wire_attr_pkey_block, bytes + 64, FAB_SMP_DATA, &block), 0);
    return block.pkey[0];
}

enum treatment { USED, QUARANTINED, LEFT_OUT };

static enum treatment treatment_of(struct lab *lab, const char *name)
{
    if (!is_served(lab, name))
        return LEFT_OUT;
    return p_key_of(lab, name) == QUARANTINE ? QUARANTINED : USED;
}

static bool is_approved(struct lab *lab, const struct fab_baseline *b, const char *name)
{
    return b == NULL || fab_discover_baseline_knows(b, lab_node_guid(lab, name));
}

/* Checks that the state of all hosts agrees with the manager's baseline and with subnet.unapproved.
 */
static void assert_consistent(struct lab *lab, const char *when)
{
    const struct fab_fabric *f = fab_sim_fabric(lab->sim);
    static const enum treatment of[] = {
        [CONFIG_ALLOW] = USED, [CONFIG_QUARANTINE] = QUARANTINED, [CONFIG_EXCLUDE] = LEFT_OUT};
    uint32_t waiting, expected = 0;
    for (uint32_t node = f->switch_count; node < f->node_count; node++) {
        const char *name = f->nodes[node].desc;
        bool approved = is_approved(lab, sm_baseline(lab->sm), name);
        enum treatment want = approved ? USED : of[lab->config.unapproved];
        ck_assert_msg(treatment_of(lab, name) == want, "%s: %s is %d, expected %d", when, name,
                      treatment_of(lab, name), want);
        expected += !approved;
    }
    (void)sm_unapproved(lab->sm, &waiting);
    ck_assert_msg(waiting == expected, "%s: %u wait, expected %u", when, waiting, expected);
}

/* ---- settings that are read again ------------------------------------------------------------ */

/* subnet.unapproved changes from each mode to each other mode, while a device is not approved.
 * There are no periodic sweeps, so each mode must take effect without a sweep. */
START_TEST(another_mode_takes_effect_at_once)
{
    static const uint8_t modes[] = {CONFIG_EXCLUDE,    CONFIG_ALLOW,      CONFIG_QUARANTINE,
                                    CONFIG_EXCLUDE,    CONFIG_QUARANTINE, CONFIG_ALLOW,
                                    CONFIG_EXCLUDE,    CONFIG_EXCLUDE,    CONFIG_QUARANTINE,
                                    CONFIG_QUARANTINE, CONFIG_ALLOW};
    const struct row row = {"reload", CONFIG_ALLOW, SET_MODE, 0};
    struct lab lab;
    open_lab(&lab, &row);
    lab.config.sweep.heavy_interval_s = 0;
    assert_consistent(&lab, "before");
    for (size_t i = 0; i < sizeof modes; i++) {
        char when[40];
        snprintf(when, sizeof when, "reload %zu to mode %u", i, modes[i]);
        lab.config.unapproved = modes[i];
        ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
        settle(&lab);
        assert_consistent(&lab, when);
    }
    lab_assert_good(&lab);
    close_lab(&lab);
}
END_TEST

/* subnet.unapproved changes and changes back before the manager has acted on the first change. */
START_TEST(a_mode_that_changes_back_leaves_no_trace)
{
    const struct row row = {"reload", CONFIG_ALLOW, SET_MODE, 0};
    struct lab lab;
    open_lab(&lab, &row);
    for (int i = 0; i < 12; i++) {
        lab.config.unapproved = i % 2 == 0 ? CONFIG_EXCLUDE : CONFIG_ALLOW;
        ck_assert_int_eq(sm_reload(lab.sm), FAB_OK);
        lab_run_for(&lab, 0.001 * (double)(1 << i));
    }
    settle(&lab);
    assert_consistent(&lab, "after");
    lab_assert_good(&lab);
    close_lab(&lab);
}
END_TEST

/* ---- kill -9 --------------------------------------------------------------------------------- */

static void stop_loop(struct lab *lab)
{
    loop_stop(lab->loop);
}

static void on_mad(struct lab *lab)
{
    stop_loop(lab);
}

static void run_until_mad(struct lab *lab, uint64_t mads)
{
    lab->interrupt = on_mad;
    lab->interrupt_at = lab->sends + mads;
    lab_run_for(lab, 10);
    lab->interrupt = NULL;
}

/* Stops the manager as kill -9 would: the database keeps only what was committed before. */
static void kill_manager(struct lab *lab)
{
    char command[1000];
    snprintf(command, sizeof command, "VACUUM INTO '%s/killed'", dir);
    change(command);
    lab_stop(lab);
    snprintf(command, sizeof command, "cd '%s' && rm -f fabricd.db-* && mv killed fabricd.db", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct fab_baseline *load(struct store *s)
{
    struct fab_baseline *b = NULL;
    store_flush(s);
    ck_assert_int_eq(store_load_baseline(s, &b), FAB_OK);
    return b;
}

/* Returns whether both baselines have the same places. The times of the approvals are not compared.
 */
static bool is_same(const struct fab_baseline *a, const struct fab_baseline *b)
{
    size_t as, bs;
    const struct fab_approved *x = fab_discover_baseline_list(a, &as);
    const struct fab_approved *y = fab_discover_baseline_list(b, &bs);
    bool same = (a == NULL) == (b == NULL) && as == bs;
    for (size_t i = 0; same && i < as; i++)
        same = x[i].place.guid == y[i].place.guid && x[i].place.port == y[i].place.port &&
               x[i].place.port_guid == y[i].place.port_guid &&
               x[i].place.near_guid == y[i].place.near_guid &&
               x[i].place.near_port == y[i].place.near_port && strcmp(x[i].name, y[i].name) == 0 &&
               strcmp(x[i].by, y[i].by) == 0;
    return same;
}

/* Makes the change of this row without a kill. Returns the number of MADs that the manager sent
 * because of it. *ret_before, *ret_after: the baseline before the change and after it. */
static uint64_t rehearse(const struct row *row, struct fab_baseline **ret_before,
                         struct fab_baseline **ret_after)
{
    struct lab lab;
    open_lab(&lab, row);
    *ret_before = load(lab.store);
    assert_consistent(&lab, row->name);
    uint64_t sends = lab.sends;
    apply(&lab, row);
    run_until_made(&lab);
    settle(&lab);
    uint64_t mads = lab.sends - sends;
    assert_consistent(&lab, row->name);
    *ret_after = load(lab.store);
    close_lab(&lab);
    return mads;
}

START_TEST(a_kill_leaves_the_state_before_or_after_the_change)
{
    const struct row *row = &rows[_i];
    const char *given = getenv("TEST_KILLS");
    struct fab_baseline *before, *after;
    uint64_t mads = rehearse(row, &before, &after), kills = given ? strtoull(given, NULL, 10) : 0;
    kills = kills == 0 ? KILLS : kills < mads ? kills : mads;
    uint32_t done = 0;
    for (uint64_t i = 0; i < kills; i++) {
        struct lab lab;
        char when[80];
        uint64_t at = 1 + i * mads / kills;
        snprintf(when, sizeof when, "%s, killed after %u MADs", row->name, (unsigned)at);
        open_lab(&lab, row);
        apply(&lab, row);
        run_until_mad(&lab, at);
        bool was_made = made;
        kill_manager(&lab);
        lab_begin(&lab, dir);
        struct fab_baseline *now = load(lab.store);
        ck_assert_msg(is_same(now, before) || is_same(now, after), "%s: another baseline", when);
        ck_assert_msg(!was_made || is_same(now, after), "%s: a change that ended is lost", when);
        done += is_same(now, after);
        fab_discover_baseline_unref(now);
        start(&lab);
        settle(&lab);
        lab_run_for(&lab, 20);
        lab_run(&lab, 60, lab_is_idle, "idle");
        assert_consistent(&lab, when);
        close_lab(&lab);
    }
    printf("# %s: %u MADs, %u kills, the change was stored %u times\n", row->name, (unsigned)mads,
           (unsigned)kills, done);
    fab_discover_baseline_unref(before);
    fab_discover_baseline_unref(after);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("kills and reloads with a baseline");
    TCase *t = tcase_create("reload");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, another_mode_takes_effect_at_once);
    tcase_add_test(t, a_mode_that_changes_back_leaves_no_trace);
    suite_add_tcase(s, t);
    t = tcase_create("kill");
    tcase_set_timeout(t, 3600);
    tcase_add_loop_test(t, a_kill_leaves_the_state_before_or_after_the_change, 0, ROWS);
    suite_add_tcase(s, t);
    return test_run(s);
}
