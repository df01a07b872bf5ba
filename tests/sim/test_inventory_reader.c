/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inventory, together with the whole manager and simulated devices, in virtual time. A
 * transport between the inventory and the devices counts requests, and can replace answers by
 * random bytes.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/store/gone.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"
#include "tests/sim/lab.h"
#include "tests/unit/state_dir.h"

#define LIDS 64
static struct {
    struct lab lab;
    struct transport wire; /* the transport of the inventory */
    struct inventory *inv;
    unsigned sent, in_flight, most_in_flight;
    /* number of requests in flight to each LID, and the maximum of these numbers */
    unsigned to[LIDS], most_to_one;
    unsigned sent_to[LIDS];
    bool hostile, mute;
    uint64_t first_us, last_us; /* when the inventory sent its first and its last request */
} t;

/* ---- the transport --------------------------------------------------------------------------- */

static int on_send(struct transport *base, const struct transport_mad *mad)
{
    (void)base;
    ck_assert_uint_eq(mad->bytes[1], FAB_CLASS_VENDOR);
    ck_assert_uint_eq(mad->bytes[3], FAB_METHOD_GET); /* the inventory may only read */
    ck_assert_uint_lt(mad->addr.dlid, LIDS);
    t.first_us = t.sent++ == 0 ? clock_now_us() : t.first_us;
    t.last_us = clock_now_us();
    t.sent_to[mad->addr.dlid]++;
    if (t.mute)
        return FAB_OK;
    if (++t.in_flight > t.most_in_flight)
        t.most_in_flight = t.in_flight;
    if (++t.to[mad->addr.dlid] > t.most_to_one)
        t.most_to_one = t.to[mad->addr.dlid];
    return transport_send(t.lab.sim_transport, mad);
}

static void on_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        struct transport_mad mad = mads[i];
        t.in_flight--;
        t.to[mad.addr.slid]--;
        for (size_t b = FAB_VENDOR_DATA; t.hostile && b < FAB_MAD_SIZE; b++)
            mad.bytes[b] = (uint8_t)(lab_random(&t.lab) % 4 == 0 ? 0x11 : lab_random(&t.lab));
        if (t.hostile && mad.bytes[17] == FAB_VENDOR_GENERAL_INFO)
            /* makes the device claim all capabilities */
            memset(mad.bytes + FAB_VENDOR_DATA + 128, 0xff, 16);
        transport_hand_up(&t.wire, &mad, 1);
    }
}

static void start_inventory(void)
{
    static const struct transport_ops ops = {.send = on_send};
    const struct inventory_input in = {.loop = t.lab.loop,
                                       .transport = &t.wire,
                                       .sm = t.lab.sm,
                                       .bus = t.lab.bus,
                                       .store = t.lab.store,
                                       .config = &t.lab.config};
    t.wire = *t.lab.sim_transport;
    t.wire.ops = &ops;
    t.wire.receive = NULL;
    memset(t.wire.taker, 0, sizeof(t.wire.taker));
    ck_assert_int_eq(transport_on_class(t.lab.sim_transport, FAB_CLASS_VENDOR, on_receive, NULL),
                     FAB_OK);
    ck_assert_int_eq(inventory_new(&in, &t.inv), FAB_OK);
}

static void configure(uint32_t read)
{
    t.lab.config.sweep.light_interval_s = t.lab.config.sweep.heavy_interval_s = 0;
    t.lab.config.sweep.scrub_interval_s = 0;
    t.lab.config.inventory = (struct config_inventory){
        .read = read, .interval_s = 3600, .temperature_interval_s = 60, .requests = 100};
}

static void begin(uint32_t read)
{
    memset(&t, 0, sizeof(t));
    make_dir();
    lab_open_virtual(&t.lab, lab_leaf_spine(4, 2, 4), dir);
    configure(read);
    sm_start(t.lab.sm);
    lab_run(&t.lab, 60, lab_is_ready, "bring-up");
    start_inventory();
}

