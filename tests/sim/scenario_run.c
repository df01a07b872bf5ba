/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays a scenario: makes the stage (a loop in virtual time, the fabric and the manager), and
 * executes each line at its time. An expectation is checked every millisecond, until it is true or
 * its time is over. A tap between the manager and the fabric adds each MAD with its time to the
 * digest.
 */
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/gs.h"
#include "tests/sim/stage.h"

#define ASK_AGAIN_US 1000
#define END_US (UINT64_C(86400) * 1000000) /* maximum length of a scenario: a day */

static void digest(struct stage *s, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint64_t word, now = stage_now(s), hash = s->result->digest ^ now;
    if (s->run.trace && (fwrite(&now, sizeof(now), 1, s->run.trace) != 1 ||
                         fwrite(bytes, 1, len, s->run.trace) != len))
        s->result->good = false;
    for (; len > 0; at += sizeof(word)) {
        size_t part = len < sizeof(word) ? len : sizeof(word);
        word = 0;
        memcpy(&word, at, part);
        hash = fab_base_mix64(hash ^ word) + 0x9e3779b97f4a7c15u;
        len -= part;
    }
    s->result->digest = hash;
}

/* ---- the tap ---- */

struct stage_tap {
    struct transport base;
    struct stage *stage;
};

static void count_write(struct stage *s, const struct transport_mad *mad)
{
    const uint8_t *at = mad->bytes;
    bool smp = at[1] == FAB_CLASS_SMP_LID || at[1] == FAB_CLASS_SMP_DIRECTED;
    if (!smp || at[3] != FAB_METHOD_SET)
        return;
    s->writes++;
    s->blocks += at[16] == 0 && at[17] == FAB_ATTR_LFT;
}

static int tap_send(struct transport *base, const struct transport_mad *mad)
{
    struct stage *s = ((struct stage_tap *)base)->stage;
    /* The store's writer works in real time, and writes only the latest view. Without waiting for
     * it, chance would decide which views are written, and two runs would differ. */
    if (s->store)
        store_flush(s->store);
    int r = transport_send(s->below, mad);
    if (r != FAB_E_BUSY) {
        digest(s, mad->bytes, FAB_MAD_SIZE);
        s->result->mads++;
        stage_summary_mad(s->summary, mad->bytes);
        count_write(s, mad);
    }
    return r;
}

static int tap_set_is_sm(struct transport *base, bool is_sm)
{
    struct transport *below = ((struct stage_tap *)base)->stage->below;
    return below->ops->set_is_sm(below, is_sm);
}

static void tap_close(struct transport *base)
{
    free(base);
}

/* Returns whether the MAD has ClassPortInfo (IBA 13.4.8.1) of performance management. Its
 * capability masks say whether there is PortCountersExtended, and whether this has error
 * counters. */
static bool tells_of_more(const struct transport_mad *mad)
{
    return mad->qp == 1 && mad->bytes[1] == FAB_CLASS_PERF && mad->bytes[16] == 0 &&
           mad->bytes[17] == FAB_ATTR_CLASS_PORT_INFO;
}

static void tap_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct stage_tap *t = ctx;
    if (!t->stage->narrow) {
        transport_hand_up(&t->base, mads, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct transport_mad mad = mads[i];
        if (tells_of_more(&mad))
            /* clears CapabilityMask and CapabilityMask2 */
            memset(mad.bytes + FAB_PERF_DATA + 2, 0, 5);
        transport_hand_up(&t->base, &mad, 1);
    }
}

static struct stage_tap *tap_new(struct stage *s)
{
    static const struct transport_ops ops = {
        .send = tap_send, .set_is_sm = tap_set_is_sm, .close = tap_close};
    struct stage_tap *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->base = *s->below;
    t->base.ops = &ops;
    t->base.receive = NULL;
    t->stage = s;
    transport_on_receive(s->below, tap_receive, t);
    return t;
}

/* ---- the stage ---- */

uint64_t stage_now(const struct stage *s)
{
    return clock_now_us() - s->begun_us;
}

