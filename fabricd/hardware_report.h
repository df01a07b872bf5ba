/* SPDX-License-Identifier: BSD-3-Clause */
/* The command --hardware-report: reads the fabric as a rehearsal does, and then asks the devices
 * (fabricd/hardware/hardware.h). */
#ifndef FABRICD_HARDWARE_REPORT_H
#define FABRICD_HARDWARE_REPORT_H

#include "fabricd/daemon.h"
#include "fabricd/sm/sm.h"

/* Begins the report when the fabric has been read. Prints the report when all devices have
 * answered, and stops the loop. ctx: the daemon. */
void hardware_report_begin(void *ctx, const struct sm_rehearsal *r);

#endif
