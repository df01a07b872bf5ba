/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command fabsim serve FILE. Like ibsim, it simulates a fabric for programs that use
 * libumad2sim.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sim/cmd.h"
#include "cli/sim/place.h"
#include "cli/sim/server.h"
#include "cli/sim/socket.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"
#include "libfabmgr/sim/sim.h"

struct arguments {
    const char *file, *host;
    uint64_t seed;
    double loss;
    struct server_settings settings;
};

/* ---- the fabric ------------------------------------------------------------------------------ */

static int seal(const char *path, const char *text, size_t len, struct fab_fabric **ret)
{
    struct fab_text_error error;
    struct fab_builder *b = NULL;
    int status = fab_fabric_text_read(text, len, &b, &error);
    if (status == FAB_E_FORMAT)
        fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": %s\n", path, error.line, error.column,
                error.message);
    if (status == FAB_OK)
        status = fab_fabric_builder_seal(b, ret);
    if (status != FAB_OK && status != FAB_E_FORMAT)
        fprintf(stderr, "fabsim: %s: %s\n", path, fab_base_status_text(status));
    fab_fabric_builder_free(b);
    return status;
}

static bool begins_node(const char *line)
{
    static const char *const words[] = {"Switch", "Ca", "Hca", "Rt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(line, words[i], len) == 0 && isspace((unsigned char)line[len]))
            return true;
    }
    return false;
}

/* Returns the first node of the topology file. A client that names no node is attached to this
 * node, as in ibsim. */
static uint32_t first_node(const struct fab_sim *sim, const char *text)
{
    char id[PLACE_NAME_MAX];
    struct place place;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *name = begins_node(line) ? strchr(line, '"') : NULL;
        size_t len = name != NULL ? strcspn(name + 1, "\"\n") : 0;
        if (len == 0 || len >= sizeof id)
            continue;
        memcpy(id, name + 1, len);
        id[len] = '\0';
        return place_find(sim, id, &place) == FAB_OK ? place.node : 0;
    }
    return 0;
}

static bool find_host(const struct fab_sim *sim, const char *text, const char *host, uint32_t *ret)
{
    struct place place = {0};
    if (host == NULL) {
        *ret = first_node(sim, text);
        return true;
    }
    if (place_find(sim, host, &place) != FAB_OK) {
        fprintf(stderr, "fabsim: --host: no node \"%s\"\n", host);
        return false;
    }
    *ret = place.node;
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool parse_seed(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL) {
        fprintf(stderr, "fabsim: --seed: \"%s\" is not a number\n", text);
        return false;
    }
    *ret = value;
    return true;
}

static bool parse_loss(const char *text, double *ret)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1)) {
        fprintf(stderr, "fabsim: --loss: \"%s\" is not a number from 0 to 1\n", text);
        return false;
    }
    *ret = value;
    return true;
}

static bool parse_option(int option, struct arguments *a)
{
    switch (option) {
    case 's':
        a->settings.base = optarg;
        return socket_base_check(optarg);
    case 'S':
        return parse_seed(optarg, &a->seed);
    case 'L':
        return parse_loss(optarg, &a->loss);
    case 'H':
        a->host = optarg;
        return true;
    case 'c':
        a->settings.console = true;
        return true;
    case 'v':
        a->settings.verbose = true;
        return true;
    default:
        return false; /* getopt_long has already printed the reason */
    }
}

static bool parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"socket", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'S'},
        {"loss", required_argument, NULL, 'L'},
        {"host", required_argument, NULL, 'H'},
        {"console", no_argument, NULL, 'c'},
        {"verbose", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "s:v", options, NULL)) != -1;)
        if (!parse_option(c, a))
            return false;
    if (optind + 1 != argc)
        return false;
    a->file = a->settings.name = argv[optind];
    return a->settings.base != NULL || socket_base_check(a->settings.base = socket_base());
}

static int serve(struct arguments *a, const char *text, const struct fab_fabric *f)
{
    struct fab_sim *sim = NULL;
    int result = CMD_FAILED, status = fab_sim_new(f, a->seed, &sim);
    if (status != FAB_OK)
        fprintf(stderr, "fabsim: %s: %s\n", a->file, fab_base_status_text(status));
    else if (find_host(sim, text, a->host, &a->settings.first_node)) {
        fab_sim_loss(sim, a->loss);
        result = server_run(sim, &a->settings);
    }
    fab_sim_free(sim);
    return result;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    struct arguments a = {.seed = 1, .settings.console = isatty(STDIN_FILENO)};
    struct fab_fabric *f = NULL;
    char *text = NULL;
    size_t len = 0;
    int result = CMD_FAILED;
    if (!parse(argc, argv, &a))
        return cmd_usage(cmd);
    if (file_read(a.file, &text, &len) == 0 && seal(a.file, text, len, &f) == FAB_OK)
        result = serve(&a, text, f);
    fab_fabric_unref(f);
    free(text);
    return result;
}

const struct cmd cmd_serve = {
    .name = "serve",
    .usage = "FILE [--socket NAME] [--host NODE] [--seed N] [--loss RATE] [--console] [--verbose]",
    .summary = "simulates a fabric for programs under libumad2sim, as ibsim does",
    .run = run,
};
