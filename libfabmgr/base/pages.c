/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out when no living version has a page any more, because the memory of the page can then be
 * used again. A version is called living while it has a handle (pages.h).
 *
 * A page is made in one version, and also belongs to the following versions, until a version
 * replaces the page. So the versions that have a page are consecutive, and it is enough to know the
 * first of them and the last living one. If this last version is not the newest version of the
 * history, its list `left` has an entry for the page, with the number of the version that made the
 * page. When the last version ends, the entry moves to the living version before it, if that
 * version has the page. Otherwise no version has the page any more, and the page becomes a spare
 * page, unless its memory may overlap another page of the first version.
 *
 * A new version begins with the page pointers of the newest one. Copying all pointers would take a
 * long time. So the history keeps the array page[] of a version that has ended, and the next new
 * version uses this array. The history also knows for each group of GROUP adjacent pointers when
 * the group last changed. Only groups that have changed since the ended version are copied.
 *
 * Any thread may end a version: it adds the version to the list `ended`. Only the thread that
 * unshares and edits versions takes versions from this list. When the last version ends, all memory
 * is freed. So no thread waits for another.
 */
#include "libfabmgr/base/pages.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define FIRST_VERSION 1u
#define CHUNK_PAGES ((size_t)64) /* number of pages that are allocated together */
#define GROUP ((size_t)16)       /* number of page pointers in a group */
/* One spare page is allocated in advance for this many pages of the array (prepare_spare). */
#define SPARE_SHARE ((size_t)128)

struct left_page {
    uint32_t index, made;
    uint8_t *page;
};

struct fab_pages_version {
    struct history *history;
    uint32_t number; /* number of the version in its history, from 1 */
    int handles;     /* number of handles of this version; atomic */
    uint8_t **page;
    /* the neighbours in the list of living versions of the history, which is sorted by number */
    struct fab_pages_version *older, *newer;
    struct fab_pages_version *next_ended;
    /* Pages of this version that the next newer version does not have. */
    struct left_page *left;
    size_t left_count, left_room;
};

