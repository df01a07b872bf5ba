/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks mixtures of old and new tables by the proof of libfabmgr/verify. The proof shares no code
 * with the other files of this folder. */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/transition.h"
#include "libfabmgr/verify/verify.h"

/* Returns the SLs of all pairs from `sls` together with the SL-to-VL tables from `lanes`. The
 * result points to arrays that `sls` and `lanes` own. */
static struct fab_vls combine(const struct fab_vls *sls, const struct fab_vls *lanes)
{
    struct fab_vls v = *lanes;
    v.sls = sls->sls > lanes->sls ? sls->sls : lanes->sls;
    v.top = sls->top;
    v.of_lid = fab_target_vls_multiple(sls) ? sls->of_lid : NULL;
    v.switches = sls->switches;
    v.of_pair = fab_target_vls_multiple(sls) ? sls->of_pair : NULL;
    v.levels = sls->levels;
    memcpy(v.sl, sls->sl, sizeof(v.sl));
    for (unsigned in = 0; in < FAB_VL_CLASSES; in++)
        for (unsigned out = 0; out < FAB_VL_CLASSES; out++)
            for (unsigned sl = 0; sl < FAB_SLS; sl++)
                v.vl[in][out][sl] = (uint8_t)(v.vl[in][out][sl] % lanes->count);
    return v;
}

int fab_transition_judge(const struct fab_fabric *f, const struct fab_lids *lids,
                         const struct fab_lft *lft, const struct fab_vls *sls,
                         const struct fab_vls *lanes, struct fab_transition_judgement *ret)
{
    struct fab_vls v = {0};
    struct fab_verdict verdict;
    if (sls != NULL && lanes != NULL && fab_target_vls_multiple(lanes))
        v = combine(sls, lanes);
    struct fab_verify_input in = {
        .fabric = f, .lids = lids, .lft = lft, .vls = v.count > 1 ? &v : NULL};
    int status = fab_verify(&in, &verdict);
    if (status != FAB_OK)
        return status;
    *ret = (struct fab_transition_judgement){.loop = verdict.witness.kind == FAB_E_LOOP,
                                             .cycle = !verdict.deadlock_free,
                                             .unreachable = verdict.unreachable_pairs};
    fab_verify_verdict_fini(&verdict);
    return FAB_OK;
}
