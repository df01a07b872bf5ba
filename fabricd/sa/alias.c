/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alias GUIDs (IBA 15.2.5.18). A host requests alias GUIDs for its virtual functions by a Set of
 * one block of GUIDInfoRecord. The ComponentMask selects entries of the block. If a selected entry
 * is 0, the port keeps the alias GUID that it has at this index; if it has none, the manager
 * chooses one. A requested GUID that is already in use is not assigned. GUIDs of devices that have
 * left the fabric also count as in use, so that no host can pose as a host that is switched off.
 * The answer has the block as it is after the change.
 *
 * The manager keeps alias GUIDs in the store, writes them to the port at once, and repeats a failed
 * write. When a port returns to the fabric, the manager writes its alias GUIDs again, because the
 * port may have lost them.
 *
 * Only the port's own node, or a requester that gives the sa_key, may change alias GUIDs.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sa/quota.h"
#include "fabricd/sa/registered.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/status.h"

/* interval in us at which the manager repeats failed writes, and looks for ports that have returned
 * to the fabric */
#define LOOK_US 1000000
#define UNDER_WAY 32 /* maximum number of GUIDInfo writes in flight */

/* number of the ComponentMask bit for the first GUID of the block; the bits before it are for LID,
 * BlockNum and two reserved fields */
enum { FIRST_GUID = 4 };

/* ---- writing --------------------------------------------------------------------------------- */

static void on_written(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    struct sa *s = (struct sa *)((char *)ctx - offsetof(struct sa, aliases));
    struct fab_sa_alias_block *b = &s->aliases.row[tag];
    s->aliases_written--;
    if (answer->status == FAB_OK)
        return;
    if (!b->dirty)
        log_warning("sa", "port 0x%016llx does not accept block %u of its alias GUIDs",
                    (unsigned long long)b->port_guid, b->block);
    b->dirty = true;
}

static void write_block(struct sa *s, const struct fab_view *v, uint32_t row)
{
    struct fab_sa_alias_block *b = &s->aliases.row[row];
    uint32_t port = fab_fabric_port_by_guid(v->fabric, b->port_guid);
    struct fab_guid_block block;
    if (port == FAB_NONE || v->target->lids.base[port] == 0) {
        /* the port may lose the block while it is out of the fabric, so the block is written again
         * when the port returns */
        b->dirty = true;
        return;
    }
    if (!b->dirty || s->aliases_written >= UNDER_WAY)
        return;
    memcpy(block.guid, b->guid, sizeof(block.guid));
    if (b->block == 0)
        block.guid[0] = b->port_guid;
    if (sm_guids_write(s->in.sm, (uint16_t)v->target->lids.base[port], b->block, &block, on_written,
                       &s->aliases, row) != FAB_OK)
        return;
    b->dirty = false;
    s->aliases_written++;
}

static void work(void *ctx)
{
    struct sa *s = ctx;
    struct fab_view *v = sm_view(s->in.sm);
    struct sm_status status;
    sm_get_status(s->in.sm, &status);
    bool can = v != NULL && v->target != NULL && status.role == FAB_SM_MASTER;
    for (uint32_t row = 0; can && row < s->aliases.count; row++)
        write_block(s, v, row);
    fab_view_unref(v);
    if (s->aliases.count > 0)
        loop_timer_set(s->alias_timer, LOOK_US);
}

static int load(struct sa *s)
{
    struct store_alias *kept = NULL;
    size_t count = 0;
    int r = s->in.store ? store_load_aliases(s->in.store, &kept, &count) : FAB_OK;
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        if (fab_sa_aliases_set(&s->aliases, kept[i].port_guid, kept[i].place, kept[i].guid) ==
            FAB_E_NOMEM)
            r = FAB_E_NOMEM;
    free(kept);
    if (r == FAB_OK && count > 0)
        loop_timer_set(s->alias_timer, LOOK_US);
    return r;
}

int sa_alias_start(struct sa *s)
{
    s->alias_timer = loop_timer_new(s->in.loop, work, s);
    return s->alias_timer ? load(s) : FAB_E_NOMEM;
}

int sa_alias_load(struct sa *s)
{
    sm_guids_cancel(s->in.sm, &s->aliases);
    s->aliases_written = 0;
    fab_sa_aliases_fini(&s->aliases);
    s->aliases = (struct fab_sa_aliases){0};
    return load(s);
}

