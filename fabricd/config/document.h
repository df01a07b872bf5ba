/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of an applied policy (libfabmgr/policy/declared.h) with libyaml. */
#ifndef FABRICD_CONFIG_DOCUMENT_H
#define FABRICD_CONFIG_DOCUMENT_H

#include "libfabmgr/policy/declared.h"

struct document_file {
    const char *name; /* name of the file, for messages */
    const char *text;
    size_t len;
};
/* Reads the files as one policy. With files == 0, makes an empty policy. Returns OK; or LIMIT (too
 * many files, or files that are too long together), FORMAT, NOMEM or an error of
 * fab_policy_declared_read, with the reason in why[], which begins with "FILE:LINE:COLUMN: " if the
 * position is known. After success, the caller keeps *doc as long as it calls document_place, which
 * needs the names of the files in it, and then calls fab_policy_doc_fini. */
int document_read(const struct document_file *file, size_t files, struct fab_doc *doc,
                  struct fab_declared *ret, char *why, size_t why_len);
/* Writes the position of a value in the files as "FILE:LINE:COLUMN: ". */
void document_place(const struct fab_doc *doc, const struct fab_doc_place *at, char *to,
                    size_t len);

#endif
