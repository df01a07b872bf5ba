/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The congestion control agent of every simulated device (IBA annex A10). It handles the congestion
 * control key, the settings of switches, switch ports and adapters, the control table, the log and
 * the time stamp. The agent checks the form of a Set and stores its values; a later Get returns
 * them.
 *
 * The simulator marks no packets, because it carries no data. Therefore the log has only the events
 * that fab_sim_congest adds.
 *
 * If a device has a key, it does not answer a Set without this key. It answers a Get without the
 * key, but shows a key of 0 in the answer if the protect bit is set. A Set without the key starts
 * the lease period. If no request with the key arrives before the lease expires, the device clears
 * the protect bit. From then on, every Get shows the key.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/gs.h"

/* size of the congestion control table of every device, in blocks of 64 entries
 * (ControlTableCap) */
#define TABLE_BLOCKS 2
/* number of ports that one block of SwitchPortCongestionSetting describes */
#define PORTS_A_BLOCK 32
#define LOG_SWITCH 1
#define LOG_ADAPTER 2
#define LOG_ENTRIES 15
#define LOG_ADAPTER_ENTRIES 13

static void load(struct gs_request *r, uint16_t attr_id, uint32_t block, uint8_t *data)
{
    if (!fab_sim_table_read(r->sim, lid_port(r->sim, r->at), attr_id, block, data))
        memset(data, 0, FAB_GS_DATA);
}

static uint16_t store(struct gs_request *r, uint16_t attr_id, uint32_t block)
{
    return fab_sim_table_write(r->sim, lid_port(r->sim, r->at), attr_id, block, r->data)
               ? 0
               : FAB_SMP_BUSY;
}

/* ---- the key --------------------------------------------------------------------------------- */

static struct fab_cc_key_info key_of(struct gs_request *r)
{
    struct fab_cc_key_info key;
    uint8_t data[FAB_GS_DATA];
    load(r, FAB_CC_KEY_INFO, 0, data);
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_key_info, data, sizeof data, &key);
    return key;
}

static uint16_t keep_key(struct gs_request *r, const struct fab_cc_key_info *key)
{
    uint8_t data[FAB_GS_DATA] = {0};
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_key_info, key, data, sizeof data);
    return fab_sim_table_write(r->sim, lid_port(r->sim, r->at), FAB_CC_KEY_INFO, 0, data)
               ? 0
               : FAB_SMP_BUSY;
}

static bool has_key(struct gs_request *r, const struct fab_cc_key_info *key)
{
    return key->key == 0 || key->key == fab_base_get_be64(r->mad + FAB_CC_KEY);
}

static uint64_t *lease_of(struct gs_request *r)
{
    return &r->sim->ports[lid_port(r->sim, r->at)].cc_lease_ends;
}

/* Clears the protect bit of the congestion control key if its lease has expired. */
static void expire_lease(struct gs_request *r, struct fab_cc_key_info *key)
{
    uint64_t *ends = lease_of(r);
    if (*ends == 0 || r->sim->now < *ends)
        return;
    *ends = 0;
    key->protect = 0;
    (void)keep_key(r, key);
}

bool fab_sim_congestion_key_fits(struct gs_request *r)
{
    struct fab_cc_key_info key = key_of(r);
    expire_lease(r, &key);
    if (has_key(r, &key)) {
        *lease_of(r) = 0;
        return true;
    }
    if (!r->set)
        return true;
    if (key.violations < UINT16_MAX)
        key.violations++;
    (void)keep_key(r, &key);
    if (*lease_of(r) == 0 && key.protect && key.lease > 0)
        *lease_of(r) = r->sim->now + key.lease * UINT64_C(1000000);
    return false;
}

/* Handles CongestionKeyInfo, and returns the status of the answer. A Set in which the violation
 * counter is 0 resets the device's counter; other values leave it unchanged. */
static uint16_t handle_key(struct gs_request *r)
{
    struct fab_cc_key_info now = key_of(r), want;
    uint16_t status = 0;
    if (r->set) {
        (void)fab_wire_attr_unpack(&fab_wire_attr_cc_key_info, r->data, sizeof r->data, &want);
        if (want.violations != 0)
            want.violations = now.violations;
        now = want;
        status = keep_key(r, &want);
    }
    if (now.protect && !r->set && !has_key(r, &now))
        now.key = 0;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_key_info, &now, r->data, sizeof r->data);
    return status;
}

/* ---- settings -------------------------------------------------------------------------------- */

static uint16_t handle_info(struct gs_request *r)
{
    struct fab_cc_info info = {.table_cap = is_switch(r->sim, r->at.node) ? 0 : TABLE_BLOCKS};
    if (r->set)
        return FAB_SMP_BAD_ATTR;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_info, &info, r->data, sizeof r->data);
    return 0;
}

/* Handles SwitchCongestionSetting, and returns the status of the answer. A Set changes only the
 * fields that bits 0-4 of Control_Map select. */
