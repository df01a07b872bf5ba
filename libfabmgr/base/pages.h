/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An array that is divided into pages. Many versions of the array can exist at the same time, and
 * two versions share each page in which they do not differ. To make a new version, it is enough to
 * copy the page pointers, or some of them, and each page that changes. No version waits for the
 * readers of earlier versions.
 *
 * A version may have several handles (struct fab_pages). While a version has one handle, the owner
 * of the handle may change the version (fab_base_pages_unshare, then fab_base_pages_edit). A
 * version with several handles does not change any more, and any thread may read it. To change such
 * a version, the owner of a handle calls fab_base_pages_unshare. The handle then gets a new
 * version, which starts with the same pages.
 *
 * Versions that were made from each other form a history. A version ends when its last handle is
 * gone. The memory of pages that no other version has is then used again for new pages, except for
 * pages of the first version that may overlap another page. Any thread may end a version, but only
 * one thread at a time may unshare and edit versions of one history.
 */
#ifndef LIBFABMGR_BASE_PAGES_H
#define LIBFABMGR_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_pages_version;
struct fab_pages {  /* a handle of a version; all bytes zero: no array */
    uint8_t **page; /* [number of pages] address of each page */
    struct fab_pages_version *version;
};

/* How the first version of the array is divided into rows and pages. A row consists of adjacent
 * pages. If `row_bytes` is less than row_pages * page_bytes, the last page of a row extends into
 * the next row. */
struct fab_pages_layout {
    size_t rows, row_pages, page_bytes;
    /* number of bytes from the beginning of a row to the beginning of the next row */
    size_t row_bytes;
};

/* Makes the first version of an array. `memory` must come from malloc and contain all pages,
 * including the whole last page of the last row. The array takes over this memory. Returns OK or
 * NOMEM; after NOMEM the caller still owns `memory`. */
int fab_base_pages_new(void *memory, struct fab_pages_layout layout, struct fab_pages *ret);
void fab_base_pages_fini(struct fab_pages *p);

/* Returns another handle of the same version. */
struct fab_pages fab_base_pages_share(const struct fab_pages *p);
bool fab_base_pages_is_shared(const struct fab_pages *p);

/* Prepares the version of a handle for changes. If the version is not the newest of its history,
 * the handle gets a full copy, which begins a new history. Otherwise, if the version has other
 * handles, this handle gets a new version. Returns OK, or NOMEM with the version of the handle
 * unchanged. */
int fab_base_pages_unshare(struct fab_pages *p);
/* Does a part of the work of the next fab_base_pages_unshare in advance: allocates memory and
 * copies page pointers. fab_base_pages_unshare then copies only the pointers that have changed in
 * the meantime. If there is no memory, this function does nothing. Only the thread that unshares
 * and edits versions may call this function. */
void fab_base_pages_prepare(const struct fab_pages *p);
/* Returns page i of the version of *p, so that the caller can change it. If the page was made in an
 * earlier version, the function copies it first. *p must be the only handle of its version. Returns
 * NULL, with nothing changed, if there is no memory. */
uint8_t *fab_base_pages_edit(struct fab_pages *p, size_t i);

/* Returns how many bytes all versions of the history of *p use together. The pages of the first
 * version of this history are not counted. */
size_t fab_base_pages_memory(const struct fab_pages *p);

#endif
