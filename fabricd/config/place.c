/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the line and column of keys and values. libcyaml reports the position of a value only if it
 * has the wrong type, and never the position of a key. So place.c parses the text a second time
 * with libyaml, into a tree whose nodes have a line and a column. A path such as "listen[1]"
 * identifies a node.
 *
 * place.c also rejects what the schema cannot exclude: duplicate keys, keys that are not words,
 * mappings with too many keys, NUL characters, and a second document. config.c limits the size of
 * the configuration file, and so the size of the tree.
 */
#include "fabricd/config/place.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "fabricd/base/log.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"

/* Maximum number of keys in one mapping; no mapping of the schema has so many. The limit bounds the
 * time of the search for duplicate keys. */
#define KEYS_MAX 64

struct place_document {
    yaml_document_t yaml;
};

/* ---- messages ---- */

static int say(struct report *r, const yaml_mark_t *mark, const char *fmt, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof(text), fmt, args);
    if (mark != NULL)
        snprintf(r->why, r->why_len, "%s:%zu:%zu: %s", r->name, mark->line + 1, mark->column + 1,
                 text);
    else
        snprintf(r->why, r->why_len, "%s: %s", r->name, text);
    return FAB_E_FORMAT;
}

static int say_mark(struct report *r, const yaml_mark_t *mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int say_mark(struct report *r, const yaml_mark_t *mark, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = say(r, mark, fmt, args);
    va_end(args);
    return rc;
}

int report_at(struct report *r, size_t line, size_t column, const char *fmt, ...)
{
    yaml_mark_t mark = {.line = line - 1, .column = column - 1};
    va_list args;
    va_start(args, fmt);
    int rc = say(r, line > 0 && column > 0 ? &mark : NULL, fmt, args);
    va_end(args);
    return rc;
}

/* ---- walking the tree ---- */

static yaml_node_t *node_get(const struct report *r, int id)
{
    return yaml_document_get_node(&r->document->yaml, id);
}

static bool is_text(const yaml_node_t *node, const char *text, size_t len)
{
    return node != NULL && node->type == YAML_SCALAR_NODE && node->data.scalar.length == len &&
           memcmp(node->data.scalar.value, text, len) == 0;
}

static yaml_node_pair_t *find_pair(const struct report *r, yaml_node_t *map, const char *key,
                                   size_t len)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (is_text(node_get(r, p->key), key, len))
            return p;
    return NULL;
}

static yaml_node_t *find_entry(const struct report *r, yaml_node_t *list, unsigned long index)
{
    if (list == NULL || list->type != YAML_SEQUENCE_NODE)
        return NULL;
    size_t count = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
    return index < count ? node_get(r, list->data.sequence.items.start[index]) : NULL;
}

/* Returns the value at a path such as "a.b[2]"; NULL: the file does not have the path. *ret_key is
 * the node of the last key in the path, or of the last list entry. */
static yaml_node_t *find_node(const struct report *r, const char *path, yaml_node_t **ret_key)
{
    yaml_node_t *node = yaml_document_get_root_node(&r->document->yaml);
    while (node != NULL && *path != '\0') {
        size_t len = strcspn(path, ".[");
        yaml_node_pair_t *pair = find_pair(r, node, path, len);
        node = pair != NULL ? node_get(r, pair->value) : NULL;
        *ret_key = pair != NULL ? node_get(r, pair->key) : NULL;
        path += len;
        if (*path == '[') {
            char *end;
            node = *ret_key = find_entry(r, node, strtoul(path + 1, &end, 10));
            path = *end == ']' ? end + 1 : end;
        }
        path += *path == '.';
    }
    return node;
}

static void value_text(const yaml_node_t *node, char *text, size_t len)
{
    char clean[80];
    if (node->type != YAML_SCALAR_NODE) {
        snprintf(text, len, "a %s", node->type == YAML_MAPPING_NODE ? "mapping" : "list");
    } else if (node->data.scalar.length == 0) {
        snprintf(text, len, "empty");
    } else {
        size_t shown = log_clean((const char *)node->data.scalar.value, clean, sizeof(clean));
        snprintf(text, len, "'%s%s'", clean, shown < node->data.scalar.length ? "..." : "");
    }
}

