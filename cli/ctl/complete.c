/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion of the command line, for all shells. Commands, options and their arguments come from
 * the table of commands; names of nodes, ports, hosts and other objects come from the manager, if
 * one answers within a second.
 */
#include "cli/ctl/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/run.h"

#define ASK_TIMEOUT_MS 1000u

struct line {
    struct options *options;
    const char *current;   /* the word to complete */
    const char *words[3];  /* the first `count` words, at most 3, without options */
    int count;             /* number of words without options, which can exceed 3 */
    const struct cmd *cmd; /* NULL: the words do not name a command yet */
};

/* ---- candidates ------------------------------------------------------------------------------ */

static void offer(const struct line *l, const char *candidate, const char *description)
{
    if (strncmp(candidate, l->current, strlen(l->current)) == 0)
        printf("%s\t%s\n", candidate, description);
}

/* Offers the words of a list that is separated by spaces. */
static void offer_words(const struct line *l, const char *words)
{
    char word[64];
    while (*words != '\0') {
        size_t len = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)len, words);
        offer(l, word, "");
        words += len + strspn(words + len, " ");
    }
}

/* Offers the names that a list command prints, each with `end` after it. argument: the argument
 * with which the list command is called; NULL: it is called without one. */
static void offer_names(const struct line *l, const struct cmd *list, const char *argument,
                        const char *end)
{
    struct session s = {.cmd = list, .connection = &l->options->client, .severity = 2};
    struct fab_client_error error;
    char *text = NULL, *words[] = {(char *)(uintptr_t)argument, NULL};
    size_t len = 0;
    if (argument != NULL) {
        s.argv = words;
        s.argc = 1;
    }
    FILE *to = open_memstream(&text, &len);
    if (to == NULL)
        return;
    s.out = out_new(OUT_NAME, to, false);
    if (s.out != NULL) {
        out_is_list(s.out);
        if (list->method == NULL ||
            (choose_manager(l->options) == EXIT_OK &&
             fab_client_open(&l->options->client, &s.client, &error) == FAB_GRPC_OK))
            list->run(&s);
        fab_client_close(s.client);
        out_close(s.out);
    }
    fclose(to);
    for (char *name = text; name != NULL && *name != '\0';) {
        char candidate[256];
        size_t n = strcspn(name, "\n");
        snprintf(candidate, sizeof candidate, "%.*s%s", (int)n, name, end);
        offer(l, candidate, "");
        name += n + (name[n] == '\n');
    }
    free(text);
}

/* Offers the names of nodes, each followed by a slash. If the word to complete already has a slash,
 * offers instead the ports of the node before the slash. */
