/* SPDX-License-Identifier: BSD-3-Clause */
/* Anonymizes the files of a support bundle. For cmd_support.c only. */
#ifndef CLI_CTL_BUNDLE_H
#define CLI_CTL_BUNDLE_H

#include "cli/ctl/anonymize.h"
#include "cli/ctl/output.h"

/* bundle_learn_here learns the names of this machine, of its user, and of the machine in `address`,
 * the address of the manager. If `address` is NULL, the environment variable FABRICCTL_SERVER has
 * the address. bundle_learn_text and bundle_replace_text handle a text that is not in the bundle,
 * such as an error message: the first learns the names in it, and the second replaces them in
 * place. */
void bundle_learn_here(struct anonymizer *a, const char *address);
void bundle_learn_text(struct anonymizer *a, const char *text);
void bundle_replace_text(struct anonymizer *a, char *text, size_t size);

/* The next functions learn the names in the file `file` of the directory `folder`, replace these
 * names, or remove the file. They return the exit code. If they fail, they print an error. */
int bundle_learn_part(struct anonymizer *a, const char *folder, const char *file);
int bundle_replace_part(struct anonymizer *a, const char *folder, const char *file);
int bundle_remove_part(const char *folder, const char *file);
/* Writes the table of pseudonyms to a new file with mode 0600. If this fails, prints an error.
 * Returns the exit code. */
int bundle_write_map(struct anonymizer *a, const char *file);

/* Prints how many different names, GUIDs and addresses of each kind (enum pseudonym_kind) were
 * replaced. */
void bundle_say_replaced(struct out *o, struct anonymizer *a);

#endif
