/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program of fabricctl. It parses the command line, finds the command in the table,
 * connects to the manager, and runs the command.
 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "fabric/v1/access.pb-c.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"

#define DEFAULT_SERVER "unix:/run/fabricd/fabricd.sock"
#define TIMEOUT_MS 10000
#define TIMEOUT_SLOW_MS 600000

/* All commands, in the order in which the help shows them. The first match counts. So a command
 * without a verb comes after the commands with the same noun and a verb. */
static const struct cmd *const cmds[] = {
    &cmd_status,
    &cmd_version,
    &cmd_whoami,
    &cmd_node_list,
    &cmd_node_show,
    &cmd_node_pins,
    &cmd_node_approve,
    &cmd_node_forget,
    &cmd_host_list,
    &cmd_host_show,
    &cmd_rack_list,
    &cmd_port_list,
    &cmd_port_show,
    &cmd_port_counters,
    &cmd_port_top,
    &cmd_port_history,
    &cmd_port_disable,
    &cmd_port_enable,
    &cmd_link_list,
    &cmd_link_flapping,
    &cmd_link_unhealthy,
    &cmd_link_history,
    &cmd_link_isolate,
    &cmd_link_release,
    &cmd_ha_status,
    &cmd_ha_handover,
    &cmd_ha_priority,
    &cmd_key_show,
    &cmd_key_rotate,
    &cmd_class_list,
    &cmd_class_show,
    &cmd_partition_list,
    &cmd_partition_show,
    &cmd_multicast_list,
    &cmd_multicast_show,
    &cmd_service_list,
    &cmd_subscription_list,
    &cmd_cc_status,
    &cmd_cc_show,
    &cmd_cc_congested,
    &cmd_cc_log,
    &cmd_cc_export,
    &cmd_path,
    &cmd_route_show,
    &cmd_route_verify,
    &cmd_route_explain,
    &cmd_route_quality,
    &cmd_route_compare,
    &cmd_route_whatif,
    &cmd_route_contingency,
    &cmd_route_rebalance,
    &cmd_route_export,
    &cmd_route_certify,
    &cmd_reroute_list,
    &cmd_reroute_show,
    &cmd_reroute,
    &cmd_sweep,
    &cmd_topo_check,
    &cmd_topo_infer,
    &cmd_topo_isolate,
    &cmd_topo_export,
    &cmd_topo_baseline,
    &cmd_topo_approve,
    &cmd_topo_disapprove,
    &cmd_topo_snapshot,
    &cmd_topo_list,
    &cmd_topo_diff,
    &cmd_event_list,
    &cmd_event_watch,
    &cmd_history,
    &cmd_audit_list,
    &cmd_audit_export,
    &cmd_audit_verify,
    &cmd_backup,
    &cmd_restore,
    &cmd_diagnostics,
    &cmd_support_bundle,
    &cmd_cert_init,
    &cmd_cert_issue,
    &cmd_cert_list,
    &cmd_cert_renew,
    &cmd_cert_revoke,
    &cmd_sim_unlink,
    &cmd_sim_relink,
    &cmd_sim_degrade,
};
#define HELP_COLUMN 38
#define USAGE_LEN 160
#define CMD_COUNT (sizeof cmds / sizeof cmds[0])

struct options {
    struct fab_client_options client;
    enum out_format format;
    bool timeout_given, help, version;
    /* argument of -o: an output format or, if the command writes a file, the file */
    const char *output;
    /* letters of those options in own_options that the user gave */
    char given[16];
    struct session session;
};

/* ---- help ------------------------------------------------------------------------------------ */

/* Writes the usage of a command, such as "port show NODE/PORT". */
static void usage_of(const struct cmd *c, char line[USAGE_LEN])
{
    snprintf(line, USAGE_LEN, "%s%s%s%s%s", c->noun, c->verb != NULL ? " " : "",
             c->verb != NULL ? c->verb : "", c->args != NULL ? " " : "",
             c->args != NULL ? c->args : "");
}

