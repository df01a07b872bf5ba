/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl path` prints the path of a packet, hop by hop.
 */
#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/route.pb-c.h"

static const struct out_column columns[] = {
    {"hop", "HOP", true},
    {"from", "OUT OF", false},
    {"to", "INTO", false},
    {"rate", "RATE", false},
    /* this column is printed only if the routes use several VLs */
    {"virtual_lane", "VL", true},
};

static bool many_lanes(const Fabric__V1__Path *p)
{
    return p->virtual_lanes > 1;
}

static void say_hop(struct out *o, size_t number, const Fabric__V1__Hop *h, bool lanes)
{
    out_row(o);
    out_number(o, "hop", "HOP", OUT_DIM, number);
    out_port_keys(o, "from_", h->from);
    out_port_keys(o, "to_", h->to);
    out_port(o, "OUT OF", h->from);
    out_port(o, "INTO", h->to);
    out_rate(o, "RATE", h->rate);
    out_rate_keys(o, h->rate);
    out_number(o, "virtual_lane", lanes ? "VL" : NULL, OUT_PLAIN, h->virtual_lane);
    out_row_end(o);
}

static void say_partition(struct out *o, const Fabric__V1__Path *p)
{
    out_keys(o, &p->base, "pkey partition");
    if (p->pkey == 0)
        out_textf(o, "Partition", OUT_BAD, "the two share no partition: packets are dropped");
    else if (p->partition[0] != '\0')
        out_textf(o, "Partition", OUT_PLAIN, "%s (0x%04x)", p->partition, p->pkey);
}

static void say_ends(struct out *o, const Fabric__V1__Path *p)
{
    char from[SHOW_LEN], to[SHOW_LEN];
    show_port(p->source, from);
    show_port(p->destination, to);
    out_textf(o, "From", OUT_PLAIN, "%s, LID %u", from, p->source_lid);
    out_textf(o, "To", OUT_PLAIN, "%s, LID %u", to, p->destination_lid);
    out_port_keys(o, "source_", p->source);
    out_number(o, "source_lid", NULL, OUT_PLAIN, p->source_lid);
    out_port_keys(o, "destination_", p->destination);
    out_number(o, "destination_lid", NULL, OUT_PLAIN, p->destination_lid);
    out_number(o, "service_level", many_lanes(p) ? "SL" : NULL, OUT_PLAIN, p->service_level);
    bool classes = p->traffic_class[0] != '\0';
    out_text(o, "traffic_class", classes ? "Class" : NULL, OUT_PLAIN, p->traffic_class);
    say_partition(o, p);
    out_bool(o, "reachable", NULL, OUT_PLAIN, p->reachable);
    out_text(o, "problem", p->reachable ? NULL : "Problem", OUT_BAD, p->problem);
}

static int say(struct out *o, const Fabric__V1__Path *p)
{
    out_record(o, NULL);
    say_ends(o, p);
    if (p->n_hops == 0 && p->reachable)
        out_note(o, OUT_DIM, "The two are the same port.");
    out_table(o, "hops", columns, sizeof columns / sizeof columns[0] - !many_lanes(p), false);
    for (size_t i = 0; i < p->n_hops; i++)
        say_hop(o, i + 1, p->hops[i], many_lanes(p));
    out_table_end(o);
    out_record_end(o);
    return p->reachable ? EXIT_OK : EXIT_UNSOUND;
}

static int run(struct session *s)
{
    Fabric__V1__TracePathRequest q = FABRIC__V1__TRACE_PATH_REQUEST__INIT;
    Fabric__V1__TracePathResponse *r = NULL;
    q.source = s->argv[0];
    q.destination = s->argv[1];
    int rc = ask(s, "TracePath", &q.base, &fabric__v1__trace_path_response__descriptor, &r);
    if (rc == EXIT_OK && r->path != NULL)
        rc = say(s->out, r->path);
    free_reply(r);
    return rc;
}

const struct cmd cmd_path = {
    .noun = "path",
    .args = "SOURCE DESTINATION",
    .summary = "the path between two endports (name, GUID or LID), hop by hop",
    .min_args = 2,
    .max_args = 2,
    .method = "fabric.v1.FabricService/TracePath",
    .run = run,
};
