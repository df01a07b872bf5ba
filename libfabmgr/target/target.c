/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates and copies LIDs, linear forwarding tables, and the reference-counted target around
 * them.
 *
 * A table owns its memory, alone or together with the tables that share this memory
 * (fab_target_..._share). The functions fab_target_..._fini also accept a struct of zero bytes.
 * Rows of the forwarding table are padded to whole blocks of 64 entries (IBA 14.2.5.10). So code
 * that reads or compares a block need not check where the table ends. A row is divided into pages
 * of FAB_LFT_PAGE entries. The last page of a row may reach into the next row; so functions that
 * read a page stop at the end of the row.
 */
#include "libfabmgr/target/target.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libfabmgr/base/owners.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/target/choice.h"

/* ---- LIDs ----------------------------------------------------------------------------------- */

int fab_target_lids_init(struct fab_lids *l, uint32_t port_count)
{
    struct fab_lids made = {.port_count = port_count};
    size_t n = port_count > 0 ? port_count : 1;
    made.base = calloc(n, sizeof(*made.base));
    made.lmc = calloc(n, sizeof(*made.lmc));
    if (made.base == NULL || made.lmc == NULL) {
        fab_target_lids_fini(&made);
        return FAB_E_NOMEM;
    }
    *l = made;
    return FAB_OK;
}

static uint32_t last_lid(const struct fab_lids *l, uint32_t port)
{
    return l->base[port] + (1u << l->lmc[port]) - 1;
}

static uint32_t highest_lid(const struct fab_lids *l)
{
    uint32_t top = 0;
    for (uint32_t port = 0; port < l->port_count; port++) {
        if (l->base[port] != 0 && last_lid(l, port) > top)
            top = last_lid(l, port);
    }
    return top;
}

static int claim(const struct fab_lids *l, uint32_t port, uint32_t *owner)
{
    for (uint32_t lid = l->base[port]; lid <= last_lid(l, port); lid++) {
        if (owner[lid] != FAB_NONE)
            return FAB_E_EXISTS;
        owner[lid] = port;
    }
    return FAB_OK;
}

int fab_target_lids_index(struct fab_lids *l)
{
    uint32_t top = highest_lid(l);
    uint32_t *owner = malloc(((size_t)top + 1) * sizeof(*owner));
    if (owner == NULL)
        return FAB_E_NOMEM;
    memset(owner, 0xff, ((size_t)top + 1) * sizeof(*owner));
    for (uint32_t port = 0; port < l->port_count; port++) {
        int ret = l->base[port] != 0 ? claim(l, port, owner) : FAB_OK;
        if (ret != FAB_OK) {
            free(owner);
            return ret;
        }
    }
    free(l->owner);
    l->owner = owner;
    l->top = top;
    return FAB_OK;
}

int fab_target_lids_share(struct fab_lids *l, struct fab_lids *ret_other)
{
    int ret = fab_base_owners_add(&l->owners);
    if (ret == FAB_OK)
        *ret_other = *l;
    return ret;
}

void fab_target_lids_fini(struct fab_lids *l)
{
    if (fab_base_owners_remove(l->owners)) {
        free(l->base);
        free(l->lmc);
        free(l->owner);
    }
    memset(l, 0, sizeof(*l));
}

/* ---- forwarding tables ---------------------------------------------------------------------- */

#define LARGE_PAGE ((size_t)2 << 20)

/* Allocates the entries of forwarding tables. Large tables get huge pages, which halves the time to
 * fill them. */
static void *alloc_entries(size_t size)
{
    if (size < 2 * LARGE_PAGE)
        return malloc(size > 0 ? size : 1);
    size_t room = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *entries = aligned_alloc(LARGE_PAGE, room);
    if (entries != NULL)
        /* huge pages only save time, so a failure is ignored */
        madvise(entries, room, MADV_HUGEPAGE);
    return entries;
}

int fab_target_lft_init(struct fab_lft *t, uint32_t switch_count, uint32_t top)
{
    size_t stride = ((size_t)top / FAB_LFT_BLOCK + 1) * FAB_LFT_BLOCK;
    size_t size = 0;
    if (__builtin_mul_overflow(stride, (size_t)switch_count, &size))
        return FAB_E_NOMEM;
    uint8_t *entries = alloc_entries(size + FAB_LFT_PAGE);
    struct fab_lft made = {.switch_count = switch_count,
                           .top = top,
                           .stride = stride,
                           .row_pages = top / FAB_LFT_PAGE + 1,
                           .entries = entries};
    const struct fab_pages_layout layout = {switch_count, made.row_pages, FAB_LFT_PAGE, stride};
    if (entries == NULL || fab_base_pages_new(entries, layout, &made.pages) != FAB_OK) {
        free(entries);
        return FAB_E_NOMEM;
    }
    memset(entries, FAB_LFT_NO_ROUTE, size + FAB_LFT_PAGE);
    *t = made;
    return FAB_OK;
}

void fab_target_lft_fini(struct fab_lft *t)
{
    fab_base_pages_fini(&t->pages);
    memset(t, 0, sizeof(*t));
}

int fab_target_lft_copy(const struct fab_lft *t, struct fab_lft *ret_copy)
{
    int r = fab_target_lft_init(ret_copy, t->switch_count, t->top);
    for (uint32_t sw = 0; r == FAB_OK && sw < t->switch_count; sw++)
        fab_target_lft_copy_row(t, sw, ret_copy, sw);
    return r;
}

