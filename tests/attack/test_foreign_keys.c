/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All devices have M_Keys of another subnet manager, with leases that never end. Such devices would
 * stay locked until they restart. The setting subnet.m_key_file names a file that lists these keys.
 *
 *  The tests check each SMP that the manager sends: a listed key may go only to the device for
 * which it is listed, so that a rogue host gets no key of another device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

/* the M_Key of a node is this number plus the node id */
#define FOREIGN UINT64_C(0xf0e1d2c300000000)
#define ROGUE "host-0003" /* the host whose key the file does not list */

struct world {
    struct lab lab;
    char dir[64];
    /* Number of SMPs that the manager sent with a listed key. */
    uint64_t listed_sent;
};

static const struct fab_fabric *fabric_of(struct world *w)
{
    return fab_sim_fabric(w->lab.sim);
}

static uint8_t own_num(struct world *w, uint32_t node)
{
    return fab_fabric_node_is_switch(fabric_of(w), node) ? 0 : 1;
}

static uint64_t key_of(struct world *w, uint32_t node)
{
    return fab_sim_port(w->lab.sim, node, own_num(w, node))->m_key;
}

static uint32_t owner_of(struct world *w, uint16_t lid)
{
    uint32_t node = 0;
    while (node < fabric_of(w)->node_count &&
           fab_sim_port(w->lab.sim, node, own_num(w, node))->lid != lid)
        node++;
    return node;
}

static void on_sent(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    struct world *w = (struct world *)lab;
    bool is_request = head->method == FAB_METHOD_GET || head->method == FAB_METHOD_SET;
    if (!is_request || (head->m_key & ~UINT64_C(0xffffffff)) != FOREIGN)
        return;
    uint32_t node = head->directed ? lab_end_of(lab, &head->path) : owner_of(w, dlid);
    if (node >= fabric_of(w)->node_count)
        return; /* the SMP reaches no device */
    w->listed_sent++;
    ck_assert_msg(head->m_key == (FOREIGN | node), "%s was sent the key of %s",
                  fabric_of(w)->nodes[node].desc,
                  fabric_of(w)->nodes[head->m_key & 0xffffffff].desc);
    ck_assert_msg(node != lab_node(lab, ROGUE), "the rogue was sent a key");
}

/* Writes the file of keys, in the format of OpenSM. It lists all devices but the rogue. */
static void use_file(struct world *w)
{
    struct fab_line_error error;
    const struct fab_fabric *f = fabric_of(w);
    size_t room = 64 * (size_t)f->node_count + 1, len = 0;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    for (uint32_t node = 0; node < f->node_count; node++)
        if (node != lab_node(&w->lab, ROGUE))
            len += (size_t)snprintf(
                text + len, room - len, "0x%016" PRIx64 " 0x%016" PRIx64 "\n\n",
                fab_fabric_port(f, fab_fabric_port_id(f, node, own_num(w, node)))->guid,
                FOREIGN | node);
    ck_assert_int_eq(
        fab_policy_m_key_list_read(text, len, &w->lab.config.policy.listed_m_keys, &error), FAB_OK);
    free(text);
}

/* Opens a fabric in which no manager runs. */
static void open_world(struct world *w, bool derived, uint8_t protection)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/fabricd-keys.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(w->dir));
    lab_open_virtual(&w->lab, lab_leaf_spine(6, 3, 4), NULL);
    lab_stop(&w->lab);
    const struct fab_sim_timing timing = {
        .hop_us = 1, .answer_us = 10, .train_us = 20000, .trap_us = 1000000};
    fab_sim_set_timing(w->lab.sim, &timing);
    w->lab.config.m_key_generated = true;
    w->lab.config.m_key_derived = derived;
    w->lab.config.policy.m_key_protect = protection;
    w->lab.config.sweep.heavy_interval_s = 0;
    w->lab.config.smp.window = protection > 1 ? 4 : 0;
    w->lab.sent = on_sent;
}

static void close_world(struct world *w)
{
    lab_close(&w->lab);
    char command[100];
    snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
    ck_assert_int_eq(system(command), 0);
}

static void start(struct world *w)
{
    lab_begin(&w->lab, w->dir);
    sm_start(w->lab.sm);
}

static void lock_all(struct world *w, uint8_t protection)
{
    for (uint32_t node = 0; node < fabric_of(w)->node_count; node++)
        ck_assert_int_eq(fab_sim_set_m_key(w->lab.sim, node, FOREIGN | node, protection, 0),
                         FAB_OK);
}

static uint32_t count_locked(struct world *w)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < fabric_of(w)->node_count; node++)
        count += key_of(w, node) == (FOREIGN | node);
    return count;
}

