/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that all commands use: they send requests to the manager and print error messages.
 */
#include "cli/ctl/cmd.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/v1/access.pb-c.h"
#include "fabric/v1/status.pb-c.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/descriptor.h"
#include "proto/descriptors.h"

/* The option fabric.v1.role of a method has this number in access.proto. */
#define ROLE_OPTION 50501

static enum out_format complaint_format = OUT_TEXT;
static const char *about_context, *about_object, *about_hint;

void complain_as(enum out_format format)
{
    complaint_format = format;
}

void complain_about(const char *context, const char *object)
{
    about_context = context;
    about_object = object;
}

void complain_hint(const char *hint)
{
    about_hint = hint;
}

int complain(int exit_code, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    fflush(stdout);
    va_start(ap, fmt);
    int used = snprintf(text, sizeof text, "%.100s%s", about_context != NULL ? about_context : "",
                        about_context != NULL ? ": " : "");
    vsnprintf(text + used, sizeof text - (size_t)used, fmt, ap);
    va_end(ap);
    if (about_object != NULL && strstr(text + used, about_object) == NULL) {
        char rest[sizeof text];
        snprintf(rest, sizeof rest, "%s", text + used);
        snprintf(text + used, sizeof text - (size_t)used, "%.200s: %s", about_object, rest);
    }
    if (about_hint != NULL && exit_code == EXIT_NOT_FOUND) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof text - len, "; %s", about_hint);
    }
    if (complaint_format == OUT_JSON)
        out_error(stderr, exit_code, text);
    else
        fprintf(stderr, "fabricctl: %s\n", text);
    return exit_code;
}

int confirm(const struct session *s, const char *question, const char *refusal)
{
    char answer[16] = "";
    if (s->yes)
        return EXIT_OK;
    if (!isatty(STDIN_FILENO) || s->out_format != OUT_TEXT)
        return complain(EXIT_USAGE, "%s", refusal);
    fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
        return EXIT_OK;
    return complain(EXIT_FAILED, "nothing was changed");
}

char *word_of(const char *given)
{
    return (char *)(uintptr_t)(given != NULL ? given : "");
}

static int exit_code_of(enum fab_grpc_code code)
{
    switch (code) {
    case FAB_GRPC_OK:
        return EXIT_OK;
    case FAB_GRPC_UNAVAILABLE:
    case FAB_GRPC_DEADLINE_EXCEEDED:
        return EXIT_UNAVAILABLE;
    case FAB_GRPC_NOT_FOUND:
        return EXIT_NOT_FOUND;
    default:
        return EXIT_FAILED;
    }
}

int say_error(const struct fab_client_error *e)
{
    return complain(exit_code_of(e->code), "%s",
                    e->message[0] != '\0' ? e->message : fab_grpc_code_name((int)e->code));
}

unsigned role_of(const char *method)
{
    char service[80];
    uint64_t role;
    const char *slash = strchr(method, '/');
    snprintf(service, sizeof service, "%.*s", (int)(slash - method), method);
    int rc = fab_grpc_descriptor_method_option(fabric_descriptors, fabric_descriptors_len, service,
                                               slash + 1, ROLE_OPTION, &role);
    return rc == FAB_OK ? (unsigned)role : FABRIC__V1__ROLE__ROLE_ADMINISTRATOR;
}

const char *role_name(unsigned role)
{
    static const char *const names[] = {"unknown", "tenant", "viewer", "operator", "administrator"};
    return names[role < sizeof names / sizeof names[0] ? role : 0];
}

/* Returns true if the command may call the method: the method needs no higher role than the
 * command's own method, or is the optional method of the command. c == NULL: any method may be
 * called. */
static bool may_call(const struct cmd *c, const char *method)
{
    return c == NULL || role_of(method) <= role_of(c->method) ||
           (c->optional != NULL && strcmp(c->optional, method) == 0);
}

/* ---- dry runs -------------------------------------------------------------------------------- */

static bool is_dry_run(const ProtobufCMessage *request)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(request->descriptor, "dry_run");
    return f != NULL && *(const protobuf_c_boolean *)((const char *)request + f->offset);
}

int check_dry_run(struct session *s, const char *method)
{
    const Fabric__V1__GetVersionRequest q = FABRIC__V1__GET_VERSION_REQUEST__INIT;
    const char *name = strchr(method, '/') + 1;
    struct fab_client_error error;
    ProtobufCMessage *m;
    bool known = false;
    if (fab_client_call(s->client, "fabric.v1.FabricService/GetVersion", &q.base,
                        &fabric__v1__get_version_response__descriptor, &m, &error) != FAB_GRPC_OK)
        return say_error(&error);
    const Fabric__V1__GetVersionResponse *r = (const Fabric__V1__GetVersionResponse *)m;
    for (size_t i = 0; i < r->n_dry_run_methods && !known; i++)
        known = strcmp(r->dry_run_methods[i], name) == 0;
    int rc = known ? EXIT_OK
                   : complain(EXIT_FAILED,
                              "not supported: fabricd %.40s has no dry run of %s, and would make "
                              "the change; update fabricd, or leave out --dry-run",
                              r->version, name);
    free_reply(m);
    return rc;
}

/* ---- calls ----------------------------------------------------------------------------------- */

int ask_service(struct session *s, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *reply, void *ret)
{
    struct fab_client_error error;
    ProtobufCMessage *m;
    assert(may_call(s->cmd, method));
    int rc = is_dry_run(request) ? check_dry_run(s, method) : EXIT_OK;
    if (rc != EXIT_OK)
        return rc;
    enum fab_grpc_code code = fab_client_call(s->client, method, request, reply, &m, &error);
    if (code == FAB_GRPC_UNIMPLEMENTED && strstr(method, ".SimService/") != NULL)
        return complain(EXIT_FAILED, "not supported: this manager runs on a real fabric; only the "
                                     "embedded simulated fabric (fabricd --sim) has this command");
    if (code != FAB_GRPC_OK)
        return say_error(&error);
    if (ret != NULL)
        *(ProtobufCMessage **)ret = m;
    else
        free_reply(m);
    return EXIT_OK;
}

int ask(struct session *s, const char *method, const ProtobufCMessage *request,
        const ProtobufCMessageDescriptor *reply, void *ret)
{
    char path[100];
    snprintf(path, sizeof path, "fabric.v1.FabricService/%s", method);
    return ask_service(s, path, request, reply, ret);
}

void free_reply(void *message)
{
    if (message != NULL)
        protobuf_c_message_free_unpacked(message, NULL);
}

int check_absent(const char *file)
{
    struct stat st;
    if (lstat(file, &st) == 0)
        return complain(EXIT_FAILED, "%s exists; choose another name, or remove it first", file);
    return errno == ENOENT ? EXIT_OK : complain(EXIT_FAILED, "%s: %s", file, strerror(errno));
}

int parse_port(struct session *s, char **ret_node, uint32_t *ret_number)
{
    const char *text = s->argv[0];
    const char *slash = strrchr(text, '/');
    size_t digits = slash != NULL ? strspn(slash + 1, "0123456789") : 0;
    if (slash == NULL || slash == text || digits == 0 || digits > 3 || slash[1 + digits] != '\0')
        return complain(EXIT_USAGE,
                        "\"%s\" is not a port; NODE/PORT is expected, such as leaf-1/12", text);
    s->node = strndup(text, (size_t)(slash - text));
    if (s->node == NULL)
        return complain(EXIT_FAILED, "out of memory");
    *ret_node = s->node;
    *ret_number = (uint32_t)strtoul(slash + 1, NULL, 10);
    return EXIT_OK;
}
