/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports fabrics and tables as files for other programs. An export is made in pieces, because the
 * tables of a large fabric are hundreds of megabytes of text.
 */
#ifndef LIBFABMGR_EXPORT_EXPORT_H
#define LIBFABMGR_EXPORT_EXPORT_H

#include <stdbool.h>

#include "libfabmgr/base/text.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"
#include "libfabmgr/verify/verify.h"

enum fab_export_format {
    FAB_EXPORT_IBNETDISCOVER, /* the output of ibnetdiscover, which ibsim loads */
    FAB_EXPORT_DOT,           /* a graph for the programs of Graphviz */
    FAB_EXPORT_JSON,          /* JSON with the nodes, links and LIDs */
    FAB_EXPORT_SLURM,         /* topology.conf of Slurm's topology/tree */
    FAB_EXPORT_OPENSM_LST,    /* opensm-subnet.lst, for ibdmchk -s */
    FAB_EXPORT_OPENSM_FDBS,   /* opensm.fdbs, for ibdmchk -f */
    /* the file opensm-lfts.dump, which `opensm -R file -U` reads */
    FAB_EXPORT_OPENSM_LFTS,
    FAB_EXPORT_OPENSM_SL2VL, /* opensm-sl2vl.dump, for ibdmchk -d */
    /* the SL of each path, in the form that `ibdmchk -c` reads */
    FAB_EXPORT_PATH_SLS,
    FAB_EXPORT_CERTIFICATE, /* channel numbers, for fabric-certificate-check */
    FAB_EXPORT_SVG,         /* a picture of the switches and their links */
    FAB_EXPORT_SLURM_BLOCK, /* topology.conf of Slurm's topology/block */
    FAB_EXPORT_SLURM_YAML,  /* topology.yaml of Slurm, with a tree and blocks */
    FAB_EXPORT_COUNT
};
struct fab_export_input { /* the input; all pointers must stay valid until fab_export_free */
    /* fabric to export; for the formats SLURM*, it must include the nodes and links that are gone
     * (libfabmgr/fabric/restore.h), so that the file does not change if a link fails */
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    /* the LFTs; required by the formats OPENSM_FDBS and OPENSM_LFTS; for other formats it may be
     * NULL */
    const struct fab_lft *lft;
    const char *engine;  /* name of the routing engine; for JSON and CERTIFICATE */
    uint64_t generation; /* generation of the view; for JSON, CERTIFICATE and SVG */
    /* SLs and VLs of paths, for OPENSM_SL2VL and PATH_SLS; NULL: all SLs use one VL */
    const struct fab_vls *vls;
    /* policy: for OPENSM_SL2VL, for the names of hosts in SLURM*, and for the racks in SVG; NULL:
     * the default policy */
    const struct fab_policy *policy;
    /* numbers of the channels; required by CERTIFICATE; may be NULL for other formats */
    const struct fab_verify_numbers *numbers;
    /* [port_count] for SVG: the load of each port's link in the direction in which the port sends,
     * in per mille of the link's rate; NULL: not known */
    const uint16_t *load;
};
#define FAB_EXPORT_NO_LOAD UINT16_MAX /* value in load[]: the load of the port is not known */
struct fab_export;
/* Begins an export. Returns OK, NOMEM, or INVAL if the format is unknown, or if in->lft or
 * in->numbers is NULL although the format needs it. */
int fab_export_new(const struct fab_export_input *in, enum fab_export_format format,
                   struct fab_export **ret);
void fab_export_free(struct fab_export *e); /* e may be NULL */
#define FAB_EXPORT_PIECE (48u << 10)
/* Appends the next piece of the file to t: about FAB_EXPORT_PIECE bytes, in whole lines (with the
 * formats SLURM*, a piece may end within a line). Sets *ret_done to true with the last piece.
 * Returns OK or NOMEM. */
int fab_export_next(struct fab_export *e, struct fab_text *t, bool *ret_done);

#endif
