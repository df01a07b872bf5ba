/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inventory of devices and modules: vendor class 0x0a with GeneralInfo and AccessRegister. The
 * models, serial numbers and cables are invented, but as varied as in a real fabric: they follow
 * from the GUID of the node, so that they are the same in every run. A device belongs to the
 * generation of its fastest port. About one device in 64 has older firmware than others of its
 * model. The two ends of a copper cable or active optical cable have the same serial number; other
 * optical links have an optic with its own serial number at each end.
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/vendor.h"

/* address of the first byte of a page in the memory of a module; the lower memory comes before
 * it */
#define PAGE_AT 128u
/* one degree Celsius in the registers, which count in units of 0.125 degrees */
#define DEGREE 8
#define ASIC_LIMIT (105 * DEGREE)
#define ODD_FIRMWARE 64

/* ---- models ---------------------------------------------------------------------------------- */

static const struct model {
    const char *speed; /* name of the speed of one lane */
    uint16_t device_id[2];
    uint16_t major[2];
    /* part number and product name: [0] of the adapter, [1] of the switch */
    const char *part[2], *product[2];
    uint8_t identifier;           /* identifier byte for this kind of module (SFF-8024) */
    const char *copper, *optical; /* part numbers of modules */
} models[] = {
    {"XDR",
     {0x1023, 0xd2f4},
     {40, 35},
     {"900-9X81Q-00CN", "Q3400-RA"},
     {"ConnectX-8 XDR", "Quantum-3 XDR"},
     0x19,
     "MCP4Y50-N001",
     "MMS4A00-XM"},
    {"NDR",
     {0x1021, 0xd2f2},
     {28, 31},
     {"MCX75310AAS-NEAT", "MQM9790-NS2F"},
     {"ConnectX-7 NDR", "Quantum-2 NDR"},
     0x19,
     "MCP4Y10-N001",
     "MMA4Z00-NS"},
    {"HDR",
     {0x101b, 0xd2f0},
     {20, 27},
     {"MCX653105A-HDAT", "MQM8790-HS2F"},
     {"ConnectX-6 HDR", "Quantum HDR"},
     0x11,
     "MCP1650-H001E30",
     "MFS1S00-H010E"},
    {"",
     {0x1017, 0xcf08},
     {16, 15},
     {"MCX555A-ECAT", "MSB7890-ES2F"},
     {"ConnectX-5 EDR", "Switch-IB 2 EDR"},
     0x11,
     "MCP1600-E001",
     "MFA1A00-E010"},
};

static const struct model *model_of(const struct fab_sim *s, uint32_t node)
{
    const struct fab_node *n = &s->fabric->nodes[node];
    uint8_t speeds = 0;
    for (unsigned p = 1; p <= n->num_ports; p++)
        speeds |= fab_wire_link_modes(&s->ports[n->first_port + p].info, FAB_LINK_SUPPORTED).speeds;
    const char *best = fab_wire_best_speed(speeds);
    for (size_t i = 0; i + 1 < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].speed, best) == 0)
            return &models[i];
    return &models[sizeof models / sizeof models[0] - 1];
}

static uint64_t hash_of(const struct fab_sim *s, uint32_t node, uint64_t salt)
{
    return fab_base_mix64(s->fabric->nodes[node].guid ^ fab_base_mix64(salt));
}

static void put_text(uint8_t *to, size_t len, uint8_t fill, const char *text)
{
    size_t n = strnlen(text, len);
    memset(to, fill, len);
    memcpy(to, text, n);
}

static uint16_t pack(const struct fab_attr *attr, const void *from, uint8_t *to, size_t len)
{
    return fab_wire_attr_pack(attr, from, to, len) == FAB_OK ? 0 : FAB_SMP_BAD_VALUE;
}

