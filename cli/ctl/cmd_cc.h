/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of congestion control share. */
#ifndef CLI_CTL_CMD_CC_H
#define CLI_CTL_CMD_CC_H

#include <stddef.h>

struct out;
/* What no longer fits, as a table; in text nothing where all does. */
void say_advice(struct out *o, char **advice, size_t count);

#endif
