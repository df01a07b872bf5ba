/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between output.c and the output formats. Only the files output*.c use it. */
#ifndef CLI_CTL_OUTPUT_FORMAT_H
#define CLI_CTL_OUTPUT_FORMAT_H

#include "cli/ctl/output.h"

/* How JSON prints a value: TEXT with quotes, BARE without quotes, NONE as null. */
enum value_kind { VALUE_TEXT, VALUE_BARE, VALUE_NONE };

struct value {
    const char *key, *label, *text; /* text: the value as it is printed */
    enum value_kind kind;
    enum out_tone tone;
    /* Length of the text, if it has only printable ASCII characters, and none that JSON escapes.
     * 0: not known. */
    size_t plain;
};

struct out_ops {
    /* keys: the format prints the values that have a key; labels: it prints the values that have a
     * label */
    bool keys, labels;
    void (*record)(struct out *o, const char *key);
    void (*record_end)(struct out *o);
    void (*value)(struct out *o, const struct value *v);
    void (*table)(struct out *o, const char *key);
    void (*row)(struct out *o);
    void (*row_end)(struct out *o);
    void (*table_end)(struct out *o);
    void (*note)(struct out *o, enum out_tone tone, const char *line);
    /* Prints the rest of the output, and frees the format's memory. NULL: there is nothing to do.
     */
    void (*close)(struct out *o);
};
extern const struct out_ops out_text_ops, out_json_ops, out_yaml_ops, out_csv_ops, out_wide_ops,
    out_name_ops, out_none_ops, out_select_ops, out_many_ops;

#define OUT_COLUMNS_MAX 24u /* greatest number of columns of a table */

struct cell {
    const char *text;
    size_t width; /* number of columns that the text takes on a terminal */
    enum out_tone tone;
};

struct out {
    const struct out_ops *ops;
    enum out_format format;
    FILE *to;
    bool colour, live;
    bool rows_only; /* true: out_is_list was called */
    bool headers;   /* true: tables begin with a line of column names */
    /* columns of the table that is printed now */
    const struct out_column *columns;
    size_t column_count;
    bool in_row, failed;
    /* Text only: the cells of the present table, row by row, in a list of buffers. row_count:
     * number of complete rows; column: the next column of the present row */
    struct cell_buffer *cells, *last_cells;
    size_t row_count, column;
    size_t widths[OUT_COLUMNS_MAX]; /* the greatest width of the cells of each column */
    /* JSON and YAML only. depth: number of open objects and arrays; first: the innermost open
     * object or array is still empty */
    unsigned depth;
    bool first;
    /* YAML only. open: the line of the last key has no line end yet; after_dash: the next entry
     * follows the "- " of its row on the same line */
    bool open, after_dash;
    struct flat *flat; /* csv and wide only */
    /* the rows that are selected and sorted, and the format that prints them; NULL: out_select was
     * not called */
    struct selection *selection;
    struct many *many; /* the outputs that are joined; NULL: out_many was not called */
    /* The format "name" only. found: the first column of the present row was printed; only_one: the
     * output began with a value outside of a table, and only this value is printed */
    bool found, only_one;
};

/* Returns the number of columns that `text` takes on a terminal. */
size_t out_width(const char *text);
/* Returns the number of characters at the beginning of the text that are printable ASCII, and that
 * JSON does not escape. */
size_t out_plain_length(const char *text);
/* Writes a string in quotes, with the escapes of JSON. */
void out_put_quoted(FILE *to, const char *text);

#endif
