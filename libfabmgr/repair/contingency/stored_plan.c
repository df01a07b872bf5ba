/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stored plans, and the check whether a plan of an earlier state is still valid.
 *
 * The plan is valid for the present state if
 *
 *   1. the labels are those of the baseline in both states, and the plan uses the same set;
 *   2. the entries that the plan changes have the same old values as when it was made;
 *   3. the present path of each entry that the plan changes leads into a dead link;
 *   4. the plan is proved for the present tables and for the present dead links.
 *
 * The tables after the plan are then correct (4). No write takes away a path that works, because
 * such a path has no entry that changes (3). The order of its writes is still safe: consider
 * packets that an entry e of one switch sends to the next switch, and that leave the next switch by
 * a changed entry. If the plan does not change e, the labels ascend both with the old value of the
 * changed entry (the present tables are correct) and with its new value (4). If both entries
 * change, the order of the writes admits only those mixtures of old and new entries in which the
 * labels ascend; this order depends on the old and new values of these two entries alone, which are
 * the same as when the order was made (1, 2).
 *
 * If the VL depends on the source, this does not hold: each repair has labels of its own, and which
 * VLs pass an entry depends on all entries of its column. No plan of another state is then taken as
 * valid.
 *
 * The result may have longer paths than a repair computed now, for example if a link came back that
 * was dead when the plan was made. These paths stay until a repair decides their columns again, for
 * example because another link comes back.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/maker.h"

/* ---- old values ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Returns a hash of the entries that the delta changes, and of their values in the tables. The hash
 * does not depend on the order of the changes. */
static uint64_t hash_of(const struct fab_lft *lft, const struct fab_repair_delta *d)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->changes; i++) {
        const struct fab_repair_change *c = &d->change[i];
        uint64_t entry = (uint64_t)c->lid << 32 | c->sw;
        sum += mix(mix(entry + 1) + fab_target_lft_at(lft, c->sw, c->lid));
    }
    return sum;
}

/* ---- stored plans ---------------------------------------------------------------------------- */

int fab_repair_stored_plan_new(const struct fab_repair *r, const struct fab_lft *lft,
                               const struct fab_repair_delta *d,
                               struct fab_repair_stored_plan **ret)
{
    uint8_t *bytes;
    uint32_t len;
    int status = fab_repair_encode(d, &bytes, &len);
    if (status != FAB_OK)
        return status;
    struct fab_repair_stored_plan *p = malloc(sizeof(*p) + len);
    if (p != NULL) {
        *p = (struct fab_repair_stored_plan){.refs = 1, .len = len, .was = hash_of(lft, d)};
        p->lasting = r->relabels == 0 && d->relabels == 0 && d->label_set == r->label_set;
        memcpy(p->bytes, bytes, len);
        *ret = p;
    }
    free(bytes);
    return p != NULL ? FAB_OK : FAB_E_NOMEM;
}

struct fab_repair_stored_plan *fab_repair_stored_plan_ref(struct fab_repair_stored_plan *p)
{
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void fab_repair_stored_plan_unref(struct fab_repair_stored_plan *p)
{
    if (p != NULL && __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(p);
}

/* ---- the check ------------------------------------------------------------------------------- */

/* Returns true if packets from the switch do not reach the LID by the present tables. */
static bool path_is_broken(const struct fab_repair *r, const struct fab_lft *lft, uint32_t lid,
                           uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t hops = 0; hops <= b->n; hops++) {
        if (sw == b->home[lid])
            return false;
        uint32_t channel = fab_repair_channel(b, sw, fab_target_lft_at(lft, sw, lid));
        if (channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
            return true;
        sw = b->peer_sw[channel];
    }
    return true;
}

/* Checks that the present path of each changed entry leads into a dead link (point 3 above). */
static bool changes_only_broken(struct fab_repair *r, const struct fab_lft *lft,
                                const struct fab_repair_delta *d)
{
    bool broken = true;
    fab_repair_apply_dead(r, d);
    for (size_t i = 0; broken && i < d->changes; i++)
        broken = path_is_broken(r, lft, d->change[i].lid, d->change[i].sw);
    fab_repair_undo_dead(r, d);
    return broken;
}

/* Proves a decoded delta. Before, sorts its changes by LID, because fab_repair_prove needs this
 * order; decoding leaves them in the order of the writes. */
static int prove(struct fab_repair *r, const struct fab_lft *lft, const struct fab_repair_delta *d)
{
    struct fab_repair_delta sorted = *d;
    struct fab_repair_change at;
    unsigned bits = 32 - (unsigned)__builtin_clz(r->network->top | 1);
    uint64_t *key = fab_base_alloc_array(d->changes, sizeof(*key));
    uint64_t *room = fab_base_alloc_array(d->changes, sizeof(*room));
    sorted.change = fab_base_alloc_array(d->changes, sizeof(*sorted.change));
    int status = key != NULL && room != NULL && sorted.change != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        for (size_t i = 0; i < d->changes; i++)
            key[i] = (uint64_t)d->change[i].lid << 32 | i;
        const uint64_t *by_lid = fab_repair_radix_sort(key, room, d->changes, 32, bits);
        for (size_t i = 0; i < d->changes; i++)
            sorted.change[i] = d->change[(uint32_t)by_lid[i]];
        status = fab_repair_prove(r, lft, &sorted, &at);
    }
    free(key);
    free(room);
    free(sorted.change);
    return status;
}

int fab_repair_stored_plan_check(struct fab_repair *r, const struct fab_lft *lft,
                                 const struct fab_repair_stored_plan *p,
                                 const struct fab_repair_delta *d)
{
    if (!p->lasting || r->network->pair_vl != NULL || r->relabels > 0 || d->relabels > 0 ||
        d->label_set != r->label_set || hash_of(lft, d) != p->was ||
        !changes_only_broken(r, lft, d))
        return FAB_E_NOT_FOUND;
    int status = prove(r, lft, d);
    return status == FAB_OK || status == FAB_E_NOMEM || status == FAB_E_BUSY ? status
                                                                             : FAB_E_NOT_FOUND;
}
