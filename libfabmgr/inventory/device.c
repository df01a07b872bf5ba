/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/inventory/device.h"

#include <inttypes.h>
#include <stdio.h>

#include "libfabmgr/inventory/printable.h"

/* Temperatures in MTBR from RECORD_ERROR_FIRST to RECORD_ERROR_LAST are error codes. */
#define RECORD_ERROR_FIRST 0x8000
#define RECORD_ERROR_LAST 0x8003

/* Writes the firmware version. Devices since ConnectX-3 and SwitchX report it in the extended
 * fields. */
static void take_firmware(const struct fab_general_info *from, char *ret)
{
    bool extended = (from->ext_major | from->ext_minor | from->ext_sub_minor) != 0;
    snprintf(ret, FAB_INVENTORY_FIRMWARE, "%" PRIu32 ".%" PRIu32 ".%04" PRIu32,
             extended ? from->ext_major : from->major, extended ? from->ext_minor : from->minor,
             extended ? from->ext_sub_minor : from->sub_minor);
}

static bool is_decimal(unsigned bcd)
{
    for (; bcd != 0; bcd >>= 4)
        if ((bcd & 0xf) > 9)
            return false;
    return true;
}

/* Writes the date of the firmware, which the device reports as binary-coded decimal. */
static void take_date(const struct fab_general_info *from, char ret[11])
{
    ret[0] = '\0';
    if (from->year != 0 && from->month <= 0x12 && from->day <= 0x31 && is_decimal(from->year) &&
        is_decimal(from->month) && is_decimal(from->day))
        snprintf(ret, 11, "%04x-%02x-%02x", from->year, from->month & 0xffu, from->day & 0xffu);
}

bool fab_inventory_is_known_vendor(uint32_t vendor_id)
{
    return vendor_id == 0x0002c9 || vendor_id == 0x0008f1 || vendor_id == 0x00119f;
}

void fab_inventory_take_general_info(const struct fab_general_info *from,
                                     struct fab_inventory_device *to)
{
    to->device_id = from->device_id;
    to->hw_revision = from->hw_revision;
    take_firmware(from, to->firmware);
    take_date(from, to->firmware_date);
    fab_inventory_printable(from->psid, sizeof from->psid, to->psid);
}

void fab_inventory_take_msgi(const struct fab_reg_msgi *from, struct fab_inventory_device *to)
{
    fab_inventory_printable(from->serial, sizeof from->serial, to->serial);
    fab_inventory_printable(from->part, sizeof from->part, to->part);
    fab_inventory_printable(from->revision, sizeof from->revision, to->revision);
    fab_inventory_printable(from->product, sizeof from->product, to->product);
}

struct fab_temperature fab_inventory_temperature(const struct fab_reg_mtmp *from)
{
    struct fab_temperature t = {(int16_t)from->now, (int16_t)from->threshold_high};
    /* A device that lacks this sensor answers with zeros. */
    if (t.now == 0)
        t.now = FAB_NO_TEMPERATURE;
    if (t.limit <= 0)
        t.limit = FAB_NO_TEMPERATURE;
    return t;
}

int16_t fab_inventory_record_temperature(uint16_t record)
{
    bool good = record != 0 && (record < RECORD_ERROR_FIRST || record > RECORD_ERROR_LAST);
    return good ? (int16_t)record : FAB_NO_TEMPERATURE;
}
