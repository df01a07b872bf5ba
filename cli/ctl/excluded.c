/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/excluded.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/v1/drain.pb-c.h"
#include "fabric/v1/link.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/text.h"

static int call(struct session *s, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *reply, void *ret,
                struct fab_client_error *ret_error)
{
    ProtobufCMessage *m = NULL;
    fab_client_call(s->client, method, request, reply, &m, ret_error);
    *(ProtobufCMessage **)ret = m;
    return ret_error->code == FAB_GRPC_OK ? EXIT_OK : EXIT_FAILED;
}

static int no_memory(struct fab_client_error *ret_error)
{
    ret_error->code = FAB_GRPC_RESOURCE_EXHAUSTED;
    snprintf(ret_error->message, sizeof ret_error->message, "out of memory");
    return EXIT_FAILED;
}

/* Connects two ports and sets their width and speed. Does nothing if a port has another link now,
 * or if a node is not in the fabric any more. */
static int add_link(struct fab_builder *b, const Fabric__V1__PortRef *const ends[2],
                    const Fabric__V1__LinkRate *rate)
{
    struct fab_port_info info = {.port_state = FAB_STATE_ACTIVE, .phys_state = FAB_PHYS_LINKUP};
    char text[40] = "";
    uint32_t ref[2];
    for (unsigned i = 0; i < 2; i++)
        if (fab_fabric_builder_find_node(b, strtoull(ends[i]->node_guid, NULL, 16), &ref[i]) < 0)
            return FAB_OK;
    int rc = fab_fabric_builder_link(b, ref[0], (uint8_t)ends[0]->port_number, ref[1],
                                     (uint8_t)ends[1]->port_number);
    if (rc != FAB_OK)
        return rc == FAB_E_NOMEM ? rc : FAB_OK;
    if (rate != NULL)
        snprintf(text, sizeof text, "%ux %s", rate->width, rate->speed);
    fab_fabric_text_parse_rate(text, strlen(text), &info);
    for (unsigned i = 0; i < 2 && rc == FAB_OK; i++)
        rc = fab_fabric_builder_set_port(b, ref[i], (uint8_t)ends[i]->port_number, 0, &info);
    return rc;
}

/* Asks the manager for the port `x`. If the link between `x` and `y` is physically up, but routes
 * avoid it now, adds this link. Returns the exit code. */
static int add_if_excluded(struct session *s, struct fab_builder *b, const Fabric__V1__PortRef *x,
                           const Fabric__V1__PortRef *y, struct fab_client_error *ret_error)
{
    const Fabric__V1__PortRef *const ends[2] = {x, y};
    Fabric__V1__GetPortRequest q = FABRIC__V1__GET_PORT_REQUEST__INIT;
    Fabric__V1__GetPortResponse *r = NULL;
    if (x == NULL || y == NULL)
        return EXIT_OK;
    q.node = x->node_guid;
    q.port_number = x->port_number;
    int rc = call(s, "fabric.v1.FabricService/GetPort", &q.base,
                  &fabric__v1__get_port_response__descriptor, &r, ret_error);
    if (ret_error->code == FAB_GRPC_NOT_FOUND)
        return EXIT_OK;
    if (rc == EXIT_OK && r->port != NULL && r->port->excluded[0] != '\0' &&
        r->port->physical_state == FABRIC__V1__PHYSICAL_STATE__PHYSICAL_STATE_LINK_UP &&
        add_link(b, ends, r->port->rate) != FAB_OK)
        rc = no_memory(ret_error);
    free_reply(r);
    return rc;
}

