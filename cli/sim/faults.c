/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands for faults. A line has a verb, a subject, for some verbs a further word, and options
 * such as "lanes=1". The table faults[] lists the arguments of each verb.
 *
 * After the verb, the parser reads the line from its end: first the options, then the further word.
 * The rest is the subject, which may therefore contain spaces. The subject is the name of a node or
 * port (place.h). If no node has this name, the subject is a pattern of node descriptions, such as
 * "leaf-00*", with "/PORT" after it if the verb needs a port. With a pattern, one line can switch
 * off many nodes.
 */
#include "cli/sim/faults.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/sim/cmd.h"
#include "cli/sim/place.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/fault.h"

#define OPTIONS_MAX 5
#define HELP_COLUMN 42

/* What a fault applies to. NOTHING: the whole fabric. NODES: nodes. CABLE: one cable. CABLES: one
 * cable, or all cables of a node. PORT: one port, which may be port 0 of a switch. */
enum subject { NOTHING, NODES, CABLE, CABLES, PORT };

struct option_value {
    const char *name, *text;
    double number;
};
struct fault_call {
    const struct fault *fault;
    struct fab_sim *sim;
    const char *subject;
    /* the word after the subject; "": the verb takes no such word */
    const char *word;
    struct option_value options[OPTIONS_MAX];
    unsigned option_count;
    struct fab_text *out;
};
/* A function that causes a fault at one node or port. Returns an enum fab_status. */
typedef int fault_function(const struct fault_call *o, struct place at);

struct fault {
    /* name: the verb of the fault. alias: another verb for the same fault, such as that of ibsim;
     * NULL: there is none. */
    const char *name, *alias;
    enum subject subject;
    /* word: what the word after the subject is, such as "COUNTER"; NULL: the verb takes no such
     * word. options: names of the options that the verb accepts, each followed by a space. */
    const char *word, *options;
    fault_function *run;
    const char *usage, *summary;
};

/* ---- values ---------------------------------------------------------------------------------- */

bool fault_number(const char *text, double *ret)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"%", 0.01}};
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].suffix) == 0 && number * units[i].factor < 1e12) {
            *ret = number * units[i].factor;
            return true;
        }
    return false;
}

static const struct option_value *option(const struct fault_call *o, const char *name)
{
    for (unsigned i = 0; i < o->option_count; i++)
        if (strcmp(o->options[i].name, name) == 0)
            return &o->options[i];
    return NULL;
}

static double number(const struct fault_call *o, const char *name, double otherwise)
{
    const struct option_value *value = option(o, name);
    return value != NULL ? value->number : otherwise;
}

/* Returns the value of an option as a 32-bit number. `otherwise`: the result if the option was not
 * given. A value that is too large becomes UINT32_MAX. */
static uint32_t number_u32(const struct fault_call *o, const char *name, double otherwise)
{
    double value = number(o, name, otherwise);
    return value < (double)UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static bool parse_integer(const char *text, uint64_t most, uint64_t *ret)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || *end != '\0' || value > most)
        return false;
    *ret = value;
    return true;
}

/* ---- cables ---------------------------------------------------------------------------------- */

static int pull(const struct fault_call *o, struct place at)
{
    return fab_sim_unlink(o->sim, at.node, at.port);
}

static int plug(const struct fault_call *o, struct place at)
{
    return fab_sim_relink(o->sim, at.node, at.port);
}

static int flap(const struct fault_call *o, struct place at)
{
    return fab_sim_flap(o->sim, at.node, at.port, (uint64_t)number(o, "period", 100000),
                        number_u32(o, "count", 5));
}

static int degrade(const struct fault_call *o, struct place at)
{
    const struct option_value *speed = option(o, "speed");
    return fab_sim_degrade(o->sim, at.node, at.port, number_u32(o, "lanes", 0),
                           speed != NULL ? speed->text : NULL);
}

