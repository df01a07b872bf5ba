/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "identifying M_Keys" of a sweep finds out which M_Key a port has, so that later requests to
 * the port carry the right key.
 *
 * A port of protection level 1 answers every SubnGet, but shows an M_Key of 0 to a request without
 * its key. The manager asks each such port with the current key, with the previous key, and with
 * the key that subnet.m_key_file lists for the port's GUID. At protection level 1, a SubnGet with a
 * wrong key is no key violation and starts no lease period (IBA 14.2.4).
 *
 * The sweep has accepted the GUIDs of the snapshot: a second device that claims the GUID of a port
 * is not in the snapshot while the port answers at its last place.
 */
#include "fabricd/sm/keys/state.h"
#include "libfabmgr/base/status.h"

enum { ASK_CURRENT, ASK_PREVIOUS, ASK_LISTED, ASKS };

static int enter(struct sm *s)
{
    s->keys->ask = (struct sm_key_ask){0};
    return FAB_OK;
}

static bool is_asked(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_fabric_port(f, port)->present && sm_m_key_has_own(f, port) &&
           sm_m_key_is_hidden(&fab_fabric_port(f, port)->info) && sm_model_path(&s->model, port);
}

/* Returns whether keys must be identified after a discovery. The discovery has tried the current
 * key of all ports, but derived keys only at places where their ports were known. */
static bool is_needed(const struct sm *s)
{
    return fab_policy_m_keys_set(sm_m_key_previous(s)) || s->policy.m_keys.derive ||
           s->policy.listed_m_keys != NULL;
}

/* Returns the next key to try at `at->port`; 0: all keys were tried. */
static uint64_t next_key(const struct sm *s, struct sm_key_ask *at)
{
    uint64_t key = 0;
    while (key == 0 && at->key < ASKS) {
        key = at->key == ASK_CURRENT    ? sm_m_key_wanted(s, at->port)
              : at->key == ASK_PREVIOUS ? sm_m_key_former(s, at->port)
                                        : sm_m_key_listed(s, at->port);
        at->key++;
    }
    return key;
}

static bool next(struct sm *s, struct fab_mads_request *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_key_ask *at = &s->keys->ask;
    if (!is_needed(s))
        return false;
    while (at->port < f->port_count &&
           !(is_asked(s, at->port) && (ret->m_key = next_key(s, at)) != 0))
        *at = (struct sm_key_ask){.port = at->port + 1};
    if (at->port >= f->port_count)
        return false;
    ret->path = sm_model_path(&s->model, at->port);
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->attr_mod = fab_fabric_port(f, at->port)->num;
    ret->tag = at->port;
    return true;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    uint32_t port = (uint32_t)tag;
    struct fab_port_info info, known = fab_fabric_port(s->model.fabric, port)->info;
    if (a->status != FAB_OK ||
        fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data, a->len, &info) != FAB_OK)
        return;
    if (info.m_key != 0 || info.m_key_protect == 0) {
        known.m_key = info.m_key;
        known.m_key_protect = info.m_key_protect;
        (void)fab_fabric_set_port_info(s->model.fabric, port, &known);
    }
}

static bool finished(const struct sm *s)
{
    return !is_needed(s) || s->keys->ask.port >= s->model.fabric->port_count;
}

static int leave(struct sm *s)
{
    sm_m_key_recount(s);
    return FAB_OK;
}

const struct sm_phase sm_phase_identify_keys = {.name = "identifying M_Keys",
                                                .enter = enter,
                                                .next = next,
                                                .keyed = true,
                                                .answer = answer,
                                                .finished = finished,
                                                .leave = leave};
