/* SPDX-License-Identifier: BSD-3-Clause */
/* The option --watch of `fabricctl topo export`. */
#ifndef CLI_CTL_TOPO_WATCH_H
#define CLI_CTL_TOPO_WATCH_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/export.pb-c.h"

/* Keeps the file of --file equal to the export, and runs the command of --hook after each change of
 * the file, until fabricctl is ended. Returns the exit code. */
int watch_topology(struct session *s, Fabric__V1__ExportFormat format);

#endif
