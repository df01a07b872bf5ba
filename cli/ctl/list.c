/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints any list of the API, page by page. The fields of a message are found by name, in the
 * protobuf descriptor. While one page is printed, a thread requests and decodes the next page.
 * Successive pages use two blocks of memory in turn, because the request for the next page points
 * to the page token in the present page. */
#include "cli/ctl/list.h"

#include <assert.h>
#include <pthread.h>

#include "cli/ctl/page_memory.h"

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

/* Returns how many rows of a page are printed: those before the first row that is older than
 * list->since. Sets *ret_end to true if the page has such a row; the list then ends before this
 * row. */
static size_t rows_of(const struct list *list, const ProtobufCMessage *page, bool *ret_end)
{
    void **items = *(void ***)field_of(page, list->items);
    size_t count = count_of(page, list->items);
    for (size_t i = 0; i < count && list->since != NULL; i++) {
        *ret_end = is_before(items[i], list->since);
        if (*ret_end)
            return i;
    }
    return count;
}

static void say_rows(struct out *o, const struct list *list, const ProtobufCMessage *page,
                     size_t count)
{
    void **items = *(void ***)field_of(page, list->items);
    for (size_t i = 0; i < count; i++)
        list->say_row(o, items[i]);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The state of the requests for pages. While `thread` runs, no other thread may use the client, or
 * the members from `code` on. */
struct pages {
    struct session *s;
    const struct list *list;
    ProtobufCMessage *query;
    pthread_t thread;
    bool running; /* true: `thread` runs */
    /* memory of the page that is being printed, and of the next page, by turns */
    struct page_memory memory[2];
    unsigned turn;
    enum fab_grpc_code code;
    ProtobufCMessage *page; /* NULL: the request has failed */
    struct fab_client_error error;
};

static void *request(void *ctx)
{
    struct pages *p = ctx;
    char method[100];
    snprintf(method, sizeof method, "fabric.v1.FabricService/%s", p->list->method);
    struct page_memory *m = &p->memory[p->turn++ % 2];
    page_memory_reset(m);
    p->page = NULL;
    p->code = fab_client_call_in(p->s->client, method, p->query, p->list->reply, &m->allocator,
                                 &p->page, &p->error);
    return NULL;
}

/* Begins the request for the page that follows `after`; NULL: the first page. most: maximum number
 * of its rows; 0: any number. */
static void begin_page(struct pages *p, const ProtobufCMessage *after, size_t most)
{
    char **token = field_of(p->query, "page_token");
    uint32_t *size = field_of(p->query, "page_size");
    if (most > 0)
        *size = most < LARGEST_PAGE ? (uint32_t)most : LARGEST_PAGE;
    if (after != NULL)
        *token = *(char **)field_of(after, "next_page_token");
    p->running = after != NULL && pthread_create(&p->thread, NULL, request, p) == 0;
    if (!p->running)
        request(p);
}

/* Waits for the page. If the request has failed, prints the error. Returns the exit code. */
static int end_page(struct pages *p, ProtobufCMessage **ret)
{
    if (p->running)
        (void)pthread_join(p->thread, NULL);
    *ret = p->page;
    return p->code == FAB_GRPC_OK ? EXIT_OK : say_error(&p->error);
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool has_next(const ProtobufCMessage *page)
{
    const char *token = *(char **)field_of(page, "next_page_token");
    return token != NULL && token[0] != '\0';
}

/* Prints all pages, with at most `most` rows; 0: all rows. *ret_last: the last page. Returns the
 * exit code. */
static int say_pages(struct pages *p, size_t most, size_t *ret_rows, ProtobufCMessage **ret_last)
{
    struct out *o = p->s->out;
    ProtobufCMessage *page, *next;
    bool end = false;
    begin_page(p, NULL, most);
    int rc = end_page(p, &page);
    while (page != NULL) {
        size_t count = rows_of(p->list, page, &end);
        *ret_rows += count;
        end = end || !has_next(page) || (most > 0 && *ret_rows >= most) || out_broken(o);
        if (!end)
            begin_page(p, page, most > 0 ? most - *ret_rows : 0);
        say_rows(o, p->list, page, count);
        if (end)
            break;
        rc = end_page(p, &next);
        page = next;
    }
    *ret_last = page;
    return rc;
}

int say_list(struct session *s, const struct list *list, ProtobufCMessage *query)
{
    struct pages p = {.s = s, .list = list, .query = query};
    page_memory_init(&p.memory[0]);
    page_memory_init(&p.memory[1]);
    ProtobufCMessage *last = NULL;
    size_t rows = 0, most = list->count > 0 && s->count > 0 ? s->count : list->count;
    out_record(s->out, NULL);
    out_table(s->out, list->items, list->columns, list->column_count, false);
    int rc = say_pages(&p, most, &rows, &last);
    out_table_end(s->out);
    if (rc == EXIT_OK && rows == 0 && list->none != NULL)
        out_note(s->out, OUT_DIM, "%s", list->none);
    if (last != NULL && list->say_end != NULL)
        list->say_end(s->out, last);
    page_memory_fini(&p.memory[0]);
    page_memory_fini(&p.memory[1]);
    out_record_end(s->out);
    return rc;
}
