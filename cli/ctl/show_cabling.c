/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/show_cabling.h"

#include <inttypes.h>
#include <string.h>

#include "libfabmgr/cabling/name.h"

#define TEXT_LEN 700

/* ---- ports ----------------------------------------------------------------------------------- */

const char *show_cabling_port(const struct fab_cabling_check *c, uint32_t port,
                              char text[SHOW_CABLING_PORT])
{
    snprintf(text, SHOW_CABLING_PORT, "%s/%u", fab_cabling_site_of(c, port)->name,
             fab_cabling_port_number(c, port));
    return text;
}

static void link_text(const struct fab_cabling_check *c, uint32_t a, uint32_t b,
                      char text[TEXT_LEN])
{
    char first[SHOW_CABLING_PORT], second[SHOW_CABLING_PORT];
    snprintf(text, TEXT_LEN, "%s - %s", show_cabling_port(c, a, first),
             show_cabling_port(c, b, second));
}

static void mode_text(struct fab_link_modes mode, char text[32])
{
    snprintf(text, 32, "%ux %s", fab_wire_best_lanes(mode.widths),
             fab_wire_best_speed(mode.speeds));
}

/* Writes the keys of a port, such as a_node, a_port and a_rack. */
static void say_port_keys(struct out *o, const struct fab_cabling_check *c, const char *prefix,
                          uint32_t port)
{
    char node[32], number[32], rack[32];
    snprintf(node, sizeof node, "%snode", prefix);
    snprintf(number, sizeof number, "%sport", prefix);
    snprintf(rack, sizeof rack, "%srack", prefix);
    if (port == FAB_NONE) {
        out_none(o, node, NULL);
        out_none(o, number, NULL);
        out_none(o, rack, NULL);
        return;
    }
    out_text(o, node, NULL, OUT_PLAIN, fab_cabling_site_of(c, port)->name);
    out_number(o, number, NULL, OUT_PLAIN, fab_cabling_port_number(c, port));
    out_text(o, rack, NULL, OUT_PLAIN, fab_cabling_site_of(c, port)->rack);
}

static void say_group(struct out *o, uint32_t group)
{
    if (group == FAB_NONE)
        out_none(o, "group", NULL);
    else
        out_number(o, "group", NULL, OUT_PLAIN, group);
}

/* ---- differences ----------------------------------------------------------------------------- */

static const struct out_column difference_columns[] = {
    {"a_rack", "RACK", false},
    {"kind", "PROBLEM", false},
    {"cable", "CABLE", false},
    {"expected", "PLANNED", false},
};
#define DIFFERENCE_COLUMNS (sizeof difference_columns / sizeof *difference_columns)

static bool is_of_node(enum fab_cabling_kind kind)
{
    return kind == FAB_CABLING_ABSENT || kind == FAB_CABLING_DUPLICATE_NAME;
}

static void expected_rate(const struct fab_cabling_difference *d, char text[TEXT_LEN])
{
    char planned[32], now[32];
    struct fab_link_modes want = d->planned_rate;
    if (want.widths == 0)
        want.widths = d->rate.widths;
    if (want.speeds == 0)
        want.speeds = d->rate.speeds;
    mode_text(want, planned);
    mode_text(d->rate, now);
    snprintf(text, TEXT_LEN, "%s; the link runs at %s", planned, now);
}

static void expected_node(const struct fab_cabling_difference *d, char text[TEXT_LEN])
{
    if (d->kind == FAB_CABLING_ABSENT && d->nodes > 1)
        snprintf(text, TEXT_LEN, "%" PRIu32 " links of %" PRIu32 " nodes; none is in the fabric",
                 d->count, d->nodes);
    else if (d->kind == FAB_CABLING_ABSENT)
        snprintf(text, TEXT_LEN, "%" PRIu32 " links; the node is not in the fabric", d->count);
    else
        snprintf(text, TEXT_LEN, "a name of one node; %" PRIu32 " nodes have it", d->count);
}

static void expected(const struct fab_cabling_check *c, const struct fab_cabling_difference *d,
                     char text[TEXT_LEN])
{
    if (is_of_node(d->kind))
        expected_node(d, text);
    else if (d->kind == FAB_CABLING_WRONG_WIDTH || d->kind == FAB_CABLING_WRONG_SPEED)
        expected_rate(d, text);
    else if (d->kind == FAB_CABLING_MISSING)
        snprintf(text, TEXT_LEN, "a cable; it is missing, or the link is down");
    else if (d->planned_a != FAB_NONE)
        link_text(c, d->a, d->planned_a, text);
    else if (d->planned_b != FAB_NONE)
        link_text(c, d->planned_b, d->b, text);
    else
        snprintf(text, TEXT_LEN, "no cable");
}

