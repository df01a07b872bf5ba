/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements grpc.reflection, which sends the protobuf definitions of all services to generic
 * clients. The versions v1 and v1alpha have the same messages on the wire, so one handler serves
 * both.
 */
#include "fabricd/rpc/server.h"

#include <stdio.h>
#include <string.h>

#include "fabricd/rpc/answer.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/descriptor.h"
#include "proto/descriptors.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest request_message;
typedef Grpc__Reflection__V1__ServerReflectionResponse response_message;
#define ASKED(x) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##x
#define TOLD(x) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##x

static void tell_error(struct answer *a, response_message *m, enum fab_grpc_code code,
                       const char *what)
{
    Grpc__Reflection__V1__ErrorResponse *e =
        ANSWER_NEW(a, Grpc__Reflection__V1__ErrorResponse, grpc__reflection__v1__error_response);
    if (e == NULL)
        return;
    e->error_code = (int32_t)code;
    e->error_message = answer_text(a, what);
    m->message_response_case = TOLD(ERROR_RESPONSE);
    m->error_response = e;
}

static void tell_file(struct answer *a, response_message *m, int rc,
                      const struct fab_grpc_descriptor_file *file)
{
    if (rc < 0) {
        tell_error(a, m, FAB_GRPC_NOT_FOUND, "there is no such file or symbol");
        return;
    }
    Grpc__Reflection__V1__FileDescriptorResponse *f =
        ANSWER_NEW(a, Grpc__Reflection__V1__FileDescriptorResponse,
                   grpc__reflection__v1__file_descriptor_response);
    ProtobufCBinaryData *bytes = answer_alloc(a, 1, sizeof *bytes);
    if (f == NULL || bytes == NULL)
        return;
    *bytes = (ProtobufCBinaryData){file->len, (uint8_t *)(uintptr_t)file->bytes};
    f->n_file_descriptor_proto = 1;
    f->file_descriptor_proto = bytes;
    m->message_response_case = TOLD(FILE_DESCRIPTOR_RESPONSE);
    m->file_descriptor_response = f;
}

static void tell_services(struct answer *a, response_message *m,
                          const struct service *const *services)
{
    Grpc__Reflection__V1__ListServiceResponse *list = ANSWER_NEW(
        a, Grpc__Reflection__V1__ListServiceResponse, grpc__reflection__v1__list_service_response);
    if (list == NULL)
        return;
    list->service = answer_alloc(a, 8, sizeof *list->service);
    for (; list->service != NULL && *services != NULL; services++) {
        Grpc__Reflection__V1__ServiceResponse *s = ANSWER_NEW(
            a, Grpc__Reflection__V1__ServiceResponse, grpc__reflection__v1__service_response);
        if (s == NULL)
            return;
        s->name = answer_text(a, (*services)->name);
        list->service[list->n_service++] = s;
    }
    m->message_response_case = TOLD(LIST_SERVICES_RESPONSE);
    m->list_services_response = list;
}

static void info(struct call *c, const void *request)
{
    const request_message *q = request;
    response_message m = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    struct fab_grpc_descriptor_file file = {0};
    struct answer a = {0};
    m.valid_host = q->host;
    m.original_request = (request_message *)(uintptr_t)q;
    switch ((int)q->message_request_case) {
    case ASKED(FILE_BY_FILENAME):
        tell_file(&a, &m,
                  fab_grpc_descriptor_by_name(fabric_descriptors, fabric_descriptors_len,
                                              q->file_by_filename, &file),
                  &file);
        break;
    case ASKED(FILE_CONTAINING_SYMBOL):
        tell_file(&a, &m,
                  fab_grpc_descriptor_by_symbol(fabric_descriptors, fabric_descriptors_len,
                                                q->file_containing_symbol, &file),
                  &file);
        break;
    case ASKED(LIST_SERVICES):
        tell_services(&a, &m, call_rpc(c)->services);
        break;
    case ASKED(FILE_CONTAINING_EXTENSION):
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        tell_error(&a, &m, FAB_GRPC_NOT_FOUND, "there are no extensions");
        break;
    default:
        tell_error(&a, &m, FAB_GRPC_INVALID_ARGUMENT, "nothing was asked");
    }
    answer_send(&a, c, &m.base);
}

static const struct method methods[] = {
    {.name = "ServerReflectionInfo",
     .request = &grpc__reflection__v1__server_reflection_request__descriptor,
     .handle = info,
     .many = true},
};
const struct service service_reflection = {"grpc.reflection.v1.ServerReflection", methods, 1};
const struct service service_reflection_alpha = {"grpc.reflection.v1alpha.ServerReflection",
                                                 methods, 1};
