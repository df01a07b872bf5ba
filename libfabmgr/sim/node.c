/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of nodes: loss of power, unresponsive or slow agents, corrupted answers, M_Keys of another
 * manager, and trap storms. A node without power has all its links down and loses its LIDs, tables
 * and keys. When it is switched on again, its ports come up one after the other.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

static void update_abnormal(struct sim_node *n)
{
    n->abnormal = n->corruption != FAB_SIM_CORRUPT_NONE || n->late_us > 0 || n->spread_us > 0;
}

int fab_sim_silence(struct fab_sim *s, uint32_t node, bool silent)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    s->nodes[node].silent = silent;
    return FAB_OK;
}

int fab_sim_delay(struct fab_sim *s, uint32_t node, uint32_t late_us, uint32_t spread_us)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    s->nodes[node].late_us = late_us;
    s->nodes[node].spread_us = spread_us;
    update_abnormal(&s->nodes[node]);
    return FAB_OK;
}

int fab_sim_impersonate(struct fab_sim *s, uint32_t node, const struct fab_node_info *as)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    if (as != NULL && as->num_ports > 254)
        return FAB_E_INVAL;
    s->nodes[node].impersonates = as != NULL;
    if (as != NULL)
        s->nodes[node].as = *as;
    return FAB_OK;
}

/* ---- power ----------------------------------------------------------------------------------- */

static uint32_t last_port(const struct fab_sim *s, uint32_t node)
{
    return s->fabric->nodes[node].first_port + s->fabric->nodes[node].num_ports;
}

int fab_sim_power_off(struct fab_sim *s, uint32_t node)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    s->nodes[node].boot_at = 0;
    if (s->nodes[node].powered_off)
        return FAB_OK;
    s->nodes[node].powered_off = true;
    fab_sim_trap_forget(s, node);
    fab_sim_tables_forget(s, node);
    fab_sim_counters_forget(s, node);
    for (uint32_t p = s->fabric->nodes[node].first_port; p <= last_port(s, node); p++) {
        if (fab_fabric_port(s->fabric, p)->num > 0 && s->ports[p].info.port_state > FAB_STATE_DOWN)
            fab_sim_link_down(s, p, FAB_PHYS_POLLING);
        fab_sim_link_power_on(s, p);
    }
    return FAB_OK;
}

/* Trains the ports of a booted node one after the other. Port 1 begins to train at once. Each
 * further port begins boot_step microseconds after the port before it. */
static void train_ports(struct fab_sim *s, uint32_t node)
{
    uint32_t first = s->fabric->nodes[node].first_port;
    for (uint32_t p = first + 1; p <= last_port(s, node); p++) {
        uint64_t wait = s->nodes[node].boot_step * (p - first - 1);
        if (wait == 0) {
            fab_sim_link_train(s, p);
        } else {
            wait += s->timing.train_us;
            s->ports[p].trained_at = s->now + wait;
            fab_sim_schedule(s, wait, EVENT_TRAIN, p, 0, 0);
        }
    }
}

void fab_sim_node_booted(struct fab_sim *s, uint32_t node)
{
    if (s->nodes[node].boot_at != s->now)
        return;
    s->nodes[node].boot_at = 0;
    s->nodes[node].powered_off = false;
    s->nodes[node].busy_until = 0;
    train_ports(s, node);
}

int fab_sim_power_on(struct fab_sim *s, uint32_t node, uint64_t boot_us, uint64_t step_us)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    if (!s->nodes[node].powered_off || s->nodes[node].boot_at != 0)
        return FAB_OK;
    s->nodes[node].boot_at = s->now + boot_us;
    s->nodes[node].boot_step = step_us;
    if (boot_us == 0)
        fab_sim_node_booted(s, node);
    else
        fab_sim_schedule(s, boot_us, EVENT_BOOT, node, 0, 0);
    return FAB_OK;
}

/* ---- corrupted answers ----------------------------------------------------------------------- */

int fab_sim_corrupt(struct fab_sim *s, uint32_t node, enum fab_sim_corruption corruption,
                    double rate)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    if (corruption > FAB_SIM_CORRUPT_WRONG_TID || !(rate >= 0 && rate <= 1))
        return FAB_E_INVAL;
    s->nodes[node].corruption = (uint8_t)corruption;
    s->nodes[node].corrupt_rate = rate;
    update_abnormal(&s->nodes[node]);
    return FAB_OK;
}

