/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the memory of modules. The addresses are those of the specifications: bytes 0 to 127 are
 * the lower memory, and bytes 128 to 255 are a page. Both specifications define the same values at
 * different addresses; layouts[] has the addresses of each specification.
 */
#include "libfabmgr/inventory/module.h"

#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/inventory/printable.h"

#define NAMES_AT 128u
#define LIMITS_AT 128
#define LIMITS_SIZE 8 /* size in bytes of four limits: high and low alarm, high and low warning */
#define NO_CONNECTOR 0x23
/* codes for the technology of the transmitter; all other codes up to 0x11 stand for lasers */
#define COPPER 0x0a
#define COPPER_EQUALIZED 0x0b
#define ACTIVE_COPPER_LAST 0x0f

enum layout { SFF8636, CMIS, LAYOUTS, NO_LAYOUT = LAYOUTS };
static const struct {
    uint8_t flat_mask; /* bit of byte 2 that is set if the module has only page 0 */
    uint8_t limits_page;
    uint8_t temperature, vendor, part, revision, serial, date, connector;
    /* Number of the last byte that the checksum covers; the first one is byte 128. The next byte
     * after `sum_last` has the checksum. */
    uint8_t sum_last;
} layouts[LAYOUTS] = {
    [SFF8636] = {0x04, 3, 22, 148, 168, 184, 196, 212, 130, 190},
    [CMIS] = {0x80, 2, 14, 129, 148, 164, 166, 182, 203, 221},
};

static const struct {
    uint8_t identifier, layout;
    const char *name;
} kinds[] = {
    {0x0c, SFF8636, "QSFP"}, {0x0d, SFF8636, "QSFP+"}, {0x11, SFF8636, "QSFP28"},
    {0x18, CMIS, "QSFP-DD"}, {0x19, CMIS, "OSFP"},     {0x1e, CMIS, "QSFP-CMIS"},
};

static enum layout layout_of(uint8_t identifier)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].identifier == identifier)
            return (enum layout)kinds[i].layout;
    return NO_LAYOUT;
}

const char *fab_inventory_module_kind(uint8_t identifier)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].identifier == identifier)
            return kinds[i].name;
    return "";
}

const char *fab_inventory_medium_name(enum fab_medium medium)
{
    static const char *const names[] = {"", "copper", "active-copper", "active-optical", "optical"};
    return (size_t)medium < sizeof names / sizeof names[0] ? names[medium] : "";
}

bool fab_inventory_module_request(const struct fab_module_memory *m, enum fab_module_part part,
                                  struct fab_reg_mcia *ret)
{
    const uint8_t *status = m->bytes[FAB_MODULE_STATUS];
    enum layout layout = layout_of(status[0]);
    *ret = (struct fab_reg_mcia){.i2c_address = FAB_MODULE_I2C, .size = FAB_MCIA_BYTES};
    if (part == FAB_MODULE_STATUS)
        return true;
    if (!m->has[FAB_MODULE_STATUS] || layout == NO_LAYOUT)
        return false;
    if (part != FAB_MODULE_LIMITS) {
        ret->address = part == FAB_MODULE_NAMES ? NAMES_AT : NAMES_AT + FAB_MCIA_BYTES;
        return true;
    }
    ret->address = LIMITS_AT;
    ret->size = LIMITS_SIZE;
    ret->page = layouts[layout].limits_page;
    return (status[2] & layouts[layout].flat_mask) == 0;
}

/* ---- reading the memory ---------------------------------------------------------------------- */

/* Page 0 of the memory, which begins at byte 128. Bytes that were not read are 0. */
struct page {
    const uint8_t *from; /* from[0] is byte 128 of the memory */
};

static const uint8_t *at(const struct page *p, uint8_t address)
{
    return p->from + (address - NAMES_AT);
}

/* Converts a temperature from units of 1/256 degree Celsius to units of 1/8 degree. Returns
 * FAB_NO_TEMPERATURE for 0, which modules without a sensor report. */
static int16_t temperature(const uint8_t *bytes)
{
    int16_t value = (int16_t)fab_base_get_be16(bytes);
    return value == 0 ? FAB_NO_TEMPERATURE : (int16_t)(value / 32);
}

/* Writes the date, which is text in the memory: two digits each for the year, the month and the
 * day. */
static void take_date(const uint8_t *bytes, char ret[11])
{
    ret[0] = '\0';
    for (int i = 0; i < 6; i++)
        if (bytes[i] < '0' || bytes[i] > '9')
            return;
    snprintf(ret, 11, "20%.2s-%.2s-%.2s", (const char *)bytes, (const char *)bytes + 2,
             (const char *)bytes + 4);
}

