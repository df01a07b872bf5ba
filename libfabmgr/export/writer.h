/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of a file format. A format divides its file into rows, each of one or several text
 * lines (SLURM*: each of 4096 bytes). export.c collects the rows into pieces. For this folder
 * only. */
#ifndef LIBFABMGR_EXPORT_WRITER_H
#define LIBFABMGR_EXPORT_WRITER_H

#include "libfabmgr/export/export.h"

struct fab_export {
    struct fab_export_input in;
    const struct fab_export_writer *writer;
    uint64_t row; /* number of the row that comes next */
    /* only for format IBNETDISCOVER: a copy of the fabric, with in->lids as the LIDs in PortInfo */
    struct fab_fabric *copy;
    char *whole; /* only for formats SLURM*: the text of the whole file */
    size_t whole_len;
    /* only for format JSON: lower port id of the first link in the file */
    uint32_t first;
    struct fab_export_picture *picture; /* layout of the picture; only for format SVG (svg.c) */
    /* default policy, for the formats that need SL2VL tables */
    struct fab_policy policy;
};
struct fab_export_writer {
    int (*open)(struct fab_export *e); /* prepares the export; may be NULL */
    /* Appends row number `row` (from 0) of the file. In formats with many rows, a row has at most a
     * few hundred bytes. Returns false, and appends nothing, if there are no more rows. */
    bool (*write)(struct fab_export *e, uint64_t row, struct fab_text *t);
    void (*close)(struct fab_export *e); /* frees the memory of the format; may be NULL */
    bool tables;                         /* true: the format needs forwarding tables (in->lft) */
};
extern const struct fab_export_writer fab_export_write_ibnetdiscover, fab_export_write_dot,
    fab_export_write_json, fab_export_write_slurm, fab_export_write_lst, fab_export_write_fdbs,
    fab_export_write_lfts, fab_export_write_sl2vl, fab_export_write_path_sls,
    fab_export_write_certificate, fab_export_write_svg, fab_export_write_slurm_block,
    fab_export_write_slurm_yaml;

/* Returns the LID of a port. All ports of a switch have the LID of its port 0. */
uint32_t fab_export_lid(const struct fab_export *e, uint32_t port);
/* Appends a description in printable ASCII, with parentheses in place of braces, as programs that
 * read OpenSM's files need it. */
void fab_export_add_plain(struct fab_text *t, const char *desc);
/* Appends a description for use between quotes: valid UTF-8, with a backslash before each quote and
 * backslash. */
void fab_export_add_quoted(struct fab_text *t, const char *desc);

#endif
