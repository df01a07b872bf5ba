/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between output.c and the output formats. Only the files output*.c use it. */
#ifndef CLI_CTL_OUTPUT_FORMAT_H
#define CLI_CTL_OUTPUT_FORMAT_H

#include "cli/ctl/output.h"

struct value {
    const char *key, *label, *text; /* text: the value as it is printed */
    /* How JSON prints the value: TEXT with quotes, BARE without quotes, NONE as null. */
    enum { VALUE_TEXT, VALUE_BARE, VALUE_NONE } kind;
    enum out_tone tone;
};

struct out_ops {
    void (*record)(struct out *o, const char *key);
    void (*record_end)(struct out *o);
    void (*value)(struct out *o, const struct value *v);
    void (*table)(struct out *o, const char *key);
    void (*row)(struct out *o);
    void (*row_end)(struct out *o);
    void (*table_end)(struct out *o);
    void (*note)(struct out *o, enum out_tone tone, const char *line);
};
extern const struct out_ops out_text_ops, out_json_ops;

#define OUT_COLUMNS_MAX 24u /* greatest number of columns of a table */

struct cell {
    char *text;
    enum out_tone tone;
};

struct out {
    const struct out_ops *ops;
    FILE *to;
    bool colour, live;
    /* columns of the table that is printed now */
    const struct out_column *columns;
    size_t column_count;
    bool in_row, failed;
    /* Only the text format uses the members from here on. */
    /* [cell_count] cells of the present table, row by row */
    struct cell *cells;
    size_t cell_count, cell_room, row_cell;
    /* Only the JSON format uses the members from here on. */
    unsigned depth;
    /* true: nothing was written yet at this depth of nesting, so that no comma is needed */
    bool first;
};

/* Returns the number of columns that `text` takes on a terminal. */
size_t out_width(const char *text);

#endif
