/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program. It reads the arguments, starts all parts of fabricd in the order below, runs
 * the loop, and stops the parts in reverse order. It also notifies systemd and reloads the
 * settings.
 *
 * config -> store -> bus -> transport (umad or the simulated fabric) -> sm -> pm -> cc -> sa -> rpc
 * -> metrics
 *
 * With --replay the transport is a recording, the loop runs in virtual time, and cc, sa, rpc and
 * metrics are not started.
 *
 * struct daemon owns all parts. If a part does not start, fabricd prints one line with the reason,
 * and stops the other parts.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "fabricd/base/bus.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/cc.h"
#include "fabricd/device_watch.h"
#include "fabricd/loop/loop.h"
#include "fabricd/loop/task.h"
#include "fabricd/maintenance.h"
#include "fabricd/metrics/metrics.h"
#include "fabricd/options.h"
#include "fabricd/pm/pm.h"
#include "fabricd/recording.h"
#include "fabricd/rpc/rpc.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/audit.h"
#include "fabricd/store/counters.h"
#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "fabricd/store/store.h"
#include "fabricd/store_watch.h"
#include "fabricd/transport/record.h"
#include "fabricd/transport/transport.h"
#include "fabricd/upkeep.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/grpc/grpc.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"

#define WHY_LEN 512
#define SIM_FILE_MOST (512u << 20)
#define SIM_SEED 1
#define SIM_LOAD 0.3 /* of the simulated hosts: mean share of the rates of their links */
#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* maximum time in seconds to close the port and to end threads; a driver or the name service may
 * hang */
#define LETS_GO_S 5

struct daemon {
    struct options options;
    struct config config;
    bool has_config;
    struct loop *loop;
    struct store *store;
    struct bus *bus;
    struct fab_sim *sim;
    struct transport *transport;
    bool lost; /* the device of the transport is gone */
    /* records the MADs of sm and pm; NULL: no recording is made */
    struct transport *recorder;
    struct recording recording; /* the recording that --replay plays */
    struct sm *sm;
    struct counters *history; /* history of counters; NULL: fabricd keeps none */
    struct pm *pm;
    struct cc *cc;
    struct sa *sa;
    struct rpc *rpc;
    struct metrics *metrics;
    struct store_watch *store_watch;
    struct upkeep *upkeep;
    struct device_watch *device_watch;
    struct call_counts calls;
    struct tls_expiry tls_expiry;
    struct loop_timer *watchdog;
    uint64_t watchdog_us;
    struct loop_tasks reloads;
};

static int fail(char *why, const char *what)
{
    snprintf(why, WHY_LEN, "%s", what);
    return FAB_E_NOMEM;
}

/* ---- the simulated fabric ---- */

static int read_file(const char *path, char **ret_text, size_t *ret_len, char *why)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t len = 0, room = 0;
    while (file && !ferror(file) && !feof(file) && len < SIM_FILE_MOST) {
        if (len == room) {
            char *more = realloc(text, room = room ? 2 * room : 65536);
            if (!more) {
                errno = ENOMEM;
                break;
            }
            text = more;
        }
        len += fread(text + len, 1, room - len, file);
    }
    bool good = file && feof(file) && !ferror(file);
    if (!good)
        snprintf(why, WHY_LEN, "%s: %s", path,
                 len >= SIM_FILE_MOST ? "the file is too large" : strerror(errno));
    if (file)
        fclose(file);
    if (!good) {
        free(text);
        return FAB_E_IO;
    }
    *ret_text = text;
    *ret_len = len;
    return FAB_OK;
}

static int load_fabric(const char *path, struct fab_fabric **ret, char *why)
{
    char *text;
    size_t len;
    struct fab_builder *builder = NULL;
    struct fab_text_error error = {0};
    int r = read_file(path, &text, &len, why);
    if (r != FAB_OK)
        return r;
    r = fab_fabric_text_read(text, len, &builder, &error);
    free(text);
    if (r == FAB_E_FORMAT)
        snprintf(why, WHY_LEN, "%s:%u:%u: %s", path, error.line, error.column, error.message);
    else if (r != FAB_OK)
        snprintf(why, WHY_LEN, "%s: %s", path, fab_base_status_text(r));
    if (r != FAB_OK)
        return r;
    r = fab_fabric_builder_seal(builder, ret);
    fab_fabric_builder_free(builder);
    if (r != FAB_OK)
        snprintf(why, WHY_LEN, "%s: %s", path, fab_base_status_text(r));
    return r;
}

