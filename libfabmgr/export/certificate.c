/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a certificate that the tables are deadlock-free: a number for each channel (a link between
 * two switches, in one direction, on one VL). The program cli/certificate/fabric-certificate-check
 * reads the file, and checks that all paths pass channels with ascending numbers.
 */
#include <inttypes.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/export/writer.h"

static int open_certificate(struct fab_export *e)
{
    return e->in.numbers != NULL ? FAB_OK : FAB_E_INVAL;
}

static void heading(const struct fab_export *e, struct fab_text *t)
{
    fab_base_text_addf(
        t,
        "certificate 1\n# fabricd: channel numbers of generation %" PRIu64
        ", engine %s. Every packet passes channels with ascending numbers.\n"
        "# Below: node GUID of the switch, port, and the number on each VL.\nvls %u\n",
        e->in.generation, e->in.engine != NULL ? e->in.engine : "-", e->in.numbers->vl_count);
}

/* Writes row number `row`. Row 0 is the heading. Row i + 1 has the numbers of the channels of port
 * id i, one for each VL; it is empty if the port has no channel. Returns false if there is no such
 * row. */
static bool write_certificate(struct fab_export *e, uint64_t row, struct fab_text *t)
{
    const struct fab_fabric *f = e->in.fabric;
    uint32_t vls = e->in.numbers->vl_count;
    if (row > f->port_count)
        return false;
    if (row == 0) {
        heading(e, t);
        return true;
    }
    const struct fab_port *p = fab_fabric_port(f, (uint32_t)(row - 1));
    const uint32_t *number = e->in.numbers->number + (row - 1) * vls;
    if (number[0] == 0)
        return true;
    fab_base_text_addf(t, "0x%016" PRIx64 " %u", f->nodes[p->node].guid, p->num);
    for (uint32_t vl = 0; vl < vls; vl++)
        fab_base_text_addf(t, " %u", number[vl]);
    fab_base_text_add(t, "\n");
    return true;
}

const struct fab_export_writer fab_export_write_certificate = {.open = open_certificate,
                                                               .write = write_certificate};