static void print_command(const struct cmd *c)
{
    char line[USAGE_LEN];
    usage_of(c, line);
    unsigned role = c->method != NULL ? role_of(c->method) : 0;
    const char *name = role > FABRIC__V1__ROLE__ROLE_VIEWER ? role_name(role) : "";
    const char *open = name[0] != '\0' ? " [" : "", *close = name[0] != '\0' ? "]" : "";
    if (strlen(line) > HELP_COLUMN)
        printf("  %s\n  %-*s  %s%s%s%s\n", line, HELP_COLUMN, "", c->summary, open, name, close);
    else
        printf("  %-*s  %s%s%s%s\n", HELP_COLUMN, line, c->summary, open, name, close);
}

/* Prints the usage of all commands that begin with the words in argv. Returns false if there is no
 * such command. */
static bool print_some(int argc, char **argv)
{
    bool any = false;
    for (size_t i = 0; i < CMD_COUNT && argc > 0; i++) {
        const char *verb = cmds[i]->verb;
        if (strcmp(cmds[i]->noun, argv[0]) != 0 ||
            (argc > 1 && verb != NULL && strcmp(verb, argv[1]) != 0))
            continue;
        print_command(cmds[i]);
        any = true;
    }
    if (any)
        puts("'fabricctl -h' lists all commands and options.");
    return any;
}

static void print_help(int argc, char **argv)
{
    if (print_some(argc, argv))
        return;
    puts("usage: fabricctl [OPTION]... COMMAND [ARGUMENT]...\n\n"
         "Commands, and in brackets the role that they need, if it is not viewer:");
    for (size_t i = 0; i < CMD_COUNT; i++)
        print_command(cmds[i]);
    puts("\nOptions:\n"
         "  -s, --server ADDRESS   unix:PATH or tls:HOST:PORT (default " DEFAULT_SERVER ",\n"
         "                         or FABRICCTL_SERVER in the environment)\n"
         "  -o, --output FORMAT    text or json\n"
         "      --timeout SECONDS  how long to wait for an answer (10; 600 for slow commands);\n"
         "                         0: no limit\n"
         "      --tls-ca FILE, --tls-cert FILE, --tls-key FILE, --tls-name NAME\n"
         "                         for tls: addresses\n"
         "  -n, --count N          how many events, reroutes, contingencies, congested ports or\n"
         "                         updates of topo check --watch\n"
         "      --after SEQ        only events after this sequence number\n"
         "      --severity WORD    only events of at least this severity (info)\n"
         "      --hosts A,B[1-8]   hosts of a job, in the order of its ranks\n"
         "      --job FILE         the same from a file with one host a line\n"
         "      --samples N        number of random permutations and bisections (1000)\n"
         "      --seed N           seed of the random permutations and bisections (0)\n"
         "      --engine NAME      the routing engine to use, or several, separated by commas\n"
         "      --fail WHAT        NODE/PORT: a link; NODE: all its links; may be repeated\n"
         "      --waiting          only nodes that wait for an approval\n"
         "      --all              all nodes that wait; with topo disapprove, the whole baseline\n"
         "      --dry-run          only print what would be approved, isolated or forgotten\n"
         "      --forget           drop the pin of a node's name, or a snapshot\n"
         "      --cc               the CC_Key of congestion control instead of the M_Key\n"
         "      --give-up-absent   give up absent ports that may have the previous key\n"
         "      --explain          also show the reason of each value\n"
         "      --sl N             show the values of this service level (0)\n"
         "      --roce             export settings for RoCE on Ethernet\n"
         "      --format FORMAT    format of an export; with topo and route export and\n"
         "                         route certify, -o FILE is the file to write\n"
         "      --reason TEXT      why; for the audit log\n"
         "      --since TIME, --until TIME\n"
         "                         only records and events of this time or later, or before\n"
         "                         it: 2h, 7d, yesterday, 2026-11-23, 2026-11-23T21:00:00 or,\n"
         "                         in UTC, 2026-11-23T21:00:00Z\n"
         "      --subject WHAT     only events about this node or NODE/PORT, also if it is gone,\n"
         "                         or about such subjects; * is any text\n"
         "      --type TYPES       only events of these types, such as link-*,node-removed\n"
         "      --by WHO, --object WHAT, --method NAME, --result CODE\n"
         "                         only such records of the audit log; * is any text\n"
         "      --by WHAT          rank ports by data, packets, wait or errors (data)\n"
         "      --counter COUNTER  only this value of a port's history, such as sent, wait,\n"
         "                         errors or SymbolErrorCounter\n"
         "      --dir DIR          directory of the certificate authority (fabricd-ca)\n"
         "      --days N           how long a new certificate is valid (365; an authority 3650;\n"
         "                         renewed: as long as the former one)\n"
         "      --degraded         only degraded links\n"
         "      --gone             nodes or links that were there, and are not any more\n"
         "      --rack RACK        only hosts, nodes or links in this rack\n"
         "      --older-than AGE   all that has been gone for longer than this, such as 30d\n"
         "      --watch            show the progress every 5 seconds, until all is as planned\n"
         "      --width WIDTH, --speed SPEED\n"
         "                         limits of a simulated link: 1x to 12x, SDR to XDR\n"
         "      --passphrase-file FILE\n"
         "                         the passphrase of a backup is the first line of FILE, or of\n"
         "                         standard input (-); without it, the terminal asks\n"
         "      --state-dir DIR    where a backup is restored (/var/lib/fabricd)\n"
         "      --replace          put former files of the state directory aside\n"
         "      --verify           only check the backup, and show what it has\n"
         "      --anonymize        pseudonyms instead of names, GUIDs and addresses\n"
         "      --map FILE         write the table of the pseudonyms to FILE\n"
         "      --to MANAGER       the manager that becomes master: name of its node, or GUID\n"
         "  -h, --help             this text\n"
         "  -V, --version          the version of fabricctl\n"
         "\nExit status: 0 success, 1 failure, 2 usage error, 3 no manager answers, 4 not found,\n"
         "5 routes are not sound (route verify, quality, compare, whatif; path), or the\n"
         "fabric is not cabled as planned (topo check).");
}

