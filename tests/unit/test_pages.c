/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions of an array in pages (libfabmgr/base/pages.h), compared with plain copies. A handle
 * refers to a version. In random histories, one thread shares, changes and ends handles in any
 * order, while other threads read.
 */
#include <pthread.h>
#include <string.h>

#include "libfabmgr/base/pages.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

#define PAGES 40
#define SIZE 16
#define HANDLES 10
#define BYTES ((size_t)PAGES * SIZE)

struct handle {
    struct fab_pages pages; /* NULL in place of the version: this handle is not in use */
    uint8_t want[PAGES][SIZE];
};

static struct fab_pages first_version(void)
{
    struct fab_pages p;
    uint8_t *memory = calloc(PAGES, SIZE);
    ck_assert_int_eq(
        fab_base_pages_new(memory, (struct fab_pages_layout){1, PAGES, SIZE, BYTES}, &p), FAB_OK);
    return p;
}

static void assert_same(const struct handle *h)
{
    for (size_t i = 0; h->pages.version != NULL && i < PAGES; i++)
        if (memcmp(h->pages.page[i], h->want[i], SIZE) != 0)
            ck_abort_msg("page %zu differs", i);
}

static void change(struct fab_prng *g, struct handle *h)
{
    size_t edits = fab_base_prng_below(g, PAGES + 1);
    ck_assert_int_eq(fab_base_pages_unshare(&h->pages), FAB_OK);
    ck_assert(!fab_base_pages_is_shared(&h->pages));
    for (size_t k = 0; k < edits; k++) {
        size_t i = fab_base_prng_below(g, PAGES), at = fab_base_prng_below(g, SIZE);
        uint8_t value = (uint8_t)fab_base_prng_next(g);
        fab_base_pages_edit(&h->pages, i)[at] = value;
        h->want[i][at] = value;
    }
}

static void step(struct fab_prng *g, struct handle *handles)
{
    struct handle *h = &handles[fab_base_prng_below(g, HANDLES)];
    struct handle *other = &handles[fab_base_prng_below(g, HANDLES)];
    if (h->pages.version == NULL)
        return;
    switch (fab_base_prng_below(g, 4)) {
    case 0:
        if (other->pages.version == NULL) {
            *other = *h;
            other->pages = fab_base_pages_share(&h->pages);
            ck_assert(fab_base_pages_is_shared(&h->pages));
        }
        break;
    case 1:
        change(g, h);
        break;
    case 2:
        fab_base_pages_prepare(&h->pages);
        break;
    default:
        if (other != h && other->pages.version != NULL)
            fab_base_pages_fini(&other->pages);
    }
}

START_TEST(versions_keep_their_contents)
{
    struct fab_prng g;
    fab_base_prng_init(&g, test_seed("pages", 16));
    for (unsigned round = 0; round < test_rounds(400); round++) {
        struct handle handles[HANDLES] = {{.pages = first_version()}};
        for (unsigned n = 0; n < 100; n++) {
            step(&g, handles);
            for (unsigned i = 0; i < HANDLES; i++)
                assert_same(&handles[i]);
        }
        for (unsigned i = 0; i < HANDLES; i++)
            fab_base_pages_fini(&handles[i].pages);
    }
}
END_TEST

/* Before pages are changed, the only other version ends. So the memory of replaced pages must be
 * used for new pages at once. */
START_TEST(replaced_pages_are_used_again)
{
    struct fab_pages now = first_version();
    for (unsigned n = 0; n < 1000; n++) {
        struct fab_pages was = fab_base_pages_share(&now);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        fab_base_pages_fini(&was);
        /* now the version that has ended is removed */
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        for (size_t i = 0; i < 3; i++)
            fab_base_pages_edit(&now, (n + i) % PAGES)[0] = (uint8_t)n;
    }
    /* One chunk of 64 pages must be enough. In addition, the history has for each page three
     * pointers (two versions and a spare one) and two numbers. */
    size_t pointers = PAGES * (2 * sizeof(uint32_t) + 3 * sizeof(uint8_t *));
    ck_assert_uint_le(fab_base_pages_memory(&now), pointers + (size_t)64 * SIZE);
    fab_base_pages_fini(&now);
}
END_TEST

/* Makes a thousand versions, of which only one old version and the last few stay in use. The memory
 * of all other versions must be used again. */
START_TEST(memory_is_that_of_the_living_versions)
{
    struct fab_pages now = first_version(), old = {0}, ring[4] = {{0}};
    for (unsigned n = 0; n < 1000; n++) {
        fab_base_pages_fini(&ring[n % 4]);
        ring[n % 4] = fab_base_pages_share(&now);
        if (n == 500)
            old = fab_base_pages_share(&now);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        for (size_t i = 0; i < 3; i++)
            fab_base_pages_edit(&now, (n + i) % PAGES)[0] = (uint8_t)n;
    }
    /* Pages are allocated in chunks of 64, and two chunks must be enough. `old` and `now` have no
     * page in common, and each of the four versions in ring[] differs from `now` in a few pages
     * only. For each page, the history also has seven pointers (six versions and a spare one) and
     * two numbers. */
    size_t pointers = PAGES * (sizeof(uint32_t) + 7 * sizeof(uint8_t *) + sizeof(uint32_t));
    ck_assert_uint_le(fab_base_pages_memory(&now), pointers + (size_t)2 * 64 * SIZE);
    fab_base_pages_fini(&old);
    for (unsigned i = 0; i < 4; i++)
        fab_base_pages_fini(&ring[i]);
    ck_assert_uint_eq(now.page[(999 + 2) % PAGES][0], 999 % 256);
    fab_base_pages_fini(&now);
}
END_TEST

