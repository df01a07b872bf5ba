/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads arguments that must be one of several words. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/ctl/cmd.h"
#include "libfabmgr/base/near.h"

/* Returns the only word of the list that begins with `word`; NULL: no word or several words do. */
static const char *only_beginning(const char *word, const char *const *words)
{
    const char *found = NULL;
    for (; *word != '\0' && *words != NULL; words++) {
        if (strncasecmp(word, *words, strlen(word)) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = *words;
    }
    return found;
}

const char *near_word(const char *word, const char *const *words)
{
    const char *begun = only_beginning(word, words);
    if (begun != NULL)
        return begun;
    unsigned least = fab_base_near_most(strlen(word)) + 1;
    const char *nearest = NULL;
    for (; *words != NULL; words++) {
        unsigned d = fab_base_distance(word, strlen(word), *words, strlen(*words), least - 1);
        if (d < least) {
            least = d;
            nearest = *words;
        }
        if (least == 0)
            break;
    }
    return nearest;
}

/* Writes the words as "a, b or c". */
static void list_words(const char *const *words, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; words[i] != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0                 ? ""
                                 : words[i + 1] != NULL ? ", "
                                                        : " or ",
                                 words[i]);
}

bool find_word(const char *word, const char *const *words, size_t *ret)
{
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcasecmp(word, words[i]) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

int accept_word(const char *what, const char *word, const char *const *words, size_t *ret)
{
    char all[400] = "", suggestion[100] = "";
    if (find_word(word, words, ret))
        return EXIT_OK;
    const char *near = near_word(word, words);
    list_words(words, all, sizeof all);
    if (near != NULL)
        snprintf(suggestion, sizeof suggestion, "; did you mean \"%s\"?", near);
    return complain(EXIT_USAGE, "%s \"%.100s\": %s is expected%s", what, word, all, suggestion);
}
