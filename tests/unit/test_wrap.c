/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrapped keys (fabricd/store/wrap.h and shared_key.h). A wrapped text can be unwrapped only with
 * the same key and in the same context. The row that shares an M_Key must not disclose it. */
#include "fabricd/store/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/store/key.h"
#include "fabricd/store/replicated.h"
#include "fabricd/store/shared_key.h"
#include "tests/unit/state_dir.h"

static const uint8_t key[STORE_WRAP_KEY] = {1, 2, 3}, other_key[STORE_WRAP_KEY] = {1, 2, 4};

START_TEST(unwraps_what_it_wrapped)
{
    uint8_t plain[300], sealed[300 + STORE_WRAP_MORE], back[300];
    for (size_t i = 0; i < sizeof(plain); i++)
        plain[i] = (uint8_t)(i * 7);
    for (size_t len = 0; len <= sizeof(plain); len += 50) {
        ck_assert_int_eq(store_wrap(key, "a", plain, len, sealed), FAB_OK);
        ck_assert_int_eq(store_unwrap(key, "a", sealed, len + STORE_WRAP_MORE, back), FAB_OK);
        ck_assert_int_eq(memcmp(back, plain, len), 0);
        ck_assert_int_eq(store_unwrap(other_key, "a", sealed, len + STORE_WRAP_MORE, back),
                         FAB_E_DENIED);
        ck_assert_int_eq(store_unwrap(key, "b", sealed, len + STORE_WRAP_MORE, back), FAB_E_DENIED);
    }
}
END_TEST

START_TEST(detects_each_changed_byte)
{
    uint8_t sealed[20 + STORE_WRAP_MORE], back[20];
    ck_assert_int_eq(store_wrap(key, "a", (const uint8_t *)"12345678901234567890", 20, sealed),
                     FAB_OK);
    for (size_t i = 0; i < sizeof(sealed); i++) {
        sealed[i] ^= 0x10;
        ck_assert_int_eq(store_unwrap(key, "a", sealed, sizeof(sealed), back), FAB_E_DENIED);
        sealed[i] ^= 0x10;
    }
    for (size_t len = 0; len < sizeof(sealed); len++)
        ck_assert_int_eq(store_unwrap(key, "a", sealed, len, back), FAB_E_DENIED);
    ck_assert_int_eq(store_unwrap(key, "a", sealed, sizeof(sealed), back), FAB_OK);
}
END_TEST

START_TEST(wraps_differently_each_time)
{
    uint8_t sealed[2][8 + STORE_WRAP_MORE];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(store_wrap(key, "a", (const uint8_t *)"12345678", 8, sealed[i]), FAB_OK);
    ck_assert_int_ne(memcmp(sealed[0], sealed[1], sizeof(sealed[0])), 0);
    ck_assert_uint_eq(store_wrap_check(key), store_wrap_check(key));
    ck_assert_uint_ne(store_wrap_check(key), store_wrap_check(other_key));
    ck_assert_uint_ne(store_wrap_check(key), 0);
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

#define CURRENT UINT64_C(0x0123456789abcdef)

static struct store *s;
static struct store_pending *pending;

static void on_marked(void *ctx)
{
    (void)ctx;
}

static void setup(void)
{
    char why[300];
    make_dir();
    s = open_store();
    ck_assert_int_eq(store_replicate(s, on_marked, NULL), FAB_OK);
    ck_assert_int_eq(store_pending_open(s, &pending, why, sizeof(why)), FAB_OK);
}

static void teardown(void)
{
    store_stop_marked(s);
    store_pending_close(pending);
    store_close(s);
    remove_dir();
}

static struct store_m_key rotation(size_t ports)
{
    struct store_m_key k = {.generation = 3,
                            .since_s = 1763841600,
                            .generated = true,
                            .current = CURRENT,
                            .previous = CURRENT - 1,
                            .rotating = true};
    uint64_t *list = calloc(ports + 1, sizeof(*list));
    for (size_t i = 0; i < ports; i++)
        list[i] = 0x0002c90300000000 + i;
    store_m_key_set_ports(&k, list, ports);
    return k;
}

/* Reads the row that was shared. It must have the M_Key of `k`, for this number of ports. */
static void check_row(const struct store_sharing *w, const struct store_m_key *k, bool confirmed,
                      size_t ports)
{
    struct store_m_key row;
    char why[300];
    bool is_confirmed;
    ck_assert_int_eq(store_get_shared_key(s, w, k->of, &row, &is_confirmed, why, sizeof(why)),
                     FAB_OK);
    ck_assert(store_m_key_same(&row, k));
    ck_assert(is_confirmed == confirmed);
    ck_assert(store_shared_key_waits(s, k->of) == !confirmed);
    ck_assert_uint_eq(row.count, ports);
    store_m_key_fini(&row);
}

START_TEST(row_is_confirmed_when_a_majority_has_it)
{
    const struct store_sharing w = {key, UINT64_C(0xfe80000000000000)};
    struct store_m_key k = rotation(5);
    struct store_rows rows = {0};
    uint64_t all;
    ck_assert_int_eq(store_put_shared_key(s, &w, &k), FAB_OK);
    store_flush(s);
    check_row(&w, &k, false, 5);
    ck_assert_int_eq(store_pending_read(pending, 10, &rows, &all), FAB_OK);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_str_eq(rows.row[0].table, "shared_key");
    ck_assert_str_eq(rows.row[0].key, "[\"m_key\"]");
    /* the row must contain neither the M_Key nor its hexadecimal digits */
    ck_assert_ptr_null(strcasestr(rows.row[0].value, "0123456789abcdef"));
    ck_assert_ptr_null(strcasestr(rows.row[0].value, "30313233343536373839616263646566"));
    ck_assert_int_eq(store_put_confirmed(s, &rows), FAB_OK);
    store_flush(s);
    check_row(&w, &k, true, 5);
    store_m_key_fini(&k);
}
END_TEST

START_TEST(row_of_another_fabric_or_key_is_not_used)
{
    const struct store_sharing w = {key, 1}, others[] = {{key, 2}, {other_key, 1}};
    struct store_m_key k = rotation(1), row;
    char why[300];
    bool confirmed;
    ck_assert_int_eq(store_get_shared_key(s, &w, k.of, &row, &confirmed, why, sizeof(why)),
                     FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_put_shared_key(s, &w, &k), FAB_OK);
    store_flush(s);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            store_get_shared_key(s, &others[i], k.of, &row, &confirmed, why, sizeof(why)),
            FAB_E_DENIED);
        ck_assert_ptr_nonnull(strstr(why, "replication.wrapping_key"));
    }
    ck_assert_int_eq(
        store_get_shared_key(s, &w, STORE_KEY_OF_CONGESTION, &row, &confirmed, why, sizeof(why)),
        FAB_E_NOT_FOUND);
    store_m_key_fini(&k);
}
END_TEST

