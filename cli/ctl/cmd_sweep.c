/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command `fabricctl sweep`, which requests a heavy sweep and waits until the sweep ends. It
 * prints only errors.
 */
#include "cli/ctl/cmd.h"
#include "fabric/v1/status.pb-c.h"

static int sweep(struct session *s)
{
    const Fabric__V1__SweepRequest q = FABRIC__V1__SWEEP_REQUEST__INIT;
    return ask(s, "Sweep", &q.base, &fabric__v1__sweep_response__descriptor, NULL);
}

const struct cmd cmd_sweep = {
    .noun = "sweep",
    .args = "[--reason TEXT]",
    .summary = "run a heavy sweep now, and wait for its end",
    .slow = true,
    .method = "fabric.v1.FabricService/Sweep",
    .options = "r",
    .run = sweep,
};
