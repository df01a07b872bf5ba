/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the memory of a cable or optic, as the public specifications SFF-8636 (QSFP, QSFP28,
 * QSFP56) and CMIS (OSFP, QSFP-DD, and newer QSFP) define it. The memory is not trusted: the result
 * is a valid struct for any bytes.
 */
#ifndef LIBFABMGR_INVENTORY_MODULE_H
#define LIBFABMGR_INVENTORY_MODULE_H

#include "libfabmgr/inventory/device.h"

#define FAB_MODULE_I2C 0x50
/* The parts of the memory that the manager reads. Each has at most FAB_MCIA_BYTES bytes. */
enum fab_module_part {
    FAB_MODULE_STATUS, /* from byte 0: kind of the module, and temperature */
    FAB_MODULE_NAMES,  /* from byte 128 of page 0: names of vendor and part */
    FAB_MODULE_SERIAL, /* from byte 176 of page 0: serial number and date */
    FAB_MODULE_LIMITS, /* limits of the temperature, on a page that depends on the kind of module */
    FAB_MODULE_PARTS
};
struct fab_module_memory {
    bool has[FAB_MODULE_PARTS];
    uint8_t bytes[FAB_MODULE_PARTS][FAB_MCIA_BYTES];
};
/* Sets page, address and size of the request that reads a part. Returns false if the module does
 * not have the part. Also returns false if FAB_MODULE_STATUS was not read yet, because this part
 * shows which other parts there are. */
bool fab_inventory_module_request(const struct fab_module_memory *m, enum fab_module_part part,
                                  struct fab_reg_mcia *ret);

enum fab_medium {
    FAB_MEDIUM_UNKNOWN,
    FAB_MEDIUM_COPPER,         /* passive copper cable (DAC) */
    FAB_MEDIUM_ACTIVE_COPPER,  /* copper cable with repeaters (ACC) */
    FAB_MEDIUM_ACTIVE_OPTICAL, /* optical cable with fixed ends (AOC) */
    FAB_MEDIUM_OPTICAL         /* transceiver without a fixed fibre */
};
/* Returns "", "copper", "active-copper", "active-optical" or "optical". */
const char *fab_inventory_medium_name(enum fab_medium medium);

/* Inventory of a module. If the module does not report a value, a text is "", a number is 0, and a
 * temperature is FAB_NO_TEMPERATURE. */
struct fab_module {
    uint8_t identifier; /* byte 0 of the memory: the kind of the module (SFF-8024) */
    uint8_t medium;     /* enum fab_medium */
    bool damaged;       /* true: the checksum of the memory is wrong */
    /* date: date of manufacture, such as "2024-03-14" */
    char vendor[17], part[17], serial[17], revision[3], date[11];
    /* length of the cable in cm; 0: the module has no fixed cable */
    uint32_t length_cm;
    uint32_t power_mw;                  /* maximum power that the module may use */
    struct fab_temperature temperature; /* temperature of the module; its limit is the high alarm */
    /* temperature at which the module warns (high warning), in 0.125 degrees Celsius */
    int16_t warning;
};
/* Returns the name of a kind of module, such as "QSFP28" or "OSFP"; "": not known. */
const char *fab_inventory_module_kind(uint8_t identifier);
/* Decodes the parts that were read. Returns false if FAB_MODULE_STATUS was not read. */
bool fab_inventory_module_decode(const struct fab_module_memory *m, struct fab_module *ret);

#endif
