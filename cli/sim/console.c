/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs commands of `fabsim ctl` and of the console. This file has the commands for clients and for
 * the server itself; faults.c has the faults. Empty lines and lines that begin with # are ignored.
 *
 * The console also accepts ibsim's spelling of commands, Unlink "id"[port], so that a script can
 * run with ibsim and with fabsim.
 */
#include "cli/sim/console.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/sim/cmd.h"
#include "cli/sim/faults.h"

typedef int command_function(struct console *c, const char *argument, struct fab_text *out);

/* ---- clients --------------------------------------------------------------------------------- */

static void describe_client(const struct hub *h, unsigned id, struct fab_text *out)
{
    const struct hub_client *c = &h->clients[id];
    const struct fab_node *node = &fab_sim_fabric(h->sim)->nodes[c->at.node];
    fab_base_text_addf(out,
                       "client %u pid %" PRIu32 " at 0x%016" PRIx64
                       "/%u (%s) lid %u%s sent %" PRIu64 " received %" PRIu64 " lost %" PRIu64
                       " unread %" PRIu64 "\n",
                       id, c->pid, node->guid, c->at.port, node->desc,
                       fab_sim_port(h->sim, c->at.node, c->at.port)->lid, c->is_sm ? " sm" : "",
                       c->sent, c->received, c->lost, c->unread);
}

/* Counts the links that are down, for example because a cable is pulled or a node is switched
 * off. */
static uint32_t count_down(const struct fab_sim *sim)
{
    const struct fab_fabric *f = fab_sim_fabric(sim);
    uint32_t down = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        down += fab_fabric_port(f, p)->peer != FAB_NONE && p < fab_fabric_port(f, p)->peer &&
                fab_sim_port(sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num)
                        ->phys_state != FAB_PHYS_LINKUP;
    return down;
}

static int do_status(struct console *c, const char *argument, struct fab_text *out)
{
    const struct fab_fabric *f = fab_sim_fabric(c->hub->sim);
    uint32_t down = count_down(c->hub->sim);
    (void)argument;
    fab_base_text_addf(out,
                       "serving %s: %" PRIu32 " switches, %" PRIu32 " adapters, %" PRIu32 " cables",
                       c->name, f->switch_count, f->node_count - f->switch_count, f->link_count);
    if (down > 0)
        fab_base_text_addf(out, ", %" PRIu32 " of them down", down);
    fab_base_text_add(out, "\n");
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
        fab_base_text_addf(out, "no client %s; status lists them\n", argument);
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

/* ---- the table ------------------------------------------------------------------------------- */

static const struct command {
    /* name: the command. argument: what the help shows as its argument; NULL: the command has
     * none. */
    const char *name, *argument;
    command_function *run;
    /* description in the help; NULL: the command is another name of the one before it */
    const char *summary;
} commands[] = {
    {"status", NULL, do_status, "shows the fabric and the attached programs"},
    {"attached", NULL, do_status, NULL},
    {"detach", "CLIENT", do_detach, "disconnects a program"},
    {"x", "CLIENT", do_detach, NULL},
    {"stop", NULL, do_stop, "stops the simulator"},
    {"quit", NULL, do_stop, NULL},
    {"help", NULL, do_help, "lists the commands"},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

void console_help(struct fab_text *out)
{
    fault_help(out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i].summary != NULL)
            fault_help_line(out, commands[i].name,
                            commands[i].argument != NULL ? commands[i].argument : "",
                            commands[i].summary);
    fab_base_text_add(out,
                      "NODE is a node's id, GUID or description, or a pattern of descriptions such "
                      "as leaf-00*.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcasecmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Runs one command. `line` has no spaces at its beginning and end; the function modifies it. */
static int run_line(struct console *c, char *line, struct fab_text *out)
{
    char *argument = line + strcspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return CMD_OK;
    if (*argument != '\0')
        *argument++ = '\0';
    argument += strspn(argument, " \t");
    const struct fault *fault = fault_find(line);
    if (fault != NULL)
        return fault_run(fault, c->hub->sim, argument, out);
    const struct command *command = find_command(line);
    if (command == NULL) {
        fab_base_text_addf(out, "no command \"%s\"; try help\n", line);
        return CMD_USAGE;
    }
    if ((command->argument != NULL) != (*argument != '\0')) {
        fab_base_text_addf(out, "usage: %s%s%s\n", command->name,
                           command->argument != NULL ? " " : "",
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
        fab_base_text_addf(out, "a line has at most %d characters and no NUL\n",
                           CONSOLE_LINE_MAX - 1);
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
