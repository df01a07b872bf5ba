/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a document tree (libfabmgr/policy/document.h) from the events of libyaml. The text comes
 * from a client, so its size, the number of its nodes and their depth are limited. Anchors and tags
 * are refused, because with aliases a short text could describe a very large tree. */
#include "fabricd/config/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"

/* maximum number of keys in a mapping; no mapping of a policy needs so many */
#define KEYS_MAX 64

struct builder {
    struct fab_doc *doc;
    yaml_parser_t parser;
    /* the lists and mappings whose ends the parser has not reached yet, the outermost first */
    uint32_t open[FAB_DOC_DEPTH_MAX + 1];
    /* for each list or mapping in open[], the number of keys read so far */
    uint32_t keys[FAB_DOC_DEPTH_MAX + 1];
    size_t depth;
    char key[256]; /* the key that was read last; its value is the next node */
    struct fab_doc_place key_at;
    bool has_key;
    char *why;
    size_t why_len;
};

void document_place(const struct fab_doc *doc, const struct fab_doc_place *at, char *to, size_t len)
{
    char name[120];
    if (at->line == 0 || at->file >= doc->files) {
        snprintf(to, len, "%s", "");
        return;
    }
    log_clean(doc->file[at->file], name, sizeof(name));
    snprintf(to, len, "%s:%u:%u: ", name, at->line, at->column);
}

static struct fab_doc_place place_of(const struct builder *b, const yaml_mark_t *mark)
{
    return (struct fab_doc_place){b->doc->files - 1, (uint32_t)mark->line + 1,
                                  (uint32_t)mark->column + 1};
}

__attribute__((format(printf, 3, 4))) static int refuse(struct builder *b, const yaml_mark_t *mark,
                                                        const char *fmt, ...)
{
    const struct fab_doc_place at = place_of(b, mark);
    char where[160], text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    document_place(b->doc, &at, where, sizeof(where));
    snprintf(b->why, b->why_len, "%s%s", where, text);
    return FAB_E_FORMAT;
}

static bool in_mapping(const struct builder *b)
{
    return b->doc->node[b->open[b->depth]].kind == FAB_DOC_MAP;
}

static int take_key(struct builder *b, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    if (len >= sizeof(b->key) || len == 0 || memchr(text, '\0', len) != NULL)
        return refuse(b, &e->start_mark, "a key is no word, expected KEY: VALUE");
    if (b->keys[b->depth]++ == KEYS_MAX)
        return refuse(b, &e->start_mark, "too many keys, expected at most %d", KEYS_MAX);
    memcpy(b->key, text, len + 1);
    b->key_at = place_of(b, &e->start_mark);
    b->has_key = true;
    if (fab_policy_doc_get(b->doc, b->open[b->depth], b->key) == 0)
        return FAB_OK;
    log_clean(text, b->key, sizeof(b->key));
    (void)refuse(b, &e->start_mark, "the key '%.60s' is here a second time, expected it once",
                 b->key);
    return FAB_E_EXISTS;
}

/* Adds a node to the innermost list or mapping in open[]. */
static int add(struct builder *b, const yaml_event_t *e, struct fab_doc_node *node, uint32_t *ret)
{
    node->at = place_of(b, &e->start_mark);
    if (b->has_key) {
        node->key = b->key;
        node->key_at = b->key_at;
    }
    b->has_key = false;
    int rc = fab_policy_doc_add(b->doc, b->open[b->depth], node, ret);
    if (rc == FAB_E_LIMIT)
        (void)refuse(b, &e->start_mark, "too many values, expected at most %u", FAB_DOC_NODES_MAX);
    return rc;
}

static int take_scalar(struct builder *b, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    struct fab_doc_node node = {.kind = FAB_DOC_TEXT,
                                .plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
                                .text = text};
    uint32_t number;
    if (e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL)
        return refuse(b, &e->start_mark, "an anchor or a tag, expected none");
    if (b->depth > 0 && in_mapping(b) && !b->has_key)
        return take_key(b, e);
    if (memchr(text, '\0', e->data.scalar.length) != NULL)
        return refuse(b, &e->start_mark, "a NUL character in the text, expected none");
    /* A file that has only comments counts as an empty document. */
    if (b->depth == 0 && text[0] == '\0')
        return FAB_OK;
    return add(b, e, &node, &number);
}