/* Writes what the difference is about: a cable, a node, or a host with all its adapters. */
static void subject(const struct fab_cabling_check *c, const struct fab_cabling_difference *d,
                    char text[TEXT_LEN])
{
    const struct fab_cabling_site *s = fab_cabling_site_of(c, d->a);
    if (!is_of_node(d->kind))
        link_text(c, d->a, d->b, text);
    else if (d->nodes > 1)
        snprintf(text, TEXT_LEN, "%.*s", (int)fab_cabling_system_len(s->key), s->key);
    else
        snprintf(text, TEXT_LEN, "%s", s->name);
}

static enum out_tone tone_of(enum fab_cabling_kind kind)
{
    return kind == FAB_CABLING_MISSING || kind == FAB_CABLING_ABSENT ? OUT_WARN : OUT_BAD;
}

static void say_difference(struct out *o, const struct fab_cabling_check *c,
                           const struct fab_cabling_difference *d, bool racks)
{
    char text[TEXT_LEN];
    const char *kind = fab_cabling_kind_name(d->kind);
    out_row(o);
    if (racks)
        out_text(o, NULL, "RACK", OUT_PLAIN, fab_cabling_site_of(c, d->a)->rack);
    out_text(o, "kind", "PROBLEM", tone_of(d->kind), kind);
    say_port_keys(o, c, "a_", d->a);
    say_port_keys(o, c, "b_", is_of_node(d->kind) ? FAB_NONE : d->b);
    say_port_keys(o, c, "planned_a_", d->planned_a);
    say_port_keys(o, c, "planned_b_", d->planned_b);
    subject(c, d, text);
    out_text(o, NULL, "CABLE", OUT_PLAIN, text);
    expected(c, d, text);
    out_text(o, "planned", "PLANNED", OUT_PLAIN, text);
    say_group(o, d->group);
    out_row_end(o);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static const struct out_column move_columns[] = {
    {"rack", "RACK", false},
    {"job", "JOB", true},
    {"text", "WHAT TO DO", false},
};
#define MOVE_COLUMNS (sizeof move_columns / sizeof *move_columns)

/* Returns true if the move replaces an unknown host by the planned one. */
static bool replaces_host(const struct fab_cabling_check *c, const struct fab_cabling_move *m)
{
    const struct fab_cabling_site *from = fab_cabling_site_of(c, m->a);
    return m->step == FAB_CABLING_MOVE && from->planned == FAB_NONE && !from->is_switch &&
           !fab_cabling_site_of(c, m->b)->is_switch;
}

static void step_text(const struct fab_cabling_check *c, const struct fab_cabling_move *m,
                      char text[TEXT_LEN])
{
    char a[SHOW_CABLING_PORT], b[SHOW_CABLING_PORT], other[SHOW_CABLING_PORT];
    show_cabling_port(c, m->a, a);
    show_cabling_port(c, m->b, b);
    if (m->other != FAB_NONE)
        show_cabling_port(c, m->other, other);
    if (replaces_host(c, m))
        snprintf(text, TEXT_LEN,
                 "connect %s to %s instead of %s, which is not in the plan (or give it the planned "
                 "name)",
                 b, other, a);
    else if (m->step == FAB_CABLING_MOVE)
        snprintf(text, TEXT_LEN, "move the cable end from %s to %s (other end: %s)", a, b, other);
    else if (m->step == FAB_CABLING_EXCHANGE)
        snprintf(text, TEXT_LEN, "swap the cables at %s and %s", a, b);
    else if (m->step == FAB_CABLING_CONNECT)
        snprintf(text, TEXT_LEN, "connect %s to %s (cable missing or dead)", a, b);
    else
        snprintf(text, TEXT_LEN, "remove the cable between %s and %s", a, b);
}

static const char *step_name(enum fab_cabling_step step)
{
    static const char *const names[] = {"swap", "move", "connect", "remove"};
    return names[step];
}

static void say_move(struct out *o, const struct fab_cabling_check *c,
                     const struct fab_cabling_move *m, unsigned job, bool racks)
{
    char text[TEXT_LEN];
    const char *rack = fab_cabling_site_of(c, m->a)->rack;
    out_row(o);
    if (racks)
        out_text(o, NULL, "RACK", OUT_PLAIN, rack);
    out_number(o, "job", "JOB", OUT_DIM, job);
    out_text(o, "step", NULL, OUT_PLAIN, step_name(m->step));
    say_port_keys(o, c, "a_", m->a);
    say_port_keys(o, c, "b_", m->b);
    say_port_keys(o, c, "other_", m->other);
    step_text(c, m, text);
    out_text(o, "text", "WHAT TO DO", OUT_PLAIN, text);
    say_group(o, m->group);
    out_row_end(o);
}

/* ---- nodes that have exchanged their places -------------------------------------------------- */

/* Writes the name of a switch or host. The name of a host does not include its adapters. */
static const char *unit_text(const struct fab_cabling_check *c, uint32_t site,
                             char text[SHOW_CABLING_PORT])
{
    const struct fab_cabling_site *s = &c->sites[site];
    if (s->is_switch)
        snprintf(text, SHOW_CABLING_PORT, "%s", s->name);
    else
        snprintf(text, SHOW_CABLING_PORT, "%.*s", (int)fab_cabling_system_len(s->key), s->key);
    return text;
}

static void say_exchanges(struct out *o, const struct fab_cabling_check *c)
{
    char a[SHOW_CABLING_PORT], b[SHOW_CABLING_PORT];
    if (c->exchange_count > 0)
        out_note(o, OUT_PLAIN, "%s", "");
    out_table(o, "exchanged_nodes", NULL, 0, false);
    for (size_t i = 0; i < c->exchange_count; i++) {
        const struct fab_cabling_exchange *x = &c->exchanges[i];
        out_row(o);
        out_text(o, "a", NULL, OUT_PLAIN, unit_text(c, x->a, a));
        out_text(o, "b", NULL, OUT_PLAIN, unit_text(c, x->b, b));
        out_number(o, "cables", NULL, OUT_PLAIN, x->cables);
        out_row_end(o);
    }
    out_table_end(o);
    for (size_t i = 0; i < c->exchange_count; i++)
        out_note(
            o, OUT_WARN,
            "%s and %s have exchanged %" PRIu32
            " cables, port by port: perhaps each is in the place of the other, or has its name.",
            unit_text(c, c->exchanges[i].a, a), unit_text(c, c->exchanges[i].b, b),
            c->exchanges[i].cables);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool knows_racks(const struct fab_cabling_check *c)
{
    for (uint32_t i = 0; i < c->site_count; i++)
        if (c->sites[i].rack[0] != '\0')
            return true;
    return false;
}

/* Which rows and columns of the lists are printed. */
struct extent {
    /* true: also list planned links without a cable, and nodes that are not in the fabric */
    bool missing;
    bool racks;  /* true: print a column with the rack */
    size_t most; /* maximum number of rows; 0: all */
};

/* Counts one more row of a list in *count. Returns true if the row may be printed; before the first
 * row, prints a blank line. */
static bool may_say(struct out *o, const struct extent *x, size_t *count)
{
    if (*count == 0)
        out_note(o, OUT_PLAIN, "%s", "");
    return (*count)++ < x->most || x->most == 0;
}

static void say_rest(struct out *o, const struct extent *x, size_t count)
{
    if (x->most > 0 && count > x->most)
        out_note(o, OUT_DIM, "and %zu more", count - x->most);
}

static void say_differences(struct out *o, const struct fab_cabling_check *c,
                            const struct extent *x)
{
    size_t count = 0;
    out_table(o, "differences", difference_columns + !x->racks, DIFFERENCE_COLUMNS - !x->racks,
              false);
    for (size_t i = 0; i < c->difference_count; i++) {
        const struct fab_cabling_difference *d = &c->differences[i];
        bool missing = d->kind == FAB_CABLING_MISSING || d->kind == FAB_CABLING_ABSENT;
        if ((x->missing || !missing) && may_say(o, x, &count))
            say_difference(o, c, d, x->racks);
    }
    out_table_end(o);
    say_rest(o, x, count);
}

static void say_moves(struct out *o, const struct fab_cabling_check *c, const struct extent *x)
{
    size_t count = 0;
    unsigned job = 0;
    uint32_t group = FAB_NONE;
    out_table(o, "moves", move_columns + !x->racks, MOVE_COLUMNS - !x->racks, false);
    for (size_t i = 0; i < c->moves.count; i++) {
        const struct fab_cabling_move *m = &c->moves.moves[i];
        if (!x->missing && m->step == FAB_CABLING_CONNECT)
            continue;
        job += m->group != group;
        group = m->group;
        if (may_say(o, x, &count))
            say_move(o, c, m, job, x->racks);
    }
    out_table_end(o);
    say_rest(o, x, count);
}

void show_cabling_lists(struct out *o, const struct fab_cabling_check *c, bool missing, size_t most)
{
    const struct extent x = {.missing = missing, .racks = knows_racks(c), .most = most};
    say_differences(o, c, &x);
    say_moves(o, c, &x);
    say_exchanges(o, c);
}

/* ---- summary --------------------------------------------------------------------------------- */

static void say_nodes(struct out *o, const struct fab_cabling_check *c)
{
    uint32_t planned = c->plan->node_count;
    uint32_t found = planned - c->matched[FAB_CABLING_UNMATCHED];
    uint32_t place = c->matched[FAB_CABLING_BY_PLACE], guid = c->matched[FAB_CABLING_BY_GUID];
    char how[100] = "";
    if (place + guid > 0)
        snprintf(how, sizeof how,
                 ": %" PRIu32 " by name, %" PRIu32 " by GUID, %" PRIu32 " by place",
                 c->matched[FAB_CABLING_BY_NAME], guid, place);
    out_textf(o, "Nodes", found == planned ? OUT_GOOD : OUT_WARN,
              "%" PRIu32 " of %" PRIu32 " planned nodes are in the fabric%s", found, planned, how);
    out_number(o, "planned_nodes", NULL, OUT_PLAIN, planned);
    out_number(o, "nodes_by_name", NULL, OUT_PLAIN, c->matched[FAB_CABLING_BY_NAME]);
    out_number(o, "nodes_by_guid", NULL, OUT_PLAIN, guid);
    out_number(o, "nodes_by_place", NULL, OUT_PLAIN, place);
}

/* Prints the nodes whose names in the fabric and in the plan differ. */
static void say_other_names(struct out *o, const struct fab_cabling_check *c)
{
    static const struct out_column columns[] = {{"node", "", false}};
    const struct fab_cabling_site *example = NULL;
    out_table(o, "other_names", columns, 0, false);
    for (uint32_t i = 0; i < c->site_count; i++) {
        const struct fab_cabling_site *s = &c->sites[i];
        if (s->match != FAB_CABLING_BY_PLACE)
            continue;
        char guid[24];
        snprintf(guid, sizeof guid, "0x%016" PRIx64, c->fabric->nodes[s->observed].guid);
        example = example != NULL ? example : s;
        out_row(o);
        out_text(o, "node", NULL, OUT_PLAIN, s->name);
        out_text(o, "name", NULL, OUT_PLAIN, c->fabric->nodes[s->observed].name);
        out_text(o, "guid", NULL, OUT_PLAIN, guid);
        out_row_end(o);
    }
    out_table_end(o);
    if (example != NULL)
        out_textf(o, "Names", OUT_WARN,
                  "%" PRIu32 " nodes have other names than planned, such as %s: \"%s\", GUID "
                  "0x%016" PRIx64,
                  c->matched[FAB_CABLING_BY_PLACE], example->name,
                  c->fabric->nodes[example->observed].name,
                  c->fabric->nodes[example->observed].guid);
}

/* Prints the number of differences of each kind, such as "2 swapped, 1 missing". */
static void say_kinds(struct out *o, const struct fab_cabling_check *c)
{
    char line[300] = "";
    size_t len = 0;
    for (unsigned i = 0; i < FAB_CABLING_KINDS; i++)
        if (c->kinds[i] > 0 && len < sizeof line)
            len += (size_t)snprintf(line + len, sizeof line - len, "%s%" PRIu32 " %s",
                                    len > 0 ? ", " : "", c->kinds[i], fab_cabling_kind_name(i));
    if (len > 0)
        out_textf(o, "Differences", OUT_BAD, "%s", line);
    else
        out_textf(o, "Differences", OUT_GOOD, "none: the fabric is cabled as planned");
    out_record(o, "kinds");
    for (unsigned i = 0; i < FAB_CABLING_KINDS; i++)
        if (c->kinds[i] > 0)
            out_number(o, fab_cabling_kind_name(i), NULL, OUT_PLAIN, c->kinds[i]);
    out_record_end(o);
}

void show_cabling(struct out *o, const struct fab_cabling_check *c)
{
    uint32_t planned = c->plan->link_count;
    out_record(o, NULL);
    out_text(o, "format", NULL, OUT_PLAIN, c->plan->format);
    say_nodes(o, c);
    say_other_names(o, c);
    out_textf(o, "Links", c->correct == planned ? OUT_GOOD : OUT_WARN,
              "%" PRIu32 " of %" PRIu32 " planned links are up and as planned", c->correct,
              planned);
    out_number(o, "planned_links", NULL, OUT_PLAIN, planned);
    out_number(o, "correct_links", NULL, OUT_PLAIN, c->correct);
    say_kinds(o, c);
    if (c->moves.count > 0)
        out_textf(o, "Moves", OUT_PLAIN, "%zu; the steps of one job are made in their order",
                  c->moves.count);
    show_cabling_lists(o, c, true, 0);
    out_record_end(o);
}
