/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files. fabricd makes each of them once, with a random key. It refuses a key file that other
 * users can read. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/store/derive.h"
#include "fabricd/store/key.h"
#include "fabricd/store/m_key.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static char folder[64], path[80], why[512];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/fabricd-key.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sa_key", folder);
    why[0] = '\0';
}

static void teardown(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(a_key_is_made_once_and_private)
{
    uint64_t key = 0, again = 0, other = 0;
    struct stat st;
    umask(0);
    ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_OK);
    ck_assert_uint_ne(key, 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(st.st_size, 19);
    ck_assert_int_eq(store_key(folder, "sa_key", &again, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(key, again);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(store_key(folder, "sa_key", &other, why, sizeof why), FAB_OK);
    ck_assert_uint_ne(key, other);
}
END_TEST

START_TEST(the_operators_key_is_read)
{
    static const char *const good[] = {"0xab", "0xAB\n", "0x00000000000000ab\n", "0xab \n\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t key = 0;
        write_file(good[i], 0600);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_OK);
        ck_assert_uint_eq(key, 0xab);
    }
}
END_TEST

START_TEST(a_damaged_file_is_refused_and_stays)
{
    static const char *const bad[] = {
        "",
        "ab\n",
        "0x",
        "0x0\n",
        "0xg1",
        "0x12 3",
        "0x10000000000000000",
        "0xabababababababababababababababababababababababababababababababababab"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t key = 7;
        struct stat st;
        write_file(bad[i], 0600);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_E_FORMAT);
        ck_assert_uint_eq(key, 7);
        ck_assert_ptr_nonnull(strstr(why, path));
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_size, (off_t)strlen(bad[i]));
    }
}
END_TEST

START_TEST(a_file_that_others_can_read_is_refused)
{
    static const mode_t modes[] = {0640, 0604, 0660, 0601, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        uint64_t key = 7;
        write_file("0xab\n", modes[i]);
        ck_assert_int_eq(store_key(folder, "sa_key", &key, why, sizeof why), FAB_E_DENIED);
        ck_assert_ptr_nonnull(strstr(why, "chmod 600"));
        ck_assert_uint_eq(key, 7);
    }
}
END_TEST

START_TEST(without_a_folder_there_is_an_error)
{
    uint64_t key = 7;
    ck_assert_int_eq(store_key("/no/such/folder", "sa_key", &key, why, sizeof why), FAB_E_IO);
    ck_assert_ptr_nonnull(strstr(why, "No such file"));
    char longest[1100];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(store_key(longest, "sa_key", &key, why, sizeof why), FAB_E_IO);
    ck_assert_uint_eq(key, 7);
}
END_TEST

#define SECRET "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define DERIVED "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin derived\n"
#define HEAD "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin generated\ncurrent 0xab\n"

START_TEST(the_m_key_file_is_written_and_read)
{
    uint64_t ports[] = {1, 0x2c9, UINT64_MAX};
    struct store_m_key k = {.generation = 3,
                            .since_s = 1767225600,
                            .generated = true,
                            .current = 0xab,
                            .previous = 0xcd,
                            .rotating = true,
                            .port = ports,
                            .count = 3};
    struct store_m_key is;
    struct stat st;
    snprintf(path, sizeof path, "%s/m_key", folder);
    umask(0);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_m_key_write(folder, &k, why, sizeof why), FAB_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_OK);
    ck_assert_uint_eq(is.generation, 3);
    ck_assert_uint_eq(is.since_s, 1767225600);
    ck_assert(is.generated && is.rotating);
    ck_assert_uint_eq(is.current, 0xab);
    ck_assert_uint_eq(is.previous, 0xcd);
    ck_assert_uint_eq(is.count, 3);
    ck_assert_mem_eq(is.port, ports, sizeof ports);
    store_m_key_fini(&is);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_DENIED);
}
END_TEST

