/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the summary of a run. For each statement of the scenario, it has the events that followed
 * with their fields, and what the manager did: rounds and phases, requests by method and attribute,
 * retries, contingencies, reroutes, exceptions, and a hash of the tables in the devices. There are
 * no times in it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/gs.h"
#include "tests/sim/stage.h"
#include "tests/support/golden.h"

/* maximum number of different methods and attributes of MADs after one statement */
#define KINDS 64
#define LIST 8 /* maximum number of entries of a list that are printed */
/* of each type of event, at most this number is printed after a statement; the rest is counted */
#define REPEATS 8

struct mads {
    uint8_t mgmt_class, method;
    uint16_t attr;
    uint64_t count;
};
struct events {
    const char *type;
    uint64_t count;
};
struct stage_summary {
    FILE *out;
    /* MADs since the last statement, by method and attribute */
    struct mads mads[KINDS];
    unsigned mad_kinds;
    struct events events[KINDS];
    unsigned event_types;
    /* numbers of phases, as they were at the last statement */
    struct sm_phase_time phases[SM_PHASE_TIMES_MAX];
    uint32_t phase_count;
    struct sm_status status;
    uint64_t tables; /* hash of the tables in the devices */
};

struct stage_summary *stage_summary_new(FILE *out)
{
    struct stage_summary *y = calloc(1, sizeof(*y));
    if (y)
        y->out = out;
    fputs("begin\n", out);
    return y;
}

/* ---- events ---- */

static uint64_t count_event(struct stage_summary *y, const char *type)
{
    unsigned i = 0;
    while (i < y->event_types && strcmp(y->events[i].type, type) != 0)
        i++;
    if (i == KINDS)
        return REPEATS;
    if (i == y->event_types)
        y->events[y->event_types++] = (struct events){.type = type};
    return y->events[i].count++;
}

static void print_field(FILE *out, const struct event_field *f)
{
    if (f->kind == EVENT_TEXT && f->text && f->text[0])
        fprintf(out, " %s=\"%s\"", f->name, f->text);
    else if ((f->kind == EVENT_COUNT || f->kind == EVENT_PERMILLE) && f->number > 0)
        fprintf(out, " %s=%" PRIu64, f->name, f->number);
}

void stage_summary_event(struct stage_summary *y, const struct event *e)
{
    if (!y || count_event(y, e->type) >= REPEATS || e->severity == EVENT_DEBUG)
        return;
    fprintf(y->out, "  %s %s", e->type, e->subject);
    for (uint32_t i = 0; i < e->field_count; i++)
        print_field(y->out, &e->fields[i]);
    fputc('\n', y->out);
}

/* Prints the number of events of each type that has too many to be printed. */
static void print_event_counts(struct stage_summary *y)
{
    for (unsigned i = 0; i < y->event_types; i++)
        if (y->events[i].count > REPEATS || strcmp(y->events[i].type, "trap-received") == 0)
            fprintf(y->out, "  events %s %" PRIu64 "\n", y->events[i].type, y->events[i].count);
    y->event_types = 0;
}

/* ---- MADs ---- */

void stage_summary_mad(struct stage_summary *y, const uint8_t *bytes)
{
    if (!y)
        return;
    struct mads kind = {
        .mgmt_class = bytes[1], .method = bytes[3], .attr = (uint16_t)(bytes[16] << 8 | bytes[17])};
    unsigned i = 0;
    while (i < y->mad_kinds && (y->mads[i].mgmt_class != kind.mgmt_class ||
                                y->mads[i].method != kind.method || y->mads[i].attr != kind.attr))
        i++;
    if (i == KINDS)
        return;
    if (i == y->mad_kinds)
        y->mads[y->mad_kinds++] = kind;
    y->mads[i].count++;
}