void sa_alias_stop(struct sa *s)
{
    sm_guids_cancel(s->in.sm, &s->aliases);
    loop_timer_free(s->alias_timer);
    fab_sa_aliases_fini(&s->aliases);
}

/* ---- requests -------------------------------------------------------------------------------- */

struct change {
    struct sa *s;
    const struct fab_view *v;
    struct fab_wire_guid_info_record record;
    /* id of the port, and the GUID indexes `first` to `end` - 1 of the requested block */
    uint32_t port, first, end;
    uint64_t own; /* port GUID of this port */
    bool trusted; /* the request carried the sa_key */
    /* bitset of the GUID indexes that the request selects: bit i is for index first + i */
    uint8_t selected;
};

static bool is_owner(const struct fab_view *v, uint32_t from, uint32_t port)
{
    return from != FAB_NONE &&
           fab_fabric_port(v->fabric, from)->node == fab_fabric_port(v->fabric, port)->node;
}

static uint16_t read_change(struct sa *s, const struct fab_sa_request *req, struct change *c)
{
    const uint64_t needed = fab_wire_rec_component(&fab_wire_guid_info_record, "LID") |
                            fab_wire_rec_component(&fab_wire_guid_info_record, "BlockNum");
    *c = (struct change){.s = s, .v = fab_sa_view(s->view->sa), .trusted = req->trusted};
    if ((req->comp_mask & needed) != needed)
        return FAB_SA_INSUFFICIENT_COMPONENTS;
    if (fab_wire_rec_unpack(&fab_wire_guid_info_record, req->data, FAB_SA_DATA_LEN, &c->record) !=
        FAB_OK)
        return FAB_SA_REQ_INVALID;
    const struct fab_lids *lids = &c->v->target->lids;
    c->port = c->record.lid <= lids->top ? lids->owner[c->record.lid] : FAB_NONE;
    if (c->port == FAB_NONE)
        return FAB_SA_NO_RECORDS;
    uint32_t cap = fab_fabric_port(c->v->fabric, c->port)->info.guid_cap;
    c->own = fab_fabric_port(c->v->fabric, c->port)->guid;
    c->first = c->record.block * FAB_SA_ALIAS_BLOCK;
    c->end = c->first + FAB_SA_ALIAS_BLOCK < cap ? c->first + FAB_SA_ALIAS_BLOCK : cap;
    c->selected = (uint8_t)(req->comp_mask >> FIRST_GUID);
    if (c->first >= cap)
        return FAB_SA_NO_RECORDS;
    if (!req->trusted && !is_owner(c->v, req->from, c->port))
        return FAB_SA_REQ_DENIED;
    return c->record.block == 0 && (c->selected & 1) ? FAB_SA_REQ_INVALID : 0;
}

static bool is_of_a_present_device(const struct fab_view *v, uint64_t guid)
{
    return fab_fabric_port_by_guid(v->fabric, guid) != FAB_NONE ||
           fab_fabric_node_by_guid(v->fabric, guid) != FAB_NONE;
}

/* Returns true if the GUID is that of a device that is in the fabric, or that the manager knows
 * (sm_find_guid), or if the manager cannot tell at present. Such a GUID cannot be an alias GUID.
 * But a requester that gives the sa_key may use the GUID of every device that is not in the fabric.
 */
static bool is_of_a_device(const void *ctx, uint64_t guid)
{
    const struct change *c = ctx;
    return is_of_a_present_device(c->v, guid) ||
           (!c->trusted && sm_find_guid(c->s->in.sm, guid) != FAB_E_NOT_FOUND);
}

static uint64_t guid_at(const struct change *c, uint32_t index)
{
    const struct fab_sa_alias_block *b =
        fab_sa_aliases_block(&c->s->aliases, c->own, index / FAB_SA_ALIAS_BLOCK);
    return b != NULL ? b->guid[index % FAB_SA_ALIAS_BLOCK] : 0;
}

/* Sets the alias GUID at an index of the port, and stores it; a GUID of 0 removes the alias GUID.
 * Changes nothing, and returns OK, if the GUID is that of a device (is_of_a_device), or an alias
 * GUID of another port or at another index. Returns OK or NOMEM. */
