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
    ANONYMIZE_CHECK /* of what was written: an original in it is the error DENIED */
};

struct anonymize_text {
    struct pseudonyms *pseudonyms;
    enum anonymize_pass pass;
    bool strict; /* words that are none of fabricd's own are replaced */
    /* for ANONYMIZE_WRITE; otherwise NULL */
    struct fab_text *to;
    int status; /* the first error */
};

static inline void anonymize_note(struct anonymize_text *t, int status)
{
    if (t->status == FAB_OK)
        t->status = status;
}

/* Learns from, writes or checks a text of any kind. */
void anonymize_text(struct anonymize_text *t, const char *text, size_t len);
/* The same for a text that is a name of this kind, such as that of a partition. */
void anonymize_name(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                    size_t len);
/* The same for a NodeDescription, also with a port number: "leaf-003/5". */
void anonymize_node(struct anonymize_text *t, const char *text, size_t len);
/* The same for a list of node names, such as "leaf-001, leaf-002 and 3 more". */
void anonymize_nodes(struct anonymize_text *t, const char *text, size_t len);
/* The same for an account of the manager, such as "alice (uid 1000)" or "certificate of ops". */
void anonymize_account(struct anonymize_text *t, const char *text, size_t len);
/* Learns or writes a word that cannot stay, whatever it means. */
void anonymize_whole(struct anonymize_text *t, enum pseudonym_kind kind, const char *text,
                     size_t len);

#endif
