/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the notation of outputs (schema.h), and writes JSON Schema.
 *
 * All schemas are strict: an object must have all keys that the notation does not mark as optional,
 * and no keys that the notation does not name. With a pattern as argument, or with --all-contexts,
 * fabricctl joins several outputs (output_many.c). The schema of a command also allows these joined
 * outputs.
 */
#include "cli/ctl/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/commands.h"
#include "cli/ctl/expand.h"
#include "cli/ctl/output_format.h"
#include "fabric/v1/access.pb-c.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/descriptor.h"
#include "proto/descriptors.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define KEY_LEN 80
#define GROUPS_MAX 16

/* ---- reading --------------------------------------------------------------------------------- */

/* A part of a notation. */
struct text {
    const char *at;
    size_t len;
};

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

static bool is(struct text t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.at, word, t.len) == 0;
}

/* Moves the text before the next `end` from *rest to *ret. Ignores each `end` within brackets or
 * quotes. Returns false if nothing is left. */
static bool next(struct text *rest, char end, struct text *ret)
{
    bool quoted = false;
    int depth = 0;
    size_t n = 0;
    while (rest->len > 0 && rest->at[0] == ' ')
        *rest = (struct text){rest->at + 1, rest->len - 1};
    for (; n < rest->len && (quoted || depth > 0 || rest->at[n] != end); n++) {
        char c = rest->at[n];
        quoted ^= c == '\'';
        if (!quoted && strchr("([{", c) != NULL)
            depth++;
        else if (!quoted && strchr(")]}", c) != NULL)
            depth--;
    }
    assert(depth == 0 && !quoted);
    *ret = (struct text){rest->at, n};
    *rest = (struct text){rest->at + n + (n < rest->len), rest->len - n - (n < rest->len)};
    return n > 0;
}

/* Returns the text between the first and the last character. */
static struct text inner(struct text t)
{
    assert(t.len >= 2);
    return (struct text){t.at + 1, t.len - 2};
}

static const char *find(const struct schema_name *table, struct text name)
{
    for (; table->name != NULL; table++)
        if (is(name, table->name))
            return table->text;
    return NULL;
}

/* ---- the keys of an object ------------------------------------------------------------------- */

struct item {
    char key[KEY_LEN]; /* "*": any other key */
    struct text types;
    bool required;
    unsigned group; /* all keys of a group are there, or none; 0: the key is in no group */
};

struct keys {
    void (*each)(void *ctx, const struct item *item);
    void *ctx;
    unsigned groups; /* number of the last group */
};

/* How the keys of a part are added to an object. */
struct manner {
    const char *prefix;
    unsigned group; /* the group of those keys that have no group of their own; 0: none */
};

static void give(struct keys *k, const struct manner *m, struct text name, struct text types,
                 bool optional, unsigned group)
{
    struct item i = {.types = types, .required = !optional && group == 0, .group = group};
    int n = snprintf(i.key, sizeof i.key, "%s%.*s", m->prefix, (int)name.len, name.at);
    assert(n > 0 && (size_t)n < sizeof i.key);
    k->each(k->ctx, &i);
}

/* Returns the name in schema_types that stands for the protobuf type of a field
 * (FieldDescriptorProto.Type). */
static const char *type_of_field(const char *message, struct text field)
{
    static const char *const types[] = {
        [1] = "real", [4] = "u64", [8] = "bool", [9] = "text", [13] = "u32"};
    char full[KEY_LEN + 16], name[KEY_LEN];
    uint64_t type = 0;
    snprintf(full, sizeof full, "fabric.v1.%s", message);
    snprintf(name, sizeof name, "%.*s", (int)field.len, field.at);
    int rc = fab_grpc_descriptor_field_type(fabric_descriptors, fabric_descriptors_len, full, name,
                                            &type);
    assert(rc == FAB_OK && type < sizeof types / sizeof types[0] && types[type] != NULL);
    (void)rc;
    return types[type];
}

/* Adds the fields of an API message as keys. word: "@Message(field field)" */
static void give_fields(struct keys *k, const struct manner *m, struct text word)
{
    char message[KEY_LEN];
    const char *open = memchr(word.at, '(', word.len);
    assert(open != NULL);
    struct text fields = inner((struct text){open, word.len - (size_t)(open - word.at)}), field;
    snprintf(message, sizeof message, "%.*s", (int)(open - word.at) - 1, word.at + 1);
    while (next(&fields, ' ', &field))
        give(k, m, field, text_of(type_of_field(message, field)), false, m->group);
}

