/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands `fabricctl topo export`, `route export` and `route certify`. The manager sends the
 * contents, and fabricctl writes the file. A regular file is written under a temporary name and
 * renamed when it is complete, so that no other program reads an incomplete file.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "fabric/v1/export.pb-c.h"

struct format {
    const char *name;
    Fabric__V1__ExportFormat format;
};
static const struct format topo_formats[] = {
    {"ibnetdiscover", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_IBNETDISCOVER},
    {"dot", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_DOT},
    {"json", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_JSON},
    {"slurm", FABRIC__V1__EXPORT_FORMAT__EXPORT_FORMAT_SLURM},
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
    char all[100] = "";
    for (const struct format *f = formats; f->name != NULL; f++) {
        size_t len = strlen(all);
        if (name == NULL || strcmp(f->name, name) == 0)
            return f;
        snprintf(all + len, sizeof all - len, "%s%s", len > 0 ? ", " : "", f->name);
    }
    complain(EXIT_USAGE, "--format \"%s\": one of %s is expected", name, all);
    return NULL;
}

/* ---- the output file ------------------------------------------------------------------------- */

struct sink {
    FILE *to;
    /* temporary name of the output file; "": the output is not a regular file */
    char part[PATH_MAX];
    /* errno of the first write that failed; 0: none failed */
    int error;
};

static int sink_open(struct sink *s, const char *file)
{
    struct stat st;
    *s = (struct sink){.to = stdout};
    if (file == NULL || strcmp(file, "-") == 0)
        return EXIT_OK;
    if (stat(file, &st) < 0 || S_ISREG(st.st_mode))
        snprintf(s->part, sizeof s->part, "%s.part", file);
    const char *name = s->part[0] != '\0' ? s->part : file;
    s->to = fopen(name, "w");
    return s->to != NULL ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", name, strerror(errno));
}

/* Closes the output file. `rc` is the exit code so far; if it is EXIT_OK, renames the file to
 * its final name. Returns the exit code of the command. */
static int sink_close(struct sink *s, const char *file, int rc)
{
    if (s->to == stdout)
        s->error = s->error == 0 && fflush(stdout) != 0 ? errno : s->error;
    else if (fclose(s->to) != 0 && s->error == 0)
        s->error = errno;
    /* If the reader of the pipe, such as head, has ended, that is no error. */
    if (s->to == stdout && s->error == EPIPE)
        return EXIT_OK;
    if (rc == EXIT_OK && s->error == 0 && s->part[0] != '\0' && rename(s->part, file) < 0)
        s->error = errno;
    if (rc == EXIT_OK && s->error != 0)
        rc = complain(EXIT_FAILED, "%s: %s", s->to == stdout ? "standard output" : file,
                      strerror(s->error));
    if (rc != EXIT_OK && s->part[0] != '\0')
        unlink(s->part);
    return rc;
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

static int export_topo(struct session *s)
{
    return export(s, topo_formats);
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
    .args = "[--format FORMAT] [-o FILE]",
    .summary = "the fabric as ibnetdiscover, dot, json, slurm or opensm-lst",
    .options = "f",
    .writes_file = true,
    .method = "fabric.v1.FabricService/Export",
    .run = export_topo,
};
const struct cmd cmd_route_export = {
    .noun = "route",
    .verb = "export",
    .args = "[--format FORMAT] [-o FILE]",
    .summary = "the active tables as opensm-lfts, opensm-fdbs, opensm-sl2vl or path-sl",
    .options = "f",
    .writes_file = true,
    .method = "fabric.v1.FabricService/Export",
    .run = export_route,
};
const struct cmd cmd_route_certify = {
    .noun = "route",
    .verb = "certify",
    .args = "[-o FILE]",
    .summary = "a certificate that the active tables are deadlock-free",
    .writes_file = true,
    .slow = true,
    .method = "fabric.v1.FabricService/Export",
    .run = certify,
};
