/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a scenario can set up and do: a table of verbs (at the end), a function each. Nodes are
 * named by patterns (fnmatch) where a verb may hit several; places are NODE/PORT, and the cable is
 * meant.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"
#include "tests/sim/stage.h"
#include "tests/sim/verbs.h"

#define VERB(name)                                                                                 \
    static enum scenario_outcome name(struct stage *s, const struct scenario_line *line,           \
                                      char why[512])
#define UNUSED(x) ((void)(x))

static uint32_t whole(const struct scenario_line *line, const char *name, double otherwise)
{
    return (uint32_t)scenario_number(line, name, otherwise);
}

static enum scenario_outcome outcome(int status, const char *what, char why[512])
{
    if (status == FAB_OK)
        return SCENARIO_DONE;
    snprintf(why, 512, "%s: %s", what, fab_status_text(status));
    return SCENARIO_FAILED;
}

/* ---- setting up ---- */

static int read_fabric(struct stage *s, const char *name, struct fab_builder **ret)
{
    char path[512];
    struct fab_text_error error;
    snprintf(path, sizeof(path), "%.400s/%s", s->run.folder ? s->run.folder : ".", name);
    FILE *file = fopen(path, "re");
    if (!file)
        return FAB_E_NOT_FOUND;
    size_t room = 1u << 24;
    char *text = malloc(room);
    size_t len = text ? fread(text, 1, room, file) : 0;
    int r = text ? fab_text_read(text, len, ret, &error) : FAB_E_NOMEM;
    free(text);
    fclose(file);
    return r;
}

static int make_fabric(struct stage *s, const struct scenario_line *line, struct fab_builder **ret)
{
    const char *kind = line->words[0];
    if (strcmp(kind, "leaf-spine") == 0) {
        struct fab_leaf_spine_spec spec = {.leaves = whole(line, "leaves", 4),
                                           .spines = whole(line, "spines", 2),
                                           .hosts_per_leaf = whole(line, "hosts", 2),
                                           .parallel = whole(line, "parallel", 1)};
        return fab_generate_leaf_spine(&spec, ret);
    }
    if (strcmp(kind, "fat-tree") == 0) {
        struct fab_fat_tree_spec spec = {.radix = whole(line, "radix", 4),
                                         .levels = whole(line, "levels", 3)};
        return fab_generate_fat_tree(&spec, ret);
    }
    if (strcmp(kind, "random") == 0) {
        struct fab_random_spec spec = {.switches = whole(line, "switches", 12),
                                       .degree = whole(line, "degree", 4),
                                       .hosts_per_switch = whole(line, "hosts", 3),
                                       .seed = s->run.seed};
        return fab_generate_random(&spec, ret);
    }
    if (strcmp(kind, "file") == 0)
        return read_fabric(s, line->words[1], ret);
    return FAB_E_UNSUPPORTED;
}

VERB(do_fabric)
{
    struct fab_builder *b = NULL;
    int r = s->sim ? FAB_E_EXISTS : make_fabric(s, line, &b);
    if (r == FAB_OK)
        r = stage_fabric(s, b);
    return outcome(r, line->words[0], why);
}

VERB(do_seed)
{
    UNUSED(s), UNUSED(line), UNUSED(why); /* read by the reader */
    return SCENARIO_DONE;
}

VERB(do_pace)
{
    if (!s->sim)
        return outcome(FAB_E_NOT_FOUND, "the fabric stands before its pace", why);
    struct fab_sim_pace pace = fab_sim_pace(s->sim);
    pace.hop_us = whole(line, "hop", pace.hop_us);
    pace.answer_us = whole(line, "answer", pace.answer_us);
    pace.train_us = whole(line, "train", pace.train_us);
    pace.trap_us = whole(line, "trap", pace.trap_us);
    fab_sim_set_pace(s->sim, &pace);
    return SCENARIO_DONE;
}

VERB(do_manager)
{
    UNUSED(why);
    memcpy(s->seat, line->words[0], sizeof(s->seat));
    return SCENARIO_DONE;
}

VERB(do_smp)
{
    struct config_smp *smp = &s->config.smp;
    UNUSED(why);
    smp->timeout_ms = (uint32_t)(scenario_number(line, "timeout", smp->timeout_ms * 1e3) / 1e3);
    smp->retries = whole(line, "retries", smp->retries);
    smp->window = whole(line, "window", smp->window);
    return SCENARIO_DONE;
}

