/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A visit reads one device, with one request in flight. A visit that reads everything begins with
 * GeneralInfo, whose capabilities say whether the device has registers; a visit that reads only
 * temperatures begins with the temperature of the ASIC. If a device refuses a register, the visit
 * assumes that the device lacks what the register describes, and goes on. If a request gets no
 * answer, the visit ends.
 *
 * The manager does not trust what a device says. Whatever the answers are, the number of requests
 * of a visit is limited by the number of ports.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/inventory/private.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

/* Where GeneralInfo and a register begin in the data of a request or answer: byte offsets, counted
 * from the end of the common MAD header (24 bytes). */
#define AT_DATA (FAB_VENDOR_DATA - 24)
#define AT_REGISTER (FAB_VENDOR_REGISTER - 24)
#define NO_MODULE UINT8_MAX

/* ---- which step follows ---------------------------------------------------------------------- */

/* Returns the lowest fan number in the set that is at least `fan`; FAB_INVENTORY_FANS: there is
 * none. */
static uint8_t next_fan(uint16_t fans, uint8_t fan)
{
    while (fan < FAB_INVENTORY_FANS && !(fans >> fan & 1))
        fan++;
    return fan;
}

static void begin_port(struct inventory_visit *v, uint8_t port)
{
    v->port = port;
    v->step = port <= v->ports && port != 0 ? STEP_PORT : STEP_ASIC;
    v->memory = (struct fab_module_memory){0};
}

/* Returns the highest index of the modules in this node; NO_MODULE: there are no modules. */
static uint8_t last_module(const struct inventory_node *n)
{
    uint8_t last = NO_MODULE;
    for (size_t i = 0; i < n->module_count; i++)
        if (last == NO_MODULE || n->modules[i].known.index > last)
            last = n->modules[i].known.index;
    return last;
}

static void begin_temperatures(struct inventory_visit *v)
{
    v->sensor = FAB_SENSOR_MODULE;
    v->step = !v->whole && last_module(&v->read) != NO_MODULE ? STEP_MODULE_TEMPERATURES : STEP_END;
}

/* Ends STEP_GENERAL. The visit goes on to the registers or, if the device has none, ends. */
static void end_general(struct inventory_visit *v, bool has_registers)
{
    v->step = has_registers ? STEP_SYSTEM : STEP_END;
}

/* Ends STEP_SYSTEM. The visit goes on to the fans of a switch. Adapters have no fans, so it
 * goes on to their ports. */
static void end_system(struct inventory_visit *v)
{
    if (v->read.type == FAB_NODE_SWITCH)
        v->step = STEP_FAN_SET;
    else
        begin_port(v, 1);
}

