/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The current and the previous CC_Key, as the key file stores them (fabricd/store/m_key.h), and the
 * state of a key rotation. key_info.c changes the keys of devices.
 *
 * A rotation first writes both keys to the file, with the GUIDs of all devices that may have the
 * previous key. Only then does the manager use the new key. At every moment each device therefore
 * has one of the two keys in the file, even if the manager is killed.
 *
 * The rotation is complete when all devices in the fabric have shown the new key, except devices
 * that do not answer, have a foreign key or do not support congestion control. Devices that are
 * absent or do not answer stay in the list of GUIDs in the file. The previous key stays in the file
 * until the next rotation. With it, the manager can still manage a device that returns, and give it
 * the new key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "fabricd/store/key.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/smstate/smstate.h"

#define WHY_LEN 512
#define NAME_LEN 96
/* The devices without the current key are counted at most once in this time, in us. */
#define COUNT_US 250000u
/* maximum number of events about key violations in a minute */
#define KEY_EVENTS 16
#define MINUTE_US 60000000u

/* ---- devices --------------------------------------------------------------------------------- */

uint64_t cc_key_of(const struct cc *cc, const struct cc_device *d)
{
    return d->key == CC_KEY_FORMER ? cc->keys.file.previous : cc->keys.file.current;
}

bool cc_has_keys(const struct cc *cc)
{
    return cc->keys.file.current != 0 || cc->keys.file.previous != 0;
}

void cc_key_is(struct cc *cc, struct cc_device *d, enum cc_key key)
{
    cc->keys.moved |= d->key != key;
    d->key = (uint8_t)key;
}

static bool is_given_up(const struct cc_device *d)
{
    return d->state > CC_PROGRAMMED && d->tries >= CC_TRIES;
}

static bool refuses_class(const struct cc_device *d)
{
    return d->state == CC_UNSUPPORTED && !d->unresponsive;
}

/* Returns true if the rotation still waits until this device gets the current key. */
static bool is_behind(const struct cc_device *d)
{
    return (d->key == CC_KEY_FORMER || d->key == CC_KEY_UNREAD) && !is_given_up(d) &&
           !refuses_class(d);
}

/* Writes to *ret the list of the GUIDs of all devices that may have the key from before the
 * rotation. Called when a rotation begins. Returns NOMEM. */
static int list_devices(const struct cc *cc, struct store_m_key *ret)
{
    size_t count = 0;
    uint64_t *list = calloc(cc->device_count + 1u, sizeof(*list));
    if (!list)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < cc->device_count; i++)
        if (cc->devices[i].key != CC_KEY_FOREIGN && cc->devices[i].state != CC_UNSUPPORTED)
            list[count++] = cc->devices[i].port_guid;
    store_m_key_set_ports(ret, list, count);
    return FAB_OK;
}

/* Called after the current key has changed. Makes the manager read the key of this device again. If
 * the device had the key that was current until now, that key is now the previous one. */
