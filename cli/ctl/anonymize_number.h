/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and replaces GUIDs, GIDs and IP addresses in texts. For anonymize_text.c only. */
#ifndef CLI_CTL_ANONYMIZE_NUMBER_H
#define CLI_CTL_ANONYMIZE_NUMBER_H

#include "cli/ctl/anonymize_text.h"

/* Handles a GUID or an address that begins at text[at], in any spelling: 0x0002c90300123456,
 * 0002c90300123456, 00:02:c9:03:00:12:34:56, 0002:c903:0012:3456, fe80::2:c903:12:3456, 10.1.2.3.
 * Returns its length; 0: no GUID or address begins there. */
size_t anonymize_number(struct anonymize_text *t, const char *text, size_t len, size_t at);

#endif
