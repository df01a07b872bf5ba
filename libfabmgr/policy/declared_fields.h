/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the mappings of an applied policy. Tables of `struct field` list the keys and types of each
 * mapping. For this folder only. */
#ifndef LIBFABMGR_POLICY_DECLARED_FIELDS_H
#define LIBFABMGR_POLICY_DECLARED_FIELDS_H

#include "libfabmgr/policy/declared.h"

enum field_kind {
    FIELD_TEXT,   /* a text of at most `most` bytes */
    FIELD_NUMBER, /* a number from `least` to `most` */
    FIELD_AUTO,   /* a number from `least` to `most`, or the word "auto" */
    FIELD_BOOL,
    FIELD_WORD, /* one of the words in the member `expected`, which are separated by blanks */
    FIELD_GUID,
    FIELD_TEXTS,   /* a list of texts */
    FIELD_MEMBERS, /* a list of texts and GUIDs */
    FIELD_NUMBERS, /* a list of numbers from `least` to `most` */
    FIELD_MAPS,    /* a list of mappings */
    FIELD_MAP,
};
struct field {
    const char *key;
    enum field_kind kind;
    bool required;
    uint64_t least, most;
    const char *expected; /* for FIELD_WORD: the allowed words, separated by blanks */
};
#define FIELDS_MAX 20
/* the value that a mapping has for a field */
struct field_value {
    uint32_t node; /* document node of the value; 0: the mapping does not have the key */
    /* the number, the GUID, the truth value (0 or 1), or the index of the word in `expected` */
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
    /* true: the partition that is being read may list port GUIDs that were never in the fabric */
    bool unknown_guids;
};

/* Sets the path to "BASE[INDEX]" or, if key is not NULL, "BASE[INDEX].KEY". */
void fab_policy_path_of(struct declared_reader *r, const char *base, size_t index, const char *key);
/* Writes the error message "PATH SENTENCE", with the reader's path and the position of the document
 * node. Returns FORMAT. */
int fab_policy_wrong(struct declared_reader *r, uint32_t node, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads the mapping at document node `node`. fields[count] describes the allowed keys. Before the
 * call, the caller must set the reader's path to that of the mapping. */
int fab_policy_fields_read(struct declared_reader *r, uint32_t node, const struct field *fields,
                           size_t count, struct field_value ret[FIELDS_MAX]);
/* Reads a text. Refuses a text without quotes that YAML takes for a value of another type. */
int fab_policy_field_text(struct declared_reader *r, uint32_t node, size_t most, const char **ret);
int fab_policy_field_number(struct declared_reader *r, uint32_t node, uint64_t least, uint64_t most,
                            const char * or, uint64_t *ret);
int fab_policy_field_guid(struct declared_reader *r, uint32_t node, uint64_t *ret);
/* Returns true, with the GUID in *ret, if the node is a number other than 0, or a text of 0x and
 * hexadecimal digits. */
bool fab_policy_node_guid(const struct fab_doc_node *n, uint64_t *ret);
/* Adds a reference (struct fab_declared_ref) to the object of the fabric that the name `text` or
 * the GUID `guid` denotes. The reference also gets the position of document node `node` and the
 * reader's path. */
int fab_policy_add_ref(struct declared_reader *r, uint32_t node, enum fab_declared_what what,
                       const char *text, uint64_t guid);
/* Copies a text into the arena of the policy. Returns NULL if there is no memory. */
const char *fab_policy_keep(struct declared_reader *r, const char *text);

/* Each of these functions reads a list of mappings; `list` is its document node. The caller calls
 * the function once for each document that has this list. fab_policy_end_classes checks all classes
 * together, after the last list. fab_policy_read_congestion reads the mapping at document node
 * `map`. */
int fab_policy_read_groups(struct declared_reader *r, uint32_t list);
int fab_policy_read_partitions(struct declared_reader *r, uint32_t list);
int fab_policy_read_classes(struct declared_reader *r, uint32_t list);
int fab_policy_end_classes(struct declared_reader *r);
int fab_policy_read_congestion(struct declared_reader *r, uint32_t map);
int fab_policy_read_isolation(struct declared_reader *r, uint32_t list);
int fab_policy_read_approvals(struct declared_reader *r, uint32_t list);
/* Reads the names of nodes from all documents. list[count] are the document nodes of their lists.
 */
int fab_policy_read_names(struct declared_reader *r, const uint32_t *list, size_t count);

#endif
