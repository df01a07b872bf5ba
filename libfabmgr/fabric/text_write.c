/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes topology files as ibnetdiscover prints them. ibsim and fab_fabric_text_read can read them.
 *
 * ibsim attaches a manager to the first node of the file. So the manager's own node is written
 * first; if it is not known, the first adapter is. ibsim reads rates from the comments. To adapter
 * ports, it gives the node GUID plus the port number as GUIDs, and ignores the GUIDs in
 * parentheses. Control characters of descriptions become blanks.
 */
#include <inttypes.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/fabric/rate.h"
#include "libfabmgr/fabric/text.h"

static const struct {
    const char *header, *guid;
    char letter;
} types[] = {
    [FAB_NODE_CA] = {"Ca", "caguid", 'H'},
    [FAB_NODE_SWITCH] = {"Switch", "switchguid", 'S'},
    [FAB_NODE_ROUTER] = {"Rt", "rtguid", 'R'},
};

static void write_desc(struct fab_text *t, const struct fab_node *n)
{
    char clean[sizeof n->desc];
    memcpy(clean, n->desc, sizeof clean);
    for (char *c = clean; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    fab_base_text_addf(t, "\"%s\"", clean);
}

/* Returns the LID that ibnetdiscover prints for a port; for any port of a switch, this is the LID
 * of port 0. */
static unsigned lid_of(const struct fab_fabric *f, const struct fab_port *p)
{
    const struct fab_node *n = &f->nodes[p->node];
    return n->type == FAB_NODE_SWITCH ? fab_fabric_port(f, n->first_port)->info.lid : p->info.lid;
}

static void write_header(struct fab_text *t, const struct fab_fabric *f, uint32_t id)
{
    const struct fab_node *n = &f->nodes[id];
    const struct fab_port_info *own = &fab_fabric_port(f, n->first_port)->info;
    fab_base_text_addf(t, "vendid=0x%x\ndevid=0x%x\nsysimgguid=0x%" PRIx64 "\n%s=0x%" PRIx64,
                       n->info.vendor_id, n->info.device_id, n->info.system_guid,
                       types[n->type].guid, n->guid);
    if (fab_fabric_node_is_switch(f, id))
        fab_base_text_addf(t, "(%" PRIx64 ")", fab_fabric_port(f, n->first_port)->guid);
    fab_base_text_addf(t, "\n%s\t%u \"%c-%016" PRIx64 "\"\t\t# ", types[n->type].header,
                       n->num_ports, types[n->type].letter, n->guid);
    write_desc(t, n);
    if (fab_fabric_node_is_switch(f, id))
        fab_base_text_addf(t, " %s port 0 lid %u lmc %u",
                           f->switches[id].enhanced_port0 ? "enhanced" : "base", own->lid,
                           own->lmc);
    fab_base_text_add(t, "\n");
}

static void write_cable(struct fab_text *t, const struct fab_fabric *f, const struct fab_port *p)
{
    const struct fab_port *peer = fab_fabric_port(f, p->peer);
    const struct fab_node *n = &f->nodes[p->node], *far = &f->nodes[peer->node];
    fab_base_text_addf(t, "[%u]", p->num);
    if (n->type != FAB_NODE_SWITCH)
        fab_base_text_addf(t, "(%" PRIx64 ") ", p->guid);
    fab_base_text_addf(t, "\t\"%c-%016" PRIx64 "\"[%u]", types[far->type].letter, far->guid,
                       peer->num);
    if (far->type != FAB_NODE_SWITCH)
        fab_base_text_addf(t, "(%" PRIx64 ") ", peer->guid);
    fab_base_text_add(t, "\t\t# ");
    if (n->type != FAB_NODE_SWITCH)
        fab_base_text_addf(t, "lid %u lmc %u ", p->info.lid, p->info.lmc);
    write_desc(t, far);
    fab_base_text_addf(t, " lid %u %s%s\n", lid_of(f, peer), fab_fabric_rate_width_name(&p->info),
                       fab_fabric_rate_speed_name(&p->info));
}

static void write_node(struct fab_text *t, const struct fab_fabric *f, uint32_t id)
{
    const struct fab_node *n = &f->nodes[id];
    write_header(t, f, id);
    for (uint32_t i = 1; i <= n->num_ports; i++)
        if (fab_fabric_port(f, n->first_port + i)->peer != FAB_NONE)
            write_cable(t, f, fab_fabric_port(f, n->first_port + i));
    fab_base_text_add(t, "\n");
}

static void write_top(struct fab_text *t, const struct fab_fabric *f)
{
    fab_base_text_addf(t,
                       "#\n# Topology file: %u switches, %u adapters and routers, %u cables\n#\n",
                       f->switch_count, f->node_count - f->switch_count, f->link_count);
    if (f->self_port != FAB_NONE)
        fab_base_text_addf(t, "# Initiated from node %016" PRIx64 " port %016" PRIx64 "\n",
                           f->nodes[fab_fabric_port(f, f->self_port)->node].guid,
                           fab_fabric_port(f, f->self_port)->guid);
    fab_base_text_add(t, "\n");
}

uint32_t fab_fabric_text_parts(const struct fab_fabric *f)
{
    return f->node_count + 1;
}

void fab_fabric_text_write_part(const struct fab_fabric *f, uint32_t part, struct fab_text *t)
{
    uint32_t first =
        f->self_port != FAB_NONE ? fab_fabric_port(f, f->self_port)->node : f->switch_count;
    if (part == 0)
        write_top(t, f);
    else if (first >= f->node_count) /* there are only switches */
        write_node(t, f, part - 1);
    else if (part == 1)
        write_node(t, f, first);
    else
        write_node(t, f, part - 2 < first ? part - 2 : part - 1);
}

int fab_fabric_text_write(const struct fab_fabric *f, char **ret_text, size_t *ret_len)
{
    struct fab_text t;
    fab_base_text_init(&t);
    for (uint32_t part = 0; part < fab_fabric_text_parts(f); part++)
        fab_fabric_text_write_part(f, part, &t);
    return fab_base_text_take(&t, ret_text, ret_len);
}
