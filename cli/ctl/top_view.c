/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The picture shows, from top to bottom: the manager and the fabric, alarms, the busiest ports,
 * links that need attention, the last events, and the keys. The ports get half of the rows that are
 * left for the lists, and the links a quarter, unless a list is shorter.
 */
#include "cli/ctl/top_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/ctl/port_samples.h"
#include "libfabmgr/base/plural.h"

#define PLAIN_ROWS 10u /* number of rows of each list if the output is not a screen */
#define NAME_LEAST 8u
#define NAME_MOST 40u

/* ---- the manager and the fabric -------------------------------------------------------------- */

static void put_label(struct frame *f, const char *label)
{
    frame_cell(f, OUT_DIM, 7, false, label);
}

static void show_clock(char text[16])
{
    time_t now = time(NULL);
    struct tm tm;
    text[0] = '\0';
    if (localtime_r(&now, &tm) != NULL)
        strftime(text, 16, "%H:%M:%S", &tm);
}

static void put_manager(struct frame *f, const Fabric__V1__Status *s)
{
    static const char *const roles[] = {"?", "not active", "discovering", "standby", "master"};
    size_t role = (size_t)s->role < sizeof roles / sizeof *roles ? (size_t)s->role : 0;
    bool master = s->role == FABRIC__V1__MANAGER_ROLE__MANAGER_ROLE_MASTER;
    char up[SHOW_LEN], clock[16];
    show_duration(microseconds_of(s->uptime), up);
    show_clock(clock);
    put_label(f, "Manager");
    frame_put(f, master ? OUT_GOOD : OUT_WARN, roles[role]);
    if (strcmp(roles[role], s->state) != 0)
        frame_putf(f, OUT_PLAIN, ", %s", s->state);
    frame_putf(f, OUT_PLAIN, "; up %s; fabricd %s", up, s->version);
    if (f->column + strlen(clock) + 2 < f->width)
        frame_cell(f, OUT_DIM, f->width - f->column, true, clock);
    frame_end_row(f);
}

static void put_percent(struct frame *f, const char *what, double value)
{
    if (value >= 0)
        frame_putf(f, OUT_PLAIN, "%s %.1f %%, ", what, value);
}

static void put_load(struct frame *f, const struct top_view *v, const Fabric__V1__Status *s)
{
    const Fabric__V1__PacketCounts *p = s->packets;
    put_label(f, "Load");
    put_percent(f, "CPU", v->load.cpu);
    put_percent(f, "event loop", v->load.loop);
    if (s->load != NULL)
        frame_putf(f, OUT_PLAIN, "memory %.0f MiB, ", (double)s->load->resident_bytes / 1048576);
    if (p != NULL)
        frame_putf(f, OUT_PLAIN, "%u of %u SMPs in flight", p->in_flight, p->window);
    frame_end_row(f);
}

static void put_fabric(struct frame *f, const Fabric__V1__FabricCounts *c)
{
    put_label(f, "Fabric");
    if (c == NULL)
        frame_put(f, OUT_WARN, "not known yet");
    else
        frame_putf(f, OUT_PLAIN, "%u switch%s, %u adapter%s, %u link%s", c->switches,
                   fab_base_plural_es(c->switches), c->adapters, fab_base_plural_s(c->adapters),
                   c->links, fab_base_plural_s(c->links));
    if (c != NULL && c->active_links < c->links)
        frame_putf(f, OUT_WARN, ", of which %u active", c->active_links);
    frame_end_row(f);
}

