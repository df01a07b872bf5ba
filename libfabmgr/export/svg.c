/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a picture of the switches and the links between them, without other programs.
 *
 * One line stands for all links between two switches. If the counters of ports are known, colour
 * and width of the line show the load of the busiest of these links in its busier direction;
 * otherwise its width shows the number of links. The line is dashed if one of these links is
 * degraded or not up. Such lines, and lines with a high load, are drawn over the others. A frame
 * around leaves stands for their rack. Each switch and line has a title, which viewers show under
 * the mouse pointer, with names and figures.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/export/layout.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/svg/svg.h"
#include "libfabmgr/wire/wire.h"

#define BOX 22u /* width and height in pixels of the square that stands for a switch */
/* maximum number of names shown in a row; in longer rows, the names are only in the titles */
#define LABELS_MAX 64u
#define LETTER 6.0 /* mean width in pixels of a letter in the legend */

/* The classes of load. from: minimum load of the class, in per mille of the rate of the link */
static const struct {
    uint16_t from;
    const char *name;
} loads[] = {{0, "< 10 %"},    {100, "10-25 %"}, {250, "25-50 %"},
             {500, "50-75 %"}, {750, "75-90 %"}, {900, "> 90 %"}};
#define LOADS (sizeof loads / sizeof *loads)
/* A line with a load of at least BUSY is drawn over lines with a lower load, and a line with a load
 * of at least HOT over both. */
#define BUSY 500u
#define HOT 750u
#define PASSES 4u

static const char rules[] =
    ".line { fill: none } line { stroke: #8a99a8; stroke-opacity: 0.55 }\n"
    "line.l0, .key.l0 { stroke: #9fb3c8 } line.l1, .key.l1 { stroke: #3a9bd6 }\n"
    "line.l2, .key.l2 { stroke: #009e73 } line.l3, .key.l3 { stroke: #d9a400 }\n"
    "line.l4, .key.l4 { stroke: #d55e00 } line.l5, .key.l5 { stroke: #b0003a }\n"
    ".l2, .l3, .l4, .l5 { stroke-opacity: 0.9 }\n"
    "line.degraded, .key.degraded { stroke: #e08a00; stroke-opacity: 1; stroke-dasharray: 8 3 }\n"
    "line.down, .key.down { stroke: #c4302b; stroke-opacity: 1; stroke-dasharray: 2 3 }\n"
    ".key { stroke-width: 4; fill: none }\n"
    "rect.switch { fill: #dfe8f2; stroke: #34506b }\n"
    "rect.silent { fill: #ffd9d9; stroke: #c4302b }\n"
    "rect.rack { fill: none; stroke: #9aa5b1; stroke-dasharray: 4 3 }\n"
    "text.in { fill: #202020 }\n";

/* ---- head and legend ------------------------------------------------------------------------- */

/* Appends an entry of the legend at position *x, and moves *x past it. */
static void add_key(struct fab_text *t, double *x, const char *class, const char *name)
{
    fab_base_text_addf(t, "<path class=\"key %s\" d=\"M%.0f 60h24\"/>", class, *x);
    fab_base_text_addf(t, "<text x=\"%.0f\" y=\"64\">", *x + 30);
    fab_svg_add_escaped(t, name);
    fab_base_text_add(t, "</text>\n");
    *x += 46 + LETTER * (double)strlen(name);
}

static void add_legend(const struct fab_export *e, struct fab_text *t)
{
    double x = 110;
    char class[] = "l0";
    fab_base_text_add(t, "<text class=\"dim\" x=\"16\" y=\"64\">load of links</text>\n");
    for (size_t i = 0; e->in.load != NULL && i < LOADS; i++) {
        class[1] = (char)('0' + i);
        add_key(t, &x, class, loads[i].name);
    }
    if (e->in.load == NULL)
        add_key(t, &x, "l0", "not known: the counters were not read twice");
    add_key(t, &x, "degraded", "degraded");
    add_key(t, &x, "down", "not up");
}

static void begin_svg(const struct fab_export *e, struct fab_text *t)
{
    const struct fab_export_picture *p = e->picture;
    char title[120];
    snprintf(title, sizeof title, "%u switches, %u links, generation %" PRIu64,
             e->in.fabric->switch_count, e->in.fabric->link_count, e->in.generation);
    fab_svg_begin(t, p->width, p->height, title, rules);
    fab_base_text_addf(t, "<g transform=\"scale(%.2f)\">\n", p->scale);
    fab_base_text_addf(
        t, "<text x=\"16\" y=\"26\" font-size=\"15\" font-weight=\"bold\">%s</text>\n", title);
    fab_base_text_add(t, "<text class=\"dim\" x=\"16\" y=\"44\">A box is a switch with the number "
                         "of its hosts, red if its agent does not answer; a line is all links of "
                         "two switches.</text>\n");
    add_legend(e, t);
    fab_base_text_add(t, "</g>\n<g font-size=\"9\">\n");
}

