/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reloads the settings while fabricd runs. If a setting is wrong, all old settings stay active. The
 * log names settings that take effect only at the next start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "fabricd/base/log.h"
#include "fabricd/cc/cc.h"
#include "fabricd/daemon.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/loop/loop.h"
#include "fabricd/loop/task.h"
#include "fabricd/pm/pm.h"
#include "fabricd/policy/policy.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/counters.h"
#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

static void note_restart(bool changed, const char *setting)
{
    if (changed)
        log_notice("config", "the change of %s takes effect at the next start", setting);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_listen(const struct config *a, const struct config *b)
{
    bool same = a->listen_count == b->listen_count;
    for (size_t i = 0; same && i < a->listen_count; i++)
        same = same_text(a->listen[i].text, b->listen[i].text);
    return same;
}

static bool same_replication(const struct config_replication *a, const struct config_replication *b)
{
    bool same = a->endpoints == b->endpoints && same_text(a->ca, b->ca) &&
                same_text(a->cert, b->cert) && same_text(a->key, b->key) &&
                same_text(a->server_name, b->server_name) && same_text(a->prefix, b->prefix) &&
                a->wraps == b->wraps &&
                memcmp(a->wrapping_key, b->wrapping_key, sizeof(a->wrapping_key)) == 0;
    for (unsigned i = 0; same && i < a->endpoints; i++)
        same = same_text(a->endpoint[i], b->endpoint[i]);
    return same;
}

static bool same_alert(const struct config_alert *a, const struct config_alert *b)
{
    bool same = same_text(a->url, b->url) && same_text(a->ca, b->ca) &&
                a->min_severity == b->min_severity && a->type_count == b->type_count;
    for (size_t i = 0; same && i < a->type_count; i++)
        same = strcmp(a->types[i], b->types[i]) == 0;
    return same;
}

static bool same_alerts(const struct config_alerts *a, const struct config_alerts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = same_alert(&a->alert[i], &b->alert[i]);
    return same;
}

static void note_restarts(const struct config *old, const struct config *now)
{
    note_restart(!same_text(old->state_dir, now->state_dir), "state_dir");
    note_restart(!same_text(old->port, now->port), "port");
    note_restart(!same_listen(old, now), "listen");
    note_restart(!same_text(old->metrics.listen.text, now->metrics.listen.text), "metrics.listen");
    note_restart(!same_alerts(&old->alerts, &now->alerts), "alerts");
    note_restart(!same_text(old->socket_group, now->socket_group), "socket_group");
    note_restart(!same_replication(&old->replication, &now->replication), "replication");
    note_restart(!fab_policy_lid_list_same(old->policy.listed_lids, now->policy.listed_lids),
                 "subnet.lid_file");
    note_restart(memcmp(&old->smp, &now->smp, sizeof(old->smp)) != 0, "smp");
    note_restart(old->contingency_mb != now->contingency_mb, "contingency.memory");
    note_restart((old->counters.max_mb == 0) != (now->counters.max_mb == 0), "counters.max_size");
}

/* Replaces those settings in d->config that can change while fabricd runs by the new settings in
 * `now`. In exchange, `now` gets the old policy, the old roles, the old names of the TLS files and
 * the old text of the settings; the caller frees them with `now`. */
static void apply(struct daemon *d, struct config *now)
{
    struct fab_policy policy = d->config.policy;
    struct config_roles roles = d->config.roles;
    struct config_tls tls = d->config.tls;
    d->config.policy = now->policy;
    now->policy = policy;
    policy_rebase(d->policy);
    d->config.roles = now->roles;
    now->roles = roles;
    d->config.tls = now->tls;
    now->tls = tls;
    d->config.m_key_generated = now->m_key_generated;
    d->config.cc_key_generated = now->cc_key_generated;
    d->config.m_key_derived = now->m_key_derived;
    d->config.unapproved = now->unapproved;
    d->config.quarantine_pkey = now->quarantine_pkey;
    d->config.offenders = now->offenders;
    d->config.on_device_lost = now->on_device_lost;
    d->config.sweep = now->sweep;
    d->config.managers = now->managers;
    d->config.inventory = now->inventory;
    d->config.flapping = now->flapping;
    d->config.counters = now->counters;
    if (d->history && now->counters.max_mb > 0)
        counters_limit(d->history, (uint64_t)now->counters.max_mb << 20);
    d->config.metrics.ports = now->metrics.ports;
    d->config.metrics.names = now->metrics.names;
    d->config.metrics.max_series = now->metrics.max_series;
    d->config.multicast = now->multicast;
    d->config.contingency_cpu = now->contingency_cpu;
    d->config.rebalance_s = now->rebalance_s;
    d->config.log_level = now->log_level;
    d->config.gone_days = now->gone_days;
    d->config.gone_nodes = now->gone_nodes;
    d->config.snapshots_keep = now->snapshots_keep;
    d->config.snapshots_mb = now->snapshots_mb;
    d->config.journal_keep = now->journal_keep;
    log_init(now->log_level);
    d->config.audit_days = now->audit_days;
    d->config.audit_mb = now->audit_mb;
    char *text = d->config.text;
    d->config.text = now->text;
    now->text = text;
    daemon_keep(d);
}

int daemon_take_keys(struct daemon *d, struct config *c, char *why)
{
    struct store_m_key file = {0};
    int r = c->cc_key_generated ? store_cc_key_generated(d->config.state_dir,
                                                         &c->policy.congestion.key, why, WHY_LEN)
                                : FAB_OK;
    if (r != FAB_OK)
        return r;
    r = c->m_key_derived ? store_m_key_derived(d->config.state_dir, &c->policy.m_keys, why, WHY_LEN)
        : c->m_key_generated
            ? store_m_key_generated(d->config.state_dir, &c->policy.m_keys.number, why, WHY_LEN)
            : store_m_key_read(d->config.state_dir, &file, why, WHY_LEN);
    store_m_key_fini(&file);
    if (r != FAB_OK && r != FAB_E_NOT_FOUND)
        return r;
    if (fab_policy_m_keys_set(&c->policy.m_keys) && c->policy.sm_key <= 1)
        log_warning("config",
                    "subnet.m_key is set, but subnet.sm_key is %u, which everybody knows: it "
                    "proves nothing; choose a secret one for all managers of the subnet",
                    (unsigned)c->policy.sm_key);
    if (c->policy.sa_key == 1)
        log_warning("config", "subnet.sa_key is 1, which everybody knows: any host can read all "
                              "M_Keys; remove the setting, or choose a secret key");
    return c->policy.sa_key
               ? FAB_OK
               : store_key(d->config.state_dir, "sa_key", &c->policy.sa_key, why, WHY_LEN);
}

/* While a key is being rotated, some ports or devices still have the previous key, and the key file
 * has room for only two keys. With a third key, the manager would lose access to these ports or
 * devices. Returns the name of the setting that would bring a third key now; NULL: there is
 * none. */
static const char *third_key(const struct daemon *d, const struct config *now)
{
    const struct config *old = &d->config;
    struct sm_key_status m, cc;
    sm_get_key_status(d->sm, &m);
    cc_get_key_status(d->cc, &cc);
    if (m.rotating &&
        !(now->m_key_generated ? old->m_key_generated && now->m_key_derived == old->m_key_derived
                               : fab_policy_m_keys_same(&now->policy.m_keys, &old->policy.m_keys)))
        return "subnet.m_key";
    if (cc.rotating &&
        !(now->cc_key_generated ? old->cc_key_generated
                                : now->policy.congestion.key == old->policy.congestion.key))
        return "congestion.cc_key";
    return NULL;
}

/* Returns EXISTS, with the reason in why[], if the settings have a new key while the last rotation
 * of this key is not complete. */
static int check_rotation(const struct daemon *d, const struct config *now, char *why)
{
    const char *setting = third_key(d, now);
    if (setting == NULL)
        return FAB_OK;
    snprintf(why, WHY_LEN,
             "%s changed while the fabric still gets the last key; change it after the end of the "
             "rotation (see 'fabricctl key show')",
             setting);
    return FAB_E_EXISTS;
}

/* A reload of the settings: its input, and the result that a worker thread computes. */
struct reload {
    const struct options *options;
    int status;
    struct config now; /* valid unless `status` is an error */
    char why[WHY_LEN];
};

/* The second half of a reload, on the loop thread: reads or makes the keys that the settings do not
 * have, checks that the new settings agree with rotations of keys and with the applied policy, and
 * makes the RPC server use the new TLS files. After an error, the old settings stay in use, and
 * why[] has the reason. */
static int accept_settings(struct daemon *d, struct config *now, char *why)
{
    int r = daemon_take_keys(d, now, why);
    if (r == FAB_OK)
        r = check_rotation(d, now, why);
    if (r == FAB_OK)
        r = policy_fits(d->policy, now, why, WHY_LEN);
    if (r == FAB_OK)
        r = rpc_reload_tls(d->rpc, &now->tls, why, WHY_LEN);
    return r;
}

static void refuse_reload(struct daemon *d, const char *why)
{
    char message[WHY_LEN + 16];
    log_error("config", "%s; the old settings stay active", why);
    snprintf(message, sizeof(message), "refused: %s", why);
    daemon_note(d, FAB_GRPC_FAILED_PRECONDITION, "reload", d->options.config_file, "", message);
}

static void use_settings(struct daemon *d, struct config *now)
{
    char difference[1500];
    note_restarts(&d->config, now);
    if (config_difference(&d->config, now, difference, sizeof(difference)) != FAB_OK)
        snprintf(difference, sizeof(difference), "not known: out of memory");
    daemon_note(d, FAB_GRPC_OK, "reload", d->options.config_file,
                difference[0] != '\0' ? difference : "no setting changed", "");
    apply(d, now);
    if (sm_reload(d->sm) != FAB_OK)
        log_error("config", "out of memory: the subnet manager keeps the old keys, partitions, "
                            "classes and routing; reload the settings again");
    pm_reload(d->pm);
    if (d->inventory)
        inventory_reload(d->inventory);
    cc_reload(d->cc);
    rpc_reload_roles(d->rpc);
    log_notice("config", "reloaded %s", d->options.config_file);
}

static int on_policy(void *ctx)
{
    struct daemon *d = ctx;
    int r = sm_reload(d->sm);
    if (r == FAB_OK && d->cc)
        cc_reload(d->cc);
    return r;
}

int daemon_start_policy(struct daemon *d, char *why)
{
    const struct policy_input in = {.loop = d->loop,
                                    .bus = d->bus,
                                    .store = d->store,
                                    .config = &d->config,
                                    .changed = on_policy,
                                    .ctx = d};
    return policy_new(&in, &d->policy, why, WHY_LEN);
}

static void read_settings(void *ctx, struct loop_task *t)
{
    struct reload *r = ctx;
    (void)t;
    r->status = options_config(r->options, &r->now, r->why, WHY_LEN);
}

static void drop_settings(void *owner, void *ctx)
{
    struct reload *r = ctx;
    (void)owner;
    if (r->status == FAB_OK)
        config_fini(&r->now);
    free(r);
}

static void on_settings(void *owner, void *ctx)
{
    struct daemon *d = owner;
    struct reload *r = ctx;
    if (r->status == FAB_OK && accept_settings(d, &r->now, r->why) == FAB_OK)
        use_settings(d, &r->now);
    else
        refuse_reload(d, r->why);
    drop_settings(d, r);
    if (!loop_tasks_any(&d->reloads))
        sd_notify(0, "READY=1");
}

void daemon_reload(void *ctx)
{
    static const struct loop_task_ops ops = {"reload", read_settings, on_settings, drop_settings};
    struct daemon *d = ctx;
    if (!d->options.config_file) {
        log_notice("config", "SIGHUP ignored: fabricd was started without a settings file (-f)");
        return;
    }
    struct reload *r = calloc(1, sizeof(*r));
    if (!r) {
        refuse_reload(d, "out of memory");
        return;
    }
    *r = (struct reload){.options = &d->options, .status = FAB_E_NOMEM};
    sd_notify(0, "RELOADING=1");
    const struct loop_task_config task = {
        .ops = &ops, .tasks = &d->reloads, .owner = d, .ctx = r, .place = LOOP_TASK_BLOCKING};
    if (loop_task_start(d->loop, &task, NULL) != FAB_OK)
        refuse_reload(d, "out of memory");
}
