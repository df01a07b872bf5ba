/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs of scenarios: what they prepare and do. The table at the end has a function for each verb.
 * Where several nodes are possible, a pattern (fnmatch) names them. A place NODE/PORT names the
 * cable at this port.
 */
#include <dirent.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/faults.h"
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
    snprintf(why, 512, "%s: %s", what, fab_base_status_text(status));
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
    int r = text ? fab_fabric_text_read(text, len, ret, &error) : FAB_E_NOMEM;
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
        return fab_fabric_generate_leaf_spine(&spec, ret);
    }
    if (strcmp(kind, "fat-tree") == 0) {
        struct fab_fat_tree_spec spec = {.radix = whole(line, "radix", 4),
                                         .levels = whole(line, "levels", 3)};
        return fab_fabric_generate_fat_tree(&spec, ret);
    }
    if (strcmp(kind, "torus") == 0) {
        struct fab_torus_spec spec = {.dimensions = 2,
                                      .size = {whole(line, "x", 5), whole(line, "y", 5)},
                                      .hosts = whole(line, "hosts", 1),
                                      .parallel = 1};
        return fab_fabric_generate_torus(&spec, ret);
    }
    if (strcmp(kind, "random") == 0) {
        struct fab_random_spec spec = {.switches = whole(line, "switches", 12),
                                       .degree = whole(line, "degree", 4),
                                       .hosts_per_switch = whole(line, "hosts", 3),
                                       .seed = s->run.seed};
        return fab_fabric_generate_random(&spec, ret);
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
    /* nothing to do: the reader of the file has used this line */
    UNUSED(s), UNUSED(line), UNUSED(why);
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
    sweep->heavy_interval_s =
        (uint32_t)(scenario_number(line, "full", sweep->heavy_interval_s * 1e6) / 1e6);
    sweep->trap_settle_ms =
        (uint32_t)(scenario_number(line, "settle", sweep->trap_settle_ms * 1e3) / 1e3);
    return SCENARIO_DONE;
}

VERB(do_flapping)
{
    struct config_flapping *f = &s->config.flapping;
    UNUSED(why);
    f->flaps = whole(line, "flaps", f->flaps);
    f->within_s = (uint32_t)(scenario_number(line, "within", f->within_s * 1e6) / 1e6);
    f->hold_down_s = (uint32_t)(scenario_number(line, "hold", f->hold_down_s * 1e6) / 1e6);
    f->max_hold_down_s = (uint32_t)(scenario_number(line, "most", f->max_hold_down_s * 1e6) / 1e6);
    f->max_excluded_percent = whole(line, "share", f->max_excluded_percent);
    f->min_capacity_percent = whole(line, "floor", f->min_capacity_percent);
    return SCENARIO_DONE;
}

VERB(do_quiet)
{
    UNUSED(why);
    s->config.rebalance_s =
        (uint32_t)(scenario_number(line, "after", s->config.rebalance_s * 1e6) / 1e6);
    return SCENARIO_DONE;
}

/* Starts the performance manager, which reads error counters. Scenarios without this verb run
 * without it. */
VERB(do_counters)
{
    static const char *const ways[] = {"report", "isolate", "disable"};
    struct config_counters *c = &s->config.counters;
    const char *action = line->words[0];
    UNUSED(why);
    c->interval_s = (uint32_t)(scenario_number(line, "interval", 60e6) / 1e6);
    c->within_s = (uint32_t)(scenario_number(line, "within", c->within_s * 1e6) / 1e6);
    c->clear = whole(line, "clear", c->clear);
    c->confirm = whole(line, "confirm", 1);
    for (int i = 0; i < 3; i++)
        if (strcmp(action, ways[i]) == 0)
            c->on_errors = (enum config_on_errors)i;
    return SCENARIO_DONE;
}

VERB(do_narrow)
{
    UNUSED(line), UNUSED(why);
    s->narrow = true;
    return SCENARIO_DONE;
}

/* Gives the manager a state directory, so that its state survives a kill. The directory is deleted
 * after the scenario, unless option -k of run_scenarios names it. */
VERB(do_state)
{
    static const char template[] = "/tmp/fabricd-scenario.XXXXXX";
    (void)line;
    if (s->run.state_dir) {
        snprintf(s->state_dir, sizeof(s->state_dir), "%s", s->run.state_dir);
        return SCENARIO_DONE;
    }
    memcpy(s->state_dir, template, sizeof(template));
    if (mkdtemp(s->state_dir))
        return SCENARIO_DONE;
    s->state_dir[0] = '\0';
    return outcome(FAB_E_IO, "a folder for the state", why);
}

VERB(do_m_key)
{
    UNUSED(why);
    s->config.policy.m_keys.number = strtoull(line->words[0], NULL, 0);
    return SCENARIO_DONE;
}

VERB(do_engine)
{
    snprintf(s->config.policy.engine, sizeof(s->config.policy.engine), "%s", line->words[0]);
    if (line->verb->setup)
        return SCENARIO_DONE;
    return outcome(s->sm ? sm_reload(s->sm) : FAB_E_NOT_FOUND, line->words[0], why);
}

