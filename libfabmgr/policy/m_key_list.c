/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a file in the format of OpenSM's guid2mkey. m_key_list.h describes the format. */
#include "libfabmgr/policy/m_key_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct reading {
    struct fab_m_key_list *list;
    size_t room;
};

static int add(struct reading *r, const struct fab_listed_m_key *entry)
{
    struct fab_m_key_list *l = r->list;
    struct fab_listed_m_key *grown = l->entry;
    if (l->count == r->room)
        grown = fab_base_grow(l->entry, sizeof *l->entry, l->count + 1, &r->room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    l->entry = grown;
    l->entry[l->count++] = *entry;
    return FAB_OK;
}

static int take(void *ctx, const char *at, const char *end, unsigned line, const char **ret_why)
{
    struct reading *r = ctx;
    struct fab_listed_m_key entry = {.line = line};
    *ret_why = NULL;
    if (!fab_policy_guid_lines_number(&at, end, UINT64_MAX, &entry.port_guid) ||
        entry.port_guid == 0)
        *ret_why = "expected the GUID of a port, such as 0x0002c90300000001";
    else if (!fab_policy_guid_lines_number(&at, end, UINT64_MAX, &entry.m_key))
        *ret_why = "expected the M_Key of the port after its GUID, such as 0x1a2b";
    else if (!fab_policy_guid_lines_is_over(&at, end))
        *ret_why = "expected nothing after GUID and M_Key";
    else if (r->list->count == FAB_M_KEY_LIST_MAX)
        *ret_why = "expected at most 65536 ports";
    return *ret_why != NULL ? FAB_E_FORMAT : add(r, &entry);
}

static int compare(const void *a, const void *b)
{
    const struct fab_listed_m_key *x = a, *y = b;
    if (x->port_guid != y->port_guid)
        return x->port_guid < y->port_guid ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Sorts the list by GUID. Returns FORMAT if a GUID occurs twice, because the list then gives two
 * keys for one port. */
static int sort(struct fab_m_key_list *l, struct fab_line_error *error)
{
    const struct fab_listed_m_key *first = NULL;
    char why[sizeof error->message];
    if (l->count > 0)
        qsort(l->entry, l->count, sizeof *l->entry, compare);
    for (size_t i = 1; i < l->count; i++)
        if (l->entry[i].port_guid == l->entry[i - 1].port_guid &&
            (first == NULL || l->entry[i].line < first->line))
            first = &l->entry[i];
    if (first == NULL)
        return FAB_OK;
    snprintf(why, sizeof why, "the GUID is in line %u already, expected each GUID once",
             first[-1].line);
    return fab_policy_guid_lines_fail(error, first->line, why);
}

int fab_policy_m_key_list_read(const char *text, size_t len, struct fab_m_key_list **ret,
                               struct fab_line_error *ret_error)
{
    if (len > FAB_M_KEY_LIST_TEXT_MAX)
        return FAB_E_LIMIT;
    struct fab_m_key_list *l = calloc(1, sizeof *l);
    if (l == NULL)
        return FAB_E_NOMEM;
    l->refs = 1;
    struct reading r = {.list = l};
    int status =
        fab_policy_guid_lines_each(text, len, FAB_M_KEY_LIST_LINE_MAX, take, &r, ret_error);
    if (status == FAB_OK)
        status = sort(l, ret_error);
    if (status == FAB_OK)
        *ret = l;
    else
        fab_policy_m_key_list_unref(l);
    return status;
}

struct fab_m_key_list *fab_policy_m_key_list_ref(struct fab_m_key_list *l)
{
    if (l != NULL)
        __atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
    return l;
}

void fab_policy_m_key_list_unref(struct fab_m_key_list *l)
{
    if (l == NULL || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(l->entry);
    free(l);
}

static int compare_guid(const void *guid, const void *entry)
{
    uint64_t x = *(const uint64_t *)guid, y = ((const struct fab_listed_m_key *)entry)->port_guid;
    return x < y ? -1 : x > y;
}

uint64_t fab_policy_m_key_list_find(const struct fab_m_key_list *l, uint64_t port_guid)
{
    const struct fab_listed_m_key *found = NULL;
    if (l != NULL && l->count > 0)
        found = bsearch(&port_guid, l->entry, l->count, sizeof *l->entry, compare_guid);
    return found != NULL ? found->m_key : 0;
}

bool fab_policy_m_key_list_same(const struct fab_m_key_list *a, const struct fab_m_key_list *b)
{
    size_t count = a != NULL ? a->count : 0, i = 0;
    if (count != (b != NULL ? b->count : 0))
        return false;
    while (i < count && a->entry[i].port_guid == b->entry[i].port_guid &&
           a->entry[i].m_key == b->entry[i].m_key)
        i++;
    return i == count;
}
