/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes what untrusted devices report about themselves: the attributes and registers of
 * libfabmgr/wire/vendor.h, and the memory of modules. The readers must not read out of bounds, and
 * what they read must pack to bytes that give the same values. Texts must be printable and end
 * within their arrays.
 *
 * The first byte selects an attribute or the memory of a module. The other bytes are its contents.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/inventory/device.h"
#include "libfabmgr/inventory/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_text(const char *text, size_t room)
{
    const char *end = memchr(text, '\0', room);
    must(end != NULL);
    for (; text < end; text++)
        must(*text >= ' ' && *text <= '~');
}

static void check_device(const struct fab_inventory_device *d)
{
    check_text(d->firmware, sizeof d->firmware);
    check_text(d->firmware_date, sizeof d->firmware_date);
    check_text(d->psid, sizeof d->psid);
    check_text(d->part, sizeof d->part);
    check_text(d->serial, sizeof d->serial);
    check_text(d->revision, sizeof d->revision);
    check_text(d->product, sizeof d->product);
}

static void use(const struct fab_attr *attr, const void *value)
{
    struct fab_inventory_device d = {0};
    if (attr == &fab_wire_attr_general_info)
        fab_inventory_take_general_info(value, &d);
    else if (attr == &fab_wire_reg_msgi)
        fab_inventory_take_msgi(value, &d);
    else if (attr == &fab_wire_reg_mtmp)
        (void)fab_inventory_temperature(value);
    check_device(&d);
}

static void read_attribute(const struct fab_attr *attr, const uint8_t *data, size_t size)
{
    _Alignas(8) uint8_t value[512] = {0}, again[512] = {0};
    uint8_t bytes[FAB_VENDOR_REGISTER_MOST];
    char text[8192];
    must(sizeof value >= attr->struct_size);
    if (fab_wire_attr_unpack(attr, data, size, value) != FAB_OK)
        return;
    must(fab_wire_attr_pack(attr, value, bytes, sizeof bytes) == FAB_OK);
    must(fab_wire_attr_unpack(attr, bytes, sizeof bytes, again) == FAB_OK);
    must(fab_wire_attr_diff(attr, value, again) == NULL);
    (void)fab_wire_attr_print(attr, value, text, sizeof text);
    use(attr, value);
}

/* Reads the memory of a module. The first byte of `data` is a bitset of the parts of the memory
 * that could be read. The parts follow. */
static void read_module(const uint8_t *data, size_t size)
{
    struct fab_module_memory memory = {0};
    struct fab_module m;
    struct fab_reg_mcia request;
    if (size == 0)
        return;
    for (int part = 0; part < FAB_MODULE_PARTS; part++)
        memory.has[part] = data[0] >> part & 1;
    size = size - 1 < sizeof memory.bytes ? size - 1 : sizeof memory.bytes;
    memcpy(memory.bytes, data + 1, size);
    must(fab_inventory_module_decode(&memory, &m) == memory.has[FAB_MODULE_STATUS]);
    check_text(m.vendor, sizeof m.vendor);
    check_text(m.part, sizeof m.part);
    check_text(m.serial, sizeof m.serial);
    check_text(m.revision, sizeof m.revision);
    check_text(m.date, sizeof m.date);
    for (int part = 0; part < FAB_MODULE_PARTS; part++)
        if (fab_inventory_module_request(&memory, (enum fab_module_part)part, &request))
            must(request.size <= FAB_MCIA_BYTES && request.address + request.size <= 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fab_attr *const attrs[] = {
        &fab_wire_attr_general_info, &fab_wire_reg_pmlp, &fab_wire_reg_mfcr, &fab_wire_reg_mfsm,
        &fab_wire_reg_mtmp,          &fab_wire_reg_mtbr, &fab_wire_reg_mcia, &fab_wire_reg_msgi,
    };
    const size_t count = sizeof attrs / sizeof attrs[0];
    if (size == 0)
        return 0;
    if (data[0] % (count + 1) < count)
        read_attribute(attrs[data[0] % (count + 1)], data + 1, size - 1);
    else
        read_module(data + 1, size - 1);
    return 0;
}
