/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confirms tables before the writes of a local repair. This is needed only after a take-over with
 * tables that this manager read in standby (apply/standby.c). The phase "repairing" then reads all
 * doubtful LFT blocks whose entries the proof of the repair uses. If one of them differs, or a
 * switch does not answer, the repair is dropped before its first write, and a heavy sweep follows.
 * Some repairs are dropped without a read (sm_confirm_tables_begin).
 *
 * The proof of a repair presumes that labels ascend along all paths of the active tables
 * (libfabmgr/repair/proof.c). The blocks that are read confirm this for the paths that the repair
 * changes, and for the entries that send packets to these paths. At 11,664 hosts, these are some
 * thousand blocks, of all switches together. Other blocks can differ only if the former master
 * changed few entries after this manager had read them. A local repair or an incremental rebalance
 * of fabricd changes few entries, and keeps the labels ascending. New tables of an engine change
 * nearly all blocks, so the blocks that are read show them. The heavy sweep that follows the repair
 * reads all other blocks.
 *
 * With the setting `replication`, the phase does not rely on this argument about other blocks. It
 * waits until this manager has compared the order of its labels with the order that the former
 * master announced (sm_standby_trust). If they differ, or if the former master was changing its
 * tables, the repair is dropped.
 *
 * If the failed link is on the route by which this manager polled the former master, the former
 * master may still live. The phase then asks it over another route. If it answers as master, the
 * repair is dropped, too, and the heavy sweep elects again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/ha/ha.h"
#include "libfabmgr/base/bitset.h"

/* Tag of the request to the former master. The other tags have a switch id and a block number. */
#define TAG_MASTER UINT64_MAX

/* Replaces the directed routes that lead over the failed links, which are still in the snapshot.
 * Returns OK or NOMEM. */
static int avoid_failed(struct sm *s)
{
    const struct sm_probe *p = &s->fault->probe;
    struct fab_fabric *without = NULL;
    uint32_t *port = calloc(2 * (size_t)p->count + 1, sizeof(*port));
    int r = port ? fab_fabric_next(s->model.fabric, &without) : FAB_E_NOMEM;
    for (uint32_t i = 0; r == FAB_OK && i < p->count; i++) {
        port[2 * i] = p->link[i].port;
        port[2 * i + 1] = p->link[i].peer;
        r = fab_fabric_remove_link(without, p->link[i].port);
    }
    if (r == FAB_OK && p->count > 0)
        r = fab_discover_paths_without(without, port, p->count, s->model.paths);
    if (r == FAB_OK)
        r = sm_model_find_port_paths(&s->model);
    fab_fabric_unref(without);
    free(port);
    return r;
}

int sm_confirm_tables_begin(struct sm *s)
{
    struct sm_confirm_tables *c = &s->fault->confirm;
    const struct sm_repair_search *x = s->fault->search;
    const struct fab_repair_session *t = sm_repair_session_of(s);
    sm_confirm_tables_fini(s);
    if (!sm_standby_unchecked(s) || !x || x->status != FAB_OK)
        return FAB_OK;
    /* In four cases, the repair is dropped without a read. All tables must be read again first
     * (REFUSED). Entries lose their path: the proof then searches all switches that send to them.
     * Each repair changes labels: repairs of the former master may have used other labels. Or this
     * repair changes labels, and there were earlier repairs: the proof then uses the entries of all
     * of them. */
    c->failed =
        sm_standby_trust(s) == SM_STANDBY_REFUSED || x->delta.lost > 0 ||
        fab_repair_labels_vary(t->state) ||
        (fab_repair_overlay_size(t->state) > 0 && fab_repair_labels_differ(t->state, &x->delta));
    if (c->failed)
        return FAB_OK;
    const struct fab_lft *lft = &s->model.target->lft;
    c->blocks = fab_target_lft_blocks(lft);
    c->bits = (size_t)s->model.fabric->switch_count * c->blocks;
    if (sm_path_is_cut(s, sm_ha_former_master_path(s)))
        c->master = sm_ha_former_master_port(s);
    int r = avoid_failed(s);
    return r == FAB_OK
               ? fab_repair_session_proof_blocks(t, s->model.fabric, lft, &x->delta, &c->block)
               : r;
}

