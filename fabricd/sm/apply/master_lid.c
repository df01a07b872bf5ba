/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "writing MasterSMLID" makes this manager known right after a take-over with tables that it
 * read in standby. Hosts send their requests, and switches their traps, to the LID in MasterSMLID
 * of their own port. Without this phase, they would use the LID of the former master until the
 * heavy sweep has read and compared all tables, which takes 4 s with 11,664 hosts.
 *
 * The phase does not ask hosts to register again if the store has what they registered with the
 * former master (former_sm_lid of struct fab_plan_input). If registrations may be missing in the
 * store, the heavy sweep asks all hosts (`ask`). The phase writes to each endport and switch that
 * has its LID of the active tables already, and leaves out all others. It waits only for one try of
 * a request. The heavy sweep reads all ports, and writes what is missing.
 */
#include "fabricd/sm/apply/state.h"
#include "fabricd/sm/mcast/mcast.h"

static int enter(struct sm *s)
{
    s->apply->scan = (struct sm_scan){0};
    sm_multicast_make(s);
    return s->model.fabric && s->model.target ? FAB_OK : SM_ROUND_OVER;
}

/* Returns whether the port has the LID of the active tables, and another MasterSMLID than that of
 * this manager. */
static bool is_due(const struct fab_plan_input *in, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(in->fabric, port);
    bool endport = p->num == 0 || !fab_fabric_node_is_switch(in->fabric, p->node);
    return endport && p->present && p->info.lid != 0 &&
           p->info.lid == in->target->lids.base[port] && p->info.sm_lid != in->sm_lid &&
           (p->num == 0 || p->info.port_state >= FAB_STATE_ARMED);
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct fab_plan_input in = sm_program_input(s);
    in.ask = false;
    while (s->apply->scan.index < in.fabric->port_count) {
        uint32_t port = s->apply->scan.index++;
        const struct fab_plan_op op = {.node = fab_fabric_port(in.fabric, port)->node,
                                       .port = port,
                                       .attr_id = FAB_ATTR_PORT_INFO,
                                       .state = FAB_STATE_NOP};
        if (!is_due(&in, port) || !(ret->path = sm_model_path(&s->model, port)) ||
            fab_plan_encode(&in, &op, ret->data, &ret->attr_mod) != FAB_OK)
            continue;
        ret->method = FAB_METHOD_SET;
        ret->attr_id = FAB_ATTR_PORT_INFO;
        ret->tag = port;
        return true;
    }
    return false;
}

/* Ignores the answer: the heavy sweep reads the port. */
static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    (void)s;
    (void)tag;
    (void)a;
}

static bool finished(const struct sm *s)
{
    return s->apply->scan.index >= s->model.fabric->port_count;
}

static void stalled(struct sm *s, uint64_t stalled_us)
{
    if (stalled_us >= sm_first_try_us(s))
        sm_run_give_up(s);
}

const struct sm_phase sm_phase_master_lid = {.name = "writing MasterSMLID",
                                             .enter = enter,
                                             .next = next,
                                             .answer = answer,
                                             .finished = finished,
                                             .stalled = stalled,
                                             .yields = SM_YIELDS};