static void on_event(void *ctx, const struct event *e)
{
    struct stage *s = ctx;
    if (s->run.verbose)
        printf("# %10.6f %s: %s\n", (double)stage_now(s) / 1e6, e->type, e->message);
    stage_summary_event(s->summary, e);
    digest(s, e->type, strlen(e->type));
    digest(s, e->message, strlen(e->message));
    if (s->store && e->severity > EVENT_DEBUG)
        store_put_event(s->store, e);
    if (s->event_count == STAGE_EVENTS)
        return;
    struct stage_event *to = &s->events[s->event_count++];
    snprintf(to->type, sizeof(to->type), "%s", e->type);
    snprintf(to->subject, sizeof(to->subject), "%s", e->subject);
    snprintf(to->message, sizeof(to->message), "%s", e->message);
}

void stage_mark(struct stage *s)
{
    struct sm_status status = {0};
    if (s->sm)
        sm_get_status(s->sm, &status);
    s->event_count = s->answers = s->refusals = 0;
    s->blocks = s->writes = 0;
    s->marked_smps = status.smps_sent;
    s->marked_timeouts = status.smps_retried + status.smps_timed_out;
    s->marked_generation = status.generation;
}

int stage_fabric(struct stage *s, struct fab_builder *b)
{
    struct fab_fabric *f = NULL;
    int r = fab_fabric_builder_seal(b, &f);
    fab_fabric_builder_free(b);
    if (r == FAB_OK)
        r = fab_sim_new(f, s->run.seed, &s->sim);
    if (r == FAB_OK && !(s->lost = calloc(f->node_count + 1u, sizeof(*s->lost))))
        r = FAB_E_NOMEM;
    fab_fabric_unref(f);
    return r;
}

static int new_pm(struct stage *s)
{
    const struct pm_input in = {.loop = s->loop,
                                .transport = &s->tap->base,
                                .sm = s->sm,
                                .bus = s->bus,
                                .store = s->store,
                                .config = &s->config};
    return pm_new(&in, &s->pm);
}

int stage_manager(struct stage *s, char why[512])
{
    struct sm_input in = {.loop = s->loop, .bus = s->bus, .config = &s->config};
    int r = transport_sim_open(s->loop, s->sim, s->seat, &s->below, why, 512);
    if (r == FAB_OK && s->state_dir[0])
        r = store_open(s->state_dir, &s->store, why, 512);
    if (r != FAB_OK)
        return r;
    in.store = s->store;
    s->tap = tap_new(s);
    in.transport = s->tap ? &s->tap->base : NULL;
    r = s->tap ? sm_new(&in, &s->sm) : FAB_E_NOMEM;
    if (r == FAB_OK && s->config.counters.interval_s)
        r = new_pm(s);
    if (r == FAB_OK)
        sm_start(s->sm);
    else
        snprintf(why, 512, "the manager could not be made: %s", fab_base_status_text(r));
    return r;
}

void stage_manager_goes(struct stage *s)
{
    stage_summary_manager_goes(s);
    pm_free(s->pm);
    sm_free(s->sm);
    store_close(s->store);
    s->pm = NULL;
    s->store = NULL;
    if (s->tap)
        transport_close(&s->tap->base);
    transport_close(s->below);
    s->sm = NULL;
    s->tap = NULL;
    s->below = NULL;
}

/* ---- the play ---- */

static void fail(struct stage *s, const struct scenario_line *line, const char *why)
{
    struct sm_status status = {.state = "no manager"};
    if (s->sm)
        sm_get_status(s->sm, &status);
    s->result->good = false;
    snprintf(s->result->message, sizeof(s->result->message),
             "line %u, at %.6f s: %s %s: %.330s (the manager: %s)", line->number,
             (double)stage_now(s) / 1e6, line->verb->name, line->words[0], why, status.state);
    loop_stop(s->loop);
}

/* Executes the next line. Returns false if its time has not come, or an expectation must be tried
 * again; a timer is then set. */
