/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts GUIDs and ports as other tools print them. */
#ifndef CLI_CTL_SPELLING_H
#define CLI_CTL_SPELLING_H

#include "cli/ctl/cmd.h"

/* Changes a port in the form of another tool to the form GUID/PORT, in place. The forms are
 * "0002c90300a1b2c3_7" (UFM) and "S-0002c90300a1b2c3"[7] (ibnetdiscover, with or without the
 * quotes). Also removes the quotes around a GUID without a port. Any other text stays as it is. */
void respell(char *text);
/* Calls respell for all arguments, and for the values of --fail. */
void respell_arguments(struct session *s);

#endif