VERB(do_sweeps)
{
    struct config_sweep *sweep = &s->config.sweep;
    UNUSED(why);
    sweep->light_interval_s =
        (uint32_t)(scenario_number(line, "light", sweep->light_interval_s * 1e6) / 1e6);
    sweep->full_interval_s =
        (uint32_t)(scenario_number(line, "full", sweep->full_interval_s * 1e6) / 1e6);
    sweep->trap_settle_ms =
        (uint32_t)(scenario_number(line, "settle", sweep->trap_settle_ms * 1e3) / 1e3);
    return SCENARIO_DONE;
}

VERB(do_m_key)
{
    UNUSED(why);
    s->config.policy.m_key = strtoull(line->words[0], NULL, 0);
    return SCENARIO_DONE;
}

/* ---- nodes ---- */

typedef int node_fault(struct stage *s, uint32_t node, const struct scenario_line *line);

/* To every node whose description matches: at least one has to, and never the manager's. */
static enum scenario_outcome to_nodes(struct stage *s, const struct scenario_line *line,
                                      node_fault *fault, char why[512])
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    unsigned hit = 0;
    for (uint32_t node = 0; node < f->node_count; node++) {
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) != 0)
            continue;
        int r = fault(s, node, line);
        if (r != FAB_OK)
            return outcome(r, f->nodes[node].desc, why);
        hit++;
    }
    return hit > 0 ? SCENARIO_DONE : outcome(FAB_E_NOT_FOUND, line->words[0], why);
}

static int power_off(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    UNUSED(line);
    return fab_sim_power_off(s->sim, node);
}
static int power_on(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    s->lost[node] = false;
    return fab_sim_power_on(s->sim, node, (uint64_t)scenario_number(line, "boot", 0),
                            (uint64_t)scenario_number(line, "step", 0));
}
static int reboot(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    int r = fab_sim_power_off(s->sim, node);
    return r == FAB_OK ? power_on(s, node, line) : r;
}
static int silence(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    bool silent = strcmp(line->verb->name, "silence") == 0;
    s->lost[node] = silent;
    return fab_sim_silence(s->sim, node, silent);
}
static int late(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    return fab_sim_late(s->sim, node, whole(line, "by", 0), whole(line, "spread", 0));
}
static int lie(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    static const char *const lies[] = {"nothing", "busy",  "refusals", "garbage",
                                       "bits",    "zeros", "twin",     "strange"};
    double rate = scenario_number(line, "rate", 1);
    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        if (strcmp(lies[i], line->words[1]) == 0) {
            s->lost[node] = i > 0 && rate >= 1;
            return fab_sim_lie(s->sim, node, (enum fab_sim_lie)i, rate);
        }
    return FAB_E_UNSUPPORTED;
}
static int lock(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    uint64_t key = strtoull(line->words[1], NULL, 0);
    s->lost[node] = key != 0 && key != s->config.policy.m_key;
    return fab_sim_key(s->sim, node, key, (uint8_t)whole(line, "protect", 1),
                       (uint16_t)(scenario_number(line, "lease", 0) / 1e6));
}
static int storm(struct stage *s, uint32_t node, const struct scenario_line *line)
{
    return fab_sim_storm(s->sim, node, (uint16_t)strtoul(line->words[1], NULL, 0),
                         (uint64_t)scenario_number(line, "every", 10000),
                         whole(line, "count", 100));
}

VERB(do_off)
{
    return to_nodes(s, line, power_off, why);
}
VERB(do_on)
{
    return to_nodes(s, line, power_on, why);
}
VERB(do_reboot)
{
    return to_nodes(s, line, reboot, why);
}
VERB(do_silence)
{
    return to_nodes(s, line, silence, why);
}
VERB(do_late)
{
    return to_nodes(s, line, late, why);
}
VERB(do_lie)
{
    return to_nodes(s, line, lie, why);
}
VERB(do_lock)
{
    return to_nodes(s, line, lock, why);
}
VERB(do_storm)
{
    return to_nodes(s, line, storm, why);
}
VERB(do_forgive) /* what cannot be managed need not be, or has to be */
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    UNUSED(why);
    for (uint32_t node = 0; node < f->node_count; node++)
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) == 0)
            s->lost[node] = strcmp(line->verb->name, "forgive") == 0;
    return SCENARIO_DONE;
}

/* ---- cables ---- */

