/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of the daemon, in real or virtual time. */
#ifndef FABRICD_BASE_CLOCK_H
#define FABRICD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* returns the time of the monotonic clock in microseconds; it is never 0 */
uint64_t clock_now_us(void);
int64_t clock_unix_us(void); /* returns the Unix time in microseconds */
/* returns the CPU time of this thread in ns; always real, never virtual */
uint64_t clock_cpu_ns(void);

bool clock_is_virtual(void); /* returns true if this thread has virtual time */

/* Sets the virtual time of this thread, in us. Virtual time stands still until the next call:
 * clock_now_us returns `now_us`, and clock_unix_us returns the Unix time `now_us` after the
 * beginning of 2026. If `now_us` is 0, the thread has real time again. Only the loop calls this
 * function. */
void clock_set_virtual(uint64_t now_us);

#endif
