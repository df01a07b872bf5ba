/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the commands of congestion control share. */
#ifndef CLI_CTL_CMD_CC_H
#define CLI_CTL_CMD_CC_H

#include <stddef.h>

struct out;
/* Prints advice as a table; in text, prints nothing if there is none. */
void say_advice(struct out *o, char **advice, size_t count);

#endif
