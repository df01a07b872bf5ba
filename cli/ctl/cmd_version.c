/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl version` prints the versions of fabricctl and of the manager.
 */
#include "cli/ctl/cmd.h"
#include "fabric/v1/status.pb-c.h"
#include "libfabmgr/base/version.h"

static int run(struct session *s)
{
    const Fabric__V1__GetVersionRequest q = FABRIC__V1__GET_VERSION_REQUEST__INIT;
    Fabric__V1__GetVersionResponse *r = NULL;
    int rc = ask(s, "GetVersion", &q.base, &fabric__v1__get_version_response__descriptor, &r);
    if (rc == EXIT_OK) {
        out_record(s->out, NULL);
        out_text(s->out, "fabricctl", "fabricctl", OUT_PLAIN, fab_base_version());
        out_text(s->out, "fabricd", "fabricd", OUT_PLAIN, r->version);
        out_text(s->out, "api", "API", OUT_PLAIN, r->api_version);
        out_record_end(s->out);
    }
    free_reply(r);
    return rc;
}

const struct cmd cmd_version = {
    .noun = "version",
    .summary = "versions of fabricctl and of the manager",
    .method = "fabric.v1.FabricService/GetVersion",
    .json = "fabricctl:text fabricd:text api:text",
    .run = run,
};
