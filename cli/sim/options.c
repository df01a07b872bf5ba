/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of fabsim generate: a table of all options with their arguments, and a parser that
 * uses it. A topology family (fat tree, torus, ...) accepts the options that `needs` and `takes` of
 * its entry in families[] contain, and all options from FIRST_COMMON on. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/generate.h"

enum kind { NUMBER, LIST, FLAG, TEXT, SHARE };

static const struct option_entry {
    /* name: the option. argument: what the help shows as its argument; NULL: the option has
     * none. */
    const char *name, *argument;
    enum kind kind;
    uint64_t value; /* default value */
    const char *text, *help;
} entries[OPTION_COUNT] = {
    [OPT_LEAVES] = {"leaves", "N", NUMBER, 0, NULL,
                    "leaf switches (dragonfly-plus: in each group)"},
    [OPT_SPINES] =
        {"spines", "N", NUMBER, 0, NULL,
         "spine switches (dragonfly-plus: in each group; rail with --cores: of each rail)"},
    [OPT_HOSTS] = {"hosts", "N", NUMBER, 0, NULL, "hosts at each switch or leaf"},
    [OPT_PARALLEL] = {"parallel", "K", NUMBER, 1, NULL, "cables for each link between switches"},
    [OPT_LEVELS] = {"levels", "L", NUMBER, 0, NULL, "levels of switches"},
    [OPT_TAPER] = {"taper", "T", NUMBER, 1, NULL, "hosts for each uplink of a leaf"},
    [OPT_M] = {"m", "M1,M2,..", LIST, 0, NULL, "children of a switch, level by level"},
    [OPT_W] = {"w", "W1,W2,..", LIST, 0, NULL, "parents of a node, from the hosts' level up"},
    [OPT_P] = {"p", "P1,P2,..", LIST, 0, NULL, "cables to each parent (1,1,..)"},
    [OPT_SERVERS] = {"servers", "N", NUMBER, 0, NULL, "servers"},
    [OPT_ADAPTERS] = {"adapters", "R", NUMBER, 8, NULL, "adapters of a server: rails"},
    [OPT_GROUP_SIZE] = {"group-size", "N", NUMBER, 0, NULL,
                        "servers (dragonfly: switches) in a group"},
    [OPT_CORES] = {"cores", "N", NUMBER, 0, NULL,
                   "core switches shared by the spines of the same number, one of each rail"},
    [OPT_CORE_PARALLEL] = {"core-parallel", "K", NUMBER, 1, NULL, "cables from a spine to a core"},
    [OPT_GROUPS] = {"groups", "N", NUMBER, 0, NULL, "groups; 0: as many as can be connected"},
    [OPT_GLOBAL] = {"global", "H", NUMBER, 0, NULL, "ports of a switch or spine to other groups"},
    [OPT_SIZE] = {"size", "X,Y,..", LIST, 0, NULL, "switches in each dimension"},
    [OPT_DIMENSIONS] = {"dimensions", "D", NUMBER, 0, NULL, "dimensions"},
    [OPT_SWITCHES] = {"switches", "N", NUMBER, 0, NULL, "switches"},
    [OPT_DEGREE] = {"degree", "D", NUMBER, 0, NULL,
                    "cables of a switch to other switches, approximately"},
    [OPT_RADIX] = {"radix", "R", NUMBER, 0, NULL, "ports of each switch; 0: as many as needed"},
    [OPT_SPEED] = {"speed", "SPEED", TEXT, 0, "EDR", "speed of all links: SDR, DDR, QDR, .. XDR"},
    [OPT_WIDTH] = {"width", "W", NUMBER, 4, NULL, "lanes of all links: 1, 2, 4, 8, 12"},
    [OPT_AGGREGATION] = {"aggregation-nodes", NULL, FLAG, 0, NULL,
                         "an aggregation node at each switch, on an additional port"},
    [OPT_MISSING] = {"missing", "N|P%", SHARE, 0, NULL,
                     "cables between switches to leave out, at random by the seed"},
    [OPT_ALLOW_PARTITIONED] = {"allow-partitioned", NULL, FLAG, 0, NULL,
                               "missing cables may divide the fabric"},
    [OPT_PLANES] = {"planes", "N", NUMBER, 1, NULL,
                    "N similar fabrics, each in a file of its own: FILE-plane1, .. (needs -o)"},
    [OPT_SHUFFLE_GUIDS] = {"shuffle-guids", NULL, FLAG, 0, NULL,
                           "GUIDs in random order, by the seed"},
    [OPT_SEED] = {"seed", "S", NUMBER, 1, NULL, "seed of all random choices"},
};

