/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of gRPC status codes: the names of the codes, and the code for each enum fab_status.
 *
 * Source: grpc/doc/statuscodes.md.
 */
#include "libfabmgr/grpc/grpc.h"

#include "libfabmgr/base/status.h"

const char *fab_grpc_code_name(int code)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    if (code < 0 || (size_t)code >= sizeof names / sizeof names[0])
        return "UNKNOWN";
    return names[code];
}

enum fab_grpc_code fab_grpc_code_of(int status)
{
    switch (status) {
    case FAB_OK:
        return FAB_GRPC_OK;
    case FAB_E_INVAL:
    case FAB_E_RANGE:
    case FAB_E_FORMAT:
    case FAB_E_TRUNCATED:
        return FAB_GRPC_INVALID_ARGUMENT;
    case FAB_E_NOT_FOUND:
        return FAB_GRPC_NOT_FOUND;
    case FAB_E_EXISTS:
        return FAB_GRPC_ALREADY_EXISTS;
    case FAB_E_NOMEM:
    case FAB_E_LIMIT:
        return FAB_GRPC_RESOURCE_EXHAUSTED;
    case FAB_E_TIMEOUT:
    case FAB_E_BUSY:
        return FAB_GRPC_UNAVAILABLE;
    case FAB_E_UNSUPPORTED:
        return FAB_GRPC_UNIMPLEMENTED;
    case FAB_E_DENIED:
    case FAB_E_REFUSED:
    case FAB_E_UNREACHABLE:
    case FAB_E_LOOP:
    case FAB_E_CYCLE:
        return FAB_GRPC_FAILED_PRECONDITION;
    default:
        return FAB_GRPC_INTERNAL;
    }
}