START_TEST(long_list_of_ports_is_left_out)
{
    const struct store_sharing w = {key, 1};
    const size_t counts[] = {STORE_SHARED_PORTS, STORE_SHARED_PORTS + 1};
    for (int i = 0; i < 2; i++) {
        struct store_m_key k = rotation(counts[i]);
        ck_assert_int_eq(store_put_shared_key(s, &w, &k), FAB_OK);
        store_flush(s);
        check_row(&w, &k, false, i == 0 ? counts[i] : 0);
        ck_assert_uint_eq(k.count, counts[i]);
        store_m_key_fini(&k);
    }
}
END_TEST

/* ---- the file -------------------------------------------------------------------------------- */

static unsigned files_named(const char *beginning)
{
    char command[400], line[20] = "";
    snprintf(command, sizeof(command), "ls '%s' | grep -c '^%s'", dir, beginning);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
    pclose(f);
    return (unsigned)atoi(line);
}

START_TEST(replaced_file_is_kept_if_its_key_would_be_lost)
{
    const struct {
        uint64_t current;
        bool generated;
        unsigned kept;
    } rows[] = {{CURRENT, true, 0},      /* the present key */
                {CURRENT - 1, true, 0},  /* the previous key */
                {CURRENT + 9, false, 0}, /* a key that the operator has set, and thus knows */
                {CURRENT + 9, true, 1}};
    struct store_m_key now = rotation(1), read;
    char why[300];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct store_m_key was = {
            .generation = 2, .generated = rows[i].generated, .current = rows[i].current};
        ck_assert_int_eq(store_adopt_key(dir, &was, &now, why, sizeof(why)), FAB_OK);
        ck_assert_uint_eq(files_named("m_key.replaced-"), rows[i].kept);
        ck_assert_int_eq(store_m_key_read(dir, &read, why, sizeof(why)), FAB_OK);
        ck_assert(store_m_key_same(&read, &now));
        store_m_key_fini(&read);
    }
    store_m_key_fini(&now);
}
END_TEST

int main(void)
{
    Suite *all = suite_create("wrap");
    TCase *wrapping = tcase_create("wrap");
    tcase_add_test(wrapping, unwraps_what_it_wrapped);
    tcase_add_test(wrapping, detects_each_changed_byte);
    tcase_add_test(wrapping, wraps_differently_each_time);
    suite_add_tcase(all, wrapping);
    TCase *rows = tcase_create("shared keys");
    tcase_add_checked_fixture(rows, setup, teardown);
    tcase_add_test(rows, row_is_confirmed_when_a_majority_has_it);
    tcase_add_test(rows, row_of_another_fabric_or_key_is_not_used);
    tcase_add_test(rows, long_list_of_ports_is_left_out);
    tcase_add_test(rows, replaced_file_is_kept_if_its_key_would_be_lost);
    suite_add_tcase(all, rows);
    return test_run(all);
}