static uint16_t general_info(struct gs_request *r, uint8_t *to, size_t len)
{
    const struct fab_node *n = &r->sim->fabric->nodes[r->at.node];
    const struct model *m = model_of(r->sim, r->at.node);
    bool sw = is_switch(r->sim, r->at.node);
    const uint16_t *set = r->sim->nodes[r->at.node].firmware;
    bool old = hash_of(r->sim, r->at.node, 1) % ODD_FIRMWARE == 0;
    struct fab_general_info g = {.hw_revision = 0xa0,
                                 .device_id = m->device_id[sw],
                                 .num_ports = n->num_ports,
                                 .uptime_s = (uint32_t)(r->sim->now / 1000000),
                                 .month = old ? 0x11 : 0x04,
                                 .day = 0x17,
                                 .year = old ? 0x2024 : 0x2025,
                                 .ext_major = m->major[sw],
                                 .ext_minor = old ? 2012 : 2014,
                                 .ext_sub_minor = old ? 1024 : 2036,
                                 .capabilities = {FAB_GENERAL_INFO_REGISTERS}};
    char psid[17];
    if (set[0] != 0 || set[1] != 0 || set[2] != 0) {
        g.ext_major = set[0];
        g.ext_minor = set[1];
        g.ext_sub_minor = set[2];
    }
    snprintf(psid, sizeof psid, "SIM_%06x%c", m->device_id[sw], sw ? 'S' : 'A');
    put_text(g.psid, sizeof g.psid, 0, psid);
    return pack(&fab_wire_attr_general_info, &g, to, len);
}