static int add_isolated(struct session *s, struct fab_builder *b,
                        struct fab_client_error *ret_error)
{
    Fabric__V1__ListUnhealthyLinksRequest q = FABRIC__V1__LIST_UNHEALTHY_LINKS_REQUEST__INIT;
    Fabric__V1__ListUnhealthyLinksResponse *r = NULL;
    int rc = call(s, "fabric.v1.FabricService/ListUnhealthyLinks", &q.base,
                  &fabric__v1__list_unhealthy_links_response__descriptor, &r, ret_error);
    for (size_t i = 0; rc == EXIT_OK && i < r->n_links; i++)
        if (r->links[i]->isolated && !r->links[i]->in_routes)
            rc = add_if_excluded(s, b, r->links[i]->a, r->links[i]->b, ret_error);
    free_reply(r);
    return rc;
}

static int add_held_down(struct session *s, struct fab_builder *b,
                         struct fab_client_error *ret_error)
{
    const Fabric__V1__ListFlappingLinksRequest q = FABRIC__V1__LIST_FLAPPING_LINKS_REQUEST__INIT;
    Fabric__V1__ListFlappingLinksResponse *r = NULL;
    int rc = call(s, "fabric.v1.FabricService/ListFlappingLinks", &q.base,
                  &fabric__v1__list_flapping_links_response__descriptor, &r, ret_error);
    for (size_t i = 0; rc == EXIT_OK && i < r->n_links; i++)
        if (r->links[i]->held_down && r->links[i]->up)
            rc = add_if_excluded(s, b, r->links[i]->a, r->links[i]->b, ret_error);
    free_reply(r);
    return rc;
}

/* Adds the links of those ports in `page`, a reply of ListPorts, that are in maintenance and
 * physically up. The port state does not tell whether the link is up: if the cable was replugged
 * during the maintenance, the port is in state Init. Returns NOMEM. */
static int add_drained_ports(struct fab_builder *b, const Fabric__V1__ListPortsResponse *page)
{
    int rc = FAB_OK;
    for (size_t i = 0; i < page->n_ports && rc == FAB_OK; i++) {
        const Fabric__V1__Port *p = page->ports[i];
        const Fabric__V1__PortRef *const ends[2] = {p->port, p->last_peer};
        if (strcmp(p->excluded, "in maintenance") == 0 && p->port != NULL && p->last_peer != NULL &&
            p->physical_state == FABRIC__V1__PHYSICAL_STATE__PHYSICAL_STATE_LINK_UP)
            rc = add_link(b, ends, p->rate);
    }
    return rc;
}

/* Adds the links that routes avoid because of a drain. ListDrains does not name these links, but
 * ListPorts shows their ports as "in maintenance". */
static int add_drained(struct session *s, struct fab_builder *b, struct fab_client_error *ret_error)
{
    const Fabric__V1__ListDrainsRequest drains = FABRIC__V1__LIST_DRAINS_REQUEST__INIT;
    Fabric__V1__ListDrainsResponse *d = NULL;
    Fabric__V1__ListPortsRequest q = FABRIC__V1__LIST_PORTS_REQUEST__INIT;
    Fabric__V1__ListPortsResponse *page = NULL, *last = NULL;
    int rc = call(s, "fabric.v1.FabricService/ListDrains", &drains.base,
                  &fabric__v1__list_drains_response__descriptor, &d, ret_error);
    bool more = rc == EXIT_OK && d->n_drains > 0;
    free_reply(d);
    while (more && rc == EXIT_OK) {
        rc = call(s, "fabric.v1.FabricService/ListPorts", &q.base,
                  &fabric__v1__list_ports_response__descriptor, &page, ret_error);
        free_reply(last);
        last = page;
        if (rc == EXIT_OK && add_drained_ports(b, page) != FAB_OK)
            rc = no_memory(ret_error);
        more = rc == EXIT_OK && page->next_page_token[0] != '\0';
        q.page_token = more ? page->next_page_token : q.page_token;
    }
    free_reply(last);
    return rc;
}

int add_excluded_links(struct session *s, struct fab_builder *b, struct fab_client_error *ret_error)
{
    int rc = add_isolated(s, b, ret_error);
    if (rc == EXIT_OK)
        rc = add_held_down(s, b, ret_error);
    return rc == EXIT_OK ? add_drained(s, b, ret_error) : rc;
}