static bool only_the_rogue_is_locked(struct lab *lab)
{
    struct world *w = (struct world *)lab;
    return count_locked(w) == 1 && key_of(w, lab_node(lab, ROGUE)) >= FOREIGN;
}

static bool all_have_our_key(struct world *w)
{
    struct sm_key_status k;
    sm_get_key_status(w->lab.sm, &k);
    return k.current == fabric_of(w)->node_count - 1;
}

/* Without the file of keys, all devices stay locked. With the file, the manager replaces their
 * keys, whether it reads the file at a reload or at its start. */
START_TEST(devices_with_foreign_keys_are_taken_over_with_the_file)
{
    for (unsigned derived = 0; derived < 2; derived++) {
        struct world w;
        open_world(&w, derived, 1);
        lock_all(&w, 1);
        start(&w);
        lab_run_for(&w.lab, 200);
        ck_assert_uint_eq(count_locked(&w), fabric_of(&w)->node_count);
        ck_assert_uint_eq(w.listed_sent, 0);
        use_file(&w);
        ck_assert_int_eq(sm_reload(w.lab.sm), FAB_OK);
        lab_run(&w.lab, 60, only_the_rogue_is_locked, "the reload with the file");
        lab_run(&w.lab, 60, lab_is_idle, "idle");
        ck_assert(all_have_our_key(&w));
        lab_stop(&w.lab);
        lock_all(&w, 1);
        start(&w);
        lab_run(&w.lab, 60, only_the_rogue_is_locked, "a start with the file");
        lab_run(&w.lab, 60, lab_is_idle, "idle");
        ck_assert(all_have_our_key(&w));
        uint64_t sent = w.listed_sent;
        ck_assert_uint_gt(sent, 0);
        ck_assert_int_eq(sm_sweep(w.lab.sm, NULL, NULL), FAB_OK);
        lab_run_for(&w.lab, 5);
        ck_assert_uint_eq(w.listed_sent, sent); /* no device gets its listed key a second time */
        close_world(&w);
    }
}
END_TEST

/* With protection level 2, a device without the right key does not even return its GUID. The
 * manager takes the GUID from its store, which has the place where it last saw each device. */
START_TEST(devices_that_hide_everything_are_taken_over_at_known_places)
{
    for (unsigned derived = 0; derived < 2; derived++) {
        struct world w;
        open_world(&w, derived, 2);
        start(&w);
        lab_run(&w.lab, 60, lab_is_ready, "bring-up");
        lab_stop(&w.lab);
        lock_all(&w, 2);
        start(&w);
        lab_run_for(&w.lab, 100);
        ck_assert_uint_eq(count_locked(&w), fabric_of(&w)->node_count);
        lab_stop(&w.lab);
        use_file(&w);
        start(&w);
        lab_run(&w.lab, 200, only_the_rogue_is_locked, "a start with the file");
        ck_assert_uint_gt(w.listed_sent, 0);
        close_world(&w);
    }
}
END_TEST

/* With protection level 2 and without a store, the manager knows only the GUID of its own port. It
 * therefore sends no listed key, and all other ports stay locked (fabricd.yaml(5)). */
START_TEST(no_key_is_sent_to_unknown_places)
{
    struct world w;
    open_world(&w, false, 2);
    lock_all(&w, 2);
    use_file(&w);
    start(&w);
    lab_run_for(&w.lab, 100);
    ck_assert_uint_eq(count_locked(&w), fabric_of(&w)->node_count - 1);
    close_world(&w);
}
END_TEST

/* Another manager has given keys to all devices, and the cables of two hosts are exchanged. In the
 * sweep that finds the exchange, the manager sends neither host the key of the other (on_sent
 * checks this). The rogue refuses all writes and answers each with a trap 256, so targeted sweeps
 * follow each other without a pause. In earlier versions, the manager then never changed the keys
 * of the other devices. */
START_TEST(a_listed_key_follows_the_guid_and_not_the_place)
{
    struct world w;
    open_world(&w, false, 1);
    use_file(&w);
    start(&w);
    lab_run(&w.lab, 60, lab_is_ready, "bring-up");
    lock_all(&w, 1);
    lab_exchange(&w.lab, "leaf-002", 4, "leaf-005", 5);
    ck_assert_int_eq(sm_sweep(w.lab.sm, NULL, NULL), FAB_OK);
    lab_run(&w.lab, 60, only_the_rogue_is_locked, "taking all devices over");
    ck_assert_uint_gt(w.listed_sent, 0);
    close_world(&w);
}
END_TEST

/* The rogue claims the GUIDs of a listed host, while this host still answers at its own place. Each
 * sweep reaches the rogue before the host. */
