/* SPDX-License-Identifier: BSD-3-Clause */
/* client ADDRESS: a client as users of libfabmgr write it, in C and C++. Prints the state of the
 * manager, or the name of the status code and the message of a failure. */
#include <stdio.h>

#include "fabric/v1/fabric_service.pb-c.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/client/client.h"

static int failed(const struct fab_client_error *error)
{
    printf("%s: %s\n", fab_grpc_code_name(error->code), error->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct fab_client_options options = {};
    struct fab_client_error error;
    struct fab_client *client = NULL;
    ProtobufCMessage *reply = NULL;
    Fabric__V1__GetStatusRequest request;
    if (argc != 2)
        return 2;
    options.address = argv[1];
    options.timeout_ms = 10000;
    if (fab_client_open(&options, &client, &error) != FAB_GRPC_OK)
        return failed(&error);
    fabric__v1__get_status_request__init(&request);
    enum fab_grpc_code code =
        fab_client_call(client, "fabric.v1.FabricService/GetStatus", &request.base,
                        &fabric__v1__get_status_response__descriptor, &reply, &error);
    fab_client_close(client);
    if (code != FAB_GRPC_OK)
        return failed(&error);
    const Fabric__V1__GetStatusResponse *answer = (const Fabric__V1__GetStatusResponse *)reply;
    printf("library %s, fabricd %s\n", fab_base_version(), answer->status->version);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}
