/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces names in texts. For anonymize.c and anonymize_json.c only. */
#ifndef CLI_CTL_ANONYMIZE_TEXT_H
#define CLI_CTL_ANONYMIZE_TEXT_H

#include <stdbool.h>

#include "cli/ctl/pseudonyms.h"
#include "libfabmgr/base/status.h"

enum anonymize_pass {
    ANONYMIZE_LEARN,
    ANONYMIZE_WRITE,
    /* this pass looks for originals (pseudonyms.h) in the text that ANONYMIZE_WRITE wrote; if it
     * finds one, it sets the error DENIED */
    ANONYMIZE_CHECK
};

struct anonymize_text {
    struct pseudonyms *pseudonyms;
    enum anonymize_pass pass;
    /* true: every word that is not in fabricd's sources is replaced, because it may be a name */
    bool strict;
    /* where ANONYMIZE_WRITE writes the text; NULL in the other passes */
    struct fab_text *to;
    int status; /* status of the first error; OK: there was no error */
};

static inline void anonymize_note(struct anonymize_text *t, int status)
{
    if (t->status == FAB_OK)
        t->status = status;
}

/* Handles a text of any kind: learns from it, writes it or checks it, depending on the pass. */
void anonymize_text(struct anonymize_text *t, const char *text, size_t len);
/* Like anonymize_text, for a text that is a name of the kind `kind`, such as the name of a
 * partition. */
void anonymize_name(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                    size_t len);
/* Like anonymize_text, for a NodeDescription, with or without a port number: "leaf-003/5". */
void anonymize_node(struct anonymize_text *t, const char *text, size_t len);
/* Like anonymize_text, for a list of node names, such as "leaf-001, leaf-002 and 3 more". */
void anonymize_nodes(struct anonymize_text *t, const char *text, size_t len);
/* Like anonymize_text, for an account of the manager, such as "alice (uid 1000)" or "certificate of
 * ops". */
void anonymize_account(struct anonymize_text *t, const char *text, size_t len);
/* Handles the whole text as one name, even if it consists of plain words: learns it or replaces it,
 * depending on the pass. */
void anonymize_whole(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                     size_t len);

#endif