/* A file with an M_Key is not accepted in place of a file with a CC_Key, and vice versa. */
START_TEST(the_cc_key_has_a_file_of_its_own)
{
    struct store_m_key m = {.generation = 1, .current = 0xab, .generated = true}, is;
    uint64_t key = 0, again = 0;
    struct stat st;
    ck_assert_int_eq(store_m_key_write(folder, &m, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_E_NOT_FOUND);
    ck_assert_int_eq(store_cc_key_generated(folder, &key, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_cc_key_generated(folder, &again, why, sizeof why), FAB_OK);
    ck_assert(key != 0 && key != 0xab && key == again);
    snprintf(path, sizeof path, "%s/cc_key", folder);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_OK);
    ck_assert_int_eq(is.of, STORE_KEY_OF_CONGESTION);
    ck_assert_uint_eq(is.generation, 1);
    store_m_key_fini(&is);
    write_file(HEAD "end\n", 0600);
    ck_assert_int_eq(store_cc_key_read(folder, &is, why, sizeof why), FAB_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(why, "takes each device back"));
}
END_TEST

START_TEST(a_next_key_lists_ports_until_they_are_struck)
{
    struct store_m_key was = {
        .of = STORE_KEY_OF_CONGESTION, .generation = 4, .current = 0xab, .previous = 1};
    struct store_m_key k = store_m_key_next(&was, 0xcd, true, 99);
    ck_assert(k.of == was.of && k.generation == 5 && k.current == 0xcd && k.previous == 0xab);
    ck_assert(k.rotating && k.generated && k.since_s == 99 && k.count == 0);
    uint64_t *list = malloc(5 * sizeof *list);
    memcpy(list, (uint64_t[]){9, 0, 3, 9, 7}, 5 * sizeof *list);
    store_m_key_set_ports(&k, list, 5);
    ck_assert_uint_eq(k.count, 3);
    ck_assert_ptr_eq(store_m_key_find(&k, 7), k.port + 1);
    ck_assert_ptr_null(store_m_key_find(&k, 8));
    ck_assert_uint_eq(store_m_key_strike(&k, (uint8_t[]){0, 1, 0}), 1);
    ck_assert_ptr_null(store_m_key_find(&k, 7));
    ck_assert_ptr_nonnull(store_m_key_find(&k, 9));
    ck_assert_uint_eq(k.count, 2);
    store_m_key_fini(&k);
    was.current = 0; /* if devices have no key yet, a new key needs no rotation */
    ck_assert(!store_m_key_next(&was, 0xcd, true, 99).rotating);
}
END_TEST

/* the test vector in RFC 5869, appendix A.1 */
START_TEST(hkdf_gives_the_values_of_the_rfc)
{
    static const uint8_t okm[42] = {
        0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f, 0x64, 0xd0, 0x36,
        0x2f, 0x2a, 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a, 0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56,
        0xec, 0xc4, 0xc5, 0xbf, 0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65};
    uint8_t secret[22], salt[13], info[10], is[42], *longer = malloc(8161);
    memset(secret, 0x0b, sizeof secret);
    for (unsigned i = 0; i < sizeof salt; i++)
        salt[i] = (uint8_t)i;
    for (unsigned i = 0; i < sizeof info; i++)
        info[i] = (uint8_t)(0xf0 + i);
    const struct store_hkdf in = {.secret = secret,
                                  .salt = salt,
                                  .info = info,
                                  .secret_len = sizeof secret,
                                  .salt_len = sizeof salt,
                                  .info_len = sizeof info};
    ck_assert_int_eq(store_hkdf_sha256(&in, is, sizeof is), FAB_OK);
    ck_assert_mem_eq(is, okm, sizeof okm);
    ck_assert_int_eq(store_hkdf_sha256(&in, longer, 8161), FAB_E_RANGE);
    free(longer);
}
END_TEST

/* The expected keys were computed with Python's hmac module. */
START_TEST(each_port_guid_has_a_key_of_its_own)
{
    static const uint64_t guids[] = {UINT64_C(0x0002c90300000001), UINT64_C(0x0002c90300000002),
                                     UINT64_MAX};
    static const uint64_t keys[] = {UINT64_C(0x1dc4a084d5eb3ca5), UINT64_C(0x36e8f127b0899508),
                                    UINT64_C(0x9b986226d5db9d67)};
    uint8_t secret[FAB_M_KEY_SECRET], other[FAB_M_KEY_SECRET];
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = other[i] = (uint8_t)i;
    other[31] = 0;
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_uint_eq(store_m_key_derive(secret, guids[i % 3]), keys[i % 3]);
        ck_assert_uint_ne(store_m_key_derive(other, guids[i % 3]), keys[i % 3]);
    }
    /* many GUIDs, so that some share a bucket in the cache of derived keys */
    for (uint64_t guid = 1; guid < 1000; guid++)
        ck_assert_uint_ne(store_m_key_derive(secret, guid << 40), 0);
    ck_assert_uint_eq(store_m_key_derive(secret, guids[0]), keys[0]);
}
END_TEST

START_TEST(the_secret_is_made_once_and_kept)
{
    struct fab_m_keys keys, again;
    struct store_m_key k;
    uint64_t number = 7;
    snprintf(path, sizeof path, "%s/m_key", folder);
    ck_assert_int_eq(store_m_key_derived(folder, &keys, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_m_key_derived(folder, &again, why, sizeof why), FAB_OK);
    ck_assert(fab_policy_m_keys_same(&keys, &again));
    ck_assert_uint_eq(fab_policy_m_key(&keys, 0), 0);
    ck_assert_uint_ne(fab_policy_m_key(&keys, 1), fab_policy_m_key(&keys, 2));
    ck_assert_int_eq(store_m_key_generated(folder, &number, why, sizeof why), FAB_OK);
    ck_assert_uint_ne(number, 0);
    ck_assert_int_eq(store_m_key_read(folder, &k, why, sizeof why), FAB_OK);
    ck_assert(k.secret.set && k.generated && !k.rotating);
    struct fab_m_keys one = {.number = 0xab}, current = store_m_key_current(&k);
    struct store_m_key next = store_m_keys_next(&k, &one, &current, false, 9), is;
    ck_assert_int_eq(store_m_key_write(folder, &next, why, sizeof why), FAB_OK);
    ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_OK);
    ck_assert(is.rotating && !is.secret.set && is.current == 0xab && is.generation == 2);
    again = store_m_key_previous(&is);
    ck_assert(fab_policy_m_keys_same(&keys, &again));
    store_m_key_fini(&is);
    store_m_key_fini(&k);
}
END_TEST

