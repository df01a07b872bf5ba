/* SPDX-License-Identifier: BSD-3-Clause */
/* The inventory: what devices and modules say about themselves. The bytes in this test follow the
 * layouts in the sources that libfabmgr/wire/vendor.h and inventory/module.h name. */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/inventory/device.h"
#include "libfabmgr/inventory/module.h"
#include "libfabmgr/inventory/odd.h"
#include "tests/unit/testing.h"

/* ---- devices --------------------------------------------------------------------------------- */

START_TEST(general_info_by_hand)
{
    /* hardware revision a0, device ID 0x1017 (ConnectX-5), 2 ports */
    uint8_t bytes[144] = {0x00, 0xa0, 0x10, 0x17, 0x00, 0x02};
    struct fab_general_info g;
    struct fab_inventory_device d = {0};
    static const uint8_t up[4] = {0, 1, 0x51, 0x80}, date[4] = {0x03, 0x14, 0x20, 0x24},
                         extended[12] = {0, 0, 0, 16, 0, 0, 0, 35, 0, 0, 0x0f, 0xa0};
    memcpy(bytes + 28, up, 4);
    /* major version in the old field, which must not be used if there is an extended field */
    bytes[33] = 15;
    memcpy(bytes + 40, date, 4);
    memcpy(bytes + 48, "MT_0000000010", 13);
    memcpy(bytes + 68, extended, 12);
    bytes[129] = 0x10; /* AccessRegister is supported */
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_attr_general_info, bytes, sizeof bytes, &g),
                     FAB_OK);
    ck_assert_uint_eq(g.uptime_s, 86400);
    ck_assert_uint_eq(g.num_ports, 2);
    ck_assert_uint_ne(g.capabilities[0] & FAB_GENERAL_INFO_REGISTERS, 0);
    fab_inventory_take_general_info(&g, &d);
    ck_assert_uint_eq(d.device_id, 0x1017);
    ck_assert_uint_eq(d.hw_revision, 0xa0);
    ck_assert_str_eq(d.firmware, "16.35.4000");
    ck_assert_str_eq(d.firmware_date, "2024-03-14");
    ck_assert_str_eq(d.psid, "MT_0000000010");
}
END_TEST

START_TEST(old_firmware_and_odd_dates)
{
    struct fab_general_info g = {
        .major = 7, .minor = 4, .sub_minor = 200, .year = 0x201a, .month = 1, .day = 1};
    struct fab_inventory_device d = {0};
    fab_inventory_take_general_info(&g, &d);
    ck_assert_str_eq(d.firmware, "7.4.0200");
    ck_assert_str_eq(d.firmware_date, "");
    ck_assert_str_eq(d.psid, "");
    g.year = 0x2010;
    g.month = 0x13;
    fab_inventory_take_general_info(&g, &d);
    ck_assert_str_eq(d.firmware_date, "");
    g.ext_major = g.ext_minor = g.ext_sub_minor = UINT32_MAX;
    fab_inventory_take_general_info(&g, &d);
    ck_assert_str_eq(d.firmware, "4294967295.4294967295.4294967295");
}
END_TEST

START_TEST(system_texts_are_printable)
{
    uint8_t bytes[128] = {0};
    struct fab_reg_msgi r;
    struct fab_inventory_device d = {0};
    memcpy(bytes, "MT2016X01234", 12);
    memcpy(bytes + 32, "MQM8790-HS2F        ", 20);
    memcpy(bytes + 56, "A\x1b[2", 4);
    memset(bytes + 64, 'x', 64); /* the text fills its field, without a NUL at the end */
    bytes[70] = '\n';
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_reg_msgi, bytes, sizeof bytes, &r), FAB_OK);
    fab_inventory_take_msgi(&r, &d);
    ck_assert_str_eq(d.serial, "MT2016X01234");
    ck_assert_str_eq(d.part, "MQM8790-HS2F");
    ck_assert_str_eq(d.revision, "A?[2");
    ck_assert_uint_eq(strlen(d.product), 64);
    ck_assert_int_eq(d.product[6], '?');
}
END_TEST

