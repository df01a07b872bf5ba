/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints any list of the API, page by page. It finds the fields of a message by name, in the
 * protobuf descriptor. say_list frees a page only after the request for the next page, because this
 * request points to the page token in the page. */
#include "cli/ctl/list.h"

#include <assert.h>

#define LARGEST_PAGE 1000

/* Returns the address of the field with this name in the message. */
static void *field_of(const ProtobufCMessage *m, const char *name)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
    assert(f != NULL);
    return (char *)(uintptr_t)m + f->offset;
}

static size_t count_of(const ProtobufCMessage *m, const char *name)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
    assert(f != NULL && f->label == PROTOBUF_C_LABEL_REPEATED);
    return *(const size_t *)(const void *)((const char *)m + f->quantifier_offset);
}

static bool is_before(const ProtobufCMessage *row, const Google__Protobuf__Timestamp *since)
{
    const Google__Protobuf__Timestamp *t = *(void **)field_of(row, "time");
    return t != NULL && t->seconds < since->seconds;
}

/* Prints the elements of a page as rows of the table, and returns their number. *ret_end: the list
 * ends on this page. */
static size_t say_page(struct out *o, const struct list *list, const ProtobufCMessage *page,
                       bool *ret_end)
{
    void **items = *(void ***)field_of(page, list->items);
    size_t count = count_of(page, list->items);
    for (size_t i = 0; i < count; i++) {
        *ret_end = list->since != NULL && is_before(items[i], list->since);
        if (*ret_end)
            return i;
        list->say_row(o, items[i]);
    }
    return count;
}

int say_list(struct session *s, const struct list *list, ProtobufCMessage *query)
{
    char **token = field_of(query, "page_token");
    uint32_t *size = field_of(query, "page_size");
    ProtobufCMessage *page = NULL, *last = NULL;
    size_t rows = 0, most = list->count > 0 && s->count > 0 ? s->count : list->count;
    bool end = false;
    int rc;
    out_record(s->out, NULL);
    out_table(s->out, list->items, list->columns, list->column_count, false);
    do {
        if (most > 0)
            *size = most - rows < LARGEST_PAGE ? (uint32_t)(most - rows) : LARGEST_PAGE;
        rc = ask(s, list->method, query, list->reply, &page);
        free_reply(last);
        last = rc == EXIT_OK ? page : NULL;
        if (last != NULL)
            rows += say_page(s->out, list, last, &end);
        *token = last != NULL ? *(char **)field_of(last, "next_page_token") : NULL;
    } while (*token != NULL && (*token)[0] != '\0' && !end && (most == 0 || rows < most));
    out_table_end(s->out);
    if (rc == EXIT_OK && rows == 0 && list->none != NULL)
        out_note(s->out, OUT_DIM, "%s", list->none);
    if (last != NULL && list->say_end != NULL)
        list->say_end(s->out, last);
    free_reply(last);
    out_record_end(s->out);
    return rc;
}
