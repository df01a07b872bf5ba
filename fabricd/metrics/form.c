/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the form of a page from the query and the Accept headers of a request (RFC 9110, 12.5.1).
 *
 * For each of the two formats, the most specific media range that matches gives the quality. The
 * format with the higher quality is chosen. At equal quality, OpenMetrics is chosen if the client
 * names it. Otherwise the text format is chosen, because every client reads it. Without an Accept
 * header, the page has the text format.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabricd/metrics/private.h"

static const struct offer {
    const char *type, *subtype, *version, *content_type;
} offers[METRICS_FORMATS] = {
    [METRICS_OPENMETRICS] = {"application", "openmetrics-text", "1.0.0",
                             "application/openmetrics-text; version=1.0.0; charset=utf-8"},
    [METRICS_TEXT] = {"text", "plain", "0.0.4", "text/plain; version=0.0.4; charset=utf-8"},
};

const char *metrics_content_type(enum metrics_format format)
{
    return offers[format].content_type;
}

/* ---- the Accept header ----------------------------------------------------------------------- */

#define WORD_LEN 64
/* a media range of an Accept header, such as "text/plain;version=0.0.4;q=0.5" */
struct range {
    char type[WORD_LEN], subtype[WORD_LEN], version[WORD_LEN];
    double quality;
};

/* Copies the text up to the first character that is in `stops`, or up to its end, to word[].
 * Converts the copy to lower case, and removes quotes, and blanks at both ends. Cuts it if it is
 * too long. Returns where the copied text ends. */
static const char *read_word(const char *at, const char *stops, char word[WORD_LEN])
{
    size_t len = strcspn(at, stops), first = 0, used = 0;
    const char *end = at + len;
    while (first < len && isspace((unsigned char)at[first]))
        first++;
    while (len > first && isspace((unsigned char)at[len - 1]))
        len--;
    for (size_t i = first; i < len && used < WORD_LEN - 1; i++)
        if (at[i] != '"')
            word[used++] = (char)tolower((unsigned char)at[i]);
    word[used] = '\0';
    return end;
}

/* Reads a quality: a number from 0 to 1 with at most three digits after the point; a number from 1
 * to 1.999 counts as 1. Returns 0, which means "not acceptable", if the text is not such a number.
 */
static double read_quality(const char *text)
{
    size_t digits = strlen(text) > 2 ? strspn(text + 2, "0123456789") : 0;
    if ((text[0] != '0' && text[0] != '1') || (text[1] != '\0' && text[1] != '.') ||
        (text[1] == '.' && (digits > 3 || text[2 + digits] != '\0')))
        return 0;
    double fraction = 0, unit = 0.1;
    for (size_t i = 0; i < digits; i++, unit /= 10)
        fraction += (text[2 + i] - '0') * unit;
    return text[0] == '1' ? 1 : fraction;
}

/* Reads the media range at the beginning of the text. Returns the position after the comma that
 * ends the media range, or the end of the text if there is no comma. */
static const char *read_range(const char *at, struct range *ret)
{
    *ret = (struct range){.quality = 1};
    at = read_word(at, "/,;", ret->type);
    if (*at == '/')
        at = read_word(at + 1, ",;", ret->subtype);
    while (*at == ';') {
        char name[WORD_LEN], value[WORD_LEN] = "";
        at = read_word(at + 1, "=,;", name);
        if (*at == '=')
            at = read_word(at + 1, ",;", value);
        if (strcmp(name, "q") == 0)
            ret->quality = read_quality(value);
        else if (strcmp(name, "version") == 0)
            memcpy(ret->version, value, sizeof(value));
    }
    return *at == ',' ? at + 1 : at;
}

/* Returns how specifically a media range names the format `o`: from 1 (any type) to 4 (type and
 * version); 0: it does not name the format. */
