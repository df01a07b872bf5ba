/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts a configuration of OpenSM 3.3.23 to one of fabricd, and back. The functions do no I/O;
 * the caller reads and writes the files.
 *
 * Each option that OpenSM's template (opensm -c) documents has a row in a table (options.c), which
 * says what becomes of it. An option that opensm.conf does not set has OpenSM's default.
 */
#ifndef LIBFABMGR_OPENSM_OPENSM_H
#define LIBFABMGR_OPENSM_OPENSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/text.h"

#define FAB_OPENSM_CONF_MAX ((size_t)1 << 20) /* maximum size of opensm.conf in bytes */
/* maximum size in bytes of a file other than opensm.conf */
#define FAB_OPENSM_FILE_MAX ((size_t)64 << 20)
/* maximum number of lines in opensm.conf that set options */
#define FAB_OPENSM_LINES_MAX 4096u

/* ---- opensm.conf ----------------------------------------------------------------------------- */

struct fab_opensm_line {
    /* name and value of an option; the value is "" if the line has no value */
    const char *name, *value;
    unsigned line; /* number of the line, from 1 */
};
struct fab_opensm_conf {
    struct fab_opensm_line *line; /* [count] the lines that set options, in the order of the file */
    size_t count;
    struct fab_arena arena; /* private */
};
/* Reads the text of opensm.conf. Returns OK, LIMIT (the text or a line is too long, or there are
 * too many lines) or NOMEM. Only after OK, the caller must call fab_opensm_conf_fini. */
int fab_opensm_conf_read(const char *text, size_t len, struct fab_opensm_conf *ret);
void fab_opensm_conf_fini(struct fab_opensm_conf *c);
/* Returns the value of an option in the last line that sets it, or else OpenSM's default. Returns
 * NULL if the option is unknown, or if its value is "(null)". *ret_line is the number of the line;
 * 0: no line sets the option. ret_line may be NULL. */
const char *fab_opensm_conf_get(const struct fab_opensm_conf *c, const char *name,
                                unsigned *ret_line);

/* ---- the other files ------------------------------------------------------------------------- */

enum fab_opensm_file {
    FAB_OPENSM_PARTITIONS,
    FAB_OPENSM_QOS,
    FAB_OPENSM_PREFIX_ROUTES,
    FAB_OPENSM_NAMES,
    FAB_OPENSM_ROOTS,
    FAB_OPENSM_CN,
    FAB_OPENSM_IO,
    FAB_OPENSM_TORUS,
    FAB_OPENSM_LFTS,
    FAB_OPENSM_SA_DB,
    FAB_OPENSM_LIDS,
    FAB_OPENSM_M_KEYS,
    FAB_OPENSM_NEIGHBORS,
    FAB_OPENSM_FILES
};
struct fab_opensm_file_kind {
    const char *name; /* usual name of the file, such as "partitions.conf" */
    /* option of opensm.conf whose value is the path of the file; NULL: OpenSM finds the file in its
     * cache directory */
    const char *option;
};
extern const struct fab_opensm_file_kind fab_opensm_files[FAB_OPENSM_FILES];

/* ---- from OpenSM ----------------------------------------------------------------------------- */

enum fab_opensm_fate {
    FAB_OPENSM_TAKEN,   /* the option became a setting of fabricd */
    FAB_OPENSM_DEFAULT, /* without any setting, fabricd behaves as the option says */
    FAB_OPENSM_NONE,    /* fabricd has no use for the option; the note says why */
    FAB_OPENSM_DECIDE,  /* the operator must decide; the note says what */
    FAB_OPENSM_UNKNOWN, /* OpenSM has no such option */
};
/* Returns the word for what became of an option, such as "taken". */
const char *fab_opensm_fate_name(enum fab_opensm_fate fate);

/* An option or a file, and what became of it. */
struct fab_opensm_item {
    const char *name;  /* name of the option, or of the file */
    const char *value; /* value of the option; "(secret)" for a key that is secret */
    unsigned line;     /* line in opensm.conf; 0: no line sets the option, or the item is a file */
    bool preset;       /* true: the value is OpenSM's default */
    enum fab_opensm_fate fate;
    /* the resulting setting with its value, such as "subnet.lmc: 1"; "": none */
    const char *setting;
    const char *note; /* a sentence for the operator, or "" */
};
/* a file to write */
struct fab_opensm_output {
    const char *name; /* name of the file, without a folder */
    const char *text;
    size_t len;
    bool secret; /* true: only the user that runs the manager may read the file */
};
#define FAB_OPENSM_OUTPUTS 16
struct fab_opensm_input {
    const struct fab_opensm_conf *conf;
    /* contents and path of each file other than opensm.conf; text NULL: the file does not exist */
    struct {
        const char *text, *path;
        size_t len;
    } file[FAB_OPENSM_FILES];
    /* absolute path of the folder from which fabricd will read the written files */
    const char *folder;
};
struct fab_opensm_import {
    /* [count] first the options in the order of the template, then the files that no option names,
     * then options that OpenSM does not have */
    struct fab_opensm_item *item;
    size_t count;
    /* [outputs] the files to write; the first file is fabricd.yaml */
    struct fab_opensm_output output[FAB_OPENSM_OUTPUTS];
    size_t outputs;
    struct fab_arena arena; /* private */
};
/* Converts a configuration. Returns OK or NOMEM. Only after OK, the caller must call
 * fab_opensm_import_fini. */
int fab_opensm_import(const struct fab_opensm_input *in, struct fab_opensm_import *ret);
void fab_opensm_import_fini(struct fab_opensm_import *i);

/* ---- to OpenSM ------------------------------------------------------------------------------- */

/* A port and its GUID. The ports of a node come one after the other. */
struct fab_opensm_port {
    uint64_t guid, node_guid;
    uint16_t lid; /* base LID; 0: none */
    uint8_t lmc;
    const char *node_name;
};
struct fab_opensm_export_input {
    const struct fab_opensm_port *port; /* [port_count] the ports for guid2lid */
    size_t port_count;
    const char *settings; /* fabricd's settings, as lines "path: value" */
    /* contents of the files in fabricd's settings partitions.file and qos.file; NULL: none */
    const char *partitions, *qos;
    size_t partitions_len, qos_len;
    const char *folder; /* absolute path of the folder in which OpenSM will find the files */
};
struct fab_opensm_export {
    /* [outputs] the files to write; the first file is opensm.conf */
    struct fab_opensm_output output[FAB_OPENSM_OUTPUTS];
    size_t outputs;
    size_t ports; /* number of ports in guid2lid */
    /* paths of the settings for which OpenSM has no equivalent option, one in each line */
    const char *rest;
    struct fab_arena arena; /* private */
};
/* Makes the files. Returns OK or NOMEM. Only after OK, the caller must call fab_opensm_export_fini.
 */
int fab_opensm_export(const struct fab_opensm_export_input *in, struct fab_opensm_export *ret);
void fab_opensm_export_fini(struct fab_opensm_export *e);

#endif
