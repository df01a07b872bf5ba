/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each port has an M_Key of its own (subnet.m_key: derived). With one M_Key for all ports, a
 * hostile adapter could read the key in a request to itself, and write to every device of the
 * fabric.
 *
 *  The tests check each SMP that the manager sends: its M_Key must be 0 or the key of the device to
 * which it goes. After every few MADs, they also check that the key of each port can be derived
 * from the key file.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/store/derive.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

/* Number of MADs of the manager between two checks of all ports. */
#define STEP 8
#define ROGUE "host-0003"
#define PORTS_MOST 1024

struct watch {
    struct lab lab;
    char dir[64];
    /* keys of an earlier setting; the key file no longer has them */
    struct fab_m_keys former;
    uint64_t keys_sent, stop_at;
    /* The loop stops when this number of ports has the new key. 0: it runs on. */
    uint32_t stop_changed;
    /* [node] M_Key violations that the first port of the node has counted, as of the last check */
    uint16_t seen[PORTS_MOST];
    uint64_t violations;
    struct fab_m_keys current, previous; /* contents of the key file, as read_keys last read them */
};

static const struct fab_fabric *fabric_of(struct watch *w)
{
    return fab_sim_fabric(w->lab.sim);
}

static uint8_t own_num(struct watch *w, uint32_t node)
{
    return fab_fabric_node_is_switch(fabric_of(w), node) ? 0 : 1;
}

static const struct fab_port_info *own_port(struct watch *w, uint32_t node)
{
    return fab_sim_port(w->lab.sim, node, own_num(w, node));
}

static uint64_t guid_of(struct watch *w, uint32_t node)
{
    const struct fab_fabric *f = fabric_of(w);
    return fab_fabric_port(f, fab_fabric_port_id(f, node, own_num(w, node)))->guid;
}

static struct store_m_key read_file(struct watch *w)
{
    struct store_m_key k;
    char why[512] = "";
    ck_assert_msg(store_m_key_read(w->dir, &k, why, sizeof(why)) == FAB_OK, "%s", why);
    return k;
}

static void read_keys(struct watch *w)
{
    struct store_m_key k = read_file(w);
    w->current = store_m_key_current(&k);
    w->previous = store_m_key_previous(&k);
    store_m_key_fini(&k);
}

static uint64_t wanted(struct watch *w, uint32_t node)
{
    return fab_policy_m_key(&w->current, guid_of(w, node));
}

static uint64_t former(struct watch *w, uint32_t node)
{
    return fab_policy_m_key(&w->previous, guid_of(w, node));
}

static uint32_t owner_of(struct watch *w, uint16_t lid)
{
    uint32_t node = 0;
    while (node < fabric_of(w)->node_count && own_port(w, node)->lid != lid)
        node++;
    return node;
}

/* Called for each SMP that the manager sends. Its M_Key must be 0, or the present or an earlier key
 * of the device to which the SMP goes. */
static void on_sent(struct lab *lab, const struct fab_mad *head, uint16_t dlid)
{
    struct watch *w = (struct watch *)lab;
    bool is_request = head->method == FAB_METHOD_GET || head->method == FAB_METHOD_SET;
    if (head->m_key == 0 || !is_request)
        return;
    uint32_t node = head->directed ? lab_end_of(lab, &head->path) : owner_of(w, dlid);
    if (node >= fabric_of(w)->node_count)
        return; /* the SMP reaches no device */
    w->keys_sent++;
    read_keys(w);
    ck_assert_msg(head->m_key == wanted(w, node) || head->m_key == former(w, node),
                  "%s was sent a foreign key", fabric_of(w)->nodes[node].desc);
}

/* Opens a fabric whose ports have derived M_Keys. protection: protection level of the M_Keys.
 * window: maximum number of requests in flight; 0: the limit of the transport. */
