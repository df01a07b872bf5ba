/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operator can freeze the manager. In mode "repairs only", the manager writes only the
 * attributes by which it routes around lost links and switches: LFTs, MFTs and SwitchInfo. In mode
 * "no writes", it writes none of these. In both modes it sends Set(SMInfo), which the election
 * needs.
 *
 * The function admits() checks each MAD before the transport sends it, so no part of the manager
 * can send a write that the mode forbids. The rounds themselves also leave out the writes that the
 * mode forbids, and count them. Requests for reroutes, rebalances and changes of M_Keys wait until
 * the manager is resumed. A heavy sweep then writes what is missing.
 *
 * The mode is stored in the database, and is the same after a restart.
 */
#include "fabricd/sm/core/freeze.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define AT_CLASS 1
#define AT_METHOD 3
#define AT_ATTRIBUTE 16
/* These requests wait while the manager is frozen. */
#define WAITING ((unsigned)(SM_REQUEST_REROUTE | SM_REQUEST_REBALANCE | SM_REQUEST_KEYS))

/* ---- the gate -------------------------------------------------------------------------------- */

static bool is_repair(uint16_t attr_id)
{
    return attr_id == FAB_ATTR_LFT || attr_id == FAB_ATTR_MFT || attr_id == FAB_ATTR_SWITCH_INFO;
}

bool sm_freeze_admits(const struct sm *s, uint16_t attr_id)
{
    enum sm_freeze mode = s->core->freeze.now.mode;
    return mode == SM_NOT_FROZEN || attr_id == FAB_ATTR_SM_INFO ||
           (mode == SM_REPAIRS_ONLY && is_repair(attr_id));
}

/* Returns whether the transport may send this MAD. The transport calls this function before it
 * sends a MAD of this process (transport_on_send). */
static bool admits(void *ctx, const struct transport_mad *mad)
{
    struct sm *s = ctx;
    const uint8_t *b = mad->bytes;
    uint16_t attr_id = (uint16_t)(b[AT_ATTRIBUTE] << 8 | b[AT_ATTRIBUTE + 1]);
    bool smp = b[AT_CLASS] == FAB_CLASS_SMP_LID || b[AT_CLASS] == FAB_CLASS_SMP_DIRECTED;
    if (!sm_is_frozen(s) || b[AT_METHOD] != FAB_METHOD_SET || (smp && sm_freeze_admits(s, attr_id)))
        return true;
    s->core->freeze.now.refused++;
    log_debug("sm", "frozen: a Set of attribute 0x%04x was not sent", attr_id);
    return false;
}

bool sm_is_frozen(const struct sm *s)
{
    return s->core->freeze.now.mode != SM_NOT_FROZEN;
}

bool sm_freeze_bars_writes(const struct sm *s)
{
    return s->core->freeze.now.mode == SM_NO_WRITES;
}

bool sm_freeze_bars_engine(const struct sm *s)
{
    return s->core->freeze.now.mode == SM_REPAIRS_ONLY;
}

unsigned sm_freeze_keep(struct sm *s, unsigned requests)
{
    if (!sm_is_frozen(s))
        return requests;
    s->core->freeze.waiting |= requests & WAITING;
    return requests & ~WAITING;
}

bool sm_freeze_keeps_settings(struct sm *s)
{
    s->core->freeze.settings = sm_freeze_bars_engine(s);
    return s->core->freeze.settings;
}

/* Called when the manager is resumed. If settings were reloaded in mode "repairs only", puts them
 * into use now. */
static void use_settings(struct sm *s)
{
    bool waited = s->core->freeze.settings;
    s->core->freeze.settings = false;
    if (waited)
        s->wiring->use_settings(s);
}

/* ---- what was not written -------------------------------------------------------------------- */

void sm_freeze_note_plan(struct sm *s, uint32_t writes, uint32_t blocks, uint32_t switches)
{
    struct sm_freeze_status *f = &s->core->freeze.now;
    bool news = writes > 0 && (writes != f->writes || blocks != f->blocks);
    f->writes = writes;
    f->blocks = blocks;
    f->switches = switches;
    if (news)
        event_emit(s->in.bus, writes_withheld, .subject = "fabric", .writes = writes,
                   .blocks = blocks, .switches = switches);
}

void sm_freeze_note_gains(struct sm *s, uint32_t nodes, uint32_t links)
{
    s->core->freeze.now.new_nodes = nodes;
    s->core->freeze.now.new_links = links;
}

static void add(char *text, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t len, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list ap;
    if (used > 0 && used + 3 < len)
        used += (size_t)snprintf(text + used, len - used, ", ");
    va_start(ap, fmt);
    vsnprintf(text + used, len - used, fmt, ap);
    va_end(ap);
}

