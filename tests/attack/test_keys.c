/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rotations of the M_Key while the manager works. Before fabricd/sm/keys was written, a changed
 * subnet.m_key locked the manager out of every port: all its writes had the new key, the ports
 * still had the old one, and each write was a violation. The manager also did not recover from a
 * lost key, although a port shows its key after its lease period.
 *
 *  The largest fabric has 648 hosts, 36 leaves and 18 spines. Every few MADs, the tests check that
 * each port has one of the two keys in the key file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/lab.h"

#define PORTS_MOST 1024
/* Number of MADs that the manager sends between two checks of all ports. */
#define STEP 8

struct watch {
    struct lab lab;
    char dir[64];
    /* [node] M_Key violations that the first port of the node has counted, as of the last check */
    uint16_t seen[PORTS_MOST];
    uint64_t violations, steps, stop_at;
};

static const struct fab_port_info *own_port(struct watch *w, uint32_t node)
{
    bool is_switch = fab_fabric_node_is_switch(fab_sim_fabric(w->lab.sim), node);
    return fab_sim_port(w->lab.sim, node, is_switch ? 0 : 1);
}

static uint32_t node_count(struct watch *w)
{
    return fab_sim_fabric(w->lab.sim)->node_count;
}

static struct store_m_key read_file(struct watch *w)
{
    struct store_m_key k;
    char why[512] = "";
    ck_assert_msg(store_m_key_read(w->dir, &k, why, sizeof(why)) == FAB_OK, "%s", why);
    return k;
}

static void open_watch(struct watch *w, struct fab_builder *builder, uint8_t protection)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/fabricd-keys.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(w->dir));
    lab_open_virtual(&w->lab, builder, NULL);
    lab_stop(&w->lab);
    const struct fab_sim_timing timing = {
        .hop_us = 1, .answer_us = 10, .train_us = 20000, .trap_us = 1000000};
    fab_sim_set_timing(w->lab.sim, &timing);
    w->lab.config.m_key_generated = true;
    w->lab.config.policy.m_key_protect = protection;
    w->lab.config.sweep.heavy_interval_s = 0;
    /* With few requests in flight, the manager changes only a few ports at a time. */
    w->lab.config.smp.window = protection > 1 ? 4 : 0;
    lab_begin(&w->lab, w->dir);
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

static void check(struct watch *w)
{
    struct store_m_key k = read_file(w);
    for (uint32_t node = 0; node < node_count(w); node++) {
        const struct fab_port_info *info = own_port(w, node);
        ck_assert_msg(info->m_key != 0 && (info->m_key == k.current || info->m_key == k.previous),
                      "%s has neither key after step %u",
                      fab_sim_fabric(w->lab.sim)->nodes[node].desc, (unsigned)w->steps);
        if (info->m_key_violations > w->seen[node]) {
            w->violations += info->m_key_violations - w->seen[node];
            printf("# step %u: a violation at %s\n", (unsigned)w->steps,
                   fab_sim_fabric(w->lab.sim)->nodes[node].desc);
        }
        w->seen[node] = info->m_key_violations;
    }
    store_m_key_fini(&k);
    w->steps++;
}

static struct sm_key_status status(struct watch *w)
{
    struct sm_key_status ret;
    sm_get_key_status(w->lab.sm, &ret);
    return ret;
}

/* Checks all ports after every STEP MADs. Stops the loop when the manager has sent the MADs after
 * which the test kills it. */
