/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The performance management agent of every simulated device (IBA 16.1). Its attributes show the
 * counters of counters.c in fields of limited width. If a value does not fit, the field shows its
 * maximum.
 *
 * PortCounters and PortCountersExtended show the same counters; the table places[] has the offset
 * of each counter in both attributes. Each attribute with detailed counters has a field table.
 * Every field after CounterSelect is a counter, and the counters are numbered in the order of the
 * field table. Samples are in samples.c.
 */
#include <stddef.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/member.h"

#define ALL_PORTS 0xff

#define NOWHERE 0xffff
#define NARROW(m) offsetof(struct fab_port_counters, m), sizeof(((struct fab_port_counters *)0)->m)
#define WIDE(m) offsetof(struct fab_port_counters_ext, m)
/* The counters of PortCounters and PortCountersExtended. `narrow` and `wide` are offsets in the
 * structs of the two attributes; NOWHERE: the attribute lacks the counter. The other members say
 * which bits select the counter in a Set. */
static const struct place {
    const char *name;
    /* offset (in struct fab_port_counters) and size of the member, both in bytes */
    uint16_t narrow, size;
    uint16_t wide; /* offset in struct fab_port_counters_ext */
    /* width of the counter in PortCounters on the wire, in bits */
    uint8_t bits;
    /* Numbers of the bits that select this counter; -1: no bit selects it. `select` is for
     * PortCounters: a number n below 16 means bit n of CounterSelect, and a higher n means bit
     * n - 16 of CounterSelect2. For PortCountersExtended, select_wide is the bit in CounterSelect,
     * and select_wide2 the bit in CounterSelect2. */
    int8_t select, select_wide, select_wide2;
} places[] = {
    {"SymbolErrorCounter", NARROW(symbol_errors), WIDE(symbol_errors), 16, 0, -1, 0},
    {"LinkErrorRecoveryCounter", NARROW(link_error_recovery), WIDE(link_error_recovery), 8, 1, -1,
     1},
    {"LinkDownedCounter", NARROW(link_downed), WIDE(link_downed), 8, 2, -1, 2},
    {"PortRcvErrors", NARROW(rcv_errors), WIDE(rcv_errors), 16, 3, -1, 3},
    {"PortRcvRemotePhysicalErrors", NARROW(rcv_remote_physical_errors),
     WIDE(rcv_remote_physical_errors), 16, 4, -1, 4},
    {"PortRcvSwitchRelayErrors", NARROW(rcv_switch_relay_errors), WIDE(rcv_switch_relay_errors), 16,
     5, -1, 5},
    {"PortXmitDiscards", NARROW(xmit_discards), WIDE(xmit_discards), 16, 6, -1, 6},
    {"PortXmitConstraintErrors", NARROW(xmit_constraint_errors), WIDE(xmit_constraint_errors), 8, 7,
     -1, 7},
    {"PortRcvConstraintErrors", NARROW(rcv_constraint_errors), WIDE(rcv_constraint_errors), 8, 8,
     -1, 8},
    {"LocalLinkIntegrityErrors", NARROW(local_link_integrity_errors),
     WIDE(local_link_integrity_errors), 4, 9, -1, 9},
    {"ExcessiveBufferOverrunErrors", NARROW(excessive_buffer_overrun_errors),
     WIDE(excessive_buffer_overrun_errors), 4, 10, -1, 10},
    {"VL15Dropped", NARROW(vl15_dropped), WIDE(vl15_dropped), 16, 11, -1, 11},
    {"PortXmitData", NARROW(xmit_data), WIDE(xmit_data), 32, 12, 0, -1},
    {"PortRcvData", NARROW(rcv_data), WIDE(rcv_data), 32, 13, 1, -1},
    {"PortXmitPkts", NARROW(xmit_pkts), WIDE(xmit_pkts), 32, 14, 2, -1},
    {"PortRcvPkts", NARROW(rcv_pkts), WIDE(rcv_pkts), 32, 15, 3, -1},
    {"PortXmitWait", NARROW(xmit_wait), WIDE(xmit_wait), 32, 16, -1, 12},
    {"QP1Dropped", NARROW(qp1_dropped), WIDE(qp1_dropped), 16, 17, -1, 13},
    {"PortUnicastXmitPkts", NOWHERE, 0, WIDE(unicast_xmit_pkts), 0, -1, 4, -1},
    {"PortUnicastRcvPkts", NOWHERE, 0, WIDE(unicast_rcv_pkts), 0, -1, 5, -1},
    {"PortMulticastXmitPkts", NOWHERE, 0, WIDE(multicast_xmit_pkts), 0, -1, 6, -1},
    {"PortMulticastRcvPkts", NOWHERE, 0, WIDE(multicast_rcv_pkts), 0, -1, 7, -1},
};
_Static_assert(sizeof places / sizeof places[0] == FAB_SIM_COUNTERS, "a place for each counter");

