/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl export opensm`. It writes the files that OpenSM needs to manage the fabric
 * with the same LIDs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/import_files.h"
#include "fabric/v1/diagnostics.pb-c.h"
#include "fabric/v1/port.pb-c.h"
#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/opensm/opensm.h"

#define PAGE 2000

/* ---- ports ----------------------------------------------------------------------------------- */

struct ports {
    struct fab_opensm_port *port; /* [count] */
    size_t count, room;
    struct fab_arena arena; /* memory of the names of the ports */
};

static void free_ports(struct ports *p)
{
    fab_base_arena_fini(&p->arena);
    free(p->port);
}

/* Adds a port. Skips a port without a GUID (external ports of switches have none), and a port whose
 * values are not valid. Returns false if there is no memory. */
static bool add_port(struct ports *p, const Fabric__V1__Port *m)
{
    if (m->guid[0] == '\0' || m->port == NULL || m->lid > UINT16_MAX)
        return true;
    struct fab_opensm_port *grown = p->port;
    if (p->count == p->room)
        grown = fab_base_grow(p->port, sizeof *p->port, p->count + 1, &p->room);
    if (grown == NULL)
        return false;
    p->port = grown;
    const char *name =
        fab_base_arena_text(&p->arena, m->port->node_name, strlen(m->port->node_name));
    p->port[p->count++] =
        (struct fab_opensm_port){.guid = strtoull(m->guid, NULL, 16),
                                 .node_guid = strtoull(m->port->node_guid, NULL, 16),
                                 .lid = (uint16_t)m->lid,
                                 .lmc = (uint8_t)(m->lmc & 7),
                                 .node_name = name};
    return name != NULL;
}

/* Fetches one page of ports. *token: in, the token of this page; out, the token of the next page,
 * which the caller frees. */
static int fetch_page(struct session *s, struct ports *p, char **token)
{
    Fabric__V1__ListPortsRequest q = FABRIC__V1__LIST_PORTS_REQUEST__INIT;
    Fabric__V1__ListPortsResponse *r;
    char none[] = "";
    q.page_size = PAGE;
    q.page_token = *token != NULL ? *token : none;
    int code = ask(s, "ListPorts", &q.base, &fabric__v1__list_ports_response__descriptor, &r);
    if (code != EXIT_OK)
        return code;
    bool good = true;
    for (size_t i = 0; i < r->n_ports && good; i++)
        good = add_port(p, r->ports[i]);
    free(*token);
    *token = strdup(r->next_page_token);
    free_reply(r);
    return good && *token != NULL ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
}

static int fetch_ports(struct session *s, struct ports *p)
{
    char *token = NULL;
    int code;
    *p = (struct ports){.count = 0};
    do
        code = fetch_page(s, p, &token);
    while (code == EXIT_OK && token[0] != '\0');
    free(token);
    return code;
}

/* ---- settings and files ---------------------------------------------------------------------- */

/* Finds a setting in a text with lines of the form "path: value". Returns a copy of the value,
 * which the caller frees; NULL: the text does not have the setting. */
static char *setting_of(const char *settings, const char *path)
{
    size_t len = strlen(path);
    for (const char *at = settings; at != NULL && *at != '\0';) {
        size_t line = strcspn(at, "\n");
        if (line > len + 2 && strncmp(at, path, len) == 0 && strncmp(at + len, ": ", 2) == 0)
            return strndup(at + len + 2, line - len - 2);
        at += line + (at[line] == '\n');
    }
    return NULL;
}

/* Returns the text of the file that a setting of the manager names. Returns NULL if the setting is
 * not set, or if the file cannot be read on this host; in the latter case, prints a warning. */
static char *read_set(const char *settings, const char *path, size_t *ret_len)
{
    char *file = setting_of(settings, path), *text = NULL;
    if (file != NULL && file[0] != '\0' && import_file_read(file, &text, ret_len) != FAB_OK) {
        complain(
            EXIT_FAILED,
            "%s (%s) cannot be read here; copy it from the host of the manager, and name it in "
            "opensm.conf",
            file, path);
        text = NULL;
    }
    free(file);
    return text;
}

static int write_all(struct session *s, const struct fab_opensm_export *e, const char *folder)
{
    int code = s->force ? EXIT_OK : import_files_absent(folder, e->output, e->outputs);
    if (code == EXIT_OK && mkdir(folder, 0755) != 0 && errno != EEXIST)
        code = complain(EXIT_FAILED, "%s: %s", folder, strerror(errno));
    for (size_t i = e->outputs; i-- > 0 && code == EXIT_OK;)
        code = import_file_write(folder, &e->output[i], s->force);
    return code;
}

static void say(struct session *s, const struct fab_opensm_export *e, const char *folder)
{
    static const struct out_column files[] = {{"file", "FILE", false}};
    static const struct out_column rest[] = {{"setting", "SETTING WITHOUT EQUIVALENT", false}};
    out_record(s->out, NULL);
    out_text(s->out, "directory", "Directory", OUT_PLAIN, folder);
    out_number(s->out, "ports", "Ports with LIDs", OUT_PLAIN, e->ports);
    out_table(s->out, "files", files, 1, false);
    for (size_t i = 0; i < e->outputs; i++) {
        out_row(s->out);
        out_text(s->out, "file", "FILE", OUT_PLAIN, e->output[i].name);
        out_row_end(s->out);
    }
    out_table_end(s->out);
    out_table(s->out, "settings_without_equivalent", rest, 1, false);
    for (const char *at = e->rest; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        char *line = strndup(at, len);
        out_row(s->out);
        out_text(s->out, "setting", "SETTING WITHOUT EQUIVALENT", OUT_PLAIN,
                 line != NULL ? line : "");
        out_row_end(s->out);
        free(line);
        at += len + (at[len] == '\n');
    }
    out_table_end(s->out);
    out_note(
        s->out, OUT_DIM,
        "Copy guid2lid to the cache directory of OpenSM (/var/cache/opensm), stop fabricd, and "
        "start 'opensm -F %s/opensm.conf'. Keys (subnet.m_key, sm_key, sa_key) are not "
        "exported.",
        folder);
    out_record_end(s->out);
}

static int make(struct session *s, const struct ports *p, const char *settings, const char *folder)
{
    struct fab_opensm_export_input in = {
        .port = p->port, .port_count = p->count, .settings = settings, .folder = folder};
    char *partitions = read_set(settings, "partitions.file", &in.partitions_len);
    char *qos = read_set(settings, "qos.file", &in.qos_len);
    struct fab_opensm_export e;
    in.partitions = partitions;
    in.qos = qos;
    int code = EXIT_OK;
    if (fab_opensm_export(&in, &e) != FAB_OK) {
        code = complain(EXIT_FAILED, "out of memory");
    } else {
        code = write_all(s, &e, folder);
        if (code == EXIT_OK)
            say(s, &e, folder);
        fab_opensm_export_fini(&e);
    }
    free(partitions);
    free(qos);
    return code;
}

static int export_opensm(struct session *s)
{
    Fabric__V1__GetDiagnosticsRequest q = FABRIC__V1__GET_DIAGNOSTICS_REQUEST__INIT;
    Fabric__V1__GetDiagnosticsResponse *r = NULL;
    struct ports ports;
    char folder[IMPORT_PATH_LEN], part[] = "settings";
    q.part = part;
    int code = import_absolute(s->argv[0], folder);
    if (code != EXIT_OK)
        return code;
    code = ask(s, "GetDiagnostics", &q.base, &fabric__v1__get_diagnostics_response__descriptor, &r);
    if (code != EXIT_OK)
        return code;
    code = fetch_ports(s, &ports);
    if (code == EXIT_OK)
        code = make(s, &ports, r->n_parts > 0 ? r->parts[0]->text : "", folder);
    free_ports(&ports);
    free_reply(r);
    return code;
}

const struct cmd cmd_export_opensm = {
    .noun = "export",
    .verb = "opensm",
    .args = "DIR [--force]",
    .summary = "files with which OpenSM keeps the LIDs",
    .min_args = 1,
    .max_args = 1,
    .options = "N",
    .method = "fabric.v1.FabricService/GetDiagnostics",
    .slow = true,
    .json = "directory:text ports:u32 files:[ file:text ] settings_without_equivalent:[ "
            "setting:text ]",
    .run = export_opensm,
};
