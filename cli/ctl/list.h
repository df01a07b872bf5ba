/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a list of the API, which comes in pages, as one table. */
#ifndef CLI_CTL_LIST_H
#define CLI_CTL_LIST_H

#include "cli/ctl/cmd.h"

struct list {
    const char *method;                      /* such as "ListNodes" */
    const ProtobufCMessageDescriptor *reply; /* has a field `items` and next_page_token */
    const char *items; /* name of the field, also the key in JSON, such as "nodes" */
    const struct out_column *columns;
    size_t column_count;
    void (*say_row)(struct out *o, const void *item);
    const char *none; /* the text if the list is empty; NULL: none */
    size_t count;     /* the most rows to print without -n; 0: print all rows */
    /* Prints the text after the table; NULL: there is none. */
    void (*say_end)(struct out *o, const void *last_page);
};
/* Requests and prints page after page. query: the request, which must have a page_token and a
 * page_size. Returns the exit code. */
int say_list(struct session *s, const struct list *list, ProtobufCMessage *query);

#endif
