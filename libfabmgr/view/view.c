/* SPDX-License-Identifier: BSD-3-Clause */
/* Views are what readers see of the fabric. The loop thread makes a view when a new state of the
 * fabric is complete, and readers keep a reference to it as long as they need it. A view and
 * everything that it points to never change, so readers need no lock. */
#include "libfabmgr/view/view.h"

#include <stdlib.h>

struct fab_view *fab_view_new(uint64_t generation, struct fab_fabric *fabric,
                              struct fab_target *target, struct fab_policy *policy,
                              struct fab_verdict *verdict)
{
    struct fab_view *v = malloc(sizeof *v);
    if (v == NULL)
        return NULL;
    *v = (struct fab_view){.generation = generation,
                           .fabric = fabric,
                           .target = target,
                           .policy = *policy,
                           .verdict = *verdict,
                           .refs = 1};
    *policy = (struct fab_policy){0};
    *verdict = (struct fab_verdict){0};
    return v;
}

struct fab_view *fab_view_ref(const struct fab_view *v)
{
    /* `v` is const for all readers; only its reference count changes */
    struct fab_view *held = (struct fab_view *)(uintptr_t)v;
    __atomic_add_fetch(&held->refs, 1, __ATOMIC_RELAXED);
    return held;
}

void fab_view_unref(struct fab_view *v)
{
    if (v == NULL || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    fab_fabric_unref(v->fabric);
    fab_target_unref(v->target);
    fab_policy_fini(&v->policy);
    fab_verify_verdict_fini(&v->verdict);
    free(v);
}

struct fab_verify_input fab_view_verify_input(const struct fab_view *v)
{
    return (struct fab_verify_input){.fabric = v->fabric,
                                     .lids = &v->target->lids,
                                     .lft = &v->target->lft,
                                     .vls = &v->target->vls,
                                     .policy = &v->policy,
                                     .max_hops = v->policy.max_hops};
}
