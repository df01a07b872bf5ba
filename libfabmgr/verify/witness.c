/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a witness as text. Node descriptions are bytes from the wire: each byte that is not
 * printable is shown as a dot, so that a name can corrupt neither the line nor the terminal.
 */
#include <inttypes.h>

#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/verify/verify.h"

static void add_name(struct fab_text *t, const struct fab_fabric *f, uint32_t node)
{
    char name[FAB_NODE_DESC_LEN + 1];
    size_t len = 0;
    for (; len < FAB_NODE_DESC_LEN && f->nodes[node].name[len] != '\0'; len++) {
        unsigned char c = (unsigned char)f->nodes[node].name[len];
        name[len] = (char)(c >= 0x20 && c < 0x7f ? c : '.');
    }
    name[len] = '\0';
    fab_base_text_addf(t, "%s (0x%016" PRIx64 ")", len > 0 ? name : "no name", f->nodes[node].guid);
}

static void add_hop(struct fab_text *t, const struct fab_fabric *f, const struct fab_witness *w,
                    uint32_t i)
{
    const uint32_t port = w->ports[i];
    const struct fab_port *p = fab_fabric_port(f, port);
    fab_base_text_add(t, "  ");
    add_name(t, f, p->node);
    fab_base_text_addf(t, " port %u", p->num);
    if (p->num == 0) {
        fab_base_text_add(t, "\n");
        return;
    }
    fab_base_text_add(t, " -> ");
    if (p->peer == FAB_NONE || !fab_fabric_port_is_up(f, port))
        fab_base_text_add(t, p->peer == FAB_NONE ? "no cable" : "link down: ");
    if (p->peer != FAB_NONE) {
        add_name(t, f, fab_fabric_port(f, p->peer)->node);
        fab_base_text_addf(t, " port %u", fab_fabric_port(f, p->peer)->num);
    }
    if (w->vls != NULL)
        fab_base_text_addf(t, ", VL %u", w->vls[i]);
    fab_base_text_add(t, "\n");
}

static const char *headline(int kind)
{
    switch (kind) {
    case FAB_OK:
        return "no failure";
    case FAB_E_UNREACHABLE:
        return "unreachable: the last switch has no route, or delivers to another port";
    case FAB_E_LOOP:
        return "loop: the packet comes back to a switch that it passed before";
    case FAB_E_CYCLE:
        return "cycle: each of these links waits for the next one, the last for the first";
    case FAB_E_LIMIT:
        return "too long: the path has more switches than allowed";
    case FAB_E_INVAL:
        return "dead port: a table entry leads to a port without a working link";
    default:
        return "failure";
    }
}

/* Adds a sentence that says which limit of a device the tables exceed. */
static void add_limit(struct fab_text *t, const struct fab_fabric *f, const struct fab_witness *w)
{
    if (fab_fabric_port(f, w->ports[0])->num == 0)
        fab_base_text_addf(
            t, "table too small: LIDs up to %u are in use, and the switch has entries below %u",
            w->need - 1, w->have);
    else
        fab_base_text_addf(
            t,
            "too few VLs: packets take VL %u, and both ends of the link and the policy "
            "allow %u VL%s",
            w->need - 1, w->have, fab_base_plural_s(w->have));
}

int fab_verify_witness_text(const struct fab_fabric *f, const struct fab_witness *w,
                            char **ret_text)
{
    struct fab_text t;
    size_t len;
    fab_base_text_init(&t);
    if (w->kind == FAB_E_LIMIT && w->src == FAB_NONE && w->port_count == 1)
        add_limit(&t, f, w);
    else
        fab_base_text_add(&t, headline(w->kind));
    if (w->kind != FAB_OK && w->src != FAB_NONE && w->dst != FAB_NONE) {
        fab_base_text_add(&t, "\n  from ");
        add_name(&t, f, fab_fabric_port(f, w->src)->node);
        fab_base_text_add(&t, " to ");
        add_name(&t, f, fab_fabric_port(f, w->dst)->node);
        fab_base_text_addf(&t, ", LID %u", w->lid);
    }
    fab_base_text_add(&t, "\n");
    for (uint32_t i = 0; i < w->port_count; i++)
        add_hop(&t, f, w, i);
    return fab_base_text_take(&t, ret_text, &len);
}
