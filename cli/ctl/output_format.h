/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between output.c and the output formats. For the files output*.c only. */
#ifndef CLI_CTL_OUTPUT_FORMAT_H
#define CLI_CTL_OUTPUT_FORMAT_H

#include "cli/ctl/output.h"

struct value {
    const char *key, *label, *text;                   /* text: the value as printed */
    enum { VALUE_TEXT, VALUE_BARE, VALUE_NONE } kind; /* BARE: without quotes; NONE: null */
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

struct cell {
    char *text;
    enum out_tone tone;
};

struct out {
    const struct out_ops *ops;
    FILE *to;
    bool colour, live;
    const struct out_column *columns; /* columns of the current table */
    size_t column_count;
    bool in_row, failed;
    /* The text format uses these members: */
    struct cell *cells; /* [cell_count], row by row */
    size_t cell_count, cell_room, row_cell;
    /* The JSON format uses these members: */
    unsigned depth;
    bool first; /* nothing has been written at this depth of nesting yet */
};

/* Returns the number of columns that `text` takes on a terminal. */
size_t out_width(const char *text);

#endif