static void put_routing(struct frame *f, const Fabric__V1__Status *s)
{
    const Fabric__V1__RoutingStatus *r = s->routing;
    put_label(f, "Routing");
    if (r == NULL) {
        frame_put(f, OUT_WARN, "no tables yet");
    } else {
        frame_putf(f, OUT_PLAIN, "%s, generation %" PRIu64 "; ", r->engine, s->generation);
        frame_put(f, r->deadlock_free ? OUT_GOOD : OUT_BAD,
                  r->deadlock_free ? "deadlock-free" : "NOT deadlock-free");
        if (r->unreachable_pairs > 0)
            frame_putf(f, OUT_BAD, ", %" PRIu64 " of %" PRIu64 " pairs unreachable",
                       r->unreachable_pairs, r->pairs);
        else
            frame_put(f, OUT_GOOD, ", all pairs reachable");
    }
    frame_end_row(f);
}

static void put_alarm(struct frame *f, enum out_tone tone, const char *label, const char *text)
{
    if (text[0] == '\0')
        return;
    put_label(f, label);
    frame_put(f, tone, text);
    frame_end_row(f);
}

static void put_gone(struct frame *f, const Fabric__V1__Status *s)
{
    if (s->gone_hosts + s->gone_switches + s->gone_others == 0)
        return;
    put_label(f, "Gone");
    frame_putf(f, OUT_WARN, "%u host%s, %u switch%s, %u other in the last 24 h", s->gone_hosts,
               fab_base_plural_s(s->gone_hosts), s->gone_switches,
               fab_base_plural_es(s->gone_switches), s->gone_others);
    frame_end_row(f);
}

static void put_head(struct frame *f, const struct top_view *v)
{
    const Fabric__V1__Status *s = v->data->status != NULL ? v->data->status->status : NULL;
    put_alarm(f, OUT_BAD, "Old", v->alert);
    if (s == NULL)
        return;
    put_manager(f, s);
    put_load(f, v, s);
    put_fabric(f, s->fabric);
    put_routing(f, s);
    put_gone(f, s);
    put_alarm(f, OUT_BAD, "Alarm", s->alarm);
    put_alarm(f, OUT_BAD, "Port", s->device_alarm);
    put_alarm(f, OUT_WARN, "Frozen", s->frozen);
    put_alarm(f, OUT_BAD, "Mcast", s->multicast_alarm);
    put_alarm(f, OUT_BAD, "Store", s->store_alarm);
    put_alarm(f, OUT_BAD, "TLS", s->certificate_alarm);
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* The columns after the names of the ports. Only wide frames have the columns about packets. */
static const struct column {
    const char *label;
    unsigned width;
    bool wide;
    enum sample_value value;
} columns[] = {
    {"SENT", 9, false, SAMPLE_SENT},
    {"RECEIVED", 9, false, SAMPLE_RECEIVED},
    {"PACKETS S", 9, true, SAMPLE_SENT_PACKETS},
    {"PACKETS R", 9, true, SAMPLE_RECEIVED_PACKETS},
    {"WAIT", 6, false, SAMPLE_WAIT},
    {"ERRORS", 6, false, SAMPLE_ERRORS},
};
#define COLUMNS (sizeof columns / sizeof *columns)
#define LOAD_WIDTH 5u
#define WIDE 110u

static bool is_shown(const struct frame *f, const struct column *c)
{
    return !c->wide || f->width >= WIDE;
}

/* Returns the number of columns for the name of a port. */
static unsigned name_width(const struct frame *f)
{
    unsigned others = LOAD_WIDTH + 2;
    for (size_t i = 0; i < COLUMNS; i++)
        others += is_shown(f, &columns[i]) ? columns[i].width + 2 : 0;
    unsigned left = f->width + 2 > others ? (f->width + 2 - others) / 2 : 0;
    unsigned width = left > 2 ? left - 2 : 0;
    return width < NAME_LEAST ? NAME_LEAST : width > NAME_MOST ? NAME_MOST : width;
}

static void put_port_head(struct frame *f, unsigned name)
{
    frame_cell(f, OUT_DIM, name, false, "PORT");
    frame_cell(f, OUT_DIM, name, false, "PEER");
    frame_cell(f, OUT_DIM, LOAD_WIDTH, true, "LOAD");
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(f, &columns[i]))
            frame_cell(f, OUT_DIM, columns[i].width, true, columns[i].label);
    frame_end_row(f);
}

