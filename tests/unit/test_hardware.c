/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hardware report asks, and the bits that fabricd does not know. */
#include <string.h>

#include "fabricd/hardware/private.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static const struct hardware_probe *probe(const char *name)
{
    for (uint32_t i = 0; i < HARDWARE_PROBES; i++)
        if (strcmp(hardware_probes[i].name, name) == 0)
            return &hardware_probes[i];
    ck_abort_msg("no probe %s", name);
    return NULL;
}

/* Each bit of SwitchInfo is either a bit that fabricd keeps, or counts as unknown. */
START_TEST(each_bit_is_known_or_told)
{
    const struct hardware_probe *p = probe("SwitchInfo");
    uint32_t first, unknown_bits = 0;
    for (uint32_t bit = 0; bit < 8u * p->attr->wire_size; bit++) {
        uint8_t bytes[FAB_SMP_DATA] = {0}, again[FAB_SMP_DATA];
        struct fab_switch_info info;
        bytes[bit / 8] = (uint8_t)(1u << bit % 8);
        ck_assert_int_eq(fab_wire_attr_unpack(p->attr, bytes, sizeof(bytes), &info), FAB_OK);
        ck_assert_int_eq(fab_wire_attr_pack(p->attr, &info, again, sizeof(again)), FAB_OK);
        bool known = memcmp(bytes, again, p->attr->wire_size) == 0;
        ck_assert_uint_eq(hardware_unknown_bytes(p, bytes, sizeof(bytes), &first), !known);
        ck_assert(known || first == bit / 8);
        unknown_bits += !known;
    }
    ck_assert_uint_gt(unknown_bits, 0);
    ck_assert_uint_lt(unknown_bits, 32);
}
END_TEST

START_TEST(the_first_of_several_bytes_is_told)
{
    const struct hardware_probe *p = probe("PortInfo");
    uint8_t bytes[FAB_SMP_DATA];
    uint32_t all, first;
    memset(bytes, 0xff, sizeof(bytes));
    all = hardware_unknown_bytes(p, bytes, sizeof(bytes), &first);
    ck_assert_uint_gt(all, 1);
    ck_assert_uint_eq(hardware_unknown_bytes(p, bytes, p->attr->wire_size - 1u, &first), 0);
    ck_assert_uint_eq(hardware_unknown_bytes(probe("NodeDescription"), bytes, 64, &first), 0);
}
END_TEST

START_TEST(only_devices_that_have_an_attribute_are_asked)
{
    struct fab_node_info adapter = {.node_type = FAB_NODE_CA, .vendor_id = 0x0002c9};
    struct fab_node_info other = {.node_type = FAB_NODE_SWITCH, .vendor_id = 0x001175};
    ck_assert(!hardware_applies(probe("SwitchInfo"), &adapter));
    ck_assert(hardware_applies(probe("SwitchInfo"), &other));
    ck_assert(hardware_applies(probe("GeneralInfo (vendor)"), &adapter));
    ck_assert(!hardware_applies(probe("GeneralInfo (vendor)"), &other));
    ck_assert(hardware_applies(probe("PortCounters"), &adapter));
    ck_assert(hardware_applies(probe("PortCounters"), &other));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hardware");
    TCase *t = tcase_create("hardware");
    tcase_add_test(t, each_bit_is_known_or_told);
    tcase_add_test(t, the_first_of_several_bytes_is_told);
    tcase_add_test(t, only_devices_that_have_an_attribute_are_asked);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
