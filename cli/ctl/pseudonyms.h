/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudonyms for the names, GUIDs and addresses (the originals) in a support bundle. The caller
 * first learns all originals, then seals the table, which gives each original its pseudonym, and
 * then replaces the originals.
 *
 * The numbers in pseudonyms follow the order of HMACs with a random key, which the seal erases. So
 * the numbers reveal nothing about the names, even if somebody compares two bundles.
 */
#ifndef CLI_CTL_PSEUDONYMS_H
#define CLI_CTL_PSEUDONYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/text.h"

/* The kinds of originals. If an original is learned as several kinds, the first kind in this list
 * counts. */
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
    PSEUDONYM_WORD, /* a word that fabricd's sources do not contain */
    /* the originals of this kind and of the next one are numbers, and not texts */
    PSEUDONYM_GUID,
    PSEUDONYM_PREFIX, /* the first 64 bits of a GID or of an IPv6 address */
    PSEUDONYM_KINDS
};

struct pseudonym {
    char *original; /* NUL-terminated, as it was first learned */
    size_t len;
    enum pseudonym_kind kind;
    /* true: the original consists only of numbers and of words of fabricd's own messages
     * (plain_words.h). Such words in free text are probably not this name. So the original is
     * replaced only in fields that contain names. */
    bool common;
    bool used; /* true: the pseudonym of this original was written */
    /* index of another original that has the same pseudonym; its own index: there is none */
    uint32_t same_as;
    uint32_t number;      /* number in the pseudonym; valid after the seal */
    unsigned char mac[8]; /* HMAC of the original; the numbers follow the order of the HMACs */
};

struct pseudonyms;
/* Makes an empty table with a random key. Returns NOMEM, also if the system has no random numbers.
 */
int pseudonyms_new(struct pseudonyms **ret);
void pseudonyms_free(struct pseudonyms *p); /* `p` may be NULL */

/* Returns true if the character is part of a word. pseudonyms_find finds only whole words. */
bool pseudonyms_in_word(char c);

/* Learns a name. Characters before its first word and after its last word do not belong to the
 * name. Returns OK, NOMEM, or EXISTS if another name with the same hash was learned. */
int pseudonyms_learn(struct pseudonyms *p, enum pseudonym_kind kind, const char *name, size_t len);
/* Learns `name` as another name of the object that has the learned name `of`. If `of` was not
 * learned, for example because it has no words, does not learn `name` either. */
int pseudonyms_learn_alias(struct pseudonyms *p, const char *name, size_t len, const char *of,
                           size_t of_len);
/* Learns a GUID or a prefix. Returns NOMEM. */
int pseudonyms_learn_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original);

/* Gives each pseudonym its number. Call this function after all originals are learned. Returns OK
 * or NOMEM. */
int pseudonyms_seal(struct pseudonyms *p);

/* Returns the longest original that begins at text[0] and ends at the end of a word; case does not
 * matter. NULL: there is none. *ret_len: length of this original. The caller must check that a word
 * begins at text[0]. */
const struct pseudonym *pseudonyms_find(const struct pseudonyms *p, const char *text, size_t len,
                                        size_t *ret_len);
/* Writes the pseudonym of an original that pseudonyms_find has returned. */
void pseudonyms_write(struct pseudonyms *p, const struct pseudonym *original, struct fab_text *to);
/* Returns the pseudonym of a number; a number that was not learned is returned as it is. If GUIDs
 * differ only in their last 8 bits, so do their pseudonyms, because the GUIDs of a node and of its
 * ports differ in this way. */
uint64_t pseudonyms_number(struct pseudonyms *p, enum pseudonym_kind kind, uint64_t original);
/* Returns true if the number was learned as an original and is not also a pseudonym. */
bool pseudonyms_is_original(const struct pseudonyms *p, enum pseudonym_kind kind, uint64_t number);

/* Returns how many different originals of this kind were replaced. */
uint32_t pseudonyms_count(const struct pseudonyms *p, enum pseudonym_kind kind);
/* Writes the table: a line "PSEUDONYM<tab>ORIGINAL" for each original that was replaced. */
void pseudonyms_table(const struct pseudonyms *p, struct fab_text *to);

#endif