static void on_mads(struct lab *lab)
{
    struct watch *w = (struct watch *)lab;
    check(w);
    if (lab->sends >= w->stop_at)
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

/* Runs the loop until the rotation is complete. */
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

static void rotate(struct watch *w)
{
    char why[512] = "";
    ck_assert_msg(sm_key_rotate(w->lab.sm, false, false, why, sizeof(why)) == FAB_OK, "%s", why);
    check(w);
}

static uint32_t count_current(struct watch *w)
{
    struct store_m_key k = read_file(w);
    uint32_t count = 0;
    for (uint32_t node = 0; node < node_count(w); node++)
        count += own_port(w, node)->m_key == k.current;
    store_m_key_fini(&k);
    return count;
}

static bool all_have_the_key(struct lab *lab)
{
    return count_current((struct watch *)lab) == node_count((struct watch *)lab);
}

static void assert_all_current(struct watch *w)
{
    ck_assert_uint_eq(count_current(w), node_count(w));
    ck_assert_uint_eq(status(w).previous + status(w).unknown, 0);
}

/* Stops the manager as kill -9 would: from this moment it writes and sends nothing. Then starts a
 * new manager. */
static void kill_and_restart(struct watch *w)
{
    lab_stop(&w->lab);
    check(w);
    lab_begin(&w->lab, w->dir);
    sm_start(w->lab.sm);
    watch_mads(w, 0);
}

START_TEST(all_ports_of_648_hosts_get_a_new_key)
{
    struct watch w;
    struct stat st;
    char path[96];
    open_watch(&w, lab_leaf_spine(36, 18, 18), 1);
    check(&w);
    assert_all_current(&w);
    uint64_t sends = w.lab.sends;
    rotate(&w);
    run_rotation(&w, 10);
    assert_all_current(&w);
    printf("# %u ports: %u MADs, %u checks\n", node_count(&w), (unsigned)(w.lab.sends - sends),
           (unsigned)w.steps);
    ck_assert_uint_eq(w.violations, 0);
    ck_assert_uint_le(w.lab.sends - sends, 3u * node_count(&w));
    ck_assert_ptr_nonnull(lab_event(&w.lab, "m-key-rotated"));
    ck_assert_uint_eq(status(&w).generation, 2);
    snprintf(path, sizeof(path), "%s/m_key", w.dir);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    lab_run(&w.lab, 5, lab_is_ready, "ready for repairs again");
    lab_assert_good(&w.lab);
    close_watch(&w);
}
END_TEST

/* During a rotation, links fail and return, MADs are lost, and a host is absent. The manager is
 * killed at a random time, which depends on the seed. */
START_TEST(a_rotation_survives_faults_and_a_kill)
{
    uint64_t seed = test_seed("key rotation", 5);
    for (unsigned i = 0; i < 4; i++) {
        struct watch w;
        open_watch(&w, lab_leaf_spine(36, 18, 18), 1);
        w.lab.prng = seed + i;
        uint64_t kill_at = 1 + lab_random(&w.lab) % 1300;
        printf("# run %u of seed %u: killed after %u MADs\n", i, (unsigned)seed, (unsigned)kill_at);
        lab_unlink(&w.lab, "leaf-007", 3);
        rotate(&w);
        fab_sim_loss(w.lab.sim, 0.02);
        lab_unlink(&w.lab, "leaf-002", 20);
        watch_mads(&w, kill_at);
        lab_run_for(&w.lab, 10);
        uint32_t done = count_current(&w);
        lab_unlink(&w.lab, "leaf-009", 22);
        kill_and_restart(&w);
        run_rotation(&w, 60);
        printf("# %u of %u ports were changed before the kill; %u violations\n", done,
               node_count(&w), (unsigned)w.violations);
        ck_assert_uint_ge(count_current(&w), node_count(&w) - 1);
        ck_assert_uint_eq(w.violations, 0);
        lab_relink(&w.lab, "leaf-009", 22);
        /* The absent host returns with its old key. */
        lab_relink(&w.lab, "leaf-007", 3);
        fab_sim_loss(w.lab.sim, 0);
        lab_run(&w.lab, 30, all_have_the_key, "the host that was away");
        lab_run(&w.lab, 10, lab_is_idle, "the end");
        assert_all_current(&w);
        ck_assert_uint_eq(status(&w).absent, 0);
        ck_assert_uint_eq(w.violations, 0);
        lab_assert_good(&w.lab);
        close_watch(&w);
    }
}
END_TEST

/* With protection level 2, a device does not answer a request with a wrong key. After a kill, the
 * manager does not know which devices have the new key, so it must try both keys. */
START_TEST(ports_that_hide_everything_get_a_new_key)
{
    for (unsigned mads = 0; mads < 80; mads += 13) {
        struct watch w;
        uint32_t done = 0;
        open_watch(&w, lab_leaf_spine(6, 3, 4), 2);
        rotate(&w);
        if (mads > 0) {
            watch_mads(&w, mads);
            lab_run_for(&w.lab, 10);
            done = count_current(&w);
            kill_and_restart(&w);
        }
        run_rotation(&w, 60);
        lab_run(&w.lab, 30, lab_is_idle, "the end");
        assert_all_current(&w);
        printf("# killed after %u MADs, %u of %u ports changed: %u violations\n", mads, done,
               node_count(&w), (unsigned)w.violations);
        ck_assert_uint_le(w.violations, mads == 0 ? 0 : 4 * node_count(&w));
        lab_assert_good(&w.lab);
        close_watch(&w);
    }
}
END_TEST

START_TEST(the_next_rotation_does_not_lose_an_absent_host)
{
    struct watch w;
    char why[512] = "";
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1);
    lab_unlink(&w.lab, "leaf-003", 2);
    lab_run_for(&w.lab, 1);
    rotate(&w);
    ck_assert_int_eq(sm_key_rotate(w.lab.sm, false, false, why, sizeof(why)), FAB_E_BUSY);
    run_rotation(&w, 10);
    ck_assert_uint_eq(status(&w).absent, 1);
    ck_assert_int_eq(sm_key_rotate(w.lab.sm, false, false, why, sizeof(why)), FAB_E_EXISTS);
    ck_assert_ptr_nonnull(strstr(why, "--give-up-absent"));
    kill_and_restart(&w); /* the key file lists the absent host */
    lab_run(&w.lab, 10, lab_is_idle, "restart");
    ck_assert_uint_eq(status(&w).absent, 1);
    lab_relink(&w.lab, "leaf-003", 2);
    lab_run_for(&w.lab, 5);
    assert_all_current(&w);
    ck_assert_uint_eq(status(&w).absent, 0);
    ck_assert_uint_eq(w.violations, 0);
    rotate(&w);
    run_rotation(&w, 10);
    ck_assert_uint_eq(status(&w).generation, 3);
    close_watch(&w);
}
END_TEST

