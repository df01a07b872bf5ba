/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a configuration file of fabricctl:
 *
 *     current: prod
 *     contexts:
 *       prod:
 *         server: tls:fm1.example.net:7471
 *         tls_ca: ca.crt
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/contexts.h"

#define FILE_MAX ((size_t)1 << 20)

struct reader {
    struct contexts *to;
    const char *path;
    yaml_document_t doc;
    size_t known; /* number of contexts that were read from earlier files */
};

static int mistake(const struct reader *r, const yaml_mark_t *at, const char *what,
                   const char *word)
{
    return complain(EXIT_FAILED, "%s:%zu:%zu: %s \"%.80s\"", r->path, at->line + 1, at->column + 1,
                    what, word);
}

static const char *text_of(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns the path of a file that the configuration names. A name that begins with "~/" is relative
 * to the home directory. Any other relative name is relative to the directory of the configuration
 * file. Returns NULL if memory ran out. */
static char *path_of(const struct reader *r, const char *name)
{
    char *path = NULL;
    const char *home = getenv("HOME"), *slash = strrchr(r->path, '/');
    int rc;
    if (strncmp(name, "~/", 2) == 0 && home != NULL)
        rc = asprintf(&path, "%s/%s", home, name + 2);
    else if (name[0] == '/' || slash == NULL)
        rc = asprintf(&path, "%s", name);
    else
        rc = asprintf(&path, "%.*s/%s", (int)(slash - r->path), r->path, name);
    return rc >= 0 ? path : NULL;
}

static int read_value(const struct reader *r, struct context *c, const yaml_node_t *key,
                      const yaml_node_t *value)
{
    const struct {
        const char *key;
        char **to;
        bool is_file;
    } keys[] = {
        {"server", &c->server, false},     {"tls_ca", &c->tls_ca, true},
        {"tls_cert", &c->tls_cert, true},  {"tls_key", &c->tls_key, true},
        {"tls_name", &c->tls_name, false},
    };
    const char *text = text_of(value);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].key, text_of(key)) != 0)
            continue;
        if (text[0] == '\0')
            return mistake(r, &value->start_mark, "a text is expected for", keys[i].key);
        if (*keys[i].to != NULL)
            return mistake(r, &key->start_mark, "the key occurs twice:", keys[i].key);
        *keys[i].to = keys[i].is_file ? path_of(r, text) : strdup(text);
        return *keys[i].to != NULL ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
    }
    return mistake(r, &key->start_mark,
                   "server, tls_ca, tls_cert, tls_key or tls_name is expected, not", text_of(key));
}

/* ---- contexts -------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(text);
    return len > 0 && len <= CONTEXT_NAME_LEN && strspn(text, allowed) == len && text[0] != '-';
}

/* Returns the index of the context with this name, searching from index `first` on; c->count if
 * there is none. */
static size_t find_from(const struct contexts *c, size_t first, const char *name)
{
    while (first < c->count && strcmp(c->list[first].name, name) != 0)
        first++;
    return first;
}

static struct context *add_context(struct reader *r, const char *name)
{
    struct contexts *c = r->to;
    struct context *list = reallocarray(c->list, c->count + 1, sizeof *list);
    if (list == NULL)
        return NULL;
    c->list = list;
    list[c->count] = (struct context){.name = strdup(name), .file = strdup(r->path)};
    return &list[c->count++];
}

static void drop_last(struct contexts *c)
{
    struct context *last = &c->list[--c->count];
    free(last->name);
    free(last->server);
    free(last->tls_ca);
    free(last->tls_cert);
    free(last->tls_key);
    free(last->tls_name);
    free(last->file);
}

