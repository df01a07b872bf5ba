/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of `fabricctl --help`. */
#include <stdio.h>
#include <string.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/options.h"
#include "fabric/v1/access.pb-c.h"

#define HELP_COLUMN 38

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
    for (size_t i = 0; commands[i] != NULL && argc > 0; i++) {
        const char *verb = commands[i]->verb;
        if (strcmp(commands[i]->noun, argv[0]) != 0 ||
            (argc > 1 && verb != NULL && strcmp(verb, argv[1]) != 0))
            continue;
        print_command(commands[i]);
        any = true;
    }
    if (any)
        puts("'fabricctl -h' lists all commands and options.");
    return any;
}

void print_help(int argc, char **argv)
{
    if (print_some(argc, argv))
        return;
    puts("usage: fabricctl [OPTION]... COMMAND [ARGUMENT]...\n\n"
         "Commands, and in brackets the role that they need, if it is not viewer:");
    for (size_t i = 0; commands[i] != NULL; i++)
        print_command(commands[i]);
    puts("\nA node has a name, a GUID and a LID. A pattern names several nodes, ports, hosts or\n"
         "racks: 'leaf-0[1-8]/*', 'host-00[01-16]' (in quotes; * any text, ? any character).");
    puts("\nOptions:\n"
         "  -s, --server ADDRESS   unix:PATH or tls:HOST:PORT (default " DEFAULT_SERVER ",\n"
         "                         or FABRICCTL_SERVER in the environment)\n"
         "      --context NAME     the manager of this context ('fabricctl context list')\n"
         "      --all-contexts     the managers of all contexts; lists get a column for them\n"
         "  -o, --output FORMAT    text, json, yaml, csv, wide (all columns), name (only names)\n"
         "                         or svg (a picture; port history, link history, history,\n"
         "                         cc congested, route quality, route compare)\n"
         "      --no-headers       no line of column names above tables\n"
         "      --sort COLUMN      the order of a list; -COLUMN: the greatest first\n"
         "      --state STATE, --rate RATE\n"
         "                         only rows of a list with this state or rate, such as Down,\n"
         "                         EDR or 4x*; * is any text\n"
         "      --timeout SECONDS  how long to wait for an answer (10; 600 for slow commands);\n"
         "                         0: no limit\n"
         "      --tls-ca FILE, --tls-cert FILE, --tls-key FILE, --tls-name NAME\n"
         "                         for tls: addresses\n"
         "  -n, --count N          how many events, reroutes, contingencies, congested ports,\n"
         "                         updates of topo check --watch, or pictures of top\n"
         "      --after SEQ        only events after this sequence number\n"
         "      --severity WORD    only events of at least this severity (info)\n"
         "      --hosts A,B[1-8]   hosts of a job, in the order of its ranks\n"
         "      --job FILE         the same from a file with one host a line\n"
         "      --jobs FILE        running jobs, as squeue or scontrol prints them (standard "
         "input)\n"
         "      --samples N        number of random permutations and bisections (1000)\n"
         "      --seed N           seed of the random permutations and bisections (0)\n"
         "      --engine NAME      the routing engine to use, or several, separated by commas\n"
         "      --fail WHAT        NODE/PORT: a link; NODE: all its links; may be repeated\n"
         "      --waiting          only nodes that wait for an approval\n"
         "      --all              all nodes that wait; with topo disapprove, the whole baseline;\n"
         "                         with undrain, all drains\n"
         "      --dry-run          only print what would be changed\n"
         "      --forget           drop the pin of a node's name, a snapshot, or the choice of a\n"
         "                         context\n"
         "      --cc               the CC_Key of congestion control instead of the M_Key\n"
         "      --give-up-absent   give up absent ports that may have the previous key\n"
         "      --explain          also show the reason of each value\n"
         "      --sl N             show the values of this service level (0)\n"
         "      --roce             export settings for RoCE on Ethernet\n"
         "      --format FORMAT    format of an export\n"
         "      --file FILE        the file that an export writes (standard output)\n"
         "      --slurm            the format slurm: topology.conf\n"
         "      --hook COMMAND     runs when --watch has replaced the file\n"
         "      --reason TEXT      why; for the audit log\n"
         "      --local            decide without a majority of the etcd servers\n"
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
         "      --dir DIR          directory of the certificate authority (fabricd-ca), or where\n"
         "                         import writes its files (/etc/fabricd)\n"
         "      --cache DIR        directory with guid2lid and guid2mkey of OpenSM\n"
         "      --force            replace files, and keep the former ones as FILE.former;\n"
         "                         with drain, do not wait until hosts are idle\n"
         "      --days N           how long a new certificate is valid (365; an authority 3650;\n"
         "                         renewed: as long as the former one)\n"
         "      --degraded         only degraded links\n"
         "      --gone             nodes or links that were there, and are not any more\n"
         "      --odd              only devices with other firmware than their peers\n"
         "      --hot              only cables and optics above a limit of their temperature\n"
         "      --rack RACK        only hosts, nodes, ports or links in this rack\n"
         "      --older-than AGE   all that has been gone for longer than this, such as 30d\n"
         "      --watch            repeat a list every 2 seconds; with topo check, show the\n"
         "                         progress every 5 seconds, until all is as planned\n"
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
         "      --for TIME         the drain, or the freeze of the manager, ends after this time,\n"
         "                         such as 90m or 2h; a drain with --until TIME, at this time\n"
         "      --no-writes        the frozen manager writes nothing, not even repairs\n"
         "      --yes              change several objects, drain, or apply a policy without a\n"
         "                         question\n"
         "      --diff             only show the differences that the policy would make\n"
         "      --wait             wait until the object is drained\n"
         "      --reconnect        connect again when the connection is lost\n"
         "      --keep PERCENT     share of links that each switch and pod keeps (75%)\n"
         "  -h, --help             this text\n"
         "  -V, --version          the version of fabricctl\n"
         "\nExit status: 0 success, 1 failure, 2 usage error, 3 no manager answers, 4 not found,\n"
         "5 routes are not sound (route verify, quality, compare, whatif; path), or the\n"
         "fabric is not cabled as planned (topo check).");
}

static int help(struct session *s)
{
    print_help(s->argc, s->argv);
    return EXIT_OK;
}

const struct cmd cmd_help = {
    .noun = "help",
    .args = "[COMMAND]",
    .summary = "the usage of a command, or of all commands and options",
    .max_args = 2,
    .run = help,
};