bool verb_place(struct stage *s, const char *word, uint32_t *ret_node, uint8_t *ret_port)
{
    char name[SCENARIO_WORD];
    const char *slash = strrchr(word, '/');
    char *end;
    if (!slash)
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)(slash - word), word);
    unsigned long port = strtoul(slash + 1, &end, 10);
    *ret_port = (uint8_t)port;
    return *end == '\0' && port < 255 && fab_sim_find(s->sim, name, ret_node) == FAB_OK;
}

VERB(do_cable)
{
    uint32_t node;
    uint8_t port;
    const struct scenario_option *speed = scenario_option(line, "speed");
    const char *verb = line->verb->name;
    int r = FAB_E_NOT_FOUND;
    if (!verb_place(s, line->words[0], &node, &port))
        return outcome(r, line->words[0], why);
    if (strcmp(verb, "pull") == 0)
        r = fab_sim_unlink(s->sim, node, port);
    else if (strcmp(verb, "plug") == 0)
        r = fab_sim_relink(s->sim, node, port);
    else if (strcmp(verb, "flap") == 0)
        r = fab_sim_flap(s->sim, node, port, (uint64_t)scenario_number(line, "period", 100000),
                         whole(line, "count", 5));
    else if (strcmp(verb, "degrade") == 0)
        r = fab_sim_degrade(s->sim, node, port, whole(line, "lanes", 0),
                            speed ? speed->text : NULL);
    else if (strcmp(verb, "noise") == 0)
        r = fab_sim_noise(s->sim, node, port, scenario_number(line, "share", 0));
    else if (strcmp(verb, "mend") == 0)
        r = fab_sim_degrade(s->sim, node, port, 0, NULL);
    return outcome(r, line->words[0], why);
}

VERB(do_rise)
{
    uint32_t node;
    uint8_t port;
    enum fab_sim_counter counter;
    if (!verb_place(s, line->words[0], &node, &port) ||
        fab_sim_counter_by_name(line->words[1], &counter) != FAB_OK)
        return outcome(FAB_E_NOT_FOUND, line->words[0], why);
    return outcome(fab_sim_rise(s->sim, node, port, counter, scenario_number(line, "rate", 0)),
                   line->words[1], why);
}

VERB(do_trap)
{
    uint32_t node;
    uint8_t port;
    if (!verb_place(s, line->words[0], &node, &port))
        return outcome(FAB_E_NOT_FOUND, line->words[0], why);
    uint16_t trap = (uint16_t)strtoul(line->words[1], NULL, 0);
    return outcome(fab_sim_trap(s->sim, node, port, trap), line->words[1], why);
}

/* Pulls that many cables between switches, chosen by the seed; or plugs in what is out. */
VERB(do_cables)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    bool pull = strcmp(line->verb->name, "pull-some") == 0;
    struct fab_prng prng;
    uint32_t left = pull ? whole(line, "count", 1) : 0;
    fab_prng_init(&prng, s->run.seed ^ line->number);
    for (unsigned tries = 0; left > 0 && tries < 10000; tries++) {
        uint32_t p = (uint32_t)fab_prng_below(&prng, f->port_count), far = f->ports[p].peer;
        if (far == FAB_NONE || !fab_node_is_switch(f, f->ports[p].node) ||
            !fab_node_is_switch(f, f->ports[far].node))
            continue;
        (void)fab_sim_unlink(s->sim, f->ports[p].node, f->ports[p].num);
        left--;
    }
    for (uint32_t p = 0; !pull && p < f->port_count; p++)
        (void)fab_sim_relink(s->sim, f->ports[p].node, f->ports[p].num);
    return left == 0 ? SCENARIO_DONE : outcome(FAB_E_NOT_FOUND, "cables", why);
}

VERB(do_weather)
{
    struct fab_sim_weather weather = {
        .loss = scenario_number(line, "loss", 0),
        .duplicate = scenario_number(line, "duplicate", 0),
        .delay = scenario_number(line, "delay", 0),
        .delay_us = whole(line, "by", 0),
        .spread_us = whole(line, "spread", 0),
    };
    UNUSED(why);
    fab_sim_set_weather(s->sim, &weather);
    return SCENARIO_DONE;
}

/* ---- the manager ---- */

static void on_done(void *ctx, int status, const char *message)
{
    struct stage *s = ctx;
    UNUSED(message);
    if (status == FAB_OK)
        s->answers++;
    else
        s->refusals++;
}

