/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the next round.
 *
 * A link that failed comes first: where it can be repaired locally, a port probe precedes all else.
 * Then come a port that an operator sets, targeted sweeps, heavy sweeps, computing anew, a light
 * sweep, and last a rebalance. A lone trap is looked at at once; while traps keep coming, targeted
 * sweeps wait for a pause (sweep.trap_settle).
 *
 * Port probes do not keep a sweep from ending: a sweep that has waited for probes for too long,
 * none of which led to a repair, goes first, and looks at what was to be probed, too.
 */
#include "fabricd/sm/core/next_round.h"

static enum sm_round_kind most_urgent(const struct sm_facts *f)
{
    if (!f->known) {
        bool sweeps = f->heavy || f->targets || f->background_ready || f->reroute;
        return sweeps ? SM_ROUND_HEAVY : SM_ROUND_NONE;
    }
    if (f->port)
        return SM_ROUND_PORT;
    /* The background sweep looks at the suspects as well. If it waited for a moment without
     * suspects, it might never come in a fabric in which something always happens. */
    if (f->background_ready && f->background_behind && !f->heavy)
        return SM_ROUND_HEAVY;
    if (f->targets)
        return SM_ROUND_TARGETED;
    if (f->heavy || f->background_ready)
        return SM_ROUND_HEAVY;
    if (f->reroute)
        return SM_ROUND_REROUTE;
    if (f->light)
        return SM_ROUND_LIGHT;
    return f->rebalance ? SM_ROUND_REBALANCE : SM_ROUND_NONE;
}

struct sm_next sm_next_round(const struct sm_facts *f)
{
    bool defer = !f->repair_ready || f->too_many_probes || (f->sweep_overdue && !f->settling);
    if (f->probes && defer)
        return (struct sm_next){SM_NEXT_PROBES_TO_TARGETS, SM_ROUND_NONE};
    if (f->probes)
        return (struct sm_next){SM_NEXT_ROUND, SM_ROUND_REPAIR};
    enum sm_round_kind kind = f->settling ? SM_ROUND_NONE : most_urgent(f);
    return (struct sm_next){kind == SM_ROUND_NONE ? SM_NEXT_NOTHING : SM_NEXT_ROUND, kind};
}