START_TEST(temperatures_of_devices)
{
    /* sensor 0: 45.5 degrees now, maximum 105 degrees */
    static const uint8_t bytes[32] = {0,    0, 0, 0, 0,    0,    0x01, 0x6c, 0x80, 0,
                                      0x02, 0, 0, 0, 0x03, 0x48, 0,    0,    0x03, 0x20,
                                      0,    0, 0, 0, 'a',  's',  'i',  'c'};
    struct fab_reg_mtmp r;
    ck_assert_int_eq(fab_wire_attr_unpack(&fab_wire_reg_mtmp, bytes, sizeof bytes, &r), FAB_OK);
    struct fab_temperature t = fab_inventory_temperature(&r);
    ck_assert_int_eq(t.now, 45 * 8 + 4);
    ck_assert_int_eq(t.limit, 105 * 8);
    ck_assert_uint_eq(r.max, 64 * 8);
    ck_assert_uint_eq(r.max_valid, 1);
    ck_assert_mem_eq(r.name, "asic\0\0\0\0", 8);
    t = fab_inventory_temperature(&(struct fab_reg_mtmp){0});
    ck_assert_int_eq(t.now, FAB_NO_TEMPERATURE);
    ck_assert_int_eq(t.limit, FAB_NO_TEMPERATURE);
    ck_assert_int_eq(fab_inventory_record_temperature(0), FAB_NO_TEMPERATURE);
    for (uint16_t code = 0x8000; code <= 0x8003; code++)
        ck_assert_int_eq(fab_inventory_record_temperature(code), FAB_NO_TEMPERATURE);
    ck_assert_int_eq(fab_inventory_record_temperature(0xffe6), -26); /* -3.25 degrees */
    ck_assert_int_eq(fab_inventory_record_temperature(296), 296);
}
END_TEST

/* ---- modules --------------------------------------------------------------------------------- */

static void set_text(uint8_t *to, size_t len, const char *text)
{
    memset(to, ' ', len);
    memcpy(to, text, strlen(text));
}

/* Writes a checksum: the sum of the bytes from 128 to `last` goes into the byte after `last`.
 * page[0] is byte 128 of the memory. */
static void set_sum(uint8_t *page, unsigned last)
{
    uint8_t sum = 0;
    for (unsigned i = 128; i <= last; i++)
        sum = (uint8_t)(sum + page[i - 128]);
    page[last + 1 - 128] = sum;
}

static void put_page(struct fab_module_memory *m, const uint8_t page[96])
{
    memcpy(m->bytes[FAB_MODULE_NAMES], page, 48);
    memcpy(m->bytes[FAB_MODULE_SERIAL], page + 48, 48);
    m->has[FAB_MODULE_NAMES] = m->has[FAB_MODULE_SERIAL] = true;
}

static struct fab_module_memory qsfp28(void)
{
    struct fab_module_memory m = {.has[FAB_MODULE_STATUS] = true};
    uint8_t page[96] = {0};
    m.bytes[FAB_MODULE_STATUS][0] = 0x11;
    m.bytes[FAB_MODULE_STATUS][22] = 41; /* 41.5 degrees */
    m.bytes[FAB_MODULE_STATUS][23] = 0x80;
    page[129 - 128] = 0xcc; /* power class 4 */
    page[130 - 128] = 0x23; /* connector code 0x23: the cable is fixed to the module */
    page[146 - 128] = 15;   /* length of the cable in metres */
    set_text(page + (148 - 128), 16, "Mellanox");
    set_text(page + (168 - 128), 16, "MFA1A00-E015");
    set_text(page + (184 - 128), 2, "B2");
    set_text(page + (196 - 128), 16, "MT2104FT00123");
    set_text(page + (212 - 128), 8, "210127");
    set_sum(page, 190);
    put_page(&m, page);
    m.has[FAB_MODULE_LIMITS] = true;
    m.bytes[FAB_MODULE_LIMITS][0] = 80;
    m.bytes[FAB_MODULE_LIMITS][4] = 70;
    return m;
}

START_TEST(a_qsfp28)
{
    struct fab_module_memory memory = qsfp28();
    struct fab_module m;
    ck_assert(fab_inventory_module_decode(&memory, &m));
    ck_assert_str_eq(fab_inventory_module_kind(m.identifier), "QSFP28");
    ck_assert_str_eq(fab_inventory_medium_name(m.medium), "active-optical");
    ck_assert(!m.damaged);
    ck_assert_str_eq(m.vendor, "Mellanox");
    ck_assert_str_eq(m.part, "MFA1A00-E015");
    ck_assert_str_eq(m.serial, "MT2104FT00123");
    ck_assert_str_eq(m.revision, "B2");
    ck_assert_str_eq(m.date, "2021-01-27");
    ck_assert_uint_eq(m.length_cm, 1500);
    ck_assert_uint_eq(m.power_mw, 3500);
    ck_assert_int_eq(m.temperature.now, 41 * 8 + 4);
    ck_assert_int_eq(m.temperature.limit, 80 * 8);
    ck_assert_int_eq(m.warning, 70 * 8);
    /* damages one bit of the vendor name, so that the checksum is wrong */
    memory.bytes[FAB_MODULE_NAMES][30] ^= 1;
    ck_assert(fab_inventory_module_decode(&memory, &m));
    ck_assert(m.damaged);
    memory.bytes[FAB_MODULE_NAMES][147 - 128] = 0xa0;
    memory.bytes[FAB_MODULE_NAMES][1] = 0xcf; /* power class 7 */
    ck_assert(fab_inventory_module_decode(&memory, &m));
    ck_assert_str_eq(fab_inventory_medium_name(m.medium), "copper");
    ck_assert_uint_eq(m.power_mw, 5000);
}
END_TEST