static int by_kind(const void *left, const void *right)
{
    const struct mads *x = left, *y = right;
    if (x->mgmt_class != y->mgmt_class)
        return x->mgmt_class < y->mgmt_class ? -1 : 1;
    if (x->attr != y->attr)
        return x->attr < y->attr ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

static const char *name_of(const struct mads *m, char room[8])
{
    static const struct {
        uint16_t id;
        const char *name;
    } tables[] = {{FAB_ATTR_NODE_DESC, "NodeDescription"},
                  {FAB_ATTR_PKEY_TABLE, "P_KeyTable"},
                  {FAB_ATTR_SL2VL, "SLtoVLMappingTable"},
                  {FAB_ATTR_VLARB, "VLArbitrationTable"},
                  {FAB_ATTR_LFT, "LFT"},
                  {FAB_ATTR_MFT, "MFT"}};
    const struct fab_attr *attr = fab_wire_attr_of_class(m->mgmt_class, m->attr);
    if (attr)
        return attr->name;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (tables[i].id == m->attr)
            return tables[i].name;
    snprintf(room, 8, "0x%04x", m->attr);
    return room;
}

static void print_mads(struct stage_summary *y)
{
    qsort(y->mads, y->mad_kinds, sizeof(y->mads[0]), by_kind);
    for (unsigned i = 0; i < y->mad_kinds; i++) {
        const struct mads *m = &y->mads[i];
        char room[8];
        const char *method = m->method == FAB_METHOD_GET            ? "Get"
                             : m->method == FAB_METHOD_SET          ? "Set"
                             : m->method == FAB_METHOD_TRAP_REPRESS ? "TrapRepress"
                                                                    : "Response";
        fprintf(y->out, "  sent %s %s %s %" PRIu64 "\n",
                m->mgmt_class == FAB_CLASS_SMP_DIRECTED ? "directed" : "by LID", method,
                name_of(m, room), m->count);
    }
    y->mad_kinds = 0;
}

/* ---- costs of the manager ---- */

static uint64_t count_before(const struct stage_summary *y, const struct sm_phase_time *t)
{
    for (uint32_t i = 0; i < y->phase_count; i++)
        if (y->phases[i].round == t->round && y->phases[i].phase == t->phase)
            return y->phases[i].count;
    return 0;
}

/* Prints a line for each kind of round that ran, with the number of rounds. Most phases ran as
 * often as the phase before them. Only the others are named, with their numbers. */
static void print_phases(struct stage_summary *y, const struct sm *sm)
{
    struct sm_phase_time now[SM_PHASE_TIMES_MAX];
    uint32_t count = sm_phase_times(sm, now);
    uint64_t last = 0;
    bool begun = false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t more = now[i].count - count_before(y, &now[i]);
        if (i == 0 || now[i].round != now[i - 1].round) {
            fputs(begun ? "\n" : "", y->out);
            last = 0;
            begun = false;
        }
        if (more == last)
            continue;
        if (begun)
            fprintf(y->out, ", %s %" PRIu64, now[i].phase, more);
        else
            fprintf(y->out, "  %s %" PRIu64, now[i].round, more);
        begun = true;
        last = more;
    }
    fputs(begun ? "\n" : "", y->out);
    memcpy(y->phases, now, count * sizeof(now[0]));
    y->phase_count = count;
}

/* Prints how much a counter of the manager has grown since the last statement; nothing if it has
 * not. */
static void print_change(struct stage_summary *y, const char *name, uint64_t before, uint64_t now)
{
    if (now != before)
        fprintf(y->out, "  %s %" PRIu64 "\n", name, now - before);
}

static void print_status(struct stage_summary *y, const struct sm *sm)
{
    struct sm_status now = {0}, *was = &y->status;
    struct sm_contingencies plans = {0};
    sm_get_status(sm, &now);
    sm_get_contingencies(sm, &plans);
    print_change(y, "SMPs retried", was->smps_retried, now.smps_retried);
    print_change(y, "SMPs timed out", was->smps_timed_out, now.smps_timed_out);
    print_change(y, "links lost", was->links_lost, now.links_lost);
    print_change(y, "links gained", was->links_gained, now.links_gained);
    print_change(y, "traps repressed", was->traps.repressed, now.traps.repressed);
    print_change(y, "traps refused", was->traps.refused, now.traps.refused);
    print_change(y, "traps unconfirmed", was->traps.unconfirmed, now.traps.unconfirmed);
    print_change(y, "background proofs", was->proof.proofs, now.proof.proofs);
    if (now.generation == was->generation)
        ;
    else if (plans.cases == 0)
        fprintf(y->out, "  generation %" PRIu64 "\n", now.generation);
    else
        fprintf(y->out, "  generation %" PRIu64 ", contingencies %u of %u, kept %u\n",
                now.generation, plans.current, plans.cases, plans.kept);
    *was = now;
}