/* ---- the command line ------------------------------------------------------------------------ */

enum {
    OPT_TIMEOUT = 256,
    OPT_CA,
    OPT_CERT,
    OPT_KEY,
    OPT_NAME,
    /* for a long option in own_options, such as --after, getopt_long returns OPT_OWN + its letter
     */
    OPT_OWN,
};

/* Options that only some commands take. struct cmd.options has the letters of the options that a
 * command takes. */
static const struct {
    char letter;
    const char *name;
} own_options[] = {
    {'n', "-n"},           {'a', "--after"},   {'s', "--severity"},
    {'f', "--format"},     {'E', "--explain"}, {'R', "--roce"},
    {'S', "--sl"},         {'h', "--hosts"},   {'j', "--job"},
    {'m', "--samples"},    {'d', "--seed"},    {'e', "--engine"},
    {'x', "--fail"},       {'w', "--waiting"}, {'D', "--dry-run"},
    {'A', "--all"},        {'F', "--forget"},  {'G', "--give-up-absent"},
    {'C', "--cc"},         {'r', "--reason"},  {'i', "--since"},
    {'u', "--until"},      {'b', "--by"},      {'c', "--counter"},
    {'o', "--object"},     {'M', "--method"},  {'t', "--result"},
    {'y', "--dir"},        {'Y', "--days"},    {'p', "--passphrase-file"},
    {'T', "--state-dir"},  {'L', "--replace"}, {'v', "--verify"},
    {'z', "--anonymize"},  {'q', "--map"},     {'g', "--degraded"},
    {'J', "--subject"},    {'K', "--type"},    {'B', "--gone"},
    {'O', "--older-than"}, {'X', "--rack"},    {'k', "--watch"},
    {'W', "--width"},      {'P', "--speed"},   {'H', "--to"},
};

