/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the current and the previous M_Key in the key file (fabricd/store/m_key.h). Also keeps the
 * state of a key rotation, in which all ports get a new M_Key.
 *
 * A rotation first writes both keys to the file, with the GUIDs of all ports that may have the old
 * key. Only then does the manager use the new key. At every moment each port therefore has one of
 * the two keys in the file, even if the manager is killed.
 *
 * The rotation is complete when each listed port that is in the fabric has shown the new key. The
 * previous key and the GUIDs of absent ports stay in the file until the next rotation, so that the
 * manager can still manage a node that returns with the previous key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/keys/state.h"
#include "fabricd/store/key.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define WHY_LEN 512

/* ---- ports that may have the previous key ---------------------------------------------------- */

/* Lists the GUIDs of all ports that may have the previous M_Key: ports of the fabric that show or
 * hide an M_Key, and all ports with a LID lease, even if they are absent. Returns OK or NOMEM. */
static int list_ports(const struct sm *s, struct store_m_key *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    size_t count = 0, room = (f ? f->port_count : 0) + s->model.lease_count + 1;
    uint64_t *list = calloc(room, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; f && port < f->port_count; port++) {
        const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
        if (fab_fabric_port(f, port)->present && sm_m_key_has_own(f, port) &&
            (info->m_key != 0 || sm_m_key_is_hidden(info)))
            list[count++] = fab_fabric_port(f, port)->guid;
    }
    for (size_t i = 0; i < s->model.lease_count; i++)
        list[count++] = s->model.leases[i].port_guid;
    store_m_key_set_ports(ret, list, count);
    return FAB_OK;
}

enum key_state { KEY_NONE, KEY_CURRENT, KEY_OTHER, KEY_UNKNOWN };

static enum key_state state_of(const struct sm *s, uint32_t port)
{
    const struct fab_port_info *info = &fab_fabric_port(s->model.fabric, port)->info;
    if (sm_m_key_is_hidden(info))
        return KEY_UNKNOWN;
    if (info->m_key == 0)
        return fab_policy_m_keys_set(&s->policy.m_keys) ? KEY_NONE : KEY_CURRENT;
    return info->m_key == sm_m_key_wanted(s, port) ? KEY_CURRENT : KEY_OTHER;
}

/* Removes ports from the list of ports that may have the previous key (in the key file): ports
 * that have shown the current key, and ports without a key. Returns the number of removed ports.
 * *ret_behind: number of ports of the fabric whose key must still be changed, or that are in
 * this list and hide their key; 1 if memory ran out. */
static size_t strike_out(struct sm *s, size_t *ret_behind)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_keys *k = s->keys;
    size_t behind = 0, struck = 0;
    uint8_t *done = calloc(k->file.count + 1, 1);
    for (uint32_t port = 0; done && port < f->port_count; port++) {
        if (!fab_fabric_port(f, port)->present || !sm_m_key_has_own(f, port))
            continue;
        const uint64_t *listed = store_m_key_find(&k->file, fab_fabric_port(f, port)->guid);
        enum key_state state = state_of(s, port);
        bool is_behind = sm_keys_must_change(s, port) || (listed && state == KEY_UNKNOWN);
        behind += is_behind;
        if (listed && !is_behind)
            done[listed - k->file.port] = 1;
    }
    if (done)
        struck = store_m_key_strike(&k->file, done);
    *ret_behind = done ? behind : 1;
    free(done);
    return struck;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int keep(struct sm *s, const struct store_m_key *file, char *why, size_t why_len)
{
    return s->in.keys_dir ? store_m_key_write(s->in.keys_dir, file, why, why_len) : FAB_OK;
}

static void keep_or_log(struct sm *s)
{
    char why[WHY_LEN];
    if (keep(s, &s->keys->file, why, sizeof(why)) != FAB_OK)
        log_error("sm", "%s; the rotation of the M_Key is repeated after a restart", why);
    sm_keys_tell(s);
}