static void open_watch(struct watch *w, struct fab_builder *builder, uint8_t protection,
                       uint32_t window)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/fabricd-keys.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(w->dir));
    lab_open_virtual(&w->lab, builder, NULL);
    lab_stop(&w->lab);
    const struct fab_sim_timing timing = {
        .hop_us = 1, .answer_us = 10, .train_us = 20000, .trap_us = 1000000};
    fab_sim_set_timing(w->lab.sim, &timing);
    w->lab.config.m_key_generated = w->lab.config.m_key_derived = true;
    w->lab.config.policy.m_key_protect = protection;
    w->lab.config.sweep.heavy_interval_s = 0;
    w->lab.config.smp.window = window;
    lab_begin(&w->lab, w->dir);
    w->lab.sent = on_sent;
    sm_start(w->lab.sm);
    lab_run(&w->lab, 30, lab_is_ready, "bring-up");
}

static void close_watch(struct watch *w)
{
    lab_close(&w->lab);
    char command[100];
    snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
    ck_assert_int_eq(system(command), 0);
}

static uint32_t count_current(struct watch *w)
{
    uint32_t count = 0;
    read_keys(w);
    for (uint32_t node = 0; node < fabric_of(w)->node_count; node++)
        count += own_port(w, node)->m_key == wanted(w, node);
    return count;
}

static bool all_have_their_key(struct lab *lab)
{
    struct watch *w = (struct watch *)lab;
    return count_current(w) == fabric_of(w)->node_count;
}

static void check(struct watch *w)
{
    read_keys(w);
    for (uint32_t node = 0; node < fabric_of(w)->node_count; node++) {
        const struct fab_port_info *info = own_port(w, node);
        ck_assert_msg(info->m_key != 0 &&
                          (info->m_key == wanted(w, node) || info->m_key == former(w, node)),
                      "%s has neither key", fabric_of(w)->nodes[node].desc);
        w->violations += (uint64_t)(info->m_key_violations - w->seen[node]);
        w->seen[node] = info->m_key_violations;
    }
}

static void on_mads(struct lab *lab)
{
    struct watch *w = (struct watch *)lab;
    check(w);
    if (lab->sends >= w->stop_at || (w->stop_changed > 0 && count_current(w) >= w->stop_changed))
        loop_stop(lab->loop);
    else
        lab->interrupt_at = lab->sends + STEP;
}

static void watch_mads(struct watch *w, uint64_t stop_after)
{
    w->stop_at = stop_after ? w->lab.sends + stop_after : UINT64_MAX;
    w->lab.interrupt = on_mads;
    w->lab.interrupt_at = w->lab.sends + 1;
}

static struct sm_key_status status(struct watch *w)
{
    struct sm_key_status ret;
    sm_get_key_status(w->lab.sm, &ret);
    return ret;
}

static void rotate(struct watch *w)
{
    char why[512] = "";
    ck_assert_msg(sm_key_rotate(w->lab.sm, false, false, why, sizeof(why)) == FAB_OK, "%s", why);
    check(w);
}

static void run_rotation(struct watch *w, double seconds)
{
    watch_mads(w, 0);
    for (double t = 0; t < seconds && status(w).rotating; t += 0.01)
        lab_run_for(&w->lab, 0.01);
    check(w);
    struct sm_key_status k = status(w);
    ck_assert_msg(!k.rotating, "not complete: %u previous, %u unknown, %u absent: %s", k.previous,
                  k.unknown, k.absent, k.names);
}

static void assert_all_current(struct watch *w)
{
    ck_assert_uint_eq(count_current(w), fabric_of(w)->node_count);
    ck_assert_uint_eq(status(w).previous + status(w).unknown, 0);
    ck_assert_uint_eq(status(w).current, fabric_of(w)->node_count);
}

static void restart(struct watch *w)
{
    lab_stop(&w->lab);
    lab_begin(&w->lab, w->dir);
    sm_start(w->lab.sm);
}

/* ---- a rogue that knows the key of its own port ---- */