static void put_value(struct frame *f, const struct column *c, const Fabric__V1__PortSample *m)
{
    char text[SAMPLE_LEN];
    uint64_t value = sample_value(m, c->value);
    bool error = c->value == SAMPLE_ERRORS && value > 0;
    show_sample_value(c->value, value, text);
    frame_cell(f, error ? OUT_WARN : value == 0 ? OUT_DIM : OUT_PLAIN, c->width, true, text);
}

/* Appends the name of a port. If the name is too long, shortens the name of the node, but keeps the
 * port number. */
static void put_name(struct frame *f, const Fabric__V1__PortRef *port, unsigned width)
{
    char name[SHOW_LEN], number[16];
    show_port(port, name);
    if (strlen(name) > width && width > 6) {
        snprintf(number, sizeof number, "~/%u", port->port_number % 1000);
        memcpy(name + width - strlen(number), number, strlen(number) + 1);
    }
    frame_cell(f, OUT_PLAIN, width, false, name);
}

static void put_port(struct frame *f, const Fabric__V1__TopPort *p, unsigned name)
{
    static const Fabric__V1__PortSample none = FABRIC__V1__PORT_SAMPLE__INIT;
    char load[16] = "-";
    double used = top_utilisation(p);
    if (used >= 0)
        snprintf(load, sizeof load, "%.0f %%", used);
    put_name(f, p->port, name);
    put_name(f, p->peer, name);
    frame_cell(f, used >= 90 ? OUT_WARN : OUT_PLAIN, LOAD_WIDTH, true, load);
    for (size_t i = 0; i < COLUMNS; i++)
        if (is_shown(f, &columns[i]))
            put_value(f, &columns[i], p->sample != NULL ? p->sample : &none);
    frame_end_row(f);
}