static void put_status(uint8_t *bytes, uint16_t status)
{
    uint16_t direction = fab_base_get_be16(bytes + MAD_STATUS) & (uint16_t)~FAB_SMP_STATUS_MASK;
    fab_base_put_be16(bytes + MAD_STATUS, direction | status);
}

/* Overwrites the GUIDs in an answer to NodeInfo (IBA 14.2.5.3) with the GUIDs of node 0. */
static void put_duplicate_guids(const struct fab_sim *s, uint8_t *data)
{
    const struct fab_node_info *other = &s->fabric->nodes[0].info;
    fab_base_put_be64(data + 12, other->node_guid);
    fab_base_put_be64(data + 20, other->port_guid);
}

void fab_sim_node_corrupt(struct fab_sim *s, uint32_t node, uint16_t attr_id,
                          uint8_t bytes[FAB_MAD_SIZE])
{
    const struct sim_node *n = &s->nodes[node];
    uint8_t *data = bytes + SMP_DATA;
    if (n->corruption == FAB_SIM_CORRUPT_NONE || !chance(s, n->corrupt_rate))
        return;
    switch ((enum fab_sim_corruption)n->corruption) {
    case FAB_SIM_CORRUPT_NONE:
        break;
    case FAB_SIM_CORRUPT_BUSY:
        put_status(bytes, FAB_SMP_BUSY);
        break;
    case FAB_SIM_CORRUPT_UNSUPPORTED:
        put_status(bytes, FAB_SMP_BAD_ATTR);
        break;
    case FAB_SIM_CORRUPT_RANDOM:
        for (size_t i = 0; i < FAB_SMP_DATA; i++)
            data[i] = (uint8_t)fab_base_prng_next(&s->prng);
        break;
    case FAB_SIM_CORRUPT_BIT_FLIP:
        data[fab_base_prng_below(&s->prng, FAB_SMP_DATA)] ^=
            (uint8_t)(1u << fab_base_prng_below(&s->prng, 8));
        break;
    case FAB_SIM_CORRUPT_ZEROS:
        memset(data, 0, FAB_SMP_DATA);
        break;
    case FAB_SIM_CORRUPT_DUPLICATE_GUID:
        if (attr_id == FAB_ATTR_NODE_INFO)
            put_duplicate_guids(s, data);
        break;
    case FAB_SIM_CORRUPT_WRONG_TID:
        bytes[MAD_TID + 7] ^= 0x55;
        break;
    }
}

/* ---- M_Keys and trap storms ------------------------------------------------------------------ */

int fab_sim_set_m_key(struct fab_sim *s, uint32_t node, uint64_t m_key, uint8_t protect,
                      uint16_t lease_s)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    if (protect > 3)
        return FAB_E_INVAL;
    for (uint32_t p = s->fabric->nodes[node].first_port; p <= last_port(s, node); p++) {
        s->ports[p].info.m_key = m_key;
        s->ports[p].info.m_key_protect = protect;
        s->ports[p].info.m_key_lease = lease_s;
        s->ports[p].lease_ends = 0;
    }
    return FAB_OK;
}

void fab_sim_node_storm(struct fab_sim *s, const struct sim_event *e)
{
    uint32_t left = e->b & 0xffff;
    (void)fab_sim_trap(s, e->a, is_switch(s, e->a) ? 0 : 1, (uint16_t)(e->b >> 16));
    if (left > 0)
        fab_sim_schedule(s, e->arg, EVENT_STORM, e->a, e->b - 1, e->arg);
}

int fab_sim_trap_storm(struct fab_sim *s, uint32_t node, uint16_t trap, uint64_t period_us,
                       uint32_t count)
{
    if (period_us == 0 || count == 0 || count > 0xffff)
        return FAB_E_INVAL;
    int status = fab_sim_trap(s, node, is_switch(s, node) ? 0 : 1, trap);
    if (status == FAB_OK && count > 1)
        fab_sim_schedule(s, period_us, EVENT_STORM, node, (uint32_t)trap << 16 | (count - 2),
                         period_us);
    return status;
}