static int read_context(struct reader *r, const yaml_node_t *key, yaml_node_t *value)
{
    const char *name = text_of(key);
    if (!is_name(name))
        return mistake(r, &key->start_mark,
                       "the name of a context has letters, digits, points, - and _; not", name);
    if (value->type != YAML_MAPPING_NODE)
        return mistake(r, &value->start_mark, "keys such as server are expected in", name);
    if (find_from(r->to, r->known, name) < r->to->count)
        return mistake(r, &key->start_mark, "the context occurs twice:", name);
    if (r->to->count == CONTEXTS_MAX)
        return mistake(r, &key->start_mark, "there are too many contexts, from", name);
    struct context *c = add_context(r, name);
    if (c == NULL || c->name == NULL || c->file == NULL)
        return complain(EXIT_FAILED, "out of memory");
    int rc = EXIT_OK;
    for (yaml_node_pair_t *p = value->data.mapping.pairs.start;
         p < value->data.mapping.pairs.top && rc == EXIT_OK; p++)
        rc = read_value(r, c, yaml_document_get_node(&r->doc, p->key),
                        yaml_document_get_node(&r->doc, p->value));
    if (rc == EXIT_OK && c->server == NULL)
        rc = mistake(r, &key->start_mark, "the key server is missing in", name);
    /* a context in a file that was read earlier has precedence */
    if (rc == EXIT_OK && find_from(r->to, 0, name) < r->known)
        drop_last(r->to);
    return rc;
}

static int read_contexts(struct reader *r, yaml_node_t *n)
{
    int rc = EXIT_OK;
    if (n->type != YAML_MAPPING_NODE)
        return mistake(r, &n->start_mark, "names of contexts are expected in", "contexts");
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
         p < n->data.mapping.pairs.top && rc == EXIT_OK; p++)
        rc = read_context(r, yaml_document_get_node(&r->doc, p->key),
                          yaml_document_get_node(&r->doc, p->value));
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_key(struct reader *r, const yaml_node_t *key, yaml_node_t *value)
{
    if (strcmp(text_of(key), "contexts") == 0)
        return read_contexts(r, value);
    if (strcmp(text_of(key), "current") != 0)
        return mistake(r, &key->start_mark, "contexts or current is expected, not", text_of(key));
    if (!is_name(text_of(value)))
        return mistake(r, &value->start_mark, "the name of a context is expected, not",
                       text_of(value));
    if (r->to->current == NULL)
        r->to->current = strdup(text_of(value));
    return r->to->current != NULL ? EXIT_OK : complain(EXIT_FAILED, "out of memory");
}

static int read_document(struct reader *r)
{
    yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    int rc = EXIT_OK;
    if (root == NULL)
        return EXIT_OK; /* the file is empty */
    if (root->type != YAML_MAPPING_NODE)
        return mistake(r, &root->start_mark, "keys are expected, such as", "contexts");
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
         p < root->data.mapping.pairs.top && rc == EXIT_OK; p++)
        rc = read_key(r, yaml_document_get_node(&r->doc, p->key),
                      yaml_document_get_node(&r->doc, p->value));
    return rc;
}

static int parse(struct reader *r, const char *text, size_t len)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return complain(EXIT_FAILED, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int rc;
    if (yaml_parser_load(&parser, &r->doc)) {
        rc = read_document(r);
        yaml_document_delete(&r->doc);
    } else {
        rc = complain(EXIT_FAILED, "%s:%zu:%zu: %s", r->path, parser.problem_mark.line + 1,
                      parser.problem_mark.column + 1,
                      parser.problem != NULL ? parser.problem : "out of memory");
    }
    yaml_parser_delete(&parser);
    return rc;
}

int contexts_read(struct contexts *c, const char *path)
{
    struct reader r = {.to = c, .path = path, .known = c->count};
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return errno == ENOENT || errno == ENOTDIR
                   ? EXIT_OK
                   : complain(EXIT_FAILED, "%s: %s", path, strerror(errno));
    char *text = malloc(FILE_MAX + 1);
    size_t len = text != NULL ? fread(text, 1, FILE_MAX + 1, f) : 0;
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    int rc;
    if (text == NULL)
        rc = complain(EXIT_FAILED, "out of memory");
    else if (failed != 0)
        rc = complain(EXIT_FAILED, "%s: %s", path, strerror(failed));
    else if (len > FILE_MAX)
        rc = complain(EXIT_FAILED, "%s: the file is larger than 1 MiB", path);
    else
        rc = parse(&r, text, len);
    free(text);
    return rc;
}