static int match(const struct range *r, const struct offer *o)
{
    if (strcmp(r->type, "*") == 0 && strcmp(r->subtype, "*") == 0)
        return 1;
    if (strcmp(r->type, o->type) != 0)
        return 0;
    if (strcmp(r->subtype, "*") == 0)
        return 2;
    if (strcmp(r->subtype, o->subtype) != 0)
        return 0;
    if (r->version[0] == '\0')
        return 3;
    return strcmp(r->version, o->version) == 0 ? 4 : 0;
}

/* Returns the format that the Accept headers prefer; METRICS_FORMATS: they accept neither
 * format. */
static enum metrics_format choose_format(const char *accept)
{
    double quality[METRICS_FORMATS] = {0};
    int specific[METRICS_FORMATS] = {0};
    if (accept[strspn(accept, " \t,")] == '\0')
        return METRICS_TEXT;
    while (*accept != '\0') {
        struct range r;
        accept = read_range(accept, &r);
        for (int f = 0; f < METRICS_FORMATS; f++) {
            int how = match(&r, &offers[f]);
            if (how <= specific[f])
                continue;
            specific[f] = how;
            quality[f] = r.quality;
        }
    }
    if (quality[METRICS_OPENMETRICS] <= 0 && quality[METRICS_TEXT] <= 0)
        return METRICS_FORMATS;
    if (quality[METRICS_OPENMETRICS] > quality[METRICS_TEXT] ||
        (quality[METRICS_OPENMETRICS] >= quality[METRICS_TEXT] &&
         specific[METRICS_OPENMETRICS] > 2))
        return METRICS_OPENMETRICS;
    return METRICS_TEXT;
}

/* ---- the query ------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a part of a URL in place: "%5B" becomes "[", for example, and "+" a blank. */
static void decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        int high = *at == '%' ? hex_digit((char)tolower((unsigned char)at[1])) : -1;
        int low = high >= 0 ? hex_digit((char)tolower((unsigned char)at[2])) : -1;
        char c = *at;
        if (c == '+')
            c = ' ';
        if (low >= 0) {
            c = (char)(high << 4 | low);
            at += 2;
        }
        *to++ = c;
    }
    *to = '\0';
}

static bool take_names(const char *value, struct metrics_form *form)
{
    static const char *const names[] = {"own", "treydock", "guilbaults"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(value, names[i]) == 0) {
            form->names = (enum config_metrics_names)i;
            return true;
        }
    return false;
}

static bool take_collect(const char *value, struct metrics_form *form)
{
    form->manager |= strcmp(value, "manager") == 0;
    form->ports |= strcmp(value, "ports") == 0;
    return strcmp(value, "manager") == 0 || strcmp(value, "ports") == 0;
}

/* Reads a parameter of the query, "NAME=VALUE", into *form. Ignores parameters with unknown names.
 * Returns false if the value is not allowed. */
static bool take_parameter(char *text, struct metrics_form *form)
{
    char *value = strchr(text, '=');
    if (!value)
        return true;
    *value++ = '\0';
    decode(text);
    decode(value);
    if (strcmp(text, "names") == 0)
        return take_names(value, form);
    if (strcmp(text, "collect[]") == 0 || strcmp(text, "collect") == 0)
        return take_collect(value, form);
    return true;
}

enum metrics_choice metrics_form_choose(const char *query, const char *accept,
                                        enum config_metrics_names names, struct metrics_form *ret)
{
    struct metrics_form form = {.names = names};
    char copy[256], *rest = copy, *parameter;
    if ((size_t)snprintf(copy, sizeof(copy), "%s", query) >= sizeof(copy))
        return METRICS_BAD_QUERY;
    while ((parameter = strsep(&rest, "&")) != NULL)
        if (!take_parameter(parameter, &form))
            return METRICS_BAD_QUERY;
    if (!form.manager && !form.ports)
        form.manager = form.ports = true;
    form.format = choose_format(accept);
    if (form.format == METRICS_FORMATS)
        return METRICS_NOT_ACCEPTABLE;
    *ret = form;
    return METRICS_CHOSEN;
}