static void take_file(struct sm *s, struct store_m_key *file)
{
    store_m_key_fini(&s->keys->file);
    s->keys->file = *file;
    *file = (struct store_m_key){0};
    struct fab_m_keys previous = store_m_key_previous(&s->keys->file);
    s->policy.m_keys = store_m_key_current(&s->keys->file);
    sm_m_key_set_previous(s, &previous, s->keys->file.rotating);
}

static bool has_ports_to_change(const struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    bool found = false;
    for (uint32_t node = 0; f && !found && node < f->node_count; node++)
        for (uint32_t i = 0; !found && i < sm_own_ports(f, node); i++)
            found = sm_keys_must_change(s, f->nodes[node].first_port + i);
    return found;
}

int sm_keys_use(struct sm *s, struct store_m_key *file, char *why, size_t why_len)
{
    int r = file->rotating && file->count == 0 ? list_ports(s, file) : FAB_OK;
    if (r != FAB_OK) {
        snprintf(why, why_len, "out of memory");
        return r;
    }
    take_file(s, file);
    if (s->keys->file.rotating)
        event_emit(s->in.bus, m_key_rotation, .subject = "fabric",
                   .generation = s->keys->file.generation, .ports = s->keys->file.count);
    loop_timer_cancel(s->keys->retry);
    if (has_ports_to_change(s))
        sm_request(s, SM_REQUEST_KEYS);
    return FAB_OK;
}

/* Computes the contents of the key file after a change to `keys`. The caller writes the file.
 * Returns NOMEM, with a sentence in why[]. */
static int next_file(struct sm *s, const struct fab_m_keys *keys, const struct fab_m_keys *former,
                     struct store_m_key *ret, char *why, size_t why_len)
{
    *ret = store_m_keys_next(&s->keys->file, keys, former, s->in.config->m_key_generated,
                             (uint64_t)clock_unix_us() / 1000000);
    int r = fab_policy_m_keys_set(former) ? list_ports(s, ret) : FAB_OK;
    if (r != FAB_OK)
        snprintf(why, why_len, "out of memory");
    return r;
}

/* Writes the new key, and the key before it, to the key file, and then uses the new key. Returns
 * OK, IO or NOMEM; after an error, why[] has a sentence for operators. */