static void look_again(struct cc_device *d)
{
    d->key = d->key == CC_KEY_CURRENT ? CC_KEY_FORMER : CC_KEY_UNREAD;
    if (refuses_class(d))
        return;
    d->tries = 0;
    d->due_us = 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int keep(const struct cc *cc, const struct store_m_key *file, char *why, size_t why_len)
{
    return cc->in.keys_dir ? store_m_key_write(cc->in.keys_dir, file, why, why_len) : FAB_OK;
}

static void keep_or_log(struct cc *cc)
{
    char why[WHY_LEN];
    if (keep(cc, &cc->keys.file, why, sizeof(why)) != FAB_OK)
        log_error("congestion", "%s; the rotation of the CC_Key is repeated after a restart", why);
    cc_keys_tell(cc);
}

int cc_keys_use(struct cc *cc, struct store_m_key *file, char *why, size_t why_len)
{
    struct cc_keys *k = &cc->keys;
    int r = file->rotating && file->count == 0 ? list_devices(cc, file) : FAB_OK;
    if (r != FAB_OK) {
        snprintf(why, why_len, "out of memory");
        return r;
    }
    store_m_key_fini(&k->file);
    k->file = *file;
    *file = (struct store_m_key){.of = STORE_KEY_OF_CONGESTION};
    /* requests in flight carry the old key in their header, so they are cancelled */
    if (cc->mads)
        cc_program_stop(cc);
    for (uint32_t i = 0; i < cc->device_count; i++)
        look_again(&cc->devices[i]);
    k->moved = true;
    k->counted_us = 0;
    if (k->file.rotating)
        event_emit(cc->in.bus, cc_key_rotation, .subject = "fabric",
                   .generation = k->file.generation, .devices = k->file.count);
    return FAB_OK;
}

/* Computes the contents of the key file after a change of the CC_Key to `key`. The caller writes
 * the file. Returns OK, or NOMEM with the reason in why[]. */
static int next_file(const struct cc *cc, uint64_t key, struct store_m_key *ret, char *why,
                     size_t why_len)
{
    *ret = store_m_key_next(&cc->keys.file, key, cc->in.config->cc_key_generated,
                            (uint64_t)clock_unix_us() / 1000000);
    ret->rotating &= cc_applies(cc);
    int r = ret->previous != 0 ? list_devices(cc, ret) : FAB_OK;
    if (r != FAB_OK)
        snprintf(why, why_len, "out of memory");
    return r;
}

/* Writes the new and the previous key to the key file, and then begins to use the new key. Returns
 * OK, or IO or NOMEM with the reason in why[]. */
static int change_to(struct cc *cc, uint64_t key, char *why, size_t why_len)
{
    struct store_m_key file;
    int r = next_file(cc, key, &file, why, why_len);
    if (r == FAB_OK)
        r = keep(cc, &file, why, why_len);
    if (r == FAB_OK)
        r = cc_keys_use(cc, &file, why, why_len);
    store_m_key_fini(&file);
    if (r == FAB_OK)
        cc_keys_tell(cc);
    return r;
}

static int read_file(struct cc *cc)
{
    char why[WHY_LEN];
    int r = cc->in.keys_dir ? store_cc_key_read(cc->in.keys_dir, &cc->keys.file, why, sizeof(why))
                            : FAB_E_NOT_FOUND;
    if (r == FAB_E_NOT_FOUND)
        return FAB_OK;
    if (r != FAB_OK)
        log_error("congestion", "%s", why);
    return r;
}

int cc_keys_init(struct cc *cc)
{
    char why[WHY_LEN];
    uint64_t key = cc->in.config->policy.congestion.key;
    cc->keys.file.of = STORE_KEY_OF_CONGESTION;
    int r = read_file(cc);
    if (r != FAB_OK || key == cc->keys.file.current)
        return r;
    if (cc->keys.file.rotating)
        log_warning("congestion",
                    "congestion.cc_key was changed during a rotation of the CC_Key: devices that "
                    "have the key before are taken back when the lease of that key ends");
    r = change_to(cc, key, why, sizeof(why));
    if (r != FAB_OK)
        log_error("congestion", "%s", why);
    return r;
}

void cc_keys_fini(struct cc *cc)
{
    store_m_key_fini(&cc->keys.file);
}

void cc_keys_reload(struct cc *cc)
{
    char why[WHY_LEN];
    uint64_t key = cc->in.config->policy.congestion.key;
    bool stays = cc->in.config->cc_key_generated && cc->keys.file.generated;
    if (stays || key == cc->keys.file.current)
        return;
    if (change_to(cc, key, why, sizeof(why)) != FAB_OK)
        log_error("congestion", "%s; the old CC_Key stays in use", why);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void complete(struct cc *cc)
{
    struct store_m_key *file = &cc->keys.file;
    file->rotating = false;
    keep_or_log(cc);
    event_emit(cc->in.bus, cc_key_rotated, .subject = "fabric", .generation = file->generation,
               .absent = file->count);
}

/* Returns true if device `d`, which is listed in the key file, no longer has the previous key. */
static bool has_left_previous(const struct cc_device *d)
{
    return d->key == CC_KEY_CURRENT || d->key == CC_KEY_FOREIGN || refuses_class(d);
}

/* The key file lists the devices that may have the previous key. Removes from this list the devices
 * that no longer have the previous key, and returns the number of removed devices. Also counts the
 * devices that do not have the current key yet (cc->keys.due). */
static size_t strike_out(struct cc *cc)
{
    struct cc_keys *k = &cc->keys;
    uint8_t *done = calloc(k->file.count + 1, 1);
    k->due = 0;
    for (uint32_t i = 0; i < cc->device_count; i++) {
        const struct cc_device *d = &cc->devices[i];
        const uint64_t *listed = store_m_key_find(&k->file, d->port_guid);
        k->due += is_behind(d);
        if (done && listed && has_left_previous(d))
            done[listed - k->file.port] = 1;
    }
    size_t struck = done ? store_m_key_strike(&k->file, done) : 0;
    free(done);
    return struck;
}

void cc_keys_tick(struct cc *cc, uint64_t now)
{
    struct cc_keys *k = &cc->keys;
    if (k->left_out > 0 && now - k->minute_us >= MINUTE_US) {
        event_emit(cc->in.bus, cc_key_violations_more, .subject = "fabric", .events = k->left_out);
        k->left_out = 0;
    }
    if (k->file.previous == 0 || !(k->moved || k->file.rotating) ||
        (k->counted_us != 0 && now - k->counted_us < COUNT_US))
        return;
    k->counted_us = now;
    k->moved = false;
    size_t struck = strike_out(cc);
    if (k->file.rotating && k->due == 0 && !cc->stale && !cc->work)
        complete(cc);
    else if (struck > 0 && !k->file.rotating)
        keep_or_log(cc);
}

/* ---- violations ------------------------------------------------------------------------------ */

static void name_device(const struct cc *cc, const struct cc_device *d, char name[NAME_LEN])
{
    struct fab_view *v = sm_view(cc->in.sm);
    uint32_t node = v ? fab_fabric_node_by_guid(v->fabric, d->node_guid) : FAB_NONE;
    if (node != FAB_NONE && v->fabric->nodes[node].name[0])
        snprintf(name, NAME_LEN, "%s", v->fabric->nodes[node].name);
    else
        snprintf(name, NAME_LEN, "0x%016" PRIx64, d->node_guid);
    if (d->num > 1)
        snprintf(name + strlen(name), NAME_LEN - strlen(name), "/%u", d->num);
    fab_view_unref(v);
}

static bool may_emit(struct cc_keys *k)
{
    uint64_t now = clock_now_us();
    if (now - k->minute_us >= MINUTE_US) {
        k->minute_us = now;
        k->emitted = 0;
    }
    if (k->emitted < KEY_EVENTS)
        return ++k->emitted;
    k->left_out++;
    return false;
}

void cc_key_watch(struct cc *cc, struct cc_device *d, const struct fab_cc_key_info *info)
{
    char name[NAME_LEN];
    uint16_t more = d->counted && info->violations > d->violations
                        ? (uint16_t)(info->violations - d->violations)
                        : 0;
    bool exposed = (d->key == CC_KEY_CURRENT || !d->counted) && info->key != 0 &&
                   info->key == cc->keys.file.current && !info->protect;
    d->counted = true;
    d->violations = info->violations;
    if ((more == 0 && !exposed) || !may_emit(&cc->keys))
        return;
    name_device(cc, d, name);
    if (exposed)
        event_emit(cc->in.bus, cc_key_exposed, .subject = name, .guid = d->node_guid,
                   .port = d->num, .violations = more);
    else
        event_emit(cc->in.bus, cc_key_violation, .subject = name, .guid = d->node_guid,
                   .port = d->num, .violations = more);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int refuse(int status, char *why, size_t why_len, const char *text)
{
    snprintf(why, why_len, "%s", text);
    return status;
}

bool cc_is_master(const struct cc *cc)
{
    struct sm_status s;
    sm_get_status(cc->in.sm, &s);
    return s.role == FAB_SM_MASTER;
}

/* Begins to use a new key. If managers share the key and `local` is false, this manager uses the
 * new key when a majority has confirmed it. Otherwise it uses the new key at once. */
static int rotate_to(struct cc *cc, uint64_t key, bool local, char *why, size_t why_len)
{
    struct store_m_key file;
    if (local || !cc_keys_shared(cc))
        return change_to(cc, key, why, why_len);
    int r = next_file(cc, key, &file, why, why_len);
    if (r == FAB_OK)
        r = cc_keys_propose(cc, &file, why, why_len);
    store_m_key_fini(&file);
    return r;
}

/* Returns the number of devices in the list of the key file that may still have the previous key.
 */
static size_t count_former(const struct cc *cc)
{
    size_t count = cc->keys.file.count;
    for (uint32_t i = 0; i < cc->device_count; i++)
        if (store_m_key_find(&cc->keys.file, cc->devices[i].port_guid) &&
            has_left_previous(&cc->devices[i]))
            count -= count > 0;
    return count;
}

int cc_key_rotate_check(const struct cc *cc, bool give_up, char *why, size_t why_len)
{
    const struct store_m_key *file = &cc->keys.file;
    if (!cc->in.config->cc_key_generated)
        return refuse(FAB_E_UNSUPPORTED, why, why_len,
                      file->current != 0
                          ? "the CC_Key comes from the settings; change congestion.cc_key and "
                            "reload fabricd, which changes the devices in the same way"
                          : "devices have no CC_Key; set 'congestion.cc_key: generated'");
    if (!cc_applies(cc))
        return refuse(FAB_E_UNSUPPORTED, why, why_len,
                      "fabricd programs no device; set 'congestion.apply: yes'");
    if (!cc_is_master(cc))
        return refuse(FAB_E_DENIED, why, why_len,
                      "another subnet manager is master; rotate the key there");
    if (!cc_keys_shared_with_others(cc))
        return refuse(
            FAB_E_DENIED, why, why_len,
            cc_keys_shared(cc)
                ? "another subnet manager would not learn the new key, because it is no fabricd, "
                  "does not reach etcd, or has another replication.wrapping_key; stop it, or "
                  "remove it from subnet.managers"
                : "another subnet manager would not learn the new key; set "
                  "replication.wrapping_key for all managers, or stop it, remove it from "
                  "subnet.managers, and copy the file cc_key to it after the rotation");
    if (file->rotating || cc->keys.proposed)
        return refuse(FAB_E_BUSY, why, why_len,
                      "the last rotation is not complete; see 'fabricctl key show'");
    if (cc->generation == 0 || cc->waiting > 0)
        return refuse(FAB_E_BUSY, why, why_len,
                      "devices are being programmed; try again in a moment");
    size_t former = count_former(cc);
    if (former > 0 && !give_up) {
        snprintf(why, why_len,
                 "%zu device%s (absent or without an answer) may still have the previous key, and "
                 "would be lost until the lease of that key ends; bring them back, or give "
                 "them up with 'fabricctl key rotate --cc --give-up-absent'",
                 former, fab_base_plural_s(former));
        return FAB_E_EXISTS;
    }
    return FAB_OK;
}

int cc_key_rotate(struct cc *cc, bool give_up, bool local, char *why, size_t why_len)
{
    uint64_t key;
    int r = cc_key_rotate_check(cc, give_up, why, why_len);
    if (r != FAB_OK)
        return r;
    if (strike_out(cc) > 0)
        keep_or_log(cc);
    if (store_key_random(&key) != FAB_OK)
        return refuse(FAB_E_IO, why, why_len, "the operating system has no random numbers");
    return rotate_to(cc, key, local, why, why_len);
}

static void count_device(const struct cc *cc, const struct cc_device *d, struct sm_key_status *ret)
{
    size_t len = strlen(ret->names);
    bool known = d->key == CC_KEY_CURRENT || !cc_has_keys(cc);
    if (d->state == CC_UNSUPPORTED)
        return;
    ret->ports++;
    ret->current += known;
    ret->previous += !known && d->key == CC_KEY_FORMER;
    ret->unknown += !known && d->key != CC_KEY_FORMER;
    if (known || len + NAME_LEN + 3 > sizeof(ret->names))
        return;
    char name[NAME_LEN];
    name_device(cc, d, name);
    snprintf(ret->names + len, sizeof(ret->names) - len, "%s%s", len ? ", " : "", name);
}

void cc_get_key_status(const struct cc *cc, struct sm_key_status *ret)
{
    const struct store_m_key *file = &cc->keys.file;
    uint32_t present = 0;
    *ret = (struct sm_key_status){.set = file->current != 0,
                                  .generated = file->current != 0 && file->generated,
                                  .rotating = file->rotating || cc->keys.proposed,
                                  .generation = file->generation,
                                  .since_s = file->since_s,
                                  .has_previous = file->previous != 0};
    for (uint32_t i = 0; i < cc->device_count; i++) {
        count_device(cc, &cc->devices[i], ret);
        present += !is_given_up(&cc->devices[i]) &&
                   store_m_key_find(file, cc->devices[i].port_guid) != NULL;
    }
    ret->absent = (uint32_t)file->count - present;
}