static uint16_t system_texts(struct gs_request *r, uint8_t *to, size_t len)
{
    const struct model *m = model_of(r->sim, r->at.node);
    bool sw = is_switch(r->sim, r->at.node);
    uint64_t hash = hash_of(r->sim, r->at.node, 2);
    struct fab_reg_msgi msgi = {0};
    char serial[25];
    snprintf(serial, sizeof serial, "SM%02u%02uX%05u", 20 + (unsigned)(hash % 6),
             1 + (unsigned)(hash >> 8) % 52, (unsigned)(hash >> 16) % 100000);
    put_text(msgi.serial, sizeof msgi.serial, 0, serial);
    put_text(msgi.part, sizeof msgi.part, 0, m->part[sw]);
    put_text(msgi.revision, sizeof msgi.revision, 0, hash % 5 == 0 ? "A7" : "A5");
    put_text(msgi.product, sizeof msgi.product, 0, m->product[sw]);
    return pack(&fab_wire_reg_msgi, &msgi, to, len);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* The module at a port with a cable. In the registers, the module at port n has the number n -
 * 1. */
struct module {
    const struct model *model;
    uint32_t port; /* id of the port */
    bool copper;
    /* hash from which the serial number and other values are derived (port_of_serial) */
    uint64_t hash;
};

/* Returns true if the module at a port is the end of a copper cable. In this simulation, all links
 * of hosts are copper cables, and all ISLs are optical. */
static bool is_copper(const struct fab_sim *s, uint32_t port)
{
    uint32_t peer = fab_fabric_port(s->fabric, port)->peer;
    return !is_switch(s, fab_fabric_port(s->fabric, port)->node) ||
           !is_switch(s, fab_fabric_port(s->fabric, peer)->node);
}

/* Returns the port whose hash determines the serial number of the module at `port`. If both ends
 * have the same serial number, this is the port with the lower id. QSFP models (0x11) have active
 * optical cables, with one serial number; other optical links have an optic at each end. */
static uint32_t port_of_serial(const struct fab_sim *s, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(s->fabric, port);
    bool fibre = !is_copper(s, port) && model_of(s, p->node)->identifier != 0x11;
    return fibre || port < p->peer ? port : p->peer;
}

static bool find_module(const struct fab_sim *s, uint32_t node, unsigned index, struct module *ret)
{
    const struct fab_node *n = &s->fabric->nodes[node];
    uint32_t port = n->first_port + index + 1;
    if (index >= n->num_ports || s->ports[port].unplugged ||
        fab_fabric_port(s->fabric, port)->peer == FAB_NONE)
        return false;
    *ret = (struct module){.model = model_of(s, node), .port = port, .copper = is_copper(s, port)};
    uint32_t of = port_of_serial(s, port);
    uint64_t replaced = (uint64_t)s->ports[of].replaced << 32;
    ret->hash = hash_of(s, fab_fabric_port(s->fabric, of)->node, 3 + of + replaced);
    return true;
}

/* Returns the temperature of a module in units of 0.125 degrees Celsius. Returns 0 for copper
 * cables, which have no sensor, unless fab_sim_heat has heated the module. */
static int temperature_of(const struct fab_sim *s, const struct module *m)
{
    int8_t heat = s->ports[m->port].heat;
    return m->copper && heat == 0 ? 0 : (38 + (int)(m->hash % 17) + heat) * DEGREE;
}

static void put_sum(uint8_t *page, unsigned last)
{
    uint8_t sum = 0;
    for (unsigned i = 0; i <= last - PAGE_AT; i++)
        sum = (uint8_t)(sum + page[i]);
    page[last + 1 - PAGE_AT] = sum;
}

/* Writes the vendor, part number and serial number (16 bytes each) and the date (8 bytes) into a
 * page, at the four offsets at[]. */
static void put_names(const struct module *m, uint8_t *page, const uint8_t at[4])
{
    static const char *const others[] = {"Amphenol", "FINISAR CORP", "Luxshare-Tech"};
    uint64_t other = m->hash / 7 % 3;
    bool own = m->hash % 5 != 0;
    char serial[17], date[9];
    snprintf(serial, sizeof serial, "SM%02u%02uVS%05u", 20 + (unsigned)(m->hash >> 9) % 6,
             1 + (unsigned)(m->hash >> 18) % 52, (unsigned)(m->hash >> 32) % 100000);
    snprintf(date, sizeof date, "%02u%02u%02u", 20 + (unsigned)(m->hash >> 9) % 6,
             1 + (unsigned)(m->hash >> 20) % 12, 1 + (unsigned)(m->hash >> 26) % 28);
    put_text(page + at[0] - PAGE_AT, 16, ' ',
             !own                           ? others[other]
             : m->model->identifier == 0x11 ? "Mellanox"
                                            : "NVIDIA");
    put_text(page + at[1] - PAGE_AT, 16, ' ', m->copper ? m->model->copper : m->model->optical);
    put_text(page + at[2] - PAGE_AT, 16, ' ', serial);
    put_text(page + at[3] - PAGE_AT, 8, ' ', date);
}

/* Writes the memory of a QSFP module (SFF-8636): the lower memory, followed by page number `page`.
 */
static void put_qsfp(const struct module *m, unsigned page, uint8_t memory[256])
{
    static const uint8_t at[] = {148, 168, 196, 212};
    memory[2] = m->copper ? 0x04 : 0;
    if (page == 3 && !m->copper) {
        memory[PAGE_AT] = 80;
        memory[PAGE_AT + 4] = 70;
    }
    if (page != 0)
        return;
    memory[PAGE_AT] = memory[0];
    memory[129] = m->copper ? 0x00 : 0xc0;
    memory[130] = 0x23;
    memory[146] = (uint8_t)(m->copper ? 1 + m->hash % 3 : 5 + m->hash % 26);
    memory[147] = m->copper ? 0xa0 : 0x00;
    memcpy(memory + 184, "A3", 2);
    put_names(m, memory + PAGE_AT, at);
    put_sum(memory + PAGE_AT, 190);
}

/* Writes the memory of an OSFP module (CMIS): the lower memory, followed by page number `page`. */
static void put_osfp(const struct module *m, unsigned page, uint8_t memory[256])
{
    static const uint8_t at[] = {129, 148, 166, 182};
    memory[1] = 0x50;
    memory[2] = m->copper ? 0x80 : 0;
    if (page == 2 && !m->copper) {
        memory[PAGE_AT] = 80;
        memory[PAGE_AT + 4] = 75;
    }
    if (page != 0)
        return;
    memory[PAGE_AT] = memory[0];
    memcpy(memory + 164, "A2", 2);
    memory[201] = m->copper ? 2 : 68;
    memory[202] = (uint8_t)(m->copper ? 0x40 + 1 + m->hash % 3 : 0);
    memory[203] = m->copper ? 0x23 : 0x0c;
    memory[212] = m->copper ? 0x0a : 0x00;
    put_names(m, memory + PAGE_AT, at);
    put_sum(memory + PAGE_AT, 221);
}

static uint16_t module_memory(struct gs_request *r, uint8_t *to, size_t len)
{
    struct fab_reg_mcia mcia;
    struct module m;
    uint8_t memory[256] = {0};
    (void)fab_wire_attr_unpack(&fab_wire_reg_mcia, to, len, &mcia);
    if (mcia.size > FAB_MCIA_BYTES || mcia.address > sizeof memory - mcia.size ||
        mcia.module >= r->sim->fabric->nodes[r->at.node].num_ports)
        return FAB_SMP_BAD_VALUE;
    memset(mcia.bytes, 0, sizeof mcia.bytes);
    mcia.status = FAB_MCIA_NOT_CONNECTED;
    if (find_module(r->sim, r->at.node, mcia.module, &m)) {
        bool qsfp = m.model->identifier == 0x11;
        mcia.status = FAB_MCIA_OK;
        memory[0] = m.model->identifier;
        fab_base_put_be16(memory + (qsfp ? 22 : 14),
                          (uint16_t)(temperature_of(r->sim, &m) * 256 / DEGREE));
        (qsfp ? put_qsfp : put_osfp)(&m, mcia.page, memory);
        memcpy(mcia.bytes, memory + mcia.address, mcia.size);
    }
    return pack(&fab_wire_reg_mcia, &mcia, to, len);
}

static uint16_t module_of_port(struct gs_request *r, uint8_t *to, size_t len)
{
    struct fab_reg_pmlp pmlp;
    (void)fab_wire_attr_unpack(&fab_wire_reg_pmlp, to, len, &pmlp);
    if (pmlp.port_high != 0 || pmlp.port == 0 ||
        pmlp.port > r->sim->fabric->nodes[r->at.node].num_ports)
        return FAB_SMP_BAD_VALUE;
    pmlp.width = 4;
    for (int lane = 0; lane < 4; lane++)
        pmlp.lane[lane].module = (uint8_t)(pmlp.port - 1);
    return pack(&fab_wire_reg_pmlp, &pmlp, to, len);
}

/* ---- temperatures and fans ------------------------------------------------------------------- */

static uint16_t sensor_reading(struct gs_request *r, unsigned sensor)
{
    struct module m;
    const struct sim_node *n = &r->sim->nodes[r->at.node];
    if (sensor == FAB_SENSOR_ASIC)
        return (uint16_t)((45 + (int)(hash_of(r->sim, r->at.node, 4) % 15) + n->heat) * DEGREE);
    if (sensor < FAB_SENSOR_MODULE ||
        !find_module(r->sim, r->at.node, sensor - FAB_SENSOR_MODULE, &m))
        return 0x8000; /* status of the register: no module is connected */
    return (uint16_t)temperature_of(r->sim, &m);
}

static uint16_t one_temperature(struct gs_request *r, uint8_t *to, size_t len)
{
    struct fab_reg_mtmp mtmp;
    (void)fab_wire_attr_unpack(&fab_wire_reg_mtmp, to, len, &mtmp);
    if (mtmp.sensor != FAB_SENSOR_ASIC)
        return FAB_SMP_BAD_VALUE;
    mtmp.now = sensor_reading(r, mtmp.sensor);
    mtmp.threshold_high = ASIC_LIMIT;
    mtmp.threshold_low = ASIC_LIMIT - 5 * DEGREE;
    put_text(mtmp.name, sizeof mtmp.name, 0, "asic");
    return pack(&fab_wire_reg_mtmp, &mtmp, to, len);
}

static uint16_t several_temperatures(struct gs_request *r, uint8_t *to, size_t len)
{
    struct fab_reg_mtbr mtbr;
    (void)fab_wire_attr_unpack(&fab_wire_reg_mtbr, to, len, &mtbr);
    if (mtbr.count > FAB_MTBR_RECORDS)
        return FAB_SMP_BAD_VALUE;
    memset(mtbr.record, 0, sizeof mtbr.record);
    for (unsigned i = 0; i < mtbr.count; i++)
        mtbr.record[i].now = sensor_reading(r, mtbr.base_sensor + i);
    return pack(&fab_wire_reg_mtbr, &mtbr, to, len);
}

static uint16_t fan_set(struct gs_request *r, uint8_t *to, size_t len)
{
    const struct fab_reg_mfcr mfcr = {is_switch(r->sim, r->at.node) ? (1u << FAB_SIM_FANS) - 1 : 0};
    return pack(&fab_wire_reg_mfcr, &mfcr, to, len);
}

static uint16_t fan_speed(struct gs_request *r, uint8_t *to, size_t len)
{
    struct fab_reg_mfsm mfsm;
    (void)fab_wire_attr_unpack(&fab_wire_reg_mfsm, to, len, &mfsm);
    if (!is_switch(r->sim, r->at.node) || mfsm.fan >= FAB_SIM_FANS)
        return FAB_SMP_BAD_VALUE;
    uint16_t set = r->sim->nodes[r->at.node].fan[mfsm.fan];
    mfsm.rpm = set != 0 ? (uint16_t)(set - 1)
                        : (uint16_t)(6200 + hash_of(r->sim, r->at.node, 5 + mfsm.fan) % 900);
    return pack(&fab_wire_reg_mfsm, &mfsm, to, len);
}

/* ---- the vendor class ------------------------------------------------------------------------ */

static const struct {
    uint16_t id;
    uint16_t (*answer)(struct gs_request *r, uint8_t *to, size_t len);
} registers[] = {
    {FAB_REGISTER_PMLP, module_of_port},
    {FAB_REGISTER_MFCR, fan_set},
    {FAB_REGISTER_MFSM, fan_speed},
    {FAB_REGISTER_MTMP, one_temperature},
    {FAB_REGISTER_MTBR, several_temperatures},
    {FAB_REGISTER_MCIA, module_memory},
    {FAB_REGISTER_MSGI, system_texts},
};

static uint16_t read_register(struct gs_request *r)
{
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
        if (registers[i].id == r->mod)
            return registers[i].answer(r, r->mad + FAB_VENDOR_REGISTER, FAB_VENDOR_REGISTER_MOST);
    return FAB_SMP_BAD_VALUE;
}

uint16_t fab_sim_vendor_handle(struct gs_request *r, uint16_t attr_id)
{
    uint16_t status = FAB_SMP_BAD_ATTR;
    if (r->set || r->sim->fabric->nodes[r->at.node].info.vendor_id != SIM_VENDOR_MELLANOX)
        return FAB_SMP_BAD_ATTR;
    if (attr_id == FAB_VENDOR_GENERAL_INFO)
        status = general_info(r, r->mad + FAB_VENDOR_DATA, FAB_MAD_SIZE - FAB_VENDOR_DATA);
    else if (attr_id == FAB_VENDOR_ACCESS_REGISTER)
        status = read_register(r);
    memcpy(r->data, r->mad + FAB_MAD_SIZE - FAB_GS_DATA, FAB_GS_DATA);
    return status;
}

/* ---- faults ---------------------------------------------------------------------------------- */

int fab_sim_heat(struct fab_sim *s, uint32_t node, uint8_t port, int degrees)
{
    if (node >= s->fabric->node_count || port > s->fabric->nodes[node].num_ports)
        return FAB_E_NOT_FOUND;
    if (degrees < -100 || degrees > 100)
        return FAB_E_INVAL;
    if (port == 0)
        s->nodes[node].heat = (int8_t)degrees;
    else
        s->ports[port_id(s, node, port)].heat = (int8_t)degrees;
    return FAB_OK;
}

/* Reads a version such as "28.39.1002". Returns false for any other text. */
static bool read_version(const char *text, uint16_t ret[3])
{
    for (int i = 0; i < 3; i++) {
        const char *end = strchrnul(text, '.');
        uint64_t value;
        if ((*end == '.') != (i < 2) ||
            !fab_base_digits_parse(text, (size_t)(end - text), 10, 9999, &value))
            return false;
        ret[i] = (uint16_t)value;
        text = end + 1;
    }
    return true;
}

int fab_sim_firmware(struct fab_sim *s, uint32_t node, const char *version)
{
    uint16_t read[3] = {0};
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    if (version != NULL && !read_version(version, read))
        return FAB_E_INVAL;
    memcpy(s->nodes[node].firmware, read, sizeof read);
    return FAB_OK;
}

int fab_sim_fan(struct fab_sim *s, uint32_t node, uint8_t fan, uint16_t rpm)
{
    if (node >= s->fabric->node_count || !is_switch(s, node) || fan >= FAB_SIM_FANS)
        return FAB_E_NOT_FOUND;
    s->nodes[node].fan[fan] = rpm == FAB_SIM_FAN_USUAL ? 0 : (uint16_t)(rpm + 1);
    return FAB_OK;
}

int fab_sim_replace_module(struct fab_sim *s, uint32_t node, uint8_t port)
{
    struct module m;
    if (node >= s->fabric->node_count || port == 0 || !find_module(s, node, port - 1u, &m))
        return FAB_E_NOT_FOUND;
    s->ports[port_of_serial(s, m.port)].replaced++;
    return FAB_OK;
}
