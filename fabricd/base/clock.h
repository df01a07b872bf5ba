/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of the daemon. */
#ifndef FABRICD_BASE_CLOCK_H
#define FABRICD_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void); /* monotonic */
int64_t clock_unix_us(void); /* Unix time */
uint64_t clock_cpu_ns(void); /* processor time of this thread; never virtual */

/* Virtual time for this thread: until the next call, clock_now_us returns now_us, and clock_unix_us
 * that time after the beginning of 2026. 0: real time. Only the loop calls this function. */
void clock_set_virtual(uint64_t now_us);

#endif