static void put_ports(struct frame *f, const struct top_view *v, unsigned rows)
{
    static const char *const by[] = {"data", "data", "packets", "wait", "errors"};
    const struct top_data *d = v->data;
    unsigned name = name_width(f);
    size_t rank = (size_t)v->by < sizeof by / sizeof *by ? (size_t)v->by : 0;
    frame_putf(f, OUT_GOOD, "BUSIEST PORTS");
    frame_putf(f, OUT_PLAIN, " by %s", by[rank]);
    if (d->ports != NULL && d->ports->n_ports > 0)
        frame_putf(f, OUT_DIM, ", of %u", d->ports->total);
    else
        frame_putf(f, OUT_DIM, ": %s", d->no_ports);
    frame_end_row(f);
    if (d->ports == NULL || d->ports->n_ports == 0)
        return;
    put_port_head(f, name);
    for (size_t i = 0; i < d->ports->n_ports && i + 2 < rows; i++)
        put_port(f, d->ports->ports[i], name);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Appends how many links have each state. The list is sorted by state. */
static void put_link_title(struct frame *f, const struct top_data *d)
{
    frame_put(f, OUT_GOOD, "LINKS");
    if (d->link_count == 0)
        frame_put(f, OUT_DIM, ": none is down, flapping, isolated, unhealthy or degraded");
    for (size_t i = 0; i < d->link_count;) {
        size_t first = i;
        while (i < d->link_count && strcmp(d->links[i].state, d->links[first].state) == 0)
            i++;
        frame_putf(f, d->links[first].tone, "%s %zu %s", first > 0 ? "," : "", i - first,
                   d->links[first].state);
    }
    if (d->more_links)
        frame_put(f, OUT_DIM, ", and more");
    frame_end_row(f);
}

static void put_link(struct frame *f, const struct top_link *l, unsigned name)
{
    frame_cell(f, l->tone, 9, false, l->state);
    put_name(f, l->a, name);
    put_name(f, l->b, name);
    frame_put(f, OUT_PLAIN, l->why);
    frame_end_row(f);
}

static unsigned longest_name(const struct top_data *d, size_t count)
{
    char name[SHOW_LEN];
    size_t longest = NAME_LEAST;
    for (size_t i = 0; i < d->link_count && i < count; i++)
        for (int end = 0; end < 2; end++) {
            show_port(end == 0 ? d->links[i].a : d->links[i].b, name);
            longest = strlen(name) > longest ? strlen(name) : longest;
        }
    return (unsigned)longest;
}

static void put_links(struct frame *f, const struct top_view *v, unsigned rows)
{
    const struct top_data *d = v->data;
    unsigned most = f->width > 40 ? (f->width - 20) / 3 : NAME_LEAST, name = longest_name(d, rows);
    put_link_title(f, d);
    for (size_t i = 0; i < d->link_count && i + 1 < rows; i++)
        put_link(f, &d->links[i], name < most ? name : most);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_event(struct frame *f, const Fabric__V1__Event *e)
{
    char at[SHOW_LEN];
    show_time(e->time, at);
    enum out_tone tone = tone_severity(e->severity);
    frame_cell(f, OUT_DIM, 8, false, strlen(at) > 11 ? at + 11 : at);
    frame_cell(f, tone, 7, false, show_severity(e->severity));
    frame_put(f, OUT_PLAIN, e->message[0] != '\0' ? e->message : e->type);
    frame_end_row(f);
}

/* Appends the events, the newest first. If there is not enough room, the oldest events are left
 * out. */
static void put_events(struct frame *f, const struct top_view *v, unsigned rows)
{
    const Fabric__V1__ListEventsResponse *r = v->data->events;
    size_t count = r != NULL ? r->n_events : 0;
    frame_put(f, OUT_GOOD, "EVENTS");
    frame_put(f, OUT_DIM, count == 0 ? ": none" : ", the newest first");
    frame_end_row(f);
    for (size_t i = 0; i < count && i + 1 < rows; i++)
        put_event(f, r->events[i]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_keys(struct frame *f, const struct top_view *v)
{
    while (frame_left(f) > 1)
        frame_end_row(f);
    frame_put(f, OUT_DIM, "q quit  sort by: d data  p packets  w wait  e errors   r refresh  ");
    frame_put(f, v->paused ? OUT_WARN : OUT_DIM, v->paused ? "PAUSED (space)" : "space pause");
    frame_end_row(f);
}

static unsigned least(size_t a, size_t b)
{
    return (unsigned)(a < b ? a : b);
}

void top_show(const struct top_view *v, struct frame *f)
{
    const struct top_data *d = v->data;
    bool screen = f->height > 0;
    put_head(f, v);
    if (d->status == NULL || d->status->status == NULL || d->status->status->fabric == NULL) {
        if (screen)
            put_keys(f, v);
        return;
    }
    frame_end_row(f);
    /* number of rows for the lists: three rows are kept for two empty rows and for the row of the
     * keys */
    unsigned rows = screen ? frame_left(f) - (frame_left(f) > 3 ? 3 : frame_left(f)) : 0;
    unsigned links = least(d->link_count + 1, screen ? rows / 4 + 1 : PLAIN_ROWS + 1);
    size_t ports = d->ports != NULL && d->ports->n_ports > 0 ? d->ports->n_ports + 2 : 1;
    unsigned events = rows / 4 + 1;
    unsigned port_rows =
        least(ports, screen ? (rows > links + events ? rows - links - events : 3) : PLAIN_ROWS + 2);
    put_ports(f, v, port_rows);
    frame_end_row(f);
    put_links(f, v, links);
    frame_end_row(f);
    put_events(f, v, screen ? (frame_left(f) > 0 ? frame_left(f) - 1 : 0) : PLAIN_ROWS + 1);
    if (screen)
        put_keys(f, v);
}
