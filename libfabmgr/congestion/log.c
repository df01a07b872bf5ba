/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates readings of a congestion log. A log holds the latest congestion events in an order that
 * depends on the device, so this code sorts them by time stamp.
 *
 * A time stamp counts ticks of 1.024 us of the device's own clock, which wraps after 73 minutes.
 * The age of an entry is the device's time in the same reading minus the time stamp. An entry that
 * was already in the previous reading keeps the time that was computed then, because the age of an
 * entry is wrong once the clock has wrapped.
 *
 * The log has a counter of congestion events. By A10.4.3.5, each reading of the log by any program
 * resets the counter, but some devices do not reset it. If the counter rose by at least the number
 * of new entries, this code assumes that nobody has reset it; then its rise is the number of new
 * events. Otherwise somebody has reset it, and its value is the number of new events.
 */
#include "libfabmgr/congestion/log.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/gs.h"

#define OF_SWITCH 1 /* values of LogType */
#define OF_ADAPTER 2
/* maximum time in us from the time stamp of a response to its arrival at the manager */
#define SLACK_US 1000000u

static bool same_event(const struct fab_congestion_event *a, const struct fab_congestion_event *b)
{
    return a->stamp == b->stamp && a->slid == b->slid && a->dlid == b->dlid && a->sl == b->sl &&
           a->local_qp == b->local_qp && a->remote_qp == b->remote_qp;
}

/* Adds an entry of the device's log to *log. Skips unused entries, whose LIDs are 0. */
static void add_entry(struct fab_congestion_log *log, const struct fab_congestion_event *e)
{
    if (e->slid != 0 && e->dlid != 0)
        log->entry[log->count++] = *e;
}

static int read_switch(const uint8_t *attr, size_t len, struct fab_congestion_log *ret)
{
    struct fab_cc_log in;
    if (fab_wire_attr_unpack(&fab_wire_attr_cc_log, attr, len, &in) != FAB_OK ||
        in.type != OF_SWITCH)
        return FAB_E_FORMAT;
    ret->flags = in.flags;
    ret->counter = in.count;
    ret->stamp = in.time_stamp;
    memcpy(ret->port_map, in.port_map, sizeof ret->port_map);
    for (size_t i = 0; i < sizeof in.entry / sizeof in.entry[0]; i++)
        add_entry(ret, &(struct fab_congestion_event){.slid = in.entry[i].slid,
                                                      .dlid = in.entry[i].dlid,
                                                      .sl = in.entry[i].sl,
                                                      .stamp = in.entry[i].time_stamp});
    return FAB_OK;
}

static int read_adapter(const uint8_t *attr, size_t len, struct fab_congestion_log *ret)
{
    struct fab_cc_log_ca in;
    if (fab_wire_attr_unpack(&fab_wire_attr_cc_log_ca, attr, len, &in) != FAB_OK ||
        in.type != OF_ADAPTER)
        return FAB_E_FORMAT;
    ret->flags = in.flags;
    ret->counter = in.count;
    ret->stamp = in.time_stamp;
    ret->sl_map = in.event_map;
    for (size_t i = 0; i < sizeof in.entry / sizeof in.entry[0]; i++)
        add_entry(ret, &(struct fab_congestion_event){.slid = in.entry[i].local_lid,
                                                      .dlid = in.entry[i].remote_lid,
                                                      .sl = in.entry[i].sl,
                                                      .service = in.entry[i].service_type,
                                                      .local_qp = in.entry[i].local_qp,
                                                      .remote_qp = in.entry[i].remote_qp,
                                                      .stamp = in.entry[i].time_stamp});
    return FAB_OK;
}

static const struct fab_congestion_event *find(const struct fab_congestion_log *log,
                                               const struct fab_congestion_event *e)
{
    for (uint8_t i = 0; i < log->count; i++)
        if (same_event(&log->entry[i], e))
            return &log->entry[i];
    return NULL;
}

/* Computes the times of the entries in the new reading `now`, with the previous reading `was`.
 * Returns the number of new entries. An entry that is older than the previous reading, but was not
 * in it, does not count as new: the device has made an error. */
static uint32_t set_times(const struct fab_congestion_log *was, struct fab_congestion_log *now)
{
    uint32_t fresh = 0;
    for (uint8_t i = 0; i < now->count; i++) {
        struct fab_congestion_event *e = &now->entry[i];
        const struct fab_congestion_event *old = find(was, e);
        uint64_t age_us = (uint64_t)(uint32_t)(now->stamp - e->stamp) * 1024 / 1000;
        e->at_us = old != NULL ? old->at_us : age_us < now->read_us ? now->read_us - age_us : 1;
        fresh += old == NULL && e->at_us + SLACK_US >= was->read_us;
    }
    return fresh;
}

static int newest_first(const void *x, const void *y)
{
    const struct fab_congestion_event *a = x, *b = y;
    if (a->at_us != b->at_us)
        return a->at_us > b->at_us ? -1 : 1;
    if (a->slid != b->slid)
        return a->slid < b->slid ? -1 : 1;
    return a->dlid - b->dlid;
}

static uint32_t new_events(const struct fab_congestion_log *was,
                           const struct fab_congestion_log *now, uint32_t fresh)
{
    uint32_t rise = now->counter >= was->counter ? now->counter - (uint32_t)was->counter : 0;
    return rise >= fresh && now->counter >= was->counter ? rise : now->counter;
}

int fab_congestion_log_update(struct fab_congestion_log *log, bool of_switch, const uint8_t *attr,
                              size_t len, uint64_t now_us, uint32_t *ret_events)
{
    struct fab_congestion_log now = {.read_us = now_us};
    int r = of_switch ? read_switch(attr, len, &now) : read_adapter(attr, len, &now);
    if (r != FAB_OK)
        return r;
    uint32_t fresh = set_times(log, &now),
             events = log->read_us > 0 ? new_events(log, &now, fresh) : 0;
    qsort(now.entry, now.count, sizeof now.entry[0], newest_first);
    now.events = log->events + events;
    *log = now;
    *ret_events = events;
    return FAB_OK;
}

void fab_congestion_log_incasts(const struct fab_congestion_log *log, uint64_t since_us,
                                uint16_t *senders, uint32_t lids)
{
    for (uint8_t i = 0; i < log->count && log->entry[i].at_us >= since_us; i++) {
        const struct fab_congestion_event *e = &log->entry[i];
        bool counted = e->dlid >= lids || e->dlid == e->slid;
        for (uint8_t k = 0; !counted && k < i; k++)
            counted = log->entry[k].dlid == e->dlid;
        if (!counted && senders[e->dlid] < UINT16_MAX)
            senders[e->dlid]++;
    }
}
