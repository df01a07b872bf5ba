/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the result of a List method of the API as one table. The manager sends the result in
 * pages. */
#ifndef CLI_CTL_LIST_H
#define CLI_CTL_LIST_H

#include "cli/ctl/cmd.h"
#include "google/protobuf/timestamp.pb-c.h"

struct list {
    const char *method; /* method of FabricService, such as "ListNodes" */
    /* Descriptor of the reply. The reply must have a field with the rows (its name is in
     * `items`) and the field next_page_token. */
    const ProtobufCMessageDescriptor *reply;
    /* Name of the field with the rows, such as "nodes". It is also the key in JSON. */
    const char *items;
    const struct out_column *columns;
    size_t column_count;
    void (*say_row)(struct out *o, const void *item);
    /* text that is printed if the list is empty; NULL: no text */
    const char *none;
    /* maximum number of rows that are printed without the option -n; 0: all rows are printed, and
     * -n has no effect */
    size_t count;
    /* Only for lists whose newest row comes first: the list ends before the first row with a field
     * `time` that is earlier than this; NULL: the list has all rows. */
    const Google__Protobuf__Timestamp *since;
    /* Prints a text below the table; NULL: there is no text. */
    void (*say_end)(struct out *o, const void *last_page);
};
/* Requests and prints the list page by page. `query` is the request, which must have the fields
 * page_token and page_size. Returns the exit code. */
int say_list(struct session *s, const struct list *list, ProtobufCMessage *query);

#endif