static void describe_waiting(const struct sm_freezing *z, char *text, size_t len)
{
    const struct sm_freeze_status *f = &z->now;
    text[0] = 0;
    if (f->new_nodes > 0)
        add(text, len, "the set-up of %u new node%s", f->new_nodes,
            fab_base_plural_s(f->new_nodes));
    if (f->new_links > 0)
        add(text, len, "routes over %u new link%s", f->new_links, fab_base_plural_s(f->new_links));
    if (f->writes > 0)
        add(text, len, "%u write%s (%u LFT block%s on %u switch%s)", f->writes,
            fab_base_plural_s(f->writes), f->blocks, fab_base_plural_s(f->blocks), f->switches,
            fab_base_plural_es(f->switches));
    if (z->settings)
        add(text, len, "the reloaded settings");
    if (z->waiting & SM_REQUEST_REROUTE)
        add(text, len, "a reroute");
    if (z->waiting & SM_REQUEST_REBALANCE)
        add(text, len, "a rebalance");
    if (z->waiting & SM_REQUEST_KEYS)
        add(text, len, "a change of M_Keys");
}

void sm_get_freeze(const struct sm *s, struct sm_freeze_status *ret)
{
    *ret = s->core->freeze.now;
    describe_waiting(&s->core->freeze, ret->postponed, sizeof(ret->postponed));
    snprintf(ret->confirming, sizeof(ret->confirming), "%s", s->core->freeze.confirming);
}

void sm_freeze_note_confirming(struct sm *s, const char *what)
{
    snprintf(s->core->freeze.confirming, sizeof(s->core->freeze.confirming), "%s", what);
}

void sm_freeze_alarm(struct sm *s, const char *what)
{
    s->core->freeze.alarm = true;
    sm_alarm_set(s, "the manager is frozen (%s), and %s; enter 'fabricctl manager resume'",
                 sm_freeze_mode_name(s->core->freeze.now.mode), what);
}

/* ---- storing --------------------------------------------------------------------------------- */

/* The stored text is a list of values, separated by this character. No value contains it: the names
 * and reasons that RPC clients send are stored without control characters. */
#define SEPARATOR '\n'

static void save(const struct sm *s)
{
    const struct sm_freeze_status *f = &s->core->freeze.now;
    char text[SM_FREEZE_TEXT];
    if (!s->in.store)
        return;
    snprintf(text, sizeof(text), "%d%c%" PRId64 "%c%" PRId64 "%c%s%c%s", (int)f->mode, SEPARATOR,
             f->since_us, SEPARATOR, f->until_us, SEPARATOR, f->by, SEPARATOR, f->reason);
    store_put_freeze(s->in.store, f->mode == SM_NOT_FROZEN ? "" : text);
}

/* Returns the next value of the stored text, and ends it with a NUL; "": there is no further
 * value. */
static const char *next_member(char **at)
{
    char *from = *at, *end = strchr(from, SEPARATOR);
    *at = end ? end + 1 : from + strlen(from);
    if (end)
        *end = 0;
    return from;
}

static void load(const struct sm *s, struct sm_freeze_status *ret)
{
    char text[SM_FREEZE_TEXT], *at = text;
    if (!s->in.store || !store_get_freeze(s->in.store, text, sizeof(text)))
        return;
    int mode = atoi(next_member(&at));
    if (mode != SM_REPAIRS_ONLY && mode != SM_NO_WRITES)
        return;
    ret->mode = (enum sm_freeze)mode;
    ret->since_us = strtoll(next_member(&at), NULL, 10);
    ret->until_us = strtoll(next_member(&at), NULL, 10);
    snprintf(ret->by, sizeof(ret->by), "%s", next_member(&at));
    snprintf(ret->reason, sizeof(ret->reason), "%s", next_member(&at));
}

static void copy_printable(char *to, size_t len, const char *from)
{
    snprintf(to, len, "%s", from);
    for (; *to; to++)
        if ((unsigned char)*to < ' ')
            *to = ' ';
}

/* ---- freezing and resuming ------------------------------------------------------------------- */

const char *sm_freeze_mode_name(enum sm_freeze mode)
{
    return mode == SM_NO_WRITES ? "no writes" : mode == SM_REPAIRS_ONLY ? "repairs only" : "normal";
}

static void arm(struct sm *s)
{
    struct sm_freezing *z = &s->core->freeze;
    int64_t left = z->now.until_us - clock_unix_us();
    loop_timer_cancel(z->timer);
    if (z->now.until_us)
        loop_timer_set(z->timer, left > 0 ? (uint64_t)left : 0);
}

