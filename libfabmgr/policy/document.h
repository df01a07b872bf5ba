/* SPDX-License-Identifier: BSD-3-Clause */
/* The document tree that the YAML parser makes: texts, lists and mappings, each with its place in
 * the file. The parser adds nodes in the order of the text. To read a list or mapping, start at the
 * node `first` and follow `next`. */
#ifndef LIBFABMGR_POLICY_DOCUMENT_H
#define LIBFABMGR_POLICY_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"

#define FAB_DOC_TEXT_MAX ((size_t)1 << 20) /* maximum size of all files together, in bytes */
#define FAB_DOC_FILES_MAX 64
#define FAB_DOC_NODES_MAX (UINT32_C(1) << 18)
#define FAB_DOC_DEPTH_MAX 8

enum fab_doc_kind { FAB_DOC_TEXT, FAB_DOC_LIST, FAB_DOC_MAP };
struct fab_doc_place {
    /* file: index in fab_doc.file; line, column: position in this file, from 1 */
    uint32_t file, line, column;
};
struct fab_doc_node {
    enum fab_doc_kind kind;
    /* true: the text was not in quotes, so YAML may take it for a number, a truth value or null */
    bool plain;
    /* key of this node in its mapping; NULL: the node is not an element of a mapping */
    const char *key;
    const char *text; /* the text; only for FAB_DOC_TEXT */
    struct fab_doc_place at, key_at;
    /* Indexes in fab_doc.node; 0: none. `first` and `last` are the first and the last element of
     * this list or mapping. `next` is the node that follows this one in its list or mapping. */
    uint32_t first, last, next;
};
/* All files of one policy. Node 0 is a list whose elements are the documents. */
struct fab_doc {
    struct fab_doc_node *node; /* [count] the nodes of the tree */
    size_t count;
    const char *file[FAB_DOC_FILES_MAX]; /* names of the files */
    uint32_t files;
    struct fab_arena arena; /* memory of all texts */
};

/* Makes a tree that has only node 0. Returns NOMEM. The caller must call fini even after a failure.
 */
int fab_policy_doc_init(struct fab_doc *d);
void fab_policy_doc_fini(struct fab_doc *d);
/* Adds the name of a file. Returns NOMEM or LIMIT. */
int fab_policy_doc_add_file(struct fab_doc *d, const char *name);
/* Appends a copy of *node, with its text and key, to the list or mapping `parent`. *ret is the
 * index of the copy. Returns LIMIT (too many nodes) or NOMEM. */
int fab_policy_doc_add(struct fab_doc *d, uint32_t parent, const struct fab_doc_node *node,
                       uint32_t *ret);
/* Returns the index of the node that the mapping `map` has for this key; 0: the mapping does not
 * have the key. */
uint32_t fab_policy_doc_get(const struct fab_doc *d, uint32_t map, const char *key);

#endif
