/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabsim generate KIND OPTIONS: writes a fabric made from a description. Each kind is a row of a
 * table with its options, which are all numbers.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/fabric/text.h"

enum number { LEAVES, SPINES, HOSTS, PARALLEL, RADIX, LEVELS, TAPER, SWITCHES, DEGREE, SEED };

static const struct {
    const char *name;
    uint64_t max, value; /* value: where none is given; NEEDED: one must be */
} numbers[] = {
#define NEEDED UINT64_MAX
    [LEAVES] = {"leaves", UINT32_MAX, NEEDED}, [SPINES] = {"spines", UINT32_MAX, NEEDED},
    [HOSTS] = {"hosts", UINT32_MAX, NEEDED},   [PARALLEL] = {"parallel", UINT32_MAX, 1},
    [RADIX] = {"radix", UINT32_MAX, 0},        [LEVELS] = {"levels", UINT32_MAX, NEEDED},
    [TAPER] = {"taper", UINT32_MAX, 1},        [SWITCHES] = {"switches", UINT32_MAX, NEEDED},
    [DEGREE] = {"degree", UINT32_MAX, NEEDED}, [SEED] = {"seed", UINT64_MAX - 1, NEEDED},
};
#define NUMBER_COUNT (sizeof numbers / sizeof *numbers)

static int make_leaf_spine(const uint64_t *v, struct fab_builder **ret)
{
    struct fab_leaf_spine_spec spec = {.leaves = (uint32_t)v[LEAVES],
                                       .spines = (uint32_t)v[SPINES],
                                       .hosts_per_leaf = (uint32_t)v[HOSTS],
                                       .parallel = (uint32_t)v[PARALLEL],
                                       .radix = (uint32_t)v[RADIX]};
    return fab_generate_leaf_spine(&spec, ret);
}

static int make_fat_tree(const uint64_t *v, struct fab_builder **ret)
{
    struct fab_fat_tree_spec spec = {
        .radix = (uint32_t)v[RADIX], .levels = (uint32_t)v[LEVELS], .taper = (uint32_t)v[TAPER]};
    return fab_generate_fat_tree(&spec, ret);
}

static int make_random(const uint64_t *v, struct fab_builder **ret)
{
    struct fab_random_spec spec = {.switches = (uint32_t)v[SWITCHES],
                                   .degree = (uint32_t)v[DEGREE],
                                   .hosts_per_switch = (uint32_t)v[HOSTS],
                                   .seed = v[SEED]};
    return fab_generate_random(&spec, ret);
}

static const struct kind {
    const char *name;
    unsigned options; /* bits of enum number */
    int (*make)(const uint64_t *values, struct fab_builder **ret);
    const char *limits;
} kinds[] = {
    {"leaf-spine", 1u << LEAVES | 1u << SPINES | 1u << HOSTS | 1u << PARALLEL | 1u << RADIX,
     make_leaf_spine,
     "each switch has at most 254 ports (--radix), each leaf a spine, --parallel is 1 or more"},
    {"fat-tree", 1u << RADIX | 1u << LEVELS | 1u << TAPER, make_fat_tree,
     "--radix is 2 to 254, --levels 1 to 6, --taper less than the radix, and all nodes at most "
     "1,048,576"},
    {"random", 1u << SWITCHES | 1u << DEGREE | 1u << HOSTS | 1u << SEED, make_random,
     "--switches is 1 or more, each switch has at most 254 ports, and there are at most about a "
     "million cables"},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- arguments --------------------------------------------------------------------------------
 */

struct arguments {
    const char *out;
    uint64_t values[NUMBER_COUNT];
};

static bool parse_number(enum number n, const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL ||
        value > numbers[n].max) {
        fprintf(stderr, "fabsim: --%s is \"%s\", it can be 0 to %llu\n", numbers[n].name, text,
                (unsigned long long)numbers[n].max);
        return false;
    }
    *ret = value;
    return true;
}

