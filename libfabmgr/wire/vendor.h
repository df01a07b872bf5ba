/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes by which devices describe themselves: GeneralInfo and AccessRegister of the vendor
 * class 0x0a (Mellanox, now NVIDIA), and the registers that AccessRegister reads. They are not part
 * of the specification. Sources of the layouts, all with an OpenIB BSD licence: infiniband-diags
 * (vendstat.c) and mstflint (mtcr_ib_ofed.c, register_access_table.adb). No layout was tested on
 * hardware.
 */
#ifndef LIBFABMGR_WIRE_VENDOR_H
#define LIBFABMGR_WIRE_VENDOR_H

#include "libfabmgr/wire/wire.h"

/* Byte offsets in a MAD of the vendor class. */
#define FAB_VENDOR_KEY 24  /* VS_Key, 8 bytes */
#define FAB_VENDOR_DATA 32 /* start of the attribute GeneralInfo */
#define FAB_VENDOR_REGISTER                                                                        \
    36 /* start of the register that AccessRegister reads, after the block number */
#define FAB_VENDOR_REGISTER_MOST 220 /* maximum number of bytes of a register in one MAD */

enum fab_vendor_attr_id {
    FAB_VENDOR_GENERAL_INFO = 0x0017,
    /* AccessRegister; its AttributeModifier is an enum fab_register_id */
    FAB_VENDOR_ACCESS_REGISTER = 0x0051,
};
enum fab_register_id {
    FAB_REGISTER_PMLP = 0x5002, /* the module to which a port belongs */
    FAB_REGISTER_MFCR = 0x9001, /* which fans the device has */
    FAB_REGISTER_MFSM = 0x9003, /* the speed of one fan */
    FAB_REGISTER_MTMP = 0x900a, /* one temperature sensor */
    FAB_REGISTER_MTBR = 0x900f, /* several temperature sensors */
    FAB_REGISTER_MCIA = 0x9014, /* a part of the memory of a module */
    FAB_REGISTER_MSGI = 0x9021, /* part and serial number of the system */
};

struct fab_general_info {
    uint16_t hw_revision, device_id, num_ports;
    uint32_t uptime_s; /* seconds since the device started */
    uint8_t major, minor, sub_minor;
    uint32_t build_id;
    /* date of the firmware; month, day and year are binary-coded decimals: 2025 is 0x2025 */
    uint8_t month, day;
    uint16_t year;
    uint8_t psid[16];
    uint32_t ext_major, ext_minor, ext_sub_minor;
    uint32_t capabilities[4];
};
/* Bit of capabilities[0]: the device answers Get of AccessRegister in the vendor class. */
#define FAB_GENERAL_INFO_REGISTERS 0x00100000u

struct fab_reg_pmlp {
    uint8_t port, port_high; /* the port number is port_high * 256 + port */
    uint8_t width;           /* number of lanes; 0: the port has no module */
    struct {
        uint8_t module, slot;
    } lane[8];
};
struct fab_reg_mfcr {
    uint16_t fans; /* bitset of the tachometers that the device has */
};
struct fab_reg_mfsm {
    uint8_t fan;  /* index of the tachometer of the fan */
    uint16_t rpm; /* rotations per minute */
};
/* Temperatures are two's complement numbers in units of 0.125 degrees Celsius. */
struct fab_reg_mtmp {
    /* number of the sensor: 0: the sensor of the ASIC; 64 + n: the sensor of module n */
    uint16_t sensor;
    uint8_t slot, max_valid;
    uint16_t now, max, threshold_high, threshold_low;
    uint8_t name[8];
};
#define FAB_SENSOR_ASIC 0
#define FAB_SENSOR_MODULE 64 /* sensor of module 0 */
#define FAB_MTBR_RECORDS 51
struct fab_reg_mtbr {
    uint16_t base_sensor;
    uint8_t slot, count;
    struct {
        /* from 0x8000 to 0x8003, `now` is not a temperature: the sensor has no reading */
        uint16_t max, now;
    } record[FAB_MTBR_RECORDS];
};
/* Number of bytes of a module's memory that every firmware version can return in one request. */
#define FAB_MCIA_BYTES 48
struct fab_reg_mcia {
    uint8_t status, module, slot;
    uint8_t i2c_address, page, bank;
    uint16_t address, size;
    uint8_t bytes[FAB_MCIA_BYTES];
};
enum fab_mcia_status { FAB_MCIA_OK = 0, FAB_MCIA_NO_EEPROM = 1, FAB_MCIA_NOT_CONNECTED = 3 };
struct fab_reg_msgi {
    uint8_t serial[24], part[20], revision[4], product[64];
};
extern const struct fab_attr fab_wire_attr_general_info, fab_wire_reg_pmlp, fab_wire_reg_mfcr,
    fab_wire_reg_mfsm, fab_wire_reg_mtmp, fab_wire_reg_mtbr, fab_wire_reg_mcia, fab_wire_reg_msgi;
/* Returns the field table of a register; NULL: there is none. */
const struct fab_attr *fab_wire_register(uint16_t id);

#endif
