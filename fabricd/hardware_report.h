/* SPDX-License-Identifier: BSD-3-Clause */
/* The option --hardware-report: fabricd reads the fabric as for a rehearsal, and then asks the
 * devices for their attributes (fabricd/hardware/hardware.h). */
#ifndef FABRICD_HARDWARE_REPORT_H
#define FABRICD_HARDWARE_REPORT_H

#include "fabricd/daemon.h"
#include "fabricd/sm/sm.h"

/* Called when the fabric has been read. Begins to ask the devices. When all requests have ended,
 * prints the report and stops the loop. `ctx` is the daemon. */
void hardware_report_begin(void *ctx, const struct sm_rehearsal *r);

#endif
