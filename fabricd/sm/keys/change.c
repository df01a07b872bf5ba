/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "changing M_Keys" writes the current M_Key (the one that the policy demands) to each port
 * whose M_Key is known to differ from this key.
 *
 * SubnSet(PortInfo) carries the port's key in the header and the new key in the attribute. If the
 * answer is lost, the port may still have executed the request. A repetition with the old key would
 * then be a key violation. The manager therefore does not repeat the Set at once, but asks with a
 * Get that carries the new key. If this Get fails, another Get carries the old key. Only if the
 * port then shows the old key, the manager sends the Set again, at most SETS_MOST times in all. A
 * port counts as changed only when it has shown the new key.
 *
 * While a port is being changed, its key in the snapshot is 0 (not known). If the port answers to
 * neither key, the key stays 0 and a sweep identifies it again. No MFT requests and no requests of
 * a background heavy sweep or of the scrub are sent while this round runs (struct sm_round.alone).
 * If a fault waits for a sweep or repair, the round begins no further port and ends. But a device
 * that rejects the manager's writes causes one targeted sweep after the other, so the round would
 * always end before it changes a port. After BEFORE_KEYS_MOST targeted sweeps (core/rounds.c), the
 * round therefore changes some ports even if a fault waits.
 */
#include <string.h>

#include "fabricd/sm/keys/state.h"
#include "fabricd/sm/mcast/mcast.h"
#include "fabricd/sm/sweep/sweep.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/target/target.h"

#define SETS_MOST 4
/* maximum number of SubnGets that ask a port for its key; they carry the new and the old key
 * alternately */
#define ASKS_MOST 12
#define RETRY_US 30000000u

static int enter(struct sm *s)
{
    struct sm_keys *k = s->keys;
    for (unsigned i = 0; i < SM_KEY_SLOTS; i++)
        k->slot[i] = (struct sm_key_slot){0};
    k->busy = k->next_port = k->begun = k->changed = k->refused = 0;
    k->overdue = sm_keys_overdue(s);
    if (!s->model.view || !s->model.target || s->model.lent ||
        s->model.target->lids.port_count != s->model.fabric->port_count)
        return SM_ROUND_OVER;
    /* requests of a running background heavy sweep carry the old keys, so this sweep must start
     * again */
    if (sm_background_active(s)) {
        sm_background_drop(s);
        sm_request(s, SM_REQUEST_BACKGROUND);
    }
    return sm_model_writable(&s->model, loop_tasks_any(&s->model.readers));
}