static int noise(const struct fault_call *o, struct place at)
{
    double bits = number(o, "ber", 0);
    int status = fab_sim_bit_errors(o->sim, at.node, at.port, bits);
    if (status == FAB_OK && bits == 0)
        status = fab_sim_noise(o->sim, at.node, at.port, number(o, "share", 0));
    return status;
}

static int repair(const struct fault_call *o, struct place at)
{
    int status = fab_sim_degrade(o->sim, at.node, at.port, 0, NULL);
    return status == FAB_OK ? fab_sim_bit_errors(o->sim, at.node, at.port, 0) : status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int off(const struct fault_call *o, struct place at)
{
    return fab_sim_power_off(o->sim, at.node);
}

static int on(const struct fault_call *o, struct place at)
{
    return fab_sim_power_on(o->sim, at.node, (uint64_t)number(o, "boot", 0),
                            (uint64_t)number(o, "step", 0));
}

static int reboot(const struct fault_call *o, struct place at)
{
    int status = off(o, at);
    return status == FAB_OK ? on(o, at) : status;
}

static int silence(const struct fault_call *o, struct place at)
{
    return fab_sim_silence(o->sim, at.node, true);
}

static int respond(const struct fault_call *o, struct place at)
{
    return fab_sim_silence(o->sim, at.node, false);
}

static int delay(const struct fault_call *o, struct place at)
{
    return fab_sim_delay(o->sim, at.node, number_u32(o, "by", 0), number_u32(o, "spread", 0));
}

static const char *const corruptions[] = {[FAB_SIM_CORRUPT_NONE] = "none",
                                          [FAB_SIM_CORRUPT_BUSY] = "busy",
                                          [FAB_SIM_CORRUPT_UNSUPPORTED] = "unsupported",
                                          [FAB_SIM_CORRUPT_RANDOM] = "random",
                                          [FAB_SIM_CORRUPT_BIT_FLIP] = "bit-flip",
                                          [FAB_SIM_CORRUPT_ZEROS] = "zeros",
                                          [FAB_SIM_CORRUPT_DUPLICATE_GUID] = "duplicate-guid",
                                          [FAB_SIM_CORRUPT_WRONG_TID] = "wrong-tid"};

static int corrupt(const struct fault_call *o, struct place at)
{
    for (unsigned i = 0; i < sizeof corruptions / sizeof corruptions[0]; i++)
        if (strcmp(corruptions[i], o->word) == 0)
            return fab_sim_corrupt(o->sim, at.node, (enum fab_sim_corruption)i,
                                   number(o, "rate", 1));
    return FAB_E_INVAL;
}

static int set_m_key(const struct fault_call *o, struct place at)
{
    uint64_t key;
    double protect = number(o, "protect", 1), lease_s = number(o, "lease", 0) / 1e6;
    if (!parse_integer(o->word, UINT64_MAX, &key) || protect > 3 || lease_s > UINT16_MAX)
        return FAB_E_INVAL;
    return fab_sim_set_m_key(o->sim, at.node, key, (uint8_t)protect, (uint16_t)lease_s);
}

static int trap(const struct fault_call *o, struct place at)
{
    uint64_t which;
    return parse_integer(o->word, UINT16_MAX, &which)
               ? fab_sim_trap(o->sim, at.node, at.port, (uint16_t)which)
               : FAB_E_INVAL;
}

static int storm(const struct fault_call *o, struct place at)
{
    uint64_t which;
    if (!parse_integer(o->word, UINT16_MAX, &which))
        return FAB_E_INVAL;
    return fab_sim_trap_storm(o->sim, at.node, (uint16_t)which, (uint64_t)number(o, "every", 10000),
                              number_u32(o, "count", 100));
}

static int increment(const struct fault_call *o, struct place at)
{
    enum fab_sim_counter counter;
    if (fab_sim_counter_by_name(o->word, &counter) != FAB_OK)
        return FAB_E_INVAL;
    return fab_sim_increment(o->sim, at.node, at.port, counter, number(o, "rate", 0));
}

static int congest(const struct fault_call *o, struct place at)
{
    uint64_t dlid;
    if (!parse_integer(o->word, UINT16_MAX, &dlid) || number_u32(o, "from", 0) > UINT16_MAX ||
        number_u32(o, "sl", 0) > 15)
        return FAB_E_INVAL;
    return fab_sim_congest(o->sim, at.node, at.port,
                           &(struct fab_sim_congestion){.slid = (uint16_t)number_u32(o, "from", 0),
                                                        .dlid = (uint16_t)dlid,
                                                        .sl = (uint8_t)number_u32(o, "sl", 0),
                                                        .local_qp = number_u32(o, "qp", 0),
                                                        .remote_qp = number_u32(o, "to", 0)});
}

/* ---- inventory ------------------------------------------------------------------------------- */

static int heat(const struct fault_call *o, struct place at)
{
    uint32_t degrees = number_u32(o, "by", 0);
    return degrees <= 100 ? fab_sim_heat(o->sim, at.node, at.port, (int)degrees) : FAB_E_INVAL;
}

static int firmware(const struct fault_call *o, struct place at)
{
    return fab_sim_firmware(o->sim, at.node, strcmp(o->word, "usual") != 0 ? o->word : NULL);
}

static int fan(const struct fault_call *o, struct place at)
{
    uint64_t which;
    uint32_t rpm = number_u32(o, "rpm", FAB_SIM_FAN_USUAL);
    if (!parse_integer(o->word, FAB_SIM_FANS, &which) || which == 0 || rpm > FAB_SIM_FAN_USUAL)
        return FAB_E_INVAL;
    return fab_sim_fan(o->sim, at.node, (uint8_t)(which - 1), (uint16_t)rpm);
}

static int replace(const struct fault_call *o, struct place at)
{
    return fab_sim_replace_module(o->sim, at.node, at.port);
}

/* ---- whole fabric ---------------------------------------------------------------------------- */

static int impair(const struct fault_call *o, struct place at)
{
    struct fab_sim_impairments impair = {
        .loss = number(o, "loss", 0),
        .duplicate = number(o, "duplicate", 0),
        .delay = number(o, "delay", 0),
        .delay_us = number_u32(o, "by", 0),
        .spread_us = number_u32(o, "spread", 0),
    };
    (void)at;
    if (impair.loss > 1 || impair.duplicate > 1 || impair.delay > 1)
        return FAB_E_INVAL;
    fab_sim_set_impairments(o->sim, &impair);
    return FAB_OK;
}

static int loss(const struct fault_call *o, struct place at)
{
    double share;
    (void)at;
    if (!fault_number(o->word, &share) || share > 1)
        return FAB_E_INVAL;
    fab_sim_loss(o->sim, share);
    return FAB_OK;
}

static int timing(const struct fault_call *o, struct place at)
{
    struct fab_sim_timing timing = fab_sim_timing(o->sim);
    (void)at;
    timing.hop_us = number_u32(o, "hop", timing.hop_us);
    timing.answer_us = number_u32(o, "answer", timing.answer_us);
    timing.train_us = number_u32(o, "train", timing.train_us);
    timing.trap_us = number_u32(o, "trap", timing.trap_us);
    fab_sim_set_timing(o->sim, &timing);
    return FAB_OK;
}

static int plug_all(const struct fault_call *o, struct place at)
{
    const struct fab_fabric *f = fab_sim_fabric(o->sim);
    (void)at;
    for (uint32_t p = 0; p < f->port_count; p++)
        (void)fab_sim_relink(o->sim, fab_fabric_port(f, p)->node, fab_fabric_port(f, p)->num);
    return FAB_OK;
}

static int traffic(const struct fault_call *o, struct place at)
{
    (void)at;
    return fab_sim_traffic(o->sim, number(o, "load", 0), 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct fault faults[] = {
    {"pull", "unlink", CABLES, NULL, "", pull, "NODE[/PORT]",
     "pulls a cable, or all cables of a node"},
    {"plug", "relink", CABLES, NULL, "", plug, "NODE[/PORT]", "plugs it in again"},
    {"plug-all", NULL, NOTHING, NULL, "", plug_all, "", "plugs in all cables"},
    {"flap", NULL, CABLE, NULL, "period count ", flap, "NODE/PORT [period=100ms] [count=5]",
     "pulls and plugs a cable, count times"},
    {"degrade", NULL, CABLE, NULL, "lanes speed ", degrade, "NODE/PORT [lanes=1] [speed=SDR]",
     "limits a link's width or speed; without options: no limit"},
    {"noise", NULL, CABLE, NULL, "share ber ", noise, "NODE/PORT [share=1%|ber=1e-9]",
     "corrupts a share of packets, or of bits; without options: none"},
    {"repair", NULL, CABLE, NULL, "", repair, "NODE/PORT", "undoes degrade and noise"},
    {"increment", NULL, PORT, "COUNTER", "rate ", increment, "NODE/PORT COUNTER [rate=10]",
     "a counter rises by rate a second; without a rate: no longer"},
    {"traffic", NULL, NOTHING, NULL, "load ", traffic, "[load=30%]",
     "all hosts send to each other; without a load: no longer"},
    {"congest", NULL, PORT, "LID", "from sl qp to ", congest,
     "NODE/PORT LID [from=LID] [sl=0] [qp=N] [to=N]",
     "adds an entry to the congestion log, of a packet to that LID"},

    {"off", "power-off", NODES, NULL, "", off, "NODE",
     "switches a node off; it loses its LIDs, tables and keys"},
    {"on", "power-on", NODES, NULL, "boot step ", on, "NODE [boot=3s] [step=10ms]",
     "switches it on; once it has booted, a port comes up each step"},
    {"reboot", NULL, NODES, NULL, "boot step ", reboot, "NODE [boot=3s] [step=10ms]",
     "switches a node off and on"},
    {"silence", NULL, NODES, NULL, "", silence, "NODE",
     "a node answers nothing, but still forwards"},
    {"respond", "wake", NODES, NULL, "", respond, "NODE", "it answers again"},
    {"delay", NULL, NODES, NULL, "by spread ", delay, "NODE [by=50ms] [spread=10ms]",
     "delays its answers; without options: no longer"},
    {"corrupt", NULL, NODES, "FAULT", "rate ", corrupt,
     "NODE busy|unsupported|random|bit-flip|zeros|duplicate-guid|wrong-tid|none [rate=1%]",
     "corrupts a share of its answers; none: no longer"},
    {"set-mkey", NULL, NODES, "0xKEY", "protect lease ", set_m_key,
     "NODE 0xKEY [protect=1] [lease=10s]", "sets another manager's M_Key; 0 removes it"},
    {"trap", NULL, PORT, "NUMBER", "", trap, "NODE/PORT NUMBER",
     "sends trap 128-131, 144, 145 or 256-259 until it is repressed"},
    {"storm", NULL, NODES, "NUMBER", "every count ", storm, "NODE NUMBER [every=10ms] [count=100]",
     "sends a trap count times, repressed or not"},

    {"heat", NULL, PORT, NULL, "by ", heat, "NODE[/PORT] [by=30]",
     "heats a device, or the cable or optic at a port, by degrees Celsius; without by: no longer"},
    {"firmware", NULL, NODES, "VERSION", "", firmware, "NODE VERSION|usual",
     "gives a device this version of firmware, such as 28.39.1002"},
    {"fan", NULL, NODES, "NUMBER", "rpm ", fan, "NODE NUMBER [rpm=0]",
     "sets the speed of a fan of a switch; without rpm: the usual speed"},
    {"replace", NULL, CABLE, NULL, "", replace, "NODE/PORT",
     "replaces a cable or optic by another one of its kind"},

    {"impair", NULL, NOTHING, NULL, "loss duplicate delay by spread ", impair,
     "[loss=1%] [duplicate=1%] [delay=5% by=1ms spread=20ms]",
     "loses, duplicates or delays MADs; without options: no longer"},
    {"loss", NULL, NOTHING, "SHARE", "", loss, "SHARE", "loses that share of all MADs: 1% or 0.01"},
    {"timing", NULL, NOTHING, NULL, "hop answer train trap ", timing,
     "[hop=1us] [answer=10us] [train=20ms] [trap=1s]",
     "delay of a link, an agent, link training; period of repeated traps"},
};
#define FAULT_COUNT (sizeof faults / sizeof *faults)

const struct fault *fault_find(const char *verb)
{
    for (size_t i = 0; i < FAULT_COUNT; i++)
        if (strcasecmp(faults[i].name, verb) == 0 ||
            (faults[i].alias != NULL && strcasecmp(faults[i].alias, verb) == 0))
            return &faults[i];
    return NULL;
}

void fault_help_line(struct fab_text *out, const char *verb, const char *usage, const char *summary)
{
    int len = (int)(strlen(verb) + 1 + strlen(usage));
    if (len < HELP_COLUMN)
        fab_base_text_addf(out, "  %s %s%*s%s\n", verb, usage, HELP_COLUMN - len, "", summary);
    else
        fab_base_text_addf(out, "  %s %s\n  %*s%s\n", verb, usage, HELP_COLUMN, "", summary);
}

void fault_help(struct fab_text *out)
{
    for (size_t i = 0; i < FAULT_COUNT; i++)
        fault_help_line(out, faults[i].name, faults[i].usage, faults[i].summary);
}

/* ---- reading a line -------------------------------------------------------------------------- */

static int print_usage(const struct fault_call *o)
{
    fab_base_text_addf(o->out, "usage: %s %s\n", o->fault->name, o->fault->usage);
    return CMD_USAGE;
}

static char *last_word(char *line)
{
    char *word = line + strlen(line);
    while (word > line && !isspace((unsigned char)word[-1]))
        word--;
    return word;
}

/* Cuts the last word off a line, and returns it; "": the line is empty. */
static char *cut_word(char **line)
{
    char *word = last_word(*line), *blank = word;
    while (blank > *line && isspace((unsigned char)blank[-1]))
        blank--;
    if (blank == *line)
        *line = word + strlen(word);
    else
        *blank = '\0';
    return word;
}

static bool takes(const struct fault *f, const char *name, size_t len)
{
    for (const char *at = f->options; *at != '\0'; at = strchr(at, ' ') + 1)
        if (strncmp(at, name, len) == 0 && at[len] == ' ')
            return true;
    return false;
}

/* Returns true if a word is an option: letters followed by "=". */
static bool is_option(const char *word)
{
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz");
    return len > 0 && word[len] == '=';
}

static int read_option(struct fault_call *o, char *word)
{
    char *equals = strchr(word, '=');
    struct option_value value = {.name = word, .text = equals + 1};
    if (!takes(o->fault, word, (size_t)(equals - word))) {
        fab_base_text_addf(o->out, "%s takes no option \"%.*s\"; ", o->fault->name,
                           (int)(equals - word), word);
        return print_usage(o);
    }
    *equals = '\0';
    if (o->option_count == OPTIONS_MAX || option(o, word) != NULL) {
        fab_base_text_addf(o->out, "option \"%s\" is given twice\n", word);
        return CMD_USAGE;
    }
    if (strcmp(word, "speed") != 0 && !fault_number(value.text, &value.number)) {
        fab_base_text_addf(o->out, "%s=\"%s\" is not a number, a time (10ms) or a share (1%%)\n",
                           word, value.text);
        return CMD_USAGE;
    }
    o->options[o->option_count++] = value;
    return CMD_OK;
}

static int read_order(struct fault_call *o, char *line)
{
    o->word = "";
    while (is_option(last_word(line))) {
        int code = read_option(o, cut_word(&line));
        if (code != CMD_OK)
            return code;
    }
    if (o->fault->word != NULL)
        o->word = cut_word(&line);
    o->subject = line;
    bool wants = o->fault->subject != NOTHING;
    if (wants != (*line != '\0') || (o->fault->word != NULL && *o->word == '\0'))
        return print_usage(o);
    return CMD_OK;
}

/* ---- subjects -------------------------------------------------------------------------------- */

static int report(const struct fault_call *o, int status, const char *where)
{
    if (status == FAB_OK)
        return CMD_OK;
    if (status == FAB_E_INVAL) {
        fab_base_text_addf(o->out, "%s%sinvalid value; ", where, *where != '\0' ? ": " : "");
        return print_usage(o);
    }
    fab_base_text_addf(o->out, "%s: %s\n", where,
                       status == FAB_E_NOT_FOUND ? "no such link, port or fan"
                                                 : fab_base_status_text(status));
    return CMD_FAILED;
}

/* Causes the fault at all ports of a node. Returns FAB_OK even if the fault fails at some ports,
 * for example because they have no cable. */
static int at_all_ports(const struct fault_call *o, struct place at)
{
    unsigned last = fab_sim_fabric(o->sim)->nodes[at.node].num_ports;
    for (at.port = 1; at.port <= last && at.port != 0; at.port++)
        (void)o->fault->run(o, at);
    return FAB_OK;
}

static int at_place(const struct fault_call *o, struct place at, const char *where)
{
    enum subject subject = o->fault->subject;
    if (subject == NODES && at.port != 0) {
        fab_base_text_addf(o->out, "\"%s\" is a port, but a node is needed\n", where);
        return CMD_FAILED;
    }
    if (subject == CABLE && at.port == 0) {
        fab_base_text_addf(o->out, "\"%s\" is a node, but a port is needed; ", where);
        return print_usage(o);
    }
    return report(o, subject == CABLES && at.port == 0 ? at_all_ports(o, at) : o->fault->run(o, at),
                  where);
}

/* Splits the text "PATTERN/PORT"; without "/PORT", ret->port becomes 0. Returns false if the text
 * has none of the characters of a pattern. */
static bool read_pattern(char *pattern, struct place *ret)
{
    uint64_t port = 0;
    char *slash = strrchr(pattern, '/');
    ret->port = 0;
    if (slash != NULL && parse_integer(slash + 1, 254, &port) && port > 0) {
        *slash = '\0';
        ret->port = (uint8_t)port;
    }
    return strpbrk(pattern, "*?[") != NULL;
}

/* Causes the fault at every node whose description matches the pattern and that has the port, if
 * there is one. Stops at the first node at which the fault fails. Returns enum cmd_exit; it is an
 * error if no node matches. */
static int at_pattern(const struct fault_call *o)
{
    const struct fab_fabric *f = fab_sim_fabric(o->sim);
    char pattern[PLACE_NAME_MAX];
    struct place at;
    unsigned hit = 0;
    snprintf(pattern, sizeof pattern, "%s", o->subject);
    bool good = read_pattern(pattern, &at);
    for (at.node = 0; good && at.node < f->node_count; at.node++) {
        const struct fab_node *node = &f->nodes[at.node];
        if (fnmatch(pattern, node->desc, 0) != 0 || at.port > node->num_ports)
            continue;
        int code = at_place(o, at, node->desc);
        if (code != CMD_OK)
            return code;
        hit++;
    }
    if (hit == 0)
        fab_base_text_addf(o->out, "no node \"%s\"\n", o->subject);
    return hit > 0 ? CMD_OK : CMD_FAILED;
}

int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out)
{
    struct fault_call o = {.fault = f, .sim = sim, .out = out};
    struct place at = {0};
    int code = read_order(&o, argument);
    if (code != CMD_OK)
        return code;
    if (f->subject == NOTHING)
        return report(&o, f->run(&o, at), "");
    int status = place_find(sim, o.subject, &at);
    if (status == FAB_E_RANGE) {
        fab_base_text_addf(out, "the node in \"%s\" has no such port\n", o.subject);
        return CMD_FAILED;
    }
    return status == FAB_OK ? at_place(&o, at, o.subject) : at_pattern(&o);
}