VERB(do_freeze)
{
    enum sm_freeze mode = strcmp(line->words[0], "writes") == 0 ? SM_NO_WRITES : SM_REPAIRS_ONLY;
    uint64_t for_us = (uint64_t)scenario_number(line, "for", 0);
    char refusal[256] = "";
    int r = s->sm ? sm_freeze(s->sm, mode, for_us, "the scenario", "", refusal, sizeof(refusal))
                  : FAB_E_NOT_FOUND;
    return outcome(r, refusal[0] ? refusal : line->words[0], why);
}

VERB(do_resume)
{
    UNUSED(line);
    return outcome(s->sm ? sm_resume(s->sm, "the scenario") : FAB_E_NOT_FOUND, "resume", why);
}

/* ---- faults: the words of fabsim's console (cli/sim/faults.h) ---- */

/* *ret_lost: whether the manager cannot manage the node after this line. It stays unchanged if the
 * verb does not matter for this. */
static void judge_lost(const struct stage *s, const struct scenario_line *line, bool *ret_lost)
{
    const char *verb = line->verb->name;
    if (strcmp(verb, "silence") == 0) {
        *ret_lost = true;
    } else if (strcmp(verb, "respond") == 0 || strcmp(verb, "on") == 0 ||
               strcmp(verb, "reboot") == 0) {
        *ret_lost = false;
    } else if (strcmp(verb, "corrupt") == 0) {
        *ret_lost = strcmp(line->words[1], "none") != 0 && scenario_number(line, "rate", 1) >= 1;
    } else if (strcmp(verb, "set-mkey") == 0) {
        uint64_t key = strtoull(line->words[1], NULL, 0);
        *ret_lost = key != 0 && key != s->config.policy.m_keys.number;
    }
}

static void write_argument(const struct scenario_line *line, struct fab_text *text)
{
    for (unsigned i = 0; i < line->word_count; i++)
        fab_base_text_addf(text, "%s%s", i > 0 ? " " : "", line->words[i]);
    for (unsigned i = 0; i < line->option_count; i++)
        fab_base_text_addf(text, "%s%s=%s", text->len > 0 ? " " : "", line->options[i].name,
                           line->options[i].text);
}

VERB(do_fault)
{
    const struct fault *fault = fault_find(line->verb->name);
    struct fab_text argument = {0}, answer = {0};
    char *text = NULL;
    size_t len;
    if (!s->sim)
        return outcome(FAB_E_NOT_FOUND, "the fabric comes first", why);
    write_argument(line, &argument);
    int r = fab_base_text_take(&argument, &text, &len);
    bool good = r == FAB_OK && fault_run(fault, s->sim, text, &answer) == CMD_OK;
    if (!good)
        snprintf(why, 512, "%.500s",
                 r == FAB_OK ? fab_base_text_get(&answer) : fab_base_status_text(r));
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    for (uint32_t node = 0; good && s->lost && node < f->node_count; node++)
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) == 0)
            judge_lost(s, line, &s->lost[node]);
    fab_base_text_fini(&answer);
    free(text);
    return good ? SCENARIO_DONE : SCENARIO_FAILED;
}

VERB(do_power)
{
    const struct scenario_option *spread = scenario_option(line, "spread");
    if (!spread || !s->sim)
        return do_fault(s, line, why);
    bool off = strcmp(line->verb->name, "off") == 0;
    return outcome((off ? stage_power_off : stage_power_on)(s, line, (uint64_t)spread->number),
                   line->words[0], why);
}

/* The verb "ignore": leaves nodes out of all following conditions, or includes them again. */
VERB(do_ignore)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    UNUSED(why);
    for (uint32_t node = 0; node < f->node_count; node++)
        if (fnmatch(line->words[0], f->nodes[node].desc, 0) == 0)
            s->lost[node] = strcmp(line->verb->name, "ignore") == 0;
    return SCENARIO_DONE;
}

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