void fab_target_lft_copy_row(const struct fab_lft *from, uint32_t from_sw, struct fab_lft *to,
                             uint32_t to_sw)
{
    uint32_t count = 0;
    for (uint32_t lid = 0; lid <= from->top && lid <= to->top; lid += count) {
        const uint8_t *run = fab_target_lft_run(from, from_sw, lid, &count);
        if (count > to->top - lid + 1)
            count = to->top - lid + 1;
        memcpy(fab_target_lft_row(to, to_sw) + lid, run, count);
    }
}

struct fab_lft fab_target_lft_share(const struct fab_lft *t)
{
    struct fab_lft other = *t;
    other.pages = fab_base_pages_share(&t->pages);
    return other;
}

static size_t page_of(const struct fab_lft *t, uint32_t sw, uint32_t lid)
{
    return (size_t)sw * t->row_pages + lid / FAB_LFT_PAGE;
}

int fab_target_lft_unshare(struct fab_lft *t)
{
    const struct fab_pages_version *was = t->pages.version;
    int r = fab_base_pages_unshare(&t->pages);
    if (t->pages.version != was)
        t->entries = NULL;
    return r;
}

void fab_target_lft_prepare(const struct fab_lft *t)
{
    fab_base_pages_prepare(&t->pages);
}

int fab_target_lft_own(struct fab_lft *t, uint32_t sw, uint32_t lid)
{
    return fab_base_pages_edit(&t->pages, page_of(t, sw, lid)) != NULL ? FAB_OK : FAB_E_NOMEM;
}

void fab_target_lft_set(struct fab_lft *t, uint32_t sw, uint32_t lid, uint8_t port)
{
    t->pages.page[page_of(t, sw, lid)][lid % FAB_LFT_PAGE] = port;
}

bool fab_target_lft_same(const struct fab_lft *a, const struct fab_lft *b)
{
    bool same = a->switch_count == b->switch_count && a->top == b->top;
    uint32_t count = 0;
    for (uint32_t sw = 0; same && sw < a->switch_count; sw++)
        for (uint32_t lid = 0; same && lid <= a->top; lid += count) {
            const uint8_t *x = fab_target_lft_run(a, sw, lid, &count);
            const uint8_t *y = fab_target_lft_entry(b, sw, lid);
            same = x == y || memcmp(x, y, count) == 0;
        }
    return same;
}

/* ---- references ------------------------------------------------------------------------------ */

struct fab_target *fab_target_new(void)
{
    struct fab_target *t = calloc(1, sizeof(*t));
    if (t != NULL)
        t->refs = 1;
    return t;
}

struct fab_target *fab_target_ref(const struct fab_target *t)
{
    /* casts const away, because the reference count is not part of the sealed value */
    struct fab_target *counted = (struct fab_target *)t;
    __atomic_add_fetch(&counted->refs, 1, __ATOMIC_RELAXED);
    return counted;
}

bool fab_target_is_shared(const struct fab_target *t)
{
    return __atomic_load_n(&t->refs, __ATOMIC_ACQUIRE) > 1;
}

static int copy_lids(const struct fab_lids *from, struct fab_lids *to)
{
    int ret = fab_target_lids_init(to, from->port_count);
    if (ret != FAB_OK)
        return ret;
    memcpy(to->base, from->base, from->port_count * sizeof(*to->base));
    memcpy(to->lmc, from->lmc, from->port_count * sizeof(*to->lmc));
    return fab_target_lids_index(to);
}

int fab_target_next(struct fab_target *t, struct fab_target **ret_next)
{
    struct fab_target *next = fab_target_new();
    int ret = next != NULL ? fab_target_lids_share(&t->lids, &next->lids) : FAB_E_NOMEM;
    if (ret == FAB_OK)
        ret = fab_target_vls_share(&t->vls, &next->vls);
    if (ret == FAB_OK)
        ret = fab_target_pkeys_share(&t->pkeys, &next->pkeys);
    if (ret != FAB_OK) {
        fab_target_unref(next);
        return ret;
    }
    next->lft = fab_target_lft_share(&t->lft);
    memcpy(next->engine, t->engine, sizeof(next->engine));
    memcpy(next->reason, t->reason, sizeof(next->reason));
    next->choice = fab_target_choice_ref(t->choice);
    *ret_next = next;
    return FAB_OK;
}

int fab_target_clone(const struct fab_target *t, struct fab_target **ret_clone)
{
    struct fab_target *clone = fab_target_new();
    int ret = clone != NULL ? copy_lids(&t->lids, &clone->lids) : FAB_E_NOMEM;
    if (ret == FAB_OK)
        ret = fab_target_lft_copy(&t->lft, &clone->lft);
    if (ret == FAB_OK)
        ret = fab_target_vls_copy(&t->vls, &clone->vls);
    if (ret == FAB_OK)
        ret = fab_target_pkeys_copy(&t->pkeys, &clone->pkeys);
    if (ret != FAB_OK) {
        fab_target_unref(clone);
        return ret;
    }
    memcpy(clone->engine, t->engine, sizeof(clone->engine));
    memcpy(clone->reason, t->reason, sizeof(clone->reason));
    clone->choice = fab_target_choice_ref(t->choice);
    *ret_clone = clone;
    return FAB_OK;
}

void fab_target_unref(struct fab_target *t)
{
    if (t == NULL)
        return;
    int left = __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL);
    assert(left >= 0);
    if (left > 0)
        return;
    fab_target_lids_fini(&t->lids);
    fab_target_lft_fini(&t->lft);
    fab_target_vls_fini(&t->vls);
    fab_target_pkeys_fini(&t->pkeys);
    fab_target_choice_unref(t->choice);
    free(t);
}
