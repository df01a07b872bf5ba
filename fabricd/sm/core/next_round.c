/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the next round.
 *
 * A failed link comes first: if local repair is possible, a port probe precedes all other rounds.
 * Then come, usually in this order: changes of one port (enabling, disabling or resetting it),
 * targeted sweeps, heavy sweeps, reroutes, changes of M_Keys, light sweeps, rebalances, steps of
 * the incremental rebalance. After a take-over with tables that the manager read in standby, one
 * light sweep precedes all rounds except port probes. It finds a link that failed at the moment of
 * the take-over. Next come the writes of MasterSMLID, so that hosts and switches soon send to this
 * manager. If the former master has changed tables or links that this manager has not read, a round
 * that reads them precedes these.
 *
 * A single trap starts a round at once. While traps keep coming, all rounds except port probes wait
 * for a pause (sweep.trap_settle_ms).
 *
 * While the manager is frozen (freeze.c), it enables, disables and resets no port, writes no
 * MasterSMLID, and makes no step of the incremental rebalance. freeze.c keeps the requests for
 * reroutes, rebalances and changes of M_Keys, so this file does not see them.
 *
 * Port probes must not delay sweeps for ever. If a sweep has waited too long and no probe has led
 * to a repair in this time, a targeted sweep of the same switches replaces the requested probes.
 */
#include "fabricd/sm/core/next_round.h"

static enum sm_round_kind most_urgent(const struct sm_facts *f)
{
    if (f->catch_up)
        return SM_ROUND_CATCH_UP;
    if (!f->known) {
        bool sweeps = f->heavy || f->targets || f->background_ready || f->reroute;
        return sweeps ? SM_ROUND_HEAVY : SM_ROUND_NONE;
    }
    if (f->first_light)
        return SM_ROUND_FIRST_LIGHT;
    if (f->master_lid && !f->frozen)
        return SM_ROUND_MASTER_LID;
    if (f->port && !f->frozen)
        return SM_ROUND_PORT;
    /* A background heavy sweep is complete, but nodes changed while it ran. The round that takes
     * over its result also reads these nodes again. The round must not wait until nothing changes
     * any more: in some fabrics, something changes all the time. */
    if (f->background_ready && f->background_behind && !f->heavy)
        return SM_ROUND_HEAVY;
    if (f->targets)
        return SM_ROUND_TARGETED;
    if (f->heavy || f->background_ready)
        return SM_ROUND_HEAVY;
    if (f->reroute)
        return SM_ROUND_REROUTE;
    if (f->keys)
        return SM_ROUND_KEYS;
    if (f->light)
        return SM_ROUND_LIGHT;
    if (f->rebalance)
        return SM_ROUND_REBALANCE;
    return f->step && !f->frozen ? SM_ROUND_STEP : SM_ROUND_NONE;
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