struct history {
    size_t count, size; /* count: number of pages of a version. size: bytes of a page. */
    /* Number of pages in each row of the first version (struct fab_pages_layout) if the last page
     * of a row extends into the next row; 0: it does not. */
    size_t row_pages;
    int living; /* number of versions that still have a handle; atomic */
    /* list of versions that have ended and are not yet removed; atomic */
    struct fab_pages_version *ended;
    struct fab_pages_version *newest;
    /* The number of the version that was added last, plus 1 for each removal of a newest version
     * since then (step_back). A new version gets the number last_number + 1. Because a removal also
     * raises last_number, copies of the page pointers of the removed version count as outdated. */
    uint32_t last_number;
    /* [count] number of the version that made each page of `newest` */
    uint32_t *made;
    void **memory; /* [memory_count] allocated blocks that contain the pages */
    size_t memory_count, memory_room;
    uint8_t **spare;
    size_t spare_count, spare_room, pages; /* `pages`: number of pages that were ever made */
    /* [count] array of page pointers that the next new version will use; NULL: none */
    uint8_t **spare_pointers;
    /* spare_pointers[] may differ from the page pointers of `newest` only in those groups of GROUP
     * adjacent pointers for which changed[] is higher than this number */
    uint32_t spare_number;
    /* [group] for each group of GROUP adjacent page pointers: the value of `last_number` when one
     * of them last changed in `newest` */
    uint32_t *changed;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t groups_of(const struct history *h)
{
    return (h->count + GROUP - 1) / GROUP;
}

static void free_version(struct fab_pages_version *v)
{
    if (v == NULL)
        return;
    free(v->page);
    free(v->left);
    free(v);
}

static void free_history(struct history *h)
{
    for (struct fab_pages_version *v = h->ended, *next; v != NULL; v = next) {
        next = v->next_ended;
        free_version(v);
    }
    for (size_t i = 0; i < h->memory_count; i++)
        free(h->memory[i]);
    free(h->memory);
    free(h->spare);
    free(h->spare_pointers);
    free(h->changed);
    free(h->made);
    free(h);
}

static int make_room(void *items, size_t item, size_t need, size_t *room)
{
    void **at = items;
    if (need <= *room)
        return FAB_OK;
    void *more = fab_base_grow(*at, item, need, room);
    if (more == NULL)
        return FAB_E_NOMEM;
    *at = more;
    return FAB_OK;
}

/* Adds a chunk of spare pages. Also makes spare[] large enough for all pages of the history, so
 * that add_spare cannot fail. Returns OK or NOMEM. */
static int add_chunk(struct history *h)
{
    if (make_room(&h->spare, sizeof(*h->spare), h->pages + CHUNK_PAGES, &h->spare_room) != FAB_OK ||
        make_room(&h->memory, sizeof(*h->memory), h->memory_count + 1, &h->memory_room) != FAB_OK)
        return FAB_E_NOMEM;
    uint8_t *chunk = fab_base_alloc_array(CHUNK_PAGES, h->size);
    if (chunk == NULL)
        return FAB_E_NOMEM;
    h->memory[h->memory_count++] = chunk;
    h->pages += CHUNK_PAGES;
    for (size_t i = CHUNK_PAGES; i > 0; i--)
        h->spare[h->spare_count++] = chunk + (i - 1) * h->size;
    return FAB_OK;
}

/* Allocates spare pages in advance. Also writes to these pages, so that the kernel maps their
 * memory now and not when they are first used. Returns OK or NOMEM. */
static int prepare_spare(struct history *h)
{
    while (h->spare_count < h->count / SPARE_SHARE) {
        if (add_chunk(h) != FAB_OK)
            return FAB_E_NOMEM;
        memset(h->memory[h->memory_count - 1], 0, CHUNK_PAGES * h->size);
    }
    return FAB_OK;
}

size_t fab_base_pages_memory(const struct fab_pages *p)
{
    const struct history *h = p->version->history;
    size_t living = (size_t)__atomic_load_n(&h->living, __ATOMIC_ACQUIRE);
    size_t arrays = living + (h->spare_pointers != NULL);
    return h->count * (sizeof(*h->made) + arrays * sizeof(uint8_t *)) +
           groups_of(h) * sizeof(*h->changed) + (h->pages - h->count) * h->size;
}

/* ---- versions that end ----------------------------------------------------------------------- */

/* Returns true if a page overlaps no other page. In the first version, the first and the last page
 * of a row may overlap pages of other rows. index: index of the page in the array; made: number of
 * the version that made the page. */
static bool is_separate(const struct history *h, size_t index, uint32_t made)
{
    if (made != FIRST_VERSION || h->row_pages == 0)
        return true;
    size_t in_row = index % h->row_pages;
    return in_row > 0 && in_row + 1 < h->row_pages;
}

/* Adds a page to the spare pages, because no version has it any more. */
static void add_spare(struct history *h, struct left_page p)
{
    if (is_separate(h, p.index, p.made))
        h->spare[h->spare_count++] = p.page;
}

/* Makes room for `count` more entries in the array v->left. Returns OK or NOMEM. */
static int reserve_left(struct fab_pages_version *v, size_t count)
{
    return v != NULL ? make_room(&v->left, sizeof(*v->left), v->left_count + count, &v->left_room)
                     : FAB_OK;
}

/* Removes the newest version, which has ended. The version before it becomes the newest one. Pages
 * that only the removed version had become spare pages. The newest version now has other page
 * pointers, so last_number rises by 1, as when a version is added. */
static void step_back(struct history *h, const struct fab_pages_version *ended)
{
    struct fab_pages_version *v = ended->older;
    h->last_number++;
    for (size_t i = 0; v != NULL && i < v->left_count; i++) {
        uint32_t index = v->left[i].index;
        add_spare(h, (struct left_page){index, h->made[index], ended->page[index]});
        h->made[index] = v->left[i].made;
        h->changed[index / GROUP] = h->last_number;
    }
    if (v != NULL)
        v->left_count = 0;
    h->newest = v;
}

/* Removes an ended version that is not the newest one. Its list `left` has pages that no later
 * version has. If the version before it has such a page, the entry moves to the list of that
 * version, where the caller has reserved room. Otherwise the page becomes a spare page. */
static void pass_on(struct history *h, const struct fab_pages_version *ended)
{
    struct fab_pages_version *v = ended->older;
    for (size_t i = 0; i < ended->left_count; i++)
        if (v != NULL && ended->left[i].made <= v->number)
            v->left[v->left_count++] = ended->left[i];
        else
            add_spare(h, ended->left[i]);
}

/* Removes an ended version from the history. Returns OK, or NOMEM with nothing changed. */
static int remove_version(struct history *h, struct fab_pages_version *v)
{
    if (v->newer != NULL && reserve_left(v->older, v->left_count) != FAB_OK)
        return FAB_E_NOMEM;
    if (v->newer == NULL)
        step_back(h, v);
    else
        pass_on(h, v);
    if (v->newer != NULL)
        v->newer->older = v->older;
    if (v->older != NULL)
        v->older->newer = v->newer;
    if (h->spare_pointers == NULL) {
        h->spare_pointers = v->page;
        h->spare_number = v->number;
        v->page = NULL;
    }
    free_version(v);
    return FAB_OK;
}

static void add_ended(struct history *h, struct fab_pages_version *v)
{
    struct fab_pages_version *first = __atomic_load_n(&h->ended, __ATOMIC_RELAXED);
    do
        v->next_ended = first;
    while (!__atomic_compare_exchange_n(&h->ended, &first, v, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

static void remove_ended(struct history *h)
{
    struct fab_pages_version *v = __atomic_exchange_n(&h->ended, NULL, __ATOMIC_ACQUIRE), *next;
    for (; v != NULL; v = next) {
        next = v->next_ended;
        if (remove_version(h, v) != FAB_OK)
            add_ended(h, v);
    }
}

static void end_version(struct fab_pages_version *v)
{
    struct history *h = v->history;
    add_ended(h, v);
    /* v is now in the list of ended versions. The thread that edits versions may free it at any
     * time, so v must not be used from here on. */
    if (__atomic_sub_fetch(&h->living, 1, __ATOMIC_ACQ_REL) == 0)
        free_history(h);
}

/* ---- handles --------------------------------------------------------------------------------- */

/* Makes spare_pointers[] equal to the page pointers of the newest version; allocates the array if
 * there is none. Returns OK or NOMEM. spare_number becomes last_number - 1: pointers of the newest
 * version that change later have the number last_number in h->changed, and must count as
 * changed. */
static int update_spare_pointers(struct history *h)
{
    bool all = h->spare_pointers == NULL;
    if (all)
        h->spare_pointers = fab_base_alloc_array(h->count, sizeof(*h->spare_pointers));
    if (h->spare_pointers == NULL)
        return FAB_E_NOMEM;
    for (size_t g = 0; g < groups_of(h); g++)
        if (all || h->changed[g] > h->spare_number) {
            size_t first = g * GROUP, rest = h->count - first;
            memcpy(&h->spare_pointers[first], &h->newest->page[first],
                   (rest < GROUP ? rest : GROUP) * sizeof(*h->spare_pointers));
        }
    h->spare_number = h->last_number - 1;
    return FAB_OK;
}

/* Makes a version that takes over the array page[] of page pointers. Returns NULL if there is no
 * memory. */
static struct fab_pages_version *new_version(struct history *h, uint8_t **page)
{
    struct fab_pages_version *v = page != NULL ? calloc(1, sizeof(*v)) : NULL;
    if (v == NULL)
        return NULL;
    v->page = page;
    v->history = h;
    v->number = h->last_number + 1;
    v->handles = 1;
    return v;
}

static void add_version(struct history *h, struct fab_pages_version *v)
{
    h->last_number = v->number;
    v->older = h->newest;
    if (v->older != NULL)
        v->older->newer = v;
    h->newest = v;
    __atomic_add_fetch(&h->living, 1, __ATOMIC_RELAXED);
}

int fab_base_pages_new(void *memory, struct fab_pages_layout layout, struct fab_pages *ret)
{
    struct history *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return FAB_E_NOMEM;
    size_t count = layout.rows * layout.row_pages;
    h->count = h->pages = count;
    h->size = layout.page_bytes;
    h->row_pages = layout.row_bytes < layout.row_pages * layout.page_bytes ? layout.row_pages : 0;
    h->made = calloc(count > 0 ? count : 1, sizeof(*h->made));
    h->changed = calloc(groups_of(h) + 1, sizeof(*h->changed));
    uint8_t **page = fab_base_alloc_array(count, sizeof(*page));
    struct fab_pages_version *v = new_version(h, page);
    if (h->made == NULL || h->changed == NULL || v == NULL ||
        make_room(&h->memory, sizeof(*h->memory), 1, &h->memory_room) != FAB_OK) {
        free(page);
        free(v);
        free_history(h);
        return FAB_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        h->made[i] = v->number;
        page[i] = (uint8_t *)memory + i / layout.row_pages * layout.row_bytes +
                  i % layout.row_pages * layout.page_bytes;
    }
    h->memory[h->memory_count++] = memory;
    add_version(h, v);
    *ret = (struct fab_pages){v->page, v};
    return FAB_OK;
}

void fab_base_pages_fini(struct fab_pages *p)
{
    struct fab_pages_version *v = p->version;
    *p = (struct fab_pages){0};
    if (v != NULL && __atomic_sub_fetch(&v->handles, 1, __ATOMIC_ACQ_REL) == 0)
        end_version(v);
}

struct fab_pages fab_base_pages_share(const struct fab_pages *p)
{
    __atomic_add_fetch(&p->version->handles, 1, __ATOMIC_RELAXED);
    return *p;
}

bool fab_base_pages_is_shared(const struct fab_pages *p)
{
    return __atomic_load_n(&p->version->handles, __ATOMIC_ACQUIRE) > 1;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Makes a new version from the newest version. *ret becomes its handle. Returns OK or NOMEM. */
static int derive(struct history *h, struct fab_pages *ret)
{
    if (update_spare_pointers(h) != FAB_OK)
        return FAB_E_NOMEM;
    struct fab_pages_version *v = new_version(h, h->spare_pointers);
    if (v == NULL)
        return FAB_E_NOMEM;
    h->spare_pointers = NULL;
    add_version(h, v);
    *ret = (struct fab_pages){v->page, v};
    return FAB_OK;
}

/* Copies the version of the handle *p; the copy begins a new history, and *ret becomes its handle.
 * Returns OK or NOMEM. */
static int copy(const struct history *h, const struct fab_pages *p, struct fab_pages *ret)
{
    uint8_t *memory = fab_base_alloc_array(h->count, h->size);
    const struct fab_pages_layout one_row = {1, h->count, h->size, h->count * h->size};
    int r = memory != NULL ? fab_base_pages_new(memory, one_row, ret) : FAB_E_NOMEM;
    if (r != FAB_OK) {
        free(memory);
        return r;
    }
    for (size_t i = 0; i < h->count; i++)
        memcpy(ret->page[i], p->page[i], h->size);
    return FAB_OK;
}

int fab_base_pages_unshare(struct fab_pages *p)
{
    struct history *h = p->version->history;
    struct fab_pages own = {0};
    remove_ended(h);
    int r = FAB_OK;
    if (p->version != h->newest)
        r = copy(h, p, &own);
    else if (fab_base_pages_is_shared(p))
        r = derive(h, &own);
    if (r == FAB_OK && own.version != NULL) {
        fab_base_pages_fini(p);
        *p = own;
    }
    return r;
}

void fab_base_pages_prepare(const struct fab_pages *p)
{
    struct history *h = p->version->history;
    remove_ended(h);
    if (p->version == h->newest && prepare_spare(h) == FAB_OK)
        (void)update_spare_pointers(h);
}

/* Replaces page `i` of `v`, the newest version, by a copy, and returns the copy, which the caller
 * may change. Returns NULL if there is no memory. */
static uint8_t *copy_page(struct history *h, struct fab_pages_version *v, size_t i)
{
    const struct left_page left = {(uint32_t)i, h->made[i], v->page[i]};
    if ((h->spare_count == 0 && add_chunk(h) != FAB_OK) || reserve_left(v->older, 1) != FAB_OK)
        return NULL;
    uint8_t *page = h->spare[--h->spare_count];
    memcpy(page, left.page, h->size);
    v->page[i] = page;
    h->made[i] = v->number;
    h->changed[i / GROUP] = h->last_number;
    if (v->older != NULL)
        v->older->left[v->older->left_count++] = left;
    else
        add_spare(h, left);
    return page;
}

uint8_t *fab_base_pages_edit(struct fab_pages *p, size_t i)
{
    struct fab_pages_version *v = p->version;
    struct history *h = v->history;
    return h->made[i] == v->number ? v->page[i] : copy_page(h, v, i);
}