static bool play_line(struct stage *s, const struct scenario_line *line)
{
    char why[512] = "";
    uint64_t now = stage_now(s);
    if (now < line->at_us) {
        loop_timer_set(s->timer, line->at_us - now);
        return false;
    }
    /* the simulated fabric has its own clock, which must follow that of the scenario */
    fab_sim_advance(s->sim, now);
    if (!s->asked) {
        s->until_us = now + (uint64_t)scenario_number(line, "within", 0);
        stage_summary_line(s, line);
    }
    s->asked = true;
    if (s->run.verbose && now == line->at_us)
        printf("# %10.6f (%u) %s %s\n", (double)now / 1e6, line->number, line->verb->name,
               line->words[0]);
    switch (line->verb->act(s, line, why)) {
    case SCENARIO_DONE:
        if (s->below)
            transport_sim_kick(s->below);
        s->asked = false;
        return true;
    case SCENARIO_NOT_YET:
        if (now < s->until_us) {
            loop_timer_set(s->timer, ASK_AGAIN_US);
            return false;
        }
        break;
    case SCENARIO_FAILED:
        break;
    }
    fail(s, line, why);
    return false;
}

static void play(void *ctx)
{
    struct stage *s = ctx;
    while (s->result->good && s->next < s->scenario->count)
        if (play_line(s, &s->scenario->lines[s->next]))
            s->next++;
        else
            return;
    loop_stop(s->loop);
}

static int set_up(struct stage *s)
{
    char why[512] = "no memory";
    s->config.smp.retries = 3;
    /* without the verb "counters", the performance manager reads nothing */
    s->config.counters.interval_s = 0;
    s->loop = loop_new_virtual();
    s->bus = bus_new(0);
    s->begun_us = clock_now_us();
    s->timer = s->loop ? loop_timer_new(s->loop, play, s) : NULL;
    bool good = s->bus && s->timer && bus_subscribe(s->bus, on_event, s) == FAB_OK;
    const struct scenario_line *line = s->scenario->lines;
    for (; good && s->next < s->scenario->count && line->verb->setup; line++, s->next++)
        if (line->verb->act(s, line, why) != SCENARIO_DONE) {
            fail(s, line, why);
            return FAB_E_INVAL;
        }
    if (good && !s->sim)
        snprintf(why, sizeof(why), "the first line must say which fabric: \"fabric ...\"");
    good = good && s->sim && stage_manager(s, why) == FAB_OK;
    if (!good)
        snprintf(s->result->message, sizeof(s->result->message), "%s", why);
    return good ? FAB_OK : FAB_E_INVAL;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    if (nftw(path, remove_entry, 4, FTW_DEPTH | FTW_PHYS) != 0)
        printf("# %s is left behind: %s\n", path, strerror(errno));
}

static void take_down(struct stage *s)
{
    stage_manager_goes(s);
    stage_outages_free(s);
    for (unsigned i = 0; i < s->label_count; i++)
        free(s->labels[i].tables);
    loop_timer_free(s->timer);
    bus_free(s->bus);
    loop_free(s->loop);
    fab_sim_free(s->sim);
    config_fini(&s->config);
    if (s->state_dir[0] && !s->run.state_dir)
        remove_folder(s->state_dir);
    stage_summary_free(s->summary);
    free(s->lost);
    free(s);
}

void scenario_run(const struct scenario *scenario, const struct scenario_run_config *config,
                  struct scenario_result *ret)
{
    struct stage *s = calloc(1, sizeof(*s));
    *ret = (struct scenario_result){.message = "no memory"};
    if (s && config->summary)
        s->summary = stage_summary_new(config->summary);
    if (!s || (config->summary && !s->summary) || config_defaults(&s->config) != FAB_OK) {
        if (s)
            stage_summary_free(s->summary);
        free(s);
        return;
    }
    s->scenario = scenario;
    s->run = *config;
    s->result = ret;
    if (set_up(s) == FAB_OK) {
        ret->good = true;
        loop_timer_set(s->timer, 0);
        (void)loop_run(s->loop);
        ret->end_us = stage_now(s);
        if (ret->good && s->next < scenario->count) {
            ret->good = false;
            snprintf(ret->message, sizeof(ret->message), "nothing happens any more at line %u",
                     scenario->lines[s->next].number);
        }
    }
    take_down(s);
}