static int open_sim(struct daemon *d, char *why)
{
    struct fab_fabric *fabric;
    int r = load_fabric(d->options.sim_file, &fabric, why);
    if (r != FAB_OK)
        return r;
    r = fab_sim_new(fabric, SIM_SEED, &d->sim);
    fab_fabric_unref(fabric);
    if (r == FAB_OK)
        r = fab_sim_traffic(d->sim, SIM_LOAD, SIM_SEED);
    if (r != FAB_OK)
        return fail(why, "out of memory for the simulated fabric");
    return transport_sim_open(d->loop, d->sim, d->options.sim_at, &d->transport, why, WHY_LEN);
}

/* ---- events ---- */

static void log_event(void *ctx, const struct event *e)
{
    static const enum log_level levels[] = {
        [EVENT_DEBUG] = LOG_LEVEL_DEBUG,
        [EVENT_INFO] = LOG_LEVEL_INFO,
        [EVENT_WARNING] = LOG_LEVEL_WARNING,
        [EVENT_ERROR] = LOG_LEVEL_ERROR,
    };
    (void)ctx;
    log_line(levels[e->severity], e->type, "%s", e->message);
}

static void store_event(void *ctx, const struct event *e)
{
    if (e->severity > EVENT_DEBUG)
        store_put_event(ctx, e);
}

/* Shows the event in the output of `systemctl status`, if its type is in the list below. */
static void notify_event(void *ctx, const struct event *e)
{
    static const enum event_id shown[] = {
        EVENT_sweep_done,       EVENT_sm_standby,    EVENT_sweep_failed,
        EVENT_proof_failed,     EVENT_reroute_done,  EVENT_device_lost,
        EVENT_device_recovered, EVENT_store_failing, EVENT_store_recovered};
    (void)ctx;
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        if (strcmp(event_rows[shown[i]].type, e->type) == 0)
            sd_notifyf(0, "STATUS=%s: %s", e->type, e->message);
}

/* Sets how many events, and how many rows of the audit log, the store keeps. */
static void keep(struct daemon *d)
{
    store_journal_keep(d->store, d->config.journal_keep);
    store_audit_keep(d->store, (uint64_t)d->config.audit_days * 86400,
                     (uint64_t)d->config.audit_mb << 20);
}

/* Records in the audit log what the manager itself did, for example that it reloaded its settings.
 */
static void note(struct daemon *d, enum fab_grpc_code result, const char *method,
                 const char *object, const char *after, const char *message)
{
    const struct audit_row row = {
        .time_us = clock_unix_us(),
        .kind = AUDIT_NOTE,
        .result = result,
        .text = {[AUDIT_ACCOUNT] = "fabricd",
                 [AUDIT_METHOD] = method,
                 [AUDIT_OBJECT] = object,
                 [AUDIT_AFTER] = after,
                 [AUDIT_MESSAGE] = message},
    };
    if (store_put_audit(d->store, &row) != FAB_OK)
        log_error("audit", "out of memory: the %s is not recorded", method);
}

static int start_bus(struct daemon *d)
{
    d->bus = bus_new(store_last_event_seq(d->store));
    if (!d->bus)
        return FAB_E_NOMEM;
    int r = bus_subscribe(d->bus, log_event, NULL);
    if (r == FAB_OK)
        r = bus_subscribe(d->bus, store_event, d->store);
    if (r == FAB_OK)
        r = bus_subscribe(d->bus, notify_event, NULL);
    keep(d);
    return r;
}

/* ---- signals and the service manager ---- */

static void on_lost(void *ctx)
{
    struct daemon *d = ctx;
    note(d, FAB_GRPC_OK, "stop", "fabricd", "", "the device is gone");
    d->lost = true;
    loop_stop(d->loop);
}

static void on_stop(void *ctx)
{
    struct daemon *d = ctx;
    log_notice("fabricd", "stopping on a signal");
    note(d, FAB_GRPC_OK, "stop", "fabricd", "", "on a signal");
    loop_stop(d->loop);
}

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

static void note_restarts(const struct config *old, const struct config *now)
{
    note_restart(!same_text(old->state_dir, now->state_dir), "state_dir");
    note_restart(!same_text(old->port, now->port), "port");
    note_restart(!same_listen(old, now), "listen");
    note_restart(!same_text(old->metrics.text, now->metrics.text), "metrics");
    note_restart(!same_text(old->socket_group, now->socket_group), "socket_group");
    note_restart(memcmp(&old->smp, &now->smp, sizeof(old->smp)) != 0, "smp");
    note_restart(old->contingency_mb != now->contingency_mb, "contingency.memory");
    note_restart((old->counters.max_mb == 0) != (now->counters.max_mb == 0), "counters.max_size");
}

