/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program. It reads the arguments, starts all parts of fabricd in the order below, runs
 * the loop, and stops the parts, most of them in reverse order. It also notifies systemd. reload.c
 * changes the settings of running parts.
 *
 * config -> store -> bus -> alerts -> transport (umad or the simulated fabric) -> policy -> replica
 * -> sm -> pm -> inventory -> cc -> sa -> rpc -> metrics
 *
 * With --replay, the transport is a recording, and the loop runs in virtual time. Besides the
 * transport, fabricd then starts only the store, the bus, sm, the device watch and pm.
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

#include "fabricd/alerts/alerts.h"
#include "fabricd/base/bus.h"
#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/base/log.h"
#include "fabricd/cc/cc.h"
#include "fabricd/daemon.h"
#include "fabricd/device_watch.h"
#include "fabricd/hardware/hardware.h"
#include "fabricd/hardware_report.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/loop/loop.h"
#include "fabricd/maintenance.h"
#include "fabricd/metrics/metrics.h"
#include "fabricd/options.h"
#include "fabricd/pm/pm.h"
#include "fabricd/policy/policy.h"
#include "fabricd/recording.h"
#include "fabricd/rehearse.h"
#include "fabricd/replica/replica.h"
#include "fabricd/rpc/rpc.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/audit.h"
#include "fabricd/store/counters.h"
#include "fabricd/store/store.h"
#include "fabricd/store/wrap.h"
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

#define SIM_FILE_MOST (512u << 20)
#define SIM_SEED 1
/* the load that the simulated hosts send all the time, as a fraction of the rate of their links */
#define SIM_LOAD 0.3
#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* Time limit in seconds for stopping fabricd. Without the limit, fabricd would not end if a driver
 * hung when it closed the port, or if a thread waited for the name service. */
#define LETS_GO_S 5

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

/* If the type of the event is in the list below, shows the event in the output of `systemctl
 * status`. */
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
void daemon_keep(struct daemon *d)
{
    store_journal_keep(d->store, d->config.journal_keep);
    store_audit_keep(d->store, (uint64_t)d->config.audit_days * 86400,
                     (uint64_t)d->config.audit_mb << 20);
}

void daemon_note(struct daemon *d, enum fab_grpc_code result, const char *method,
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
    daemon_keep(d);
    return r;
}

static int start_alerts(struct daemon *d, char *why)
{
    int r = alerts_start(d->loop, d->bus, &d->config.alerts, &d->alerts);
    if (r == FAB_E_IO)
        snprintf(why, WHY_LEN, "libcurl cannot be used; remove the setting alerts");
    return r;
}

/* ---- signals and the service manager ---- */

static void on_lost(void *ctx)
{
    struct daemon *d = ctx;
    daemon_note(d, FAB_GRPC_OK, "stop", "fabricd", "", "the device is gone");
    d->lost = true;
    loop_stop(d->loop);
}

