/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenarios: short text files that rehearse faults with the real manager on a simulated fabric, in
 * virtual time. tests/sim/README.md describes the language. The same file and the same seed give
 * the same run, byte for byte.
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
    double number; /* durations: microseconds; rates: 0..1 */
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
    uint32_t line, column; /* both counted from 1 */
    char message[200];
};
/* Reads a scenario. Returns NOMEM, or FORMAT; ret_error then says where and why. */
int scenario_read(const char *text, size_t len, const char *name, struct scenario *ret,
                  struct scenario_error *ret_error);
void scenario_fini(struct scenario *s);
const struct scenario_option *scenario_option(const struct scenario_line *line, const char *name);
/* Returns the number of an option, or the default if the option is not given. */
double scenario_number(const struct scenario_line *line, const char *name, double otherwise);

struct scenario_result {
    bool good;
    char message[512]; /* where and why the scenario failed */
    /* Digest of all MADs and events of the run, with their times. */
    uint64_t digest;
    /* Number of MADs sent, and virtual time at the end of the run in microseconds. */
    uint64_t mads, end_us;
};
struct scenario_run_config {
    uint64_t seed;
    bool verbose;       /* prints the events to stdout */
    const char *folder; /* folder of the fabric files */
    /* State directory for the verb "state"; it is kept after the run. NULL: the run makes a
     * temporary directory, and removes it. */
    const char *state_dir;
    FILE *summary; /* gets the summary (stage_summary.c); NULL: none */
    /* This file gets the text whose hash is `digest`; NULL: the text is not written. */
    FILE *trace;
};
void scenario_run(const struct scenario *s, const struct scenario_run_config *config,
                  struct scenario_result *ret);

/* scenario_golden.c: compares the summary of a run with the golden file of the scenario `name`, or
 * rewrites the file if UPDATE_GOLDEN is set. Returns false, and prints the difference, if they
 * differ. */
bool scenario_golden(const struct scenario *s, const struct scenario_run_config *config,
                     const char *name, const char *summary);

/* ---- the verbs (scenario_verbs.c, scenario_expect.c) ------------------------------------------*/

struct stage; /* stage.h */
enum scenario_outcome { SCENARIO_DONE, SCENARIO_NOT_YET, SCENARIO_FAILED };
/* Executes a line of a scenario. Returns NOT_YET if the line is an expectation that is not true
 * yet; the caller then tries it again a little later. why[] gets the difference from the
 * expectation, or the error. */
typedef enum scenario_outcome scenario_act(struct stage *s, const struct scenario_line *line,
                                           char why[512]);
struct scenario_verb {
    const char *name;
    unsigned words_least, words_most;
    /* Names of the options that this verb of the language takes, each followed by a blank. */
    const char *options;
    /* true: the verb prepares the scenario before its time begins, and is written without "at" */
    bool setup;
    scenario_act *act;
};
const struct scenario_verb *scenario_verb(const char *name); /* NULL: none */

#endif
