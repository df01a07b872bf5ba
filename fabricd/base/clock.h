/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of the daemon. */
#ifndef FABRICD_BASE_CLOCK_H
#define FABRICD_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void); /* monotonic */
int64_t clock_unix_us(void); /* wall clock */
uint64_t clock_cpu_ns(void); /* processor time of this thread; never virtual */

/* Virtual time for this thread: both clocks show now_us (the wall clock: that long after the
 * beginning of 2026) until the next call. 0: real time. Only the loop calls this. */
void clock_set_virtual(uint64_t now_us);

#endif
