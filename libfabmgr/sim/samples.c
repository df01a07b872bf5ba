/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sampling of counters (IBA 16.1.3.2-4). A Set of PortSamplesControl names a port and up to 15
 * counters. It also gives the time until the sampling starts, and the duration of the sampling,
 * both in ticks. PortSamplesResult shows the status and the counts. A switch has one sampling
 * mechanism for all its ports; an adapter has one for each port. While a sampling runs, a Set
 * changes nothing; its answer shows the running sampling.
 *
 * The table selections[] maps values of CounterSelect, mandatory and optional, to counters. Bits
 * 8-11 of a value of CounterSelect name the VL or SL.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

/* value of the field Tick; a value n means that a tick lasts (n + 1) * 4 ns, so 249 means 1 us */
#define TICK 249
/* value of CounterWidth for 32-bit counters */
#define WIDTH_32 4
#define WIDTH_64 2 /* value of ExtendedWidth for 64-bit counters */
#define ALL_MECHANISMS 0xffffffffu
#define COUNTS_MANDATORY 1
#define COUNTS_OPTIONAL 2
#define NONE FAB_SIM_ALL_COUNTERS

/* Consecutive values of CounterSelect, which select consecutive counters. */
static const struct selection {
    uint16_t first, count;
    /* counter: the counter of the first value. each: number of VLs or SLs with a counter of their
     * own; 1: the port has a single counter. */
    uint16_t counter, each;
    /* bit number in OptionMask of the first value; 0: these values are mandatory and have no bit */
    uint8_t option;
} selections[] = {
    {0x0001, 1, FAB_SIM_XMIT_DATA, 1, 0},
    {0x0002, 1, FAB_SIM_RCV_DATA, 1, 0},
    {0x0003, 1, FAB_SIM_XMIT_PKTS, 1, 0},
    {0x0004, 1, FAB_SIM_RCV_PKTS, 1, 0},
    {0x0005, 1, FAB_SIM_XMIT_WAIT, 1, 0},
    /* detailed counters of errors, discards, op codes, flow control, congestion, and data for each
     * SL */
    {0x4005, 14, FAB_SIM_LOCAL_PHYSICAL_ERRORS, 1, 6},
    {0x4013, 4, FAB_SIM_VL_OP_PACKETS, 16, 20},
    {0x4030, 1, FAB_SIM_SW_VL_CONGESTION, 16, 48},
    {0x4031, 2, FAB_SIM_PKT_RCV_FECN, 1, 49},
    {0x4033, 2, FAB_SIM_SL_RCV_FECN, 16, 51},
    {0x4035, 1, FAB_SIM_XMIT_TIME_CONG, 1, 53},
    {0x4036, 1, FAB_SIM_VL_XMIT_TIME_CONG, 15, 54},
    {0x4037, 2, FAB_SIM_XMIT_DATA_SL, 16, 55},
};
#define SELECTIONS (sizeof selections / sizeof selections[0])

/* Returns the counter that a CounterSelect value selects; NONE: no counter has this value. */
static uint32_t counter_of(uint16_t select)
{
    uint16_t kind = select & 0xf0ff, lane = select >> 8 & 15;
    for (size_t i = 0; i < SELECTIONS; i++) {
        const struct selection *s = &selections[i];
        if (kind >= s->first && kind < s->first + s->count)
            return lane < s->each ? s->counter + (uint32_t)(kind - s->first) * s->each + lane
                                  : NONE;
    }
    return NONE;
}

static uint64_t option_mask(void)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < SELECTIONS; i++)
        if (selections[i].option != 0)
            mask |= ((UINT64_C(1) << selections[i].count) - 1) << selections[i].option;
    return mask;
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

static uint32_t power_cycle_of(const struct fab_sim *s, uint32_t port)
{
    return s->nodes[fab_fabric_port(s->fabric, port)->node].power_cycles;
}

/* Finds the sampling mechanism of the port or switch that the request addresses. Returns NULL if
 * the mechanism has not been used since the last power-on of the node. */
static struct sim_sampler *find(const struct gs_request *r)
{
    uint32_t port = lid_port(r->sim, r->at);
    struct sim_sampler *p = fab_sim_items_find(&r->sim->samplers, sizeof *p, port);
    return p != NULL && p->power_cycle == power_cycle_of(r->sim, port) ? p : NULL;
}

static uint8_t status_of(const struct fab_sim *s, const struct sim_sampler *p)
{
    if (p == NULL || s->now >= p->ends)
        return FAB_SAMPLE_DONE;
    return s->now < p->starts ? FAB_SAMPLE_STARTS : FAB_SAMPLE_RUNS;
}

/* Reads the selected counters. The first call, at the start of the sampling, stores their values.
 * The second call, at the end, replaces each stored value by the increase since the first call. */