static int put(const struct change *c, uint32_t index, uint64_t guid)
{
    uint64_t old = guid_at(c, index);
    if (guid != 0 && guid != old && is_of_a_device(c, guid))
        return FAB_OK;
    int r = fab_sa_aliases_set(&c->s->aliases, c->own, index, guid);
    if (r != FAB_OK)
        return r == FAB_E_NOMEM ? r : FAB_OK;
    const struct store_alias kept = {
        .port_guid = c->own, .guid = guid ? guid : old, .place = (uint16_t)index};
    if (c->s->in.store && (old != guid || (guid != 0 && store_has_lost(c->s->in.store))))
        store_put_alias(c->s->in.store, &kept, guid != 0);
    return FAB_OK;
}

/* Checks whether a request may change or remove the selected alias GUIDs. Returns the MAD status
 * with which to refuse it: REQ_DENIED if one of these alias GUIDs is a member of a multicast group,
 * or BUSY if the groups are not known yet. 0: the request is permitted. */
static uint16_t may_rename(const struct change *c, bool set)
{
    const struct fab_mcast_groups *groups = sm_mgroups(c->s->in.sm);
    uint16_t status = 0;
    for (uint32_t index = c->first; status == 0 && index < c->end; index++) {
        uint64_t old = guid_at(c, index), now = c->record.table.guid[index % FAB_SA_ALIAS_BLOCK];
        bool stays = old == 0 || (set && (now == 0 || now == old));
        if (!(c->selected >> (index - c->first) & 1) || stays)
            continue;
        if (groups == NULL)
            status = FAB_SMP_BUSY;
        else if (fab_mcast_groups_has_member(groups, old))
            status = FAB_SA_REQ_DENIED;
    }
    return status;
}

static bool is_within_quota(const struct change *c, const struct fab_sa_request *req)
{
    struct sa_quota_use use = {.own = fab_sa_aliases_of(&c->s->aliases, c->own),
                               .all = c->s->aliases.guids.count};
    for (uint32_t index = c->first; index < c->end; index++)
        use.more += (c->selected >> (index - c->first) & 1) && guid_at(c, index) == 0;
    return use.more == 0 || sa_quota_permits(c->s, req, FAB_QUOTA_ALIAS_GUIDS, &use);
}

/* Returns the GUID for an index: the GUID in the request; if it is 0, the present GUID of the
 * index; if both are 0, a new GUID, or 0 if no free GUID was found. */
static uint64_t wanted_at(const struct change *c, uint32_t index)
{
    uint64_t guid = c->record.table.guid[index % FAB_SA_ALIAS_BLOCK];
    if (guid == 0)
        guid = guid_at(c, index);
    return guid != 0 ? guid
                     : fab_sa_aliases_generate(&c->s->aliases, c->own, index, is_of_a_device, c);
}

static uint16_t change(struct sa *s, const struct fab_sa_request *req, bool set,
                       uint8_t ret_data[FAB_SA_DATA_LEN])
{
    struct change c;
    uint16_t status = read_change(s, req, &c);
    if (status == 0 && set && !c.trusted && sm_find_guid(s->in.sm, c.own) == FAB_E_BUSY)
        status = FAB_SMP_BUSY;
    if (status == 0)
        status = may_rename(&c, set);
    if (status == 0 && set && !is_within_quota(&c, req))
        status = FAB_SA_NO_RESOURCES;
    for (uint32_t index = c.first; status == 0 && index < c.end; index++)
        if ((c.selected >> (index - c.first) & 1) &&
            put(&c, index, set ? wanted_at(&c, index) : 0) != FAB_OK)
            status = FAB_SA_NO_RESOURCES;
    if (status != 0)
        return status;
    for (uint32_t index = c.first; index < c.first + FAB_SA_ALIAS_BLOCK; index++)
        c.record.table.guid[index - c.first] = index == 0 ? c.own : guid_at(&c, index);
    loop_timer_set(s->alias_timer, 0);
    return fab_wire_rec_pack(&fab_wire_guid_info_record, &c.record, ret_data, FAB_SA_DATA_LEN) ==
                   FAB_OK
               ? 0
               : FAB_SA_NO_RESOURCES;
}

uint16_t sa_alias_set(struct sa *s, const struct fab_sa_request *req,
                      uint8_t ret_data[FAB_SA_DATA_LEN])
{
    return change(s, req, true, ret_data);
}

uint16_t sa_alias_delete(struct sa *s, const struct fab_sa_request *req,
                         uint8_t ret_data[FAB_SA_DATA_LEN])
{
    return change(s, req, false, ret_data);
}