VERB(do_request)
{
    const char *verb = line->verb->name;
    uint32_t node = 0;
    uint8_t port = 0;
    int r = FAB_E_NOT_FOUND;
    if (!s->sm)
        return outcome(r, "the manager", why);
    if (line->word_count > 0 && !verb_place(s, line->words[0], &node, &port))
        return outcome(r, line->words[0], why);
    uint64_t guid = fab_sim_fabric(s->sim)->nodes[node].guid;
    if (strcmp(verb, "sweep") == 0)
        r = sm_sweep(s->sm, on_done, s);
    else if (strcmp(verb, "reroute") == 0)
        r = sm_reroute(s->sm, on_done, s);
    else
        r = sm_port_set(s->sm, guid, port, strcmp(verb, "enable") == 0, on_done, s);
    if (r != FAB_OK)
        s->refusals++;
    return SCENARIO_DONE;
}

VERB(do_kill)
{
    UNUSED(line), UNUSED(why);
    stage_manager_goes(s);
    return SCENARIO_DONE;
}

VERB(do_start)
{
    UNUSED(line);
    if (s->sm)
        return outcome(FAB_E_EXISTS, "the manager", why);
    return stage_manager(s, why) == FAB_OK ? SCENARIO_DONE : SCENARIO_FAILED;
}

VERB(do_mark)
{
    UNUSED(line), UNUSED(why);
    stage_mark(s);
    return SCENARIO_DONE;
}

VERB(do_label)
{
    struct stage_label *label = &s->labels[s->label_count];
    if (s->label_count == STAGE_LABELS)
        return outcome(FAB_E_LIMIT, "labels", why);
    label->tables = stage_tables(s, &label->len);
    if (!label->tables)
        return outcome(FAB_E_NOMEM, "label", why);
    memcpy(label->name, line->words[0], sizeof(label->name));
    s->label_count++;
    return SCENARIO_DONE;
}

static const struct scenario_verb verbs[] = {
    {"fabric", 1, 2, "leaves spines hosts parallel radix levels switches degree ", true, do_fabric},
    {"seed", 1, 1, "", true, do_seed},
    {"pace", 0, 0, "hop answer train trap ", true, do_pace},
    {"manager", 1, 1, "", true, do_manager},
    {"smp", 0, 0, "timeout retries window ", true, do_smp},
    {"sweeps", 0, 0, "light full settle ", true, do_sweeps},
    {"m_key", 1, 1, "", true, do_m_key},

    {"pull", 1, 1, "", false, do_cable},
    {"plug", 1, 1, "", false, do_cable},
    {"flap", 1, 1, "period count ", false, do_cable},
    {"degrade", 1, 1, "lanes speed ", false, do_cable},
    {"mend", 1, 1, "", false, do_cable},
    {"noise", 1, 1, "share ", false, do_cable},
    {"rise", 2, 2, "rate ", false, do_rise},
    {"pull-some", 0, 0, "count ", false, do_cables},
    {"plug-all", 0, 0, "", false, do_cables},

    {"off", 1, 1, "", false, do_off},
    {"on", 1, 1, "boot step ", false, do_on},
    {"reboot", 1, 1, "boot step ", false, do_reboot},
    {"silence", 1, 1, "", false, do_silence},
    {"hear", 1, 1, "", false, do_silence},
    {"late", 1, 1, "by spread ", false, do_late},
    {"lie", 2, 2, "rate ", false, do_lie},
    {"lock", 2, 2, "protect lease ", false, do_lock},
    {"storm", 2, 2, "every count ", false, do_storm},
    {"trap", 2, 2, "", false, do_trap},
    {"forgive", 1, 1, "", false, do_forgive},
    {"demand", 1, 1, "", false, do_forgive},
    {"weather", 0, 0, "loss duplicate delay by spread ", false, do_weather},

    {"sweep", 0, 0, "", false, do_request},
    {"reroute", 0, 0, "", false, do_request},
    {"disable", 1, 1, "", false, do_request},
    {"enable", 1, 1, "", false, do_request},
    {"kill", 0, 0, "", false, do_kill},
    {"start", 0, 0, "", false, do_start},
    {"mark", 0, 0, "", false, do_mark},
    {"label", 1, 1, "", false, do_label},
    {"expect", 1, 6, "within ", false, scenario_expect},
};

const struct scenario_verb *scenario_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}
