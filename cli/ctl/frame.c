/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/ctl/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/ctl/output_format.h"
#include "libfabmgr/grpc/grpc.h"

#define LONGEST 1024

unsigned frame_left(const struct frame *f)
{
    return f->height == 0 ? 10000 : f->rows < f->height ? f->height - f->rows : 0;
}

static bool is_shown(const struct frame *f)
{
    return frame_left(f) > 0;
}

/* Returns how many bytes the first `columns` columns of the text take. */
static size_t bytes_of(const char *text, unsigned columns)
{
    size_t n = 0;
    for (; text[n] != '\0'; n++)
        if (((unsigned char)text[n] & 0xc0) != 0x80 && columns-- == 0)
            break;
    return n;
}

/* Appends blanks. They are written only if a text follows in the same row, so that no row ends with
 * blanks. */
static void put_blanks(struct frame *f, unsigned count)
{
    count = count < f->width - f->column ? count : f->width - f->column;
    f->blanks += count;
    f->column += count;
}

static void flush_blanks(struct frame *f)
{
    for (; f->blanks > 0; f->blanks--)
        fab_base_text_bytes(&f->text, " ", 1);
}

/* Appends a text that has no control characters and no invalid UTF-8, cut to at most `most`
 * columns. */
static void put_clean(struct frame *f, enum out_tone tone, const char *text, unsigned most)
{
    static const char *const codes[] = {"", "\033[32m", "\033[33m", "\033[1;31m", "\033[2m"};
    unsigned left = f->width - f->column;
    most = most < left ? most : left;
    bool cut = out_width(text) > most;
    if (!is_shown(f) || most == 0 || text[0] == '\0')
        return;
    flush_blanks(f);
    if (f->colour)
        fab_base_text_add(&f->text, codes[tone]);
    unsigned columns = cut ? most - 1 : (unsigned)out_width(text);
    fab_base_text_bytes(&f->text, text, bytes_of(text, columns));
    fab_base_text_add(&f->text, cut ? "~" : "");
    if (f->colour && tone != OUT_PLAIN)
        fab_base_text_add(&f->text, "\033[0m");
    f->column += columns + cut;
}

static void clean_of(const char *text, char clean[LONGEST])
{
    fab_grpc_utf8_clean(text, strlen(text), clean, LONGEST);
}

void frame_put(struct frame *f, enum out_tone tone, const char *text)
{
    char clean[LONGEST];
    clean_of(text, clean);
    put_clean(f, tone, clean, f->width);
}

void frame_putf(struct frame *f, enum out_tone tone, const char *fmt, ...)
{
    char text[LONGEST];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    frame_put(f, tone, text);
}

void frame_cell(struct frame *f, enum out_tone tone, unsigned width, bool right, const char *text)
{
    char clean[LONGEST];
    clean_of(text, clean);
    unsigned columns = (unsigned)out_width(clean);
    unsigned blanks = columns < width ? width - columns : 0;
    if (right)
        put_blanks(f, blanks);
    put_clean(f, tone, clean, width);
    put_blanks(f, (right ? 0 : blanks) + 2);
}

void frame_end_row(struct frame *f)
{
    bool last = frame_left(f) == 1;
    if (is_shown(f))
        fab_base_text_add(&f->text, !f->screen ? "\n" : last ? "\033[K" : "\033[K\n");
    f->rows++;
    f->column = f->blanks = 0;
}
