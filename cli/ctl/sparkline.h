/* SPDX-License-Identifier: BSD-3-Clause */
/* Charts of one line of text. Each character is a bar, whose height shows the value at one time. */
#ifndef CLI_CTL_SPARKLINE_H
#define CLI_CTL_SPARKLINE_H

#include <stddef.h>
#include <stdint.h>

#define SPARKLINE_WIDTH 60
/* size of a chart in bytes; a bar takes at most 3 */
#define SPARKLINE_LEN (3 * SPARKLINE_WIDTH + 1)
#define SPARKLINE_NONE UINT64_MAX /* stands for a missing value */

/* Draws a chart of `count` values, from left to right. If there are more than SPARKLINE_WIDTH
 * values, each bar shows the greatest of several values. A missing value (SPARKLINE_NONE) is a
 * space. A bar of full height means the value `most`. In a locale without UTF-8, the bars are the
 * characters "_.-=+*#@". */
void sparkline(const uint64_t *values, size_t count, uint64_t most, char ret[SPARKLINE_LEN]);

#endif