static void read_counters(struct fab_sim *s, struct sim_sampler *p)
{
    const struct fab_node *node = &s->fabric->nodes[fab_fabric_port(s->fabric, p->port)->node];
    uint32_t first = p->port, last = p->port;
    p->read++;
    if (p->control.port_select == 0xff) {
        first = node->first_port + 1u;
        last = node->first_port + node->num_ports;
    }
    for (unsigned i = 0; i < FAB_SAMPLES; i++)
        p->counted[i] = 0 - p->counted[i];
    for (uint32_t port = first; port <= last; port++) {
        fab_sim_counters_update(s, port);
        for (unsigned i = 0; i < FAB_SAMPLES; i++)
            if (p->control.select[i] != 0)
                p->counted[i] += fab_sim_counter_read(s, port, counter_of(p->control.select[i]));
    }
}

void fab_sim_samples_due(struct fab_sim *s, uint32_t sampler)
{
    struct sim_sampler *p = (struct sim_sampler *)s->samplers.items + sampler;
    if (p->power_cycle != power_cycle_of(s, p->port))
        return;
    if (p->read == 0 && p->starts <= s->now)
        read_counters(s, p);
    if (p->read == 1 && p->ends <= s->now)
        read_counters(s, p);
}

static void start(struct fab_sim *s, uint32_t index, uint32_t port,
                  const struct fab_samples_control *want)
{
    struct sim_sampler *p = (struct sim_sampler *)s->samplers.items + index;
    *p = (struct sim_sampler){
        .port = port, .power_cycle = power_cycle_of(s, port), .control = *want};
    p->starts = s->now + want->start;
    p->ends = p->starts + want->interval;
    if (want->start > 0)
        fab_sim_schedule(s, want->start, EVENT_SAMPLE, index, 0, 0);
    if (want->interval > 0)
        fab_sim_schedule(s, (uint64_t)want->start + want->interval, EVENT_SAMPLE, index, 0, 0);
    if (want->start == 0)
        fab_sim_samples_due(s, index);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool can_count(const struct fab_samples_control *want)
{
    for (unsigned i = 0; i < FAB_SAMPLES; i++)
        if (want->select[i] != 0 && counter_of(want->select[i]) == NONE)
            return false;
    return true;
}

static uint16_t set_control(struct gs_request *r, const struct fab_samples_control *want)
{
    uint32_t own = lid_port(r->sim, r->at), first, last, i;
    if (!can_count(want) || !fab_sim_perf_ports(r, want->port_select, &first, &last))
        return FAB_SMP_BAD_VALUE;
    if (status_of(r->sim, find(r)) != FAB_SAMPLE_DONE)
        return 0;
    if (!fab_base_map_get(&r->sim->samplers.index, own, &i) &&
        fab_sim_items_add(&r->sim->samplers, sizeof(struct sim_sampler), own, &i) != FAB_OK)
        return FAB_SMP_BUSY;
    start(r->sim, i, want->port_select == 0xff ? own : first, want);
    return 0;
}

uint16_t fab_sim_samples_control(struct gs_request *r)
{
    struct fab_samples_control c;
    uint32_t first, last;
    uint16_t status = 0;
    if ((r->mod != 0 && r->mod != ALL_MECHANISMS) ||
        fab_wire_attr_unpack(&fab_wire_attr_samples_control, r->data, sizeof r->data, &c) !=
            FAB_OK ||
        !fab_sim_perf_ports(r, c.port_select, &first, &last))
        return FAB_SMP_BAD_VALUE;
    if (r->set)
        status = set_control(r, &c);
    const struct sim_sampler *p = find(r);
    c = p != NULL ? p->control : (struct fab_samples_control){.port_select = c.port_select};
    c.tick = TICK;
    c.counter_width = WIDTH_32;
    memset(c.counter_mask, COUNTS_MANDATORY | COUNTS_OPTIONAL, sizeof c.counter_mask);
    c.mechanisms = 0;
    c.option_mask = option_mask();
    c.vendor_mask = c.samples_only_mask = 0;
    c.status = status_of(r->sim, p);
    (void)fab_wire_attr_pack(&fab_wire_attr_samples_control, &c, r->data, sizeof r->data);
    return status;
}

/* Answers PortSamplesResult, and returns the status of the answer. Until the sampling has ended,
 * the counters in the answer are 0. */
uint16_t fab_sim_samples_result(struct gs_request *r, const struct fab_attr *attr)
{
    const struct sim_sampler *p = find(r);
    struct fab_samples_result out = {.status = status_of(r->sim, p), .width = WIDTH_64};
    bool wide = attr == &fab_wire_attr_samples_result_ext;
    if (r->set)
        return FAB_SMP_BAD_ATTR;
    if (r->mod != 0 && r->mod != ALL_MECHANISMS)
        return FAB_SMP_BAD_VALUE;
    if (p != NULL)
        out.tag = p->control.tag;
    for (unsigned i = 0; p != NULL && out.status == FAB_SAMPLE_DONE && i < FAB_SAMPLES; i++)
        out.counter[i] = wide || p->counted[i] < UINT32_MAX ? p->counted[i] : UINT32_MAX;
    (void)fab_wire_attr_pack(attr, &out, r->data, sizeof r->data);
    return 0;
}
