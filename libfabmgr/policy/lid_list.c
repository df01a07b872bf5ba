/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a file in the format of OpenSM's guid2lid. lid_list.h describes the format. */
#include "libfabmgr/policy/lid_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* Computes the base LID and the LMC of a port from its first and its last LID. Returns NULL on
 * success, or the text of an error. */
static const char *take_range(uint64_t first, uint64_t last, struct fab_listed_lid *ret)
{
    if (first == 0 || last < first || last - first >= 128)
        return "expected 1 to 128 LIDs from the first to the last one";
    uint64_t count = last - first + 1;
    if ((count & (count - 1)) != 0 || first % count != 0)
        return "expected 2^LMC LIDs that begin at a multiple of 2^LMC";
    ret->lid = (uint16_t)first;
    ret->lmc = (uint8_t)__builtin_ctzll(count);
    return NULL;
}

struct reading {
    struct fab_lid_list *list;
    size_t room;
};

static int add(struct reading *r, const struct fab_listed_lid *entry)
{
    struct fab_lid_list *l = r->list;
    struct fab_listed_lid *grown = l->entry;
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
    struct fab_listed_lid entry = {.line = line};
    uint64_t first, last;
    *ret_why = NULL;
    if (!fab_policy_guid_lines_number(&at, end, UINT64_MAX, &entry.port_guid) ||
        entry.port_guid == 0)
        *ret_why = "expected the GUID of a port, such as 0x0002c90300000001";
    else if (!fab_policy_guid_lines_number(&at, end, FAB_LID_LIST_LID_MAX, &first) ||
             !fab_policy_guid_lines_number(&at, end, FAB_LID_LIST_LID_MAX, &last))
        *ret_why = "expected the first and the last LID after the GUID, such as 0x0007 0x0007, "
                   "at most 0xbfff";
    else if (!fab_policy_guid_lines_is_over(&at, end))
        *ret_why = "expected nothing after the last LID";
    else
        *ret_why = take_range(first, last, &entry);
    return *ret_why != NULL ? FAB_E_FORMAT : add(ctx, &entry);
}

static int by_lid(const void *a, const void *b)
{
    const struct fab_listed_lid *x = a, *y = b;
    return x->lid != y->lid ? (x->lid < y->lid ? -1 : 1)
                            : (x->line > y->line) - (x->line < y->line);
}

static int by_guid(const void *a, const void *b)
{
    const struct fab_listed_lid *x = a, *y = b;
    if (x->port_guid != y->port_guid)
        return x->port_guid < y->port_guid ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Sorts the list by GUID. Returns FORMAT if a LID or a GUID occurs twice. */
static int sort(struct fab_lid_list *l, struct fab_line_error *error)
{
    char why[sizeof error->message];
    if (l->count == 0)
        return FAB_OK;
    qsort(l->entry, l->count, sizeof *l->entry, by_lid);
    for (size_t i = 1; i < l->count; i++) {
        const struct fab_listed_lid *a = &l->entry[i - 1], *b = &l->entry[i];
        if (a->lid + (1u << a->lmc) > b->lid) {
            unsigned later = a->line > b->line ? a->line : b->line,
                     other = a->line + b->line - later;
            snprintf(why, sizeof why, "LID 0x%04x is that of line %u already", b->lid, other);
            return fab_policy_guid_lines_fail(error, later, why);
        }
    }
    qsort(l->entry, l->count, sizeof *l->entry, by_guid);
    for (size_t i = 1; i < l->count; i++)
        if (l->entry[i].port_guid == l->entry[i - 1].port_guid) {
            snprintf(why, sizeof why, "the GUID is in line %u already, expected each GUID once",
                     l->entry[i - 1].line);
            return fab_policy_guid_lines_fail(error, l->entry[i].line, why);
        }
    return FAB_OK;
}

int fab_policy_lid_list_read(const char *text, size_t len, struct fab_lid_list **ret,
                             struct fab_line_error *ret_error)
{
    if (len > FAB_LID_LIST_TEXT_MAX)
        return FAB_E_LIMIT;
    struct fab_lid_list *l = calloc(1, sizeof *l);
    if (l == NULL)
        return FAB_E_NOMEM;
    l->refs = 1;
    struct reading r = {.list = l};
    int status = fab_policy_guid_lines_each(text, len, 0, take, &r, ret_error);
    if (status == FAB_OK)
        status = sort(l, ret_error);
    if (status == FAB_OK)
        *ret = l;
    else
        fab_policy_lid_list_unref(l);
    return status;
}

struct fab_lid_list *fab_policy_lid_list_ref(struct fab_lid_list *l)
{
    if (l != NULL)
        __atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
    return l;
}

void fab_policy_lid_list_unref(struct fab_lid_list *l)
{
    if (l == NULL || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(l->entry);
    free(l);
}

static int compare_guid(const void *guid, const void *entry)
{
    uint64_t x = *(const uint64_t *)guid, y = ((const struct fab_listed_lid *)entry)->port_guid;
    return x < y ? -1 : x > y;
}

const struct fab_listed_lid *fab_policy_lid_list_find(const struct fab_lid_list *l,
                                                      uint64_t port_guid)
{
    if (l == NULL || l->count == 0)
        return NULL;
    return bsearch(&port_guid, l->entry, l->count, sizeof *l->entry, compare_guid);
}

bool fab_policy_lid_list_same(const struct fab_lid_list *a, const struct fab_lid_list *b)
{
    size_t count = a != NULL ? a->count : 0, i = 0;
    if (count != (b != NULL ? b->count : 0))
        return false;
    while (i < count && a->entry[i].port_guid == b->entry[i].port_guid &&
           a->entry[i].lid == b->entry[i].lid && a->entry[i].lmc == b->entry[i].lmc)
        i++;
    return i == count;
}