static void offer_ports(const struct line *l)
{
    const char *slash = strrchr(l->current, '/');
    if (slash == NULL) {
        offer_names(l, &cmd_node_list, NULL, "/");
        puts(":nospace");
        return;
    }
    char node[256];
    snprintf(node, sizeof node, "%.*s", (int)(slash - l->current), l->current);
    offer_names(l, &cmd_port_list, node, "");
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const struct {
    const char *argument; /* name of the argument in the usage text of a command */
    const struct cmd *list;
} name_lists[] = {
    {"NODE", &cmd_node_list},           {"SWITCH", &cmd_node_list}, {"SOURCE", &cmd_node_list},
    {"DESTINATION", &cmd_node_list},    {"HOST", &cmd_host_list},   {"RACK", &cmd_rack_list},
    {"PARTITION", &cmd_partition_list}, {"CLASS", &cmd_class_list}, {"GROUP", &cmd_multicast_list},
    {"VERSION", &cmd_policy_history},   {"A", &cmd_topo_list},      {"B", &cmd_topo_list},
    {"CONTEXT", &cmd_context_list},
};

static const char engines[] =
    "fattree updn nue minhop sssp dfsssp dor torus dragonfly dragonfly+ file";

static void offer_argument(const struct line *l, const char *argument)
{
    if (strstr(argument, "/PORT") != NULL)
        offer_ports(l);
    else if (strcmp(argument, "ENGINE") == 0)
        offer_words(l, engines);
    else if (strcmp(argument, "PART") == 0)
        offer_words(l, "settings metrics database process");
    else if (strcmp(argument, "FILE") == 0 || strcmp(argument, "PLAN") == 0 ||
             strcmp(argument, "DIR") == 0)
        puts(":files");
    for (size_t i = 0; i < sizeof name_lists / sizeof name_lists[0]; i++)
        if (strcmp(argument, name_lists[i].argument) == 0)
            offer_names(l, name_lists[i].list, NULL, "");
}

static void offer_nouns(const struct line *l);
static void offer_verbs(const struct line *l, const char *noun);

/* Offers values for the word to complete, which is an argument of the command. */
static void offer_arguments(const struct line *l)
{
    const char *usage = l->cmd->args != NULL ? l->cmd->args : "";
    int index = l->count - (l->cmd->verb != NULL ? 2 : 1);
    if (strcmp(usage, "[COMMAND]") == 0) {
        if (index == 0)
            offer_nouns(l);
        else if (index == 1)
            offer_verbs(l, l->words[1]);
        return;
    }
    char word[40];
    bool repeated = false;
    for (int i = 0; next_argument(&usage, word, &repeated); i++) {
        if (i < index && !repeated)
            continue;
        if (strchr(word, '|') == NULL) {
            offer_argument(l, word);
            return;
        }
        for (char *c = word; *c != '\0'; c++)
            if (*c == '|')
                *c = ' ';
        offer_words(l, word);
        return;
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static void offer_option(void *ctx, const char *name)
{
    const struct line *l = ctx;
    offer(l, strcmp(name, "-n") == 0 ? "--count" : name, "");
}

static void offer_options(const struct line *l)
{
    static const char common[] =
        "--server --context --all-contexts --output --no-headers --timeout "
        "--tls-ca --tls-cert --tls-key --tls-name --help";
    offer_words(l, common);
    if (l->cmd != NULL)
        each_option(l->cmd, offer_option, (void *)(uintptr_t)l);
}

/* Offers the values of an option. `name` is its long name without dashes. */
static void offer_values(const struct line *l, const char *name)
{
    static const struct {
        const char *option, *values;
    } values[] = {
        {"output", "text wide json yaml csv name svg"},
        {"severity", "debug info warning error"},
        {"state", "Active Armed Init Down"},
        {"rate", "SDR DDR QDR FDR10 FDR EDR HDR NDR XDR"},
        {"speed", "SDR DDR QDR FDR10 FDR EDR HDR NDR XDR"},
        {"width", "1x 2x 4x 8x 12x"},
        {"engine", engines},
        {"counter", "sent received packets-sent packets-received wait errors down "
                    "SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors"},
        {"server", "unix: tls:"},
    };
    static const char files[] = " tls-ca tls-cert tls-key job file map passphrase-file dir "
                                "state-dir ";
    char padded[48];
    snprintf(padded, sizeof padded, " %s ", name);
    if (strstr(files, padded) != NULL)
        puts(":files");
    else if (strcmp(name, "rack") == 0)
        offer_names(l, &cmd_rack_list, NULL, "");
    else if (strcmp(name, "context") == 0)
        offer_names(l, &cmd_context_list, NULL, "");
    else if (strcmp(name, "fail") == 0)
        offer_ports(l);
    else if (strcmp(name, "to") == 0)
        offer_names(l, &cmd_node_list, NULL, "");
    else if (strcmp(name, "by") == 0 && (l->cmd == &cmd_port_top || l->cmd == &cmd_top))
        offer_words(l, "data packets wait errors");
    else if (strcmp(name, "format") == 0 && l->cmd != NULL && l->cmd->formats != NULL)
        offer_words(l, l->cmd->formats);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(name, values[i].option) == 0)
            offer_words(l, values[i].values);
}

/* ---- the line -------------------------------------------------------------------------------- */

static void offer_nouns(const struct line *l)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *noun = commands[i]->noun;
        size_t first = 0;
        while (strcmp(commands[first]->noun, noun) != 0)
            first++;
        if (first == i)
            offer(l, noun, commands[i]->verb == NULL ? commands[i]->summary : "");
    }
}

static void offer_verbs(const struct line *l, const char *noun)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->noun, noun) == 0 && commands[i]->verb != NULL)
            offer(l, commands[i]->verb, commands[i]->summary);
}

/* Reads the words before the word to complete: finds the command, its words and the address of the
 * manager. If the word to complete is the value of an option, returns the name of this option;
 * otherwise NULL. */
static const char *read_line(struct line *l, int argc, char **argv)
{
    const char *option = NULL;
    for (int i = 0; i < argc - 1; i++) {
        const char *name = option_of(argv[i]);
        if (argv[i][0] != '-') {
            if (l->count < 3)
                l->words[l->count] = argv[i];
            l->count++;
        } else if (name != NULL && i == argc - 2) {
            option = name;
        } else if (name != NULL) {
            set_connection(l->options, name, argv[++i]);
        }
    }
    l->cmd = l->count > 0 ? find_command(l->count, (char **)(uintptr_t)l->words) : NULL;
    return option;
}

void complete(struct options *o, int argc, char **argv)
{
    struct line l = {.options = o, .current = argc > 0 ? argv[argc - 1] : ""};
    const char *option = read_line(&l, argc, argv);
    o->client.timeout_ms = ASK_TIMEOUT_MS;
    if (option != NULL)
        offer_values(&l, option);
    else if (l.current[0] == '-')
        offer_options(&l);
    else if (l.count == 0)
        offer_nouns(&l);
    else if (l.count == 1)
        offer_verbs(&l, l.words[0]);
    if (option == NULL && l.current[0] != '-' && l.cmd != NULL)
        offer_arguments(&l);
}
