/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces names in JSON. For anonymize.c only. */
#ifndef CLI_CTL_ANONYMIZE_JSON_H
#define CLI_CTL_ANONYMIZE_JSON_H

#include "cli/ctl/anonymize_text.h"

/* Handles each string of a part in JSON by the rule for its key. Keys, numbers and punctuation are
 * copied. Sets t->status to FORMAT if the text is not valid. */
void anonymize_json(struct anonymize_text *t, const char *part, const char *text, size_t len);

#endif