/* Adopts the settings that can change while fabricd runs. Afterwards, `now` has the old policy, the
 * old roles and the old names of the TLS files, which the caller frees. */
static void apply(struct daemon *d, struct config *now)
{
    struct fab_policy policy = d->config.policy;
    struct config_roles roles = d->config.roles;
    struct config_tls tls = d->config.tls;
    d->config.policy = now->policy;
    now->policy = policy;
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
    d->config.flapping = now->flapping;
    d->config.counters = now->counters;
    if (d->history && now->counters.max_mb > 0)
        counters_limit(d->history, (uint64_t)now->counters.max_mb << 20);
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
    keep(d);
}

/* Reads or makes the keys for which the settings say "generated". Logs a warning for keys that are
 * publicly known. */
static int take_keys(struct daemon *d, struct config *c, char *why)
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

/* Returns the setting that would change a key while a rotation of this key is not complete; NULL:
 * none. Ports or devices that still have the previous key would then be lost. */
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

/* Returns EXISTS, and why[], if the settings would need a third key. */
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

/* Reads the files that the settings name, and checks the settings. On an error, the settings in use
 * stay, and why[] has the reason. */
static int accept_settings(struct daemon *d, struct config *now, char *why)
{
    int r = take_keys(d, now, why);
    if (r == FAB_OK)
        r = check_rotation(d, now, why);
    if (r == FAB_OK)
        r = rpc_reload_tls(d->rpc, &now->tls, why, WHY_LEN);
    return r;
}

static void refuse_reload(struct daemon *d, const char *why)
{
    char message[WHY_LEN + 16];
    log_error("config", "%s; the old settings stay active", why);
    snprintf(message, sizeof(message), "refused: %s", why);
    note(d, FAB_GRPC_FAILED_PRECONDITION, "reload", d->options.config_file, "", message);
}

