/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl sweep`, which requests a heavy sweep and waits until the sweep ends. It
 * prints only errors. With --dry-run, it prints what the sweep would read.
 */
#include "cli/ctl/cmd.h"
#include "cli/ctl/show.h"
#include "fabric/v1/status.pb-c.h"

static int sweep(struct session *s)
{
    Fabric__V1__SweepRequest q = FABRIC__V1__SWEEP_REQUEST__INIT;
    Fabric__V1__SweepResponse *r = NULL;
    q.dry_run = s->dry_run;
    int rc = ask(s, "Sweep", &q.base, &fabric__v1__sweep_response__descriptor, &r);
    if (rc == EXIT_OK && s->dry_run)
        say_message(s->out, r->message);
    free_reply(r);
    return rc;
}

const struct cmd cmd_sweep = {
    .noun = "sweep",
    .args = "[--dry-run] [--reason TEXT]",
    .summary = "run a heavy sweep now, and wait for its end",
    .slow = true,
    .method = "fabric.v1.FabricService/Sweep",
    .options = "rD",
    .json = "message:text",
    .run = sweep,
};
