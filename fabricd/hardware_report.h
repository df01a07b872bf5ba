/* SPDX-License-Identifier: BSD-3-Clause */
/* The option --hardware-report: fabricd reads the fabric as for a rehearsal. Then it sends requests
 * for attributes to devices, and prints a report of the answers (fabricd/hardware/hardware.h). */
#ifndef FABRICD_HARDWARE_REPORT_H
#define FABRICD_HARDWARE_REPORT_H

#include "fabricd/daemon.h"
#include "fabricd/sm/sm.h"

/* Called when the fabric has been read, or could not be read; then prints the reason and stops the
 * loop. Otherwise starts to send the requests to the devices. When all of them have been answered
 * or have timed out, the report is printed and the loop stops. If the fabric could not be read,
 * prints the reason on stderr and stops the loop. `ctx` is the daemon. */
void hardware_report_begin(void *ctx, const struct sm_rehearsal *r);

#endif