/* Sends SubnSet(PortInfo) with another GidPrefix. Returns whether the device accepted it. */
static bool can_write(struct watch *w, uint32_t node, uint64_t key)
{
    uint8_t bytes[FAB_MAD_SIZE], reply[FAB_MAD_SIZE], data[FAB_SMP_DATA] = {0};
    struct fab_port_info info = *own_port(w, node);
    uint16_t lid = info.lid;
    struct fab_mad head = {.mgmt_class = FAB_CLASS_SMP_LID,
                           .method = FAB_METHOD_SET,
                           .tid = 7,
                           .attr_id = FAB_ATTR_PORT_INFO,
                           .attr_mod = own_num(w, node),
                           .m_key = key};
    info.port_state = info.phys_state = 0;
    info.gid_prefix ^= 1;
    ck_assert_int_eq(fab_wire_attr_pack(&fab_wire_attr_port_info, &info, data, sizeof(data)),
                     FAB_OK);
    ck_assert_int_eq(fab_wire_smp_pack(&head, data, bytes), FAB_OK);
    (void)fab_sim_send(w->lab.sim, lab_node(&w->lab, ROGUE), 1, lid, bytes, reply);
    return own_port(w, node)->gid_prefix == info.gid_prefix;
}

START_TEST(a_host_that_knows_its_own_key_cannot_write_elsewhere)
{
    struct watch w;
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1, 0);
    uint32_t rogue = lab_node(&w.lab, ROGUE), nodes = fabric_of(&w)->node_count;
    assert_all_current(&w);
    ck_assert(status(&w).derived);
    for (uint32_t a = 0; a < nodes; a++)
        for (uint32_t b = 0; b < a; b++)
            ck_assert_uint_ne(own_port(&w, a)->m_key, own_port(&w, b)->m_key);
    /* The rogue has the M_Key of its own port, because it can read the requests of the manager to
     * its adapter. */
    uint64_t key = own_port(&w, rogue)->m_key;
    for (uint32_t node = 0; node < nodes; node++)
        if (node != rogue)
            ck_assert_msg(!can_write(&w, node, key), "the rogue wrote to %s",
                          fabric_of(&w)->nodes[node].desc);
    /* Writing to its own port is no attack: root on the host could do so without the key. */
    ck_assert(can_write(&w, rogue, key));
    ck_assert_uint_gt(w.keys_sent, nodes);
    close_watch(&w);
}
END_TEST

/* The cables of two hosts are exchanged. During the sweep that finds this, the manager sends
 * neither host the key of the other (on_sent checks this). */
START_TEST(a_key_follows_the_guid_and_not_the_place)
{
    struct watch w;
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1, 0);
    lab_exchange(&w.lab, "leaf-002", 4, "leaf-005", 5);
    ck_assert_int_eq(sm_sweep(w.lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&w.lab, 5);
    lab_run(&w.lab, 30, all_have_their_key, "the hosts at their new places");
    lab_run(&w.lab, 30, lab_is_ready, "ready");
    assert_all_current(&w);
    check(&w);
    ck_assert_uint_eq(w.violations, 0);
    close_watch(&w);
}
END_TEST

START_TEST(ports_of_648_hosts_get_new_keys_of_their_own)
{
    struct watch w;
    open_watch(&w, lab_leaf_spine(36, 18, 18), 1, 0);
    assert_all_current(&w);
    uint64_t sends = w.lab.sends;
    rotate(&w);
    run_rotation(&w, 10);
    printf("# %u ports: %u MADs\n", fabric_of(&w)->node_count, (unsigned)(w.lab.sends - sends));
    ck_assert_uint_le(w.lab.sends - sends, 3u * fabric_of(&w)->node_count);
    ck_assert_uint_eq(w.violations, 0);
    assert_all_current(&w);
    close_watch(&w);
}
END_TEST

START_TEST(a_rotation_survives_faults_and_a_kill)
{
    uint64_t seed = test_seed("derived keys", 5);
    for (unsigned i = 0; i < 4; i++) {
        struct watch w;
        uint8_t protection = i < 3 ? 1 : 2;
        open_watch(&w, lab_leaf_spine(6, 3, 4), protection, 4);
        w.lab.prng = seed + i;
        lab_unlink(&w.lab, "leaf-003", 5);
        lab_run_for(&w.lab, 1);
        rotate(&w);
        fab_sim_loss(w.lab.sim, protection > 1 ? 0 : 0.02);
        watch_mads(&w, 1 + lab_random(&w.lab) % 60);
        lab_run_for(&w.lab, 10);
        printf("# run %u: killed when %u of %u ports had their new key\n", i, count_current(&w),
               fabric_of(&w)->node_count);
        restart(&w);
        run_rotation(&w, 120);
        fab_sim_loss(w.lab.sim, 0);
        lab_relink(&w.lab, "leaf-003", 5);
        lab_run(&w.lab, 200, all_have_their_key, "the host that was away");
        lab_run(&w.lab, 30, lab_is_idle, "the end");
        assert_all_current(&w);
        if (protection == 1)
            ck_assert_uint_eq(w.violations, 0);
        lab_assert_good(&w.lab);
        close_watch(&w);
    }
}
END_TEST

