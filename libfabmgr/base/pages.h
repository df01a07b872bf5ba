/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array in pages, of which many versions can exist at the same time. Versions share the pages in
 * which they do not differ: a new version costs a copy of the page pointers and of the pages that
 * change, whatever the size of the array, and whoever reads earlier versions.
 *
 * A version may have several handles (struct fab_pages). While it has one handle, its owner may
 * change it (fab_base_pages_unshare, then fab_base_pages_edit). As soon as it has several, it does
 * not change any more, and any thread may read it: fab_base_pages_unshare then gives the handle a
 * new version of its own, which starts with the same pages.
 *
 * Versions that were made from each other form a history. The pages of all living versions take
 * memory: when a version ends, the pages that only it had are used again. Only the memory of the
 * first version stays until the history ends, because its pages may overlap. Any thread may end a
 * version, but only one thread at a time may unshare and edit versions of one history.
 */
#ifndef LIBFABMGR_BASE_PAGES_H
#define LIBFABMGR_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_pages_version;
struct fab_pages {  /* a handle; all zero: no array */
    uint8_t **page; /* [number of pages] start of each page */
    struct fab_pages_version *version;
};

/* Makes the first version of an array of `count` pages of `size` bytes. It takes over `memory`
 * (from malloc), in which the caller then points page[] at the pages; the last bytes of a page need
 * not be in use, but must be readable. NOMEM: the caller keeps the memory. */
int fab_base_pages_new(void *memory, size_t count, size_t size, struct fab_pages *ret);
void fab_base_pages_fini(struct fab_pages *p);

/* Returns another handle of the same version. */
struct fab_pages fab_base_pages_share(const struct fab_pages *p);
bool fab_base_pages_is_shared(const struct fab_pages *p);

/* Prepares changes: if the version is shared, the handle gets a new version. If the version is not
 * the latest of its history, the new one shares nothing. NOMEM: the handle keeps its version. */
int fab_base_pages_unshare(struct fab_pages *p);
/* Returns page i of a version that is not shared, which the caller may change from now on. NULL: no
 * memory, and nothing has changed. */
uint8_t *fab_base_pages_edit(struct fab_pages *p, size_t i);

/* Returns the bytes that all versions of the history use, without `memory` of the first version. */
size_t fab_base_pages_memory(const struct fab_pages *p);

#endif