static void end(void)
{
    inventory_free(t.inv);
    lab_close(&t.lab);
    remove_dir();
}

static const struct inventory_node *node(const char *name)
{
    const struct inventory_node *n = inventory_find(t.inv, lab_node_guid(&t.lab, name));
    ck_assert_ptr_nonnull(n);
    return n;
}

static struct inventory_status status(void)
{
    struct inventory_status s;
    inventory_get_status(t.inv, &s);
    return s;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(nothing_is_read_without_permission)
{
    begin(0);
    lab_run_for(&t.lab, 7200);
    ck_assert_uint_eq(t.sent, 0);
    ck_assert_uint_eq(status().state[INVENTORY_UNREAD], 22);
    end();
}
END_TEST

START_TEST(all_devices_are_read)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    ck_assert_uint_eq(status().state[INVENTORY_READ], 22);
    ck_assert_uint_eq(status().failed, 0);
    /* there are 16 links of hosts and 8 links between switches, with a module at each end */
    ck_assert_uint_eq(status().modules, 2 * (16 + 8));
    ck_assert_uint_le(t.most_in_flight, 8);
    ck_assert_uint_eq(t.most_to_one, 1);
    /* the limit of 100 requests a second, and some more at the beginning */
    ck_assert_uint_le(t.sent, (t.last_us - t.first_us) / 10000 + 20);
    const struct inventory_node *leaf = node("leaf-001"), *host = node("host-0001");
    ck_assert_int_ne(leaf->read_us, 0);
    ck_assert_int_ne(leaf->temperature.now, FAB_NO_TEMPERATURE);
    ck_assert_int_eq(leaf->temperature.limit, 105 * 8);
    ck_assert_uint_gt(leaf->fan_rpm[3], 1000);
    ck_assert_uint_eq(leaf->fan_rpm[4], 0);
    ck_assert_uint_eq(host->fan_rpm[0], 0);
    ck_assert_str_ne(host->device.serial, "");
    ck_assert_str_ne(host->device.serial, leaf->device.serial);
    ck_assert_str_ne(host->device.firmware, leaf->device.firmware);
    const struct inventory_module *module = inventory_find_module(host, 1);
    ck_assert_ptr_nonnull(module);
    ck_assert_str_eq(fab_inventory_medium_name(module->known.module.medium), "copper");
    ck_assert(!module->known.module.damaged);
    ck_assert_ptr_null(inventory_find_module(host, 2));
    ck_assert_ptr_null(inventory_find_module(NULL, 1));
    end();
}
END_TEST

/* The two ends of a copper cable must report the same serial number. */
START_TEST(the_ends_of_a_cable_have_one_serial_number)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    struct fab_view *v = sm_view(t.lab.sm);
    const struct fab_fabric *f = v->fabric;
    unsigned links = 0;
    for (uint32_t p = 0; p < f->port_count; p++) {
        const struct fab_port *a = fab_fabric_port(f, p);
        if (a->peer == FAB_NONE)
            continue;
        const struct fab_port *b = fab_fabric_port(f, a->peer);
        const struct inventory_module *near =
            inventory_find_module(inventory_find(t.inv, f->nodes[a->node].guid), a->num);
        const struct inventory_module *far =
            inventory_find_module(inventory_find(t.inv, f->nodes[b->node].guid), b->num);
        ck_assert_ptr_nonnull(near);
        ck_assert_ptr_nonnull(far);
        if (near->known.module.medium == FAB_MEDIUM_OPTICAL)
            continue;
        ck_assert_str_eq(near->known.module.serial, far->known.module.serial);
        links++;
    }
    ck_assert_uint_ge(links, 32);
    fab_view_unref(v);
    end();
}
END_TEST

