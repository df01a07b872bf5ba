/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the values of port counters. perf.c encodes each counter with the width that it has on the
 * wire.
 *
 * When the first counter of PortCounters or PortCountersExtended rises at a port, the port gets
 * storage for all counters of these attributes. Detailed counters (fab_wire_attr_perf_details) are
 * stored one by one, because most ports use none of them. If a counter rises with time
 * (fab_sim_increment), its value is computed before each read. A node that loses power loses its
 * counters.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

#define RATES_MAX 65536

/* ---- storage --------------------------------------------------------------------------------- */

static struct sim_counters *find_row(struct fab_sim *s, uint32_t port)
{
    return fab_sim_items_find(&s->counters, sizeof(struct sim_counters), port);
}

static struct sim_counters *add_row(struct fab_sim *s, uint32_t port)
{
    uint32_t i;
    return fab_sim_items_add(&s->counters, sizeof(struct sim_counters), port, &i) == FAB_OK
               ? (struct sim_counters *)s->counters.items + i
               : NULL;
}

static uint64_t detail_key(uint32_t port, uint32_t counter)
{
    return (uint64_t)port << 16 | counter;
}

static struct sim_detail *find_detail(struct fab_sim *s, uint32_t port, uint32_t counter)
{
    struct sim_detail *d = fab_sim_items_find(&s->details, sizeof *d, detail_key(port, counter));
    uint32_t power_cycle = s->nodes[fab_fabric_port(s->fabric, port)->node].power_cycles;
    if (d != NULL && d->power_cycle != power_cycle)
        *d = (struct sim_detail){.power_cycle = power_cycle};
    return d;
}

static struct sim_detail *add_detail(struct fab_sim *s, uint32_t port, uint32_t counter)
{
    struct sim_detail *d;
    uint32_t i;
    if (fab_sim_items_add(&s->details, sizeof *d, detail_key(port, counter), &i) != FAB_OK)
        return NULL;
    d = (struct sim_detail *)s->details.items + i;
    d->power_cycle = s->nodes[fab_fabric_port(s->fabric, port)->node].power_cycles;
    return d;
}

/* Returns the storage of a counter. If the counter is still 0, it may have no storage. If `add` is
 * true, the function then creates the storage, and returns NULL if there is no memory; otherwise it
 * returns NULL. */
static uint64_t *place(struct fab_sim *s, uint32_t port, uint32_t counter, bool add)
{
    if (counter < FAB_SIM_COUNTERS) {
        struct sim_counters *row = find_row(s, port);
        if (row == NULL && add)
            row = add_row(s, port);
        return row != NULL ? &row->value[counter] : NULL;
    }
    struct sim_detail *d = find_detail(s, port, counter);
    if (d == NULL && add)
        d = add_detail(s, port, counter);
    return d != NULL ? &d->value : NULL;
}

void fab_sim_count(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t add)
{
    uint64_t *value = place(s, port, counter, true);
    if (value != NULL && __builtin_add_overflow(*value, add, value))
        *value = UINT64_MAX;
}

void fab_sim_counters_update(struct fab_sim *s, uint32_t port)
{
    fab_sim_traffic_update(s, port);
    for (size_t i = 0; i < s->rate_count; i++) {
        struct sim_rate *r = &s->rates[i];
        if (r->port != port)
            continue;
        uint64_t due = (uint64_t)((double)(s->now - r->since) / 1e6 * r->per_second);
        if (due <= r->given)
            continue;
        fab_sim_count(s, port, r->counter, due - r->given);
        r->given = due;
    }
}

uint64_t fab_sim_counter_read(struct fab_sim *s, uint32_t port, uint32_t counter)
{
    const uint64_t *value = place(s, port, counter, false);
    return value != NULL ? *value : 0;
}

void fab_sim_counter_write(struct fab_sim *s, uint32_t port, uint32_t counter, uint64_t value)
{
    uint64_t *at = place(s, port, counter, value != 0);
    if (at != NULL)
        *at = value;
}

void fab_sim_counters_forget(struct fab_sim *s, uint32_t node)
{
    uint32_t first = s->fabric->nodes[node].first_port;
    for (uint32_t p = first; p <= first + s->fabric->nodes[node].num_ports; p++) {
        fab_sim_counters_update(s, p);
        struct sim_counters *row = find_row(s, p);
        if (row != NULL)
            *row = (struct sim_counters){0};
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

int fab_sim_counter_add(struct fab_sim *s, uint32_t node, uint8_t port,
                        enum fab_sim_counter counter, uint64_t add)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_ALL_COUNTERS)
        return FAB_E_NOT_FOUND;
    fab_sim_count(s, port_id(s, node, port), counter, add);
    fab_sim_trap_errors(s, port_id(s, node, port), counter);
    return FAB_OK;
}

static int add_rate(struct fab_sim *s)
{
    if (s->rate_count >= RATES_MAX)
        return FAB_E_LIMIT;
    if (s->rate_count == s->rate_capacity) {
        void *grown =
            fab_base_grow(s->rates, sizeof *s->rates, s->rate_count + 1, &s->rate_capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        s->rates = grown;
    }
    s->rate_count++;
    return FAB_OK;
}

int fab_sim_increment(struct fab_sim *s, uint32_t node, uint8_t port, enum fab_sim_counter counter,
                      double per_second)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_ALL_COUNTERS)
        return FAB_E_NOT_FOUND;
    if (!(per_second >= 0 && per_second < 1e15))
        return FAB_E_INVAL;
    uint32_t id = port_id(s, node, port);
    size_t i = 0;
    fab_sim_counters_update(s, id);
    while (i < s->rate_count && (s->rates[i].port != id || s->rates[i].counter != counter))
        i++;
    int status = i == s->rate_count ? add_rate(s) : FAB_OK;
    if (status == FAB_OK)
        s->rates[i] = (struct sim_rate){
            .port = id, .counter = (uint16_t)counter, .per_second = per_second, .since = s->now};
    return status;
}

uint64_t fab_sim_counter(struct fab_sim *s, uint32_t node, uint8_t port,
                         enum fab_sim_counter counter)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_ALL_COUNTERS)
        return 0;
    fab_sim_counters_update(s, port_id(s, node, port));
    return fab_sim_counter_read(s, port_id(s, node, port), counter);
}
