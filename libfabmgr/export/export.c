/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides an export into pieces, and has functions that several formats use. The file formats are
 * defined by existing programs: ibnetdiscover and ibsim (infiniband-diags, ibsim), OpenSM's
 * osm_dump.c, ibdm's subnet and FDB readers (ibutils), Graphviz, Slurm's topology.conf(5) and
 * topology.yaml(5). */
#include "libfabmgr/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/export/writer.h"
#include "libfabmgr/grpc/grpc.h"

static const struct fab_export_writer *const writers[FAB_EXPORT_COUNT] = {
    [FAB_EXPORT_IBNETDISCOVER] = &fab_export_write_ibnetdiscover,
    [FAB_EXPORT_DOT] = &fab_export_write_dot,
    [FAB_EXPORT_JSON] = &fab_export_write_json,
    [FAB_EXPORT_SLURM] = &fab_export_write_slurm,
    [FAB_EXPORT_OPENSM_LST] = &fab_export_write_lst,
    [FAB_EXPORT_OPENSM_FDBS] = &fab_export_write_fdbs,
    [FAB_EXPORT_OPENSM_LFTS] = &fab_export_write_lfts,
    [FAB_EXPORT_OPENSM_SL2VL] = &fab_export_write_sl2vl,
    [FAB_EXPORT_PATH_SLS] = &fab_export_write_path_sls,
    [FAB_EXPORT_CERTIFICATE] = &fab_export_write_certificate,
    [FAB_EXPORT_SVG] = &fab_export_write_svg,
    [FAB_EXPORT_SLURM_BLOCK] = &fab_export_write_slurm_block,
    [FAB_EXPORT_SLURM_YAML] = &fab_export_write_slurm_yaml,
};

int fab_export_new(const struct fab_export_input *in, enum fab_export_format format,
                   struct fab_export **ret)
{
    if ((unsigned)format >= FAB_EXPORT_COUNT || (writers[format]->tables && in->lft == NULL))
        return FAB_E_INVAL;
    struct fab_export *e = calloc(1, sizeof *e);
    if (e == NULL)
        return FAB_E_NOMEM;
    e->in = *in;
    e->writer = writers[format];
    int rc = e->writer->open != NULL ? e->writer->open(e) : FAB_OK;
    if (rc == FAB_OK)
        *ret = e;
    else
        fab_export_free(e);
    return rc;
}

void fab_export_free(struct fab_export *e)
{
    if (e == NULL)
        return;
    if (e->writer->close != NULL)
        e->writer->close(e);
    fab_fabric_unref(e->copy);
    free(e->whole);
    free(e);
}

int fab_export_next(struct fab_export *e, struct fab_text *t, bool *ret_done)
{
    size_t end = t->len + FAB_EXPORT_PIECE;
    bool more = true;
    while (more && t->len < end && t->status == FAB_OK)
        if ((more = e->writer->write(e, e->row, t)))
            e->row++;
    if (t->status == FAB_OK)
        *ret_done = !more;
    return t->status;
}

uint32_t fab_export_lid(const struct fab_export *e, uint32_t port)
{
    const struct fab_fabric *f = e->in.fabric;
    uint32_t node = fab_fabric_port(f, port)->node;
    return e->in.lids->base[fab_fabric_node_is_switch(f, node) ? f->nodes[node].first_port : port];
}

void fab_export_add_quoted(struct fab_text *t, const char *desc)
{
    char clean[3 * FAB_NODE_DESC_LEN + 1];
    fab_grpc_utf8_clean(desc, strlen(desc), clean, sizeof clean);
    fab_base_text_add(t, "\"");
    for (const char *c = clean; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fab_base_text_add(t, "\\");
        fab_base_text_bytes(t, c, 1);
    }
    fab_base_text_add(t, "\"");
}
