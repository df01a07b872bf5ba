/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the memory of a cable or optic, as the public specifications SFF-8636 (QSFP, QSFP28,
 * QSFP56) and CMIS (OSFP, QSFP-DD, and newer QSFP) define it. The memory is not trusted: any bytes
 * give a valid struct.
 */
#ifndef LIBFABMGR_INVENTORY_MODULE_H
#define LIBFABMGR_INVENTORY_MODULE_H

#include "libfabmgr/inventory/device.h"

#define FAB_MODULE_I2C 0x50
/* The parts of the memory that the manager reads. Each has at most FAB_MCIA_BYTES bytes. */
enum fab_module_part {
    FAB_MODULE_STATUS, /* from byte 0: kind and temperature */
    FAB_MODULE_NAMES,  /* from byte 128 of page 0: vendor and part */
    FAB_MODULE_SERIAL, /* from byte 176 of page 0: serial number and date */
    FAB_MODULE_LIMITS, /* limits of the temperature */
    FAB_MODULE_PARTS
};
struct fab_module_memory {
    bool has[FAB_MODULE_PARTS];
    uint8_t bytes[FAB_MODULE_PARTS][FAB_MCIA_BYTES];
};
/* Sets page, address and size of the request that reads a part. Returns false if the module does
 * not have the part, or if FAB_MODULE_STATUS was not read, which tells whether the module has the
 * part. */
bool fab_inventory_module_request(const struct fab_module_memory *m, enum fab_module_part part,
                                  struct fab_reg_mcia *ret);

enum fab_medium {
    FAB_MEDIUM_UNKNOWN,
    FAB_MEDIUM_COPPER,         /* passive copper cable (DAC) */
    FAB_MEDIUM_ACTIVE_COPPER,  /* copper cable with repeaters (ACC) */
    FAB_MEDIUM_ACTIVE_OPTICAL, /* optical cable with fixed ends (AOC) */
    FAB_MEDIUM_OPTICAL         /* a transceiver for separate fibre */
};
/* Returns "", "copper", "active-copper", "active-optical" or "optical". */
const char *fab_inventory_medium_name(enum fab_medium medium);

/* A text is "", a number 0, and a temperature FAB_NO_TEMPERATURE, if the module does not have
 * it. */
struct fab_module {
    uint8_t identifier; /* byte 0 of the memory: the kind of the module (SFF-8024) */
    uint8_t medium;     /* enum fab_medium */
    bool damaged;       /* true: the checksum of the memory is wrong */
    char vendor[17], part[17], serial[17], revision[3], date[11]; /* date: "2024-03-14" */
    uint32_t length_cm;                 /* length of the cable; 0: the fibre is separate */
    uint32_t power_mw;                  /* maximum power that the module may use */
    struct fab_temperature temperature; /* limit: the high alarm of the module */
    /* temperature at which the module warns (high warning), in 0.125 degrees Celsius */
    int16_t warning;
};
/* Returns the name of the kind: "QSFP28", "OSFP" ...; "": not known. */
const char *fab_inventory_module_kind(uint8_t identifier);
/* Decodes the parts that were read. Returns false if FAB_MODULE_STATUS was not read. */
bool fab_inventory_module_decode(const struct fab_module_memory *m, struct fab_module *ret);

#endif
