/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the list of silent switches. The management agent of a silent switch does not answer, but
 * the neighbours report links to the switch as up. A silent switch still forwards packets by its
 * tables, but nobody can change these tables.
 *
 * The manager keeps a silent switch, and the nodes that are reachable only through it, in the
 * fabric (libfabmgr/discover/keep.c). If the rest of the fabric stays connected without the switch,
 * the manager excludes all links of the switch from the snapshot, so that routes avoid it.
 * Otherwise, for example if hosts are connected to the switch, the links stay in the snapshot. Each
 * proof then uses the tables that the switch holds (apply/route.c).
 *
 * silent_check.c finds out which switches are silent, and silent_poll.c finds out when they answer
 * again. A switch that answers again stays in the list for REMEMBERED_US. If it becomes silent
 * again in this time, it must then answer for longer before routes use it again.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

#define SILENT_MOST 64
/* time in us for which a switch stays in the list after it answers again */
#define REMEMBERED_US UINT64_C(600000000)

/* ---- the list -------------------------------------------------------------------------------- */

struct sm_silent *sm_silent_find(const struct sm *s, uint64_t guid)
{
    for (uint32_t i = 0; i < s->links->silents; i++)
        if (s->links->silent[i]->guid == guid)
            return s->links->silent[i];
    return NULL;
}

static bool is_silent(const struct sm_silent *e)
{
    return e->released_us == 0;
}

bool sm_is_silent(const struct sm *s, uint64_t guid)
{
    const struct sm_silent *e = sm_silent_find(s, guid);
    return e && is_silent(e);
}

uint32_t sm_silent_count(const struct sm *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->links->silents; i++)
        count += is_silent(s->links->silent[i]);
    return count;
}

uint64_t sm_silent_guid(const struct sm *s, uint32_t at)
{
    for (uint32_t i = 0; i < s->links->silents; i++)
        if (is_silent(s->links->silent[i]) && at-- == 0)
            return s->links->silent[i]->guid;
    return 0;
}

static void entry_free(struct sm *s, struct sm_silent *e)
{
    if (s->mads)
        fab_mads_cancel(s->mads, e);
    free(e->link);
    free(e);
}

static void drop_at(struct sm *s, uint32_t i)
{
    entry_free(s, s->links->silent[i]);
    s->links->silent[i] = s->links->silent[--s->links->silents];
}

/* Removes from the list the switches that have answered again for REMEMBERED_US. Switches that are
 * about to return (e->returning) stay in the list. If the list is full, also removes one switch
 * that has answered again for a shorter time. */
static void drop_old(struct sm *s)
{
    uint64_t now = clock_now_us();
    bool full = s->links->silents == SILENT_MOST;
    for (uint32_t i = s->links->silents; i-- > 0;) {
        const struct sm_silent *e = s->links->silent[i];
        if (is_silent(e) || e->returning)
            continue;
        if (now - e->released_us < REMEMBERED_US && !full)
            continue;
        full = false;
        drop_at(s, i);
    }
}

/* Makes a new set of silent switches for discoveries. If memory runs out, the former set stays. */
static void remake_set(struct sm *s)
{
    uint64_t guid[SILENT_MOST];
    uint32_t count = 0, links = 0, n = 0;
    struct fab_silent *set = NULL;
    for (uint32_t i = 0; i < s->links->silents; i++)
        links += is_silent(s->links->silent[i]) ? s->links->silent[i]->links : 0;
    struct fab_silent_link *link = calloc(links + 1u, sizeof(*link));
    for (uint32_t i = 0; link && i < s->links->silents; i++) {
        const struct sm_silent *e = s->links->silent[i];
        if (!is_silent(e))
            continue;
        guid[count++] = e->guid;
        if (e->links)
            memcpy(&link[n], e->link, e->links * sizeof(*link));
        n += e->links;
    }
    if (link && fab_discover_silent_new(guid, count, link, links, &set) == FAB_OK) {
        fab_discover_silent_unref(s->links->silent_set);
        s->links->silent_set = set;
    } else {
        log_error("sm", "out of memory: the list of silent switches is not up to date");
    }
    free(link);
}

struct fab_silent *sm_silent_set(const struct sm *s)
{
    return s->links->silent_set;
}

struct sm_silent *sm_silent_add(struct sm *s, uint64_t guid)
{
    struct sm_silent *e = sm_silent_find(s, guid);
    drop_old(s);
    e = sm_silent_find(s, guid);
    if (!e && s->links->silents < SILENT_MOST)
        e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    if (e->guid == 0) {
        *e = (struct sm_silent){.s = s, .guid = guid};
        s->links->silent[s->links->silents++] = e;
    }
    e->relapses += e->released_us != 0;
    e->since_us = clock_now_us();
    e->released_us = 0;
    e->returning = false;
    e->answers = 0;
    remake_set(s);
    return e;
}

void sm_silent_release(struct sm *s, struct sm_silent *e)
{
    e->released_us = clock_now_us();
    e->returning = true;
    remake_set(s);
}

/* ---- excluding the links --------------------------------------------------------------------- */

