/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenarios: short text files that rehearse faults with the real manager on a simulated fabric, in
 * virtual time. tests/sim/README.md describes their language. With the same file and seed, a run is
 * the same byte for byte.
 */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SCENARIO_WORDS 8
#define SCENARIO_WORD 64

struct scenario_option {
    char name[16];
    char text[32];
    double number; /* value of the option; a duration is in us, a rate from 0 to 1 */
};
struct scenario_line {
    uint32_t number;
    uint64_t at_us;
    const struct scenario_verb *verb;
    char words[SCENARIO_WORDS][SCENARIO_WORD]; /* the words after the verb */
    unsigned word_count;
    struct scenario_option options[SCENARIO_WORDS];
    unsigned option_count;
};
struct scenario {
    char name[256];
    uint64_t seed; /* seed that the file names; 1 if it names none */
    struct scenario_line *lines;
    size_t count, capacity;
};
struct scenario_error {
    uint32_t line, column; /* position of the error, counted from 1 */
    char message[200];
};
/* Reads a scenario. If it returns FORMAT, *ret_error says where the error is, and what. */
int scenario_read(const char *text, size_t len, const char *name, struct scenario *ret,
                  struct scenario_error *ret_error);
void scenario_fini(struct scenario *s);
const struct scenario_option *scenario_option(const struct scenario_line *line, const char *name);
/* Returns the number that is given to an option, or `otherwise` if the line does not have the
 * option. */
double scenario_number(const struct scenario_line *line, const char *name, double otherwise);

struct scenario_result {
    bool good;
    char message[512]; /* if the scenario failed: the line, and the reason */
    /* Digest of all MADs and events of the run, with their times. */
    uint64_t digest;
    /* Number of MADs sent, and virtual time at the end of the run in microseconds. */
    uint64_t mads, end_us;
};
struct scenario_run_config {
    uint64_t seed;
    bool verbose;       /* prints the events to stdout */
    const char *folder; /* folder of the fabric files */
    /* State directory for the verb "state", which the run does not delete. NULL: a temporary
     * directory. */
    const char *state_dir;
    FILE *summary; /* file for the summary (stage_summary.c); NULL: no summary */
    /* gets each MAD and event, the text of which `digest` is the hash; NULL: no trace */
    FILE *trace;
};
void scenario_run(const struct scenario *s, const struct scenario_run_config *config,
                  struct scenario_result *ret);

/* Compares the summary of a run with the golden file of the scenario `name` (scenario_golden.c).
 * Prints the difference, and returns false, if they differ. With UPDATE_GOLDEN in the environment,
 * rewrites the golden file instead. */
bool scenario_golden(const struct scenario *s, const struct scenario_run_config *config,
                     const char *name, const char *summary);

/* ---- the verbs (scenario_verbs.c, scenario_expect.c) ------------------------------------------*/

struct stage; /* stage.h */
enum scenario_outcome { SCENARIO_DONE, SCENARIO_NOT_YET, SCENARIO_FAILED };
/* Executes a line of a scenario. Returns NOT_YET for an expectation that is not true yet; the
 * caller tries it again later. why[]: what is different from the expectation, or the error. */
typedef enum scenario_outcome scenario_act(struct stage *s, const struct scenario_line *line,
                                           char why[512]);
struct scenario_verb {
    const char *name;
    unsigned words_least, words_most;
    /* names of the options that the verb takes, with a blank after each name */
    const char *options;
    /* true: a verb for the time before the scenario begins, which is written without "at" */
    bool setup;
    scenario_act *act;
};
/* returns NULL if there is no such verb */
const struct scenario_verb *scenario_verb(const char *name);

#endif