int report_value(struct report *r, const char *path, const char *expected)
{
    char text[100];
    yaml_node_t *key = NULL;
    yaml_node_t *node = find_node(r, path, &key);
    if (node == NULL)
        return say_mark(r, NULL, "%s: expected %s", path, expected);
    value_text(node, text, sizeof(text));
    return say_mark(r, &node->start_mark, "%s is %s, expected %s", path, text, expected);
}

int report_node_at(struct report *r, size_t line, size_t column, const char *path,
                   const char *expected)
{
    char text[100];
    yaml_document_t *yaml = &r->document->yaml;
    for (yaml_node_t *n = yaml->nodes.start; n < yaml->nodes.top; n++) {
        const yaml_mark_t *m = &n->start_mark;
        if (m->line + 1 == line && m->column + 1 == column) {
            value_text(n, text, sizeof(text));
            return say_mark(r, m, "%s is %s, expected %s", path, text, expected);
        }
    }
    return report_at(r, line, column, "%s: expected %s", path, expected);
}

int report_key(struct report *r, const char *path, const char *fmt, ...)
{
    yaml_node_t *key = NULL;
    va_list args;
    find_node(r, path, &key);
    va_start(args, fmt);
    int rc = say(r, key != NULL ? &key->start_mark : NULL, fmt, args);
    va_end(args);
    return rc;
}

int report_sentence(struct report *r, const char *path, const char *sentence)
{
    yaml_node_t *key = NULL, *node = find_node(r, path, &key);
    return say_mark(r, node != NULL ? &node->start_mark : NULL, "%s %s", path, sentence);
}

bool place_has(const struct report *r, const char *path)
{
    yaml_node_t *key = NULL;
    return find_node(r, path, &key) != NULL;
}

/* ---- loading ---- */

/* Moves a position in the text forward by one byte. The position is a mark of libyaml (line and
 * column). Columns count characters, as in editors. */
static void step(const char *text, yaml_mark_t *mark)
{
    char byte = text[mark->index++];
    if (byte == '\n') {
        mark->line++;
        mark->column = 0;
    } else if ((byte & 0xc0) != 0x80) {
        mark->column++;
    }
}

/* Returns the line and column of the byte at `offset`. For errors of the character encoding,
 * libyaml reports only this offset. */
static yaml_mark_t mark_of_offset(const char *text, size_t len, size_t offset)
{
    yaml_mark_t mark = {0};
    while (mark.index < offset && mark.index < len)
        step(text, &mark);
    return mark;
}

/* Returns the byte at a position in the text. The position is a mark of libyaml, whose index counts
 * characters and not bytes. The byte is therefore found by line and column. */
static char byte_at(const char *text, size_t len, const yaml_mark_t *at)
{
    yaml_mark_t mark = {0};
    while (mark.index < len && (mark.line < at->line || mark.column < at->column))
        step(text, &mark);
    return mark.index < len && mark.line == at->line ? text[mark.index] : '\0';
}

static int report_syntax(struct report *r, const yaml_parser_t *parser, const char *text,
                         size_t len)
{
    const char *problem = parser->problem != NULL ? parser->problem : "not understood";
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_MEMORY_ERROR)
        return FAB_E_NOMEM;
    if (parser->error == YAML_READER_ERROR) {
        mark = mark_of_offset(text, len, parser->problem_offset);
        return say_mark(r, &mark, "this is not text: %s, expected YAML in UTF-8", problem);
    }
    if (byte_at(text, len, &mark) == '\t')
        return say_mark(r, &mark, "a tab, expected blanks: YAML is not indented with tabs");
    return say_mark(r, &mark, "this is not YAML: %s%s%s", problem,
                    parser->context != NULL ? " " : "",
                    parser->context != NULL ? parser->context : "");
}

static int check_pair(struct report *r, yaml_node_t *map, yaml_node_pair_t *pair)
{
    yaml_node_t *key = node_get(r, pair->key);
    char clean[80];
    if (key == NULL || key->type != YAML_SCALAR_NODE)
        return say_mark(r, key != NULL ? &key->start_mark : &map->start_mark,
                        "a key is not a word, expected KEY: VALUE");
    if (pair - map->data.mapping.pairs.start >= KEYS_MAX)
        return say_mark(r, &key->start_mark, "too many keys, expected at most %d", KEYS_MAX);
    const char *text = (const char *)key->data.scalar.value;
    if (find_pair(r, map, text, key->data.scalar.length) == pair)
        return FAB_OK;
    log_clean(text, clean, sizeof(clean));
    return say_mark(r, &key->start_mark, "the key '%s' is here a second time, expected it once",
                    clean);
}