/* Writes to port[] the ids of those ports of a switch that have an ISL that is up, and returns
 * their number; port[] has room for 256. Returns 0 if a host is connected to the switch, because
 * routes cannot avoid such a switch. */
static uint32_t isls_of(const struct fab_fabric *f, uint32_t node, uint32_t *port)
{
    uint32_t count = 0;
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
        uint32_t p = fab_fabric_port_id(f, node, (uint8_t)num);
        uint32_t peer = fab_fabric_peer_node(f, p);
        if (peer == FAB_NONE || !fab_fabric_port_is_up(f, p))
            continue;
        if (!fab_fabric_node_is_switch(f, peer))
            return 0;
        port[count++] = p;
    }
    return count;
}

bool sm_silent_can_leave_out(const struct fab_fabric *f, uint32_t node)
{
    uint32_t port[256], count = isls_of(f, node, port), first;
    struct {
        uint32_t switches, others;
    } before, after;
    if (count == 0 ||
        fab_health_isolation_cut_off(f, port, 0, &before.switches, &before.others, &first) !=
            FAB_OK ||
        fab_health_isolation_cut_off(f, port, count, &after.switches, &after.others, &first) !=
            FAB_OK)
        return false;
    return after.switches == before.switches + 1 && after.others == before.others;
}

static int note_links(struct sm_silent *e, const struct fab_fabric *f, const uint32_t *port,
                      uint32_t count)
{
    struct fab_silent_link *link = calloc(count + 1u, sizeof(*link));
    if (!link)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        for (int end = 0; end < 2; end++) {
            const struct fab_port *p =
                fab_fabric_port(f, end == 0 ? port[i] : fab_fabric_port(f, port[i])->peer);
            link[i].guid[end] = f->nodes[p->node].guid;
            link[i].port[end] = p->num;
        }
    free(e->link);
    e->link = link;
    e->links = count;
    return FAB_OK;
}

int sm_silent_leave_out(struct sm *s, struct fab_fabric *f, uint64_t guid)
{
    struct sm_silent *e = sm_silent_find(s, guid);
    uint32_t node = fab_fabric_node_by_guid(f, guid), port[256];
    uint32_t count = e && node != FAB_NONE ? isls_of(f, node, port) : 0;
    if (count == 0)
        return FAB_OK;
    int r = note_links(e, f, port, count);
    if (r != FAB_OK)
        return r;
    for (uint32_t i = 0; i < count && r == FAB_OK; i++)
        r = sm_link_exclude(f, port[i]);
    e->avoided = true;
    remake_set(s);
    return r;
}

/* If routes can avoid this silent switch, excludes the links of the switch from the new snapshot.
 * Otherwise the links stay in use, and the entry `e` has no links. Returns OK or NOMEM. */
static int take_one(struct sm *s, struct fab_fabric *f, struct sm_silent *e)
{
    uint32_t node = fab_fabric_node_by_guid(f, e->guid);
    if (node == FAB_NONE || !f->nodes[node].silent || !sm_silent_can_leave_out(f, node)) {
        free(e->link);
        e->link = NULL;
        e->links = 0;
        e->avoided = false;
        return FAB_OK;
    }
    return sm_silent_leave_out(s, f, e->guid);
}

int sm_silent_exclude(struct sm *s, struct fab_fabric *f)
{
    int r = FAB_OK;
    for (uint32_t i = 0; i < s->links->silents && r == FAB_OK; i++)
        if (is_silent(s->links->silent[i]))
            r = take_one(s, f, s->links->silent[i]);
    if (s->links->silents)
        remake_set(s);
    return r;
}

bool sm_silent_has_link(const struct sm *s, uint64_t guid, uint8_t port)
{
    for (uint32_t i = 0; i < s->links->silents; i++) {
        const struct sm_silent *e = s->links->silent[i];
        for (uint32_t k = 0; (is_silent(e) || e->returning) && k < e->links; k++)
            for (int end = 0; end < 2; end++)
                if (e->link[k].guid[end] == guid && e->link[k].port[end] == port)
                    return true;
    }
    return false;
}

void sm_silent_settle(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    bool gone = false;
    for (uint32_t i = s->links->silents; i-- > 0;) {
        struct sm_silent *e = s->links->silent[i];
        uint32_t node = fab_fabric_node_by_guid(f, e->guid);
        if (is_silent(e) && node == FAB_NONE) {
            /* the switch has left the fabric, and node-removed was emitted */
            drop_at(s, i);
            gone = true;
        } else if (e->returning && (node == FAB_NONE || !f->nodes[node].silent)) {
            e->returning = e->avoided = false;
            e->links = 0;
        }
    }
    if (gone)
        remake_set(s);
}

void sm_silent_fini(struct sm *s)
{
    while (s->links->silents > 0)
        drop_at(s, s->links->silents - 1);
    fab_discover_silent_unref(s->links->silent_set);
    s->links->silent_set = NULL;
}

int sm_silent_init(struct sm *s)
{
    s->links->silent = calloc(SILENT_MOST, sizeof(struct sm_silent *));
    return s->links->silent ? FAB_OK : FAB_E_NOMEM;
}