/* ---- links ----------------------------------------------------------------------------------- */

/* A line, which shows all links between two switches. */
struct line {
    uint32_t links;
    bool degraded, down;
    /* greatest load of a link towards the second switch (`there`), and towards the first (`back`),
     * in per mille of its rate; FAB_EXPORT_NO_LOAD: not known */
    uint16_t there, back;
};

static uint16_t greater(uint16_t a, uint16_t b)
{
    return b != FAB_EXPORT_NO_LOAD && (a == FAB_EXPORT_NO_LOAD || b > a) ? b : a;
}

/* Returns the line for all links from the switch of `port` to the switch at the other end. `port`
 * must be the first port with such a link. */
static struct line line_of(const struct fab_export *e, uint32_t port)
{
    const struct fab_fabric *f = e->in.fabric;
    uint32_t s = fab_fabric_port(f, port)->node, peer = fab_export_peer_switch(f, port);
    uint32_t last = f->nodes[s].first_port + f->nodes[s].num_ports;
    struct line l = {.there = FAB_EXPORT_NO_LOAD, .back = FAB_EXPORT_NO_LOAD};
    for (uint32_t k = port; k <= last; k++) {
        if (fab_export_peer_switch(f, k) != peer)
            continue;
        l.links++;
        l.degraded = l.degraded || fab_fabric_link_is_degraded(f, k);
        l.down = l.down || !fab_fabric_port_is_up(f, k);
        if (e->in.load != NULL) {
            l.there = greater(l.there, e->in.load[k]);
            l.back = greater(l.back, e->in.load[fab_fabric_port(f, k)->peer]);
        }
    }
    return l;
}

/* Returns the number of the pass in which a line is drawn. Later passes draw over earlier ones. */
static unsigned pass_of(const struct line *l)
{
    uint16_t load = greater(l->there, l->back);
    if (l->down || l->degraded)
        return 3;
    return load == FAB_EXPORT_NO_LOAD ? 0 : load >= HOT ? 2 : load >= BUSY ? 1 : 0;
}

static void add_class(struct fab_text *t, const struct line *l)
{
    uint16_t load = greater(l->there, l->back);
    size_t i = LOADS;
    while (load != FAB_EXPORT_NO_LOAD && i > 1 && load < loads[i - 1].from)
        i--;
    if (l->down)
        fab_base_text_add(t, " class=\"down\"");
    else if (l->degraded)
        fab_base_text_add(t, " class=\"degraded\"");
    else if (load != FAB_EXPORT_NO_LOAD)
        fab_base_text_addf(t, " class=\"l%zu\"", i - 1);
}

static double width_of(const struct fab_export *e, const struct line *l)
{
    uint16_t load = greater(l->there, l->back);
    if (load == FAB_EXPORT_NO_LOAD)
        return l->links < 8 ? l->links : 8;
    double thin = e->picture->thin, width = (1.2 + (load < 1000 ? load : 1000) / 200.0) * thin;
    return l->down || l->degraded ? width + 1.3 : width;
}

static void add_load(struct fab_text *t, uint16_t load)
{
    if (load == FAB_EXPORT_NO_LOAD)
        fab_base_text_add(t, "?");
    else
        fab_base_text_addf(t, "%.1f %%", load / 10.0);
}

static void add_title(const struct fab_export *e, uint32_t port, const struct line *l,
                      struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_port_info *info = &fab_fabric_port(f, port)->info;
    fab_base_text_add(t, "<title>");
    fab_svg_add_escaped(t, f->nodes[fab_fabric_port(f, port)->node].name);
    fab_base_text_add(t, " - ");
    fab_svg_add_escaped(t, f->nodes[fab_export_peer_switch(f, port)].name);
    fab_base_text_addf(t, ": %u link%s, %ux %s%s", l->links, l->links == 1 ? "" : "s",
                       fab_wire_link_width(info), fab_wire_link_speed(info),
                       l->down       ? ", not all up"
                       : l->degraded ? ", degraded"
                                     : "");
    if (greater(l->there, l->back) != FAB_EXPORT_NO_LOAD) {
        fab_base_text_add(t, ", load ");
        add_load(t, l->there);
        fab_base_text_add(t, " there, ");
        add_load(t, l->back);
        fab_base_text_add(t, " back");
    }
    fab_base_text_add(t, "</title>");
}

static void add_line(const struct fab_export *e, uint32_t port, const struct line *l,
                     struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    const struct fab_export_spot *a = &e->picture->spots[fab_fabric_port(f, port)->node];
    const struct fab_export_spot *b = &e->picture->spots[fab_export_peer_switch(f, port)];
    fab_base_text_addf(t, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke-width=\"%.2f\"",
                       a->x, a->y, b->x, b->y, width_of(e, l));
    add_class(t, l);
    fab_base_text_add(t, ">");
    add_title(e, port, l, t);
    fab_base_text_add(t, "</line>\n");
}

