/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves multicast trees before their MFT blocks are written (libfabmgr/verify/multicast.h). The 32
 * consecutive MLIDs of an MLID group share MFT blocks, so their trees are proved together, and
 * their blocks are written together. The worker task of a proof gets copies of the MFT blocks and
 * the members of some MLID groups, because a join may change the originals at any time. The writes,
 * too, are planned from these copies. A join that comes meanwhile is part of the next plan.
 *
 * If a tree fails the proof, the MFT blocks of its MLID group are not written until a tree of this
 * group changes.
 *
 * On request, the MFT blocks that switches are known to hold are verified in the same way, together
 * with the unicast tables (sm_copy_mfts).
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/mcast/state.h"
#include "libfabmgr/base/size.h"

/* maximum number of members and MFT blocks that are copied for one worker task; a single MLID group
 * may have more */
#define BATCH 200000u

struct sm_mft_proof {
    struct fab_fabric *fabric;
    /* bitset of the MLID groups whose trees this task proves */
    uint64_t groups[FAB_MFT_GROUPS / 64];
    struct sm_mft_sealed sealed;
    struct sm_joint_proof joint;
    struct fab_multicast_verdict verdict;
    char *text; /* text about the first failure; NULL: none */
    int status;
};

/* ---- copies ---------------------------------------------------------------------------------- */

void sm_mft_sealed_fini(struct sm_mft_sealed *x)
{
    fab_target_blocks_fini(&x->tables);
    free(x->member);
    free(x->lid);
    *x = (struct sm_mft_sealed){0};
}

static uint32_t slot_of(const struct fab_mcast_group *g)
{
    return (uint32_t)g->is.mlid - FAB_MLID_FIRST;
}

static bool is_wanted(const uint64_t *groups, uint32_t group)
{
    return !groups || fab_base_bits_get(groups, group);
}

/* Allocates ret->member. Lists in ret->lid[] the MLIDs that multicast groups use and that belong to
 * the MLID groups in the bitset `groups`; NULL: all MLIDs in use. of_slot[i] becomes the index of
 * MLID FAB_MLID_FIRST + i in ret->lid[]. Each MLID is listed once, even if several multicast groups
 * have it. Returns OK or NOMEM. */
static int list_lids(const struct sm_multicast *m, const uint64_t *groups, uint32_t *of_slot,
                     struct sm_mft_sealed *ret)
{
    const struct fab_mcast_groups *all = m->groups;
    size_t members = 0, lids = 0;
    for (size_t i = 0; i < all->groups; i++)
        if (is_wanted(groups, slot_of(all->group[i]) / FAB_BLOCK_ENTRIES)) {
            lids += of_slot[slot_of(all->group[i])]++ == 0;
            members += all->group[i]->members;
        }
    ret->member = fab_base_alloc_array(members + 1, sizeof(*ret->member));
    ret->lid = calloc(lids + 1, sizeof(*ret->lid));
    if (!ret->member || !ret->lid)
        return FAB_E_NOMEM;
    for (uint32_t slot = 0; slot < FAB_VERIFY_MLIDS; slot++) {
        if (of_slot[slot] == 0)
            continue;
        of_slot[slot] = ret->lids;
        ret->lid[ret->lids++].mlid = (uint16_t)(FAB_MLID_FIRST + slot);
    }
    return FAB_OK;
}

static void copy_members(const struct fab_mcast_group *from, uint32_t *at,
                         struct sm_mft_sealed *ret)
{
    for (size_t k = 0; k < from->members; k++)
        ret->member[(*at)++] = (struct fab_verify_multicast_member){
            .guid = from->member[k].port_guid,
            .receives = (from->member[k].join_state & (FAB_JOIN_FULL | FAB_JOIN_NON_MEMBER)) != 0};
}

static void copy_all_members(const struct sm_multicast *m, const uint64_t *groups,
                             const uint32_t *of_slot, struct sm_mft_sealed *ret)
{
    const struct fab_mcast_groups *all = m->groups;
    uint32_t at = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < all->groups; i++) {
            const struct fab_mcast_group *g = all->group[i];
            if (!is_wanted(groups, slot_of(g) / FAB_BLOCK_ENTRIES))
                continue;
            struct fab_verify_multicast_lid *lid = &ret->lid[of_slot[slot_of(g)]];
            if (pass == 0) {
                lid->sls |= (uint16_t)(1u << (g->is.sl & 15));
                lid->count += (uint32_t)g->members;
            } else {
                uint32_t next = lid->first + lid->count;
                copy_members(g, &next, ret);
                lid->count = next - lid->first;
            }
        }
        for (uint32_t i = 0; i < ret->lids && pass == 0; i++) {
            ret->lid[i].first = at;
            at += ret->lid[i].count;
            ret->lid[i].count = 0;
        }
    }
}