static uint16_t handle_switch_setting(struct gs_request *r)
{
    struct fab_cc_switch_setting now, want;
    uint8_t data[FAB_GS_DATA];
    if (!is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    load(r, FAB_CC_SWITCH_SETTING, 0, data);
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_switch_setting, data, sizeof data, &now);
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_switch_setting, r->data, sizeof r->data, &want);
    if (r->set) {
        now.control_map = want.control_map;
        if (want.control_map & 1)
            memcpy(now.victim_mask, want.victim_mask, sizeof now.victim_mask);
        if (want.control_map & 2)
            memcpy(now.credit_mask, want.credit_mask, sizeof now.credit_mask);
        if (want.control_map & 4) {
            now.threshold = want.threshold;
            now.packet_size = want.packet_size;
        }
        if (want.control_map & 8) {
            now.cs_threshold = want.cs_threshold;
            now.cs_return_delay = want.cs_return_delay;
        }
        if (want.control_map & 16)
            now.marking_rate = want.marking_rate;
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_switch_setting, &now, r->data, sizeof r->data);
    return r->set ? store(r, FAB_CC_SWITCH_SETTING, 0) : 0;
}

/* Answers a Get with the stored attribute. For a Set, stores the attribute with its reserved bits
 * cleared. Returns the status of the answer. */
static uint16_t read_or_store(struct gs_request *r, const struct fab_attr *attr, uint32_t block)
{
    _Alignas(8) uint8_t value[512];
    if (!r->set) {
        load(r, attr->id, block, r->data);
        return 0;
    }
    (void)fab_wire_attr_unpack(attr, r->data, sizeof r->data, value);
    (void)fab_wire_attr_pack(attr, value, r->data, sizeof r->data);
    return store(r, attr->id, block);
}