START_TEST(a_restart_keeps_the_inventory)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    char serial[25];
    strcpy(serial, node("host-0001")->device.serial);
    inventory_free(t.inv);
    transport_on_class(t.lab.sim_transport, FAB_CLASS_VENDOR, NULL, NULL);
    store_flush(t.lab.store);
    lab_stop(&t.lab);
    lab_begin(&t.lab, dir);
    configure(1);
    t.lab.config.inventory.temperature_interval_s = 0;
    sm_start(t.lab.sm);
    lab_run(&t.lab, 60, lab_is_ready, "restart");
    t.sent = t.in_flight = 0;
    start_inventory();
    lab_run_for(&t.lab, 50);
    /* nothing is read again, because the last reading was less than an hour ago */
    ck_assert_uint_eq(t.sent, 0);
    ck_assert_str_eq(node("host-0001")->device.serial, serial);
    ck_assert_ptr_nonnull(inventory_find_module(node("host-0001"), 1));
    ck_assert_uint_eq(status().modules, 48);
    lab_run_for(&t.lab, 3600);
    ck_assert_uint_gt(t.sent, 0);
    end();
}
END_TEST

START_TEST(other_firmware_is_reported)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    unsigned before = lab_count_events(&t.lab, "firmware-differs");
    ck_assert_uint_eq(status().odd, before);
    ck_assert(!node("host-0005")->odd);
    lab_forget_events(&t.lab);
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, lab_node(&t.lab, "host-0005"), "28.39.1002"),
                     FAB_OK);
    lab_run_for(&t.lab, 3700);
    ck_assert_str_eq(lab_event(&t.lab, "firmware-changed")->subject, "host-0005");
    ck_assert_str_eq(lab_event(&t.lab, "firmware-differs")->subject, "host-0005");
    ck_assert_uint_eq(lab_count_events(&t.lab, "firmware-differs"), 1);
    ck_assert(node("host-0005")->odd);
    ck_assert_str_eq(node("host-0005")->usual, node("host-0006")->device.firmware);
    ck_assert_str_eq(node("host-0005")->device.firmware, "28.39.1002");
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, 10000, "1.2.3"), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, 0, "1.2"), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, 0, "1.2.3.4"), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, 0, "1.2.10000"), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_firmware(t.lab.sim, lab_node(&t.lab, "host-0005"), NULL), FAB_OK);
    lab_run_for(&t.lab, 3700);
    ck_assert(!node("host-0005")->odd);
    end();
}
END_TEST

START_TEST(a_fan_that_stops_is_reported)
{
    uint32_t leaf;
    begin(1);
    leaf = lab_node(&t.lab, "leaf-001");
    lab_run_for(&t.lab, 50);
    ck_assert_uint_eq(lab_count_events(&t.lab, "fan-stopped"), 0);
    ck_assert_uint_eq(node("leaf-001")->fans, 0xf);
    ck_assert_int_eq(fab_sim_fan(t.lab.sim, leaf, 2, 0), FAB_OK);
    lab_run_for(&t.lab, 2 * 3700);
    ck_assert_uint_eq(lab_count_events(&t.lab, "fan-stopped"), 1);
    ck_assert_str_eq(lab_event(&t.lab, "fan-stopped")->subject, "leaf-001");
    ck_assert_ptr_nonnull(strstr(lab_event(&t.lab, "fan-stopped")->message, "fan 3"));
    ck_assert_uint_eq(node("leaf-001")->fan_rpm[2], 0);
    ck_assert_uint_eq(node("leaf-001")->fans, 0xf);
    ck_assert_int_eq(fab_sim_fan(t.lab.sim, leaf, 2, FAB_SIM_FAN_USUAL), FAB_OK);
    lab_run_for(&t.lab, 3700);
    ck_assert_uint_eq(lab_count_events(&t.lab, "fan-running"), 1);
    ck_assert_int_eq(fab_sim_fan(t.lab.sim, leaf, 4, 0), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_fan(t.lab.sim, lab_node(&t.lab, "host-0005"), 0, 0), FAB_E_NOT_FOUND);
    end();
}
END_TEST