static void each_key(struct keys *k, const struct manner *m, struct text body);

/* Adds the keys of a part. word: "=name", "=name(prefix)" or "=name?(prefix)" */
static void give_part(struct keys *k, const struct manner *m, struct text word)
{
    char prefix[KEY_LEN];
    const char *open = memchr(word.at, '(', word.len);
    size_t name = (open != NULL ? (size_t)(open - word.at) : word.len) - 1;
    bool optional = word.at[name] == '?';
    const char *part = find(schema_parts, (struct text){word.at + 1, name - optional});
    struct text own = {"", 0};
    if (open != NULL)
        own = inner((struct text){open, word.len - (size_t)(open - word.at)});
    snprintf(prefix, sizeof prefix, "%s%.*s", m->prefix, (int)own.len, own.at);
    assert(part != NULL);
    unsigned group = optional ? ++k->groups : m->group;
    each_key(k, &(struct manner){prefix, group}, text_of(part));
}

/* Adds one key. word: "key:types", "key?:types" or "key&:types" */
static void give_key(struct keys *k, const struct manner *m, struct text word, unsigned group)
{
    const char *colon = memchr(word.at, ':', word.len);
    assert(colon != NULL && colon > word.at + 0);
    char mark = colon[-1];
    struct text name = {word.at, (size_t)(colon - word.at) - (mark == '?' || mark == '&')};
    struct text types = {colon + 1, word.len - (size_t)(colon - word.at) - 1};
    give(k, m, name, types, mark == '?' || is(name, "*"), mark == '&' ? group : m->group);
}

static void each_key(struct keys *k, const struct manner *m, struct text body)
{
    unsigned own = ++k->groups; /* the group of the keys with the mark "&" */
    struct text word;
    while (next(&body, ' ', &word)) {
        if (word.at[0] == '@')
            give_fields(k, m, word);
        else if (word.at[0] == '=')
            give_part(k, m, word);
        else
            give_key(k, m, word, own);
    }
}

/* Calls `each` for each key of an object. body: its notation without alternatives. */
static void for_each_key(struct text body, void (*each)(void *, const struct item *), void *ctx)
{
    struct keys k = {each, ctx, 0};
    each_key(&k, &(struct manner){"", 0}, body);
}

/* ---- writing JSON ---------------------------------------------------------------------------- */

struct writer {
    FILE *to;
    unsigned depth;
    bool first; /* the innermost object or array is still empty */
};

static void line(struct writer *w)
{
    fprintf(w->to, "%s\n%*s", w->first ? "" : ",", (int)(2 * w->depth), "");
    w->first = false;
}

static void open(struct writer *w, char bracket)
{
    fputc(bracket, w->to);
    w->depth++;
    w->first = true;
}

static void close(struct writer *w, char bracket)
{
    w->depth--;
    w->first = true;
    line(w);
    fputc(bracket, w->to);
    w->first = false;
}

static void key(struct writer *w, const char *name)
{
    line(w);
    out_put_quoted(w->to, name);
    fputs(": ", w->to);
}

