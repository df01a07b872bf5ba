/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands `fabricctl topo export`, `route export` and `route certify`. The manager sends the
 * contents, and fabricctl writes the file. */
#include <errno.h>
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/sink.h"
#include "cli/ctl/topo_watch.h"
#include "fabric/v1/export.pb-c.h"

struct format {
    const char *name;
    Fabric__V1__ExportFormat format;
};
#define FORMATS_MAX 12
static const struct format topo_formats[] = {
    {"ibnetdiscover", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_IBNETDISCOVER},
    {"dot", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_DOT},
    {"json", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_JSON},
    {"slurm", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_SLURM},
    {"slurm-block", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_SLURM_BLOCK},
    {"slurm-yaml", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_SLURM_YAML},
    {"svg", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_SVG},
    {"opensm-lst", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_OPENSM_LST},
    {NULL, 0},
};
static const struct format route_formats[] = {
    {"opensm-lfts", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_OPENSM_LFTS},
    {"opensm-fdbs", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_OPENSM_FDBS},
    {"opensm-sl2vl", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_OPENSM_SL2VL},
    {"path-sl", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_PATH_SLS},
    {NULL, 0},
};

static const struct format certificate_format[] = {
    {"certificate", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_CERTIFICATE},
    {NULL, 0},
};

/* Returns the export format with this name, or the first one if `name` is NULL. If there is no
 * such format, prints an error and returns NULL. */
static const struct format *find_format(const struct format *formats, const char *name)
{
    const char *names[FORMATS_MAX + 1] = {NULL};
    size_t i = 0;
    for (size_t n = 0; n < FORMATS_MAX && formats[n].name != NULL; n++)
        names[n] = formats[n].name;
    if (name != NULL && accept_word("--format", name, names, &i) != EXIT_OK)
        return NULL;
    return &formats[i];
}

static bool each(void *ctx, const ProtobufCMessage *message)
{
    struct sink *s = ctx;
    const Fabric__V1__ExportResponse *r = (const Fabric__V1__ExportResponse *)message;
    if (r->data.len > 0 && fwrite(r->data.data, 1, r->data.len, s->to) != r->data.len)
        s->error = errno;
    return s->error == 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int export(struct session *s, const struct format *formats)
{
    Fabric__V1__ExportRequest q = FABRIC__V1__EXPORT_REQUEST__INIT;
    struct fab_client_error error;
    struct sink sink;
    const struct format *f = find_format(formats, s->format);
    if (f == NULL)
        return EXIT_USAGE;
    int rc = sink_open(&sink, s->file);
    if (rc != EXIT_OK)
        return rc;
    q.format = f->format;
    fab_client_stream(s->client, "fabric.v1.FabricService/Export", &q.base,
                      &fabric__v1__export_response__descriptor, each, &sink, &error);
    if (error.code != FAB_GRPC_OK)
        rc = say_error(&error);
    return sink_close(&sink, s->file, rc);
}

/* Runs `topo export`. --slurm is the short form of --format slurm. */
static int export_topo(struct session *s)
{
    if (s->slurm && s->format != NULL)
        return complain(EXIT_USAGE, "--slurm and --format exclude each other");
    if (s->slurm)
        s->format = "slurm";
    if (!s->watch)
        return s->hook == NULL ? export(s, topo_formats)
                               : complain(EXIT_USAGE, "--hook needs --watch");
    const struct format *f = find_format(topo_formats, s->format);
    return f != NULL ? watch_topology(s, f->format) : EXIT_USAGE;
}

static int export_route(struct session *s)
{
    return export(s, route_formats);
}

static int certify(struct session *s)
{
    return export(s, certificate_format);
}

const struct cmd cmd_topo_export = {
    .noun = "topo",
    .verb = "export",
    .one_manager = true,
    .args = "[--format FORMAT | --slurm] [--file FILE] [--watch [--hook COMMAND]]",
    .summary = "the fabric as ibnetdiscover, dot, svg, json or opensm-lst, or for Slurm",
    .options = "f1k90",
    .formats = "ibnetdiscover dot svg json slurm slurm-block slurm-yaml opensm-lst",
    .method = "fabric.v1.FabricService/Export",
    .run = export_topo,
};
const struct cmd cmd_route_export = {
    .noun = "route",
    .verb = "export",
    .one_manager = true,
    .args = "[--format FORMAT] [--file FILE]",
    .summary = "the active tables as opensm-lfts, opensm-fdbs, opensm-sl2vl or path-sl",
    .options = "f1",
    .formats = "opensm-lfts opensm-fdbs opensm-sl2vl path-sl",
    .method = "fabric.v1.FabricService/Export",
    .run = export_route,
};
const struct cmd cmd_route_certify = {
    .noun = "route",
    .verb = "certify",
    .one_manager = true,
    .args = "[--file FILE]",
    .options = "1",
    .summary = "a certificate that the active tables are deadlock-free",
    .slow = true,
    .method = "fabric.v1.FabricService/Export",
    .run = certify,
};
