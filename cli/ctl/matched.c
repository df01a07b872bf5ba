/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager compares the names of nodes, ports and hosts with the pattern. This file compares the
 * other names, which are few: the names of racks and drains, and those of nodes that are gone, wait
 * for an approval, or are approved.
 */
#include "cli/ctl/matched.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ctl/show.h"
#include "cli/ctl/show_drain.h"
#include "fabric/v1/baseline.pb-c.h"
#include "fabric/v1/gone.pb-c.h"
#include "fabric/v1/host.pb-c.h"
#include "fabric/v1/link.pb-c.h"
#include "fabric/v1/node.pb-c.h"
#include "libfabmgr/base/glob.h"

int matched_add(struct matched *m, const char *name, const char *argument)
{
    if (m->count == MATCHED_MAX)
        return complain(EXIT_USAGE, "more than %u objects match; choose a narrower pattern",
                        MATCHED_MAX);
    if (m->count == m->room) {
        size_t room = m->room == 0 ? 64 : 2 * m->room;
        struct match *more = reallocarray(m->match, room, sizeof *more);
        if (more == NULL)
            return complain(EXIT_FAILED, "out of memory");
        m->match = more;
        m->room = room;
    }
    struct match new = {strdup(name), strdup(argument != NULL ? argument : name)};
    m->match[m->count++] = new;
    return new.name != NULL &&new.argument != NULL ? EXIT_OK
                                                   : complain(EXIT_FAILED, "out of memory");
}

void matched_fini(struct matched *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->match[i].name);
        free(m->match[i].argument);
    }
    free(m->match);
    *m = (struct matched){0};
}

bool name_matches(const char *pattern, const char *name)
{
    return fab_base_glob_matches(pattern, strlen(pattern), name, strlen(name));
}

bool port_matches(const char *pattern, const Fabric__V1__PortRef *port)
{
    char text[SHOW_LEN];
    if (port == NULL)
        return false;
    show_port(port, text);
    return name_matches(pattern, text) || name_matches(pattern, port->node_name) ||
           fab_base_glob_matches(pattern, strlen(pattern), port->node_name,
                                 strcspn(port->node_name, " "));
}

/* ---- names that the manager compares --------------------------------------------------------- */

static int match_nodes(struct session *s, const char *pattern, Fabric__V1__NodeType type,
                       struct matched *ret)
{
    Fabric__V1__ListNodesRequest q = FABRIC__V1__LIST_NODES_REQUEST__INIT;
    Fabric__V1__ListNodesResponse *r = NULL, *last = NULL;
    int rc;
    q.name = word_of(pattern);
    q.type = type;
    do {
        rc = ask(s, "ListNodes", &q.base, &fabric__v1__list_nodes_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_nodes; i++)
            rc = matched_add(ret, r->nodes[i]->name, r->nodes[i]->guid);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

/* Returns true if the command is about links. For such a command, a pattern matches only ports that
 * have a link, and each link only once. */
static bool is_for_links(const struct session *s)
{
    return strcmp(s->cmd->noun, "link") == 0 ||
           (s->cmd->verb != NULL && strcmp(s->cmd->verb, "link") == 0);
}

static bool has_argument(const struct matched *m, const char *argument)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->match[i].argument, argument) == 0)
            return true;
    return false;
}

static int add_port(struct session *s, const Fabric__V1__Port *p, struct matched *ret)
{
    char name[SHOW_LEN], argument[64], peer[64];
    if (p->port == NULL || p->port->port_number == 0)
        return EXIT_OK;
    if (is_for_links(s)) {
        if (p->peer == NULL)
            return EXIT_OK;
        snprintf(peer, sizeof peer, "%s/%u", p->peer->node_guid, p->peer->port_number);
        if (has_argument(ret, peer))
            return EXIT_OK;
    }
    show_port(p->port, name);
    snprintf(argument, sizeof argument, "%s/%u", p->port->node_guid, p->port->port_number);
    return matched_add(ret, name, argument);
}

