/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl path` prints the path of a packet, hop by hop. If the source or the
 * destination is a list of hosts, or a host with several adapters, the command prints a table with
 * a row for each pair. If both are hosts with several adapters, adapters of the same rail are
 * paired.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/job.h"
#include "cli/ctl/matched.h"
#include "cli/ctl/show.h"
#include "fabric/v1/host.pb-c.h"
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

/* ---- pairs ----------------------------------------------------------------------------------- */

#define PAIRS_MOST 100000u

static const struct out_column pair_columns[] = {
    {"source_node", "SOURCE", false},   {"destination_node", "DESTINATION", false},
    {"switches", "SWITCHES", true},     {"service_level", "SL", true},
    {"slowest_mbps", "SLOWEST", false}, {"problem", "PROBLEM", false},
};

/* Returns the rate of the slowest link of the path; NULL: no rate is known. */
static const Fabric__V1__LinkRate *slowest(const Fabric__V1__Path *p)
{
    const Fabric__V1__LinkRate *least = NULL;
    for (size_t i = 0; i < p->n_hops; i++)
        if (p->hops[i]->rate != NULL && (least == NULL || p->hops[i]->rate->mbps < least->mbps))
            least = p->hops[i]->rate;
    return least;
}

static void say_pair(struct out *o, const Fabric__V1__Path *p)
{
    const Fabric__V1__LinkRate *rate = slowest(p);
    char text[SHOW_LEN] = "";
    if (rate != NULL)
        show_rate(rate, text);
    out_row(o);
    out_text(o, "source_node", "SOURCE", OUT_PLAIN, p->source != NULL ? p->source->node_name : "");
    out_text(o, "destination_node", "DESTINATION", OUT_PLAIN,
             p->destination != NULL ? p->destination->node_name : "");
    out_number(o, "source_lid", NULL, OUT_PLAIN, p->source_lid);
    out_number(o, "destination_lid", NULL, OUT_PLAIN, p->destination_lid);
    out_number(o, "switches", "SWITCHES", OUT_PLAIN, p->n_hops > 0 ? p->n_hops - 1 : 0);
    out_number(o, "service_level", "SL", OUT_PLAIN, p->service_level);
    out_number(o, "slowest_mbps", NULL, OUT_PLAIN, rate != NULL ? rate->mbps : 0);
    out_text(o, NULL, "SLOWEST", OUT_PLAIN, text);
    out_bool(o, "reachable", NULL, OUT_PLAIN, p->reachable);
    out_text(o, "problem", "PROBLEM", OUT_BAD, p->reachable ? "" : p->problem);
    out_row_end(o);
}

/* Prints the row of a pair whose source or destination is not in the fabric. */
static void say_missing(struct out *o, char *source, char *destination, char *problem)
{
    Fabric__V1__Path p = FABRIC__V1__PATH__INIT;
    Fabric__V1__PortRef from = FABRIC__V1__PORT_REF__INIT, to = FABRIC__V1__PORT_REF__INIT;
    from.node_name = source;
    to.node_name = destination;
    p.source = &from;
    p.destination = &to;
    p.problem = problem;
    say_pair(o, &p);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* An endport of a host. */
struct end {
    char name[80]; /* GUID of the adapter, and "/PORT" */
    uint32_t rail, port;
};
/* What a source or destination stands for: all endports of a host, or a single endport. */
struct ends {
    struct end *end; /* [count] */
    size_t count;
    bool host; /* true: a host with several endports */
};

/* Asks the manager for the endports of the host `text`. If `text` is not the name of a host with
 * several endports, *ret has one endport with the name `text`. Returns the exit code. */
static int find_host_ends(struct session *s, const char *text, struct ends *ret)
{
    Fabric__V1__GetHostRequest q = FABRIC__V1__GET_HOST_REQUEST__INIT;
    struct fab_client_error error;
    ProtobufCMessage *m = NULL;
    q.host = word_of(text);
    size_t room = 1;
    const Fabric__V1__Host *h = NULL;
    if (strlen(text) < sizeof ret->end->name &&
        fab_client_call(s->client, "fabric.v1.FabricService/GetHost", &q.base,
                        &fabric__v1__get_host_response__descriptor, &m, &error) == FAB_GRPC_OK)
        h = ((const Fabric__V1__GetHostResponse *)m)->host;
    /* GetHost also accepts the name of an adapter, and returns its host; but such a name means only
     * this adapter */
    bool host = h != NULL && strcasecmp(h->name, text) == 0;
    for (size_t i = 0; host && i < h->n_adapters; i++)
        room += h->adapters[i]->n_ports;
    *ret = (struct ends){.end = calloc(room, sizeof *ret->end)};
    for (size_t i = 0; host && ret->end != NULL && i < h->n_adapters; i++)
        for (size_t k = 0; k < h->adapters[i]->n_ports; k++) {
            const Fabric__V1__HostPort *p = h->adapters[i]->ports[k];
            struct end *e = &ret->end[ret->count];
            if (p->lid == 0)
                continue;
            snprintf(e->name, sizeof e->name, "%s/%u", h->adapters[i]->guid, p->port_number);
            e->rail = h->adapters[i]->rail;
            e->port = p->port_number;
            ret->count++;
        }
    free_reply(m);
    if (ret->end == NULL)
        return complain(EXIT_FAILED, "out of memory");
    ret->host = ret->count > 1;
    if (!ret->host) {
        ret->count = 1;
        snprintf(ret->end[0].name, sizeof ret->end[0].name, "%s", text);
    }
    return EXIT_OK;
}

static bool same_rail(const struct end *a, const struct end *b)
{
    return a->rail == b->rail && a->port == b->port;
}

static bool any_same_rail(const struct ends *a, const struct ends *b)
{
    for (size_t i = 0; a->host && b->host && i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (same_rail(&a->end[i], &b->end[k]))
                return true;
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Asks for the path of one pair of endports. Returns ret_error->code; if it is OK, the caller owns
 * *ret. */
static enum fab_grpc_code trace(struct session *s, char *source, char *destination,
                                Fabric__V1__TracePathResponse **ret,
                                struct fab_client_error *ret_error)
{
    Fabric__V1__TracePathRequest q = FABRIC__V1__TRACE_PATH_REQUEST__INIT;
    ProtobufCMessage *m = NULL;
    q.source = source;
    q.destination = destination;
    enum fab_grpc_code code =
        fab_client_call(s->client, "fabric.v1.FabricService/TracePath", &q.base,
                        &fabric__v1__trace_path_response__descriptor, &m, ret_error);
    *ret = (Fabric__V1__TracePathResponse *)m;
    return code;
}

/* Prints the manager's answer about a pair of endports as a row, and frees the answer. If the pair
 * has no path, sets *unsound to true. Returns the exit code. */
static int say_answer(struct session *s, char *source, char *destination,
                      Fabric__V1__TracePathResponse *r, struct fab_client_error *error,
                      bool *unsound)
{
    if (error->code != FAB_GRPC_OK && error->code != FAB_GRPC_NOT_FOUND)
        return say_error(error);
    if (error->code == FAB_GRPC_NOT_FOUND)
        say_missing(s->out, source, destination, error->message);
    else if (r->path != NULL)
        say_pair(s->out, r->path);
    *unsound |= error->code != FAB_GRPC_OK || r->path == NULL || !r->path->reachable;
    free_reply(r);
    return EXIT_OK;
}

static int ask_ends(struct session *s, char *source, char *destination, bool *unsound)
{
    Fabric__V1__TracePathResponse *r;
    struct fab_client_error error;
    trace(s, source, destination, &r, &error);
    return say_answer(s, source, destination, r, &error, unsound);
}

/* Prints a row for each pair of an endport of the source and an endport of the destination. If both
 * are hosts, and some of these pairs have the same rail and port number at both ends, prints only
 * such pairs. */
static int say_rails(struct session *s, const struct ends *from, const struct ends *to,
                     bool *unsound)
{
    bool by_rail = any_same_rail(from, to);
    int rc = EXIT_OK;
    for (size_t i = 0; i < from->count && rc == EXIT_OK; i++)
        for (size_t k = 0; k < to->count && rc == EXIT_OK; k++)
            if (!by_rail || same_rail(&from->end[i], &to->end[k]))
                rc = ask_ends(s, from->end[i].name, to->end[k].name, unsound);
    return rc;
}

/* A source and a destination, at least one of which is a host with several endports. */
struct host_pair {
    struct ends from, to;
};

static void host_pair_free(struct host_pair *p)
{
    free(p->from.end);
    free(p->to.end);
}

/* Finds the endports of a pair for which the manager refused a path. If neither of the two is a
 * host with several endports, prints the manager's error. Returns the exit code. */
static int find_host_pair(struct session *s, const char *source, const char *destination,
                          const struct fab_client_error *error, struct host_pair *ret)
{
    *ret = (struct host_pair){0};
    int rc = find_host_ends(s, source, &ret->from);
    if (rc == EXIT_OK)
        rc = find_host_ends(s, destination, &ret->to);
    if (rc == EXIT_OK && !ret->from.host && !ret->to.host)
        rc = say_error(error);
    if (rc != EXIT_OK)
        host_pair_free(ret);
    return rc;
}

/* Prints the row of a pair. If the source or the destination is a host with several endports,
 * prints the rows of say_rails. Returns the exit code. */
static int ask_pair(struct session *s, char *source, char *destination, bool *unsound)
{
    Fabric__V1__TracePathResponse *r;
    struct fab_client_error error;
    struct host_pair p;
    if (trace(s, source, destination, &r, &error) != FAB_GRPC_INVALID_ARGUMENT)
        return say_answer(s, source, destination, r, &error, unsound);
    int rc = find_host_pair(s, source, destination, &error, &p);
    if (rc != EXIT_OK)
        return rc;
    rc = say_rails(s, &p.from, &p.to, unsound);
    host_pair_free(&p);
    return rc;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void begin_pairs(struct out *o)
{
    out_record(o, NULL);
    out_table(o, "paths", pair_columns, sizeof pair_columns / sizeof pair_columns[0], false);
}

static void end_pairs(struct out *o)
{
    out_table_end(o);
    out_record_end(o);
}

static int show_hosts(struct session *s, const char *source, const char *destination,
                      const struct fab_client_error *error)
{
    struct host_pair p;
    bool unsound = false;
    int rc = find_host_pair(s, source, destination, error, &p);
    if (rc != EXIT_OK)
        return rc;
    begin_pairs(s->out);
    rc = say_rails(s, &p.from, &p.to, &unsound);
    end_pairs(s->out);
    host_pair_free(&p);
    return rc == EXIT_OK && unsound ? EXIT_UNSOUND : rc;
}

static int show_one(struct session *s, char *source, char *destination)
{
    Fabric__V1__TracePathResponse *r;
    struct fab_client_error error;
    enum fab_grpc_code code = trace(s, source, destination, &r, &error);
    if (code == FAB_GRPC_INVALID_ARGUMENT)
        return show_hosts(s, source, destination, &error);
    if (code != FAB_GRPC_OK)
        return say_error(&error);
    int rc = r->path != NULL ? say(s->out, r->path) : EXIT_OK;
    free_reply(r);
    return rc;
}

static int show_pairs(struct session *s, const struct job *from, const struct job *to)
{
    bool unsound = false;
    int rc = EXIT_OK;
    if ((uint64_t)from->count * to->count > PAIRS_MOST)
        return complain(EXIT_USAGE, "%zu sources and %zu destinations are more than %u pairs",
                        from->count, to->count, PAIRS_MOST);
    begin_pairs(s->out);
    for (size_t i = 0; i < from->count && rc == EXIT_OK; i++)
        for (size_t k = 0; k < to->count && rc == EXIT_OK; k++)
            if (strcmp(from->names[i], to->names[k]) != 0)
                rc = ask_pair(s, from->names[i], to->names[k], &unsound);
    end_pairs(s->out);
    return rc == EXIT_OK && unsound ? EXIT_UNSOUND : rc;
}

/* Lists the sources or destinations that an argument names. An argument with "*" or "?" is a
 * pattern: the function adds the GUID of each adapter or switch whose name matches. Any other
 * argument is a list of names, such as "node[1-4],login1", which the manager looks up later.
 * Brackets without a list of numbers belong to the name. */
static int find_ends(struct session *s, const char *usage, char *text, struct job *ret)
{
    struct matched m = {0};
    if (strpbrk(text, "*?") == NULL)
        return job_expand(ret, text, PAIRS_MOST);
    int rc = match_argument(s, usage, text, &m);
    for (size_t i = 0; rc == EXIT_OK && i < m.count; i++)
        rc = job_expand(ret, m.match[i].argument, PAIRS_MOST);
    matched_fini(&m);
    return rc;
}

static int run(struct session *s)
{
    struct job from = {0}, to = {0};
    int rc = find_ends(s, "SOURCE", s->argv[0], &from);
    if (rc == EXIT_OK)
        rc = find_ends(s, "DESTINATION", s->argv[1], &to);
    if (rc == EXIT_OK && (from.count > 1 || to.count > 1))
        rc = show_pairs(s, &from, &to);
    else if (rc == EXIT_OK)
        rc = show_one(s, from.count == 1 ? from.names[0] : s->argv[0],
                      to.count == 1 ? to.names[0] : s->argv[1]);
    job_fini(&from);
    job_fini(&to);
    return rc;
}

const struct cmd cmd_path = {
    .noun = "path",
    .args = "SOURCE DESTINATION",
    .summary = "the path between two endports, hop by hop, or those of lists of hosts",
    .min_args = 2,
    .max_args = 2,
    .takes_patterns = true,
    .method = "fabric.v1.FabricService/TracePath",
    .json = "=port(source_) source_lid:u16 =port(destination_) destination_lid:u16 "
            "service_level:lane @Path(traffic_class pkey partition) reachable:bool "
            "problem:text hops:[ hop:u32 =port(from_) =port(to_) =rate virtual_lane:lane ] / "
            "paths:[ source_node:text destination_node:text source_lid:u16 "
            "destination_lid:u16 switches:u32 service_level:lane slowest_mbps:u32 "
            "reachable:bool problem:text ]",
    .run = run,
};
