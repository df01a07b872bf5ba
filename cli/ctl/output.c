/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts values to text. Passes the text to the output format, which prints it.
 */
#include "cli/ctl/output_format.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

static const struct {
    const char *name;
    const struct out_ops *ops;
} formats[] = {
    [OUT_TEXT] = {"text", &out_text_ops}, [OUT_WIDE] = {"wide", &out_wide_ops},
    [OUT_JSON] = {"json", &out_json_ops}, [OUT_YAML] = {"yaml", &out_yaml_ops},
    [OUT_CSV] = {"csv", &out_csv_ops},    [OUT_NAME] = {"name", &out_name_ops},
    [OUT_SVG] = {"svg", &out_none_ops},
};

bool out_format_of(const char *name, enum out_format *ret)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            *ret = (enum out_format)i;
            return true;
        }
    }
    return false;
}

struct out *out_new(enum out_format format, FILE *to, bool colour)
{
    struct out *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    /* only one thread writes, so stdio need not lock the stream */
    (void)__fsetlocking(to, FSETLOCKING_BYCALLER);
    o->ops = formats[format].ops;
    o->format = format;
    o->to = to;
    o->colour = colour && format == OUT_TEXT;
    o->headers = true;
    o->first = true;
    return o;
}

void out_is_list(struct out *o)
{
    o->rows_only = true;
}

void out_no_headers(struct out *o)
{
    o->headers = false;
}

int out_close(struct out *o)
{
    if (o->ops->close != NULL)
        o->ops->close(o);
    (void)fflush(o->to); /* a failure sets the error indicator of the stream, which ferror reads */
    int rc = ferror(o->to) ? FAB_E_IO : FAB_OK;
    if (o->failed)
        rc = FAB_E_NOMEM;
    free(o);
    return rc;
}

bool out_wants_keys(const struct out *o)
{
    return o->ops->keys;
}

bool out_wants_labels(const struct out *o)
{
    return o->ops->labels;
}

static bool is_dropped(const struct out *o, const char *key, const char *label)
{
    return (key == NULL || !o->ops->keys) && (label == NULL || !o->ops->labels);
}

void out_record(struct out *o, const char *key)
{
    o->ops->record(o, key);
}

void out_record_end(struct out *o)
{
    o->ops->record_end(o);
}

size_t out_plain_length(const char *text)
{
    size_t len = 0;
    while (text[len] >= ' ' && text[len] <= '~' && text[len] != '"' && text[len] != '\\')
        len++;
    return len;
}

/* Prints a text. First makes the text safe for terminals and JSON, because names come from devices
 * and can contain any bytes. */
void out_text(struct out *o, const char *key, const char *label, enum out_tone tone,
              const char *value)
{
    size_t len, room;
    char *clean, little[256];
    if (is_dropped(o, key, label))
        return;
    len = out_plain_length(value);
    if (value[len] == '\0') { /* almost every text */
        o->ops->value(o, &(struct value){key, label, value, VALUE_TEXT, tone, len});
        return;
    }
    len += strlen(value + len);
    room = 3 * len + 1;
    clean = room <= sizeof little ? little : malloc(room);
    if (clean == NULL) {
        o->failed = true;
        return;
    }
    fab_grpc_utf8_clean(value, len, clean, room);
    o->ops->value(o, &(struct value){key, label, clean, VALUE_TEXT, tone, 0});
    if (clean != little)
        free(clean);
}

/* Prints a text that may have several lines. Each line is made safe for terminals, as in out_text;
 * line ends are kept. */
void out_lines(struct out *o, const char *key, const char *text)
{
    size_t room = 3 * strlen(text) + 1, used = 0;
    char *clean = malloc(room);
    if (clean == NULL) {
        o->failed = true;
        return;
    }
    clean[0] = '\0';
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        used += fab_grpc_utf8_clean(line, len, clean + used, room - used);
        line += len;
        if (*line == '\n') {
            clean[used++] = '\n';
            clean[used] = '\0';
            line++;
        }
    }
    o->ops->value(o, &(struct value){key, NULL, clean, VALUE_TEXT, OUT_PLAIN, 0});
    free(clean);
}