static const struct option long_options[] = {
    {"server", required_argument, NULL, 's'},
    {"output", required_argument, NULL, 'o'},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"tls-ca", required_argument, NULL, OPT_CA},
    {"tls-cert", required_argument, NULL, OPT_CERT},
    {"tls-key", required_argument, NULL, OPT_KEY},
    {"tls-name", required_argument, NULL, OPT_NAME},
    {"count", required_argument, NULL, 'n'},
    {"after", required_argument, NULL, OPT_OWN + 'a'},
    {"severity", required_argument, NULL, OPT_OWN + 's'},
    {"format", required_argument, NULL, OPT_OWN + 'f'},
    {"hosts", required_argument, NULL, OPT_OWN + 'h'},
    {"job", required_argument, NULL, OPT_OWN + 'j'},
    {"samples", required_argument, NULL, OPT_OWN + 'm'},
    {"seed", required_argument, NULL, OPT_OWN + 'd'},
    {"engine", required_argument, NULL, OPT_OWN + 'e'},
    {"fail", required_argument, NULL, OPT_OWN + 'x'},
    {"give-up-absent", no_argument, NULL, OPT_OWN + 'G'},
    {"cc", no_argument, NULL, OPT_OWN + 'C'},
    {"explain", no_argument, NULL, OPT_OWN + 'E'},
    {"waiting", no_argument, NULL, OPT_OWN + 'w'},
    {"dry-run", no_argument, NULL, OPT_OWN + 'D'},
    {"all", no_argument, NULL, OPT_OWN + 'A'},
    {"forget", no_argument, NULL, OPT_OWN + 'F'},
    {"sl", required_argument, NULL, OPT_OWN + 'S'},
    {"roce", no_argument, NULL, OPT_OWN + 'R'},
    {"reason", required_argument, NULL, OPT_OWN + 'r'},
    {"since", required_argument, NULL, OPT_OWN + 'i'},
    {"until", required_argument, NULL, OPT_OWN + 'u'},
    {"by", required_argument, NULL, OPT_OWN + 'b'},
    {"counter", required_argument, NULL, OPT_OWN + 'c'},
    {"object", required_argument, NULL, OPT_OWN + 'o'},
    {"method", required_argument, NULL, OPT_OWN + 'M'},
    {"result", required_argument, NULL, OPT_OWN + 't'},
    {"dir", required_argument, NULL, OPT_OWN + 'y'},
    {"days", required_argument, NULL, OPT_OWN + 'Y'},
    {"degraded", no_argument, NULL, OPT_OWN + 'g'},
    {"subject", required_argument, NULL, OPT_OWN + 'J'},
    {"type", required_argument, NULL, OPT_OWN + 'K'},
    {"gone", no_argument, NULL, OPT_OWN + 'B'},
    {"older-than", required_argument, NULL, OPT_OWN + 'O'},
    {"rack", required_argument, NULL, OPT_OWN + 'X'},
    {"watch", no_argument, NULL, OPT_OWN + 'k'},
    {"width", required_argument, NULL, OPT_OWN + 'W'},
    {"speed", required_argument, NULL, OPT_OWN + 'P'},
    {"passphrase-file", required_argument, NULL, OPT_OWN + 'p'},
    {"state-dir", required_argument, NULL, OPT_OWN + 'T'},
    {"replace", no_argument, NULL, OPT_OWN + 'L'},
    {"verify", no_argument, NULL, OPT_OWN + 'v'},
    {"anonymize", no_argument, NULL, OPT_OWN + 'z'},
    {"map", required_argument, NULL, OPT_OWN + 'q'},
    {"to", required_argument, NULL, OPT_OWN + 'H'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *ret)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n > max)
        return complain(EXIT_USAGE, "%s \"%s\": a number from 0 to %llu is expected", option, text,
                        (unsigned long long)max);
    *ret = n;
    return EXIT_OK;
}

