/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/policy/document.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/append.h"

int fab_policy_doc_init(struct fab_doc *d)
{
    const struct fab_doc_node all = {.kind = FAB_DOC_LIST};
    *d = (struct fab_doc){0};
    return APPEND(d->node, d->count, &all);
}

void fab_policy_doc_fini(struct fab_doc *d)
{
    free(d->node);
    fab_base_arena_fini(&d->arena);
    *d = (struct fab_doc){0};
}

/* Replaces the string *text by a copy in the arena of the document. Does nothing if *text is
 * NULL. */
static int keep(struct fab_doc *d, const char **text)
{
    if (*text == NULL)
        return FAB_OK;
    *text = fab_base_arena_text(&d->arena, *text, strlen(*text));
    return *text != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_policy_doc_add_file(struct fab_doc *d, const char *name)
{
    if (d->files == FAB_DOC_FILES_MAX)
        return FAB_E_LIMIT;
    int r = keep(d, &name);
    if (r == FAB_OK)
        d->file[d->files++] = name;
    return r;
}

int fab_policy_doc_add(struct fab_doc *d, uint32_t parent, const struct fab_doc_node *node,
                       uint32_t *ret)
{
    struct fab_doc_node one = *node;
    uint32_t number = (uint32_t)d->count;
    if (d->count == FAB_DOC_NODES_MAX)
        return FAB_E_LIMIT;
    int r = keep(d, &one.key);
    if (r == FAB_OK)
        r = keep(d, &one.text);
    one.first = one.last = one.next = 0;
    if (r == FAB_OK)
        r = APPEND(d->node, d->count, &one);
    if (r != FAB_OK)
        return r;
    struct fab_doc_node *p = &d->node[parent];
    if (p->last != 0)
        d->node[p->last].next = number;
    else
        p->first = number;
    p->last = number;
    *ret = number;
    return FAB_OK;
}

uint32_t fab_policy_doc_get(const struct fab_doc *d, uint32_t map, const char *key)
{
    uint32_t n = d->node[map].first;
    while (n != 0 && strcmp(d->node[n].key, key) != 0)
        n = d->node[n].next;
    return n;
}