START_TEST(a_host_that_claims_a_listed_guid_is_sent_no_key)
{
    for (unsigned derived = 0; derived < 2; derived++) {
        struct world w;
        open_world(&w, derived, 1);
        use_file(&w);
        start(&w);
        lab_run(&w.lab, 60, lab_is_ready, "bring-up");
        struct fab_node_info claim = fabric_of(&w)->nodes[lab_node(&w.lab, "host-0017")].info;
        claim.local_port = 0;
        lock_all(&w, 1);
        ck_assert_int_eq(fab_sim_impersonate(w.lab.sim, lab_node(&w.lab, ROGUE), &claim), FAB_OK);
        ck_assert_int_eq(sm_sweep(w.lab.sm, NULL, NULL), FAB_OK);
        lab_run(&w.lab, 60, only_the_rogue_is_locked, "taking all devices over");
        ck_assert_ptr_nonnull(lab_event(&w.lab, "duplicate-guid"));
        close_world(&w);
    }
}
END_TEST

/* Number of Sets that the manager sent to the rogue. The rogue refuses each of them and sends a
 * trap 256 about it. In earlier versions, this caused targeted sweeps and events without end. */
static uint64_t sets_to_the_rogue;

static void count_sets(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    (void)dlid;
    sets_to_the_rogue += head->method == FAB_METHOD_SET && head->directed &&
                         lab_end_of(lab, &head->path) == lab_node(lab, ROGUE);
}

START_TEST(a_host_that_refuses_writes_is_left_alone_ever_longer)
{
    struct world w;
    unsigned events = 0;
    open_world(&w, false, 1);
    start(&w);
    lab_run(&w.lab, 60, lab_is_ready, "bring-up");
    lab_run_for(&w.lab, 5);
    ck_assert_int_eq(fab_sim_set_m_key(w.lab.sim, lab_node(&w.lab, ROGUE),
                                       FOREIGN | lab_node(&w.lab, ROGUE), 1, 0),
                     FAB_OK);
    lab_forget_events(&w.lab);
    w.lab.sent = count_sets;
    uint64_t sent = w.lab.sends;
    ck_assert_int_eq(sm_sweep(w.lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&w.lab, 600);
    for (unsigned i = 0; i < w.lab.event_count; i++)
        events += strcmp(w.lab.events[i].type, "write-refused") == 0 ||
                  strcmp(w.lab.events[i].type, "node-unresponsive") == 0;
    printf("# %u events, %lu writes to the rogue, %lu MADs in 600 s\n", events,
           (unsigned long)sets_to_the_rogue, (unsigned long)(w.lab.sends - sent));
    ck_assert_uint_ge(sets_to_the_rogue, 1);
    ck_assert_uint_le(sets_to_the_rogue, 200);
    ck_assert_uint_le(events, 2);
    /* When the host accepts writes again, the manager configures it again. */
    ck_assert_int_eq(fab_sim_set_m_key(w.lab.sim, lab_node(&w.lab, ROGUE), 0, 0, 0), FAB_OK);
    lab_run_for(&w.lab, 130);
    ck_assert(key_of(&w, lab_node(&w.lab, ROGUE)) == key_of(&w, lab_node(&w.lab, "host-0004")));
    lab_assert_good(&w.lab);
    close_world(&w);
}
END_TEST

/* With 'm_key: 0', the manager uses the listed keys to write, and does not replace them. */
START_TEST(without_a_key_of_its_own_the_manager_keeps_the_listed_keys)
{
    struct world w;
    open_world(&w, false, 1);
    w.lab.config.m_key_generated = false;
    lock_all(&w, 1);
    use_file(&w);
    start(&w);
    lab_run_for(&w.lab, 30);
    for (uint32_t node = 0; node < fabric_of(&w)->node_count; node++) {
        bool is_rogue = node == lab_node(&w.lab, ROGUE);
        uint16_t lid = fab_sim_port(w.lab.sim, node, own_num(&w, node))->lid;
        ck_assert_msg((lid != 0) == !is_rogue, "%s has LID %u", fabric_of(&w)->nodes[node].desc,
                      lid);
    }
    ck_assert_uint_eq(count_locked(&w), fabric_of(&w)->node_count);
    close_world(&w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign keys");
    TCase *c = tcase_create("foreign keys");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, devices_with_foreign_keys_are_taken_over_with_the_file);
    tcase_add_test(c, devices_that_hide_everything_are_taken_over_at_known_places);
    tcase_add_test(c, no_key_is_sent_to_unknown_places);
    tcase_add_test(c, a_listed_key_follows_the_guid_and_not_the_place);
    tcase_add_test(c, a_host_that_claims_a_listed_guid_is_sent_no_key);
    tcase_add_test(c, a_host_that_refuses_writes_is_left_alone_ever_longer);
    tcase_add_test(c, without_a_key_of_its_own_the_manager_keeps_the_listed_keys);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