static void emit_frozen(const struct sm *s)
{
    const struct sm_freeze_status *f = &s->core->freeze.now;
    int64_t left = f->until_us - clock_unix_us();
    char limit[32] = "";
    if (f->until_us)
        snprintf(limit, sizeof(limit), "%" PRId64 " s", left > 0 ? (left + 999999) / 1000000 : 0);
    event_emit(s->in.bus, manager_frozen, .subject = "manager",
               .mode = sm_freeze_mode_name(f->mode), .by = f->by, .limit = limit,
               .reason = f->reason);
}

int sm_freeze_check(const struct sm *s, enum sm_freeze mode, char *why, size_t why_len)
{
    const struct sm_freezing *z = &s->core->freeze;
    if (mode != SM_NO_WRITES && sm_freeze_bars_writes(s) && z->now.writes > 0) {
        snprintf(why, why_len,
                 "%u write%s were withheld, so local repairs do not know what the switches hold; "
                 "first enter 'fabricctl manager resume'",
                 z->now.writes, fab_base_plural_s(z->now.writes));
        return FAB_E_DENIED;
    }
    return FAB_OK;
}

int sm_freeze(struct sm *s, enum sm_freeze mode, uint64_t for_us, const char *by,
              const char *reason, char *why, size_t why_len)
{
    struct sm_freezing *z = &s->core->freeze;
    int r = sm_freeze_check(s, mode, why, why_len);
    if (r != FAB_OK)
        return r;
    struct sm_freeze_status f = {.mode = mode, .since_us = clock_unix_us()};
    f.until_us = for_us ? f.since_us + (int64_t)for_us : 0;
    copy_printable(f.by, sizeof(f.by), by);
    copy_printable(f.reason, sizeof(f.reason), reason);
    if (mode == SM_NO_WRITES && sm_freeze_bars_writes(s))
        /* If an operator freezes the frozen manager again, the number of writes that were left out
         * stays. */
        f.writes = z->now.writes;
    f.new_nodes = z->now.new_nodes;
    f.new_links = z->now.new_links;
    z->now = f;
    sm_request(s, sm_take_requests(s, WAITING));
    save(s);
    arm(s);
    emit_frozen(s);
    return FAB_OK;
}

int sm_resume(struct sm *s, const char *by)
{
    struct sm_freezing *z = &s->core->freeze;
    char postponed[sizeof(z->now.postponed)];
    if (!sm_is_frozen(s))
        return FAB_E_EXISTS;
    describe_waiting(z, postponed, sizeof(postponed));
    unsigned waiting = z->waiting;
    if (z->alarm)
        sm_alarm_clear(s);
    z->alarm = false;
    z->waiting = 0;
    z->now = (struct sm_freeze_status){.mode = SM_NOT_FROZEN, .since_us = clock_unix_us()};
    snprintf(z->now.by, sizeof(z->now.by), "%s", by);
    loop_timer_cancel(z->timer);
    save(s);
    event_emit(s->in.bus, manager_resumed, .subject = "manager", .by = by, .postponed = postponed);
    use_settings(s);
    sm_cause_set(s, "the manager was resumed");
    sm_request(s, waiting);
    sm_request_heavy(s);
    sm_schedule(s);
    return FAB_OK;
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    (void)sm_resume(s, "the time limit of the freeze");
}

int sm_freeze_init(struct sm *s)
{
    struct sm_freezing *z = &s->core->freeze;
    z->timer = loop_timer_new(s->in.loop, on_time, s);
    if (!z->timer)
        return FAB_E_NOMEM;
    load(s, &z->now);
    transport_on_send(s->in.transport, admits, s);
    if (sm_is_frozen(s)) {
        arm(s);
        emit_frozen(s);
    }
    return FAB_OK;
}

void sm_freeze_load(struct sm *s)
{
    struct sm_freezing *z = &s->core->freeze;
    struct sm_freeze_status stored = {0};
    load(s, &stored);
    if (stored.mode == z->now.mode &&
        (stored.mode == SM_NOT_FROZEN || stored.since_us == z->now.since_us))
        return;
    if (z->alarm)
        sm_alarm_clear(s);
    z->alarm = false;
    z->now = stored;
    arm(s);
    if (sm_is_frozen(s))
        emit_frozen(s);
    else
        use_settings(s);
}

void sm_freeze_fini(struct sm *s)
{
    if (!s->core->freeze.timer)
        return;
    transport_on_send(s->in.transport, NULL, NULL);
    loop_timer_free(s->core->freeze.timer);
}