START_TEST(an_osfp)
{
    struct fab_module_memory memory = {.has[FAB_MODULE_STATUS] = true};
    struct fab_module m;
    uint8_t page[96] = {0x19};
    memory.bytes[FAB_MODULE_STATUS][0] = 0x19;
    memory.bytes[FAB_MODULE_STATUS][14] = 0xfd; /* -2.5 degrees */
    memory.bytes[FAB_MODULE_STATUS][15] = 0x80;
    set_text(page + 1, 16, "NVIDIA");
    set_text(page + (148 - 128), 16, "MMA4Z00-NS");
    set_text(page + (164 - 128), 2, "A4");
    set_text(page + (166 - 128), 16, "MT2318FT04567");
    set_text(page + (182 - 128), 8, "23x501");
    page[201 - 128] = 68; /* 17 W */
    page[202 - 128] = 0x43;
    page[203 - 128] = 0x0c; /* connector code 0x0c (MPO): the fibre is not fixed to the module */
    set_sum(page, 221);
    put_page(&memory, page);
    ck_assert(fab_inventory_module_decode(&memory, &m));
    ck_assert_str_eq(fab_inventory_module_kind(m.identifier), "OSFP");
    ck_assert_str_eq(fab_inventory_medium_name(m.medium), "optical");
    ck_assert(!m.damaged);
    ck_assert_str_eq(m.vendor, "NVIDIA");
    ck_assert_str_eq(m.part, "MMA4Z00-NS");
    ck_assert_str_eq(m.serial, "MT2318FT04567");
    ck_assert_str_eq(m.date, "");
    ck_assert_uint_eq(m.length_cm, 0);
    ck_assert_uint_eq(m.power_mw, 17000);
    ck_assert_int_eq(m.temperature.now, -20);
    ck_assert_int_eq(m.temperature.limit, FAB_NO_TEMPERATURE);
    page[212 - 128] = 0x0b;
    page[203 - 128] = 0x23;
    set_sum(page, 221);
    put_page(&memory, page);
    ck_assert(fab_inventory_module_decode(&memory, &m));
    ck_assert_str_eq(fab_inventory_medium_name(m.medium), "copper");
    ck_assert_uint_eq(m.length_cm, 300);
}
END_TEST

static void check_request(const struct fab_module_memory *m, enum fab_module_part part, int address,
                          int page, int size)
{
    struct fab_reg_mcia r;
    ck_assert_int_eq(fab_inventory_module_request(m, part, &r), address >= 0);
    if (address < 0)
        return;
    ck_assert_int_eq(r.address, address);
    ck_assert_int_eq(r.page, page);
    ck_assert_int_eq(r.size, size);
    ck_assert_int_eq(r.i2c_address, 0x50);
}

START_TEST(requests_follow_the_kind_of_the_module)
{
    struct fab_module_memory m = {0};
    check_request(&m, FAB_MODULE_STATUS, 0, 0, 48);
    check_request(&m, FAB_MODULE_NAMES, -1, 0, 0);
    m.has[FAB_MODULE_STATUS] = true; /* identifier 0 is no kind of module that the manager knows */
    check_request(&m, FAB_MODULE_NAMES, -1, 0, 0);
    m.bytes[FAB_MODULE_STATUS][0] = 0x11;
    check_request(&m, FAB_MODULE_NAMES, 128, 0, 48);
    check_request(&m, FAB_MODULE_SERIAL, 176, 0, 48);
    check_request(&m, FAB_MODULE_LIMITS, 128, 3, 8);
    m.bytes[FAB_MODULE_STATUS][2] = 0x04; /* the module says that it has no pages beyond page 0 */
    check_request(&m, FAB_MODULE_LIMITS, -1, 0, 0);
    m.bytes[FAB_MODULE_STATUS][0] = 0x19;
    check_request(&m, FAB_MODULE_LIMITS, 128, 2, 8);
    m.bytes[FAB_MODULE_STATUS][2] = 0x80;
    check_request(&m, FAB_MODULE_LIMITS, -1, 0, 0);
}
END_TEST