static enum fab_medium medium_of(uint8_t technology, uint8_t connector)
{
    if (technology == COPPER || technology == COPPER_EQUALIZED)
        return FAB_MEDIUM_COPPER;
    if (technology > COPPER_EQUALIZED && technology <= ACTIVE_COPPER_LAST)
        return FAB_MEDIUM_ACTIVE_COPPER;
    return connector == NO_CONNECTOR ? FAB_MEDIUM_ACTIVE_OPTICAL : FAB_MEDIUM_OPTICAL;
}

/* ---- SFF-8636 -------------------------------------------------------------------------------- */

/* Decodes the power class (SFF-8636 6.3.2) to mW. Bits 6 and 7 stand for the classes 1 to 4. If
 * bits 0 and 1 are not 0, they stand for the classes 5 to 7 instead. */
static uint32_t power_sff8636(uint8_t extended_identifier)
{
    static const uint16_t low[] = {1500, 2000, 2500, 3500}, high[] = {0, 4000, 4500, 5000};
    uint8_t upper = extended_identifier & 3u;
    return upper != 0 ? high[upper] : low[extended_identifier >> 6];
}

static void take_sff8636(const struct page *p, struct fab_module *to)
{
    to->medium = (uint8_t)medium_of(*at(p, 147) >> 4, *at(p, 130));
    to->power_mw = power_sff8636(*at(p, 129));
    if (to->medium != FAB_MEDIUM_OPTICAL)
        to->length_cm = *at(p, 146) * 100u;
}

/* ---- CMIS ------------------------------------------------------------------------------------ */

/* Decodes the length of a cable (CMIS 8.3.10) to cm. Bits 0 to 5 are the length in a unit that bits
 * 6 and 7 select: 0.1 m, 1 m, 10 m or 100 m. */
static uint32_t length_cmis(uint8_t length)
{
    static const uint16_t centimetres[] = {10, 100, 1000, 10000};
    return (uint32_t)(length & 0x3f) * centimetres[length >> 6];
}

static void take_cmis(const struct page *p, struct fab_module *to)
{
    to->medium = (uint8_t)medium_of(*at(p, 212), *at(p, 203));
    to->power_mw = *at(p, 201) * 250u;
    if (to->medium != FAB_MEDIUM_OPTICAL)
        to->length_cm = length_cmis(*at(p, 202));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool sum_is_wrong(const struct page *p, enum layout layout)
{
    uint8_t sum = 0, last = layouts[layout].sum_last;
    for (unsigned address = NAMES_AT; address <= last; address++)
        sum = (uint8_t)(sum + *at(p, (uint8_t)address));
    return sum != *at(p, (uint8_t)(last + 1));
}

static void take_page(const struct page *p, enum layout layout, struct fab_module *to)
{
    fab_inventory_printable(at(p, layouts[layout].vendor), 16, to->vendor);
    fab_inventory_printable(at(p, layouts[layout].part), 16, to->part);
    fab_inventory_printable(at(p, layouts[layout].revision), 2, to->revision);
    fab_inventory_printable(at(p, layouts[layout].serial), 16, to->serial);
    take_date(at(p, layouts[layout].date), to->date);
    if (layout == SFF8636)
        take_sff8636(p, to);
    else
        take_cmis(p, to);
    to->damaged = sum_is_wrong(p, layout);
}

bool fab_inventory_module_decode(const struct fab_module_memory *m, struct fab_module *ret)
{
    uint8_t page[2 * FAB_MCIA_BYTES];
    const uint8_t *status = m->bytes[FAB_MODULE_STATUS], *limits = m->bytes[FAB_MODULE_LIMITS];
    enum layout layout = layout_of(status[0]);
    *ret = (struct fab_module){.temperature = {FAB_NO_TEMPERATURE, FAB_NO_TEMPERATURE},
                               .warning = FAB_NO_TEMPERATURE};
    if (!m->has[FAB_MODULE_STATUS])
        return false;
    ret->identifier = status[0];
    if (layout == NO_LAYOUT)
        return true;
    ret->temperature.now = temperature(status + layouts[layout].temperature);
    if (m->has[FAB_MODULE_LIMITS]) {
        ret->temperature.limit = temperature(limits);
        ret->warning = temperature(limits + 4);
    }
    if (m->has[FAB_MODULE_NAMES] && m->has[FAB_MODULE_SERIAL]) {
        memcpy(page, m->bytes[FAB_MODULE_NAMES], FAB_MCIA_BYTES);
        memcpy(page + FAB_MCIA_BYTES, m->bytes[FAB_MODULE_SERIAL], FAB_MCIA_BYTES);
        take_page(&(struct page){page}, layout, ret);
    }
    return true;
}