static void use_settings(struct daemon *d, struct config *now)
{
    char difference[1500];
    note_restarts(&d->config, now);
    if (config_difference(&d->config, now, difference, sizeof(difference)) != FAB_OK)
        snprintf(difference, sizeof(difference), "not known: out of memory");
    note(d, FAB_GRPC_OK, "reload", d->options.config_file,
         difference[0] != '\0' ? difference : "no setting changed", "");
    apply(d, now);
    if (sm_reload(d->sm) != FAB_OK)
        log_error("config", "out of memory: the old settings stay active");
    pm_reload(d->pm);
    cc_reload(d->cc);
    rpc_reload_roles(d->rpc);
    log_notice("config", "reloaded %s", d->options.config_file);
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

/* Reads the settings on a worker thread: rpc.roles has names of users, and the directory server
 * that knows them may take long to answer. */
static void on_reload(void *ctx)
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

static void on_watchdog(void *ctx)
{
    struct daemon *d = ctx;
    sd_notify(0, "WATCHDOG=1");
    loop_timer_set(d->watchdog, d->watchdog_us / 3);
}

static int start_service(struct daemon *d)
{
    signal(SIGPIPE, SIG_IGN);
    int r = loop_signal(d->loop, SIGTERM, on_stop, d);
    if (r == FAB_OK)
        r = loop_signal(d->loop, SIGINT, on_stop, d);
    if (r == FAB_OK)
        r = loop_signal(d->loop, SIGHUP, on_reload, d);
    if (r != FAB_OK || sd_watchdog_enabled(0, &d->watchdog_us) <= 0)
        return r;
    d->watchdog = loop_timer_new(d->loop, on_watchdog, d);
    if (!d->watchdog)
        return FAB_E_NOMEM;
    on_watchdog(d);
    return FAB_OK;
}

/* ---- recordings ---- */

static void on_replayed(void *ctx)
{
    loop_stop(((struct daemon *)ctx)->loop);
}

static int open_replay(struct daemon *d, char *why)
{
    char what[WHY_LEN - 200];
    int r = recording_restore(&d->recording, d->store);
    if (r != FAB_OK)
        return r;
    r = transport_replay_open(d->loop, d->recording.bytes, d->recording.len, on_replayed, d,
                              &d->transport, what, sizeof(what));
    if (r != FAB_OK)
        snprintf(why, WHY_LEN, "%.190s: %s", d->options.replay, what);
    return r;
}

static int start_recorder(struct daemon *d, char *why)
{
    const struct options *o = &d->options;
    int r = transport_record_open(d->loop, d->transport, d->bus, o->record, o->record_limit,
                                  &d->recorder, why, WHY_LEN);
    return r == FAB_OK ? recording_tell_state(d->recorder, d->store, o->config_file) : r;
}

/* Opens the recording of --replay. A replay uses the settings in the recording, unless the command
 * line names a settings file. */
static int read_recording(struct daemon *d, char *why)
{
    int r = recording_open(&d->recording, d->options.replay, why, WHY_LEN);
    d->options.settings = d->recording.settings;
    d->options.settings_len = d->recording.settings_len;
    d->options.state_dir = d->recording.state_dir;
    return r;
}

/* ---- starting and stopping ---- */

static int start_sm(struct daemon *d)
{
    struct sm_input in = {
        .loop = d->loop,
        .transport = d->recorder ? d->recorder : d->transport,
        .recorded = d->recorder != NULL || d->options.replay != NULL,
        .bus = d->bus,
        .store = d->store,
        .config = &d->config,
        .keys_dir = d->options.replay ? NULL : d->config.state_dir,
    };
    return sm_new(&in, &d->sm);
}

static int start_device_watch(struct daemon *d)
{
    struct device_watch_input in = {.loop = d->loop,
                                    .bus = d->bus,
                                    .transport = d->transport,
                                    .sm = d->sm,
                                    .config = &d->config,
                                    .end = on_lost,
                                    .ctx = d};
    return device_watch_start(&in, &d->device_watch);
}

static int start_history(struct daemon *d)
{
    return d->config.counters.max_mb == 0
               ? FAB_OK
               : counters_start(d->config.state_dir, (uint64_t)d->config.counters.max_mb << 20,
                                &d->history);
}

static int start_pm(struct daemon *d)
{
    struct pm_input in = {
        .loop = d->loop,
        .transport = d->recorder ? d->recorder : d->transport,
        .sm = d->sm,
        .bus = d->bus,
        .store = d->store,
        .history = d->history,
        .config = &d->config,
    };
    return pm_new(&in, &d->pm);
}

static void see_congestion(void *ctx, struct fab_congestion_observed *ret)
{
    pm_congestion_seen(ctx, ret);
}

static int start_cc(struct daemon *d)
{
    struct cc_input in = {
        .loop = d->loop,
        .transport = d->transport,
        .sm = d->sm,
        .bus = d->bus,
        .config = &d->config,
        .seen = see_congestion,
        .seen_ctx = d->pm,
        .keys_dir = d->options.replay ? NULL : d->config.state_dir,
    };
    return cc_new(&in, &d->cc);
}

static int start_sa(struct daemon *d)
{
    struct sa_input in = {
        .loop = d->loop, .transport = d->transport, .sm = d->sm, .bus = d->bus, .store = d->store};
    return sa_start(&in, &d->sa);
}

static struct metrics_input metrics_of(struct daemon *d)
{
    return (struct metrics_input){d->loop,    d->bus,    d->sm,    d->pm,          d->cc,     d->sa,
                                  &d->config, &d->calls, d->store, &d->tls_expiry, d->history};
}

static void write_metrics(void *ctx, struct fab_text *to)
{
    const struct metrics_input in = metrics_of(ctx);
    metrics_page(&in, to);
}

static int start_rpc(struct daemon *d, char *why)
{
    struct rpc_input in = {
        .loop = d->loop,
        .sm = d->sm,
        .pm = d->pm,
        .cc = d->cc,
        .sa = d->sa,
        .bus = d->bus,
        .store = d->store,
        .history = d->history,
        .config = &d->config,
        .settings_file = d->options.config_file,
        .counts = &d->calls,
        .expiry = &d->tls_expiry,
        .write_metrics = write_metrics,
        .metrics_ctx = d,
        .sim = d->sim,
        .sim_transport = d->sim ? d->transport : NULL,
    };
    return rpc_start(&in, &d->rpc, why, WHY_LEN);
}

static int start_metrics(struct daemon *d, char *why)
{
    const struct metrics_input in = metrics_of(d);
    return metrics_start(&in, &d->metrics, why, WHY_LEN);
}

static int open_transport(struct daemon *d, char *why)
{
    if (d->options.replay)
        return open_replay(d, why);
    if (d->options.sim_file)
        return open_sim(d, why);
    return transport_umad_open(d->loop, d->config.port, &d->transport, why, WHY_LEN);
}

static int start(struct daemon *d, char *why)
{
    fail(why, "out of memory");
    d->loop = d->options.replay ? loop_new_virtual() : loop_new();
    if (!d->loop)
        return FAB_E_NOMEM;
    int r = store_open(d->config.state_dir, &d->store, why, WHY_LEN);
    if (r == FAB_OK)
        r = take_keys(d, &d->config, why);
    if (r == FAB_OK)
        r = start_bus(d);
    if (r == FAB_OK)
        r = open_transport(d, why);
    if (r == FAB_OK && d->options.record)
        r = start_recorder(d, why);
    if (r == FAB_OK && !d->options.replay)
        r = start_service(d);
    if (r == FAB_OK && !d->options.replay)
        r = store_watch_start(d->loop, d->bus, d->store, d->config.state_dir, &d->store_watch);
    if (r == FAB_OK)
        r = start_sm(d);
    if (r == FAB_OK && !d->options.replay)
        r = upkeep_start(d->loop, d->store, d->sm, &d->config, &d->upkeep);
    if (r == FAB_OK)
        r = start_device_watch(d);
    if (r == FAB_OK && !d->options.replay)
        r = start_history(d);
    if (r == FAB_OK)
        r = start_pm(d);
    if (r == FAB_OK && !d->options.replay)
        r = start_cc(d);
    if (r == FAB_OK && !d->options.replay)
        r = start_sa(d);
    if (r == FAB_OK && !d->options.replay)
        r = start_rpc(d, why);
    if (r == FAB_OK && !d->options.replay)
        r = start_metrics(d, why);
    return r;
}

static void give_up(int signo)
{
    static const char text[] =
        "fabricd: the port or the name service does not answer; ending without it\n";
    (void)signo;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)ignored;
    _exit(EXIT_FAILURE);
}

