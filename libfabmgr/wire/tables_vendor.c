/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of fields (tables.c explains them) of the attributes by which devices describe
 * themselves. vendor.h lists the sources of the layouts. These sources count the bits of a word
 * from the least significant bit; here, as in all tables, offsets count from the most significant
 * bit. */
#include "libfabmgr/wire/vendor.h"

#include "libfabmgr/wire/table.h"

#define BYTES(type, m, name, byte, count) ARRAY(type, m[0], name, (byte)*8, 8, count, 8, 1, HEX)

#define GI(m, name, at, n, how) SCALAR(struct fab_general_info, m, name, at, n, how)
static const struct fab_field general_info[] = {
    GI(hw_revision, "HWInfo.Revision", 0, 16, HEX),
    GI(device_id, "HWInfo.DeviceID", 16, 16, HEX),
    GI(num_ports, "HWInfo.NumPorts", 36, 12, DEC),
    GI(uptime_s, "HWInfo.UpTime", 224, 32, DEC),
    GI(major, "FWInfo.Major", 264, 8, DEC),
    GI(minor, "FWInfo.Minor", 272, 8, DEC),
    GI(sub_minor, "FWInfo.SubMinor", 280, 8, DEC),
    GI(build_id, "FWInfo.BuildID", 288, 32, HEX),
    GI(month, "FWInfo.Month", 320, 8, HEX),
    GI(day, "FWInfo.Day", 328, 8, HEX),
    GI(year, "FWInfo.Year", 336, 16, HEX),
    BYTES(struct fab_general_info, psid, "FWInfo.PSID", 48, 16),
    GI(ext_major, "FWInfo.ExtendedMajor", 544, 32, DEC),
    GI(ext_minor, "FWInfo.ExtendedMinor", 576, 32, DEC),
    GI(ext_sub_minor, "FWInfo.ExtendedSubMinor", 608, 32, DEC),
    ARRAY(struct fab_general_info, capabilities[0], "CapabilityMask", 1024, 32, 4, 32, 4, HEX),
};
const struct fab_attr fab_wire_attr_general_info =
    ATTR("GeneralInfo", FAB_VENDOR_GENERAL_INFO, 144, struct fab_general_info, general_info);

#define LANE(m, name, at, n) ARRAY(struct fab_reg_pmlp, lane[0].m, name, at, n, 8, 32, 2, DEC)
static const struct fab_field pmlp[] = {
    SCALAR(struct fab_reg_pmlp, port, "local_port", 8, 8, DEC),
    SCALAR(struct fab_reg_pmlp, port_high, "lp_msb", 18, 2, DEC),
    SCALAR(struct fab_reg_pmlp, width, "width", 24, 8, DEC),
    LANE(slot, "slot_index", 52, 4),
    LANE(module, "module", 56, 8),
};
const struct fab_attr fab_wire_reg_pmlp =
    ATTR("PMLP", FAB_REGISTER_PMLP, 64, struct fab_reg_pmlp, pmlp);

static const struct fab_field mfcr[] = {
    SCALAR(struct fab_reg_mfcr, fans, "tacho_active", 32, 16, HEX),
};
const struct fab_attr fab_wire_reg_mfcr =
    ATTR("MFCR", FAB_REGISTER_MFCR, 8, struct fab_reg_mfcr, mfcr);

static const struct fab_field mfsm[] = {
    SCALAR(struct fab_reg_mfsm, fan, "tacho", 0, 8, DEC),
    SCALAR(struct fab_reg_mfsm, rpm, "rpm", 48, 16, DEC),
};
const struct fab_attr fab_wire_reg_mfsm =
    ATTR("MFSM", FAB_REGISTER_MFSM, 8, struct fab_reg_mfsm, mfsm);

#define TEMP(m, name, at, n) SCALAR(struct fab_reg_mtmp, m, name, at, n, DEC)
static const struct fab_field mtmp[] = {
    TEMP(slot, "slot_index", 12, 4),
    TEMP(sensor, "sensor_index", 20, 12),
    TEMP(now, "temperature", 48, 16),
    TEMP(max_valid, "mte", 64, 1),
    TEMP(max, "max_temperature", 80, 16),
    TEMP(threshold_high, "temperature_threshold_hi", 112, 16),
    TEMP(threshold_low, "temperature_threshold_lo", 144, 16),
    BYTES(struct fab_reg_mtmp, name, "sensor_name", 24, 8),
};
const struct fab_attr fab_wire_reg_mtmp =
    ATTR("MTMP", FAB_REGISTER_MTMP, 32, struct fab_reg_mtmp, mtmp);

#define RECORD(m, name, at)                                                                        \
    ARRAY(struct fab_reg_mtbr, record[0].m, name, at, 16, FAB_MTBR_RECORDS, 32, 4, DEC)
static const struct fab_field mtbr[] = {
    SCALAR(struct fab_reg_mtbr, slot, "slot_index", 12, 4, DEC),
    SCALAR(struct fab_reg_mtbr, base_sensor, "base_sensor_index", 20, 12, DEC),
    SCALAR(struct fab_reg_mtbr, count, "num_rec", 56, 8, DEC),
    RECORD(max, "max_temperature", 128),
    RECORD(now, "temperature", 144),
};
const struct fab_attr fab_wire_reg_mtbr =
    ATTR("MTBR", FAB_REGISTER_MTBR, FAB_VENDOR_REGISTER_MOST, struct fab_reg_mtbr, mtbr);

#define MODULE(m, name, at, n) SCALAR(struct fab_reg_mcia, m, name, at, n, DEC)
static const struct fab_field mcia[] = {
    MODULE(module, "module", 8, 8),
    MODULE(slot, "slot_index", 16, 4),
    MODULE(status, "status", 24, 8),
    MODULE(i2c_address, "i2c_device_address", 32, 8),
    MODULE(page, "page_number", 40, 8),
    MODULE(address, "device_address", 48, 16),
    MODULE(bank, "bank_number", 72, 8),
    MODULE(size, "size", 80, 16),
    BYTES(struct fab_reg_mcia, bytes, "dword", 16, FAB_MCIA_BYTES),
};
const struct fab_attr fab_wire_reg_mcia =
    ATTR("MCIA", FAB_REGISTER_MCIA, 64, struct fab_reg_mcia, mcia);

static const struct fab_field msgi[] = {
    BYTES(struct fab_reg_msgi, serial, "serial_number", 0, 24),
    BYTES(struct fab_reg_msgi, part, "part_number", 32, 20),
    BYTES(struct fab_reg_msgi, revision, "revision", 56, 4),
    BYTES(struct fab_reg_msgi, product, "product_name", 64, 64),
};
const struct fab_attr fab_wire_reg_msgi =
    ATTR("MSGI", FAB_REGISTER_MSGI, 128, struct fab_reg_msgi, msgi);

const struct fab_attr *fab_wire_register(uint16_t id)
{
    static const struct fab_attr *const all[] = {
        &fab_wire_reg_pmlp, &fab_wire_reg_mfcr, &fab_wire_reg_mfsm, &fab_wire_reg_mtmp,
        &fab_wire_reg_mtbr, &fab_wire_reg_mcia, &fab_wire_reg_msgi,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->id == id)
            return all[i];
    return NULL;
}