/* Whatever bytes a module has, all texts must be printable and end within their arrays. */
START_TEST(hostile_modules)
{
    struct fab_prng rng;
    fab_base_prng_init(&rng, test_seed("hostile_modules", 7));
    for (unsigned round = 0; round < test_rounds(20000); round++) {
        struct fab_module_memory memory;
        struct fab_module m;
        uint8_t *bytes = &memory.bytes[0][0];
        for (size_t i = 0; i < sizeof memory.bytes; i++)
            bytes[i] = (uint8_t)fab_base_prng_below(&rng, 256);
        if (round % 2 == 0)
            bytes[0] = (uint8_t)(0x0c + fab_base_prng_below(&rng, 19));
        for (int part = 0; part < FAB_MODULE_PARTS; part++)
            memory.has[part] = fab_base_prng_below(&rng, 4) != 0;
        ck_assert_int_eq(fab_inventory_module_decode(&memory, &m), memory.has[FAB_MODULE_STATUS]);
        for (const char *c = m.vendor; *c != '\0'; c++)
            ck_assert(*c >= ' ' && *c <= '~');
        ck_assert_uint_le(strlen(m.vendor), 16);
        ck_assert_uint_le(strlen(m.serial), 16);
        ck_assert(m.date[0] == '\0' || strlen(m.date) == 10);
    }
}
END_TEST

/* ---- firmware that differs ------------------------------------------------------------------- */

static const struct fab_firmware *find_version(const struct fab_firmware *all, size_t count,
                                               const char *model, const char *version)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].model, model) == 0 && strcmp(all[i].version, version) == 0)
            return &all[i];
    ck_abort_msg("%s %s is missing", model, version);
    return NULL;
}

START_TEST(firmware_differs_from_that_of_the_peers)
{
    struct fab_firmware all[] = {
        {"A", "1.1", 0, NULL, false}, {"B", "1.0", 0, NULL, false}, {"A", "1.0", 0, NULL, true},
        {"A", "1.1", 0, NULL, false}, {"", "1.0", 0, NULL, true},   {"B", "2.0", 0, NULL, true},
        {"A", "1.1", 0, NULL, false}, {"", "1.0", 0, NULL, true},   {"", "2.0", 0, NULL, true},
        {"A", "", 0, NULL, true},     {"C", "1.0", 0, NULL, false}, {"C", "1.0", 0, NULL, false},
        {"D", "1", 0, NULL, false},   {"D", "1", 0, NULL, false},   {"D", "2", 0, NULL, false},
        {"D", "2", 0, NULL, false},   {"A", "1.1", 0, NULL, false},
    };
    size_t count = sizeof all / sizeof all[0];
    fab_inventory_find_odd(all, count);
    ck_assert(find_version(all, count, "A", "1.0")->odd);
    ck_assert_str_eq(find_version(all, count, "A", "1.0")->usual, "1.1");
    ck_assert(!find_version(all, count, "A", "1.1")->odd);
    ck_assert(!find_version(all, count, "A", "")->odd);
    /* each of two versions is on one device, so none of them is the usual one */
    ck_assert(!find_version(all, count, "B", "2.0")->odd);
    ck_assert(!find_version(all, count, "", "2.0")->odd);
    /* each of two versions is on half of the devices, so none of them is the usual one */
    ck_assert(!find_version(all, count, "D", "1")->odd);
    ck_assert_ptr_null(find_version(all, count, "D", "2")->usual);
    fab_inventory_find_odd(NULL, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("inventory");
    TCase *t = tcase_create("inventory");
    tcase_add_test(t, general_info_by_hand);
    tcase_add_test(t, old_firmware_and_odd_dates);
    tcase_add_test(t, system_texts_are_printable);
    tcase_add_test(t, temperatures_of_devices);
    tcase_add_test(t, a_qsfp28);
    tcase_add_test(t, an_osfp);
    tcase_add_test(t, requests_follow_the_kind_of_the_module);
    tcase_add_test(t, hostile_modules);
    tcase_add_test(t, firmware_differs_from_that_of_the_peers);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
