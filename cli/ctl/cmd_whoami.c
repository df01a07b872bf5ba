/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `fabricctl whoami` prints the name by which the manager knows the caller, and the
 * role of the caller. */
#include <string.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/access.pb-c.h"

static void say(struct out *o, const Fabric__V1__WhoAmIResponse *r)
{
    bool tls = r->transport == FABRIC__V1__TRANSPORT__TRANSPORT_TLS;
    out_record(o, NULL);
    out_text(o, "caller", "Caller", OUT_PLAIN, r->caller);
    out_text(o, "role", "Role", OUT_PLAIN, role_name((unsigned)r->role));
    out_text(o, "reason", "Reason", OUT_PLAIN, r->reason);
    out_text(o, "transport", "Transport", OUT_PLAIN, tls ? "TLS" : "Unix socket");
    if (tls) {
        out_text(o, "subject", "Subject", OUT_PLAIN, r->subject);
        for (size_t i = 0; i < r->n_subject_alternative_names; i++)
            out_text(o, NULL, "Name", OUT_PLAIN, r->subject_alternative_names[i]);
        out_text(o, "issuer", "Issuer", OUT_PLAIN, r->issuer);
        out_text(o, "serial", "Serial", OUT_PLAIN, r->serial);
        out_text(o, "address", "Address", OUT_PLAIN, r->address);
    } else {
        out_keys(o, &r->base, "user uid gid");
    }
    out_record_end(o);
}

static int run(struct session *s)
{
    const Fabric__V1__WhoAmIRequest q = FABRIC__V1__WHO_AM_IREQUEST__INIT;
    Fabric__V1__WhoAmIResponse *r = NULL;
    int rc = ask(s, "WhoAmI", &q.base, &fabric__v1__who_am_iresponse__descriptor, &r);
    if (rc == EXIT_OK)
        say(s->out, r);
    free_reply(r);
    return rc;
}

const struct cmd cmd_whoami = {
    .noun = "whoami",
    .summary = "for whom the manager takes you, and your role",
    .method = "fabric.v1.FabricService/WhoAmI",
    .json = "caller:text role:'unknown'|'tenant'|'viewer'|'operator'|'administrator' "
            "reason:text transport:'TLS'|'Unix socket' subject?:text issuer?:text "
            "serial?:text address?:text user&:text uid&:u32 gid&:u32",
    .run = run,
};