static int parse_timeout(struct options *o, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 86400))
        return complain(EXIT_USAGE, "--timeout \"%s\": seconds from 0 to 86400 are expected", text);
    o->client.timeout_ms = (unsigned)(seconds * 1000);
    if (seconds > 0 && o->client.timeout_ms == 0)
        o->client.timeout_ms = 1;
    o->timeout_given = true;
    return EXIT_OK;
}

static int parse_format(struct options *o, const char *text)
{
    if (strcmp(text, "json") == 0)
        o->format = OUT_JSON;
    else if (strcmp(text, "text") == 0)
        o->format = OUT_TEXT;
    else
        return complain(EXIT_USAGE, "-o \"%s\": text or json is expected", text);
    return EXIT_OK;
}

static int parse_severity(struct options *o, const char *text)
{
    static const char *const words[] = {"debug", "info", "warning", "error"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i], text) == 0) {
            o->session.severity = (int)i + 1;
            return EXIT_OK;
        }
    }
    return complain(EXIT_USAGE, "--severity \"%s\": debug, info, warning or error is expected",
                    text);
}

static int add_failure(struct session *s, const char *text)
{
    char **fails = reallocarray(s->fails, s->fail_count + 1, sizeof *fails);
    if (fails == NULL)
        return complain(EXIT_FAILED, "out of memory");
    s->fails = fails;
    s->fails[s->fail_count++] = (char *)(uintptr_t)text;
    return EXIT_OK;
}

static int parse_word(struct session *s, char letter, const char *text)
{
    const char **to = letter == 'h'   ? &s->hosts
                      : letter == 'j' ? &s->job
                      : letter == 'e' ? &s->engine
                      : letter == 'i' ? &s->since
                      : letter == 'u' ? &s->until
                      : letter == 'b' ? &s->by
                      : letter == 'c' ? &s->counter
                      : letter == 'o' ? &s->object
                      : letter == 'M' ? &s->method
                      : letter == 't' ? &s->result
                      : letter == 'y' ? &s->dir
                      : letter == 'J' ? &s->subject
                      : letter == 'K' ? &s->type
                      : letter == 'O' ? &s->older_than
                      : letter == 'X' ? &s->rack
                      : letter == 'W' ? &s->width
                      : letter == 'P' ? &s->speed
                      : letter == 'p' ? &s->passphrase_file
                      : letter == 'T' ? &s->state_dir
                      : letter == 'q' ? &s->map
                      : letter == 'H' ? &s->to
                                      : &s->format;
    *to = text;
    return EXIT_OK;
}

static int parse_own(struct options *o, char letter, const char *text)
{
    struct session *s = &o->session;
    uint64_t n = 0;
    int rc = EXIT_OK;
    size_t given = strlen(o->given);
    if (strchr(o->given, letter) == NULL && given + 1 < sizeof o->given)
        o->given[given] = letter;
    switch (letter) {
    case 'n':
        rc = parse_number("-n", text, 10000000, &n);
        s->count = (uint32_t)n;
        return rc;
    case 'a':
        return parse_number("--after", text, INT64_MAX, &s->after);
    case 's':
        return parse_severity(o, text);
    case 'm':
        rc = parse_number("--samples", text, 100000, &n);
        s->samples = (uint32_t)n;
        return rc;
    case 'd':
        return parse_number("--seed", text, UINT64_MAX, &s->seed);
    case 'x':
        return add_failure(s, text);
    case 'S':
        rc = parse_number("--sl", text, 15, &n);
        s->sl = (uint32_t)n;
        return rc;
    case 'Y':
        rc = parse_number("--days", text, 36500, &n);
        s->days = (uint32_t)n;
        if (rc == EXIT_OK && n == 0)
            rc = complain(EXIT_USAGE, "--days \"0\": a number from 1 to 36500 is expected");
        return rc;
    case 'r':
        o->client.reason = text;
        return EXIT_OK;
    case 'C':
        s->cc = true;
        return EXIT_OK;
    case 'G':
        s->give_up_absent = true;
        return EXIT_OK;
    case 'E':
        s->explain = true;
        return EXIT_OK;
    case 'R':
        s->roce = true;
        return EXIT_OK;
    case 'w':
        s->waiting = true;
        return EXIT_OK;
    case 'A':
        s->all = true;
        return EXIT_OK;
    case 'D':
        s->dry_run = true;
        return EXIT_OK;
    case 'F':
        s->forget = true;
        return EXIT_OK;
    case 'g':
        s->degraded = true;
        return EXIT_OK;
    case 'B':
        s->gone = true;
        return EXIT_OK;
    case 'k':
        s->watch = true;
        return EXIT_OK;
    case 'L':
        s->replace = true;
        return EXIT_OK;
    case 'v':
        s->verify = true;
        return EXIT_OK;
    case 'z':
        s->anonymize = true;
        return EXIT_OK;
    default:
        return parse_word(s, letter, text);
    }
}