/* Appends the lines of one pass from switch s to its neighbours with higher ids. */
static void add_lines(const struct fab_export *e, uint32_t s, unsigned pass, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    uint32_t first = f->nodes[s].first_port + 1,
             last = f->nodes[s].first_port + f->nodes[s].num_ports;
    for (uint32_t port = first; port <= last; port++) {
        uint32_t peer = fab_export_peer_switch(f, port);
        bool seen = false;
        if (peer == FAB_NONE || peer <= s)
            continue;
        for (uint32_t k = first; k < port && !seen; k++)
            seen = fab_export_peer_switch(f, k) == peer;
        if (seen)
            continue;
        const struct line l = line_of(e, port);
        if (pass_of(&l) == pass)
            add_line(e, port, &l, t);
    }
}

/* ---- switches and racks ---------------------------------------------------------------------- */

static void add_switch(const struct fab_export *e, uint32_t s, struct fab_text *t)
{
    const struct fab_export_picture *p = e->picture;
    const struct fab_export_spot *spot = &p->spots[s];
    const struct fab_node *n = &e->in.fabric->nodes[s];
    bool labelled = p->levels <= 1
                        ? e->in.fabric->switch_count <= 4 * LABELS_MAX
                        : p->first[spot->level + 1] - p->first[spot->level] <= LABELS_MAX;
    fab_base_text_addf(t, "<g><title>");
    fab_svg_add_escaped(t, n->name);
    fab_base_text_addf(t, " (0x%016" PRIx64 "): %u hosts%s</title>", n->guid, spot->hosts,
                       n->silent ? ", its agent does not answer" : "");
    fab_base_text_addf(t, "<rect class=\"switch%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>",
                       n->silent ? " silent" : "", spot->x - BOX / 2, spot->y - BOX / 2, BOX, BOX);
    if (spot->hosts > 0)
        fab_base_text_addf(t,
                           "<text class=\"in\" text-anchor=\"middle\" x=\"%u\" y=\"%u\">%u</text>",
                           spot->x, spot->y + 3, spot->hosts);
    if (labelled) {
        uint32_t y = spot->level == 0 ? spot->y + BOX / 2 + 4 : spot->y - BOX / 2 - 4;
        fab_base_text_addf(
            t, "<text style=\"text-anchor: %s\" transform=\"translate(%u %u) rotate(%s)\">",
            spot->level == 0 ? "end" : "start", spot->x + 3, y, "-60");
        fab_svg_add_escaped(t, n->name);
        fab_base_text_add(t, "</text>");
    }
    fab_base_text_add(t, "</g>\n");
}

/* Appends the frame of a rack, if order[i] is the first switch of this rack in the lowest row. */
static void add_rack(const struct fab_export *e, uint32_t i, struct fab_text *t)
{
    const struct fab_export_picture *p = e->picture;
    uint32_t last = i, s = p->order[i];
    const char *rack = fab_export_rack(e, s);
    if (p->levels <= 1 || i >= p->first[1] || rack[0] == '\0' ||
        (i > 0 && strcmp(fab_export_rack(e, p->order[i - 1]), rack) == 0))
        return;
    while (last + 1 < p->first[1] && strcmp(fab_export_rack(e, p->order[last + 1]), rack) == 0)
        last++;
    uint32_t x = p->spots[s].x - BOX / 2 - 3, end = p->spots[p->order[last]].x + BOX / 2 + 3;
    fab_base_text_addf(t, "<rect class=\"rack\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>", x,
                       p->spots[s].y - BOX / 2 - 12, end - x, BOX + 15);
    fab_base_text_addf(t, "<text text-anchor=\"middle\" x=\"%u\" y=\"%u\">", (x + end) / 2,
                       p->spots[s].y - BOX / 2 - 3);
    fab_svg_add_escaped(t, rack);
    fab_base_text_add(t, "</text>\n");
}

static bool write_svg(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    uint64_t count = e->in.fabric->switch_count, at = row > 0 ? row - 1 : 0;
    uint32_t s = count > 0 ? (uint32_t)(at % count) : 0;
    uint64_t part = count > 0 ? at / count : PASSES + 2;
    if (row == 0)
        begin_svg(e, t);
    else if (part < PASSES)
        add_lines(e, s, (unsigned)part, t);
    else if (part == PASSES)
        add_rack(e, s, t);
    else if (part == PASSES + 1)
        add_switch(e, s, t);
    else if (row == (PASSES + 2) * count + 1)
        fab_base_text_add(t, "</g>\n</svg>\n");
    return row <= (PASSES + 2) * count + 1;
}

const struct fab_export_writer fab_export_write_svg = {
    .open = fab_export_picture_new, .write = write_svg, .close = fab_export_picture_free};