/* In small tables, a row is shorter than a page, so pages of the first version overlap: the last
 * bytes of a page belong to the next page. The memory of such a page must not be used again, even
 * if no version has the page any more. */
START_TEST(overlapping_pages_of_the_first_version_stay)
{
    struct fab_pages now, old;
    uint8_t *memory = calloc(PAGES + 1, SIZE);
    const struct fab_pages_layout layout = {PAGES, 1, SIZE, SIZE / 2};
    ck_assert_int_eq(fab_base_pages_new(memory, layout, &now), FAB_OK);
    for (unsigned n = 1; n <= PAGES / 2; n++) {
        old = fab_base_pages_share(&now);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        fab_base_pages_fini(&old);
        for (unsigned i = 0; i < n; i++)
            fab_base_pages_edit(&now, 2 * i)[0] = 0xff;
        for (unsigned i = 0; i < PAGES; i++)
            ck_assert_uint_eq(now.page[i][0], i % 2 == 0 && i / 2 < n ? 0xff : 0);
    }
    fab_base_pages_fini(&now);
}
END_TEST

/* Each row has five pages, and the last one overlaps with the next row. When all pages have been
 * replaced, the memory of the three inner pages of a row may be used again, but not that of the
 * first and the last page. */
START_TEST(pages_within_the_rows_of_the_first_version_are_used_again)
{
    struct fab_pages now, old;
    const struct fab_pages_layout layout = {PAGES / 5, 5, SIZE, 5 * SIZE - SIZE / 2};
    uint8_t *memory = calloc(PAGES, SIZE);
    ck_assert_int_eq(fab_base_pages_new(memory, layout, &now), FAB_OK);
    ck_assert_ptr_eq(now.page[7], memory + layout.row_bytes + (size_t)2 * SIZE);
    size_t inside = 0, edges = 0;
    for (unsigned n = 1; n <= 4; n++) {
        old = fab_base_pages_share(&now);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        fab_base_pages_fini(&old);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        for (size_t i = 0; i < PAGES; i++)
            memset(fab_base_pages_edit(&now, i), (int)(n * PAGES + i) % 251, SIZE);
        for (size_t i = 0; i < PAGES; i++) {
            ck_assert_uint_eq(now.page[i][0], (n * PAGES + i) % 251);
            ck_assert_mem_eq(now.page[i], now.page[i] + 1, SIZE - 1);
            for (size_t row = 0; row < layout.rows; row++)
                for (size_t k = 0; k < layout.row_pages; k++)
                    if (now.page[i] == memory + row * layout.row_bytes + k * SIZE)
                        *(k > 0 && k < 4 ? &inside : &edges) += 1;
        }
    }
    ck_assert_uint_gt(inside, 0);
    ck_assert_uint_eq(edges, 0);
    fab_base_pages_fini(&now);
}
END_TEST

START_TEST(an_unshared_version_is_changed_in_place)
{
    struct fab_pages p = first_version();
    uint8_t *was = p.page[3];
    ck_assert_int_eq(fab_base_pages_unshare(&p), FAB_OK);
    ck_assert_ptr_eq(fab_base_pages_edit(&p, 3), was);
    struct fab_pages reader = fab_base_pages_share(&p);
    ck_assert_int_eq(fab_base_pages_unshare(&p), FAB_OK);
    uint8_t *now = fab_base_pages_edit(&p, 3);
    ck_assert_ptr_ne(now, was);
    ck_assert_ptr_eq(fab_base_pages_edit(&p, 3), now);
    ck_assert_ptr_eq(p.page[4], reader.page[4]);
    fab_base_pages_fini(&reader);
    fab_base_pages_fini(&p);
}
END_TEST

struct reader {
    struct fab_pages pages;
    uint8_t want;
    pthread_t thread;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    for (size_t i = 0; i < PAGES; i++)
        for (size_t at = 0; at < SIZE; at++)
            if (r->pages.page[i][at] != r->want)
                return arg;
    fab_base_pages_fini(&r->pages);
    return NULL;
}

START_TEST(readers_on_other_threads_see_their_version)
{
    struct fab_pages now = first_version();
    struct reader readers[8] = {{.want = 0}};
    for (unsigned n = 0; n < test_rounds(800); n++) {
        struct reader *r = &readers[n % 8];
        void *bad = NULL;
        if (n >= 8)
            ck_assert_int_eq(pthread_join(r->thread, &bad), 0);
        ck_assert_ptr_null(bad);
        *r = (struct reader){.pages = fab_base_pages_share(&now), .want = now.page[0][0]};
        ck_assert_int_eq(pthread_create(&r->thread, NULL, read_all, r), 0);
        ck_assert_int_eq(fab_base_pages_unshare(&now), FAB_OK);
        for (size_t i = 0; i < PAGES; i++)
            memset(fab_base_pages_edit(&now, i), (int)(n & 0xff), SIZE);
    }
    fab_base_pages_fini(&now);
    for (unsigned i = 0; i < 8; i++) {
        void *bad = NULL;
        ck_assert_int_eq(pthread_join(readers[i].thread, &bad), 0);
        ck_assert_ptr_null(bad);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pages");
    TCase *tc = tcase_create("pages");
    tcase_add_test(tc, versions_keep_their_contents);
    tcase_add_test(tc, memory_is_that_of_the_living_versions);
    tcase_add_test(tc, replaced_pages_are_used_again);
    tcase_add_test(tc, overlapping_pages_of_the_first_version_stay);
    tcase_add_test(tc, pages_within_the_rows_of_the_first_version_are_used_again);
    tcase_add_test(tc, an_unshared_version_is_changed_in_place);
    tcase_add_test(tc, readers_on_other_threads_see_their_version);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
