/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the mappings of an applied policy by tables of their keys. For this folder only. */
#ifndef LIBFABMGR_POLICY_DECLARED_FIELDS_H
#define LIBFABMGR_POLICY_DECLARED_FIELDS_H

#include "libfabmgr/policy/declared.h"

enum field_kind {
    FIELD_TEXT,   /* a text; most: its maximum length in bytes */
    FIELD_NUMBER, /* a number from least to most */
    FIELD_AUTO,   /* a number from least to most, or the word auto */
    FIELD_BOOL,
    FIELD_WORD, /* one of the words in `expected`, which are separated by blanks */
    FIELD_GUID,
    FIELD_TEXTS,   /* a list of texts */
    FIELD_MEMBERS, /* a list of texts and GUIDs */
    FIELD_NUMBERS, /* a list of numbers from least to most */
    FIELD_MAPS,    /* a list of mappings */
    FIELD_MAP,
};
struct field {
    const char *key;
    enum field_kind kind;
    bool required;
    uint64_t least, most;
    const char *expected; /* the words of a FIELD_WORD, separated by blanks */
};
#define FIELDS_MAX 20
/* The value of a field. */
struct field_value {
    uint32_t node; /* 0: the mapping does not have the key */
    /* A number, a GUID, a truth value, or the index of a word. */
    uint64_t number;
    bool automatic;   /* true: the value is the word auto */
    const char *text; /* the text, if the field is a FIELD_TEXT */
};

struct declared_reader {
    const struct fab_doc *doc;
    struct fab_declared *to;
    struct fab_declared_error *error;
    /* path of the value that is read, such as "partitions[2].pkey" */
    char path[FAB_DECLARED_PATH_LEN];
    /* true: the partition that the reader reads now may list port GUIDs that the fabric has never
     * had */
    bool unknown_guids;
};

/* Sets the path to "BASE[INDEX]" or, if key is not NULL, "BASE[INDEX].KEY". */
void fab_policy_path_of(struct declared_reader *r, const char *base, size_t index, const char *key);
/* Writes the error "PATH SENTENCE" for a node, and returns FORMAT. */
int fab_policy_wrong(struct declared_reader *r, uint32_t node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads the mapping `node` by the table fields[count]. The caller has set the path of the reader to
 * the path of the mapping. */
int fab_policy_fields_read(struct declared_reader *r, uint32_t node, const struct field *fields,
                           size_t count, struct field_value ret[FIELDS_MAX]);
/* Reads a text that YAML does not take for a value of another type. */
int fab_policy_field_text(struct declared_reader *r, uint32_t node, size_t most, const char **ret);
int fab_policy_field_number(struct declared_reader *r, uint32_t node, uint64_t least, uint64_t most,
                            const char * or, uint64_t *ret);
int fab_policy_field_guid(struct declared_reader *r, uint32_t node, uint64_t *ret);
/* Returns true and the GUID if the node is a number, or a text of 0x and hexadecimal digits. */
bool fab_policy_node_guid(const struct fab_doc_node *n, uint64_t *ret);
/* Adds the value of the document node to the names and GUIDs that the caller compares with the
 * fabric (struct fab_declared_ref), with the path of the reader. */
int fab_policy_add_ref(struct declared_reader *r, uint32_t node, enum fab_declared_what what,
                       const char *text, uint64_t guid);
/* Copies a text into the arena of the policy; NULL: no memory. */
const char *fab_policy_keep(struct declared_reader *r, const char *text);

/* declared_partitions.c, declared_classes.c and declared_lists.c: read the lists of one section.
 * The caller calls them for each list of mappings; `list` is the document node of the list. */
int fab_policy_read_groups(struct declared_reader *r, uint32_t list);
int fab_policy_read_partitions(struct declared_reader *r, uint32_t list);
int fab_policy_read_classes(struct declared_reader *r, uint32_t list);
int fab_policy_end_classes(struct declared_reader *r);
int fab_policy_read_congestion(struct declared_reader *r, uint32_t map);
int fab_policy_read_isolation(struct declared_reader *r, uint32_t list);
int fab_policy_read_approvals(struct declared_reader *r, uint32_t list);
/* Reads the names of all documents. list[count]: the document nodes of the lists. */
int fab_policy_read_names(struct declared_reader *r, const uint32_t *list, size_t count);

#endif
