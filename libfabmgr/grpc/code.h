/* SPDX-License-Identifier: BSD-3-Clause */
/* The status codes of gRPC. Source: grpc/doc/statuscodes.md. */
#ifndef LIBFABMGR_GRPC_CODE_H
#define LIBFABMGR_GRPC_CODE_H

#ifdef __cplusplus
extern "C" {
#endif

enum fab_grpc_code {
    FAB_GRPC_OK = 0,
    FAB_GRPC_CANCELLED = 1,
    FAB_GRPC_UNKNOWN = 2,
    FAB_GRPC_INVALID_ARGUMENT = 3,
    FAB_GRPC_DEADLINE_EXCEEDED = 4,
    FAB_GRPC_NOT_FOUND = 5,
    FAB_GRPC_ALREADY_EXISTS = 6,
    FAB_GRPC_PERMISSION_DENIED = 7,
    FAB_GRPC_RESOURCE_EXHAUSTED = 8,
    FAB_GRPC_FAILED_PRECONDITION = 9,
    FAB_GRPC_ABORTED = 10,
    FAB_GRPC_OUT_OF_RANGE = 11,
    FAB_GRPC_UNIMPLEMENTED = 12,
    FAB_GRPC_INTERNAL = 13,
    FAB_GRPC_UNAVAILABLE = 14,
    FAB_GRPC_DATA_LOSS = 15,
    FAB_GRPC_UNAUTHENTICATED = 16,
};
/* Returns the name of a code, such as "NOT_FOUND"; "UNKNOWN" for a number that is no gRPC code. */
const char *fab_grpc_code_name(int code);

#ifdef __cplusplus
}
#endif

#endif
