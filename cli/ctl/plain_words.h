/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognizes numbers and the words of fabricd's own messages, settings and API. make_vocabulary.sh
 * takes these words from the sources and writes vocabulary.c. A support bundle may show these
 * words; all other words may be names. */
#ifndef CLI_CTL_PLAIN_WORDS_H
#define CLI_CTL_PLAIN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* all words of fabricd's sources in alphabetical order and in lower case */
extern const char *const vocabulary[];
extern const size_t vocabulary_count;

/* Returns the length of the token at the beginning of the text. A token has letters and digits;
 * "-", "_", "." and "@" may be between them. */
size_t plain_words_token(const char *text, size_t len);
/* Returns true if the token is the name of a device (plain_words_is_device), the version of
 * fabricd, one or several words, or one or several numbers. "-", "_", "." or "@" join the words or
 * the numbers. A word must be in `vocabulary` or be a single letter. A number may have a unit.
 * Returns false for any other token, for example a mixture of words and numbers such as "leaf-003".
 */
bool plain_words_has(const char *token, size_t len);
/* Returns true if the token is the name of a device in a host, such as "HCA-1" or "mlx5_0". */
bool plain_words_is_device(const char *token, size_t len);
/* Returns true if plain_words_has returns true for each token of the text. */
bool plain_words_only(const char *text, size_t len);

#endif
