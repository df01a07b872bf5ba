/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudonyms for the names, GUIDs and addresses in a support bundle. The caller first learns all
 * originals, then seals the table, which gives each original its pseudonym, and then replaces.
 *
 * The numbers in pseudonyms follow the order of HMACs with a random key, which is erased when the
 * table is sealed. So neither the numbers nor two bundles together tell anything about the names.
 */
#ifndef CLI_CTL_PSEUDONYMS_H
#define CLI_CTL_PSEUDONYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/text.h"

/* If an original is learned as several kinds, the first of these kinds counts. */
enum pseudonym_kind {
    PSEUDONYM_NODE,
    PSEUDONYM_HOST,
    PSEUDONYM_PERSON,
    PSEUDONYM_CERTIFICATE,
    PSEUDONYM_PARTITION,
    PSEUDONYM_CLASS,
    PSEUDONYM_SERVICE,
    PSEUDONYM_TEXT, /* a reason or a note */
    PSEUDONYM_IPV4,
    PSEUDONYM_WORD,   /* a word that is none of fabricd's own */
    PSEUDONYM_GUID,   /* numbers from here on */
    PSEUDONYM_PREFIX, /* the first 64 bits of a GID or of an IPv6 address */
    PSEUDONYM_KINDS
};

struct pseudonym {
    char *original; /* NUL-terminated, as it was first learned */
    size_t len;
    enum pseudonym_kind kind;
    /* The original consists of numbers and of words of fabricd's own messages (plain_words.h), so
     * only fields that have a name show whether it is meant. */
    bool common;
    bool used;            /* it was written */
    uint32_t same_as;     /* index of the name whose pseudonym stands for this name, too */
    uint32_t number;      /* valid after the seal */
    unsigned char mac[8]; /* its place in the order of numbers */
};

struct pseudonyms;
/* Returns NOMEM. */
int pseudonyms_new(struct pseudonyms **ret);
void pseudonyms_free(struct pseudonyms *p); /* p may be NULL */

/* Characters that are part of a word. Only whole words are found in texts. */
bool pseudonyms_in_word(char c);

/* Learns a name. Characters around the words of the name are not part of it. Returns NOMEM, or
 * EXISTS if another name with the same hash was learned. */
int pseudonyms_learn(struct pseudonyms *p, enum pseudonym_kind kind, const char *name, size_t len);
/* Learns another name of the same thing. `of` was learned before; if it was not, because it has no
 * words, the alias is not learned either. */
int pseudonyms_learn_alias(struct pseudonyms *p, const char *name, size_t len, const char *of,
                           size_t of_len);
/* Learns a GUID or a prefix. Returns NOMEM. */
int pseudonyms_learn_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original);

/* Numbers the pseudonyms. Nothing may be learned after it. Returns NOMEM. */
int pseudonyms_seal(struct pseudonyms *p);

/* Returns the longest original that begins at text[0] and ends at the end of a word, in upper or
 * lower case, or NULL. *ret_len: its length. The caller checks that a word begins at text[0]. */
const struct pseudonym *pseudonyms_find(const struct pseudonyms *p, const char *text, size_t len,
                                        size_t *ret_len);
/* Writes the pseudonym of an original that pseudonyms_find has returned. */
void pseudonyms_write(struct pseudonyms *p, const struct pseudonym *original, struct fab_text *to);
/* Returns the pseudonym of a number. GUIDs that differ only in their last 8 bits stay neighbors,
 * because the GUIDs of a node and of its ports do so. */
uint64_t pseudonyms_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original);
/* Returns true if the number is an original, and no pseudonym. */
bool pseudonyms_is_original(const struct pseudonyms *p, enum pseudonym_kind kind, uint64_t number);

/* Number of different originals of this kind that were replaced. */
uint32_t pseudonyms_count(const struct pseudonyms *p, enum pseudonym_kind kind);
/* Writes the table: a line "PSEUDONYM<tab>ORIGINAL" for each original that was replaced. */
void pseudonyms_table(const struct pseudonyms *p, struct fab_text *to);

#endif