static int begin(struct builder *b, const yaml_event_t *e, enum fab_doc_kind kind, bool marked)
{
    struct fab_doc_node node = {.kind = kind};
    uint32_t number;
    if (marked)
        return refuse(b, &e->start_mark, "an anchor or a tag, expected none");
    if (b->depth > 0 && in_mapping(b) && !b->has_key)
        return refuse(b, &e->start_mark, "a key is no word, expected KEY: VALUE");
    if (b->depth == FAB_DOC_DEPTH_MAX)
        return refuse(b, &e->start_mark, "too many levels of lists and mappings, expected %d",
                      FAB_DOC_DEPTH_MAX);
    int rc = add(b, e, &node, &number);
    if (rc == FAB_OK)
        b->open[++b->depth] = number;
    if (rc == FAB_OK)
        b->keys[b->depth] = 0;
    return rc;
}

static int take_event(struct builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return begin(b, e, FAB_DOC_LIST,
                     e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL);
    case YAML_MAPPING_START_EVENT:
        return begin(b, e, FAB_DOC_MAP,
                     e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return FAB_OK;
    case YAML_ALIAS_EVENT:
        return refuse(b, &e->start_mark, "an alias, expected its value written out");
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    default:
        return FAB_OK;
    }
}

static int refuse_syntax(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return FAB_E_NOMEM;
    if (p->error == YAML_READER_ERROR)
        return refuse(b, &p->problem_mark, "this is not text: %s, expected YAML in UTF-8",
                      p->problem != NULL ? p->problem : "not understood");
    return refuse(b, &p->problem_mark, "this is not YAML: %s%s%s",
                  p->problem != NULL ? p->problem : "not understood", p->context != NULL ? " " : "",
                  p->context != NULL ? p->context : "");
}

static int read_events(struct builder *b)
{
    int rc = FAB_OK;
    bool end = false;
    while (rc == FAB_OK && !end) {
        yaml_event_t e;
        if (!yaml_parser_parse(&b->parser, &e))
            return refuse_syntax(b);
        end = e.type == YAML_STREAM_END_EVENT;
        rc = take_event(b, &e);
        yaml_event_delete(&e);
    }
    return rc;
}

static int read_file(const struct document_file *file, struct fab_doc *doc, char *why, size_t len)
{
    struct builder b = {.doc = doc, .why = why, .why_len = len};
    int rc = fab_policy_doc_add_file(doc, file->name);
    if (rc == FAB_E_LIMIT)
        snprintf(why, len, "more than %d files, expected fewer", FAB_DOC_FILES_MAX);
    if (rc != FAB_OK)
        return rc;
    if (!yaml_parser_initialize(&b.parser))
        return FAB_E_NOMEM;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)file->text, file->len);
    rc = read_events(&b);
    yaml_parser_delete(&b.parser);
    return rc;
}

static int read_declared(struct fab_doc *doc, struct fab_declared *ret, char *why, size_t len)
{
    struct fab_declared_error error;
    char where[160];
    int rc = fab_policy_declared_read(doc, ret, &error);
    if (rc == FAB_OK || rc == FAB_E_NOMEM)
        return rc;
    document_place(doc, &error.at, where, sizeof(where));
    snprintf(why, len, "%s%s", where, error.message);
    return rc;
}

int document_read(const struct document_file *file, size_t files, struct fab_doc *doc,
                  struct fab_declared *ret, char *why, size_t why_len)
{
    size_t bytes = 0;
    int rc = fab_policy_doc_init(doc);
    for (size_t i = 0; i < files && rc == FAB_OK; i++) {
        bytes += file[i].len;
        if (bytes > FAB_DOC_TEXT_MAX) {
            snprintf(why, why_len, "the policy has more than %zu bytes, expected at most that",
                     FAB_DOC_TEXT_MAX);
            rc = FAB_E_LIMIT;
        }
        if (rc == FAB_OK)
            rc = read_file(&file[i], doc, why, why_len);
    }
    if (rc == FAB_OK)
        rc = read_declared(doc, ret, why, why_len);
    if (rc != FAB_OK)
        fab_policy_doc_fini(doc);
    if (rc == FAB_E_NOMEM)
        snprintf(why, why_len, "%s", fab_base_status_text(rc));
    return rc;
}