static const char *if_true(bool is, const char *word)
{
    return is ? word : "";
}

/* Prints the links that are held down or isolated, and the ports that are disabled or
 * unresponsive. */
static void print_exceptions(FILE *out, const struct sm *sm)
{
    static struct sm_flapping flap[LIST];
    static struct sm_isolation gone[LIST];
    static struct sm_unresponsive port[LIST];
    uint32_t flaps = sm_flapping(sm, flap, LIST), isolations = sm_isolations(sm, gone, LIST);
    uint32_t ports = sm_unresponsive_ports(sm, port, LIST);
    for (uint32_t i = 0; i < flaps && i < LIST; i++)
        fprintf(out, "  flaps %" PRIu64 " %s - %s%s%s%s %" PRIu64 " s\n", flap[i].flaps,
                flap[i].place[0], flap[i].place[1], if_true(flap[i].flapping, " flapping"),
                if_true(flap[i].held_down, " held down"), if_true(flap[i].up, " up"),
                flap[i].hold_us / 1000000);
    for (uint32_t i = 0; i < isolations && i < LIST; i++)
        fprintf(out, "  isolated %s - %s%s%s\n", gone[i].place[0], gone[i].place[1],
                if_true(!gone[i].out, " reinstated"), if_true(gone[i].operated, " by hand"));
    for (uint32_t i = 0; i < ports && i < LIST; i++)
        fprintf(out, "  unresponsive %s\n", port[i].place);
}

/* Prints the reroutes since the last statement, newest first. */
static void print_reroutes(struct stage_summary *y, const struct sm *sm)
{
    struct reroute list[LIST];
    uint32_t count = sm_reroutes(sm, 0, list, LIST);
    for (uint32_t i = 0; i < count && list[i].generation > y->status.generation; i++) {
        const struct reroute *r = &list[i];
        fprintf(y->out, "  reroute: %s, %s, entries %u blocks %u switches %u failed %u", r->cause,
                r->engine, r->entries, r->blocks, r->switches, r->failed);
        fprintf(y->out, " links -%u +%u nodes -%u +%u pairs %" PRIu64 "\n", r->links_lost,
                r->links_gained, r->nodes_lost, r->nodes_gained, r->lost_pairs);
    }
}

static void print_tables(struct stage_summary *y, struct stage *s)
{
    size_t len;
    uint8_t *tables = stage_tables(s, &len);
    uint64_t hash = tables ? golden_hash(GOLDEN_HASH, tables, len) : 0;
    free(tables);
    if (hash != y->tables)
        fprintf(y->out, "  tables %016" PRIx64 "\n", hash);
    y->tables = hash;
}

/* Prints what happened since the last statement. */
static void print_since(struct stage *s)
{
    struct stage_summary *y = s->summary;
    print_event_counts(y);
    if (s->sm) {
        print_phases(y, s->sm);
        print_reroutes(y, s->sm);
        print_status(y, s->sm);
    }
    print_mads(y);
    print_tables(y, s);
    if (s->sm)
        print_exceptions(y->out, s->sm);
}

void stage_summary_line(struct stage *s, const struct scenario_line *line)
{
    if (!s->summary || strcmp(line->verb->name, "expect") == 0)
        return;
    print_since(s);
    fprintf(s->summary->out, "%s", line->verb->name);
    for (unsigned i = 0; i < line->word_count; i++)
        fprintf(s->summary->out, " %s", line->words[i]);
    fputc('\n', s->summary->out);
}

void stage_summary_manager_goes(struct stage *s)
{
    if (!s->summary || !s->sm)
        return;
    print_since(s);
    s->summary->phase_count = 0;
    s->summary->status = (struct sm_status){0};
}

void stage_summary_free(struct stage_summary *y)
{
    free(y);
}