/* During a rotation, the manager is killed several times, and links and a switch fail and
 * return. */
START_TEST(a_rotation_at_648_hosts_survives_faults_and_kills)
{
    static const unsigned changed[] = {1, 100, 300, 500, 690};
    struct watch w;
    open_watch(&w, lab_leaf_spine(36, 18, 18), 1, 0);
    lab_unlink(&w.lab, "leaf-013", 4);
    lab_run_for(&w.lab, 1);
    rotate(&w);
    fab_sim_loss(w.lab.sim, 0.02);
    for (unsigned i = 0; i < sizeof(changed) / sizeof(*changed); i++) {
        lab_unlink(&w.lab, "leaf-030", (uint8_t)(20 + i));
        for (uint8_t port = 1; i == 1 && port <= 36; port++)
            lab_unlink(&w.lab, "spine-007", port);
        for (uint8_t port = 1; i == 3 && port <= 36; port++)
            lab_relink(&w.lab, "spine-007", port);
        watch_mads(&w, 0);
        w.stop_changed = changed[i];
        lab_run_for(&w.lab, 60);
        printf("# killed when %u of %u ports had their new key\n", count_current(&w),
               fabric_of(&w)->node_count);
        restart(&w);
    }
    w.stop_changed = 0;
    run_rotation(&w, 120);
    fab_sim_loss(w.lab.sim, 0);
    for (uint8_t i = 0; i < sizeof(changed) / sizeof(*changed); i++)
        lab_relink(&w.lab, "leaf-030", (uint8_t)(20 + i));
    lab_relink(&w.lab, "leaf-013", 4); /* the host at this port returns with its old key */
    lab_run(&w.lab, 200, all_have_their_key, "the host that was away");
    lab_run(&w.lab, 30, lab_is_idle, "the end");
    assert_all_current(&w);
    check(&w);
    ck_assert_uint_eq(w.violations, 0);
    lab_assert_good(&w.lab);
    close_watch(&w);
}
END_TEST

static void use(struct watch *w, bool derived, uint64_t number)
{
    w->lab.config.m_key_generated = w->lab.config.m_key_derived = derived;
    w->lab.config.policy.m_keys = (struct fab_m_keys){.number = number};
    if (derived)
        ck_assert_int_eq(store_m_key_new_secret(&w->lab.config.policy.m_keys), FAB_OK);
    ck_assert_int_eq(sm_reload(w->lab.sm), FAB_OK);
    check(w);
    run_rotation(w, 10);
    lab_run(&w->lab, 10, lab_is_idle, "idle");
    assert_all_current(w);
}

START_TEST(the_kind_of_key_can_change)
{
    struct watch w;
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1, 0);
    /* No check of sent keys here: with subnet.m_key: NUMBER, the manager sends one key to all
     * devices. */
    w.lab.sent = NULL;
    use(&w, false, 0x1111);
    ck_assert_uint_eq(own_port(&w, 7)->m_key, 0x1111);
    use(&w, true, 0);
    use(&w, false, 0x2222);
    restart(&w);
    lab_run(&w.lab, 30, lab_is_ready, "restart");
    assert_all_current(&w);
    ck_assert_uint_eq(w.violations, 0);
    close_watch(&w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("derived keys");
    TCase *c = tcase_create("derived keys");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, a_host_that_knows_its_own_key_cannot_write_elsewhere);
    tcase_add_test(c, a_key_follows_the_guid_and_not_the_place);
    tcase_add_test(c, ports_of_648_hosts_get_new_keys_of_their_own);
    tcase_add_test(c, a_rotation_survives_faults_and_a_kill);
    tcase_add_test(c, a_rotation_at_648_hosts_survives_faults_and_kills);
    tcase_add_test(c, the_kind_of_key_can_change);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
