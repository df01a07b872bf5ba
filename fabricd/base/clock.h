/* Time, asked from one place. */
#ifndef FABRICD_BASE_CLOCK_H
#define FABRICD_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void); /* monotonic */
int64_t clock_unix_us(void); /* wall clock */

#endif
