/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Anonymizes the parts of a support bundle. The caller first passes all parts to anonymizer_read,
 * which learns the originals in them: names, GUIDs and addresses. Then it passes them to
 * anonymizer_write, which replaces the originals by pseudonyms. Port numbers, LIDs and other
 * numbers are not replaced, so the topology and the order of events stay visible.
 *
 * In JSON, the values of fields that have names, reasons or accounts are replaced; anonymize_json.c
 * lists these fields. In other texts, each known name is replaced, the longest first. Each number
 * with the form of a GUID, GID or IP address is replaced, too. A text may also have a name that is
 * in no field, such as the name of a node that is gone. Therefore every word that fabricd's sources
 * do not contain is replaced, too, except in the parts that describe the hardware and the system.
 */
#ifndef CLI_CTL_ANONYMIZE_H
#define CLI_CTL_ANONYMIZE_H

#include <stddef.h>

#include "cli/ctl/pseudonyms.h"

struct anonymizer;
int anonymizer_new(struct anonymizer **ret); /* returns NOMEM */
void anonymizer_free(struct anonymizer *a);  /* `a` may be NULL */

/* Learns a name of this machine or of its user, as an original of this kind. */
void anonymizer_learn(struct anonymizer *a, enum pseudonym_kind kind, const char *name);
/* Learns the names in a part. `part` is the file name of the part, which tells what kind of text
 * the part contains. */
void anonymizer_read(struct anonymizer *a, const char *part, const char *text, size_t len);
/* Gives each original its pseudonym. The caller must call this function after it has read all
 * parts, and before it writes the first one. */
void anonymizer_seal(struct anonymizer *a);
/* Writes a part with pseudonyms, and checks that no original is left in it. */
void anonymizer_write(struct anonymizer *a, const char *part, const char *text, size_t len,
                      struct fab_text *to);
/* Returns OK, or the first error of the calls so far: NOMEM; FORMAT: a part is not valid JSON;
 * EXISTS: two names have the same hash; DENIED: an original is left in a written part. */
int anonymizer_status(const struct anonymizer *a);

struct pseudonyms *anonymizer_pseudonyms(struct anonymizer *a);

#endif
