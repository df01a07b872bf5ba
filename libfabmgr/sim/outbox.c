/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaches managers to ports, and keeps the MADs that arrive for them in an outbox.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

/* maximum number of MADs in an outbox; further MADs are lost */
#define OUTBOX_MAX 65536

static int outbox_room(struct sim_outbox *o)
{
    if (o->tail < o->capacity)
        return FAB_OK;
    /* The MADs are moved to the beginning of the array only if more than half of the array is free.
     * So each MAD is moved about once on average. */
    if (o->head > o->tail / 2) {
        memmove(o->mails, o->mails + o->head, (o->tail - o->head) * sizeof *o->mails);
        o->tail -= o->head;
        o->head = 0;
        return FAB_OK;
    }
    if (o->tail - o->head >= OUTBOX_MAX)
        return FAB_E_LIMIT;
    void *grown = fab_base_grow(o->mails, sizeof *o->mails, o->tail + 1, &o->capacity);
    if (grown == NULL)
        return FAB_E_NOMEM;
    o->mails = grown;
    return FAB_OK;
}

void fab_sim_outbox_put(struct fab_sim *s, struct position at, uint16_t slid, uint16_t dlid,
                        const uint8_t *mad)
{
    if (outbox_room(&s->outbox) != FAB_OK)
        return;
    struct fab_sim_delivery *m = &s->outbox.mails[s->outbox.tail++];
    *m = (struct fab_sim_delivery){.node = at.node, .port = at.port, .slid = slid, .dlid = dlid};
    memcpy(m->mad, mad, FAB_MAD_SIZE);
}

void fab_sim_deliver_to_manager(struct fab_sim *s, struct position at, uint16_t slid, uint16_t dlid,
                                const uint8_t *mad)
{
    uint64_t travel_us = (uint64_t)at.hops * s->timing.hop_us;
    at.port = is_switch(s, at.node) ? 0 : at.port;
    if (!s->ports[port_id(s, at.node, at.port)].attached)
        return;
    if (travel_us > 0)
        fab_sim_queue_mad(s, travel_us, EVENT_ARRIVE, at, slid, dlid, mad);
    else
        fab_sim_outbox_put(s, at, slid, dlid, mad);
}

bool fab_sim_receive(struct fab_sim *s, struct fab_sim_delivery *ret)
{
    struct sim_outbox *o = &s->outbox;
    if (o->head == o->tail)
        return false;
    *ret = o->mails[o->head++];
    if (o->head == o->tail)
        o->head = o->tail = 0;
    return true;
}

static void set_is_sm(struct fab_sim *s, uint32_t port, bool is_sm)
{
    uint32_t *mask = &s->ports[port].info.cap_mask;
    uint32_t want = is_sm ? *mask | CAP_IS_SM : *mask & ~CAP_IS_SM;
    bool change = want != *mask;
    *mask = want;
    if (change)
        fab_sim_trap_capability(s, port);
}

int fab_sim_attach(struct fab_sim *s, uint32_t node, uint8_t port, bool is_sm)
{
    if (!has_port(s, node, port))
        return FAB_E_INVAL;
    uint32_t id = lid_port(s, (struct position){.node = node, .port = port});
    s->ports[id].attached = true;
    set_is_sm(s, id, is_sm);
    return FAB_OK;
}

void fab_sim_detach(struct fab_sim *s, uint32_t node, uint8_t port)
{
    if (!has_port(s, node, port))
        return;
    uint32_t id = lid_port(s, (struct position){.node = node, .port = port});
    s->ports[id].attached = false;
    set_is_sm(s, id, false);
}
