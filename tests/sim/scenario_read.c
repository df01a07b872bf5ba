/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads scenarios. A line has words and options, separated by blanks. An option is "name=value", or
 * "name value" as in "within 2s"; "#" begins a comment. The table of verbs says what each verb
 * takes, and lines are checked by this table.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/faults.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "tests/sim/scenario.h"

#define LINE_MAX_LENGTH 512
#define LINES_MAX 16384

struct reader {
    char line[LINE_MAX_LENGTH];
    uint32_t number;
    size_t at; /* offset of the next character of the line */
    uint64_t last_us;
    struct scenario *to;
    struct scenario_error *error;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *r, size_t column,
                                                      const char *fmt, ...)
{
    va_list args;
    r->error->line = r->number;
    r->error->column = (uint32_t)column + 1;
    va_start(args, fmt);
    vsnprintf(r->error->message, sizeof(r->error->message), fmt, args);
    va_end(args);
    return FAB_E_FORMAT;
}

/* Reads the next word. *ret_column: the column of its first character. Returns false at the end of
 * the line. */
static bool next_word(struct reader *r, char word[SCENARIO_WORD], size_t *ret_column)
{
    size_t len = 0;
    while (isspace((unsigned char)r->line[r->at]))
        r->at++;
    *ret_column = r->at;
    while (r->line[r->at] && r->line[r->at] != '#' && !isspace((unsigned char)r->line[r->at])) {
        if (len < SCENARIO_WORD)
            word[len++] = r->line[r->at];
        r->at++;
    }
    /* A word that is too long is replaced by "(too long)", which no table has, so that the caller
     * reports an error. If it were truncated, it could become another valid name. */
    if (len == SCENARIO_WORD)
        memcpy(word, "(too long)", sizeof("(too long)"));
    else
        word[len] = '\0';
    return len > 0;
}

static int read_time(struct reader *r, uint64_t *ret)
{
    char word[SCENARIO_WORD];
    size_t column;
    double us;
    if (!next_word(r, word, &column))
        return fail(r, column, "a time is expected after \"at\", such as 2s or +150ms");
    bool relative = word[0] == '+';
    if (!fault_number(word + relative, &us))
        return fail(r, column, "\"%s\" is not a time, such as 2s or +150ms", word);
    *ret = (uint64_t)us + (relative ? r->last_us : 0);
    if (*ret < r->last_us)
        return fail(r, column, "%s is before the line above: lines stand in the order of time",
                    word);
    return FAB_OK;
}

/* ---- lines ---- */

static bool takes(const struct scenario_verb *verb, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = verb->options; *at; at = strchr(at, ' ') + 1)
        if (strncmp(at, name, len) == 0 && at[len] == ' ')
            return true;
    return false;
}

static int read_option(struct reader *r, struct scenario_line *line, const char *name,
                       const char *value, size_t column)
{
    struct scenario_option *o = &line->options[line->option_count++];
    snprintf(o->name, sizeof(o->name), "%.15s", name);
    snprintf(o->text, sizeof(o->text), "%.31s", value);
    if (!fault_number(o->text, &o->number) && strcmp(o->name, "speed") != 0)
        return fail(r, column, "\"%s\" is not a number, a time (10ms) or a rate (1%%)", o->text);
    return FAB_OK;
}

/* Reads the value of an option, from "name=value" or from the next word. */
static int read_option_word(struct reader *r, struct scenario_line *line, char *word, size_t column)
{
    char value[SCENARIO_WORD];
    char *equals = strchr(word, '=');
    size_t value_column = column;
    if (equals) {
        *equals = '\0';
        snprintf(value, sizeof(value), "%s", equals + 1);
        value_column += (size_t)(equals + 1 - word);
    }
    if (!takes(line->verb, word))
        return fail(r, column, "\"%s\" takes no option \"%s\"; it takes: %s", line->verb->name,
                    word, line->verb->options[0] ? line->verb->options : "none");
    if (!equals && !next_word(r, value, &value_column))
        return fail(r, value_column, "\"%s\" needs a value", word);
    return read_option(r, line, word, value, value_column);
}