static bool takes(const struct family *family, unsigned id)
{
    return id >= FIRST_COMMON || ((family->needs | family->takes) >> id & 1) != 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_number(const char *text, char **ret_end, uint64_t *ret)
{
    errno = 0;
    unsigned long long value = strtoull(text, ret_end, 0);
    if (errno != 0 || *ret_end == text || strchr("+- \t", *text) != NULL)
        return false;
    *ret = value;
    return true;
}

static bool parse_list(const char *text, struct value *ret)
{
    uint64_t item;
    char *end;
    for (ret->number = 0; ret->number < LIST_MAX; text = end + 1) {
        if (!parse_number(text, &end, &item) || item >= UINT32_MAX)
            return false;
        ret->list[ret->number++] = (uint32_t)item;
        if (*end == '\0')
            return true;
        if (*end != ',' && *end != 'x')
            return false;
    }
    return false;
}

/* Parses an option whose value is a number ("12") or a share ("1.5%"). Returns false if the text is
 * neither. */
static bool parse_share(const char *text, struct value *ret)
{
    char *end;
    if (strchr(text, '%') == NULL)
        return parse_number(text, &end, &ret->number) && *end == '\0' && ret->number < UINT32_MAX;
    double percent = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
        return false;
    ret->ppm = (uint32_t)(percent * 10000 + 0.5);
    return true;
}

static bool parse_value(enum kind kind, const char *text, struct value *ret)
{
    char *end;
    switch (kind) {
    case NUMBER:
        return parse_number(text, &end, &ret->number) && *end == '\0';
    case LIST:
        return parse_list(text, ret);
    case SHARE:
        return parse_share(text, ret);
    case TEXT:
        ret->text = text;
        return true;
    case FLAG:
        ret->number = 1;
        return true;
    }
    return false;
}

static const char *expected(enum kind kind)
{
    static const char *const names[] = {[NUMBER] = "a number from 0 on",
                                        [LIST] = "1 to 6 numbers separated by commas",
                                        [SHARE] = "a number, or 0% to 100%"};
    return names[kind];
}

/* ---- the command line ------------------------------------------------------------------------ */

#define FIRST_LONG 256

/* Makes the table that getopt_long needs for one family. For the option `id`, getopt_long returns
 * FIRST_LONG + id. */
static void make_table(const struct family *family, struct option table[OPTION_COUNT + 3])
{
    size_t count = 0;
    for (unsigned id = 0; id < OPTION_COUNT; id++)
        if (takes(family, id))
            table[count++] = (struct option){
                entries[id].name, entries[id].argument != NULL ? required_argument : no_argument,
                NULL, FIRST_LONG + (int)id};
    table[count++] = (struct option){"output", required_argument, NULL, 'o'};
    table[count++] = (struct option){"help", no_argument, NULL, 'h'};
    table[count] = (struct option){0};
}

static void defaults(struct value *values)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++)
        values[id] = (struct value){.number = entries[id].value, .text = entries[id].text};
}

static int parse_option(unsigned id, const char *text, struct value *values)
{
    const struct option_entry *e = &entries[id];
    values[id].given = true;
    if (parse_value(e->kind, text, &values[id]))
        return 0;
    fprintf(stderr, "fabsim: --%s: \"%s\" is not %s\n", e->name, text, expected(e->kind));
    return -1;
}

static int complete(const struct family *family, const struct value *values)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++)
        if ((family->needs >> id & 1) != 0 && !values[id].given) {
            fprintf(stderr, "fabsim: generate %s needs --%s\n", family->name, entries[id].name);
            return -1;
        }
    return 0;
}

int options_parse(const struct family *family, int argc, char **argv, struct value *values,
                  const char **ret_out)
{
    struct option table[OPTION_COUNT + 3];
    make_table(family, table);
    defaults(values);
    *ret_out = "-";
    /* getopt prints argv[0] in its error messages */
    argv[0] = (char *)(uintptr_t) "fabsim";
    for (int c; (c = getopt_long(argc, argv, "o:h", table, NULL)) != -1;) {
        if (c == 'h')
            return 1;
        if (c == 'o')
            *ret_out = optarg;
        else if (c < FIRST_LONG || parse_option((unsigned)(c - FIRST_LONG), optarg, values) != 0)
            return -1; /* getopt_long or parse_option has already printed the reason */
    }
    if (optind < argc) {
        fprintf(stderr, "fabsim: unexpected argument \"%s\"\n", argv[optind]);
        return -1;
    }
    return complete(family, values);
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_option(const struct family *family, unsigned id, FILE *file)
{
    const struct option_entry *e = &entries[id];
    char left[40];
    snprintf(left, sizeof left, "--%s %s", e->name, e->argument != NULL ? e->argument : "");
    fprintf(file, "  %-24s %s", left, e->help);
    if ((family->needs >> id & 1) != 0)
        fprintf(file, " (needed)");
    else if (e->text != NULL)
        fprintf(file, " (%s)", e->text);
    else if (e->kind == NUMBER && e->value != 0)
        fprintf(file, " (%" PRIu64 ")", e->value);
    fprintf(file, "\n");
}

void options_print(const struct family *family, FILE *file)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        if (id == FIRST_COMMON)
            fprintf(file, "options of all families:\n");
        if (takes(family, id))
            print_option(family, id, file);
    }
    fprintf(file, "  %-24s %s\n", "-o, --output FILE", "output file (-: standard output)");
}