START_TEST(a_replaced_module_has_another_serial_number)
{
    uint32_t leaf;
    begin(1);
    leaf = lab_node(&t.lab, "leaf-001");
    lab_run_for(&t.lab, 50);
    /* port 1 has the copper cable of a host: both ends report the new one */
    ck_assert_int_eq(fab_sim_replace_module(t.lab.sim, leaf, 1), FAB_OK);
    lab_run_for(&t.lab, 3700);
    ck_assert_uint_eq(lab_count_events(&t.lab, "cable-changed"), 2);
    ck_assert_int_eq(fab_sim_replace_module(t.lab.sim, leaf, 0), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_sim_replace_module(t.lab.sim, leaf, 200), FAB_E_NOT_FOUND);
    end();
}
END_TEST

static void check_temperature(uint8_t port, const char *subject)
{
    uint32_t leaf = lab_node(&t.lab, "leaf-001");
    lab_forget_events(&t.lab);
    ck_assert_int_eq(fab_sim_heat(t.lab.sim, leaf, port, 70), FAB_OK);
    lab_run_for(&t.lab, 70);
    ck_assert_uint_eq(lab_count_events(&t.lab, "temperature-high"), 1);
    ck_assert_str_eq(lab_event(&t.lab, "temperature-high")->subject, subject);
    ck_assert_uint_eq(status().hot, 1);
    lab_run_for(&t.lab, 200); /* an unchanged temperature must not be reported again */
    ck_assert_uint_eq(lab_count_events(&t.lab, "temperature-high"), 1);
    ck_assert_int_eq(fab_sim_heat(t.lab.sim, leaf, port, 0), FAB_OK);
    lab_run_for(&t.lab, 70);
    ck_assert_str_eq(lab_event(&t.lab, "temperature-normal")->subject, subject);
    ck_assert_uint_eq(status().hot, 0);
}

START_TEST(temperatures_are_watched)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    check_temperature(0, "leaf-001");
    check_temperature(5, "leaf-001/5"); /* the module of an uplink, which is an optic */
    ck_assert_int_eq(fab_sim_heat(t.lab.sim, 0, 0, 101), FAB_E_INVAL);
    ck_assert_int_eq(fab_sim_heat(t.lab.sim, 0, 200, 1), FAB_E_NOT_FOUND);
    end();
}
END_TEST

START_TEST(another_cable_is_reported)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    lab_forget_events(&t.lab);
    lab_exchange(&t.lab, "leaf-001", 1, "leaf-002", 2);
    ck_assert_int_eq(sm_sweep(t.lab.sm, NULL, NULL), FAB_OK);
    lab_run_for(&t.lab, 60);
    ck_assert_uint_ge(lab_count_events(&t.lab, "cable-changed"), 2);
    end();
}
END_TEST

static unsigned gone;
static void count_gone(void *ctx, const struct inventory_node *n)
{
    ck_assert_str_eq(n->name, ctx);
    ck_assert_str_ne(n->device.serial, "");
    gone++;
}

/* The database must have what the device said about itself. */
static void assert_stored(const struct store_inventory *i)
{
    const struct inventory_node *n = inventory_find(t.inv, i->guid);
    if (n == NULL)
        return; /* a node that is gone */
    ck_assert_str_eq(i->name, n->name);
    ck_assert_uint_eq(i->device.device_id, n->device.device_id);
    ck_assert_uint_eq(i->device.hw_revision, n->device.hw_revision);
    ck_assert_uint_ne(i->device.hw_revision, i->device.device_id);
    ck_assert_str_eq(i->device.firmware, n->device.firmware);
    ck_assert_str_eq(i->device.firmware_date, n->device.firmware_date);
    ck_assert_str_eq(i->device.psid, n->device.psid);
    ck_assert_str_eq(i->device.part, n->device.part);
    ck_assert_str_eq(i->device.serial, n->device.serial);
    ck_assert_str_eq(i->device.revision, n->device.revision);
    ck_assert_str_eq(i->device.product, n->device.product);
}