static void use_key(struct watch *w, uint64_t key)
{
    w->lab.config.m_key_generated = false;
    w->lab.config.policy.m_keys.number = key;
}

/* The setting subnet.m_key changes three times: from a generated key to a number, while the manager
 * is stopped to another number, and at the end to no key. */
START_TEST(a_key_of_the_settings_changes_in_the_same_way)
{
    struct watch w;
    char why[512] = "";
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1);
    use_key(&w, 0x1111);
    ck_assert_int_eq(sm_reload(w.lab.sm), FAB_OK);
    check(&w);
    run_rotation(&w, 10);
    ck_assert_uint_eq(own_port(&w, 7)->m_key, 0x1111);
    assert_all_current(&w);
    ck_assert_int_eq(sm_key_rotate(w.lab.sm, false, false, why, sizeof(why)), FAB_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(why, "subnet.m_key"));
    lab_stop(&w.lab);
    use_key(&w, 0x2222);
    lab_begin(&w.lab, w.dir);
    sm_start(w.lab.sm);
    run_rotation(&w, 10);
    assert_all_current(&w);
    ck_assert_uint_eq(own_port(&w, 7)->m_key, 0x2222);
    ck_assert_uint_eq(w.violations, 0);
    lab_run(&w.lab, 10, lab_is_idle, "idle");
    w.lab.interrupt = NULL;
    use_key(&w, 0);
    ck_assert_int_eq(sm_reload(w.lab.sm), FAB_OK);
    lab_run_for(&w.lab, 5);
    for (uint32_t node = 0; node < node_count(&w); node++) {
        ck_assert_uint_eq(own_port(&w, node)->m_key, 0);
        ck_assert_uint_eq(own_port(&w, node)->m_key_violations, 0);
    }
    lab_assert_good(&w.lab);
    close_watch(&w);
}
END_TEST

/* The key file is lost. The M_Key of each port has a lease period of 60 s, after which the manager
 * can read the key ("Lost keys" in doc/security.md). */
START_TEST(a_lost_key_is_recovered_when_its_lease_ends)
{
    struct watch w;
    char path[96];
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1);
    lab_stop(&w.lab);
    snprintf(path, sizeof(path), "%s/m_key", w.dir);
    ck_assert_int_eq(unlink(path), 0);
    lab_begin(&w.lab, w.dir);
    sm_start(w.lab.sm);
    lab_run_for(&w.lab, 30);
    ck_assert_uint_eq(count_current(&w), 0);
    double before = (double)fab_sim_now(w.lab.sim) / 1e6;
    lab_run(&w.lab, 300, all_have_the_key, "taking the ports back");
    printf("# all ports taken back %.0f s after the start\n",
           (double)fab_sim_now(w.lab.sim) / 1e6 - before + 30);
    lab_run(&w.lab, 100, lab_is_idle, "idle");
    assert_all_current(&w);
    lab_assert_good(&w.lab);
    close_watch(&w);
}
END_TEST

START_TEST(no_rotation_where_another_manager_would_not_learn_the_key)
{
    struct watch w;
    char why[512] = "";
    open_watch(&w, lab_leaf_spine(6, 3, 4), 1);
    w.lab.config.policy.managers[0] =
        (struct fab_manager){.guid = 0x42, .switch_name = "leaf-005", .switch_port = 4};
    w.lab.config.policy.manager_count = 1;
    ck_assert_int_eq(sm_reload(w.lab.sm), FAB_OK);
    ck_assert_int_eq(sm_key_rotate(w.lab.sm, false, false, why, sizeof(why)), FAB_E_DENIED);
    ck_assert_ptr_nonnull(strstr(why, "copy the file m_key"));
    ck_assert_uint_eq(status(&w).generation, 1);
    close_watch(&w);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("keys");
    TCase *c = tcase_create("keys");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, all_ports_of_648_hosts_get_a_new_key);
    tcase_add_test(c, a_rotation_survives_faults_and_a_kill);
    tcase_add_test(c, ports_that_hide_everything_get_a_new_key);
    tcase_add_test(c, the_next_rotation_does_not_lose_an_absent_host);
    tcase_add_test(c, a_key_of_the_settings_changes_in_the_same_way);
    tcase_add_test(c, a_lost_key_is_recovered_when_its_lease_ends);
    tcase_add_test(c, no_rotation_where_another_manager_would_not_learn_the_key);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