/* Writes the digits of a number, at least `least` of them. The last digit is directly before `end`.
 * Returns the address of the first digit. */
static char *put_digits(char *end, uint64_t value, unsigned least)
{
    for (; value != 0 || least > 0; value /= 10) {
        *--end = (char)('0' + value % 10);
        least -= least > 0;
    }
    return end;
}

void out_number(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t value)
{
    char text[24], *end = text + sizeof text - 1;
    if (is_dropped(o, key, label))
        return;
    *end = '\0';
    const char *first = put_digits(end, value, 1);
    o->ops->value(o, &(struct value){key, label, first, VALUE_BARE, tone, (size_t)(end - first)});
}

void out_millis(struct out *o, const char *key, const char *label, enum out_tone tone,
                uint64_t microseconds)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 ".%03u", microseconds / 1000,
             (unsigned)(microseconds % 1000));
    o->ops->value(o, &(struct value){key, label, text, VALUE_BARE, tone, strlen(text)});
}

/* Writes a real number with `decimals` decimals. Does not use snprintf, which takes ten times as
 * long. The text and its final zero byte end directly before `end`. Returns the beginning of the
 * text. Returns NULL if the number is negative, is too great or has more decimals, or if `decimals`
 * is 0. */
static char *put_real(char *end, double value, unsigned decimals)
{
    double scaled = value;
    for (unsigned i = 0; i < decimals; i++)
        scaled *= 10;
    if (signbit(value) || !(scaled < 1e15) || scaled != (double)(uint64_t)scaled || decimals == 0)
        return NULL;
    uint64_t digits = (uint64_t)scaled, power = 1;
    for (unsigned i = 0; i < decimals; i++)
        power *= 10;
    *--end = '\0';
    end = put_digits(end, digits % power, decimals);
    *--end = '.';
    return put_digits(end, digits / power, 1);
}

void out_real(struct out *o, const char *key, const char *label, enum out_tone tone, double value,
              unsigned decimals)
{
    /* room for the text of any double */
    char text[340];
    const char *first = put_real(text + sizeof text, value, decimals);
    if (first == NULL) {
        snprintf(text, sizeof text, "%.*f", (int)decimals, value);
        first = text;
    }
    o->ops->value(o, &(struct value){key, label, first, VALUE_BARE, tone, strlen(first)});
}

void out_bool(struct out *o, const char *key, const char *label, enum out_tone tone, bool value)
{
    const char *text = value ? "true" : "false";
    o->ops->value(o, &(struct value){key, label, text, VALUE_BARE, tone, strlen(text)});
}

void out_none(struct out *o, const char *key, const char *label)
{
    o->ops->value(o, &(struct value){key, label, NULL, VALUE_NONE, OUT_DIM, 0});
}

void out_table(struct out *o, const char *key, const struct out_column *columns, size_t count,
               bool live)
{
    assert(count <= OUT_COLUMNS_MAX);
    o->columns = columns;
    o->column_count = count;
    o->live = live;
    o->ops->table(o, key);
}

void out_row(struct out *o)
{
    o->in_row = true;
    o->ops->row(o);
}

void out_row_end(struct out *o)
{
    o->ops->row_end(o);
    o->in_row = false;
    if (o->live)
        fflush(o->to);
}

void out_table_end(struct out *o)
{
    o->ops->table_end(o);
    o->columns = NULL;
    o->column_count = 0;
    o->live = false;
}

void out_textf(struct out *o, const char *label, enum out_tone tone, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    out_text(o, NULL, label, tone, text);
}

void out_note(struct out *o, enum out_tone tone, const char *fmt, ...)
{
    char line[1024], clean[3 * sizeof line];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    fab_grpc_utf8_clean(line, strlen(line), clean, sizeof clean);
    o->ops->note(o, tone, clean);
}

bool out_broken(const struct out *o)
{
    return ferror(o->to) != 0;
}

size_t out_width(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
