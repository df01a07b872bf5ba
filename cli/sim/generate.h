/* SPDX-License-Identifier: BSD-3-Clause */
/* The topology families of `fabsim generate` (fat tree, torus, ...), and their options. families.c
 * has the table of families, and options.c has the table of options. */
#ifndef CLI_SIM_GENERATE_H
#define CLI_SIM_GENERATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "libfabmgr/fabric/generate.h"

enum option_id {
    OPT_LEAVES,
    OPT_SPINES,
    OPT_HOSTS,
    OPT_PARALLEL,
    OPT_LEVELS,
    OPT_TAPER,
    OPT_M,
    OPT_W,
    OPT_P,
    OPT_SERVERS,
    OPT_ADAPTERS,
    OPT_GROUP_SIZE,
    OPT_CORES,
    OPT_CORE_PARALLEL,
    OPT_GROUPS,
    OPT_GLOBAL,
    OPT_SIZE,
    OPT_DIMENSIONS,
    OPT_SWITCHES,
    OPT_DEGREE,
    /* the options from here on apply to all families */
    OPT_RADIX,
    OPT_SPEED,
    OPT_WIDTH,
    OPT_AGGREGATION,
    OPT_MISSING,
    OPT_ALLOW_PARTITIONED,
    OPT_PLANES,
    OPT_SHUFFLE_GUIDS,
    OPT_SEED,
    OPTION_COUNT
};
#define FIRST_COMMON OPT_RADIX

#define LIST_MAX FAB_GENERATE_DIMENSIONS
_Static_assert(FAB_GENERATE_LEVELS == LIST_MAX, "one length for all lists");

/* The value of an option; the default value if the user did not give the option. For a list,
 * `number` is its length. */
struct value {
    uint64_t number;
    uint32_t list[LIST_MAX];
    /* If the value is a share, such as "5%": the share in parts per million. `number` is then 0. */
    uint32_t ppm;
    const char *text;
    bool given;
};

struct family {
    const char *name, *summary;
    /* Bitsets of options: bit `id` is the option `id` of enum option_id. needs: options that the
     * user must give. takes: further options that the user may give. */
    uint64_t needs, takes;
    /* Makes a fabric of the family. Returns an error of the function in libfabmgr/fabric/generate.h
     * that it calls. For RANGE, `limits` is the error message: it lists the permitted values. */
    int (*make)(const struct value *values, struct fab_builder **ret);
    const char *limits;
};
extern const struct family families[];
extern const unsigned family_count;
/* returns the family with this name; NULL if there is none */
const struct family *family_find(const char *name);

/* Reads the options of a family from argv[1] on; argv[0] is the family. Stores the values in
 * values[OPTION_COUNT], and the name of the output file in *ret_out. Returns 0; 1 if the user asked
 * for help; or prints the reason for an error and returns -1. */
int options_parse(const struct family *family, int argc, char **argv, struct value *values,
                  const char **ret_out);
/* Prints one line for each option: first the options of the family, then those of all families. */
void options_print(const struct family *family, FILE *file);

#endif