START_TEST(a_damaged_m_key_file_is_refused_and_stays)
{
    static const char *const bad[] = {
        "",
        "fabricd M_Keys 2\n",
        "fabricd M_Keys 1\ngeneration 0\nsince 7\norigin generated\ncurrent 0xab\nend\n",
        "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin other\ncurrent 0xab\nend\n",
        "fabricd M_Keys 1\ngeneration 3\nsince 7\norigin generated\ncurrent 0x0\nend\n",
        HEAD,
        HEAD "end",
        HEAD "end\n\n",
        HEAD "rotating\nend\n",
        HEAD "port 0x1\nend\n",
        HEAD "previous 0xab\nend\n",
        HEAD "previous 0x0\nend\n",
        HEAD "previous 0x1\nport 0x2\nport 0x1\nend\n",
        DERIVED "current 0xab\nend\n",
        DERIVED "current secret " SECRET "0\nend\n",
        DERIVED "current secret " SECRET "\nprevious secret " SECRET "\nend\n",
        HEAD "previous secret 12\nend\n",
        HEAD "previous 0x1\nport 0x0\nend\n",
        HEAD "previous 0x1\nport 0x10000000000000000\nend\n"};
    snprintf(path, sizeof path, "%s/m_key", folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct store_m_key is;
        struct stat st;
        uint64_t key = 7;
        write_file(bad[i], 0600);
        ck_assert_int_eq(store_m_key_read(folder, &is, why, sizeof why), FAB_E_FORMAT);
        ck_assert_ptr_nonnull(strstr(why, "damaged at line"));
        ck_assert_int_eq(store_m_key_generated(folder, &key, why, sizeof why), FAB_E_FORMAT);
        ck_assert_uint_eq(key, 7);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_int_eq(st.st_size, (off_t)strlen(bad[i]));
    }
}
END_TEST

/* Changes or removes each byte of the file in turn. The reader must refuse the file, or read a
 * valid one. */
START_TEST(random_damage_to_the_m_key_file_is_survived)
{
    static const char *const files[] = {
        HEAD "previous 0xcd\nrotating\nport 0x1\nport 0x2\nend\n",
        HEAD "previous secret " SECRET "\nrotating\nport 0x1\nend\n",
        DERIVED "current secret " SECRET "\nprevious 0xcd\nport 0x1\nend\n"};
    const char *good = files[_i];
    size_t len = strlen(good);
    for (size_t at = 0; at < len; at++) {
        char text[256];
        struct store_m_key is = {0};
        ck_assert_uint_lt(len, sizeof text);
        ck_assert_int_eq(store_m_key_parse(STORE_KEY_OF_PORTS, good, at, &is, why, sizeof why),
                         FAB_E_FORMAT);
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(text, good, len);
            text[at] = (char)byte;
            int r = store_m_key_parse(STORE_KEY_OF_PORTS, text, len, &is, why, sizeof why);
            ck_assert(r == FAB_OK || r == FAB_E_FORMAT);
            if (r == FAB_OK)
                store_m_key_fini(&is);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("key");
    TCase *t = tcase_create("key");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_key_is_made_once_and_private);
    tcase_add_test(t, the_operators_key_is_read);
    tcase_add_test(t, a_damaged_file_is_refused_and_stays);
    tcase_add_test(t, a_file_that_others_can_read_is_refused);
    tcase_add_test(t, without_a_folder_there_is_an_error);
    tcase_add_test(t, the_m_key_file_is_written_and_read);
    tcase_add_test(t, hkdf_gives_the_values_of_the_rfc);
    tcase_add_test(t, each_port_guid_has_a_key_of_its_own);
    tcase_add_test(t, the_secret_is_made_once_and_kept);
    tcase_add_test(t, the_cc_key_has_a_file_of_its_own);
    tcase_add_test(t, a_next_key_lists_ports_until_they_are_struck);
    tcase_add_test(t, a_damaged_m_key_file_is_refused_and_stays);
    tcase_add_loop_test(t, random_damage_to_the_m_key_file_is_survived, 0, 3);
    suite_add_tcase(s, t);
    return test_run(s);
}
