/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The console: a table of commands of one argument, which is the rest of the line (names of nodes
 * may have blanks in them; what numbers a command wants stand after them). ibsim's spelling of the
 * same commands is understood, Unlink "id"[port], so that scripts run on both. Lines that are empty
 * or begin with # are nothing.
 */
#include "cli/sim/console.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"

typedef int command_function(struct console *c, const char *argument, struct fab_text *out);

/* ---- cables -----------------------------------------------------------------------------------
 */

static int find(const struct console *c, const char *name, struct place *ret, struct fab_text *out)
{
    int status = place_find(c->hub->sim, name, ret);
    if (status == FAB_E_RANGE)
        fab_text_addf(out, "the node of \"%s\" has no such port\n", name);
    else if (status != FAB_OK)
        fab_text_addf(out, "there is no node \"%s\"\n", name);
    return status == FAB_OK ? CMD_OK : CMD_FAILED;
}

typedef int plug_function(struct fab_sim *s, uint32_t node, uint8_t port);

/* One cable, or all of a node. */
static int plug(struct console *c, const char *name, plug_function *f, struct fab_text *out)
{
    struct place at;
    struct fab_sim *sim = c->hub->sim;
    if (find(c, name, &at, out) != CMD_OK)
        return CMD_FAILED;
    unsigned first = at.port, last = at.port;
    if (at.port == 0) {
        first = 1;
        last = fab_sim_fabric(sim)->nodes[at.node].num_ports;
    }
    for (unsigned port = first; port <= last; port++)
        if (f(sim, at.node, (uint8_t)port) != FAB_OK && at.port != 0) {
            fab_text_addf(out, "there is no cable at %s\n", name);
            return CMD_FAILED;
        }
    return CMD_OK;
}

static int do_unlink(struct console *c, const char *argument, struct fab_text *out)
{
    return plug(c, argument, fab_sim_unlink, out);
}