bool sm_keys_must_change(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    uint64_t key = fab_fabric_port(f, port)->info.m_key;
    if (key == 0 || !fab_fabric_port(f, port)->present || !sm_m_key_has_own(f, port))
        return false;
    uint64_t wanted = sm_m_key_wanted(s, port);
    return key != wanted && (wanted != 0 || key == sm_m_key_former(s, port));
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool is_ready(const struct sm *s, uint32_t port)
{
    return sm_keys_must_change(s, port) && sm_model_path(&s->model, port) &&
           s->model.target->lids.base[port] != 0;
}

/* Returns true if a sweep or a repair is waiting for the end of this round. The round must then not
 * begin to change a further port. */
static bool yields(const struct sm *s)
{
    const struct sm_keys *k = s->keys;
    return sm_fault_waits(s) && !(k->overdue && k->begun < SM_KEY_SLOTS);
}

/* Takes the next port whose key must change, and puts it into a free slot. Returns NULL if no slot
 * is free, if no port is left, or if a fault waits for the end of this round. */
static struct sm_key_slot *begin_port(struct sm *s)
{
    struct sm_keys *k = s->keys;
    struct fab_fabric *f = s->model.fabric;
    unsigned i = 0;
    while (i < SM_KEY_SLOTS && k->slot[i].step != SM_KEY_FREE)
        i++;
    if (i == SM_KEY_SLOTS || yields(s))
        return NULL;
    while (k->next_port < f->port_count && !is_ready(s, k->next_port))
        k->next_port++;
    if (k->next_port == f->port_count)
        return NULL;
    k->slot[i] = (struct sm_key_slot){.step = SM_KEY_SET,
                                      .port = k->next_port,
                                      .former = fab_fabric_port(f, k->next_port)->info.m_key};
    k->next_port++;
    k->begun++;
    k->busy++;
    return &k->slot[i];
}

static bool fill_set(struct sm *s, struct sm_key_slot *x, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_lids *lids = &s->model.target->lids;
    struct fab_port_info want;
    fab_target_port_info(f, &s->policy, lids, x->port, lids->base[f->self_port], &want);
    want.m_key = sm_m_key_wanted(s, x->port);
    if (want.m_key == 0 && fab_policy_m_keys_set(&s->policy.m_keys))
        /* the key cannot be derived now; the port must not lose its former key */
        return false;
    if (want.m_key == 0)
        want.m_key_protect = 0;
    ret->method = FAB_METHOD_SET;
    ret->m_key = x->former;
    ret->once = true;
    memset(ret->data, 0, sizeof(ret->data));
    return fab_wire_attr_pack(&fab_wire_attr_port_info, &want, ret->data, sizeof(ret->data)) ==
           FAB_OK;
}

/* Fills in a SubnGet that shows which key the port has. At protection level 1, the port answers
 * requests with any key, so the MAD session may repeat the request. At levels 2 and 3, the port
 * answers only requests with its own key. The request is then sent only once; the next request
 * carries the other key. */
static void fill_question(struct sm *s, struct sm_key_slot *x, struct fab_mads_request *ret)
{
    ret->m_key = x->step == SM_KEY_ASK_CURRENT ? sm_m_key_wanted(s, x->port) : x->former;
    ret->once = fab_fabric_port(s->model.fabric, x->port)->info.m_key_protect > 1 ||
                s->policy.m_key_protect > 1;
    x->asks++;
}

static struct sm_key_slot *find_unsent(struct sm *s)
{
    struct sm_keys *k = s->keys;
    for (unsigned i = 0; i < SM_KEY_SLOTS; i++)
        if (k->slot[i].step != SM_KEY_FREE && !k->slot[i].sent)
            return &k->slot[i];
    return begin_port(s);
}

static void end_port(struct sm *s, struct sm_key_slot *x)
{
    x->step = SM_KEY_FREE;
    s->keys->busy--;
}

/* Stores in the snapshot which M_Key the port has (0: not known). If memory runs out, a later sweep
 * stores the key. */
static void note_key(struct sm *s, const struct sm_key_slot *x, uint64_t key)
{
    struct fab_port_info info = fab_fabric_port(s->model.fabric, x->port)->info;
    info.m_key = key;
    (void)fab_fabric_set_port_info(s->model.fabric, x->port, &info);
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    struct sm_key_slot *x;
    if (sm_mfts_in_flight(s))
        return false;
    while ((x = find_unsent(s)) != NULL) {
        ret->path = sm_model_path(&s->model, x->port);
        ret->attr_id = FAB_ATTR_PORT_INFO;
        ret->attr_mod = fab_fabric_port(s->model.fabric, x->port)->num;
        ret->tag = (uint64_t)(x - s->keys->slot);
        if (x->step != SM_KEY_SET) {
            fill_question(s, x, ret);
        } else if (fill_set(s, x, ret)) {
            x->sets++;
            note_key(s, x, 0);
        } else {
            end_port(s, x);
            continue;
        }
        x->sent = true;
        return true;
    }
    return false;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void go_to(struct sm_key_slot *x, enum sm_key_step step)
{
    x->step = step;
    x->sent = false;
}

/* Ends the change of a port that does not answer, or that shows neither the new nor the old key.
 * Requests a targeted sweep of the node, which finds out the key of the port. */
static void give_up(struct sm *s, struct sm_key_slot *x)
{
    const struct fab_fabric *f = s->model.fabric;
    sm_request_retry_of(s, f->nodes[fab_fabric_port(f, x->port)->node].guid);
    sm_request_retry(s);
    end_port(s, x);
}

static void refused(struct sm *s, struct sm_key_slot *x, const struct fab_mads_answer *a)
{
    const struct fab_fabric *f = s->model.fabric;
    char name[SM_PLACE_LEN];
    sm_port_name(f, x->port, name);
    if (s->keys->refused++ < SM_EVENTS_A_ROUND)
        event_emit(s->in.bus, write_refused, .subject = name,
                   .guid = f->nodes[fab_fabric_port(f, x->port)->node].guid,
                   .port = fab_fabric_port(f, x->port)->num,
                   .attribute = sm_attr_name(FAB_ATTR_PORT_INFO), .status = a->smp_status);
    note_key(s, x, x->former);
    loop_timer_set(s->keys->retry, RETRY_US);
    end_port(s, x);
}

static void done(struct sm *s, struct sm_key_slot *x, const struct fab_port_info *now)
{
    struct fab_port_info info = fab_fabric_port(s->model.fabric, x->port)->info;
    info.m_key = now->m_key;
    info.m_key_protect = now->m_key_protect;
    info.m_key_lease = now->m_key_lease;
    (void)fab_fabric_set_port_info(s->model.fabric, x->port, &info);
    s->keys->changed++;
    end_port(s, x);
}

static bool read_port(const struct fab_mads_answer *a, struct fab_port_info *ret)
{
    return a->status == FAB_OK &&
           fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, ret) == FAB_OK;
}

static void answered_current(struct sm *s, struct sm_key_slot *x, const struct fab_mads_answer *a)
{
    struct fab_port_info now;
    if (!read_port(a, &now))
        go_to(x, SM_KEY_ASK_FORMER);
    else if (now.m_key == sm_m_key_wanted(s, x->port) && !sm_m_key_is_hidden(&now))
        done(s, x, &now);
    else
        go_to(x, SM_KEY_ASK_FORMER);
}

static void answered_former(struct sm *s, struct sm_key_slot *x, const struct fab_mads_answer *a)
{
    struct fab_port_info now;
    bool read = read_port(a, &now);
    if (read && now.m_key == x->former) {
        if (x->sets < SETS_MOST) {
            go_to(x, SM_KEY_SET);
            return;
        }
        note_key(s, x, x->former);
        loop_timer_set(s->keys->retry, RETRY_US);
        end_port(s, x);
    } else if (x->asks < ASKS_MOST) {
        go_to(x, SM_KEY_ASK_CURRENT);
    } else {
        give_up(s, x);
    }
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    struct sm_key_slot *x = &s->keys->slot[tag];
    if (x->step == SM_KEY_ASK_CURRENT)
        answered_current(s, x, a);
    else if (x->step == SM_KEY_ASK_FORMER)
        answered_former(s, x, a);
    else if (a->status == FAB_E_REFUSED)
        refused(s, x, a);
    else
        go_to(x, SM_KEY_ASK_CURRENT);
    if (sm_fault_waits(s) && x->step != SM_KEY_FREE && a->status == FAB_E_TIMEOUT)
        /* A sweep or a probe is waiting for the end of this round, perhaps because of the same
         * fault that keeps this port from answering. So this round gives up the port, and the sweep
         * reads it. */
        give_up(s, x);
}

static bool finished(const struct sm *s)
{
    const struct sm_keys *k = s->keys;
    uint32_t port = k->next_port;
    while (port < s->model.fabric->port_count && !is_ready(s, port))
        port++;
    return k->busy == 0 && (yields(s) || port == s->model.fabric->port_count);
}

static int leave(struct sm *s)
{
    sm_m_key_recount(s);
    return FAB_OK;
}

/* Called when the round is aborted. The keys of ports with unanswered requests are then not known,
 * so a heavy sweep is requested, which finds them out. */
static void abort_change(struct sm *s)
{
    if (s->keys->busy > 0)
        sm_request_heavy(s);
    s->keys->busy = 0;
    sm_m_key_recount(s);
}

static void stalled(struct sm *s, uint64_t stalled_us)
{
    struct sm_keys *k = s->keys;
    if (!sm_fault_waits(s) || stalled_us < sm_first_try_us(s))
        return;
    for (unsigned i = 0; i < SM_KEY_SLOTS; i++)
        if (k->slot[i].step != SM_KEY_FREE)
            give_up(s, &k->slot[i]);
    sm_run_give_up(s);
}

const struct sm_phase sm_phase_change_keys = {.name = "changing M_Keys",
                                              .enter = enter,
                                              .next = next,
                                              .keyed = true,
                                              .answer = answer,
                                              .finished = finished,
                                              .leave = leave,
                                              .stalled = stalled,
                                              .abort = abort_change};