/* ---- members of attributes ------------------------------------------------------------------- */

static uint64_t member_get(const void *from, size_t offset, size_t size)
{
    return fab_wire_load_member((const uint8_t *)from + offset, size);
}

/* Writes a member of `size` bytes. If the value needs more than `bits` bits, writes the maximum
 * value of this width. */
static void member_put(void *to, size_t offset, size_t size, unsigned bits, uint64_t value)
{
    uint64_t most = UINT64_MAX >> (64 - bits);
    fab_wire_store_member((uint8_t *)to + offset, size, value < most ? value : most);
}

bool fab_sim_perf_ports(const struct gs_request *r, uint8_t select, uint32_t *ret_first,
                        uint32_t *ret_last)
{
    const struct fab_node *node = &r->sim->fabric->nodes[r->at.node];
    if (select != ALL_PORTS && !has_port(r->sim, r->at.node, select))
        return false;
    *ret_first = node->first_port + (select == ALL_PORTS ? 1u : select);
    *ret_last = select == ALL_PORTS ? node->first_port + node->num_ports : *ret_first;
    return true;
}

/* ---- PortCounters and PortCountersExtended --------------------------------------------------- */

static bool selected(const struct fab_port_counters *narrow, const struct fab_port_counters_ext *w,
                     const struct place *p)
{
    if (narrow != NULL && p->select >= 16)
        return narrow->counter_select2 >> (p->select - 16) & 1;
    if (narrow != NULL)
        return p->select >= 0 && (narrow->counter_select >> p->select & 1);
    return (p->select_wide >= 0 && (w->counter_select >> p->select_wide & 1)) ||
           (p->select_wide2 >= 0 && (w->counter_select2 >> p->select_wide2 & 1));
}

/* Handles a Get or Set at all ports that port_select names. `narrow` is the attribute of the
 * request if it is PortCounters, `wide` if it is PortCountersExtended; the other pointer is NULL. A
 * Set first writes the counters that the attribute selects. Then sum[] gets each counter as the sum
 * over the ports. Returns false if port_select names no port. */
static bool access_counters(struct gs_request *r, uint8_t port_select,
                            const struct fab_port_counters *narrow,
                            const struct fab_port_counters_ext *wide,
                            uint64_t sum[FAB_SIM_COUNTERS])
{
    uint32_t first, last;
    if (!fab_sim_perf_ports(r, port_select, &first, &last))
        return false;
    memset(sum, 0, FAB_SIM_COUNTERS * sizeof *sum);
    for (uint32_t port = first; port <= last; port++) {
        fab_sim_counters_update(r->sim, port);
        for (uint32_t i = 0; i < FAB_SIM_COUNTERS; i++) {
            const struct place *p = &places[i];
            if (r->set && selected(narrow, wide, p))
                fab_sim_counter_write(r->sim, port, i,
                                      narrow != NULL ? member_get(narrow, p->narrow, p->size)
                                                     : member_get(wide, p->wide, sizeof(uint64_t)));
            sum[i] += fab_sim_counter_read(r->sim, port, i);
        }
    }
    return true;
}

static uint16_t handle_port_counters(struct gs_request *r)
{
    struct fab_port_counters n;
    uint64_t sum[FAB_SIM_COUNTERS];
    if (fab_wire_attr_unpack(&fab_wire_attr_port_counters, r->data, sizeof r->data, &n) != FAB_OK ||
        !access_counters(r, n.port_select, &n, NULL, sum))
        return FAB_SMP_BAD_VALUE;
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        if (places[i].narrow != NOWHERE)
            member_put(&n, places[i].narrow, places[i].size, places[i].bits, sum[i]);
    (void)fab_wire_attr_pack(&fab_wire_attr_port_counters, &n, r->data, sizeof r->data);
    return 0;
}

static uint16_t handle_port_counters_ext(struct gs_request *r)
{
    struct fab_port_counters_ext w;
    uint64_t sum[FAB_SIM_COUNTERS];
    if (fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, r->data, sizeof r->data, &w) !=
            FAB_OK ||
        !access_counters(r, w.port_select, NULL, &w, sum))
        return FAB_SMP_BAD_VALUE;
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        member_put(&w, places[i].wide, sizeof sum[i], 64, sum[i]);
    (void)fab_wire_attr_pack(&fab_wire_attr_port_counters_ext, &w, r->data, sizeof r->data);
    return 0;
}

/* ---- details --------------------------------------------------------------------------------- */

#define GROUPS (FAB_PERF_DETAILS + 1)
static const struct fab_attr *group(size_t i)
{
    return i < FAB_PERF_DETAILS ? &fab_wire_attr_perf_details[i] : &fab_wire_attr_perf_ext_speeds;
}

/* Returns the index of the attribute's first field that is a counter. The fields before it select
 * ports and counters. */