static int do_relink(struct console *c, const char *argument, struct fab_text *out)
{
    return plug(c, argument, fab_sim_relink, out);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

static int hush(struct console *c, const char *name, bool silent, struct fab_text *out)
{
    struct place at;
    if (find(c, name, &at, out) != CMD_OK)
        return CMD_FAILED;
    if (at.port != 0) {
        fab_text_addf(out, "\"%s\" is a port; it is nodes that answer\n", name);
        return CMD_FAILED;
    }
    return fab_sim_silence(c->hub->sim, at.node, silent) == FAB_OK ? CMD_OK : CMD_FAILED;
}

static int do_silence(struct console *c, const char *argument, struct fab_text *out)
{
    return hush(c, argument, true, out);
}

static int do_wake(struct console *c, const char *argument, struct fab_text *out)
{
    return hush(c, argument, false, out);
}

static int do_loss(struct console *c, const char *argument, struct fab_text *out)
{
    char *end;
    double rate = strtod(argument, &end);
    if (end != argument && *end == '%') {
        rate /= 100;
        end++;
    }
    if (end == argument || *end != '\0' || !(rate >= 0 && rate <= 1)) {
        fab_text_addf(out, "\"%s\" is no share: 0 to 1, or 0%% to 100%%\n", argument);
        return CMD_USAGE;
    }
    fab_sim_loss(c->hub->sim, rate);
    return CMD_OK;
}

/* ---- faults that take time --------------------------------------------------------------------
 */

/* Cuts off the last word of a line: NULL if there is only one. */
static char *cut_word(char *line)
{
    char *blank = strrchr(line, ' ');
    if (blank == NULL)
        return NULL;
    char *word = blank + 1;
    while (blank > line && blank[-1] == ' ')
        blank--;
    *blank = '\0';
    return blank > line ? word : NULL;
}

/* A number from `least` to `most`. */
static bool parse_number(const char *word, uint32_t least, uint32_t most, uint32_t *ret)
{
    char *end;
    unsigned long value =
        word != NULL && isdigit((unsigned char)*word) ? strtoul(word, &end, 10) : 0;
    if (word == NULL || !isdigit((unsigned char)*word) || *end != '\0' || value < least ||
        value > most)
        return false;
    *ret = (uint32_t)value;
    return true;
}

#define MS_MAX 3600000u

static int misused(struct fab_text *out, const char *usage)
{
    fab_text_addf(out, "usage: %s\n", usage);
    return CMD_USAGE;
}

static int told(int status, const char *name, struct fab_text *out)
{
    if (status != FAB_OK)
        fab_text_addf(out, "%s: %s\n", name,
                      status == FAB_E_NOT_FOUND ? "there is no such cable"
                                                : fab_status_text(status));
    return status == FAB_OK ? CMD_OK : CMD_FAILED;
}

static int do_power_off(struct console *c, const char *name, struct fab_text *out)
{
    struct place at;
    int code = find(c, name, &at, out);
    return code != CMD_OK ? code : told(fab_sim_power_off(c->hub->sim, at.node), name, out);
}

/* All at once: the rest of a slow start is for scripts. */
static int do_power_on(struct console *c, const char *name, struct fab_text *out)
{
    struct place at;
    int code = find(c, name, &at, out);
    return code != CMD_OK ? code : told(fab_sim_power_on(c->hub->sim, at.node, 0, 0), name, out);
}

static int do_late(struct console *c, const char *argument, struct fab_text *out)
{
    char name[CONSOLE_LINE_MAX];
    struct place at;
    uint32_t late_ms;
    strcpy(name, argument); /* a line is no longer than that */
    if (!parse_number(cut_word(name), 0, MS_MAX, &late_ms))
        return misused(out, "late NODE MILLISECONDS");
    if (find(c, name, &at, out) != CMD_OK)
        return CMD_FAILED;
    return told(fab_sim_late(c->hub->sim, at.node, late_ms * 1000, 0), name, out);
}

static int do_flap(struct console *c, const char *argument, struct fab_text *out)
{
    char name[CONSOLE_LINE_MAX];
    struct place at;
    uint32_t count = 0, period_ms = 0;
    strcpy(name, argument);
    bool good = parse_number(cut_word(name), 1, MS_MAX, &count) &&
                parse_number(cut_word(name), 1, MS_MAX, &period_ms);
    if (!good)
        return misused(out, "flap NODE/PORT MILLISECONDS COUNT");
    if (find(c, name, &at, out) != CMD_OK)
        return CMD_FAILED;
    return told(fab_sim_flap(c->hub->sim, at.node, at.port, period_ms * UINT64_C(1000), count),
                name, out);
}

/* "4xEDR", or "full". */
static int do_degrade(struct console *c, const char *argument, struct fab_text *out)
{
    char name[CONSOLE_LINE_MAX], *rate, *speed = NULL;
    struct place at;
    unsigned long lanes = 0;
    strcpy(name, argument);
    rate = cut_word(name);
    if (rate != NULL && strcmp(rate, "full") != 0)
        lanes = strtoul(rate, &speed, 10);
    if (rate == NULL || (speed != NULL && (*speed != 'x' || lanes == 0 || lanes > 12)))
        return misused(out, "degrade NODE/PORT LANESxSPEED|full");
    if (find(c, name, &at, out) != CMD_OK)
        return CMD_FAILED;
    return told(fab_sim_degrade(c->hub->sim, at.node, at.port, (unsigned)lanes,
                                speed != NULL ? speed + 1 : NULL),
                name, out);
}

/* ---- clients ----------------------------------------------------------------------------------
 */

static void describe_client(const struct hub *h, unsigned id, struct fab_text *out)
{
    const struct hub_client *c = &h->clients[id];
    const struct fab_node *node = &fab_sim_fabric(h->sim)->nodes[c->at.node];
    fab_text_addf(out,
                  "client %u pid %" PRIu32 " at 0x%016" PRIx64 "/%u (%s) lid %u%s sent %" PRIu64
                  " received %" PRIu64 " lost %" PRIu64 " unread %" PRIu64 "\n",
                  id, c->pid, node->guid, c->at.port, node->desc,
                  fab_sim_port(h->sim, c->at.node, c->at.port)->lid, c->is_sm ? " sm" : "", c->sent,
                  c->received, c->lost, c->unread);
}

static int do_status(struct console *c, const char *argument, struct fab_text *out)
{
    const struct fab_fabric *f = fab_sim_fabric(c->hub->sim);
    (void)argument;
    fab_text_addf(out,
                  "serving %s: %" PRIu32 " switches, %" PRIu32 " adapters, %" PRIu32 " cables\n",
                  c->name, f->switch_count, f->node_count - f->switch_count, f->link_count);
    for (unsigned id = 0; id < c->hub->top; id++)
        if (c->hub->clients[id].pid != 0)
            describe_client(c->hub, id, out);
    return CMD_OK;
}

static int do_detach(struct console *c, const char *argument, struct fab_text *out)
{
    char *end;
    unsigned long id = strtoul(argument, &end, 10);
    if (!isdigit((unsigned char)*argument) || *end != '\0' || id >= c->hub->top ||
        c->hub->clients[id].pid == 0) {
        fab_text_addf(out, "there is no client %s\n", argument);
        return CMD_FAILED;
    }
    hub_detach(c->hub, (unsigned)id);
    return CMD_OK;
}

static int do_stop(struct console *c, const char *argument, struct fab_text *out)
{
    (void)argument;
    (void)out;
    c->stop = true;
    return CMD_OK;
}

static int do_help(struct console *c, const char *argument, struct fab_text *out)
{
    (void)c;
    (void)argument;
    console_help(out);
    return CMD_OK;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static const struct command {
    const char *name, *argument; /* argument: NULL where there is none */
    command_function *run;
    const char *summary; /* NULL: another name of the one above */
} commands[] = {
    {"unlink", "NODE[/PORT]", do_unlink, "pulls a cable, or all of a node's"},
    {"relink", "NODE[/PORT]", do_relink, "puts it back"},
    {"silence", "NODE", do_silence, "the node answers nothing any more"},
    {"wake", "NODE", do_wake, "it does again"},
    {"power-off", "NODE", do_power_off, "the node dies and forgets its tables"},
    {"power-on", "NODE", do_power_on, "it starts again, as new"},
    {"late", "NODE MS", do_late, "it answers so many milliseconds later"},
    {"flap", "NODE/PORT MS COUNT", do_flap,
     "a cable goes out and in, once in so many milliseconds"},
    {"degrade", "NODE/PORT RATE", do_degrade, "a link comes up with 1xEDR, say; full: as ever"},
    {"loss", "RATE", do_loss, "the share of MADs that get lost: 0.01 or 1%"},
    {"status", NULL, do_status, "who is attached, where, and how many MADs went"},
    {"attached", NULL, do_status, NULL},
    {"detach", "CLIENT", do_detach, "throws a client out"},
    {"x", "CLIENT", do_detach, NULL},
    {"stop", NULL, do_stop, "ends the simulator"},
    {"quit", NULL, do_stop, NULL},
    {"help", NULL, do_help, "this list"},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

void console_help(struct fab_text *out)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary != NULL)
            fab_text_addf(out, "  %-9s %-18s  %s\n", commands[i].name,
                          commands[i].argument != NULL ? commands[i].argument : "",
                          commands[i].summary);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcasecmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* line: without blanks at its ends; it is written to. */
static int run_line(struct console *c, char *line, struct fab_text *out)
{
    char *argument = line + strcspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return CMD_OK;
    if (*argument != '\0')
        *argument++ = '\0';
    argument += strspn(argument, " \t");
    const struct command *command = find_command(line);
    if (command == NULL) {
        fab_text_addf(out, "there is no command \"%s\"; try help\n", line);
        return CMD_USAGE;
    }
    if ((command->argument != NULL) != (*argument != '\0')) {
        fab_text_addf(out, "usage: %s%s%s\n", command->name, command->argument != NULL ? " " : "",
                      command->argument != NULL ? command->argument : "");
        return CMD_USAGE;
    }
    return command->run(c, argument, out);
}

static int run_part(struct console *c, const char *text, size_t len, struct fab_text *out)
{
    char line[CONSOLE_LINE_MAX];
    while (len > 0 && isspace((unsigned char)text[0])) {
        text++;
        len--;
    }
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (len >= sizeof line || memchr(text, '\0', len) != NULL) {
        fab_text_addf(out, "a line has at most %d characters, and no NUL\n", CONSOLE_LINE_MAX - 1);
        return CMD_USAGE;
    }
    memcpy(line, text, len);
    line[len] = '\0';
    return run_line(c, line, out);
}

int console_run(struct console *c, const char *text, size_t len, struct fab_text *out)
{
    int result = CMD_OK;
    for (size_t at = 0; at < len && result == CMD_OK;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t part = end != NULL ? (size_t)(end - (text + at)) : len - at;
        result = run_part(c, text + at, part, out);
        at += part + 1;
    }
    hub_collect(c->hub);
    return result;
}