static int parse_option(struct options *o, int option, const char *text)
{
    switch (option) {
    case 's':
        o->client.address = text;
        return EXIT_OK;
    case 'o':
        o->output = text;
        return EXIT_OK;
    case OPT_TIMEOUT:
        return parse_timeout(o, text);
    case OPT_CA:
        o->client.ca = text;
        return EXIT_OK;
    case OPT_CERT:
        o->client.cert = text;
        return EXIT_OK;
    case OPT_KEY:
        o->client.key = text;
        return EXIT_OK;
    case OPT_NAME:
        o->client.server_name = text;
        return EXIT_OK;
    case 'n':
        return parse_own(o, 'n', text);
    case 'h':
        o->help = true;
        return EXIT_OK;
    case 'V':
        o->version = true;
        return EXIT_OK;
    default:
        if (option > OPT_OWN)
            return parse_own(o, (char)(option - OPT_OWN), text);
        return EXIT_USAGE; /* getopt has already printed the error */
    }
}

static int parse_options(struct options *o, int argc, char **argv)
{
    int option, rc = EXIT_OK;
    while (rc == EXIT_OK &&
           (option = getopt_long(argc, argv, "s:o:n:hV", long_options, NULL)) != -1)
        rc = parse_option(o, option, optarg);
    return rc;
}

static const struct cmd *find_cmd(int argc, char **argv)
{
    for (size_t i = 0; i < CMD_COUNT; i++) {
        const struct cmd *c = cmds[i];
        if (argc < 1 || strcmp(c->noun, argv[0]) != 0)
            continue;
        if (c->verb == NULL || (argc > 1 && strcmp(c->verb, argv[1]) == 0))
            return c;
    }
    return NULL;
}

/* Prints an error that lists the verbs of the noun, such as "list, show". Returns the exit code. */
static int complain_verbs(const char *noun, const char *verb)
{
    char verbs[120] = "";
    for (size_t i = 0; i < CMD_COUNT; i++) {
        size_t n = strlen(verbs);
        if (strcmp(cmds[i]->noun, noun) == 0 && cmds[i]->verb != NULL)
            snprintf(verbs + n, sizeof verbs - n, "%s%s", n > 0 ? ", " : "", cmds[i]->verb);
    }
    if (verbs[0] == '\0')
        return complain(EXIT_USAGE, "no command \"%s\"; 'fabricctl -h' lists all commands", noun);
    return complain(EXIT_USAGE, "no command \"%s%s%s\"; after %s, %s%s is expected", noun,
                    *verb ? " " : "", verb, noun, strchr(verbs, ',') != NULL ? "one of " : "",
                    verbs);
}