static void on_stop(void *ctx)
{
    struct daemon *d = ctx;
    log_notice("fabricd", "stopping on a signal");
    daemon_note(d, FAB_GRPC_OK, "stop", "fabricd", "", "on a signal");
    loop_stop(d->loop);
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
        r = loop_signal(d->loop, SIGHUP, daemon_reload, d);
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

static int start_replica(struct daemon *d, char *why)
{
    const struct replica_input in = {
        .loop = d->loop,
        .bus = d->bus,
        .store = d->store,
        .config = &d->config.replication,
        .subnet_prefix = d->config.policy.subnet_prefix,
        .port_guid = d->transport->port_guid,
        .wrapping_check =
            d->config.replication.wraps ? store_wrap_check(d->config.replication.wrapping_key) : 0};
    return d->config.replication.endpoints == 0 ? FAB_OK
                                                : replica_start(&in, &d->replica, why, WHY_LEN);
}

/* Called when the store has got rows of another manager. Makes pm, sa and the policy load their
 * data from the store again. */
static void on_loaded(void *ctx)
{
    struct daemon *d = ctx;
    int r = d->pm ? pm_load(d->pm) : FAB_OK;
    if (r == FAB_OK && d->sa)
        r = sa_load(d->sa);
    if (d->policy)
        policy_load(d->policy);
    if (r != FAB_OK)
        log_error("fabricd", "the registrations of the other managers cannot be loaded: %s",
                  fab_base_status_text(r));
}

static int start_sm(struct daemon *d)
{
    struct sm_input in = {
        .loop = d->loop,
        .transport = d->readonly   ? d->readonly
                     : d->recorder ? d->recorder
                                   : d->transport,
        .recorded = d->recorder != NULL || d->options.replay != NULL,
        .rehearsed = d->options.rehearse          ? rehearse_report
                     : d->options.hardware_report ? hardware_report_begin
                                                  : NULL,
        .rehearsed_ctx = d,
        .bus = d->bus,
        .store = d->store,
        .config = &d->config,
        .replica = d->replica,
        .loaded = on_loaded,
        .loaded_ctx = d,
        .keys_dir = d->options.replay ? NULL : d->config.state_dir,
    };
    int r = sm_new(&in, &d->sm);
    if (r == FAB_OK && d->policy && !options_only_reads(&d->options))
        policy_attach(d->policy, d->sm);
    return r;
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

static int start_inventory(struct daemon *d)
{
    struct inventory_input in = {
        .loop = d->loop,
        .transport = d->transport,
        .sm = d->sm,
        .bus = d->bus,
        .store = d->store,
        .config = &d->config,
    };
    return inventory_new(&in, &d->inventory);
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
        .store = d->store,
        .replica = d->replica,
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
    return (struct metrics_input){.loop = d->loop,
                                  .bus = d->bus,
                                  .sm = d->sm,
                                  .pm = d->pm,
                                  .cc = d->cc,
                                  .inventory = d->inventory,
                                  .sa = d->sa,
                                  .config = &d->config,
                                  .calls = &d->calls,
                                  .store = d->store,
                                  .expiry = &d->tls_expiry,
                                  .history = d->history,
                                  .replica = d->replica,
                                  .alerts = d->alerts};
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
        .inventory = d->inventory,
        .cc = d->cc,
        .sa = d->sa,
        .policy = d->policy,
        .bus = d->bus,
        .store = d->store,
        .replica = d->replica,
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
    return (options_only_reads(&d->options) ? transport_umad_observe : transport_umad_open)(
        d->loop, d->config.port, &d->transport, why, WHY_LEN);
}

/* Starts the parts that a rehearsal or a hardware report needs. */
static int start_reading(struct daemon *d, char *why)
{
    fail(why, "out of memory");
    d->loop = loop_new();
    int r = d->loop ? rehearse_prepare(d, why) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = store_open(d->config.state_dir, &d->store, why, WHY_LEN);
    if (r == FAB_OK)
        r = daemon_take_keys(d, &d->config, why);
    if (r == FAB_OK)
        r = start_bus(d);
    if (r == FAB_OK)
        r = open_transport(d, why);
    if (r == FAB_OK)
        r = daemon_start_policy(d, why);
    if (r == FAB_OK)
        r = transport_readonly_open(d->transport, &d->readonly);
    if (r == FAB_OK)
        r = start_service(d);
    return r == FAB_OK ? start_sm(d) : r;
}

static int start(struct daemon *d, char *why)
{
    fail(why, "out of memory");
    d->loop = d->options.replay ? loop_new_virtual() : loop_new();
    if (!d->loop)
        return FAB_E_NOMEM;
    int r = store_open(d->config.state_dir, &d->store, why, WHY_LEN);
    daemon_note_keys(d);
    if (r == FAB_OK)
        r = daemon_take_keys(d, &d->config, why);
    if (r == FAB_OK)
        r = start_bus(d);
    if (r == FAB_OK && !d->options.replay)
        r = start_alerts(d, why);
    if (r == FAB_OK)
        r = open_transport(d, why);
    if (r == FAB_OK && d->options.record)
        r = start_recorder(d, why);
    if (r == FAB_OK && !d->options.replay)
        r = start_service(d);
    if (r == FAB_OK && !d->options.replay)
        r = store_watch_start(d->loop, d->bus, d->store, d->config.state_dir, &d->store_watch);
    if (r == FAB_OK && !d->options.replay)
        r = daemon_start_policy(d, why);
    if (r == FAB_OK && !d->options.replay)
        r = start_replica(d, why);
    if (r == FAB_OK)
        r = daemon_adopt_keys(d, why);
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
        r = start_inventory(d);
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

/* Stops all parts. Writes the pending changes of the store first, because the process may be ended
 * early: closing the port may hang, and after LETS_GO_S give_up() then ends the process. A second
 * alarm ends the process in the same way if loop_free() waits for the name service, or if exit
 * handlers of libraries hang. */
static void stop(struct daemon *d)
{
    sd_notify(0, "STOPPING=1");
    loop_tasks_orphan(&d->reloads);
    if (d->store)
        store_flush(d->store);
    signal(SIGALRM, give_up);
    alarm(LETS_GO_S);
    metrics_stop(d->metrics);
    alerts_stop(d->alerts);
    upkeep_stop(d->upkeep);
    store_watch_stop(d->store_watch);
    device_watch_stop(d->device_watch);
    rpc_stop(d->rpc);
    sa_stop(d->sa);
    cc_free(d->cc);
    inventory_free(d->inventory);
    pm_free(d->pm);
    policy_free(d->policy);
    hardware_free(d->hardware);
    sm_free(d->sm);
    replica_stop(d->replica);
    transport_close(d->recorder);
    transport_close(d->readonly);
    transport_close(d->transport);
    fab_sim_free(d->sim);
    loop_timer_free(d->watchdog);
    bus_free(d->bus);
    alarm(0);
    counters_stop(d->history);
    store_close(d->store);
    rehearse_clean(d);
    fab_fabric_unref(d->found);
    alarm(LETS_GO_S);
    loop_free(d->loop);
    if (d->has_config)
        config_fini(&d->config);
    recording_close(&d->recording);
}

static int read_once(struct daemon *d)
{
    char why[WHY_LEN];
    if (start_reading(d, why) != FAB_OK) {
        fprintf(stderr, "fabricd: %s\n", why);
        return EXIT_FAILURE;
    }
    sm_start(d->sm);
    return loop_run(d->loop) == FAB_OK && d->report_good ? EXIT_SUCCESS : EXIT_FAILURE;
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
        daemon_note(d, FAB_GRPC_OK, "start", "fabricd", fab_base_version(), "");
    sm_start(d->sm);
    sd_notify(0, "READY=1");
    bool good = loop_run(d->loop) == FAB_OK && !d->lost;
    if (d->options.replay)
        good = recording_report(d->transport) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Prevents core dumps, which would contain keys, even if RLIMIT_CORE permits them. Also prevents
 * other processes of this user from attaching a debugger. A build with sanitizers permits both,
 * because its leak check attaches to the process like a debugger. */
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
    /* Other users must not be able to read files in the state directory. (The RPC server sets the
     * mode and the group of its sockets itself.) */
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
    log_init(options_only_reads(&d.options) && !d.options.has_log_level ? LOG_LEVEL_WARNING
                                                                        : d.config.log_level);
    status = d.options.check_config           ? EXIT_SUCCESS
             : options_only_reads(&d.options) ? read_once(&d)
                                              : run(&d);
    stop(&d);
    return status;
}
