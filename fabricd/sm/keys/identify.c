/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "identifying M_Keys" of a sweep finds out which M_Key a port has, so that later requests to
 * the port carry the right key.
 *
 * A port of protection level 1 answers every SubnGet, but shows an M_Key of 0 to a request without
 * its key. The manager asks each such port with three keys, one after the other: the current key of
 * the policy, the previous key of the policy, and the key that subnet.m_key_file lists for the
 * port's GUID. At protection level 1, a SubnGet with a wrong key is no key violation and starts no
 * lease period (IBA 14.2.4).
 *
 * If a port shows an M_Key that the manager did not know before, the manager reads the key a second
 * time. A faulty device may have answered with random data, and later writes of PortInfo, which
 * contain the key, would then give the port a random key.
 *
 * The GUIDs in the snapshot can be trusted here. If a second device claims the GUID of a port, and
 * the port still answers at the place where it was last seen, the sweep leaves out the second
 * device.
 */
#include "fabricd/base/log.h"
#include "fabricd/sm/keys/state.h"
#include "libfabmgr/base/status.h"

enum { ASK_CURRENT, ASK_PREVIOUS, ASK_LISTED, ASKS };

/* Returns the M_Key that the published view has for this port; 0: not known. */
static uint64_t published_key(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric, *old = s->model.view ? s->model.view->fabric : f;
    const struct fab_port *p = fab_fabric_port(f, port);
    uint32_t node = fab_fabric_node_by_guid(old, f->nodes[p->node].guid);
    if (old == f || node == FAB_NONE || p->num > old->nodes[node].num_ports)
        return 0;
    return fab_fabric_port(old, fab_fabric_port_id(old, node, p->num))->info.m_key;
}

/* Returns true if the port shows an M_Key that is new to the manager. A second read must then
 * confirm this key. */
static bool is_doubtful(const struct sm *s, uint32_t port)
{
    uint64_t key = fab_fabric_port(s->model.fabric, port)->info.m_key;
    return key != 0 && key != sm_m_key_wanted(s, port) && key != sm_m_key_former(s, port) &&
           key != sm_m_key_listed(s, port) && key != published_key(s, port) &&
           sm_m_key_has_own(s->model.fabric, port) && sm_model_path(&s->model, port);
}

static int enter(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    s->keys->ask = (struct sm_key_ask){0};
    s->keys->doubts = false;
    for (uint32_t node = 0; node < f->node_count; node++)
        for (uint32_t i = 0; i < sm_own_ports(f, node); i++)
            s->keys->doubts |= is_doubtful(s, f->nodes[node].first_port + i);
    return FAB_OK;
}

static bool is_hidden(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return fab_fabric_port(f, port)->present && sm_m_key_has_own(f, port) &&
           sm_m_key_is_hidden(&fab_fabric_port(f, port)->info) && sm_model_path(&s->model, port);
}

/* Returns true if the manager may have to find out the key of some port. Returns false if one key
 * is valid for all ports and no other key is known, because discovery has then already sent this
 * key to all ports. But discovery sends a derived or listed key only to the place where its port
 * was last seen. */
static bool is_needed(const struct sm *s)
{
    return s->keys->doubts || fab_policy_m_keys_set(sm_m_key_previous(s)) ||
           s->policy.m_keys.derive || s->policy.listed_m_keys != NULL;
}

/* Returns the next M_Key to try at the port `at->port`; 0: all keys were tried, or the key of the
 * port is known. */
static uint64_t next_key(const struct sm *s, struct sm_key_ask *at)
{
    uint64_t key = 0;
    if (is_doubtful(s, at->port))
        return at->key++ == ASK_CURRENT ? fab_fabric_port(s->model.fabric, at->port)->info.m_key
                                        : 0;
    if (!is_hidden(s, at->port))
        return 0;
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
    while (at->port < f->port_count && (ret->m_key = next_key(s, at)) == 0)
        *at = (struct sm_key_ask){.port = at->port + 1};
    if (at->port >= f->port_count)
        return false;
    ret->path = sm_model_path(&s->model, at->port);
    ret->attr_id = FAB_ATTR_PORT_INFO;
    ret->attr_mod = fab_fabric_port(f, at->port)->num;
    ret->tag = at->port;
    return true;
}

/* Discards the M_Key of a port whose second read has failed, or has shown an M_Key that differs
 * from that of the first read. */
static void ignore_key(struct sm *s, uint32_t port, struct fab_port_info *known)
{
    char name[SM_PLACE_LEN];
    sm_port_name(s->model.fabric, port, name);
    log_warning("sm", "%s showed an M_Key that it did not confirm; the manager ignores this key",
                name);
    known->m_key = 0;
    known->m_key_protect = 0;
}

static void answer(struct sm *s, uint64_t tag, const struct fab_mads_answer *a)
{
    uint32_t port = (uint32_t)tag;
    struct fab_port_info info, known = fab_fabric_port(s->model.fabric, port)->info;
    bool doubtful = is_doubtful(s, port);
    bool answered = a->status == FAB_OK && fab_wire_attr_unpack(&fab_wire_attr_port_info, a->data,
                                                                a->len, &info) == FAB_OK;
    if (doubtful && (!answered || info.m_key != known.m_key))
        ignore_key(s, port, &known);
    else if (answered && (info.m_key != 0 || info.m_key_protect == 0)) {
        known.m_key = info.m_key;
        known.m_key_protect = info.m_key_protect;
    }
    (void)fab_fabric_set_port_info(s->model.fabric, port, &known);
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