/* Stops all parts. The store is flushed before the port is closed, because closing the port may
 * hang until give_up ends the process. The second alarm limits the time of a reload that waits for
 * the name service, and of exit handlers of libraries. */
static void stop(struct daemon *d)
{
    sd_notify(0, "STOPPING=1");
    loop_tasks_orphan(&d->reloads);
    if (d->store)
        store_flush(d->store);
    signal(SIGALRM, give_up);
    alarm(LETS_GO_S);
    metrics_stop(d->metrics);
    upkeep_stop(d->upkeep);
    store_watch_stop(d->store_watch);
    device_watch_stop(d->device_watch);
    rpc_stop(d->rpc);
    sa_stop(d->sa);
    cc_free(d->cc);
    pm_free(d->pm);
    sm_free(d->sm);
    transport_close(d->recorder);
    transport_close(d->transport);
    fab_sim_free(d->sim);
    loop_timer_free(d->watchdog);
    bus_free(d->bus);
    alarm(0);
    counters_stop(d->history);
    store_close(d->store);
    alarm(LETS_GO_S);
    loop_free(d->loop);
    if (d->has_config)
        config_fini(&d->config);
    recording_close(&d->recording);
}

static int run(struct daemon *d)
{
    char why[WHY_LEN];
    if (start(d, why) != FAB_OK) {
        fprintf(stderr, "fabricd: %s\n", why);
        return EXIT_FAILURE;
    }
    log_notice("fabricd", "version %s on %s, state in %s", fab_base_version(), d->transport->name,
               d->config.state_dir);
    if (!d->options.replay)
        note(d, FAB_GRPC_OK, "start", "fabricd", fab_base_version(), "");
    sm_start(d->sm);
    sd_notify(0, "READY=1");
    bool good = loop_run(d->loop) == FAB_OK && !d->lost;
    if (d->options.replay)
        good = recording_report(d->transport) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Keeps the keys in memory out of core dumps, even if RLIMIT_CORE permits them, and stops other
 * processes of this user from attaching a debugger. The leak check of a sanitizer needs a
 * debugger. */
static void forbid_dumps(void)
{
    if (!SANITIZED && prctl(PR_SET_DUMPABLE, 0) != 0)
        fprintf(stderr, "fabricd: core dumps cannot be turned off: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
    struct daemon d = {0};
    char why[WHY_LEN];
    int status = options_read(&d.options, argc, argv);
    if (status >= 0)
        return status;
    /* Only the user of fabricd may read files in the state directory. The RPC sets the group of its
     * sockets itself. */
    umask(077);
    forbid_dumps();
    if ((d.options.replay && read_recording(&d, why) != FAB_OK) ||
        options_config(&d.options, &d.config, why, sizeof(why)) != FAB_OK) {
        fprintf(stderr, "fabricd: %s\n", why);
        recording_close(&d.recording);
        return EXIT_FAILURE;
    }
    d.has_config = true;
    if (d.options.backup || d.options.restore) {
        log_init_command();
        status = maintenance_run(&d.options, &d.config);
        config_fini(&d.config);
        return status;
    }
    log_init(d.config.log_level);
    status = d.options.check_config ? EXIT_SUCCESS : run(&d);
    stop(&d);
    return status;
}