static int read_rest(struct reader *r, struct scenario_line *line)
{
    char word[SCENARIO_WORD];
    size_t column;
    while (next_word(r, word, &column)) {
        int status = FAB_OK;
        if (line->option_count == SCENARIO_WORDS || line->word_count == SCENARIO_WORDS)
            return fail(r, column, "too many words");
        if (strchr(word, '=') || takes(line->verb, word))
            status = read_option_word(r, line, word, column);
        else
            memcpy(line->words[line->word_count++], word, sizeof(word));
        if (status != FAB_OK)
            return status;
        if (line->word_count > line->verb->words_most)
            return fail(r, column, "\"%s\" is one word too many for \"%s\"", word,
                        line->verb->name);
    }
    if (line->word_count < line->verb->words_least)
        return fail(r, column, "\"%s\" needs %u more word%s", line->verb->name,
                    line->verb->words_least - line->word_count,
                    line->verb->words_least - line->word_count > 1 ? "s" : "");
    return FAB_OK;
}

static int add_line(struct reader *r, const struct scenario_line *line)
{
    struct scenario *s = r->to;
    if (s->count == LINES_MAX)
        return fail(r, 0, "more than %d lines", LINES_MAX);
    if (s->count == s->capacity) {
        void *grown = fab_base_grow(s->lines, sizeof(*s->lines), s->count + 1, &s->capacity);
        if (!grown)
            return FAB_E_NOMEM;
        s->lines = grown;
    }
    s->lines[s->count++] = *line;
    if (strcmp(line->verb->name, "seed") == 0)
        s->seed = strtoull(line->words[0], NULL, 0);
    return FAB_OK;
}

static int read_line(struct reader *r)
{
    struct scenario_line line = {.number = r->number};
    char word[SCENARIO_WORD];
    size_t column;
    int status = FAB_OK;
    if (!next_word(r, word, &column))
        return FAB_OK;
    bool timed = strcmp(word, "at") == 0;
    if (timed && ((status = read_time(r, &line.at_us)) != FAB_OK))
        return status;
    if (timed && !next_word(r, word, &column))
        return fail(r, column, "what happens at that time?");
    line.verb = scenario_verb(word);
    if (!line.verb)
        return fail(r, column, "there is no \"%s\"", word);
    if (line.verb->setup == timed)
        return fail(r, column,
                    timed ? "\"%s\" is set up before time begins: no \"at\""
                          : "when? \"at TIME %s ...\"",
                    word);
    status = read_rest(r, &line);
    if (timed)
        r->last_us = line.at_us;
    return status == FAB_OK ? add_line(r, &line) : status;
}

static int read_all(struct reader *r, const char *text, size_t len)
{
    int status = FAB_OK;
    for (size_t at = 0; at < len && status == FAB_OK;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t size = end ? (size_t)(end - text) - at : len - at;
        r->number++;
        r->at = 0;
        if (size >= LINE_MAX_LENGTH)
            return fail(r, LINE_MAX_LENGTH, "the line is too long");
        memcpy(r->line, text + at, size);
        r->line[size] = '\0';
        at += size + 1;
        status = read_line(r);
    }
    return status;
}

int scenario_read(const char *text, size_t len, const char *name, struct scenario *ret,
                  struct scenario_error *ret_error)
{
    struct scenario s = {.seed = 1};
    struct reader r = {.to = &s, .error = ret_error};
    snprintf(s.name, sizeof(s.name), "%s", name);
    int status = read_all(&r, text, len);
    if (status == FAB_OK)
        *ret = s;
    else
        scenario_fini(&s);
    return status;
}

void scenario_fini(struct scenario *s)
{
    free(s->lines);
    s->lines = NULL;
    s->count = 0;
}

const struct scenario_option *scenario_option(const struct scenario_line *line, const char *name)
{
    for (unsigned i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].name, name) == 0)
            return &line->options[i];
    return NULL;
}

double scenario_number(const struct scenario_line *line, const char *name, double otherwise)
{
    const struct scenario_option *o = scenario_option(line, name);
    return o ? o->number : otherwise;
}