static void string(struct writer *w, const char *name, const char *value)
{
    key(w, name);
    out_put_quoted(w->to, value);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void write_object(struct writer *w, struct text body);

/* Writes the object, or the alternatives of objects, that a notation describes. */
static void write_body(struct writer *w, struct text body)
{
    struct text rest = body, one;
    bool several = next(&rest, '/', &one) && rest.len > 0;
    if (!several) {
        write_object(w, body);
        return;
    }
    open(w, '{');
    key(w, "anyOf");
    open(w, '[');
    while (next(&body, '/', &one)) {
        line(w);
        write_object(w, one);
    }
    close(w, ']');
    close(w, '}');
}

static void write_array(struct writer *w, struct text body)
{
    open(w, '{');
    string(w, "type", "array");
    key(w, "items");
    write_body(w, body);
    close(w, '}');
}

static bool is_words(struct text type)
{
    return type.at[0] == '\'' || find(schema_words, type) != NULL;
}

static void write_word(FILE *to, struct text word, bool *first)
{
    fprintf(to, "%s\"%.*s\"", *first ? "" : ", ", (int)word.len, word.at);
    *first = false;
}

/* Writes an enum of all words in `types`: a type can be a word or a list of words. Ignores all
 * other types. */
static void write_words(struct writer *w, struct text types)
{
    struct text type, word;
    bool first = true;
    fputs("{\"enum\": [", w->to);
    while (next(&types, '|', &type)) {
        const char *list = find(schema_words, type);
        struct text words = text_of(list != NULL ? list : "");
        if (type.at[0] == '\'')
            write_word(w->to, inner(type), &first);
        while (next(&words, '|', &word))
            write_word(w->to, word, &first);
    }
    fputs("]}", w->to);
}

/* Writes a type that is no list of words. */
static void write_type(struct writer *w, struct text type)
{
    const char *simple = find(schema_types, type);
    assert(simple != NULL || type.at[0] == '[' || type.at[0] == '{');
    if (simple != NULL)
        fputs(simple, w->to);
    else if (type.at[0] == '[')
        write_array(w, inner(type));
    else
        write_object(w, inner(type));
}

static void write_types(struct writer *w, struct text types)
{
    struct text rest = types, type;
    unsigned words = 0, others = 0;
    while (next(&rest, '|', &type))
        *(is_words(type) ? &words : &others) += 1;
    if (others == 0) {
        write_words(w, types);
    } else if (words + others == 1) {
        write_type(w, types);
    } else {
        fputs("{\"anyOf\": [", w->to);
        if (words > 0)
            write_words(w, types);
        for (bool first = words == 0; next(&types, '|', &type);) {
            if (is_words(type))
                continue;
            fputs(first ? "" : ", ", w->to);
            write_type(w, type);
            first = false;
        }
        fputs("]}", w->to);
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

struct object {
    struct writer *w;
    /* the types of the key "*", which stands for all keys that the notation does not name; empty:
     * the notation has no "*" */
    struct text others;
    bool first;
    struct {
        char first[KEY_LEN], last[KEY_LEN];
    } group[GROUPS_MAX];
    size_t groups;
    unsigned number[GROUPS_MAX];
};

static void write_property(void *ctx, const struct item *i)
{
    struct object *o = ctx;
    if (strcmp(i->key, "*") == 0) {
        o->others = i->types;
        return;
    }
    key(o->w, i->key);
    write_types(o->w, i->types);
}

static void write_required(void *ctx, const struct item *i)
{
    struct object *o = ctx;
    if (i->required)
        write_word(o->w->to, text_of(i->key), &o->first);
}

/* Called for each key of an object. Writes that the previous key of the same group requires this
 * key. write_groups then writes that the last key of each group requires the first one. */
static void write_dependent(void *ctx, const struct item *i)
{
    struct object *o = ctx;
    size_t g = 0;
    if (i->group == 0)
        return;
    while (g < o->groups && o->number[g] != i->group)
        g++;
    if (g == o->groups) {
        assert(g < GROUPS_MAX);
        o->number[o->groups++] = i->group;
        strcpy(o->group[g].first, i->key);
    } else {
        key(o->w, o->group[g].last);
        fprintf(o->w->to, "[\"%s\"]", i->key);
    }
    strcpy(o->group[g].last, i->key);
}

static void count_groups(void *ctx, const struct item *i)
{
    *(bool *)ctx |= i->group != 0;
}

static void write_groups(struct object *o, struct text body)
{
    bool any = false;
    for_each_key(body, count_groups, &any);
    if (!any)
        return;
    key(o->w, "dependentRequired");
    open(o->w, '{');
    for_each_key(body, write_dependent, o);
    for (size_t g = 0; g < o->groups; g++) {
        if (strcmp(o->group[g].first, o->group[g].last) == 0)
            continue;
        key(o->w, o->group[g].last);
        fprintf(o->w->to, "[\"%s\"]", o->group[g].first);
    }
    close(o->w, '}');
}

static void write_object(struct writer *w, struct text body)
{
    struct object o = {.w = w, .first = true};
    open(w, '{');
    string(w, "type", "object");
    key(w, "properties");
    open(w, '{');
    for_each_key(body, write_property, &o);
    close(w, '}');
    key(w, "required");
    fputc('[', w->to);
    for_each_key(body, write_required, &o);
    fputc(']', w->to);
    write_groups(&o, body);
    key(w, "additionalProperties");
    if (o.others.len > 0)
        write_types(w, o.others);
    else
        fputs("false", w->to);
    close(w, '}');
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool takes_contexts(const struct cmd *c)
{
    return c->method != NULL && !c->one_manager &&
           role_of(c->method) <= FABRIC__V1__ROLE__ROLE_VIEWER;
}

/* Writes the notation of joined outputs that are not lists: an array "items" with all outputs. */
static void add_items(FILE *to, const struct cmd *c)
{
    struct text rest = text_of(c->json), one;
    const char *separator = "";
    fputs(" / items:[ ", to);
    while (next(&rest, '/', &one)) {
        fprintf(to, "%s%s%s%.*s", separator, takes_contexts(c) ? "context?:text " : "",
                c->is_list ? "argument?:text " : "", (int)one.len, one.at);
        separator = " / ";
    }
    fputs(" ]", to);
}

/* Writes the notation of joined lists: only the first array of the list, whose rows also have the
 * context. */
static void add_list(FILE *to, struct text body)
{
    struct text word, row;
    while (next(&body, ' ', &word)) {
        const char *open = memchr(word.at, '[', word.len);
        if (open == NULL)
            continue;
        struct text rows = inner((struct text){open, word.len - (size_t)(open - word.at)});
        const char *separator = "";
        fprintf(to, " / %.*s[ ", (int)(open - word.at), word.at);
        while (next(&rows, '/', &row)) {
            fprintf(to, "%scontext:text %.*s", separator, (int)row.len, row.at);
            separator = " / ";
        }
        fputs(" ]", to);
        return;
    }
}

/* Returns the notation of the output of a command and of its joined outputs. The caller frees the
 * text. NULL: out of memory. */
static char *whole_notation(const struct cmd *c)
{
    char *all = NULL;
    size_t len = 0;
    struct text rest = text_of(c->json), one;
    FILE *to = open_memstream(&all, &len);
    if (to == NULL)
        return NULL;
    fputs(c->json, to);
    if (takes_pattern(c) || (takes_contexts(c) && !c->is_list))
        add_items(to, c);
    while (takes_contexts(c) && c->is_list && next(&rest, '/', &one))
        add_list(to, one);
    if (fclose(to) == 0)
        return all;
    free(all);
    return NULL;
}

static void write_title(struct writer *w, const struct cmd *c)
{
    char title[USAGE_LEN];
    snprintf(title, sizeof title, "fabricctl %s%s%s", c->noun, c->verb != NULL ? " " : "",
             c->verb != NULL ? c->verb : "");
    string(w, "title", title);
    string(w, "description", c->summary);
}

/* Writes the members of the schema of a command. */
static int write_command(struct writer *w, const struct cmd *c)
{
    char *notation = whole_notation(c);
    if (notation == NULL)
        return FAB_E_NOMEM;
    write_title(w, c);
    key(w, "anyOf");
    open(w, '[');
    for (struct text rest = text_of(notation), one; next(&rest, '/', &one);) {
        line(w);
        write_object(w, one);
    }
    close(w, ']');
    free(notation);
    return FAB_OK;
}

int schema_write_command(FILE *to, const struct cmd *c)
{
    struct writer w = {.to = to, .first = true};
    open(&w, '{');
    string(&w, "$schema", DIALECT);
    int rc = write_command(&w, c);
    close(&w, '}');
    fputc('\n', to);
    return rc;
}

/* ---- all commands ---------------------------------------------------------------------------- */

static const char error[] = "error:{ exit_status:status message:text }";

static void name_of(const struct cmd *c, char name[USAGE_LEN])
{
    snprintf(name, USAGE_LEN, "%s%s%s", c->noun, c->verb != NULL ? "-" : "",
             c->verb != NULL ? c->verb : "");
}

static int write_definitions(struct writer *w)
{
    int rc = FAB_OK;
    key(w, "error");
    write_object(w, text_of(error));
    for (size_t i = 0; rc == FAB_OK && commands[i] != NULL; i++) {
        char name[USAGE_LEN];
        if (commands[i]->json == NULL)
            continue;
        name_of(commands[i], name);
        key(w, name);
        open(w, '{');
        rc = write_command(w, commands[i]);
        close(w, '}');
    }
    return rc;
}

int schema_write_all(FILE *to)
{
    struct writer w = {.to = to, .first = true};
    open(&w, '{');
    string(&w, "$schema", DIALECT);
    string(&w, "$id", "urn:fabricd:fabricctl");
    string(&w, "title", "JSON output of fabricctl");
    string(
        &w, "description",
        "The output of 'fabricctl -o json NOUN VERB' is an object of #/$defs/NOUN-VERB; an error "
        "is one of #/$defs/error. See fabricctl(1), OUTPUT.");
    key(&w, "$defs");
    open(&w, '{');
    int rc = write_definitions(&w);
    close(&w, '}');
    close(&w, '}');
    fputc('\n', to);
    return rc;
}
