/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, asked from one place. */
#ifndef FABRICD_BASE_CLOCK_H
#define FABRICD_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void); /* monotonic */
int64_t clock_unix_us(void); /* wall clock */
uint64_t clock_cpu_ns(void); /* processor time of this thread, real in any case */

/* Virtual time, for this thread: both clocks stand at now_us (the wall clock: after the beginning
 * of 2026) until they are set again. 0: real time. For the loop, which see. */
void clock_set_virtual(uint64_t now_us);

#endif