START_TEST(a_node_that_is_gone_keeps_its_inventory)
{
    begin(1);
    lab_run_for(&t.lab, 50);
    uint64_t guid = lab_node_guid(&t.lab, "host-0003");
    ck_assert_int_eq(fab_sim_power_off(t.lab.sim, lab_node(&t.lab, "host-0003")), FAB_OK);
    lab_run_for(&t.lab, 60);
    ck_assert_uint_eq(status().state[INVENTORY_READ], 21);
    gone = 0;
    inventory_each_gone(t.inv, count_gone, (void *)(uintptr_t) "host-0003");
    ck_assert_uint_eq(gone, 1);
    struct store_inventory *all = NULL;
    size_t count = 0;
    store_flush(t.lab.store);
    ck_assert_int_eq(store_load_inventory(t.lab.store, &all, &count), FAB_OK);
    ck_assert_uint_eq(count, 22);
    for (size_t i = 0; i < count; i++)
        assert_stored(&all[i]);
    store_inventory_free(all, count);
    store_forget_node(t.lab.store, guid);
    store_flush(t.lab.store);
    ck_assert_int_eq(store_load_inventory(t.lab.store, &all, &count), FAB_OK);
    ck_assert_uint_eq(count, 21);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_ne(all[i].guid, guid);
    store_inventory_free(all, count);
    end();
}
END_TEST

/* One device answers everything with random bytes. The inventory must not send it more requests
 * than a visit of a device needs. */
START_TEST(hostile_devices_are_bounded)
{
    begin(1);
    t.hostile = true;
    lab_run_for(&t.lab, 120);
    ck_assert_uint_gt(t.sent, 0);
    for (int lid = 0; lid < LIDS; lid++)
        ck_assert_uint_le(t.sent_to[lid], 3 + 16 + 2 + 6 * 5 + 2 * (2 + 4));
    for (uint32_t i = 0; i < fab_sim_fabric(t.lab.sim)->node_count; i++) {
        const struct inventory_node *n =
            inventory_find(t.inv, fab_sim_fabric(t.lab.sim)->nodes[i].guid);
        ck_assert_uint_le(n->module_count, fab_sim_fabric(t.lab.sim)->nodes[i].num_ports);
        for (const char *c = n->device.product; *c != '\0'; c++)
            ck_assert(*c >= ' ' && *c <= '~');
    }
    end();
}
END_TEST

START_TEST(devices_that_do_not_answer_are_tried_again)
{
    begin(1);
    t.mute = true;
    lab_run_for(&t.lab, 300);
    ck_assert_uint_eq(status().state[INVENTORY_NO_ANSWER], 22);
    unsigned sent = t.sent;
    ck_assert_uint_le(sent, 22 * 3);
    t.mute = false;
    lab_run_for(&t.lab, 700);
    ck_assert_uint_gt(t.sent, sent);
    ck_assert_uint_eq(status().state[INVENTORY_READ], 22);
    t.lab.config.inventory.read = 0;
    inventory_reload(t.inv);
    sent = t.sent;
    lab_run_for(&t.lab, 7200);
    ck_assert_uint_eq(t.sent, sent);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("inventory_reader");
    TCase *c = tcase_create("inventory_reader");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, nothing_is_read_without_permission);
    tcase_add_test(c, all_devices_are_read);
    tcase_add_test(c, the_ends_of_a_cable_have_one_serial_number);
    tcase_add_test(c, a_restart_keeps_the_inventory);
    tcase_add_test(c, other_firmware_is_reported);
    tcase_add_test(c, a_fan_that_stops_is_reported);
    tcase_add_test(c, a_replaced_module_has_another_serial_number);
    tcase_add_test(c, temperatures_are_watched);
    tcase_add_test(c, another_cable_is_reported);
    tcase_add_test(c, a_node_that_is_gone_keeps_its_inventory);
    tcase_add_test(c, hostile_devices_are_bounded);
    tcase_add_test(c, devices_that_do_not_answer_are_tried_again);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
