/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that several commands of congestion control use. */
#ifndef CLI_CTL_CMD_CC_H
#define CLI_CTL_CMD_CC_H

#include <stddef.h>

struct out;
/* Prints the advice of the manager as a table. If there is no advice, text output shows nothing. */
void say_advice(struct out *o, char **advice, size_t count);

#endif