static int match_ports(struct session *s, const char *pattern, struct matched *ret)
{
    Fabric__V1__ListPortsRequest q = FABRIC__V1__LIST_PORTS_REQUEST__INIT;
    Fabric__V1__ListPortsResponse *r = NULL, *last = NULL;
    int rc;
    q.node = word_of(pattern);
    do {
        rc = ask(s, "ListPorts", &q.base, &fabric__v1__list_ports_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_ports; i++)
            rc = add_port(s, r->ports[i], ret);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

static int match_hosts(struct session *s, const char *pattern, struct matched *ret)
{
    Fabric__V1__ListHostsRequest q = FABRIC__V1__LIST_HOSTS_REQUEST__INIT;
    Fabric__V1__ListHostsResponse *r = NULL, *last = NULL;
    int rc;
    q.name = word_of(pattern);
    do {
        rc = ask(s, "ListHosts", &q.base, &fabric__v1__list_hosts_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_hosts; i++)
            rc = matched_add(ret, r->hosts[i]->name, NULL);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

/* ---- names that are compared here ------------------------------------------------------------ */

static int match_racks(struct session *s, const char *pattern, struct matched *ret)
{
    const Fabric__V1__ListRacksRequest q = FABRIC__V1__LIST_RACKS_REQUEST__INIT;
    Fabric__V1__ListRacksResponse *r = NULL;
    int rc = ask(s, "ListRacks", &q.base, &fabric__v1__list_racks_response__descriptor, &r);
    for (size_t i = 0; rc == EXIT_OK && i < r->n_racks; i++)
        if (name_matches(pattern, r->racks[i]->name))
            rc = matched_add(ret, r->racks[i]->name, NULL);
    free_reply(r);
    return rc;
}

/* Finds drains of one kind; the first argument of the command names the kind. */
static int match_drains(struct session *s, const char *pattern, struct matched *ret)
{
    const Fabric__V1__ListDrainsRequest q = FABRIC__V1__LIST_DRAINS_REQUEST__INIT;
    Fabric__V1__ListDrainsResponse *r = NULL;
    int rc = ask(s, "ListDrains", &q.base, &fabric__v1__list_drains_response__descriptor, &r);
    for (size_t i = 0; rc == EXIT_OK && i < r->n_drains; i++)
        if (strcmp(show_drain_kind(r->drains[i]->kind), s->argv[0]) == 0 &&
            name_matches(pattern, r->drains[i]->name))
            rc = matched_add(ret, r->drains[i]->name, NULL);
    free_reply(r);
    return rc;
}

static int match_gone(struct session *s, const char *pattern, struct matched *ret)
{
    Fabric__V1__ListGoneNodesRequest q = FABRIC__V1__LIST_GONE_NODES_REQUEST__INIT;
    Fabric__V1__ListGoneNodesResponse *r = NULL, *last = NULL;
    int rc;
    do {
        rc =
            ask(s, "ListGoneNodes", &q.base, &fabric__v1__list_gone_nodes_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_nodes; i++)
            if (name_matches(pattern, r->nodes[i]->name))
                rc = matched_add(ret, r->nodes[i]->name, r->nodes[i]->guid);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

/* Finds nodes for `node approve`: those whose names wait for an approval or, with --forget, those
 * that have a pinned name. */
static int match_pins(struct session *s, const char *pattern, struct matched *ret)
{
    Fabric__V1__ListNodePinsRequest q = FABRIC__V1__LIST_NODE_PINS_REQUEST__INIT;
    Fabric__V1__ListNodePinsResponse *r = NULL, *last = NULL;
    int rc;
    q.waiting_only = !s->forget;
    do {
        rc = ask(s, "ListNodePins", &q.base, &fabric__v1__list_node_pins_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_pins; i++) {
            const char *name = s->forget ? r->pins[i]->pinned_name : r->pins[i]->shown_name;
            if (name_matches(pattern, name))
                rc = matched_add(ret, name, r->pins[i]->guid);
        }
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

/* Returns true if the entry is one of a device in the baseline. */
static bool is_approved(const Fabric__V1__BaselineEntry *e)
{
    return e->state != FABRIC__V1__BASELINE_STATE__BASELINE_STATE_NEW;
}

/* Finds the devices that wait for an approval or, for topo disapprove, the devices of the baseline.
 * The manager lists a device once for each of its ports, but this function adds it only once. */
static int match_baseline(struct session *s, const char *pattern, struct matched *ret)
{
    Fabric__V1__ListBaselineRequest q = FABRIC__V1__LIST_BASELINE_REQUEST__INIT;
    Fabric__V1__ListBaselineResponse *r = NULL, *last = NULL;
    int rc;
    q.waiting_only = strcmp(s->cmd->verb, "approve") == 0;
    do {
        rc = ask(s, "ListBaseline", &q.base, &fabric__v1__list_baseline_response__descriptor, &r);
        free_reply(last);
        last = rc == EXIT_OK ? r : NULL;
        for (size_t i = 0; rc == EXIT_OK && i < r->n_entries; i++)
            if ((q.waiting_only || is_approved(r->entries[i])) &&
                name_matches(pattern, r->entries[i]->name) &&
                !has_argument(ret, r->entries[i]->guid))
                rc = matched_add(ret, r->entries[i]->name, r->entries[i]->guid);
        q.page_token = last != NULL ? last->next_page_token : NULL;
    } while (rc == EXIT_OK && q.page_token[0] != '\0');
    free_reply(last);
    return rc;
}

/* ---- arguments ------------------------------------------------------------------------------- */

typedef int match_fn(struct session *s, const char *pattern, struct matched *ret);

static int match_any_node(struct session *s, const char *pattern, struct matched *ret)
{
    return match_nodes(s, pattern, FABRIC__V1__NODE_TYPE__NODE_TYPE_UNSPECIFIED, ret);
}

static int match_switches(struct session *s, const char *pattern, struct matched *ret)
{
    return match_nodes(s, pattern, FABRIC__V1__NODE_TYPE__NODE_TYPE_SWITCH, ret);
}

/* Returns true if the text ends with "/PORT", where PORT is a number or a pattern for numbers. */
static bool names_ports(const char *text)
{
    const char *slash = strrchr(text, '/');
    return slash != NULL && slash[1] != '\0' &&
           slash[1 + strspn(slash + 1, "0123456789*?[],-")] == '\0';
}

static int match_nodes_or_ports(struct session *s, const char *pattern, struct matched *ret)
{
    return names_ports(pattern) ? match_ports(s, pattern, ret) : match_any_node(s, pattern, ret);
}

static int match_switches_or_ports(struct session *s, const char *pattern, struct matched *ret)
{
    return names_ports(pattern) ? match_ports(s, pattern, ret) : match_switches(s, pattern, ret);
}

static const struct {
    const struct cmd *cmd; /* NULL: all commands */
    const char *usage;
    match_fn *match;
    const char *what; /* noun for the objects, for error messages */
} matchers[] = {
    {&cmd_node_forget, "NODE", match_gone, "node that is gone"},
    {&cmd_node_approve, "NODE", match_pins, "node that waits for an approval"},
    {&cmd_topo_approve, "NODE", match_baseline, "device that waits for an approval"},
    {&cmd_topo_disapprove, "NODE", match_baseline, "approved device"},
    {&cmd_undrain, "NAME", match_drains, "drain of this kind"},
    {&cmd_drain_switch, "NODE", match_switches, "switch"},
    {&cmd_drain_pod, "NODE", match_switches, "switch"},
    {NULL, "NODE", match_any_node, "node"},
    {NULL, "SOURCE", match_any_node, "node"},
    {NULL, "DESTINATION", match_any_node, "node"},
    {NULL, "SWITCH", match_switches, "switch"},
    {NULL, "NODE/PORT", match_ports, "port"},
    {NULL, "NODE[/PORT]", match_nodes_or_ports, "node or port"},
    {NULL, "SWITCH[/PORT]", match_switches_or_ports, "switch or port"},
    {NULL, "HOST", match_hosts, "host"},
    {NULL, "RACK", match_racks, "rack"},
};
#define MATCHERS (sizeof matchers / sizeof matchers[0])

static size_t find_matcher(const struct session *s, const char *usage)
{
    size_t i = 0;
    while (i < MATCHERS && ((matchers[i].cmd != NULL && matchers[i].cmd != s->cmd) ||
                            strcmp(matchers[i].usage, usage) != 0))
        i++;
    return i;
}

bool can_match(const struct session *s, const char *usage)
{
    return find_matcher(s, usage) < MATCHERS;
}

int match_argument(struct session *s, const char *usage, const char *pattern, struct matched *ret)
{
    size_t i = find_matcher(s, usage);
    int rc = matchers[i].match(s, pattern, ret);
    if (rc == EXIT_OK && ret->count == 0)
        rc = complain(EXIT_NOT_FOUND, "no %s matches \"%.200s\"", matchers[i].what, pattern);
    return rc;
}