static int copy_blocks(const struct fab_blocks *from, const uint64_t *groups,
                       struct sm_mft_sealed *ret)
{
    int r = FAB_OK;
    for (size_t i = 0; i < from->count && r == FAB_OK; i++)
        if (from->block[i].known && is_wanted(groups, from->block[i].number % FAB_MFT_GROUPS))
            r = fab_target_blocks_put(&ret->tables, from->block[i].id, from->block[i].number,
                                      from->block[i].entry);
    return r;
}

/* Copies what the proof of the MLID groups in the bitset `groups` needs (NULL: of all MLID groups):
 * their MFT blocks from `blocks`, and the members of their multicast groups. Returns OK or
 * NOMEM. */
static int seal(const struct sm_multicast *m, const struct fab_blocks *blocks,
                const uint64_t *groups, struct sm_mft_sealed *ret)
{
    struct sm_mft_sealed made = {0};
    uint32_t *of_slot = calloc(FAB_VERIFY_MLIDS + 1, sizeof(*of_slot));
    int r = of_slot ? list_lids(m, groups, of_slot, &made) : FAB_E_NOMEM;
    if (r == FAB_OK) {
        copy_all_members(m, groups, of_slot, &made);
        r = copy_blocks(blocks, groups, &made);
    }
    free(of_slot);
    if (r == FAB_OK)
        *ret = made;
    else
        sm_mft_sealed_fini(&made);
    return r;
}

int sm_mft_seal(const struct sm_multicast *m, const uint64_t *groups, struct sm_mft_sealed *ret)
{
    return seal(m, fab_mcast_trees_tables(m->groups->trees), groups, ret);
}

/* ---- verification on request ----------------------------------------------------------------- */

struct sm_mft_copy {
    struct fab_fabric *fabric;
    struct sm_mft_sealed sealed;
};

int sm_copy_mfts(const struct sm *s, struct sm_mft_copy **ret)
{
    const struct sm_multicast *m = s->mcast;
    if (!m->groups || !m->fabric)
        return FAB_E_NOT_FOUND;
    struct sm_mft_copy *c = calloc(1, sizeof(*c));
    int r = c ? seal(m, &m->held, NULL, &c->sealed) : FAB_E_NOMEM;
    if (r != FAB_OK) {
        free(c);
        return r;
    }
    c->fabric = fab_fabric_ref(m->fabric);
    *ret = c;
    return FAB_OK;
}

void sm_mft_copy_free(struct sm_mft_copy *c)
{
    if (!c)
        return;
    sm_mft_sealed_fini(&c->sealed);
    fab_fabric_unref(c->fabric);
    free(c);
}

int sm_mft_copy_verify(const struct sm_mft_copy *c, const struct fab_verify_input *unicast,
                       struct fab_multicast_verdict *ret)
{
    struct fab_verify_channels *channels = NULL;
    int r = unicast->fabric == c->fabric ? fab_verify_channels_new(unicast, &channels) : FAB_OK;
    const struct fab_verify_multicast_input in = {.fabric = c->fabric,
                                                  .mft = &c->sealed.tables,
                                                  .member = c->sealed.member,
                                                  .lid = c->sealed.lid,
                                                  .lids = c->sealed.lids,
                                                  .unicast = channels};
    if (r == FAB_OK)
        r = fab_verify_multicast(&in, ret);
    fab_verify_channels_free(channels);
    return r;
}

int sm_mft_copy_text(const struct sm_mft_copy *c, const struct fab_multicast_verdict *v,
                     char **ret_text)
{
    return fab_verify_multicast_text(c->fabric, v, ret_text);
}

/* ---- on the worker --------------------------------------------------------------------------- */

static void work(void *ctx, struct loop_task *task)
{
    struct sm_mft_proof *p = ctx;
    (void)task;
    p->status = sm_joint_compute(&p->joint);
    if (p->status != FAB_OK)
        return;
    const struct fab_verify_multicast_input in = {.fabric = p->fabric,
                                                  .mft = &p->sealed.tables,
                                                  .member = p->sealed.member,
                                                  .lid = p->sealed.lid,
                                                  .lids = p->sealed.lids,
                                                  .groups = p->groups,
                                                  .unicast = p->joint.channels,
                                                  .keep = true};
    p->status = fab_verify_multicast(&in, &p->verdict);
    if (p->status == FAB_OK)
        p->status = sm_joint_guide(&p->joint, &p->verdict);
    if (p->status == FAB_OK && (p->verdict.kind != FAB_OK || p->verdict.cycle.kind != FAB_OK))
        (void)fab_verify_multicast_text(p->fabric, &p->verdict, &p->text);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void proof_free(struct sm_mft_proof *p)
{
    sm_mft_sealed_fini(&p->sealed);
    sm_joint_proof_fini(&p->joint);
    fab_verify_multicast_fini(&p->verdict);
    fab_fabric_unref(p->fabric);
    free(p->text);
    free(p);
}

static void report(struct sm_multicast *m, struct sm_mft_proof *p)
{
    const struct fab_multicast_verdict *v = &p->verdict;
    bool known = true;
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64; i++) {
        known &= (v->failed_groups[i] & ~m->refuted[i]) == 0;
        m->refuted[i] = (m->refuted[i] & ~p->groups[i]) | v->failed_groups[i];
    }
    if (known)
        return;
    event_emit(m->s->in.bus, multicast_unproved, .subject = "fabric", .trees = v->failed,
               .witness = p->text ? p->text : "none");
}