static int check_mapping(struct report *r, yaml_node_t *map)
{
    int rc = FAB_OK;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
         p < map->data.mapping.pairs.top && rc == FAB_OK; p++)
        rc = check_pair(r, map, p);
    return rc;
}

/* Rejects a value with an escaped NUL character ("\0"). The value becomes a C string, which would
 * end at the NUL. */
static int check_scalar(struct report *r, const yaml_node_t *node)
{
    if (memchr(node->data.scalar.value, '\0', node->data.scalar.length) == NULL)
        return FAB_OK;
    return say_mark(r, &node->start_mark, "a NUL character in the text, expected none");
}

static int check_nodes(struct report *r)
{
    int rc = FAB_OK;
    yaml_document_t *yaml = &r->document->yaml;
    for (yaml_node_t *n = yaml->nodes.start; n < yaml->nodes.top && rc == FAB_OK; n++) {
        if (n->type == YAML_MAPPING_NODE)
            rc = check_mapping(r, n);
        else if (n->type == YAML_SCALAR_NODE)
            rc = check_scalar(r, n);
    }
    return rc;
}

/* Rejects a second YAML document in the text. */
static int check_end(struct report *r, yaml_parser_t *parser, const char *text, size_t len)
{
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next))
        return report_syntax(r, parser, text, len);
    yaml_node_t *root = yaml_document_get_root_node(&next);
    int rc = root == NULL
                 ? FAB_OK
                 : say_mark(r, &root->start_mark, "a second document begins, expected only one");
    yaml_document_delete(&next);
    return rc;
}

int place_open(const char *text, size_t len, struct report *r)
{
    yaml_parser_t parser;
    int rc = FAB_E_NOMEM;
    r->document = calloc(1, sizeof(*r->document));
    if (r->document == NULL || !yaml_parser_initialize(&parser))
        goto out;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (!yaml_parser_load(&parser, &r->document->yaml))
        rc = report_syntax(r, &parser, text, len);
    else if (yaml_document_get_root_node(&r->document->yaml) == NULL)
        rc = FAB_OK;
    else
        rc = check_end(r, &parser, text, len);
    yaml_parser_delete(&parser);
    if (rc == FAB_OK)
        rc = check_nodes(r);
out:
    if (rc != FAB_OK)
        place_close(r);
    return rc;
}

void place_close(struct report *r)
{
    if (r->document == NULL)
        return;
    yaml_document_delete(&r->document->yaml);
    free(r->document);
    r->document = NULL;
}

bool place_is_empty(const struct report *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->document->yaml);
    return root == NULL || is_text(root, "", 0);
}

/* ---- all values ---- */

/* Appends a line "path: value" for each value below a node of the YAML tree. Leaves out values that
 * are more than 8 levels deep, because the schema has no such values. */
static void flatten(const struct report *r, const yaml_node_t *node, const char *path, int depth,
                    struct fab_text *to)
{
    char below[300], clean[1000];
    if (node == NULL || depth > 8)
        return;
    if (node->type == YAML_SCALAR_NODE) {
        log_clean((const char *)node->data.scalar.value, clean, sizeof(clean));
        fab_base_text_addf(to, "%s: %s\n", path, clean);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        size_t i = 0;
        for (yaml_node_item_t *n = node->data.sequence.items.start;
             n < node->data.sequence.items.top; n++) {
            snprintf(below, sizeof(below), "%s[%zu]", path, i++);
            flatten(r, node_get(r, *n), below, depth + 1, to);
        }
    } else if (node->type == YAML_MAPPING_NODE) {
        for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
             p++) {
            const yaml_node_t *key = node_get(r, p->key);
            if (key == NULL || key->type != YAML_SCALAR_NODE)
                continue;
            log_clean((const char *)key->data.scalar.value, clean, sizeof(clean));
            snprintf(below, sizeof(below), "%s%s%.200s", path, *path != '\0' ? "." : "", clean);
            flatten(r, node_get(r, p->value), below, depth + 1, to);
        }
    }
}

int place_flatten(const struct report *r, char **ret)
{
    struct fab_text text = {0};
    size_t len;
    flatten(r, yaml_document_get_root_node(&r->document->yaml), "", 0, &text);
    return fab_base_text_take(&text, ret, &len);
}
