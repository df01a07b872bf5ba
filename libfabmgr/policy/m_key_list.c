/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a file in the format of OpenSM's guid2mkey. m_key_list.h describes the format. */
#include "libfabmgr/policy/m_key_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        (*at)++;
}

/* Reads 0x and 1 to 16 hexadecimal digits. Returns false for any other word. */
static bool read_number(const char **at, const char *end, uint64_t *ret)
{
    skip_blanks(at, end);
    const char *word = *at;
    while (*at < end && !is_blank(**at) && **at != '#')
        (*at)++;
    size_t len = (size_t)(*at - word);
    return len > 2 && len <= 18 && word[0] == '0' && (word[1] | 32) == 'x' &&
           fab_base_digits_parse(word + 2, len - 2, 16, UINT64_MAX, ret);
}

static bool is_over(const char **at, const char *end)
{
    skip_blanks(at, end);
    return *at == end || **at == '#';
}

/* Reads a line. Sets *any if the line has a key. Returns an error text, or NULL if the line is
 * correct. */
static const char *read_line(const char *at, const char *end, struct fab_listed_m_key *ret,
                             bool *any)
{
    if (end - at > FAB_M_KEY_LIST_LINE_MAX)
        return "the line is longer than 256 bytes";
    *any = !is_over(&at, end);
    if (!*any)
        return NULL;
    if (!read_number(&at, end, &ret->port_guid) || ret->port_guid == 0)
        return "expected the GUID of a port, such as 0x0002c90300000001";
    if (!read_number(&at, end, &ret->m_key))
        return "expected the M_Key of the port after its GUID, such as 0x1a2b";
    return is_over(&at, end) ? NULL : "expected nothing after GUID and M_Key";
}

static int add(struct fab_m_key_list *l, size_t *room, const struct fab_listed_m_key *entry)
{
    struct fab_listed_m_key *grown = l->entry;
    if (l->count == *room)
        grown = fab_base_grow(l->entry, sizeof *l->entry, l->count + 1, room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    l->entry = grown;
    l->entry[l->count++] = *entry;
    return FAB_OK;
}

static int fail(struct fab_m_key_list_error *error, unsigned line, const char *why)
{
    error->line = line;
    snprintf(error->message, sizeof error->message, "%s", why);
    return FAB_E_FORMAT;
}

static int read_lines(const char *at, const char *end, struct fab_m_key_list *l,
                      struct fab_m_key_list_error *error)
{
    size_t room = 0;
    int status = FAB_OK;
    for (unsigned line = 1; status == FAB_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct fab_listed_m_key entry = {.line = line};
        bool any = false;
        const char *wrong = read_line(at, stop != NULL ? stop : end, &entry, &any);
        if (wrong == NULL && any && l->count == FAB_M_KEY_LIST_MAX)
            wrong = "expected at most 65536 ports";
        if (wrong != NULL)
            status = fail(error, line, wrong);
        else if (any)
            status = add(l, &room, &entry);
        at = stop != NULL ? stop + 1 : end;
    }
    return status;
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
static int sort(struct fab_m_key_list *l, struct fab_m_key_list_error *error)
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
    return fail(error, first->line, why);
}

int fab_policy_m_key_list_read(const char *text, size_t len, struct fab_m_key_list **ret,
                               struct fab_m_key_list_error *ret_error)
{
    if (len > FAB_M_KEY_LIST_TEXT_MAX)
        return FAB_E_LIMIT;
    struct fab_m_key_list *l = calloc(1, sizeof *l);
    if (l == NULL)
        return FAB_E_NOMEM;
    l->refs = 1;
    int status = read_lines(text, text + len, l, ret_error);
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
