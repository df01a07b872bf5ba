/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces names in JSON. For anonymize.c only. */
#ifndef CLI_CTL_ANONYMIZE_JSON_H
#define CLI_CTL_ANONYMIZE_JSON_H

#include "cli/ctl/anonymize_text.h"

/* Learns, replaces or checks the names in a part, depending on the pass. The key of a string
 * decides how the string is handled. Keys and punctuation are copied. Numbers are copied, too,
 * except the IDs of users, groups and processes, which become null. If the text is not valid JSON,
 * sets t->status to FORMAT. */
void anonymize_json(struct anonymize_text *t, const char *part, const char *text, size_t len);

#endif