/* Fills in the request to the former master. Returns false if none must be sent. */
static bool ask_master(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_confirm_tables *c = &s->fault->confirm;
    if (c->master == FAB_NONE || c->asked)
        return false;
    c->asked = true;
    ret->path = sm_model_path(&s->model, c->master);
    ret->attr_id = FAB_ATTR_SM_INFO;
    ret->attr_mod = 0;
    ret->once = true;
    ret->tag = TAG_MASTER;
    return ret->path != NULL;
}

bool sm_confirm_tables_next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_confirm_tables *c = &s->fault->confirm;
    if (ask_master(s, ret))
        return true;
    while (c->block && (c->at = fab_base_bits_next(c->block, c->bits, c->at)) < c->bits) {
        uint32_t sw = (uint32_t)(c->at / c->blocks), block = (uint32_t)(c->at % c->blocks);
        c->at++;
        if (fab_plan_observed_is_known(&s->model.observed, sw, block))
            continue;
        if (s->model.paths[sw].hops == FAB_PATH_UNKNOWN) {
            c->failed = true;
            continue;
        }
        ret->path = &s->model.paths[sw];
        ret->attr_id = FAB_ATTR_LFT;
        ret->attr_mod = block;
        ret->tag = (uint64_t)sw << 32 | block;
        return true;
    }
    return false;
}

void sm_confirm_tables_answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_confirm_tables *c = &s->fault->confirm;
    struct fab_observed *o = &s->model.observed;
    uint32_t sw = (uint32_t)(tag >> 32), block = (uint32_t)tag;
    struct fab_sm_info info;
    if (tag == TAG_MASTER) {
        c->master_lives =
            a->status == FAB_OK &&
            fab_wire_attr_unpack(&fab_wire_attr_sm_info, a->data, a->len, &info) == FAB_OK &&
            info.state == FAB_SM_MASTER;
        return;
    }
    if (a->status != FAB_OK || a->len < FAB_LFT_BLOCK) {
        c->failed = true;
        return;
    }
    c->reads++;
    c->differs |=
        memcmp(fab_target_lft_block(&s->model.target->lft, sw, block), a->data, FAB_LFT_BLOCK) != 0;
    fab_plan_observed_set_block(o, sw, block, a->data);
}

bool sm_confirm_tables_over(const struct sm *s)
{
    const struct sm_confirm_tables *c = &s->fault->confirm;
    return !c->block || (c->at >= c->bits && sm_standby_trust(s) != SM_STANDBY_WAITS);
}

/* Waits only for one try of a read of tables: a heavy sweep handles switches that do not answer. If
 * only the answer of the former master is missing, waits for it. */
void sm_confirm_tables_stalled(struct sm *s, uint64_t stalled_us)
{
    struct sm_confirm_tables *c = &s->fault->confirm;
    bool only_master = c->asked && sm_run_outstanding(s) == 1;
    if (!c->block || only_master || stalled_us < sm_first_try_us(s))
        return;
    c->failed = true;
    c->at = c->bits;
    sm_run_give_up(s);
}

void sm_confirm_tables_end(struct sm *s, struct sm_repair_search *x)
{
    const struct sm_confirm_tables *c = &s->fault->confirm;
    log_debug("sm", "read again before the repair blocks=%u differ=%d failed=%d", c->reads,
              c->differs, c->failed);
    if (c->differs)
        sm_standby_differs(s);
    bool refused = sm_standby_trust(s) != SM_STANDBY_TRUSTED;
    if (x->status == FAB_OK && (c->differs || c->failed || c->master_lives || refused)) {
        x->status = FAB_E_BUSY;
        snprintf(x->why, sizeof(x->why), "%s",
                 c->master_lives ? "the former master is still master"
                 : refused       ? "all tables must be read again first"
                 : c->differs    ? "switches hold other tables than those that were read in standby"
                                 : "the tables that were read in standby could not be confirmed");
    }
    sm_confirm_tables_fini(s);
}

void sm_confirm_tables_fini(struct sm *s)
{
    free(s->fault->confirm.block);
    s->fault->confirm = (struct sm_confirm_tables){.master = FAB_NONE};
}
