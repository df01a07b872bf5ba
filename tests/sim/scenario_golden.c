/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden summaries of scenarios. golden/scenarios/NAME.golden has the summary that stage_summary.c
 * writes, but only up to the first statement after which the summaries with other seeds differ.
 * After that, the run depends on random faults, and any change of the manager's requests leads to
 * others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/scenario.h"
#include "tests/support/golden.h"

#define REST "(the rest depends on the seed)\n"
#define OTHER_SEEDS 3
#define ROOM (1u << 18)

static char *summary_of(const struct scenario *s, const struct scenario_run_config *config,
                        uint64_t seed)
{
    struct scenario_run_config run = *config;
    struct scenario_result result;
    char *text = NULL;
    size_t len;
    run.summary = open_memstream(&text, &len);
    run.seed = seed;
    run.verbose = false;
    if (!run.summary)
        return NULL;
    scenario_run(s, &run, &result);
    fclose(run.summary);
    return text;
}

/* Returns the offset in the text at which its statement number `count` ends. */
static size_t end_of(const char *text, unsigned count)
{
    const char *at = text;
    for (const char *next; *at; at = next) {
        if (*at != ' ' && count-- == 0)
            break;
        next = strchr(at, '\n');
        next = next ? next + 1 : at + strlen(at);
    }
    return (size_t)(at - text);
}

/* Returns how many statements from the beginning on are equal in both texts. */
static unsigned common(const char *text, const char *other)
{
    unsigned count = 0;
    for (size_t end; text[end_of(text, count)] != '\0'; count++)
        if ((end = end_of(text, count + 1)) != end_of(other, count + 1) ||
            strncmp(text, other, end) != 0)
            break;
    return count;
}

/* Returns a copy of the first `count` statements of a summary. */
static char *cut(const char *text, unsigned count)
{
    size_t end = end_of(text, count);
    char *ret = malloc(end + sizeof(REST));
    if (ret) {
        memcpy(ret, text, end);
        memcpy(ret + end, text[end] ? REST : "", text[end] ? sizeof(REST) : 1);
    }
    return ret;
}

/* Runs the scenario with other seeds. Returns after how many statements the summaries begin to
 * differ. */
static unsigned find_fixed(const struct scenario *s, const struct scenario_run_config *config,
                           const char *text)
{
    unsigned least = UINT32_MAX;
    for (uint64_t i = 1; i <= OTHER_SEEDS; i++) {
        char *other = summary_of(s, config, config->seed + i);
        unsigned count = other ? common(text, other) : 0;
        least = count < least ? count : least;
        free(other);
    }
    return least;
}

static void read_golden(const char *path, char ret[ROOM])
{
    FILE *f = fopen(path, "re");
    ret[f ? fread(ret, 1, ROOM - 1, f) : 0] = '\0';
    if (f)
        fclose(f);
}

/* Returns how many statements a golden summary has. */
static unsigned count_statements(const char *golden)
{
    const char *rest = strstr(golden, REST);
    unsigned count = 0;
    while (rest && golden + end_of(golden, count) < rest)
        count++;
    return rest ? count : UINT32_MAX;
}

bool scenario_golden(const struct scenario *s, const struct scenario_run_config *config,
                     const char *name, const char *summary)
{
    static char golden[ROOM];
    char path[1024];
    snprintf(path, sizeof(path), "%s/golden/scenarios", config->folder);
    if (access(path, F_OK) != 0)
        return true; /* only scenarios in this folder have golden files */
    snprintf(path, sizeof(path), "%s/golden/scenarios/%.200s.golden", config->folder, name);
    read_golden(path, golden);
    char *text = cut(summary, count_statements(golden));
    if (text && strcmp(text, golden) != 0 && getenv("UPDATE_GOLDEN")) {
        free(text);
        text = cut(summary, find_fixed(s, config, summary));
    }
    bool same = text && golden_same(path, text);
    free(text);
    if (!same)
        printf("# if this is meant: UPDATE_GOLDEN=1 tests/sim/run_scenarios %s.scenario\n", name);
    return same;
}