/* getopt_long's table for one kind: its numbers, then -o. Value 256 + n stands for number n. */
static void make_options(const struct kind *kind, struct option options[NUMBER_COUNT + 2])
{
    size_t count = 0;
    for (size_t n = 0; n < NUMBER_COUNT; n++)
        if (kind->options & 1u << n)
            options[count++] =
                (struct option){numbers[n].name, required_argument, NULL, 256 + (int)n};
    options[count++] = (struct option){"output", required_argument, NULL, 'o'};
    options[count] = (struct option){0};
}

/* A radix is optional where ports are counted, and needed where they are what is given. */
static bool needed(const struct kind *kind, size_t n)
{
    return (kind->options & 1u << n) != 0 &&
           (numbers[n].value == NEEDED || (n == RADIX && kind->make == make_fat_tree));
}

static bool complete(const struct kind *kind, const bool *given)
{
    for (size_t n = 0; n < NUMBER_COUNT; n++)
        if (needed(kind, n) && !given[n]) {
            fprintf(stderr, "fabsim: generate %s needs --%s\n", kind->name, numbers[n].name);
            return false;
        }
    return true;
}

/* argv[0] is the kind. */
static bool parse(const struct kind *kind, int argc, char **argv, struct arguments *ret)
{
    struct option options[NUMBER_COUNT + 2];
    bool given[NUMBER_COUNT] = {false};
    make_options(kind, options);
    ret->out = "-";
    for (size_t n = 0; n < NUMBER_COUNT; n++)
        ret->values[n] = numbers[n].value;
    for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        if (c == 'o') {
            ret->out = optarg;
        } else if (c >= 256) {
            enum number n = (enum number)(c - 256);
            if (!parse_number(n, optarg, &ret->values[n]))
                return false;
            given[n] = true;
        } else {
            return false; /* getopt_long has said why */
        }
    }
    if (optind < argc)
        fprintf(stderr, "fabsim: what is \"%s\"?\n", argv[optind]);
    return optind == argc && complete(kind, given);
}

/* ---- the command ------------------------------------------------------------------------------
 */

static int write_out(struct fab_builder *b, const char *path)
{
    struct fab_fabric *f = NULL;
    char *text = NULL;
    size_t len = 0;
    int status = fab_builder_seal(b, &f);
    if (status == FAB_OK)
        status = fab_text_write(f, &text, &len);
    int result = CMD_FAILED;
    if (status != FAB_OK)
        fprintf(stderr, "fabsim: %s\n", fab_status_text(status));
    else if (file_write(path, text, len) == 0)
        result = CMD_OK;
    free(text);
    fab_fabric_unref(f);
    return result;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    struct arguments a;
    const struct kind *kind = argc > 1 ? find_kind(argv[1]) : NULL;
    if (argc > 1 && kind == NULL && argv[1][0] != '-')
        fprintf(stderr, "fabsim: there is no kind \"%s\"\n", argv[1]);
    if (kind == NULL || !parse(kind, argc - 1, argv + 1, &a))
        return cmd_usage(cmd);
    struct fab_builder *b = NULL;
    int status = kind->make(a.values, &b);
    if (status != FAB_OK) {
        fprintf(stderr, "fabsim: no such %s can be made: %s\n", kind->name,
                status == FAB_E_RANGE ? kind->limits : fab_status_text(status));
        return CMD_FAILED;
    }
    int result = write_out(b, a.out);
    fab_builder_free(b);
    return result;
}

const struct cmd cmd_generate = {
    .name = "generate",
    .usage = "leaf-spine --leaves N --spines N --hosts N [--parallel K] [--radix R] [-o FILE]\n"
             "fat-tree --radix R --levels L [--taper T] [-o FILE]\n"
             "random --switches N --degree D --hosts H --seed S [-o FILE]",
    .summary = "writes a fabric as ibnetdiscover would print it, and as ibsim and fabricd load it",
    .run = run,
};