static int change_to(struct sm *s, const struct fab_m_keys *keys, const struct fab_m_keys *former,
                     char *why, size_t why_len)
{
    struct store_m_key file;
    int r = next_file(s, keys, former, &file, why, why_len);
    if (r == FAB_OK)
        r = keep(s, &file, why, why_len);
    if (r == FAB_OK)
        r = sm_keys_use(s, &file, why, why_len);
    store_m_key_fini(&file);
    if (r == FAB_OK)
        sm_keys_tell(s);
    return r;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void complete(struct sm *s)
{
    struct store_m_key *file = &s->keys->file;
    file->rotating = false;
    sm_m_key_set_rotating(s, false);
    keep_or_log(s);
    event_emit(s->in.bus, m_key_rotated, .subject = "fabric", .generation = file->generation,
               .absent = file->count);
}

void sm_keys_round_ended(struct sm *s, int status)
{
    const struct sm_round *round = s->run.round;
    struct sm_keys *k = s->keys;
    size_t behind = 0;
    if (status != FAB_OK || !sm_is_master(s) || !s->model.view || !s->model.fabric ||
        s->model.lent || !(round->targets || round->alone))
        return;
    size_t struck = fab_policy_m_keys_set(sm_m_key_previous(s)) ? strike_out(s, &behind) : 0;
    if (k->file.rotating && behind == 0)
        complete(s);
    else if (struck > 0 && !k->file.rotating)
        keep_or_log(s);
    if (!loop_timer_pending(k->retry) && sm_m_keys_are_mixed(s) && has_ports_to_change(s))
        sm_request(s, SM_REQUEST_KEYS);
}

static void on_retry(void *ctx)
{
    struct sm *s = ctx;
    if (has_ports_to_change(s))
        sm_request(s, SM_REQUEST_KEYS);
    sm_schedule(s);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *why_not_now(const struct sm *s)
{
    if (!sm_is_master(s))
        return "another subnet manager is master; rotate the key there";
    if (sm_is_frozen(s))
        return "the manager is frozen; enter 'fabricctl manager resume'";
    if (!sm_keys_shared_with_others(s))
        return sm_keys_shared(s)
                   ? "another subnet manager would not learn the new key, because it is no "
                     "fabricd, "
                     "does not reach etcd, or has another replication.wrapping_key; stop it, or "
                     "remove it from subnet.managers"
                   : "another subnet manager would not learn the new key; set "
                     "replication.wrapping_key for all managers, or stop it, remove it from "
                     "subnet.managers, and copy the file m_key to it after the rotation";
    return NULL;
}

static int refuse(int status, char *why, size_t why_len, const char *text)
{
    snprintf(why, why_len, "%s", text);
    return status;
}

/* Puts a new key into use at once. But if managers share the key and `local` is false, only
 * proposes the new key; it comes into use when a majority has confirmed it. */
static int rotate_to(struct sm *s, const struct fab_m_keys *key, bool local, char *why,
                     size_t why_len)
{
    struct fab_m_keys former = s->policy.m_keys;
    struct store_m_key file;
    int r;
    if (local || !sm_keys_shared(s)) {
        r = change_to(s, key, &former, why, why_len);
        if (r == FAB_OK)
            sm_schedule(s);
        return r;
    }
    r = next_file(s, key, &former, &file, why, why_len);
    if (r == FAB_OK)
        r = sm_keys_propose(s, &file, why, why_len);
    store_m_key_fini(&file);
    return r;
}

int sm_key_rotate_check(const struct sm *s, bool give_up, char *why, size_t why_len)
{
    const struct store_m_key *file = &s->keys->file;
    if (!s->in.config->m_key_generated)
        return refuse(FAB_E_UNSUPPORTED, why, why_len,
                      fab_policy_m_keys_set(&s->policy.m_keys)
                          ? "the M_Key comes from the settings; change subnet.m_key and "
                            "reload fabricd, which changes the ports in the same way"
                          : "ports have no M_Key; set 'subnet.m_key: generated' or 'derived'");
    const char *not_now = why_not_now(s);
    if (not_now)
        return refuse(FAB_E_DENIED, why, why_len, not_now);
    if (!s->model.view || !s->model.fabric || s->model.lent)
        return refuse(FAB_E_BUSY, why, why_len, "a sweep is under way; try again in a moment");
    if (file->rotating || s->keys->proposed)
        return refuse(FAB_E_BUSY, why, why_len,
                      "the last rotation is not complete; see 'fabricctl key show'");
    if (file->count > 0 && !give_up) {
        snprintf(why, why_len,
                 "%zu port%s outside of the fabric may still have the previous key, and would be "
                 "lost until the lease of that key ends; bring them back, or give them up with "
                 "'fabricctl key rotate --give-up-absent'",
                 file->count, fab_base_plural_s(file->count));
        return FAB_E_EXISTS;
    }
    return FAB_OK;
}

int sm_key_rotate(struct sm *s, bool give_up, bool local, char *why, size_t why_len)
{
    struct fab_m_keys key = {0};
    int r = sm_key_rotate_check(s, give_up, why, why_len);
    if (r != FAB_OK)
        return r;
    bool derived = s->in.config->m_key_derived;
    if ((derived ? store_m_key_new_secret(&key) : store_key_random(&key.number)) != FAB_OK)
        return refuse(FAB_E_IO, why, why_len, "the operating system has no random numbers");
    return rotate_to(s, &key, local, why, why_len);
}

void sm_keys_reload(struct sm *s, const struct fab_m_keys *former)
{
    char why[WHY_LEN];
    struct fab_m_keys keys = s->policy.m_keys;
    if (fab_policy_m_keys_same(&keys, former))
        return;
    s->policy.m_keys = *former;
    if (change_to(s, &keys, former, why, sizeof(why)) != FAB_OK)
        log_error("sm", "%s; the old M_Key stays in use", why);
}

static void count_port(const struct sm *s, uint32_t port, struct sm_key_status *ret)
{
    enum key_state state = state_of(s, port);
    ret->ports++;
    ret->current += state == KEY_CURRENT;
    ret->previous += state == KEY_OTHER;
    ret->unknown += state == KEY_UNKNOWN;
    size_t len = strlen(ret->names);
    if (state == KEY_CURRENT || state == KEY_NONE || len + SM_PLACE_LEN + 3 > sizeof(ret->names))
        return;
    char name[SM_PLACE_LEN];
    sm_port_name(s->model.fabric, port, name);
    snprintf(ret->names + len, sizeof(ret->names) - len, "%s%s", len ? ", " : "", name);
}

void sm_get_key_status(const struct sm *s, struct sm_key_status *ret)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct store_m_key *file = &s->keys->file;
    uint32_t present = 0;
    *ret = (struct sm_key_status){.set = fab_policy_m_keys_set(&s->policy.m_keys),
                                  .generated = s->in.config->m_key_generated,
                                  .rotating = file->rotating || s->keys->proposed,
                                  .generation = file->generation,
                                  .since_s = file->since_s,
                                  .derived = file->secret.set,
                                  .has_previous = fab_policy_m_keys_set(sm_m_key_previous(s))};
    for (uint32_t port = 0; f && port < f->port_count; port++)
        if (fab_fabric_port(f, port)->present && sm_m_key_has_own(f, port)) {
            count_port(s, port, ret);
            present += store_m_key_find(file, fab_fabric_port(f, port)->guid) != NULL;
        }
    ret->absent = (uint32_t)file->count - present;
}

/* ---- start ----------------------------------------------------------------------------------- */

static int read_file(struct sm *s, struct store_m_key *ret)
{
    char why[WHY_LEN];
    *ret = (struct store_m_key){0};
    if (!s->in.keys_dir)
        return FAB_E_NOT_FOUND;
    int r = store_m_key_read(s->in.keys_dir, ret, why, sizeof(why));
    if (r != FAB_OK && r != FAB_E_NOT_FOUND)
        log_error("sm", "%s", why);
    return r;
}

int sm_keys_init(struct sm *s)
{
    struct store_m_key file;
    char why[WHY_LEN];
    s->keys = calloc(1, sizeof(*s->keys));
    if (!s->keys)
        return FAB_E_NOMEM;
    s->keys->s = s;
    s->keys->retry = loop_timer_new(s->in.loop, on_retry, s);
    s->keys->share = loop_timer_new(s->in.loop, sm_keys_on_share, s);
    if (!s->keys->retry || !s->keys->share)
        return FAB_E_NOMEM;
    int r = read_file(s, &file);
    if (r == FAB_E_NOT_FOUND && !fab_policy_m_keys_set(&s->policy.m_keys))
        return FAB_OK;
    if (r != FAB_OK && r != FAB_E_NOT_FOUND)
        return r;
    struct fab_m_keys keys = s->policy.m_keys, former = store_m_key_current(&file);
    if (r == FAB_OK)
        take_file(s, &file);
    if (fab_policy_m_keys_same(&keys, &former))
        return FAB_OK;
    if (s->keys->file.rotating)
        log_warning("sm",
                    "subnet.m_key was changed during a rotation of the M_Key: ports that have "
                    "the key before are taken back when the lease of that key ends");
    r = change_to(s, &keys, &former, why, sizeof(why));
    if (r != FAB_OK)
        log_error("sm", "%s", why);
    return r;
}

void sm_keys_fini(struct sm *s)
{
    if (!s->keys)
        return;
    loop_timer_free(s->keys->retry);
    loop_timer_free(s->keys->share);
    store_m_key_fini(&s->keys->file);
    free(s->keys);
    s->keys = NULL;
}