static uint16_t handle_switch_port_setting(struct gs_request *r)
{
    if (!is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    if (r->mod > r->sim->fabric->nodes[r->at.node].num_ports / PORTS_A_BLOCK)
        return FAB_SMP_BAD_VALUE;
    return read_or_store(r, &fab_wire_attr_cc_switch_port_setting, r->mod);
}

/* Handles CACongestionSetting, and returns the status of the answer. Bit n of Control_Map selects
 * service level n: a Set changes only the settings of the selected service levels. */
static uint16_t handle_ca_setting(struct gs_request *r)
{
    struct fab_cc_ca_setting now, want;
    uint8_t data[FAB_GS_DATA];
    if (is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    load(r, FAB_CC_CA_SETTING, 0, data);
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_ca_setting, data, sizeof data, &now);
    (void)fab_wire_attr_unpack(&fab_wire_attr_cc_ca_setting, r->data, sizeof r->data, &want);
    if (r->set) {
        now.port_control = want.port_control;
        now.control_map = want.control_map;
        for (unsigned sl = 0; sl < 16; sl++)
            if (want.control_map >> sl & 1)
                now.sl[sl] = want.sl[sl];
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_ca_setting, &now, r->data, sizeof r->data);
    return r->set ? store(r, FAB_CC_CA_SETTING, 0) : 0;
}

/* Handles CongestionControlTable, and returns the status of the answer. The table has a single
 * CCTI_Limit, which the agent stores with block 0. */
static uint16_t handle_table(struct gs_request *r)
{
    uint8_t first[FAB_GS_DATA];
    if (is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    if (r->mod >= TABLE_BLOCKS || (r->set && fab_base_get_be16(r->data) >= TABLE_BLOCKS * 64u))
        return FAB_SMP_BAD_VALUE;
    uint16_t limit = fab_base_get_be16(r->data),
             status = read_or_store(r, &fab_wire_attr_cc_table, r->mod);
    load(r, FAB_CC_TABLE, 0, first);
    if (r->set) {
        fab_base_put_be16(first, limit);
        if (!fab_sim_table_write(r->sim, lid_port(r->sim, r->at), FAB_CC_TABLE, 0, first))
            return FAB_SMP_BUSY;
    }
    memcpy(r->data, first, 2);
    return status;
}

/* ---- time and log ---------------------------------------------------------------------------- */

static uint32_t time_stamp(const struct fab_sim *s)
{
    /* converts the simulated time from us to units of 1.024 us */
    return (uint32_t)(s->now * 1000 / 1024);
}

static uint16_t handle_time_stamp(struct gs_request *r)
{
    struct fab_cc_time_stamp stamp = {time_stamp(r->sim)};
    if (r->set)
        return FAB_SMP_BAD_ATTR;
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_time_stamp, &stamp, r->data, sizeof r->data);
    return 0;
}

static struct sim_cc_log *log_of(struct fab_sim *s, uint32_t node, bool add)
{
    struct sim_cc_log *log = fab_sim_items_find(&s->cc_logs, sizeof *log, node);
    uint32_t i;
    if (log == NULL && add && fab_sim_items_add(&s->cc_logs, sizeof *log, node, &i) == FAB_OK)
        log = (struct sim_cc_log *)s->cc_logs.items + i;
    return log;
}

/* Returns the VL whose congestion counter rises by an event of this SL. It is the SL modulo the
 * number of operational VLs; the simulator does not look it up in SLtoVLMappingTable. */
static uint32_t data_vl(const struct fab_sim *s, uint32_t port, uint8_t sl)
{
    unsigned vls = fab_wire_op_vls_count(s->ports[port].info.op_vls);
    return vls > 0 ? (sl & 15u) % vls : 0;
}

static void count_congestion(struct fab_sim *s, uint32_t port, uint8_t sl)
{
    if (is_switch(s, fab_fabric_port(s->fabric, port)->node)) {
        fab_sim_count(s, port, FAB_SIM_SW_VL_CONGESTION + data_vl(s, port, sl), 1);
        return;
    }
    fab_sim_count(s, port, FAB_SIM_PKT_RCV_BECN, 1);
    fab_sim_count(s, port, FAB_SIM_SL_RCV_BECN + (sl & 15u), 1);
}

int fab_sim_congest(struct fab_sim *s, uint32_t node, uint8_t port,
                    const struct fab_sim_congestion *what)
{
    if (!has_port(s, node, port))
        return FAB_E_NOT_FOUND;
    struct sim_cc_log *log = log_of(s, node, true);
    if (log == NULL)
        return FAB_E_NOMEM;
    unsigned entries = is_switch(s, node) ? LOG_ENTRIES : LOG_ADAPTER_ENTRIES;
    unsigned at = log->count % entries;
    log->port_map[31 - port / 8] |= (uint8_t)(1u << (port % 8));
    log->entry[at] = *what;
    log->stamp[at] = time_stamp(s);
    log->count++;
    count_congestion(s, port_id(s, node, port), what->sl);
    return FAB_OK;
}

static void write_switch_log(const struct fab_sim *s, const struct sim_cc_log *log, uint8_t *data)
{
    struct fab_cc_log out = {.type = LOG_SWITCH, .time_stamp = time_stamp(s)};
    if (log != NULL) {
        out.count = log->count;
        memcpy(out.port_map, log->port_map, sizeof out.port_map);
        for (unsigned i = 0; i < LOG_ENTRIES; i++) {
            out.entry[i].slid = log->entry[i].slid;
            out.entry[i].dlid = log->entry[i].dlid;
            out.entry[i].sl = log->entry[i].sl & 15;
            out.entry[i].time_stamp = log->stamp[i];
        }
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_log, &out, data, FAB_MAD_SIZE - FAB_CC_LOG_DATA);
}

static void write_adapter_log(const struct fab_sim *s, const struct sim_cc_log *log, uint8_t *data)
{
    struct fab_cc_log_ca out = {.type = LOG_ADAPTER, .time_stamp = time_stamp(s)};
    if (log != NULL) {
        out.count = log->count;
        for (unsigned i = 0; i < LOG_ADAPTER_ENTRIES; i++) {
            out.event_map |= (uint16_t)(log->stamp[i] != 0 ? 1u << (log->entry[i].sl & 15) : 0);
            out.entry[i].local_lid = log->entry[i].slid;
            out.entry[i].remote_lid = log->entry[i].dlid;
            out.entry[i].sl = log->entry[i].sl & 15;
            out.entry[i].local_qp = log->entry[i].local_qp & 0xffffff;
            out.entry[i].remote_qp = log->entry[i].remote_qp & 0xffffff;
            out.entry[i].time_stamp = log->stamp[i];
        }
    }
    (void)fab_wire_attr_pack(&fab_wire_attr_cc_log_ca, &out, data, FAB_MAD_SIZE - FAB_CC_LOG_DATA);
}

/* Answers CongestionLog, and returns the status of the answer. The attribute is longer than 192
 * bytes, so it begins at a lower offset in the MAD than other attributes. */
static uint16_t handle_log(struct gs_request *r)
{
    const struct sim_cc_log *log = log_of(r->sim, r->at.node, false);
    uint8_t *data = r->mad + FAB_CC_LOG_DATA;
    if (r->set)
        return FAB_SMP_BAD_ATTR;
    if (is_switch(r->sim, r->at.node))
        write_switch_log(r->sim, log, data);
    else
        write_adapter_log(r->sim, log, data);
    memcpy(r->data, r->mad + FAB_CC_DATA, FAB_GS_DATA);
    return 0;
}

uint16_t fab_sim_congestion_handle(struct gs_request *r, uint16_t attr_id)
{
    static const struct {
        uint16_t attr_id;
        uint16_t (*handle)(struct gs_request *r);
    } attributes[] = {
        {FAB_CC_CONGESTION_INFO, handle_info},
        {FAB_CC_KEY_INFO, handle_key},
        {FAB_CC_LOG, handle_log},
        {FAB_CC_SWITCH_SETTING, handle_switch_setting},
        {FAB_CC_SWITCH_PORT_SETTING, handle_switch_port_setting},
        {FAB_CC_CA_SETTING, handle_ca_setting},
        {FAB_CC_TABLE, handle_table},
        {FAB_CC_TIME_STAMP, handle_time_stamp},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (attributes[i].attr_id == attr_id)
            return attributes[i].handle(r);
    return FAB_SMP_BAD_ATTR;
}
