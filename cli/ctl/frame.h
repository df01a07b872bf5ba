/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture made of text, limited to a given number of columns and rows. */
#ifndef CLI_CTL_FRAME_H
#define CLI_CTL_FRAME_H

#include <stdbool.h>

#include "cli/ctl/output.h"
#include "libfabmgr/base/text.h"

struct frame {
    struct fab_text text;
    unsigned width, height; /* maximum numbers of columns and rows; height 0: any number of rows */
    unsigned rows;          /* number of complete rows */
    unsigned column;        /* number of columns that the present row has so far */
    bool colour;
    /* The picture is for a screen (screen.h): each row erases the rest of its line. Otherwise rows
     * end with \n, and have no blanks at their ends. */
    bool screen;
    unsigned blanks; /* blanks that are not written yet */
};

/* Returns the number of rows that are left; a large number if there is no limit. */
unsigned frame_left(const struct frame *f);
/* Appends text to the present row. A text that does not fit is cut, and its last column is then
 * "~". Control characters and invalid UTF-8 become U+FFFD. */
void frame_put(struct frame *f, enum out_tone tone, const char *text);
void frame_putf(struct frame *f, enum out_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends text in a cell of `width` columns, followed by two blanks. right: true: the text is
 * aligned to the right. */
void frame_cell(struct frame *f, enum out_tone tone, unsigned width, bool right, const char *text);
/* Ends the present row. Rows beyond the height are dropped. */
void frame_end_row(struct frame *f);

#endif
