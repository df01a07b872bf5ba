/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves multicast trees together with the unicast tables of the published view, because multicast
 * packets wait for the same buffers as unicast packets. The worker task of mft_proof.c proves for
 * each VL that the channel dependencies of unicast and multicast packets together have no cycle.
 * When the unicast tables change, all trees must be proved again.
 *
 * If there is a cycle, the same task makes a spanning tree whose channel dependencies form no cycle
 * together with those of unicast packets (libfabmgr/spanning). Until links change, all multicast
 * trees are parts of this spanning tree. If there is no such spanning tree, the manager writes the
 * trees despite the cycle, because IPoIB needs the broadcast group. The event multicast-deadlock
 * and the status then say that a deadlock is possible.
 *
 * In fabrics with more than JOINT_MOST table entries, the dependencies of unicast packets would
 * occupy the worker for more than 100 ms after each repair. In such fabrics, trees are proved
 * without the unicast tables.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/sm/mcast/state.h"

/* maximum number of LFT entries (switches * LIDs) for a joint proof */
#define JOINT_MOST (UINT32_C(1) << 26)

static bool is_small(const struct fab_view *v)
{
    return (uint64_t)v->fabric->switch_count * v->target->lids.top <= JOINT_MOST;
}

void sm_joint_drop(struct sm_multicast *m)
{
    fab_verify_channels_free(m->joint.channels);
    fab_view_unref(m->joint.view);
    m->joint.channels = NULL;
    m->joint.view = NULL;
}

static void open_all(struct sm_multicast *m)
{
    memset(m->joint.open, 0xff, sizeof(m->joint.open));
    memset(m->proved_groups, 0, sizeof(m->proved_groups));
    m->joint.cycle = false;
}

void sm_joint_renew(struct sm *s)
{
    struct sm_multicast *m = s->mcast;
    const struct fab_view *now = s->model.view;
    bool known = m->joint.view && m->joint.view->fabric == m->fabric;
    if (!known)
        /* the trees belong to a different snapshot than the view of the joint proof, so port ids
         * differ */
        sm_joint_drop(m);
    if (!now || !now->target || now->fabric != m->fabric ||
        (known && m->joint.view->target == now->target))
        return;
    sm_joint_drop(m);
    m->joint.guide_tried = false;
    if (is_small(now)) {
        m->joint.view = fab_view_ref(now);
        open_all(m);
    }
}

void sm_joint_add_open(const struct sm_multicast *m, uint64_t groups[FAB_MFT_GROUPS / 64])
{
    for (uint32_t slot = 0; m->joint.view && slot < m->groups->mlids; slot++)
        if (m->groups->users[slot] > 0 &&
            fab_base_bits_get(m->joint.open, slot / FAB_BLOCK_ENTRIES))
            fab_base_bits_set(groups, slot / FAB_BLOCK_ENTRIES);
}

/* ---- one proof ------------------------------------------------------------------------------- */

void sm_joint_lend(struct sm_multicast *m, struct sm_joint_proof *ret)
{
    *ret = (struct sm_joint_proof){0};
    if (!m->joint.view)
        return;
    if (!m->joint.channels)
        /* The channel dependencies of the trees that were proved before are lost, so all trees must
         * be proved again. */
        open_all(m);
    ret->view = fab_view_ref(m->joint.view);
    ret->channels = m->joint.channels;
    ret->may_guide = !m->joint.guide_tried;
    for (size_t i = 0; i < m->groups->groups; i++)
        ret->sls |= (uint16_t)(1u << (m->groups->group[i]->is.sl & 15));
    m->joint.channels = NULL;
}

int sm_joint_compute(struct sm_joint_proof *p)
{
    if (!p->view || p->channels)
        return FAB_OK;
    const struct fab_verify_input in = fab_view_verify_input(p->view);
    int r = fab_verify_channels_new(&in, &p->channels);
    return r == FAB_E_INVAL ? FAB_OK : r;
}

int sm_joint_guide(struct sm_joint_proof *p, const struct fab_multicast_verdict *v)
{
    if (!v->with_unicast || v->together || !p->may_guide)
        return FAB_OK;
    int r = fab_spanning_make(p->channels, p->sls, &p->guide);
    /* CYCLE: unicast packets alone have a cycle of channel dependencies, and no spanning tree
     * helps */
    return r == FAB_E_CYCLE ? FAB_OK : r;
}

void sm_joint_proof_fini(struct sm_joint_proof *p)
{
    fab_verify_channels_free(p->channels);
    fab_view_unref(p->view);
    fab_mcast_guide_fini(&p->guide);
    *p = (struct sm_joint_proof){0};
}

/* ---- its result ------------------------------------------------------------------------------ */

static int follow(struct sm *s, struct fab_mcast_guide *guide)
{
    struct sm_multicast *m = s->mcast;
    int r = fab_mcast_trees_follow(m->groups->trees, guide);
    fab_verify_channels_forget_trees(m->joint.channels);
    open_all(m);
    sm_mfts_open_all(s);
    sm_multicast_kick(s);
    return r;
}

static void note_cycle(struct sm_multicast *m, const char *witness)
{
    m->joint.cycle = true;
    if (m->joint.deadlock)
        return;
    m->joint.deadlock = true;
    snprintf(m->joint.witness, sizeof(m->joint.witness), "%s", witness);
    event_emit(m->s->in.bus, multicast_deadlock, .subject = "fabric", .witness = witness);
}

int sm_joint_done(struct sm *s, struct sm_joint_proof *p, const uint64_t *groups,
                  const struct fab_multicast_verdict *v, const char *witness, bool *ret_again)
{
    struct sm_multicast *m = s->mcast;
    uint64_t left[FAB_MFT_GROUPS / 64] = {0};
    *ret_again = false;
    if (!p->view || p->view != m->joint.view)
        return FAB_OK;
    m->joint.channels = p->channels;
    p->channels = NULL;
    if (v->with_unicast && !v->together) {
        bool guided = p->guide.switches > 0 && p->guide.missed == 0;
        m->joint.guide_tried = true;
        *ret_again = guided;
        if (guided)
            return follow(s, &p->guide);
        note_cycle(m, witness);
    }
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64; i++)
        m->joint.open[i] &= ~groups[i];
    sm_joint_add_open(m, left);
    if (fab_base_bits_count(left, FAB_MFT_GROUPS) == 0)
        m->joint.deadlock = m->joint.cycle;
    return FAB_OK;
}