static void begin_fan(struct inventory_visit *v, uint8_t fan)
{
    v->fan = next_fan(v->read.fans, fan);
    v->step = STEP_FAN;
    if (v->fan == FAB_INVENTORY_FANS)
        begin_port(v, 1);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void put_register(struct fab_mads_request *r, uint16_t id, const void *value)
{
    uint8_t bytes[FAB_VENDOR_REGISTER_MOST];
    r->attr_id = FAB_VENDOR_ACCESS_REGISTER;
    r->attr_mod = id;
    /* A request for a register has the same layout as the answer: it carries the register. Fields
     * at the beginning of the register select what the device returns, for example the port. */
    if (value && fab_wire_attr_pack(fab_wire_register(id), value, bytes, sizeof(bytes)) == FAB_OK)
        memcpy(r->data + AT_REGISTER, bytes, sizeof(r->data) - AT_REGISTER);
}

static void put_step(const struct inventory_visit *v, struct fab_mads_request *r)
{
    struct fab_reg_mcia mcia;
    uint16_t last;
    switch (v->step) {
    case STEP_GENERAL:
        r->attr_id = FAB_VENDOR_GENERAL_INFO;
        break;
    case STEP_SYSTEM:
        put_register(r, FAB_REGISTER_MSGI, NULL);
        break;
    case STEP_FAN_SET:
        put_register(r, FAB_REGISTER_MFCR, NULL);
        break;
    case STEP_FAN:
        put_register(r, FAB_REGISTER_MFSM, &(struct fab_reg_mfsm){.fan = v->fan});
        break;
    case STEP_PORT:
        put_register(r, FAB_REGISTER_PMLP, &(struct fab_reg_pmlp){.port = v->port});
        break;
    case STEP_MODULE:
        (void)fab_inventory_module_request(&v->memory, (enum fab_module_part)v->part, &mcia);
        mcia.module = v->index;
        put_register(r, FAB_REGISTER_MCIA, &mcia);
        break;
    case STEP_ASIC:
        put_register(r, FAB_REGISTER_MTMP, &(struct fab_reg_mtmp){.sensor = FAB_SENSOR_ASIC});
        break;
    case STEP_MODULE_TEMPERATURES:
        last = (uint16_t)(FAB_SENSOR_MODULE + last_module(&v->read) - v->sensor + 1);
        put_register(r, FAB_REGISTER_MTBR,
                     &(struct fab_reg_mtbr){
                         .base_sensor = v->sensor,
                         .count = (uint8_t)(last < FAB_MTBR_RECORDS ? last : FAB_MTBR_RECORDS)});
        break;
    case STEP_END:
        break;
    }
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a);

static void submit(struct inventory *inv, struct inventory_visit *v)
{
    struct fab_mads_request r = {
        .mgmt_class = FAB_CLASS_VENDOR,
        .method = FAB_METHOD_GET,
        .dlid = v->lid,
        .done = on_answer,
        .ctx = inv,
        .tag = (uint64_t)(v - inv->visits) << 32 | v->number,
    };
    put_step(v, &r);
    if (fab_mads_submit(agent_mads(inv->agent), &r) != FAB_OK) {
        log_debug("inventory", "out of memory: a request was not sent");
        inventory_take(inv, v, INVENTORY_NO_ANSWER);
        return;
    }
    inv->requests++;
    inv->tokens--;
    v->waiting = true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void take_general(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_general_info g;
    if (len < AT_DATA || fab_wire_attr_unpack(&fab_wire_attr_general_info, data + AT_DATA,
                                              len - AT_DATA, &g) != FAB_OK) {
        v->step = STEP_END;
        return;
    }
    fab_inventory_take_general_info(&g, &v->read.device);
    v->read.uptime_s = g.uptime_s;
    end_general(v, (g.capabilities[0] & FAB_GENERAL_INFO_REGISTERS) != 0);
}

/* Unpacks a register from an answer. Returns false if the device refused the request (`data` is
 * NULL), or if the answer is malformed. */
static bool read_register(uint16_t id, const uint8_t *data, size_t len, void *ret)
{
    return data && len >= AT_REGISTER &&
           fab_wire_attr_unpack(fab_wire_register(id), data + AT_REGISTER, len - AT_REGISTER,
                                ret) == FAB_OK;
}

static void take_port(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_reg_pmlp pmlp;
    if (!read_register(FAB_REGISTER_PMLP, data, len, &pmlp) || pmlp.port != v->port ||
        pmlp.width == 0) {
        begin_port(v, (uint8_t)(v->port + 1));
        return;
    }
    v->index = pmlp.lane[0].module;
    v->part = FAB_MODULE_STATUS;
    v->step = STEP_MODULE;
}

static void add_module(struct inventory_visit *v)
{
    struct inventory_module m = {.known = {.port = v->port, .index = v->index}};
    if (!fab_inventory_module_decode(&v->memory, &m.known.module))
        return;
    m.now = m.known.module.temperature.now;
    m.known.module.temperature.now = FAB_NO_TEMPERATURE;
    if (v->read.module_count == v->module_room) {
        struct inventory_module *more = reallocarray(v->read.modules, v->ports, sizeof(*more));
        if (!more)
            return;
        v->read.modules = more;
        v->module_room = v->ports;
    }
    v->read.modules[v->read.module_count++] = m;
}

/* Handles an answer with a part of the memory of a module. The visit goes on to the next part or,
 * after the last part, to the next port. After the last part, also adds the module to the
 * inventory, if its parts describe one. */
static void take_module(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_reg_mcia mcia, next;
    if (read_register(FAB_REGISTER_MCIA, data, len, &mcia) && mcia.status == FAB_MCIA_OK &&
        mcia.module == v->index) {
        memcpy(v->memory.bytes[v->part], mcia.bytes, sizeof(mcia.bytes));
        v->memory.has[v->part] = true;
    }
    while (++v->part < FAB_MODULE_PARTS)
        if (fab_inventory_module_request(&v->memory, (enum fab_module_part)v->part, &next))
            return;
    add_module(v);
    begin_port(v, (uint8_t)(v->port + 1));
}

static void take_asic(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_reg_mtmp mtmp;
    if (read_register(FAB_REGISTER_MTMP, data, len, &mtmp))
        v->read.temperature = fab_inventory_temperature(&mtmp);
    begin_temperatures(v);
}

static void take_module_temperatures(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_reg_mtbr mtbr;
    bool good = read_register(FAB_REGISTER_MTBR, data, len, &mtbr);
    unsigned first = v->sensor, last = FAB_SENSOR_MODULE + (unsigned)last_module(&v->read);
    for (size_t i = 0; i < v->read.module_count && good; i++) {
        unsigned sensor = FAB_SENSOR_MODULE + v->read.modules[i].known.index;
        if (sensor >= first && sensor < first + FAB_MTBR_RECORDS)
            v->read.modules[i].now =
                fab_inventory_record_temperature(mtbr.record[sensor - first].now);
    }
    v->sensor = (uint16_t)(first + FAB_MTBR_RECORDS);
    if (!good || v->sensor > last)
        v->step = STEP_END;
}

static void take(struct inventory_visit *v, const uint8_t *data, size_t len)
{
    struct fab_reg_msgi msgi;
    struct fab_reg_mfcr mfcr = {0};
    struct fab_reg_mfsm mfsm;
    switch (v->step) {
    case STEP_GENERAL:
        take_general(v, data, len);
        break;
    case STEP_SYSTEM:
        if (read_register(FAB_REGISTER_MSGI, data, len, &msgi))
            fab_inventory_take_msgi(&msgi, &v->read.device);
        end_system(v);
        break;
    case STEP_FAN_SET:
        (void)read_register(FAB_REGISTER_MFCR, data, len, &mfcr);
        v->read.fans = mfcr.fans;
        begin_fan(v, 0);
        break;
    case STEP_FAN:
        if (read_register(FAB_REGISTER_MFSM, data, len, &mfsm))
            v->read.fan_rpm[v->fan] = mfsm.rpm;
        else
            v->read.fans = (uint16_t)(v->read.fans & ~(1u << v->fan));
        begin_fan(v, (uint8_t)(v->fan + 1));
        break;
    case STEP_PORT:
        take_port(v, data, len);
        break;
    case STEP_MODULE:
        take_module(v, data, len);
        break;
    case STEP_ASIC:
        take_asic(v, data, len);
        break;
    case STEP_MODULE_TEMPERATURES:
        take_module_temperatures(v, data, len);
        break;
    case STEP_END:
        break;
    }
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct inventory *inv = ctx;
    struct inventory_visit *v = &inv->visits[tag >> 32];
    if (!v->active || v->number != (uint32_t)tag)
        return;
    v->waiting = false;
    bool refused = a->status == FAB_E_REFUSED;
    if (a->status != FAB_OK)
        inv->failed++;
    if (a->status != FAB_OK && !refused)
        inventory_take(inv, v, INVENTORY_NO_ANSWER);
    else if (refused && v->step == STEP_GENERAL)
        inventory_take(inv, v, INVENTORY_UNSUPPORTED);
    else {
        take(v, refused ? NULL : a->data, refused ? 0 : a->len);
        if (v->step == STEP_END)
            inventory_take(inv, v, INVENTORY_READ);
    }
    inventory_visits_go_on(inv);
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* Copies the known modules of the node to a visit that reads only temperatures, and marks their
 * temperatures as unknown. Returns false if memory ran out. */
static bool copy_modules(struct inventory_visit *v, const struct inventory_node *n)
{
    v->read.module_count = 0;
    v->read.modules = n->module_count > 0 ? malloc(n->module_count * sizeof(*n->modules)) : NULL;
    if (n->module_count > 0 && !v->read.modules)
        return false;
    for (size_t i = 0; i < n->module_count; i++) {
        v->read.modules[i] = n->modules[i];
        v->read.modules[i].now = FAB_NO_TEMPERATURE;
    }
    v->read.module_count = n->module_count;
    return true;
}

static void begin(struct inventory *inv, struct inventory_visit *v, const struct inventory_entry *e,
                  bool whole)
{
    *v = (struct inventory_visit){.active = true,
                                  .whole = whole,
                                  .number = ++inv->number,
                                  .guid = e->node.guid,
                                  .lid = e->lid,
                                  .ports = e->ports,
                                  .step = whole ? STEP_GENERAL : STEP_ASIC,
                                  .read = e->node};
    v->read.modules = NULL;
    v->read.module_count = 0;
    v->read.temperature = (struct fab_temperature){FAB_NO_TEMPERATURE, FAB_NO_TEMPERATURE};
    if (!whole)
        return;
    v->read.device = (struct fab_inventory_device){0};
    v->read.fans = 0;
    memset(v->read.fan_rpm, 0, sizeof(v->read.fan_rpm));
}

void inventory_visit_start(struct inventory *inv, struct inventory_entry *e, bool whole)
{
    for (size_t i = 0; i < INVENTORY_VISITS; i++) {
        struct inventory_visit *v = &inv->visits[i];
        if (v->active)
            continue;
        begin(inv, v, e, whole);
        v->active = whole || copy_modules(v, &e->node);
        e->busy = v->active;
        return;
    }
}

void inventory_visits_go_on(struct inventory *inv)
{
    for (size_t i = 0; i < INVENTORY_VISITS && inv->tokens > 0; i++)
        if (inv->visits[i].active && !inv->visits[i].waiting)
            submit(inv, &inv->visits[i]);
}

void inventory_visits_stop(struct inventory *inv)
{
    for (size_t i = 0; i < INVENTORY_VISITS; i++) {
        free(inv->visits[i].read.modules);
        inv->visits[i] = (struct inventory_visit){0};
    }
}