static int check_arguments(const struct cmd *c, const struct options *o)
{
    const char *own = c->options != NULL ? c->options : "";
    const char *verb = c->verb != NULL ? c->verb : "";
    char usage[USAGE_LEN];
    usage_of(c, usage);
    if (o->session.argc < c->min_args || o->session.argc > c->max_args)
        return complain(EXIT_USAGE, "usage: fabricctl %s", usage);
    for (size_t i = 0; i < sizeof own_options / sizeof own_options[0]; i++)
        if (strchr(o->given, own_options[i].letter) && !strchr(own, own_options[i].letter))
            return complain(EXIT_USAGE, "%s%s%s has no option %s", c->noun, *verb ? " " : "", verb,
                            own_options[i].name);
    return EXIT_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no != NULL && no[0] != '\0')
        return false;
    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

/* Returns true if standard output is a pipe whose reader (such as head) has ended, which is no
 * failure of the command. Other failures to write, such as a full disk, are errors. */
static bool reader_left(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
}

static int connect_to_manager(const struct cmd *c, struct options *o)
{
    struct fab_client_error error;
    if (!o->timeout_given)
        o->client.timeout_ms = c->slow ? TIMEOUT_SLOW_MS : TIMEOUT_MS;
    enum fab_grpc_code code = fab_client_open(&o->client, &o->session.client, &error);
    if (code == FAB_GRPC_OK)
        return EXIT_OK;
    int rc = say_error(&error);
    return code == FAB_GRPC_INVALID_ARGUMENT ? EXIT_USAGE : rc;
}

static int run(const struct cmd *c, struct options *o)
{
    int rc = c->method != NULL ? connect_to_manager(c, o) : EXIT_OK;
    if (rc != EXIT_OK)
        return rc;
    rc = EXIT_FAILED;
    o->session.out_format = o->format;
    o->session.out = out_new(o->format, stdout, wants_colour());
    if (o->session.out != NULL) {
        rc = c->run(&o->session);
        int written = out_close(o->session.out);
        if (written == FAB_E_NOMEM && rc == EXIT_OK)
            rc = complain(EXIT_FAILED, "out of memory");
        if (written == FAB_E_IO && rc == EXIT_OK && !reader_left())
            rc = complain(EXIT_FAILED, "the output could not be written");
    }
    fab_client_close(o->session.client);
    return rc;
}

static int obey(struct options *o, int argc, char **argv)
{
    int rc = parse_options(o, argc, argv);
    if (rc != EXIT_OK)
        return rc;
    if (o->version) {
        printf("fabricctl %s\n", fab_base_version());
        return EXIT_OK;
    }
    argc -= optind;
    argv += optind;
    if (o->help) {
        print_help(argc, argv);
        return EXIT_OK;
    }
    if (argc == 0)
        return complain(EXIT_USAGE, "no command is given; 'fabricctl -h' lists all commands");
    const struct cmd *c = find_cmd(argc, argv);
    if (c == NULL)
        return complain_verbs(argv[0], argc > 1 ? argv[1] : "");
    int words = c->verb != NULL ? 2 : 1;
    o->session.cmd = c;
    o->session.connection = &o->client;
    o->session.argc = argc - words;
    o->session.argv = argv + words;
    rc = check_arguments(c, o);
    if (rc == EXIT_OK && c->writes_file)
        o->session.file = o->output;
    else if (rc == EXIT_OK && o->output != NULL)
        rc = parse_format(o, o->output);
    return rc == EXIT_OK ? run(c, o) : rc;
}

int main(int argc, char **argv)
{
    const char *server = getenv("FABRICCTL_SERVER");
    struct options o = {
        .client = {.address = server != NULL && server[0] != '\0' ? server : DEFAULT_SERVER,
                   .ca = getenv("FABRICCTL_TLS_CA"),
                   .cert = getenv("FABRICCTL_TLS_CERT"),
                   .key = getenv("FABRICCTL_TLS_KEY")},
        /* the default of --severity: events of severity info and above */
        .session.severity = 2,
    };
    signal(SIGPIPE, SIG_IGN);
    /* getopt begins its error messages with the program name argv[0] */
    argv[0] = (char *)(uintptr_t) "fabricctl";
    int rc = obey(&o, argc, argv);
    free(o.session.fails);
    free(o.session.node);
    return rc;
}