static size_t first_counter(const struct fab_attr *a)
{
    size_t i = 0;
    while (strcmp(a->fields[i].name, "CounterSelect") != 0)
        i++;
    return i + 1;
}

static uint32_t counters_of(const struct fab_attr *a)
{
    uint32_t sum = 0;
    for (size_t f = first_counter(a); f < a->field_count; f++)
        sum += a->fields[f].repeat;
    return sum;
}

/* Returns the sum of a detailed counter over the ports ports[0] to ports[1]. If `put` is true,
 * first writes `value` to the counter at each of these ports. */
static uint64_t access_detail(struct gs_request *r, const uint32_t ports[2], uint32_t counter,
                              bool put, uint64_t value)
{
    uint64_t sum = 0;
    for (uint32_t port = ports[0]; port <= ports[1]; port++) {
        if (put)
            fab_sim_counter_write(r->sim, port, counter, value);
        sum += fab_sim_counter_read(r->sim, port, counter);
    }
    return sum;
}

static uint16_t handle_details(struct gs_request *r, const struct fab_attr *a, uint32_t counter)
{
    _Alignas(8) uint8_t value[sizeof(struct fab_perf_ext_speeds)];
    const struct fab_field *select = &a->fields[first_counter(a) - 1], *end;
    uint32_t ports[2], bit = 0;
    if (fab_wire_attr_unpack(a, r->data, sizeof r->data, value) != FAB_OK ||
        !fab_sim_perf_ports(r, r->data[1], &ports[0], &ports[1]))
        return FAB_SMP_BAD_VALUE;
    uint64_t chosen = r->set ? member_get(value, select->member, select->member_size) : 0;
    for (uint32_t port = ports[0]; port <= ports[1]; port++)
        fab_sim_counters_update(r->sim, port);
    end = a->fields + a->field_count;
    for (const struct fab_field *f = select + 1; f < end; f++) {
        for (size_t i = 0; i < f->repeat; i++, bit++) {
            size_t at = f->member + i * f->stride;
            uint64_t sum = access_detail(r, ports, counter + bit, chosen >> bit & 1,
                                         member_get(value, at, f->member_size));
            member_put(value, at, f->member_size, f->bits, sum);
        }
    }
    (void)fab_wire_attr_pack(a, value, r->data, sizeof r->data);
    return 0;
}

uint16_t fab_sim_perf_handle(struct gs_request *r, uint16_t attr_id)
{
    uint32_t counter = FAB_SIM_COUNTERS;
    switch (attr_id) {
    case FAB_PERF_PORT_COUNTERS:
        return handle_port_counters(r);
    case FAB_PERF_PORT_COUNTERS_EXT:
        return handle_port_counters_ext(r);
    case FAB_PERF_SAMPLES_CONTROL:
        return fab_sim_samples_control(r);
    case FAB_PERF_SAMPLES_RESULT:
        return fab_sim_samples_result(r, &fab_wire_attr_samples_result);
    case FAB_PERF_SAMPLES_RESULT_EXT:
        return fab_sim_samples_result(r, &fab_wire_attr_samples_result_ext);
    default:
        break;
    }
    for (size_t i = 0; i < GROUPS; i++) {
        if (group(i)->id == attr_id)
            return handle_details(r, group(i), counter);
        counter += counters_of(group(i));
    }
    return FAB_SMP_BAD_ATTR;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns true if `name` is the name of the field. If the field is an array, `name` must end with
 * an index, which is written to *ret_index. */
static bool is_named(const struct fab_field *f, const char *name, uint32_t *ret_index)
{
    size_t len = strlen(f->name);
    uint32_t index = 0;
    if (strncmp(f->name, name, len) != 0 || (f->repeat > 1) == (name[len] == '\0'))
        return false;
    for (name += len; *name >= '0' && *name <= '9' && index < f->repeat; name++)
        index = index * 10 + (uint32_t)(*name - '0');
    *ret_index = index;
    return *name == '\0' && index < f->repeat;
}

static int detail_by_name(const char *name, enum fab_sim_counter *ret)
{
    uint32_t counter = FAB_SIM_COUNTERS, index;
    for (size_t i = 0; i < GROUPS; i++) {
        const struct fab_attr *a = group(i);
        for (size_t f = first_counter(a); f < a->field_count; f++) {
            if (is_named(&a->fields[f], name, &index)) {
                *ret = (enum fab_sim_counter)(counter + index);
                return FAB_OK;
            }
            counter += a->fields[f].repeat;
        }
    }
    return FAB_E_NOT_FOUND;
}

int fab_sim_counter_by_name(const char *name, enum fab_sim_counter *ret)
{
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        if (strcmp(places[i].name, name) == 0) {
            *ret = (enum fab_sim_counter)i;
            return FAB_OK;
        }
    return detail_by_name(name, ret);
}