/* The text of an event is a single line. Replaces line ends by ';'. */
static void join_lines(char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (len > 0 && text[len - 1] == '\n')
        text[len - 1] = 0;
    for (char *c = text ? strchr(text, '\n') : NULL; c; c = strchr(c, '\n'))
        *c = ';';
}

/* Plans the MFT writes of the MLID groups whose trees passed the proof. */
static int take_proved(struct sm *s, struct sm_mft_proof *p)
{
    struct sm_multicast *m = s->mcast;
    fab_target_blocks_fini(&m->proved);
    m->proved = p->sealed.tables;
    p->sealed.tables = (struct fab_blocks){0};
    for (unsigned i = 0; i < FAB_MFT_GROUPS / 64; i++) {
        m->proved_groups[i] = p->groups[i] & ~m->refuted[i];
        m->open[i] &= ~(p->groups[i] & m->refuted[i]);
    }
    return sm_is_master(s) ? sm_mfts_plan_proved(s) : FAB_OK;
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct sm_multicast *m = s->mcast;
    struct sm_mft_proof *p = ctx;
    m->proving = NULL;
    int r = p->status;
    bool again = false;
    join_lines(p->text);
    if (r == FAB_OK)
        r = sm_joint_done(s, &p->joint, p->groups, &p->verdict, p->text ? p->text : "none", &again);
    if (r == FAB_OK && !again) {
        report(m, p);
        r = take_proved(s, p);
    }
    proof_free(p);
    sm_multicast_planned(s, r);
}

static void drop(void *owner, void *ctx)
{
    (void)owner;
    proof_free(ctx);
}

/* Chooses some MLID groups of the bitset `open`, at least one, whose trees the next worker task
 * will prove. Sets the bits of these groups in `ret`. */
static void choose(const struct sm_multicast *m, const uint64_t *open, uint64_t *ret)
{
    const struct fab_blocks *t = fab_mcast_trees_tables(m->groups->trees);
    size_t *cost = calloc(FAB_MFT_GROUPS, sizeof(*cost)), sum = 0;
    if (!cost) {
        memcpy(ret, open, FAB_MFT_GROUPS / 8);
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        cost[t->block[i].number % FAB_MFT_GROUPS]++;
    for (size_t i = 0; i < m->groups->groups; i++)
        cost[slot_of(m->groups->group[i]) / FAB_BLOCK_ENTRIES] += m->groups->group[i]->members;
    for (uint32_t g = 0; g < FAB_MFT_GROUPS; g++) {
        if (!fab_base_bits_get(open, g) || (sum > 0 && sum + cost[g] > BATCH))
            continue;
        fab_base_bits_set(ret, g);
        sum += cost[g];
    }
    free(cost);
}

int sm_mfts_prove(struct sm *s, const uint64_t *open)
{
    static const struct loop_task_ops ops = {"multicast", work, done, drop};
    struct sm_multicast *m = s->mcast;
    struct sm_mft_proof *p = calloc(1, sizeof(*p));
    if (!p)
        return FAB_E_NOMEM;
    sm_joint_lend(m, &p->joint);
    choose(m, open, p->groups);
    int r = sm_mft_seal(m, p->groups, &p->sealed);
    if (r != FAB_OK) {
        proof_free(p);
        return r;
    }
    p->fabric = fab_fabric_ref(m->fabric);
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &m->tasks,
                                            .owner = s,
                                            .ctx = p,
                                            .place = s->in.recorded ? LOOP_TASK_INLINE
                                                                    : LOOP_TASK_SHORT};
    return loop_task_start(s->in.loop, &config, &m->proving);
}

void sm_mfts_unprove(struct sm_multicast *m)
{
    loop_task_cancel(m->proving);
    m->proving = NULL;
    fab_target_blocks_fini(&m->proved);
    memset(m->proved_groups, 0, sizeof(m->proved_groups));
}