/* Pulls a certain number of cables between switches; the seed decides which. */
VERB(do_pull_some)
{
    const struct fab_fabric *f = fab_sim_fabric(s->sim);
    uint32_t left = whole(line, "count", 1);
    struct fab_prng prng;
    fab_base_prng_init(&prng, s->run.seed ^ line->number);
    for (unsigned tries = 0; left > 0 && tries < 10000; tries++) {
        uint32_t p = (uint32_t)fab_base_prng_below(&prng, f->port_count),
                 far = fab_fabric_port(f, p)->peer;
        if (far == FAB_NONE || !fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) ||
            !fab_fabric_node_is_switch(f, fab_fabric_port(f, far)->node))
            continue;
        (void)fab_sim_unlink(s->sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
        left--;
    }
    return left == 0 ? SCENARIO_DONE : outcome(FAB_E_NOT_FOUND, "cables", why);
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
    else if (strcmp(verb, "rebalance") == 0)
        r = sm_rebalance(s->sm, on_done, s);
    else if (strcmp(verb, "release") == 0)
        r = sm_link_release(s->sm, guid, port, "an operator");
    else if (strcmp(verb, "isolate") == 0)
        r = sm_link_isolate(s->sm, guid, port, true, "by an operator", why, 512);
    else
        r = sm_port_set(s->sm, guid, port, strcmp(verb, "enable") == 0, "an operator", on_done, s);
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

static uint64_t delay_of(void *ctx)
{
    struct stage *s = ctx;
    struct sm_status status = {.state = ""};
    if (s->sm)
        sm_get_status(s->sm, &status);
    return strcmp(status.state, s->hold_phase) == 0 ? s->hold_us : 0;
}

VERB(do_hold_worker)
{
    memcpy(s->hold_phase, line->words[0], sizeof(s->hold_phase));
    s->hold_us = (uint64_t)scenario_number(line, "for", 0);
    int r = s->holds ? FAB_OK : loop_delay_work(s->loop, delay_of, s);
    s->holds = r == FAB_OK;
    return outcome(r, "delays", why);
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

static unsigned count_entries(const char *folder)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Prints figures about the process and the manager, such as memory, for soak tests. */
VERB(do_figures)
{
    UNUSED(line), UNUSED(why);
    unsigned long pages = 0;
    struct sm_status status = {.state = ""};
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    if (s->sm)
        sm_get_status(s->sm, &status);
    printf("# figures: at %.0f s, %.1f MB, %u descriptors, %" PRIu64 " MADs, generation %" PRIu64
           "\n",
           (double)stage_now(s) / 1e6, (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6,
           count_entries("/proc/self/fd") - 2, s->result->mads, status.generation);
    fflush(stdout);
    return SCENARIO_DONE;
}

static const struct scenario_verb verbs[] = {
    {"fabric", 1, 2, "leaves spines hosts parallel radix levels switches degree x y ", true,
     do_fabric},
    {"seed", 1, 1, "", true, do_seed},
    {"timing", 0, 0, "hop answer train trap ", true, do_fault},
    {"manager", 1, 1, "", true, do_manager},
    {"smp", 0, 0, "timeout retries window ", true, do_smp},
    {"sweeps", 0, 0, "light full settle ", true, do_sweeps},
    {"flapping", 0, 0, "flaps within hold most share floor ", true, do_flapping},
    {"quiet", 0, 0, "after ", true, do_quiet},
    {"counters", 0, 1, "interval within clear confirm ", true, do_counters},
    {"narrow", 0, 0, "", true, do_narrow},
    {"state", 0, 0, "", true, do_state},
    {"m_key", 1, 1, "", true, do_m_key},
    {"engine", 1, 1, "", true, do_engine},

    {"pull", 1, 1, "", false, do_fault},
    {"plug", 1, 1, "", false, do_fault},
    {"flap", 1, 1, "period count ", false, do_fault},
    {"degrade", 1, 1, "lanes speed ", false, do_fault},
    {"repair", 1, 1, "", false, do_fault},
    {"noise", 1, 1, "share ber ", false, do_fault},
    {"increment", 2, 2, "rate ", false, do_fault},
    {"congest", 2, 2, "from sl qp to ", false, do_fault},
    {"pull-some", 0, 0, "count ", false, do_pull_some},
    {"plug-all", 0, 0, "", false, do_fault},

    {"off", 1, 1, "spread ", false, do_power},
    {"on", 1, 1, "boot step spread ", false, do_power},
    {"reboot", 1, 1, "boot step ", false, do_fault},
    {"silence", 1, 1, "", false, do_fault},
    {"respond", 1, 1, "", false, do_fault},
    {"delay", 1, 1, "by spread ", false, do_fault},
    {"corrupt", 2, 2, "rate ", false, do_fault},
    {"set-mkey", 2, 2, "protect lease ", false, do_fault},
    {"storm", 2, 2, "every count ", false, do_fault},
    {"trap", 2, 2, "", false, do_fault},
    {"ignore", 1, 1, "", false, do_ignore},
    {"include", 1, 1, "", false, do_ignore},
    {"impair", 0, 0, "loss duplicate delay by spread ", false, do_fault},

    {"sweep", 0, 0, "", false, do_request},
    {"reroute", 0, 0, "", false, do_request},
    {"rebalance", 0, 0, "", false, do_request},
    {"disable", 1, 1, "", false, do_request},
    {"release", 1, 1, "", false, do_request},
    {"enable", 1, 1, "", false, do_request},
    {"isolate", 1, 1, "", false, do_request},
    {"freeze", 1, 1, "for ", false, do_freeze},
    {"resume", 0, 0, "", false, do_resume},
    {"change-engine", 1, 1, "", false, do_engine},
    {"hold-worker", 1, 1, "for ", false, do_hold_worker},
    {"kill", 0, 0, "", false, do_kill},
    {"start", 0, 0, "", false, do_start},
    {"mark", 0, 0, "", false, do_mark},
    {"label", 1, 1, "", false, do_label},
    {"figures", 0, 0, "", false, do_figures},
    {"expect", 1, 6, "within ", false, scenario_expect},
};

const struct scenario_verb *scenario_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}
